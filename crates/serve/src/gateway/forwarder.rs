//! One thread of a gateway that has no choice: a node has chosen, and this sends the request there and the reply back.
//!
//! Connections, deadlines, uploads and the marks against circles are those of a gateway; in the place of a policy stands one that
//! obeys. The price is a dispatcher that decides nothing.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use sojourn_bed::Events;
use sojourn_dispatch::{Ask, BackendId, Catalogue, Code, Decision, Explanation, Policy, Reason, Signals};
use sojourn_stats::Stream;
use tokio::task::JoinSet;

use super::board::{Board, Decider};
use super::counts::Counts;
use super::id::GatewayId;
use super::reply::Reply;
use super::worker::{Peer, Worker};
use super::{Backend, GatewayConfig, Health, Probe, proxy};
use crate::ServeError;

/// What forwards requests on one thread; dropped it closes its connections.
pub(crate) struct Forwarder {
    worker: Rc<Worker>,
    _chores: JoinSet<()>,
}

impl Forwarder {
    /// To these servers, on the current runtime; all threads of a server have one `id`.
    ///
    /// # Errors
    /// When the system refuses a timer.
    pub(crate) fn new(backends: Vec<Backend>, id: Arc<GatewayId>) -> Result<Forwarder, ServeError> {
        let mut catalogue = Catalogue::default();
        catalogue.add("obedient", "the backend that is named", |_| Ok(Box::new(Obedient)))?;
        let counts = Arc::new(Counts::new(backends.len()));
        let config = GatewayConfig { catalogue, retries: 0, ..GatewayConfig::new("obedient", backends) };
        let config = GatewayConfig { health: Health { probe: Probe::Off, ..config.health.clone() }, ..config };
        let decider = Decider::new(&config, 0)?;
        let config = Arc::new(config);
        let board = Board::new(0, decider.into_own(), Arc::new([counts]), Events::nowhere(), None, &config);
        let worker = Rc::new(Worker::new(Rc::new(board), config, id)?);
        let mut chores = JoinSet::new();
        chores.spawn_local(Worker::keep_time(Rc::clone(&worker)));
        Ok(Forwarder { worker, _chores: chores })
    }

    /// Sends a request of `client` to the server of this number, and gives its reply; 502 or 504 where there is none.
    pub(crate) async fn forward(&self, client: IpAddr, server: u32, request: Request<Incoming>) -> Response<Reply> {
        let asked = sojourn_dispatch::Request { object: server, ..Default::default() };
        proxy::forward(Rc::clone(&self.worker), Rc::new(Peer::new(client)), asked, request).await
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.worker.pool.clear();
    }
}

/// The policy that chooses the backend whose number is that of the object.
struct Obedient;

impl Policy for Obedient {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let named = BackendId(ask.request.object);
        let reason = Reason { code: Code::Own, ties: 1, value: 0.0 };
        if ask.may_choose(named) { Decision::forward(named, reason) } else { Decision::refuse() }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |_| Vec::new())
    }
}
