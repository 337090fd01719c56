//! A server model as a delay curve: a delay that depends on the number of users attached.
//!
//! Users are attached in growing numbers. Each sends a request, waits for the reply and thinks if it has a think time.
//! At each number the mean delay and the share of denied requests are measured. Polynomials through most of the numbers
//! are the model; the other numbers say how good it is between them (Zhang 2002, section 4.4). This needs no knowledge
//! of the server's inside. The price: the curve holds for these requests, includes the path, and is a guess beyond the
//! largest number.

mod fit;
mod write;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use sojourn_load::{LoadError, Outcome, Proof, Report};
use sojourn_model::{DelayCurve, Demand, Discipline, Server};
use sojourn_stats::{Estimate, Law, Span, interval, measure};

pub use self::fit::fit_delay_curve;

use crate::client::{BUSY_MAX, Client};
use crate::settings::{CalibrateError, Interval, Progress, Settings};
use crate::target::Target;

/// Fewest numbers of users for a curve.
const NUMBERS_MIN: usize = 6;
/// Of the numbers between the first and the last, every fourth is kept out of the fit.
const KEPT_OUT_EVERY: usize = 4;
/// Shortest run at a number of users, in delays; its first part, the warm-up; and its fewest replies.
const ROUNDS: (f64, f64) = (8.0, 2.0);
const REPLIES_MIN: f64 = 60.0;
/// Share of the requests that may fail in a way that is no denial.
const WRONG_MAX: f64 = 0.01;

/// A server's delay against the users attached to it.
#[derive(Clone, Debug, Serialize)]
pub struct CurveFound {
    /// The URL as it was given.
    pub url: String,
    /// The law of the users' think time (s); with a mean of 0 there is none.
    pub think: String,
    /// The measurements, in ascending order of the users.
    pub points: Vec<CurvePoint>,
    /// The model: a delay curve.
    #[serde(skip)]
    pub server: Server,
    /// Notes for the reader, one line each.
    pub notes: Vec<String>,
    /// Time of all loads (s).
    pub elapsed_s: f64,
}

/// The measurement at a number of attached users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Users.
    pub users: u32,
    /// Mean delay of the good replies (s).
    pub delay: Interval,
    /// Share of the requests that were denied: refused, timed out, cut off, or answered with a status from 500 up.
    pub denied_share: Interval,
    /// Time of a denial (s); 0 if there was none.
    pub denied_after_s: f64,
    /// Good replies per second.
    pub throughput: f64,
    /// The delay by the model (s).
    pub predicted_s: f64,
    /// The share of denied requests by the model.
    pub predicted_share: f64,
    /// Whether the fit left it out.
    pub kept_out: bool,
    /// Why the load generator doubts it.
    pub doubts: Vec<String>,
}

/// Measures the delay of `target` with each of these numbers of users, with think times from `think` (s), and fits a
/// curve to most of them. The server must have no other load meanwhile.
///
/// # Errors
/// As [`crate::calibrate`]; and when the numbers are too few or more than the settings allow.
pub fn delay_curve(
    target: &Target,
    settings: &Settings,
    users: &[u32],
    think: &Law,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<CurveFound, CalibrateError> {
    let users = numbers(users, settings)?;
    if !think.mean().is_finite() {
        return Err(CalibrateError::Invalid("--think: users need a mean time to think".into()));
    }
    if !settings.allowed.allows(target.address.ip()) {
        return Err(LoadError::NotAllowed { target: target.address }.into());
    }
    let client = Client::new(target, settings, progress, cancel);
    client.say("reply to one user");
    let level = target.reference;
    let pilot = client.one_by_one(vec![level; 4], Span::ZERO)?;
    // The first one may find cold caches.
    let mut expected_s = pilot.iter().skip(1).map(|reply| reply.taken_s()).sum::<f64>() / 3.0;
    let budget_s = settings.time.as_secs_f64() / users.len() as f64;
    let mut points: Vec<CurvePoint> = Vec::with_capacity(users.len());
    let mut before = 1;
    for (index, count) in users.iter().enumerate() {
        client.say(&format!("delay with {count} users attached"));
        // The delay grows at most about in proportion to the users.
        expected_s *= f64::from(*count) / f64::from(before);
        before = *count;
        let length = Length::of(expected_s, think.mean(), *count, budget_s);
        let report = client.attached(*count, think, length.whole, Span::from_secs_f64(4.0 * expected_s))?;
        let mut point = attached(&client, &report, *count, &length)?;
        point.kept_out = is_kept_out(index, users.len());
        expected_s = point.delay.value;
        points.push(point);
    }
    let (curve, mut notes) = model(&points)?;
    for point in &mut points {
        point.predicted_s = curve.stay(point.users).as_secs_f64();
        point.predicted_share = curve.denied_share(point.users);
    }
    if client.spent_s.get() > 1.2 * settings.time.as_secs_f64() {
        let (took_s, asked) = (client.spent_s.get(), settings.time);
        notes.push(format!("took {took_s:.0} s of load instead of {asked}: the delays are long"));
    }
    let demand = vec![(String::new(), Demand::parse("0 s").expect("no work is a demand"))];
    let discipline = Discipline::DelayCurve(Arc::new(curve));
    Ok(CurveFound {
        url: target.url.clone(),
        think: think.to_string(),
        points,
        server: Server {
            discipline,
            cores: 1,
            speed: 1.0,
            demand,
            capacity: None,
            drops_overflow: false,
            machine: None,
        },
        notes,
        elapsed_s: client.spent_s.get(),
    })
}

fn numbers(users: &[u32], settings: &Settings) -> Result<Vec<u32>, CalibrateError> {
    let invalid = |what: String| Err(CalibrateError::Invalid(what));
    let mut sorted = users.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < NUMBERS_MIN {
        let found = sorted.len();
        return invalid(format!("--curve: {found} numbers of users; it takes at least {NUMBERS_MIN} different ones"));
    }
    if sorted[0] == 0 {
        return invalid("--curve: 0 users ask for nothing; start with 1".into());
    }
    if settings.time < Span(5_000_000_000) {
        return invalid(format!("--time: {} is too short to measure anything; give at least 5 s", settings.time));
    }
    match sorted.last() {
        Some(most) if *most > settings.connections_max => {
            let allowed = settings.connections_max;
            invalid(format!(
                "--curve: {most} users are more than the {allowed} connections allowed: raise --connections-max"
            ))
        }
        _ => Ok(sorted),
    }
}

/// Never the first or the last: the curve holds between these.
fn is_kept_out(index: usize, count: usize) -> bool {
    index % KEPT_OUT_EVERY == 2 && index + 1 < count
}

/// Length of the run at a number of users.
struct Length {
    warm_up: Span,
    whole: Span,
}

impl Length {
    fn of(delay_s: f64, think_s: f64, users: u32, budget_s: f64) -> Length {
        let round_s = delay_s + think_s;
        let enough_s = (ROUNDS.0 * round_s).max(REPLIES_MIN * round_s / f64::from(users) + ROUNDS.1 * round_s);
        let whole_s = budget_s.max(enough_s);
        let warm_up_s = (ROUNDS.1 * round_s).max(0.1 * whole_s);
        Length { warm_up: Span::from_secs_f64(warm_up_s), whole: Span::from_secs_f64(whole_s) }
    }
}

fn attached(client: &Client<'_>, report: &Report, users: u32, length: &Length) -> Result<CurvePoint, CalibrateError> {
    let refused = |what: String| Err(CalibrateError::Refused(what));
    let busy = report.client_busy.iter().copied().fold(0.0, f64::max);
    if busy > BUSY_MAX {
        return refused(format!(
            "the client is the limit: its thread was {:.0} % busy with {users} users; let them think, ask for more work \
             per request, or measure from another machine",
            busy * 100.0
        ));
    }
    let mut records: Vec<_> = report.records.as_deref().unwrap_or_default().iter().collect();
    records.retain(|record| record.planned.0 >= length.warm_up.0 && record.planned.0 < length.whole.0);
    records.sort_by_key(|record| record.done);
    let (mut delays, mut denials, mut denied_after_s, mut wrong) = (Vec::new(), Vec::new(), 0.0, 0usize);
    for record in &records {
        let taken_s = record.done.saturating_since(record.planned).as_secs_f64();
        match record.outcome {
            Outcome::Ok => {
                delays.push(taken_s);
                denials.push(0.0);
            }
            Outcome::Refused
            | Outcome::Reset
            | Outcome::Timeout
            | Outcome::ClosedEarly
            | Outcome::ServerError
            | Outcome::Unfinished => {
                denials.push(1.0);
                denied_after_s += taken_s;
            }
            _ => wrong += 1,
        }
    }
    if wrong as f64 > WRONG_MAX * records.len() as f64 {
        let causes: Vec<String> =
            report.counts.causes().into_iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        return refused(format!("requests of {users} users failed ({}), which is no denial", causes.join(", ")));
    }
    let Some(delay) = sampled(&measure::mean_of_series(&delays)) else {
        return refused(format!(
            "of {} requests of {users} users {} were answered, too few for a mean; attach fewer, or give it more --time",
            records.len(),
            delays.len()
        ));
    };
    let denied = denials.iter().filter(|denied| **denied > 0.0).count();
    let denied_share = match denied {
        // A series without a denial tells only its length.
        0 => interval::ratio(0, denials.len() as u64, 0.95).map(|(low, high)| Interval { value: 0.0, low, high }),
        _ => sampled(&measure::mean_of_series(&denials)),
    };
    let measured_s = (length.whole - length.warm_up).as_secs_f64();
    client.refuse_fast(records.len() as f64 / measured_s)?;
    Ok(CurvePoint {
        users,
        delay,
        denied_share: denied_share.unwrap_or(Interval { value: 0.0, low: 0.0, high: 1.0 }),
        denied_after_s: denied_after_s / denied.max(1) as f64,
        throughput: delays.len() as f64 / measured_s,
        predicted_s: f64::NAN,
        predicted_share: f64::NAN,
        kept_out: false,
        doubts: match &report.verdict {
            Proof::Suspect(_) => report.verdict.reasons(),
            _ => Vec::new(),
        },
    })
}

fn sampled(estimate: &Estimate) -> Option<Interval> {
    let (low, high) = estimate.interval()?;
    Some(Interval { value: estimate.value()?, low, high })
}

/// The curve through the points that are not kept out, and notes on it.
fn model(points: &[CurvePoint]) -> Result<(DelayCurve, Vec<String>), CalibrateError> {
    let fitted = || points.iter().filter(|point| !point.kept_out);
    let delays: Vec<(f64, f64)> = fitted().map(|point| (f64::from(point.users), point.delay.value)).collect();
    let denied: Vec<(f64, f64)> = fitted().map(|point| (f64::from(point.users), point.denied_share.value)).collect();
    let (times, shares) = points.iter().fold((0.0, 0.0), |(times, shares), point| {
        let denials = point.throughput * point.denied_share.value;
        (times + denials * point.denied_after_s, shares + denials)
    });
    let penalty = Span::from_secs_f64(if shares > 0.0 { times / shares } else { 0.0 });
    let curve = fit_delay_curve(&delays, &denied, penalty).map_err(|e| CalibrateError::Refused(e.to_string()))?;
    let mut notes = Vec::new();
    if curve.denied.is_none() && shares > 0.0 {
        notes.push(
            "denied: requests were denied, at too few numbers of users for a curve; the model denies no request"
                .to_owned(),
        );
    }
    if let Some(most) = points.last() {
        notes.push(format!("delay: of 1 to {} users; beyond that it is a guess", most.users));
    }
    Ok((curve, notes))
}
