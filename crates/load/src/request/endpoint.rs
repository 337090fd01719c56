//! Where requests go: a scheme, a host and a port, with its address or with a name to resolve.

use std::net::{IpAddr, SocketAddr};

use crate::error::LoadError;
use crate::request::url::{Scheme, Url};

/// One of the places that a load is dealt to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// With or without TLS.
    pub scheme: Scheme,
    /// The host's name or address, without brackets; also the name that a certificate has to be for.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// What the `host` header says.
    pub authority: String,
    /// The address; none: the name is resolved by every user anew, and again when the answer has expired.
    pub address: Option<SocketAddr>,
    /// Path and query of its own, for [`crate::Targets::Own`].
    pub path: String,
}

impl Endpoint {
    /// The endpoint at a fixed address that is called `authority` in the `host` header.
    pub fn at(address: SocketAddr, authority: impl Into<String>) -> Endpoint {
        Endpoint {
            scheme: Scheme::Http,
            host: address.ip().to_string(),
            port: address.port(),
            authority: authority.into(),
            address: Some(address),
            path: "/".to_owned(),
        }
    }

    /// The same endpoint at `address`: a name keeps its name and port, and a literal address becomes this one.
    pub(crate) fn moved(&self, address: SocketAddr) -> Endpoint {
        let Endpoint { host, port, .. } = match self.host.parse::<IpAddr>() {
            Ok(_) => Endpoint::at(address, ""),
            Err(_) => self.clone(),
        };
        Endpoint { host, port, address: Some(address), ..self.clone() }
    }

    /// Whether both are the same origin: then a connection to one serves the other.
    pub(crate) fn is_origin_of(&self, url: &Url) -> bool {
        self.scheme == url.scheme && self.port == url.port && self.host.eq_ignore_ascii_case(&url.host)
    }
}

/// The endpoints of requests of some classes, which go over TLS, and those of all others.
pub(crate) struct ByClass<'a> {
    secure: &'a [u8],
    /// The numbers of the endpoints without TLS, and of those with it.
    plain: Vec<usize>,
    tls: Vec<usize>,
}

impl<'a> ByClass<'a> {
    /// None where no class is `secure`: then each endpoint is for all.
    ///
    /// # Errors
    /// Where the requests of some class have no endpoint.
    pub(crate) fn new(secure: &'a [u8], endpoints: &[Endpoint]) -> Result<Option<ByClass<'a>>, LoadError> {
        if secure.is_empty() {
            return Ok(None);
        }
        let is_tls = |number: &usize| endpoints[*number].scheme == Scheme::Https;
        let (tls, plain): (Vec<usize>, Vec<usize>) = (0..endpoints.len()).partition(is_tls);
        if tls.is_empty() || plain.is_empty() {
            let wrong = "secure classes: an endpoint of https is needed for them, and one of http for the others";
            return Err(LoadError::Invalid(wrong.to_owned()));
        }
        Ok(Some(ByClass { secure, plain, tls }))
    }

    /// The endpoint of a request of this class to which this number deals it.
    pub(crate) fn endpoint(&self, class: u8, number: u64) -> usize {
        let its = if self.secure.contains(&class) { &self.tls } else { &self.plain };
        its[(number % its.len() as u64) as usize]
    }
}

impl From<&Url> for Endpoint {
    /// The endpoint of an address; a literal address is fixed.
    fn from(url: &Url) -> Endpoint {
        Endpoint {
            scheme: url.scheme,
            host: url.host.clone(),
            port: url.port,
            authority: url.authority(),
            address: url.host.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, url.port)),
            path: url.path.clone(),
        }
    }
}
