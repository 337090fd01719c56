//! What would happen?
//!
//! A discrete-event simulation of the main job: requests of an open plan or of closed users come over their clients'
//! links to a balancer, which sends each to one of the servers; replies come back the same way. The plan is `traffic`'s,
//! the server `model`'s and the balancer `dispatch`'s: the very objects that run live. This crate adds the order of
//! events, and from the counts a [`Report`] of numbers with intervals. It knows no formula.
//!
//! # In three acts
//!
//! 1. [`Scenario`] says what is simulated, [`Control`] how long. `run` plays independent replications of it; number 0
//!    has the seed itself, the others seeds derived from it.
//! 2. One `engine::Engine` per replication takes one event after another, ordered by (time, class, sequence). The
//!    classes at equal time are, in this order:
//!
//!    | class | why there |
//!    |---|---|
//!    | 0. a dispatcher's deadline | a window [a, b) and a poll at b leave out what happens at b |
//!    | 1. a departure from a station | makes room before anybody asks for it; sequence: the server's number |
//!    | 2. a message arrives | sequence: the order in which they were sent |
//!    | 3. a client's patience ends | a reply that comes at the last instant still counts |
//!    | 4. a user has thought, or a planned request is due | finds the state that all else has left |
//!
//! 3. `study` looks at all replications together, in the order of their numbers, and makes each longer until every
//!    metric asked for is sharp enough. Threads only change who computes a replication, so they never change a byte.
//!
//! # What is measured
//!
//! | metric | definition |
//! |---|---|
//! | `response_time_*` | from the planned instant to the last byte at the client, of completed requests |
//! | `waiting_time_mean` | from coming to the server to the start of service |
//! | `service_time_mean` | core time: demand over the server's speed, however many share the core |
//! | `throughput` | completed requests per second |
//! | `utilization` | core time spent over cores x time, mean over the servers |
//! | `share_1`, ... | part of the requests sent to this server (up to 16 servers) |
//! | `imbalance_index` | 1 + (p90 - p10) / (2 mean) of the numbers of requests sent to the servers (1: all equal) |
//! | `error_ratio` | denied, over all that ended |
//! | `abandoned_ratio` | given up by their clients, over all that ended |
//! | `prediction_error_*` | where asked for: time at the server as predicted on arrival, less what it was ([`single::run`]) |
//!
//! A single queue without links or balancer has a faster way, for 10^9 jobs and more: [`single`].
//!
//! Networks of queues ([`run_network`]) have an event loop of their own, and users who browse ([`run_sessions`]) another;
//! all share stations, intervals and conservation.
//!
//! A request has no size: it costs its link the delay only. A reply is one message: a link passes it on when it has
//! the last byte. A client that gives up is gone at once: its job leaves the server, and its dispatcher is told.

mod agenda;
mod balancer;
mod clients;
mod control;
mod course;
mod engine;
mod fabric;
mod jobs;
mod ledger;
mod network;
mod pilot;
mod prediction;
mod run;
mod sessions;
pub mod single;
mod study;
mod summary;
mod tally;
mod timers;

pub use balancer::{information, signals};
pub use control::{Control, Precision, Progress, Report, SimError, WarmUp, demand_of, demand_of_classes};
pub use network::run_network;
pub use run::{check, response_times, run, run_plan};
pub use sessions::visits_of_run;
