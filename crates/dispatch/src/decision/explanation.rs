//! What a policy compared, for records and for those who ask why.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::Terms;
use crate::{BackendId, Table};

/// What a policy would compare: each candidate with its terms. Made only for records and for those who ask why, because
/// it looks at every backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The backends that may be chosen, in ascending order.
    pub candidates: Vec<Candidate>,
}

/// A backend that may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Which.
    pub backend: BackendId,
    /// What the policy compares, by name with the unit last: `in_flight`, `round_trip_mean_s`.
    #[serde(serialize_with = "as_map")]
    pub terms: Terms,
}

impl Explanation {
    /// The explanation that gives each of `candidates` the terms that `terms` says.
    pub fn of(candidates: impl Iterator<Item = BackendId>, mut terms: impl FnMut(BackendId) -> Terms) -> Explanation {
        let candidate = |backend| Candidate { backend, terms: terms(backend) };
        Explanation { candidates: candidates.map(candidate).collect() }
    }

    /// In words, with the names of the backends: `s1: in_flight 3; s2: in_flight 5`.
    pub fn in_words(&self, table: &Table) -> String {
        let term = |(name, value): &(Cow<'static, str>, f64)| format!("{name} {value}");
        let candidate = |candidate: &Candidate| {
            let terms = candidate.terms.iter().map(term).collect::<Vec<_>>().join(", ");
            format!("{}: {}", table.name(candidate.backend), if terms.is_empty() { "-" } else { &terms })
        };
        self.candidates.iter().map(candidate).collect::<Vec<_>>().join("; ")
    }
}

fn as_map<S: Serializer>(terms: &Terms, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(terms.iter().map(|(name, value)| (name, value)))
}
