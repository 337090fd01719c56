//! What a gateway thread has: its board, its kept connections, and the deadlines of what it waits for.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use sojourn_dispatch::{BackendId, Signals};
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::{Backend, ServeError, clock, headers};
use sojourn_stats::{Span, Time};

use super::board::{Board, Choice};
use super::id::GatewayId;
use super::link::{Link, Pool};
use crate::redirection::RedirectStatus;

/// One thread of a gateway.
pub(super) struct Worker {
    pub(super) board: Rc<Board>,
    pub(super) config: Arc<GatewaySettings>,
    /// The status of its answers, where it redirects.
    pub(super) redirect: Option<RedirectStatus>,
    pub(super) id: Arc<GatewayId>,
    pub(super) pool: Pool,
    pub(super) deadlines: Deadlines,
    pub(super) client_header: Option<HeaderName>,
    /// Whether it takes the load that replies bear.
    pub(super) reads_reports: bool,
    /// Per backend: its name and address as header values, and its cookie.
    names: Vec<HeaderValue>,
    hosts: Vec<HeaderValue>,
    cookies: Vec<HeaderValue>,
    /// Per backend: the URL that clients reach it by, without a slash at its end.
    urls: Vec<String>,
}

/// What is at the other end of a client's connection.
pub(super) struct Peer {
    pub(super) key: u64,
    pub(super) address: HeaderValue,
}

impl Worker {
    /// One that forwards, or redirects with a status; and keeps at most `keep` idle connections to each backend.
    pub(super) fn new(
        board: Rc<Board>,
        config: Arc<GatewaySettings>,
        (redirect, keep): (Option<RedirectStatus>, usize),
        id: Arc<GatewayId>,
    ) -> Result<Worker, ServeError> {
        let value = |text: String| HeaderValue::from_str(&text).expect("names and addresses are fit for headers");
        let names = config.backends.iter().map(|backend| headers::name_value(&backend.name));
        let names = names.collect::<Result<_, _>>()?;
        let hosts = config.backends.iter().map(|backend| value(backend.address.to_string())).collect();
        let cookie = |name: &str| value(format!("{}={name}; Path=/; HttpOnly", config.cookie));
        let cookies = config.backends.iter().map(|backend| cookie(&backend.name)).collect();
        let client_header = config.client_header.as_ref().and_then(|name| name.parse().ok());
        let pool = Pool::new(config.backends.len(), keep);
        let deadlines = Deadlines::default();
        let urls = config.backends.iter().map(Backend::url).collect();
        // Only a policy that goes by it is told of it.
        let reads_reports = config.face.orca_headers && board.requires.contains(Signals::REPORTS);
        Ok(Worker {
            board,
            config,
            redirect,
            id,
            pool,
            deadlines,
            client_header,
            reads_reports,
            names,
            hosts,
            cookies,
            urls,
        })
    }

    pub(super) fn name(&self, backend: BackendId) -> &HeaderValue {
        &self.names[backend.0 as usize]
    }

    pub(super) fn host(&self, backend: BackendId) -> &HeaderValue {
        &self.hosts[backend.0 as usize]
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
                self.pool.put(link, context);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// A new connection to a backend.
    pub(super) async fn open(&self, backend: BackendId) -> io::Result<Box<Link>> {
        let address = self.config.backends[backend.0 as usize].address;
        Link::open(&self.board, backend, address, self.config.timeouts.connect).await
    }

    pub(super) fn url(&self, backend: BackendId) -> &str {
        &self.urls[backend.0 as usize]
    }

    /// Adds to a reply what concerns the choice: the cookie by which the client comes back, and why.
    pub(super) fn annotate(
        &self,
        headers: &mut HeaderMap,
        choice: Choice,
        backend: BackendId,
        cookie: Option<BackendId>,
    ) {
        if self.board.requires.contains(Signals::COOKIE) && cookie != Some(backend) {
            headers.append(SET_COOKIE, self.cookies[backend.0 as usize].clone());
        }
        if let Some(candidates) = choice.candidates {
            headers::explain(headers, &choice.decision.reason.to_string(), candidates);
        }
    }

    /// Wakes what has waited too long, weeds out closed connections, and publishes counts.
    pub(super) async fn keep_time(self: Rc<Self>) {
        let timeouts = &self.config.timeouts;
        let shortest = timeouts.reply.min(timeouts.idle).0;
        // A timeout is kept to a tenth of itself; a timer per request would cost more than it is worth.
        let period = Duration::from_nanos((shortest / 10).clamp(1_000_000, 100_000_000));
        let mut weeded = clock::now();
        loop {
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
    pub(super) fn new(address: IpAddr) -> Peer {
        let text = address.to_canonical().to_string();
        let key = sojourn_dispatch::key(&text);
        Peer { key, address: HeaderValue::from_str(&text).expect("an address is fit for a header") }
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
