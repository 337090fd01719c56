//! What brings requests to servers and replies back.
//!
//! | fabric | what it is |
//! |---|---|
//! | [`Direct`] | one tier in front of stations, or a single station, in one place: the fast path |
//! | [`Routed`] | tiers of deciders, choices that are held, redirections, regions and faults |
//! | [`Cluster`] | connections of users who browse: TCP, flows, delay curves, the balancer's cores; one tier |
//!
//! `Routed` does everything that `Direct` does, event by event and draw by draw, at a higher cost; a test holds the one
//! to the other on every system that both can be.

mod cluster;
mod direct;
mod link;
mod routed;

pub(crate) use cluster::{Cluster, OneTier, attached, level};
pub(crate) use direct::Direct;
pub(crate) use routed::{Routed, refuse};
