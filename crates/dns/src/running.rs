//! A DNS at work, as its threads share it: the decider, the wire, and how a new configuration is taken.
//!
//! A new configuration is read and got ready whole before any of it is in force: the zones, the services and their records.
//! Then services are taken, zones are swapped in one step, and services that are there no more are let go. What is wrong leaves
//! everything as it was. What the file cannot change in a running DNS (addresses to listen at, threads, limits) is
//! refused; the key is read at the start.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_dispatch::capacity::Rule;
use sojourn_part::settings::dns::{DnsSettings, ZoneSettings};
use sojourn_part::settings::{Given, Wrong};
use sojourn_part::{ServeError, clock};
use sojourn_report::{Ears, Key, ReportsConfig};
use sojourn_stats::input;
use tokio::sync::mpsc;

use super::chooser::ServiceId;
use super::decider::{self, Decider, Numbers, Order, Places, Surroundings, memory};
use super::notify::{self, Notice};
use super::server::Server;
use super::wire::name::Name;
use super::wire::tsig::TransferKey;
use super::zone::{Zone, Zones};

/// A DNS at work.
pub(super) struct Running {
    pub(super) decider: Arc<Decider>,
    /// None before the wire is there.
    server: Mutex<Option<Server>>,
    /// The settings in force, and where they are from, to be read anew.
    settings: Mutex<DnsSettings>,
    given: Option<Given<DnsSettings>>,
    ears: Option<Ears>,
    orders: mpsc::Sender<Order>,
    notices: mpsc::UnboundedSender<Notice>,
    /// The serial numbers of zones of which secondaries have been told.
    told: Mutex<HashMap<Name, u32>>,
    events: Events,
}

impl Running {
    /// Gets a configuration ready and in force, but for the wire; gives the zones for it.
    pub(super) fn begin(
        settings: DnsSettings,
        given: Option<Given<DnsSettings>>,
        ears: Option<Ears>,
        (orders, notices): (mpsc::Sender<Order>, mpsc::UnboundedSender<Notice>),
        events: Events,
    ) -> Result<(Running, Arc<Zones>), ServeError> {
        let decider = Arc::new(Decider::new());
        let running = Running {
            decider,
            server: Mutex::new(None),
            settings: Mutex::new(settings.clone()),
            given,
            ears,
            orders,
            notices,
            told: Mutex::default(),
            events,
        };
        let zones = running.take(&settings)?;
        Ok((running, zones))
    }

    /// The wire is there.
    pub(super) fn serve(&self, server: Server) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }

    /// Tells secondaries of zones whose serial numbers they have not been told.
    pub(super) fn notify(&self, zones: &Zones) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in notify::of(zones, &mut told, clock::wall() / 1_000_000_000) {
            // At its end nothing is told any more.
            let _ = self.notices.send(notice);
        }
    }

    /// Takes the wire away, to end it.
    pub(super) fn end(&self) -> Option<Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reads the file anew and takes it.
    ///
    /// # Errors
    /// In one line; what was in force stays so.
    pub(super) fn reload(&self) -> Result<(), String> {
        let outcome = self.read_and_take();
        match &outcome {
            Ok(()) => self.events.emit(&json!({"event": "reloaded"})),
            Err(why) => self.events.emit(&json!({"event": "reload_failed", "why": why})),
        }
        outcome
    }

    fn read_and_take(&self) -> Result<(), String> {
        let given = self.given.as_ref().ok_or("there is no file to read anew")?;
        let settings = given.read_and(check)?;
        // Also so that two reloads do not mix.
        let mut in_force = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let listens = |settings: &DnsSettings| settings.reports.as_ref().map(|reports| reports.listen);
        let fixed = [
            ("listen", settings.listen != in_force.listen),
            ("threads", settings.threads != in_force.threads),
            ("limits", settings.limits != in_force.limits),
            ("control", settings.control != in_force.control),
            ("metrics", settings.metrics != in_force.metrics),
            ("metrics_allow_from", settings.metrics_allow_from != in_force.metrics_allow_from),
            ("reports.listen", listens(&settings) != listens(&in_force)),
        ];
        if let Some((key, _)) = fixed.into_iter().find(|(_, is_new)| *is_new) {
            return Err(given.wrong(&Wrong::new(key, "it cannot change in a running DNS: start it anew")));
        }
        let zones = self.take(&settings).map_err(|error| error.to_string())?;
        if let Some(server) = &*self.server.lock().unwrap_or_else(PoisonError::into_inner) {
            server.set_zones(Arc::clone(&zones));
        }
        self.notify(&zones);
        self.decider.retire(&settings);
        *in_force = settings;
        Ok(())
    }

    /// Gets all of a configuration ready, and then takes it; gives its zones.
    fn take(&self, settings: &DnsSettings) -> Result<Arc<Zones>, ServeError> {
        let places = places(settings).map_err(wrong)?;
        // What is wrong in a zone is found before anything is taken.
        zones(settings, stands_for).map_err(wrong)?;
        let ready = self.decider.prepare(
            settings,
            Surroundings {
                seed: settings.seed,
                clients: NonZeroUsize::new(settings.clients).expect("settings are checked"),
                takes_reports: settings.reports.is_some(),
                places: Arc::new(places),
                networks: [settings.limits.prefix_v4, settings.limits.prefix_v6],
                orders: self.orders.clone(),
                events: self.events.clone(),
            },
        )?;
        self.decider.take(ready);
        if let Some(ears) = &self.ears {
            self.decider.expect(|name| ears.expect(name));
        }
        let zones = zones(settings, |zone| self.decider.numbers(zone)).map_err(wrong)?;
        Ok(Arc::new(zones))
    }

    /// Takes what was known of clients before a restart; gives of how many, or why not of all.
    pub(super) fn recall(&self, path: &Path) -> Result<u64, String> {
        memory::recall(path, &self.decider)
    }

    /// Keeps what is known of clients for the next start, if that is wanted.
    pub(super) fn keep(&self) {
        let path = self.settings.lock().unwrap_or_else(PoisonError::into_inner).state.clone();
        if let Some(path) = path
            && let Err(error) = memory::keep(&path, &self.decider)
        {
            let why = format!("{}: {error}", path.display());
            self.events.emit(&json!({"event": "state_not_kept", "why": why}));
        }
    }

    /// What it knows and has done, as JSON.
    pub(super) fn state(&self) -> Value {
        let mut state = json!({"services": self.decider.states(clock::now())});
        if let Some(ears) = &self.ears {
            state["reports_dropped"] = json!(ears.dropped());
            state["exchanged"] = json!(ears.exchanged());
        }
        if let Some(server) = &*self.server.lock().unwrap_or_else(PoisonError::into_inner) {
            state["wire"] = json!(server.counts());
        }
        state
    }
}

/// What only a DNS can say of settings that are right as such: its keys, zone files and table of places are read, and its
/// policies made.
///
/// # Errors
/// The first setting that cannot be followed.
pub fn check(settings: &DnsSettings) -> Result<(), Wrong> {
    key_of_reports(settings)?;
    places(settings)?;
    for (index, zone) in settings.zones.iter().enumerate() {
        for (place, service) in zone.services.iter().enumerate() {
            let wrong = |why| Wrong::new(format!("zone[{index}].service[{place}].policy"), why);
            decider::check(service, settings.reports.is_some()).map_err(wrong)?;
        }
    }
    zones(settings, stands_for).map(drop)
}

/// Where reports are taken, with their key, if they are.
pub(super) fn key_of_reports(settings: &DnsSettings) -> Result<Option<ReportsConfig>, Wrong> {
    let Some(reports) = &settings.reports else { return Ok(None) };
    let key = Key::read(&reports.key_file).map_err(|why| Wrong::new("reports.key_file", why))?;
    let capacity = Rule::new(&reports.estimator, reports.capacity.at);
    let capacity = capacity.map_err(|why| Wrong::new("reports.estimator", why))?;
    Ok(Some(ReportsConfig { capacity, ..ReportsConfig::new(reports.listen, key) }))
}

fn places(settings: &DnsSettings) -> Result<Places, Wrong> {
    let table = settings.geo.as_ref().map(|geo| geo.file.as_path());
    Places::new(&settings.regions, table).map_err(|why| Wrong::new("geo.file", why))
}

/// Numbers before there are services: what is wrong in a zone is the same by any.
fn stands_for(zone: &ZoneSettings) -> Numbers {
    zone.services.iter().map(|service| (zone.label(service), ServiceId(0))).collect()
}

/// The zones of the settings.
fn zones(settings: &DnsSettings, numbers: impl Fn(&ZoneSettings) -> Numbers) -> Result<Zones, Wrong> {
    let mut all = Vec::new();
    for (index, zone) in settings.zones.iter().enumerate() {
        let wrong = |key: &str, why| Wrong::new(format!("zone[{index}].{key}"), why);
        all.push(match &zone.file {
            None => Zone::made(&zone.name, &zone.ns, SERIAL, &numbers(zone)).map_err(|why| wrong("ns", why))?,
            Some(path) => {
                let wrong = |why: String| wrong("file", format!("{}: {why}", path.display()));
                let text = input::text(path).map_err(|error| wrong(error.to_string()))?;
                let read = Zone::parse(&zone.name, &text, &numbers(zone));
                read.and_then(|read| read.with_secondaries(&zone.transfer, &zone.notify)).map_err(wrong)?
            }
        });
    }
    let mut keys = Vec::new();
    for (index, key) in settings.keys.iter().enumerate() {
        let read = TransferKey::read(&key.name, &key.algorithm, &key.secret_file);
        keys.push(read.map_err(|why| Wrong::new(format!("key[{index}].secret_file"), why))?);
    }
    let zones = Zones::new(all).map_err(|why| Wrong::new("zone", why))?;
    if let Some((apex, why)) = zones.circle() {
        let apex = apex.to_string();
        let zone = settings.zones.iter().enumerate().find(|(_, zone)| format!("{}.", zone.name) == apex);
        let (index, zone) = zone.expect("the zone is one of the settings'");
        let file = zone.file.as_deref().unwrap_or(Path::new(""));
        return Err(Wrong::new(format!("zone[{index}].file"), format!("{}: {why}", file.display())));
    }
    Ok(zones.with_keys(keys).with_why(settings.why_allow_from.clone()))
}

/// A setting that a DNS cannot be started with.
pub(super) fn wrong(wrong: Wrong) -> ServeError {
    ServeError::Config(wrong.to_string())
}

/// The serial number of a zone without a file; nothing may transfer it.
const SERIAL: u32 = 1;
