//! What happens at one instant happens in the order that the crate's documentation says.

use sojourn_model::system::Face;
use sojourn_stats::Span;

use crate::support::{Scenario, cluster, estimate, queue, run_plan};

const SECOND: u64 = 1_000_000_000;

fn value(scenario: &Scenario, metric: &str) -> f64 {
    let report = run_plan(scenario, 1, Span(100 * SECOND), Span::ZERO).unwrap();
    estimate(&report, metric).value().unwrap_or_else(|| panic!("{metric}"))
}

/// One request each 500 ms, half a second of work: each departs at the instant of the next one's coming, every second one at
/// that of a poll. The poll still finds it there, so that the next two requests go to the other server.
#[test]
fn a_poll_finds_what_departs_at_its_instant() {
    let server = "discipline = \"fcfs\"\ndemand = \"500 ms\"";
    for face in [Face::Gateway, Face::Switch] {
        let mut scenario = cluster("constant(500 ms)", "least-connections-lowest-id", 2, server);
        (scenario.tier().face, scenario.tier().polled) = (face, Some(Span(SECOND)));
        let share = value(&scenario, "share_1");
        assert!((share - 0.5).abs() < 0.02, "{}: {share}", face.name());
    }
}

/// One request each second, one second of work, and room for one: each finds that the one before has gone, whether it comes
/// as planned or as a message over a link.
#[test]
fn a_departure_makes_room_for_what_comes_at_its_instant() {
    for rtt in [Span::ZERO, Span(10_000_000)] {
        let mut scenario = queue("constant(1 s)", "discipline = \"fcfs\"\ndemand = \"1 s\"\nlimits = { jobs = 1 }");
        scenario.system.network.rtt = rtt;
        assert_eq!(value(&scenario, "error_ratio"), 0.0, "{rtt}");
    }
}
