//! Peak-EWMA: of `d` backends drawn without repetition the one with the smallest product of its estimated time to first byte
//! and its requests in flight, counted with the request at hand; ties go to the one drawn first.
//!
//! The estimate is an exponentially weighted moving average that is sensitive to peaks: a sample above it replaces it, and any
//! other moves it by 1 - exp(-t / `decay`), where t is the time since the sample before. Without samples it decays, so that a
//! backend that was slow is asked again. (Finagle, `PeakEwma.scala`, 2016; in the form of linkerd2-proxy, `linkerd/ewma`, 2026,
//! where reading an estimate does not change it. Finagle and tower let each reading count as a sample of 0.) As in Finagle, a
//! backend without history is asked at once if it has nothing in flight, and else after all that have one.
//!
//! Parameters: `decay`, default 10 s, and `d`, default 2, as in all three; `failure`, default 5 s: **a failure never looks
//! fast**. No reply, a broken one, or a status of 429 or from 500 up counts as a sample of at least that (linkerd2-proxy's
//! `load-biaser`). A client that goes away before the first byte says that it would have taken longer: that raises the
//! estimate, and never lowers it.
//!
//! Reads first bytes and requests in flight; keeps an estimate per backend. Where all load is equal it herds less than the
//! least of all would, since only two are compared. What it does not see: that a backend is fast because it does little.

use sojourn_stats::{Span, Stream, Time, math};

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Event, Explanation, Policy, Reason, Signals, Table};

pub(super) const ENTRY: Entry = Entry {
    name: "peak-ewma",
    summary: "smallest estimate of time to first byte times requests in flight, of d backends drawn without repetition",
    build: |params| {
        let d = match params.text("d").unwrap_or("2").parse() {
            Ok(d) if d >= 1 => d,
            _ => return Err(params.wrong("d is a whole number of at least 1, as in `d = 2`")),
        };
        let (decay, failure) =
            (params.span("decay", Span(10_000_000_000))?, params.span("failure", Span(5_000_000_000))?);
        Ok(Box::new(PeakEwma { d, decay, failure, estimates: Vec::new(), drawn: Vec::new() }))
    },
};

/// See the module.
#[derive(Clone, Debug)]
pub struct PeakEwma {
    d: usize,
    decay: Span,
    /// What a failure counts as, at least.
    failure: Span,
    /// By backend, as far as there were samples.
    estimates: Vec<Estimate>,
    /// Those drawn for the present request; kept so that a choice allocates nothing.
    drawn: Vec<BackendId>,
}

/// What was seen of a backend.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    /// The estimate (s) when the last sample came; none before the first.
    value_s: Option<f64>,
    at: Time,
}

impl PeakEwma {
    /// The estimate of a backend at `now` (s); none without history.
    fn estimate(&self, id: BackendId, now: Time) -> Option<f64> {
        let Estimate { value_s, at } = *self.estimates.get(id.0 as usize)?;
        Some(value_s? * self.kept(at, now))
    }

    /// What is left at `now` of the weight of what was known at `at`.
    fn kept(&self, at: Time, now: Time) -> f64 {
        math::exp(-(now.saturating_since(at).0 as f64) / self.decay.0 as f64)
    }

    /// What a request more would cost at a backend (s): the smaller, the better.
    fn cost(&self, table: &Table, id: BackendId, now: Time) -> f64 {
        let load = f64::from(table.load(id));
        match self.estimate(id, now) {
            Some(estimate) => estimate * (load + 1.0),
            None if load == 0.0 => 0.0,
            None => f64::MAX / 2.0,
        }
    }

    fn sample(&mut self, id: BackendId, sample: Span, now: Time, only_raises: bool) {
        let place = id.0 as usize;
        if self.estimates.len() <= place {
            self.estimates.resize(place + 1, Estimate::default());
        }
        let (sample_s, old_s) = (sample.as_secs_f64(), self.estimate(id, now));
        let value_s = match old_s {
            Some(old_s) if sample_s <= old_s && only_raises => return,
            Some(old_s) if sample_s <= old_s => old_s + sample_s * (1.0 - self.kept(self.estimates[place].at, now)),
            _ => sample_s,
        };
        self.estimates[place] = Estimate { value_s: Some(value_s), at: now };
    }
}

impl Policy for PeakEwma {
    fn requires(&self) -> Signals {
        Signals::IN_FLIGHT | Signals::FIRST_BYTE
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let Ask { table, tried, now, .. } = *ask;
        let backends = table.eligible();
        let open = backends.len().saturating_sub(tried.iter().filter(|id| table.is_eligible(**id)).count());
        let mut drawn = std::mem::take(&mut self.drawn);
        drawn.clear();
        let mut best: Option<(f64, BackendId)> = None;
        while drawn.len() < self.d.min(open) {
            let id = backends[draw.below(backends.len())];
            if drawn.contains(&id) || tried.contains(&id) {
                continue;
            }
            drawn.push(id);
            let cost = self.cost(table, id, now);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, id));
            }
        }
        self.drawn = drawn;
        Decision::forward_or_refuse(best.map(|(value, id)| (id, Reason { code: Code::LeastExpected, ties: 1, value })))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |id| {
            let estimate_s = self.estimate(id, ask.now).unwrap_or(f64::NAN);
            vec![("in_flight".into(), f64::from(ask.table.load(id))), ("estimate_s".into(), estimate_s)]
        })
    }

    fn observe(&mut self, event: &Event, _: &Table, now: Time) {
        match *event {
            Event::FirstByte { backend, round_trip } => self.sample(backend, round_trip, now, false),
            Event::Completed { backend, status, latency, .. } if status == 429 || status >= 500 => {
                self.sample(backend, latency.max(self.failure), now, false);
            }
            Event::Failed { backend, after } => self.sample(backend, after.max(self.failure), now, false),
            Event::Cancelled { backend, after } => self.sample(backend, after, now, true),
            _ => {}
        }
    }
}
