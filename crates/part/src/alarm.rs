//! A wake-up at an instant, accurate to tens of microseconds.
//!
//! tokio's timer wheel turns once a millisecond, which is the size of the service times that a node emulates. A timerfd
//! on the runtime's own epoll costs one system call per setting and is some 30 us late at the median. One alarm serves
//! a whole queue of deadlines: set it to the earliest.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use sojourn_stats::Time;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock;

/// The side that sets the alarm, from any thread.
#[derive(Clone)]
pub struct Alarm(Arc<TimerFd>);

/// The side that waits for it, on one runtime.
pub struct Bell(AsyncFd<Timer>);

struct Timer(Arc<TimerFd>);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// An alarm that is not set.
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Alarm(Arc::new(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?)))
    }

    /// Its bell on the current runtime.
    pub fn bell(&self) -> io::Result<Bell> {
        #[expect(deprecated, reason = "its successor is unsafe; this descriptor is owned by what is registered")]
        let bell = AsyncFd::with_interest(Timer(Arc::clone(&self.0)), Interest::READABLE)?;
        Ok(Bell(bell))
    }

    /// Rings at `time` (at once if that is past) and forgets what it was set to.
    pub fn set(&self, time: Time) {
        self.0
            .set(Expiration::OneShot(clock::absolute(time)), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .expect("a timerfd takes any instant");
    }
}

impl Bell {
    /// Waits for the alarm.
    pub async fn ring(&self) {
        // Readiness is edge-triggered and each expiry is a new edge, so the count in the timer need not be read.
        self.0.readable().await.expect("the runtime outlives its bells").clear_ready();
    }
}
