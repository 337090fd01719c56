//! How long does an exact answer about limited PS take? M/H2/1-LPS(K), from building the chain to its means.
//!
//! `cargo bench --profile dev -p sojourn-theory --bench limited_ps`; the limit is 50 ms for K = 64.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sojourn_stats::Law;
use sojourn_theory::formula::sharing::phase_lps::PhaseQueue;
use sojourn_theory::law::PhaseType;

const LIMIT: Duration = Duration::from_millis(50);

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
#[allow(clippy::disallowed_methods, reason = "a bench measures time")]
fn main() {
    println!("{:>4}{:>14}{:>14}", "K", "median", "E[T]");
    let mut slow = false;
    for places in [1, 4, 16, 64, 128] {
        let stages = |law: Law| PhaseType::of(&law.erlang_mixture().expect("made of stages"));
        let queue = PhaseQueue {
            gaps: stages(Law::exponential(1.25)),
            service: stages(Law::hyperexponential(1.0, 2.0)),
            cores: 1,
            places,
            capacity: None,
        };
        let mut response_s = 0.0;
        let mut times: Vec<Duration> = (0..15)
            .map(|_| {
                let start = Instant::now();
                response_s = black_box(black_box(&queue).solve()).expect("a stable queue").response_time_mean_s;
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let median = times[times.len() / 2];
        slow |= places == 64 && median > LIMIT;
        println!("{places:>4}{:>11.2} ms{response_s:>14.6}", median.as_secs_f64() * 1e3);
    }
    if slow {
        println!("the limit of {LIMIT:?} for K = 64 is missed");
        std::process::exit(1);
    }
}
