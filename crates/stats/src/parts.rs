//! From the parts of a run to intervals: sections that follow one another, or replications.
//!
//! What a whole run says is known as well as its parts agree. Three things make the textbook interval of twenty parts too
//! narrow. Neighbours may be alike, and the law of what is rare is skewed: so neighbours are joined in pairs, and the larger
//! variance stands ([`half_width`]). A percentile of a part is off by more than it spreads where what lies beyond
//! it comes in few clumps: so what counts is the share beyond the whole's percentile in each part ([`QuantileOfParts`], and of a
//! series [`quantiles_of_series`]). And
//! events that come together tell less than as many alone ([`clump`], [`of_few`], [`attempts_of_few`]).
//!
//! How often intervals at 95 % cover the truth is in `crates/sim/benches/coverage.rs`.

use std::sync::Arc;

use crate::interval;
use crate::measure::{self, Estimate, NoInterval};
use crate::{Histogram, measure::CONFIDENCE};

/// From so many parts on neighbours are joined in pairs as well.
const PAIRED: usize = 20;
/// Independent events that have to lie beyond a quantile. With fewer, the runs that look long enough are those that saw few of
/// the long clumps, and they are low: of M/M/1 at 0.95, 10^6 jobs, 12 % pass 10 for their p99 and cover it in 78 %; 1 % pass 20.
pub const INDEPENDENT: f64 = 20.0;
/// How many events tell as much as one is read off that many times as many, and as many again: off those beyond a quantile
/// itself, a run without its long clumps would look long enough.
const NEAR: f64 = 10.0;
/// Up to so many independent events beyond a quantile its interval is no narrower than the exact one of as many. A run that
/// looks long enough by a little is more often one of few clumps, whose parts agree: without this, 83 % of the p99.9 of M/M/4 at
/// 0.75 after 400,000 jobs were covered.
const FEW_BEYOND: f64 = 100.0;
/// Up to so many events, or clumps of them, a share has an interval that is no narrower than the exact one: the law of so few is
/// far from normal, and parts with as many each are no sign that it is known.
const FEW: f64 = 30.0;
/// Joined, they are at least so many.
const JOINED: usize = 10;
/// Sections of a series of events.
const SECTIONS: usize = 40;

/// A number known from the whole of `samples` observations, with the interval that its values in equal parts of them
/// (replications, sections) imply: Student's t on the parts' spread *around the whole* ([`half_width`]). Without an interval
/// below two parts.
pub fn of_parts(whole: f64, parts: &[f64], samples: u64, confidence: f64) -> Estimate {
    let off: Vec<f64> = parts.iter().map(|part| part - whole).collect();
    match half_width(&off, confidence) {
        Some(half) => Estimate::Sampled { value: whole, ci_low: whole - half, ci_high: whole + half, samples },
        None => Estimate::without_interval(Some(whole), samples, NoInterval::TooFew),
    }
}

/// Half the width of the interval of a mean of equal parts, each of which is `off` so much: Student's t on their squares. Of
/// twenty parts and more the variance is that of neighbours in pairs, if it is larger: where neighbours are alike, or few parts
/// are far off, pairs are farther off than chance has them (batch means of growing size, as in Law and Carson, A sequential
/// procedure for determining the length of a steady-state simulation, Operations Research 27(5), 1979). Of normal parts that
/// do not depend on one another an interval at 95 % then covers 96 %. `None` below two.
pub fn half_width(off: &[f64], confidence: f64) -> Option<f64> {
    let degrees = off.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    // Of the mean.
    let variance = |off: &[f64]| {
        let (squares, count) = (off.iter().map(|off| off * off).sum::<f64>(), off.len() as f64);
        squares / (count - 1.0) / count
    };
    // What has no neighbour is left out at the beginning, where the warm-up is nearest.
    let pairs = || off.rchunks_exact(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect::<Vec<_>>();
    let of_pairs = if off.len() < PAIRED { 0.0 } else { variance(&pairs()) };
    Some(interval::t_quantile(0.5 + 0.5 * confidence, degrees as u64) * variance(off).max(of_pairs).sqrt())
}

/// A quantile of many numbers in parts: how well it is known.
///
/// Its interval is from the shares at or below it in the parts: the ends of the share's interval are mapped back through the
/// whole's own quantiles (Woodruff, Journal of the American Statistical Association 47(260), 1952; Heidelberger and Lewis,
/// Operations Research 32(1), 1984). There is none where the numbers beyond it are worth fewer than 20 independent ones, by the
/// larger design effect (Kish, Survey Sampling, 1965, section 8.2) of ten and of a hundred times as many; up to 100 it is no
/// narrower than the exact one of so many.
#[derive(Clone, Debug)]
pub struct QuantileOfParts {
    whole: Arc<Histogram>,
    known: Known,
}

impl QuantileOfParts {
    /// The `p` quantile of `whole`, of which these are parts.
    ///
    /// # Panics
    /// When `p` is not between 0 and 1.
    pub fn new(whole: &Arc<Histogram>, parts: &[&Histogram], p: f64) -> QuantileOfParts {
        let at = |p: f64| whole.quantile(p).unwrap_or(0);
        let off = |at: u64, share: fn(&Histogram, u64) -> f64| {
            off(&parts.iter().map(|part| (share(part, at), part.count() as f64)).collect::<Vec<_>>())
        };
        let up_to = |p: f64| off(at(p), Histogram::share_up_to);
        let below = |p: f64| off(at(p), Histogram::share_below);
        QuantileOfParts { whole: Arc::clone(whole), known: Known::new(p, whole.count(), up_to, below) }
    }

    /// The ends of its interval.
    ///
    /// # Errors
    /// Why there is none.
    pub fn interval(&self, confidence: f64) -> Result<(u64, u64), NoInterval> {
        let why = measure::too_few_or_too_short(self.whole.count(), self.known.p);
        let (low, high) = self.known.ends(why, confidence)?;
        // Where many numbers are equal, a bucket's middle is none of them: its ends are.
        let ends = self.whole.quantile_ends(low).zip(self.whole.quantile_ends(high));
        ends.map(|(low, high)| (low.0, high.1)).ok_or(NoInterval::TooFew)
    }
}

/// The quantiles of an autocorrelated series in its order of time, by the shares in 20 sections of it: as [`QuantileOfParts`].
/// There is no other run beside it, so the shares beyond the quantile itself have to agree as well: in a tail those of ten
/// independent samples ([`measure::tail_is_known`]). The interval of a p99 takes 2,000 samples at least. Too few where no sample
/// lies beyond a quantile.
///
/// # Panics
/// When a quantile is not between 0 and 1.
pub fn quantiles_of_series(series: &[f64], ps: &[f64]) -> Vec<Estimate> {
    let samples = series.len() as u64;
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| sorted[measure::rank(sorted.len(), p)];
    let of = |&p: &f64| {
        if !measure::quantile_stands(samples, p) {
            return Estimate::TooFew { samples };
        }
        let value = at(p);
        let without = |why| Estimate::without_interval(Some(value), samples, why);
        if series.len() < measure::BATCHES {
            return without(NoInterval::TooFew);
        }
        let up_to = |p: f64| {
            let most = at(p);
            off_in_sections(series, |value| value <= most)
        };
        let below = |p: f64| {
            let least = at(p);
            off_in_sections(series, |value| value < least)
        };
        let known = Known::new(p, samples, up_to, below);
        let why = measure::too_few_or_too_short(samples, p);
        match known.ends(why, CONFIDENCE) {
            Ok(_) if !known.half_width(CONFIDENCE).is_some_and(|half| measure::tail_is_known(p, half)) => without(why),
            Ok((low, high)) => Estimate::Sampled { value, ci_low: at(low), ci_high: at(high), samples },
            Err(why) => without(why),
        }
    };
    ps.iter().map(of).collect()
}

/// One of [`quantiles_of_series`].
///
/// # Panics
/// When `p` is not between 0 and 1.
pub fn quantile_of_series(series: &[f64], p: f64) -> Estimate {
    quantiles_of_series(series, &[p]).remove(0)
}

/// How far the share of those that are so is off in each of twenty sections.
fn off_in_sections(series: &[f64], is_so: impl Fn(f64) -> bool) -> Vec<f64> {
    let share = |section: &[f64]| {
        let size = section.len() as f64;
        (section.iter().filter(|value| is_so(**value)).count() as f64 / size, size)
    };
    off(&measure::sections(series, measure::BATCHES).map(share).collect::<Vec<_>>())
}

/// How well the share at or below a quantile is known from parts, of whatever their numbers are kept in. This is the one rule for
/// runs of replications, for sections of a run, and for series.
#[derive(Clone, Debug)]
struct Known {
    p: f64,
    /// Off the whole's share at or below the quantile, and below it.
    up_to: Vec<f64>,
    below: Vec<f64>,
    /// Independent numbers beyond it.
    independent: f64,
}

impl Known {
    /// Of the `p` quantile of `count` numbers; `up_to` and `below` say how far the parts' shares up to the whole's quantile of a
    /// chance, and below it, are off.
    fn new(p: f64, count: u64, up_to: impl Fn(f64) -> Vec<f64>, below: impl Fn(f64) -> Vec<f64>) -> Known {
        assert!(p > 0.0 && p < 1.0, "the quantile {p} is not between 0 and 1");
        // How many independent numbers all are worth, by those beyond a quantile so many times as far from the end.
        let worth = |times: f64| {
            let rare = (p.min(1.0 - p) * times).min(0.5);
            let near = if p < 0.5 { rare } else { 1.0 - rare };
            let off = up_to(near);
            let error = half_width(&off, CONFIDENCE)
                .map(|half| half / interval::t_quantile(0.5 + 0.5 * CONFIDENCE, off.len() as u64 - 1));
            error.map_or(0.0, |error| near * (1.0 - near) / (error * error)).min(count as f64)
        };
        let worth = worth(NEAR).min(worth(NEAR * NEAR));
        Known { p, up_to: up_to(p), below: below(p), independent: worth * p.min(1.0 - p) }
    }

    /// To what half width the share is known. Where many are as large, one of the two may be the same in all parts by chance.
    fn half_width(&self, confidence: f64) -> Option<f64> {
        let halves = half_width(&self.up_to, confidence).zip(half_width(&self.below, confidence));
        halves.map(|(one, other)| one.max(other))
    }

    /// The ends of the share's interval, or `why` there is none where there are parts enough.
    fn ends(&self, why: NoInterval, confidence: f64) -> Result<(f64, f64), NoInterval> {
        let half = self.half_width(confidence).ok_or(NoInterval::TooFew)?;
        let (low, high) = (self.p - half, self.p + half);
        if self.independent < INDEPENDENT || low <= 0.0 || high >= 1.0 {
            return Err(why);
        }
        if self.independent > FEW_BEYOND {
            return Ok((low, high));
        }
        let all = self.independent / self.p.min(1.0 - self.p);
        let exact = interval::exact_ratio(self.p * all, all, confidence);
        Ok((low.min(exact.0), high.max(exact.1)))
    }
}

/// How far the share in each part, given with the part's size, takes that of the whole off (Cochran, Sampling Techniques, 1977,
/// section 2.11: parts may be of different sizes).
fn off(shares: &[(f64, f64)]) -> Vec<f64> {
    let size: f64 = shares.iter().map(|(_, size)| size).sum();
    let share = shares.iter().map(|(share, size)| share * size).sum::<f64>() / size;
    let mean = size / shares.len() as f64;
    shares.iter().map(|(of_part, size)| (of_part - share) * size / mean).collect()
}

/// How many samples that follow one another tell as much as one independent one, from the variance of a mean of `samples`
/// of them, as `degrees` degrees of freedom tell it, and that of each: Kish's design effect (Survey Sampling, 1965, section
/// 8.2). 1 where it is not above that beyond chance (5 %).
pub fn alike(variance_of_mean: f64, samples: u64, variance: f64, degrees: u64) -> f64 {
    let ratio = variance_of_mean * samples as f64 / variance;
    // Wilson and Hilferty's approximation to the 95 % point of chi squared over its degrees (PNAS 17, 1931).
    let spread = 2.0 / (9.0 * degrees.max(1) as f64);
    let by_chance = (1.0 - spread + 1.645 * spread.sqrt()).powi(3);
    if ratio.is_finite() && ratio > by_chance { ratio } else { 1.0 }
}

/// How many events come together, from (events, trials) of equal parts of the run in their order: how much more their counts
/// spread than those of independent ones, at the length of a part, of two, of four and so on, at which they do so most (Kish's
/// design effect, Survey Sampling, 1965, section 8.2). At most as many as there are; 1 where they do not spread beyond chance,
/// and of no event, which says nothing of how others would come.
pub fn clump(parts: &[(u64, u64)]) -> f64 {
    let mut parts = parts.to_vec();
    let (events, trials) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let share = events as f64 / trials as f64;
    let (mut most, mut length) = (1.0_f64, 0);
    while length == 0 || parts.len() >= JOINED {
        let squares: f64 = parts.iter().map(|part| (part.0 as f64 - share * part.1 as f64).powi(2)).sum();
        let count = parts.iter().filter(|part| part.1 > 0).count().max(2) as f64;
        let of_share = squares * count / (count - 1.0) / (trials as f64).powi(2);
        most = most.max(alike(of_share, trials, share * (1.0 - share), count as u64 - 1));
        let sum = |pair: &[(u64, u64)]| pair.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        parts = parts.chunks(2).map(sum).collect();
        length += 1;
    }
    most.min(events.min(trials - events) as f64).max(1.0)
}

/// The exact ends of a share, of which `events` in `trials` were seen, where so many tell `together` as much as one
/// ([`interval::exact_ratio`]). However they come together, one is seen no more often than they are expected (Markov's
/// inequality): where one was seen, the lower end is that of one that came alone, or above it. Of a part of a clump the exact one
/// would be next to nothing, such as 10^-50.
///
/// # Panics
/// When there is no trial, or there are more events.
pub fn exact_of_clumps((events, trials): (u64, u64), together: f64, confidence: f64) -> (f64, f64) {
    let (low, high) = interval::exact_ratio(events as f64 / together, trials as f64 / together, confidence);
    (low.max(of_one_seen((events, trials), confidence)), high)
}

/// The least that a share is expected to be of which an event was seen; 0 of none.
fn of_one_seen((events, trials): (u64, u64), confidence: f64) -> f64 {
    interval::exact_ratio(events.min(1) as f64, trials as f64, confidence).0
}

/// `estimate`, the share of `trials` that are `events`, with its interval inside 0 and 1. Where there are few clumps of
/// events, or of trials without one, or the parts that it is from do not differ, it is no narrower than the exact binomial one
/// of as many trials as these are worth where events come so many `together` ([`clump`]): none of 39 allows 7.4 %.
pub fn of_few(estimate: Estimate, (events, trials): (u64, u64), together: f64, confidence: f64) -> Estimate {
    let is_few = events.min(trials.saturating_sub(events)) as f64 <= FEW * together || estimate.is_sharp();
    if trials == 0 {
        return estimate;
    }
    let exact = exact_of_clumps((events, trials), together, confidence);
    let estimate = if is_few { estimate.widened(exact) } else { estimate };
    match estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            // An event that was seen can happen: of a share that spreads too much for Student's t the exact end is left.
            let least = of_one_seen((events, trials), confidence).min(value);
            let ci_low = if ci_low > 0.0 { ci_low.max(least) } else { exact.0 };
            let ci_high = if ci_high < 1.0 { ci_high } else { exact.1 };
            Estimate::Sampled { value, ci_low, ci_high, samples }
        }
        other => other,
    }
}

/// `estimate`, how often each request is asked for, with its interval above 1, from (further times, requests) of equal parts of
/// the run. Of few clumps of further times the interval is no narrower than the exact one of their share, where `alike` requests
/// tell as much as one: of one such time, or none, no more are taken to come together than that, as each that comes alone says
/// more against it. At least once a request is asked for, and where one was seen to be asked for again the mean is more than
/// that.
pub fn attempts_of_few(estimate: Estimate, parts: &[(u64, u64)], alike: f64, confidence: f64) -> Estimate {
    let (further, requests) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    if requests == 0 {
        return estimate;
    }
    // Of more than half of the requests they are no share, nor few.
    let exact = (2 * further <= requests).then(|| {
        let events = further as f64;
        let together = clump(parts).max(alike / events.max(1.0).powi(2)).max(1.0);
        (events <= FEW * together, interval::exact_ratio(events / together, requests as f64 / together, confidence))
    });
    let estimate = match exact {
        Some((is_few, (low, high))) if is_few || estimate.is_sharp() => estimate.widened((1.0 + low, 1.0 + high)),
        _ => estimate,
    };
    // However they come together, one is seen no more often than they are expected: of one the lower end holds as it is.
    let least = 1.0 + interval::exact_ratio(further.min(1) as f64, requests as f64, confidence).0;
    let low = exact.map_or(least, |(_, (low, _))| least.max(1.0 + low));
    match estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            let ci_low = if ci_low > 1.0 { ci_low.max(least) } else { low };
            Estimate::Sampled { value, ci_low: ci_low.min(value), ci_high, samples }
        }
        other => other,
    }
}

/// The share of events in a series in its order of time, from the shares in 40 sections of it ([`half_width`]), with an interval
/// that says no more than so few clumps of events do ([`clump`], [`of_few`]): of none of 39 it ends at 7.4 %. Of an empty
/// series there are too few.
pub fn share_of_series(events: impl ExactSizeIterator<Item = bool>) -> Estimate {
    let trials = events.len();
    if trials == 0 {
        return Estimate::TooFew { samples: 0 };
    }
    let length = trials.div_ceil(SECTIONS);
    let mut parts = vec![(0_u64, 0_u64); trials.div_ceil(length)];
    for (at, is_event) in events.enumerate() {
        let part = &mut parts[at / length];
        *part = (part.0 + u64::from(is_event), part.1 + 1);
    }
    let (count, samples) = (parts.iter().map(|part| part.0).sum::<u64>(), trials as u64);
    let value = count as f64 / samples as f64;
    let shares: Vec<(f64, f64)> = parts.iter().map(|(of, all)| (*of as f64 / *all as f64, *all as f64)).collect();
    let half = half_width(&off(&shares), CONFIDENCE).unwrap_or(0.0);
    let estimate = Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples };
    of_few(estimate, (count, samples), clump(&parts), CONFIDENCE)
}
