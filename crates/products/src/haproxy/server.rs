//! `server`, `server-template` and `default-server` of a backend (manual, section 5.2; keywords and how many arguments each has:
//! `srv_kws` in HAProxy's `src/server.c`, `src/check.c`, `src/cfgparse-ssl.c` and `src/tcp_*.c`).

use std::sync::Arc;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::{PoolServer, Standing};

use super::amount::{number, time};

/// What checks and observed requests are for, behind the words that say how.
pub(super) const CHECKS: &str = "how it is found out which servers are down, and what is done then; a simulated gateway looks \
                                 at them each second";

/// Most servers of a configuration: as many as an experiment has.
pub(super) const SERVERS_MAX: usize = 100_000;

/// What a server's line says, or the `default-server` lines before it.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerSettings {
    weight: Option<u32>,
    at_most: Option<u32>,
    is_backup: bool,
    is_disabled: bool,
}

/// Words that have no argument and do not matter here.
const FLAGS: [&str; 39] = [
    "allow-0rtt",
    "check-pool-conn-name",
    "check-reuse-pool",
    "check-send-proxy",
    "check-ssl",
    "check-via-socks4",
    "force-sslv3",
    "force-tlsv10",
    "force-tlsv11",
    "force-tlsv12",
    "force-tlsv13",
    "no-agent-check",
    "no-check-send-proxy",
    "no-check-ssl",
    "no-renegotiate",
    "no-send-proxy",
    "no-send-proxy-v2",
    "no-send-proxy-v2-ssl",
    "no-send-proxy-v2-ssl-cn",
    "no-ssl",
    "no-ssl-reuse",
    "no-sslv3",
    "no-tfo",
    "no-tls-tickets",
    "no-tlsv10",
    "no-tlsv11",
    "no-tlsv12",
    "no-tlsv13",
    "no-verifyhost",
    "non-stick",
    "renegotiate",
    "send-proxy",
    "send-proxy-v2",
    "send-proxy-v2-ssl",
    "send-proxy-v2-ssl-cn",
    "ssl",
    "ssl-reuse",
    "stick",
    "tls-tickets",
];

/// Words with one argument, of how a server is found to be down and of what is done then.
const OF_CHECKS: [&str; 10] = [
    "agent-addr",
    "agent-inter",
    "agent-port",
    "agent-send",
    "error-limit",
    "init-state",
    "observe",
    "on-error",
    "on-marked-down",
    "on-marked-up",
];

/// Words that have one argument and do not matter here.
const WITH_ARGUMENT: [&str; 46] = [
    "addr",
    "alpn",
    "ca-file",
    "check-alpn",
    "check-proto",
    "check-sni",
    "ciphers",
    "ciphersuites",
    "client-sigalgs",
    "cookie",
    "crl-file",
    "crt",
    "curves",
    "guid",
    "hash-key",
    "id",
    "idle-ping",
    "init-addr",
    "log-bufsize",
    "log-proto",
    "max-reuse",
    "namespace",
    "npn",
    "pool-conn-name",
    "pool-low-conn",
    "pool-max-conn",
    "pool-purge-delay",
    "port",
    "proto",
    "proxy-v2-options",
    "redir",
    "renegotiate",
    "resolve-net",
    "resolve-opts",
    "resolve-prefer",
    "resolvers",
    "shard",
    "sigalgs",
    "sni",
    "socks4",
    "ssl-max-ver",
    "ssl-min-ver",
    "tcp-md5sig",
    "tcp-ut",
    "verify",
    "verifyhost",
];

impl ServerSettings {
    /// Takes the settings that `words` say, after the name and the address; gives those of checks, in their words.
    pub(super) fn read(&mut self, words: &[String], at: &FileLine, notes: &mut Notes) -> Result<String, ImportError> {
        let mut checks: Vec<String> = Vec::new();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            let mut argument = || {
                let given = rest.next().filter(|argument| !argument.is_empty());
                given.ok_or_else(|| at.refused(format!("`{word}` of a server needs an argument")))
            };
            let refused = |why: String| at.refused(format!("{word}: {why}"));
            match word {
                "weight" => self.weight = Some(number(argument()?, "weight", (0, 256)).map_err(refused)?),
                "maxconn" => {
                    let most = number(argument()?, "number of connections", (0, u32::MAX)).map_err(refused)?;
                    self.at_most = Some(most).filter(|most| *most > 0);
                }
                "backup" => self.is_backup = true,
                "no-backup" => self.is_backup = false,
                "disabled" => self.is_disabled = true,
                "enabled" => self.is_disabled = false,
                "no-check" | "tfo" => notes.pass_over(at, word),
                "check" | "agent-check" => checks.push(word.into()),
                "inter" | "fastinter" | "downinter" => {
                    let span = argument()?;
                    time(span).map_err(refused)?;
                    checks.push(format!("{word} {span}"));
                }
                "rise" | "fall" => {
                    let count = number(argument()?, "number of checks", (1, i32::MAX as u32)).map_err(refused)?;
                    checks.push(format!("{word} {count}"));
                }
                key if OF_CHECKS.contains(&key) => checks.push(format!("{key} {}", argument()?)),
                "minconn" => {
                    let least = argument()?;
                    notes.add(
                        at,
                        Reading::LeftOut,
                        format!("minconn {least}: a limit that grows with the load; only `maxconn` is used"),
                    );
                }
                "maxqueue" => {
                    let most = argument()?;
                    notes.add(
                        at,
                        Reading::LeftOut,
                        format!("maxqueue {most}: at most so many wait for this server; here as many as come"),
                    );
                }
                "slowstart" => {
                    let span = argument()?;
                    time(span).map_err(refused)?;
                    notes.add(
                        at,
                        Reading::LeftOut,
                        format!("slowstart {span}: a server that comes back gets its share bit by bit; here at once"),
                    );
                }
                "track" => {
                    let other = argument()?;
                    notes.add(
                        at,
                        Reading::LeftOut,
                        format!("track {other}: it goes down together with another server"),
                    );
                }
                "ws" | "set-proxy-v2-tlv-fmt" => {
                    argument()?;
                    notes.pass_over(at, word);
                }
                "source" => {
                    argument()?;
                    notes.pass_over(at, word);
                    // What follows of it has arguments of its own.
                    while let Some(next) = rest.clone().next().filter(|next| matches!(*next, "usesrc" | "interface")) {
                        rest.next();
                        rest.next().ok_or_else(|| at.refused(format!("`{next}` of a server needs an argument")))?;
                    }
                }
                flag if FLAGS.contains(&flag) => notes.pass_over(at, word),
                key if WITH_ARGUMENT.contains(&key) || key.starts_with("set-proxy-v2-tlv-fmt(") => {
                    argument()?;
                    notes.pass_over(at, word);
                }
                other => {
                    let obeyed = ["weight", "maxconn", "backup", "check", "agent-check", "inter", "fall", "rise"];
                    let known = FLAGS.into_iter().chain(WITH_ARGUMENT).chain(OF_CHECKS).chain(obeyed);
                    notes.not_known(at, other, known);
                }
            }
        }
        Ok(checks.join(" "))
    }

    fn server(&self, name: String, address: String, at: &FileLine) -> PoolServer {
        let weight = self.weight.unwrap_or(1);
        let standing = match self {
            _ if self.is_disabled || weight == 0 => Standing::Out,
            _ if self.is_backup => Standing::Backup,
            _ => Standing::Serves,
        };
        PoolServer { name, address, weight, at_most: self.at_most, standing, at: at.clone() }
    }
}

/// The servers of a `server` or `server-template` line, with `default_settings` of the lines before, and how they are checked by
/// this line.
pub(super) fn servers(
    words: &[String],
    default_settings: &ServerSettings,
    at: &FileLine,
    notes: &mut Notes,
) -> Result<(Vec<PoolServer>, String), ImportError> {
    let word = words[0].as_str();
    let is_template = word == "server-template";
    let needed = if is_template { 4 } else { 3 };
    if words.len() < needed {
        let right = if is_template { "server-template web 1-3 app.example:80" } else { "server web1 10.0.0.1:80" };
        return Err(at.refused(format!("`{word}` needs a name and an address, e.g. `{right}`")));
    }
    let name = &words[1];
    if let Some(wrong) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '_' | '-'))) {
        let name = cut(name);
        return Err(at.refused(format!("`{wrong}` is not permitted in the name of a server, `{name}`")));
    }
    let mut settings = default_settings.clone();
    let checks = settings.read(&words[needed..], at, notes)?;
    let address = &words[needed - 1];
    if !is_template && let Some(host) = is_name(address) {
        let text = format!("{}: HAProxy asks the DNS, and takes one of its addresses, if it has several", cut(host));
        notes.add(at, Reading::Used, text);
    }
    if !is_template {
        return Ok((vec![settings.server(name.clone(), address.clone(), at)], checks));
    }
    let range = &words[2];
    let right = || at.refused(format!("`{}` is no range of numbers, such as 3 or 1-3", cut(range)));
    let read = |digits: &str| digits.parse::<usize>().map_err(|_| right());
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (read(first)?, read(last)?),
        None => (1, read(range)?),
    };
    if first > last {
        return Err(right());
    }
    if last - first >= SERVERS_MAX {
        return Err(at.refused(format!("a template of more than {SERVERS_MAX} servers")));
    }
    notes.add(at, Reading::Used, format!("servers {name}{first} to {name}{last}, taken as if all of them were found"));
    let prefix: Arc<str> = name.as_str().into();
    let server = |number: usize| settings.server(format!("{prefix}{number}"), address.clone(), at);
    Ok(((first..=last).map(server).collect(), checks))
}

/// The host of an address that is a name of the DNS. Other addresses begin with what they are (`unix@`, `fd@`), or with a slash.
fn is_name(address: &str) -> Option<&str> {
    let address = address.strip_prefix("ipv4@").or_else(|| address.strip_prefix("ipv6@")).unwrap_or(address);
    if address.contains('@') || address.starts_with(['/', '[', '*', ':']) {
        return None;
    }
    let is_number = |host: &str| host.parse::<std::net::IpAddr>().is_ok();
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    (!is_number(address) && !is_number(host)).then_some(host)
}
