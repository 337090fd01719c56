//! The settings of a packet switch: those of its front node, and those of a server's half.

mod check;
mod mode;
mod server;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};
use sojourn_dispatch::{FrontSettings, Limit};
use sojourn_stats::Span;

use super::{RecordLimits, Reports, Settings, Upstream, Wrong};
use crate::Probe;
pub use check::SERVERS_MAX;
pub use mode::Mode;
pub use server::{Accepted, SwitchServer};

/// What is no address yet.
const NOWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// What a switch follows where no policy is named.
const POLICY: &str = "least-connections";

/// What a front node forwards, to which servers, and how it chooses.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchSettings {
    /// The address and port that clients connect to, e.g. 10.0.1.100:80
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(skip_serializing_if = "is_nowhere")]
    pub service: SocketAddrV4,
    /// How packets reach a server: `mac` (unchanged, on one Ethernet), `rewrite` (with its address; it sets the service's
    /// back), both with replies that bypass the switch, `nat` (with its address; replies come back through the switch), or
    /// `tunnel` (unchanged, inside UDP to port 6080, to servers anywhere; replies bypass the switch). So that the path of a
    /// connection's first request can decide: `splice` (as `nat`) and `splice-asymmetric` (as `rewrite`)
    #[arg(long)]
    pub mode: Mode,
    /// A server: ADDRESS, or NAME=ADDRESS, or NAME=ADDRESS*WEIGHT; once per server. Its port is that of the service
    #[arg(id = "backend", long = "backend", value_name = "SERVER")]
    #[serde(rename = "backend")]
    pub backends: Vec<SwitchServer>,
    /// Names of servers that end the connections they have and get no new ones
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub drain: Vec<String>,
    /// Socket at which a switch that runs is told to drain a server, or not (`sojourn switch ctl`)
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<PathBuf>,
    /// Forget a connection that is idle for this long
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub idle: Span,
    /// How long a connection is remembered that is not open yet.
    #[arg(skip)]
    pub opening: Span,
    /// How long a connection is remembered that its client has ended.
    #[arg(skip)]
    pub closing: Span,
    /// Most connections that are remembered; what would open a further one is dropped
    #[arg(long, value_name = "N")]
    pub connections: u32,
    /// The front node of another site, by its own address: connections that all servers here are too full for go there by
    /// tunnel, once: ADDRESS or NAME=ADDRESS; once per site
    #[arg(long, value_name = "SITE")]
    pub overflow: Vec<SwitchServer>,
    /// A server here that redirects clients to other sites (`sojourn redirect`) and is reached as the other servers are:
    /// connections that these are too full for go there instead: ADDRESS or NAME=ADDRESS; once per redirector
    #[arg(long, value_name = "SERVER")]
    pub redirector: Vec<SwitchServer>,
    /// Most such connections to each other site or redirector at once, as `--limit`
    #[arg(long, value_name = "N[,RETURN]")]
    #[serde(with = "sojourn_dispatch::written_limit", skip_serializing_if = "Option::is_none")]
    pub overflow_limit: Option<Limit>,
    /// Take connections that another site passes on: the address of its service and that of its front node; once per site
    #[arg(long, value_name = "SERVICE=FRONT")]
    pub accept: Vec<Accepted>,
    /// File with the key that is shared with the load daemons, with those to report to, and in mode `splice-asymmetric` with
    /// the servers' halves; at least 16 bytes
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Names of the classes of requests (header x-sojourn-class), by class number, which the modes that splice read
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// Record every decision in this file (JSON lines)
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
    /// How large and how old the record's files may grow.
    #[command(flatten)]
    pub record_limits: RecordLimits,
    /// Say in the record what each server had to offer
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub explain: bool,
    /// Told to stop, leave the rules: open connections go on, and the next switch goes on with them
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub keep: bool,
    /// How it chooses.
    #[command(flatten)]
    pub decider: FrontSettings,
    /// How servers are probed.
    #[command(flatten)]
    pub health: Attempts,
    /// Reports that it takes.
    #[command(flatten)]
    pub reports: Reports,
    /// Reports that it makes.
    #[command(flatten)]
    pub upstream: Upstream,
}

/// Attempts to connect to servers
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attempts {
    /// `connect`; or `off`, and no server is ever taken out.
    #[arg(skip = Probe::Connect)]
    pub probe: Probe,
    /// Time between two attempts to connect to a server
    #[arg(id = "health.every", long = "probe", value_name = "TIME", allow_hyphen_values = true)]
    pub every: Span,
    /// How long an attempt may take.
    #[arg(skip)]
    pub timeout: Span,
}

/// What a server stands behind.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchServerSettings {
    /// The address and port that clients connect to, e.g. 10.0.1.100:80
    #[arg(long, value_name = "ADDRESS:PORT")]
    #[serde(skip_serializing_if = "is_nowhere")]
    pub service: SocketAddrV4,
    /// How the switch forwards: `mac`, `rewrite`, `nat`, `tunnel`, `splice` or `splice-asymmetric`
    #[arg(long)]
    pub mode: Mode,
    /// The front node's own address, for all modes but `mac`
    #[arg(long, value_name = "ADDRESS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub front: Option<Ipv4Addr>,
    /// File with the key that is shared with the front node, for mode `splice-asymmetric`; at least 16 bytes
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// The address of another site's service, of which the front node takes what that site cannot (`--accept`); once per site
    #[arg(long, value_name = "ADDRESS")]
    pub also: Vec<Ipv4Addr>,
}

const SECOND: Span = Span(1_000_000_000);

impl Default for SwitchSettings {
    fn default() -> SwitchSettings {
        SwitchSettings {
            service: NOWHERE,
            mode: Mode::Mac,
            backends: Vec::new(),
            drain: Vec::new(),
            control: None,
            idle: SECOND * 900,
            opening: SECOND * 10,
            closing: SECOND * 20,
            connections: 1 << 18,
            overflow: Vec::new(),
            redirector: Vec::new(),
            overflow_limit: None,
            accept: Vec::new(),
            key_file: None,
            classes: ["static", "dynamic", "secure"].map(Into::into).into(),
            record: None,
            record_limits: RecordLimits::default(),
            explain: false,
            keep: false,
            decider: FrontSettings::new(POLICY),
            health: Attempts::default(),
            reports: Reports::default(),
            upstream: Upstream::default(),
        }
    }
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts { probe: Probe::Connect, every: SECOND, timeout: SECOND }
    }
}

impl Default for SwitchServerSettings {
    fn default() -> SwitchServerSettings {
        SwitchServerSettings { service: NOWHERE, mode: Mode::Mac, front: None, key_file: None, also: Vec::new() }
    }
}

fn is_nowhere(address: &SocketAddrV4) -> bool {
    *address == NOWHERE
}

impl SwitchSettings {
    /// A switch for `service` that follows `policy`, and is else as usual.
    pub fn new(service: SocketAddrV4, policy: impl Into<String>, backends: Vec<SwitchServer>) -> SwitchSettings {
        SwitchSettings { service, decider: FrontSettings::new(policy), backends, ..SwitchSettings::default() }
    }

    /// The same, where each server, site and redirector has a name, and a policy is named.
    #[must_use]
    pub fn whole(mut self) -> SwitchSettings {
        let SwitchSettings { backends, overflow, redirector, .. } = &mut self;
        for (all, what) in [(backends, "server"), (overflow, "site"), (redirector, "redirector")] {
            for (index, one) in all.iter_mut().enumerate().filter(|(_, one)| one.name.is_empty()) {
                one.name = format!("{what}-{}", index + 1);
            }
        }
        self.decider.policy.get_or_insert_with(|| POLICY.into());
        self
    }

    /// Those who get the connections that no server here can take: other sites' front nodes, or redirectors.
    pub fn others(&self) -> impl Iterator<Item = &SwitchServer> {
        self.overflow.iter().chain(&self.redirector)
    }

    /// The addresses of the servers and of those others.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.backends.iter().chain(self.others()).map(|server| server.address)
    }

    /// Whether this is the front node of another site.
    pub fn is_site(&self, address: Ipv4Addr) -> bool {
        self.overflow.iter().any(|site| site.address == address)
    }
}

impl Settings for SwitchSettings {
    fn below(&mut self, folder: &Path) {
        for path in [&mut self.control, &mut self.key_file, &mut self.record] {
            *path = path.take().map(|path| folder.join(path));
        }
    }

    fn check(&self) -> Result<(), Wrong> {
        check::front(&self.clone().whole())
    }

    fn summary(&self) -> String {
        let whole = self.clone().whole();
        let names: Vec<&str> = whole.backends.iter().map(|server| server.name.as_str()).collect();
        let policy = whole.decider.policy.as_deref().unwrap_or_default();
        format!("a switch for {}, mode {}, by {policy} to {}", self.service, self.mode, names.join(", "))
    }
}

impl Settings for SwitchServerSettings {
    fn below(&mut self, folder: &Path) {
        self.key_file = self.key_file.take().map(|path| folder.join(path));
    }

    fn check(&self) -> Result<(), Wrong> {
        check::server(self)
    }

    fn summary(&self) -> String {
        format!("a server's half for {}, mode {}", self.service, self.mode)
    }
}
