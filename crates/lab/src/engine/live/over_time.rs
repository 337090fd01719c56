//! Where the requests of a live run went over time, from the records of all of them.

use sojourn_load::{Outcome, Report};
use sojourn_model::system::server_name;
use sojourn_traffic::Workload;

use super::super::over_time::{by_site, interval};
use crate::answer::Flow;
use crate::spec::{Spec, SystemQuestion};

/// Whether records are kept for it.
pub(super) fn is_kept(asked: &SystemQuestion) -> bool {
    !asked.system.faults.is_empty() && !matches!(asked.workload, Workload::Sessions(_))
}

/// Requests per second of each site, warm-up included.
pub(super) fn of(experiment: &Spec, asked: &SystemQuestion, report: &Report) -> Vec<Flow> {
    let (system, duration) = (&asked.system, experiment.run.live.duration);
    let records = report.records.as_ref().filter(|_| is_kept(asked));
    let (Some(every), Some(records)) = (interval(system, Some(duration)), records) else { return Vec::new() };
    let intervals = duration.0.div_ceil(every.0) as usize;
    let host_of = |name: &String| (0..system.hosts.len()).find(|host| server_name(*host) == *name);
    let hosts: Vec<Option<usize>> = report.backends.iter().map(|(name, _)| host_of(name)).collect();
    let mut servers = vec![vec![0.0; intervals]; system.hosts.len()];
    let mut failed = vec![0.0; intervals];
    let each = 1.0 / every.as_secs_f64();
    for record in records {
        let at = (record.planned.0 / every.0) as usize;
        if at >= intervals {
            continue;
        }
        let host = record.backend.and_then(|backend| hosts.get(usize::from(backend)).copied().flatten());
        match (record.outcome, host) {
            (Outcome::Ok, Some(host)) => servers[host][at] += each,
            (Outcome::Ok, None) => {}
            _ => failed[at] += each,
        }
    }
    by_site(system, every, &servers, &failed)
}
