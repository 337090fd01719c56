//! Clients that decide for themselves: what they hold, what they hear, and that each knows only what happened to itself.

use sojourn_model::system::{
    Clients, Directions, Face, Fault, Held, Line, Path, Paths, Probes, Region, Seat, Site, Subject, Target, Tier,
    Trouble,
};
use sojourn_model::{LossModel, Server, System};
use sojourn_sim::{Report, SimError};
use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::{Closed, Open, Sizes, Workload};

use crate::support::{Scenario, closed, estimate, open, run_plan};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"10 ms\"";

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// Clients that choose among two servers by this policy.
fn choosing(policy: &str, held: Held, server: &str) -> System {
    let tier = Tier { held, ..Tier::new(Face::Client, policy) };
    System::balanced(tier, vec![Server::from_toml(server).unwrap(); 2])
}

/// The same over paths: the servers are in a region each, 20 ms and 200 ms from the clients.
fn near_and_far(policy: &str, held: Held) -> System {
    let mut system = choosing(policy, held, FCFS);
    let region = |prefix| Region { name: String::new(), addresses: Some((prefix, 7)) };
    system.regions = [0xc000_0000, 0xc200_0000, 0xc400_0000].map(region).to_vec();
    system.sites = (1..3).map(|region| Site { name: format!("c{region}"), region }).collect();
    (0..2).for_each(|host| system.hosts[host].site = Some(host));
    system.clients = vec![Clients::alone(0, 1)];
    let path = |a: usize, b: usize| {
        let rtt_s = if (a, b) == (0, 1) { 0.02 } else { 0.2 };
        let (rtt, loss_model) = (Law::constant(rtt_s), LossModel::GilbertElliott);
        Ok::<_, ()>(Path {
            rtt,
            loss: Directions::default(),
            loss_correlation: 0.0,
            loss_model,
            rate: Directions::default(),
            medium: None,
            line: Line::default(),
        })
    };
    system.paths = Paths::new(3, path).unwrap();
    system
}

fn run(system: &System, workload: Workload, seconds: u64) -> Report {
    run_plan(&Scenario { workload, system: system.clone() }, 1, Span(seconds * SECOND), Span::ZERO).unwrap()
}

fn at(from_s: u64, until_s: Option<u64>, subject: Subject, trouble: Trouble) -> Vec<Fault> {
    let time = |s: u64| Time(s * SECOND + 50 * MS);
    vec![Fault { at: time(from_s), until: until_s.map(time), subject, trouble }]
}

/// A choice is held for a request, for a time or for the run.
#[test]
fn a_client_holds_its_choice() {
    let share = |held| value(&run(&choosing("round-robin", held, FCFS), open("constant(100 ms)"), 100), "share_1");
    assert!((share(Held::Request) - 0.5).abs() < 1e-3);
    // From 0.1 s, 30.1 s, 60.1 s and 90.1 s on.
    assert!((share(Held::For(Span(30 * SECOND))) - 0.6).abs() < 0.01, "{}", share(Held::For(Span(30 * SECOND))));
    assert_eq!(share(Held::Run), 1.0);
}

/// Each client counts its own requests: one that has a request at the first server sends the next one to the second.
#[test]
fn a_client_hears_of_its_own_ends() {
    let system = choosing("least-connections-lowest-id", Held::Request, "discipline = \"fcfs\"\ndemand = \"150 ms\"");
    let report = run(&system, open("constant(100 ms)"), 100);
    assert!((value(&report, "response_time_mean") - 0.15).abs() < 1e-9, "it never waits");
    assert!((value(&report, "share_1") - 0.5).abs() < 1e-3);
    // Others do not see it: each of two clients takes the first server to be free, and now and then it is not.
    let Workload::Open(open) = open("constant(100 ms)") else { unreachable!() };
    let two = run(&system, Workload::Open(Open { clients: 2, ..open }), 100);
    assert!(value(&two, "response_time_mean") > 0.151, "{}", value(&two, "response_time_mean"));
}

/// A client times its own first bytes, and so finds the server that answers it sooner: the near one, unless that is slow.
#[test]
fn a_client_times_its_own_replies() {
    let mut system = near_and_far("round-trip(window = 10 s)", Held::Request);
    let near = run(&system, open("constant(100 ms)"), 300);
    assert!(value(&near, "share_1") > 0.95, "{}", value(&near, "share_1"));
    system.faults = at(0, None, Subject::Host(0), Trouble::Slow(0.04));
    let slow = run(&system, closed(1, "constant(100 ms)"), 300);
    assert!(value(&slow, "share_2") > 0.9, "{}", value(&slow, "share_2"));
}

/// A client measures round trips itself, where its policy reads them; until it knows, the address decides.
#[test]
fn a_client_probes() {
    let mut system = near_and_far("nearest", Held::Request);
    // By address the far one is nearer.
    (system.regions[0].addresses, system.regions[2].addresses) = (Some((0xc400_0000, 8)), Some((0xc500_0000, 8)));
    system.tiers[0].probes = Some(Probes { at_most: 2, refresh: Span(60 * SECOND) });
    let report = run(&system, open("constant(100 ms)"), 300);
    // Three echoes a second apart, the last of which is waited for as long.
    let far = value(&report, "share_2") * 2999.0;
    assert!((29.0..32.0).contains(&far), "{far}");
}

/// A refusal or a time-out ends what is held: only the request that met it fails.
#[test]
fn a_failure_ends_what_is_held() {
    for (trouble, timeout) in [(Trouble::Down, None), (Trouble::Frozen, Some(Span(80 * MS)))] {
        let mut system = choosing("round-robin", Held::Run, FCFS);
        (system.faults, system.rules.timeout) = (at(20, None, Subject::Host(0), trouble), timeout);
        let report = run(&system, open("constant(100 ms)"), 100);
        let failed = (value(&report, "error_ratio") * 999.0).round();
        assert_eq!(failed, 1.0, "{trouble:?}");
        assert!((value(&report, "share_2") - 0.8).abs() < 0.01, "{trouble:?}: {}", value(&report, "share_2"));
    }
}

/// Each client that decides takes memory for all targets: too many are refused with the number.
#[test]
fn too_many_clients_that_decide_are_refused() {
    let closed = |users| {
        Workload::Closed(Closed {
            users,
            think: Law::constant(1.0),
            sizes: Sizes::Law(Law::constant(1.0)),
            patience: None,
        })
    };
    let system = choosing("random", Held::Request, FCFS);
    let error = sojourn_sim::check(&system, &closed(500_001)).unwrap_err();
    assert!(matches!(error, SimError::Invalid(_)) && error.to_string().contains("500001 clients"), "{error}");
    sojourn_sim::check(&system, &closed(500_000)).unwrap();
    let tiers =
        [Tier { seats: vec![Seat { targets: vec![Target::Host(0)], ..Seat::default() }], ..system.tiers[0].clone() }];
    let polled = System { tiers: vec![Tier { polled: Some(Span(SECOND)), ..tiers[0].clone() }], ..system };
    assert!(sojourn_sim::check(&polled, &closed(1)).unwrap_err().to_string().contains("polls by clients"));
}
