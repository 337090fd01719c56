//! Whether the requests of an open load ended as fast as they came.
//!
//! In a system in a steady state the number of requests under way goes up and down about a mean. In one that is asked for
//! more than it can do it grows for as long as the load lasts, and so do the response times: their mean over a run of 10 s
//! says nothing of one of 20 s, and an interval about it would be of a number that does not exist.
//!
//! What is looked at are counts: by how many more requests came than ended, in equal parts of the measured time. Where a
//! server can just do its work these growths are independent with mean 0 (a random walk); where it can do more, a growth is
//! followed by a fall, and their sum is nearer to 0 than that. So Student's t test of their mean says about as seldom as
//! [`FALSE_ALARM`] of what settles that more come than end. A system that fills up at the beginning of a run grows too, but
//! not on: so each quarter of the time must have its part of the growth. The price: a load that is a few percent beyond what
//! a server can do is told from one just below it by a long run only.

use std::fmt;

use serde::{Deserialize, Serialize};
use sojourn_stats::interval::t_quantile;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Measure, Span, Time};

use crate::recorder::{SLICE, Slice};
use crate::report::estimate::WINDOWS;

/// How often a system that can just do its work is taken for one that cannot.
const FALSE_ALARM: f64 = 1e-6;
/// With fewer parts of the time than this nothing is said.
const PARTS_LEAST: usize = 10;
/// A growth by less than this part of the requests is none that matters.
const GROWTH_LEAST: f64 = 0.01;
/// The part of the growth that each quarter of the time has at least; half of what it has where it grows evenly.
const QUARTER_LEAST: f64 = 0.125;
/// Shares of requests that a queue which goes on growing changes: it ends in time-outs, and in clients that give up or ask again.
const OUTCOMES: [&str; 3] = ["error_ratio", "abandoned_ratio", "attempts_ratio"];

/// That the requests of an open load came faster than they ended, over the whole measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unsettled {
    /// Requests that were planned per second.
    pub came: f64,
    /// Requests that were over per second, whatever came of them.
    pub ended: f64,
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "requests came at {:.1} /s and ended at {:.1} /s: the queue grew to the end, so that times hang on how long the load \
             lasts; they are of no steady state",
            self.came, self.ended
        )
    }
}

impl Unsettled {
    /// Of an open load with these slices, measured from `warm_up` to `end`; none where it settles, or where that is not known.
    pub(super) fn of(slices: &[Slice], warm_up: Span, end: Time) -> Option<Unsettled> {
        let first = warm_up.0.div_ceil(SLICE.0) as usize;
        let last = ((end.0 / SLICE.0) as usize).min(slices.len()).max(first);
        let slices = slices.get(first..last).unwrap_or_default();
        let each = (slices.len() / WINDOWS).max(1);
        let count = |part: &[Slice], of: fn(&Slice) -> u64| part.iter().map(of).sum::<u64>() as f64;
        let came = |slice: &Slice| slice.planned;
        let ended = |slice: &Slice| slice.ok + slice.failed;
        let growths: Vec<f64> = slices.chunks_exact(each).map(|part| count(part, came) - count(part, ended)).collect();
        if growths.len() < PARTS_LEAST {
            return None;
        }
        let parts = growths.len() as f64;
        let growth: f64 = growths.iter().sum();
        let mean = growth / parts;
        let variance = growths.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / (parts - 1.0);
        // The last sum of so many growths that chance explains.
        let by_chance = t_quantile(1.0 - FALSE_ALARM, growths.len() as u64 - 1) * (parts * variance).sqrt();
        let (all_came, all_ended) = (count(slices, came), count(slices, ended));
        let goes_on = |quarter: usize| {
            let [from, to] = [quarter, quarter + 1].map(|of| of * growths.len() / 4);
            growths[from..to].iter().sum::<f64>() >= QUARTER_LEAST * growth
        };
        let grows = growth > by_chance.max(GROWTH_LEAST * all_came) && (0..4).all(goes_on);
        let seconds = slices.len() as f64 * SLICE.as_secs_f64();
        grows.then(|| Unsettled { came: all_came / seconds, ended: all_ended / seconds })
    }
}

/// `measures`; where requests did not end as fast as they came, without intervals of what hangs on how long that lasts.
pub(super) fn as_far_as_settled(measures: Vec<Measure>, unsettled: Option<Unsettled>) -> Vec<Measure> {
    match unsettled {
        Some(_) => measures.iter().map(withheld).collect(),
        None => measures,
    }
}

/// `measure` without its interval, where it hangs on how long a queue grows: times but the generator's own, and what a queue
/// that goes on growing ends in, unless that cannot happen.
fn withheld(measure: &Measure) -> Measure {
    let is_time = measure.unit == "s" && !measure.metric.starts_with("lateness_");
    let is_outcome = OUTCOMES.contains(&measure.metric.as_str()) && !measure.estimate.is_sharp();
    let mut known = measure.clone();
    if is_time || is_outcome {
        known.estimate = known.estimate.withheld(NoInterval::TooShort);
    }
    known
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Estimate, Stream};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// The slices of `seconds` of a queue with one server: gaps and services as drawn (ns), first come, first served.
    fn queue(seconds: u64, mut gap: impl FnMut() -> u64, mut service: impl FnMut() -> u64) -> Vec<Slice> {
        let mut slices = vec![Slice::default(); (seconds * SECOND / SLICE.0) as usize];
        let (mut at, mut free) = (gap(), 0);
        while at < seconds * SECOND {
            slices[(at / SLICE.0) as usize].planned += 1;
            free = at.max(free) + service();
            if let Some(slice) = slices.get_mut((free / SLICE.0) as usize) {
                slice.ok += 1;
            }
            at += gap();
        }
        slices
    }

    /// A queue with exponential gaps and services at a load, where the server can do 500 /s.
    fn markov(seed: u64, load: f64, seconds: u64) -> Vec<Slice> {
        let draws = |name: &str, rate: f64| {
            let mut stream = Stream::new(seed, "settling", name);
            move || (-1e9 * (1.0 - stream.uniform()).ln() / rate) as u64
        };
        queue(seconds, draws("gaps", 500.0 * load), draws("services", 500.0))
    }

    fn told(slices: &[Slice], warm_up: u64) -> Option<Unsettled> {
        Unsettled::of(slices, Span(warm_up), Time(slices.len() as u64 * SLICE.0))
    }

    /// Three times what the server can do is seen in three seconds; half again as much in ten.
    #[test]
    fn a_queue_that_grows_to_the_end_is_told_with_its_rates() {
        for (load, seconds) in [(3.0, 3), (1.5, 10)] {
            let Unsettled { came, ended } = told(&markov(1, load, seconds), 0).expect("it grows");
            // 1500 give or take 22 requests in 3 s, five times that, and more of more.
            assert!((came / (500.0 * load) - 1.0).abs() < 0.08 && (ended / 500.0 - 1.0).abs() < 0.13, "{came} {ended}");
            assert!(told(&markov(1, load, seconds), SECOND).is_some(), "past a warm-up too");
        }
        // Neither chance nor variance: 20 requests come in a part, and 10 end.
        let slices = queue(4, || 5_000_000, || 10_000_000);
        let text = told(&slices, 0).expect("it grows").to_string();
        let rates = "requests came at 199.8 /s and ended at 99.8 /s: the queue grew to the end";
        assert!(text.starts_with(rates), "{text}");
    }

    /// Of a server that can just do its work no run in a million is told so: none of 200, from empty and past a warm-up.
    #[test]
    fn a_queue_that_can_be_served_is_not_said_to_grow() {
        for seed in 1..=200 {
            for load in [0.5, 0.9, 0.99, 1.0] {
                let slices = markov(seed, load, 10);
                assert_eq!((told(&slices, 0), told(&slices, 2 * SECOND)), (None, None), "{seed} {load}");
            }
        }
    }

    /// What fills up at the beginning, what grows while a server is away, and what is too short to say.
    #[test]
    fn what_grows_for_a_while_is_no_queue_that_grows_to_the_end() {
        // Each reply takes so long (ns), however many are under way.
        let delayed = |seconds: u64, delay: u64| {
            let mut slices = vec![Slice::default(); (seconds * 10) as usize];
            for at in (0..seconds * SECOND).step_by(1_000_000) {
                slices[(at / SLICE.0) as usize].planned += 1;
                if let Some(slice) = slices.get_mut(((at + delay) / SLICE.0) as usize) {
                    slice.ok += 1;
                }
            }
            slices
        };
        assert_eq!(told(&delayed(10, SECOND / 2), 0), None);
        assert_eq!(told(&delayed(10, 6 * SECOND), 0), None, "nothing is new from 6 s on");
        let mut outage = delayed(10, 0);
        outage[60..].iter_mut().for_each(|slice| slice.ok = 0);
        assert_eq!(told(&outage, 0), None, "it is one only from 6 s on");
        assert_eq!(told(&markov(1, 3.0, 10)[..9], 0), None, "nine parts");
        assert_eq!(told(&[], 0), None);
    }

    /// Rates are known in a queue that grows; times, and what it ends in, are not.
    #[test]
    fn what_hangs_on_the_length_of_the_load_has_no_interval() {
        let sampled = |value: f64, half: f64| {
            let (ci_low, ci_high) = (value - half, value + half);
            Estimate::Sampled { value, ci_low, ci_high, samples: 99 }
        };
        let has = |metric: &str, unit: &str, estimate: Estimate| {
            withheld(&Measure::new(metric, unit, estimate)).estimate.interval().is_some()
        };
        for metric in ["response_time_mean", "response_time_p99", "first_byte_time_p90"] {
            assert!(!has(metric, "s", sampled(3.0, 0.5)), "{metric}");
        }
        assert!(!has("error_ratio", "1", sampled(0.5, 0.1)) && !has("attempts_ratio", "1", sampled(1.5, 0.1)));
        assert!(has("lateness_p99", "s", sampled(1e-4, 1e-5)) && has("throughput", "1/s", sampled(500.0, 9.0)));
        assert!(has("abandoned_ratio", "1", sampled(0.0, 0.0)), "without patience none gives up");
    }
}
