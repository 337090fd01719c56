//! A plan over 1,000 candidates: less than three minutes on two cores.
//!
//! `cargo bench --profile dev -p sojourn-lab --bench plan`
//!
//! 2 to 26 servers, ten numbers of helpers and four dispatchers, for heavy-tailed work that keeps 14 servers busy. What is asked
//! besides of the cheapest (the next choices, growth, other traffic) is in the time.

use std::path::Path;
use std::time::Instant;

use sojourn_lab::plan::plan;
use sojourn_lab::{Context, Experiment, Progress};

const LIMIT_S: f64 = 180.0;
const CANDIDATES: usize = 1000;

const FILE: &str = r#"
name = "a thousand candidates"
seed = 1
[workload]
kind = "open"
arrivals = "exponential(rate = 1500 /s)"
size = "lognormal(mean = 12 kB, cv = 2)"
[[system.tier]]
face = "gateway"
policy = "round-robin"
targets = { servers = 4 }
[system.server]
discipline = "limited-ps"
helpers = 16
demand = "3 ms + 0.5 us/B"
[objective]
p99 = "< 150 ms"
[plan]
unit = "EUR a month"
[[plan.choice]]
key = "servers"
values = "2..26"
cost = 60
[[plan.choice]]
key = "helpers"
values = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64]
costs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
per = "servers"
[[plan.choice]]
key = "policy"
values = ["random", "round-robin", "power-of-d", "least-connections"]
costs = [0, 5, 20, 40]
[plan.traffic]
bursty = "hyperexponential(rate = 1500 /s, cv = 3)"
[run]
precision = "5% at 95%"
"#;

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and answers on the terminal"
)]
fn main() {
    let folder = tempfile::tempdir().expect("there is room for a run folder");
    let source = Experiment::new(Path::new("plan.toml"), FILE.into(), &[]).expect("the experiment is right");
    let context = Context {
        program: "sojourn".into(),
        out: Some(folder.path().join("plan")),
        threads: 2,
        command: "sojourn plan".into(),
        progress: &Progress::none(),
    };
    let start = Instant::now();
    let (_, found) = plan(&source, &context).expect("there is a plan");
    let took_s = start.elapsed().as_secs_f64();
    let (tally, cheapest) = (found.tally, &found.offers[0]);
    println!(
        "{} candidates: {} overloaded, {} left out by theory, {} simulated; the cheapest is {} for {} {}; {took_s:.1} s (limit \
         {LIMIT_S} s)",
        tally.candidates, tally.overloaded, tally.excluded, tally.simulated, cheapest.label, cheapest.cost, found.unit
    );
    assert_eq!(tally.candidates, CANDIDATES);
    assert!(took_s < LIMIT_S, "the limit is missed");
}
