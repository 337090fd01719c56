//! A service: a name whose addresses are chosen, by the very object that the simulator runs.
//!
//! One dispatcher behind a lock serves all threads: a choice takes a microsecond, and one decider that has seen everything
//! decides better than several that have each seen a part. The policy is told what the simulator's DNS is told: the client, where it is, and for how long the answer will be
//! kept; it hears of reports, rates and round trips, and never of a request's end.
//!
//! The client is its network where the resolver tells it (RFC 7871), else who asked. A resolver that tells lies about its
//! clients' networks changes what it is answered itself, and what is remembered of so many clients.

mod sites;

use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_dispatch::record::Detail;
use sojourn_dispatch::{
    BackendId, ClientRules, Command, DispatchError, Dispatcher, Information, Origin, Request, Signals, TtlRule,
};
use sojourn_stats::{Span, Time};
use tokio::sync::mpsc;

use super::chooser::{Answered, Asker, Family};
use super::config::{NoneUp, ServiceConfig};
use super::journal::{Decided, Journal};
use super::places::Places;
use super::subnet::Client;
use crate::report::{self, Probed, Told};
use crate::{ServeError, clock};
use sites::Sites;
pub(super) use sites::{Change, SiteState};

/// Reports of the rates of clients without news of one after which its rate is forgotten.
const SILENT_REPORTS: u64 = 3;

/// The longest TTL that a rule may make: a day.
const TTL_MAX_S: u64 = 86_400;

/// A round trip that a site is to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The number by which the receiver of reports knows the site.
    pub(super) sender: BackendId,
    pub(super) client: IpAddr,
}

/// What a service is made of besides its own part of the file.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) seed: u64,
    pub(super) clients: std::num::NonZeroUsize,
    pub(super) takes_reports: bool,
    pub(super) places: Arc<Places>,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) events: Events,
}

/// A service.
pub(super) struct Service {
    inside: Mutex<Inside>,
}

struct Inside {
    config: ServiceConfig,
    around: Surroundings,
    dispatcher: Dispatcher,
    sites: Sites,
    journal: Journal,
    /// Threads read the clock before they wait for the lock; a dispatcher's time must not run backwards.
    latest: Time,
    counts: Counts,
    /// How many records there were: a new dispatcher begins a new one.
    records: u32,
    record_failed: bool,
}

/// The dispatcher of a new configuration, with the number of records, where the old one cannot go on.
pub(super) type Prepared = Option<(Box<Dispatcher>, u32)>;

/// What a service has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Counts {
    /// Questions to the policy.
    pub(super) decisions: u64,
    /// Queries answered as the one for the other family a moment before.
    pub(super) paired: u64,
    /// Questions when no site was up.
    pub(super) none_up: u64,
    /// Orders to measure a round trip.
    pub(super) probes: u64,
    /// Orders that were not given: too many waited.
    pub(super) probes_dropped: u64,
    /// Round trips that were measured.
    pub(super) round_trips: u64,
}

/// What a DNS tells policies.
fn signals(has_reports: bool, has_rates: bool) -> Signals {
    let seen = Signals::DNS | Signals::ORIGIN;
    let told = if has_reports {
        report::SIGNALS.difference(Signals::CLIENT_RATES) | Signals::ROUND_TRIPS
    } else {
        Signals::empty()
    };
    let rates = if has_reports && has_rates { Signals::CLIENT_RATES } else { Signals::empty() };
    seen | told | rates
}

/// Whether a service can be followed.
///
/// # Errors
/// In words: what its policy lacks.
pub(super) fn check(config: &ServiceConfig) -> Result<(), String> {
    let has_reports = config.sites.iter().any(|site| site.reports);
    dispatcher(config, 1, has_reports).map(drop).map_err(|error| {
        let text = error.to_string();
        match () {
            () if text.contains("(client-rates)") => {
                format!("{text}; add `client_rates`, e.g. `64 s`, and `[reports]`")
            }
            () if matches!(error, DispatchError::MissingSignal(_)) && !has_reports => {
                format!("{text}; add `[reports]`")
            }
            () => text,
        }
    })
}

fn dispatcher(config: &ServiceConfig, seed: u64, has_reports: bool) -> Result<Dispatcher, DispatchError> {
    let sites: Vec<_> = config.sites.iter().map(|site| (site.name.clone(), site.weight)).collect();
    let signals = signals(has_reports, config.client_rates.is_some());
    // The simulator's first dispatcher bears the same name, so that both draw the same numbers.
    Dispatcher::new(&config.policy, &sites, Information::Immediate, signals, seed, "dispatcher 0")
}

/// Begins the record of a dispatcher, if there is to be one, when there were so many of its name; gives how many there are.
fn begin_record(dispatcher: &mut Dispatcher, config: &ServiceConfig, before: u32) -> Result<u32, ServeError> {
    let Some(path) = &config.record else { return Ok(0) };
    let path = match before {
        0 => path.clone(),
        further => PathBuf::from(format!("{}.{further}", path.display())),
    };
    let cannot = || format!("cannot record to {}", path.display());
    let detail = if config.explain { Detail::Explained } else { Detail::Decisions };
    let file = File::create(&path).map_err(ServeError::system(cannot()))?;
    let begun = dispatcher.record_to(Box::new(file), detail);
    begun.map_err(|error| ServeError::Config(format!("{}: {error}", cannot())))?;
    Ok(before + 1)
}

impl Service {
    pub(super) fn new(config: &ServiceConfig, around: &Surroundings) -> Result<Service, ServeError> {
        let mut dispatcher = dispatcher(config, around.seed, around.takes_reports)?;
        let records = begin_record(&mut dispatcher, config, 0)?;
        let mut inside = Inside {
            dispatcher,
            config: config.clone(),
            around: around.clone(),
            sites: Sites::default(),
            journal: Journal::new(),
            latest: clock::now(),
            counts: Counts::default(),
            records,
            record_failed: false,
        };
        inside.begin();
        Ok(Service { inside: Mutex::new(inside) })
    }

    /// Chooses: see [`super::Chooser::choose`].
    pub(super) fn choose(&self, asker: &Asker, family: Family, now: Time, list: &mut Vec<IpAddr>) -> Answered {
        let client = Client::of(asker);
        let mut inside = self.lock();
        let now = inside.time(now);
        inside.choose(client, family, now, list)
    }

    /// What it would say to who asks why.
    pub(super) fn why(&self, asker: &Asker, now: Time) -> Vec<String> {
        let mut inside = self.lock();
        let now = inside.time(now);
        inside.why(Client::of(asker), now)
    }

    /// Hears what a report tells; `sender` numbers are the receiver's.
    pub(super) fn hear(&self, told: &Told, now: Time) {
        let mut inside = self.lock();
        let now = inside.time(now);
        inside.hear(told, now);
    }

    /// Gets ready for a new configuration: what can fail is done here, and nothing of it is in force yet.
    ///
    /// # Errors
    /// When the policy cannot be followed, or a new record cannot be made.
    pub(super) fn prepare(&self, config: &ServiceConfig, around: &Surroundings) -> Result<Prepared, ServeError> {
        self.lock().prepare(config, around)
    }

    /// Takes a new configuration.
    pub(super) fn reload(&self, config: &ServiceConfig, around: &Surroundings, prepared: Prepared) {
        self.lock().reload(config, around, prepared);
    }

    /// Does something to a site.
    ///
    /// # Errors
    /// In words, where there is no such site or it cannot be so.
    pub(super) fn change(&self, site: &str, change: Change, now: Time) -> Result<(), String> {
        let mut inside = self.lock();
        let now = inside.time(now);
        inside.change(site, change, now)
    }

    /// Whether a site has this name.
    pub(super) fn has(&self, site: &str) -> bool {
        self.lock().sites.find(site).is_some()
    }

    /// Numbers a sender of reports.
    pub(super) fn expect(&self, mut number: impl FnMut(&str) -> BackendId) {
        self.lock().sites.number(&mut number);
    }

    /// The sites that are to be tried at a port: address and port.
    pub(super) fn checks(&self) -> Vec<(String, std::net::SocketAddr)> {
        self.lock().sites.checks()
    }

    /// Its state as JSON.
    pub(super) fn state(&self, now: Time) -> Value {
        let inside = self.lock();
        let sites: Vec<SiteState> = inside.sites.states(&inside.dispatcher, now);
        let clients = inside.dispatcher.clients();
        json!({
            "name": inside.config.name,
            "policy": inside.config.policy,
            "ttl_s": inside.config.ttl.as_secs_f64(),
            "decisions": inside.journal.count(),
            "clients": clients.len(),
            "mean_client_rate_per_s": clients.mean_rate(),
            "counts": inside.counts,
            "sites": sites,
        })
    }

    /// The last decisions, the oldest first, as JSON and in words.
    pub(super) fn last(&self, count: usize, now: Time) -> Vec<Value> {
        let inside = self.lock();
        let name = |id: BackendId| inside.sites.name(id).to_owned();
        let decided = inside.journal.last(count).map(|one| {
            let mut json = one.json(name, now);
            json["service"] = json!(inside.config.name);
            json["words"] = json!(one.in_words(name, now));
            json
        });
        decided.collect()
    }

    /// Ends its record; false where it lacks something.
    pub(super) fn finish(&self) -> bool {
        let mut inside = self.lock();
        inside.finish_record();
        !inside.record_failed
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Tells the dispatcher what it knows from the start.
    fn begin(&mut self) {
        self.dispatcher.keep_clients(ClientRules {
            at_most: self.around.clients,
            rates_expire: self.config.client_rates.map(|every| Span(every.0.saturating_mul(SILENT_REPORTS))),
            sites_probed: self.config.sites_probed,
            refresh: self.config.refresh,
        });
        self.sites = Sites::new(&self.config.sites, &self.around.places, &mut self.dispatcher, self.latest);
    }

    fn time(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn choose(&mut self, client: Client, family: Family, now: Time, list: &mut Vec<IpAddr>) -> Answered {
        list.clear();
        if !self.sites.have(family) {
            return Answered::Addresses { ttl: self.config.ttl, scope: 0 };
        }
        let scope = if self.reads_clients() { client.scope } else { 0 };
        if let Some(decided) = self.journal.pair(client, family, now) {
            self.sites.addresses(&decided.sites, family, list);
            if !list.is_empty() {
                decided.is_paired = true;
                self.counts.paired += 1;
                let left = decided.ttl.0.saturating_sub(now.saturating_since(decided.at).0);
                return Answered::Addresses { ttl: whole_seconds(Span(left)), scope };
            }
        }
        let request = self.request(client);
        let decision = self.dispatcher.choose(&request, self.sites.without(family), now);
        self.counts.decisions += 1;
        let chosen = decision.chosen();
        let ttl = match chosen {
            Some(first) => self.ttl(client, first),
            None => self.config.ttl,
        };
        let Inside { dispatcher, journal, sites, config, .. } = self;
        let decided = journal.add(|number, mut named| {
            if let Some(first) = chosen {
                sites.in_order(dispatcher, &request, first, family, config.answers, now, &mut named);
            }
            Decided { number, at: now, client, family, decision, ttl, sites: named, is_paired: false }
        });
        sites.addresses(&decided.sites, family, list);
        self.obey(client, now);
        match (chosen, self.config.none_up) {
            (Some(_), _) => Answered::Addresses { ttl, scope },
            (None, NoneUp::All) => {
                self.counts.none_up += 1;
                self.sites.all(family, list);
                Answered::Addresses { ttl, scope: 0 }
            }
            (None, NoneUp::ServFail) => {
                self.counts.none_up += 1;
                Answered::Nothing
            }
        }
    }

    /// What the policy is asked. Places are looked up only for those that read them.
    fn request(&self, client: Client) -> Request {
        let reads_places = self.dispatcher.requires().contains(Signals::ORIGIN);
        let origin = if reads_places { self.around.places.origin(client.address) } else { Origin::default() };
        Request { client: client.key, origin, lease: Some(self.config.ttl), ..Request::default() }
    }

    /// Whether an answer depends on who asks.
    fn reads_clients(&self) -> bool {
        const OF_CLIENTS: Signals =
            Signals::ADDRESS.union(Signals::ORIGIN).union(Signals::CLIENT_RATES).union(Signals::ROUND_TRIPS);
        self.dispatcher.requires().intersects(OF_CLIENTS) || self.config.ttl_rule == TtlRule::Adaptive
    }

    /// How long `client` may keep an answer that names `first`: whole seconds.
    fn ttl(&self, client: Client, first: BackendId) -> Span {
        let (table, clients) = (self.dispatcher.table(), self.dispatcher.clients());
        whole_seconds(self.config.ttl_rule.ttl(self.config.ttl, client.key, first, table, clients))
    }

    /// Hands on the round trips to a client that the policy wants measured.
    fn obey(&mut self, client: Client, now: Time) {
        if self.dispatcher.next_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        for command in self.dispatcher.poll(now) {
            let Command::Measure { client: of, from } = command else { continue };
            let order = self.sites.sender(from).zip(client.host()).filter(|_| of == client.key);
            let Some((sender, address)) = order else { continue };
            match self.around.orders.try_send(Order { sender, client: address }) {
                Ok(()) => self.counts.probes += 1,
                Err(_) => self.counts.probes_dropped += 1,
            }
        }
    }

    fn hear(&mut self, told: &Told, now: Time) {
        match told {
            Told::Rate { client, rate } => {
                // Whose name is no address asks no DNS by it.
                let Ok(address) = client.parse() else { return };
                let client = Client::at(address);
                let origin = self.around.places.origin(address);
                self.dispatcher.tell_rate(client.key, origin, *rate, now);
                self.obey(client, now);
            }
            Told::Report { backend, report, .. } => {
                if let Some(id) = self.sites.of_sender(*backend) {
                    self.dispatcher.report(id, report, now);
                }
            }
            Told::Echoes { backend, client, probed: Probed::Measured { round_trip, .. }, .. } => {
                let address = client.parse().ok().filter(|_| round_trip.answers > 0);
                if let Some((id, address)) = self.sites.of_sender(*backend).zip(address) {
                    self.counts.round_trips += 1;
                    self.dispatcher.tell_round_trip(Client::at(address).key, id, *round_trip, now);
                }
            }
            Told::Echoes { .. } => {}
            Told::Lost { backend, is_empty } => {
                let why = if *is_empty { "it has no server left" } else { "its reports have ceased" };
                if let Some(id) = self.sites.of_sender(*backend) {
                    self.set(id, Change::Silent(true), why, now);
                }
            }
            Told::Found { backend } => {
                if let Some(id) = self.sites.of_sender(*backend) {
                    self.set(id, Change::Silent(false), "it reports", now);
                }
            }
        }
        self.notice_record();
    }

    fn change(&mut self, site: &str, change: Change, now: Time) -> Result<(), String> {
        let id = self.sites.find(site).ok_or_else(|| self.sites.unknown(site, &self.config.name))?;
        if let Change::Weight(weight) = change {
            self.dispatcher.join(site, weight, now).map_err(|error| error.to_string())?;
        }
        self.set(id, change, "by hand", now);
        Ok(())
    }

    /// Changes a site, and says so where that makes it up or down.
    fn set(&mut self, id: BackendId, change: Change, why: &str, now: Time) {
        if let Some(event) = self.sites.set(id, change, &mut self.dispatcher, now) {
            let (site, service) = (self.sites.name(id), &self.config.name);
            self.around.events.emit(&json!({"event": event, "site": site, "service": service, "why": why}));
        }
    }

    fn prepare(&self, config: &ServiceConfig, around: &Surroundings) -> Result<Prepared, ServeError> {
        let is_kept = [
            self.config.policy == config.policy,
            self.config.client_rates == config.client_rates,
            (self.config.sites_probed, self.config.refresh) == (config.sites_probed, config.refresh),
            (&self.config.record, self.config.explain) == (&config.record, config.explain),
            (self.around.seed, self.around.clients) == (around.seed, around.clients),
            self.around.takes_reports == around.takes_reports,
        ];
        if is_kept.into_iter().all(|is_same| is_same) {
            return Ok(None);
        }
        let mut dispatcher = dispatcher(config, around.seed, around.takes_reports)?;
        let before = if self.config.record == config.record { self.records } else { 0 };
        let records = begin_record(&mut dispatcher, config, before)?;
        Ok(Some((Box::new(dispatcher), records)))
    }

    fn reload(&mut self, config: &ServiceConfig, around: &Surroundings, prepared: Prepared) {
        let now = self.time(clock::now());
        let Some((dispatcher, records)) = prepared else {
            (self.config, self.around) = (config.clone(), around.clone());
            return self.sites.reload(&config.sites, &around.places, &mut self.dispatcher, now);
        };
        // Another policy knows nothing of what this one has learned; what sites have reported it is told again.
        self.finish_record();
        let before = std::mem::replace(&mut self.dispatcher, *dispatcher);
        (self.config, self.around, self.records) = (config.clone(), around.clone(), records);
        let sites = std::mem::take(&mut self.sites);
        self.journal.clear();
        self.begin();
        self.sites.inherit(&sites, &before, &mut self.dispatcher, now);
    }

    fn why(&mut self, client: Client, now: Time) -> Vec<String> {
        let request = self.request(client);
        let origin = request.origin;
        let place = match (origin.region, origin.location) {
            (Some(region), _) => format!(", region {}", self.around.places.region(region)),
            (None, Some(_)) => ", no region".into(),
            (None, None) => String::new(),
        };
        let rate = self.dispatcher.clients().rate(client.key);
        let rate = rate.map_or(String::new(), |rate| format!(", {rate:.2} requests/s"));
        let mut lines = vec![format!("{} by {}: you are {client}{place}{rate}", self.config.name, self.config.policy)];
        if let Some(decided) = self.journal.of(client) {
            lines.push(decided.in_words(|id| self.sites.name(id).to_owned(), now));
        }
        let explanation = self.dispatcher.explain(&request, &[], now);
        for candidate in explanation.candidates {
            let terms: Vec<String> = candidate.terms.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
            let terms = if terms.is_empty() { "it can be chosen".into() } else { terms.join(", ") };
            lines.push(format!("{}: {terms}", self.sites.name(candidate.backend)));
        }
        lines.extend(self.sites.out(&self.dispatcher));
        lines.iter_mut().for_each(|line| line.truncate(line.floor_char_boundary(LINE_MAX)));
        lines.truncate(LINES_MAX);
        lines
    }

    /// Says once that the record is not written any more.
    fn notice_record(&mut self) {
        if let Some(why) = self.dispatcher.record_error().map(ToString::to_string) {
            self.record_fails(&why);
        }
    }

    fn finish_record(&mut self) {
        if let Err(error) = self.dispatcher.finish_record() {
            self.record_fails(&error.to_string());
        }
    }

    fn record_fails(&mut self, why: &str) {
        if !std::mem::replace(&mut self.record_failed, true) {
            let event = json!({"event": "record_failed", "service": self.config.name, "why": why});
            self.around.events.emit(&event);
        }
    }
}

/// Bytes of a line of TXT (RFC 1035, section 3.3.14).
const LINE_MAX: usize = 255;

/// Lines of an answer that says why: so many fit into a datagram.
const LINES_MAX: usize = 16;

/// A TTL of the wire, at least a second.
fn whole_seconds(ttl: Span) -> Span {
    let seconds = ttl.as_secs_f64().round() as u64;
    Span(seconds.clamp(1, TTL_MAX_S.max(1)) * 1_000_000_000)
}
