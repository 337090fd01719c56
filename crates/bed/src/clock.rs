//! The clock of process ends: `CLOCK_MONOTONIC` as it is, from the start of the machine.
//!
//! It has no origin of its own, so that instants seen by different processes of one machine can be compared. The price:
//! a reader that counts from the start of a run subtracts that start, read from the same clock.

use nix::time::{ClockId, clock_gettime};
use sojourn_stats::Time;

/// The time since the machine started.
pub fn since_boot() -> Time {
    Time(read(ClockId::CLOCK_MONOTONIC))
}

/// The same of an instant of wall time (ns since 1970), as the two clocks stand now; zero before the machine started.
pub fn since_boot_at(unix_ns: u64) -> Time {
    Time((since_boot().0 + unix_ns).saturating_sub(read(ClockId::CLOCK_REALTIME)))
}

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
