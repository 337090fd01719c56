//! Marks beside the series of a chart: an engine's numbers with their intervals, and crosses on those that are not of all
//! requests.

use super::super::canvas::{Axis, Canvas, Ink, size};
use super::super::unanswered;
use crate::report::Engine;

/// A mark beside a series.
pub(in crate::report) enum Beside {
    /// The interval of an engine's number.
    Interval { series: usize, engine: Engine, at: f64, low: f64, high: f64 },
    /// An engine's number, hollow where it is not sure.
    Marker { series: usize, engine: Engine, at: f64, value: f64, hollow: bool },
    /// On an engine's number that is not of all requests: this share (1) of them has no good answer.
    Cross { series: usize, engine: Engine, at: f64, value: f64, share: f64 },
}

impl Beside {
    pub(super) fn engine(&self) -> Engine {
        match self {
            Beside::Interval { engine, .. } | Beside::Marker { engine, .. } | Beside::Cross { engine, .. } => *engine,
        }
    }

    /// Whether it is the mark of an approximate formula.
    pub(super) fn is_approximate(&self) -> bool {
        matches!(self, Beside::Marker { engine: Engine::Theory, hollow: true, .. })
    }

    /// Whether it marks a number that is not of all requests.
    pub(in crate::report::plots) fn is_cross(&self) -> bool {
        matches!(self, Beside::Cross { .. })
    }

    /// Of a cross at this place along the axis the name of its series with the share and the engine: `random 46.0 % (sim)`.
    pub(super) fn told<'a>(&self, place: f64, name: impl Fn(usize) -> &'a str) -> Option<String> {
        match self {
            Beside::Cross { series, engine, at, share, .. } if *at == place => {
                Some(format!("{} {} ({})", name(*series), unanswered::percent(*share), engine.name()))
            }
            _ => None,
        }
    }

    pub(super) fn draw(&self, canvas: &Canvas, ink: impl Fn(usize) -> Ink, (x, y): (&Axis, &Axis)) {
        match *self {
            Beside::Interval { series, engine, at, low, high } => {
                let (at, top, bottom, ink) = (x.at(at), y.at(high), y.at(low), ink(series));
                canvas.bar((at - 0.6, top), (at + 0.6, bottom), ink, 1.0);
                // As wide as its mark, which tells it from that of another engine.
                let half = size(engine) + 1.0;
                for end in [top, bottom] {
                    canvas.bar((at - half, end - 0.5), (at + half, end + 0.5), ink, 1.0);
                }
            }
            Beside::Marker { series, engine, at, value, hollow } => {
                canvas.layered(engine, ink(series), (x.at(at), y.at(value)), hollow);
            }
            Beside::Cross { at, value, .. } => unanswered::cross(canvas, (x.at(at), y.at(value))),
        }
    }
}
