//! The cheapest system that meets its objectives.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_lab::plan::search::Fate;
use sojourn_lab::plan::{Plan, plan};
use sojourn_lab::{Context, RunError, Source};
use sojourn_stats::Estimate;

/// Processor sharing servers behind a random dispatcher: N queues M/M/1, whose mean is 1/(mu - lambda/N).
const FILE: &str = r#"
name = "servers"
[workload]
kind = "open"
arrivals = "exponential(rate = 100 /s)"
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 1 }
[system.server]
discipline = "ps"
demand = "exponential(mean = 20 ms)"
[objective]
mean = "< 50 ms"
[plan]
unit = "EUR"
[[plan.choice]]
key = "servers"
values = "1..10"
cost = 5
"#;

fn planned(text: &str) -> Result<Plan, RunError> {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::new(Path::new("plan.toml"), text.into(), &[])?;
    let context = Context {
        program: "sojourn".into(),
        out: Some(folder.path().join("plan")),
        threads: 2,
        cancel: Arc::new(AtomicBool::new(false)),
        command: "sojourn plan".into(),
        progress: &|_| {},
    };
    let (path, plan) = plan(&source, &context)?;
    for file in ["plan.json", "report.html"] {
        assert!(path.join(file).metadata().unwrap().len() > 100, "{file}");
    }
    Ok(plan)
}

#[test]
fn theory_prunes_and_simulation_confirms_the_cheapest() {
    let found = planned(FILE).unwrap_or_else(|e| panic!("{e}"));
    // 1/(50 - 100/N) < 50 ms asks for more than 3.33 servers.
    assert_eq!(found.offers[0].settings, [("servers".to_string(), "4".to_string())]);
    assert_eq!((found.offers[0].cost, found.offers.len()), (20.0, 3));
    assert_eq!((found.tally.overloaded, found.tally.excluded), (2, 1), "one and two servers, and three by formula");
    let Some(Estimate::Sampled { ci_low, ci_high, .. }) = found.offers[0].simulated.answers[0].estimate else {
        panic!()
    };
    assert!(ci_low < 0.04 && 0.04 < ci_high * 1.05 && ci_high < 0.05, "{ci_low} to {ci_high}: 1/(50 - 25)");
    let busiest = &found.offers[0].simulated.parts[0];
    assert!((busiest.utilization - 0.5).abs() < 0.03, "{busiest:?}");
    // 1/(50 - 25 g) = 50 ms at g = 1.2.
    let growth = found.growth.unwrap();
    assert!(growth.holds > 1.05 && growth.holds < 1.2 && growth.fails.unwrap() > 1.15, "{growth:?}");
    let relief = &found.reliefs[0];
    assert_eq!((relief.to.as_str(), relief.cost), ("5", 5.0));
    assert_eq!(found.set, ["servers=4"]);
    assert!(found.asked.iter().any(|(_, _, fate)| matches!(fate, Fate::Excluded { .. })));
}

#[test]
fn other_traffic_of_the_same_rate_is_worse() {
    let more = "[plan.traffic]\nbursty = \"hyperexponential(rate = 100 /s, cv = 4)\"\n";
    let found = planned(&format!("{FILE}{more}")).unwrap_or_else(|e| panic!("{e}"));
    let [bursty] = &found.traffic[..] else { panic!("{:?}", found.traffic) };
    let of = |answers: &[sojourn_lab::plan::Answered]| answers[0].estimate.as_ref().unwrap().value().unwrap();
    assert!(of(&bursty.answers) > of(&found.offers[0].simulated.answers), "{bursty:?}");
}

#[test]
fn what_no_candidate_meets_is_said_with_how_close_and_why() {
    let found = planned(&FILE.replace("< 50 ms", "< 15 ms")).unwrap_or_else(|e| panic!("{e}"));
    assert!(found.offers.is_empty() && found.set.is_empty());
    let nearest = found.nearest.unwrap();
    assert!(nearest.label.contains("10"), "{nearest:?}");
    assert!(nearest.impossible.unwrap().contains("20.000 ms"), "even an empty server takes 20 ms");
}

#[test]
fn what_no_plan_can_be_made_of_is_refused_in_a_line() {
    for (from, to, expected) in [
        ("[objective]\nmean = \"< 50 ms\"", "", "needs an objective"),
        ("rate = 100 /s", "utilization = 0.7", "grow with every server"),
        ("values = \"1..10\"", "values = \"ten\"", "\"1..8\""),
        ("values = \"1..10\"", "values = [4, 2]", "weakest to the strongest"),
        ("cost = 5", "costs = [1, 2]", "one for each"),
        ("cost = 5", "cost = -5", "from 0 up"),
        ("cost = 5", "cost = 5\nper = \"sevrers\"", "unknown choice"),
        ("cost = 5", "price = 5", "cost"),
        ("key = \"servers\"", "key = \"sevrers\"", "servers"),
        ("[[plan.choice]]\nkey = \"servers\"\nvalues = \"1..10\"\ncost = 5", "", "[[plan.choice]]"),
    ] {
        let text = FILE.replace(from, to);
        assert_ne!(text, FILE, "{from}");
        let error = planned(&text).err().unwrap_or_else(|| panic!("{to} was taken")).to_string();
        assert!(error.contains(expected) && error.contains("plan.toml") && error.lines().count() == 1, "{to}: {error}");
    }
}
