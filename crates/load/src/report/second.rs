//! A run by seconds, and when its requests failed.

use serde::{Deserialize, Serialize};
use sojourn_stats::Histogram;

use super::told_quantile;
use crate::recorder::interval::Interval;
use crate::recorder::{SLICE, Slice};

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Requests planned in it.
    pub planned: u64,
    /// Requests begun in it.
    pub begun: u64,
    /// Attempts after the first of their requests that were begun in it.
    #[serde(default)]
    pub again: u64,
    /// Good replies that came in it.
    pub ok: u64,
    /// Requests that failed or were given up in it.
    pub failed: u64,
    /// Requests that were due and not over at its end.
    #[serde(default)]
    pub inside: u64,
    /// Mean response time (s) of these good replies; 0 without any.
    pub response_time_mean_s: f64,
    /// Their median response time (s), of whole objects where users browse; none with too few to say.
    #[serde(default)]
    pub response_time_p50_s: Option<f64>,
    /// Their 99th percentile, in the same way.
    #[serde(default)]
    pub response_time_p99_s: Option<f64>,
    /// 99th percentile of the generator's lateness (s) in it; none with too few requests to say.
    #[serde(default)]
    pub lateness_p99_s: Option<f64>,
    /// The mean of that lateness (s); none where none was begun. A standstill of some milliseconds shows in it, and in no
    /// 99th percentile of a second.
    #[serde(default)]
    pub lateness_mean_s: Option<f64>,
}

/// The slices by seconds, with the quantiles of the interval that each lies in.
pub(super) fn seconds(slices: &[Slice], intervals: &[Interval]) -> Vec<Second> {
    let mut seconds = Vec::new();
    let (mut due, mut over) = (0, 0);
    for ten in slices.chunks((1_000_000_000 / SLICE.0) as usize) {
        let mut second = Second::default();
        let mut sum_s = 0.0;
        for slice in ten {
            second.planned += slice.planned;
            second.begun += slice.begun;
            second.again += slice.again;
            second.ok += slice.ok;
            second.failed += slice.failed;
            sum_s += slice.response_sum_ns as f64 * 1e-9;
        }
        due += second.planned;
        over += second.ok + second.failed;
        second.inside = u64::saturating_sub(due, over);
        second.response_time_mean_s = if second.ok > 0 { sum_s / second.ok as f64 } else { 0.0 };
        seconds.push(second);
    }
    for interval in intervals {
        let (response, lateness) =
            (Histogram::from(interval.response.clone()), Histogram::from(interval.lateness.clone()));
        let (p50, p99) = (told_quantile(&response, 0.5), told_quantile(&response, 0.99));
        let (late_p99, late_mean) = (told_quantile(&lateness, 0.99), lateness.mean().map(|mean_ns| mean_ns * 1e-9));
        let (first, count) =
            ((interval.start.0 / 1_000_000_000) as usize, (interval.length.0 / 1_000_000_000) as usize);
        for second in seconds.iter_mut().skip(first).take(count) {
            (second.response_time_p50_s, second.response_time_p99_s) = (p50, p99);
            (second.lateness_p99_s, second.lateness_mean_s) = (late_p99, late_mean);
        }
    }
    seconds
}

/// Times of trouble that are told one by one; of more their number.
const TOLD_MOST: usize = 3;

/// When requests failed. Seconds that follow each other, or have one without a failure between them, are one time.
pub(super) fn when_failed(seconds: &[Second]) -> Option<String> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, _) in seconds.iter().enumerate().filter(|(_, second)| second.failed > 0) {
        match spans.last_mut() {
            Some((_, end)) if at <= *end + 1 => *end = at + 1,
            _ => spans.push((at, at + 1)),
        }
    }
    let (&(first, _), &(_, last)) = (spans.first()?, spans.last()?);
    let all = seconds.len();
    let told: Vec<String> = spans.iter().map(|(from, to)| format!("from {from} s to {to} s")).collect();
    let mut text = match spans.len() {
        1 if first == 0 && last == all => "from the start to the end".to_owned(),
        1..=TOLD_MOST => format!("{} of {all} s", told.join(", ")),
        times => format!("{times} times between {first} s and {last} s of {all} s"),
    };
    // The last second of a run may hold a few replies only.
    let good = seconds.iter().rposition(|second| second.ok > 0).map_or(0, |at| at + 1);
    if good > 0 && good + 1 < all {
        text += &format!("; no good reply after {good} s");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second with so many good replies and so many failures.
    fn second((ok, failed): (u64, u64)) -> Second {
        Second { planned: ok + failed, ok, failed, ..Second::default() }
    }

    #[test]
    fn it_is_told_when_requests_failed() {
        let told = |of: &[(u64, u64)]| when_failed(&of.iter().copied().map(second).collect::<Vec<_>>());
        assert_eq!(told(&[(9, 0); 5]), None);
        let dead = [(9, 0), (9, 0), (4, 5), (0, 9), (0, 9)];
        assert_eq!(told(&dead).unwrap(), "from 2 s to 5 s of 5 s; no good reply after 3 s");
        assert_eq!(told(&[(0, 9); 5]).unwrap(), "from the start to the end");
        assert_eq!(told(&[(8, 1); 5]).unwrap(), "from the start to the end");
        let back = [(9, 0), (0, 9), (9, 0), (1, 8), (9, 0), (9, 0), (8, 1)];
        assert_eq!(told(&back).unwrap(), "from 1 s to 4 s, from 6 s to 7 s of 7 s");
        let often: Vec<(u64, u64)> = (0..20).map(|at| (9, u64::from(at % 4 == 1))).collect();
        assert_eq!(told(&often).unwrap(), "5 times between 1 s and 18 s of 20 s");
    }
}
