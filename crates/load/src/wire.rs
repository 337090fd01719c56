//! The wire: names and addresses, connections, TLS, HTTP/2 and the replies that are read.

pub(crate) mod allowed;
pub(crate) mod channel;
pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod path;
pub mod reply;
pub(crate) mod resolve;
pub(crate) mod tls;
