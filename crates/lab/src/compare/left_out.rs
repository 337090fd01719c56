//! What is not compared, since one of the two has no interval of it: which one, why, and what has one.
//!
//! Of too few samples it is known how many are enough, and so how long a run has to be. Where a run was too short, what follows
//! one another in it is alike for so long that it does not even say for how long.

use sojourn_stats::measure::{BEYOND_LEAST, NoInterval};
use sojourn_stats::{Dimension, Estimate, quantity};

use super::Spent;
use crate::objective::percentile;
use crate::report::number::{Short, two_digits};

/// A metric that both have and that is not compared.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The metric.
    pub metric: String,
    /// Why A has no interval of it; none where it has one.
    pub a: Option<NoInterval>,
    /// Why B has none.
    pub b: Option<NoInterval>,
    /// How many times as long runs have enough samples; none where that is not known.
    pub times: Option<f64>,
    /// What both were made of.
    pub spent: Spent,
}

impl LeftOut {
    /// Of a metric with these estimates.
    pub(super) fn of(metric: &str, a: &Estimate, b: &Estimate, spent: Spent) -> LeftOut {
        let lacks = [a, b].map(lack);
        let are_too_few = !lacks.contains(&Some(NoInterval::TooShort)) && lacks != [None; 2];
        let times = |of: &Estimate| Some(enough(metric)? / of.samples().filter(|samples| *samples > 0)? as f64);
        // The one with fewer samples.
        let of_both = [a, b].into_iter().filter(|of| lack(of).is_some()).map(times).collect::<Option<Vec<f64>>>();
        let times = of_both.map(|all| all.into_iter().fold(0.0, f64::max)).filter(|of| are_too_few && *of > 1.0);
        LeftOut { metric: metric.into(), a: lacks[0], b: lacks[1], times, spent }
    }

    /// Which of the two has no interval, and why.
    fn who(&self) -> String {
        let has = |why: NoInterval, is_one: bool| match (why, is_one) {
            (NoInterval::TooFew, true) => "has too few samples",
            (NoInterval::TooFew, false) => "have too few samples",
            (NoInterval::TooShort, true) => "is too short a run",
            (NoInterval::TooShort, false) => "are too short runs",
        };
        match (self.a, self.b) {
            (Some(a), Some(b)) if a == b => format!("A and B {}", has(a, false)),
            (Some(a), Some(b)) => format!("A {}, and B {},", has(a, true), has(b, true)),
            (Some(a), None) => format!("A {}", has(a, true)),
            (None, Some(b)) => format!("B {}", has(b, true)),
            (None, None) => "one of the two has too little".to_owned(),
        }
    }

    /// What was made of both, and how long each was (s), where it has a length.
    fn length(&self) -> Option<(&'static str, f64)> {
        match self.spent {
            Spent::Runs { each_s } => Some(("runs", each_s)),
            Spent::Replications { each_s } => each_s.map(|each_s| ("replications", each_s)),
            _ => None,
        }
    }

    /// What has an interval, where so many times as long runs do.
    fn cure(&self, times: Option<f64>) -> String {
        match (times, self.length()) {
            (Some(times), Some((what, each_s))) => {
                let least = quantity::format(two_digits(each_s * times, f64::ceil), Dimension::Time);
                format!("it takes {what} of at least {least}")
            }
            (Some(times), None) => format!("it takes at least {} times as many", Short(two_digits(times, f64::ceil))),
            (None, _) if [self.a, self.b].contains(&Some(NoInterval::TooShort)) => {
                "how long is enough is not known before it is there".to_owned()
            }
            (None, _) => "longer runs have more".to_owned(),
        }
    }

    /// Whether both are told in one sentence.
    fn is_alike(&self, other: &LeftOut) -> bool {
        let of = |one: &LeftOut| (one.a, one.b, one.times.map(|_| (one.metric.clone(), one.length())));
        of(self) == of(other)
    }
}

/// The first that is left out for a reason, how many times as long runs that takes, and how often each metric is left out.
type Reason<'a> = (&'a LeftOut, Option<f64>, Vec<(&'a str, usize)>);

/// What is not compared in so many comparisons: a sentence for each reason, with its metrics, and in how many where it is not in
/// all. Where it takes longer runs, those of the comparison that takes most.
pub(super) fn sentences<'a>(left_out: impl Iterator<Item = &'a LeftOut>, among: usize) -> Vec<String> {
    let mut told: Vec<Reason<'_>> = Vec::new();
    for of in left_out {
        let place = match told.iter().position(|(first, ..)| first.is_alike(of)) {
            Some(place) => place,
            None => {
                told.push((of, of.times, Vec::new()));
                told.len() - 1
            }
        };
        let (_, times, metrics) = &mut told[place];
        *times = times.zip(of.times).map(|(one, other)| one.max(other));
        match metrics.iter_mut().find(|(name, _)| *name == of.metric) {
            Some((_, count)) => *count += 1,
            None => metrics.push((of.metric.as_str(), 1)),
        }
    }
    let name = |(name, count): &(&str, usize)| match *count == among {
        true => (*name).to_owned(),
        false => format!("{name} (in {count} of {among})"),
    };
    let sentence = |(of, times, metrics): Reason<'_>| {
        let names: Vec<String> = metrics.iter().map(name).collect();
        format!("Not compared: {}: {} for an interval; {}.", names.join(", "), of.who(), of.cure(times))
    };
    told.into_iter().map(sentence).collect()
}

fn lack(of: &Estimate) -> Option<NoInterval> {
    match of {
        Estimate::WithoutInterval { why, .. } => Some(*why),
        Estimate::TooFew { .. } => Some(NoInterval::TooFew),
        _ => None,
    }
}

/// So many samples a percentile of all requests needs for an interval; none of any other metric, which may have one number in
/// each replication.
fn enough(metric: &str) -> Option<f64> {
    let is_of_requests = ["response_time", "waiting_time"].iter().any(|of| metric.starts_with(of));
    with_beyond(metric, BEYOND_LEAST).filter(|_| is_of_requests)
}

/// So many samples a percentile needs for a number, so that one lies beyond it; none of what is no percentile.
pub fn least_samples(metric: &str) -> Option<u64> {
    with_beyond(metric, 1.0).map(|samples| samples as u64)
}

/// Of how many samples so many lie beyond this percentile.
fn with_beyond(metric: &str, beyond: f64) -> Option<f64> {
    let share = percentile(metric)?.1 / 100.0;
    // The hair keeps 1 - 0.999, which is a little less than 0.001, from making one more of them.
    Some((beyond / share.min(1.0 - share) * (1.0 - 1e-9)).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: Spent = Spent::Runs { each_s: 40.0 };

    fn told(metric: &str, a: &Estimate, b: &Estimate, spent: Spent) -> String {
        sentences([LeftOut::of(metric, a, b, spent)].iter(), 1).concat()
    }

    /// A p99 takes 10 samples beyond it, so that 1,000 are enough, and 250 are a quarter of that.
    #[test]
    fn how_long_runs_have_enough_samples_is_said_where_it_is_known() {
        let whole = Estimate::Sampled { value: 0.1, ci_low: 0.09, ci_high: 0.11, samples: 2000 };
        let few = |samples| Estimate::WithoutInterval { value: 0.1, samples, why: NoInterval::TooFew };
        let short = Estimate::WithoutInterval { value: 0.1, samples: 5000, why: NoInterval::TooShort };
        let (p99, mean) = ("response_time_p99", "response_time_mean");
        assert_eq!(
            told(p99, &whole, &few(250), RUNS),
            "Not compared: response_time_p99: B has too few samples for an interval; it takes runs of at least 160 s."
        );
        assert!(
            told(p99, &few(500), &few(250), RUNS).contains("A and B have too few samples for an interval; it takes")
        );
        assert!(told(p99, &few(500), &few(250), RUNS).ends_with("runs of at least 160 s."), "of the fewer");
        assert!(told(p99, &Estimate::TooFew { samples: 50 }, &whole, RUNS).ends_with("at least 800 s."));
        let minutes = Spent::Replications { each_s: Some(60.0) };
        assert!(told(p99, &whole, &few(250), minutes).ends_with("it takes replications of at least 240 s."));
        assert!(told(p99, &whole, &few(250), Spent::Unknown).ends_with("it takes at least 4.0 times as many."));
        assert_eq!(
            told(p99, &short, &whole, RUNS),
            "Not compared: response_time_p99: A is too short a run for an interval; how long is enough is not known before it \
             is there."
        );
        assert!(told(p99, &short, &few(250), RUNS).contains("A is too short a run, and B has too few samples, for an"));
        assert!(told(p99, &short, &few(250), RUNS).ends_with("is not known before it is there."));
        assert!(told(mean, &few(9), &whole, RUNS).ends_with("longer runs have more."));
        assert!(told(p99, &Estimate::TooFew { samples: 0 }, &whole, RUNS).ends_with("longer runs have more."));
        // The samples of this one are replications.
        assert!(told("worst_second_p99", &few(2), &whole, RUNS).ends_with("longer runs have more."));
    }

    /// Of many comparisons each reason stands once, with what the one takes that takes most.
    #[test]
    fn each_reason_stands_once() {
        let few = |samples| Estimate::WithoutInterval { value: 0.1, samples, why: NoInterval::TooFew };
        let short = Estimate::WithoutInterval { value: 0.1, samples: 5000, why: NoInterval::TooShort };
        let of = |metric: &str, estimate: &Estimate| LeftOut::of(metric, estimate, estimate, RUNS);
        let all = [
            of("response_time_p99", &few(500)),
            of("response_time_p99.9", &few(500)),
            of("waiting_time_mean", &short),
            of("response_time_p99", &few(250)),
            of("response_time_mean", &short),
            of("waiting_time_mean", &short),
        ];
        let told = sentences(all.iter(), 2);
        let starts = [
            "Not compared: response_time_p99: A and B have too few samples for an interval; it takes runs of at least 160 s.",
            "Not compared: response_time_p99.9 (in 1 of 2): A and B have too few samples for an interval; it takes runs of at \
             least 800 s.",
            "Not compared: waiting_time_mean, response_time_mean (in 1 of 2): A and B are too short runs for an interval; how",
        ];
        assert_eq!(told.len(), starts.len(), "{told:#?}");
        for (told, start) in told.iter().zip(starts) {
            assert!(told.starts_with(start), "{told}");
        }
    }
}
