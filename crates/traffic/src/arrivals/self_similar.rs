//! Gaps of any law with long memory: `fgn(h = 0.8, mean = 94.7 ms, cv = 1, marginal = exponential)`.
//!
//! A Gaussian copula: fractional Gaussian noise z gives the order, and each gap is the quantile of its law where z lies in
//! the normal law, x = Q(Phi(z)). Mean, variance and H are so set one by one. The transform keeps the exponent of the
//! correlations (it rises, so its first Hermite coefficient is not 0: Taqqu, Z. Wahrscheinlichkeitstheorie 31, 1975), but
//! not their size: they are smaller, and the more so the more the law is skewed. At finite length the H that is measured
//! is therefore lower than the one asked for; what came out is measured and reported ([`Arrivals::hurst_of`]). Below 0.5
//! only a normal law would keep the alternation; what is left of it in others dies out, and every engine says so
//! ([`Arrivals::caveats`]).
//!
//! Exact noise has a length. A path is as long as [`POINTS`], or as the number of requests that was announced, or as
//! `length` says; when it is used up another one follows that is independent of it, and correlations end there. Paths are
//! not joined more smoothly than that, so that what is inside of one is exact. The price is 8 bytes a gap, and 64 for the
//! moment in which a path is drawn.
//!
//! [`Arrivals::hurst_of`]: crate::Arrivals::hurst_of
//! [`Arrivals::caveats`]: crate::Arrivals::caveats

use std::sync::{Arc, OnceLock};

use sojourn_stats::fgn::{Fgn, FgnError};
use sojourn_stats::law::Argument;
use sojourn_stats::{Dimension, Law, Stream, quantity};

use super::scale::{self, Scale, Scaled, WITH_CV};
use crate::error::WorkloadError;

/// Gaps of a path where nothing else is said: a plan of up to so many requests is the beginning of any longer one.
const POINTS: usize = 1 << 20;
/// Gaps of the longest path that is drawn unasked: 2 GiB while it is.
const POINTS_MOST: usize = 1 << 25;
/// Gaps of the longest path.
const LENGTH_MOST: usize = 1 << 27;
/// How far the cv of a marginal may be from the one that was asked for.
const CV_WITHIN: f64 = 1e-3;

/// How gaps hang together.
#[derive(Clone, Debug)]
pub(crate) struct Correlated {
    pub(crate) h: f64,
    /// Whether the length was written.
    fixed: bool,
    points: usize,
    /// Planned once for all who draw.
    plan: Arc<OnceLock<Fgn>>,
}

impl Correlated {
    /// Reads the arguments of `fgn(...)`, and with them the law of the gaps.
    pub(crate) fn parse(text: &str, arguments: &[Argument<'_>]) -> Result<(Correlated, Scaled), WorkloadError> {
        let fault = |what: String| {
            let form = "write `fgn(h = 0.8, mean = 94.7 ms, cv = 1, marginal = exponential)`";
            WorkloadError::Invalid(format!("`{text}`: {what}; {form}"))
        };
        let (mut h, mut scale, mut cv, mut marginal, mut length) = (None, None, None, "exponential", None);
        for argument in arguments {
            let value = argument.value;
            if let Some(read) = Scale::read(argument).map_err(fault)? {
                Scale::once(&mut scale, read).map_err(fault)?;
                continue;
            }
            match argument.key {
                Some("h") => h = Some(quantity::parse(value, Dimension::Number).map_err(|e| fault(e.to_string()))?),
                Some("cv") => cv = Some(value),
                Some("marginal") => marginal = value,
                Some("length") => match value.parse::<usize>().ok().filter(|length| (2..=LENGTH_MOST).contains(length))
                {
                    Some(number) => length = Some(number),
                    None => {
                        return Err(fault(format!("length = {value} is not a number of gaps from 2 to {LENGTH_MOST}")));
                    }
                },
                _ => {
                    let known = ["h", "mean", "rate", "utilization", "cv", "marginal", "length"];
                    return Err(fault(argument.foreign(&known)));
                }
            }
        }
        let h = h.ok_or_else(|| fault("h, the Hurst parameter, is missing".into()))?;
        if !(h > 0.0 && h < 1.0) {
            return Err(fault(FgnError::Hurst(h).to_string()));
        }
        let law = scale::law(marginal, cv, scale.is_some()).map_err(|e| match scale {
            None => fault(format!("{e} (the rate is set by mean, rate or utilization, or in the marginal)")),
            Some(_) => fault(format!("marginal: {e}")),
        })?;
        suits(&law, scale::name(marginal), cv).map_err(fault)?;
        let scaled = match scale {
            Some(Scale::Mean(mean)) => (law.scaled(mean), None),
            Some(Scale::Utilization(utilization)) => (law, Some(utilization)),
            None => (law, None),
        };
        let (fixed, points) = (length.is_some(), length.unwrap_or(POINTS));
        Ok((Correlated { h, fixed, points, plan: Arc::default() }, scaled))
    }

    /// As [`crate::Arrivals::reach`].
    pub(crate) fn reach(&mut self, requests: u64) {
        let points = usize::try_from(requests).unwrap_or(POINTS_MOST).min(POINTS_MOST).next_power_of_two();
        if !self.fixed && points > self.points {
            (self.points, self.plan) = (points, Arc::default());
        }
    }

    /// Gaps of a path.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// The gaps of this law, from the first.
    pub(crate) fn gaps(&self, law: Law, stream: Stream) -> CorrelatedGaps {
        let plan =
            self.plan.get_or_init(|| Fgn::new(self.h, self.points).expect("h and length were checked when read"));
        CorrelatedGaps { law, plan: plan.clone(), stream, path: Vec::new(), next: 0 }
    }
}

/// Refuses a law whose gaps cannot have the H, or the cv, that was asked for.
fn suits(law: &Law, name: &str, cv: Option<&str>) -> Result<(), String> {
    law.quantile(0.5).map_err(|e| e.to_string())?;
    if law.variance() == 0.0 {
        return Err("gaps that are all the same have no H".into());
    }
    if !law.variance().is_finite() {
        return Err(format!(
            "{name} gaps of infinite variance have no correlations, so no H can be set: take an alpha above 2, a \
             bounded-pareto marginal, or on-off(...), where heavy tails make the H"
        ));
    }
    let Some(text) = cv else { return Ok(()) };
    let asked = quantity::parse(text, Dimension::Number).map_err(|e| format!("cv: {e}"))?;
    let own = law.scv().sqrt();
    if (own - asked).abs() <= CV_WITHIN * own {
        return Ok(());
    }
    Err(if WITH_CV.contains(&name) {
        format!("cv = {text} comes out as {own:.4} of {name}, whose values are redrawn or cut: take another marginal")
    } else {
        let others = WITH_CV.join(", ");
        format!(
            "cv = {text}, but a marginal `{name}` has cv {own:.4} whatever its mean: leave cv out, or take one of {others}"
        )
    })
}

/// Gap after gap, path after path.
pub(crate) struct CorrelatedGaps {
    law: Law,
    plan: Fgn,
    stream: Stream,
    path: Vec<f64>,
    next: usize,
}

impl CorrelatedGaps {
    /// The next gap (s).
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        if self.next == self.path.len() {
            // The clone has the room that drawing takes, and is gone with it.
            (self.path, self.next) = (self.plan.clone().path(&mut self.stream), 0);
        }
        let z = self.path[self.next];
        self.next += 1;
        self.law.quantile_of_normal(z).expect("the law was asked for a quantile when it was read")
    }
}
