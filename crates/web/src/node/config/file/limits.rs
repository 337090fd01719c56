//! What clients may take, in the configuration file of a node; what is left out is as usual.

use serde::Deserialize;
use sojourn_part::descriptors;
use sojourn_part::listen::WhenFull;
use sojourn_part::place::Place;
use sojourn_stats::Span;
use toml::Spanned;

use crate::node::NodeConfig;
use crate::node::limits::Limits;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    connections: Option<Spanned<usize>>,
    when_full: Option<WhenFull>,
    per_address: Option<Spanned<usize>>,
    requests: Option<Spanned<u64>>,
    keep_alive: Option<Spanned<String>>,
    head_timeout: Option<Spanned<String>>,
    head_size: Option<Spanned<String>>,
    body_size: Option<Spanned<String>>,
    body_timeout: Option<Spanned<String>>,
    send_timeout: Option<Spanned<String>>,
    handshake_timeout: Option<Spanned<String>>,
    streams: Option<Spanned<u32>>,
}

/// Sizes of a head (bytes): with less than this no usual request is served, with more each connection costs much memory.
const HEAD_SIZES: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;

impl RawLimits {
    /// How long a connection may be idle, and how long a head may take.
    pub(super) fn times(&self, usual: &NodeConfig, place: &Place<'_>) -> Result<(Span, Span), String> {
        // Zero is a connection per request.
        let keep_alive = self.keep_alive.as_ref().map(|text| place.time(text, "limits.keep_alive")).transpose()?;
        let head = some_time(self.head_timeout.as_ref(), "limits.head_timeout", place)?;
        Ok((keep_alive.unwrap_or(usual.keep_alive), head.unwrap_or(usual.head_timeout)))
    }

    /// Most connections, if they are limited.
    pub(super) fn connections(&self, place: &Place<'_>) -> Result<Option<usize>, String> {
        let Some(connections) = &self.connections else { return Ok(None) };
        let most = descriptors::connections(Some(*connections.get_ref()), 2, 16);
        most.map(Some).map_err(|error| place.wrong(connections.span(), "limits.connections", error))
    }

    pub(super) fn settings(&self, place: &Place<'_>) -> Result<Limits, String> {
        let usual = Limits::default();
        let at_least_one = |at, key: &str| place.wrong(at, key, "it is a whole number of at least 1");
        if let Some(most) = self.per_address.as_ref().filter(|most| *most.get_ref() == 0) {
            return Err(at_least_one(most.span(), "limits.per_address"));
        }
        if let Some(most) = self.requests.as_ref().filter(|most| *most.get_ref() == 0) {
            return Err(at_least_one(most.span(), "limits.requests"));
        }
        if let Some(most) = self.streams.as_ref().filter(|most| *most.get_ref() == 0) {
            return Err(at_least_one(most.span(), "limits.streams"));
        }
        let head_size = self.head_size.as_ref().map(|text| place.size(text, "limits.head_size")).transpose()?;
        if let (Some(size), Some(text)) = (head_size, &self.head_size)
            && !HEAD_SIZES.contains(&size)
        {
            return Err(place.wrong(text.span(), "limits.head_size", "it is from `1 kB` to `1 MB`"));
        }
        let body_size = self.body_size.as_ref().map(|text| place.size(text, "limits.body_size")).transpose()?;
        let time = |text: &Option<Spanned<String>>, key| some_time(text.as_ref(), key, place);
        Ok(Limits {
            when_full: self.when_full.unwrap_or(usual.when_full),
            per_address: self.per_address.as_ref().map(|most| *most.get_ref()),
            requests: self.requests.as_ref().map(|most| *most.get_ref()),
            head_size: head_size.map_or(usual.head_size, |size| size as usize),
            body_size: body_size.unwrap_or(usual.body_size),
            body_timeout: time(&self.body_timeout, "limits.body_timeout")?.unwrap_or(usual.body_timeout),
            send_timeout: time(&self.send_timeout, "limits.send_timeout")?.unwrap_or(usual.send_timeout),
            handshake_timeout: time(&self.handshake_timeout, "limits.handshake_timeout")?
                .unwrap_or(usual.handshake_timeout),
            streams: self.streams.as_ref().map_or(usual.streams, |most| *most.get_ref()),
        })
    }
}

/// A time above zero.
fn some_time(text: Option<&Spanned<String>>, key: &str, place: &Place<'_>) -> Result<Option<Span>, String> {
    let Some(text) = text else { return Ok(None) };
    match place.time(text, key)? {
        Span::ZERO => Err(place.wrong(text.span(), key, "it is above 0, e.g. `10 s`")),
        span => Ok(Some(span)),
    }
}
