//! What a capture holds.

use sojourn_stats::Dimension;

use super::{Description, Facts, Rate, Variable, ascending, hurst, mean, profiled, rate, scv};
use crate::recorded::capture::{Begin, Capture, Connection, End};
use crate::words;

/// What a capture holds: connections and how they went, gaps between their SYNs, durations, bytes.
pub fn describe_capture(capture: &Capture) -> Description {
    let mut facts = Facts::default();
    let all = capture.connections();
    let span_s = capture.span_s();
    facts.group("the capture");
    facts.count("packets", capture.packets());
    facts.count("tcp_packets", capture.tcp_packets());
    facts.count("bytes", capture.bytes());
    facts.number("duration", span_s, "s");
    facts.count("snapped_packets", capture.snapped());

    facts.group("connections");
    let count = |facts: &mut Facts, name: &str, of: &dyn Fn(&Connection) -> bool| {
        facts.count(name, all.iter().filter(|one| of(one)).count() as u64);
    };
    facts.count("connections", all.len() as u64);
    count(&mut facts, "connections_whole", &Connection::is_whole);
    count(&mut facts, "connections_closed", &|one| one.end == End::Closed);
    count(&mut facts, "connections_reset", &|one| one.end == End::Reset);
    count(&mut facts, "connections_unanswered", &|one| one.end == End::Unanswered);
    count(&mut facts, "connections_cut_at_the_beginning", &|one| one.begin == Begin::Before);
    count(&mut facts, "connections_cut_at_the_end", &|one| one.end == End::Open);
    let distinct = |of: &dyn Fn(&Connection) -> String| {
        let mut names: Vec<String> = all.iter().map(of).collect();
        names.sort_unstable();
        names.dedup();
        names.len() as u64
    };
    facts.count("clients", distinct(&|one| one.client.ip().to_string()));
    facts.count("servers", distinct(&|one| one.server.to_string()));
    facts.count("syn_retransmissions", all.iter().map(|one| u64::from(one.syn_retransmissions)).sum());
    facts.count("retransmissions", all.iter().map(|one| u64::from(one.retransmissions)).sum());
    let handshakes = ascending(all.iter().filter_map(|one| one.handshake_ns).map(|ns| ns as f64 / 1e9));
    facts.number("handshake_mean", mean(&handshakes), "s");
    facts.quantiles("handshake", &handshakes, &[0.5, 0.9], "s");

    facts.group("plain HTTP");
    facts.count("http_requests", all.iter().map(|one| u64::from(one.requests)).sum());
    facts.count("http_replies", all.iter().map(|one| u64::from(one.replies)).sum());
    for class in 1..=5u16 {
        let replies = all.iter().filter(|one| one.status.is_some_and(|status| status / 100 == class)).count();
        if replies > 0 {
            facts.count(&format!("first_status_{class}xx"), replies as u64);
        }
    }

    facts.group("gaps between SYNs");
    let openings_s = capture.openings_s();
    facts.number("opening_rate", openings_s.len() as f64 / span_s, "1/s");
    let arrivals = profiled(&openings_s, span_s.max(1e-9), 0.0);
    let gaps_s = capture.gaps_s();
    facts.number("gap_mean", mean(&gaps_s), "s");
    facts.number("gap_scv", scv(&gaps_s), "1");
    // The law is of the gaps to which `fit` takes one.
    let (name, title) = match arrivals.levels.is_empty() {
        true => ("gap", "Gaps between the first SYNs of connections"),
        false => ("gap_at_level_1", "Gaps between the first SYNs of connections, the change of the rate taken out"),
    };
    let gap = Variable::of(name, title, &arrivals.gaps_s, Dimension::Time);
    gap.tell(&mut facts);
    let memory = hurst::of_counts(&openings_s, span_s, &arrivals, 0.0);
    hurst::tell(&memory, &mut facts);

    let mut remarks = Vec::new();
    if !arrivals.levels.is_empty() {
        remarks.push(format!(
            "the rate of openings changes by more than chance: the law of the gaps is of those left when its level over each \
             {} is taken out",
            rate::length_in_words(arrivals.every_s)
        ));
    }
    facts.group("whole connections");
    let whole = || all.iter().filter(|one| one.is_whole());
    let sizes: Vec<f64> = whole().map(|one| one.bytes_to_client as f64).collect();
    let durations: Vec<f64> = whole().map(|one| one.duration_ns as f64 / 1e9).collect();
    facts.number("duration_mean", mean(&durations), "s");
    facts.quantiles("duration", &ascending(durations.iter().copied()), &[0.5, 0.9, 0.99], "s");
    let duration = Variable::of("duration", "Durations of whole connections", &durations, Dimension::Time);
    duration.tell(&mut facts);
    facts.number("size_mean", mean(&sizes), "B");
    facts.quantiles("size", &ascending(sizes.iter().copied()), &[0.5, 0.9, 0.99], "B");
    let size = Variable::of("size", "Bytes from the server in whole connections", &sizes, Dimension::Size);
    size.tell(&mut facts);
    let cut = all.iter().filter(|one| one.begin == Begin::Before || one.end == End::Open).count();
    if cut > 0 {
        remarks.push(format!(
            "{cut} of {} {} cut by the capture's edges: such durations and bytes are left out, since they would look too \
             small, and long connections are missing more often than short ones",
            words::count(all.len(), "connection"),
            words::verb(&cut, "is", "are")
        ));
    }
    for variable in [&gap, &duration, &size] {
        remarks.extend(variable.remarks());
    }
    let over_time = (!openings_s.is_empty()).then(|| Rate::of(&openings_s, span_s.max(1e-9)));
    Description {
        of: "capture",
        facts: facts.all,
        variables: vec![gap, duration, size],
        memory,
        rate: over_time,
        remarks,
        ..Description::default()
    }
}
