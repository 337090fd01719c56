//! What a switch counts.

use serde::Serialize;
use sojourn_report::upstream::UpstreamCounts;
use sojourn_report::{Dropped, Exchanged};
use sojourn_splice::SpliceCounts;

/// What a switch has done. Packets that take the kernel's path are not counted here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SwitchCounts {
    /// Connections that were given to a server.
    pub connections: u64,
    /// Connections of an earlier switch that it went on with.
    pub inherited: u64,
    /// Connections that were refused with a RST because no server could be chosen.
    pub refused: u64,
    /// Those of them that found every server that is up full (`limit`).
    pub over_limit: u64,
    /// Connections that were passed on to other sites, because no server here could take them.
    pub overflowed: u64,
    /// Connections that other sites passed on and that were given to a server here.
    pub accepted: u64,
    /// Connections whose client ended them.
    pub closed: u64,
    /// Connections that were forgotten: idle for too long, never set up, or dropped for want of room.
    pub forgotten: u64,
    /// Packets dropped because they were fragments.
    pub fragments: u64,
    /// Packets dropped because they were of no connection.
    pub strays: u64,
    /// First packets dropped because no switch decided them: between two of them, or where it could not keep up.
    pub undecided: u64,
    /// First packets dropped because as many connections as may be remembered were.
    pub full: u64,
    /// Records of decisions that could not be written to their end.
    pub records_failed: u64,
    /// What it has done besides, where it splices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spliced: Option<SpliceCounts>,
    /// Reports that were not believed, by cause, where it takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports_dropped: Option<Dropped>,
    /// What it and those who report to it have sent each other, where it takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanged: Option<Exchanged>,
    /// What it has told of its servers as of one, where it tells that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamCounts>,
    /// Per server, in their order.
    pub backends: Vec<ServerCounts>,
    /// Per other site, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteCounts>,
}

/// What was passed on to another site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SiteCounts {
    /// Its name.
    pub name: String,
    /// Connections that were passed on to it.
    pub connections: u64,
    /// Those of them that are open.
    pub open: u64,
}

/// What one server was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServerCounts {
    /// Its name.
    pub name: String,
    /// Connections that it was given.
    pub connections: u64,
    /// Connections that are open there.
    pub open: u64,
    /// Whether it can be chosen.
    pub up: bool,
    /// The load that it told last, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<ServerLoad>,
}

/// What a server told of its load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ServerLoad {
    /// How long ago it was measured (s).
    pub age_s: f64,
    /// Requests that it had.
    pub in_flight: u32,
    /// Busy share of its processor.
    pub cpu: f32,
    /// Requests per second that it can take, as learned from its reports; 0 while that is not known.
    pub capacity_per_s: f32,
    /// Requests per second that it can take in addition.
    pub room_per_s: f32,
}
