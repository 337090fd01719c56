//! Real servers measured into models, and the models judged on loads that they were not fitted to: the table of
//! `docs/calibrate.md`.
//!
//! Each server has core 1 to itself and the client core 0, so that nothing else should run on the machine. Arguments: names of
//! servers (default: all), `--minutes N` for each (default 5), `--page FILE` to put the table into that page. Exit code 1
//! when a prediction is more than 15 % off, which is no failure of the bench.

#![allow(clippy::print_stdout, reason = "the table is what it is for")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use sojourn_calibrate::{Calibration, PREDICTIONS, Progress, Settings, Target, calibrate};
use sojourn_load::Awake;
use sojourn_part::program::{Kind, Program, Workers, text_page};
use sojourn_stats::Span;

/// What a prediction may be off.
const BAR: f64 = 0.15;
/// The server's core.
const SERVER: usize = 1;

struct Subject {
    name: &'static str,
    kind: Kind,
    path: &'static str,
    xs: &'static [u64],
    at: u64,
    headers: &'static [(&'static str, &'static str)],
}

fn subjects() -> Vec<Subject> {
    let php = |name, workers| Subject {
        name,
        kind: Kind::ApachePhp(Workers::fixed(workers)),
        path: "/work.php?iter={x}",
        xs: &[100_000, 400_000, 800_000, 10_000_000],
        at: 400_000,
        headers: &[],
    };
    let file = |name, workers| Subject {
        name,
        kind: Kind::ApachePrefork(Workers::fixed(workers)),
        path: "/{size}.txt",
        xs: &[20_000, 100_000, 200_000, 2_000_000],
        at: 100_000,
        headers: &[("accept-encoding", "gzip")],
    };
    vec![
        Subject {
            name: "nginx, gzip",
            kind: Kind::Nginx { workers: 1, gzip: 9 },
            path: "/{size}.txt",
            xs: &[20_000, 100_000, 200_000, 2_000_000],
            at: 100_000,
            headers: &[("accept-encoding", "gzip")],
        },
        file("apache prefork, gzip, 4 processes", 4),
        file("apache prefork, gzip, 16 processes", 16),
        php("apache + php, 4 processes", 4),
        php("apache + php, 16 processes", 16),
    ]
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let after = |flag: &str| {
        arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1)).cloned()
    };
    let minutes: f64 = after("--minutes").map_or(5.0, |text| text.parse().expect("--minutes N"));
    let (page, minutes_text) = (after("--page"), after("--minutes"));
    let named: Vec<&String> = arguments
        .iter()
        .filter(|argument| {
            !argument.starts_with("--") && Some(*argument) != page.as_ref() && Some(*argument) != minutes_text.as_ref()
        })
        .collect();
    pin(0);
    let _awake = Awake::keep(&[SERVER]).expect("this machine has that core");
    let mut lines = vec![
        "| server | model | work | served at once | utilisation | speed | measured mean, p90 (ms) | theory | sim | \
         sim, same plans | sim, as made |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    let mut missed = 0;
    for subject in subjects() {
        if !named.is_empty() && !named.iter().any(|name| subject.name.contains(name.as_str())) {
            continue;
        }
        match measure(&subject, minutes) {
            Ok(found) => {
                for line in found.summary() {
                    println!("{}: {line}", subject.name);
                }
                missed += rows(subject.name, &found, &mut lines);
            }
            Err(why) => {
                missed += 1;
                lines.push(format!("| {} | {why} | | | | | | | | | |", subject.name));
            }
        }
        println!("{}", lines.join("\n"));
    }
    println!("predictions more than {:.0} % off: {missed}", BAR * 100.0);
    if let Some(page) = page {
        // A bench is run in its crate's folder.
        write(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page), &lines);
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core).expect("a core has a number");
    sched_setaffinity(Pid::from_raw(0), &cores).expect("this machine has that core");
}

fn measure(subject: &Subject, minutes: f64) -> Result<Calibration, String> {
    let root = tempfile::tempdir().map_err(|e| e.to_string())?;
    fs::set_permissions(root.path(), Permissions::from_mode(0o755)).map_err(|e| e.to_string())?;
    if subject.path.contains("{size}") {
        for size in subject.xs {
            let text = text_page(*size as usize);
            fs::write(root.path().join(format!("{size}.txt")), text).map_err(|e| e.to_string())?;
        }
    }
    let mut program = Program::new(subject.kind.clone(), root.path());
    program.cores = vec![SERVER];
    program.keep_alive = Span::ZERO;
    let running = program.start().map_err(|e| e.to_string())?;
    let url = format!("http://{}{}", running.address(), subject.path);
    let mut target = Target::parse(&url, subject.xs, Some(subject.at)).map_err(|e| e.to_string())?;
    target.headers = subject.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let settings = Settings { time: Span::from_secs_f64(minutes * 60.0), repeats: 5, ..Settings::default() };
    let said = Mutex::new(String::new());
    let say = |now: Progress<'_>| {
        let mut last = said.lock().expect("no thread panics while it holds the lock");
        if *last != now.stage {
            eprintln!("{}: {}", subject.name, now.stage);
            now.stage.clone_into(&mut last);
        }
    };
    calibrate(&target, &settings, &say, &Arc::new(AtomicBool::new(false))).map_err(|e| e.to_string())
}

/// Adds the rows of a server; how many predictions miss the bar.
fn rows(name: &str, found: &Calibration, lines: &mut Vec<String>) -> u32 {
    let text = found.to_toml();
    let said = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix("= "));
        line.unwrap_or("-").split("   #").next().unwrap_or("-").replace('"', "")
    };
    let discipline = match said("helpers").as_str() {
        "-" => said("discipline"),
        helpers => format!("{}, {helpers}", said("discipline")),
    };
    let mut missed = 0;
    for point in &found.judged {
        let errors = PREDICTIONS.map(|(name, of)| {
            let Some((mean, p90)) = point.error(of) else { return "-".to_owned() };
            if ["theory", "sim"].contains(&name) {
                // No percentile counts as a miss: it was asked for.
                missed += u32::from(mean.abs() > BAR) + u32::from(p90.is_nan() || p90.abs() > BAR);
            }
            format!("{:+.1} %, {:+.1} %", 100.0 * mean, 100.0 * p90)
        });
        let (measured, [theory, sim, plans, as_made]) = (point.measured(), errors);
        lines.push(format!(
            "| {name} | {discipline} | {} | {} | {} | {:.2} | {:.2}, {:.2} | {theory} | {sim} | {plans} | {as_made} |",
            found.server.demand(""),
            said("served_at_once"),
            point.utilization,
            point.speed(),
            1e3 * measured.mean_s,
            1e3 * measured.p90_s,
        ));
    }
    missed
}

/// Puts the table between the page's two marks.
fn write(page: &Path, lines: &[String]) {
    const MARKS: (&str, &str) = ("<!-- measured: begin -->\n", "<!-- measured: end -->");
    let text = fs::read_to_string(page).expect("the page can be read");
    let (before, rest) = text.split_once(MARKS.0).expect("the page has the first mark");
    let (_, after) = rest.split_once(MARKS.1).expect("the page has the second mark");
    let whole = format!("{before}{}{}\n{}{after}", MARKS.0, lines.join("\n"), MARKS.1);
    fs::write(page, whole).expect("the page can be written");
}
