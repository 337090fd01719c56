//! Are the gaps of a process independent of one another? Two tests that hold for gaps of any law, as they look at the
//! gaps' ranks only.
//!
//! *Rank correlation* of each gap with the next (Spearman 1904; Wald and Wolfowitz, Annals of Mathematical Statistics
//! 14(4), 1943) sees short memory. *Dispersion of sums* of 2, 4, 8, ... gaps that follow one another, against what it is
//! for independent ones (the index of dispersion for intervals: Cox and Lewis, The Statistical Analysis of Series of
//! Events, 1966, section 4.3) sees memory of any length: many clocks that tick side by side look like a Poisson process
//! gap by gap, but the sum over one round of them is always the same (a hundred rounds show it at 1e-6). The price of
//! ranks is some power for laws with long tails, whose sums rest on few gaps; what is gained is that the tests are right
//! for these laws too.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::interval::normal_quantile;

/// Fewer sums than this say nothing of their dispersion.
const SUMS_LEAST: usize = 20;

/// What ranks say of gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// How many gaps.
    pub gaps: usize,
    /// Rank correlation of a gap with the next, -1 to 1; 0 of independent ones.
    pub correlation: f64,
    /// It lies beyond this, to either side, with the chance asked for.
    pub correlation_limit: f64,
    /// The dispersion of sums, for each number of summands.
    pub dispersions: Vec<Dispersion>,
}

/// How sums of gaps spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// Gaps in a sum.
    pub summands: usize,
    /// The variance of the sums over that of sums of independent gaps; 1 of independent ones.
    pub ratio: f64,
    /// It lies below this, or above `high`, of all numbers of summands together with the chance asked for.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// Looks at gaps given in runs that follow one another without a hole each. Of independent gaps each of the two tests
/// gives a false alarm with chance `p`, by the normal and the chi-squared limit. None where there are fewer than 40
/// gaps, or all are the same.
///
/// # Panics
/// When a gap is NaN.
pub fn dependence(runs: &[Vec<f64>], p: f64) -> Option<Dependence> {
    let gaps: usize = runs.iter().map(Vec::len).sum();
    if gaps < 2 * SUMS_LEAST {
        return None;
    }
    let scores = scores(runs, gaps);
    let variance = scores.iter().flatten().map(|score| score * score).sum::<f64>() / gaps as f64;
    if variance == 0.0 {
        return None;
    }
    let pairs: usize = scores.iter().map(|run| run.len().saturating_sub(1)).sum();
    let products: f64 = scores.iter().flat_map(|run| run.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let sizes: Vec<usize> = (1..usize::BITS)
        .map(|power| 1 << power)
        .take_while(|size| runs.iter().map(|run| run.len() / size).sum::<usize>() >= SUMS_LEAST)
        .collect();
    let tail = p / (2 * sizes.len().max(1)) as f64;
    let dispersion = |&summands: &usize| {
        let sums = scores.iter().flat_map(|run| run.chunks_exact(summands)).map(|sum| sum.iter().sum::<f64>());
        let squares: Vec<f64> = sums.map(|sum| sum * sum).collect();
        let count = squares.len() as f64;
        let law = ChiSquared::new(count).expect("there are sums");
        Dispersion {
            summands,
            ratio: squares.iter().sum::<f64>() / (count * summands as f64 * variance),
            low: law.inverse_cdf(tail) / count,
            high: law.inverse_cdf(1.0 - tail) / count,
        }
    };
    Some(Dependence {
        gaps,
        correlation: products / (pairs.max(1) as f64 * variance),
        correlation_limit: normal_quantile(1.0 - p / 2.0) / (pairs.max(1) as f64).sqrt(),
        dispersions: sizes.iter().map(dispersion).collect(),
    })
}

/// The gaps' ranks among all, from -1/2 to 1/2; of equal ones the middle of theirs.
fn scores(runs: &[Vec<f64>], gaps: usize) -> Vec<Vec<f64>> {
    let mut order: Vec<(f64, usize, usize)> = Vec::with_capacity(gaps);
    for (number, run) in runs.iter().enumerate() {
        order.extend(run.iter().enumerate().map(|(at, gap)| (*gap, number, at)));
    }
    order.sort_unstable_by(|one, other| one.0.partial_cmp(&other.0).expect("a gap is a number"));
    let mut scores: Vec<Vec<f64>> = runs.iter().map(|run| vec![0.0; run.len()]).collect();
    let mut before = 0;
    for equal in order.chunk_by(|one, other| one.0 == other.0) {
        let score = (before as f64 + equal.len() as f64 / 2.0) / gaps as f64 - 0.5;
        for &(_, number, at) in equal {
            scores[number][at] = score;
        }
        before += equal.len();
    }
    scores
}
