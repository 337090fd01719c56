//! Least connections with ties to the lowest id, the variant of Bryhni, Klovning and Kure (2000): another name of
//! `least-connections(ties = first)`, for records and files that use it. For real use take `least-connections`.

use super::Entry;
use super::least_connections::LeastConnections;
use crate::Ties;

pub(super) const ENTRY: Entry = Entry {
    name: "least-connections-lowest-id",
    summary: "least-connections(ties = first): ties to the lowest number (Bryhni 2000)",
    build: |_| Ok(Box::new(LeastConnections { ties: Ties::First })),
};
