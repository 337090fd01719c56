//! Memory that is free is given back to the system.
//!
//! What a crowd of clients took and left, glibc keeps for later in the arenas of the threads, for as long as the process runs.
//! `malloc_trim` gives all whole pages of it back. It holds up threads that allocate meanwhile, so it is for the end of a crowd
//! and not for each connection. Another allocator, which does so by itself, would be a further library in C, and other costs on
//! all paths that were measured with this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are a crowd.
const CROWD: usize = 32;

/// Those that take memory for a while; when half of a crowd has left, what is free is given back, on a thread of its own.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    now: AtomicUsize,
    /// The most that there were since memory was given back.
    most: AtomicUsize,
}

/// One of a crowd; dropping it leaves.
#[derive(Debug)]
pub(crate) struct Member(Arc<Crowd>);

impl Crowd {
    pub(crate) fn join(self: &Arc<Crowd>) -> Member {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        Member(Arc::clone(self))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let now = self.0.now.fetch_sub(1, Ordering::Relaxed) - 1;
        let most = self.0.most.load(Ordering::Relaxed);
        let has_shrunk = most >= CROWD && now <= most / 2;
        if has_shrunk && self.0.most.compare_exchange(most, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            // Without a thread it stays for later use, as before.
            let _ = std::thread::Builder::new().name("memory".into()).spawn(trim);
        }
    }
}

#[cfg(target_env = "gnu")]
#[expect(
    unsafe_code,
    reason = "nix has no wrapper; it has no argument that could be wrong, and any thread may call it"
)]
fn trim() {
    unsafe { nix::libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}
