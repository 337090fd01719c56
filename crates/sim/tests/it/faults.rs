//! Faults with a DNS in front, behind gateways, of resolvers and of slow servers: who is refused, and until when.

use sojourn_model::system::{Face, Fault, Resolver, Resolves, Seat, Site, Subject, Target, Tier, Trouble, TtlUse};
use sojourn_model::{Server, System};
use sojourn_sim::{Report, SimError};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Workload;

use crate::reports::REPORTS;
use crate::support::{Scenario, closed, estimate, open, run_plan};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"10 ms\"";

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// A tier of this face over the deciders of the next, one at each of two sites with a server each.
fn two_sites(first: Tier, front: Face) -> System {
    let mut system = System::balanced(first.clone(), vec![Server::from_toml(FCFS).unwrap(); 2]);
    system.sites = (0..2).map(|site| Site { name: format!("c{site}"), region: 0 }).collect();
    (0..2).for_each(|host| system.hosts[host].site = Some(host));
    let targets = (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect();
    let at = |site: usize| Seat { site: Some(site), targets: vec![Target::Host(site)], ..Seat::default() };
    system.tiers = vec![
        Tier { seats: vec![Seat { targets, ..Seat::default() }], ..first },
        Tier { seats: vec![at(0), at(1)], ..Tier::new(front, "round-robin") },
    ];
    system
}

fn dns(ttl_s: u64) -> Tier {
    Tier { ttl: Span(ttl_s * SECOND), ..Tier::new(Face::Dns, "round-robin") }
}

fn with_reports(mut system: System) -> System {
    for tier in &mut system.tiers {
        tier.reports = Some(REPORTS);
    }
    system
}

fn fault(at_s: u64, until_s: Option<u64>, subject: Subject, trouble: Trouble) -> Vec<Fault> {
    // Between two requests, which come at full tenths of a second.
    let time = |s: u64| Time(s * SECOND + 50 * MS);
    vec![Fault { at: time(at_s), until: until_s.map(time), subject, trouble }]
}

/// Requests that were refused or lost, and how many there were.
fn refused(system: System, workload: Workload, seconds: u64) -> (u64, Report) {
    let report = run_plan(&Scenario { workload, system }, 1, Span(seconds * SECOND), Span::ZERO).unwrap();
    let ended = match estimate(&report, "error_ratio") {
        sojourn_stats::Estimate::Sampled { samples, .. } | sojourn_stats::Estimate::WithoutInterval { samples, .. } => {
            *samples
        }
        other => panic!("{other:?}"),
    };
    ((value(&report, "error_ratio") * ended as f64).round() as u64, report)
}

/// A DNS with reports leaves a site that is down out as soon as it has been silent for two heartbeats; one without goes
/// on naming it.
#[test]
fn a_dns_with_reports_leaves_a_site_that_is_down_out() {
    let down = fault(100, None, Subject::Site(1), Trouble::Down);
    let mut system = two_sites(dns(0), Face::Switch);
    (system.rules.resolves, system.faults) = (Resolves::EachRequest, down);
    let requests = || open("constant(100 ms)");
    let (without, _) = refused(system.clone(), requests(), 300);
    assert_eq!(without, 999, "every second one of the 1999 of the last 200 s");
    let (with, report) = refused(with_reports(system), requests(), 300);
    // Of at most 8.5 s after its last report, which is up to 4 s old.
    assert!((22..=43).contains(&with), "{with} refused");
    assert!(value(&report, "share_1") > 0.8);
}

/// A client holds the address of a dead site until the TTL ends; if it fails over, it asks the next address instead, a
/// round trip later, and stays there.
#[test]
fn a_client_holds_a_dead_address_or_fails_over() {
    // One user asks at once, at 1.01 s and so on; it holds the first answer until 60 s, the second site's from then on.
    let user = || closed(1, "constant(990 ms)");
    let mut system = with_reports(two_sites(dns(60), Face::Switch));
    system.network.rtt = Span(100 * MS);
    let (none, report) = refused(system.clone(), user(), 170);
    let (mean_s, asked) = (value(&report, "response_time_mean"), value(&report, "throughput") * 170.0);
    assert_eq!(none, 0);
    system.faults = fault(80, None, Subject::Site(1), Trouble::Down);
    let (held, _) = refused(system.clone(), user(), 170);
    assert!((36..=46).contains(&held), "{held} refused between 80 and about 121 s");
    system.rules.fails_over = true;
    let (moved, report) = refused(system, user(), 170);
    assert!(moved <= 1, "only what was inside is lost: {moved}");
    // One of about 150 requests took a round trip more.
    let more_s = (value(&report, "response_time_mean") - mean_s) * asked;
    assert!((more_s - 0.1).abs() < 0.01, "{more_s} s");
}

/// A gateway tries the other site's gateway, so that only what was inside is lost.
#[test]
fn a_gateway_leaves_a_site_that_is_down_out() {
    let mut system = two_sites(Tier::new(Face::Gateway, "round-robin"), Face::Gateway);
    system.faults = fault(20, Some(40), Subject::Site(1), Trouble::Down);
    let (lost, report) = refused(system, open("constant(100 ms)"), 60);
    assert_eq!(lost, 0, "nothing was inside between two requests");
    // Half of the requests of 40 s.
    let share = value(&report, "share_2");
    assert!((share - 1.0 / 3.0).abs() < 0.01, "{share}");
}

/// A node on a server that is down refuses too; a DNS that names it goes on doing so.
#[test]
fn a_server_that_decides_is_down_with_its_decider() {
    let mut system = System::balanced(Tier::new(Face::Gateway, "random"), vec![Server::from_toml(FCFS).unwrap(); 2]);
    let seat = |host: usize| Seat { host: Some(host), targets: (0..2).map(Target::Host).collect(), ..Seat::default() };
    let names = Seat { targets: (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect(), ..Seat::default() };
    system.tiers = vec![
        Tier { seats: vec![names], ..dns(0) },
        Tier { seats: vec![seat(0), seat(1)], ..Tier::new(Face::Switch, "round-robin") },
    ];
    system.rules.resolves = Resolves::EachRequest;
    system.faults = fault(10, None, Subject::Host(1), Trouble::Down);
    let (refused, _) = refused(system, open("constant(100 ms)"), 110);
    // Every second one comes to the node that is down; up to the next second the other node may still name it.
    assert!((500..=506).contains(&refused), "{refused}");
}

/// The clients of a resolver that is down keep the answers that they have, and get no other.
#[test]
fn a_resolver_that_is_down_answers_nobody() {
    let mut system = two_sites(dns(20), Face::Switch);
    system.resolvers = vec![Resolver { name: "isp".into(), region: 0, share: 1.0, ttl: TtlUse::Honoured }];
    system.rules.resolves = Resolves::Every(Span(10 * SECOND));
    system.faults = fault(50, Some(80), Subject::Resolver(0), Trouble::Down);
    // The only client resolves every 10 s, last at 50.0 s or before.
    let (failed, _) = refused(system, open("constant(100 ms)"), 100);
    assert!((200..=300).contains(&failed), "{failed}");
}

/// A tier that is down is down with all of its deciders.
#[test]
fn a_dns_that_is_down_gives_no_answers() {
    let mut system = two_sites(dns(0), Face::Switch);
    (system.rules.resolves, system.faults) =
        (Resolves::EachRequest, fault(50, Some(60), Subject::Tier(0), Trouble::Down));
    let (failed, _) = refused(system, open("constant(100 ms)"), 100);
    assert_eq!(failed, 100);
}

/// A slow server takes longer for what comes meanwhile; a drained one ends what it has.
#[test]
fn slow_and_drained_servers() {
    let one = |server: &str| {
        let server = Server::from_toml(server).unwrap();
        System::balanced(Tier::new(Face::Gateway, "round-robin"), vec![server; 2])
    };
    let mut system = one(FCFS);
    system.faults = fault(20, Some(70), Subject::Share(1.0), Trouble::Slow(0.25));
    let (none, report) = refused(system, open("constant(100 ms)"), 100);
    // Half of the requests take 40 ms, the others 10 ms.
    assert!(none == 0 && (value(&report, "response_time_mean") - 0.025).abs() < 1e-4, "{report:?}");
    let mut system = one("discipline = \"fcfs\"\ndemand = \"150 ms\"");
    system.faults = fault(20, None, Subject::Host(1), Trouble::Drained);
    let (none, report) = refused(system, open("constant(100 ms)"), 100);
    assert_eq!(none, 0, "what was inside is served");
    assert!(value(&report, "share_2") < 0.12, "{}", value(&report, "share_2"));
}

/// Deciders that are drained end what they have and refuse what comes; those that are down lose what they have. One that is
/// drained reports at once that it has no server left, so that no client is sent there meanwhile.
#[test]
fn drained_deciders_end_what_they_have_and_say_so() {
    let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"150 ms\"").unwrap();
    let mut system = two_sites(dns(0), Face::Switch);
    system.rules.resolves = Resolves::EachRequest;
    system.hosts.iter_mut().for_each(|host| host.server = server.clone());
    let with = |mut system: System, subject, trouble| {
        system.faults = fault(20, Some(30), subject, trouble);
        let (refused, report) = refused(system, open("constant(100 ms)"), 60);
        (refused, value(&report, "share_2"))
    };
    // Requests come at each tenth of a second.
    assert_eq!(with(system.clone(), Subject::Tier(1), Trouble::Drained).0, 100);
    assert!(with(system.clone(), Subject::Tier(1), Trouble::Down).0 > 100, "what was inside is lost");
    let reporting = with_reports(system);
    let (lost, share) = with(reporting.clone(), Subject::Site(1), Trouble::Drained);
    // Half of what comes, but for those 10 s and until the next tick, when its server reports again.
    assert!(lost == 0 && (share - 248.0 / 599.0).abs() < 0.002, "{lost} refused, a share of {share}");
    assert!(with(reporting, Subject::Site(1), Trouble::Down).0 > 20, "silence is noticed later");
}

/// What there is of each kind of part, and nothing else; the others are refused in one line that lists what there is.
#[test]
fn a_fault_that_is_not_there_is_refused() {
    let mut system = two_sites(dns(0), Face::Switch);
    system.tiers[0].face = Face::Client;
    system.resolvers = vec![Resolver { name: "isp".into(), region: 0, share: 1.0, ttl: TtlUse::Honoured }];
    system.rules.timeout = Some(Span(SECOND));
    let several = "demand = \"10 ms\"\n\
                   resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" } }";
    system.hosts[1].server = Server::from_toml(several).unwrap();
    let runs = |subject, trouble| {
        let mut system = system.clone();
        system.faults = fault(1, Some(2), subject, trouble);
        let scenario = Scenario { workload: open("constant(100 ms)"), system };
        match run_plan(&scenario, 1, Span(3 * SECOND), Span::ZERO) {
            Ok(_) => true,
            Err(SimError::NotYet(text)) => {
                let is_named = |name: &str| text.starts_with(name) && !text.contains('\n');
                assert!(is_named("fault of this kind: ") || is_named("deciders that are slow"), "{text}");
                false
            }
            Err(error) => panic!("{error}"),
        }
    };
    use Trouble::{Cut, Down, Drained, Errors, Frozen, Loss, Restarted, Slow};
    let all = [Down, Drained, Slow(0.5), Restarted, Frozen, Errors(0.5), Cut, Loss(0.1)];
    let parts = [
        (Subject::Host(0), [true, true, true, true, true, true, true, false]),
        // Of several resources.
        (Subject::Host(1), [true, true, false, true, true, true, true, false]),
        (Subject::Share(1.0), [true, true, false, true, true, true, true, false]),
        (Subject::OneOf(1.0, 0), [true, true, true, true, true, true, true, false]),
        (Subject::OneOf(1.0, 1), [true, true, false, true, true, true, true, false]),
        (Subject::Site(0), [true, true, true, true, true, true, true, false]),
        (Subject::Tier(0), [false; 8]),
        (Subject::Tier(1), [true, true, false, false, true, false, false, false]),
        (Subject::Resolver(0), [true, false, false, false, false, false, false, false]),
        // Where requests are messages.
        (Subject::Path(0, 0), [false, false, false, false, false, false, true, false]),
    ];
    for (subject, are_there) in parts {
        for (trouble, is_there) in all.into_iter().zip(are_there) {
            assert_eq!(runs(subject, trouble), is_there, "{subject:?}, {trouble:?}");
        }
    }
}

/// A switch learns of a site that is down at its next look, and that it is back likewise; until then what it sends there is
/// refused.
#[test]
fn a_switch_leaves_a_site_that_is_down_out_at_its_next_look() {
    let mut system = two_sites(Tier::new(Face::Switch, "round-robin"), Face::Gateway);
    system.faults = fault(20, Some(40), Subject::Site(1), Trouble::Down);
    let (lost, report) = refused(system, open("constant(100 ms)"), 60);
    // Every second one from 20.1 s to 21.0 s.
    assert!((4..=5).contains(&lost), "{lost}");
    let share = value(&report, "share_2");
    assert!((share - (200.0 + 190.0) / 2.0 / 599.0).abs() < 0.02, "{share}");
}

/// Where every address refuses, each is asked once.
#[test]
fn a_client_that_fails_over_gives_up_after_the_last_address() {
    let mut system = two_sites(dns(60), Face::Switch);
    system.network.rtt = Span(100 * MS);
    system.rules.fails_over = true;
    system.faults = fault(0, None, Subject::Tier(1), Trouble::Down);
    // A round trip, the way to the second address, and 990 ms: 104 requests in 119 s; the first comes before the tier is down.
    let (failed, _) = refused(system, closed(1, "constant(990 ms)"), 119);
    assert!((103..=104).contains(&failed), "{failed}");
}
