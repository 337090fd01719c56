//! The sockets of a DNS server: UDP, with a thread per socket, and TCP, with one for all connections.
//!
//! Zones are replaced while it serves, and no query is lost by that. A thread per address and core, with its own socket on
//! the same port, needs nothing shared but the policy and the limits; the kernel spreads the senders over the sockets.

mod counts;
mod moderation;
mod sockets;
mod tcp;
mod udp;

use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ring::rand::{SecureRandom, SystemRandom};
use socket2::Socket;
use sojourn_part::ServeError;
use sojourn_part::current::Current;
use sojourn_part::settings::dns::DnsLimits;
use sojourn_part::threads::{Threads, Work};
use sojourn_stats::Span;

use super::answer::Responder;
use super::chooser::Chooser;
use super::zone::Zones;
pub use counts::ServerCounts;
use counts::Tally;

/// How long connections may take to end once told to stop.
const GRACE: Span = Span(1_000_000_000);

/// What a server is.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Where it listens, by UDP and TCP; port 0: a free one. To name addresses is faster than to listen on all.
    pub listen: Vec<SocketAddr>,
    /// Threads for UDP on each address.
    pub threads: usize,
    /// How much it does for each client.
    pub limits: DnsLimits,
    /// From which cookies are made; servers with the same one accept each other's. None: drawn at the start.
    pub cookie_secret: Option<Vec<u8>>,
}

/// A running server; dropping it stops it.
pub struct Server {
    addresses: Vec<SocketAddr>,
    current: Arc<Current<Zones>>,
    tallies: Vec<Arc<Tally>>,
    stop: Arc<AtomicBool>,
    udp: Vec<(Arc<Socket>, JoinHandle<()>)>,
    tcp: Threads,
}

impl Server {
    /// Starts to answer from `zones`, with addresses that `chooser` chooses.
    ///
    /// # Errors
    /// When a setting is impossible, an address is in use, or the system refuses a socket or thread.
    pub fn start(config: ServerConfig, zones: Arc<Zones>, chooser: Arc<dyn Chooser>) -> Result<Server, ServeError> {
        let ServerConfig { listen, threads, limits, cookie_secret } = config;
        limits.check().map_err(|wrong| ServeError::Config(wrong.inside("limits").to_string()))?;
        if threads == 0 || listen.is_empty() {
            return Err(ServeError::Config("a DNS needs an address to listen on and a thread at least".into()));
        }
        let secret = match cookie_secret {
            Some(secret) => secret,
            None => drawn()?,
        };
        let responder = Responder::new(chooser, &limits, &secret);
        let (current, stop) = (Current::new(zones), Arc::new(AtomicBool::new(false)));
        let mut sockets = Vec::new();
        for address in listen {
            sockets.push(sockets::open(address, threads)?);
        }
        let addresses = sockets.iter().map(|all| all.address).collect();
        let (mut listeners, mut datagrams) = (Vec::new(), Vec::new());
        for all in sockets {
            listeners.extend(all.listeners);
            datagrams.extend(all.datagrams.into_iter().map(|socket| (all.address, Arc::new(socket))));
        }
        let tally = Arc::new(Tally::default());
        let mut tallies = vec![Arc::clone(&tally)];
        let half = tcp::Half { listeners, responder: responder.clone(), view: current.view(), tally, limits };
        let half = Mutex::new(Some(half));
        let tcp = Threads::start("dns tcp", vec![()], 1, GRACE, move |_, (), stop| {
            let half = half.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(Box::pin(half.expect("there is one thread").serve(stop)) as Work)
        })?;
        let mut server = Server { addresses, current, tallies: Vec::new(), stop, udp: Vec::new(), tcp };
        for (index, (local, socket)) in datagrams.into_iter().enumerate() {
            let tally = Arc::new(Tally::default());
            tallies.push(Arc::clone(&tally));
            let (view, stop) = (server.current.view(), Arc::clone(&server.stop));
            let gate = udp::Gate { socket: Arc::clone(&socket), local, tally, stop };
            let half = udp::Half { responder: responder.clone(), view, gate };
            let thread = std::thread::Builder::new().name(format!("dns udp {index}")).spawn(move || half.serve());
            server.udp.push((socket, thread.map_err(ServeError::system("cannot start a thread"))?));
        }
        server.tallies = tallies;
        Ok(server)
    }

    /// Where it listens, in the order of the configuration.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Answers from these zones from now on; what has come before is answered from the old or the new ones.
    pub fn set_zones(&self, zones: Arc<Zones>) {
        self.current.set(zones);
    }

    /// What it has done so far.
    pub fn counts(&self) -> ServerCounts {
        Tally::sum(self.tallies.iter().map(|tally| &**tally))
    }

    /// Answers what has come, and stops.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for (socket, _) in &self.udp {
            // It says that it is not connected, and yet wakes up who waits.
            let _ = socket.shutdown(Shutdown::Read);
        }
        for (_, thread) in self.udp.drain(..) {
            // A thread that panicked has said so on standard error.
            let _ = thread.join();
        }
        self.tcp.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn drawn() -> Result<Vec<u8>, ServeError> {
    let mut secret = vec![0; 32];
    let refused = |_| ServeError::Config("the system gives no random numbers for cookies".into());
    SystemRandom::new().fill(&mut secret).map_err(refused)?;
    Ok(secret)
}
