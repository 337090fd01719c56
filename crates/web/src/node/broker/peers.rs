//! What the settings of a cluster come to: its key, patterns and hardware, and where its nodes are reached.

use std::net::{SocketAddr, ToSocketAddrs};

use hyper::Uri;
use sojourn_dispatch::Hardware;
use sojourn_model::Server;
use sojourn_part::settings::Wrong;
use sojourn_part::settings::gateway::is_origin;
use sojourn_part::settings::node::{ClusterSettings, HardwareSettings, Owners, Peer};
use sojourn_part::{ServeError, headers};
use sojourn_report::Key;

use super::hosts::{Host, Hosts};
use crate::node::model;
use crate::node::oracle::Pattern;
use crate::node::oracle::pattern::contradiction;
use crate::redirection::RedirectStatus;

/// How a request gets to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandOver {
    /// Its client is told to ask there, with this status.
    Redirect(RedirectStatus),
    /// It is sent on, and the reply passes back through this node.
    Forward,
}

/// What settings come to.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) key: Key,
    pub(super) hand_over: HandOver,
    /// Paths that always stay.
    pub(super) local: Vec<Pattern>,
    /// Which nodes own the files of these paths.
    pub(super) owners: Vec<(Pattern, Vec<String>)>,
    /// What the node itself is made of, and each of its peers.
    pub(super) hardware: Hardware,
    pub(super) of_peers: Vec<Hardware>,
}

/// A processor like that of all others, and nothing else that is known.
const PLAIN: Hardware = Hardware { speed: 1.0, disk_rate: 0.0, net_rate: 0.0 };

impl Resolved {
    /// Of a node of this name, which is this server if it emulates one.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub(super) fn new(cluster: &ClusterSettings, name: &str, model: Option<&Server>) -> Result<Resolved, Wrong> {
        let hand_over = match cluster.forward {
            true => HandOver::Forward,
            false => RedirectStatus::try_from(cluster.redirect)
                .map(HandOver::Redirect)
                .map_err(|why| Wrong::new("redirect", why))?,
        };
        let pattern = |key: String, text: &str| Pattern::of_paths(text).map_err(|why| Wrong::new(key, why));
        let local = cluster.local.iter().enumerate();
        let local = local.map(|(index, text)| pattern(format!("local[{index}]"), text)).collect::<Result<_, _>>()?;
        let owners = cluster.owners.iter().enumerate().map(|(index, Owners { path, nodes })| {
            Ok((pattern(format!("owners[{index}].path"), path)?, nodes.clone()))
        });
        let owners = owners.collect::<Result<Vec<_>, Wrong>>()?;
        let patterns: Vec<&Pattern> = owners.iter().map(|(pattern, _)| pattern).collect();
        if let Some((_, later, earlier)) = contradiction(&patterns) {
            let what =
                format!("owners of {} and of {earlier}: both match the same and are equally long", patterns[later]);
            return Err(Wrong::new(format!("owners[{later}]"), what));
        }
        let named = |node: &str| cluster.models.iter().rposition(|named| named.name == node);
        let made_of = |node: &str, said: Option<&HardwareSettings>, key: String| match (named(node), said) {
            (Some(index), _) => {
                let file = HardwareSettings::Model(cluster.models[index].value.0.clone());
                model::hardware(&file).map(Some).map_err(|why| Wrong::new(format!("models[{index}]"), why))
            }
            (None, said) => said.map(model::hardware).transpose().map_err(|why| Wrong::new(key, why)),
        };
        let own = made_of(name, cluster.hardware.as_ref(), "hardware".into())?;
        let peers = cluster.peers.iter().enumerate();
        let of_peers = peers.map(|(index, peer)| {
            let hardware = made_of(&peer.name, peer.hardware.as_ref(), format!("peer[{index}].hardware"))?;
            Ok(hardware.unwrap_or(PLAIN))
        });
        Ok(Resolved {
            key: Key::of_file(cluster.key_file.as_deref())?,
            hand_over,
            local,
            owners,
            hardware: own.or(model.map(model::hardware_of)).unwrap_or(PLAIN),
            of_peers: of_peers.collect::<Result<_, Wrong>>()?,
        })
    }
}

/// The host names of the service and of a node, which is at `address`.
///
/// # Errors
/// Where clients cannot be told apart by them.
pub(super) fn hosts(cluster: &ClusterSettings, address: SocketAddr) -> Result<Hosts, Wrong> {
    let Some(service) = Host::read(&cluster.service) else {
        let right = "write the host that clients ask for, e.g. `www.example.org`";
        return Err(Wrong::new("service", format!("service {:?} is no host; {right}", cluster.service)));
    };
    let own = cluster.url.clone().unwrap_or_else(|| format!("http://{address}"));
    if cluster.url.is_none() && address.ip().is_unspecified() {
        let right = format!("a node that listens on {address} has no address of its own; say its URL (--url)");
        return Err(Wrong::new("url", right));
    }
    let hosts = Hosts { service };
    for (index, peer) in cluster.peers.iter().enumerate() {
        hosts.check(peer).map_err(|why| Wrong::new(format!("peer[{index}]"), why))?;
    }
    check_url(&hosts.service, "of this node", &own).map_err(|why| Wrong::new("url", why))?;
    let tls_url = cluster.tls_url.as_deref();
    check_tls_url(&hosts.service, "of this node", tls_url).map_err(|why| Wrong::new("tls_url", why))?;
    Ok(hosts)
}

/// Where a node takes reports.
pub(super) fn takes_reports_at(peer: &Peer) -> Result<SocketAddr, ServeError> {
    peer.reports.map_or_else(|| address(peer, "say where its reports go, as IP:PORT"), Ok)
}

/// Where the other nodes reach one.
pub(super) fn is_reached_at(peer: &Peer) -> Result<SocketAddr, ServeError> {
    peer.inside.map_or_else(|| address(peer, "say where it is reached (`inside`), as IP:PORT"), Ok)
}

/// The host of its URL, without its port where that is the usual one.
pub(super) fn host(peer: &Peer) -> &str {
    let rest = peer.url.split_once("://").map_or(peer.url.as_str(), |(_, rest)| rest);
    rest.trim_end_matches('/')
}

/// The address of the host of its URL.
fn address(peer: &Peer, right: &str) -> Result<SocketAddr, ServeError> {
    let wrong = |why: String| {
        ServeError::Config(format!("peer `{}`: the host of its URL {:?} {why}; {right}", peer.name, peer.url))
    };
    let host = host_of(&peer.url).ok_or_else(|| wrong("is none".into()))?;
    let found = (host.bare(), host.port()).to_socket_addrs();
    let mut found = found.map_err(|error| wrong(format!("is not found: {error}")))?;
    found.next().ok_or_else(|| wrong("has no address".into()))
}

impl Hosts {
    /// Whether a node can be sent clients by its URLs.
    ///
    /// # Errors
    /// In words.
    pub(super) fn check(&self, peer: &Peer) -> Result<(), String> {
        headers::name_value(&peer.name).map_err(|error| error.to_string())?;
        check_url(&self.service, &peer.name, &peer.url)?;
        check_tls_url(&self.service, &peer.name, peer.tls_url.as_deref())
    }
}

/// Whether a URL, where one is said, is one for clients that speak TLS.
fn check_tls_url(service: &Host, name: &str, url: Option<&str>) -> Result<(), String> {
    let Some(url) = url else { return Ok(()) };
    if !is_of_tls(url) {
        let right = "clients that speak TLS are sent to https://, as in `https://a.example.org`";
        return Err(format!("tls_url {url:?} ({name}): {right}"));
    }
    check_url(service, name, url)
}

/// Whether a URL is one of https.
pub(super) fn is_of_tls(url: &str) -> bool {
    url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

fn check_url(service: &Host, name: &str, url: &str) -> Result<(), String> {
    let Some(host) = host_of(url) else {
        let right = "it is http:// or https:// and a host, as in `http://a.example.org`";
        return Err(format!("URL {url:?} ({name}): {right}"));
    };
    if service.is_met_by(&host) {
        let right = "a node has a name of its own, or what is sent to it would be sent on for ever";
        return Err(format!("URL {url:?} ({name}) is the service's name {}; {right}", service.as_written()));
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
    use sojourn_part::settings::Settings;
    use sojourn_part::settings::node::NodeSettings;
    use sojourn_stats::Span;

    use super::super::check;
    use super::*;

    #[test]
    fn what_is_wrong_with_a_cluster_is_said() {
        let mut key = tempfile::NamedTempFile::new().expect("a file");
        std::io::Write::write_all(&mut key, b"a key of sixteen").expect("it is written");
        let owners = |text: &str| text.parse::<Owners>().expect("owners");
        let wrong = |change: &dyn Fn(&mut ClusterSettings)| {
            let peers = vec![Peer::new("b", "http://b.example.org"), Peer::new("c", "https://c.example.org:8443/")];
            let mut cluster = ClusterSettings::new("www.example.org", peers, key.path());
            change(&mut cluster);
            let listen = vec!["10.0.0.1:80".parse().expect("an address")];
            let node = NodeSettings { listen, cluster: cluster.clone().into(), ..NodeSettings::new("a") };
            let found = node.check().and_then(|()| check(&cluster, &node, None));
            found.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(wrong(&|_| {}), "");
        for (change, wanted) in [
            (
                &(|of: &mut ClusterSettings| of.peers[0].name = "a".into()) as &dyn Fn(&mut ClusterSettings),
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
            (&|of| of.owners = vec![owners("/v/*=d")], "owners of /v/*: there is no node `d`"),
            (&|of| of.owners = vec![Owners { path: "/v/*".into(), nodes: Vec::new() }], "owners of /v/*: none"),
            (
                &|of| of.owners = vec![owners("/v/*=a"), owners("*.js=b")],
                "owners of *.js and of /v/*: both match the same",
            ),
        ] {
            let said = wrong(change);
            assert!(said.contains(wanted), "{said:?} instead of {wanted:?}");
        }
    }

    #[test]
    fn a_peer_is_read_with_and_without_where_its_reports_go() {
        let peer: Peer = "b=http://10.0.0.2:8080".parse().expect("a peer");
        assert_eq!((peer.name.as_str(), peer.url.as_str()), ("b", "http://10.0.0.2:8080"));
        assert_eq!(takes_reports_at(&peer).expect("an address").to_string(), "10.0.0.2:8080");
        let peer: Peer = "b=https://b.example.org@10.0.0.2:7400".parse().expect("a peer");
        assert_eq!(takes_reports_at(&peer).expect("an address").to_string(), "10.0.0.2:7400");
        let plain = Peer::new("b", "http://10.0.0.2");
        assert_eq!(takes_reports_at(&plain).expect("an address").to_string(), "10.0.0.2:80");
        for wrong in ["http://b.example.org", "b=http://b.example.org@7400"] {
            assert!(wrong.parse::<Peer>().is_err_and(|why| why.contains("write e.g.")), "{wrong}");
        }
    }
}
