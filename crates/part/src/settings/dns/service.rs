//! Services and their sites.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sojourn_dispatch::{ClientRules, FrontSettings, Location, TtlRule};
use sojourn_stats::Span;

use super::{DnsSettings, Wrong, each, text};
use crate::settings::{REPORTER_MAX, RecordLimits};

/// The most sites that an answer names.
pub const ANSWERS_MAX: usize = 8;

/// The longest TTL that is taken for meant: a week, as resolvers cap it (RFC 8767, section 4).
const TTL_MAX: Span = Span(604_800 * SECOND.0);

const SECOND: Span = Span(1_000_000_000);

/// A name whose addresses are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSettings {
    /// Its name under the zone; `@`: the zone itself.
    pub name: String,
    /// How it chooses, as text: `nearest-with-room`.
    pub policy: String,
    /// How long answers may be kept, and what that depends on.
    pub ttl: Ttl,
    /// How many sites an answer names at most.
    #[serde(default = "one")]
    pub answers: usize,
    /// What is answered where no site is up.
    #[serde(default)]
    pub none_up: NoneUp,
    /// What is answered where sites are up and none has room for the client.
    #[serde(default)]
    pub none_with_room: NoneWithRoom,
    /// How round trips to clients are measured, where that is not as usual.
    pub probes: Option<Probing>,
    /// The senders' period of the rates of clients, where they tell any; a rate expires after three of them.
    pub client_rates: Option<Span>,
    /// Checks in a row without an answer that take a site out; a refused connection does at once.
    #[serde(default = "fall")]
    pub fall: u32,
    /// Checks in a row that are answered and bring a site back.
    #[serde(default = "rise")]
    pub rise: u32,
    /// Where decisions are recorded.
    pub record: Option<PathBuf>,
    /// How large and how old the record's files may grow.
    #[serde(default)]
    pub record_limits: RecordLimits,
    /// Whether the record says what each site had to offer.
    #[serde(default)]
    pub explain: bool,
    /// Those that may be named.
    #[serde(default, rename = "site")]
    pub sites: Vec<SiteSettings>,
}

fn one() -> usize {
    1
}

fn fall() -> u32 {
    FrontSettings::default().fall
}

fn rise() -> u32 {
    FrontSettings::default().rise
}

/// How long answers may be kept: `60 s`, `variable(60 s)` or `adaptive(60 s)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ttl {
    /// The time, whole seconds.
    pub span: Span,
    /// What it depends on.
    pub rule: TtlRule,
}

/// How round trips to clients are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probing {
    /// To how many sites the round trip of a client is measured.
    pub at_most: u32,
    /// When round trips are measured anew.
    pub refresh: Span,
}

/// What is answered where no site is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoneUp {
    /// All of them: one may be up that is thought to be down.
    #[default]
    All,
    /// SERVFAIL: resolvers may serve what they had before.
    ServFail,
}

/// What is answered where sites are up and none of them has room for what the client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoneWithRoom {
    /// What the policy chooses all the same.
    #[default]
    Policy,
    /// All that are up.
    All,
    /// SERVFAIL: resolvers may serve what they had before.
    ServFail,
}

/// A site, or a lone server: what an answer names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteSettings {
    /// The name by which its front node or load daemon reports.
    pub name: String,
    /// Its addresses.
    #[serde(rename = "address", deserialize_with = "text::addresses")]
    pub addresses: Vec<IpAddr>,
    /// Its share, for policies that read weights.
    #[serde(default = "whole_share")]
    pub weight: f64,
    /// The name of its region; none: where its address is.
    pub region: Option<String>,
    /// Degrees north and east; none: where its address is, by the table.
    pub location: Option<[f64; 2]>,
    /// How it is tried whether it is up.
    pub check: Option<TcpCheck>,
    /// It reports; where it is silent for two heartbeats, it is down. None: it does where reports are taken.
    pub reports: Option<bool>,
    /// It keeps the clients that it has and is named no more.
    #[serde(default, rename = "drain")]
    pub is_drained: bool,
}

fn whole_share() -> f64 {
    1.0
}

/// A port of TCP that must accept connections: `tcp:80`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TcpCheck(pub u16);

impl ServiceSettings {
    /// A service of this name under its zone, with all else as usual.
    pub fn new(name: &str, policy: &str, ttl: Ttl, sites: Vec<SiteSettings>) -> ServiceSettings {
        ServiceSettings {
            name: name.into(),
            policy: policy.into(),
            ttl,
            answers: 1,
            none_up: NoneUp::All,
            none_with_room: NoneWithRoom::Policy,
            probes: None,
            client_rates: None,
            fall: fall(),
            rise: rise(),
            record: None,
            record_limits: RecordLimits::default(),
            explain: false,
            sites,
        }
    }

    /// How round trips to clients are measured.
    pub fn probing(&self) -> Probing {
        let ClientRules { sites_probed, refresh, .. } = ClientRules::default();
        self.probes.unwrap_or(Probing { at_most: sites_probed, refresh })
    }

    /// Whether it can be so; `name` is its whole name.
    pub(super) fn check(&self, name: &str, whole: &DnsSettings) -> Result<(), Wrong> {
        let wrong = |key: &str, what: &str| Err(Wrong::new(key, what));
        let has_reports = whole.reports.is_some();
        self.record_limits.check(self.record.is_some()).map_err(|wrong| wrong.inside("record_limits"))?;
        match self.ttl.rule {
            TtlRule::Variable if !has_reports => {
                return wrong("ttl", "`variable` goes by the load of the sites: add `[reports]`");
            }
            TtlRule::Adaptive if self.client_rates.is_none() => {
                let right =
                    "`adaptive` goes by the rates of clients: add `[reports]`, and here `client_rates`, e.g. `64 s`";
                return wrong("ttl", right);
            }
            _ => {}
        }
        if !(1..=ANSWERS_MAX).contains(&self.answers) {
            return wrong("answers", &format!("an answer names 1 to {ANSWERS_MAX} sites"));
        }
        if self.none_with_room != NoneWithRoom::Policy && !has_reports {
            return wrong("none_with_room", "room is what sites report: add `[reports]`");
        }
        if self.client_rates.is_some() && !has_reports {
            return wrong("client_rates", "rates of clients come in reports: add `[reports]`, or leave it out");
        }
        if self.client_rates == Some(Span::ZERO) {
            return wrong("client_rates", "it is above 0, e.g. `60 s`");
        }
        if let Some(Probing { at_most, refresh }) = self.probes {
            if !has_reports {
                return wrong("probes", "sites are asked where they report: add `[reports]`, or leave it out");
            }
            if refresh == Span::ZERO {
                return wrong("probes.refresh", "it is above 0, e.g. `60 s`");
            }
            if at_most == 0 {
                let right = "at least 1 site is asked; leave `probes` out and choose a policy that needs none";
                return wrong("probes.at_most", right);
            }
        }
        for (key, count) in [("fall", self.fall), ("rise", self.rise)] {
            if count == 0 {
                return wrong(key, "it is a whole number of at least 1");
            }
        }
        if self.sites.is_empty() {
            return wrong(
                "name",
                &format!("`{name}` has no site; add `[[zone.service.site]]` with `name` and `address`"),
            );
        }
        each(&self.sites, "site", |site| &site.name, |site| site.check(whole))
    }
}

impl SiteSettings {
    /// A site of these addresses, with all else as usual.
    pub fn new(name: &str, addresses: Vec<IpAddr>) -> SiteSettings {
        SiteSettings {
            name: name.into(),
            addresses,
            weight: 1.0,
            region: None,
            location: None,
            check: None,
            reports: None,
            is_drained: false,
        }
    }

    /// Whether it reports where reports are taken.
    pub fn does_report(&self) -> bool {
        self.reports != Some(false)
    }

    /// Where on Earth it is, if that is said.
    pub fn place(&self) -> Option<Location> {
        let [latitude, longitude] = self.location?;
        Location::new(latitude, longitude)
    }

    fn check(&self, whole: &DnsSettings) -> Result<(), Wrong> {
        let wrong = |key: &str, what: String| Err(Wrong::new(key, what));
        if !(1..=REPORTER_MAX).contains(&self.name.len()) {
            return wrong("name", format!("a name has 1 to {REPORTER_MAX} bytes"));
        }
        if self.addresses.is_empty() {
            return wrong("address", "at least one, IPv4 or IPv6, as 194.0.0.10".into());
        }
        if let Some(bad) = self.addresses.iter().find(|ip| ip.is_unspecified() || ip.is_multicast()) {
            return wrong("address", format!("`{bad}` is no host's address"));
        }
        if !(self.weight.is_finite() && self.weight >= 0.0) {
            return wrong("weight", "it is a number of at least 0".into());
        }
        if let Some(region) = &self.region
            && whole.regions.iter().all(|known| known.name != *region)
        {
            let names: Vec<&str> = whole.regions.iter().map(|region| region.name.as_str()).collect();
            let known =
                if names.is_empty() { "there is none".into() } else { format!("known are {}", names.join(", ")) };
            return wrong("region", format!("no region `{region}`; {known}; add `[[region]]` with this name"));
        }
        if self.location.is_some() && self.place().is_none() {
            return wrong("location", "degrees north (-90 to 90) and east (-180 to 180), as [48.1, 11.6]".into());
        }
        if self.reports == Some(true) && whole.reports.is_none() {
            return wrong("reports", "nothing takes reports: add `[reports]`".into());
        }
        Ok(())
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            TtlRule::Constant => write!(f, "{}", self.span),
            TtlRule::Variable => write!(f, "variable({})", self.span),
            TtlRule::Adaptive => write!(f, "adaptive({})", self.span),
        }
    }
}

impl FromStr for Ttl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Ttl, &'static str> {
        let inside = |rule: &str| text.trim().strip_prefix(rule)?.strip_prefix('(')?.strip_suffix(')');
        let (rule, span) = match (inside("variable"), inside("adaptive")) {
            (Some(span), _) => (TtlRule::Variable, span),
            (_, Some(span)) => (TtlRule::Adaptive, span),
            _ => (TtlRule::Constant, text.trim()),
        };
        let span: Span = span.parse().map_err(|_| "`60 s`, `variable(60 s)` or `adaptive(60 s)`")?;
        match (SECOND..=TTL_MAX).contains(&span) && span.0.is_multiple_of(SECOND.0) {
            true => Ok(Ttl { span, rule }),
            false => Err("a TTL is whole seconds from 1 s to 7 days, e.g. `60 s`"),
        }
    }
}

impl TryFrom<String> for Ttl {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Ttl, &'static str> {
        text.parse()
    }
}

impl From<Ttl> for String {
    fn from(ttl: Ttl) -> String {
        ttl.to_string()
    }
}

impl TryFrom<String> for TcpCheck {
    type Error = String;

    fn try_from(text: String) -> Result<TcpCheck, String> {
        let port = text.strip_prefix("tcp:").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
        port.map(TcpCheck).ok_or_else(|| format!("`{text}`: write e.g. `tcp:80`"))
    }
}

impl From<TcpCheck> for String {
    fn from(TcpCheck(port): TcpCheck) -> String {
        format!("tcp:{port}")
    }
}
