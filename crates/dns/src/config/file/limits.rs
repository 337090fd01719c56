//! What the wire allows, in the configuration file; what is left out is as usual.

use serde::Deserialize;
use sojourn_part::place::Place;
use toml::Spanned;

use crate::server::Limits;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLimits {
    udp_payload: Option<u16>,
    replies_per_second: Option<u32>,
    slip: Option<u32>,
    amplification: Option<u32>,
    prefix_v4: Option<u8>,
    prefix_v6: Option<u8>,
    tcp_connections: Option<usize>,
    tcp_per_prefix: Option<usize>,
    tcp_idle: Option<Spanned<String>>,
}

/// Reads the limits.
pub(super) fn limits(raw: &Spanned<RawLimits>, place: &Place<'_>) -> Result<Limits, String> {
    let (usual, at) = (Limits::default(), raw.span());
    let raw = raw.get_ref();
    let idle = raw.tcp_idle.as_ref().map(|text| place.time(text, "limits.tcp_idle"));
    let limits = Limits {
        udp_payload: raw.udp_payload.unwrap_or(usual.udp_payload),
        replies_per_second: raw.replies_per_second.unwrap_or(usual.replies_per_second),
        slip: raw.slip.unwrap_or(usual.slip),
        amplification: raw.amplification.unwrap_or(usual.amplification),
        prefix_v4: raw.prefix_v4.unwrap_or(usual.prefix_v4),
        prefix_v6: raw.prefix_v6.unwrap_or(usual.prefix_v6),
        tcp_connections: raw.tcp_connections.unwrap_or(usual.tcp_connections),
        tcp_per_prefix: raw.tcp_per_prefix.unwrap_or(usual.tcp_per_prefix),
        tcp_idle: idle.transpose()?.unwrap_or(usual.tcp_idle),
    };
    limits.check().map_err(|why| place.wrong(at, "limits", why))?;
    Ok(limits)
}
