//! Queueing theory: what should happen in a queue, a system of servers, a network of queues and a cache.
//!
//! An answer says for each number whether it is exact, names the formula and each of its assumptions, and where there
//! is no formula one line says why. The price: many systems get no number from this crate. The alternative, a guess
//! beside an exact value in one table, would make both worthless. Nothing here simulates.
//!
//! # 1. A queue in one line
//!
//! [`Queue`] reads Kendall's notation; the laws are given beside it, with units. A law that is not what its letter says
//! is an error, so that no formula is used where it does not hold.
//!
//! ```
//! use sojourn_stats::{Dimension, Law};
//! use sojourn_theory::Queue;
//!
//! let gaps = Law::parse("exponential(rate = 0.8 /s)", Dimension::Time)?;
//! let service = Law::parse("lognormal(mean = 1 s, cv = 2)", Dimension::Time)?;
//! let answer = Queue::parse("M/G/1-PS")?.answer(&gaps, &service)?;
//! assert!((answer.value("response_time_mean").unwrap() - 5.0).abs() < 1e-9);
//! assert!(answer.notes.contains(&"formula: M/G/1-PS, exact for any service law".to_string()));
//!
//! let refused = Queue::parse("M/M/1")?.answer(&gaps, &service).unwrap_err();
//! assert!(refused.to_string().starts_with("service of `M/M/1`: M is the exponential law, but this law is not"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 2. A system: a policy before several servers
//!
//! [`System`] describes arrivals, a dispatching policy and its servers (of [`sojourn_model`]). Here round robin makes
//! the gaps at each of four servers more regular than random dispatch does, and the response time shorter:
//!
//! ```
//! use sojourn_model::Server;
//! use sojourn_stats::{Dimension, Law};
//! use sojourn_theory::{ArrivalKind, System, system};
//!
//! let gaps = Law::parse("exponential(rate = 3 /s)", Dimension::Time)?;
//! let demand = Law::parse("exponential(mean = 1 s)", Dimension::Time)?;
//! let servers = vec![Server::from_toml("discipline = \"ps\"\ncores = 1\ndemand = \"exponential(mean = 1 s)\"")?; 4];
//! let random = System { policy: Some("random"), ..System::new(ArrivalKind::Open { gaps: &gaps }, &servers, &demand) };
//! let in_turn = System { policy: Some("round-robin"), ..random };
//!
//! let random = system::answer(&random)?.value("response_time_mean").unwrap();
//! let in_turn = system::answer(&in_turn)?.value("response_time_mean").unwrap();
//! assert!((random - 4.0).abs() < 1e-9);
//! assert!(in_turn < 0.7 * random);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. A network of queues
//!
//! A [`Network`](sojourn_model::network::Network) has stations and chains of jobs that visit them; [`network::answer`]
//! takes the method that fits (mean value analysis, convolution, an approximation) and says which one it was. Twenty
//! users share a processor and two disks (Jain, The Art of Computer Systems Performance Analysis, 1991, example 34.2):
//!
//! ```
//! use sojourn_model::network::Network;
//!
//! let network = Network::from_toml(r#"
//! [[station]]
//! name = "cpu"
//! discipline = "ps"
//! [[station]]
//! name = "a"
//! discipline = "fcfs"
//! [[station]]
//! name = "b"
//! discipline = "fcfs"
//! [[chain]]
//! name = "users"
//! users = 20
//! think = "4 s"
//! steps = [
//!   { station = "cpu", demand = "125 ms", visits = 16 },
//!   { station = "a", demand = "exponential(mean = 300 ms)", visits = 10 },
//!   { station = "b", demand = "exponential(mean = 200 ms)", visits = 5 },
//! ]
//! "#)?;
//! let answer = sojourn_theory::network::answer(&network)?;
//! assert!((answer.value("throughput").unwrap() - 0.333247).abs() < 1e-6);
//! assert!(answer.notes.iter().any(|note| note == "bottleneck: `a`, 100.0 % used"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Formulas as functions
//!
//! The formulas behind the answers are plain functions and small structs: single queues in [`formula`], caches in
//! [`cache`], product-form networks as numbers in [`network::mva`] and [`network::convolution`]. A formula takes rates
//! in 1/s and times in s (any one unit does, if it is the same throughout) and is infinite, not wrong, where there is
//! no steady state; only [`queue`], [`system`] and [`network`] turn that into an error.
//!
//! ```
//! use sojourn_theory::formula::markovian::mmc;
//!
//! // Erlang's table: 10 servers, 7 offered, 22 % wait.
//! assert!((mmc::erlang_c(7.0, 10) - 0.2217).abs() < 1e-4);
//! ```

pub mod answer;
pub mod cache;
pub mod formula;
mod kendall;
pub mod law;
pub mod network;
mod numeric;
pub mod queue;
mod station;
pub mod storm;
pub mod system;

pub use answer::{Answer, Unanswered};
pub use queue::{Queue, QueueError};
pub use system::{ArrivalKind, System};

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
