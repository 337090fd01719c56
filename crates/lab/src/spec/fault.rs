//! What breaks, and when, as `[[fault]]` writes it.

use serde::{Deserialize, de};
use sojourn_model::System;
use sojourn_model::system::{Fault, Subject, Trouble};
use sojourn_stats::Time;
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

const KINDS: [&str; 8] = ["down", "frozen", "slow", "errors", "cut", "loss", "drained", "restarted"];

impl Reader<'_> {
    /// The faults, none of which overlaps another one of the same part.
    pub(super) fn faults(
        &self,
        raw: &[Spanned<RawFault>],
        system: &System,
        run: &Run,
    ) -> Result<Vec<Fault>, SpecError> {
        let mut faults: Vec<Fault> = Vec::with_capacity(raw.len());
        for fault in raw {
            let read = self.fault(fault, system)?;
            if let Some(end) = run.duration.filter(|end| read.at >= Time::ZERO + *end) {
                let message =
                    format!("it begins after the run of {end} has ended: make the run longer, or begin earlier");
                return Err(self.at(&fault.get_ref().at, "at", &message));
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
        let (subject, trouble) = (self.subject(raw, system)?, self.trouble(&fault.what)?);
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

    fn subject(&self, raw: &Spanned<RawFault>, system: &System) -> Result<Subject, SpecError> {
        let RawFault { server, site, tier, resolver, path, share, .. } = raw.get_ref();
        let given =
            [server.is_some(), site.is_some(), tier.is_some(), resolver.is_some(), path.is_some(), share.is_some()];
        if given.iter().filter(|is| **is).count() != 1 {
            let right = "say once what it happens to: server = 2, site, tier, resolver, path, or share = 0.1";
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
            ("slow", _) => share().map(Trouble::Slow),
            ("errors", _) => share().map(Trouble::Errors),
            ("loss", _) => share().map(Trouble::Loss),
            _ => Err(self.at(text, "what", &unknown("fault", written, &KINDS))),
        }
    }
}

/// Whether a part of the system is in both; which servers a share has is drawn, so that it may have any.
fn share_a_part(a: Subject, b: Subject, system: &System) -> bool {
    let site_of = |host: usize| system.hosts[host].site;
    match (a, b) {
        (Subject::Share(_), Subject::Share(_) | Subject::Host(_) | Subject::Site(_)) => true,
        (Subject::Host(_) | Subject::Site(_), Subject::Share(_)) => true,
        (Subject::Host(host), Subject::Site(site)) | (Subject::Site(site), Subject::Host(host)) => {
            site_of(host) == Some(site)
        }
        _ => a == b,
    }
}
