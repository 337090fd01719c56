//! A process per connection, made when the connection comes: the two ways before helpers.
//!
//! `fork` copies a server that is there; `inetd` executes one anew, and pays for a new program each time. Both serve with
//! busybox httpd, so that what lies between them is the way a process is made. Debian's inetd itself would write its
//! process id into the system's `/run`; tcpserver does the same work, with no file and no privilege.

use std::path::Path;

use super::files::Worker;
use super::{LISTEN_BACKLOG, Launch, Place};
use crate::ServeError;
use crate::program::files;

/// Connections served at once: inetd knows no limit, tcpserver wants one.
const MOST: u32 = 4096;

pub(super) fn fork(program: &Path, place: &Place<'_>) -> Launch {
    let Place { root, address, worker, .. } = *place;
    let listen = address.to_string();
    let mut command = vec![program.as_os_str().to_owned()];
    command.extend(["httpd", "-f", "-p", &listen, "-h", root].map(Into::into));
    Launch { command, user: worker.map(Worker::ids), ..Launch::default() }
}

pub(super) fn inetd(program: &Path, place: &Place<'_>) -> Result<Launch, ServeError> {
    let Place { root, address, worker, .. } = *place;
    if !address.is_ipv4() {
        return Err(ServeError::Config(format!("inetd: {address}: it listens on an IPv4 address")));
    }
    let busybox = files::find("busybox").expect("`Kind::installed` found it");
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let (most, backlog) = (MOST.to_string(), LISTEN_BACKLOG.to_string());
    let mut command = vec![program.as_os_str().to_owned()];
    // No name is looked up, and no identity asked for: -H -R -l 0.
    command.extend(["-q", "-H", "-R", "-l", "0", "-c", &most, "-b", &backlog].map(Into::into));
    command.extend([host.into(), port.into(), busybox.into_os_string()]);
    command.extend(["httpd", "-i", "-h", root].map(Into::into));
    Ok(Launch { command, user: worker.map(Worker::ids), ..Launch::default() })
}
