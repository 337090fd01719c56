//! One run of an order, watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_load::{LoadError, Report};

use super::order::Order;
use super::view::View;
use crate::exit::{Failure, bad_input, failed};

/// Runs orders, one after another.
pub(crate) struct Runner {
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) view: View,
}

impl Runner {
    /// Runs `order` to its end or the first Ctrl-C; `label` says which of several it is.
    pub(crate) fn run(&self, order: &Order, label: &str) -> Result<Report, Failure> {
        let mut load = order.load()?;
        load.watched = self.view.is_seen();
        self.view.begin(label);
        let result = sojourn_load::run(load, &self.cancel, &|now| self.view.show(&now));
        self.view.clear();
        result.map_err(refused)
    }

    /// Whether somebody wants it to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Why there was no run, and whose fault that is.
pub(crate) fn refused(error: LoadError) -> Failure {
    match error {
        LoadError::System(_) => failed(error),
        LoadError::NotAllowed { .. } => bad_input(format!("{error}; say --yes-i-may if you may")),
        other => bad_input(other),
    }
}
