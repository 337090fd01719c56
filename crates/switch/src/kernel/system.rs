//! The programs of the system that configure a network: `ip`, `nft` and `iptables`, given text and read as JSON.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use sojourn_part::ServeError;

/// Runs `ip -batch -`: every line, in order, until one fails.
pub(crate) fn ip(commands: &str) -> Result<(), ServeError> {
    if commands.is_empty() { Ok(()) } else { run("ip", "iproute2", &["-batch", "-"], commands).map(drop) }
}

/// What `ip -json` says to a question; nothing where it knows nothing.
pub(crate) fn ask_ip(question: &[&str]) -> Result<Vec<Value>, ServeError> {
    let said = run("ip", "iproute2", &[&["-json"], question].concat(), "")?;
    Ok(serde_json::from_str(said.trim()).unwrap_or_default())
}

/// Lets `nft` read a script: all of it takes effect at one instant, or none.
pub(crate) fn nft(script: &str) -> Result<(), ServeError> {
    run("nft", "nftables", &["-f", "-"], script).map(drop)
}

/// What `nft -json` says to a question; an error where what is asked for is not there.
pub(crate) fn ask_nft(question: &[&str]) -> Result<Vec<Value>, ServeError> {
    let said = run("nft", "nftables", &[&["--json"], question].concat(), "")?;
    let said: Value = serde_json::from_str(&said).unwrap_or_default();
    Ok(said["nftables"].as_array().cloned().unwrap_or_default())
}

/// What `iptables` says to a question.
pub(crate) fn ask_iptables(question: &[&str]) -> Result<String, ServeError> {
    run("iptables", "iptables", &[&["-w", "5"], question].concat(), "")
}

/// Runs `iptables`, waiting for others that do.
pub(crate) fn iptables(arguments: &[&str]) -> Result<(), ServeError> {
    ask_iptables(arguments).map(drop)
}

/// Whether there is such a setting below /proc/sys/net/ipv4.
pub(crate) fn has(setting: &str) -> bool {
    path(setting).exists()
}

/// A setting below /proc/sys/net/ipv4.
pub(crate) fn get(setting: &str) -> Result<String, ServeError> {
    let path = path(setting);
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(ServeError::system(format!("cannot read {}", path.display())))?;
    Ok(text.trim().to_owned())
}

/// Writes it, where it is another one.
pub(crate) fn set(setting: &str, value: &str) -> Result<(), ServeError> {
    if get(setting)? == value {
        return Ok(());
    }
    let path = path(setting);
    std::fs::write(&path, value).map_err(ServeError::system(format!("cannot set {} to {value}", path.display())))
}

fn path(setting: &str) -> PathBuf {
    Path::new("/proc/sys/net/ipv4").join(setting)
}

fn run(program: &str, package: &str, arguments: &[&str], input: &str) -> Result<String, ServeError> {
    let failed = || ServeError::system(format!("cannot run `{program}` (package {package})"));
    // Where ordinary users do not look for programs.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut child = Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed())?;
    // One that fails early reads no more; what it says is the reason.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().map_err(failed())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it said nothing").to_owned();
    let remedy = if said.contains("Operation not permitted") {
        "; a switch needs the rights of root in its network, as `sojourn bed exec --root` gives them"
    } else {
        ""
    };
    Err(failed()(io::Error::other(format!("{first}{remedy}"))))
}
