//! How long a connection may be idle, and how long the head of a request may take once it has begun.
//!
//! hyper has one timeout for both. It asks its timer for a sleep when it begins to wait for a head, and polls the sleep
//! whenever what has come is no whole head yet. So a timer that knows whether a byte has come gives each its own time. The
//! price is a flag per connection that every read sets. All sleeps of a connection share one entry in the runtime's timers,
//! which is set anew only when it rings or would ring too late: a request sets none. The price: it rings for heads that have
//! long come, once in a time-out.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use hyper_util::rt::TokioIo;

use super::interim::Interim;
use super::stream::Stream;

/// The answer to a head that was begun and not finished in time.
pub(super) const TOO_LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A connection that knows whether a byte has come since its timer began to wait.
pub(super) struct Heard {
    io: TokioIo<Stream>,
    byte_came: Arc<AtomicBool>,
    interim: Interim,
}

/// The timer of one connection.
pub(super) struct HeadTimer {
    head_timeout: Duration,
    byte_came: Arc<AtomicBool>,
    alarm: Arc<Alarm>,
}

/// What wakes a connection up.
struct Alarm(Mutex<Pin<Box<tokio::time::Sleep>>>);

/// Waits for a head: as long as a connection may be idle, or from its first byte on as long as a head may take.
struct Wait {
    deadline: tokio::time::Instant,
    /// None once the head has begun.
    head_timeout: Option<Duration>,
    byte_came: Arc<AtomicBool>,
    alarm: Arc<Alarm>,
}

/// A connection, by which interim replies go out too, and its timer.
pub(super) fn timed(stream: Stream, head_timeout: Duration, interim: Interim) -> (Heard, HeadTimer) {
    let byte_came = Arc::new(AtomicBool::new(false));
    let alarm = Arc::new(Alarm(Mutex::new(Box::pin(tokio::time::sleep(head_timeout)))));
    let timer = HeadTimer { head_timeout, byte_came: Arc::clone(&byte_came), alarm };
    (Heard { io: TokioIo::new(stream), byte_came, interim }, timer)
}

impl Heard {
    pub(super) fn stream(&mut self) -> &mut Stream {
        self.io.inner_mut()
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.byte_came.store(false, Ordering::Relaxed);
        let (byte_came, alarm) = (Arc::clone(&self.byte_came), Arc::clone(&self.alarm));
        Box::pin(Wait { deadline: deadline.into(), head_timeout: Some(self.head_timeout), byte_came, alarm })
    }
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.byte_came.load(Ordering::Relaxed)
            && let Some(head_timeout) = self.head_timeout.take()
        {
            self.deadline = tokio::time::Instant::now() + head_timeout;
        }
        self.alarm.rings_at(self.deadline, cx)
    }
}

impl Alarm {
    /// Whether this instant has passed; if not, the task is woken then, or before.
    fn rings_at(&self, deadline: tokio::time::Instant, cx: &mut Context<'_>) -> Poll<()> {
        let mut sleep = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if sleep.deadline() == deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

impl Read for Heard {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        // Of the end too, at which no head is waited for any more.
        self.byte_came.store(true, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl Write for Heard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Heard { io, interim, .. } = &mut *self;
        ready!(interim.before_write(io.inner_mut(), cx))?;
        Pin::new(io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Heard { io, interim, .. } = &mut *self;
        ready!(interim.before_flush(io.inner_mut(), cx))?;
        Pin::new(io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Heard { io, interim, .. } = &mut *self;
        ready!(interim.before_write(io.inner_mut(), cx))?;
        Pin::new(io).poll_write_vectored(cx, slices)
    }
}
