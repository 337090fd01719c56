//! Reports of load at a front node: those that it takes of daemons, and those that it makes of its servers as of one. All front
//! nodes have the same flags for it.

use std::net::SocketAddr;
use std::path::PathBuf;

use sojourn_dispatch::capacity;
use sojourn_report::{Key, ProbeRules, ReportsConfig, UpstreamConfig};

use crate::exit::{Failure, bad_input};
use crate::value::time;

/// Reports of load
#[derive(clap::Args)]
pub(crate) struct Reporting {
    /// Take reports of load daemons (`sojourn loadd`) at this address and port (UDP); their names are the backends'
    #[arg(long, value_name = "IP:PORT", requires = "key")]
    reports: Option<SocketAddr>,
    /// What estimates the backends' capacity from their reports: busy-share, or response-time for backends that do not
    /// tell how busy they are
    #[arg(long, value_name = "NAME", requires = "reports", default_value = capacity::DEFAULT)]
    estimator: String,
    /// File with the key that is shared with the load daemons, with those to report to, and by a switch in mode
    /// `splice-asymmetric` with the servers' halves; at least 16 bytes
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Report to these, as one server of high capacity, what the backends report together; e.g. 10.0.0.1:7400
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',', requires_all = ["key", "name"])]
    report_to: Vec<SocketAddr>,
    /// Name by which those know the cluster
    #[arg(long, value_name = "CLUSTER", requires = "report_to")]
    name: Option<String>,
    /// Time between two looks at what to report; all front nodes look a tenth of it after its multiples by the clock
    #[arg(long, value_name = "TIME", default_value = "500 ms")]
    report_every: String,
    /// Longest time between two reports
    #[arg(long, value_name = "TIME", default_value = "4 s")]
    report_heartbeat: String,
    /// Time between two reports of the rates of clients above the mean
    #[arg(long, value_name = "TIME", default_value = "64 s")]
    report_client_rates: String,
    #[command(flatten)]
    echoing: Echoing,
}

/// Round trips to clients
#[derive(clap::Args)]
pub(crate) struct Echoing {
    /// Most round trips to clients that are measured in a second, on the order of those who get the reports; 0: none
    #[arg(long, value_name = "N", default_value_t = ProbeRules::default().per_second)]
    echoes: u32,
    /// Time after which the round trip to a client may be measured again
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    echo_refresh: String,
    /// Port of TCP where clients are tried that do not answer ICMP
    #[arg(long, value_name = "PORT", default_value_t = ProbeRules::default().port)]
    echo_port: u16,
}

impl Echoing {
    /// Which orders are obeyed.
    pub(crate) fn rules(&self) -> Result<ProbeRules, Failure> {
        let refresh = time("--echo-refresh", &self.echo_refresh)?;
        Ok(ProbeRules { per_second: self.echoes, refresh, port: self.echo_port })
    }
}

impl Reporting {
    /// Where reports are taken, if they are.
    pub(crate) fn taken(&self) -> Result<Option<ReportsConfig>, Failure> {
        let Some(listen) = self.reports else { return Ok(None) };
        let estimator = capacity::known(&self.estimator).map_err(|error| bad_input(format!("--estimator: {error}")))?;
        Ok(Some(ReportsConfig { estimator, ..ReportsConfig::new(listen, self.key()?) }))
    }

    /// Where reports are made, and which, if any are.
    pub(crate) fn made(&self) -> Result<Option<UpstreamConfig>, Failure> {
        let Some(name) = &self.name else { return Ok(None) };
        Ok(Some(UpstreamConfig {
            every: time("--report-every", &self.report_every)?,
            heartbeat: time("--report-heartbeat", &self.report_heartbeat)?,
            client_rates: time("--report-client-rates", &self.report_client_rates)?,
            probes: self.echoing.rules()?,
            ..UpstreamConfig::new(name, self.report_to.clone(), self.key()?)
        }))
    }

    /// The key, if there is one, which must be good for something: for reports, or for what the caller does with it.
    pub(crate) fn shared_key(&self, is_used: bool) -> Result<Option<Key>, Failure> {
        if self.key.is_some() && !is_used && self.reports.is_none() && self.name.is_none() {
            return Err(bad_input("--key: nothing is signed with it; add --reports or --report-to, or leave it out"));
        }
        self.key.is_some().then(|| self.key()).transpose()
    }

    fn key(&self) -> Result<Key, Failure> {
        Key::read(self.key.as_deref().expect("clap requires it")).map_err(bad_input)
    }
}
