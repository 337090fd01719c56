//! The one clock of this crate: `CLOCK_MONOTONIC`, read in nanoseconds since the run's start.
//!
//! The same clock drives the timerfd that paces the load, so that a deadline and the reading that judges it agree.

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

#[inline]
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
