//! When the requests of an open workload come: a renewal process, its requests one by one or in batches, its rate as it
//! is or shaped by a profile.

use sojourn_stats::law::{Argument, Expression};
use sojourn_stats::{Dimension, Law, nearest, quantity};

use crate::profile::Profile;
use crate::workload::WorkloadError;

/// The gaps of an open workload: a law whose scale may still hang on the system (`utilization = 0.7`).
#[derive(Clone, Debug)]
pub struct Arrivals {
    text: String,
    utilization: Option<f64>,
    /// The law at mean 1, where the scale is a utilisation.
    shape: Option<Law>,
    gaps: Option<Law>,
    /// Requests at each instant.
    batch: u32,
    profile: Option<Profile>,
}

impl Arrivals {
    /// Reads `exponential(rate = 374 /s)`, `erlang(k = 2, mean = 10 ms)`, `hyperexponential(utilization = 0.7, cv = 2)`,
    /// or `batches(n = 50, every = 1 s)`: 50 requests at each instant (also `batches(n = 50, utilization = 0.7)`).
    ///
    /// # Errors
    /// As [`Law::parse`]; also when two scales are given, or none.
    pub fn parse(text: &str) -> Result<Arrivals, WorkloadError> {
        let text = text.trim();
        if let Some(call) = Expression::parse(text)? {
            if call.name == "batches" {
                return batches(text, &call.arguments);
            }
            if nearest(call.name, ["batches"]).is_some() {
                let fault = format!("unknown law `{}`; did you mean `batches`?", call.name);
                return Err(WorkloadError::Invalid(fault));
            }
        }
        match Law::parse_shape(text, Dimension::Time, "utilization")? {
            Some((_, utilization)) if !(utilization > 0.0 && utilization.is_finite()) => {
                Err(WorkloadError::Invalid(format!("`{text}`: the utilization must be above 0, such as 0.7 or 70%")))
            }
            Some((shape, utilization)) => Ok(Arrivals::shaped(text, shape, utilization, 1)),
            None => {
                let law = Law::parse(text, Dimension::Time)?;
                if law.mean() > 0.0 {
                    Ok(Arrivals { text: text.into(), ..Arrivals::of(law) })
                } else {
                    Err(WorkloadError::Invalid(format!("`{text}`: the mean gap must be above 0")))
                }
            }
        }
    }

    /// Arrivals whose gaps (seconds) have this law.
    pub fn of(law: Law) -> Arrivals {
        let text = law.to_string();
        Arrivals { text, utilization: None, shape: None, gaps: Some(law), batch: 1, profile: None }
    }

    fn shaped(text: &str, shape: Law, utilization: f64, batch: u32) -> Arrivals {
        let (utilization, shape) = (Some(utilization), Some(shape));
        Arrivals { text: text.into(), utilization, shape, gaps: None, batch, profile: None }
    }

    /// The same arrivals at a rate that `profile` multiplies: each instant is moved to where the profile's integral is
    /// what the instant was, so that gaps keep their law and order at any rate.
    pub fn with_profile(self, profile: Profile) -> Arrivals {
        Arrivals { profile: Some(profile), ..self }
    }

    /// The text that was read, for messages.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The utilisation asked for, where the rate was given so: at level 1 of a profile.
    pub fn utilization(&self) -> Option<f64> {
        self.utilization
    }

    /// Settles a rate given as utilisation: `capacity` > 0 is the rate (1/s) at which the system would be at 1. Does nothing
    /// where the rate was given otherwise; may be called again for another system.
    pub fn settle(&mut self, capacity: f64) {
        if let (Some(utilization), Some(shape)) = (self.utilization, &self.shape) {
            self.gaps = Some(shape.scaled(f64::from(self.batch) / (utilization * capacity)));
        }
    }

    /// The law of the gaps (seconds) between requests, once settled; none where no law says it, because they come in
    /// batches or at a rate that changes.
    pub fn law(&self) -> Option<&Law> {
        self.gaps.as_ref().filter(|_| self.batch == 1 && self.profile.is_none())
    }

    /// The law of the gaps (seconds) between instants with requests, at level 1 of a profile, once settled.
    pub fn gaps(&self) -> Option<&Law> {
        self.gaps.as_ref()
    }

    /// Requests at each instant: 1, or the size of the batches.
    pub fn batch(&self) -> u32 {
        self.batch
    }

    /// How the rate changes; none: it does not.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Mean arrival rate (1/s) at level 1 of a profile, once settled; 0 where the mean gap is infinite.
    pub fn rate(&self) -> Option<f64> {
        self.gaps.as_ref().map(|law| f64::from(self.batch) / law.mean())
    }

    /// The highest arrival rate (1/s) of the profile, or the rate where there is none.
    pub fn peak_rate(&self) -> Option<f64> {
        Some(self.rate()? * self.profile.as_ref().map_or(1.0, Profile::peak))
    }

    /// Where no formula can follow, one line that says why.
    pub fn beyond_formulas(&self) -> Option<&'static str> {
        if self.profile.is_some() {
            Some("no formula for a rate that changes with time: sim answers this")
        } else if self.batch > 1 {
            Some("no formula for requests that come in batches: sim answers this")
        } else {
            None
        }
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        match &self.gaps {
            Some(law) if law.mean() <= 0.0 || law.mean().is_nan() => {
                Err(WorkloadError::Invalid(format!("arrivals = \"{}\": the mean gap must be above 0", self.text)))
            }
            _ => Ok(()),
        }
    }
}

fn batches(text: &str, arguments: &[Argument<'_>]) -> Result<Arrivals, WorkloadError> {
    let fault = |what: &str| {
        WorkloadError::Invalid(format!(
            "`{text}`: {what}; write `batches(n = 50, every = 1 s)`: 50 requests each second"
        ))
    };
    let (mut n, mut every_s, mut utilization) = (None, None, None);
    for argument in arguments {
        match argument.key {
            Some("n") => n = argument.value.parse::<u32>().ok().filter(|n| *n > 0),
            Some("every") => {
                let span = quantity::parse(argument.value, Dimension::Time).map_err(|e| fault(&e.to_string()))?;
                every_s = Some(span).filter(|span| *span > 0.0 && span.is_finite());
            }
            Some("utilization") => {
                let share = quantity::parse(argument.value, Dimension::Number).map_err(|e| fault(&e.to_string()))?;
                utilization = Some(share).filter(|share| *share > 0.0 && share.is_finite());
            }
            _ => return Err(fault(&format!("`{}` is none of n, every and utilization", argument.value))),
        }
    }
    let n = n.ok_or_else(|| fault("n is a whole number of at least 1"))?;
    match (every_s, utilization) {
        (Some(every_s), None) => Ok(Arrivals { text: text.into(), batch: n, ..Arrivals::of(Law::constant(every_s)) }),
        (None, Some(utilization)) => Ok(Arrivals::shaped(text, Law::constant(1.0), utilization, n)),
        _ => Err(fault("either the time between batches or a utilization, above 0")),
    }
}
