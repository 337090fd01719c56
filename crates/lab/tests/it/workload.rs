//! The kinds of workloads as an experiment writes them.

use std::path::Path;

use sojourn_lab::{Bounds, Engine, Experiment, Metric, Progress, Variant};
use sojourn_traffic::Workload;

use crate::spec::FOUR_SERVERS;

fn with(workload: &str) -> Result<Vec<Variant>, String> {
    let (head, rest) = FOUR_SERVERS.split_once("[workload]\n").unwrap();
    let (_, tail) = rest.split_once("[[system.tier]]").unwrap();
    let text = format!("{head}[workload]\n{workload}\n[[system.tier]]{tail}");
    Experiment::new(Path::new("x.toml"), text, &[]).and_then(|source| source.variants()).map_err(|e| e.to_string())
}

fn workload(text: &str) -> Workload {
    with(text).unwrap().remove(0).experiment.system().unwrap().workload.clone()
}

#[test]
fn a_trace_says_what_the_servers_are_loaded_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "10 ms,30 ms\n20 ms,50 ms\n").unwrap();
    let text = format!("kind = \"trace\"\nfile = \"{}\"\nspeed = 2\nrepeat = true\nclients = 7", path.display());
    let experiment = with(&text).unwrap().remove(0).experiment;
    let asked = experiment.system().unwrap();
    let Workload::Trace(traced) = &asked.workload else { panic!("{:?}", asked.workload) };
    assert_eq!((traced.speed, traced.repeat, traced.clients), (2.0, true, 7));
    let (mean_s, variance) = asked.demand_moments();
    assert!((mean_s - 0.04).abs() < 1e-12 && (variance - 1e-4).abs() < 1e-12);
    assert!((asked.capacity() - 100.0).abs() < 1e-9);

    std::fs::write(&path, "10 ms,30 ms\nsoon,50 ms\n").unwrap();
    let message = with(&text).unwrap_err();
    assert!(message.contains("x.toml:5: file") && message.contains("t.csv:2: `soon`"), "{message}");
}

#[test]
fn rates_change_and_batches_come() {
    let text = "kind = \"open\"\narrivals = \"exponential(utilization = 0.7)\"\n\
                profile = \"ramp(from = 0.1, to = 2, over = 60 s)\"";
    let Workload::Open(open) = workload(text) else { panic!("open") };
    // Level 1 is the rate asked for; beyond capacity for a while is what ramps are for.
    assert!((open.arrivals.peak_rate().unwrap() / open.arrivals.rate().unwrap() - 2.0).abs() < 1e-12);
    let Workload::Open(open) = workload("kind = \"open\"\narrivals = \"batches(n = 50, every = 1 s)\"") else {
        panic!("open")
    };
    assert_eq!((open.arrivals.batch(), open.arrivals.rate()), (50, Some(50.0)));
}

/// WebStone's clients open a connection for every document.
#[test]
fn webstone_speaks_http_1_0() {
    let alone = |text: &str| with(text).unwrap()[0].experiment.run.live.one_request_per_connection;
    assert!(alone("kind = \"webstone\"\nusers = 5"));
    assert!(!alone("kind = \"webstone\"\nusers = 5\nhttp = \"1.1\""));
    assert!(!alone("kind = \"closed\"\nusers = 5"));
    assert!(alone("kind = \"open\"\narrivals = \"1 s\"\nhttp = \"1.0\""));
}

#[test]
fn session_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.txt");
    std::fs::write(&path, "/a think=2\n  /b\n\n/c\n").unwrap();
    let text = format!(
        "kind = \"session-file\"\narrivals = \"exponential(rate = 10 /s)\"\nfile = \"{}\"\nsessions = 30\nparallel = 2",
        path.display()
    );
    let Workload::Sessions(sessions) = workload(&text) else { panic!("sessions") };
    let written = sessions.written.as_ref().unwrap();
    assert_eq!((sessions.users, sessions.parallel, written.list().sessions().len()), (30, 2, 2));
    std::fs::write(&path, "/a\nb\n").unwrap();
    let message = with(&text).unwrap_err();
    assert!(message.contains("x.toml:6: file") && message.contains("s.txt:2: `b`"), "{message}");
    let text = "kind = \"session-file\"\narrivals = \"1 s\"\nwsess = \"100,10,2\"";
    let Workload::Sessions(sessions) = workload(text) else { panic!("sessions") };
    assert_eq!((sessions.users, sessions.think.mean()), (100, 2.0));
}

#[test]
fn mistakes_are_named() {
    for (text, told) in [
        ("kind = \"trace\"", &["x.toml:4", "needs the key `file`"][..]),
        ("kind = \"trace\"\nfile = \"no/such\"", &["x.toml:5: file", "no/such"]),
        ("kind = \"trace\"\nfile = \"x\"\nusers = 3", &["x.toml:6: users", "it has file, speed"]),
        ("kind = \"open\"\narrivals = \"batches(n = 5)\"", &["x.toml:5: arrivals", "batches(n = 50, every = 1 s)"]),
        ("kind = \"open\"\narrivals = \"1 s\"\nprofile = \"stairs(1)\"", &["x.toml:6: profile", "steps("]),
        ("kind = \"session-file\"", &["x.toml:4", "needs the key `arrivals`"]),
        ("kind = \"session-file\"\narrivals = \"1 s\"", &["x.toml:4", "wsess"]),
        ("kind = \"session-file\"\narrivals = \"1 s\"\nwsess = \"5,0,1\"", &["x.toml:6: wsess", "100,10,2"]),
        (
            "kind = \"session-file\"\narrivals = \"1 s\"\nwsess = \"5,1,1\"\nsessions = 3",
            &["x.toml:7: sessions", "first"],
        ),
        ("kind = \"session-file\"\narrivals = \"1 s\"\nfile = \"x\"", &["x.toml:6: file", "sessions = 1000"]),
        (
            "kind = \"session-file\"\narrivals = \"exponential(utilization = 0.7)\"\nwsess = \"5,1,1\"",
            &["x.toml:5: arrivals", "at a rate"],
        ),
        ("kind = \"webstone\"\nusers = 5\nhttp = \"2\"", &["x.toml:6: http", "1.0"]),
        ("kind = \"trase\"", &["trase", "did you mean `trace`"]),
    ] {
        let message = with(text).unwrap_err();
        assert_eq!(message.lines().count(), 1, "{message}");
        told.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in: {message}"));
    }
}

/// With the server's demand by class in place of its own.
fn with_demand(workload: &str, demand: &str) -> Result<Vec<Variant>, String> {
    let text = format!(
        "name = \"classes\"\n[workload]\n{workload}\n[system.server]\ndiscipline = \"fcfs\"\ndemand = {demand}\n\
         [run]\nby = [\"theory\"]\n"
    );
    Experiment::new(Path::new("x.toml"), text, &[]).and_then(|source| source.variants()).map_err(|e| e.to_string())
}

/// The classes stand in the order of the file, each with its sizes, and the utilization is that of the mixture.
#[test]
fn requests_have_classes() {
    let text = "kind = \"open\"\narrivals = \"exponential(utilization = 0.5)\"\nclasses = { web = 0.8, app = 0.2 }\n\
                size = { app = \"constant(2 kB)\", web = \"exponential(mean = 10 kB)\" }";
    let demand = "{ web = \"1 us/B\", app = \"exponential(mean = 90 ms)\" }";
    let experiment = with_demand(text, demand).unwrap().remove(0).experiment;
    let asked = experiment.system().unwrap();
    assert_eq!(asked.workload.classes(), ["web", "app"]);
    assert_eq!(asked.workload.shares().unwrap(), [0.8, 0.2]);
    assert!((asked.workload.size_moments().0 - 8400.0).abs() < 1e-9);
    let (mean_s, variance) = asked.demand_moments();
    assert!((mean_s - 0.026).abs() < 1e-12, "{mean_s}");
    let second = 0.8 * 2.0 * 0.01f64.powi(2) + 0.2 * 2.0 * 0.09f64.powi(2);
    assert!((variance - (second - 0.026f64.powi(2))).abs() < 1e-12, "{variance}");
    let Workload::Open(open) = &asked.workload else { panic!("open") };
    assert!((open.arrivals.rate().unwrap() - 0.5 / 0.026).abs() < 1e-9);

    let closed = "kind = \"closed\"\nusers = 5\nclasses = { web = 1 }\nsize = \"webstone\"";
    let experiment = with_demand(closed, "\"1 ms\"").unwrap().remove(0).experiment;
    let asked = experiment.system().unwrap();
    assert_eq!((asked.workload.classes(), asked.workload.objects().len()), (vec!["web"], 5));
}

#[test]
fn wrong_classes_are_refused_with_line_and_remedy() {
    let open = "kind = \"open\"\narrivals = \"exponential(rate = 1 /s)\"\n";
    let both = "{ a = \"1 ms\", b = \"2 ms\" }";
    let cases = [
        ("classes = { a = 0.5, b = 0.6 }", both, &["x.toml:5: workload", "sum to 1.1", "static = 0.8"][..]),
        ("classes = { a = 0.5, other = 0.5 }", both, &["x.toml:5: workload", "`other` means"]),
        ("classes = { a = 0.5, b = \"x\" }", both, &["x.toml:5"]),
        ("classes = { a = 0.5, b = 0.5 }\nsize = { a = \"1 kB\" }", both, &["x.toml:6: size", "`b`", "add `b = "]),
        (
            "classes = { a = 0.5, b = 0.5 }\nsize = { a = \"1 kB\", b = \"1 kB\", bb = \"2 kB\" }",
            both,
            &["x.toml:6: size", "`bb`", "did you mean `b`?"],
        ),
        ("classes = { a = 0.5, b = 0.5 }\nsize = { a = \"1 kB\", b = \"1 ms\" }", both, &["x.toml:6: size.b"]),
        ("size = { a = \"1 kB\" }", "\"1 ms\"", &["x.toml:5: size", "sizes by class need classes"]),
        ("classes = { a = 0.5, b = 0.5 }", "{ a = \"1 ms\" }", &["x.toml:8: demand", "class `b`", "other"]),
        ("classes = { a = 1.0 }", "{ a = \"1 ms\", c = \"1 ms\" }", &[]),
        (
            "classes = { a = 0.5, b = 0.5 }",
            "{ a = \"1 ms\", b = \"1 ms\", c = \"1 ms\" }",
            &["demand", "unknown class of requests `c`", "other"],
        ),
        ("", "{ a = \"1 ms\" }", &["demand", "class `static`"]),
    ];
    for (lines, demand, needles) in cases {
        let text = format!("{open}{lines}");
        match with_demand(&text, demand) {
            Ok(_) => assert!(needles.is_empty(), "{lines} was taken"),
            Err(message) => {
                assert!(!needles.is_empty() && !message.contains('\n'), "{message}");
                for needle in needles {
                    assert!(message.contains(needle), "{lines:?} said {message:?}, not {needle:?}");
                }
            }
        }
    }
    let message = with_demand("kind = \"webstone\"\nusers = 3\nclasses = { a = 1.0 }", "\"1 ms\"").unwrap_err();
    assert!(message.contains("no such key"), "{message}");
}

/// Theory reads the law of the mixture: Pollaczek's and Khinchine's mean, and that of PS. Priorities are left to the
/// simulator.
#[test]
fn theory_answers_a_mixture() {
    let (mean, second) = (0.3 * 0.2 + 0.7, 0.3 * 0.08 + 0.7);
    let fcfs = mean + 0.8 * second / 2.0 / (1.0 - 0.8 * mean);
    for (discipline, known) in [("fcfs", Some(fcfs)), ("ps", Some(mean / (1.0 - 0.8 * mean))), ("priority", None)] {
        let told = response_time_mean(discipline);
        match (told, known) {
            (Some(told), Some(known)) => {
                assert!((told / known - 1.0).abs() < 1e-9, "{discipline}: {told}, not {known}")
            }
            (told, known) => assert_eq!(told, known, "{discipline}"),
        }
    }
}

/// What theory says of a server with two classes.
fn response_time_mean(discipline: &str) -> Option<f64> {
    let text = format!(
        "name = \"classes\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 0.8 /s)\"\n\
         classes = {{ gold = 0.3, silver = 0.7 }}\n[system.server]\ndiscipline = \"{discipline}\"\n\
         demand = {{ gold = \"exponential(mean = 0.2 s)\", silver = \"1 s\" }}\n[run]\nby = [\"theory\"]\n"
    );
    let experiment = Experiment::new(Path::new("x.toml"), text, &[]).unwrap();
    let answers = experiment.ask([Engine::Theory], &Progress::none()).unwrap();
    answers.iter().next()?.metric(Metric::RESPONSE_TIME_MEAN).ok().map(Bounds::value)
}

/// A format string says what no first line tells; several files are one log in the order of time.
#[test]
fn a_log_has_a_format_and_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &str| {
        std::fs::write(folder.path().join(name), lines).unwrap();
        folder.path().join(name).display().to_string()
    };
    let one = write("one.log", "1700000000.000001 a 20 /x 200\n1700000002.5 b 30 /y 200\n");
    let two = write("two.log", "1700000001.5 a 40 /x 200\n");
    let format = "format = '$begin $client $response_ms $path $status'";
    let text = format!("kind = \"log\"\nlog = [\"{one}\", \"{two}\"]\n{format}");
    let message = with(&text).unwrap_err();
    assert!(message.contains("x.toml:") && message.contains("format: ") && message.contains("method"), "{message}");
    let format = "format = '$begin $client $response_ms $method $path $status'";
    let (one, two) = (write("one.log", "1700000000.000001 a 20 GET /x 200\n1700000002.5 b 30 GET /y 200\n"), {
        write("two.log", "1700000001.5 a 40 GET /x 200\n")
    });
    let text = format!("kind = \"log\"\nlog = [\"{one}\", \"{two}\"]\n{format}");
    let Workload::Replay(replay) = workload(&text) else { panic!("a log") };
    let response: Vec<_> = replay.log.entries().iter().map(|entry| entry.response_s()).collect();
    assert_eq!(response, [Some(0.02), Some(0.04), Some(0.03)]);
    let message = with(&text.replace("[\"", "[\"\", \"")).unwrap_err();
    assert!(message.contains("log: name an access log"), "{message}");
    let message = with("kind = \"log\"\nlog = 3").unwrap_err();
    assert!(message.contains("an access log such as") && message.contains("x.toml:5"), "{message}");
}

/// Classes of a server's model that begin with a slash are those of the paths.
#[test]
fn requests_of_a_log_have_the_demand_of_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    let line = |path: &str| format!("10.0.0.1 - - [01/Aug/2024:00:00:01 +0000] \"GET {path} HTTP/1.1\" 200 100\n");
    let paths = ["/search?q=1", "/search/deep/er", "/searches", "/"];
    std::fs::write(&path, paths.map(line).concat()).unwrap();
    let log = format!("kind = \"log\"\nlog = \"{}\"", path.display());
    let text = format!(
        "name = \"x\"\n[workload]\n{log}\n[[system.tier]]\nface = \"none\"\npolicy = \"random\"\ntargets = {{ servers = 1 }}\n\
         [system.server]\ndiscipline = \"ps\"\ndemand = {{ \"/search\" = \"20 ms\", \
         \"/search/deep\" = \"50 ms\", other = \"2 ms\" }}\n"
    );
    let read = Experiment::new(Path::new("x.toml"), text, &[]).and_then(|source| source.variants()).unwrap();
    let asked = read[0].experiment.system().unwrap();
    assert_eq!(asked.workload.classes(), ["other", "/search", "/search/deep"]);
    let Workload::Replay(replay) = &asked.workload else { panic!("a log") };
    let classes = replay.classes.as_ref().unwrap();
    let of: Vec<u8> = replay.log.entries().iter().map(|entry| classes.of(entry.object)).collect();
    assert_eq!(of, [1, 2, 0, 0]);
    // 20 + 50 + 2 + 2 ms over four requests.
    assert!((asked.demand_moments().0 - 0.0185).abs() < 1e-12);
}

/// Archives of browsers are sessions; what is missing or too much is said.
#[test]
fn archives_of_browsers_are_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, host: &str| {
        let entry = |second: u32, url: &str| {
            format!(
                "{{\"startedDateTime\":\"2026-11-28T10:00:{second:02}.000Z\",\"time\":500,\"request\":{{\"method\":\"GET\",\
                 \"url\":\"https://{host}{url}\"}},\"response\":{{\"status\":200,\"bodySize\":4000}}}}"
            )
        };
        let text = format!("{{\"log\":{{\"creator\":{{}},\"entries\":[{},{}]}}}}", entry(0, "/"), entry(4, "/next"));
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let (ann, bob) = (write("ann.har", "shop.example"), write("bob.har", "shop.example"));
    let head = "kind = \"session-file\"\narrivals = \"exponential(rate = 1 /s)\"";
    let text = format!("{head}\nhar = [\"{ann}\", \"{bob}\"]\nsessions = 10");
    let Workload::Sessions(sessions) = workload(&text) else { panic!("sessions") };
    let list = sessions.written.as_ref().unwrap().list();
    assert_eq!((sessions.users, list.sessions().len(), list.calls().len()), (10, 2, 2));
    assert_eq!(list.sessions()[1][0].think.unwrap().as_secs_f64(), 3.5);
    assert_eq!(sessions.site.files()[0].size, 4000);
    for (text, says) in [
        (format!("{head}\nhar = \"{ann}\""), "har: say how many sessions come"),
        (format!("{head}\nhar = \"{ann}\"\nwsess = \"1,2,3\""), "har: give either"),
        (format!("{head}\nhar = 7\nsessions = 1"), "an HTTP archive such as"),
        (format!("{head}\nhar = []\nsessions = 1"), "har: name an HTTP archive"),
        (format!("{head}\nwsess = \"1,2,3\"\nhosts = [\"x\"]"), "hosts: they are those of `har`"),
        (format!("{head}\nhar = \"{ann}\"\nhosts = [\"x.example\"]\nsessions = 1"), "most requests go to shop.example"),
        (format!("{head}\nhar = \"{ann}.none\"\nsessions = 1"), "ann.har.none"),
        (format!("{head}\nsessions = 1"), "`har = \"shop.har\"` with"),
    ] {
        let message = with(&text).unwrap_err();
        assert!(
            message.starts_with("x.toml:") && message.contains(says) && !message.contains('\n'),
            "{text}: {message}"
        );
    }
}
