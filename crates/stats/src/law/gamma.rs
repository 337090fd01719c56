//! Drawing from gamma laws (Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 26(3), 2000).

use crate::ziggurat::{exponential, normal, open};
use crate::{Stream, math};

/// What is computed once of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gamma {
    Exponential {
        scale: f64,
    },
    Usual {
        core: Core,
        scale: f64,
    },
    /// Of shape a below 1: a number of shape a + 1 times U^(1/a).
    Small {
        core: Core,
        inverse: f64,
        scale: f64,
    },
}

/// Of shapes from 1 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Core {
    d: f64,
    c: f64,
}

impl Gamma {
    pub(super) fn new(shape: f64, scale: f64) -> Gamma {
        if shape == 1.0 {
            Gamma::Exponential { scale }
        } else if shape < 1.0 {
            Gamma::Small { core: Core::new(shape + 1.0), inverse: 1.0 / shape, scale }
        } else {
            Gamma::Usual { core: Core::new(shape), scale }
        }
    }

    pub(super) fn sample(&self, stream: &mut Stream) -> f64 {
        match *self {
            Gamma::Exponential { scale } => scale * exponential(stream),
            Gamma::Usual { core, scale } => core.sample(stream) * (core.d * scale),
            Gamma::Small { core, inverse, scale } => {
                let share = math::exp(inverse * math::ln(open(stream.bits())));
                // The scale comes last: what is before it is finite.
                (core.sample(stream) * share * core.d) * scale
            }
        }
    }
}

impl Core {
    fn new(shape: f64) -> Core {
        let d = shape - 1.0 / 3.0;
        Core { d, c: 1.0 / (9.0 * d).sqrt() }
    }

    /// Over d.
    fn sample(&self, stream: &mut Stream) -> f64 {
        loop {
            let x = normal(stream);
            let root = 1.0 + self.c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = open(stream.bits());
            let square = x * x;
            if u < 1.0 - 0.0331 * square * square || math::ln(u) < 0.5 * square + self.d * (1.0 - v + math::ln(v)) {
                return v;
            }
        }
    }
}
