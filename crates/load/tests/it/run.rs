//! Short runs for the tests of the other files.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_load::{Load, LoadError, Report, Schedule, Stop, Targets};
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Planned, Request};

pub(crate) const MS: u64 = 1_000_000;

/// A request of client `client` without end to its patience.
pub(crate) fn request(client: u32) -> Request {
    Request { client, class: 0, object: 0, size: 100, demand: Span(7), patience: Span::FOREVER }
}

/// `count` requests, one each `gap`.
pub(crate) fn steady(count: u64, gap: Span) -> impl Iterator<Item = Planned> + Send + 'static {
    (0..count).map(move |k| Planned { at: Time(k * gap.0), request: request((k % 5) as u32) })
}

/// An open load of these requests, with records.
pub(crate) fn open(target: SocketAddr, plan: impl Iterator<Item = Planned> + Send + 'static) -> Load {
    let mut load = Load::new(target, "test", Schedule::open(plan), Targets::Work);
    load.keep_records = true;
    load
}

/// A load of `requests` requests by `connections` users that never think.
pub(crate) fn saturate(target: SocketAddr, connections: u32, requests: u64) -> Load {
    let mut load = Load::new(target, "test", Schedule::saturate(connections), Targets::Fixed("/".into()));
    load.stop = Stop::Requests(requests);
    load.keep_records = true;
    load
}

pub(crate) fn run(load: Load) -> Report {
    try_run(load).expect("the server is there")
}

pub(crate) fn try_run(load: Load) -> Result<Report, LoadError> {
    let report = sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|_| {})?;
    let counts = report.counts;
    assert_eq!(counts.planned, counts.ok + counts.failed() + counts.abandoned + counts.unfinished);
    if let Some(records) = &report.records {
        assert_eq!(records.len() as u64, counts.planned, "one record per request");
        for record in records {
            let passed =
                [record.begun, record.resolved, record.connected, record.secured, record.sent, record.first_byte];
            let passed: Vec<Time> = passed.into_iter().flatten().collect();
            assert!(passed.is_sorted(), "the instants of a request follow one another: {record:?}");
            assert!(record.sent.is_none_or(|sent| sent >= record.planned && sent <= record.done));
            assert!(record.first_byte.is_none_or(|first| first >= record.sent.unwrap() && first <= record.done));
        }
    }
    Ok(report)
}
