//! What do users ask for?
//!
//! A [`Workload`] says it as data: when requests arrive, of which class they are, how large the replies are, how long
//! clients wait. From it and a seed the same requests are drawn every time: a [`Plan`] for open arrivals, logs and
//! traces, a [`Script`] for each closed user, a [`Visitor`] for each user who browses a site. A simulator and a load
//! generator that both follow them serve the same requests. Nothing here opens a socket or reads a clock.
//!
//! # In three acts
//!
//! 1. Say what users ask for. Laws are written as text with units.
//!
//! ```
//! use sojourn_traffic::{Arrivals, Open, Sizes, Workload};
//!
//! let workload = Workload::Open(Open {
//!     arrivals: Arrivals::parse("exponential(rate = 374 /s)")?,
//!     clients: 1000,
//!     sizes: Sizes::parse("lognormal(mean = 10 kB, cv = 2)")?,
//!     patience: None,
//! });
//! let (mean_bytes, _) = workload.size_moments();
//! assert!((mean_bytes - 10_000.0).abs() < 1e-6);
//! # Ok::<(), sojourn_traffic::WorkloadError>(())
//! ```
//!
//! 2. Draw the plan. What a request costs a server is the server's affair, so the plan borrows it: any function of
//!    class, size and a random stream will do.
//!
//! ```
//! use std::sync::Arc;
//!
//! use sojourn_stats::{Span, Stream, Time};
//! use sojourn_traffic::{Plan, Workload};
//! # use sojourn_traffic::{Arrivals, Open, Sizes};
//! # let workload = Workload::Open(Open {
//! #     arrivals: Arrivals::parse("exponential(rate = 374 /s)")?,
//! #     clients: 1000,
//! #     sizes: Sizes::parse("lognormal(mean = 10 kB, cv = 2)")?,
//! #     patience: None,
//! # });
//!
//! let demand = Arc::new(|_class: u8, size: u64, _: &mut Stream| Span(1_000_000 + 10 * size));
//! let plan = Plan::new(&workload, 1, demand.clone())?.collect_until(Time::from_secs_f64(10.0));
//! assert_eq!(plan[0].request.demand, Span(1_000_000 + 10 * plan[0].request.size));
//! // The same seed gives the same plan.
//! assert_eq!(plan, Plan::new(&workload, 1, demand)?.collect_until(Time::from_secs_f64(10.0)));
//! # Ok::<(), sojourn_traffic::WorkloadError>(())
//! ```
//!
//! 3. Let users wait for their replies, and let requests differ. A closed user has no plan, because its instants depend
//!    on the replies: it has a script of what it does next. Classes have shares, and sizes of their own.
//!
//! ```
//! use std::sync::Arc;
//!
//! use sojourn_stats::{Dimension, Law, Span, Stream};
//! use sojourn_traffic::{Classes, Closed, Script, Sizes};
//!
//! let classes = Classes::each(vec![
//!     ("static", 0.8, Sizes::parse("webstone")?),
//!     ("dynamic", 0.2, Sizes::parse("constant(2 kB)")?),
//! ])?;
//! let users = Closed {
//!     users: 40,
//!     think: Law::parse("exponential(mean = 1 s)", Dimension::Time)?,
//!     sizes: Sizes::ByClass(classes),
//!     patience: None,
//! };
//! let demand = Arc::new(|class: u8, _size: u64, _: &mut Stream| Span([1_000_000, 20_000_000][usize::from(class)]));
//! let mut script = Script::new(&users, 0, 1, demand);
//! let steps: Vec<_> = (0..100).map(|_| script.step()).collect();
//! assert!(steps.iter().any(|step| step.request.class == 1 && step.request.size == 2000));
//! # Ok::<(), sojourn_traffic::WorkloadError>(())
//! ```
//!
//! # Where things are
//!
//! | module | |
//! |---|---|
//! | `workload`, `plan`, `request` | what is asked for, and the requests drawn from it; [`generate()`] writes a plan as CSV |
//! | `arrivals` | renewal processes, batches, gaps with long memory, sources that are on and off, profiles |
//! | `sizes`, [`site`] | laws, [`webstone`] lists, [`specweb`] files, documents, classes; sites of pages |
//! | `sessions` | users who browse a site, and sessions as a file has them |
//! | `recorded` | access logs ([`log`]), sessions of browsers ([`har`]), packets ([`capture`]), gaps and demands ([`trace`]) |
//! | [`describe`] | a description of what was recorded, and laws that fit it ([`fit`]) |

mod alias;
mod arrivals;
pub mod describe;
mod error;
mod plan;
mod recorded;
mod request;
mod sessions;
pub mod site;
mod sizes;
mod text;
mod words;
mod workload;

pub use alias::Alias;
pub use arrivals::clock::Clock;
pub use arrivals::{Arrivals, OfferedLoad, Profile};
pub use describe::{Input, InputError, column_text, fit};
pub use error::WorkloadError;
pub use plan::{Plan, Planned, Script, Step, generate};
pub use recorded::trace::{Pairs, Trace};
pub use recorded::{capture, har, log, trace};
pub use request::{Demand, Request};
pub use sessions::{Burst, Call, Fetch, Http, SessionList, Sessions, Visit, Visitor, Written, Wsess, stream};
pub use site::{Locality, Site, SiteLaw};
pub use sizes::{Classes, Documents, Sizes, specweb, webstone};
pub use text::TextError;
pub use workload::{Closed, Open, Replay, Traced, Workload};
