//! A metric of a whole and of its parts, and the interval that these imply.

use sojourn_stats::interval::exact_ratio;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::parts::{QuantileOfParts, attempts_of_few, clump, exact_of_clumps, of_few, of_parts};
use sojourn_stats::{Estimate, Measure};

use super::per;

/// A metric of the whole, and of each part.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    pub(crate) whole: Option<f64>,
    pub(crate) parts: Vec<Option<f64>>,
    /// Samples behind the whole.
    pub(crate) samples: u64,
    /// Of a share that chance decides.
    pub(crate) events: Option<Events>,
    /// Of a quantile of times (ns): how well it is known. There is no interval unless every part has a value.
    pub(crate) quantile: Option<QuantileOfParts>,
    /// Between which ends the whole is for sure, where it was read from a histogram.
    pub(crate) ends: Option<(f64, f64)>,
    /// Of the worst of so many intervals: how many requests failed, of how many that ended in all.
    pub(crate) worst_of: Option<((u64, u64), usize)>,
    /// Of a number of attempts at a request: how often one was asked for again in each part, of how many.
    pub(crate) again: Option<Vec<(u64, u64)>>,
    /// Of a rate: the events behind it, and the time (s) of all parts together.
    pub(crate) rate: Option<(Events, f64)>,
}

/// The events behind a share.
pub(crate) struct Events {
    /// How many, and how often there could have been one.
    whole: (u64, u64),
    /// The same of each part.
    parts: Vec<(u64, u64)>,
    /// They are slow responses, and come together as these do.
    are_slow: bool,
}

impl Events {
    /// Of so many events and chances of one in each part.
    pub(crate) fn new(parts: Vec<(u64, u64)>, are_slow: bool) -> Events {
        let whole = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        Events { whole, parts, are_slow }
    }

    /// How many come together, where `alike` requests tell as much as one. Of no event it is taken to be as many as that, of one
    /// as well, which is no surer; each further one that comes alone says more against it.
    fn together(&self, alike: f64) -> f64 {
        let events = self.whole.0.max(1) as f64;
        let unseen = if self.are_slow { alike } else { alike / (events * events) };
        clump(&self.parts).max(unseen)
    }

    /// Between which numbers of events the truth is, where so many are worth as much as one and all parts saw the same: none, or
    /// as many by chance. None without a chance of one. One part says nothing of another, so that no more come together than a
    /// part has.
    pub(crate) fn ends(&self, confidence: f64, alike: f64) -> Option<(f64, f64)> {
        let trials = self.whole.1 as f64;
        let parts = self.parts.iter().filter(|part| part.1 > 0).count();
        let together = self.together(alike).min(trials / parts as f64).max(1.0);
        let ends = || exact_of_clumps(self.whole, together, confidence);
        (parts > 0).then(ends).map(|(low, high)| (low * trials, high * trials))
    }
}

/// The rows of a whole and its parts, as they are added.
pub(crate) struct Rows<'a, P> {
    pub(crate) rows: Vec<Row>,
    of: (&'a P, &'a [P]),
}

impl<'a, P> Rows<'a, P> {
    pub(crate) fn new(whole: &'a P, parts: &'a [P]) -> Rows<'a, P> {
        Rows { rows: Vec::new(), of: (whole, parts) }
    }

    /// What `of` gives of the whole and of each part; parts without a value are left out.
    pub(crate) fn add(
        &mut self,
        metric: impl Into<String>,
        unit: &'static str,
        samples: u64,
        of: impl Fn(&P) -> Option<f64>,
    ) {
        let (whole, parts) = self.of;
        let parts = parts.iter().map(&of).collect();
        self.rows.push(Row { metric: metric.into(), unit, whole: of(whole), parts, samples, ..Row::default() });
    }

    /// The share of events among all chances of one, as `of` gives both.
    pub(crate) fn share(&mut self, metric: impl Into<String>, of: impl Fn(&P) -> (u64, u64)) {
        let whole = of(self.of.0);
        self.add(metric, "1", whole.1, |part| {
            let (events, chances) = of(part);
            per(events as f64, chances)
        });
        let events = Events { whole, parts: self.of.1.iter().map(of).collect(), are_slow: false };
        self.rows.last_mut().expect("it was added").events = Some(events);
    }

    /// The same of events that are slow responses.
    pub(crate) fn slow_share(&mut self, metric: impl Into<String>, of: impl Fn(&P) -> (u64, u64)) {
        self.share(metric, of);
        self.rows.last_mut().and_then(|row| row.events.as_mut()).expect("it was added").are_slow = true;
    }

    /// What was added last is no matter of chance where `is_certain`.
    pub(crate) fn certain(&mut self, is_certain: bool) {
        if let Some(row) = self.rows.last_mut().filter(|_| is_certain) {
            row.events = None;
        }
    }
}

impl Row {
    /// The metric with the interval that the spread of its parts implies: what a run is lengthened by.
    pub(crate) fn measure(&self, confidence: f64) -> Measure {
        let whole = self.whole.filter(|value| value.is_finite());
        let without = |why| Estimate::without_interval(whole, self.samples, why);
        let estimate = match (whole, &self.quantile) {
            (None, _) => without(NoInterval::TooFew),
            (_, Some(_)) if self.parts.contains(&None) => without(NoInterval::TooFew),
            (Some(value), Some(quantile)) => match quantile.interval(confidence) {
                Ok((low, high)) => {
                    let (ci_low, ci_high) = (low as f64 * 1e-9, high as f64 * 1e-9);
                    Estimate::Sampled { value, ci_low, ci_high, samples: self.samples }
                }
                Err(why) => without(why),
            },
            (Some(whole), None) => {
                let parts = self.parts.iter().flatten().copied().filter(|value| value.is_finite());
                of_parts(whole, &parts.collect::<Vec<f64>>(), self.samples, confidence)
            }
        };
        Measure::new(self.metric.as_str(), self.unit, estimate)
    }

    /// The metric with an interval that says no more than is known: not narrower than a histogram's bucket, nor, where events
    /// are few, than their law, when `alike` requests tell as much as one.
    pub(crate) fn answer(&self, confidence: f64, alike: f64) -> Measure {
        let Measure { metric, unit, mut estimate } = self.measure(confidence);
        if let Some(events) = &self.events {
            estimate = of_few(estimate, events.whole, events.together(alike), confidence);
        }
        if let Some(ends) = self.ends {
            estimate = estimate.widened(ends);
        }
        if let Some((events, seconds)) = self.rate.as_ref().filter(|_| estimate.is_sharp())
            && let Some((low, high)) = events.ends(confidence, alike)
        {
            estimate = estimate.widened((low / seconds, high / seconds));
        }
        if let Some(parts) = &self.again {
            estimate = attempts_of_few(estimate, parts, alike, confidence);
        }
        if let Some(((failed, ended), intervals)) = self.worst_of {
            if failed == 0 {
                // Those that may have failed by chance, and failures come together, may all have done so in one interval.
                let most = exact_ratio(0.0, ended as f64 / alike, confidence).1 * intervals as f64;
                estimate = estimate.widened((0.0, most));
            }
            if let Estimate::Sampled { value, ci_low, ci_high, .. } = &mut estimate {
                // The worst has no smaller share of failures than all have, and no share is above 1.
                let least = exact_ratio(failed.min(1) as f64, ended as f64, confidence).0;
                (*ci_low, *ci_high) = (ci_low.max(least).min(*value), ci_high.min(1.0));
            }
        }
        Measure { metric, unit, estimate }
    }
}

/// The metrics with the intervals that the spread of their parts implies.
pub(crate) fn measures(rows: &[Row], confidence: f64) -> Vec<Measure> {
    rows.iter().map(|row| row.measure(confidence)).collect()
}

/// The metrics with their intervals, where `alike` requests tell as much as one.
pub(crate) fn answers(rows: &[Row], confidence: f64, alike: f64) -> Vec<Measure> {
    rows.iter().map(|row| row.answer(confidence, alike)).collect()
}

/// The metrics' values in each part.
pub(crate) fn values(rows: Vec<Row>) -> Vec<(String, Vec<Option<f64>>)> {
    rows.into_iter().map(|row| (row.metric, row.parts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That one failure was seen makes the share no surer than that none was; many that come alone do.
    #[test]
    fn one_event_is_no_surer_than_none() {
        let (alike, trials) = (400.0, 200_000u64);
        let upper = |events: u64| {
            let of_part = |part: u64| (u64::from(part < events), trials / 20);
            let events = Events::new((0..20).map(of_part).collect(), false);
            exact_ratio(events.whole.0 as f64 / events.together(alike), trials as f64 / events.together(alike), 0.95).1
        };
        assert!(upper(1) > upper(0), "{} and {}", upper(1), upper(0));
        let each = |events: u64| exact_ratio(events as f64, trials as f64, 0.95).1;
        assert!((upper(20) / each(20) - 1.0).abs() < 1e-9, "as the binomial law has it: {}", upper(20) / each(20));
    }
}
