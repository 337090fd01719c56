//! The law of gaps that are shorter than the step of a log's times: by how much the requests in each step vary.

use sojourn_stats::{Dimension, Law, quantity};

use super::super::digits;
use super::super::rate::are_too_even;
use crate::words::{count, verb};

/// Steps from which the variance of the requests in each is taken.
const STEPS_LEAST: f64 = 20.0;
/// Standard errors by which a dispersion is off by chance.
const CHANCE: f64 = 3.0;
/// Into so many parts the time is cut to see whether the requests vary as much in all of them.
const REGIMES: usize = QUARTERS.len();
const QUARTERS: [&str; 4] = ["first", "second", "third", "last"];
/// Gaps that vary less are all alike.
const EVEN: f64 = 0.05;

/// The law of the gaps.
pub(super) struct GapLaw {
    /// As it is written, of a mean of 1 s where it is of counts.
    pub(super) law: Law,
    /// How good it is.
    pub(super) said: String,
}

impl GapLaw {
    /// Of gaps shorter than the log's step, from the requests in each step: those of a renewal process have, over many gaps, the
    /// variance over the mean that its gaps have over their squared mean (Cox, Renewal Theory, 1962, section 4.4). The variance
    /// is that of neighbours, which a rate that changes slowly leaves alone (von Neumann, Annals of Mathematical Statistics 12,
    /// 1941). All steps are whole ones.
    pub(super) fn of_counts(counts: &[u64], step_s: f64) -> GapLaw {
        let (steps, dispersion) = (counts.len() as f64, dispersion(counts));
        let by_chance = CHANCE * (3.0 / steps.max(1.0)).sqrt();
        let step = quantity::format(digits(step_s), Dimension::Time);
        // That counts are too even shows in few of them, too.
        let is_even = dispersion < 1.0 && are_too_even(counts);
        let (cv, found) = if !is_even && steps < STEPS_LEAST {
            let (counted, are) = (count(counts.len(), "step"), verb(&counts.len(), "is", "are"));
            (1.0, format!("{counted} {are} too few to tell from the requests in each: taken to be exponential"))
        } else if !is_even && (dispersion - 1.0).abs() <= by_chance {
            (
                1.0,
                format!(
                    "the requests in each vary as those of a Poisson process do (variance over mean {dispersion:.3})"
                ),
            )
        } else {
            let way = if dispersion < 1.0 { "less" } else { "more" };
            let found = format!(
                "the requests in each vary {way} than those of a Poisson process do (variance over mean {dispersion:.3}, where \
                 it has 1), and the law's variance is as many times its squared mean"
            );
            (dispersion.sqrt(), found)
        };
        let named = |name: &str| format!("{name}(mean = 1 s, cv = {})", digits(cv));
        let text = match cv {
            1.0 => "exponential(mean = 1 s)".to_owned(),
            even if even < EVEN => "constant(1 s)".to_owned(),
            less if less < 1.0 => named("gamma"),
            _ => named("hyperexponential"),
        };
        let law = Law::parse(&text, Dimension::Time).expect("a law with a mean and a coefficient of variation");
        let regimes = regimes(counts).map_or(String::new(), |said| format!(" {said}"));
        let said = format!(
            "They are shorter than the log's steps of {step}, in which requests are put by chance: {found}.{regimes}"
        );
        GapLaw { law, said }
    }
}

/// Variance over mean of counts, the variance as that of neighbours.
fn dispersion(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    let squares: f64 = counts.windows(2).map(|two| (two[0] as f64 - two[1] as f64).powi(2)).sum();
    squares / (2.0 * (counts.len() as f64 - 1.0).max(1.0)) / mean.max(f64::MIN_POSITIVE)
}

/// That counts vary more at one time than at another, by more than chance: one law is then none of both.
fn regimes(counts: &[u64]) -> Option<String> {
    let length = counts.len() / REGIMES;
    if (length as f64) < STEPS_LEAST {
        return None;
    }
    let all: Vec<f64> = counts.chunks_exact(length).take(REGIMES).map(dispersion).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let by_chance = CHANCE * (3.0 / length as f64).sqrt() * least.hypot(most);
    (most - least > by_chance).then(|| {
        let quarter = |value: f64| all.iter().position(|of| *of == value).map_or("", |at| QUARTERS[at]);
        format!(
            "It is not so all along: {least:.3} in the {} quarter of the time, {most:.3} in the {}; one law stands for both.",
            quarter(least),
            quarter(most)
        )
    })
}
