//! Bad experiments get one line: file, line, key, and what would be right.

use std::path::Path;

use sojourn_lab::{Experiment, Variant};

pub(crate) const FOUR_SERVERS: &str = r#"name = "four"
seed = 1
[workload]
kind = "open"
arrivals = "exponential(utilization = 0.7)"
size = "lognormal(mu = 7.881, sigma = 1.339, unit = B)"
[[system.tier]]
face = "gateway"
policy = "least-connections"
targets = { servers = 4 }
[system.server]
discipline = "limited-ps"
helpers = 16
demand = "1 ms + 1 us/B"
[run]
by = ["theory", "sim"]
"#;

fn variants(text: &str, set: &[&str]) -> Result<Vec<Variant>, String> {
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    Experiment::new(Path::new("x.toml"), text.into(), &set)
        .and_then(|source| source.variants())
        .map_err(|e| e.to_string())
}

#[test]
fn a_good_file_is_read_and_its_rate_settled() {
    let variants = variants(FOUR_SERVERS, &[]).unwrap();
    let asked = variants[0].experiment.system().unwrap();
    assert_eq!(asked.system.hosts.len(), 4);
    // 374 /s, as 0.7 of four servers with a mean demand of 1 ms + 6.487 ms.
    let sojourn_traffic::Workload::Open(open) = &asked.workload else { panic!("open") };
    let rate = 1.0 / open.arrivals.law().unwrap().mean();
    assert!((rate - 374.0).abs() < 1.0, "{rate}");
}

#[test]
fn every_mistake_names_line_key_and_remedy() {
    // (what is replaced, by what, what the message must contain)
    let cases = [
        ("seed = 1", "sede = 1", &["x.toml:2", "sede", "seed"][..]),
        ("helpers = 16", "helprs = 16", &["x.toml:13", "helprs", "helpers"]),
        ("utilization = 0.7", "utilization = 1.2", &["x.toml:5", "arrivals", "1.2", "stable below"]),
        ("exponential(utilization = 0.7)", "exponential(mean = 10)", &["x.toml:5", "arrivals", "unit"]),
        ("exponential(utilization = 0.7)", "exponential(rate = -3 /s)", &["x.toml:5", "arrivals"]),
        ("exponential(utilization = 0.7)", "exponentail(rate = 3 /s)", &["x.toml:5", "exponential"]),
        ("unit = B", "unit = ms", &["x.toml:6", "size"]),
        ("\"least-connections\"", "\"least-conections\"", &["x.toml:9", "policy", "least-connections"]),
        ("1 us/B", "1 us/m", &["x.toml:14", "us/m"]),
        ("kind = \"open\"", "kind = \"opne\"", &["x.toml:4", "opne", "open"]),
        ("kind = \"open\"", "kind = \"closed\"", &["x.toml:5", "arrivals", "users"]),
        ("servers = 4", "servers = 0", &["x.toml:10", "servers", "at least 1"]),
        ("\"sim\"", "\"simm\"", &["x.toml:16", "simm", "sim"]),
        ("face = \"gateway\"", "face = \"gatway\"", &["x.toml:8", "gatway", "gateway"]),
        ("discipline = \"limited-ps\"", "discipline = \"limited\"", &["x.toml:12", "limited-ps"]),
        ("seed = 1", "seed = ", &["x.toml:2"]),
    ];
    for (good, bad, expected) in cases {
        assert!(FOUR_SERVERS.contains(good), "{good}");
        let text = FOUR_SERVERS.replacen(good, bad, 1);
        let message = variants(&text, &[]).err().unwrap_or_else(|| panic!("`{bad}` was taken"));
        assert_eq!(message.lines().count(), 1, "{bad}: more than a line: {message}");
        for part in expected {
            assert!(message.contains(part), "`{bad}`: no `{part}` in: {message}");
        }
    }
}

#[test]
fn set_changes_values_and_its_mistakes_are_named() {
    let changed = variants(FOUR_SERVERS, &["policy=random", "system.server.helpers=8"]).unwrap();
    assert_eq!(changed[0].experiment.system().unwrap().system.tier().unwrap().policy, "random");
    assert!(variants(FOUR_SERVERS, &["policy"]).unwrap_err().contains("key=value"));
    let message = variants(FOUR_SERVERS, &["polcy=random"]).unwrap_err();
    assert!(message.contains("did you mean `policy`"), "{message}");
    let message = variants(FOUR_SERVERS, &["policy=rondom"]).unwrap_err();
    assert!(message.contains("--set") && message.contains("random"), "{message}");
}

#[test]
fn a_mistake_in_set_is_not_said_of_a_variant() {
    let varied = format!("{FOUR_SERVERS}[vary]\npolicy = [\"random\", \"round-robin\"]\n");
    let refused = |text: &str, set: &[&str]| variants(text, set).unwrap_err();
    let message = refused(&varied, &["servers=2", "live.duration=1 s", "helpers=3"]);
    assert_eq!(message, "--set live.duration=1 s: there is no such key; did you mean `run.live.duration`?");
    assert_eq!(
        refused(&varied, &["system.helpers=3"]),
        "--set system.helpers=3: there is no such key; did you mean `helpers`?"
    );
    let dotted = varied.replace("policy = [", "\"system.policy\" = [");
    let message = refused(&dotted, &[]);
    assert!(message.ends_with(": system.policy: there is no such key; did you mean `policy`?"), "{message}");
    let line = dotted.lines().position(|line| line.contains("system.policy")).unwrap() + 1;
    assert!(message.starts_with(&format!("x.toml:{line}: ")), "{message}");
    let message = refused(&varied, &["arrivals=5"]);
    assert!(message.starts_with("--set arrivals=5: ") && !message.contains("with policy"), "{message}");
    // A mistake of the file's own is not one of the command line.
    let message = refused(&varied.replace("1 us/B", "1 us/m"), &["servers=2"]);
    assert!(message.starts_with("x.toml:14: "), "{message}");
    // A mistake of a variant is one, whatever is set besides.
    let message = refused(&varied.replace("round-robin", "rund-robin"), &["servers=2"]);
    assert!(!message.contains("--set") && message.contains("with policy = rund-robin"), "{message}");
}

#[test]
fn a_policy_that_every_variant_replaces_is_read_too() {
    let text = FOUR_SERVERS.replace("least-connections", "lest-connections");
    let message = variants(&format!("{text}[vary]\npolicy = [\"random\"]\n"), &[]).unwrap_err();
    assert!(message.starts_with("x.toml:9: policy") && message.contains("least-connections"), "{message}");
}

#[test]
fn a_value_of_another_type_is_said_in_words() {
    const RUN: &str = "by = [\"theory\", \"sim\"]";
    let cases = [
        ("servers = 4", "servers = \"four\"", "it is a whole number, without quotes"),
        ("servers = 4", "servers = -4", ": it is not negative"),
        ("servers = 4", "servers = 5000000000", ": it is too large: at most 4294967295"),
        ("servers = 4", "servers = 1e10", ": it is too large: at most 4294967295"),
        ("servers = 4", "servers = -4.0", ": it is not negative"),
        ("servers = 4", "servers = 4.0", "it is a whole number, without a point or an exponent: 4"),
        ("servers = 4", "servers = 4.5", "it is a whole number, without quotes"),
        ("seed = 1", "seed = \"one\"", "it is a whole number, without quotes"),
        ("face = \"gateway\"", "face = 3", "it is a text"),
        ("targets = { servers = 4 }", "targets = \"four\"", "it is a table, e.g. `{ key = 1 }`"),
        ("targets = { servers = 4 }", "targets = []", "it is a table, e.g. `{ key = 1 }`"),
        ("by = [\"theory\", \"sim\"]", "by = \"sim\"", "it is a list, e.g. `[\"sim\"]`"),
        (RUN, "max_jobs = 1e30", "invalid value: `1e30` in `max_jobs = 1e30`: it is too large: at most 9223372"),
        (RUN, "warm_up = -5", ": a time is not negative; it is a text in quotes, with its unit where it has one"),
        (RUN, "warm_up = -5", "; \"auto\" finds its end in the run itself"),
        (RUN, "warm_up = 5", ": it is a text in quotes, with its unit where it has one, e.g. \"5 s\"; \"auto\""),
        (RUN, "duration = 60", ": it is a text in quotes, with its unit where it has one, e.g. \"60 s\""),
        ("helpers = 16", "helpers = [16]", "invalid type: a list"),
    ];
    for (good, bad, right) in cases {
        let message = variants(&FOUR_SERVERS.replacen(good, bad, 1), &[]).unwrap_err();
        assert!(message.contains(right) && message.contains(bad), "{message}");
    }
}

#[test]
fn variants_are_the_product_of_vary_and_then_each_variant() {
    let text = format!(
        "{FOUR_SERVERS}[vary]\npolicy = [\"random\", \"round-robin\"]\nservers = [2, 4]\n\
         [[variant]]\npolicy = \"random\"\ndiscipline = \"ps\"\n"
    );
    let variants = variants(&text, &[]).unwrap();
    let labels: Vec<_> = variants.iter().map(Variant::label).collect();
    assert_eq!(variants.len(), 5);
    assert!(variants.iter().all(|v| v.settings.len() == 3), "one column per varied setting: {labels:?}");
    assert_eq!(labels[0], "random, servers 2, limited-ps");
    assert_eq!(labels[4], "random, servers 4, ps");
}

/// What the file calls a variant is its label, and no column; its ranges are run through, and told beside the name.
#[test]
fn variants_have_names_and_ranges() {
    let of = |text: &str| {
        let variants = variants(&format!("{FOUR_SERVERS}{text}"), &[]).unwrap();
        let labels: Vec<String> = variants.iter().map(Variant::label).collect();
        let keys: Vec<String> = variants[0].settings.iter().map(|setting| setting.key.clone()).collect();
        assert!(variants.iter().all(|variant| variant.experiment.name == "four"), "{labels:?}");
        (labels, keys)
    };
    let (labels, keys) = of("[[variant]]\nname = \"two choices\"\npolicy = \"power-of-d\"\nservers = \"2..4\"\n\
                             [[variant]]\npolicy = \"random\"\nhelpers = \"8..9\"\n");
    let told = ["two choices, servers 2", "two choices, servers 3", "two choices, servers 4"];
    assert_eq!((labels[1..4].to_vec(), labels.len()), (told.map(str::to_owned).to_vec(), 6));
    assert!(labels[4].ends_with("helpers 8") && labels[5].ends_with("helpers 9"), "{labels:?}");
    assert_eq!(keys, ["policy", "servers", "helpers"]);
    // Settings of a list of [vary] that go together.
    let (labels, keys) =
        of("[vary]\ndesign = [{ name = \"few\", servers = 2 }, { servers = 3 }]\npolicy = [\"random\"]\n");
    assert_eq!((labels, keys.len()), (vec!["few".to_owned(), "servers 3".to_owned()], 2));
    let line = FOUR_SERVERS.lines().count();
    for (text, place, right) in [
        ("[[variant]]\nname = 3\nservers = 2\n", 2, "variant: `name` is what it is called in tables: a text in quotes"),
        ("[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a\"\n", 4, "variant: `name` is that of another one too"),
        ("[[variant]]\ncores = \"0.5..0.9\"\n", 2, "variant: `cores` is no range: `0.5..0.9`: it takes a step"),
        ("[[variant]]\nname = \"a\"\nservers = \"1..3\"\npolicy = \"rondom\"\n", 4, "did you mean `random`?"),
        ("[[variant]]\nutilization = [0.5, 0.6]\n", 2, "is a number; a variant takes one value: several are a range"),
        ("[[variant]]\nservers = [2, 3]\n", 2, "it is a whole number; a variant takes one value"),
    ] {
        let message = variants(&format!("{FOUR_SERVERS}{text}"), &[]).unwrap_err();
        assert!(
            message.starts_with(&format!("x.toml:{}: ", line + place)) && message.contains(right),
            "{text}: {message}"
        );
    }
}

/// Every variant would replace what was set, and nothing say so.
#[test]
fn what_tables_of_vary_set_is_not_set_by_hand() {
    let text =
        format!("{FOUR_SERVERS}[vary]\ntargets = [{{ servers = 4 }}, {{ servers = 5, weights = [1, 1, 1, 1, 2] }}]\n");
    let error = variants(&text, &["servers=6"]).unwrap_err().to_string();
    assert!(error.contains("--set servers: the tables of `targets` in [vary] set it too"), "{error}");
    assert!(variants(&text, &["policy=random"]).is_ok());
}

#[test]
fn what_is_set_is_not_varied() {
    let text = format!("{FOUR_SERVERS}[vary]\npolicy = [\"random\", \"round-robin\"]\nservers = [2, 4]\n");
    let labels = |set: &[&str]| variants(&text, set).unwrap().iter().map(Variant::label).collect::<Vec<_>>();
    assert_eq!(labels(&["policy=least-connections"]), ["least-connections, servers 2", "least-connections, servers 4"]);
    let by_long_name = labels(&["system.tier.0.targets.servers=3"]);
    assert_eq!(by_long_name, ["servers 3, random", "servers 3, round-robin"]);
}

/// What is set by hand holds in each `[[variant]]` too, and where that replaces what a variant with a name says, it is told: the
/// name may have become untrue.
#[test]
fn what_is_set_replaces_the_values_of_variants_and_says_so() {
    let four = "[[variant]]\nname = \"four\"\nservers = 4\npolicy = \"random\"\n";
    let eight = "[[variant]]\nname = \"eight\"\n\"system.tier.0.targets.servers\" = 8\n";
    let text = format!("{FOUR_SERVERS}[vary]\npolicy = [\"round-robin\"]\n{four}{eight}[[variant]]\nservers = 2\n");
    let told = |set: &[&str]| {
        let variants = variants(&text, set).unwrap();
        let of = |variant: &Variant| {
            (variant.label(), variant.experiment.system().unwrap().system.hosts.len(), variant.remarks.join("; "))
        };
        variants.iter().map(of).collect::<Vec<_>>()
    };
    let row = |label: &str, servers: usize, remarks: &str| (label.to_owned(), servers, remarks.to_owned());
    let replaces = "--set servers = 8 also replaces servers = 4 of the variant four";
    let all = told(&["servers=8"]);
    let expected = [row("servers 8, round-robin", 8, ""), row("four", 8, replaces), row("eight", 8, "")];
    assert_eq!(all, expected, "what is the same is not replaced, and of the last nothing is left");
    // The last word counts; a key may be called otherwise.
    let all = told(&["servers=8", "servers=4"]);
    let replaces = "--set servers = 4 also replaces system.tier.0.targets.servers = 8 of the variant eight";
    assert_eq!(all[1..], [row("four", 4, ""), row("eight", 4, replaces)]);
    assert!(told(&["seed=7"]).iter().all(|(.., remarks)| remarks.is_empty()));
    // Another way to say how fast requests come.
    let text = format!("{FOUR_SERVERS}[[variant]]\nname = \"full\"\nutilization = 0.9\n");
    let full = variants(&text, &["rate=50 /s"]).unwrap();
    assert_eq!(
        full.last().unwrap().remarks,
        ["--set rate = 50 /s also replaces utilization = 0.9 of the variant full"]
    );
    // A table that a variant sets as a whole has the key in it.
    let text = format!("{FOUR_SERVERS}[[variant]]\n\"system.tier.0.targets\" = {{ servers = 4 }}\n");
    let whole = variants(&text, &["servers=8"]).unwrap();
    let whole = whole.last().unwrap();
    assert_eq!(whole.experiment.system().unwrap().system.hosts.len(), 4);
    let told = "--set servers = 8 has no effect here: the variant sets system.tier.0.targets as a whole";
    assert_eq!(whole.remarks, [told]);
}

/// A key of what varies is a path, with quotes or without, in a file and by `--set`, and what is set takes the place of the
/// file's, whatever that is called there.
#[test]
fn a_path_varies_with_quotes_and_without() {
    let rates = "[\"exponential(rate = 100 /s)\", \"exponential(rate = 200 /s)\"]";
    let labels =
        |text: &str, set: &[&str]| -> Vec<String> { variants(text, set).unwrap().iter().map(Variant::label).collect() };
    let both = ["exponential(rate = 100 /s)", "exponential(rate = 200 /s)"];
    let (plain, quoted) = ("vary.workload.arrivals", "vary.\"workload.arrivals\"");
    for key in [plain, quoted, "vary.'workload.arrivals'", "vary.arrivals"] {
        assert_eq!(labels(FOUR_SERVERS, &[format!("{key}={rates}").as_str()]), both, "{key}");
    }
    let tables =
        ["[vary]\nworkload.arrivals", "[vary]\n\"workload.arrivals\"", "[vary.workload]\narrivals", "[vary]\narrivals"];
    for table in tables {
        let text = format!("{FOUR_SERVERS}{table} = {rates}\n");
        assert_eq!(labels(&text, &[]), both, "{table}");
        for key in [plain, quoted] {
            let set = format!("{key}=[\"exponential(rate = 50 /s)\"]");
            assert_eq!(labels(&text, &[set.as_str()]), ["exponential(rate = 50 /s)"], "{table}, {key}");
        }
    }
    // Of a `[[variant]]` too; the first is the file as it stands.
    let text = format!("{FOUR_SERVERS}[[variant]]\nworkload.arrivals = \"exponential(rate = 100 /s)\"\n");
    assert_eq!(labels(&text, &[])[1..], ["exponential(rate = 100 /s)"]);
    for key in ["variant.0.workload.arrivals", "variant.0.\"workload.arrivals\""] {
        let set = format!("{key}=exponential(rate = 50 /s)");
        assert_eq!(labels(&text, &[set.as_str()])[1..], ["exponential(rate = 50 /s)"], "{key}");
    }
    // A refusal has the key that was meant.
    let refused = variants(FOUR_SERVERS, &["vary.\"workload.arrivals\"=exponential(rate = 100 /s)"]).unwrap_err();
    let right = "needs a list of values, e.g. `workload.arrivals = [\"exponential(rate = 100 /s)\"]`";
    assert!(refused.starts_with("--set vary.workload.arrivals=") && refused.contains(right), "{refused}");
}

/// A setting that varied twice would have the values of one list and the labels of both.
#[test]
fn a_setting_varies_once() {
    let twice = "[vary]\nservers = [2, 4]\nsystem.tier.0.targets.servers = [3, 5]\n";
    let refused = variants(&format!("{FOUR_SERVERS}{twice}"), &[]).unwrap_err();
    let told = "vary: `servers` and `system.tier.0.targets.servers` are one setting: leave one of them out";
    assert!(refused.starts_with("x.toml:") && refused.ends_with(told), "{refused}");
}

/// What stands in quotes is one part of a path, whatever dots it has.
#[test]
fn a_name_with_dots_is_set_in_quotes() {
    for key in ["system.paths.\"europe..asia\".rtt", "system.paths.'europe..asia'.rtt"] {
        let set = [format!("{key}=200 ms")];
        let text = Experiment::new(Path::new("x.toml"), FOUR_SERVERS.into(), &set).unwrap().text();
        assert!(text.contains("[system.paths.\"europe..asia\"]\nrtt = \"200 ms\"\n"), "{key}: {text}");
    }
}

#[test]
fn a_mistake_in_a_variation_says_which() {
    let text = format!("{FOUR_SERVERS}[vary]\npolicy = [\"random\", \"rond-robin\"]\n");
    let message = variants(&text, &[]).unwrap_err();
    assert!(message.contains("policy = rond-robin") && message.contains("round-robin"), "{message}");
    let message = variants(&format!("{FOUR_SERVERS}[vary]\npolicy = \"random\"\n"), &[]).unwrap_err();
    assert!(message.contains("needs a list"), "{message}");
    // What was set by hand is not in the file.
    let message = variants(&text, &["vary.servers=4"]).unwrap_err();
    assert!(message.starts_with("--set vary.servers=4: ") && message.contains("needs a list"), "{message}");
}

/// A limit that nothing can meet, or everything does, is a slip, in a file as on the command line.
#[test]
fn limits_that_say_nothing_are_refused() {
    let cases = [
        ("error_ratio = \"< 0 %\"", "never below 0"),
        ("error_ratio = \"< 120 %\"", "never above 1"),
        ("error_ratio = \"> 100 %\"", "never above 1"),
        ("p99 = \"< 0 s\"", "never below 0"),
    ];
    for (objective, right) in cases {
        let message = variants(&format!("{FOUR_SERVERS}[objective]\n{objective}\n"), &[]).unwrap_err().to_string();
        assert!(message.contains(right), "{objective}: {message}");
    }
    let message = variants(FOUR_SERVERS, &["run.duration=10 s", "run.warm_up=12 s"]).unwrap_err().to_string();
    assert!(message.contains("the warm-up is shorter"), "{message}");
}

/// Whatever is wrong with a variation, the line is that of the file where it is written.
#[test]
fn a_mistake_in_a_variation_has_the_line_of_the_variation() {
    let first = FOUR_SERVERS.lines().count() + 1;
    let cases = [
        ("[vary]\nservers = [2, 4]\npolicy = [\"random\", \"rond-robin\"]\n", 2),
        ("[vary]\nservers = [2, 4]\npolicy = \"random\"\n", 2),
        ("vary = 3\n", 0),
        ("[vary]\nservers = [2, 4]\nsizez = [\"constant(1 kB)\"]\n", 2),
        ("[vary]\nservers = [2, 4]\n\"system.tier.9.policy\" = [\"random\"]\n", 2),
        ("[vary]\nsite = [\n{ servers = 2 },\n{ servers = 3, demand = \"1 parsec\" },\n]\n", 3),
        ("[[variant]]\nservers = 2\n\n[[variant]]\nservers = 2\ndiscipline = \"ps\"\ndemand = true\n", 6),
        ("[[variant]]\nservers = 2\nsystem.x = 3\n", 2),
        ("[vary]\npolicy = [\"random\", \"a\\nb\"]\n", 1),
    ];
    for (text, line) in cases {
        let message = variants(&format!("{FOUR_SERVERS}{text}"), &[]).unwrap_err();
        assert!(message.starts_with(&format!("x.toml:{}: ", first + line)), "{text}: {message}");
        assert!(!message.contains('\n'), "{text}: {message}");
    }
}

/// What is wrong at a line only because of what a variant sets is said with the variant.
#[test]
fn a_line_that_is_wrong_in_one_variant_only_names_it() {
    let text = format!(
        "{FOUR_SERVERS}duration = \"60 s\"\n[[fault]]\nat = \"10 s\"\nserver = 4\nwhat = \"drained\"\n[vary]\nservers = [4, 2]\n"
    );
    let message = variants(&text, &[]).unwrap_err();
    assert!(message.starts_with("x.toml:20: with servers = 2: server: there is no such server"), "{message}");
    let message = variants(&text.replace("server = 4", "server = 5"), &[]).unwrap_err();
    assert!(message.starts_with("x.toml:20: server: there is no such server"), "{message}");
}

#[test]
fn a_tier_that_is_not_there_is_said_to_be_missing() {
    let (before, rest) = FOUR_SERVERS.split_once("[[system.tier]]").unwrap();
    let without = format!("{before}[system.server]{}", rest.split_once("[system.server]").unwrap().1);
    let message = variants(&format!("{without}[vary]\npolicy = [\"random\"]\n"), &[]).unwrap_err();
    assert!(message.contains("`system.tier.0.policy`: the file has no `[[system.tier]]`"), "{message}");
    let message = variants(FOUR_SERVERS, &["system.tier.1.policy=random"]).unwrap_err();
    assert!(message.contains("`system.tier.1.policy`: the last `[[system.tier]]` is number 0"), "{message}");
}

#[test]
fn a_pareto_without_a_mean_cannot_be_loaded_to_a_utilization() {
    let text =
        FOUR_SERVERS.replace("lognormal(mu = 7.881, sigma = 1.339, unit = B)", "pareto(alpha = 0.9, min = 1 kB)");
    let message = variants(&text, &[]).unwrap_err();
    assert!(message.contains("x.toml:5") && message.contains("no") && message.contains("mean"), "{message}");
}

/// Every discipline can be varied to: what only another one has is left out.
#[test]
fn a_discipline_takes_its_own_keys_only() {
    let text = format!(
        "{FOUR_SERVERS}[[variant]]\ndiscipline = \"least-attained-service\"\n\
         [[variant]]\ndiscipline = \"round-robin\"\nquantum = \"5 ms\"\n\
         [[variant]]\ndiscipline = \"lcfs\"\npreemptive = true\n[[variant]]\ndiscipline = \"priority\"\n"
    );
    let names: Vec<_> = variants(&text, &[])
        .unwrap()
        .iter()
        .map(|variant| variant.experiment.system().unwrap().system.hosts[0].server.discipline.name())
        .collect();
    assert_eq!(names, ["limited-ps", "least-attained-service", "round-robin", "lcfs", "priority"], "first as written");
}

/// Who wants to see every event played says so.
#[test]
fn the_event_list_is_asked_for_by_name() {
    let asked = |word: &str| variants(&FOUR_SERVERS.replace("[run]", &format!("[run]\nengine = \"{word}\"")), &[]);
    let events = |text| asked(text).unwrap()[0].experiment.run.events;
    assert_eq!((events("events"), events("auto")), (true, false));
    let message = asked("event").unwrap_err();
    assert!(message.contains("engine") && message.contains("did you mean `events`"), "{message}");
}

/// A simulator can predict response times, and tell a policy of single requests; a gateway cannot.
#[test]
fn predictions_are_asked_for_by_name() {
    let policy = FOUR_SERVERS.replace("\"least-connections\"", "\"shortest-predicted-response\"");
    let message = variants(&policy, &[]).unwrap_err();
    assert!(message.contains("x.toml:9") && message.contains("(predicted-response)"), "{message}");
    let told =
        policy.replace("targets = { servers = 4 }", "targets = { servers = 4 }\ntold = [\"predicted-response\"]");
    let told = told.replace("[run]", "[run]\npredict = \"demands\"");
    let experiment = &variants(&told, &[]).unwrap()[0].experiment;
    assert_eq!(experiment.run.predict, Some(sojourn_model::Knowledge::Demands));
    let message = variants(&told.replace("\"demands\"", "\"demand\""), &[]).unwrap_err();
    assert!(message.contains("predict") && message.contains("did you mean `demands`"), "{message}");
}

/// How fast requests come is a key of its own, whatever scale their law has.
#[test]
fn a_load_is_set_and_varied() {
    let arrivals = |set: &[&str]| {
        let variants = variants(FOUR_SERVERS, set).unwrap();
        let sojourn_traffic::Workload::Open(open) = &variants[0].experiment.system().unwrap().workload else {
            panic!("open")
        };
        (open.arrivals.rate().unwrap(), open.arrivals.law().unwrap().scv())
    };
    // 0.7 of the four servers are 374 /s.
    let near = |(rate, scv): (f64, f64), wanted: (f64, f64)| {
        assert!((rate / wanted.0 - 1.0).abs() < 0.01 && (scv - wanted.1).abs() < 1e-9, "{rate}, {scv} for {wanted:?}");
    };
    near(arrivals(&["utilization=0.35"]), (187.0, 1.0));
    near(arrivals(&["rate=50 /s"]), (50.0, 1.0));
    near(arrivals(&["workload.arrivals=erlang(k = 4)", "utilization=0.7"]), (374.0, 0.25));
    near(arrivals(&["arrivals=erlang(k = 2, rate = 9 /s)", "rate=20 /s"]), (20.0, 0.5));
    // The last word counts.
    near(arrivals(&["rate=20 /s", "utilization=0.35"]), (187.0, 1.0));
    near(arrivals(&["rate=20 /s", "arrivals=erlang(k = 2, rate = 9 /s)"]), (9.0, 0.5));

    // Both ends of a range; the setting is a column, and the file's own scale is void.
    let text = format!("{FOUR_SERVERS}[vary]\nutilization = \"0.5..0.9 step 0.2\"\n");
    let labels = |text: &str| variants(text, &[]).unwrap().iter().map(Variant::label).collect::<Vec<_>>();
    assert_eq!(labels(&text), ["utilization 0.5", "utilization 0.7", "utilization 0.9"]);
    let text = format!("{FOUR_SERVERS}[vary]\nrate = [\"50 /s..60 /s step 10 /s\", \"100 /s\"]\n");
    assert_eq!(labels(&text), ["50 /s", "60 /s", "100 /s"]);
    // What is fixed by hand of what the file varies is named; the last word counts.
    let of = |set: &[&str]| {
        let text =
            format!("{FOUR_SERVERS}[vary]\npolicy = [\"random\", \"round-robin\"]\nrate = [\"50 /s\", \"60 /s\"]\n");
        variants(&text, set).unwrap().iter().map(Variant::label).collect::<Vec<_>>()
    };
    assert_eq!(of(&["policy=random"]), ["random, 50 /s", "random, 60 /s"]);
    assert_eq!(of(&["policy=random", "seed=7", "rate=9 /s", "policy=round-robin"]), ["9 /s, round-robin"]);
    // A law that varies does not undo a load that does.
    let laws = "arrivals = [\"exponential(rate = 1 /s)\", \"erlang(k = 2)\"]";
    for text in [format!("{laws}\nrate = [\"7 /s\"]"), format!("rate = [\"7 /s\"]\n{laws}")] {
        for variant in variants(&format!("{FOUR_SERVERS}[vary]\n{text}\n"), &[]).unwrap() {
            let sojourn_traffic::Workload::Open(open) = &variant.experiment.system().unwrap().workload else {
                panic!("open")
            };
            assert!((open.arrivals.rate().unwrap() - 7.0).abs() < 1e-9, "{}", variant.label());
        }
    }
}

#[test]
fn a_wrong_load_has_its_line() {
    let cases = [
        ("utilization = 0.5\nrate = \"5 /s\"", "x.toml:6: rate: it and `utilization` both say"),
        ("utilization = 1.5", "x.toml:5: utilization: utilization 1.500 is not below 1"),
        ("utilization = 0", "x.toml:5: utilization: the utilization must be above 0 and finite, such as 0.7"),
        ("utilization = nan", "x.toml:5: utilization: the utilization must be above 0 and finite, such as 0.7"),
        ("rate = \"0 /s\"", "x.toml:5: rate: the rate must be above 0 and finite, such as 8 /s"),
        ("rate = \"5\"", "x.toml:5: rate: `5` has no unit"),
        ("rate = \"900 /s\"", "x.toml:5: rate: utilization 1.684 is not below 1"),
        ("arrivals = \"erlang(k = 2)\"", "x.toml:5: arrivals: "),
        (
            "arrivals = \"pareto(alpha = 1, min = 1 s)\"\nrate = \"1 /s\"",
            "x.toml:6: rate: `pareto(alpha = 1, min = 1 s)`: it has no finite mean",
        ),
    ];
    for (text, wanted) in cases {
        let text = FOUR_SERVERS.replace("arrivals = \"exponential(utilization = 0.7)\"", text);
        let message = variants(&text, &[]).unwrap_err();
        assert!(message.starts_with(wanted), "{message}");
    }
    let vary = |text: &str| variants(&format!("{FOUR_SERVERS}[vary]\n{text}\n"), &[]).unwrap_err();
    let twice = vary("policy = [\"random\", \"round-robin\", \"random\"]");
    assert!(twice.contains("x.toml:18: vary: `policy` has `random` twice"), "{twice}");
    let range = vary("utilization = \"0.9..0.5 step 0.1\"");
    assert!(range.contains("x.toml:18: vary: `utilization`: `0.9..0.5 step 0.1`: a range goes up"), "{range}");
}

#[test]
fn a_wrong_setting_of_a_run_says_what_is_wrong_with_it() {
    let set = |change: &str| variants(FOUR_SERVERS, &[change]).unwrap_err();
    let form = "; write it as `5% at 95%`: the interval's half-width, and its confidence";
    let no_width = "the half-width is above 0, or no run would be long enough";
    for (change, wanted) in [
        ("jobs=1e30", "did you mean `run.max_jobs`?"),
        ("requests=1e6", "did you mean `run.max_jobs`?"),
        ("run.jobs=1e6", "unknown key `jobs`; did you mean `max_jobs`?"),
        ("run.requests=1e6", "unknown key `requests`; did you mean `max_jobs`?"),
        ("run.max_jobs=1e30", "it is too large: at most 9223372036854775807"),
        ("warmup=5 s", "did you mean `run.warm_up`?"),
        ("run.warm_up=-5", "a time is not negative; it is a text in quotes"),
        ("run.warm_up=-5 s", "`-5 s` is negative; a time is not; \"auto\" finds its end in the run itself"),
        ("run.warm_up=atuo", "\"auto\" finds its end in the run itself"),
        ("run.precision=0%", &*format!("{no_width}{form}")),
        ("run.precision=0% at 95%", &*format!("{no_width}{form}")),
        ("run.precision=-1% at 95%", no_width),
        ("run.precision=3%", &*format!("the confidence is missing, as in `3% at 95%`{form}")),
        ("run.precision=3% of mean", "the confidence is missing, as in `3% at 95%`; "),
        ("run.precision=3% at 100%", "a confidence is at least 50% and below 100%; write it as"),
    ] {
        let told = set(change);
        assert!(told.contains(wanted), "{change}: {told}");
    }
    // A live run has no end of its warm-up to find.
    let live = set("run.live.warm_up=-5");
    assert!(live.contains("a time is not negative; ") && !live.contains("auto"), "{live}");
}

#[test]
fn a_list_to_vary_over_is_told_as_it_should_be_written() {
    let set = |change: &str| variants(FOUR_SERVERS, &[change]).unwrap_err();
    for (change, wanted) in [
        // What there is not needs no values.
        ("vary.x=3", "--set vary.x=3: unknown setting `x`; "),
        ("vary.x=[1,2]", "unknown setting `x`; "),
        ("vary.x=[]", "unknown setting `x`; "),
        ("vary.x=5..1", "unknown setting `x`; "),
        ("vary.mu=[1, 2]", "did you mean `demand = \"exponential(rate = 1 /s)\"`?"),
        ("vary.utilization=0.5..0.9 step 1e-9", "400000001 values are too many; at most 10000"),
        ("vary.policy=[random,least_conn]", "in single quotes: 'vary.policy=[\"random\", \"least_conn\"]'"),
        ("vary.policy=[power-of-d(d = 2, x), random]", "'vary.policy=[\"power-of-d(d = 2, x)\", \"random\"]'"),
        ("vary.policy=random", "needs a list of values, e.g. `policy = [\"random\"]`, or a range"),
        ("vary.policy=random, round-robin", "e.g. `policy = [\"random\", \"round-robin\"]`, or a range"),
        ("vary.servers=3", "needs a list of values, e.g. `servers = [3]`, or a range"),
        ("vary.weights=[[1, 2], [a, b]]", "'vary.weights=[[1, 2], [\"a\", \"b\"]]'"),
        ("vary.servers=", "needs a list of values, e.g. `servers = [...]`, or a range"),
        ("vary.servers=1..x", "needs a list of values, e.g. `servers = [...]`, or a range"),
    ] {
        let told = set(change);
        assert!(told.contains(wanted), "{change}: {told}");
    }
    // A name of tables that go together is no setting.
    let tables = "vary.both=[{ policy = \"random\", servers = 2 }, { policy = \"round-robin\", servers = 3 }]";
    assert_eq!(variants(FOUR_SERVERS, &[tables]).unwrap().len(), 2);
}
