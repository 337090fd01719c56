//! What a cache has inside, request by request.
//!
//! A miss puts its object in at once, before it is fetched: a second request for it meanwhile is a hit, as in every
//! formula for such caches. A cache begins as an endless past of the same requests would have left it, because one that
//! begins empty takes many times its size in requests to forget that, far more than a queue needs:
//!
//! * *LRU* sees requests until it is full, and then twice as many again. What it holds depends on nothing else than the
//!   latest requests, and on no times.
//! * *LFU* counts since ever, so that its counts are the popularity: it holds the most popular objects that fit, and an
//!   object that does not fit beside more popular ones stays out.
//! * *TTL* begins empty, as its past depends on the rate of the requests, and is not measured before one time to live is
//!   over ([`Cache::settled_after`]).

use sojourn_stats::{Span, Stream, Time};
use sojourn_traffic::Alias;

/// How much an object takes.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    /// A place.
    Places,
    /// Its bytes.
    Bytes(Vec<u64>),
}

/// A cache in the course of a run.
pub(super) enum Cache {
    Lru(Lru),
    Lfu { inside: Vec<bool> },
    Ttl { life: Span, renewed: bool, ends: Vec<Time> },
}

impl Cache {
    /// LRU with room for `room` (places or bytes) of `objects`, at the end of a past drawn from `past`.
    pub(super) fn lru(objects: u32, room: u64, sizes: Sizes, popularity: &Alias, past: &mut Stream) -> Cache {
        let mut lru = Lru::new(objects, room, sizes);
        lru.fill(popularity, past);
        Cache::Lru(lru)
    }

    /// LFU with room for `room` of objects of this popularity.
    pub(super) fn lfu(room: u64, sizes: &Sizes, popularity: &[f64]) -> Cache {
        let mut ranked: Vec<u32> = (0..popularity.len() as u32).collect();
        ranked.sort_by(|one, other| popularity[*other as usize].total_cmp(&popularity[*one as usize]));
        let mut inside = vec![false; popularity.len()];
        let mut left = room;
        for object in ranked {
            let size = sizes.of_object(object);
            if size <= left {
                inside[object as usize] = true;
                left -= size;
            }
        }
        Cache::Lfu { inside }
    }

    /// Every one of `objects` stays for `life` from the miss that brought it in; with `renewed`, from its last request.
    pub(super) fn ttl(objects: u32, life: Span, renewed: bool) -> Cache {
        Cache::Ttl { life, renewed, ends: vec![Time::ZERO; objects as usize] }
    }

    /// Asks for `object` at `now`: whether it is inside. It is afterwards, if it can be.
    #[inline]
    pub(super) fn ask(&mut self, object: u32, now: Time) -> bool {
        match self {
            Cache::Lru(lru) => lru.ask(object),
            Cache::Lfu { inside } => inside[object as usize],
            Cache::Ttl { life, renewed, ends } => {
                let end = &mut ends[object as usize];
                let hit = now < *end;
                if !hit || *renewed {
                    *end = now + *life;
                }
                hit
            }
        }
    }

    /// From when on its beginning plays no part.
    pub(super) fn settled_after(&self) -> Span {
        match self {
            Cache::Ttl { life, .. } => *life,
            _ => Span::ZERO,
        }
    }
}

impl Sizes {
    #[inline]
    fn of_object(&self, object: u32) -> u64 {
        match self {
            Sizes::Places => 1,
            Sizes::Bytes(bytes) => bytes[object as usize],
        }
    }

    fn sum(&self, objects: u32) -> u64 {
        match self {
            Sizes::Places => u64::from(objects),
            Sizes::Bytes(bytes) => bytes.iter().sum(),
        }
    }
}

/// Least recently used: a list of those inside, the latest first.
pub(super) struct Lru {
    room: u64,
    used: u64,
    sizes: Sizes,
    /// Neighbours in the list; [`OUT`] of an object that is not inside.
    later: Vec<u32>,
    earlier: Vec<u32>,
    latest: u32,
    earliest: u32,
    /// Some object had to go.
    full: bool,
}

const NONE: u32 = u32::MAX;
const OUT: u32 = u32::MAX - 1;

/// Requests of the past, per object and in all, after which a cache that will not fill is taken as it is: all that is
/// ever asked for is then inside.
const PAST: (u64, u64) = (10, 1_000);

impl Lru {
    fn new(objects: u32, room: u64, sizes: Sizes) -> Lru {
        let lists = vec![OUT; objects as usize];
        Lru { room, used: 0, sizes, later: lists.clone(), earlier: lists, latest: NONE, earliest: NONE, full: false }
    }

    fn fill(&mut self, popularity: &Alias, past: &mut Stream) {
        let objects = self.later.len() as u32;
        if self.sizes.sum(objects) <= self.room {
            for object in 0..objects {
                self.ask(object);
            }
            return;
        }
        let most = PAST.0 * u64::from(objects) + PAST.1;
        let mut requests = 0;
        while !self.full && requests < most {
            self.ask(popularity.sample(past));
            requests += 1;
        }
        for _ in 0..2 * requests + PAST.1 {
            self.ask(popularity.sample(past));
        }
    }

    #[inline]
    fn ask(&mut self, object: u32) -> bool {
        let place = object as usize;
        let hit = self.later[place] != OUT;
        if hit {
            if self.latest == object {
                return true;
            }
            self.take_out(object);
        } else {
            let size = self.sizes.of_object(object);
            if size > self.room {
                return false;
            }
            while self.used + size > self.room {
                let oldest = self.earliest;
                self.take_out(oldest);
                self.later[oldest as usize] = OUT;
                self.used -= self.sizes.of_object(oldest);
                self.full = true;
            }
            self.used += size;
        }
        self.later[place] = NONE;
        self.earlier[place] = self.latest;
        match self.latest {
            NONE => self.earliest = object,
            latest => self.later[latest as usize] = object,
        }
        self.latest = object;
        hit
    }

    /// Joins the neighbours of an object that is inside.
    #[inline]
    fn take_out(&mut self, object: u32) {
        let (later, earlier) = (self.later[object as usize], self.earlier[object as usize]);
        match later {
            NONE => self.latest = earlier,
            later => self.earlier[later as usize] = earlier,
        }
        match earlier {
            NONE => self.earliest = later,
            earlier => self.later[earlier as usize] = later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list that is searched, by places and by bytes.
    #[test]
    fn lru_keeps_the_latest_that_fit() {
        let mut stream = Stream::new(1, "cache", "test");
        let bytes: Vec<u64> = (0..30).map(|object| 1 + object % 7).collect();
        for (room, sizes) in [(5, Sizes::Places), (12, Sizes::Bytes(bytes)), (4, Sizes::Bytes((1..=30).collect()))] {
            let mut lru = Lru::new(30, room, sizes.clone());
            let mut list: Vec<u32> = Vec::new();
            let mut hits = 0;
            for _ in 0..20_000 {
                let object = stream.below(30).min(stream.below(30)) as u32;
                let place = list.iter().position(|other| *other == object);
                let hit = lru.ask(object);
                assert_eq!(hit, place.is_some());
                hits += u32::from(hit);
                if let Some(place) = place {
                    list.remove(place);
                } else if sizes.of_object(object) > room {
                    continue;
                }
                list.insert(0, object);
                while list.iter().map(|object| sizes.of_object(*object)).sum::<u64>() > room {
                    list.pop();
                }
                assert_eq!(lru.used, list.iter().map(|object| sizes.of_object(*object)).sum::<u64>());
            }
            assert!(hits > 1_000 && hits < 19_000, "{hits} hits say nothing");
        }
    }

    #[test]
    fn lfu_holds_the_most_popular_that_fit() {
        let Cache::Lfu { inside } = Cache::lfu(2, &Sizes::Places, &[0.1, 0.4, 0.2, 0.3]) else { unreachable!() };
        assert_eq!(inside, [false, true, false, true]);
        // The second does not fit beside the first, and the third does.
        let sizes = Sizes::Bytes(vec![6, 5, 4, 1]);
        let Cache::Lfu { inside } = Cache::lfu(10, &sizes, &[0.4, 0.3, 0.2, 0.1]) else { unreachable!() };
        assert_eq!(inside, [true, false, true, false]);
    }

    #[test]
    fn a_time_to_live_ends_at_its_end() {
        for (renewed, expected) in [(false, [false, true, true, false]), (true, [false, true, true, true])] {
            let mut cache = Cache::ttl(1, Span(10), renewed);
            assert_eq!([0, 5, 9, 10].map(|at| cache.ask(0, Time(at))), expected, "renewed: {renewed}");
            assert_eq!(cache.settled_after(), Span(10));
        }
        // A request at the very end finds nothing.
        let mut cache = Cache::ttl(1, Span(10), true);
        assert_eq!([0, 10].map(|at| cache.ask(0, Time(at))), [false, false]);
    }
}
