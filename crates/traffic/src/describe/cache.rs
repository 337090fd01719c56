//! What a cache could do: the hit ratio of LRU at every size, from one pass.
//!
//! A request is a hit of an LRU cache of C objects when fewer than C others were asked for since the object was asked for
//! last (Mattson, Gecsei, Slutz and Traiger, IBM Systems Journal 9(2), 1970). Those others are counted in a Fenwick tree
//! over the places of latest requests: O(log n) each.

use serde::Serialize;

use super::log_spaced;

/// Sizes of the cache that are kept.
const POINTS: usize = 60;

/// What an LRU cache of this size would have hit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CachePoint {
    /// Objects that it holds.
    pub objects: u64,
    /// Share of the requests that it hits.
    pub hit_ratio: f64,
}

/// The hit ratio of LRU against its size, for requests for these objects (numbers below `count`) in order. It begins empty.
pub(super) fn lru(requests: &[u32], count: usize) -> Vec<CachePoint> {
    let mut latest: Vec<Option<usize>> = vec![None; count];
    let mut places = Fenwick(vec![0; requests.len() + 1]);
    // Hits that need a cache of exactly so many objects.
    let mut hits = vec![0u64; count + 1];
    let mut objects = 0;
    for (place, object) in requests.iter().enumerate() {
        match latest[*object as usize].replace(place) {
            Some(before) => {
                let since = objects - places.up_to(before);
                hits[since as usize + 1] += 1;
                places.add(before, -1);
            }
            None => objects += 1,
        }
        places.add(place, 1);
    }
    let mut sum = 0;
    let upwards: Vec<u64> = hits
        .iter()
        .map(|more| {
            sum += more;
            sum
        })
        .collect();
    let ratio = |objects: usize| upwards[objects] as f64 / requests.len() as f64;
    let sizes = log_spaced(objects as usize, POINTS).into_iter().map(|place| place + 1);
    sizes.map(|objects| CachePoint { objects: objects as u64, hit_ratio: ratio(objects) }).collect()
}

/// Sums over places that change (Fenwick, Software: Practice and Experience 24(3), 1994).
struct Fenwick(Vec<i64>);

impl Fenwick {
    fn add(&mut self, place: usize, value: i64) {
        let mut index = place + 1;
        while index < self.0.len() {
            self.0[index] += value;
            index += index & index.wrapping_neg();
        }
    }

    /// The sum over places 0 to `place`.
    fn up_to(&self, place: usize) -> i64 {
        let (mut index, mut sum) = (place + 1, 0);
        while index > 0 {
            sum += self.0[index];
            index &= index - 1;
        }
        sum
    }
}
