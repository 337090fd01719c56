//! What sets the scale of arrivals, and laws that are named without one: `marginal = lognormal` beside `rate = 10 /s`.

use sojourn_stats::law::{Argument, Expression};
use sojourn_stats::{Dimension, Law, quantity};

/// A law and, where its scale is a utilisation and its mean therefore 1, that utilisation.
pub(super) type Scaled = (Law, Option<f64>);

/// How fast requests come, as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// The mean gap between requests (s).
    Mean(f64),
    /// The part of the system's capacity that is asked for.
    Utilization(f64),
}

impl Scale {
    /// Reads `mean = 94.7 ms`, `rate = 10 /s` or `utilization = 0.8`; none of another key.
    pub(crate) fn read(argument: &Argument<'_>) -> Result<Option<Scale>, String> {
        let read = |dimension| {
            let value = quantity::parse(argument.value, dimension).map_err(|e| e.to_string())?;
            let is_sane = value > 0.0 && value.is_finite();
            if is_sane { Ok(value) } else { Err(format!("`{}` is not above 0", argument.value)) }
        };
        Ok(match argument.key {
            Some("mean") => Some(Scale::Mean(read(Dimension::Time)?)),
            Some("rate") => Some(Scale::Mean(1.0 / read(Dimension::Rate)?)),
            Some("utilization") => Some(Scale::Utilization(read(Dimension::Number)?)),
            _ => None,
        })
    }

    /// Takes in one that was read; there is to be one only.
    pub(crate) fn once(kept: &mut Option<Scale>, read: Scale) -> Result<(), String> {
        match kept.replace(read) {
            None => Ok(()),
            Some(_) => Err("mean, rate and utilization all set the rate: give one".into()),
        }
    }
}

/// The laws that take a `cv` of their own.
pub(crate) const WITH_CV: [&str; 5] = ["gamma", "hyperexponential", "inverse-gaussian", "lognormal", "normal"];

/// The name of the law that `text` writes, with parameters or without.
pub(crate) fn name(text: &str) -> &str {
    text.split('(').next().unwrap_or(text).trim()
}

/// The law of times that `text` writes, a bare name or a call, with this `cv` where one is given and the law takes it. With
/// `unscaled`, it is written without its scale, and given at mean 1 s.
pub(crate) fn law(text: &str, cv: Option<&str>, unscaled: bool) -> Result<Law, String> {
    let call = Expression::parse(text).map_err(|e| e.to_string())?;
    let name = name(text);
    let arguments = call.as_ref().map_or(&[][..], |call| &call.arguments[..]);
    let written = |keys: &[&str]| arguments.iter().find(|argument| argument.key.is_some_and(|key| keys.contains(&key)));
    let mut parts: Vec<String> = match &call {
        Some(_) => {
            let inside = &text[text.find('(').expect("a call has a parenthesis") + 1..text.trim_end().len() - 1];
            Some(inside.trim().to_string()).filter(|inside| !inside.is_empty()).into_iter().collect()
        }
        None => Vec::new(),
    };
    if unscaled {
        if let Some(argument) = written(&["mean", "rate"]) {
            let key = argument.key.unwrap_or_default();
            return Err(format!("`{text}` has a {key} of its own, and another is given: leave one out"));
        }
        if let Some(argument) = written(&["max", "cap"]).filter(|_| name != "bounded-pareto") {
            let (key, value) = (argument.key.unwrap_or_default(), argument.value);
            return Err(format!(
                "{key} = {value} moves the mean of {name}: give its mean inside, as in `{name}(mean = ..., {key} = \
                 {value})`, and no other"
            ));
        }
        parts.push("mean = 1 s".into());
    }
    if let Some(cv) = cv.filter(|_| WITH_CV.contains(&name)) {
        parts.push(format!("cv = {cv}"));
    }
    let composed =
        if parts.is_empty() && call.is_none() { text.trim().into() } else { format!("{name}({})", parts.join(", ")) };
    // Where in the text it is wrong means nothing to those who wrote another one.
    let law = Law::parse(&composed, Dimension::Time)
        .map_err(|e| e.to_string().split(" (column").next().unwrap_or_default().to_string())?;
    match law.rescaled_to_mean(1.0) {
        Some(law) if unscaled => Ok(law),
        None if unscaled => Err(format!("{law} has no finite mean that could be set")),
        _ => Ok(law),
    }
}
