//! The one clock of this crate: `CLOCK_MONOTONIC`, read in nanoseconds since the run's start.
//!
//! The same clock drives the timerfd that paces the load, so that a deadline and the reading that judges it agree. The
//! wall clock is read only to agree with other processes on when the start is.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use sojourn_stats::{Span, Time};

/// Reads the time since a start that all threads share and that may still lie ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock whose zero is `wait` from now.
    pub(crate) fn starting_in(wait: Span) -> Clock {
        Clock { origin_ns: monotonic_ns() + wait.0 }
    }

    /// A clock whose zero is when `CLOCK_REALTIME` says `at_ns`; or how long ago that was.
    pub(crate) fn starting_at(at_ns: u64) -> Result<Clock, Span> {
        let wait = at_ns.checked_sub(realtime_ns()).ok_or_else(|| Span(realtime_ns().saturating_sub(at_ns)))?;
        Ok(Clock::starting_in(Span(wait)))
    }

    /// What `CLOCK_REALTIME` says at the start (ns since 1970).
    pub(crate) fn started_at_ns(self) -> u64 {
        (realtime_ns() + self.origin_ns).saturating_sub(monotonic_ns())
    }

    /// The time since the start; zero before it.
    #[inline]
    pub(crate) fn now(self) -> Time {
        Time(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// Whether the start has passed.
    pub(crate) fn started(self) -> bool {
        monotonic_ns() >= self.origin_ns
    }

    /// `at` as the kernel's absolute time.
    pub(crate) fn absolute(self, at: Time) -> TimeSpec {
        let ns = self.origin_ns.saturating_add(at.0);
        TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
    }
}

/// Nanoseconds since the machine started.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// What `CLOCK_REALTIME` says (ns since 1970), for processes that agree on a start.
pub fn realtime_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("Linux has both clocks");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
