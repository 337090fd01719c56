//! What load to put on a server, as a user writes it: the flags of `sojourn load` and `sojourn compare`, which every agent
//! gets too. What they mean is said in one place, [`super::Order::load`].

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What load to put on a server; what it is put on and what is done with the numbers is not here.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct LoadSettings {
    /// Open load with evenly spaced requests, e.g. '1000 /s'
    #[cfg_attr(feature = "clap", arg(long,
        conflicts_with_all = ["arrivals", "users"], allow_hyphen_values = true, help_heading = "Load"))]
    pub rate: Option<String>,
    /// Open load with such gaps, e.g. 'exponential(rate = 1000 /s)' or 'fgn(h = 0.8, rate = 1000 /s)'
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAW", conflicts_with = "users", help_heading = "Load"))]
    pub arrivals: Option<String>,
    /// Shape the rate over time: 'ramp(from = 0.1, to = 1, over = 60 s)', 'daily(0 h: 0.3, 9 h: 1.5, over = 60 s)'
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHAPE", help_heading = "Load"))]
    pub profile: Option<String>,
    /// Open load with the gaps of this file: a gap a line, or gap and demand, or the records of a finished run
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE",
        conflicts_with_all = ["rate", "arrivals", "users"], help_heading = "Load"))]
    pub trace: Option<PathBuf>,
    /// Replay the trace so many times faster
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "trace", help_heading = "Load")
    )]
    pub speed: f64,
    /// Begin the trace again at its end
    #[cfg_attr(feature = "clap", arg(long, requires = "trace", help_heading = "Load"))]
    pub repeat: bool,
    /// Sessions of bursts that this file writes down (httperf's --wsesslog), coming by --rate or --arrivals
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE",
        conflicts_with_all = ["users", "trace", "size"], help_heading = "Load"))]
    pub sessions_file: Option<PathBuf>,
    /// How many sessions of the file come
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", requires = "sessions_file", help_heading = "Load"))]
    pub sessions: Option<u32>,
    /// Users follow the steps of this TOML file, with values taken from replies and checks on them; may be repeated, and
    /// each file says its weight. They are --users, or come by --rate or --arrivals; -n counts passes
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Load",
        conflicts_with_all = ["trace", "sessions_file", "wsess", "think", "site", "urls",
            "method", "body", "body_file", "size", "demand", "patience"]))]
    #[serde(default)]
    pub scenario: Vec<PathBuf>,
    /// N1 sessions of N2 calls with the time X between them, coming by --rate or --arrivals: N1,N2,X
    #[cfg_attr(feature = "clap", arg(long, value_name = "N1,N2,X",
        conflicts_with_all = ["users", "trace", "size", "sessions_file"], help_heading = "Load"))]
    pub wsess: Option<String>,
    /// Closed load of this many users, each with a connection, who think between requests
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Load"))]
    pub users: Option<u32>,
    /// Law of the users' thinking time [default: 0 s; with --site SURGE's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAW", requires = "users", help_heading = "Load"))]
    pub think: Option<String>,
    /// How long, e.g. 30s
    #[cfg_attr(
        feature = "clap",
        arg(long, short = 'd', default_value = "10 s", allow_hyphen_values = true, help_heading = "Load")
    )]
    pub duration: String,
    /// Stop after this many requests instead
    #[cfg_attr(feature = "clap", arg(long, short = 'n', value_name = "N", help_heading = "Load"))]
    pub requests: Option<u64>,
    /// Seed of the plan
    #[cfg_attr(feature = "clap", arg(long, default_value_t = 1, help_heading = "Load"))]
    pub seed: u64,
    /// Users browse the site that this folder's site.csv describes, below URL (`sojourn traffic site` writes one)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "DIR", requires = "users", conflicts_with = "size", help_heading = "Load")
    )]
    pub site: Option<PathBuf>,
    /// Law of the pages in a session [default: SURGE's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAW", requires = "site", help_heading = "Load"))]
    pub session_length: Option<String>,
    /// Divide thinking times and the keep-alive time by this
    #[cfg_attr(feature = "clap", arg(long, value_name = "FACTOR", requires = "site", help_heading = "Load"))]
    pub time_scale: Option<f64>,
    /// The target is neither loopback nor private, and I may put load on it
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Load"))]
    pub yes_i_may: bool,

    /// What to ask for: a file of URLs or paths, one a line, with a weight before it if need be
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE",
        conflicts_with_all = ["site", "size", "demand"], help_heading = "Requests"))]
    pub urls: Option<PathBuf>,
    /// GET, HEAD, POST, PUT or DELETE [default: GET; with a body POST]
    #[cfg_attr(feature = "clap", arg(long, short = 'X', value_name = "METHOD", help_heading = "Requests"))]
    pub method: Option<String>,
    /// Body to send, with drawn values in braces like a path, e.g. 'n={uniform(low = 1, high = 9)}'
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT", help_heading = "Requests"))]
    pub body: Option<String>,
    /// File to send as the body, as it is
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "Requests"))]
    pub body_file: Option<PathBuf>,
    /// Follow at most so many redirects, within one response time
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 0, help_heading = "Requests"))]
    pub redirects: u32,
    /// Where a redirect leads to a server that takes no connection, ask again where it was first asked: at once, then every
    /// 100 ms until --timeout (browsers do not; HTTP/1 only)
    #[cfg_attr(feature = "clap", arg(long, requires = "redirects", help_heading = "Requests"))]
    pub returns: bool,
    /// A header to send, e.g. 'accept: text/html'; may be repeated
    #[cfg_attr(
        feature = "clap",
        arg(long = "header", short = 'H', value_name = "NAME: VALUE", help_heading = "Requests")
    )]
    pub headers: Vec<String>,
    /// Keep the SOJOURN cookie of each client and send it back
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Requests"))]
    pub cookies: bool,
    /// Ask an emulated node's /work for replies of these sizes, e.g. 'lognormal(mean = 10 kB, cv = 2)'
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAW", help_heading = "Requests"))]
    pub size: Option<String>,
    /// Ask an emulated node's /work for this much work, e.g. 'exponential(mean = 5 ms)'
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAW", help_heading = "Requests"))]
    pub demand: Option<String>,
    /// Clients give up after this time
    #[cfg_attr(feature = "clap", arg(long, value_name = "LAW", help_heading = "Requests"))]
    pub patience: Option<String>,
    /// A request without a whole reply after this time has failed; with --retries or --hedge each attempt
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", default_value = "10 s", allow_hyphen_values = true, help_heading = "Requests")
    )]
    pub timeout: String,
    /// A request has failed after this time, all attempts together, from when it was planned
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Requests")
    )]
    #[serde(default)]
    pub deadline: Option<String>,
    /// What failed is asked for again, at most so often: time-outs, broken and refused connections, 5xx, 408, 425 and 429,
    /// whatever the method
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Requests"))]
    #[serde(default)]
    pub retries: Option<u32>,
    /// Time before a retry: '50 ms', a law, or 'full-jitter(25 ms, 250 ms)' [default: at once]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", requires = "retries", allow_hyphen_values = true, help_heading = "Requests")
    )]
    #[serde(default)]
    pub backoff: Option<String>,
    /// Retries and hedges per request, of all clients of this process: '10 %' of the last 10 s, or 'token-bucket(10 %, 10)'
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = "Requests")
    )]
    #[serde(default)]
    pub retry_budget: Option<String>,
    /// Ask a second time beside the first after this time, or after a percentile of the response times so far: '50 ms', p95
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Requests")
    )]
    #[serde(default)]
    pub hedge: Option<String>,

    /// Connections: how many are kept busy [default: 32], or with --rate, --arrivals or --trace how many there may be at
    /// most [default: as many as needed; over HTTP/2 32]
    #[cfg_attr(feature = "clap", arg(long, short = 'c', value_name = "N", help_heading = "Connections"))]
    pub connections: Option<u32>,
    /// Connections of a user who browses
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", requires = "site", help_heading = "Connections"))]
    pub parallel: Option<u32>,
    /// 1.0 (a connection per request), 1.1 or 2 [default: 1.1]
    #[cfg_attr(feature = "clap", arg(long, value_name = "VERSION", help_heading = "Connections"))]
    pub http: Option<String>,
    /// How long a user who browses keeps an idle connection [default: 15 s]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", requires = "site", help_heading = "Connections"))]
    pub keep_alive: Option<String>,
    /// With --rate or --arrivals: connections for what is due in this first time stand before the start
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", default_value = "10 ms", help_heading = "Connections")
    )]
    pub open_ahead: String,
    /// Streams of an HTTP/2 connection at a time
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", help_heading = "Connections"))]
    pub streams: Option<u32>,
    /// PEM file with the certificates to trust, in place of the system's
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Connections"))]
    pub ca: Option<PathBuf>,
    /// Take any certificate
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "ca", help_heading = "Connections"))]
    pub insecure: bool,
    /// The name that the certificate has to be for, in place of the URL's host
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help_heading = "Connections"))]
    pub server_name: Option<String>,
    /// Name server to ask, ADDRESS or ADDRESS:PORT [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDRESS", help_heading = "Connections"))]
    pub resolver: Option<String>,
    /// When each user resolves the host's name again: `ttl` (when the answer ends), `request` (with every connection that it
    /// opens) or a time, such as 60s (WebStone: once a minute)
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHEN", default_value = "ttl", help_heading = "Connections"))]
    pub resolves: String,
    /// Connect to these in place of the URL's host, IP:PORT,...; like the addresses of round-robin DNS, one for each client
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "urls", help_heading = "Connections")
    )]
    pub address: Vec<SocketAddr>,
    /// Ask through this forward proxy, http://HOST:PORT: every connection goes to it, and requests name the host that they
    /// are for (HTTP/1 without TLS)
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL", help_heading = "Connections"))]
    #[serde(default)]
    pub proxy: Option<String>,
    /// What the addresses (or several URLs) are dealt to in turn, client or request [default: client with --address, with
    /// several URLs and a plan request]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BY", help_heading = "Connections"))]
    pub rotate: Option<String>,
    /// Local addresses to connect from, in turn by client
    #[cfg_attr(feature = "clap", arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Connections"))]
    pub local: Vec<IpAddr>,

    /// Leave out the start, e.g. 2s
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "TIME",
            default_value = "0 s",
            allow_hyphen_values = true,
            help_heading = "Measurement"
        )
    )]
    pub warm_up: String,
    /// Threads of the load generator
    #[cfg_attr(feature = "clap", arg(long, short = 't', default_value_t = 1, help_heading = "Measurement"))]
    pub threads: usize,
    /// Spin before each send: microseconds instead of tens of microseconds late, at the price of a core
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Measurement"))]
    pub spin: bool,
    /// Keep these cores of this machine from sleeping, such as the one that the server has to itself; see
    /// `sojourn calibrate --help`
    #[cfg_attr(feature = "clap", arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Measurement"))]
    pub awake: Vec<usize>,
    /// A planned request that is noticed later than this is not sent, and counted as missed
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", default_value = "1 s", help_heading = "Measurement"))]
    pub catch_up: String,

    /// How much may be disturbed before the run is SUSPECT, e.g. 'late=2 ms' or 'stolen=5%'; may be repeated
    #[cfg_attr(feature = "clap", arg(long = "limit", value_name = "NAME=VALUE", help_heading = "Measurement"))]
    pub limits: Vec<String>,
    /// TOML file of such limits
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Measurement"))]
    pub limits_file: Option<PathBuf>,

    /// Write a record of every request, as CSV or Parquet by the name's end; with several clients one file each, numbered
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", help_heading = "Output"))]
    pub record: Option<PathBuf>,
}

impl LoadSettings {
    /// How long a request may take where nothing is said.
    pub(super) const TIMEOUT: &str = "10 s";

    /// The files that a run with these settings reads or writes.
    pub fn files(&self) -> Vec<&Path> {
        [&self.site, &self.trace, &self.sessions_file, &self.urls, &self.body_file, &self.ca, &self.record]
            .into_iter()
            .flatten()
            .chain(&self.scenario)
            .map(PathBuf::as_path)
            .collect()
    }
}
