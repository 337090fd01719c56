//! What an open workload asks of a system: of all servers together, and of each one whose share is known beforehand.
//!
//! Enough room in all is not enough for one: under a policy that looks at no load (turns, weights, draws) each server has a
//! share of its own, and the one that gets more than it can do has a queue that grows as long as requests come. Where the
//! policy says its shares ([`sojourn_dispatch::Policy::shares`]) that is known before anything is drawn. Of the others (hashes,
//! cookies, places) it is seen afterwards: a server that was never idle.

use sojourn_dispatch::{Catalogue, Dispatcher, Information, Signals};
use sojourn_model::system::{Face, Target, Tier, server_name};
use sojourn_model::{Server, System};
use sojourn_traffic::Workload;

/// What is asked of a system, by requests that come by themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Requests that come (1/s); the most, where the rate changes.
    pub rate: f64,
    /// Requests that all servers together can do (1/s).
    pub stable: f64,
    /// The server that gets the most for what it can do, of those whose shares are known and that deny nothing.
    pub fullest: Option<Fullest>,
}

/// The server that gets the most for what it can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Fullest {
    /// Its name.
    pub server: String,
    /// Its share of the requests.
    pub share: f64,
    /// What it is asked for over what it can do.
    pub utilization: f64,
    /// Requests to the system (1/s) from which on it gets too many.
    pub stable: f64,
}

impl Load {
    /// What is asked for over what the servers together can do.
    pub fn utilization(&self) -> f64 {
        self.rate / self.stable
    }

    /// The server that gets as much as it can do or more, although all together could do it.
    pub fn overloaded(&self) -> Option<&Fullest> {
        self.fullest.as_ref().filter(|fullest| fullest.utilization >= 1.0)
    }
}

impl Fullest {
    /// What there is to say where it is asked for too much.
    pub fn in_words(&self) -> String {
        let Fullest { server, share, utilization, stable } = self;
        format!(
            "{server} gets {share:.3} of the requests, {utilization:.3} of what it can do, so its queue never settles: stable \
             below {stable:.4} /s"
        )
    }
}

/// What `workload` asks of `system`; none where requests do not come by themselves, or their rate or mean work is not known.
pub fn load(system: &System, workload: &Workload, catalogue: &Catalogue) -> Option<Load> {
    let Workload::Open(open) = workload else { return None };
    let rate = open.arrivals.peak_rate()?;
    let demand_mean_s = demand_mean_s(system, workload);
    let limit = |server: &Server| f64::from(server.usable_cores()) * server.speed / demand_mean_s;
    let limits: Vec<f64> = system.servers().map(limit).collect();
    let stable: f64 = limits.iter().sum();
    let fullest = |shares: Vec<Option<f64>>| {
        let of = |(host, (share, limit)): (usize, (Option<f64>, &f64))| {
            let share = share.filter(|_| system.hosts[host].server.capacity.is_none())?;
            let (server, stable) = (system.hosts[host].name.clone(), limit / share);
            Some(Fullest { server, share, utilization: rate / stable, stable })
        };
        let known = shares.into_iter().zip(&limits).enumerate().filter_map(of);
        known.reduce(|most, other| if other.utilization > most.utilization { other } else { most })
    };
    stable.is_finite().then(|| Load { rate, stable, fullest: fullest(shares(system, catalogue)) })
}

/// The mean demand (s) on a server of speed 1, as the workload or else the first server's model says.
pub(crate) fn demand_mean_s(system: &System, workload: &Workload) -> f64 {
    if let Some((mean_s, _)) = workload.demand_moments() {
        return mean_s;
    }
    let server = &system.hosts[0].server;
    workload.moments(|class, (mean, variance)| server.demand(class).moments(mean, variance)).0
}

/// Whether nothing that happens at one server changes what the others get: each forgets its state by itself.
pub(crate) fn each_is_alone(system: &System, catalogue: &Catalogue) -> bool {
    shares(system, catalogue).iter().all(Option::is_some)
}

/// The share of all requests that each server gets, where it is known.
fn shares(system: &System, catalogue: &Catalogue) -> Vec<Option<f64>> {
    let mut shares = vec![Some(0.0); system.hosts.len()];
    match system.tiers.first() {
        None => shares.fill(Some(1.0)),
        Some(first) if first.seats.len() == 1 => pass(system, catalogue, (0, 0), Some(1.0), &mut shares),
        Some(_) => shares.fill(None),
    }
    shares
}

/// Passes the share of a decider (its tier and its place there) on to those that it chooses from.
fn pass(
    system: &System,
    catalogue: &Catalogue,
    (tier, seat): (usize, usize),
    share: Option<f64>,
    shares: &mut [Option<f64>],
) {
    let (tier, targets) = (&system.tiers[tier], &system.tiers[tier].seats[seat].targets);
    let parts = share.and_then(|_| parts(tier, targets.len(), catalogue));
    for (place, target) in targets.iter().enumerate() {
        let part = share.zip(parts.as_ref()).map(|(share, parts)| share * parts[place]);
        match *target {
            Target::Host(host) => shares[host] = shares[host].zip(part).map(|(before, part)| before + part),
            Target::Seat { tier, seat } => pass(system, catalogue, (tier, seat), part, shares),
        }
    }
}

/// The part of a decider's requests that each of its targets gets, where it is known: it chooses for each request, and nothing
/// is ever full.
fn parts(tier: &Tier, targets: usize, catalogue: &Catalogue) -> Option<Vec<f64>> {
    let is_blind = matches!(tier.face, Face::Gateway | Face::Switch) && tier.limit.is_none() && tier.pools.is_empty();
    let weight = |place: usize| tier.weights.get(place).copied().unwrap_or(1.0);
    let backends: Vec<(String, f64)> = (0..targets).map(|place| (server_name(place), weight(place))).collect();
    let (at_once, all) = (Information::Immediate, Signals::all());
    let dispatcher = Dispatcher::from_catalogue(catalogue, &tier.policy, &backends, at_once, all, 1, "");
    // What it refuses is said where it is used.
    dispatcher.ok().filter(|_| is_blind)?.shares()
}

#[cfg(test)]
mod tests {
    use sojourn_model::system::Seat;
    use sojourn_stats::{Dimension, Law};
    use sojourn_traffic::{Arrivals, Open, Sizes};

    use super::*;

    /// Servers of these speeds, each of which can do 100 /s at speed 1, behind a policy with weights, at 190 /s.
    fn fullest(policy: &str, weights: &[f64], speeds: &[f64]) -> Option<Fullest> {
        let server = |speed: &f64| Server {
            speed: *speed,
            ..Server::from_toml("discipline = \"ps\"\ndemand = \"10 ms\"").unwrap()
        };
        let tier = Tier { weights: weights.to_vec(), ..Tier::new(Face::Gateway, policy) };
        of(&System::balanced(tier, speeds.iter().map(server).collect()))
    }

    fn of(system: &System) -> Option<Fullest> {
        let arrivals = Arrivals::parse("exponential(rate = 190 /s)").unwrap();
        let sizes = Sizes::Law(Law::parse("1 kB", Dimension::Size).unwrap());
        let workload = Workload::Open(Open { arrivals, clients: 10, sizes, patience: None });
        load(system, &workload, &Catalogue::default()).unwrap().fullest
    }

    #[test]
    fn each_server_is_held_against_its_own_share() {
        let told = |policy: &str, weights: &[f64], speeds: &[f64]| {
            let fullest = fullest(policy, weights, speeds).unwrap();
            (fullest.server, (fullest.share * 1e4).round() / 1e4, (fullest.utilization * 1e3).round() / 1e3)
        };
        let first = |share: f64, utilization: f64| ("server-1".to_string(), share, utilization);
        assert_eq!(told("haproxy(2.6, roundrobin)", &[6.0, 3.0, 1.0], &[1.0; 3]), first(0.6, 1.14));
        assert_eq!(told("weighted-round-robin", &[6.0, 3.0, 1.0], &[1.0; 3]), first(0.6, 1.14));
        assert_eq!(told("weighted", &[6.0, 3.0, 1.0], &[2.0, 1.0, 1.0]), first(0.6, 0.57));
        assert_eq!(told("nginx(round-robin)", &[6.0, 3.0, 1.0], &[1.0; 3]), first(0.6, 1.14));
        assert_eq!(told("envoy(round-robin)", &[6.0, 3.0, 1.0], &[1.0; 3]), first(0.6, 1.14));
        assert_eq!(told("round-robin", &[], &[0.5, 2.0]), first(0.5, 1.9), "by speed");
        assert_eq!(told("haproxy(2.6, first)", &[], &[1.0; 3]), first(1.0, 1.9));
        // HAProxy's ring: 28.9, 18.5, 24.3 and 28.3 %.
        assert_eq!(told("haproxy(2.6, random(1))", &[], &[1.0; 4]).1, 0.2891);
        assert_eq!(fullest("haproxy(2.6, leastconn)", &[6.0, 3.0, 1.0], &[1.0; 3]), None, "it looks at the load");
        assert_eq!(fullest("haproxy(2.6, random(2))", &[], &[1.0; 3]), None);
        assert_eq!(fullest("address-hash", &[], &[1.0; 3]), None, "who asks decides");
    }

    #[test]
    fn shares_pass_through_tiers() {
        let server = Server::from_toml("discipline = \"ps\"\ndemand = \"10 ms\"").unwrap();
        let mut system = System::balanced(Tier::new(Face::Gateway, "round-robin"), vec![server; 3]);
        let seats = [vec![Target::Host(0)], vec![Target::Host(1), Target::Host(2)]];
        let seats = seats.map(|targets| Seat { targets, ..Seat::default() }).to_vec();
        system.tiers[0].seats =
            vec![Seat { targets: (0..2).map(|seat| Target::Seat { tier: 1, seat }).collect(), ..Seat::default() }];
        system.tiers.push(Tier { seats, ..Tier::new(Face::Gateway, "random") });
        let fullest = of(&system).unwrap();
        assert_eq!((fullest.server.as_str(), fullest.share), ("server-1", 0.5));
        system.tiers[0].policy = "least-connections".into();
        assert_eq!(of(&system), None);
    }
}
