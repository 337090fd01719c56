//! How many requests per second can a backend take? Learned, at every report, from what it was sent and how it fared.
//!
//! Policies that ask for room rest on it, and no server says it of itself. An estimator learns the rate of saturation, at
//! which the backend would be busy all the time; beyond it response time grows without bound. Long before that it is long.
//! Agarwal (2001, section 3.5) calls capacity what a server "can serve without significant increase in response time", has
//! the front node estimate it at every load update, and leaves open how. So a [`Rule`] says which share of saturation counts
//! as capacity. Estimators are named and can be exchanged; they read no clock and
//! are told one [`Interval`] after another. What they learned fades by a fiftieth per report, so that they follow a backend
//! that changes; the price is that no estimate is surer than what some fifty reports can tell: the mean demand of n requests
//! is off by its coefficient of variation over the square root of n.
//!
//! ```
//! use sojourn_dispatch::capacity::{self, Interval};
//! use sojourn_stats::Span;
//!
//! let mut estimator = capacity::estimator("busy-share")?;
//! assert_eq!(estimator.capacity(), None);
//! let length = Span(500_000_000);
//! estimator.learn(&Interval { length, completed: 20, busy: Some(0.4), ..Interval::default() });
//! assert_eq!(estimator.capacity(), Some(100.0)); // 40 per second kept it busy for 0.4 of the time
//! # Ok::<(), sojourn_dispatch::DispatchError>(())
//! ```

use sojourn_stats::{Span, nearest};

use crate::DispatchError;

/// What happened at a backend since the report before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// How long it was.
    pub length: Span,
    /// Requests sent to it.
    pub sent: u32,
    /// Requests that it completed.
    pub completed: u32,
    /// Their mean response time; none without a request.
    pub latency: Option<Span>,
    /// The busy share of all its processors, 0 to 1, where it tells.
    pub busy: Option<f64>,
    /// Requests that it had at the end.
    pub in_flight: u32,
}

/// Learns the capacity of one backend.
pub trait Estimator: Send {
    /// Learns what happened until a report.
    fn learn(&mut self, interval: &Interval);

    /// Requests per second that the backend can take; none while nothing is known.
    fn capacity(&self) -> Option<f64>;
}

/// The names of the estimators and what each does, the default first.
pub static ESTIMATORS: &[(&str, &str)] = &[
    ("busy-share", "requests completed per second of busy time, where the backend tells its busy share"),
    ("response-time", "from the rate of completions and the mean number inside, where only response times are known"),
];

/// The name of the estimator that is taken where none is named.
pub const DEFAULT: &str = "busy-share";

/// What counts as the capacity of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// What learns the rate of saturation, one of [`ESTIMATORS`].
    pub estimator: &'static str,
    /// The share of that rate that is its capacity, above 0 and at most 1.
    pub at: f64,
}

impl Rule {
    /// The rule of this estimator and this share.
    ///
    /// # Errors
    /// As [`known`] and [`share`].
    pub fn new(estimator: &str, at: f64) -> Result<Rule, DispatchError> {
        Ok(Rule { estimator: known(estimator)?, at: share(at)? })
    }
}

impl Default for Rule {
    /// The default estimator, and saturation.
    fn default() -> Rule {
        Rule { estimator: DEFAULT, at: 1.0 }
    }
}

/// A share of saturation that can count as capacity.
///
/// # Errors
/// On what is not above 0 and at most 1.
pub fn share(at: f64) -> Result<f64, DispatchError> {
    if at > 0.0 && at <= 1.0 {
        return Ok(at);
    }
    Err(DispatchError::Policy(format!(
        "{at} of saturation is no capacity; write a share above 0 and at most 1, e.g. 0.7"
    )))
}

/// Makes the estimator of this name.
///
/// # Errors
/// As [`known`].
pub fn estimator(name: &str) -> Result<Box<dyn Estimator>, DispatchError> {
    Ok(match known(name)? {
        "busy-share" => Box::new(BusyShare::default()),
        "response-time" => Box::new(ResponseTime::default()),
        _ => unreachable!("each that is known is made"),
    })
}

/// The name of an estimator, as [`ESTIMATORS`] has it.
///
/// # Errors
/// On a name that no estimator has; the message offers the nearest one.
pub fn known(name: &str) -> Result<&'static str, DispatchError> {
    let names = || ESTIMATORS.iter().map(|(name, _)| *name);
    names().find(|known| *known == name).ok_or_else(|| {
        let hint = match nearest(name, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are {}", names().collect::<Vec<_>>().join(", ")),
        };
        DispatchError::Policy(format!("unknown estimator of capacity `{name}`; {hint}"))
    })
}

/// The utilisation law (Denning and Buzen 1978): throughput over utilisation is the rate at which the backend would be
/// busy all the time, whatever its discipline and its demands.
///
/// It is as good as the busy share that it is told, and right at any load above 0. Under overload of processor sharing work
/// goes into requests that are not completed yet, and the estimate is low while their number grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyShare {
    completed: Fading,
    busy_s: Fading,
}

/// For a backend that does not tell how busy it is: the share of time in which it is busy is judged by the mean number of
/// requests inside (Little 1961), as N / (1 + N), which is exact for one processor that is shared, and for any server as
/// it fills up. Throughput is then fitted to that share by least squares through the origin, so that the intervals under
/// load, where the share is sure, count most.
///
/// It needs load: at low load several cores look like one that is half as fast, and constant demands under FCFS like a
/// faster one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTime {
    /// Sum of share x throughput.
    cross: Fading,
    /// Sum of share x share.
    square: Fading,
}

/// A sum whose terms fade by a fiftieth per report.
#[derive(Clone, Copy, Debug, Default)]
struct Fading(f64);

impl Fading {
    fn add(&mut self, term: f64) {
        self.0 = self.0 * 0.98 + term;
    }

    /// This sum over another, where both are above 0.
    fn over(self, other: Fading) -> Option<f64> {
        (self.0 > 0.0 && other.0 > 0.0).then(|| self.0 / other.0)
    }
}

impl Estimator for BusyShare {
    fn learn(&mut self, interval: &Interval) {
        let sound = interval.busy.filter(|busy| busy.is_finite() && *busy >= 0.0);
        let Some(busy) = sound.filter(|_| interval.length > Span::ZERO) else { return };
        self.completed.add(interval.completed.into());
        self.busy_s.add(busy.min(1.0) * interval.length.as_secs_f64());
    }

    fn capacity(&self) -> Option<f64> {
        self.completed.over(self.busy_s)
    }
}

impl Estimator for ResponseTime {
    fn learn(&mut self, interval: &Interval) {
        let Some(latency) = interval.latency.filter(|_| interval.length > Span::ZERO) else { return };
        let throughput = f64::from(interval.completed) / interval.length.as_secs_f64();
        let inside = throughput * latency.as_secs_f64();
        let share = inside / (1.0 + inside);
        self.cross.add(share * throughput);
        self.square.add(share * share);
    }

    fn capacity(&self) -> Option<f64> {
        self.cross.over(self.square)
    }
}
