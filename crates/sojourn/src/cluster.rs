//! A node's flags for the cluster that it is a node of.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sojourn_model::Server;
use sojourn_report::Key;
use sojourn_stats::input;
use sojourn_web::node::{RankedPattern, hardware_of};
use sojourn_web::{ClusterConfig, HandOver, Membership, PeerConfig, RedirectStatus};

use crate::exit::{Failure, bad_input};
use crate::value::time;

/// A cluster of nodes, each of which serves a request or sends its client to the node that would serve it first
#[derive(clap::Args)]
pub(crate) struct Cluster {
    /// Read the cluster from part [cluster] of this file; then the other flags here but --learn are left out
    #[arg(long, value_name = "FILE", conflicts_with = "service")]
    cluster: Option<PathBuf>,
    /// Name under which clients ask for the service, e.g. www.example.org: only what is asked for under it may be sent to a peer
    #[arg(long, value_name = "HOST", requires = "key")]
    service: Option<String>,
    /// URL of this node, if not http://ADDRESS; what is asked for under it stays
    #[arg(long, value_name = "URL", requires = "service")]
    url: Option<String>,
    /// A peer: NAME=URL, or NAME=URL@IP:PORT where it takes reports elsewhere than at the host and port of its URL; once per peer
    #[arg(long = "peer", value_name = "PEER", requires = "service")]
    peers: Vec<String>,
    /// Find the other nodes by gossip, beginning with these (UDP), e.g. 10.0.0.1:7400,10.0.0.2:7400; then no --peer is named
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', requires = "service", conflicts_with = "peers")]
    gossip: Vec<String>,
    /// File with the key that all nodes share; at least 16 bytes
    #[arg(long, value_name = "FILE", requires = "service")]
    key: Option<PathBuf>,
    /// Take the peers' reports of load at this address and port (UDP) [default: those of --listen]
    #[arg(long, value_name = "IP:PORT", requires = "service")]
    reports: Option<SocketAddr>,
    /// Report this node's load to these too, as to the peers: redirectors, gateways and DNS servers (--reports), or a node that
    /// only dispatches; e.g. 10.0.0.9:7400
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',', requires = "service")]
    report_to: Vec<SocketAddr>,
    /// Serve nothing under the service's name: send each request to a peer. A central dispatcher
    #[arg(long, requires = "service")]
    dispatch_only: bool,
    /// Time between two reports to the peers; one that was silent for three of them gets no clients
    #[arg(long, value_name = "TIME", default_value = "2.5 s", requires = "service")]
    report_every: String,
    /// Policy, e.g. `sweb(remote_penalty = 0.6)`, `file-locality` or `stay`
    #[arg(long, default_value = "sweb", requires = "service")]
    policy: String,
    /// Status of the answers that send clients elsewhere: 307 or 302
    #[arg(long, value_name = "STATUS", default_value_t = 307, requires = "service")]
    status: u16,
    /// Send a request on to a better node and its reply back, instead of telling its client to ask there
    #[arg(long, requires = "service", conflicts_with = "status")]
    forward: bool,
    /// Send POSTs elsewhere too, not only GETs and HEADs
    #[arg(long, requires = "service")]
    schedule_post: bool,
    /// Paths that always stay, e.g. '/admin/*'; once per pattern
    #[arg(long = "local", value_name = "PATTERN", requires = "service")]
    local: Vec<String>,
    /// Nodes that own the files of some paths, e.g. '/videos/*=b,c'; once per pattern. Other files are at all nodes
    #[arg(long = "owners", value_name = "PATTERN=NODES", requires = "service")]
    owners: Vec<String>,
    /// What a node is made of: NAME=FILE, a server model as `sojourn calibrate` writes it; once per node. Without it a node has
    /// a processor of speed 1
    #[arg(long = "hardware", value_name = "NAME=FILE", requires = "service")]
    hardware: Vec<String>,
    /// Table of what requests take, as --learn writes it; read anew on SIGHUP
    #[arg(long, value_name = "FILE", requires = "service")]
    oracle: Option<PathBuf>,
    /// Write such a table of what was served to this file, at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) learn: Option<PathBuf>,
    /// Record every decision in this file (JSON lines)
    #[arg(long, value_name = "FILE", requires = "service")]
    record: Option<PathBuf>,
    /// Say why in the reply header x-sojourn-reason
    #[arg(long, requires = "service")]
    explain: bool,
}

impl Cluster {
    fn membership(&self) -> Membership {
        match &self.gossip[..] {
            [] => Membership::Broadcast,
            seeds => Membership::Gossip { seeds: seeds.to_vec() },
        }
    }

    /// The cluster, if there is one; `name`: this node's.
    pub(crate) fn config(&self, name: &str) -> Result<Option<ClusterConfig>, Failure> {
        if let Some(file) = &self.cluster {
            return ClusterConfig::read(file).map(Some).map_err(bad_input);
        }
        let Some(service) = &self.service else { return Ok(None) };
        let peers =
            self.peers.iter().map(|text| PeerConfig::parse(text).map_err(|why| bad_input(format!("--peer {why}"))));
        let key = Key::read(self.key.as_deref().expect("clap requires it")).map_err(bad_input)?;
        let pattern =
            |flag: &str, text: &str| RankedPattern::of_paths(text).map_err(|why| bad_input(format!("{flag} {why}")));
        let owners = self.owners.iter().map(|text| {
            let right = || bad_input(format!("--owners {text}: write a pattern and nodes, e.g. `/videos/*=b,c`"));
            let (paths, nodes) = text.rsplit_once('=').ok_or_else(right)?;
            let nodes: Vec<String> = nodes.split(',').map(|node| node.trim().to_owned()).collect();
            Ok::<_, Failure>((pattern("--owners", paths)?, nodes))
        });
        let mut peers = peers.collect::<Result<Vec<_>, _>>()?;
        let mut own = None;
        for text in &self.hardware {
            let wrong = |what: String| bad_input(format!("--hardware {text}: {what}"));
            let (node, file) = text.split_once('=').ok_or_else(|| wrong("write e.g. `a=server.toml`".into()))?;
            let peer = peers.iter_mut().find(|peer| peer.name == node).map(|peer| &mut peer.hardware);
            let place = peer.or((node == name).then_some(&mut own));
            let place = place.ok_or_else(|| wrong(format!("there is no node `{node}`")))?;
            let read = input::text(Path::new(file)).map_err(|error| wrong(error.to_string()))?;
            let server = Server::from_toml(&read).map_err(|error| wrong(error.to_string()))?;
            *place = Some(hardware_of(&server));
        }
        let status = RedirectStatus::try_from(self.status).map_err(|why| bad_input(format!("--status {why}")))?;
        Ok(Some(ClusterConfig {
            hardware: own,
            url: self.url.clone(),
            reports: self.reports,
            membership: self.membership(),
            report_to: self.report_to.clone(),
            dispatch_only: self.dispatch_only,
            policy: self.policy.clone(),
            hand_over: if self.forward { HandOver::Forward } else { HandOver::Redirect(status) },
            moves_post: self.schedule_post,
            local: self.local.iter().map(|text| pattern("--local", text)).collect::<Result<_, _>>()?,
            owners: owners.collect::<Result<_, _>>()?,
            every: time("--report-every", &self.report_every)?,
            oracle: self.oracle.clone(),
            record: self.record.clone(),
            explain: self.explain,
            ..ClusterConfig::new(service, peers, key)
        }))
    }
}
