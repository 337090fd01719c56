//! An experiment's system: which formula, which rows, and which words where there is none.

use sojourn_model::{Demand, Discipline, Server};
use sojourn_stats::{Dimension, Estimate, Law};
use sojourn_theory::formula::general::ekm1;
use sojourn_theory::formula::markovian::finite_fcfs::FiniteFcfs;
use sojourn_theory::formula::markovian::{mmc, repairman};
use sojourn_theory::law::Moments;
use sojourn_theory::{Answer, ArrivalKind, System, Unanswered, system};

use crate::{agree, printed};

fn server(discipline: Discipline, cores: u32, speed: f64) -> Server {
    let demand = vec![(String::new(), Demand::parse("1 s").unwrap())];
    Server { discipline, cores, speed, demand, capacity: None, drops_overflow: false, machine: None }
}

fn law(text: &str) -> Law {
    Law::parse(text, Dimension::Time).unwrap()
}

/// A system under test: 1 s of mean demand, of which the rest is set.
struct Case {
    gaps: Law,
    servers: Vec<Server>,
    demand: Moments,
    policy: Option<&'static str>,
}

impl Case {
    fn new(gaps: &str, servers: &[Server], demand: Moments, policy: Option<&'static str>) -> Case {
        Case { gaps: law(gaps), servers: servers.to_vec(), demand, policy }
    }

    fn system(&self) -> System<'_> {
        System {
            arrivals: ArrivalKind::Open { gaps: &self.gaps },
            servers: &self.servers,
            demand_mean_s: self.demand.mean_s,
            demand_variance_s2: self.demand.scv * self.demand.mean_s.powi(2),
            demand_is_exponential: self.demand.is_exponential(),
            demand_is_constant: self.demand.scv == 0.0,
            demand_law: None,
            policy: self.policy,
            dispatchers: 1,
            weights: &[],
            has_immediate_information: true,
            has_links: false,
            path_s: 0.0,
            patience: None,
        }
    }

    fn answer(&self) -> Result<Answer, Unanswered> {
        system::answer(&self.system())
    }
}

fn value(answer: &Answer, metric: &str) -> f64 {
    answer.estimate(metric).and_then(Estimate::value).unwrap_or_else(|| panic!("no {metric}: {answer:?}"))
}

fn is_exact(answer: &Answer, metric: &str) -> bool {
    matches!(answer.estimate(metric), Some(Estimate::Exact { .. }))
}

const EXPONENTIAL: fn() -> Moments = || Moments::exponential(1.0);
const SPREAD: fn() -> Moments = || Moments::general(1.0, 4.0);

#[test]
fn systems_that_are_answered() {
    use Discipline::{Fcfs, LimitedPs, Ps};
    let poisson = |rate: f64| format!("exponential(rate = {rate} /s)");
    let four = |discipline| vec![server(discipline, 1, 1.0); 4];
    let limited = LimitedPs { helpers: 8 };
    for (gaps, servers, demand, policy, exact, metric, wanted) in [
        // One server: the policy does not matter.
        (poisson(0.8), vec![server(Fcfs, 1, 1.0)], EXPONENTIAL(), None, true, "response_time_mean", "5"),
        (poisson(0.8), vec![server(Fcfs, 1, 1.0)], SPREAD(), Some("round-trip"), true, "response_time_mean", "11"),
        (poisson(1.6), vec![server(Fcfs, 1, 2.0)], EXPONENTIAL(), None, true, "response_time_mean", "2.5"),
        (poisson(9.0), vec![server(Fcfs, 10, 1.0)], EXPONENTIAL(), None, true, "response_time_p99", "6.2499"),
        (poisson(0.8), vec![server(limited.clone(), 1, 1.0)], SPREAD(), None, false, "response_time_mean", "6.258"),
        // Random: four queues of their own, exact by splitting.
        (poisson(3.2), four(Fcfs), EXPONENTIAL(), Some("random"), true, "response_time_mean", "5"),
        (poisson(3.6), four(Fcfs), EXPONENTIAL(), Some("random"), true, "response_time_p99.9", "69.078"),
        (poisson(3.2), four(Fcfs), SPREAD(), Some("random"), true, "waiting_time_mean", "10"),
        (poisson(3.2), four(Fcfs), Moments::constant(1.0), Some("random"), true, "waiting_time_mean", "2"),
        (poisson(3.2), four(Ps), SPREAD(), Some("random"), true, "response_time_mean", "5"),
        (poisson(3.2), four(Ps), Moments::general(1.0, f64::INFINITY), Some("random"), true, "response_time_mean", "5"),
        (poisson(3.2), four(limited.clone()), SPREAD(), Some("random"), false, "response_time_mean", "6.258"),
        (poisson(3.2), four(Ps), SPREAD(), Some("random"), true, "share_4", "0.25"),
        (poisson(3.2), four(Ps), SPREAD(), Some("random"), true, "utilization", "0.8"),
        // Round robin: E_N/M/1.
        (
            poisson(1.6),
            vec![server(Fcfs, 1, 1.0); 2],
            EXPONENTIAL(),
            Some("round-robin"),
            true,
            "response_time_mean",
            "3.843980",
        ),
        (
            poisson(1.6),
            vec![server(Ps, 1, 1.0); 2],
            EXPONENTIAL(),
            Some("round-robin"),
            true,
            "response_time_mean",
            "3.843980",
        ),
        (
            poisson(1.6),
            vec![server(limited, 1, 1.0); 2],
            EXPONENTIAL(),
            Some("round-robin"),
            true,
            "response_time_mean",
            "3.843980",
        ),
        ("0.3125 s".into(), four(Fcfs), EXPONENTIAL(), Some("round-robin"), true, "response_time_mean", "2.692731"),
    ] {
        let case = Case::new(&gaps, &servers, demand, policy);
        let answer = case.answer().unwrap_or_else(|why| panic!("{policy:?} {servers:?}: {why}"));
        printed(value(&answer, metric), wanted);
        assert_eq!(is_exact(&answer, metric), exact, "{policy:?} {metric}");
        let number = value(&answer, "throughput") * value(&answer, "response_time_mean");
        agree(value(&answer, "number_in_system_mean"), number, 1e-12);
        assert!(answer.notes.iter().any(|note| note.starts_with("formula: ")));
    }
}

#[test]
fn round_robin_beyond_exponential_service_is_labelled_and_lies_where_it_must() {
    let answer = |discipline, demand| {
        let servers = vec![server(discipline, 1, 1.0); 4];
        Case::new("exponential(rate = 3.2 /s)", &servers, demand, Some("round-robin")).answer().unwrap()
    };
    let fcfs = answer(Discipline::Fcfs, SPREAD());
    let shared = answer(Discipline::Ps, SPREAD());
    let limited = answer(Discipline::LimitedPs { helpers: 4 }, SPREAD());
    let mean = |answer: &Answer| value(answer, "response_time_mean");
    assert!([&fcfs, &shared, &limited].iter().all(|answer| !is_exact(answer, "response_time_mean")));
    // The exact values are 9.2410 (FCFS), 6.3122 (K = 4) and 4.11 (PS), all below random's.
    assert!((9.2..11.0).contains(&mean(&fcfs)) && (6.2..8.1).contains(&mean(&limited)));
    assert!((4.0..5.0).contains(&mean(&shared)));
    assert!(
        limited.notes.iter().any(|note| note.contains("up to 9 % high with hyperexponential")),
        "{:?}",
        limited.notes
    );
    assert!(limited.notes.iter().any(|note| note.contains("Poisson arrivals: no (C2 = 0.25)")));
    assert!(limited.notes.iter().any(|note| note.starts_with("waiting_time_mean: no formula")));
    let exponential = answer(Discipline::Ps, EXPONENTIAL());
    agree(mean(&exponential), ekm1::response_time_mean(4, 0.8, 1.0), 1e-12);
}

#[test]
fn servers_of_different_speed_are_a_mixture() {
    let servers =
        [server(Discipline::Fcfs, 1, 1.0), server(Discipline::Fcfs, 1, 2.0), server(Discipline::Fcfs, 4, 0.5)];
    let answer = Case::new("exponential(rate = 2.4 /s)", &servers, EXPONENTIAL(), Some("random")).answer().unwrap();
    let slow = mmc::response_time_mean(4, 0.8, 2.0);
    agree(value(&answer, "response_time_mean"), (5.0 + 1.0 / 1.2 + slow) / 3.0, 1e-12);
    agree(value(&answer, "utilization"), (0.8 + 0.4 + 0.4) / 3.0, 1e-12);
    agree(value(&answer, "service_time_mean"), (1.0 + 0.5 + 2.0) / 3.0, 1e-12);
    let p99 = value(&answer, "response_time_p99");
    let tail = (-p99 / 5.0).exp() + (-1.2 * p99).exp() + mmc::response_time_tail(p99, 4, 0.8, 2.0);
    agree(tail / 3.0, 0.01, 1e-12);
    let why = Case::new("exponential(rate = 3.3 /s)", &servers, EXPONENTIAL(), Some("random")).answer().unwrap_err();
    assert!(
        why.to_string().contains("utilization 1.1 of a server is not below 1")
            && why.to_string().contains("below 3 /s"),
        "{why}"
    );
}

#[test]
fn other_policies_have_totals_and_a_reason() {
    let servers = vec![server(Discipline::Ps, 2, 1.0); 4];
    for policy in ["least-connections", "probabilistic-least-connections", "round-trip", "transmitted-size"] {
        let answer = Case::new("exponential(rate = 5.6 /s)", &servers, SPREAD(), Some(policy)).answer().unwrap();
        assert!(answer.estimate("response_time_mean").is_none());
        let reason = if policy == "least-connections" {
            " (join the shortest queue is solved for exponential work)"
        } else {
            ""
        };
        let line = format!("response_time_mean: no formula for {policy} over 4 servers{reason}: sim answers this");
        assert_eq!(answer.notes[0], line);
        agree(value(&answer, "utilization"), 0.7, 1e-12);
        agree(value(&answer, "throughput"), 5.6, 1e-12);
        assert_eq!(value(&answer, "share_4"), 0.25);
        assert!(answer.estimate("share_5").is_none());
    }
    let many = vec![server(Discipline::Ps, 1, 1.0); 17];
    let answer = Case::new("exponential(rate = 1 /s)", &many, SPREAD(), Some("random")).answer().unwrap();
    assert!(answer.estimate("share_1").is_none());
}

/// The two cases of counting that are solved, and the first assumption that is missing wherever they are not.
#[test]
fn policies_that_count_are_answered_where_they_are_solved() {
    let fcfs = |count: usize| vec![server(Discipline::Fcfs, 1, 1.0); count];
    let ask = |gaps: &str, servers: &[Server], demand: Moments, policy| {
        Case::new(gaps, servers, demand, Some(policy)).answer().unwrap()
    };
    let poisson = "exponential(rate = 1 /s)";
    let shortest = ask(poisson, &fcfs(2), EXPONENTIAL(), "least-connections(ties = first)");
    printed(value(&shortest, "response_time_mean"), "1.426321");
    printed(value(&shortest, "waiting_time_mean"), ".426321");
    assert!(is_exact(&shortest, "response_time_mean"));
    agree(value(&shortest, "number_in_system_mean"), value(&shortest, "response_time_mean"), 1e-12);
    let many = ask("exponential(rate = 90 /s)", &fcfs(100), EXPONENTIAL(), "power-of-d(d = 3)");
    printed(value(&many, "response_time_mean"), "2.027856");
    assert!(!is_exact(&many, "response_time_mean"));

    let two_cores = vec![server(Discipline::Ps, 2, 1.0); 2];
    for (gaps, servers, demand, missing) in [
        ("erlang(k = 2, rate = 1 /s)", fcfs(2), EXPONENTIAL(), "Poisson arrivals"),
        (poisson, fcfs(2), SPREAD(), "exponential work"),
        (poisson, two_cores, EXPONENTIAL(), "one core"),
    ] {
        let answer = ask(gaps, &servers, demand, "least-connections");
        assert!(
            answer.estimate("response_time_mean").is_none() && answer.estimate("throughput").is_some(),
            "{missing}"
        );
        assert!(answer.notes[0].contains(missing), "{:?}", answer.notes);
    }
    let case = Case::new(poisson, &fcfs(2), EXPONENTIAL(), Some("least-connections"));
    for (system, missing) in [
        (System { has_immediate_information: false, ..case.system() }, "up to date"),
        (System { dispatchers: 2, ..case.system() }, "one dispatcher"),
        (System { has_links: true, ..case.system() }, "links"),
        (System { dispatchers: 3, policy: Some("round-robin"), ..case.system() }, "3 dispatchers that take turns"),
    ] {
        let answer = system::answer(&system).unwrap();
        assert!(answer.estimate("response_time_mean").is_none() && answer.notes[0].contains(missing), "{answer:?}");
    }
    let few = ask("exponential(rate = 3 /s)", &fcfs(4), EXPONENTIAL(), "power-of-d");
    // Between four queues of which the shortest is joined, and four apart.
    assert!(few.notes[0].contains("very many") && few.notes[0].contains(" and 4 s,"), "{:?}", few.notes);
    // Very many queues of which the shortest is joined are between bounds that are far from each other.
    let many = ask("exponential(rate = 38 /s)", &fcfs(40), EXPONENTIAL(), "least-connections");
    assert!(many.notes[0].contains("is known between 1."), "{:?}", many.notes);
    // Four are exact as far as the documentation says, and not much farther.
    let of_four = |utilisation: f64| {
        let gaps = format!("exponential(rate = {} /s)", 4.0 * utilisation);
        ask(&gaps, &fcfs(4), EXPONENTIAL(), "least-connections").estimate("response_time_mean").cloned()
    };
    let (exact, near) = (of_four(0.85), of_four(0.86));
    assert!(matches!(exact, Some(Estimate::Exact { .. })), "{exact:?}");
    assert!(matches!(near, Some(Estimate::Approximate { .. })), "{near:?}");
    // The mean service is an end that is exact, and both ends have one unit.
    let thousand = ask("exponential(rate = 800 /s)", &fcfs(1000), EXPONENTIAL(), "least-connections");
    assert!(thousand.notes[0].contains("is known between 1 s and 5 s only"), "{:?}", thousand.notes);
    assert!(many.estimate("response_time_mean").is_none() && many.estimate("throughput").is_some());
}

/// Ties that go to the first server leave the mean as it is, and the shares not equal.
#[test]
fn shares_are_told_only_where_ties_have_no_favourite() {
    let two = vec![server(Discipline::Fcfs, 1, 1.0); 2];
    let ask = |policy| Case::new("exponential(rate = 1 /s)", &two, EXPONENTIAL(), Some(policy)).answer().unwrap();
    for (policy, is_told) in [
        ("least-connections", true),
        ("least-connections(ties = oldest)", true),
        ("weighted-least-connections", true),
        ("power-of-d(d = 2)", true),
        ("least-connections(ties = first)", false),
        ("least-connections-lowest-id", false),
        ("weighted-least-connections(ties = first)", false),
    ] {
        let answer = ask(policy);
        printed(value(&answer, "response_time_mean"), "1.426321");
        assert!(is_exact(&answer, "response_time_mean"), "{policy}");
        assert_eq!(answer.estimate("share_1").is_some(), is_told, "{policy}");
    }
}

/// Policies with weights that are equal are the policies without.
#[test]
fn equal_weights_are_no_weights() {
    let servers = vec![server(Discipline::Ps, 1, 1.0); 4];
    let measures = |policy, weights: &[f64]| {
        let case = Case::new("exponential(rate = 3.2 /s)", &servers, SPREAD(), Some(policy));
        system::answer(&System { weights, ..case.system() }).unwrap().measures
    };
    for (weighted, plain) in [
        ("weighted", "random"),
        ("weighted(by = weight)", "random"),
        ("power-of-d(d = 1)", "random"),
        ("weighted-round-robin", "round-robin"),
        ("weighted-round-robin-classic", "round-robin"),
        ("weighted-least-connections", "least-connections"),
    ] {
        for weights in [&[][..], &[2.5; 4]] {
            assert_eq!(measures(weighted, weights), measures(plain, &[]), "{weighted} {weights:?}");
        }
        // Those that read none are not changed by any.
        assert_eq!(measures(plain, &[1.0, 2.0, 3.0, 4.0]), measures(plain, &[]), "{plain}");
    }
    let by_room = Case::new("exponential(rate = 1 /s)", &servers, SPREAD(), Some("weighted(by = free-capacity)"));
    assert!(by_room.answer().unwrap_err().to_string().contains("no formula for weighted over 4 servers"));
}

/// Drawn in proportion to weights, each server is an M/M/1 of its own.
#[test]
fn weights_thin_a_poisson_stream() {
    let servers = vec![server(Discipline::Fcfs, 1, 1.0); 3];
    let ask = |rate: &str, policy, weights: &[f64]| {
        let case = Case::new(rate, &servers, EXPONENTIAL(), Some(policy));
        system::answer(&System { weights, ..case.system() })
    };
    let answer = ask("exponential(rate = 1.2 /s)", "weighted", &[3.0, 1.0, 0.0]).unwrap();
    let mean = 0.75 / (1.0 - 0.9) + 0.25 / (1.0 - 0.3);
    for (metric, wanted) in [
        ("response_time_mean", mean),
        ("waiting_time_mean", mean - 1.0),
        ("number_in_system_mean", 1.2 * mean),
        ("throughput", 1.2),
        ("utilization", 0.4),
        ("share_1", 0.75),
        ("share_2", 0.25),
        ("share_3", 0.0),
    ] {
        agree(value(&answer, metric), wanted, 1e-12);
        assert!(is_exact(&answer, metric), "{metric}");
    }
    let p99 = value(&answer, "response_time_p99");
    agree(0.75 * (-0.1 * p99).exp() + 0.25 * (-0.7 * p99).exp(), 0.01, 1e-9);
    assert!(answer.notes[0].starts_with("weighted over 3 servers: 2 separate queues"), "{:?}", answer.notes);
    // A room of one: of what comes at 0.9/s is 0.9/1.9 lost, of 0.3/s 0.3/1.3.
    let rooms = vec![Server { capacity: Some(1), ..servers[0].clone() }; 2];
    let case = Case::new("exponential(rate = 1.2 /s)", &rooms, EXPONENTIAL(), Some("weighted"));
    let lost = system::answer(&System { weights: &[3.0, 1.0], ..case.system() }).unwrap();
    agree(value(&lost, "error_ratio"), 0.75 * 0.9 / 1.9 + 0.25 * 0.3 / 1.3, 1e-12);
    // One server is too busy, although all together are not.
    let why = ask("exponential(rate = 1.4 /s)", "weighted", &[3.0, 1.0, 0.0]).unwrap_err().to_string();
    assert!(why.contains("utilization 1.05 of a server") && why.contains("stable below 1.3333 /s"), "{why}");
    // Turns among those with a weight, as long as these are equal.
    let turns = ask("exponential(rate = 1.2 /s)", "weighted-round-robin", &[2.0, 0.0, 2.0]).unwrap();
    agree(value(&turns, "response_time_mean"), ekm1::response_time_mean(2, 0.6, 1.0), 1e-12);
    assert_eq!((value(&turns, "share_1"), value(&turns, "share_2")), (0.5, 0.0));
    let why = ask("exponential(rate = 1.2 /s)", "weighted-round-robin", &[2.0, 1.0, 1.0]).unwrap_err().to_string();
    assert!(why.contains("no formula for weighted-round-robin over 3 servers with weights that differ"), "{why}");
    let why = ask("exponential(rate = 1.2 /s)", "weighted-least-connections", &[2.0, 1.0, 1.0]).unwrap_err();
    assert!(why.to_string().contains("no formula for weighted-least-connections"), "{why}");
}

/// A number of servers has the tail rho^((d^i - 1)/(d - 1)) inside each; two are drawn where no number is written.
#[test]
fn power_of_d_draws_as_many_as_are_written_and_else_two() {
    let many = vec![server(Discipline::Fcfs, 1, 1.0); 100];
    let ask = |policy, rate: &str| {
        let answer = Case::new(rate, &many, EXPONENTIAL(), Some(policy)).answer().unwrap();
        answer.estimate("response_time_mean").and_then(Estimate::value)
    };
    let mean = |d: f64, rho: f64| (1..9).map(|i| rho.powf((d.powi(i) - d) / (d - 1.0))).sum::<f64>();
    for (policy, wanted) in [
        ("power-of-d", mean(2.0, 0.9)),
        ("power-of-d()", mean(2.0, 0.9)),
        ("power-of-d(d = 2)", mean(2.0, 0.9)),
        ("power-of-d( d=5 )", mean(5.0, 0.9)),
        ("power-of-d(d = 1)", 10.0),
    ] {
        agree(ask(policy, "exponential(rate = 90 /s)").unwrap(), wanted, 1e-12);
    }
    // Near its limit up to 0.99 of what they can do.
    assert!(ask("power-of-d", "exponential(rate = 98.9 /s)").is_some());
    assert_eq!(ask("power-of-d", "exponential(rate = 99.1 /s)"), None);
}

/// Two servers that are as good as equal share their quantiles with one of them at half of the rate, where only quantiles are
/// known too; that the queues are separate is said, and of one alone it is not.
#[test]
fn equal_servers_have_the_quantiles_of_each() {
    let limited = |speed: f64| server(Discipline::LimitedPs { helpers: 4 }, 1, speed);
    let constant = || Moments::general(1.0, 0.0);
    let pair = [limited(1.0), limited(1.0 + 1e-9)];
    let both = Case::new("exponential(rate = 1.4 /s)", &pair, constant(), Some("random")).answer().unwrap();
    let one = Case::new("exponential(rate = 0.7 /s)", &pair[..1], constant(), None).answer().unwrap();
    for metric in ["response_time_p50", "response_time_p90", "response_time_p99"] {
        agree(value(&both, metric), value(&one, metric), 1e-3);
        assert!(!is_exact(&both, metric) && !is_exact(&one, metric));
    }
    let says =
        |answer: &Answer| answer.notes.iter().any(|note| note.contains("random over 2 servers: 2 separate queues"));
    assert!(says(&both) && one.notes.iter().all(|note| !note.contains("separate queues")), "{:?}", one.notes);
}

/// Of a demand of which two moments are known, a faster server has the same spread: Pollaczek and Khinchine at half the time.
#[test]
fn speed_divides_a_demand_and_not_its_spread() {
    let fast = [server(Discipline::Fcfs, 1, 2.0)];
    let answer = Case::new("exponential(rate = 1 /s)", &fast, SPREAD(), None).answer().unwrap();
    // rho = 1/2, E[S] = 1/2, 1 + C2 = 5: rho E[S] (1 + C2) / 2 (1 - rho).
    agree(value(&answer, "waiting_time_mean"), 1.25, 1e-12);
    agree(value(&answer, "service_time_mean"), 0.5, 1e-12);
    agree(value(&answer, "utilization"), 0.5, 1e-12);
}

/// Rooms for one and for three, to each of which every second request goes at a rate of 1/s: M/M/1/1 loses 1/2, M/M/1/3 1/4.
#[test]
fn rooms_of_two_sizes_are_a_mixture() {
    let room = |capacity| Server { capacity: Some(capacity), ..server(Discipline::Fcfs, 1, 1.0) };
    let case = Case::new("exponential(rate = 2 /s)", &[room(1), room(3)], EXPONENTIAL(), Some("random"));
    let answer = case.answer().unwrap();
    for (metric, wanted) in [
        ("error_ratio", 0.375),
        ("throughput", 1.25),
        ("utilization", 0.625),
        ("service_time_mean", 1.0),
        ("share_2", 0.5),
        // One served alone in 0.5 of 1.25; of the others, who find 0, 1 or 2, each as often, 2 in the mean.
        ("response_time_mean", (0.5 + 0.75 * 2.0) / 1.25),
        ("waiting_time_mean", 0.75 / 1.25),
        ("number_in_system_mean", 0.5 + 0.75 * 2.0),
    ] {
        agree(value(&answer, metric), wanted, 1e-9);
    }
}

#[test]
fn a_limited_room_loses_requests() {
    let mut small = server(Discipline::Ps, 1, 1.0);
    small.capacity = Some(10);
    let answer =
        Case::new("exponential(rate = 1.6 /s)", &[small.clone(), small], SPREAD(), Some("random")).answer().unwrap();
    printed(value(&answer, "error_ratio"), ".02349286");
    printed(value(&answer, "response_time_mean"), "3.797098");
    agree(value(&answer, "throughput"), 1.6 * (1.0 - 0.02349286), 1e-8);
}

#[test]
fn closed_users() {
    let think = law("lognormal(mean = 7 s, cv = 2)");
    let ask = |discipline, demand: Moments, users| {
        let case = Case::new("1 s", &[server(discipline, 1, 1.0)], demand, None);
        system::answer(&System { arrivals: ArrivalKind::Closed { users, think: &think }, ..case.system() })
    };
    let wanted = repairman::solve(10, 7.0, 1, 1, 1.0);
    for answer in [ask(Discipline::Fcfs, EXPONENTIAL(), 10), ask(Discipline::Ps, SPREAD(), 10)] {
        let answer = answer.unwrap();
        agree(value(&answer, "response_time_mean"), wanted.response_time_mean_s, 1e-12);
        agree(value(&answer, "throughput"), wanted.throughput, 1e-12);
        agree(value(&answer, "utilization"), wanted.utilisation, 1e-12);
        assert!(is_exact(&answer, "response_time_mean"));
    }
    // As many helpers as users share without limit.
    assert!(ask(Discipline::LimitedPs { helpers: 10 }, SPREAD(), 10).is_ok());
    let why = ask(Discipline::LimitedPs { helpers: 9 }, SPREAD(), 10).unwrap_err().to_string();
    assert!(why.contains("unless demand is exponential or shared by PS"), "{why}");
    assert!(ask(Discipline::Fcfs, EXPONENTIAL(), 0).is_err());
    // Two helpers on four cores leave half of them idle, and a room that is too small turns users away.
    let of = |server: Server| {
        let case = Case::new("1 s", &[server], EXPONENTIAL(), None);
        system::answer(&System { arrivals: ArrivalKind::Closed { users: 10, think: &think }, ..case.system() })
    };
    let two = of(server(Discipline::LimitedPs { helpers: 2 }, 4, 1.0)).unwrap();
    agree(value(&two, "throughput"), repairman::solve(10, 7.0, 2, 2, 1.0).throughput, 1e-12);
    agree(value(&two, "utilization"), value(&two, "throughput") / 4.0, 1e-12);
    let room = |capacity| Server { capacity: Some(capacity), ..server(Discipline::Fcfs, 1, 1.0) };
    assert!(of(room(10)).is_ok() && of(room(9)).unwrap_err().to_string().contains("room for"));
    let case = Case::new("1 s", &vec![server(Discipline::Fcfs, 1, 1.0); 2], EXPONENTIAL(), Some("random"));
    let two = System { arrivals: ArrivalKind::Closed { users: 5, think: &think }, ..case.system() };
    let why = system::answer(&two).unwrap_err().to_string();
    assert_eq!(why, "no formula for closed users over 2 servers: sim answers this");
}

#[test]
fn unanswered_in_one_line_that_says_why() {
    let fcfs = |n: usize| vec![server(Discipline::Fcfs, 1, 1.0); n];
    let mixed = [server(Discipline::Fcfs, 1, 1.0), server(Discipline::Fcfs, 1, 2.0)];
    let poisson = "exponential(rate = 1.5 /s)";
    let endless = Moments::general(f64::INFINITY, f64::INFINITY);
    for (case, says) in [
        (
            Case::new(poisson, &fcfs(1), EXPONENTIAL(), None),
            "utilization 1.5 is not below 1, so its queue never settles: stable below 1 /s",
        ),
        (Case::new(poisson, &fcfs(1), endless, None), "the law has no mean"),
        (Case::new(poisson, &[], EXPONENTIAL(), None), "a system without servers"),
        (Case::new(poisson, &fcfs(2), EXPONENTIAL(), None), "2 servers need a policy"),
        (
            Case::new(poisson, &fcfs(2), EXPONENTIAL(), Some("address-hash")),
            "no formula for address-hash over 2 servers: sim",
        ),
        (Case::new(poisson, &fcfs(2), EXPONENTIAL(), Some("path-hash")), "no formula for path-hash"),
        (Case::new(poisson, &mixed, EXPONENTIAL(), Some("least-connections")), "no formula for least-connections"),
        (
            Case::new("exponential(rate = 2.5 /s)", &fcfs(2), EXPONENTIAL(), Some("least-connections")),
            "utilization 1.25 is not below 1",
        ),
    ] {
        let why = case.answer().expect_err(says).to_string();
        assert!(why.contains(says) && !why.contains('\n'), "{why}");
    }
    let case = Case::new(poisson, &fcfs(2), EXPONENTIAL(), Some("random"));
    let patience = law("exponential(mean = 1 s)");
    let why = system::answer(&System { patience: Some(&patience), ..case.system() }).unwrap_err().to_string();
    assert!(why.contains("clients that give up unless there is one server"), "{why}");
    // Behind links the totals stand, the response time does not.
    let linked = system::answer(&System { has_links: true, ..case.system() }).unwrap();
    assert!(linked.estimate("response_time_mean").is_none() && linked.notes[1].contains("links"));
    agree(value(&linked, "utilization"), 0.75, 1e-12);
    // A heavy tail under FCFS: the mean wait is infinite, the totals are not.
    let tail = Case::new(poisson, &fcfs(2), Moments::general(1.0, f64::INFINITY), Some("random")).answer().unwrap();
    assert!(tail.estimate("response_time_mean").is_none());
    assert!(tail.notes.iter().any(|note| note.contains("the mean wait is infinite")), "{:?}", tail.notes);
}

/// A constant on the way moves response times and nothing else; of closed users it is more time away from the server.
#[test]
fn a_constant_path_is_added_exactly() {
    let mixed = [server(Discipline::Fcfs, 1, 1.0), server(Discipline::Ps, 1, 2.0)];
    let mut full = server(Discipline::Fcfs, 1, 1.0);
    full.capacity = Some(5);
    for case in [
        Case::new("exponential(rate = 1.5 /s)", &mixed, EXPONENTIAL(), Some("random")),
        Case::new("1.25 s", &mixed[..1], EXPONENTIAL(), None),
        Case::new("exponential(rate = 0.8 /s)", &[full], EXPONENTIAL(), None),
        Case::new("exponential(rate = 0.8 /s)", &mixed[..1], SPREAD(), None),
    ] {
        let near = case.answer().unwrap();
        let far = system::answer(&System { path_s: 0.25, ..case.system() }).unwrap();
        assert_eq!(near.measures.len(), far.measures.len());
        assert!(near.estimate("response_time_mean").is_some(), "{near:?}");
        for (near, far) in near.measures.iter().zip(&far.measures) {
            let added_s = if near.metric.starts_with("response_time") { 0.25 } else { 0.0 };
            agree(far.estimate.value().unwrap(), near.estimate.value().unwrap() + added_s, 1e-12);
            assert_eq!(matches!(near.estimate, Estimate::Exact { .. }), matches!(far.estimate, Estimate::Exact { .. }));
        }
        assert!(far.notes.iter().any(|note| note.contains("path: 250 ms")), "{:?}", far.notes);
    }
    let think = law("7 s");
    let case = Case::new("1 s", &[server(Discipline::Fcfs, 1, 1.0)], EXPONENTIAL(), None);
    let arrivals = ArrivalKind::Closed { users: 10, think: &think };
    let behind = |path_s| system::answer(&System { arrivals, path_s, ..case.system() });
    let far = behind(2.0).unwrap();
    let wanted = repairman::solve(10, 9.0, 1, 1, 1.0);
    agree(value(&far, "response_time_mean"), wanted.response_time_mean_s + 2.0, 1e-12);
    agree(value(&far, "throughput"), wanted.throughput, 1e-12);
    // Each user is thinking, on the way or at the server.
    let inside = value(&far, "throughput") * (7.0 + value(&far, "response_time_mean"));
    agree(inside, 10.0, 1e-9);
    let law = FiniteFcfs::of_population(10, 10, 9.0, 1, 1.0);
    agree(value(&far, "response_time_p99"), law.quantile(0.99) + 2.0, 1e-12);
    assert!(behind(-1.0).is_err());
}

/// Clients who wait for ever are those of M/M/c; of others who are served it is known by hand of one server, and by Little's law.
#[test]
fn clients_who_give_up() {
    use sojourn_theory::formula::markovian::{impatient, mmc};
    for servers in [1, 3] {
        let rate = 0.7 * f64::from(servers);
        let patient = impatient::solve(servers, None, rate, 1.0, 1e9).unwrap();
        agree(patient.response_time_mean_s, mmc::response_time_mean(servers, rate, 1.0), 1e-6);
        agree(patient.throughput, rate, 1e-6);
    }
    // One server without room to wait: those served take the shorter of two exponential times, and so do the others.
    let alone = impatient::solve(1, Some(1), 2.0, 1.0, 0.5).unwrap();
    agree(alone.response_time_mean_s, 1.0 / 3.0, 1e-12);
    // p_0 = 3 / 5: two come per second, and stay a third of a second.
    agree(alone.loss, 0.4, 1e-12);
    agree(alone.given_up, 0.4, 1e-12);
    agree(alone.throughput, 0.4, 1e-12);
    // At a load of 1.2 what comes is served, or given up.
    let over = impatient::solve(1, None, 12.0, 0.1, 0.2).unwrap();
    agree(12.0 * (1.0 - over.given_up), over.throughput, 1e-9);
    assert!((over.given_up - 0.4815).abs() < 1e-5, "{}", over.given_up);
    // By the system: with the law of the patience, under PS without times.
    let patience = law("exponential(mean = 200 ms)");
    let demand = Moments::exponential(1.0);
    let ps = Server::from_toml("discipline = \"ps\"\ndemand = \"exponential(mean = 1 s)\"").unwrap();
    let case = Case::new("exponential(rate = 12 /s)", &[Server { speed: 10.0, ..ps }], demand, None);
    let known = system::answer(&System { patience: Some(&patience), ..case.system() }).unwrap();
    agree(value(&known, "abandoned_ratio"), over.given_up, 1e-9);
    assert!(known.estimate("response_time_mean").is_none() && known.estimate("error_ratio").is_none());
    // Two cores and room for three, to which 2 /s come that stay for a second at most, in the mean: 1, 1, 1/2 and 1/5 of 2.7.
    let patience = law("exponential(mean = 1 s)");
    let small = Server { capacity: Some(3), ..server(Discipline::Fcfs, 2, 1.0) };
    let case = Case::new("exponential(rate = 2 /s)", &[small], EXPONENTIAL(), None);
    let known = system::answer(&System { patience: Some(&patience), ..case.system() }).unwrap();
    for (metric, wanted) in [
        ("error_ratio", 0.2),
        ("number_in_system_mean", 2.6),
        ("throughput", 2.4),
        ("utilization", 1.2),
        ("abandoned_ratio", 1.3),
    ] {
        agree(value(&known, metric), wanted / 2.7, 1e-9);
    }
}
