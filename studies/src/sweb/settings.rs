//! The variants of the experiments, as their files name them.

use super::{ARRIVALS, POLICY, SMALL, Setting};

/// As near as a figure of theirs is looked for.
pub(super) const TOLERANCE: f64 = 0.15;

/// Numbers of nodes, as `nodes.toml` varies them.
pub(super) const NODES: [&str; 6] = ["1", "2", "3", "4", "5", "6"];
/// Requests per second of `non-uniform.toml`, of `burst.toml`, and of the experiments on the Ethernet.
pub(super) const CROSSING_RATES: [u32; 15] = [5, 10, 15, 20, 25, 30, 40, 60, 80, 120, 160, 200, 240, 280, 320];
pub(super) const UNIFORM_RATES: [u32; 6] = [4, 8, 12, 16, 20, 24];
pub(super) const ETHERNET_RATES: [u32; 3] = [1, 2, 4];

/// Settings of a strategy at a rate.
pub(super) fn at(policy: &str, arrivals: &str) -> [(&'static str, String); 2] {
    [(POLICY, policy.to_owned()), (ARRIVALS, arrivals.to_owned())]
}

/// Settings as they are asked for.
pub(super) fn lent<'a>(settings: &'a [(&'static str, String)]) -> Vec<Setting<'a>> {
    settings.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

/// The settings of a variant of `nodes.toml`.
pub(super) fn sized(size: &'static str, nodes: &'static str) -> Vec<Setting<'static>> {
    let all = if size == SMALL { ALL_SMALL } else { ALL_LARGE };
    vec![("workload.size", all), ("system.tier.node.targets.servers", nodes)]
}

pub(super) const ALL_SMALL: &str = "documents(n = 60, zipf = 0, size = constant(1 kB))";
pub(super) const ALL_LARGE: &str = "documents(n = 60, zipf = 0, size = constant(1.5 MB))";
