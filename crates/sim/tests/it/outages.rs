//! Faults that nothing tells of: parts that stand still, paths that are cut or lose more, and servers that answer with
//! errors or are restarted.

use sojourn_model::system::{
    Clients, Directions, Face, Fault, Line, Path, Paths, Reports, Resolves, Seat, Site, Subject, Target, Tier,
    Transport, Trouble,
};
use sojourn_model::{LossModel, Server, System, TcpStack};
use sojourn_sim::{Report, SimError};
use sojourn_stats::{Estimate, Law, Span, Time};
use sojourn_traffic::Workload;

use crate::reports::REPORTS;
use crate::support::{Scenario, estimate, open, plain_path, run_plan};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"10 ms\"";

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

fn fault(from_ms: u64, until_ms: Option<u64>, subject: Subject, trouble: Trouble) -> Vec<Fault> {
    let time = |ms: u64| Time(ms * MS);
    vec![Fault { at: time(from_ms), until: until_ms.map(time), subject, trouble }]
}

/// Requests that fail, and all that is known. One request comes each tenth of a second, the first at 0.1 s.
fn failed(system: &System, seconds: u64) -> (u64, Report) {
    failed_of(system, open("constant(100 ms)"), seconds)
}

fn failed_of(system: &System, workload: Workload, seconds: u64) -> (u64, Report) {
    let scenario = Scenario { workload, system: system.clone() };
    let report = run_plan(&scenario, 1, Span(seconds * SECOND), Span::ZERO).unwrap();
    let (Estimate::Sampled { samples, .. } | Estimate::WithoutInterval { samples, .. }) =
        *estimate(&report, "error_ratio")
    else {
        panic!("no errors are counted")
    };
    ((value(&report, "error_ratio") * samples as f64).round() as u64, report)
}

fn servers(model: &str, count: usize) -> System {
    let tier = Tier::new(Face::Gateway, "round-robin");
    System::balanced(tier, vec![Server::from_toml(model).unwrap(); count])
}

/// A tier of this face over a gateway at each of two sites with a server each.
fn two_sites(first: Face) -> System {
    let mut system = servers(FCFS, 2);
    system.sites = (0..2).map(|site| Site { name: format!("c{site}"), region: 0 }).collect();
    (0..2).for_each(|host| system.hosts[host].site = Some(host));
    let targets = (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect();
    let at = |site: usize| Seat { site: Some(site), targets: vec![Target::Host(site)], ..Seat::default() };
    system.tiers = vec![
        Tier { seats: vec![Seat { targets, ..Seat::default() }], ..Tier::new(first, "round-robin") },
        Tier { seats: vec![at(0), at(1)], ..Tier::new(Face::Gateway, "round-robin") },
    ];
    system.rules.resolves = Resolves::EachRequest;
    system.rules.timeout = Some(Span(500 * MS));
    system
}

/// Mean response time (s) of requests that come each 100 ms to a server of 10 ms, which takes them up at these instants.
fn lindley(requests: u64, taken_up: impl Fn(Span) -> Span, ends: impl Fn(Span) -> Span) -> f64 {
    let mut free = Span::ZERO;
    let mut sum_s = 0.0;
    for number in 1..=requests {
        let comes = Span(number * 100 * MS);
        let done = ends(free.max(taken_up(comes)) + Span(10 * MS));
        free = done;
        sum_s += (done - comes).as_secs_f64();
    }
    sum_s / requests as f64
}

/// A server that is frozen 5 ms before the end of a request goes on with these 5 ms; what came meanwhile waited at its door.
/// A gateway that stands still holds the requests and the reply that come to it.
#[test]
fn what_is_frozen_goes_on_where_it_was() {
    let (from, until) = (Span(20_005 * MS), Span(30_005 * MS));
    let frozen = |subject| fault(20_005, Some(30_005), subject, Trouble::Frozen);
    let waits = |at: Span| if (from..until).contains(&at) { until } else { at };
    let goes_on = |done: Span| if (from..until).contains(&done) { done + (until - from) } else { done };
    let mut system = System::single(Server::from_toml(FCFS).unwrap());
    system.faults = frozen(Subject::Host(0));
    let (none, report) = failed(&system, 60);
    let near = |found: f64, exact: f64| assert!((found - exact).abs() < 1e-9, "{found} s, exactly {exact} s");
    let exact = lindley(599, waits, goes_on);
    assert_eq!(none, 0);
    near(value(&report, "response_time_mean"), exact);
    // What it stood still is time waited, and no work.
    near(value(&report, "waiting_time_mean"), exact - 0.01);
    assert!((value(&report, "utilization") - 5.99 / 60.0).abs() < 1e-3, "{}", value(&report, "utilization"));
    let mut system = servers(FCFS, 1);
    system.faults = frozen(Subject::Tier(0));
    let (none, report) = failed(&system, 60);
    // The server is free at once; its reply is not.
    let mut free = Span::ZERO;
    let responses = (1..=599).map(|number| {
        let comes = Span(number * 100 * MS);
        free = free.max(waits(comes)) + Span(10 * MS);
        (waits(free) - comes).as_secs_f64()
    });
    near(value(&report, "response_time_mean"), responses.sum::<f64>() / 599.0);
    assert_eq!(none, 0);
}

/// Clients wait for a frozen server until their time-out; a gateway leaves it out a second after the first look at its
/// health that has no answer, and takes it again when it goes on.
#[test]
fn a_gateway_leaves_a_frozen_server_out() {
    let mut system = servers(FCFS, 2);
    system.rules.timeout = Some(Span(500 * MS));
    system.faults = fault(20_050, Some(40_050), Subject::Host(1), Trouble::Frozen);
    let (lost, report) = failed(&system, 60);
    // Every second one of those from 20.1 s to 22.0 s.
    assert!((9..=11).contains(&lost), "{lost}");
    // Of 600 requests those of 19 s go to the first only.
    assert!((value(&report, "share_1") - (190.0 + 205.0) / 599.0).abs() < 0.01, "{}", value(&report, "share_1"));
    assert!((value(&report, "response_time_mean") - 0.01).abs() < 1e-9);
}

/// A share of the requests is answered with an error, at once: the server spends no work on them, and nothing else changes.
#[test]
fn errors_are_no_work() {
    let mut system = servers(FCFS, 1);
    let (_, whole) = failed(&system, 110);
    system.faults = fault(10_050, None, Subject::Host(0), Trouble::Errors(0.3));
    let (errors, report) = failed(&system, 110);
    // 300 of 999, with a standard deviation of 14.5: five of them (false alarm 6e-7).
    assert!((228..=372).contains(&errors), "{errors}");
    assert!((value(&report, "response_time_mean") - 0.01).abs() < 1e-9, "the others are as they were");
    let spared_s = (value(&whole, "utilization") - value(&report, "utilization")) * 110.0;
    assert!((spared_s - 0.01 * errors as f64).abs() < 0.011, "{spared_s} s for {errors} errors");
}

/// What a server has when it is restarted is lost; its queue is empty when it is back. While it is away, the gateway is
/// refused and tries the other one.
#[test]
fn a_restart_loses_what_is_inside() {
    // Of each server one request is inside at every instant but the last 20 ms before the next.
    let mut system = servers("discipline = \"fcfs\"\ndemand = \"180 ms\"", 2);
    for until_ms in [None, Some(20_150)] {
        system.faults = fault(20_050, until_ms, Subject::Host(1), Trouble::Restarted);
        let (lost, report) = failed(&system, 60);
        assert_eq!(lost, 1, "until {until_ms:?}");
        assert!((value(&report, "share_2") - 0.5).abs() < 0.01, "until {until_ms:?}: {}", value(&report, "share_2"));
    }
}

/// Nothing passes between a site that is cut off and the world. A gateway finds out; a DNS goes on naming it, unless it
/// gets reports, which then no longer come.
#[test]
fn a_site_is_cut_off() {
    let mut system = two_sites(Face::Gateway);
    system.faults = fault(20_050, Some(40_050), Subject::Site(1), Trouble::Cut);
    let (lost, report) = failed(&system, 60);
    assert!((9..=11).contains(&lost), "{lost}: every second one from 20.1 s to 22.0 s");
    assert!((value(&report, "share_2") - 205.0 / 599.0).abs() < 0.02, "{}", value(&report, "share_2"));
    let mut system = two_sites(Face::Dns);
    system.faults = fault(20_050, Some(40_050), Subject::Site(1), Trouble::Cut);
    assert_eq!(failed(&system, 60).0, 100, "every second one of 20 s");
    for trouble in [Trouble::Cut, Trouble::Frozen] {
        let every = Span(500 * MS);
        let reports = Reports {
            every,
            heartbeat: Some(Span(SECOND)),
            client_rates: None,
            hidden_load: false,
            cost: Span::ZERO,
            lossy: false,
            estimator: None,
            capacity_at: 1.0,
        };
        system.tiers.iter_mut().for_each(|tier| tier.reports = Some(reports));
        system.faults = fault(20_050, Some(40_050), Subject::Site(1), trouble);
        // At most two heartbeats and a look later.
        let (lost, _) = failed(&system, 60);
        assert!((5..=16).contains(&lost), "{trouble:?}: {lost}");
    }
}

/// A server that is cut off still works: what it had is served, and the reply is lost.
#[test]
fn a_server_is_cut_off() {
    let mut system = servers("discipline = \"fcfs\"\ndemand = \"50 ms\"", 1);
    system.rules.timeout = Some(Span(500 * MS));
    system.faults = fault(20_010, Some(20_060), Subject::Host(0), Trouble::Cut);
    let (lost, report) = failed(&system, 60);
    assert_eq!(lost, 1, "the reply to the request of 20.0 s");
    assert!((value(&report, "utilization") - 599.0 * 0.05 / 60.0).abs() < 1e-3, "{}", value(&report, "utilization"));
}

/// A system of one server in another region, which clients ask over a path of 40 ms; `loss` is a share of its packets.
fn over_a_path(loss: f64) -> System {
    let mut system = System::single(Server::from_toml("discipline = \"ps\"\ndemand = \"1 us\"").unwrap());
    system.regions = vec![sojourn_model::system::Region::default(); 2];
    system.sites = vec![Site { name: "far".into(), region: 1 }];
    system.hosts[0].site = Some(0);
    system.clients = vec![Clients::alone(0, 1)];
    let path = |_, _| {
        let (rtt, loss_model) = (Law::constant(0.04), LossModel::GilbertElliott);
        Ok::<_, ()>(Path {
            rtt,
            loss: Directions::both(loss / 2.0),
            loss_correlation: 0.0,
            loss_model,
            rate: Directions::default(),
            medium: None,
            line: Line::default(),
        })
    };
    system.paths = Paths::new(2, path).unwrap();
    system.transport = Some(Transport { stack: TcpStack::LINUX_6, one_request_per_connection: true });
    system.rules.timeout = Some(Span(3600 * SECOND));
    system
}

/// Over a path that is cut a SYN is repeated each second until one gets through; a message is lost.
#[test]
fn a_path_is_cut() {
    let mut system = over_a_path(0.0);
    let each_second = || open("constant(1 s)");
    let (none, whole) = failed_of(&system, each_second(), 100);
    assert_eq!(none, 0);
    system.faults = fault(10_500, Some(15_050), Subject::Path(0, 1), Trouble::Cut);
    let (none, report) = failed_of(&system, each_second(), 100);
    assert_eq!(none, 0);
    // Those of 11 s to 15 s all get through at 16 s.
    let more_s = (value(&report, "response_time_mean") - value(&whole, "response_time_mean")) * 99.0;
    assert!((more_s - 15.0).abs() < 1e-3, "{more_s} s");
    // Another pair of regions is not concerned.
    system.faults = fault(10_500, Some(15_050), Subject::Path(0, 0), Trouble::Cut);
    let (_, other) = failed_of(&system, each_second(), 100);
    assert_eq!(value(&other, "response_time_mean"), value(&whole, "response_time_mean"));
    // Within one region clients are not at the site of a server, also of one that has no site.
    system.sites = Vec::new();
    system.hosts[0].site = None;
    let (_, within) = failed_of(&system, each_second(), 100);
    assert!(value(&within, "response_time_mean") > value(&whole, "response_time_mean") + 0.1);
    let mut system = over_a_path(0.0);
    system.transport = None;
    system.faults = fault(10_500, Some(15_050), Subject::Path(0, 1), Trouble::Cut);
    system.rules.timeout = Some(Span(500 * MS));
    assert_eq!(failed_of(&system, each_second(), 100).0, 5, "those of 11 s to 15 s");
}

/// A path that loses more for the whole run is a path that loses so much. The interval of each mean misses it once in a
/// hundred million runs; they overlap.
#[test]
fn a_path_loses_more() {
    let mut meanwhile = over_a_path(0.0);
    meanwhile.faults = fault(0, None, Subject::Path(0, 1), Trouble::Loss(0.1));
    let mean = |system: &System| {
        let control = sojourn_sim::Control { horizon: Some(Span(2000 * SECOND)), ..crate::support::control(400_000) };
        let scenario = Scenario { workload: open("constant(100 ms)"), system: system.clone() };
        let report = crate::support::simulate(&scenario, &control).unwrap();
        estimate(&report, "response_time_mean").interval().unwrap()
    };
    let (always, meanwhile, never) = (mean(&over_a_path(0.1)), mean(&meanwhile), mean(&over_a_path(0.0)));
    assert!(always.0 < meanwhile.1 && meanwhile.0 < always.1, "{always:?}, {meanwhile:?}");
    assert!(never.1 < 0.9 * meanwhile.0, "{never:?}, {meanwhile:?}");
}

/// Without a time-out a request that nothing answers would never end.
#[test]
fn silence_needs_a_time_out() {
    for (until_ms, trouble) in [(Some(2000), Trouble::Cut), (None, Trouble::Frozen)] {
        let mut system = servers(FCFS, 2);
        system.faults = fault(1000, until_ms, Subject::Host(0), trouble);
        let scenario = Scenario { workload: open("constant(100 ms)"), system };
        let error = run_plan(&scenario, 1, Span(10 * SECOND), Span::ZERO).unwrap_err();
        assert!(
            matches!(error, SimError::Invalid(_)) && error.to_string().contains("how long clients wait"),
            "{error}"
        );
    }
}

/// A gateway in the first region over servers in both, or over the gateways of their sites; the second is so far away (ms).
fn over_regions(is_direct: bool, rtt_ms: f64) -> System {
    let mut system = two_sites(Face::Gateway);
    if is_direct {
        system.tiers.truncate(1);
        system.tiers[0].seats[0].targets = (0..2).map(Target::Host).collect();
    }
    system.tiers[0].seats[0].site = Some(0);
    system.regions = vec![sojourn_model::system::Region::default(); 2];
    system.sites[1].region = 1;
    system.clients = vec![Clients::alone(0, 1)];
    let path = |a, b| Ok::<_, ()>(plain_path(if a == b { 0.0 } else { rtt_ms * 1e-3 }));
    system.paths = Paths::new(2, path).unwrap();
    system
}

/// A gateway looks at all its targets when a path is cut, for it may be the way to any of them, and when it is mended.
#[test]
fn a_gateway_leaves_out_what_a_cut_path_led_to() {
    for is_direct in [true, false] {
        let mut system = over_regions(is_direct, 1.0);
        system.faults = fault(20_050, Some(40_050), Subject::Path(0, 1), Trouble::Cut);
        let (lost, report) = failed(&system, 60);
        assert!((9..=11).contains(&lost), "{is_direct}: {lost}: every second one from 20.1 s to 22.0 s");
        let share = value(&report, "share_2");
        assert!((share - 205.0 / 599.0).abs() < 0.02, "{is_direct}: {share}");
    }
}

/// What is still on its way to a server that goes down is refused there, and tried elsewhere; only what is in it is lost.
#[test]
fn what_is_on_its_way_to_a_server_that_goes_down_is_refused_there() {
    // Of two requests 100 ms apart one is on its way to the second server, or in it, at these instants.
    let lost = |from_ms| {
        let mut system = over_regions(true, 100.0);
        system.faults = fault(from_ms, Some(40_050), Subject::Host(1), Trouble::Down);
        failed(&system, 60).0
    };
    assert_eq!([lost(20_020), lost(20_120)], [0, 0]);
    let inside = [lost(20_055), lost(20_155)];
    assert_eq!(inside.iter().sum::<u64>(), 1, "{inside:?}");
}

/// A tier that gets reports goes by them: it finds out when none has come for two heartbeats, and not by a look.
#[test]
fn a_gateway_with_reports_does_not_look() {
    let mut system = two_sites(Face::Switch);
    system.faults = fault(20_050, None, Subject::Site(1), Trouble::Down);
    let (looks, _) = failed(&system, 60);
    system.tiers.iter_mut().for_each(|tier| tier.reports = Some(REPORTS));
    let (waits, _) = failed(&system, 60);
    // Every second one: up to the next second, or of at most 8.5 s after a report that is up to 4 s old.
    assert!((4..=5).contains(&looks) && (22..=43).contains(&waits), "{looks}, {waits}");
}

/// A reply that flows over a shared link when the switch that it passes goes down leaves the link, and harms no other.
#[test]
fn a_reply_that_is_lost_leaves_its_link() {
    // 1000 B take 90 ms of 100 ms.
    let mut system = servers("discipline = \"fcfs\"\ndemand = \"1 ms\"", 1);
    system.tiers[0].face = Face::Switch;
    let path = |_, _| Ok::<_, ()>(Path { medium: Some(1), ..plain_path(0.0) });
    system.paths = Paths::new(1, path).unwrap();
    let medium = |name: &str, rate| sojourn_model::system::Medium { name: name.into(), rate };
    system.media = vec![medium("idle", 1.0), medium("ethernet", 8_000.0 / 0.09)];
    let mean_s = |report: &Report| value(report, "response_time_mean");
    let (none, whole) = failed(&system, 60);
    assert!(none == 0 && (mean_s(&whole) - 0.091).abs() < 1e-6, "{} s", mean_s(&whole));
    system.faults = fault(20_050, Some(20_060), Subject::Tier(0), Trouble::Down);
    let (lost, report) = failed(&system, 60);
    assert!(lost == 1 && (mean_s(&report) - 0.091).abs() < 1e-6, "{lost}, {} s", mean_s(&report));
}
