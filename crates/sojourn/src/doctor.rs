//! `sojourn doctor`: what this machine can and cannot do, and what that means.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use nix::sys::resource::{Resource, getrlimit};
use serde_json::json;
use sojourn_bed::namespace;

use crate::exit::{Exit, Failure};
use crate::table::{hanging, outln};

/// Say what this machine can and cannot do
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
}

/// One thing looked at.
struct Check {
    name: &'static str,
    ok: bool,
    /// What was found, and where it is not enough: what that prevents and what would mend it.
    finding: String,
}

pub(crate) fn doctor(arguments: &Arguments) -> Result<Exit, Failure> {
    let checks = [
        cores(),
        loopback(),
        files(),
        clock(),
        namespaces(),
        links(),
        program("ip"),
        program("nginx"),
        program("chromium"),
    ];
    if arguments.json {
        let rows: Vec<_> =
            checks.iter().map(|c| json!({ "check": c.name, "ok": c.ok, "finding": c.finding })).collect();
        outln(&serde_json::to_string_pretty(&rows).expect("checks are plain JSON"));
    } else {
        for (name, value) in sojourn_lab::host::facts() {
            outln(&hanging("       ", "         ", &format!("{name}: {value}")));
        }
        for check in &checks {
            let answer = if check.ok { "  ok   " } else { "  NO   " };
            outln(&hanging(answer, "         ", &format!("{}: {}", check.name, check.finding)));
        }
    }
    Ok(Exit::Ok)
}

fn cores() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let finding = match cores {
        1 => "1: a live run shares it with the load generator and will often be SUSPECT; 2 are needed".to_string(),
        n => n.to_string(),
    };
    Check { name: "cores", ok: cores >= 2, finding }
}

fn loopback() -> Check {
    match TcpListener::bind("127.0.0.1:0") {
        Ok(_) => Check { name: "loopback", ok: true, finding: "free ports can be opened on 127.0.0.1".into() },
        Err(e) => {
            Check { name: "loopback", ok: false, finding: format!("no port on 127.0.0.1 ({e}): live cannot run") }
        }
    }
}

fn files() -> Check {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    let finding = match limit < 4096 {
        true => format!("{limit}: too few for thousands of connections; raise it with `ulimit -n 65536`"),
        false => limit.to_string(),
    };
    Check { name: "open files", ok: limit >= 4096, finding }
}

fn clock() -> Check {
    let source =
        fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    let source = source.trim();
    let fast = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"].contains(&source);
    let finding = match fast {
        true => source.to_string(),
        false => format!("`{source}` may need a system call per reading, which costs the load generator time"),
    };
    Check { name: "clock source", ok: fast, finding }
}

fn namespaces() -> Check {
    let works =
        Command::new("unshare").args(["-Urn", "true"]).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    let finding = match works {
        true => "unprivileged user and network namespaces work".to_string(),
        false => format!("`unshare -Urn true` fails, and so will `sojourn bed`: {}", namespace::user_remedy()),
    };
    Check { name: "namespaces", ok: works, finding }
}

fn links() -> Check {
    match namespace::check_tun() {
        Ok(()) => Check { name: "links", ok: true, finding: "TUN devices can be opened".into() },
        Err(error) => Check { name: "links", ok: false, finding: format!("no `sojourn bed`: {error}") },
    }
}

fn program(name: &'static str) -> Check {
    let paths = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let found = paths.split(':').map(|folder| format!("{folder}/{name}")).find(|path| fs::metadata(path).is_ok());
    match found {
        Some(path) => Check { name, ok: true, finding: path },
        None if name == "ip" => {
            let finding = "not found; `sojourn bed` needs it (apt-get install iproute2)".into();
            Check { name, ok: false, finding }
        }
        None => Check { name, ok: false, finding: format!("not found; some tests need it (apt-get install {name})") },
    }
}
