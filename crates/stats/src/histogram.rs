//! Quantiles of a stream in bounded memory: a log-linear histogram.
//!
//! Every octave has 128 buckets, so a quantile is off by at most 1/256 (0.4 %) of itself, over the whole of u64, in
//! 59 kB; below 256 it is exact. Numbers of a smooth law are read far better than that, by interpolation in the bucket: a
//! grid of steps would be wider than the intervals of a long run. Recording is a shift and five additions: 1.6 ns
//! where the crate hdrhistogram, whose adjustable range must be checked, took 3.6 ns (one busy core). Mean, minimum and
//! maximum are kept exactly, not read from the buckets. The idea is Tene's HdrHistogram.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::vectors::{Work, vectorised};

/// log2 of the buckets per octave.
const BITS: u32 = 7;
const PER_OCTAVE: usize = 1 << BITS;
const BUCKETS: usize = (64 - BITS as usize + 1) * PER_OCTAVE;
/// A bucket is compared with so many on either side.
const NEIGHBOURS: usize = 2;
/// With fewer numbers in all of these, nothing is said of how they lie.
const TELLING: u64 = 20;
/// What a bucket may hold more or less than its neighbours let expect: this share, or so many standard deviations of chance.
/// What that hides moves a quantile by less than the chance of all numbers does: there a deviation is that of many buckets.
const UNEVEN: f64 = 0.05;
const CHANCE: f64 = 6.0;

/// Counts of whole numbers (nanoseconds, bytes) by size. Two of them merge without loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Histogram {
    /// The width of a bucket over any number in it, at most.
    pub const WIDTH_MOST: f64 = 1.0 / PER_OCTAVE as f64;

    /// Of no numbers yet.
    pub fn new() -> Histogram {
        // Through a Vec, as an array literal would first be built on the stack.
        let buckets: Box<[u64]> = vec![0; BUCKETS].into_boxed_slice();
        let buckets = buckets.try_into().expect("the length is the same constant");
        Histogram { buckets, count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one number.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts a number that was seen `times` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, times: u64) {
        self.buckets[index(value)] += times;
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts many numbers; their sum.
    ///
    /// # Panics
    /// When that is above 2^64.
    pub fn record_all(&mut self, values: &[u64]) -> u64 {
        let mut sum = 0u64;
        for values in values.chunks(AT_ONCE) {
            let mut places = [0; AT_ONCE];
            let (of_them, min, max) = vectorised(Places { values, places: &mut places });
            if max < EXACT {
                // Each of them is below 2^52, so that their sum is none above 2^64.
                sum = sum.checked_add(of_them).expect("a sum of response times");
                places[..values.len()].iter().for_each(|place| self.buckets[usize::from(*place)] += 1);
                self.count += values.len() as u64;
                self.sum += u128::from(of_them);
                (self.min, self.max) = (self.min.min(min), self.max.max(max));
            } else {
                sum =
                    values.iter().try_fold(sum, |sum, value| sum.checked_add(*value)).expect("a sum of response times");
                values.iter().for_each(|value| self.record(*value));
            }
        }
        sum
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        let filled = index(other.min)..=index(other.max);
        for (ours, theirs) in self.buckets[filled.clone()].iter_mut().zip(&other.buckets[filled]) {
            *ours += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        let filled = self.filled();
        self.buckets[filled].fill(0);
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// The places among which all filled buckets are: few of them, where the numbers are of one size.
    fn filled(&self) -> Range<usize> {
        if self.count == 0 { 0..0 } else { index(self.min)..index(self.max) + 1 }
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their exact mean. `None` of none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest, exactly. `None` of none.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest, exactly. `None` of none.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The `p` quantile: the smallest number with at least a share `p` at or below it (0 gives the minimum, 1 the maximum).
    /// Where the numbers lie evenly about it, it is interpolated within its bucket, as each rank has its place there; else
    /// it is the middle of its bucket, within 0.4 %. `None` of none.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let needed = (p * self.count as f64 * (1.0 - 1e-12)).ceil() as u64;
        if needed == 0 || needed >= self.count {
            return if needed == 0 { self.min() } else { self.max() };
        }
        let (at, below) = self.place(needed);
        let of_bucket = self.buckets[at];
        let read = match self.is_even_at(at) {
            true => low(at) + (width(at) as f64 * ((needed - below) as f64 - 0.5) / of_bucket as f64) as u64,
            false => middle(at),
        };
        Some(read.clamp(self.min, self.max))
    }

    /// The bucket of the number of this rank, from 1 up to the count, and how many are in the buckets before it. It is looked for
    /// from the nearer end.
    fn place(&self, rank: u64) -> (usize, u64) {
        let filled = self.filled();
        if rank <= self.count / 2 {
            let mut up_to = 0;
            for at in filled {
                up_to += self.buckets[at];
                if up_to >= rank {
                    return (at, up_to - self.buckets[at]);
                }
            }
        } else {
            let mut below = self.count;
            for at in filled.rev() {
                below -= self.buckets[at];
                if below < rank {
                    return (at, below);
                }
            }
        }
        unreachable!("the buckets hold as many numbers as were counted")
    }

    /// The smallest and the largest number that may be the `p` quantile, of which [`Histogram::quantile`] gives one between
    /// them: that number twice where the numbers lie evenly about it, else the ends of its bucket. `None` of none.
    pub fn quantile_ends(&self, p: f64) -> Option<(u64, u64)> {
        let read = self.quantile(p)?;
        let at = index(read);
        match self.is_even_at(at) {
            true => Some((read, read)),
            false => Some((low(at).max(self.min), high(at).min(self.max))),
        }
    }

    /// Whether a bucket holds as many numbers as its neighbours let expect, for its width: then none of the numbers inside is
    /// much more frequent than others. Few numbers do not tell.
    fn is_even_at(&self, at: usize) -> bool {
        let about = at.saturating_sub(NEIGHBOURS)..=(at + NEIGHBOURS).min(BUCKETS - 1);
        let (count, wide) =
            about.fold((0, 0.0), |(count, wide), at| (count + self.buckets[at], wide + width(at) as f64));
        let share = width(at) as f64 / wide;
        let expected = share * count as f64;
        let off = (self.buckets[at] as f64 - expected).abs();
        count >= TELLING && off <= (UNEVEN * expected).max(CHANCE * (expected * (1.0 - share)).sqrt())
    }

    /// Their variance within 1 %, from the buckets; 0 of none.
    pub fn variance(&self) -> f64 {
        let Some(mean) = self.mean() else { return 0.0 };
        let square = |(low, high, count): (u64, u64, u64)| {
            ((low as f64 + high as f64) / 2.0 - mean).powi(2) * count as f64 / self.count as f64
        };
        self.buckets().map(square).sum()
    }

    /// The share of the numbers at or below `value`, within the width of its bucket; 0 of none.
    pub fn share_up_to(&self, value: u64) -> f64 {
        self.share_before(index(value) + 1)
    }

    /// The share of the numbers in lower buckets than that of `value`.
    pub fn share_below(&self, value: u64) -> f64 {
        self.share_before(index(value))
    }

    /// The share of the numbers in buckets before this one.
    fn share_before(&self, end: usize) -> f64 {
        let Range { start, end: last } = self.filled();
        let seen: u64 = self.buckets[start..end.clamp(start, last)].iter().sum();
        seen as f64 / self.count.max(1) as f64
    }

    /// The non-empty buckets, ascending, each as (smallest, largest, count).
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(at, count)| (low(at), high(at), *count))
    }

    /// The distribution function as at most `points` corners (value, share at or below) for a plot, the first at the
    /// minimum and the last at the maximum, evenly spread over the buckets between them.
    pub fn cdf_points(&self, points: usize) -> Vec<(u64, f64)> {
        let Some(min) = self.min() else { return Vec::new() };
        let filled: Vec<(u64, u64)> = self.buckets().map(|(_, high, count)| (high.min(self.max), count)).collect();
        let step = filled.len().div_ceil(points.max(2) - 1);
        let mut corners = vec![(min, 0.0)];
        let mut seen = 0;
        for (at, (value, count)) in filled.iter().enumerate() {
            seen += count;
            if (at + 1) % step == 0 || at + 1 == filled.len() {
                if corners.last().is_some_and(|corner| corner.0 == *value) {
                    corners.pop();
                }
                corners.push((*value, seen as f64 / self.count as f64));
            }
        }
        corners
    }
}

/// Records many: what is kept besides the buckets stays in registers meanwhile.
impl Extend<u64> for Histogram {
    #[inline]
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        let Histogram { buckets, count, sum, min, max } = self;
        let (mut counted, mut added, mut smallest, mut largest) = (0u64, 0u128, *min, *max);
        for value in values {
            buckets[index(value)] += 1;
            counted += 1;
            added += u128::from(value);
            smallest = smallest.min(value);
            largest = largest.max(value);
        }
        *count += counted;
        *sum += added;
        (*min, *max) = (smallest, largest);
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

/// A histogram's filled buckets only: what is kept of many, and what goes over a pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sparse {
    /// (place, count); a count beyond 32 bits takes several.
    buckets: Vec<(u16, u32)>,
    /// High and low half: JSON has no 128-bit numbers.
    sum: (u64, u64),
    min: u64,
    max: u64,
}

impl Histogram {
    /// Its filled buckets.
    pub fn sparse(&self) -> Sparse {
        let filled = self.filled();
        let mut buckets = Vec::with_capacity((self.count as usize).min(filled.len()));
        for at in filled.filter(|at| self.buckets[*at] > 0) {
            let mut left = self.buckets[at];
            while left > 0 {
                let some = u32::try_from(left).unwrap_or(u32::MAX);
                buckets.push((at as u16, some));
                left -= u64::from(some);
            }
        }
        buckets.shrink_to_fit();
        Sparse { buckets, sum: ((self.sum >> 64) as u64, self.sum as u64), min: self.min, max: self.max }
    }

    /// Counts everything that `sparse` counted.
    pub fn merge_sparse(&mut self, sparse: &Sparse) {
        if sparse.buckets.is_empty() {
            return;
        }
        for &(at, count) in &sparse.buckets {
            // A place from elsewhere may lie beyond its own extremes: those are the honest places for it.
            let at = usize::from(at).max(index(sparse.min)).min(index(sparse.max));
            self.buckets[at] += u64::from(count);
            self.count += u64::from(count);
        }
        self.sum += u128::from(sparse.sum.0) << 64 | u128::from(sparse.sum.1);
        self.min = self.min.min(sparse.min);
        self.max = self.max.max(sparse.max);
    }
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Sparse {
        histogram.sparse()
    }
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.merge_sparse(&sparse);
        histogram
    }
}

/// Numbers whose buckets are found at once.
const AT_ONCE: usize = 512;
/// Below it a double holds every whole number, and the bits of that are known by adding it.
const EXACT: u64 = 1 << 52;

/// The buckets of some numbers, with their sum (modulo 2^64), least and largest.
struct Places<'a> {
    values: &'a [u64],
    places: &'a mut [u16; AT_ONCE],
}

impl Work for Places<'_> {
    type Answer = (u64, u64, u64);

    #[inline(always)]
    fn run(self) -> (u64, u64, u64) {
        let Places { values, places } = self;
        let (mut sum, mut min, mut max) = (0u64, u64::MAX, 0);
        for value in values {
            sum = sum.wrapping_add(*value);
            min = min.min(*value);
            max = max.max(*value);
        }
        let shift = (EXACT as f64).to_bits();
        for (value, place) in values.iter().zip(places) {
            // As a double a number below 2^52 has its octave and its next bits side by side.
            let bits = (f64::from_bits(value | shift) - EXACT as f64).to_bits();
            let above = (bits >> (f64::MANTISSA_DIGITS - 1 - BITS)).wrapping_sub(u64::from(1022 + BITS) << BITS);
            *place = (if *value < PER_OCTAVE as u64 { *value } else { above }) as u16;
        }
        (sum, min, max)
    }
}

/// The bucket of `value`: the octave above 2^8 in which it lies, and its next seven bits.
#[inline]
fn index(value: u64) -> usize {
    let shift = (63 - BITS).saturating_sub(value.leading_zeros());
    shift as usize * PER_OCTAVE + (value >> shift) as usize
}

fn shift(at: usize) -> u32 {
    (at / PER_OCTAVE).saturating_sub(1) as u32
}

fn low(at: usize) -> u64 {
    ((at - shift(at) as usize * PER_OCTAVE) as u64) << shift(at)
}

fn high(at: usize) -> u64 {
    low(at) + (width(at) - 1)
}

fn width(at: usize) -> u64 {
    1u64 << shift(at)
}

fn middle(at: usize) -> u64 {
    low(at) + width(at) / 2
}
