//! What a stream of pages is, measured from outside: the same numbers for what was asked for, simulated and sent.
//!
//! A stream is the pages that one user asked for, in order, as indices into the site's pages. Requests of one user hang
//! together where there is temporal locality, so a test of popularity that wants independent draws takes one request of
//! each of many users ([`nth`]).

use std::collections::HashMap;

use super::Visit;

/// An LRU stack distance: how many distinct pages a user asked for since it last asked for this one, this one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// 1: the very page before.
    Exactly(u32),
    /// The page was never asked for before; so many others were.
    MoreThan(u32),
}

/// The share of all requests that goes to each of `pages` pages.
pub fn popularity<'a>(streams: impl IntoIterator<Item = &'a [u32]>, pages: usize) -> Vec<f64> {
    let mut counts = vec![0u64; pages];
    for page in streams.into_iter().flatten() {
        counts[*page as usize] += 1;
    }
    let total = counts.iter().sum::<u64>() as f64;
    counts.iter().map(|count| *count as f64 / total).collect()
}

/// The page of each user's request number `n` (from 0), of those that made so many.
pub fn nth<'a>(streams: impl IntoIterator<Item = &'a [u32]>, n: usize) -> Vec<u32> {
    streams.into_iter().filter_map(|stream| stream.get(n).copied()).collect()
}

/// The stack distance of each request of a stream.
pub fn stack_distances(stream: &[u32]) -> Vec<Distance> {
    // Counting in time order: a page is marked where it was last asked for, so the marks after that are the pages
    // since.
    let mut marks = Marks::new(stream.len());
    let mut last: HashMap<u32, usize> = HashMap::new();
    let mut distances = Vec::with_capacity(stream.len());
    for (now, page) in stream.iter().enumerate() {
        let seen = last.len() as u32;
        distances.push(match last.insert(*page, now) {
            None => Distance::MoreThan(seen),
            Some(before) => {
                let distance = seen - marks.before(before);
                marks.add(before, -1);
                Distance::Exactly(distance)
            }
        });
        marks.add(now, 1);
    }
    distances
}

/// The share of requests with a stack distance of at most `distance`, among those made when the user had asked for that
/// many pages already; before, large distances cannot be told. NaN where there are none.
pub fn share_within(distances: &[Distance], distance: u32) -> f64 {
    let (mut seen, mut within, mut told) = (0, 0u64, 0u64);
    for one in distances {
        told += u64::from(seen >= distance);
        match one {
            Distance::Exactly(found) => within += u64::from(seen >= distance && *found <= distance),
            Distance::MoreThan(_) => seen += 1,
        }
    }
    within as f64 / told as f64
}

/// The lengths (pages) of the sessions that both begin and end in a user's visits.
pub fn session_lengths(visits: impl IntoIterator<Item = Visit>) -> Vec<u32> {
    let mut lengths = Vec::new();
    let mut length = None;
    for visit in visits {
        length = if visit.first { Some(1) } else { length.map(|pages: u32| pages + 1) };
        if visit.last {
            lengths.extend(length.take());
        }
    }
    lengths
}

/// Marks at places, counted before a place in logarithmic time (Fenwick, Software: Practice and Experience 24(3),
/// 1994).
struct Marks(Vec<i32>);

impl Marks {
    fn new(places: usize) -> Marks {
        Marks(vec![0; places + 1])
    }

    fn add(&mut self, place: usize, marks: i32) {
        let mut node = place + 1;
        while node < self.0.len() {
            self.0[node] += marks;
            node += node & node.wrapping_neg();
        }
    }

    fn before(&self, place: usize) -> u32 {
        let (mut node, mut sum) = (place, 0);
        while node > 0 {
            sum += self.0[node];
            node -= node & node.wrapping_neg();
        }
        sum as u32
    }
}
