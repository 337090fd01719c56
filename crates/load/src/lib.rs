//! The client side, live: open and closed load over real sockets, and the proof that the load was what it claims.
//!
//! A run is four independent choices: a [`Schedule`] (who asks when) × a transport ([`Version`], [`Tls`]) × a stop
//! rule ([`Stop`]) × what is recorded. One loop per thread serves them all: epoll, non-blocking sockets, and for HTTP/1
//! a request written straight from prebuilt bytes and a reply parsed where it was read; no allocation, lock or channel
//! per request. The price is a transport of our own that speaks only the HTTP/1.1 a load generator needs. TLS (rustls)
//! and HTTP/2 (hyper) are driven by the same loop, without sockets or a runtime of theirs; what a transport has to do is
//! said in `worker.rs`.
//!
//! An open plan is one global arrival process, drawn once and dealt to the threads, so that the arrivals that a server
//! sees do not depend on the number of threads or connections. Every request has its instants: *planned*, *begun*
//! (the generator acted), *sent*, *first byte*, *done*. Response time counts from planned, so that a stalled server
//! cannot hide its queue in the client (coordinated omission); service time counts from sent; the generator's own
//! lateness is reported, and a run that was not the load asked for says so ([`Verdict`]).

#![warn(clippy::print_stdout)]

mod allowed;
mod awake;
mod channel;
mod clock;
mod connection;
pub mod emitted;
mod endpoint;
pub mod estimate;
mod gaps;
mod hdr;
mod host;
mod interval;
mod objects;
mod outcome;
mod part;
mod path;
mod plan;
mod recorder;
pub mod records;
pub mod reply;
mod report;
mod request;
mod resolve;
mod run;
mod schedule;
mod sessions;
mod setting;
mod template;
mod tls;
mod url;
mod url_list;
pub mod verdict;
mod watch;
mod worker;

pub use allowed::{Allowed, is_private};
pub use awake::Awake;
pub use clock::realtime_ns;
pub use endpoint::Endpoint;
pub use gaps::Gaps;
pub use interval::Interval;
pub use objects::{ObjectRecord, Objects, ObjectsOfBackend};
pub use outcome::{Connections, Counts, Outcome};
pub use part::{Part, PartReport};
pub use path::connect_times;
pub use recorder::Record;
pub use report::{Pace, Report, Second};
pub use request::{Body, Method, Targets};
pub use run::{Load, run, run_part};
pub use schedule::{Browse, Schedule};
pub use setting::{LoadError, Pacing, Progress, Stop, Version};
pub use template::{Template, TemplateError};
pub use tls::Tls;
pub use url::{Scheme, Url, UrlError};
pub use url_list::{UrlList, UrlListError};
pub use verdict::Verdict;
pub use watch::Recent;
