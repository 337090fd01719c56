//! The flags that say what load to put on a server, the same for `load` and `compare`, here and on every agent.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What load to put on a server; what it is put on and what is done with the numbers is not here.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Flags {
    /// Open load with evenly spaced requests, e.g. '1000 /s'
    #[arg(long, conflicts_with_all = ["arrivals", "users"], allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) rate: Option<String>,
    /// Open load with such gaps, e.g. 'exponential(rate = 1000 /s)' or 'fgn(h = 0.8, rate = 1000 /s)'
    #[arg(long, value_name = "LAW", conflicts_with = "users", help_heading = "Load")]
    pub(crate) arrivals: Option<String>,
    /// Shape the rate over time: 'ramp(from = 0.1, to = 1, over = 60 s)', 'daily(0 h: 0.3, 9 h: 1.5, over = 60 s)'
    #[arg(long, value_name = "SHAPE", help_heading = "Load")]
    pub(crate) profile: Option<String>,
    /// Open load with the gaps of this file: a gap a line, or gap and demand, or the records of a finished run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "arrivals", "users"], help_heading = "Load")]
    pub(crate) trace: Option<PathBuf>,
    /// Replay the trace so many times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "trace", help_heading = "Load")]
    pub(crate) speed: f64,
    /// Begin the trace again at its end
    #[arg(long, requires = "trace", help_heading = "Load")]
    pub(crate) repeat: bool,
    /// Sessions of bursts that this file writes down (httperf's --wsesslog), coming by --rate or --arrivals
    #[arg(long, value_name = "FILE", conflicts_with_all = ["users", "trace", "size"], help_heading = "Load")]
    pub(crate) sessions_file: Option<PathBuf>,
    /// How many sessions of the file come
    #[arg(long, value_name = "N", requires = "sessions_file", help_heading = "Load")]
    pub(crate) sessions: Option<u32>,
    /// Users follow the steps of this TOML file, with values taken from replies and checks on them; may be repeated, and
    /// each file says its weight. They are --users, or come by --rate or --arrivals; -n counts passes
    #[arg(long, value_name = "FILE", help_heading = "Load",
          conflicts_with_all = ["trace", "sessions_file", "wsess", "think", "site", "urls", "method", "body",
                                "body_file", "size", "demand", "patience"])]
    #[serde(default)]
    pub(crate) scenario: Vec<PathBuf>,
    /// N1 sessions of N2 calls with the time X between them, coming by --rate or --arrivals: N1,N2,X
    #[arg(long, value_name = "N1,N2,X", conflicts_with_all = ["users", "trace", "size", "sessions_file"],
          help_heading = "Load")]
    pub(crate) wsess: Option<String>,
    /// Closed load of this many users, each with a connection, who think between requests
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) users: Option<u32>,
    /// Law of the users' thinking time [default: 0 s; with --site SURGE's]
    #[arg(long, value_name = "LAW", requires = "users", help_heading = "Load")]
    pub(crate) think: Option<String>,
    /// How long, e.g. 30s
    #[arg(long, short = 'd', default_value = "10 s", allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) duration: String,
    /// Stop after this many requests instead
    #[arg(long, short = 'n', value_name = "N", help_heading = "Load")]
    pub(crate) requests: Option<u64>,
    /// Seed of the plan
    #[arg(long, default_value_t = 1, help_heading = "Load")]
    pub(crate) seed: u64,
    /// Users browse the site that this folder's site.csv describes, below URL (`sojourn traffic site` writes one)
    #[arg(long, value_name = "DIR", requires = "users", conflicts_with = "size", help_heading = "Load")]
    pub(crate) site: Option<PathBuf>,
    /// Law of the pages in a session [default: SURGE's]
    #[arg(long, value_name = "LAW", requires = "site", help_heading = "Load")]
    pub(crate) session_length: Option<String>,
    /// Divide thinking times and the keep-alive time by this
    #[arg(long, value_name = "FACTOR", requires = "site", help_heading = "Load")]
    pub(crate) time_scale: Option<f64>,
    /// The target is neither loopback nor private, and I may put load on it
    #[arg(long, help_heading = "Load")]
    pub(crate) yes_i_may: bool,

    /// What to ask for: a file of URLs or paths, one a line, with a weight before it if need be
    #[arg(long, value_name = "FILE", conflicts_with_all = ["site", "size", "demand"], help_heading = "Requests")]
    pub(crate) urls: Option<PathBuf>,
    /// GET, HEAD, POST, PUT or DELETE [default: GET; with a body POST]
    #[arg(long, short = 'X', value_name = "METHOD", help_heading = "Requests")]
    pub(crate) method: Option<String>,
    /// Body to send, with drawn values in braces like a path, e.g. 'n={uniform(low = 1, high = 9)}'
    #[arg(long, value_name = "TEXT", help_heading = "Requests")]
    pub(crate) body: Option<String>,
    /// File to send as the body, as it is
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "Requests")]
    pub(crate) body_file: Option<PathBuf>,
    /// Follow at most so many redirects, within one response time
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Requests")]
    pub(crate) redirects: u32,
    /// Where a redirect leads to a server that takes no connection, ask again where it was first asked: at once, then every
    /// 100 ms until --timeout (browsers do not; HTTP/1 only)
    #[arg(long, requires = "redirects", help_heading = "Requests")]
    pub(crate) returns: bool,
    /// A header to send, e.g. 'accept: text/html'; may be repeated
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", help_heading = "Requests")]
    pub(crate) headers: Vec<String>,
    /// Keep the SOJOURN cookie of each client and send it back
    #[arg(long, help_heading = "Requests")]
    pub(crate) cookies: bool,
    /// Ask an emulated node's /work for replies of these sizes, e.g. 'lognormal(mean = 10 kB, cv = 2)'
    #[arg(long, value_name = "LAW", help_heading = "Requests")]
    pub(crate) size: Option<String>,
    /// Ask an emulated node's /work for this much work, e.g. 'exponential(mean = 5 ms)'
    #[arg(long, value_name = "LAW", help_heading = "Requests")]
    pub(crate) demand: Option<String>,
    /// Clients give up after this time
    #[arg(long, value_name = "LAW", help_heading = "Requests")]
    pub(crate) patience: Option<String>,
    /// A request without a whole reply after this time has failed
    #[arg(long, value_name = "TIME", default_value = "10 s", allow_hyphen_values = true, help_heading = "Requests")]
    pub(crate) timeout: String,

    /// Connections: how many are kept busy, or with --rate or --arrivals how many there may be at most
    #[arg(long, short = 'c', default_value_t = 32, help_heading = "Connections")]
    pub(crate) connections: u32,
    /// Connections of a user who browses
    #[arg(long, value_name = "N", requires = "site", help_heading = "Connections")]
    pub(crate) parallel: Option<u32>,
    /// 1.0 (a connection per request), 1.1 or 2 [default: 1.1]
    #[arg(long, value_name = "VERSION", help_heading = "Connections")]
    pub(crate) http: Option<String>,
    /// How long a user who browses keeps an idle connection [default: 15 s]
    #[arg(long, value_name = "TIME", requires = "site", help_heading = "Connections")]
    pub(crate) keep_alive: Option<String>,
    /// With --rate or --arrivals: connections for what is due in this first time stand before the start
    #[arg(long, value_name = "TIME", default_value = "10 ms", help_heading = "Connections")]
    pub(crate) open_ahead: String,
    /// Streams of an HTTP/2 connection at a time
    #[arg(long, value_name = "N", help_heading = "Connections")]
    pub(crate) streams: Option<u32>,
    /// PEM file with the certificates to trust, in place of the system's
    #[arg(long, value_name = "FILE", help_heading = "Connections")]
    pub(crate) ca: Option<PathBuf>,
    /// Take any certificate
    #[arg(long, conflicts_with = "ca", help_heading = "Connections")]
    pub(crate) insecure: bool,
    /// The name that the certificate has to be for, in place of the URL's host
    #[arg(long, value_name = "NAME", help_heading = "Connections")]
    pub(crate) server_name: Option<String>,
    /// Name server to ask, ADDRESS or ADDRESS:PORT [default: the system's]
    #[arg(long, value_name = "ADDRESS", help_heading = "Connections")]
    pub(crate) resolver: Option<String>,
    /// When each user resolves the host's name again: `ttl` (when the answer ends), `request` (with every connection that it
    /// opens) or a time, such as 60s (WebStone: once a minute)
    #[arg(long, value_name = "WHEN", default_value = "ttl", help_heading = "Connections")]
    pub(crate) resolves: String,
    /// Connect to these in place of the URL's host, IP:PORT,...; like the addresses of round-robin DNS, one for each client
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "urls", help_heading = "Connections")]
    pub(crate) address: Vec<SocketAddr>,
    /// What the addresses (or several URLs) are dealt to in turn, client or request [default: client with --address, with
    /// several URLs and a plan request]
    #[arg(long, value_name = "BY", help_heading = "Connections")]
    pub(crate) rotate: Option<String>,
    /// Local addresses to connect from, in turn by client
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Connections")]
    pub(crate) local: Vec<IpAddr>,

    /// Leave out the start, e.g. 2s
    #[arg(long, value_name = "TIME", default_value = "0 s", allow_hyphen_values = true, help_heading = "Measurement")]
    pub(crate) warm_up: String,
    /// Threads of the load generator
    #[arg(long, short = 't', default_value_t = 1, help_heading = "Measurement")]
    pub(crate) threads: usize,
    /// Spin before each send: microseconds instead of tens of microseconds late, at the price of a core
    #[arg(long, help_heading = "Measurement")]
    pub(crate) spin: bool,
    /// Keep these cores of this machine from sleeping, such as the one that the server has to itself; see
    /// `sojourn calibrate --help`
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Measurement")]
    pub(crate) awake: Vec<usize>,
    /// A planned request that is noticed later than this is not sent, and counted as missed
    #[arg(long, value_name = "TIME", default_value = "1 s", help_heading = "Measurement")]
    pub(crate) catch_up: String,

    /// How much may be disturbed before the run is SUSPECT, e.g. 'late=2 ms' or 'stolen=5%'; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", help_heading = "Measurement")]
    pub(crate) limits: Vec<String>,
    /// TOML file of such limits
    #[arg(long, value_name = "FILE", help_heading = "Measurement")]
    pub(crate) limits_file: Option<PathBuf>,

    /// Write a record of every request, as CSV or Parquet by the name's end; with several clients one file each, numbered
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,
}

impl Flags {
    /// The files that a run with these flags reads or writes.
    pub(crate) fn files(&self) -> Vec<&Path> {
        [&self.site, &self.trace, &self.sessions_file, &self.urls, &self.body_file, &self.ca, &self.record]
            .into_iter()
            .flatten()
            .chain(&self.scenario)
            .map(PathBuf::as_path)
            .collect()
    }
}
