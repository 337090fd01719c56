//! What an experiment asks about: a system of servers with those who ask it, or a network of queues.

use std::sync::Arc;

use sojourn_bed::Topology;
use sojourn_dispatch::Catalogue;
use sojourn_model::network::Network;
use sojourn_model::{Server, System};
use sojourn_products::Decider;
use sojourn_sim::Load;
use sojourn_stats::Span;
use sojourn_traffic::log::PathClasses;
use sojourn_traffic::{Demand, Workload};
use toml::Spanned;

use super::system::RawSystem;
use super::workload::{self, RawWorkload};
use super::{Findings, Overload, Program, Reader, SpecError};
use crate::topology;

/// Paths that may have a demand of their own: a class is a byte.
const CLASSES_MOST: usize = 255;

/// What an experiment asks about.
#[derive(Clone, Debug)]
pub enum Question {
    /// Clients who ask a system of servers for something.
    System(Box<SystemQuestion>),
    /// A network of queues.
    Network(Arc<Network>),
}

/// Clients who ask a system of servers for something.
#[derive(Clone, Debug)]
pub struct SystemQuestion {
    /// What clients ask for; its rate is settled.
    pub workload: Workload,
    /// What answers them.
    pub system: System,
    /// Where the names of its policies are looked up: policies of your own may be there.
    pub catalogue: Catalogue,
    /// `[system.network]` or `[system.paths]` says something.
    pub has_network: bool,
    /// `[system.server]` says what a server is; without it only a real program can be measured.
    pub is_modelled: bool,
    /// The real program that serves in live runs, instead of nodes that emulate the model.
    pub program: Option<Program>,
    /// For each tier the balancer of others that decides in live runs, instead of our own gateway.
    pub deciders: Vec<Option<Decider>>,
    /// The policy that ran when a log was written, where the experiment says it.
    pub ran: Option<String>,
    /// How the model of its servers was found, where its file says it.
    pub findings: Findings,
}

impl SystemQuestion {
    /// The hosts and links of the bed in which live answers it; what is drawn once is drawn from `seed`.
    ///
    /// # Errors
    /// As [`crate::topology`].
    pub fn topology(&self, seed: u64) -> Result<Topology, String> {
        let has_origins = self.program.as_ref().is_some_and(|program| program.origin.is_some());
        topology::with_origins(&self.system, has_origins, seed)
    }

    /// Mean and variance of the service demand on a server of speed 1 (s, s^2).
    pub fn demand_moments(&self) -> (f64, f64) {
        if let Some(known) = self.workload.demand_moments() {
            return known;
        }
        let server = &self.system.hosts[0].server;
        self.workload.moments(|class, (mean, variance)| server.demand(class).moments(mean, variance))
    }

    /// The work of each request, as the first server's model says: what the plan draws for every engine.
    pub fn demand(&self) -> Arc<dyn Demand> {
        sojourn_sim::demand_of_classes(&self.system.hosts[0].server, &self.workload.classes())
    }

    /// Requests per second that would keep every core busy all the time.
    pub fn capacity(&self) -> f64 {
        let (demand_mean_s, _) = self.demand_moments();
        self.system.servers().map(|server| f64::from(server.cores) * server.speed).sum::<f64>() / demand_mean_s
    }

    /// The same of what is left of the system, where it is broken from the beginning and stays so ([`System::left`]).
    pub(crate) fn left(&self) -> Option<SystemQuestion> {
        Some(SystemQuestion { system: self.system.left()?, ..self.clone() })
    }

    /// What requests that come by themselves ask of all servers and of each; none where that is not known.
    pub fn load(&self) -> Option<Load> {
        sojourn_sim::load(&self.system, &self.workload, &self.catalogue)
    }

    /// Checks what needs workload and system together, and settles an arrival rate that was given as utilisation.
    /// `longest`: how long the longest run takes; `has_end`: it has an end that the file names.
    pub(super) fn settle(&mut self, reader: &Reader, longest: Span, has_end: bool) -> Result<(), SpecError> {
        workload::check_demands(&self.workload, &self.system.hosts[0].server, reader)?;
        let capacity = self.capacity();
        let sheds_load = sojourn_sim::sheds_load(&self.system, &self.workload);
        // A server that serves fewer at once than it has cores leaves some of them idle.
        let work = |of: fn(&Server) -> u32| {
            self.system.servers().map(|server| f64::from(of(server)) * server.speed).sum::<f64>()
        };
        let used = work(Server::usable_cores) / work(|server| server.cores);
        let Workload::Open(open) = &mut self.workload else { return Ok(()) };
        if open.arrivals.utilization().is_some() {
            if !(capacity.is_finite() && capacity > 0.0) {
                return Err(reader.at_load(
                    "a utilization needs a finite mean demand, and this one has none: give a rate instead (`rate = 100 /s`), \
                     or bound the sizes (`max = 1 GB`)",
                ));
            }
            open.arrivals.settle(capacity);
        }
        let rate = open.arrivals.rate().expect("an arrival law is settled once its scale is known");
        // For every engine the same, so that all of them have the same plan.
        open.arrivals.reach_until(longest);
        // A rate that changes may pass the capacity for a while: that is what ramps and steps are for.
        let settles_or_ends = open.arrivals.profile().is_some() || has_end || sheds_load;
        let capacity = used * capacity;
        if rate >= capacity && !settles_or_ends && reader.overload == Overload::Refused {
            return Err(reader.at_load(
                &format!(
                    "utilization {:.3} is not below 1, so an open system never settles: stable below {capacity:.4} /s in all \
                     (now {rate:.4} /s); lower the rate, add servers, give clients a `patience` or servers \
                     `limits`, give a `duration` under [run], or use closed users",
                    rate / capacity
                ),
            ));
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// The workload for `system`, and what live runs it on.
    pub(super) fn question(
        &self,
        workload: &RawWorkload,
        raw: &RawSystem,
        system: System,
        seed: u64,
    ) -> Result<SystemQuestion, SpecError> {
        if let (Some(program), "session-file") = (&raw.program, workload.kind.get_ref().as_str()) {
            let message = "a real program serves the files of a site, and a session file has only their names: kind = \
                           \"sessions\"";
            return Err(self.at(program, "program", message));
        }
        let program = raw.program.as_ref().map(|program| self.program(program)).transpose()?;
        let ran = workload.ran.as_ref().map(|text| text.get_ref().clone());
        let mut workload = self.workload(workload, seed)?;
        self.burst(&mut workload, &system)?;
        if let Some(program) = &program {
            self.with_files(&mut workload, program)?;
            if program.is_forward_proxy() && (system.hosts.len() > 1 || !system.tiers.is_empty()) {
                let message = "clients ask a forward proxy themselves: one server and no tier, or forward = false";
                return Err(self.at_key("program", message));
            }
        }
        if let Workload::Replay(replay) = &mut workload {
            // Only a log has paths that a class can be the beginning of.
            let named = system.hosts[0].server.demand.iter().map(|(class, _)| class.as_str());
            let beginnings: Vec<&str> = named.filter(|class| class.starts_with('/')).collect();
            if beginnings.len() > CLASSES_MOST {
                let message = format!("{} paths have a demand of their own: at most {CLASSES_MOST}", beginnings.len());
                return Err(self.at_key("demand", &message));
            }
            replay.classes = (!beginnings.is_empty()).then(|| PathClasses::new(&beginnings, &replay.log));
        }
        let has_network = raw.network.is_written() || raw.paths.is_some();
        let deciders = self.deciders(raw.tier.iter().map(Spanned::get_ref), &system)?;
        let (is_modelled, findings) = (raw.server.is_some(), self.findings(raw));
        let catalogue = self.catalogue.clone();
        Ok(SystemQuestion { workload, system, catalogue, has_network, is_modelled, program, deciders, ran, findings })
    }
}
