//! The clock of process ends: `CLOCK_MONOTONIC` as it is, from the start of the machine.
//!
//! It has no origin of its own, so that instants seen by different processes of one machine can be compared. The price:
//! a reader that counts from the start of a run subtracts that start, read from the same clock.

use nix::time::{ClockId, clock_gettime};
use sojourn_stats::Time;

/// The time since the machine started.
pub fn since_boot() -> Time {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    Time(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}
