//! Means that hang on few long jobs: where the simulator's runs are too short for intervals of them, and how one knows.
//!
//! The spread of a run's parts says nothing of jobs that are in none of them. What a mean hangs on is known beforehand: behind a
//! job of size S served in order of arrival some S wait for S/2 each, so that the mean is one of S^2, where jobs share a
//! core it is one of S. Of so many jobs the skewness of such a mean is known from the law ([`Law::skewness_of_mean`]); the
//! intervals cover less than they say where it is large (of M/lognormal/1 at 0.8 and 10^6 jobs 95 % at a
//! skewness of 0.47, 92 % at 0.91, 86 % at 1.2), and then there is none. The price is that some means lose intervals that are
//! right, such as at low load, where few wait behind a long job.

use sojourn_model::Discipline;
use sojourn_sim::Report;
use sojourn_stats::Law;
use sojourn_stats::measure::NoInterval;
use sojourn_traffic::{Sizes, Workload};

use crate::spec::SystemQuestion;

/// Skewness of a mean from which its interval covers too little.
const SKEWNESS_MOST: f64 = 0.6;
/// Policies that send jobs past a server that a long one holds.
const AWARE: [&str; 2] = ["least-connections", "power-of-d"];

/// What jobs ask of a server, and how much of it is in others' way.
pub(crate) struct Work {
    laws: Vec<Law>,
    /// A long job is in the way of all that come while it is served.
    blocks: bool,
}

impl Work {
    /// Jobs of one law in one queue. One core of several is blocked by a job, and all of them only where the others are too few.
    pub(crate) fn of_queue(law: Law, discipline: &Discipline, is_limited: bool, cores: u32, utilization: f64) -> Work {
        let fills_others = utilization > 1.0 - 1.0 / f64::from(cores);
        Work { laws: vec![law], blocks: is_in_order(discipline) && !is_limited && fills_others }
    }

    /// The requests of a system; none where their laws are not known.
    pub(crate) fn of_system(asked: &SystemQuestion) -> Option<Work> {
        let server = &asked.system.hosts.first()?.server;
        let (shares, classes) = (asked.workload.shares()?, asked.workload.classes());
        if asked.workload.demand_moments().is_some() {
            return None;
        }
        let (mut fixed, mut sized) = (Vec::new(), Vec::new());
        for (class, (share, name)) in shares.iter().zip(classes).enumerate() {
            let demand = server.demand(name);
            fixed.push((*share, demand.fixed.clone()));
            if let (Some(Sizes::Law(law)), true) = (asked.workload.sizes_of(class), demand.per_byte > 0.0) {
                sized.push((*share, law.scaled(demand.per_byte)));
            }
        }
        let mixed = |mut parts: Vec<(f64, Law)>| {
            parts.retain(|(share, law)| *share > 0.0 && law.mean() > 0.0);
            (!parts.is_empty()).then(|| Law::mixture(parts))
        };
        let laws = [fixed, sized].into_iter().filter_map(mixed).collect();
        let servers = asked.system.servers().count() as f64;
        let is_aware = |policy: &str| AWARE.contains(&policy.split('(').next().unwrap_or_default().trim());
        let passes_by = asked.system.tiers.iter().all(|tier| is_aware(&tier.policy)) && !asked.system.tiers.is_empty();
        let open = match &asked.workload {
            Workload::Open(open) if open.patience.is_none() => Some(open),
            _ => None,
        };
        let utilization = open.and_then(|open| open.arrivals.rate()).map(|rate| rate / asked.capacity());
        let fills_others = !passes_by || utilization.is_none_or(|utilization| utilization > 1.0 - 1.0 / servers);
        // Who waits at a decider waits in order, too.
        let waits = asked.system.tiers.iter().any(|tier| tier.waits);
        let is_blocked =
            |discipline: &Discipline, capacity: Option<u32>| (waits || is_in_order(discipline)) && capacity.is_none();
        let blocks =
            open.is_some() && fills_others && asked.system.servers().any(|of| is_blocked(&of.discipline, of.capacity));
        Some(Work { laws, blocks })
    }

    /// Takes the intervals of what `report` can say of no run as long as its own, with a note.
    pub(crate) fn withhold(&self, report: &mut Report) {
        let in_way = if self.blocks { 2 } else { 1 };
        let mut of_power = [None, None];
        for power in 1..=in_way {
            let skewness = self.laws.iter().map(|law| (law.skewness_of_mean(power, report.jobs), law));
            let worst = skewness.max_by(|one, other| one.0.total_cmp(&other.0));
            of_power[power as usize - 1] = worst.filter(|(skewness, _)| *skewness > SKEWNESS_MOST);
        }
        let response = of_power[in_way as usize - 1];
        let mut names = Vec::new();
        for measure in &mut report.measures {
            let heavy = match measure.metric.as_str() {
                "service_time_mean" | "utilization" => of_power[0],
                metric if ["response_time_mean", "waiting_time_mean"].iter().any(|of| metric.starts_with(of)) => {
                    response
                }
                _ => None,
            };
            if heavy.is_some() && measure.estimate.interval().is_some_and(|(low, high)| low < high) {
                measure.estimate = measure.estimate.clone().withheld(NoInterval::TooShort);
                names.push(measure.metric.clone());
            }
        }
        let Some((_, law)) = of_power[0].or(response).filter(|_| !names.is_empty()) else { return };
        let never = law.tail_index().filter(|index| *index <= 2.0 * f64::from(in_way)).map_or(String::new(), |index| {
            format!("; with a tail index of {index} that does not end, since the variance is infinite")
        });
        report.notes.push(format!(
            "no interval for {}: the longest jobs decide it, and {} jobs have too few of them{never}. Percentiles are known; a \
             bounded law has means",
            names.join(", "),
            report.jobs
        ));
    }
}

/// Whether a job waits until those before it are served.
fn is_in_order(discipline: &Discipline) -> bool {
    use Discipline::{Fcfs, Lcfs, LimitedPs, Priority};
    matches!(discipline, Fcfs | Lcfs { preemptive: false } | Priority { .. } | LimitedPs { helpers: 1 })
}
