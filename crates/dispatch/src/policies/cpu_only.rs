//! Processor only: the node whose processor is estimated to be done with the request first, being sent there included; the
//! disk and the network do not count.
//!
//! What a scheduler that goes by one resource would do, beside [`super::sweb`], whose parameters `rise`, `connect`,
//! `latency`, `load`, `dedicated`, `class` and `spill` it takes. Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a
//! scalable World Wide Web server on multicomputers, IPPS 1996, section 1 ("single-faceted").

use super::Entry;
use super::sweb::Sweb;

pub(super) const ENTRY: Entry = Entry {
    name: "cpu-only",
    summary: "shortest estimate of redirection and processor together, at nodes that redirect",
    build: |params| Ok(Box::new(Sweb::of_cpu_only(params)?)),
};
