//! Caches: the part of the requests that finds its object kept.
//!
//! Requests are independent draws from a popularity law (the independent reference model). Exact: LRU over few objects,
//! by King's sum; static most popular, which is what LFU comes to; time to live under Poisson requests. For LRU over
//! any number of objects there is Che's approximation, which forgets that the time an object stays unused in the cache
//! varies: within 2 % of the exact ratio for the small caches of the tests, better the larger the cache.
//!
//! Not in it: that popularity changes, that requests for an object come in bursts, that a fetch takes time. All raise
//! or lower a real ratio; the simulator has none of them either.

use sojourn_model::network::{Cache, Keeps, Room};
use sojourn_stats::root;

/// Objects up to which LRU is solved exactly: the sum is over the sets of objects that fit.
const EXACT_OBJECTS: usize = 16;

/// Hit ratio of a cache: the part of the requests that finds its object kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HitRatio {
    /// Ratio, from 0 to 1.
    pub value: f64,
    /// Exactness: whether it is the ratio itself, not an approximation.
    pub exact: bool,
    /// Dependence on the request rate: whether it changes with how often objects are asked for.
    pub reads_rate: bool,
    /// Formula, with its source.
    pub formula: &'static str,
}

/// Hit ratio of `cache` when objects have `size_mean` bytes on average (read where its room is in bytes) and
/// `request_rate` requests come per second (read where objects live for a time).
pub fn hit_ratio(cache: &Cache, size_mean: f64, request_rate: f64) -> HitRatio {
    let popularity = &cache.popularity[..];
    let (room, is_lru) = match cache.keeps {
        Keeps::Lru(room) => (room, true),
        Keeps::Lfu(room) => (room, false),
        Keeps::Ttl { ttl, renewed } => {
            let value = time_to_live(popularity, ttl.as_secs_f64(), renewed, request_rate);
            let formula = "objects that live for a time, under Poisson requests";
            return HitRatio { value, exact: true, reads_rate: true, formula };
        }
    };
    let (objects, is_whole) = capacity(room, size_mean);
    let ratio = |value, exact, formula| HitRatio { value, exact, reads_rate: false, formula };
    if objects >= popularity.len() as f64 {
        ratio(1.0, is_whole, "everything fits")
    } else if !is_lru {
        ratio(most_popular(popularity, objects), is_whole, "the most popular objects, in the long run")
    } else if is_whole && popularity.len() <= EXACT_OBJECTS {
        ratio(lru(popularity, objects as usize), true, "King (1971)")
    } else {
        ratio(che(popularity, objects), false, "Che, Tung and Wang (2002)")
    }
}

/// Objects that fit, and whether they are always as many.
fn capacity(room: Room, size_mean: f64) -> (f64, bool) {
    match room {
        Room::Objects(objects) => (objects as f64, true),
        Room::Bytes(bytes) => (bytes as f64 / size_mean, false),
    }
}

/// Hit ratio of LRU, exactly: the cache holds the last C objects asked for, and the chance that these are a set S is
/// the sum over the orders of S of p1 p2/(1-p1) p3/(1-p1-p2) ... (King, Analysis of demand paging algorithms, IFIP
/// 1971). Summed set by set, smaller sets first, which is 2^n steps in place of n!.
///
/// # Panics
/// With 2^n sets for more than 24 objects.
pub fn lru(popularity: &[f64], capacity: usize) -> f64 {
    let n = popularity.len();
    assert!(n <= 24, "King's sum is over all sets of objects");
    if capacity >= n {
        return 1.0;
    }
    let sets = 1usize << n;
    // The chance that the objects asked for last are exactly those of the set, and their popularity.
    let mut chance = vec![0.0; sets];
    let mut mass = vec![0.0; sets];
    chance[0] = 1.0;
    let mut ratio = 0.0;
    for set in 0..sets {
        let size = set.count_ones() as usize;
        if size > 0 {
            let lowest = set.trailing_zeros() as usize;
            mass[set] = mass[set & (set - 1)] + popularity[lowest];
        }
        if size == capacity {
            ratio += chance[set] * mass[set];
        } else if size < capacity {
            for object in (0..n).filter(|object| set & (1 << object) == 0) {
                chance[set | 1 << object] += chance[set] * popularity[object] / (1.0 - mass[set]);
            }
        }
    }
    ratio
}

/// Hit ratio of LRU, by Che's approximation: an object stays for T after its last use, the same T for all, of which as
/// many are there on average as fit, sum of 1 - e^(-p T) = C (Che, Tung and Wang, IEEE JSAC 20, 2002, equation 5; T in
/// requests). The capacity need not be whole.
pub fn che(popularity: &[f64], capacity: f64) -> f64 {
    if capacity >= popularity.len() as f64 {
        return 1.0;
    }
    let kept = |time: f64| -> f64 { popularity.iter().map(|p| -(-p * time).exp_m1()).sum() };
    let Some(time) = root::find_above(0.0, capacity.max(1.0), 1e-13, |time| kept(time) - capacity) else {
        // More room than objects that are ever asked for.
        return 1.0;
    };
    popularity.iter().map(|p| -p * (-p * time).exp_m1()).sum()
}

/// Hit ratio of the most popular objects that fit, the highest of all caches that do not know the future. Where a part
/// of the next object fits, that part counts.
pub fn most_popular(popularity: &[f64], capacity: f64) -> f64 {
    let whole = (capacity.floor() as usize).min(popularity.len());
    let next = popularity.get(whole).copied().unwrap_or(0.0);
    (popularity[..whole].iter().sum::<f64>() + (capacity - whole as f64) * next).min(1.0)
}

/// Hit ratio of objects that live for `ttl_s`, counted from their last use where `renewed`, else from the miss that
/// brought them in, when requests are Poisson: 1 - e^(-l T) or l T / (1 + l T) of the requests for an object that come
/// at rate l (renewal argument; Fofack, Nain, Neglia and Towsley, Performance evaluation of hierarchical TTL-based
/// cache networks, Computer Networks 65, 2014).
pub fn time_to_live(popularity: &[f64], ttl_s: f64, renewed: bool, request_rate: f64) -> f64 {
    let of = |p: f64| {
        let expected = p * request_rate * ttl_s;
        p * if renewed { -(-expected).exp_m1() } else { expected / (1.0 + expected) }
    };
    popularity.iter().map(|p| of(*p)).sum()
}
