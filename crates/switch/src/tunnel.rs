//! A tunnel in user space: packets to a place that may be anywhere, unchanged, each as the payload of a UDP datagram.
//!
//! Where the kernel has no tunnels (IPIP, GRE), or may not use them, this process carries the packets. At the front node each
//! tunnel is a TUN device of its own, to which the rules route by a connection's mark: so policy, connections and rules are
//! those of MAC forwarding, and nothing looks into a packet on its way in. At the other end the packet comes out of a TUN
//! device as if it had come by wire. The format is IP directly in UDP (variant 1 of Generic UDP Encapsulation,
//! draft-ietf-intarea-gue; Linux decapsulates the same with `ip fou add port 6080 ipproto 4`).
//!
//! The price: two system calls per packet at each end, and 28 bytes. Servers announce that much less to clients (their MSS), so
//! that few packets grow beyond a frame; those that do are sent in fragments. Packets need this process: while none runs, they
//! are lost and TCP sends them again. The front node's devices outlive it, so that the next one finds all as it was. The
//! other end believes the front node's address, and takes only what goes to the service: no tunnel for networks that forge.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Mutex;

use sojourn_bed::Tun;
use sojourn_part::ServeError;
use sojourn_part::threads::{Threads, Work};
use sojourn_stats::Span;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::kernel::system;
use super::packet;

/// Where tunnels end: the port of Generic UDP Encapsulation.
const PORT: u16 = 6080;

/// Bytes that a packet grows by: the heads of IP and UDP.
pub(super) const GROWTH: u16 = 28;

/// The largest packet.
const LARGEST: usize = 1 << 16;

/// What the names of a switch's devices begin with; a number follows, or what is [`INTO`].
const PREFIX: &str = "sojourn";
const INTO: &str = "sojourn-in";

/// Tunnels of a front node, with where they lead.
pub(super) struct Entrances {
    devices: Vec<(Tun, SocketAddr)>,
    socket: UdpSocket,
}

/// The other end of tunnels.
pub(super) struct Exit {
    device: Tun,
    socket: UdpSocket,
    from: Vec<Ipv4Addr>,
    to: Vec<Ipv4Addr>,
}

/// The device of the tunnel to what has this number among a switch's servers.
pub(super) fn device(number: u32) -> String {
    format!("{PREFIX}{number}")
}

/// Those of this host's devices that are tunnels of a switch, whoever made them.
pub(super) fn devices() -> Result<Vec<String>, ServeError> {
    let found = system::ask_ip(&["link", "show", "type", "tun"])?;
    let names = found.iter().filter_map(|link| link["ifname"].as_str());
    let is_one = |name: &&str| name.strip_prefix(PREFIX).is_some_and(|rest| rest.parse::<u32>().is_ok());
    Ok(names.filter(is_one).map(String::from).collect())
}

impl Entrances {
    /// Opens the devices of tunnels to these places, those that an earlier switch has left included.
    pub(super) fn open(places: impl Iterator<Item = (u32, Ipv4Addr)>) -> Result<Entrances, ServeError> {
        let open = |(number, place): (u32, Ipv4Addr)| {
            let tun = tun(&device(number))?;
            tun.persist().map_err(ServeError::system("cannot keep the device of a tunnel"))?;
            Ok::<_, ServeError>((tun, SocketAddrV4::new(place, PORT).into()))
        };
        let devices = places.map(open).collect::<Result<_, _>>()?;
        Ok(Entrances { devices, socket: socket(0)? })
    }

    /// Carries packets on a thread of its own, until that is dropped.
    pub(super) fn carry(self) -> Result<Option<Threads>, ServeError> {
        let Entrances { devices, socket } = self;
        if devices.is_empty() {
            return Ok(None);
        }
        on_a_thread(move || {
            let mut tasks = tokio::task::JoinSet::new();
            for (device, place) in devices {
                let (device, socket) = (watched(device)?, socket.try_clone()?);
                tasks.spawn_local(move_all(device, Tun::receive, move |packet: &[u8], _| {
                    // What does not fit in the socket is lost, as on a wire; TCP sends it again.
                    let _ = socket.send_to(packet, place);
                }));
            }
            Ok(tasks)
        })
        .map(Some)
    }
}

impl Exit {
    /// The end of tunnels `from` these front nodes, for packets `to` these addresses.
    pub(super) fn open(from: Vec<Ipv4Addr>, to: Vec<Ipv4Addr>) -> Result<Exit, ServeError> {
        let device = tun(INTO)?;
        // A reply goes another way than its packet came, which is the point of it. So the source is looked up loosely, which
        // takes a device with an address: any of this host's.
        let found = system::ask_ip(&["route", "get", &from[0].to_string()])?;
        if let Some(own) = found.first().and_then(|way| way["prefsrc"].as_str()) {
            system::ip(&format!("address replace {own}/32 dev {INTO}\n"))?;
        }
        system::set(&format!("conf/{INTO}/rp_filter"), "2")?;
        Ok(Exit { device, socket: socket(PORT)?, from, to })
    }

    /// Takes packets out on a thread of its own, until that is dropped.
    pub(super) fn carry(self) -> Result<Threads, ServeError> {
        on_a_thread(move || {
            let Exit { device, socket, from, to } = self;
            let mut tasks = tokio::task::JoinSet::new();
            let receive = |socket: &UdpSocket, packet: &mut [u8]| match socket.recv_from(packet) {
                Ok((bytes, source)) => Ok(Some((bytes, source))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) => Err(error),
            };
            tasks.spawn_local(move_all(watched(socket)?, receive, move |packet: &[u8], source: SocketAddr| {
                let is_known = from.iter().any(|front| source.ip() == *front);
                if is_known && packet::destination(packet).is_some_and(|place| to.contains(&place)) {
                    let _ = device.send(packet);
                }
            }));
            Ok(tasks)
        })
    }
}

/// The name of the device out of which packets come.
pub(super) fn into() -> &'static str {
    INTO
}

/// A thread that does these tasks until it is dropped.
fn on_a_thread(
    tasks: impl FnOnce() -> io::Result<tokio::task::JoinSet<()>> + Send + 'static,
) -> Result<Threads, ServeError> {
    let tasks = Mutex::new(Some(tasks));
    Threads::start("tunnel", vec![()], 1, Span::ZERO, move |_, (), mut stop| {
        let tasks = tasks.lock().expect("no thread panics here").take().expect("there is one thread");
        let mut tasks = tasks().map_err(ServeError::system("cannot watch a tunnel"))?;
        Ok(Box::pin(async move {
            // It is told once, or the side that tells is gone.
            let _ = stop.changed().await;
            tasks.shutdown().await;
        }) as Work)
    })
}

fn watched<T: std::os::fd::AsRawFd>(what: T) -> io::Result<AsyncFd<T>> {
    #[expect(deprecated, reason = "its successor is unsafe; this descriptor is owned by what is registered")]
    AsyncFd::with_interest(what, Interest::READABLE)
}

/// Hands on all that `receive` gives, for as long as it is polled, or until it fails: its device is gone then.
async fn move_all<T: std::os::fd::AsRawFd, S: Received>(
    from: AsyncFd<T>,
    receive: impl Fn(&T, &mut [u8]) -> io::Result<Option<S>>,
    send: impl Fn(&[u8], S::Source),
) {
    let mut packet = vec![0; LARGEST];
    while let Ok(mut ready) = from.readable().await {
        match receive(from.get_ref(), &mut packet) {
            Ok(Some(received)) => send(&packet[..received.bytes()], received.source()),
            Ok(None) => ready.clear_ready(),
            // A router's complaint about a datagram, which the sender of its packet hears of otherwise.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

/// What was received: so many bytes, and from where if that is told.
trait Received {
    type Source;
    fn bytes(&self) -> usize;
    fn source(&self) -> Self::Source;
}

impl Received for usize {
    type Source = ();
    fn bytes(&self) -> usize {
        *self
    }
    fn source(&self) {}
}

impl Received for (usize, SocketAddr) {
    type Source = SocketAddr;
    fn bytes(&self) -> usize {
        self.0
    }
    fn source(&self) -> SocketAddr {
        self.1
    }
}

fn tun(name: &str) -> Result<Tun, ServeError> {
    let tun = Tun::open(name).map_err(ServeError::system(format!("cannot make the tunnel's device {name}")))?;
    system::ip(&format!("link set {name} up\n"))?;
    Ok(tun)
}

fn socket(port: u16) -> Result<UdpSocket, ServeError> {
    let made = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).and_then(|socket| {
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    made.map_err(ServeError::system(format!("cannot open the tunnel's UDP port {port}")))
}
