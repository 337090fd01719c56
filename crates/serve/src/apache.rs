//! Apache as a server of an experiment: Debian's `apache2`, started by us on a port of its own with a configuration of
//! its own, stopped by us, and nothing left behind.
//!
//! One process per connection (`mpm_prefork`), because that is the Apache of the published stress tests (Zhang 2002,
//! Table 4.2: Apache 1.3.12, which knew no other way) and because its limit on workers *is* the model's number of
//! connections: one more waits in the listen backlog (511 by default, and at most `net.core.somaxconn`) until a
//! worker is free. Nothing of the system's own configuration is read, and no service manager is asked.
//!
//! Prefork starts workers slowly: 1 in the first second in which too few are idle, then 2, 4, up to 32 a second. From
//! 8 to 256 takes 12 s (measured). A stress test that is scaled in time does not scale that: it warms up for longer, or
//! starts with all workers.
//!
//! **Nothing survives the parent.** Apache does not stop when its input closes, so a guard (`sh`) stands in between:
//! it is a [`Child`] like any other, ends Apache by SIGTERM when its own input closes, waits for its end and removes
//! the folder; a parent that panics or is killed closes that input, whatever else it fails to do. The guard starts
//! Apache in a session of its own, because Apache signals its whole process group, and with PR_SET_PDEATHSIG, so that
//! Apache ends even if somebody kills the guard (its one thread is the one that counts there). Price: one shell per
//! Apache.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use sojourn_stats::Span;

use crate::{Child, ServeError, SpawnError, clock};

/// Connections that wait for a worker, as Apache has it by default; the kernel caps it at `net.core.somaxconn`.
pub const LISTEN_BACKLOG: u32 = 511;

/// How long it may take until it answers.
const PATIENCE: Span = Span(20_000_000_000);

/// Where Debian keeps its modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// Who serves when the parent is root: Apache's workers never do as root.
const WORKER_USERS: [&str; 2] = ["www-data", "nobody"];

/// Starts Apache, says so, and ends it when its own input ends: see the module.
const GUARD: &str = r#"
setsid setpriv --pdeathsig TERM "$1" -f "$2/apache.conf" -DFOREGROUND </dev/null >&2 &
pid=$!
exec 3<&0
trap 'kill -TERM "$pid"' TERM INT HUP
(trap - TERM INT HUP; while read -r _; do :; done; kill -TERM "$pid") <&3 3<&- >/dev/null 2>&1 &
watch=$!
exec 3<&- </dev/null
printf '{"event":"ready","kind":"apache","port":%d,"pid":%d}\n' "$3" "$pid"
wait "$pid"; status=$?
while kill -0 "$pid" 2>/dev/null; do wait "$pid"; status=$?; done
kill "$watch" 2>/dev/null
rm -rf "$2"
exit "$status"
"#;

/// An Apache to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Apache {
    /// Where it listens; port 0 takes a free port.
    pub listen: SocketAddr,
    /// The folder that it serves. When the parent is root, the workers run as `www-data` and must be able to read it.
    pub root: PathBuf,
    /// How many processes it keeps.
    pub workers: Workers,
    /// How long an idle connection stays open, to the next millisecond; zero: a connection per request.
    pub keep_alive: Span,
    /// How many further requests a connection may carry after its first (MaxKeepAliveRequests, whose documentation
    /// counts the first as well); 0: any number.
    pub keep_alive_requests: u32,
    /// Whether each request is logged, in the temporary folder: Apache's habit, and a cost.
    pub access_log: bool,
}

/// The processes of a preforking Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// At most so many, one per open connection (MaxRequestWorkers, once MaxClients; and ServerLimit).
    pub most: u32,
    /// At the start (StartServers).
    pub start: u32,
    /// Idle ones below which more are started (MinSpareServers).
    pub spare_min: u32,
    /// Idle ones above which some are ended (MaxSpareServers).
    pub spare_max: u32,
}

impl Workers {
    /// Zhang's experiment I (2002, Table 4.2), which is SURGE's high-performance configuration.
    pub const EXPERIMENT_I: Workers = Workers { most: 150, start: 5, spare_min: 5, spare_max: 10 };
    /// Zhang's experiment II (2002, Table 4.2), which his server models come from.
    pub const EXPERIMENT_II: Workers = Workers { most: 256, start: 8, spare_min: 5, spare_max: 20 };
}

/// An Apache that runs; dropping it stops it and removes its folder.
pub struct Running {
    // In this order: the folder goes when nobody writes into it any more.
    child: Child,
    folder: Folder,
    address: SocketAddr,
    pid: u32,
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Apache {
    /// One that serves `root` on a free port of the loopback address as Zhang's did (2002, Table 4.2): connections stay
    /// open for 15 s and 150 requests, and each request is logged.
    pub fn new(root: impl Into<PathBuf>, workers: Workers) -> Apache {
        Apache {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            root: root.into(),
            workers,
            keep_alive: Span(15_000_000_000),
            keep_alive_requests: 150,
            access_log: true,
        }
    }

    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// When apache2 is not installed, a setting is impossible, the root cannot be read by those who serve it, the
    /// address is in use, or it ends or does not answer within 20 s; it is gone then.
    pub fn start(&self) -> Result<Running, ServeError> {
        let program = program()?;
        self.check()?;
        let worker = worker_user()?;
        let root = self.readable_root(worker.as_ref())?;
        // Bound but not listening: nobody else is given this port, and Apache, which also reuses addresses, gets it.
        let (reserved, address) = reserve(self.listen)?;
        let folder = Folder::new()?;
        let text = self.configuration(&root, address, &folder.0, worker.as_ref())?;
        let file = folder.0.join("apache.conf");
        fs::write(&file, text).map_err(ServeError::system(format!("cannot write {}", file.display())))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARD, "apache-guard"]).arg(&program).arg(&folder.0).arg(address.port().to_string());
        let mut child = Child::start(command, PATIENCE.as_std()).map_err(not_started)?;
        let pid = child.events().first().and_then(|ready| ready["pid"].as_u64());
        let pid = pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
        let deadline = clock::now() + PATIENCE;
        while !answers(address) {
            if child.wait(Duration::from_millis(5)) {
                return Err(ServeError::Config(format!("apache2 ended before it answered: {}", child.last_words())));
            }
            if clock::now() > deadline {
                let words = format!("apache2 did not answer on {address} within {PATIENCE}: {}", child.last_words());
                return Err(ServeError::Config(words));
            }
        }
        drop(reserved);
        Ok(Running { child, folder, address, pid })
    }

    fn check(&self) -> Result<(), ServeError> {
        let Workers { most, start, spare_min, spare_max } = self.workers;
        let wrong = |what: String| Err(ServeError::Config(format!("apache workers: {what}")));
        // Apache would put other numbers in their place without stopping.
        if !(1..=20_000).contains(&most) {
            return wrong(format!("at most {most}; it is from 1 to 20000"));
        }
        if start == 0 || start > most {
            return wrong(format!("{start} at the start; it is from 1 to the {most} that there may be at most"));
        }
        if spare_min == 0 || spare_max <= spare_min {
            return wrong(format!("{spare_min} to {spare_max} idle; it is from at least 1 to more than that"));
        }
        Ok(())
    }

    /// The root in full, if those who serve can read what lies directly in it.
    fn readable_root(&self, worker: Option<&WorkerUser>) -> Result<PathBuf, ServeError> {
        let below = || format!("files below {}", self.root.display());
        let root = self.root.canonicalize().map_err(ServeError::system(below()))?;
        let about = root.metadata().map_err(ServeError::system(below()))?;
        if !about.is_dir() {
            return Err(ServeError::Config(format!("{}: not a directory", below())));
        }
        let Some(worker) = worker else { return Ok(root) };
        let closed = |path: &Path| {
            let (name, path) = (worker.name, path.display());
            Err(ServeError::Config(format!(
                "{}: apache2 serves as {name}, who may not read {path}; use chmod o+rX, or another folder",
                below()
            )))
        };
        for folder in root.ancestors() {
            let about = folder.metadata().map_err(ServeError::system(below()))?;
            if !worker.may(&about, 0o1) {
                return closed(folder);
            }
        }
        for entry in fs::read_dir(&root).map_err(ServeError::system(below()))?.flatten() {
            // What vanishes meanwhile is not served either.
            let Ok(about) = entry.path().metadata() else { continue };
            if !worker.may(&about, if about.is_dir() { 0o1 } else { 0o4 }) {
                return closed(&entry.path());
            }
        }
        Ok(root)
    }

    fn configuration(
        &self,
        root: &Path,
        address: SocketAddr,
        folder: &Path,
        worker: Option<&WorkerUser>,
    ) -> Result<String, ServeError> {
        let (root, folder) = (quoted(root)?, quoted(folder)?);
        let Workers { most, start, spare_min, spare_max } = self.workers;
        let keep_alive = if self.keep_alive == Span::ZERO { "Off" } else { "On" };
        let keep_alive_ms = self.keep_alive.0.div_ceil(1_000_000).max(1);
        let requests = self.keep_alive_requests;
        let mut text = format!(
            "ServerRoot \"{folder}\"\n\
             DefaultRuntimeDir \"{folder}\"\n\
             PidFile \"{folder}/apache.pid\"\n\
             ErrorLog \"{folder}/error.log\"\n\
             ServerName localhost\n\
             Listen {address}\n\
             ListenBacklog {LISTEN_BACKLOG}\n\
             LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so\n\
             LoadModule authz_core_module {MODULES}/mod_authz_core.so\n\
             LoadModule dir_module {MODULES}/mod_dir.so\n\
             LoadModule mime_module {MODULES}/mod_mime.so\n\
             TypesConfig /dev/null\n\
             AddType text/html .html\n\
             AddType text/plain .txt\n\
             ServerLimit {most}\n\
             MaxRequestWorkers {most}\n\
             StartServers {start}\n\
             MinSpareServers {spare_min}\n\
             MaxSpareServers {spare_max}\n\
             MaxConnectionsPerChild 0\n\
             Timeout 300\n\
             KeepAlive {keep_alive}\n\
             KeepAliveTimeout {keep_alive_ms}ms\n\
             MaxKeepAliveRequests {requests}\n\
             DocumentRoot \"{root}\"\n\
             DirectoryIndex index.html\n\
             <Directory \"{root}\">\n\
             Options FollowSymLinks\n\
             AllowOverride None\n\
             Require all granted\n\
             </Directory>\n"
        );
        if self.access_log {
            let common = r#"%h %l %u %t \"%r\" %>s %b"#;
            writeln!(text, "CustomLog \"{folder}/access.log\" \"{common}\"").expect("a String takes all");
        }
        if let Some(WorkerUser { name, group, .. }) = worker {
            write!(text, "User {name}\nGroup #{group}\n").expect("a String takes all");
        }
        Ok(text)
    }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id of Apache's first process, the parent of its workers.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it has written to its error log: that it reached its limit on workers, for one.
    pub fn error_log(&self) -> String {
        self.read("error.log")
    }

    /// What it has written to its access log, if it keeps one. It begins with the HEAD by which we saw that it answers.
    pub fn access_log(&self) -> String {
        self.read("access.log")
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.has_ended()
    }

    /// Stops it, workers included, waits for its end, and removes its folder.
    pub fn stop(self) {
        drop(self);
    }

    fn read(&self, name: &str) -> String {
        // A log that nothing was written to need not exist, and a broken letter in one is no reason to hide the rest.
        fs::read(self.folder.0.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

impl Folder {
    /// A new folder that only its owner may enter.
    fn new() -> Result<Folder, ServeError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("sojourn-apache-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Of an earlier process of this number that was killed together with its guard.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(ServeError::System { what: format!("cannot make {}", path.display()), source });
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The guard has removed it already, unless it was never started or was killed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Who the workers are when the parent is root.
struct WorkerUser {
    name: &'static str,
    user: u32,
    group: u32,
}

impl WorkerUser {
    /// Whether it may do this (1 enter, 4 read) with what `about` tells of.
    fn may(&self, about: &Metadata, what: u32) -> bool {
        let shift = match about {
            about if about.uid() == self.user => 6,
            about if about.gid() == self.group => 3,
            _ => 0,
        };
        about.mode() >> shift & what == what
    }
}

/// None where the parent is not root: then the workers are who the parent is.
fn worker_user() -> Result<Option<WorkerUser>, ServeError> {
    let own = fs::metadata("/proc/self").map_err(ServeError::system("cannot read /proc"))?.uid();
    if own != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").map_err(ServeError::system("cannot read /etc/passwd"))?;
    let found = WORKER_USERS.into_iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse);
        Some(WorkerUser { name, user: numbers.next()?.ok()?, group: numbers.next()?.ok()? })
    });
    let words = "apache2 does not serve as root, and there is no user www-data or nobody that it could serve as";
    found.map(Some).ok_or_else(|| ServeError::Config(words.into()))
}

/// Debian's apache2. Its package `apache2-bin` suffices; `apache2` would make it a service of the system as well.
fn program() -> Result<PathBuf, ServeError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]); // which is not in every PATH
    let found = folders.map(|folder| folder.join("apache2")).find(|program| program.is_file());
    let missing = || ServeError::Config("apache2 is not installed: `apt install apache2-bin`".into());
    if Path::new(MODULES).is_dir() { found.ok_or_else(missing) } else { Err(missing()) }
}

/// A socket that holds the address, and the address in full.
fn reserve(address: SocketAddr) -> Result<(Socket, SocketAddr), ServeError> {
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(address),
        _ => ServeError::Listen { address, source },
    };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).map_err(refused)?;
    socket.set_reuse_address(true).map_err(refused)?;
    socket.bind(&address.into()).map_err(refused)?;
    let bound = socket.local_addr().map_err(refused)?.as_socket().expect("it was bound to an internet address");
    Ok((socket, bound))
}

/// Whether it answers a request, whatever the answer.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        // A worker may only be about to start; the listen backlog keeps the request for it.
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"HEAD / HTTP/1.0\r\n\r\n")?;
        let mut start = [0; 5];
        stream.read_exact(&mut start)?;
        Ok(&start == b"HTTP/")
    };
    ask().unwrap_or(false)
}

/// A path as Apache's configuration takes it between double quotes.
fn quoted(path: &Path) -> Result<String, ServeError> {
    let fit = |text: &&str| !text.contains(['\n', '\r', '"', '\\']) && !text.contains("${");
    path.to_str().filter(fit).map(str::to_owned).ok_or_else(|| {
        ServeError::Config(format!(
            "{}: apache2 takes no path with quotes, backslashes, ${{ or line ends in it; use another folder",
            path.display()
        ))
    })
}

fn not_started(error: SpawnError) -> ServeError {
    match error {
        SpawnError::Run { program, source } => ServeError::System { what: format!("cannot run {program}"), source },
        other => ServeError::Config(format!("apache2: {other}")),
    }
}
