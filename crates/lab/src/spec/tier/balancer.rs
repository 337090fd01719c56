//! The balancer of a tier whose users browse: what is given to a server and for how long, how packets go, and what they cost.

use serde::{Deserialize, de};
use sojourn_model::system::{Affinity, Attachment, Face};
use sojourn_model::{Balancing, Mode};
use sojourn_stats::Span;

use super::super::{Reader, SpecError, Text, unknown};
use super::{ONLY_SESSIONS, RawTier};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::spec) struct RawBalancer {
    mode: Option<Text>,
    per_packet: Option<Text>,
    per_connection: Option<Text>,
    cores: Option<Cores>,
}

/// A number of cores, or no limit.
struct Cores(Option<u32>);

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Cores, D::Error> {
        struct Count;
        impl de::Visitor<'_> for Count {
            type Value = Cores;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of cores from 1 on, or \"unlimited\" (a delay without a queue)")
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Cores, E> {
                let cores = u32::try_from(count).ok().filter(|cores| *cores > 0);
                let wrong = || E::custom(format!("cores = {count}: at least 1, or \"unlimited\""));
                cores.map(|cores| Cores(Some(cores))).ok_or_else(wrong)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Cores, E> {
                match text.parse::<i64>() {
                    Ok(count) => self.visit_i64(count),
                    Err(_) if text == "unlimited" => Ok(Cores(None)),
                    Err(_) => Err(E::custom(format!("cores = \"{text}\": a number from 1 on, or \"unlimited\""))),
                }
            }
        }
        deserializer.deserialize_any(Count)
    }
}

impl Reader<'_> {
    /// What is given a server: our gateway gives it requests, a switch connections.
    pub(super) fn affinity(&self, raw: &RawTier, face: Face) -> Result<Affinity, SpecError> {
        let Some(text) = &raw.level else {
            return Ok(if face == Face::Switch { Affinity::Connection } else { Affinity::Request });
        };
        match text.get_ref().as_str() {
            _ if !self.browses => Err(self.at(text, "level", ONLY_SESSIONS)),
            "session" => Ok(Affinity::Session),
            "connection" => Ok(Affinity::Connection),
            "request" if face != Face::Switch => Ok(Affinity::Request),
            "request" => Err(self.at(text, "level", "a switch sees no requests: `connection` or `session`")),
            other => Err(self.at(text, "level", &unknown("level", other, &["session", "connection", "request"]))),
        }
    }

    /// When users count as attached: by default to the server of their session, where sessions are given one.
    pub(super) fn attachment(&self, raw: &RawTier, affinity: Affinity) -> Result<Attachment, SpecError> {
        let Some(text) = &raw.attached else {
            return Ok(if affinity == Affinity::Session { Attachment::Session } else { Attachment::WhileConnected });
        };
        let known: &[(&str, Attachment)] = match affinity {
            _ if !self.browses => return Err(self.at(text, "attached", ONLY_SESSIONS)),
            Affinity::Session => &[("session", Attachment::Session), ("until-next", Attachment::UntilNext)],
            Affinity::Connection => &[
                ("while-connected", Attachment::WhileConnected),
                ("session", Attachment::Session),
                ("until-next", Attachment::UntilNext),
            ],
            Affinity::Request => &[("while-connected", Attachment::WhileConnected)],
        };
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let found = known.iter().find(|(name, _)| name == text.get_ref());
        let wrong = || self.at(text, "attached", &unknown("time of attachment at this level", text.get_ref(), &names));
        Ok(found.ok_or_else(wrong)?.1)
    }

    pub(super) fn balancing(&self, raw: &RawTier, face: Face) -> Result<Balancing, SpecError> {
        let own = if face == Face::Switch { Mode::SingleRewriting } else { Mode::Nat };
        if let Some(text) = &raw.mode {
            return Ok(Balancing::free(self.forwarding(text, face)?));
        }
        let Some(balancer) = &raw.balancer else { return Ok(Balancing::free(own)) };
        if !self.browses {
            return Err(self.at(balancer, "balancer", ONLY_SESSIONS));
        }
        let balancer = balancer.get_ref();
        let modes: &[(&str, Mode)] = match face {
            Face::Switch => &[
                ("single-rewriting", Mode::SingleRewriting),
                ("ip-tunnelling", Mode::IpTunnelling),
                ("mac-forwarding", Mode::MacForwarding),
            ],
            _ => &[("nat", Mode::Nat)],
        };
        let mode = match &balancer.mode {
            None => own,
            Some(text) => {
                let known: Vec<&str> = modes.iter().map(|(name, _)| *name).collect();
                let found = modes.iter().find(|(name, _)| name == text.get_ref());
                found.ok_or_else(|| self.at(text, "mode", &unknown("mode of this face", text.get_ref(), &known)))?.1
            }
        };
        let span = |text: &Option<Text>, key: &str| text.as_ref().map_or(Ok(Span::ZERO), |text| self.span(text, key));
        let cores = balancer.cores.as_ref().and_then(|cores| cores.0);
        Ok(Balancing {
            mode,
            per_packet: span(&balancer.per_packet, "per_packet")?,
            per_connection: span(&balancer.per_connection, "per_connection")?,
            cores,
        })
    }

    /// How a switch of single requests forwards; the names are those of `sojourn switch`.
    fn forwarding(&self, text: &Text, face: Face) -> Result<Mode, SpecError> {
        match text.get_ref().as_str() {
            _ if face != Face::Switch => {
                Err(self.at(text, "mode", "only a tier of face `switch` has one; leave it out"))
            }
            _ if self.browses => {
                let right = "for users who browse it is a key of `balancer`: balancer = { mode = \"mac-forwarding\" }";
                Err(self.at(text, "mode", right))
            }
            "mac" => Ok(Mode::MacForwarding),
            "rewrite" => Ok(Mode::SingleRewriting),
            "nat" => Ok(Mode::Nat),
            "tunnel" => Ok(Mode::IpTunnelling),
            other => Err(self.at(text, "mode", &unknown("mode", other, &["mac", "rewrite", "nat", "tunnel"]))),
        }
    }
}
