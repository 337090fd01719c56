//! What a simulation takes of memory, so that one that finds no room is refused, and not ended by the kernel.
//!
//! Memory is counted where a question can make it grow without end: replications, their servers and users, and the requests
//! inside. What each of them takes was measured and rounded up to what a power of two holds; the price is that a system
//! may be refused that would just have fitted.

use crate::control::SimError;

/// A replication: histograms and tables.
pub(crate) const REPLICATION: u64 = 128 << 10;
/// A server, its timer and its counts; a user, the script and the next request.
pub(crate) const STATION: u64 = 512;
/// A request inside, its entry in the agenda and its place at a server.
const REQUEST: u64 = 256;

/// How many of `each` (bytes) there is room for; refuses less than `least`, which are called `what`.
pub(crate) fn room(what: &str, least: u64, each: u64, memory: u64) -> Result<u64, SimError> {
    let (room, needed) = (memory / each.max(1), least.saturating_mul(each));
    if room < least {
        return Err(SimError::Memory { what: what.into(), needed: megabytes(needed), memory: megabytes(memory) });
    }
    Ok(room)
}

/// How many requests may be inside at once where `bytes` are left for them.
pub(crate) fn most_inside(bytes: u64) -> u32 {
    (bytes / REQUEST).min(u64::from(u32::MAX)) as u32
}

/// The same where each of them takes so many bytes `more`.
pub(crate) fn most_with(most: u32, more: u64) -> u32 {
    (u64::from(most) * REQUEST / (REQUEST + more)) as u32
}

/// So many requests were inside at once, and there is no room for more.
pub(crate) fn full(inside: usize, replications: u64, memory: u64) -> SimError {
    let what = format!("more than {inside} requests inside at once in each of {replications} replications");
    let needed = megabytes(inside as u64 * REQUEST * replications);
    SimError::Memory { what, needed, memory: megabytes(memory) }
}

fn megabytes(bytes: u64) -> u64 {
    bytes >> 20
}
