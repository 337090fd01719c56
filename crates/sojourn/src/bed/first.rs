//! The first process of a bed: makes the hosts, moves their packets, reaps orphans, and runs one command or none.
//!
//! As the first process of its PID namespace it is the parent of every orphan, and all others end with it. It answers
//! other shells over a socket in the bed's own memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sojourn_bed::{Ground, Host, Links, Namespaces, Segment, Station, Topology, clock, namespace};
use sojourn_stats::Span;

use super::control::SOCKET;
use super::up::{down, summary};
use super::{Wanted, no_ground, unfit};
use crate::exit::{Exit, Failure, failed};
use crate::table::outln;

/// Be the first process of a bed
#[derive(clap::Args)]
pub(crate) struct First {
    #[command(flatten)]
    wanted: Wanted,
    #[arg(long)]
    name: String,
    /// A pipe that closes when the process that keeps the bed has ended
    #[arg(long)]
    life_line: i32,
    #[arg(long)]
    background: bool,
    #[arg(long)]
    root: bool,
    host: Option<String>,
    #[arg(last = true)]
    command: Vec<std::ffi::OsString>,
}

/// Be the first process of a bed without hosts
#[derive(clap::Args)]
pub(crate) struct Base {
    #[arg(long)]
    life_line: i32,
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
}

/// How long what runs in a bed has to end after it was told to.
const GRACE: Span = Span(3_000_000_000);

pub(crate) fn first(arguments: &First) -> Result<Exit, Failure> {
    let First { wanted, name, life_line, background, root, host, command } = arguments;
    let program = std::env::current_exe().map_err(failed)?;
    let (topology, seed) = wanted.topology()?;
    let ends = begin(topology.hosts.iter().map(|host| (host.name.as_str(), host.address)), *life_line)?;
    let mut hosts = Namespaces::new(topology, seed).map_err(no_ground)?;
    let main = match host {
        Some(name) => {
            let host = hosts.host(name).map_err(no_ground)?;
            // It ends with the bed, not with the thread that starts it, which ends at once.
            let mut within = Command::new(program);
            within.args(["bed", "within"]).args(root.then_some("--root")).arg("--").args(command);
            let started = hosts.on(host, || within.spawn()).map_err(unfit)?.map_err(failed)?;
            Some(Pid::from_raw(started.id() as i32))
        }
        None => None,
    };
    let listener = UnixListener::bind(SOCKET).map_err(failed)?;
    let hosts = Arc::new(hosts);
    let known = Arc::clone(&hosts);
    spawn("control", move || {
        for stream in listener.incoming().flatten() {
            // One that asked and went away needs no answer.
            let _ = answer(&stream, &known);
        }
    })?;
    if *background {
        outln(&json!({"event": "ready"}).to_string());
    } else if main.is_none() {
        outln(&summary(name, hosts.topology(), &format!("Ctrl-C here or {} takes it down", down(name))));
    }
    reap_until(main, &ends)
}

/// A bed without hosts, for a program that makes its own.
pub(crate) fn base(arguments: &Base) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(failed)?;
    let ends = begin([], arguments.life_line)?;
    let mut within = Command::new(program);
    let started = within.args(["bed", "within", "--root", "--"]).args(&arguments.command).spawn().map_err(failed)?;
    reap_until(Some(Pid::from_raw(started.id() as i32)), &ends)
}

/// Becomes the first process of a bed; gives the signals that it then waits for.
fn begin<'a>(hosts: impl IntoIterator<Item = (&'a str, Ipv4Addr)>, life_line: i32) -> Result<SigSet, Failure> {
    // Before there are threads: these are waited for, by this one.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(failed)?;
    namespace::furnish(hosts).map_err(unfit)?;
    let mut life_line = File::open(format!("/proc/self/fd/{life_line}")).map_err(failed)?;
    spawn("life line", move || {
        let _ = life_line.read(&mut [0]);
        std::process::exit(Exit::Failed as i32);
    })?;
    Ok(signals)
}

/// Reaps whatever ends, and ends as `main` does. A polite kill is handed on to that one.
fn reap_until(main: Option<Pid>, signals: &SigSet) -> ! {
    loop {
        while let Some(ended) = reap() {
            if main.is_some() && ended.pid() == main {
                std::process::exit(exit_code(ended));
            }
        }
        if signals.wait() == Ok(Signal::SIGTERM) {
            match main {
                // One that has just ended is reaped next.
                Some(main) => drop(kill(main, Signal::SIGTERM)),
                None => std::process::exit(Exit::Ok as i32),
            }
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    std::thread::Builder::new().name(name.into()).spawn(body).map(drop).map_err(failed)
}

/// The end of one child, if one has ended.
fn reap() -> Option<WaitStatus> {
    match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => None,
        Ok(ended) => Some(ended),
        Err(error) => unreachable!("waiting for children: {error}"),
    }
}

fn exit_code(ended: WaitStatus) -> i32 {
    match ended {
        WaitStatus::Exited(_, code) => code,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
        _ => Exit::Failed as i32,
    }
}

fn answer(stream: &UnixStream, hosts: &Namespaces) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let asked: Value = serde_json::from_str(&line)?;
    let said = match asked["ask"].as_str() {
        Some("status") => state(hosts),
        Some("cut" | "mend") => {
            let find = |key: &str| hosts.topology().find(asked[key].as_str()?).map(|index| Host(index as u32));
            match (find("one"), find("other")) {
                (Some(one), Some(other)) => match on_one_segment(hosts.topology(), one, other) {
                    Some(why) => json!({"refused": why}),
                    None => {
                        hosts.cut(one, other, asked["ask"] == "cut");
                        json!({})
                    }
                },
                _ => json!({"error": "no such host"}),
            }
        }
        Some("down") => {
            end_others();
            std::process::exit(Exit::Ok as i32);
        }
        _ => json!({"error": "not known"}),
    };
    let mut stream = stream;
    writeln!(stream, "{said}")
}

/// Why there is no way between two hosts that could be cut.
fn on_one_segment(topology: &Topology, one: Host, other: Host) -> Option<String> {
    let [one, other] = [one, other].map(|host| host.0 as usize);
    let segment = topology.segment_of(one).or(topology.segment_of(other))?;
    let is_on_it = |host: usize| segment.router == host || segment.hosts.contains(&host);
    let name = |host: usize| &topology.hosts[host].name;
    let port = if segment.router == other { one } else { other };
    (is_on_it(one) && is_on_it(other)).then(|| {
        format!(
            "`{}` and `{}` are on one Ethernet, of which no link is part; cut a host off from all others with \
             `sojourn bed exec --root {} -- ip link set port{port} down`, and mend that with `up`",
            name(one),
            name(other),
            name(segment.router)
        )
    })
}

fn state(hosts: &Namespaces) -> Value {
    let (counts, cut) = hosts.counts();
    let Topology { hosts: stations, segments, .. } = hosts.topology();
    let station = |host: &Station| json!({"name": host.name, "address": host.address});
    let names = |hosts: &[usize]| hosts.iter().map(|host| stations[*host].name.clone()).collect::<Vec<_>>();
    let service = |segment: &Segment| json!({"addresses": segment.services, "hosts": names(&segment.hosts)});
    let link = |(name, counts): (String, sojourn_bed::link::Counts)| {
        json!({
            "name": name, "offered": counts.offered, "dropped": counts.dropped, "lost": counts.lost,
            "passed": counts.passed, "passed_bytes": counts.passed_bytes,
        })
    };
    json!({
        "hosts": stations.iter().map(station).collect::<Vec<_>>(),
        "services": segments.iter().map(service).collect::<Vec<_>>(),
        "links": counts.into_iter().map(link).collect::<Vec<_>>(),
        "cut_packets": cut,
    })
}

/// Tells all other processes of the bed to end, and gives them some time for it.
fn end_others() {
    let all = Pid::from_raw(-1);
    let start = clock::since_boot();
    let mut is_left = kill(all, Signal::SIGTERM).is_ok();
    while is_left && clock::since_boot() - start < GRACE {
        std::thread::park_timeout(Duration::from_millis(10));
        is_left = kill(all, None).is_ok();
    }
}
