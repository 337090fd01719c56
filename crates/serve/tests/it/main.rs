//! The live parts, over real sockets on free loopback ports.

mod apache;
mod child;
mod gateway_faces;
mod gateway_failures;
mod gateway_forwards;
mod gateway_policies;
mod gateway_tiers;
mod node_files;
mod node_work;
mod program;
mod redirector;
mod support;
