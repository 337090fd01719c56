//! A balancer of others as the decider of a live run: HAProxy, nginx or Envoy, started with a configuration of ours that is kept in the
//! run folder.

use std::net::SocketAddr;
use std::path::Path;

use sojourn_bed::{Ground, Host};
use sojourn_part::program::{Balancer, Running};
use sojourn_products::{Behind, Decider};

use super::bed;
use super::incidents::{self, Incident};

/// One that runs.
pub(super) struct Started {
    name: String,
    running: Running,
    host: Host,
    note: Option<String>,
}

impl Started {
    /// Starts it in front of these servers, on a host of its own. Its configuration is written to `file`, if any.
    pub(super) fn start(
        ground: &mut dyn Ground,
        name: &str,
        decider: &Decider,
        servers: &[Behind],
        file: Option<&Path>,
    ) -> Result<Started, String> {
        let product = decider.product;
        let executable = product.installed().map_err(|error| error.to_string())?;
        let version = product.version(&executable).map_err(|error| error.to_string())?;
        let note = decider.stands_for(&version).map_err(|error| format!("{name}: {error}"))?;
        let host = ground.host(name).map_err(|error| error.to_string())?;
        let listen = SocketAddr::new(ground.address(host), 0);
        let balancer = Balancer { executable: Some(executable), listen, ..Balancer::new(product) };
        let start = || {
            let mut written = String::new();
            let running = balancer.start(|spot| {
                written = decider.configuration(servers, spot);
                written.clone()
            });
            running.map(|running| (running, written))
        };
        let (running, written) = bed::within(ground, host, start)?.map_err(|error| format!("{name}: {error}"))?;
        if let Some(file) = file {
            std::fs::write(file, written).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        Ok(Started { name: name.to_owned(), running, host, note })
    }

    /// How its rule stands to it, where it is not its own.
    pub(super) fn note(&self) -> Option<String> {
        self.note.as_ref().map(|note| format!("{}: {note}", self.name))
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// What happened to it, and whether it still accepts connections.
    pub(super) fn incidents(&self, ground: &dyn Ground) -> Vec<Incident> {
        let mut found = incidents::of(&self.name, self.running.child(), |_| false);
        let answers = bed::within(ground, self.host, || self.running.answers()).unwrap_or(false);
        if found.is_empty() && !answers {
            found.push(incidents::silence(&self.name));
        }
        found
    }
}
