//! A request in flight at a backend.

use std::rc::Rc;
use std::task::{Context, Poll};

use sojourn_dispatch::{BackendId, Event, Signals};
use sojourn_stats::{Span, Time};

use super::counts::Count;
use super::worker::Worker;
use crate::clock;

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
    over: bool,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection could be made.
    Connect,
    /// The connection broke before the head of the reply.
    Broken,
    /// The connection broke within the reply.
    Truncated,
    /// It took too long.
    TimedOut,
}

impl Flight {
    pub(super) fn begin(worker: &Rc<Worker>, backend: BackendId, chosen: Time) -> Flight {
        let count = worker.board.count(backend);
        count.requests.add(1);
        count.in_flight.add(1);
        let deadline = worker.deadlines.insert(Time::NEVER);
        Flight { worker: Rc::clone(worker), backend, chosen, sent: chosen, bytes: 0, deadline, over: false }
    }

    pub(super) fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    pub(super) fn backend(&self) -> BackendId {
        self.backend
    }

    /// It left for the backend.
    pub(super) fn sent(&mut self) {
        let backend = self.backend;
        self.sent = self.worker.board.tell(|_| Event::Sent { backend });
        self.wait_until(self.sent + self.worker.config.timeouts.reply);
    }

    /// The head of its reply came.
    pub(super) fn first_byte(&mut self) {
        let (backend, sent) = (self.backend, self.sent);
        self.worker.board.replied(backend);
        let came = self
            .tell_if(Signals::FIRST_BYTE, |now| Event::FirstByte { backend, round_trip: now.saturating_since(sent) });
        self.wait_until(came + self.worker.config.timeouts.idle);
    }

    /// A part of its reply was handed on, not the last one.
    pub(super) fn transmitted(&mut self, bytes: u64) {
        let backend = self.backend;
        self.bytes += bytes;
        let passed = self.tell_if(Signals::BYTES, |_| Event::Transmitted { backend, bytes });
        self.wait_until(passed + self.worker.config.timeouts.idle);
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

    /// It failed.
    pub(super) fn failed(&mut self, failure: Failure) {
        let (backend, chosen) = (self.backend, self.chosen);
        let counts = &self.worker.board.counts;
        match failure {
            Failure::Connect => &counts.connect_failed,
            Failure::Broken => &counts.broken,
            Failure::Truncated => &counts.truncated,
            Failure::TimedOut => &counts.timed_out,
        }
        .add(1);
        self.end(|count| &count.failed, |now| Event::Failed { backend, after: now.saturating_since(chosen) });
        match failure {
            // Said where the connection was tried.
            Failure::Connect => {}
            Failure::Broken => self.worker.board.strike(backend, "it breaks connections"),
            Failure::Truncated => self.worker.board.strike(backend, "it breaks replies off"),
            Failure::TimedOut => self.worker.board.strike(backend, "it does not reply in time"),
        }
    }

    /// Whether it waits for longer than it may.
    pub(super) fn poll_deadline(&self, context: &Context<'_>) -> Poll<()> {
        self.worker.deadlines.poll(self.deadline, context)
    }

    /// Tells what only some policies read; the time it is now.
    fn tell_if(&self, signal: Signals, event: impl FnOnce(Time) -> Event) -> Time {
        let board = &self.worker.board;
        if board.requires.contains(signal) { board.tell(event) } else { clock::now() }
    }

    fn wait_until(&self, deadline: Time) {
        self.worker.deadlines.set(self.deadline, deadline);
    }

    fn end(&mut self, how: fn(&super::counts::PerBackend) -> &Count, event: impl FnOnce(Time) -> Event) {
        assert!(!self.over, "a request ends once");
        self.over = true;
        self.worker.deadlines.remove(self.deadline);
        let count = self.worker.board.count(self.backend);
        how(count).add(1);
        count.in_flight.less();
        count.bytes.add(self.bytes);
        self.worker.board.tell(event);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.over {
            let backend = self.backend;
            self.end(|count| &count.cancelled, |_| Event::Cancelled { backend });
        }
    }
}

impl Failure {
    /// What to tell the client.
    pub(super) fn words(self, patience: Span) -> String {
        match self {
            Failure::Connect => "cannot be reached".into(),
            Failure::Broken => "broke the connection before it replied".into(),
            Failure::Truncated => "broke its reply off".into(),
            Failure::TimedOut => format!("did not reply within {patience}"),
        }
    }
}
