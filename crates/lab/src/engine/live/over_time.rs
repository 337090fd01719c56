//! What came of the requests of a live run over time, and where they went, from the records of all of them.

use sojourn_load::{Outcome, Record, Report};
use sojourn_model::system::{Fault, server_name};
use sojourn_sim::{Failure, OutcomesOverTime, Recovery};
use sojourn_stats::{Measure, Span, Time};
use sojourn_traffic::Workload;

use super::super::over_time::{by_site, interval};
use crate::answer::{Flow, MetricOverTime};
use crate::spec::{Spec, SystemQuestion};

/// Of what the load counts attempts by.
const SECOND: u64 = 1_000_000_000;

/// Whether records are kept for it.
pub(super) fn is_kept(asked: &SystemQuestion) -> bool {
    // The length of the run does not decide whether.
    let is_told = interval(&asked.system, Some(Span(1))).is_some();
    is_told && !matches!(asked.workload, Workload::Sessions(_))
}

/// Outcomes over time, what comes of them, and how it recovered, where these faults happened.
pub(super) fn outcomes(
    experiment: &Spec,
    asked: &SystemQuestion,
    report: &Report,
    faults: &[Fault],
) -> (Vec<MetricOverTime>, Vec<Measure>, Vec<Recovery>) {
    let live = &experiment.run.live;
    let records = report.records.as_ref().filter(|_| is_kept(asked));
    let (Some(every), Some(records)) = (interval(&asked.system, Some(live.duration)), records) else {
        return Default::default();
    };
    let spans = faults.iter().map(|fault| (fault.at, fault.until.unwrap_or(Time::NEVER))).collect();
    let mut over_time = OutcomesOverTime::new(every, spans, Time::ZERO + live.duration);
    let rules = &asked.system.rules;
    if rules.retries.is_none() && rules.hedge.is_none() {
        over_time.never_retries();
    }
    for (second, of) in (0..).zip(&report.seconds) {
        (0..of.again).for_each(|_| over_time.again(Time(second * SECOND)));
    }
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by_key(|record| record.done);
    for record in records {
        over_time.arrived(record.planned);
        let failure = match record.outcome {
            Outcome::Ok => {
                over_time.answered(record.done, record.done.saturating_since(record.planned));
                continue;
            }
            Outcome::Timeout => Failure::TimedOut,
            Outcome::ClientError | Outcome::ServerError | Outcome::Check | Outcome::Take => Failure::Error,
            Outcome::Abandoned => Failure::GivenUp,
            // It never ended.
            Outcome::Unfinished => continue,
            _ => Failure::Refused,
        };
        over_time.failed(record.done, failure);
    }
    let (columns, measures, recoveries) = over_time.told(Time::ZERO + live.warm_up);
    (super::super::over_time::outcomes(every, columns), measures, recoveries)
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
