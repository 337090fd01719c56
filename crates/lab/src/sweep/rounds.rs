//! How a budget of simulated requests is shared among the points of a sweep: in rounds, most to where the interval is widest.
//!
//! The first round gives every point the same. Each later one asks those points again, longer, that are then furthest from an
//! equal width: an interval shrinks with the root of the requests, so a point whose half-width is w (of its number) with n
//! requests takes n (w/v)^2 of them to reach v, and v is as small as the round can pay for. A point that is asked again begins
//! anew with the same seed, so what it was before is the beginning of what it is now; the budget counts both. What is assigned
//! hangs on whole rounds alone, in exact arithmetic in the order of the grid: it is the same whoever asked, in whatever order.

use sojourn_stats::Measure;

/// How much of the budget is assigned by the end of each round.
pub(super) const SHARES: [f64; 3] = [0.25, 0.5, 1.0];
/// A point is asked again for so many times as many requests at least and at most: less is not worth it, and more trusts
/// the width of a short run too far.
const GROWTH: (f64, f64) = (1.5, 4.0);
/// Halvings of the interval in which the width lies that a round can pay for.
const HALVINGS: u32 = 60;

/// What the halvings leave, so that a whole number of requests stays one.
const EXACT: f64 = 1.0 + 1e-9;

/// A point after a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    /// What it was assigned.
    pub(super) requests: u64,
    /// Half of its widest interval, over its number; none: it has no interval.
    pub(super) width: Option<f64>,
}

/// The first round.
pub(super) fn first(budget: u64, points: usize) -> u64 {
    ((budget as f64 * SHARES[0]) as u64 / points.max(1) as u64).max(1)
}

/// A later round, in which `spend` requests may be simulated: what each point is asked for, none where it stays as it is. Points
/// without an interval get as much as they may, as far as half of the round pays for it, or all of it where no other has one.
pub(super) fn next(runs: &[Option<Run>], spend: f64) -> Vec<Option<u64>> {
    let known = || runs.iter().flatten();
    let blind: f64 = known().filter(|run| run.width.is_none()).map(|run| run.requests as f64).sum();
    let for_blind = if known().all(|run| run.width.is_none()) { spend } else { 0.5 * spend };
    let growth = if blind > 0.0 { (for_blind / blind).min(GROWTH.1) } else { 0.0 };
    let left = if growth >= GROWTH.0 { spend - growth * blind } else { spend };
    let wanted = |run: &Run, width: f64| -> Option<f64> {
        let factor = run.width.map_or(growth, |of| (of / width).powi(2).min(GROWTH.1));
        (factor >= GROWTH.0).then_some(run.requests as f64 * factor)
    };
    let cost = |width: f64| {
        let seen = known().filter(|run| run.width.is_some());
        seen.filter_map(|run| wanted(run, width)).sum::<f64>()
    };
    let widest = known().filter_map(|run| run.width).fold(0.0, f64::max);
    // Nothing is asked to get wider; what costs too much lies below, what does not above.
    let (mut low, mut high) = (0.0, widest);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if cost(middle) <= left { high = middle } else { low = middle }
    }
    let assigned =
        |run: &Option<Run>| run.as_ref().and_then(|run| wanted(run, high)).map(|requests| (requests * EXACT) as u64);
    runs.iter().map(assigned).collect()
}

/// Half of the widest interval over its number, of the metrics that the simulator makes sharp; none where the mean has no
/// interval.
pub(super) fn width(measures: &[Measure]) -> Option<f64> {
    let of = |measure: &Measure| {
        let (low, high) = measure.estimate.interval()?;
        Some((0.5 * (high - low) / measure.estimate.value()?).abs()).filter(|width| width.is_finite())
    };
    let is_mean = |measure: &&Measure| measure.metric.starts_with("response_time_mean");
    let means: Vec<f64> = measures.iter().filter(is_mean).map(of).collect::<Option<_>>()?;
    let is_sharp = |measure: &&Measure| ["response_time_p90", "response_time_p99"].contains(&measure.metric.as_str());
    let all = means.into_iter().chain(measures.iter().filter(is_sharp).filter_map(of));
    all.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(requests: u64, width: f64) -> Option<Run> {
        Some(Run { requests, width: Some(width) })
    }

    #[test]
    fn most_goes_to_where_the_interval_is_widest_and_no_more_than_there_is() {
        let runs = [run(1000, 0.01), run(1000, 0.04), run(1000, 0.02), None];
        for spend in [1000.0, 5000.0, 20_000.0] {
            let given = next(&runs, spend);
            let total: u64 = given.iter().flatten().sum();
            assert!(total as f64 <= spend, "{given:?}");
            assert!(given[1] >= given[2] && given[2] >= given[0] && given[3].is_none(), "{given:?}");
        }
        // The widest alone, as far as a short run is trusted; then all, in proportion to the squares of their widths.
        assert_eq!(next(&runs, 5000.0), [None, Some(4000), None, None]);
        let all = next(&[run(1000, 0.03), run(1000, 0.02)], 5200.0);
        assert!((all[0].unwrap() as f64 / all[1].unwrap() as f64 - 2.25).abs() < 0.01, "{all:?}");
        assert!((5190..=5200).contains(&all.iter().flatten().sum::<u64>()), "{all:?}");
        assert_eq!(next(&runs, 0.0), [None; 4]);
    }

    #[test]
    fn a_point_without_an_interval_gets_more_where_the_others_are_not_starved() {
        let blind = Some(Run { requests: 1000, width: None });
        assert_eq!(next(&[blind, run(1000, 0.1)], 9000.0), [Some(4000), Some(4000)]);
        assert_eq!(next(&[blind, run(1000, 0.1)], 5000.0), [Some(2500), Some(2500)]);
        assert_eq!(next(&[blind, run(1000, 0.1)], 2500.0), [None, Some(2500)]);
        assert_eq!(next(&[blind, blind], 5000.0), [Some(2500), Some(2500)]);
    }
}
