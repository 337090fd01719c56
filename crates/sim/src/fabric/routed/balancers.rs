//! Who decides: the dispatchers of all tiers, and those of clients that decide for themselves.
//!
//! Such a client has a dispatcher of its own, which knows what happens to its own requests. A choice is held for as long as
//! the tier says, and until a request fails. The dispatcher learns of the request that it chose for: of its first byte and
//! end when the client has them, and of a failure. Round trips are measured by the client
//! itself, with three echo requests a second apart, as a DNS has them measured (`information::probes`).
//!
//! The price is memory: a dispatcher with a table of all targets for each client that has asked, which is why their number
//! is limited ([`PAIRS_LIMIT`]). A lost segment with the first byte over TCP is not in the time of that byte.

use std::ops::{Deref, DerefMut, Index, IndexMut};

use sojourn_dispatch::{BackendId, Catalogue, ClientRules, Command, Origin, Signals};
use sojourn_model::System;
use sojourn_model::system::{Face, Held, Tier};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Workload;

use super::network;
use crate::balancer::{Asked, Balancer, Choice, signals};
use crate::control::SimError;
use crate::fabric::deciders::{Decider, Next, deciders, names};

/// Reports without news of a client after which its rate is forgotten.
const SILENT_REPORTS: u64 = 3;

/// Pairs of a client and a target, at most.
const PAIRS_LIMIT: usize = 1_000_000;

/// All that decide.
pub(super) struct Balancers {
    /// All seats of all tiers, tier by tier; the first is where requests come in.
    of_seats: Vec<Decider>,
    /// Clients that decide for themselves; none where they do not.
    of_clients: Option<Choosers>,
}

/// Clients that decide.
struct Choosers {
    tier: Tier,
    targets: Vec<String>,
    /// Where the targets are, where policies read it.
    origins: Vec<Origin>,
    signals: Signals,
    catalogue: Catalogue,
    seed: u64,
    of_client: Vec<Option<Box<Chooser>>>,
}

/// A client that has asked.
struct Chooser {
    balancer: Balancer,
    /// What it has chosen, and until when that is held.
    target: u32,
    until: Time,
}

/// Where a client that decides asks.
pub(super) struct AskedByClient {
    pub(super) next: Next,
    /// What it has chosen now; none where it holds a choice.
    pub(super) choice: Option<Choice>,
    /// What it is to measure.
    pub(super) commands: Vec<Command>,
}

impl Balancers {
    /// Those of `system`, with policies of `catalogue` and random streams of this seed.
    pub(super) fn new(system: &System, catalogue: &Catalogue, seed: u64) -> Result<Balancers, SimError> {
        let first = system.tiers.first().filter(|tier| tier.face == Face::Client);
        Ok(Balancers {
            of_seats: deciders(system, false, catalogue, seed)?,
            of_clients: first.map(|tier| Choosers {
                targets: names(system, &tier.seats[0]).collect(),
                origins: Vec::new(),
                signals: signals(tier, &system.regions, false),
                tier: tier.clone(),
                catalogue: catalogue.clone(),
                seed,
                of_client: Vec::new(),
            }),
        })
    }

    /// Whether clients decide for themselves.
    pub(super) fn are_clients(&self) -> bool {
        self.of_clients.is_some()
    }

    /// When a decider next wants to be polled.
    pub(super) fn deadline(&self) -> Time {
        self.of_seats.iter().map(|decider| decider.balancer.deadline()).min().unwrap_or(Time::NEVER)
    }

    /// The dispatchers that made a choice on the stack of a request of `client`.
    #[inline]
    pub(super) fn that_chose(&mut self, decider: u32, client: u32) -> &mut Balancer {
        match &mut self.of_clients {
            Some(choosers) if decider == 0 => &mut choosers.chooser(client).balancer,
            _ => &mut self.of_seats[decider as usize].balancer,
        }
    }

    /// Where a client asks that decides for itself; none where its policy refuses.
    pub(super) fn choose_by_client(&mut self, asked: Asked, now: Time) -> Option<AskedByClient> {
        let choosers = self.of_clients.as_mut().expect("clients decide");
        let held = choosers.tier.held;
        let chooser = choosers.chooser(asked.client);
        let mut choice = None;
        if now >= chooser.until {
            let made = chooser.balancer.choose(asked, &[], now)?;
            (chooser.target, choice) = (made.server, Some(made));
            chooser.until = match held {
                Held::Request => now,
                Held::For(span) => now + span,
                Held::Run => Time::NEVER,
            };
        }
        let target = chooser.target as usize;
        let is_due = chooser.balancer.deadline() <= now;
        let commands = if is_due { chooser.balancer.poll(now, |_| None) } else { Vec::new() };
        Some(AskedByClient { next: self[0].targets[target], choice, commands })
    }

    /// A request of `client` has failed: a client that decides chooses anew.
    pub(super) fn let_go(&mut self, client: u32) {
        if let Some(choosers) = &mut self.of_clients {
            choosers.chooser(client).until = Time::ZERO;
        }
    }

    /// Where a target of a decider is.
    pub(super) fn set_origin(&mut self, decider: u32, target: u32, origin: Origin) {
        self[decider].balancer.set_origin(target, origin);
        if let (0, Some(choosers)) = (decider, &mut self.of_clients) {
            choosers.origins.push(origin);
        }
    }

    /// The deciders on a server learn that it has a copy of a file, or has none any more, beside its `owner`.
    pub(super) fn set_copy(&mut self, host: usize, file: u32, owner: Option<u32>, is_there: bool) {
        let owner = owner.map(Next::Server);
        for Decider { balancer, targets, here, .. } in self.iter_mut().filter(|of| of.host == Some(host as u32)) {
            let owner = targets.iter().position(|next| Some(*next) == owner).map(|at| at as u32);
            let holders: Vec<BackendId> = owner.into_iter().chain(here.filter(|_| is_there)).map(BackendId).collect();
            balancer.set_owners(file, &holders);
        }
    }
}

impl Deref for Balancers {
    type Target = [Decider];

    #[inline]
    fn deref(&self) -> &[Decider] {
        &self.of_seats
    }
}

impl DerefMut for Balancers {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Decider] {
        &mut self.of_seats
    }
}

impl Index<u32> for Balancers {
    type Output = Decider;

    #[inline]
    fn index(&self, decider: u32) -> &Decider {
        &self.of_seats[decider as usize]
    }
}

impl IndexMut<u32> for Balancers {
    #[inline]
    fn index_mut(&mut self, decider: u32) -> &mut Decider {
        &mut self.of_seats[decider as usize]
    }
}

impl Choosers {
    fn chooser(&mut self, client: u32) -> &mut Chooser {
        let Choosers { tier, targets, origins, signals, catalogue, seed, of_client } = self;
        let place = client as usize;
        if of_client.len() <= place {
            of_client.resize_with(place + 1, || None);
        }
        of_client[place].get_or_insert_with(|| {
            let (names, stream) = (targets.iter().cloned(), format!("client {client} "));
            let made = Balancer::of(tier, names, *signals, catalogue, *seed, &stream);
            let mut balancer = made.expect("the same could be made for the tier");
            balancer.keep_clients(client_rules(tier));
            origins.iter().enumerate().for_each(|(target, origin)| balancer.set_origin(target as u32, *origin));
            Box::new(Chooser { balancer, target: 0, until: Time::ZERO })
        })
    }
}

/// Refuses clients that decide where they are too many.
pub(super) fn check(system: &System, workload: &Workload) -> Result<(), SimError> {
    let Some(tier) = system.tiers.first().filter(|tier| tier.face == Face::Client) else { return Ok(()) };
    let (clients, targets) = (network::clients(system, workload).len(), tier.seats[0].targets.len());
    match clients.saturating_mul(targets) {
        pairs if pairs <= PAIRS_LIMIT => Ok(()),
        _ => Err(SimError::Invalid(format!(
            "{clients} clients that choose among {targets} targets each: at most {PAIRS_LIMIT} pairs of a client and a target"
        ))),
    }
}

/// How long a tier keeps what it knows of clients.
pub(super) fn client_rules(tier: &Tier) -> ClientRules {
    let usual = ClientRules::default();
    let rates = tier.reports.and_then(|reports| reports.client_rates);
    ClientRules {
        rates_expire: rates.map(|every| Span(every.0 * SILENT_REPORTS)),
        sites_probed: tier.probes.map_or(usual.sites_probed, |probes| probes.at_most),
        refresh: tier.probes.map_or(usual.refresh, |probes| probes.refresh),
        ..usual
    }
}
