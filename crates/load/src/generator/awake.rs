//! Cores that do not go to sleep while a server on them is measured.

use std::fs::{File, read_to_string};
use std::io::{self, Write};
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

/// Where a program says how late (us) a core may wake up, for as long as it keeps the file open.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Keeps cores from going to sleep while it lives.
///
/// A core that has slept may serve its next request much more slowly than one that was busy: its clock is lower, its
/// caches are cold, and where it is a virtual one its host has given it away. Then the work of a request depends on
/// the load, and no model with one demand holds.
pub struct Awake {
    /// While it is open, no core sleeps.
    _polling: Option<File>,
    _spinning: Vec<Spinning>,
}

impl Awake {
    /// Keeps `cores` awake, numbered as the system does. Where this process may tell the kernel, the kernel's own idle loop
    /// polls, on all cores of the machine. Otherwise a thread of the idle class spins on each of them, which everything
    /// else on the core displaces at once, by an interrupt; a core that polls needs none.
    ///
    /// # Errors
    /// Where this process may not run on one of them, or may not lower its own priority: nothing spins then.
    pub fn keep(cores: &[usize]) -> io::Result<Awake> {
        match poll(cores) {
            Some(polling) => Ok(Awake { _polling: Some(polling), _spinning: Vec::new() }),
            None => Awake::spin(cores),
        }
    }

    /// Keeps `cores` awake by threads.
    pub(super) fn spin(cores: &[usize]) -> io::Result<Awake> {
        let spinning = cores.iter().map(|core| Spinning::on(*core)).collect::<io::Result<_>>()?;
        Ok(Awake { _polling: None, _spinning: spinning })
    }
}

/// Lets no core sleep as long as the file is open; nothing where this process may not, or where one of `cores` is not there
/// or has no idle state that polls.
fn poll(cores: &[usize]) -> Option<File> {
    let first = |core| read_to_string(format!("/sys/devices/system/cpu/cpu{core}/cpuidle/state0/name"));
    if cores.is_empty() || !cores.iter().all(|core| first(core).is_ok_and(|name| name.trim_end() == "POLL")) {
        return None;
    }
    let mut file = File::options().write(true).open(LATENCY).ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// A thread that spins on a core.
struct Spinning {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    fn on(core: usize) -> io::Result<Spinning> {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let (ready, settled) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name(format!("{NAME}{core}")).spawn(move || {
            let moved = move_to(core);
            let spins = moved.is_ok();
            // The other end is gone only where `on` has panicked.
            let _ = ready.send(moved);
            // No `spin_loop` hint: to a hypervisor it says that this core has nothing to do.
            while spins && !until.load(Ordering::Relaxed) {
                std::hint::black_box(());
            }
        })?;
        let spinning = Spinning { stop, thread: Some(thread) };
        settled.recv().map_err(io::Error::other)??;
        Ok(spinning)
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

impl Drop for Spinning {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It has nothing to panic with.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::clock::monotonic_ns;
    use crate::generator::host;

    #[test]
    fn a_core_that_polls_does_not_sleep() {
        // Where the kernel cannot be told, threads spin: nothing is missing.
        let Some(polling) = poll(&[0]) else { return };
        // How long (us) core 0 has been in its first idle state, which polls, and how long in all others.
        let told = |state: usize| read_to_string(format!("/sys/devices/system/cpu/cpu0/cpuidle/state{state}/time"));
        let idle = || -> [u64; 2] {
            let time = |state| told(state).ok().and_then(|text| text.trim_end().parse::<u64>().ok());
            [time(0).unwrap_or(0), (1..).map_while(time).sum()]
        };
        let idle_ticks = || host::ticks(&read_to_string("/proc/stat").unwrap(), &[])[0][0];
        let (_open, never) = std::sync::mpsc::channel::<()>();
        let wait = |ms: u64| never.recv_timeout(std::time::Duration::from_millis(ms)).is_err();
        // A sleep that had begun before is counted when it ends.
        wait(100);
        let begun = monotonic_ns();
        let ([polled, slept], ticks) = (idle(), idle_ticks());
        // Other processes may keep the core busy all the time: then it does not sleep either.
        while idle()[0] < polled + 20_000 && monotonic_ns() - begun < 20_000_000_000 {
            wait(20);
        }
        assert!(idle()[1] < slept + 20_000, "{slept} {:?}", idle());
        let polls = idle()[0] >= polled + 20_000;
        assert!(polls || idle_ticks() < ticks + 10, "an idle core that does not poll: {polled} {:?}", idle());
        drop(polling);
    }

    #[test]
    fn what_is_not_a_core_is_refused() {
        assert!(poll(&[0, 4000]).is_none());
        let refused = Awake::keep(&[4000]).err().map(|error| error.to_string());
        assert!(refused.as_deref().is_some_and(|why| why.starts_with("core 4000 cannot be kept awake")), "{refused:?}");
    }

    #[test]
    fn what_a_thread_spins_to_keep_a_core_awake_is_told() {
        let spun = || spun().into_iter().filter(|(core, _)| *core == 0).map(|(_, time)| time).max();
        assert_eq!(spun(), None);
        let awake = Awake::spin(&[0]).expect("core 0 is there");
        // Behind everything else, it spins little on a busy core, but at last it does.
        let begun = monotonic_ns();
        while spun().is_none_or(|time| time < Span(3_000_000)) {
            assert!(monotonic_ns() - begun < 20_000_000_000, "{:?}", spun());
            std::thread::yield_now();
        }
        drop(awake);
        // The kernel lists a thread for a moment after it has been joined.
        let ended = monotonic_ns();
        while spun().is_some() {
            assert!(monotonic_ns() - ended < 20_000_000_000, "{:?}", spun());
            std::thread::yield_now();
        }
    }
}
