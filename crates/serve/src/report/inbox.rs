//! The socket on which reports come, for parts that take them: a gateway, a switch.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use sojourn_stats::Time;

use super::{DATAGRAM_MAX, Dropped, Key, Receiver, Told};
use crate::{ServeError, clock};

/// Where reports of load come. The name of a backend is that of its daemon.
#[derive(Clone, Debug)]
pub struct ReportsConfig {
    /// The address and port (UDP) that they come to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The key that the daemons have too.
    pub key: Key,
}

/// The socket and its receiver, before the thread runs that takes the reports.
pub(crate) struct Inbox {
    socket: UdpSocket,
    receiver: Receiver,
}

impl Inbox {
    /// Takes the address, for reports of the backends with these names.
    pub(crate) fn open(config: &ReportsConfig, names: &[String]) -> Result<Inbox, ServeError> {
        let refused = |source| ServeError::Listen { address: config.listen, source };
        let socket = UdpSocket::bind(config.listen).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        Ok(Inbox { socket, receiver: Receiver::new(config.key.clone(), names, clock::now()) })
    }

    /// Where they come.
    pub(crate) fn address(&self) -> Result<SocketAddr, ServeError> {
        self.socket.local_addr().map_err(ServeError::system("the socket of reports has no address"))
    }

    /// Takes reports for as long as it is polled. `take` is given what each tells, or what silence tells, and how many were
    /// not believed so far. It ends only where the runtime refuses the socket.
    pub(crate) async fn hear(self, mut take: impl FnMut(&[Told], Dropped, Time)) -> io::Result<Infallible> {
        let Inbox { socket, mut receiver } = self;
        let socket = tokio::net::UdpSocket::from_std(socket)?;
        // One byte more than any has: what is longer is seen to be.
        let mut datagram = [0; DATAGRAM_MAX + 1];
        loop {
            let silent_at = receiver.next_deadline();
            let silence = async {
                match silent_at {
                    Some(at) => tokio::time::sleep(at.saturating_since(clock::now()).as_std()).await,
                    None => std::future::pending().await,
                }
            };
            let (told, now) = tokio::select! {
                // An error belongs to an answer whose receiver has gone.
                Ok((length, from)) = socket.recv_from(&mut datagram) => {
                    let now = clock::now();
                    let received = receiver.receive(&datagram[..length], now);
                    if let Some(answer) = received.answer {
                        // What cannot be sent now is asked for again with the next report.
                        let _ = socket.try_send_to(&answer, from);
                    }
                    (received.told, now)
                }
                () = silence => {
                    let now = clock::now();
                    (receiver.fall_silent(now), now)
                }
            };
            take(&told, *receiver.dropped(), now);
        }
    }
}
