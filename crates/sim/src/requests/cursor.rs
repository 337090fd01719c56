//! In which of the equal intervals of a run an instant is.

use sojourn_stats::{Span, Time};

/// Finds the interval of an instant. Events come nearly in the order of time, so that most are in the interval of the one before
/// them: that takes a comparison, where a division would take as long as all else that is counted of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    every: Span,
    /// The interval of the instant that was asked for last, and when it begins.
    at: usize,
    from: Time,
}

impl Cursor {
    /// Over intervals of `every`.
    pub(super) fn new(every: Span) -> Cursor {
        Cursor { every, at: 0, from: Time::ZERO }
    }

    /// The number of the interval that `instant` is in, from 0 on.
    #[inline]
    pub(super) fn of(&mut self, instant: Time) -> usize {
        if instant < self.from || instant.0 - self.from.0 >= self.every.0 {
            self.at = (instant.0 / self.every.0) as usize;
            self.from = Time(self.at as u64 * self.every.0);
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In order and out of it, at the ends of intervals and inside, as the division has it.
    #[test]
    fn an_instant_is_in_the_interval_that_a_division_gives() {
        let mut cursor = Cursor::new(Span(10));
        for instant in [0, 9, 10, 19, 20, 5, 0, 99, 100, 98, 110, 109, u64::MAX, 0, 30, 29] {
            assert_eq!(cursor.of(Time(instant)), (instant / 10) as usize, "{instant}");
        }
    }
}
