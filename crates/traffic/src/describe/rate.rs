//! How many came when, and whether the rate changes by more than chance.
//!
//! [`profiled`] cuts the time into equal parts and asks whether their counts differ by more than a constant rate would
//! make them (chi-squared over its degrees of freedom), and by more than bursts that are shorter than a part do: how much these
//! make is seen inside of the parts. Otherwise the same bursts would be written twice, as levels and in the law of the gaps.
//! If so the parts' levels are a profile, and the gaps are given in
//! the time in which the rate is 1, which is what a process shaped by [`crate::Profile`] draws from: a day's rise and fall
//! is then in the profile, and the law of the gaps has what is left. Burstiness that lasts as long as a part goes into the
//! profile as well: that is the price of not knowing it from the time of day.

use serde::Serialize;
use sojourn_stats::{Dimension, Law};

/// Lengths that a part may have (s).
const LENGTHS_S: [f64; 15] =
    [0.01, 0.1, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 86_400.0, 604_800.0];
/// Points of a plot of the rate at most.
const BINS_MOST: f64 = 400.0;
/// Levels of a profile at most: a day by the hour, two days too.
const LEVELS_MOST: f64 = 48.0;
/// And at least: fewer are no shape.
const LEVELS_LEAST: usize = 4;
/// Requests in a part on average; with fewer its level is noise.
const PER_LEVEL_LEAST: f64 = 100.0;
/// Counts of parts that vary so many times as much as a constant Poisson rate's, or as those inside of their part where
/// these vary more than Poisson's, are a profile: chance gives no such thing.
const DISPERSION_LEAST: f64 = 5.0;
/// Into so many a part is cut to see how much counts vary inside of it.
const CUTS: usize = 10;
/// Counts of a Poisson process are as even as those that are called too even by no greater chance: that of being three standard
/// errors below the mean. One in 741 logs of independent arrivals is.
const EVEN_BY_CHANCE: f64 = 0.00135;

/// Counts over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Length of a part (s).
    pub bin_s: f64,
    /// How many came in each; the last part may be cut short.
    pub counts: Vec<u64>,
    /// When the first begins, as text, where that is known.
    pub start: Option<String>,
    /// Seconds from midnight to the start, where that is known: for a scale that shows the time of day.
    pub start_of_day_s: Option<f64>,
}

/// Arrivals as a profile and the gaps that are left.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiled {
    /// Length of each level (s).
    pub every_s: f64,
    /// The levels: rate over mean rate. Empty where the rate is constant as far as one can see.
    pub levels: Vec<f64>,
    /// The instants (s) at level 1: where the integral of the levels has got to.
    pub instants_s: Vec<f64>,
    /// The gaps (s) between them.
    pub gaps_s: Vec<f64>,
}

impl Rate {
    /// Of instants (s from the start, in order) within `span_s`.
    pub fn of(instants_s: &[f64], span_s: f64) -> Rate {
        let bin_s = length(span_s, BINS_MOST);
        Rate { bin_s, counts: counts(instants_s, span_s, bin_s), start: None, start_of_day_s: None }
    }
}

/// Arrivals at these instants (s from the start, in order), which are known to `finest_s`, within `span_s`, as a profile
/// and gaps.
pub fn profiled(instants_s: &[f64], span_s: f64, finest_s: f64) -> Profiled {
    let n = instants_s.len() as f64;
    let most = LEVELS_MOST.min(n / PER_LEVEL_LEAST);
    // Within a step of the clock instants are made up, so that a part has several.
    let most = if finest_s > 0.0 { most.min(span_s / (CUTS as f64 * finest_s)) } else { most };
    let every_s = length(span_s, most.max(1.0));
    let within = dispersions_within(instants_s, span_s, every_s);
    let counts = counts(instants_s, span_s, every_s);
    // The last part may be cut short.
    let lengths_s: Vec<f64> =
        (0..counts.len()).map(|part| every_s.min(span_s - part as f64 * every_s).max(every_s * 1e-9)).collect();
    let rate = n / span_s;
    let off: f64 = counts
        .iter()
        .zip(&lengths_s)
        .zip(&within)
        .map(|((count, length_s), within)| (*count as f64 - rate * length_s).powi(2) / (rate * length_s * within))
        .sum();
    let changes = counts.len() >= LEVELS_LEAST && off / (counts.len() - 1) as f64 > DISPERSION_LEAST;
    let with = |levels: Vec<f64>, instants_s: Vec<f64>| {
        let gaps_s = instants_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
        Profiled { every_s, levels, instants_s, gaps_s }
    };
    if !changes {
        return with(Vec::new(), instants_s.to_vec());
    }
    // To three digits, as they are written: what is drawn from them is then what was fitted.
    let level = |count: u64, length_s: f64| (count as f64 / (rate * length_s) * 1e3).round() / 1e3;
    let levels: Vec<f64> = counts.iter().zip(&lengths_s).map(|(count, length_s)| level(*count, *length_s)).collect();
    let mut integral_s = 0.0;
    let starts: Vec<f64> = levels
        .iter()
        .map(|level| {
            let start = integral_s;
            integral_s += level * every_s;
            start
        })
        .collect();
    let at_level_1 = |instant_s: &f64| {
        let part = ((instant_s / every_s) as usize).min(levels.len() - 1);
        starts[part] + levels[part] * (instant_s - part as f64 * every_s)
    };
    let moved = instants_s.iter().map(at_level_1).collect();
    with(levels, moved)
}

/// Whether the gaps of so many arrivals within `span_s` are known, where instants have steps of `step_s`: of shorter ones the
/// steps tell nothing, and their law is that of the counts.
pub(super) fn gaps_are_known(arrivals: usize, span_s: f64, step_s: f64) -> bool {
    span_s / arrivals as f64 >= step_s
}

/// Whether `span_s` is long enough for [`profiled`] to tell a rate that changes, with levels as long as it has found.
pub(super) fn would_tell_a_change(span_s: f64, every_s: f64) -> bool {
    (span_s / every_s - 1e-9).ceil() >= LEVELS_LEAST as f64
}

/// How many came in each step of `step_s` that is whole within `span_s`.
pub(super) fn whole_counts(instants_s: &[f64], span_s: f64, step_s: f64) -> Vec<u64> {
    let mut counts = counts(instants_s, span_s, step_s);
    counts.truncate((span_s / step_s + 1e-9) as usize);
    counts
}

/// Whether counts of equal periods are more even than those of independent arrivals at a constant rate are by chance, by the
/// index of dispersion: the squares of their distances from their mean, over the mean, have a chi-squared law (Cox and Lewis, The
/// Statistical Analysis of Series of Events, 1966, section 6.3). A rate that changes makes counts less even, never more.
pub(super) fn are_too_even(counts: &[u64]) -> bool {
    let (periods, arrivals) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
    if counts.len() < 2 || arrivals == 0.0 {
        return false;
    }
    let mean = arrivals / periods;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    // The law is of a continuous quantity, and counts are whole numbers: that they are all the same has a chance. Each may be off
    // by a half, whose square is a quarter.
    let index = (squares + periods / 4.0) / mean;
    let degrees = periods - 1.0;
    let chi_squared = || {
        let text = format!("gamma(shape = {}, scale = 2)", degrees / 2.0);
        Law::parse(&text, Dimension::Number).expect("a chi-squared law")
    };
    index < degrees && chi_squared().cdf(index) < EVEN_BY_CHANCE
}

/// Of each part of `every_s` the variance over mean of the counts in its [`CUTS`] cuts, about their own mean, or 1 where it is
/// less. Bursts of one time say nothing of another, so that each part is judged by its own.
fn dispersions_within(instants_s: &[f64], span_s: f64, every_s: f64) -> Vec<f64> {
    let of_part = |part: &[u64]| {
        let mean = part.iter().sum::<u64>() as f64 / part.len() as f64;
        let squares: f64 = part.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
        let degrees = (part.len() as f64 - 1.0).max(1.0);
        if mean > 0.0 { (squares / degrees / mean).max(1.0) } else { 1.0 }
    };
    counts(instants_s, span_s, every_s / CUTS as f64).chunks(CUTS).map(of_part).collect()
}

/// The shortest round length of which `span_s` has at most about `most`.
pub(super) fn length(span_s: f64, most: f64) -> f64 {
    LENGTHS_S.into_iter().find(|length_s| span_s / length_s <= most).unwrap_or(span_s / most)
}

/// How many of the instants (s from the start) are in each period of `every_s` within `span_s`; the last may be cut short.
pub fn counts(instants_s: &[f64], span_s: f64, every_s: f64) -> Vec<u64> {
    let parts = ((span_s / every_s) - 1e-9).ceil().max(1.0) as usize;
    let mut counts = vec![0; parts];
    for instant_s in instants_s {
        counts[((instant_s / every_s) as usize).min(parts - 1)] += 1;
    }
    counts
}

/// `1 h`, `30 min`, `10 s`.
pub(super) fn length_in_words(length_s: f64) -> String {
    match length_s {
        hours if hours >= 3600.0 && hours % 3600.0 == 0.0 => format!("{} h", hours / 3600.0),
        minutes if minutes >= 60.0 && minutes % 60.0 == 0.0 => format!("{} min", minutes / 60.0),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance of all that four periods of 300 independent arrivals each can have: what is called too even has no greater one
    /// than is said, and one near it. Of few counts, or small ones, nothing is too even.
    #[test]
    fn independent_arrivals_are_too_even_as_rarely_as_is_said() {
        let ln_factorial = |n: u64| (1..=n).map(|k| (k as f64).ln()).sum::<f64>();
        let near = || 292..=308_u64;
        let mut chance = 0.0;
        for (one, two) in near().flat_map(|one| near().map(move |two| (one, two))) {
            for three in near() {
                let counts = [one, two, three, 1200 - one - two - three];
                if are_too_even(&counts) {
                    let ways = ln_factorial(1200) - counts.iter().map(|count| ln_factorial(*count)).sum::<f64>();
                    chance += (ways - 1200.0 * 4_f64.ln()).exp();
                }
            }
        }
        assert!((EVEN_BY_CHANCE / 2.0..=EVEN_BY_CHANCE).contains(&chance), "{chance}");
        assert!(are_too_even(&[300; 3]) && !are_too_even(&[290, 300, 310]));
        assert!(!are_too_even(&[300; 2]) && !are_too_even(&[1; 6]) && !are_too_even(&[0; 3]) && !are_too_even(&[]));
    }
}
