//! How policies that do not look at the servers split the arrivals over them.
//!
//! Drawn by chance, each server has its part of a renewal stream, thinned; in turns, every n-th arrival. Policies that read
//! weights are among them: `weighted` draws in proportion to these, and taking turns by equal weights is taking turns. Turns by
//! weights that differ leave a server gaps that depend on each other, and are no such split.

use super::{System, parameter, policy_name};
use crate::answer::brief;
use crate::law::{Gaps, Moments};

/// What a server gets.
pub(super) struct Part {
    /// Which part of the arrivals.
    pub(super) share: f64,
    /// The gaps between them; none where it gets none.
    pub(super) gaps: Option<Gaps>,
}

/// The part of each server of arrivals with these gaps; none where the policy ties the queues together.
pub(super) fn parts(system: &System, gaps: Moments) -> Option<Vec<Part>> {
    let count = system.servers.len();
    let equal = || vec![1.0; count];
    let by_weight = || if system.weights.len() == count { system.weights.to_vec() } else { equal() };
    let is_alone = system.dispatchers == 1;
    match policy_name(system) {
        _ if count == 1 => drawn(&equal(), gaps),
        "random" => drawn(&equal(), gaps),
        "weighted" if parameter(system, "by").is_none_or(|by| by == "weight") => drawn(&by_weight(), gaps),
        // Of one drawn that is the shortest.
        "power-of-d" if parameter(system, "d") == Some("1") => drawn(&equal(), gaps),
        "round-robin" if is_alone => in_turns(&equal(), gaps),
        "weighted-round-robin" | "weighted-round-robin-classic" if is_alone => in_turns(&by_weight(), gaps),
        _ => None,
    }
}

/// Each arrival by chance, in proportion to the weights.
fn drawn(weights: &[f64], gaps: Moments) -> Option<Vec<Part>> {
    let sum: f64 = weights.iter().sum();
    let part = |weight: &f64| {
        let share = weight / sum;
        let gaps = match share {
            _ if share == 1.0 => Some(Gaps::all(gaps)),
            _ if share > 0.0 => Some(Gaps::each_with_probability(gaps, share)),
            _ => None,
        };
        Part { share, gaps }
    };
    (sum > 0.0).then(|| weights.iter().map(part).collect())
}

/// In turns among those whose weight is above 0; none where these differ.
fn in_turns(weights: &[f64], gaps: Moments) -> Option<Vec<Part>> {
    let mut above = weights.iter().copied().filter(|weight| *weight > 0.0);
    let first = above.next()?;
    let turns = 1 + above.clone().count() as u32;
    let part = |weight: &f64| match *weight > 0.0 {
        true => Part { share: 1.0 / f64::from(turns), gaps: Some(Gaps::every_nth(gaps, turns)) },
        false => Part { share: 0.0, gaps: None },
    };
    above.all(|weight| weight == first).then(|| weights.iter().map(part).collect())
}

/// What the split makes of several servers, in a line; another one where a policy that reads weights has equal ones.
pub(super) fn described(system: &System, parts: &[Part]) -> Vec<String> {
    let policy = policy_name(system);
    let queues: Vec<(&Part, &Gaps)> = parts.iter().filter_map(|part| Some((part, part.gaps.as_ref()?))).collect();
    let Some((first, gaps)) = queues.first() else { return Vec::new() };
    let are_equal = queues.iter().all(|(part, _)| part.share == first.share);
    let same_gaps = queues.iter().all(|(_, of)| of.scv() == gaps.scv());
    let each = match (are_equal, same_gaps) {
        (true, _) => format!("each with gaps of C2 = {}", brief(gaps.scv())),
        (false, true) => format!("each with its weight's part of the requests, and gaps of C2 = {}", brief(gaps.scv())),
        (false, false) => "each with its weight's part of the requests, drawn".to_owned(),
    };
    let (servers, count) = (parts.len(), queues.len());
    let mut lines = vec![format!("{policy} over {servers} servers: {count} separate queues, {each}")];
    let plain = match policy {
        "weighted" if are_equal => Some("random"),
        "weighted-round-robin" | "weighted-round-robin-classic" => Some("round-robin"),
        _ => None,
    };
    lines.extend(plain.map(|plain| format!("weights: equal, and {policy} is then {plain}")));
    lines
}
