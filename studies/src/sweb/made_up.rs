//! Their statements judged on made-up answers: a world in which everything is as they found it, its reverse, and one limit
//! missed at a time.

use std::path::Path;

use super::search::{Cell, Found, ethernet, meiko, workstation};
use super::{
    ARRIVALS, LARGE, LOCALITY, MEAN, POLICY, Published, READ_ANEW, ROTATION, RUNS, SMALL, SWEB, Study, effects,
    findings, readings, tables,
};
use crate::answers::{Answers, Settings, World, sampled};
use crate::finding::Finding;
use crate::verdict::Verdict;

/// Requests per second of a variant.
fn rate(of: &Settings<'_>) -> u32 {
    of(ARRIVALS).split("n = ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or(0)
}

/// What they found, as the numbers of each experiment.
fn as_they_found(run: &str, of: &Settings<'_>) -> Vec<(String, f64)> {
    let policy = of(POLICY);
    let (is_locality, is_sweb) = (policy == LOCALITY, policy.starts_with("sweb"));
    let nodes: f64 = of("system.tier.node.targets.servers").parse().unwrap_or(6.0);
    let is_small = of("workload.size").contains(SMALL);
    let mean = match run {
        "nodes" | "nodes-ethernet" if is_small && nodes > 1.0 => 0.5,
        "nodes" | "nodes-ethernet" if is_small => 1.0,
        "nodes" | "nodes-ethernet" => 100.0 / nodes.powf(1.3),
        "non-uniform" if is_sweb && rate(of) >= 20 => 0.6,
        "skewed" if is_locality => 81.4,
        "skewed" => 3.7,
        "far-clients" if is_locality => 0.8,
        "shared-ethernet" if is_locality || is_sweb => 0.6,
        _ => 1.0,
    };
    let errors = if run.starts_with("nodes") && nodes < 2.0 { 0.6 } else { 0.0 };
    let times = ["", "_static", "_dynamic", "_gold", "_iron"].map(|class| (format!("{MEAN}{class}"), mean));
    let values = [
        ("response_time_p50", mean),
        ("response_time_p90", mean),
        ("response_time_p99", mean),
        ("error_ratio", errors),
        ("throughput", 17.0),
        ("throughput_max", 17.25),
    ];
    let values = values.map(|(metric, value)| (metric.to_owned(), value));
    times.into_iter().chain(values).collect()
}

fn most_as_they_found(cell: Cell) -> u32 {
    let Cell { nodes, size, seconds, file } = cell;
    match (file, size == SMALL, seconds) {
        ("maxima", true, 30) => 60 * nodes,
        ("maxima", true, _) => 40 * nodes,
        ("maxima", false, 30) => 8 * nodes,
        ("maxima", false, _) => [3, 5, 8, 10, 13, 16][nodes as usize - 1],
        (_, true, seconds) => {
            if seconds == 30 {
                25 * nodes
            } else {
                12 * nodes
            }
        }
        (_, false, 30) => [4, 0, 0, 11][nodes as usize - 1],
        // Less than one: made up, since the text has whole numbers only.
        (_, false, _) => u32::from(nodes > 1),
    }
}

/// Answers in which `world` makes another value of each, by run, variant and metric; and of each maximum.
fn study(world: &dyn Fn(&str, &Settings<'_>, &str, f64) -> f64, most: &dyn Fn(Cell, u32) -> u32) -> Study {
    let of = |run: &str, file: &str| {
        let made: World<'_> = &|settings| {
            let found = as_they_found(run, settings).into_iter();
            found.map(|(metric, value)| (metric.clone(), world(run, settings, &metric, value))).collect()
        };
        Answers::made_up(&format!("sweb-1996/{file}.toml"), made, sampled)
    };
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/sweb-1996/published");
    Study {
        answers: RUNS.iter().map(|run| of(run, run)).collect(),
        bounds: ["sustained", "maxima"].map(|run| of(run, run)),
        found: Found::made_up(|_, cell| Some(most(cell, most_as_they_found(cell)))),
        readings: readings::all(300).iter().map(|_| READ_ANEW.iter().map(|_| None).collect()).collect(),
        published: Published::read(&published).unwrap(),
    }
}

/// Answers in which `world` makes the value of every response time, by run, variant and metric.
pub(super) fn in_world(world: &dyn Fn(&str, &Settings<'_>, &str) -> f64) -> Study {
    study(&|run, of, metric, _| world(run, of, metric), &|_, rate| rate)
}

fn same(_: &str, _: &Settings<'_>, _: &str, value: f64) -> f64 {
    value
}

#[test]
fn where_all_is_as_they_found_every_comparison_says_so() {
    let findings = findings::all(&study(&same, &|_, rate| rate));
    assert_eq!(findings.len(), 25);
    for Finding { claim, comparisons, .. } in findings {
        let says = comparisons.iter().map(|one| one.holds).collect::<Vec<_>>();
        assert!(!says.is_empty() && says.iter().all(|holds| *holds == Some(true)), "{claim}: {says:?}");
    }
}

#[test]
fn where_all_is_the_other_way_round_nothing_holds_but_what_is_alike() {
    let reverse = |_: &str, _: &Settings<'_>, metric: &str, value: f64| match metric {
        "error_ratio" if value > 0.0 => 0.1,
        "error_ratio" => 0.5,
        _ => 1.0 / value,
    };
    let alike = [
        "Small files: the response time is the same",
        "Workstations, small files: the response time is the same",
        "Non-uniform sizes, light load",
        "Uniform sizes on the Meiko",
    ];
    for finding in findings::all(&study(&reverse, &|_, rate| 2000 / rate.max(1))) {
        let stays = alike.iter().any(|begin| finding.claim.starts_with(begin));
        let wanted = match stays {
            true => Verdict::Holds,
            // Of a range one end is met by whatever is more.
            false if finding.claim.starts_with("A single workstation") => Verdict::InPart,
            false => Verdict::Fails,
        };
        assert_eq!(finding.verdict(), wanted, "{}: {:?}", finding.claim, finding.comparisons);
    }
}

fn verdict(of: &Study, claim: &str) -> Verdict {
    let all = findings::all(of);
    all.iter().find(|finding| finding.claim.starts_with(claim)).expect("a claim").verdict()
}

#[test]
fn maxima_have_limits_on_both_sides() {
    let with = |wanted: Cell, rate: u32| study(&same, &move |cell, found| if cell == wanted { rate } else { found });
    let of_meiko = |rate| verdict(&with(meiko(6, LARGE, 120), rate), "Six nodes of the Meiko take 16");
    assert_eq!([13, 14, 18, 19].map(of_meiko), [Verdict::Fails, Verdict::Holds, Verdict::Holds, Verdict::Fails]);
    assert_eq!(verdict(&with(ethernet(LARGE, 120), 2), "Four workstations take one"), Verdict::Fails);
    assert_eq!(verdict(&with(ethernet(LARGE, 120), 0), "Four workstations take one"), Verdict::Fails);
    // One of four is not higher by a fifth.
    assert_eq!(verdict(&with(meiko(6, SMALL, 30), 280), "The maximum of a short test"), Verdict::InPart);
    assert_eq!(verdict(&with(meiko(1, LARGE, 30), 25), "Six nodes take significantly more"), Verdict::InPart);
}

#[test]
fn each_limit_of_a_response_time_can_be_missed() {
    // A world in which the mean of a strategy in a run is so many times as long.
    let slower = |run: &'static str, policy: &'static str, factor: f64| {
        move |of: &str, settings: &Settings<'_>, metric: &str, value: f64| {
            let is_it = of == run && settings(POLICY).starts_with(policy) && metric == MEAN;
            if is_it { factor * value } else { value }
        }
    };
    let judged =
        |run, policy, factor, claim: &str| verdict(&study(&slower(run, policy, factor), &|_, rate| rate), claim);
    let (faster, gain) = ("Non-uniform sizes, 20 requests/s and more", "The gain is 15 to 60 %");
    for (factor, verdicts) in [(1.5, [Verdict::Holds, Verdict::Fails]), (0.5, [Verdict::Holds, Verdict::Fails])] {
        assert_eq!([faster, gain].map(|claim| judged("non-uniform", SWEB, factor, claim)), verdicts, "{factor}");
    }
    assert_eq!(judged("non-uniform", SWEB, 2.0, faster), Verdict::Fails);
    assert_eq!(judged("non-uniform", SWEB, 1.3, "Non-uniform sizes, light load"), Verdict::Fails);
    assert_eq!(judged("non-uniform", LOCALITY, 0.5, faster), Verdict::InPart, "of one of the two");
    for factor in [0.8, 1.2] {
        assert_eq!(judged("skewed", LOCALITY, factor, "One hot file: 3.7 s"), Verdict::InPart);
        assert_eq!(judged("skewed", ROTATION, factor, "One hot file: 3.7 s"), Verdict::InPart);
    }
    assert_eq!(judged("skewed", LOCALITY, 0.45, "One hot file: locality takes"), Verdict::Fails);
    assert_eq!(judged("far-clients", LOCALITY, 1.15, "Clients on the other coast"), Verdict::Fails);
    assert_eq!(judged("burst", LOCALITY, 1.2, "Uniform sizes on the Meiko"), Verdict::InPart);
    assert_eq!(judged("burst", SWEB, 0.8, "Uniform sizes on the Meiko"), Verdict::InPart);
    assert_eq!(
        judged("shared-ethernet", LOCALITY, 2.0, "Uniform sizes on the shared Ethernet: locality pays"),
        Verdict::Fails
    );
    assert_eq!(judged("shared-ethernet", SWEB, 2.0, "Uniform sizes on the shared Ethernet: SWEB"), Verdict::Fails);
}

#[test]
fn each_limit_of_nodes_can_be_missed() {
    let with = |size: &'static str, nodes: &'static str, wanted: &'static str, value: f64| {
        move |run: &str, settings: &Settings<'_>, metric: &str, found: f64| {
            let is_it = run == "nodes"
                && settings("workload.size").contains(size)
                && settings("system.tier.node.targets.servers") == nodes
                && metric == wanted;
            if is_it { value } else { found }
        }
    };
    let judged = |size, nodes, metric, value, claim: &str| {
        verdict(&study(&with(size, nodes, metric, value), &|_, rate| rate), claim)
    };
    assert_eq!(judged(SMALL, "2", MEAN, 0.8, "Small files: several nodes"), Verdict::Fails);
    assert_eq!(judged(SMALL, "4", MEAN, 0.6, "Small files: the response time"), Verdict::InPart);
    assert_eq!(judged(SMALL, "4", MEAN, 0.4, "Small files: the response time"), Verdict::InPart);
    assert_eq!(judged(LARGE, "4", MEAN, 50.0, "Files of 1.5 MB: each further"), Verdict::InPart);
    assert_eq!(judged(LARGE, "6", MEAN, 17.0, "Files of 1.5 MB: six nodes"), Verdict::Fails);
    assert_eq!(judged(LARGE, "1", "error_ratio", 0.3, "One node drops"), Verdict::Fails);
    assert_eq!(judged(LARGE, "6", "error_ratio", 0.01, "Six nodes answer"), Verdict::Fails);
}

#[test]
fn each_limit_of_workstations_can_be_missed() {
    let with = |size: &'static str, stations: &'static str, wanted: &'static str, value: f64| {
        move |run: &str, settings: &Settings<'_>, metric: &str, found: f64| {
            let is_it = run == "nodes-ethernet"
                && settings("workload.size").contains(size)
                && settings("system.tier.node.targets.servers") == stations
                && metric == wanted;
            if is_it { value } else { found }
        }
    };
    let judged = |size, stations, metric, value, claim: &str| {
        verdict(&study(&with(size, stations, metric, value), &|_, rate| rate), claim)
    };
    assert_eq!(judged(SMALL, "2", MEAN, 0.8, "Workstations, small files: several"), Verdict::Fails);
    assert_eq!(judged(SMALL, "4", MEAN, 0.6, "Workstations, small files: the response"), Verdict::InPart);
    assert_eq!(judged(LARGE, "4", MEAN, 50.0, "Workstations, files of 1.5 MB"), Verdict::InPart);
    assert_eq!(judged(LARGE, "1", "error_ratio", 0.3, "One workstation drops"), Verdict::Fails);
    let alone = |size, rate: u32| {
        let most = move |cell: Cell, found| if cell == workstation(size, 120) { rate } else { found };
        let study = study(&same, &most);
        ["A single workstation", "Four workstations take significantly"].map(|claim| verdict(&study, claim))
    };
    assert_eq!(alone(LARGE, 11), [Verdict::InPart, Verdict::InPart]);
    assert_eq!(alone(SMALL, 4)[0], Verdict::InPart);
    assert_eq!(alone(SMALL, 30), [Verdict::Holds, Verdict::InPart]);
}

#[test]
fn sweb_pays_from_the_rate_on_above_which_it_always_does() {
    let with = |pays: fn(u32) -> bool| {
        let world = move |run: &str, settings: &Settings<'_>, metric: &str, value: f64| {
            let is_it = run == "non-uniform" && metric == MEAN && settings(POLICY) == SWEB;
            if !is_it {
                value
            } else if pays(rate(settings)) {
                0.5
            } else {
                1.0
            }
        };
        let study = study(&world, &|_, rate| rate);
        let crossings = [ROTATION, LOCALITY].map(|other| tables::crossing(study.of("non-uniform"), other));
        let svg = &tables::figures(&study, Vec::new())[0].svg;
        for (name, crossing) in ["the rotation", "locality"].into_iter().zip(crossings) {
            let mark = crossing.map(|rate| format!("faster than {name}: from {rate}/s"));
            assert_eq!(svg.contains(&format!("faster than {name}")), mark.is_some());
            assert!(mark.is_none_or(|mark| svg.contains(&mark)), "{crossings:?}: each is marked in the picture");
        }
        crossings
    };
    assert_eq!(with(|rate| rate >= 20), [Some(20); 2]);
    assert_eq!(with(|rate| rate == 40 || rate >= 80), [Some(80); 2], "at 60 it does not");
    assert_eq!(with(|rate| rate < 320), [None; 2], "not at the highest rate");
    assert_eq!(with(|_| true), [Some(5); 2]);
}

/// Every row of the tables finds its variant: the settings that the page names are those of the files.
#[test]
fn no_cell_of_the_page_is_empty() {
    let mut study = study(&same, &|_, rate| rate);
    let (tables, readings) = (tables::text(&study), effects::text(&study));
    for row in
        tables.lines().filter(|row| row.starts_with('|') && !row.contains("printed") && !row.contains("workstation"))
    {
        assert!(!row.contains("| - |") && !row.contains("| -") && !row.contains("|  |"), "{row}");
    }
    assert!(readings.lines().any(|row| row.starts_with("| as read |") && !row.contains("|  |")), "{readings}");
    assert!(readings.contains("none is."), "nothing is missed where all is as they found: {readings}");
    assert_eq!(tables::figures(&study, Vec::new()).len(), 1);
    assert!(tables.contains("[picture: non-uniform]"));
    // A figure that is missed is told with the reading that moves it the furthest towards what is printed.
    let hot = |seconds: f64| {
        let world: World<'_> = &|_| vec![(MEAN.to_owned(), seconds)];
        Answers::made_up("sweb-1996/skewed.toml", world, sampled)
    };
    let skewed = RUNS.iter().position(|run| *run == "skewed").unwrap();
    study.answers[skewed] = hot(3.7);
    let place = READ_ANEW.iter().position(|run| *run == "skewed").unwrap();
    study.readings[0][place] = Some(hot(40.0));
    study.readings[1][place] = Some(hot(300.0));
    let text = effects::text(&study);
    assert!(
        text.contains("- hot file, locality (s): printed 81.4, as read 3.70 (3.70 to 3.70); reading 2a ("),
        "{text}"
    );
    assert!(!text.contains("- hot file, rotation (s): printed"), "that one is met: {text}");
    study.readings[0][place] = Some(hot(2.0));
    study.readings[1][place] = Some(hot(20_000.0));
    assert!(effects::text(&study).contains("no reading moves it nearer"));
}
