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

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sojourn_bed::Ground;
use sojourn_bed::namespace::TEMPORARY;
use sojourn_dispatch::{Dispatcher, Information, Signals};
use sojourn_load::{Url, realtime_ns};
use sojourn_model::system::{Reports, Target, Tier};
use sojourn_model::{Server, System};
use sojourn_stats::Span;

use super::dns::quoted;
use super::part::Part;
use super::{Serving, bed, reports, tls};
use crate::spec::SystemQuestion;
use crate::topology::as_host;

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
    /// Starts it on its host; `rest` says what it is.
    pub(super) fn start(&self, ground: &mut dyn Ground, rest: &[&str]) -> Result<Part, String> {
        let name = &self.system.hosts[self.host].name;
        let host = ground.host(name).map_err(|e| e.to_string())?;
        let address = SocketAddr::new(ground.address(host), PORT);
        reports::make_key()?;
        let file = Path::new(TEMPORARY).join(format!("{}.toml", as_host(name)));
        fs::write(&file, self.config(ground)).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        let (listen, file) = (address.to_string(), file.display().to_string());
        let tls = tls::is_asked_for(self.system).then(|| tls::arguments(address.ip()));
        let tls: Vec<&str> = tls.iter().flatten().map(String::as_str).collect();
        let arguments = [&["node", "--listen", &listen, "--cluster", &file], &tls[..], rest].concat();
        Part::start_on(ground, (host, address), self.program, name, &arguments)
    }

    /// Its cluster, as a file says it.
    fn config(&self, ground: &dyn Ground) -> String {
        let System { hosts, .. } = self.system;
        let link = self.system.network.cluster_link().rate.map(|bits| bits / 8.0);
        let url = |host: usize| format!("http://{}:{PORT}", bed::address(ground, &hosts[host].name));
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a text takes all");
        line("[cluster]".into());
        line(format!("service = \"{SERVICE}\""));
        line(format!("url = \"{}\"", url(self.host)));
        line(format!("key_file = {}", quoted(&reports::key().display().to_string())));
        line(format!("policy = {}", quoted(&self.tier.policy)));
        line(format!("hardware = {}", hardware(&hosts[self.host].server, link)));
        if let Some(Reports { every, .. }) = self.tier.reports {
            line(format!("every = \"{every}\""));
        }
        if let Some(record) = &self.record {
            line(format!("record = {}", quoted(&record.display().to_string())));
        }
        for peer in self.members().filter(|peer| *peer != self.host) {
            line("[[cluster.peer]]".into());
            line(format!("name = {}", quoted(&hosts[peer].name)));
            line(format!("url = \"{}\"", url(peer)));
            if tls::is_asked_for(self.system) {
                line(format!("tls_url = \"{}\"", tls::url_of(bed::address(ground, &hosts[peer].name))));
            }
            line(format!("hardware = {}", hardware(&hosts[peer].server, link)));
        }
        let files = hosts[self.host].server.machine.as_ref().and_then(|machine| machine.files);
        // Dealt to the servers in turn, as the simulator does it.
        for file in 0..files.map_or(0, |files| files.number) {
            line("[[cluster.owners]]".into());
            line(format!("path = \"/work/{file}\""));
            line(format!("nodes = [{}]", quoted(&hosts[file as usize % hosts.len()].name)));
        }
        text
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
fn hardware(server: &Server, link: Option<f64>) -> String {
    let rates = [("disk", server.byte_rate("disk")), ("net", server.byte_rate("net").or(link))];
    let rates = rates.map(|(name, rate)| rate.map_or(String::new(), |rate| format!(", {name} = \"{rate} B/s\"")));
    format!("{{ speed = {:?}{} }}", server.speed, rates.concat())
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
        assert_eq!(hardware(&plain, None), "{ speed = 2.0 }");
        assert_eq!(hardware(&plain, Some(1e6)), "{ speed = 2.0, net = \"1000000 B/s\" }");
        let disk = "resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" }NET }\n\
                    demand = \"1 ms\"\n";
        let own = of(&disk.replace("NET", ", net = { discipline = \"ps\", rate = \"2 MB/s\" }"));
        let whole = "{ speed = 1.0, disk = \"5000000 B/s\", net = \"2000000 B/s\" }";
        assert_eq!(hardware(&own, Some(1e6)), whole, "its own network counts before the one that all share");
        assert_eq!(hardware(&of(&disk.replace("NET", "")), None), "{ speed = 1.0, disk = \"5000000 B/s\" }");
    }
}
