//! What the text says of each test, as comparisons of simulated figures.
//!
//! Near means within 15 %. The most requests per second of a set-up is a number that ten replications agree on, so it has no
//! interval.

use super::readings::together;
use super::search::{Cell, ethernet, meiko};
use super::settings::{CROSSING_RATES, ETHERNET_RATES, NODES, TOLERANCE, UNIFORM_RATES, at, lent, sized};
use super::{LARGE, LOCALITY, MEAN, POLICY, ROTATION, SMALL, SWEB, SWEB_ON_ETHERNET, Study, workstations};
use crate::finding::Finding;
use crate::number::{Number, interval, known, quotient, range};
use crate::verdict::{Comparison, at_least, below, inside, near, near_number};

/// Rates of non-uniform sizes that are light, and those that are heavy ("rps >= 20"), as far as nothing is refused.
const LIGHT: [u32; 3] = [5, 10, 15];
const HEAVY: [u32; 6] = [20, 25, 30, 40, 60, 80];

pub(super) fn all(study: &Study) -> Vec<Finding> {
    let mut all = maxima(study);
    all.extend(nodes(study));
    all.extend(workstations::findings(study));
    all.extend(strategies(study));
    all
}

/// The mean response time of one strategy over that of another, replication by replication.
fn ratio(study: &Study, run: &str, rate: u32, one: &'static str, other: &'static str) -> Option<Number> {
    let [one, other] = [one, other].map(|policy| at(policy, &together(rate)));
    study.of(run).ratio(MEAN, &lent(&one), &lent(&other))
}

fn maxima(study: &Study) -> Vec<Finding> {
    let printed = |key: &str| study.published.of(key);
    let of = |cell: Cell| study.most(cell);
    let shown = |number: Option<Number>| interval(number, 0);
    // At six nodes of the Meiko and at the workstations.
    let bursts = [SMALL, LARGE].into_iter().flat_map(|size| {
        let pairs = [[meiko(6, size, 30), meiko(6, size, 120)], [ethernet(size, 30), ethernet(size, 120)]];
        pairs.map(|[burst, long]| quotient(of(burst), of(long)))
    });
    let bursts: Vec<Option<Number>> = bursts.collect();
    let cells = [(SMALL, 30), (SMALL, 120), (LARGE, 30), (LARGE, 120)];
    let speed_ups = cells.map(|(size, seconds)| quotient(of(meiko(6, size, seconds)), of(meiko(1, size, seconds))));
    let all = |numbers: &[Option<Number>]| numbers.iter().map(|of| interval(*of, 2)).collect::<Vec<_>>().join(", ");
    vec![
        Finding {
            place: "4.1",
            claim: "Four workstations take one request of 1.5 MB per second for 120 s (within 15 %)",
            comparisons: vec![near_number(of(ethernet(LARGE, 120)), printed("ethernet_120s"), TOLERANCE)],
            ours: format!("{} /s", shown(of(ethernet(LARGE, 120)))),
            why: "places that hold a burst of 30 s hold a longer queue of slower arrivals too; what the Ethernet carries is the \
                  printed rate.",
        },
        Finding {
            place: "4.1",
            claim: "Six nodes of the Meiko take 16 requests of 1.5 MB per second for 120 s (within 15 %)",
            comparisons: vec![near_number(of(meiko(6, LARGE, 120)), printed("meiko_120s"), TOLERANCE)],
            ours: format!("{} /s", shown(of(meiko(6, LARGE, 120)))),
            why: "the files fit into the memory of six nodes, so that sockets and queues are the limit.",
        },
        Finding {
            place: "4.1",
            claim: "The maximum of a short test is much higher than that of a long one (at least 1.2 times)",
            comparisons: bursts.iter().map(|ratio| at_least(*ratio, 1.2)).collect(),
            ours: all(&bursts),
            why: "with small files a node has room for less than a second's work of its processor.",
        },
        Finding {
            place: "4.1, table 1",
            claim: "Six nodes take significantly more than one (at least twice as much)",
            comparisons: speed_ups.iter().map(|ratio| at_least(*ratio, 2.0)).collect(),
            ours: all(&speed_ups),
            why: "what they share limits them.",
        },
    ]
}

fn nodes(study: &Study) -> Vec<Finding> {
    let run = study.of("nodes");
    let of = |size: &'static str, nodes: &'static str, metric: &str| run.number(&sized(size, nodes), metric);
    let ratio = |size: &'static str, one: &'static str, other: &'static str| {
        run.ratio(MEAN, &sized(size, one), &sized(size, other))
    };
    let from_two = NODES[2..].iter().map(|&nodes| ratio(SMALL, nodes, "2"));
    let from_two: Vec<Option<Number>> = from_two.collect();
    let falls = NODES.windows(2).map(|pair| ratio(LARGE, pair[1], pair[0]));
    let falls: Vec<Option<Number>> = falls.collect();
    let all = |numbers: &[Option<Number>]| numbers.iter().map(|of| interval(*of, 2)).collect::<Vec<_>>().join(", ");
    let speed_up = ratio(LARGE, "1", "6");
    let errors = |nodes| of(LARGE, nodes, "error_ratio");
    vec![
        Finding {
            place: "4.1, table 2",
            claim: "Small files: several nodes are much faster than one (two take at most 0.75 of the time)",
            comparisons: vec![below(ratio(SMALL, "2", "1"), known(0.75))],
            ours: interval(ratio(SMALL, "2", "1"), 2),
            why: "one node has time enough for them.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "Small files: the response time is the same from two nodes on (within 15 %)",
            comparisons: from_two.iter().map(|ratio| near(*ratio, known(1.0), 1.0, TOLERANCE)).collect(),
            ours: format!("{} of two nodes'", all(&from_two)),
            why: "the requests of a second start at the same instant and share the processors, so that each further node helps; \
                  reading 9 spreads them.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "Files of 1.5 MB: each further node makes the response time shorter",
            comparisons: falls.iter().map(|ratio| below(*ratio, known(1.0))).collect(),
            ours: format!("{} of one node less", all(&falls)),
            why: "nodes that refuse what they cannot take are fast for the others.",
        },
        Finding {
            place: "4.1, table 2",
            claim: "Files of 1.5 MB: six nodes are more than six times as fast as one",
            comparisons: vec![below(known(6.0), speed_up)],
            ours: interval(speed_up, 1),
            why: "of what one node is offered, it refuses a large part, which counts no response time.",
        },
        Finding {
            place: "4.1",
            claim: "One node drops almost half of the requests or more (at least 0.4)",
            comparisons: vec![at_least(errors("1"), 0.4)],
            ours: interval(errors("1"), 2),
            why: "its queue has room for most of a burst.",
        },
        Finding {
            place: "4.1",
            claim: "Six nodes answer every request of the same load",
            comparisons: vec![is_none(errors("6"))],
            ours: interval(errors("6"), 2),
            why: "see table 1 below.",
        },
    ]
}

/// Whether none was seen, which is all that they can say of their tests too.
fn is_none(share: Option<Number>) -> Comparison {
    Comparison::of(share, known(0.0), |share, _| Some(share.value == 0.0))
}

fn strategies(study: &Study) -> Vec<Finding> {
    let printed = |key: &str| study.published.of(key);
    let non_uniform = |rates: &[u32]| -> Vec<Option<Number>> {
        let of = |rate: &u32| [ROTATION, LOCALITY].map(|other| ratio(study, "non-uniform", *rate, SWEB, other));
        rates.iter().flat_map(of).collect()
    };
    let (light, heavy) = (non_uniform(&LIGHT), non_uniform(&HEAVY));
    let of_others: Vec<Option<Number>> = [LOCALITY, ROTATION]
        .into_iter()
        .flat_map(|other| HEAVY.map(|rate| ratio(study, "non-uniform", rate, SWEB, other)))
        .collect();
    let skewed = |policy: &'static str| study.mean("skewed", &[(POLICY, policy)]);
    let skew = study.of("skewed").ratio(MEAN, &[(POLICY, LOCALITY)], &[(POLICY, ROTATION)]);
    let (fast, slow) = (printed("skewed_rotation"), printed("skewed_locality"));
    let far: Vec<Option<Number>> =
        ETHERNET_RATES[..2].iter().map(|rate| ratio(study, "far-clients", *rate, LOCALITY, ROTATION)).collect();
    let alike: Vec<Option<Number>> = UNIFORM_RATES[..4]
        .iter()
        .flat_map(|rate| [LOCALITY, SWEB].map(|one| ratio(study, "burst", *rate, one, ROTATION)))
        .collect();
    let on_ethernet: Vec<Option<Number>> = ETHERNET_RATES
        .iter()
        .flat_map(|rate| [LOCALITY, SWEB_ON_ETHERNET].map(|one| ratio(study, "shared-ethernet", *rate, one, ROTATION)))
        .collect();
    let gain = |low: f64, high: f64| move |number: &Option<Number>| inside(*number, 1.0 - high, 1.0 - low);
    debug_assert!(HEAVY.iter().all(|rate| CROSSING_RATES.contains(rate)));
    vec![
        Finding {
            place: "4.2, table 3",
            claim: "Non-uniform sizes, light load (5 to 15 requests/s): SWEB is like the two others (within 15 %)",
            comparisons: light.iter().map(|ratio| near(*ratio, known(1.0), 1.0, TOLERANCE)).collect(),
            ours: range(&light),
            why: "the requests of a second start together, so that even a light load has queues of a moment.",
        },
        Finding {
            place: "4.2, table 3",
            claim: "Non-uniform sizes, 20 requests/s and more: SWEB is faster than both",
            comparisons: of_others.iter().map(|ratio| below(*ratio, known(1.0))).collect(),
            ours: range(&heavy),
            why: "its reports are as old as two batches, and its own choices raise no load but the processor's.",
        },
        Finding {
            place: "4.2, table 3",
            claim: "The gain is 15 to 60 % of the response time (20 to 80 requests/s)",
            comparisons: heavy.iter().map(gain(printed("gain_low"), printed("gain_high"))).collect(),
            ours: range(&heavy),
            why: "all files fit into memory here, so that no disk is loaded, and rotation spreads what sockets carry evenly.",
        },
        Finding {
            place: "4.2",
            claim: "One hot file: 3.7 s by rotation, 81.4 s by locality (within 15 %)",
            comparisons: vec![
                near_number(skewed(ROTATION), fast, TOLERANCE),
                near_number(skewed(LOCALITY), slow, TOLERANCE),
            ],
            ours: format!("{} and {} s", interval(skewed(ROTATION), 2), interval(skewed(LOCALITY), 2)),
            why: "the file is in memory after its first reading, and then the limit is a node's sockets; reading 2a halves it.",
        },
        Finding {
            place: "4.2",
            claim: "One hot file: locality takes many times as long as rotation (at least half of their ratio)",
            comparisons: vec![below(known(0.5 * slow / fast), skew)],
            ours: interval(skew, 1),
            why: "as above.",
        },
        Finding {
            place: "4.2",
            claim: "Clients on the other coast: locality is more than 10 % faster than rotation",
            comparisons: far.iter().map(|ratio| below(*ratio, known(1.0 - printed("far_gain")))).collect(),
            ours: range(&far),
            why: "the way across the continent is most of the time under each strategy.",
        },
        Finding {
            place: "4.2",
            claim: "Uniform sizes on the Meiko (4 to 16 requests/s): the three strategies are alike (within 15 %)",
            comparisons: alike.iter().map(|ratio| near(*ratio, known(1.0), 1.0, TOLERANCE)).collect(),
            ours: range(&alike),
            why: "locality sends a batch to fewer nodes than rotation does, and files of others cross the sockets of two nodes.",
        },
        Finding {
            place: "4.2, table 4",
            claim: "Uniform sizes on the shared Ethernet: locality pays",
            comparisons: on_ethernet.iter().step_by(2).map(|ratio| below(*ratio, known(1.0))).collect(),
            ours: range(&on_ethernet.iter().step_by(2).copied().collect::<Vec<_>>()),
            why: "files in memory do not cross it.",
        },
        Finding {
            place: "4.2, table 4",
            claim: "Uniform sizes on the shared Ethernet: SWEB exploits locality, as locality alone does (faster than rotation)",
            comparisons: on_ethernet.iter().skip(1).step_by(2).map(|ratio| below(*ratio, known(1.0))).collect(),
            ours: range(&on_ethernet.iter().skip(1).step_by(2).copied().collect::<Vec<_>>()),
            why: "its estimate sees the loads of disks and of networks, and not of the medium that nodes share.",
        },
    ]
}
