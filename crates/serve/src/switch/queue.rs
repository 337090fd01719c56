//! A netfilter queue: packets for which the kernel asks this process, and its verdicts (linux/netfilter/nfnetlink_queue.h).
//!
//! Where heads are enough, only these are copied, and a full queue lets packets pass undecided; what becomes of them the rule set
//! says. Whole packets come as the network carries them, cut into segments and with their checksums, and what does not fit is
//! dropped.

use std::io;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::sys::socket::{SockProtocol, setsockopt, sockopt};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::netlink;

/// How much of each packet is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Headers with all their options.
    Heads,
    Whole,
}

/// Packets that may wait for a verdict.
const WAITING_MAX: u32 = 16_384;

/// Bytes of the largest message: a packet and what is said of it.
const LARGEST: usize = (1 << 16) + 4_096;

/// Bytes of the socket's buffer, for as many messages.
const BUFFER: usize = 4 << 20;

/// The subsystem of queues among those of netfilter.
const QUEUE: u16 = 3 << 8;
const PACKET: u16 = QUEUE;
const VERDICT: u16 = QUEUE | 1;
const CONFIGURE: u16 = QUEUE | 2;

/// Bytes of netfilter's head.
const NETFILTER: usize = 4;

/// A queue that this process decides.
pub(super) struct Queue {
    socket: AsyncFd<OwnedFd>,
    number: u16,
    buffer: Vec<u8>,
    /// What came while the queue was set up.
    early: Vec<u8>,
    verdicts: Vec<u8>,
}

/// A packet that waits for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting<'a> {
    id: u32,
    /// Its mark.
    pub(super) mark: u32,
    /// Its copied part, from the network layer on.
    pub(super) packet: &'a [u8],
}

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passes with this mark.
    Pass(u32),
    /// This one passes in its place.
    Change(Vec<u8>),
    Drop,
}

impl Queue {
    /// Takes the queue of this number, on the current runtime.
    pub(super) fn open(number: u16, depth: Depth) -> io::Result<Queue> {
        let socket = netlink::open(SockProtocol::NetlinkNetFilter)?;
        // The system may allow less.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &BUFFER);
        #[expect(deprecated, reason = "its successor is unsafe; this descriptor is owned by what is registered")]
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        let mut queue = Queue { socket, number, buffer: vec![0; LARGEST], early: Vec::new(), verdicts: Vec::new() };
        const BIND: [u8; 4] = [1, 0, 0, 2];
        const COPY_PACKET: u8 = 2;
        const PASS_WHAT_DOES_NOT_FIT: u32 = 1;
        const DO_NOT_CUT: u32 = 4;
        let (copied, flags) = match depth {
            Depth::Heads => (128u32, PASS_WHAT_DOES_NOT_FIT | DO_NOT_CUT),
            Depth::Whole => (0xffff, 0),
        };
        let mut parameters = copied.to_be_bytes().to_vec();
        parameters.push(COPY_PACKET);
        queue.configure(&[(1, &BIND)])?;
        let (longest, flags) = (WAITING_MAX.to_be_bytes(), flags.to_be_bytes());
        let mask = (PASS_WHAT_DOES_NOT_FIT | DO_NOT_CUT).to_be_bytes();
        queue.configure(&[(2, &parameters), (3, &longest), (4, &mask), (5, &flags)])?;
        Ok(queue)
    }

    /// Waits for packets and gives each the verdict of `decide`.
    pub(super) async fn serve(&mut self, mut decide: impl FnMut(Waiting<'_>) -> Verdict) -> io::Result<()> {
        let early = std::mem::take(&mut self.early);
        let received = if early.is_empty() {
            let mut ready = self.socket.readable().await?;
            match ready.try_io(|socket| netlink::receive(socket, &mut self.buffer)) {
                Ok(Ok(received)) => received,
                // Some packets had no room in the buffer, and were lost before they were seen; their senders repeat them.
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => return Ok(()),
                Ok(Err(error)) => return Err(error),
                Err(_would_block) => return Ok(()),
            }
        } else {
            &early
        };
        self.verdicts.clear();
        for waiting in netlink::messages(received).filter_map(|(kind, body)| packet(kind, body)) {
            const DROP: u32 = 0;
            const ACCEPT: u32 = 1;
            let verdict = decide(waiting);
            let code = if verdict == Verdict::Drop { DROP } else { ACCEPT };
            let mut head = code.to_be_bytes().to_vec();
            head.extend(waiting.id.to_be_bytes());
            let order = (2, &head[..]);
            match verdict {
                Verdict::Pass(mark) => {
                    message(&mut self.verdicts, VERDICT, 0, self.number, &[order, (3, &mark.to_be_bytes())]);
                }
                Verdict::Change(packet) => {
                    message(&mut self.verdicts, VERDICT, 0, self.number, &[order, (10, &packet)]);
                }
                Verdict::Drop => message(&mut self.verdicts, VERDICT, 0, self.number, &[order]),
            }
        }
        if !self.verdicts.is_empty() {
            netlink::send(&self.socket, &self.verdicts)?;
        }
        Ok(())
    }

    /// Sets something, and waits for what the kernel says to it: it answers before the call returns.
    fn configure(&mut self, attributes: &[(u16, &[u8])]) -> io::Result<()> {
        let mut order = Vec::new();
        message(&mut order, CONFIGURE, netlink::ACKNOWLEDGE, self.number, attributes);
        netlink::send(&self.socket, &order)?;
        loop {
            let received = netlink::receive(&self.socket, &mut self.buffer)?;
            if let Some((_, body)) = netlink::messages(received).find(|(kind, _)| *kind == netlink::ERROR) {
                return netlink::answer(body);
            }
            // A packet came between the order and its answer.
            self.early.extend(received);
        }
    }
}

/// Appends a message to a queue with these attributes.
fn message(to: &mut Vec<u8>, kind: u16, flags: u16, queue: u16, attributes: &[(u16, &[u8])]) {
    netlink::message(to, kind, flags, |body| {
        body.extend([0, 0]);
        body.extend(queue.to_be_bytes());
        attributes.iter().for_each(|(name, value)| netlink::attribute(body, *name, value));
    });
}

/// The packet that a message is about.
fn packet(kind: u16, body: &[u8]) -> Option<Waiting<'_>> {
    if kind != PACKET {
        return None;
    }
    let (mut id, mut mark, mut copied) = (None, 0, &[][..]);
    for (name, value) in netlink::attributes(body.get(NETFILTER..)?) {
        let number = || Some(u32::from_be_bytes(value.get(..4)?.try_into().expect("four bytes")));
        match name {
            1 => id = number(),
            3 => mark = number()?,
            10 => copied = value,
            _ => {}
        }
    }
    Some(Waiting { id: id?, mark, packet: copied })
}
