//! What the machine itself did during a run: the busy share of each core, the generator's own CPU time, file limits.

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;
use sojourn_stats::Span;

/// A reading of `/proc/stat`: per core busy, stolen and all ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cores(Vec<[u64; 3]>);

impl Cores {
    /// Reads it; nothing where the machine does not tell.
    pub(crate) fn read() -> Cores {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let mut cores = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")) {
            // user nice system idle iowait irq softirq steal (guest time is in user already)
            let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
            if ticks.len() < 8 {
                continue;
            }
            let all: u64 = ticks[..8].iter().sum();
            cores.push([all - ticks[3] - ticks[4], ticks[7], all]);
        }
        Cores(cores)
    }

    /// Busy and stolen share of each core since `earlier`; nothing when no tick has passed.
    pub(crate) fn since(&self, earlier: &Cores) -> Vec<(f64, f64)> {
        let mut shares = Vec::new();
        for (now, then) in self.0.iter().zip(&earlier.0) {
            let ticks = now[2].saturating_sub(then[2]);
            if ticks == 0 {
                return Vec::new();
            }
            let share = |index: usize| now[index].saturating_sub(then[index]) as f64 / ticks as f64;
            shares.push((share(0), share(1)));
        }
        shares
    }
}

/// Which machine this is: its kernel's boot id, empty where that cannot be read.
pub(crate) fn machine() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// CPU time that the calling thread has used, user and system.
pub(crate) fn thread_cpu() -> Span {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else {
        return Span::ZERO;
    };
    let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Span(us.max(0) as u64 * 1000)
}

/// Time that the calling thread could have run and waited for a core, where the kernel counts it.
pub(crate) fn thread_waited() -> Option<Span> {
    // Time on a core, time waiting for one, number of times it got one.
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Span)
}

/// Raises the soft limit of open files to hold `files` more than a modest own use, or says what the limit is.
pub(crate) fn allow_files(files: u64) -> Result<(), u64> {
    let needed = files + 64;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return Ok(());
    };
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        return Err(hard);
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(|_| soft)
}
