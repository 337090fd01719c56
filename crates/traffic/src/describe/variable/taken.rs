//! Which law is taken of a quantity: the one that a description tells beside its table of laws, and that a workload is written
//! with. It is decided here alone.
//!
//! The exponential is taken where the values do not reject it, since it is the simplest; else the likeliest of those that are
//! nearest to the data, or as near. One of infinite variance is cut at the largest value, since no run of any length would settle
//! with it. Where single values make so large a part that no continuous law comes near, rounded or not, they are parts of a
//! mixture.

use serde::{Serialize, Serializer};
use sojourn_stats::fit::{Family, Fit, LEAST};
use sojourn_stats::{Dimension, Law, goodness};

use super::{Atom, Cells, Variable, capital};

/// A value that makes such a part of all is written as a part of its own, where any is large enough to.
const OFTEN: f64 = 0.05;
/// What [`stephens`] exceeds for one sample in a hundred of an exponential law.
const REJECTED: f64 = 1.308;
/// Distances (times the square root of the number of values) from two laws that differ by no more are as good: chance alone
/// moves a distance by about as much.
const AS_NEAR: f64 = 0.5;

/// The law that is taken of a quantity.
#[derive(Clone, Debug, Serialize)]
pub struct Taken {
    /// As it is written.
    #[serde(serialize_with = "as_text")]
    pub law: Law,
    /// Largest difference between the data's distribution function and its own.
    pub kolmogorov: f64,
    /// Why it is none of the laws that were fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

impl Taken {
    /// The law of a quantity with these positive values in their order, of so many values in all; none where there is none.
    pub(super) fn of(variable: &Variable, sorted: &[f64], values: usize) -> Option<Taken> {
        let Some(fit) = variable.chosen() else { return mixture(variable, sorted, values) };
        if fit.law.variance().is_finite() {
            return Some(Taken { law: fit.law.clone(), kolmogorov: fit.kolmogorov, said: None });
        }
        let largest = in_unit(*sorted.last()?, variable);
        let text = fit.law.to_string();
        let inner = text.strip_suffix(')')?;
        let law = Law::parse(&format!("{inner}, max = {largest})"), variable.dimension).ok()?;
        let said =
            format!("The variance of the law that is taken is infinite, so it is cut at the largest value, {largest}.");
        Some(Taken { kolmogorov: distance(sorted, &law), law, said: Some(said) })
    }

    /// Of a law of rounded values: its distance at the ends of their cells, and that it is taken there.
    pub(super) fn judge_by(&mut self, cells: &Cells) {
        self.kolmogorov = cells.distance(&self.law);
        let how = "Single values are large parts of all, but as a continuous law rounded to the step has them: laws are fitted \
                   to the counts of the steps, that of 0 among them, and distances are taken at their ends.";
        self.said = Some(self.said.take().map_or(how.to_owned(), |said| format!("{said} {how}")));
    }
}

impl Variable {
    /// The law that was fitted and is taken: the exponential where the values do not reject it, since it is the simplest; else
    /// the likeliest of those whose distance is the least, or as near as that. None where there is none.
    pub fn chosen(&self) -> Option<&Fit> {
        let exponential = self.fits.iter().find(|fit| fit.family == Family::Exponential);
        if let Some(fit) = exponential.filter(|fit| self.is_exponential(fit)) {
            return Some(fit);
        }
        let least = self.fits.iter().map(|fit| fit.kolmogorov).reduce(f64::min)?;
        self.fits.iter().find(|fit| fit.kolmogorov <= least + self.as_near())
    }

    /// Which law is taken in the place of the likeliest and why, in a sentence with a space behind it; nothing where it is the
    /// likeliest.
    pub(super) fn taken_in_words(&self) -> String {
        let (Some(best), Some(taken)) = (self.fits.first(), self.chosen()) else { return String::new() };
        let name = capital(taken.family.name());
        match taken.family == best.family {
            true => String::new(),
            false if self.is_exponential(taken) => format!(
                "{name}, within {:.4}, is what `fit` takes, since it is simpler than the likeliest law and the values do not \
                 reject it: Stephens's D* is {:.2}, and one sample in a hundred of an exponential law has more than {REJECTED}. ",
                taken.kolmogorov,
                stephens(taken.kolmogorov, self.count)
            ),
            false => format!(
                "{name} is nearer, within {:.3}, and is what `fit` takes in place of the likeliest law: it is the likeliest of \
                 those that are within {:.3} of the nearest. ",
                taken.kolmogorov,
                self.as_near()
            ),
        }
    }

    /// Whether a law is the exponential, and the values do not reject it.
    fn is_exponential(&self, fit: &Fit) -> bool {
        fit.family == Family::Exponential && stephens(fit.kolmogorov, self.count) <= REJECTED
    }

    /// Distances that differ by no more are as good.
    fn as_near(&self) -> f64 {
        AS_NEAR / (self.count as f64).sqrt()
    }
}

/// Kolmogorov's distance of `n` values from the exponential law of their mean as Stephens scales it, so that its distribution
/// hardly depends on `n` (EDF statistics for goodness of fit and some comparisons, JASA 69, 1974, table 1A).
fn stephens(distance: f64, n: u64) -> f64 {
    let n = n as f64;
    (distance - 0.2 / n) * (n.sqrt() + 0.26 + 0.5 / n.sqrt())
}

/// Values that occur often as parts of their own, and a law of the others, if there are any; none where no value does.
fn mixture(variable: &Variable, sorted: &[f64], values: usize) -> Option<Taken> {
    let mut rest = sorted.to_vec();
    let all = rest.len() as f64;
    let mut parts: Vec<(f64, String)> = Vec::new();
    // Among what is left there may be such values again.
    while Atom::of(&rest).is_some_and(|atom| atom.is_large()) || (!parts.is_empty() && (1..LEAST).contains(&rest.len()))
    {
        let least = if rest.len() < LEAST { 0.0 } else { OFTEN * rest.len() as f64 };
        let is_often = |same: &&[f64]| same.len() as f64 >= least;
        let same: Vec<&[f64]> = rest.chunk_by(|one, other| one == other).collect();
        parts.extend(
            same.iter().filter(|same| is_often(same)).map(|same| (same.len() as f64, in_unit(same[0], variable))),
        );
        rest = same.into_iter().filter(|same| !is_often(same)).flatten().copied().collect();
    }
    if parts.is_empty() || values < LEAST {
        return None;
    }
    let mut law_of_rest = String::new();
    if !rest.is_empty() {
        let of_rest = Variable::of(variable.name, variable.title, &rest, variable.dimension);
        law_of_rest = format!(" The law of the others: {}", of_rest.verdict());
        parts.push((rest.len() as f64, of_rest.taken?.law.to_string()));
    }
    let single = parts.len() - usize::from(!rest.is_empty());
    let said = format!("Each of {single} values that occur often is a part of its own.{law_of_rest}");
    let law = match &parts[..] {
        [(_, only)] => only.clone(),
        several => format!("mix({})", weighted(several, all)),
    };
    let law = Law::parse(&law, variable.dimension).ok()?;
    let said = (single > 1 || !rest.is_empty()).then_some(said);
    Some(Taken { kolmogorov: distance(sorted, &law), law, said })
}

/// The parts of a mixture with their weights, which sum to 1 as they are written.
fn weighted(parts: &[(f64, String)], all: f64) -> String {
    let millionths = |count: f64| (count / all * 1e6).round().max(1.0);
    let others: f64 = parts[1..].iter().map(|(count, _)| millionths(*count)).sum();
    let weights = std::iter::once(1e6 - others).chain(parts[1..].iter().map(|(count, _)| millionths(*count)));
    let parts = weights.zip(parts).map(|(weight, (_, law))| format!("{}: {law}", weight / 1e6));
    parts.collect::<Vec<_>>().join(", ")
}

/// A value as laws have it: `612 B`.
fn in_unit(value: f64, variable: &Variable) -> String {
    match variable.dimension {
        Dimension::Number => value.to_string(),
        _ => format!("{value} {}", variable.unit),
    }
}

/// Kolmogorov's distance of these values from a law that may have jumps.
fn distance(values: &[f64], law: &Law) -> f64 {
    goodness::kolmogorov(values, |x| law.cdf(x)).distance
}

fn as_text<S: Serializer>(law: &Law, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(law)
}
