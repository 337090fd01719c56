//! The page's tables, each a function of the study.

use std::fmt::Write;

use sojourn_stats::Estimate;

use super::published::{METRICS, USERS};
use super::{Cells, Study};
use crate::answers::Paired;
use crate::picture::percent;

/// What the whole set took.
pub(super) fn cost(study: &Study) -> String {
    let appendix = ["2-policies", "3-servers", "4-windows", "5-bryhni"];
    let elapsed: f64 = appendix.iter().map(|name| study.ours[name].elapsed_s).sum();
    let variants: usize = appendix.iter().map(|name| study.ours[name].variants()).sum();
    let simulated_s = variants as f64 * 3.0 * 600.0;
    let files: f64 = appendix.iter().map(|name| study.ours[name].sum("file_throughput")).sum::<f64>() * 3.0 * 600.0;
    format!(
        "The {variants} variants of Appendix D and Tables 5.6 and 5.7, three replications of 600 s each, took {elapsed:.0} s: \
         {:.0} simulated seconds per second, {:.2} million files per second.\n",
        simulated_s / elapsed,
        files / elapsed / 1e6,
    )
}

/// How many cells are how near, by metric and load.
pub(super) fn nearness(cells: &Cells) -> String {
    let mut text =
        "Deviation of ours from the published mean, over all configurations of Appendix D whose rows are usable.\n\n\
                    | metric | users | cells | median deviation | within 15 % | within 25 % | within a factor of 2 |\n\
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

/// The systems of Tables 5.1 to 5.7 that the ordering runs have: his name, what it is called in his files, our settings.
pub(super) const SYSTEMS: [(&str, &str, &str, &[(&str, &str)]); 7] = [
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
pub(super) fn system(name: &str) -> &'static [(&'static str, &'static str)] {
    SYSTEMS.iter().find(|(of, ..)| *of == name).map(|(.., settings)| *settings).expect("one of the systems")
}

/// Latency and connections at 640 users beside Tables 5.1 to 5.7.
pub(super) fn at_640(study: &Study) -> String {
    let ours = &study.ours["7-order"];
    let mut text =
        "Four servers, s = 1.143; ours from 30 replications with 95 % intervals (the same users for every policy).\n\n\
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
        let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
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
            interval(ours.estimate(settings, "response_time_mean"), 3),
            deviation(mean, value("response_time_mean")),
            number(p90, 3),
            interval(ours.estimate(settings, "response_time_p90"), 3),
            deviation(p90, value("response_time_p90")),
            number(imbalance("p10_connections"), 0),
            number(imbalance("mean_connections"), 0),
            number(imbalance("p90_connections"), 0),
            number(value("attached_p10"), 0),
            number(value("attached_mean"), 0),
            number(value("attached_p90"), 0),
            number(imbalance("imbalance_index"), 2),
            interval(ours.estimate(settings, "attached_imbalance_index"), 3),
        );
    }
    text
}

/// An estimate with its interval.
pub(super) fn interval(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        Some(Estimate::Sampled { value, ci_low, ci_high, .. }) => {
            format!("{value:.digits$} ({ci_low:.digits$} to {ci_high:.digits$})")
        }
        Some(other) => other.value().map_or("too few".into(), |value| format!("{value:.digits$}")),
        None => "-".into(),
    }
}

/// A paired difference as text.
pub(super) fn difference(paired: Option<Paired>) -> String {
    match paired {
        Some(Paired { mean, low, high, .. }) => format!("{mean:+.3} ({low:+.3} to {high:+.3})"),
        None => "-".into(),
    }
}

/// What an interval of a difference says of "the first is larger".
pub(super) fn judged(paired: Option<Paired>) -> &'static str {
    match paired.and_then(Paired::sign) {
        Some(true) => "confirmed",
        Some(false) => "refuted",
        None => "undecided",
    }
}

/// Each pair that his order names, judged.
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
    let mut text = "His text: XSIZE > RT > RAN > RR > CONN, for the 90th percentile of latency and for the imbalance index, at 640 users. \
                    Differences of each pair, replication by replication, with 95 % intervals; a pair is undecided when the interval \
                    holds 0.\n\n| claim | why | p90 (s) | | imbalance index | | mean (s) | |\n|---|---|---|---|---|---|---|---|\n"
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
    let mut text = "The balancer as one core with a queue instead of a delay; 32 servers, hub of 1 Gbit/s, s = 1.143. A NAT balancer that spends \
                    75 us on each packet, and has as many acknowledgements as segments of 1,000 B, can pass 6.7 MB/s; a switch sees only \
                    half of the packets.\n\n| mode | metric |"
        .to_owned();
    for users in users {
        let _ = write!(text, " {users} |");
    }
    text += &format!("\n|---|---|{}\n", "---|".repeat(users.len()));
    for (face, mode, name) in modes {
        for (metric, unit, scale) in [("byte_throughput", "MB/s", 1e-6), ("response_time_mean", "latency, s", 1.0)] {
            let _ = write!(text, "| {name} | {unit} |");
            for users in users {
                let wanted = [("face", face), ("system.tier.0.balancer.mode", mode), ("users", users)];
                let value = ours.value(&wanted, metric);
                let _ = write!(text, " {} |", value.map_or("-".into(), |value| format!("{:.2}", value * scale)));
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
