//! Clients that give up and ask again at one server: whether a second stable state exists, and how long a recovery takes.
//!
//! Such a system may have two states at the same load. In the good one nearly all attempts are in time. In the other one the
//! server is busy with attempts that their clients have given up, each of which comes again: it can stay so although what
//! set it off is long over (Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021).
//!
//! Two models, both approximate. [`states`] finds the states where arrivals are Poisson and service is exponential: the rate
//! of attempts is a fixed point of how many are in time at that rate. The price: retries are taken to come as a Poisson
//! stream that forgets what it comes from. (A Markov chain over queue and retries, arXiv 2510.03551, has the way between
//! the states besides.) [`fluid`] follows the means through one standstill of the server, whatever the laws
//! are. The price: it knows no chance, so that it is the nearer the more services fit into a time-out.

pub mod fluid;
pub mod states;

use sojourn_model::system::Budget;
use sojourn_stats::{Estimate, Measure};

use self::fluid::Outcome;
use crate::answer::{Answer, Unanswered, Value, brief};

/// Open arrivals at one server of one core, first come, first served, whose clients give an attempt up after a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Storm {
    /// Requests per second.
    pub rate: f64,
    /// Mean service time (s).
    pub service_s: f64,
    /// How long a client waits for an attempt (s).
    pub timeout_s: f64,
    /// Attempts after the first, at most.
    pub retries: u32,
    /// Mean wait before each (s).
    pub backoff_s: f64,
    /// What limits the retries of all clients.
    pub budget: Option<Budget>,
    /// Whether the server does the work of attempts that were given up.
    pub work_goes_on: bool,
    /// Whether arrivals are Poisson and service is exponential.
    pub is_markovian: bool,
    /// Squared coefficients of variation of gaps and services.
    pub gaps_scv: f64,
    /// See `gaps_scv`.
    pub service_scv: f64,
    /// How long the server stands still once (s), in the good state.
    pub standstill_s: Option<f64>,
}

/// Of a system that is well no larger share of the requests fails, as the simulator has it.
const FAILING: f64 = 0.01;

/// The largest squared coefficient of variation with which means tell what comes of a standstill: that of the exponential law.
const SCV_MOST: f64 = 1.0 + 1e-9;

impl Storm {
    /// Attempts per request where none is in time: all of them, or as many as the budget has in the long run.
    pub fn attempts_most(&self) -> f64 {
        let per_request = match self.budget {
            None => f64::INFINITY,
            Some(Budget::Share(share)) => share,
            Some(Budget::Tokens { per_request, .. }) => per_request,
        };
        1.0 + per_request.min(f64::from(self.retries))
    }

    /// The highest rate (1/s) at which all attempts of a state in which none is in time can be done: above it the state stays.
    pub fn hidden_capacity(&self) -> f64 {
        1.0 / (self.service_s * self.attempts_most())
    }
}

/// Answer of theory about such clients.
///
/// Rows: without a standstill, where laws are exponential, of the state with the fewest attempts `attempts_ratio`,
/// `throughput` (good replies) and `error_ratio`; with a standstill `recovery_time`, without a number where it stays. Where more
/// than 1 % of the requests fail in that state, there is none to go back to. The notes say which further state there is, and
/// what is not known.
///
/// # Errors
/// [`Unanswered`] where there is no model of it.
pub fn answer(storm: &Storm) -> Result<Answer, Unanswered> {
    let refuse = |why: String| Err(Unanswered(why));
    let is_positive = |value: f64| value > 0.0 && value.is_finite();
    if ![storm.rate, storm.service_s, storm.timeout_s].into_iter().all(is_positive) {
        return refuse("clients that try again: rate, service and time-out must be positive and finite".into());
    }
    if storm.rate * storm.service_s >= 1.0 {
        return refuse(format!(
            "unstable: {} requests/s come and the server can do {}, so there is no good state to return to",
            brief(storm.rate),
            brief(1.0 / storm.service_s)
        ));
    }
    match storm.standstill_s {
        Some(standstill_s) => recovery(storm, standstill_s),
        None => steady(storm),
    }
}

/// The states that last, where laws are exponential.
fn steady(storm: &Storm) -> Result<Answer, Unanswered> {
    if !storm.is_markovian {
        let why = "no formula for clients that try again unless gaps and service are exponential: sim answers this";
        return Err(Unanswered(why.into()));
    }
    let found = states::all(storm);
    let mut answer = Answer::default();
    let good = found.first().expect("a bounded rate of attempts has a fixed point");
    answer.push("attempts_ratio", "1", Value::approximate(good.attempts / storm.rate));
    answer.push("throughput", "1/s", Value::approximate(good.goodput));
    answer.push("error_ratio", "1", Value::approximate(1.0 - good.goodput / storm.rate));
    answer.push("share_1", "1", Value::exact(1.0));
    answer.note(
        "formula: M/M/1 with a time-out, its attempts a fixed point, approximate: retries are taken to \
            come as a Poisson stream",
    );
    answer.note("a retry is taken to bring other work than its request: really the long ones come again, so that there are more");
    answer.note("response_time_mean, utilization: no formula for clients that try again");
    answer.note(match found.last().filter(|_| found.len() > 1) {
        Some(bad) => format!(
            "a second stable state: after a disturbance {} attempts a second may come for ever, with {} good \
            replies; the numbers are \
             those of the state without it",
            brief(bad.attempts),
            brief(bad.goodput)
        ),
        None => "no second stable state: it returns from every disturbance".into(),
    });
    bound(storm, &mut answer);
    Ok(answer)
}

/// What comes of a standstill, by means alone.
fn recovery(storm: &Storm, standstill_s: f64) -> Result<Answer, Unanswered> {
    if !storm.work_goes_on {
        let why = "no formula for a standstill where servers drop what was given up (`abandoned = \"cancelled\"`): \
            sim answers this";
        return Err(Unanswered(why.into()));
    }
    if storm.timeout_s <= storm.service_s {
        return Err(Unanswered(format!(
            "no formula for a standstill where a time-out, {} s, is no longer than a service, {} s: by means alone nothing is in \
             time, before it and after it",
            brief(storm.timeout_s),
            brief(storm.service_s)
        )));
    }
    let laws = [("gaps", storm.gaps_scv), ("services", storm.service_scv)];
    if let Some((what, scv)) = laws.into_iter().find(|(_, scv)| scv.is_nan() || *scv > SCV_MOST) {
        return Err(Unanswered(format!(
            "no formula for a standstill where {what} vary more than exponential ones do (squared coefficient of variation {}): \
             means alone do not tell what comes of it, and sim does",
            brief(scv)
        )));
    }
    if let Some(share) = failing_before(storm) {
        return Err(Unanswered(format!(
            "recovery_time: before the standstill {} % of the requests fail already, by the formula of its states: to be as \
             before is no recovery",
            brief((1000.0 * share).round() / 10.0)
        )));
    }
    let mut answer = Answer::default();
    match fluid::after(storm, standstill_s) {
        Some(Outcome::Recovers(after_s)) => {
            answer.push("recovery_time", "s", Value::approximate(after_s));
            answer.note(format!("it recovers about {} s after the standstill", brief((after_s * 10.0).round() / 10.0)));
        }
        Some(Outcome::Stays) => {
            // As the simulator says of none that recovered: no number stands for never.
            answer.measures.push(Measure::new("recovery_time", "s", Estimate::TooFew { samples: 0 }));
            answer.note(format!(
                "it does not recover: a second stable state, {} attempts/s of which the server can do {}, and none in time",
                brief(storm.rate * storm.attempts_most()),
                brief(1.0 / storm.service_s)
            ));
        }
        None => {
            return Err(Unanswered(
                "recovery_time: it takes too long to follow so near the bound: sim answers this".into(),
            ));
        }
    }
    answer.note(format!(
        "formula: fluid, by means alone, approximate: the nearer the more services fit into a time-out, here {}",
        brief(storm.timeout_s / storm.service_s)
    ));
    bound(storm, &mut answer);
    Ok(answer)
}

/// Which share (1) of the requests fails without a standstill, where the laws tell and it is no state to go back to.
fn failing_before(storm: &Storm) -> Option<f64> {
    let good = storm.is_markovian.then(|| states::all(storm))?.into_iter().next()?;
    Some(1.0 - good.goodput / storm.rate).filter(|share| *share > FAILING)
}

/// The load below which each disturbance passes.
fn bound(storm: &Storm, answer: &mut Answer) {
    if storm.work_goes_on {
        answer.note(format!(
            "hidden capacity: below {} requests/s, what the server can do over {} attempts of each, every disturbance passes",
            brief(storm.hidden_capacity()),
            brief(storm.attempts_most())
        ));
    }
}
