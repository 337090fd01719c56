//! HAProxy's rules, by its version: `haproxy(2.6, leastconn)`.
//!
//! The first value is the version (2.4 to 3.4), the second what stands behind `balance`; `default` is what runs where
//! there is no such line. Weights are whole, from 1 to 256, and 0 for a server that is never chosen. What a rule
//! compares is what HAProxy counts at one process with one thread group.
//!
//! A server with as many requests as its `maxconn` is full: `leastconn`, `roundrobin` and `first` skip it, and with all full
//! they refuse. After `random`, `source` and `uri` one that is full is enough. A queue of those who wait then, as HAProxy has it,
//! is the face's: the simulator keeps one where it is asked for (`full = "waits"`). The versions differ so:
//!
//! | versions | what is new |
//! |---|---|
//! | 2.4 to 3.1 | `leastconn`: ties go to the server whose key changed longest ago |
//! | 3.2 on | `leastconn`: the servers of a key are in four lists, put into and sought from one drawn |
//! | 3.3 on | the default is `random`, and draws once, not twice as documented: `lbprm.arg_opt1` stays 0 |
//! | 3.4 on | `random(2)`: ties go by the request rate of the last second, which is refused here |
//!
//! Versions 3.0 to 3.2 put servers at other points of the ring until a fix of 2025-10 ("lb-chash: fix key calculation
//! when using default hash-key id"); here they stand where all others have them.

mod by_ring;
mod first;
mod leastconn;
mod lists;
mod random;
mod ring;
mod roundrobin;

use std::ops::RangeInclusive;

use super::Entry;
use super::hashed::Hashed;
use super::product::{Bundle, Evidence, Product, Version, not_modelled, unknown, version};
use crate::{DispatchError, Params, Policy};

pub(super) const PRODUCT: Product = Product {
    entry: Entry { name: "haproxy", summary: "a rule of HAProxy by version, as in `haproxy(2.6, leastconn)`", build },
    versions: VERSIONS,
    bundles: &[
        Bundle {
            text: "haproxy(2.6, leastconn)",
            summary: "smallest (in flight + 1) / weight in whole numbers, idle ones first, ties to the one longest unchanged",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "haproxy(3.2, leastconn)",
            summary: "the same keys, the servers of a key in four lists, one of which is drawn",
            evidence: Evidence::Source,
        },
        Bundle {
            text: "haproxy(2.6, random(2))",
            summary: "fewest in flight per weight of two drawn on a ring of 16 points per server and weight, unevenly",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "haproxy(2.6, random(1))",
            summary: "drawn on a ring with 16 points per server and weight; shares are uneven",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "haproxy(3.3, default)",
            summary: "what runs without a `balance` line: drawn once on the ring, not twice as documented",
            evidence: Evidence::Source,
        },
        Bundle {
            text: "haproxy(2.6, roundrobin)",
            summary: "in turn by weight, spread by positions; also the default before 3.3",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "haproxy(2.6, first)",
            summary: "the first server that is not full",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "haproxy(2.6, source)",
            summary: "by the client's address on the ring, nearest point (hash-type consistent)",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "haproxy(2.6, uri)",
            summary: "by the path on the ring, nearest point (hash-type consistent); which path goes where is not HAProxy's",
            evidence: Evidence::EqualShares,
        },
    ],
};

/// The versions whose source was read.
const VERSIONS: (Version, Version) = ((2, 4), (3, 4));
/// The newest version whose choices were compared with the product's own, one by one; the others are read from its source.
const MEASURED: Version = (2, 6);
/// From here on the servers of a key are in four lists.
const LISTS: Version = (3, 2);
/// From here on the default is one draw.
const DRAWN: Version = (3, 3);
/// From here on ties of draws go by rate.
const RATES: Version = (3, 4);
const ALGORITHMS: [&str; 7] = ["leastconn", "random", "roundrobin", "first", "source", "uri", "default"];
/// A weight in a configuration.
const WEIGHTS: RangeInclusive<f64> = 1.0..=256.0;

fn build(params: &mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError> {
    let version = version(params, "haproxy", VERSIONS, MEASURED)?;
    let text = params.word().unwrap_or_default();
    let (name, draws) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some(("random", draws)) => ("random", Some(draws.trim())),
        _ => (text, None),
    };
    match name {
        "leastconn" if version >= LISTS => Ok(Box::<lists::LeastConnOfLists>::default()),
        "leastconn" => Ok(Box::new(leastconn::LeastConn)),
        "default" if version >= DRAWN => Ok(Box::new(random::Random::new(1, None))),
        "default" | "roundrobin" => Ok(Box::<roundrobin::RoundRobin>::default()),
        "random" => random(params, version, draws),
        "first" => Ok(Box::new(first::First)),
        "source" => Ok(Box::new(Hashed::over(by_ring::ByRing::by_source(avalanche(params)?)))),
        "uri" if avalanche(params)? => Ok(Box::new(Hashed::over(by_ring::ByRing::by_uri()))),
        "uri" => Err(not_modelled(
            params,
            "`uri` without avalanche, whose hash hardly differs between paths that differ in their last letters,",
            "leave `avalanche = false` out, as `hash-type consistent` alone has it",
        )),
        _ => Err(unknown(params, text, &ALGORITHMS)),
    }
}

/// Whether a hash is hashed once more: it is, where `hash-type consistent` names no function.
fn avalanche(params: &mut Params<'_>) -> Result<bool, DispatchError> {
    Ok(params.choice("avalanche", &[("true", true), ("false", false)])?.unwrap_or(true))
}

fn random(params: &mut Params<'_>, version: Version, draws: Option<&str>) -> Result<Box<dyn Policy>, DispatchError> {
    let draws = match draws.unwrap_or("2").parse() {
        Ok(draws) if draws >= 1 => draws,
        _ => return Err(params.wrong("`random(N)`: N is a whole number of at least 1, as in `random(2)`")),
    };
    if version >= RATES && draws > 1 {
        let (major, minor) = version;
        let what = format!("that {major}.{minor} settles ties of `random({draws})` by the rate of the last second");
        return Err(not_modelled(params, &what, &format!("the nearest rule is `haproxy(3.3, random({draws}))`")));
    }
    let own = params.choice("numbers", &[("own", true), ("drawn", false)])?.unwrap_or(false);
    if own && version >= random::FROM_ENTROPY {
        return Err(params.wrong("`numbers = own`: only 2.4 to 2.6 begin at the same number each time; leave it out"));
    }
    Ok(Box::new(random::Random::new(draws, own.then_some(random::FIRST_STATE))))
}
