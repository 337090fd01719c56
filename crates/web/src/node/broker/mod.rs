//! The broker of a node: whether it serves a request itself, or another node of its cluster does.
//!
//! What is asked for under the service's name may move, once: to a node's own name, under which it stays (`hosts`). The
//! policy is the simulator's own object, one for all threads behind a lock, as the DNS has it; it is told what the
//! simulator's nodes are told (`asked`), and hears of the peers by reports that all nodes send to each other (`telling`).
//! What cannot be served elsewhere (an upload, a question for this node's load or health, a path that is said to be local)
//! stays without a question. So does what is no retrieval: a path that does not exist, or a folder without its slash, is
//! answered by the node that was asked, as step 2 of their scheduler has it, but where other nodes own such files. Andresen,
//! Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide Web server on multicomputers, IPPS 1996.
//!
//! A node that only dispatches is the same broker in front of others: it is no candidate itself.
//!
//! The price: a file's metadata is read before the choice, a decision takes the lock for microseconds, and a client that is
//! sent elsewhere pays a round trip and a connection. A peer that has just died gets clients until it has been silent for
//! three periods.

mod asked;
mod counts;
mod gossiping;
mod hosts;
mod members;
mod numbers;
mod peers;
mod teller;
mod telling;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request};
use serde_json::json;
use sojourn_bed::Events;
use sojourn_dispatch::{Action, BackendId, Catalogue, DispatchError, Front, FrontSettings, Heed, News, Signals, State};
use sojourn_model::{CopyRules, Server};
use sojourn_part::caller::Caller;
use sojourn_part::settings::Wrong;
use sojourn_part::settings::node::{ClusterSettings, NodeSettings};
use sojourn_part::{Backend, ServeError, clock, headers, record};

use super::copies::{Copies, Copy, CopySettings};
use super::files::{Files, percent_decoded};
use super::oracle::{Oracle, Pattern};
use super::{HEALTH, LOAD};
use crate::redirection::{RedirectStatus, location};
use counts::Counters;
pub use counts::{ClusterCounts, PeerCounts};
use hosts::Hosts;
use members::{Member, Members};
pub(super) use numbers::Numbers;
use peers::{HandOver, Resolved, hosts};
pub(super) use telling::{Door, Telling};

/// The node itself; its peers follow.
const OWN: BackendId = BackendId(0);

/// The broker of one node, for all its threads.
pub(crate) struct Broker {
    config: ClusterSettings,
    resolved: Resolved,
    members: Members,
    hosts: Hosts,
    classes: Vec<String>,
    requires: Signals,
    /// Whether the emulated server has files that one node owns.
    emulates_files: bool,
    front: Mutex<Front>,
    oracle: RwLock<Oracle>,
    events: Events,
    counters: Counters,
    copies: Option<Arc<Copies>>,
}

/// What becomes of a request.
pub(crate) struct Placed {
    pub(crate) place: Place,
    /// Why, and what each node had to offer, where replies say so.
    why: Option<(String, String)>,
}

/// A copy that is served; equal where it is the same.
pub(crate) struct KeptCopy(pub(crate) Arc<Copy>);

/// Where a request is served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Here.
    Here,
    /// Here, but the disk of the peer of this number reads the file: of what is emulated.
    Fetches(u32),
    /// Elsewhere; the client is told.
    Elsewhere(RedirectStatus, HeaderValue),
    /// At the peer of this number; the request is sent on, and its reply comes back through this node.
    Through(u32),
    /// At the peer of this number, which owns its file; the reply comes back through this node.
    Owned(u32),
    /// Here, though other nodes own the file: of this copy.
    Copied(KeptCopy),
    /// Nowhere: no node may be chosen.
    Nowhere,
}

impl PartialEq for KeptCopy {
    fn eq(&self, other: &KeptCopy) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KeptCopy {}

impl std::fmt::Debug for KeptCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a copy")
    }
}

impl Broker {
    /// The broker of a node that is at `address`. Its peers are out until they have been heard.
    ///
    /// # Errors
    /// When a setting is impossible, the policy cannot be followed by a node, the oracle's table is wrong, or the record
    /// cannot be made.
    pub(crate) fn new(
        cluster: ClusterSettings,
        node: &NodeSettings,
        model: Option<&Server>,
        address: SocketAddr,
        events: Events,
    ) -> Result<Broker, ServeError> {
        let inside = |wrong: Wrong| wrong.inside("cluster");
        let resolved = Resolved::new(&cluster, &node.name, model).map_err(inside)?;
        let hosts = hosts(&cluster, address).map_err(inside)?;
        let own_url = cluster.url.clone().unwrap_or_else(|| format!("http://{address}"));
        let mut all = vec![Member::own(&node.name, &own_url, cluster.tls_url.as_deref())];
        for peer in &cluster.peers {
            all.push(Member::of(peer)?);
        }
        // An owner that has not been found by gossip yet.
        for name in resolved.owners.iter().flat_map(|(_, nodes)| nodes) {
            if all.iter().all(|member| member.name != *name) {
                all.push(Member::named(name));
            }
        }
        let oracle = read_oracle(&cluster, &node.classes)?;
        let mut front = front(&cluster, node, all.iter().map(|member| &member.name))?;
        record(&mut front, cluster.record.as_deref(), cluster.record_limits, cluster.explain)?;
        front.set_hardware(OWN, resolved.hardware);
        let now = clock::now();
        for (hardware, number) in resolved.of_peers.iter().zip(1..) {
            front.set_hardware(BackendId(number), *hardware);
        }
        // Reports are all that is known of them.
        for id in front.backends() {
            front.watch(id, false, true, now);
            if id != OWN {
                front.learn(id, News::Silent, now);
            }
        }
        front.learn(OWN, News::Drained(cluster.dispatch_only), now);
        for ((_, nodes), object) in resolved.owners.iter().zip(1..) {
            let number = |node: &String| all.iter().position(|member| member.name == *node).expect("it was added");
            let owners: Vec<BackendId> = nodes.iter().map(|node| BackendId(number(node) as u32)).collect();
            front.set_owners(object, &owners);
            if cluster.copies.is_some() {
                // The same files once there is a copy here.
                let here: Vec<BackendId> = owners.into_iter().chain([OWN]).collect();
                front.set_owners(object + cluster.owners.len() as u32, &here);
            }
        }
        let copies = copies_of(&cluster).map(Copies::new).transpose()?.map(Arc::new);
        Ok(Broker {
            members: Members::new(all),
            hosts,
            resolved,
            classes: node.classes.clone(),
            requires: front.requires(),
            emulates_files: model.is_some_and(|model| model.machine.as_ref().is_some_and(|of| of.files.is_some())),
            front: Mutex::new(front),
            oracle: RwLock::new(oracle),
            events,
            counters: Counters::default(),
            copies,
            config: cluster,
        })
    }

    /// Where a request is served; `in_vain` says whether there is nothing to read for it here, which takes a look at the site.
    pub(crate) fn place(
        &self,
        caller: &Caller,
        request: &Request<Incoming>,
        files: Option<&Files>,
        in_vain: impl Fn() -> bool,
    ) -> Placed {
        if let Some(why) = self.must_stay(request, in_vain) {
            self.counters.unasked.fetch_add(1, Ordering::Relaxed);
            return Placed {
                place: self.here(request, files, &[]),
                why: self.config.explain.then(|| (why.into(), String::new())),
            };
        }
        let asked = self.asked(caller, request, files);
        let is_secure = caller.is_secure;
        // What came over TLS is sent to nowhere without it.
        let unfit = match self.resolved.hand_over {
            HandOver::Redirect(_) if is_secure => self.members.without_tls(),
            _ => Vec::new(),
        };
        let (decision, candidates, failure) = {
            let mut front = self.lock();
            // Read under the lock, so that the front sees time in order.
            let now = clock::now();
            let explanation = self.config.explain.then(|| front.explain(&asked, &unfit, now));
            let candidates = explanation.map(|explanation| explanation.in_words(front.table()));
            (front.choose(&asked, &unfit, now), candidates, front.record_failure())
        };
        self.record_failed(failure);
        self.counters.decisions.fetch_add(1, Ordering::Relaxed);
        let place = match decision.action {
            Action::Forward(OWN) | Action::Redirect(OWN) | Action::ServeHere => self.stays(request, files),
            Action::Forward(peer) | Action::Redirect(peer) => self.sends_to(peer, is_secure, request, files),
            Action::Answer(_) | Action::Queue | Action::Refuse => self.refuses(),
        };
        Placed { place, why: candidates.map(|candidates| (decision.reason.to_string(), candidates)) }
    }

    /// Reads the oracle's table anew.
    ///
    /// # Errors
    /// In one line; the old table stays then.
    pub(crate) fn reload(&self) -> Result<(), String> {
        let oracle = read_oracle(&self.config, &self.classes).map_err(|error| error.to_string())?;
        *self.oracle.write().unwrap_or_else(PoisonError::into_inner) = oracle;
        Ok(())
    }

    /// Operations per second of this node.
    pub(crate) fn speed(&self) -> f64 {
        self.resolved.hardware.speed
    }

    /// Bytes per second of this node's network; 0 where that is not known.
    pub(crate) fn net_rate(&self) -> f64 {
        self.resolved.hardware.net_rate
    }

    /// Ends the record.
    pub(crate) fn finish(&self) {
        let failure = self.lock().finish_record();
        self.record_failed(failure);
    }

    /// Why a request is not asked about: it stays.
    fn must_stay(&self, request: &Request<Incoming>, in_vain: impl Fn() -> bool) -> Option<&'static str> {
        let (path, method) = (request.uri().path(), request.method());
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.hosts.is_service(host)) {
            return Some("it was asked for under this node's own name");
        }
        let may_move = matches!(*method, Method::GET | Method::HEAD)
            || *method == Method::POST && self.config.post
            || self.config.dispatch_only;
        if !may_move
            || matches!(path, LOAD | HEALTH)
            || self.resolved.local.iter().any(|local| local.matches(&plain(path)))
        {
            return Some("it cannot be served elsewhere");
        }
        let is_everywhere = || object_of(&self.resolved.owners, &plain(path)) == 0;
        if !self.config.dispatch_only && is_everywhere() && in_vain() {
            return Some("there is nothing to read at this path");
        }
        None
    }

    fn stays(&self, request: &Request<Incoming>, files: Option<&Files>) -> Place {
        if self.config.dispatch_only {
            return self.refuses();
        }
        self.counters.stayed.fetch_add(1, Ordering::Relaxed);
        self.here(request, files, &[])
    }

    /// Here; a file that other nodes own and this one does not have is fetched from one of them that has not been tried. An owner
    /// fetches nothing, and what it is asked for is asked under its own name, so that no request goes round.
    fn here(&self, request: &Request<Incoming>, files: Option<&Files>, tried: &[u32]) -> Place {
        let path = request.uri().path();
        let object = object_of(&self.resolved.owners, &plain(path));
        if object == 0 || !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Place::Here;
        }
        let front = self.lock();
        let table = front.table();
        let owners = table.owners(object);
        if owners.contains(&OWN) {
            return Place::Here;
        }
        let mut others = owners.iter().filter(|owner| table.state(**owner) == State::Up).map(|owner| owner.0 - 1);
        let other = others.find(|peer| !tried.contains(peer));
        drop(front);
        if files.is_some_and(|files| files.size(path).is_some()) {
            return Place::Here;
        }
        if let Some((copy, true)) = self.copy_of(request) {
            self.counters.from_copies.fetch_add(1, Ordering::Relaxed);
            return Place::Copied(KeptCopy(copy));
        }
        let Some(other) = other else {
            // Whether there is such a file only those know who are out.
            return self.refuses();
        };
        if self.emulates_files && path.starts_with("/work/") {
            return Place::Fetches(other);
        }
        self.count_fetched();
        Place::Owned(other)
    }

    /// The copy of a request's file that is here, and whether its owner need not be asked first.
    pub(crate) fn copy_of<B>(&self, request: &Request<B>) -> Option<(Arc<Copy>, bool)> {
        let copies = self.copies.as_ref()?;
        copies.find(&Copies::key(request)?, clock::now())
    }

    /// The copies of this node, where it makes some.
    pub(crate) fn copies(&self) -> Option<&Arc<Copies>> {
        self.copies.as_ref()
    }

    /// A file was copied.
    pub(crate) fn count_copied(&self) {
        self.counters.copied.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was served from a copy that its owner was asked about.
    pub(crate) fn count_from_copy(&self) {
        self.counters.from_copies.fetch_add(1, Ordering::Relaxed);
    }

    fn refuses(&self) -> Place {
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
        Place::Nowhere
    }

    /// A request that was sent on to the peer of this number was not served there. One that cannot be reached is out until it
    /// reports again; what else fails may be the request's own doing.
    pub(crate) fn not_served(&self, peer: u32, is_unreachable: bool) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        if is_unreachable {
            self.learn(&mut self.lock(), BackendId(peer + 1), News::Refused, "it cannot be reached", clock::now());
        }
    }

    /// Where a request is served that these peers have not served.
    pub(crate) fn instead(&self, request: &Request<Incoming>, files: Option<&Files>, tried: &[u32]) -> Place {
        if self.config.dispatch_only {
            return Place::Nowhere;
        }
        let place = self.here(request, files, tried);
        if place != Place::Nowhere {
            self.counters.saved.fetch_add(1, Ordering::Relaxed);
        }
        place
    }

    /// A file of another node's emulated disk is fetched.
    pub(crate) fn count_fetched(&self) {
        self.counters.fetched.fetch_add(1, Ordering::Relaxed);
    }

    /// What the peer of this number is called.
    pub(crate) fn peer_name(&self, peer: u32) -> String {
        self.members.get(BackendId(peer + 1)).name.clone()
    }

    fn sends_to(&self, peer: BackendId, is_secure: bool, request: &Request<Incoming>, files: Option<&Files>) -> Place {
        let HandOver::Redirect(status) = self.resolved.hand_over else {
            self.counters.forwarded.fetch_add(1, Ordering::Relaxed);
            return Place::Through(peer.0 - 1);
        };
        // What cannot stand in a header is served where it came.
        let member = self.members.get(peer);
        let url = if is_secure { member.tls_url.as_ref() } else { Some(&member.url) };
        let Some(Ok(location)) = url.map(|url| location(url, request.uri())) else {
            return self.stays(request, files);
        };
        member.redirected.fetch_add(1, Ordering::Relaxed);
        Place::Elsewhere(status, location)
    }

    /// The peer of this number as this node reaches it now, to forward requests to.
    pub(crate) fn inside(&self, peer: u32) -> Option<Backend> {
        let member = self.members.get(BackendId(peer + 1));
        member.inside.map(|address| Backend::new(member.name.clone(), address))
    }

    /// Makes a request one that asks the peer of this number under its own name.
    pub(crate) fn name_peer(&self, peer: u32, headers: &mut HeaderMap) {
        let host = self.members.get(BackendId(peer + 1)).host.clone();
        if let Some(asked) = headers.insert(HOST, host) {
            headers.insert(sojourn_part::headers::FORWARDED_HOST, asked);
        }
    }

    /// Says that a record lacks something.
    fn record_failed(&self, failure: Option<String>) {
        if let Some(why) = failure {
            self.counters.records_failed.fetch_add(1, Ordering::Relaxed);
            self.events.emit(&json!({"event": "record_failed", "why": why}));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Front> {
        self.front.lock().expect("no thread panics while it decides")
    }
}

impl Placed {
    /// Says in the reply why its node was chosen, where replies say so.
    pub(crate) fn annotate(self, reply: &mut HeaderMap) {
        if let Some((reason, candidates)) = self.why {
            headers::explain(reply, &reason, candidates);
        }
    }
}

/// Whether a node can be one of a cluster, as far as that is known before it starts.
///
/// # Errors
/// The first setting that cannot be.
pub(super) fn check(cluster: &ClusterSettings, node: &NodeSettings, model: Option<&Server>) -> Result<(), Wrong> {
    Resolved::new(cluster, &node.name, model)?;
    let address = node.plain().first().or(node.tls.iter().flat_map(|tls| &tls.listen).next());
    address.map_or(Ok(()), |address| hosts(cluster, *address).map(drop))?;
    read_oracle(cluster, &node.classes).map_err(|error| Wrong::new("oracle", error))?;
    let names = [&node.name].into_iter().chain(cluster.peers.iter().map(|peer| &peer.name));
    front(cluster, node, names).map(drop).map_err(|error| Wrong::new("policy", error))
}

/// What chooses among the nodes of these names.
fn front<'a>(
    cluster: &ClusterSettings,
    node: &NodeSettings,
    names: impl Iterator<Item = &'a String>,
) -> Result<Front, DispatchError> {
    let backends: Vec<_> = names.map(|name| (name.clone(), 1.0)).collect();
    let stream = format!("node {}", node.name);
    // Nodes weigh the load of each, their own too, and hear no alarms.
    let heed_reports = Heed::Never;
    let settings = FrontSettings { seed: node.seed, heed_reports, ..FrontSettings::new(cluster.policy.as_str()) };
    Front::new(&settings, &backends, &Catalogue::default(), Signals::NODE, &stream)
}

/// Which files are copied; none where no folder is named.
fn copies_of(cluster: &ClusterSettings) -> Option<CopySettings> {
    let rules = CopyRules { after: cluster.copies_after, within: cluster.copies_within, max: cluster.copies_max.0 };
    Some(CopySettings { folder: cluster.copies.clone()?, rules, fresh: cluster.copies_fresh })
}

fn read_oracle(cluster: &ClusterSettings, classes: &[String]) -> Result<Oracle, ServeError> {
    let read = |path: &std::path::PathBuf| Oracle::read(path, classes).map_err(ServeError::Config);
    Ok(cluster.oracle.as_ref().map(read).transpose()?.unwrap_or_default())
}

/// The path that is meant, where it is written with escapes.
fn plain(path: &str) -> Cow<'_, str> {
    let decoded = path.contains('%').then(|| percent_decoded(path)).flatten();
    decoded.map_or(Cow::Borrowed(path), Cow::Owned)
}

/// The place of the rule that says who owns the file of a path, as the number of its object; 0: all nodes have it.
fn object_of(owners: &[(Pattern, Vec<String>)], path: &str) -> u32 {
    let rule = super::oracle::pattern::best(owners.iter().map(|(pattern, _)| pattern), path);
    rule.map_or(0, |place| place as u32 + 1)
}
