//! What a node answers to a request.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use sojourn_stats::{Dimension, Span, Stream, Time, quantity};

use super::ailment::Ailment;
use super::body::NodeBody;
use super::emulation::{Emulation, NotServed, Served, Wanted};
use super::files::{Files, percent_decoded};
use super::log::AccessLog;
use super::processor::Processor;
use super::requests::Requests;
use super::spin::{Amount, spin};
use super::{BYTES_MAX, DEMAND_MAX, HEALTH, LOAD, NodeConfig, NodeCounts, PATIENCE};
use crate::report::Metric;
use crate::{ServeError, clock, headers, orca, target};

/// Load is averaged over the last one to two of these.
const LOAD_WINDOW: Span = Span(1_000_000_000);

/// What answers the requests of all connections.
pub(crate) struct Handler {
    name: HeaderValue,
    files: Option<Files>,
    log: Option<AccessLog>,
    emulation: Option<Emulation>,
    started: Time,
    requests: Arc<Requests>,
    busy: Mutex<BusyMarks>,
    ailment: Arc<Ailment>,
}

/// Busy time at two instants that lie a window apart.
#[derive(Clone, Copy)]
struct BusyMarks {
    older: (Time, Span),
    newer: (Time, Span),
}

type Reply = Response<NodeBody>;

impl Handler {
    pub(crate) fn new(config: NodeConfig) -> Result<Handler, ServeError> {
        let name = headers::name_value(&config.name)?;
        let ailment = Arc::new(Ailment::none(Stream::new(config.seed, &config.name, "errors")));
        let files = config.files.as_deref().map(Files::new).transpose()?;
        let log = config.log.as_deref().map(AccessLog::open).transpose()?;
        let emulation = Emulation::of(&config)?;
        let started = clock::now();
        let busy = if emulation.is_some() { Span::ZERO } else { clock::process_cpu() };
        let busy = Mutex::new(BusyMarks { older: (started, busy), newer: (started, busy) });
        Ok(Handler { name, files, log, emulation, started, requests: Arc::default(), busy, ailment })
    }

    /// The stations of what is emulated.
    pub(crate) fn stations(&self) -> &[Arc<Processor>] {
        self.emulation.as_ref().map_or(&[], Emulation::stations)
    }

    pub(crate) fn ailment(&self) -> &Arc<Ailment> {
        &self.ailment
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.requests.in_flight()
    }

    pub(crate) fn counts(&self, now: Time) -> NodeCounts {
        let totals = self.emulation.as_ref().map(Emulation::totals).unwrap_or_default();
        NodeCounts {
            requests: self.requests.all(),
            in_flight: self.in_flight(),
            in_flight_max: self.requests.most(),
            served: totals.served,
            denied: totals.denied,
            cancelled: totals.cancelled,
            busy_s: totals.busy.as_secs_f64(),
            demand_s: totals.demand.as_secs_f64(),
            elapsed_s: now.saturating_since(self.started).as_secs_f64(),
            ..NodeCounts::default()
        }
    }

    /// Answers one request of `client`. Dropped when the client goes away, and whatever it waits for with it.
    pub(crate) async fn answer(
        self: Arc<Handler>,
        client: IpAddr,
        mut request: Request<Incoming>,
    ) -> Result<Reply, Infallible> {
        let head = request.method() == Method::HEAD;
        let line = self.log.as_ref().and_then(|log| log.line(client, &request));
        let mut reply = match target::settle(&mut request) {
            Ok(()) => self.route(request).await,
            Err((status, wrong)) => text(status, format!("{wrong}\n")),
        };
        reply.headers_mut().insert(headers::BACKEND, self.name.clone());
        if head {
            let size = reply.body().size();
            reply.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size));
            *reply.body_mut() = NodeBody::whole("");
        }
        if let (Some(log), Some(line)) = (&self.log, line) {
            log.write(line, reply.status(), reply.body().size());
        }
        Ok(reply)
    }

    async fn route(self: &Arc<Handler>, request: Request<Incoming>) -> Reply {
        let path = request.uri().path();
        match path {
            LOAD => return self.load(),
            HEALTH => return text(StatusCode::OK, "ok\n"),
            _ => {}
        }
        let in_flight = self.requests.enter();
        if self.ailment.fails() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "");
        }
        if path == "/work" || path.starts_with("/work/") {
            return match self.work(request).await {
                Ok(reply) => reply.map(|body| body.with(in_flight)),
                Err(refusal) => refusal,
            };
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served here\n");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        let reply = match path.strip_prefix("/bytes/") {
            Some(size) => match size.parse() {
                Ok(size) if size <= BYTES_MAX => bytes(NodeBody::filler(size), "application/octet-stream"),
                _ => text(StatusCode::BAD_REQUEST, format!("/bytes/N wants a whole number up to {BYTES_MAX}\n")),
            },
            None => match self.files.as_ref().and_then(|files| files.open(path)) {
                Some((body, media_type)) => bytes(body, media_type),
                None => text(StatusCode::NOT_FOUND, "there is no such file here\n"),
            },
        };
        reply.map(|body| body.with(in_flight))
    }

    async fn work(self: &Arc<Handler>, request: Request<Incoming>) -> Result<Reply, Reply> {
        let asked = Asked::parse(&request).map_err(|why| text(StatusCode::BAD_REQUEST, format!("{why}\n")))?;
        let body = request.into_body();
        if !body.is_end_stream() && !drain(body).await {
            return Err(text(StatusCode::REQUEST_TIMEOUT, "the body of the request came too slowly\n"));
        }
        let served = match (&self.emulation, asked.rounds) {
            (Some(emulation), None) => Some(self.emulate(emulation, &asked).await?),
            (_, Some(rounds)) => {
                spin(Amount::Rounds(rounds)).await;
                None
            }
            (None, None) => {
                let Some(demand) = asked.demand else {
                    let wanted = "/work wants ?iter=N, ?demand=10ms or the header x-sojourn-demand here\n";
                    return Err(text(StatusCode::BAD_REQUEST, wanted));
                };
                spin(Amount::Time(demand)).await;
                None
            }
        };
        let mut reply = bytes(NodeBody::filler(asked.size), "application/octet-stream");
        if let Some(served) = served {
            reply.headers_mut().insert(headers::SERVICE, service_value(served));
        }
        Ok(reply)
    }

    async fn emulate(&self, emulation: &Emulation, asked: &Asked) -> Result<Served, Reply> {
        let full = || text(StatusCode::SERVICE_UNAVAILABLE, "the server is full\n");
        if !emulation.takes(self.in_flight()) {
            return Err(full());
        }
        let wanted = asked.wanted();
        let service = self.ailment.of(emulation.server.service_time(emulation.work_of(&wanted)));
        emulation.serve(&wanted, service).await.map_err(|why| match why {
            NotServed::Full => full(),
            NotServed::TooLong(service) => {
                let words = format!("the model makes this a service of {service}; at most {DEMAND_MAX} are served\n");
                text(StatusCode::INTERNAL_SERVER_ERROR, words)
            }
        })
    }

    fn load(&self) -> Reply {
        let mut load = orca::Load::of_in_flight(self.in_flight());
        load.cpu_utilization = Some(self.utilization());
        load.named_metrics.extend(self.totals().into_iter().map(|(metric, value)| (metric.name().into(), value)));
        let report = load.to_text();
        let value = HeaderValue::from_str(&report).expect("a load report is plain text");
        let mut reply = text(StatusCode::OK, format!("{report}\n"));
        reply.headers_mut().insert(HeaderName::from_static(orca::HEADER), value);
        reply
    }

    /// What the emulated server has done, for those who make differences of it.
    fn totals(&self) -> Vec<(Metric, f64)> {
        let Some(emulation) = &self.emulation else { return Vec::new() };
        let (totals, cores) = (emulation.totals(), f64::from(emulation.server.cores));
        let elapsed = clock::now().saturating_since(self.started);
        vec![
            (Metric::Arrived, totals.arrived as f64),
            (Metric::Completed, totals.served as f64),
            (Metric::Stayed, totals.stayed.as_secs_f64()),
            (Metric::Busy, totals.busy.as_secs_f64()),
            (Metric::CoreTime, cores * elapsed.as_secs_f64()),
            (Metric::Cores, cores),
        ]
    }

    /// Share of the (emulated) processor that was busy lately.
    fn utilization(&self) -> f64 {
        let (busy, cores) = match &self.emulation {
            Some(emulation) => (emulation.totals().busy, emulation.server.cores),
            None => (clock::process_cpu(), 1),
        };
        let now = clock::now();
        let mut marks = self.busy.lock().expect("nothing panics while it holds the marks");
        if now.saturating_since(marks.newer.0) >= LOAD_WINDOW {
            *marks = BusyMarks { older: marks.newer, newer: (now, busy) };
        }
        let (since, before) = marks.older;
        let elapsed = now.saturating_since(since).as_secs_f64() * f64::from(cores.max(1));
        let worked = busy.as_secs_f64() - before.as_secs_f64();
        if elapsed > 0.0 { worked.max(0.0) / elapsed } else { 0.0 }
    }
}

/// What a request for `/work` says of itself.
struct Asked {
    demand: Option<Span>,
    rounds: Option<u64>,
    size: u64,
    class: String,
    object: Option<u32>,
}

impl Asked {
    fn parse(request: &Request<Incoming>) -> Result<Asked, String> {
        let mut asked = Asked { demand: None, rounds: None, size: 0, class: String::new(), object: None };
        for pair in request.uri().query().unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let whole = || value.parse::<u64>().map_err(|_| format!("{key}={value}: not a whole number"));
            match key {
                "iter" => asked.rounds = Some(whole()?),
                "bytes" => asked.size = whole()?,
                "demand" => asked.demand = Some(duration(value).map_err(|why| format!("demand: {why}"))?),
                "class" => asked.class = value.to_owned(),
                "object" => {
                    asked.object = Some(value.parse().map_err(|_| format!("object={value}: not a file's number"))?)
                }
                // Anything else is for the caller's own use, such as defeating a cache.
                _ => {}
            }
        }
        if let Some(value) = request.headers().get(headers::DEMAND) {
            let ns = value.to_str().ok().and_then(|ns| ns.trim().parse().ok());
            let wrong = || format!("{}: {value:?} is not a whole number of nanoseconds", headers::DEMAND.as_str());
            asked.demand = Some(Span(ns.ok_or_else(wrong)?));
        }
        if let Some(demand) = asked.demand.filter(|demand| *demand > DEMAND_MAX) {
            return Err(format!("a demand of {demand} is too long: at most {DEMAND_MAX} are served"));
        }
        if asked.size > BYTES_MAX {
            return Err(format!("{} bytes are too many: at most {BYTES_MAX} are served", asked.size));
        }
        if let Some(Ok(class)) = request.headers().get(headers::CLASS).map(HeaderValue::to_str) {
            asked.class = class.to_owned();
        }
        Ok(asked)
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted { demand: self.demand, class: &self.class, object: self.object, size: self.size }
    }
}

/// `10ms`, `10 ms`, `10%20ms` or `10+ms`.
fn duration(text: &str) -> Result<Span, String> {
    let text = percent_decoded(&text.replace('+', " ")).ok_or("a broken %-escape")?;
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let spaced = format!("{} {}", text[..unit].trim(), text[unit..].trim());
    let seconds = quantity::parse(&spaced, Dimension::Time).map_err(|error| error.to_string())?;
    if seconds >= 0.0 { Ok(Span::from_secs_f64(seconds)) } else { Err(format!("{text} is negative")) }
}

/// `waited=NS stayed=NS`: the request's own times on the virtual processor, free of the machine's lateness.
fn service_value(Served { waited, stayed }: Served) -> HeaderValue {
    HeaderValue::from_str(&format!("waited={} stayed={}", waited.0, stayed.0)).expect("digits are plain text")
}

/// Whether a body came to its end in time. An error means that the client left, which ends the whole request.
async fn drain(mut body: Incoming) -> bool {
    loop {
        match tokio::time::timeout(PATIENCE.as_std(), body.frame()).await {
            Ok(Some(Ok(_))) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

fn bytes(body: NodeBody, media_type: &'static str) -> Reply {
    let mut reply = Response::new(body);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}

fn text(status: StatusCode, words: impl Into<hyper::body::Bytes>) -> Reply {
    let mut reply = bytes(NodeBody::whole(words), "text/plain; charset=utf-8");
    *reply.status_mut() = status;
    reply
}
