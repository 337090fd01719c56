//! What a server is doing, from wherever that can be learned.

use sojourn_part::ServeError;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_stats::Time;

use super::access_log::AccessLog;
use super::connections::Connections;
use super::machine::Machine;
use super::workers::{Looked, Workers};
use crate::orca;
use crate::{Metric, Metrics};

/// Where the numbers come from, and what they were at the last look.
#[derive(Debug)]
pub struct Sampler {
    machine: Machine,
    workers: Option<Workers>,
    connections: Option<Connections>,
    log: Option<AccessLog>,
    asks: bool,
    /// Processes of the server that were at work at the last look.
    at_work: u32,
    started: Time,
    last: Option<(Time, Metrics)>,
}

impl Sampler {
    /// A sampler that counts from now on.
    ///
    /// # Errors
    /// When the access log cannot be read, or the kernel does not tell of connections.
    pub fn new(settings: &LoaddSettings, now: Time) -> Result<Sampler, ServeError> {
        let connections = settings.port.map(Connections::new).transpose();
        Ok(Sampler {
            machine: Machine::new(),
            workers: settings.workers.as_deref().map(Workers::new),
            connections: connections.map_err(ServeError::system("cannot count connections"))?,
            log: settings.log.as_deref().map(AccessLog::open).transpose()?,
            asks: settings.ask.is_some(),
            at_work: 0,
            started: now,
            last: None,
        })
    }

    /// What the server is doing, with what it says itself; shares and rates are of the time since the last look. None where
    /// it is not there: no program listens, no process has its name, or it does not answer.
    pub fn look(&mut self, asked: Option<&orca::Load>, now: Time) -> Option<Metrics> {
        let mut metrics = Metrics::default();
        self.machine.look(now, &mut metrics);
        if let Some(workers) = &mut self.workers {
            let Looked { count, at_work, busy_s } = workers.look();
            let cores = metrics.value(Metric::Cores);
            self.at_work = at_work;
            metrics.set(Metric::Workers, f64::from(count));
            metrics.set(Metric::Busy, busy_s);
            metrics.set(Metric::CoreTime, cores.map(|cores| now.saturating_since(self.started).as_secs_f64() * cores));
        }
        let counted = self.connections.as_mut().map(|connections| connections.look(now));
        if let Some(Ok(Some(counted))) = counted {
            metrics.set(Metric::Connections, f64::from(counted.open));
            metrics.set(Metric::InFlight, f64::from(counted.inside.max(self.at_work)));
        }
        let counts = self.log.as_mut().map(AccessLog::look);
        if let Some(Ok(counts)) = counts {
            metrics.set(Metric::Completed, counts.requests as f64);
            metrics.set(Metric::Bytes, counts.bytes as f64);
            metrics.set(Metric::Errors, counts.errors as f64);
        }
        if let Some(asked) = asked {
            listen(asked, &mut metrics);
        }
        let is_there = !matches!(counted, Some(Ok(None)))
            && (asked.is_some() || !self.asks)
            && metrics.value(Metric::Workers).is_none_or(|count| count > 0.0);
        if let Some((at, before)) = &self.last {
            let elapsed_s = now.saturating_since(*at).as_secs_f64();
            let since = |total| Some(metrics.value(total)? - before.value(total)?);
            let rates = [
                (Metric::RequestRate, since(Metric::Completed)),
                (Metric::ByteRate, since(Metric::Bytes)),
                (Metric::ErrorRate, since(Metric::Errors)),
            ];
            let busy = since(Metric::Busy).zip(since(Metric::CoreTime)).map(|(busy, had)| busy / had);
            for (metric, total) in rates {
                let rate = total.map(|total| total / elapsed_s);
                metrics.set(metric, rate.or(metrics.value(metric)));
            }
            // A server that says how busy it is knows better than those who look at it, unless both are its own words.
            let says = asked.filter(|asked| !asked.named_metrics.contains_key(Metric::Busy.name()));
            let says = says.and_then(orca::Load::busy_share);
            metrics.set(Metric::Cpu, says.or(busy.filter(|busy| busy.is_finite())).or(metrics.value(Metric::Cpu)));
        }
        self.last = Some((now, metrics.clone()));
        is_there.then_some(metrics)
    }

    /// How many requests the server has now, at least: what an overload is told by.
    pub fn inside(&mut self, asked: Option<&orca::Load>, now: Time) -> Option<u32> {
        match (asked, &mut self.connections) {
            (Some(asked), _) => asked.in_flight(),
            (None, Some(connections)) => Some(connections.look(now).ok()??.inside.max(self.at_work)),
            _ => None,
        }
    }

    /// Why nothing is known of requests, where the access log does not tell.
    pub fn log_trouble(&self) -> Option<&'static str> {
        self.log.as_ref().and_then(AccessLog::trouble)
    }

    /// Requests of each client in the access log since this was last asked.
    pub fn take_clients(&mut self) -> Vec<(String, u64)> {
        self.log.as_mut().map_or_else(Vec::new, AccessLog::take_clients)
    }
}

/// Takes over what a server says of itself: metrics of ORCA, and ours by their names.
fn listen(asked: &orca::Load, metrics: &mut Metrics) {
    let says = [
        (Metric::Cpu, asked.busy_share()),
        (Metric::RequestRate, asked.rps_fractional),
        (Metric::ErrorRate, asked.eps),
    ];
    for (metric, value) in says.into_iter().filter(|(_, value)| value.is_some()) {
        metrics.set(metric, value);
    }
    for (name, value) in &asked.named_metrics {
        if let Some(metric) = Metric::ALL.iter().find(|metric| metric.name() == name) {
            metrics.set(*metric, *value);
        }
    }
}

/// The numbers as ORCA has them.
pub(super) fn as_orca(metrics: &Metrics) -> orca::Load {
    orca::Load {
        cpu_utilization: metrics.value(Metric::Cpu).or(metrics.machine_cpu()),
        mem_utilization: metrics.value(Metric::Memory),
        application_utilization: None,
        rps_fractional: metrics.value(Metric::RequestRate),
        eps: metrics.value(Metric::ErrorRate),
        utilization: [Metric::Disk, Metric::Swap]
            .into_iter()
            .filter_map(|metric| Some((metric.name().into(), metrics.value(metric)?)))
            .collect(),
        named_metrics: metrics.known().map(|(metric, value)| (metric.name().into(), value)).collect(),
    }
}
