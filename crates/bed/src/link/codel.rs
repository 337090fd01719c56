//! CoDel: drops the packet at the head of a queue when packets have waited too long for too long.
//!
//! The control law of RFC 8289 (Nichols, Jacobson, McGregor, Iyengar 2018), section 5, asked about each packet as it
//! comes to the head. The price of that form: the RFC's nested loop is told as states between two questions.

use sojourn_stats::{Span, Time};

/// The largest packet of a link (bytes). A queue of at most this much is short whatever its packet waited.
pub(super) const MTU: u32 = 1500;

const TARGET: Span = Span(5_000_000);
const INTERVAL: Span = Span(100_000_000);

#[derive(Debug, Default)]
pub(super) struct Codel {
    /// When packets will have waited for too long without a break; none while they do not.
    too_long_at: Option<Time>,
    is_dropping: bool,
    /// When a dropping phase drops its next packet.
    drop_next_at: Time,
    /// Packets that this phase has dropped, which set its rate, and with how many it began.
    count: u32,
    last_count: u32,
}

impl Codel {
    /// Whether the packet at the head, which waited so long, is dropped; `is_full`: more than a packet waits, it included.
    pub(super) fn drops(&mut self, now: Time, waited: Span, is_full: bool) -> bool {
        let may_drop = self.may_drop(now, waited, is_full);
        if self.is_dropping {
            if !may_drop {
                self.is_dropping = false;
            } else if now >= self.drop_next_at {
                self.count += 1;
                self.drop_next_at = self.after(self.drop_next_at);
                return true;
            }
            return false;
        }
        if !may_drop {
            return false;
        }
        // A phase that follows another one closely begins at the rate that controlled that one.
        let since_last = self.count.saturating_sub(self.last_count);
        let is_close = now.saturating_since(self.drop_next_at) < Span(16 * INTERVAL.0);
        self.count = if since_last > 1 && is_close { since_last } else { 1 };
        self.last_count = self.count;
        self.is_dropping = true;
        self.drop_next_at = self.after(now);
        true
    }

    fn may_drop(&mut self, now: Time, waited: Span, is_full: bool) -> bool {
        if waited < TARGET || !is_full {
            self.too_long_at = None;
            return false;
        }
        match self.too_long_at {
            None => {
                self.too_long_at = Some(now + INTERVAL);
                false
            }
            Some(at) => now >= at,
        }
    }

    fn after(&self, at: Time) -> Time {
        at + Span::from_secs_f64(INTERVAL.as_secs_f64() / f64::from(self.count).sqrt())
    }
}
