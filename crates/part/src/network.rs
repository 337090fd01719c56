//! Networks of clients.

use std::net::IpAddr;

/// The network of an address: this many bits of IPv4 and of IPv6. An IPv4 address that is mapped into IPv6 counts as IPv4.
pub fn prefix(of: IpAddr, [v4, v6]: [u8; 2]) -> u128 {
    match of.to_canonical() {
        IpAddr::V4(ip) => {
            let kept = u32::MAX.checked_shl(32 - u32::from(v4.min(32))).unwrap_or(0);
            // As an IPv4-mapped address, no IPv6 network is the same.
            0xffff << 32 | u128::from(u32::from(ip) & kept)
        }
        IpAddr::V6(ip) => u128::from(ip) & u128::MAX.checked_shl(128 - u32::from(v6.min(128))).unwrap_or(0),
    }
}
