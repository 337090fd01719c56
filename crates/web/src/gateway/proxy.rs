//! The way of a request through a gateway: choose, connect, send, hand the reply back; and again where that is safe.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hyper::body::{Body, Incoming};
use hyper::ext::on_informational;
use hyper::header::{HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use sojourn_dispatch::{Action, BackendId};
use sojourn_part::headers;
use sojourn_part::listen::Interim;
use sojourn_report::orca;

use super::flight::{Failure, Flight, Retrying};
use super::id::GatewayId;
use super::link::Link;
use super::queue;
use super::refusal::{refusal, rejection};
use super::reply::{Reply, Upstream};
use super::reporting;
use super::upload::{RequestBody, Upload};
use super::worker::{Peer, Worker};

/// A request that can be sent, perhaps again.
struct Message {
    /// None once it was sent for good.
    parts: Option<Parts>,
    /// None for a request without a body.
    body: Option<Incoming>,
    /// What such a request has in its place.
    empty: Option<Incoming>,
    /// How far the body is, where there is one.
    upload: Option<Rc<Upload>>,
    /// Where interim replies go, if its client understands them.
    interim: Option<Interim>,
    /// Whether it may reach a backend twice (RFC 9110, section 9.2.2) and needs no body for that.
    repeatable: bool,
}

/// A request that no backend has served.
pub(crate) struct Unserved {
    /// What its client is told.
    pub(crate) reply: Response<Reply>,
    /// Its body, where it may be served elsewhere: nothing of it was sent, or it may reach two servers.
    pub(crate) body: Option<Incoming>,
    /// The backend tried last takes no connections.
    pub(crate) is_unreachable: bool,
}

/// Forwards one request, of which the policy is told this.
pub(super) async fn forward(
    worker: Rc<Worker>,
    peer: Rc<Peer>,
    asked: sojourn_dispatch::Request,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Box<Unserved>> {
    let board = &worker.board;
    if worker.id.has_sent(request.headers()) {
        let words = "this request has been here before: the gateways forward to each other in a circle";
        return Ok(rejection(&worker, StatusCode::LOOP_DETECTED, words));
    }
    let mut message = Message::new(request, &peer, &worker.id);
    if let Some(parts) = message.parts.as_mut().filter(|_| worker.reads_reports()) {
        // A client that asks for a form of its own is answered in that one, which is read where it can be.
        parts.headers.entry(orca::WANTED).or_insert(HeaderValue::from_static("TEXT"));
    }
    let mut tried: Vec<BackendId> = Vec::new();
    let mut failure = None;
    loop {
        let mut choice = board.choose(&asked, &tried);
        let is_sent = matches!(choice.decision.action, Action::Forward(_) | Action::Queue);
        let retrying = (is_sent && !tried.is_empty()).then(|| Retrying::new(&worker));
        if choice.decision.action == Action::Queue {
            board.counts.waited.add(1);
            choice = queue::wait(board, &asked, choice).await;
        }
        let Action::Forward(backend) = choice.decision.action else {
            let reply = refusal(&worker, &choice.decision, failure);
            return Err(Box::new(Unserved { reply, body: message.left(), is_unreachable: false }));
        };
        let mut flight = Flight::begin(&worker, backend, choice.now, retrying);
        if failure.is_some() {
            board.counts.retried.add(1);
        }
        match attempt(&mut flight, &mut message).await {
            Ok((reply, link)) => {
                reporting::take_header(&worker, backend, reply.headers());
                let mut reply = deliver(reply, flight, link).await;
                let headers = reply.headers_mut();
                if !headers.contains_key(headers::BACKEND) {
                    headers.insert(headers::BACKEND, worker.name(backend));
                }
                worker.annotate(headers, choice, backend, asked.cookie);
                return Ok(reply);
            }
            Err(why) => {
                flight.failed(why);
                failure = Some((backend, why));
                // One that took too long may still be worked on, and would then be work for two.
                let again = why != Failure::TimedOut && message.parts.is_some();
                if !again || tried.len() >= worker.version().settings.face.retries as usize {
                    let reply = refusal(&worker, &choice.decision, failure);
                    let body = if again { message.left() } else { None };
                    return Err(Box::new(Unserved { reply, body, is_unreachable: why == Failure::Connect }));
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
    let mut kept = worker.take(backend).await;
    loop {
        let mut link = match kept.take() {
            Some(link) => link,
            None => worker.open(backend).await.map_err(|_| Failure::Connect)?,
        };
        let request = message.next(|| worker.host(backend));
        let mut sending = pin!(link.sender.try_send_request(request));
        // The future only waits for the reply: the request is already the connection's.
        flight.sent(message.upload.as_ref());
        let outcome = poll_fn(|context| {
            link.drive(context);
            if let Poll::Ready(outcome) = sending.as_mut().poll(context) {
                return Poll::Ready(Ok(outcome));
            }
            flight.poll_deadline(context).map(Err)
        })
        .await;
        match outcome {
            Ok(Ok(mut reply)) => {
                if !headers::settle_reply(&mut reply) {
                    return Err(Failure::Malformed);
                }
                flight.first_byte();
                return Ok((reply, link));
            }
            Ok(Err(mut error)) => {
                // A message that comes back never left.
                if let Some(request) = error.take_message() {
                    message.take_back(request);
                }
                if !(link.used && message.parts.is_some()) {
                    let malformed = error.error().is_parse();
                    return Err(flight.cause(if malformed { Failure::Malformed } else { Failure::Broken }));
                }
                // The backend had closed the kept connection; that is no failure of its.
                worker.board.counts.reconnected.add(1);
            }
            Err(late) => return Err(late),
        }
    }
}

/// The reply as the client gets it: complete where it has no body, still coming in otherwise.
async fn deliver(reply: Response<Incoming>, mut flight: Flight, link: Box<Link>) -> Response<Reply> {
    let (mut parts, body) = reply.into_parts();
    parts.version = Version::HTTP_11;
    let status = parts.status.as_u16();
    if body.is_end_stream() {
        flight.completed(status, 0);
        flight.worker().put(link).await;
        return Response::from_parts(parts, Reply::Empty);
    }
    let upstream = Upstream::new(body, status, flight, link);
    Response::from_parts(parts, Reply::Upstream(Box::new(upstream)))
}

impl Message {
    fn new(request: Request<Incoming>, peer: &Peer, id: &GatewayId) -> Message {
        let (mut parts, body) = request.into_parts();
        let interim = peer.interim.clone().filter(|_| parts.version == Version::HTTP_11);
        headers::strip_hop_by_hop(&mut parts.headers);
        id.sign(&mut parts.headers, parts.version);
        let before = parts.headers.get_all(headers::FORWARDED_FOR).iter().map(HeaderValue::as_bytes);
        let chain: Vec<_> = before.chain([peer.address.as_bytes()]).collect();
        let chain = HeaderValue::from_bytes(&chain.join(&b", "[..])).expect("header values and commas make one");
        parts.headers.insert(headers::FORWARDED_FOR, chain);
        parts.version = Version::HTTP_11;
        let (body, empty) = if body.is_end_stream() { (None, Some(body)) } else { (Some(body), None) };
        if body.as_ref().is_some_and(|body| body.size_hint().exact().is_none()) {
            // Unless it is said, a GET's body would not be sent.
            parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let upload = body.is_some().then(Rc::default);
        let idempotent = matches!(
            parts.method,
            Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
        );
        let repeatable = idempotent && body.is_none();
        Message { parts: Some(parts), body, empty, upload, interim, repeatable }
    }

    /// The body of one that can still be sent.
    fn left(self) -> Option<Incoming> {
        self.parts.and(self.body.or(self.empty))
    }

    /// The request to send now. One that may be repeated is kept.
    fn next(&mut self, host: impl FnOnce() -> HeaderValue) -> Request<RequestBody> {
        let parts = if self.repeatable { self.parts.clone() } else { self.parts.take() };
        let mut parts = parts.expect("an attempt is made only with a message to send");
        if !parts.headers.contains_key(HOST) {
            // HTTP/1.0 clients need not send one; HTTP/1.1 servers insist.
            parts.headers.insert(HOST, host());
        }
        let body = match (self.body.take(), &self.upload) {
            (Some(body), Some(upload)) => RequestBody::Stream(body, Rc::clone(upload)),
            _ => RequestBody::Empty,
        };
        let mut request = Request::from_parts(parts, body);
        if let Some(interim) = self.interim.clone() {
            // Whether it may send its body the client is told where it is read, here; what was not asked for, hyper keeps.
            on_informational(&mut request, move |reply| {
                if reply.status() != StatusCode::CONTINUE {
                    interim.send(reply.status(), reply.headers());
                }
            });
        }
        request
    }

    fn take_back(&mut self, request: Request<RequestBody>) {
        let (parts, body) = request.into_parts();
        self.parts = Some(parts);
        self.body = match body {
            RequestBody::Empty => None,
            RequestBody::Stream(body, _) => Some(body),
        };
    }
}
