//! What a gateway thread has: its board, its kept connections, and the deadlines of what it waits for.

use std::cell::{Ref, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderValue, SET_COOKIE};
use sojourn_dispatch::{BackendId, Signals};
use sojourn_part::listen::Interim;
use sojourn_part::{clock, headers};
use sojourn_stats::{Span, Time};

use super::board::{Board, Choice};
use super::id::GatewayId;
use super::link::{Link, Pool};
use super::version::{Next, Version};

/// One thread of a gateway.
pub(super) struct Worker {
    pub(super) board: Rc<Board>,
    version: RefCell<Version>,
    pub(super) id: Arc<GatewayId>,
    pub(super) pool: Pool,
    pub(super) deadlines: Deadlines,
}

/// What is at the other end of a client's connection.
pub(super) struct Peer {
    pub(super) key: u64,
    pub(super) address: HeaderValue,
    /// Where interim replies to it go, if they can.
    pub(super) interim: Option<Interim>,
}

impl Worker {
    pub(super) fn new(board: Rc<Board>, version: Version, id: Arc<GatewayId>) -> Worker {
        let pool = Pool::new(version.targets().count());
        Worker { board, version: RefCell::new(version), id, pool, deadlines: Deadlines::default() }
    }

    /// What it goes by now; not to be held while anything is waited for.
    pub(super) fn version(&self) -> Ref<'_, Version> {
        self.version.borrow()
    }

    /// Goes by other settings from now on. What is in flight ends where it is, also at backends that leave.
    pub(super) fn adopt(&self, next: Next) {
        let Next { settings, redirect, keep, successor } = next;
        let version = Version::new(settings, redirect, keep, self.version.take());
        self.board.adopt(&version, successor);
        self.pool.keep_only(|backend, address| version.is_at(backend, address), version.targets().count());
        self.version.replace(version);
    }

    pub(super) fn name(&self, backend: BackendId) -> HeaderValue {
        self.version().target(backend).name.clone()
    }

    pub(super) fn host(&self, backend: BackendId) -> HeaderValue {
        self.version().target(backend).host.clone()
    }

    /// Whether it takes the load that replies bear. Only a policy that goes by it is told of it.
    pub(super) fn reads_reports(&self) -> bool {
        self.version().settings.face.orca_headers && self.board.requires().contains(Signals::REPORTS)
    }

    /// A connection to a backend that was idle a moment ago, if one is kept.
    pub(super) async fn take(&self, backend: BackendId) -> Option<Box<Link>> {
        poll_fn(|context| Poll::Ready(self.pool.take(backend, context))).await
    }

    /// Keeps a connection whose reply has been read.
    pub(super) async fn put(&self, link: Box<Link>) {
        let mut link = Some(link);
        poll_fn(|context| {
            if let Some(link) = link.take() {
                self.keep(link, context);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// The same, in a task that is being polled.
    pub(super) fn keep(&self, link: Box<Link>, context: &mut Context<'_>) {
        let version = self.version();
        let keep = if version.is_at(link.backend(), link.address()) { version.keep } else { 0 };
        self.pool.put(link, keep, context);
    }

    /// A new connection to a backend.
    pub(super) async fn open(&self, backend: BackendId) -> io::Result<Box<Link>> {
        let (address, timeout) = {
            let version = self.version();
            (version.target(backend).backend.address, version.settings.timeouts.connect)
        };
        Link::open(&self.board, backend, address, timeout).await
    }

    /// Adds to a reply what concerns the choice: the cookie by which the client comes back, and why.
    pub(super) fn annotate(
        &self,
        headers: &mut HeaderMap,
        choice: Choice,
        backend: BackendId,
        cookie: Option<BackendId>,
    ) {
        if self.board.requires().contains(Signals::COOKIE) && cookie != Some(backend) {
            headers.append(SET_COOKIE, self.version().target(backend).cookie.clone());
        }
        if let Some(candidates) = choice.candidates {
            headers::explain(headers, &choice.decision.reason.to_string(), candidates);
        }
    }

    /// Wakes what has waited too long, weeds out closed connections, and publishes counts.
    pub(super) async fn keep_time(self: Rc<Self>) {
        let mut weeded = clock::now();
        loop {
            let timeouts = self.version().settings.timeouts;
            let shortest = timeouts.reply.min(timeouts.idle).0;
            // A timeout is kept to a tenth of itself; a timer per request would cost more than it is worth.
            let period = Duration::from_nanos((shortest / 10).clamp(1_000_000, 100_000_000));
            tokio::time::sleep(period).await;
            let now = clock::now();
            self.deadlines.expire(now);
            self.board.publish();
            if now.saturating_since(weeded) >= Span(1_000_000_000) {
                weeded = now;
                poll_fn(|context| {
                    self.pool.weed(context);
                    Poll::Ready(())
                })
                .await;
            }
        }
    }

    /// Closes what is kept and ends the record; nothing else of this thread runs any more.
    pub(super) fn close(&self) {
        self.pool.clear();
        self.board.close();
    }
}

impl Peer {
    pub(super) fn new(address: IpAddr, interim: Option<Interim>) -> Peer {
        let text = address.to_canonical().to_string();
        let key = sojourn_dispatch::key(&text);
        let address = HeaderValue::from_str(&text).expect("an address is fit for a header");
        Peer { key, address, interim }
    }
}

/// Deadlines of requests, looked at together every so often.
#[derive(Default)]
pub(super) struct Deadlines {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    free: Vec<usize>,
}

struct Entry {
    at: Time,
    expired: bool,
    waker: Option<Waker>,
}

impl Deadlines {
    /// A new deadline; it must be removed again.
    pub(super) fn insert(&self, at: Time) -> usize {
        let mut state = self.state.borrow_mut();
        let entry = Entry { at, expired: false, waker: None };
        match state.free.pop() {
            Some(key) => {
                state.entries[key] = entry;
                key
            }
            None => {
                state.entries.push(entry);
                state.entries.len() - 1
            }
        }
    }

    /// Puts a deadline off, even one that has passed.
    pub(super) fn set(&self, key: usize, at: Time) {
        let entry = &mut self.state.borrow_mut().entries[key];
        (entry.at, entry.expired) = (at, false);
    }

    /// Whether a deadline has passed; the task is woken when it does.
    pub(super) fn poll(&self, key: usize, context: &Context<'_>) -> Poll<()> {
        let entry = &mut self.state.borrow_mut().entries[key];
        if entry.expired {
            return Poll::Ready(());
        }
        match &mut entry.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => entry.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    pub(super) fn remove(&self, key: usize) {
        let mut state = self.state.borrow_mut();
        state.entries[key] = Entry { at: Time::NEVER, expired: false, waker: None };
        state.free.push(key);
    }

    pub(super) fn expire(&self, now: Time) {
        for entry in &mut self.state.borrow_mut().entries {
            if entry.at <= now && !entry.expired {
                entry.expired = true;
                if let Some(waker) = entry.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}
