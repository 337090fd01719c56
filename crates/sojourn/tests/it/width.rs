//! Everything a person reads fits 80 columns, and no word of it is broken.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, command, experiment, file, root, stderr, stdout};

const COLUMNS: usize = 80;

/// Runs the program on a terminal of [`COLUMNS`] columns, in `folder`.
fn narrow(arguments: &[&str], folder: &Path) -> Output {
    command(arguments).current_dir(folder).env("COLUMNS", COLUMNS.to_string()).output().expect("the program can be run")
}

/// Lines that are too long.
fn long(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.chars().count() > COLUMNS).collect()
}

/// What stands between spaces, frames and parentheses.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || "│┌┐└┘╞╡─═()".contains(c)).filter(|word| !word.is_empty()).collect()
}

/// Whether what is told fits, and is told in the same words where there is more room.
fn check(arguments: &[&str], folder: &Path) {
    let (narrow, wide) = (narrow(arguments, folder), command(arguments).current_dir(folder).output().unwrap());
    assert!(matches!(narrow.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&narrow));
    let told = stdout(&narrow);
    assert!(long(&told).is_empty(), "{arguments:?}: {:#?}\n{told}", long(&told));
    assert!(long(&stderr(&narrow)).is_empty(), "{arguments:?}: {}", stderr(&narrow));
    let all = stdout(&wide);
    let known = words(&all);
    let about_room = ["No", "room", "for:", "has", "all.", "report.html", "--json"];
    let broken: Vec<&str> = words(&told)
        .into_iter()
        .filter(|word| !known.contains(word) && !known.contains(&word.trim_end_matches([',', ';'])))
        .filter(|word| !about_room.contains(word))
        .collect();
    assert!(broken.is_empty(), "{arguments:?}: {broken:?}\n{told}\n{all}");
}

#[test]
fn help_fits() {
    let folder = tempfile::tempdir().unwrap();
    let verbs: [&[&str]; 18] = [
        &["--help"],
        &["run", "--help"],
        &["plan", "--help"],
        &["report", "--help"],
        &["load", "--help"],
        &["compare", "--help"],
        &["calibrate", "--help"],
        &["agent", "--help"],
        &["queue", "--help"],
        &["traffic", "--help"],
        &["traffic", "describe", "--help"],
        &["traffic", "fit", "--help"],
        &["traffic", "hurst", "--help"],
        &["traffic", "generate", "--help"],
        &["traffic", "site", "--help"],
        &["node", "--help"],
        &["gateway", "--help"],
        &["doctor", "--help"],
    ];
    verbs.iter().for_each(|verb| check(verb, folder.path()));
}

#[test]
fn answers_of_theory_sim_and_traffic_fit() {
    let folder = tempfile::tempdir().unwrap();
    let log: String = (0..400)
        .map(|n| {
            format!(
                "h{} - - [01/Aug/1995:00:{:02}:{:02} -0400] \"GET /page-{} HTTP/1.0\" 200 {}\n",
                n % 17,
                n / 40,
                n % 60,
                n % 23,
                500 + 37 * n
            )
        })
        .collect();
    let log = file(folder.path(), "access.log", log);
    let numbers: String = (0..3000_u64).map(|n| format!("{}\n", (n * 7919 % 1009) as f64 / 1009.0 + 0.01)).collect();
    let numbers = file(folder.path(), "numbers.txt", numbers);
    let plan = experiment("plan.toml").display().to_string();
    let exact = ["--arrivals", "exponential(rate = 0.8 /s)", "--service", "lognormal(mean = 1 s, cv = 2)"];
    let commands: [&[&str]; 7] = [
        &[&["queue", "M/G/1-PS"], &exact[..]].concat(),
        &[&["queue", "M/G/1", "--all"], &exact[..]].concat(),
        &[&["queue", "M/G/1", "--by", "theory,sim", "--jobs", "1e5"], &exact[..]].concat(),
        &["traffic", "describe", &log],
        &["traffic", "hurst", &numbers],
        &["traffic", "site", "--files", "200"],
        &["doctor"],
    ];
    commands.iter().for_each(|arguments| check(arguments, folder.path()));
    let planned = narrow(&["plan", &plan, "--out", "planned", "--set", "run.precision=10% at 95%"], folder.path());
    assert!(matches!(planned.status.code(), Some(0 | 1)), "{}", stderr(&planned));
    assert!(long(&stdout(&planned)).is_empty(), "{}", stdout(&planned));
}

#[test]
fn the_demo_and_what_is_made_of_it_fit() {
    let folder = tempfile::tempdir().unwrap();
    let four = experiment("four-servers.toml").display().to_string();
    let short = ["--set", "run.live.duration=1 s", "--set", "run.precision=20% at 95%", "--out", "demo"];
    let run = narrow(&[&["run", four.as_str()], &short[..]].concat(), folder.path());
    assert!(matches!(run.status.code(), Some(0 | 1)), "{}", stderr(&run));
    assert!(long(&stdout(&run)).is_empty(), "{:#?}\n{}", long(&stdout(&run)), stdout(&run));
    check(&["report", "demo"], folder.path());
    check(&["compare", "demo", "demo"], folder.path());
    check(&["compare", "demo", "demo", "--all"], folder.path());
    for network in ["web-server-in-series.toml", "browsing.toml"] {
        let path = root().join("experiments").join(network).display().to_string();
        let by = ["--by", "theory,sim", "--out", network, "--set", "run.precision=30% at 95%"];
        let run = narrow(&[&["run", path.as_str()], &by[..]].concat(), folder.path());
        assert!(long(&stdout(&run)).is_empty(), "{:#?}\n{}", long(&stdout(&run)), stdout(&run));
    }
}

/// A server that is ten times slower for a second, and clients that wait 300 ms and ask again: at no width is anything of what
/// went wrong left out.
#[test]
fn what_went_wrong_is_told_at_any_width() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"storm\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 20 /s)\"\n\
                [client]\ntimeout = \"300 ms\"\nretries = 3\n\
                [system.server]\ndiscipline = \"ps\"\ndemand = \"exponential(mean = 20 ms)\"\n\
                [[fault]]\nat = \"8 s\"\nuntil = \"9 s\"\nserver = 1\nwhat = \"slow(0.1)\"\n\
                [run]\nduration = \"30 s\"\nreplications = 5\nprecision = \"none\"\n";
    let path = file(folder.path(), "storm.toml", text);
    for columns in [50, COLUMNS] {
        let out = format!("out-{columns}");
        let mut run = command(&["run", &path, "--by", "sim", "--out", &out]);
        let output = run.current_dir(folder.path()).env("COLUMNS", columns.to_string()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let told = stdout(&output);
        assert!(told.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{told}");
        assert!(!told.contains("No room for"), "{columns}:\n{told}");
        let (_, wrong) = told.split_once("What went wrong\n").unwrap_or_else(|| panic!("{told}"));
        let (wrong, fault) = wrong.split_once("While a fault lasts\n").unwrap_or_else(|| panic!("{told}"));
        for part in ["failed", "attempts"] {
            assert!(wrong.contains(part), "{columns}, {part}:\n{told}");
        }
        for part in ["recovery", "attempts", "replies", "p99"] {
            assert!(fault.contains(part), "{columns}, {part}:\n{told}");
        }
    }
}

#[test]
fn loads_fit() {
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "server.toml", "discipline = \"ps\"\ndemand = \"exponential(mean = 1 ms)\"\n");
    let node =
        Child::spawn(Path::new(PROGRAM), ["node", "--child", "--model", &model], Duration::from_secs(20)).unwrap();
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let rate = ["--arrivals", "exponential(rate = 200 /s)"];
    let commands: [&[&str]; 5] = [
        &["load", &url, "--connections", "4", "-d", "500ms", "--objective", "p99 < 50 ms"],
        &[&["load", &url, "-d", "500ms"], &rate[..]].concat(),
        &[&["load", &url, "-d", "300ms", "--search", "p50 < 3 ms", "--within", "100%"], &rate[..]].concat(),
        &[&["load", &url, "-d", "300ms", "--scan", "100:300:100"], &rate[..]].concat(),
        &["compare", &url, &url, "--rounds", "2", "-d", "300ms", "--pause", "1 ms"],
    ];
    for arguments in commands {
        let output = narrow(arguments, folder.path());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&output));
        let told = stdout(&output);
        assert!(long(&told).is_empty(), "{arguments:?}: {:#?}\n{told}", long(&told));
    }
}

#[test]
fn a_message_wraps_on_a_terminal_and_is_one_line_for_a_script() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = ["load", "http://127.0.0.1:9/", "--search", "p99 < 50 ms", "--connections", "2"];
    let shown = narrow(&wrong, folder.path());
    assert_eq!(shown.status.code(), Some(2));
    assert!(stderr(&shown).lines().count() > 1 && long(&stderr(&shown)).is_empty(), "{}", stderr(&shown));
    let read = command(&wrong).env_remove("COLUMNS").output().unwrap();
    assert_eq!(stderr(&read).lines().count(), 1, "{}", stderr(&read));
}

/// What a terminal of [`COLUMNS`] columns is shown while a verb works: the lines of its bar, without what colours them.
fn bars(verb: &str, folder: &Path) -> Vec<String> {
    let typed = format!("stty cols {COLUMNS}; {PROGRAM} {verb}");
    let mut script = Command::new("script");
    let output = script.args(["-qec", &typed, "/dev/null"]).current_dir(folder).env_remove("COLUMNS").output().unwrap();
    let told = stdout(&output);
    assert!(output.status.success(), "{verb}: {told}");
    let plain = |line: &str| {
        let parts = line.split('\x1b').enumerate();
        let after = |(index, part): (usize, &str)| match index {
            0 => part.to_owned(),
            _ => part.trim_start_matches(|c: char| "[;".contains(c) || c.is_ascii_digit()).chars().skip(1).collect(),
        };
        parts.map(after).collect::<String>()
    };
    told.split(['\r', '\n']).map(plain).filter(|line| line.starts_with('[')).collect()
}

#[test]
fn bars_of_progress_fit_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let run = format!("run {} --by sim", root().join("experiments/four-servers.toml").display());
    let shown = bars(&run, folder.path());
    let labelled = "sim transmitted-size(window = 100 ms), limited-ps";
    assert!(shown.iter().any(|line| line.contains(labelled)), "{shown:#?}");
    let long: Vec<_> = shown.iter().filter(|line| line.chars().count() > COLUMNS).collect();
    assert!(long.is_empty(), "{long:#?}");
}
