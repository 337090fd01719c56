//! Variants of one run two by two: which are pairs, what each says, and where a program reads it; and labels, which leave out
//! what has one value.

use std::path::Path;

use sojourn_lab::VariantAnswers;
use sojourn_lab::compare::{Within, in_common, pairs};
use sojourn_lab::prelude::*;
use sojourn_lab::report::render;
use sojourn_lab::sweep::{Store, Sweep};
use sojourn_stats::{Estimate, Measure};

const FILE: &str = r#"
name = "one server for each, and one queue for all"
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
servers = [4]
policy = ["random", "least-connections"]
utilization = [0.5, 0.6]
[run]
by = ["sim"]
# Each replication is longer than ten relaxation times at 0.6: shorter ones have no intervals to compare.
max_jobs = 20000
precision = "none"
replications = 4
[[variant]]
name = "M/M/4"
servers = 1
cores = 4
utilization = "0.5..0.6 step 0.1"
"#;

fn experiment(text: &str) -> Experiment {
    Experiment::new(Path::new("pairs.toml"), text.into(), &[]).unwrap()
}

fn asked(text: &str, by: Engine) -> Answers {
    experiment(text).ask([by], &Progress::none()).unwrap()
}

fn labels(text: &str) -> Vec<String> {
    experiment(text).variants().unwrap().iter().map(|variant| variant.label()).collect()
}

/// A variant whose mean response time is `factor` times that of others in each replication.
fn variant(label: &str, settings: &[(&str, &str)], factor: f64) -> VariantAnswers {
    let values: Vec<f64> = (0..6).map(|k| factor * (1.0 + 0.3 * f64::from(k % 3))).collect();
    let value = values.iter().sum::<f64>() / 6.0;
    let mean = Estimate::Sampled { value, ci_low: 0.8 * value, ci_high: 1.2 * value, samples: 600 };
    let answer = Answer {
        measures: vec![Measure::new("response_time_mean", "s", mean)],
        replications: vec![("response_time_mean".into(), values.into_iter().map(Some).collect())],
        ..Answer::new(Engine::Sim)
    };
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    VariantAnswers { label: label.into(), settings, answers: vec![answer] }
}

fn run(variants: Vec<VariantAnswers>) -> Answers {
    let settings = variants[0].settings.iter().map(|(key, _)| key.clone()).collect();
    Answers { name: "pairs".into(), settings, variants, ..Answers::default() }
}

/// What each pair is of: at what, B and A.
fn told(answers: &Answers) -> Vec<String> {
    let mean = |of: &Within| of.comparison.metric == "response_time_mean";
    let all = pairs(answers).into_iter().filter(mean);
    all.map(|of| format!("{}: {} / {}", of.others, of.values.1, of.values.0)).collect()
}

/// Beside the policies stands what has a name, at every load: its servers and cores are part of the name.
#[test]
fn a_variant_with_a_name_is_paired_with_the_policies_at_every_load() {
    let answers = asked(FILE, Engine::Sim);
    let at = |load: &str| {
        let of = |pair: &str| format!("utilization {load}: {pair}");
        ["least-connections / random", "M/M/4 / random", "M/M/4 / least-connections"].map(of)
    };
    assert_eq!(told(&answers), [at("0.5"), at("0.6")].concat());
    // Each is of the two that it names, replication by replication.
    for of in pairs(&answers) {
        let [a, b] = [of.places.0, of.places.1].map(|place| answers.variants[place].answer(Engine::Sim).unwrap());
        let metric = of.comparison.metric.as_str();
        let both = a.replications(metric).unwrap().iter().zip(b.replications(metric).unwrap());
        let logarithms: Vec<f64> = both.map(|(a, b)| (b.unwrap() / a.unwrap()).ln()).collect();
        let ratio = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        let found = of.comparison.ratio.unwrap();
        assert!((found.value / ratio - 1.0).abs() < 1e-9, "{of:?} instead of {ratio}");
    }
    let page = render(&answers);
    let section = page.split("id=\"pairs\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("Another <code>policy</code> or variant with a name, all else equal"), "{section}");
    assert!(section.contains("<td>utilization 0.6</td><td>M/M/4</td><td>random</td>"), "{section}");
}

/// A program reads what the page has: in the folder, and as JSON beside the outcomes.
#[test]
fn pairs_are_rows_of_a_file_and_of_the_json() {
    let answers = asked(FILE, Engine::Sim);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    answers.write(&path).unwrap();
    let text = std::fs::read_to_string(path.join("pairs.csv")).unwrap();
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    let expected = "servers,policy,utilization,cores,name,engine,metric,unit,estimate,ci_low,ci_high,samples,\
                    variant_a,variant_b,a,b,failed_a,failed_b,differs,differs_among_all,verdict";
    assert_eq!(header.join(","), expected);
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    let json = answers.pairs_to_json();
    // A difference and a ratio of each.
    assert_eq!((rows.len(), json.len()), (2 * pairs(&answers).len(), rows.len()));
    for (row, object) in rows.iter().zip(&json) {
        let cell = |name: &str| &row[header.iter().position(|of| of == name).unwrap()];
        for name in ["metric", "unit", "variant_a", "variant_b", "utilization", "servers", "verdict"] {
            assert_eq!(object[name].as_str(), Some(cell(name)), "{name}: {object}");
        }
        for name in ["estimate", "ci_low", "ci_high", "a", "b", "failed_a", "failed_b"] {
            assert_eq!(object[name].as_f64(), cell(name).parse().ok(), "{name}: {object}");
        }
        assert_eq!((object["samples"].as_u64(), cell("samples")), (Some(4), "4"));
        assert_eq!(object["differs"].as_bool(), cell("differs").parse().ok(), "{object}");
    }
    let is_it = |of: &&serde_json::Value| {
        let keys = ["metric", "variant_a", "variant_b", "utilization"];
        keys.map(|key| of[key].as_str().unwrap()) == ["response_time_mean_ratio", "random", "M/M/4", "0.6"]
    };
    let found: Vec<_> = json.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{json:?}");
    let ratio = found[0]["b"].as_f64().unwrap() / found[0]["a"].as_f64().unwrap();
    assert!((found[0]["estimate"].as_f64().unwrap() / ratio - 1.0).abs() < 0.1, "{}", found[0]);
    // An opened folder has them too, and a run of one variant none.
    assert_eq!(Answers::open(&path).unwrap().pairs_to_json(), json);
    let alone = run(vec![variant("random", &[("policy", "random")], 1.0)]);
    let path = folder.path().join("alone");
    alone.write(&path).unwrap();
    assert!(!path.join("pairs.csv").exists() && alone.pairs_to_json().is_empty());
}

/// Who answers the fewer requests is not faster, and a program reads how many failed; what was given up has not been answered.
#[test]
fn a_pair_tells_what_failed() {
    let at = |policy: &str, factor, failed: &[(&str, f64)]| {
        let mut of = variant(policy, &[("policy", policy)], factor);
        let share = |(metric, value): &(&str, f64)| {
            let (ci_low, ci_high) = (0.9 * value, 1.1 * value);
            Measure::new(*metric, "1", Estimate::Sampled { value: *value, ci_low, ci_high, samples: 999 })
        };
        of.answers[0].measures.extend(failed.iter().map(share));
        of
    };
    let told = |a: &[(&str, f64)], b: &[(&str, f64)]| {
        let answers = run(vec![at("random", 1.0, a), at("round-robin", 0.867, b)]);
        let page = render(&answers);
        let row = answers.pairs_to_json().remove(0);
        let verdict = row["verdict"].as_str().unwrap().to_owned();
        let cell = format!("<td>{}</td>", verdict.replace('\'', "&#39;"));
        assert!(page.contains(&cell), "{cell}: {page}");
        (verdict, row["failed_a"].as_f64(), row["failed_b"].as_f64())
    };
    let error = |share: f64| [("error_ratio", share)];
    let unjudged = "not judged: more of B's requests failed".to_owned();
    assert_eq!(told(&error(0.487), &error(0.598)), (unjudged.clone(), Some(0.487), Some(0.598)));
    let of_some = "B is faster, of those answered".to_owned();
    assert_eq!(told(&error(0.598), &error(0.487)), (of_some, Some(0.598), Some(0.487)));
    assert_eq!(told(&error(0.0), &error(0.005)), ("B is faster".to_owned(), Some(0.0), Some(0.005)));
    assert_eq!(told(&[], &[]), ("B is faster".to_owned(), None, None));
    let given_up = [("error_ratio", 0.0), ("abandoned_ratio", 0.25)];
    assert_eq!(told(&error(0.0), &given_up), (unjudged, Some(0.0), Some(0.25)));
}

/// No end of a ratio is cut off as if it were a share: five times as long is five times as long.
#[test]
fn a_ratio_above_one_is_whole_in_the_json() {
    let at = |policy: &str, factor| variant(policy, &[("policy", policy)], factor);
    let mut slow = at("random", 5.0);
    slow.answers[0].replications[0].1[0] = Some(5.5);
    let json = run(vec![at("jsq", 1.0), slow]).pairs_to_json();
    let ratio = json.iter().find(|row| row["metric"] == "response_time_mean_ratio").unwrap();
    let [low, value, high] = ["ci_low", "estimate", "ci_high"].map(|key| ratio[key].as_f64().unwrap());
    assert!(1.0 < low && low < value && value > 5.0 && value < high, "{ratio}");
}

/// Variants that all have names, at ranges of the load; and beside what the file has without a name.
#[test]
fn names_alone_are_choices() {
    let of = |name: &str, load: &str, [servers, cores]: [&str; 2], factor| {
        let settings = [("servers", servers), ("cores", cores), ("utilization", load)];
        variant(&format!("{name}, utilization {load}"), &settings, factor)
    };
    let at = |load: &str| [of("4 M/M/1", load, ["4", "1"], 2.0), of("M/M/4", load, ["1", "4"], 1.0)];
    let answers = run([at("0.5"), at("0.9")].concat());
    assert_eq!(told(&answers), ["utilization 0.5: M/M/4 / 4 M/M/1", "utilization 0.9: M/M/4 / 4 M/M/1"]);
    assert!(render(&answers).contains("Another variant, all else equal"));
    let unnamed = |load: &str| {
        variant(&format!("utilization {load}"), &[("servers", "4"), ("cores", ""), ("utilization", load)], 2.0)
    };
    let answers = run(vec![unnamed("0.5"), unnamed("0.9"), of("M/M/4", "0.9", ["1", "4"], 1.0)]);
    assert_eq!(told(&answers), ["utilization 0.9: M/M/4 / as given"]);
    // What its label tells of it besides is what it is.
    let three = variant("servers 3, utilization 0.9", &[("servers", "3"), ("cores", ""), ("utilization", "0.9")], 1.5);
    let answers = run(vec![three, of("M/M/4", "0.9", ["1", "4"], 1.0)]);
    assert_eq!(told(&answers), ["utilization 0.9: M/M/4 / servers 3"]);
    // Of another load than all others nothing is said.
    let answers =
        run(vec![unnamed("0.5"), variant("M/M/4", &[("servers", "1"), ("cores", "4"), ("utilization", "0.9")], 1.0)]);
    assert!(told(&answers).is_empty(), "{:?}", told(&answers));
}

/// A policy that is told beside a name is the choice, whatever stands first: two choices at once are no pair.
#[test]
fn one_choice_differs_and_no_second() {
    let of =
        |label: String, policy: &str, servers: &str| variant(&label, &[("policy", policy), ("servers", servers)], 1.0);
    for is_behind in [true, false] {
        let both = |name: &str, servers: &str| {
            let policies = ["random", "round-robin(a, b)"];
            policies.map(|policy| match is_behind {
                true => of(format!("{name}, {policy}"), policy, servers),
                false => of(format!("{policy}, {name}"), policy, servers),
            })
        };
        let answers = run([both("few", "2"), both("many", "8")].concat());
        let all = pairs(&answers);
        assert_eq!(all.len(), 2, "{:?}", told(&answers));
        for pair in all {
            let [a, b] = [pair.places.0, pair.places.1].map(|place| &answers.variants[place]);
            assert_eq!(a.setting("servers"), b.setting("servers"), "{} and {}", a.label, b.label);
        }
    }
}

/// In a sweep too what has a name is beside the first policy at every value of the axis, unless its requests are others.
#[test]
fn a_sweep_has_the_ratio_of_a_name_at_every_point() {
    let swept = |independent: &[String]| {
        let sweep = Sweep::new(&experiment(FILE), &[Engine::Sim], "").unwrap().independent(independent).unwrap();
        let mut store = Store::memory();
        for point in sweep.points() {
            store.put(point.ask(sweep.by(), &Progress::none()).unwrap()).unwrap();
        }
        let table = String::from_utf8(sweep.table(store.records()).unwrap()).unwrap();
        (sweep.answers(store.records()), table)
    };
    let (answers, table) = swept(&[]);
    assert!(table.starts_with("servers,policy,utilization,cores,name,engine,metric,"), "{table}");
    for load in ["0.5", "0.6"] {
        let row = format!("\n1,random,{load},4,M/M/4,sim,response_time_mean_ratio,1,0.");
        assert_eq!(table.matches(&row).count(), 1, "one queue for all is faster, at {load}: {table}");
    }
    let names: Vec<&str> = answers.variants.iter().map(|variant| variant.label.as_str()).collect();
    assert_eq!(names, labels(FILE));
    let (apart, table) = swept(&["servers".to_owned()]);
    assert!(!table.contains(",M/M/4,sim,response_time_mean_ratio"), "{table}");
    assert!(table.contains(",least-connections,0.6,,,sim,response_time_mean_ratio"), "{table}");
    assert!(pairs(&apart).is_empty(), "a page would pair what has other requests");
}

/// What has one value in all variants tells none apart: it is in no label, and in the files all the same.
#[test]
fn a_setting_with_one_value_is_in_no_label() {
    let expected = ["random, utilization 0.5", "random, utilization 0.6", "least-connections, utilization 0.5"];
    assert_eq!(labels(FILE)[..3], expected);
    let answers = asked(FILE, Engine::Theory);
    let (first, page) = (&answers.variants[0], render(&answers));
    assert_eq!((first.setting("servers"), first.name()), (Some("4"), None));
    assert_eq!(answers.variants[4].name_alone().as_deref(), Some("M/M/4"));
    assert!(!page.contains("servers 4, "), "{page}");
    let with = |vary: &str| FILE.split("[[variant]]").next().unwrap().replace("servers = [4]\n", vary);
    assert_eq!(labels(&with("servers = [4, 8]\n"))[0], "servers 4, random, utilization 0.5");
    // Where nothing else would be left, it stands.
    let one = with("").replace("[\"random\", \"least-connections\"]", "[\"random\"]").replace("[0.5, 0.6]", "[0.5]");
    assert_eq!(labels(&one), ["random, utilization 0.5"]);
    // Beside a name neither.
    let named =
        with("servers = [4]\nload = [{ name = \"low\", rate = \"1 /s\" }, { name = \"high\", rate = \"2 /s\" }]\n");
    let named = named.replace("utilization = [0.5, 0.6]\n", "").replace("utilization = 0.5\n", "rate = \"1 /s\"\n");
    assert_eq!(labels(&named)[..2], ["low, random", "low, least-connections"]);
}

/// Runs are matched by what a variant is, whatever of it their labels tell.
#[test]
fn labels_of_one_value_match_those_of_several_and_of_none() {
    let with = |vary: &str| {
        let text = FILE.split("[[variant]]").next().unwrap().replace("servers = [4]\n", vary);
        asked(&text, Engine::Theory)
    };
    let (one, none, several) = (with("servers = [4]\n"), with(""), with("servers = [8, 4]\n"));
    let all: Vec<(usize, usize)> = (0..4).map(|place| (place, place)).collect();
    assert_eq!(in_common(&one, &none), all);
    assert_eq!(in_common(&none, &one), all);
    let second: Vec<(usize, usize)> = (0..4).map(|place| (place, place + 4)).collect();
    assert_eq!(in_common(&one, &several), second, "eight servers are another system");
    assert_eq!(in_common(&none, &several), second);
}
