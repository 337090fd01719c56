//! His findings judged on made-up answers: a world in which everything is as he found it, and its reverse.

use std::path::Path;

use super::{MEAN, NEAREST, POLICY, RUNS, Runs, beyond, findings, grid};
use crate::answers::{Answers, Settings, World, sampled};
use crate::finding::Finding;
use crate::verdict::Verdict;

/// What he found, as the numbers of each experiment.
fn as_he_found(run: &str, of: &Settings<'_>) -> Vec<(String, f64)> {
    let policy = of(POLICY);
    let is_nearest = policy.starts_with("nearest");
    let processes: f64 =
        (0..4).map(|region| of(&format!("workload.clients.{region}.processes")).parse().unwrap_or(15.0)).sum();
    // Random has no pattern.
    let noise = if policy == "random" { 0.02 * (processes / 10.0 % 2.0) } else { 0.0 };
    let mean = match run {
        "4-loaded" if policy == "nearest" => 4.0,
        "4-loaded" | "5-resolvers" if is_nearest => {
            if of("system.resolver.0.ttl") == "ignored(1 h)" {
                1.2
            } else {
                0.94
            }
        }
        "3-network" if of("system.paths.between.rtt") == "uniform(10 ms, 50 ms)" => 0.9,
        _ if is_nearest => 0.94,
        _ => 1.65 + noise,
    };
    let mean = match of("system.tier.front node.policy").as_str() {
        "" | "free-capacity" => mean,
        _ => 0.9 * mean,
    };
    let rate = processes / mean;
    let values = [
        (MEAN, mean),
        ("response_time_max", 20.0 * mean),
        ("connection_rate", rate),
        ("byte_throughput", 19e3 * rate),
        ("littles_load_factor", processes),
        ("utilization", 0.05),
        ("error_ratio", 0.01),
        ("abandoned_ratio", 0.01),
        ("throughput", rate),
    ];
    let shares = (1..=6).map(|server| (format!("share_{server}"), 1.0 / 6.0));
    values.into_iter().map(|(metric, value)| (metric.to_owned(), value)).chain(shares).collect()
}

fn runs(world: impl Fn(f64) -> f64) -> Runs {
    runs_where(|_, _, value| world(value))
}

/// Runs in which `world` makes of each value, of this variant and metric, another one.
fn runs_where(world: impl Fn(&Settings<'_>, &str, f64) -> f64) -> Runs {
    let of = |run: &&str| {
        let made: World<'_> = &|settings| {
            let found = as_he_found(run, settings).into_iter();
            found.map(|(metric, value)| (metric.clone(), world(settings, &metric, value))).collect()
        };
        Answers::made_up(&format!("agarwal-2001/{run}.toml"), made, sampled)
    };
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/agarwal-2001/published");
    Runs { answers: RUNS.iter().map(of).collect(), grid: grid::read(&published).unwrap() }
}

fn all(runs: &Runs) -> Vec<Finding> {
    findings::findings(runs).into_iter().chain(beyond::findings(runs)).collect()
}

#[test]
fn where_all_is_as_he_found_every_comparison_says_so() {
    let findings = all(&runs(|value| value));
    assert_eq!(findings.len(), 16);
    for Finding { claim, comparisons, .. } in findings {
        let says = comparisons.iter().map(|one| one.holds).collect::<Vec<_>>();
        assert!(!says.is_empty() && says.iter().all(|holds| *holds == Some(true)), "{claim}: {says:?}");
    }
}

#[test]
fn where_all_is_the_other_way_round_no_order_holds() {
    // Ten over each number turns every order round, out of the ranges that he printed; what is alike stays so.
    let alike = ["The mean hardly depends", "The means of random", "A failed", "The gain needs links"];
    for finding in all(&runs(|value| 10.0 / value)) {
        let stays = alike.iter().any(|begin| finding.claim.starts_with(begin));
        let wanted = if stays { Verdict::Holds } else { Verdict::Fails };
        assert_eq!(finding.verdict(), wanted, "{}: {:?}", finding.claim, finding.comparisons);
    }
}

/// Each limit of a finding can be missed from either side that it has.
#[test]
fn what_is_beyond_a_limit_does_not_hold() {
    let verdict = |claim: &str, world: &dyn Fn(&Settings<'_>, &str, f64) -> f64| {
        let all = all(&runs_where(world));
        all.iter().find(|finding| finding.claim.starts_with(claim)).expect("a claim").verdict()
    };
    let scaled = |metric: &'static str, factor: f64| {
        move |_: &Settings<'_>, of: &str, value: f64| if of == metric { factor * value } else { value }
    };
    let nearest_by = |factor: f64| {
        move |settings: &Settings<'_>, _: &str, value: f64| match settings(POLICY).starts_with("nearest") {
            true => factor * value,
            false => value,
        }
    };
    for factor in [0.7, 1.4] {
        assert_eq!(verdict("Mean response times of", &scaled(MEAN, factor)), Verdict::Fails);
        assert_eq!(verdict("The ratio of nearest", &nearest_by(factor)), Verdict::Fails);
    }
    assert_eq!(verdict("Nearest beats", &nearest_by(1.4)), Verdict::Fails);
    // Means that grow with the processes of one region.
    let grows = |settings: &Settings<'_>, metric: &str, value: f64| {
        let processes: f64 = settings("workload.clients.0.processes").parse().unwrap_or(15.0);
        if metric == MEAN { value * (10.0 + processes) } else { value }
    };
    assert_eq!(verdict("The mean hardly depends", &grows), Verdict::Fails);
    assert_eq!(verdict("Servers were not loaded", &scaled("utilization", 7.0)), Verdict::Fails);
    assert_eq!(verdict("Servers were not loaded", &scaled("share_3", 7.0)), Verdict::Fails, "the busiest counts");
    assert_eq!(verdict("The gap in throughput", &scaled("littles_load_factor", 1.1)), Verdict::Fails);
}

#[test]
fn a_longer_outage_with_more_failures_is_no_finding_of_his() {
    let mut runs = runs(|value| value);
    for run in ["6-site-fails", "7-server-fails"] {
        let world: World<'_> = &|settings| {
            let factor = if settings("fault.0.until") == "540 s" { 4.0 } else { 1.0 };
            [("error_ratio", 0.01 * factor), ("abandoned_ratio", 0.01), ("throughput", 60.0)]
                .map(|(metric, value)| (metric.to_owned(), value))
                .to_vec()
        };
        let place = RUNS.iter().position(|known| *known == run).unwrap();
        runs.answers[place] = Answers::made_up(&format!("agarwal-2001/{run}.toml"), world, sampled);
    }
    let failed = findings::findings(&runs).into_iter().filter(|of| of.claim.starts_with("A failed"));
    let verdicts: Vec<Verdict> = failed.map(|of| of.verdict()).collect();
    assert_eq!(verdicts, [Verdict::InPart; 2], "some requests fail, as he says; but more of them");
}

/// Every row of the tables finds its variant: the settings that the page names are those of the files.
#[test]
fn no_cell_of_the_page_is_empty() {
    let runs = runs(|value| value);
    let (grid, beyond) = (grid::tables(&runs), beyond::text(&runs));
    // Quantities that the made-up world does not have.
    let known = grid.split("**").skip(1).step_by(2).zip(grid.split("**").skip(2).step_by(2));
    for (heading, table) in known.filter(|(heading, _)| heading.contains("response time") || heading.contains("rate")) {
        assert!(!table.contains("| - |"), "{heading}\n{table}");
    }
    for row in beyond.lines().filter(|row| row.starts_with('|')) {
        let empty = row.split('|').filter(|cell| cell.trim() == "-").count();
        // What is not moved says so.
        let allowed = usize::from(row.starts_with("| as read") || row.starts_with("| his"));
        assert!(empty <= allowed, "{row}");
    }
    assert!(beyond.contains(NEAREST) || beyond.contains("nearest"));
}
