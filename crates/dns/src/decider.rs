//! All services of a DNS: what the wire asks, and what reports, checks and people tell.

mod journal;
pub(super) mod memory;
mod places;
mod service;

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use sojourn_dispatch::{BackendId, News, Remembered};
use sojourn_part::ServeError;
use sojourn_part::settings::dns::{DnsSettings, ServiceSettings, ZoneSettings};
use sojourn_report::Told;
use sojourn_stats::{Span, Time};

use super::chooser::{Answered, Asker, Choices, Chooser, Family, ServiceId};
pub(super) use places::Places;
use service::{Held, Prepared, Service};
pub(super) use service::{Order, Surroundings, check};

/// All services.
pub(super) struct Decider {
    services: RwLock<Services>,
}

#[derive(Default)]
struct Services {
    /// By number; none where a service is there no more. Numbers are never used again.
    by_id: Vec<Option<Arc<Service>>>,
    by_name: HashMap<String, ServiceId>,
}

/// A new configuration that can be taken: nothing of it can fail any more.
pub(super) struct Ready {
    around: Surroundings,
    kept: Vec<(ServiceId, ServiceSettings, Prepared)>,
    added: Vec<(String, Arc<Service>)>,
}

/// The numbers of a zone's services, by their labels.
pub(super) type Numbers = Vec<(String, ServiceId)>;

/// All services with their whole names.
fn named(settings: &DnsSettings) -> impl Iterator<Item = (String, &ServiceSettings)> {
    settings.zones.iter().flat_map(|zone| zone.services.iter().map(move |service| (whole(zone, service), service)))
}

fn whole(zone: &ZoneSettings, service: &ServiceSettings) -> String {
    zone.whole(service).expect("settings are checked")
}

impl Services {
    fn all(&self) -> impl Iterator<Item = &Arc<Service>> {
        self.by_id.iter().flatten()
    }

    fn get(&self, id: ServiceId) -> Option<&Service> {
        self.by_id.get(id.0 as usize)?.as_deref()
    }
}

impl Decider {
    pub(super) fn new() -> Decider {
        Decider { services: RwLock::default() }
    }

    /// Gets ready for a configuration.
    ///
    /// # Errors
    /// When a policy cannot be followed, or a record cannot be made; what is in force stays so.
    pub(super) fn prepare(&self, settings: &DnsSettings, around: Surroundings) -> Result<Ready, ServeError> {
        let services = self.read();
        let (mut kept, mut added) = (Vec::new(), Vec::new());
        for (name, service) in named(settings) {
            match services.by_name.get(&name) {
                Some(id) => {
                    let known = services.by_id[id.0 as usize].as_ref().expect("what has a name is there");
                    kept.push((*id, service.clone(), known.prepare(service, &around)?));
                }
                None => {
                    let added_now = Arc::new(Service::new(&name, service, &around)?);
                    added.push((name, added_now));
                }
            }
        }
        Ok(Ready { around, kept, added })
    }

    /// Takes it: services that are new, and new settings of those that stay. Those that are left out stay until they are
    /// retired, since the wire may ask for them for a moment.
    pub(super) fn take(&self, ready: Ready) {
        let mut services = self.services.write().unwrap_or_else(PoisonError::into_inner);
        for (id, config, prepared) in ready.kept {
            let service = services.by_id[id.0 as usize].as_ref().expect("it was there a moment ago");
            service.reload(&config, &ready.around, prepared);
        }
        for (name, service) in ready.added {
            let id = ServiceId(services.by_id.len() as u32);
            services.by_id.push(Some(service));
            services.by_name.insert(name, id);
        }
    }

    /// The numbers of a zone's services, by their labels.
    pub(super) fn numbers(&self, zone: &ZoneSettings) -> Numbers {
        let services = self.read();
        let named = zone.services.iter().map(|service| (zone.label(service), services.by_name[&whole(zone, service)]));
        named.collect()
    }

    /// Lets go of the services that the configuration does not have.
    pub(super) fn retire(&self, settings: &DnsSettings) {
        let mut services = self.services.write().unwrap_or_else(PoisonError::into_inner);
        let stay: HashSet<String> = named(settings).map(|(name, _)| name).collect();
        let gone: Vec<String> = services.by_name.keys().filter(|name| !stay.contains(*name)).cloned().collect();
        for name in gone {
            let id = services.by_name.remove(&name).expect("it was just there");
            if let Some(service) = services.by_id[id.0 as usize].take() {
                service.finish();
            }
        }
    }

    /// Asks by which number the receiver of reports knows each site.
    pub(super) fn expect(&self, mut number: impl FnMut(&str) -> BackendId) {
        self.read().all().for_each(|service| service.expect(&mut number));
    }

    /// Hears what reports tell.
    pub(super) fn hear(&self, told: &[Told], now: Time) {
        let services = self.read();
        for told in told {
            services.all().for_each(|service| service.hear(told, now));
        }
    }

    /// Learns of a site, in every service that has it.
    ///
    /// # Errors
    /// In words, where none has it.
    pub(super) fn learn(&self, site: &str, news: News<'_>, why: &str, now: Time) -> Result<(), String> {
        self.of_site(site, |service| service.learn(site, news, why, now))
    }

    /// Gives a site another weight, in every service that has it.
    ///
    /// # Errors
    /// In words, where none has it, or it cannot have that weight.
    pub(super) fn weigh(&self, site: &str, weight: f64, now: Time) -> Result<(), String> {
        self.of_site(site, |service| service.weigh(site, weight, now))
    }

    fn of_site(&self, site: &str, act: impl FnMut(&Arc<Service>) -> Result<(), String>) -> Result<(), String> {
        let services = self.read();
        let having: Vec<_> = services.all().filter(|service| service.has(site)).collect();
        match having.is_empty() {
            true => services.all().try_for_each(act),
            false => having.into_iter().try_for_each(act),
        }
    }

    /// The names and places of the sites that are to be tried.
    pub(super) fn checks(&self) -> Vec<(String, SocketAddr)> {
        let mut checks: Vec<_> = self.read().all().flat_map(|service| service.checks()).collect();
        checks.sort();
        checks.dedup();
        checks
    }

    /// The state of each service.
    pub(super) fn states(&self, now: Time) -> Vec<Value> {
        self.read().all().map(|service| service.state(now)).collect()
    }

    /// The last decisions of all services, the oldest first.
    pub(super) fn last(&self, count: usize, now: Time) -> Vec<Value> {
        let mut last: Vec<Value> = self.read().all().flat_map(|service| service.last(count, now)).collect();
        last.sort_by_key(|decided| decided["at"].as_u64());
        last.split_off(last.len().saturating_sub(count))
    }

    /// Takes what was known of a client of a service before a restart, whose backends are numbers of `sites`; false where
    /// there is no such service, or nothing of it counts any more.
    pub(super) fn recall(&self, service: &str, sites: &[String], client: Remembered, now: Time) -> bool {
        let services = self.read();
        let id = services.by_name.get(service).map(|id| id.0 as usize);
        id.and_then(|id| services.by_id[id].as_ref()).is_some_and(|service| service.recall(sites, client, now))
    }

    /// What is known of clients: of each service its name, its sites by number, and its clients.
    pub(super) fn remembered(&self, now: Time) -> Vec<(String, Vec<String>, Vec<Remembered>)> {
        self.read().all().map(|service| service.remembered(now)).collect()
    }

    /// Ends all records; false where one lacks something.
    pub(super) fn finish(&self) -> bool {
        // Each is ended, also after one that lacks something.
        let whole: Vec<bool> = self.read().all().map(|service| service.finish()).collect();
        whole.into_iter().all(|is_whole| is_whole)
    }

    fn read(&self) -> RwLockReadGuard<'_, Services> {
        self.services.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chooser for Decider {
    fn choose(&self, service: ServiceId, asker: &Asker, family: Family, now: Time, list: &mut Vec<IpAddr>) -> Answered {
        InARow::of(&self.read()).choose(service, asker, family, now, list)
    }

    fn all(&self, service: ServiceId, family: Family, list: &mut Vec<IpAddr>) -> Span {
        InARow::of(&self.read()).all(service, family, list)
    }

    fn why(&self, service: ServiceId, asker: &Asker, now: Time) -> Vec<String> {
        InARow::of(&self.read()).why(service, asker, now)
    }

    fn in_a_row(&self, work: &mut dyn FnMut(&mut dyn Choices)) {
        work(&mut InARow::of(&self.read()));
    }
}

/// How many choices a thread makes before it lets others at the service.
const ROW: u32 = 16;

/// What one thread asks in a row. It keeps the service that it asked last for [`ROW`] questions, or until it asks another: the
/// lock goes to and fro between threads, and what is behind it between their caches, once for many choices. No thread holds two.
struct InARow<'a> {
    services: &'a Services,
    held: Option<(ServiceId, Held<'a>)>,
    /// Questions that the service is still kept for.
    left: u32,
}

impl<'a> InARow<'a> {
    fn of(services: &'a Services) -> InARow<'a> {
        InARow { services, held: None, left: 0 }
    }

    /// The service of this number, if it is there; any other is let go.
    fn take(&mut self, id: ServiceId) -> Option<&mut Held<'a>> {
        if self.left == 0 || self.held.as_ref().is_none_or(|(held, _)| *held != id) {
            // First let go, then taken: two threads that want each other's would wait for ever.
            self.held = None;
            self.left = ROW;
            self.held = self.services.get(id).map(|service| (id, service.held()));
        }
        self.left -= 1;
        self.held.as_mut().map(|(_, held)| held)
    }
}

impl Choices for InARow<'_> {
    fn choose(
        &mut self,
        service: ServiceId,
        asker: &Asker,
        family: Family,
        now: Time,
        list: &mut Vec<IpAddr>,
    ) -> Answered {
        self.take(service).map_or(Answered::Nothing, |held| held.choose(asker, family, now, list))
    }

    fn all(&mut self, service: ServiceId, family: Family, list: &mut Vec<IpAddr>) -> Span {
        self.take(service).map_or(Span::ZERO, |held| held.all(family, list))
    }

    fn why(&mut self, service: ServiceId, asker: &Asker, now: Time) -> Vec<String> {
        self.take(service).map_or_else(Vec::new, |held| held.why(asker, now))
    }
}
