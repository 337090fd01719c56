//! Simulated intervals beside exact numbers.
//!
//! Where a formula is exact, an interval that does not hold its number is wrong: by chance, as one in twenty at 95 %, because
//! the run is not the long one that the formula is of, or because one of the two is mistaken. A reader who sees both is told
//! how many do not.

use sojourn_stats::{Estimate, Measure};

/// Simulated times are whole nanoseconds: what is off by less than this share is rounded.
const ROUNDING: f64 = 1e-6;

/// What to say where intervals of the simulation do not hold what a formula says; none where all do, or no formula is exact.
pub fn missed(theory: &[Measure], sim: &[Measure]) -> Option<String> {
    let beside = theory.iter().filter_map(|known| {
        let Estimate::Exact { value } = known.estimate else { return None };
        let (low, high) = sim.iter().find(|measured| measured.metric == known.metric)?.estimate.interval()?;
        let rounding = ROUNDING * value.abs();
        Some((low - rounding..=high + rounding).contains(&value))
    });
    let held: Vec<bool> = beside.collect();
    let missed = held.iter().filter(|held| !**held).count();
    (missed > 0).then(|| {
        format!(
            "{missed} of {} intervals do not hold the exact number. Of intervals at 95 % one in twenty does not, and those \
             of one run go wrong together: another --seed draws another run",
            held.len()
        )
    })
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
        assert!(missed(&theory, &sim((2.1, 2.2))).unwrap().starts_with("1 of 2 intervals do not hold"));
        assert_eq!(missed(&theory, &sim((2.000_000_5, 2.000_000_5))), None, "rounded to nanoseconds");
        assert_eq!(missed(&theory, &[Measure::new("a", "s", Estimate::TooFew { samples: 3 })]), None);
    }
}
