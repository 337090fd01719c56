//! Limits of servers, and what becomes of requests beyond them: refused, or passed on to another site.
//!
//! A server that takes one request after the other, with a limit of K, is M/M/1/K; with a lower mark it is a chain of a few
//! states. Sites with one place each that are asked in order are Erlang's: of what the first k of them cannot take, his
//! formula B(k) is the share (Erlang, Solution of some problems in the theory of probabilities, 1917).

use sojourn_model::system::{
    Clients, Directions, Face, Fault, Limit, Line, Overflow, Path, Paths, Region, Resolves, Seat, Site, Subject,
    Target, Tier, Trouble,
};
use sojourn_model::{LossModel, Server, System};
use sojourn_sim::Report;
use sojourn_stats::{Estimate, Law, Span, Time};

use crate::support::{Scenario, cluster, covers, estimate, open, run, run_plan};

const EXPONENTIAL: &str = "discipline = \"ps\"\ndemand = \"exponential(mean = 1 s)\"";

fn limit(connections: u32, returns: u32) -> Option<Limit> {
    Some(Limit { connections, returns })
}

/// The share that is refused of Poisson arrivals at rate `a` to a server of rate 1 that is full with `most` and takes again
/// with `returns`: the chain of (number inside, taking or not), by balance across each cut. While it does not take, its
/// number falls from `most` to `returns` one by one, with the same flow through each of these states.
fn refused_share(a: f64, most: u32, returns: u32) -> f64 {
    let mut taking = vec![1.0];
    // The flow down through the states that do not take; it enters taking at `returns`. Found so that the flow up into `most`
    // is the same.
    let shape = |flow: f64| {
        let mut p = vec![1.0];
        for inside in 1..most {
            // Up from inside - 1 to inside is down from inside, and besides, above the lower mark, down not taking.
            let down = if inside > returns { flow } else { 0.0 };
            p.push(a * p[inside as usize - 1] - down);
        }
        p
    };
    // The last state that takes gives all its flow up: a * p[most - 1] = flow. Linear in the flow.
    let (at_0, at_1) = (shape(0.0), shape(1.0));
    let slope = a * (at_1[most as usize - 1] - at_0[most as usize - 1]) - 1.0;
    let flow = -a * at_0[most as usize - 1] / slope;
    taking.clone_from(&shape(flow));
    // Full states: most down to returns + 1, each left at rate 1.
    let full = flow * f64::from(most - returns);
    full / (taking.iter().sum::<f64>() + full)
}

#[test]
fn a_server_with_a_limit_is_the_chain_that_is_known() {
    // By hand: M/M/1/1 refuses a / (1 + a), M/M/1/K (1 - a) a^K / (1 - a^(K+1)).
    assert!((refused_share(1.5, 1, 0) - 0.6).abs() < 1e-12);
    assert!((refused_share(1.5, 4, 3) - 0.5 * 1.5_f64.powi(4) / (1.5_f64.powi(5) - 1.0)).abs() < 1e-12);
    for (most, returns) in [(1, 0), (4, 3), (4, 1), (10, 7)] {
        let mut scenario = cluster("exponential(rate = 1.5 /s)", "round-robin", 1, EXPONENTIAL);
        scenario.tier().limit = limit(most, returns);
        let report = run(&scenario, 1_000_000);
        let refused = refused_share(1.5, most, returns);
        let label = format!("{most} and {returns}");
        covers(&report, "error_ratio", refused, 0.05, &label);
        covers(&report, "throughput", 1.5 * (1.0 - refused), 0.05, &label);
    }
}

/// Regions `a`, `b`, ... with a site and a server at each, all asked of the first one; a site that is full asks another.
fn sites(count: usize, server: &str, rtt_ms: fn(usize, usize) -> f64) -> System {
    let server = Server::from_toml(server).unwrap();
    let mut system = System::balanced(Tier::new(Face::Switch, "round-robin"), vec![server; count]);
    system.regions = (0..count).map(|at| Region { name: format!("r{at}"), addresses: None }).collect();
    system.sites = (0..count).map(|at| Site { name: format!("c{at}"), region: at }).collect();
    (0..count).for_each(|host| system.hosts[host].site = Some(host));
    let at = |site: usize| Seat {
        site: Some(site),
        targets: vec![Target::Host(site)],
        overflow: (0..count).filter(|other| *other != site).collect(),
        ..Seat::default()
    };
    let first = Seat { targets: vec![Target::Seat { tier: 1, seat: 0 }], ..Seat::default() };
    let front = Tier {
        seats: (0..count).map(at).collect(),
        limit: limit(1, 0),
        overflow: Some(Overflow::default()),
        ..Tier::new(Face::Switch, "round-robin")
    };
    system.tiers = vec![Tier { seats: vec![first], ..Tier::new(Face::Dns, "round-robin") }, front];
    system.rules.resolves = Resolves::EachRequest;
    system.clients = vec![Clients::alone(0, 1)];
    let path = |rtt_ms: f64| Path {
        rtt: Law::constant(rtt_ms * 1e-3),
        loss: Directions::default(),
        loss_correlation: 0.0,
        loss_model: LossModel::GilbertElliott,
        rate: Directions::default(),
        medium: None,
        line: Line::default(),
    };
    system.paths = Paths::new(count, |a, b| Ok::<_, ()>(path(rtt_ms(a, b)))).unwrap();
    system
}

fn value(report: &Report, metric: &str) -> f64 {
    estimate(report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// Erlang's B for offered load `a` and so many places.
fn erlang_b(a: f64, places: u32) -> f64 {
    (1..=places).fold(1.0, |b, k| a * b / (f64::from(k) + a * b))
}

#[test]
fn sites_that_overflow_lose_what_erlang_says() {
    for (count, without, a) in [(2, false, 1.5), (2, true, 1.5), (3, false, 2.0)] {
        let mut system = sites(count, EXPONENTIAL, |_, _| 0.0);
        if without {
            system.tiers[1].overflow = None;
            system.tiers[1].seats.iter_mut().for_each(|seat| seat.overflow.clear());
        }
        let report = run(&Scenario { workload: open(&format!("exponential(rate = {a} /s)")), system }, 400_000);
        // Two others share what the first cannot take: the one with fewer gets it, so both are one group of two.
        let lost = if without { erlang_b(a, 1) } else { erlang_b(a, count as u32) };
        covers(&report, "error_ratio", lost, 0.05, &format!("{count} sites"));
        let first = (1.0 - erlang_b(a, 1)) / (1.0 - lost);
        // What is sent to the first server, of all that is sent to servers.
        covers(&report, "share_1", first, 0.05, &format!("{count} sites"));
    }
}

/// No more than its own limit of them is sent to another site, whatever room that one has.
#[test]
fn overflow_has_a_limit_of_its_own() {
    let mut system = sites(2, EXPONENTIAL, |_, _| 0.0);
    system.tiers[1].limit = limit(3, 2);
    system.tiers[1].overflow = Some(Overflow { limit: limit(1, 0) });
    system.hosts[0].server.speed = 1e-6;
    let report = run_plan(
        &Scenario { workload: open("exponential(rate = 1.5 /s)"), system },
        1,
        Span(900_000_000_000),
        Span(100_000_000_000),
    );
    // The first server is full for the whole run, so the second is M/M/1/1 with 1.5: busy for 0.6 of the time. Its mean over
    // 800 s has a standard deviation of about 0.02; five of them are a false alarm in two millions.
    let busy = value(&report.unwrap(), "throughput");
    assert!((busy - 0.6).abs() < 0.1, "{busy} /s");
}

/// The way from site to site is one half of their round trip; the reply does not take it.
#[test]
fn a_tunnel_costs_the_way_to_the_other_site() {
    let rtt_ms = |a: usize, b: usize| [[20.0, 160.0], [160.0, 20.0]][a][b];
    let system = sites(2, "discipline = \"ps\"\ndemand = \"1 s\"", rtt_ms);
    // One every 600 ms: those of even number find the first server free again, the others full.
    let scenario = Scenario { workload: open("constant(0.6 s)"), system };
    let times = sojourn_sim::response_times(&scenario.system, &scenario.workload, 1, Span(30_000_000_000)).unwrap();
    assert!(times.len() > 40);
    for (number, time) in times.iter().take(40).enumerate() {
        // Client to first site, first site to second, second site to client.
        let due = if number % 2 == 0 { 1.0 + 0.020 } else { 1.0 + 0.010 + 0.080 + 0.080 };
        assert!((time - due).abs() < 1e-6, "request {number} took {time} s, due {due} s");
    }
}

/// At 1.5 of the capacity: those that are admitted wait at most twice as long as at 0.9 (their 95th percentile), and at least
/// 0.9 of the capacity is served. Without a limit the queue grows for as long as the run lasts. Both ends of intervals of
/// confidence 1 - 1e-8, so a false alarm comes once in ten million runs.
#[test]
fn overload_with_a_limit_is_served_as_below_it() {
    const SERVER: &str = "discipline = \"ps\"\ndemand = \"exponential(mean = 10 ms)\"";
    let at = |load: f64, with: Option<Limit>| {
        let arrivals = format!("exponential(rate = {} /s)", 200.0 * load);
        let mut scenario = cluster(&arrivals, "least-connections", 2, SERVER);
        scenario.tier().limit = with;
        scenario
    };
    let ends = |report: &Report, metric: &str| match estimate(report, metric) {
        Estimate::Sampled { ci_low, ci_high, .. } => (*ci_low, *ci_high),
        other => panic!("{metric} is {other:?}"),
    };
    let below = run(&at(0.9, None), 400_000);
    let above = run(&at(1.5, limit(10, 7)), 400_000);
    let (least, _) = ends(&below, "response_time_p95");
    let (_, most) = ends(&above, "response_time_p95");
    assert!(most <= 2.0 * least, "p95 {most} s at 1.5, {least} s at 0.9");
    let (goodput, _) = ends(&above, "throughput");
    assert!(goodput >= 0.9 * 200.0, "{goodput} /s of a capacity of 200 /s");
    let minute = Span(60_000_000_000);
    let without = run_plan(&at(1.5, None), 1, minute, Span::ZERO).unwrap();
    assert!(value(&without, "response_time_p95") > 10.0 * least, "a minute at 1.5 without a limit");
}

/// What passes requests on for a site is down with that site, and with no other: the second site, full each second time, goes on
/// passing requests on to the third while the first is down.
#[test]
fn a_site_that_is_down_takes_its_own_overflow_with_it_and_no_other() {
    let mut system = sites(3, "discipline = \"fcfs\"\ndemand = \"150 ms\"", |_, _| 0.0);
    system.tiers[0].seats[0].targets = vec![Target::Seat { tier: 1, seat: 1 }];
    system.tiers[1].seats[1].overflow = vec![2];
    let failed = |site, from_ms, until_ms: Option<u64>| {
        let time = |ms| sojourn_stats::Time(ms * 1_000_000);
        let faults = vec![sojourn_model::system::Fault {
            at: time(from_ms),
            until: until_ms.map(time),
            subject: sojourn_model::system::Subject::Site(site),
            trouble: sojourn_model::system::Trouble::Down,
        }];
        let scenario = Scenario { workload: open("constant(100 ms)"), system: System { faults, ..system.clone() } };
        let report = run_plan(&scenario, 1, Span(60_000_000_000), Span::ZERO).unwrap();
        (value(&report, "error_ratio"), report)
    };
    let (none, report) = failed(0, 50, None);
    assert_eq!(none, 0.0);
    assert!((value(&report, "share_3") - 0.5).abs() < 0.01, "{}", value(&report, "share_3"));
    assert_eq!(failed(1, 50, None).0, 1.0);
    // Each second request finds the second site full, and nothing behind it.
    assert!((failed(2, 50, None).0 - 0.5).abs() < 0.01, "{}", failed(2, 50, None).0);
    // Of what passes the second site, one request is at its server, and one at that of the third.
    let lost = |site| (failed(site, 20_020, Some(20_030)).0 * 599.0).round();
    assert_eq!([lost(0), lost(1), lost(2)], [0.0, 2.0, 1.0]);
}

/// Where requests wait for the first of four servers with one place each that has room, they are one queue: M/M/4, whose waiting
/// time is Erlang's (formula C), under every rule that passes a full server over.
#[test]
fn what_waits_for_the_first_server_with_room_is_one_queue() {
    let (a, c) = (2.8_f64, 4.0);
    let terms = [1.0, a, a.powi(2) / 2.0, a.powi(3) / 6.0];
    let all_busy = a.powi(4) / 24.0 * c / (c - a);
    let waiting = all_busy / (terms.iter().sum::<f64>() + all_busy) / (c - a);
    for policy in
        ["haproxy(2.6, roundrobin)", "haproxy(2.6, leastconn)", "haproxy(2.6, first)", "round-robin", "random"]
    {
        let mut scenario = cluster("exponential(rate = 2.8 /s)", policy, 4, EXPONENTIAL);
        (scenario.tier().limit, scenario.tier().waits) = (limit(1, 0), true);
        let report = run(&scenario, 1_000_000);
        covers(&report, "response_time_mean", 1.0 + waiting, 0.05, policy);
        covers(&report, "waiting_time_mean", waiting, 0.15, policy);
        assert_eq!(estimate(&report, "error_ratio").value(), Some(0.0), "{policy}: none is refused");
    }
    // A draw that falls to a full server waits, although others may have room.
    let mut scenario = cluster("exponential(rate = 2.8 /s)", "haproxy(2.6, random(1))", 4, EXPONENTIAL);
    (scenario.tier().limit, scenario.tier().waits) = (limit(1, 0), true);
    let drawn = estimate(&run(&scenario, 1_000_000), "response_time_mean").interval().unwrap();
    assert!(drawn.0 > 1.1 * (1.0 + waiting), "{drawn:?}");
}

/// Waiting sheds no load: more than all servers can do never settles. With an end, those whose clients go away leave the queue.
#[test]
fn what_waits_is_not_shed() {
    let mut scenario = cluster("exponential(rate = 4.4 /s)", "haproxy(2.6, leastconn)", 4, EXPONENTIAL);
    (scenario.tier().limit, scenario.tier().waits) = (limit(2, 1), true);
    let error = crate::support::simulate(&scenario, &crate::support::control(100_000)).unwrap_err();
    assert!(error.to_string().contains("utilization 1.100 is not below 1"), "{error}");
    scenario.system.rules.timeout = Some(Span(5_000_000_000));
    let report = run_plan(&scenario, 1, Span(2_000_000_000_000), Span(100_000_000_000)).unwrap();
    let failed = estimate(&report, "error_ratio").value().unwrap();
    // What is served at most is 4 of 4.4; a server that has begun with a request ends it all the same.
    assert!((0.09..0.5).contains(&failed), "{failed}");
    let longest = estimate(&report, "response_time_p99").value().unwrap();
    assert!(longest <= 5.0 + 1e-9, "{longest}");
}

/// What waits when its gateway goes down is lost with it, and what waits for servers that all go down is refused.
#[test]
fn what_waits_is_lost_with_its_gateway_or_its_servers() {
    for subject in [Subject::Tier(0), Subject::Host(0)] {
        let mut scenario =
            cluster("exponential(rate = 1 /s)", "round-robin", 1, "discipline = \"ps\"\ndemand = \"100 s\"");
        (scenario.tier().limit, scenario.tier().waits) = (limit(1, 0), true);
        let (at, until) = (Time(50_000_000_000), Some(Time(90_000_000_000)));
        scenario.system.faults = vec![Fault { at, until, subject, trouble: Trouble::Down }];
        let report = run_plan(&scenario, 1, Span(100_000_000_000), Span(0)).unwrap();
        // Of some 100 requests those of the last 10 s remain, of which one is served after the other.
        let failed = estimate(&report, "error_ratio").value().unwrap();
        assert!((0.8..0.97).contains(&failed), "{subject:?}: {failed}");
    }
}

/// Limits of their own: of two servers that share their core among those inside, the one with one place never has two.
#[test]
fn limits_may_differ_from_server_to_server() {
    let constant = "discipline = \"ps\"\ndemand = \"1 s\"";
    // Three come at once, every 10 s: two at the first, which take 2 s, and one at the second.
    let mut scenario = cluster("constant(rate = 0.1 /s)", "haproxy(2.6, roundrobin)", 2, constant);
    scenario.workload = open("batches(n = 3, every = 10 s)");
    (scenario.tier().limit, scenario.tier().limits, scenario.tier().waits) = (limit(2, 1), vec![2, 1], true);
    let report = run_plan(&scenario, 1, Span(1_000_000_000_000), Span(0)).unwrap();
    let shares = [1, 2].map(|server| estimate(&report, &format!("share_{server}")).value().unwrap());
    assert!((shares[0] - 2.0 / 3.0).abs() < 1e-9, "{shares:?}");
    let mean = estimate(&report, "response_time_mean").value().unwrap();
    assert!((mean - 5.0 / 3.0).abs() < 1e-6, "{mean}");
}
