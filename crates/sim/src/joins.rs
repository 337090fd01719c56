//! How the counts of several parts of a run become those of all, or of what is left.

use std::ops::{Add, Sub};

/// What joins two counts: an operation on each kind of number.
pub(crate) struct Joins {
    pub(crate) small: fn(u64, u64) -> u64,
    pub(crate) large: fn(u128, u128) -> u128,
    pub(crate) real: fn(f64, f64) -> f64,
}

/// The counts of both together.
pub(crate) const SUM: Joins =
    Joins { small: |one, other| one + other, large: |one, other| one + other, real: f64::add };

/// What was counted after the other was.
pub(crate) const DIFFERENCE: Joins =
    Joins { small: |one, other| one - other, large: |one, other| one - other, real: f64::sub };
