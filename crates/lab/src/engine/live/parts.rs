//! The children of a live run: the system walked from the servers up, one child per server and per decider of a tier.
//!
//! A face is a verb of the program: `sojourn gateway`, `sojourn redirect`. A decider's backends are the addresses of its
//! targets, so they are started first. Every child has a host of the ground, and so an address of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use sojourn_bed::{Child, Ground};
use sojourn_model::system::{Face, Host, Target};
use sojourn_stats::Stream;

use super::incidents::{self, Incident};
use super::{Conditions, Serving};
use crate::spec::{Experiment, SystemQuestion};
use crate::topology::name_of;

/// A child that is not ready by then never will be.
const READY: Duration = Duration::from_secs(20);

/// The header by which a decider knows the clients of a plan, who all come from one address.
const CLIENT_HEADER: &str = "x-sojourn-client";

/// The children of a live run.
pub(super) struct Parts {
    servers: Vec<Serving>,
    /// Deciders by name, with their addresses; those that others send to come first.
    deciders: Vec<(String, Child, SocketAddr)>,
    /// Where clients go: one address, or those that the DNS rotates.
    pub(super) entrances: Vec<SocketAddr>,
}

/// What the children said when they stopped.
pub(super) struct Told {
    /// By the name of the decider.
    pub(super) deciders: Vec<(String, Value)>,
    pub(super) nodes: Vec<Value>,
    /// What they did although nothing asked for it.
    pub(super) incidents: Vec<Incident>,
}

/// Starts deciders, the innermost first.
struct Walk<'a> {
    experiment: &'a Experiment,
    asked: &'a SystemQuestion,
    servers: Vec<SocketAddr>,
    ground: &'a mut dyn Ground,
    conditions: &'a Conditions<'a>,
    started: Vec<(String, Child, SocketAddr)>,
}

impl Parts {
    /// Starts all deciders in front of `servers`.
    pub(super) fn start(
        experiment: &Experiment,
        asked: &SystemQuestion,
        servers: Vec<Serving>,
        ground: &mut dyn Ground,
        conditions: &Conditions<'_>,
    ) -> Result<Parts, String> {
        let addresses = servers.iter().map(Serving::address).collect();
        let mut walk = Walk { experiment, asked, servers: addresses, ground, conditions, started: Vec::new() };
        let first = Target::Seat { tier: 0, seat: 0 };
        let entrances = match asked.system.tiers.first() {
            None => vec![walk.servers[0]],
            Some(dns) if dns.face == Face::Dns => {
                let targets = &dns.seats[0].targets;
                targets.iter().map(|target| walk.address(*target)).collect::<Result<_, _>>()?
            }
            Some(_) => vec![walk.address(first)?],
        };
        Ok(Parts { servers, deciders: walk.started, entrances })
    }

    /// Stops everything, the outermost deciders first, and gives what each said last. `hosts` names the servers.
    pub(super) fn stop(self, hosts: &[Host], ground: &dyn Ground) -> Told {
        let mut told = Told { deciders: Vec::new(), nodes: Vec::new(), incidents: Vec::new() };
        for (name, child, _) in self.deciders.into_iter().rev() {
            let said = told.last(&name, child);
            told.deciders.push((name, said));
        }
        for (server, host) in self.servers.into_iter().zip(hosts) {
            let said = match server {
                Serving::Node(child, _) => told.last(&host.name, child),
                Serving::Program(real) => {
                    told.incidents.extend(real.incidents(&host.name, ground));
                    Value::Null
                }
            };
            told.nodes.push(said);
        }
        told
    }
}

impl Told {
    /// Stops a child and gives what it said last; notes what should not have happened to it.
    fn last(&mut self, name: &str, child: Child) -> Value {
        let before = incidents::of(name, &child);
        let was_fine = before.is_empty();
        self.incidents.extend(before);
        match child.stop().pop() {
            Some(said) if said["event"] == "stopped" => said,
            _ => {
                self.incidents.extend(was_fine.then(|| incidents::silence(name)));
                Value::Null
            }
        }
    }
}

impl Walk<'_> {
    /// Where `target` listens; starts it, if it has not been started yet.
    fn address(&mut self, target: Target) -> Result<SocketAddr, String> {
        let (tier, seat) = match target {
            Target::Host(host) => return Ok(self.servers[host]),
            Target::Seat { tier, seat } => (tier, seat),
        };
        let name = name_of(&self.asked.system.tiers[tier], seat);
        if let Some((.., address)) = self.started.iter().find(|(known, ..)| *known == name) {
            return Ok(*address);
        }
        let arguments = self.arguments(tier, seat, &name)?;
        let verb = self.asked.system.tiers[tier].face.name();
        let (child, address) = spawn(self.ground, self.conditions.program, &name, verb, &arguments)?;
        self.started.push((name, child, address));
        Ok(address)
    }

    fn arguments(&mut self, index: usize, seat: usize, name: &str) -> Result<Vec<String>, String> {
        let system = &self.asked.system;
        let tier = &system.tiers[index];
        let is_first = index + seat == 0;
        // The first decider draws as the only one of a system does; each other one has a seed of its own.
        let seed = match is_first {
            true => self.experiment.seed,
            false => Stream::new(self.experiment.seed, name, "seed").below(usize::MAX) as u64,
        };
        let mut arguments = vec!["--policy".into(), tier.policy.clone(), "--seed".into(), seed.to_string()];
        arguments.extend(["--client-header", CLIENT_HEADER, "--classes"].map(String::from));
        arguments.push(self.asked.workload.classes().join(","));
        arguments.extend(["--threads".into(), tier.dispatchers.to_string()]);
        if let Some(every) = tier.polled {
            arguments.extend(["--poll".into(), every.to_string()]);
        }
        if self.experiment.run.live.record {
            let of = if is_first { String::new() } else { format!("-{name}") };
            let file = self.conditions.folder.join(format!("decisions-{}{of}.jsonl", self.conditions.index + 1));
            arguments.extend(["--record".into(), file.display().to_string()]);
        }
        for (place, target) in tier.seats[seat].targets.iter().enumerate() {
            let name = match *target {
                Target::Host(host) => system.hosts[host].name.clone(),
                Target::Seat { tier, seat } => name_of(&system.tiers[tier], seat),
            };
            let weight = tier.weights.get(place).copied().unwrap_or(1.0);
            let address = self.address(*target)?;
            arguments.extend(["--backend".into(), format!("{name}={address}*{weight}")]);
        }
        Ok(arguments)
    }
}

/// Starts `sojourn VERB ARGUMENTS` on a new host of the ground, which listens on a free port there.
pub(super) fn spawn<S: AsRef<std::ffi::OsStr>>(
    ground: &mut dyn Ground,
    program: &Path,
    name: &str,
    verb: &str,
    arguments: &[S],
) -> Result<(Child, SocketAddr), String> {
    let host = ground.host(name).map_err(|e| e.to_string())?;
    let address = ground.address(host);
    let mut command = Command::new(program);
    command.args([verb, "--child", "--listen", &SocketAddr::new(address, 0).to_string()]).args(arguments);
    let child = ground.spawn(host, command, READY).map_err(|e| e.to_string())?;
    let port = child.port();
    Ok((child, SocketAddr::new(address, port)))
}
