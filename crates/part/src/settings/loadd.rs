//! The settings of a load daemon, and of a listener to what daemons report.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use hyper::Uri;
use serde::{Deserialize, Serialize};
use sojourn_stats::Span;

use super::{Echoes, REPORTER_MAX, Settings, Wrong};

/// Whose load is reported, to which, and when.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoaddSettings {
    /// Name by which those in front know the server
    #[arg(long)]
    pub name: String,
    /// Those to tell, e.g. 10.0.0.1:7400,10.0.0.2:7400
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',')]
    pub to: Vec<SocketAddr>,
    /// File with the key that is shared with them, at least 16 bytes
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// The server's access log, Common or Combined: requests, bytes, errors, and the rate of each client
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// Name of the server's processes, e.g. nginx: how many, and how busy. Without it, how busy the machine is
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<String>,
    /// The server's port: its connections, and whether a program listens
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Where the server says its load as ORCA, e.g. http://127.0.0.1:8080/load
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Serve the load as ORCA to balancers of others (gRPC, out of band) at this address; port 0 takes a free one
    #[arg(long, value_name = "IP:PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orca: Option<SocketAddr>,
    /// Time between two looks; all daemons look at multiples of it by the clock
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub every: Span,
    /// Longest time between two reports
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub heartbeat: Span,
    /// Time between two reports of the rates of clients
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub client_rates: Span,
    /// Time between two looks for an overload, which is told at once
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub watch: Span,
    /// Round trips to clients.
    #[command(flatten)]
    pub echoes: Echoes,
}

/// Where a listener hears reports, and of which senders.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListenSettings {
    /// Address and port (UDP) where they report to; port 0 takes a free one and says which
    #[arg(long, value_name = "IP:PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<SocketAddr>,
    /// File with the key that is shared with them, at least 16 bytes
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Believe only reports of these names [default: all that have the key]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Order each front node that is heard to measure the round trip to these clients
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub probe: Vec<IpAddr>,
}

impl Default for LoaddSettings {
    fn default() -> LoaddSettings {
        let ms = |ms: u64| Span(ms * 1_000_000);
        LoaddSettings {
            name: "server".into(),
            to: Vec::new(),
            key_file: None,
            log: None,
            workers: None,
            port: None,
            ask: None,
            orca: None,
            every: ms(500),
            heartbeat: ms(4000),
            client_rates: ms(64_000),
            watch: ms(100),
            echoes: Echoes::default(),
        }
    }
}

impl LoaddSettings {
    /// Where the server says its load itself, if it does.
    ///
    /// # Errors
    /// Where that is no address to ask.
    pub fn url(&self) -> Result<Option<Uri>, Wrong> {
        let Some(text) = &self.ask else { return Ok(None) };
        let url = text.parse::<Uri>().ok();
        let url = url.filter(|url| url.scheme_str() == Some("http") && url.port().is_some());
        let right = || format!("`{text}` is no address to ask; write e.g. http://127.0.0.1:8080/load");
        url.map(Some).ok_or_else(|| Wrong::new("ask", right()))
    }
}

impl Settings for LoaddSettings {
    fn below(&mut self, folder: &Path) {
        for path in [&mut self.key_file, &mut self.log] {
            *path = path.take().map(|path| folder.join(path));
        }
    }

    /// Where reports go is not needed by one that only looks.
    fn check(&self) -> Result<(), Wrong> {
        if self.name.is_empty() || self.name.len() > REPORTER_MAX {
            let what = format!("name `{}`: the name of a server has 1 to {REPORTER_MAX} bytes", self.name);
            return Err(Wrong::new("name", what));
        }
        if self.every < Span(10_000_000) {
            return Err(Wrong::new("every", "a load daemon looks at most every 10 ms"));
        }
        if self.watch < Span(1_000_000) {
            return Err(Wrong::new("watch", "a load daemon looks for overloads at most every 1 ms"));
        }
        for (key, time) in [("heartbeat", self.heartbeat), ("client_rates", self.client_rates)] {
            if time < self.every {
                return Err(Wrong::new(key, "it is told at looks, so no more often than those (`every`)"));
            }
        }
        self.echoes.check()?;
        self.url().map(drop)
    }

    fn summary(&self) -> String {
        let to: Vec<String> = self.to.iter().map(ToString::to_string).collect();
        format!("the load of {}, to {}", self.name, to.join(", "))
    }
}

impl Settings for ListenSettings {
    fn below(&mut self, folder: &Path) {
        self.key_file = self.key_file.take().map(|path| folder.join(path));
    }

    fn check(&self) -> Result<(), Wrong> {
        if self.on.is_none() {
            return Err(Wrong::new("on", "where are reports heard? write e.g. `0.0.0.0:7400`"));
        }
        if self.key_file.is_none() {
            return Err(Wrong::new("key_file", "reports are signed: name the file with the key that both sides share"));
        }
        let mut known = std::collections::HashSet::new();
        match self.names.iter().position(|name| !known.insert(name)) {
            Some(index) => Err(Wrong::new(format!("names[{index}]"), format!("{} is named twice", self.names[index]))),
            None => Ok(()),
        }
    }

    fn summary(&self) -> String {
        let names = if self.names.is_empty() { "all that have the key".into() } else { self.names.join(", ") };
        format!("reports of {names}")
    }
}
