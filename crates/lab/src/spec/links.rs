//! The network of a system in one place, as `[system.network]` writes it.
//!
//! What only connections have (segments, windows) is refused for workloads of single requests, which would silently ignore it.

use serde::Deserialize;
use sojourn_model::{ClusterNetwork, Tcp};
use sojourn_stats::{Dimension, Span};
use toml::Spanned;

use super::tier::ONLY_SESSIONS;
use super::{Reader, SpecError, Text};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNetwork {
    pub(super) client_rate: Option<Text>,
    pub(super) cluster_rate: Option<Text>,
    pub(super) rtt: Option<Text>,
    pub(super) backbone_rate: Option<Text>,
    pub(super) server_rate: Option<Text>,
    pub(super) segment: Option<Text>,
    pub(super) initial_window: Option<Spanned<u32>>,
    pub(super) acks_per_segment: Option<Spanned<f64>>,
    pub(super) timeouts: Option<Spanned<f64>>,
    pub(super) timeout: Option<Text>,
}

impl RawNetwork {
    pub(super) fn is_written(&self) -> bool {
        let texts = [
            &self.rtt,
            &self.client_rate,
            &self.cluster_rate,
            &self.backbone_rate,
            &self.server_rate,
            &self.segment,
            &self.timeout,
        ];
        let numbers = [&self.acks_per_segment, &self.timeouts];
        texts.into_iter().any(Option::is_some)
            || numbers.into_iter().any(Option::is_some)
            || self.initial_window.is_some()
    }
}

impl Reader<'_> {
    pub(super) fn network(&self, raw: &RawNetwork) -> Result<ClusterNetwork, SpecError> {
        let rate = |text: &Option<Text>, key: &str| match text {
            None => Ok(None),
            Some(text) => match self.quantity(text, key, Dimension::Bandwidth)? {
                0.0 => Err(self.at(text, key, "a rate is above 0; leave it out for an infinitely fast link")),
                rate => Ok(Some(rate)),
            },
        };
        if !self.browses {
            for (text, key) in
                [(&raw.backbone_rate, "backbone_rate"), (&raw.server_rate, "server_rate"), (&raw.segment, "segment")]
            {
                if let Some(text) = text {
                    return Err(self.at(text, key, ONLY_SESSIONS));
                }
            }
            if let Some(window) = &raw.initial_window {
                return Err(self.at(window, "initial_window", ONLY_SESSIONS));
            }
            let numbers = [(&raw.acks_per_segment, "acks_per_segment"), (&raw.timeouts, "timeouts")];
            if let Some((Some(number), key)) = numbers.into_iter().find(|(number, _)| number.is_some()) {
                return Err(self.at(number, key, ONLY_SESSIONS));
            }
        }
        let mut tcp = Tcp::default();
        if let Some(text) = &raw.segment {
            tcp.segment = self.quantity(text, "segment", Dimension::Size)? as u64;
            if tcp.segment == 0 {
                return Err(self.at(text, "segment", "a segment holds at least 1 B, e.g. `1460 B`"));
            }
        }
        if let Some(window) = &raw.initial_window {
            tcp.initial_window = *window.get_ref();
            if tcp.initial_window == 0 {
                return Err(self.at(window, "initial_window", "a window holds at least 1 segment"));
            }
        }
        if let Some(acks) = &raw.acks_per_segment {
            tcp.acks_per_segment = *acks.get_ref();
            if !(0.0..=1.0).contains(&tcp.acks_per_segment) {
                return Err(self.at(
                    acks,
                    "acks_per_segment",
                    "from 0 to 1: every segment is acknowledged at most once",
                ));
            }
        }
        if let Some(share) = &raw.timeouts {
            tcp.timeouts = *share.get_ref();
            if !(0.0..=1.0).contains(&tcp.timeouts) {
                return Err(self.at(
                    share,
                    "timeouts",
                    "the share of the replies that wait for a timeout, from 0 to 1",
                ));
            }
        }
        if let Some(text) = &raw.timeout {
            tcp.timeout = self.span(text, "timeout")?;
        }
        Ok(ClusterNetwork {
            rtt: raw.rtt.as_ref().map_or(Ok(Span::ZERO), |text| self.span(text, "rtt"))?,
            server_rtt: Span::ZERO,
            client_rate: rate(&raw.client_rate, "client_rate")?,
            cluster_rate: rate(&raw.cluster_rate, "cluster_rate")?,
            backbone_rate: rate(&raw.backbone_rate, "backbone_rate")?,
            server_rate: rate(&raw.server_rate, "server_rate")?,
            tcp,
        })
    }
}
