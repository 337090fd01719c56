//! The tests of this crate, one file per behaviour.

mod emulated;
mod refusals;
mod support;
