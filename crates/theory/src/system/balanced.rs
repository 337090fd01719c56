//! The mean response time under policies that look at the servers, where it is known.
//!
//! Two laws of [`balancing`] are about what a dispatcher does: `least-connections` is join the shortest queue (as are
//! `power-of-d` that draws all, and `weighted-least-connections` with equal weights), which is known as two bounds, and
//! `power-of-d` over a hundred servers or more is near its limit of very many. Both take Poisson arrivals, exponential work,
//! equal servers of one core and one dispatcher that knows every count as it is. Then no job's remaining work is known, and how
//! a server orders its jobs does not change how many there are. What is missing is named.

use sojourn_stats::{Dimension, quantity};

use super::{System, has_equal_weights, parameter, policy_name, station};
use crate::answer::{Value, brief};
use crate::formula::balancing::{self, Bounds};
use crate::law::Moments;
use crate::station::Station;

/// From so many servers on, power of d choices is taken to be at its limit.
const MANY: usize = 100;
/// Up to this utilisation it is: 9 % low there with [`MANY`] servers (Mitzenmacher 2001).
const BUSIEST: f64 = 0.99;
/// Bounds that are nearer than this, over the lower one, are the number itself.
const EXACT: f64 = 1e-7;
/// Up to this their middle is near it; farther ones are told and no number is given.
const NEAR: f64 = 0.05;

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
    let choices = parameter(system, "d").and_then(|d| d.parse().ok()).unwrap_or(2);
    match policy_name(system) {
        // Of as many as there are, ties go to the one drawn first: that is any of them.
        "power-of-d" if choices as usize >= count => shortest(system, &first, gaps, utilisation),
        "least-connections" | "least-connections-lowest-id" => shortest(system, &first, gaps, utilisation),
        "weighted-least-connections" if has_equal_weights(system) => shortest(system, &first, gaps, utilisation),
        "power-of-d" => {
            let of = "power of d choices";
            if count < MANY {
                let between = assumptions(system, &first, gaps).map_or(String::new(), |()| {
                    let low = balancing::join_shortest_queue(count as u32, utilisation).low;
                    let bounds = Bounds { low, high: 1.0 / (1.0 - utilisation) };
                    format!("; here between {}, with all looked at, and with one", told(bounds, &first))
                });
                return Err(format!(" ({of} is solved for very many, {MANY} and more{between})"));
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
        "weighted-round-robin" | "weighted-round-robin-classic" if system.dispatchers == 1 => {
            Err(" with weights that differ".to_owned())
        }
        _ => Err(String::new()),
    }
}

/// Of all servers the one with the fewest jobs is joined.
fn shortest(system: &System, first: &Station, gaps: Moments, utilisation: f64) -> Result<Known, String> {
    let of = "join the shortest queue";
    assumptions(system, first, gaps).map_err(|missing| format!(" ({of} is solved for {missing})"))?;
    let servers = system.servers.len();
    let bounds = balancing::join_shortest_queue(servers as u32, utilisation);
    let middle_s = 0.5 * (bounds.low + bounds.high) * first.service.mean_s;
    let between = || told(bounds, first);
    match bounds.gap() {
        gap if gap <= EXACT => {
            let formula = format!("{servers} queues, the shortest one joined, exact");
            Ok(Known { response_mean: Value::exact(middle_s), formula })
        }
        gap if gap <= NEAR => {
            let formula = format!(
                "{servers} queues, the shortest one joined: the middle of two bounds, {} (Adan, van Houtum and van der Wal 1994)",
                between()
            );
            Ok(Known { response_mean: Value::approximate(middle_s), formula })
        }
        _ => Err(format!(" ({of} is known between {} only)", between())),
    }
}

/// Bounds of a mean response time in the unit of the lower one, as [`outwards`] rounds them.
fn told(bounds: Bounds, first: &Station) -> String {
    let [low_s, high_s] = [bounds.low, bounds.high].map(|in_services| in_services * first.service.mean_s);
    let low = quantity::format(outwards(low_s, false), Dimension::Time);
    let unit = low.rsplit(' ').next().unwrap_or_default();
    let per_unit = quantity::parse(&format!("1 {unit}"), Dimension::Time).unwrap_or(1.0);
    format!("{low} and {} {unit}", outwards(high_s / per_unit, true))
}

/// An end of an interval in four digits, rounded up or down; one that has no more, but for what sums of floating point are off,
/// is told as it is.
fn outwards(end: f64, is_upper: bool) -> f64 {
    let in_digits = |end: f64| format!("{end:.3e}").parse().unwrap_or(end);
    let nearest: f64 = in_digits(end);
    if (nearest - end).abs() <= 1e-9 * end.abs() || (nearest > end) == is_upper {
        return nearest;
    }
    let step = 10f64.powi(end.abs().log10().floor() as i32 - 3);
    in_digits(if is_upper { nearest + step } else { nearest - step })
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

#[cfg(test)]
mod tests {
    use super::outwards;

    #[test]
    fn ends_are_rounded_outwards_and_exact_ones_stay() {
        // M/M/1 at 0.8, with what dividing adds to it, and the mean service alone.
        assert_eq!(outwards(1.0 / (1.0 - 0.8), true), 5.0);
        assert_eq!([outwards(1.0 + 1e-12, false), outwards(1.0 - 1e-12, false)], [1.0, 1.0]);
        assert_eq!([outwards(1.95314, false), outwards(1.95314, true)], [1.953, 1.954]);
        assert_eq!([outwards(1.95366, false), outwards(1.95366, true)], [1.953, 1.954]);
        assert_eq!([outwards(0.099_996, true), outwards(9999.6, true)], [0.1, 10_000.0]);
        assert_eq!(outwards(1.000_04, false), 1.0);
    }
}
