//! Tiers of deciders: what is known exactly of each kind of route, and the routed fabric against the direct one.

use sojourn_model::system::{
    Clients, Directions, Face, Fault, Line, Path, Paths, Region, Resolver, Resolves, Seat, Site, Subject, Target, Tier,
    Trouble, TtlUse,
};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, Report, WarmUp};
use sojourn_stats::{Dimension, Law, Span, Stream, Time};
use sojourn_traffic::{Closed, Open, Sizes, Workload};

use crate::support::{Scenario, closed, cluster, covers, estimate, open, queue, run, run_plan, simulate};

const EXPONENTIAL: &str = "discipline = \"ps\"\ndemand = \"exponential(mean = 1 s)\"";
const SECOND: u64 = 1_000_000_000;

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// `count` servers, none of them behind a tier yet.
fn servers(count: usize, server: &str) -> System {
    let server = Server::from_toml(server).unwrap();
    let mut system = System::balanced(Tier::new(Face::Gateway, "random"), vec![server; count]);
    system.tiers.clear();
    system
}

fn hosts(hosts: impl IntoIterator<Item = usize>) -> Seat {
    Seat { targets: hosts.into_iter().map(Target::Host).collect(), ..Seat::default() }
}

fn tier(face: Face, policy: &str, seats: Vec<Seat>) -> Tier {
    Tier { seats, ..Tier::new(face, policy) }
}

/// A tier of face `dns` over all seats of the next one.
fn dns(policy: &str, seats: usize, ttl: Span) -> Tier {
    let targets = (0..seats).map(|seat| Target::Seat { tier: 1, seat }).collect();
    Tier { ttl, ..tier(Face::Dns, policy, vec![Seat { targets, ..Seat::default() }]) }
}

/// One user alone, who asks for constant work: every part of the response time is known.
fn alone(system: System) -> Report {
    let workload = closed(1, "constant(100 ms)");
    let control = Control { horizon: Some(Span(100 * SECOND)), precision: None, replications: 2, ..Control::default() };
    simulate(&Scenario { workload, system }, &control).unwrap()
}

/// A redirection is a round trip more, of the client's link and nothing else.
#[test]
fn a_redirection_costs_a_round_trip() {
    let mut system = servers(2, "discipline = \"ps\"\ndemand = \"20 ms\"");
    system.network.rtt = Span(10_000_000);
    system.tiers = vec![tier(Face::Redirect, "round-robin", vec![hosts(0..2)])];
    let report = alone(system);
    assert!((value(&report, "response_time_mean") - 0.040).abs() < 1e-9, "{:?}", report.measures[0]);
    assert!((value(&report, "share_1") - 0.5).abs() < 0.01);
}

/// Poisson arrivals that are split at random twice are Poisson at every server: M/M/1-PS, E[T] = 1 / (1 - rho) at each.
#[test]
fn random_gateways_over_random_gateways_are_single_queues() {
    let mut system = servers(4, EXPONENTIAL);
    let over = Seat { targets: (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect(), ..Seat::default() };
    system.tiers =
        vec![tier(Face::Gateway, "random", vec![over]), tier(Face::Gateway, "random", vec![hosts(0..2), hosts(2..4)])];
    let report = run(&Scenario { workload: open("exponential(rate = 2 /s)"), system }, 1_000_000);
    covers(&report, "response_time_mean", 2.0, 0.06, "two tiers of gateways");
    covers(&report, "utilization", 0.5, 0.02, "two tiers of gateways");
}

/// Every server forwards: a request goes to a server in turn, which passes it on at random. M/M/1-PS again, and a
/// crossing of the cluster's link for 3 of 4 requests.
#[test]
fn servers_that_forward_at_random_are_single_queues() {
    let mut system = servers(4, EXPONENTIAL);
    let on = |host: usize| Seat { host: Some(host), ..hosts(0..4) };
    system.network.server_rtt = Span(400_000_000);
    system.tiers = vec![dns("round-robin", 4, Span::ZERO), tier(Face::Switch, "random", (0..4).map(on).collect())];
    system.rules.resolves = Resolves::EachRequest;
    let report = run(&Scenario { workload: open("exponential(rate = 2 /s)"), system }, 1_000_000);
    covers(&report, "response_time_mean", 2.0 + 0.75 * 0.2 + 0.2, 0.06, "rewriting by servers");
}

/// The node that gets a request keeps it or redirects it; what was redirected stays. One user, whose rotation is known:
/// the first node's policy answers in turn 1, 2, 1, ... and the second node's likewise.
#[test]
fn a_redirected_request_stays() {
    let mut system = servers(2, "discipline = \"ps\"\ndemand = \"20 ms\"");
    system.network.rtt = Span(10_000_000);
    let on = |host: usize| Seat { host: Some(host), ..hosts(0..2) };
    system.tiers =
        vec![dns("round-robin", 2, Span::ZERO), tier(Face::Redirect, "round-robin", (0..2).map(on).collect())];
    system.rules.resolves = Resolves::EachRequest;
    let report = alone(system);
    // Node 1 (asked 1st, 3rd, ...) keeps, redirects, keeps, ...; node 2 redirects, keeps, ...: half are redirected.
    assert!((value(&report, "response_time_mean") - 0.035).abs() < 1e-4, "{:?}", report.measures[0]);
}

/// An answer is held until its TTL ends, or as long as a resolver or a client likes.
#[test]
fn answers_are_held() {
    // 100 s of 100 ms of thinking and 20 ms of work each: within a TTL the same server, then the other one.
    let share = |ttl_s: u64, of_resolver: Option<TtlUse>, resolves: Resolves| {
        let mut system = servers(2, "discipline = \"ps\"\ndemand = \"20 ms\"");
        let ttl = Span(ttl_s * SECOND);
        system.tiers = vec![dns("round-robin", 2, ttl), tier(Face::Gateway, "random", vec![hosts([0]), hosts([1])])];
        let resolver = |ttl| Resolver { name: "isp".into(), region: 0, share: 1.0, ttl };
        system.resolvers = of_resolver.map(resolver).into_iter().collect();
        system.rules.resolves = resolves;
        value(&alone(system), "share_1")
    };
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.01, "{share}, not {expected}");
    // 60 of 100 s at the first, then 40 at the second.
    near(share(60, None, Resolves::Ttl), 0.6);
    near(share(60, Some(TtlUse::Honoured), Resolves::Ttl), 0.6);
    near(share(10, Some(TtlUse::AtLeast(Span(60 * SECOND))), Resolves::Ttl), 0.6);
    near(share(70, Some(TtlUse::AtLeast(Span(60 * SECOND))), Resolves::Ttl), 0.7);
    near(share(10, Some(TtlUse::Ignored(Span(3600 * SECOND))), Resolves::Ttl), 1.0);
    // WebStone keeps an address for a minute; a client that resolves for every request alternates.
    near(share(1, None, Resolves::Every(Span(60 * SECOND))), 0.6);
    near(share(3600, None, Resolves::EachRequest), 0.5);
    // A resolver holds its answer whatever its clients do.
    near(share(60, Some(TtlUse::Honoured), Resolves::EachRequest), 0.6);
}

/// Half of the clients of a region are behind a resolver that ignores the TTL: they stay where it sends them.
#[test]
fn a_resolver_hides_its_clients() {
    let mut system = servers(2, "discipline = \"ps\"\ndemand = \"1 ms\"");
    system.tiers = vec![dns("round-robin", 2, Span::ZERO), tier(Face::Gateway, "random", vec![hosts([0]), hosts([1])])];
    let ttl = TtlUse::Ignored(Span(1_000_000 * SECOND));
    system.resolvers = vec![Resolver { name: "isp".into(), region: 0, share: 0.5, ttl }];
    let Workload::Open(plan) = open("constant(10 ms)") else { unreachable!() };
    let workload = Workload::Open(Open { clients: 1000, ..plan });
    let report = run_plan(&Scenario { workload, system }, 1, Span(1000 * SECOND), Span::ZERO).unwrap();
    let (one, other) = (value(&report, "share_1"), value(&report, "share_2"));
    // Of 100,000 requests half go where the resolver said, the others alternate: 3/4 and 1/4, up to the draw of clients
    // (6 standard deviations are 0.01: false alarm 2e-9).
    assert!((one.max(other) - 0.75).abs() < 0.01, "{one}, {other}");
}

/// Each region's clients have their own way to each site; it is drawn once, and half of it passes each way.
#[test]
fn paths_join_regions() {
    let mut system = servers(2, "discipline = \"ps\"\ndemand = \"20 ms\"");
    system.regions = ["europe", "asia"].map(|name| Region { name: name.into(), addresses: None }).into();
    system.sites = vec![Site { name: "east".into(), region: 0 }, Site { name: "west".into(), region: 1 }];
    (system.hosts[0].site, system.hosts[1].site) = (Some(0), Some(1));
    let at = |site: usize| Seat { site: Some(site), ..hosts([site]) };
    system.tiers = vec![dns("round-robin", 2, Span::ZERO), tier(Face::Gateway, "random", vec![at(0), at(1)])];
    system.rules.resolves = Resolves::EachRequest;
    system.clients = vec![Clients::alone(0, 1)];
    let path = |rtt_ms: f64| Path {
        rtt: Law::constant(rtt_ms * 1e-3),
        loss: Directions::default(),
        loss_correlation: 0.0,
        loss_model: Default::default(),
        rate: Directions::both(Some(1e6)),
        medium: None,
        line: Line::default(),
    };
    system.paths = Paths::new(2, |a, b| Ok::<_, ()>(path(if a == b { 10.0 } else { 100.0 }))).unwrap();
    // 20 ms of work, 8 ms for 1000 B at 1 Mbit/s, and 10 or 100 ms in turn.
    assert!((value(&alone(system), "response_time_mean") - 0.083).abs() < 1e-3);
}

/// Gateways that each count for themselves know less than one that sees all requests, and more than none.
#[test]
fn several_gateways_know_less_than_one() {
    let mean_s = |gateways: usize, policy: &str| {
        let mut system = servers(4, EXPONENTIAL);
        system.tiers = match gateways {
            1 => vec![tier(Face::Gateway, policy, vec![hosts(0..4)])],
            _ => vec![
                dns("round-robin", gateways, Span::ZERO),
                tier(Face::Gateway, policy, (0..gateways).map(|_| hosts(0..4)).collect()),
            ],
        };
        system.rules.resolves = Resolves::EachRequest;
        let report = run(&Scenario { workload: open("exponential(rate = 3.2 /s)"), system }, 1_000_000);
        estimate(&report, "response_time_mean").interval().unwrap()
    };
    let (one, many, none) = (mean_s(1, "least-connections"), mean_s(8, "least-connections"), mean_s(1, "random"));
    assert!(one.1 < many.0 && many.1 < none.0, "one {one:?}, eight {many:?}, random {none:?}");
}

/// A switch hears of an end when the client's last packet passes it: until then the request counts. One request each
/// 35 ms, 10 ms of work and 40 ms of round trip: the next request comes 15 ms before the last one's end is heard, so that
/// the lowest number of those with the fewest in flight is the other server each time.
#[test]
fn a_switch_hears_of_ends_later() {
    let mut system = servers(2, "discipline = \"fcfs\"\ndemand = \"10 ms\"");
    system.network.rtt = Span(40_000_000);
    system.tiers = vec![tier(Face::Switch, "least-connections-lowest-id", vec![hosts(0..2)])];
    let scenario = Scenario { workload: open("constant(35 ms)"), system };
    let report = run_plan(&scenario, 1, Span(100 * SECOND), Span::ZERO).unwrap();
    assert!((value(&report, "share_1") - 0.5).abs() < 1e-3, "{}", value(&report, "share_1"));
    assert!((value(&report, "response_time_mean") - 0.050).abs() < 1e-9);
}

/// A host of two resources in series: with exponential work at both, each is M/M/1 (Burke 1956), and their response
/// times add up.
#[test]
fn a_request_visits_the_processor_and_the_disk() {
    let server = "resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"1 kB/s\" } }\n\
                  demand = \"exponential(mean = 0.8 s)\"";
    let Workload::Open(plan) = open("exponential(rate = 0.5 /s)") else { unreachable!() };
    let sizes = Sizes::Law(Law::parse("exponential(mean = 1 kB)", Dimension::Size).unwrap());
    let scenario = Scenario {
        workload: Workload::Open(Open { sizes, ..plan }),
        system: System::single(Server::from_toml(server).unwrap()),
    };
    let report = run(&scenario, 1_000_000);
    covers(&report, "response_time_mean", 1.0 / (1.25 - 0.5) + 1.0 / (1.0 - 0.5), 0.06, "processor and disk");
    covers(&report, "service_time_mean", 1.8, 0.02, "processor and disk");
    covers(&report, "utilization", 0.4, 0.02, "of the processor");
}

/// A server goes down: what is in it is lost, and what comes later goes to the other one, whether the gateway has been
/// refused yet or not. When it is back, it has its share again.
#[test]
fn a_server_that_is_down_is_left_out() {
    let mut system = servers(2, "discipline = \"fcfs\"\ndemand = \"150 ms\"");
    system.tiers = vec![tier(Face::Gateway, "round-robin", vec![hosts(0..2)])];
    system.faults = vec![Fault {
        at: Time(40 * SECOND + 50_000_000),
        until: Some(Time(60 * SECOND)),
        subject: Subject::Host(1),
        trouble: Trouble::Down,
    }];
    // One request each 200 ms: at 40.05 s the one that came at 40.0 s is at its server, the first or the second.
    let report =
        run_plan(&Scenario { workload: open("constant(200 ms)"), system }, 1, Span(100 * SECOND), Span::ZERO).unwrap();
    let lost = value(&report, "error_ratio") * 499.0;
    assert!(lost < 1.5, "{lost} requests lost");
    // 100 requests of 20 s go to the first only; of the other 400 every second one.
    assert!((value(&report, "share_1") - 0.6).abs() < 0.02, "{}", value(&report, "share_1"));
    assert!((value(&report, "response_time_mean") - 0.150).abs() < 1e-9);
}

/// Before the gateway has looked at its health, a server that is down refuses, and the gateway tries the other one.
#[test]
fn a_refused_request_goes_to_the_next_server() {
    let mut system = servers(2, "discipline = \"fcfs\"\ndemand = \"50 ms\"");
    system.tiers = vec![tier(Face::Gateway, "round-robin", vec![hosts(0..2)])];
    system.faults = vec![Fault {
        at: Time(40 * SECOND + 100_000_000),
        until: Some(Time(40 * SECOND + 950_000_000)),
        subject: Subject::Host(1),
        trouble: Trouble::Down,
    }];
    let scenario = Scenario { workload: open("constant(200 ms)"), system };
    let report = run_plan(&scenario, 1, Span(41 * SECOND), Span(40 * SECOND + 150_000_000)).unwrap();
    // Four requests, all answered by the first server, one of them after a refusal by the second.
    assert_eq!((value(&report, "error_ratio"), value(&report, "share_1")), (0.0, 0.8));
}

/// Without a gateway in front nothing tries again: a rotating DNS sends a third of the requests into a site that is down.
#[test]
fn a_site_that_is_down_refuses() {
    let mut system = servers(3, "discipline = \"fcfs\"\ndemand = \"10 ms\"");
    system.sites = (0..3).map(|site| Site { name: format!("c{site}"), region: 0 }).collect();
    (0..3).for_each(|host| system.hosts[host].site = Some(host));
    let at = |site: usize| Seat { site: Some(site), ..hosts([site]) };
    system.tiers = vec![dns("round-robin", 3, Span::ZERO), tier(Face::Switch, "round-robin", (0..3).map(at).collect())];
    system.rules.resolves = Resolves::EachRequest;
    system.faults = vec![Fault { at: Time(SECOND), until: None, subject: Subject::Site(1), trouble: Trouble::Down }];
    let report =
        run_plan(&Scenario { workload: open("constant(100 ms)"), system }, 1, Span(301 * SECOND), Span(SECOND))
            .unwrap();
    assert!((value(&report, "error_ratio") - 1.0 / 3.0).abs() < 0.01, "{}", value(&report, "error_ratio"));
}

/// What is not there yet is refused by name.
#[test]
fn what_is_not_there_yet_is_refused() {
    let plain = || cluster("exponential(rate = 1 /s)", "random", 2, EXPONENTIAL);
    let fault = |trouble| Fault { at: Time(0), until: None, subject: Subject::Host(0), trouble };
    type Change<'a> = &'a dyn Fn(&mut System);
    let cases: [(&str, Change<'_>); 2] = [
        ("fault of this kind", &|system| system.faults = vec![fault(Trouble::Loss(0.1))]),
        ("hedge ([client]) and choose", &|system| {
            system.rules.hedge = Some(sojourn_model::system::Hedge::Quantile(0.95));
            system.tiers[0].face = sojourn_model::system::Face::Client;
        }),
    ];
    for (needle, change) in cases {
        let mut scenario = plain();
        change(&mut scenario.system);
        let message = simulate(&scenario, &Control::default()).unwrap_err().to_string();
        assert!(message.contains("not there yet") && message.contains(needle), "{needle}: {message}");
    }
}

/// Whatever a plain system is like, the routed fabric gives the direct one's numbers to the last bit.
#[test]
fn routed_is_direct_on_plain_systems() {
    let mut stream = Stream::new(1, "systems", "test");
    let policies = [
        "round-robin",
        "random",
        "least-connections",
        "round-trip(window = 1 s)",
        "transmitted-size(window = 1 s)",
        "power-of-d(d = 2)",
        "cookie",
        "address-hash",
    ];
    let disciplines = [
        "discipline = \"fcfs\"\ncores = 2\n",
        "discipline = \"ps\"\n",
        "discipline = \"limited-ps\"\nhelpers = 3\nlimits = { jobs = 6 }\n",
        "discipline = \"lcfs\"\npreemptive = true\n",
    ];
    for case in 0..60 {
        let mut draw = |among: usize| stream.below(among);
        let server = format!("{}demand = \"exponential(mean = 1 s) + 100 us/B\"", disciplines[draw(4)]);
        let count = 1 + draw(5);
        let mut scenario = match draw(5) {
            0 => queue("exponential(rate = 0.5 /s)", &server),
            1 => Scenario {
                workload: closed(7, "exponential(mean = 1 s)"),
                ..cluster("constant(1 s)", "random", count, &server)
            },
            _ => cluster(&format!("exponential(rate = {} /s)", 0.6 * count as f64), policies[draw(8)], count, &server),
        };
        if let Some(tier) = scenario.system.tiers.first_mut() {
            tier.dispatchers = 1 + draw(3) as u32;
            tier.polled = [None, Some(Span(SECOND / 3))][draw(2)];
            tier.weights = [Vec::new(), (1..=count).map(|weight| weight as f64).collect()][draw(2)].clone();
        }
        let network = &mut scenario.system.network;
        network.rtt = [Span::ZERO, Span(30_000_001)][draw(2)];
        network.server_rtt = [Span::ZERO, Span(2_000_000)][draw(2)];
        network.client_rate = [None, Some(1e6)][draw(2)];
        network.cluster_rate = [None, Some(1e5)][draw(2)];
        for host in &mut scenario.system.hosts {
            host.server.speed = [1.0, 1.0, 2.5][draw(3)];
        }
        let patience = [None, Some(Law::exponential(2.0))][draw(2)].clone();
        match &mut scenario.workload {
            Workload::Open(Open { clients, patience: of, .. }) => (*clients, *of) = (1 + draw(50) as u32, patience),
            Workload::Closed(Closed { patience: of, .. }) => *of = patience,
            _ => {}
        }
        let control = |always_routed| Control {
            seed: case,
            warm_up: WarmUp::Fixed(Span(SECOND)),
            horizon: Some(Span(200 * SECOND)),
            precision: None,
            replications: 2,
            always_routed,
            ..Control::default()
        };
        let [direct, routed] = [false, true].map(|routed| simulate(&scenario, &control(routed)).unwrap());
        assert_eq!(direct, routed, "case {case}: {:?}", scenario.system.tiers);
    }
}
