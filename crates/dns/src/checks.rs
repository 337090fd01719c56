//! Checks of sites by this DNS itself: whether each accepts a connection at a port. What reports tell says more; this is for
//! sites that do not report, or as well.
//!
//! A connection that is refused takes a site out at once; `fall` in a row that are not answered in time do so too, and `rise` in
//! a row that succeed bring it back. The price: this DNS sees its own way to a site, and not its clients'.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sojourn_dispatch::News;
use sojourn_part::clock;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::decider::Decider;

/// Time between two checks of a site.
const EVERY: Duration = Duration::from_secs(1);

/// How long a site may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// Checks for as long as it is polled.
pub(super) async fn run(decider: Arc<Decider>) {
    loop {
        let mut tries = JoinSet::new();
        for (site, address) in decider.checks() {
            tries.spawn_local(async move { (attempt(address).await, site) });
        }
        let wait = tokio::time::sleep(EVERY);
        while let Some(Ok(((news, why), site))) = tries.join_next().await {
            // One that has left meanwhile is no concern any more.
            let _ = decider.learn(&site, news, why, clock::now());
        }
        wait.await;
    }
}

async fn attempt(address: SocketAddr) -> (News<'static>, &'static str) {
    match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => (News::Answered, "it answers its check"),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            (News::Refused, "no program listens there")
        }
        Ok(Err(_)) | Err(_) => (News::Failed, "it does not answer its check"),
    }
}
