//! The stable states of M/M/1 whose clients give up after a fixed time and ask again.
//!
//! At `a` attempts per second a share p(a) of them is not in time. Of a server that works on for who has left that is the
//! tail of M/M/1's response time, e^{-(mu - a) T}, and all of them where a >= mu. Of a server that drops what was given up,
//! the work that an attempt finds is that of a dam of capacity T: density P0 a e^{-(mu - a) x} below T (level crossings;
//! Gavish and Schweitzer, The Markovian Queue with Bounded Waiting Time, Management Science 23(12), 1977). Either is exact
//! for Poisson attempts. A request is asked for (1 - p^{k+1}) / (1 - p) times, within the budget, so that the states are
//! fixed points of `a`. Those at which more attempts than that bring fewer are stable.

use super::Storm;

/// Rates of attempts that are looked at for a change of sign.
const STEPS: usize = 20_000;

/// A state that lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Attempts per second.
    pub attempts: f64,
    /// Good replies per second.
    pub goodput: f64,
}

/// The stable states, the one with the fewest attempts first; one at least.
pub fn all(storm: &Storm) -> Vec<State> {
    let most = storm.rate * storm.attempts_most();
    let excess = |attempts: f64| asked(storm, attempts) - attempts;
    let at = |step: usize| storm.rate + (most - storm.rate) * step as f64 / STEPS as f64;
    let mut found = Vec::new();
    if excess(storm.rate) <= 0.0 {
        found.push(storm.rate);
    }
    for step in 0..STEPS {
        let (mut low, mut high) = (at(step), at(step + 1));
        if excess(low) > 0.0 && excess(high) <= 0.0 {
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if excess(middle) > 0.0 { low = middle } else { high = middle }
            }
            found.push(high);
        }
    }
    found.into_iter().map(|attempts| state(storm, attempts)).collect()
}

fn state(storm: &Storm, attempts: f64) -> State {
    let goodput = attempts * (1.0 - late(storm, attempts));
    State { attempts, goodput: goodput.min(storm.rate) }
}

/// Attempts per second that requests bring where so many come.
fn asked(storm: &Storm, attempts: f64) -> f64 {
    let late = late(storm, attempts);
    let per_request: f64 = (0..=storm.retries.min(1000)).map(|retry| late.powi(retry as i32)).sum();
    storm.rate * per_request.min(storm.attempts_most())
}

/// The share of attempts that are not in time where so many come per second.
fn late(storm: &Storm, attempts: f64) -> f64 {
    let Storm { service_s, timeout_s, work_goes_on, .. } = *storm;
    let spare = 1.0 / service_s - attempts;
    if work_goes_on {
        return if spare > 0.0 { (-spare * timeout_s).exp() } else { 1.0 };
    }
    // Whoever finds work x is in time where its service takes less than T - x.
    let (mu, in_time) = (1.0 / service_s, |work_s: f64| 1.0 - (-(timeout_s - work_s) / service_s).exp());
    let idle = idle(storm, attempts);
    // The integral of a P0 e^{-(mu - a) x} (1 - e^{-mu (T - x)}) from 0 to T.
    let area = integral(spare, timeout_s) - (-mu * timeout_s).exp() * integral(-attempts, timeout_s);
    1.0 - idle * (in_time(0.0) + attempts * area)
}

/// The share of its time that a server is idle which drops what was given up.
fn idle(storm: &Storm, attempts: f64) -> f64 {
    1.0 / (1.0 + attempts * integral(1.0 / storm.service_s - attempts, storm.timeout_s))
}

/// The integral of e^{-rate x} from 0 to `end`.
fn integral(rate: f64, end: f64) -> f64 {
    if (rate * end).abs() < 1e-9 { end } else { -(-rate * end).exp_m1() / rate }
}
