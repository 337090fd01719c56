//! What the routed fabric refuses.

use sojourn_model::System;
use sojourn_traffic::Workload;

use super::{balancers, faults, servers};
use crate::capability::{self, Combination};
use crate::control::SimError;

/// Refuses what the simulator does not have yet, and what makes no sense.
pub(crate) fn refuse(system: &System, workload: &Workload) -> Result<(), SimError> {
    capability::check(&Combination::of_sim(system, workload), capability::Engine::Sim).map_err(SimError::NotYet)?;
    balancers::check(system, workload)?;
    faults::check(system)?;
    servers::check(system, workload.objects().len())
}
