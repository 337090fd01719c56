//! Connections of servers: who has one, for how long, and what is refused without one.

use sojourn_model::System;
use sojourn_model::system::{Clients, Directions, Fault, Line, Medium, Path, Paths, Site, Subject, Trouble};
use sojourn_sim::Report;
use sojourn_stats::{Dimension, Law, Span, Time};
use sojourn_traffic::{Open, Workload};

use crate::files::{SECOND, documents, nodes, value};
use crate::support::{Scenario, open, run_plan};

const MEMORY: &str = "memory = { size = \"1 MB\", cache = \"lru\" }\n";

/// `count` nodes that serve what comes to them, of so many connections each.
fn limited(count: usize, connections: u32) -> System {
    nodes(count, "stay", 1, &format!("{MEMORY}limits = {{ connections = {connections} }}\n"))
}

/// Requests for one file of 1 MB for 100 s, whose clients wait for so long.
fn played(system: System, arrivals: &str, patience: Option<&str>) -> Report {
    let Workload::Open(plan) = open(arrivals) else { unreachable!() };
    let patience = patience.map(|text| Law::parse(text, Dimension::Time).unwrap());
    let workload = Workload::Open(Open { sizes: documents(1), patience, ..plan });
    run_plan(&Scenario { workload, system }, 1, Span(100 * SECOND), Span::ZERO).unwrap()
}

fn refused(report: &Report) -> f64 {
    value(report, "error_ratio")
}

#[test]
fn one_more_than_a_server_has_is_refused() {
    let batches = "batches(n = 6, every = 10 s)";
    for (connections, share) in [(1, 5.0 / 6.0), (2, 4.0 / 6.0), (5, 1.0 / 6.0), (6, 0.0)] {
        let found = refused(&played(limited(1, connections), batches, None));
        assert!((found - share).abs() < 1e-9, "{connections} connections: {found} refused, due {share}");
    }
    // Each node has its own, and those of another are no help to a client that asks one address only.
    let found = refused(&played(limited(2, 2), batches, None));
    assert!((found - 2.0 / 6.0).abs() < 1e-9, "{found}");
    let mut system = limited(2, 2);
    system.tiers[0].policy = "address-hash".into();
    let of_one = refused(&played(system.clone(), "batches(n = 4, every = 10 s)", None));
    assert!((of_one - 0.5).abs() < 1e-9, "{of_one}: all are sent to one node");
    system.rules.fails_over = true;
    let of_both = refused(&played(system, "batches(n = 4, every = 10 s)", None));
    assert!(of_both.abs() < 1e-9, "{of_both}: the next address has room");
}

/// Of a file in memory the server is done after 20 ms; its reply takes a second of a shared link. A server with one connection
/// takes every third request of two a second, since that of 0 s is through after 1.02 s.
#[test]
fn a_connection_lasts_until_the_reply_has_arrived() {
    let mut system = limited(1, 1);
    system.media = vec![Medium { name: "ethernet".into(), rate: 8e6 }];
    let path = Path {
        rtt: Law::constant(0.0),
        loss: Directions::default(),
        loss_correlation: 0.0,
        loss_model: Default::default(),
        rate: Directions::default(),
        medium: Some(0),
        line: Line::default(),
    };
    system.paths = Paths::new(1, |_, _| Ok::<_, ()>(path.clone())).unwrap();
    system.clients = vec![Clients::alone(0, 1)];
    system.sites = vec![Site { name: "here".into(), region: 0 }];
    system.hosts.iter_mut().for_each(|host| host.site = Some(0));
    system.tiers.iter_mut().skip(1).flat_map(|tier| &mut tier.seats).for_each(|seat| seat.site = Some(0));
    let found = refused(&played(system, "constant(500 ms)", None));
    assert!((found - 2.0 / 3.0).abs() < 0.01, "{found}");
}

#[test]
fn a_connection_is_free_when_its_request_ends_in_any_way() {
    // Clients that leave after 100 ms, while the disk reads: nothing is ever kept in memory, and nothing refused.
    let left = played(limited(1, 1), "constant(500 ms)", Some("100 ms"));
    assert!(refused(&left).abs() < 1e-9, "{}", refused(&left));
    assert!((value(&left, "abandoned_ratio") - 1.0).abs() < 1e-9);
    // What a restart has lost holds nothing: the one of 49.8 s empties the memory, so that the request of 50.0 s is still being
    // read at 50.1 s, and no other fails.
    let mut system = limited(1, 1);
    let restart = |at_ms: u64| Fault {
        at: Time(at_ms * 1_000_000),
        until: None,
        subject: Subject::Host(0),
        trouble: Trouble::Restarted,
    };
    system.faults = vec![restart(49_800), restart(50_100)];
    let report = played(system, "constant(500 ms)", None);
    // Requests of 0.5 s to 99.5 s.
    assert!((refused(&report) - 1.0 / 199.0).abs() < 1e-9, "{}", refused(&report));
}
