//! A law written as text that reads back as the same law.

use std::fmt;

use super::Law;
use super::kind::Kind;
use crate::Dimension;
use crate::quantity;

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(&self.kind, self.dimension))
    }
}

fn written(kind: &Kind, dimension: Dimension) -> String {
    match kind {
        Kind::Constant(value) => quantity::format(*value, dimension),
        _ => {
            let (name, parameters) = call(kind, dimension);
            format!("{name}({parameters})")
        }
    }
}

fn call(kind: &Kind, dimension: Dimension) -> (&'static str, String) {
    let quantity = |value: f64| quantity::format(value, dimension);
    match kind {
        Kind::Constant(value) => ("constant", quantity(*value)),
        Kind::Uniform { low, high } => ("uniform", format!("low = {}, high = {}", quantity(*low), quantity(*high))),
        Kind::Exponential { mean } => ("exponential", format!("mean = {}", quantity(*mean))),
        Kind::Erlang { k, mean, .. } => ("erlang", format!("k = {k}, mean = {}", quantity(*mean))),
        Kind::Gamma { shape, scale, .. } => ("gamma", format!("shape = {shape}, scale = {}", quantity(*scale))),
        Kind::Hyperexponential { mean, cv, .. } => {
            ("hyperexponential", format!("mean = {}, cv = {cv}", quantity(*mean)))
        }
        Kind::Lognormal { mu, sigma } => {
            let unit = match dimension.si_unit() {
                "" => String::new(),
                unit => format!(", unit = {unit}"),
            };
            ("lognormal", format!("mu = {mu}, sigma = {sigma}{unit}"))
        }
        Kind::Normal { mean, sd } => ("normal", format!("mean = {}, sd = {}", quantity(*mean), quantity(*sd))),
        Kind::Pareto { alpha, min } => ("pareto", format!("alpha = {alpha}, min = {}", quantity(*min))),
        Kind::BoundedPareto { alpha, min, max, .. } => {
            ("bounded-pareto", format!("alpha = {alpha}, min = {}, max = {}", quantity(*min), quantity(*max)))
        }
        Kind::Weibull { shape, scale } => ("weibull", format!("shape = {shape}, scale = {}", quantity(*scale))),
        Kind::InverseGaussian { mean, lambda } => {
            ("inverse-gaussian", format!("mean = {}, lambda = {}", quantity(*mean), quantity(*lambda)))
        }
        Kind::Zipf { n, s, scale, .. } => ("zipf", format!("n = {n}, s = {s}{}", scaled(*scale))),
        Kind::Empirical { data, scale } => {
            let unit = if data.unit.is_empty() { String::new() } else { format!(", unit = {}", data.unit) };
            ("empirical", format!("file = \"{}\"{unit}{}", data.path.display(), scaled(*scale)))
        }
        Kind::Mix(parts) => {
            let parts: Vec<String> =
                parts.iter().map(|part| format!("{}: {}", part.weight, written(&part.law, dimension))).collect();
            ("mix", parts.join(", "))
        }
        Kind::Redrawn { law, max } => {
            let (name, parameters) = call(law, dimension);
            (name, format!("{parameters}, max = {}", quantity(*max)))
        }
        Kind::Capped { law, cap } => {
            let (name, parameters) = call(law, dimension);
            (name, format!("{parameters}, cap = {}", quantity(*cap)))
        }
    }
}

fn scaled(scale: f64) -> String {
    if scale == 1.0 { String::new() } else { format!(", scale = {scale}") }
}
