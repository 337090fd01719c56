//! `sojourn node`: one server, by flags or by a file; as a child of a run it stops when its standard input closes.

use std::path::{Path, PathBuf};

use sojourn_model::Server;
use sojourn_part::certificate::CertificateFiles;
use sojourn_part::network::Allow;
use sojourn_stats::input;
use sojourn_web::node::{FileSettings, LogSettings};
use sojourn_web::{NodeConfig, NodeFile, TlsConfig, child};

use crate::child::{Serving, failure, name_classes};
use crate::cluster::Cluster;
use crate::exit::{Exit, Failure, bad_input};
use crate::table::outln;
use crate::value::count;

/// Settings that the file has, so that nothing is said in two places.
const OF_THE_FILE: [&str; 18] = [
    "files",
    "log",
    "tls",
    "certificate",
    "certificate_key",
    "model",
    "classes",
    "threads",
    "seed",
    "keep_alive",
    "head_timeout",
    "connections",
    "grace",
    "metrics",
    "metrics_allow_from",
    "cluster",
    "service",
    "learn",
];

/// Serve: static files, /bytes/N, and /work
///
/// All settings, more than have flags, can be in a file: `sojourn node --config node.toml`; docs/node.md says what it may have.
/// SIGHUP makes the node read the file anew, SIGUSR1 makes it open its log anew.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// All settings, TOML; only --listen and --name may be given besides
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_THE_FILE)]
    config: Option<PathBuf>,
    /// Say whether the file is right and what would be served, and end
    #[arg(long, requires = "config")]
    check: bool,
    /// Folder of static files
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Write an access log to this file, in Combined Log Format
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Listen with TLS too, for HTTP/1.1 and HTTP/2; port 0 takes a free port
    #[arg(long, value_name = "IP:PORT", requires = "certificate")]
    tls: Option<std::net::SocketAddr>,
    /// Certificate for TLS, PEM, and behind it those that vouch for it
    #[arg(long, value_name = "FILE", requires_all = ["tls", "certificate_key"])]
    certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    certificate_key: Option<PathBuf>,
    /// Be this server: a server model, as a TOML file or its text. Without it /work burns real processor time
    #[arg(long, value_name = "TOML")]
    model: Option<String>,
    /// Names of the classes of requests (header x-sojourn-class), the most urgent first, e.g. `static,dynamic`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    classes: Vec<String>,
    /// Name, told to clients in the header x-sojourn-backend [default: node]
    #[arg(long)]
    name: Option<String>,
    /// Threads
    #[arg(long, default_value = "1", value_parser = count::<usize>)]
    threads: usize,
    /// Seed of the demands that no request names
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tell its numbers to Prometheus at http://IP:PORT/metrics
    #[arg(long, value_name = "IP:PORT")]
    metrics: Option<std::net::SocketAddr>,
    /// Which clients get those numbers: `all`, `none`, or ranges of addresses, as 127.0.0.0/8,10.0.0.1 [default: all]
    #[arg(long, value_name = "NETWORKS", requires = "metrics")]
    metrics_allow_from: Option<Allow>,
    #[command(flatten, next_help_heading = "Cluster")]
    cluster: Cluster,
    #[command(flatten)]
    serving: Serving,
}

pub(crate) fn node(arguments: &Arguments) -> Result<Exit, Failure> {
    let config = match &arguments.config {
        Some(file) => {
            let (listen, name) = (arguments.serving.listen, arguments.name.clone());
            NodeFile { file: file.clone(), listen, name }.read().map_err(bad_input)?
        }
        None => arguments.by_flags()?,
    };
    if arguments.check {
        let file = arguments.config.as_deref().unwrap_or(Path::new("")).display();
        outln(&format!("{file}: ok; {}", config.in_words()));
        return Ok(Exit::Ok);
    }
    let input = arguments.serving.child.then(std::io::stdin);
    child::node(config, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

impl Arguments {
    fn by_flags(&self) -> Result<NodeConfig, Failure> {
        let (serving, name) = (&self.serving, self.name.as_deref().unwrap_or("node"));
        let mut config = NodeConfig {
            listen: vec![serving.listen()],
            threads: self.threads,
            files: self.files.clone().map(FileSettings::new),
            log: self.log.clone().map(LogSettings::new),
            tls: self.tls(),
            model: self.model.as_deref().map(model).transpose()?,
            keep_alive: serving.keep_alive()?,
            head_timeout: serving.head_timeout()?,
            connections: serving.connections,
            grace: serving.grace()?,
            seed: self.seed,
            metrics: self.metrics,
            metrics_allow_from: self.metrics_allow_from.clone().unwrap_or(Allow::All),
            cluster: self.cluster.config(name)?,
            learn: self.cluster.learn.clone(),
            ..NodeConfig::new(name)
        };
        name_classes(&self.classes, &mut config.classes)?;
        Ok(config)
    }

    fn tls(&self) -> Option<TlsConfig> {
        let (chain, key) = self.certificate.clone().zip(self.certificate_key.clone())?;
        Some(TlsConfig { listen: vec![self.tls?], certificates: vec![CertificateFiles { chain, key }] })
    }
}

/// Reads a server model given as text or as a file.
fn model(text: &str) -> Result<Server, Failure> {
    // Text has `key = value`; a path with an equals sign in it can be written ./a=b.toml.
    if text.contains('=') && !text.starts_with(['.', '/']) {
        return Server::from_toml(text).map_err(bad_input);
    }
    let read =
        input::text(Path::new(text)).map_err(|e| bad_input(format!("cannot read the server model {text}: {e}")))?;
    Server::from_toml(&read).map_err(|e| bad_input(format!("{text}: {e}")))
}
