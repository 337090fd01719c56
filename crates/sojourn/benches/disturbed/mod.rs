//! Loads that are disturbed on purpose, and what their verdict must say of each disturbance.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bars::Bars;
use crate::nginx::Nginx;
use crate::{Result, SHARE_LEAST, load, read, reasons};

/// A load that nothing but its disturbance disturbs: Poisson arrivals, far below what nginx and the generator can do.
const STEADY: [&str; 6] = ["--arrivals", "exponential(rate = 2000 /s)", "--duration", "3 s", "--connections", "1024"];
/// A rate that no generator with one thread reaches.
const BEYOND: [&str; 6] = ["--rate", "3000000 /s", "--duration", "1 s", "--connections", "1024"];
/// Of the requests of `errors` that ask for a file which is not there.
const ERRORS: f64 = 0.02;

/// A disturbance: its name, one of these in the reasons, and a load with it, by its number.
struct Kind {
    name: &'static str,
    causes: &'static [&'static str],
    disturb: fn(&Nginx, usize) -> Result<Value>,
}

const KINDS: [Kind; 10] = [
    Kind { name: "hog-on-one", causes: &["waited for a core"], disturb: hog_on_one },
    Kind { name: "hogs-on-all", causes: &["waited for a core", "every core was more than"], disturb: hogs_on_all },
    Kind { name: "stopped", causes: &["went out more than", "the generator's own lateness"], disturb: stopped },
    Kind { name: "connections", causes: &["had to wait for one of the 1 connections"], disturb: connections },
    Kind { name: "descriptors", causes: &["no socket or path here"], disturb: descriptors },
    Kind { name: "full-disk", causes: &["No space left on device"], disturb: full_disk },
    Kind { name: "errors", causes: &["status 4xx"], disturb: errors },
    Kind { name: "node-killed", causes: &["server-2 ended (signal: 9"], disturb: node_killed },
    Kind { name: "gateway-killed", causes: &["gateway ended (signal: 9"], disturb: gateway_killed },
    Kind {
        name: "beyond",
        causes: &["requests/s were begun of", "not sent: the generator was too late"],
        disturb: beyond,
    },
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// `each` loads of every kind, or of the one asked for.
pub(crate) fn run(nginx: &Nginx, kind: Option<&str>, each: usize, bars: &mut Bars) -> Result<()> {
    println!("disturbed: {each} loads of each kind");
    let (mut right, mut all) = (0, 0);
    for Kind { name, causes, disturb } in KINDS.iter().filter(|one| kind.is_none_or(|kind| kind == one.name)) {
        let mut known = 0;
        for number in 1..=each {
            let told = disturb(nginx, number)?;
            let (verdict, reasons) = (told["verdict"].as_str().unwrap_or_default(), reasons(&told));
            if ["SUSPECT", "INCOMPLETE"].contains(&verdict) && causes.iter().any(|cause| reasons.contains(cause)) {
                known += 1;
            } else {
                println!("  wrong: {name} {number}: {verdict}: {reasons}");
            }
        }
        println!("{name:>16} {known:>4} of {each}");
        right += known;
        all += each;
    }
    bars.at_least("share of the disturbed loads with the right cause", right as f64 / all as f64, SHARE_LEAST);
    Ok(())
}

fn hog_on_one(nginx: &Nginx, number: usize) -> Result<Value> {
    let _hogs = Hogs::on(1);
    steady(nginx, number, |_| Ok(()))
}

fn hogs_on_all(nginx: &Nginx, number: usize) -> Result<Value> {
    let _hogs = Hogs::on(std::thread::available_parallelism()?.get());
    steady(nginx, number, |_| Ok(()))
}

fn stopped(nginx: &Nginx, number: usize) -> Result<Value> {
    steady(nginx, number, |generator| {
        kill(generator, Signal::SIGSTOP)?;
        pause(Duration::from_millis(200));
        Ok(kill(generator, Signal::SIGCONT)?)
    })
}

fn connections(nginx: &Nginx, number: usize) -> Result<Value> {
    let seed = number.to_string();
    let rate = "exponential(rate = 5000 /s)";
    read(&load(nginx, &["--arrivals", rate, "--duration", "2 s", "-c", "1", "--seed", &seed]).output()?)
}

/// Each request opens a connection, and from a second on the system has no descriptor left for it.
fn descriptors(nginx: &Nginx, number: usize) -> Result<Value> {
    let seed = number.to_string();
    let rate = "exponential(rate = 500 /s)";
    let load = load(nginx, &["--arrivals", rate, "--duration", "3 s", "--http", "1.0", "--seed", &seed]);
    during(load, |generator| {
        let limited = Command::new("prlimit").args(["--pid", &generator.to_string(), "--nofile=4:4"]).status()?;
        if limited.success() { Ok(()) } else { Err("prlimit has set no limit".into()) }
    })
}

/// The device that is always full, and in turns a file system of 64 kB of its own.
fn full_disk(nginx: &Nginx, number: usize) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let (plain, small) = ("exec \"$@\" --record /dev/full", "mount -t tmpfs -o size=64k none \"$0\"");
    let script = match number % 2 {
        0 => plain.to_owned(),
        _ => format!("{small} && exec \"$@\" --record \"$0/records.csv\""),
    };
    let load = load(nginx, &STEADY);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).arg(folder.path());
    command.arg(load.get_program()).args(load.get_args());
    read(&command.output()?)
}

/// One of fifty requests is for nothing; the report says of how many, within five standard errors.
fn errors(nginx: &Nginx, number: usize) -> Result<Value> {
    let mut list = tempfile::NamedTempFile::new()?;
    write!(list, "{} /1k\n{ERRORS} /nothing-here\n", 1.0 - ERRORS)?;
    let mut load = load(nginx, &STEADY);
    load.args(["--seed", &number.to_string(), "--urls"]).arg(list.path());
    let told = read(&load.output()?)?;
    let count = |key: &str| told["counts"][key].as_f64().unwrap_or(f64::NAN);
    let (planned, failed) = (count("planned"), count("client_error"));
    let off = (failed - ERRORS * planned).abs() / (ERRORS * (1.0 - ERRORS) * planned).sqrt();
    if off < 5.0 { Ok(told) } else { Err(format!("{failed} errors of {planned} requests").into()) }
}

fn node_killed(_: &Nginx, number: usize) -> Result<Value> {
    experiment(number, "server-2")
}

fn gateway_killed(_: &Nginx, number: usize) -> Result<Value> {
    experiment(number, "gateway")
}

fn beyond(nginx: &Nginx, number: usize) -> Result<Value> {
    read(&load(nginx, &BEYOND).args(["--seed", &number.to_string()]).output()?)
}

/// A steady load, with spin and timer in turns, and what happens to it after its first second.
fn steady(nginx: &Nginx, number: usize, disturb: impl FnOnce(Pid) -> Result<()>) -> Result<Value> {
    let mut load = load(nginx, &STEADY);
    load.args(["--seed", &number.to_string()]).args((number % 2 == 1).then_some("--spin"));
    during(load, disturb)
}

fn during(mut load: Command, disturb: impl FnOnce(Pid) -> Result<()>) -> Result<Value> {
    let generator = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pid = generator.id();
    let sends = || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().filter_map(|task| task.ok());
        tasks.into_iter().any(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "load-0\n"))
    };
    read(&disturbed(generator, sends, || disturb(Pid::from_raw(pid as i32)))?)
}

/// Two nodes behind a gateway, of which one process is killed.
fn experiment(number: usize, victim: &str) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let (path, out) = (folder.path().join("two.toml"), folder.path().join("out"));
    fs::write(
        &path,
        "name = \"two\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 120 /s)\"\nclients = 50\n\
         [system]\n[[system.tier]]\nface = \"gateway\"\npolicy = \"round-robin\"\ntargets = { servers = 2 }\n\
         [system.server]\ndiscipline = \"ps\"\ndemand = \"5 ms\"\n\
         [run.live]\nduration = \"3 s\"\nwarm_up = \"0.5 s\"\n",
    )?;
    // The seed marks the processes of this run: itself, two servers, the gateway.
    let seed = (std::process::id() as usize * 1000 + number).to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn"));
    command.arg("run").arg(path).args(["--by", "live", "--seed", &seed, "--out"]).arg(&out);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = disturbed(
        run,
        || processes_with(&[&seed]).len() == 4,
        || {
            let found = processes_with(&[&seed, victim]);
            Ok(kill(*found.first().ok_or(format!("{victim} does not run"))?, Signal::SIGKILL)?)
        },
    )?;
    let told = fs::read(out.join("run.json"))
        .map_err(|_| format!("no run folder ({}): {}", output.status, String::from_utf8_lossy(&output.stderr)))?;
    Ok(serde_json::from_slice(&told)?)
}

/// What a process printed that was disturbed a second after it had begun.
fn disturbed(process: Child, began: impl Fn() -> bool, disturb: impl FnOnce() -> Result<()>) -> Result<Output> {
    await_that(began)?;
    pause(Duration::from_secs(1));
    disturb()?;
    Ok(process.wait_with_output()?)
}

fn processes_with(marks: &[&str]) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok());
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw));
    let is_one = |id: &Pid| {
        let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.starts_with(env!("CARGO_BIN_EXE_sojourn"))
            && marks.iter().all(|mark| line.split('\0').any(|word| word == *mark))
    };
    ids.filter(is_one).collect()
}

#[allow(clippy::disallowed_methods, reason = "a bench that waits for a process gives up some day")]
fn await_that(holds: impl Fn() -> bool) -> Result<()> {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > Duration::from_secs(30) {
            return Err("the load never began".into());
        }
        std::thread::yield_now();
    }
    Ok(())
}

#[allow(
    clippy::disallowed_methods,
    reason = "the disturbance is to come in the middle of a load, whose length is known"
)]
fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// Threads that want all of the first cores, while this lives.
struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn on(cores: usize) -> Hogs {
        let stop = Arc::new(AtomicBool::new(false));
        let hog = |core| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let mut only = CpuSet::new();
                let pinned = only.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
                pinned.expect("the core is there, since this process may use it");
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box(());
                }
            })
        };
        let threads = (0..cores).map(hog).collect();
        Hogs { stop, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A hog has nothing to panic with once it is on its core.
            let _ = thread.join();
        }
    }
}
