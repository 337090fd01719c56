//! The part `[cluster]` of a node's configuration file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sojourn_dispatch::Hardware;
use sojourn_model::{CopyRules, Server, byte_rate};
use sojourn_part::place::Place;
use sojourn_report::Key;
use sojourn_stats::{Dimension, Span, input, quantity};
use toml::Spanned;

use super::config::{ClusterConfig, EVERY, HandOver, Membership, PeerConfig, hardware_of};
use crate::node::copies::CopySettings;
use crate::node::oracle::Pattern;
use crate::redirection::RedirectStatus;

/// Copies where nothing else is said.
const COPIES_AFTER: u32 = 3;
const COPIES_WITHIN: Span = Span(10_000_000_000);
const COPIES_MAX: u64 = 1_000_000_000;
const COPIES_FRESH: Span = Span(1_000_000_000);

/// A file with a part for the cluster; other parts are of others.
#[derive(Deserialize)]
struct RawFile {
    cluster: RawCluster,
}

/// A cluster as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCluster {
    service: String,
    url: Option<String>,
    tls_url: Option<String>,
    reports: Option<Spanned<String>>,
    #[serde(default)]
    report_to: Vec<Spanned<String>>,
    membership: Option<Spanned<String>>,
    #[serde(default)]
    seeds: Vec<String>,
    #[serde(default)]
    dispatch_only: bool,
    key_file: Spanned<PathBuf>,
    policy: Option<String>,
    redirect: Option<Spanned<u16>>,
    #[serde(default)]
    forward: bool,
    #[serde(default)]
    post: bool,
    #[serde(default)]
    local: Vec<Spanned<String>>,
    hardware: Option<Spanned<RawHardware>>,
    every: Option<Spanned<String>>,
    oracle: Option<PathBuf>,
    record: Option<PathBuf>,
    #[serde(default)]
    explain: bool,
    #[serde(default)]
    peer: Vec<RawPeer>,
    #[serde(default)]
    owners: Vec<RawOwners>,
    copies: Option<PathBuf>,
    copies_after: Option<u32>,
    copies_within: Option<Spanned<String>>,
    copies_max: Option<Spanned<String>>,
    copies_fresh: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPeer {
    name: String,
    url: String,
    tls_url: Option<String>,
    reports: Option<Spanned<String>>,
    inside: Option<Spanned<String>>,
    hardware: Option<Spanned<RawHardware>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOwners {
    path: Spanned<String>,
    nodes: Vec<String>,
}

/// A server model in a file, or its numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawHardware {
    Model(PathBuf),
    Numbers(RawNumbers),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNumbers {
    speed: Option<f64>,
    disk: Option<String>,
    net: Option<String>,
}

impl ClusterConfig {
    /// Reads the part `[cluster]` of a node's file.
    ///
    /// # Errors
    /// One line: file, line, key, and what would be right.
    pub fn read(path: &Path) -> Result<ClusterConfig, String> {
        let text = input::text(path).map_err(|error| format!("{}: {error}", path.display()))?;
        ClusterConfig::parse(&text, path)
    }

    /// The same of a text; `path` names it in messages and is where relative paths start.
    ///
    /// # Errors
    /// As [`ClusterConfig::read`].
    pub fn parse(text: &str, path: &Path) -> Result<ClusterConfig, String> {
        let place = Place { text, file: path };
        place.read::<RawFile>()?.cluster.settings(&place)
    }
}

impl RawCluster {
    /// What it says; what cannot be so whatever the node is called is told here, the rest when the node starts.
    ///
    /// # Errors
    /// One line: file, line, key, and what would be right.
    pub(crate) fn settings(&self, place: &Place<'_>) -> Result<ClusterConfig, String> {
        let key = Key::read(&place.path(self.key_file.get_ref()));
        let key = key.map_err(|error| place.wrong(self.key_file.span(), "cluster.key_file", error))?;
        let peers = self.peer.iter().map(|peer| peer.settings(place)).collect::<Result<_, _>>()?;
        let mut config = ClusterConfig::new(self.service.clone(), peers, key);
        config.url.clone_from(&self.url);
        config.tls_url.clone_from(&self.tls_url);
        config.reports = address(self.reports.as_ref(), "cluster.reports", place)?;
        for text in &self.report_to {
            let to = place.address(text.get_ref(), text.span(), "cluster.report_to", "10.0.0.9:7400")?;
            config.report_to.push(to);
        }
        config.dispatch_only = self.dispatch_only;
        match self.membership.as_ref().map(|how| (how, how.get_ref().as_str())) {
            None | Some((_, "broadcast")) if self.seeds.is_empty() => {}
            Some((_, "gossip")) if !self.seeds.is_empty() => {
                config.membership = Membership::Gossip { seeds: self.seeds.clone() };
            }
            Some((how, text)) => {
                let right = "it is `broadcast`, or `gossip` with seeds = [\"10.0.0.1:7400\"]";
                return Err(place.wrong(how.span(), "cluster.membership", format!("`{text}`: {right}")));
            }
            None => return Err(format!("{}: cluster.seeds: write membership = \"gossip\"", place.file.display())),
        }
        if let Some(policy) = &self.policy {
            config.policy.clone_from(policy);
        }
        if let Some(status) = &self.redirect {
            let read = RedirectStatus::try_from(*status.get_ref());
            let status = read.map_err(|why| place.wrong(status.span(), "cluster.redirect", why))?;
            config.hand_over = HandOver::Redirect(status);
        }
        if self.forward {
            config.hand_over = HandOver::Forward;
        }
        let pattern = |text: &Spanned<String>, key: &str| {
            Pattern::of_paths(text.get_ref()).map_err(|why| place.wrong(text.span(), key, why))
        };
        config.local = self.local.iter().map(|text| pattern(text, "cluster.local")).collect::<Result<_, _>>()?;
        for owners in &self.owners {
            config.owners.push((pattern(&owners.path, "cluster.owners.path")?, owners.nodes.clone()));
        }
        config.copies = self.copies(place)?;
        config.hardware = hardware(self.hardware.as_ref(), "cluster.hardware", place)?;
        config.every = self.every.as_ref().map_or(Ok(EVERY), |text| place.time(text, "cluster.every"))?;
        let path = |path: &Option<PathBuf>| path.as_deref().map(|path| place.path(path));
        (config.oracle, config.record) = (path(&self.oracle), path(&self.record));
        (config.moves_post, config.explain) = (self.post, self.explain);
        Ok(config)
    }
}

impl RawCluster {
    /// Which files are copied; none where no folder is named.
    fn copies(&self, place: &Place<'_>) -> Result<Option<CopySettings>, String> {
        let time = |text: &Option<Spanned<String>>, key: &str, usual: Span| {
            text.as_ref().map_or(Ok(usual), |text| place.time(text, key))
        };
        let within = time(&self.copies_within, "cluster.copies_within", COPIES_WITHIN)?;
        let fresh = time(&self.copies_fresh, "cluster.copies_fresh", COPIES_FRESH)?;
        let max = match &self.copies_max {
            Some(text) => match quantity::parse(text.get_ref(), Dimension::Size) {
                Ok(size) if size > 0.0 => size as u64,
                _ => return Err(place.wrong(text.span(), "cluster.copies_max", "a size above 0, e.g. `1 GB`")),
            },
            None => COPIES_MAX,
        };
        let rules = CopyRules { after: self.copies_after.unwrap_or(COPIES_AFTER), within, max };
        let is_set = self.copies_after.is_some() || self.copies_within.is_some();
        let is_set = is_set || self.copies_max.is_some() || self.copies_fresh.is_some();
        match &self.copies {
            Some(folder) => Ok(Some(CopySettings { folder: place.path(folder), rules, fresh })),
            None if is_set => Err(format!("{}: cluster.copies: write the folder of the copies", place.file.display())),
            None => Ok(None),
        }
    }
}

impl RawPeer {
    fn settings(&self, place: &Place<'_>) -> Result<PeerConfig, String> {
        Ok(PeerConfig {
            tls_url: self.tls_url.clone(),
            reports: address(self.reports.as_ref(), "cluster.peer.reports", place)?,
            inside: address(self.inside.as_ref(), "cluster.peer.inside", place)?,
            hardware: hardware(self.hardware.as_ref(), "cluster.peer.hardware", place)?,
            ..PeerConfig::new(self.name.clone(), self.url.clone())
        })
    }
}

fn address(
    text: Option<&Spanned<String>>,
    key: &str,
    place: &Place<'_>,
) -> Result<Option<std::net::SocketAddr>, String> {
    text.map(|text| place.address(text.get_ref(), text.span(), key, "10.0.0.1:7400")).transpose()
}

fn hardware(raw: Option<&Spanned<RawHardware>>, key: &str, place: &Place<'_>) -> Result<Option<Hardware>, String> {
    let Some(raw) = raw else { return Ok(None) };
    let wrong = |what: String| place.wrong(raw.span(), key, what);
    match raw.get_ref() {
        RawHardware::Model(path) => {
            let path = place.path(path);
            let text = input::text(&path).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            let server = Server::from_toml(&text).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            Ok(Some(hardware_of(&server)))
        }
        RawHardware::Numbers(RawNumbers { speed, disk, net }) => {
            let rate = |text: &Option<String>, name: &str| match text {
                Some(text) => byte_rate(text, name).map_err(wrong),
                None => Ok(0.0),
            };
            let speed = speed.unwrap_or(1.0);
            if !(speed > 0.0 && speed.is_finite()) {
                return Err(wrong(format!("speed = {speed}: operations per second, above 0; 1 is the reference")));
            }
            Ok(Some(Hardware { speed, disk_rate: rate(disk, "disk")?, net_rate: rate(net, "net")? }))
        }
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Span;

    use super::*;

    #[test]
    fn all_of_a_cluster_can_be_written_and_mistakes_are_told_with_their_line() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key"), "a key of sixteen bytes").expect("it can be written");
        std::fs::write(folder.path().join("b.toml"), "discipline = \"ps\"\ndemand = \"1 ms\"\nspeed = 2\n")
            .expect("it can be written");
        let file = folder.path().join("node.toml");
        let whole = "[cluster]\nservice = \"www.example.org\"\nkey_file = \"key\"\nurl = \"http://a.example.org\"\n\
             reports = \"10.0.0.1:7400\"\npolicy = \"cpu-only\"\nredirect = 302\npost = true\nlocal = [\"/admin/*\"]\n\
             hardware = { disk = \"5 MB/s\", net = \"1 MB/s\" }\nevery = \"2 s\"\noracle = \"oracle.toml\"\n\
             record = \"decisions\"\nexplain = true\nreport_to = [\"10.0.0.9:7400\"]\ndispatch_only = true\n\
             [[cluster.peer]]\nname = \"b\"\nurl = \"http://b.example.org\"\ntls_url = \"https://b.example.org\"\n\
             reports = \"10.0.0.2:7400\"\nhardware = \"b.toml\"\n[[cluster.owners]]\npath = \"/v/*\"\nnodes = [\"b\"]\n";
        let config = ClusterConfig::parse(whole, &file).expect("it is right");
        assert_eq!(config.hardware, Some(Hardware { speed: 1.0, disk_rate: 5e6, net_rate: 1e6 }));
        assert_eq!(config.peers[0].hardware.map(|of| of.speed), Some(2.0));
        assert_eq!(config.peers[0].tls_url.as_deref(), Some("https://b.example.org"));
        let found = HandOver::Redirect(RedirectStatus::Found);
        assert_eq!((config.every, config.hand_over), (Span(2_000_000_000), found));
        assert_eq!(config.oracle, Some(folder.path().join("oracle.toml")));
        assert_eq!(config.report_to, ["10.0.0.9:7400".parse().expect("an address")]);
        assert!(config.moves_post && config.explain && config.dispatch_only && config.policy == "cpu-only");
        let with = |old: &str, new: &str| ClusterConfig::parse(&whole.replace(old, new), &file).expect_err(new);
        for (old, new, wanted) in [
            ("post = true", "posts = true", ":8: unknown key `posts`; did you mean `post`?"),
            ("302", "303", ":7: cluster.redirect: 303: a redirector answers 307 or 302"),
            ("\"/admin/*\"", "\"admin\"", ":9: cluster.local: `admin` is no pattern of paths"),
            ("\"5 MB/s\"", "\"5 MB\"", ":10: cluster.hardware: disk = `5 MB`: bytes per second"),
            ("\"b.toml\"", "\"c.toml\"", ":22: cluster.peer.hardware: "),
            ("\"2 s\"", "\"2 m\"", ":11: cluster.every: "),
            ("10.0.0.2:7400", "10.0.0.2", ":21: cluster.peer.reports: `10.0.0.2` is no IP:PORT"),
            (
                "dispatch_only = true",
                "membership = \"gosip\"",
                ":16: cluster.membership: `gosip`: it is `broadcast`, or",
            ),
            (
                "dispatch_only = true",
                "membership = \"gossip\"",
                ":16: cluster.membership: `gossip`: it is `broadcast`, or",
            ),
            ("dispatch_only = true", "seeds = [\"10.0.0.1:7400\"]", "cluster.seeds: write membership = \"gossip\""),
            ("10.0.0.9:7400", "10.0.0.9", ":15: cluster.report_to: `10.0.0.9` is no IP:PORT"),
            ("\"key\"", "\"none\"", ":3: cluster.key_file: "),
        ] {
            let wrong = with(old, new);
            assert!(
                wrong.contains(wanted) && wrong.contains("node.toml:") && !wrong.contains('\n'),
                "{wrong} / {wanted}"
            );
        }
    }
}
