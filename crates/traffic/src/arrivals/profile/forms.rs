//! The ways to write a profile.

use std::path::Path;

use sojourn_stats::law::{Argument, Expression};
use sojourn_stats::{Dimension, meant_aside, nearest, quantity};

use super::{Corner, Profile};
use crate::error::WorkloadError;
use crate::recorded::log::Log;

const DAY_S: f64 = 86_400.0;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Each form, and an example of it.
const FORMS: [(&str, &str); 6] = [
    ("ramp", "ramp(from = 0.1, to = 1, over = 60 s)"),
    ("steps", "steps(0.5, 1, 2, every = 30 s)"),
    ("piecewise", "piecewise(0 s: 0.5, 30 s: 2, 60 s: 1)"),
    ("daily", "daily(0 h: 0.3, 9 h: 1.5, 18 h: 1)"),
    ("weekly", "weekly(sat: 0.4, sun: 0.3, day = daily(0 h: 0.3, 9 h: 1.5, 18 h: 1))"),
    ("log", "log(from = \"access.log\", every = 10 min)"),
];

/// What one form says: its pieces, and after what they begin again (s).
type Shape = (Vec<Corner>, Option<f64>);

pub(super) fn parse(text: &str, dir: &Path) -> Result<Profile, WorkloadError> {
    let call = Expression::parse(text)?;
    let form = call.as_ref().and_then(|call| FORMS.iter().find(|form| form.0 == call.name));
    let (Some(call), Some((_, example))) = (&call, form) else {
        let name = call.as_ref().map_or(text, |call| call.name);
        let meant =
            nearest(name, FORMS.map(|form| form.0)).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
        let known = FORMS.map(|form| format!("`{}`", form.1)).join(", ");
        return Err(WorkloadError::Invalid(format!("profile `{text}` is none that is known{meant} (write {known})")));
    };
    let fault = |what: String| WorkloadError::Invalid(format!("profile `{text}`: {what}; write e.g. `{example}`"));
    let (corners, span_s) = match call.name {
        "log" => return of_log(text, &call.arguments, dir, fault),
        "ramp" => ramp(&call.arguments),
        "steps" => steps(&call.arguments),
        "piecewise" => piecewise(&call.arguments),
        "daily" => daily(&call.arguments),
        _ => weekly(&call.arguments),
    }
    .map_err(fault)?;
    if corners.iter().all(|(_, level, end)| *level == 0.0 && *end == 0.0) {
        return Err(fault("every level is 0, so no request ever comes".into()));
    }
    Ok(Profile::of(text, &corners, span_s))
}

fn ramp(arguments: &[Argument<'_>]) -> Result<Shape, String> {
    let (mut from, mut to, mut over) = (None, None, None);
    for argument in arguments {
        match argument.key {
            Some("from") => from = Some(level(argument.value)?),
            Some("to") => to = Some(level(argument.value)?),
            Some("over") => over = Some(time(argument.value)?),
            _ => return Err(argument.foreign(&["from", "to", "over"])),
        }
    }
    let over_s = over.ok_or("how long is not said")?;
    let (Some(from), Some(to)) = (from, to) else { return Err("a level is missing".into()) };
    Ok((vec![(0.0, from, to), (over_s, to, to)], None))
}

fn steps(arguments: &[Argument<'_>]) -> Result<Shape, String> {
    let (mut levels, mut every) = (Vec::new(), None);
    for argument in arguments {
        match argument.key {
            Some("every") => every = Some(time(argument.value)?),
            None if argument.weight.is_none() => levels.push(level(argument.value)?),
            _ => return Err(foreign(argument)),
        }
    }
    let every_s = every.ok_or("how long is not said")?;
    if levels.is_empty() {
        return Err("a level is missing".into());
    }
    Ok((levels.iter().enumerate().map(|(k, level)| (k as f64 * every_s, *level, *level)).collect(), None))
}

fn piecewise(arguments: &[Argument<'_>]) -> Result<Shape, String> {
    let mut points = Vec::new();
    for argument in arguments {
        points.push(point(argument)?);
    }
    let (Some(&(first_s, first)), Some(&(last_s, last))) = (points.first(), points.last()) else {
        return Err("a point is missing".into());
    };
    let mut corners = if first_s > 0.0 { vec![(0.0, first, first)] } else { Vec::new() };
    corners.extend(lines(&points)?);
    corners.push((last_s, last, last));
    Ok((corners, None))
}

fn daily(arguments: &[Argument<'_>]) -> Result<Shape, String> {
    let (mut points, mut over_s) = (Vec::new(), DAY_S);
    for argument in arguments {
        match argument.key {
            Some("over") => over_s = time(argument.value)?,
            _ => points.push(point(argument)?),
        }
    }
    Ok((sped_up(day(&points)?, over_s / DAY_S), Some(over_s)))
}

fn weekly(arguments: &[Argument<'_>]) -> Result<Shape, String> {
    let (mut levels, mut over_s, mut hours) = ([1.0; 7], 7.0 * DAY_S, vec![(0.0, 1.0, 1.0)]);
    let mut given = [false; 7];
    for argument in arguments {
        match (argument.key, argument.weight) {
            (Some("over"), _) => over_s = time(argument.value)?,
            (Some("day"), _) => {
                let call = Expression::parse(argument.value).map_err(|e| e.to_string())?;
                let call = call.filter(|call| call.name == "daily").ok_or("day is a `daily(...)`")?;
                let points = call.arguments.iter().map(point).collect::<Result<Vec<_>, _>>()?;
                hours = day(&points)?;
            }
            (None, Some(name)) => {
                let Some(number) = DAYS.iter().position(|day| *day == name) else {
                    return Err(format!("`{name}` is none of {}{}", DAYS.join(", "), meant_aside(name, DAYS)));
                };
                if std::mem::replace(&mut given[number], true) {
                    return Err(format!("{name} is given twice"));
                }
                levels[number] = level(argument.value)?;
            }
            _ => return Err(foreign(argument)),
        }
    }
    let of_day = |(number, by): (usize, f64)| {
        let hours =
            hours.iter().map(move |(from_s, level, end)| (number as f64 * DAY_S + from_s, by * level, by * end));
        hours.collect::<Vec<_>>()
    };
    let corners = levels.into_iter().enumerate().flat_map(of_day).collect();
    Ok((sped_up(corners, over_s / (7.0 * DAY_S)), Some(over_s)))
}

fn of_log(
    text: &str,
    arguments: &[Argument<'_>],
    dir: &Path,
    fault: impl Fn(String) -> WorkloadError,
) -> Result<Profile, WorkloadError> {
    let (mut from, mut every, mut over) = (None, None, None);
    for argument in arguments {
        match argument.key {
            Some("from") => from = Some(argument.value.trim_matches(['"', '\''])),
            Some("every") => every = Some(time(argument.value).map_err(&fault)?),
            Some("over") => over = Some(time(argument.value).map_err(&fault)?),
            _ => return Err(fault(argument.foreign(&["from", "every", "over"]))),
        }
    }
    let (Some(from), Some(every_s)) = (from, every) else {
        return Err(fault("the log (from) and the interval to count in (every) are both needed".into()));
    };
    let log = Log::read(&dir.join(from))?;
    // Of its first and its last second a log may have a part.
    let (start_us, end_us) = log.covered();
    let whole_s = (end_us - start_us) as f64 / 1e6;
    if every_s < 1.0 || every_s > whole_s {
        return Err(fault(format!(
            "every is from 1 s, as exact as most logs are, to the {whole_s} s that this one lasts"
        )));
    }
    let mut counts = vec![0u64; (whole_s / every_s).ceil() as usize];
    for entry in log.entries().iter().filter(|entry| (start_us..end_us).contains(&entry.time_us)) {
        counts[((entry.time_us - start_us) as f64 / 1e6 / every_s) as usize] += 1;
    }
    let mean = counts.iter().sum::<u64>() as f64 / whole_s;
    let corners = counts.iter().enumerate().map(|(k, count)| {
        let from_s = k as f64 * every_s;
        // The last interval may be a part of one.
        let level = *count as f64 / (whole_s - from_s).min(every_s) / mean;
        (from_s, level, level)
    });
    let over_s = over.unwrap_or(whole_s);
    Ok(Profile::of(text, &sped_up(corners.collect(), over_s / whole_s), Some(over_s)))
}

/// The pieces of a day, from midnight to midnight: straight lines between the points, past midnight too.
fn day(points: &[(f64, f64)]) -> Result<Vec<Corner>, String> {
    let (Some(&(first_s, first)), Some(&(last_s, last))) = (points.first(), points.last()) else {
        return Err("a time of day with its level is missing".into());
    };
    if last_s >= DAY_S {
        return Err("a day has times from 0 h to below 24 h".into());
    }
    let night_s = DAY_S - last_s + first_s;
    let midnight = last + (first - last) * (DAY_S - last_s) / night_s;
    let mut corners = if first_s > 0.0 { vec![(0.0, midnight, first)] } else { Vec::new() };
    corners.extend(lines(points)?);
    corners.push((last_s, last, if first_s > 0.0 { midnight } else { first }));
    Ok(corners)
}

/// The lines between points in order of time; two at the same instant are a jump.
fn lines(points: &[(f64, f64)]) -> Result<Vec<Corner>, String> {
    let mut corners = Vec::new();
    for pair in points.windows(2) {
        let ((from_s, level), (to_s, end)) = (pair[0], pair[1]);
        if to_s < from_s {
            return Err("its points are not in order of time".into());
        }
        if to_s > from_s {
            corners.push((from_s, level, end));
        }
    }
    Ok(corners)
}

fn sped_up(corners: Vec<Corner>, factor: f64) -> Vec<Corner> {
    corners.into_iter().map(|(from_s, level, end)| (from_s * factor, level, end)).collect()
}

/// `9 h: 1.5`.
fn point(argument: &Argument<'_>) -> Result<(f64, f64), String> {
    let at = argument.weight.ok_or_else(|| foreign(argument))?;
    let at_s = quantity::parse(at, Dimension::Time).map_err(|e| e.to_string())?;
    Ok((at_s, level(argument.value)?))
}

fn level(value: &str) -> Result<f64, String> {
    let level = quantity::parse(value, Dimension::Number).map_err(|e| e.to_string())?;
    let is_sane = level >= 0.0 && level.is_finite();
    if is_sane { Ok(level) } else { Err("a level is a number of at least 0".into()) }
}

fn time(value: &str) -> Result<f64, String> {
    let span_s = quantity::parse(value, Dimension::Time).map_err(|e| e.to_string())?;
    let is_sane = span_s > 0.0 && span_s.is_finite();
    if is_sane { Ok(span_s) } else { Err("it takes longer than 0 s".into()) }
}

fn foreign(argument: &Argument<'_>) -> String {
    format!("`{}` is not one of its arguments", argument.value)
}
