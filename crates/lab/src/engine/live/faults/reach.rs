//! What a planned fault is when it is carried out: in which order things are done, and whose packets meet it.

use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_model::{LossLaw, System};
use sojourn_stats::Time;

use crate::topology::{as_host, places};

/// The beginnings and ends of all faults, in the order in which they are done: when, whether it begins, and its number.
pub(super) fn changes(faults: &[Fault]) -> Vec<(Time, bool, usize)> {
    let mut changes = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        changes.push((fault.at, true, number));
        changes.extend(fault.until.map(|until| (until, false, number)));
    }
    // What comes back at the instant of its next fault comes back first.
    changes.sort_by_key(|(at, begins, _)| (*at, *begins));
    changes
}

/// What a link loses besides each way while a path loses this share of its packets: half of it, as in the simulator.
pub(super) fn loss_each_way(share: f64) -> LossLaw {
    LossLaw::independent(0.5 * share)
}

/// The pairs of hosts, as a topology has them, whose packets meet a fault of links that happens to these servers.
pub(super) fn ways(system: &System, fault: &Fault, servers: &[usize]) -> Vec<(usize, usize)> {
    let places = places(system);
    let is_one = |host: usize| servers.iter().any(|server| as_host(&system.hosts[*server].name) == places[host].0);
    let are_met = |one: usize, other: usize| {
        let (a, b) = (places[one].1, places[other].1);
        match fault.subject {
            Subject::Path(x, y) => {
                let joins = (a.region.min(b.region), a.region.max(b.region)) == (x, y);
                joins && (a.site.is_none() || a.site != b.site)
            }
            Subject::Site(site) => (a.site == Some(site)) != (b.site == Some(site)),
            // Each server has links of its own.
            _ => is_one(one) || is_one(other),
        }
    };
    let pairs = (0..places.len()).flat_map(|one| (one + 1..places.len()).map(move |other| (one, other)));
    pairs.filter(|(one, other)| are_met(*one, *other)).collect()
}

/// Whether a fault is over as soon as it is done.
pub(super) fn is_momentary(fault: &Fault) -> bool {
    fault.trouble == Trouble::Restarted && fault.until.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    /// Two regions with a site each; two clients there and servers, one of the second site's alone.
    const PLACES: &str = r#"
name = "places"
[workload]
kind = "open"
arrivals = "constant(rate = 1 /s)"
clients = [{ region = "east", number = 1 }, { region = "west", number = 1 }]
[[system.region]]
name = "east"
[[system.region]]
name = "west"
[system.paths]
within = { rtt = "2 ms" }
between = { rtt = "20 ms" }
[system.tcp]
stack = "linux-6"
[[system.site]]
name = "c1"
region = "east"
[[system.site]]
name = "c2"
region = "west"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
targets = { sites = ["c1", "c2"] }
[[system.tier]]
name = "front"
face = "gateway"
policy = "random"
targets = { servers = 2 }
[system.server]
discipline = "ps"
demand = "1 ms"
"#;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn fault(at: Time, until: Option<Time>, subject: Subject, trouble: Trouble) -> Fault {
        Fault { at, until, subject, trouble }
    }

    #[test]
    fn what_comes_back_at_the_instant_of_its_next_fault_comes_back_first() {
        let down = |begin, end| fault(at(begin), Some(at(end)), Subject::Host(0), Trouble::Down);
        let last = fault(at(9), None, Subject::Host(0), Trouble::Frozen);
        // In whatever order the file has them.
        let done = changes(&[down(5, 9), last, down(1, 5)]);
        assert_eq!(done, [(at(1), true, 2), (at(5), false, 2), (at(5), true, 0), (at(9), false, 0), (at(9), true, 1)]);
    }

    #[test]
    fn a_path_that_loses_does_so_by_halves_each_way() {
        assert_eq!(loss_each_way(0.3), LossLaw::independent(0.15));
    }

    #[test]
    fn only_a_restart_without_an_end_is_over_at_once() {
        let is_over = |trouble, until| is_momentary(&fault(at(1), until, Subject::Host(0), trouble));
        assert!(is_over(Trouble::Restarted, None));
        assert!(!is_over(Trouble::Restarted, Some(at(2))) && !is_over(Trouble::Down, None));
    }

    /// The names of those whose packets to one another meet a fault.
    fn met(subject: Subject) -> Vec<String> {
        let experiment = Spec::parse(PLACES, std::path::Path::new("x.toml")).unwrap();
        let system = &experiment.system().unwrap().system;
        let places = places(system);
        let fault = fault(at(1), None, subject, Trouble::Cut);
        let ways = ways(system, &fault, &fault.hosts(0, system, 1));
        ways.into_iter().map(|(one, other)| format!("{} {}", places[one].0, places[other].0)).collect()
    }

    #[test]
    fn a_fault_of_links_meets_those_whom_it_parts() {
        let all = {
            let experiment = Spec::parse(PLACES, std::path::Path::new("x.toml")).unwrap();
            places(&experiment.system().unwrap().system).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(all, ["east", "west", "dns", "front-1", "front-2", "server-1", "server-2", "server-3", "server-4"]);
        // One server loses all others.
        let of_one = met(Subject::Host(0));
        assert_eq!(of_one.len(), 8, "{of_one:?}");
        assert!(of_one.iter().all(|way| way.contains("server-1")), "{of_one:?}");
        // So do several: seven others each, and each other.
        let of_half = met(Subject::Share(0.5));
        assert_eq!(of_half.len(), 2 * 7 + 1, "{of_half:?}");
        assert!(of_half.iter().all(|way| way.contains("server-")), "{of_half:?}");
        assert_eq!(met(Subject::Share(1.0)).len(), 4 * 5 + 6);
        // A site loses what is outside, and nothing inside: three hosts of it, six others.
        let of_site = met(Subject::Site(1));
        assert_eq!(of_site.len(), 18, "{of_site:?}");
        assert!(!of_site.contains(&"server-3 server-4".into()) && of_site.contains(&"west front-2".into()));
        // A path parts what is in its two regions; within one region it passes over what is inside a site.
        let between = met(Subject::Path(0, 1));
        assert!(between.contains(&"east front-2".into()) && between.contains(&"server-1 server-3".into()));
        assert!(!between.iter().any(|way| way == "east front-1" || way == "west front-2"), "{between:?}");
        let within = met(Subject::Path(1, 1));
        assert!(within.contains(&"west server-3".into()), "{within:?}");
        assert!(!within.iter().any(|way| way == "server-3 server-4" || way == "front-2 server-3"), "{within:?}");
    }
}
