//! How many replies a network gets over UDP: a flood of queries with a made-up source is no flood of replies to it.
//!
//! As response-rate limiting does (Vixie and Schryver, 2012): by prefix, and of what is over the limit one in `slip` is
//! answered by "ask over TCP", so that a network in whose name others ask is not cut off. All replies of a prefix count, not
//! only equal ones: policies make them differ.
//!
//! One instant per prefix says when its limit is used up (a token bucket, as the generic cell rate algorithm keeps it). It
//! and a part of the prefix's hash are one word in a table of fixed size: memory is bounded, no lock is taken, and where too
//! many prefixes meet, the one with the most left gives way. The hash is keyed; what shares a place by chance (one in 2^28
//! pairs) shares a limit.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use sojourn_part::network::prefix;
use sojourn_stats::Time;

/// Places, in groups; half a megabyte.
const PLACES: usize = 1 << 16;
const GROUP: usize = 4;
/// Bits of an instant in units of [`UNIT`] (ns): fourteen years.
const INSTANT: u32 = 52;
const UNIT: u64 = 100;
const SECOND: u64 = 1_000_000_000 / UNIT;

/// Whether a query is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// Only by "ask over TCP", or with a cookie.
    Slip,
    Drop,
}

/// All limits; shared by all threads.
#[derive(Debug)]
pub(crate) struct Limiter {
    places: Box<[AtomicU64]>,
    hasher: RandomState,
    /// From one reply to the next at the limit; 0: there is none.
    interval: u64,
    slip: u32,
    /// How many were over a limit.
    over: AtomicU64,
    /// Bits of the prefixes, of IPv4 and IPv6.
    prefixes: [u8; 2],
}

impl Limiter {
    /// At most `rate` replies a second for each prefix, and as many at once; 0: no limit.
    pub(crate) fn new(rate: u32, slip: u32, prefix_v4: u8, prefix_v6: u8) -> Limiter {
        let places = if rate == 0 { 0 } else { PLACES };
        Limiter {
            places: (0..places).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
            interval: if rate == 0 { 0 } else { (SECOND / u64::from(rate)).max(1) },
            slip,
            over: AtomicU64::new(0),
            prefixes: [prefix_v4, prefix_v6],
        }
    }

    /// Counts a query from this address.
    pub(crate) fn judge(&self, from: IpAddr, now: Time) -> Verdict {
        if self.interval == 0 || self.take(from, now) {
            return Verdict::Pass;
        }
        let over = self.over.fetch_add(1, Ordering::Relaxed);
        // Drawn, not in turns: two networks in turn would else always get the same.
        let drawn = self.hasher.hash_one(over);
        if self.slip > 0 && drawn.is_multiple_of(u64::from(self.slip)) { Verdict::Slip } else { Verdict::Drop }
    }

    fn take(&self, from: IpAddr, now: Time) -> bool {
        let hash = self.hasher.hash_one(prefix(from, self.prefixes));
        let tag = hash >> INSTANT;
        let group = &self.places[hash as usize % (PLACES / GROUP) * GROUP..][..GROUP];
        // The first second counts as used by none.
        let now = now.0 / UNIT + SECOND;
        loop {
            let words: [u64; GROUP] = std::array::from_fn(|place| group[place].load(Ordering::Relaxed));
            let own = words.iter().position(|word| word >> INSTANT == tag && instant(*word) > 0);
            let free = || (0..GROUP).min_by_key(|place| instant(words[*place])).expect("a group has places");
            let place = own.unwrap_or_else(free);
            let used = own.map_or(0, |own| instant(words[own]));
            let next = used.max(now - SECOND) + self.interval;
            if next > now {
                return false;
            }
            let changed = tag << INSTANT | next & ((1 << INSTANT) - 1);
            if group[place].compare_exchange_weak(words[place], changed, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
    }
}

fn instant(word: u64) -> u64 {
    word & ((1 << INSTANT) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn passed(limiter: &Limiter, from: &str, times: usize, now: Time) -> usize {
        (0..times).filter(|_| limiter.judge(ip(from), now) == Verdict::Pass).count()
    }

    #[test]
    fn a_prefix_has_its_rate_and_a_second_of_it_at_once() {
        let limiter = Limiter::new(10, 2, 24, 56);
        assert_eq!(passed(&limiter, "192.0.2.1", 100, at(5.0)), 10);
        // Its neighbour is of the same prefix, the next network is not.
        assert_eq!(passed(&limiter, "192.0.2.200", 100, at(5.0)), 0);
        assert_eq!(passed(&limiter, "192.0.3.1", 100, at(5.0)), 10);
        assert_eq!(passed(&limiter, "192.0.2.1", 100, at(5.5)), 5);
        assert_eq!(passed(&limiter, "192.0.2.1", 100, at(100.0)), 10);
        assert_eq!(passed(&limiter, "2001:db8:0:1ff::1", 20, at(5.0)), 10);
        assert_eq!(passed(&limiter, "2001:db8:0:100::1", 20, at(5.0)), 0);
        assert_eq!(passed(&limiter, "2001:db8:0:200::1", 20, at(5.0)), 10);
    }

    #[test]
    fn one_in_slip_is_told_to_ask_over_tcp() {
        for (slip, least, most) in [(0, 0, 0), (1, 10_000, 10_000), (2, 4_750, 5_250)] {
            let limiter = Limiter::new(1, slip, 24, 56);
            let slipped = (0..=10_000).filter(|_| limiter.judge(ip("192.0.2.1"), at(1.0)) == Verdict::Slip).count();
            // Binomial with standard deviation 50: five of them are one in 1.7 million.
            assert!((least..=most).contains(&slipped), "{slip}: {slipped}");
        }
    }

    /// Whoever fills the table cannot clear his own limit, nor use up that of others.
    #[test]
    fn a_flood_of_prefixes_clears_no_limit() {
        let limiter = Limiter::new(10, 0, 24, 56);
        assert_eq!(passed(&limiter, "192.0.2.1", 100, at(5.0)), 10);
        for number in 0..200_000_u32 {
            limiter.judge(IpAddr::V4((0x0a00_0000 + number * 256).into()), at(5.0));
        }
        assert_eq!(passed(&limiter, "192.0.2.1", 100, at(5.0)), 0);
        assert!(passed(&limiter, "198.51.100.1", 100, at(5.0)) >= 9);
    }

    #[test]
    fn the_whole_address_and_none_are_prefixes_too() {
        assert_ne!(prefix(ip("192.0.2.1"), [32, 128]), prefix(ip("192.0.2.2"), [32, 128]));
        assert_eq!(prefix(ip("192.0.2.1"), [0, 0]), prefix(ip("10.0.0.1"), [0, 0]));
        assert_eq!(prefix(ip("2001:db8::1"), [0, 0]), prefix(ip("fe80::1"), [0, 0]));
        assert_eq!(prefix(ip("::ffff:192.0.2.1"), [24, 56]), prefix(ip("192.0.2.77"), [24, 56]));
    }
}
