//! What the simulator says against what is known exactly.

mod balancing;
mod browsing_tiers;
mod classes;
mod closed;
mod coverage;
mod determinism;
mod emitted;
mod exact;
mod faces;
mod instants;
mod links;
mod long_memory;
mod losses;
mod network_caches;
mod networks;
mod plan_run;
mod prediction;
mod refusals;
mod routed;
mod saturation;
mod sessions;
mod single;
mod support;
mod trace;
mod transfers;
