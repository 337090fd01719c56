//! The path to a server alone: how long a TCP connection takes.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};

use sojourn_stats::Span;

use crate::error::LoadError;
use crate::generator::clock::Clock;

/// How long each of `count` connections took, one after another: one round trip and the kernels' work. Each is closed as
/// soon as it is there.
///
/// # Errors
/// When one is refused or takes longer than `timeout`.
pub fn connect_times(target: SocketAddr, count: usize, timeout: Span) -> Result<Vec<Span>, LoadError> {
    let clock = Clock::starting_in(Span::ZERO);
    let one = |_| {
        let begun = clock.now();
        let connected = TcpStream::connect_timeout(&target, timeout.as_std());
        let taken = clock.now().saturating_since(begun);
        connected.map(|_| taken).map_err(|source| match source.kind() {
            ErrorKind::ConnectionRefused => LoadError::Refused { target },
            ErrorKind::TimedOut | ErrorKind::WouldBlock => LoadError::NoAnswer { target, within: timeout },
            _ => LoadError::Unreachable { target, source },
        })
    };
    (0..count).map(one).collect()
}
