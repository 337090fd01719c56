//! `sojourn gateway` and `sojourn redirect`: the live parts that forward and redirect, each alone. Run by hand they serve until
//! Ctrl-C; as children of a run they stop when their standard input closes.

use std::net::SocketAddr;
use std::path::PathBuf;

use sojourn_dispatch::{Information, Limit};
use sojourn_part::{Backend, ServeError};
use sojourn_stats::{Dimension, Span, quantity};
use sojourn_web::{Face, GatewayConfig, OrcaConfig, RedirectStatus, child};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::reporting::Reporting;
use crate::value::{count, time};

/// Forward HTTP requests to backends by a policy
#[derive(clap::Args)]
pub(crate) struct Gateway {
    #[command(flatten)]
    choice: Choice,
    /// Name of the cookie by which clients come back to their backend
    #[arg(long, value_name = "NAME", default_value = "SOJOURN")]
    cookie: String,
    /// Further backends that a request is tried at, if it may safely reach a backend twice and had no byte of a reply
    #[arg(long, value_name = "N", default_value_t = 1)]
    retries: u32,
    /// Most requests at each backend at once, and how few it must come down to before it gets more: `20` or `20,15`; when all
    /// are full, the answer is 503
    #[arg(long, value_name = "N[,RETURN]")]
    limit: Option<String>,
    /// Take the load that replies bear (ORCA, the header endpoint-load-metrics), and ask for it with each request
    #[arg(long)]
    orca_headers: bool,
    /// Ask a backend for a stream of its load (ORCA over gRPC, as of `sojourn loadd --orca`): NAME=IP:PORT; once per backend
    #[arg(long, value_name = "NAME=IP:PORT")]
    orca: Vec<String>,
    /// Time between two reports of such a stream
    #[arg(long, value_name = "TIME", default_value = "500 ms", requires = "orca", allow_hyphen_values = true)]
    orca_every: String,
}

impl Gateway {
    /// What is taken of the backends' own reports.
    fn orca(&self) -> Result<Option<OrcaConfig>, Failure> {
        let stream = |text: &String| {
            let read = text.split_once('=').and_then(|(name, server)| Some((name.to_owned(), server.parse().ok()?)));
            let right = "the name of a backend, and where it serves reports; write e.g. `a=10.0.0.11:7500`";
            read.ok_or_else(|| bad_input(format!("--orca {text}: {right}")))
        };
        let streams = self.orca.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
        let every = time("--orca-every", &self.orca_every)?;
        if every.0 == 0 {
            return Err(bad_input("--orca-every: reports are some time apart, e.g. `500 ms`"));
        }
        let is_any = self.orca_headers || !streams.is_empty();
        Ok(is_any.then_some(OrcaConfig { headers: self.orca_headers, streams, every }))
    }
}

/// Answer HTTP requests with the address of a backend, chosen by a policy
#[derive(clap::Args)]
pub(crate) struct Redirect {
    #[command(flatten)]
    choice: Choice,
    /// URL that clients reach a backend by, if not http://ADDRESS: NAME=URL; once per backend
    #[arg(long, value_name = "NAME=URL")]
    public: Vec<String>,
    /// Status of the answers: 307 repeats a POST with its body, 302 makes it a GET
    #[arg(long, value_name = "STATUS", default_value_t = 307)]
    status: u16,
}

/// How a backend is chosen
#[derive(clap::Args)]
struct Choice {
    /// A backend: ADDRESS, or NAME=ADDRESS, or NAME=ADDRESS*WEIGHT; once per backend
    #[arg(long = "backend", value_name = "BACKEND", required = true)]
    backends: Vec<String>,
    /// Policy, e.g. `least-connections` or `round-trip(window = 1 s)`; without it a
    /// gateway follows least-connections, a redirector round-robin
    #[arg(long)]
    policy: Option<String>,
    /// Ask the backends for their load this often instead of counting, e.g. `100 ms`
    #[arg(long, value_name = "EVERY")]
    poll: Option<String>,
    #[command(flatten)]
    reporting: Reporting,
    /// Failures in a row, of requests or of health checks, that take a backend out
    #[arg(long, value_name = "N", default_value = "3", value_parser = count::<u32>)]
    fall: u32,
    /// Threads; each has a dispatcher with state of its own
    #[arg(long, default_value = "1", value_parser = count::<usize>)]
    threads: usize,
    /// One dispatcher for all threads, behind a lock
    #[arg(long)]
    shared: bool,
    /// Seed of the policy's random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Trust this request header to name the client, instead of its address
    #[arg(long, value_name = "HEADER")]
    client_header: Option<String>,
    /// Names of the classes of requests (header x-sojourn-class), by class number, e.g. `static,dynamic`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    classes: Vec<String>,
    /// Record every decision in this file (JSON lines)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Say why in the reply header x-sojourn-reason
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    serving: Serving,
}

/// Where and for how long clients are served
#[derive(clap::Args)]
pub(crate) struct Serving {
    /// Address to listen on; port 0 takes a free one and says which [default: 127.0.0.1:0]
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Close clients' connections that are idle for this long; `0 s`: a connection per request
    #[arg(long, value_name = "TIME", default_value = "75 s", allow_hyphen_values = true)]
    keep_alive: String,
    /// Answer 408 where the head of a request is not complete this long after its first byte
    #[arg(long, value_name = "TIME", default_value = "60 s", allow_hyphen_values = true)]
    head_timeout: String,
    /// Most connections of clients at once; further ones wait [default: as many as file descriptors suffice for]
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    pub(crate) connections: Option<usize>,
    /// Told to stop (SIGTERM, Ctrl-C), give requests in flight this long; told twice, end at once [default: 30 s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    grace: Option<String>,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    pub(crate) child: bool,
}

pub(crate) fn gateway(arguments: &Gateway) -> Result<Exit, Failure> {
    let config = arguments.choice.config("least-connections")?;
    let (cookie, retries) = (arguments.cookie.clone(), arguments.retries);
    let limit = arguments.limit.as_deref().map(|text| limit("--limit", text)).transpose()?;
    arguments.choice.serve(GatewayConfig { cookie, retries, limit, orca: arguments.orca()?, ..config })
}

pub(crate) fn redirect(arguments: &Redirect) -> Result<Exit, Failure> {
    let mut config = arguments.choice.config("round-robin")?;
    let status = RedirectStatus::try_from(arguments.status).map_err(|why| bad_input(format!("--status {why}")))?;
    for text in &arguments.public {
        let wrong = |what: &str| bad_input(format!("--public {text}: {what}; write e.g. `a=https://a.example.org`"));
        let (name, url) = text.split_once('=').ok_or_else(|| wrong("it names no backend"))?;
        let backend = config.backends.iter_mut().find(|backend| backend.name == name);
        backend.ok_or_else(|| wrong("there is no such backend"))?.public = Some(url.to_string());
    }
    arguments.choice.serve(GatewayConfig { face: Face::Redirector { status }, ..config })
}

impl Choice {
    /// What all faces have in common.
    fn config(&self, policy: &str) -> Result<GatewayConfig, Failure> {
        let right = ("the address is not IP:PORT", "a=127.0.0.1:8080*2");
        let address = |text: &str| text.parse().ok();
        self.reporting.shared_key(false)?;
        let backends = self.backends.iter().enumerate().map(|(index, text)| backend(text, index, right, address));
        let policy = self.policy.as_deref().unwrap_or(policy);
        let mut config = GatewayConfig {
            listen: self.serving.listen(),
            information: information(self.poll.as_deref())?,
            reports: self.reporting.taken()?,
            upstream: self.reporting.made()?,
            threads: self.threads,
            shared: self.shared,
            seed: self.seed,
            client_header: self.client_header.clone(),
            keep_alive: self.serving.keep_alive()?,
            head_timeout: self.serving.head_timeout()?,
            connections: self.serving.connections,
            grace: self.serving.grace()?,
            record: self.record.clone(),
            explain: self.explain,
            ..GatewayConfig::new(policy, backends.collect::<Result<_, _>>()?)
        };
        config.health.fall = self.fall;
        name_classes(&self.classes, &mut config.classes)?;
        Ok(config)
    }

    fn serve(&self, config: GatewayConfig) -> Result<Exit, Failure> {
        let input = self.serving.child.then(std::io::stdin);
        child::gateway(config, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
    }
}

impl Serving {
    /// Where to listen.
    pub(crate) fn listen(&self) -> SocketAddr {
        self.listen.unwrap_or(([127, 0, 0, 1], 0).into())
    }

    pub(crate) fn keep_alive(&self) -> Result<Span, Failure> {
        time("--keep-alive", &self.keep_alive)
    }

    pub(crate) fn head_timeout(&self) -> Result<Span, Failure> {
        let timeout = time("--head-timeout", &self.head_timeout)?;
        if timeout == Span::ZERO {
            Err(bad_input("--head-timeout: a head takes some time, e.g. `10 s`"))
        } else {
            Ok(timeout)
        }
    }

    /// A run waits for its children, and has asked all that it wants to know before it stops them.
    pub(crate) fn grace(&self) -> Result<Span, Failure> {
        let default = if self.child { "1 s" } else { "30 s" };
        time("--grace", self.grace.as_deref().unwrap_or(default))
    }
}

/// Puts the names given, if any, in the place of the usual ones.
pub(crate) fn name_classes(given: &[String], classes: &mut Vec<String>) -> Result<(), Failure> {
    if given.len() > usize::from(u8::MAX) {
        return Err(bad_input(format!("--classes: {} names; at most {} are possible", given.len(), u8::MAX)));
    }
    if !given.is_empty() {
        *classes = given.to_vec();
    }
    Ok(())
}

pub(crate) fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::System { .. } | ServeError::Record => failed(error),
        other => bad_input(other),
    }
}

/// Reads `N` or `N,RETURN`: the limit of each backend and the mark at which it is chosen again, which is a quarter below if
/// nothing is said.
pub(crate) fn limit(flag: &str, text: &str) -> Result<Limit, Failure> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let read = match numbers.as_deref() {
        Some(&[most]) => Limit::new(most, Limit::usual_return(most)),
        Some(&[most, returns]) => Limit::new(most, returns),
        _ => return Err(bad_input(format!("{flag} {text}: a number, or two with a comma, e.g. `20` or `20,15`"))),
    };
    read.map_err(|e| bad_input(format!("{flag} {text}: {e}")))
}

/// Reads `NAME=ADDRESS*WEIGHT`; where the address is wrong, says so as `right` does, with an example.
pub(crate) fn backend(
    text: &str,
    index: usize,
    (wrong_address, example): (&str, &str),
    address: impl Fn(&str) -> Option<SocketAddr>,
) -> Result<Backend, Failure> {
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) => (name.to_string(), rest),
        None => (format!("server-{}", index + 1), text),
    };
    let (place, weight) = rest.split_once('*').unwrap_or((rest, "1"));
    let wrong = |what: &str| bad_input(format!("--backend {text}: {what}; write e.g. `{example}`"));
    let address = address(place).ok_or_else(|| wrong(wrong_address))?;
    let weight: f64 = weight.parse().ok().filter(|w| *w > 0.0).ok_or_else(|| wrong("the weight is not above 0"))?;
    Ok(Backend { weight, ..Backend::new(name, address) })
}

/// How fresh the gateway's counts are.
fn information(poll: Option<&str>) -> Result<Information, Failure> {
    let Some(text) = poll else { return Ok(Information::Immediate) };
    let every_s = quantity::parse(text, Dimension::Time).map_err(|e| bad_input(format!("--poll: {e}")))?;
    if every_s <= 0.0 {
        return Err(bad_input("--poll: polls are some time apart, e.g. `100 ms`"));
    }
    Ok(Information::Polled { every: Span::from_secs_f64(every_s) })
}
