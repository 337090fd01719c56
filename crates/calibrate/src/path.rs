//! The delay of a path as a law: the times of TCP connections to open, and the Erlang law with their mean and
//! variation.
//!
//! Fujita (2000, section 4.1) models the backbone as a delay with an Erlang law. It is fitted by moments: k = 1 / cv^2,
//! rounded. This needs no search and fits the two numbers that matter most to a prediction. The price: a path with an
//! almost constant delay has a k in the hundreds whose value says nothing. So a law beyond a constant is tried as well,
//! and reported if it is nearer. Intervals are made from 20 batches of consecutive samples, since neighbours are
//! correlated.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sojourn_load::{Allowed, LoadError};
use sojourn_stats::{Dimension, Law, Moments, Span, goodness};

use crate::demand::interval;
use crate::model::time_text;
use crate::settings::{CalibrateError, Interval, Progress};
use crate::write::{digits, quoted, signed, three};

/// Batches for the intervals, and fewest samples of each.
const BATCHES: usize = 20;
const BATCH_MIN: usize = 2;
/// With more stages the law is almost a constant.
const STAGES_MAX: f64 = 10_000.0;
/// Connections between two checks for an interrupt.
const CHUNK: usize = 20;
/// Longest time for a connection to open.
const PATIENCE: Span = Span(5_000_000_000);

/// The findings about a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathDelay {
    /// Its other end, as it was given.
    pub to: String,
    /// Connections.
    pub samples: usize,
    /// Mean (s).
    pub mean_s: Interval,
    /// Shortest (s).
    pub min_s: f64,
    /// Standard deviation over mean.
    pub cv: f64,
    /// 1 / cv^2: the stages of an Erlang law before rounding.
    pub stages: Interval,
    /// The Erlang law of this mean and variation.
    pub erlang: Erlang,
    /// One that begins at a shift, if it is nearer to the sample.
    pub shifted: Option<Erlang>,
    /// Critical distance: samples of the law itself exceed it with a probability of at most 5 %.
    pub distance_critical: f64,
}

/// An Erlang law beyond a shift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Erlang {
    /// The least delay (s).
    pub shift_s: f64,
    /// Stages.
    pub k: u32,
    /// Mean beyond the shift (s).
    pub mean_s: f64,
    /// Kolmogorov's distance between sample and law.
    pub distance: f64,
}

/// Measures the time of each of `samples` connections to `to` (`host:port`), one after another, and fits an Erlang law.
///
/// # Errors
/// When `to` is no address or none that is allowed, there are fewer than 40 samples, or a connection is not made; or when
/// `cancel` is set.
pub fn measure_path(
    to: &str,
    samples: usize,
    allowed: Allowed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<PathDelay, CalibrateError> {
    check(samples)?;
    let target = address(to)?;
    if !allowed.allows(target.ip()) {
        return Err(LoadError::NotAllowed { target }.into());
    }
    let mut times = Vec::with_capacity(samples);
    while times.len() < samples {
        if cancel.load(Ordering::Relaxed) {
            return Err(CalibrateError::Interrupted);
        }
        progress(Progress { stage: "time to connect", share: times.len() as f64 / samples as f64 });
        let next = CHUNK.min(samples - times.len());
        let taken = sojourn_load::connect_times(target, next, PATIENCE)?;
        times.extend(taken.iter().map(|span| span.as_secs_f64()));
    }
    fit_delays(to, &times)
}

/// Fits an Erlang law to delays (s) in the order in which they were measured.
///
/// # Errors
/// When there are fewer than 40, or one is not a positive number.
pub fn fit_delays(to: &str, times: &[f64]) -> Result<PathDelay, CalibrateError> {
    check(times.len())?;
    if let Some(odd) = times.iter().find(|time| !(time.is_finite() && **time > 0.0)) {
        return Err(CalibrateError::Invalid(format!("a delay of {odd} s: it is longer than 0")));
    }
    let moments: Moments = times.iter().copied().collect();
    let (mean, min) = (moments.mean(), moments.min());
    let scv = moments.variance() / (mean * mean);
    // The contribution of each sample to variance / mean^2, to first order: its mean over batches has the error of the
    // estimate.
    let adds = |time: f64| ((time - mean) / mean).powi(2) - 2.0 * scv * (time - mean) / mean;
    let erlang = Erlang::fit(0.0, times)?;
    // Under an exponential law the shortest of n lies this far above its start.
    let shift = min - (mean - min) / (times.len() - 1) as f64;
    let shifted = match shift > 0.0 && shift < min {
        true => Some(Erlang::fit(shift, times)?).filter(|shifted| shifted.distance < erlang.distance),
        false => None,
    };
    Ok(PathDelay {
        to: to.to_owned(),
        samples: times.len(),
        mean_s: Interval::around(mean, half_width(times, |time| time)),
        min_s: min,
        cv: scv.sqrt(),
        stages: Interval::around(scv, half_width(times, adds)).under(1.0),
        erlang,
        shifted,
        distance_critical: goodness::critical_distance(times.len(), 0.05),
    })
}

impl Erlang {
    fn fit(shift_s: f64, times: &[f64]) -> Result<Erlang, CalibrateError> {
        let beyond: Vec<f64> = times.iter().map(|time| time - shift_s).collect();
        let moments: Moments = beyond.iter().copied().collect();
        let stages = (moments.mean().powi(2) / moments.variance()).round().clamp(1.0, STAGES_MAX);
        let unjudged = Erlang { shift_s, k: stages as u32, mean_s: moments.mean(), distance: 0.0 };
        let law = unjudged.law()?;
        Ok(Erlang { distance: goodness::kolmogorov(&beyond, |time| law.cdf(time)).distance, ..unjudged })
    }

    /// As laws are written, e.g. `erlang(k = 4, mean = 195 ms)`; without the shift.
    pub fn text(&self) -> String {
        format!("erlang(k = {}, mean = {})", self.k, time_text(self.mean_s))
    }

    /// The law (s) as it is written, without the shift.
    ///
    /// # Errors
    /// When the mean is not that of a law.
    pub fn law(&self) -> Result<Law, CalibrateError> {
        Law::parse(&self.text(), Dimension::Time).map_err(|error| CalibrateError::Refused(error.to_string()))
    }
}

impl PathDelay {
    /// The law as a line of TOML, and in `[measured.path]` the measurement behind it.
    pub fn to_toml(&self) -> String {
        let mut lines = vec![
            format!("# Measured to {} by `sojourn calibrate --path`: TCP connections, a round trip each.", self.to),
            format!("delay = {}", quoted(&self.erlang.text())),
            "\n[measured.path]   # intervals of 95 %: [estimate, low, high]".into(),
            format!("to = {}", quoted(&self.to)),
            format!("samples = {}", self.samples),
            format!("mean_s = {}", three(&self.mean_s)),
            format!("min_s = {}", digits(self.min_s)),
            format!("cv = {}", digits(self.cv)),
            format!("stages = {}   # 1 / cv^2", three(&self.stages)),
            format!("distance = {}   # Kolmogorov's, of the sample from the law", digits(self.erlang.distance)),
            format!("distance_critical = {}   # of 5 %", digits(self.distance_critical)),
        ];
        if let Some(shifted) = &self.shifted {
            lines.push("[measured.path.shifted]   # nearer: a constant, and the law beyond it".into());
            lines.push(format!("shift_s = {}", digits(shifted.shift_s)));
            lines.push(format!("delay = {}", quoted(&shifted.text())));
            lines.push(format!("distance = {}", digits(shifted.distance)));
        }
        lines.join("\n") + "\n"
    }

    /// The findings, in lines for a human reader.
    pub fn summary(&self) -> Vec<String> {
        let Interval { value, low, high } = self.mean_s;
        let mut lines = vec![
            format!(
                "delay: mean {} ({} to {}), cv {:.3}, shortest {}",
                time_text(value),
                signed(low),
                signed(high),
                self.cv,
                time_text(self.min_s)
            ),
            format!(
                "law: {}, distance {:.3}; a sample of the law itself stays below {:.3} in 95 % of the cases",
                self.erlang.text(),
                self.erlang.distance,
                self.distance_critical
            ),
        ];
        if let Some(shifted) = &self.shifted {
            lines.push(format!(
                "nearer: {} beyond {}, distance {:.3}",
                shifted.text(),
                time_text(shifted.shift_s),
                shifted.distance
            ));
        }
        if self.cv > 1.0 {
            lines.push("note: no Erlang law varies as much as this; k = 1 is the nearest".into());
        }
        lines
    }
}

fn check(samples: usize) -> Result<(), CalibrateError> {
    let least = BATCHES * BATCH_MIN;
    if samples < least {
        return Err(CalibrateError::Invalid(format!(
            "--samples: {samples} are too few for a law with intervals; at least {least}"
        )));
    }
    Ok(())
}

fn address(to: &str) -> Result<SocketAddr, CalibrateError> {
    let wrong = |why: &str| CalibrateError::Invalid(format!("--path {to}: {why}, e.g. 127.0.0.1:80"));
    if to.contains('/') || !to.contains(':') {
        return Err(wrong("write a host and a port"));
    }
    let mut addresses = to.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    addresses.next().ok_or_else(|| wrong("the host has no address"))
}

/// Half the width of the interval of the mean of `of`, from batches of consecutive times.
fn half_width(times: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let size = times.len() / BATCHES;
    let mean = |batch: &[f64]| batch.iter().map(|time| of(*time)).sum::<f64>() / size as f64;
    let means: Vec<f64> = times.chunks_exact(size).take(BATCHES).map(mean).collect();
    let around = interval(&means);
    around.high - around.value
}
