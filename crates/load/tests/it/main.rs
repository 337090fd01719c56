//! The load generator against small raw TCP servers on free ports of the loopback interface.

mod agents;
mod attempts;
mod clients;
mod coverage;
mod emitted;
mod failures;
mod fuzz;
mod gaps;
mod hdr;
mod names;
mod not_processed;
mod open;
mod plans;
mod proof;
mod proxy;
mod records;
mod redirects;
mod replies;
mod requests;
mod rotation;
mod run;
mod scenarios;
mod server;
mod sessions;
mod shares;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod transports;
mod url;
mod watch;
mod web;
