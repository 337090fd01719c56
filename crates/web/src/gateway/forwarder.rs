//! One thread of a gateway that has no choice: a node has chosen, and this sends the request there and the reply back.
//!
//! Connections, deadlines, uploads and the marks against circles are those of a gateway; in the place of a policy stands one that
//! obeys. The price is a dispatcher that decides nothing, for each server that something was sent to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use sojourn_bed::Events;
use sojourn_dispatch::{Ask, BackendId, Catalogue, Code, Decision, Explanation, Policy, Reason, Signals};
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::{Forward, GatewaySettings};
use sojourn_part::{Backend, Probe, ServeError};
use sojourn_stats::Stream;
use tokio::task::JoinSet;

use super::board::{Board, Decider, prepare};
use super::counts::Counts;
use super::id::GatewayId;
use super::proxy::{self, Unserved};
use super::reply::Reply;
use super::version::Version;
use super::worker::{Peer, Worker};
use super::{KEEP, front, refusal, reload};

/// What forwards requests on one thread; dropped it closes its connections.
pub(crate) struct Forwarder {
    reach: Box<dyn Fn(u32) -> Option<Backend>>,
    id: Arc<GatewayId>,
    ways: RefCell<HashMap<u32, Way>>,
}

/// The way to one server.
struct Way {
    to: Backend,
    worker: Rc<Worker>,
    _chores: JoinSet<()>,
}

impl Forwarder {
    /// To servers by their numbers, each where `reach` says that it is now; all threads of a server have one `id`.
    pub(crate) fn new(reach: impl Fn(u32) -> Option<Backend> + 'static, id: Arc<GatewayId>) -> Forwarder {
        Forwarder { reach: Box::new(reach), id, ways: RefCell::default() }
    }

    /// Sends a request of `client` to the server of this number, and gives its reply.
    ///
    /// # Errors
    /// Where there is none: with 502 or 504, and with the request's body where another may serve it.
    pub(crate) async fn forward(
        &self,
        client: IpAddr,
        server: u32,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Box<Unserved>> {
        match self.way(server) {
            Ok(worker) => proxy::forward(worker, Rc::new(Peer::new(client, None)), Default::default(), request).await,
            Err(why) => {
                let reply = refusal::text(StatusCode::BAD_GATEWAY, why);
                Err(Box::new(Unserved { reply, body: Some(request.into_body()), is_unreachable: false }))
            }
        }
    }

    /// What sends to the server of this number, on the current runtime.
    fn way(&self, server: u32) -> Result<Rc<Worker>, String> {
        let to = (self.reach)(server).ok_or("it is not known where this node is")?;
        let mut ways = self.ways.borrow_mut();
        if let Some(way) = ways.get(&server).filter(|way| way.to == to) {
            return Ok(Rc::clone(&way.worker));
        }
        let worker = worker(to.clone(), Arc::clone(&self.id)).map_err(|error| error.to_string())?;
        let mut chores = JoinSet::new();
        chores.spawn_local(Worker::keep_time(Rc::clone(&worker)));
        ways.insert(server, Way { to, worker: Rc::clone(&worker), _chores: chores });
        Ok(worker)
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.worker.pool.clear();
    }
}

/// A gateway's thread in front of one server.
fn worker(to: Backend, id: Arc<GatewayId>) -> Result<Rc<Worker>, ServeError> {
    let mut catalogue = Catalogue::default();
    catalogue.add("obedient", "the backend that there is", |_| Ok(Box::new(Obedient)))?;
    let counts = Arc::<Counts>::default();
    let health = Checks { probe: Probe::Off, ..Checks::default() };
    let face = Forward { retries: 0, ..Forward::default() };
    let config = GatewaySettings { health, face, ..GatewaySettings::new("obedient", vec![to]) };
    let front = front(&config, &reload::backends_of(&config), false, &catalogue, 0)?;
    let decider = Decider::new(&config, prepare(front, &config, None)?)?;
    let board = Board::new(0, decider.into_own(), Arc::new([counts]), Events::nowhere(), None, &config);
    let version = Version::new(Arc::new(config), None, KEEP, Version::default());
    Ok(Rc::new(Worker::new(Rc::new(board), version, id)))
}

/// The policy that chooses the only backend.
struct Obedient;

impl Policy for Obedient {
    fn requires(&self) -> Signals {
        Signals::empty()
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        let named = BackendId(0);
        let reason = Reason { code: Code::Own, ties: 1, value: 0.0 };
        if ask.may_choose(named) { Decision::forward(named, reason) } else { Decision::refuse() }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        Explanation::of(ask.candidates(), |_| Vec::new())
    }
}
