//! How long a connection may be idle, and how long the head of a request may take once it has begun.
//!
//! hyper has one timeout for both. It asks its timer for a sleep when it begins to wait for a head, and polls the sleep
//! whenever what has come is no whole head yet. So a timer that knows whether a byte has come gives each its own time. The
//! price is a flag per connection that every read sets. All sleeps of a connection share one entry in the runtime's timers,
//! which is set anew only when it rings or would ring too late: a request sets none. The price: it rings for heads that have
//! long come, once in a time-out.
//!
//! A connection on which nothing comes for [`REST`] is taken out of hyper's hands, whose buffers take more than 16 kB, and given
//! to it again when something comes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use hyper_util::rt::TokioIo;

use super::interim::Interim;
use super::stream::Stream;

/// The answer to a head that was begun and not finished in time.
pub(super) const TOO_LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// How long nothing has to come and to go until a connection rests.
pub(super) const REST: Duration = Duration::from_secs(2);

/// A connection that knows whether a byte has come since its timer began to wait.
pub(super) struct Heard {
    io: TokioIo<Stream>,
    byte_came: Arc<AtomicBool>,
    interim: Interim,
    /// What hyper had read when it gave the connection back; it is read again first.
    unread: Bytes,
}

/// The timer of one connection.
#[derive(Clone)]
pub(super) struct HeadTimer {
    head_timeout: Duration,
    byte_came: Arc<AtomicBool>,
    /// No byte has come for [`REST`].
    may_rest: Arc<AtomicBool>,
    alarm: Arc<Alarm>,
}

/// What wakes a connection up.
struct Alarm(Mutex<Pin<Box<tokio::time::Sleep>>>);

/// Waits for a head: as long as a connection may be idle, or from its first byte on as long as a head may take.
struct Wait {
    deadline: tokio::time::Instant,
    /// None once the head has begun.
    head_timeout: Option<Duration>,
    /// None once that was so long ago, or the head has begun.
    rest_at: Option<tokio::time::Instant>,
    byte_came: Arc<AtomicBool>,
    may_rest: Arc<AtomicBool>,
    alarm: Arc<Alarm>,
}

/// A connection, by which interim replies go out too, and its timer.
pub(super) fn timed(stream: Stream, head_timeout: Duration, interim: Interim) -> (Heard, HeadTimer) {
    let byte_came = Arc::new(AtomicBool::new(false));
    let alarm = Arc::new(Alarm(Mutex::new(Box::pin(tokio::time::sleep(head_timeout)))));
    let timer = HeadTimer { head_timeout, byte_came: Arc::clone(&byte_came), may_rest: Arc::default(), alarm };
    (Heard { io: TokioIo::new(stream), byte_came, interim, unread: Bytes::new() }, timer)
}

impl Heard {
    pub(super) fn stream(&mut self) -> &mut Stream {
        self.io.inner_mut()
    }

    /// What was read of it is read again.
    pub(super) fn put_back(&mut self, unread: Bytes) {
        self.unread = unread;
    }

    /// Waits until there is something to be read, or its end.
    pub(super) async fn comes(&self) {
        if self.unread.is_empty() {
            // A wake-up alone may be for nothing; an error shows itself to who reads.
            let _ = self.io.inner().socket().peek(&mut [0]).await;
        }
    }
}

impl HeadTimer {
    /// Whether nothing has come for so long that the connection may rest, once.
    pub(super) fn may_rest(&self) -> bool {
        self.may_rest.load(Ordering::Relaxed)
            && self.may_rest.swap(false, Ordering::Relaxed)
            && !self.byte_came.load(Ordering::Relaxed)
    }

    /// Waits until then, in the place of the last sleep.
    pub(super) async fn until(&self, deadline: tokio::time::Instant) {
        poll_fn(|cx| self.alarm.rings_at(deadline, cx)).await;
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.byte_came.store(false, Ordering::Relaxed);
        self.may_rest.store(false, Ordering::Relaxed);
        let (byte_came, alarm) = (Arc::clone(&self.byte_came), Arc::clone(&self.alarm));
        let (may_rest, head_timeout) = (Arc::clone(&self.may_rest), Some(self.head_timeout));
        let rest_at = Some(tokio::time::Instant::now() + REST);
        Box::pin(Wait { deadline: deadline.into(), head_timeout, rest_at, byte_came, may_rest, alarm })
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
            self.rest_at = None;
        }
        if let Some(rest_at) = self.rest_at.filter(|rest_at| *rest_at < self.deadline) {
            ready!(self.alarm.rings_at(rest_at, cx));
            self.rest_at = None;
            self.may_rest.store(true, Ordering::Relaxed);
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
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let length = self.unread.len().min(buffer.remaining());
            let again = self.unread.split_to(length);
            buffer.put_slice(&again);
            self.byte_came.store(true, Ordering::Relaxed);
            return Poll::Ready(Ok(()));
        }
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
        ready!(Pin::new(io).poll_flush(cx))?;
        interim.set_flushed();
        Poll::Ready(Ok(()))
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
