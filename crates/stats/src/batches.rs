//! A long series in bounded memory, in its order of time.

/// Below it a double holds every whole number.
const EXACT: f64 = (1u64 << 53) as f64;

/// The batch means of a series, between `capacity` and twice as many: when they are full, neighbours are joined and
/// the batches are twice as long from then on. Made for [`crate::warm_up::mser`] and
/// [`crate::measure::mean_of_batches`] at the end of a run of unknown length.
#[derive(Clone, Debug, PartialEq)]
pub struct Batches {
    capacity: usize,
    size: u64,
    means: Vec<f64>,
    sum: f64,
    filled: u64,
}

impl Batches {
    /// Batches of `size` numbers at first (5 for MSER-5), at most 2 * `capacity` of them.
    ///
    /// # Panics
    /// When either is 0.
    pub fn new(capacity: usize, size: u64) -> Batches {
        assert!(capacity > 0 && size > 0, "batches of {size}, {capacity} of them");
        Batches { capacity, size, means: Vec::with_capacity(2 * capacity), sum: 0.0, filled: 0 }
    }

    /// Takes in the next number.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.sum += value;
        self.filled += 1;
        if self.filled == self.size {
            self.close();
        }
    }

    /// Whether so many further whole numbers of this sum may be taken in in any order: they end no batch, and every sum of
    /// some of them is exact.
    pub fn may_take(&self, count: u64, sum: u64) -> bool {
        self.filled + count < self.size && self.sum + (sum as f64) < EXACT
    }

    /// Takes in so many whole numbers of this sum, where [`Batches::may_take`] says that their order does not matter.
    #[inline]
    pub fn push_together(&mut self, count: u64, sum: u64) {
        self.sum += sum as f64;
        self.filled += count;
    }

    /// The means of the full batches.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// How many numbers are in each batch now.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many numbers are in full batches.
    pub fn samples(&self) -> u64 {
        self.means.len() as u64 * self.size
    }

    fn close(&mut self) {
        self.means.push(self.sum / self.size as f64);
        (self.sum, self.filled) = (0.0, 0);
        if self.means.len() == 2 * self.capacity {
            for pair in 0..self.capacity {
                self.means[pair] = 0.5 * (self.means[2 * pair] + self.means[2 * pair + 1]);
            }
            self.means.truncate(self.capacity);
            self.size *= 2;
        }
    }
}
