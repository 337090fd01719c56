//! The page's tables, each a function of the study.

use std::fmt::Write;

use super::published::{METRICS, USERS};
use super::{Cells, Study};
use crate::answers::Answers;
use crate::number::{Number, difference, interval, scaled};
use crate::picture::percent;
use crate::verdict::positive;

/// The time of all runs.
pub(super) fn cost(study: &Study) -> String {
    let appendix = ["2-policies", "3-servers", "4-windows", "5-bryhni"];
    let elapsed: f64 = appendix.iter().map(|name| study.ours[name].elapsed_s).sum();
    let variants: usize = appendix.iter().map(|name| study.ours[name].variants()).sum();
    let simulated_s = variants as f64 * 3.0 * 600.0;
    let files: f64 = appendix.iter().map(|name| study.ours[name].sum("file_throughput")).sum::<f64>() * 3.0 * 600.0;
    format!(
        "The {variants} variants of Appendix D and Tables 5.6 and 5.7, three replications of 600 s each, took \
            {elapsed:.0} s: \
         {:.0} simulated seconds per second, {:.2} million files per second.\n",
        simulated_s / elapsed,
        files / elapsed / 1e6,
    )
}

/// The deviation of the latencies, in a sentence.
pub(super) fn in_short(cells: &Cells) -> String {
    let Some((_, ratios)) = cells.by_metric.first() else { return String::new() };
    let median = |loads: std::ops::Range<usize>| {
        let mut of: Vec<f64> = ratios.iter().flat_map(|row| row[loads.clone()].iter().flatten().copied()).collect();
        of.sort_by(f64::total_cmp);
        percent(of[of.len() / 2])
    };
    format!(
        "Mean latencies deviate by {} (median of all configurations) from 640 users up, and by {} below, where his clusters \
         are slower than their servers' delays explain: see \"Why the numbers still differ\".",
        median(13..16),
        median(0..13)
    )
}

/// The number of cells within each deviation, by metric and load.
pub(super) fn nearness(cells: &Cells) -> String {
    let mut text =
        "Deviation of ours from the published mean, over all configurations of Appendix D whose rows are usable.\n\n\
                    | metric | users | cells | median deviation | within 15 % | within 25 % | within a factor of \
                    2 |\n\
                    |---|---|---|---|---|---|---|\n"
            .to_owned();
    for (metric, ratios) in &cells.by_metric {
        for (name, loads) in [("1 to 140", 0..8), ("200 to 480", 8..13), ("640 to 960", 13..16)] {
            let mut of: Vec<f64> = ratios.iter().flat_map(|row| row[loads.clone()].iter().flatten().copied()).collect();
            of.sort_by(f64::total_cmp);
            let within = |limit: f64| {
                let near = of.iter().filter(|ratio| (**ratio - 1.0).abs() <= limit).count();
                format!("{:.0} %", 100.0 * near as f64 / of.len() as f64)
            };
            let twice = of.iter().filter(|ratio| (0.5..=2.0).contains(*ratio)).count() as f64 / of.len() as f64;
            let _ = writeln!(
                text,
                "| {metric} | {name} | {} | {} | {} | {} | {:.0} % |",
                of.len(),
                percent(of[of.len() / 2]),
                within(0.15),
                within(0.25),
                twice * 100.0
            );
        }
    }
    text
}

/// The settings that identify a variant in its experiment: keys and values.
pub(super) type Settings = &'static [(&'static str, &'static str)];

/// The systems of Tables 5.1 to 5.7 in the ordering runs: his name, its name in his files, our settings.
pub(super) const SYSTEMS: [(&str, &str, &str, Settings); 7] = [
    ("RR-G", "rr", "", &[("policy", "round-robin"), ("face", "gateway")]),
    ("XSIZE-G", "xsize", "1", &[("policy", "transmitted-size"), ("face", "gateway")]),
    (
        "CONN-G",
        "conn",
        "1",
        &[("policy", "least-connections"), ("information", "polled every 1 s"), ("face", "gateway")],
    ),
    ("RT-G", "rt", "1", &[("policy", "round-trip"), ("face", "gateway")]),
    ("RAN-G", "ran", "", &[("policy", "random"), ("face", "gateway")]),
    ("XSIZE-G 0.1 s", "xsize", "0.1", &[("policy", "transmitted-size(window = 100 ms)"), ("face", "gateway")]),
    ("RT-G 0.1 s", "rt", "0.1", &[("policy", "round-trip(window = 100 ms)"), ("face", "gateway")]),
];

/// Our settings for one of [`SYSTEMS`].
pub(super) fn system(name: &str) -> Settings {
    SYSTEMS.iter().find(|(of, ..)| *of == name).map(|(.., settings)| *settings).expect("one of the systems")
}

/// Latency and connections at 640 users beside Tables 5.1 to 5.7.
pub(super) fn at_640(study: &Study) -> String {
    let ours = &study.ours["7-order"];
    let mut text = "Four servers, s = 1.143; ours from 30 replications with 95 % intervals (the same users for every \
            policy).\n\n\
                    | system | mean, published | mean, ours | deviation | p90, published | p90, ours | deviation | \
                    connections (p10, mean, p90), published | ours | imbalance, published | ours |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, policy, window, settings) in SYSTEMS {
        let summary = |column: &str| study.summary.number(&[("policy", policy), ("window_s", window)], column);
        let imbalance = |column: &str| {
            study.imbalance.number(&[("policy", policy), ("window_s", window), ("sigma", "1.143")], column)
        };
        let value = |metric: &str| ours.value(settings, metric);
        let deviation = |his: Option<f64>, ours: Option<f64>| match (his, ours) {
            (Some(his), Some(ours)) => percent(ours / his),
            _ => "-".into(),
        };
        let (mean, p90) = (summary("mean_s"), summary("p90_s"));
        let _ = writeln!(
            text,
            "| {name} | {} ({} to {}) | {} | {} | {} | {} | {} | {}, {}, {} | {}, {}, {} | {} | {} |",
            number(mean, 3),
            number(summary("ci_low_s"), 3),
            number(summary("ci_high_s"), 3),
            interval(ours.number(settings, "response_time_mean"), 3),
            deviation(mean, value("response_time_mean")),
            number(p90, 3),
            interval(ours.number(settings, "response_time_p90"), 3),
            deviation(p90, value("response_time_p90")),
            number(imbalance("p10_connections"), 0),
            number(imbalance("mean_connections"), 0),
            number(imbalance("p90_connections"), 0),
            number(value("attached_p10"), 0),
            number(value("attached_mean"), 0),
            number(value("attached_p90"), 0),
            number(imbalance("imbalance_index"), 2),
            interval(ours.number(settings, "attached_imbalance_index"), 3),
        );
    }
    text
}

/// The verdict of an interval of a difference on "the first is larger".
fn judged(paired: Option<Number>) -> &'static str {
    match positive(paired).holds {
        Some(true) => "confirmed",
        Some(false) => "refuted",
        None => "undecided",
    }
}

/// Each pair of his order, with a verdict.
pub(super) fn order(study: &Study) -> String {
    let ours = &study.ours["7-order"];
    let pairs = [
        ("XSIZE-G", "RT-G", "neighbours"),
        ("RT-G", "RAN-G", "neighbours"),
        ("RAN-G", "RR-G", "neighbours (his Table 5.1 has RR above RAN in p90)"),
        ("RR-G", "CONN-G", "neighbours"),
        ("XSIZE-G", "RAN-G", "groups"),
        ("XSIZE-G", "RR-G", "groups"),
        ("RT-G", "RR-G", "groups"),
        ("RAN-G", "CONN-G", "groups"),
    ];
    let mut text = "His text: XSIZE > RT > RAN > RR > CONN, for the 90th percentile of latency and for the \
        imbalance index, at 640 users. \
                    Differences of each pair, replication by replication, with 95 % intervals; a pair is \
                    undecided when the interval \
                    holds 0.\n\n| claim | why | p90 (s) | | imbalance index | | mean (s) | \
                    |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (a, b, why) in pairs {
        let _ = write!(text, "| {a} > {b} | {why} |");
        for metric in ["response_time_p90", "attached_imbalance_index", "response_time_mean"] {
            let paired = ours.paired(metric, system(a), system(b));
            let _ = write!(text, " {} | {} |", difference(paired), judged(paired));
        }
        text.push('\n');
    }
    text
}

/// Three systems under each reading, beside his published numbers.
pub(super) fn readings(study: &Study) -> String {
    let ours = &study.ours["9-readings"];
    let pages = "{ loner_sigma = 1.143, base_requests = 0.385, references = \"constant(1)\" }";
    let frozen = "{ loner_sigma = 1.143, base_requests = 0.056 }";
    let readings: [(&str, Vec<(&str, &str)>); 7] = [
        ("as frozen", vec![("attached", "session"), ("workload.site", frozen)]),
        ("change 6: attached while thinking", vec![("attached", "until-next"), ("workload.site", frozen)]),
        ("changes 14, 15: pages", vec![("attached", "session"), ("workload.site", pages)]),
        ("both, as adopted", vec![("attached", "until-next"), ("workload.site", pages)]),
        ("Table 3.2 to the letter", vec![("attached", "until-next"), ("workload.site", "{ loner_sigma = 1.143 }")]),
        ("a server per connection", vec![("level", "connection")]),
        ("time-out of 180 ms", vec![("server", "servers/apache-1.143-180ms.toml")]),
    ];
    let systems: [(&str, Settings, Option<f64>); 3] = [
        ("RR-G, 640 users", &[("policy", "round-robin"), ("servers", "4")], summary(study, "rr", "")),
        ("CONN-G, 640 users", &[("policy", "least-connections")], summary(study, "conn", "1")),
        ("one server, 960 users", &[("policy", "round-robin"), ("servers", "1")], one_server_960(study)),
    ];
    let mut text = "Mean latency (s), p90 (s), attached users per server and objects per second, 10 \
        replications; his mean in the first row. Each reading \
                    is argued in READINGS.md.\n\n| reading |"
        .to_owned();
    for (name, ..) in systems {
        let _ = write!(text, " {name}: mean | p90 | attached | objects/s |");
    }
    let _ = write!(text, "\n|---|{}\n| *published* |", "---|---|---|---|".repeat(systems.len()));
    for (_, _, mean) in systems {
        let _ = write!(text, " {} | | | |", mean.map_or("-".into(), |mean| format!("{mean:.2}")));
    }
    text.push('\n');
    for (name, reading) in readings {
        let _ = write!(text, "| {name} |");
        for (_, system, _) in systems {
            let wanted = [reading.as_slice(), system].concat();
            let number = |metric: &str, digits: usize| {
                ours.value(&wanted, metric).map_or("-".into(), |value| format!("{value:.digits$}"))
            };
            let (mean, p90) = (number("response_time_mean", 2), number("response_time_p90", 2));
            let (attached, objects) = (number("attached_mean", 0), number("throughput", 0));
            let _ = write!(text, " {mean} | {p90} | {attached} | {objects} |");
        }
        text.push('\n');
    }
    let bryhni = |attached: &str| {
        let wanted = [("http", "1.0"), ("attached", attached)];
        interval(ours.number(&wanted, "response_time_mean"), 3)
    };
    let published = study
        .simulation
        .number(&[("policy", "bryhni-conn"), ("http", "1.0"), ("users", "640"), ("metric", "latency_s")], "mean");
    let _ = writeln!(
        text,
        "\nHTTP/1.0 (BRYHNI-CONN-G, 640 users; mean {} s in D.97): {} s with users attached while they have a request (as \
         frozen), {} s attached for the session and until the next (change 8).",
        number(published, 3),
        bryhni("while-connected"),
        bryhni("until-next"),
    );
    text
}

fn summary(study: &Study, policy: &str, window: &str) -> Option<f64> {
    study.summary.number(&[("policy", policy), ("window_s", window)], "mean_s")
}

fn one_server_960(study: &Study) -> Option<f64> {
    study.validation.number(&[("table", "C.1"), ("users", "960")], "mean")
}

/// What `9-causes.toml` says of lost packets: the share of replies that wait, and how long (s).
pub(super) const TIMEOUTS: f64 = 0.067;
pub(super) const TIMEOUT_S: f64 = 3.0;
/// Replies of an object: a page and its embedded files, as READINGS.md derives.
const REPLIES: f64 = 1.385;

/// His one server's mean latency at 100 Mbit/s less that at 10 Mbit/s (s), in the mean of 60 to 140 users.
fn slower_on_the_faster(study: &Study) -> Option<f64> {
    let mean =
        |table: &str, users: u32| study.validation.number(&[("table", table), ("users", &users.to_string())], "mean");
    let loads = USERS.into_iter().filter(|users| (60..=140).contains(users));
    let differences: Vec<f64> =
        loads.map(|users| Some(mean("C.10", users)? - mean("C.1", users)?)).collect::<Option<_>>()?;
    Some(differences.iter().sum::<f64>() / differences.len() as f64)
}

/// The effects of waiting for lost packets, and of the statistics of the last window, at 640 users.
pub(super) fn causes(study: &Study) -> String {
    let (ours, causes) = (&study.ours["7-order"], &study.ours["9-causes"]);
    let mut text = format!(
        "**Timeouts.** His one server is slower on the faster network: C.10 is {:.2} s above C.1 in the mean of 60 to \
         140 users. His clusters are on that network, and at light load much slower than their servers' delays explain. \
         No link does that; lost packets would. With {:.1} % of the replies waiting {TIMEOUT_S} s for one ({:.2} s per \
         object of {REPLIES} replies: set from C.1 and C.10, not from what it is compared with here), at 640 users:\n\n\
         | system | mean, published | ours | | with timeouts | | p90, published | ours | | with timeouts | |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
        slower_on_the_faster(study).unwrap_or(f64::NAN),
        100.0 * TIMEOUTS,
        TIMEOUTS * TIMEOUT_S * REPLIES,
    );
    for (name, policy, window, settings) in SYSTEMS {
        let wanted: Vec<(&str, &str)> = settings.iter().copied().filter(|(key, _)| *key != "face").collect();
        let information = wanted.iter().any(|(key, _)| *key == "information");
        let immediate: &[(&str, &str)] = if information { &[] } else { &[("information", "")] };
        let waiting = mean_and_p90(causes, &[wanted.as_slice(), immediate, &[("users", "640")]].concat());
        text += &beside(study, name, (policy, window), mean_and_p90(ours, settings), waiting);
    }
    text += "\n**Which window, which ties.** What is left of transmitted size and round trip: they may decide on \
        the last complete window; give a \
             server without a sample the mean 0; or settle ties by a draw instead of by connections, as at the \
             start of every window (all with \
             timeouts).\n\n\
             | system | mean, published | as adopted | | this reading | | p90, published | as adopted | | this \
             reading | | imbalance, \
             published | as adopted | this reading |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    const DRAWN: (&str, &str) = ("information", "polled every 600 s");
    let mut nearest: Vec<Nearest> = Vec::new();
    for (name, policy, window, plain, reading) in [
        (
            "XSIZE-G, last window",
            "xsize",
            "1",
            "transmitted-size",
            vec![(
                "policy",
                "transmitted-size(reads = \
            last)",
            )],
        ),
        ("XSIZE-G, ties drawn", "xsize", "1", "transmitted-size", vec![("policy", "transmitted-size"), DRAWN]),
        (
            "XSIZE-G, both",
            "xsize",
            "1",
            "transmitted-size",
            vec![
                (
                    "policy",
                    "transmitted-size(reads = \
            last)",
                ),
                DRAWN,
            ],
        ),
        (
            "XSIZE-G 0.1 s, ties drawn",
            "xsize",
            "0.1",
            "transmitted-size(window = 100 ms)",
            vec![("policy", "transmitted-size(window = 100 ms)"), DRAWN],
        ),
        ("RT-G, last window", "rt", "1", "round-trip", vec![("policy", "round-trip(reads = last)")]),
        (
            "RT-G, last window, ties drawn",
            "rt",
            "1",
            "round-trip",
            vec![
                (
                    "policy",
                    "round-trip(reads = \
            last)",
                ),
                DRAWN,
            ],
        ),
        ("RT-G, unseen is 0", "rt", "1", "round-trip", vec![("policy", "round-trip(unseen = zero)")]),
        (
            "RT-G 0.1 s, ties drawn",
            "rt",
            "0.1",
            "round-trip(window = 100 ms)",
            vec![("policy", "round-trip(window = 100 ms)"), DRAWN],
        ),
    ] {
        let plain = [("policy", plain), ("information", ""), ("users", "640")];
        let reading = [reading.as_slice(), &[("users", "640")]].concat();
        let (first, second) = (mean_and_p90(causes, &plain), mean_and_p90(causes, &reading));
        let row = beside(study, name, (policy, window), first, second);
        let his =
            study.imbalance.number(&[("policy", policy), ("window_s", window), ("sigma", "1.143")], "imbalance_index");
        let index = |wanted: &[(&str, &str)]| number(causes.value(wanted, "attached_imbalance_index"), 2);
        let _ = writeln!(text, "{} {} | {} | {} |", row.trim_end(), number(his, 2), index(&plain), index(&reading));
        let p90 = study.summary.number(&[("policy", policy), ("window_s", window)], "p90_s");
        if let (Some(his), Some([_, adopted]), Some([_, changed])) = (p90, first, second) {
            let found = Nearest { system: (policy, window), name, adopted: adopted / his, changed: changed / his };
            found.among(&mut nearest);
        }
    }
    let sentence = |of: &Nearest| format!("{} ({}, as adopted {})", of.name, percent(of.changed), percent(of.adopted));
    let nearest: Vec<String> = nearest.iter().map(sentence).collect();
    text + &format!("\nOf these readings the nearest to his p90 are: {}.\n", nearest.join("; "))
}

/// The reading of a system whose p90 is nearest to his: that p90, and the adopted reading's, over his.
struct Nearest {
    system: (&'static str, &'static str),
    name: &'static str,
    adopted: f64,
    changed: f64,
}

impl Nearest {
    /// Takes the place of a reading of the same system that is further off.
    fn among(self, all: &mut Vec<Nearest>) {
        match all.iter_mut().find(|of| of.system == self.system) {
            Some(known) if self.changed.ln().abs() < known.changed.ln().abs() => *known = self,
            Some(_) => {}
            None => all.push(self),
        }
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

fn mean_and_p90(answers: &Answers, wanted: &[(&str, &str)]) -> Option<[f64; 2]> {
    Some([answers.value(wanted, "response_time_mean")?, answers.value(wanted, "response_time_p90")?])
}

/// A row: his mean and p90 of a system (policy, window), each with two of ours and their deviations.
fn beside(
    study: &Study,
    name: &str,
    (policy, window): (&str, &str),
    first: Option<[f64; 2]>,
    second: Option<[f64; 2]>,
) -> String {
    let mut text = format!("| {name} |");
    for (place, column) in ["mean_s", "p90_s"].into_iter().enumerate() {
        let his = study.summary.number(&[("policy", policy), ("window_s", window)], column);
        let _ = write!(text, " {} |", his.map_or("-".into(), |his| format!("{his:.3}")));
        for value in [first.map(|of| of[place]), second.map(|of| of[place])] {
            let shown = value.map_or("-".into(), |value| format!("{value:.3}"));
            let deviation = his.zip(value).map_or("-".into(), |(his, value)| percent(value / his));
            let _ = write!(text, " {shown} | {deviation} |");
        }
    }
    text + "\n"
}

/// Throughput at the balancer's limit.
pub(super) fn balancer(study: &Study) -> String {
    let ours = &study.ours["8-balancer"];
    let modes = [
        ("gateway", "nat", "NAT, 75 us per packet both ways"),
        ("switch", "single-rewriting", "single rewriting, 75 us per inbound packet"),
        ("switch", "ip-tunnelling", "IP tunnelling, 75 us per inbound packet, 20 B more"),
        ("switch", "mac-forwarding", "MAC forwarding, 10 us per inbound packet"),
    ];
    let users = ["320", "640", "960", "1280", "1920", "2560", "3200"];
    // A segment and its acknowledgement.
    let (segment, packet_s) = (1000.0, 75e-6);
    let mut text = format!(
        "The balancer as one core with a queue instead of a delay; 32 servers, hub of 1 Gbit/s, s = 1.143. A NAT \
         balancer that spends {:.0} us on each packet, and has as many acknowledgements as segments of {segment} B, can \
         pass {:.1} MB/s; a switch sees only half of the packets.\n\n| mode | metric |",
        1e6 * packet_s,
        1e-6 * segment / (2.0 * packet_s),
    );
    for users in users {
        let _ = write!(text, " {users} |");
    }
    text += &format!("\n|---|---|{}\n", "---|".repeat(users.len()));
    for (face, mode, name) in modes {
        for (metric, unit, scale) in [("byte_throughput", "MB/s", 1e-6), ("response_time_mean", "latency, s", 1.0)] {
            let _ = write!(text, "| {name} | {unit} |");
            for users in users {
                let wanted = [("face", face), ("system.tier.0.balancer.mode", mode), ("users", users)];
                let _ = write!(text, " {} |", interval(scaled(ours.number(&wanted, metric), scale), 2));
            }
            text.push('\n');
        }
    }
    text
}

/// Every cell's deviation, a table per metric.
pub(super) fn deviations(study: &Study, cells: &Cells) -> String {
    let mut text = String::new();
    for ((his, _, title), (_, ratios)) in METRICS.iter().zip(&cells.by_metric) {
        let _ = write!(text, "### {title}\n\n| configuration |");
        for users in USERS {
            let _ = write!(text, " {users} |");
        }
        let _ = writeln!(text, "\n|---|{}", "---|".repeat(USERS.len()));
        for (configuration, row) in study.configurations.iter().zip(ratios) {
            let _ = write!(text, "| {} |", configuration.name());
            for ratio in row {
                let _ = write!(text, " {} |", ratio.map_or("-".into(), percent));
            }
            text.push('\n');
        }
        let _ = writeln!(text, "\n({his} of his tables.)\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Nearest;

    #[test]
    fn of_each_system_the_nearest_reading_is_named() {
        let mut all = Vec::new();
        for (system, name, changed) in
            [("a", "far below", 0.5), ("a", "near above", 1.2), ("a", "above", 1.5), ("b", "b", 3.0)]
        {
            Nearest { system: (system, ""), name, adopted: 1.0, changed }.among(&mut all);
        }
        assert_eq!(all.iter().map(|of| of.name).collect::<Vec<_>>(), ["near above", "b"]);
    }
}
