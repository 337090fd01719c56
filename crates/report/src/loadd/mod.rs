//! The load daemon: it stands beside a server that need not know of it, and tells those in front how the server fares.
//!
//! It looks at multiples of its tick by the wall clock, as all daemons of a system do, and tells what
//! `sojourn_dispatch::reports` says is worth telling; overloads it looks for more often, and tells at once. A clock that is set
//! anew moves the looks and not what is told: instants are told by the time that passed since the start. What it knows
//! comes from `/proc`, from the kernel's list of connections, from the server's access log, and from the server itself where
//! that speaks ORCA. The price of standing outside: where the server tells nothing itself, its requests are those that can be
//! seen from outside (`connections`), at least so many, and the busy share is that of its processes, or, where these are not
//! named, of the whole machine.
//!
//! A server that is not there (no program listens, no process has its name, it does not answer) is not told of: after two
//! heartbeats those in front take it for down. On the orders of a DNS in front it measures round trips to clients, as a
//! front node does ([`crate::upstream`]). Agarwal, A test bed for performance evaluation of load balancing strategies for
//! web server systems, 2001, section 3.5.

mod access_log;
mod connections;
mod daemon;
mod machine;
mod proc;
mod question;
mod sampler;
mod workers;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use serde::Serialize;
use sojourn_bed::Events;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_part::settings::{Settings, Wrong};
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, clock};
use sojourn_stats::Span;

use crate::{Key, Metrics};
pub use access_log::{AccessLog, Counts};
use daemon::{Counters, Daemon};
use question::Question;
pub use sampler::Sampler;

/// What a daemon has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LoaddCounts {
    /// Looks at the server.
    pub looks: u64,
    /// Those that did not find it there.
    pub absent: u64,
    /// Reports of load, to how many receivers they may have gone.
    pub reports: u64,
    /// Overloads that began or ended.
    pub alarms: u64,
    /// Reports of the rates of clients.
    pub rates: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams that could not be sent.
    pub unsent: u64,
    /// Challenges that were answered.
    pub challenges: u64,
    /// Orders to probe a client that were obeyed.
    pub probes: u64,
    /// Orders that were refused: too soon, too many, or no address.
    pub probes_refused: u64,
    /// Bytes of the echoes there and back, with the heads of their packets.
    pub echo_bytes: u64,
    /// Processor time that the process has used (s).
    pub cpu_s: f64,
    /// Time since the daemon started (s).
    pub elapsed_s: f64,
}

/// A running daemon; dropping it stops it.
pub struct Loadd {
    counters: Arc<Counters>,
    orca: Option<SocketAddr>,
    threads: Threads,
}

impl Loadd {
    /// Starts a daemon that signs with `key`; `events` hears of overloads, of a server that comes and goes, and of receivers that
    /// cannot be reached.
    ///
    /// # Errors
    /// When a setting is impossible, the access log cannot be read, or the system refuses a socket.
    pub fn start(settings: LoaddSettings, key: Key, events: Events) -> Result<Loadd, ServeError> {
        settings.check()?;
        reports_to(&settings)?;
        let question = Question::of_settings(&settings, settings.heartbeat)?;
        let counters = Arc::new(Counters::new());
        let shared = Arc::clone(&counters);
        let listener = settings.orca.map(listen).transpose()?;
        let orca = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let input = vec![((settings, key), question, listener)];
        let threads =
            Threads::start("loadd", input, 1, Span::ZERO, move |_, (settings, question, listener), mut stop| {
                let daemon = Daemon::new(settings, question, listener, events.clone(), Arc::clone(&shared))?;
                Ok(Box::pin(async move {
                    tokio::select! {
                        () = daemon.run() => {}
                        _ = stop.changed() => {}
                    }
                }) as Work)
            })?;
        Ok(Loadd { counters, orca, threads })
    }

    /// Where it serves ORCA, if it does.
    pub fn orca_address(&self) -> Option<SocketAddr> {
        self.orca
    }

    /// What it has done so far.
    pub fn counts(&self) -> LoaddCounts {
        self.counters.counts()
    }

    /// Stops it and says what it has done.
    pub fn stop(mut self) -> LoaddCounts {
        self.threads.stop();
        self.counts()
    }
}

/// What a server is doing over one tick from now on; none where it is not there.
///
/// # Errors
/// When the access log cannot be read, or the system refuses a runtime.
pub fn sample(settings: &LoaddSettings) -> Result<Option<Metrics>, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .map_err(ServeError::system("cannot start a runtime"))?;
    let mut sampler = Sampler::new(settings, clock::now())?;
    let mut question = Question::of_settings(settings, settings.every)?;
    runtime.block_on(async {
        for is_last in [false, true] {
            let asked = match &mut question {
                Some(question) => question.ask().await,
                None => None,
            };
            let metrics = sampler.look(asked.as_ref(), clock::now());
            if is_last {
                return Ok(metrics);
            }
            tokio::time::sleep(settings.every.as_std()).await;
        }
        unreachable!("the second look is the last")
    })
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let listener = TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|source| match source.kind() {
        std::io::ErrorKind::AddrInUse => ServeError::InUse(address),
        _ => ServeError::Listen { address, source },
    })
}

/// What only one that reports needs: where to, a key that can be read, and a log that is there if one is named.
///
/// # Errors
/// The first that is missing.
pub fn check(settings: &LoaddSettings) -> Result<(), Wrong> {
    reports_to(settings)?;
    Key::of_file(settings.key_file.as_deref())?;
    settings.log.as_deref().map(AccessLog::open).transpose().map_err(|error| Wrong::new("log", error)).map(drop)
}

fn reports_to(settings: &LoaddSettings) -> Result<(), Wrong> {
    match settings.to.is_empty() {
        true => Err(Wrong::new("to", "a load daemon needs at least one receiver, as 127.0.0.1:7400")),
        false => Ok(()),
    }
}
