//! The gateway's name among gateways: by it a request that comes round again is recognised (RFC 9110, section 7.6.3).

use std::hash::{BuildHasher, RandomState};

use hyper::Version;
use hyper::header::{HeaderMap, HeaderValue, VIA};

/// A name that no other gateway has, as it stands in `via`.
pub(crate) struct GatewayId {
    name: String,
    http_1_0: HeaderValue,
    http_1_1: HeaderValue,
}

impl GatewayId {
    /// A new name. It is the system's randomness and not a stream's, because it must differ between two gateways that
    /// are told the very same; nothing is decided by it.
    pub(crate) fn new() -> GatewayId {
        let name = format!("sojourn-{:016x}", RandomState::new().hash_one(0));
        let value = |version| HeaderValue::try_from(format!("{version} {name}")).expect("hexadecimal digits are plain");
        GatewayId { http_1_0: value("1.0"), http_1_1: value("1.1"), name }
    }

    /// Whether the request has been here before.
    pub(super) fn has_sent(&self, headers: &HeaderMap) -> bool {
        let mut before = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
        before.any(|value| value.split([',', ' ']).any(|word| word == self.name))
    }

    /// Adds the name to a request that came in `version` of HTTP.
    pub(super) fn sign(&self, headers: &mut HeaderMap, version: Version) {
        let value = if version == Version::HTTP_10 { &self.http_1_0 } else { &self.http_1_1 };
        headers.append(VIA, value.clone());
    }
}
