//! Share by share: requests in flight are held fixed, and how often each server is chosen is compared.
//!
//! Server k of n holds n - k requests; each request has a path of its own. The rule's own shares are counted over many
//! more choices than the product's, so that two counts are compared: their statistic has the chi-square law with a
//! degree of freedom less than there are servers that either ever chose. The limit is what that law exceeds once in a
//! million times (normal quantile 4.753, by Wilson and Hilferty 1931).

use std::net::Ipv4Addr;

use sojourn_dispatch::{BackendId, Dispatcher, Event, Request};
use sojourn_stats::{Span, Stream, Time};

use super::backends::{Backends, Held};
use super::product::Asked;
use super::{Agreement, Case, ConformError};

/// So many choices of the rule for one of the product.
const MORE: u64 = 200;

pub(super) fn compare(
    case: &Case,
    backends: &Backends,
    asked: &mut Asked,
    twin: &mut Dispatcher,
) -> Result<Agreement, ConformError> {
    let count = case.weights.len();
    let wanted: Vec<usize> = (0..count).map(|server| count - 1 - server).collect();
    let (mut number, mut keys) = (0, Stream::new(case.seed, "conform", "keys"));
    let held = hold(&wanted, backends, asked, (&mut number, &mut keys))?;
    let mut seen = vec![0; count];
    for _ in 0..case.choices {
        number += 1;
        let opened = backends.open(asked.running.address(), Ipv4Addr::LOCALHOST, number, &key(&mut keys));
        let Some(opened) = opened else { return Err(asked.broken(number - 1)) };
        seen[opened.server] += 1;
        if !opened.end() {
            return Err(asked.broken(number));
        }
    }
    drop(held);
    for (server, wanted) in wanted.iter().enumerate() {
        for _ in 0..*wanted {
            twin.observe(Event::Inherited { backend: BackendId(server as u32) }, Time::ZERO);
        }
    }
    let mut named = vec![0; count];
    for _ in 0..MORE * case.choices as u64 {
        let request = Request { key: keys.bits(), ..Request::default() };
        if let Some(backend) = twin.choose(&request, &[], Time::ZERO).forwarded_to() {
            named[backend.0 as usize] += 1;
            twin.observe(Event::Cancelled { backend, after: Span::ZERO }, Time::ZERO);
        }
    }
    let due = named.iter().map(|named| *named as f64 / MORE as f64).collect();
    let (statistic, limit) = statistic(&seen, &named);
    Ok(Agreement::Shares { seen, due, statistic, limit })
}

/// A part of a path: rules that hash paths send each of these elsewhere.
fn key(keys: &mut Stream) -> String {
    format!("{:x}", keys.bits())
}

/// As many requests at each server as wanted: first more at each, then those too many are ended.
fn hold(
    wanted: &[usize],
    backends: &Backends,
    asked: &mut Asked,
    (number, keys): (&mut usize, &mut Stream),
) -> Result<Vec<Held>, ConformError> {
    let mut held: Vec<Vec<Held>> = wanted.iter().map(|_| Vec::new()).collect();
    let most = 200 * wanted.len();
    while held.iter().zip(wanted).any(|(held, wanted)| held.len() < *wanted) && *number < most {
        *number += 1;
        let opened = backends.open(asked.running.address(), Ipv4Addr::LOCALHOST, *number, &key(keys));
        let Some(opened) = opened else { return Err(asked.broken(*number - 1)) };
        held[opened.server].push(opened);
    }
    for (held, wanted) in held.iter_mut().zip(wanted) {
        for too_many in held.drain((*wanted).min(held.len())..) {
            if !too_many.end() {
                return Err(asked.broken(*number));
            }
        }
    }
    Ok(held.into_iter().flatten().collect())
}

/// Pearson's statistic of two counts, and its limit.
fn statistic(seen: &[u64], named: &[u64]) -> (f64, f64) {
    let [all_seen, all_named] = [seen, named].map(|counts| counts.iter().sum::<u64>() as f64);
    let used: Vec<(f64, f64)> =
        seen.iter().zip(named).map(|(a, b)| (*a as f64, *b as f64)).filter(|(a, b)| a + b > 0.0).collect();
    let part = |(a, b): &(f64, f64)| {
        let difference = (all_named / all_seen).sqrt() * a - (all_seen / all_named).sqrt() * b;
        difference * difference / (a + b)
    };
    let freedom = (used.len() as f64 - 1.0).max(1.0);
    let spread = 2.0 / (9.0 * freedom);
    (used.iter().map(part).sum(), freedom * (1.0 - spread + 4.753 * spread.sqrt()).powi(3))
}
