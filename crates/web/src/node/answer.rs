//! What a node answers to a request.

mod load;
mod service;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use sojourn_model::Server;
use sojourn_part::burn::Workers;
use sojourn_part::caller::Caller;
use sojourn_part::settings::node::{NodeLimits, NodeSettings};
use sojourn_part::{ServeError, clock, headers};
use sojourn_report::orca;
use sojourn_stats::{Span, Stream, Time};

use super::ailment::Ailment;
use super::body::NodeBody;
use super::broker::{Broker, Place};
use super::dynamic::Dynamic;
use super::emulation::Emulation;
use super::files::Files;
use super::hand_over::{Passed, from_copy, pass_on};
use super::limits::is_too_large;
use super::log::{AccessLog, Line};
use super::oracle::{Learner, Metered};
use super::processor::Processor;
use super::reply::{self, Reply, text};
use super::requests::Requests;
use super::stored::{STORED, Source};
use super::{BYTES_MAX, HEALTH, LOAD, NodeCounts};
use crate::gateway::Forwarder;
use crate::redirection::leave_body;
use crate::target;

use load::BusyMarks;

/// What answers the requests of all connections.
pub(crate) struct Handler {
    name: HeaderValue,
    has_test_paths: bool,
    files: Option<Files>,
    dynamic: Dynamic,
    log: Option<Arc<AccessLog>>,
    limits: NodeLimits,
    emulation: Option<Arc<Emulation>>,
    started: Time,
    requests: Arc<Requests>,
    busy: Arc<Mutex<BusyMarks>>,
    ailment: Arc<Ailment>,
    broker: Option<Arc<Broker>>,
    learner: Option<Arc<Learner>>,
    workers: Workers,
}

/// What a handler comes after.
pub(crate) enum Before<'a> {
    /// Nothing: the node starts, with this broker, as this server.
    Start(Option<Arc<Broker>>, Option<Server>),
    /// Another one, whose place it takes.
    Reload(&'a Handler),
}

/// An answer that is there at once, or that is waited for in a box of its own: what a future holds is moved for each request,
/// and files need little of it.
pub(crate) enum Answer {
    AtOnce(Option<Reply>),
    Later(Pin<Box<dyn Future<Output = Reply>>>),
}

/// What a request wants beside what its path names.
struct Wish {
    is_head: bool,
    wants_load: bool,
    line: Option<Line>,
}

impl Handler {
    /// What answers by these settings. Where it takes the place of another one, counts and the emulated server go on.
    pub(crate) fn new(settings: &NodeSettings, port: u16, before: Before<'_>) -> Result<Handler, ServeError> {
        let name = headers::name_value(&settings.name)?;
        let (limits, has_test_paths) = (settings.limits.clone(), settings.has_test_paths());
        let files = settings.files.as_ref().map(Files::new).transpose().map_err(|wrong| wrong.inside("files"))?;
        let root = settings.files.as_ref().map(|files| files.root.as_path());
        let dynamic = Dynamic::new(settings.cgi.as_ref(), settings.fastcgi.as_ref(), root, port)?;
        let log = settings.log.as_ref().map(AccessLog::open).transpose()?.map(Arc::new);
        let (broker, model) = match before {
            Before::Reload(Handler {
                emulation, started, requests, busy, ailment, broker, learner, workers, ..
            }) => {
                let (emulation, requests, busy) = (emulation.clone(), Arc::clone(requests), Arc::clone(busy));
                let (ailment, broker, learner) = (Arc::clone(ailment), broker.clone(), learner.clone());
                return Ok(Handler {
                    name,
                    has_test_paths,
                    files,
                    dynamic,
                    log,
                    limits,
                    emulation,
                    started: *started,
                    requests,
                    busy,
                    ailment,
                    broker,
                    learner,
                    workers: workers.clone(),
                });
            }
            Before::Start(broker, model) => (broker, model),
        };
        let ailment = Arc::new(Ailment::none(Stream::new(settings.seed, &settings.name, "errors")));
        let speed = broker.as_ref().map(|broker| broker.speed());
        let speed = speed.or(model.as_ref().map(|model| model.speed)).unwrap_or(1.0);
        let emulation = Emulation::of(settings, model)?.map(Arc::new);
        let learner = settings.learn.as_ref().map(|file| {
            let cannot = format!("cannot write what is learned to {}", file.display());
            let learner = Learner::new(file.clone(), speed);
            learner.map(Arc::new).map_err(|error| ServeError::Config(format!("{cannot}: {error}")))
        });
        let started = clock::now();
        let busy = if emulation.is_some() { Span::ZERO } else { clock::process_cpu() };
        let busy = Arc::new(Mutex::new(BusyMarks { older: (started, busy), newer: (started, busy) }));
        let (requests, learner) = (Arc::default(), learner.transpose()?);
        let workers = Workers::new(settings.workers);
        Ok(Handler {
            name,
            has_test_paths,
            files,
            dynamic,
            log,
            limits,
            emulation,
            started,
            requests,
            busy,
            ailment,
            broker,
            learner,
            workers,
        })
    }

    /// The stations of what is emulated.
    pub(crate) fn stations(&self) -> &[Arc<Processor>] {
        self.emulation.as_deref().map_or(&[], Emulation::stations)
    }

    pub(crate) fn ailment(&self) -> &Arc<Ailment> {
        &self.ailment
    }

    pub(crate) fn broker(&self) -> Option<&Arc<Broker>> {
        self.broker.as_ref()
    }

    /// Ends what is written on while it serves; says what could not be written.
    pub(crate) fn finish(&self) -> Result<(), ServeError> {
        if let Some(broker) = &self.broker {
            broker.finish();
        }
        self.learner
            .iter()
            .try_for_each(|learner| learner.write())
            .map_err(ServeError::system("cannot write what was learned"))
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.requests.in_flight()
    }

    pub(crate) fn log(&self) -> Option<&AccessLog> {
        self.log.as_deref()
    }

    pub(crate) fn counts(&self, now: Time) -> NodeCounts {
        let totals = self.emulation.as_deref().map(Emulation::totals).unwrap_or_default();
        NodeCounts {
            requests: self.requests.all(),
            in_flight: self.in_flight(),
            in_flight_max: self.requests.most(),
            served: totals.served,
            denied: totals.denied,
            cancelled: totals.cancelled,
            dropped: totals.dropped,
            busy_s: totals.busy.as_secs_f64(),
            demand_s: totals.demand.as_secs_f64(),
            elapsed_s: now.saturating_since(self.started).as_secs_f64(),
            cluster: self.broker.as_ref().map(|broker| broker.counts()),
            log_lost: self.log().map_or(0, AccessLog::lost),
            ..NodeCounts::default()
        }
    }

    /// Answers one request of `client`. Dropped when the client goes away, and whatever it waits for with it.
    pub(crate) fn answer(
        self: Arc<Handler>,
        caller: Caller,
        forwarder: Option<Rc<Forwarder>>,
        mut request: Request<Incoming>,
    ) -> Answer {
        let is_logged = !self.is_about_itself(request.uri().path());
        let line = self.log.as_ref().filter(|_| is_logged).map(|log| log.line(caller.address.ip(), &request));
        let wants_load = request.headers().get(orca::WANTED).is_some_and(|form| form.as_bytes() == b"TEXT");
        let wish = Wish { is_head: request.method() == Method::HEAD, wants_load, line };
        let reply = match target::settle(&mut request) {
            Ok(()) if request.method() == Method::TRACE => {
                Some(text(StatusCode::METHOD_NOT_ALLOWED, "TRACE is not answered here\n"))
            }
            Ok(()) if is_too_large(&self.limits, &request) => Some(self.too_large()),
            Ok(()) if self.broker.is_none() && self.learner.is_none() => self.at_once(&request),
            Ok(()) => None,
            Err((status, wrong)) => Some(last(text(status, format!("{wrong}\n")))),
        };
        match reply {
            Some(reply) => Answer::AtOnce(Some(self.complete(reply, wish))),
            None => Answer::Later(Box::pin(async move {
                let reply = self.place(&caller, forwarder.as_deref(), request).await;
                self.complete(reply, wish)
            })),
        }
    }

    /// With what every reply has.
    fn complete(&self, mut reply: Reply, wish: Wish) -> Reply {
        if let Some(files) = &self.files {
            reply = files.dress(reply);
        }
        // What was forwarded says who made it.
        reply.headers_mut().entry(headers::BACKEND).or_insert_with(|| self.name.clone());
        if wish.wants_load {
            reply.headers_mut().insert(HeaderName::from_static(orca::HEADER), self.load_value());
        }
        if wish.is_head {
            let is_said = reply.status() == StatusCode::NOT_MODIFIED || reply.headers().contains_key(CONTENT_LENGTH);
            if let Some(size) = reply.body().size().filter(|_| !is_said) {
                reply.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size));
            }
            *reply.body_mut() = NodeBody::whole("");
        }
        match wish.line {
            Some(line) => AccessLog::attach(reply, line),
            None => reply,
        }
    }

    /// Here or elsewhere, as the broker says.
    async fn place(
        self: &Arc<Handler>,
        caller: &Caller,
        forwarder: Option<&Forwarder>,
        request: Request<Incoming>,
    ) -> Reply {
        let client = caller.address.ip();
        let (Some(broker), Some(forwarder)) = (&self.broker, forwarder) else {
            return self.serve(client, request, None).await;
        };
        let site = self.files.as_ref();
        let mut placed = broker.place(caller, &request, site, || self.is_in_vain(&request));
        let mut reply = match std::mem::replace(&mut placed.place, Place::Here) {
            Place::Here => self.serve(client, request, None).await,
            Place::Fetches(peer) => {
                let source = Source { broker, forwarder, peer, client };
                self.serve(client, request, Some(source)).await
            }
            Place::Elsewhere(status, location) => {
                let mut reply = Response::new(NodeBody::whole(""));
                *reply.status_mut() = status.code();
                leave_body(request, reply.headers_mut(), self.limits.body_timeout.as_std());
                reply.headers_mut().insert(LOCATION, location);
                reply
            }
            Place::Copied(copy) => from_copy(broker, &copy.0, &request),
            place @ (Place::Through(peer) | Place::Owned(peer)) => {
                let is_fetched = matches!(place, Place::Owned(_));
                match pass_on(broker, forwarder, client, (peer, is_fetched), request, self.files.as_ref()).await {
                    Passed::Answered(reply) => reply,
                    Passed::Back(request) => self.serve(client, request, None).await,
                }
            }
            Place::Nowhere => text(StatusCode::SERVICE_UNAVAILABLE, "no node of the cluster can serve this now\n"),
        };
        placed.annotate(reply.headers_mut());
        reply
    }

    /// Whether the site has nothing to read for a request: it is answered by a refusal or a redirection.
    fn is_in_vain(&self, request: &Request<Incoming>) -> bool {
        let (path, method) = (request.uri().path(), request.method());
        let Some(files) = &self.files else { return false };
        let is_made = self.is_work(path) || self.has_test_paths && path.starts_with("/bytes/");
        let is_of_site = !is_made && self.dynamic.find(path, Some(files)).is_none();
        is_of_site && !(matches!(*method, Method::GET | Method::HEAD) && files.can_read(path))
    }

    /// Here, and learns from it where it is to. `source` has the file, where it is one of another node's emulated disk.
    async fn serve(
        self: &Arc<Handler>,
        client: IpAddr,
        request: Request<Incoming>,
        source: Option<Source<'_>>,
    ) -> Reply {
        let Some(learner) = self.learner.as_ref().filter(|_| !self.is_about_itself(request.uri().path())) else {
            return self.route(client, request, source).await;
        };
        let (path, before) = (request.uri().path().to_owned(), self.requests.all());
        let named = request.headers().get(headers::CLASS).and_then(|class| class.to_str().ok()).unwrap_or("");
        let (class, was_alone) = (named.to_owned(), self.in_flight() == 0);
        let (reply, taken) = Metered::new(self.route(client, request, source)).await;
        if reply.status() == StatusCode::OK {
            let is_alone = was_alone && self.requests.all() == before + 1;
            learner.learn(&path, &class, taken, is_alone, reply.body().size().unwrap_or(0));
        }
        reply
    }

    async fn route(
        self: &Arc<Handler>,
        client: IpAddr,
        request: Request<Incoming>,
        source: Option<Source<'_>>,
    ) -> Reply {
        if let Some(reply) = self.at_once(&request) {
            return reply;
        }
        let path = request.uri().path();
        if let Some(emulation) = self.emulation.as_deref().filter(|_| path.starts_with(STORED)) {
            // No request of a client's: the node whose client wants it has counted that.
            return self.stored(emulation, &request).await.unwrap_or_else(|refusal| refusal);
        }
        let in_flight = self.requests.enter();
        if self.ailment.fails() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "");
        }
        if self.is_work(path) {
            return match self.work(request, source).await {
                Ok(reply) => reply.map(|body| body.with(in_flight)),
                Err(refusal) => refusal,
            };
        }
        let program = self.dynamic.find(path, self.files.as_ref()).expect("all else is answered at once");
        let reply = self.dynamic.answer(program, self.files.as_ref(), client, request).await;
        reply.map(|body| body.with(in_flight))
    }

    /// The answer, where nothing is waited for: all but emulated work and programs.
    fn at_once(&self, request: &Request<Incoming>) -> Option<Reply> {
        let path = request.uri().path();
        if self.is_about_itself(path) {
            return Some(if path == LOAD { self.load() } else { text(StatusCode::OK, "ok\n") });
        }
        let is_stored = self.emulation.is_some() && path.starts_with(STORED);
        if is_stored || self.is_work(path) || self.dynamic.find(path, self.files.as_ref()).is_some() {
            return None;
        }
        let in_flight = self.requests.enter();
        if self.ailment.fails() {
            return Some(text(StatusCode::SERVICE_UNAVAILABLE, ""));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served here\n");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(refusal);
        }
        let size = path.strip_prefix("/bytes/").filter(|_| self.has_test_paths);
        let reply = match (size, &self.files) {
            (Some(size), _) => match size.parse() {
                Ok(size) if size <= BYTES_MAX => reply::of(NodeBody::filler(size), "application/octet-stream"),
                _ => text(StatusCode::BAD_REQUEST, format!("/bytes/N wants a whole number up to {BYTES_MAX}\n")),
            },
            (None, Some(files)) => files.answer(request),
            (None, None) => text(StatusCode::NOT_FOUND, "there is no such file here\n"),
        };
        Some(reply.map(|body| body.with(in_flight)))
    }

    /// Whether this is the path of a question about the node itself, and not of a file of its site.
    fn is_about_itself(&self, path: &str) -> bool {
        let is_of_site = || {
            let files = self.files.as_ref();
            files.is_some_and(|files| files.has(path)) || self.dynamic.find(path, files).is_some()
        };
        matches!(path, LOAD | HEALTH) && (self.has_test_paths || !is_of_site())
    }

    /// Whether an emulated server, or the processor itself, is asked to work.
    fn is_work(&self, path: &str) -> bool {
        self.has_test_paths && (path == "/work" || path.starts_with("/work/"))
    }

    fn too_large(&self) -> Reply {
        let most = self.limits.body_size.0;
        text(StatusCode::PAYLOAD_TOO_LARGE, format!("the body of a request has at most {most} bytes here\n"))
    }
}

impl Future for Answer {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        match self.get_mut() {
            Answer::AtOnce(reply) => Poll::Ready(reply.take().expect("an answer is taken once")),
            Answer::Later(answering) => answering.as_mut().poll(cx),
        }
    }
}

/// The last reply of its connection: what else comes from such a client is not read.
fn last(mut refusal: Reply) -> Reply {
    refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    refusal
}
