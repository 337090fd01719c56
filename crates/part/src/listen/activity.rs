//! What happens on one connection: its requests, and whether its client takes what is sent to it.
//!
//! hyper asks the body of a reply for more only when there is room for it. So a body that is not asked for long has a client
//! that takes nothing, which over HTTP/2 no timeout of the socket shows: the client may answer pings and leave its window shut.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Buf, Frame, SizeHint};
use pin_project_lite::pin_project;
use sojourn_stats::{Span, Time};

use super::counts::Counts;
use super::rules::Rules;
use crate::clock;

/// The requests of one connection.
pub(super) struct Activity {
    begun: Cell<u64>,
    inside: Cell<u64>,
    sending: Cell<u64>,
    /// When something last happened, where that is looked at.
    moved: Cell<Option<Time>>,
    /// A reply was sent before its request was read to its end.
    is_cut_short: Cell<bool>,
    counts: Arc<Counts>,
}

/// A request and its reply; dropping it ends it.
pub(super) struct Exchange {
    activity: Rc<Activity>,
    is_sending: bool,
    sent: u64,
}

pin_project! {
    /// The body of a reply, which tells how it fares.
    pub(super) struct Watched<B> {
        #[pin]
        body: B,
        exchange: Exchange,
    }
}

/// What a look at a connection finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// All is well for so long at least.
    Well(Span),
    /// It has had no request for too long.
    Idle,
    /// Its client has taken nothing for too long.
    TooSlow,
}

impl Activity {
    /// Of a connection that nothing looks at.
    pub(super) fn new(counts: Arc<Counts>) -> Activity {
        Activity {
            begun: Cell::new(0),
            inside: Cell::new(0),
            sending: Cell::new(0),
            moved: Cell::new(None),
            is_cut_short: Cell::new(false),
            counts,
        }
    }

    /// Of a connection that is looked at.
    pub(super) fn watched(counts: Arc<Counts>) -> Activity {
        Activity { moved: Cell::new(Some(clock::now())), ..Activity::new(counts) }
    }

    /// A request has come.
    pub(super) fn begin(self: &Rc<Activity>) -> Exchange {
        self.begun.set(self.begun.get() + 1);
        self.inside.set(self.inside.get() + 1);
        self.touch();
        Exchange { activity: Rc::clone(self), is_sending: false, sent: 0 }
    }

    /// Requests so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// Whether no request is there.
    pub(super) fn is_empty(&self) -> bool {
        self.inside.get() == 0
    }

    /// The client may still send what nothing reads.
    pub(super) fn cut_short(&self) {
        self.is_cut_short.set(true);
    }

    pub(super) fn is_cut_short(&self) -> bool {
        self.is_cut_short.get()
    }

    /// How it fares by these rules.
    pub(super) fn look(&self, rules: &Rules) -> Look {
        let still = clock::now().saturating_since(self.moved.get().unwrap_or(Time::ZERO));
        let (limit, found) = match (self.inside.get(), self.sending.get()) {
            (0, _) if self.begun.get() == 0 => (rules.head_timeout, Look::Idle),
            (0, _) => (rules.keep_alive, Look::Idle),
            (_, 0) => return Look::Well(rules.patience),
            _ => (rules.patience, Look::TooSlow),
        };
        if still >= limit { found } else { Look::Well(Span(limit.0 - still.0)) }
    }

    fn touch(&self) {
        if self.moved.get().is_some() {
            self.moved.set(Some(clock::now()));
        }
    }
}

impl Exchange {
    /// The reply is on its way.
    pub(super) fn send<B>(mut self, body: B) -> Watched<B> {
        self.is_sending = true;
        self.activity.sending.set(self.activity.sending.get() + 1);
        self.activity.touch();
        Watched { body, exchange: self }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let activity = &self.activity;
        activity.inside.set(activity.inside.get() - 1);
        if self.is_sending {
            activity.sending.set(activity.sending.get() - 1);
            activity.counts.sent_bytes.fetch_add(self.sent, Ordering::Relaxed);
        }
        activity.touch();
    }
}

impl<B: Body> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let watched = self.project();
        let frame = ready!(watched.body.poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            watched.exchange.sent += frame.data_ref().map_or(0, |data| data.remaining() as u64);
        }
        watched.exchange.activity.touch();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
