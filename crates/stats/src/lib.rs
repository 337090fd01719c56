//! Statistics of simulation and measurement: laws with units, pinned random streams, and numbers with an interval.
//!
//! This crate knows nothing of the web, draws no ambient randomness and reads no clock.
//!
//! # 1. A law, written as text with units
//!
//! ```
//! use sojourn_stats::{Dimension, Law};
//!
//! let service = Law::parse("lognormal(mean = 10 ms, cv = 2)", Dimension::Time)?;
//! assert!((service.mean() - 0.010).abs() < 1e-15);
//! assert!((service.scv() - 4.0).abs() < 1e-12);
//!
//! let wrong = Law::parse("lognormal(mean = 10 MB, cv = 2)", Dimension::Time).unwrap_err();
//! assert!(wrong.to_string().contains("MB"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 2. Samples from a pinned stream
//!
//! A [`Stream`] is named by seed, entity and purpose. The same name gives the same numbers on every machine, and
//! another entity shifts none of them.
//!
//! ```
//! use sojourn_stats::{Dimension, Law, Stream};
//!
//! let service = Law::parse("exponential(mean = 10 ms)", Dimension::Time)?;
//! let draw = |entity| service.sample(&mut Stream::new(1, entity, "service"));
//! assert_eq!(draw("server 1"), draw("server 1"));
//! assert_ne!(draw("server 1"), draw("server 2"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. A number with an interval
//!
//! Independent samples and the autocorrelated series of one long run need different intervals; [`measure`] has both.
//!
//! ```
//! use sojourn_stats::{Dimension, Law, Moments, Stream, measure};
//!
//! let service = Law::parse("exponential(mean = 10 ms)", Dimension::Time)?;
//! let mut stream = Stream::new(1, "server 1", "service");
//! let mut moments = Moments::default();
//! (0..10_000).for_each(|_| moments.push(service.sample(&mut stream)));
//! let estimate = measure::mean_of_samples(&moments);
//! let (low, high) = estimate.interval().unwrap();
//! assert!(low < estimate.value().unwrap() && estimate.value().unwrap() < high);
//! assert!(high - low < 0.05 * 0.010);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Besides: fits of laws to numbers ([`fit`]) and tests of their goodness ([`goodness`]), long memory ([`hurst`], and
//! [`Fgn`] to draw it), histograms ([`Histogram`]), integer time ([`Time`], [`Span`]),
//! amounts that read and print themselves ([`Span`], [`Bytes`], [`PerSecond`], [`Bandwidth`]), files of settings and where a
//! mistake in one is ([`config`]), how files that a user names are read ([`input`]), and the numerics that these
//! share ([`root`], [`quadrature`]).

mod amount;
mod batches;
mod cache;
pub mod config;
pub mod fgn;
#[allow(clippy::disallowed_methods, reason = "it draws nothing")]
pub mod fit;
#[allow(clippy::disallowed_methods, reason = "it draws nothing")]
pub mod goodness;
pub mod histogram;
#[allow(clippy::disallowed_methods, reason = "it draws nothing")]
pub mod hurst;
pub mod input;
#[allow(clippy::disallowed_methods, reason = "it draws nothing")]
pub mod interval;
pub mod lanes;
pub mod law;
mod line;
pub mod math;
pub mod measure;
mod moments;
mod nearest;
pub mod parts;
pub mod quadrature;
pub mod quantity;
pub mod regression;
pub mod renewal;
pub mod root;
mod stream;
mod time;
pub mod vectors;
pub mod warm_up;
pub mod ziggurat;

pub use amount::{Bandwidth, Bytes, PerSecond, nanoseconds};
pub use batches::Batches;
pub use cache::prefetch;
pub use fgn::Fgn;
pub use histogram::Histogram;
pub use law::{Law, LawError};
pub use line::Line;
pub use measure::{Estimate, Measure};
pub use moments::Moments;
pub use nearest::{absent, is_slip, meant_aside, nearest, suggestion, unknown};
pub use quantity::Dimension;
pub use stream::Stream;
pub use time::{Span, Time};

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
