//! How fast are replications of `sojourn run` without an event list? Requests per second of the program, start and end of the
//! process taken off, beside loops by hand in this process for just that model: one replication, draws one at a time by the same
//! generator, and counts by size.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench replications [-- REQUESTS]`. Two minutes; all of it on one core.

#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use rand_distr::{Distribution, Exp1};
use sojourn_stats::{Histogram, Span, Stream};

mod bars;

use bars::Bars;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Plays so many requests.
type Loop = fn(u64);

const ROUNDS: usize = 7;
/// Requests of the run whose time is that of starting and ending.
const FEW: u64 = 8_000;
const SERVERS: usize = 4;

/// Discipline, policy, how many servers, the loop, and the least share of it that the program must reach; 0 where that is only
/// told.
const MODELS: [(&str, &str, usize, Loop, f64); 7] = [
    ("fcfs", "random", 1, one_server, 1.0),
    ("fcfs", "random", SERVERS, one_server, 0.7),
    ("fcfs", "round-robin", SERVERS, one_server, 0.7),
    ("fcfs", "least-connections", SERVERS, least_connections, 0.8),
    ("fcfs", "power-of-d", SERVERS, power_of_two, 0.8),
    ("fcfs", "weighted-round-robin", SERVERS, one_server, 0.0),
    ("ps", "random", SERVERS, sharing, 0.7),
];

fn main() -> Result<()> {
    let requests = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(40_000_000);
    on_one_core()?;
    let folder = tempfile::tempdir()?;
    let mut bars = Bars::default();
    for (discipline, policy, servers, loop_by_hand, bar) in MODELS {
        let (mut hand_s, mut program_s) = (f64::INFINITY, f64::INFINITY);
        // In turn, so that a slow spell of the machine slows both; what disturbs a round only ever slows it down.
        for _ in 0..ROUNDS {
            hand_s = hand_s.min(seconds(|| loop_by_hand(requests / 4))? * 4.0);
            let run = |requests| program(folder.path(), (discipline, policy, servers), requests);
            let around_s = run(FEW)?.min(run(FEW)?);
            program_s = program_s.min(run(requests)? - around_s);
        }
        let rate = |seconds: f64| requests as f64 / seconds / 1e6;
        let model = format!("{servers} x {}, {policy}", discipline.to_uppercase());
        println!("{model}: {:.1} M requests/s, by hand {:.1}", rate(program_s), rate(hand_s));
        if bar > 0.0 {
            bars.at_least(&format!("of the loop by hand, {model}"), hand_s / program_s, bar);
        } else {
            println!("  {:.2} of the loop by hand", hand_s / program_s);
        }
    }
    bars.judge()
}

/// This process, and those that it starts.
fn on_one_core() -> Result<()> {
    let may = sched_getaffinity(Pid::from_raw(0))?;
    let last = (0..CpuSet::count()).rfind(|core| may.is_set(*core).unwrap_or(false)).ok_or("there is no core")?;
    let mut one = CpuSet::new();
    one.set(last)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &one)?)
}

#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn seconds(run: impl FnOnce()) -> Result<f64> {
    let start = Instant::now();
    run();
    Ok(start.elapsed().as_secs_f64())
}

/// Wall time of a run of the program (s): eight replications.
fn program(folder: &Path, (discipline, policy, servers): (&str, &str, usize), requests: u64) -> Result<f64> {
    let rate = 800 * servers;
    let experiment = format!(
        "name = \"replications\"\nseed = 1\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = {rate} /s)\"\n\
         size = \"constant(1 kB)\"\n[[system.tier]]\nface = \"gateway\"\npolicy = \"{policy}\"\n\
         targets = {{ servers = {servers} }}\n[system.server]\ndiscipline = \"{discipline}\"\n\
         demand = \"exponential(mean = 1 ms)\"\n[run]\nby = [\"sim\"]\nprecision = \"none\"\nreplications = 8\n\
         max_jobs = {requests}\nwarm_up = \"0 s\"\n"
    );
    let (file, out) = (folder.join("experiment.toml"), folder.join("out"));
    fs::write(&file, experiment)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn"));
    command.arg("run").arg(&file).arg("--out").arg(&out).args(["--jobs", "1"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut ended = None;
    let seconds = seconds(|| ended = Some(command.status()))?;
    fs::remove_dir_all(&out)?;
    match ended {
        Some(Ok(status)) if status.success() => Ok(seconds),
        Some(Ok(status)) => Err(format!("the program ended with {status}").into()),
        Some(Err(error)) => Err(error.into()),
        None => Err("it was not run".into()),
    }
}

/// A time from an exponential law (ns).
fn draw(mean_s: f64, stream: &mut Stream) -> u64 {
    let unit: f64 = Exp1.sample(stream);
    Span::from_secs_f64(mean_s * unit).0
}

fn streams() -> [Stream; 3] {
    [("source", "arrivals"), ("source", "demands"), ("dispatcher", "choices")]
        .map(|(of, what)| Stream::new(1, of, what))
}

/// The next wait is the last one plus the service less the gap, if that is above 0 (Lindley 1952).
fn one_server(requests: u64) {
    let [mut gaps, mut works, _] = streams();
    let mut histogram = Histogram::new();
    let mut wait = 0u64;
    for _ in 0..requests {
        let response = wait + draw(1e-3, &mut works);
        histogram.record(response);
        wait = response.saturating_sub(draw(1.25e-3, &mut gaps));
    }
    black_box(histogram);
}

/// To the server with the fewest, ties drawn.
fn least_connections(requests: u64) {
    by_hand(requests, |queues, choices| {
        let least = queues.iter().map(VecDeque::len).min().unwrap_or(0);
        let tied = queues.iter().filter(|queue| queue.len() == least).count();
        let nth = if tied == 1 { 0 } else { choices.below(tied) };
        (0..SERVERS).filter(|server| queues[*server].len() == least).nth(nth).unwrap_or(0)
    });
}

/// To that of two with the fewer.
fn power_of_two(requests: u64) {
    by_hand(requests, |queues, choices| {
        let one = choices.below(SERVERS);
        let other = loop {
            let other = choices.below(SERVERS);
            if other != one {
                break other;
            }
        };
        if queues[other].len() < queues[one].len() { other } else { one }
    });
}

/// Arrival and service of each request at a server.
type Queue = VecDeque<(u64, u64)>;

/// Four servers, by their next departures and the next arrival.
fn by_hand(requests: u64, choose: impl Fn(&[Queue; SERVERS], &mut Stream) -> usize) {
    let [mut gaps, mut works, mut choices] = streams();
    let gap_s = 1.25e-3 / SERVERS as f64;
    let mut histogram = Histogram::new();
    let mut queues: [Queue; SERVERS] = Default::default();
    let mut next = [u64::MAX; SERVERS];
    let mut comes = draw(gap_s, &mut gaps);
    while histogram.count() < requests {
        let (mut now, mut server) = (next[0], 0);
        for (other, at) in next.iter().enumerate().skip(1) {
            if *at < now {
                (now, server) = (*at, other);
            }
        }
        if comes < now {
            let server = choose(&queues, &mut choices);
            let service = draw(1e-3, &mut works);
            queues[server].push_back((comes, service));
            if queues[server].len() == 1 {
                next[server] = comes + service;
            }
            comes += draw(gap_s, &mut gaps);
        } else if let Some((arrived, _)) = queues[server].pop_front() {
            histogram.record(now - arrived);
            next[server] = queues[server].front().map_or(u64::MAX, |(_, service)| now + service);
        }
    }
    black_box(histogram);
}

/// One of the servers that share: V is the work that a job would have got that was always there.
#[derive(Default)]
struct Shared {
    attained_ns: f64,
    clock: u64,
    /// V at which each leaves, and when it came.
    jobs: Vec<(f64, u64)>,
}

impl Shared {
    fn advance(&mut self, now: u64) {
        if !self.jobs.is_empty() {
            self.attained_ns += (now - self.clock) as f64 / self.jobs.len() as f64;
        }
        self.clock = now;
    }

    /// Who leaves next, and when.
    fn first(&self) -> (u64, usize) {
        let first = self.jobs.iter().enumerate().min_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
        first.map_or((u64::MAX, 0), |(place, (finish, _))| {
            let left_ns = (finish - self.attained_ns).max(0.0) * self.jobs.len() as f64;
            (self.clock + left_ns.ceil() as u64, place)
        })
    }
}

/// Four servers that share, drawn at random.
fn sharing(requests: u64) {
    let [mut gaps, mut works, mut choices] = streams();
    let gap_s = 1.25e-3 / SERVERS as f64;
    let mut histogram = Histogram::new();
    let mut servers: [Shared; SERVERS] = Default::default();
    let mut next = [(u64::MAX, 0); SERVERS];
    let mut comes = draw(gap_s, &mut gaps);
    while histogram.count() < requests {
        let (mut now, mut server) = (next[0].0, 0);
        for (other, (at, _)) in next.iter().enumerate().skip(1) {
            if *at < now {
                (now, server) = (*at, other);
            }
        }
        if comes < now {
            server = choices.below(SERVERS);
            servers[server].advance(comes);
            let finish = servers[server].attained_ns + draw(1e-3, &mut works) as f64;
            servers[server].jobs.push((finish, comes));
            comes += draw(gap_s, &mut gaps);
        } else {
            servers[server].advance(now);
            let (_, came) = servers[server].jobs.swap_remove(next[server].1);
            histogram.record(now - came);
        }
        next[server] = servers[server].first();
    }
    black_box(histogram);
}
