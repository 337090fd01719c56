//! One timer per station: a tournament with four entrants per match.
//!
//! A station has one next departure, which moves with every event there. Its timer stays in its place; only the matches
//! above it are played again, up to the first whose winner is as before. No branch depends on who wins, the four of a
//! match share a cache line, and a departure far from now touches one or two of them.

use sojourn_stats::Time;

/// The timers of stations 0 to n - 1, ordered by (time, station).
pub(crate) struct Timers {
    /// The winner of the final.
    first: u128,
    /// Match 0 is the final, and the winners of matches 4i + 1 to 4i + 4 meet in match i. One station meets no other.
    matches: Vec<Match>,
    /// The first of the matches in which stations meet.
    stations: usize,
}

/// Entries 2^32 x time + station: one number, so that the least is found without a branch.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Match([u128; ENTRANTS]);

const ENTRANTS: usize = 4;

impl Timers {
    /// `stations` timers that are not set.
    pub(crate) fn new(stations: usize) -> Timers {
        let needed = if stations > 1 { stations.div_ceil(ENTRANTS) } else { 0 };
        let (mut before, mut round) = (0, 1);
        while round < needed {
            (before, round) = (before + round, round * ENTRANTS);
        }
        let none = entry(u32::MAX as usize, Time::NEVER);
        let mut timers =
            Timers { first: none, matches: vec![Match([none; ENTRANTS]); before + needed], stations: before };
        (0..stations).for_each(|station| timers.set(station, None));
        timers
    }

    /// The earliest time; [`Time::NEVER`] when no timer is set.
    #[inline]
    pub(crate) fn first_at(&self) -> Time {
        Time((self.first >> 32) as u64)
    }

    /// The station whose timer is earliest.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.first as u32 as usize
    }

    /// Sets the timer of `station`.
    #[inline]
    pub(crate) fn set(&mut self, station: usize, at: Option<Time>) {
        let mut winner = entry(station, at.unwrap_or(Time::NEVER));
        if self.matches.is_empty() {
            self.first = winner;
            return;
        }
        let (mut number, mut place) = (self.stations + station / ENTRANTS, station % ENTRANTS);
        loop {
            let entrants = &mut self.matches[number].0;
            if entrants[place] == winner {
                return;
            }
            entrants[place] = winner;
            let [a, b, c, d] = *entrants;
            winner = a.min(b).min(c.min(d));
            if number == 0 {
                self.first = winner;
                return;
            }
            (number, place) = ((number - 1) / ENTRANTS, (number - 1) % ENTRANTS);
        }
    }
}

#[inline]
fn entry(station: usize, at: Time) -> u128 {
    u128::from(at.0) << 32 | station as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_stats::Stream;

    /// Against a scan over all timers.
    #[test]
    fn the_first_timer_is_the_least() {
        let mut stream = Stream::new(1, "timers", "test");
        for stations in [1, 2, 5, 23] {
            let mut timers = Timers::new(stations);
            let mut all = vec![Time::NEVER.0; stations];
            for _ in 0..5000 {
                let station = stream.below(stations);
                let at = (stream.below(4) > 0).then(|| Time(stream.below(50) as u64));
                timers.set(station, at);
                all[station] = at.unwrap_or(Time::NEVER).0;
                let least = all.iter().enumerate().map(|(i, at)| (*at, i)).min().unwrap();
                assert_eq!((timers.first_at().0, timers.first()), least);
            }
        }
    }
}
