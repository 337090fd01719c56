//! Beds that are up: finding them, looking at them, cutting their ways, and taking them down.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::up::{PREFIX, socket};
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::outln;

/// Where the first process of a bed answers, inside it.
pub(super) const SOCKET: &str = "/run/control";

/// Say which beds are up
#[derive(clap::Args)]
pub(crate) struct Status {
    /// Only this bed
    #[arg(long)]
    name: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Cut or mend the way between two hosts
#[derive(clap::Args)]
pub(crate) struct Cut {
    /// The bed
    #[arg(long, default_value = "bed")]
    name: String,
    /// A host
    one: String,
    /// Another host
    other: String,
}

/// Take a bed down
#[derive(clap::Args)]
pub(crate) struct Down {
    /// The bed
    #[arg(long, default_value = "bed")]
    name: String,
}

pub(crate) fn status(arguments: &Status) -> Result<Exit, Failure> {
    let names = match &arguments.name {
        Some(name) => {
            find(name)?;
            vec![name.clone()]
        }
        None => names(),
    };
    let mut states = Vec::new();
    for name in names {
        let Ok(pid) = find(&name) else { continue };
        let mut state = match ask(pid, "status") {
            Ok(state) => state,
            // One that is being made or taken down is not up, and no reason to say nothing of the others.
            Err(_) if arguments.name.is_none() => continue,
            Err(failure) => return Err(failure),
        };
        state["name"] = name.into();
        state["pid"] = pid.into();
        states.push(state);
    }
    if arguments.json {
        outln(&serde_json::to_string_pretty(&states).expect("a state is plain JSON"));
        return Ok(Exit::Ok);
    }
    if states.is_empty() {
        outln("no bed is up");
    }
    for state in &states {
        outln(&format!("bed `{}`, process {}", state["name"].as_str().unwrap_or_default(), state["pid"]));
        for (name, address) in hosts(state) {
            outln(&format!("  host {name}, {address}"));
        }
        for service in state["services"].as_array().into_iter().flatten() {
            let addresses = service["addresses"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let first = service["hosts"][0].as_str().unwrap_or_default();
            addresses.for_each(|address| outln(&format!("  {address}, for a service on the Ethernet of {first}")));
        }
        let links = state["links"].as_array().into_iter().flatten();
        for link in links.filter(|link| link["offered"] != 0) {
            outln(&format!(
                "  link {}: of {} packets {} passed, {} lost, {} dropped by the queue",
                link["name"].as_str().unwrap_or_default(),
                link["offered"],
                link["passed"],
                link["lost"],
                link["dropped"]
            ));
        }
        if state["cut_packets"] != 0 {
            outln(&format!("  {} packets met a cut", state["cut_packets"]));
        }
    }
    Ok(Exit::Ok)
}

pub(crate) fn cut(arguments: &Cut, is_cut: bool) -> Result<Exit, Failure> {
    let Cut { name, one, other } = arguments;
    let pid = find(name)?;
    let known = hosts(&ask(pid, "status")?);
    for host in [one, other] {
        if !known.iter().any(|(name, _)| name == host) {
            let known: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            return Err(bad_input(format!("no host `{host}`; there are {}", known.join(", "))));
        }
    }
    if one == other {
        return Err(bad_input(format!("`{one}` and `{other}` are one host: name two")));
    }
    send(pid, &json!({"ask": if is_cut { "cut" } else { "mend" }, "one": one, "other": other}))?;
    Ok(Exit::Ok)
}

pub(crate) fn down(arguments: &Down) -> Result<Exit, Failure> {
    let pid = find(&arguments.name)?;
    // It ends instead of answering.
    let _ = ask(pid, "down");
    let socket = socket(&arguments.name)?;
    for _ in 0..1000 {
        if UnixStream::connect_addr(&socket).is_err() {
            return Ok(Exit::Ok);
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    Err(failed(format!("bed `{}` was told to end and has not: kill its process {pid}", arguments.name)))
}

/// The first process of a bed.
pub(super) fn find(name: &str) -> Result<u32, Failure> {
    let none = || {
        let others = match &names()[..] {
            [] => String::new(),
            up => format!("up are: {}; ", up.join(", ")),
        };
        bad_input(format!(
            "no bed named `{name}` is up here; {others}`sojourn bed up continents --name {name}` makes one"
        ))
    };
    let stream = UnixStream::connect_addr(&socket(name)?).map_err(|_| none())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(|_| none())?;
    line.trim().parse().map_err(|_| none())
}

/// What the bed of this first process says to a plain question.
pub(super) fn ask(pid: u32, what: &str) -> Result<Value, Failure> {
    send(pid, &json!({"ask": what}))
}

/// The hosts and addresses in a state.
pub(super) fn hosts(state: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let hosts = state["hosts"].as_array().into_iter().flatten();
    hosts.map(|host| (text(&host["name"]), text(&host["address"]))).collect()
}

fn send(pid: u32, question: &Value) -> Result<Value, Failure> {
    let unanswered = |error: std::io::Error| failed(format!("the bed of process {pid} does not answer: {error}"));
    // The socket is in the bed's memory, and only its own user sees that.
    let mut stream = UnixStream::connect(format!("/proc/{pid}/root{SOCKET}")).map_err(unanswered)?;
    writeln!(stream, "{question}").map_err(unanswered)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(unanswered)?;
    let said: Value = serde_json::from_str(&line).map_err(|error| unanswered(error.into()))?;
    match (said["refused"].as_str(), said["error"].as_str()) {
        (Some(why), _) => Err(bad_input(why)),
        (None, Some(why)) => Err(failed(why)),
        (None, None) => Ok(said),
    }
}

/// The names of the beds that are up on this machine, or on this host of a bed.
fn names() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let marker = format!("@{PREFIX}");
    // A listening socket has this flag; those of its connections do not.
    let listens = |line: &&str| line.split_whitespace().nth(3) == Some("00010000");
    let name = |line: &str| line.split_once(&marker).map(|(_, name)| name.trim().to_owned());
    let mut names: Vec<String> = table.lines().filter(listens).filter_map(name).collect();
    names.sort();
    names
}
