//! What is counted of connections, where requests need one.

use crate::joins::Joins;

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

impl Connections {
    /// Joins counts with others.
    pub(crate) fn join(&mut self, other: &Connections, how: &Joins) {
        self.set_up = (how.small)(self.set_up, other.set_up);
        self.set_up_ns = (how.large)(self.set_up_ns, other.set_up_ns);
        self.given_up = (how.small)(self.given_up, other.given_up);
        self.bytes = (how.large)(self.bytes, other.bytes);
        self.response_ns = (how.large)(self.response_ns, other.response_ns);
    }
}
