//! What is counted of connections, where requests need one.

use std::ops::{Add, Sub};

/// Connections, and what has come over them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connections {
    /// Connections that were set up, and how long that took (ns).
    pub(crate) set_up: u64,
    pub(crate) set_up_ns: u128,
    /// Connections that their clients gave up.
    pub(crate) given_up: u64,
    /// Bytes and response times (ns) of the replies that were complete while the window was open.
    pub(crate) bytes: u128,
    pub(crate) response_ns: u128,
}

impl Add for Connections {
    type Output = Connections;

    fn add(self, other: Connections) -> Connections {
        Connections {
            set_up: self.set_up + other.set_up,
            set_up_ns: self.set_up_ns + other.set_up_ns,
            given_up: self.given_up + other.given_up,
            bytes: self.bytes + other.bytes,
            response_ns: self.response_ns + other.response_ns,
        }
    }
}

impl Sub for Connections {
    type Output = Connections;

    fn sub(self, before: Connections) -> Connections {
        Connections {
            set_up: self.set_up - before.set_up,
            set_up_ns: self.set_up_ns - before.set_up_ns,
            given_up: self.given_up - before.given_up,
            bytes: self.bytes - before.bytes,
            response_ns: self.response_ns - before.response_ns,
        }
    }
}
