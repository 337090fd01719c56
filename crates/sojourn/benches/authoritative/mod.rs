//! Authoritative servers to compare with: each serves the same static zone, with one thread on core 1.

use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use sojourn_part::now;
use sojourn_stats::Span;

use crate::{NAMES, Result, Server};

/// PowerDNS with its packet cache.
pub(crate) fn powerdns(folder: &Path) -> Result<Server> {
    let (port, shown) = (free_port()?, folder.display());
    fs::write(folder.join("zone"), zone())?;
    let zones = format!("zone \"example.org\" {{ type master; file \"{shown}/zone\"; }};\n");
    fs::write(folder.join("named.conf"), zones)?;
    let settings = format!(
        "launch=bind\nbind-config={shown}/named.conf\nlocal-address=127.0.0.1\nlocal-port={port}\nsocket-dir={shown}\n\
         receiver-threads=1\ndistributor-threads=1\ncache-ttl=3600\nguardian=no\ndaemon=no\ndisable-syslog=yes\nloglevel=2\n"
    );
    fs::write(folder.join("pdns.conf"), settings)?;
    start("pdns_server", &[&format!("--config-dir={shown}")], port, &folder.join("pdns.log"))
}

/// gdnsd; none where it is not installed.
pub(crate) fn gdnsd(folder: &Path) -> Result<Option<Server>> {
    if !Path::new("/usr/sbin/gdnsd").exists() {
        return Ok(None);
    }
    let (port, own) = (free_port()?, folder.join("gdnsd"));
    fs::create_dir_all(own.join("zones"))?;
    fs::write(own.join("zones/example.org"), zone())?;
    let shown = own.display();
    let settings = format!(
        "options => {{ listen => 127.0.0.1:{port}, udp_threads => 1, tcp_threads => 1, run_dir => \"{shown}/run\", \
         state_dir => \"{shown}/state\" }}\n"
    );
    fs::write(own.join("config"), settings)?;
    start("/usr/sbin/gdnsd", &["-c", &shown.to_string(), "start"], port, &own.join("log")).map(Some)
}

fn zone() -> String {
    let records: String = (0..NAMES).map(|n| format!("n{n} A 192.0.2.{n}\n")).collect();
    format!("$TTL 3600\n@ SOA ns.x. root.x. 1 3600 900 1209600 60\n@ NS ns.x.\n{records}")
}

/// A port that is free for datagrams and for connections: these servers take both, and do not start where one is taken, be it by
/// the near end of a connection that just ended.
fn free_port() -> Result<u16> {
    loop {
        let datagrams = UdpSocket::bind("127.0.0.1:0")?;
        let at = datagrams.local_addr()?;
        match TcpListener::bind(at) {
            Ok(_) => return Ok(at.port()),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Starts one that serves the zone at this port, and waits until it does; what it says goes to a file.
fn start(program: &str, arguments: &[&str], port: u16, log: &Path) -> Result<Server> {
    let mut command = Command::new("taskset");
    command.args(["-c", "1", program]).args(arguments);
    let said = File::create(log)?;
    let child = command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).spawn();
    let child = child.map_err(|error| format!("{program}: {error}"))?;
    let mut server = Server { child, address: format!("127.0.0.1:{port}").parse()?, reports: None };
    let port = port.to_string();
    let dig = ["@127.0.0.1", "-p", &port, "+short", "+tries=1", "+time=1", "n5.example.org"];
    let start = now();
    while Command::new("dig").args(dig).output()?.stdout != b"192.0.2.5\n" {
        let why = match server.child.try_wait()? {
            Some(status) => format!("has ended ({status})"),
            None if now() - start > Span(20_000_000_000) => "does not answer within 20 s".into(),
            None => continue,
        };
        return Err(format!("{program} {why}; the last that it said:\n{}", last_lines(log)?).into());
    }
    Ok(server)
}

fn last_lines(log: &Path) -> Result<String> {
    let text = fs::read(log)?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(8)..].join("\n"))
}
