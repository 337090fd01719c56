//! Fractional Gaussian noise: standard normals whose sums are self-similar with Hurst parameter H.
//!
//! [`Fgn`] draws it exactly, as Davies and Harte (Biometrika 74(1), 1987; Wood and Chan, J. Comput. Graph. Stat. 3(4),
//! 1994) do: the covariances of the path are the first row of a circulant matrix, `c0 c1 .. cN c(N-1) .. c1`, of twice its
//! length. The Fourier transform diagonalises it; noise of the spectrum's variances, transformed back, has that covariance
//! to rounding. For this row and any H no eigenvalue is negative (Craigmile, J. Time Ser. Anal. 24(5), 2003), so that
//! nothing is approximated.
//!
//! A path costs one complex transform of its length: a real transform of twice that, whose even and odd points travel as
//! real and imaginary parts, with the noise drawn straight into the packed spectrum. The price is memory, 64 bytes a
//! point while it is drawn, and that the length is known before: a path cannot be continued. [`hosking`] can, at a cost
//! that grows with the square, and is the check of the other.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use thiserror::Error;

use crate::{Stream, math, ziggurat};

/// Most points of a path: 16 GiB while it is drawn.
pub const LONGEST: usize = 1 << 28;

/// Why there is no such noise.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FgnError {
    /// H is not that of a stationary process.
    #[error("H = {0} is no Hurst parameter: write one above 0 and below 1 (0.5 is independence, 0.8 long memory)")]
    Hurst(f64),
    /// No points, or too many.
    #[error("{0} points: a path of fractional Gaussian noise has from 1 to {most}", most = LONGEST)]
    Length(usize),
}

/// A plan for exact paths of one H and one length; see the module. Clones share what was planned.
#[derive(Clone)]
pub struct Fgn {
    h: f64,
    n: usize,
    /// Standard deviation of the real and of the imaginary part of each spectral line, 0 to N.
    deviations: Arc<Vec<f64>>,
    turns: Arc<Turns>,
    fft: Arc<dyn Fft<f64>>,
    /// The packed spectrum of N lines, and the transform's own room: kept from path to path.
    lines: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Fgn {
    /// Plans paths of `n` points with Hurst parameter `h`.
    ///
    /// # Errors
    /// Unless 0 < `h` < 1 and `n` is from 1 to [`LONGEST`].
    pub fn new(h: f64, n: usize) -> Result<Fgn, FgnError> {
        if !(h > 0.0 && h < 1.0) {
            return Err(FgnError::Hurst(h));
        }
        if !(1..=LONGEST).contains(&n) {
            return Err(FgnError::Length(n));
        }
        // Any N from n up will do: one that the transform is fast for.
        let half = fast_length(n);
        let fft = FftPlanner::new().plan_fft_inverse(half);
        let turns = Arc::new(Turns::new(half));
        let mut fgn = Fgn { h, n, deviations: Arc::default(), turns, fft, lines: Vec::new(), scratch: Vec::new() };
        fgn.make_room();
        fgn.deviations = fgn.plan(&autocovariances(h, half + 1)).into();
        // A plan that is kept or cloned has no room that only a path needs.
        (fgn.lines, fgn.scratch) = (Vec::new(), Vec::new());
        Ok(fgn)
    }

    fn make_room(&mut self) {
        self.lines.resize(self.fft.len(), Complex::ZERO);
        self.scratch.resize(self.fft.get_inplace_scratch_len(), Complex::ZERO);
    }

    /// The Hurst parameter.
    pub fn h(&self) -> f64 {
        self.h
    }

    /// Draws a path of `n` points, independent of those before. One of another length is another path, not a part of
    /// this one.
    pub fn path(&mut self, stream: &mut Stream) -> Vec<f64> {
        self.make_room();
        self.draw(stream);
        self.fft.process_with_scratch(&mut self.lines, &mut self.scratch);
        let pairs = self.n.div_ceil(2);
        let mut path = vec![0.0; 2 * pairs];
        for (pair, point) in path.chunks_exact_mut(2).zip(&self.lines) {
            (pair[0], pair[1]) = (point.re, point.im);
        }
        path.truncate(self.n);
        path
    }

    /// What [`Fgn::deviations`] says of `covariances` at lags 0 to N.
    ///
    /// The eigenvalues are the transform of the circulant's first row c_j, which goes the way of a path backwards: of
    /// Z_k, the sum over j of (c_2j + i c_(2j+1)) e^(2 pi i j k / N), the k-th eigenvalue is
    /// (Z_k + Z*_(N-k) - i e^(pi i k / N) (Z_k - Z*_(N-k))) / 2, and the (N-k)-th has a plus in front of the i.
    fn plan(&mut self, covariances: &[f64]) -> Vec<f64> {
        let half = self.lines.len();
        let at = |lag: usize| covariances[lag.min(2 * half - lag)];
        for (j, pair) in self.lines.iter_mut().enumerate() {
            *pair = Complex::new(at(2 * j), at(2 * j + 1));
        }
        self.fft.process_with_scratch(&mut self.lines, &mut self.scratch);
        let mut eigenvalues = vec![0.0; half + 1];
        let first = self.lines[0];
        (eigenvalues[0], eigenvalues[half]) = (first.re + first.im, first.re - first.im);
        for k in 1..=half / 2 {
            let (z, mirrored) = (self.lines[k], self.lines[half - k].conj());
            let (sum, turned) = (z + mirrored, self.turns.at(k) * (z - mirrored));
            (eigenvalues[k], eigenvalues[half - k]) = (0.5 * (sum - turned).re, 0.5 * (sum + turned).re);
        }
        let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
        for value in &mut eigenvalues {
            assert!(*value > -1e-9 * largest, "no eigenvalue of the covariances is negative beyond rounding");
            *value = (value.max(0.0) / (4 * half) as f64).sqrt();
        }
        eigenvalues
    }

    /// Fills `lines` with Z such that the sum over k of Z_k e^(2 pi i j k / N) is x_2j + i x_(2j+1).
    ///
    /// The real x_j are the sum over k = 0 .. 2N-1 of a_k e^(pi i j k / N), where a_(2N-k) is conjugate to a_k and
    /// E|a_k|^2 is the k-th eigenvalue over 2N. Even and odd points apart, that is
    /// Z_k = (a_k + a*_(N-k)) + i e^(pi i k / N) (a_k - a*_(N-k)), and Z_(N-k) is the conjugate of the difference where
    /// Z_k is the sum.
    fn draw(&mut self, stream: &mut Stream) {
        let half = self.lines.len();
        let mut normal = || -> f64 { ziggurat::normal(stream) };
        let (first, rest) = self.lines.split_first_mut().expect("a path has points");
        // The two lines of the spectrum that are real have all of their variance in one part.
        let ends = [self.deviations[0], self.deviations[half]].map(|deviation| deviation * 2f64.sqrt() * normal());
        *first = Complex::new(ends[0] + ends[1], ends[0] - ends[1]);
        let pairs = rest.len() / 2;
        let (low, high) = rest.split_at_mut(pairs);
        let deviations = self.deviations[1..].iter().zip(self.deviations[..half].iter().rev());
        for (k, ((low, high), (one, other))) in low.iter_mut().zip(high.iter_mut().rev()).zip(deviations).enumerate() {
            let a = Complex::new(normal(), normal()) * *one;
            let b = Complex::new(normal(), normal()) * *other;
            let sum = a + b.conj();
            let turned = self.turns.at(k + 1) * (a - b.conj());
            *low = sum + turned;
            *high = (sum - turned).conj();
        }
        if half.is_multiple_of(2) {
            let middle = Complex::new(normal(), normal()) * self.deviations[half / 2];
            self.lines[half / 2] = 2.0 * middle.conj();
        }
    }
}

impl fmt::Debug for Fgn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fgn({}, {})", self.h, self.n)
    }
}

/// Covariance of two points of standard fractional Gaussian noise that lie `lag` apart (Mandelbrot and Van Ness, SIAM
/// Review 10(4), 1968): (|k + 1|^2H - 2 |k|^2H + |k - 1|^2H) / 2, without the cancellation of that form.
pub fn autocovariance(h: f64, lag: usize) -> f64 {
    if lag == 0 {
        return 1.0;
    }
    let (k, power) = (lag as f64, 2.0 * h);
    if lag < 8 {
        return 0.5 * (math::pow(k + 1.0, power) - 2.0 * math::pow(k, power) + math::pow(k - 1.0, power));
    }
    // k^2H ((1 + 1/k)^2H - 2 + (1 - 1/k)^2H) / 2 by the even terms of the binomial series.
    let inverse = 1.0 / (k * k);
    let (mut sum, mut term) = (0.0, power * (power - 1.0) / 2.0);
    for order in (2..18).step_by(2) {
        sum += term;
        let order = f64::from(order);
        term *= inverse * (power - order) * (power - order - 1.0) / ((order + 1.0) * (order + 2.0));
    }
    math::pow(k, power - 2.0) * sum
}

/// The autocovariances at lags 0 to `count` - 1. Far out they are those at every 64th lag, continued by eight terms of
/// the binomial series (relative error below 1e-15), because a power for each would cost as much as the transform.
fn autocovariances(h: f64, count: usize) -> Vec<f64> {
    const BLOCK: usize = 64;
    const NEAR: usize = 64 * BLOCK;
    let mut all: Vec<f64> = (0..count.min(NEAR)).map(|lag| autocovariance(h, lag)).collect();
    all.reserve_exact(count - all.len());
    let power = 2.0 * h - 2.0;
    let mut binomial = [1.0; 8];
    for order in 1..binomial.len() {
        binomial[order] = binomial[order - 1] * (power - (order - 1) as f64) / order as f64;
    }
    let (leading, next) = ((power + 2.0) * (power + 1.0) / 2.0, power * (power - 1.0) / 12.0);
    for start in (NEAR..count).step_by(BLOCK) {
        let middle = (start + BLOCK / 2) as f64;
        let (at_middle, inverse) = (leading * math::pow(middle, power), 1.0 / middle);
        all.extend((start..count.min(start + BLOCK)).map(|lag| {
            let k = lag as f64;
            let x = (k - middle) * inverse;
            let grown = binomial.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient);
            at_middle * grown * (1.0 + next / (k * k))
        }));
    }
    all
}

/// i e^(pi i k / N) for k = 0 .. N - 1 from two short tables.
struct Turns {
    coarse: Vec<Complex<f64>>,
    fine: Vec<Complex<f64>>,
    bits: u32,
}

impl Turns {
    fn new(half: usize) -> Turns {
        let bits = half.ilog2() / 2;
        let step = PI / half as f64;
        let turn = |k: usize| Complex::from_polar(1.0, step * k as f64);
        let coarse = (0..=half >> bits).map(|k| Complex::<f64>::I * turn(k << bits)).collect();
        Turns { coarse, fine: (0..1 << bits).map(turn).collect(), bits }
    }

    #[inline]
    fn at(&self, k: usize) -> Complex<f64> {
        self.coarse[k >> self.bits] * self.fine[k & (self.fine.len() - 1)]
    }
}

/// The smallest length from `n` up that has no prime factor beyond 5.
fn fast_length(n: usize) -> usize {
    let mut best = n.next_power_of_two();
    let mut fives = 1;
    while fives < best {
        let mut odd = fives;
        while odd < best {
            best = best.min(odd * n.div_ceil(odd).next_power_of_two());
            odd *= 3;
        }
        fives *= 5;
    }
    best
}

/// Draws `n` points one after the other, each from its law given all before (Hosking, Water Resources Research 20(12),
/// 1984, by the recursion of Durbin and Levinson): exact, in time that grows with the square of `n`.
///
/// # Panics
/// Unless 0 < `h` < 1.
pub fn hosking(h: f64, n: usize, stream: &mut Stream) -> Vec<f64> {
    assert!(h > 0.0 && h < 1.0, "{}", FgnError::Hurst(h));
    let covariances = autocovariances(h, n);
    let mut path: Vec<f64> = Vec::with_capacity(n);
    // The best prediction's weights of the points before, the last one's first; and the variance of what it misses.
    let (mut weights, mut variance): (Vec<f64>, f64) = (Vec::with_capacity(n), 1.0);
    let mut before: Vec<f64> = Vec::with_capacity(n);
    for at in 0..n {
        if at > 0 {
            let known: f64 = weights.iter().zip(covariances[1..at].iter().rev()).map(|(w, c)| w * c).sum();
            let partial = (covariances[at] - known) / variance;
            before.clone_from(&weights);
            weights.iter_mut().zip(before.iter().rev()).for_each(|(weight, mirrored)| *weight -= partial * mirrored);
            weights.push(partial);
            variance *= 1.0 - partial * partial;
        }
        let predicted: f64 = weights.iter().zip(path.iter().rev()).map(|(w, x)| w * x).sum();
        let normal: f64 = ziggurat::normal(stream);
        path.push(predicted + variance.sqrt() * normal);
    }
    path
}
