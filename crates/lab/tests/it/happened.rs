//! What happened stands beside what would happen, where a log is replayed.

use std::fmt::Write;
use std::path::Path;

use sojourn_lab::{Answers, Engine, Experiment, Progress, Verdict};
use sojourn_model::Discipline;
use sojourn_sim::single::{Arrival, Queue, play};
use sojourn_stats::{Law, Span, Stream, Time};

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

fn asked(workload: &str, demand: &str, vary: &str) -> Answers {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    std::fs::write(&path, log(24_000)).unwrap();
    let format = "$begin $client $status $bytes $server $server_time_us \"$request\"";
    let text = format!(
        "name = \"x\"\n[workload]\nkind = \"log\"\nlog = \"{}\"\nformat = '{format}'\n{workload}\n[[system.tier]]\n\
         face = \"gateway\"\npolicy = \"round-robin\"\ntargets = {{ servers = 4 }}\n[system.server]\ndiscipline = \"fcfs\"\n\
         demand = \"{demand}\"\n[vary]\n{vary}\n",
        path.display()
    );
    Experiment::new(Path::new("x.toml"), text, &[]).unwrap().ask([Engine::Sim], &Progress::none()).unwrap()
}

const POLICIES: &str = "policy = [\"round-robin\", \"least-connections\"]";

fn value(answers: &Answers, variant: usize, engine: Engine, metric: &str) -> f64 {
    answers.variants[variant].estimate(engine, metric).unwrap_or_else(|| panic!("no {metric}")).value().unwrap()
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
