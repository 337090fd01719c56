//! The table of what goes with what: each row is seen in a system of its kind, and refused for it alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use sojourn_model::system::{
    Abandoned, Affinity, Clients, Directions, Face, Fault, Hedge, Limit, Overflow, Path, Paths, Pool, Probes, Region,
    Reports, Resolver, Resolves, Retries, Rules, Seat, Site, Subject, Target, Tier, Told, Transport, Trouble, TtlUse,
};
use sojourn_model::{CopyRules, Mode, Server, System, TcpStack};
use sojourn_sim::capability::{Combination, Engine, Has, Live, check, markdown, rows};
use sojourn_stats::{Law, Span, Time};
use sojourn_traffic::{Open, Workload};

use crate::files::{documents, nodes as file_nodes};
use crate::support::{cluster, open, plain_path};

const SECOND: u64 = 1_000_000_000;
const PS: &str = "discipline = \"ps\"\ndemand = \"1 ms\"";
const PAGE: &str = "path,kind,class,bytes,requests,embedded\n/p,base,static,1000,1,\n";
/// A node with a disk, and with memory that caches what it reads.
const MEMORY: &str = "demand = \"1 ms\"\nmemory = { size = \"24 MB\", cache = \"lru\" }\n\
                      resources = { cpu = { discipline = \"ps\" }, disk = { discipline = \"fcfs\", rate = \"5 MB/s\" } }";

struct Case {
    system: System,
    workload: Workload,
    live: Live,
}

impl Case {
    fn check(&self, engine: Engine) -> Result<(), String> {
        check(&Combination { system: &self.system, workload: &self.workload, live: self.live }, engine)
    }

    fn first(&mut self) -> &mut Tier {
        &mut self.system.tiers[0]
    }

    fn last(&mut self) -> &mut Tier {
        self.system.tiers.last_mut().unwrap()
    }

    fn fault(&mut self, subject: Subject, trouble: Trouble) {
        self.system.faults = vec![Fault { at: Time(SECOND), until: None, subject, trouble }];
    }
}

/// Two servers behind a gateway, alone on a machine.
fn plain() -> Case {
    let scenario = cluster("exponential(rate = 1 /s)", "random", 2, PS);
    let live = Live { duration: Span(10 * SECOND), is_modelled: true, ..Live::default() };
    Case { system: scenario.system, workload: scenario.workload, live }
}

/// The same on paths.
fn on_paths() -> Case {
    let mut case = plain();
    case.live.is_in_bed = true;
    case.system.paths = paths(1);
    case
}

fn paths(regions: usize) -> Paths {
    Paths::new(regions, |_, _| Ok::<Path, ()>(plain_path(0.01))).unwrap()
}

/// A DNS in rotation over two packet switches, with a server and a site each.
fn switches() -> Case {
    let mut case = on_paths();
    let system = &mut case.system;
    system.sites = (0..2).map(|index| Site { name: format!("site{index}"), region: 0 }).collect();
    system.hosts.iter_mut().enumerate().for_each(|(index, host)| host.site = Some(index));
    let switch = |host: usize| Seat { site: Some(host), targets: vec![Target::Host(host)], ..Seat::default() };
    system.tiers = vec![
        Tier { seats: vec![over(2)], ttl: Span(60 * SECOND), ..Tier::new(Face::Dns, "round-robin") },
        Tier { seats: vec![switch(0), switch(1)], ..Tier::new(Face::Switch, "random") },
    ];
    case.live.one_request_per_connection = true;
    case
}

/// The same, whose DNS is a process.
fn names() -> Case {
    let mut case = switches();
    case.first().policy = "random".into();
    case
}

/// Servers that redirect, behind a rotation.
fn nodes() -> Case {
    let mut system = file_nodes(2, "random", 60, "");
    let server = Server::from_toml(PS).unwrap();
    system.hosts.iter_mut().for_each(|host| host.server = server.clone());
    system.rules.resolves = Resolves::EachRequest;
    let live = Live { is_in_bed: true, ..plain().live };
    Case { system, workload: open("exponential(rate = 1 /s)"), live }
}

/// The same with files that have an owner each.
fn with_files() -> Case {
    let mut case = nodes();
    case.system = file_nodes(2, "random", 60, "");
    case.system.rules.resolves = Resolves::EachRequest;
    if let Workload::Open(open) = &mut case.workload {
        open.sizes = documents(60);
    }
    case
}

/// Users who browse behind a gateway.
fn browse() -> Case {
    let users = crate::sessions::cluster(PAGE, 2, 1.0, PS);
    let mut case = plain();
    case.system.network = users.network;
    case.system.network.tcp = Default::default();
    case.workload = Workload::Sessions(users.sessions);
    case
}

/// The same behind two tiers of gateways.
fn browse_two() -> Case {
    let mut case = browse();
    let inner = |host: usize| Seat { targets: vec![Target::Host(host)], ..Seat::default() };
    case.system.tiers = vec![
        Tier { seats: vec![over(2)], ..Tier::new(Face::Gateway, "random") },
        Tier { seats: vec![inner(0), inner(1)], ..Tier::new(Face::Gateway, "random") },
    ];
    case
}

/// A decider over so many seats of the next tier.
fn over(seats: usize) -> Seat {
    Seat { targets: (0..seats).map(|seat| Target::Seat { tier: 1, seat }).collect(), ..Seat::default() }
}

fn reports() -> Reports {
    Reports {
        every: Span(SECOND),
        heartbeat: None,
        client_rates: None,
        hidden_load: false,
        cost: Span::ZERO,
        lossy: false,
        estimator: None,
        capacity_at: 1.0,
    }
}

fn pool() -> Pool {
    let targets = vec![Target::Host(0)];
    Pool { host: None, path: Some("/a".into()), policy: "random".into(), targets, weights: Vec::new() }
}

fn retries() -> Retries {
    Retries { at_most: 1, backoff: None, budget: None }
}

fn dropping() -> Server {
    Server::from_toml("discipline = \"fcfs\"\ndrops = \"expired\"\ndemand = \"1 ms\"").unwrap()
}

/// A row's first words, the system that it is seen in, and what is written there.
type Sample = (&'static str, fn() -> Case, fn(&mut Case));

/// For each row a system that has nothing else that is missing.
fn samples() -> Vec<Sample> {
    vec![
        ("clients that hedge ([client]) and choose", plain, |of| {
            of.system.rules.hedge = Some(Hedge::After(Span(SECOND)));
            of.first().face = Face::Client;
        }),
        ("work that goes on (", on_paths, |of| {
            of.system.rules.abandoned = Abandoned::Served;
            of.system.transport = Some(Transport { stack: TcpStack::LINUX_6, one_request_per_connection: true });
        }),
        ("work that goes on in a real server", plain, |of| {
            of.system.rules.abandoned = Abandoned::Served;
            of.live.is_program = true;
        }),
        ("users who browse at servers that drop", browse, |of| of.system.hosts[0].server = dropping()),
        ("users who browse and wait only so long", browse, |of| of.system.rules.timeout = Some(Span(SECOND))),
        ("clients that retry, hedge or leave work", plain, |of| {
            let Workload::Open(open) = of.workload.clone() else { unreachable!() };
            of.workload = Workload::Open(Open { patience: Some(Law::constant(1.0)), ..open });
            of.system.rules.retries = Some(retries());
        }),
        ("clients that fail over", plain, |of| of.system.rules.fails_over = true),
        ("polls by clients", plain, |of| {
            of.first().face = Face::Client;
            of.first().polled = Some(Span(SECOND));
        }),
        ("tier of face `client`", plain, |of| of.first().face = Face::Client),
        ("tier of face `client` in front of users", browse, |of| of.first().face = Face::Client),
        ("redirect in front of users who browse", browse, |of| of.first().face = Face::Redirect),
        ("DNS behind another tier, of users", browse_two, |of| of.last().face = Face::Dns),
        ("servers that forward what users", browse, |of| of.first().seats[0].host = Some(0)),
        ("pools by host and path, of users who browse", browse, |of| of.first().pools = vec![pool()]),
        ("reports and probes while users browse", browse, |of| of.first().reports = Some(reports())),
        ("regions and paths of users", browse, |of| of.system.paths = paths(1)),
        ("round trip between balancer", browse, |of| of.system.network.server_rtt = Span(1)),
        ("limit of servers that users", browse, |of| {
            of.first().limit = Some(Limit { connections: 2, returns: 1 });
        }),
        ("faults while users browse", browse, |of| of.fault(Subject::Host(0), Trouble::Down)),
        ("resources, memory and files of servers that users", browse, |of| {
            of.system.hosts[0].server = Server::from_toml(MEMORY).unwrap();
        }),
        ("work of balancers that differ", browse_two, |of| of.last().balancing.per_packet = Span(1)),
        ("cores of several balancers", browse_two, |of| {
            of.first().face = Face::Dns;
            of.last().balancing.cores = Some(1);
        }),
        ("choice that is held longer than the choice in front", browse_two, |of| {
            of.last().affinity = Affinity::Connection;
        }),
        ("servers behind tiers of different `level`", browse_two, |of| {
            of.first().affinity = Affinity::Connection;
            of.first().seats[0].targets.push(Target::Host(0));
        }),
        ("users who browse at more than one tier", browse_two, |_| ()),
        ("choice that is held longer than a request", browse, |of| of.first().affinity = Affinity::Connection),
        ("regions and sites without paths", plain, |of| {
            of.system.sites = vec![Site { name: "a".into(), region: 0 }];
        }),
        ("`jitter`", on_paths, |of| {
            let mut path = plain_path(0.01);
            path.line.reorders = true;
            of.system.paths = Paths::new(1, |_, _| Ok::<Path, ()>(path.clone())).unwrap();
        }),
        ("loss or medium of a path", switches, |of| {
            of.system.regions.push(Region { name: "far".into(), addresses: None });
            of.system.sites[1].region = 1;
            let lossy = |a, b| {
                let path = plain_path(0.01);
                let loss = Directions::both(if a == b { 0.0 } else { 0.1 });
                Ok::<Path, ()>(Path { loss, ..path })
            };
            of.system.paths = Paths::new(2, lossy).unwrap();
            of.last().seats[0].overflow = vec![1];
        }),
        ("clients that share machines without", plain, |of| {
            of.live.is_in_bed = true;
            of.system.clients = vec![Clients { region: 0, number: 4, machines: 2 }];
        }),
        ("rate of each client's own", plain, |of| {
            of.live.is_in_bed = true;
            of.system.network.client_rate = Some(1e6);
        }),
        ("round trips that differ", on_paths, |of| {
            let path = Path { rtt: Law::exponential(0.01), ..plain_path(0.01) };
            of.system.paths = Paths::new(1, |_, _| Ok::<Path, ()>(path.clone())).unwrap();
        }),
        ("rates and round trips of [system.network]", on_paths, |of| of.system.network.server_rtt = Span(1)),
        ("TCP but this kernel's", plain, |of| {
            of.live.is_in_bed = true;
            let stack = TcpStack { initial_window: 1, ..TcpStack::LINUX_6 };
            of.system.transport = Some(Transport { stack, one_request_per_connection: true });
        }),
        ("fault of this kind", plain, |of| of.fault(Subject::Host(0), Trouble::Loss(0.1))),
        ("links to cut without", plain, |of| of.fault(Subject::Host(0), Trouble::Cut)),
        ("faults of real servers", plain, |of| {
            of.live.is_program = true;
            of.fault(Subject::Host(0), Trouble::Down);
        }),
        ("resolvers that break", plain, |of| of.fault(Subject::Resolver(0), Trouble::Down)),
        ("DNS that can break", switches, |of| of.fault(Subject::Tier(0), Trouble::Down)),
        ("deciders that are slow", plain, |of| of.fault(Subject::Tier(0), Trouble::Slow(0.5))),
        ("faults where nodes redirect", nodes, |of| of.fault(Subject::Host(0), Trouble::Down)),
        ("files that one server owns", plain, |of| {
            let owner = with_files();
            (of.system.hosts, of.workload) = (owner.system.hosts, owner.workload);
        }),
        ("requests over TLS", plain, |of| of.system.rules.secure = vec![0]),
        ("deciders on servers", plain, |of| {
            of.live.is_in_bed = true;
            of.first().seats[0].host = Some(0);
        }),
        ("several tiers of nodes", nodes, |of| {
            let again = of.last().clone();
            of.system.tiers.push(again);
        }),
        ("nodes that redirect but on hosts", nodes, |of| of.live.is_in_bed = false),
        ("real programs that redirect", nodes, |of| of.live.is_program = true),
        ("nodes that redirect with several dispatchers", nodes, |of| of.last().dispatchers = 2),
        ("nodes that redirect and have weights", nodes, |of| of.last().weights = vec![1.0, 2.0]),
        ("nodes that report rates", nodes, |of| {
            of.last().reports = Some(Reports { client_rates: Some(Span(1)), ..reports() });
        }),
        ("nodes that report more seldom", nodes, |of| {
            of.last().reports = Some(Reports { heartbeat: Some(Span(2 * SECOND)), ..reports() });
        }),
        ("nodes that learn capacity", nodes, |of| {
            of.last().reports = Some(Reports { estimator: Some("response-time"), ..reports() });
        }),
        ("nodes that take less than saturation", nodes, |of| {
            of.last().reports = Some(Reports { capacity_at: 0.7, ..reports() });
        }),
        ("share of saturation as `capacity` of targets", switches, |of| {
            of.last().reports = Some(reports());
            of.first().reports = Some(Reports { capacity_at: 0.7, ..reports() });
        }),
        ("copies of emulated files", with_files, |of| {
            let machine = of.system.hosts[0].server.machine.as_mut().unwrap();
            let rules = CopyRules { after: 3, within: Span(SECOND), max: 1_000_000 };
            Arc::make_mut(machine).files.as_mut().unwrap().copies = Some(rules);
        }),
        ("files of nodes at several sites", with_files, |of| of.last().seats[0].targets.truncate(1)),
        ("files or memory of servers without a disk", plain, |of| {
            let text = MEMORY.replace(", disk = { discipline = \"fcfs\", rate = \"5 MB/s\" }", "");
            of.system.hosts[0].server = Server::from_toml(&text).unwrap();
        }),
        ("files of one owner each whose owners", with_files, |of| {
            of.system.regions.push(Region { name: "far".into(), addresses: None });
            of.system.sites = (0..2).map(|region| Site { name: region.to_string(), region }).collect();
            of.system.hosts.iter_mut().enumerate().for_each(|(index, host)| host.site = Some(index));
            of.system.paths = paths(2);
        }),
        ("memory that caches", plain, |of| {
            let server = Server::from_toml(MEMORY).unwrap();
            of.system.hosts.iter_mut().for_each(|host| host.server = server.clone());
        }),
        ("packet switch but on an Ethernet", plain, |of| of.first().face = Face::Switch),
        ("users who browse behind a packet switch", browse, |of| {
            (of.live, of.system.network) = (switches().live, Default::default());
            of.system.paths = paths(1);
            of.first().face = Face::Switch;
        }),
        ("packet switch that decides for requests", switches, |of| of.live.one_request_per_connection = false),
        ("real programs behind a packet switch", switches, |of| of.live.is_program = true),
        ("packet switch that is `drained` and passes on", switches, |of| {
            of.last().overflow = Some(Overflow { limit: None });
            of.fault(Subject::Site(0), Trouble::Drained);
        }),
        ("packet switch that is frozen alone", switches, |of| of.fault(Subject::Tier(1), Trouble::Frozen)),
        ("server that is cut off behind", switches, |of| of.fault(Subject::Host(0), Trouble::Cut)),
        ("packet switch beside gateways", switches, |of| {
            of.system.tiers.push(Tier::new(Face::Gateway, "random"));
        }),
        ("packet switch with several dispatchers", switches, |of| of.last().dispatchers = 2),
        ("switch that passes on to other sites", switches, |of| {
            of.last().balancing.mode = Mode::Nat;
            of.last().overflow = Some(Overflow { limit: None });
        }),
        ("addresses of clients", switches, |of| of.last().policy = "address-hash".into()),
        ("servers behind several packet switches", switches, |of| {
            of.last().seats[1].targets = vec![Target::Host(0)];
        }),
        ("packet switch in front of other deciders", switches, |of| {
            of.last().seats[1].targets = vec![Target::Seat { tier: 1, seat: 0 }];
        }),
        ("pools by host and path", plain, |of| of.first().pools = vec![pool()]),
        ("redirect behind a gateway", plain, |of| {
            let second = Tier { face: Face::Redirect, ..of.first().clone() };
            of.system.tiers = vec![Tier { seats: vec![over(1)], ..of.first().clone() }, second];
        }),
        ("polls of a redirect", plain, |of| {
            let second = Tier { face: Face::Redirect, ..of.first().clone() };
            let front = Tier { face: Face::Redirect, polled: Some(Span(SECOND)), ..of.first().clone() };
            of.system.tiers = vec![Tier { seats: vec![over(1)], ..front }, second];
        }),
        ("overflow of a face that is no switch", plain, |of| of.first().overflow = Some(Overflow { limit: None })),
        ("limits that differ from target to target", plain, |of| of.first().limits = vec![2, 3]),
        ("reports but those to a packet switch", plain, |of| of.first().reports = Some(reports())),
        ("reports with a `cost`", switches, |of| of.last().reports = Some(Reports { lossy: true, ..reports() })),
        ("probes but those that a DNS orders", plain, |of| {
            of.first().probes = Some(Probes { at_most: 1, refresh: Span(SECOND) });
        }),
        ("work of gateways and polls", plain, |of| of.first().poll_cost = Span(1)),
        ("`told`", plain, |of| of.first().told = vec![Told::Bytes]),
        ("twin of a program", plain, |of| {
            of.live.is_program = true;
            of.first().policy = "path-hash".into();
        }),
        ("DNS but rotation", plain, |of| {
            of.first().face = Face::Dns;
            of.first().ttl = Span(60 * SECOND);
        }),
        ("resolvers", plain, |of| {
            let resolver = Resolver { name: "isp".into(), region: 0, share: 1.0, ttl: TtlUse::Honoured };
            of.system.resolvers = vec![resolver];
        }),
        ("clients that keep an address for less", plain, |of| {
            of.first().face = Face::Dns;
            of.first().policy = "round-robin".into();
        }),
        ("reports and probes but those of a DNS", plain, |of| {
            of.system.rules.resolves = Resolves::EachRequest;
            let reports = Some(reports());
            *of.first() = Tier { face: Face::Dns, policy: "round-robin".into(), reports, ..of.first().clone() };
        }),
        ("several DNS servers", names, |of| of.first().dispatchers = 2),
        ("DNS that polls", names, |of| of.first().polled = Some(Span(SECOND))),
        ("limit of a DNS", names, |of| of.first().limit = Some(Limit { connections: 2, returns: 1 })),
        ("TTL but of whole seconds", names, |of| of.first().ttl = Span(SECOND / 2)),
        ("fail-over of clients among more", names, |of| {
            of.system.rules.fails_over = true;
            of.first().seats[0].targets = vec![Target::Seat { tier: 1, seat: 0 }; 9];
        }),
        ("hidden load", names, |of| of.first().reports = Some(Reports { hidden_load: true, ..reports() })),
    ]
}

/// Each row is met by its sample, and the engines that do not have it say so in its words, before they say anything else.
#[test]
fn each_row_is_refused_by_its_name() {
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for (name, base, change) in samples() {
        let found: Vec<_> = rows().filter(|row| row.what.starts_with(name)).collect();
        // The shortest of those that begin alike is meant.
        let row = found.into_iter().min_by_key(|row| row.what.len()).unwrap_or_else(|| panic!("no row {name}"));
        assert!(seen.insert(row.what), "{name}: twice");
        let mut case = base();
        change(&mut case);
        for engine in [Engine::Sim, Engine::Live] {
            let refused = case.check(engine);
            let is_right = match row.of(engine) {
                Has::Yes => refused.as_ref().err().is_none_or(|why| !why.starts_with(row.what)),
                Has::No | Has::Instead(_) => refused == Err(row.refusal(engine)),
            };
            if !is_right {
                wrong.push(format!("{}, {engine:?}: {refused:?}", row.what));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let unseen: Vec<_> = rows().map(|row| row.what).filter(|what| !seen.contains(what)).collect();
    assert_eq!(unseen, ["tier of face `client` for the clients of a log"], "a row without a sample");
}

/// The systems that the samples begin with have nothing that is missing.
#[test]
fn what_is_had_is_not_refused() {
    for (name, case) in [
        ("plain", plain()),
        ("on paths", on_paths()),
        ("switches", switches()),
        ("names", names()),
        ("nodes", nodes()),
        ("with files", with_files()),
        ("browse", browse()),
    ] {
        for engine in [Engine::Sim, Engine::Live] {
            assert_eq!(case.check(engine), Ok(()), "{name}: {engine:?}");
        }
    }
    assert_eq!(browse_two().check(Engine::Sim), Ok(()));
    let mut clients = plain();
    let hedge = Some(Hedge::Quantile(0.95));
    let (timeout, deadline) = (Some(Span(SECOND)), Some(Span(2 * SECOND)));
    let (retries, abandoned) = (Some(retries()), Abandoned::Served);
    clients.system.rules = Rules { timeout, deadline, retries, hedge, abandoned, ..Rules::default() };
    clients.system.hosts[0].server = dropping();
    for engine in [Engine::Sim, Engine::Live] {
        assert_eq!(clients.check(engine), Ok(()), "clients that ask more than once: {engine:?}");
    }
}

/// The page of limits shows the table as it is.
#[test]
fn the_page_of_limits_shows_the_table() {
    let page = include_str!("../../../../docs/limits.md");
    assert!(page.contains(&markdown()), "docs/limits.md is to have:\n{}", markdown());
}
