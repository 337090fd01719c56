//! `haproxy.cfg`: the `defaults` that count for a backend, and the backend, line by line.

use sojourn_part::program::Spot;

use super::{Replaced, left_out};
use crate::frame::haproxy::logged;
use crate::note::ImportError;
use crate::pool::Pool;

/// Beginnings of lines that say who is checked, what is encrypted, logged, ended or answered by HAProxy itself, who stays at
/// a server, or what listens: none of it is in a run.
const LEFT_OUT: [&str; 55] = [
    "bind",
    "capture",
    "cookie",
    "default-server",
    "default_backend",
    "description",
    "disabled",
    "dispatch",
    "email-alert",
    "enabled",
    "error-log-format",
    "errorfile",
    "errorfiles",
    "errorloc",
    "external-check",
    "filter",
    "guid",
    "http-check",
    "http-request auth",
    "http-request cache-use",
    "http-request deny",
    "http-request redirect",
    "http-request reject",
    "http-request return",
    "http-request silent-drop",
    "http-request tarpit",
    "http-request track-sc",
    "http-request use-service",
    "id",
    "load-server-state-from-file",
    "log",
    "monitor",
    "no log",
    "no option",
    "option dontlog",
    "option external-check",
    "option httpchk",
    "option httplog",
    "option log",
    "option logasap",
    "option tcp-check",
    "option tcplog",
    "option transparent",
    "persist",
    "redirect",
    "server",
    "source",
    "stats",
    "stick",
    "tcp-check",
    "tcp-request",
    "tcp-response",
    "unique-id",
    "use-server",
    "use_backend",
];

/// What is taken of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    /// Variables that the file sets for itself.
    variables: String,
    /// The lines of the `defaults`.
    defaults: String,
    name: String,
    /// The lines of the backend.
    lines: String,
}

/// A section of the file: the words that begin it, and its lines.
struct Section<'a> {
    head: Vec<&'a str>,
    lines: Vec<&'a str>,
}

impl Taken {
    pub(super) fn of(text: &str, pool: &Pool) -> Result<Taken, ImportError> {
        let (before, own) = sections(text, pool.at.line);
        let Some(own) = own else { return Err(pool.at.refused("no section begins here")) };
        let from = own.head.iter().position(|word| *word == "from").and_then(|at| own.head.get(at + 1));
        let is_it = |section: &&Section<'_>| {
            section.head[0] == "defaults" && from.is_none_or(|from| section.head.get(1) == Some(from))
        };
        let defaults = before.iter().rev().find(is_it).map_or(&[][..], |section| &section.lines);
        let modes = own.lines.iter().rev().chain(defaults.iter().rev());
        let mode = modes.filter_map(|line| line.trim().strip_prefix("mode")).next().map_or("tcp", str::trim);
        if !mode.starts_with("http") {
            let name = crate::note::cut(&pool.name);
            return Err(pool.at.refused(format!("`{name}` passes on {mode}, and a run asks by HTTP: `mode http`")));
        }
        let is_variable = |line: &&&str| ["setenv ", "presetenv "].iter().any(|word| line.trim().starts_with(word));
        let global = before.iter().filter(|section| section.head[0] == "global").flat_map(|section| &section.lines);
        Ok(Taken {
            variables: global.filter(is_variable).map(|line| format!("  {}\n", line.trim())).collect(),
            defaults: kept(defaults),
            name: pool.name.clone(),
            lines: kept(&own.lines),
        })
    }

    pub(super) fn text(&self, servers: &[Replaced<'_>], spot: &Spot<'_>) -> String {
        let Taken { variables, defaults, name, lines } = self;
        let line = |Replaced { behind, at_most }: &Replaced<'_>| {
            let most = at_most.map_or(String::new(), |most| format!(" maxconn {most}"));
            format!("  server {} {} weight {}{most}\n", behind.name, behind.address, behind.weight)
        };
        let servers: String = servers.iter().map(line).collect();
        format!(
            "global\n  nbthread 1\n  log stdout format raw local0\n{variables}defaults\n  mode http\n{defaults}\
             frontend clients\n{}  bind {}\n  default_backend {name}\nbackend {name}\n{lines}  http-response set-header \
             x-sojourn-backend %s\n{servers}",
            logged(),
            spot.address
        )
    }
}

/// The sections before the line `at`, and the one that begins there.
fn sections(text: &str, at: usize) -> (Vec<Section<'_>>, Option<Section<'_>>) {
    const BEGIN: [&str; 5] = ["global", "defaults", "frontend", "backend", "listen"];
    // Those of other kinds stand at the beginning of a line, by habit only.
    const OTHERS: [&str; 9] =
        ["userlist", "peers", "resolvers", "mailers", "cache", "program", "ring", "log-forward", "http-errors"];
    let (mut before, mut own): (Vec<Section<'_>>, Option<Section<'_>>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_begin = words
            .first()
            .is_some_and(|first| BEGIN.contains(first) || (OTHERS.contains(first) && !line.starts_with([' ', '\t'])));
        match (is_begin, number + 1 == at, &mut own) {
            (true, false, Some(_)) => break,
            (true, true, _) => own = Some(Section { head: words, lines: Vec::new() }),
            (true, false, None) => before.push(Section { head: words, lines: Vec::new() }),
            (false, _, Some(own)) => own.lines.push(line),
            (false, _, None) => before.last_mut().into_iter().for_each(|section| section.lines.push(line)),
        }
    }
    (before, own)
}

/// The lines that a run has; the others as comments.
fn kept(lines: &[&str]) -> String {
    let one = |line: &&str| {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.as_str() {
            "" => String::new(),
            // It is HTTP, and that is written already.
            words if is_begin(words, "mode") => String::new(),
            words if words.starts_with('#') => format!("  {words}\n"),
            words if LEFT_OUT.iter().any(|start| is_begin(words, start)) => left_out(line),
            _ => format!("  {}\n", line.trim()),
        }
    };
    lines.iter().map(one).collect()
}

/// Whether a line begins with these words, or with words that begin so and go on with `-`, `_` or a number, as `server-template`.
fn is_begin(line: &str, start: &str) -> bool {
    let goes_on = |c: char| c == ' ' || c == '-' || c == '_' || c.is_ascii_digit();
    line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(goes_on))
}
