//! Files on the disks of nodes, memory that caches them, and nodes that redirect by them: exact cases.

use sojourn_model::system::{
    Clients, Directions, Face, Fault, Line, Medium, Path, Paths, Reports, Resolves, Seat, Site, Subject, Target, Tier,
    Transport, Trouble,
};
use sojourn_model::{Server, System, TcpStack};
use sojourn_sim::{Control, Report};
use sojourn_stats::{Estimate, Span, Time};
use sojourn_traffic::{Closed, Open, Sizes, Workload};

use crate::support::{Scenario, closed, estimate, open, run_plan, simulate};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// A node with a disk of 5 MB/s: a file of 1 MB takes 20 ms of the processor and 200 ms of the disk.
const NODE: &str = "demand = \"20 ms\"\n\
                    resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" } }\n";
const FILES: &str = "files = { placed = \"one-owner\", number = NUMBER, remote_rate = \"4 MB/s\" }\n";
/// A broker that never sends a request away, since clients are far.
pub(crate) const STAYS: &str = "sweb(latency = 1000 s)";

pub(crate) fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// `n` files of 1 MB, asked for equally often.
pub(crate) fn documents(n: u32) -> Sizes {
    Sizes::parse(&format!("documents(n = {n}, zipf = 0, size = constant(1 MB))")).unwrap()
}

/// Nodes behind a rotation, which share `files` files.
pub(crate) fn nodes(count: usize, policy: &str, files: u32, more: &str) -> System {
    let server = format!("{NODE}{}{more}", FILES.replace("NUMBER", &files.to_string()));
    let server = Server::from_toml(&server).unwrap();
    let mut system = System::balanced(Tier::new(Face::Gateway, "random"), vec![server; count]);
    let rotation = Seat { targets: (0..count).map(|seat| Target::Seat { tier: 1, seat }).collect(), ..Seat::default() };
    let on =
        |host: usize| Seat { host: Some(host), targets: (0..count).map(Target::Host).collect(), ..Seat::default() };
    let reports = Reports {
        every: Span(2 * SECOND),
        heartbeat: None,
        client_rates: None,
        hidden_load: false,
        cost: Span::ZERO,
        lossy: false,
        estimator: None,
        capacity_at: 1.0,
    };
    system.tiers = vec![
        Tier { seats: vec![rotation], ttl: Span::ZERO, ..Tier::new(Face::Dns, "round-robin") },
        Tier { seats: (0..count).map(on).collect(), reports: Some(reports), ..Tier::new(Face::Redirect, policy) },
    ];
    system.rules.resolves = Resolves::EachRequest;
    system
}

/// One user alone, who asks for one of `files` files at a time, for 200 s.
fn alone(system: System, files: u32) -> Report {
    of_users(1, system, files)
}

/// The same with so many users.
fn of_users(users: u32, system: System, files: u32) -> Report {
    let Workload::Closed(user) = closed(users, "constant(100 ms)") else { unreachable!() };
    let workload = Workload::Closed(Closed { sizes: documents(files), ..user });
    let horizon = Some(Span(200 * SECOND));
    let control = Control { horizon, precision: None, replications: 2, ..Control::default() };
    simulate(&Scenario { workload, system }, &control).unwrap()
}

/// Asserts a mean of response times that takes two values with equal chance, `spread_s` apart, over some 1,000 requests or
/// more: it is off by 4.9 deviations in one run of a million.
fn assert_near(what: &str, report: &Report, due_s: f64, spread_s: f64) {
    let (mean_s, requests) = (value(report, "response_time_mean"), 1000.0_f64);
    let most = 1e-9 + 4.9 * spread_s / 2.0 / requests.sqrt();
    assert!((mean_s - due_s).abs() < most, "{what}: {mean_s} s, due {due_s} s within {most}");
}

/// The same with all on an Ethernet of 8 Mbit/s.
fn on_an_ethernet(mut nodes: System) -> System {
    nodes.media = vec![Medium { name: "ethernet".into(), rate: 8e6 }];
    nodes.paths = Paths::new(1, |_, _| {
        Ok::<_, ()>(Path {
            rtt: sojourn_stats::Law::constant(0.0),
            loss: Directions::default(),
            loss_correlation: 0.0,
            loss_model: Default::default(),
            rate: Directions::default(),
            medium: Some(0),
            line: Line::default(),
        })
    })
    .unwrap();
    nodes.clients = vec![Clients::alone(0, 1)];
    nodes.sites = vec![Site { name: "here".into(), region: 0 }];
    nodes.hosts.iter_mut().for_each(|host| host.site = Some(0));
    nodes.tiers.iter_mut().skip(1).flat_map(|tier| &mut tier.seats).for_each(|seat| seat.site = Some(0));
    nodes
}

#[test]
fn a_file_of_another_node_is_read_there_and_crosses_the_network() {
    let every_second = |remote_s: f64| (0.220 + 0.020 + remote_s) / 2.0;
    // One file, on the first node; requests come to the two nodes in turn, and the disk gives 4 MB/s to the other.
    assert_near("at its owner or not", &alone(nodes(2, STAYS, 1, ""), 1), every_second(0.250), 0.0002);
    let served_s = value(&alone(nodes(2, STAYS, 1, ""), 1), "service_time_mean");
    assert!((served_s - every_second(0.250)).abs() < 1e-3, "{served_s}: processor and disk");
    let mut linked = nodes(2, STAYS, 1, "");
    linked.network.cluster_rate = Some(80e6);
    // Every reply passes the cluster's link too: 0.1 s.
    assert_near("over a link", &alone(linked, 1), every_second(0.350) + 0.1, 0.001);
    let mut shared = on_an_ethernet(nodes(2, STAYS, 1, ""));
    assert_near("over an Ethernet", &alone(shared.clone(), 1), every_second(1.250) + 1.0, 0.1);
    // With TCP the file and the reply are packets, of 1052 B here; the rounds are too long to wait for anything.
    let stack = TcpStack { segment: 1000, ..TcpStack::LINUX_6 };
    shared.transport = Some(Transport { stack, one_request_per_connection: false });
    let packets_s = 1.052;
    assert_near("over an Ethernet, TCP", &alone(shared, 1), every_second(0.250 + packets_s) + packets_s, 0.1);
}

/// On a busy Ethernet the acknowledgements of a file that one server sends another wait as its packets do, those of replies do
/// not: so a file that crosses it twice takes more than twice as long.
#[test]
fn a_file_that_crosses_a_busy_ethernet_twice_takes_more_than_twice_as_long() {
    let mut shared = on_an_ethernet(nodes(2, STAYS, 1, ""));
    shared.transport = Some(Transport { stack: TcpStack::LINUX_6, one_request_per_connection: true });
    // Three of four requests come to the owner.
    shared.tiers[0].weights = vec![3.0, 1.0];
    shared.tiers[0].policy = "weighted-round-robin".into();
    let report = of_users(8, shared, 1);
    let [once, twice] = ["response_time_p50", "response_time_p90"].map(|metric| value(&report, metric));
    assert!(twice > 2.1 * once, "{once} s and {twice} s");
}

#[test]
fn what_is_in_memory_is_not_read() {
    // The one file is kept by the node that read it, and by its owner; a memory that is too small keeps nothing.
    let fits = alone(nodes(2, STAYS, 1, "memory = { size = \"1 MB\", cache = \"lru\" }\n"), 1);
    assert!(value(&fits, "response_time_mean") < 0.021, "{}", value(&fits, "response_time_mean"));
    let small = alone(nodes(2, STAYS, 1, "memory = { size = \"999 kB\", cache = \"lru\" }\n"), 1);
    assert_near("too small", &small, 0.245, 0.0002);
    // What crossed the network once does not cross it again; each reply of 1 MB takes 0.1 s of the cluster's link.
    let mut linked = nodes(2, STAYS, 1, "memory = { size = \"1 MB\", cache = \"lru\" }\n");
    linked.network.cluster_rate = Some(80e6);
    let mean_s = value(&alone(linked, 1), "response_time_mean");
    assert!((0.120..0.121).contains(&mean_s), "{mean_s}");
    // Of files that are asked for equally often, least recently used memory has the share that it has room for.
    let half = alone(nodes(1, STAYS, 4, "memory = { size = \"2 MB\", cache = \"lru\" }\n"), 4);
    assert_near("half of the files", &half, 0.120, 0.200);
    // A node without the file takes it from its owner's memory: only the owner reads its disk.
    let mut owners = nodes(2, STAYS, 2, "memory = { size = \"1 MB\", cache = \"lru\" }\n");
    owners.network.cluster_rate = Some(8e9);
    let mean_s = value(&alone(owners, 2), "response_time_mean");
    assert!(mean_s < 0.120, "{mean_s} s: files of 1 MB cross in a millisecond");
}

#[test]
fn brokers_find_the_owner() {
    let share = |policy: &str| {
        let report = alone(nodes(2, policy, 1, ""), 1);
        (value(&report, "share_1"), value(&report, "response_time_mean"))
    };
    assert_eq!(share("file-locality"), (1.0, 0.220));
    let (share_1, mean_s) = share("sweb");
    // Clients are at no distance, so a redirection costs nothing. Each choice raises the load until the next report: two
    // or three requests later it is back, and never above what reading from afar costs.
    assert!((0.99..=1.0).contains(&share_1), "{share_1}");
    assert!((mean_s - 0.220).abs() < 1e-3, "{mean_s}");
    assert!((share("random").0 - 0.5).abs() < 0.1);
}

/// Two requests a second for one file: its owner's disk is busy for 40 %, with locality or without, and what differs is the
/// rate of remote reads.
#[test]
fn the_disk_that_works_is_the_owners() {
    let Workload::Open(plan) = open("constant(500 ms)") else { unreachable!() };
    let mean_s = |policy: &str| {
        let workload = Workload::Open(Open { sizes: documents(1), ..plan.clone() });
        let scenario = Scenario { workload, system: nodes(4, policy, 1, "") };
        value(&run_plan(&scenario, 1, Span(100 * SECOND), Span::ZERO).unwrap(), "response_time_mean")
    };
    assert!((mean_s("file-locality") - 0.220).abs() < 1e-9);
    // The last of some 200 requests may be of any node.
    assert!((mean_s(STAYS) - (0.220 + 3.0 * 0.270) / 4.0).abs() < 5e-4);
    // At ten a second the disk has twice its work: requests wait for it wherever they are.
    let Workload::Open(fast) = open("constant(100 ms)") else { unreachable!() };
    let workload = Workload::Open(Open { sizes: documents(1), ..fast });
    let report = run_plan(&Scenario { workload, system: nodes(4, STAYS, 1, "") }, 1, Span(20 * SECOND), Span::ZERO);
    assert!(value(&report.unwrap(), "response_time_mean") > 5.0);
}

/// A file that memory has no room for goes through it and leaves the others where they are.
#[test]
fn a_file_larger_than_memory_drives_nothing_out() {
    let Workload::Closed(user) = closed(1, "constant(10 ms)") else { unreachable!() };
    let sizes =
        Sizes::parse("documents(n = 8, zipf = 0, size = mix(0.75: constant(1 MB), 0.25: constant(20 MB)))").unwrap();
    let large = ((sizes.moments().0 * 8.0 - 8e6) / 19e6).round();
    assert!((1.0..=3.0).contains(&large), "{large} of 8 files are large: no test of this");
    let system = nodes(1, STAYS, 8, "memory = { size = \"8 MB\", cache = \"lru\" }\n");
    let scenario = Scenario { workload: Workload::Closed(Closed { sizes, ..user }), system };
    let report = run_plan(&scenario, 1, Span(2000 * SECOND), Span::ZERO).unwrap();
    // All small files fit: more than half of the requests find theirs. If each large one flushed all, hardly any would.
    let (half_s, most_s) = (value(&report, "response_time_p50"), value(&report, "response_time_p90"));
    assert!(half_s < 0.021, "{half_s} s");
    assert!(most_s > 4.0, "{most_s} s: the large ones are read each time");
}

/// Least recently used, not first in first out: with two places, file i and then file j are there with chance
/// p_i p_j / (1 - p_i) (W. F. King, Analysis of demand paging algorithms, 1971); in the order of coming, with one in
/// proportion to p_i p_j.
#[test]
fn memory_forgets_what_was_used_least_recently() {
    let weights: Vec<f64> = (1..=4).map(|rank| f64::from(rank).powi(-2)).collect();
    let p: Vec<f64> = weights.iter().map(|weight| weight / weights.iter().sum::<f64>()).collect();
    let pairs = || (0..4).flat_map(|i| (0..4).filter(move |j| *j != i).map(move |j| (i, j)));
    let hits: f64 = pairs().map(|(i, j)| p[i] * p[j] / (1.0 - p[i]) * (p[i] + p[j])).sum();
    let in_order =
        pairs().map(|(i, j)| p[i] * p[j] * (p[i] + p[j])).sum::<f64>() / pairs().map(|(i, j)| p[i] * p[j]).sum::<f64>();
    let Workload::Closed(user) = closed(1, "constant(10 ms)") else { unreachable!() };
    let sizes = Sizes::parse("documents(n = 4, zipf = 2, size = constant(1 MB))").unwrap();
    let system = nodes(1, STAYS, 4, "memory = { size = \"2 MB\", cache = \"lru\" }\n");
    let scenario = Scenario { workload: Workload::Closed(Closed { sizes, ..user }), system };
    let report = run_plan(&scenario, 1, Span(2000 * SECOND), Span::ZERO).unwrap();
    let missed = (value(&report, "response_time_mean") - 0.020) / 0.200;
    // Hits depend on each other; twice the deviation of as many independent ones is allowed for, 4.9 times.
    let requests = 2000.0 / (0.030 + 0.200 * (1.0 - hits));
    let most = 2.0 * 4.9 * (hits * (1.0 - hits) / requests).sqrt();
    assert!((missed - (1.0 - hits)).abs() < most, "{missed} missed, due {} within {most}", 1.0 - hits);
    assert!((hits - in_order).abs() > most, "the other order could not be told: {hits}, {in_order}");
}

/// At 100 requests a second that all come to one node, its processor does not keep up. The busy share says 1, and the other node
/// would not be worth the redirection; the requests that wait there say so.
#[test]
fn what_waits_is_reported() {
    let mut system =
        nodes(2, "cpu-only(rise = 0, latency = 10 ms)", 1, "memory = { size = \"1 MB\", cache = \"lru\" }\n");
    system.tiers[0].seats[0].targets.truncate(1);
    let Workload::Open(plan) = open("constant(10 ms)") else { unreachable!() };
    let workload = Workload::Open(Open { sizes: documents(1), ..plan });
    let report = run_plan(&Scenario { workload, system }, 1, Span(100 * SECOND), Span::ZERO).unwrap();
    let share_1 = value(&report, "share_1");
    assert!((0.3..0.7).contains(&share_1), "{share_1}");
}

/// Requests for `files` files each `gap`, from two nodes of which one is down for 50 s; how many of them fail.
fn lost(system: System, files: u32, gap: &str, down: (usize, u64)) -> f64 {
    let mut system = system;
    let (host, from_ms) = down;
    system.rules.fails_over = true;
    system.faults = vec![Fault {
        at: Time(from_ms * 1_000_000),
        until: Some(Time((from_ms + 50_000) * 1_000_000)),
        subject: Subject::Host(host),
        trouble: Trouble::Down,
    }];
    let Workload::Open(plan) = open(gap) else { unreachable!() };
    let workload = Workload::Open(Open { sizes: documents(files), ..plan });
    let report = run_plan(&Scenario { workload, system }, 1, Span(200 * SECOND), Span::ZERO).unwrap();
    let Estimate::Sampled { samples, .. } = *estimate(&report, "error_ratio") else { panic!("it is sampled") };
    value(&report, "error_ratio") * samples as f64
}

#[test]
fn an_owner_that_is_down_takes_its_files_with_it() {
    // The only file is on the first node; the request of 50.0 s, which came to the other one, is being read there at 50.1 s.
    let of_one = lost(nodes(2, STAYS, 1, ""), 1, "constant(500 ms)", (0, 50_100));
    assert!((of_one - 101.0).abs() < 1e-6, "{of_one} requests");
    // Of two files one is left: 100 draws, 4.9 deviations of 5.
    let of_two = lost(nodes(2, STAYS, 2, ""), 2, "constant(500 ms)", (0, 50_100));
    assert!((of_two - 50.0).abs() < 24.5 + 1.0, "{of_two} requests");
    // A file is on its way to the second node when that goes down; later requests find the first one.
    let mut linked = nodes(2, STAYS, 1, "");
    linked.network.cluster_rate = Some(8e6);
    let on_its_way = lost(linked, 1, "constant(2 s)", (1, 52_600));
    assert!((on_its_way - 1.0).abs() < 1e-6, "{on_its_way} requests");
}

#[test]
fn a_node_that_comes_back_has_nothing_in_memory() {
    let mean_s = |faults: Vec<Fault>| {
        let mut system = nodes(1, STAYS, 1, "memory = { size = \"1 MB\", cache = \"lru\" }\n");
        system.faults = faults;
        let Workload::Open(plan) = open("constant(500 ms)") else { unreachable!() };
        let workload = Workload::Open(Open { sizes: documents(1), ..plan });
        let report = run_plan(&Scenario { workload, system }, 1, Span(100 * SECOND), Span::ZERO).unwrap();
        value(&report, "response_time_mean")
    };
    let read_s = |requests: f64, reads: f64| 0.020 + 0.200 * reads / requests;
    let restart = |at_ms: u64| Fault {
        at: Time(at_ms * 1_000_000),
        until: None,
        subject: Subject::Host(0),
        trouble: Trouble::Restarted,
    };
    assert!((mean_s(vec![]) - read_s(199.0, 1.0)).abs() < 1e-5, "{}", mean_s(vec![]));
    let restarted = mean_s(vec![restart(50_300)]);
    assert!((restarted - read_s(199.0, 2.0)).abs() < 1e-5, "{restarted}");
}

#[test]
fn files_that_are_not_those_asked_for_are_refused() {
    let refusal = |sizes: Sizes, system: System| {
        let Workload::Open(plan) = open("constant(500 ms)") else { unreachable!() };
        let scenario = Scenario { workload: Workload::Open(Open { sizes, ..plan }), system };
        simulate(&scenario, &Control::default()).expect_err("it cannot be simulated").to_string()
    };
    let message = refusal(documents(59), nodes(2, STAYS, 60, ""));
    assert!(message.contains("60 files where the workload asks for 59 objects"), "{message}");
    assert!(message.contains("documents(n = 60, ...)"), "{message}");
    let mut diskless = nodes(2, STAYS, 1, "");
    let server = "demand = \"1 ms\"\nresources = { cpu = { discipline = \"ps\" } }\n\
                  memory = { size = \"1 MB\", cache = \"lru\" }\n";
    diskless.hosts[1].server = Server::from_toml(server).unwrap();
    assert!(refusal(documents(1), diskless).contains("without a disk"));
    let mut scattered = far_nodes(0.01, 8e6);
    scattered.hosts[1].site = None;
    assert!(refusal(documents(1), scattered).contains("whose owners are in several regions"));
}

/// Two nodes with one file, 200 ms from the clients: their own network is an Ethernet of this rate (bit/s).
fn far_nodes(rtt_s: f64, rate: f64) -> System {
    let mut nodes = nodes(2, STAYS, 1, "");
    nodes.media = vec![Medium { name: "ethernet".into(), rate }];
    nodes.regions = vec![sojourn_model::system::Region::default(); 2];
    let path = |a, b| {
        let own = Path { medium: Some(0), ..crate::support::plain_path(rtt_s) };
        Ok::<_, ()>(if (a, b) == (1, 1) { own } else { crate::support::plain_path(0.2) })
    };
    nodes.paths = Paths::new(2, path).unwrap();
    nodes.clients = vec![Clients::alone(0, 1)];
    nodes.sites = vec![Site { name: "far".into(), region: 1 }];
    nodes.hosts.iter_mut().for_each(|host| host.site = Some(0));
    nodes.tiers.iter_mut().skip(1).flat_map(|tier| &mut tier.seats).for_each(|seat| seat.site = Some(0));
    let stack = TcpStack { segment: 1000, ..TcpStack::LINUX_6 };
    nodes.transport = Some(Transport { stack, one_request_per_connection: false });
    nodes
}

/// A file crosses the network of its region, wherever its client is: with the round trips and the link that are there. Of 1000
/// segments of 1.052 ms, windows of 10, 20, ... wait for their first acknowledgement until one is longer than the round trip.
#[test]
fn a_file_crosses_its_own_region() {
    let longest_s = |rtt_s, rate| value(&alone(far_nodes(rtt_s, rate), 1), "response_time_max");
    let segment_s = 8.0 * 1052.0 / 8e6;
    // Two windows of 40 ms, 970 segments and the way there; one window of 20 ms, 990 segments and the way there.
    let longer_s = 2.0 * (0.040 + segment_s) + 970.0 * segment_s + 0.020;
    let shorter_s = (0.020 + segment_s) + 990.0 * segment_s + 0.010;
    let (found_s, due_s) = (longest_s(0.040, 8e6) - longest_s(0.020, 8e6), longer_s - shorter_s);
    assert!((found_s - due_s).abs() < 1e-3 * due_s, "{found_s} s, not {due_s} s");
    let slow_s = longest_s(0.040, 8e6) - longest_s(0.040, 16e6);
    assert!(slow_s > 0.4 * 1000.0 * segment_s, "{slow_s} s of the link");
}

/// Of eight users each waits for the others' files on the nodes' Ethernet, though none of them is on it.
#[test]
fn files_that_cross_share_the_link_of_their_region() {
    let mut nodes = far_nodes(0.0, 8e6);
    nodes.tiers[0].seats[0].targets = vec![Target::Seat { tier: 1, seat: 1 }];
    let throughput = value(&of_users(8, nodes, 1), "throughput");
    // One file of 1.052 MB at a time, each second.
    assert!((0.9..1.0 / 1.052).contains(&throughput), "{throughput}");
}
