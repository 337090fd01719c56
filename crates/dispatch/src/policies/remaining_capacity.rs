//! Remaining capacity: drawn with chances in proportion to the free capacity last reported.
//!
//! `weighted(by = free-capacity)` under the name that the front node's procedure has in its source (Agarwal 2001, section
//! 3.5.2, `forward_request`: servers "in proportion to their remaining capacity"). It swings above a utilisation of one half,
//! as `free-capacity` does.

use super::Entry;
use super::weighted::{By, Weighted};

pub(super) const ENTRY: Entry = Entry {
    name: "remaining-capacity",
    summary: "drawn in proportion to the free capacity last reported",
    build: |_| Ok(Box::new(Weighted::by(By::FreeCapacity))),
};
