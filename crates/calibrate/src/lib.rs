//! Calibration: a real server measured into the server model that `theory`, `sim` and the emulated node read.
//!
//! The measurements follow Fujita (2000, chapters 2 and 3): the response of an idle server against the size of the
//! reply or the work in it, the load curve, and a mix of long and short requests. Four decisions:
//!
//! - *The demand is a saturated server's time per request*, not the reply time of an idle one. The reply time also has
//!   the path, the scheduler's wake-ups and the client's lateness in it. The time of an idle reply beyond the demand is
//!   reported apart ([`Calibration::overhead`]).
//! - *Helpers are found by order, not by time*: while n long requests are held, a short one is sent. It comes back
//!   before the first long one as long as a helper is free. A load curve hardly shows helpers.
//! - *The discipline is the one that predicts best* on an open load that is used for this choice only. A kernel shares
//!   a core in slices of some milliseconds, so requests shorter than a slice are served nearly first come, first
//!   served, for any number of processes.
//! - *A model is judged on loads that no fit has used*, and the table goes with it.
//!
//! A proxy is measured against its hit ratio ([`calibrate_proxy`]), and a path by the time that connections take
//! ([`measure_path`]). If only the delay of a server matters, its model is a curve over the users attached
//! ([`delay_curve`], Zhang 2002, chapter 4).
//!
//! The price: every figure is of the mix that was measured, and a measurement takes a minute or two, in which the
//! server must have no other load.
//!
//! # 1. Measure a server
//!
//! [`calibrate`] takes a [`Target`] that nothing else loads meanwhile, and gives a model with the text that `sojourn`
//! reads. Only private addresses are measured unless [`Settings::allowed`] says more.
//!
//! ```no_run
//! use std::sync::{Arc, atomic::AtomicBool};
//! use sojourn_calibrate::{Settings, Target, calibrate};
//!
//! let target = Target::parse("http://10.0.0.7:8080/files/{size}", &[1_000, 20_000, 200_000], None)?;
//! let cancel = Arc::new(AtomicBool::new(false));
//! let found = calibrate(&target, &Settings::default(), &|progress| eprintln!("{}", progress.stage), &cancel)?;
//! std::fs::write("server.toml", found.to_toml())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 2. A server known by its delay only
//!
//! [`delay_curve`] measures the delay at several numbers of users, and [`fit_delay_curve`] makes the model of it, also of
//! numbers that were measured elsewhere:
//!
//! ```
//! use sojourn_calibrate::fit_delay_curve;
//! use sojourn_stats::Span;
//!
//! // 5 ms, and 0.1 ms more per user; above 70 users 2 ms more per user.
//! let delay_s = |users: f64| 0.005 + 1e-4 * users.min(70.0) + 2e-3 * (users - 70.0).max(0.0);
//! let users = (1..=14).map(|tens| 10.0 * f64::from(tens));
//! let measured: Vec<(f64, f64)> = users.map(|users| (users, delay_s(users))).collect();
//! let curve = fit_delay_curve(&measured, &[], Span::ZERO)?;
//! assert_eq!(curve.pieces[0].up_to, 70, "the knee");
//! assert!((curve.stay(95).as_secs_f64() - delay_s(95.0)).abs() < 1e-6);
//! # Ok::<(), sojourn_stats::regression::RegressionError>(())
//! ```
//!
//! # 3. A path
//!
//! [`measure_path`] takes the time of TCP connections to open; [`fit_delays`] makes an Erlang law of such times:
//!
//! ```
//! use sojourn_calibrate::fit_delays;
//! use sojourn_stats::{Dimension, Law, Stream};
//!
//! let law = Law::parse("erlang(k = 4, mean = 195 ms)", Dimension::Time)?;
//! let mut stream = Stream::new(1, "path", "delays");
//! let times: Vec<f64> = (0..20_000).map(|_| law.sample(&mut stream)).collect();
//! let found = fit_delays("measured elsewhere", &times)?;
//! // 20,000 draws know 1 / cv^2 to some 1 %: k = 4 is missed with a chance far below one in a million.
//! assert_eq!(found.erlang.k, 4);
//! assert!(found.to_toml().contains("delay = \"erlang(k = 4, "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod curve;
mod demand;
mod hardware;
mod helpers;
mod idle;
mod judge;
mod keep_alive;
mod log;
mod measure;
mod model;
mod others;
mod path;
mod proxy;
mod settings;
mod target;
mod trust;
mod write;

pub use curve::{CurveFound, CurvePoint, delay_curve, fit_delay_curve};
pub use demand::Against;
pub use hardware::{Hardware, measure_hardware};
pub use helpers::{Hold, Served};
pub use judge::{Judged, PREDICTIONS, Point, Predicted, Prediction};
pub use keep_alive::{KeepAlive, keep_alive};
pub use log::{LoadBin, LogCalibration, LoggedServer, Seen, calibrate_log};
pub use measure::{Calibration, Concurrency, LevelFound, calibrate};
pub use path::{Erlang, PathDelay, fit_delays, measure_path};
pub use proxy::{Coefficients, Document, HitRatios, Kept, Proxy, ProxyFound, Ratio, calibrate_proxy};
pub use settings::{CalibrateError, Interval, Progress, Settings};
pub use target::{Axis, Target, WorkLevel};

/// The README's example, tested with those above.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
