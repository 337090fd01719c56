//! Where packets are spliced: how they come and leave. What is done with each is [`sojourn_splice`].
//!
//! Packets come by a netfilter queue and leave by a raw socket: nothing has to be known of devices, and what is lost here the
//! ends repeat. The price: two system calls per packet.

pub(super) mod half;
pub(super) mod rules;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use socket2::{Domain, Protocol, Socket, Type};
use sojourn_part::settings::switch::{Mode, SwitchSettings};
use sojourn_part::{ServeError, clock};
use sojourn_report::Key;
use sojourn_splice::{Settings, Splicer, Teller};
use tokio::io::unix::AsyncFd;

use super::decider::{Decider, lock};
use super::kernel::queue::{Depth, Queue, Verdict};
use super::kernel::{routes, rules as asking};
use super::lifetimes;

/// Bytes of the headers of IP and TCP.
const HEADERS: u16 = 40;

/// Splices for as long as it is polled, and resets what is open at the end.
pub(super) struct Splicing {
    splicer: Splicer,
    queue: Queue<AsyncFd<OwnedFd>>,
    socket: Socket,
    decider: Arc<Mutex<Decider>>,
}

impl Splicing {
    /// Makes what a switch of this kind needs besides its rules, on the current runtime.
    pub(super) fn new(
        config: &SwitchSettings,
        key: Option<&Key>,
        decider: Arc<Mutex<Decider>>,
    ) -> Result<Splicing, ServeError> {
        let teller = match (config.mode, key) {
            (Mode::SpliceAsymmetric, Some(key)) => Some(Teller::new(key.clone(), config.service)),
            _ => None,
        };
        let mss = routes::mtu(config)?.saturating_sub(HEADERS);
        let port = config.service.port();
        let settings = Settings {
            service: config.service,
            servers: config.backends.iter().map(|backend| SocketAddrV4::new(backend.address, port)).collect(),
            teller,
            classes: config.classes.clone(),
            lifetimes: lifetimes(config),
            mss,
            connections_max: config.connections as usize,
        };
        let queue = Queue::open(asking::QUEUE, Depth::Whole).and_then(Queue::watched);
        let queue = queue.map_err(ServeError::system("cannot take the netfilter queue"))?;
        let socket = raw().map_err(ServeError::system("cannot open a raw socket"))?;
        Ok(Splicing { splicer: Splicer::new(settings), queue, socket, decider })
    }

    /// Takes packets.
    pub(super) async fn serve(mut self) {
        loop {
            let wait = self.splicer.next().map(|at| at.saturating_since(clock::now()).as_std());
            let is_due = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait.max(Duration::from_millis(1))).await,
                    None => std::future::pending().await,
                }
            };
            let (splicer, decider) = (&mut self.splicer, &self.decider);
            let served = self.queue.serve(|waiting| {
                splicer.receive(waiting.packet, &mut *lock(decider), clock::now());
                Verdict::Drop
            });
            tokio::select! {
                served = served => if let Err(error) = served {
                    return lock(decider).say(&json!({"event": "queue_failed", "why": error.to_string()}));
                },
                () = is_due => splicer.look(&mut *lock(decider), clock::now()),
            }
            self.send();
        }
    }

    /// Sends what is to be sent. What has no room now is lost, as on any way.
    fn send(&mut self) {
        for packet in self.splicer.sent() {
            let to = Ipv4Addr::from(<[u8; 4]>::try_from(&packet[16..20]).expect("four bytes"));
            let _ = self.socket.send_to(&packet, &SocketAddr::from((to, 0)).into());
        }
    }
}

impl Drop for Splicing {
    fn drop(&mut self) {
        self.splicer.reset(&mut *lock(&self.decider), clock::now());
        self.send();
    }
}

/// A socket that sends IPv4 packets as they are.
fn raw() -> io::Result<Socket> {
    const AS_IT_IS: i32 = 255;
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(AS_IT_IS)))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
