//! The same systems in several runs, of which one has a `[[variant]]` more, and the names of variants everywhere.

use std::path::Path;

use sojourn_lab::compare::{VariantComparison, in_common, runs};
use sojourn_lab::prelude::*;
use sojourn_lab::{SpecError, VariantAnswers, report};
use sojourn_stats::{Estimate, Measure};

const FILE: &str = r#"
name = "to one queue for all"
[workload]
kind = "open"
utilization = 0.5
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 4 }
[system.server]
discipline = "fcfs"
demand = "exponential(mean = 1 s)"
[vary]
policy = ["random", "least-connections"]
utilization = [0.5, 0.6, 0.7]
[run]
by = ["theory", "sim"]
# Each replication is longer than ten relaxation times at 0.7, 1,240 requests: shorter ones have no intervals to compare.
max_jobs = 20000
precision = "none"
replications = 4
"#;

const VARIANT: &str = r#"
[[variant]]
name = "M/M/4"
servers = 1
cores = 4
utilization = "0.5..0.7 step 0.1"
"#;

fn experiment(text: &str, set: &[&str]) -> Result<Experiment, SpecError> {
    let set: Vec<String> = set.iter().map(|of| (*of).to_owned()).collect();
    Experiment::new(Path::new("dispatch.toml"), text.into(), &set)
}

fn answered(text: &str, by: Engine) -> Answers {
    experiment(text, &[]).unwrap().ask([by], &Progress::none()).unwrap()
}

fn labels(text: &str, set: &[&str]) -> Vec<String> {
    experiment(text, set).unwrap().variants().unwrap().iter().map(|variant| variant.label()).collect()
}

fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let from = page.split(&format!("id=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("no {id}"));
    from.split("</section>").next().unwrap()
}

#[test]
fn what_varies_in_one_run_is_as_the_other_ones_file_has_it() {
    let (with, without) = (answered(&format!("{FILE}{VARIANT}"), Engine::Sim), answered(FILE, Engine::Sim));
    let all: Vec<(usize, usize)> = (0..6).map(|place| (place, place)).collect();
    assert_eq!(in_common(&with, &without), all);
    let compared = runs(&with, &without).unwrap();
    assert_eq!(compared.len(), 6);
    assert_eq!(compared[0].label, "random, utilization 0.5");
    let page = report::runs::render(&[("a".to_owned(), &with), ("b".to_owned(), &without)], "0");
    let pairs = section(&page, "pairs");
    assert!(pairs.contains("<td>random, utilization 0.5</td><td>b</td><td>a</td>"), "{pairs}");
    // The same requests of the same systems.
    assert_eq!(pairs.matches("<td>b</td><td>a</td><td>1.000").count(), pairs.matches("<td>b</td><td>a</td>").count());
    // Other servers in the file: what is called alike is compared, also where labels leave out the servers.
    let eight =
        |variant: &str| answered(&format!("{}{variant}", FILE.replace("servers = 4", "servers = 8")), Engine::Theory);
    let with = answered(&format!("{FILE}{VARIANT}"), Engine::Theory);
    assert_eq!(in_common(&with, &eight("")), all);
    assert_eq!(in_common(&with, &eight(&VARIANT.replace("M/M/4", "M/M/8").replace("cores = 4", "cores = 8"))), all);
}

/// What `compare` sets beside each other has a row in the page of both runs: four servers against eight in the files, where
/// labels leave out the servers, and the only variants.
#[test]
fn a_page_of_two_runs_pairs_what_compare_does() {
    let theory = |text: &str| answered(text, Engine::Theory);
    let eight = format!("{FILE}{VARIANT}").replace("servers = 4", "servers = 8").replace("M/M/4", "M/M/8");
    let eight = eight.replace("cores = 4", "cores = 8");
    let one = |servers: &str| {
        let text =
            FILE.replace("[\"random\", \"least-connections\"]", "[\"random\"]").replace("[0.5, 0.6, 0.7]", "[0.5]");
        text.replace("[vary]", &format!("[vary]\nservers = [{servers}]"))
    };
    for (a, b, least) in [(format!("{FILE}{VARIANT}"), eight, 3), (one("4"), one("8"), 1)] {
        let (a, b) = (theory(&a), theory(&b));
        let page = report::runs::render(&[("a".to_owned(), &a), ("b".to_owned(), &b)], "0");
        let pairs = section(&page, "pairs");
        let compared = runs(&a, &b).unwrap();
        let has_mean = |of: &&VariantComparison| of.metrics.iter().any(|of| of.metric == "response_time_mean");
        let expected = compared.iter().filter(has_mean).count();
        assert!(expected >= least, "{expected}");
        let rows = pairs.split("<tr>").filter(|row| row.starts_with("<td>mean</td>"));
        assert_eq!(rows.filter(|row| row.contains("<td>b</td><td>a</td>")).count(), expected, "{pairs}");
        assert!(least == 1 || pairs.contains("<td>random, utilization 0.5</td><td>b</td><td>a</td>"), "{pairs}");
    }
}

/// Of what one run has twice, by its settings and by its name, the settings tell which is meant; no run is set against itself.
#[test]
fn a_variant_has_one_partner_in_each_other_run() {
    let run = |variants: [(&str, &str); 2]| {
        let variant = |(label, value): (&str, &str)| {
            let mean = Measure::new("response_time_mean", "s", Estimate::Exact { value: 1.0 });
            let answers = vec![Answer { measures: vec![mean], ..Answer::new(Engine::Theory) }];
            VariantAnswers { label: label.into(), settings: vec![("load".into(), value.into())], answers }
        };
        Answers { settings: vec!["load".into()], variants: variants.map(variant).to_vec(), ..Answers::default() }
    };
    let (a, b) = (run([("one", "1"), ("three", "3")]), run([("one", "2"), ("first", "1")]));
    assert_eq!(in_common(&a, &b), [(0, 1)]);
    let page = report::runs::render(&[("a".to_owned(), &a), ("b".to_owned(), &b)], "0");
    let pairs = section(&page, "pairs");
    assert_eq!(pairs.matches("<td>b</td><td>a</td>").count(), 1, "{pairs}");
    assert!(pairs.contains("<td>one / first</td><td>b</td><td>a</td>"), "{pairs}");
    assert!(!pairs.contains("<td>b</td><td>b</td>"), "{pairs}");
}

#[test]
fn runs_beside_each_other_have_a_colour_for_what_they_are_of_and_dashes_for_the_run() {
    let (with, without) = (answered(&format!("{FILE}{VARIANT}"), Engine::Sim), answered(FILE, Engine::Sim));
    let page = report::runs::render(&[("a".to_owned(), &with), ("b".to_owned(), &without)], "0");
    let plots = section(&page, "plots");
    let drawing = plots.split("id=\"plot-sweep\"").nth(1).unwrap().split("<svg").nth(1).unwrap();
    for name in ["random \u{b7} a", "random \u{b7} b", "M/M/4 \u{b7} a"] {
        assert!(drawing.contains(name), "{name}: {drawing}");
    }
    for class in ["s-series-0 ", "s-series-1 ", "s-series-2"] {
        assert!(drawing.contains(class.trim_end()), "{class}: {drawing}");
    }
    assert!(drawing.contains("s-series-1 dash-1"), "{drawing}");
    assert!(!drawing.contains("series-3"), "three systems, three colours: {drawing}");
}

#[test]
fn a_variants_name_is_in_outcomes_notes_and_pages_of_several_runs() {
    let with = answered(&format!("{FILE}{VARIANT}"), Engine::Theory);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    with.write(&path).unwrap();
    let text = std::fs::read_to_string(path.join("outcomes.csv")).unwrap();
    assert!(text.starts_with("policy,utilization,servers,cores,name,engine,"), "{text}");
    assert!(text.contains("\nrandom,0.5,4,,,theory,"), "{text}");
    for load in ["0.5", "0.6", "0.7"] {
        assert!(text.contains(&format!("\nrandom,{load},1,4,M/M/4,theory,")), "a name to group by, at {load}: {text}");
    }
    assert_eq!(Answers::open(&path).unwrap(), with);
    assert!(with.to_json().iter().any(|row| row["name"] == "M/M/4, utilization 0.5"));
    let named: Vec<usize> = (6..9).collect();
    assert_eq!(report::scope(&with, &named), "M/M/4");
    let page = report::runs::render(&[("a".to_owned(), &with), ("b".to_owned(), &with)], "0");
    assert!(section(&page, "pairs").contains("<td>M/M/4, utilization 0.5</td>"), "{page}");
    assert!(section(&page, "outcomes").contains("<td>M/M/4</td>"), "{page}");
}

/// Whatever varies besides, told before a name or behind it, is none of it.
#[test]
fn a_name_alone_has_no_value_of_what_varies() {
    let of = |label: &str, settings: &[(&str, &str)]| {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        VariantAnswers { label: label.to_owned(), settings, answers: Vec::new() }.name_alone()
    };
    let settings = [("policy", "random"), ("servers", "2"), ("utilization", "0.5")];
    for (label, name) in [
        ("few, random, utilization 0.5", "few"),
        ("random, few", "few"),
        ("random, few, utilization 0.5", "few"),
        ("one queue, for all, random", "one queue, for all"),
    ] {
        assert_eq!(of(label, &settings).as_deref(), Some(name), "{label}");
    }
    assert_eq!(of("random, utilization 0.5", &[settings[0], settings[2]]), None, "values are no name");
}

#[test]
fn what_is_set_by_hand_holds_for_every_variant() {
    let text = format!("{FILE}{VARIANT}");
    let expected = ["utilization 0.6, random, servers 4", "utilization 0.6, least-connections, servers 4", "M/M/4"];
    assert_eq!(labels(&text, &["utilization=0.6"]), expected);
    // What else says how fast requests come is not varied either.
    assert_eq!(labels(&text, &["rate=2 /s"]).len(), 3);
    // A variant of which nothing is left is none.
    let one = format!("{FILE}\n[[variant]]\nutilization = 0.9\n");
    assert_eq!(labels(&one, &["utilization=0.6"]).len(), 2);
    assert_eq!(labels(&one, &[]).len(), 7);
}

#[test]
fn counts_and_engines_are_set_as_other_options_take_them() {
    let variants = experiment(FILE, &["run.max_jobs=1e6", "run.by=theory,sim"]).unwrap().variants().unwrap();
    assert_eq!(variants[0].experiment.run.max_jobs, 1_000_000);
    assert_eq!(variants[0].experiment.run.by, [Engine::Theory, Engine::Sim]);
    let refused = experiment(FILE, &["run.by=simulation"]).unwrap().variants().unwrap_err().to_string();
    assert!(refused.contains("unknown engine `simulation`; did you mean `sim`?"), "{refused}");
    assert!(experiment(FILE, &["run.max_jobs=1.5"]).unwrap().variants().is_err());
}

/// Two files that differ in what does not vary may call variants of the same settings otherwise: each run's keeps its name.
#[test]
fn each_run_calls_a_variant_as_its_own_file_does() {
    let exponential = answered(&format!("{FILE}{VARIANT}"), Engine::Theory);
    let general = FILE.replace("exponential(mean = 1 s)", "hyperexponential(mean = 1 s, cv = 2)");
    let general = answered(&format!("{general}{}", VARIANT.replace("M/M/4", "M/G/4")), Engine::Theory);
    let (m, g) = (("m".to_owned(), &exponential), ("g".to_owned(), &general));
    for page in [report::runs::render(&[m.clone(), g.clone()], "0"), report::runs::render(&[g, m], "0")] {
        let plots = section(&page, "plots");
        assert!(plots.contains("M/M/4 \u{b7} m") && plots.contains("M/G/4 \u{b7} g"), "{plots}");
        assert!(!page.contains("M/M/4 \u{b7} g") && !page.contains("M/G/4 \u{b7} m"), "{page}");
        assert!(!page.contains("M/M/4, utilization 0.5 \u{b7} g"), "{page}");
    }
}

/// What only a variant with a name sets is the same in all others: it is said of none of them, unless two were called alike then.
#[test]
fn labels_leave_out_what_only_a_variant_with_a_name_sets() {
    let told = labels(&format!("{FILE}{VARIANT}"), &[]);
    let expected = ["random, utilization 0.5", "least-connections, utilization 0.7", "M/M/4, utilization 0.5"];
    assert_eq!([&*told[0], &*told[5], &*told[6]], expected);
    let unnamed = labels(&format!("{FILE}{}", VARIANT.replace("name = \"M/M/4\"\n", "")), &[]);
    assert_eq!(unnamed[0], "random, utilization 0.5, servers 4");
    let alike = labels(&format!("{FILE}{}", VARIANT.replace("M/M/4", "random")), &[]);
    assert_eq!([&*alike[0], &*alike[6]], ["random, utilization 0.5, servers 4", "random, utilization 0.5"]);
    // A curve is called as its variants are, and has no name of its own for that.
    let with = answered(&format!("{FILE}{VARIANT}"), Engine::Theory);
    let names: Vec<Option<&str>> = with.variants.iter().map(VariantAnswers::name).collect();
    assert_eq!((names[0], names[6]), (None, Some("M/M/4, utilization 0.5")));
    let page = report::runs::render(&[("a".to_owned(), &with), ("b".to_owned(), &with)], "0");
    let plots = section(&page, "plots");
    assert!(plots.contains("random \u{b7} a") && plots.contains("M/M/4 \u{b7} b"), "{plots}");
    assert!(!plots.contains("servers 4") && !plots.contains("a, random"), "{plots}");
}

/// A policy has one colour in runs whose other settings differ as a whole, said of each variant or in the file alone.
#[test]
fn a_policy_has_one_colour_where_runs_differ_in_other_settings() {
    // Of more loads than there are numbers of servers: the curves are over the load.
    let of_loads = |text: &str| {
        let text = text.replace("[0.5, 0.6, 0.7]", "[0.5, 0.6, 0.7, 0.8]").replace("0.5..0.7 step", "0.5..0.8 step");
        answered(&text, Engine::Theory)
    };
    let drawing = |a: &str, b: &str| {
        let (a, b) = (of_loads(a), of_loads(b));
        let page = report::runs::render(&[("a".to_owned(), &a), ("b".to_owned(), &b)], "0");
        let plots = section(&page, "plots");
        plots.split("id=\"plot-sweep\"").nth(1).unwrap().split("<svg").nth(1).unwrap().to_owned()
    };
    let has = |drawing: &str, systems: usize, of_both: &[usize]| {
        for system in of_both {
            assert!(drawing.contains(&format!("s-series-{system} dash-1")), "{system}: {drawing}");
        }
        assert!(drawing.contains(&format!("series-{}", systems - 1)), "{drawing}");
        assert!(!drawing.contains(&format!("series-{systems}")), "{drawing}");
    };
    let eight = FILE.replace("servers = 4", "servers = 8");
    let queue = VARIANT.replace("M/M/4", "M/M/8").replace("cores = 4", "cores = 8");
    // One queue for all of another name and other cores is another system.
    let with_queues = drawing(&format!("{FILE}{VARIANT}"), &format!("{eight}{queue}"));
    assert!(with_queues.contains("random \u{b7} a") && with_queues.contains("random \u{b7} b"), "{with_queues}");
    has(&with_queues, 4, &[0, 1, 3]);
    let varied = |servers: &str| FILE.replace("[vary]", &format!("[vary]\nservers = [{servers}]"));
    let each_told = drawing(&varied("4"), &varied("8"));
    // Of one value in each run, the servers are in no label.
    assert!(each_told.contains("random \u{b7} a") && !each_told.contains("servers 4"), "{each_told}");
    has(&each_told, 2, &[0, 1]);
    // Within one run they are systems of their own.
    has(&drawing(&varied("4, 8"), &varied("8")), 4, &[2, 3]);
}

/// Variants that are all those of one value, or of that and of a name, are told by these, however many they are.
#[test]
fn notes_name_all_variants_of_a_value_by_it() {
    let with = answered(&format!("{FILE}{VARIANT}"), Engine::Theory);
    // The variant with a name is random too, and is not meant.
    assert_eq!(report::scope(&with, &[0, 1, 2]), "random");
    assert_eq!(report::scope(&with, &[0, 1, 2, 6, 7, 8]), "random; M/M/4");
    assert_eq!(report::scope(&with, &[3, 4, 5]), "least-connections");
    // Not all of a value.
    assert_eq!(report::scope(&with, &[0, 1]), "random, utilization 0.5; random, utilization 0.6");
    let eight = answered(&FILE.replace("servers = 4", "servers = 8"), Engine::Theory);
    let page = report::runs::render(&[("a".to_owned(), &with), ("b".to_owned(), &eight)], "0");
    let notes = section(&page, "notes");
    assert!(notes.contains("\u{b7} a: random<") || notes.contains("\u{b7} random<"), "{notes}");
    let headings = notes.split("<dt>").skip(1).filter_map(|of| of.split("</dt>").next()).collect::<String>();
    assert!(headings.contains("random") && !headings.contains("random, utilization 0.5"), "{notes}");
}
