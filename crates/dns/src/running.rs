//! A DNS at work, as its threads share it: the decider, the wire, and how a new configuration is taken.
//!
//! A new configuration is read and got ready whole before any of it is in force: the zones, the services and their records.
//! Then services are taken, zones are swapped in one step, and services that are there no more are let go. What is wrong leaves
//! everything as it was. What the file cannot change in a running DNS (addresses to listen at, threads, limits) is
//! refused; the key is read at the start.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_part::{ServeError, clock};
use sojourn_report::Ears;
use tokio::sync::mpsc;

use super::config::{DnsConfig, ZoneConfig};
use super::decider::{Decider, Numbers, Order, Places, Surroundings, memory};
use super::notify::{self, Notice};
use super::server::Server;
use super::wire::name::Name;
use super::zone::{Zone, Zones};

/// A DNS at work.
pub(super) struct Running {
    pub(super) decider: Arc<Decider>,
    /// None before the wire is there.
    server: Mutex<Option<Server>>,
    /// The configuration in force, and its file, if it is from one.
    config: Mutex<DnsConfig>,
    file: Option<PathBuf>,
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
        config: DnsConfig,
        file: Option<PathBuf>,
        ears: Option<Ears>,
        (orders, notices): (mpsc::Sender<Order>, mpsc::UnboundedSender<Notice>),
        events: Events,
    ) -> Result<(Running, Arc<Zones>), ServeError> {
        let decider = Arc::new(Decider::new());
        let running = Running {
            decider,
            server: Mutex::new(None),
            config: Mutex::new(config.clone()),
            file,
            ears,
            orders,
            notices,
            told: Mutex::default(),
            events,
        };
        let zones = running.take(&config)?;
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
        let file = self.file.as_deref().ok_or("there is no file to read anew")?;
        let config = DnsConfig::read(file)?;
        // Also so that two reloads do not mix.
        let mut in_force = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        let fixed =
            |what: &str| Err(format!("{}: {what} cannot change in a running DNS: start it anew", file.display()));
        match () {
            () if config.listen != in_force.listen => return fixed("listen"),
            () if config.threads != in_force.threads => return fixed("threads"),
            () if config.limits != in_force.limits => return fixed("limits"),
            () if config.control != in_force.control => return fixed("control"),
            () if config.metrics != in_force.metrics => return fixed("metrics"),
            () => {}
        }
        let listens = |config: &DnsConfig| config.reports.as_ref().map(|reports| reports.listen);
        if listens(&config) != listens(&in_force) {
            return fixed("reports.listen");
        }
        let zones = self.take(&config).map_err(|error| error.to_string())?;
        if let Some(server) = &*self.server.lock().unwrap_or_else(PoisonError::into_inner) {
            server.set_zones(Arc::clone(&zones));
        }
        self.notify(&zones);
        self.decider.retire(&config);
        *in_force = config;
        Ok(())
    }

    /// Gets all of a configuration ready, and then takes it; gives its zones.
    fn take(&self, config: &DnsConfig) -> Result<Arc<Zones>, ServeError> {
        let places = Places::new(&config.regions, config.geo.as_deref()).map_err(ServeError::Config)?;
        // What is wrong in a zone is found before anything is taken.
        let stands_for =
            |zone: &ZoneConfig| zone.services.iter().map(|of| (of.label.clone(), super::ServiceId(0))).collect();
        zones(config, stands_for).map_err(ServeError::Config)?;
        let ready = self.decider.prepare(
            config,
            Surroundings {
                seed: config.seed,
                clients: config.clients,
                takes_reports: config.reports.is_some(),
                places: Arc::new(places),
                networks: [config.limits.prefix_v4, config.limits.prefix_v6],
                orders: self.orders.clone(),
                events: self.events.clone(),
            },
        )?;
        self.decider.take(ready);
        if let Some(ears) = &self.ears {
            self.decider.expect(|name| ears.expect(name));
        }
        let zones = zones(config, |zone| self.decider.numbers(&zone.services)).map_err(ServeError::Config)?;
        Ok(Arc::new(zones))
    }

    /// Takes what was known of clients before a restart; gives of how many, or why not of all.
    pub(super) fn recall(&self, path: &Path) -> Result<u64, String> {
        memory::recall(path, &self.decider)
    }

    /// Keeps what is known of clients for the next start, if that is wanted.
    pub(super) fn keep(&self) {
        let path = self.config.lock().unwrap_or_else(PoisonError::into_inner).state.clone();
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

/// The zones of a configuration.
pub(super) fn zones(config: &DnsConfig, numbers: impl Fn(&ZoneConfig) -> Numbers) -> Result<Zones, String> {
    let zone = |zone: &ZoneConfig| match &zone.file {
        None => Zone::made(&zone.name, &zone.ns, SERIAL, &numbers(zone)),
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let read = Zone::parse(&zone.name, &text, &numbers(zone));
            read.map_err(|why| format!("{}: {why}", path.display()))?.with_secondaries(&zone.transfer, &zone.notify)
        }
    };
    let zones = Zones::new(config.zones.iter().map(zone).collect::<Result<_, _>>()?)?;
    Ok(zones.with_keys(config.keys.iter().cloned()))
}

/// The serial number of a zone without a file; nothing may transfer it.
const SERIAL: u32 = 1;
