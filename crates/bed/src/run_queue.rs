//! The run queue: how long threads could have run and waited for a core, where the kernel counts it (`schedstat`).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use sojourn_stats::Span;

/// The run queue as a thread knows it, for others to read: numbers of threads differ between namespaces, open files do not.
#[derive(Debug)]
pub(crate) struct RunQueue(File);

impl RunQueue {
    /// That of the calling thread.
    pub(crate) fn of_this_thread() -> Option<RunQueue> {
        File::open("/proc/thread-self/schedstat").ok().map(RunQueue)
    }

    /// How long the thread has waited so far.
    pub(crate) fn waited(&self) -> Option<Span> {
        let mut text = [0; 80];
        let bytes = self.0.read_at(&mut text, 0).ok()?;
        waited(std::str::from_utf8(&text[..bytes]).ok()?)
    }
}

/// How long those threads of a process that still run have waited, together.
pub(crate) fn of_process(pid: u32) -> Option<Span> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    // One that ends meanwhile cannot be read.
    let read = |thread: fs::DirEntry| waited(&fs::read_to_string(thread.path().join("schedstat")).ok()?);
    Some(threads.flatten().filter_map(read).sum())
}

/// Time on a core, time waiting for one, number of times it got one.
fn waited(schedstat: &str) -> Option<Span> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Span)
}
