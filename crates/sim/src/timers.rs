//! One timer per station: an indexed heap with four children per node.
//!
//! A station has one next departure, which moves with every event there. Moving a key in place keeps the heap as small
//! as the number of stations; four children make it shallow, and the comparisons of one node share a cache line.

use sojourn_stats::Time;

/// The timers of stations 0 to n - 1, ordered by (time, station).
pub(crate) struct Timers {
    /// A heap of 2^32 x time + station: one number, so that the least of four children is found without a branch.
    heap: Vec<u128>,
    /// Where each station is in the heap.
    place: Vec<u32>,
}

const CHILDREN: usize = 4;

impl Timers {
    /// `stations` timers that are not set.
    pub(crate) fn new(stations: usize) -> Timers {
        let heap = (0..stations as u32).map(|station| entry(station as usize, Time::NEVER)).collect();
        Timers { heap, place: (0..stations as u32).collect() }
    }

    /// The earliest time; [`Time::NEVER`] when no timer is set.
    #[inline]
    pub(crate) fn first_at(&self) -> Time {
        Time((self.heap[0] >> 32) as u64)
    }

    /// The station whose timer is earliest.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        station_of(self.heap[0])
    }

    /// Sets the timer of `station`.
    #[inline]
    pub(crate) fn set(&mut self, station: usize, at: Option<Time>) {
        let entry = entry(station, at.unwrap_or(Time::NEVER));
        if let [only] = self.heap.as_mut_slice() {
            *only = entry;
            return;
        }
        let place = self.place[station] as usize;
        let before = self.heap[place];
        if entry == before {
            return;
        }
        if entry < before { self.rise(place, entry) } else { self.sink(place, entry) }
    }

    #[inline]
    fn rise(&mut self, mut place: usize, entry: u128) {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            let above = self.heap[parent];
            if above <= entry {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, entry);
    }

    #[inline]
    fn sink(&mut self, mut place: usize, entry: u128) {
        loop {
            let first = place * CHILDREN + 1;
            let (least, below) = match self.heap.get(first..first + CHILDREN) {
                Some(&[a, b, c, d]) => {
                    let (ab, low) = if b < a { (1, b) } else { (0, a) };
                    let (cd, high) = if d < c { (3, d) } else { (2, c) };
                    if high < low { (first + cd, high) } else { (first + ab, low) }
                }
                _ => match (first..self.heap.len()).min_by_key(|child| self.heap[*child]) {
                    Some(least) => (least, self.heap[least]),
                    None => break,
                },
            };
            if entry <= below {
                break;
            }
            self.put(place, below);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: u128) {
        self.heap[place] = entry;
        self.place[station_of(entry)] = place as u32;
    }
}

#[inline]
fn entry(station: usize, at: Time) -> u128 {
    u128::from(at.0) << 32 | station as u128
}

#[inline]
fn station_of(entry: u128) -> usize {
    entry as u32 as usize
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
