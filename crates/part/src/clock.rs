//! The one clock of the live side: `CLOCK_MONOTONIC` as integer time since the first look at it.
//!
//! It is read by its system call and not through `Instant`, because a timerfd is set to an absolute instant of that
//! same clock ([`crate::alarm`]): a relative one would be late by the time between reading and setting.

use std::sync::OnceLock;

use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use sojourn_stats::{Span, Time};

/// Now.
#[inline]
pub fn now() -> Time {
    let origin = origin();
    Time(monotonic().saturating_sub(origin))
}

/// Wall time (ns since 1970), which may be set anew at any time.
pub fn wall() -> u64 {
    nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has a clock"))
}

/// The instant of wall time (ns since 1970) as the two clocks stand now; zero before the first look at this clock.
pub fn of_wall(unix_ns: u64) -> Time {
    Time((now().0 + unix_ns).saturating_sub(wall()))
}

/// How long it is until a multiple of `every` by the wall clock: the next one, unless less than half a period is left.
pub fn until_multiple(every: Span) -> Span {
    until_multiple_at(wall(), every)
}

/// Wall time in whole seconds since 1970.
pub fn seconds() -> i64 {
    (wall() / 1_000_000_000) as i64
}

/// Lets the calling thread wait so long; a signal ends that sooner.
pub fn wait(span: Span) {
    let span = TimeSpec::from_duration(span.as_std());
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &span);
}

/// From now on the waits of the calling thread are late by microseconds, not by 50 more as is usual.
pub fn wait_precisely() {
    // Where that is refused, they are later.
    let _ = set_timerslack(1);
}

/// The instant `time` on `CLOCK_MONOTONIC`, as a timerfd wants it.
pub fn absolute(time: Time) -> TimeSpec {
    // An instant centuries away is never reached; the system call refuses what does not fit into its seconds.
    let ns = origin().saturating_add(time.0).min(i64::MAX as u64);
    TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
}

/// Processor time that this process has used.
pub fn process_cpu() -> Span {
    cpu(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time that the calling thread has used.
pub fn thread_cpu() -> Span {
    cpu(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn until_multiple_at(wall: u64, every: Span) -> Span {
    let left = every.0 - wall % every.0;
    // A timer may be early by the difference of two clocks.
    Span(if left < every.0 / 2 { left + every.0 } else { left })
}

fn origin() -> u64 {
    static ORIGIN: OnceLock<u64> = OnceLock::new();
    *ORIGIN.get_or_init(monotonic)
}

fn monotonic() -> u64 {
    nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock"))
}

fn cpu(clock: ClockId) -> Span {
    Span(nanoseconds(clock_gettime(clock).expect("Linux counts processor time")))
}

fn nanoseconds(spec: TimeSpec) -> u64 {
    spec.tv_sec() as u64 * 1_000_000_000 + spec.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_multiple_is_half_a_period_away_at_least() {
        let until = |wall: u64| until_multiple_at(wall, Span(1000)).0;
        assert_eq!([until(5000), until(5001), until(5500), until(5501), until(5999)], [1000, 999, 500, 1499, 1001]);
    }
}
