//! Who serves behind a product.

use std::net::SocketAddr;

/// A server behind a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
    /// Its weight, a whole number from 1 on.
    pub weight: u32,
    /// Most requests that it gets at once; none: as many as come.
    pub at_most: Option<u32>,
}
