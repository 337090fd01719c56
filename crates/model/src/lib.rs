//! The parts of a system: servers, links and networks.
//!
//! They exist as data ([`Server`], [`Link`], [`ClusterNetwork`], [`Balancing`], a whole [`System`], and networks of
//! queues in [`network::Network`]), read from small TOML files, and as sans-I/O state machines ([`Station`], [`Wire`],
//! [`Flows`]) that the simulator and the live node's emulated service both run. The crate runs nothing itself: every
//! call takes the time as an argument. The price is that the caller keeps the order of events.
//!
//! # 1. A server is data
//!
//! A server model says how requests share the processor and how much work one is. An error is one line: what, where,
//! and what would be right.
//!
//! ```
//! use sojourn_model::{Discipline, Server};
//! use sojourn_stats::{Span, Stream};
//!
//! let server = Server::from_toml("discipline = \"limited-ps\"\nhelpers = 16\ndemand = \"1 ms + 1 us/B\"")?;
//! assert_eq!(server.discipline, Discipline::LimitedPs { helpers: 16 });
//! let work = server.demand("static").draw(4_000, &mut Stream::new(1, "server 1", "demand"));
//! assert_eq!(server.service_time(work), Span(5_000_000), "1 ms, and 4,000 bytes of 1 us");
//!
//! let refused = Server::from_toml("discipline = \"pss\"\ndemand = \"1 ms\"").unwrap_err().to_string();
//! assert!(refused.starts_with("line 1: unknown discipline `pss`; did you mean `ps`?"), "{refused}");
//! # Ok::<(), sojourn_model::ServerError>(())
//! ```
//!
//! # 2. A server is also a state machine
//!
//! [`Station`] is its queue and processor. Jobs arrive with their service time, and leave at the station's own instants,
//! however late it is asked:
//!
//! ```
//! use sojourn_model::{Discipline, Station};
//! use sojourn_stats::{Span, Time};
//!
//! let mut station = Station::new(Discipline::Ps, 1, None);
//! station.arrive(Time(0), 1, Span(300));
//! station.arrive(Time(100), 2, Span(50));
//! // From 100 on, each job has half of the core: job 2 leaves at 200, and then job 1 has the core for itself.
//! assert_eq!(station.next_departure(), Some(Time(200)));
//! let mut departures = std::iter::from_fn(|| station.depart(Time(1_000)));
//! let [first, second] = [(); 2].map(|()| departures.next().expect("both have left"));
//! assert_eq!((first.job, first.at), (2, Time(200)));
//! assert_eq!((second.job, second.at), (1, Time(350)));
//! assert_eq!(station.busy(Time(1_000)), Span(350), "core time is the sum of the demands");
//! ```
//!
//! # 3. A system: a tier of deciders, hosts, and the network between
//!
//! A [`System`] is read alike by the simulator, the formulas and the live engine. A reply is a message on a [`Wire`], or
//! a flow that shares links ([`Flows`]):
//!
//! ```
//! use sojourn_model::system::{Face, Tier};
//! use sojourn_model::{Flows, Server, System};
//! use sojourn_stats::{Span, Time};
//!
//! let server = Server::from_toml("discipline = \"ps\"\ndemand = \"exponential(mean = 10 ms)\"")?;
//! let mut system = System::balanced(Tier::new(Face::Gateway, "least-connections"), vec![server; 4]);
//! system.network.rtt = Span(20_000_000);
//! assert_eq!((system.hosts[3].name.as_str(), system.tiers[0].seats[0].targets.len()), ("server-4", 4));
//!
//! // Two replies of 1 MB to two users share 8 Mbit/s: the second begins when the first is half done.
//! let mut flows = Flows::new(2, 1, 1, None, None, Some(8e6));
//! flows.start(Time(0), 0, 0, 0, 1_000_000);
//! flows.start(Time(500_000_000), 1, 0, 0, 1_000_000);
//! assert_eq!(flows.rate(0, 0), Some(4e6));
//! assert_eq!((flows.next_end(), flows.end(Time(1_500_000_000))), (Time(1_500_000_000), Some((0, 0))));
//! # Ok::<(), sojourn_model::ServerError>(())
//! ```
//!
//! Networks of queues as text are in [`network`]; what a server measured from outside is, in [`DelayCurve`].

mod cluster_network;
mod copies;
mod curve;
mod demand;
mod discipline;
mod file_cache;
mod flows;
mod link;
mod loss;
mod machine;
mod message;
pub mod network;
mod server;
mod station;
pub mod system;
mod tcp;
mod tries;

pub use cluster_network::{Balancing, ClusterNetwork, Mode, Tcp};
pub use copies::{COUNTED, Copies, CopyRules};
pub use curve::{DelayCurve, Denied, Piece};
pub use demand::Demand;
pub use discipline::{Discipline, Drops};
pub use file_cache::FileCache;
pub use flows::Flows;
pub use link::{Link, Passage, Wire};
pub use loss::{Loss, LossLaw, LossModel};
pub use machine::{Files, Machine, Memory, Resource, byte_rate};
pub use server::{Server, ServerError};
pub use station::{Admission, Departure, Knowledge, Station, Ticket};
pub use system::System;
pub use tcp::{
    Carried, Connected, Connecting, Fin, Recovery, Sending, Shared, Spell, Step, TcpConnection, TcpStack, Way,
};
pub use tries::{AfterFailure, Attempt, Effort, Tries};

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
