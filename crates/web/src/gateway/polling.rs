//! Doing what the dispatcher asks for at its deadlines: averaging windows that end, and backends to be asked for load.

use std::cell::RefCell;
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response};
use sojourn_dispatch::{BackendId, Command, Report};
use sojourn_part::alarm::Bell;
use sojourn_part::{clock, headers};
use sojourn_report::orca;
use sojourn_stats::Time;
use tokio::task::JoinSet;

use super::upload::RequestBody;
use super::worker::Worker;

/// Most bytes of a load report that are read.
const REPORT_LIMIT: usize = 64 * 1024;

/// Attends to the dispatcher's deadlines for as long as it is polled.
pub(super) async fn drive(worker: Rc<Worker>, bell: Bell) {
    // A backend that is slow to say its load is not asked again meanwhile.
    let asking: Rc<RefCell<HashSet<BackendId>>> = Rc::default();
    let mut polls = JoinSet::new();
    loop {
        tokio::select! {
            () = bell.ring() => {}
            Some(_) = polls.join_next() => continue,
        }
        for command in worker.board.due() {
            match command {
                Command::Poll(backend) => {
                    if !asking.borrow_mut().insert(backend) {
                        continue;
                    }
                    let (worker, asking) = (Rc::clone(&worker), Rc::clone(&asking));
                    polls.spawn_local(async move {
                        let patience = worker.version().settings.health.timeout.as_std();
                        // A backend that cannot be asked keeps its last report, whose age the policy sees.
                        let answer = tokio::time::timeout(patience, ask(&worker, backend)).await;
                        if let Ok(Some((load, measured))) = answer
                            && let Some(in_flight) = load.in_flight()
                        {
                            let cpu = load
                                .busy_share()
                                .filter(|share| share.is_finite() && *share >= 0.0)
                                .map_or(0.0, |share| share as f32);
                            let report = Report { cpu, ..Report::of_in_flight(in_flight, measured) };
                            worker.board.report(backend, &report);
                        }
                        asking.borrow_mut().remove(&backend);
                    });
                }
                _ => unreachable!("a policy that gives other commands is refused before the gateway starts"),
            }
        }
    }
}

/// Asks a backend for its load. The report counts as measured when it was asked for: its age is never understated.
async fn ask(worker: &Worker, backend: BackendId) -> Option<(orca::Load, Time)> {
    let mut link = match worker.take(backend).await {
        Some(link) => link,
        None => worker.open(backend).await.ok()?,
    };
    let measured = clock::now();
    let host: HeaderValue = worker.host(backend);
    let request = Request::builder().uri("/load").header(HOST, host).header(headers::PROBE, "1");
    let request = request.body(RequestBody::Empty).expect("a plain request");
    let mut sending = pin!(link.sender.try_send_request(request));
    let reply: Response<Incoming> = poll_fn(|context| {
        link.drive(context);
        sending.as_mut().poll(context)
    })
    .await
    .ok()?;
    let said = reply.headers().get(orca::HEADER).and_then(|report| orca::Load::parse(report.to_str().ok()?));
    let mut body = pin!(Limited::new(reply.into_body(), REPORT_LIMIT).collect());
    let body = poll_fn(|context| {
        link.drive(context);
        body.as_mut().poll(context)
    })
    .await
    .ok()?
    .to_bytes();
    worker.put(link).await;
    let load = said.or_else(|| orca::Load::parse(std::str::from_utf8(&body).ok()?))?;
    Some((load, measured))
}
