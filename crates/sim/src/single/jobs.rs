//! Jobs that are drawn: some at a time, so that drawing and playing are loops of their own.
//!
//! A renewal process is drawn in segments, each from streams of its own: what came before leaves nothing behind in its gaps and
//! demands, so that segments can be drawn at once.

use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::Clock;

use super::{Arrival, Drawn};
use crate::control::SimError;

/// Jobs drawn at once: few enough to stay near the processor.
const MOST: usize = 512;

/// Jobs of a segment: some, so that starting one costs nothing, and few enough that several cores share a run of seconds.
pub(super) const SEGMENT: u64 = 1 << 20;

/// Those of one segment. In the first they are those of a plan of one client whose demands are this law's.
pub(super) struct Source {
    /// When the segment begins.
    begins: Time,
    clock: Clock,
    service: Law,
    services: Stream,
    at: Vec<Time>,
    service_s: Vec<f64>,
    left: u64,
}

impl Source {
    /// The segment of this number, which begins at `begins`; the only one where arrivals are none of a renewal process.
    pub(super) fn new(drawn: &Drawn<'_>, segment: u64, begins: Time) -> Result<Source, SimError> {
        let seed = match segment {
            0 => drawn.seed,
            _ => Stream::new(drawn.seed, "segment", &segment.to_string()).below(usize::MAX) as u64,
        };
        let clock = Clock::new(drawn.arrivals, seed).map_err(|e| SimError::Invalid(e.to_string()))?;
        let services = Stream::new(seed, "source", "demands");
        let (at, service_s) = (vec![Time::ZERO; MOST], vec![0.0; MOST]);
        let left = match is_cut(drawn) {
            true => SEGMENT.min(drawn.jobs.saturating_sub(segment.saturating_mul(SEGMENT))),
            false => drawn.jobs,
        };
        Ok(Source { begins, clock, service: drawn.service.clone(), services, at, service_s, left })
    }

    /// Puts the next jobs into `block`, none at the end.
    pub(super) fn next(&mut self, block: &mut Vec<Arrival>) {
        let jobs = self.left.min(MOST as u64) as usize;
        let come = self.clock.fill(&mut self.at[..jobs]);
        self.left = if come < jobs { 0 } else { self.left - jobs as u64 };
        let service_s = &mut self.service_s[..come];
        self.service.fill(service_s, &mut self.services);
        let begins = self.begins;
        let arrival = |(at, service_s): (&Time, &f64)| Arrival {
            at: Time(begins.0.saturating_add(at.0)),
            demand: Span::from_secs_f64(*service_s),
            class: 0,
        };
        block.clear();
        block.extend(self.at.iter().zip(&*service_s).map(arrival));
    }

    /// Whether no more come of it.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// Whether the jobs are drawn in segments.
pub(super) fn is_cut(drawn: &Drawn<'_>) -> bool {
    drawn.arrivals.renewal().is_some()
}
