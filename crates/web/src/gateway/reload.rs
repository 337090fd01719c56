//! Other settings for a gateway that runs: its file was read anew.
//!
//! All that can be wrong is found before anything changes: the settings, the policy, the records. Then every thread makes
//! room for the backends that join, and only after that may a decider choose them. Where how it decides has changed,
//! another front takes the place of the one before and takes over what that knows: health, reports, and what is in flight.
//! A backend that leaves gets nothing new and ends what it has. No request waits for any of it. The price: a policy of
//! other parameters begins anew with what it has averaged itself, and a record goes on in a further file.

use std::future::pending;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::Catalogue;
use sojourn_part::listen::{Connections, Rules};
use sojourn_part::settings::gateway::{Face, GatewaySettings, InFront};
use sojourn_part::settings::{Given, Limits, Settings, Wrong};
use sojourn_part::{ServeError, descriptors};
use sojourn_report::Ears;
use sojourn_report::upstream::Upstream;
use sojourn_stats::Span;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use super::board::{Decider, prepare};
use super::version::{Next, Version};
use super::worker::Worker;
use super::{GRACE, KEEP, check, front, health, key_of_error, reporting};
use crate::redirection::RedirectStatus;

/// How long a thread may take to go by other settings.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a thread is sent, and where it says that it is done.
pub(super) struct Order {
    next: Next,
    done: mpsc::Sender<()>,
}

/// What gives a running gateway other settings.
pub(super) struct Reloader {
    pub(super) catalogue: Catalogue,
    pub(super) in_force: Mutex<InForce>,
    pub(super) threads: Vec<UnboundedSender<Order>>,
    /// The decider of all threads, if they share one.
    pub(super) shared: Option<Arc<Mutex<Decider>>>,
    pub(super) connections: Connections,
    /// What hears of the backends, and what tells of them.
    pub(super) ears: Option<Ears>,
    pub(super) upstream: Option<Arc<Upstream>>,
    pub(super) events: Events,
}

/// What it goes by now.
pub(super) struct InForce {
    pub(super) version: Version,
    /// How often it has begun to decide anew.
    pub(super) successions: usize,
}

impl Reloader {
    /// Reads the settings anew and goes by them.
    ///
    /// # Errors
    /// In one line; what was in force stays so.
    pub(super) fn reload<F: Face>(&self, given: &Given<InFront<F>>) -> Result<(), String> {
        let taken = given.read_and(check).and_then(|settings| self.take(settings).map_err(|wrong| given.wrong(&wrong)));
        if let Err(why) = &taken {
            self.events.emit(&json!({"event": "reload_failed", "why": why}));
        }
        taken
    }

    /// Goes by these settings from now on.
    ///
    /// # Errors
    /// On the first setting that is impossible, or cannot change; what was in force stays so.
    pub(super) fn take<F: Face>(&self, settings: InFront<F>) -> Result<(), Wrong> {
        settings.check()?;
        let redirect = redirect_of(&settings)?;
        let mut settings = settings.whole();
        // Also so that two reloads do not mix.
        let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        let InForce { version, successions } = &mut *in_force;
        let before = Arc::clone(&version.settings);
        // What was usual for a child, or for one by hand, stays so.
        settings.grace = settings.grace.or(before.grace);
        if let Some(key) = fixed_difference(&settings, &before) {
            return Err(Wrong::new(key, "it cannot change in a running gateway: start it anew"));
        }
        let settings = Arc::new(settings);
        let of_policy = |error| Wrong::new(key_of_error(&error), error);
        let make = |backends: &[(String, f64)], index| {
            front(&settings, backends, redirect.is_some(), &self.catalogue, index).map_err(of_policy)
        };
        make(&backends_of(&settings), 0)?;
        let (rules, keep) =
            rules(&settings, redirect.is_none()).map_err(|error| Wrong::new("limits.connections", error))?;
        let deciders = if settings.shared { 1 } else { settings.threads };
        let face = |settings: &GatewaySettings| (settings.face.orca_headers, settings.face.orca.is_empty());
        let is_new = settings.decider != before.decider || face(&settings) != face(&before);
        let mut successors = Vec::new();
        if is_new {
            let known = version.after(&settings);
            for index in 0..deciders {
                let path = record_path(&settings, index + (*successions + 1) * deciders);
                let made = prepare(make(&known, index)?, &settings, path.as_deref());
                successors.push(made.map_err(|error| Wrong::new("record", error))?);
            }
            *successions += 1;
        }
        let known = version.targets().count();
        let of_all = self.shared.is_some().then(|| successors.pop()).flatten();
        *version = Version::new(Arc::clone(&settings), redirect, keep, std::mem::take(version));
        self.upstream.iter().for_each(|upstream| upstream.expect(version.targets().count()));
        self.to_threads(|| {
            let successor = if successors.is_empty() { None } else { Some(successors.remove(0)) };
            Next { settings: Arc::clone(&settings), redirect, keep, successor }
        })
        .map_err(|why| Wrong::new("threads", why))?;
        if let Some(decider) = &self.shared {
            decider.lock().expect("no thread panics while it decides").adopt(version, of_all);
        }
        if let Some(ears) = &self.ears {
            version.targets().skip(known).for_each(|(_, target)| _ = ears.expect(&target.backend.name));
        }
        self.connections.set_rules(rules);
        let is_in = |settings: &GatewaySettings, name: &str| settings.backends.iter().any(|one| one.name == name);
        let names = |of: &GatewaySettings, other: &GatewaySettings| -> Vec<String> {
            of.backends.iter().map(|one| one.name.clone()).filter(|name| !is_in(other, name)).collect()
        };
        let (joined, left) = (names(&settings, &before), names(&before, &settings));
        self.events.emit(&json!({"event": "reloaded", "joined": joined, "left": left}));
        Ok(())
    }

    /// Sends an order to each thread, and waits until all have done it.
    fn to_threads(&self, mut next: impl FnMut() -> Next) -> Result<(), String> {
        let (done, all_done) = mpsc::channel();
        for thread in &self.threads {
            // One that has stopped does nothing more.
            let _ = thread.send(Order { next: next(), done: done.clone() });
        }
        drop(done);
        loop {
            match all_done.recv_timeout(PATIENCE) {
                Ok(()) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
                Err(mpsc::RecvTimeoutError::Timeout) => return Err("a thread stands still: start it anew".into()),
            }
        }
    }
}

/// Does what comes for a thread, for as long as it is polled; meanwhile one that acts looks after the backends.
pub(super) async fn attend(worker: Rc<Worker>, acts: bool, mut orders: UnboundedReceiver<Order>) {
    let mut chores = JoinSet::new();
    let begin = |chores: &mut JoinSet<()>| {
        if acts {
            for (backend, target) in worker.version().targets().filter(|(_, target)| !target.has_left) {
                chores.spawn_local(health::watch(Rc::clone(&worker), backend, target.backend.address));
            }
            reporting::streams(&worker).into_iter().for_each(|stream| drop(chores.spawn_local(stream)));
        }
    };
    begin(&mut chores);
    while let Some(Order { next, done }) = orders.recv().await {
        let before = Arc::clone(&worker.version().settings);
        worker.adopt(next);
        let after = Arc::clone(&worker.version().settings);
        if (&before.backends, &before.health, &before.face) != (&after.backends, &after.health, &after.face) {
            chores.shutdown().await;
            begin(&mut chores);
        }
        let _ = done.send(());
    }
    pending().await
}

/// The first setting that differs and cannot change while it runs.
fn fixed_difference(next: &GatewaySettings, now: &GatewaySettings) -> Option<&'static str> {
    let differs = [
        ("listen", next.listen != now.listen),
        ("threads", next.threads != now.threads),
        ("shared", next.shared != now.shared),
        ("record", next.record != now.record),
        ("record_limits", next.record_limits != now.record_limits),
        ("control", next.control != now.control),
        ("explain", next.explain != now.explain),
        ("grace", next.grace != now.grace),
        ("key_file", next.key_file != now.key_file),
        ("reports", next.reports != now.reports),
        ("upstream", next.upstream != now.upstream),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

/// The status by which it redirects, if it does.
pub(super) fn redirect_of<F: Face>(settings: &InFront<F>) -> Result<Option<RedirectStatus>, Wrong> {
    let status = settings.face.redirect().map(|redirect| RedirectStatus::try_from(redirect.status));
    status.transpose().map_err(|why| Wrong::new("face.status", why))
}

/// How connections of clients are kept, and how many idle ones to each backend.
pub(super) fn rules(settings: &GatewaySettings, forwards: bool) -> Result<(Rules, usize), ServeError> {
    // A client's connection may need one to a backend, and leave it behind idle; a redirector needs neither.
    // Besides, each thread has some descriptors of its own, and a probe and a poll per backend.
    let each = if forwards { 3 } else { 1 };
    let links = settings.backends.len() * settings.threads;
    let own = 16 + 4 * settings.threads + 2 * links;
    let Limits { keep_alive, head_timeout, connections } = settings.limits;
    let limit = descriptors::connections(connections, each, own as u64)?;
    let (patience, grace) = (settings.timeouts.idle, grace(settings));
    let rules = Rules { keep_alive, head_timeout, patience, grace, ..Rules::new(limit) };
    Ok((rules, KEEP.min(limit.div_ceil(links))))
}

/// How long requests in flight may take once it is stopped.
pub(super) fn grace(settings: &GatewaySettings) -> Span {
    settings.grace.unwrap_or(GRACE)
}

/// Names and weights of the backends.
pub(super) fn backends_of(settings: &GatewaySettings) -> Vec<(String, f64)> {
    settings.backends.iter().map(|backend| (backend.name.clone(), backend.weight)).collect()
}

/// The file of a record, if there is one: the first has no number.
pub(super) fn record_path(settings: &GatewaySettings, number: usize) -> Option<PathBuf> {
    let path = settings.record.as_ref()?;
    if number == 0 {
        return Some(path.clone());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    Some(name.into())
}
