//! How a decider decides, as plain data: what a file holds, what flags fill, and what `--check` shows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_stats::Span;

use super::guards::{Breakers, Concurrency, Ejection, Guards, Queue, SlowStart};
use crate::{DispatchError, Information, Limit};

/// How a decider decides. Flags have no defaults of their own: they fill in for what `Default` or a file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(deny_unknown_fields, default)]
pub struct FrontSettings {
    /// Policy, e.g. `least-connections` or `round-trip(window = 1 s)`
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Seed of the policy's random numbers
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[serde(with = "sojourn_stats::config::seed")]
    pub seed: u64,
    /// Ask the backends for their load this often instead of counting, e.g. `100 ms`
    #[cfg_attr(feature = "clap", arg(long, value_name = "EVERY", allow_hyphen_values = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Span>,
    /// Most requests at each backend at once, and how few it must come down to before it gets more: `20` or `20,15`
    #[cfg_attr(feature = "clap", arg(long, value_name = "N[,RETURN]"))]
    #[serde(with = "limit", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Failures in a row, of requests or of health checks, that take a backend out
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub fall: u32,
    /// Health checks in a row that bring back a backend that is out
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub rise: u32,
    /// Whether what backends report decides who is chosen, where their health is checked too: `if-read`, `always` or `never`
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHEN"))]
    pub heed_reports: Heed,
    /// What puts backends aside that are worse than the others.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ejection: Option<Ejection>,
    /// How requests wait where all backends are full; none: they are refused.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// What is refused as too much.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakers: Option<Breakers>,
    /// How limits follow response times.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// How a backend that comes back gets its share again.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
}

/// Whether a backend that is overloaded, or silent, is left out where others are up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heed {
    /// Where the policy reads reports, or room is needed.
    #[default]
    IfRead,
    /// Whatever the policy reads.
    Always,
    /// Nowhere.
    Never,
}

/// Failures in a row that take a backend out, where nothing is said.
const FALL: u32 = 3;

/// Answers in a row that bring it back, where nothing is said.
const RISE: u32 = 1;

const HEEDS: [(Heed, &str); 3] = [(Heed::IfRead, "if-read"), (Heed::Always, "always"), (Heed::Never, "never")];

impl Default for FrontSettings {
    fn default() -> FrontSettings {
        FrontSettings {
            policy: None,
            seed: 1,
            poll: None,
            limit: None,
            fall: FALL,
            rise: RISE,
            heed_reports: Heed::IfRead,
            ejection: None,
            queue: None,
            breakers: None,
            concurrency: None,
            slow_start: None,
        }
    }
}

impl FrontSettings {
    /// Those of a decider that follows `policy`, and has its own counts.
    pub fn new(policy: impl Into<String>) -> FrontSettings {
        FrontSettings { policy: Some(policy.into()), ..FrontSettings::default() }
    }

    /// The same with these guards.
    pub fn guarded(self, guards: Guards) -> FrontSettings {
        let Guards { ejection, queue, breakers, concurrency, slow_start } = guards;
        FrontSettings { ejection, queue, breakers, concurrency, slow_start, ..self }
    }

    /// Its guards.
    pub fn guards(&self) -> Guards {
        Guards {
            ejection: self.ejection.clone(),
            queue: self.queue.clone(),
            breakers: self.breakers,
            concurrency: self.concurrency.clone(),
            slow_start: self.slow_start.clone(),
        }
    }

    /// The policy's text.
    ///
    /// # Errors
    /// Where none is named.
    pub fn policy(&self) -> Result<&str, DispatchError> {
        let none = || DispatchError::Policy("a decider follows a policy: name one, e.g. `least-connections`".into());
        self.policy.as_deref().ok_or_else(none)
    }

    /// How fresh the counts are that the policy sees.
    pub fn information(&self) -> Information {
        self.poll.map_or(Information::Immediate, |every| Information::Polled { every })
    }

    /// What cannot be, whatever the backends are.
    ///
    /// # Errors
    /// Where `fall` or `rise` is 0, or a guard cannot be.
    pub fn check(&self) -> Result<(), DispatchError> {
        for (count, what) in
            [(self.fall, "fall = 0: failures that take"), (self.rise, "rise = 0: answers that bring back")]
        {
            if count == 0 {
                return Err(DispatchError::Settings(format!("{what} a backend are at least 1")));
            }
        }
        let wrong = |(key, what)| DispatchError::Settings(format!("{key}: {what}"));
        self.guards().check(self.limit.is_some()).map_err(wrong)
    }
}

impl fmt::Display for Heed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = HEEDS.iter().find(|(heed, _)| heed == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for Heed {
    type Err = DispatchError;

    fn from_str(text: &str) -> Result<Heed, DispatchError> {
        let known = HEEDS.iter().find(|(_, name)| *name == text).map(|(heed, _)| *heed);
        known.ok_or_else(|| DispatchError::Settings(format!("`{text}`: write `if-read`, `always` or `never`")))
    }
}

/// A limit as a number, or as text with its return.
pub mod limit {
    use super::*;

    /// Writes it as text.
    pub fn serialize<S: Serializer>(of: &Option<Limit>, to: S) -> Result<S::Ok, S::Error> {
        of.map(|of| of.to_string()).serialize(to)
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Limit>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a limit is a number, or two in a text: `20` or `\"20,15\"`")]
        enum Written {
            Number(u32),
            Text(String),
        }
        let read = match Written::deserialize(from)? {
            Written::Number(most) => Limit::new(most, Limit::usual_return(most)),
            Written::Text(text) => text.parse(),
        };
        read.map(Some).map_err(serde::de::Error::custom)
    }
}
