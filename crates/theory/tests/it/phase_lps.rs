//! Queues of exponential stages: against another solution of the same chain, and against formulas that share nothing
//! with it.

use sojourn_stats::law::ErlangBranch;
use sojourn_theory::formula::general::gimc::GiMc;
use sojourn_theory::formula::general::{mg1, mg1k};
use sojourn_theory::formula::markovian::{mmc, mmck};
use sojourn_theory::formula::sharing::phase_lps::{PhaseQueue, Steady};
use sojourn_theory::law::PhaseType;
use sojourn_theory::law::{Gaps, Moments, balanced_means};

use crate::limited_ps::exact_table;
use crate::naive::law;
use crate::oracle::Chain;
use crate::{agree, printed};

fn stages(text: &str) -> PhaseType {
    PhaseType::of(&law(text).erlang_mixture().unwrap_or_else(|| panic!("{text} is not made of stages")))
}

fn h2(scv: f64) -> PhaseType {
    PhaseType::of(&balanced_means(scv).map(|(weight, rate)| ErlangBranch { weight, stages: 1, mean: 1.0 / rate }))
}

fn solve(gaps: PhaseType, service: PhaseType, cores: u32, places: u32, capacity: Option<u32>) -> Steady {
    PhaseQueue { gaps, service, cores, places, capacity }.solve().unwrap()
}

#[test]
fn the_table_to_its_digits() {
    for case in exact_table() {
        for (i, &places) in case.places.iter().enumerate() {
            let gaps = stages(&format!("exponential(rate = {} /s)", case.utilisation));
            let solved = solve(gaps, h2(case.scv), 1, places, None);
            printed(solved.response_time_mean_s, &case.response[i]);
            if let Some(wait) = case.wait.get(i) {
                printed(solved.delay_probability, wait);
            }
        }
    }
}

#[test]
fn renewal_arrivals_and_several_cores_as_the_other_solution_has_them() {
    for (gap_stages, cores, places, scv, rho) in [
        (1, 1, 1, 4.0, 0.5),
        (1, 2, 3, 4.0, 0.7),
        (3, 1, 4, 10.0, 0.8),
        (2, 3, 3, 1.5, 0.9),
        (4, 2, 8, 4.0, 0.3),
        (1, 1, 64, 10.0, 0.9),
    ] {
        let chain = Chain {
            arrival_phases: gap_stages,
            arrival_rate: rho * cores as f64,
            branches: balanced_means(scv),
            cores,
            places,
            cut: 1500.max(2 * places),
        };
        let wanted = chain.solve();
        let gaps = stages(&format!("erlang(k = {gap_stages}, rate = {} /s)", rho * cores as f64));
        let solved = solve(gaps, h2(scv), cores as u32, places as u32, None);
        agree(solved.response_time_mean_s, wanted.response_time_mean, 1e-9);
        agree(solved.waiting_time_mean_s, wanted.waiting_time_mean, 1e-8);
        if gap_stages == 1 {
            agree(solved.delay_probability, wanted.full, 1e-8);
        }
    }
}

#[test]
fn one_place_is_pollaczek_khinchine() {
    let mixed =
        "mix(0.5: erlang(k = 3, mean = 0.5 s), 0.3: exponential(mean = 1 s), 0.2: erlang(k = 2, mean = 2.25 s))";
    for service in
        ["erlang(k = 7, mean = 1 s)", "gamma(shape = 4, mean = 1 s)", mixed, "weibull(shape = 1, mean = 1 s)"]
    {
        for rho in [0.001, 0.5, 0.999] {
            let solved = solve(stages(&format!("exponential(rate = {rho} /s)")), stages(service), 1, 1, None);
            agree(solved.response_time_mean_s, mg1::response_time_mean(rho, 1.0, law(service).scv()), 1e-9);
            agree(solved.delay_probability, rho, 1e-9);
        }
    }
}

#[test]
fn exponential_service_is_gi_m_c() {
    for gaps in ["erlang(k = 3, rate = 1 /s)", "hyperexponential(rate = 1 /s, cv = 3)", "exponential(rate = 1 /s)"] {
        for (cores, rho) in [(1, 0.8), (2, 0.5), (5, 0.9), (20, 0.95)] {
            let service_s = rho * f64::from(cores);
            let source = Gaps::all(Moments::of(&law(gaps)));
            let root = GiMc::solve(&source, cores, service_s).unwrap();
            let service = stages(&format!("exponential(mean = {service_s} s)"));
            let first = solve(stages(gaps), service.clone(), cores, cores, None);
            agree(root.response_time_mean(), first.response_time_mean_s, 1e-9);
            agree(root.delay_probability, first.delay_probability, 1e-9);
            let shared = solve(stages(gaps), service, cores, cores + 4, None);
            agree(shared.response_time_mean_s, first.response_time_mean_s, 1e-9);
            agree(root.waiting_time_mean(cores + 4), shared.waiting_time_mean_s, 1e-8);
        }
    }
}

#[test]
fn limited_room() {
    // M/M/c/K by its own sums.
    for (cores, places, room, rate) in [(1, 1, 4, 0.8), (2, 3, 5, 3.0), (3, 3, 3, 2.0), (2, 9, 6, 1.0)] {
        let gaps = || stages(&format!("exponential(rate = {rate} /s)"));
        let solved = solve(gaps(), stages("exponential(mean = 1 s)"), cores, places, Some(room));
        let wanted = mmck::solve(cores, room, places, rate, 1.0);
        agree(solved.loss, wanted.loss, 1e-10);
        agree(solved.response_time_mean_s, wanted.response_time_mean_s, 1e-10);
        agree(solved.waiting_time_mean_s + 1.0, wanted.waiting_time_mean_s + 1.0, 1e-10);
        // Shared by all that there is room for, or no queue at all: the service law does not matter.
        if places >= room || room == cores {
            let other = solve(gaps(), h2(4.0), cores, places.max(cores), Some(room));
            agree(other.loss, wanted.loss, 1e-10);
        }
    }
    // M/G/1/K by the chain of its departures, which is another chain.
    for service in ["erlang(k = 3, mean = 1 s)", "hyperexponential(mean = 1 s, cv = 2)", "exponential(mean = 1 s)"] {
        for (room, rate) in [(1, 0.7), (2, 0.7), (9, 0.7), (40, 0.95), (20, 3.0)] {
            let solved = solve(stages(&format!("exponential(rate = {rate} /s)")), stages(service), 1, 1, Some(room));
            let wanted = mg1k::solve(room, rate, &law(service)).unwrap();
            agree(wanted.loss, solved.loss, 1e-7);
            agree(wanted.response_time_mean_s, solved.response_time_mean_s, 1e-7);
            agree(wanted.throughput, solved.throughput, 1e-9);
        }
    }
    // Constant service is nearly Erlang's of 100 stages; room without end is M/G/1.
    let constant = mg1k::solve(4, 0.8, &law("1 s")).unwrap();
    let nearly = solve(stages("exponential(rate = 0.8 /s)"), stages("erlang(k = 100, mean = 1 s)"), 1, 1, Some(4));
    agree(constant.loss, nearly.loss, 0.02);
    let endless = mg1k::solve(400, 0.8, &law("lognormal(mean = 1 s, cv = 1)")).unwrap();
    agree(endless.response_time_mean_s, mg1::response_time_mean(0.8, 1.0, 1.0), 1e-5);
    let shared = mg1k::solve(10, 0.8, &law("exponential(mean = 1 s)")).unwrap();
    agree(shared.response_time_mean_s, 3.797098, 1e-6);
    assert!(mg1k::solve(1_000_000, 0.8, &law("1 s")).is_none());
    // So much work that no service ends without arrivals: full but for the gap after each departure.
    for rate in [45.0, 1000.0] {
        let flooded = mg1k::solve(10, rate, &law("1 s")).unwrap();
        agree(flooded.loss, 1.0 - 1.0 / rate, 1e-9);
        agree(flooded.number_mean, 10.0 - 1.0 / rate, 1e-9);
        agree(flooded.throughput, 1.0, 1e-9);
    }
}

#[test]
fn as_many_places_as_one_likes_is_ps() {
    // M/G/1-PS forgets the service law.
    for service in ["hyperexponential(mean = 1 s, cv = 3)", "erlang(k = 2, mean = 1 s)"] {
        let solved = solve(stages("exponential(rate = 0.6 /s)"), stages(service), 1, 70, None);
        agree(solved.response_time_mean_s, 2.5, 1e-9);
    }
    let solved = solve(stages("exponential(rate = 1.2 /s)"), h2(4.0), 2, 70, None);
    agree(solved.response_time_mean_s, mmc::response_time_mean(2, 1.2, 1.0), 1e-9);
}

#[test]
fn what_is_too_large_is_said() {
    let queue = |places, stages_: u32| PhaseQueue {
        gaps: stages("exponential(rate = 0.5 /s)"),
        service: stages(&format!("erlang(k = {stages_}, mean = 1 s)")),
        cores: 1,
        places,
        capacity: None,
    };
    assert!(queue(64, 2).is_small() && queue(16, 3).is_small() && queue(1, 150).is_small());
    assert!(!queue(500, 2).is_small() && !queue(64, 3).is_small() && !queue(1, 5000).is_small());
    assert!(queue(500, 2).solve().is_none());
    // And what never settles.
    assert!(PhaseQueue { gaps: stages("exponential(rate = 1 /s)"), ..queue(2, 2) }.solve().is_none());
    agree(stages("mix(0.3: erlang(k = 4, mean = 2 s), 0.7: exponential(mean = 1 s))").mean_s(), 1.3, 1e-12);
}
