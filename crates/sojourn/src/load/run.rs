//! One run of an order, watched, by this process or by several.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sojourn_load::{LoadError, Report};

use super::agents::{ClientClock, Clients, Crew};
use super::order::Order;
use super::view::View;
use crate::exit::{Failure, bad_input, failed};
use crate::interrupt;

/// Runs orders, one after another.
pub(crate) struct Runner {
    cancel: Arc<AtomicBool>,
    view: View,
    /// None: this process alone.
    crew: Option<Mutex<Crew>>,
}

impl Runner {
    /// Gathers the clients; a quiet one shows nothing while it runs.
    pub(crate) fn new(clients: &Clients, yes_i_may: bool, quiet: bool) -> Result<Runner, Failure> {
        let cancel = interrupt::flag();
        let crew = clients.gather(yes_i_may)?.map(Mutex::new);
        Ok(Runner { cancel, view: View::new(quiet), crew })
    }

    /// Runs `order` to its end or the first Ctrl-C; `label` says which of several it is.
    pub(crate) fn run(&self, order: &Order, label: &str) -> Result<Report, Failure> {
        self.view.begin(label);
        let result = match &self.crew {
            Some(crew) => {
                let mut crew = crew.lock().expect("nobody panics while holding it");
                crew.run(order, self.view.is_seen(), &self.cancel, &|now| self.view.show(now))
            }
            None => order.load().and_then(|mut load| {
                load.watched = self.view.is_seen();
                sojourn_load::run(load, &self.cancel, &|now| self.view.show(&now)).map_err(refused)
            }),
        };
        self.view.clear();
        let mut report = result?;
        report.measures.extend(order.hurst(report.counts.planned)?);
        Ok(report)
    }

    /// Whether somebody wants it to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// How the clients' clocks stood before the last run; empty for this process alone.
    pub(crate) fn clocks(&self) -> Vec<ClientClock> {
        let crew = self.crew.as_ref().map(|crew| crew.lock().expect("nobody panics while holding it"));
        crew.map_or(Vec::new(), |crew| crew.clocks().to_vec())
    }
}

/// Why there was no run, and whose fault that is.
pub(crate) fn refused(error: LoadError) -> Failure {
    match error {
        LoadError::System(_) | LoadError::Late { .. } => failed(error),
        LoadError::NotAllowed { .. } => bad_input(format!("{error}; say --yes-i-may if you may")),
        other => bad_input(other),
    }
}
