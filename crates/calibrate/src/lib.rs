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

mod client;
mod curve;
mod demand;
mod helpers;
mod idle;
mod judge;
mod keep_alive;
mod measure;
mod model;
mod path;
mod proxy;
mod settings;
mod target;
mod write;

pub use curve::{Attached, CurveFound, delay_curve, fit_delay_curve};
pub use demand::Against;
pub use helpers::{Hold, Served};
pub use judge::{Judged, PREDICTIONS, Point, Predicted, Prediction};
pub use keep_alive::{KeepAlive, keep_alive};
pub use measure::{Calibration, Concurrency, LevelFound, calibrate};
pub use path::{Erlang, PathDelay, fit_delays, measure_path};
pub use proxy::{Coefficients, Document, HitRatios, Kept, Proxy, ProxyFound, Ratio, calibrate_proxy};
pub use settings::{CalibrateError, Interval, Progress, Settings};
pub use target::{Axis, Level, Target};
