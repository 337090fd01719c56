//! The load generator against small raw TCP servers on free ports of the loopback interface.

mod clients;
mod emitted;
mod failures;
mod gaps;
mod hdr;
mod open;
mod parts;
mod plans;
mod records;
mod replies;
mod run;
mod server;
mod sessions;
mod url;
mod watch;
