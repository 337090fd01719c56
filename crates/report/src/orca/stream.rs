//! ORCA out of band: gRPC's `xds.service.orca.v3.OpenRcaService/StreamCoreMetrics` over HTTP/2 without TLS.
//!
//! A client asks once, and gets a report every so often for as long as it listens. gRPC is HTTP/2 with five bytes before each
//! message (whether it is compressed, and its length) and a status in the trailers; no more of it is needed here.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sojourn_stats::Span;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Load, protobuf};

/// The method that is served.
pub const PATH: &str = "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics";

/// Connections beyond these are closed: a balancer has one.
const CONNECTIONS_MAX: usize = 256;

/// More is no request for reports.
const REQUEST_MAX: usize = 4096;

/// gRPC's numbers for what went wrong.
const INVALID_ARGUMENT: &str = "3";
const UNIMPLEMENTED: &str = "12";

/// Serves the load that `load` tells to all who ask, at most every `least`, for as long as it is polled.
pub async fn serve(listener: TcpListener, least: Span, load: Rc<dyn Fn() -> Load>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that was given up, or no descriptor free: the next one may be there.
                let Ok((stream, _)) = accepted else { tokio::task::yield_now().await; continue };
                if connections.len() >= CONNECTIONS_MAX {
                    continue;
                }
                let load = Rc::clone(&load);
                let service = service_fn(move |request| answer(request, least, Rc::clone(&load)));
                let mut server = http2::Builder::new(Local);
                server.timer(TokioTimer::new()).max_concurrent_streams(16);
                connections.spawn_local(server.serve_connection(TokioIo::new(stream), service));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    least: Span,
    load: Rc<dyn Fn() -> Load>,
) -> Result<Response<Reports>, Infallible> {
    let is_ours = request.method() == Method::POST && request.uri().path() == PATH;
    if !is_ours {
        return Ok(refusal(UNIMPLEMENTED));
    }
    let body = Limited::new(request.into_body(), REQUEST_MAX).collect().await;
    let every = body.ok().and_then(|body| protobuf::interval(message(&body.to_bytes())?));
    let Some(every) = every else { return Ok(refusal(INVALID_ARGUMENT)) };
    let mut ticks = interval(every.max(least).as_std());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut reply = Response::new(Reports::Ticking { ticks, load });
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    Ok(reply)
}

fn refusal(status: &'static str) -> Response<Reports> {
    let mut reply = Response::new(Reports::Refused(Some(status)));
    *reply.status_mut() = StatusCode::OK;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    reply
}

/// The one message in a body of gRPC, which is not compressed.
fn message(body: &[u8]) -> Option<&[u8]> {
    let (head, message) = body.split_first_chunk::<5>()?;
    let [0, length @ ..] = head else { return None };
    (u32::from_be_bytes(*length) as usize == message.len()).then_some(message)
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = vec![0];
    frame.extend((message.len() as u32).to_be_bytes());
    frame.extend(message);
    frame.into()
}

/// The body of a reply: reports without end, or a status alone.
enum Reports {
    Ticking { ticks: Interval, load: Rc<dyn Fn() -> Load> },
    Refused(Option<&'static str>),
}

impl Body for Reports {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Reports::Ticking { ticks, load } => {
                ticks.poll_tick(context).map(|_| Some(Ok(Frame::data(framed(&load().to_protobuf())))))
            }
            Reports::Refused(status) => Poll::Ready(status.take().map(|status| {
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", HeaderValue::from_static(status));
                Ok(Frame::trailers(trailers))
            })),
        }
    }
}

/// Runs what hyper's HTTP/2 has to do on the thread of the connection.
#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move { drop(task.await) });
    }
}

/// Asks a server for its load every so often, and hands each report to `take` until the stream ends.
///
/// # Errors
/// When the server cannot be reached, is none of ORCA, or breaks the stream off; the text says which.
pub async fn subscribe(server: SocketAddr, every: Span, mut take: impl FnMut(Load)) -> Result<(), String> {
    let stream = tokio::net::TcpStream::connect(server).await.map_err(|error| error.to_string())?;
    let handshake = hyper::client::conn::http2::handshake(Local, TokioIo::new(stream)).await;
    let (mut link, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::task::spawn_local(connection);
    let request = Request::post(format!("http://{server}{PATH}"))
        .header(CONTENT_TYPE, "application/grpc")
        .header("te", "trailers")
        .body(http_body_util::Full::new(framed(&protobuf::request(every))))
        .expect("a plain request");
    let mut body = link.send_request(request).await.map_err(|error| error.to_string())?.into_body();
    let mut unread = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Some(status) = frame.trailers_ref().and_then(|trailers| trailers.get("grpc-status"))
            && status != "0"
        {
            return Err(format!("it refuses with status {} of gRPC", status.to_str().unwrap_or("?")));
        }
        unread.extend(frame.data_ref().map_or(&[][..], |data| data));
        while let Some((head, rest)) = unread.split_first_chunk::<5>() {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            if head[0] != 0 || length > REPORT_MAX {
                return Err("a report is compressed or too long".into());
            }
            let Some(report) = rest.get(..length) else { break };
            take(Load::from_protobuf(report).ok_or("a report is none of ORCA")?);
            unread.drain(..5 + length);
        }
    }
    Ok(())
}

/// More is no report.
const REPORT_MAX: usize = 64 * 1024;
