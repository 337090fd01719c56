//! A netfilter queue: packets for which the kernel asks this process, and its verdicts (linux/netfilter/nfnetlink_queue.h).
//!
//! Where heads are enough, only these are copied, and a full queue lets packets pass undecided; what becomes of them the rule set
//! says. Whole packets come as the network carries them, cut into segments and with their checksums, and what does not fit is
//! dropped. A queue is served on a runtime beside other work ([`Queue::watched`]), or by a thread that does nothing else
//! ([`Queue::waited_for`]) and so needs two system calls for a verdict instead of five.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{SockProtocol, setsockopt, sockopt};
use sojourn_part::netlink;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How much of each packet is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
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

/// Orders: take a queue, and give it back.
const BIND: [u8; 4] = [1, 0, 0, 2];
const UNBIND: [u8; 4] = [2, 0, 0, 2];

/// A queue that this process decides.
pub(crate) struct Queue<S> {
    socket: S,
    mail: Mail,
}

/// Tells a thread that waits for packets to stop.
pub(crate) struct Stop {
    socket: Arc<OwnedFd>,
    number: u16,
    is_told: Arc<AtomicBool>,
}

/// A packet that waits for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting<'a> {
    id: u32,
    /// Its mark.
    pub(crate) mark: u32,
    /// Its copied part, from the network layer on.
    pub(crate) packet: &'a [u8],
}

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It passes with this mark.
    Pass(u32),
    /// This one passes in its place.
    Change(Vec<u8>),
    Drop,
}

impl Queue<OwnedFd> {
    /// Takes the queue of this number.
    pub(crate) fn open(number: u16, depth: Depth) -> io::Result<Queue<OwnedFd>> {
        let socket = netlink::open(SockProtocol::NetlinkNetFilter)?;
        // The system may allow less.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &BUFFER);
        let mut mail = Mail { number, buffer: vec![0; LARGEST], early: Vec::new(), verdicts: Vec::new() };
        const COPY_PACKET: u8 = 2;
        const PASS_WHAT_DOES_NOT_FIT: u32 = 1;
        const DO_NOT_CUT: u32 = 4;
        let (copied, flags) = match depth {
            Depth::Heads => (128u32, PASS_WHAT_DOES_NOT_FIT | DO_NOT_CUT),
            Depth::Whole => (0xffff, 0),
        };
        let mut parameters = copied.to_be_bytes().to_vec();
        parameters.push(COPY_PACKET);
        mail.configure(&socket, &[(1, &BIND)])?;
        let (longest, flags) = (WAITING_MAX.to_be_bytes(), flags.to_be_bytes());
        let mask = (PASS_WHAT_DOES_NOT_FIT | DO_NOT_CUT).to_be_bytes();
        mail.configure(&socket, &[(2, &parameters), (3, &longest), (4, &mask), (5, &flags)])?;
        Ok(Queue { socket, mail })
    }

    /// For the current runtime.
    pub(crate) fn watched(self) -> io::Result<Queue<AsyncFd<OwnedFd>>> {
        #[expect(deprecated, reason = "its successor is unsafe; this descriptor is owned by what is registered")]
        let socket = AsyncFd::with_interest(self.socket, Interest::READABLE)?;
        Ok(Queue { socket, mail: self.mail })
    }

    /// For a thread of its own, which can be told to stop.
    pub(crate) fn waited_for(self) -> io::Result<(Queue<Arc<OwnedFd>>, Stop)> {
        let flags = OFlag::from_bits_retain(fcntl(&self.socket, FcntlArg::F_GETFL)?);
        fcntl(&self.socket, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
        let socket = Arc::new(self.socket);
        let stop =
            Stop { socket: Arc::clone(&socket), number: self.mail.number, is_told: Arc::new(AtomicBool::new(false)) };
        Ok((Queue { socket, mail: self.mail }, stop))
    }
}

impl Queue<AsyncFd<OwnedFd>> {
    /// Waits for packets and gives each the verdict of `decide`.
    pub(crate) async fn serve(&mut self, decide: impl FnMut(Waiting<'_>) -> Verdict) -> io::Result<()> {
        if !self.mail.early.is_empty() {
            return self.mail.answer(&self.socket, decide);
        }
        let mut ready = self.socket.readable().await?;
        match ready.try_io(|socket| self.mail.answer(socket, decide)) {
            Ok(answered) => answered,
            Err(_would_block) => Ok(()),
        }
    }
}

impl Queue<Arc<OwnedFd>> {
    /// Waits for packets and gives each the verdict of `decide`, until it is told to stop.
    pub(crate) fn serve(
        mut self,
        is_told: &AtomicBool,
        mut decide: impl FnMut(Waiting<'_>) -> Verdict,
    ) -> io::Result<()> {
        while !is_told.load(Ordering::Acquire) {
            self.mail.answer(&self.socket, &mut decide)?;
        }
        Ok(())
    }
}

impl Stop {
    /// By which the thread knows.
    pub(crate) fn is_told(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_told)
    }

    /// Gives the queue back; the kernel's answer to that wakes the thread.
    pub(crate) fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
        let mut order = Vec::new();
        message(&mut order, CONFIGURE, netlink::ACKNOWLEDGE, self.number, &[(1, &UNBIND)]);
        netlink::send(&self.socket, &order).expect("the kernel takes an order");
    }
}

/// What passes between kernel and process.
struct Mail {
    number: u16,
    buffer: Vec<u8>,
    /// What came while the queue was set up.
    early: Vec<u8>,
    verdicts: Vec<u8>,
}

impl Mail {
    /// Takes what has come, and gives each packet its verdict.
    fn answer(&mut self, socket: &impl AsRawFd, mut decide: impl FnMut(Waiting<'_>) -> Verdict) -> io::Result<()> {
        let early = std::mem::take(&mut self.early);
        let received = match early.is_empty() {
            true => netlink::receive(socket, &mut self.buffer),
            false => Ok(&early[..]),
        };
        let received = match received {
            // Some packets had no room in the buffer, and were lost before they were seen; their senders repeat them.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => return Ok(()),
            received => received?,
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
            netlink::send(socket, &self.verdicts)?;
        }
        Ok(())
    }

    /// Sets something, and waits for what the kernel says to it: it answers before the call returns.
    fn configure(&mut self, socket: &impl AsRawFd, attributes: &[(u16, &[u8])]) -> io::Result<()> {
        let mut order = Vec::new();
        message(&mut order, CONFIGURE, netlink::ACKNOWLEDGE, self.number, attributes);
        netlink::send(socket, &order)?;
        loop {
            let received = netlink::receive(socket, &mut self.buffer)?;
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
