//! His findings judged on made-up measurements: a world in which everything is as he found it, and its reverse.

use std::sync::Arc;

use super::{LIVE, LIVE_WHOLE, SIMULATED, TEMPLATE};
use crate::answers::{Answers, World, published, sampled};
use crate::finding::Finding;
use crate::verdict::Verdict;

const MEAN: &str = "response_time_mean";
const FIRST: &str = "response_time_mean_file_1";

/// The number in a setting such as `constant(50 kB)`, in bytes.
fn bytes(size: &str) -> f64 {
    let inside = size.trim_start_matches("constant(").trim_end_matches(')');
    let (number, unit) = inside.split_once(' ').expect("a size");
    number.parse::<f64>().expect("a number")
        * [("B", 1.0), ("kB", 1e3), ("MB", 1e6)].iter().find(|(of, _)| *of == unit).unwrap().1
}

/// A server whose small documents cost the same and whose large ones cost their size.
fn by_size(bytes: f64, free: f64) -> f64 {
    1.0 + (bytes - free).max(0.0) / 50e3
}

/// What he found, as the numbers of each experiment.
fn as_he_found(run: &str, of: &dyn Fn(&str) -> String) -> Vec<(String, f64)> {
    let number = |key: &str| of(key).parse::<f64>().expect("a number");
    let values: Vec<(&str, f64)> = match run {
        "1-daemons" => {
            let work = match (of("system.program.name").as_str(), of("system.program.workers").as_str()) {
                ("apache-prefork", "16") => 1.0,
                ("apache-prefork", _) => 1.5,
                ("fork", _) => 2.0,
                ("inetd", _) => 4.0,
                _ => 0.5,
            };
            vec![(MEAN, work * number("users")), ("throughput", 1.0 / work)]
        }
        "2-helpers" => vec![("throughput", if of("system.program.workers") == "48" { 0.7 } else { 1.0 })],
        "3-sizes" => vec![(MEAN, number("users") * by_size(bytes(&of("size")), 20e3))],
        "4-mix" => {
            let size = of("size");
            let small = size.trim_start_matches("webstone(").split(':').next().unwrap().parse::<f64>().unwrap() / 1e3;
            let behind = if of("users") == "32" { 1.0 - small } else { 0.0 };
            vec![(MEAN, 2.0 * small + 10.0 * (1.0 - small)), (FIRST, 1.0 + behind), ("response_time_mean_file_2", 10.0)]
        }
        "4-distributions" => vec![(MEAN, if of("size") == "webstone" { 2.0 } else { 1.0 })],
        "5-network" | "5-network-live" => {
            let rate = if of("cluster_rate") == "10 Mbit/s" { 10e6 } else { 15e6 };
            vec![("throughput", rate / 8.0 / bytes(&of("size")))]
        }
        "6-proxy-sizes" => {
            let miss = if number("system.program.hits") > 0.5 { 1.0 } else { 2.0 };
            vec![(MEAN, miss * number("users") * by_size(bytes(&of("size")), 100e3))]
        }
        "7-hit-ratio" => {
            let hits = number("system.program.hits");
            let cached = if bytes(&of("size")) < 20e3 { 1.0 + hits } else { 2.0 - hits };
            if hits == 1.0 { vec![(MEAN, cached)] } else { vec![(MEAN, 3.0 - hits), (FIRST, cached)] }
        }
        // The proxy adds as much for each client.
        "8-direct" => vec![(MEAN, number("users") * by_size(bytes(&of("size")), 10e3))],
        "8-misses" => vec![(MEAN, number("users") * (by_size(bytes(&of("size")), 10e3) + 1.0))],
        other => panic!("no world for {other}"),
    };
    values.into_iter().map(|(metric, value)| (metric.to_owned(), value)).collect()
}

/// The page of a made-up world; the first experiment is of a SUSPECT run if so said.
fn page(world: impl Fn(f64) -> f64, is_suspect: bool) -> (String, Vec<Finding<String>>) {
    let of = |run: &str| {
        let made: World<'_> =
            &|settings| as_he_found(run, settings).into_iter().map(|(metric, value)| (metric, world(value))).collect();
        let answers = Answers::made_up(&format!("fujita-2000/{run}.toml"), made, sampled);
        let answers = if is_suspect && run == "1-daemons" { answers.doubted() } else { answers };
        (run.to_owned(), Arc::new(answers))
    };
    let live = LIVE.iter().chain(&LIVE_WHOLE).map(|run| of(run)).collect();
    let page = super::of(live, SIMULATED.map(of).into(), &published("fujita-2000")).unwrap();
    let (text, record) = page.text(TEMPLATE, "fujita-2000").unwrap();
    (text, record.findings)
}

#[test]
fn where_all_is_as_he_found_every_comparison_says_so() {
    let (_, findings) = page(|value| value, false);
    assert_eq!(findings.len(), 27);
    for Finding { claim, comparisons, .. } in findings {
        let says = comparisons.iter().map(|one| one.holds).collect::<Vec<_>>();
        assert!(!says.is_empty() && says.iter().all(|holds| *holds == Some(true)), "{claim}: {says:?}");
    }
}

#[test]
fn where_all_is_the_other_way_round_no_order_holds() {
    // One over each number turns every order round; what is alike stays so.
    let alike = [
        "The connection rate does not depend",
        "8, 16 and 32 helpers",
        "The response time hardly depends",
        "4 clients: they do not",
        "The standard list and",
        "The list scaled",
        "All in the cache",
    ];
    for finding in page(|value| 1.0 / value, false).1 {
        let stays = alike.iter().any(|begin| finding.claim.starts_with(begin));
        let wanted = match () {
            () if stays => Verdict::Holds,
            // What it is near to is turned round too.
            () if finding.claim.starts_with("The same live") => Verdict::InPart,
            () => Verdict::Fails,
        };
        assert_eq!(finding.verdict(), wanted, "{}: {:?}", finding.claim, finding.comparisons);
    }
}

#[test]
fn a_suspect_run_leaves_its_findings_without_a_verdict() {
    let (text, findings) = page(|value| value, true);
    let (unjudged, judged): (Vec<_>, Vec<_>) = findings.into_iter().partition(|of| of.verdict() == Verdict::Unjudged);
    assert!(unjudged.iter().all(|of| of.place == "2.2.1") && unjudged.len() == 5);
    assert!(judged.iter().all(|of| of.verdict() == Verdict::Holds));
    // The figures and what they would say stand there all the same.
    let row = "| **not judged: SUSPECT run** | 3, 0, 0 (3 SUSPECT) |";
    assert!(text.contains(row), "no `{row}` in\n{text}");
    let fork = text.lines().find(|line| line.starts_with("- Fork is faster than inetd")).expect("it is at the head");
    assert!(!fork.contains("What may lie behind"), "what was not judged needs no cause: {fork}");
    assert!(text.contains("**Not judged (SUSPECT run):**\n\n- Helpers are faster"), "the head says so:\n{text}");
}
