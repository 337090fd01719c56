//! Requests for `/work` and `/stored`: what they say of themselves.

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use sojourn_part::{clock, headers};
use sojourn_stats::{Dimension, Span, Time, quantity};

use super::emulation::Wanted;
use super::files::percent_decoded;
use super::stored::STORED;
use super::{BYTES_MAX, DEMAND_MAX};

/// What a request for `/work` or `/stored` says of itself.
pub(super) struct Asked {
    pub(super) demand: Option<Span>,
    pub(super) rounds: Option<u64>,
    pub(super) size: u64,
    pub(super) object: Option<u32>,
    class: String,
    /// When its client gives it up.
    pub(super) deadline: Time,
}

impl Asked {
    pub(super) fn parse(request: &Request<Incoming>) -> Result<Asked, String> {
        // As the load generator asks: `/work/OBJECT`.
        let path = request.uri().path();
        let object = path.strip_prefix("/work/").or_else(|| path.strip_prefix(STORED));
        let object = object.and_then(|object| object.parse().ok());
        let mut asked =
            Asked { demand: None, rounds: None, size: 0, object, class: String::new(), deadline: Time::NEVER };
        for pair in request.uri().query().unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let whole = || value.parse::<u64>().map_err(|_| format!("{key}={value}: not a whole number"));
            match key {
                "iter" => asked.rounds = Some(whole()?),
                "bytes" => asked.size = whole()?,
                "demand" => asked.demand = Some(duration(value).map_err(|why| format!("demand: {why}"))?),
                "class" => asked.class = value.to_owned(),
                // Anything else is for the caller's own use, such as defeating a cache.
                _ => {}
            }
        }
        if let Some(value) = request.headers().get(headers::DEMAND) {
            let ns = value.to_str().ok().and_then(|ns| ns.trim().parse().ok());
            let wrong = || format!("{}: {value:?} is not a whole number of nanoseconds", headers::DEMAND.as_str());
            asked.demand = Some(Span(ns.ok_or_else(wrong)?));
        }
        if let Some(value) = request.headers().get(headers::DEADLINE) {
            let ns = value.to_str().ok().and_then(|ns| ns.trim().parse().ok());
            let wrong = || format!("{}: {value:?} is not a whole number of nanoseconds", headers::DEADLINE.as_str());
            asked.deadline = clock::of_wall(ns.ok_or_else(wrong)?);
        }
        if let Some(demand) = asked.demand.filter(|demand| *demand > DEMAND_MAX) {
            return Err(format!("a demand of {demand:.3} is too long: at most {DEMAND_MAX} are served"));
        }
        if asked.size > BYTES_MAX {
            return Err(format!("{} bytes are too many: at most {BYTES_MAX} are served", asked.size));
        }
        if let Some(Ok(class)) = request.headers().get(headers::CLASS).map(HeaderValue::to_str) {
            asked.class = class.to_owned();
        }
        Ok(asked)
    }

    /// What an emulated server is asked.
    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            demand: self.demand,
            class: &self.class,
            object: self.object,
            size: self.size,
            deadline: self.deadline,
        }
    }
}

/// `10ms`, `10 ms`, `10%20ms` or `10+ms`.
fn duration(text: &str) -> Result<Span, String> {
    let text = percent_decoded(&text.replace('+', " ")).ok_or("a broken %-escape")?;
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let spaced = format!("{} {}", text[..unit].trim(), text[unit..].trim());
    let seconds = quantity::parse(&spaced, Dimension::Time).map_err(|error| error.to_string())?;
    if seconds >= 0.0 { Ok(Span::from_secs_f64(seconds)) } else { Err(format!("{text} is negative")) }
}
