//! Nodes that redirect in a live run: a broker on every server of a tier with `at = "servers"`.
//!
//! Each server is a `sojourn node` with a cluster, whose other members are the tier's other servers. Clients ask for the
//! service's name at the addresses of all of them, as the DNS in front deals them; each node follows the tier's policy and
//! reports to the others as the tier says. What a request takes, its headers say, which stands in for an oracle that is
//! right. A file that one node owns (`files`) is read by the owner's emulated disk and crosses the network of the bed.
//!
//! Nodes report at the multiples of the period by the clock, and the load begins just after one, so that reports come when
//! the simulator's do. The price: a run begins up to a period later, nodes are told nothing of the instant at which an overload
//! begins, and a limit of connections counts a reply until the kernel has taken its last byte.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sojourn_bed::Ground;
use sojourn_dispatch::{Dispatcher, Information, Signals};
use sojourn_load::{Url, realtime_ns};
use sojourn_model::system::{Target, Tier};
use sojourn_model::{Server, System};
use sojourn_part::settings::Section;
use sojourn_part::settings::node::{ClusterSettings, HardwareSettings, NodeSettings, Numbers, Owners, Peer};
use sojourn_stats::Span;

use super::part::Part;
use super::servers::Serving;
use super::{bed, reports, tls};
use crate::spec::SystemQuestion;

/// The name of the service (RFC 6761 keeps `test` for such), and the port of every node: each is alone on its host.
pub(super) const SERVICE: &str = "www.sojourn.test";
const PORT: u16 = 80;

/// Within that all nodes of a run have heard of each other, or never will.
const MET: Duration = Duration::from_secs(30);

/// How long before the load the last report before it is: reports come before what clients ask at the same instant.
const AFTER_REPORT: Span = Span(10_000_000);

/// The least time ahead at which a load can be told to start.
const AHEAD: Span = Span(500_000_000);

/// Refuses policies that nodes cannot follow.
pub(super) fn check(asked: &SystemQuestion) -> Result<(), String> {
    let system = &asked.system;
    let Some(tier) = tier_of(system) else { return Ok(()) };
    let nodes: Vec<(String, f64)> = system.hosts.iter().map(|host| (host.name.clone(), 1.0)).collect();
    let made = Dispatcher::new(&tier.policy, &nodes, Information::Immediate, Signals::NODE, 0, "");
    made.map(drop).map_err(|why| format!("live's nodes: {why}"))
}

/// Whether a tier is one of deciders on servers.
pub(super) fn is_of_nodes(tier: &Tier) -> bool {
    tier.seats.iter().any(|seat| seat.host.is_some())
}

/// The tier of nodes of a system, if there is one.
pub(super) fn tier_of(system: &System) -> Option<&Tier> {
    system.tiers.iter().find(|tier| is_of_nodes(tier))
}

/// The service as a URL.
pub(super) fn url() -> Url {
    Url::parse(&format!("http://{SERVICE}/")).expect("it is one")
}

/// A node that is to be started.
pub(super) struct Node<'a> {
    pub(super) program: &'a Path,
    pub(super) system: &'a System,
    pub(super) tier: &'a Tier,
    /// Its number among the servers.
    pub(super) host: usize,
    /// Where it records its decisions, if it does.
    pub(super) record: Option<PathBuf>,
}

impl Node<'_> {
    /// Starts it on its host, with a cluster besides what `settings` say.
    pub(super) fn start(&self, ground: &mut dyn Ground, settings: NodeSettings) -> Result<Part, String> {
        let host = ground.host(&settings.name).map_err(|e| e.to_string())?;
        let address = SocketAddr::new(ground.address(host), PORT);
        reports::make_key()?;
        let tls = tls::is_asked_for(self.system).then(|| tls::settings(address.ip()));
        let cluster = Section(Some(self.cluster(ground)));
        let settings = NodeSettings { listen: vec![address], tls: Section(tls), cluster, ..settings };
        Part::start_on(ground, (host, address), self.program, &settings.name, &["node"], &settings)
    }

    /// Its cluster.
    fn cluster(&self, ground: &dyn Ground) -> ClusterSettings {
        let System { hosts, .. } = self.system;
        let link = self.system.network.cluster_link().rate.map(|bits| bits / 8.0);
        let address = |host: usize| bed::address(ground, &hosts[host].name);
        let url = |host: usize| format!("http://{}:{PORT}", address(host));
        let hardware = |host: usize| Some(hardware(&hosts[host].server, link));
        let peer = |host: usize| Peer {
            tls_url: tls::is_asked_for(self.system).then(|| tls::url_of(address(host))),
            hardware: hardware(host),
            ..Peer::new(hosts[host].name.clone(), url(host))
        };
        let peers = self.members().filter(|peer| *peer != self.host).map(peer).collect();
        let usual = ClusterSettings::new(SERVICE, peers, reports::key());
        let files = hosts[self.host].server.machine.as_ref().and_then(|machine| machine.files);
        // Dealt to the servers in turn, as the simulator does it.
        let owners = (0..files.map_or(0, |files| files.number)).map(|file| Owners {
            path: format!("/work/{file}"),
            nodes: vec![hosts[file as usize % hosts.len()].name.clone()],
        });
        ClusterSettings {
            url: Some(url(self.host)),
            policy: self.tier.policy.clone(),
            hardware: hardware(self.host),
            every: self.tier.reports.map_or(usual.every, |reports| reports.every),
            record: self.record.clone(),
            owners: owners.collect(),
            ..usual
        }
    }

    /// The servers that are nodes of its cluster.
    fn members(&self) -> impl Iterator<Item = usize> {
        let seat = self.tier.seats.iter().find(|seat| seat.host == Some(self.host));
        let targets = &seat.expect("the tier has a decider on each of its servers").targets;
        targets.iter().filter_map(|target| match target {
            Target::Host(host) => Some(*host),
            Target::Seat { .. } => None,
        })
    }
}

/// What a node is made of, as it is told: what the simulator tells its policies. `link`: bytes per second of the network that
/// all share.
fn hardware(server: &Server, link: Option<f64>) -> HardwareSettings {
    let written = |rate: f64| format!("{rate} B/s");
    let (disk, net) = (server.byte_rate("disk").map(written), server.byte_rate("net").or(link).map(written));
    HardwareSettings::Numbers(Numbers { speed: server.speed, disk, net })
}

/// Waits until all nodes have heard of each other.
pub(super) fn meet(system: &System, servers: &[Serving]) -> Result<(), String> {
    let Some(tier) = tier_of(system) else { return Ok(()) };
    for seat in &tier.seats {
        let Some(Serving::Node(part)) = seat.host.map(|host| &servers[host]) else { continue };
        let peers = seat.targets.len() - 1;
        let have_met = part
            .waits_for(MET, |events| events.iter().filter(|(_, event)| event["event"] == "peer_up").count() >= peers);
        if !have_met {
            return Err(format!("{} has not heard of all others within {} s", part.name, MET.as_secs()));
        }
    }
    Ok(())
}

/// When a load on nodes starts (ns since 1970): just after they report. None where nothing redirects.
pub(super) fn start_at_ns(system: &System, hosts_of_clients: usize) -> Option<u64> {
    let every = tier_of(system)?.reports?.every;
    let earliest = if hosts_of_clients > 1 { bed::start_at_ns() } else { realtime_ns() + AHEAD.0 };
    Some(just_after_report(earliest, every))
}

/// The first instant from `earliest` on that is just after a multiple of a period, one later at most.
fn just_after_report(earliest: u64, every: Span) -> u64 {
    earliest.next_multiple_of(every.0) + AFTER_REPORT.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_begins_just_after_a_report() {
        let every = Span(2_000_000_000);
        let begins = [0, 1, 1_999_999_999, 2_000_000_000].map(|at| just_after_report(at, every));
        assert_eq!(begins, [10_000_000, 2_010_000_000, 2_010_000_000, 2_010_000_000]);
    }

    #[test]
    fn a_node_is_told_what_the_simulator_tells_its_policies() {
        let of = |text: &str| Server::from_toml(text).unwrap();
        let plain = of("discipline = \"ps\"\ndemand = \"1 ms\"\nspeed = 2.0\n");
        let numbers = |speed: f64, disk: Option<&str>, net: Option<&str>| {
            HardwareSettings::Numbers(Numbers { speed, disk: disk.map(Into::into), net: net.map(Into::into) })
        };
        assert_eq!(hardware(&plain, None), numbers(2.0, None, None));
        assert_eq!(hardware(&plain, Some(1e6)), numbers(2.0, None, Some("1000000 B/s")));
        let disk = "resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" }NET }\n\
                    demand = \"1 ms\"\n";
        let own = of(&disk.replace("NET", ", net = { discipline = \"ps\", rate = \"2 MB/s\" }"));
        let whole = numbers(1.0, Some("5000000 B/s"), Some("2000000 B/s"));
        assert_eq!(hardware(&own, Some(1e6)), whole, "its own network counts before the one that all share");
        assert_eq!(hardware(&of(&disk.replace("NET", "")), None), numbers(1.0, Some("5000000 B/s"), None));
    }
}
