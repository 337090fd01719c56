//! What a node says of its load.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use sojourn_part::clock;
use sojourn_report::{Metric, Metrics, orca};
use sojourn_stats::{Span, Time};

use super::Handler;
use crate::node::reply::{Reply, text};

/// Load is averaged over the last one to two of these.
const LOAD_WINDOW: Span = Span(1_000_000_000);

/// Busy time at two instants that lie a window apart.
#[derive(Clone, Copy)]
pub(super) struct BusyMarks {
    pub(super) older: (Time, Span),
    pub(super) newer: (Time, Span),
}

impl Handler {
    pub(super) fn load(&self) -> Reply {
        let value = self.load_value();
        let mut reply = text(StatusCode::OK, [value.as_bytes(), b"\n"].concat());
        reply.headers_mut().insert(HeaderName::from_static(orca::HEADER), value);
        reply
    }

    /// Its load now, as ORCA writes it.
    pub(super) fn load_value(&self) -> HeaderValue {
        let mut load = orca::Load::of_in_flight(self.in_flight());
        load.cpu_utilization = Some(self.utilization());
        load.named_metrics.extend(self.totals().into_iter().map(|(metric, value)| (metric.name().into(), value)));
        HeaderValue::from_str(&load.to_text()).expect("a load report is plain text")
    }

    /// What the emulated server has done, for those who make differences of it.
    fn totals(&self) -> Vec<(Metric, f64)> {
        let Some(emulation) = &self.emulation else { return Vec::new() };
        let (totals, cores) = (emulation.totals(), f64::from(emulation.server.cores));
        let elapsed = clock::now().saturating_since(self.started);
        vec![
            (Metric::Arrived, totals.arrived as f64),
            (Metric::Completed, totals.served as f64),
            (Metric::Stayed, totals.stayed.as_secs_f64()),
            (Metric::Busy, totals.busy.as_secs_f64()),
            (Metric::CoreTime, cores * elapsed.as_secs_f64()),
            (Metric::Cores, cores),
        ]
    }

    /// Says what the node's peers are told of it; what the machine says is there already, where nothing is emulated.
    pub(crate) fn tell(&self, metrics: &mut Metrics) {
        let (all, inside) = (self.requests.all(), self.in_flight());
        metrics.set(Metric::InFlight, inside as f64);
        if self.emulation.is_some() {
            self.totals().into_iter().for_each(|(metric, value)| metrics.set(metric, value));
            metrics.set(Metric::Cpu, self.utilization());
        } else {
            metrics.set(Metric::Arrived, all as f64);
            metrics.set(Metric::Completed, all.saturating_sub(inside) as f64);
        }
        let cores = metrics.value(Metric::Cores).unwrap_or(1.0).max(1.0);
        let of_core = |requests: u64| (requests as f64 / cores).floor();
        let Some(emulation) = &self.emulation else { return metrics.set(Metric::CpuQueue, of_core(inside)) };
        metrics.set(Metric::CpuQueue, of_core(emulation.inside("cpu")));
        metrics.set(Metric::DiskQueue, emulation.inside("disk") as f64);
        metrics.set(Metric::NetQueue, emulation.inside("net") as f64);
    }

    /// Share of the (emulated) processor that was busy lately.
    fn utilization(&self) -> f64 {
        let (busy, cores) = match &self.emulation {
            Some(emulation) => (emulation.totals().busy, emulation.server.cores),
            None => (clock::process_cpu(), 1),
        };
        let now = clock::now();
        let mut marks = self.busy.lock().expect("nothing panics while it holds the marks");
        if now.saturating_since(marks.newer.0) >= LOAD_WINDOW {
            *marks = BusyMarks { older: marks.newer, newer: (now, busy) };
        }
        let (since, before) = marks.older;
        let elapsed = now.saturating_since(since).as_secs_f64() * f64::from(cores.max(1));
        let worked = busy.as_secs_f64() - before.as_secs_f64();
        if elapsed > 0.0 { worked.max(0.0) / elapsed } else { 0.0 }
    }
}
