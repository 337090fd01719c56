//! The children of a live run: the system walked from the servers up, one child per server and per decider of a tier.
//!
//! A face is a verb of the program: `sojourn gateway`, `sojourn switch`, `sojourn redirect`. A decider's backends are the
//! addresses of its targets, so they are started first. Every child has a host of the ground, and so an address of its own,
//! but for those beside the servers of a switch.

mod entrances;

use std::net::SocketAddr;
use std::path::{self, PathBuf};

use serde_json::Value;
use sojourn_bed::Ground;
use sojourn_dispatch::{FrontSettings, Guards, Queue};
use sojourn_model::System;
use sojourn_model::system::{Face, Fault, Host, Target, Tier, Trouble};
use sojourn_part::Backend;
use sojourn_part::settings;
use sojourn_part::settings::gateway::{Forward, InFront, Redirect};
use sojourn_part::settings::switch::SwitchSettings;
use sojourn_products::{Behind, Decider};
use sojourn_stats::{Span, Stream, Time};

pub(super) use self::entrances::Entrances;
use super::choices::Choices;
use super::dns::{Dns, Naming};
use super::incidents::Incident;
use super::part::{Last, Part};
use super::product::{Ended, Kept, Started};
use super::servers::Serving;
use super::switch::{self, Beside, Switch};
use super::{Conditions, breaking, dns};
use crate::spec::{Spec, SystemQuestion};
use crate::topology::name_of;

/// The header by which a decider knows the clients of a plan, who all come from one address.
const CLIENT_HEADER: &str = "x-sojourn-client";

/// The children of a live run.
pub(super) struct Parts {
    pub(super) servers: Vec<Serving>,
    /// Deciders with their tiers and seats; those that others send to come first.
    pub(super) deciders: Vec<((usize, usize), Part)>,
    /// Deciders that others made.
    products: Vec<((usize, usize), Started)>,
    beside: Beside,
    pub(super) entrances: Entrances,
}

/// What the children said when they stopped.
#[derive(Default)]
pub(super) struct Told {
    /// By the name of the decider.
    pub(super) deciders: Vec<(String, Value)>,
    pub(super) nodes: Vec<Value>,
    /// What they did although nothing asked for it.
    pub(super) incidents: Vec<Incident>,
    /// What deciders said meanwhile: who, when and what.
    pub(super) events: Vec<(String, Time, Value)>,
    /// What is to be known of the products that decided.
    pub(super) notes: Vec<String>,
    /// What they have chosen.
    pub(super) choices: Vec<Choices>,
}

/// Starts deciders, the innermost first.
struct Walk<'a> {
    experiment: &'a Spec,
    asked: &'a SystemQuestion,
    servers: Vec<SocketAddr>,
    ground: &'a mut dyn Ground,
    conditions: &'a Conditions<'a>,
    started: Vec<((usize, usize), Part)>,
    products: Vec<((usize, usize), Started)>,
    beside: Beside,
}

impl Parts {
    /// Starts all deciders in front of `servers`.
    pub(super) fn start(
        experiment: &Spec,
        asked: &SystemQuestion,
        servers: Vec<Serving>,
        ground: &mut dyn Ground,
        conditions: &Conditions<'_>,
    ) -> Result<Parts, String> {
        let addresses = servers.iter().map(Serving::address).collect();
        let (started, products, beside) = (Vec::new(), Vec::new(), Beside::default());
        let mut walk = Walk { experiment, asked, servers: addresses, ground, conditions, started, products, beside };
        let first = Target::Seat { tier: 0, seat: 0 };
        let entrances = match asked.system.tiers.first() {
            None => servers[0].entrance(),
            Some(tier) if tier.face == Face::Dns => {
                let targets = &tier.seats[0].targets;
                let addresses = targets.iter().map(|target| walk.address(*target)).collect::<Result<Vec<_>, _>>()?;
                match dns::naming(&super::combination(experiment, asked)) {
                    Naming::Rotated(rotation) => Entrances::Rotated(addresses, rotation),
                    Naming::Served => Entrances::Named(walk.dns(tier, addresses)?),
                }
            }
            Some(_) => Entrances::One(walk.address(first)?),
        };
        Ok(Parts { servers, deciders: walk.started, products: walk.products, beside: walk.beside, entrances })
    }

    /// All of them but real servers.
    pub(super) fn all(&self) -> impl Iterator<Item = &Part> {
        let nodes = self.servers.iter().filter_map(|server| match server {
            Serving::Node(part) => Some(&**part),
            Serving::Program(_) => None,
        });
        self.deciders.iter().map(|(_, part)| part).chain(self.beside.parts()).chain(nodes)
    }

    /// Stops everything, the outermost deciders first, and gives what each said last. `hosts` names the servers.
    pub(super) fn stop(self, hosts: &[Host], ground: &dyn Ground) -> Told {
        let mut told = Told::default();
        for (_, part) in self.deciders.into_iter().rev() {
            let name = part.name.clone();
            let Last { said, incidents, events } = part.stop();
            told.incidents.extend(incidents);
            told.events.extend(events.into_iter().map(|(at, event)| (name.clone(), at, event)));
            told.deciders.push((name, said));
        }
        for (_, product) in self.products.into_iter().rev() {
            let Ended { incidents, notes, choices } = product.stop(ground);
            told.incidents.extend(incidents);
            told.notes.extend(notes);
            match choices {
                Some(Ok(choices)) => told.choices.push(choices),
                Some(Err(why)) => told.notes.push(why),
                None => {}
            }
        }
        for part in self.beside.into_parts() {
            told.last(part);
        }
        for (server, host) in self.servers.into_iter().zip(hosts) {
            let said = match server {
                Serving::Node(part) => told.last(*part),
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
    /// Stops a part and gives what it said last; notes what should not have happened to it.
    fn last(&mut self, part: Part) -> Value {
        let Last { said, incidents, .. } = part.stop();
        self.incidents.extend(incidents);
        said
    }
}

/// How long a part that is told to stop gives what it has, where that is not as usual: one that is drained ends it, however long
/// that takes.
pub(super) fn grace(system: &System) -> Option<Span> {
    const HOUR: Span = Span(3_600_000_000_000);
    system.faults.iter().any(|fault| fault.trouble == Trouble::Drained).then_some(HOUR)
}

/// Settings of a decider that follows this policy. Where the plan lets something fall silent, one check without an answer tells
/// it, as it tells the simulator's deciders; usually three do, and take five seconds or six.
fn following(policy: &str, system: &System) -> FrontSettings {
    let usual = FrontSettings::new(policy);
    let is_silence = |fault: &Fault| matches!(fault.trouble, Trouble::Frozen | Trouble::Cut);
    let fall = if system.faults.iter().any(is_silence) { 1 } else { usual.fall };
    FrontSettings { fall, ..usual }
}

impl Walk<'_> {
    /// Where `target` listens; starts it, if it has not been started yet.
    fn address(&mut self, target: Target) -> Result<SocketAddr, String> {
        let (tier, seat) = match target {
            Target::Host(host) => return Ok(self.servers[host]),
            Target::Seat { tier, seat } => (tier, seat),
        };
        if let Some(host) = self.asked.system.tiers[tier].seats[seat].host {
            return Ok(self.servers[host]);
        }
        if let Some((_, part)) = self.started.iter().find(|(known, _)| *known == (tier, seat)) {
            return Ok(part.address());
        }
        if let Some((_, product)) = self.products.iter().find(|(known, _)| *known == (tier, seat)) {
            return Ok(product.address());
        }
        let of = &self.asked.system.tiers[tier];
        let (name, program) = (name_of(of, seat), self.conditions.program);
        if let Some(decider) = &self.asked.deciders[tier] {
            let product = self.product(tier, seat, &name, decider)?;
            let address = product.address();
            self.products.push(((tier, seat), product));
            return Ok(address);
        }
        let part = match of.face {
            Face::Switch => {
                let servers = of.seats[seat].targets.iter().map(|target| self.name(*target)).collect();
                let switch = Switch { program, system: &self.asked.system, tier: of, seat, name: &name, servers };
                self.beside.start_halves(self.ground, &switch)?;
                let settings = SwitchSettings {
                    decider: FrontSettings {
                        seed: self.seed(tier, seat, &name),
                        limit: of.limit.map(switch::as_decided).transpose()?,
                        ..following(&of.policy, &self.asked.system)
                    },
                    record: self.record((tier, seat), &name),
                    ..SwitchSettings::default()
                };
                let front = switch.front(self.ground, settings)?;
                self.beside.start_daemons(self.ground, &switch)?;
                front
            }
            Face::Redirect => {
                let settings = self.settings::<Redirect>(tier, seat, &name)?;
                Part::start(self.ground, program, &name, of.face.name(), &settings)?
            }
            _ => {
                let settings = self.settings::<Forward>(tier, seat, &name)?;
                Part::start(self.ground, program, &name, of.face.name(), &settings)?
            }
        };
        let address = part.address();
        self.started.push(((tier, seat), part));
        Ok(address)
    }

    /// Starts a product in front of its targets.
    fn product(&mut self, index: usize, seat: usize, name: &str, decider: &Decider) -> Result<Started, String> {
        let tier = &self.asked.system.tiers[index];
        let behind = |(place, target): (usize, &Target)| {
            let weight = tier.weights.get(place).copied().unwrap_or(1.0) as u32;
            let at_most = tier.limit_of(place).map(|limit| limit.connections);
            Ok(Behind { name: self.name(*target), address: self.address(*target)?, weight, at_most })
        };
        let servers = tier.seats[seat].targets.iter().enumerate().map(behind).collect::<Result<Vec<_>, String>>()?;
        let (product, variant) = (decider.product, self.conditions.index + 1);
        let file = |name: String| {
            let file = self.conditions.folder.join(name);
            // It fails only on an empty path.
            path::absolute(&file).unwrap_or(file)
        };
        let is_kept = self.experiment.run.live.record;
        let kept = Kept {
            configuration: file(format!("{}-{variant}-{name}.{}", product.name(), product.extension())),
            log: file(format!("choices-{variant}-{name}.log")),
            choices: is_kept.then(|| file(format!("choices-{variant}-{name}.csv"))),
        };
        Started::start(self.ground, name, decider, &servers, Some(kept))
    }

    /// Starts the DNS in front, whose targets have these addresses.
    fn dns(&mut self, tier: &Tier, addresses: Vec<SocketAddr>) -> Result<SocketAddr, String> {
        let names = tier.seats[0].targets.iter().map(|target| self.name(*target));
        let sites: Vec<_> = names.zip(addresses).collect();
        let (seed, record) = (self.experiment.seed, self.record((0, 0), ""));
        // Clients that fail over need the addresses of all.
        let answers = if self.asked.system.rules.fails_over { sites.len() } else { 1 };
        let program = self.conditions.program;
        let dns = Dns { program, tier, seed, record: record.as_deref(), answers, sites: &sites };
        let part = dns.start(self.ground)?;
        let address = part.address();
        self.started.push(((0, 0), part));
        Ok(address)
    }

    /// Where a decider records its decisions, if it does; whatever folder its configuration is in. One that breaks would begin
    /// its record anew.
    fn record(&self, (tier, seat): (usize, usize), name: &str) -> Option<PathBuf> {
        let is_kept = self.experiment.run.live.record && !breaking::does_break(&self.asked.system, (tier, seat));
        is_kept.then(|| record_of(self.conditions, if tier + seat == 0 { "" } else { name }))
    }

    fn name(&self, target: Target) -> String {
        let system = &self.asked.system;
        match target {
            Target::Host(host) => system.hosts[host].name.clone(),
            Target::Seat { tier, seat } => name_of(&system.tiers[tier], seat),
        }
    }

    /// What a gateway or a redirector goes by.
    fn settings<F: settings::gateway::Face>(
        &mut self,
        index: usize,
        seat: usize,
        name: &str,
    ) -> Result<InFront<F>, String> {
        let tier = &self.asked.system.tiers[index];
        let backend = |(place, target): (usize, &Target)| {
            let weight = tier.weights.get(place).copied().unwrap_or(1.0);
            Ok(Backend { weight, ..Backend::new(self.name(*target), self.address(*target)?) })
        };
        let backends = tier.seats[seat].targets.iter().enumerate().map(backend).collect::<Result<_, String>>()?;
        let decider = FrontSettings {
            seed: self.seed(index, seat, name),
            poll: tier.polled,
            limit: tier.limit.map(switch::as_decided).transpose()?,
            ..following(&tier.policy, &self.asked.system)
        };
        let queue = tier.guards.queue.clone().or(tier.waits.then(Queue::default));
        let decider = decider.guarded(Guards { queue, ..tier.guards.clone() });
        Ok(InFront {
            decider,
            client_header: Some(CLIENT_HEADER.into()),
            classes: self.asked.workload.classes().into_iter().map(Into::into).collect(),
            threads: tier.dispatchers as usize,
            record: self.record((index, seat), name),
            grace: grace(&self.asked.system),
            backends,
            ..InFront::default()
        })
    }

    /// The first decider draws as the only one of a system does; each other one has a seed of its own.
    fn seed(&self, tier: usize, seat: usize, name: &str) -> u64 {
        match tier + seat {
            0 => self.experiment.seed,
            _ => Stream::new(self.experiment.seed, name, "seed").below(usize::MAX) as u64,
        }
    }
}

/// The file in which the decider of this name records its decisions; of the first one it says no name.
pub(super) fn record_of(conditions: &Conditions<'_>, name: &str) -> PathBuf {
    let dash = if name.is_empty() { "" } else { "-" };
    let file = conditions.folder.join(format!("decisions-{}{dash}{name}.jsonl", conditions.index + 1));
    // It fails only on an empty path.
    path::absolute(&file).unwrap_or(file)
}
