//! A netfilter queue: packets for which the kernel asks this process, and its verdicts (linux/netfilter/nfnetlink_queue.h).
//!
//! Only the head of a packet is copied. A full queue lets packets pass undecided; what becomes of them the rule set says.

use std::io;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::sys::socket::{SockProtocol, setsockopt, sockopt};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::netlink;

/// Bytes of a packet that are copied: headers with all their options.
const COPIED: u32 = 128;

/// Packets that may wait for a verdict.
const WAITING_MAX: u32 = 16_384;

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
    /// Its head, from the network layer on.
    pub(super) head: &'a [u8],
}

impl Queue {
    /// Takes the queue of this number, on the current runtime.
    pub(super) fn open(number: u16) -> io::Result<Queue> {
        let socket = netlink::open(SockProtocol::NetlinkNetFilter)?;
        // The system may allow less.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &BUFFER);
        #[expect(deprecated, reason = "its successor is unsafe; this descriptor is owned by what is registered")]
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        let mut queue = Queue { socket, number, buffer: vec![0; 1 << 16], early: Vec::new(), verdicts: Vec::new() };
        const BIND: [u8; 4] = [1, 0, 0, 2];
        const COPY_PACKET: u8 = 2;
        /// Pass what does not fit in; do not cut large packets into small ones.
        const FLAGS: u32 = 1 | 4;
        let mut parameters = COPIED.to_be_bytes().to_vec();
        parameters.push(COPY_PACKET);
        queue.configure(&[(1, &BIND)])?;
        let (longest, flags) = (WAITING_MAX.to_be_bytes(), FLAGS.to_be_bytes());
        queue.configure(&[(2, &parameters), (3, &longest), (4, &flags), (5, &flags)])?;
        Ok(queue)
    }

    /// Waits for packets and gives each the verdict of `decide`: it passes with this mark.
    pub(super) async fn serve(&mut self, mut decide: impl FnMut(Waiting<'_>) -> u32) -> io::Result<()> {
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
            let mark = decide(waiting);
            const ACCEPT: u32 = 1;
            let mut verdict = ACCEPT.to_be_bytes().to_vec();
            verdict.extend(waiting.id.to_be_bytes());
            message(&mut self.verdicts, VERDICT, 0, self.number, &[(2, &verdict), (3, &mark.to_be_bytes())]);
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
    let (mut id, mut mark, mut head) = (None, 0, &[][..]);
    for (name, value) in netlink::attributes(body.get(NETFILTER..)?) {
        let number = || Some(u32::from_be_bytes(value.get(..4)?.try_into().expect("four bytes")));
        match name {
            1 => id = number(),
            3 => mark = number()?,
            10 => head = value,
            _ => {}
        }
    }
    Some(Waiting { id: id?, mark, head })
}
