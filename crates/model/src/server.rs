//! The server model: a small TOML file that `theory` and `sim` read and a live node can be.

use sojourn_stats::Span;
use thiserror::Error;

use crate::Demand;

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How jobs share the processor.
    pub discipline: Discipline,
    /// Number of cores; a job uses at most one.
    pub cores: u32,
    /// Work done per second of core time; 1 is the reference.
    pub speed: f64,
    /// Work per request, by class name; `""` holds for every class not named.
    pub demand: Vec<(String, Demand)>,
    /// Most jobs inside (waiting and served) at once; more are denied.
    pub capacity: Option<u32>,
}

/// How jobs share a server's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing: n jobs each get min(1, cores / n) of a core.
    Ps,
    /// Limited processor sharing: at most `helpers` jobs share, a FIFO dispatcher queue in front
    /// (Fujita 2000, section 2.4).
    LimitedPs {
        /// Jobs served at once.
        helpers: u32,
    },
}

/// Why a text is not a server model.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct ServerError(pub String);

impl Server {
    /// Reads a server model (TOML).
    ///
    /// # Errors
    /// One line: what, where, and what would be right.
    pub fn from_toml(text: &str) -> Result<Server, ServerError> {
        let _ = text;
        Err(ServerError("not yet".into()))
    }

    /// The demand of `class`.
    pub fn demand(&self, class: &str) -> &Demand {
        let find = |name: &str| self.demand.iter().find(|(of, _)| of == name).map(|(_, demand)| demand);
        find(class).or_else(|| find("")).expect("a server has a demand for every class")
    }

    /// Time on a core that `work` takes here.
    #[inline]
    pub fn service_time(&self, work: Span) -> Span {
        if self.speed == 1.0 { work } else { Span::from_secs_f64(work.as_secs_f64() / self.speed) }
    }
}
