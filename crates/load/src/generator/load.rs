//! What a run is asked for, with the defaults of all that has one.

use std::net::{IpAddr, SocketAddr, TcpListener};

use sojourn_stats::{Law, Span};
use sojourn_traffic::Http;

use crate::error::LoadError;
use crate::generator::attempts::Attempts;
use crate::recorder::records::RecordFile;
use crate::report::limits::Limits;
use crate::request::endpoint::Endpoint;
use crate::request::url::Url;
use crate::request::{Body, Method, Targets};
use crate::schedule::sessions::PARALLEL_MAX;
use crate::schedule::{Coming, Schedule};
use crate::setting::{Pacing, Resolves, Rotation, Stop, Version};
use crate::share::Share;
use crate::wire::allowed::Allowed;
use crate::wire::tls::Tls;

/// Most streams of an HTTP/2 connection.
const MAX_STREAMS: u32 = 1024;
/// Of [`Load::connections_max`]: as many connections as a plan needs.
pub const AS_NEEDED: u32 = u32::MAX;

/// The Connection Attempt Delay that RFC 8305 (section 5) recommends.
const NEXT_ADDRESS: Span = Span(250_000_000);

/// The load to put on a server, and what to keep of it.
#[derive(Debug)]
pub struct Load {
    /// Where the requests go.
    pub endpoints: Vec<Endpoint>,
    /// The forward proxy that all requests go through, over HTTP/1 and without TLS; none: they go to the endpoints themselves.
    pub proxy: Option<Url>,
    /// How they are dealt to the endpoints.
    pub rotation: Rotation,
    /// Who asks when.
    pub schedule: Schedule,
    /// What is asked for.
    pub targets: Targets,
    /// The requests' method.
    pub method: Method,
    /// Headers that every request carries besides `host`, as name and value; a value is a [`crate::Template`].
    pub headers: Vec<(String, String)>,
    /// The names of the classes of requests, by class number, which planned requests carry as `x-sojourn-class`. Empty:
    /// they carry none.
    pub classes: Vec<String>,
    /// The classes, by number, whose requests go to the endpoints of https; all others then go to those of http. Empty: every
    /// endpoint is for all.
    pub secure: Vec<u8>,
    /// The requests' body; its length is said.
    pub body: Body,
    /// The HTTP that they are sent in. Users who browse by HTTP/1.0 have that.
    pub http: Version,
    /// Most streams of an HTTP/2 connection. Neighbouring users share one; of users who browse each has one.
    pub streams: u32,
    /// How a server proves who it is.
    pub tls: Tls,
    /// The name server to ask; none: the system's.
    pub resolver: Option<SocketAddr>,
    /// When users resolve a host's name again.
    pub resolves: Resolves,
    /// How long a user waits for one of several addresses to take a connection before it tries the next one beside it.
    pub next_address: Span,
    /// Whether each endpoint is tried once before the start, so that one that is not there is said and not counted. Over a
    /// path that loses packets one attempt proves nothing, and it is a question to the name server.
    pub tries_first: bool,
    /// How many redirects are followed within one response time; beyond that a request has failed. 0: a redirect is
    /// a reply like others.
    pub redirects: u32,
    /// Whether a request that is redirected to a server that takes no connection is asked for again where it first was: at
    /// once, then every 100 ms until its timeout. Not over HTTP/2.
    pub returns: bool,
    /// Local addresses to connect from, in turn by client, or by connection in an open schedule; none: the
    /// system chooses.
    pub local: Vec<IpAddr>,
    /// A planned request that is noticed later than this is not sent, and counted as missed.
    pub catch_up: Span,
    /// Connections for what a plan has due in this first time stand before the start (HTTP/1.1): else the first
    /// requests of a high rate each opened one, which may take longer than the requests themselves.
    pub open_ahead: Span,
    /// What templates are drawn from.
    pub seed: u64,
    /// Whether each client sends back the `SOJOURN=...` cookie that it was given last. A plan is then dealt to
    /// threads by client.
    pub cookies: bool,
    /// Most connections of an open schedule; closed users have one each, and users who browse say how many.
    /// [`AS_NEEDED`]: of a plan over HTTP/1 as many as it takes, up to 28,000 and to the files that may be open; 1024 else.
    pub connections_max: u32,
    /// Threads; more than the machine's cores never help.
    pub threads: usize,
    /// How a thread waits for the next planned instant.
    pub pacing: Pacing,
    /// A request without a whole reply this long after it began has failed.
    pub timeout: Span,
    /// Clients that ask for a request more than once, or tell the server until when they wait. An attempt's own time-out is then
    /// theirs, and `timeout` at least as long. None: each request is asked for once. Not where users browse or follow scenarios.
    pub attempts: Option<Attempts>,
    /// Requests planned before this are sent, but left out of the samples; a file counts with its object.
    pub warm_up: Span,
    /// When no more requests are planned.
    pub stop: Stop,
    /// How long requests under way may take after that; then they count as unfinished.
    pub grace: Span,
    /// The addresses that it may be put on, redirects and names included.
    pub allowed: Allowed,
    /// Whether progress also tells response times and lateness as they come.
    pub watched: bool,
    /// Whether to keep a [`crate::Record`] of every request (152 bytes each).
    pub keep_records: bool,
    /// The law (s) of the gaps of an open schedule, where it is a renewal process: what was sent is then held to it.
    pub asked: Option<Law>,
    /// Where to write a record of every request, in flat memory; see [`crate::recorder::records`].
    pub record_file: Option<RecordFile>,
    /// How much it may be disturbed before its verdict doubts it.
    pub limits: Limits,
    /// Which share of the schedule this process runs. The numbers of connections, requests and users are those of all
    /// shares together.
    pub share: Share,
    /// What `CLOCK_REALTIME` says (ns since 1970) when the schedule's time is zero; as soon as possible where nothing is
    /// said. For shares that are to start as one.
    pub start_at: Option<u64>,
}

impl Load {
    /// A load with the defaults of everything that has one: one thread, as many connections as a plan needs, timer
    /// pacing, 10 s timeout and grace, no warm-up, for 10 s.
    pub fn new(target: SocketAddr, host: impl Into<String>, schedule: Schedule, targets: Targets) -> Load {
        Load::of(vec![Endpoint::at(target, host)], schedule, targets)
    }

    /// The same for the endpoints of these URLs: a plan asks them in turn by the request's number, a user keeps to one.
    pub fn to(urls: &[Url], schedule: Schedule, targets: Targets) -> Load {
        let rotation = if matches!(schedule, Schedule::Open(_)) { Rotation::Request } else { Rotation::Client };
        Load { rotation, ..Load::of(urls.iter().map(Endpoint::from).collect(), schedule, targets) }
    }

    /// The same load over several addresses of its host, as round-robin DNS deals clients to them. Requests say what they
    /// said before; only where they go changes.
    #[must_use]
    pub fn rotated(mut self, addresses: &[SocketAddr], rotation: Rotation) -> Load {
        let moved = |endpoint: &Endpoint| addresses.iter().map(|&to| endpoint.moved(to)).collect::<Vec<_>>();
        self.endpoints = self.endpoints.iter().flat_map(moved).collect();
        self.rotation = rotation;
        self
    }

    fn of(endpoints: Vec<Endpoint>, schedule: Schedule, targets: Targets) -> Load {
        Load {
            endpoints,
            proxy: None,
            rotation: Rotation::Client,
            schedule,
            targets,
            method: Method::Get,
            headers: Vec::new(),
            classes: Vec::new(),
            secure: Vec::new(),
            body: Body::None,
            http: Version::Http11,
            streams: 1,
            tls: Tls::default(),
            resolver: None,
            resolves: Resolves::Ttl,
            next_address: NEXT_ADDRESS,
            tries_first: true,
            redirects: 0,
            returns: false,
            local: Vec::new(),
            catch_up: Span(1_000_000_000),
            open_ahead: Span(10_000_000),
            seed: 1,
            cookies: false,
            connections_max: AS_NEEDED,
            threads: 1,
            pacing: Pacing::Timer,
            timeout: Span(10_000_000_000),
            attempts: None,
            warm_up: Span::ZERO,
            stop: Stop::After(Span(10_000_000_000)),
            grace: Span(10_000_000_000),
            allowed: Allowed::Private,
            watched: false,
            keep_records: false,
            asked: None,
            record_file: None,
            limits: Limits::default(),
            share: Share::WHOLE,
            start_at: None,
        }
    }

    /// Whether the settings go together.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let invalid = |what: &str| Err(LoadError::Invalid(what.to_owned()));
        if self.threads == 0 {
            return invalid("threads: at least 1");
        }
        for &local in &self.local {
            if let Err(error) = TcpListener::bind(SocketAddr::new(local, 0)) {
                return Err(LoadError::Invalid(format!(
                    "local address {local}: {error}; it has to be one of this host"
                )));
            }
        }
        if self.endpoints.is_empty() {
            return invalid("endpoints: at least one");
        }
        if self.http == Version::Http2 && !(1..=MAX_STREAMS).contains(&self.streams) {
            return Err(LoadError::Invalid(format!(
                "streams = {}: an HTTP/2 connection has 1 to {MAX_STREAMS} of them here",
                self.streams
            )));
        }
        if self.http == Version::Http2 && matches!(self.schedule, Schedule::Sessions { http: Http::V10, .. }) {
            return invalid("http: users who browse by HTTP/1.0 do not speak HTTP/2");
        }
        if self.returns && self.redirects == 0 {
            return invalid("returns: from where a redirect led; so follow redirects, e.g. one");
        }
        if self.returns && self.http == Version::Http2 {
            return invalid("returns: only over HTTP/1; what HTTP/2 cannot connect to has failed");
        }
        if self.returns && self.proxy.is_some() {
            return invalid("returns: a proxy opens the connections to servers, and answers for those that take none");
        }
        if self.timeout == Span::ZERO {
            return invalid("timeout: longer than 0, e.g. `10 s`");
        }
        if let Some(attempts) = &self.attempts {
            if matches!(self.schedule, Schedule::Sessions { .. } | Schedule::Scenarios { .. }) {
                return invalid("attempts: users who browse or follow scenarios ask for each request once");
            }
            if attempts.has_hedge() && self.http == Version::Http2 && !matches!(self.schedule, Schedule::Open(_)) {
                return invalid("attempts: over HTTP/2 only requests of a plan are hedged, not those of users");
            }
        }
        match self.stop {
            Stop::After(end) if end <= self.warm_up => {
                return Err(LoadError::Invalid(format!(
                    "duration: {end} is all warm-up ({}); it has to be longer",
                    self.warm_up
                )));
            }
            Stop::Requests(0) => return invalid("requests: at least 1"),
            _ => {}
        }
        let Share { index, of } = self.share;
        if index >= of {
            return Err(LoadError::Invalid(format!("share {index} of {of}: shares are numbered from 0")));
        }
        let threads = self.threads as u64 * u64::from(of);
        match &self.schedule {
            Schedule::Open(_) if u64::from(self.connections_max) < threads => {
                invalid("connections: at least one per thread of every share")
            }
            Schedule::Users(users) if (users.len() as u64) < threads => {
                invalid("users: at least one per thread of every share")
            }
            Schedule::Sessions { users, .. } if (users.len() as u64) < threads => {
                invalid("users: at least one per thread of every share")
            }
            Schedule::Sessions { parallel, .. } if !(1..=PARALLEL_MAX).contains(parallel) => {
                Err(LoadError::Invalid(format!("parallel = {parallel}: a user has 1 to {PARALLEL_MAX} connections")))
            }
            Schedule::Scenarios { coming: Coming::Users(users), .. } if u64::from(*users) < threads => {
                invalid("users: at least one per thread of every share")
            }
            Schedule::Scenarios { coming: Coming::Plan(_), .. } if u64::from(self.connections_max) < threads => {
                invalid("connections: at least one per thread of every share")
            }
            Schedule::Saturate { connections, .. } if u64::from(*connections) < threads => {
                invalid("connections: at least one per thread of every share")
            }
            _ => Ok(()),
        }
    }
}
