//! What the demand depends on, and its law.
//!
//! A cost per byte where a line through (size, demand) explains a part of the demand; classes by the beginning of the path where
//! these explain a part of what is left, by Schwarz's criterion; and a law for the rest of each class: constant where it hardly
//! varies, else the likeliest of the families of [`sojourn_stats::fit`] if it is near the data, else the data's own quantiles.

use std::collections::HashMap;
use std::fmt::Write;

use sojourn_model::Demand;
use sojourn_stats::fit;
use sojourn_stats::interval::mean_half_width;
use sojourn_stats::{Dimension, Line, Moments, Stream};
use sojourn_traffic::log::{Log, PathClasses};

use super::visits::Visit;
use crate::model::time_text;
use crate::settings::{CalibrateError, Interval};

/// A cost per byte is worth a term if it is this share of the demand.
const BY_SIZE_LEAST: f64 = 0.05;
/// Fewest requests of a class, and most classes beside the others.
const CLASS_LEAST: usize = 100;
const CLASSES_MOST: usize = 7;
/// Classes explain at least this share of the variance of the logarithm.
const EXPLAINED_LEAST: f64 = 0.05;
/// Demands that vary by less are constant.
const CV_LEAST: f64 = 0.1;
/// Largest distance of a law from the data (Kolmogorov's), and of its mean from theirs, or the data's quantiles are taken.
const DISTANCE_MOST: f64 = 0.03;
const MEAN_OFF_MOST: f64 = 0.01;
/// Demands that a law is fitted to; of more, so many evenly.
const FITTED_MOST: usize = 20_000;
/// A server whose mean demand differs by less is as fast as the others.
const SPEED_LEAST: f64 = 0.03;
/// Weights are written to one part of so many.
const WEIGHTS: f64 = 1e9;
/// Parts of the data's own quantiles: many in the tail, of which the last holds one request in a thousand.
const PARTS: [f64; 9] = [0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.998, 0.999, 1.0];

/// What was fitted to the demands.
pub(super) struct Fitted {
    /// By class, as a server model has them.
    pub(super) demand: Vec<(String, Demand)>,
    /// The beginnings of paths that are classes.
    pub(super) keys: Vec<String>,
    pub(super) mean: Interval,
    /// Relative standard error of the mean.
    pub(super) error: f64,
    pub(super) cv: f64,
    /// By server.
    pub(super) means: Vec<Interval>,
    pub(super) speeds: Vec<f64>,
    pub(super) notes: Vec<String>,
}

/// A demand with what it may depend on.
#[derive(Clone, Copy)]
struct One {
    demand_s: f64,
    bytes: f64,
    object: u32,
}

/// Fits to the demands of these visits, by server.
pub(super) fn fit(
    log: &Log,
    visits: &[Vec<Visit>],
    demands: &[Vec<f64>],
    step_s: f64,
) -> Result<Fitted, CalibrateError> {
    let inexact_s = if step_s > 2e-6 { 0.5 * step_s } else { 0.0 };
    let all: Moments = demands.iter().flatten().copied().collect();
    let (means, speeds): (Vec<Interval>, Vec<f64>) = demands
        .iter()
        .map(|demands| {
            let own = mean(demands, inexact_s);
            // Three standard errors.
            let sure = 1.5 * (own.high - own.value - inexact_s);
            let differs = (own.value - all.mean()).abs();
            let is_other = differs > sure && differs > SPEED_LEAST * all.mean();
            (own, if is_other { all.mean() / own.value } else { 1.0 })
        })
        .unzip();
    if all.mean().is_nan() || all.mean() <= 0.0 {
        return Err(CalibrateError::Refused("the requests took no time at the servers, by the log".into()));
    }
    let mut dither = Stream::new(1, "log", "steps");
    let mut ones = Vec::new();
    for ((visits, demands), speed) in visits.iter().zip(demands).zip(&speeds) {
        ones.extend(visits.iter().zip(demands).map(|(visit, demand_s)| {
            // What is in steps is spread over its step, so that a law has no lattice to follow.
            let within_s = if inexact_s > 0.0 { step_s * (dither.uniform() - 0.5) } else { 0.0 };
            let demand_s = (demand_s + within_s) * speed;
            One { demand_s, bytes: visit.bytes as f64, object: visit.object }
        }));
    }
    let mut notes = Vec::new();
    let per_byte_s = per_byte(&ones, all.mean(), step_s);
    ones.iter_mut().for_each(|one| one.demand_s -= per_byte_s * one.bytes);
    let low_s = (0.25 * step_s).max(1e-4 * all.mean());
    let keys = classes(log, &ones, low_s);
    let texts: Vec<&str> = keys.iter().map(String::as_str).collect();
    let of_path = PathClasses::new(&texts, log);
    let mut by_class: Vec<Vec<f64>> = vec![Vec::new(); keys.len() + 1];
    ones.iter().for_each(|one| by_class[usize::from(of_path.of(one.object))].push(one.demand_s));
    // A log may have no other paths.
    if by_class[0].is_empty() {
        by_class[0] = ones.iter().map(|one| one.demand_s).collect();
    }
    let mut demand = Vec::new();
    for (class, values) in by_class.iter().enumerate() {
        let law = law(values, low_s, step_s);
        let text = match per_byte_s > 0.0 {
            true => format!("{law} + {}/B", time_text(per_byte_s)),
            false => law,
        };
        let name = class.checked_sub(1).map_or(String::new(), |at| keys[at].clone());
        demand.push((name, Demand::parse(&text).map_err(CalibrateError::Refused)?));
    }
    let odd = demands.iter().flatten().filter(|demand_s| **demand_s < -2.0 * step_s.max(1e-6)).count();
    if odd > 0 {
        notes
            .push(format!("{odd} of {} requests ended before they could have been served, by this model", all.count()));
    }
    let cv = (all.variance() - step_s * step_s / 6.0).max(0.0).sqrt() / all.mean();
    let whole: Vec<f64> = demands.iter().flatten().copied().collect();
    let mean = mean(&whole, inexact_s);
    let error = (mean.high - mean.value - inexact_s) / 1.96 / mean.value;
    Ok(Fitted { demand, keys, mean, error, cv, means, speeds, notes })
}

fn mean(values: &[f64], inexact_s: f64) -> Interval {
    let moments: Moments = values.iter().copied().collect();
    let half = mean_half_width(moments.count(), moments.variance(), 0.95).unwrap_or(f64::INFINITY);
    Interval::around(moments.mean(), half + inexact_s)
}

/// The cost of a byte (s), where there is one.
fn per_byte(ones: &[One], mean_s: f64, step_s: f64) -> f64 {
    let points: Vec<(f64, f64, f64)> = ones.iter().map(|one| (one.bytes, one.demand_s, 1.0)).collect();
    let Ok(line) = Line::fit(&points, 0.999) else { return 0.0 };
    let bytes = ones.iter().map(|one| one.bytes).sum::<f64>() / ones.len() as f64;
    let is_sure = line.slope > line.slope_half_width && line.intercept > -line.intercept_half_width;
    let is_much = line.slope * bytes > BY_SIZE_LEAST * mean_s;
    // What would leave less than nothing for the rest is no cost of every byte.
    let negative = ones.iter().filter(|one| one.demand_s - line.slope * one.bytes < -step_s - 0.01 * mean_s).count();
    let fits = (negative as f64) < 0.02 * ones.len() as f64;
    if is_sure && is_much && fits { line.slope } else { 0.0 }
}

/// The beginnings of paths that tell demands apart: of one or two segments, or whole.
fn classes(log: &Log, ones: &[One], low_s: f64) -> Vec<String> {
    let log_of = |one: &One| one.demand_s.max(low_s).ln();
    let total: Moments = ones.iter().map(log_of).collect();
    let count = ones.len() as f64;
    let mut best: (f64, Vec<String>) = (0.0, Vec::new());
    for segments in [1, 2, usize::MAX] {
        let mut groups: HashMap<&str, Moments> = HashMap::new();
        for one in ones {
            groups.entry(beginning(&log.paths()[one.object as usize], segments)).or_default().push(log_of(one));
        }
        let mut large: Vec<(&str, Moments)> =
            groups.into_iter().filter(|(_, of)| of.count() >= CLASS_LEAST as u64).collect();
        large.sort_by(|one, other| other.1.count().cmp(&one.1.count()).then(one.0.cmp(other.0)));
        large.truncate(CLASSES_MOST);
        if large.is_empty() {
            continue;
        }
        let keys: Vec<&str> = large.iter().map(|(key, _)| *key).collect();
        let of_path = PathClasses::new(&keys, log);
        let mut within: Vec<Moments> = vec![Moments::default(); keys.len() + 1];
        ones.iter().for_each(|one| within[usize::from(of_path.of(one.object))].push(log_of(one)));
        let kinds = within.iter().filter(|of| of.count() > 0).count();
        let unexplained: f64 = within.iter().map(|of| of.variance() * of.count() as f64).sum::<f64>() / count;
        let explained = 1.0 - unexplained / total.variance();
        // Two parameters more of each class, by Schwarz's criterion.
        let gain = -0.5 * count * (1.0 - explained).max(1e-9).ln() - (kinds as f64 - 1.0) * count.ln();
        if kinds > 1 && explained > EXPLAINED_LEAST && gain > best.0 {
            best = (gain, keys.iter().map(ToString::to_string).collect());
        }
    }
    best.1.sort();
    best.1
}

/// The first so many segments of a path without its query.
fn beginning(path: &str, segments: usize) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    let mut slashes = path.match_indices('/').skip(segments);
    slashes.next().map_or(path, |(at, _)| &path[..at])
}

/// The law of these demands, as a server model writes it.
fn law(values: &[f64], low_s: f64, step_s: f64) -> String {
    let moments: Moments = values.iter().copied().collect();
    let mean_s = moments.mean().max(low_s);
    let cv = (moments.variance() - step_s * step_s / 6.0).max(0.0).sqrt() / mean_s;
    if cv < CV_LEAST || values.len() < CLASS_LEAST {
        return time_text(mean_s);
    }
    let stride = values.len().div_ceil(FITTED_MOST);
    let some: Vec<f64> = values.iter().step_by(stride).map(|value| value.max(low_s)).collect();
    let distance = DISTANCE_MOST.max(1.63 / (some.len() as f64).sqrt());
    let candidates = fit::candidates(&some, Dimension::Time).unwrap_or_default();
    let near = candidates.iter().find(|fit| {
        let is_finite = fit.law.mean().is_finite() && fit.law.variance().is_finite();
        is_finite && fit.kolmogorov < distance && (fit.law.mean() / mean_s - 1.0).abs() < MEAN_OFF_MOST
    });
    near.map_or_else(|| quantiles(values, low_s), |fit| fit.law.to_string())
}

/// The means between the data's quantiles, as a mixture of constants.
fn quantiles(values: &[f64], low_s: f64) -> String {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ends = (1..16).map(|part| f64::from(part) * 0.05).chain(PARTS);
    let (mut text, mut from) = (String::from("mix("), 0);
    for end in ends {
        let to = (end * sorted.len() as f64).round() as usize;
        if to > from {
            let mean_s = sorted[from..to].iter().sum::<f64>() / (to - from) as f64;
            let separator = if from > 0 { ", " } else { "" };
            // Differences of rounded ends: they sum to 1 as they are written.
            let end = |at: usize| (at as f64 / sorted.len() as f64 * WEIGHTS).round();
            let weight = (end(to) - end(from)) / WEIGHTS;
            let _ = write!(text, "{separator}{weight}: {}", time_text(mean_s.max(low_s)));
            from = to;
        }
    }
    text + ")"
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Dimension, Law};

    use super::*;

    /// Whatever the number of the data, the weights sum to 1.
    #[test]
    fn quantiles_are_a_law() {
        for count in (20..3000).step_by(7) {
            let values: Vec<f64> = (0..count).map(|at| 0.001 + 1e-5 * f64::from(at)).collect();
            let text = quantiles(&values, 1e-6);
            let law = Law::parse(&text, Dimension::Time).unwrap_or_else(|error| panic!("{count}: {error}: {text}"));
            let mean = values.iter().sum::<f64>() / f64::from(count);
            assert!((law.mean() / mean - 1.0).abs() < 1e-3, "{count}: {} for {mean}", law.mean());
        }
    }
}
