//! What the requests of each class took.

use std::sync::Arc;

use sojourn_traffic::Workload;

use crate::joins::Joins;

/// Completed requests of one class.
#[derive(Clone, Debug)]
pub(crate) struct OfClass {
    pub(crate) name: Arc<str>,
    pub(crate) completed: u64,
    /// Sum of their response times (ns).
    pub(crate) response_ns: u128,
}

impl OfClass {
    /// One for each class of a workload, by number; none where all requests are alike.
    pub(crate) fn all(workload: &Workload) -> Vec<OfClass> {
        let names = workload.classes();
        let several = names.iter().filter(|_| names.len() > 1);
        several.map(|name| OfClass { name: (*name).into(), completed: 0, response_ns: 0 }).collect()
    }

    /// Nothing of the same class.
    pub(crate) fn none(&self) -> OfClass {
        OfClass { name: Arc::clone(&self.name), completed: 0, response_ns: 0 }
    }

    /// Joins counts with others of the same class.
    pub(crate) fn join(&mut self, other: &OfClass, how: &Joins) {
        self.completed = (how.small)(self.completed, other.completed);
        self.response_ns = (how.large)(self.response_ns, other.response_ns);
    }

    pub(crate) fn clear(&mut self) {
        (self.completed, self.response_ns) = (0, 0);
    }
}
