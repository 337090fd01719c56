//! How fast is `sojourn queue --by sim`? Jobs per second of the program, start and end of the process taken off, beside a plain
//! loop in this process: the same draws by the same generator one at a time, Lindley's recursion, and counts by size.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench queue [-- JOBS]`. A minute; all of it on one core.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use rand_distr::{Distribution, Exp1, StandardNormal};
use sojourn_stats::{Histogram, Stream};

mod bars;

use bars::Bars;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Plays so many jobs.
type Loop = fn(u64);

const ROUNDS: usize = 7;
/// Jobs of the run whose time is that of starting and ending.
const FEW: u64 = 1_000;
const GAP_S: f64 = 1.25e-3;

fn main() -> Result<()> {
    let jobs = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(20_000_000);
    on_one_core()?;
    // Of mean 1 ms, the least share of the loop, and the loop.
    let laws: [(&str, f64, Loop); 3] = [
        ("exponential(mean = 1 ms)", 0.8, |jobs| by_hand(jobs, |stream| 1e-3 * exponential(stream))),
        ("lognormal(mean = 1 ms, cv = 2)", 0.7, |jobs| {
            let variance = 5f64.ln();
            let (mu, sigma) = (1e-3f64.ln() - 0.5 * variance, variance.sqrt());
            by_hand(jobs, move |stream| {
                let normal: f64 = StandardNormal.sample(stream);
                (mu + sigma * normal).exp()
            });
        }),
        ("bounded-pareto(alpha = 1.5, min = 0.344 ms, max = 1 s)", 0.7, |jobs| {
            let (alpha, min, max) = (1.5, 0.344e-3, 1.0f64);
            let share = 1.0 - (min / max).powf(alpha);
            by_hand(jobs, move |stream| (min * (-(-stream.uniform() * share).ln_1p() / alpha).exp()).min(max));
        }),
    ];
    let mut bars = Bars::default();
    for (service, bar, loop_by_hand) in laws {
        let (mut hand_s, mut program_s) = (f64::INFINITY, f64::INFINITY);
        // In turn, so that a slow spell of the machine slows both; what disturbs a round only ever slows it down.
        for _ in 0..ROUNDS {
            hand_s = hand_s.min(seconds(|| loop_by_hand(jobs)));
            let around_s = program(service, FEW)?.min(program(service, FEW)?);
            program_s = program_s.min(program(service, jobs)? - around_s);
        }
        let rate = |seconds: f64| jobs as f64 / seconds / 1e6;
        println!("{service}: {:.1} M jobs/s, by hand {:.1}", rate(program_s), rate(hand_s));
        bars.at_least(&format!("of the loop by hand, {service}"), hand_s / program_s, bar);
    }
    bars.judge()
}

/// This process, and those that it starts.
fn on_one_core() -> Result<()> {
    let may = sched_getaffinity(Pid::from_raw(0))?;
    let last = (0..CpuSet::count()).rfind(|core| may.is_set(*core).unwrap_or(false)).ok_or("there is no core")?;
    let mut one = CpuSet::new();
    one.set(last)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &one)?)
}

#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// Wall time of a run of the program (s).
fn program(service: &str, jobs: u64) -> Result<f64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn"));
    command.args(["queue", "M/G/1", "--arrivals", "exponential(mean = 1.25 ms)", "--service", service, "--by", "sim"]);
    command.args(["--jobs", &jobs.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut ended = None;
    let seconds = seconds(|| ended = Some(command.status()));
    match ended {
        Some(Ok(status)) if status.success() => Ok(seconds),
        Some(Ok(status)) => Err(format!("the program ended with {status}").into()),
        Some(Err(error)) => Err(error.into()),
        None => Err("it was not run".into()),
    }
}

fn exponential(stream: &mut Stream) -> f64 {
    Exp1.sample(stream)
}

/// The next wait is the last one plus the service less the gap, if that is above 0 (Lindley 1952).
fn by_hand(jobs: u64, mut service_s: impl FnMut(&mut Stream) -> f64) {
    let (mut gaps, mut services) = (Stream::new(1, "source", "arrivals"), Stream::new(1, "source", "demands"));
    let mut histogram = Histogram::new();
    let (mut wait, mut before, mut waits) = (0u64, 0u64, 0u128);
    for _ in 0..jobs {
        let gap = (GAP_S * exponential(&mut gaps) * 1e9) as u64;
        let service = (service_s(&mut services) * 1e9) as u64;
        wait = (wait + before).saturating_sub(gap);
        before = service;
        waits += u128::from(wait);
        histogram.record(wait + service);
    }
    black_box((histogram, waits));
}
