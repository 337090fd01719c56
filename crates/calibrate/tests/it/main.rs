//! The tests of this crate, one file per behaviour.

mod emulated;
mod path;
mod proxy;
mod refusals;
mod support;
