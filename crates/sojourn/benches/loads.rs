//! Does the verdict doubt a load that is disturbed, and only such a load? Two parts, against nginx on the second core with
//! the generator on the first:
//!
//! - `idle`: 200 loads at 1 to 60 % of the measured capacity, 10,000 requests and 20 s at least, spin and timer in turns.
//!   A shared machine stands still for some milliseconds several times a second, which is where the longest hundredth of
//!   the response times is: a shorter load has too few such pauses in it for an interval of the 99th percentile. The
//!   requests that wait after a pause are served the later the less capacity is left, so that at 60 % a load takes 50 s.
//!   The connections are open before the first request: one that is opened after a pause costs more time than there is
//!   between two requests. Both cores are kept awake (`--awake`): virtual cores that may sleep serve with medians of 60 us
//!   in one second and 177 us in the next, and such a drift leaves the 90th percentile of half a minute without an interval.
//!   At most 2 may be SUSPECT without a cause that the host's own counters show (a steal tick, or a millisecond of waiting
//!   for a core, in a second that was late), and in 95 % the mean and the percentiles up to p99 have intervals.
//! - `disturbed`: ten loads each of ten disturbances. Of these 95 % say SUSPECT or INCOMPLETE with the right cause.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench loads [-- idle [N | FROM..TO] | disturbed [KIND] [N]]`. Some 105 minutes
//! and seven; leave the machine alone. `idle 1..50` measures the first fifty of the 200 loads, the rest another time. Needs
//! `nginx`, two cores and, for a full disk, user namespaces.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::ops::RangeInclusive;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

mod bars;
mod disturbed;
mod host;
mod nginx;
mod peers;

use bars::Bars;
use host::{Counters, Watch};
use nginx::Nginx;

const IDLE: usize = 200;
const DISTURBED: usize = 10;
/// Lowest and highest rate of the idle loads, of the capacity.
const SHARES: (f64, f64) = (0.01, 0.6);
const REQUESTS_LEAST: f64 = 10_000.0;
/// Of a load that leaves all of the capacity; one that leaves half of it takes twice as long.
const SECONDS_LEAST: f64 = 20.0;
/// Pacings, and the cores that are kept awake beside them: nginx's, and the generator's where it does not spin itself. Beside
/// one that does, the thread that keeps its core awake would take some milliseconds of each second.
const PACINGS: [(&str, &str); 2] = [("timer", "0,1"), ("spin", "1")];
/// SUSPECT loads without a cause on an idle machine, of [`IDLE`].
const UNEXPLAINED_MOST: f64 = 2.0;
/// Of the idle loads with all intervals, of the disturbed ones with the right cause.
const SHARE_LEAST: f64 = 0.95;
const WITH_INTERVALS: [&str; 5] =
    ["response_time_mean", "response_time_p50", "response_time_p90", "response_time_p95", "response_time_p99"];
/// A second whose 99th percentile of lateness (s) is above this was late.
const LATE_S: f64 = 1e-3;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let part = words.iter().position(|word| word.contains("..")).map(|at| words.remove(at));
    let part = part.map(|text| part_of(&text).ok_or("a part of the idle loads is written as 1..50")).transpose()?;
    let count = words.iter().find_map(|word| word.parse::<usize>().ok());
    let named: Vec<&str> = words.iter().map(String::as_str).filter(|word| word.parse::<usize>().is_err()).collect();
    let kind = match named[..] {
        [] | ["idle" | "disturbed"] => None,
        ["disturbed", kind] if disturbed::names().any(|name| name == kind) => Some(kind),
        _ => {
            let kinds = disturbed::names().collect::<Vec<_>>().join(", ");
            return Err(format!("say `idle [N | FROM..TO]` or `disturbed [KIND] [N]`, KIND one of {kinds}").into());
        }
    };
    peers::need(&["nginx", "taskset", "setpriv", "prlimit", "unshare"])?;
    let nginx = Nginx::start("off", |folder| {
        std::fs::create_dir(folder)?;
        std::fs::write(folder.join("1k"), "x".repeat(1024))
    })?;
    let mut bars = Bars::default();
    if named.first() != Some(&"disturbed") {
        let count = count.unwrap_or(IDLE);
        idle(&nginx, count, part.unwrap_or(1..=count), &mut bars)?;
    }
    if named.first() != Some(&"idle") {
        disturbed::run(&nginx, kind, count.unwrap_or(DISTURBED), &mut bars)?;
    }
    bars.judge()
}

/// The first and the last number of some of the idle loads.
fn part_of(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once("..")?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (1 <= first && first <= last && last <= IDLE).then_some(first..=last)
}

/// Measures those of `count` loads that `part` numbers, from 1.
fn idle(nginx: &Nginx, count: usize, part: RangeInclusive<usize>, bars: &mut Bars) -> Result<()> {
    let capacity = read(&load(nginx, &["--duration", "3 s", "--awake", "0,1"]).output()?)?;
    let rows = capacity["outcomes"].as_array().into_iter().flatten();
    let capacity = rows.filter(|row| row["metric"] == "throughput").find_map(|row| row["estimate"].as_f64());
    let capacity = capacity.ok_or("nginx has no throughput")?;
    let measured = part.clone().count();
    println!("idle: {measured} loads of an nginx good for {capacity:.0} requests/s");
    println!("{:>4} {:>6} {:>9} {:>9}  verdict", "load", "pacing", "requests", "rate (/s)");
    let (mut unexplained, mut with_intervals) = (0, 0);
    let levels = count.div_ceil(2).max(2);
    for number in part.map(|number| number - 1) {
        let (pacing, awake) = PACINGS[number % PACINGS.len()];
        let share = SHARES.0 + (SHARES.1 - SHARES.0) * (number / 2) as f64 / (levels - 1) as f64;
        let rate = share * capacity;
        let requests = (rate * SECONDS_LEAST / (1.0 - share)).max(REQUESTS_LEAST).ceil();
        let arrivals = format!("exponential(rate = {rate:.1} /s)");
        let (requests, seed) = (format!("{requests:.0}"), (number + 1).to_string());
        let mut command = load(nginx, &["--arrivals", &arrivals, "--requests", &requests, "--seed", &seed]);
        command
            .args(["--connections", "1024", "--open-ahead", "1 s", "--awake", awake])
            .args((pacing == "spin").then_some("--spin"));
        let generator = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let watch = Watch::over(vec![generator.id(), nginx.child.id()]);
        let output = generator.wait_with_output()?;
        let (told, counters) = (read(&output)?, watch.stop()?);
        let missing = without_interval(&told);
        with_intervals += usize::from(missing.is_empty());
        let verdict = told["verdict"].as_str().unwrap_or_default();
        let mut line = verdict.to_owned();
        if verdict != "VALID" {
            let cause = host_cause(&told, &counters);
            unexplained += usize::from(cause.is_none());
            let cause = cause.map_or("NO CAUSE in the host's counters".into(), |cause| format!("host: {cause}"));
            line = format!("{verdict} ({cause}): {}", reasons(&told));
        }
        if !missing.is_empty() {
            line = format!("{line}; no interval: {}", missing.join(", "));
        }
        println!("{:>4} {pacing:>6} {requests:>9} {rate:>9.0}  {line}", number + 1);
    }
    let of_all = measured as f64;
    let most = UNEXPLAINED_MOST * (of_all / IDLE as f64).min(1.0);
    bars.at_most(&format!("idle loads of {measured} doubted without a cause"), unexplained as f64, most.floor());
    bars.at_least("share of the idle loads with all intervals", with_intervals as f64 / of_all, SHARE_LEAST);
    Ok(())
}

/// Which of the measures that must have an interval has none.
fn without_interval(told: &Value) -> Vec<&'static str> {
    let rows = || told["outcomes"].as_array().into_iter().flatten();
    let has = |name: &str| rows().any(|row| row["metric"] == name && row["ci_low"].is_number());
    WITH_INTERVALS.into_iter().filter(|name| !has(name)).collect()
}

/// What the host did in a second of this load that was late, or in the latest one. What it did in any other second explains
/// nothing.
fn host_cause(told: &Value, counters: &Counters) -> Option<String> {
    let seconds = told["seconds"].as_array()?;
    let of = |at: usize, key: &str| seconds[at][key].as_f64().unwrap_or(0.0);
    // A standstill of 9 ms shows in no 99th percentile of a second, but in its mean.
    let latest = (0..seconds.len()).max_by(|a, b| of(*a, "lateness_mean_s").total_cmp(&of(*b, "lateness_mean_s")))?;
    let mut late = (0..seconds.len()).filter(|at| *at == latest || of(*at, "lateness_p99_s") > LATE_S);
    let began_ns = told["started_at_ns"].as_u64()?;
    let second_ns = 1_000_000_000;
    late.find_map(|at| {
        let from_ns = began_ns + at as u64 * second_ns;
        counters.cause(from_ns, from_ns + second_ns)
    })
}

/// A load of the file of 1 kB, from the first core.
fn load(nginx: &Nginx, more: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    // It ends with the benchmark, whatever ends that.
    command.args(["-c", "0", "setpriv", "--pdeathsig", "KILL", env!("CARGO_BIN_EXE_sojourn"), "load"]);
    command.args([&format!("http://{}/1k", nginx.address), "--json", "--quiet"]).args(more);
    command
}

/// What a load told.
fn read(output: &Output) -> Result<Value> {
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no report ({}): {}", output.status, String::from_utf8_lossy(&output.stderr)).into())
}

fn reasons(told: &Value) -> String {
    let reasons = told["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
    reasons.collect::<Vec<_>>().join("; ")
}
