//! The tables of the page, and the picture of the strategies against the rate.

use std::fmt::Write;

use super::readings::{AS_READ, together};
use super::search::{Cell, ethernet, meiko, workstation};
use super::settings::{CROSSING_RATES, ETHERNET_RATES, NODES, UNIFORM_RATES, at, lent, sized};
use super::{LARGE, LOCALITY, MEAN, POLICY, ROTATION, SMALL, SWEB, SWEB_ON_ETHERNET, Setting, Study, workstations};
use crate::answers::Answers;
use crate::number::{Number, interval, scaled};
use crate::picture::{Figure, Series, curves};
use crate::verdict::positive;

const MEIKO_WAYS: [(&str, &str); 3] = [("rotation", ROTATION), ("locality", LOCALITY), ("SWEB", SWEB)];
const ETHERNET_WAYS: [(&str, &str); 3] = [("rotation", ROTATION), ("locality", LOCALITY), ("SWEB", SWEB_ON_ETHERNET)];

/// The file of the picture.
const PICTURE: &str = "non-uniform";

/// Where the picture of that name goes in the text.
pub(super) fn place_of(file: &str) -> String {
    format!("picture: {file}")
}

/// The sections of the page after the verdicts.
pub(super) fn text(study: &Study) -> String {
    [fit(study), maxima(study), bound(study), nodes(study), strategies(study)].concat()
}

fn fit(study: &Study) -> String {
    let Study { found, published, .. } = study;
    let (connections, patience_s) = (found.connections, found.patience_s);
    format!(
        "\n## What is fitted\n\n\
         One reading is fitted, to one number: a workstation takes **{connections} connections** at once, the least with which \
         four of them answer all of {} requests of 1.5 MB per second for 30 s. A node of the Meiko, with twice the memory, takes \
         {}. Every other figure on this page is a test of it. With any number of connections and clients that lose patience \
         instead, the least patience that does it is {patience_s} s (reading 12 in the last table).\n",
        published.of("ethernet_30s"),
        2 * connections
    )
}

/// The most requests per second, as table 1 may have had them.
fn maxima(study: &Study) -> String {
    let mut text = String::from(
        "\n## The most requests per second (table 1)\n\nThe largest whole number of requests per second of which none fails in \
         any of ten replications.\n\n| machines | 1 kB, 30 s | 1 kB, 120 s | 1.5 MB, 30 s | 1.5 MB, 120 s | bound by their \
         formula, 1.5 MB |\n|---|---|---|---|---|---|\n",
    );
    let cells = [(SMALL, 30), (SMALL, 120), (LARGE, 30), (LARGE, 120)];
    let most = |cell: Cell| study.found.most(AS_READ.0, cell).map_or("-".into(), |rate| rate.to_string());
    for (nodes, name) in (1..).zip(NODES) {
        let row = cells.map(|(size, seconds)| most(meiko(nodes, size, seconds))).join(" | ");
        let bound = study.bounds[1].value(&sized(LARGE, name), "throughput_max");
        let bound = bound.map_or("-".into(), |bound| format!("{bound:.1}"));
        let _ = writeln!(text, "| Meiko, {name} | {row} | {bound} |");
    }
    let alone = cells.map(|(size, seconds)| most(workstation(size, seconds))).join(" | ");
    let row = cells.map(|(size, seconds)| most(ethernet(size, seconds))).join(" | ");
    let _ = writeln!(text, "| one workstation | {alone} | - |\n| four workstations | {row} | - |");
    let of = |key: &str| study.published.of(key);
    let _ = writeln!(
        text,
        "| *printed: Meiko, 6* | | | | *{}* | *{} and {}* |\n| *printed: four workstations* | | | *{} (fitted)* | *{}* | |\n\n\
         Of one workstation section 1 says {} to {} requests per second, of files whose size it does not say.",
        of("meiko_120s"),
        of("bound_rotation"),
        of("bound_locality"),
        of("ethernet_30s"),
        of("ethernet_120s"),
        of("alone_low"),
        of("alone_high")
    );
    text
}

/// Nodes of `sustained.toml`; all requests that do not come to the owner of their file may be redirected.
const SUSTAINING: f64 = 6.0;
const MEMORY: &str = "system.server.memory.size";

/// What six nodes serve while more comes than they can do, beside the bound.
fn bound(study: &Study) -> String {
    let mut text = String::from(
        "\n## The bound against the simulator\n\n\
         The formula of section 3.3 (as theory's answer to [sustained](../../experiments/sweb-1996/sustained.toml)) counts the \
         time that a request takes of a node, its processor and its disk one after the other, and no memory. Below is what six \
         nodes serve in 120 s while 40 requests of 1.5 MB come in each second, more than they can do. Without memory the \
         simulator may still be above the bound: there a node computes for one request while its disk reads for another. \
         O, what a redirection costs the node that makes it, is 0 in the simulator and in section \
         3.3 (\"about 0\"); section 4.3 has 4 ms \
         for it, and then the bound is lower by what the second column says.\n\n\
         | strategy | bound, O = 0 (/s) | bound, O = 4 ms (/s) | sim without memory (/s) | of the bound, O = 0 \
         | sim with 24 MB a node (/s) |\n|---|---|---|---|---|---|\n",
    );
    let run = study.of("sustained");
    let redirection_s = study.published.of("redirection") / 1e3;
    for (name, policy) in MEIKO_WAYS {
        let without = [(POLICY, policy), (MEMORY, "1 B")];
        let limit = study.bounds[0].value(&without, "throughput_max");
        let of = |memory: &'static str| run.number(&[(POLICY, policy), (MEMORY, memory)], "throughput");
        let share = of("1 B").zip(limit).map(|(served, limit)| format!("{:.2}", served.value / limit));
        let redirected = if policy == ROTATION { 0.0 } else { 1.0 - 1.0 / SUSTAINING };
        let costly = limit.map_or("-".into(), |limit| {
            let processing_s = SUSTAINING / limit + redirected * redirection_s;
            format!("{:.2}", SUSTAINING / processing_s)
        });
        let limit = limit.map_or("-".into(), |limit| format!("{limit:.2}"));
        let [bare, with_memory] = ["1 B", "24 MB"].map(|memory| interval(of(memory), 2));
        let _ = writeln!(
            text,
            "| {name} | {limit} | {costly} | {bare} | {} | {with_memory} |",
            share.unwrap_or("-".into())
        );
    }
    text
}

fn nodes(study: &Study) -> String {
    let mut text = String::from(
        "\n## Response time and drops against nodes (table 2)\n\n**Meiko**, 16 requests per second for 30 s. The response \
         time is of what is answered; the other share is dropped.\n\n\
         | nodes | 1 kB (s) | dropped (%) | 1.5 MB (s) | dropped (%) |\n\
         |---|---|---|---|---|\n",
    );
    let run = study.of("nodes");
    for nodes in NODES {
        let of = |size, metric: &str| run.number(&sized(size, nodes), metric);
        let cells = [SMALL, LARGE]
            .map(|size| format!("{} | {}", interval(of(size, MEAN), 3), percent(of(size, "error_ratio"))));
        let _ = writeln!(text, "| {nodes} | {} |", cells.join(" | "));
    }
    text + &workstations::text(study)
}

fn strategies(study: &Study) -> String {
    let mut text = String::from(
        "\n## Strategies (tables 3 and 4)\n\n**Non-uniform sizes, Meiko, 30 s: mean response time (s)**\n\n| requests/s | \
         rotation | locality | SWEB | SWEB / rotation | SWEB / locality | dropped by any (%) |\n|---|---|---|---|---|---|---|\n",
    );
    let run = study.of("non-uniform");
    for rate in CROSSING_RATES {
        let settings = MEIKO_WAYS.map(|(_, policy)| at(policy, &together(rate)));
        let [rotation, locality, sweb] = settings.each_ref().map(|of| lent(of));
        let mean = |of: &[Setting<'_>]| interval(run.number(of, MEAN), 3);
        let ratios = [&rotation, &locality].map(|other| interval(run.ratio(MEAN, &sweb, other), 2));
        let dropped = [&rotation, &locality, &sweb].map(|of| run.value(of, "error_ratio").unwrap_or(0.0));
        let dropped = 100.0 * dropped.into_iter().fold(0.0, f64::max);
        let means = [&rotation, &locality, &sweb].map(|of| mean(of)).join(" | ");
        let _ = writeln!(text, "| {rate} | {means} | {} | {dropped:.1} |", ratios.join(" | "));
    }
    let _ = write!(text, "\n{}\n[{}]\n", crossings(study), place_of(PICTURE));
    text +=
        "\n**One hot file: 8 requests/s for 45 s, six nodes**\n\n| | rotation | locality | SWEB |\n|---|---|---|---|\n";
    let skewed = MEIKO_WAYS.map(|(_, policy)| interval(study.mean("skewed", &[(POLICY, policy)]), 3)).join(" | ");
    let of = |key: &str| study.published.of(key);
    let (rotation, locality) = (of("skewed_rotation"), of("skewed_locality"));
    let _ = writeln!(text, "| mean response time (s) | {skewed} |\n| *printed* | *{rotation}* | *{locality}* | |");
    let uniform = [
        ("Uniform sizes, 1.5 MB, Meiko, 30 s", "burst", MEIKO_WAYS, &UNIFORM_RATES[..]),
        (
            "Uniform sizes, 1.5 MB, four workstations on a shared Ethernet, 30 s",
            "shared-ethernet",
            ETHERNET_WAYS,
            &ETHERNET_RATES[..],
        ),
        (
            "Clients on the other coast, 1.5 MB, four workstations, 30 s",
            "far-clients",
            ETHERNET_WAYS,
            &ETHERNET_RATES[..2],
        ),
    ];
    for (title, run, ways, rates) in uniform {
        let _ = write!(text, "\n**{title}: mean response time (s)**\n\n");
        text += "| requests/s | rotation | locality | SWEB | locality / rotation | SWEB / rotation |\n\
                 |---|---|---|---|---|---|\n";
        for rate in rates {
            let [rotation, locality, sweb] = ways.map(|(_, policy)| at(policy, &together(*rate)));
            let means = [&rotation, &locality, &sweb].map(|of| interval(study.mean(run, &lent(of)), 3));
            let ratio =
                |one: &[(&'static str, String)]| interval(study.of(run).ratio(MEAN, &lent(one), &lent(&rotation)), 2);
            let ratios = [ratio(&locality), ratio(&sweb)].join(" | ");
            let _ = writeln!(text, "| {rate} | {} | {ratios} |", means.join(" | "));
        }
    }
    text
}

/// At which rates SWEB is faster than each other strategy, and from which on it always is.
fn crossings(study: &Study) -> String {
    let run = study.of("non-uniform");
    let of = |(name, other): (&str, &'static str)| {
        let at = |wanted: bool| {
            let rates = CROSSING_RATES.iter().filter(|rate| faster(run, other, **rate) == Some(wanted));
            let rates: Vec<String> = rates.map(u32::to_string).collect();
            if rates.is_empty() { "no rate".into() } else { format!("{} requests/s", rates.join(", ")) }
        };
        let crossing = match crossing(run, other) {
            Some(rate) => format!("it is always faster from {rate} requests/s on"),
            None => "there is no rate from which on it always is".into(),
        };
        format!("SWEB is faster than {name} at {}, and slower at {}; {crossing}.\n", at(true), at(false))
    };
    OTHERS.map(of).concat()
}

/// The strategies that SWEB is compared with.
const OTHERS: [(&str, &str); 2] = [("the rotation", ROTATION), ("locality", LOCALITY)];

/// Whether SWEB is faster than another strategy at a rate, by the whole interval of their difference.
fn faster(run: &Answers, other: &'static str, rate: u32) -> Option<bool> {
    let [sweb, other] = [SWEB, other].map(|policy| at(policy, &together(rate)));
    positive(run.paired(MEAN, &lent(&other), &lent(&sweb))).holds
}

/// The lowest rate at which, and above which, SWEB is faster than another strategy.
pub(super) fn crossing(run: &Answers, other: &'static str) -> Option<u32> {
    CROSSING_RATES.iter().rev().take_while(|rate| faster(run, other, **rate) == Some(true)).last().copied()
}

/// Mean response times of the three strategies over the rate, those of `live` beside them, and where SWEB begins to pay.
pub(super) fn figures(study: &Study, live: Vec<Series>) -> Vec<Figure> {
    let title = match live.is_empty() {
        true => "Mean response time, sizes of 100 B to 1.5 MB",
        false => "Mean response time, sizes of 100 B to 1.5 MB; dashed: live",
    };
    let series = MEIKO_WAYS.iter().enumerate().map(|(colour, (name, policy))| {
        let point = |rate: &u32| {
            let mean = study.mean("non-uniform", &lent(&at(policy, &together(*rate))))?;
            Some((f64::from(*rate), mean.value))
        };
        Series {
            name: (*name).into(),
            published: false,
            colour,
            points: CROSSING_RATES.iter().filter_map(point).collect(),
        }
    });
    let mut series: Vec<Series> = series.chain(live).collect();
    series.extend(marks(study, &series));
    vec![Figure { file: PICTURE, title, svg: curves(title, "requests per second", "seconds", &series) }]
}

/// Upright lines at the rates from which on SWEB is always faster than another strategy, as high as the curves.
fn marks(study: &Study, curves: &[Series]) -> Vec<Series> {
    let heights = || curves.iter().flat_map(|one| &one.points).map(|point| point.1);
    let (lowest, highest) = (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max));
    let mark = |(colour, (name, other)): (usize, (&str, &'static str))| {
        let rate = crossing(study.of("non-uniform"), other)?;
        let points = [lowest, highest].map(|height| (f64::from(rate), height)).into();
        let name = format!("faster than {name}: from {rate}/s");
        Some(Series { name, published: true, colour: MEIKO_WAYS.len() + colour, points })
    };
    OTHERS.into_iter().enumerate().filter_map(mark).collect()
}

/// In percent.
fn percent(share: Option<Number>) -> String {
    interval(scaled(share, 100.0), 1)
}
