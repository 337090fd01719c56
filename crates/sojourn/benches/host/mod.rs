//! The host's own counters beside a load: steal ticks (`/proc/stat`) and the time that the threads of the load and of the
//! server could have run and waited for a core (`schedstat`). Read by the benchmark itself, ten times a second, so that
//! what a verdict says is held against something that it did not measure.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crate::Result;

const EVERY: Duration = Duration::from_millis(100);
/// Waiting (ns) that a load may feel.
const WAITING_LEAST: u64 = 1_000_000;
/// The threads that do the work, by the beginning of their names; others of the same processes delay no request.
const WORKERS: [&str; 2] = ["load-", "nginx"];

/// Reads the counters until it is stopped.
pub(crate) struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sample>>,
}

/// What was read.
pub(crate) struct Counters(Vec<Sample>);

/// The counters at one instant, since whenever.
struct Sample {
    /// Since 1970.
    at_ns: u64,
    stolen_ticks: u64,
    waited_ns: u64,
}

impl Watch {
    /// Watches the machine and these processes.
    pub(crate) fn over(pids: Vec<u32>) -> Watch {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            let mut waits = BTreeMap::new();
            let mut samples = Vec::new();
            loop {
                pids.iter().for_each(|pid| read_waits(*pid, &mut waits));
                samples.push(Sample { at_ns: now_ns(), stolen_ticks: stolen_ticks(), waited_ns: waits.values().sum() });
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return samples;
                }
            }
        });
        Watch { stop, thread }
    }

    pub(crate) fn stop(self) -> Result<Counters> {
        drop(self.stop);
        Ok(Counters(self.thread.join().map_err(|_| "the watch panicked")?))
    }
}

impl Counters {
    /// What the host did between two instants (ns since 1970) that can have made a request late.
    pub(crate) fn cause(&self, from_ns: u64, until_ns: u64) -> Option<String> {
        let before = self.0.iter().rfind(|sample| sample.at_ns <= from_ns).or(self.0.first())?;
        let after = self.0.iter().find(|sample| sample.at_ns >= until_ns).or(self.0.last())?;
        let stolen = after.stolen_ticks - before.stolen_ticks;
        let waited_ns = after.waited_ns - before.waited_ns;
        let found = stolen > 0 || waited_ns >= WAITING_LEAST;
        found.then(|| format!("{stolen} ticks stolen, {:.1} ms waiting for a core", waited_ns as f64 * 1e-6))
    }
}

#[allow(clippy::disallowed_methods, reason = "a bench that reads the host's counters says when")]
fn now_ns() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Of all cores: the eighth number of the first line (proc(5)).
fn stolen_ticks() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    text.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// Threads that have ended keep what was last read of them, so that the sum never falls.
fn read_waits(pid: u32, waits: &mut BTreeMap<PathBuf, u64>) {
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().filter_map(|entry| entry.ok()) {
        let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if !WORKERS.iter().any(|worker| name.starts_with(worker)) {
            continue;
        }
        // Time on a core, time waiting for one, number of times it got one.
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        if let Some(waited) = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()) {
            waits.insert(task.path(), waited);
        }
    }
}
