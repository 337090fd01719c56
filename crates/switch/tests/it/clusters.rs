//! Front nodes that tell of their servers as of one: a gateway on loopback with daemons and a listener in front, and the sum
//! beside the simulator's.

use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use sojourn_bed::Events;
use sojourn_dispatch::reports::{Account, AsOne, Totals, phase};
use sojourn_dispatch::{BackendId, Catalogue, FrontSettings, Report};
use sojourn_model::Discipline;
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::settings::loadd::{ListenSettings, LoaddSettings};
use sojourn_part::settings::{Checks, Echoes, Reports, Upstream};
use sojourn_part::{Probe, now};
use sojourn_report::loadd::Loadd;
use sojourn_report::upstream::{Look, Servers};
use sojourn_report::{Heard, Key, Listener, Load, Metric, Metrics, Receiver, SIGNALS, Sender, Told};
use sojourn_stats::{Span, Time};
use sojourn_web::{Gateway, Node};

use crate::support::{Client, Lines, backends, ms, node, until};

pub(crate) fn key() -> Key {
    Key::read(&key_file()).expect("it is there")
}

/// Where it is.
pub(crate) fn key_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/key")
}

pub(crate) const HOUR: Span = Span(3600 * 1_000_000_000);

/// A listener, and all that it has heard.
pub(crate) struct Front {
    pub(crate) listener: Listener,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Front {
    pub(crate) fn new(listen: &str, names: &[&str]) -> Front {
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (notes, on) = (Arc::clone(&heard), Some(listen.parse().expect("an address")));
        let names = names.iter().map(ToString::to_string).collect();
        let settings = ListenSettings { on, names, ..ListenSettings::default() };
        let hear = move |news: sojourn_report::News<'_>| {
            if news.told.is_some() {
                notes.lock().expect("no panic").push(news.event());
            }
            Vec::new()
        };
        Front { listener: Listener::start(&settings, key(), hear).expect("a free port"), heard }
    }

    /// What it has heard of these events, by name where it has one.
    pub(crate) fn events(&self, event: &str, name: Option<&str>) -> Vec<Value> {
        let of = |said: &&Value| said["event"] == event && name.is_none_or(|name| said["name"] == name);
        self.heard.lock().expect("no panic").iter().filter(of).cloned().collect()
    }

    pub(crate) fn last(&self, event: &str, name: Option<&str>) -> Value {
        self.events(event, name).pop().unwrap_or_default()
    }
}

pub(crate) fn upstream(name: &str, front: &Listener) -> Upstream {
    Upstream { to: vec![front.address()], name: Some(name.into()), ..Upstream::default() }
}

/// A daemon that asks a node for its load.
fn daemon(name: &str, node: &Node, to: std::net::SocketAddr, times: LoaddSettings, log: Option<PathBuf>) -> Loadd {
    let ask = Some(format!("http://{}/load", node.address()));
    let settings = LoaddSettings { name: name.into(), to: vec![to], ask, log, ..times };
    Loadd::start(settings, key(), Events::nowhere()).expect("it starts")
}

/// Two nodes behind a gateway that tells `front` of them as of `paris`, and a daemon beside each that tells at these times.
struct Cluster {
    nodes: Vec<Node>,
    gateway: Gateway,
    loadds: Vec<Loadd>,
    said: Lines,
}

impl Cluster {
    fn new(upstream: Upstream, times: Option<LoaddSettings>, logs: &[PathBuf]) -> Cluster {
        let nodes: Vec<Node> = ["s1", "s2"].map(|name| node(name, Discipline::Ps)).into();
        let addresses: Vec<_> = nodes.iter().map(Node::address).collect();
        let listen = times.as_ref().map(|_| "127.0.0.1:0".parse().expect("an address"));
        let health = Checks { probe: Probe::Connect, every: ms(20), timeout: ms(5000) };
        let config = GatewaySettings {
            key_file: Some(key_file()),
            reports: Reports { listen, ..Reports::default() },
            upstream,
            health,
            ..GatewaySettings::new("random", backends(&addresses))
        };
        let said = Lines::default();
        let gateway = Gateway::start(config, Events::to(said.clone())).expect("a gateway starts");
        let mut loadds = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            let (Some(times), Some(to)) = (times.clone(), gateway.reports_address()) else { break };
            let name = format!("s{}", place + 1);
            loadds.push(daemon(&name, node, to, times, logs.get(place).cloned()));
        }
        Cluster { nodes, gateway, loadds, said }
    }
}

fn times(every: Span) -> LoaddSettings {
    let (heartbeat, client_rates, watch) = (every * 4, every * 4, ms(5));
    LoaddSettings { every, heartbeat, client_rates, watch, ..LoaddSettings::default() }
}

/// What is known of two servers is one server with the cores, the rate and the room of both; one of them gone, it is the other.
#[test]
fn a_gateway_tells_of_its_servers_as_of_one() {
    let front = Front::new("127.0.0.1:0", &["paris"]);
    let every = ms(20);
    let config = Upstream { every, heartbeat: every * 4, ..upstream("paris", &front.listener) };
    let mut cluster = Cluster::new(config, Some(times(every)), &[]);
    let mut client = Client::new(cluster.gateway.address());
    let capacity = |of: &Value| of["capacity_per_s"].as_f64().unwrap_or(0.0);
    until("both servers are in the sum, and their capacities learned", || {
        assert_eq!(client.get("/work?demand=2ms").status, 200);
        let last = front.last("report", Some("paris"));
        last["cores"] == 2.0 && (900.0..1100.0).contains(&capacity(&last))
    });
    // What is served from now on is told, and no more than that.
    let served = || cluster.nodes.iter().map(|node| node.counts().served).sum::<u64>();
    let told = || -> u64 {
        front.events("report", None).iter().map(|report| report["requests"].as_u64().expect("a count")).sum()
    };
    let before = told();
    (0..50).for_each(|_| assert_eq!(client.get("/work?demand=2ms").status, 200));
    until("all that was served is told", || told() >= before + 50);
    assert!(told() <= served(), "{} of {}", told(), served());
    assert!(cluster.said.text().contains("{\"event\":\"tells\",\"name\":\"paris\",\"of\":\"reports\"}"));
    // A server is killed: its daemon falls silent, the gateway's health checks miss it, and the sum is the other one.
    cluster.nodes.pop().expect("there were two").stop();
    until("the sum has fallen", || {
        let last = front.last("report", Some("paris"));
        last["cores"] == 1.0 && (450.0..550.0).contains(&capacity(&last))
    });
    assert_eq!(front.events("reports_empty", None).len(), 0);
    cluster.nodes.pop().expect("there was one").stop();
    until("it is empty", || front.events("reports_empty", Some("paris")).len() == 1);
    assert_eq!(front.events("reports_silent", None).len(), 0);
    drop(cluster.loadds);
    let counts = cluster.gateway.stop().upstream.expect("it tells");
    assert!(counts.reports > 2 && counts.alarms >= 1 && counts.challenges >= 1, "{counts:?}");
    assert_eq!(front.listener.stop().challenged, counts.challenges);
}

/// What has fallen silent does not count, although it serves on.
#[test]
fn a_silent_server_does_not_count() {
    let front = Front::new("127.0.0.1:0", &[]);
    let every = ms(20);
    let config = Upstream { every, heartbeat: every * 4, ..upstream("paris", &front.listener) };
    let mut cluster = Cluster::new(config, Some(times(every)), &[]);
    until("both count", || front.last("report", None)["cores"] == 2.0);
    cluster.loadds.pop().expect("there were two").stop();
    until("one counts", || front.last("report", None)["cores"] == 1.0);
    cluster.loadds.pop().expect("there was one").stop();
    // Both are up: it goes on with its own counts.
    until("it counts itself", || cluster.said.text().contains("\"of\":\"own counts\""));
    until("they are told", || front.last("report", None).get("cores").is_none());
    assert_eq!(front.events("reports_empty", None).len(), 0);
}

/// Ticks an hour apart: what comes after the first report comes at once. Nine requests are too many for a server, and not for
/// two; eighteen are, and a cluster whose last server has gone says so.
#[test]
fn a_cluster_is_overloaded_or_empty_at_once() {
    let front = Front::new("127.0.0.1:0", &["paris"]);
    let config = Upstream { every: HOUR, heartbeat: HOUR, client_rates: HOUR, ..upstream("paris", &front.listener) };
    let rare = times(HOUR);
    let mut cluster = Cluster::new(config, Some(rare), &[]);
    until("the first report comes", || front.events("report", None).len() == 1);
    let dropped = || cluster.gateway.counts().reports_dropped.expect("it takes reports").challenged;
    until("both daemons are heard", || {
        dropped() == 2 && cluster.loadds.iter().all(|loadd| loadd.counts().challenges == 1)
    });
    let hold = |node: &Node| -> Vec<Client> {
        let mut clients: Vec<Client> = (0..9).map(|_| Client::new(node.address())).collect();
        clients.iter_mut().for_each(|client| client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n"));
        clients
    };
    let first = hold(&cluster.nodes[0]);
    until("the first server has told its overload", || cluster.loadds[0].counts().alarms == 1);
    let second = hold(&cluster.nodes[1]);
    until("the overload of both is told", || front.events("report", None).len() == 2);
    let last = front.last("report", None);
    assert_eq!((&last["in_flight"], &last["is_overloaded"]), (&18.into(), &true.into()), "{last}");
    assert!(cluster.said.text().contains("{\"cores\":2,\"event\":\"overload\",\"inside\":18,\"name\":\"paris\"}"));
    drop((first, second));
    until("its end is told", || front.events("report", None).len() == 3);
    assert_eq!(front.last("report", None)["is_overloaded"], false);
    cluster.nodes.drain(..).for_each(|node| _ = node.stop());
    until("it is empty", || front.events("reports_empty", None).len() == 1);
    assert_eq!(cluster.gateway.stop().upstream.expect("it tells").alarms, 3);
}

/// A front node without daemons tells what it counts itself, and that it does; without a server it says so at once.
#[test]
fn without_daemons_a_front_node_counts_itself() {
    let front = Front::new("127.0.0.1:0", &["paris"]);
    let every = ms(20);
    let config = Upstream { every, heartbeat: HOUR, ..upstream("paris", &front.listener) };
    let mut cluster = Cluster::new(config, None, &[]);
    let mut client = Client::new(cluster.gateway.address());
    assert_eq!(client.get("/work?demand=1ms").status, 200);
    let mut held = Client::new(cluster.gateway.address());
    held.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("what is inside is told", || front.last("report", None)["in_flight"] == 1);
    let last = front.last("report", None);
    assert!(last.get("capacity_per_s").is_none() && last["requests"] == 0, "{last}");
    assert!(cluster.said.text().contains("\"of\":\"own counts\""), "{}", cluster.said.text());
    drop((client, held));
    cluster.nodes.drain(..).for_each(|node| _ = node.stop());
    until("it is empty", || front.events("reports_empty", Some("paris")).len() == 1);
}

/// Of the clients that the logs of two servers name, those above the mean go up, as sums, at the cluster's own phase; when
/// they are gone, no more.
#[test]
fn rates_of_clients_above_the_mean_go_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = ["s1", "s2"].map(|name| folder.path().join(name));
    let log = |place: usize, client: &str, requests: usize| {
        let line = format!("{client} - - [23/Nov/2026:01:31:21 +0000] \"GET / HTTP/1.1\" 200 100\n");
        // As a server does: a log that is written anew is read anew, and its requests count again.
        let mut file = fs::OpenOptions::new().append(true).create(true).open(&logs[place]).expect("it is opened");
        file.write_all(line.repeat(requests).as_bytes()).expect("it is written");
    };
    (0..2).for_each(|place| log(place, "10.0.0.1", 0));
    let front = Front::new("127.0.0.1:0", &["paris"]);
    let (every, client_rates) = (ms(20), ms(400));
    let config = Upstream { every, heartbeat: ms(100), client_rates, ..upstream("paris", &front.listener) };
    let times = LoaddSettings { heartbeat: ms(100), client_rates, ..times(every) };
    let cluster = Cluster::new(config, Some(times), &logs);
    until("both daemons are heard", || front.last("report", None)["cores"] == 2.0);
    let rates = |client: &str| {
        let of = front.events("rate", None).into_iter().filter(|rate| rate["client"] == client);
        of.filter_map(|rate| rate["requests_per_s"].as_f64()).collect::<Vec<_>>()
    };
    until("the busy ones are told of", || {
        log(0, "10.0.0.1", 10);
        log(1, "10.0.0.1", 10);
        log(0, "10.0.0.2", 15);
        log(1, "10.0.0.3", 1);
        log(1, "10.0.0.4", 1);
        rates("10.0.0.1").len() > 2 && rates("10.0.0.2").len() > 2
    });
    assert_eq!((rates("10.0.0.3"), rates("10.0.0.4")), (vec![], vec![]), "they are below the mean");
    // Each batch is of other windows, so that it is the most that shows the sum.
    let most = |client: &str| rates(client).into_iter().fold(0.0, f64::max);
    assert!(most("10.0.0.1") > most("10.0.0.2"), "{:?} {:?}", rates("10.0.0.1"), rates("10.0.0.2"));
    // Once they ask no more, nothing is told of them any more.
    let after = |further: u64| {
        let rates = || cluster.gateway.counts().upstream.expect("it tells").rates;
        let before = rates();
        until("it has told further rates", || rates() >= before + further);
        front.events("rate", None).len()
    };
    let told = after(3);
    assert_eq!(after(2), told);
}

/// Rates of clients leave a cluster and a daemon at the phases of their names, not all at multiples of the period.
#[test]
#[allow(clippy::disallowed_methods, reason = "phases are of the wall clock")]
fn rates_leave_at_the_phases_of_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    fs::write(&log, "").expect("it is written");
    let front = Front::new("127.0.0.1:0", &[]);
    let client_rates = ms(1000);
    let share = |name: &str| phase(name, client_rates).as_secs_f64();
    let mut names = (1..).map(|number| format!("cluster {number}"));
    let name = names.find(|name| (0.4..0.6).contains(&share(name))).expect("there are many");
    let config = Upstream { every: ms(20), heartbeat: ms(100), client_rates, ..upstream(&name, &front.listener) };
    let cluster = Cluster::new(config, Some(times(ms(20))), &[]);
    let beside = LoaddSettings { client_rates, ..times(ms(20)) };
    let daemon = daemon(&name, &cluster.nodes[0], front.listener.address(), beside, Some(log));
    let of_cluster = || cluster.gateway.counts().upstream.expect("it tells").rates;
    let of_daemon = || daemon.counts().rates;
    let least_late = |rates: &dyn Fn() -> u64| {
        let late = |further: u64| {
            until("rates are told", || rates() >= further);
            let wall = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("it is past").as_secs_f64();
            (wall - share(&name)).rem_euclid(1.0)
        };
        let before = rates();
        (1..=3).map(|further| late(before + further)).fold(1.0, f64::min)
    };
    // A busy machine may be late, but not each time; at another phase it would be late by 0.4 s at least.
    let (cluster, daemon) = (least_late(&of_cluster), least_late(&of_daemon));
    assert!(cluster < 0.3 && daemon < 0.3, "{cluster} {daemon}");
}

/// Not all at once: phases are spread, and the same wherever the name is used.
#[test]
fn each_name_has_a_phase_of_its_own() {
    let every = Span(64_000_000_000);
    let mut phases: Vec<u64> = (0..100).map(|number| phase(&format!("decider {number}"), every).0).collect();
    assert_eq!(phases[7], phase("decider 7", every).0);
    phases.sort_unstable();
    assert!(phases.iter().all(|phase| *phase < every.0));
    // Of 100 uniform points on 64 s the largest gap is above 16 s with a probability of 100 * 0.75^99 < 1e-10.
    let gaps = phases.windows(2).map(|pair| pair[1] - pair[0]);
    let largest = gaps.max().expect("there are some").max(phases[0]).max(every.0 - phases[99]);
    assert!(largest < 16_000_000_000, "{phases:?}");
}

/// The same reports of two servers, by the way of the simulator (the table and [`AsOne`]) and over the wire: one aggregate.
#[test]
fn sim_and_live_add_up_alike() {
    let servers = [("a".to_string(), 1.0), ("b".to_string(), 1.0)];
    let front = |names: &[(String, f64)]| {
        let settings = FrontSettings::new("least-load");
        let mut front =
            sojourn_dispatch::Front::new(&settings, names, &Catalogue::default(), SIGNALS, "front").expect("a front");
        front.backends().for_each(|backend| _ = front.watch(backend, false, true, Time::ZERO));
        front
    };
    let (mut below, mut above) = (front(&servers), front(&[("paris".to_string(), 1.0)]));
    let (mut live, mut done) = (Servers::new(2), [Totals::default(); 2]);
    let mut account = Account::new(Time::ZERO, Totals::default());
    let start = 1_700_000_000_000_000_000;
    let mut sender = Sender::new(key(), "paris", start, 1).expect("the name is fine");
    let mut receiver = Receiver::new(key(), &["paris".into()], Time::ZERO);
    let load = |metrics| Load { every: ms(500), heartbeat: ms(4000), metrics, ..Load::default() };
    let challenge = receiver.receive(&sender.load(0, start, load(Metrics::default())), Time::ZERO).answer;
    assert_eq!(sender.hear(0, &challenge.expect("it is asked for a proof")), Heard::Challenge);
    // Its first report says where it counts from.
    let first = Metrics::of(&AsOne { is_empty: false, ..AsOne::default() }, 2);
    assert_eq!(receiver.receive(&sender.load(0, start, load(first)), Time::ZERO).told.len(), 1);
    for round in 1..=5u32 {
        let now = Time(u64::from(round) * ms(500).0);
        for (place, scale) in [(0, 1.0), (1, 3.0)] {
            let backend = BackendId(place as u32);
            // The second server is down in the fourth round. The first one is overloaded in the third, and still counts.
            if round == 4 && place == 1 {
                let lost = Told::Lost { backend, is_empty: false };
                lost.learn(&mut below, now);
                live.hear(&lost);
                continue;
            }
            let report = Report {
                measured: now,
                in_flight: round * (1 + place as u32),
                cpu: 0.1 * round as f32,
                disk: 0.02 * round as f32,
                capacity: 100.0 * scale,
                room: (100.0 - 10.0 * round as f32) * scale,
                latency: Some(Span(u64::from(round) * 1_000_000 + place * 500_000)),
                requests: 10 * round,
                bytes: 1000 * u64::from(round),
                extras: [("cores".into(), 2.0)].into(),
                ..Report::default()
            };
            done[place as usize].add(&report);
            let is_overloaded = (round, place) == (3, 0);
            let told = Told::Report { backend, report: Box::new(report), is_overloaded };
            told.learn(&mut below, now);
            live.hear(&told);
        }
        // By the way of the simulator.
        let reports = below.reporting().map(|id| below.table().report(id));
        let AsOne { mut report, totals, is_empty } = AsOne::of(reports, done.iter().copied(), now);
        account.add_differences(&mut report, &totals, ms(500));
        // Over the wire.
        let Look::Servers { as_one, cores } = live.look(&below, now) else { panic!("they report") };
        assert_eq!((as_one.is_empty, cores), (is_empty, if round == 4 { 2 } else { 4 }));
        let datagram = sender.load(0, start + now.0, load(Metrics::of(&as_one, cores)));
        let told = receiver.receive(&datagram, now).told;
        told.iter().for_each(|told| _ = told.learn(&mut above, now));
        let heard = above.table().report(BackendId(0)).expect("it has reported");
        assert_eq!(heard.extras["cores"], f64::from(cores));
        assert_eq!(Report { extras: report.extras.clone(), ..heard.clone() }, report, "round {round}");
    }
    // With no server left it says so, and nothing else.
    for backend in [BackendId(0), BackendId(1)] {
        Told::Lost { backend, is_empty: false }.learn(&mut below, Time(ms(3000).0));
    }
    let look = live.look(&below, Time(ms(3000).0));
    let Look::Servers { as_one, .. } = look else { panic!("none is up") };
    assert!(as_one.is_empty && as_one.totals.completed == 10 * 15 + 10 * 11, "{as_one:?}");
    assert_eq!(
        Metrics::of(&as_one, 0).known().map(|(metric, _)| metric).collect::<Vec<_>>(),
        [Metric::Completed, Metric::Bytes]
    );
}

/// A receiver in front of a gateway that orders what it likes, and plays it again.
struct Orders {
    socket: UdpSocket,
    receiver: Receiver,
    gateway: Option<std::net::SocketAddr>,
    told: Vec<Told>,
}

impl Orders {
    fn new() -> Orders {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.set_read_timeout(Some(ms(20).as_std())).expect("a timeout");
        let receiver = Receiver::new(key(), &["paris".into()], now());
        Orders { socket, receiver, gateway: None, told: Vec::new() }
    }

    fn take(&mut self) {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
            let received = self.receiver.receive(&buffer[..length], now());
            if let Some(answer) = received.answer {
                self.socket.send_to(&answer, from).expect("it is sent");
            }
            self.gateway = Some(from);
            self.told.extend(received.told);
        }
    }

    fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.gateway.expect("it was heard")).expect("it is sent");
    }

    /// Orders the client and gives the number of the order and the datagram.
    fn order(&mut self, client: &str) -> (u64, Vec<u8>) {
        let (order, datagram) = self.receiver.order(BackendId(0), client, now()).expect("it was heard");
        self.send(&datagram);
        (order, datagram)
    }

    /// What became of an order.
    fn answer(&self, order: u64) -> Option<String> {
        self.told.iter().find_map(|told| match told {
            Told::Echoes { order: of, probed, .. } if *of == order => Some(format!("{probed:?}")),
            _ => None,
        })
    }
}

/// At most so many in a second, none twice within the refresh time, none of no host; what was played again or changed by
/// one without the key measures nothing.
#[test]
fn orders_are_limited_and_strangers_give_none() {
    let mut orders = Orders::new();
    let receivers = vec![orders.socket.local_addr().expect("an address")];
    let echoes = Echoes { per_second: 3, refresh: HOUR, ..Echoes::default() };
    let upstream = Upstream { to: receivers, name: Some("paris".into()), echoes, ..Upstream::default() };
    let cluster = Cluster::new(upstream, None, &[]);
    let counts = || cluster.gateway.counts().upstream.expect("it tells");
    until("the gateway is heard", || {
        orders.take();
        !orders.told.is_empty()
    });
    let (first, datagram) = orders.order("127.0.0.1");
    let (again, _) = orders.order("127.0.0.1");
    let no_host: Vec<u64> =
        ["example.org", "255.255.255.255", "224.0.0.1", "0.0.0.0", "::"].map(|client| orders.order(client).0).into();
    let many: Vec<u64> = (2..10).map(|last| orders.order(&format!("127.0.0.{last}")).0).collect();
    until("all are answered", || {
        orders.take();
        [first, again].iter().chain(&no_host).chain(&many).all(|order| orders.answer(*order).is_some())
    });
    let answer = |order: u64| orders.answer(order).expect("it is answered");
    assert!(answer(first).contains("answers: 3"), "{}", answer(first));
    assert!(answer(again).contains("TooSoon"), "{}", answer(again));
    assert!(no_host.iter().all(|order| answer(*order).contains("NoAddress")));
    let measured = many.iter().filter(|order| answer(**order).contains("answers: 3")).count();
    let refused = many.iter().filter(|order| answer(**order).contains("TooMany")).count();
    // The second may end between them; all of it took less than another one.
    assert!(measured >= 2 && measured + refused == 8 && refused >= 2, "{measured} {refused}");
    let (probes, probes_refused) = (counts().probes, counts().probes_refused);
    assert_eq!((probes, probes_refused), (1 + measured as u64, 6 + refused as u64));
    // Played again, and changed.
    orders.send(&datagram);
    let mut forged = orders.receiver.order(BackendId(0), "127.0.0.99", now()).expect("it was heard").1;
    *forged.last_mut().expect("it has a sum") ^= 1;
    orders.send(&forged);
    orders.send(b"SJL1");
    until("they are counted", || {
        let dropped = counts().orders_dropped;
        (dropped.replayed, dropped.forged, dropped.truncated) == (1, 1, 1)
    });
    assert_eq!((counts().probes, counts().probes_refused), (probes, probes_refused));
}
