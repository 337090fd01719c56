//! A cycle: frequencies that stand out of the periodogram, as those of a day or a week do.

use super::Estimate;
use super::periodogram::Bins;
use super::whittle::{Fit, Model, fit};

/// A cycle that the series goes through four times or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// Numbers in a cycle.
    pub period: f64,
    /// Whittle's H without it and the overtones that stand out too.
    pub without: Estimate,
}

/// Frequencies on either side that say how high a frequency should be; the nearest one catches what spills over.
const REACH: usize = 10;
const SPILL: usize = 1;
/// The lowest frequencies belong to trends and shifts.
const LOWEST: usize = 4;
/// Chance that a series without a cycle shows one.
const BY_CHANCE: f64 = 1e-6;
const MOST: usize = 32;

/// The strongest one among the frequencies that have a bin of their own. Power over the density that was fitted is close
/// to exponential, and so over the mean of k neighbours it is beyond x with chance (1 + x / k)^-k.
pub(super) fn find(bins: &mut Bins, fitted: &Fit, points: usize) -> Option<Cycle> {
    let densities = fitted.densities(bins);
    let alone = bins.bins.iter().take_while(|bin| bin.count == 1.0).count();
    let mut ratios: Vec<f64> = bins.bins[..alone].iter().zip(&densities).map(|(bin, d)| bin.power / d).collect();
    let mut period = None;
    for _ in 0..MOST {
        let Some((at, level)) = highest(&ratios) else { break };
        period.get_or_insert(points as f64 / (at + 1) as f64);
        for spilt in at - SPILL..=(at + SPILL).min(alone - 1) {
            ratios[spilt] = ratios[spilt].min(level);
            bins.bins[spilt].power = ratios[spilt] * densities[spilt];
        }
    }
    Some(Cycle { period: period?, without: fit(bins, Model::Fgn).estimate() })
}

/// The frequency that stands out most, if that is beyond chance, and the level of those around it.
fn highest(ratios: &[f64]) -> Option<(usize, f64)> {
    let frequencies = ratios.len() as f64;
    let chance = |at: usize| {
        let around = (at.saturating_sub(REACH)..(at + REACH + 1).min(ratios.len())).filter(|i| i.abs_diff(at) > SPILL);
        let (sum, count) = around.fold((0.0, 0.0), |(sum, count), i| (sum + ratios[i], count + 1.0));
        let level = sum / count;
        ((1.0 + ratios[at] / sum).powf(-count) * frequencies, at, level)
    };
    let candidates = (LOWEST - 1..ratios.len()).map(chance);
    let (chance, at, level) = candidates.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (chance < BY_CHANCE).then_some((at, level))
}
