//! What breaks, and when, as `[[fault]]` writes it.

use serde::{Deserialize, de};
use sojourn_model::System;
use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_stats::{Dimension, Span, Time, quantity};
use sojourn_traffic::{Profile, Workload};
use toml::Spanned;

use super::{Reader, Run, SpecError, Text, unknown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFault {
    at: Text,
    until: Option<Text>,
    server: Option<Spanned<ServerNumber>>,
    site: Option<Text>,
    tier: Option<Text>,
    resolver: Option<Text>,
    path: Option<Text>,
    share: Option<Spanned<f64>>,
    servers: Option<Spanned<ManyServers>>,
    what: Text,
}

/// A server by its number, or by its site and number there: `2`, `"c1/2"`.
enum ServerNumber {
    Number(u32),
    Text(String),
}

impl<'de> Deserialize<'de> for ServerNumber {
    /// By hand, because an untagged enum would not say what is right.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<ServerNumber, D::Error> {
        struct Number;
        impl de::Visitor<'_> for Number {
            type Value = ServerNumber;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a server by its number from 1 on, or by its site and number there, as in \"c1/2\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ServerNumber, E> {
                let wrong = || E::invalid_value(de::Unexpected::Signed(number), &self);
                u32::try_from(number).map(ServerNumber::Number).map_err(|_| wrong())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ServerNumber, E> {
                Ok(ServerNumber::Text(text.into()))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// Some of the servers: so many, or a share of them.
enum ManyServers {
    Number(u32),
    Share(f64),
}

impl<'de> Deserialize<'de> for ManyServers {
    /// By hand, because an untagged enum would not say what is right.
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<ManyServers, D::Error> {
        struct Many;
        impl de::Visitor<'_> for Many {
            type Value = ManyServers;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "how many servers, from 1 on, or a share of them, above 0 and at most 100 %, as in \"20 %\"",
                )
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ManyServers, E> {
                let wrong = || E::invalid_value(de::Unexpected::Signed(number), &self);
                u32::try_from(number).ok().filter(|number| *number > 0).map(ManyServers::Number).ok_or_else(wrong)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ManyServers, E> {
                let part = text.trim().strip_suffix('%').and_then(|part| part.trim().parse::<f64>().ok());
                let share = part.filter(|part| *part > 0.0 && *part <= 100.0).map(|part| part / 100.0);
                share.map(ManyServers::Share).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Many)
    }
}

const KINDS: [&str; 10] =
    ["down", "frozen", "slow", "errors", "cut", "loss", "drained", "restarted", "rolling-restart", "burst"];

impl Reader<'_> {
    /// The faults, none of which overlaps another one of the same part.
    pub(super) fn faults(
        &self,
        raw: &[Spanned<RawFault>],
        system: &System,
        run: &Run,
    ) -> Result<Vec<Fault>, SpecError> {
        let mut faults: Vec<Fault> = Vec::with_capacity(raw.len());
        for (fault, read) in self.each_fault(raw, system)? {
            if let Some(end) = run.duration.filter(|end| read.at >= Time::ZERO + *end) {
                let message =
                    format!("it begins after the run of {end} has ended: make the run longer, or begin earlier");
                return Err(self.at(&fault.get_ref().at, "at", &message));
            }
            let runs_until = run.duration.map(|end| Time::ZERO + end);
            if let (Some(until), Some(end), Some(text)) = (read.until, runs_until, &fault.get_ref().until)
                && until > end
            {
                let right =
                    format!("the run of {} has ended by then: make it longer, or leave `until` out", Span(end.0));
                return Err(self.at(text, "until", &right));
            }
            let ends = |fault: &Fault| fault.until.unwrap_or(Time::NEVER);
            let overlaps = |other: &Fault| {
                share_a_part(other.subject, read.subject, system) && other.at < ends(&read) && read.at < ends(other)
            };
            if faults.iter().any(overlaps) {
                return Err(self.at(fault, "fault", "it overlaps another fault of the same part: let one end first"));
            }
            faults.push(read);
        }
        Ok(faults)
    }

    /// All that is written; servers that are restarted one after another have a fault each.
    fn each_fault<'r>(
        &self,
        raw: &'r [Spanned<RawFault>],
        system: &System,
    ) -> Result<Vec<(&'r Spanned<RawFault>, Fault)>, SpecError> {
        let mut all = Vec::with_capacity(raw.len());
        for fault in raw {
            match rolling(fault.get_ref().what.get_ref()) {
                Some(each) => all.extend(self.rolling(fault, each, system)?.into_iter().map(|read| (fault, read))),
                None => all.push((fault, self.fault(fault, system)?)),
            }
        }
        Ok(all)
    }

    /// Servers that are restarted one after another: each ends what it has and is away for a while, the next one from when
    /// it is back.
    fn rolling(&self, raw: &Spanned<RawFault>, each: &str, system: &System) -> Result<Vec<Fault>, SpecError> {
        let RawFault { at, until, what, .. } = raw.get_ref();
        let each = quantity::parse(each, Dimension::Time).ok().filter(|each_s| *each_s > 0.0).map(Span::from_secs_f64);
        let each = each
            .ok_or_else(|| self.at(what, "what", "say how long each server is away, e.g. `rolling-restart(10 s)`"))?;
        if let Some(until) = until {
            return Err(self.at(until, "until", "it ends when the last server is back: leave it out"));
        }
        let at = Time::ZERO + self.span(at, "at")?;
        let subject = self.subject(raw, system)?;
        let mut hosts = Fault { at, until: None, subject, trouble: Trouble::Drained }.hosts(0, system, 0);
        hosts.sort_unstable();
        // Which servers a share has is drawn by each run.
        let turns: Vec<Subject> = match subject {
            Subject::Share(share) if share < 1.0 => {
                (0..hosts.len()).map(|place| Subject::OneOf(share, place)).collect()
            }
            Subject::Site(_) | Subject::Share(_) => hosts.into_iter().map(Subject::Host).collect(),
            _ => {
                let right =
                    "servers are restarted one after another: say which, servers = \"50 %\", or those of a `site`";
                return Err(self.at(what, "what", right));
            }
        };
        let one = |(place, subject): (u64, Subject)| {
            let at = at + each * place;
            Fault { at, until: Some(at + each), subject, trouble: Trouble::Drained }
        };
        Ok((0..).zip(turns).map(one).collect())
    }

    /// Lets bursts of requests come.
    pub(super) fn burst(&self, workload: &mut Workload, system: &System) -> Result<(), SpecError> {
        for fault in &system.faults {
            let (Trouble::Burst(factor), Some(until)) = (fault.trouble, fault.until) else { continue };
            let Workload::Open(open) = &mut *workload else {
                let right = "a burst is of requests that come by themselves: a workload of kind `open`";
                return Err(self.at_key("what", right));
            };
            let times = (Span(fault.at.0), Span(until.0));
            let Some(profile) = Profile::with_burst(open.arrivals.profile(), factor, times) else {
                let right = "a million steps of the `profile` come before the burst is over: let it come earlier, or the \
                             profile take longer";
                return Err(self.at_key("what", right));
            };
            open.arrivals = open.arrivals.clone().with_profile(profile);
        }
        Ok(())
    }

    fn fault(&self, raw: &Spanned<RawFault>, system: &System) -> Result<Fault, SpecError> {
        let fault = raw.get_ref();
        let at = Time::ZERO + self.span(&fault.at, "at")?;
        let until = match &fault.until {
            Some(text) => match Time::ZERO + self.span(text, "until")? {
                until if until > at => Some(until),
                _ => return Err(self.at(text, "until", "a fault ends after it begins")),
            },
            None => None,
        };
        let trouble = self.trouble(&fault.what)?;
        if let Trouble::Burst(_) = trouble {
            return self.of_requests(raw, Fault { at, until, subject: Subject::Requests, trouble });
        }
        let subject = self.subject(raw, system)?;
        let fits = match subject {
            Subject::Path(..) => matches!(trouble, Trouble::Cut | Trouble::Loss(_) | Trouble::Slow(_)),
            Subject::Resolver(_) => {
                matches!(trouble, Trouble::Down | Trouble::Frozen | Trouble::Slow(_) | Trouble::Errors(_))
            }
            _ => !matches!(trouble, Trouble::Loss(_)),
        };
        if !fits {
            let right = match subject {
                Subject::Path(..) => "this cannot happen to a path, which is `cut`, has `loss(0.1)` or is `slow(0.2)`",
                Subject::Resolver(_) => {
                    "this cannot happen to a resolver, which has no requests: `down`, `frozen`, `slow(0.2)` or `errors(0.3)`"
                }
                _ => "packets are lost on paths: say `path = \"europe..asia\"`; what stands at its ends can be `cut`",
            };
            return Err(self.at(&fault.what, "what", right));
        }
        if let (Subject::Path(..), Some(path), true) = (subject, &fault.path, system.paths.is_empty()) {
            let right = "nothing is said of paths: add [system.paths], e.g. `within = { rtt = \"20 ms\" }`";
            return Err(self.at(path, "path", right));
        }
        let is_silent = trouble == Trouble::Cut || (trouble == Trouble::Frozen && until.is_none());
        if is_silent && system.rules.timeout.or(system.rules.deadline).is_none() {
            let right = "nothing answers meanwhile: say how long clients wait, e.g. `timeout = \"5 s\"` under [client]";
            return Err(self.at(&fault.what, "what", right));
        }
        Ok(Fault { at, until, subject, trouble })
    }

    /// What happens to what clients ask for.
    fn of_requests(&self, raw: &Spanned<RawFault>, fault: Fault) -> Result<Fault, SpecError> {
        let RawFault { server, site, tier, resolver, path, share, servers, what, .. } = raw.get_ref();
        let has_part = server.is_some() || share.is_some() || servers.is_some();
        if has_part || [site, tier, resolver, path].into_iter().any(Option::is_some) {
            return Err(self.at(what, "what", "a burst is of all requests: leave out what it happens to"));
        }
        if fault.until.is_none() {
            let right = "a burst has an end: add `until`; a rate that stays is `profile` under [workload]";
            return Err(self.at(what, "what", right));
        }
        Ok(fault)
    }

    fn subject(&self, raw: &Spanned<RawFault>, system: &System) -> Result<Subject, SpecError> {
        let RawFault { server, site, tier, resolver, path, share, servers, .. } = raw.get_ref();
        let given = [
            server.is_some(),
            site.is_some(),
            tier.is_some(),
            resolver.is_some(),
            path.is_some(),
            share.is_some(),
            servers.is_some(),
        ];
        if given.iter().filter(|is| **is).count() != 1 {
            let right = "say once what it happens to: server = 2, site, tier, resolver, path, \
                         servers = 2 or \"20 %\", or share = 0.1";
            return Err(self.at(raw, "fault", right));
        }
        let named = |text: &Text, key: &str, known: Vec<&str>| {
            let found = known.iter().position(|name| name == text.get_ref());
            found.ok_or_else(|| self.at(text, key, &unknown(key, text.get_ref(), &known)))
        };
        if let Some(server) = server {
            return self.server(server, system).map(Subject::Host);
        }
        if let Some(text) = site {
            let known = system.sites.iter().map(|site| site.name.as_str()).collect();
            let site = named(text, "site", known)?;
            if !system.hosts.iter().any(|host| host.site == Some(site)) {
                return Err(self.at(text, "site", "no server is at this site"));
            }
            return Ok(Subject::Site(site));
        }
        if let Some(text) = tier {
            let known = system.tiers.iter().map(|tier| tier.name.as_str()).collect();
            return named(text, "tier", known).map(Subject::Tier);
        }
        if let Some(text) = resolver {
            let known = system.resolvers.iter().map(|resolver| resolver.name.as_str()).collect();
            return named(text, "resolver", known).map(Subject::Resolver);
        }
        if let Some(text) = path {
            let known: Vec<&str> = system.regions.iter().map(|region| region.name.as_str()).collect();
            let find = |name: &str| known.iter().position(|of| *of == name.trim());
            let ends = text.get_ref().split_once("..").and_then(|(a, b)| Some((find(a)?, find(b)?)));
            let (a, b) = ends.ok_or_else(|| {
                self.at(text, "path", &format!("two regions as in \"europe..asia\"; known: {}", known.join(", ")))
            })?;
            return Ok(Subject::Path(a.min(b), a.max(b)));
        }
        if let Some(servers) = servers {
            let all = system.hosts.len();
            return match *servers.get_ref() {
                ManyServers::Share(part) => Ok(Subject::Share(part)),
                ManyServers::Number(number) if number as usize <= all => {
                    Ok(Subject::Share(f64::from(number) / all as f64))
                }
                ManyServers::Number(_) => Err(self.at(servers, "servers", &format!("there are no more than {all}"))),
            };
        }
        let share = share.as_ref().expect("one is given");
        match *share.get_ref() {
            part if part > 0.0 && part <= 1.0 => Ok(Subject::Share(part)),
            _ => Err(self.at(share, "share", "a share of the servers, above 0 and at most 1")),
        }
    }

    fn server(&self, server: &Spanned<ServerNumber>, system: &System) -> Result<usize, SpecError> {
        let hosts = system.hosts.len();
        let found = match server.get_ref() {
            ServerNumber::Number(number) => (*number as usize).checked_sub(1).filter(|host| *host < hosts),
            ServerNumber::Text(text) => text.split_once('/').and_then(|(site, number)| {
                let site = system.sites.iter().position(|of| of.name == site)?;
                let number: usize = number.parse().ok()?;
                let mut there = (0..hosts).filter(|host| system.hosts[*host].site == Some(site));
                there.nth(number.checked_sub(1)?)
            }),
        };
        found.ok_or_else(|| {
            let right = match system.sites.first() {
                Some(site) => format!("a server by its site and number there, e.g. \"{}/1\"", site.name),
                None => format!("a server by its number, from 1 to {hosts}"),
            };
            self.at(server, "server", &format!("there is no such server: {right}"))
        })
    }

    fn trouble(&self, text: &Text) -> Result<Trouble, SpecError> {
        let written = text.get_ref().trim();
        let (name, rest) = written.split_at(written.find('(').unwrap_or(written.len()));
        let number = || rest.strip_prefix('(')?.strip_suffix(')')?.trim().parse::<f64>().ok();
        let share = || {
            number().filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| {
                self.at(text, "what", &format!("`{name}` needs a share above 0 and at most 1, e.g. `{name}(0.2)`"))
            })
        };
        match (name, rest.is_empty()) {
            ("down", true) => Ok(Trouble::Down),
            ("frozen", true) => Ok(Trouble::Frozen),
            ("cut", true) => Ok(Trouble::Cut),
            ("drained", true) => Ok(Trouble::Drained),
            ("restarted", true) => Ok(Trouble::Restarted),
            ("burst", _) => match number() {
                Some(factor) if factor.is_finite() && factor > 0.0 => Ok(Trouble::Burst(factor)),
                _ => Err(self.at(text, "what", "`burst` needs how many times as many requests come, e.g. `burst(3)`")),
            },
            ("slow", _) => share().map(Trouble::Slow),
            ("errors", _) => share().map(Trouble::Errors),
            ("loss", _) => share().map(Trouble::Loss),
            // One that takes no number is told as it is written.
            _ => {
                let word = if KINDS.contains(&name) { written } else { name };
                Err(self.at(text, "what", &unknown("fault", word, &KINDS)))
            }
        }
    }
}

/// How long each server is away, of those that are restarted one after another.
fn rolling(what: &str) -> Option<&str> {
    let rest = what.trim().strip_prefix("rolling-restart")?;
    Some(rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(""))
}

/// Whether a part of the system is in both; which servers a share has is drawn, so that it may have any.
fn share_a_part(a: Subject, b: Subject, system: &System) -> bool {
    let site_of = |host: usize| system.hosts[host].site;
    let is_drawn = |subject: Subject| matches!(subject, Subject::Share(_) | Subject::OneOf(..));
    let is_of_servers = |subject: Subject| matches!(subject, Subject::Host(_) | Subject::Site(_)) || is_drawn(subject);
    match (a, b) {
        _ if is_drawn(a) || is_drawn(b) => is_of_servers(a) && is_of_servers(b),
        (Subject::Host(host), Subject::Site(site)) | (Subject::Site(site), Subject::Host(host)) => {
            site_of(host) == Some(site)
        }
        _ => a == b,
    }
}
