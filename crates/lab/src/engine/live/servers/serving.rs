//! A server of a live run: a child that emulates the model, or a real server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use sojourn_bed::{Ground, Host as Place};
use sojourn_part::program::Running;

use super::super::bed;
use super::super::incidents::{self, Incident};
use super::super::part::Part;
use super::super::parts::Entrances;

/// A server of a live run.
pub(in crate::engine::live) enum Serving {
    /// A child of ours that emulates the model.
    Node(Box<Part>),
    /// A real server.
    Program(Box<Real>),
}

/// A real server; its parts go in this order.
pub(in crate::engine::live) struct Real {
    /// Where it is, in a bed.
    pub(super) place: Option<Place>,
    pub(super) running: Running,
    /// What it is a proxy of.
    pub(super) origin: Option<Running>,
    /// Where that is, in a bed.
    pub(super) behind: Option<Place>,
    /// Clients ask it for that server's whole URLs.
    pub(super) is_forward_proxy: bool,
    /// What it serves, held until the last server has stopped.
    pub(super) _files: Arc<Served>,
}

impl Serving {
    pub(in crate::engine::live) fn address(&self) -> SocketAddr {
        match self {
            Serving::Node(part) => part.address(),
            Serving::Program(real) => real.running.address(),
        }
    }

    /// How clients reach it.
    pub(in crate::engine::live) fn entrance(&self) -> Entrances {
        let origin = match self {
            Serving::Program(real) if real.is_forward_proxy => real.origin.as_ref(),
            _ => None,
        };
        match origin {
            Some(origin) => Entrances::Proxy { proxy: self.address(), origin: origin.address() },
            None => Entrances::One(self.address()),
        }
    }
}

impl Real {
    /// What happened to it, and whether it still answers.
    pub(in crate::engine::live) fn incidents(&self, name: &str, ground: &dyn Ground) -> Vec<Incident> {
        let behind = self.origin.as_ref().map(|origin| (format!("the web server behind {name}"), origin, self.behind));
        let parts = [Some((name.to_owned(), &self.running, self.place)), behind];
        let of = |(part, running, place): (String, &Running, Option<Place>)| {
            let mut found = incidents::of(&part, running.child(), |_| false);
            // After an overload its backlog may take a while.
            if found.is_empty() && !on(ground, place, || (0..5).any(|_| running.answers())).unwrap_or(false) {
                found.push(incidents::silence(&part));
            }
            found
        };
        parts.into_iter().flatten().flat_map(of).collect()
    }
}

/// A site on disk for the time of a run.
pub(super) struct Served(pub(super) PathBuf);

impl Drop for Served {
    fn drop(&mut self) {
        // A folder that stays behind in the system's temporary folder is not worth a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What `body` gives where a part of the run is: on a host of a bed, or here.
pub(super) fn on<T: Send>(
    ground: &dyn Ground,
    place: Option<Place>,
    body: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    match place {
        Some(place) => bed::within(ground, place, body),
        None => Ok(body()),
    }
}
