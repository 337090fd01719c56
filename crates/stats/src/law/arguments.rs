//! The arguments of one call: looked up, read, and checked, with the place named when they are wrong.

use super::LawError;
use super::expression::{Argument, Expression};
use crate::nearest;
use crate::quantity::{self, Dimension};

/// One call being read.
pub(super) struct Reader<'a, 't> {
    pub(super) call: &'a Expression<'t>,
    pub(super) dimension: Dimension,
    /// The key that stands in place of the mean, when the mean is not known yet.
    pub(super) scale_key: Option<&'a str>,
}

impl Reader<'_, '_> {
    pub(super) fn read_bound(&self, key: &str, argument: &Argument) -> Result<f64, LawError> {
        if let Some(scale_key) = self.scale_key {
            let message = format!(
                "{key} = {} cannot be kept when {scale_key} sets the scale: give a mean or rate, or a mix(1: ...) of \
                 the law with its {key}, scaled as a whole",
                argument.value
            );
            return Err(LawError(at(message, argument.column)));
        }
        match self.size(key)? {
            Some(value) => Ok(value),
            None => self.takes(key),
        }
    }

    /// The mean, from `mean`, `rate` or the key that stands in their place (then 1).
    pub(super) fn mean(&self) -> Result<Option<f64>, LawError> {
        let given: Vec<&Argument> = self
            .call
            .arguments
            .iter()
            .filter(|argument| {
                argument.key.is_some_and(|key| key == "mean" || key == "rate" || Some(key) == self.scale_key)
            })
            .collect();
        match given[..] {
            [] => Ok(None),
            [one] if one.key == self.scale_key => Ok(Some(1.0)),
            [one] if one.key == Some("rate") => {
                if self.dimension != Dimension::Time {
                    let message =
                        format!("a rate sets the mean of a time, not of {}: give a mean", self.dimension.name());
                    return Err(LawError(at(message, one.column)));
                }
                let rate = self.value("rate", one, Dimension::Rate)?;
                Ok(Some(1.0 / self.above_zero("rate", one, rate)?))
            }
            [_] => self.size("mean"),
            [first, second, ..] => {
                let (first_key, second_key) = (first.key.unwrap_or(""), second.key.unwrap_or(""));
                let message =
                    format!("{first_key} and {second_key} both set the scale of {}: give one", self.call.name);
                Err(LawError(at(message, second.column)))
            }
        }
    }

    pub(super) fn needed_mean(&self, what: &str) -> Result<f64, LawError> {
        match self.mean()? {
            Some(mean) => Ok(mean),
            None => self.takes(what),
        }
    }

    /// A quantity of the law's dimension, above 0, that sets the scale.
    pub(super) fn size(&self, key: &str) -> Result<Option<f64>, LawError> {
        let Some(argument) = self.argument(key) else { return Ok(None) };
        if let Some(scale_key) = self.scale_key.filter(|_| key != "mean") {
            let message = format!("{key} and {scale_key} both set the scale of {}: give one", self.call.name);
            return Err(LawError(at(message, argument.column)));
        }
        let value = self.value(key, argument, self.dimension)?;
        self.above_zero(key, argument, value).map(Some)
    }

    /// A quantity of the law's dimension, 0 or more, of which only the ratio to others counts when a mean is given.
    pub(super) fn relative(&self, key: &str) -> Result<Option<f64>, LawError> {
        let Some(argument) = self.argument(key) else { return Ok(None) };
        let value = self.value(key, argument, self.dimension)?;
        if value < 0.0 { self.wrong(key, "is negative") } else { Ok(Some(value)) }
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, LawError> {
        self.argument(key).map(|argument| self.value(key, argument, Dimension::Number)).transpose()
    }

    pub(super) fn positive(&self, key: &str) -> Result<Option<f64>, LawError> {
        let Some(argument) = self.argument(key) else { return Ok(None) };
        let value = self.value(key, argument, Dimension::Number)?;
        self.above_zero(key, argument, value).map(Some)
    }

    pub(super) fn count(&self, key: &str, most: f64) -> Result<Option<f64>, LawError> {
        match self.number(key)? {
            Some(value) if value < 1.0 || value.fract() != 0.0 || value > most => {
                self.wrong(key, "is not a whole number from 1 up")
            }
            value => Ok(value),
        }
    }

    /// The unit written, in SI units.
    pub(super) fn written_unit(&self) -> Result<Option<f64>, LawError> {
        let Some(argument) = self.argument("unit") else { return Ok(None) };
        quantity::unit(argument.value, self.dimension).map(Some).map_err(|_| {
            // The unit alone is named: the quantity it was tried in is ours, not the user's.
            let known = quantity::known_units(self.dimension).join(", ");
            let message =
                format!("unit = {} is not a unit of {} (known: {known})", argument.value, self.dimension.name());
            LawError(at(message, argument.column))
        })
    }

    pub(super) fn needed_unit(&self, unit: Option<f64>, why: &str) -> Result<f64, LawError> {
        match unit {
            Some(unit) => Ok(unit),
            None if self.dimension == Dimension::Number => Ok(1.0),
            None => {
                let message =
                    format!("{} needs a unit, e.g. unit = {}: {why}", self.call.name, self.dimension.si_unit());
                Err(LawError(at(message, self.call.column)))
            }
        }
    }

    pub(super) fn value(&self, key: &str, argument: &Argument, dimension: Dimension) -> Result<f64, LawError> {
        quantity::parse(argument.value, dimension).map_err(|error| {
            let (name, value) = (self.call.name, argument.value);
            // Every law that takes a mean time takes its rate as well.
            let rate = quantity::meant(value).filter(|(_, of)| (dimension, *of) == (Dimension::Time, Dimension::Rate));
            let told = match rate.filter(|_| ["value", "mean"].contains(&key)) {
                Some((rate, _)) => format!("`{value}` is a rate: write `{name}(rate = {rate})`"),
                None => format!("{key} of {name}: {error}"),
            };
            LawError(at(told, argument.value_column))
        })
    }

    pub(super) fn above_zero(&self, key: &str, argument: &Argument, value: f64) -> Result<f64, LawError> {
        if value > 0.0 {
            return Ok(value);
        }
        let hint = match key {
            "cv" | "sd" | "sigma" => "; a law without spread is constant(...)",
            _ => "",
        };
        let message = format!("{key} = {} of {} must be above 0{hint}", argument.value, self.call.name);
        Err(LawError(at(message, argument.column)))
    }

    pub(super) fn argument(&self, key: &str) -> Option<&Argument<'_>> {
        let unnamed = match (self.call.name, key) {
            ("constant", "value") | ("uniform", "low") => Some(0),
            ("uniform", "high") => Some(1),
            _ => None,
        };
        let named = self.call.arguments.iter().find(|argument| argument.key == Some(key));
        named.or_else(|| {
            let argument = self.call.arguments.get(unnamed?)?;
            (argument.key.is_none() && argument.weight.is_none()).then_some(argument)
        })
    }

    /// Every argument is one that the law takes, once.
    pub(super) fn check_names(&self, name: &str, parameters: &[&str]) -> Result<(), LawError> {
        let takes = || parameters.iter().copied().chain(["max", "cap"]).chain(self.scale_key);
        for (index, argument) in self.call.arguments.iter().enumerate() {
            let message = match argument.key {
                None if name == "mix" => continue,
                None if argument.weight.is_some() => {
                    format!("`{}:`: only a mix has weights", argument.weight.unwrap_or(""))
                }
                None if (name == "constant" && index < 1) || (name == "uniform" && index < 2) => continue,
                None => {
                    let meant = quantity::meant(argument.value);
                    let (named, value) = match &meant {
                        Some((rate, Dimension::Rate)) if parameters.contains(&"rate") => ("rate", rate.as_str()),
                        Some((mean, Dimension::Time)) if parameters.contains(&"mean") => ("mean", mean.as_str()),
                        _ => (parameters[0], "..."),
                    };
                    format!("`{}`: name the parameter of {name}, e.g. {named} = {value}", argument.value)
                }
                Some(key) if !takes().any(|known| known == key) => {
                    let meant =
                        nearest(key, takes()).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
                    let known = takes().collect::<Vec<_>>().join(", ");
                    format!("`{key}` is not a parameter of {name}{meant} (known: {known})")
                }
                Some(key) if self.call.arguments[..index].iter().any(|before| before.key == Some(key)) => {
                    format!("{key} of {name} is given twice")
                }
                Some(_) => continue,
            };
            return Err(LawError(at(message, argument.column)));
        }
        Ok(())
    }

    pub(super) fn takes<T>(&self, what: &str) -> Result<T, LawError> {
        Err(LawError(at(format!("{} takes {what}", self.call.name), self.call.column)))
    }

    pub(super) fn wrong<T>(&self, key: &str, why: &str) -> Result<T, LawError> {
        let argument = self.argument(key);
        let value = argument.map_or("", |argument| argument.value);
        let column = argument.map_or(self.call.column, |argument| argument.column);
        Err(LawError(at(format!("{key} = {value} of {} {why}", self.call.name), column)))
    }
}

/// A message with its place, which a reader of a short text needs only when it is not the beginning.
pub(super) fn at(message: impl std::fmt::Display, column: usize) -> String {
    if column > 1 { format!("{message} (column {column})") } else { message.to_string() }
}
