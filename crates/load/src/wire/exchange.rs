//! A request under way and its instants.

use std::net::{IpAddr, TcpStream};

use sojourn_stats::Time;

use crate::schedule::job::Job;

/// A request under way. A redirect or a retry keeps the first `begun` and has the last of all other instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) job: Job,
    /// When the generator acted: wrote to a free connection or began to open one.
    pub(crate) begun: Time,
    /// When the name had its address, where one had to be asked for.
    pub(crate) resolved: Option<Time>,
    /// When the connection stood, where it was opened for this request.
    pub(crate) connected: Option<Time>,
    /// When its TLS handshake was done.
    pub(crate) secured: Option<Time>,
    /// When the request was written, for the last time.
    pub(crate) sent: Option<Time>,
    pub(crate) first_byte: Option<Time>,
    pub(crate) retried: bool,
    /// How often a server has said that it did not process the request.
    pub(crate) not_processed: u8,
    /// Redirects that were followed.
    pub(crate) hops: u32,
    /// It has come back from where a redirect led to nothing.
    pub(crate) came_back: bool,
}

impl Exchange {
    /// `job`, on which the generator acts at `begun`.
    pub(crate) fn new(job: Job, begun: Time) -> Exchange {
        Exchange {
            job,
            begun,
            resolved: None,
            connected: None,
            secured: None,
            sent: None,
            first_byte: None,
            retried: false,
            not_processed: 0,
            hops: 0,
            came_back: false,
        }
    }

    /// The connection was opened for it, this way.
    pub(crate) fn opened(&mut self, opening: &Opening) {
        (self.resolved, self.connected, self.secured) = (opening.resolved, opening.connected, opening.secured);
    }
}

/// How a connection comes to be.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// Where the host may be.
    pub(crate) addresses: Vec<IpAddr>,
    /// How many of them have been tried.
    pub(crate) tried: usize,
    /// Which one the connection's own socket is for.
    pub(crate) at: usize,
    /// Attempts at earlier ones that are not decided yet.
    pub(crate) earlier: Vec<Attempt>,
    /// When the present step began.
    pub(crate) since: Time,
    pub(crate) resolved: Option<Time>,
    pub(crate) connected: Option<Time>,
    pub(crate) secured: Option<Time>,
}

/// An attempt to connect that a later one stands beside.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) stream: TcpStream,
    /// By which its events are known.
    pub(crate) generation: u32,
    /// Which of the addresses it is for.
    pub(crate) at: usize,
}
