//! What a node answers by work: an emulated server's or the processor's own, and files of the emulated disk.

use std::future::Future;
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode};
use sojourn_part::burn::Amount;
use sojourn_part::{clock, headers};
use sojourn_stats::{Span, Time};

use super::{Handler, last};
use crate::node::DEMAND_MAX;
use crate::node::body::NodeBody;
use crate::node::emulation::{Emulation, NotServed, Served};
use crate::node::limits::{Overrun, drain};
use crate::node::reply::{self, Reply, text};
use crate::node::stored::Source;
use crate::node::work::Asked;

/// So long after its deadline the client of a request that was dropped is gone.
const AFTER_DEADLINE: Span = Span(1_000_000_000);

impl Handler {
    pub(super) async fn work(
        self: &Arc<Handler>,
        request: Request<Incoming>,
        source: Option<Source<'_>>,
    ) -> Result<Reply, Reply> {
        let asked = Asked::parse(&request).map_err(wrong)?;
        let (parts, body) = request.into_parts();
        let fetched = match (source, asked.object) {
            (Some(_), _) if !body.is_end_stream() => {
                return Err(wrong("a file that another node owns is asked for without a body".into()));
            }
            (Some(source), Some(object)) => Some(source.fetch(parts, body, object, asked.size)),
            _ if body.is_end_stream() => None,
            _ => {
                drain(&self.limits, body).await.map_err(|overrun| match overrun {
                    Overrun::TooLarge => self.too_large(),
                    Overrun::Malformed => last(text(StatusCode::BAD_REQUEST, "the body of the request is malformed\n")),
                    Overrun::TooSlow => text(StatusCode::REQUEST_TIMEOUT, "the body of the request came too slowly\n"),
                })?;
                None
            }
        };
        let served = match (&self.emulation, asked.rounds) {
            (Some(emulation), None) => Some(self.emulate(emulation, &asked, fetched).await?),
            (_, Some(rounds)) => {
                self.workers.burn(Amount::Rounds(rounds)).await;
                None
            }
            (None, None) => {
                let Some(demand) = asked.demand else {
                    let wanted = "/work wants ?iter=N, ?demand=10ms or the header x-sojourn-demand here\n";
                    return Err(text(StatusCode::BAD_REQUEST, wanted));
                };
                self.workers.burn(Amount::Time(demand)).await;
                None
            }
        };
        let mut reply = reply::of(NodeBody::filler(asked.size), "application/octet-stream");
        if let Some(served) = served {
            reply.headers_mut().insert(headers::SERVICE, service_value(served));
        }
        Ok(reply)
    }

    async fn emulate(
        &self,
        emulation: &Emulation,
        asked: &Asked,
        fetched: Option<impl Future<Output = Result<Span, NotServed>>>,
    ) -> Result<Served, Reply> {
        if !emulation.takes(self.in_flight()) {
            return Err(not_served(NotServed::Full));
        }
        let wanted = asked.wanted();
        let service = self.ailment.of(emulation.server.service_time(emulation.work_of(&wanted)));
        match emulation.serve(&wanted, service, fetched).await {
            Err(NotServed::Dropped) => Err(silence(asked.deadline).await),
            served => served.map_err(not_served),
        }
    }

    /// A file of the emulated disk, for the node that has asked.
    pub(super) async fn stored(&self, emulation: &Emulation, request: &Request<Incoming>) -> Result<Reply, Reply> {
        let asked = Asked::parse(request).map_err(wrong)?;
        let served = emulation.read(&asked.wanted()).await.map_err(not_served)?;
        let mut reply = reply::of(NodeBody::filler(asked.size), "application/octet-stream");
        reply.headers_mut().insert(headers::SERVICE, service_value(served));
        Ok(reply)
    }
}

/// No answer, for as long as the client waits: a connection that it has closed meanwhile is then let go.
async fn silence(deadline: Time) -> Reply {
    if deadline == Time::NEVER {
        return std::future::pending().await;
    }
    let left = deadline.saturating_since(clock::now()) + AFTER_DEADLINE;
    tokio::time::sleep(left.as_std()).await;
    last(not_served(NotServed::Dropped))
}

/// The answer to a request that cannot be meant so.
fn wrong(why: String) -> Reply {
    text(StatusCode::BAD_REQUEST, format!("{why}\n"))
}

fn not_served(why: NotServed) -> Reply {
    match why {
        NotServed::Full | NotServed::Dropped => text(StatusCode::SERVICE_UNAVAILABLE, "the server is full\n"),
        NotServed::NotFetched(why) => text(StatusCode::BAD_GATEWAY, format!("the node that owns the file {why}\n")),
        NotServed::TooLong(service) => {
            let words = format!("the model makes this a service of {service:.3}; at most {DEMAND_MAX} are served\n");
            text(StatusCode::INTERNAL_SERVER_ERROR, words)
        }
    }
}

/// `waited=NS stayed=NS`: the request's own times on the virtual processor, free of the machine's lateness.
fn service_value(Served { waited, stayed }: Served) -> HeaderValue {
    HeaderValue::from_str(&format!("waited={} stayed={}", waited.0, stayed.0)).expect("digits are plain text")
}
