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
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, pipe2, setsid};
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
    keep(name, "first", first)
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
    keep(&name, "first", first)
}

/// Runs this same command again, with `flag` besides, inside a bed in which it may make hosts; ends as it does.
pub(crate) fn again_inside(flag: &str) -> Result<Exit, Failure> {
    let mut command: Vec<OsString> = vec!["--".into()];
    command.push(std::env::current_exe().map_err(failed)?.into());
    command.extend(std::env::args_os().skip(1));
    command.push(flag.into());
    keep(&format!("live-{}", std::process::id()), "base", command)
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
    for segment in &topology.segments {
        let first = segment.hosts.first().map_or("", |host| topology.hosts[*host].name.as_str());
        for address in &segment.services {
            text += &format!("  {:<width$}  {address}, for a service on the Ethernet of {first}\n", "");
        }
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

/// Starts the first process of a bed, by its verb and with these arguments, and ends as it does.
fn keep(name: &str, verb: &str, arguments: Vec<OsString>) -> Result<Exit, Failure> {
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
    // A run that is interrupted ends in order, which the terminal tells it as well as this process; a bed just ends.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    if verb == "base" {
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
    }
    signals.thread_block().map_err(failed)?;
    let signals = SignalFd::new(&signals).map_err(failed)?;
    // From here on there is one thread: the kernel gives no other to a process whose children are elsewhere.
    namespace::enter().map_err(unfit)?;
    let mut first = Command::new(program)
        .args(["bed", verb, "--life-line", &seen.as_raw_fd().to_string()])
        .args(arguments)
        .spawn()
        .map_err(|error| failed(format!("cannot start the first process of the bed: {error}")))?;
    let status = loop {
        match next(&listener, &signals).map_err(failed)? {
            Some(Signal::SIGTERM) => drop(kill(Pid::from_raw(first.id() as i32), Signal::SIGTERM)),
            Some(_) => {}
            None => {
                if let Ok((stream, _)) = listener.accept() {
                    // One that asked and went away needs no answer.
                    let _ = writeln!(&stream, "{}", first.id());
                }
            }
        }
        if let Some(status) = first.try_wait().map_err(failed)? {
            break status;
        }
    };
    std::process::exit(code(status))
}

/// Waits for a signal; none: something is asked first.
fn next(listener: &UnixListener, signals: &SignalFd) -> nix::Result<Option<Signal>> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut both = [readable(signals.as_fd()), readable(listener.as_fd())];
    poll(&mut both, PollTimeout::NONE)?;
    match both[0].any() {
        Some(true) => {
            let number = signals.read_signal()?.map_or(0, |signal| signal.ssi_signo as i32);
            Signal::try_from(number).map(Some)
        }
        _ => Ok(None),
    }
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
