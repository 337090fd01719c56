//! A connection whose request is not passed on: the client is told why, and what it still sends is let go.

use sojourn_stats::{Span, Time};

use crate::segment::{ACK, FIN, PSH, SYN, Segment};
use crate::settings::{Cx, Ends};

/// How often the reply is sent, and the time before it is sent again.
const TRIES: u32 = 4;
const TRY: Span = Span(500_000_000);

/// What a client may send unread: nothing that it would wait for.
const WINDOW: u16 = 1_024;

/// A connection whose request is not passed on.
#[derive(Debug)]
pub(crate) struct Refused {
    reply: &'static [u8],
    /// What the client has sent, counted from its first byte.
    received: u32,
    tries: u32,
    pub(crate) due: Time,
}

impl Refused {
    /// Sends the reply to a client that has sent so many bytes.
    pub(crate) fn new(ends: &Ends, reply: &'static [u8], received: u32, cx: &mut Cx<'_>) -> Refused {
        let mut refused = Refused { reply, received, tries: 0, due: cx.now };
        refused.is_due(ends, cx);
        refused
    }

    /// Takes a segment of the client.
    pub(crate) fn of_client(&mut self, ends: &Ends, segment: &Segment<'_>, cx: &mut Cx<'_>) {
        let end = segment.seq().wrapping_add(segment.span()).wrapping_sub(ends.client_isn).wrapping_sub(1);
        if segment.span() == 0 || segment.flags() & SYN != 0 {
            return;
        }
        if end.wrapping_sub(self.received) < 1 << 31 {
            self.received = end;
        }
        let seq = self.reply.len() as u32 + 1;
        cx.answer(ends, (seq, self.received), ACK, &[], WINDOW);
    }

    /// A time is over; gives whether the connection is.
    pub(crate) fn is_due(&mut self, ends: &Ends, cx: &mut Cx<'_>) -> bool {
        if self.tries >= TRIES {
            return true;
        }
        self.tries += 1;
        self.due = cx.now + TRY * (1 << self.tries);
        cx.answer(ends, (0, self.received), ACK | PSH | FIN, self.reply, WINDOW);
        false
    }
}
