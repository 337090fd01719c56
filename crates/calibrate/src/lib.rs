//! A real server measured into a server model: what `theory`, `sim` and the emulated node read.
//!
//! The measurements follow Fujita (2000, chapters 2 and 3): the response of an idle server against the size of the reply
//! or the work in it, the load curve, and a mix of long and short requests. Four decisions:
//!
//! - *The demand is what a saturated server takes per request*, not what an idle one's reply takes: the path, the
//!   scheduler's wake-ups and the client's own lateness are in the second only. What the idle reply takes beyond the
//!   demand is reported apart ([`Calibration::overhead`]).
//! - *Helpers are found by order, not by time*: while n long requests are held, a short one is sent; it comes back before
//!   the first long one as long as there is a helper for it. A load curve hardly shows them.
//! - *The discipline is what predicts best* on an open load that serves this choice only: a kernel shares a core in slices of
//!   some milliseconds, so that requests shorter than a slice are served nearly first come, first served, however many
//!   processes there are.
//! - *A model is judged on loads it was not fitted to*, and the table goes with it.
//!
//! A proxy is measured against its hit ratio ([`calibrate_proxy`]), and a path by the time that connections take
//! ([`measure_path`]).
//! A server of which nothing is to be known but its delay is a curve over the users attached ([`delay_curve`], Zhang 2002,
//! chapter 4).
//!
//! The price: every figure is of the mix that was measured, and a measurement takes a minute or two of a server that
//! serves nobody else meanwhile.

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
