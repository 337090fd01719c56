//! When a thread waits before it takes in what has come, so that it is woken once for several queries.
//!
//! To be woken costs a thread as much as two answers. Where queries come one by one, each faster than the thread can fall
//! asleep and wake again, that is most of what they cost; network cards have the same trouble with interrupts, and the same way
//! out (Mogul and Ramakrishnan, Eliminating receive livelock in an interrupt-driven kernel, ACM TOCS 15 (3), 1997, section 3).
//! So after a look that found few queries, where these come closer together than [`PAUSE`], the thread waits that long before
//! its next look. Where they come more seldom, and where a look finds many, it never waits. The price: an answer is up to 110
//! us later, a hundredth of the way to a client, where more than [`FEWEST`] queries come in every pause.

use sojourn_stats::{Span, Time};

/// How long a thread waits.
const PAUSE: Span = Span(100_000);
/// So many queries come in a pause at least, else none is made.
const FEWEST: u64 = 2;
/// A look that finds so many is worth a waking.
const MANY: usize = 16;

/// What a thread knows of the queries that come to it.
#[derive(Debug, Default)]
pub(super) struct Moderation {
    /// When it last looked and found some.
    looked: Time,
}

impl Moderation {
    /// How long to wait, now that a look at `now` has found so many.
    pub(super) fn pause(&mut self, found: usize, now: Time) -> Option<Span> {
        let since = now.saturating_since(std::mem::replace(&mut self.looked, now));
        let comes_fast = found as u64 * PAUSE.0 >= FEWEST * since.0;
        (found > 0 && found < MANY && comes_fast).then_some(PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks that find `found` every so many us: how many of a thousand pause.
    fn pauses(found: usize, every_us: u64) -> usize {
        let mut moderation = Moderation::default();
        (1..=1000).filter(|n| moderation.pause(found, Time(1_000_000_000 + n * every_us * 1000)).is_some()).count()
    }

    #[test]
    fn a_thread_pauses_where_queries_come_fast_and_few_at_a_look() {
        assert_eq!(pauses(1, 10), 999, "the first comes after a silence");
        assert_eq!(pauses(1, 50), 999, "two in a pause");
        assert_eq!(pauses(15, 750), 999);
        for (found, every_us) in [(0, 10), (1, 51), (1, 1_000_000), (16, 10), (64, 64), (15, 751)] {
            assert_eq!(pauses(found, every_us), 0, "{found} every {every_us} us");
        }
    }
}
