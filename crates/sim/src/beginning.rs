//! What a run's beginning leaves in its numbers.
//!
//! A system begins empty, and each of its queues takes some relaxation times to grow as long as it is in the long run. What is
//! measured meanwhile is too low: of M/M/1 at 0.9 a run of 20 relaxation times by 1.1 %, by 0.8 % where the first seventh of one
//! is left out, and by 0.01 % where three are (from the birth and death equations of its beginning; Abate and Whitt, Transient
//! behavior of the M/M/1 queue: starting at the origin, Queueing Systems 2, 1987).
//!
//! How long that is in time is a matter of each queue, however many of them share the requests: of a hundred it takes a hundred
//! times as many requests as of one. A run does not tell it. The sum over N servers varies by one in the square root of N, single
//! response times by as much as their mean, and MSER-5 cuts where the mean is sharpest and not where it is right: 5,000 requests
//! to a hundred servers at 0.9 are a seventh of a relaxation time, and it took them to have settled in 30 of 30 runs. What is
//! left of the beginning is less than an interval, so that none of them shows it, and all of them are off to the same side. So
//! the warm-up is also a length in relaxation times, where the caller knows them.
//!
//! The price: three tenths at most of what a run has to measure anyhow; nothing where the first pilot is as long, as of one
//! server at up to 0.95, of four at up to 0.9 or of a hundred at up to 0.6 (M/M/1 each). Servers among which a policy looks for a
//! short queue forget sooner, and wait as long.

use sojourn_stats::Span;

use crate::control::{Control, WarmUp};

/// Relaxation times after which a thousandth or so of the beginning is left.
const RELAXATIONS: u64 = 3;
/// Requests of each user after which little is left of all having begun by thinking: of users who think at random 1 % after
/// five think times, and a round of thinking and waiting is no shorter than one.
const ROUNDS: u64 = 5;
/// So many times as long as the system takes to forget, a run's beginning moves a mean by a percent or so.
const SHORT: f64 = 100.0;

/// Requests of the shortest warm-up of a system that forgets its state in `relaxation` requests (0: not known), with so many
/// users who wait for replies.
pub(crate) fn shortest_pilot(relaxation: u64, users: u64) -> u64 {
    RELAXATIONS.saturating_mul(relaxation).max(ROUNDS.saturating_mul(users))
}

/// A run of a given length that is short against the time in which a system forgets, and from whose beginning nothing is left
/// out: its numbers are lower than those of the long run. None where that moves nothing by a percent or so.
pub(crate) fn begins_empty(control: &Control, rate: f64) -> Option<String> {
    let (horizon, forgets_s) = (control.horizon?, forgets_s(control, rate)?);
    let is_short = horizon.as_secs_f64() < SHORT * forgets_s;
    (is_short && control.warm_up == WarmUp::Auto).then(|| {
        format!(
            "replications of {horizon} begin empty, and the system takes some {} to forget how it began: what is \
             shown is of the beginning too, and lower than in the long run; `run.warm_up = \"{}\"` leaves it out",
            seconds(forgets_s),
            seconds(RELAXATIONS as f64 * forgets_s)
        )
    })
}

/// A warm-up of a given length that is shorter than the one that would have been taken, before a run in which that tells: each
/// replication measured for `measured_s`.
pub(crate) fn short_warm_up(control: &Control, rate: f64, measured_s: f64) -> Option<String> {
    let (relaxation, forgets_s) = (control.relaxation?, forgets_s(control, rate)?);
    let (enough, enough_s) = (RELAXATIONS.saturating_mul(relaxation), RELAXATIONS as f64 * forgets_s);
    let (is_short, warm_up, forgets, would_do) = match control.warm_up {
        WarmUp::Auto => return None,
        WarmUp::Fixed(warm_up) => (
            warm_up.as_secs_f64() < enough_s,
            warm_up.to_string(),
            seconds(forgets_s).to_string(),
            format!("run.warm_up = \"{}\"", seconds(enough_s)),
        ),
        WarmUp::Requests(requests) => (
            requests < enough,
            format!("{requests} requests"),
            format!("{relaxation} requests"),
            format!("warm_up = {enough}"),
        ),
    };
    (is_short && measured_s < SHORT * forgets_s).then(|| {
        format!(
            "the warm-up of {warm_up} is short: the system begins empty and takes some {forgets} to forget that, so that what \
             is shown is lower than in the long run; `{would_do}` leaves the beginning out"
        )
    })
}

/// The relaxation time (s), where it is known.
fn forgets_s(control: &Control, rate: f64) -> Option<f64> {
    control.relaxation.map(|relaxation| relaxation as f64 / rate)
}

/// No less than that, in whole seconds.
fn seconds(seconds: f64) -> Span {
    Span::from_secs_f64(seconds.ceil())
}
