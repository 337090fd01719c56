//! Real servers of an experiment: Debian's own programs, each started by us on a port of its own with a folder and a
//! configuration of its own, stopped by us, and nothing left behind.
//!
//! Nothing of the system's own configuration is read, and no service manager is asked. Every kind serves the same files
//! the same way, so that kinds can be compared; what a kind cannot do (keep connections open, for one) is refused
//! before it starts, never ignored.
//!
//! **Nothing survives the parent**: see [`running`](self::Running), whose guard ends the program whatever happens to
//! us.

mod apache;
mod balancer;
mod files;
mod folder;
mod forking;
mod nginx;
mod page;
mod running;
mod settings;
mod squid;

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sojourn_stats::Span;

pub use self::apache::Workers;
pub use self::balancer::{Balancer, Product, Spot};
use self::files::Worker;
use self::folder::Folder;
pub use self::page::text_page;
use self::running::Ready;
pub use self::running::Running;
use crate::ServeError;

/// Connections that wait to be accepted, as Apache has it by default; the kernel caps it at `net.core.somaxconn`.
pub const LISTEN_BACKLOG: u32 = 511;

/// A program to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Which program, and how many serve.
    pub kind: Kind,
    /// Where it listens; port 0 takes a free port.
    pub listen: SocketAddr,
    /// The folder that it serves (Squid: nothing of it). When the parent is root, those who serve are `www-data` and
    /// must be able to read it.
    pub root: PathBuf,
    /// How long an idle connection stays open, to the next millisecond; zero: a connection per request.
    pub keep_alive: Span,
    /// How many further requests a connection may carry after its first; 0: any number.
    pub keep_alive_requests: u32,
    /// Whether each request is logged, in the temporary folder: the habit of all of them, and a cost.
    pub access_log: bool,
    /// The cores that it may run on; none: all.
    pub cores: Vec<usize>,
    /// It runs where its cores have nothing else to do (SCHED_IDLE), for the part of a system that shares the load generator's
    /// core: a low priority would not do, since a process may keep its slice before one that wakes up (Linux 6.6 and later).
    pub is_in_background: bool,
}

/// What serves.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Processes that each serve any number of connections, event by event.
    Nginx {
        /// Processes.
        workers: u32,
        /// How hard replies are compressed for clients that accept it, from 1 to 9; 0: not at all. A page of real text
        /// ([`text_page`]) that is compressed anew for each request is a page that costs time.
        gzip: u32,
    },
    /// Apache with a process per connection (`mpm_prefork`): Fujita's helpers, and with few at the start his "helper and
    /// fork" (2000, section 2.2.1).
    ApachePrefork(Workers),
    /// Apache with a thread per request and connections that wait for none (`mpm_event`): Fujita's multithread.
    ApacheEvent {
        /// Processes, all from the start.
        processes: u32,
        /// Threads of each.
        threads: u32,
    },
    /// Apache with PHP in each of its processes. Beside the root's files it serves `/work.php?iter=N&bytes=B`: N rounds
    /// of arithmetic on the processor, then B bytes.
    ApachePhp(Workers),
    /// A process that forks for each connection (busybox httpd).
    Fork,
    /// A process that forks and executes a server anew for each connection, which is what inetd does (tcpserver, which
    /// runs `busybox httpd -i`).
    Inetd,
    /// A proxy in front of a web server, with its cache in memory. What lies below `/miss/` is never kept, so the ratio
    /// of hits is that of the requests for the rest, once they have been asked for.
    Squid {
        /// The web server as which it is asked; none: it is a forward proxy, asked for whole URLs.
        origin: Option<SocketAddr>,
        /// Memory for the cache (bytes).
        cache: u64,
    },
}

/// What a program is started with.
#[derive(Default)]
struct Launch {
    command: Vec<OsString>,
    /// Its configuration, as names in its folder and texts.
    files: Vec<(&'static str, String)>,
    /// User and group of one that does not change them itself.
    user: Option<(u32, u32)>,
    /// Its name in shared memory, of which nothing is to stay.
    shared_memory: Option<String>,
}

/// What a program is given to be configured with.
struct Place<'a> {
    /// The root, in full.
    root: &'a str,
    /// Its own folder, in full.
    folder: &'a str,
    address: SocketAddr,
    /// Who serves, where that is not the parent itself.
    worker: Option<&'a Worker>,
}

impl Program {
    /// `kind` on a free port of the loopback address, serving `root`: connections stay open for 15 s and 150 further
    /// requests where the kind knows how, nothing is logged, and any core will do.
    pub fn new(kind: Kind, root: impl Into<PathBuf>) -> Program {
        let keeps = kind.keeps_connections();
        Program {
            kind,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            root: root.into(),
            keep_alive: if keeps { Span(15_000_000_000) } else { Span::ZERO },
            keep_alive_requests: 150,
            access_log: false,
            cores: Vec::new(),
            is_in_background: false,
        }
    }

    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// When the program is not installed, a setting is impossible, the root cannot be read by those who serve it, the
    /// address is in use, or it ends or does not answer within 20 s; it is gone then.
    pub fn start(&self) -> Result<Running, ServeError> {
        self.check()?;
        let program = self.kind.installed()?;
        let worker = files::worker()?;
        let root = match self.kind {
            Kind::Squid { .. } => PathBuf::from("/"),
            _ => files::readable(&self.root, worker.as_ref())?,
        };
        // Bound but not listening: no other program is given this port, and the program, which also reuses addresses, gets it.
        let (reserved, address) = running::reserve(self.listen)?;
        let folder = Folder::new(self.kind.name())?;
        let place =
            Place { root: files::plain(&root)?, folder: files::plain(&folder.0)?, address, worker: worker.as_ref() };
        let launch = match &self.kind {
            Kind::Nginx { workers, gzip } => nginx::launch(self, &program, *workers, *gzip, &place),
            Kind::ApachePrefork(_) | Kind::ApacheEvent { .. } | Kind::ApachePhp(_) => {
                apache::launch(self, &program, &place)?
            }
            Kind::Fork => forking::fork(&program, &place),
            Kind::Inetd => forking::inetd(&program, &place)?,
            Kind::Squid { origin, cache } => squid::launch(self, &program, *origin, *cache, &place),
        };
        for (name, text) in &launch.files {
            let file = folder.0.join(name);
            fs::write(&file, text).map_err(ServeError::system(format!("cannot write {}", file.display())))?;
            files::make_readable(&file)?;
        }
        let running = Running::start(
            self.kind.name(),
            &launch,
            (&self.cores, self.is_in_background),
            folder,
            address,
            Ready::Answers,
        )?;
        drop(reserved);
        Ok(running)
    }

    fn check(&self) -> Result<(), ServeError> {
        let name = self.kind.name();
        let wrong = |what: String| Err(ServeError::Config(format!("{name}: {what}")));
        let within = |what: &str, value: u32, least: u32, most: u32| match value {
            value if (least..=most).contains(&value) => Ok(()),
            value => wrong(format!("{value} {what}; it is from {least} to {most}")),
        };
        match &self.kind {
            Kind::Nginx { workers, gzip } => {
                within("workers", *workers, 1, 1024)?;
                within("as gzip", *gzip, 0, 9)?;
            }
            Kind::ApachePrefork(workers) | Kind::ApachePhp(workers) => workers.check().or_else(wrong)?,
            Kind::ApacheEvent { processes, threads } => {
                within("processes", *processes, 1, 256)?;
                within("threads", *threads, 1, 1000)?;
            }
            Kind::Squid { cache, .. } if *cache < 1_000_000 => {
                wrong(format!("a cache of {cache} bytes; it is at least 1 MB"))?;
            }
            Kind::Fork | Kind::Inetd | Kind::Squid { .. } => {}
        }
        if !self.kind.keeps_connections() && self.keep_alive != Span::ZERO {
            return wrong("it closes every connection after its reply; use keep_alive = 0 s".into());
        }
        if self.access_log && matches!(self.kind, Kind::Fork | Kind::Inetd | Kind::Squid { .. }) {
            return wrong("it keeps no log; use access_log = false".into());
        }
        running::check_cores(&self.cores).or_else(wrong)
    }

    /// Apache and its like count the milliseconds, and zero means something else to each.
    fn keep_alive_ms(&self) -> u64 {
        self.keep_alive.0.div_ceil(1_000_000).max(1)
    }
}

impl Kind {
    /// The names that [`Program::parse`] knows.
    pub const NAMES: [&str; 7] = ["nginx", "apache-prefork", "apache-event", "apache-php", "fork", "inetd", "squid"];

    /// Its name, e.g. `apache-prefork`.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Nginx { .. } => "nginx",
            Kind::ApachePrefork(_) => "apache-prefork",
            Kind::ApacheEvent { .. } => "apache-event",
            Kind::ApachePhp(_) => "apache-php",
            Kind::Fork => "fork",
            Kind::Inetd => "inetd",
            Kind::Squid { .. } => "squid",
        }
    }

    /// Whether it can keep a connection open for a further request.
    pub fn keeps_connections(&self) -> bool {
        !matches!(self, Kind::Fork | Kind::Inetd)
    }

    /// The program itself, if all that it needs is installed.
    ///
    /// # Errors
    /// When something is missing; the message names Debian's package.
    pub fn installed(&self) -> Result<PathBuf, ServeError> {
        let (program, package) = match self {
            Kind::Nginx { .. } => ("nginx", "nginx-light"),
            Kind::ApachePrefork(_) | Kind::ApacheEvent { .. } => ("apache2", "apache2-bin"),
            Kind::ApachePhp(_) => ("apache2", "libapache2-mod-php"),
            Kind::Fork => ("busybox", "busybox"),
            Kind::Inetd => ("tcpserver", "ucspi-tcp"),
            Kind::Squid { .. } => ("squid", "squid"),
        };
        let missing =
            |program, package| ServeError::Config(format!("{program} is not installed: `apt install {package}`"));
        let found = files::find(program).ok_or_else(|| missing(program, package))?;
        match self {
            Kind::ApachePhp(_) if apache::php().is_none() => Err(missing("PHP in Apache", package)),
            Kind::Inetd if files::find("busybox").is_none() => Err(missing("busybox", "busybox")),
            Kind::ApachePrefork(_) | Kind::ApacheEvent { .. } if !Path::new(apache::MODULES).is_dir() => {
                Err(missing(program, package))
            }
            _ => Ok(found),
        }
    }
}
