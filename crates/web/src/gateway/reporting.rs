//! Reports that load daemons send: taken by the thread that acts, and told to the one decider; those that backends make by
//! themselves as ORCA has them; and what this one tells of its backends where they report nothing.
//!
//! What silence means, the [`Front`](sojourn_dispatch::Front) knows.

use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::HeaderMap;
use serde_json::json;
use sojourn_dispatch::{BackendId, Front};
use sojourn_part::clock;
use sojourn_part::settings::gateway::{Forward, Named};
use sojourn_report::orca::{Load, stream};
use sojourn_report::upstream::FrontNode;
use sojourn_report::{Dropped, Inbox, Metric, Metrics, orca};
use sojourn_stats::Span;

use super::worker::Worker;

/// Takes reports for as long as it is polled; `dropped` counts those that were not believed.
pub(super) async fn hear(inbox: Inbox, worker: Rc<Worker>, dropped: Arc<Mutex<Dropped>>) {
    let Err(error) = inbox
        .hear(|told, count, _| {
            for told in told {
                if let Some((event, backend)) = told.news() {
                    worker.board.emit(&json!({"event": event, "backend": worker.board.name(backend)}));
                }
            }
            worker.board.take(told);
            *dropped.lock().unwrap_or_else(PoisonError::into_inner) = count;
        })
        .await;
    worker.board.emit(&json!({"event": "reports_not_heard", "why": error.to_string()}));
}

/// Time between two attempts to have a stream of reports.
const AGAIN: Span = Span(1_000_000_000);

/// What hears the streams of ORCA of the backends that have one, each for as long as it is polled.
pub(super) fn streams(worker: &Rc<Worker>) -> Vec<impl Future<Output = ()> + use<>> {
    let version = worker.version();
    let Forward { orca, orca_every, .. } = &version.settings.face;
    let stream = |Named { name, value: server }: &Named<SocketAddr>| {
        Some(hear_stream(Rc::clone(worker), version.id(name)?, *server, *orca_every))
    };
    orca.iter().filter_map(stream).collect()
}

/// A stream that breaks off is asked for again. Meanwhile the last report counts, whose age the policy sees.
async fn hear_stream(worker: Rc<Worker>, backend: BackendId, server: SocketAddr, every: Span) {
    let say = |event: &str, why: Option<&str>| {
        let name = worker.board.name(backend);
        worker.board.emit(&json!({"event": event, "backend": name, "orca": server, "why": why}));
    };
    let mut was_heard = true;
    loop {
        let heard = |load: Load| {
            if !std::mem::replace(&mut was_heard, true) {
                say("reports_heard", None);
            }
            if let Some(report) = load.report(clock::now()) {
                worker.board.report(backend, &report);
            }
        };
        let ended = stream::subscribe(server, every, heard).await;
        if std::mem::replace(&mut was_heard, false) {
            say("reports_silent", Some(ended.err().as_deref().unwrap_or("the stream has ended")));
        }
        tokio::time::sleep(AGAIN.as_std()).await;
    }
}

/// Takes the report that a reply bears, where that is wanted; one in another form says nothing.
pub(super) fn take_header(worker: &Worker, backend: BackendId, headers: &HeaderMap) {
    if !worker.reads_reports() {
        return;
    }
    let load = headers.get(orca::HEADER).and_then(|said| Load::parse(said.to_str().ok()?));
    if let Some(report) = load.and_then(|load| load.report(clock::now())) {
        worker.board.report(backend, &report);
    }
}

impl FrontNode for Worker {
    fn look<R>(&self, look: impl FnOnce(&Front) -> R) -> R {
        self.board.look(look)
    }

    /// Requests inside; a redirector does not know what becomes of those that it sends on.
    fn own(&self) -> Metrics {
        let mut metrics = Metrics::default();
        if self.version().redirect.is_none() {
            metrics.set(Metric::InFlight, self.board.in_flight_of_all() as f64);
        }
        metrics
    }
}
