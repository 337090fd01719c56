//! His traffic: laws of gaps and demands at an equal mean, drawn from common random numbers as his generator drew
//! them.

use sojourn_stats::{Fgn, Stream};

/// A law of gaps or of demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Series {
    Exponential,
    /// Of this index.
    Pareto(f64),
    /// Fractional Gaussian noise of this H, shifted up by its smallest value (gaps only).
    Noise(f64),
}

use Series::{Exponential, Noise, Pareto};

/// The laws of Table 6.1, in the order of his tables.
pub(super) const LAWS: [Series; 5] = [Exponential, Pareto(2.01), Pareto(2.2), Pareto(2.4), Pareto(2.6)];
/// The arrivals of Table 6.2.
pub(super) const NOISES: [Series; 4] = [Noise(0.5), Noise(0.6), Noise(0.7), Noise(0.8)];

/// His mean service time and utilisation (equations 7.2 and 7.3).
pub(super) const SERVICE_S: f64 = 0.09;
pub(super) const UTILIZATION: f64 = 0.95;
/// Service level targets: the share of requests that are answered within them. The first two are his.
pub(super) const TARGETS: [(&str, f64); 4] = [("p80", 0.8), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];
/// Requests of a cell.
pub(super) const REQUESTS: usize = 100_000;

impl Series {
    /// Its name in a table.
    pub(super) fn name(self) -> String {
        match self {
            Exponential => "exponential".into(),
            Pareto(alpha) => format!("Pareto {alpha}"),
            Noise(h) => format!("noise, H = {h}"),
        }
    }

    /// Its name in his CSV files and in the names of ours.
    pub(super) fn key(self) -> String {
        match self {
            Exponential => "exponential".into(),
            Pareto(alpha) => format!("pareto-{alpha}"),
            Noise(h) => format!("noise-{h}"),
        }
    }

    /// Squared coefficient of variation of the law; of noise it depends on the length.
    pub(super) fn scv(self) -> f64 {
        match self {
            Exponential => 1.0,
            Pareto(alpha) => 1.0 / (alpha * (alpha - 2.0)),
            Noise(_) => f64::NAN,
        }
    }

    /// The quantile of this law (relative to the mean) at the probability at which the standard exponential law has
    /// `e`.
    #[inline]
    pub(super) fn value(self, e: f64) -> f64 {
        match self {
            Exponential => e,
            Pareto(alpha) => (alpha - 1.0) / alpha * (e / alpha).exp(),
            Noise(_) => f64::NAN,
        }
    }

    /// `n` values relative to the mean. Two laws drawn from clones of one stream rise and fall together.
    pub(super) fn draw(self, n: usize, stream: &mut Stream) -> Vec<f64> {
        match self {
            Noise(h) => shifted(&Fgn::new(h, n).expect("his H are between 0 and 1").path(stream)),
            law => (0..n).map(|_| law.value(standard(stream))).collect(),
        }
    }
}

/// A number of the standard exponential law.
#[inline]
pub(super) fn standard(stream: &mut Stream) -> f64 {
    -(1.0 - stream.uniform()).ln()
}

/// Shifted up by the smallest value, then scaled to mean 1.
fn shifted(noise: &[f64]) -> Vec<f64> {
    let least = noise.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = noise.iter().sum::<f64>() / noise.len() as f64;
    noise.iter().map(|x| (x - least) / (mean - least)).collect()
}

/// The mean square of some demands over twice their mean: PS answers a demand below it sooner than FCFS does, on average,
/// where arrivals are Poisson (Kleinrock, Queueing Systems 2, section 4.4). With it the share of them below it.
pub(super) fn breakpoint(demands: &[f64]) -> (f64, f64) {
    let sum: f64 = demands.iter().sum();
    let at = demands.iter().map(|demand| demand * demand).sum::<f64>() / (2.0 * sum);
    let below = demands.iter().filter(|demand| **demand < at).count();
    (at, below as f64 / demands.len() as f64)
}

/// The times within which the shares of [`TARGETS`] are answered (s); reorders them.
pub(super) fn targets_s(responses_s: &mut [f64]) -> [f64; 4] {
    responses_s.sort_unstable_by(f64::total_cmp);
    let last = responses_s.len() - 1;
    TARGETS.map(|(_, share)| responses_s[((responses_s.len() as f64 * share) as usize).min(last)])
}

/// Means of as many blocks as there are whole ones of `size` numbers (Figure 7.7).
pub(super) fn averages(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size).map(|block| block.iter().sum::<f64>() / size as f64).collect()
}

/// A cell of his tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) arrivals: Series,
    pub(super) service: Series,
}

impl Cell {
    /// The 25 of Table 6.1 in its order.
    pub(super) fn renewal() -> Vec<Cell> {
        LAWS.iter().flat_map(|arrivals| LAWS.map(|service| Cell { arrivals: *arrivals, service })).collect()
    }

    /// The 20 of Table 6.2.
    pub(super) fn self_similar() -> Vec<Cell> {
        NOISES.iter().flat_map(|arrivals| LAWS.map(|service| Cell { arrivals: *arrivals, service })).collect()
    }

    /// Both.
    pub(super) fn all() -> Vec<Cell> {
        [Cell::renewal(), Cell::self_similar()].concat()
    }

    /// Its place in [`Cell::all`].
    pub(super) fn number(self) -> usize {
        Cell::all().iter().position(|of| *of == self).expect("it is one of them")
    }

    /// Its name in files.
    pub(super) fn key(self) -> String {
        format!("{}_{}", self.arrivals.key(), self.service.key())
    }

    /// `n` gaps and demands (s) of these means, from the two streams that all cells share.
    pub(super) fn draw(self, n: usize, gap_s: f64, service_s: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let scaled = |series: Series, purpose: &str, mean_s: f64| {
            let mut values = series.draw(n, &mut Stream::new(seed, "bjornstad", purpose));
            values.iter_mut().for_each(|value| *value *= mean_s);
            values
        };
        (scaled(self.arrivals, "gaps", gap_s), scaled(self.service, "demands", service_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_the_quantile_of_the_exponential_one() {
        // P(X > x) = ((a-1)/(a x))^a at mean 1; e has survival exp(-e).
        for alpha in [2.01, 2.2, 2.6] {
            for e in [0.0, 0.3, 2.0, 9.0] {
                let x = Pareto(alpha).value(e);
                let survival = ((alpha - 1.0) / alpha / x).powf(alpha);
                assert!((survival - (-e).exp()).abs() < 1e-12, "{alpha}, {e}");
            }
        }
    }

    #[test]
    fn his_shift_leaves_the_spread_that_he_found() {
        // The smallest of 1e5 normal numbers is about -4.4 deviations: 0.0947 s / 4.4 = 0.0215 s; he says about 0.02.
        let gaps = Noise(0.5).draw(REQUESTS, &mut Stream::new(1, "test", "noise"));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 1e-12 && gaps.iter().all(|x| *x >= 0.0));
        let spread_s = 0.0947 * variance.sqrt();
        assert!((0.019..0.024).contains(&spread_s), "{spread_s}");
    }

    #[test]
    fn breakpoints_targets_and_averages_by_hand() {
        // (1 + 4 + 9 + 36) / (2 x 12) = 2.08.
        let (at, below) = breakpoint(&[1.0, 2.0, 3.0, 6.0]);
        assert!((at - 50.0 / 24.0).abs() < 1e-12 && below == 0.5, "{at} {below}");
        let mut responses: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(targets_s(&mut responses), [81.0, 91.0, 96.0, 100.0]);
        assert_eq!(averages(&[1.0, 3.0, 5.0, 7.0, 9.0], 2), [2.0, 6.0]);
    }

    #[test]
    fn laws_of_a_group_share_their_random_numbers() {
        let draw = |law: Series| law.draw(1000, &mut Stream::new(3, "bjornstad", "gaps"));
        let (exponential, pareto) = (draw(Exponential), draw(Pareto(2.4)));
        for (e, x) in exponential.iter().zip(&pareto) {
            assert!((Pareto(2.4).value(*e) - x).abs() < 1e-12);
        }
    }
}
