//! Markov chains that move one level at a time: block by block, as quasi-birth-death processes.
//!
//! Above some level all blocks are the same, and there the probabilities fall by a matrix, pi(n+1) = pi(n) R, found by
//! logarithmic reduction (Latouche and Ramaswami, A logarithmic reduction algorithm for quasi-birth-death processes, J.
//! Applied Probability 30, 1993): some ten steps whatever the load, each doubling the number of levels looked at. The
//! levels below are eliminated from the top down (Gaver, Jacobs and Latouche, Finite birth-and-death models in randomly
//! changing environments, Advances in Applied Probability 16, 1984). Both only add and multiply what is not negative,
//! so that small probabilities keep their digits. The price is the cube of the states in a level.

use nalgebra::{DMatrix, DVector};

/// A chain, as its blocks of rates between levels.
pub(crate) trait Levels {
    /// The level from which on all blocks are the same (`stay` and `up` of it, `down` into it), or the last one.
    fn boundary(&self) -> usize;
    /// Whether there is nothing above the boundary.
    fn ends(&self) -> bool;
    /// Rates from `level` >= 1 to the one below.
    fn down(&self, level: usize) -> DMatrix<f64>;
    /// Rates inside `level`, with the negative total of all rates out of a state on the diagonal.
    fn stay(&self, level: usize) -> DMatrix<f64>;
    /// Rates from `level` to the one above.
    fn up(&self, level: usize) -> DMatrix<f64>;
}

/// The stationary law of a chain.
pub(crate) struct Stationary {
    /// The probabilities of the states of each level up to the boundary.
    pub(crate) levels: Vec<DVector<f64>>,
    /// Those of the states at all levels above it together.
    pub(crate) above: DVector<f64>,
    /// Those, each times the number of levels that it is above the boundary.
    pub(crate) above_weighted: DVector<f64>,
}

/// Solves a chain that has a stationary law. None where the numbers fail.
pub(crate) fn solve(chain: &impl Levels) -> Option<Stationary> {
    let top = chain.boundary();
    let states = chain.stay(top).nrows();
    let mut closed = chain.stay(top);
    let mut falling = None;
    if !chain.ends() {
        let (up, down) = (chain.up(top), chain.down(top + 1));
        let rate = rate_matrix(&up, &closed, &down)?;
        closed += &rate * &down;
        falling = Some(rate);
    }
    // pi(n+1) = pi(n) step(n), from the top down; `closed` is what is left of the levels above.
    let mut steps = Vec::with_capacity(top);
    for level in (0..top).rev() {
        let step = right_divide(&chain.up(level), &-closed)?;
        closed = chain.stay(level) + &step * chain.down(level + 1);
        steps.push(step);
    }
    let mut pi = stationary(&closed)?;
    let mut levels = Vec::with_capacity(top + 1);
    while let Some(step) = steps.pop() {
        let next = step.tr_mul(&pi);
        levels.push(std::mem::replace(&mut pi, next));
    }
    let (mut above, mut above_weighted) = (DVector::zeros(states), DVector::zeros(states));
    if let Some(rate) = falling {
        // pi R (I-R)^-1, and pi R (I-R)^-2.
        let decomposed = (DMatrix::identity(states, states) - &rate).transpose().lu();
        above = decomposed.solve(&rate.tr_mul(&pi))?;
        above_weighted = decomposed.solve(&above)?;
    }
    levels.push(pi);
    let total = levels.iter().map(DVector::sum).sum::<f64>() + above.sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    levels.iter_mut().chain([&mut above, &mut above_weighted]).for_each(|part| *part /= total);
    Some(Stationary { levels, above, above_weighted })
}

/// R of the homogeneous levels.
fn rate_matrix(up: &DMatrix<f64>, stay: &DMatrix<f64>, down: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let states = stay.nrows();
    let inside = (-stay).lu();
    let (mut rise, mut fall) = (inside.solve(up)?, inside.solve(down)?);
    // G: where the level below is entered first. Its rows sum to 1 where the chain comes back.
    let (mut entered, mut through) = (fall.clone(), rise.clone());
    for _ in 0..64 {
        let both = DMatrix::identity(states, states) - &rise * &fall - &fall * &rise;
        let both = both.lu();
        let (twice_up, twice_down) = (both.solve(&(&rise * &rise))?, both.solve(&(&fall * &fall))?);
        (rise, fall) = (twice_up, twice_down);
        entered += &through * &fall;
        through = &through * &rise;
        if through.amax() < 1e-16 {
            break;
        }
    }
    right_divide(up, &-(stay + up * entered))
}

/// X with X m = a.
fn right_divide(a: &DMatrix<f64>, m: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    Some(m.transpose().lu().solve(&a.transpose())?.transpose())
}

/// x with x q = 0 and the sum 1: one balance equation is implied by the others and gives way to the sum.
fn stationary(q: &DMatrix<f64>) -> Option<DVector<f64>> {
    let states = q.nrows();
    let mut equations = q.transpose();
    equations.row_mut(states - 1).fill(1.0);
    let mut right = DVector::zeros(states);
    right[states - 1] = 1.0;
    equations.lu().solve(&right)
}
