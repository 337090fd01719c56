//! The means of a system through one standstill of its server: a delay equation, followed in small steps.
//!
//! Requests flow in at the rate, and each attempt brings the mean work of a service. An attempt is in time if all work in
//! front of it and its own is done within the time-out. What is not in time flows in again one time-out and one back-off
//! later, as often as it may and as the budget has. The work of attempts that were given up is done all the same.

use std::collections::VecDeque;

use sojourn_model::system::Budget;

use super::Storm;

/// Steps of a time-out and of a service, at least.
const FINE: f64 = 200.0;
const FINE_OF_SERVICE: f64 = 20.0;

/// More retries than that change nothing.
const RETRIES_MOST: u32 = 100;

/// No longer than so many steps is a system followed.
const STEPS_MOST: usize = 5_000_000;

/// A budget by share counts the last so many seconds.
const WINDOW_S: f64 = 10.0;

/// What comes of a standstill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// All is as before so long after its end (s): the queue is empty, and no more attempts come than requests.
    Recovers(f64),
    /// Never, since no attempt is in time any more, and more come than the server can do.
    Stays,
}

/// What comes of a standstill of so long (s) in the good state; none where it takes too long to follow.
pub fn after(storm: &Storm, standstill_s: f64) -> Option<Outcome> {
    let step_s = (storm.timeout_s / FINE).min(storm.service_s / FINE_OF_SERVICE);
    let steps = |span_s: f64| (span_s / step_s).round() as usize;
    let (timeout, backoff, stands) = (steps(storm.timeout_s), steps(storm.backoff_s), steps(standstill_s));
    if timeout + backoff + stands > STEPS_MOST {
        return None;
    }
    let levels = storm.retries.min(RETRIES_MOST) as usize + 1;
    let mut budget = Allowance::new(storm, step_s);
    // Work that waits, and what the server could have done since the standstill began (s).
    let (mut queue_s, mut capacity_s) = (0.0, 0.0);
    // Attempts of each step of the last time-out by how many were before them, and the capacity at which theirs are done.
    let mut pending: VecDeque<(Vec<f64>, f64)> = VecDeque::with_capacity(timeout + 1);
    // Retries of the next steps.
    let mut coming: VecDeque<Vec<f64>> = (0..=backoff).map(|_| vec![0.0; levels]).collect();
    // For how many steps none has been in time, and all has been as before. After so many steps without one in time the budget is
    // spent, and all attempts come that ever will.
    let (mut none_in_time, mut calm) = (0, 0);
    let settled = levels * (timeout + backoff) + steps(WINDOW_S) + budget.steps_to_spend();
    let is_beyond = storm.rate * storm.attempts_most() * storm.service_s >= 1.0;
    for now in 0..STEPS_MOST {
        let mut attempts = coming.pop_front().expect("it is as long as a back-off");
        coming.push_back(vec![0.0; levels]);
        attempts[0] += storm.rate * step_s;
        let sum: f64 = attempts.iter().sum();
        pending.push_back((attempts, capacity_s + queue_s + storm.service_s));
        queue_s += sum * storm.service_s;
        if now >= stands {
            (queue_s, capacity_s) = (f64::max(queue_s - step_s, 0.0), capacity_s + step_s);
        }
        budget.comes(storm.rate * step_s);
        if pending.len() > timeout {
            let (ended, done_at_s) = pending.pop_front().expect("it is not empty");
            let is_late = done_at_s > capacity_s + 1e-9;
            none_in_time = if is_late { none_in_time + 1 } else { 0 };
            let next = coming.back_mut().expect("it is as long as a back-off");
            for (level, attempts) in
                ended.iter().enumerate().take(levels - 1).filter(|(_, some)| is_late && **some > 0.0)
            {
                next[level + 1] += budget.take(*attempts);
            }
        }
        budget.step();
        let is_calm = queue_s == 0.0 && none_in_time == 0 && sum < storm.rate * step_s * 1.001;
        calm = if now >= stands && is_calm { calm + 1 } else { 0 };
        if calm > timeout + backoff {
            return Some(Outcome::Recovers((now + 1 - calm - stands) as f64 * step_s));
        }
        if now >= stands && is_beyond && none_in_time > settled {
            return Some(Outcome::Stays);
        }
    }
    None
}

/// What is left of a budget, in attempts.
enum Allowance {
    Unlimited,
    Tokens { now: f64, per_request: f64, most: f64, rate: f64, step_s: f64 },
    Share { share: f64, rate: f64, taken: VecDeque<f64>, sum: f64, now: f64 },
}

impl Allowance {
    /// That of a system that has been in its good state for long.
    fn new(storm: &Storm, step_s: f64) -> Allowance {
        let rate = storm.rate;
        match storm.budget {
            None => Allowance::Unlimited,
            Some(Budget::Tokens { per_request, most }) => {
                let most = f64::from(most);
                Allowance::Tokens { now: most, per_request, most, rate, step_s }
            }
            Some(Budget::Share(share)) => {
                let window = (WINDOW_S / step_s) as usize;
                Allowance::Share { share, rate, taken: vec![0.0; window].into(), sum: 0.0, now: 0.0 }
            }
        }
    }

    /// Steps until what was saved up is spent, where it is spent at the rate of the requests.
    fn steps_to_spend(&self) -> usize {
        match self {
            Allowance::Tokens { most, rate, step_s, .. } => (most / (rate * step_s)) as usize,
            Allowance::Unlimited | Allowance::Share { .. } => 0,
        }
    }

    fn comes(&mut self, requests: f64) {
        if let Allowance::Tokens { now, per_request, most, .. } = self {
            *now = (*now + *per_request * requests).min(*most);
        }
    }

    /// As much of `wanted` as there is.
    fn take(&mut self, wanted: f64) -> f64 {
        match self {
            Allowance::Unlimited => wanted,
            Allowance::Tokens { now, .. } => {
                let taken = wanted.min(*now);
                *now -= taken;
                taken
            }
            Allowance::Share { share, rate, sum, now, .. } => {
                let taken = wanted.min(*share * *rate * WINDOW_S - *sum - *now).max(0.0);
                *now += taken;
                taken
            }
        }
    }

    fn step(&mut self) {
        if let Allowance::Share { taken, sum, now, .. } = self {
            taken.push_back(*now);
            *sum += *now - taken.pop_front().unwrap_or(0.0);
            *now = 0.0;
        }
    }
}
