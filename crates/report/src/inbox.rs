//! The socket on which reports come, for parts that take them: a gateway, a switch, a listener.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sojourn_dispatch::BackendId;
use sojourn_dispatch::capacity::Rule;
use sojourn_part::settings::Reports;
use sojourn_part::{ServeError, clock};
use sojourn_stats::{Span, Time};

use super::{DATAGRAM_MAX, Dropped, Exchanged, Key, Receiver, Told};

/// Where reports of load come. The name of a backend is that of its daemon.
#[derive(Clone, Debug)]
pub struct ReportsConfig {
    /// The address and port (UDP) that they come to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The key that the daemons have too.
    pub key: Key,
    /// What counts as the capacity that is learned from them.
    pub capacity: Rule,
}

impl ReportsConfig {
    /// Reports that are signed with `key` and come to `listen`.
    pub fn new(listen: SocketAddr, key: Key) -> ReportsConfig {
        ReportsConfig { listen, key, capacity: Rule::default() }
    }

    /// Reports as settings have them; none where nothing listens.
    ///
    /// # Errors
    /// When there is no such estimator, or no such share of saturation.
    pub fn from_settings(reports: &Reports, key: Key) -> Result<Option<ReportsConfig>, ServeError> {
        let Some(listen) = reports.listen else { return Ok(None) };
        Ok(Some(ReportsConfig { listen, key, capacity: Rule::new(&reports.estimator, reports.capacity.at)? }))
    }
}

/// The longest time between two looks for silence.
const LOOK: Span = Span(1_000_000_000);

/// The socket and its receiver, before the thread runs that takes the reports.
pub struct Inbox {
    socket: UdpSocket,
    ears: Ears,
}

/// What other threads and tasks ask of those who hear reports, and what they order.
#[derive(Clone)]
pub struct Ears {
    socket: Arc<UdpSocket>,
    heard: Arc<Mutex<Heard>>,
}

struct Heard {
    receiver: Receiver,
    /// Where the last report of each sender came from.
    addresses: Vec<SocketAddr>,
}

impl Inbox {
    /// Takes the address, for reports of the backends with these names, or of any that has the key.
    pub fn open(config: &ReportsConfig, names: Option<&[String]>) -> Result<Inbox, ServeError> {
        let refused = |source| ServeError::Listen { address: config.listen, source };
        let socket = UdpSocket::bind(config.listen).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        let receiver = match names {
            Some(names) => Receiver::new(config.key.clone(), names, clock::now()),
            None => Receiver::of_any(config.key.clone(), clock::now()),
        };
        let receiver = receiver.learning(config.capacity);
        let heard = Arc::new(Mutex::new(Heard { receiver, addresses: Vec::new() }));
        let ears = Ears { socket: Arc::new(socket.try_clone().map_err(refused)?), heard };
        Ok(Inbox { socket, ears })
    }

    /// Where they come.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        self.socket.local_addr().map_err(ServeError::system("the socket of reports has no address"))
    }

    /// For those who want to know or to order something meanwhile.
    pub fn ears(&self) -> Ears {
        self.ears.clone()
    }

    /// Takes reports for as long as it is polled. `take` is given what each tells, or what silence tells, and how many were
    /// not believed so far. It ends only where the runtime refuses the socket.
    pub async fn hear(self, mut take: impl FnMut(&[Told], Dropped, Time)) -> io::Result<Infallible> {
        let Inbox { socket, ears } = self;
        let socket = tokio::net::UdpSocket::from_std(socket)?;
        // One byte more than any has: what is longer is seen to be.
        let mut datagram = [0; DATAGRAM_MAX + 1];
        loop {
            let silent_at = ears.lock().receiver.next_deadline();
            // A sender that is waited for from now on may be the next to fall silent.
            let wait = silent_at.map_or(LOOK, |at| at.saturating_since(clock::now()).min(LOOK));
            let silence = tokio::time::sleep(wait.as_std());
            let (told, now) = tokio::select! {
                // An error belongs to an answer whose receiver has gone.
                Ok((length, from)) = socket.recv_from(&mut datagram) => {
                    let now = clock::now();
                    let (told, answer) = ears.take(&datagram[..length], from, now);
                    if let Some(answer) = answer {
                        // What cannot be sent now is asked for again with the next report.
                        let _ = socket.try_send_to(&answer, from);
                    }
                    (told, now)
                }
                () = silence => {
                    let now = clock::now();
                    let told = ears.lock().receiver.fall_silent(now);
                    if told.is_empty() {
                        continue;
                    }
                    (told, now)
                }
            };
            let dropped = ears.dropped();
            take(&told, dropped, now);
        }
    }
}

impl Ears {
    /// How many datagrams were not believed so far, and why.
    pub fn dropped(&self) -> Dropped {
        *self.lock().receiver.dropped()
    }

    /// What was sent here and from here so far.
    pub fn exchanged(&self) -> Exchanged {
        *self.lock().receiver.exchanged()
    }

    /// Waits for reports of a sender of this name too; gives the number of its backend.
    pub fn expect(&self, name: &str) -> BackendId {
        self.lock().receiver.expect(name, clock::now())
    }

    /// The rates of all clients by their names, summed over the backends.
    pub fn rates(&self) -> Vec<(String, f64)> {
        self.lock().receiver.rates()
    }

    /// The name of a sender.
    pub fn name(&self, backend: BackendId) -> String {
        self.lock().receiver.names()[backend.0 as usize].to_owned()
    }

    /// Orders a sender to measure the round trip to a client; gives the number of the order, or nothing where the sender has
    /// not been heard or cannot be sent to.
    pub fn order(&self, backend: BackendId, client: &str) -> Option<u64> {
        let mut heard = self.lock();
        let address = *heard.addresses.get(backend.0 as usize)?;
        let (order, datagram) = heard.receiver.order(backend, client, clock::now())?;
        self.socket.send_to(&datagram, address).ok().map(|_| order)
    }

    fn take(&self, datagram: &[u8], from: SocketAddr, now: Time) -> (Vec<Told>, Option<Vec<u8>>) {
        let mut heard = self.lock();
        let received = heard.receiver.receive(datagram, now);
        if let Some(backend) = received.of {
            let place = backend.0 as usize;
            if heard.addresses.len() <= place {
                heard.addresses.resize(place + 1, from);
            }
            heard.addresses[place] = from;
        }
        (received.told, received.answer)
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
