//! The policies, one file each.
//!
//! To add one: write `policies/my_policy.rs` with a type that implements [`Policy`] and a constant `ENTRY`, and add
//! its line to the list below. It is then known by its name to every face, to experiment files and to replay, and the
//! tests that hold for all policies hold it too. A policy of your own in another crate needs no line at all: add it to a
//! [`crate::Catalogue`], or hand it to [`crate::Dispatcher::with_policy`].

use crate::{DispatchError, Params, Policy};
pub use product::{Bundle, Evidence, Product, Version};

macro_rules! policies {
    ($($file:ident,)*) => {
        $(pub mod $file;)*
        /// Every built-in policy.
        pub static POLICIES: &[Entry] = &[$($file::ENTRY,)*];
    };
}

policies! {
    round_robin,
    random,
    least_connections,
    least_connections_lowest_id,
    probabilistic_least_connections,
    power_of_d,
    peak_ewma,
    round_trip,
    transmitted_size,
    shortest_predicted_response,
    weighted_round_robin,
    weighted_round_robin_classic,
    weighted_least_connections,
    address_hash,
    path_hash,
    lard,
    cookie,
    priority_levels,
    weighted,
    nearest,
    nearest_with_room,
    geographic,
    least_load,
    busiest_to_largest,
    free_capacity,
    remaining_capacity,
    sweb,
    file_locality,
    cpu_only,
    stay,
}

pub mod envoy;
pub mod haproxy;
mod hashed;
pub mod nginx;
mod product;

/// The products whose rules are policies.
pub static PRODUCTS: &[Product] = &[haproxy::PRODUCT, nginx::PRODUCT, envoy::PRODUCT];

/// What other systems call policies, and what they are called here.
pub(crate) const ALSO_CALLED: &[(&str, &str)] = &[
    ("first", "`haproxy(2.6, first)`"),
    ("hash", "`nginx(hash consistent)`, `haproxy(2.6, uri)` or `path-hash`"),
    ("least_time", "`peak-ewma`, the nearest that goes by response times"),
    ("random two", "`nginx(random two)` or `power-of-d`"),
    ("random two least_conn", "`nginx(random two)` or `power-of-d`"),
    ("static-rr", "`haproxy(2.6, roundrobin)` or `round-robin`"),
    ("uri", "`haproxy(2.6, uri)` or `path-hash`"),
    ("leastconn", "`haproxy(2.6, leastconn)` or `least-connections`"),
    ("least_conn", "`nginx(least_conn)` or `least-connections`"),
    ("least-conn", "`nginx(least_conn)` or `least-connections`"),
    ("least-request", "`envoy(least-request)` or `power-of-d`"),
    ("least_request", "`envoy(least-request)` or `power-of-d`"),
    ("roundrobin", "`haproxy(2.6, roundrobin)` or `round-robin`"),
    ("round_robin", "`round-robin`"),
    ("p2c", "`power-of-d`"),
    ("power-of-two", "`power-of-d`"),
    ("two-choices", "`power-of-d`"),
    ("ewma", "`peak-ewma`"),
    ("peak_ewma", "`peak-ewma`"),
    ("backup", "`priority-levels`"),
    ("jsq", "`least-connections`"),
    ("ip_hash", "`nginx(ip_hash)` or `address-hash`"),
    ("ip-hash", "`nginx(ip_hash)` or `address-hash`"),
    ("source", "`haproxy(2.6, source)` or `address-hash`"),
    ("maglev", "`envoy(maglev)` or `path-hash`"),
    ("ring-hash", "`envoy(ring-hash)` or `path-hash`"),
    ("ring_hash", "`envoy(ring-hash)` or `path-hash`"),
];

/// A built-in policy.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name in experiment files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Makes one; takes every parameter it knows from the text's.
    pub build: fn(&mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError>,
}
