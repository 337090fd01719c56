//! Users who browse, against what is computed by hand: every instant of one user, and what holds exactly for many.

use std::sync::Arc;

use sojourn_model::system::{Affinity, Attachment, Face, Tier, Told};
use sojourn_model::{Balancing, ClusterNetwork, Mode, Server, System, Tcp};
use sojourn_sim::{Control, Precision, Progress, Report, SimError, WarmUp};
use sojourn_stats::{Estimate, Law, Span, Stream};
use sojourn_traffic::{Arrivals, Http, SessionList, Sessions, Site, SiteLaw, Workload};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// A page of 1 kB that shows files of 2, 3 and 1 kB.
const PAGE: &str = "path,kind,class,bytes,requests,embedded\n/p,base,static,1000,1,/a /b /c\n\
                    /a,embedded,static,2000,,\n/b,embedded,static,3000,,\n/c,embedded,static,1000,,\n";
/// A page of 1 kB that shows a file of 2 kB.
const PAIR: &str = "path,kind,class,bytes,requests,embedded\n/p,base,static,1000,1,/a\n/a,embedded,static,2000,,\n";
/// Every file takes 5 ms.
const FIVE_MS: &str = "discipline = \"delay-curve\"\n[[delay]]\nup_to = 1\nseconds = [0.005]";

/// Users who browse, and the servers that they meet.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) sessions: Sessions,
    pub(crate) servers: Vec<Server>,
    pub(crate) network: ClusterNetwork,
    /// What is in front of the servers; none: one server, and no policy.
    pub(crate) tier: Tier,
    pub(crate) has_tier: bool,
}

impl Cluster {
    pub(crate) fn system(&self) -> System {
        let network = self.network;
        match self.has_tier {
            true => System { network, ..System::balanced(self.tier.clone(), self.servers.clone()) },
            false => {
                let mut system = System { network, ..System::balanced(self.tier.clone(), self.servers.clone()) };
                system.tiers.clear();
                system
            }
        }
    }
}

pub(crate) fn run_sessions(
    cluster: &Cluster,
    control: &Control,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, SimError> {
    sojourn_sim::run(&cluster.system(), &Workload::Sessions(cluster.sessions.clone()), control, progress)
}

fn run_sessions_plan(cluster: &Cluster, seed: u64, end: Span, warm_up: Span) -> Result<Report, SimError> {
    let control = Control { seed, horizon: Some(end), warm_up: WarmUp::Fixed(warm_up), ..Control::default() };
    sojourn_sim::run_plan(&cluster.system(), &Workload::Sessions(cluster.sessions.clone()), &control)
}

/// Users who think for 1 s and whose sessions are `pages` long, at servers 10 ms away over links of 8 Mbit/s: 1 kB
/// takes 1 ms. Two connections; windows that never wait.
pub(crate) fn cluster(site: &str, users: u32, pages: f64, server: &str) -> Cluster {
    let server = Server::from_toml(server).unwrap();
    Cluster {
        sessions: Sessions {
            users,
            site: Arc::new(Site::parse(site.as_bytes(), "site").unwrap()),
            think: Law::constant(1.0),
            length: Law::constant(pages),
            locality: None,
            active_off: None,
            parallel: 2,
            http: Http::V11 { keep_alive: Span(15 * SECOND) },
            patience: None,
            time_scale: 1.0,
            written: None,
        },
        servers: vec![server],
        tier: Tier::new(Face::Gateway, "random"),
        has_tier: false,
        network: ClusterNetwork {
            rtt: Span(10 * MS),
            server_rtt: Span::ZERO,
            client_rate: Some(8e6),
            cluster_rate: Some(100e6),
            backbone_rate: None,
            server_rate: None,
            tcp: Tcp { segment: 1000, initial_window: 64, acks_per_segment: 1.0, ..Tcp::default() },
        },
    }
}

pub(crate) fn behind(mut cluster: Cluster, policy: &str, servers: usize, affinity: Affinity) -> Cluster {
    (cluster.has_tier, cluster.tier.policy) = (true, policy.into());
    cluster.servers = vec![cluster.servers[0].clone(); servers];
    cluster.tier.affinity = affinity;
    cluster.tier.attachment =
        if affinity == Affinity::Session { Attachment::Session } else { Attachment::WhileConnected };
    cluster
}

/// Two replications, measured from the first second, when the first request can come, up to `end`.
pub(crate) fn simulate(cluster: &Cluster, end: Span) -> Report {
    let control = Control {
        warm_up: WarmUp::Fixed(Span(SECOND)),
        horizon: Some(end),
        precision: None,
        replications: 2,
        ..Control::default()
    };
    run_sessions(cluster, &control, &|_| {}).unwrap()
}

pub(crate) fn value(report: &Report, metric: &str) -> f64 {
    let measure = report.measures.iter().find(|measure| measure.metric == metric);
    measure.unwrap_or_else(|| panic!("no {metric}")).estimate.value().unwrap_or_else(|| panic!("no value of {metric}"))
}

fn assert_is(report: &Report, metric: &str, exact: f64) {
    let value = value(report, metric);
    assert!((value - exact).abs() < 1e-9 * exact.abs().max(1e-3), "{metric} is {value}, by hand {exact}");
}

/// HTTP/1.1. First page of a session: set-up 10, request 5, server 5, 1 kB 1, back 5: 26 ms. Then `a` over the open
/// connection (5 + 5 + 2 + 5: here at 43) and `b` over a new one (15 + 5 + 3 + 5: at 54); `c` after `a` (16: at 59).
/// The second page finds both open: 16 ms; `a` and `b` flow together from 26 on, 4 and 5 ms: at 35 and 36; `c` after
/// `a`: at
/// 51. Then the connections close.
#[test]
fn persistent_connections_by_hand() {
    let cycle_s = 2.110;
    let report = simulate(&cluster(PAGE, 1, 2.0, FIVE_MS), Span(212 * SECOND));
    assert_eq!(report.jobs, 400);
    assert_is(&report, "response_time_mean", (0.059 + 0.051) / 2.0);
    assert_is(&report, "page_response_time_mean", (0.026 + 0.016) / 2.0);
    assert_is(&report, "file_response_time_mean", (26.0 + 17.0 + 28.0 + 16.0 + 16.0 + 19.0 + 20.0 + 16.0) / 8000.0);
    assert_is(&report, "throughput", 2.0 / cycle_s);
    assert_is(&report, "file_throughput", 8.0 / cycle_s);
    assert_is(&report, "byte_throughput", 14_000.0 / cycle_s);
    // Open from half a round trip after the asking until the session ends, 1.11 s after its first asking.
    assert_is(&report, "attached_mean", (1.110 - 0.005) / cycle_s);
    assert_is(&report, "connections_mean", (1.110 - 0.005 + 1.110 - 0.031) / cycle_s);
    let share = |of: &[(u32, f64)], number| of.iter().find(|(at, _)| *at == number).map_or(0.0, |(_, share)| *share);
    assert!((share(&report.connections, 2) - 1.079 / cycle_s).abs() < 1e-12, "{:?}", report.connections);
    assert!((share(&report.attached, 1) - 1.105 / cycle_s).abs() < 1e-12, "{:?}", report.attached);
    assert_is(&report, "quality_high", 1.0);
    assert_is(&report, "denied_ratio", 0.0);
    let (_, values) = report.replications_values.iter().find(|(metric, _)| metric == "response_time_mean").unwrap();
    assert_eq!(values.len(), 2);
}

/// HTTP/1.0: every file is 10 ms further away. `a` and `b` flow together from 46 on: 4 and 5 ms; `c` after `a`.
#[test]
fn a_connection_per_file_by_hand() {
    let mut one = cluster(PAGE, 1, 2.0, FIVE_MS);
    one.sessions.http = Http::V10;
    let of = |cluster: &Cluster| value(&simulate(cluster, Span(200 * SECOND)), "response_time_mean");
    let by_hand = |cluster: &Cluster, ms: f64, label: &str| {
        let time_s = of(cluster);
        assert!((time_s - ms / 1e3).abs() < 1e-11, "{label}: {time_s} s, by hand {ms} ms");
    };
    by_hand(&one, 81.0, "no balancer");
    // Windows of 1, 2, ...: `a` and `b` stall for one round trip.
    let mut slow = one.clone();
    slow.network.tcp.initial_window = 1;
    by_hand(&slow, 91.0, "slow start");
    for affinity in [Affinity::Session, Affinity::Connection, Affinity::Request] {
        let mut gateway = behind(one.clone(), "round-robin", 1, affinity);
        gateway.tier.balancing.per_packet = Span(MS);
        // Set-up 12, request 6, server 5, flow, back 6: 30; `a` at 63; `c` at 93.
        by_hand(&gateway, 93.0, "gateway");
        gateway.tier.balancing.per_connection = Span(2 * MS);
        by_hand(&gateway, 99.0, "gateway, work per connection");
        let mut switch = gateway.clone();
        (switch.tier.balancing.per_connection, switch.tier.balancing.mode) = (Span::ZERO, Mode::MacForwarding);
        // Replies and their set-ups bypass it: 11 + 6 + 5 + 1 + 5 = 28; `a` at 59; `c` at 87.
        by_hand(&switch, 87.0, "switch");
        switch.tier.balancing.mode = Mode::SingleRewriting;
        by_hand(&switch, 87.0, "single rewriting");
        // 20 B more at 100 Mbit/s, for a set-up and a request on each of three connections in a row: 6 x 1.6 us.
        switch.tier.balancing.mode = Mode::IpTunnelling;
        by_hand(&switch, 87.0096, "tunnel");
    }
}

/// A station in place of the curve, and a processor that two files share.
#[test]
fn a_station_by_hand() {
    let one = cluster(PAGE, 1, 2.0, "discipline = \"ps\"\ndemand = \"5 ms\"");
    let report = simulate(&one, Span(212 * SECOND));
    // The second page's `a` and `b` come together: 10 ms each instead of 5, and then as before.
    let cycle_s = 2.115;
    assert!((value(&report, "response_time_mean") - (0.059 + 0.056) / 2.0).abs() < 1e-4);
    assert!((value(&report, "utilization") - 8.0 * 0.005 / cycle_s).abs() < 1e-4);
}

/// An idle connection closes after 15 s: each object of a session needs a new one, and the user stays attached.
#[test]
fn idle_connections_close() {
    let mut one = cluster("path,kind,class,bytes,requests,embedded\n/p,loner,static,1000,1,\n", 1, 1e6, FIVE_MS);
    one.sessions.think = Law::constant(20.0);
    let control = |end_s: f64| Control {
        warm_up: WarmUp::Fixed(Span(20 * SECOND)),
        horizon: Some(Span::from_secs_f64(end_s)),
        precision: None,
        replications: 2,
        ..Control::default()
    };
    let cycle_s = 20.026;
    let report = run_sessions(&one, &control(20.0 + 50.0 * cycle_s), &|_| {}).unwrap();
    assert_is(&report, "response_time_mean", 0.026);
    assert_is(&report, "connections_mean", (15.026 - 0.005) / cycle_s);
    assert_is(&report, "attached_mean", (50.0 * cycle_s - 0.005) / (50.0 * cycle_s));
    // Scaled in time by 2, the connection is gone after 7.5 s of 10 s.
    one.sessions.time_scale = 2.0;
    let cycle_s = 10.026;
    let report = run_sessions(&one, &control(20.052 + 50.0 * cycle_s), &|_| {}).unwrap();
    assert!((value(&report, "connections_mean") - 7.521 / cycle_s).abs() < 0.02);
    // Kept for longer than a think time it is open all along.
    one.sessions.http = Http::V11 { keep_alive: Span(60 * SECOND) };
    let report = run_sessions(&one, &control(20.052 + 50.0 * cycle_s), &|_| {}).unwrap();
    assert_is(&report, "response_time_mean", 0.016);
    assert_is(&report, "connections_mean", 1.0);
}

/// What a choice is made for decides where files come from.
#[test]
fn choices_are_made_at_their_level() {
    let share = |affinity, http, pages| {
        let mut two = behind(cluster(PAIR, 1, pages, FIVE_MS), "round-robin", 2, affinity);
        two.sessions.http = http;
        let report = simulate(&two, Span(400 * SECOND));
        (value(&report, "share_1"), value(&report, "byte_share_1"))
    };
    let near = |(one, two): (f64, f64), objects: f64, bytes: f64| {
        assert!((one - objects).abs() < 0.01 && (two - bytes).abs() < 0.01, "{one} and {two}");
    };
    let v11 = Http::V11 { keep_alive: Span(15 * SECOND) };
    // Requests take turns: the page from one, what it shows from the other.
    near(share(Affinity::Request, v11, 1.0), 1.0, 1.0 / 3.0);
    near(share(Affinity::Request, Http::V10, 3.0), 1.0, 1.0 / 3.0);
    // Connections do: one for a whole session of HTTP/1.1, as it needs but one; one for each file of HTTP/1.0.
    near(share(Affinity::Connection, v11, 1.0), 0.5, 0.5);
    near(share(Affinity::Connection, v11, 1e6), 1.0, 1.0);
    near(share(Affinity::Connection, Http::V10, 1.0), 1.0, 1.0 / 3.0);
    // Sessions do.
    near(share(Affinity::Session, v11, 3.0), 0.5, 0.5);
    near(share(Affinity::Session, Http::V10, 3.0), 0.5, 0.5);
}

/// After each object that is denied the user waits for the penalty, too.
#[test]
fn denials_lengthen_thinking() {
    let server = format!("{FIVE_MS}\n[denied]\nabove = 0\nshare = [1.0]\npenalty = \"7 s\"");
    let one = cluster("path,kind,class,bytes,requests,embedded\n/p,loner,static,1000,1,\n", 1, 1e6, &server);
    let cycle_s = 8.016;
    let report = simulate(&one, Span::from_secs_f64(1.01 + 50.0 * cycle_s));
    assert_is(&report, "denied_ratio", 1.0);
    assert_is(&report, "throughput", 50.0 / (0.01 + 50.0 * cycle_s));
    // A user who has left is not there to be denied: sessions of one page.
    let one = cluster("path,kind,class,bytes,requests,embedded\n/p,loner,static,1000,1,\n", 1, 1.0, &server);
    assert_is(&simulate(&one, Span(100 * SECOND)), "denied_ratio", 0.0);
}

/// N = X (R + Z), the interactive response time law: every user is thinking or waiting, and what is counted at the ends
/// is at most one object of each.
#[test]
fn every_user_thinks_or_waits() {
    let users = 60;
    let many = cluster(PAGE, users, 3.0, "discipline = \"ps\"\ndemand = \"exponential(mean = 4 ms)\"");
    for affinity in [Affinity::Session, Affinity::Connection, Affinity::Request] {
        let many = behind(many.clone(), "least-connections", 3, affinity);
        let report = simulate(&many, Span(301 * SECOND));
        let (x, r) = (value(&report, "throughput"), value(&report, "response_time_mean"));
        let law = x * (r + 1.0);
        let hair = f64::from(users) / 300.0 * (r + 1.0) * 2.0;
        assert!((law - f64::from(users)).abs() < hair && hair < 1.5, "{affinity:?}: {law} users, {users} in truth");
        assert!((value(&report, "file_throughput") / x - 4.0).abs() < 0.05);
    }
}

/// One core that rewrites 10,000 packets a second: behind NAT a file of 10 segments is 1 + 10 + 10 packets, so 476
/// files a second are the most; a balancer that replies bypass sees only 1 + 10 x 0.5 of them, and is not the
/// bottleneck.
#[test]
fn a_nat_balancer_saturates_where_its_packets_say() {
    let site = "path,kind,class,bytes,requests,embedded\n/p,loner,static,10000,1,\n";
    let mut many = behind(cluster(site, 700, 1e6, FIVE_MS), "round-robin", 4, Affinity::Session);
    many.sessions.think = Law::exponential(1.0);
    (many.network.client_rate, many.network.cluster_rate) = (None, None);
    many.tier.balancing = Balancing { per_packet: Span(MS / 10), cores: Some(1), ..Balancing::free(Mode::Nat) };
    let throughput = |cluster: &Cluster| value(&simulate(cluster, Span(61 * SECOND)), "throughput");
    let nat = throughput(&many);
    assert!((nat / (1e4 / 21.0) - 1.0).abs() < 0.01, "{nat}");
    many.network.tcp.acks_per_segment = 0.5;
    let delayed = throughput(&many);
    assert!((delayed / (1e4 / 16.0) - 1.0).abs() < 0.01, "{delayed}");
    many.tier.balancing.mode = Mode::MacForwarding;
    let bypassed = throughput(&many);
    assert!(bypassed > 650.0 && bypassed < 700.0, "{bypassed}");
    // A delay is never a bottleneck.
    many.tier.balancing = Balancing { mode: Mode::Nat, cores: None, ..many.tier.balancing };
    assert!(throughput(&many) > 650.0);
}

/// A hub of 10 Mbit/s carries 10 Mbit/s, and no more.
#[test]
fn a_shared_link_caps_throughput() {
    let site = "path,kind,class,bytes,requests,embedded\n/p,loner,static,12500,1,\n";
    let mut many = behind(cluster(site, 300, 5.0, FIVE_MS), "random", 4, Affinity::Session);
    many.sessions.think = Law::exponential(1.0);
    many.network.cluster_rate = Some(10e6);
    let throughput = value(&simulate(&many, Span(101 * SECOND)), "byte_throughput");
    assert!((throughput / 1.25e6 - 1.0).abs() < 0.01, "{throughput}");
    // Each server's own link likewise: four of 5 Mbit/s.
    (many.network.cluster_rate, many.network.server_rate) = (Some(100e6), Some(5e6));
    many.tier.policy = "round-robin".into();
    let throughput = value(&simulate(&many, Span(101 * SECOND)), "byte_throughput");
    assert!(throughput < 2.5e6 * 1.001 && throughput > 2.2e6, "{throughput}");
}

/// A full station refuses files; the object ends, and the user goes on.
#[test]
fn a_full_station_refuses() {
    let server = "discipline = \"fcfs\"\ndemand = \"200 ms\"\nlimits = { jobs = 2 }";
    for affinity in [Affinity::Session, Affinity::Connection, Affinity::Request] {
        let report = simulate(&behind(cluster(PAIR, 30, 4.0, server), "random", 2, affinity), Span(201 * SECOND));
        assert!(value(&report, "denied_ratio") > 0.3, "{affinity:?}: {:?}", report.measures);
        // What gets in waits for at most one other: both files within 0.4 s and their ways.
        assert!(value(&report, "response_time_p99") < 0.85, "{affinity:?}");
        assert!(value(&report, "utilization") > 0.8);
    }
}

#[test]
fn every_policy_runs_at_every_level_and_the_books_balance() {
    let many = cluster(PAGE, 80, 3.0, "discipline = \"ps\"\ndemand = \"exponential(mean = 3 ms)\"");
    for policy in ["round-robin", "random", "least-connections", "round-trip", "transmitted-size", "address-hash"] {
        for affinity in [Affinity::Session, Affinity::Connection, Affinity::Request] {
            for polled in [None, Some(Span(SECOND))] {
                let mut many = behind(many.clone(), policy, 4, affinity);
                many.tier.polled = polled;
                many.tier.poll_cost = Span(MS / 10);
                let report = simulate(&many, Span(21 * SECOND));
                let shares: f64 = (1..=4).map(|k| value(&report, &format!("share_{k}"))).sum();
                assert!((shares - 1.0).abs() < 1e-9 && value(&report, "throughput") > 60.0, "{policy}, {affinity:?}");
            }
        }
    }
    // A switch that is told what only a simulator can tell.
    let mut switch = behind(many, "round-trip", 4, Affinity::Session);
    switch.tier.face = Face::Switch;
    let refused = run_sessions(&switch, &Control { horizon: Some(Span(SECOND)), ..Control::default() }, &|_| {});
    assert!(refused.unwrap_err().to_string().contains("first byte"));
    switch.tier.told = vec![Told::ClientFirstByte];
    switch.tier.balancing.mode = Mode::MacForwarding;
    assert!(value(&simulate(&switch, Span(21 * SECOND)), "throughput") > 60.0);
}

/// Counts that are 8 s old make a herd of sessions.
#[test]
fn stale_counts_make_a_herd() {
    let mut many = behind(cluster(PAGE, 300, 3.0, FIVE_MS), "least-connections", 4, Affinity::Session);
    many.sessions.think = Law::exponential(1.0);
    let fresh = value(&simulate(&many, Span(101 * SECOND)), "attached_imbalance_index");
    many.tier.polled = Some(Span(8 * SECOND));
    let stale = value(&simulate(&many, Span(101 * SECOND)), "attached_imbalance_index");
    assert!(fresh < 1.1 && stale > 1.5, "{fresh} fresh, {stale} stale");
}

#[test]
fn threads_and_precision_change_no_numbers() {
    let server = "discipline = \"ps\"\ndemand = \"exponential(mean = 3 ms)\"";
    let many = behind(cluster(PAGE, 40, 3.0, server), "random", 2, Affinity::Connection);
    let control = |threads, seed| Control {
        seed,
        threads,
        horizon: Some(Span(20 * SECOND)),
        precision: Some(Precision { relative: 0.01, confidence: 0.95 }),
        replications: 3,
        ..Control::default()
    };
    let [one, four] = [1, 4].map(|threads| run_sessions(&many, &control(threads, 1), &|_| {}).unwrap());
    assert_eq!(one, four);
    assert!(one.converged && one.replications > 3, "{one:?}");
    assert_ne!(one, run_sessions(&many, &control(1, 2), &|_| {}).unwrap());
}

/// The run that live ran: one run, with intervals from its own course.
#[test]
fn the_plan_of_a_seed_is_one_run() {
    let server = "discipline = \"ps\"\ndemand = \"exponential(mean = 3 ms)\"";
    let many = behind(cluster(PAGE, 100, 3.0, server), "round-robin", 4, Affinity::Request);
    let report = run_sessions_plan(&many, 3, Span(60 * SECOND), Span(6 * SECOND)).unwrap();
    assert_eq!(report, run_sessions_plan(&many, 3, Span(60 * SECOND), Span(6 * SECOND)).unwrap());
    for metric in ["response_time_mean", "response_time_p90", "page_response_time_mean", "file_response_time_p90"] {
        let measure = report.measures.iter().find(|measure| measure.metric == metric).unwrap();
        assert!(matches!(measure.estimate, Estimate::Sampled { .. }), "{measure:?}");
    }
    // What was under way at the end has ended: none is left out.
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!((report.replications, report.replications_values.len()), (1, 0));
}

#[test]
fn clusters_that_make_no_sense_are_refused() {
    let one = || cluster(PAGE, 1, 2.0, FIVE_MS);
    let horizon = Some(Span(10 * SECOND));
    let refused = |cluster: Cluster, control: Control, needle: &str| {
        let message = run_sessions(&cluster, &control, &|_| {}).unwrap_err().to_string();
        assert!(message.contains(needle) && !message.contains('\n'), "{message:?} does not say {needle:?}");
    };
    let control = || Control { horizon, ..Control::default() };
    refused(one(), Control::default(), "duration");
    refused(one(), Control { warm_up: WarmUp::Fixed(Span(10 * SECOND)), ..control() }, "warm-up");
    let mut fault = behind(one(), "random", 2, Affinity::Session);
    fault.has_tier = false;
    refused(fault, control(), "policy");
    refused(behind(one(), "rondom", 2, Affinity::Session), control(), "random");
    let mut fault = one();
    fault.network.cluster_rate = Some(-1.0);
    refused(fault, control(), "cluster_rate");
    let mut fault = behind(one(), "random", 2, Affinity::Session);
    fault.tier.poll_cost = Span(1);
    refused(fault, control(), "poll_cost");
    let mut fault = behind(one(), "random", 2, Affinity::Session);
    fault.tier.weights = vec![1.0];
    refused(fault, control(), "weight");
    let mut fault = one();
    fault.sessions.users = 0;
    refused(fault, control(), "users");
}

/// Users who are attached count, not their requests: two users wait t(2) for each file, however many they fetch at
/// once.
#[test]
fn a_curve_counts_users() {
    let server = "discipline = \"delay-curve\"\n[[delay]]\nup_to = 9\nseconds = [0, 0.1]";
    let two = cluster(PAGE, 2, 1e6, server);
    let control = Control {
        warm_up: WarmUp::Fixed(Span(5 * SECOND)),
        horizon: Some(Span(105 * SECOND)),
        precision: None,
        replications: 2,
        ..Control::default()
    };
    let report = run_sessions(&two, &control, &|_| {}).unwrap();
    // Connections are open. The page 5 + 200 + 1 + 5; then `a` 5 + 200 + 4 + 5 beside `b`; then `c` 5 + 200 + 1 + 5.
    assert_is(&report, "page_response_time_mean", 0.211);
    assert_is(&report, "response_time_mean", 0.211 + 0.214 + 0.211);
    assert_is(&report, "attached_mean", 2.0);
    // Behind a balancer of sessions two users have a server each.
    let report = run_sessions(&behind(two, "round-robin", 2, Affinity::Session), &control, &|_| {}).unwrap();
    assert_is(&report, "page_response_time_mean", 0.111);
    assert_is(&report, "attached_imbalance_index", 1.0);
}

/// Whatever is asked, the books balance: the assertions are the engine's own. Through tiers of choices that are held, one
/// tier gives the same numbers to the last bit.
#[test]
fn the_books_balance_in_random_clusters() {
    let site = Arc::new(Site::generate(&SiteLaw { dynamic: 0.1, secure: 0.1, ..SiteLaw::surge() }, 1).unwrap());
    let servers = [
        FIVE_MS,
        "discipline = \"ps\"\n[demand]\nstatic = \"1 ms\"\ndynamic = \"20 ms\"\nsecure = \"3 ms + 10 ns/B\"",
        "discipline = \"limited-ps\"\nhelpers = 3\ndemand = \"exponential(mean = 4 ms)\"\nlimits = { jobs = 9 }",
        "discipline = \"delay-curve\"\n[[delay]]\nup_to = 50\nseconds = [0.01, 0.002]\n[denied]\nabove = 5\n\
         share = [0.0, 0.01]\npenalty = \"1 s\"",
    ];
    let policies = ["round-robin", "random", "least-connections", "round-trip", "transmitted-size", "power-of-d"];
    let mut stream = Stream::new(1, "clusters", "test");
    for case in 0..150 {
        let mut draw = |among: usize| stream.below(among);
        let mut many = cluster(PAGE, 1 + draw(60) as u32, 1.0 + draw(5) as f64, servers[draw(4)]);
        let count = 1 + draw(5);
        many = behind(
            many,
            policies[draw(6)],
            count,
            [Affinity::Session, Affinity::Connection, Affinity::Request][draw(3)],
        );
        if draw(2) == 0 {
            many.sessions.site = Arc::clone(&site);
        }
        let mix = Server::from_toml(servers[draw(4)]).unwrap();
        many.servers[draw(count)] = mix;
        many.sessions.think = [Law::constant(0.2), Law::exponential(0.5)][draw(2)].clone();
        many.sessions.parallel = 1 + draw(5) as u32;
        many.sessions.http = [Http::V10, Http::V11 { keep_alive: Span(SECOND / 5) }][draw(2)];
        many.sessions.active_off = [None, Some(Law::exponential(0.1))][draw(2)].clone();
        many.sessions.time_scale = [1.0, 3.0][draw(2)];
        many.sessions.patience = [None, Some(Law::exponential(0.3))][draw(2)].clone();
        let rates = [None, Some(1e6), Some(1e8)];
        many.network.client_rate = rates[draw(3)];
        many.network.cluster_rate = rates[draw(3)];
        many.network.server_rate = rates[draw(3)];
        many.network.rtt = [Span::ZERO, Span(MS), Span(51_234_567)][draw(3)];
        many.network.tcp.initial_window = 1 + draw(10) as u32;
        let mode = [Mode::Nat, Mode::SingleRewriting, Mode::IpTunnelling, Mode::MacForwarding][draw(4)];
        let cores = [None, Some(1), Some(2)][draw(3)];
        let (per_packet, per_connection) = (Span(MS / 5 * draw(2) as u64), Span(MS * draw(2) as u64));
        many.tier.balancing = Balancing { mode, per_packet, per_connection, cores };
        many.tier.polled = [None, Some(Span(SECOND / 3))][draw(2)];
        many.tier.told = [vec![], vec![Told::Bytes, Told::ClientFirstByte]][draw(2)].clone();
        let report = run_sessions_plan(&many, case, Span(8 * SECOND), Span(SECOND)).unwrap();
        let control = Control {
            seed: case,
            horizon: Some(Span(8 * SECOND)),
            warm_up: WarmUp::Fixed(Span(SECOND)),
            always_routed: true,
            ..Control::default()
        };
        let workload = Workload::Sessions(many.sessions.clone());
        assert_eq!(report, sojourn_sim::run_plan(&many.system(), &workload, &control).unwrap(), "case {case}");
        let abandoned = value(&report, "abandoned_ratio");
        assert!(report.jobs > 0 || abandoned > 0.0, "case {case}: {report:?}");
    }
}

/// By hand: the page over a new connection takes 26 ms, `a` over that one 17, `b` over a new one 28 and `c` after `a`
/// 16. Who waits for less gives the object up, and its connections break with it: the next object begins like the
/// first.
#[test]
fn impatient_users_give_up() {
    let mut one = cluster(PAGE, 1, 1e6, FIVE_MS);
    one.sessions.patience = Some(Law::constant(0.020));
    let report = simulate(&one, Span::from_secs_f64(1.0 + 50.0 * 1.020));
    assert_eq!(report.jobs, 0);
    assert_is(&report, "abandoned_ratio", 1.0);
    assert_is(&report, "byte_throughput", 0.0);
    one.sessions.patience = Some(Law::constant(0.027));
    let report = simulate(&one, Span::from_secs_f64(1.0 + 50.0 * 1.053));
    assert_is(&report, "abandoned_ratio", 1.0);
    assert_is(&report, "page_response_time_mean", 0.026);
    // The page and `a`; `b` is there but not yet at its user, and `c` is at the server.
    assert_is(&report, "file_throughput", 2.0 / 1.053);
    assert_is(&report, "byte_throughput", 6000.0 / 1.053);
    // A reply that comes at the last instant counts.
    one.sessions.patience = Some(Law::constant(0.028));
    assert_is(&simulate(&one, Span(60 * SECOND)), "abandoned_ratio", 0.0);
}

/// Users who count until their next session has a server are always somewhere, thinking or not, whatever the level;
/// those who count for their session are there 1.110 - 0.005 of every 2.110 s.
#[test]
fn users_can_stay_attached_between_sessions() {
    for affinity in [Affinity::Session, Affinity::Connection] {
        let mut cluster = behind(cluster(PAGE, 40, 2.0, FIVE_MS), "round-robin", 4, affinity);
        cluster.tier.attachment = Attachment::UntilNext;
        let always = simulate(&cluster, Span(212 * SECOND));
        // Measured from 1 s on; the first are attached 5 ms later.
        assert!((value(&always, "attached_mean") - 10.0).abs() < 0.01, "{affinity:?}");
        cluster.tier.attachment = Attachment::Session;
        let sessions = simulate(&cluster, Span(212 * SECOND));
        assert!((value(&sessions, "attached_mean") / 10.0 - 1.105 / 2.110).abs() < 0.01, "{affinity:?}");
    }
}

/// A quarter of the replies waits 400 ms more; 8 files per 2 pages. The number of 1,600 and more that wait is binomial:
/// 6 standard deviations are 6.5 % of the quarter (false alarm 2e-9).
#[test]
fn replies_wait_for_timeouts() {
    let mut cluster = cluster(PAIR, 10, 1.0, FIVE_MS);
    let without = value(&simulate(&cluster, Span(300 * SECOND)), "file_response_time_mean");
    cluster.network.tcp.timeouts = 0.25;
    cluster.network.tcp.timeout = Span(400 * MS);
    let with = simulate(&cluster, Span(300 * SECOND));
    let files = with.jobs as f64 * 2.0;
    let hair = 6.0 * (0.25 * 0.75 / files).sqrt() * 0.4;
    assert!(hair < 0.02, "{files} files");
    assert!((value(&with, "file_response_time_mean") - without - 0.1).abs() < hair);
}

/// Sessions of one call each are an open queue: Lindley's recursion over their instants, to the nanosecond.
#[test]
fn sessions_that_arrive_are_an_open_queue() {
    let arrivals = Arrivals::parse("exponential(rate = 120 /s)").unwrap();
    let list = SessionList::uniform(1, "/");
    let sessions = Sessions::written(list, 2000, arrivals, Law::constant(0.0), &Law::constant(1e3), 1).unwrap();
    let instants = sessions.written.as_ref().unwrap().instants(2000, 4);
    let (mut free, mut sum) = (0, 0);
    for at in instants.iter() {
        free = free.max(at.0) + 6 * MS;
        sum += free - at.0;
    }
    let mut queue = cluster(PAGE, 1, 1.0, "discipline = \"fcfs\"\ndemand = \"6 ms\"");
    (queue.sessions, queue.network) = (sessions, ClusterNetwork::default());
    let report = run_sessions_plan(&queue, 4, Span(60 * SECOND), Span::ZERO).unwrap();
    assert_is(&report, "response_time_mean", sum as f64 / 2000.0 * 1e-9);
    // No user comes twice.
    let control = Control { horizon: Some(Span(60 * SECOND)), precision: None, replications: 2, ..Control::default() };
    assert_eq!(run_sessions(&queue, &control, &|_| {}).unwrap().jobs, 4000);
}

/// Replications are added until every metric asked for is as sharp as asked, or the limit is reached, which is said.
#[test]
fn users_are_watched_until_all_is_sharp() {
    let server = "discipline = \"ps\"\ndemand = \"exponential(mean = 3 ms)\"\nlimits = { jobs = 4 }";
    let few = cluster(PAGE, 20, 3.0, server);
    let run = |relative: f64, metrics: &[&str]| {
        let control = Control {
            horizon: Some(Span(60 * SECOND)),
            precision: Some(Precision { relative, confidence: 0.95 }),
            metrics: metrics.iter().map(|name| name.to_string()).collect(),
            max_jobs: 400_000,
            replications: 2,
            ..Control::default()
        };
        run_sessions(&few, &control, &|_| {}).unwrap()
    };
    let width = |report: &Report, metric: &str| crate::support::estimate(report, metric).relative_half_width();
    let plain = run(0.1, &[]);
    assert!(plain.converged && width(&plain, "response_time_p99") <= 0.1 && width(&plain, "denied_ratio") > 0.1);
    let asked = run(0.1, &["denied_ratio"]);
    assert!(asked.converged && width(&asked, "denied_ratio") <= 0.1, "{}", width(&asked, "denied_ratio"));
    let spent = run(1e-6, &[]);
    // Those that were refused count against the limit, and have no response time.
    let begun = spent.jobs as f64 / (1.0 - value(&spent, "denied_ratio"));
    assert!(!spent.converged && (390_000.0..=400_000.0).contains(&begun), "{begun}");
    assert!(spent.notes.iter().any(|note| note.contains("limit of 400000 objects")), "{:?}", spent.notes);
}
