//! private
use std::hint::black_box;
use sojourn_model::system::{Face, Tier};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::ziggurat::exponential;
use sojourn_stats::{Histogram, Law, Span, Stream};
use sojourn_traffic::{Arrivals, Open, Sizes, Workload};
fn cpu() -> u64 { std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap() }
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|w| !w.starts_with("--")).collect();
    let n: u64 = std::env::var("N").map_or(8_000_000, |n| n.parse().unwrap());
    let mut best = std::collections::BTreeMap::new();
    for _ in 0..4 {
        for name in &words {
            let policy = match &name[..] { "lindley" | "single" => None, other => Some(other) };
            let servers = if policy.is_some() { 4 } else { 1 };
            let (system, workload) = scenario(policy, servers);
            let start = cpu();
            if name == "lindley" { lindley(n) } else {
                let control = Control { warm_up: WarmUp::Fixed(Span::ZERO), precision: None, max_jobs: n, replications: 8, ..Control::default() };
                black_box(sojourn_sim::run(&system, &workload, &control, &|_| {}).unwrap());
            }
            let took = cpu() - start;
            let b = best.entry(name.clone()).or_insert(u64::MAX);
            *b = took.min(*b);
        }
    }
    for (name, took) in best { println!("{name:20} {:.2} ns {:.1} M/s", took as f64 / n as f64, n as f64 * 1e3 / took as f64); }
}
fn scenario(policy: Option<&str>, servers: usize) -> (System, Workload) {
    let server = Server::from_toml("discipline = \"fcfs\"\ndemand = \"exponential(mean = 1 ms)\"").unwrap();
    let arrivals = Arrivals::parse(&format!("exponential(rate = {} /s)", 800 * servers)).unwrap();
    let workload = Workload::Open(Open { arrivals, clients: 1, sizes: Sizes::Law(Law::constant(1000.0)), patience: None });
    let system = match policy {
        None => System::single(server),
        Some(policy) => System::balanced(Tier::new(Face::Gateway, policy), vec![server; servers]),
    };
    (system, workload)
}
fn lindley(requests: u64) {
    let mut gaps = Stream::new(1, "source", "arrivals");
    let mut works = Stream::new(1, "source", "demands");
    let mut histogram = Histogram::new();
    let mut wait = 0u64;
    for _ in 0..requests {
        let response = wait + Span::from_secs_f64(1e-3 * exponential(&mut works)).0;
        histogram.record(response);
        wait = response.saturating_sub(Span::from_secs_f64(1.25e-3 * exponential(&mut gaps)).0);
    }
    black_box(histogram);
}
