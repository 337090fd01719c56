//! The mean response time under policies that look at the servers, where it is known.
//!
//! Two laws of [`balancing`] are about what a dispatcher does: `least-connections` over two servers is join the
//! shortest queue (as is `power-of-d` that draws both), and `power-of-d` over a hundred servers or more is near its limit of
//! very many. Both take Poisson arrivals, exponential work, equal servers of one core and one dispatcher that knows every
//! count as it is. Then no job's remaining work is known, and how a server orders its jobs does not change how many there
//! are. What is missing is named.

use super::{System, policy_name, station};
use crate::answer::{Value, brief};
use crate::formula::balancing;
use crate::law::Moments;
use crate::station::Station;

/// From so many servers on, power of d choices is taken to be at its limit.
const MANY: usize = 100;
/// Up to this utilisation it is: 9 % low there with [`MANY`] servers (Mitzenmacher 2001).
const BUSIEST: f64 = 0.99;

/// The mean response time at the servers, and where it is from.
pub(super) struct Known {
    pub(super) response_mean: Value,
    pub(super) formula: String,
}

/// What is known of arrivals with these gaps under the policy of `system`.
///
/// # Errors
/// Why nothing is, in words that may follow "no formula for the policy over so many servers"; empty where nothing is to
/// be said.
pub(super) fn known(system: &System, gaps: Moments) -> Result<Known, String> {
    let first = station(system, &system.servers[0]);
    let count = system.servers.len();
    let utilisation = first.service.mean_s / (gaps.mean_s * count as f64);
    let choices = choices(system.policy.unwrap_or_default());
    match policy_name(system) {
        // Of as many as there are, ties go to the one drawn first: that is any of them.
        "power-of-d" if choices as usize >= count => shortest(system, &first, gaps, utilisation),
        "least-connections" => shortest(system, &first, gaps, utilisation),
        "power-of-d" => {
            let of = "power of d choices";
            if count < MANY {
                return Err(format!(" ({of} is solved for very many, {MANY} and more)"));
            }
            assumptions(system, &first, gaps).map_err(|missing| format!(" ({of} is solved for {missing})"))?;
            if utilisation > BUSIEST {
                return Err(format!(" ({of} is near its limit up to a utilisation of {BUSIEST})"));
            }
            let mean_s = balancing::power_of_d(choices, utilisation) * first.service.mean_s;
            let formula = format!(
                "{of} (d = {choices}) in the limit of very many servers, low by 1.2 % with 100 servers at a utilisation of 0.9, \
                 by 9 % at 0.99 (here {})",
                brief(utilisation)
            );
            Ok(Known { response_mean: Value::approximate(mean_s), formula })
        }
        "round-robin" if system.dispatchers > 1 => {
            Err(format!(" by {} dispatchers that take turns each for itself", system.dispatchers))
        }
        _ => Err(String::new()),
    }
}

/// Of two servers the one with fewer jobs is joined.
fn shortest(system: &System, first: &Station, gaps: Moments, utilisation: f64) -> Result<Known, String> {
    let of = "join the shortest queue";
    if system.servers.len() != 2 {
        return Err(format!(" ({of} is solved for two)"));
    }
    assumptions(system, first, gaps).map_err(|missing| format!(" ({of} is solved for {missing})"))?;
    let in_services = balancing::join_shortest_queue(utilisation)
        .ok_or_else(|| format!(" ({of} is solved up to a utilisation of {BUSIEST})"))?;
    let response_mean = Value::exact(in_services * first.service.mean_s);
    Ok(Known { response_mean, formula: "two queues, the shorter one joined, exact".into() })
}

/// The first assumption that does not hold, as what is assumed.
fn assumptions(system: &System, first: &Station, gaps: Moments) -> Result<(), &'static str> {
    let is_equal = system.servers.iter().all(|server| station(system, server) == *first);
    let held = [
        (gaps.is_exponential(), "Poisson arrivals"),
        (first.service.is_exponential(), "exponential work"),
        (is_equal, "equal servers"),
        (first.cores == 1, "servers of one core"),
        (first.capacity.is_none(), "servers with unlimited room"),
        (system.has_immediate_information, "counts that are up to date"),
        (system.dispatchers == 1, "one dispatcher that counts them all"),
        (!system.has_links, "no links with a rate"),
    ];
    held.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, assumed)| Err(assumed))
}

/// `d` of `power-of-d(d = 3)`; 2 where it is not written.
fn choices(policy: &str) -> u32 {
    let inside = policy.split_once('(').map_or("", |(_, inside)| inside.trim_end().trim_end_matches(')'));
    let d = inside.split(',').filter_map(|part| part.split_once('=')).find(|(key, _)| key.trim() == "d");
    d.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(2)
}
