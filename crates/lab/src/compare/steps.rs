//! Numbers that are told in steps: no difference of them is known better than one.
//!
//! A recovery is told by the intervals of the timeline, whole seconds; ten of 3 s in both runs are ten of between 2 and 4. A
//! percentile of times is read from a bucket of a histogram: where many requests take the same, all replications may have the
//! same bucket although the times differ by less than it is wide. Where a law is smooth percentiles are read far better, so that
//! its width counts only where replications do not differ. Runs that are the same number by number are the same run, and equal.

use sojourn_stats::{Dimension, Histogram};

use super::{Between, Comparison, WORTH_SEEING};
use crate::answer::Answer;
use crate::objective::{RECOVERY, dimension};
use crate::spec::Engine;

/// `compared`, of these two answers, no better known than the steps in which both tell it.
pub(super) fn in_their_steps(compared: Comparison, a: &Answer, b: &Answer) -> Comparison {
    let are_the_same = !a.replications.is_empty() && a.replications == b.replications;
    if are_the_same || a.engine == Engine::Theory {
        return compared;
    }
    match compared.metric == RECOVERY {
        true => compared.in_steps(interval_s(a).max(interval_s(b))),
        false => compared.in_buckets(),
    }
}

/// The interval of an answer's timeline (s); 0 without one.
fn interval_s(answer: &Answer) -> f64 {
    let first = answer.over_time.first().map(|of| &of.points);
    first.and_then(|points| Some(points.get(1)?.0 - points.first()?.0)).unwrap_or(0.0)
}

/// Whether it is a percentile of times.
fn is_percentile(metric: &str) -> bool {
    let digits = metric.rsplit_once("_p").map(|(_, digits)| digits.parse::<f64>());
    dimension(metric) == Some(Dimension::Time) && digits.is_some_and(|digits| digits.is_ok())
}

impl Comparison {
    /// The same of two numbers that are both told in steps of `step` (SI): the difference may be one more or less, and what is
    /// smaller than one could not have been seen. A step of 0 is none.
    #[must_use]
    pub fn in_steps(self, step: f64) -> Comparison {
        if step <= 0.0 {
            return self;
        }
        let relative = step / self.a.min(self.b);
        let wider = |of: Between, low: f64, high: f64| Between { low: of.low.min(low), high: of.high.max(high), ..of };
        let difference = wider(self.difference, self.difference.value - step, self.difference.value + step);
        let ratio = self.ratio.map(|of| wider(of, of.value / (1.0 + relative), of.value * (1.0 + relative)));
        Comparison {
            difference,
            ratio,
            could_have_seen: self.could_have_seen.map(|seen| seen.max(relative)),
            // More of the same has the same steps.
            more: self.more.filter(|_| relative <= WORTH_SEEING),
            step,
            ..self
        }
    }

    /// The same of numbers that, where they are percentiles of times, are read from buckets of histograms: where no two pairs
    /// differ, they are known to a bucket.
    #[must_use]
    pub fn in_buckets(self) -> Comparison {
        // The ends are then the same number.
        let is_sharp = self.difference.low == self.difference.high;
        let width = if is_sharp && is_percentile(&self.metric) { Histogram::WIDTH_MOST } else { 0.0 };
        let step = width * self.a.max(self.b);
        self.in_steps(step)
    }

    /// Whether the steps alone are too wide for [`WORTH_SEEING`].
    pub(super) fn is_too_coarse(&self) -> bool {
        self.step > 0.0 && self.step > WORTH_SEEING * self.a.min(self.b)
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Estimate, Measure};

    use super::super::{How, metric};
    use super::*;
    use crate::answer::MetricOverTime;

    /// An answer by sim whose replications have these values of `name`, and of another metric `other`.
    fn answer(name: &str, values: &[f64], other: f64) -> Answer {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let estimate = Estimate::Sampled { value: mean, ci_low: mean, ci_high: mean, samples: 99 };
        let mut answer = Answer::new(Engine::Sim);
        answer.measures = vec![Measure::new(name, "s", estimate)];
        let all = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        answer.replications = vec![(name.into(), all(values)), ("response_time_mean".into(), all(&[other; 2]))];
        let points = (0..4).map(|second| (f64::from(second), Estimate::Exact { value: 0.0 })).collect();
        answer.over_time = vec![MetricOverTime { metric: "failed".into(), unit: "1/s".into(), points }];
        answer
    }

    fn compared(a: &Answer, b: &Answer) -> Comparison {
        metric(&a.measures[0], a, b, true).unwrap()
    }

    #[test]
    fn ten_equal_whole_seconds_are_known_to_a_second() {
        let (a, b) = (answer(RECOVERY, &[3.0; 10], 0.1), answer(RECOVERY, &[3.0; 10], 0.2));
        let of = compared(&a, &b);
        assert_eq!((of.difference.low, of.difference.high, of.how), (-1.0, 1.0, How::Pairs(10)));
        assert_eq!(of.verdict(), "no difference seen: it is told in steps of 1.0 s");
        let ratio = of.ratio.unwrap();
        assert!((ratio.low - 0.75).abs() < 1e-12 && (ratio.high - 4.0 / 3.0).abs() < 1e-12, "{ratio:?}");
        // From 3 to 4 is more than nothing, and may be next to nothing.
        assert!(!compared(&a, &answer(RECOVERY, &[4.0; 10], 0.2)).differs());
        assert_eq!(compared(&a, &answer(RECOVERY, &[5.0; 10], 0.2)).verdict(), "B is slower");
        // Of none at all.
        let none = answer(RECOVERY, &[0.0; 10], 0.1);
        let of = compared(&none, &answer(RECOVERY, &[0.0; 10], 0.2));
        assert_eq!((of.difference.high, of.verdict().starts_with("no difference seen: it is told")), (1.0, true));
        assert_eq!(compared(&a, &a.clone()).verdict(), "equal", "the same run");
    }

    #[test]
    fn equal_percentiles_are_known_to_a_bucket() {
        let name = "response_time_p99";
        let (a, b) = (answer(name, &[1.0; 10], 0.1), answer(name, &[1.0; 10], 0.2));
        let of = compared(&a, &b);
        assert!((of.difference.high - 1.0 / 128.0).abs() < 1e-12, "{of:?}");
        assert_eq!(of.verdict(), "no difference seen (could have seen 0.78 %)");
        // Where replications differ they tell how well it is known.
        let smooth: Vec<f64> = (0..10).map(|k| 1.0 + 0.01 * f64::from(k)).collect();
        let slower: Vec<f64> = smooth.iter().enumerate().map(|(k, value)| value + 1e-4 * (5 + k % 3) as f64).collect();
        assert_eq!(compared(&answer(name, &smooth, 0.1), &answer(name, &slower, 0.2)).verdict(), "B is slower");
        let name = "worst_second_p99";
        assert!(compared(&answer(name, &[1.0; 3], 0.1), &answer(name, &[1.0; 3], 0.2)).step > 0.0);
        // A mean is exact.
        let (a, b) = (answer("waiting_time_mean", &[1.0; 10], 0.1), answer("waiting_time_mean", &[1.0; 10], 0.2));
        assert_eq!(compared(&a, &b).verdict(), "equal");
    }
}
