//! `frontend`, `listen`, `backend` and `defaults`: their directives (manual, section 4.2; `src/cfgparse-listen.c` of HAProxy).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sojourn_stats::Span;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::{PoolServer, Rule};

use super::amount::{number, time};
use super::arguments;
use super::balance;
use super::server::{CHECKS, ServerSettings, servers};

/// What a section is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyKind {
    /// It takes requests.
    Frontend,
    /// It has servers.
    Backend,
    /// Both.
    Listen,
}

impl ProxyKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            ProxyKind::Frontend => "frontend",
            ProxyKind::Backend => "backend",
            ProxyKind::Listen => "listen",
        }
    }

    pub(super) fn takes_requests(self) -> bool {
        self != ProxyKind::Backend
    }

    pub(super) fn has_servers(self) -> bool {
        self != ProxyKind::Frontend
    }
}

/// What a section gets from `defaults`, and may say anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) rule: Option<Rule>,
    /// Whether hashes are consistent, and mixed.
    pub(super) hash_type: (bool, bool),
    pub(super) server_timeout: Option<(Span, FileLine)>,
    pub(super) servers: ServerSettings,
    pub(super) is_disabled: bool,
    /// The names of its ACLs.
    acls: Arc<BTreeSet<String>>,
}

/// A section that takes requests or has servers.
pub(super) struct Proxy {
    pub(super) kind: ProxyKind,
    pub(super) name: String,
    pub(super) at: FileLine,
    pub(super) settings: Settings,
    pub(super) servers: Vec<PoolServer>,
    /// How servers are checked, by the words of their lines: where that is first said, and of how many.
    checks: BTreeMap<String, (FileLine, usize)>,
    /// The backends that it sends requests to: where, and in a sentence.
    pub(super) uses: Vec<(String, FileLine, String)>,
    pub(super) notes: Notes,
    /// The notes of its defaults.
    pub(super) inherited: Option<Arc<Notes>>,
}

/// Directives that concern neither who serves a request nor how long it waits.
const PASSED_OVER: [&str; 49] = [
    "backlog",
    "bind",
    "bind-process",
    "capture",
    "clitcpka-cnt",
    "clitcpka-idle",
    "clitcpka-intvl",
    "compression",
    "declare",
    "description",
    "dynamic-cookie-key",
    "email-alert",
    "enabled",
    "error-log-format",
    "errorfile",
    "errorfiles",
    "errorloc",
    "errorloc302",
    "errorloc303",
    "filter",
    "filter-sequence",
    "grace",
    "guid",
    "http-after-response",
    "http-error",
    "http-response",
    "http-reuse",
    "http-send-name-header",
    "id",
    "ignore-persist",
    "load-server-state-from-file",
    "log",
    "log-format",
    "log-format-sd",
    "log-steps",
    "log-tag",
    "max-keep-alive-queue",
    "max-session-srv-conns",
    "monitor",
    "monitor-net",
    "monitor-uri",
    "server-state-file-name",
    "source",
    "srvtcpka-cnt",
    "srvtcpka-idle",
    "srvtcpka-intvl",
    "stats",
    "unique-id-format",
    "unique-id-header",
];

/// The other directives that are looked at, and the beginnings of sections, which a misspelt one is not.
const KNOWN: [&str; 38] = [
    "acl",
    "appsession",
    "backend",
    "balance",
    "cookie",
    "default-server",
    "default_backend",
    "defaults",
    "disabled",
    "dispatch",
    "external-check",
    "force-persist",
    "frontend",
    "fullconn",
    "global",
    "hash-balance-factor",
    "hash-type",
    "http-check",
    "http-request",
    "listen",
    "maxconn",
    "mode",
    "option",
    "persist",
    "rate-limit",
    "redirect",
    "retries",
    "retry-on",
    "server",
    "server-template",
    "stick",
    "stick-table",
    "tcp-request",
    "tcp-response",
    "timeout",
    "transparent",
    "use-server",
    "use_backend",
];

/// ACLs that are always there (manual, section 7.4).
const ACLS: [&str; 22] = [
    "FALSE",
    "HTTP",
    "HTTP_1.0",
    "HTTP_1.1",
    "HTTP_2.0",
    "HTTP_CONTENT",
    "HTTP_URL_ABS",
    "HTTP_URL_SLASH",
    "HTTP_URL_STAR",
    "LOCALHOST",
    "METH_CONNECT",
    "METH_DELETE",
    "METH_GET",
    "METH_HEAD",
    "METH_OPTIONS",
    "METH_POST",
    "METH_PUT",
    "METH_TRACE",
    "RDP_COOKIE",
    "REQ_CONTENT",
    "TRUE",
    "WAIT_END",
];

/// What a rule of `http-request` or `tcp-request` may do that ends a request, or sends it elsewhere.
const ENDING: [&str; 12] = [
    "auth",
    "cache-use",
    "deny",
    "early-hint",
    "pause",
    "redirect",
    "reject",
    "return",
    "set-dst",
    "silent-drop",
    "tarpit",
    "wait-for-body",
];

impl Settings {
    /// Obeys a line that `defaults` may have too.
    pub(super) fn line(&mut self, words: &[String], at: &FileLine, notes: &mut Notes) -> Result<(), ImportError> {
        let (is_negated, words) = match words[0].as_str() {
            "no" | "default" if words.len() > 1 => (true, &words[1..]),
            _ => (false, words),
        };
        arguments::of_proxy(words, at)?;
        let (word, rest) = (words[0].as_str(), &words[1..]);
        let argument = rest.first().map_or("", String::as_str);
        let refused = |why: String| at.refused(why);
        let mut left_out = |text: String| notes.add(at, Reading::LeftOut, text);
        match word {
            "acl" => {
                Arc::make_mut(&mut self.acls).insert(argument.into());
                notes.pass_over(at, word);
            }
            "balance" => {
                let rule = balance::rule(rest).map_err(refused)?;
                if rest.len() > 1 && rule.key.is_some() && rule.name == "uri" {
                    left_out(format!("{}: of the path only a part is hashed; here all of it", words.join(" ")));
                }
                self.rule = Some(Rule { said: Some(at.clone()), ..rule });
            }
            "hash-type" => self.hash_type = balance::hash_type(rest).map_err(refused)?,
            "timeout" => self.timeout(rest, at, notes)?,
            "default-server" => {
                let checks = self.servers.read(rest, at, notes)?;
                if !checks.is_empty() {
                    notes.add(at, Reading::LeftOut, format!("default-server {checks}: {CHECKS}"));
                }
            }
            "http-check" | "external-check" => left_out(format!("{}: {CHECKS}", words.join(" "))),
            _ if word.starts_with("tcp-check") => left_out(format!("{}: {CHECKS}", words.join(" "))),
            "disabled" => self.is_disabled = true,
            "enabled" => self.is_disabled = false,
            "retries" => {
                number(argument, "number of retries", (0, i32::MAX as u32)).map_err(refused)?;
                left_out(format!(
                    "retries {argument}: where a server refuses, a simulated gateway asks another one at once"
                ));
            }
            "retry-on" => left_out(format!("{}: requests are not tried again after these errors", words.join(" "))),
            "option" if !is_negated => option(rest, at, notes),
            "option" => notes.pass_over(at, &format!("no option {}", cut(argument))),
            "mode" => match argument {
                "http" => notes.pass_over(at, "mode http"),
                "tcp" => left_out("mode tcp: a server is chosen for each connection; here for each request".into()),
                other => left_out(format!("mode {}: what comes is no requests; here it is", cut(other))),
            },
            "maxconn" => left_out(format!("maxconn {argument}: more connections wait outside; here all come in")),
            "fullconn" => {
                left_out(format!("fullconn {argument}: limits of servers that grow with the load are not here"))
            }
            "rate-limit" => left_out(format!("{}: here all that come are taken", words.join(" "))),
            "hash-balance-factor" => left_out(format!("{}: a server above its share is passed over", words.join(" "))),
            "cookie" | "appsession" | "persist" | "force-persist" | "stick" => left_out(format!(
                "{}: requests that name a server go there; here a server is chosen for each",
                words.join(" ")
            )),
            "http-request" | "tcp-request" | "tcp-response" | "redirect" => {
                let acts = word == "redirect" || rest.iter().take(2).any(|word| ENDING.contains(&word.as_str()));
                match acts {
                    true => {
                        left_out(format!("\"{}\": what it ends or holds up comes to the servers here", words.join(" ")))
                    }
                    false => notes.pass_over(at, word),
                }
            }
            "dispatch" | "transparent" => {
                left_out(format!("{word}: requests go to an address that is no server of a list"))
            }
            _ if PASSED_OVER.contains(&word) => notes.pass_over(at, word),
            _ => notes.not_known(at, word, KNOWN.into_iter().chain(PASSED_OVER)),
        }
        Ok(())
    }

    /// Notes ACLs of a condition that were not declared: HAProxy refuses them, and what goes where is not known then.
    fn condition(&self, words: &[String], at: &FileLine, notes: &mut Notes) {
        let Some(place) = words.iter().position(|word| word == "if" || word == "unless") else { return };
        let mut is_inside = false;
        for word in &words[place + 1..] {
            let name = word.trim_start_matches('!');
            match name {
                "{" => is_inside = true,
                "}" => is_inside = false,
                "" | "or" | "||" | "and" | "&&" => {}
                name if is_inside || ACLS.contains(&name) || self.acls.contains(name) => {}
                name => notes.not_known(at, name, self.acls.iter().map(String::as_str)),
            }
        }
    }

    fn timeout(&mut self, rest: &[String], at: &FileLine, notes: &mut Notes) -> Result<(), ImportError> {
        let known = [
            "client",
            "server",
            "connect",
            "check",
            "queue",
            "http-keep-alive",
            "http-request",
            "tunnel",
            "tarpit",
            "client-fin",
            "server-fin",
            "client-hs",
        ];
        let what = rest.first().map_or("", String::as_str);
        if !known.contains(&what) {
            return Err(at.refused(sojourn_stats::unknown("timeout", &cut(what), known)));
        }
        let text = rest.get(1).map_or("", String::as_str);
        let span = time(text).map_err(|why| at.refused(format!("timeout {what}: {why}")))?;
        match what {
            "server" => self.server_timeout = (span > Span::ZERO).then(|| (span, at.clone())),
            "queue" => {
                let text = format!("timeout queue {text}: who waits longer for a server gets a 503; here it waits on");
                notes.add(at, Reading::LeftOut, text);
            }
            "check" => notes.add(at, Reading::LeftOut, format!("timeout check {text}: {CHECKS}")),
            _ => notes.pass_over(at, &format!("timeout {what}")),
        }
        Ok(())
    }
}

fn option(rest: &[String], at: &FileLine, notes: &mut Notes) {
    let name = rest.first().map_or("", String::as_str);
    let left_out = match name {
        "redispatch" => "a request whose server refuses is sent to another one; so does a simulated gateway, at once",
        "httpchk" | "external-check" | "ldap-check" | "mysql-check" | "pgsql-check" | "redis-check" | "smtpchk"
        | "spop-check" | "ssl-hello-chk" | "tcp-check" => CHECKS,
        "persist" => "a client is sent to its server even when that is down; here to another one",
        "prefer-last-server" => "a connection asks the server that it asked last; here one is chosen for each request",
        "allbackups" => "when all others are down, all backups serve; here they have no part",
        "transparent" | "http_proxy" => "requests go where the client meant; here to the servers",
        _ => return notes.pass_over(at, &format!("option {}", cut(name))),
    };
    notes.add(at, Reading::LeftOut, format!("option {name}: {left_out}"));
}

impl Proxy {
    pub(super) fn new(
        kind: ProxyKind,
        name: String,
        at: FileLine,
        settings: Settings,
        inherited: Option<Arc<Notes>>,
    ) -> Proxy {
        let (servers, checks, uses, notes) = (Vec::new(), BTreeMap::new(), Vec::new(), Notes::default());
        Proxy { kind, name, at, settings, servers, checks, uses, notes, inherited }
    }

    /// Notes how its servers are checked: once for all that are so alike, of which there may be very many.
    pub(super) fn note_checks(&mut self) {
        for (how, (at, count)) in std::mem::take(&mut self.checks) {
            let of = if count > 1 { format!(" ({count} servers)") } else { String::new() };
            self.notes.add(&at, Reading::LeftOut, format!("{how}{of}: {CHECKS}"));
        }
    }

    /// Obeys a line of it.
    pub(super) fn line(&mut self, words: &[String], at: &FileLine) -> Result<(), ImportError> {
        let word = words[0].as_str();
        arguments::of_proxy(words, at)?;
        match word {
            "server" | "server-template" if self.kind.has_servers() => {
                let (servers, checks) = servers(words, &self.settings.servers, at, &mut self.notes)?;
                if !checks.is_empty() {
                    self.checks.entry(checks).or_insert_with(|| (at.clone(), 0)).1 += servers.len();
                }
                self.servers.extend(servers);
            }
            "server" | "server-template" => {
                self.notes.add(at, Reading::LeftOut, "a frontend has no servers: HAProxy passes this over")
            }
            "default_backend" | "use_backend" if self.kind.takes_requests() => {
                let name = words.get(1).ok_or_else(|| at.refused(format!("`{word}` needs the name of a backend")))?;
                self.settings.condition(words, at, &mut self.notes);
                let of = format!("{} `{}`", self.kind.name(), cut(&self.name));
                let text = match word {
                    "default_backend" => {
                        format!(
                            "{of} sends here what no `use_backend` of it sends elsewhere; the rate is that of this backend"
                        )
                    }
                    _ => format!("{of} sends here a part of its requests: `{}`", words.join(" ")),
                };
                if name.contains('%') {
                    self.notes.add(
                        at,
                        Reading::LeftOut,
                        format!("{of} names a backend for each request: `{}`", words.join(" ")),
                    );
                } else {
                    self.uses.push((name.clone(), at.clone(), text));
                }
            }
            "use-server" => {
                self.settings.condition(words, at, &mut self.notes);
                let text =
                    format!("\"{}\": these requests have a server that is not chosen; here it is", words.join(" "));
                self.notes.add(at, Reading::LeftOut, text);
            }
            "stick-table" => self.notes.not_understood(at, word),
            _ => self.settings.line(words, at, &mut self.notes)?,
        }
        Ok(())
    }
}
