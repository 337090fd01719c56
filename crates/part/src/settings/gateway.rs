//! The settings of a gateway and of a redirector: the same ones, but for what each does with a request once it has chosen.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgAction, Args};
use hyper::Uri;
use hyper::header::HeaderName;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_dispatch::FrontSettings;
use sojourn_stats::Span;

use super::{Checks, Limits, RecordLimits, Reports, Settings, Upstream, Wrong, backends, check_reporting};
use crate::{Backend, headers};

/// Settings of what stands in front of servers, and does `F` with a request for which it has chosen one.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, bound(deserialize = "F: Face"))]
pub struct InFront<F: Face> {
    /// Address to listen on; port 0 takes a free one and says which
    #[arg(long, value_name = "IP:PORT")]
    pub listen: SocketAddr,
    /// A backend: ADDRESS, or NAME=ADDRESS, or NAME=ADDRESS*WEIGHT; once per backend
    #[arg(id = "backend", long = "backend", value_name = "BACKEND")]
    #[serde(rename = "backend")]
    pub backends: Vec<Backend>,
    /// Threads; each has a dispatcher with state of its own
    #[arg(long, value_name = "N")]
    pub threads: usize,
    /// One dispatcher for all threads, behind a lock
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub shared: bool,
    /// Trust this request header to name the client, instead of its address
    #[arg(long, value_name = "HEADER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_header: Option<String>,
    /// Name of the cookie by which clients come back to their backend
    #[arg(long, value_name = "NAME")]
    pub cookie: String,
    /// Names of the classes of requests (header x-sojourn-class), by class number, e.g. `static,dynamic`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Record every decision in this file (JSON lines)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
    /// How large and how old the record's files may grow.
    #[command(flatten)]
    pub record_limits: RecordLimits,
    /// Socket at which it is told while it runs to drain a backend, or not (`sojourn ctl`)
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<PathBuf>,
    /// Say why in the reply header x-sojourn-reason
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub explain: bool,
    /// File with the key that is shared with the load daemons and with those to report to; at least 16 bytes
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Told to stop (SIGTERM, Ctrl-C), give requests in flight this long; told twice, end at once [default: 30 s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// How a backend is chosen.
    #[command(flatten)]
    pub decider: FrontSettings,
    /// What clients may take.
    #[command(flatten)]
    pub limits: Limits,
    /// How the health of the backends is checked.
    #[arg(skip)]
    pub health: Checks,
    /// How long it waits for backends and clients.
    #[arg(skip)]
    pub timeouts: Timeouts,
    /// Reports that are taken.
    #[command(flatten)]
    pub reports: Reports,
    /// Reports that are made.
    #[command(flatten)]
    pub upstream: Upstream,
    /// What it does with a request.
    #[command(flatten)]
    pub face: F,
}

/// What is done with a request once a backend is chosen for it.
pub trait Face: Args + Clone + Default + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + 'static {
    /// The verb of the program.
    const NAME: &'static str;
    /// The policy where none is named.
    const POLICY: &'static str;

    /// Whether it can be so with these backends.
    ///
    /// # Errors
    /// The first setting that cannot; its key is below `face`.
    fn check(&self, backends: &[Backend]) -> Result<(), Wrong>;

    /// How requests are forwarded; without retries where none is.
    fn forward(&self) -> Forward;

    /// Where clients are told to ask: by which status, and at which URLs of backends.
    fn redirect(&self) -> Option<&Redirect>;
}

/// The settings of a gateway: requests are forwarded, and replies pass it.
pub type GatewaySettings = InFront<Forward>;

/// The settings of a redirector: clients are told where to ask.
pub type RedirectorSettings = InFront<Redirect>;

/// What a gateway does.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Forward {
    /// Further backends that a request is tried at, if it may safely reach a backend twice and had no byte of a reply
    #[arg(long, value_name = "N")]
    pub retries: u32,
    /// Pass TRACE requests on, which show a client what was put into its request on the way
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub trace: bool,
    /// Take the load that replies bear (ORCA, the header endpoint-load-metrics), and ask for it with each request
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub orca_headers: bool,
    /// Ask a backend for a stream of its load (ORCA over gRPC, as of `sojourn loadd --orca`): NAME=IP:PORT; once per backend
    #[arg(long, value_name = "NAME=IP:PORT")]
    pub orca: Vec<Named<SocketAddr>>,
    /// Time between two reports of such a stream
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub orca_every: Span,
}

/// What a redirector does.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Redirect {
    /// URL that clients reach a backend by, if not http://ADDRESS: NAME=URL; once per backend
    #[arg(long, value_name = "NAME=URL")]
    pub public: Vec<Named<String>>,
    /// Status of the answers: 307 repeats a POST with its body, 302 makes it a GET
    #[arg(long, value_name = "STATUS")]
    pub status: u16,
}

/// Something of the backend of this name: `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T> {
    /// The backend's name.
    pub name: String,
    /// What it has.
    pub value: T,
}

/// How long a gateway waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For a connection to a backend.
    pub connect: Span,
    /// For the head of a reply, from when the request was sent, its body included.
    pub reply: Span,
    /// For the next part of a reply and for the client to take it; for the next part of an upload and for the backend
    /// to take it.
    pub idle: Span,
}

const SECOND: Span = Span(1_000_000_000);

impl<F: Face> Default for InFront<F> {
    fn default() -> InFront<F> {
        InFront {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            backends: Vec::new(),
            threads: 1,
            shared: false,
            client_header: None,
            cookie: "SOJOURN".into(),
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            record: None,
            record_limits: RecordLimits::default(),
            control: None,
            explain: false,
            key_file: None,
            grace: None,
            decider: FrontSettings::new(F::POLICY),
            limits: Limits::default(),
            health: Checks::default(),
            timeouts: Timeouts::default(),
            reports: Reports::default(),
            upstream: Upstream::default(),
            face: F::default(),
        }
    }
}

impl Default for Forward {
    fn default() -> Forward {
        let (orca_headers, orca, orca_every) = (false, Vec::new(), Span(SECOND.0 / 2));
        Forward { retries: 1, trace: false, orca_headers, orca, orca_every }
    }
}

impl Default for Redirect {
    fn default() -> Redirect {
        Redirect { public: Vec::new(), status: 307 }
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: SECOND * 2, reply: SECOND * 60, idle: SECOND * 60 }
    }
}

impl<F: Face> InFront<F> {
    /// Those of one in front of these backends that follows `policy`, and is else as usual.
    pub fn new(policy: impl Into<String>, backends: Vec<Backend>) -> InFront<F> {
        InFront { decider: FrontSettings::new(policy), backends, ..InFront::default() }
    }

    /// The policy's text.
    pub fn policy(&self) -> &str {
        self.decider.policy.as_deref().unwrap_or(F::POLICY)
    }

    /// The backends, each with a name and the URL by which clients reach it.
    pub fn all_backends(&self) -> Vec<Backend> {
        let mut all = backends(&self.backends);
        for Named { name, value } in self.face.redirect().into_iter().flat_map(|redirect| &redirect.public) {
            all.iter_mut().filter(|backend| backend.name == *name).for_each(|one| one.public = Some(value.clone()));
        }
        all
    }

    /// The same as of a gateway, with all that these leave to be understood: the policy, and the backends' names and URLs.
    pub fn whole(self) -> GatewaySettings {
        let policy = Some(self.policy().to_owned());
        let (backends, face) = (self.all_backends(), self.face.forward());
        let InFront {
            listen,
            threads,
            shared,
            client_header,
            cookie,
            classes,
            record,
            record_limits,
            control,
            explain,
            key_file,
            grace,
            decider,
            limits,
            health,
            timeouts,
            reports,
            upstream,
            ..
        } = self;
        let decider = FrontSettings { policy, ..decider };
        GatewaySettings {
            listen,
            backends,
            threads,
            shared,
            client_header,
            cookie,
            classes,
            record,
            record_limits,
            control,
            explain,
            key_file,
            grace,
            decider,
            limits,
            health,
            timeouts,
            reports,
            upstream,
            face,
        }
    }
}

impl<F: Face> Settings for InFront<F> {
    fn below(&mut self, folder: &Path) {
        for path in [&mut self.record, &mut self.control, &mut self.key_file] {
            *path = path.take().map(|path| folder.join(path));
        }
    }

    fn check(&self) -> Result<(), Wrong> {
        for (key, count) in [
            ("threads", self.threads),
            ("decider.fall", self.decider.fall as usize),
            ("decider.rise", self.decider.rise as usize),
        ] {
            if count == 0 {
                return Err(Wrong::new(key, "it is a whole number of at least 1"));
            }
        }
        if self.backends.is_empty() {
            return Err(Wrong::new("backend", "at least one is needed; write e.g. `a=127.0.0.1:8080`"));
        }
        let backends = self.all_backends();
        let mut names = HashSet::new();
        for (index, Backend { name, public, .. }) in backends.iter().enumerate() {
            let wrong = |what: String| Err(Wrong::new(format!("backend[{index}]"), what));
            if let Err(error) = headers::name_value(name) {
                return wrong(error.to_string());
            }
            if !names.insert(name) {
                return wrong(format!("backend {name} is named twice; each needs a name of its own"));
            }
            if let Some(url) = public.as_ref().filter(|url| !is_origin(url)) {
                let right = "it is http:// or https://, a host and perhaps a path, as in `https://a.example.org`";
                return wrong(format!("backend {name}: public URL {url:?}: {right}"));
            }
        }
        if self.decider.poll == Some(Span::ZERO) {
            return Err(Wrong::new("decider.poll", "polls are some time apart, e.g. `100 ms`"));
        }
        let Timeouts { connect, reply, idle } = self.timeouts;
        for (key, time) in [("connect", connect), ("reply", reply), ("idle", idle)] {
            if time == Span::ZERO {
                return Err(Wrong::new(format!("timeouts.{key}"), "it takes some time, e.g. `2 s`"));
            }
        }
        check_classes(&self.classes)?;
        if let Some(header) = self.client_header.as_ref().filter(|header| header.parse::<HeaderName>().is_err()) {
            return Err(Wrong::new("client_header", format!("{header:?} is not the name of a header")));
        }
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if self.cookie.is_empty() || !self.cookie.bytes().all(is_fit) {
            let what = format!("{:?}: a cookie's name is letters, digits, `-`, `_` and `.`", self.cookie);
            return Err(Wrong::new("cookie", what));
        }
        let guards = self.decider.guards();
        if self.face.redirect().is_some() && !guards.are_none() {
            let what = "a redirector sees no replies: leave out ejection, queue, breakers, concurrency and slow_start";
            return Err(Wrong::new("decider", what));
        }
        let of_guard = |(key, what): (&str, String)| Wrong::new(format!("decider.{key}"), what);
        guards.check(self.decider.limit.is_some()).map_err(of_guard)?;
        if self.threads > 1 && !self.shared {
            let several = format!(
                "with {} deciders, who count apart: one thread, or one decider for all (--shared)",
                self.threads
            );
            for (key, is_given) in [
                ("decider.limit", self.decider.limit.is_some()),
                ("decider.queue", self.decider.queue.is_some()),
                ("decider.breakers", self.decider.breakers.is_some()),
                ("decider.concurrency", self.decider.concurrency.is_some()),
                ("reports.listen", self.reports.listen.is_some()),
                ("upstream.to", !self.upstream.to.is_empty()),
                ("face.orca", !self.face.forward().orca.is_empty()),
            ] {
                if is_given {
                    return Err(Wrong::new(key, several));
                }
            }
        }
        self.limits.check().map_err(|wrong| wrong.inside("limits"))?;
        self.record_limits.check(self.record.is_some()).map_err(|wrong| wrong.inside("record_limits"))?;
        self.health.check().map_err(|wrong| wrong.inside("health"))?;
        check_reporting(self.key_file.as_deref(), &self.reports, &self.upstream, false)?;
        self.face.check(&backends).map_err(|wrong| wrong.inside("face"))
    }

    fn summary(&self) -> String {
        let names: Vec<String> = self.all_backends().into_iter().map(|backend| backend.name).collect();
        format!("{} on {}, by {} to {}", F::NAME, self.listen, self.policy(), names.join(", "))
    }
}

impl Face for Forward {
    const NAME: &'static str = "gateway";
    const POLICY: &'static str = "least-connections";

    fn check(&self, backends: &[Backend]) -> Result<(), Wrong> {
        if self.orca_every == Span::ZERO {
            return Err(Wrong::new("orca_every", "reports are some time apart, e.g. `500 ms`"));
        }
        if self.orca.is_empty() && self.orca_every != Forward::default().orca_every {
            return Err(Wrong::new("orca_every", "there is no stream; say which, `--orca NAME=IP:PORT`"));
        }
        are_there(&self.orca, "orca", backends)
    }

    fn forward(&self) -> Forward {
        self.clone()
    }

    fn redirect(&self) -> Option<&Redirect> {
        None
    }
}

impl Face for Redirect {
    const NAME: &'static str = "redirect";
    const POLICY: &'static str = "round-robin";

    fn check(&self, backends: &[Backend]) -> Result<(), Wrong> {
        if ![302, 307].contains(&self.status) {
            return Err(Wrong::new("status", format!("{}: a redirector answers 307 or 302", self.status)));
        }
        are_there(&self.public, "public", backends)
    }

    fn forward(&self) -> Forward {
        Forward { retries: 0, ..Forward::default() }
    }

    fn redirect(&self) -> Option<&Redirect> {
        Some(self)
    }
}

/// Whether classes of these names can be told apart.
pub(super) fn check_classes(classes: &[String]) -> Result<(), Wrong> {
    if classes.len() > usize::from(u8::MAX) {
        return Err(Wrong::new("classes", format!("{} names; at most {} are possible", classes.len(), u8::MAX)));
    }
    Ok(())
}

/// Whether a path can be added to this URL.
pub fn is_origin(url: &str) -> bool {
    let Ok(parsed) = url.parse::<Uri>() else { return false };
    let is_web = matches!(parsed.scheme_str(), Some("http" | "https"));
    let has_host = parsed.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    is_web && has_host && !url.contains(['?', '#'])
}

/// Whether each is of a backend.
fn are_there<T: std::fmt::Display>(all: &[Named<T>], key: &str, backends: &[Backend]) -> Result<(), Wrong> {
    match all.iter().position(|named| !backends.iter().any(|backend| backend.name == named.name)) {
        Some(index) => Err(Wrong::new(format!("{key}[{index}]"), format!("{}: there is no such backend", all[index]))),
        None => Ok(()),
    }
}

/// What a backend may have, with an example.
pub trait Exemplary: FromStr {
    /// Of the whole text.
    const EXAMPLE: &'static str;
}

impl Exemplary for SocketAddr {
    const EXAMPLE: &'static str = "a=10.0.0.11:7500";
}

impl Exemplary for String {
    const EXAMPLE: &'static str = "a=https://a.example.org";
}

impl<T: Exemplary> FromStr for Named<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Named<T>, String> {
        let wrong = |what: &str| format!("{text}: {what}; write e.g. `{}`", T::EXAMPLE);
        let (name, value) = text.split_once('=').ok_or_else(|| wrong("it has no name before a `=`"))?;
        let value = value.parse().map_err(|_| wrong("what it has is wrong"))?;
        Ok(Named { name: name.to_owned(), value })
    }
}

impl<T: std::fmt::Display> std::fmt::Display for Named<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl<T: std::fmt::Display> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: Exemplary> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
