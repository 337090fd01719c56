//! What hangs on few long jobs: where the simulator's runs are too short for intervals of means and percentiles, and how one
//! knows.
//!
//! The spread of a run's parts says nothing of jobs that are in none of them. What a mean hangs on is known beforehand: behind a
//! job of size S served in order of arrival some S wait for S/2 each, so that the mean is one of S^2, where jobs share a
//! core it is one of S. Of so many jobs the skewness of such a mean is known from the law ([`Law::skewness_of_mean`]); the
//! intervals cover less than they say where it is large (of M/lognormal/1 at 0.8 and 10^6 jobs 95 % at a
//! skewness of 0.47, 92 % at 0.91, 86 % at 1.2), and then there is none. The price is that some means lose intervals that are
//! right, such as at low load, where few wait behind a long job.
//!
//! Of a percentile t, so many jobs lie beyond it as wait behind those longer than t: one of size S has about S - t in its way,
//! and rho/(1-rho) E[S - t; S > t] / E[S] is their share (Pakes, Journal of Applied Probability 12, 1975, for laws whose tails
//! are heavy; others have more jobs beyond, so that this asks too little of them, but there the spread of the parts is enough).
//! The longest have the most behind them, so that the jobs longer than t are worth E[(S - t)+]^2 / E[((S - t)+)^2] of all,
//! which are to be 20. It is asked of the law and not of the run: runs with few long jobs would look long enough, and their
//! percentiles are low.

use sojourn_model::Discipline;
use sojourn_sim::Report;
use sojourn_stats::Law;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::parts::INDEPENDENT;
use sojourn_traffic::{Sizes, Workload};

use crate::spec::SystemQuestion;

/// Skewness of a mean from which its interval covers too little.
const SKEWNESS_MOST: f64 = 0.6;
/// Means that jobs behind a long one make longer; those of classes begin so.
const MEANS: [&str; 3] = ["response_time_mean", "waiting_time_mean", "number_in_system_mean"];
/// Policies that send jobs past a server that a long one holds.
const AWARE: [&str; 2] = ["least-connections", "power-of-d"];

/// What jobs ask of a server, and how much of it is in others' way.
pub(crate) struct Work {
    laws: Vec<Law>,
    /// A long job is in the way of all that come while it is served.
    blocks: bool,
    /// Of the servers; none where it is not known beforehand.
    utilization: Option<f64>,
}

impl Work {
    /// Jobs of one law in one queue. One core of several is blocked by a job, and all of them only where the others are too few.
    pub(crate) fn of_queue(law: Law, discipline: &Discipline, is_limited: bool, cores: u32, utilization: f64) -> Work {
        let fills_others = utilization > 1.0 - 1.0 / f64::from(cores);
        let blocks = is_in_order(discipline) && !is_limited && fills_others;
        Work { laws: vec![law], blocks, utilization: Some(utilization) }
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
        Some(Work { laws, blocks, utilization })
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
                metric if MEANS.iter().any(|of| metric.starts_with(of)) => response,
                metric => self.behind_few(metric, report.jobs),
            };
            if heavy.is_some() && measure.estimate.interval().is_some_and(|(low, high)| low < high) {
                measure.estimate = measure.estimate.clone().withheld(NoInterval::TooShort);
                names.push(measure.metric.clone());
            }
        }
        if names.is_empty() {
            return;
        }
        let index = of_power[0].or(response).and_then(|(_, law)| law.tail_index());
        let never = index.filter(|index| *index <= 2.0 * f64::from(in_way)).map_or(String::new(), |index| {
            format!(
                ". Of a mean with a tail index of {index} that does not end, since the variance is infinite; a law with a \
                 largest value has one"
            )
        });
        report.notes.push(format!(
            "no interval for {}: the longest jobs decide it, and {} jobs have too few of them{never}",
            names.join(", "),
            report.jobs
        ));
    }

    /// The law whose long jobs are too few of `jobs` to tell the percentile of this name.
    fn behind_few(&self, metric: &str, jobs: u64) -> Option<(f64, &Law)> {
        let percent: f64 = metric.strip_prefix("response_time_p")?.parse().ok()?;
        let utilization = self.utilization.filter(|_| self.blocks)?;
        let worth = |law: &Law| long_jobs(law, utilization, 1.0 - percent / 100.0, jobs);
        let worst =
            self.laws.iter().filter_map(|law| Some((worth(law)?, law))).min_by(|one, other| one.0.total_cmp(&other.0));
        worst.filter(|(worth, _)| *worth < INDEPENDENT)
    }
}

/// How many independent long jobs of `jobs` tell what time a share `beyond` of the response times is above; none where it does
/// not hang on long jobs.
fn long_jobs(law: &Law, utilization: f64, beyond: f64, jobs: u64) -> Option<f64> {
    let most = law.largest_of(jobs);
    let above = |t: f64| law.limited_moment(1, most) - law.limited_moment(1, t);
    let share = utilization / (1.0 - utilization) / law.mean();
    if utilization >= 1.0 || share * above(0.0) <= beyond {
        return None;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if share * above(middle) > beyond { low = middle } else { high = middle }
    }
    let squares = law.limited_moment(2, most) - law.limited_moment(2, low) - 2.0 * low * above(low);
    Some(jobs as f64 * above(low).powi(2) / squares)
}

/// Whether a job waits until those before it are served.
fn is_in_order(discipline: &Discipline) -> bool {
    use Discipline::{Fcfs, Lcfs, LimitedPs, Priority};
    matches!(discipline, Fcfs | Lcfs { preemptive: false } | Priority { .. } | LimitedPs { helpers: 1 })
}
