//! Do 95 % intervals cover the truth 95 % of the time? A thousand seeds per model, stopped by the sequential rule.
//!
//! `cargo bench --profile dev -p sojourn-sim --bench coverage [-- SEEDS]`

use sojourn_model::Server;
use sojourn_sim::{Control, Precision, Scenario};
use sojourn_stats::Law;
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let seeds: u64 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1000);
    println!("{:<24}{:>10}{:>20}{:>14}{:>14}", "model", "precision", "metric", "covered", "requests");
    for (discipline, utilization, relative) in
        [("fcfs", 0.7, 0.05), ("fcfs", 0.9, 0.05), ("fcfs", 0.9, 0.02), ("ps", 0.8, 0.05)]
    {
        let server = format!("discipline = \"{discipline}\"\ndemand = \"exponential(mean = 1 s)\"");
        let arrivals = Arrivals::parse(&format!("exponential(rate = {utilization} /s)")).expect("arrivals");
        let sizes = Sizes::Law(Law::constant(1000.0));
        let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
        let scenario = Scenario::single(workload, Server::from_toml(&server).expect("a server model"));
        let mean_s = 1.0 / (1.0 - utilization);
        let mut exact = vec![("response_time_mean", mean_s)];
        if discipline == "fcfs" {
            exact.push(("response_time_p90", mean_s * std::f64::consts::LN_10));
            exact.push(("response_time_p99", 2.0 * mean_s * std::f64::consts::LN_10));
        }
        let mut covered = vec![0; exact.len()];
        let mut jobs = 0;
        for seed in 1..=seeds {
            let precision = Some(Precision { relative, confidence: 0.95 });
            let control = Control { seed, precision, ..Control::default() };
            let report = sojourn_sim::run(&scenario, &control, &|_| {}).expect("a sound scenario");
            jobs += report.jobs;
            for ((metric, value), covered) in exact.iter().zip(&mut covered) {
                let measure = report.measures.iter().find(|measure| measure.metric == *metric);
                let interval = measure.and_then(|measure| measure.estimate.interval());
                *covered += u32::from(interval.is_some_and(|(low, high)| low <= *value && *value <= high));
            }
        }
        for ((metric, _), covered) in exact.iter().zip(covered) {
            let model = format!("{discipline}, utilisation {utilization}");
            let share = 100.0 * f64::from(covered) / seeds as f64;
            println!("{model:<24}{relative:>10}{metric:>20}{share:>12.1} %{:>14}", jobs / seeds);
        }
    }
}
