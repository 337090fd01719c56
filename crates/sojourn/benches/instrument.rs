//! The load generator beside its peers, on the loopback interface: wrk and oha in a closed loop, oha where
//! arrivals are paced; and what a view on a terminal and numbers for Prometheus cost it. Needs `nginx`, `wrk`, `oha`
//! and `script`. `-- metrics 2` measures the last alone, in two rounds.
//!
//! Every client is a process of its own on the first core and the server is pinned to the second, so that the system's
//! own account of their CPU time (`getrusage`) is the same measure for all of them. They take turns, so that a machine
//! that gets slower does so for all, and medians of the rounds are compared. On a machine of two cores nginx itself is
//! the limit of a closed loop; then CPU time per request is what tells the clients apart.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;
use nix::unistd::Pid;
use serde_json::Value;
use sojourn_bed::Child;

mod bars;
mod nginx;
mod peers;

use bars::Bars;
use nginx::Nginx;

const CONNECTIONS: u32 = 32;
const SECONDS: u64 = 4;
const ROUNDS: usize = 7;
/// Arrivals per second of the paced runs.
const RATES: [u32; 2] = [20_000, 60_000];
/// The service time of the server whose answer is known (s), and the rate at which it is asked.
const KNOWN_S: f64 = 0.005;
const KNOWN_RATE: u32 = 2_000;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What one run of one client gave.
#[derive(Clone, Debug, Default)]
struct Shot {
    rate: f64,
    cpu_us_per_request: f64,
    /// Where the client tells it (s).
    response_mean: f64,
    response_p99: f64,
    lateness_p50: f64,
    lateness_p99: f64,
    verdict: String,
}

fn main() -> Result<()> {
    peers::need(&["nginx", "wrk", "oha", "script"])?;
    let nginx = Nginx::start("off", |folder| {
        std::fs::create_dir(folder)?;
        std::fs::write(folder.join("1k"), "x".repeat(1024))
    })?;
    let mut bars = Bars::default();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let [part, rounds] = &words[..] {
        if part != "metrics" {
            return Err(format!("there is no part {part}: `metrics` and a number of rounds, or nothing").into());
        }
        metrics(&nginx, rounds.parse()?, &mut bars)?;
        return bars.judge();
    }
    let closed_us = closed(&nginx, &mut bars)?;
    paced(&nginx, closed_us, &mut bars)?;
    known(&mut bars)?;
    view(&nginx, &mut bars)?;
    metrics(&nginx, ROUNDS, &mut bars)?;
    bars.judge()
}

/// The closed loop; returns our CPU time per request (us).
fn closed(nginx: &Nginx, bars: &mut Bars) -> Result<f64> {
    println!(
        "closed: {CONNECTIONS} connections, 1 thread, {SECONDS} s, 1 kB from nginx with 1 worker, {ROUNDS} rounds"
    );
    let mut shots: BTreeMap<&str, Vec<Shot>> = BTreeMap::new();
    let url = format!("http://{}/1k", nginx.address);
    let mut clients = ["wrk", "oha", "sojourn"];
    for _ in 0..ROUNDS {
        // The order of the runs matters on a machine whose speed depends on what it did before.
        clients.rotate_left(1);
        for client in clients {
            let shot = match client {
                "wrk" => wrk(&url)?,
                "oha" => oha(&url, None)?,
                _ => sojourn(&url, &["--connections", &CONNECTIONS.to_string()])?,
            };
            println!("  {client:8} {:9.0} requests/s   {:6.2} us CPU each", shot.rate, shot.cpu_us_per_request);
            shots.entry(client).or_default().push(shot);
        }
    }
    let cpu = |client: &str| median(&shots[client], |shot| shot.cpu_us_per_request);
    let ours = cpu("sojourn");
    bars.at_most("client CPU per request, of wrk's", ours / cpu("wrk"), 0.85);
    bars.at_most("client CPU per request, of oha's", ours / cpu("oha"), 0.8);
    let rate = |client: &str| median(&shots[client], |shot| shot.rate);
    bars.at_least("requests/s, of wrk's", rate("sojourn") / rate("wrk"), 0.97);
    Ok(ours)
}

/// Evenly spaced arrivals: how late they are sent and what that costs.
fn paced(nginx: &Nginx, closed_us: f64, bars: &mut Bars) -> Result<()> {
    let url = format!("http://{}/1k", nginx.address);
    for rate in RATES {
        println!("paced: {rate} requests/s, {SECONDS} s, {ROUNDS} rounds");
        let (mut spins, mut timers, mut bares) = (Vec::new(), Vec::new(), Vec::new());
        let asked = format!("{rate} /s");
        for _ in 0..ROUNDS {
            bares.push(bare_timer(rate)?);
            timers.push(sojourn(&url, &["--rate", &asked, "--connections", "1024", "--warm-up", "500 ms"])?);
            spins.push(sojourn(&url, &["--rate", &asked, "--connections", "1024", "--warm-up", "500 ms", "--spin"])?);
        }
        let bare_late = median(&bares, |shot| shot.lateness_p50);
        let bare_us = median(&bares, |shot| shot.cpu_us_per_request);
        println!(
            "  a bare timerfd is {:.1} us late (p50), and waiting for it costs {bare_us:.2} us CPU",
            bare_late * 1e6
        );
        for (name, shots) in [("timer", &timers), ("spin", &spins)] {
            println!(
                "  {name:6} late p50 {:6.1} us, p99 {:6.1} us; {:5.2} us CPU per request; {:.0} requests/s; {}",
                median(shots, |shot| shot.lateness_p50) * 1e6,
                median(shots, |shot| shot.lateness_p99) * 1e6,
                median(shots, |shot| shot.cpu_us_per_request),
                median(shots, |shot| shot.rate),
                shots.last().map_or("", |shot| &shot.verdict)
            );
        }
        bars.at_most(&format!("spin at {rate}/s: late p50 (us)"), median(&spins, |s| s.lateness_p50) * 1e6, 10.0);
        bars.at_most(&format!("spin at {rate}/s: late p99 (us)"), median(&spins, |s| s.lateness_p99) * 1e6, 100.0);
        let of_bare = median(&timers, |shot| shot.lateness_p50) / bare_late;
        bars.at_most(&format!("timer at {rate}/s: late p50, of a bare timerfd's"), of_bare, 2.0);
        let of_closed = median(&timers, |shot| shot.cpu_us_per_request) / closed_us;
        let what = format!("timer at {rate}/s: CPU per request, of the closed loop's");
        if bare_us > 1.5 * closed_us {
            // No loop that sleeps once per request can be cheaper than one that does nothing else.
            println!(
                "  not judged on this machine: {what}: {of_closed:.2}; a bare timerfd alone costs {:.2} of it",
                bare_us / closed_us
            );
        } else {
            bars.at_most(&what, of_closed, 1.5);
        }
    }
    Ok(())
}

/// A server that takes a known time for every request, whatever else is there: what the clients say that it took.
fn known(bars: &mut Bars) -> Result<()> {
    let model = format!("discipline = \"ps\"\ncores = 100000\ndemand = \"{KNOWN_S} s\"\n");
    let arguments = ["node", "--child", "--model", &model];
    let node = Child::spawn(Path::new(env!("CARGO_BIN_EXE_sojourn")), arguments, Duration::from_secs(20))?;
    let url = format!("http://127.0.0.1:{}/work", node.port());
    let ms = KNOWN_S * 1e3;
    println!("known: a server that takes {ms} ms for each of {KNOWN_RATE} requests/s; what clients say it took");
    let rate = format!("{KNOWN_RATE} /s");
    let mut ours = None;
    for client in ["sojourn", "sojourn --spin", "oha"] {
        let shot = match client {
            "sojourn" => sojourn(&url, &["--rate", &rate, "--connections", "1024"])?,
            "sojourn --spin" => sojourn(&url, &["--rate", &rate, "--connections", "1024", "--spin"])?,
            _ => oha(&url, Some(KNOWN_RATE))?,
        };
        let error = |s: f64| (s - KNOWN_S) * 1e6;
        println!(
            "  {client:15} mean {:+7.0} us, p99 {:+7.0} us off; {:.0} requests/s",
            error(shot.response_mean),
            error(shot.response_p99),
            shot.rate
        );
        match (client, ours) {
            ("sojourn --spin", _) => ours = Some(error(shot.response_mean)),
            ("oha", Some(ours)) => bars.at_most("error of the mean, of oha's", ours / error(shot.response_mean), 1.0),
            _ => {}
        }
    }
    drop(node.stop());
    Ok(())
}

/// What the live view costs: the CPU time of a run that is watched on a terminal (`script` is one) beyond that of one
/// that is not, at a rate so low that the load itself hardly takes any.
fn view(nginx: &Nginx, bars: &mut Bars) -> Result<()> {
    let load = |more: &str| {
        let sojourn = env!("CARGO_BIN_EXE_sojourn");
        format!("{sojourn} load http://{}/1k --rate '100 /s' --duration '{SECONDS} s' {more}", nginx.address)
    };
    let mut shares = Vec::new();
    for _ in 0..ROUNDS {
        let (_, quiet_us) = on_first_core("script", &["-qec", &load("--quiet"), "/dev/null"])?;
        let (_, watched_us) = on_first_core("script", &["-qec", &load(""), "/dev/null"])?;
        shares.push((watched_us - quiet_us) * 1e-6 / SECONDS as f64);
    }
    shares.sort_by(f64::total_cmp);
    bars.at_most("live view, share of a core", shares[shares.len() / 2], 0.02);
    Ok(())
}

/// What numbers for Prometheus cost, which are asked for each second: CPU per request beside runs without them, in
/// turns. Both runs keep the series per second, as every run does.
fn metrics(nginx: &Nginx, rounds: usize, bars: &mut Bars) -> Result<()> {
    let url = format!("http://{}/1k", nginx.address);
    let connections = CONNECTIONS.to_string();
    println!("metrics: {CONNECTIONS} connections, {SECONDS} s, {rounds} rounds, asked for each second and not at all");
    let mut ratios = Vec::new();
    for round in 0..rounds {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let listens = address.to_string();
        let plain = || sojourn(&url, &["--connections", &connections]);
        let told = || -> Result<(Shot, u32)> {
            let (ends, ended) = channel::<()>();
            let scraper = std::thread::spawn(move || {
                let mut answers = 0;
                while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                    answers += u32::from(scrape(address).is_ok_and(|text| text.contains("sojourn_load_")));
                }
                answers
            });
            let shot = sojourn(&url, &["--connections", &connections, "--metrics", &listens]);
            drop(ends);
            Ok((shot?, scraper.join().map_err(|_| "the scraper panicked")?))
        };
        // The order matters on a machine whose speed depends on what it did before.
        let (plain, (told, answers)) = match round % 2 {
            0 => (plain()?, told()?),
            _ => {
                let told = told()?;
                (plain()?, told)
            }
        };
        if u64::from(answers) + 2 < SECONDS {
            return Err(format!("the run told its numbers {answers} times in {SECONDS} s").into());
        }
        let (without_us, with_us) = (plain.cpu_us_per_request, told.cpu_us_per_request);
        println!("  {without_us:.3} us CPU each, {with_us:.3} us with numbers told {answers} times");
        ratios.push(with_us / without_us);
    }
    ratios.sort_by(f64::total_cmp);
    bars.at_most("numbers for Prometheus: CPU per request, of a run without", ratios[ratios.len() / 2], 1.02);
    Ok(())
}

/// What the run tells now.
fn scrape(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// A loop that does nothing but wait for a timerfd `rate` times a second, for a second.
fn bare_timer(rate: u32) -> Result<Shot> {
    let loops = std::thread::spawn(move || -> std::result::Result<Shot, nix::Error> {
        let mut first = CpuSet::new();
        first.set(0)?;
        sched_setaffinity(Pid::from_raw(0), &first)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0))?;
        let now_ns = || clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).map(|now| now.num_nanoseconds());
        let gap_ns = 1_000_000_000 / i64::from(rate);
        let mut late = Vec::with_capacity(rate as usize);
        let before = cpu_us(UsageWho::RUSAGE_THREAD)?;
        let mut at = now_ns()? + 1_000_000;
        for _ in 0..rate {
            timer.set(Expiration::OneShot(TimeSpec::nanoseconds(at)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            while now_ns()? < at {
                epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::from(100u16))?;
            }
            late.push((now_ns()? - at) as f64 * 1e-9);
            at += gap_ns;
        }
        let cost_us = (cpu_us(UsageWho::RUSAGE_THREAD)? - before) / f64::from(rate);
        late.sort_by(f64::total_cmp);
        Ok(Shot { cpu_us_per_request: cost_us, lateness_p50: late[late.len() / 2], ..Shot::default() })
    });
    Ok(loops.join().map_err(|_| "the bare timer's thread panicked")??)
}

/// Runs `program` on the first core; its output, and the CPU time (us) that it took.
fn on_first_core(program: &str, arguments: &[&str]) -> Result<(String, f64)> {
    let before = cpu_us(UsageWho::RUSAGE_CHILDREN)?;
    let output = Command::new("taskset").args(["-c", "0", program]).args(arguments).output()?;
    let cpu = cpu_us(UsageWho::RUSAGE_CHILDREN)? - before;
    // A run that is SUSPECT ends with 1.
    if !output.status.success() && output.status.code() != Some(1) {
        return Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok((String::from_utf8(output.stdout)?, cpu))
}

fn sojourn(url: &str, more: &[&str]) -> Result<Shot> {
    let duration = format!("{SECONDS} s");
    let mut arguments = vec!["load", url, "--json", "--duration", &duration];
    arguments.extend(more);
    let (text, cpu) = on_first_core(env!("CARGO_BIN_EXE_sojourn"), &arguments)?;
    let told: Value = serde_json::from_str(&text)?;
    let estimate = |metric: &str| {
        let rows = told["outcomes"].as_array().into_iter().flatten();
        rows.filter(|row| row["metric"] == metric).find_map(|row| row["estimate"].as_f64()).unwrap_or(f64::NAN)
    };
    let (ok, planned) = (&told["counts"]["ok"], &told["counts"]["planned"]);
    if ok != planned {
        return Err(format!("requests failed: {}", told["counts"]).into());
    }
    let requests = ok.as_f64().unwrap_or(f64::NAN);
    let reasons = told["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(Shot {
        rate: estimate("throughput"),
        cpu_us_per_request: cpu / requests,
        response_mean: estimate("response_time_mean"),
        response_p99: estimate("response_time_p99"),
        lateness_p50: estimate("lateness_p50"),
        lateness_p99: estimate("lateness_p99"),
        verdict: std::iter::once(told["verdict"].as_str().unwrap_or("")).chain(reasons).collect::<Vec<_>>().join("; "),
    })
}

fn wrk(url: &str) -> Result<Shot> {
    let (connections, seconds) = (format!("-c{CONNECTIONS}"), format!("-d{SECONDS}s"));
    let (text, cpu) = on_first_core("wrk", &["-t1", &connections, &seconds, "--latency", url])?;
    let word = |begins: &str, at: usize| {
        let line = text.lines().map(str::trim).find(|line| line.starts_with(begins) || line.contains(begins))?;
        line.split_whitespace().nth(at)
    };
    let number = |begins: &str, at: usize| word(begins, at).and_then(|word| word.parse::<f64>().ok());
    let time = |word: Option<&str>| {
        let word = word?;
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let scale = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)].into_iter().find(|(name, _)| *name == unit)?.1;
        Some(word.trim_end_matches(unit).parse::<f64>().ok()? * scale)
    };
    let (Some(rate), Some(requests)) = (number("Requests/sec:", 1), number(" requests in ", 0)) else {
        return Err(format!("wrk said something else than its numbers: {text}").into());
    };
    Ok(Shot {
        rate,
        cpu_us_per_request: cpu / requests,
        response_mean: time(word("Latency ", 1)).unwrap_or(f64::NAN),
        response_p99: time(word("99", 1)).unwrap_or(f64::NAN),
        ..Shot::default()
    })
}

/// oha, at a rate (with its correction for coordinated omission) or in a closed loop.
fn oha(url: &str, rate: Option<u32>) -> Result<Shot> {
    let (connections, seconds) = (CONNECTIONS.to_string(), format!("{SECONDS}s"));
    let rate = rate.map(|rate| rate.to_string());
    let mut arguments = vec!["--no-tui", "--output-format", "json", "-z", &seconds, "-c", &connections];
    if let Some(rate) = &rate {
        arguments.extend(["-q", rate, "--latency-correction"]);
    }
    arguments.push(url);
    let (text, cpu) = on_first_core("oha", &arguments)?;
    let told: Value = serde_json::from_str(&text)?;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let requests = number(&told["statusCodeDistribution"]["200"]);
    Ok(Shot {
        rate: requests / number(&told["summary"]["total"]),
        cpu_us_per_request: cpu / requests,
        response_mean: number(&told["summary"]["average"]),
        response_p99: number(&told["latencyPercentiles"]["p99"]),
        ..Shot::default()
    })
}

/// User and system time (us).
fn cpu_us(who: UsageWho) -> std::result::Result<f64, nix::Error> {
    let usage = getrusage(who)?;
    Ok((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64)
}

fn median(shots: &[Shot], of: impl Fn(&Shot) -> f64) -> f64 {
    let mut values: Vec<f64> = shots.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
