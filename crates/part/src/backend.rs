//! The servers that a decider sends requests to, and how their health is watched.

use std::net::SocketAddr;

use sojourn_stats::Span;

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

/// How the state of the backends is watched.
///
/// A refused connection says that no program listens there, and takes the backend out at once. So do `fall` requests in
/// a row that failed there, and `fall` probes in a row; each is counted on its own, so that a backend is taken out that
/// answers probes and breaks its replies off, and also one that serves requests and calls itself unfit. What a client
/// breaks (it leaves, or its upload is malformed or too slow) and what this side lacks is no failure of a backend. A
/// backend that is out is probed until it has answered `rise` probes in a row, and is then chosen again.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// What is tried.
    pub probe: Probe,
    /// How often.
    pub every: Span,
    /// How long an answer may take.
    pub timeout: Span,
    /// Failures in a row, of requests or of probes, that take a backend out; at least 1.
    pub fall: u32,
    /// Probes in a row that bring a backend back; at least 1.
    pub rise: u32,
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
