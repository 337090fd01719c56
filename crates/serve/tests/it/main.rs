//! The live parts, over real sockets on free loopback ports.

mod apache;
mod child;
mod gateway;
mod limits;
mod node_files;
mod node_work;
mod program;
mod redirector;
mod skip;
mod stopping;
mod support;
