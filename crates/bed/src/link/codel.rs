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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Whether a packet is dropped that waited as long as may be, in a long queue.
    fn drops(codel: &mut Codel, at_ns: u64) -> bool {
        codel.drops(Time(at_ns), TARGET, true)
    }

    /// RFC 8289, section 5: the first drop when packets have waited too long for an interval, the next ones an interval over the
    /// square root of their number later.
    #[test]
    fn a_phase_drops_ever_faster() {
        let mut codel = Codel::default();
        assert_eq!([0, 100 * MS - 1, 100 * MS].map(|at| drops(&mut codel, at)), [false, false, true]);
        assert_eq!([200 * MS - 1, 200 * MS].map(|at| drops(&mut codel, at)), [false, true]);
        assert_eq!([270_710_677, 270_710_678].map(|at| drops(&mut codel, at)), [false, true]);
        assert_eq!([328_445_704, 328_445_705].map(|at| drops(&mut codel, at)), [false, true]);
    }

    /// A phase ends with a packet that waited for less, or in a queue of one packet; then an interval has to pass again.
    #[test]
    fn a_phase_ends_when_the_queue_is_short() {
        for (waited, is_full) in [(Span(TARGET.0 - 1), true), (TARGET, false)] {
            let mut codel = Codel::default();
            assert_eq!([0, 100 * MS].map(|at| drops(&mut codel, at)), [false, true]);
            assert!(!codel.drops(Time(250 * MS), waited, is_full));
            assert_eq!([260 * MS, 360 * MS - 1, 360 * MS].map(|at| drops(&mut codel, at)), [false, false, true]);
        }
        let mut codel = Codel::default();
        assert!(!drops(&mut codel, 0) && !codel.drops(Time(100 * MS), TARGET, false), "no phase begins either");
    }

    /// A phase that begins within sixteen intervals goes on at the rate of the one before, a later one at the slowest.
    #[test]
    fn a_phase_remembers_the_one_before() {
        // Three drops, of which the fourth would have been at 328,445,705.
        let begins = |at: u64| {
            let mut codel = Codel::default();
            let dropped = [0, 100 * MS, 200 * MS, 270_710_678].map(|at| drops(&mut codel, at));
            assert_eq!(dropped, [false, true, true, true]);
            assert!(!codel.drops(Time(300 * MS), TARGET, false));
            assert_eq!([at - 100 * MS, at].map(|at| drops(&mut codel, at)), [false, true]);
            // The first phase began with one drop and ended with three, so that this one begins with two, unless it is late.
            (drops(&mut codel, at + 70_710_678), drops(&mut codel, at + 100 * MS))
        };
        let last = 328_445_705 + 1600 * MS;
        assert_eq!([begins(900 * MS), begins(last - 1)], [(true, false); 2]);
        assert_eq!(begins(last), (false, true));
    }
}
