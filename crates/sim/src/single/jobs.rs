//! Jobs that are drawn: some at a time, so that drawing and playing are loops of their own.

use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::Clock;

use super::{Arrival, Drawn};
use crate::control::SimError;

/// Jobs drawn at once: few enough to stay near the processor.
const MOST: usize = 512;

/// Those of a plan of one client whose demands are this law's.
pub(super) struct Source {
    clock: Clock,
    service: Law,
    services: Stream,
    at: Vec<Time>,
    service_s: Vec<f64>,
    left: u64,
}

impl Source {
    pub(super) fn new(drawn: &Drawn<'_>) -> Result<Source, SimError> {
        let clock = Clock::new(drawn.arrivals, drawn.seed).map_err(|e| SimError::Invalid(e.to_string()))?;
        let services = Stream::new(drawn.seed, "source", "demands");
        let (at, service_s) = (vec![Time::ZERO; MOST], vec![0.0; MOST]);
        Ok(Source { clock, service: drawn.service.clone(), services, at, service_s, left: drawn.jobs })
    }

    /// Puts the next jobs into `block`, none at the end.
    pub(super) fn next(&mut self, block: &mut Vec<Arrival>) {
        let jobs = self.left.min(MOST as u64) as usize;
        let come = self.clock.fill(&mut self.at[..jobs]);
        self.left = if come < jobs { 0 } else { self.left - jobs as u64 };
        let service_s = &mut self.service_s[..come];
        self.service.fill(service_s, &mut self.services);
        let arrival =
            |(at, service_s): (&Time, &f64)| Arrival { at: *at, demand: Span::from_secs_f64(*service_s), class: 0 };
        block.clear();
        block.extend(self.at.iter().zip(&*service_s).map(arrival));
    }
}
