//! A node at work, as its threads share it: what answers, by which rules, and how new settings are taken.
//!
//! New settings are read and got ready whole before any of them is in force; what is wrong leaves everything as it was. Then
//! what answers is replaced in one step: a request that is being answered is answered by what was there before, the next one on
//! the same connection by what is new. Rules of connections hold for those that come in from then on.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use serde_json::json;
use sojourn_bed::Events;
use sojourn_bed::supervised::Signalled;
use sojourn_part::current::Current;
use sojourn_part::listen::{Connections, Rules};
use sojourn_part::{ServeError, clock, descriptors};

use super::NodeCounts;
use super::answer::{Before, Handler};
use super::broker::Broker;
use super::config::NodeConfig;
use super::metrics::{Numbers, Replies};
use super::tls::{Certificates, Tls};

/// How often it is looked whether a certificate ends soon.
const LOOK: Duration = Duration::from_secs(12 * 3600);

/// A node at work.
pub(super) struct Running {
    pub(super) handler: Arc<Current<Handler>>,
    pub(super) connections: Connections,
    pub(super) tls: Option<Arc<Current<ServerConfig>>>,
    pub(super) replies: Replies,
    settings: Tls,
    /// Where programs are told that it listens.
    port: u16,
    certificates: Option<Arc<Current<Certificates>>>,
    /// The settings in force.
    config: Mutex<NodeConfig>,
    reloads: [AtomicU64; 2],
    events: Events,
}

impl Running {
    /// Gets everything ready but the sockets.
    pub(super) fn new(config: NodeConfig, address: SocketAddr, events: Events) -> Result<Running, ServeError> {
        let cluster = config.cluster.clone();
        let broker = cluster.map(|cluster| Broker::new(cluster, &config, address, events.clone()).map(Arc::new));
        let broker = broker.transpose()?;
        let settings = Tls::new().map_err(ServeError::Config)?;
        let certificates = certificates(&config)?.map(Current::new);
        let tls = certificates.as_ref().map(|certificates| Current::new(settings.settings(certificates.get())));
        let running = Running {
            handler: Current::new(Arc::new(Handler::new(&config, address.port(), Before::Start(broker))?)),
            connections: Connections::new(rules(&config)?),
            tls,
            replies: Replies::default(),
            settings,
            port: address.port(),
            certificates,
            config: Mutex::new(config),
            reloads: Default::default(),
            events,
        };
        Ok(running)
    }

    /// What it is told by a signal.
    pub(super) fn told(&self, told: Signalled) {
        match told {
            Signalled::Reload => drop(self.reload()),
            Signalled::Reopen => self.reopen(),
        }
    }

    /// Reads the file anew and takes it.
    ///
    /// # Errors
    /// In one line; what was in force stays so.
    pub(super) fn reload(&self) -> Result<(), String> {
        let outcome = self.read_and_take();
        match &outcome {
            Ok(()) => {
                self.events.emit(&json!({"event": "reloaded"}));
                self.warn();
            }
            Err(why) => self.events.emit(&json!({"event": "reload_failed", "why": why})),
        }
        self.reloads[usize::from(outcome.is_err())].fetch_add(1, Ordering::Relaxed);
        outcome
    }

    fn read_and_take(&self) -> Result<(), String> {
        // Held to the end, so that two reloads do not mix.
        let mut in_force = self.config();
        // Without a file there is still the table of an oracle.
        let Some(source) = &in_force.source else {
            let has_oracle = in_force.cluster.as_ref().is_some_and(|cluster| cluster.oracle.is_some());
            let why = "there is no file to read anew; it serves on";
            return if has_oracle { self.reload_oracle() } else { Err(why.into()) };
        };
        let config = source.read()?;
        if let Some(key) = config.fixed_difference(&in_force) {
            let file = source.file.display();
            return Err(format!("{file}: {key} cannot change in a running node: start it anew"));
        }
        let certificates = certificates(&config).map_err(|error| error.to_string())?;
        let rules = rules(&config).map_err(|error| error.to_string())?;
        let before = self.handler.get();
        let handler = Handler::new(&config, self.port, Before::Reload(&before)).map_err(|error| error.to_string())?;
        self.reload_oracle()?;
        if let (Some(new), Some(current), Some(tls)) = (certificates, &self.certificates, &self.tls) {
            tls.set(self.settings.settings(Arc::clone(&new)));
            current.set(new);
        }
        self.connections.set_rules(rules);
        self.handler.set(Arc::new(handler));
        *in_force = config;
        Ok(())
    }

    fn reload_oracle(&self) -> Result<(), String> {
        self.handler.get().broker().map_or(Ok(()), |broker| broker.reload())
    }

    /// Opens the log anew, where its path leads now.
    fn reopen(&self) {
        let config = self.config();
        match Handler::new(&config, self.port, Before::Reload(&self.handler.get())) {
            Ok(handler) => {
                self.handler.set(Arc::new(handler));
                self.events.emit(&json!({"event": "reopened"}));
            }
            Err(error) => self.events.emit(&json!({"event": "reopen_failed", "why": error.to_string()})),
        }
    }

    /// Tells of certificates that end soon, now and from time to time.
    pub(super) async fn watch_certificates(&self) {
        loop {
            self.warn();
            tokio::time::sleep(LOOK).await;
        }
    }

    fn warn(&self) {
        let certificates = self.certificates.iter().flat_map(|current| current.get().ending_soon(clock::seconds()));
        certificates.for_each(|event| self.events.emit(&event));
    }

    /// What it has done so far.
    pub(super) fn counts(&self) -> NodeCounts {
        NodeCounts { connections: self.connections.counts(), ..self.handler.get().counts(clock::now()) }
    }

    /// All its numbers, for Prometheus.
    pub(super) fn numbers(&self) -> String {
        let certificates = self.certificates.as_ref().map(|current| current.get());
        let reloads = [0, 1].map(|index: usize| self.reloads[index].load(Ordering::Relaxed));
        self.replies.text(&Numbers {
            counts: self.counts(),
            open: self.connections.open(),
            reloads,
            certificates: certificates.as_deref(),
        })
    }

    fn config(&self) -> MutexGuard<'_, NodeConfig> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn certificates(config: &NodeConfig) -> Result<Option<Arc<Certificates>>, ServeError> {
    let Some(tls) = &config.tls else { return Ok(None) };
    let certificates = Certificates::read(&tls.certificates, clock::seconds()).map_err(ServeError::Config)?;
    Ok(Some(Arc::new(certificates)))
}

/// The rules of connections that the settings make.
fn rules(config: &NodeConfig) -> Result<Rules, ServeError> {
    // A connection may take a file besides, the pipes of a program, or a connection to a peer, which may be left behind idle;
    // each thread has some descriptors of its own.
    let has_programs = config.cgi.is_some() || config.fastcgi.is_some();
    let (each, kept) = match config.files.is_some() || has_programs {
        true => (2 + u64::from(has_programs), descriptors::kept() as u64),
        false => (1, 0),
    };
    let each = each + 2 * u64::from(config.cluster.is_some());
    let limits = &config.limits;
    Ok(Rules {
        connections: descriptors::connections(config.connections, each, 16 + (4 + kept) * config.threads as u64)?,
        when_full: limits.when_full,
        per_address: limits.per_address,
        requests: limits.requests,
        keep_alive: config.keep_alive,
        head_timeout: config.head_timeout,
        head_size: Some(limits.head_size),
        patience: limits.send_timeout,
        handshake_timeout: limits.handshake_timeout,
        streams: limits.streams,
        grace: config.grace,
    })
}
