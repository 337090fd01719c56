//! Checks of sites by this DNS itself: whether each accepts a connection at a port. What reports tell says more; this is for
//! sites that do not report, or as well.
//!
//! A connection that is refused takes a site out at once, three that are not answered in time do so together; the first that
//! succeeds brings it back. The price: this DNS sees its own way to a site, and not its clients'.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sojourn_part::clock;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::decider::{Change, Decider};

/// Time between two checks of a site.
const EVERY: Duration = Duration::from_secs(1);

/// How long a site may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// Checks without an answer in a row that take a site out.
const FALL: u32 = 3;

enum Outcome {
    Accepted,
    Refused,
    Silent,
}

/// Checks for as long as it is polled.
pub(super) async fn run(decider: Arc<Decider>) {
    let mut silent: HashMap<(String, SocketAddr), u32> = HashMap::new();
    loop {
        let mut tries = JoinSet::new();
        for (site, address) in decider.checks() {
            tries.spawn_local(async move { (attempt(address).await, site, address) });
        }
        let wait = tokio::time::sleep(EVERY);
        let mut seen = HashMap::new();
        while let Some(Ok((outcome, site, address))) = tries.join_next().await {
            let key = (site.clone(), address);
            let before = silent.get(&key).copied().unwrap_or(0);
            let failed = match outcome {
                Outcome::Accepted => 0,
                Outcome::Refused => FALL,
                Outcome::Silent => before.saturating_add(1),
            };
            seen.insert(key, failed);
            let fails = match failed {
                0 => Some(false),
                FALL.. => Some(true),
                _ => None,
            };
            if let Some(fails) = fails {
                // One that has left meanwhile is no concern any more.
                let _ = decider.change(&site, Change::Fails(fails), clock::now());
            }
        }
        silent = seen;
        wait.await;
    }
}

async fn attempt(address: SocketAddr) -> Outcome {
    match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Outcome::Accepted,
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Outcome::Refused,
        Ok(Err(_)) | Err(_) => Outcome::Silent,
    }
}
