//! A service: a name whose addresses are chosen, by the very object that the simulator runs.
//!
//! One dispatcher behind a lock serves all threads: a choice takes a microsecond, and one decider that has seen everything
//! decides better than several that have each seen a part. The policy is told what the simulator's DNS is told: the client, where
//! it is, and for how long the answer will be kept; it hears of reports, rates and round trips, and never of a request's end.
//!
//! The client is its network where the resolver tells it (RFC 7871), else who asked. A resolver that tells lies about its
//! clients' networks changes what it is answered itself, which clients count as lately used, and what room sites are believed
//! to have: of each, until it reports, half at most, and each client once.

mod choosing;
mod making;
mod sites;
mod why;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_dispatch::{BackendId, Front, News, Remembered};
use sojourn_part::settings::dns::ServiceSettings;
use sojourn_part::{ServeError, clock};
use sojourn_report::{Probed, Told};
use sojourn_stats::{Span, Time};
use tokio::sync::mpsc;

use super::journal::Journal;
use super::places::Places;
use crate::chooser::{Answered, Asker, Family};
use crate::subnet::Client;
pub(crate) use making::check;
use making::{begin_record, front};
pub(crate) use sites::SiteState;
use sites::Sites;

/// How often the lock is looked at before a thread sleeps: some two hundred microseconds, several times as long as one that has
/// many questions keeps it.
const LOOKS: u32 = 10_000;

/// A round trip that a site is to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The number by which the receiver of reports knows the site.
    pub(crate) sender: BackendId,
    pub(crate) client: IpAddr,
}

/// What a service is made of besides its own part of the file.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) seed: u64,
    pub(crate) clients: std::num::NonZeroUsize,
    pub(crate) takes_reports: bool,
    pub(crate) places: Arc<Places>,
    /// Bits of a network of askers, of IPv4 and of IPv6.
    pub(crate) networks: [u8; 2],
    pub(crate) orders: mpsc::Sender<Order>,
    pub(crate) events: Events,
}

/// A service.
pub(crate) struct Service {
    inside: Mutex<Inside>,
}

/// A service that one thread has for itself until this is dropped.
pub(crate) struct Held<'a>(MutexGuard<'a, Inside>);

struct Inside {
    /// Its whole name.
    name: String,
    config: ServiceSettings,
    around: Surroundings,
    front: Front,
    sites: Sites,
    journal: Journal,
    /// Of the present answer; kept so that a choice allocates nothing.
    named: Vec<BackendId>,
    /// Threads read the clock before they wait for the lock; a dispatcher's time must not run backwards.
    latest: Time,
    counts: Counts,
    /// How many records there were: a new dispatcher begins a new one.
    records: u32,
    record_failed: bool,
}

/// The front of a new configuration, with the number of records, where the old one cannot go on.
pub(crate) type Prepared = Option<(Box<Front>, u32)>;

/// What a service has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Counts {
    /// Questions to the policy.
    pub(crate) decisions: u64,
    /// Queries answered as the one for the other family a moment before.
    pub(crate) paired: u64,
    /// Questions when no site was up.
    pub(crate) none_up: u64,
    /// Questions when sites were up and none had room, where the setting says what to answer then.
    pub(crate) none_with_room: u64,
    /// Orders to measure a round trip.
    pub(crate) probes: u64,
    /// Orders that were not given: too many waited.
    pub(crate) probes_dropped: u64,
    /// Round trips that were measured.
    pub(crate) round_trips: u64,
}

impl Service {
    pub(crate) fn new(name: &str, config: &ServiceSettings, around: &Surroundings) -> Result<Service, ServeError> {
        let mut front = front(config, around.seed, around.takes_reports)?;
        let records = begin_record(&mut front, config, 0)?;
        let mut inside = Inside {
            front,
            name: name.to_owned(),
            config: config.clone(),
            around: around.clone(),
            sites: Sites::default(),
            journal: Journal::new(),
            named: Vec::new(),
            latest: clock::now(),
            counts: Counts::default(),
            records,
            record_failed: false,
        };
        inside.begin();
        Ok(Service { inside: Mutex::new(inside) })
    }

    /// Keeps it for one thread.
    pub(crate) fn held(&self) -> Held<'_> {
        Held(self.lock())
    }

    /// Hears what a report tells; `sender` numbers are the receiver's.
    pub(crate) fn hear(&self, told: &Told, now: Time) {
        let mut inside = self.lock();
        let now = inside.time(now);
        inside.hear(told, now);
    }

    /// Gets ready for a new configuration: what can fail is done here, and nothing of it is in force yet.
    ///
    /// # Errors
    /// When the policy cannot be followed, or a new record cannot be made.
    pub(crate) fn prepare(&self, config: &ServiceSettings, around: &Surroundings) -> Result<Prepared, ServeError> {
        self.lock().prepare(config, around)
    }

    /// Takes a new configuration.
    pub(crate) fn reload(&self, config: &ServiceSettings, around: &Surroundings, prepared: Prepared) {
        self.lock().reload(config, around, prepared);
    }

    /// Learns of a site, and `why` it is so.
    ///
    /// # Errors
    /// In words, where there is no such site.
    pub(crate) fn learn(&self, site: &str, news: News<'_>, why: &str, now: Time) -> Result<(), String> {
        let mut inside = self.lock();
        let now = inside.time(now);
        let id = inside.find(site)?;
        inside.learn(id, news, why, now);
        Ok(())
    }

    /// Gives a site another weight.
    ///
    /// # Errors
    /// In words, where there is no such site or the policy cannot give it its share.
    pub(crate) fn weigh(&self, site: &str, weight: f64, now: Time) -> Result<(), String> {
        let mut inside = self.lock();
        let now = inside.time(now);
        let id = inside.find(site)?;
        inside.front.join(site, weight, now).map_err(|error| error.to_string())?;
        inside.sites.weigh(id, weight);
        Ok(())
    }

    /// Whether a site has this name.
    pub(crate) fn has(&self, site: &str) -> bool {
        self.lock().sites.find(site).is_some()
    }

    /// Numbers a sender of reports.
    pub(crate) fn expect(&self, mut number: impl FnMut(&str) -> BackendId) {
        self.lock().sites.number(&mut number);
    }

    /// The sites that are to be tried at a port: address and port.
    pub(crate) fn checks(&self) -> Vec<(String, std::net::SocketAddr)> {
        self.lock().sites.checks()
    }

    /// Its state as JSON.
    pub(crate) fn state(&self, now: Time) -> Value {
        let inside = self.lock();
        let sites: Vec<SiteState> = inside.sites.states(&inside.front, now);
        let clients = inside.front.clients();
        json!({
            "name": inside.name,
            "policy": inside.config.policy,
            "ttl_s": inside.config.ttl.span.0 / 1_000_000_000,
            "decisions": inside.journal.count(),
            "clients": clients.len(),
            "mean_client_rate_per_s": clients.mean_rate(),
            "counts": inside.counts,
            "sites": sites,
        })
    }

    /// The last decisions, the oldest first, as JSON and in words.
    pub(crate) fn last(&self, count: usize, now: Time) -> Vec<Value> {
        let inside = self.lock();
        let name = |id: BackendId| inside.sites.name(id).to_owned();
        let decided = inside.journal.last(count).map(|one| {
            let mut json = one.json(name, now);
            json["service"] = json!(inside.name);
            json["words"] = json!(one.in_words(name, now));
            json
        });
        decided.collect()
    }

    /// Takes what was known of a client before a restart; false where nothing of it counts any more.
    pub(crate) fn recall(&self, sites: &[String], mut client: Remembered, now: Time) -> bool {
        let mut inside = self.lock();
        let now = inside.time(now);
        if inside.front.clients().rules().rates_expire.is_some_and(|expire| client.rate_age >= expire) {
            client.rate = None;
        }
        client.round_trips.retain_mut(|trip| {
            let site = sites.get(trip.from.0 as usize).and_then(|name| inside.sites.find(name));
            trip.from = site.unwrap_or_default();
            site.is_some()
        });
        let counts = client.rate.is_some() || !client.round_trips.is_empty();
        if counts {
            inside.front.recall(&client, now);
        }
        counts
    }

    /// Its name, its sites by number, and what is known of its clients.
    pub(crate) fn remembered(&self, now: Time) -> (String, Vec<String>, Vec<Remembered>) {
        let mut inside = self.lock();
        let now = inside.time(now);
        let table = inside.front.table();
        let sites = (0..table.len() as u32).map(|id| table.name(BackendId(id)).to_owned()).collect();
        (inside.name.clone(), sites, inside.front.clients().remembered(now))
    }

    /// Ends its record; false where it lacks something.
    pub(crate) fn finish(&self) -> bool {
        let mut inside = self.lock();
        inside.finish_record();
        !inside.record_failed
    }

    /// A thread that finds it taken looks again for a while before it sleeps: what holds it is done in microseconds, to be
    /// woken up takes more. The price: a core that is busy for nothing for so long, where what holds the lock is not running.
    fn lock(&self) -> MutexGuard<'_, Inside> {
        for _ in 0..LOOKS {
            match self.inside.try_lock() {
                Ok(inside) => return inside,
                Err(TryLockError::Poisoned(inside)) => return inside.into_inner(),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    /// Chooses: see [`super::Chooser::choose`].
    pub(crate) fn choose(&mut self, asker: &Asker, family: Family, now: Time, list: &mut Vec<IpAddr>) -> Answered {
        let client = Client::of(asker);
        let now = self.0.time(now);
        self.0.choose((client, asker), family, now, list)
    }

    /// The addresses of all sites that are not drained, and how long they may be kept.
    pub(crate) fn all(&self, family: Family, list: &mut Vec<IpAddr>) -> Span {
        self.0.sites.all(&self.0.front, family, list);
        self.0.config.ttl.span
    }

    /// What it would say to who asks why.
    pub(crate) fn why(&mut self, asker: &Asker, now: Time) -> Vec<String> {
        let now = self.0.time(now);
        self.0.why(Client::of(asker), now)
    }
}

impl Inside {
    fn time(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn hear(&mut self, told: &Told, now: Time) {
        match told {
            // What is not waited for would never expire.
            Told::Rate { .. } if self.config.client_rates.is_none() => {}
            Told::Rate { client, rate } => {
                // Whose name is no address asks no DNS by it.
                let Ok(address) = client.parse() else { return };
                let client = Client::at(address);
                let origin = self.around.places.origin(address);
                self.front.tell_rate(client.key, origin, *rate, now);
                self.obey(client, now);
            }
            Told::Report { backend, report, is_overloaded } => {
                if let Some(id) = self.sites.of_sender(*backend) {
                    self.learn(id, News::Overloaded(*is_overloaded), told.why(), now);
                    self.learn(id, News::Reported(report), told.why(), now);
                }
            }
            Told::Echoes { backend, client, probed: Probed::Measured { round_trip, .. }, .. } => {
                let address = client.parse().ok().filter(|_| round_trip.answers > 0);
                if let Some((id, address)) = self.sites.of_sender(*backend).zip(address) {
                    self.counts.round_trips += 1;
                    self.front.tell_round_trip(Client::at(address).key, id, *round_trip, now);
                }
            }
            Told::Echoes { .. } => {}
            Told::Lost { backend, is_empty } => {
                if let Some(id) = self.sites.of_sender(*backend) {
                    self.learn(id, if *is_empty { News::Empty } else { News::Silent }, told.why(), now);
                }
            }
            // Its report says so, which follows.
            Told::Found { .. } => {}
        }
        self.notice_record();
    }

    fn find(&self, site: &str) -> Result<BackendId, String> {
        self.sites.find(site).ok_or_else(|| self.sites.unknown(site, &self.name))
    }

    /// Learns of a site, and says so where that makes it another.
    fn learn(&mut self, id: BackendId, news: News<'_>, why: &str, now: Time) {
        if let Some(event) = self.sites.learn(id, news, &mut self.front, now) {
            let (site, service) = (self.sites.name(id), &self.name);
            self.around.events.emit(&json!({"event": event, "site": site, "service": service, "why": why}));
        }
    }

    /// Says once that the record is not written any more.
    fn notice_record(&mut self) {
        let failure = self.front.record_failure();
        self.record_fails(failure);
    }

    fn finish_record(&mut self) {
        let failure = self.front.finish_record();
        self.record_fails(failure);
    }

    fn record_fails(&mut self, failure: Option<String>) {
        if let Some(why) = failure {
            self.record_failed = true;
            let event = json!({"event": "record_failed", "service": self.name, "why": why});
            self.around.events.emit(&event);
        }
    }
}
