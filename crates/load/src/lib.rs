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

mod error;
mod generator;
mod outcome;
mod recorder;
mod report;
mod request;
mod schedule;
mod setting;
mod share;
mod wire;

pub use error::LoadError;
pub use generator::awake::Awake;
pub use generator::clock::realtime_ns;
pub use generator::load::Load;
pub use generator::progress::Progress;
pub use generator::run::{run, run_share};
pub use outcome::{Connections, Counts, Outcome};
pub use recorder::interval::Interval;
pub use recorder::objects::{Objects, ObjectsOfBackend};
pub use recorder::record::{ObjectRecord, Record};
pub use recorder::watch::Recent;
pub use recorder::{emitted, records};
pub use report::gaps::Gaps;
pub use report::measured::ShareReport;
pub use report::verdict::Verdict;
pub use report::{Pace, Report, Second, estimate, verdict};
pub use request::endpoint::Endpoint;
pub use request::template::{Template, TemplateError};
pub use request::url::{Scheme, Url, UrlError};
pub use request::url_list::{UrlList, UrlListError};
pub use request::{Body, Method, Targets};
pub use schedule::Schedule;
pub use schedule::sessions::Browse;
pub use setting::{Pacing, Stop, Version};
pub use share::Share;
pub use wire::allowed::{Allowed, is_private};
pub use wire::path::connect_times;
pub use wire::reply;
pub use wire::tls::Tls;
