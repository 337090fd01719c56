//! The servers that a decider sends requests to, and how their health is probed.

use std::net::SocketAddr;

/// One of those that a gateway sends requests to.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// Its name, in replies, cookies and counts.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its share, for policies that read weights.
    pub weight: f64,
    /// The URL that clients reach it by, as in `https://a.example.org`, where that is not `http://ADDRESS`; a redirector
    /// sends them there.
    pub public: Option<String>,
}

impl Backend {
    /// A backend of weight 1.
    pub fn new(name: impl Into<String>, address: SocketAddr) -> Backend {
        Backend { name: name.into(), address, weight: 1.0, public: None }
    }

    /// Where clients reach it, without a slash at the end.
    pub fn url(&self) -> String {
        match &self.public {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.address),
        }
    }
}

/// A health probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// None; no backend is ever taken out, because nothing would bring it back.
    Off,
    /// A connection is accepted.
    Connect,
    /// A GET of this path is answered with a status below 500.
    Get(String),
}
