//! The bodies that a gateway sends to clients: its own, and those that come from a backend meanwhile.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::flight::{Failure, Flight};
use super::link::Link;

/// A part of a reply of fewer bytes is copied where others follow.
const SHORT: usize = 4 << 10;

/// The body of a reply on its way to the client.
pub(crate) enum Reply {
    Empty,
    Text(Bytes),
    Upstream(Box<Upstream>),
}

/// A reply that is still coming in, with all that it holds on to.
pub(crate) struct Upstream {
    body: Incoming,
    status: u16,
    flight: Flight,
    /// It is the backend's turn to send.
    waits: bool,
    /// None once the reply is complete or has failed.
    link: Option<Box<Link>>,
}

/// A reply that stopped.
#[derive(Debug, thiserror::Error)]
#[error("the backend's reply {0:?}")]
pub(crate) struct Stopped(Failure);

impl Upstream {
    pub(super) fn new(body: Incoming, status: u16, flight: Flight, link: Box<Link>) -> Upstream {
        Upstream { body, status, flight, waits: false, link: Some(link) }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Stopped>>> {
        let Some(link) = &mut self.link else { return Poll::Ready(None) };
        let mut frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() {
            link.drive(context);
            frame = Pin::new(&mut self.body).poll_frame(context);
        }
        if frame.is_pending() {
            if !std::mem::replace(&mut self.waits, true) {
                self.flight.wait_for_backend();
            }
            if let Poll::Ready(late) = self.flight.poll_deadline(context) {
                return Poll::Ready(Some(Err(self.stop(late))));
            }
        }
        let frame = ready!(frame);
        self.waits = false;
        match frame {
            Some(Ok(mut frame)) => {
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                if !self.body.is_end_stream() {
                    frame = frame.map_data(compact);
                }
                if self.body.is_end_stream() {
                    self.finish(bytes, context);
                } else {
                    self.flight.transmitted(bytes);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(_)) => Poll::Ready(Some(Err(self.stop(self.flight.cause(Failure::Truncated))))),
            None => {
                self.finish(0, context);
                Poll::Ready(None)
            }
        }
    }

    fn finish(&mut self, bytes: u64, context: &mut Context<'_>) {
        self.flight.completed(self.status, bytes);
        if let Some(link) = self.link.take() {
            self.flight.worker().keep(link, context);
        }
    }

    fn stop(&mut self, failure: Failure) -> Stopped {
        self.flight.failed(failure);
        self.link = None;
        Stopped(failure)
    }
}

/// A short part of a reply in as little memory as it needs: as it came, it keeps a whole buffer.
fn compact(data: Bytes) -> Bytes {
    if data.len() < SHORT { Bytes::copy_from_slice(&data) } else { data }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Stopped;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Stopped>>> {
        match &mut *self {
            Reply::Empty => Poll::Ready(None),
            Reply::Text(bytes) if bytes.is_empty() => Poll::Ready(None),
            Reply::Text(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Reply::Upstream(upstream) => upstream.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Reply::Empty => true,
            Reply::Text(bytes) => bytes.is_empty(),
            Reply::Upstream(upstream) => upstream.link.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Reply::Empty => SizeHint::with_exact(0),
            Reply::Text(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Reply::Upstream(upstream) => upstream.body.size_hint(),
        }
    }
}
