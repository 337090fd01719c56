//! Which addresses a run may put load on: a load test of another's server is an attack on it.
//!
//! Loopback and private networks are the caller's own business. Everything else needs the word of a person who may do
//! it. The check is on addresses, not on names: a name that looks local may lead anywhere.

use std::net::IpAddr;

/// Which addresses a run may connect to, be they named by a URL, a resolver or a redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed {
    /// Loopback and private networks only: see [`is_private`].
    #[default]
    Private,
    /// Any address: the user has said that this is allowed.
    Anywhere,
}

impl Allowed {
    /// Whether a run may connect to `address`.
    pub fn allows(self, address: IpAddr) -> bool {
        self == Allowed::Anywhere || is_private(address)
    }
}

/// Whether `address` is loopback, private (RFC 1918, RFC 4193) or link-local (RFC 3927, RFC 4291); IPv4 addresses in
/// IPv6 clothes are seen through. The unspecified address leads to this host.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ones_own_and_what_is_not() {
        let private = |text: &str| is_private(text.parse().unwrap());
        for own in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "0.0.0.0",
        ] {
            assert!(private(own), "{own}");
        }
        for public in [
            "8.8.8.8",
            "172.15.255.255",
            "172.32.0.1",
            "192.169.0.1",
            "100.64.0.1",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            "224.0.0.1",
            "255.255.255.255",
            "fec0::1",
        ] {
            assert!(!private(public), "{public}");
            assert!(Allowed::Anywhere.allows(public.parse().unwrap()));
        }
    }
}
