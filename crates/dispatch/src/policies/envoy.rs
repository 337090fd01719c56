//! Envoy's rules: `envoy(least-request)`.
//!
//! The value is the load-balancing policy of a cluster; a version may stand before it (1.30 to 1.40). Weights are whole
//! and at least 1, and 0 for a host that is never chosen. In flight are requests of all workers together; turns and
//! schedules are each worker's own, so that several workers are as many deciders.
//!
//! Not modelled, and refused by name: slow start, the panic threshold (where too few hosts are healthy Envoy sends to
//! those that are down, which no policy here may), priorities, localities and subsets.

mod edf;
mod least_request;
mod maglev;
mod ring_hash;
mod round_robin;

use std::ops::RangeInclusive;

use super::Entry;
use super::hashed::Hashed;
use super::product::{Bundle, Evidence, Product, Version, not_modelled, rule, unknown};
use crate::{DispatchError, Params, Policy};

pub(super) const PRODUCT: Product = Product {
    entry: Entry { name: "envoy", summary: "a rule of Envoy, as in `envoy(least-request)`", build },
    versions: VERSIONS,
    bundles: &[
        Bundle {
            text: "envoy(round-robin)",
            summary: "in turn from a drawn start; with unequal weights by earliest deadline",
            evidence: Evidence::EqualShares,
        },
        Bundle {
            text: "envoy(least-request)",
            summary: "fewest in flight of two drawn with repetition, ties to the first; unequal weights by earliest deadline",
            evidence: Evidence::EqualShares,
        },
        Bundle {
            text: "envoy(least-request, scan = full)",
            summary: "fewest in flight of all, ties drawn; with unequal weights by earliest deadline",
            evidence: Evidence::Source,
        },
        Bundle {
            text: "envoy(random)",
            summary: "each host equally likely, whatever its weight",
            evidence: Evidence::EqualShares,
        },
        Bundle {
            text: "envoy(ring-hash)",
            summary: "by the path on a ring of at least 1,024 points; which path goes where is not Envoy's",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "envoy(maglev)",
            summary: "by the path in Maglev's table of 65,537 places; which path goes where is not Envoy's",
            evidence: Evidence::EqualChoices,
        },
    ],
};

const VERSIONS: (Version, Version) = ((1, 30), (1, 40));
const METHODS: [&str; 5] = ["round-robin", "least-request", "ring-hash", "maglev", "random"];
const WEIGHTS: RangeInclusive<f64> = 1.0..=1_000_000.0;

fn build(params: &mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError> {
    let text = rule(params, "envoy", VERSIONS)?;
    for absent in ["slow_start", "panic", "priorities", "localities", "subsets"] {
        if params.text(absent).is_some() {
            return Err(not_modelled(params, &format!("`{absent}`"), "leave it out"));
        }
    }
    match text.to_ascii_lowercase().replace('_', "-").as_str() {
        "round-robin" => Ok(Box::<round_robin::RoundRobin>::default()),
        "least-request" => least_request(params),
        "random" => Ok(Box::new(super::random::Random)),
        "ring-hash" => {
            let [least, most] = [("minimum", 1024), ("maximum", 8 << 20)]
                .map(|(name, default)| whole(params, name, default, 1..=8 << 20));
            let (least, most) = (least?, most?);
            if least > most {
                return Err(params.wrong(&format!("minimum = {least} is above maximum = {most}")));
            }
            Ok(Box::new(Hashed::over(ring_hash::RingHash::new(least, most, is_hashed(params)?))))
        }
        "maglev" => {
            let size = whole(params, "table", 65_537, 2..=5_000_011)?;
            match (2..).take_while(|divisor| divisor * divisor <= size).any(|divisor| size % divisor == 0) {
                true => Err(params.wrong(&format!("table = {size}: the size of the table is a prime number"))),
                false => Ok(Box::new(Hashed::over(maglev::Maglev::new(size as usize, is_hashed(params)?)))),
            }
        }
        _ => Err(unknown(params, text, &METHODS)),
    }
}

fn least_request(params: &mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError> {
    let choices = whole(params, "choices", 2, 2..=1_000)? as u32;
    let bias = params.number("bias", 1.0, 0.0..=1e3)?;
    let is_full = params.choice("scan", &[("full", true), ("choices", false)])?.unwrap_or(false);
    Ok(Box::new(least_request::LeastRequest::new(if is_full { None } else { Some(choices) }, bias)))
}

/// Whether the key of a request is its hash.
fn is_hashed(params: &mut Params<'_>) -> Result<bool, DispatchError> {
    Ok(params.choice("key", &[("hash", true), ("path", false)])?.unwrap_or(false))
}

/// The whole number that the text gives as `name`.
fn whole(
    params: &mut Params<'_>,
    name: &'static str,
    default: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, DispatchError> {
    let Some(text) = params.text(name) else { return Ok(default) };
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        params.wrong(&format!("{name} = {text}: it is a whole number from {} to {}", range.start(), range.end()))
    })
}
