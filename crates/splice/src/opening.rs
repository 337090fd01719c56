//! A connection before it has a server: the head of the request is read, a server is chosen and connected to.
//!
//! The switch acknowledges only what is less than a head, so that a client that waits for that goes on. What completes the
//! head the server acknowledges: it is the client that repeats it if it is lost. Of most requests, which are one segment, the
//! switch thus owes the server nothing. A server that refuses, or does not answer, is followed by another one: it has not
//! had a byte.

use sojourn_dispatch::{BackendId, key};
use sojourn_stats::{Span, Time};

use crate::head::{self, Asked, HEAD_MAX, Head, Refusal};
use crate::segment::{ACK, Draft, FIN, MSS, RST, SACK_PERMITTED, SCALE, SYN, Segment};
use crate::settings::{Cx, Ends};
use crate::window::{OWN_SCALE, Scales};

/// First packets to a server, and the time between the first two, which doubles.
const TRIES: u32 = 3;
const TRY: Span = Span(250_000_000);

/// What a client may send before a server is found (bytes): a head that is too long is seen to be, though a client sends
/// whole segments only.
pub(crate) const WINDOW: usize = HEAD_MAX + 4_096;

/// A connection before it has a server.
#[derive(Debug)]
pub(crate) struct Opening {
    /// What the client has sent.
    pub(crate) bytes: Vec<u8>,
    /// How many of them the switch has acknowledged.
    pub(crate) acked: usize,
    /// The client's window, as it was stated.
    pub(crate) window: u16,
    asked: Asked,
    attempt: Option<Attempt>,
    tried: Vec<BackendId>,
    pub(crate) due: Time,
}

/// A server that was asked for a connection.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    backend: BackendId,
    tries: u32,
}

/// What becomes of a connection that is opening.
pub(crate) enum Turn {
    Stay,
    /// This server has accepted.
    Accepted(BackendId),
    Refused(Refusal),
    /// It is over.
    Forget,
}

impl Opening {
    /// One of which nothing has come.
    pub(crate) fn new(window: u16, due: Time) -> Opening {
        let (bytes, tried, asked) = (Vec::new(), Vec::new(), Asked::default());
        Opening { bytes, acked: 0, window, asked, attempt: None, tried, due }
    }

    /// Takes a segment of the client.
    pub(crate) fn of_client(&mut self, ends: &Ends, segment: &Segment<'_>, cx: &mut Cx<'_>) -> Turn {
        let at = segment.seq().wrapping_sub(ends.client_isn).wrapping_sub(1) as usize;
        if !segment.is_sound() || segment.flags() & SYN != 0 {
            return Turn::Stay;
        }
        if segment.flags() & RST != 0 {
            // One that is not where the client is may be from anywhere.
            return if (self.acked..=self.bytes.len()).contains(&at) { self.give_up(ends, cx) } else { Turn::Stay };
        }
        if !segment.is(ACK, 0) || segment.ack() != ends.own_isn.wrapping_add(1) {
            return Turn::Stay;
        }
        self.window = segment.window();
        let before = self.bytes.len();
        // A distance beyond the window is one backwards as well.
        let skipped = before.wrapping_sub(at);
        if skipped <= segment.payload().len() {
            let room = (WINDOW - before).min(cx.room);
            self.bytes.extend(segment.payload()[skipped..].iter().take(room));
        }
        if self.attempt.is_some() {
            return Turn::Stay;
        }
        let turn = if self.bytes.len() > before { self.read(ends, cx) } else { Turn::Stay };
        let is_end = segment.flags() & FIN != 0 && at.wrapping_add(segment.payload().len()) == self.bytes.len();
        if is_end && self.attempt.is_none() && matches!(turn, Turn::Stay) {
            cx.reset_client(ends, (0, self.bytes.len() as u32 + 1));
            return Turn::Forget;
        }
        if self.bytes.len() == before && !segment.payload().is_empty() {
            // It comes too early or once more: say what is missing, or that nothing is.
            self.acknowledge(ends, cx);
        }
        turn
    }

    /// Takes a segment of a server.
    pub(crate) fn of_server(&mut self, ends: &Ends, segment: &Segment<'_>, cx: &mut Cx<'_>) -> Turn {
        let from = segment.from();
        let Some(attempt) = self.attempt.filter(|attempt| cx.settings.is_of(attempt.backend, from)) else {
            return Turn::Stay;
        };
        let is_answer = segment.ack() == ends.client_isn.wrapping_add(1);
        if segment.is(SYN | ACK, RST) && is_answer {
            Turn::Accepted(attempt.backend)
        } else if segment.is(RST | ACK, 0) && is_answer {
            self.next(ends, attempt, true, cx)
        } else if segment.is(ACK, RST) {
            // It remembers an earlier connection of this client's port.
            cx.reset_server(ends, attempt.backend, segment.ack());
            self.knock(ends, cx);
            Turn::Stay
        } else {
            Turn::Stay
        }
    }

    /// A time is over.
    pub(crate) fn is_due(&mut self, ends: &Ends, cx: &mut Cx<'_>) -> Turn {
        match self.attempt {
            Some(attempt) if attempt.tries < TRIES => {
                self.knock(ends, cx);
                Turn::Stay
            }
            Some(attempt) => {
                cx.reset_server(ends, attempt.backend, ends.client_isn.wrapping_add(1));
                self.next(ends, attempt, false, cx)
            }
            None if self.bytes.is_empty() => {
                cx.decider.counts().silent += 1;
                self.give_up(ends, cx)
            }
            None => Turn::Refused(Refusal::Slow),
        }
    }

    /// Ends both sides.
    pub(crate) fn give_up(&mut self, ends: &Ends, cx: &mut Cx<'_>) -> Turn {
        if let Some(attempt) = self.attempt {
            cx.reset_server(ends, attempt.backend, ends.client_isn.wrapping_add(1));
            cx.decider.forget(ends.client, cx.now);
        }
        cx.reset_client(ends, (0, self.bytes.len() as u32));
        Turn::Forget
    }

    /// Reads what has come, and looks for a server if that is a head.
    fn read(&mut self, ends: &Ends, cx: &mut Cx<'_>) -> Turn {
        match head::read(&self.bytes, &cx.settings.classes) {
            Head::Partial => {
                self.acked = self.bytes.len();
                self.acknowledge(ends, cx);
                Turn::Stay
            }
            Head::Whole(asked) => {
                self.asked = asked;
                self.choose(ends, cx)
            }
            Head::Refused(refusal) => Turn::Refused(refusal),
        }
    }

    fn acknowledge(&self, ends: &Ends, cx: &mut Cx<'_>) {
        let left = (WINDOW - self.bytes.len()) as u16;
        let to = if ends.agreed.scale.is_some() { OWN_SCALE } else { 0 };
        cx.answer(ends, (0, self.acked as u32), ACK, &[], Scales { from: 0, to }.apply(left));
    }

    fn choose(&mut self, ends: &Ends, cx: &mut Cx<'_>) -> Turn {
        let request = self.asked.request(key(&ends.client.ip().to_string()));
        match cx.decider.choose(ends.client, &request, &self.tried, cx.now) {
            Some(backend) => {
                self.attempt = Some(Attempt { backend, tries: 0 });
                self.knock(ends, cx);
                Turn::Stay
            }
            None => {
                cx.reset_client(ends, (0, self.bytes.len() as u32));
                Turn::Forget
            }
        }
    }

    /// The server does not accept; another one may.
    fn next(&mut self, ends: &Ends, attempt: Attempt, is_refused: bool, cx: &mut Cx<'_>) -> Turn {
        cx.decider.fail(ends.client, is_refused, cx.now);
        cx.decider.counts().retried += 1;
        self.tried.push(attempt.backend);
        self.attempt = None;
        self.choose(ends, cx)
    }

    /// Sends the server the client's first packet.
    fn knock(&mut self, ends: &Ends, cx: &mut Cx<'_>) {
        let Some(attempt) = &mut self.attempt else { return };
        attempt.tries += 1;
        self.due = cx.now + TRY * (1 << (attempt.tries.min(TRIES) - 1));
        let mut options = vec![MSS, 4];
        options.extend(ends.agreed.mss.to_be_bytes());
        const NOTHING: u8 = 1;
        if ends.agreed.sack {
            options.extend([SACK_PERMITTED, 2, NOTHING, NOTHING]);
        }
        if let Some(scale) = ends.agreed.scale {
            options.extend([SCALE, 3, scale, NOTHING]);
        }
        // The window of a first packet is not scaled.
        let window = Scales { from: ends.agreed.scale.unwrap_or(0), to: 0 }.apply(self.window);
        let (from, to) = (ends.client, cx.settings.servers[attempt.backend.0 as usize]);
        let seq = ends.client_isn;
        let syn = Draft { from, to, seq, ack: 0, flags: SYN, window, options: &options, payload: &[] };
        cx.out.push(syn.packet());
    }
}
