//! Experiments about networks of queues.

use std::path::Path;
use std::sync::Arc;

use sojourn_lab::spec::Question;
use sojourn_lab::{Experiment, Spec, Variant};
use sojourn_model::network::Network;

const GUIDE: &str = include_str!("../../../../docs/networks.md");

/// The experiment of the guide.
fn isp() -> &'static str {
    GUIDE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the guide has one")
}

fn variants(text: &str, set: &[&str]) -> Result<Vec<Variant>, String> {
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    Experiment::new(Path::new("x.toml"), text.into(), &set)
        .and_then(|source| source.variants())
        .map_err(|e| e.to_string())
}

fn network_of(experiment: &Spec) -> Arc<Network> {
    match &experiment.question {
        Question::Network(network) => Arc::clone(network),
        Question::System(_) => panic!("a network"),
    }
}

#[test]
fn a_network_is_read_and_varied_by_name() {
    let rate = |variant: &Variant| {
        let network = network_of(&variant.experiment);
        let users = network.chain("users").expect("users");
        let line = network.station("access-line").expect("a line");
        let steps = &network.chains[users].branches[1].steps;
        steps.iter().find(|step| step.station == line).expect("a visit").demand.per_byte
    };
    let rates: Vec<f64> = variants(isp(), &[]).unwrap().iter().map(rate).collect();
    assert_eq!(rates, [8.0 / 768e3, 8.0 / 1.5e6, 8.0 / 6e6]);
    let set =
        ["station.access-line.rate=2 Mbit/s", "chain.users.branch.hit.share=0.25", "chain.users.branch.0.name=found"];
    let one = variants(isp(), &set).unwrap().remove(0);
    assert_eq!(rate(&one), 4e-6);
    let network = network_of(&one.experiment);
    let shares: Vec<_> = network.chains[0].branches.iter().map(|branch| (branch.name.as_str(), branch.share)).collect();
    assert_eq!(shares, [("found", 0.25), ("miss", 0.75)]);
    let message = variants(isp(), &["station.acces-line.rate=2 Mbit/s"]).unwrap_err();
    assert!(message.contains("did you mean `access-line`"), "{message}");
}

#[test]
fn every_mistake_names_line_key_and_remedy() {
    // Without its variations, which would set a rate of their own.
    let plain = isp().split("[vary]").next().expect("a text has a beginning");
    let but = |good: &str, bad: &str| {
        assert!(plain.contains(good), "{good}");
        plain.replacen(good, bad, 1)
    };
    let users = "users = 20\nthink = \"exponential(mean = 5 s)\"";
    let cases = [
        (but("station = \"backbone\"", "station = \"bakbone\""), &["x.toml:36", "did you mean `backbone`"][..]),
        (but("share = 0.51", "share = 1.51"), &["x.toml:31", "sum to 1.51"]),
        (but("helpers = 16", "helprs = 16"), &["x.toml:18", "helprs", "helpers"]),
        (but("users = 20", "users = \"20\""), &["x.toml:22"]),
        (but("1.5 Mbit/s", "1.5 MB/s"), &["x.toml:9", "rate"]),
        (but("[[chain]]", "[workload]\nkind = \"closed\"\n[[chain]]"), &["[workload]", "[[station]]"]),
        (plain.split("[[chain]]").next().expect("stations").into(), &["chain", "[[chain]]"]),
        ("name = \"nothing\"".into(), &["[workload]", "[[station]]", "neither"]),
        (
            but(users, "arrivals = \"exponential(rate = 1000 /s)\""),
            &["x.toml:20", "`users` is open", "`proxy`", "stable below"],
        ),
    ];
    for (text, expected) in cases {
        let message = variants(&text, &[]).err().unwrap_or_else(|| panic!("taken: {text}"));
        assert_eq!(message.lines().count(), 1, "more than a line: {message}");
        for part in expected {
            assert!(message.contains(part), "no `{part}` in: {message}");
        }
    }
}
