//! How requests spread over objects.

use serde::Serialize;
use sojourn_stats::fit::zipf::{self, Zipf};

use super::{Facts, log_spaced};

/// Points of the rank-frequency curve that are kept for a plot.
const POINTS: usize = 300;

/// Of fewer objects ranks make no law.
const OBJECTS_LEAST: usize = 10;
/// With a smaller exponent popularity is as good as even: no cache and no balance hangs on it.
const ZIPF_LEAST: f64 = 0.1;
/// Standard deviations of chi-squared that chance does not reach.
const SURE: f64 = 5.0;

/// How concentrated requests are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Popularity {
    /// Objects asked for.
    pub objects: u64,
    /// Requests for them.
    pub requests: u64,
    /// Zipf's law, fitted.
    pub zipf: Option<Zipf>,
    /// Points (rank from 1, requests).
    pub ranks: Vec<(u64, u64)>,
    /// Whether requests spread over the objects as evenly as by chance.
    pub even: bool,
    /// Share of the objects that were asked for once.
    pub once: f64,
    /// Share of the requests that goes to the tenth of the objects (rounded up) that is asked for most.
    pub top_tenth: f64,
}

impl Popularity {
    /// Of requests by object, in any order.
    pub fn of(mut counts: Vec<u64>) -> Popularity {
        counts.retain(|count| *count > 0);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let (objects, requests) = (counts.len(), counts.iter().sum::<u64>());
        let top: u64 = counts.iter().take(objects.div_ceil(10)).sum();
        Popularity {
            objects: objects as u64,
            requests,
            zipf: zipf::fit(&counts).filter(|_| objects >= OBJECTS_LEAST),
            even: is_even(&counts, requests),
            ranks: log_spaced(objects, POINTS).into_iter().map(|place| (place as u64 + 1, counts[place])).collect(),
            once: counts.iter().filter(|count| **count == 1).count() as f64 / objects as f64,
            top_tenth: top as f64 / requests as f64,
        }
    }

    /// The exponent of Zipf's law, where some objects are clearly more popular than others.
    pub(super) fn exponent(&self) -> Option<f64> {
        let zipf = self.zipf.as_ref().filter(|zipf| !self.even && zipf.s >= ZIPF_LEAST)?;
        Some(zipf.s)
    }

    pub(super) fn tell(&self, facts: &mut Facts) {
        facts.number("top_tenth_of_paths_share", self.top_tenth, "1");
        facts.number("paths_asked_once_share", self.once, "1");
        if let Some(zipf) = &self.zipf {
            facts.number("zipf_exponent", zipf.s, "1");
            facts.text("zipf_exponent_interval", format!("{:.4} to {:.4}", zipf.ci_low, zipf.ci_high));
            facts.number("zipf_distance", zipf.kolmogorov, "1");
        }
    }
}

/// Whether objects that are all as popular would give such counts: chi-squared of the counts about their mean is then near one
/// less than there are.
fn is_even(counts: &[u64], requests: u64) -> bool {
    let free = counts.len() as f64 - 1.0;
    let mean = requests as f64 / counts.len() as f64;
    let off: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum();
    off <= free + SURE * (2.0 * free).sqrt()
}
