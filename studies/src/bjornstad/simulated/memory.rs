//! Response time against H at equal mean *and* variance of the gaps; the thesis could not separate these.
//!
//! The gaps have one law and the order of fractional Gaussian noise (a Gaussian copula, as `fgn(...)` has it);
//! services are exponential; his utilisation and number of requests. Sets share their random numbers over H, so that
//! they are compared pair by pair.

use rayon::prelude::*;
use sojourn_stats::hurst::whittle;
use sojourn_stats::{Dimension, Fgn, Law, Stream};

use super::replay::{self, DISCIPLINES, FCFS, LAS, PS};
use crate::ReproduceError;
use crate::bjornstad::series::{REQUESTS, SERVICE_S, Series, UTILIZATION};

/// The values of H.
pub(in crate::bjornstad) const HURST: [f64; 4] = [0.5, 0.6, 0.7, 0.8];
/// The laws of the gaps: with the coefficient of variation of Poisson arrivals, and with the small one of his
/// self-similar files.
pub(in crate::bjornstad) const MARGINALS: [(&str, &str); 2] =
    [("exponential, cv 1", "exponential(mean = 1)"), ("normal, cv 0.22", "normal(mean = 1, cv = 0.22)")];
/// The disciplines, by their place in [`DISCIPLINES`].
pub(in crate::bjornstad) const PLAYED: [usize; 3] = [FCFS, PS, LAS];
/// Sets of [`REQUESTS`] requests.
pub(in crate::bjornstad) const SETS: u64 = 40;

/// The results of one set.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bjornstad) struct Outcome {
    /// Places in [`MARGINALS`] and [`HURST`].
    pub(in crate::bjornstad) marginal: usize,
    pub(in crate::bjornstad) hurst: usize,
    pub(in crate::bjornstad) set: u64,
    /// The H of the drawn gaps, by Whittle's estimator.
    pub(in crate::bjornstad) measured_h: f64,
    /// Mean response times (s), in the order of [`PLAYED`].
    pub(in crate::bjornstad) means_s: [f64; 3],
}

/// Every law at every H.
pub(super) fn outcomes() -> Result<Vec<Outcome>, ReproduceError> {
    let fail = |e: &dyn std::fmt::Display| ReproduceError(e.to_string());
    let mut all = Vec::new();
    for (marginal, (_, text)) in MARGINALS.iter().enumerate() {
        let law = Law::parse(text, Dimension::Number).map_err(|e| fail(&e))?;
        for (hurst, h) in HURST.iter().enumerate() {
            let plan = Fgn::new(*h, REQUESTS).map_err(|e| fail(&e))?;
            let of = |set: u64| -> Result<Outcome, ReproduceError> {
                let noise = plan.clone().path(&mut Stream::new(set, "bjornstad", "noise"));
                let value = |z: &f64| law.quantile_of_normal(*z);
                let gaps: Vec<f64> = noise.iter().map(value).collect::<Result<_, _>>().map_err(|e| fail(&e))?;
                let measured_h = whittle::fgn(&gaps).map_err(|e| fail(&e))?.h;
                let gaps_s: Vec<f64> = gaps.iter().map(|gap| gap * SERVICE_S / UTILIZATION).collect();
                let demands = Series::Exponential.draw(REQUESTS, &mut Stream::new(set, "bjornstad", "demands"));
                let demands_s: Vec<f64> = demands.iter().map(|demand| demand * SERVICE_S).collect();
                let mean_s = |played: usize| replay::moments(DISCIPLINES[played].1, SERVICE_S, &gaps_s, &demands_s).0;
                Ok(Outcome { marginal, hurst, set, measured_h, means_s: PLAYED.map(mean_s) })
            };
            let sets: Vec<Outcome> = (0..SETS).into_par_iter().map(of).collect::<Result<_, ReproduceError>>()?;
            all.extend(sets);
        }
    }
    Ok(all)
}
