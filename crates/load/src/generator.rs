//! The generator: a run from its settings to its report, and the loop of its threads.

pub(crate) mod attempts;
pub(crate) mod awake;
pub(crate) mod clock;
pub(crate) mod host;
pub(crate) mod load;
mod probe;
pub(crate) mod progress;
pub(crate) mod run;
pub(crate) mod worker;
