//! What a node is: its settings.

mod file;

use std::net::SocketAddr;
use std::path::PathBuf;

use sojourn_model::Server;
use sojourn_part::listen::{HEAD_TIMEOUT, KEEP_ALIVE};
use sojourn_part::network::Allow;
use sojourn_stats::Span;

use super::broker::ClusterConfig;
use super::dynamic::{CgiSettings, FastCgiSettings};
use super::files::FileSettings;
use super::limits::Limits;
use super::log::LogSettings;
use super::tls::TlsConfig;
pub use file::NodeFile;

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// Where it listens without TLS; port 0 takes a free port.
    pub listen: Vec<SocketAddr>,
    /// Where it listens with TLS, and its certificates.
    pub tls: Option<TlsConfig>,
    /// Threads that handle HTTP.
    pub threads: usize,
    /// Threads that burn processor time for spun work.
    pub workers: usize,
    /// The static files.
    pub files: Option<FileSettings>,
    /// Programs that are started for each request.
    pub cgi: Option<CgiSettings>,
    /// Programs of a FastCGI server.
    pub fastcgi: Option<FastCgiSettings>,
    /// Where it writes a line of each request, and how.
    pub log: Option<LogSettings>,
    /// The cluster that it is a node of.
    pub cluster: Option<ClusterConfig>,
    /// Where it writes, when it is stopped, an oracle's table of what it has served.
    pub learn: Option<PathBuf>,
    /// The server that it emulates.
    pub model: Option<Server>,
    /// The names of the classes of requests in the order of their priority, the most urgent first; a request's own is in
    /// the header `x-sojourn-class`.
    pub classes: Vec<String>,
    /// The name by which its replies and its random stream are known.
    pub name: String,
    /// The run's seed, for demands that no request brings along.
    pub seed: u64,
    /// How long an idle connection stays open, and how long a request's head may take; zero: a connection per request.
    pub keep_alive: Span,
    /// How long the head of a request may take from its first byte; then the answer is 408.
    pub head_timeout: Span,
    /// Most connections at once; further ones wait until one is closed. None: as many as there are descriptors for.
    pub connections: Option<usize>,
    /// What else a client may take.
    pub limits: Limits,
    /// Where its numbers are told to Prometheus.
    pub metrics: Option<SocketAddr>,
    /// Which clients get them.
    pub metrics_allow_from: Allow,
    /// How long requests in flight may take when it is stopped.
    pub grace: Span,
    /// The file that all this is from, to be read anew on SIGHUP.
    pub source: Option<NodeFile>,
}

impl NodeConfig {
    /// A node called `name` on a free port of the loopback address, without files or a model.
    pub fn new(name: impl Into<String>) -> NodeConfig {
        NodeConfig {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            tls: None,
            threads: 1,
            workers: 1,
            files: None,
            cgi: None,
            fastcgi: None,
            log: None,
            cluster: None,
            learn: None,
            model: None,
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            name: name.into(),
            seed: 1,
            keep_alive: KEEP_ALIVE,
            head_timeout: HEAD_TIMEOUT,
            connections: None,
            limits: Limits::default(),
            metrics: None,
            metrics_allow_from: Allow::All,
            grace: Span(1_000_000_000),
            source: None,
        }
    }

    /// The first setting that differs from `other` and cannot change in a running node.
    pub(super) fn fixed_difference(&self, other: &NodeConfig) -> Option<&'static str> {
        let tls = |config: &NodeConfig| config.tls.as_ref().map(|tls| tls.listen.clone());
        let differs = [
            ("listen", self.listen != other.listen),
            ("tls.listen", tls(self) != tls(other)),
            ("threads", self.threads != other.threads),
            ("workers", self.workers != other.workers),
            ("model", self.model != other.model),
            ("classes", self.classes != other.classes),
            ("name", self.name != other.name),
            ("seed", self.seed != other.seed),
            ("metrics.listen", self.metrics != other.metrics),
            ("metrics.allow_from", self.metrics_allow_from != other.metrics_allow_from),
            ("cluster", self.cluster != other.cluster),
            ("learn", self.learn != other.learn),
        ];
        differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
    }
}
