//! Reports of load at a front node: those that it takes of daemons, and those that it makes of its servers as of one.

use std::net::SocketAddr;
use std::path::Path;

use clap::Args;
use serde::{Deserialize, Serialize};
use sojourn_dispatch::capacity;
use sojourn_stats::Span;

use super::Wrong;

/// Bytes of the longest name by which a server or a front node reports.
pub const REPORTER_MAX: usize = 64;

/// Reports that are taken, and what is made of them.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reports {
    /// Take reports of load daemons (`sojourn loadd`) at this address and port (UDP); their names are the backends'
    #[arg(id = "reports.listen", long = "reports", value_name = "IP:PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// What estimates the backends' capacity from their reports: busy-share, or response-time for backends that do not
    /// tell how busy they are
    #[arg(long, value_name = "NAME")]
    pub estimator: String,
    /// What counts as capacity.
    #[command(flatten)]
    pub capacity: CapacityShare,
}

/// The share of saturation that counts as capacity
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityShare {
    /// The share of the rate of saturation that counts as a backend's capacity, above 0 and at most 1; 0.7 leaves room for
    /// bursts
    #[arg(id = "reports.capacity.at", long = "capacity-at", value_name = "SHARE")]
    pub at: f64,
}

/// Reports that are made of all servers as of one, and to which front nodes.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Upstream {
    /// Report to these, as one server of high capacity, what the backends report together; e.g. 10.0.0.1:7400
    #[arg(id = "upstream.to", long = "report-to", value_name = "IP:PORT", value_delimiter = ',')]
    pub to: Vec<SocketAddr>,
    /// Name by which those know the cluster
    #[arg(id = "upstream.name", long = "name", value_name = "CLUSTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time between two looks at what to report; all front nodes look a tenth of it after its multiples by the clock
    #[arg(id = "upstream.every", long = "report-every", value_name = "TIME", allow_hyphen_values = true)]
    pub every: Span,
    /// Longest time between two reports
    #[arg(id = "upstream.heartbeat", long = "report-heartbeat", value_name = "TIME", allow_hyphen_values = true)]
    pub heartbeat: Span,
    /// Time between two reports of the rates of clients above the mean
    #[arg(id = "upstream.client_rates", long = "report-client-rates", value_name = "TIME", allow_hyphen_values = true)]
    pub client_rates: Span,
    /// Round trips to clients.
    #[command(flatten)]
    pub echoes: Echoes,
}

/// Round trips to clients, measured on the order of those who get the reports
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Echoes {
    /// Most round trips to clients that are measured in a second, on the order of those who get the reports; 0: none
    #[arg(id = "echoes.per_second", long = "echoes", value_name = "N")]
    pub per_second: u32,
    /// Time after which the round trip to a client may be measured again
    #[arg(id = "echoes.refresh", long = "echo-refresh", value_name = "TIME", allow_hyphen_values = true)]
    pub refresh: Span,
    /// Port of TCP where clients are tried that do not answer ICMP
    #[arg(id = "echoes.port", long = "echo-port", value_name = "PORT")]
    pub port: u16,
}

impl Default for Reports {
    fn default() -> Reports {
        Reports { listen: None, estimator: capacity::DEFAULT.into(), capacity: CapacityShare::default() }
    }
}

impl Default for CapacityShare {
    /// Saturation.
    fn default() -> CapacityShare {
        CapacityShare { at: 1.0 }
    }
}

impl Default for Upstream {
    fn default() -> Upstream {
        let second = Span(1_000_000_000);
        let (every, heartbeat, client_rates) = (Span(second.0 / 2), second * 4, second * 64);
        Upstream { to: Vec::new(), name: None, every, heartbeat, client_rates, echoes: Echoes::default() }
    }
}

impl Default for Echoes {
    fn default() -> Echoes {
        Echoes { per_second: 10, refresh: Span(60_000_000_000), port: 80 }
    }
}

/// More orders in a second than these are not possible: what is remembered of clients is bounded by it.
const PER_SECOND_MAX: u32 = 1000;

impl Upstream {
    /// Whether reports can be made so, if there is a name to make them by.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<(), Wrong> {
        if let Some(name) = self.name.as_ref().filter(|name| !(1..=REPORTER_MAX).contains(&name.len())) {
            let what = format!("name `{name}`: the name of a cluster has 1 to {REPORTER_MAX} bytes");
            return Err(Wrong::new("name", what));
        }
        if self.name.is_some() && self.to.is_empty() {
            return Err(Wrong::new("name", "say to where, too: `--report-to IP:PORT`"));
        }
        if self.every < Span(10_000_000) {
            return Err(Wrong::new("every", "a front node looks at its servers at most every 10 ms"));
        }
        for (key, time) in [("heartbeat", self.heartbeat), ("client_rates", self.client_rates)] {
            if time < self.every {
                return Err(Wrong::new(key, "it is told at looks, so no more often than those (`every`)"));
            }
        }
        self.echoes.check()
    }
}

impl Echoes {
    /// Whether the rules can be kept.
    ///
    /// # Errors
    /// More orders in a second than are possible, or port 0.
    pub fn check(&self) -> Result<(), Wrong> {
        if self.per_second > PER_SECOND_MAX {
            let what = format!("{} probes in a second: at most {PER_SECOND_MAX} are possible", self.per_second);
            return Err(Wrong::new("echoes.per_second", what));
        }
        if self.port == 0 {
            return Err(Wrong::new("echoes.port", "port 0: clients are tried at a port above 0, as 80"));
        }
        Ok(())
    }
}

/// Whether reports are taken and made as they can be. `key` is a file, and `is_used` says whether it is good for something else.
///
/// # Errors
/// Where something lacks that reports need, or has no use.
pub fn check_reporting(key: Option<&Path>, reports: &Reports, upstream: &Upstream, is_used: bool) -> Result<(), Wrong> {
    let key_is_there = |of: &str| {
        let right = "reports are signed: name the file with the key that both sides share, `--key FILE`";
        if key.is_some() { Ok(()) } else { Err(Wrong::new(of, right)) }
    };
    if reports.listen.is_some() {
        key_is_there("reports.listen")?;
        capacity::known(&reports.estimator).map_err(|error| Wrong::new("reports.estimator", error))?;
        capacity::share(reports.capacity.at).map_err(|error| Wrong::new("reports.capacity.at", error))?;
    } else if *reports != Reports::default() {
        let why = "capacity is estimated from reports, and none are taken; say where they come, `--reports IP:PORT`";
        return Err(Wrong::new("reports.estimator", why));
    }
    match (&upstream.name, upstream.to.is_empty()) {
        (None, false) => {
            let why = "those who get reports know the cluster by a name: `--name CLUSTER`";
            return Err(Wrong::new("upstream.to", why));
        }
        (Some(_), false) => key_is_there("upstream.to")?,
        (_, true) => {}
    }
    upstream.check().map_err(|wrong| wrong.inside("upstream"))?;
    if key.is_some() && !is_used && reports.listen.is_none() && upstream.name.is_none() {
        let right = "nothing is signed with it; add --reports or --report-to, or leave it out";
        return Err(Wrong::new("key_file", right));
    }
    Ok(())
}
