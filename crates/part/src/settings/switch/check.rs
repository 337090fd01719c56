//! What a switch is told that cannot be.

use std::net::SocketAddrV4;

use sojourn_stats::Span;

use super::{Accepted, Attempts, Mode, SwitchServer, SwitchServerSettings, SwitchSettings};
use crate::settings::{Wrong, check_reporting};
use crate::{Probe, headers};

/// Most servers, other sites and redirectors of a switch: their marks take twelve bits.
pub const SERVERS_MAX: usize = 4_000;

/// Refuses a front node that cannot be; all have names.
pub(super) fn front(settings: &SwitchSettings) -> Result<(), Wrong> {
    let SwitchSettings { backends, decider, .. } = settings;
    let wrong = |key: &str, what: String| Err(Wrong::new(key, what));
    service(settings.service)?;
    if backends.is_empty() {
        return wrong("backend", "a switch needs at least one; write e.g. `a=10.0.1.11`".into());
    }
    overflow(settings)?;
    servers(settings)?;
    if let Some(index) = settings.drain.iter().position(|name| !backends.iter().any(|server| server.name == *name)) {
        let what = format!("drained server {}: there is no such backend", settings.drain[index]);
        return wrong(&format!("drain[{index}]"), what);
    }
    let Attempts { probe, every, timeout } = &settings.health;
    if matches!(probe, Probe::Get(_)) {
        return wrong("health.probe", "a switch probes by connecting; it asks no path: `connect` or `off`".into());
    }
    for (key, time) in [("health.every", every), ("health.timeout", timeout)] {
        if *time == Span::ZERO {
            return wrong(key, "attempts take some time and are some time apart, e.g. `500 ms`".into());
        }
    }
    for (key, count) in [("decider.fall", decider.fall), ("decider.rise", decider.rise)] {
        if count == 0 {
            return wrong(key, "it is a whole number of at least 1".into());
        }
    }
    if !decider.guards().are_none() {
        let what = "a switch sees no replies: leave out ejection, queue, breakers, concurrency and slow_start";
        return wrong("decider", what.into());
    }
    if decider.poll.is_some() {
        return wrong("decider.poll", "a switch counts connections, and asks servers for nothing".into());
    }
    for (key, time) in [("idle", settings.idle), ("opening", settings.opening), ("closing", settings.closing)] {
        if time < Span(1_000_000) {
            return wrong(key, "a connection is remembered for at least 1 ms".into());
        }
    }
    let mode = settings.mode;
    if mode.is_spliced() && settings.keep {
        return wrong(
            "keep",
            format!("mode {mode}: connections end with the switch that splices them; leave out `--keep`"),
        );
    }
    if !mode.is_spliced() && settings.classes != SwitchSettings::default().classes {
        return wrong("classes", format!("mode {mode} reads no request; the modes that splice do"));
    }
    if settings.classes.len() > usize::from(u8::MAX) {
        return wrong("classes", format!("{}; at most {} are possible", settings.classes.len(), u8::MAX));
    }
    if settings.connections == 0 {
        return wrong("connections", "0 connections: a switch remembers at least 1".into());
    }
    settings.record_limits.check(settings.record.is_some()).map_err(|wrong| wrong.inside("record_limits"))?;
    if settings.explain && settings.record.is_none() {
        return wrong("explain", "it is said in the record; name its file (`--record`)".into());
    }
    if mode == Mode::SpliceAsymmetric && settings.key_file.is_none() {
        return wrong(
            "mode",
            format!("mode {mode}: name the file with the key that the servers' halves have too (`--key`)"),
        );
    }
    check_reporting(settings.key_file.as_deref(), &settings.reports, &settings.upstream, mode == Mode::SpliceAsymmetric)
}

/// Refuses a server's half that cannot be.
pub(super) fn server(settings: &SwitchServerSettings) -> Result<(), Wrong> {
    let SwitchServerSettings { mode, front, key_file, also, .. } = settings;
    service(settings.service)?;
    if *mode != Mode::Mac && front.is_none() {
        return Err(Wrong::new("mode", format!("mode {mode}: name the switch's own address (`--front`)")));
    }
    if *mode == Mode::SpliceAsymmetric && key_file.is_none() {
        let right = format!("mode {mode}: name the file with the key that the switch has too (`--key`)");
        return Err(Wrong::new("mode", right));
    }
    if let (true, Some(also)) = (mode.has_one_service(), also.first()) {
        let right = "modes mac and tunnel leave addresses as they are, and can";
        return Err(Wrong::new("also[0]", format!("service {also} besides: mode {mode} has one service; {right}")));
    }
    Ok(())
}

fn service(service: SocketAddrV4) -> Result<(), Wrong> {
    if service.ip().is_unspecified() || service.ip().is_loopback() || service.port() == 0 {
        let what =
            format!("service {service}: it is an address and a port that clients can reach, as in 10.0.1.100:80");
        return Err(Wrong::new("service", what));
    }
    Ok(())
}

/// Each has a name and an address of its own.
fn servers(settings: &SwitchSettings) -> Result<(), Wrong> {
    let lists =
        [("backend", &settings.backends), ("overflow", &settings.overflow), ("redirector", &settings.redirector)];
    let all = lists.iter().flat_map(|(key, list)| list.iter().enumerate().map(move |(index, one)| (*key, index, one)));
    let (mut names, mut addresses) = (std::collections::HashSet::new(), std::collections::HashSet::new());
    for (number, (key, index, SwitchServer { name, address, weight })) in all.enumerate() {
        let wrong = |what: String| Err(Wrong::new(format!("{key}[{index}]"), what));
        if number >= SERVERS_MAX {
            return wrong(format!("a switch has at most {SERVERS_MAX} backends"));
        }
        if let Err(error) = headers::name_value(name) {
            return wrong(error.to_string());
        }
        if !names.insert(name) {
            return wrong(format!("backend {name} is named twice; each needs a name of its own"));
        }
        if !addresses.insert(address) {
            return wrong(format!("backend {name} has the address of another one; a switch tells servers by address"));
        }
        if address == settings.service.ip() {
            return wrong(format!("backend {name} has the service's address; name the server's own"));
        }
        if key != "backend" && *weight != 1.0 {
            return wrong(format!("{name}: connections go where the fewest are, whatever the weight; leave it out"));
        }
    }
    Ok(())
}

/// Refuses what could not be passed on, or never would be.
fn overflow(settings: &SwitchSettings) -> Result<(), Wrong> {
    let SwitchSettings { service, overflow, redirector, accept, mode, decider, .. } = settings;
    let wrong = |key: &str, what: String| Err(Wrong::new(key, what));
    let key = if overflow.is_empty() { "redirector" } else { "overflow" };
    if let (Some(site), Some(redirector)) = (overflow.first(), redirector.first()) {
        let right = "connections overflow by tunnel or by redirection, not both";
        return wrong("redirector", format!("site {} and redirector {}: {right}", site.name, redirector.name));
    }
    if let (Some(other), None) = (settings.others().next(), decider.limit) {
        let right = "overflow begins where servers are full: give them a limit (`--limit`)";
        return wrong(key, format!("site {}: {right}", other.name));
    }
    if let (None, Some(limit)) = (settings.others().next(), settings.overflow_limit) {
        let right = "name a site to pass them on to (`--overflow`), or a server that redirects (`--redirector`)";
        return wrong(
            "overflow_limit",
            format!("a limit of {} connections to other sites: {right}", limit.connections()),
        );
    }
    if let (true, Some(site)) = (mode.is_spliced(), settings.others().next()) {
        return wrong(
            key,
            format!("site {}: mode {mode} passes no connection on to other sites; the others do", site.name),
        );
    }
    if let (Some(accepted), true) = (accept.first(), mode.has_one_service()) {
        let right = "modes mac and tunnel leave addresses as they are, and can";
        let service = accepted.service;
        return wrong("accept", format!("service {service} of another site: mode {mode} has one service; {right}"));
    }
    for (index, accepted) in accept.iter().enumerate() {
        let wrong = |what: String| Err(Wrong::new(format!("accept[{index}]"), what));
        let Accepted { service: other, front } = accepted;
        if other == service.ip() {
            return wrong(format!("service {other} is this switch's own: name that of another site"));
        }
        if other == front {
            return wrong(format!("service {other}: {front} is its own address; name that of the front node there"));
        }
        if accept[..index].iter().any(|before| before.service == *other) {
            return wrong(format!("service {other} of another site is named twice"));
        }
    }
    Ok(())
}
