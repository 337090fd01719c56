//! Requests of two classes with demands of their own at one server: M/G/1 of the mixture, and priorities.

use sojourn_model::Server;
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::{Estimate, Span};
use sojourn_traffic::{Arrivals, Classes, Open, Sizes, Workload};

use crate::support::{Scenario, covers, estimate, run, run_plan, simulate};

/// Poisson arrivals per second, and of each class its share with mean and second moment of its service.
const RATE: f64 = 0.8;
const GOLD: [f64; 3] = [0.3, 0.2, 0.08];
const SILVER: [f64; 3] = [0.7, 1.0, 1.0];

/// The server's demand of a gold request is exponential, that of a silver one goes by its size.
fn scenario(discipline: &str, classes: [&str; 2]) -> Scenario {
    let class = |name| match name {
        "gold" => ("gold", GOLD[0], Sizes::parse("4 kB").unwrap()),
        _ => ("silver", SILVER[0], Sizes::parse("1 kB").unwrap()),
    };
    let sizes = Sizes::ByClass(Classes::each(classes.map(class).into()).unwrap());
    let arrivals = Arrivals::parse(&format!("exponential(rate = {RATE} /s)")).unwrap();
    let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
    let server = format!("{discipline}\n[demand]\ngold = \"exponential(mean = 0.2 s)\"\nsilver = \"1 ms/B\"\n");
    Scenario::single(workload, Server::from_toml(&server).unwrap())
}

/// Pollaczek and Khinchine: W = lambda E[S^2] / (2 (1 - rho)), where S is of either class by their shares. A false
/// alarm: see `CONFIDENCE`.
#[test]
fn first_come_first_served_is_mg1_of_the_mixture() {
    let report = run(&scenario("discipline = \"fcfs\"", ["gold", "silver"]), 4_000_000);
    let mean = |of: usize| GOLD[0] * GOLD[of] + SILVER[0] * SILVER[of];
    let rho = RATE * mean(1);
    let waiting = RATE * mean(2) / 2.0 / (1.0 - rho);
    covers(&report, "service_time_mean", mean(1), 0.005, "mixture");
    covers(&report, "utilization", rho, 0.01, "mixture");
    covers(&report, "waiting_time_mean", waiting, 0.03, "mixture");
    covers(&report, "response_time_mean", waiting + mean(1), 0.02, "mixture");
    covers(&report, "response_time_mean_gold", waiting + GOLD[1], 0.02, "gold");
    covers(&report, "response_time_mean_silver", waiting + SILVER[1], 0.02, "silver");
}

/// Cobham 1954 and, with preemption, White and Christie 1958: the first class of the workload is the most urgent.
#[test]
fn priorities_go_by_the_order_of_the_classes() {
    for preemptive in [false, true] {
        for (names, [first, second]) in [(["gold", "silver"], [GOLD, SILVER]), (["silver", "gold"], [SILVER, GOLD])] {
            let label = format!("{names:?}, preemptive: {preemptive}");
            let report =
                run(&scenario(&format!("discipline = \"priority\"\npreemptive = {preemptive}"), names), 4_000_000);
            let [of_first, of_second] = by_priority(first, second, preemptive);
            let mean = first[0] * of_first + second[0] * of_second;
            covers(&report, "response_time_mean", mean, 0.02, &label);
            for (name, due) in names.iter().zip([of_first, of_second]) {
                covers(&report, &format!("response_time_mean_{name}"), due, 0.05, &format!("{name} of {label}"));
            }
        }
    }
}

/// The mean response times of two classes, the first the more urgent.
fn by_priority(first: [f64; 3], second: [f64; 3], preemptive: bool) -> [f64; 2] {
    let residual = |[share, _, second_moment]: [f64; 3]| RATE * share * second_moment / 2.0;
    let left_by_first = 1.0 - RATE * first[0] * first[1];
    let left = left_by_first - RATE * second[0] * second[1];
    let found = residual(first) + residual(second);
    let (found_by_first, stretched) = if preemptive { (residual(first), left_by_first) } else { (found, 1.0) };
    let of_first = first[1] + found_by_first / left_by_first;
    [of_first, second[1] / stretched + found / (left_by_first * left)]
}

/// What is said of the classes is, taken together, what is said of all: after a warm-up, and where a plan is played in sections.
#[test]
fn the_classes_together_are_all_requests() {
    let scenario = scenario("discipline = \"fcfs\"", ["gold", "silver"]);
    let (warm_up, horizon) = (Span(400_000_000_000), Span(1_000_000_000_000));
    let planned = run_plan(&scenario, 1, horizon, warm_up).unwrap();
    let control = Control { warm_up: WarmUp::Fixed(warm_up), horizon: Some(horizon), ..Control::default() };
    let replicated = simulate(&scenario, &control).unwrap();
    for (report, how) in [(planned, "a plan"), (replicated, "replications")] {
        let of = |class: &str| {
            let estimate = estimate(&report, &format!("response_time_mean{class}"));
            (estimate.value().unwrap(), estimate.samples().unwrap() as f64)
        };
        let [all, gold, silver] = ["", "_gold", "_silver"].map(of);
        assert_eq!(gold.1 + silver.1, all.1, "{how}");
        for class in ["gold", "silver"] {
            let estimate = estimate(&report, &format!("response_time_mean_{class}"));
            let Estimate::Sampled { value, ci_low, ci_high, .. } = *estimate else { panic!("{how}: {estimate:?}") };
            assert!(ci_high - ci_low < value, "{how}, {class}: {ci_low} to {ci_high}: sections are all alike");
        }
        let sum = gold.0 * gold.1 + silver.0 * silver.1;
        assert!((sum / all.1 - all.0).abs() < 1e-3 * all.0, "{how}: {} of all, {} by class", all.0, sum / all.1);
    }
}
