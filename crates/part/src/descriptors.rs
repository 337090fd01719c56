//! File descriptors, and how many connections they suffice for.
//!
//! The system starts a process with a low limit, for programs of the time of `select`; what it may raise the limit to
//! itself is the hard limit. A server that runs out of descriptors can neither accept nor ask its backends, so it takes
//! in no more connections than it has descriptors for; the rest wait in the kernel's queue.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::ServeError;

/// Most connections where no number is given: each takes some kilobytes of memory, and one address of a client has no
/// more ports.
const CONNECTIONS_MAX: u64 = 65_536;

/// Raises this process's limit to the hard one. Where the system refuses, the limit stays, and fewer connections are
/// taken in.
pub fn raise_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// How many files a thread may keep open that no request needs at present: some hundreds, and no more than an eighth of what
/// the process may have.
pub fn kept() -> usize {
    const MOST: u64 = 256;
    getrlimit(Resource::RLIMIT_NOFILE).map_or(MOST, |(soft, _)| (soft / 8).min(MOST)) as usize
}

/// How many connections of clients may be open at once: as many as `asked`, or as many as there are descriptors for.
/// Each connection takes `each` of them, and the process needs `own` besides.
pub fn connections(asked: Option<usize>, each: u64, own: u64) -> Result<usize, ServeError> {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    let most = (limit.saturating_sub(own) / each).max(1);
    match asked {
        None => Ok(most.min(CONNECTIONS_MAX) as usize),
        Some(0) => Err(ServeError::Config("0 connections: a server needs at least 1 to serve".into())),
        Some(asked) if asked as u64 > most => Err(ServeError::Config(format!(
            "{asked} connections need {} file descriptors, and this process may have {limit}: at most {most} \
             connections, or raise the limit (`ulimit -n`)",
            (asked as u64).saturating_mul(each).saturating_add(own)
        ))),
        Some(asked) => Ok(asked),
    }
}
