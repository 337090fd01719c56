//! The load generator beside wrk, against nginx on the loopback interface: requests per second of a closed loop with
//! 32 connections and one thread, in turns, and the client's CPU time per request. Needs `wrk` and `nginx`.
//!
//! On a machine of few cores nginx itself is the limit of both; then the CPU time per request is what tells them
//! apart, and the busy shares of the cores say so.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use sojourn_load::{Load, Pacing, Schedule, Stop, Targets};
use sojourn_stats::{Span, Stream, Time};
use sojourn_traffic::{Planned, Request};

mod nginx;

use nginx::Nginx;

const CONNECTIONS: u32 = 32;
const SECONDS: u64 = 4;
const ROUNDS: usize = 3;
/// Arrivals per second of the open runs.
const RATE: f64 = 2000.0;
/// What the ratio of the rates should reach.
const FLOOR: f64 = 0.5;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What one run of one client gave.
struct Shot {
    rate: f64,
    cpu_us_per_request: f64,
    cores_busy: Vec<f64>,
}

fn main() -> Result<()> {
    for tool in ["wrk", "nginx"] {
        if !there(tool) {
            println!("against_wrk: `{tool}` is not installed; nothing was compared");
            return Ok(());
        }
    }
    let nginx = Nginx::start(|folder| {
        std::fs::create_dir(folder)?;
        std::fs::write(folder.join("1k"), "x".repeat(1024))
    })?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    println!("{CONNECTIONS} connections, 1 thread, {SECONDS} s each, 1 kB from nginx with 1 worker");
    // In turns, so that a machine that gets slower does so for both.
    for _ in 0..ROUNDS {
        for (name, shots, shoot) in [
            ("wrk", &mut theirs, wrk as fn(SocketAddr) -> Result<Shot>),
            ("sojourn", &mut ours, sojourn as fn(SocketAddr) -> Result<Shot>),
        ] {
            let shot = shoot(nginx.address)?;
            let busy: Vec<String> = shot.cores_busy.iter().map(|busy| format!("{:.0} %", busy * 100.0)).collect();
            println!(
                "{name:8} {:9.0} requests/s   {:6.2} us client CPU each   cores busy {}",
                shot.rate,
                shot.cpu_us_per_request,
                busy.join(" ")
            );
            shots.push(shot);
        }
    }
    let rates = median(&ours, |shot| shot.rate) / median(&theirs, |shot| shot.rate);
    let cpu = median(&ours, |shot| shot.cpu_us_per_request) / median(&theirs, |shot| shot.cpu_us_per_request);
    println!("ratio to wrk: requests/s {rates:.2} (floor {FLOOR}), client CPU per request {cpu:.2}");
    for pacing in [Pacing::Timer, Pacing::Spin] {
        pace(nginx.address, pacing)?;
    }
    if rates < FLOOR {
        return Err(format!("{rates:.2} of wrk is below the floor of {FLOOR}").into());
    }
    Ok(())
}

/// How late the generator is when Poisson arrivals are to be kept, and whether it says that the run can be trusted.
fn pace(target: SocketAddr, pacing: Pacing) -> Result<()> {
    let mut stream = Stream::new(1, "bench", "gaps");
    let mut at = 0.0;
    let plan = std::iter::from_fn(move || {
        at -= (1.0 - stream.uniform()).ln() / RATE;
        let request = Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
        Some(Planned { at: Time::from_secs_f64(at), request })
    });
    let mut load = Load::new(target, "bench", Schedule::open(plan), Targets::Fixed("/1k".into()));
    load.stop = Stop::After(Span(SECONDS * 1_000_000_000));
    load.warm_up = Span(500_000_000);
    load.pacing = pacing;
    let report = sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|_| {})?;
    let us = |p: f64| report.lateness.quantile(p).unwrap_or(0) as f64 * 1e-3;
    println!(
        "open, Poisson at {RATE:.0}/s, {pacing:?}: late p50 {:.1} us, p99 {:.1} us; gap distance {:.3}; \
         client {:.0} % busy; {:?}",
        us(0.5),
        us(0.99),
        report.gap_distance.unwrap_or(0.0),
        report.client_busy[0] * 100.0,
        report.verdict
    );
    Ok(())
}

fn median(shots: &[Shot], of: fn(&Shot) -> f64) -> f64 {
    let mut values: Vec<f64> = shots.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn there(tool: &str) -> bool {
    Command::new(tool).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn sojourn(target: SocketAddr) -> Result<Shot> {
    let mut load = Load::new(target, "bench", Schedule::saturate(CONNECTIONS), Targets::Fixed("/1k".into()));
    load.stop = Stop::After(Span(SECONDS * 1_000_000_000));
    let report = sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|_| {})?;
    if report.counts.ok != report.counts.planned {
        return Err(format!("requests failed: {:?}", report.counts).into());
    }
    Ok(Shot {
        rate: report.counts.ok as f64 / report.elapsed_s,
        cpu_us_per_request: report.client_cpu_s * 1e6 / report.counts.ok as f64,
        cores_busy: report.cores_busy,
    })
}

fn wrk(target: SocketAddr) -> Result<Shot> {
    let before = (children_cpu_us()?, ticks()?);
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{SECONDS}s"), &format!("http://{target}/1k")])
        .output()?;
    let after = (children_cpu_us()?, ticks()?);
    let text = String::from_utf8(output.stdout)?;
    let word = |line: &str, at: usize| line.split_whitespace().nth(at).and_then(|word| word.parse::<f64>().ok());
    let rate = text.lines().find(|line| line.starts_with("Requests/sec:")).and_then(|line| word(line, 1));
    let requests = text.lines().find(|line| line.contains(" requests in ")).and_then(|line| word(line, 0));
    let (Some(rate), Some(requests)) = (rate, requests) else {
        return Err(format!("wrk said something else than its numbers: {text}").into());
    };
    let busy = |(now, then): (&[u64; 2], &[u64; 2])| (now[0] - then[0]) as f64 / (now[1] - then[1]).max(1) as f64;
    Ok(Shot {
        rate,
        cpu_us_per_request: (after.0 - before.0) / requests,
        cores_busy: after.1.iter().zip(&before.1).map(busy).collect(),
    })
}

/// CPU time of the children that have ended (us).
fn children_cpu_us() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64)
}

/// Busy and all ticks of each core.
fn ticks() -> Result<Vec<[u64; 2]>> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let cores = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    Ok(cores
        .map(|line| {
            let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
            let all: u64 = ticks.iter().take(8).sum();
            [all - ticks[3] - ticks[4], all]
        })
        .collect())
}
