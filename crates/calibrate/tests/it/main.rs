//! The tests of this crate, one file per behaviour.

mod curve;
mod emulated;
mod hardware;
mod keep_alive;
mod log;
mod path;
mod proxy;
mod refusals;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod support;
