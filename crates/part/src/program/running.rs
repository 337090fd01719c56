//! A program that runs, and the guard that ends it.
//!
//! A web server does not stop when its input closes, so a guard (`sh`) stands in between: it is a [`Child`] like any
//! other, ends the program by SIGTERM when its own input closes, waits for its end, kills what is left of its process
//! group and removes the folder; a parent that panics or is killed closes that input, whatever else it fails to do. The
//! guard starts the program in a session of its own, because Apache signals its whole process group, and with
//! PR_SET_PDEATHSIG, so that the program ends even if the guard is killed (its one thread is the one that counts
//! there). It must not end itself when its parent, to which it tells the program's end, has gone (SIGPIPE). Price:
//! one shell per program.

use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use sojourn_bed::{Child, SpawnError};
use sojourn_stats::Span;

use super::folder::Folder;
use super::{Launch, files};
use crate::{ServeError, clock};

/// How long it may take until it answers.
const PATIENCE: Span = Span(20_000_000_000);

/// Starts the program, says so, and ends it when its own input ends: see the module. `$1` is the folder, `$2` the kind,
/// `$3` the port, `$4` a name in shared memory or nothing; the rest is for setpriv.
const GUARD: &str = r#"
folder=$1 kind=$2 port=$3 shared=$4
shift 4
setsid setpriv "$@" </dev/null >&2 &
pid=$!
trap '' PIPE
exec 3<&0
trap 'kill -TERM "$pid"' TERM INT HUP
(trap - TERM INT HUP; while read -r _; do :; done; kill -TERM "$pid") <&3 3<&- >/dev/null 2>&1 &
watch=$!
exec 3<&- </dev/null
printf '{"event":"ready","kind":"%s","port":%d,"pid":%d}\n' "$kind" "$port" "$pid"
wait "$pid"; status=$?
while kill -0 "$pid" 2>/dev/null; do wait "$pid"; status=$?; done
kill "$watch" 2>/dev/null
kill -KILL "-$pid" 2>/dev/null
[ -z "$shared" ] || rm -f /dev/shm/"$shared"-*
rm -rf "$folder"
exit "$status"
"#;

/// A program that runs; dropping it stops it and removes its folder.
pub struct Running {
    // In this order: the folder goes when no process writes into it any more.
    child: Child,
    folder: Folder,
    address: SocketAddr,
    pid: u32,
    ready: Ready,
}

/// How it is seen that a program serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// It answers a request.
    Answers,
    /// It accepts a connection, which asks for nothing.
    Accepts,
}

impl Running {
    pub(super) fn start(
        kind: &'static str,
        launch: &Launch,
        (cores, is_in_background): (&[usize], bool),
        folder: Folder,
        address: SocketAddr,
        ready: Ready,
    ) -> Result<Running, ServeError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARD, "server-guard"]).arg(&folder.0).args([kind, &address.port().to_string()]);
        command.arg(launch.shared_memory.as_deref().unwrap_or_default());
        // A program that changed its user itself would lose the signal again.
        if let Some((user, group)) = launch.user {
            command.args(["--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
        }
        command.args(["--pdeathsig", "TERM"]);
        if files::is_alone() {
            command.args(["unshare", "--user", "--map-user=1000", "--map-group=1000"]);
        }
        if is_in_background {
            command.args(["chrt", "--idle", "0"]);
        }
        if !cores.is_empty() {
            let list = cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            command.args(["taskset", "-c", &list]);
        }
        command.args(&launch.command);
        let mut child = Child::start(command, PATIENCE.as_std()).map_err(|error| match error {
            SpawnError::Run { program, source } => ServeError::System { what: format!("cannot run {program}"), source },
            other => ServeError::Config(format!("{kind}: {other}")),
        })?;
        let pid = child.events().first().and_then(|ready| ready["pid"].as_u64());
        let pid = pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
        let deadline = clock::now() + PATIENCE;
        while !ready.is_seen(address) {
            if child.wait(Duration::from_millis(5)).is_some() {
                return Err(ServeError::Config(format!("{kind} ended before it answered: {}", child.stderr_tail())));
            }
            if clock::now() > deadline {
                let words = format!("{kind} did not answer on {address} within {PATIENCE}: {}", child.stderr_tail());
                return Err(ServeError::Config(words));
            }
        }
        Ok(Running { child, folder, address, pid, ready })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it writes its access log, if it does.
    pub fn access_log_path(&self) -> PathBuf {
        self.folder.0.join("access.log")
    }

    /// The process id of its first process, the parent of the others.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The process that supervises it, and ends with it.
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// Whether it answers at present; of a balancer, whether it accepts connections.
    pub fn answers(&self) -> bool {
        self.ready.is_seen(self.address)
    }

    /// The process ids of all its processes at present, the first process first.
    pub fn pids(&self) -> Vec<u32> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // It leads a session of its own, which all its processes belong to.
        let mut ids: Vec<u32> = ids.filter(|id| session(*id) == Some(self.pid)).collect();
        ids.sort_by_key(|id| (*id != self.pid, *id));
        ids
    }

    /// What it has written to its error log: that an Apache reached its limit on workers, for one.
    pub fn error_log(&self) -> String {
        self.read("error.log")
    }

    /// What it has written to its access log, if it keeps one. That of a web server begins with the HEAD by which we saw that it
    /// answers.
    pub fn access_log(&self) -> String {
        self.read("access.log")
    }

    /// Waits at most `timeout` for its end by itself, and then until what it said has been read; whether it has ended.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        self.child.wait(timeout).is_some()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.child.ended().is_some()
    }

    /// Stops it with all its processes, waits for its end, and removes its folder.
    pub fn stop(self) {
        drop(self);
    }

    fn read(&self, name: &str) -> String {
        // A log that nothing was written to need not exist, and a broken letter in one is no reason to hide the rest.
        fs::read(self.folder.0.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

/// The session of a process that lives; none if it has ended, or only waits to be noticed.
fn session(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may contain anything, brackets too: pid (name) state ppid pgrp session.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    (fields.next()? != "Z").then(|| fields.nth(2)?.parse().ok()).flatten()
}

/// Whether this machine has these cores.
pub(super) fn check_cores(cores: &[usize]) -> Result<(), String> {
    // e.g. `0-1,4`
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let parts = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    let online: Vec<usize> = parts.flatten().collect();
    match cores.iter().find(|core| !online.is_empty() && !online.contains(core)) {
        None => Ok(()),
        Some(core) => Err(format!("core {core}: this machine has {}", list.trim())),
    }
}

/// A socket that holds the address, and the address in full.
pub(super) fn reserve(address: SocketAddr) -> Result<(Socket, SocketAddr), ServeError> {
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

impl Ready {
    fn is_seen(self, address: SocketAddr) -> bool {
        match self {
            Ready::Answers => answers(address),
            Ready::Accepts => TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok(),
        }
    }
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
