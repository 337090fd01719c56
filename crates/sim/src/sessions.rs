//! Users who browse: sessions of pages over connections to a cluster.
//!
//! A user thinks, asks for a page's file, then for the files that the page shows over up to `parallel` connections, and
//! thinks again when all are there: one *object*. The engine's unit is the connection; packets are not simulated. What
//! happens in one replication is in `engine`, read top-down; this module says what can be asked.
//!
//! # What takes how long
//!
//! | step | time |
//! |---|---|
//! | opening a connection | one round trip |
//! | a request on its way to the server | half a round trip |
//! | the server | a station (its discipline), or a delay curve at the number of users attached |
//! | slow start | the stalls of [`sojourn_model::Tcp::stall`], before the reply enters the links |
//! | the reply | a flow over the user's link, the server's and the shared one, max-min fair |
//! | the reply's last byte on its way to the user | half a round trip |
//!
//! The balancer sits at the cluster: a packet that passes it takes [`sojourn_model::Balancing::per_packet`] longer, and
//! a new connection `per_connection`; an acknowledgement that passes it makes slow start's round trip longer. When its
//! cores are counted (`cores`), the packets of set-ups and requests wait for them in order of coming, and replies share
//! a link of the packet rate that those leave over, averaged over 0.1 s. Closing costs nothing, and neither do headers.
//!
//! # Who is attached, and what is in flight
//!
//! | `level` | a server is chosen for | in flight to the dispatcher, and polled | a user is attached to a server |
//! |---|---|---|---|
//! | session | the first connection of a session | sessions | from then until the session's last byte |
//! | connection | every connection | open connections | while it has a connection there |
//! | request | every file | requests | while it has a request there |
//!
//! [`Attached`] can say otherwise: users count where their session began, and until the next one begins.
//!
//! At the level of requests users' connections end at the balancer, and a server's open connections are its requests:
//! its side is pooled. Under HTTP/1.0 every file has a connection of its own. Without a policy there is one server and
//! no balancer, and the level is that of sessions.
//!
//! A server that closes an idle connection closes it just before whatever else happens then. A delay curve's users do
//! not load it by being polled (`poll_cost` adds to nobody there). A denied object is one after which a uniform draw
//! fell below the curve's share, at the number attached after the session has left if it was its last; or one of which
//! the balancer or a full station refused a file. A user whose patience with a file ends gives the object up. A refused
//! or abandoned object ends at once: its other files are dropped, their connections break, and the user thinks on.
//!
//! # What is measured
//!
//! | metric | definition |
//! |---|---|
//! | `response_time_*` | of whole objects: from asking to the last byte of the last file |
//! | `page_response_time_*` | of the page's own file, from asking for it (and its connection) |
//! | `file_response_time_*` | of every file, likewise |
//! | `throughput`, `file_throughput`, `byte_throughput` | objects, files (1/s) and bytes (B/s) completed |
//! | `denied_ratio`, `abandoned_ratio` | denials, and objects given up, over all that ended |
//! | `quality_high`, `_average`, `_low` | share of objects within 5 s, within 11 s, later: shown at the end |
//! | `quality_incremental_*` | the same at 39 s and 56 s: shown as they load (Bjornstad 2006, Table 2.2) |
//! | `connections_mean`, `_p10`, `_p90` | open connections at a server, over time and servers |
//! | `imbalance_index` | 1 + (p90 - p10) / (2 mean) of these (Aversa and Bestavros 2000) |
//! | `attached_*`, `attached_imbalance_index` | the same of the users attached |
//! | `utilization` | core time spent over cores x time, mean over the servers that are stations |
//! | `share_1`, `response_time_mean_1`, ... | of objects, by the server of the page's file (up to 16) |
//! | `byte_share_1`, ... | of bytes, by server |
//!
//! Response times are of objects (or files) asked for after the warm-up and complete before the end; throughputs and
//! shares are of what completes in between. The run stops at its horizon: what is under way then is left out, and
//! noted.

mod calendar;
mod clerks;
mod engine;
mod load;
mod study;
mod summary;
mod tally;
mod users;

use std::sync::Arc;

use sojourn_dispatch::{Catalogue, Information, Signals};
use sojourn_model::{Balancing, ClusterNetwork, Discipline, Server};
use sojourn_stats::Span;
use sojourn_traffic::{Demand, Sessions, Workload};

use calendar::WHOM_LIMIT;
pub use study::{run_sessions, run_sessions_plan, visits_of_run};

use crate::scenario::SimError;

/// A cluster and its users.
#[derive(Clone)]
pub struct Cluster {
    /// What users do.
    pub sessions: Sessions,
    /// The work of each file, as users' scripts draw it; [`crate::demand_of`] a server model. A delay curve has no use
    /// for it.
    pub demand: Arc<dyn Demand>,
    /// The balancer's policy; none: there is no balancer, and one server.
    pub policy: Option<String>,
    /// Where the policy's name is looked up; policies of your own are added there.
    pub catalogue: Catalogue,
    /// How fresh the balancer's counts are. An answer to a poll takes a round trip of the network.
    pub information: Information,
    /// Work that a poll is to a server that is a station.
    pub poll_cost: Span,
    /// What a choice is made for.
    pub level: Level,
    /// When users are attached; where choices are made for sessions, not [`Attached::WhileConnected`].
    pub attached: Attached,
    /// The servers, in the balancer's order; their names are [`crate::server_name`].
    pub servers: Vec<Server>,
    /// Weight of each server; none: all equal.
    pub weights: Vec<f64>,
    /// The way between users and cluster.
    pub network: ClusterNetwork,
    /// What balancing costs; plays no part without a policy.
    pub balancing: Balancing,
    /// What the balancer can tell its policy; of these it tells those of [`Cluster::PROVIDES`], and reports where it
    /// polls. With [`Signals::CLIENT_FIRST_BYTE`] round trips are those of page files,
    /// until the user has the first byte, whatever else is in it.
    pub signals: Signals,
}

/// When a user counts as attached to a server: what delay curves read, and what dispatchers of sessions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// While it has a connection there (a request, where choices are made for them).
    WhileConnected,
    /// To the server of its session's first connection, until the session's last byte.
    Session,
    /// The same, until its next session has a server: thinking between sessions counts too.
    UntilNext,
}

/// What a choice is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A session: all of its connections go to one server.
    Session,
    /// A connection.
    Connection,
    /// A request.
    Request,
}

impl Level {
    /// Its name in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Level::Session => "session",
            Level::Connection => "connection",
            Level::Request => "request",
        }
    }
}

impl Cluster {
    /// What the simulator of users who browse can tell a policy at most, reports apart: those come where it polls.
    pub const PROVIDES: Signals = Signals::IN_FLIGHT
        .union(Signals::FIRST_BYTE)
        .union(Signals::BYTES)
        .union(Signals::ADDRESS)
        .union(Signals::COOKIE)
        .union(Signals::CLIENT_FIRST_BYTE);

    /// Refuses what makes no sense.
    fn check(&self) -> Result<(), SimError> {
        Workload::Sessions(self.sessions.clone()).check()?;
        self.network.check().map_err(SimError::Invalid)?;
        self.balancing.check().map_err(SimError::Invalid)?;
        let curve = |server: &Server| matches!(server.discipline, Discipline::DelayCurve(_));
        let fault = if self.servers.is_empty() {
            "no servers: a system has at least 1"
        } else if self.policy.is_none() && self.servers.len() > 1 {
            "several servers need a balancer: name a policy"
        } else if !(self.weights.is_empty() || self.weights.len() == self.servers.len()) {
            "one weight per server"
        } else if self.level() == Level::Session && self.attached == Attached::WhileConnected {
            "sessions have a server until they end: attached is `session` or `until-next`"
        } else if self.level() == Level::Request && self.attached != Attached::WhileConnected {
            "requests have a server each: attached is `while-connected`"
        } else if u64::from(self.sessions.users) * u64::from(self.sessions.parallel) > u64::from(WHOM_LIMIT) {
            "users x parallel: at most 16 million connections"
        } else if self.poll_cost > Span::ZERO && self.servers.iter().all(curve) {
            "poll_cost: a delay curve says it all, and polls add nothing to it; leave it out"
        } else {
            return Ok(());
        };
        Err(SimError::Invalid(fault.into()))
    }

    /// Where choices are made: without a balancer a user simply goes to its server.
    fn level(&self) -> Level {
        if self.policy.is_some() { self.level } else { Level::Session }
    }
}
