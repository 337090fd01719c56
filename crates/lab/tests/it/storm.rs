//! A retry storm from file to answer: words, metrics, objectives and the table over time. Nothing in it is random.

use std::path::Path;

use sojourn_lab::prelude::*;
use sojourn_lab::spec::Spec;
use sojourn_lab::{Answers, MetricOverTime};
use sojourn_stats::Estimate;

const STORM: &str = r#"
name = "retry storm"
[workload]
kind = "open"
arrivals = "constant(142857143 ns)"
[client]
timeout = "499999999 ns"
retries = { at_most = 3, backoff = "50 ms" }
abandoned = "served"
[system.server]
discipline = "fcfs"
demand = "100 ms"
[[fault]]
at = "30 s"
until = "31 s"
server = 1
what = "frozen"
[objective]
recovery_time = "< 10 s"
[run]
duration = "150 s"
replications = 2
precision = "none"
"#;

fn by_sim(set: &[(&str, &str)]) -> Answers {
    let experiment = Experiment::new(Path::new("storm.toml"), STORM.into(), &[]).unwrap();
    let experiment = set.iter().fold(experiment, |experiment, (key, value)| experiment.set(key, value).unwrap());
    experiment.ask([Engine::Sim], &Progress::none()).unwrap()
}

fn said(answers: &Answers) -> String {
    // Of those without a number too.
    let all = answers.variants.iter().flat_map(|variant| &variant.answers);
    all.flat_map(|answer| &answer.notes).cloned().collect::<Vec<_>>().join("\n")
}

fn at(answers: &Answers, metric: &str, second: usize) -> Option<f64> {
    let of = |of: &&MetricOverTime| of.metric == metric;
    let over_time = &answers.iter().next().unwrap().over_time;
    over_time.iter().find(of).unwrap_or_else(|| panic!("no {metric}")).points[second].1.value()
}

#[test]
fn a_storm_that_stays_is_told_in_words() {
    let answers = by_sim(&[]);
    let words = "it did not recover: 119 s after the last fault had ended, 7.00 requests a second still failed";
    assert!(said(&answers).contains(words), "{}", said(&answers));
    assert_eq!((at(&answers, "goodput", 29), at(&answers, "goodput", 140)), (Some(7.0), Some(0.0)));
    assert_eq!((at(&answers, "attempts", 29), at(&answers, "attempts", 140)), (Some(7.0), Some(28.0)));
    let judged = &answers.objectives[0];
    assert_eq!((judged.met, judged.measured.as_str()), (Some(false), "it had not recovered by the end"), "{judged:?}");
    // A warm-up that ends with the beginning of the fault, as a note advises, hides nothing of what comes after.
    let cut = by_sim(&[("run.warm_up", "30 s")]);
    assert!(said(&cut).contains(words), "{}", said(&cut));
    assert!(said(&answers).contains("`run.warm_up = \"30 s\"`"), "{}", said(&answers));
    assert_eq!(answers.worst("worst_second_error_ratio").unwrap().2, 1.0);
}

/// What a run is too short for, after the fault or before it, is neither a recovery nor none.
#[test]
fn what_could_not_be_seen_is_said_to_be_so() {
    let budget = ("client.retries.budget", "10 %");
    let recovery = by_sim(&[budget]);
    let recovery_s = recovery.iter().next().unwrap().estimate("recovery_time").unwrap().value().unwrap();
    // Three calm seconds are fewer than five, after a recovery as after none.
    for after_s in [2.0, 3.0, recovery_s + 3.0] {
        let answers = by_sim(&[budget, ("run.duration", &format!("{} s", 31.0 + after_s))]);
        let told = if after_s < 10.0 { format!("{after_s:.2}") } else { format!("{after_s:.1}") };
        let words = format!("whether it recovered could not be seen: the run ended {told} s after");
        assert!(said(&answers).contains(&words), "{after_s}: {}", said(&answers));
        assert_eq!(answers.objectives[0].met, None, "{:?}", answers.objectives[0]);
    }
    let seen = by_sim(&[budget, ("run.duration", &format!("{} s", 31.0 + recovery_s + 5.0))]);
    assert!(said(&seen).contains("it recovered"), "{}", said(&seen));
    let early = by_sim(&[("fault.0.at", "3 s"), ("fault.0.until", "4 s")]);
    assert!(said(&early).contains("is not told: what is usual before the first fault"), "{}", said(&early));
}

/// Not within the run is not, whether its last second was as before or not: the row, the objective and the words say the same.
#[test]
fn what_had_not_recovered_within_the_run_misses_its_limit() {
    let budget = ("client.retries.budget", "token-bucket(10 %, 10)");
    let recovery_s = by_sim(&[budget]).iter().next().unwrap().estimate("recovery_time").unwrap().value().unwrap();
    // Three calm seconds at its end, which are too few to show it.
    let duration = format!("{} s", 31.0 + recovery_s + 3.0);
    let early = |limit: f64| {
        by_sim(&[budget, ("run.duration", &duration), ("objective.recovery_time", &format!("< {limit} s"))])
    };
    for (limit, met) in [(recovery_s - 2.0, Some(false)), (recovery_s + 1.0, None)] {
        let answers = early(limit);
        let known = answers.iter().next().unwrap().estimate("recovery_time");
        assert_eq!(known, Some(&Estimate::TooFew { samples: 0 }), "{limit} s");
        let judged = &answers.objectives[0];
        assert_eq!((judged.met, judged.undecided), (met, met.is_none()), "{limit} s: {judged:?}");
        assert!(said(&answers).contains("whether it recovered could not be seen"), "{limit} s: {}", said(&answers));
    }
}

/// All fails before the fault as after it: that is as before, and no recovery.
#[test]
fn a_system_that_was_failing_before_the_fault_has_not_recovered() {
    // No attempt is in time: a service takes 1 ms longer.
    let answers = by_sim(&[("client.timeout", "99 ms")]);
    let why = "whether it recovered cannot be said: before the first fault 100 % of the requests failed already, and 100 % at \
               the end of the run";
    assert!(said(&answers).contains(why), "{}", said(&answers));
    assert_eq!(answers.iter().next().unwrap().estimate("recovery_time"), None, "there is no row");
    let judged = &answers.objectives[0];
    assert_eq!((judged.met, judged.undecided), (None, true), "{judged:?}");
    assert!(judged.reason.starts_with(why), "{judged:?}");
    assert!(!answers.objectives_met());
    // Of two faults the first has set off a storm that goes on until the second: what is usual was before both.
    let again = "[[fault]]\nat = \"60 s\"\nuntil = \"61 s\"\nserver = 1\nwhat = \"frozen\"\n[objective]";
    let twice = STORM.replacen("[objective]", again, 1);
    let experiment = Experiment::new(Path::new("storm.toml"), twice, &[]).unwrap();
    let answers = experiment.ask([Engine::Sim], &Progress::none()).unwrap();
    assert_eq!(answers.objectives[0].met, Some(false), "{:?}", answers.objectives[0]);
}

/// A log that is replayed has a silence in which the fault begins: there is nothing to compare with.
#[test]
fn behind_a_silence_of_a_log_no_recovery_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    // Ten requests a second, but for the 30 s from the tenth on.
    let line = |tenth: u64| format!("{}.{}00000 a GET /x 200\n", 1_700_000_000 + tenth / 10, tenth % 10);
    std::fs::write(&path, (0..100).chain(400..900).map(line).collect::<String>()).unwrap();
    let ask = |warm_up: &str| {
        let text = format!(
            "name = \"silence\"\n[workload]\nkind = \"log\"\nlog = \"{}\"\nformat = '$begin $client $method $path $status'\n\
             [system.server]\ndiscipline = \"fcfs\"\ndemand = \"1 ms\"\n[[fault]]\nat = \"36 s\"\nuntil = \"37 s\"\n\
             server = 1\nwhat = \"frozen\"\n[objective]\nrecovery_time = \"< 10 s\"\n[run]\nduration = \"80 s\"\n\
             warm_up = \"{warm_up}\"\nreplications = 2\nprecision = \"none\"\n",
            path.display()
        );
        let experiment = Experiment::new(Path::new("silence.toml"), text, &[]).unwrap();
        experiment.ask([Engine::Sim], &Progress::none()).unwrap()
    };
    let answers = ask("20 s");
    let why = "whether it recovered cannot be said: no requests ended in the 16 s before the first fault";
    assert!(said(&answers).contains(why), "{}", said(&answers));
    let judged = &answers.objectives[0];
    assert_eq!((judged.met, judged.undecided), (None, true), "{judged:?}");
    assert!(judged.reason.starts_with(why), "{judged:?}");
    // With the ten seconds before the silence there is.
    let answers = ask("0 s");
    assert_eq!(answers.objectives[0].met, Some(true), "{:?}", answers.objectives[0]);
    assert!(said(&answers).contains("as soon as the last fault had ended, all was as before"), "{}", said(&answers));
    // What cannot be said comes back from the run folder.
    let untold = ask("20 s");
    let folder = folder.path().join("run");
    untold.write(&folder).unwrap();
    let of = |answers: &Answers| answers.iter().next().unwrap().recovery_untold.clone();
    assert!(of(&untold).is_some_and(|told| told.starts_with(why)), "{:?}", of(&untold));
    assert_eq!(of(&Answers::open(&folder).unwrap()), of(&untold));
}

/// Theory judges the objective as well where it says that the state stays.
#[test]
fn theory_misses_a_recovery_that_never_comes() {
    let experiment = Experiment::new(Path::new("storm.toml"), STORM.into(), &[]).unwrap();
    let answers = experiment.ask([Engine::Theory], &Progress::none()).unwrap();
    assert_eq!((answers.objectives.len(), answers.objectives[0].met), (1, Some(false)), "{:?}", answers.objectives);
    assert_eq!(answers.objectives[0].measured, "it had not recovered by the end");
}

/// No retries are none, so that they can be varied from 0 on.
#[test]
fn clients_that_try_no_more_make_no_storm() {
    let answers = by_sim(&[("client.retries", "0")]);
    assert!(!said(&answers).contains("did not recover"), "{}", said(&answers));
    let attempts = answers.iter().next().unwrap().over_time.iter().find(|of| of.metric == "attempts").unwrap();
    assert!(attempts.points.iter().all(|(_, of)| of.value().unwrap() <= 8.0), "nothing is asked for twice");
}

/// Nothing fails any more, all is not yet as before, and a few seconds later the run ends: neither "it did not recover", nor is a
/// limit missed that lies beyond the end.
#[test]
fn a_run_that_ends_soon_after_the_fault_tells_no_recovery() {
    let text = r#"
        name = "one of three dies"
        [workload]
        kind = "open"
        arrivals = "exponential(rate = 180 /s)"
        [client]
        timeout = "2 s"
        retries = 2
        [[system.tier]]
        face = "gateway"
        policy = "least-connections"
        targets = { servers = 3 }
        [system.server]
        discipline = "fcfs"
        demand = "exponential(mean = 12.5 ms)"
        [[fault]]
        at = "10 s"
        until = "20 s"
        server = 2
        what = "down"
        [objective]
        recovery_time = "< 30 s"
        [run]
        duration = "26 s"
        warm_up = "0 s"
        replications = 10
        precision = "none"
    "#;
    let experiment = Experiment::new(Path::new("dies.toml"), text.into(), &[]).unwrap();
    let ask = |limit: &str| {
        let experiment = experiment.clone().set("objective.recovery_time", limit).unwrap();
        experiment.ask([Engine::Sim], &Progress::none()).unwrap()
    };
    let open = ask("< 30 s");
    let told = said(&open);
    assert!(told.contains("could not be seen: the run ended 6") && !told.contains("did not recover"), "{told}");
    let judged = &open.objectives[0];
    assert!(judged.undecided && judged.met.is_none(), "{judged:?}");
    assert!(judged.reason.starts_with("the run ended 6") && judged.reason.contains("duration"), "{judged:?}");
    // What had not recovered by then was too slow for a limit before it.
    assert_eq!(ask("< 2 s").objectives[0].met, Some(false));
}

#[test]
fn one_that_ends_too() {
    for (key, value) in [
        ("client.retries.budget", "10 %"),
        ("client.retries.budget", "token-bucket(10 %, 10)"),
        ("system.server.drops", "too-late"),
    ] {
        let answers = by_sim(&[(key, value)]);
        assert!(said(&answers).contains("s after the last fault had ended"), "{value}: {}", said(&answers));
        assert!(said(&answers).contains("it recovered"), "{value}: {}", said(&answers));
        assert_eq!(at(&answers, "goodput", 140), Some(7.0), "{value}");
        let recovery = answers.iter().next().unwrap().estimate("recovery_time").unwrap();
        let recovery_s = recovery.value().unwrap();
        let (is_quick, met) = (recovery_s < 10.0, answers.objectives[0].met);
        assert_eq!(met, Some(is_quick), "{value}: {recovery_s} s, {:?}", answers.objectives[0]);
    }
}

/// What is told over time comes back from the run folder as it was, and is in the report.
#[test]
fn a_run_folder_has_it_over_time() {
    let answers = by_sim(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("storm");
    answers.write(&path).unwrap();
    let opened = Answers::open(&path).unwrap();
    let over_time = |answers: &Answers| answers.iter().next().unwrap().over_time.clone();
    assert_eq!(over_time(&opened), over_time(&answers));
    let csv = std::fs::read_to_string(path.join("timeline.csv")).unwrap();
    assert!(csv.starts_with("variant,engine,second,metric,unit,estimate,ci_low,ci_high,samples\n"), "{csv}");
    assert!(csv.contains("\n0,sim,140.0,attempts,1/s,28.0,28.0,28.0,2\n"), "{csv}");
    assert!(csv.contains("\n0,sim,30.0,faults,1,1.0,,,exact\n"), "{csv}");
    assert!(csv.contains("\n0,sim,140.0,response_time_p99,s,too-few,,,0\n"), "no reply came");
    let report = std::fs::read_to_string(path.join("report.html")).unwrap();
    for part in ["Outcomes over time", "a fault lasts", "failed or given up in the worst second"] {
        assert!(report.contains(part), "{part}");
    }
}

/// Keys of clients and of faults can be varied.
#[test]
fn keys_of_clients_and_faults_are_varied() {
    let vary = "[vary]\n\"client.retries.at_most\" = [1, 3]\n\"client.abandoned\" = [\"served\", \"cancelled\"]\n[run]";
    let text = STORM.replacen("[run]", vary, 1);
    let experiment = Experiment::new(Path::new("storm.toml"), text, &[]).unwrap();
    let answers = experiment.ask([Engine::Sim], &Progress::none()).unwrap();
    assert_eq!(answers.variants.len(), 4);
    let attempts = |answer: &sojourn_lab::Answer| answer.estimate("attempts_ratio").and_then(Estimate::value).unwrap();
    let found: Vec<f64> = answers.iter().map(attempts).collect();
    assert!(found[0] < found[2] && found[3] < found[2], "{found:?}");
}

/// Each command of the guide gives the words that stand below it.
#[test]
fn the_guide_says_what_comes_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/guides/survive-a-retry-storm.md")).unwrap();
    let experiment = Experiment::read(root.join("experiments/retry-storm.toml")).unwrap();
    let mut tried = 0;
    for part in guide.split("```sh\n").skip(1) {
        let (command, rest) = part.split_once("\n```").unwrap();
        let command = command.strip_prefix("sojourn run experiments/retry-storm.toml --by ").unwrap();
        let (by, set) = command.split_once(' ').unwrap_or((command, ""));
        let by: Vec<Engine> = by.split(',').map(|name| Engine::named(name).unwrap()).collect();
        if by == [Engine::Live] {
            continue;
        }
        let expected = rest.split_once("```text\n").unwrap().1.split_once("\n```").unwrap().0;
        let set = set.trim_start_matches("--set ").trim_matches('\'');
        let asked = match set.split_once('=') {
            Some((key, value)) => experiment.clone().set(key, value).unwrap(),
            None => experiment.clone(),
        };
        let answers = asked.ask(&by, &Progress::none()).unwrap();
        let notes: Vec<String> = answers.variants[0]
            .answers
            .iter()
            .flat_map(|answer| answer.notes.iter().map(|note| format!("{}: {note}", answer.engine.name())))
            .collect();
        for line in expected.lines() {
            assert!(notes.iter().any(|note| note == line), "{command}: {line}: {notes:?}");
        }
        assert_eq!(expected.lines().count(), by.len(), "{command}");
        let met = answers.objectives[0].met;
        assert_eq!(met, Some(!expected.contains("did not")), "{command}: {:?}", answers.objectives[0]);
        tried += 1;
    }
    assert_eq!(tried, 4);
    // What the table says of the others.
    for (key, value, recovers) in [
        ("system.server.discipline", "lcfs", true),
        ("system.server.drops", "codel", true),
        ("client.abandoned", "cancelled", false),
        ("client.retries.at_most", "1", false),
    ] {
        let answers = experiment.clone().set(key, value).unwrap().ask([Engine::Sim], &Progress::none()).unwrap();
        assert_eq!(said(&answers).contains("did not recover"), !recovers, "{key} = {value}: {}", said(&answers));
    }
}

/// Objectives on what nothing measures are refused before anything starts, at their lines.
#[test]
fn objectives_on_what_nothing_measures_are_refused() {
    let fault = STORM.split("[[fault]]\n").nth(1).unwrap().split("[objective]").next().unwrap();
    let without_fault = STORM.replacen(&format!("[[fault]]\n{fault}"), "", 1);
    let endless = STORM.replacen("until = \"31 s\"\n", "", 1);
    let with = |text: &str, objective: &str| text.replacen("recovery_time = \"< 10 s\"", objective, 1);
    for (text, line, expected) in [
        (without_fault.clone(), 14, "there is nothing to recover from"),
        (endless.clone(), 18, "never ends"),
        (with(&without_fault, "\"during(fault).p99\" = \"< 1 s\""), 14, "nothing breaks"),
        (with(STORM, "\"during(fault).utilization\" = \"< 1\""), 19, "metric"),
        (with(STORM, "worst_second_p99 = \"< 1 s\"").replacen("duration = \"150 s\"\n", "", 1), 19, "`duration`"),
        (
            with(STORM, "attempts_ratio = \"< 2\"").replacen("retries = { at_most = 3, backoff = \"50 ms\" }\n", "", 1),
            18,
            "clients ask once only",
        ),
    ] {
        let read = Spec::parse(&text, Path::new("storm.toml"));
        let error = read.err().unwrap_or_else(|| panic!("{expected}: taken\n{text}")).to_string();
        assert!(
            error.contains(&format!("storm.toml:{line}: ")) && error.contains(expected),
            "{expected}: {error}\n{text}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Theory says the same of the same file: the dead state, and the recovery with a budget.
#[test]
fn theory_has_the_same_states() {
    let experiment = |set: &[(&str, &str)]| {
        let experiment = Experiment::new(Path::new("storm.toml"), STORM.into(), &[]).unwrap();
        set.iter().fold(experiment, |experiment, (key, value)| experiment.set(key, value).unwrap())
    };
    let ask = |set: &[(&str, &str)]| experiment(set).ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
    let dead = ask(&[]);
    let told = said(&dead);
    assert!(
        told.contains(
            "it does not recover: a second stable state, 28 attempts/s of which the server can do 10, and none in time"
        ),
        "{told}"
    );
    assert!(told.contains("below 2.5 requests/s") && told.contains("it did not recover: 119 s"), "{told}");
    let measures = &dead.variants[0].answers[0].measures;
    assert!(measures.iter().all(|of| of.estimate.value().is_none()), "no number stands for never: {measures:?}");
    for value in ["token-bucket(10 %, 10)", "token-bucket(20 %, 10)", "10 %"] {
        let answers = ask(&[("client.retries.budget", value)]);
        let of = |answer: &sojourn_lab::Answer| answer.estimate("recovery_time").and_then(Estimate::value).unwrap();
        let found: Vec<f64> = answers.iter().map(of).collect();
        // Both tell how long; sim by whole seconds, at whose ends all is as before.
        assert!((found[0] - found[1]).abs() < 3.0, "{value}: {found:?}");
    }
}

/// Each condition of theory's model by itself: where it does not hold, it is named, and no row is given.
#[test]
fn theory_names_what_it_has_no_model_of() {
    let told = |what: &str, text: &str, expected: &str| {
        let experiment = Experiment::new(Path::new("storm.toml"), text.into(), &[]);
        let experiment = experiment.unwrap_or_else(|e| panic!("{what}: {e}"));
        let answers = experiment.ask([Engine::Theory], &Progress::none()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let answer = &answers.variants[0].answers[0];
        assert!(answer.notes.iter().any(|note| note.contains(expected)), "{what}: {:?}", answer.notes);
        assert!(answer.measures.is_empty(), "{what}: {:?}", answer.measures);
    };
    let tier = |name: &str, targets: &str| {
        format!("[[system.tier]]\nname = \"{name}\"\nface = \"gateway\"\npolicy = \"random\"\ntargets = {targets}\n")
    };
    let server = "[system.server]\n";
    let two_servers = tier("front", "{ servers = 2 }");
    let two_tiers = tier("first", "{ tiers = [\"front\"] }") + &tier("front", "{ servers = 1 }");
    let fault = "[[fault]]\nat = \"30 s\"\nuntil = \"31 s\"\nserver = 1\nwhat = \"frozen\"\n";
    let again = fault.replace("\"30 s\"", "\"60 s\"").replace("\"31 s\"", "\"61 s\"");
    let is_alone = "unless there is one server in one place, which does not drop";
    let is_simple = "unless the server is one core with fcfs and room for all";
    let comes = "unless they come by themselves, at one rate";
    let breaks = "unless nothing breaks but the server, which stands still once";
    let (timeout, demand) = ("timeout = \"499999999 ns\"", "demand = \"100 ms\"");
    let arrivals = "kind = \"open\"\narrivals = \"constant(142857143 ns)\"";
    for (what, from, to, expected) in [
        ("two servers", server, &*(two_servers + server), is_alone),
        ("two tiers", server, &(two_tiers + server), is_alone),
        ("drops", demand, "demand = \"100 ms\"\ndrops = \"too-late\"", is_alone),
        ("the last first", "\"fcfs\"", "\"lcfs\"", is_simple),
        ("a core shared", "\"fcfs\"", "\"ps\"", is_simple),
        ("two cores", demand, "demand = \"100 ms\"\ncores = 2", is_simple),
        ("room for five", demand, "demand = \"100 ms\"\nlimits = { jobs = 5 }", is_simple),
        (
            "a round trip",
            server,
            "[system.network]\nrtt = \"20 ms\"\n[system.server]\n",
            "unless they are at the server",
        ),
        ("no time-out", timeout, "deadline = \"2 s\"", "unless an attempt has a `timeout`"),
        (
            "a deadline",
            timeout,
            "timeout = \"500 ms\"\ndeadline = \"2 s\"",
            "unless they neither hedge nor have a `deadline`",
        ),
        (
            "hedges",
            timeout,
            "timeout = \"500 ms\"\nhedge = \"200 ms\"",
            "unless they neither hedge nor have a `deadline`",
        ),
        ("a day", arrivals, &format!("{arrivals}\nprofile = \"ramp(from = 1, to = 1.2, over = 60 s)\""), comes),
        ("users", arrivals, "kind = \"closed\"\nusers = 5\nthink = \"1 s\"", comes),
        ("a death", "\"frozen\"", "\"down\"", breaks),
        ("two freezes", "[objective]", &format!("{again}[objective]"), breaks),
        ("no work for nothing", "\"served\"", "\"cancelled\"", "drop what was given up (`abandoned = \"cancelled\"`)"),
        ("long services", demand, "demand = \"500 ms\"", "unstable: 7 requests/s come and the server can do 2"),
        (
            "a time-out of a service",
            timeout,
            "timeout = \"100 ms\"",
            "a time-out, 0.1 s, is no longer than a service, 0.1 s",
        ),
        (
            "heavy services",
            demand,
            "demand = \"lognormal(mean = 100 ms, cv = 3)\"",
            "where services vary more than exponential ones do (squared coefficient of variation 9)",
        ),
        (
            "bursts",
            "\"constant(142857143 ns)\"",
            "\"hyperexponential(rate = 7 /s, cv = 2)\"",
            "where gaps vary more than exponential ones do (squared coefficient of variation 4)",
        ),
        ("short services", demand, "demand = \"1 us\"", "it takes too long to follow so near the bound"),
    ] {
        let text = STORM.replacen(from, to, 1);
        assert_ne!(text, STORM, "{what}");
        told(what, &text, expected);
    }
    // Without a standstill it is the states that are asked for, of which laws decide.
    let calm = STORM.replacen(fault, "", 1).replacen("[objective]\nrecovery_time = \"< 10 s\"\n", "", 1);
    told("constant laws", &calm, "unless gaps and service are exponential");
}

/// M/M/1 whose clients try again once, at a load of 0.45 and with six services in a time-out: one attempt in 27 is late, and
/// there is no second state that the run could fall into. Theory takes a retry to bring other work than its request; really
/// it brings the same, and it is long requests that are late, so that theory has too few of them: 4 in 100 where 6 come. Of
/// 720,000 requests the simulated numbers are known to 0.1 % (five standard errors): what is left, up to 2.5 %, is the
/// formula's error, and on its side.
#[test]
fn the_good_state_is_that_of_a_simulated_queue() {
    let text = r#"
name = "retries"
seed = 3
[workload]
kind = "open"
arrivals = "exponential(rate = 4.5 /s)"
[client]
timeout = "600 ms"
retries = { at_most = 1, backoff = "exponential(mean = 20 s)" }
abandoned = "ABANDONED"
[system.server]
discipline = "fcfs"
demand = "exponential(mean = 100 ms)"
[run]
duration = "40000 s"
replications = 4
precision = "none"
"#;
    for abandoned in ["served", "cancelled"] {
        let text = text.replace("ABANDONED", abandoned);
        let experiment = Experiment::new(Path::new("retries.toml"), text, &[]).unwrap();
        let answers = experiment.ask([Engine::Theory, Engine::Sim], &Progress::none()).unwrap();
        for metric in ["attempts_ratio", "throughput"] {
            let of = |answer: &sojourn_lab::Answer| answer.estimate(metric).and_then(Estimate::value).unwrap();
            let found: Vec<f64> = answers.iter().map(of).collect();
            assert!((found[0] / found[1] - 1.0).abs() < 0.025, "{abandoned}, {metric}: {found:?}");
            assert!(metric != "attempts_ratio" || found[0] < found[1], "{abandoned}: {found:?}");
        }
        let attempts = answers.iter().next().unwrap().estimate("attempts_ratio").and_then(Estimate::value).unwrap();
        assert!(attempts > 1.02, "there are retries: {attempts}");
    }
}

/// What a run is too short for is refused before it starts, at its line.
#[test]
fn what_a_run_is_too_short_for_is_refused() {
    let hedge = |of: &str| STORM.replacen("[client]\n", &format!("[client]\nhedge = \"{of}\"\n"), 1);
    for (text, line, expected) in [
        (STORM.replacen("until = \"31 s\"", "until = \"151 s\"", 1), 15, "the run of 150 s has ended by then"),
        (hedge("p99.9"), 7, "`p99.9` is known after 5056 replies, and a run of 150 s has 1049 requests"),
    ] {
        let error = Spec::parse(&text, Path::new("storm.toml")).expect_err("refused").to_string();
        assert!(error.contains(&format!("storm.toml:{line}: ")) && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    Spec::parse(&hedge("p99"), Path::new("storm.toml")).expect("512 replies come in time");
}
