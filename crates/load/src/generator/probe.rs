//! A look at each endpoint before the run.

use std::io::{self, Read, Write};
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
            Ok(stream) if tls.1 == Version::Http2 => return http2(stream, target, within),
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

/// Both sides begin HTTP/2 with their settings (RFC 9113, section 3.4). Who does not would fail every request.
fn http2(mut stream: TcpStream, target: SocketAddr, within: Span) -> Result<(), LoadError> {
    const SETTINGS: u8 = 4;
    let refused = |source| LoadError::Unreachable { target, source };
    stream.set_read_timeout(Some(within.as_std())).map_err(refused)?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").map_err(refused)?;
    let mut head = [0; 9];
    match stream.read_exact(&mut head) {
        Ok(()) if head[3] == SETTINGS => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            Err(LoadError::NoAnswer { target, within })
        }
        // Text, or the end.
        Ok(()) | Err(_) => Err(LoadError::NoHttp2 { target }),
    }
}
