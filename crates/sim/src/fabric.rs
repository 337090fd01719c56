//! What brings requests to servers and replies back.
//!
//! | fabric | what it is |
//! |---|---|
//! | [`Direct`] | one tier in front of stations, or a single station, in one place: the fast path |
//! | [`Routed`] | tiers of deciders, choices that are held, redirections, regions and faults |
//! | [`Cluster`] | connections of users who browse: TCP, flows, delay curves, the balancer's cores |
//!
//! Who chooses a cluster's servers is [`OneTier`], the fast path, or [`Tiers`]. `Routed` and `Tiers` do everything that
//! `Direct` and `OneTier` do, event by event and draw by draw, at a higher cost; tests hold the one to the other on every
//! system that both can be.

mod cluster;
mod deciders;
mod direct;
mod link;
mod names;
mod routed;

use sojourn_model::System;
use sojourn_model::system::Face;

pub(crate) use self::cluster::{Cluster, OneTier, Routing, Tiers, innermost};
pub(crate) use self::direct::Direct;
pub(crate) use self::routed::{Routed, refuse};
use crate::control::SimError;

/// Whether the direct fabric can be it. A switch learns of ends from the client's packets, which take their time.
pub(crate) fn is_direct(system: &System) -> bool {
    system.is_plain() && system.tiers.iter().all(|tier| tier.face == Face::Gateway)
}

/// Refuses what makes no sense.
pub(crate) fn check(system: &System) -> Result<(), SimError> {
    let several = system.hosts.len() > 1;
    let wrong_weights = system.tiers.iter().any(|tier| {
        let fits = |targets: usize| tier.weights.is_empty() || tier.weights.len() == targets;
        !tier.seats.iter().all(|seat| fits(seat.targets.len()))
    });
    let fault = if system.hosts.is_empty() {
        "no servers: a system has at least 1"
    } else if system.tiers.is_empty() && several {
        "several servers need a balancer: name a policy"
    } else if system.tiers.iter().any(|tier| tier.dispatchers == 0) {
        "no dispatchers: a balancer has at least 1"
    } else if wrong_weights {
        "one weight per server"
    } else {
        return Ok(());
    };
    Err(SimError::Invalid(fault.into()))
}
