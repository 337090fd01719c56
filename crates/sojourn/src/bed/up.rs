//! Bringing a bed up: the one process that keeps it.
//!
//! It holds the bed's name, as an abstract socket that ends with it, and answers on it which process is the bed's first.
//! It starts that one, waits for its end and ends as it did. Killed in any way, it takes the bed along.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::unistd::{pipe2, setsid};
use sojourn_bed::{Topology, namespace};

use super::{Order, Wanted, unfit};
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{errln, outln};

/// Bring a bed up
#[derive(clap::Args)]
pub(crate) struct Up {
    #[command(flatten)]
    wanted: Wanted,
    /// Its name; two beds need two names
    #[arg(long, default_value = "bed")]
    name: String,
    /// Return once it is up; `sojourn bed down` takes it down
    #[arg(long)]
    detach: bool,
    /// Be the process that a detached bed keeps
    #[arg(long, hide = true)]
    background: bool,
}

/// Bring a bed up for one command
#[derive(clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    wanted: Wanted,
    /// Its name, by which other shells find it [default: run- and a process id]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    order: Order,
}

pub(crate) fn up(arguments: &Up) -> Result<Exit, Failure> {
    let Up { wanted, name, detach, background } = arguments;
    let (topology, _) = wanted.topology()?;
    if *detach {
        return detached(wanted, name, &topology);
    }
    if *background {
        // Its own session: it outlives the terminal that started it.
        setsid().map_err(failed)?;
    }
    let mut first = vec!["--name".into(), name.into()];
    first.extend(background.then(|| "--background".into()));
    first.extend(wanted.arguments());
    keep(name, first)
}

pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    let Run { wanted, name, order } = arguments;
    let (topology, _) = wanted.topology()?;
    order.check(topology.hosts.iter().map(|host| host.name.as_str()))?;
    let name = name.clone().unwrap_or_else(|| format!("run-{}", std::process::id()));
    let mut first = vec!["--name".into(), OsString::from(&name)];
    first.extend(order.root.then(|| "--root".into()));
    first.extend(wanted.arguments());
    first.extend([OsString::from(&order.host), "--".into()]);
    first.extend(order.command.iter().cloned());
    keep(&name, first)
}

impl Order {
    /// Whether there is such a host.
    pub(super) fn check<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
        let known: Vec<&str> = known.collect();
        match known.contains(&self.host.as_str()) {
            true => Ok(()),
            false => Err(bad_input(format!("no host `{}`; there are {}", self.host, known.join(", ")))),
        }
    }
}

/// What a user is told of a bed that is up.
pub(super) fn summary(name: &str, topology: &Topology, ends: &str) -> String {
    let width = topology.hosts.iter().map(|host| host.name.len()).max().unwrap_or(0);
    let mut text = format!("bed `{name}` is up\n");
    for host in &topology.hosts {
        text += &format!("  {:<width$}  {}\n", host.name, host.address);
    }
    let flag = if name == "bed" { String::new() } else { format!(" --name {name}") };
    text += &format!("`sojourn bed exec{flag} {} -- COMMAND` runs a command there; {ends}", topology.hosts[0].name);
    text
}

/// How a bed of this name is taken down.
pub(super) fn down(name: &str) -> String {
    let flag = if name == "bed" { String::new() } else { format!(" --name {name}") };
    format!("`sojourn bed down{flag}`")
}

/// The abstract socket of a bed: it needs no file, and is gone with the process that has it.
pub(super) fn socket(name: &str) -> Result<SocketAddr, Failure> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    match !name.is_empty() && name.len() <= 64 && name.chars().all(is_sign) {
        true => SocketAddr::from_abstract_name(format!("{PREFIX}{name}")).map_err(failed),
        false => Err(bad_input(format!("--name {name}: letters, digits, dots, hyphens and underscores, at most 64"))),
    }
}

/// How the names of beds begin among abstract sockets.
pub(super) const PREFIX: &str = "sojourn-bed/";

/// Starts the first process of a bed with these arguments, and ends as it does.
fn keep(name: &str, arguments: Vec<OsString>) -> Result<Exit, Failure> {
    let socket = socket(name)?;
    let listener = UnixListener::bind_addr(&socket).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => bad_input(format!(
            "a bed named `{name}` is up already: take it down ({}), or give another --name",
            down(name)
        )),
        _ => failed(format!("cannot hold the name `{name}`: {error}")),
    })?;
    let program = std::env::current_exe().map_err(failed)?;
    let (seen, _held) = life_line()?;
    let mut end = SigSet::empty();
    end.add(Signal::SIGCHLD);
    end.thread_block().map_err(failed)?;
    let ends = SignalFd::new(&end).map_err(failed)?;
    // From here on there is one thread: the kernel gives no other to a process whose children are elsewhere.
    namespace::enter().map_err(unfit)?;
    let mut first = Command::new(program)
        .args(["bed", "first", "--life-line", &seen.as_raw_fd().to_string()])
        .args(arguments)
        .spawn()
        .map_err(|error| failed(format!("cannot start the first process of the bed: {error}")))?;
    let status = loop {
        if is_asked(&listener, &ends).map_err(failed)?
            && let Ok((stream, _)) = listener.accept()
        {
            // One that asked and went away needs no answer.
            let _ = writeln!(&stream, "{}", first.id());
        }
        if let Some(status) = first.try_wait().map_err(failed)? {
            break status;
        }
    };
    std::process::exit(code(status))
}

/// Waits until a child may have ended or something is asked; whether it is that.
fn is_asked(listener: &UnixListener, ends: &SignalFd) -> nix::Result<bool> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut both = [readable(listener.as_fd()), readable(ends.as_fd())];
    poll(&mut both, PollTimeout::NONE)?;
    let [is_asked, is_end] = both.map(|file| file.any().unwrap_or(false));
    if is_end {
        // Taken, or it would be seen again where the child has only been stopped.
        ends.read_signal()?;
    }
    Ok(is_asked)
}

/// A pipe whose end the first process sees when this process ends, however early.
fn life_line() -> Result<(OwnedFd, OwnedFd), Failure> {
    let (seen, held) = pipe2(OFlag::O_CLOEXEC).map_err(failed)?;
    fcntl(&seen, FcntlArg::F_SETFD(FdFlag::empty())).map_err(failed)?;
    Ok((seen, held))
}

/// The exit code of a process that ended so, as shells give it.
pub(super) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn detached(wanted: &Wanted, name: &str, topology: &Topology) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(failed)?;
    let mut kept = Command::new(program)
        .args(["bed", "up", "--background", "--name", name])
        .args(wanted.arguments())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut said = String::new();
    let output = kept.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut said).map_err(failed)?;
    if !said.is_empty() {
        outln(&summary(name, topology, &format!("{} takes it down", down(name))));
        return Ok(Exit::Ok);
    }
    let mut why = String::new();
    kept.stderr.take().expect("it is piped").read_to_string(&mut why).map_err(failed)?;
    errln(why.trim_end());
    std::process::exit(code(kept.wait().map_err(failed)?))
}
