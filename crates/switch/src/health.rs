//! Active health checks: whether each server accepts a connection to the service's port, at its own address.
//!
//! A server that is down is given no new connection. Those that it has keep their way: a process that was restarted behind
//! a full queue of connections, or a network that was cut for a moment, ends none of them.

use std::io;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex};

use sojourn_dispatch::{BackendId, News};
use sojourn_part::settings::switch::SwitchSettings;
use sojourn_part::{Probe, clock};
use tokio::net::TcpStream;

use super::decider::{Decider, lock};
use super::kernel::rules::{self, Mark};

/// Probes a server for as long as it is polled.
pub(super) async fn watch(decider: Arc<Mutex<Decider>>, config: Arc<SwitchSettings>, backend: BackendId) {
    let health = &config.health;
    if health.probe == Probe::Off {
        return std::future::pending().await;
    }
    let address = SocketAddrV4::new(config.backends[backend.0 as usize].address, config.service.port());
    loop {
        let outcome = tokio::time::timeout(health.timeout.as_std(), TcpStream::connect(address)).await;
        let now = clock::now();
        let learn = |news, why| lock(&decider).learn(backend, news, why, now);
        let changed = match outcome {
            Ok(Ok(_)) => learn(News::Answered, ""),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                learn(News::Refused, "no program listens there")
            }
            Ok(Err(_)) => learn(News::Failed, "it cannot be reached"),
            Err(_) => learn(News::Failed, "it does not answer in time"),
        };
        // Where each packet is spliced, no rule knows servers.
        if let Some((mark, is_down)) = changed.filter(|_| !config.mode.is_spliced()) {
            tell_rules(mark, is_down).await;
        }
        tokio::time::sleep(health.every.as_std()).await;
    }
}

async fn tell_rules(mark: Mark, is_down: bool) {
    // Without it a connection that is being opened there waits until it is forgotten.
    let _ = tokio::task::spawn_blocking(move || rules::set_down(mark, is_down)).await;
}
