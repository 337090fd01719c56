//! A request in flight at a backend.

use std::rc::Rc;
use std::task::{Context, Poll};

use sojourn_dispatch::{BackendId, Event, News, Signals};
use sojourn_part::clock;
use sojourn_stats::{Span, Time};

use super::counts::Count;
use super::upload::{Stage, Upload};
use super::worker::Worker;

/// One attempt at one backend, from the choice to its end. The dispatcher has already counted it when this is made.
/// Dropped without having ended, it was cancelled.
pub(super) struct Flight {
    worker: Rc<Worker>,
    backend: BackendId,
    chosen: Time,
    sent: Time,
    /// Of its reply.
    bytes: u64,
    /// Its key among the worker's deadlines.
    deadline: usize,
    /// How long the backend may take for what comes next.
    patience: Span,
    upload: Option<Rc<Upload>>,
    /// The head of its reply came.
    has_begun: bool,
    over: bool,
    _retrying: Option<Retrying>,
}

/// An attempt after another one has failed; the decider counts those that go on.
pub(super) struct Retrying(Rc<Worker>);

impl Retrying {
    pub(super) fn new(worker: &Rc<Worker>) -> Retrying {
        Retrying(Rc::clone(worker))
    }
}

impl Drop for Retrying {
    fn drop(&mut self) {
        self.0.board.retry_ended();
    }
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection could be made.
    Connect,
    /// The connection broke before the head of the reply.
    Broken,
    /// The reply is not HTTP as it should be.
    Malformed,
    /// The connection broke within the reply.
    Truncated,
    /// It took too long.
    TimedOut,
    /// The client broke its upload off, or sent a malformed one.
    Spoiled,
    /// The client took too long to upload.
    Stalled,
}

impl Flight {
    pub(super) fn begin(worker: &Rc<Worker>, backend: BackendId, chosen: Time, _retrying: Option<Retrying>) -> Flight {
        let count = worker.board.count(backend);
        count.requests.add(1);
        count.in_flight.add(1);
        drop(count);
        let deadline = worker.deadlines.insert(Time::NEVER);
        let patience = worker.version().settings.timeouts.reply;
        let worker = Rc::clone(worker);
        let (upload, has_begun, over) = (None, false, false);
        Flight {
            worker,
            backend,
            chosen,
            sent: chosen,
            bytes: 0,
            deadline,
            patience,
            upload,
            has_begun,
            over,
            _retrying,
        }
    }

    pub(super) fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    pub(super) fn backend(&self) -> BackendId {
        self.backend
    }

    /// It left for the backend, and with it the first of its body.
    pub(super) fn sent(&mut self, upload: Option<&Rc<Upload>>) {
        let backend = self.backend;
        self.upload = upload.cloned();
        self.sent = self.worker.board.tell(|_| Event::Sent { backend });
        self.wait_from(self.sent);
    }

    /// The head of its reply came.
    pub(super) fn first_byte(&mut self) {
        let (backend, sent) = (self.backend, self.sent);
        self.tell_if(Signals::FIRST_BYTE, |now| Event::FirstByte { backend, round_trip: now.saturating_since(sent) });
        self.has_begun = true;
        self.patience = self.worker.version().settings.timeouts.idle;
        self.wait_for_client();
    }

    /// A part of its reply was handed on, not the last one.
    pub(super) fn transmitted(&mut self, bytes: u64) {
        let backend = self.backend;
        self.bytes += bytes;
        self.tell_if(Signals::BYTES, |_| Event::Transmitted { backend, bytes });
        self.wait_for_client();
    }

    /// The next part of its reply is the backend's to send.
    pub(super) fn wait_for_backend(&mut self) {
        self.wait_from(clock::now());
    }

    /// The last `bytes` of its reply were handed on.
    pub(super) fn completed(&mut self, status: u16, bytes: u64) {
        let (backend, chosen) = (self.backend, self.chosen);
        self.bytes += bytes;
        let bytes = self.bytes;
        self.end(
            |count| &count.completed,
            |now| Event::Completed { backend, status, bytes, latency: now.saturating_since(chosen) },
        );
    }

    /// It failed. What its client did is not the backend's failure: then it is cancelled.
    pub(super) fn failed(&mut self, failure: Failure) {
        let (backend, chosen) = (self.backend, self.chosen);
        let board = Rc::clone(&self.worker.board);
        let counts = &board.counts;
        let (count, why) = match failure {
            // Said where the connection was tried.
            Failure::Connect => (&counts.connect_failed, None),
            Failure::Broken => (&counts.broken, Some("it breaks connections")),
            Failure::Malformed => (&counts.broken, Some("its replies are malformed")),
            Failure::Truncated => (&counts.truncated, Some("it breaks replies off")),
            Failure::TimedOut => (&counts.timed_out, Some("it does not reply in time")),
            Failure::Spoiled | Failure::Stalled => {
                return self.end(|count| &count.cancelled, |_| Event::Cancelled { backend, after: Span::ZERO });
            }
        };
        count.add(1);
        // A server may refuse an upload by closing the connection; any client could then take it out.
        let refuses = failure != Failure::TimedOut && self.stage() != Stage::Whole;
        self.end(|count| &count.failed, |now| Event::Failed { backend, after: now.saturating_since(chosen) });
        if let Some(why) = why
            && !refuses
        {
            board.learn(backend, News::Struck, why);
        }
    }

    /// Why the connection to the backend broke, where the backend seems to have done so `otherwise`.
    pub(super) fn cause(&self, otherwise: Failure) -> Failure {
        if self.stage() == Stage::Spoiled { Failure::Spoiled } else { otherwise }
    }

    /// Whether it waits for longer than it may, and for what.
    pub(super) fn poll_deadline(&mut self, context: &Context<'_>) -> Poll<Failure> {
        if self.upload.as_ref().is_some_and(|upload| upload.has_moved()) {
            self.wait_from(clock::now());
        }
        self.worker.deadlines.poll(self.deadline, context).map(|()| match self.stage() {
            Stage::Client => Failure::Stalled,
            _ => Failure::TimedOut,
        })
    }

    fn stage(&self) -> Stage {
        self.upload.as_ref().map_or(Stage::Whole, |upload| upload.stage())
    }

    /// Tells what only some policies read.
    fn tell_if(&self, signal: Signals, event: impl FnOnce(Time) -> Event) {
        let board = &self.worker.board;
        if board.requires().contains(signal) {
            board.tell(event);
        }
    }

    /// The next step is the backend's, to take more of the upload or to send more of the reply; or the client's upload
    /// goes on.
    fn wait_from(&self, now: Time) {
        let patience =
            if self.stage() == Stage::Whole { self.patience } else { self.worker.version().settings.timeouts.idle };
        self.worker.deadlines.set(self.deadline, now + patience);
    }

    /// The client has the next part of the reply to take: its pace is its own, and the kernel sees when it stops.
    fn wait_for_client(&self) {
        self.worker.deadlines.set(self.deadline, Time::NEVER);
    }

    fn end(&mut self, how: fn(&super::counts::PerBackend) -> &Count, event: impl FnOnce(Time) -> Event) {
        assert!(!self.over, "a request ends once");
        self.over = true;
        self.worker.deadlines.remove(self.deadline);
        let count = self.worker.board.count(self.backend);
        how(&count).add(1);
        count.in_flight.less();
        count.bytes.add(self.bytes);
        drop(count);
        self.worker.board.tell(event);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.over {
            let (backend, sent, has_begun) = (self.backend, self.sent, self.has_begun);
            let after = move |now: Time| if has_begun { Span::ZERO } else { now.saturating_since(sent) };
            self.end(|count| &count.cancelled, |now| Event::Cancelled { backend, after: after(now) });
        }
    }
}

impl Failure {
    /// Whether the client failed, and not the backend.
    pub(super) fn is_the_clients(self) -> bool {
        matches!(self, Failure::Spoiled | Failure::Stalled)
    }
}
