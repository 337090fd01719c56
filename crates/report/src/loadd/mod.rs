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
use std::path::PathBuf;
use std::sync::Arc;

use hyper::Uri;
use serde::Serialize;
use sojourn_bed::Events;
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, clock};
use sojourn_stats::Span;

use crate::upstream::ProbeRules;
use crate::{Key, Metrics, NAME_MAX};
pub use access_log::{AccessLog, Counts};
use daemon::{Counters, Daemon};
use question::Question;
pub use sampler::Sampler;

/// What a load daemon is.
#[derive(Clone, Debug)]
pub struct LoaddConfig {
    /// The name by which those in front know the server.
    pub name: String,
    /// Where its reports go.
    pub receivers: Vec<SocketAddr>,
    /// The key that it shares with them.
    pub key: Key,
    /// Where the numbers come from.
    pub sources: Sources,
    /// When it tells them.
    pub times: Times,
    /// Which orders to probe clients it obeys.
    pub probes: ProbeRules,
    /// Where balancers of others may ask for the load as ORCA ([`crate::orca::stream`]); port 0 takes a free one.
    pub orca: Option<SocketAddr>,
}

/// Where numbers come from, besides `/proc`.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The server's access log, Common or Combined.
    pub log: Option<PathBuf>,
    /// The name of the server's processes.
    pub workers: Option<String>,
    /// The server's port.
    pub port: Option<u16>,
    /// Where the server says its load as ORCA, e.g. `http://127.0.0.1:8080/load`.
    pub ask: Option<Uri>,
}

/// When a daemon looks and tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Between two looks.
    pub every: Span,
    /// The longest time between two reports.
    pub heartbeat: Span,
    /// Between two reports of the rates of clients.
    pub client_rates: Span,
    /// Between two looks for an overload.
    pub watch: Span,
}

impl Default for Times {
    fn default() -> Times {
        let ms = |ms: u64| Span(ms * 1_000_000);
        Times { every: ms(500), heartbeat: ms(4000), client_rates: ms(64_000), watch: ms(100) }
    }
}

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
    /// Starts a daemon; `events` hears of overloads, of a server that comes and goes, and of receivers that cannot be reached.
    ///
    /// # Errors
    /// When a setting is impossible, the access log cannot be read, or the system refuses a socket.
    pub fn start(config: LoaddConfig, events: Events) -> Result<Loadd, ServeError> {
        check(&config)?;
        let counters = Arc::new(Counters::new());
        let shared = Arc::clone(&counters);
        let listener = config.orca.map(listen).transpose()?;
        let orca = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let input = vec![(config, listener)];
        let threads = Threads::start("loadd", input, 1, Span::ZERO, move |_, (config, listener), mut stop| {
            let daemon = Daemon::new(config, listener, events.clone(), Arc::clone(&shared))?;
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

/// What a server is doing over one `window` from now on; none where it is not there.
///
/// # Errors
/// When the access log cannot be read, or the system refuses a runtime.
pub fn sample(sources: &Sources, window: Span) -> Result<Option<Metrics>, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .map_err(ServeError::system("cannot start a runtime"))?;
    let mut sampler = Sampler::new(sources, clock::now())?;
    let mut question = sources.ask.clone().map(|url| Question::new(url, window.as_std()));
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
            tokio::time::sleep(window.as_std()).await;
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

fn check(config: &LoaddConfig) -> Result<(), ServeError> {
    let LoaddConfig { name, receivers, sources, times, .. } = config;
    let wrong = |what: String| Err(ServeError::Config(what));
    if receivers.is_empty() {
        return wrong("a load daemon needs at least one receiver, as 127.0.0.1:7400".into());
    }
    if name.is_empty() || name.len() > NAME_MAX {
        return wrong(format!("name `{name}`: the name of a server has 1 to {NAME_MAX} bytes"));
    }
    if times.every < Span(10_000_000) || times.watch < Span(1_000_000) {
        return wrong("a load daemon looks at most every 10 ms, and for overloads at most every 1 ms".into());
    }
    if times.heartbeat < times.every || times.client_rates < times.every {
        return wrong("heartbeats and rates of clients are told at looks, so no more often than those".into());
    }
    config.probes.check().map_err(|wrong| ServeError::Config(wrong.message))?;
    if let Some(url) = &sources.ask
        && (url.scheme_str() != Some("http") || url.port().is_none())
    {
        return wrong(format!("`{url}` is no address to ask; write e.g. http://127.0.0.1:8080/load"));
    }
    Ok(())
}
