//! What would deceive other instruments, over real sockets: the report shows the truth, or the verdict is a doubt.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use sojourn_load::{Proof, Report};
use sojourn_stats::{Dimension, Law, Span, Time};
use sojourn_traffic::Planned;

use crate::run::{MS, open, request, run, steady};
use crate::server::{Server, ok};

/// A server that does nothing at all for 100 ms after every 500 requests.
fn stalling() -> Server {
    let busy = Mutex::new(());
    Server::start(move |asked| {
        let _one_at_a_time = busy.lock().unwrap();
        if asked.number % 500 == 499 {
            // Nothing is ever sent: the wait always runs its time.
            let (_keep, never) = channel::<()>();
            let _ = never.recv_timeout(Duration::from_millis(100));
        }
        vec![ok("x")]
    })
}

fn p99_s(report: &Report) -> (f64, f64) {
    let of = |times: &sojourn_stats::Histogram| times.quantile(0.99).unwrap() as f64 * 1e-9;
    (of(&report.response), of(&report.service))
}

fn doubts(report: &Report) -> String {
    match &report.verdict {
        Proof::Suspect(_) => report.verdict.reasons().join("; "),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_stalled_server_cannot_hide_its_queue() {
    // One connection: while the server stalls nothing more is sent, and times from sent know two long requests only.
    let server = stalling();
    let mut load = open(server.address, steady(1400, Span(MS)));
    load.connections_max = 1;
    let report = run(load);
    assert_eq!(report.counts.ok, 1400);
    let (response, service) = p99_s(&report);
    assert!(response > 0.06, "the 99th percentile from planned is {response} s");
    assert!(service < response / 2.0, "and from sent {service} s");
    assert!(doubts(&report).contains("had to wait for one of the 1 connections"), "{:?}", report.verdict);

    // Connections enough: all are sent when planned, and both show it.
    let server = stalling();
    let report = run(open(server.address, steady(1400, Span(MS))));
    let (response, service) = p99_s(&report);
    assert!(response > 0.06 && service > 0.06, "{response} s from planned, {service} s from sent");
    assert_eq!(report.counts.queued, 0);
}

#[test]
fn a_client_that_cannot_follow_is_suspect() {
    // A million requests a second.
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = open(server.address, steady(20_000, Span(1000)));
    load.connections_max = 16;
    let report = run(load);
    assert!(doubts(&report).contains("requests/s were begun of"), "{:?}", report.verdict);
    assert!(report.pace.achieved < 0.9 * report.pace.offered, "{:?}", report.pace);
    assert_eq!(report.client_busy.len(), 1);
    assert!(report.client_waiting.iter().all(|share| (0.0..=1.0).contains(share)), "{:?}", report.client_waiting);
}

#[test]
fn a_schedule_for_each_connection_is_not_the_poisson_process_asked_for() {
    let server = Server::start(|_| vec![ok("x")]);
    // Sixteen clocks of 16 ms each; phases as good as random.
    let mut phases: Vec<u64> = (0..16).map(|clock: u64| clock * clock * 2_718_281 % (16 * MS)).collect();
    phases.sort_unstable();
    let plan = (0..1600).map(move |k: u64| Planned {
        at: Time(k / 16 * 16 * MS + phases[(k % 16) as usize]),
        request: request((k % 16) as u32),
    });
    let mut load = open(server.address, plan);
    load.asked = Some(Law::parse("exponential(mean = 1 ms)", Dimension::Time).unwrap());
    let report = run(load);
    let found = doubts(&report);
    assert!(found.contains("many schedules ran side by side"), "{found}: {:?}", report.gaps);
}
