//! The client side, live: open and closed load over real sockets, and the proof that the load was what it claims.
//!
//! A run is four independent choices: a [`Schedule`] (who asks when), a transport ([`Version`], [`Tls`]), a stop rule
//! ([`Stop`]) and what is recorded. One loop per thread serves them all: epoll, non-blocking sockets, and for HTTP/1 a
//! request written straight from prebuilt bytes and a reply parsed where it was read, without allocation, lock or
//! channel per request. The price is a transport of our own that speaks only the HTTP/1.1 a load generator needs. TLS
//! (rustls) and HTTP/2 (hyper) are driven by the same loop, without sockets or a runtime of theirs; what a transport has
//! to do is said in `generator/worker.rs`.
//!
//! # 1. Say what the load is
//!
//! An open schedule is any iterator of requests with their planned instants. They are sent at these instants, whether or
//! not earlier ones have been answered. Here 100 requests come, one every 10 ms, from 4 clients:
//!
//! ```
//! use sojourn_load::{Load, Schedule, Targets, Url};
//! use sojourn_stats::{Span, Time};
//! use sojourn_traffic::{Planned, Request};
//!
//! let plan = (0..100).map(|k: u64| Planned {
//!     at: Time(k * 10_000_000),
//!     request: Request {
//!         client: (k % 4) as u32,
//!         class: 0,
//!         object: 0,
//!         size: 0,
//!         demand: Span::ZERO,
//!         patience: Span::FOREVER,
//!     },
//! });
//! let url = Url::parse("http://127.0.0.1:8080/index.html")?;
//! let load = Load { connections_max: 16, ..Load::to(&[url], Schedule::open(plan), Targets::Own) };
//! assert_eq!(load.endpoints[0].port, 8080);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `sojourn_traffic::Plan` makes such plans from laws, logs and captures. [`Schedule::users`] has closed users who think,
//! ask and wait; [`Schedule::sessions`] has users who browse; [`Scenarios`] are followed step by step;
//! [`Schedule::saturate`] asks as fast as it can. With
//! [`Load::rotated`] one host has several addresses and each client keeps one of them.
//!
//! # 2. Put it on a server
//!
//! [`run`] connects once before the start, so that a server that is not there is an error and not a measurement. Only
//! loopback and private addresses are taken unless [`Load::allowed`] says otherwise.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use sojourn_load::{Load, Schedule, Stop, Targets, Url, run};
//! use sojourn_stats::Span;
//!
//! let url = Url::parse("http://127.0.0.1:8080/index.html")?;
//! let mut load = Load::to(&[url], Schedule::saturate(8), Targets::Own);
//! load.stop = Stop::After(Span::from_secs_f64(5.0));
//! load.redirects = 3;
//! let cancel = Arc::new(AtomicBool::new(false));
//! let report = run(load, &cancel, &|progress| eprintln!("{} good replies", progress.ok))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. Read what it measured
//!
//! Every request has its instants: *planned*, *begun* (the generator acted), *sent*, *first byte*, *done*. Response time
//! counts from planned, so that a stalled server cannot hide its queue in the client (coordinated omission); the time
//! from sent stands beside it, and so does the generator's own lateness. A run that was not the load asked for says so.
//!
//! ```no_run
//! use sojourn_load::{Report, Proof};
//!
//! fn tell(report: &Report) {
//!     match &report.verdict {
//!         Proof::Valid => {}
//!         Proof::Suspect(_) => eprintln!("do not trust this run: {}", report.verdict.reasons().join("; ")),
//!         Proof::Incomplete(why) => eprintln!("not a whole run: {why}"),
//!     }
//!     for measure in &report.measures {
//!         println!("{} {:?} {}", measure.metric, measure.estimate, measure.unit);
//!     }
//!     if let Some(p99_s) = report.value("response_time_p99") {
//!         println!("99 % within {p99_s} s; {} of {} good", report.counts.ok, report.counts.planned);
//!     }
//! }
//! ```
//!
//! Several processes or machines put one load on a server together through [`agents`], or each by [`run_share`]. The
//! arrivals that a server sees do not depend on the number of processes, threads or connections.

#![warn(clippy::print_stdout)]

pub mod agents;
mod error;
mod generator;
pub mod order;
mod outcome;
mod recorder;
mod report;
mod request;
mod schedule;
mod setting;
mod share;
pub mod whole;
mod wire;

pub use error::LoadError;
pub use generator::attempts::Attempts;
pub use generator::awake::Awake;
pub use generator::clock::realtime_ns;
pub use generator::load::{AS_NEEDED, Load};
pub use generator::progress::Progress;
pub use generator::run::{run, run_share};
pub use outcome::{Connections, Counts, Outcome};
pub use recorder::interval::Interval;
pub use recorder::objects::{Objects, ObjectsOfBackend};
pub use recorder::passes::{Passes, StepReport};
pub use recorder::record::{ObjectRecord, Record};
pub use recorder::watch::Recent;
pub use recorder::{emitted, records};
pub use report::doubt::{Cause, Doubt, Effect};
pub use report::gaps::{Gaps, Order};
pub use report::limits::Limits;
pub use report::measured::ShareReport;
pub use report::verdict::Proof;
pub use report::{Pace, Report, Second, Unsettled, estimate, verdict};
pub use request::endpoint::Endpoint;
pub use request::scenario::{ScenarioError, Scenarios};
pub use request::template::{Template, TemplateError};
pub use request::url::{Scheme, Url, UrlError};
pub use request::url_list::{UrlList, UrlListError};
pub use request::{Body, Method, Targets};
pub use schedule::sessions::Browse;
pub use schedule::{Coming, Schedule};
pub use setting::{Pacing, Resolves, Rotation, Stop, Version};
pub use share::Share;
pub use wire::allowed::{Allowed, is_private};
pub use wire::path::connect_times;
pub use wire::reply;
pub use wire::tls::Tls;

/// The code of the README, which is tested with the rest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
