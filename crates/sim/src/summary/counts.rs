//! What one part of a run counted, and how parts make the whole.

use crate::joins::{DIFFERENCE, Joins, SUM};
use crate::requests::connections::Connections;
use crate::requests::of_class::OfClass;

/// What one part of a run counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) elapsed_s: f64,
    pub(crate) completions: u64,
    pub(crate) served: u64,
    pub(crate) waiting_s: f64,
    pub(crate) service_s: f64,
    /// Time that a core was busy, mean over all cores of a server and over the servers.
    pub(crate) busy_s: f64,
    /// The same of each server (s).
    pub(crate) busy: Vec<f64>,
    /// Requests that ended, and how.
    pub(crate) ended: u64,
    pub(crate) denied: u64,
    pub(crate) abandoned: u64,
    /// How often clients asked once more; none where they do not.
    pub(crate) retried: Option<u64>,
    /// Whether a request may be denied, and given up: else that none was is no matter of chance.
    pub(crate) may_fail: (bool, bool),
    /// Requests sent to each server.
    pub(crate) sent: Vec<u64>,
    /// Of connections, where they are set up.
    pub(crate) connections: Option<Connections>,
    /// Of each class, where there are several.
    pub(crate) of_class: Vec<OfClass>,
}

impl Counts {
    /// All parts together.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Counts>) -> Counts {
        let mut whole = Counts::default();
        parts.into_iter().for_each(|part| whole.join(part, &SUM));
        whole
    }

    /// What was counted after `before` was.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        let mut after = self.clone();
        after.join(before, &DIFFERENCE);
        after
    }

    fn join(&mut self, other: &Counts, how: &Joins) {
        for (own, others) in [
            (&mut self.elapsed_s, other.elapsed_s),
            (&mut self.busy_s, other.busy_s),
            (&mut self.waiting_s, other.waiting_s),
            (&mut self.service_s, other.service_s),
        ] {
            *own = (how.real)(*own, others);
        }
        for (own, others) in [
            (&mut self.completions, other.completions),
            (&mut self.served, other.served),
            (&mut self.ended, other.ended),
            (&mut self.denied, other.denied),
            (&mut self.abandoned, other.abandoned),
        ] {
            *own = (how.small)(*own, others);
        }
        if let Some(others) = other.retried {
            self.retried = Some((how.small)(self.retried.unwrap_or(0), others));
        }
        self.may_fail = (self.may_fail.0 || other.may_fail.0, self.may_fail.1 || other.may_fail.1);
        self.busy.resize(other.busy.len(), 0.0);
        self.busy.iter_mut().zip(&other.busy).for_each(|(own, others)| *own = (how.real)(*own, *others));
        self.sent.resize(other.sent.len(), 0);
        self.sent.iter_mut().zip(&other.sent).for_each(|(own, others)| *own = (how.small)(*own, *others));
        if let Some(others) = &other.connections {
            self.connections.get_or_insert_default().join(others, how);
        }
        if self.of_class.is_empty() {
            self.of_class = other.of_class.iter().map(OfClass::none).collect();
        }
        self.of_class.iter_mut().zip(&other.of_class).for_each(|(own, others)| own.join(others, how));
    }
}
