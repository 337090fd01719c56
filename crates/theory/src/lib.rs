//! What should happen?
//!
//! Queueing formulas as plain functions, one module per queue ([`mm1`], [`mmc`], [`mmck`], [`mg1`], [`mg1k`], [`mg1_ps`],
//! [`gig1`], [`gi_m_c`], [`ek_m_1`], [`lps`], [`phase_lps`], [`phase_ps`], [`markovian_lps`], [`markovian_order`],
//! [`fujita`], [`las`], [`disorder`], [`busy_period`], [`priority`], [`balancing`], [`closed`], [`finite_fcfs`]), caches
//! ([`cache`]), and the places that choose among them: a queue in Kendall's notation ([`queue`]), an experiment's system
//! ([`system`]) and its network of queues ([`network`]). Nothing here simulates.
//!
//! The decision: an answer says for each number whether it is exact, names the formula and each of its assumptions, and
//! where there is no formula one line says why. The price: a good many systems get no number from this crate. The
//! alternative, a guess beside an exact value in one table, would make both worthless.
//!
//! A formula takes rates in 1/s and times in s (any one unit does, if it is the same throughout) and is infinite, not
//! wrong, where there is no steady state; only the two choosers turn that into an error.
//!
//! ```
//! use sojourn_stats::{Dimension, Law};
//! use sojourn_theory::queue::Queue;
//!
//! let gaps = Law::parse("exponential(rate = 0.8 /s)", Dimension::Time)?;
//! let service = Law::parse("lognormal(mean = 1 s, cv = 2)", Dimension::Time)?;
//! let answer = Queue::parse("M/G/1-PS")?.answer(&gaps, &service)?;
//! let response = answer.estimate("response_time_mean").and_then(|estimate| estimate.value());
//! assert!((response.unwrap() - 5.0).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
pub mod system;

pub use answer::{Answer, Unanswered};
pub use queue::{Queue, QueueError};
pub use system::{ArrivalKind, System};
