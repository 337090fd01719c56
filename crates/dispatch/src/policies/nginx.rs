//! nginx's rules: `nginx(least_conn)`.
//!
//! The value is what stands in the `upstream` block, `round-robin` where nothing does; a version may stand before it
//! (1.22 to 1.31, between which no rule changed). Weights are whole and at least 1, and 0 for a server that is never
//! chosen.
//!
//! A server with as many requests as its `max_conns` is passed over. Without a `zone` each worker process counts for
//! itself: that is as many deciders (`dispatchers = 4`); with one they share their counts, as one decider does. What is
//! not modelled: `max_fails` (here a server that fails is down, as health checks say), and idle connections kept to
//! servers.

mod hash_consistent;
mod ip_hash;
mod least_conn;
mod random;
mod smooth;

use std::ops::RangeInclusive;

use super::Entry;
use super::hashed::Hashed;
use super::product::{Bundle, Evidence, Product, Version, not_modelled, rule, unknown};
use crate::{DispatchError, Params, Policy};

pub(super) const PRODUCT: Product = Product {
    entry: Entry { name: "nginx", summary: "a rule of nginx, as in `nginx(least_conn)`", build },
    versions: VERSIONS,
    bundles: &[
        Bundle {
            text: "nginx(round-robin)",
            summary: "in turn by weight, spread smoothly",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "nginx(least_conn)",
            summary: "fewest in flight per weight, ties by smooth weighted turns among the tied alone",
            evidence: Evidence::EqualChoices,
        },
        Bundle { text: "nginx(random)", summary: "drawn in proportion to weights", evidence: Evidence::EqualShares },
        Bundle {
            text: "nginx(random two)",
            summary: "fewest in flight per weight of two different servers drawn by weight, ties to the second",
            evidence: Evidence::EqualShares,
        },
        Bundle {
            text: "nginx(ip_hash)",
            summary: "by the first three numbers of the client's address: a whole /24 goes to one server",
            evidence: Evidence::EqualChoices,
        },
        Bundle {
            text: "nginx(hash consistent)",
            summary: "by the path on a ring with 160 points per server and weight; which path goes where is not nginx's",
            evidence: Evidence::EqualShares,
        },
    ],
};

const VERSIONS: (Version, Version) = ((1, 22), (1, 31));
const METHODS: [&str; 6] = ["round-robin", "least_conn", "random", "random two", "ip_hash", "hash consistent"];
const WEIGHTS: RangeInclusive<f64> = 1.0..=65_535.0;
/// After more misses than these, turns decide.
const MISSES: u32 = 20;

fn build(params: &mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError> {
    let text = rule(params, "nginx", VERSIONS)?;
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["round-robin"] => Ok(Box::<smooth::RoundRobin>::default()),
        ["least_conn"] => Ok(Box::<least_conn::LeastConn>::default()),
        ["random"] => Ok(Box::new(random::Random::new(1))),
        ["random", "two"] | ["random", "two", "least_conn"] => Ok(Box::new(random::Random::new(2))),
        ["ip_hash"] => Ok(Box::<Hashed<ip_hash::IpHash>>::default()),
        ["hash", "consistent"] => Ok(Box::<Hashed<hash_consistent::HashConsistent>>::default()),
        ["least_time", ..] | ["random", "two", ..] if text.contains("least_time") => {
            Err(not_modelled(params, &format!("`{text}`"), "the nearest policy by response times is `peak-ewma`"))
        }
        ["hash", ..] => {
            let nearest = "`nginx(hash consistent)` is, and `path-hash` spreads paths evenly";
            Err(not_modelled(params, &format!("`{text}`"), nearest))
        }
        _ => Err(unknown(params, text, &METHODS)),
    }
}
