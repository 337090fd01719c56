//! One run of an order, watched, by this process or by several.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sojourn_load::agents::AgentClock;
use sojourn_load::order::Order;
use sojourn_load::{LoadError, Progress, Report};

use super::agents::{Clients, Connected};
use super::metrics::Metrics;
use super::view::View;
use crate::exit::{Failure, bad_input, failed};
use crate::interrupt;

/// Runs orders, one after another.
pub(crate) struct Runner {
    cancel: Arc<AtomicBool>,
    view: View,
    metrics: Option<Metrics>,
    /// None: this process alone.
    agents: Option<Mutex<Connected>>,
}

impl Runner {
    /// Connects to the clients; a quiet one shows nothing while it runs.
    pub(crate) fn new(clients: &Clients, yes_i_may: bool, quiet: bool) -> Result<Runner, Failure> {
        let cancel = interrupt::flag();
        let agents = clients.connect(yes_i_may)?.map(Mutex::new);
        Ok(Runner { cancel, view: View::new(quiet), metrics: None, agents })
    }

    /// The same, with what it does told to `metrics`.
    pub(crate) fn with_metrics(self, metrics: Option<Metrics>) -> Runner {
        Runner { metrics, ..self }
    }

    /// Runs `order` to its end or the first Ctrl-C; `label` says which of several it is.
    pub(crate) fn run(&self, order: &Order, label: &str) -> Result<Report, Failure> {
        self.view.begin(label);
        self.metrics.iter().for_each(Metrics::begin);
        let watched = self.view.is_seen() || self.metrics.is_some();
        let show = |now: &Progress| {
            self.view.show(now);
            self.metrics.iter().for_each(|metrics| metrics.take(now));
        };
        // What is wrong with an order is wrong for every agent, and is better said once.
        let result = order.load().map_err(refused).and_then(|mut load| match &self.agents {
            Some(agents) => {
                let asked = load.asked.take();
                drop(load);
                let coordinator = &mut agents.lock().expect("no thread panics while it runs a load").coordinator;
                coordinator.run(order, asked, watched, &self.cancel, &show).map_err(failed)
            }
            None => {
                load.watched = watched;
                sojourn_load::run(load, &self.cancel, &|now| show(&now)).map_err(refused)
            }
        });
        self.view.clear();
        let mut report = result?;
        report.measures.extend(order.hurst(report.counts.planned).map_err(refused)?);
        Ok(report)
    }

    /// Whether the user wants it to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// How the clients' clocks stood before the last run; empty for this process alone.
    pub(crate) fn clocks(&self) -> Vec<AgentClock> {
        let agents = self.agents.as_ref().map(|agents| agents.lock().expect("no thread panics while it runs a load"));
        agents.map_or(Vec::new(), |agents| agents.coordinator.clocks().to_vec())
    }
}

/// Why there was no run, with the exit code of its cause.
pub(crate) fn refused(error: LoadError) -> Failure {
    match error {
        LoadError::System(_) | LoadError::Late { .. } => failed(error),
        LoadError::NotAllowed { .. } => bad_input(format!("{error}; say --yes-i-may if you may")),
        other => bad_input(other),
    }
}
