//! The response of an idle server: one client, spaced requests, every level in a shuffled order.

use sojourn_stats::interval::quantile_ranks;
use sojourn_stats::{Line, Moments, Span, Stream};

use crate::client::Client;
use crate::settings::{CalibrateError, Interval};

/// Think time: longer than any wake-up, so that the server is idle again.
const THINK: Span = Span(2_000_000);
/// Replies per level, at least and at most.
const ROUNDS: (usize, usize) = (7, 200);
/// Limit of outliers: response times that many median deviations from the median do not count for the variation of the
/// demand. They are pauses of the machine, not work.
const OUTLIER: f64 = 8.0;

/// The replies of an idle server.
pub(crate) struct Idle {
    /// Median response time (s) per level.
    pub(crate) response_s: Vec<Interval>,
    /// Standard deviation (s) per level.
    pub(crate) deviation_s: Vec<f64>,
    /// Median response against x, weighted by 1 / y^2; none for a single level.
    pub(crate) line: Option<Line>,
}

pub(crate) fn measure(client: &Client<'_>, budget_s: f64) -> Result<Idle, CalibrateError> {
    client.say("response of the idle server");
    let levels = client.target.levels.len();
    // The first reply of each level fills caches; the next two give the length of a round.
    let pilot = client.one_by_one((0..3).flat_map(|_| 0..levels).collect(), THINK)?;
    let round_s: f64 =
        pilot.iter().skip(levels).map(|reply| reply.response_s() + THINK.as_secs_f64()).sum::<f64>() / 2.0;
    let rounds = ((budget_s / round_s) as usize).clamp(ROUNDS.0, ROUNDS.1);
    let mut order = Vec::with_capacity(rounds * levels);
    let mut stream = Stream::new(client.settings.seed, "calibrate", "order");
    for _ in 0..rounds {
        let start = order.len();
        order.extend(0..levels);
        for last in (1..levels).rev() {
            order.swap(start + last, start + stream.below(last + 1));
        }
    }
    let replies = client.one_by_one(order, THINK)?;
    let mut response_s = Vec::new();
    let mut deviation_s = Vec::new();
    let mut points = Vec::new();
    for (level, found) in client.target.levels.iter().enumerate() {
        let mut taken: Vec<f64> =
            replies.iter().filter(|reply| reply.mark as usize == level).map(|reply| reply.taken_s()).collect();
        taken.sort_by(f64::total_cmp);
        let at = |rank: u64| taken[(rank as usize).min(taken.len() - 1)];
        let value = taken[taken.len() / 2];
        let (low, high) = quantile_ranks(taken.len() as u64, 0.5, 0.95).unwrap_or((0, taken.len() as u64 - 1));
        response_s.push(Interval { value, low: at(low), high: at(high) });
        deviation_s.push(deviation(&taken, value));
        // Medians of fifths: robust, and near normal.
        for part in 0..5 {
            let mut fifth: Vec<f64> = replies
                .iter()
                .filter(|reply| reply.mark as usize == level)
                .enumerate()
                .filter(|(number, _)| number % 5 == part)
                .map(|(_, reply)| reply.taken_s())
                .collect();
            if !fifth.is_empty() {
                let middle = fifth.len() / 2;
                let median = *fifth.select_nth_unstable_by(middle, f64::total_cmp).1;
                points.push((found.x, median, 1.0 / (median * median)));
            }
        }
    }
    Ok(Idle { response_s, deviation_s, line: Line::fit(&points, 0.95).ok() })
}

fn deviation(taken: &[f64], median: f64) -> f64 {
    let mut distances: Vec<f64> = taken.iter().map(|value| (value - median).abs()).collect();
    distances.sort_by(f64::total_cmp);
    let limit = OUTLIER * distances[distances.len() / 2];
    let kept: Moments = taken.iter().copied().filter(|value| (value - median).abs() <= limit).collect();
    kept.variance().sqrt()
}
