//! The settings of a node: what it serves, what its clients may take, and the cluster that it is a node of.

mod cluster;
mod limits;
mod pattern;
mod programs;
mod site;
mod tls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use super::gateway::check_classes;
use super::{Section, Settings, Wrong, seed};
use crate::headers;
use crate::network::Allow;
pub use cluster::{ClusterSettings, HardwareSettings, Membership, ModelFile, Numbers, Owners, Peer};
pub use limits::NodeLimits;
pub use pattern::Pattern;
pub use programs::{CgiSettings, FastCgiSettings};
pub use site::{CacheControl, FileSettings, LogFormat, LogSettings};
pub use tls::{Certificates, TlsSettings};

/// What a node is.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeSettings {
    /// Addresses to listen on without TLS; port 0 takes a free one and says which [default: 127.0.0.1:0, unless with --tls]
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',')]
    pub listen: Vec<SocketAddr>,
    /// Name, told to clients in the header x-sojourn-backend
    #[arg(long)]
    pub name: String,
    /// Threads that handle HTTP
    #[arg(long, value_name = "N")]
    pub threads: usize,
    /// Threads that burn processor time for `/work`.
    #[arg(skip)]
    pub workers: usize,
    /// Seed of the demands that no request names
    #[arg(long)]
    #[serde(with = "seed")]
    pub seed: u64,
    /// Names of the classes of requests (header x-sojourn-class), the most urgent first, e.g. `static,dynamic`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Be this server: a server model, as a TOML file or its text. Without it /work burns real processor time
    #[arg(long, value_name = "TOML")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What becomes of a request whose client has left: `cancelled`, or `served` to its end, as by a server that
    /// does not learn of it (HTTP/1)
    #[arg(long, value_name = "WORD")]
    pub abandoned: Abandoned,
    /// Answer /bytes/N and /work, which cost processor time and bandwidth [default: unless it serves a site and has no --model]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_paths: Option<bool>,
    /// Told to stop (SIGTERM, Ctrl-C), give requests in flight this long; told twice, end at once [default: 30 s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// Write a table of what requests took to this file, at the end: for --oracle
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learn: Option<PathBuf>,
    /// What clients may take.
    #[command(flatten)]
    pub limits: NodeLimits,
    /// The static files.
    #[command(flatten)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Section<FileSettings>,
    /// Programs that are started for each request.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgi: Option<CgiSettings>,
    /// Programs of a FastCGI server.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fastcgi: Option<FastCgiSettings>,
    /// Where it writes a line of each request, and how.
    #[command(flatten)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Section<LogSettings>,
    /// Where it listens with TLS, and its certificates.
    #[command(flatten)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Section<TlsSettings>,
    /// Where its numbers are told to Prometheus.
    #[command(flatten)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Section<Metrics>,
    /// The cluster that it is a node of.
    #[command(flatten, next_help_heading = "Cluster")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Section<ClusterSettings>,
}

/// What becomes of a request whose client has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Abandoned {
    /// The node learns of it, and drops the request.
    #[default]
    Cancelled,
    /// It does not, and does the work for nothing. Over HTTP/2 it learns of it all the same.
    Served,
}

impl std::str::FromStr for Abandoned {
    type Err = String;

    fn from_str(text: &str) -> Result<Abandoned, String> {
        match text {
            "cancelled" => Ok(Abandoned::Cancelled),
            "served" => Ok(Abandoned::Served),
            other => Err(sojourn_stats::unknown("word", other, ["cancelled", "served"])),
        }
    }
}

/// Where numbers are told to Prometheus.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Tell its numbers to Prometheus at http://IP:PORT/metrics
    #[arg(id = "metrics.listen", long = "metrics", value_name = "IP:PORT")]
    pub listen: SocketAddr,
    /// Which clients get those numbers: `all`, `none`, or ranges of addresses, as 127.0.0.0/8,10.0.0.1 [default: all]
    #[arg(
        id = "metrics.allow_from",
        long = "metrics-allow-from",
        value_name = "NETWORKS",
        requires = "metrics.listen"
    )]
    #[serde(default = "all")]
    pub allow_from: Allow,
}

fn all() -> Allow {
    Allow::All
}

/// A free port of the loopback address.
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// So many threads a machine may have.
const THREADS: std::ops::RangeInclusive<usize> = 1..=1024;

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics { listen: ANYWHERE, allow_from: all() }
    }
}

impl Default for NodeSettings {
    fn default() -> NodeSettings {
        NodeSettings {
            listen: Vec::new(),
            name: "node".into(),
            threads: 1,
            workers: 1,
            seed: 1,
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            model: None,
            abandoned: Abandoned::default(),
            test_paths: None,
            grace: None,
            learn: None,
            limits: NodeLimits::default(),
            files: Section(None),
            cgi: None,
            fastcgi: None,
            log: Section(None),
            tls: Section(None),
            metrics: Section(None),
            cluster: Section(None),
        }
    }
}

impl NodeSettings {
    /// A node called `name` on a free port of the loopback address, without files or a model, which gives requests in flight a
    /// second when it is stopped.
    pub fn new(name: impl Into<String>) -> NodeSettings {
        let grace = Some(Span(1_000_000_000));
        NodeSettings { name: name.into(), listen: vec![ANYWHERE], grace, ..NodeSettings::default() }
    }

    /// Where it listens without TLS.
    pub fn plain(&self) -> &[SocketAddr] {
        if self.listen.is_empty() && self.tls.is_none() { &[ANYWHERE] } else { &self.listen }
    }

    /// Whether `/bytes/N` and `/work` are answered, and `/load` and `/health` whatever files there are. A site has them only
    /// where that is asked for: a stranger could keep a processor busy by them, and they hide files of the same names.
    pub fn has_test_paths(&self) -> bool {
        let is_site = self.files.is_some() || self.cgi.is_some() || self.fastcgi.is_some();
        self.test_paths.unwrap_or(!is_site || self.model.is_some())
    }

    /// The file of the server model, where the text is not the model itself: that has `key = value`. A path with an equals sign
    /// in it can be written ./a=b.toml.
    pub fn model_file(&self) -> Option<&Path> {
        let is_path = |text: &&String| !text.contains('=') || text.starts_with(['.', '/']);
        self.model.as_ref().filter(is_path).map(Path::new)
    }
}

impl Settings for NodeSettings {
    fn below(&mut self, folder: &Path) {
        let join = |path: &mut PathBuf| *path = folder.join(&*path);
        if let Some(file) = self.model_file() {
            let file = folder.join(file);
            // However the folder is called, it is a path.
            let file = if file.is_relative() { Path::new(".").join(file) } else { file };
            self.model = Some(file.to_string_lossy().into_owned());
        }
        self.learn.iter_mut().for_each(join);
        self.files.iter_mut().for_each(|files| join(&mut files.root));
        self.log.iter_mut().for_each(|log| join(&mut log.file));
        self.cgi.iter_mut().for_each(|cgi| cgi.below(folder));
        self.fastcgi.iter_mut().for_each(|fastcgi| fastcgi.below(folder));
        let certificates = self.tls.iter_mut().flat_map(|tls| &mut tls.certificates.0);
        certificates.flat_map(|files| [&mut files.chain, &mut files.key]).for_each(join);
        self.cluster.iter_mut().for_each(|cluster| cluster.below(folder));
    }

    fn check(&self) -> Result<(), Wrong> {
        for (key, count) in [("threads", self.threads), ("workers", self.workers)] {
            if !THREADS.contains(&count) {
                let right = format!("{count}: it is a whole number of at least 1, and of at most {}", THREADS.end());
                return Err(Wrong::new(key, right));
            }
        }
        headers::name_value(&self.name).map_err(|error| Wrong::new("name", error))?;
        check_classes(&self.classes)?;
        self.limits.check().map_err(|wrong| wrong.inside("limits"))?;
        self.cgi.iter().try_for_each(CgiSettings::check).map_err(|wrong| wrong.inside("cgi"))?;
        self.fastcgi.iter().try_for_each(FastCgiSettings::check).map_err(|wrong| wrong.inside("fastcgi"))?;
        self.tls.iter().try_for_each(TlsSettings::check).map_err(|wrong| wrong.inside("tls"))?;
        self.cluster.iter().try_for_each(|cluster| cluster.check(&self.name)).map_err(|wrong| wrong.inside("cluster"))
    }

    fn summary(&self) -> String {
        let list = |addresses: &[SocketAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let plain = Some(self.plain()).filter(|addresses| !addresses.is_empty());
        let cluster = self.cluster.iter();
        let parts = plain.map(|plain| format!("http on {}", list(plain))).into_iter();
        let parts = parts.chain(self.tls.iter().map(|tls| format!("https on {}", list(&tls.listen))));
        let parts = parts.chain(self.files.iter().map(|files| format!("files below {}", files.root.display())));
        let parts = parts.chain(self.log.iter().map(|log| format!("log {}", log.file.display())));
        let parts = parts.chain(self.metrics.iter().map(|of| format!("numbers at http://{}/metrics", of.listen)));
        let parts =
            parts.chain(cluster.map(|of| format!("{} with {} peers by {}", of.service, of.peers.len(), of.policy)));
        parts.collect::<Vec<_>>().join("; ")
    }
}
