//! Networks of queues: chains of jobs that visit stations in order, and caches that say which way they take.
//!
//! What a network is, and the rows that it is answered in, are [`sojourn_model::network`]'s. Its queues are
//! [`sojourn_model::Station`]s, the same that live nodes run; a delay serves all jobs at once. What happens in one
//! replication is in `replication`; replications, warm-up and the stopping rule are those of every other study, over the
//! response times of all chains together. The run goes on until the mean of every chain is sharp as well.
//!
//! # What is taken how
//!
//! * An open chain's first job comes one gap after the start; users begin by thinking.
//! * The response time is from coming into the network to leaving it; thinking is not in it.
//! * A job carries its size through all of its steps. Under a cache the size is the object's, drawn once for all
//!   replications: they ask the same site.
//! * A cache begins full of what an endless past would have left there (`cache`). A miss brings its object in at once.
//! * Where the rate of a station depends on the number there, all share it equally (`graded`).

mod cache;
mod events;
mod graded;
mod jobs;
mod layout;
mod replication;
mod summary;
mod tally;

use std::sync::Arc;

use sojourn_model::network::{Chain, Network, Population};

use layout::Layout;
use replication::NetworkReplication;

use crate::beginning;
use crate::control::{Control, Progress, Report, SimError};
use crate::course::Course;
use crate::study::{ALWAYS, Forgets, Study, Subject};

/// Simulates `network`; `progress` is called now and then, from any thread.
///
/// # Errors
/// When the network makes no sense or, without a horizon, never settles.
pub fn run_network(
    network: &Network,
    control: &Control,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, SimError> {
    network.check().map_err(|error| SimError::Invalid(error.to_string()))?;
    check_time_passes(network)?;
    let mut notes = Vec::new();
    if let Some(fault) = overload(network) {
        match control.horizon {
            None => return Err(SimError::Invalid(fault)),
            Some(_) => notes.push(format!("{fault}: what is shown is of an overloaded network")),
        }
    }
    let rate: Option<f64> = network.chains.iter().map(Chain::arrival_rate).sum();
    notes.extend(rate.and_then(|rate| beginning::begins_empty(control, rate)));
    let layout = Arc::new(Layout::new(network, control.seed));
    let mut always: Vec<String> = ALWAYS.map(String::from).to_vec();
    always.extend(network.chains.iter().map(|chain| format!("response_time_mean_{}", chain.name)));
    let servers = network.stations.len();
    let users = network.chains.iter().map(|chain| match &chain.population {
        Population::Closed { users, .. } => u64::from(*users),
        Population::Open { .. } => 0,
    });
    let users = users.sum();
    let make = Box::new(move |seed: u64, course: &Course| Ok(NetworkReplication::new(&layout, seed, course)));
    let closing = Box::new(|_: &[NetworkReplication], _: Option<&_>| Ok((Vec::new(), Vec::new())));
    let (has_end, forgets) = (false, Forgets::AsOnePart);
    let subject = Subject { make, has_end, servers, users, rate, forgets, always, notes, closing };
    Study::new(subject, control, progress)?.run()
}

/// Refuses users without any think time or work: virtual time would stand still.
fn check_time_passes(network: &Network) -> Result<(), SimError> {
    for chain in &network.chains {
        let Population::Closed { think, .. } = &chain.population else { continue };
        let is_idle = |branch: usize| chain.branches[branch].steps.iter().all(|step| chain.demand_mean(step) == 0.0);
        let always = |branch: usize| chain.cache.is_some() || chain.branches[branch].share > 1.0 - 1e-9;
        let timeless = (0..chain.branches.len()).find(|branch| is_idle(*branch) && always(*branch));
        if let (true, Some(branch)) = (think.mean() == 0.0, timeless) {
            return Err(SimError::Invalid(format!(
                "users of `{}` neither think nor work on the branch `{}`, so that no time passes: give them a think time, \
                 or a step with a demand",
                chain.name, chain.branches[branch].name
            )));
        }
    }
    Ok(())
}

/// Which open chain never settles. How often a cache hits is not known beforehand: it is taken at its best.
fn overload(network: &Network) -> Option<String> {
    let ends = [0.0, 1.0].map(|hit_ratio| network.unstable(&vec![hit_ratio; network.chains.len()]));
    let [Some(unstable), Some(other)] = ends else { return None };
    let unstable = if other.load < unstable.load { other } else { unstable };
    let (chain, station) = (&network.chains[unstable.chain].name, &network.stations[unstable.station].name);
    let rate = network.chains[unstable.chain].arrival_rate().unwrap_or_default();
    Some(format!(
        "the open chain `{chain}` never settles: utilization {:.3} of `{station}` is not below 1; stable below {:.4} /s (now \
         {rate:.4} /s)",
        unstable.load, unstable.largest_rate
    ))
}
