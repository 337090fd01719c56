//! One timer per station: a tournament with four entrants per match.
//!
//! A station has one next departure, which moves with every event there. Its timer stays in its place; only the matches
//! above it are played again, up to the first whose winner is as before. No branch depends on who wins, the four of a
//! match share a cache line, and a departure far from now touches one or two of them.
//!
//! The tournament also tells who comes next: what has come into the last two rounds departs before long, and what a
//! departure reads can be asked for while others depart.

use sojourn_stats::{Time, prefetch};

/// The timers of stations 0 to n - 1, ordered by (time, station).
pub(crate) struct Timers {
    /// The winner of the final.
    first: u128,
    /// Match 0 is the final, and the winners of matches 4i + 1 to 4i + 4 meet in match i. One station meets no other.
    matches: Vec<Match>,
    /// The first of the matches in which stations meet.
    stations: usize,
}

/// Entries of time (64 bits), station and job (32 bits each): one number, so that the least is found without a branch.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Match([u128; ENTRANTS]);

const ENTRANTS: usize = 4;

/// How near a departure is, where there are many stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Near {
    /// One of some sixteen that are next.
    InSemiFinal,
    /// One of some four that are next.
    InFinal,
}

impl Timers {
    /// `stations` timers that are not set.
    pub(crate) fn new(stations: usize) -> Timers {
        let needed = if stations > 1 { stations.div_ceil(ENTRANTS) } else { 0 };
        let (mut before, mut round) = (0, 1);
        while round < needed {
            (before, round) = (before + round, round * ENTRANTS);
        }
        let none = entry(u32::MAX as usize, Time::NEVER, 0);
        let mut timers =
            Timers { first: none, matches: vec![Match([none; ENTRANTS]); before + needed], stations: before };
        (0..stations).for_each(|station| timers.set(station, None));
        timers
    }

    /// The earliest time; [`Time::NEVER`] when no timer is set.
    #[inline]
    pub(crate) fn first_at(&self) -> Time {
        Time((self.first >> 64) as u64)
    }

    /// The station whose timer is earliest.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        station(self.first)
    }

    /// Sets the timer of `station`.
    #[inline]
    pub(crate) fn set(&mut self, station: usize, at: Option<Time>) {
        self.set_of(station, at, || 0, |_, _, _| {});
    }

    /// Sets the timer of station number `of`, and which job leaves then. `tell` hears which station and job have come near
    /// because of that; it hears nothing where stations are so few that all stay in the cache.
    #[inline(always)]
    pub(crate) fn set_of(
        &mut self,
        of: usize,
        at: Option<Time>,
        job: impl FnOnce() -> u32,
        tell: impl FnMut(Near, usize, u32),
    ) {
        let own = entry(of, at.unwrap_or(Time::NEVER), 0);
        match &mut self.matches[..] {
            [] => self.first = own,
            [only] => {
                only.0[of] = own;
                self.first = only.winner();
            }
            _ => self.play(of, own | u128::from(job()), tell),
        }
    }

    /// Plays the matches above a timer again, up to the first whose winner is as before.
    #[inline(never)]
    fn play(&mut self, of: usize, own: u128, mut tell: impl FnMut(Near, usize, u32)) {
        let (mut number, mut place) = (self.stations + of / ENTRANTS, of % ENTRANTS);
        let mut entrant = own;
        loop {
            let entrants = &mut self.matches[number];
            if entrants.0[place] == entrant {
                return;
            }
            entrants.0[place] = entrant;
            let winner = entrants.winner();
            if number <= ENTRANTS && self.stations > ENTRANTS {
                let near = if number == 0 { Near::InFinal } else { Near::InSemiFinal };
                prefetch(&self.matches[self.stations + station(entrant) / ENTRANTS]);
                tell(near, station(entrant), entrant as u32);
            }
            if number == 0 {
                self.first = winner;
                return;
            }
            entrant = winner;
            (number, place) = ((number - 1) / ENTRANTS, (number - 1) % ENTRANTS);
        }
    }
}

impl Match {
    #[inline]
    fn winner(&self) -> u128 {
        let [a, b, c, d] = self.0;
        a.min(b).min(c.min(d))
    }
}

#[inline]
fn entry(station: usize, at: Time, job: u32) -> u128 {
    u128::from(at.0) << 64 | (station as u128) << 32 | u128::from(job)
}

#[inline]
fn station(entry: u128) -> usize {
    (entry >> 32) as u32 as usize
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

    /// What departs was told of, first in the semi-finals and then in the final, and the last that was said of its job holds.
    #[test]
    fn what_departs_was_near_before() {
        let mut stream = Stream::new(1, "timers", "near");
        let stations = 100;
        let mut timers = Timers::new(stations);
        let mut heard = vec![(Vec::new(), 0); stations];
        let mut set = |timers: &mut Timers, station: usize, now: u64, heard: &mut Vec<(Vec<Near>, u32)>| {
            let at = Time(now + 1 + stream.below(1000) as u64);
            timers.set_of(
                station,
                Some(at),
                || now as u32,
                |near, which, job| {
                    heard[which].0.push(near);
                    heard[which].1 = job;
                },
            );
        };
        (0..stations).for_each(|station| set(&mut timers, station, 0, &mut heard));
        let mut set_at = vec![0; stations];
        for _ in 0..5000 {
            let (now, station) = (timers.first_at().0, timers.first());
            let (rounds, job) = std::mem::take(&mut heard[station]);
            let semi_final =
                rounds.iter().position(|near| *near == Near::InSemiFinal).expect("it came to the semi-finals");
            assert!(rounds[semi_final..].contains(&Near::InFinal), "{rounds:?}");
            assert_eq!(job, set_at[station]);
            set_at[station] = now as u32;
            set(&mut timers, station, now, &mut heard);
        }
    }
}
