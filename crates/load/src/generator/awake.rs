//! Cores that do not go to sleep while a server on them is measured.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use sojourn_stats::Span;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// The name of a thread that spins, before the number of its core.
const NAME: &str = "awake-";

/// Keeps cores from going to sleep while it lives, as the kernel's `idle=poll` would: on each of them a thread of the
/// idle class spins, which everything else on the core displaces at once.
///
/// A core that has slept may serve its next request much more slowly than one that was busy: its clock is lower, its
/// caches are cold, and where it is a virtual one its host has given it away. Then the work of a request depends on
/// the load, and no model with one demand holds.
pub struct Awake {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps `cores` awake, numbered as the system does.
    ///
    /// # Errors
    /// Where this process may not run on one of them, or may not lower its own priority: nothing spins then.
    pub fn keep(cores: &[usize]) -> io::Result<Awake> {
        let mut awake = Awake { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        for &core in cores {
            let stop = awake.stop.clone();
            let (ready, settled) = std::sync::mpsc::channel();
            awake.threads.push(std::thread::Builder::new().name(format!("{NAME}{core}")).spawn(move || {
                let moved = move_to(core);
                let spins = moved.is_ok();
                // The other end is gone only where `keep` has panicked.
                let _ = ready.send(moved);
                // No `spin_loop` hint: to a hypervisor it says that this core has nothing to do.
                while spins && !stop.load(Ordering::Relaxed) {
                    std::hint::black_box(());
                }
            })?);
            settled.recv().map_err(io::Error::other)??;
        }
        Ok(awake)
    }
}

/// How long threads of this process have spun so far to keep cores awake, with the numbers of these: time that the cores
/// had for everything else.
pub(super) fn spun() -> Vec<(usize, Span)> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let core = name.trim_end().strip_prefix(NAME)?.parse().ok()?;
        // Time on a core, time waiting for one, number of times it got one.
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((core, Span(text.split_whitespace().next()?.parse().ok()?)))
    };
    tasks.filter_map(of).collect()
}

/// Puts the calling thread on `core` and behind everything else there.
fn move_to(core: usize) -> io::Result<()> {
    let refused = |why: String| io::Error::other(format!("core {core} cannot be kept awake: {why}"));
    let mut cores = CpuSet::new();
    let only = cores.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores));
    only.map_err(|_| refused("there is none of that number, or this process may not use it".into()))?;
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle).map_err(|e| refused(e.to_string()))
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A spinning thread has nothing to panic with.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::clock::monotonic_ns;

    #[test]
    fn what_a_thread_spins_to_keep_a_core_awake_is_told() {
        let spun = || spun().into_iter().filter(|(core, _)| *core == 0).map(|(_, time)| time).max();
        assert_eq!(spun(), None);
        let awake = Awake::keep(&[0]).expect("core 0 is there");
        // Behind everything else, it spins little on a busy core, but at last it does.
        let begun = monotonic_ns();
        while spun().is_none_or(|time| time < Span(3_000_000)) {
            assert!(monotonic_ns() - begun < 20_000_000_000, "{:?}", spun());
            std::thread::yield_now();
        }
        drop(awake);
        assert_eq!(spun(), None);
    }
}
