//! A balancer of others as the decider of a live run: HAProxy, nginx or Envoy, started with a configuration of ours that is kept
//! in the run folder.

use std::net::SocketAddr;
use std::path::PathBuf;

use sojourn_bed::{Ground, Host};
use sojourn_part::program::{Balancer, Running};
use sojourn_products::{Behind, Decider, Product};

use super::bed;
use super::choices::Choices;
use super::incidents::{self, Incident};

/// What is kept of it.
pub(super) struct Kept {
    /// The file of its configuration.
    pub(super) configuration: PathBuf,
    /// Its access log, for as long as it runs.
    pub(super) log: PathBuf,
    /// The file of its choices, if they are kept.
    pub(super) choices: Option<PathBuf>,
}

/// What is left of one that has ended.
pub(super) struct Ended {
    pub(super) incidents: Vec<Incident>,
    pub(super) notes: Vec<String>,
    /// What it has chosen, where its log is read; or why that cannot be said.
    pub(super) choices: Option<Result<Choices, String>>,
}

/// One that runs.
pub(super) struct Started {
    name: String,
    running: Running,
    host: Host,
    product: Product,
    kept: Option<Kept>,
    /// The names of the servers behind it.
    servers: Vec<String>,
    /// What is to be known of it: where its rule is not that of its version, what of its settings the rule lacks.
    notes: Vec<String>,
}

impl Started {
    /// Starts it in front of these servers, on a host of its own.
    pub(super) fn start(
        ground: &mut dyn Ground,
        name: &str,
        decider: &Decider,
        servers: &[Behind],
        kept: Option<Kept>,
    ) -> Result<Started, String> {
        let product = decider.product;
        let executable = product.installed().map_err(|error| error.to_string())?;
        let version = product.version(&executable).map_err(|error| error.to_string())?;
        let stands_for = decider.stands_for(&version).map_err(|error| format!("{name}: {error}"))?;
        let of_settings = decider.settings.iter().flat_map(|settings| settings.notes.iter().cloned());
        let notes = stands_for.into_iter().chain(of_settings).map(|note| format!("{name}: {note}")).collect();
        let host = ground.host(name).map_err(|error| error.to_string())?;
        let listen = SocketAddr::new(ground.address(host), 0);
        let access_log = kept.as_ref().map(|kept| kept.log.clone());
        let balancer = Balancer { executable: Some(executable), listen, access_log, ..Balancer::new(product) };
        let start = || {
            let mut written = String::new();
            let running = balancer.start(|spot| {
                written = decider.configuration(servers, spot);
                written.clone()
            });
            running.map(|running| (running, written))
        };
        let (running, written) = bed::within(ground, host, start)?.map_err(|error| format!("{name}: {error}"))?;
        if let Some(Kept { configuration, .. }) = &kept {
            let failed = |error| format!("cannot write {}: {error}", configuration.display());
            std::fs::write(configuration, written).map_err(failed)?;
        }
        let own = product.name();
        // Whatever the tier is called, a reader is to know what has ended.
        let name = if name.contains(own) { name.to_owned() } else { format!("{name} ({own})") };
        let servers = servers.iter().map(|server| server.name.clone()).collect();
        Ok(Started { name, running, host, product, kept, servers, notes })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// Ends it.
    pub(super) fn stop(self, ground: &dyn Ground) -> Ended {
        let incidents = self.incidents(ground);
        let Started { name, running, product, kept, servers, notes, .. } = self;
        // With its end it has logged all.
        running.stop();
        let read = |Kept { log, choices, .. }| Choices::read(&name, product, &servers, &log, choices.as_deref());
        let choices = kept.map(read);
        Ended { incidents, notes, choices }
    }

    /// What happened to it, and whether it still accepts connections.
    fn incidents(&self, ground: &dyn Ground) -> Vec<Incident> {
        let mut found = incidents::of(&self.name, self.running.child(), |_| false);
        let answers = bed::within(ground, self.host, || self.running.answers()).unwrap_or(false);
        if found.is_empty() && !answers {
            found.push(incidents::silence(&self.name));
        }
        found
    }
}
