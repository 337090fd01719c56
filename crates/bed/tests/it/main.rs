//! Children are this test binary, run again as one of the tests that only serve.

mod child;
mod ended;
mod ground;
mod link;
mod namespaces;
mod network;
#[path = "../../../part/tests/it/skip.rs"]
mod skip;
mod support;
