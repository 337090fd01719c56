//! The name of a client, kept as an address where it is one: of a hundred thousand clients their rates are kept for each sender
//! that tells them, and a text takes three times the memory of an address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A name; its text is the one that was told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Named {
    V4(Ipv4Addr),
    // Boxes, so that the usual case is small.
    V6(Box<Ipv6Addr>),
    Text(Box<Text>),
}

/// What is no address, or one that is written otherwise than usual.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Text(Box<str>);

const _: () = assert!(size_of::<(Named, f64)>() == 24);

impl From<String> for Named {
    fn from(name: String) -> Named {
        match name.parse() {
            Ok(IpAddr::V4(address)) => Named::V4(address),
            Ok(IpAddr::V6(address)) if address.to_string() == name => Named::V6(Box::new(address)),
            _ => Named::Text(Box::new(Text(name.into()))),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::V4(address) => fmt::Display::fmt(address, f),
            Named::V6(address) => fmt::Display::fmt(address, f),
            Named::Text(text) => f.write_str(&text.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_text() {
        for (text, is_text) in [
            ("10.0.0.17", false),
            ("2001:db8::1", false),
            ("2001:DB8::1", true),
            ("2001:db8:0::1", true),
            ("fe80::1%eth0", true),
            ("17", true),
            ("", true),
        ] {
            let named = Named::from(text.to_owned());
            assert_eq!((named.to_string().as_str(), matches!(named, Named::Text(_))), (text, is_text));
        }
    }
}
