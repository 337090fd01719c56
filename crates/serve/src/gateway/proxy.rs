//! The way of a request through a gateway: choose, connect, send, hand the reply back; and again where that is safe.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use sojourn_dispatch::{Action, BackendId, Decision, Signals, key};

use super::board::Choice;
use super::flight::{Failure, Flight};
use super::link::{self, Link};
use super::reply::{Ask, Reply, Upstream};
use super::worker::{self, Peer, Worker};
use crate::headers;

/// A request that can be sent, perhaps again.
struct Message {
    /// None once it was sent for good.
    parts: Option<Parts>,
    /// None for a request without a body.
    body: Option<Incoming>,
    /// Whether it may reach a backend twice (RFC 9110, section 9.2.2) and needs no body for that.
    repeatable: bool,
}

/// Answers one request. Dropped when the client goes away, and with it whatever is in flight for it.
pub(super) async fn forward(
    worker: Rc<Worker>,
    peer: Rc<Peer>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Infallible> {
    let board = &worker.board;
    board.counts.requests.add(1);
    if request.method() == Method::CONNECT {
        return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "this gateway makes no tunnels".into()));
    }
    let asked = asked(&worker, &peer, &request);
    let mut message = Message::new(request, &peer);
    let mut tried: Vec<BackendId> = Vec::new();
    let mut failure = None;
    loop {
        let Choice { decision, candidates, now } = board.choose(&asked, &tried);
        let Action::Forward(backend) = decision.action else {
            return Ok(refusal(&worker, &decision, failure));
        };
        let mut flight = Flight::begin(&worker, backend, now);
        if failure.is_some() {
            board.counts.retried.add(1);
        }
        match attempt(&mut flight, &mut message).await {
            Ok((reply, link)) => {
                let mut reply = deliver(reply, flight, link).await;
                dress(&worker, &mut reply, backend, asked.cookie);
                if let Some(candidates) = candidates {
                    explain(&mut reply, &decision, candidates);
                }
                return Ok(reply);
            }
            Err(why) => {
                flight.failed(why);
                failure = Some((backend, why));
                let again = why != Failure::TimedOut && message.parts.is_some();
                if !again || tried.len() >= worker.config.retries as usize {
                    return Ok(refusal(&worker, &decision, failure));
                }
                tried.push(backend);
            }
        }
    }
}

/// Sends the message and waits for the head of the reply.
async fn attempt(flight: &mut Flight, message: &mut Message) -> Result<(Response<Incoming>, Box<Link>), Failure> {
    let worker = Rc::clone(flight.worker());
    let backend = flight.backend();
    let mut kept = link::take(&worker.pool, backend).await;
    loop {
        let mut link = match kept.take() {
            Some(link) => link,
            None => Link::open(&worker, backend).await.map_err(|_| Failure::Connect)?,
        };
        let request = message.next(worker.host(backend));
        let mut sending = pin!(link.sender.try_send_request(request));
        // The future only waits for the reply: the request is already the connection's.
        flight.sent();
        let outcome = poll_fn(|context| {
            link.drive(context);
            if let Poll::Ready(outcome) = sending.as_mut().poll(context) {
                return Poll::Ready(Ok(outcome));
            }
            flight.poll_deadline(context).map(Err)
        })
        .await;
        match outcome {
            Ok(Ok(reply)) => {
                flight.first_byte();
                return Ok((reply, link));
            }
            Ok(Err(mut error)) => {
                // A message that comes back never left.
                if let Some(request) = error.take_message() {
                    message.take_back(request);
                }
                if !(link.used && message.parts.is_some()) {
                    return Err(Failure::Broken);
                }
                // The backend had closed the kept connection; that is no failure of its.
                worker.board.counts.reconnected.add(1);
            }
            Err(()) => return Err(Failure::TimedOut),
        }
    }
}

/// The reply as the client gets it: complete where it has no body, still coming in otherwise.
async fn deliver(reply: Response<Incoming>, mut flight: Flight, link: Box<Link>) -> Response<Reply> {
    let (mut parts, body) = reply.into_parts();
    headers::strip_hop_by_hop(&mut parts.headers);
    parts.version = Version::HTTP_11;
    let status = parts.status.as_u16();
    if body.is_end_stream() {
        flight.completed(status, 0);
        let mut link = Some(link);
        poll_fn(|context| {
            if let Some(link) = link.take() {
                flight.worker().pool.put(link, context);
            }
            Poll::Ready(())
        })
        .await;
        return Response::from_parts(parts, Reply::Empty);
    }
    let upstream = Upstream::new(body, status, flight, link);
    Response::from_parts(parts, Reply::Upstream(Box::new(upstream)))
}

/// Adds what the gateway itself has to say.
fn dress(worker: &Worker, reply: &mut Response<Reply>, backend: BackendId, cookie: Option<BackendId>) {
    let headers = reply.headers_mut();
    if !headers.contains_key(headers::BACKEND) {
        headers.insert(headers::BACKEND, worker.name(backend).clone());
    }
    if worker.board.requires.contains(Signals::COOKIE) && cookie != Some(backend) {
        headers.append(SET_COOKIE, worker.cookie(backend).clone());
    }
}

/// Adds why the backend was chosen. Many backends would make a header that clients refuse, so it is cut.
fn explain(reply: &mut Response<Reply>, decision: &Decision, mut candidates: String) {
    const LIMIT: usize = 2048;
    if candidates.len() > LIMIT {
        candidates.truncate(candidates[..LIMIT].rfind("; ").unwrap_or(0));
        candidates.push_str("; ...");
    }
    for (name, text) in [(headers::REASON, decision.reason.to_string()), (headers::CANDIDATES, candidates)] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            reply.headers_mut().insert(name, value);
        }
    }
}

/// What the policy is told of a request.
fn asked(worker: &Worker, peer: &Peer, request: &Request<Incoming>) -> sojourn_dispatch::Request {
    let headers = request.headers();
    let requires = worker.board.requires;
    let named = worker.client_header.as_ref().and_then(|name| headers.get(name)).and_then(|name| name.to_str().ok());
    let client = named.map_or(peer.key, key);
    let cookie = if requires.contains(Signals::COOKIE) { cookie_of(worker, headers) } else { None };
    let path = || request.uri().path_and_query().map_or("/", |path| path.as_str());
    let key = if requires.contains(Signals::PATH) { key(path()) } else { 0 };
    sojourn_dispatch::Request { client, class: class_of(worker, headers), cookie, key, ..Default::default() }
}

fn class_of(worker: &Worker, headers: &HeaderMap) -> u8 {
    let Some(name) = headers.get(headers::CLASS) else { return 0 };
    let number = worker.config.classes.iter().position(|known| known.as_bytes() == name.as_bytes());
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(0)
}

fn cookie_of(worker: &Worker, headers: &HeaderMap) -> Option<BackendId> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|cookie| {
        let (name, value) = cookie.split_once('=')?;
        if name.trim() == worker::COOKIE { worker.board.id(value.trim()) } else { None }
    })
}

/// The gateway's own words where no backend could serve.
fn refusal(worker: &Worker, decision: &Decision, failure: Option<(BackendId, Failure)>) -> Response<Reply> {
    let counts = &worker.board.counts;
    let Some((backend, failure)) = failure else {
        counts.refused.add(1);
        let words = match decision.action {
            Action::Refuse => {
                let (down, all) = (worker.board.down(), counts.backends.len());
                format!("no backend can take this request: {down} of {all} are down")
            }
            _ => "the policy asks for something that a gateway cannot do".into(),
        };
        return text(StatusCode::SERVICE_UNAVAILABLE, words);
    };
    counts.failed.add(1);
    let status = if failure == Failure::TimedOut { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    let words = failure.words(worker.config.timeouts.reply);
    let mut reply = text(status, format!("backend {} {words}", worker.board.name(backend)));
    reply.headers_mut().insert(headers::BACKEND, worker.name(backend).clone());
    reply
}

fn text(status: StatusCode, words: String) -> Response<Reply> {
    let mut reply = Response::new(Reply::Text(format!("gateway: {words}\n").into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}

impl Message {
    fn new(request: Request<Incoming>, peer: &Peer) -> Message {
        let (mut parts, body) = request.into_parts();
        headers::strip_hop_by_hop(&mut parts.headers);
        let forwarded = match parts.headers.get(headers::FORWARDED_FOR) {
            None => peer.address.clone(),
            Some(before) => {
                let chain = [before.as_bytes(), b", ", peer.address.as_bytes()].concat();
                HeaderValue::from_bytes(&chain).unwrap_or_else(|_| peer.address.clone())
            }
        };
        parts.headers.insert(headers::FORWARDED_FOR, forwarded);
        parts.version = Version::HTTP_11;
        if parts.uri.authority().is_some() {
            // A client may name the whole URL (RFC 9112, section 3.2.2); a server is asked for the path.
            let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
            parts.uri = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
        }
        let body = (!body.is_end_stream()).then_some(body);
        let idempotent = matches!(
            parts.method,
            Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
        );
        let repeatable = idempotent && body.is_none();
        Message { parts: Some(parts), body, repeatable }
    }

    /// The request to send now. One that may be repeated is kept.
    fn next(&mut self, host: &HeaderValue) -> Request<Ask> {
        let parts = if self.repeatable { self.parts.clone() } else { self.parts.take() };
        let mut parts = parts.expect("an attempt is made only with a message to send");
        if !parts.headers.contains_key(HOST) {
            // HTTP/1.0 clients need not send one; HTTP/1.1 servers insist.
            parts.headers.insert(HOST, host.clone());
        }
        let body = self.body.take().map_or(Ask::Empty, Ask::Stream);
        Request::from_parts(parts, body)
    }

    fn take_back(&mut self, request: Request<Ask>) {
        let (parts, body) = request.into_parts();
        self.parts = Some(parts);
        self.body = match body {
            Ask::Empty => None,
            Ask::Stream(body) => Some(body),
        };
    }
}
