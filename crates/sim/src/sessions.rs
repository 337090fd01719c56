//! Users who browse: sessions of pages over connections to a cluster.
//!
//! A user thinks, asks for a page's file, then for the files that the page shows over up to `parallel` connections, and
//! thinks again when all are there: one *object*. The replication's unit is the connection; packets are not simulated.
//! Users are clients of the engine (`browsing`), the system is its fabric (`fabric::cluster`), and what both share is in
//! `connections`. This module says what can be asked.
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
//! # Attached users, and what is in flight
//!
//! | `level` | a server is chosen for | in flight to the dispatcher, and polled | a user is attached to a server |
//! |---|---|---|---|
//! | session | the first connection of a session | sessions | from then until the session's last byte |
//! | connection | every connection | open connections | while it has a connection there |
//! | request | every file | requests | while it has a request there |
//!
//! [`sojourn_model::system::Attachment`] can say otherwise: users count where their session began, and until the next one begins.
//!
//! At the level of requests users' connections end at the balancer, and a server's open connections are its requests:
//! its side is pooled. Where there are several tiers, each holds its own choices, and the tier in front of the servers says
//! when users are attached. Under HTTP/1.0 every file has a connection of its own. Without a policy there is one server and
//! no balancer, and the level is that of sessions.
//!
//! A server that closes an idle connection closes it just before whatever else happens then. A delay curve's users do
//! not load it by being polled (`poll_cost` adds nothing there). A denied object is one after which a uniform draw
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

mod browsing;
pub(crate) mod connections;
mod study;
mod summary;
mod tally;

use sojourn_model::system::{Affinity, Attachment, Face};
use sojourn_model::{Discipline, Server, System};
use sojourn_stats::Span;
use sojourn_traffic::{Sessions, Workload};

use self::connections::ENTITY_LIMIT;
pub use self::study::visits_of_run;
pub(crate) use self::study::{run, run_plan};
use crate::capability::{self, Combination};
use crate::control::SimError;
use crate::fabric::{self, innermost};

/// Refuses what makes no sense, and what is not there yet.
pub(crate) fn check(system: &System, sessions: &Sessions) -> Result<(), SimError> {
    let workload = &Workload::Sessions(sessions.clone());
    workload.check()?;
    fabric::check(system)?;
    let combination = Combination::of_sim(system, workload);
    capability::check(&combination, capability::Engine::Sim).map_err(SimError::NotYet)?;
    system.network.check().map_err(SimError::Invalid)?;
    for tier in &system.tiers {
        tier.balancing.check().map_err(SimError::Invalid)?;
    }
    let curve = |server: &Server| matches!(server.discipline, Discipline::DelayCurve(_));
    let has = |affinity: Affinity, of: fn(Attachment) -> bool| {
        innermost(system).is_some_and(|tier| tier.face != Face::Dns && tier.affinity == affinity && of(tier.attachment))
    };
    let targets: usize = system.tiers.iter().flat_map(|tier| &tier.seats).map(|seat| seat.targets.len()).sum();
    let fault = if system.tiers.iter().any(|tier| tier.dispatchers != 1) {
        "users who browse have one dispatcher"
    } else if has(Affinity::Session, |attached| attached == Attachment::WhileConnected) {
        "sessions have a server until they end: attached is `session` or `until-next`"
    } else if has(Affinity::Request, |attached| attached != Attachment::WhileConnected) {
        "requests have a server each: attached is `while-connected`"
    } else if u64::from(sessions.users) * u64::from(sessions.parallel) > u64::from(ENTITY_LIMIT) {
        "users x parallel: at most 16 million connections"
    } else if targets > ENTITY_LIMIT as usize {
        "targets of all deciders: at most 16 million"
    } else if system.tiers.iter().any(|tier| tier.poll_cost > Span::ZERO) && system.servers().all(curve) {
        "poll_cost: a delay curve says it all, and polls add nothing to it; leave it out"
    } else {
        return Ok(());
    };
    Err(SimError::Invalid(fault.into()))
}
