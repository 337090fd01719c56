//! What a front node knows of its servers, as if they were one.

use sojourn_dispatch::reports::{AsOne, Totals};
use sojourn_dispatch::{BackendId, Report, Table};
use sojourn_stats::Time;

use crate::{Metric, Told};

/// What the servers of a front node have told.
#[derive(Clone, Debug, Default)]
pub struct Servers(Vec<Known>);

/// What is known of a server besides the table.
#[derive(Clone, Debug, Default)]
struct Known {
    is_silent: bool,
    done: Totals,
}

/// What is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// The servers that are up and report, as one, and their cores; or that none is up.
    Servers {
        /// All of them.
        as_one: Box<AsOne>,
        /// Of all of them; one that does not say counts as one.
        cores: u32,
    },
    /// Some are up, and none of them reports: the front node has its own counts.
    Own,
}

impl Servers {
    /// So many, of which nothing is known.
    pub fn new(servers: usize) -> Servers {
        Servers(vec![Known::default(); servers])
    }

    /// Hears what one of them has told, or that it tells nothing any more.
    pub fn hear(&mut self, told: &Told) {
        match told {
            Told::Report { backend, report, .. } => {
                let known = &mut self.0[backend.0 as usize];
                known.is_silent = false;
                known.done.add(report);
            }
            Told::Lost { backend, .. } => self.0[backend.0 as usize].is_silent = true,
            Told::Found { backend } => self.0[backend.0 as usize].is_silent = false,
            Told::Rate { .. } | Told::Echoes { .. } => {}
        }
    }

    /// What those are together that are up by the table. One that has fallen silent does not count, even where it is up.
    pub fn look(&self, table: &Table, now: Time) -> Look {
        let is_heard = |id: &BackendId| !self.0[id.0 as usize].is_silent;
        let reports = table.eligible().iter().copied().filter(is_heard).map(|id| table.report(id));
        if !table.eligible().is_empty() && reports.clone().flatten().next().is_none() {
            return Look::Own;
        }
        let cores = reports.clone().map(cores).sum();
        let as_one = AsOne::of(reports, self.0.iter().map(|known| known.done), now);
        Look::Servers { as_one: Box::new(as_one), cores }
    }
}

fn cores(report: Option<&Report>) -> u32 {
    let told = report.and_then(|report| report.extras.get(Metric::Cores.name()));
    told.map_or(1, |cores| *cores as u32)
}
