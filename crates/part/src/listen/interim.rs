//! Interim replies (1xx), such as 103 Early Hints, that go out before the reply to the same request.
//!
//! hyper's server has no way to send them. So they are written beside it, where it has nothing of its own left to write: it
//! flushes its stream only then. What comes while a reply before is still on its way waits until that is through, and is dropped
//! where its own reply is there first, since it may then belong nowhere.

use std::fmt::Write;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, StatusCode};
use tokio::io::AsyncWrite;

use crate::headers::strip_hop_by_hop;

/// Bytes that may wait: a client that takes nothing gets no more hints.
const WAITING_MAX: usize = 16 << 10;

/// Where the interim replies of one connection of HTTP/1 go; clones lead to the same connection.
#[derive(Clone, Debug, Default)]
pub struct Interim(Arc<Outbox>);

#[derive(Debug, Default)]
struct Outbox {
    waiting: Mutex<Waiting>,
    has_any: AtomicBool,
    /// Something was written since hyper last had nothing left to write: it may go on.
    is_amid: AtomicBool,
    /// Something was written since all was with the kernel.
    is_unflushed: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// What was being written when they came goes first.
    is_behind: bool,
}

impl Interim {
    /// Sends one, without what concerns the connection that it came by. To be called for the request that is being answered, of
    /// a client that speaks HTTP/1.1: an older one would not understand it.
    pub fn send(&self, status: StatusCode, headers: &HeaderMap) {
        let mut headers = headers.clone();
        strip_hop_by_hop(&mut headers);
        headers.remove(CONTENT_LENGTH);
        let mut head = format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or("Interim"));
        let mut bytes = Vec::new();
        for (name, value) in &headers {
            let _ = write!(head, "{name}: ");
            bytes.append(&mut std::mem::take(&mut head).into_bytes());
            bytes.extend_from_slice(value.as_bytes());
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        bytes.extend_from_slice(head.as_bytes());
        let mut waiting = self.waiting();
        if waiting.bytes.len() + bytes.len() <= WAITING_MAX {
            waiting.is_behind |= self.0.is_amid.load(Ordering::Relaxed);
            waiting.bytes.append(&mut bytes);
            self.0.has_any.store(true, Ordering::Relaxed);
        }
    }

    /// The reply that they go before is there.
    pub(super) fn end(&self) {
        if self.has_any() {
            let mut waiting = self.waiting();
            if std::mem::take(&mut waiting.is_behind) {
                waiting.bytes.clear();
                self.0.has_any.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Whether all that was to be written is with the kernel.
    pub(super) fn is_flushed(&self) -> bool {
        !self.has_any() && !self.0.is_unflushed.load(Ordering::Relaxed)
    }

    /// It is.
    pub(super) fn set_flushed(&self) {
        self.0.is_unflushed.store(false, Ordering::Relaxed);
    }

    /// Lets those go out that come before what is to be written now.
    pub(super) fn before_write<W: AsyncWrite + Unpin>(&self, io: &mut W, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_any() && !self.waiting().is_behind {
            ready!(self.write(io, cx))?;
        }
        self.0.is_amid.store(true, Ordering::Relaxed);
        self.0.is_unflushed.store(true, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    /// Lets them go out now that nothing else is being written.
    pub(super) fn before_flush<W: AsyncWrite + Unpin>(&self, io: &mut W, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.is_amid.store(false, Ordering::Relaxed);
        if self.has_any() { self.write(io, cx) } else { Poll::Ready(Ok(())) }
    }

    fn write<W: AsyncWrite + Unpin>(&self, io: &mut W, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.is_unflushed.store(true, Ordering::Relaxed);
        let mut waiting = self.waiting();
        waiting.is_behind = false;
        while !waiting.bytes.is_empty() {
            match ready!(Pin::new(&mut *io).poll_write(cx, &waiting.bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => drop(waiting.bytes.drain(..written)),
            }
        }
        self.0.has_any.store(false, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn has_any(&self) -> bool {
        self.0.has_any.load(Ordering::Relaxed)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A stream that takes so many bytes and then no more.
    #[derive(Default)]
    struct Narrow {
        taken: Vec<u8>,
        room: usize,
    }

    impl AsyncWrite for Narrow {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let count = self.room.min(bytes.len());
            self.room -= count;
            self.taken.extend_from_slice(&bytes[..count]);
            if count > 0 { Poll::Ready(Ok(count)) } else { Poll::Pending }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    const HINT: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n";

    fn hint(interim: &Interim) {
        let link = [("link", "</a.css>"), ("connection", "x-hop"), ("x-hop", "1"), ("content-length", "0")];
        let headers = link.map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        interim.send(StatusCode::EARLY_HINTS, &HeaderMap::from_iter(headers));
    }

    #[test]
    fn a_hint_goes_out_whole_and_before_its_reply() {
        let (interim, cx) = (Interim::default(), &mut Context::from_waker(Waker::noop()));
        let mut io = Narrow { room: 10, ..Narrow::default() };
        hint(&interim);
        assert!(interim.before_flush(&mut io, cx).is_pending(), "ten bytes have room");
        assert!(interim.before_write(&mut io, cx).is_pending(), "the reply does not overtake the rest");
        io.room = 100;
        interim.end();
        assert!(interim.before_write(&mut io, cx).is_ready());
        assert_eq!(String::from_utf8_lossy(&io.taken), HINT);
    }

    #[test]
    fn a_hint_never_goes_out_within_the_reply_before() {
        let (interim, cx) = (Interim::default(), &mut Context::from_waker(Waker::noop()));
        let mut io = Narrow { room: 1000, ..Narrow::default() };
        // A reply of which a part is written, and the next request has a hint already.
        assert!(interim.before_write(&mut io, cx).is_ready());
        hint(&interim);
        assert!(interim.before_write(&mut io, cx).is_ready());
        assert!(io.taken.is_empty(), "the rest of the reply comes first");
        assert!(interim.before_flush(&mut io, cx).is_ready());
        assert_eq!(String::from_utf8_lossy(&io.taken), HINT, "then the hint");
        // And where the next reply is there before the first is through, the hint has no place any more.
        assert!(interim.before_write(&mut io, cx).is_ready());
        hint(&interim);
        interim.end();
        assert!(interim.before_flush(&mut io, cx).is_ready());
        assert_eq!(io.taken.len(), HINT.len());
    }

    #[test]
    fn a_client_that_takes_nothing_is_kept_few_hints() {
        let interim = Interim::default();
        (0..10_000).for_each(|_| hint(&interim));
        assert!(interim.waiting().bytes.len() <= WAITING_MAX);
    }
}
