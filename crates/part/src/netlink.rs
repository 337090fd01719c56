//! Messages of netlink (netlink(7)), for what talks to the kernel by them: a switch's queue of packets, a load daemon's list
//! of connections.
//!
//! By hand, in one page: the crates that wrap it hide their descriptor, and a loop that cannot wait for it and for other things
//! could not be stopped.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};

/// The type of a message that tells an error, or that there was none.
pub const ERROR: u16 = 2;
/// The type of the message that ends a list.
pub const DONE: u16 = 3;

/// Flag of a request: an answer even if all is well.
pub const ACKNOWLEDGE: u16 = 4;
/// Flags of a request: all that there is.
pub const DUMP: u16 = 0x300;
const REQUEST: u16 = 1;

/// Heads of a message and of an attribute (bytes).
const MESSAGE: usize = 16;
const ATTRIBUTE: usize = 4;

/// A socket to this part of the kernel, which never waits.
pub fn open(part: SockProtocol) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, part)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends messages to the kernel.
pub fn send(socket: &impl AsRawFd, messages: &[u8]) -> io::Result<()> {
    sendto(socket.as_raw_fd(), messages, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    Ok(())
}

/// Receives what has come.
pub fn receive<'a>(socket: &impl AsRawFd, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let bytes = recv(socket.as_raw_fd(), buffer, MsgFlags::empty())?;
    Ok(&buffer[..bytes])
}

/// Appends a message with this body.
pub fn message(to: &mut Vec<u8>, kind: u16, flags: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let start = to.len();
    to.extend([0; 4]);
    to.extend(kind.to_ne_bytes());
    to.extend((REQUEST | flags).to_ne_bytes());
    to.extend([0; 8]);
    body(to);
    let bytes = (to.len() - start) as u32;
    to[start..start + 4].copy_from_slice(&bytes.to_ne_bytes());
}

/// Appends an attribute to a body.
pub fn attribute(to: &mut Vec<u8>, name: u16, value: &[u8]) {
    to.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
    to.extend(name.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// The messages in what was received: the type and the body of each.
pub fn messages(mut received: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = received.get(..MESSAGE)?;
        let bytes = u32::from_ne_bytes(head[..4].try_into().expect("four bytes")) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let body = received.get(MESSAGE..bytes)?;
        received = received.get(bytes.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    })
}

/// What a message of type [`ERROR`] says: that all is well, or what the kernel refused.
pub fn answer(body: &[u8]) -> io::Result<()> {
    match body.get(..4).map_or(0, |code| i32::from_ne_bytes(code.try_into().expect("four bytes"))) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

/// The attributes in what follows the fixed part of a body: the name and the value of each. It ends where one is not whole.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = rest.get(..ATTRIBUTE)?;
        let bytes = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        // The two highest bits are flags.
        let name = u16::from_ne_bytes([head[2], head[3]]) & 0x3fff;
        let value = rest.get(ATTRIBUTE..bytes)?;
        rest = rest.get(bytes.next_multiple_of(4)..).unwrap_or(&[]);
        Some((name, value))
    })
}
