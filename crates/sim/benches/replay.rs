//! How fast is a day replayed? Ten million requests of a HAProxy's log, once read, under another policy; and how much memory a
//! line takes that is kept.
//!
//! `cargo bench --profile dev -p sojourn-sim --bench replay [-- REQUESTS]`

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and answers on the terminal"
)]

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use sojourn_model::system::{Face, Tier};
use sojourn_model::{Server, System};
use sojourn_sim::{Control, WarmUp};
use sojourn_stats::{Span, Stream};
use sojourn_traffic::log::Log;
use sojourn_traffic::{Replay, Workload};

const REQUESTS: usize = 10_000_000;
/// A replay of as many as are above takes at most so long (s).
const REPLAY_MOST_S: f64 = 5.0;
/// A line that is kept takes at most so much (bytes).
const LINE_MOST: f64 = 100.0;
const POLICIES: [&str; 3] = ["round-robin", "least-connections", "power-of-d(d = 2)"];
const ROUNDS: usize = 3;

/// A log of 1000 requests per second to four servers, written as it is read: of 10^7 lines there is never more than one.
struct Lines {
    number: usize,
    count: usize,
    stream: Stream,
    line: Vec<u8>,
    read: usize,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.line.len() && self.number < self.count {
            let (ms, path, taken) = (self.number, self.stream.below(2000), 1 + self.stream.below(20));
            let (h, m, s) = (ms / 3_600_000 % 24, ms / 60_000 % 60, ms / 1_000 % 60);
            let line = format!(
                "10.0.{}.{}:4000 [06/Feb/2009:{h:02}:{m:02}:{s:02}.{:03}] web app/s{} 0/0/0/{taken}/{taken} 200 {} - - ---- \
                 1/1/1/1/0 0/0 \"GET /images/page{path}.html HTTP/1.1\"\n",
                self.stream.below(20),
                self.stream.below(250),
                ms % 1000,
                ms % 4 + 1,
                self.stream.below(100_000)
            );
            (self.line, self.read, self.number) = (line.into_bytes(), 0, self.number + 1);
        }
        let count = buffer.len().min(self.line.len() - self.read);
        buffer[..count].copy_from_slice(&self.line[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// What the process has in memory (bytes).
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line of it");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).expect("kilobytes") * 1024.0
}

fn main() {
    let requests = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(REQUESTS);
    let before = resident();
    let lines = Lines { number: 0, count: requests, stream: Stream::new(1, "bench", "log"), line: Vec::new(), read: 0 };
    let start = Instant::now();
    let log = Log::read_from(lines, "haproxy.log", None).expect("the log is good");
    assert_eq!((log.requests(), log.bad_lines()), (requests, 0));
    let (read_s, line) = (start.elapsed().as_secs_f64(), (resident() - before) / requests as f64);
    println!("{requests} requests written and read in {read_s:.1} s; {line:.0} B kept of each (bar {LINE_MOST})");
    let mut missed = Vec::new();
    if line > LINE_MOST {
        missed.push(format!("{line:.0} B of a line are above {LINE_MOST}"));
    }
    let replay =
        Replay { log: Arc::new(log), path: "haproxy.log".into(), speed: 1.0, classes: None, growth: 1.0, sampled: 1 };
    let workload = Workload::Replay(replay);
    let server =
        Server::from_toml("discipline = \"fcfs\"\ndemand = \"exponential(mean = 3 ms)\"").expect("a server model");
    for policy in POLICIES {
        let system = System::balanced(Tier::new(Face::Gateway, policy), vec![server.clone(); 4]);
        let control = Control {
            precision: None,
            // Two are the fewest; each plays the whole log, on one thread one after the other.
            replications: 2,
            threads: 1,
            warm_up: WarmUp::Fixed(Span::ZERO),
            max_jobs: u64::MAX,
            ..Control::default()
        };
        let mut best_s = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            sojourn_sim::run(&system, &workload, &control, &|_| {}).expect("it ends");
            best_s = best_s.min(start.elapsed().as_secs_f64() / 2.0);
        }
        let bar_s = REPLAY_MOST_S * requests as f64 / REQUESTS as f64;
        let rate = requests as f64 / best_s / 1e6;
        println!(
            "replayed once under {policy}: {best_s:.2} s on one core, {rate:.1} million requests/s (bar {bar_s:.2} s)"
        );
        if best_s > bar_s {
            missed.push(format!("{policy}: {best_s:.2} s is above {bar_s:.2} s"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
