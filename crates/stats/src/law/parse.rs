//! From an expression to a law: which parameters each law takes, and what to say when they are wrong.

use std::path::PathBuf;
use std::sync::Arc;

use statrs::function::gamma::gamma as gamma_function;

use super::LawError;
use super::arguments::{Reader, at};
use super::empirical::Empirical;
use super::expression::{Argument, Expression};
use super::kind::Kind;
use crate::quantity::{self, Dimension};
use crate::{math, nearest};

/// Redrawing must keep at least this share of the draws, or sampling would crawl.
const LEAST_KEPT: f64 = 1e-3;
/// How far from 1 the weights of a mixture may sum.
const WEIGHTS_WITHIN: f64 = 1e-9;

/// Each law's name and parameters, as the error messages list them.
const LAWS: &[(&str, &[&str])] = &[
    ("constant", &["value", "mean", "rate"]),
    ("uniform", &["low", "high", "mean", "rate"]),
    ("exponential", &["mean", "rate"]),
    ("erlang", &["k", "mean", "rate"]),
    ("gamma", &["mean", "rate", "cv", "shape", "scale"]),
    ("hyperexponential", &["mean", "rate", "cv"]),
    ("lognormal", &["mean", "rate", "cv", "mu", "sigma", "unit"]),
    ("normal", &["mean", "rate", "cv", "sd"]),
    ("pareto", &["alpha", "min", "mean", "rate"]),
    ("bounded-pareto", &["alpha", "min", "max", "mean", "rate"]),
    ("weibull", &["shape", "scale", "mean", "rate"]),
    ("inverse-gaussian", &["mean", "rate", "cv", "lambda", "shape"]),
    ("zipf", &["n", "s", "mean", "scale"]),
    ("empirical", &["file", "unit", "mean", "rate", "scale"]),
    ("mix", &["mean", "rate"]),
];

/// Whether a law has this name.
pub(super) fn is_name(name: &str) -> bool {
    LAWS.iter().any(|known| known.0 == name)
}

/// Reads a law, or a bare quantity as the constant law.
pub(super) fn law(text: &str, dimension: Dimension) -> Result<Kind, LawError> {
    law_at(text, 1, dimension)
}

/// As [`law`], where `key` stands in place of the outermost `mean`: the law has the mean that `key` = 1 SI unit
/// gives. `None` when `key` is not among the outermost arguments; else also the number given for it.
pub(super) fn shape(text: &str, dimension: Dimension, key: &str) -> Result<Option<(Kind, f64)>, LawError> {
    let Some(call) = Expression::parse(text)? else { return Ok(None) };
    let Some(given) = call.arguments.iter().find(|argument| argument.key == Some(key)) else { return Ok(None) };
    let value = quantity::parse(given.value, Dimension::Number)
        .map_err(|error| LawError(format!("{key}: {error} (column {})", given.value_column)))?;
    let reader = Reader { call: &call, dimension, scale_key: Some(key) };
    Ok(Some((reader.law()?, value)))
}

fn law_at(text: &str, column: usize, dimension: Dimension) -> Result<Kind, LawError> {
    match Expression::parse_at(text, column)? {
        Some(call) => Reader { call: &call, dimension, scale_key: None }.law(),
        None => bare(text.trim(), column, dimension),
    }
}

/// `10 ms`, or a word that lacks its parentheses.
fn bare(text: &str, column: usize, dimension: Dimension) -> Result<Kind, LawError> {
    if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let value = quantity::parse(text, dimension).map_err(|error| LawError(at(error, column)))?;
        return if value < 0.0 {
            Err(LawError(at(format!("`{text}` is negative"), column)))
        } else {
            Ok(Kind::Constant(value))
        };
    }
    if let Some(meant) = exponential_of(text, dimension) {
        let message = format!("`{text}` is a parameter without its law; did you mean `{meant}`?");
        return Err(LawError(at(message, column)));
    }
    let word =
        text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '-')).next().unwrap_or(text);
    let known = known_law(word, column)?;
    Err(LawError(at(
        format!("`{text}`: write {} with its parameters ({}) in parentheses", known.0, known.1.join(", ")),
        column,
    )))
}

/// The law that a textbook means by a parameter alone: `lambda = 0.5 /s`, where a number without a unit is one of seconds.
fn exponential_of(text: &str, dimension: Dimension) -> Option<String> {
    let (key, value) = text.split_once('=')?;
    let (key, unit) = match key.trim().to_lowercase().as_str() {
        "lambda" | "mu" | "rate" => ("rate", "/s"),
        "mean" => ("mean", "s"),
        _ => return None,
    };
    let value = value.trim();
    let meant = quantity::meant(value).map(|(amount, _)| amount);
    let amounts = [Some(value.to_owned()), Some(format!("{value} {unit}")), meant];
    let mut laws = amounts.into_iter().flatten().map(|amount| format!("exponential({key} = {amount})"));
    laws.find(|law| law_at(law, 1, dimension).is_ok())
}

fn known_law(name: &str, column: usize) -> Result<&'static (&'static str, &'static [&'static str]), LawError> {
    if let Some(known) = LAWS.iter().find(|known| known.0 == name) {
        return Ok(known);
    }
    let names = || LAWS.iter().map(|known| known.0);
    let (why, meant) = match nearest(name, names()) {
        Some("exponential") if nearest(name, ["poisson"]).is_some() => {
            (": the gaps of a Poisson process are exponential", "did you mean `exponential`?".to_owned())
        }
        Some(meant) => ("", format!("did you mean `{meant}`?")),
        None => ("", format!("known: {}", names().collect::<Vec<_>>().join(", "))),
    };
    Err(LawError(at(format!("`{name}` is not a law{why}; {meant}"), column)))
}

impl Reader<'_, '_> {
    fn law(&self) -> Result<Kind, LawError> {
        let (name, parameters) = *known_law(self.call.name, self.call.column)?;
        self.check_names(name, parameters)?;
        let base = self.base(name)?;
        let redrawn = match self.argument("max").filter(|_| name != "bounded-pareto") {
            Some(argument) => self.redrawn(base, argument)?,
            None => base,
        };
        match self.argument("cap") {
            Some(argument) => {
                let cap = self.read_bound("cap", argument)?;
                Ok(Kind::Capped { law: Box::new(redrawn), cap })
            }
            None => Ok(redrawn),
        }
    }

    fn base(&self, name: &str) -> Result<Kind, LawError> {
        Ok(match name {
            "constant" => Kind::Constant(match (self.relative("value")?, self.mean()?) {
                (Some(value), None) | (None, Some(value)) => value,
                _ => return self.takes("a value, as in `constant(10 ms)`, or a mean or rate"),
            }),
            "uniform" => {
                let (Some(low), Some(high)) = (self.relative("low")?, self.relative("high")?) else {
                    return self.takes("low and high");
                };
                if low >= high {
                    return self.wrong("low", "is not below high");
                }
                self.rescaled(Kind::Uniform { low, high })?
            }
            "exponential" => Kind::Exponential { mean: self.needed_mean("mean or rate")? },
            "erlang" => {
                let k = self.count("k", f64::from(u32::MAX))?;
                let mean = self.mean()?;
                let (Some(k), Some(mean)) = (k, mean) else { return self.takes("k, and mean or rate") };
                Kind::erlang(k as u32, mean)
            }
            "gamma" => match (self.mean()?, self.positive("cv")?, self.positive("shape")?, self.size("scale")?) {
                (Some(mean), Some(cv), None, None) => Kind::gamma(1.0 / (cv * cv), mean * cv * cv),
                (None, None, Some(shape), Some(scale)) => Kind::gamma(shape, scale),
                (Some(mean), None, Some(shape), None) => Kind::gamma(shape, mean / shape),
                _ => return self.takes("mean (or rate) and cv, or shape and scale"),
            },
            "hyperexponential" => {
                let (Some(mean), Some(cv)) = (self.mean()?, self.positive("cv")?) else {
                    return self.takes("mean (or rate) and cv");
                };
                if cv < 1.0 {
                    return self.wrong("cv", "is below 1; for less spread than exponential write gamma or erlang");
                }
                Kind::hyperexponential(mean, cv)
            }
            "lognormal" => self.lognormal()?,
            "normal" => match (self.mean()?, self.positive("cv")?, self.size("sd")?) {
                (Some(mean), Some(cv), None) => Kind::Normal { mean, sd: mean * cv },
                (Some(mean), None, Some(sd)) => Kind::Normal { mean, sd },
                _ => return self.takes("mean (or rate), and cv or sd"),
            },
            "pareto" => match (self.positive("alpha")?, self.size("min")?, self.mean()?) {
                (Some(alpha), Some(min), None) => Kind::Pareto { alpha, min },
                (Some(alpha), None, Some(_)) if alpha <= 1.0 => {
                    return self
                        .wrong("alpha", "gives an infinite mean: write min instead of a mean, or alpha above 1");
                }
                (Some(alpha), None, Some(mean)) => Kind::Pareto { alpha, min: mean * (alpha - 1.0) / alpha },
                _ => return self.takes("alpha, and min or mean"),
            },
            "bounded-pareto" => {
                let bounds = (self.relative("min")?, self.relative("max")?);
                let (Some(alpha), (Some(min), Some(max))) = (self.positive("alpha")?, bounds) else {
                    return self.takes("alpha, min and max");
                };
                if min <= 0.0 || min >= max {
                    return self.wrong("min", "must be above 0 and below max");
                }
                self.rescaled(Kind::bounded_pareto(alpha, min, max))?
            }
            "weibull" => match (self.positive("shape")?, self.size("scale")?, self.mean()?) {
                (Some(shape), Some(scale), None) => Kind::Weibull { shape, scale },
                (Some(shape), None, Some(mean)) => {
                    Kind::Weibull { shape, scale: mean / gamma_function(1.0 + 1.0 / shape) }
                }
                _ => return self.takes("shape, and scale or mean"),
            },
            // Both names of its second parameter are in use: lambda, and shape.
            "inverse-gaussian" => {
                let second = if self.argument("shape").is_some() { "shape" } else { "lambda" };
                match (self.mean()?, self.positive("cv")?, self.size(second)?) {
                    (Some(mean), Some(cv), None) => Kind::InverseGaussian { mean, lambda: mean / (cv * cv) },
                    (Some(mean), None, Some(lambda)) if second == "lambda" || self.argument("lambda").is_none() => {
                        Kind::InverseGaussian { mean, lambda }
                    }
                    _ => return self.takes("mean (or rate), and cv or lambda (also called shape)"),
                }
            }
            "zipf" => {
                if self.dimension != Dimension::Number {
                    let expected = self.dimension.name();
                    return Err(LawError(at(format!("zipf is a law of ranks, not of {expected}"), self.call.column)));
                }
                let (Some(n), Some(s)) = (self.count("n", 1e15)?, self.number("s")?) else {
                    return self.takes("n and s");
                };
                if s < 0.0 {
                    return self.wrong("s", "is negative");
                }
                self.rescaled(Kind::zipf(n as u64, s, self.positive("scale")?.unwrap_or(1.0)))?
            }
            "empirical" => self.empirical()?,
            "mix" => self.mix()?,
            _ => unreachable!("every law of LAWS is built above"),
        })
    }

    fn lognormal(&self) -> Result<Kind, LawError> {
        let spread = match (self.positive("cv")?, self.positive("sigma")?) {
            (Some(cv), None) => math::ln_1p(cv * cv).sqrt(),
            (None, Some(sigma)) => sigma,
            _ => return self.takes("mean (or rate) and cv, or mu, sigma and unit"),
        };
        match (self.mean()?, self.number("mu")?, self.written_unit()?) {
            (Some(mean), None, None) => {
                Ok(Kind::Lognormal { mu: math::ln(mean) - 0.5 * spread * spread, sigma: spread })
            }
            (None, Some(mu), unit) if self.argument("sigma").is_some() => {
                let unit = self.needed_unit(unit, "mu and sigma are of the logarithm of a number in this unit")?;
                Ok(Kind::Lognormal { mu: mu + math::ln(unit), sigma: spread })
            }
            _ => self.takes("mean (or rate) and cv, or mu, sigma and unit"),
        }
    }

    fn empirical(&self) -> Result<Kind, LawError> {
        let Some(file) = self.argument("file") else { return self.takes("file and unit") };
        let unit = self.needed_unit(self.written_unit()?, "the numbers of the file are in this unit")?;
        let path = PathBuf::from(file.value.trim_matches(['"', '\'']));
        let written = self.argument("unit").map_or("", |argument| argument.value);
        let data = Empirical::read(path, written, unit).map_err(|error| LawError(at(error, file.value_column)))?;
        let scale = self.positive("scale")?.unwrap_or(1.0);
        self.rescaled(Kind::Empirical { data: Arc::new(data), scale })
    }

    fn mix(&self) -> Result<Kind, LawError> {
        let mut parts = Vec::new();
        for argument in self.call.arguments.iter().filter(|argument| argument.key.is_none()) {
            let weight =
                argument.weight.ok_or("a part of a mix has a weight, as in `0.9: exponential(mean = 10 ms)`".into());
            let weight = weight.and_then(|weight| {
                let value = quantity::parse(weight, Dimension::Number).map_err(|error| error.to_string())?;
                if value > 0.0 { Ok(value) } else { Err(format!("weight `{weight}` is not above 0")) }
            });
            let weight = weight.map_err(|message| LawError(at(message, argument.column)))?;
            parts.push((weight, law_at(argument.value, argument.value_column, self.dimension)?));
        }
        let sum: f64 = parts.iter().map(|part| part.0).sum();
        if parts.is_empty() {
            return self.takes("parts, as in `mix(0.9: exponential(mean = 1 ms), 0.1: exponential(mean = 20 ms))`");
        }
        if (sum - 1.0).abs() > WEIGHTS_WITHIN {
            return Err(LawError(at(format!("the weights of the mix sum to {sum}, not to 1"), self.call.column)));
        }
        self.rescaled(Kind::mix(parts))
    }

    /// A law that has a scale of its own, stretched to the mean where one is given too.
    fn rescaled(&self, law: Kind) -> Result<Kind, LawError> {
        let Some(mean) = self.mean()? else { return Ok(law) };
        let own = law.mean();
        if own.is_finite() && own > 0.0 {
            return Ok(law.scaled(mean / own));
        }
        let message = format!("{} has the mean {own} and cannot be scaled to another", self.call.name);
        Err(LawError(at(message, self.call.column)))
    }

    fn redrawn(&self, law: Kind, argument: &Argument) -> Result<Kind, LawError> {
        let max = self.read_bound("max", argument)?;
        let kept = law.partial(0, max);
        if kept < LEAST_KEPT {
            let message = format!(
                "max = {}: only {:.2e} of the draws are below it; redrawing would hardly end",
                argument.value, kept
            );
            return Err(LawError(at(message, argument.column)));
        }
        Ok(Kind::Redrawn { law: Box::new(law), max })
    }
}
