//! What requests without a good answer do to an objective: response times are those of good answers, and an objective is about
//! all requests.
//!
//! Those that failed or were given up count as slower than all others. A percentile of all requests is then a higher one of those
//! that were answered: with 4 % of them p50 is p52.1 of the others, and of p99 nothing is known, since 4 % are slower than
//! whatever was measured. This is judged by what is known of the percentile that is asked for, of the higher ones, and of the
//! distribution. A mean has no such bound: it may have one in a hundred that failed, as [`sojourn_load`] has. The number that is
//! told with the verdict is the one that was judged: that of all requests, not that of the answers alone.

use sojourn_stats::Estimate;
use sojourn_stats::measure::Measure;

use super::measurement::rounded;
use super::metric::DURING;
use super::{FAILED_MOST, GIVEN_UP, Judgement, Objective, is_of_worst_second, percentile};
use crate::report::number::significant;

/// The share of the requests that failed over a run.
const FAILED: &str = "error_ratio";

/// The share (1) of the requests of a run that got no good answer: who gave up has not failed, and has none either.
pub(crate) fn unanswered(measures: &[Measure]) -> f64 {
    share(measures, FAILED) + share(measures, GIVEN_UP)
}

/// A share among `measures`; 0 where it is not.
fn share(measures: &[Measure], metric: &str) -> f64 {
    measures.iter().find(|measure| measure.metric == metric).and_then(|of| of.estimate.value()).unwrap_or(0.0)
}

/// Shares (1) of the requests that have no good answer.
struct Lost {
    /// That failed or were given up.
    failed: f64,
    /// That may be slower than a limit.
    may_fail: f64,
    /// That were given up.
    left: f64,
    /// Whether they are of the run as a whole.
    is_of_run: bool,
}

impl Lost {
    /// What these did.
    fn what(&self) -> &'static str {
        if self.left > 0.0 { "failed or were given up" } else { "failed" }
    }
}

impl Objective {
    /// Whether it is an upper limit on a percentile of the response time: who got no answer makes that longer, never shorter.
    pub(crate) fn limits_a_percentile(&self) -> bool {
        self.below && self.metric.starts_with("response_time_p")
    }

    /// Whether what it limits is known of all requests though this share of them got no answer.
    pub(crate) fn bears(&self, unanswered: f64) -> bool {
        self.limits_a_percentile() && unanswered <= self.may_fail()
    }

    /// The share of the requests that may be without an answer.
    fn may_fail(&self) -> f64 {
        percentile(&self.metric).map_or(FAILED_MOST, |(_, level)| 1.0 - level / 100.0)
    }

    /// Why a response time that meets it is no answer: more requests got none than may be slower, or with these as the slowest it
    /// would not be met. `curve` is the distribution of the response time: (s, share that took no longer).
    pub(crate) fn outdone_by_failures(&self, measures: &[Measure], curve: &[(f64, f64)]) -> Option<String> {
        let lost = self.lost(measures)?;
        let Lost { failed, may_fail, is_of_run, .. } = lost;
        let told = || format!("{} % of the requests {}", significant(100.0 * failed), lost.what());
        if failed > may_fail {
            return Some(format!("{}, and the time is that of the others", told()));
        }
        if !is_of_run || failed <= 0.0 {
            return None;
        }
        let of_all = self.of_all(failed, measures, curve)?;
        let name = self.metric.rsplit('_').next().unwrap_or_default();
        Some(format!("{}, and with these as the slowest {name} {of_all}", told()))
    }

    /// What `measures` have of it, in the unit of its limit: [`Objective::measured_among`], and of an upper limit on a percentile
    /// the percentile of all requests, with those that got no answer as the slowest; that there is none where more got none than
    /// may be slower. `curve` is the distribution of the response time: (s, share that took no longer).
    pub fn measured_of_all(&self, measures: &[Measure], curve: &[(f64, f64)]) -> String {
        self.told_of_all(measures, curve).unwrap_or_else(|| self.measured_among(measures))
    }

    /// The same, where it is another number than that of the answers, or none.
    pub(crate) fn told_of_all(&self, measures: &[Measure], curve: &[(f64, f64)]) -> Option<String> {
        let lost = self.lost(measures).filter(|lost| lost.failed > 0.0 && !is_of_worst_second(&self.metric))?;
        let (_, level) = percentile(&self.metric)?;
        let own = self.deciding(measures).filter(|of| of.metric == self.metric && of.estimate.value().is_some())?;
        let (answered, what) = (self.measured(&own.estimate), lost.what());
        if lost.failed > lost.may_fail {
            let most = rounded(100.0 - level, 6);
            return Some(format!("more than {most} % {what}, so that there is none; {answered} of those answered"));
        }
        if !lost.is_of_run {
            return None;
        }
        let failed = format!("{} %", significant(100.0 * lost.failed));
        let Some(of_all) = moved(&own.estimate, |time_s| with_slowest(curve, lost.failed, time_s)) else {
            return Some(format!("{answered} of those answered; {failed} {what}"));
        };
        let told = self.measured(&of_all);
        (told != answered).then(|| format!("{told} with the {failed} that {what} as the slowest"))
    }

    /// How many times as many requests got no answer as may be slower, where that is more.
    pub(crate) fn times_outdone(&self, measures: &[Measure]) -> Option<f64> {
        let Lost { failed, may_fail, .. } = self.lost(measures)?;
        (failed > may_fail).then(|| failed / may_fail)
    }

    /// Of how many requests its time is not; none where it is no limit that a time is to be below.
    fn lost(&self, measures: &[Measure]) -> Option<Lost> {
        let (of_failures, time) = match self.metric.as_str() {
            "worst_second_p99" => ("worst_second_error_ratio", "response_time_p99"),
            metric => match metric.strip_prefix(DURING) {
                Some(during) => ("during(fault).error_ratio", during),
                None => (FAILED, metric),
            },
        };
        let is_of_run = of_failures == FAILED;
        let left = if is_of_run { share(measures, GIVEN_UP) } else { 0.0 };
        let failed = share(measures, of_failures) + left;
        let is_limit = self.below && time.starts_with("response_time_");
        is_limit.then(|| Lost { failed, may_fail: self.may_fail(), left, is_of_run })
    }

    /// What its percentile may be of all requests, of which a share `failed`, where that is not seen to meet it; none where it
    /// is, and of what is no percentile that was measured.
    fn of_all(&self, failed: f64, measures: &[Measure], curve: &[(f64, f64)]) -> Option<String> {
        let (time, level) = percentile(&self.metric)?;
        let (_, high) = self.deciding(measures)?.estimate.ends()?;
        let level_of_answered = level / (1.0 - failed);
        let is_enough = |measure: &Measure| {
            let is_higher = percentile(&measure.metric).is_some_and(|of| of.0 == time && of.1 >= level_of_answered);
            is_higher && self.judge(&measure.estimate) == Judgement::Holds
        };
        if measures.iter().any(is_enough) {
            return None;
        }
        // What is above the end of its interval moves up with it.
        match with_slowest(curve, failed, high) {
            Some(upper_s) if self.met(upper_s) => None,
            Some(upper_s) => Some(format!("may be {}", self.measured(&Estimate::Exact { value: upper_s }))),
            None => Some("is not known".into()),
        }
    }

    /// What a limit on `error_ratio` does not tell where it is met: requests that were given up have no part in it.
    pub(crate) fn leaves_out(&self, measures: &[Measure]) -> Option<String> {
        let given_up = share(measures, GIVEN_UP);
        (self.below && self.metric == FAILED && given_up > 0.0).then(|| {
            let given_up = significant(100.0 * given_up);
            let what = format!("{given_up} % of the requests were given up");
            format!("{what}, which error_ratio does not count: limit {GIVEN_UP} too")
        })
    }
}

/// The time (s) of all requests, of which a share `failed` got no answer and is slower than all others, that is at the level at
/// which `time_s` is of the answers; none where no answer took so long.
fn with_slowest(curve: &[(f64, f64)], failed: f64, time_s: f64) -> Option<f64> {
    let share_of_all = along(curve.iter().copied(), time_s)? / (1.0 - failed);
    along(curve.iter().map(|(time_s, share)| (*share, *time_s)), share_of_all)
}

/// An estimate whose number and ends are moved; an upper end that moves beyond what is known is without bound. None where the
/// number is, or the lower end, or there is no number.
fn moved(estimate: &Estimate, to: impl Fn(f64) -> Option<f64>) -> Option<Estimate> {
    Some(match *estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            let ci_high = to(ci_high).unwrap_or(f64::INFINITY);
            Estimate::Sampled { value: to(value)?, ci_low: to(ci_low)?, ci_high, samples }
        }
        Estimate::WithoutInterval { value, samples, why } => {
            Estimate::WithoutInterval { value: to(value)?, samples, why }
        }
        Estimate::Exact { value } => Estimate::Exact { value: to(value)? },
        Estimate::Approximate { value } => Estimate::Approximate { value: to(value)? },
        Estimate::TooFew { .. } => return None,
    })
}

/// What y is at `x` by straight lines between points (x, y), of which both grow; none beyond the last.
fn along(points: impl Iterator<Item = (f64, f64)>, x: f64) -> Option<f64> {
    let mut before: Option<(f64, f64)> = None;
    for (x1, y1) in points {
        if x1 >= x {
            return Some(match before {
                Some((x0, y0)) if x1 > x => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
                _ => y1,
            });
        }
        before = Some((x1, y1));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(metric: &str, value: f64, half: f64) -> Measure {
        let estimate = Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: 999 };
        Measure::new(metric, "1", estimate)
    }

    #[test]
    fn times_of_the_requests_that_did_not_fail_are_no_answer_where_too_many_did() {
        let failed = |value: f64| [measure("error_ratio", value, 0.0)];
        let of = |text: &str, share: f64| Objective::parse(text).unwrap().outdone_by_failures(&failed(share), &[]);
        assert_eq!(
            of("p99 < 50 ms", 0.198).as_deref(),
            Some("19.8 % of the requests failed, and the time is that of the others")
        );
        assert!(
            of("p99 < 50 ms", 0.0101).is_some() && of("p99 < 50 ms", 0.0099).is_none(),
            "one in a hundred may be slower"
        );
        assert!(of("p50 < 50 ms", 0.198).is_none() && of("p50 < 50 ms", 0.501).is_some());
        assert!(of("mean < 50 ms", 0.02).is_some() && of("mean < 50 ms", 0.005).is_none());
        let worst = Objective::parse("worst_second_p99 < 50 ms").unwrap();
        assert!(worst.outdone_by_failures(&failed(0.5), &[]).is_none(), "of the whole run");
        assert!(worst.outdone_by_failures(&[measure("worst_second_error_ratio", 0.5, 0.0)], &[]).is_some());
        let during = Objective::parse("during(fault).p99 < 50 ms").unwrap();
        assert!(during.outdone_by_failures(&[measure("during(fault).error_ratio", 0.5, 0.0)], &[]).is_some());
        for other in ["p99 > 50 ms", "error_ratio < 30%", "throughput > 1 /s", "waiting_time_mean < 1 s"] {
            assert!(of(other, 0.198).is_none(), "{other}");
        }
    }

    /// Answers take up to 100 ms, uniformly; 1 % failed and 3 % were given up. The upper end of p50 is p53 of the answers, and
    /// 0.53 / 0.96 is 0.552.
    #[test]
    fn a_percentile_is_one_of_all_requests() {
        let curve = [(0.0, 0.0), (0.1, 1.0)];
        let times = [("p50", 0.05), ("p90", 0.09), ("p95", 0.095)];
        let mut measures: Vec<Measure> =
            times.iter().map(|(of, value)| measure(&format!("response_time_{of}"), *value, 0.003)).collect();
        measures.extend([measure("error_ratio", 0.01, 0.0), measure("abandoned_ratio", 0.03, 0.0)]);
        let of = |text: &str, curve: &[(f64, f64)]| {
            let objective = Objective::parse(text).unwrap();
            assert_eq!(objective.judge_among(&measures), Judgement::Holds, "{text}: by the answers alone");
            objective.outdone_by_failures(&measures, curve)
        };
        assert_eq!(of("p50 < 60 ms", &curve), None, "it is known, whatever the others would have taken");
        let what = "4.00 % of the requests failed or were given up, and with these as the slowest";
        let told = |of: &str| format!("{what} {of}");
        assert_eq!(of("p50 < 54 ms", &curve), Some(told("p50 may be 55.2 ms")));
        assert_eq!(of("p50 < 60 ms", &[]), Some(told("p50 is not known")));
        assert_eq!(of("p50 < 94 ms", &[]), None, "p90 of the answers is no less");
        // 0.95 / 0.96 is 0.99, and the end of its interval is at 0.98 / 0.96.
        assert_eq!(of("p95 < 1 s", &curve), Some(told("p95 is not known")));
        let shares: f64 = unanswered(&measures);
        assert!((shares - 0.04).abs() < 1e-12, "{shares}");
        let bears = |text: &str| Objective::parse(text).unwrap().bears(shares);
        assert!(bears("p50 < 54 ms") && bears("p95 < 1 s"));
        assert!(!bears("p99 < 1 s") && !bears("mean < 1 s") && !bears("p50 > 1 ms") && !bears("error_ratio < 50%"));
    }

    /// The number that is told is the one that is judged. Answers take up to 100 ms, uniformly, and 4 % failed: p50 of all is at
    /// 0.5 / 0.96 of the answers, and p99 of all is none.
    #[test]
    fn the_number_that_is_told_is_that_of_all_requests() {
        let curve = [(0.0, 0.0), (0.1, 1.0)];
        let of = |text: &str, failed: f64, given_up: f64, curve: &[(f64, f64)]| {
            let mut measures =
                vec![measure("response_time_p50", 0.05, 0.003), measure("response_time_p99", 0.099, 0.0005)];
            measures.extend([measure("error_ratio", failed, 0.0), measure("abandoned_ratio", given_up, 0.0)]);
            Objective::parse(text).unwrap().measured_of_all(&measures, curve)
        };
        let told = "52.1 ms (48.9 to 55.3 ms) with the 4.00 % that failed as the slowest";
        assert_eq!(of("p50 < 60 ms", 0.04, 0.0, &curve), told);
        let answered = "99.0 ms (98.5 to 99.5 ms)";
        let none = format!("more than 1 % failed, so that there is none; {answered} of those answered");
        assert_eq!(of("p99 < 60 ms", 0.04, 0.0, &curve), none);
        let none = none.replace("failed", "failed or were given up");
        assert_eq!(of("p99 < 60 ms", 0.0, 0.04, &curve), none, "who gave up has no answer either");
        // 0.99 / 0.992 is 0.998 and the upper end is 0.995 / 0.992: slower than all that were answered.
        let told = of("p99 < 60 ms", 0.008, 0.0, &curve);
        let parts = ["99.8 ms (99.2 to ", "infinite", "with the 0.800 % that failed as the slowest"];
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        let without = format!("{answered} of those answered; 0.800 % failed");
        assert_eq!(of("p99 < 60 ms", 0.008, 0.0, &[]), without, "a folder without a distribution");
        assert_eq!(of("p99 < 60 ms", 0.0, 0.0, &curve), answered, "none failed");
        assert_eq!(of("p99 > 60 ms", 0.04, 0.0, &curve), answered, "it is about what is quick");
        let few = Measure::new("response_time_p99", "s", Estimate::TooFew { samples: 7 });
        let few = [few, measure("error_ratio", 0.5, 0.0)];
        assert_eq!(Objective::parse("p99 < 1 s").unwrap().measured_of_all(&few, &curve), "too few samples");
    }

    #[test]
    fn a_curve_is_read_between_its_points() {
        let points = [(1.0, 0.2), (2.0, 0.4), (4.0, 0.8)];
        let at = |x: f64| along(points.into_iter(), x);
        assert_eq!([at(0.5), at(2.0), at(3.0), at(4.5)], [Some(0.2), Some(0.4), Some(0.6000000000000001), None]);
    }

    /// Requests that were given up are not among the failed: a limit on these that is met says so, where there are any.
    #[test]
    fn a_limit_on_failures_says_what_it_does_not_count() {
        let of = |text: &str, given_up: f64| {
            let given_up = Measure::new("abandoned_ratio", "1", Estimate::Exact { value: given_up });
            Objective::parse(text).unwrap().leaves_out(&[given_up])
        };
        let told = "7.00 % of the requests were given up, which error_ratio does not count: limit abandoned_ratio too";
        assert_eq!(of("error_ratio < 1%", 0.07).as_deref(), Some(told));
        assert_eq!(of("error_ratio < 1%", 0.0), None);
        for other in ["error_ratio > 1%", "abandoned_ratio < 10%", "worst_second_error_ratio < 10%", "p99 < 1 s"] {
            assert_eq!(of(other, 0.07), None, "{other}");
        }
        assert_eq!(Objective::parse("error_ratio < 1%").unwrap().leaves_out(&[]), None, "who never leaves");
    }
}
