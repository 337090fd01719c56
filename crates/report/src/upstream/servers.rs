//! What a front node knows of its servers, as if they were one.

use sojourn_dispatch::reports::{AsOne, Totals};
use sojourn_dispatch::{Front, Report};
use sojourn_stats::Time;

use crate::{Metric, Told};

/// What the servers of a front node have done, as they told it.
#[derive(Clone, Debug, Default)]
pub struct Servers(Vec<Totals>);

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
        Servers(vec![Totals::default(); servers])
    }

    /// There are so many now.
    pub fn expect(&mut self, servers: usize) {
        self.0.resize_with(servers.max(self.0.len()), Totals::default);
    }

    /// Hears what one of them has told.
    pub fn hear(&mut self, told: &Told) {
        if let Told::Report { backend, report, .. } = told {
            self.0[backend.0 as usize].add(report);
        }
    }

    /// What those are together that the front node's decider has in its sum ([`Front::reporting`]).
    pub fn look(&self, front: &Front, now: Time) -> Look {
        let reports = front.reporting().map(|id| front.table().report(id));
        if !front.table().eligible().is_empty() && reports.clone().flatten().next().is_none() {
            return Look::Own;
        }
        let cores = reports.clone().map(cores).sum();
        let as_one = AsOne::of(reports, self.0.iter().copied(), now);
        Look::Servers { as_one: Box::new(as_one), cores }
    }
}

fn cores(report: Option<&Report>) -> u32 {
    let told = report.and_then(|report| report.extras.get(Metric::Cores.name()));
    told.map_or(1, |cores| *cores as u32)
}
