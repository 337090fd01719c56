//! Files on the disks of nodes, memory that caches them, and nodes that redirect by them: exact cases.

use sojourn_model::system::{
    Clients, Face, Fault, Medium, Path, Paths, Reports, Resolves, Seat, Site, Subject, Target, Tier, Trouble,
};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, Report};
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Closed, Open, Sizes, Workload};

use crate::support::{Scenario, closed, estimate, open, run_plan, simulate};

const SECOND: u64 = 1_000_000_000;
/// A node with a disk of 5 MB/s: a file of 1 MB takes 20 ms of the processor and 200 ms of the disk.
const NODE: &str = "demand = \"20 ms\"\n\
                    resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" } }\n";
const FILES: &str = "files = { placed = \"one-owner\", number = NUMBER, remote_rate = \"4 MB/s\" }\n";
/// A broker that never sends a request away, since clients are far.
const STAYS: &str = "sweb(latency = 1000 s)";

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// `n` files of 1 MB, asked for equally often.
fn documents(n: u32) -> Sizes {
    Sizes::parse(&format!("documents(n = {n}, zipf = 0, size = constant(1 MB))")).unwrap()
}

/// Nodes behind a rotation, which share `files` files.
fn nodes(count: usize, policy: &str, files: u32, more: &str) -> System {
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
    let Workload::Closed(user) = closed(1, "constant(100 ms)") else { unreachable!() };
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

#[test]
fn a_file_of_another_node_is_read_there_and_crosses_the_network() {
    let every_second = |remote_s: f64| (0.220 + 0.020 + remote_s) / 2.0;
    // One file, on the first node; requests come to the two nodes in turn, and the disk gives 4 MB/s to the other.
    assert_near("at its owner or not", &alone(nodes(2, STAYS, 1, ""), 1), every_second(0.250), 0.0002);
    let mut linked = nodes(2, STAYS, 1, "");
    linked.network.cluster_rate = Some(80e6);
    // Every reply passes the cluster's link too: 0.1 s.
    assert_near("over a link", &alone(linked, 1), every_second(0.350) + 0.1, 0.001);
    let mut shared = nodes(2, STAYS, 1, "");
    shared.media = vec![Medium { name: "ethernet".into(), rate: 8e6 }];
    shared.paths = Paths::new(1, |_, _| {
        Ok::<_, ()>(Path {
            rtt: sojourn_stats::Law::constant(0.0),
            loss: 0.0,
            loss_correlation: 0.0,
            loss_model: Default::default(),
            rate: None,
            medium: Some(0),
        })
    })
    .unwrap();
    shared.clients = vec![Clients::alone(0, 1)];
    shared.sites = vec![Site { name: "here".into(), region: 0 }];
    shared.hosts.iter_mut().for_each(|host| host.site = Some(0));
    shared.tiers.iter_mut().skip(1).flat_map(|tier| &mut tier.seats).for_each(|seat| seat.site = Some(0));
    assert_near("over an Ethernet", &alone(shared, 1), every_second(1.250) + 1.0, 0.1);
}

#[test]
fn what_is_in_memory_is_not_read() {
    // The one file is kept by the node that read it, and by its owner; a memory that is too small keeps nothing.
    let fits = alone(nodes(2, STAYS, 1, "memory = { size = \"1 MB\", cache = \"lru\" }\n"), 1);
    assert!(value(&fits, "response_time_mean") < 0.021, "{}", value(&fits, "response_time_mean"));
    let small = alone(nodes(2, STAYS, 1, "memory = { size = \"999 kB\", cache = \"lru\" }\n"), 1);
    assert_near("too small", &small, 0.245, 0.0002);
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

#[test]
fn an_owner_that_is_down_takes_its_files_with_it() {
    let broken = |files: u32| {
        let mut system = nodes(2, STAYS, files, "");
        system.rules.fails_over = true;
        system.faults = vec![Fault {
            at: Time(50 * SECOND),
            until: Some(Time(100 * SECOND)),
            subject: Subject::Host(0),
            trouble: Trouble::Down,
        }];
        let Workload::Open(plan) = open("constant(500 ms)") else { unreachable!() };
        let workload = Workload::Open(Open { sizes: documents(files), ..plan });
        run_plan(&Scenario { workload, system }, 1, Span(200 * SECOND), Span::ZERO).unwrap()
    };
    // The only file is on the node that is down for a quarter of the time; a request that was being read is lost too.
    let lost = value(&broken(1), "error_ratio") * 400.0;
    assert!((100.0..=102.0).contains(&lost), "{lost} requests");
    // Of two files one is left: 100 draws, 4.9 deviations of 5.
    let lost = value(&broken(2), "error_ratio") * 400.0;
    assert!((lost - 50.0).abs() < 24.5 + 1.0, "{lost} requests");
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
}
