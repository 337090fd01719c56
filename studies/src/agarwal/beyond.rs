//! Beside his results: what each other reading changes, how much depends on the network, and what his machines could
//! not do: servers loaded enough for queueing to matter, resolvers that ignore TTLs, a cluster and a server that die.

use std::fmt::Write;

use super::findings::OUTAGES;
use super::{MEAN, NEAREST, POLICIES, POLICY, Runs, Setting};
use crate::answers::Answers;
use crate::finding::{self, Finding};
use crate::number::{Number, interval, range, scaled};
use crate::verdict::{below, positive};

pub(super) fn text(runs: &Runs) -> String {
    let mut text = String::from("## What each reading does\n\n");
    text += "60 processes; each row changes one reading alone (the numbers are those of the readings). A ratio below 1 is a gain \
             of nearest with room; his are 0.51 to 0.64.\n\n";
    text += &compared(runs.of("2-readings"), "reading", &READINGS);
    text += "\nOther ways to be near, beside the others as read:\n\n";
    text += &nearest(runs.of("2-readings"));
    text += "\n## Delays and losses\n\n60 processes; his examples, halved, doubled, and the same inside a region and between \
             regions.\n\n";
    text += &compared(runs.of("3-network"), "network", &NETWORKS);
    text += "\n## Servers loaded enough for queueing to matter\n\n110 processes, unevenly spread; mean response times by the \
             servers' mean work per document.\n\n";
    text += &loaded(runs);
    text += "\nWhat counts as capacity: each cluster can do 100 documents per second, Europe asks for 95, the two others for 50 \
             each, and answers hold for 5 s. Mean response times; round robin and nearest look at no load.\n\n";
    text += &shares(runs.of("8-capacity"));
    text += "\nWith 157 ms, by what the front nodes go by; mean response times.\n\n";
    text += &front_nodes(runs);
    text += "\nReading 35: a front node whose servers have all more than eight requests, until one has two, passes the \
             request on to the cluster that was sent the fewest so, which serves or refuses it. Without losses; mean response \
             times of what is served.\n\n";
    text += &passed_on(runs);
    text += "\n## Resolvers that ignore the TTL\n\nLoaded servers (157 ms); half of the clients of each region are behind a \
             resolver, and clients honour the TTL of 60 s.\n\n";
    text += &resolvers(runs);
    text += "\n## A cluster dies, and a server\n\nIn Europe, 300 s after the start.\n\n";
    text += &outages(runs);
    text += "\n## What he could not see\n\n";
    text += &finding::table(&findings(runs), "he found").replace("he found", "expected");
    text
}

/// The other readings of `2-readings.toml`, in its order, with what they set.
const READINGS: [(&str, &[Setting<'static>]); 14] = [
    ("as read", &[]),
    (
        "3: a quarter of the processes in each region",
        &[("workload.clients.0.processes", "15"), ("workload.clients.1.processes", "15")],
    ),
    ("5: each process has an address of its own", &[("workload.clients.0.machines", "18")]),
    ("11: every round trip in the middle of its range", &[("system.paths.within.rtt", "30 ms")]),
    ("12: the whole loss in each direction", &[("system.paths.within.loss", "10 %")]),
    ("13: independent losses of the same mean", &[("system.paths.within.loss_correlation", "0.0")]),
    ("13: Nistnet's arithmetic, as far as netem tells it", &[("system.paths.within.loss_model", "nistnet")]),
    (
        "12 and 13: independent losses, the whole share in each direction",
        &[("system.paths.within.loss", "10 %"), ("system.paths.within.loss_correlation", "0.0")],
    ),
    ("21: no client gives up", &[("workload.patience", "1 h")]),
    ("TCP of today", &[("system.tcp.stack", "linux-6")]),
    ("10: front nodes by turns", &[("system.tier.front node.policy", "round-robin")]),
    ("10: front nodes draw by remaining capacity", &[("system.tier.front node.policy", "remaining-capacity")]),
    ("19: clients honour the TTL", &[("workload.resolves", "ttl")]),
    ("23: the rate of saturation is the capacity", &[(SHARE, "1.0")]),
];

/// The networks of `3-network.toml`, in its order.
const NETWORKS: [(&str, &[Setting<'static>]); 7] = [
    ("his", &[]),
    ("half the delays", &[("system.paths.within.rtt", "uniform(5 ms, 25 ms)")]),
    ("twice the delays", &[("system.paths.within.rtt", "uniform(20 ms, 100 ms)")]),
    ("no loss", &[("system.paths.within.loss", "0 %")]),
    ("half the losses", &[("system.paths.within.loss", "2.5 %")]),
    ("twice the losses", &[("system.paths.within.loss", "10 %")]),
    ("the same everywhere", &[("system.paths.between.rtt", "uniform(10 ms, 50 ms)")]),
];

/// The settings of a variant, under `policy`.
fn under<'a>(settings: &[Setting<'a>], policy: &'a str) -> Vec<Setting<'a>> {
    settings.iter().copied().chain([(POLICY, policy)]).collect()
}

/// The mean of three ratios, with an interval that is wide enough for any correlation of theirs.
fn middle(numbers: &[Option<Number>]) -> Option<Number> {
    let all: Vec<Number> = numbers.iter().copied().collect::<Option<_>>()?;
    let mean = |of: fn(&Number) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let is_suspect = all.iter().any(|one| one.is_suspect);
    Some(Number { value: mean(|n| n.value), low: mean(|n| n.low), high: mean(|n| n.high), is_suspect })
}

/// Mean response times of the four policies under each of some settings, and the ratio that nearest has to the others.
fn compared(answers: &Answers, what: &str, cases: &[(&str, &[Setting<'static>])]) -> String {
    let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "| {what} | {} | nearest / others (mean of three) | moved by |\n|---|---|---|---|---|---|---|\n",
        names.join(" | ")
    );
    let ratio = |settings: &[Setting<'static>]| {
        let over = |policy: &'static str| answers.ratio(MEAN, &under(settings, NEAREST), &under(settings, policy));
        middle(&POLICIES[..3].iter().map(|(_, policy)| over(policy)).collect::<Vec<_>>())
    };
    let as_read = ratio(cases[0].1);
    for (name, settings) in cases {
        let of = |policy: &'static str| interval(answers.number(&under(settings, policy), MEAN), 2);
        let cells: Vec<String> = POLICIES.iter().map(|(_, policy)| of(policy)).collect();
        let own = ratio(settings);
        let moved = match own.zip(as_read) {
            Some((own, as_read)) if !settings.is_empty() => format!("{:+.2}", own.value - as_read.value),
            _ => "-".into(),
        };
        let _ = writeln!(text, "| {name} | {} | {} | {moved} |", cells.join(" | "), interval(own, 2));
    }
    text
}

/// The other policies that look at distance, each beside the others as read.
fn nearest(answers: &Answers) -> String {
    let ways = [
        ("as read", NEAREST),
        ("24: a reservation holds until the TTL ends", "nearest-with-room(holds = lease)"),
        ("26: `resolve_ip` as printed", "nearest-with-room(unprobed = free-capacity)"),
        ("without any look at room", "nearest"),
    ];
    let mut text = "| nearest | mean response time (s) | over the others (mean of three) |\n|---|---|---|\n".to_owned();
    for (name, policy) in ways {
        let over = |other: &'static str| answers.ratio(MEAN, &[(POLICY, policy)], &[(POLICY, other)]);
        let ratio = middle(&POLICIES[..3].iter().map(|(_, other)| over(other)).collect::<Vec<_>>());
        let mean = interval(answers.number(&[(POLICY, policy)], MEAN), 2);
        let _ = writeln!(text, "| {name} | {mean} | {} |", interval(ratio, 2));
    }
    text
}

/// Of `4-loaded.toml`: the work of a document as written, and its mean with WebStone's list.
const DEMANDS: [(&str, &str); 4] = [
    ("1 ms + 100 ns/B", "2.9 ms (his)"),
    ("20 ms + 1 us/B", "39 ms"),
    ("40 ms + 2 us/B", "78 ms"),
    ("80 ms + 4 us/B", "157 ms"),
];

const SPILL: &str = "nearest-with-room(spill = free-capacity)";

const WAYS: [(&str, &str); 8] = [
    ("random", "random"),
    ("round robin", "round-robin"),
    ("weighted by free capacity", "weighted(by = free-capacity)"),
    ("least load", "least-load"),
    ("nearest, without a look at load", "nearest"),
    ("nearest with room (his)", NEAREST),
    ("nearest with room, the rest by free capacity (ours)", SPILL),
    ("the busiest clients to the largest cluster", "busiest-to-largest"),
];

const DEMAND: &str = "system.server.demand";

/// The share of the rate of saturation that counts as capacity.
const SHARE: &str = "system.tier.front node.reports.capacity.at";

const BETWEEN: &str = "system.paths.between.rtt";

/// Of `8-capacity.toml`.
const SHARES: [&str; 6] = ["1.0", "0.9", "0.8", "0.7", "0.6", "0.5"];

fn shares(answers: &Answers) -> String {
    let ways = [WAYS[5], WAYS[6], ("free capacity", FREE)];
    let heads = ways.map(|(name, _)| format!("{name} (ms)"));
    let mut text = format!(
        "| other regions | share of saturation | {} | round robin (ms) | nearest (ms) |\n|---|---|---|---|---|---|---|\n",
        heads.join(" | ")
    );
    for (rtt, farther) in [("30 ms", "10 ms"), ("80 ms", "60 ms")] {
        let of = |policy, share: Option<&'static str>| {
            let share = share.map(|share| (SHARE, share));
            let settings: Vec<Setting<'_>> = share.into_iter().chain([(BETWEEN, rtt), (POLICY, policy)]).collect();
            interval(scaled(answers.number(&settings, MEAN), 1e3), 1)
        };
        for share in SHARES {
            let cells = ways.map(|(_, policy)| of(policy, Some(share)));
            let others = [WAYS[1], WAYS[4]].map(|(_, policy)| of(policy, None));
            let _ = writeln!(text, "| {farther} farther | {share} | {} | {} |", cells.join(" | "), others.join(" | "));
        }
    }
    text
}

fn loaded(runs: &Runs) -> String {
    let answers = runs.of("4-loaded");
    let heads: Vec<String> = DEMANDS.iter().map(|(_, mean)| format!("{mean}: mean (s), utilisation")).collect();
    let mut text = format!("| policy | {} |\n|---|---|---|---|---|\n", heads.join(" | "));
    let mut row = |name: &str, under: &[Setting<'static>]| {
        let cell = |demand: &'static str| {
            let settings: Vec<Setting<'_>> = under.iter().copied().chain([(DEMAND, demand)]).collect();
            let of = |metric| answers.number(&settings, metric);
            format!("{}, {}", interval(of(MEAN), 2), interval(of("utilization"), 2))
        };
        let _ = writeln!(text, "| {name} | {} |", DEMANDS.map(|(demand, _)| cell(demand)).join(" | "));
    };
    for (name, policy) in WAYS {
        row(name, &[(POLICY, policy)]);
    }
    for (name, policy) in [WAYS[2], WAYS[5], WAYS[6], WAYS[7]] {
        row(&format!("{name}; capacity at saturation (23)"), &[(POLICY, policy), (SHARE, "1.0")]);
    }
    text
}

const FRONT: &str = "system.tier.front node.policy";

const FREE: &str = "free-capacity";

/// The policies of front nodes where servers are loaded most.
const FRONT_NODES: [(&str, &str); 4] = [
    ("free capacity (as read)", FREE),
    ("turns", "round-robin"),
    ("least connections", "least-connections"),
    ("10: the busiest clients to the largest server with room", "busiest-to-largest"),
];

/// A front node that passes requests on while all its servers have more than so many; empty: it does not.
const LIMIT: &str = "system.tier.front node.limit";
const PASSES_ON: [(&str, &str); 2] = [("no", ""), ("yes", "{ connections = 8, return = 2 }")];

/// The policies of the DNS beside them.
const BEFORE_FRONT_NODES: [(&str, &str); 4] = [WAYS[1], WAYS[4], WAYS[5], WAYS[6]];

fn front_nodes(runs: &Runs) -> String {
    let heads = BEFORE_FRONT_NODES.map(|(name, _)| format!("{name} (s)"));
    let mut text = format!("| front nodes by | {} |\n|---|---|---|---|---|\n", heads.join(" | "));
    for (name, front) in FRONT_NODES {
        let cell = |policy| interval(runs.of("4-loaded").number(&heaviest(policy, front), MEAN), 2);
        let _ = writeln!(text, "| {name} | {} |", BEFORE_FRONT_NODES.map(|(_, policy)| cell(policy)).join(" | "));
    }
    text
}

/// Reading 35: what passing requests on to another cluster makes of it, without losses.
fn passed_on(runs: &Runs) -> String {
    let heads = BEFORE_FRONT_NODES.map(|(name, _)| format!("{name} (s) | served (/s)"));
    let mut refused = Vec::new();
    let mut text = format!("| passed on | {} |\n|---|---|---|---|---|---|---|---|---|\n", heads.join(" | "));
    for (name, limit) in PASSES_ON {
        let of =
            |policy: &str, metric: &str| runs.of("9-passed-on").number(&[(POLICY, policy), (LIMIT, limit)], metric);
        let cell =
            |policy: &str| format!("{} | {}", interval(of(policy, MEAN), 2), interval(of(policy, "throughput"), 1));
        let _ = writeln!(text, "| {name} | {} |", BEFORE_FRONT_NODES.map(|(_, policy)| cell(policy)).join(" | "));
        refused.push(range(&BEFORE_FRONT_NODES.map(|(_, policy)| scaled(of(policy, "error_ratio"), 100.0))));
    }
    let _ = writeln!(
        text,
        "\nA process of WebStone that is refused asks again at once: with passing on {} % of all attempts are refused, \
         without {} %.",
        refused[1], refused[0]
    );
    text
}

/// The settings of a variant with the most work per document.
fn heaviest<'a>(policy: &'a str, front: &'a str) -> [Setting<'a>; 3] {
    [(DEMAND, DEMANDS[3].0), (POLICY, policy), (FRONT, front)]
}

const TTLS: [(&str, &str); 3] = [
    ("honour it", "honoured"),
    ("keep answers for 300 s", "at-least(300 s)"),
    ("keep answers for an hour", "ignored(1 h)"),
];

fn resolvers(runs: &Runs) -> String {
    let answers = runs.of("5-resolvers");
    let ways = [WAYS[1], WAYS[2], WAYS[4], WAYS[5]];
    let heads = ways.map(|(name, _)| format!("{name} (s)"));
    let mut text = format!("| resolvers | {} |\n|---|---|---|---|---|\n", heads.join(" | "));
    for (name, ttl) in TTLS {
        let cell = |policy: &'static str| {
            interval(answers.number(&[("system.resolver.0.ttl", ttl), (POLICY, policy)], MEAN), 2)
        };
        let _ = writeln!(text, "| {name} | {} |", ways.map(|(_, policy)| cell(policy)).join(" | "));
    }
    text
}

fn outages(runs: &Runs) -> String {
    let mut text =
        "| what dies | for | policy | errors (%) | mean response time (s) |\n|---|---|---|---|---|\n".to_owned();
    let whole = ("the cluster", "6-site-fails", &[WAYS[1], WAYS[2], WAYS[5], WAYS[6]][..]);
    let half = ("one of its servers", "7-server-fails", &[WAYS[1], WAYS[5]][..]);
    for (what, run, ways) in [whole, half] {
        for (length, until) in OUTAGES {
            for (name, policy) in ways {
                let of = |metric| runs.of(run).number(&[("fault.0.until", until), (POLICY, policy)], metric);
                let errors = interval(scaled(of("error_ratio"), 100.0), 3);
                let _ = writeln!(text, "| {what} | {length} | {name} | {errors} | {} |", interval(of(MEAN), 2));
            }
        }
    }
    text
}

/// What the extensions say, as comparisons.
pub(super) fn findings(runs: &Runs) -> Vec<Finding> {
    let loaded = runs.of("4-loaded");
    let at = |demand: &'static str, policy: &'static str| [(DEMAND, demand), (POLICY, policy)];
    let mean = |demand, policy| loaded.number(&at(demand, policy), MEAN);
    let shown = |policies: &[&'static str]| {
        let of = |policy: &&'static str| interval(mean(DEMANDS[3].0, policy), 2);
        format!("157 ms: {} s", policies.iter().map(of).collect::<Vec<_>>().join(" and "))
    };
    let slower = |demand: &'static str, worse: &'static str, better: &'static str| {
        positive(loaded.paired(MEAN, &at(demand, worse), &at(demand, better)))
    };
    let heavy = [DEMANDS[2].0, DEMANDS[3].0];
    let held = |ttl: &'static str| [("system.resolver.0.ttl", ttl), (POLICY, NEAREST)];
    let resolvers = runs.of("5-resolvers");
    vec![
        Finding {
            place: "beyond",
            claim: "With loaded servers, nearest without a look at load is slower than nearest with room",
            comparisons: heavy.map(|demand| slower(demand, "nearest", NEAREST)).to_vec(),
            ours: shown(&["nearest", NEAREST]),
            why: "clients far from every cluster wait longer for the network than for a server.",
        },
        Finding {
            place: "beyond",
            claim: "With loaded servers, nearest with room is not slower than round robin",
            comparisons: heavy.map(|demand| !slower(demand, NEAREST, "round-robin")).to_vec(),
            ours: shown(&[NEAREST, "round-robin"]),
            why: "it does not come from the DNS alone: the table of front nodes shows how much comes from them.",
        },
        Finding {
            place: "beyond",
            claim: "With loaded servers, front nodes that go by free capacity are slower than turns under every policy",
            comparisons: BEFORE_FRONT_NODES
                .map(|(_, of)| positive(loaded.paired(MEAN, &heaviest(of, FREE), &heaviest(of, "round-robin"))))
                .to_vec(),
            ours: format!(
                "157 ms, nearest with room: {} and {} s",
                interval(loaded.number(&heaviest(NEAREST, FREE), MEAN), 2),
                interval(loaded.number(&heaviest(NEAREST, "round-robin"), MEAN), 2)
            ),
            why: "servers that are full all the time have nothing free to go by.",
        },
        Finding {
            place: "beyond",
            claim: "Resolvers that keep answers for an hour make nearest with room slower",
            comparisons: vec![below(
                resolvers.number(&held("honoured"), MEAN),
                resolvers.number(&held("ignored(1 h)"), MEAN),
            )],
            ours: format!(
                "{} and {} s",
                interval(resolvers.number(&held("honoured"), MEAN), 2),
                interval(resolvers.number(&held("ignored(1 h)"), MEAN), 2)
            ),
            why: "an answer that was near when it was given stays near.",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_three_is_as_wide_and_as_doubtful_as_they_are() {
        let number = |value: f64, is_suspect| Some(Number { value, low: value - 0.1, high: value + 0.2, is_suspect });
        let mean = middle(&[number(1.0, false), number(2.0, false), number(6.0, true)]).unwrap();
        assert!((mean.value - 3.0).abs() < 1e-12 && (mean.low - 2.9).abs() < 1e-12 && (mean.high - 3.2).abs() < 1e-12);
        assert!(mean.is_suspect && !middle(&[number(1.0, false)]).unwrap().is_suspect);
        assert!(middle(&[number(1.0, false), None]).is_none());
    }
}
