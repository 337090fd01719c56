//! Do 95 % intervals cover the truth 95 % of the time? Thousands of seeds of each model, stopped by the rule of precision.
//!
//! `cargo bench --profile dev -p sojourn-sim --bench coverage [-- [SEEDS] [hard]]`
//!
//! Fewer than 93 % or more than 97 % of those that have an interval is a failure, where chance does not explain it (once in a
//! million for each side and metric). `hard` adds some minutes: utilisation 0.9, where a p99 rests on few busy periods.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, Precision};
use sojourn_stats::{Law, root};
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};

/// Discipline, cores, utilisation, how sharp every metric must be, and seeds.
type Row = (&'static str, u32, f64, f64, u64);
const ROWS: [Row; 5] = [
    ("fcfs", 1, 0.5, 0.05, 4000),
    ("fcfs", 1, 0.7, 0.05, 1000),
    ("fcfs", 1, 0.8, 0.05, 1000),
    // The mean alone is to be sharp: a third of the runs are long enough for a p99.9, those with few long waits rather.
    ("fcfs", 4, 0.75, 0.03, 1000),
    ("ps", 1, 0.8, 0.05, 1000),
];
const HARD: [Row; 2] = [("fcfs", 1, 0.9, 0.05, 1000), ("fcfs", 1, 0.9, 0.1, 1000)];
const ALLOWED: (f64, f64) = (0.93, 0.97);

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let asked: Option<u64> = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let hard = std::env::args().any(|word| word == "hard");
    let mut missed = Vec::new();
    println!("{:<24}{:>10}{:>22}{:>10}{:>10}{:>14}", "model", "precision", "metric", "given", "covered", "requests");
    for (discipline, cores, utilization, relative, seeds) in ROWS.into_iter().chain(HARD.into_iter().filter(|_| hard)) {
        let seeds = asked.unwrap_or(seeds);
        let server = format!("discipline = \"{discipline}\"\ncores = {cores}\ndemand = \"exponential(mean = 1 s)\"");
        let rate = utilization * f64::from(cores);
        let arrivals = Arrivals::parse(&format!("exponential(rate = {rate} /s)")).expect("arrivals");
        let sizes = Sizes::Law(Law::constant(1000.0));
        let workload = Workload::Open(Open { arrivals, clients: 1, sizes, patience: None });
        let system = System::single(Server::from_toml(&server).expect("a server model"));
        let mean_s = if cores == 4 { 1.0 + WAITS_OF_FOUR } else { 1.0 / (1.0 - utilization) };
        let mut exact = vec![("response_time_mean", mean_s)];
        if discipline == "fcfs" {
            let beyond_s = |beyond: f64| if cores == 4 { of_four(beyond) } else { -mean_s * beyond.ln() };
            let quantiles = [("p50", 0.5), ("p90", 0.1), ("p95", 0.05), ("p99", 0.01), ("p99.9", 0.001)];
            exact.extend(quantiles.map(|(name, beyond)| (name, beyond_s(beyond))));
        }
        let runs: Vec<(u64, Vec<Option<bool>>)> = (1..=seeds)
            .into_par_iter()
            .map(|seed| cover(&system, &workload, seed, (relative, cores == 4), &exact))
            .collect();
        let requests = runs.iter().map(|(requests, _)| requests).sum::<u64>() / seeds;
        for (number, (metric, _)) in exact.iter().enumerate() {
            let given = runs.iter().filter(|(_, covered)| covered[number].is_some()).count();
            let covered = runs.iter().filter(|(_, covered)| covered[number] == Some(true)).count();
            let model = format!("{discipline}, {cores} at {utilization}");
            let share = covered as f64 / given as f64;
            println!("{model:<24}{relative:>10}{metric:>22}{given:>10}{:>8.1} %{requests:>14}", 100.0 * share);
            // Five standard errors of a share at either end.
            let chance = |share: f64| 5.0 * (share * (1.0 - share) / given as f64).sqrt();
            if share < ALLOWED.0 - chance(ALLOWED.0) || share > ALLOWED.1 + chance(ALLOWED.1) {
                missed.push(format!("{model}, {metric}"));
            }
        }
    }
    assert!(missed.is_empty(), "not 95 %: {}", missed.join("; "));
}

/// How many wait of M/M/4 at 0.75: Erlang's C.
const WAITS_OF_FOUR: f64 = 27.0 / 53.0;

/// What so many response times (s) of M/M/4 at 0.75 are beyond. A wait decays as fast as the service, so that a response time is
/// beyond t with a chance of exp(-t) (1 + C t).
fn of_four(beyond: f64) -> f64 {
    root::find(0.0, 100.0, 1e-12, |t| (-t).exp() * (1.0 + WAITS_OF_FOUR * t) - beyond).expect("it falls from 1 to 0")
}

/// The requests that one run takes, and whether its intervals cover the exact values; none without an interval.
fn cover(
    system: &System,
    workload: &Workload,
    seed: u64,
    (relative, of_mean): (f64, bool),
    exact: &[(&str, f64)],
) -> (u64, Vec<Option<bool>>) {
    let precision = Some(Precision { relative, confidence: 0.95 });
    let sharp = of_mean.then(|| vec!["response_time_mean".to_owned()]);
    let control = Control { seed, precision, sharp, ..Control::default() };
    let report = sojourn_sim::run(system, workload, &control, &|_| {}).expect("a sound scenario");
    let covers = |(metric, value): &(&str, f64)| {
        let measure = report.measures.iter().find(|measure| measure.metric.ends_with(metric))?;
        measure.estimate.interval().map(|(low, high)| low <= *value && *value <= high)
    };
    (report.jobs, exact.iter().map(covers).collect())
}
