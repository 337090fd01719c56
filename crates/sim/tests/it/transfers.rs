//! Requests over paths that lose packets, have a rate or share a link: what is known exactly of each.

use sojourn_model::system::{
    Clients, Directions, Face, Line, Medium, Path, Paths, Region, Seat, Site, Target, Tier, Transport,
};
use sojourn_model::{LossModel, Server, System, TcpStack};
use sojourn_sim::{Control, Report};
use sojourn_stats::{Law, Span};
use sojourn_traffic::{Classes, Closed, Sizes, Workload};

use crate::support::{Scenario, closed, covers, estimate, open, run, simulate};

const SECOND: u64 = 1_000_000_000;
const RTT_S: f64 = 0.1;
const WORK_S: f64 = 0.02;

fn path() -> Path {
    Path {
        rtt: Law::constant(RTT_S),
        loss: Directions::default(),
        loss_correlation: 0.0,
        loss_model: LossModel::GilbertElliott,
        rate: Directions::default(),
        medium: None,
        line: Line::default(),
    }
}

/// A server without a balancer, over one path.
fn over(path: Path, transport: Option<Transport>) -> System {
    let server = Server::from_toml("discipline = \"ps\"\ndemand = \"20 ms\"").unwrap();
    let paths = Paths::new(1, |_, _| Ok::<_, ()>(path.clone())).unwrap();
    System { paths, transport, ..System::single(server) }
}

/// The same, where a request is no work.
fn idle(mut system: System) -> System {
    system.hosts[0].server = Server::from_toml("discipline = \"ps\"\ndemand = \"0 s\"").unwrap();
    system
}

fn tcp(stack: TcpStack, one_request_per_connection: bool) -> Option<Transport> {
    Some(Transport { stack, one_request_per_connection })
}

/// One user alone, whose replies have 1000 B.
fn alone(system: &System) -> Report {
    let workload = closed(1, "constant(100 ms)");
    let control = Control { horizon: Some(Span(100 * SECOND)), precision: None, replications: 2, ..Control::default() };
    simulate(&Scenario { workload, system: system.clone() }, &control).unwrap()
}

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

fn near(found: f64, exact: f64) {
    assert!((found - exact).abs() < 1e-6 * exact, "{found}, not {exact}");
}

/// A connection costs a round trip, and so do request and reply; a connection that is kept costs nothing.
#[test]
fn a_request_needs_a_connection() {
    let report = alone(&over(path(), tcp(TcpStack::LINUX_6, true)));
    near(value(&report, "response_time_mean"), 2.0 * RTT_S + WORK_S);
    near(value(&report, "connect_time_mean"), RTT_S);
    near(value(&report, "response_time_max"), 2.0 * RTT_S + WORK_S);
    // One request each 320 ms, of which 220 ms are a response.
    let throughput = value(&report, "throughput");
    // The last connection of all may be set up for a request that ends later.
    assert!((value(&report, "connection_rate") - throughput).abs() < 0.011);
    near(value(&report, "byte_throughput"), 1000.0 * throughput);
    near(value(&report, "littles_load_factor"), throughput * 0.22);
    assert!((throughput - 1.0 / 0.32).abs() < 0.02, "{throughput}");
    let kept = alone(&over(path(), tcp(TcpStack::LINUX_6, false)));
    let requests = value(&kept, "throughput") * 100.0;
    near(value(&kept, "response_time_mean"), RTT_S + WORK_S + RTT_S / requests);
    near(value(&kept, "connection_rate"), 0.01);
}

/// A handshake of TLS is a round trip of each new connection, beside that of TCP. A client of two classes, of which one comes
/// over TLS, keeps a connection for each.
#[test]
fn a_handshake_of_tls_takes_a_round_trip() {
    let over_tls = |one_request_per_connection, secure: Vec<u8>| {
        let mut system = over(path(), tcp(TcpStack::LINUX_6, one_request_per_connection));
        system.rules.secure = secure;
        system
    };
    let report = alone(&over_tls(true, vec![0]));
    near(value(&report, "response_time_mean"), 3.0 * RTT_S + WORK_S);
    near(value(&report, "response_time_max"), 3.0 * RTT_S + WORK_S);
    near(value(&report, "connect_time_mean"), RTT_S);
    let kept = alone(&over_tls(false, vec![0]));
    let requests = value(&kept, "throughput") * 100.0;
    // One request may begin before the end, and end after it.
    let round_trips = (value(&kept, "response_time_mean") - RTT_S - WORK_S) * requests / RTT_S;
    assert!((1.99..2.01).contains(&round_trips), "{round_trips}");
    near(value(&alone(&over_tls(true, vec![1])), "response_time_mean"), 2.0 * RTT_S + WORK_S);

    let sizes =
        Sizes::ByClass(Classes::alike(&[("plain", 0.5), ("secure", 0.5)], Sizes::Law(Law::constant(1000.0))).unwrap());
    let think = Law::constant(0.1);
    let workload = Workload::Closed(Closed { users: 1, think, sizes, patience: None });
    let control = Control { horizon: Some(Span(100 * SECOND)), precision: None, replications: 2, ..Control::default() };
    let rate = |secure| {
        let scenario = Scenario { workload: workload.clone(), system: over_tls(false, secure) };
        value(&simulate(&scenario, &control).unwrap(), "connection_rate")
    };
    near(rate(vec![1]), 0.02);
    near(rate(vec![]), 0.01);
}

/// Both parts of a handshake can be lost, and then wait for a time-out as a request does.
#[test]
fn a_handshake_is_sent_again() {
    let p = 0.05;
    let mean_s = |secure: Vec<u8>| {
        let mut system = idle(over(Path { loss: Directions::both(p), ..path() }, tcp(TcpStack::LINUX_2_2, true)));
        system.rules.secure = secure;
        let report = run(&Scenario { workload: closed(50, "constant(1 s)"), system }, 400_000);
        estimate(&report, "response_time_mean").interval().unwrap()
    };
    let (plain, secure) = (mean_s(vec![]), mean_s(vec![0]));
    // Each of the two waits for no less than three round trips; 3 s where the connection's own packets were sent again.
    let again = p / (1.0 - 2.0 * p);
    let (least, most) = (RTT_S + 2.0 * 3.0 * RTT_S * again, RTT_S + 2.0 * 3.0 * again);
    let found = (secure.0 - plain.1, secure.1 - plain.0);
    assert!(found.0 > RTT_S && found.1 > least && found.1 < most, "{found:?}, not {least} to {most}");
}

/// Messages need no connection, and say nothing of any.
#[test]
fn without_tcp_nothing_is_said_of_connections() {
    let report = alone(&over(path(), None));
    near(value(&report, "response_time_mean"), RTT_S + WORK_S);
    for metric in
        ["connect_time_mean", "connection_rate", "connection_error_ratio", "byte_throughput", "response_time_max"]
    {
        assert!(report.measures.iter().all(|measure| measure.metric != metric), "{metric}");
    }
}

/// Every packet is one that only a time-out brings through, so that all is known: the connection waits
/// 3 s p / (1 - 2 p) in each direction, and request and reply each a time-out by p / (1 - 2 p). It takes three round trips,
/// or 3 s where the connection's own packets were sent again.
#[test]
fn loss_costs_timeouts() {
    let p = 0.01;
    let system = idle(over(Path { loss: Directions::both(p), ..path() }, tcp(TcpStack::LINUX_2_2, true)));
    let report = run(&Scenario { workload: closed(50, "constant(1 s)"), system }, 2_000_000);
    let again = p / (1.0 - 2.0 * p);
    let connect_s = RTT_S + 2.0 * 3.0 * again;
    let clean = (1.0 - p) * (1.0 - p);
    let timeout_s = clean * 3.0 * RTT_S + (1.0 - clean) * 3.0;
    covers(&report, "connect_time_mean", connect_s, 0.02, "connections");
    covers(&report, "response_time_mean", connect_s + RTT_S + 2.0 * timeout_s * again, 0.05, "requests");
}

/// A client that sends two SYNs waits for 3 s and for 6 s. The server answers each, and again 3 s after the last one.
#[test]
fn a_connection_that_is_not_set_up_is_an_error() {
    let p: f64 = 0.3;
    let stack = TcpStack { syns: 2, sends: 16, ..TcpStack::LINUX_2_2 };
    let system = over(Path { loss: Directions::both(p), ..path() }, tcp(stack, true));
    let report = run(&Scenario { workload: closed(50, "constant(1 s)"), system }, 400_000);
    let passes = 1.0 - p;
    // Of a SYN that comes through, one of the two answers comes through that are in time.
    let answered = passes * (passes + p * passes);
    let after_first = passes + p * (answered + p * passes);
    let set_up = passes * after_first + p * answered;
    covers(&report, "connection_error_ratio", 1.0 - set_up, 0.05, "given up");
}

/// Losses that come in runs of the same mean hurt more.
#[test]
fn correlated_losses_are_worse_and_those_of_an_emulator_hardly_there() {
    let mean_s = |correlation: f64, model: LossModel| {
        let path = Path { loss: Directions::both(0.02), loss_correlation: correlation, loss_model: model, ..path() };
        let system = idle(over(path, tcp(TcpStack::LINUX_6, true)));
        let report = run(&Scenario { workload: closed(50, "constant(1 s)"), system }, 800_000);
        estimate(&report, "response_time_mean").interval().unwrap()
    };
    let independent = mean_s(0.0, LossModel::GilbertElliott);
    let (runs, emulated) = (mean_s(0.3, LossModel::GilbertElliott), mean_s(0.9, LossModel::Nistnet));
    assert!(independent.1 < runs.0, "{independent:?} {runs:?}");
    assert!((emulated.0 - 0.2).abs() < 1e-6 && (emulated.1 - 0.2).abs() < 1e-6, "{emulated:?}");
}

/// All messages that flow over a shared link have an equal share: M/D/1-PS, of which the mean is 1 / (1 - rho). Rounds of TCP
/// pass in turn: M/D/1, of which it is 1 + rho / (2 (1 - rho)).
#[test]
fn a_medium_is_shared() {
    let mut system = idle(over(Path { medium: Some(0), rtt: Law::constant(0.0), ..path() }, None));
    system.media = vec![Medium { name: "ethernet".into(), rate: 8_000.0 }];
    let report = run(&Scenario { workload: open("exponential(rate = 0.5 /s)"), system: system.clone() }, 1_000_000);
    covers(&report, "response_time_mean", 2.0, 0.06, "a shared link");
    // 1000 B and one header take a second.
    system.media[0].rate = 1052.0 * 8.0;
    system.transport = tcp(TcpStack::LINUX_6, true);
    let report = run(&Scenario { workload: open("exponential(rate = 0.5 /s)"), system }, 1_000_000);
    covers(&report, "response_time_mean", 1.5, 0.03, "a shared link with TCP");
}

/// On a link of its own a transfer alone takes its stalls and its bytes, headers included; a shared link of the same rate, the
/// same.
#[test]
fn a_rate_is_that_of_the_packets() {
    let stack = TcpStack::LINUX_6;
    let rate = 80_000.0;
    // 1000 B and one header.
    let exact_s = 2.0 * RTT_S + WORK_S + 1052.0 * 8.0 / rate;
    near(
        value(
            &alone(&over(Path { rate: Directions::both(Some(rate)), ..path() }, tcp(stack, true))),
            "response_time_mean",
        ),
        exact_s,
    );
    let mut shared = over(Path { medium: Some(0), ..path() }, tcp(stack, true));
    shared.media = vec![Medium { name: "ethernet".into(), rate }];
    near(value(&alone(&shared), "response_time_mean"), exact_s);
}

/// Of a link of its own and one that it shares with others, a reply alone takes as long as on the slower one.
#[test]
fn of_two_links_the_slower_one_counts() {
    for (own, rate) in [(40_000.0, 80_000.0), (80_000.0, 40_000.0), (80_000.0, 80_000.0)] {
        for (transport, round_trips, bytes) in [(None, 1.0, 1000.0), (tcp(TcpStack::LINUX_6, true), 2.0, 1052.0)] {
            let mut system = over(Path { rate: Directions::both(Some(own)), medium: Some(0), ..path() }, transport);
            system.media = vec![Medium { name: "ethernet".into(), rate }];
            let exact_s = round_trips * RTT_S + WORK_S + 8.0 * bytes / own.min(rate);
            near(value(&alone(&system), "response_time_mean"), exact_s);
        }
    }
}

/// A reply of many rounds takes as long over a slow link of its client's own behind a shared link that is fast as over the slow
/// link alone: no round counts twice.
#[test]
fn a_fast_link_that_is_shared_slows_no_slow_one_down() {
    for bytes in [1_000.0, 100_000.0, 1_000_000.0] {
        let mean_s = |medium| {
            let mut system =
                over(Path { rate: Directions::both(Some(1e6)), medium, ..path() }, tcp(TcpStack::LINUX_6, true));
            system.media = vec![Medium { name: "ethernet".into(), rate: 1e9 }];
            let Workload::Closed(users) = closed(1, "constant(100 ms)") else { unreachable!("it is closed") };
            let workload = Workload::Closed(Closed { sizes: Sizes::Law(Law::constant(bytes)), ..users });
            value(&run(&Scenario { workload, system }, 50), "response_time_mean")
        };
        let (behind_s, alone_s) = (mean_s(Some(0)), mean_s(None));
        assert!((behind_s - alone_s).abs() < 0.01 * alone_s, "{bytes} B: {behind_s} s behind it, {alone_s} s alone");
    }
}

/// A reply of 100 kB: what is lost of it is sent again, and what is lost of its acknowledgements hardly matters. Its
/// rate is that towards the client.
#[test]
fn each_direction_has_its_own_losses_and_rate() {
    let mean_s = |loss, rate| {
        let system = idle(over(Path { loss, rate, ..path() }, tcp(TcpStack::LINUX_6, false)));
        let Workload::Closed(users) = closed(20, "constant(1 s)") else { unreachable!("it is closed") };
        let workload = Workload::Closed(Closed { sizes: Sizes::Law(Law::constant(100_000.0)), ..users });
        value(&run(&Scenario { workload, system }, 20_000), "response_time_mean")
    };
    let fast = Directions::both(None);
    let clean_s = mean_s(Directions::both(0.0), fast);
    let up_s = mean_s(Directions { up: 0.05, down: 0.0 }, fast);
    let down_s = mean_s(Directions { up: 0.0, down: 0.05 }, fast);
    assert!(down_s - clean_s > 3.0 * (up_s - clean_s), "{clean_s} {up_s} {down_s}");
    let slow = 1e6;
    let slow_s = mean_s(Directions::both(0.0), Directions::both(Some(slow)));
    assert_eq!(mean_s(Directions::both(0.0), Directions { up: None, down: Some(slow) }), slow_s);
    assert_eq!(mean_s(Directions::both(0.0), Directions { up: Some(slow), down: None }), clean_s);
    assert!(slow_s - clean_s > 0.5, "{clean_s} {slow_s}");
}

/// A gateway in front of another one in another region: its path has a rate, and a round trip of its own.
#[test]
fn a_path_between_gateways_has_a_rate() {
    let server = Server::from_toml("discipline = \"ps\"\ndemand = \"20 ms\"").unwrap();
    let mut system = System::balanced(Tier::new(Face::Gateway, "random"), vec![server]);
    system.regions = ["europe", "asia"].map(|name| Region { name: name.into(), addresses: None }).into();
    system.sites = vec![Site { name: "far".into(), region: 1 }];
    system.hosts[0].site = Some(0);
    system.clients = vec![Clients::alone(0, 1)];
    let inner = Seat { site: Some(0), targets: vec![Target::Host(0)], ..Seat::default() };
    let outer = Seat { targets: vec![Target::Seat { tier: 1, seat: 0 }], ..Seat::default() };
    let tier = |face, seat| Tier { seats: vec![seat], ..Tier::new(face, "random") };
    system.paths = Paths::new(2, |a, b| {
        let between = Path { rate: Directions::both(Some(1e6)), ..path() };
        Ok::<_, ()>(if a == b { Path { rtt: Law::constant(0.01), ..path() } } else { between })
    })
    .unwrap();
    // 10 ms to the gateway and back, 100 ms on to the region and back, 8 ms for 1000 B, and the work.
    for inner_face in [Face::Gateway, Face::Switch] {
        system.tiers = vec![tier(Face::Gateway, outer.clone()), tier(inner_face, inner.clone())];
        near(value(&alone(&system), "response_time_mean"), 0.01 + RTT_S + 0.008 + WORK_S);
    }
}

/// A client waits so long for a reply, and no longer.
#[test]
fn a_client_that_has_waited_long_enough_counts_an_error() {
    let mut system = over(path(), None);
    for (timeout_ms, errors) in [(119, 1.0), (121, 0.0)] {
        system.rules.timeout = Some(Span(timeout_ms * 1_000_000));
        assert_eq!(value(&alone(&system), "error_ratio"), errors, "{timeout_ms} ms");
    }
    // It also leaves a link that others share.
    system.rules.timeout = Some(Span(SECOND));
    system.paths = Paths::new(1, |_, _| Ok::<_, ()>(Path { medium: Some(0), ..path() })).unwrap();
    system.media = vec![Medium { name: "ethernet".into(), rate: 4_000.0 }];
    assert_eq!(value(&alone(&system), "error_ratio"), 1.0);
}

/// The same seed gives the same losses, whatever else is there.
#[test]
fn the_same_seed_gives_the_same_transfers() {
    let scenario = Scenario {
        workload: closed(20, "exponential(mean = 1 s)"),
        system: over(
            Path { loss: Directions::both(0.05), loss_correlation: 0.3, ..path() },
            tcp(TcpStack::LINUX_6, false),
        ),
    };
    let [one, other] = [1, 2].map(|threads: usize| {
        let control = Control {
            threads,
            horizon: Some(Span(200 * SECOND)),
            precision: None,
            replications: 4,
            ..Control::default()
        };
        format!("{:?}", simulate(&scenario, &control).unwrap().measures)
    });
    assert_eq!(one, other);
}

/// A user in each of the first two regions asks servers in two regions in turn; only the path between `lossy` loses packets.
fn two_users(servers: [usize; 2], lossy: Option<(usize, usize)>) -> f64 {
    let mut system = System::balanced(
        Tier::new(Face::Dns, "round-robin"),
        vec![Server::from_toml("discipline = \"ps\"\ndemand = \"20 ms\"").unwrap(); 2],
    );
    system.regions = vec![Region::default(); 3];
    system.sites = servers.iter().map(|region| Site { name: format!("c{region}"), region: *region }).collect();
    (0..2).for_each(|host| system.hosts[host].site = Some(host));
    let at = |site: usize| Seat { site: Some(site), targets: vec![Target::Host(site)], ..Seat::default() };
    let names = Seat { targets: (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect(), ..Seat::default() };
    system.tiers = vec![
        Tier { seats: vec![names], ttl: Span::ZERO, ..Tier::new(Face::Dns, "round-robin") },
        Tier { seats: vec![at(0), at(1)], ..Tier::new(Face::Switch, "round-robin") },
    ];
    system.rules.resolves = sojourn_model::system::Resolves::EachRequest;
    system.clients = vec![Clients::alone(0, 1), Clients::alone(1, 1)];
    let loss = |a, b| Directions::both(if Some((a, b)) == lossy { 0.3 } else { 0.0 });
    system.paths = Paths::new(3, |a, b| Ok::<_, ()>(Path { loss: loss(a, b), ..path() })).unwrap();
    system.transport = tcp(TcpStack::LINUX_6, true);
    let control = Control { horizon: Some(Span(500 * SECOND)), precision: None, replications: 2, ..Control::default() };
    // In lockstep each would have a server of its own.
    let scenario = Scenario { workload: closed(2, "exponential(mean = 100 ms)"), system };
    value(&simulate(&scenario, &control).unwrap(), "throughput")
}

/// Losses are those of the path between a client's region and the server's, and each client's own: the user whose path loses
/// nothing is as quick as before, and the other one hardly gets on.
#[test]
fn each_client_has_its_own_losses_to_each_region() {
    for (servers, lossy) in [([0, 2], (0, 1)), ([1, 2], (1, 1))] {
        let both = two_users(servers, None);
        let found = two_users(servers, Some(lossy));
        assert!((0.52..0.8).contains(&(found / both)), "{servers:?}, {lossy:?}: {found} of {both}");
    }
    // A path that neither of them uses.
    assert_eq!(two_users([0, 2], Some((1, 1))), two_users([0, 2], None));
}

/// A reply of 70 segments over 10 Mbit/s: of three windows the first two, 10 and 20 segments, end with the acknowledgement of
/// their first segment, and the last one with its 40th segment.
#[test]
fn a_long_reply_waits_for_its_windows() {
    let mut system = over(path(), tcp(TcpStack::LINUX_6, true));
    let link = Path { rate: Directions { up: None, down: Some(10e6) }, ..path() };
    system.paths = Paths::new(1, |_, _| Ok::<_, ()>(link.clone())).unwrap();
    let sizes = Sizes::Law(Law::constant(100_000.0));
    let think = Law::constant(0.1);
    let workload = Workload::Closed(Closed { users: 1, think, sizes, patience: None });
    let control = Control { horizon: Some(Span(100 * SECOND)), precision: None, replications: 2, ..Control::default() };
    let report = simulate(&Scenario { workload, system }, &control).unwrap();
    let (window_s, last_s) = (RTT_S + 8.0 * 1500.0 / 10e6, 8.0 * (100_000.0 - 30.0 * 1448.0 + 40.0 * 52.0) / 10e6);
    near(value(&report, "response_time_mean"), 2.0 * RTT_S + WORK_S + 2.0 * window_s + last_s);
}

/// Replies to one client queue for its link, each with its headers: one of 1052 B over 100 kbit/s takes 84 ms, and they come each
/// 50 ms.
#[test]
fn replies_to_one_client_queue_for_its_link() {
    let mut system = over(path(), tcp(TcpStack::LINUX_6, true));
    let link = Path { rate: Directions { up: None, down: Some(1e5) }, ..path() };
    system.paths = Paths::new(1, |_, _| Ok::<_, ()>(link.clone())).unwrap();
    let scenario = Scenario { workload: open("constant(50 ms)"), system };
    let control = Control { horizon: Some(Span(10 * SECOND)), precision: None, replications: 2, ..Control::default() };
    let longest_s = value(&simulate(&scenario, &control).unwrap(), "response_time_max");
    let each_s = 8.0 * 1052.0 / 1e5;
    // Of 199 requests the last one waits for what 198 replies take longer than their gaps.
    near(longest_s, 2.0 * RTT_S + WORK_S + each_s + 198.0 * (each_s - 0.05));
}
