//! Values that were rounded to a step as counts in the cells of its grid, and continuous laws of those.
//!
//! A value that makes a large part of all may be but a cell of a continuous law: of exponential times of a step in the mean two
//! fifths are 0. Laws are then fitted to the counts, by expectation and maximisation: what is in a cell is spread in it as the
//! law does, a law is fitted to that, and so on (Dempster, Laird and Rubin, JRSS B 39(1), 1977, section 4.2). Their distances
//! are taken at the ends of the cells, where the data's distribution function is known.

use sojourn_stats::fit::{Family, Fit, LEAST, Sample};
use sojourn_stats::{Dimension, Law, goodness};

use super::rounded::Rounding;
use super::{FAR, NEAR};

/// A value that makes a larger part of all is more than a cell: what is in it decides the law, and is not known.
const SHARE_MOST: f64 = 0.5;
/// Counts in fewer cells than this are near to one law of two or three parameters or another, whatever they are.
const CELLS_LEAST: usize = 5;
/// Cells from the first in which values are spread, and over how many places of each; further up a cell is narrow beside its
/// value.
const WIDE_CELLS: f64 = 16.0;
const PLACES: usize = 16;
/// Fits of a law, each to what the one before has spread. What one is off by is what the one before was, times the part of the
/// information that rounding has taken: about a twelfth where the step is the standard deviation.
const ROUNDS: usize = 6;
/// A law is as near as chance where one sample in so many of the law itself would be further off.
const BY_CHANCE: f64 = 0.01;

/// Counts in the cells of a grid.
pub(super) struct Cells {
    cells: Vec<Cell>,
    count: f64,
}

/// What became one value: at least `low`, less than `high`.
struct Cell {
    low: f64,
    high: f64,
    count: f64,
    places: usize,
}

impl Cells {
    /// Of values in their order, those that were 0 in the first cell; none where one cell has more than half of all, or too few
    /// have any.
    pub(super) fn of(sorted: &[f64], rounding: Rounding) -> Option<Cells> {
        let place = |value: f64| rounding.place(value);
        let cell = |same: &[f64]| {
            let at = place(same[0]);
            let (low, high) = rounding.ends(at);
            Cell { low, high, count: same.len() as f64, places: if at < WIDE_CELLS { PLACES } else { 1 } }
        };
        let cells: Vec<Cell> = sorted.chunk_by(|one, other| place(*one) == place(*other)).map(cell).collect();
        let count = sorted.len() as f64;
        let is_told = sorted.len() >= LEAST && cells.len() >= CELLS_LEAST;
        (is_told && cells.iter().all(|cell| cell.count <= SHARE_MOST * count)).then_some(Cells { cells, count })
    }

    /// The laws that are fitted to the counts, the likeliest first; none where no law is as near as chance, or near enough that
    /// a plot hardly shows it.
    pub(super) fn fits(&self, dimension: Dimension) -> Option<Vec<Fit>> {
        let mut fits: Vec<Fit> = Family::ALL.into_iter().filter_map(|family| self.fit(family, dimension)).collect();
        let near = goodness::critical_distance(self.count as usize, BY_CHANCE).clamp(NEAR, FAR);
        fits.sort_by(|one, other| one.bic.total_cmp(&other.bic));
        fits.iter().any(|fit| fit.kolmogorov <= near).then_some(fits)
    }

    /// The likeliest law of a family, judged by the counts.
    fn fit(&self, family: Family, dimension: Dimension) -> Option<Fit> {
        let mut fit = Fit::of(family, &self.spread(None)?, dimension)?;
        for _ in 1..ROUNDS {
            fit = Fit::of(family, &self.spread(Some(&fit.law))?, dimension)?;
        }
        let chance = |cell: &Cell| between(&fit.law, cell.low, cell.high).max(f64::MIN_POSITIVE);
        let log_likelihood: f64 = self.cells.iter().map(|cell| cell.count * chance(cell).ln()).sum();
        let less = 2.0 * (fit.log_likelihood - log_likelihood);
        fit.log_likelihood = log_likelihood;
        fit.aic += less;
        fit.bic += less;
        fit.kolmogorov = self.distance(&fit.law);
        Some(fit)
    }

    /// What is in the cells, spread in each as a law does, or evenly.
    fn spread(&self, law: Option<&Law>) -> Option<Sample> {
        let mut values = Vec::with_capacity(self.cells.len() + PLACES * PLACES);
        for Cell { low, high, count, places } in &self.cells {
            let width = (high - low) / *places as f64;
            let begin = |place: usize| low + place as f64 * width;
            let part = |place: usize| law.map_or(width, |law| between(law, begin(place), begin(place + 1)));
            let parts: Vec<f64> = (0..*places).map(part).collect();
            let all: f64 = parts.iter().sum();
            // What a law leaves no chance is where it was.
            let share = |part: f64| if all > 0.0 { part / all } else { 1.0 / *places as f64 };
            let spread =
                parts.iter().enumerate().map(|(place, part)| (begin(place) + 0.5 * width, count * share(*part)));
            values.extend(spread.filter(|(_, weight)| *weight > 0.0));
        }
        Sample::weighted(values).ok()
    }

    /// Kolmogorov's distance of the values from a law, at the ends of the cells.
    pub(super) fn distance(&self, law: &Law) -> f64 {
        let (mut below, mut most) = (0.0, 0.0_f64);
        for cell in &self.cells {
            let up_to = below + cell.count / self.count;
            most = most.max((up_to_here(law, cell.low) - below).abs()).max((up_to_here(law, cell.high) - up_to).abs());
            below = up_to;
        }
        most
    }
}

/// The chance of a law of positive values up to `x`.
fn up_to_here(law: &Law, x: f64) -> f64 {
    if x > 0.0 { law.cdf(x) } else { 0.0 }
}

/// The chance of a law between two values, to its full precision far out too.
fn between(law: &Law, low: f64, high: f64) -> f64 {
    let below = up_to_here(law, low);
    let chance = if below < 0.5 { law.cdf(high) - below } else { law.survival(low) - law.survival(high) };
    chance.max(0.0)
}
