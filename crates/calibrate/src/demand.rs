//! The service demand of a request, from a saturated server, at each level and at each number of clients.
//!
//! With more clients than cores the server never waits for a client. So replies leave it one service time apart, and
//! neither the path nor a late client shows. Clients start one after another: under processor sharing, requests that
//! start together also end together, and the server would wait for all clients at once.

use serde::Serialize;
use sojourn_stats::interval::mean_half_width;
use sojourn_stats::{Line, Moments, Span};

use crate::client::Client;
use crate::idle::Idle;
use crate::settings::{CalibrateError, Interval};

/// Shortest block (s), and in requests.
const BLOCK_S: f64 = 0.25;
const BLOCK_REQUESTS: f64 = 6.0;
/// Blocks of a run, and runs of each level.
const BLOCKS: usize = 3;
const ROUNDS: usize = 3;
/// Waiting requests hide pauses of the client up to this length (s).
const HIDDEN_S: f64 = 0.08;
/// Distance between the starts of clients, in service times: its multiples are not near whole numbers for long.
const STAGGER: f64 = 0.37;
/// More clients are tried while the throughput grows by more than this.
const GROWTH: f64 = 1.1;

/// How the throughput depends on the number of clients.
pub(crate) struct Ramp {
    /// Clients, and replies per second.
    pub(crate) curve: Vec<(u32, Interval)>,
    /// Cores that are busy at once.
    pub(crate) cores: u32,
    /// Relative change of the work per request with each additional client.
    pub(crate) drift: Option<Interval>,
}

/// A service demand against x: seconds of core time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Core time (s) at x = 0; may come out below 0.
    pub fixed_s: Interval,
    /// Core time (s) per unit of x.
    pub per_x_s: Interval,
}

/// The work per request.
pub(crate) struct Work {
    /// Core time (s) per level.
    pub(crate) levels: Vec<Interval>,
    /// Against x, if there are several levels.
    pub(crate) line: Option<Line>,
}

/// Clients 1, 2, 4, ... at the reference level.
pub(crate) fn ramp(client: &Client<'_>, idle: &Idle, budget_s: f64) -> Result<Ramp, CalibrateError> {
    let level = client.target.reference;
    let alone_s = idle.response_s[level].value;
    let (mut curve, mut points) = (Vec::new(), Vec::new());
    let (mut users, mut cores) = (1, 1.0f64);
    let mut best = 0.0f64;
    loop {
        client.say(&format!("throughput, clients at once: {users}"));
        let block_s = (budget_s / 20.0).clamp(BLOCK_S, 5.0);
        let gaps = saturated(client, level, users, alone_s, cores, block_s)?;
        let rate = interval(&gaps).under(1.0);
        curve.push((users, rate));
        points.extend(gaps.iter().map(|gap| (users, *gap)));
        let grows = rate.value > GROWTH * best;
        best = best.max(rate.value);
        cores = (best * alone_s).round().max(1.0);
        let enough = f64::from(users) >= 8.0 * cores && !grows;
        if enough || users * 2 > client.settings.connections_max {
            break;
        }
        users *= 2;
    }
    let busy: Vec<(f64, f64, f64)> = points
        .iter()
        .filter(|(users, _)| f64::from(*users) >= 2.0 * cores)
        .map(|(users, gap)| (f64::from(*users), *gap, 1.0))
        .collect();
    let drift = Line::fit(&busy, 0.95).ok().map(|line| {
        let mean = busy.iter().map(|point| point.1).sum::<f64>() / busy.len() as f64;
        Interval::around(line.slope / mean, line.slope_half_width / mean)
    });
    Ok(Ramp { curve, cores: cores as u32, drift })
}

/// Every level, saturated.
pub(crate) fn work(client: &Client<'_>, idle: &Idle, cores: u32, budget_s: f64) -> Result<Work, CalibrateError> {
    let levels = client.target.levels.len();
    let least = |level: usize| block_s(idle.response_s[level].value / f64::from(cores));
    let all_s: f64 = (0..levels).map(|level| least(level) * (BLOCKS * ROUNDS) as f64).sum();
    let factor = (budget_s / all_s).clamp(1.0, 20.0);
    let mut gaps: Vec<Vec<f64>> = vec![Vec::new(); levels];
    for round in 0..ROUNDS {
        for (level, gaps) in gaps.iter_mut().enumerate() {
            client.say(&format!("work of a request: round {} of {ROUNDS}", round + 1));
            let alone_s = idle.response_s[level].value;
            let users = saturating(client, alone_s, cores);
            let block_s = least(level) * factor;
            gaps.extend(saturated(client, level, users, alone_s, f64::from(cores), block_s)?);
        }
    }
    let at: Vec<f64> = client.target.levels.iter().map(|level| level.x).collect();
    Ok(work_of(&at, gaps, cores))
}

/// The work per request from the seconds per reply of each block at each x.
fn work_of(at: &[f64], mut gaps: Vec<Vec<f64>>, cores: u32) -> Work {
    let mut points = Vec::new();
    for (x, gaps) in at.iter().zip(&mut gaps) {
        gaps.iter_mut().for_each(|gap| *gap *= f64::from(cores));
        // Blocks are equally long, so their relative errors are about equal.
        points.extend(gaps.iter().map(|gap| (*x, *gap, 1.0 / (gap * gap))));
    }
    Work { levels: gaps.iter().map(|gaps| interval(gaps)).collect(), line: Line::fit(&points, 0.95).ok() }
}

/// The work of a request at the reference level now (s), from a few blocks in about `budget_s`.
pub(crate) fn now(client: &Client<'_>, alone_s: f64, cores: u32, budget_s: f64) -> Result<f64, CalibrateError> {
    client.say("speed of the server");
    let block_s = block_s(alone_s / f64::from(cores)).max(budget_s / BLOCKS as f64);
    let users = saturating(client, alone_s, cores);
    let gaps = saturated(client, client.target.reference, users, alone_s, f64::from(cores), block_s)?;
    Ok(interval(&gaps).value * f64::from(cores))
}

/// A number of clients that keeps a server busy even if one client is late.
fn saturating(client: &Client<'_>, alone_s: f64, cores: u32) -> u32 {
    let hidden = (HIDDEN_S * f64::from(cores) / alone_s).ceil() as u32;
    (cores + hidden.max(cores)).min(9 * cores).clamp(2, client.settings.connections_max)
}

impl Against {
    pub(crate) fn of(line: &Line) -> Against {
        Against {
            fixed_s: Interval::around(line.intercept, line.intercept_half_width),
            per_x_s: Interval::around(line.slope, line.slope_half_width),
        }
    }
}

fn block_s(gap_s: f64) -> f64 {
    BLOCK_S.max(BLOCK_REQUESTS * gap_s)
}

/// Seconds per reply, in blocks of about `block_s`.
fn saturated(
    client: &Client<'_>,
    level: usize,
    users: u32,
    alone_s: f64,
    cores: f64,
    block_s: f64,
) -> Result<Vec<f64>, CalibrateError> {
    // At least a little more than a round, see `Closed::gaps_s`.
    let requests = BLOCK_REQUESTS.max(1.2 * f64::from(users));
    let block_s = block_s.max(requests * alone_s / cores.min(f64::from(users)));
    let everybody_s = f64::from(users) * alone_s;
    let stagger = Span::from_secs_f64(STAGGER * alone_s);
    let warm_up = Span::from_secs_f64(everybody_s / cores + STAGGER * everybody_s);
    let duration = warm_up + Span::from_secs_f64(block_s * BLOCKS as f64);
    let slowest = Span::from_secs_f64(4.0 * everybody_s);
    let closed = client.closed(level, users, stagger, duration, slowest)?;
    let rate = closed.done.len() as f64 / duration.as_secs_f64();
    client.refuse_fast(rate)?;
    let gaps = closed.gaps_s(warm_up, BLOCKS, users);
    if gaps.is_empty() {
        let what = "the server became so slow that hardly a reply came in time";
        return Err(CalibrateError::Refused(client.machine.borrow().failed(what, "give it more --time")));
    }
    Ok(gaps)
}

/// Student's interval of the mean of independent blocks.
pub(crate) fn interval(values: &[f64]) -> Interval {
    let moments: Moments = values.iter().copied().collect();
    let half = mean_half_width(moments.count(), moments.variance(), 0.95).unwrap_or(f64::INFINITY);
    Interval::around(moments.mean(), half)
}

#[cfg(test)]
mod tests {
    use sojourn_stats::{Law, Stream};

    use super::*;

    /// Made-up blocks of a server that needs 1 ms and 2 us per unit, each off by 3 % as timings are. Of 400 intervals at 95 %
    /// fewer than 3 miss, or more than 44, once in a million sets on either side.
    #[test]
    fn intervals_of_synthetic_timings_cover_as_often_as_they_say() {
        const SETS: usize = 400;
        let (at, cores) = ([0.0, 200.0, 500.0, 1000.0], 2);
        let noise = Law::parse("normal(mean = 1, sd = 0.03)", sojourn_stats::Dimension::Number).unwrap();
        let mut stream = Stream::new(1, "calibrate", "synthetic");
        let (mut fixed, mut per_x, mut level) = (0, 0, 0);
        let missed = |interval: Interval, truth: f64| usize::from(truth < interval.low || interval.high < truth);
        for _ in 0..SETS {
            let mut blocks = |x: f64| {
                let work_s = 1e-3 + 2e-6 * x;
                (0..BLOCKS * ROUNDS).map(|_| work_s / f64::from(cores) * noise.sample(&mut stream)).collect()
            };
            let work = work_of(&at, at.iter().map(|x| blocks(*x)).collect(), cores);
            let found = Against::of(&work.line.unwrap());
            fixed += missed(found.fixed_s, 1e-3);
            per_x += missed(found.per_x_s, 2e-6);
            level += missed(work.levels[1], 1.4e-3);
        }
        for (name, misses) in [("fixed", fixed), ("per x", per_x), ("of a level", level)] {
            assert!((3..=44).contains(&misses), "{name}: {misses} of {SETS} intervals miss");
        }
    }
}
