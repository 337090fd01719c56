//! Where a run's warm-up ends: MSER-5 (White, Cobb and Spratt, Winter Simulation Conference 2000).
//!
//! The beginning is cut where the rest gives the sharpest mean: at the d that minimises the sum of squares of what
//! remains over its count squared, on means of five samples. A cut in the last half says that the run never settled
//! (it is too short, or the system is overloaded), and then there is no answer rather than a bad one.

/// Samples per batch of MSER-5.
const BATCH: usize = 5;
/// A minimum over fewer remaining batches than this is luck.
const LEAST_LEFT: usize = 5;

/// How many of the first samples belong to the warm-up (a multiple of 5). `None` when the series did not settle, or
/// has fewer than 50 samples.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let means: Vec<f64> = series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    mser(&means).map(|batches| batches * BATCH)
}

/// How many of the first batches belong to the warm-up, from the means of equal batches (of 5 samples for MSER-5, of
/// more to fit a long run in memory). `None` when the series did not settle, or has fewer than 10 batches.
pub fn mser(batch_means: &[f64]) -> Option<usize> {
    let count = batch_means.len();
    if count < 2 * LEAST_LEFT {
        return None;
    }
    // Welford's recurrence from the end: mean and sum of squares of everything from `cut` on.
    let (mut mean, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (count, f64::INFINITY);
    for cut in (0..count).rev() {
        let left = (count - cut) as f64;
        let off = batch_means[cut] - mean;
        mean += off / left;
        squares += off * (batch_means[cut] - mean);
        let statistic = squares / (left * left);
        // On a tie the earlier cut keeps more of the run.
        if count - cut >= LEAST_LEFT && statistic <= least {
            (best, least) = (cut, statistic);
        }
    }
    (best <= count / 2).then_some(best)
}
