//! What the simulator says against what is known exactly.

mod balancing;
mod closed;
mod determinism;
mod exact;
mod links;
mod losses;
mod plan_run;
mod refusals;
mod support;
