//! A connection that has a server: numbers are translated, packet by packet, and nothing is held (Maltz and Bhagwat, TCP
//! splicing for application layer proxy performance, 1998).
//!
//! The server was sent the client's own sequence number, so that only what refers to the server's is translated: what it
//! numbers, what the client acknowledges of it, and how it states its window.

use sojourn_dispatch::{BackendId, Event};
use sojourn_part::clock;
use sojourn_stats::{Span, Time};

use crate::cookie;
use crate::offset::{OPTION, Offset};
use crate::opening::Opening;
use crate::segment::{ACK, Change, Draft, FIN, MSS, PSH, RST, SYN, Segment};
use crate::settings::{Cx, Ends};
use crate::window::{OWN_SCALE, Scales};

/// When what the switch has acknowledged is sent again for the first time, and how often; the time doubles.
const RESEND: Span = Span(300_000_000);
const RESENDS: u32 = 6;

/// What a server takes in a segment that did not say.
const SIZE: u16 = 536;

/// How far from what was seen last a segment may be to count as one of its sender: one that ends a connection, or another.
const NEAR: u32 = 1 << 16;
const IN_WINDOW: u32 = 1 << 24;

/// A connection that has a server.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) backend: BackendId,
    /// What the server's numbers are above those that the client knows, and how its windows are stated.
    offset: Offset,
    to_server: Scales,
    /// The client's last window, as it was stated.
    window: u16,
    /// What the switch has acknowledged, and the server not yet, as far as is known.
    pub(crate) owed: Vec<u8>,
    resends: u32,
    resend_at: Time,
    opened: Time,
    heard: Time,
    /// The numbers that client and server use next, as each knows its own.
    client_next: u32,
    server_next: u32,
    has_replied: bool,
    client_ends: bool,
    server_ends: bool,
    is_over: bool,
}

impl Joined {
    /// Passes the server what has come, and lets it go on with the client.
    pub(crate) fn new(
        ends: &Ends,
        opening: &Opening,
        backend: BackendId,
        syn: &Segment<'_>,
        cx: &mut Cx<'_>,
    ) -> Joined {
        let scale = cookie::scale(syn);
        let (to_client, to_server) = match (ends.agreed.scale, scale) {
            (None, _) => (Scales::default(), Scales::default()),
            (Some(_), Some(from)) => (Scales { from, to: OWN_SCALE }, Scales::default()),
            (Some(from), None) => (Scales { from: 0, to: OWN_SCALE }, Scales { from, to: 0 }),
        };
        let seq = ends.own_isn.wrapping_sub(syn.seq());
        let offset = Offset { stamp: (clock::wall() / 1_000_000) as u32, seq, scales: to_client };
        let joined = Joined {
            backend,
            offset,
            to_server,
            window: opening.window,
            owed: opening.bytes[..opening.acked].to_vec(),
            resends: 0,
            resend_at: cx.now + RESEND,
            opened: cx.now,
            heard: cx.now,
            client_next: ends.client_isn.wrapping_add(1 + opening.bytes.len() as u32),
            server_next: syn.seq().wrapping_add(1),
            has_replied: false,
            client_ends: false,
            server_ends: false,
            is_over: false,
        };
        let size = syn.option(MSS).and_then(|value| Some(u16::from_be_bytes(*value.first_chunk()?))).unwrap_or(SIZE);
        let size = usize::from(size.min(cx.settings.mss)).saturating_sub(OPTION).max(1);
        let mut seq = ends.client_isn.wrapping_add(1);
        for piece in opening.bytes.chunks(size) {
            joined.send(ends, (seq, joined.server_next), piece, cx);
            seq = seq.wrapping_add(piece.len() as u32);
        }
        joined
    }

    /// When something is to be done unless a packet comes first.
    pub(crate) fn due(&self, cx: &Cx<'_>) -> Time {
        let lifetimes = cx.settings.lifetimes;
        let end = self.heard + if self.is_over { lifetimes.closing } else { lifetimes.open };
        if self.owed.is_empty() { end } else { end.min(self.resend_at) }
    }

    /// Whether its client may begin another connection in its place.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Passes on a segment of the client.
    pub(crate) fn of_client(&mut self, ends: &Ends, segment: &Segment<'_>, cx: &mut Cx<'_>) {
        let to = Some(cx.settings.servers[self.backend.0 as usize]);
        let ack = self.offset.seq.wrapping_neg();
        let window = Some(self.to_server.apply(segment.window()));
        cx.out.push(segment.changed(&Change { from: None, to, seq: 0, ack, window }));
        if !self.is_believed(segment, self.client_next, cx) {
            return;
        }
        self.window = segment.window();
        advance(&mut self.client_next, segment);
        // It acknowledges a byte of a reply, so the server had the request.
        let replied = segment.ack().wrapping_sub(ends.own_isn).wrapping_sub(1);
        if segment.flags() & ACK != 0 && replied > 0 && replied < 1 << 31 {
            self.owed = Vec::new();
            // Of replies that do not pass, this is what is known.
            let acked = segment.ack().wrapping_sub(self.offset.seq);
            if cx.settings.teller.is_some() && acked.wrapping_sub(self.server_next) < IN_WINDOW {
                self.server_next = acked;
            }
        }
        self.client_ends |= segment.flags() & FIN != 0;
        self.end(segment, ends, cx);
    }

    /// Passes on a segment of the server, if it is one.
    pub(crate) fn of_server(&mut self, ends: &Ends, segment: &Segment<'_>, cx: &mut Cx<'_>) {
        if !cx.settings.is_of(self.backend, segment.from()) {
            return;
        }
        if segment.flags() & SYN != 0 {
            // What answered it was lost.
            return self.send(ends, (ends.client_isn.wrapping_add(1), self.server_next), &[], cx);
        }
        if cx.settings.teller.is_some() && segment.flags() & RST == 0 {
            // Its half has not been told, and sends what it cannot translate here.
            cx.decider.counts().detours += 1;
            if segment.span() > 0 {
                // Not for what may be an answer to this very packet: neither side would end.
                self.send(ends, (self.client_next, segment.seq()), &[], cx);
            }
        }
        let (from, to) = (Some(cx.settings.service), Some(ends.client));
        let window = Some(self.offset.scales.apply(segment.window()));
        cx.out.push(segment.changed(&Change { from, to, seq: self.offset.seq, ack: 0, window }));
        if !self.is_believed(segment, self.server_next, cx) {
            return;
        }
        advance(&mut self.server_next, segment);
        let first = ends.client_isn.wrapping_add(1);
        let acked = segment.ack().wrapping_sub(first).wrapping_sub(self.owed.len() as u32);
        if !self.owed.is_empty() && acked < 1 << 31 {
            self.owed = Vec::new();
        }
        let (backend, bytes) = (self.backend, segment.payload().len() as u64);
        if bytes > 0 && cx.settings.teller.is_none() {
            if !std::mem::replace(&mut self.has_replied, true) {
                let round_trip = cx.now.saturating_since(self.opened);
                cx.decider.observe(Event::FirstByte { backend, round_trip }, cx.now);
            }
            cx.decider.observe(Event::Transmitted { backend, bytes }, cx.now);
        }
        self.server_ends |= segment.flags() & FIN != 0;
        self.end(segment, ends, cx);
    }

    /// A time is over; gives whether the connection is.
    pub(crate) fn is_due(&mut self, ends: &Ends, cx: &mut Cx<'_>) -> bool {
        if self.owed.is_empty() || cx.now < self.resend_at {
            cx.decider.forget(ends.client, cx.now);
            return true;
        }
        self.resends += 1;
        if self.resends > RESENDS {
            self.reset(ends, cx);
            return true;
        }
        self.resend_at = cx.now + RESEND * (1 << self.resends);
        let owed = std::mem::take(&mut self.owed);
        let mut seq = ends.client_isn.wrapping_add(1);
        for piece in owed.chunks(usize::from(SIZE)) {
            self.send(ends, (seq, self.server_next), piece, cx);
            seq = seq.wrapping_add(piece.len() as u32);
        }
        self.owed = owed;
        false
    }

    /// Ends both sides.
    pub(crate) fn reset(&mut self, ends: &Ends, cx: &mut Cx<'_>) {
        cx.decider.forget(ends.client, cx.now);
        cx.reset_server(ends, self.backend, self.client_next);
        let seq = self.server_next.wrapping_add(self.offset.seq);
        let first = ends.own_isn.wrapping_add(1);
        cx.reset_client(
            ends,
            (seq.wrapping_sub(first), self.client_next.wrapping_sub(ends.client_isn).wrapping_sub(1)),
        );
    }

    /// What a router says of a packet of the server, as the server knows its numbers: what is added to them.
    pub(crate) fn to_server(&self) -> u32 {
        self.offset.seq.wrapping_neg()
    }

    /// Sends the server a segment of the switch's own, which tells its half what to do with replies.
    fn send(&self, ends: &Ends, (seq, ack): (u32, u32), payload: &[u8], cx: &mut Cx<'_>) {
        let told = cx.settings.teller.as_ref().map(|teller| teller.write(ends.client, self.offset));
        let options = told.as_ref().map_or(&[][..], |told| told);
        let (from, to) = (ends.client, cx.settings.servers[self.backend.0 as usize]);
        let flags = if payload.is_empty() { ACK } else { ACK | PSH };
        let window = self.to_server.apply(self.window);
        cx.out.push(Draft { from, to, seq, ack, flags, window, options, payload }.packet());
    }

    /// Whether a segment is heeded here: its numbers are such as its sender uses. The other end, to which all are passed,
    /// judges for itself (RFC 5961).
    fn is_believed(&mut self, segment: &Segment<'_>, next: u32, cx: &mut Cx<'_>) -> bool {
        let distance = segment.seq().wrapping_sub(next);
        let far = if segment.flags() & (RST | FIN) == 0 { IN_WINDOW } else { NEAR };
        let is_near = distance < far || distance.wrapping_neg() < far;
        if is_near {
            self.heard = cx.now;
        } else {
            cx.decider.counts().strange += 1;
        }
        is_near
    }

    /// Tells the decider of an end that this segment makes.
    fn end(&mut self, segment: &Segment<'_>, ends: &Ends, cx: &mut Cx<'_>) {
        // Where replies do not pass, the client's end is all that is seen.
        let ended = self.client_ends && (self.server_ends || cx.settings.teller.is_some());
        if segment.flags() & RST != 0 || ended {
            self.is_over = true;
            cx.decider.close(ends.client, cx.now);
        }
    }
}

/// What its sender uses next after a segment.
fn advance(next: &mut u32, segment: &Segment<'_>) {
    let after = segment.seq().wrapping_add(segment.span());
    if after.wrapping_sub(*next) < 1 << 31 {
        *next = after;
    }
}
