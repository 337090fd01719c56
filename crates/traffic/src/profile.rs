//! A rate that changes with time: a ramp, or steps.
//!
//! A profile is a multiplier m(t) of the arrival rate. A process of any law is given that rate by a change of clock: an
//! instant s of the unshaped process moves to the t at which the integral of m from 0 to t is s. For a Poisson process
//! this is the inhomogeneous Poisson process (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7), for
//! others what keeps the burstiness that their law has. Profiles are piecewise linear, so that the integral is inverted
//! in closed form; the price is that other shapes are told by steps.

use sojourn_stats::law::Expression;
use sojourn_stats::{Dimension, Span, quantity};

use crate::workload::WorkloadError;

/// A multiplier of the arrival rate over time; the last level lasts for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    text: String,
    pieces: Vec<Piece>,
}

/// A stretch on which the multiplier is linear; it ends where the next begins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    /// Where it begins (s).
    from_s: f64,
    /// The multiplier there, and what it gains per second.
    level: f64,
    slope: f64,
    /// The integral of the multiplier up to there (s).
    integral_s: f64,
}

/// How a profile is written, for messages.
const FORMS: &str = "write `ramp(from = 0.1, to = 1, over = 60 s)` or `steps(0.5, 1, 2, every = 30 s)`";

impl Profile {
    /// Reads `ramp(from = 0.1, to = 1, over = 60 s)`, the multiplier of the rate growing evenly and then staying, or
    /// `steps(0.5, 1, 2, every = 30 s)`, each level for that long and the last one for ever. A last level of 0 ends the
    /// arrivals.
    ///
    /// # Errors
    /// When it is neither, a level is negative, all are 0, or it takes no time.
    pub fn parse(text: &str) -> Result<Profile, WorkloadError> {
        let text = text.trim();
        let fault = |what: &str| WorkloadError::Invalid(format!("profile `{text}`: {what}; {FORMS}"));
        let call = Expression::parse(text)?.ok_or_else(|| fault("it is no call"))?;
        let number = |value: &str| {
            let level = quantity::parse(value, Dimension::Number).map_err(|e| fault(&e.to_string()))?;
            let sane = level >= 0.0 && level.is_finite();
            if sane { Ok(level) } else { Err(fault("a level is a number of at least 0")) }
        };
        let time = |value: &str| {
            let span_s = quantity::parse(value, Dimension::Time).map_err(|e| fault(&e.to_string()))?;
            let sane = span_s > 0.0 && span_s.is_finite();
            if sane { Ok(span_s) } else { Err(fault("it takes longer than 0 s")) }
        };
        let (mut from, mut to, mut span_s, mut levels) = (None, None, None, Vec::new());
        for argument in &call.arguments {
            match (call.name, argument.key) {
                ("ramp", Some("from")) => from = Some(number(argument.value)?),
                ("ramp", Some("to")) => to = Some(number(argument.value)?),
                ("ramp", Some("over")) | ("steps", Some("every")) => span_s = Some(time(argument.value)?),
                ("steps", None) if argument.weight.is_none() => levels.push(number(argument.value)?),
                _ => return Err(fault(&format!("`{}` is not one of its arguments", argument.value))),
            }
        }
        let span_s = span_s.ok_or_else(|| fault("how long is not said"))?;
        // Where each piece begins, its level there, and the level before the next one.
        let ends: Vec<(f64, f64, f64)> = match (call.name, from, to) {
            ("ramp", Some(from), Some(to)) => vec![(0.0, from, to), (span_s, to, to)],
            ("steps", ..) if !levels.is_empty() => {
                levels.iter().enumerate().map(|(k, level)| (k as f64 * span_s, *level, *level)).collect()
            }
            _ => return Err(fault("a level is missing")),
        };
        if ends.iter().all(|(_, level, end)| *level == 0.0 && *end == 0.0) {
            return Err(fault("every level is 0, so nobody ever comes"));
        }
        let mut integral_s = 0.0;
        let pieces = ends.into_iter().map(|(from_s, level, end)| {
            let piece = Piece { from_s, level, slope: (end - level) / span_s, integral_s };
            integral_s += (level + end) / 2.0 * span_s;
            piece
        });
        Ok(Profile { pieces: pieces.collect(), text: text.into() })
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The multiplier `at` seconds after the start.
    pub fn level(&self, at_s: f64) -> f64 {
        let piece = &self.pieces[self.pieces.partition_point(|piece| piece.from_s <= at_s).max(1) - 1];
        piece.level + piece.slope * (at_s - piece.from_s)
    }

    /// The integral of the multiplier over the first `span_s` seconds: mean requests over the rate at level 1.
    pub fn integral(&self, span_s: f64) -> f64 {
        let piece = &self.pieces[self.pieces.partition_point(|piece| piece.from_s <= span_s).max(1) - 1];
        let within_s = span_s - piece.from_s;
        piece.integral_s + (piece.level + piece.slope * within_s / 2.0) * within_s
    }

    /// The highest level.
    pub fn peak(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.level).fold(0.0, f64::max)
    }

    /// The level that lasts.
    pub fn last(&self) -> f64 {
        self.pieces[self.pieces.len() - 1].level
    }

    /// When it has reached its last level.
    pub fn span(&self) -> Span {
        Span::from_secs_f64(self.pieces[self.pieces.len() - 1].from_s)
    }

    /// When the integral is `integral_s`, which no earlier call had larger: `place` remembers where that was. None
    /// when it never gets there.
    #[inline]
    pub(crate) fn invert(&self, integral_s: f64, place: &mut usize) -> Option<f64> {
        while self.pieces.get(*place + 1).is_some_and(|next| next.integral_s <= integral_s) {
            *place += 1;
        }
        let piece = &self.pieces[*place];
        let rest_s = integral_s - piece.integral_s;
        if rest_s <= 0.0 {
            return Some(piece.from_s);
        }
        // level t + slope t^2 / 2 = rest, in the form that keeps its digits for small slopes.
        let speed = piece.level + (piece.level * piece.level + 2.0 * piece.slope * rest_s).max(0.0).sqrt();
        (speed > 0.0).then(|| piece.from_s + 2.0 * rest_s / speed)
    }
}
