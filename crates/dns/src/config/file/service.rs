//! Services and sites in the configuration file.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use sojourn_dispatch::{ClientRules, TtlRule};
use sojourn_part::place::Place;
use sojourn_report::NAME_MAX;
use sojourn_stats::{Dimension, Span, quantity};
use toml::Spanned;

use super::super::names::{label, under};
use super::{ip, location};
use crate::config::{ANSWERS_MAX, NoneUp, NoneWithRoom, Region, ServiceConfig, SiteConfig};
use crate::decider::check;

/// The longest TTL that is taken for meant: a week, as resolvers cap it (RFC 8767, section 4).
const TTL_MAX_S: f64 = 604_800.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawService {
    name: Spanned<String>,
    policy: Spanned<String>,
    ttl: Spanned<String>,
    answers: Option<Spanned<usize>>,
    none_up: Option<Spanned<String>>,
    none_with_room: Option<Spanned<String>>,
    probes: Option<RawProbes>,
    client_rates: Option<Spanned<String>>,
    record: Option<PathBuf>,
    #[serde(default)]
    explain: bool,
    #[serde(default)]
    site: Vec<RawSite>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProbes {
    at_most: Spanned<u32>,
    refresh: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSite {
    name: Spanned<String>,
    address: Spanned<Addresses>,
    weight: Option<Spanned<f64>>,
    region: Option<Spanned<String>>,
    location: Option<Spanned<[f64; 2]>>,
    check: Option<Spanned<String>>,
    reports: Option<Spanned<bool>>,
    #[serde(default)]
    drain: bool,
}

/// One address, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Addresses {
    One(String),
    Several(Vec<String>),
}

/// What the rest of the file says.
pub(super) struct Known<'a> {
    pub(super) regions: &'a [Region],
    pub(super) reports: bool,
}

impl RawService {
    /// Where its name stands.
    pub(super) fn name(&self) -> Range<usize> {
        self.name.span()
    }
}

/// Reads a service.
pub(super) fn service(
    raw: &RawService,
    zone: &str,
    known: &Known<'_>,
    place: &Place<'_>,
) -> Result<ServiceConfig, String> {
    let name = under(raw.name.get_ref(), zone);
    let name = name.map_err(|why| place.wrong(raw.name.span(), "zone.service.name", why))?;
    let (ttl, ttl_rule) = ttl(&raw.ttl, known, raw.client_rates.is_some(), place)?;
    let answers = raw.answers.as_ref().map_or(1, |answers| *answers.get_ref());
    if let Some(answers) = raw.answers.as_ref().filter(|answers| !(1..=ANSWERS_MAX).contains(answers.get_ref())) {
        let right = format!("an answer names 1 to {ANSWERS_MAX} sites");
        return Err(place.wrong(answers.span(), "zone.service.answers", right));
    }
    let none_up = match raw.none_up.as_ref().map(|text| (text.get_ref().as_str(), text.span())) {
        None | Some(("all", _)) => NoneUp::All,
        Some(("servfail", _)) => NoneUp::ServFail,
        Some((other, at)) => {
            let right = format!("`{other}` is not known: `all` (their addresses all the same) or `servfail`");
            return Err(place.wrong(at, "zone.service.none_up", right));
        }
    };
    let none_with_room = raw.none_with_room.as_ref();
    let none_with_room =
        none_with_room.map_or(Ok(NoneWithRoom::Policy), |text| none_with_room_of(text, known, place))?;
    if let Some(text) = raw.client_rates.as_ref().filter(|_| !known.reports) {
        let right = "rates of clients come in reports: add `[reports]`, or leave it out";
        return Err(place.wrong(text.span(), "zone.service.client_rates", right));
    }
    if let Some(probes) = raw.probes.as_ref().filter(|_| !known.reports) {
        let right = "sites are asked where they report: add `[reports]`, or leave it out";
        return Err(place.wrong(probes.at_most.span(), "zone.service.probes", right));
    }
    let usual = ClientRules::default();
    let (mut sites_probed, mut refresh) = (usual.sites_probed, usual.refresh);
    if let Some(probes) = &raw.probes {
        sites_probed = *probes.at_most.get_ref();
        refresh = span(&probes.refresh, "zone.service.probes.refresh", place)?;
        if sites_probed == 0 {
            let right = "at least 1 site is asked; leave `probes` out and choose a policy that needs none";
            return Err(place.wrong(probes.at_most.span(), "zone.service.probes.at_most", right));
        }
    }
    let sites = sites(&raw.site, &name, known, place)?;
    if sites.is_empty() {
        let right = format!("`{name}` has no site; add `[[zone.service.site]]` with `name` and `address`");
        return Err(place.wrong(raw.name.span(), "zone.service.site", right));
    }
    let client_rates = raw.client_rates.as_ref();
    let service = ServiceConfig {
        label: label(&name, zone),
        policy: raw.policy.get_ref().clone(),
        ttl,
        ttl_rule,
        answers,
        none_up,
        none_with_room,
        sites_probed,
        refresh,
        client_rates: client_rates.map(|text| span(text, "zone.service.client_rates", place)).transpose()?,
        record: raw.record.as_deref().map(|path| place.path(path)),
        explain: raw.explain,
        sites,
        name,
    };
    check(&service).map_err(|why| place.wrong(raw.policy.span(), "zone.service.policy", why))?;
    Ok(service)
}

/// Reads what is answered where no site has room.
fn none_with_room_of(text: &Spanned<String>, known: &Known<'_>, place: &Place<'_>) -> Result<NoneWithRoom, String> {
    let wrong = |right: String| place.wrong(text.span(), "zone.service.none_with_room", right);
    match text.get_ref().as_str() {
        "policy" => Ok(NoneWithRoom::Policy),
        "all" | "servfail" if !known.reports => Err(wrong("room is what sites report: add `[reports]`".into())),
        "all" => Ok(NoneWithRoom::All),
        "servfail" => Ok(NoneWithRoom::ServFail),
        other => {
            Err(wrong(format!("`{other}` is not known: `policy` (as it chooses), `all` (that are up) or `servfail`")))
        }
    }
}

/// Reads a time above zero.
fn span(text: &Spanned<String>, key: &str, place: &Place<'_>) -> Result<Span, String> {
    match place.time(text, key)? {
        Span::ZERO => Err(place.wrong(text.span(), key, "it is above 0, e.g. `60 s`")),
        span => Ok(span),
    }
}

fn ttl(
    text: &Spanned<String>,
    known: &Known<'_>,
    has_rates: bool,
    place: &Place<'_>,
) -> Result<(Span, TtlRule), String> {
    let wrong = |what: &str| place.wrong(text.span(), "zone.service.ttl", what);
    let written = text.get_ref().trim();
    let inside = |rule: &str| written.strip_prefix(rule)?.strip_prefix('(')?.strip_suffix(')');
    let (rule, span) = match (inside("variable"), inside("adaptive")) {
        (Some(span), _) => (TtlRule::Variable, span),
        (_, Some(span)) => (TtlRule::Adaptive, span),
        _ => (TtlRule::Constant, written),
    };
    let seconds = quantity::parse(span, Dimension::Time);
    let seconds = seconds.map_err(|_| wrong("`60 s`, `variable(60 s)` or `adaptive(60 s)`"))?;
    if !(1.0..=TTL_MAX_S).contains(&seconds) || seconds.fract() != 0.0 {
        return Err(wrong("a TTL is whole seconds from 1 s to 7 days, e.g. `60 s`"));
    }
    match rule {
        TtlRule::Variable if !known.reports => Err(wrong("`variable` goes by the load of the sites: add `[reports]`")),
        TtlRule::Adaptive if !has_rates => {
            Err(wrong("`adaptive` goes by the rates of clients: add `[reports]`, and here `client_rates`, e.g. `64 s`"))
        }
        _ => Ok((Span::from_secs_f64(seconds), rule)),
    }
}

fn sites(raw: &[RawSite], service: &str, known: &Known<'_>, place: &Place<'_>) -> Result<Vec<SiteConfig>, String> {
    let mut names = HashSet::new();
    let mut sites = Vec::new();
    for one in raw {
        let site = site(one, known, place)?;
        if !names.insert(site.name.clone()) {
            let twice = format!("`{}` is there twice in `{service}`", site.name);
            return Err(place.wrong(one.name.span(), "zone.service.site.name", twice));
        }
        sites.push(site);
    }
    Ok(sites)
}

fn site(raw: &RawSite, known: &Known<'_>, place: &Place<'_>) -> Result<SiteConfig, String> {
    let key = |key: &str| format!("zone.service.site.{key}");
    let name = raw.name.get_ref().clone();
    if !(1..=NAME_MAX).contains(&name.len()) {
        return Err(place.wrong(raw.name.span(), &key("name"), format!("a name has 1 to {NAME_MAX} bytes")));
    }
    let texts = match raw.address.get_ref() {
        Addresses::One(text) => vec![text.clone()],
        Addresses::Several(texts) => texts.clone(),
    };
    let read = |text: String| ip(&Spanned::new(raw.address.span(), text), &key("address"), place);
    let addresses = texts.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if addresses.is_empty() {
        return Err(place.wrong(raw.address.span(), &key("address"), "at least one, IPv4 or IPv6, as 194.0.0.10"));
    }
    if let Some(bad) = addresses.iter().find(|ip| ip.is_unspecified() || ip.is_multicast()) {
        return Err(place.wrong(raw.address.span(), &key("address"), format!("`{bad}` is no host's address")));
    }
    let weight = raw.weight.as_ref().map_or(1.0, |weight| *weight.get_ref());
    if let Some(weight) = raw.weight.as_ref().filter(|of| !(of.get_ref().is_finite() && *of.get_ref() >= 0.0)) {
        return Err(place.wrong(weight.span(), &key("weight"), "it is a number of at least 0"));
    }
    let region = raw.region.as_ref().map(|text| {
        let place_of = known.regions.iter().position(|region| region.name == *text.get_ref());
        let unknown = || {
            let names: Vec<&str> = known.regions.iter().map(|region| region.name.as_str()).collect();
            let known =
                if names.is_empty() { "there is none".into() } else { format!("known are {}", names.join(", ")) };
            format!("no region `{}`; {known}; add `[[region]]` with this name", text.get_ref())
        };
        place_of.map(|place| place as u16).ok_or_else(|| place.wrong(text.span(), &key("region"), unknown()))
    });
    let port = |text: &Spanned<String>| {
        let port = text.get_ref().strip_prefix("tcp:").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
        let wrong = || place.wrong(text.span(), &key("check"), format!("`{}`: write e.g. `tcp:80`", text.get_ref()));
        port.ok_or_else(wrong)
    };
    if let Some(reports) = raw.reports.as_ref().filter(|reports| *reports.get_ref() && !known.reports) {
        return Err(place.wrong(reports.span(), &key("reports"), "nothing takes reports: add `[reports]`"));
    }
    Ok(SiteConfig {
        name,
        addresses,
        weight,
        region: region.transpose()?,
        location: raw.location.as_ref().map(|at| location(at, &key("location"), place)).transpose()?,
        check: raw.check.as_ref().map(port).transpose()?,
        reports: raw.reports.as_ref().map_or(known.reports, |reports| *reports.get_ref()),
        is_drained: raw.drain,
    })
}
