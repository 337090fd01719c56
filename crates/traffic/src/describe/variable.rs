//! One quantity: its laws, its tail, and its distribution for a plot.

mod cells;
mod rounded;
mod taken;

use serde::Serialize;
use sojourn_stats::fit::goodness::BOOTSTRAP_MOST;
use sojourn_stats::fit::hill::{self, Kind, Tail};
use sojourn_stats::fit::{Family, Fit, FitError, Sample, Shape, bootstrap, candidates};
use sojourn_stats::{Dimension, Stream, quantity};

use self::cells::Cells;
pub(super) use self::rounded::Rounding;
use self::rounded::{Unrounded, unrounded};
pub use self::taken::Taken;
use super::{Facts, ascending, log_spaced};
use crate::words::{count, verb};

/// Points of a distribution that are kept for a plot.
const POINTS: usize = 400;
/// How many laws, from the first, get a p-value, and from how many samples drawn.
pub(crate) const WITH_P_VALUE: usize = 3;
const BOOTSTRAP_DRAWS: usize = 99;
/// A distance from a law that is too small to see in a plot.
const NEAR: f64 = 0.02;
/// A distance from a law of another shape.
const FAR: f64 = 0.1;
/// Values beyond the point at which a law's far tail is compared with the data's.
const EXTREMES: f64 = 25.0;
/// So many times as many extremes as there are, or as few, are another tail.
const OTHER_TAIL: f64 = 2.0;

/// A value that makes a larger part of all is no draw from a continuous law: any such law is half of that part off at least,
/// which is [`FAR`].
const ATOM: f64 = 2.0 * FAR;
/// The value that occurs most often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Atom {
    /// The value, in the SI unit.
    pub value: f64,
    /// Which part of the values it is.
    pub share: f64,
}

impl Atom {
    /// The value that occurs most often in values in their order.
    pub(super) fn of(sorted: &[f64]) -> Option<Atom> {
        let most = sorted.chunk_by(|one, other| one == other).max_by_key(|same| same.len())?;
        Some(Atom { value: most[0], share: most.len() as f64 / sorted.len() as f64 })
    }

    /// Whether it makes so large a part of all that no continuous law comes near.
    pub(super) fn is_large(&self) -> bool {
        self.share > ATOM
    }
}

/// A law that was not fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Which family it is of.
    pub family: Family,
    /// Why it has no likeliest member here.
    pub why: &'static str,
}

/// A quantity with its laws. Only its positive values count.
#[derive(Clone, Debug, Serialize)]
pub struct Variable {
    /// Its name in facts: `size`.
    pub name: &'static str,
    /// What people call it: `Sizes of the replies`.
    pub title: &'static str,
    /// SI unit.
    pub unit: &'static str,
    /// Positive values.
    pub count: u64,
    /// Values that are 0 or below, to which no law was fitted.
    pub not_positive: u64,
    /// Different values among the positive ones.
    pub distinct: u64,
    /// Their mean; of values that were rounded, as they are written, 0 included.
    pub mean: f64,
    /// The laws, the likeliest first.
    pub fits: Vec<Fit>,
    /// The one that is taken: the law that a workload is written with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// Those of the families that have none, where others have.
    pub left_out: Vec<LeftOut>,
    /// Why there are none.
    pub no_fit: Option<String>,
    /// The value that occurs most often, where it does so too often for any continuous law.
    pub atom: Option<Atom>,
    /// The tail, where there are enough values.
    pub tail: Option<Tail>,
    /// Why there is none, of values that are many enough but too few different ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_tail: Option<String>,
    /// Points (x, share of the values above x), upwards.
    pub ccdf: Vec<(f64, f64)>,
    /// What its values measure.
    #[serde(skip)]
    pub dimension: Dimension,
}

impl Variable {
    /// The same without laws, for this reason.
    pub(super) fn without_laws(self, why: String) -> Variable {
        let (no_fit, fits, left_out) = (Some(why), Vec::new(), Vec::new());
        Variable { fits, taken: None, left_out, no_fit, tail: None, no_tail: None, ..self }
    }

    /// The quantity of these values, in the SI unit of `dimension`.
    pub fn of(name: &'static str, title: &'static str, values: &[f64], dimension: Dimension) -> Variable {
        Variable::of_cells(name, title, values, None, dimension)
    }

    /// The same of values that were rounded, where one makes so large a part of all that it may be a cell of the grid.
    fn of_cells(
        name: &'static str,
        title: &'static str,
        values: &[f64],
        rounding: Option<Rounding>,
        dimension: Dimension,
    ) -> Variable {
        let sorted = ascending(values.iter().copied().filter(|value| *value > 0.0));
        let atom = Atom::of(&sorted).filter(Atom::is_large);
        let cells = rounding.filter(|_| atom.is_some()).and_then(|rounding| Cells::of(&sorted, rounding));
        let in_cells = cells.and_then(|cells| cells.fits(dimension).map(|fits| (cells, fits)));
        let (cells, fits_of_cells) = in_cells.unzip();
        let atom = atom.filter(|_| cells.is_none());
        let fitted = fits_of_cells.map_or_else(|| fits(&sorted, dimension), Ok);
        let (fits, no_fit) = match (fitted, atom) {
            (Ok(_), Some(atom)) => (Vec::new(), Some(without_a_law(atom, dimension))),
            (Ok(fits), None) => (fits, None),
            (Err(error), _) => (Vec::new(), Some(error.to_string())),
        };
        let is_fitted = |family: &Family| fits.is_empty() || fits.iter().any(|fit| fit.family == *family);
        let missing = Family::ALL.into_iter().filter(|family| !is_fitted(family));
        let left_out = missing.map(|family| LeftOut { family, why: family.without_a_likeliest() }).collect();
        let n = sorted.len();
        let mut ccdf: Vec<(f64, f64)> = log_spaced(n, POINTS)
            .into_iter()
            .map(|from_top| {
                let x = sorted[n - 1 - from_top];
                (x, (n - sorted.partition_point(|value| *value <= x)) as f64 / n as f64)
            })
            .collect();
        ccdf.reverse();
        ccdf.dedup();
        let distinct = sorted.chunk_by(|one, other| one == other).count();
        let tail = hill::tail(&sorted);
        let no_tail = (tail.is_none() && n >= hill::NUMBERS_LEAST).then(|| without_a_tail(distinct));
        let variable = Variable {
            name,
            title,
            unit: dimension.si_unit(),
            count: n as u64,
            not_positive: (values.len() - n) as u64,
            distinct: distinct as u64,
            mean: sorted.iter().sum::<f64>() / n as f64,
            fits,
            taken: None,
            left_out,
            no_fit,
            atom,
            tail,
            no_tail,
            ccdf,
            dimension,
        };
        let mut taken = Taken::of(&variable, &sorted, values.len());
        if let (Some(taken), Some(cells)) = (&mut taken, &cells) {
            taken.judge_by(cells);
        }
        Variable { taken, ..variable }
    }

    /// The quantity of values that may have been rounded to a step, times by their clock: with the middle of what becomes 0 in
    /// place of 0 for the law, and a sentence about it. Where all are 0, nothing is known of them, and their mean is 0. Without a
    /// step a 0 is none that was rounded.
    pub(super) fn of_rounded(
        name: &'static str,
        title: &'static str,
        values: &[f64],
        rounding: Option<Rounding>,
        dimension: Dimension,
    ) -> (Variable, Option<String>) {
        let rounding = rounding.map(|rounding| rounding.of_multiples(values));
        let of = |values: &[f64]| Variable::of_cells(name, title, values, rounding, dimension);
        match rounding.and_then(|rounding| unrounded(values, rounding, dimension)) {
            None => (of(values), None),
            Some(Unrounded::Filled { filled, remark }) => {
                let mean = super::mean(values);
                (Variable { mean, ..of(&filled) }, Some(remark))
            }
            Some(Unrounded::Unknown(why)) => {
                let count = values.len() as u64;
                (Variable { count, distinct: 1, mean: 0.0, no_fit: Some(why), ..of(&[]) }, None)
            }
        }
    }

    /// Its laws and its tail as facts.
    pub(super) fn tell(&self, facts: &mut Facts) {
        let name = self.name;
        if let Some(taken) = &self.taken {
            facts.text(&format!("{name}_law"), taken.law.to_string());
            facts.number(&format!("{name}_law_distance"), taken.kolmogorov, "1");
        }
        if let Some(tail) = &self.tail {
            let interval = format!("{:.3} to {:.3}", tail.ci_low, tail.ci_high);
            facts.number(&format!("{name}_tail_index"), tail.alpha, "1");
            facts.text(&format!("{name}_tail_index_interval"), interval);
            facts.text(&format!("{name}_tail"), tail_in_words(tail));
        }
        if let Some(why) = &self.no_tail {
            facts.text(&format!("{name}_tail"), why.clone());
        }
    }

    /// Which law is taken where it is not the likeliest, which one that is and how near it comes, and what is not written as it
    /// was fitted: in a sentence each.
    pub fn verdict(&self) -> String {
        let said = self.taken.as_ref().and_then(|taken| taken.said.as_ref());
        let said = said.map_or(String::new(), |said| format!(" {said}"));
        let Some(best) = self.fits.first() else {
            return format!("No law: {}.{said}", self.no_fit.as_deref().unwrap_or("there is nothing to fit"));
        };
        let near = match best.kolmogorov {
            near if near < NEAR => "near enough that a plot hardly shows it",
            far if far < FAR => "and a plot shows where it leaves them",
            _ => "which is another shape",
        };
        let next = self
            .fits
            .get(1)
            .map_or(String::new(), |next| format!("; next is {} at {:.3}", next.family.name(), next.kolmogorov));
        let test = match best.p_value {
            Some(p) if p <= 0.05 => format!("; it is rejected (bootstrap p = {p:.2})"),
            Some(p) => format!("; it is not rejected (bootstrap p = {p:.2})"),
            None if self.count <= BOOTSTRAP_MOST as u64 => String::new(),
            None => {
                let n = self.count;
                format!(
                    "; p, the test of a law, is for at most {BOOTSTRAP_MOST} values, and here are {n}: look at the distance"
                )
            }
        };
        format!(
            "{}The likeliest law is {}: its distribution function is within {:.3} of the data's, {near}{next}{test}.{said}",
            self.taken_in_words(),
            best.family.name(),
            best.kolmogorov
        )
    }

    /// What is to be known of the table of laws: which are not in it, and which of them have a p-value.
    pub fn about_the_laws(&self) -> Vec<String> {
        let mut about: Vec<String> =
            self.left_out.iter().map(|LeftOut { family, why }| format!("No {}: {why}.", family.name())).collect();
        if self.fits.iter().any(|fit| fit.p_value.is_some()) && self.fits.len() > WITH_P_VALUE {
            about.push(format!("p is computed for the likeliest {WITH_P_VALUE}."));
        }
        about
    }

    /// Where the likeliest law and the tail index say different things of the largest values, which is right about them.
    fn tail_against_law(&self) -> Option<String> {
        let (best, tail) = (self.fits.first()?, self.tail.as_ref()?);
        let index = match best.shape() {
            Shape::Pareto { alpha, .. } | Shape::BoundedPareto { alpha, .. } | Shape::LognormalPareto { alpha, .. } => {
                Some(*alpha)
            }
            _ => None,
        };
        let agrees = |alpha: &f64| (tail.ci_low..=tail.ci_high).contains(alpha);
        match (tail.kind, index) {
            (Kind::Power, Some(alpha)) if !agrees(&alpha) => {}
            (Kind::Power, None) => {}
            // One that ends somewhere is lighter than any power there.
            (Kind::Lighter, Some(_)) if !matches!(best.shape(), Shape::BoundedPareto { .. }) => {}
            _ => return None,
        }
        let law = index.map_or("falls faster than any power of x".into(), |alpha| {
            format!("falls as a power of x with index {alpha:.2}")
        });
        let largest = match tail.kind {
            Kind::Lighter => "fall faster than any power".into(),
            _ => format!("as one with index {:.2} ({:.2} to {:.2})", tail.alpha, tail.ci_low, tail.ci_high),
        };
        let n = self.count as f64;
        let beyond = self.ccdf.iter().rev().find(|(_, share)| share * n >= EXTREMES)?;
        let (seen, expected) = (beyond.1 * n, n * best.law.survival(beyond.0));
        let makes = match expected / seen {
            many if many > OTHER_TAIL => "it makes extremes too frequent: for what hangs on them trust the index",
            few if few < 1.0 / OTHER_TAIL => "it makes extremes too rare: for what hangs on them trust the index",
            _ => "it has about as many extremes as there are, and the index is of what is further out still",
        };
        Some(format!(
            "law and tail index of {} disagree: the likeliest law {law}, the {} largest values {largest}. A law is chosen \
             by all values, the index by the largest. Beyond {} {} are {seen:.0} values and the law expects {expected:.0}, so \
             {makes}",
            self.name,
            tail.k,
            super::Value::Number(beyond.0),
            self.unit
        ))
    }

    /// That the law that is taken has moments because it is cut ([`Taken`]), where its own are infinite.
    fn hangs_on_the_largest(&self) -> Option<String> {
        let uncut = self.chosen().filter(|fit| self.taken.is_some() && fit.law.variance().is_infinite())?;
        let (largest, _) = self.ccdf.last()?;
        let which = if uncut.law.mean().is_infinite() { "mean" } else { "variance" };
        Some(format!(
            "the law that fits {} has no finite {which}, so the one that is taken is cut at the largest value, {}: its {which} \
             hangs on that one value",
            self.name,
            quantity::format(super::digits(*largest), self.dimension)
        ))
    }

    /// What to beware of.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.not_positive > 0 {
            let all = self.count + self.not_positive;
            remarks.push(format!(
                "{} of {} of {} {} not above 0; laws are fitted to the others",
                self.not_positive,
                count(all, "value"),
                self.name,
                verb(&self.not_positive, "is", "are")
            ));
        }
        if self.count >= 1000 && self.distinct * 10 < self.count {
            remarks.push(format!(
                "{} has {} among {}: they repeat, so no continuous law can be exact",
                self.name,
                count(self.distinct, "different value"),
                self.count
            ));
        }
        remarks.extend(self.hangs_on_the_largest());
        remarks.extend(self.tail_against_law());
        remarks
    }
}

/// Why no continuous law is fitted beside this value, and what is right instead.
fn without_a_law(Atom { value, share }: Atom, dimension: Dimension) -> String {
    format!(
        "{:.1} % of the values are {}, so every continuous law is at least {:.2} off; a `mix` has such values as parts of their \
         own, and `empirical(file = ...)` draws from the numbers themselves",
        share * 100.0,
        quantity::format(super::digits(value), dimension),
        share / 2.0
    )
}

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

fn fits(sorted: &[f64], dimension: Dimension) -> Result<Vec<Fit>, FitError> {
    let mut fits = candidates(sorted, dimension)?;
    if sorted.len() <= BOOTSTRAP_MOST {
        let sample = Sample::new(sorted)?;
        for fit in fits.iter_mut().take(WITH_P_VALUE) {
            let mut stream = Stream::new(1, "bootstrap", fit.family.name());
            fit.p_value = bootstrap(fit, &sample, BOOTSTRAP_DRAWS, &mut stream);
        }
    }
    Ok(fits)
}

/// Why values of which so many are different have no tail index.
fn without_a_tail(distinct: usize) -> String {
    let least = hill::DISTINCT_LEAST;
    match distinct {
        1 => "none: all values are the same".into(),
        few if few < least => format!("none: {few} distinct values, and a tail index needs {least} in the tail"),
        _ => format!("none: the larger half has fewer than {least} distinct values, which a tail index needs"),
    }
}

/// What Hill's plot and the moment estimate say together.
fn tail_in_words(tail: &Tail) -> String {
    let (k, (low, high)) = (tail.k, tail.stable);
    let second = format!(
        "the moment estimate of 1/alpha is {:.2} ({:.2} to {:.2}), Hill's {:.2}",
        tail.moment_gamma,
        tail.moment_ci_low,
        tail.moment_ci_high,
        1.0 / tail.alpha
    );
    match tail.kind {
        Kind::Lighter => return format!("lighter than a power of x, so the index is none: {second}"),
        Kind::Undecided => return format!("{k} large values do not tell a power of x from a lighter tail: {second}"),
        Kind::Power => {}
    }
    let moments = match tail.alpha {
        alpha if alpha <= 1.0 => "no finite mean",
        alpha if alpha <= 2.0 => "no finite variance",
        _ => "finite variance",
    };
    format!("a power of x with {moments}, from the {k} largest values; stable for the {low} to {high} largest")
}
