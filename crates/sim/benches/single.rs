//! How fast is one queue? A trace of (gap, demand) pairs in memory under FCFS, beside Lindley's recursion written by hand
//! over the same trace (same histogram; and once without, for what counting costs), and jobs per second of every
//! discipline.
//!
//! `cargo bench --profile dev -p sojourn-sim --bench single [-- JOBS]`

use std::hint::black_box;

use sojourn_model::Discipline;
use sojourn_sim::single::{self, Arrival, Control, Queue};
use sojourn_stats::{Histogram, Law, Span, Stream, Time};

const ROUNDS: usize = 5;
/// What the FCFS trace must reach of the loop by hand.
const LEAST: f64 = 0.5;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let jobs = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5_000_000);
    let pairs = pairs(jobs);
    let row = |name: &str, rate: f64, beside: f64| println!("{name:<52}{:>8.2} M/s{:>8.2}", rate / 1e6, rate / beside);
    println!("{:<52}{:>12}{:>8}", "M/M/1 trace, utilisation 0.8", "jobs", "ratio");
    // In turn, so that a slow spell of the machine slows both.
    let (by_hand, fcfs) = (0..3 * ROUNDS).fold((0.0, 0.0), |(by_hand, fcfs): (f64, f64), _| {
        let simulated = rate(jobs, || simulate(Discipline::Fcfs, 1, &pairs));
        (by_hand.max(rate(jobs, || lindley(&pairs))), fcfs.max(simulated))
    });
    row("Lindley's recursion by hand", by_hand, by_hand);
    row("the same without a histogram", best(jobs, || bare(&pairs)), by_hand);
    row("FCFS", fcfs, by_hand);
    let disciplines = [
        ("FCFS, 4 cores at 0.2", Discipline::Fcfs, 4),
        ("PS", Discipline::Ps, 1),
        ("limited PS, 4 helpers", Discipline::LimitedPs { helpers: 4 }, 1),
        ("least attained service", Discipline::LeastAttained, 1),
        ("round robin, turns of a tenth of the mean demand", Discipline::RoundRobin { quantum: Span(100_000) }, 1),
        ("LCFS", Discipline::Lcfs { preemptive: false }, 1),
        ("LCFS, preemptive", Discipline::Lcfs { preemptive: true }, 1),
        ("priority, 3 classes", Discipline::Priority { preemptive: false }, 1),
        ("priority, 3 classes, preemptive", Discipline::Priority { preemptive: true }, 1),
    ];
    for (name, discipline, cores) in disciplines {
        row(name, best(jobs, || simulate(discipline.clone(), cores, &pairs)), by_hand);
    }
    println!("FCFS trace over Lindley by hand: {:.2} (at least {LEAST})", fcfs / by_hand);
    assert!(fcfs / by_hand >= LEAST, "the bar is missed");
}

/// Jobs per second in the best of some rounds: what disturbs a round only ever slows it down.
fn best(jobs: usize, play: impl Fn()) -> f64 {
    (0..ROUNDS).map(|_| rate(jobs, &play)).fold(0.0, f64::max)
}

/// Jobs per second of one round.
#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn rate(jobs: usize, play: impl Fn()) -> f64 {
    let start = std::time::Instant::now();
    play();
    jobs as f64 / start.elapsed().as_secs_f64()
}

/// Gaps and demands (ns).
fn pairs(jobs: usize) -> Vec<(u64, u64)> {
    let (gap, work) = (Law::exponential(1.25e-3), Law::exponential(1e-3));
    let (mut gaps, mut works) = (Stream::new(1, "source", "arrivals"), Stream::new(1, "source", "demands"));
    let draw = |law: &Law, stream: &mut Stream| Span::from_secs_f64(law.sample(stream)).0;
    (0..jobs).map(|_| (draw(&gap, &mut gaps), draw(&work, &mut works))).collect()
}

fn simulate(discipline: Discipline, cores: u32, pairs: &[(u64, u64)]) {
    let mut at = Time::ZERO;
    let arrivals = pairs.iter().zip(0u64..).map(|((gap, demand), number)| {
        at += Span(*gap);
        Arrival { at, demand: Span(*demand), class: (number % 3) as u8 }
    });
    let queue = Queue { discipline, cores, capacity: None };
    black_box(single::run(&queue, arrivals, &Control::default()).expect("a sound queue"));
}

/// Lindley 1952: the next wait is the last one plus the service less the gap, if that is above 0.
fn lindley(pairs: &[(u64, u64)]) {
    let mut histogram = Histogram::new();
    let (mut wait, mut waits) = (0u64, 0u128);
    let mut before = 0;
    for (gap, demand) in pairs {
        wait = (wait + before).saturating_sub(*gap);
        before = *demand;
        waits += u128::from(wait);
        histogram.record(wait + demand);
    }
    black_box((histogram, waits));
}

fn bare(pairs: &[(u64, u64)]) {
    let (mut wait, mut waits, mut before) = (0u64, 0u64, 0);
    for (gap, demand) in pairs {
        wait = (wait + before).saturating_sub(*gap);
        before = *demand;
        waits += wait;
    }
    black_box(waits);
}
