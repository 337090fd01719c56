//! What clients do when a reply does not come, as files and flags write it: `full-jitter(25 ms, 250 ms)`, `10 %`,
//! `token-bucket(10 %, 10)`, `p95`. A mistake is one line that says what would be right.

use sojourn_stats::{Dimension, Law, Span, quantity};

use super::{Backoff, Budget, Hedge};
use crate::message::unknown;

impl Backoff {
    /// Reads `50 ms`, a law of times, or `full-jitter(25 ms, 250 ms)`.
    ///
    /// # Errors
    /// One line that says what would be right.
    pub fn parse(text: &str) -> Result<Backoff, String> {
        let text = text.trim();
        let Some(inside) = text.strip_prefix("full-jitter") else {
            return match quantity::parse(text, Dimension::Time) {
                Ok(seconds) if seconds >= 0.0 => Ok(Backoff::Law(Law::constant(seconds))),
                _ => times(text).map(Backoff::Law),
            };
        };
        let right =
            "full-jitter(25 ms, 250 ms): the longest wait before the first retry, which doubles, and before any";
        let inside = inside.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or(right)?;
        let (base, most) = inside.split_once(',').ok_or(right)?;
        let span = |text: &str| quantity::parse(text, Dimension::Time).ok().map(Span::from_secs_f64);
        match (span(base), span(most)) {
            (Some(base), Some(most)) if base > Span::ZERO && most >= base => Ok(Backoff::FullJitter { base, most }),
            _ => Err(right.into()),
        }
    }
}

impl Budget {
    /// Reads `10 %` or `0.1`, a share of the requests, or `token-bucket(10 %, 10)`.
    ///
    /// # Errors
    /// One line that says what would be right.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let right = "retries per request are above 0 and at most 1, e.g. \"10 %\", or \"token-bucket(10 %, 10)\" for a bucket \
                     that holds 10; leave it out for no limit";
        let share = |text: &str| {
            let share = quantity::parse(text, Dimension::Number).map_err(|_| right)?;
            if share > 0.0 && share <= 1.0 { Ok(share) } else { Err(right) }
        };
        let text = text.trim();
        let Some(inside) = text.strip_prefix("token-bucket") else { return Ok(share(text).map(Budget::Share)?) };
        let inside = inside.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or(right)?;
        let (per_request, most) = inside.split_once(',').ok_or(right)?;
        match most.trim().parse::<u32>() {
            Ok(most) if most > 0 => Ok(Budget::Tokens { per_request: share(per_request)?, most }),
            _ => Err(right.into()),
        }
    }
}

impl Hedge {
    /// Reads `p95`, a percentile of the response times so far, or a time such as `50 ms`.
    ///
    /// # Errors
    /// One line that says what would be right.
    pub fn parse(text: &str) -> Result<Hedge, String> {
        let text = text.trim();
        if let Some(percent) = text.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok()) {
            return match percent {
                percent if percent > 0.0 && percent < 100.0 => Ok(Hedge::Quantile(percent / 100.0)),
                _ => Err("a percentile is between 0 and 100, e.g. `p95`".into()),
            };
        }
        match quantity::parse(text, Dimension::Time) {
            Ok(seconds) if seconds >= 0.0 => Ok(Hedge::After(Span::from_secs_f64(seconds))),
            _ => Err(unknown("hedge", text, &["p95", "50 ms"])),
        }
    }

    /// How many replies must have come before the percentile is known that it goes by; 0 where it goes by a time.
    pub fn replies_needed(&self) -> u64 {
        match self {
            Hedge::After(_) => 0,
            Hedge::Quantile(p) => crate::tries::replies_needed(*p),
        }
    }
}

/// A law of times that are never negative and have a mean.
fn times(text: &str) -> Result<Law, String> {
    let law = Law::parse(text, Dimension::Time).map_err(|error| error.to_string())?;
    match () {
        () if law.limits().0 < 0.0 => Err("it cannot be negative".into()),
        () if !law.mean().is_finite() => Err("its mean is not finite: bound it, e.g. `max = 1 s`".into()),
        () => Ok(law),
    }
}
