//! Users who browse at several tiers: how long each choice is held, and that each end is told once.

use sojourn_model::system::{
    Affinity, Attachment, Face, Fault, Resolver, Seat, Subject, Target, Tier, Told, Trouble, TtlUse,
};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, Report, SimError, WarmUp};
use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::{Http, Sessions, Workload};

use crate::sessions::{cluster, value};

const SECOND: u64 = 1_000_000_000;
/// Every file takes 5 ms.
const FIVE_MS: &str = "discipline = \"delay-curve\"\n[[delay]]\nup_to = 1\nseconds = [0.005]";
/// A page of 1 kB that shows a file of 2 kB.
const PAIR: &str = "path,kind,class,bytes,requests,embedded\n/p,base,static,1000,1,/a\n/a,embedded,static,2000,,\n";

const AFFINITIES: [Affinity; 3] = [Affinity::Session, Affinity::Connection, Affinity::Request];

/// One user with one connection, whose sessions are 3 pages of 2 files.
fn one_user(http: Http) -> Sessions {
    Sessions { parallel: 1, http, ..cluster(PAIR, 1, 3.0, FIVE_MS).sessions }
}

fn kept() -> Http {
    Http::V11 { keep_alive: Span(15 * SECOND) }
}

fn servers(count: usize, server: &str) -> System {
    let server = Server::from_toml(server).unwrap();
    let mut system = System::balanced(Tier::new(Face::Gateway, "random"), vec![server; count]);
    system.network = cluster(PAIR, 1, 1.0, FIVE_MS).network;
    system.tiers.clear();
    system
}

fn tier(face: Face, policy: &str, affinity: Affinity, seats: Vec<Seat>) -> Tier {
    let attachment = if affinity == Affinity::Session { Attachment::Session } else { Attachment::WhileConnected };
    Tier { seats, affinity, attachment, ..Tier::new(face, policy) }
}

fn hosts(hosts: impl IntoIterator<Item = usize>) -> Seat {
    Seat { targets: hosts.into_iter().map(Target::Host).collect(), ..Seat::default() }
}

/// Over all `seats` of the second tier.
fn over(seats: usize) -> Vec<Seat> {
    let targets = (0..seats).map(|seat| Target::Seat { tier: 1, seat }).collect();
    vec![Seat { targets, ..Seat::default() }]
}

fn simulate(system: &System, sessions: Sessions) -> Result<Report, SimError> {
    let control = Control {
        warm_up: WarmUp::Fixed(Span(SECOND)),
        horizon: Some(Span(301 * SECOND)),
        precision: None,
        replications: 2,
        ..Control::default()
    };
    sojourn_sim::run(system, &Workload::Sessions(sessions), &control, &|_| {})
}

/// A rotation over two gateways with a server each. Where every file has a choice of its own, the pages come from the
/// first server and what they show, twice as long, from the second; where a session has one, each has half.
#[test]
fn a_choice_is_held_for_what_its_tier_says() {
    for (affinity, http, exact) in [
        (Affinity::Session, Http::V10, 1.0 / 2.0),
        (Affinity::Session, kept(), 1.0 / 2.0),
        (Affinity::Connection, Http::V10, 1.0 / 3.0),
        (Affinity::Connection, kept(), 1.0 / 2.0),
        (Affinity::Request, Http::V10, 1.0 / 3.0),
        (Affinity::Request, kept(), 1.0 / 3.0),
    ] {
        for inner in AFFINITIES.into_iter().skip_while(|inner| *inner != affinity) {
            let mut system = servers(2, FIVE_MS);
            system.tiers = vec![
                tier(Face::Gateway, "round-robin", affinity, over(2)),
                tier(Face::Gateway, "random", inner, vec![hosts([0]), hosts([1])]),
            ];
            let share = value(&simulate(&system, one_user(http)).unwrap(), "byte_share_1");
            assert!((share - exact).abs() < 0.01, "{affinity:?} over {inner:?}, {http:?}: {share}");
        }
    }
}

/// The first of those with the fewest in flight is always the first: a single user's earlier choices have all ended when the
/// next is made. An end that is not told, or told twice, sends some of them elsewhere.
#[test]
fn each_end_is_told_once() {
    let policy = "least-connections-lowest-id";
    for (outer, affinity) in AFFINITIES.into_iter().enumerate() {
        for inner in &AFFINITIES[outer..] {
            for http in [Http::V10, kept()] {
                for patience in [None, Some(Law::constant(0.030))] {
                    let mut system = servers(4, FIVE_MS);
                    system.tiers = vec![
                        tier(Face::Gateway, policy, affinity, over(2)),
                        tier(Face::Gateway, policy, *inner, vec![hosts(0..2), hosts(2..4)]),
                    ];
                    let sessions = Sessions { patience, ..one_user(http) };
                    let report = simulate(&system, sessions).unwrap();
                    assert!(value(&report, "byte_share_1") == 1.0, "{affinity:?} over {inner:?}, {http:?}: {report:?}");
                }
            }
        }
    }
}

/// A DNS rotates over two gateways. Its answer is asked for when a connection opens: without a TTL files alternate, and
/// an answer that is held for ever makes a user stay. A resolver holds one for all of its users.
#[test]
fn a_name_is_held_until_its_ttl_ends() {
    let share = |ttl: Span, resolver: Option<TtlUse>| {
        let mut system = servers(2, FIVE_MS);
        system.tiers = vec![
            Tier { ttl, ..tier(Face::Dns, "round-robin", Affinity::Request, over(2)) },
            tier(Face::Gateway, "random", Affinity::Request, vec![hosts([0]), hosts([1])]),
        ];
        system.resolvers =
            resolver.into_iter().map(|ttl| Resolver { name: "isp".into(), region: 0, share: 1.0, ttl }).collect();
        value(&simulate(&system, one_user(Http::V10)).unwrap(), "byte_share_1")
    };
    assert!((share(Span::ZERO, None) - 1.0 / 3.0).abs() < 0.01);
    assert_eq!(share(Span(1000 * SECOND), None), 1.0);
    // A page takes a little more than a second: after 10 s the other gateway is named.
    assert!((share(Span(10 * SECOND), None) - 0.5).abs() < 0.05);
    assert_eq!(share(Span::ZERO, Some(TtlUse::AtLeast(Span(1000 * SECOND)))), 1.0);
}

/// Whatever the tiers are, the books balance: the assertions are the engine's own.
#[test]
fn the_books_balance_behind_random_tiers() {
    let disciplines = [
        FIVE_MS,
        "discipline = \"ps\"\ndemand = \"exponential(mean = 4 ms)\"",
        "discipline = \"limited-ps\"\nhelpers = 3\ndemand = \"exponential(mean = 9 ms)\"\nlimits = { jobs = 4 }",
    ];
    let policies = ["round-robin", "random", "least-connections", "round-trip", "transmitted-size", "power-of-d"];
    let mut stream = Stream::new(1, "tiers", "test");
    for case in 0..60 {
        let mut draw = |among: usize| stream.below(among);
        let (outer, seats) = (draw(3), 1 + draw(3));
        let inner = outer + draw(3 - outer);
        let mut system = servers(2 * seats, disciplines[draw(3)]);
        let pairs = (0..seats).map(|seat| hosts(2 * seat..2 * seat + 2)).collect();
        let front = match draw(3) {
            0 => Tier { ttl: Span(SECOND / 2), ..tier(Face::Dns, policies[draw(2)], Affinity::Request, over(seats)) },
            _ => tier(Face::Gateway, policies[draw(6)], AFFINITIES[outer], over(seats)),
        };
        system.tiers = vec![front, tier(Face::Gateway, policies[draw(6)], AFFINITIES[inner], pairs)];
        for tier in system.tiers.iter_mut().filter(|tier| tier.face == Face::Gateway) {
            tier.polled = [None, Some(Span(SECOND / 3))][draw(2)];
        }
        let users = cluster(PAIR, 1 + draw(60) as u32, 1.0 + draw(4) as f64, FIVE_MS).sessions;
        let sessions = Sessions {
            think: Law::exponential(0.3),
            http: [Http::V10, Http::V11 { keep_alive: Span(SECOND / 5) }][draw(2)],
            patience: [None, Some(Law::exponential(0.3))][draw(2)].clone(),
            ..users
        };
        let control = Control { seed: case, horizon: Some(Span(8 * SECOND)), ..Control::default() };
        let report = sojourn_sim::run_plan(&system, &Workload::Sessions(sessions), &control).unwrap();
        assert!(report.jobs > 0, "case {case}: {:?}", system.tiers);
    }
}

/// What cannot be combined yet is refused by name, before anything runs.
#[test]
fn what_users_who_browse_cannot_have_yet_is_refused() {
    let two = || {
        let mut system = servers(2, FIVE_MS);
        system.tiers = vec![
            tier(Face::Gateway, "round-robin", Affinity::Connection, over(2)),
            tier(Face::Gateway, "round-robin", Affinity::Connection, vec![hosts([0]), hosts([1])]),
        ];
        system
    };
    assert!(simulate(&two(), one_user(kept())).is_ok());
    type Change<'a> = &'a dyn Fn(&mut System);
    let fault = Fault { at: Time(0), until: None, subject: Subject::Host(0), trouble: Trouble::Down };
    let cases: [(&str, Change<'_>); 10] = [
        ("round trip between balancer and servers", &|system| system.network.server_rtt = Span(1)),
        ("redirect", &|system| system.tiers[1].face = Face::Redirect),
        ("face `client`", &|system| system.tiers[0].face = Face::Client),
        ("DNS behind another tier", &|system| system.tiers[1].face = Face::Dns),
        ("servers that forward", &|system| system.tiers[1].seats[0].host = Some(0)),
        ("faults", &|system| system.faults = vec![fault]),
        ("regions and paths", &|system| system.regions.push(system.regions[0].clone())),
        ("work of balancers", &|system| system.tiers[1].balancing.per_packet = Span(1)),
        ("held longer", &|system| system.tiers[0].affinity = Affinity::Request),
        ("first bytes", &|system| {
            system.tiers.iter_mut().for_each(|tier| tier.policy = "round-trip".into());
            system.tiers[1].told = vec![Told::ClientFirstByte];
        }),
    ];
    for (needle, change) in cases {
        let mut system = two();
        change(&mut system);
        let message = simulate(&system, one_user(kept())).unwrap_err().to_string();
        assert!(message.starts_with("not there yet") && message.contains(needle), "{needle}: {message}");
    }
}
