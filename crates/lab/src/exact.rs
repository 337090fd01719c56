//! Simulated intervals beside exact numbers.
//!
//! Where a formula is exact, an interval that does not hold its number is wrong: by chance, as one in twenty at 95 %, because
//! the run is not the long one that the formula is of, or because one of the two is mistaken. A reader who sees both is told
//! how many do not.

use sojourn_stats::{Estimate, Measure};

/// Simulated times are whole nanoseconds: what is off by less than this share is rounded.
const ROUNDING: f64 = 1e-6;

/// What stands before the metrics whose intervals do not hold it.
const MISSED: &str = " intervals do not hold the exact number: ";
/// What to think of it.
const WHY: &str = "Of intervals at 95 % one in twenty does not, and those of one run go wrong together: another --seed draws \
                   another run";
/// Metrics that are named of several variants.
const MOST_NAMED: usize = 6;

/// What to say where intervals of the simulation do not hold what a formula says, with their metrics; none where all do, or no
/// formula is exact.
pub fn missed(theory: &[Measure], sim: &[Measure]) -> Option<String> {
    let beside = theory.iter().filter_map(|known| {
        let Estimate::Exact { value } = known.estimate else { return None };
        let (low, high) = sim.iter().find(|measured| measured.metric == known.metric)?.estimate.interval()?;
        let rounding = ROUNDING * value.abs();
        Some((known.metric.as_str(), (low - rounding..=high + rounding).contains(&value)))
    });
    let beside: Vec<(&str, bool)> = beside.collect();
    let missed: Vec<&str> = beside.iter().filter(|(_, held)| !held).map(|(metric, _)| *metric).collect();
    (!missed.is_empty()).then(|| format!("{} of {}{MISSED}{}. {WHY}", missed.len(), beside.len(), missed.join(", ")))
}

/// Whether a note is one of [`missed`].
pub(crate) fn is_missed(note: &str) -> bool {
    Missed::read(note).is_some()
}

/// Several notes of [`missed`] as one, each with the numbers of its variants: how often which metric is missed, and where most
/// are. `label` is what a variant is called. None of other notes.
pub(crate) fn of_several<'a>(notes: &[(&str, Vec<usize>)], label: impl Fn(usize) -> &'a str) -> Option<String> {
    let mut often: Vec<(&str, usize)> = Vec::new();
    let mut most: Option<(Missed<'_>, usize)> = None;
    for (note, variants) in notes {
        let missed = Missed::read(note)?;
        for metric in &missed.metrics {
            match often.iter_mut().find(|(of, _)| of == metric) {
                Some((_, times)) => *times += variants.len(),
                None => often.push((*metric, variants.len())),
            }
        }
        if most.as_ref().is_none_or(|(most, _)| missed.share() > most.share()) {
            most = Some((missed, *variants.first()?));
        }
    }
    let (Missed { missed, of, .. }, variant) = most?;
    often.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let named: Vec<String> =
        often.iter().take(MOST_NAMED).map(|(metric, times)| format!("{metric} in {times}")).collect();
    let more = match often.len() - named.len() {
        0 => String::new(),
        more => format!(", and {more} more metrics"),
    };
    let all: usize = notes.iter().map(|(_, variants)| variants.len()).sum();
    Some(format!(
        "in {all} variants{MISSED}{}{more}; most in {}, {missed} of {of}. {WHY}",
        named.join(", "),
        label(variant)
    ))
}

/// A note of [`missed`], read.
struct Missed<'a> {
    missed: usize,
    /// Intervals in all.
    of: usize,
    metrics: Vec<&'a str>,
}

impl<'a> Missed<'a> {
    fn read(note: &'a str) -> Option<Missed<'a>> {
        let (counts, behind) = note.split_once(MISSED)?;
        let (missed, of) = counts.split_once(" of ")?;
        let (metrics, _) = behind.split_once(". ")?;
        Some(Missed { missed: missed.parse().ok()?, of: of.parse().ok()?, metrics: metrics.split(", ").collect() })
    }

    fn share(&self) -> f64 {
        self.missed as f64 / self.of as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_do_not_hold_the_exact_number_are_counted() {
        let exact = |metric: &str, value: f64| Measure::new(metric, "s", Estimate::Exact { value });
        let sampled = |metric: &str, ci_low: f64, ci_high: f64| {
            Measure::new(metric, "s", Estimate::Sampled { value: ci_low, ci_low, ci_high, samples: 99 })
        };
        let theory = [
            exact("a", 1.0),
            exact("b", 2.0),
            exact("alone", 1.0),
            Measure::new("c", "s", Estimate::Approximate { value: 9.0 }),
        ];
        let sim = |b: (f64, f64)| [sampled("a", 0.9, 1.1), sampled("b", b.0, b.1), sampled("c", 1.0, 2.0)];
        assert_eq!(missed(&theory, &sim((1.9, 2.1))), None);
        let told = missed(&theory, &sim((2.1, 2.2))).unwrap();
        assert!(told.starts_with("1 of 2 intervals do not hold the exact number: b. Of intervals"), "{told}");
        assert_eq!(missed(&theory, &sim((2.000_000_5, 2.000_000_5))), None, "rounded to nanoseconds");
        assert_eq!(missed(&theory, &[Measure::new("a", "s", Estimate::TooFew { samples: 3 })]), None);
    }

    /// Of many variants it is told how often which metric is missed, and where most are: not "1 to 3 of 4 to 9".
    #[test]
    fn what_several_variants_miss_is_counted() {
        let note = |missed: &[&str], of: usize| {
            let exact = |metric: String| Measure::new(metric, "s", Estimate::Exact { value: 1.0 });
            let sampled = |metric: String, ci_low: f64| {
                Measure::new(metric, "s", Estimate::Sampled { value: ci_low, ci_low, ci_high: 3.0, samples: 99 })
            };
            let others = || (missed.len()..of).map(|number| format!("other_p99.{number}"));
            let all = || missed.iter().map(|metric| (*metric).to_owned());
            let theory: Vec<Measure> = all().chain(others()).map(exact).collect();
            let sim = all().map(|metric| sampled(metric, 2.0)).chain(others().map(|metric| sampled(metric, 0.5)));
            super::missed(&theory, &sim.collect::<Vec<_>>()).unwrap()
        };
        let (one, two) = (note(&["mean_p99.9"], 4), note(&["mean_p99.9", "rate", "load"], 9));
        let notes = [(&one[..], vec![0, 3, 4]), (&two[..], vec![1])];
        let told = of_several(&notes, |variant| ["a", "b", "c", "d", "e"][variant]).unwrap();
        let expected = "in 4 variants intervals do not hold the exact number: mean_p99.9 in 4, rate in 1, load in 1; most in b, \
                        3 of 9. Of intervals at 95 %";
        assert!(told.starts_with(expected), "{told}");
        let many = note(&["a", "b", "c", "d", "e", "f", "g", "h"], 9);
        let told = of_several(&[(&many[..], vec![0])], |_| "x").unwrap();
        assert!(told.contains("f in 1, and 2 more metrics; most in x, 8 of 9."), "{told}");
        assert_eq!(of_several(&[("another note", vec![0])], |_| "x"), None);
    }
}
