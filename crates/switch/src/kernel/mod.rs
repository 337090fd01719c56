//! What a switch wants of the kernel: rules and routes for packets, a queue of those to decide, the ends of connections.

pub(super) mod before;
pub(super) mod elements;
pub(super) mod ends;
pub(super) mod only;
pub(super) mod queue;
pub(super) mod routes;
pub(super) mod rules;
pub(super) mod system;
