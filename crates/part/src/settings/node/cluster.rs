//! The cluster of a node, as one of its nodes sees it: section `[cluster]`.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};
use sojourn_stats::{Bytes, Span};

use super::super::gateway::{Exemplary, Named};
use super::super::{REPORTER_MAX, RecordLimits, Wrong};
use crate::headers;

/// A cluster of nodes, each of which serves a request or sends its client to the node that would serve it first
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterSettings {
    /// Name under which clients ask for the service, e.g. www.example.org: only what is asked for under it may be sent to a
    /// peer, once
    #[arg(long, value_name = "HOST")]
    pub service: String,
    /// URL of this node, if not http://ADDRESS; what is asked for under it stays
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The same for clients that speak TLS, as `https://a.example.org`: nodes that find each other tell it. None: `url`, where it
    /// is one of https.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_url: Option<String>,
    /// Take the peers' reports of load at this address and port (UDP) [default: those of --listen]
    #[arg(long, value_name = "IP:PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports: Option<SocketAddr>,
    /// Report this node's load to these too, as to the peers: redirectors, gateways and DNS servers (--reports), or a node that
    /// only dispatches; e.g. 10.0.0.9:7400
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',')]
    pub report_to: Vec<SocketAddr>,
    /// How the nodes know of each other; where it is not said, by gossip if there are `seeds`.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub membership: Option<Membership>,
    /// Find the other nodes by gossip, beginning with these (UDP), e.g. 10.0.0.1:7400,10.0.0.2:7400; then no --peer is named
    #[arg(id = "seeds", long = "gossip", value_name = "HOST:PORT", value_delimiter = ',', conflicts_with = "peer")]
    pub seeds: Vec<String>,
    /// Serve nothing under the service's name: send each request to a peer. A central dispatcher
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub dispatch_only: bool,
    /// File with the key that all nodes share; at least 16 bytes
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Policy, e.g. `sweb(remote_penalty = 0.6)`, `file-locality` or `stay` [default: sweb]
    #[arg(long)]
    pub policy: String,
    /// Status of the answers that send clients elsewhere: 307 or 302 [default: 307]
    #[arg(id = "redirect", long = "status", value_name = "STATUS", conflicts_with = "forward")]
    pub redirect: u16,
    /// Send a request on to a better node and its reply back, instead of telling its client to ask there
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub forward: bool,
    /// Send POSTs elsewhere too, not only GETs and HEADs
    #[arg(id = "post", long = "schedule-post", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true)]
    pub post: bool,
    /// Paths that always stay, e.g. '/admin/*'; once per pattern
    #[arg(long, value_name = "PATTERN")]
    pub local: Vec<String>,
    /// What a node is made of: NAME=FILE, a server model as `sojourn calibrate` writes it; once per node. Without it a node has
    /// a processor of speed 1
    #[arg(id = "models", long = "hardware", value_name = "NAME=FILE")]
    pub models: Vec<Named<ModelFile>>,
    /// What this node is made of. None: its server model, or a processor of speed 1 of which nothing else is known.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareSettings>,
    /// Time between two reports to the peers; one that was silent for three of them gets no clients [default: 2.5 s]
    #[arg(id = "every", long = "report-every", value_name = "TIME", allow_hyphen_values = true)]
    pub every: Span,
    /// Table of what requests take, as --learn writes it; read anew on SIGHUP
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<PathBuf>,
    /// Record every decision in this file (JSON lines)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
    /// How large and how old the record's files may grow.
    #[command(flatten)]
    pub record_limits: RecordLimits,
    /// Say why in the reply header x-sojourn-reason
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub explain: bool,
    /// The folder of the copies of files that others own. None: no copies.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<PathBuf>,
    /// After how many fetches within `copies_within` a file is copied.
    #[arg(skip)]
    pub copies_after: u32,
    /// See there.
    #[arg(skip)]
    pub copies_within: Span,
    /// How much all copies may have.
    #[arg(skip)]
    pub copies_max: Bytes,
    /// How long a copy is served before its owner is asked again.
    #[arg(skip)]
    pub copies_fresh: Span,
    /// A peer: NAME=URL, or NAME=URL@IP:PORT where it takes reports elsewhere than at the host and port of its URL; once per peer
    #[arg(id = "peer", long = "peer", value_name = "PEER")]
    #[serde(rename = "peer")]
    pub peers: Vec<Peer>,
    /// Nodes that own the files of some paths, e.g. '/videos/*=b,c'; once per pattern. Other files are at all nodes
    #[arg(long, value_name = "PATTERN=NODES")]
    pub owners: Vec<Owners>,
}

/// How the nodes of a cluster know of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Membership {
    /// Each is told of all others, and reports to them.
    Broadcast,
    /// They find each other by gossip.
    Gossip,
}

/// Another node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Its URL, as `http://b.example.org`.
    pub url: String,
    /// Its URL for clients that speak TLS, as `https://b.example.org`. None: `url`, where it is one of https; else such clients
    /// are not sent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_url: Option<String>,
    /// Where it takes reports (UDP). None: at the host and port of its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports: Option<SocketAddr>,
    /// Where the other nodes reach it (HTTP), over a network of their own. None: at the host and port of its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<SocketAddr>,
    /// What it is made of. None: a processor of speed 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareSettings>,
}

/// Which nodes own the files of some paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owners {
    /// The paths, as `/videos/*`.
    pub path: String,
    /// The names of the nodes.
    pub nodes: Vec<String>,
}

/// A file with a server model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFile(pub PathBuf);

/// What a node is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "it is the file of a server model, or e.g. { speed = 2.0, disk = \"5 MB/s\", net = \"1 MB/s\" }"
)]
pub enum HardwareSettings {
    /// A server model in a file.
    Model(PathBuf),
    /// Its numbers.
    Numbers(Numbers),
}

/// What a node is made of, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// Operations per second of its processor; 1 is the reference.
    #[serde(default = "one")]
    pub speed: f64,
    /// Bytes per second of its disk, as `5 MB/s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// The same of its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<String>,
}

fn one() -> f64 {
    1.0
}

/// The shortest time between two reports.
const EVERY_MIN: Span = Span(10_000_000);

impl Default for ClusterSettings {
    fn default() -> ClusterSettings {
        let second = Span(1_000_000_000);
        ClusterSettings {
            service: String::new(),
            url: None,
            tls_url: None,
            reports: None,
            report_to: Vec::new(),
            membership: None,
            seeds: Vec::new(),
            dispatch_only: false,
            key_file: None,
            policy: "sweb".into(),
            redirect: 307,
            forward: false,
            post: false,
            local: Vec::new(),
            models: Vec::new(),
            hardware: None,
            // The paper: every 2 to 3 s.
            every: Span(2_500_000_000),
            oracle: None,
            record: None,
            record_limits: RecordLimits::default(),
            explain: false,
            copies: None,
            copies_after: 3,
            copies_within: second * 10,
            copies_max: Bytes(1_000_000_000),
            copies_fresh: second,
            peers: Vec::new(),
            owners: Vec::new(),
        }
    }
}

impl ClusterSettings {
    /// A node of the service of this name that follows `sweb`; the file has the key that all nodes share.
    pub fn new(service: impl Into<String>, peers: Vec<Peer>, key_file: impl Into<PathBuf>) -> ClusterSettings {
        ClusterSettings {
            service: service.into(),
            peers,
            key_file: Some(key_file.into()),
            ..ClusterSettings::default()
        }
    }

    /// Whether the nodes find each other.
    pub fn gossips(&self) -> bool {
        !self.seeds.is_empty()
    }

    pub(super) fn below(&mut self, folder: &Path) {
        let hardware = self.hardware.iter_mut().chain(self.peers.iter_mut().filter_map(|peer| peer.hardware.as_mut()));
        let models = hardware.filter_map(|of| if let HardwareSettings::Model(file) = of { Some(file) } else { None });
        let named = self.models.iter_mut().map(|named| &mut named.value.0);
        let paths = [&mut self.key_file, &mut self.oracle, &mut self.record, &mut self.copies].into_iter().flatten();
        paths.chain(models).chain(named).for_each(|path| *path = folder.join(&*path));
    }

    /// Whether a node of this name can be one of it.
    pub(super) fn check(&self, name: &str) -> Result<(), Wrong> {
        let wrong = |key: String, what: String| Err(Wrong::new(key, what));
        self.record_limits.check(self.record.is_some()).map_err(|wrong| wrong.inside("record_limits"))?;
        if self.service.is_empty() {
            return wrong("service".into(), "write the host that clients ask for, e.g. `www.example.org`".into());
        }
        match self.membership {
            Some(Membership::Broadcast) if self.gossips() => {
                return wrong("membership".into(), "`broadcast`: seeds are of `gossip`".into());
            }
            Some(Membership::Gossip) if !self.gossips() => {
                let right = "`gossip`: it begins with members, as seeds = [\"10.0.0.1:7400\"]";
                return wrong("membership".into(), right.into());
            }
            _ => {}
        }
        for (index, peer) in self.peers.iter().enumerate() {
            let key = || format!("peer[{index}]");
            headers::name_value(&peer.name).map_err(|error| Wrong::new(key(), error))?;
            if peer.name.len() > REPORTER_MAX {
                return wrong(key(), format!("peer `{}`: a name has 1 to {REPORTER_MAX} bytes", peer.name));
            }
            if peer.name == name || self.peers[..index].iter().any(|other| other.name == peer.name) {
                return wrong(key(), format!("two nodes are called `{}`; names must differ", peer.name));
            }
        }
        if ![302, 307].contains(&self.redirect) {
            return wrong("redirect".into(), format!("{}: a redirector answers 307 or 302", self.redirect));
        }
        if self.every < EVERY_MIN {
            return wrong("every".into(), "nodes report at most every 10 ms".into());
        }
        if self.gossips() && !self.peers.is_empty() {
            return wrong("seeds".into(), "gossip finds the other nodes; name seeds, or peers, not both".into());
        }
        if self.dispatch_only && self.peers.is_empty() && !self.gossips() {
            return wrong("dispatch_only".into(), "a node that only dispatches has peers that serve; name them".into());
        }
        let is_known = |node: &String| node == name || self.peers.iter().any(|peer| peer.name == *node);
        for (index, Owners { path, nodes }) in self.owners.iter().enumerate() {
            let key = || format!("owners[{index}]");
            if let Some(node) = nodes.iter().find(|node| !self.gossips() && !is_known(node)) {
                return wrong(key(), format!("owners of {path}: there is no node `{node}`"));
            }
            if nodes.is_empty() {
                return wrong(key(), format!("owners of {path}: none; leave it out where all nodes have it"));
            }
        }
        if let Some(index) = self.models.iter().position(|named| !is_known(&named.name)) {
            let what = format!("{}: there is no node `{}`", self.models[index], self.models[index].name);
            return wrong(format!("models[{index}]"), what);
        }
        self.check_copies()
    }

    fn check_copies(&self) -> Result<(), Wrong> {
        let usual = ClusterSettings::default();
        let rules = |of: &ClusterSettings| (of.copies_after, of.copies_within, of.copies_max, of.copies_fresh);
        let (key, right) = match &self.copies {
            None if rules(self) != rules(&usual) => ("copies", "write the folder of the copies"),
            None => return Ok(()),
            Some(_) if self.owners.is_empty() => {
                ("copies", "copies are of files that other nodes own: say which, by `owners`")
            }
            Some(_) if self.copies_after == 0 => ("copies_after", "at least 1 fetch; leave `copies` out for no copies"),
            Some(_) if self.copies_max == Bytes(0) => ("copies_max", "a size above 0, e.g. `1 GB`"),
            Some(_) => return Ok(()),
        };
        Err(Wrong::new(key, right))
    }
}

impl Peer {
    /// A node of this name at a URL.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Peer {
        Peer { name: name.into(), url: url.into(), ..Peer::default() }
    }
}

impl FromStr for Peer {
    type Err = String;

    /// Reads `NAME=URL` or `NAME=URL@IP:PORT`, the latter where it takes reports elsewhere than at its URL's host and port.
    fn from_str(text: &str) -> Result<Peer, String> {
        let right = "write e.g. `b=http://b.example.org`, or `b=http://b.example.org@10.0.0.2:7400`";
        let (name, rest) = text.split_once('=').ok_or_else(|| format!("{text}: it names no node; {right}"))?;
        let (url, reports) = match rest.rsplit_once('@') {
            None => (rest, None),
            Some((url, at)) => {
                let at = at.parse().map_err(|_| format!("{text}: `{at}` is no IP:PORT; {right}"))?;
                (url, Some(at))
            }
        };
        Ok(Peer { reports, ..Peer::new(name, url) })
    }
}

impl FromStr for Owners {
    type Err = String;

    fn from_str(text: &str) -> Result<Owners, String> {
        let right = || format!("{text}: write a pattern and nodes, e.g. `/videos/*=b,c`");
        let (path, nodes) = text.rsplit_once('=').ok_or_else(right)?;
        Ok(Owners { path: path.into(), nodes: nodes.split(',').map(|node| node.trim().to_owned()).collect() })
    }
}

impl Exemplary for ModelFile {
    const EXAMPLE: &'static str = "a=server.toml";
}

impl FromStr for ModelFile {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<ModelFile, Self::Err> {
        Ok(ModelFile(text.into()))
    }
}

impl fmt::Display for ModelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}
