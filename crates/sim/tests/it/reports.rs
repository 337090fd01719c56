//! What deciders are told besides requests: reports, alarms, silence, rates of clients, round trips and addresses. A
//! policy that writes down all that it hears is the witness.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use sojourn_dispatch::reports::phase;
use sojourn_dispatch::{
    Ask, BackendId, Catalogue, Command, Decision, Event, Hardware, Origin, Policy, Reason, Report, RoundTrip, Signals,
    Table,
};
use sojourn_model::system::{
    Clients, Directions, Face, Fault, Line, Path, Paths, Probes, Region, Reports, Resolver, Resolves, Seat, Site,
    Subject, Target, Tier, Trouble, TtlRule, TtlUse,
};
use sojourn_model::{LossModel, Server, System};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::{Open, Workload};

use crate::files::{documents, nodes};
use crate::support::{closed, open};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// Reports on ticks of 500 ms, with a heartbeat of 4 s.
pub(crate) const REPORTS: Reports = Reports {
    every: Span(500 * MS),
    heartbeat: Some(Span(4 * SECOND)),
    client_rates: None,
    hidden_load: false,
    cost: Span::ZERO,
    lossy: false,
    estimator: None,
    capacity_at: 1.0,
};

/// What a policy hears.
#[derive(Clone, Debug, PartialEq)]
enum Heard {
    Report(BackendId, Report),
    Event(Event),
    Rate(u64, f64),
    /// What it chose itself.
    Chosen(BackendId),
    Asked {
        client: u64,
        origin: Origin,
        targets: Vec<Origin>,
        round_trips: Vec<Option<RoundTrip>>,
    },
}

type Notes = Arc<Mutex<Vec<(Time, Heard)>>>;

/// Chooses in turn, has every client that asks probed once, and writes down what it hears.
struct Witness {
    requires: Signals,
    notes: Notes,
    turn: usize,
    wanted: Vec<Command>,
    now: Time,
    probed: BTreeSet<u64>,
}

impl Witness {
    fn note(&self, now: Time, heard: Heard) {
        self.notes.lock().unwrap().push((now, heard));
    }
}

impl Policy for Witness {
    fn requires(&self) -> Signals {
        self.requires
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let targets = || (0..ask.table.len() as u32).map(BackendId);
        let client = ask.request.client;
        let round_trips = targets().map(|id| ask.clients.round_trip(client, id)).collect();
        let origins = targets().map(|id| ask.table.origin(id)).collect();
        self.note(ask.now, Heard::Asked { client, origin: ask.request.origin, targets: origins, round_trips });
        if self.requires.contains(Signals::ROUND_TRIPS) && self.probed.insert(client) {
            self.wanted.extend(targets().map(|from| Command::Measure { client, from }));
        }
        let up: Vec<BackendId> = ask.candidates().collect();
        (self.turn, self.now) = (self.turn + 1, ask.now);
        let reason = Reason { code: sojourn_dispatch::Code::Own, ties: 1, value: 0.0 };
        let chosen = (!up.is_empty()).then(|| (up[self.turn % up.len()], reason));
        chosen.iter().for_each(|(backend, _)| self.note(ask.now, Heard::Chosen(*backend)));
        Decision::forward_or_refuse(chosen)
    }

    fn observe(&mut self, event: &Event, _: &Table, now: Time) {
        self.note(now, Heard::Event(*event));
    }

    fn reported(&mut self, backend: BackendId, table: &Table, now: Time) {
        self.note(now, Heard::Report(backend, table.report(backend).unwrap().clone()));
    }

    fn rated(&mut self, ask: &Ask<'_>, _: &mut Stream) {
        let client = ask.request.client;
        self.note(ask.now, Heard::Rate(client, ask.clients.rate(client).unwrap()));
    }

    fn poll(&mut self, _: &Table, _: Time) -> Vec<Command> {
        std::mem::take(&mut self.wanted)
    }

    fn next_deadline(&self) -> Option<Time> {
        (!self.wanted.is_empty()).then_some(self.now)
    }
}

/// What the policy `witness` of `system` hears until `end`.
fn heard(system: System, workload: Workload, requires: Signals, end: Span) -> Vec<(Time, Heard)> {
    let notes = Notes::default();
    let written = Arc::clone(&notes);
    let mut catalogue = Catalogue::default();
    let added = catalogue.add("witness", "writes down what it hears", move |_| {
        let (notes, probed) = (Arc::clone(&written), BTreeSet::new());
        Ok(Box::new(Witness { requires, notes, turn: 0, wanted: Vec::new(), now: Time::ZERO, probed }))
    });
    added.unwrap();
    let control =
        Control { seed: 1, horizon: Some(end), warm_up: WarmUp::Fixed(Span::ZERO), catalogue, ..Control::default() };
    sojourn_sim::run_plan(&system, &workload, &control).unwrap();
    drop(control);
    std::mem::take(&mut *notes.lock().unwrap())
}

/// Servers of several resources are left from each of them: by a reply, by a client that leaves while a disk reads or while a
/// file is on its way from its owner, and by the end of a server or of an owner. Nothing that has left is told of.
#[test]
fn requests_inside_are_those_that_have_not_left() {
    let restart = |at_ms: u64, until_ms: Option<u64>, host: usize| Fault {
        at: Time(at_ms * MS),
        until: until_ms.map(|until| Time(until * MS)),
        subject: Subject::Host(host),
        trouble: if until_ms.is_some() { Trouble::Down } else { Trouble::Restarted },
    };
    // A request each 400 ms takes 220 ms of its owner; at the other node it is there for a second more.
    let inside = |patience: Option<&str>, faults: Vec<Fault>| {
        let mut system = nodes(2, "witness", 1, "");
        system.network.cluster_rate = Some(80e6);
        system.faults = faults;
        let Workload::Open(plan) = open("constant(400 ms)") else { unreachable!() };
        let patience = patience.map(|text| Law::parse(text, sojourn_stats::Dimension::Time).unwrap());
        let workload = Workload::Open(Open { sizes: documents(1), patience, ..plan });
        let heard = heard(system, workload, Signals::REPORTS, Span(200 * SECOND));
        let of_both = [0, 1].map(|node| reports(&heard, node));
        assert!(of_both.iter().all(|reports| reports.len() > 50), "both nodes report");
        of_both.into_iter().flatten().map(|(_, report)| report.in_flight).max().unwrap()
    };
    for (what, patience, faults) in [
        ("served", None, vec![]),
        ("left while the disk reads", Some("100 ms"), vec![]),
        ("left while the file crosses", Some("300 ms"), vec![]),
        ("a server restarts", None, (1..40).map(|k| restart(k * 4_100, None, 1)).collect()),
        ("an owner is down", None, vec![restart(20_100, Some(150_000), 0)]),
    ] {
        let most = inside(patience, faults);
        assert!(most <= 3, "{what}: {most} requests inside, where two at once are");
    }
}

fn reports(heard: &[(Time, Heard)], of: u32) -> Vec<(Time, Report)> {
    let of_it = |(at, heard): &(Time, Heard)| match heard {
        Heard::Report(backend, report) if backend.0 == of => Some((*at, report.clone())),
        _ => None,
    };
    heard.iter().filter_map(of_it).collect()
}

/// `count` servers of this model behind a gateway with reports.
fn behind_a_gateway(count: usize, server: &str, reports: Reports) -> System {
    let server = Server::from_toml(server).unwrap();
    let tier = Tier { reports: Some(reports), ..Tier::new(Face::Gateway, "witness") };
    System::balanced(tier, vec![server; count])
}

/// A DNS that hears reports over two sites, 10 and 100 ms away from it, with a front node and two servers each.
fn two_sites(server: &str, reports: Reports) -> System {
    let server = Server::from_toml(server).unwrap();
    let mut system = System::balanced(Tier::new(Face::Switch, "round-robin"), vec![server; 4]);
    let regions = [("europe", 194 << 24), ("asia", 202 << 24)];
    system.regions = regions.map(|(name, prefix)| Region { name: name.into(), addresses: Some((prefix, 7)) }).into();
    system.sites = vec![Site { name: "c1".into(), region: 0 }, Site { name: "c2".into(), region: 1 }];
    (0..4).for_each(|host| system.hosts[host].site = Some(host / 2));
    let at = |site: usize| Seat {
        site: Some(site),
        targets: [2 * site, 2 * site + 1].map(Target::Host).into(),
        ..Seat::default()
    };
    let targets = (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect();
    let dns = Tier {
        seats: vec![Seat { targets, ..Seat::default() }],
        reports: Some(reports),
        ..Tier::new(Face::Dns, "witness")
    };
    let front = Tier { seats: vec![at(0), at(1)], reports: Some(reports), ..Tier::new(Face::Switch, "round-robin") };
    system.tiers = vec![dns, front];
    system.rules.resolves = Resolves::EachRequest;
    system.clients = vec![Clients::alone(0, 10)];
    let path = |rtt_ms: f64| Path {
        rtt: Law::constant(rtt_ms * 1e-3),
        loss: Directions::default(),
        loss_correlation: 0.0,
        loss_model: LossModel::GilbertElliott,
        rate: Directions::default(),
        medium: None,
        line: Line::default(),
    };
    system.paths = Paths::new(2, |a, b| Ok::<_, ()>(path(if a == b { 10.0 } else { 100.0 }))).unwrap();
    system
}

fn ten_clients(arrivals: &str) -> Workload {
    let Workload::Open(plan) = open(arrivals) else { unreachable!() };
    Workload::Open(Open { clients: 10, ..plan })
}

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs()
}

/// Ten requests per second of 50 ms at one server: busy for half of the time, room for ten more, and nothing changes, so
/// that it reports on heartbeats only.
#[test]
fn a_server_reports_its_load_and_room() {
    let system = behind_a_gateway(1, "discipline = \"fcfs\"\ndemand = \"50 ms\"", REPORTS);
    let heard = heard(system, open("constant(100 ms)"), Signals::REPORTS, Span(60 * SECOND));
    let reports = reports(&heard, 0);
    let settled: Vec<_> = reports.iter().filter(|(at, _)| at.0 > 10 * SECOND).collect();
    assert!(settled.len() >= 11, "{}", settled.len());
    for pair in settled.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, Span(4 * SECOND), "a heartbeat");
    }
    for (at, report) in settled {
        assert_eq!((report.measured, report.requests, report.bytes), (*at, 40, 40_000), "without links it is new");
        assert_eq!(report.latency, Some(Span(50 * MS)));
        let known = [report.cpu, report.capacity, report.room].map(f64::from);
        assert!(known.iter().zip([0.5, 20.0, 10.0]).all(|(value, expected)| is_near(*value, expected)), "{known:?}");
    }
}

/// Ten requests of 1000 B a second take the processor for a tenth, the disk for half of the time, and the network for twice as
/// long as there is: there they wait, and nowhere else.
#[test]
fn each_resource_is_reported_as_itself() {
    let server = "demand = \"10 ms\"\nresources = { cpu = { discipline = \"ps\" }, \
                  disk = { discipline = \"fcfs\", rate = \"20 kB/s\" }, net = { discipline = \"fcfs\", rate = \"5 kB/s\" } }";
    let system = behind_a_gateway(1, server, REPORTS);
    let heard = heard(system, open("constant(100 ms)"), Signals::REPORTS, Span(20 * SECOND));
    // What is there is served after the end, too.
    let (at, last) = reports(&heard, 0).into_iter().rfind(|(at, _)| at.0 <= 20 * SECOND).unwrap();
    for (name, share, due) in [("cpu", last.cpu, 0.1), ("disk", last.disk, 0.5), ("net", last.net, 1.0)] {
        assert!((share - due).abs() < 0.03, "{name}: {share}, not {due}: {last:?}");
    }
    // Ten come and five leave in a second.
    let [cpu, disk, net] = last.queues;
    let due = (at.as_secs_f64() * 5.0) as u32;
    assert!(cpu <= 1 && disk <= 1 && net.abs_diff(due) <= 2 && cpu + disk + net == last.in_flight, "{at:?}: {last:?}");
}

/// What a node is told of the others: speeds, disks, networks and which of them has each file. Rates of links are in bits, those
/// of hardware in bytes.
#[test]
fn nodes_know_what_the_others_are_made_of() {
    struct Looks(Arc<Mutex<Vec<Vec<Hardware>>>>);
    impl Policy for Looks {
        fn requires(&self) -> Signals {
            Signals::HARDWARE | Signals::OWNERS | Signals::OBJECT
        }

        fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
            let found = (0..ask.table.len() as u32).map(|id| ask.table.hardware(BackendId(id))).collect();
            self.0.lock().unwrap().push(found);
            assert_eq!(ask.table.owners(ask.request.object), [BackendId(ask.request.object % 2)]);
            let reason = Reason { code: sojourn_dispatch::Code::Own, ties: 1, value: 0.0 };
            Decision::forward(ask.request.here.unwrap_or(BackendId(0)), reason)
        }
    }
    let found = |net: &str| {
        let mut system = nodes(2, "looks", 3, "");
        let faster = "demand = \"20 ms\"\nspeed = 2\nfiles = { placed = \"one-owner\", number = 3 }\nresources = { \
                      cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"10 MB/s\" }NET }";
        system.hosts[1].server = Server::from_toml(&faster.replace("NET", net)).unwrap();
        system.network.cluster_rate = Some(80e6);
        let notes = Arc::default();
        let written = Arc::clone(&notes);
        let mut catalogue = Catalogue::default();
        catalogue.add("looks", "looks at hardware", move |_| Ok(Box::new(Looks(Arc::clone(&written))))).unwrap();
        let control =
            Control { horizon: Some(Span(5 * SECOND)), warm_up: WarmUp::Fixed(Span::ZERO), ..Control::default() };
        let Workload::Open(plan) = open("constant(1 s)") else { unreachable!() };
        let workload = Workload::Open(Open { sizes: documents(3), ..plan });
        sojourn_sim::run_plan(&system, &workload, &Control { catalogue, ..control }).unwrap();
        let seen = std::mem::take(&mut *notes.lock().unwrap());
        assert!(!seen.is_empty() && seen.iter().all(|one| *one == seen[0]));
        seen[0].clone()
    };
    let slow = Hardware { speed: 1.0, disk_rate: 5e6, net_rate: 10e6 };
    assert_eq!(found(""), [slow, Hardware { speed: 2.0, disk_rate: 10e6, net_rate: 10e6 }]);
    let own = ", net = { discipline = \"fcfs\", rate = \"3 MB/s\" }";
    assert_eq!(found(own), [slow, Hardware { speed: 2.0, disk_rate: 10e6, net_rate: 3e6 }]);
}

/// The same server, which is said to learn by response time alone: of 10 requests per second that stay 50 ms, 0.5 are
/// inside in the mean, which it takes for a third of its capacity.
#[test]
fn another_estimator_of_capacity_can_be_named() {
    let learning = Reports { estimator: Some("response-time"), ..REPORTS };
    let system = behind_a_gateway(1, "discipline = \"fcfs\"\ndemand = \"50 ms\"", learning);
    let heard = heard(system, open("constant(100 ms)"), Signals::REPORTS, Span(60 * SECOND));
    let (_, last) = reports(&heard, 0).pop().unwrap();
    // It learns by degrees.
    let is_about = |value: f32, expected: f64| (f64::from(value) - expected).abs() < 0.01 * expected;
    assert!(is_about(last.capacity, 30.0) && is_about(last.room, 20.0), "{last:?}");
}

/// A site is one server of high capacity; what is known of it is half a round trip old.
#[test]
fn a_site_reports_as_one_server() {
    let system = two_sites("discipline = \"fcfs\"\ndemand = \"50 ms\"", REPORTS);
    let heard = heard(system, ten_clients("constant(25 ms)"), Signals::REPORTS, Span(60 * SECOND));
    for (site, way) in [(0, Span(5 * MS)), (1, Span(50 * MS))] {
        let reports = reports(&heard, site);
        let settled: Vec<_> = reports.iter().filter(|(at, _)| at.0 > 20 * SECOND).collect();
        assert!(settled.len() >= 9, "{}", settled.len());
        for (at, report) in settled {
            assert_eq!(*at - report.measured, way);
            assert_eq!(report.measured.0 % (500 * MS), 0, "measured on a tick");
            let known = [report.cpu, report.capacity, report.room].map(f64::from);
            let right =
                known.iter().zip([0.5, 40.0, 20.0]).all(|(value, expected)| (value - expected).abs() < 0.11 * expected);
            assert!(right, "site {site}: {known:?}");
        }
        let told: u32 = reports.iter().map(|(_, report)| report.requests).sum();
        assert!((1100..=1200).contains(&told), "site {site}: {told} of 1200 requests");
    }
}

/// Twenty requests at once: with the ninth in it the server is overloaded and says so at that instant, between two
/// ticks; with two left it says that this is over.
#[test]
fn an_overload_is_told_at_once() {
    let system = behind_a_gateway(1, "discipline = \"fcfs\"\ndemand = \"10 ms\"", REPORTS);
    let heard = heard(system, closed(20, "constant(10.2 s)"), Signals::REPORTS, Span(15 * SECOND));
    let at =
        |at: Time| reports(&heard, 0).into_iter().find(|(told, _)| *told == at).map(|(_, report)| report.in_flight);
    assert_eq!(at(Time(10_200 * MS)), Some(9));
    assert_eq!(at(Time(10_380 * MS)), Some(2), "18 have left");
}

/// A site with more than eight requests for each core says so, and is not named until it says that it has two or fewer
/// (P. Agarwal, A test bed for performance evaluation of load balancing strategies for web server systems, 2001, section 4.3.3).
#[test]
fn an_overloaded_site_is_not_named_until_its_load_is_moderate() {
    const SLOW: BackendId = BackendId(1);
    let mut system = two_sites("discipline = \"ps\"\ndemand = \"10 ms\"", REPORTS);
    (2..4).for_each(|host| system.hosts[host].server.speed = 0.1);
    let heard = heard(system, ten_clients("constant(10 ms)"), Signals::REPORTS, Span(60 * SECOND));
    let (mut is_aside, mut turned, mut times, mut named) = (false, None, 0, 0);
    for (at, heard) in &heard {
        match heard {
            // The alarm is heard first, and then the rest of the report that bears it.
            Heard::Event(Event::Draining { backend: SLOW }) => (is_aside, turned, times) = (true, Some(*at), times + 1),
            Heard::Event(Event::Joined { backend: SLOW }) => (is_aside, turned) = (false, Some(*at)),
            Heard::Report(SLOW, Report { in_flight, .. }) => match (is_aside, turned.take()) {
                (true, Some(then)) => assert!(then == *at && *in_flight > 16, "{at:?}: left out with {in_flight}"),
                (false, Some(then)) => assert!(then == *at && *in_flight <= 4, "{at:?}: named again with {in_flight}"),
                (true, None) => assert!(*in_flight > 4, "{at:?}: left out with {in_flight}"),
                (false, None) => assert!(*in_flight <= 16, "{at:?}: named with {in_flight}"),
            },
            Heard::Chosen(SLOW) => {
                assert!(!is_aside, "{at:?}: named while it is overloaded");
                named += 1;
            }
            _ => {}
        }
    }
    // In turn it gets 50 requests a second, and it can do 20: again and again it has too much, and then little.
    assert!(times > 5 && named > 100, "overloaded {times} times, and named {named} times");
}

/// What says nothing for two heartbeats is down to its decider, and up again with its next report; nothing else tells.
#[test]
fn silence_is_taken_for_a_fault() {
    let mut system = behind_a_gateway(2, "discipline = \"fcfs\"\ndemand = \"10 ms\"", REPORTS);
    system.tiers[0].face = Face::Switch;
    let (at, until) = (Time(20 * SECOND + 1), Some(Time(50 * SECOND + 1)));
    system.faults = vec![Fault { at, until, subject: Subject::Host(1), trouble: Trouble::Down }];
    let heard = heard(system, open("constant(100 ms)"), Signals::REPORTS, Span(60 * SECOND));
    let last = reports(&heard, 1).into_iter().map(|(at, _)| at).filter(|told| *told < at).max().unwrap();
    let events: Vec<_> = heard
        .iter()
        .filter(|(_, heard)| matches!(heard, Heard::Event(Event::Down { .. } | Event::Joined { .. })))
        .collect();
    let down = last + Span(8_500 * MS);
    let expected = [
        (down, Heard::Event(Event::Down { backend: BackendId(1) })),
        (Time(50_500 * MS), Heard::Event(Event::Joined { backend: BackendId(1) })),
    ];
    assert_eq!(events, expected.iter().collect::<Vec<_>>());
}

/// The receiver takes its time for each report, and the second one waits for the first.
#[test]
fn reports_cost_their_receiver_time() {
    let reports_ = Reports { heartbeat: None, cost: Span(100 * MS), ..REPORTS };
    let system = behind_a_gateway(2, "discipline = \"fcfs\"\ndemand = \"10 ms\"", reports_);
    let heard = heard(system, open("constant(100 ms)"), Signals::REPORTS, Span(10 * SECOND));
    for (server, age) in [(0, 100), (1, 200)] {
        let ages: Vec<_> = reports(&heard, server).iter().map(|(at, report)| *at - report.measured).collect();
        assert!(ages.len() >= 18 && ages.iter().all(|of| *of == Span(age * MS)), "{ages:?}");
    }
}

/// Front nodes tell the DNS of clients above the mean, each at a phase of its own; the sum over the sites is told.
#[test]
fn the_rates_of_busy_clients_go_up() {
    let with_rates = Reports { client_rates: Some(Span(8 * SECOND)), ..REPORTS };
    let system = two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", with_rates);
    let requires = Signals::REPORTS | Signals::CLIENT_RATES;
    let heard = heard(system, ten_clients("constant(10 ms)"), requires, Span(40 * SECOND));
    let rates: Vec<(Time, u64, f64)> = heard
        .iter()
        .filter_map(|(at, heard)| match heard {
            Heard::Rate(client, rate) => Some((*at, *client, *rate)),
            _ => None,
        })
        .collect();
    let instants: BTreeSet<u64> = rates.iter().map(|(at, ..)| at.0 / MS).collect();
    // The first site is 5 ms away, the second one 50 ms; 8 s have room for the phases of both.
    let of_site = |site: u64, way_ms: u64| {
        let phase = phase(&format!("decider {}", 1 + site), Span(8 * SECOND));
        (1..=4).map(move |period| (period * 8 * SECOND + phase.0 + way_ms * MS) / MS)
    };
    let expected: BTreeSet<u64> = of_site(0, 5).chain(of_site(1, 50)).collect();
    assert!(expected.len() == 8 && instants == expected, "{instants:?} and not {expected:?}");
    let first_at = expected.first().expect("there are some");
    let first = rates.iter().filter(|(told, ..)| told.0 / MS == *first_at).count();
    assert!((1..10).contains(&first), "{first} of 10 clients are above the mean");
    for at in expected.iter().skip(2) {
        let of_it: Vec<f64> = rates.iter().filter(|(told, ..)| told.0 / MS == *at).map(|(.., rate)| *rate).collect();
        // Each client asks for 10 /s in the mean, and 5 /s of that at each site.
        assert!((1..=10).contains(&of_it.len()), "{of_it:?}");
        assert!(of_it.iter().all(|rate| *rate > 4.0 && *rate < 20.0), "{of_it:?}");
    }
}

/// What is down or stands still tells no rates of clients.
#[test]
fn what_is_silent_tells_no_rates() {
    let with_rates = Reports { client_rates: Some(Span(8 * SECOND)), ..REPORTS };
    let requires = Signals::REPORTS | Signals::CLIENT_RATES;
    let told = |subject: Option<Subject>| {
        let mut system = behind_a_gateway(1, "discipline = \"fcfs\"\ndemand = \"1 ms\"", with_rates);
        system.tiers[0].face = Face::Switch;
        system.rules.timeout = Some(Span(SECOND));
        let frozen = |subject| Fault { at: Time(7 * SECOND), until: None, subject, trouble: Trouble::Frozen };
        system.faults = subject.map(frozen).into_iter().collect();
        let heard = heard(system, ten_clients("constant(10 ms)"), requires, Span(20 * SECOND));
        heard.iter().filter(|(_, heard)| matches!(heard, Heard::Rate(..))).count()
    };
    assert_eq!((told(None), told(Some(Subject::Host(0)))), (10, 0));
}

/// A rate is of the time in which it was counted, which is longer before the first report.
#[test]
fn rates_are_of_the_time_counted() {
    let every = Span(8 * SECOND);
    let with_rates = Reports { client_rates: Some(every), ..REPORTS };
    let system = behind_a_gateway(1, "discipline = \"fcfs\"\ndemand = \"1 ms\"", with_rates);
    let requires = Signals::REPORTS | Signals::CLIENT_RATES;
    let heard = heard(system, ten_clients("constant(10 ms)"), requires, Span(40 * SECOND));
    let mut sums: BTreeMap<Time, f64> = BTreeMap::new();
    for (at, heard) in heard {
        if let Heard::Rate(_, rate) = heard {
            *sums.entry(at).or_default() += rate;
        }
    }
    assert_eq!(sums.keys().next(), Some(&(Time::ZERO + every + phase("server 0", every))));
    // One request more or less in 800.
    assert!(sums.len() == 4 && sums.values().all(|sum| (sum - 100.0).abs() < 0.2), "{sums:?}");
}

/// A site whose last server has fallen silent says so at that instant: before its next heartbeat, and although its busy share
/// has hardly changed. What its servers told of their clients is forgotten.
#[test]
fn a_site_without_servers_says_so_at_once() {
    let with_rates = Reports { client_rates: Some(Span(8 * SECOND)), ..REPORTS };
    let mut system = two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", with_rates);
    let at = Time(21 * SECOND + 1);
    let fault = |host| Fault { at, until: None, subject: Subject::Host(host), trouble: Trouble::Down };
    system.faults = vec![fault(2), fault(3)];
    let requires = Signals::REPORTS | Signals::CLIENT_RATES;
    let heard = heard(system, ten_clients("constant(100 ms)"), requires, Span(80 * SECOND));
    let downs: Vec<Time> = heard
        .iter()
        .filter(|(_, heard)| *heard == Heard::Event(Event::Down { backend: BackendId(1) }))
        .map(|(at, _)| *at)
        .collect();
    // The servers' last heartbeats are those of 20.5 s; two more are missed, a tick later that is seen, and 50 ms later it is
    // known. The site's next heartbeat would be that of 32.5 s.
    assert_eq!(downs, [Time(29_050 * MS)]);
    let late = heard.iter().filter(|(at, heard)| at.0 > 60 * SECOND && matches!(heard, Heard::Rate(..)));
    let last = late.map(|(_, heard)| if let Heard::Rate(_, rate) = heard { *rate } else { 0.0 }).fold(0.0, f64::max);
    assert!(last > 0.0 && last < 4.0, "{last}");
}

/// An order to probe takes its way, three echoes a second apart are sent, and the mean comes back.
#[test]
fn round_trips_are_measured_from_the_sites() {
    let mut system = two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", REPORTS);
    system.tiers[0].probes = Some(Probes { at_most: 3, refresh: Span(120 * SECOND) });
    let heard = heard(system, ten_clients("constant(100 ms)"), Signals::ROUND_TRIPS, Span(20 * SECOND));
    let asked = |client: u64| {
        heard.iter().filter_map(move |(at, heard)| match heard {
            Heard::Asked { client: of, round_trips, .. } if *of == client => Some((*at, round_trips.clone())),
            _ => None,
        })
    };
    let Some((first, Heard::Asked { client, .. })) = heard.iter().find(|(_, it)| matches!(it, Heard::Asked { .. }))
    else {
        panic!("no client asked")
    };
    let mut known = 0;
    for (at, round_trips) in asked(*client) {
        for (site, (way, span)) in [(5 * MS, Span(10 * MS)), (50 * MS, Span(100 * MS))].into_iter().enumerate() {
            // The last echo is waited for, a second at least.
            let measured = Time(first.0 + way + 3 * SECOND);
            let expected = (at.0 >= measured.0 + way).then_some(RoundTrip { span, measured, answers: 3 });
            known += u32::from(expected.is_some());
            assert_eq!(round_trips[site], expected, "site {site} at {at:?}");
        }
    }
    assert!(known > 10, "{known}");
}

/// Everything has an address of its region, and its own; a client behind a resolver has the resolver's.
#[test]
fn addresses_are_of_the_region() {
    let mut system = two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", REPORTS);
    system.clients = vec![Clients::alone(0, 5), Clients::alone(1, 5)];
    system.resolvers = vec![Resolver { name: "isp".into(), region: 1, share: 1.0, ttl: TtlUse::Honoured }];
    let heard = heard(system, ten_clients("constant(100 ms)"), Signals::ORIGIN, Span(20 * SECOND));
    let mut seen = BTreeSet::new();
    for (_, heard) in heard {
        let Heard::Asked { origin, targets, .. } = heard else { continue };
        for (region, of) in
            std::iter::once((origin.region, origin)).chain([(Some(0), targets[0]), (Some(1), targets[1])])
        {
            let prefix = [194, 202][usize::from(region.unwrap())];
            assert_eq!((of.region, of.address.unwrap().octets()[0] & !1), (region, prefix));
        }
        assert_ne!(targets[0].address, targets[1].address);
        seen.insert((origin.region, origin.address));
    }
    let of = |region| seen.iter().filter(|(of, _)| *of == Some(region)).count();
    assert_eq!((of(0), of(1)), (5, 1), "five clients and one resolver: {seen:?}");
}

/// Reports are lost with the path's packets only if the tier says so; a probe of which no echo comes back tells nothing.
#[test]
fn losses_of_reports_and_echoes() {
    let lossy = |lossy: bool, loss: f64| {
        let mut system =
            two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", Reports { heartbeat: None, lossy, ..REPORTS });
        system.tiers[0].probes = Some(Probes { at_most: 3, refresh: Span(120 * SECOND) });
        let path = |rtt_ms: f64, loss: f64| Path {
            rtt: Law::constant(rtt_ms * 1e-3),
            loss: Directions::both(loss / 2.0),
            loss_correlation: 0.0,
            loss_model: LossModel::GilbertElliott,
            rate: Directions::default(),
            medium: None,
            line: Line::default(),
        };
        let between = |a, b| Ok::<_, ()>(if a == b { path(10.0, 0.0) } else { path(100.0, loss) });
        system.paths = Paths::new(2, between).unwrap();
        let heard =
            heard(system, ten_clients("constant(100 ms)"), Signals::REPORTS | Signals::ROUND_TRIPS, Span(200 * SECOND));
        let known = heard.iter().rev().find_map(|(_, heard)| match heard {
            Heard::Asked { round_trips, .. } => Some(round_trips.iter().map(Option::is_some).collect::<Vec<_>>()),
            _ => None,
        });
        ([0, 1].map(|site| reports(&heard, site).len()), known.unwrap())
    };
    assert_eq!(lossy(false, 0.5).0, [400, 400], "unimpaired");
    // Half of the loss is each way: of 400 reports a quarter is lost, up to 6 standard deviations (false alarm 2e-9).
    let ([near, far], _) = lossy(true, 0.5);
    assert!(near == 400 && (far as f64 - 300.0).abs() < 52.0, "{near}, {far}");
    // With all packets lost each way nothing is known of the far site.
    let ([near, far], known) = lossy(true, 2.0);
    // The last report of the near site is on its way when the run ends with its last reply.
    assert!((399..=400).contains(&near), "{near}");
    assert_eq!((far, known), (0, vec![true, false]));
}

/// A run of losses takes all three echoes of a probe: with the path's correlation more probes are in vain.
#[test]
fn echoes_are_lost_in_runs() {
    const CLIENTS: u32 = 2_000;
    let in_vain = |correlation: f64| {
        let mut system = two_sites("discipline = \"fcfs\"\ndemand = \"1 us\"", REPORTS);
        system.tiers[0].probes = Some(Probes { at_most: 3, refresh: Span(120 * SECOND) });
        system.clients = vec![Clients::alone(0, CLIENTS)];
        let path = |loss| Path {
            rtt: Law::constant(0.01),
            loss: Directions::both(loss / 2.0),
            loss_correlation: correlation,
            loss_model: LossModel::GilbertElliott,
            rate: Directions::default(),
            medium: None,
            line: Line::default(),
        };
        system.paths = Paths::new(2, |a, b| Ok::<_, ()>(path(if a == b { 0.0 } else { 1.0 }))).unwrap();
        let Workload::Open(plan) = open("exponential(rate = 2000 /s)") else { unreachable!() };
        let workload = Workload::Open(Open { clients: CLIENTS, ..plan });
        let heard = heard(system, workload, Signals::ROUND_TRIPS, Span(20 * SECOND));
        let known: BTreeMap<u64, bool> = heard
            .iter()
            .filter(|(at, _)| at.0 > 10 * SECOND)
            .filter_map(|(_, heard)| match heard {
                Heard::Asked { client, round_trips, .. } => Some((*client, round_trips[1].is_some())),
                _ => None,
            })
            .collect();
        (known.values().filter(|known| !**known).count() as f64 / known.len() as f64, known.len() as f64)
    };
    for correlation in [0.0, 0.9] {
        // Half of the packets are lost each way. Those that arrive there one after the other are lost on the way back with the
        // chain's probabilities.
        let same = 0.5 + 0.5 * correlation;
        let expected: f64 = (0..8_u32)
            .map(|lost: u32| {
                let changes = (lost ^ (lost >> 1)) & 3;
                let there = 0.5
                    * f64::powi(same, 2 - changes.count_ones() as i32)
                    * f64::powi(1.0 - same, changes.count_ones() as i32);
                let arrived = 3 - lost.count_ones() as i32;
                there * if arrived == 0 { 1.0 } else { 0.5 * f64::powi(same, arrived - 1) }
            })
            .sum();
        let (found, probes) = in_vain(correlation);
        // Five standard errors: false alarm 6e-7 each.
        let error = 5.0 * (expected * (1.0 - expected) / probes).sqrt();
        assert!(
            probes > 1_500.0 && (found - expected).abs() < error,
            "{correlation}: {found} of {expected} +- {error}"
        );
    }
}

/// Clients of one machine have one address, and one rate: the sum of theirs.
#[test]
fn clients_of_one_machine_are_one_to_the_deciders() {
    const RATES: Option<Span> = Some(Span(8 * SECOND));
    let told = |machines| {
        let mut system =
            two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", Reports { client_rates: RATES, ..REPORTS });
        system.clients = vec![Clients { region: 0, number: 10, machines }];
        let requires = Signals::REPORTS | Signals::CLIENT_RATES | Signals::ORIGIN;
        let heard = heard(system, ten_clients("constant(10 ms)"), requires, Span(60 * SECOND));
        let mut askers = BTreeSet::new();
        let mut rates = Vec::new();
        for (_, heard) in heard {
            match heard {
                Heard::Asked { client, origin, .. } => _ = askers.insert((client, origin.address)),
                Heard::Rate(client, rate) => rates.push((client, rate)),
                _ => {}
            }
        }
        assert!(rates.len() > 4 && rates.iter().all(|(client, _)| askers.iter().any(|(asker, _)| asker == client)));
        (askers.len(), rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64)
    };
    let ((alone, slow), (shared, fast)) = (told(10), told(3));
    assert_eq!((alone, shared), (10, 3));
    // Machines have 3, 3 and 4 clients; those above the mean are told. Of one client in ten that is at most 20 % above it
    // (8 s have 40 requests of each at a site, and six standard errors of the mean told are far less).
    assert!(fast > 2.5 * slow, "{slow} and {fast}");
}

/// With hidden load a resolver has the rate of all clients behind it, under the name by which it asks.
#[test]
fn a_resolver_has_the_rate_of_its_clients() {
    const RATES: Option<Span> = Some(Span(8 * SECOND));
    let reports = Reports { client_rates: RATES, ..REPORTS };
    let mut system = two_sites("discipline = \"fcfs\"\ndemand = \"1 ms\"", reports);
    system.tiers[0].reports = Some(Reports { hidden_load: true, ..reports });
    system.resolvers = vec![Resolver { name: "isp".into(), region: 0, share: 0.8, ttl: TtlUse::Honoured }];
    let requires = Signals::REPORTS | Signals::CLIENT_RATES | Signals::ORIGIN;
    let heard = heard(system, ten_clients("constant(10 ms)"), requires, Span(60 * SECOND));
    let mut last = BTreeMap::new();
    let mut askers = BTreeSet::new();
    for (_, heard) in heard {
        match heard {
            Heard::Asked { client, .. } => _ = askers.insert(client),
            Heard::Rate(client, rate) => _ = last.insert(client, rate),
            _ => {}
        }
    }
    assert_eq!(last.keys().collect::<Vec<_>>(), askers.iter().collect::<Vec<_>>(), "eight clients behind it, and two");
    let (largest, all) = (last.values().copied().fold(0.0, f64::max), last.values().sum::<f64>());
    // 100 /s in all; half a percent is the requests that are under way.
    assert!(last.len() == 3 && (all - 100.0).abs() < 5.0, "{last:?}");
    assert!((largest / all - 0.8).abs() < 0.08, "{last:?}");
}

/// How long after it was asked the DNS is asked again by the same client, from 20 s on.
fn intervals(system: System) -> Vec<f64> {
    let heard = heard(system, ten_clients("constant(10 ms)"), Signals::REPORTS | Signals::ADDRESS, Span(120 * SECOND));
    let mut last = std::collections::BTreeMap::new();
    let mut intervals = Vec::new();
    for (at, heard) in heard {
        let Heard::Asked { client, .. } = heard else { continue };
        if let Some(before) = last.insert(client, at).filter(|before| before.0 > 20 * SECOND) {
            intervals.push((at - before).as_secs_f64());
        }
    }
    intervals
}

/// A variable TTL shrinks while a site is full; an adaptive one is in proportion to the capacity of the site that is
/// named, and shorter for busier clients. Clients come back with their next request, up to a second later.
#[test]
fn ttls_follow_load_capacity_and_rates() {
    const RATES: Option<Span> = Some(Span(8 * SECOND));
    let with_rule = |ttl_rule, speed: f64, client_rates| {
        let reports = Reports { client_rates, ..REPORTS };
        let mut system = two_sites("discipline = \"ps\"\ndemand = \"1 ms\"", reports);
        (system.tiers[0].ttl, system.tiers[0].ttl_rule) = (Span(4 * SECOND), ttl_rule);
        system.rules.resolves = Resolves::Ttl;
        (2..4).for_each(|host| system.hosts[host].server.speed = speed);
        intervals(system)
    };
    let all = |intervals: Vec<f64>, from: f64, to: f64| {
        assert!(intervals.len() > 50 && intervals.iter().all(|of| (from..to).contains(of)), "{intervals:?}");
    };
    all(with_rule(TtlRule::Constant, 0.01, RATES), 4.0, 5.5);
    all(with_rule(TtlRule::Variable, 1.0, RATES), 4.0, 5.5);
    // The second site is full until it has said so and its load is moderate again, since it is named no more meanwhile.
    let (short, long): (Vec<f64>, Vec<f64>) =
        with_rule(TtlRule::Variable, 0.01, RATES).into_iter().partition(|of| *of < 3.75);
    all(short, 2.0, 3.5);
    all(long, 4.0, 5.5);
    // Capacities are 1.6 and 0.4 of their mean; while no rates are told, nothing else counts.
    let (short, long): (Vec<f64>, Vec<f64>) =
        with_rule(TtlRule::Adaptive, 0.25, None).into_iter().partition(|of| *of < 4.0);
    all(short, 1.59, 3.1);
    all(long, 6.39, 7.9);
    // Rates are, and capacities are equal: who asks more often than the mean is back sooner, the others later.
    let of_rates = with_rule(TtlRule::Adaptive, 1.0, RATES);
    assert!(of_rates.iter().any(|of| *of < 3.8) && of_rates.iter().any(|of| *of > 5.5), "{of_rates:?}");
}
