//! The network of workstations of tables 1 and 2: one to four of them on a shared Ethernet, by the words that the text has for
//! them and the Meiko alike.

use std::fmt::Write;

use super::readings::together;
use super::search::{ethernet, workstation};
use super::settings::{ALL_LARGE, ALL_SMALL, NODES, TOLERANCE};
use super::{ARRIVALS, LARGE, MEAN, SMALL, Setting, Study};
use crate::finding::Finding;
use crate::number::{Number, interval, known, quotient, scaled};
use crate::verdict::{at_least, below, near};

/// The experiment, and its numbers of workstations.
const RUN: &str = "nodes-ethernet";
const STATIONS: [&str; 4] = [NODES[0], NODES[1], NODES[2], NODES[3]];
/// Requests per second: as read, and what they sustain.
const RATE: u32 = 11;
const SUSTAINED: u32 = 1;

/// A metric of so many workstations that are asked for files of one of the two sizes.
fn number(study: &Study, size: &str, rate: u32, stations: &str, metric: &str) -> Option<Number> {
    let arrivals = together(rate);
    study.of(RUN).number(&settings(size, &arrivals, stations), metric)
}

fn ratio(study: &Study, size: &str, one: &str, other: &str) -> Option<Number> {
    let arrivals = together(RATE);
    study.of(RUN).ratio(MEAN, &settings(size, &arrivals, one), &settings(size, &arrivals, other))
}

fn settings<'a>(size: &str, arrivals: &'a str, stations: &'a str) -> [Setting<'a>; 3] {
    let size = if size == SMALL { ALL_SMALL } else { ALL_LARGE };
    [("workload.size", size), (ARRIVALS, arrivals), ("system.tier.node.targets.servers", stations)]
}

/// What the text says of tables 1 and 2, of the workstations.
pub(super) fn findings(study: &Study) -> Vec<Finding> {
    let printed = |key: &str| study.published.of(key);
    let all = |numbers: &[Option<Number>]| numbers.iter().map(|of| interval(*of, 2)).collect::<Vec<_>>().join(", ");
    let alone = [LARGE, SMALL].map(|size| study.most(workstation(size, 120)));
    let cells = [(SMALL, 30), (SMALL, 120), (LARGE, 30), (LARGE, 120)];
    let speed_ups = cells
        .map(|(size, seconds)| quotient(study.most(ethernet(size, seconds)), study.most(workstation(size, seconds))));
    let from_two = STATIONS[2..].iter().map(|stations| ratio(study, SMALL, stations, "2")).collect::<Vec<_>>();
    let falls = STATIONS.windows(2).map(|pair| ratio(study, LARGE, pair[1], pair[0])).collect::<Vec<_>>();
    let dropped = number(study, LARGE, RATE, "1", "error_ratio");
    vec![
        Finding {
            place: "1",
            claim: "A single workstation takes 5 to 10 requests per second (sustained, of a size between 1.5 MB and 1 kB)",
            comparisons: vec![!at_least(alone[0], printed("alone_high")), at_least(alone[1], printed("alone_low"))],
            ours: alone.map(|rate| interval(rate, 0)).join(" to ") + " /s",
            why: "what a request costs a processor is a reading (3).",
        },
        Finding {
            place: "4.1, table 1",
            claim: "Four workstations take significantly more than one (at least twice as much)",
            comparisons: speed_ups.iter().map(|ratio| at_least(*ratio, 2.0)).collect(),
            ours: all(&speed_ups),
            why: "of large files the Ethernet that they share carries no more for four than for one.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "Workstations, small files: several are much faster than one (two take at most 0.75 of the time)",
            comparisons: vec![below(ratio(study, SMALL, "2", "1"), known(0.75))],
            ours: interval(ratio(study, SMALL, "2", "1"), 2),
            why: "one has time enough for them.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "Workstations, small files: the response time is the same from two on (within 15 %)",
            comparisons: from_two.iter().map(|ratio| near(*ratio, known(1.0), 1.0, TOLERANCE)).collect(),
            ours: format!("{} of two's", all(&from_two)),
            why: "as on the Meiko: the requests of a second start at the same instant, so that each further processor helps.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "Workstations, files of 1.5 MB: each further one makes the response time shorter",
            comparisons: falls.iter().map(|ratio| below(*ratio, known(1.0))).collect(),
            ours: format!("{} of one less", all(&falls)),
            why: "the Ethernet carries 0.83 of such files per second, whatever the number of workstations; each further one only \
                  takes more requests into the queue before it.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "One workstation drops almost half of the requests or more (at least 0.4)",
            comparisons: vec![at_least(dropped, 0.4)],
            ours: interval(dropped, 2),
            why: "its queue has room for most of a burst.",
        },
    ]
}

/// Table 2, of the workstations.
pub(super) fn text(study: &Study) -> String {
    let mut text = format!(
        "\n**Workstations** ([file](../../experiments/sweb-1996/{RUN}.toml)), {RATE} requests per second for 30 s, the rate to \
         which the connections of four are fitted; and {SUSTAINED} per second, which is the other reading.\n\n\
         | workstations | 1 kB, {RATE}/s (s) | dropped (%) | 1.5 MB, {RATE}/s (s) | dropped (%) | 1.5 MB, {SUSTAINED}/s (s) | \
         dropped (%) |\n|---|---|---|---|---|---|---|\n"
    );
    for stations in STATIONS {
        let cells = [(SMALL, RATE), (LARGE, RATE), (LARGE, SUSTAINED)].map(|(size, rate)| {
            let of = |metric| number(study, size, rate, stations, metric);
            format!("{} | {}", interval(of(MEAN), 3), interval(scaled(of("error_ratio"), 100.0), 1))
        });
        let _ = writeln!(text, "| {stations} | {} |", cells.join(" | "));
    }
    text
}
