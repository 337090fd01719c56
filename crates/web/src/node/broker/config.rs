//! What a node of a cluster is told of itself and of its peers.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use hyper::Uri;
use sojourn_dispatch::Hardware;
use sojourn_model::Server;
use sojourn_part::{ServeError, headers};
use sojourn_report::{Key, NAME_MAX};
use sojourn_stats::Span;

use super::hosts::{Host, Hosts};
use crate::node::copies::CopySettings;
use crate::node::oracle::Pattern;
use crate::node::oracle::pattern::contradiction;
use crate::redirection::RedirectStatus;
use sojourn_part::settings::gateway::is_origin;

/// A cluster as one of its nodes sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterConfig {
    /// The name under which clients ask for the service, as `www.example.org`: what is asked for under it may move once.
    pub service: String,
    /// The URL of this node, as `http://a.example.org`: what is asked for under it stays. None: `http://` and its address.
    pub url: Option<String>,
    /// The same for clients that speak TLS, as `https://a.example.org`: nodes that find each other tell it. None: `url`, where it
    /// is one of https.
    pub tls_url: Option<String>,
    /// Where reports of the peers come (UDP). None: the address and port of the node itself.
    pub reports: Option<SocketAddr>,
    /// Who else is told of this node's load, as it is told to the peers: a redirector, a gateway, a DNS, a central dispatcher.
    pub report_to: Vec<SocketAddr>,
    /// It serves nothing under the service's name: each request goes to a peer. A central dispatcher.
    pub dispatch_only: bool,
    /// The key that all nodes share.
    pub key: Key,
    /// How the nodes know of each other.
    pub membership: Membership,
    /// The other nodes, where they are named.
    pub peers: Vec<PeerConfig>,
    /// How a node is chosen, as text: `sweb(remote_penalty = 0.6)`.
    pub policy: String,
    /// How a request gets to another node.
    pub hand_over: HandOver,
    /// Whether a POST may move as well.
    pub moves_post: bool,
    /// Paths that always stay.
    pub local: Vec<Pattern>,
    /// Which nodes own the files of these paths; files of other paths are everywhere.
    pub owners: Vec<(Pattern, Vec<String>)>,
    /// Which of them are copied here. None: none.
    pub copies: Option<CopySettings>,
    /// What this node is made of. None: its server model, or a processor of speed 1 of which nothing else is known.
    pub hardware: Option<Hardware>,
    /// Time between two reports to the peers; one that was silent for three of them is out.
    pub every: Span,
    /// The table of what requests take.
    pub oracle: Option<PathBuf>,
    /// Where decisions are recorded.
    pub record: Option<PathBuf>,
    /// Whether replies say why their node was chosen.
    pub explain: bool,
}

/// How the nodes of a cluster know of each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// Each is told of all others, and reports to them.
    #[default]
    Broadcast,
    /// They find each other by gossip.
    Gossip {
        /// Members to begin with, as `HOST:PORT` (UDP).
        seeds: Vec<String>,
    },
}

/// How a request gets to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Its client is told to ask there, with this status.
    Redirect(RedirectStatus),
    /// It is sent on, and the reply passes back through this node.
    Forward,
}

/// Another node.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerConfig {
    /// Its name.
    pub name: String,
    /// Its URL, as `http://b.example.org`.
    pub url: String,
    /// Its URL for clients that speak TLS, as `https://b.example.org`. None: `url`, where it is one of https; else such clients
    /// are not sent there.
    pub tls_url: Option<String>,
    /// Where it takes reports (UDP). None: at the host and port of its URL.
    pub reports: Option<SocketAddr>,
    /// Where the other nodes reach it (HTTP), over a network of their own. None: at the host and port of its URL.
    pub inside: Option<SocketAddr>,
    /// What it is made of. None: a processor of speed 1.
    pub hardware: Option<Hardware>,
}

/// How often nodes report where nothing is said; the paper: every 2 to 3 s.
pub(super) const EVERY: Span = Span(2_500_000_000);

/// A processor like that of all others, and nothing else that is known.
const PLAIN: Hardware = Hardware { speed: 1.0, disk_rate: 0.0, net_rate: 0.0 };

impl ClusterConfig {
    /// A node of the service of this name that follows `sweb`.
    pub fn new(service: impl Into<String>, peers: Vec<PeerConfig>, key: Key) -> ClusterConfig {
        ClusterConfig {
            service: service.into(),
            url: None,
            tls_url: None,
            reports: None,
            report_to: Vec::new(),
            dispatch_only: false,
            key,
            membership: Membership::Broadcast,
            peers,
            policy: "sweb".into(),
            hand_over: HandOver::Redirect(RedirectStatus::default()),
            moves_post: false,
            local: Vec::new(),
            owners: Vec::new(),
            copies: None,
            hardware: None,
            every: EVERY,
            oracle: None,
            record: None,
            explain: false,
        }
    }

    /// What the node itself is made of, where it emulates this server.
    pub(super) fn own_hardware(&self, model: Option<&Server>) -> Hardware {
        self.hardware.unwrap_or_else(|| model.map_or(PLAIN, hardware_of))
    }

    /// The host names of the service and of this node, which is at `address`.
    pub(super) fn hosts(&self, address: SocketAddr) -> Result<Hosts, ServeError> {
        let wrong = |what: String| Err(ServeError::Config(what));
        let Some(service) = Host::read(&self.service) else {
            let right = "write the host that clients ask for, e.g. `www.example.org`";
            return wrong(format!("service {:?} is no host; {right}", self.service));
        };
        let own = self.url.clone().unwrap_or_else(|| format!("http://{address}"));
        if self.url.is_none() && address.ip().is_unspecified() {
            return wrong(format!("a node that listens on {address} has no address of its own; say its URL (--url)"));
        }
        let peers = self.peers.iter().map(|peer| (peer.name.as_str(), peer.url.as_str()));
        for (name, url) in peers.chain([("of this node", own.as_str())]) {
            check_url(&service, name, url)?;
        }
        let peers = self.peers.iter().map(|peer| (peer.name.as_str(), &peer.tls_url));
        for (name, url) in peers.chain([("of this node", &self.tls_url)]) {
            check_tls_url(&service, name, url.as_deref())?;
        }
        Ok(Hosts { service })
    }

    /// What cannot be so, whatever the address.
    pub(super) fn check(&self, name: &str) -> Result<(), ServeError> {
        let wrong = |what: String| Err(ServeError::Config(what));
        for (index, peer) in self.peers.iter().enumerate() {
            headers::name_value(&peer.name)?;
            if peer.name.len() > NAME_MAX {
                return wrong(format!("peer `{}`: a name has 1 to {NAME_MAX} bytes", peer.name));
            }
            if peer.name == name || self.peers[..index].iter().any(|other| other.name == peer.name) {
                return wrong(format!("two nodes are called `{}`; names must differ", peer.name));
            }
        }
        if self.every < Span(10_000_000) {
            return wrong("nodes report at most every 10 ms".into());
        }
        let gossips = self.membership != Membership::Broadcast;
        if gossips && !self.peers.is_empty() {
            return wrong("gossip finds the other nodes; name seeds, or peers, not both".into());
        }
        if self.dispatch_only && self.peers.is_empty() && !gossips {
            return wrong("a node that only dispatches has peers that serve; name them".into());
        }
        let known = |node: &String| node == name || self.peers.iter().any(|peer| peer.name == *node);
        for (path, nodes) in &self.owners {
            if let Some(node) = nodes.iter().find(|node| !gossips && !known(node)) {
                return wrong(format!("owners of {path}: there is no node `{node}`"));
            }
            if nodes.is_empty() {
                return wrong(format!("owners of {path}: none; leave it out where all nodes have it"));
            }
        }
        if let Some(CopySettings { rules, .. }) = &self.copies {
            if self.owners.is_empty() {
                return wrong("copies are of files that other nodes own: say which, by `owners`".into());
            }
            if rules.after == 0 {
                return wrong("copies_after: at least 1 fetch; leave `copies` out for no copies".into());
            }
        }
        let patterns: Vec<&Pattern> = self.owners.iter().map(|(pattern, _)| pattern).collect();
        if let Some((_, later, earlier)) = contradiction(&patterns) {
            let later = patterns[later];
            return wrong(format!("owners of {later} and of {earlier}: both match the same and are equally long"));
        }
        Ok(())
    }
}

impl PeerConfig {
    /// A node of this name at a URL.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> PeerConfig {
        PeerConfig { name: name.into(), url: url.into(), tls_url: None, reports: None, inside: None, hardware: None }
    }

    /// Reads `NAME=URL` or `NAME=URL@IP:PORT`, the latter where it takes reports elsewhere than at its URL's host and port.
    ///
    /// # Errors
    /// In words.
    pub fn parse(text: &str) -> Result<PeerConfig, String> {
        let right = "write e.g. `b=http://b.example.org`, or `b=http://b.example.org@10.0.0.2:7400`";
        let (name, rest) = text.split_once('=').ok_or_else(|| format!("{text}: it names no node; {right}"))?;
        let (url, reports) = match rest.rsplit_once('@') {
            None => (rest, None),
            Some((url, at)) => {
                let at = at.parse().map_err(|_| format!("{text}: `{at}` is no IP:PORT; {right}"))?;
                (url, Some(at))
            }
        };
        Ok(PeerConfig { reports, ..PeerConfig::new(name, url) })
    }

    /// Where it takes reports.
    pub(super) fn takes_reports_at(&self) -> Result<SocketAddr, ServeError> {
        self.reports.map_or_else(|| self.address("say where its reports go, as IP:PORT"), Ok)
    }

    /// Where the other nodes reach it.
    pub(super) fn is_reached_at(&self) -> Result<SocketAddr, ServeError> {
        self.inside.map_or_else(|| self.address("say where it is reached (`inside`), as IP:PORT"), Ok)
    }

    /// The host of its URL, without its port where that is the usual one.
    pub(super) fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.trim_end_matches('/')
    }

    /// The address of the host of its URL.
    fn address(&self, right: &str) -> Result<SocketAddr, ServeError> {
        let wrong = |why: String| {
            ServeError::Config(format!("peer `{}`: the host of its URL {:?} {why}; {right}", self.name, self.url))
        };
        let host = host_of(&self.url).ok_or_else(|| wrong("is none".into()))?;
        let found = (host.bare(), host.port()).to_socket_addrs();
        let mut found = found.map_err(|error| wrong(format!("is not found: {error}")))?;
        found.next().ok_or_else(|| wrong("has no address".into()))
    }

    pub(super) fn hardware(&self) -> Hardware {
        self.hardware.unwrap_or(PLAIN)
    }
}

/// What a server is made of, as its model says.
pub fn hardware_of(server: &Server) -> Hardware {
    let rate = |name: &str| server.byte_rate(name).unwrap_or(0.0);
    Hardware { speed: server.speed, disk_rate: rate("disk"), net_rate: rate("net") }
}

impl Hosts {
    /// Whether a node can be sent clients by its URLs.
    ///
    /// # Errors
    /// In words.
    pub(super) fn check(&self, peer: &PeerConfig) -> Result<(), ServeError> {
        headers::name_value(&peer.name)?;
        check_url(&self.service, &peer.name, &peer.url)?;
        check_tls_url(&self.service, &peer.name, peer.tls_url.as_deref())
    }
}

/// Whether a URL, where one is said, is one for clients that speak TLS.
fn check_tls_url(service: &Host, name: &str, url: Option<&str>) -> Result<(), ServeError> {
    let Some(url) = url else { return Ok(()) };
    if !is_of_tls(url) {
        let right = "clients that speak TLS are sent to https://, as in `https://a.example.org`";
        return Err(ServeError::Config(format!("tls_url {url:?} ({name}): {right}")));
    }
    check_url(service, name, url)
}

/// Whether a URL is one of https.
pub(super) fn is_of_tls(url: &str) -> bool {
    url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

fn check_url(service: &Host, name: &str, url: &str) -> Result<(), ServeError> {
    let wrong = |what: String| Err(ServeError::Config(what));
    let Some(host) = host_of(url) else {
        let right = "it is http:// or https:// and a host, as in `http://a.example.org`";
        return wrong(format!("URL {url:?} ({name}): {right}"));
    };
    if service.is_met_by(&host) {
        let right = "a node has a name of its own, or what is sent to it would be sent on for ever";
        return wrong(format!("URL {url:?} ({name}) is the service's name {}; {right}", service.as_written()));
    }
    Ok(())
}

/// The host of a URL without a path.
fn host_of(url: &str) -> Option<Host> {
    let uri = url.trim_end_matches('/').parse::<Uri>().ok().filter(|_| is_origin(url))?;
    let is_bare = uri.path_and_query().is_none_or(|path| path.as_str() == "/");
    let port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    Host::read_with(uri.authority()?.as_str(), port).filter(|_| is_bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ClusterConfig {
        let peers =
            vec![PeerConfig::new("b", "http://b.example.org"), PeerConfig::new("c", "https://c.example.org:8443/")];
        ClusterConfig::new("www.example.org", peers, Key::new(b"a key of sixteen"))
    }

    #[test]
    fn what_is_wrong_with_a_cluster_is_said() {
        let address: SocketAddr = "10.0.0.1:80".parse().expect("an address");
        let pattern = |text: &str| Pattern::of_paths(text).expect("a pattern");
        let wrong = |change: &dyn Fn(&mut ClusterConfig)| {
            let mut config = config();
            change(&mut config);
            let found = config.check("a").and_then(|()| config.hosts(address).map(drop));
            found.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(wrong(&|_| {}), "");
        for (change, wanted) in [
            (
                &(|of: &mut ClusterConfig| of.peers[0].name = "a".into()) as &dyn Fn(&mut ClusterConfig),
                "two nodes are called `a`",
            ),
            (&|of| of.peers[1].name = "b".into(), "two nodes are called `b`"),
            (&|of| of.peers[1].url = "http://www.example.org".into(), "is the service's name www.example.org"),
            (&|of| of.peers[1].url = "http://WWW.Example.ORG.:8080".into(), "is the service's name www.example.org"),
            (&|of| of.url = Some("http://www.example.org".into()), "(of this node) is the service's name"),
            (&|of| of.peers[1].url = "http://c.example.org/c".into(), "it is http:// or https:// and a host"),
            (&|of| of.peers[1].url = "c.example.org".into(), "it is http:// or https:// and a host"),
            (&|of| of.service = "http://www.example.org".into(), "is no host; write the host"),
            (
                &|of| of.peers[0].tls_url = Some("http://b.example.org".into()),
                "tls_url \"http://b.example.org\" (b): clients that speak TLS are sent to https://",
            ),
            (
                &|of| of.peers[0].tls_url = Some("https://www.example.org".into()),
                "(b) is the service's name www.example.org",
            ),
            (&|of| of.tls_url = Some("https://b.example.org/b".into()), "(of this node): it is http:// or https://"),
            (
                &|of| {
                    of.dispatch_only = true;
                    of.peers.clear();
                },
                "a node that only dispatches has peers that serve",
            ),
            (&|of| of.every = Span(1), "nodes report at most every 10 ms"),
            (&|of| of.owners = vec![(pattern("/v/*"), vec!["d".into()])], "owners of /v/*: there is no node `d`"),
            (&|of| of.owners = vec![(pattern("/v/*"), vec![])], "owners of /v/*: none"),
            (
                &|of| of.owners = vec![(pattern("/v/*"), vec!["a".into()]), (pattern("*.js"), vec!["b".into()])],
                "owners of *.js and of /v/*: both match the same",
            ),
        ] {
            let said = wrong(change);
            assert!(said.contains(wanted), "{said:?} instead of {wanted:?}");
        }
    }

    #[test]
    fn a_peer_is_read_with_and_without_where_its_reports_go() {
        let peer = PeerConfig::parse("b=http://10.0.0.2:8080").expect("a peer");
        assert_eq!((peer.name.as_str(), peer.url.as_str()), ("b", "http://10.0.0.2:8080"));
        assert_eq!(peer.takes_reports_at().expect("an address").to_string(), "10.0.0.2:8080");
        let peer = PeerConfig::parse("b=https://b.example.org@10.0.0.2:7400").expect("a peer");
        assert_eq!(peer.takes_reports_at().expect("an address").to_string(), "10.0.0.2:7400");
        let plain = PeerConfig::new("b", "http://10.0.0.2");
        assert_eq!(plain.takes_reports_at().expect("an address").to_string(), "10.0.0.2:80");
        for wrong in ["http://b.example.org", "b=http://b.example.org@7400"] {
            assert!(PeerConfig::parse(wrong).is_err_and(|why| why.contains("write e.g.")), "{wrong}");
        }
    }
}
