//! Names of which one process of a host can hold each: abstract addresses of sockets, which are of one network namespace and are
//! free as soon as their holder is gone, however it ended.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use sojourn_part::ServeError;

/// Holds a name until it is dropped.
#[derive(Debug)]
pub(crate) struct Held(#[expect(dead_code, reason = "its descriptor holds the name")] UnixListener);

/// Holds a name; none where another one does.
pub(crate) fn hold(name: &str) -> Result<Option<Held>, ServeError> {
    let bound = SocketAddr::from_abstract_name(name).and_then(|name| UnixListener::bind_addr(&name));
    match bound {
        Ok(socket) => Ok(Some(Held(socket))),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(ServeError::system(format!("cannot hold the name {name}"))(error)),
    }
}
