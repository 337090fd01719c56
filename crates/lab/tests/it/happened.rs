//! What happened stands beside what would happen, where a log is replayed.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use sojourn_lab::{Answers, Engine, Experiment, Progress, Verdict};
use sojourn_model::Discipline;
use sojourn_sim::single::{Arrival, Queue, play};
use sojourn_stats::{Law, Span, Stream, Time};
use sojourn_traffic::Workload;

/// The log of four servers in turn, one core each, with exponential demands of 20 ms, at 0.6 of what they can do.
fn log(requests: usize) -> String {
    let mut stream = Stream::new(7, "happened", "log");
    let (gap, work) = (Law::exponential(1.0 / 120.0), Law::exponential(0.02));
    let mut at_s = 0.0;
    let mut by_server: [Vec<Arrival>; 4] = Default::default();
    for request in 0..requests {
        at_s += gap.sample(&mut stream);
        let (at, demand) = (Time((at_s * 1e9) as u64), Span::from_secs_f64(work.sample(&mut stream)));
        by_server[request % 4].push(Arrival { at, demand, class: 0 });
    }
    let mut lines = Vec::new();
    for (server, arrivals) in by_server.into_iter().enumerate() {
        let queue = Queue { discipline: Discipline::Fcfs, cores: 1, capacity: None };
        play(&queue, arrivals, |job| {
            let (at_us, taken_us) = (job.arrival.at.0 / 1000, (job.left - job.arrival.at).0 / 1000);
            let status = if job.number % 100 == 99 { 503 } else { 200 };
            lines.push((at_us, format!("c {status} 1000 web{server} {taken_us} \"GET / HTTP/1.1\"")));
        });
    }
    // The balancer's own answer reached no server.
    lines.push((5_000_000, "c 403 10 - - \"GET /secret HTTP/1.1\"".into()));
    lines.sort();
    lines.into_iter().fold(String::new(), |mut text, (at_us, line)| {
        let _ = writeln!(text, "{}.{:06} {line}", 1_700_000_000 + at_us / 1_000_000, at_us % 1_000_000);
        text
    })
}

/// The experiment that replays the log `lines`, with a server model in a file that ends with `measured`.
fn experiment(folder: &Path, lines: &str, workload: &str, (demand, measured): (&str, &str), vary: &str) -> Experiment {
    let (path, server) = (folder.join("x.log"), folder.join("server.toml"));
    std::fs::write(&path, lines).unwrap();
    std::fs::write(&server, format!("discipline = \"fcfs\"\ndemand = \"{demand}\"\n{measured}")).unwrap();
    let format = "$begin $client $status $bytes $server $server_time_us \"$request\"";
    let text = format!(
        "name = \"x\"\n[workload]\nkind = \"log\"\nlog = \"{}\"\nformat = '{format}'\n{workload}\n[[system.tier]]\n\
         face = \"gateway\"\npolicy = \"round-robin\"\ntargets = {{ servers = 4 }}\n[system]\nserver = \"{}\"\n[vary]\n{vary}\n",
        path.display(),
        server.display()
    );
    Experiment::new(Path::new("x.toml"), text, &[]).unwrap()
}

fn ask(experiment: &Experiment) -> Answers {
    experiment.ask([Engine::Sim], &Progress::none()).unwrap()
}

fn asked(workload: &str, demand: &str, vary: &str) -> Answers {
    let folder = tempfile::tempdir().unwrap();
    ask(&experiment(folder.path(), &log(24_000), workload, (demand, ""), vary))
}

const POLICIES: &str = "policy = [\"round-robin\", \"least-connections\"]";

fn value(answers: &Answers, variant: usize, engine: Engine, metric: &str) -> f64 {
    answers.variants[variant].estimate(engine, metric).unwrap_or_else(|| panic!("no {metric}")).value().unwrap()
}

/// Times below the step of the log's clock are not known to be 0: the number has the step as its interval, and a model that says
/// more than a step is not what happened.
#[test]
fn times_below_the_clocks_step_are_no_zeros() {
    let line = |request: usize| {
        let (at_ms, server) = (10 * request, request % 4);
        format!("{}.{:03} c 200 1000 web{server} 0 \"GET / HTTP/1.1\"\n", 1_700_000_000 + at_ms / 1000, at_ms % 1000)
    };
    let lines: String = (0..24_000).map(line).collect();
    let folder = tempfile::tempdir().unwrap();
    let asked = |demand: &str| {
        let made = experiment(folder.path(), &lines, "", (demand, ""), POLICIES);
        let text = made.text().replace("$server_time_us", "$response_ms");
        ask(&Experiment::new(Path::new("x.toml"), text, &[]).unwrap())
    };
    let answers = asked("constant(20 ms)");
    for metric in ["response_time_mean", "response_time_p99", "response_time_p99_1"] {
        let estimate = answers.variants[0].estimate(Engine::Log, metric).unwrap();
        assert_eq!(estimate.interval(), Some((0.0, 1e-3)), "{metric}");
    }
    assert_eq!(answers.verdict, Verdict::Suspect);
    let told = format!("{:?}", answers.variants[0]);
    assert!(told.contains("mean at least +1900.0 %"), "{told}");
    let told = format!("{:?}", asked("constant(100 us)").variants[0]);
    assert!(told.contains("less than 1.00 ms, the step of the log's times: no model is judged by it"), "{told}");
}

/// 24,000 requests at 0.6: chance moves the mean by 2 % (one standard deviation), so the model gives what happened.
#[test]
fn what_happened_stands_beside_the_rule_that_ran() {
    let answers = asked("", "exponential(mean = 20 ms)", POLICIES);
    assert!(answers.variants[1].answer(Engine::Log).is_none(), "the log is of one rule");
    let mean = |engine| value(&answers, 0, engine, "response_time_mean");
    assert!((mean(Engine::Sim) / mean(Engine::Log) - 1.0).abs() < 0.1, "{} {}", mean(Engine::Sim), mean(Engine::Log));
    assert!((value(&answers, 0, Engine::Log, "error_ratio") - 0.01).abs() < 1e-3);
    assert!((value(&answers, 0, Engine::Log, "throughput") / 118.8 - 1.0).abs() < 0.05);
    assert!((value(&answers, 0, Engine::Log, "share_1") - 0.25).abs() < 1e-3);
    assert!(value(&answers, 0, Engine::Log, "response_time_p99") > mean(Engine::Log));
    // Each server has its rows, in the order of the names.
    let of = |metric: &str, server: u32| value(&answers, 0, Engine::Log, &format!("{metric}_{server}"));
    let means = (1..=4).map(|server| of("response_time_mean", server)).sum::<f64>() / 4.0;
    assert!((means / mean(Engine::Log) - 1.0).abs() < 1e-3, "servers of as many requests: {means}");
    assert!((of("error_ratio", 3) - 0.01).abs() < 1e-9 && of("response_time_p99", 3) > of("response_time_p90", 3));
    let happened = answers.variants[0].answer(Engine::Log).unwrap();
    assert_eq!(answers.verdict, Verdict::Valid, "{:?}", answers.reasons);
    let notes = happened.notes.join("\n");
    for part in [
        "the simulated day is what happened (mean",
        "web2: 6000 requests, 60 failed, mean",
        "1 requests reached no server",
    ] {
        assert!(notes.contains(part), "no `{part}` in {notes}");
    }
    // The folder keeps it.
    let folder = tempfile::tempdir().unwrap();
    answers.write(folder.path().join("run")).unwrap();
    let opened = Answers::open(folder.path().join("run")).unwrap();
    assert_eq!(opened.variants[0].model_trust(), answers.variants[0].model_trust());
    assert!(opened.variants[0].model_trust().is_some() && opened.has(Engine::Log));
}

/// A line of the day before hides no overload: 120 requests of 40 ms in a second are more than four cores do, whatever the mean
/// over the day is, and that the day has a silence is said.
#[test]
fn a_line_of_another_day_hides_no_overload() {
    let lines = "1699900000.000000 c 200 1000 web0 20000 \"GET / HTTP/1.1\"\n".to_owned() + &log(6_000);
    let folder = tempfile::tempdir().unwrap();
    let grows = "policy = [\"round-robin\"]\ngrowth = [1, 2]";
    let answers = ask(&experiment(folder.path(), &lines, "", ("exponential(mean = 40 ms)", ""), grows));
    let notes = answers.variants[0].answer(Engine::Sim).unwrap().notes.join("\n");
    assert!(notes.contains("this log asks for 1.1") || notes.contains("this log asks for 1.2"), "{notes}");
    assert!(notes.contains("after its first 1 of 6001 requests: throughput, utilization"), "{notes}");
    // Twice as many requests ask for twice as much.
    let notes = answers.variants[1].answer(Engine::Sim).unwrap().notes.join("\n");
    assert!(notes.contains("this log asks for 2."), "{notes}");
}

/// Six hundred failures in one outage are one event: how often there is such a one is hardly known, and the interval says so.
#[test]
fn an_outage_is_one_event() {
    let failed = |(at, line): (usize, &str)| match at < 600 {
        true => line.replacen(" 200 ", " 503 ", 1) + "\n",
        false => format!("{line}\n"),
    };
    let lines: String = log(6_000).lines().enumerate().map(failed).collect();
    let folder = tempfile::tempdir().unwrap();
    let one = "policy = [\"round-robin\"]";
    let answers = ask(&experiment(folder.path(), &lines, "", ("exponential(mean = 20 ms)", ""), one));
    let estimate = answers.variants[0].estimate(Engine::Log, "error_ratio").unwrap();
    let (low, high) = estimate.interval().unwrap();
    assert!((0.1..0.12).contains(&estimate.value().unwrap()), "{estimate:?}");
    assert!(low < 0.03 && high > 0.25, "{low} to {high}");
}

/// A client that waited for a minute and left is no reply of a minute, and no failure of a server.
#[test]
fn what_clients_gave_up_is_no_response_time() {
    let given_up = |(at, line): (usize, &str)| {
        let begin = line.split(' ').next().unwrap();
        let more =
            if at % 50 == 0 { format!("{begin} c 499 0 web1 60000000 \"GET / HTTP/1.1\"\n") } else { String::new() };
        format!("{line}\n{more}")
    };
    let lines: String = log(6_000).lines().enumerate().map(given_up).collect();
    let folder = tempfile::tempdir().unwrap();
    let answers = ask(&experiment(folder.path(), &lines, "", ("exponential(mean = 20 ms)", ""), POLICIES));
    let of = |metric: &str| value(&answers, 0, Engine::Log, metric);
    assert!(of("response_time_mean") < 0.2 && of("response_time_p99") < 1.0, "{}", of("response_time_mean"));
    assert!((of("abandoned_ratio") - 121.0 / 6_121.0).abs() < 1e-9, "{}", of("abandoned_ratio"));
    assert!((of("error_ratio") - 60.0 / 6_121.0).abs() < 1e-9, "{}", of("error_ratio"));
    let notes = answers.variants[0].answer(Engine::Log).unwrap().notes.join("\n");
    assert!(
        notes.contains("121 requests were given up by their clients") && notes.contains(", 121 given up"),
        "{notes}"
    );
}

#[test]
fn a_model_that_does_not_give_what_happened_is_suspect() {
    for (demand, words) in [("exponential(mean = 22 ms)", "may be off by as much"), ("10 ms", "do not rely on")] {
        let answers = asked("ran = \"round-robin\"", demand, POLICIES);
        assert_eq!(answers.verdict, Verdict::Suspect, "{demand}");
        assert!(answers.reasons.iter().any(|reason| reason.contains(words)), "{demand}: {:?}", answers.reasons);
    }
}

#[test]
fn another_day_than_the_logs_has_nothing_beside_it() {
    let has = |workload: &str, vary: &str| {
        let answers = asked(workload, "exponential(mean = 20 ms)", vary);
        let of = |at: usize| answers.variants[at].answer(Engine::Log).is_some_and(|answer| !answer.measures.is_empty());
        (0..answers.variants.len()).map(of).collect::<Vec<bool>>()
    };
    assert_eq!(has("ran = \"least-connections\"", POLICIES), [false, true]);
    assert_eq!(has("ran = \"round-robin\"", "servers = [3, 4]"), [false, true]);
    assert_eq!(has("", "growth = [1, 1.2]"), [true, false]);
    assert_eq!(has("speed = 1.2", POLICIES), [false, false]);
    assert_eq!(has("ran = \"round-robin\"\ngrowth = 1.2", POLICIES), [false, false]);
    let answers = asked("", "exponential(mean = 20 ms)", "servers = [3, 4]");
    let notes = &answers.variants[0].answer(Engine::Log).unwrap().notes;
    assert!(notes[0].contains("the log has 4 servers, and this system 3"), "{notes:?}");
}

/// A fifth more requests, at the same servers: the throughput grows by it.
#[test]
fn growth_adds_requests() {
    let answers = asked("", "exponential(mean = 10 ms)", "growth = [0.5, 1, 2.2]");
    let rate = |at| value(&answers, at, Engine::Sim, "throughput");
    // Thinning by halves: five standard deviations of 24,000 tosses are 1.6 %.
    assert!(
        (rate(0) / rate(1) - 0.5).abs() < 0.02 && (rate(2) / rate(1) - 2.2).abs() < 0.05,
        "{} {}",
        rate(0),
        rate(2)
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.log"), log(2_000)).unwrap();
    let text = "name = \"x\"\n[workload]\nkind = \"log\"\nlog = \"x.log\"\ngrowth = -1\n[[system.tier]]\nface = \"gateway\"\n\
                policy = \"random\"\ntargets = { servers = 4 }\n[system.server]\ndiscipline = \"ps\"\ndemand = \"1 ms\"\n";
    let text =
        text.replace("growth", "format = '$begin $client $status $bytes $server $server_time_us \"$request\"'\ngrowth");
    let wrong =
        Experiment::new(&folder.path().join("x.toml"), text, &[]).and_then(|source| source.variants()).unwrap_err();
    assert!(wrong.to_string().contains("x.toml:6: growth: a growth factor is above 0"), "{wrong}");
}

/// Instants of whole seconds say nothing of which request waits for which: that the simulated day agrees is no proof then.
#[test]
fn a_clock_of_whole_seconds_is_no_check() {
    let folder = tempfile::tempdir().unwrap();
    let whole: String = log(24_000).lines().fold(String::new(), |mut text, line| {
        let (stamp, rest) = line.split_once(' ').unwrap();
        let _ = writeln!(text, "{} {rest}", stamp.split('.').next().unwrap());
        text
    });
    let of = |lines: &str| ask(&experiment(folder.path(), lines, "", ("exponential(mean = 20 ms)", ""), POLICIES));
    let answers = of(&whole);
    let trust = answers.variants[0].model_trust().unwrap();
    assert_eq!((answers.verdict, trust.verdict), (Verdict::Suspect, Verdict::Suspect), "{:?}", answers.reasons);
    assert!(
        trust.reasons[0].contains("in steps of 1.00 s") && trust.reasons[0].contains("$msec"),
        "{:?}",
        trust.reasons
    );
    // Requests so far from one another that the step does not matter.
    let sparse: String =
        whole.lines().enumerate().filter(|(at, _)| at % 1200 < 2).map(|(_, line)| format!("{line}\n")).collect();
    let reasons = of(&sparse).reasons;
    assert!(!reasons.iter().any(|reason| reason.contains("in steps of")), "{reasons:?}");
}

/// A model whose fit is SUSPECT says so wherever it is used, and how far its demand is known is said beside the intervals.
#[test]
fn what_is_known_of_the_fit_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let with = |measured: &str| {
        let of = ("exponential(mean = 20 ms)", measured);
        ask(&experiment(folder.path(), &log(24_000), "", of, POLICIES))
    };
    let fit = "demand_mean_s = [0.02, 0.0195, 0.0206]\n";
    let answers = with(&format!("[measured]\nverdict = \"SUSPECT\"\nreasons = [\"no request waited\"]\n{fit}"));
    let suspect = "the server model is SUSPECT: no request waited";
    assert_eq!(answers.verdict, Verdict::Suspect);
    assert!(answers.reasons.iter().any(|reason| reason.ends_with(suspect)), "{:?}", answers.reasons);
    for variant in &answers.variants {
        let notes = variant.answer(Engine::Sim).unwrap().notes.join("\n");
        assert!(notes.contains(suspect) && notes.contains("knows the mean demand to +-3.0 %"), "{notes}");
    }
    let happened = answers.variants[0].answer(Engine::Log).unwrap();
    assert!(happened.notes[0].contains("the simulated day is what happened") && happened.notes[0].contains(suspect));
    let valid = with(&format!("[measured]\nverdict = \"VALID\"\n{fit}"));
    let notes = valid.variants[1].answer(Engine::Sim).unwrap().notes.join("\n");
    assert_eq!(valid.verdict, Verdict::Valid);
    assert!(!notes.contains("SUSPECT") && notes.contains("do not hold this"), "{notes}");
    let silent = with("");
    let notes = silent.variants[1].answer(Engine::Sim).unwrap().notes.join("\n");
    assert!(!notes.contains("mean demand"), "{notes}");
}

/// A number by a model that is SUSPECT neither meets an objective nor misses it; nor does one by a model that the log does not
/// bear out, whichever variant it is of.
#[test]
fn an_objective_is_open_where_the_model_is_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let lines = log(24_000);
    let judged = |demand: &str, measured: &str, limit: &str| {
        let vary = format!("{POLICIES}\n[objective]\nmean = \"{limit}\"");
        let answers = ask(&experiment(folder.path(), &lines, "", (demand, measured), &vary));
        let (met, exit) = (answers.objectives_met(), answers.verdict);
        let (by_sim, by_log): (Vec<_>, Vec<_>) =
            answers.objectives.into_iter().partition(|of| of.engine == Engine::Sim);
        assert_eq!((by_sim.len(), by_log.len()), (2, 1), "two variants, of which one ran");
        (by_sim, by_log, met, exit)
    };
    let suspect = "[measured]\nverdict = \"SUSPECT\"\nreasons = [\"no request waited\"]\n";
    for (limit, by_log) in [("< 10 s", true), ("< 1 ms", false)] {
        let (by_sim, happened, ..) = judged("exponential(mean = 20 ms)", suspect, limit);
        for of in by_sim {
            let words = "UNDECIDED: the server model is SUSPECT: no request waited";
            assert_eq!((of.met, of.words()), (None, ("warn", words.into())), "{limit}");
        }
        assert_eq!(happened[0].met, Some(by_log), "what happened is no model");
    }
    let (by_sim, _, met, _) = judged("exponential(mean = 20 ms)", "", "< 10 s");
    assert!(met && by_sim.iter().all(|of| of.met == Some(true)), "{by_sim:?}");
    let (by_sim, _, met, verdict) = judged("exponential(mean = 10 ms)", "", "< 10 s");
    assert_eq!((met, verdict), (false, Verdict::Suspect));
    assert!(by_sim.iter().all(|of| of.reason.starts_with("the model is SUSPECT by the log: ")), "{by_sim:?}");
}

/// What is too much is told by what was made more.
#[test]
fn too_much_is_told_by_its_key() {
    for (workload, key) in [("growth = 2.5", "growth = 1.6"), ("speed = 2.5", "speed = 1.6"), ("", "growth = 0.6")] {
        let demand = if workload.is_empty() { "50 ms" } else { "20 ms" };
        let answers = asked(workload, demand, "policy = [\"round-robin\"]");
        let notes = answers.variants[0].answer(Engine::Sim).unwrap().notes.join("\n");
        assert!(notes.contains(&format!("keep below {key}")), "{workload}: {notes}");
    }
}

/// A sample is replayed at the rate of all, and nothing of what happened stands beside it.
#[test]
fn a_sample_is_replayed_at_the_rate_of_all() {
    let folder = tempfile::tempdir().unwrap();
    // Of each four one, of every server as many.
    let is_sampled = |at: &usize| [0, 5, 10, 15].contains(&(at % 16));
    let lines = log(24_000);
    let sampled = lines.lines().enumerate().filter(|(at, _)| is_sampled(at));
    let sample: String = sampled.map(|(_, line)| format!("{line}\n")).collect();
    let of = ("exponential(mean = 20 ms)", "");
    let whole = ask(&experiment(folder.path(), &log(24_000), "", of, POLICIES));
    let answers = ask(&experiment(folder.path(), &sample, "sampled = 4", of, POLICIES));
    let rate = |answers: &Answers| value(answers, 1, Engine::Sim, "throughput");
    assert!((rate(&answers) / rate(&whole) - 1.0).abs() < 0.02, "{} {}", rate(&answers), rate(&whole));
    for variant in &answers.variants {
        assert!(variant.answer(Engine::Log).is_none_or(|answer| answer.measures.is_empty()));
        let notes = variant.answer(Engine::Sim).unwrap().notes.join("\n");
        assert!(notes.contains("one in 4 requests was logged"), "{notes}");
    }
    let wrong = experiment(folder.path(), &sample, "sampled = 0", of, POLICIES).variants().unwrap_err().to_string();
    assert!(wrong.contains("x.toml:6: sampled: a whole number from 1 to 1000"), "{wrong}");
}

/// Variants share what was read: a log once, and of each growth the copies once.
#[test]
fn variants_share_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let vary = "policy = [\"round-robin\", \"random\"]\ngrowth = [1, 2]";
    let read = experiment(folder.path(), &log(2_000), "", ("1 ms", ""), vary).variants().unwrap();
    let logs: Vec<_> = read
        .iter()
        .map(|variant| match &variant.experiment.system().unwrap().workload {
            Workload::Replay(replay) => Arc::clone(&replay.log),
            other => panic!("{other:?}"),
        })
        .collect();
    let same = |one: usize, other: usize| Arc::ptr_eq(&logs[one], &logs[other]);
    assert!(same(0, 2) && same(1, 3) && !same(0, 1), "by policy, then growth");
    assert_eq!(logs[1].requests(), 2 * logs[0].requests());
}
