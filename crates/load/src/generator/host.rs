//! What the machine itself did during a run: the busy share of each core, the generator's own CPU time, file limits.

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeValLike;
use sojourn_stats::{Span, Time};

use crate::generator::awake::spun;
use crate::generator::clock::monotonic_ns;

/// A reading of `/proc/stat`: per core idle and stolen ticks, and when it was taken. A core is busy when it is not idle: the
/// kernel times idleness, but counts ticks of work, and misses what begins and ends between two of them. A core that this
/// process only keeps awake is idle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cores {
    at: Time,
    ticks: Vec<[u64; 2]>,
}

/// Ticks in a second, as Linux tells them to programs on every machine.
const TICKS_PER_S: f64 = 100.0;

impl Cores {
    /// Reads it; nothing where the machine does not tell.
    pub(crate) fn read() -> Cores {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Cores { at: Time(monotonic_ns()), ticks: ticks(&text, &spun()) }
    }

    /// Busy and stolen share of each core since `earlier`; nothing when no tick has passed.
    pub(crate) fn since(&self, earlier: &Cores) -> Vec<(f64, f64)> {
        let ticks = self.at.saturating_since(earlier.at).as_secs_f64() * TICKS_PER_S;
        if ticks < 1.0 {
            return Vec::new();
        }
        let cores = self.ticks.iter().zip(&earlier.ticks);
        let share = |now: u64, then: u64| (now.saturating_sub(then) as f64 / ticks).min(1.0);
        cores.map(|(now, then)| (1.0 - share(now[0], then[0]), share(now[1], then[1]))).collect()
    }
}

/// Idle and stolen ticks of each core, as `/proc/stat` tells them: a core that waits for a disk is idle, and so is one that
/// has `spun` to stay awake.
pub(super) fn ticks(stat: &str, spun: &[(usize, Span)]) -> Vec<[u64; 2]> {
    let cores = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    let spun = |core: usize| spun.iter().filter(|(of, _)| *of == core).map(|(_, time)| time.as_secs_f64()).sum::<f64>();
    cores
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
            // user nice system idle iowait irq softirq steal (guest time is in user already)
            let ticks: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            (ticks.len() >= 8).then(|| [ticks[3] + ticks[4] + (spun(core) * TICKS_PER_S) as u64, ticks[7]])
        })
        .collect()
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

/// Files of the process that are no connections.
const RESERVE: u64 = 64;

/// How many more files than these may be open, if the limit is raised as far as it goes.
pub(crate) fn files_left(others: u64) -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(_, hard)| hard).saturating_sub(others + RESERVE).max(1)
}

/// Raises the soft limit of open files to hold `files` more than a modest own use, or says what the limit is.
pub(crate) fn allow_files(files: u64) -> Result<(), u64> {
    let needed = files + RESERVE;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_what_waits_for_a_disk_or_spins_to_stay_awake_too() {
        let stat = "cpu  9 0 9 900 90 0 0 5 0 0\ncpu0 5 0 4 500 60 1 2 3 7 0\ncpu1 4 0 5 400 30 0 0 2 0 0\ncpu2 1 2 3\nintr 1\n";
        assert_eq!(ticks(stat, &[]), [[560, 3], [430, 2]]);
        // Twice 255 ms of the second core, to keep it awake.
        let spun = Span(255_000_000);
        assert_eq!(ticks(stat, &[(1, spun), (1, spun)]), [[560, 3], [481, 2]]);
    }

    #[test]
    fn what_a_core_spins_to_stay_awake_is_taken_for_idle() {
        let awake = crate::generator::awake::Awake::spin(&[1]).expect("core 1 is there");
        // Behind everything else it spins little on a busy core, but at last it does: for 30 ms.
        let begun = monotonic_ns();
        while spun().iter().all(|(core, time)| *core != 1 || *time < Span(30_000_000)) {
            assert!(monotonic_ns() - begun < 60_000_000_000, "{:?}", spun());
            std::thread::yield_now();
        }
        let without = ticks(&std::fs::read_to_string("/proc/stat").expect("it tells"), &[]);
        let with = Cores::read().ticks;
        assert!(with[1][0] >= without[1][0] + 3, "{with:?} {without:?}");
        drop(awake);
    }

    #[test]
    fn a_core_is_busy_when_it_is_not_idle() {
        let read = |at_s: u64, ticks: &[[u64; 2]]| Cores { at: Time(at_s * 1_000_000_000), ticks: ticks.to_vec() };
        let (then, now) = (read(10, &[[500, 0], [900, 7]]), read(12, &[[650, 0], [900, 27]]));
        assert_eq!(now.since(&then), [(0.25, 0.0), (1.0, 0.1)]);
        // The kernel rounds: more idle ticks than time is idle, not less than that.
        assert_eq!(read(12, &[[701, 0]]).since(&read(10, &[[500, 0]])), [(0.0, 0.0)]);
        assert_eq!(now.since(&now), []);
    }
}
