//! Jobs below and above the breakpoint of Figure 7.3, under processor sharing and FCFS.

use rayon::prelude::*;

use super::SETS;
use super::replay::{self, DISCIPLINES, FCFS, PS};
use crate::bjornstad::series::{Cell, LAWS, REQUESTS, SERVICE_S, Series, UTILIZATION, breakpoint};

/// A file of demands, with Poisson gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bjornstad) struct Jobs {
    /// A place in [`LAWS`].
    pub(in crate::bjornstad) law: usize,
    pub(in crate::bjornstad) set: u64,
    pub(in crate::bjornstad) breakpoint_s: f64,
    /// The share of jobs below it.
    pub(in crate::bjornstad) below: f64,
    /// Mean response time under PS over that under FCFS: of all jobs, of those below, of those above.
    pub(in crate::bjornstad) ps_over_fcfs: [f64; 3],
}

/// [`SETS`] files of each law.
pub(super) fn jobs() -> Vec<Jobs> {
    let of = |number: usize| {
        let (law, set) = (number % LAWS.len(), (number / LAWS.len()) as u64);
        let cell = Cell { arrivals: Series::Exponential, service: LAWS[law] };
        let (gaps_s, demands_s) = cell.draw(REQUESTS, SERVICE_S / UTILIZATION, SERVICE_S, 1 + set);
        let (breakpoint_s, below) = breakpoint(&demands_s);
        let [ps, fcfs] = [PS, FCFS].map(|of| replay::responses_s(DISCIPLINES[of].1, SERVICE_S, &gaps_s, &demands_s));
        let sum = |responses_s: &[f64], wanted: fn(f64, f64) -> bool| {
            let chosen = demands_s.iter().zip(responses_s).filter(|(demand_s, _)| wanted(**demand_s, breakpoint_s));
            chosen.map(|(_, response_s)| response_s).sum::<f64>()
        };
        let parts: [fn(f64, f64) -> bool; 3] = [|_, _| true, |demand, at| demand < at, |demand, at| demand >= at];
        Jobs { law, set, breakpoint_s, below, ps_over_fcfs: parts.map(|part| sum(&ps, part) / sum(&fcfs, part)) }
    };
    (0..LAWS.len() * SETS as usize).into_par_iter().map(of).collect()
}
