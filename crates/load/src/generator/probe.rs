//! A look at each endpoint before the run.

use std::io;
use std::net::{SocketAddr, TcpStream};

use sojourn_stats::Span;

use crate::error::LoadError;
use crate::request::endpoint::Endpoint;
use crate::request::url::Scheme;
use crate::setting::Version;
use crate::wire::allowed::Allowed;
use crate::wire::resolve::{Names, Unresolved};
use crate::wire::tls::{self, Tls};

/// Connects once, so that a target that is not there, not allowed or not who it should be is said before the run and
/// not counted in it.
pub(super) fn probe(
    endpoint: &Endpoint,
    names: &Names,
    allowed: Allowed,
    tls: (&Tls, Version),
    timeout: Span,
) -> Result<(), LoadError> {
    let within = timeout.min(Span(5_000_000_000));
    let targets: Vec<SocketAddr> = match endpoint.address {
        Some(address) => vec![address],
        None => {
            let addresses = names.wait_for(&endpoint.host).map_err(|why| LoadError::NotResolved {
                host: endpoint.host.clone(),
                reason: match why {
                    Unresolved::NoAnswer => format!("the name server at {} does not answer", names.server),
                    other => other.to_string(),
                },
            })?;
            addresses.into_iter().map(|ip| SocketAddr::new(ip, endpoint.port)).collect()
        }
    };
    if let Some(&target) = targets.iter().find(|target| !allowed.allows(target.ip())) {
        return Err(LoadError::NotAllowed { target });
    }
    let mut failure = LoadError::NotResolved { host: endpoint.host.clone(), reason: "there is none".to_owned() };
    for target in targets {
        match TcpStream::connect_timeout(&target, within.as_std()) {
            Ok(stream) if endpoint.scheme == Scheme::Https => return tls::probe(endpoint, target, stream, tls, within),
            Ok(_) => return Ok(()),
            Err(error) => {
                failure = match error.kind() {
                    io::ErrorKind::ConnectionRefused => LoadError::Refused { target },
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => LoadError::NoAnswer { target, within },
                    _ => LoadError::Unreachable { target, source: error },
                }
            }
        }
    }
    Err(failure)
}
