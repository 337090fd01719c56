//! Durations in a histogram of high dynamic range: flat memory, merged across threads without loss.

use hdrhistogram::Histogram as Hdr;
use sojourn_stats::Span;

/// Values up to 32 us are kept to 16 ns, larger ones to one part in a thousand, up to an hour (clipped there).
#[derive(Clone, Debug)]
pub(crate) struct Histogram(Hdr<u32>);

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram(Hdr::new_with_bounds(16, 3_600_000_000_000, 3).expect("constant bounds that hdrhistogram takes"))
    }

    #[inline]
    pub(crate) fn record(&mut self, value: Span) {
        self.0.saturating_record(value.0);
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.0.add(&other.0).expect("both have the same bounds");
    }

    pub(crate) fn samples(&self) -> u64 {
        self.0.len()
    }

    /// The `q`-quantile in seconds.
    pub(crate) fn quantile_s(&self, q: f64) -> f64 {
        self.0.value_at_quantile(q.clamp(0.0, 1.0)) as f64 * 1e-9
    }

    /// How many values are at most `seconds`.
    pub(crate) fn at_most(&self, seconds: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.count_between(0, (seconds * 1e9).round() as u64) }
    }

    pub(crate) fn mean_s(&self) -> f64 {
        self.0.mean() * 1e-9
    }

    /// The distribution function as (seconds, probability), at most about 400 points: finer towards the tail, so that
    /// a logarithmic axis has points there too.
    pub(crate) fn cdf(&self) -> Vec<(f64, f64)> {
        let all = self.samples() as f64;
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut below = 0u64;
        let mut shown = -1.0;
        for step in self.0.iter_recorded() {
            below += step.count_since_last_iteration();
            let probability = below as f64 / all;
            let coarse = (0.05 * (1.0 - probability)).clamp(0.0, 0.005);
            if probability - shown > coarse || below == self.samples() {
                points.push((step.value_iterated_to() as f64 * 1e-9, probability));
                shown = probability;
            }
        }
        points
    }
}
