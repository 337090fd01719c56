//! The configuration file of a node: TOML, read whole before anything is done. A mistake gets one line: file, line, key and
//! what would be right. Relative paths start where the file is.

mod limits;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sojourn_model::Server;
use sojourn_part::certificate::CertificateFiles;
use sojourn_part::network::Allow;
use sojourn_part::place::Place;
use sojourn_part::{ServeError, clock, descriptors, headers};
use sojourn_stats::{Span, input};
use toml::Spanned;

use super::NodeConfig;
use crate::node::broker::RawCluster;
use crate::node::dynamic::{CgiSettings, FastCgiSettings};
use crate::node::files::{FileSettings, Files};
use crate::node::log::LogSettings;
use crate::node::tls::{Certificates, TlsConfig};
use limits::RawLimits;

/// How an address is written.
const EXAMPLE: &str = "127.0.0.1:8080 or [::]:8080";

/// How long requests in flight may take when a node with a file is stopped.
const GRACE: Span = Span(30_000_000_000);

/// A file of settings, and what the command line said instead of it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFile {
    /// The file.
    pub file: PathBuf,
    /// Where to listen without TLS.
    pub listen: Option<SocketAddr>,
    /// The node's name.
    pub name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode {
    #[serde(default)]
    listen: Vec<Spanned<String>>,
    name: Option<Spanned<String>>,
    threads: Option<Spanned<usize>>,
    workers: Option<Spanned<usize>>,
    seed: Option<u64>,
    classes: Option<Spanned<Vec<String>>>,
    model: Option<Spanned<PathBuf>>,
    grace: Option<Spanned<String>>,
    files: Option<Spanned<FileSettings>>,
    log: Option<LogSettings>,
    cgi: Option<Spanned<CgiSettings>>,
    fastcgi: Option<Spanned<FastCgiSettings>>,
    cluster: Option<RawCluster>,
    learn: Option<PathBuf>,
    tls: Option<RawTls>,
    limits: Option<RawLimits>,
    metrics: Option<RawMetrics>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTls {
    listen: Spanned<Vec<String>>,
    #[serde(default)]
    certificate: Vec<Spanned<RawCertificate>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCertificate {
    chain: PathBuf,
    key: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMetrics {
    listen: Spanned<String>,
    allow_from: Option<Allow>,
}

impl NodeFile {
    /// Only a file.
    pub fn new(file: impl Into<PathBuf>) -> NodeFile {
        NodeFile { file: file.into(), listen: None, name: None }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// One line: file, line, key, and what would be right. Files that it names are looked at too: the folder of files, models
    /// and certificates.
    pub fn read(&self) -> Result<NodeConfig, String> {
        // What connections need is judged by what this process may have in the end.
        descriptors::raise_limit();
        let file = &self.file;
        let text = input::text(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let place = Place { text: &text, file };
        let raw: RawNode = place.read()?;
        let mut config = raw.settings(&place)?;
        if let Some(listen) = self.listen {
            config.listen = vec![listen];
        }
        if let Some(name) = &self.name {
            config.name.clone_from(name);
        }
        if config.listen.is_empty() && config.tls.is_none() {
            let right = "no `listen`; write e.g. `listen = [\"127.0.0.1:8080\"]`, or `[tls]` with its own";
            return Err(format!("{}:1: {right}", file.display()));
        }
        config.source = Some(self.clone());
        Ok(config)
    }
}

impl NodeConfig {
    /// What a node of these settings would serve, in one line.
    pub fn in_words(&self) -> String {
        let list = |addresses: &[SocketAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if !self.listen.is_empty() {
            parts.push(format!("http on {}", list(&self.listen)));
        }
        if let Some(tls) = &self.tls {
            let certificates = Certificates::read(&tls.certificates, clock::seconds());
            let names = certificates.map_or(String::new(), |certificates| certificates.names().join(", "));
            parts.push(format!("https on {} for {names}", list(&tls.listen)));
        }
        if let Some(files) = &self.files {
            parts.push(format!("files below {}", files.root.display()));
        }
        if let Some(log) = &self.log {
            parts.push(format!("log {}", log.file.display()));
        }
        if let Some(metrics) = &self.metrics {
            parts.push(format!("numbers at http://{metrics}/metrics"));
        }
        if let Some(cluster) = &self.cluster {
            parts.push(format!("{} with {} peers by {}", cluster.service, cluster.peers.len(), cluster.policy));
        }
        parts.join("; ")
    }
}

impl RawNode {
    fn settings(&self, place: &Place<'_>) -> Result<NodeConfig, String> {
        let usual = NodeConfig::new("node");
        let folder = place.path(Path::new(""));
        let listen = self.listen.iter().map(|text| place.address(text.get_ref(), text.span(), "listen", EXAMPLE));
        let listen = listen.collect::<Result<_, _>>()?;
        if let Some(name) = &self.name {
            headers::name_value(name.get_ref()).map_err(|error| place.wrong(name.span(), "name", error))?;
        }
        let threads = count(self.threads.as_ref(), "threads", place)?.unwrap_or(usual.threads);
        let workers = count(self.workers.as_ref(), "workers", place)?.unwrap_or(usual.workers);
        let classes = self.classes.as_ref().filter(|classes| classes.get_ref().len() > usize::from(u8::MAX));
        if let Some(classes) = classes {
            return Err(place.wrong(classes.span(), "classes", format!("at most {} names are possible", u8::MAX)));
        }
        let grace = self.grace.as_ref().map(|grace| place.time(grace, "grace")).transpose()?;
        let metrics_allow_from = self.metrics.as_ref().and_then(|metrics| metrics.allow_from.clone());
        let metrics = self.metrics.as_ref().map(|metrics| &metrics.listen);
        let metrics =
            metrics.map(|text| place.address(text.get_ref(), text.span(), "metrics.listen", "127.0.0.1:9154"));
        let limits = self.limits.as_ref();
        let (keep_alive, head_timeout) =
            limits.map_or(Ok((usual.keep_alive, usual.head_timeout)), |raw| raw.times(&usual, place))?;
        Ok(NodeConfig {
            listen,
            tls: self.tls.as_ref().map(|tls| tls.settings(place)).transpose()?,
            name: self.name.as_ref().map_or(usual.name.clone(), |name| name.get_ref().clone()),
            threads,
            workers,
            seed: self.seed.unwrap_or(usual.seed),
            classes: self.classes.as_ref().map_or(usual.classes, |classes| classes.get_ref().clone()),
            model: self.model.as_ref().map(|path| model(path, place)).transpose()?,
            grace: grace.unwrap_or(GRACE),
            files: self.files.as_ref().map(|raw| files(raw, &folder, place)).transpose()?,
            cgi: checked(self.cgi.as_ref(), "cgi", place, |cgi| cgi.below(&folder), CgiSettings::check)?,
            fastcgi: checked(self.fastcgi.as_ref(), "fastcgi", place, |of| of.below(&folder), FastCgiSettings::check)?,
            log: self.log.clone().map(|log| log.below(&folder)),
            cluster: self.cluster.as_ref().map(|cluster| cluster.settings(place)).transpose()?,
            learn: self.learn.as_ref().map(|path| place.path(path)),
            keep_alive,
            head_timeout,
            connections: limits.map_or(Ok(None), |raw| raw.connections(place))?,
            limits: limits.map_or_else(|| Ok(usual.limits.clone()), |raw| raw.settings(place))?,
            metrics: metrics.transpose()?,
            metrics_allow_from: metrics_allow_from.unwrap_or(usual.metrics_allow_from),
            source: None,
        })
    }
}

fn files(raw: &Spanned<FileSettings>, folder: &Path, place: &Place<'_>) -> Result<FileSettings, String> {
    let settings = raw.get_ref().clone().below(folder);
    Files::new(&settings).map_err(|error| place.wrong(raw.span(), "files", error))?;
    Ok(settings)
}

/// The settings of a section, with its paths from the file's folder, if they can be right.
fn checked<T: Clone>(
    raw: Option<&Spanned<T>>,
    key: &str,
    place: &Place<'_>,
    below: impl Fn(T) -> T,
    check: impl Fn(&T) -> Result<(), ServeError>,
) -> Result<Option<T>, String> {
    let Some(raw) = raw else { return Ok(None) };
    let settings = below(raw.get_ref().clone());
    check(&settings).map_err(|error| place.wrong(raw.span(), key, error))?;
    Ok(Some(settings))
}

impl RawTls {
    fn settings(&self, place: &Place<'_>) -> Result<TlsConfig, String> {
        let (listen, at) = (self.listen.get_ref(), self.listen.span());
        let listen = listen.iter().map(|text| place.address(text, at.clone(), "tls.listen", "0.0.0.0:8443"));
        let listen: Vec<SocketAddr> = listen.collect::<Result<_, _>>()?;
        if listen.is_empty() {
            return Err(place.wrong(at, "tls.listen", "no address; write e.g. `listen = [\"0.0.0.0:8443\"]`"));
        }
        if self.certificate.is_empty() {
            let right = "no certificate; add `[[tls.certificate]]` with `chain` and `key`, two files in PEM";
            return Err(place.wrong(at, "tls", right));
        }
        let files = |raw: &Spanned<RawCertificate>| CertificateFiles {
            chain: place.path(&raw.get_ref().chain),
            key: place.path(&raw.get_ref().key),
        };
        let certificates: Vec<CertificateFiles> = self.certificate.iter().map(files).collect();
        for (index, raw) in self.certificate.iter().enumerate() {
            // With those before it, so that two for one name are found.
            Certificates::read(&certificates[..=index], clock::seconds())
                .map_err(|why| place.wrong(raw.span(), "tls.certificate", why))?;
        }
        Ok(TlsConfig { listen, certificates })
    }
}

/// A number of at least 1, and so few that a machine may have them.
fn count(number: Option<&Spanned<usize>>, key: &str, place: &Place<'_>) -> Result<Option<usize>, String> {
    match number {
        Some(number) if !(1..=1024).contains(number.get_ref()) => {
            Err(place.wrong(number.span(), key, "it is a whole number from 1 to 1024"))
        }
        number => Ok(number.map(|number| *number.get_ref())),
    }
}

fn model(path: &Spanned<PathBuf>, place: &Place<'_>) -> Result<Server, String> {
    let file = place.path(path.get_ref());
    let wrong = |why: String| place.wrong(path.span(), "model", format!("{}: {why}", file.display()));
    let text = input::text(&file).map_err(|error| wrong(error.to_string()))?;
    Server::from_toml(&text).map_err(|error| wrong(error.to_string()))
}
