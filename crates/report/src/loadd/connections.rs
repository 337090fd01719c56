//! Connections to a port, and those among them that wait for the server, as the kernel lists them (sock_diag(7),
//! linux/inet_diag.h).
//!
//! A connection waits for the server where bytes have come that the server has not read, or where bytes came later than the last
//! that it sent: it has a request then. One that is kept for a next request does not wait, nor does one whose reply is under
//! way to a slow client. With 500 requests of 50 us per second nginx has 0.03 inside; this counts 0.2, while bytes that are not
//! acknowledged yet would count 1.5 and connections 6. The price: the kernel's times are of its ticks (4 ms, at 250 Hz), and a
//! request that follows a reply within one is not seen until the next byte. So the number is the least that there can be. With
//! 32 clients of PHP that ask again at once it was 19.
//!
//! To find the connections of one port the kernel walks the table of all: a millisecond on a machine with 24 GiB of memory, and
//! one more per thousand connections. Listening sockets are found in a fiftieth of that, with the connections that wait to be
//! accepted. So each look asks for those, and walks no more often than [`SHARE`] of a core allows.

use std::io;
use std::os::fd::OwnedFd;

use nix::sys::socket::SockProtocol;
use sojourn_part::{clock, netlink};
use sojourn_stats::{Span, Time};

/// The most of a core that walks may take.
const SHARE: f64 = 0.0015;

/// The connections to one port.
#[derive(Debug)]
pub(super) struct Connections {
    port: u16,
    socket: OwnedFd,
    buffer: Vec<u8>,
    /// What the last walk found, and when the next one may be.
    walked: Option<(Counted, Time)>,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// All, idle ones included.
    pub(super) open: u32,
    /// Those that wait for the server, at least.
    pub(super) inside: u32,
}

/// States of a connection, as bits of a set.
const ESTABLISHED: u32 = 1 << 1;
const CLOSE_WAIT: u32 = 1 << 8;
const LISTENING: u32 = 1 << 10;

impl Connections {
    /// The connections to this port.
    ///
    /// # Errors
    /// When the kernel does not tell of them.
    pub(super) fn new(port: u16) -> io::Result<Connections> {
        let socket = netlink::open(SockProtocol::NetlinkSockDiag)?;
        // The kernel fills as much at a time.
        let mut connections = Connections { port, socket, buffer: vec![0; 1 << 15], walked: None };
        connections.list(LISTENING, |_| {})?;
        Ok(connections)
    }

    /// How many there are, as found now or at the last walk; none where no program listens there.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn look(&mut self, now: Time) -> io::Result<Option<Counted>> {
        let (mut listeners, mut unaccepted) = (0, 0);
        self.list(LISTENING, |listener| {
            listeners += 1;
            unaccepted += listener.unread;
        })?;
        if listeners == 0 {
            self.walked = None;
            return Ok(None);
        }
        let counted = match self.walked {
            Some((counted, next)) if now < next => counted,
            _ => self.walk(now)?,
        };
        Ok(Some(Counted { inside: counted.inside.max(unaccepted), ..counted }))
    }

    fn walk(&mut self, now: Time) -> io::Result<Counted> {
        let before = clock::thread_cpu();
        let mut counted = Counted::default();
        self.list(ESTABLISHED | CLOSE_WAIT, |connection| {
            counted.open += 1;
            counted.inside += u32::from(connection.waits());
        })?;
        let cost_ns = clock::thread_cpu().0 - before.0;
        self.walked = Some((counted, now + Span((cost_ns as f64 / SHARE) as u64)));
        Ok(counted)
    }

    /// Gives all sockets of the port in these states to `each`.
    fn list(&mut self, states: u32, mut each: impl FnMut(Listed)) -> io::Result<()> {
        /// The question that is not limited to IPv4 or IPv6, so that one walk finds both.
        const LIST: u16 = 18;
        /// With the state of the connection (`struct tcp_info`): its mark among the extensions is `1 << (2 - 1)`.
        const INFO: u8 = 1 << 1;
        let mut question = Vec::new();
        netlink::message(&mut question, LIST, netlink::DUMP, |body| {
            body.extend([0, 0, 0, if states == LISTENING { 0 } else { INFO }]);
            // Of the rest of an address nothing is asked.
            body.extend(self.port.to_be_bytes());
            body.extend([0; 46]);
            body.extend(states.to_ne_bytes());
            body.extend([0; 4]);
        });
        netlink::send(&self.socket, &question)?;
        loop {
            let received = netlink::receive(&self.socket, &mut self.buffer)?;
            for (kind, body) in netlink::messages(received) {
                match kind {
                    netlink::DONE => return Ok(()),
                    netlink::ERROR => return netlink::answer(body),
                    _ => Listed::read(body).into_iter().for_each(&mut each),
                }
            }
        }
    }
}

/// A socket as the kernel lists it (`struct inet_diag_msg`).
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// The client has sent its last byte.
    is_half_closed: bool,
    /// Bytes that the program has not read; connections that it has not accepted, where it listens.
    unread: u32,
    /// How long ago (ms) bytes were last sent and last received.
    ages_ms: Option<(u32, u32)>,
}

impl Listed {
    fn read(body: &[u8]) -> Option<Listed> {
        const LENGTH: usize = 72;
        const UNREAD: usize = 56;
        const INFO: u16 = 2;
        let number =
            |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().expect("four bytes")));
        let info = netlink::attributes(body.get(LENGTH..)?).find(|(name, _)| *name == INFO);
        // After eight marks of a byte each, the tenth number is the time since data were sent, the twelfth since they came.
        let ages_ms = info.and_then(|(_, info)| Some((number(info, 8 + 9 * 4)?, number(info, 8 + 11 * 4)?)));
        let is_half_closed = 1 << body.get(1)? == CLOSE_WAIT;
        Some(Listed { is_half_closed, unread: number(body, UNREAD)?, ages_ms })
    }

    fn waits(&self) -> bool {
        // The end of what the client sends counts as a byte.
        self.unread > u32::from(self.is_half_closed) || self.ages_ms.is_some_and(|(sent, received)| received < sent)
    }
}
