//! What a switch is told that cannot be, refused before anything is changed.

use sojourn_part::{Backend, Probe, ServeError, headers};
use sojourn_stats::Span;

use super::config::{Accepted, SwitchConfig};
use super::kernel::rules::Mark;
use super::mode::Mode;
use sojourn_splice::Lifetimes;

/// Refuses a switch that cannot be.
pub(super) fn check(config: &SwitchConfig) -> Result<(), ServeError> {
    let wrong = |what: String| Err(ServeError::Config(what));
    let SwitchConfig { service, backends, .. } = config;
    if service.ip().is_unspecified() || service.ip().is_loopback() || service.port() == 0 {
        return wrong(format!(
            "service {service}: it is an address and a port that clients can reach, as in 10.0.1.100:80"
        ));
    }
    if backends.is_empty() {
        return wrong("a switch needs at least one backend".into());
    }
    check_overflow(config)?;
    let all: Vec<&Backend> = backends.iter().chain(config.others()).collect();
    if all.len() > Mark::MAX {
        return wrong(format!("{} backends: a switch has at most {}", all.len(), Mark::MAX));
    }
    for (index, backend) in all.iter().copied().enumerate() {
        let Backend { name, address, .. } = backend;
        headers::name_value(name)?;
        if all[..index].iter().any(|other| other.name == *name) {
            return wrong(format!("backend {name} is named twice; each needs a name of its own"));
        }
        if all[..index].iter().any(|other| other.address == *address) {
            return wrong(format!("backend {name} has the address of another one; a switch tells servers by address"));
        }
        if !address.is_ipv4() {
            return wrong(format!("backend {name}: {} is not IPv4, which is all that a switch forwards", address.ip()));
        }
        if address.port() != service.port() {
            let (own, port) = (address.port(), service.port());
            return wrong(format!(
                "backend {name}: port {own}; a switch leaves the port {port} of the service as it is"
            ));
        }
        if address.ip() == *service.ip() {
            return wrong(format!("backend {name} has the service's address; name the server's own"));
        }
    }
    if let Some(name) = config.drained.iter().find(|name| !backends.iter().any(|backend| backend.name == **name)) {
        return wrong(format!("drained server {name}: there is no such backend"));
    }
    if matches!(config.health.probe, Probe::Get(_)) {
        return wrong("a switch probes by connecting; it asks no path".into());
    }
    for (count, what) in
        [(config.health.fall, "failures that take a backend out"), (config.health.rise, "probes that bring one back")]
    {
        if count == 0 {
            return wrong(format!("0 {what}: at least 1 is needed"));
        }
    }
    let millisecond = Span(1_000_000);
    let Lifetimes { opening, open, closing } = config.lifetimes;
    if opening < millisecond || open < millisecond || closing < millisecond {
        return wrong("a connection is remembered for at least 1 ms".into());
    }
    match (config.mode, &config.key) {
        (mode, _) if mode.is_spliced() && config.keep => {
            return wrong(format!(
                "mode {mode}: connections end with the switch that splices them; leave out `--keep`"
            ));
        }
        (Mode::SpliceAsymmetric, None) => {
            return wrong(format!(
                "mode {}: name the file with the key that the servers' halves have too (`--key`)",
                config.mode
            ));
        }
        _ => {}
    }
    if config.connections == 0 {
        return wrong("0 connections: a switch remembers at least 1".into());
    }
    Ok(())
}

/// Refuses what could not be passed on, or never would be.
fn check_overflow(config: &SwitchConfig) -> Result<(), ServeError> {
    let wrong = |what: String| Err(ServeError::Config(what));
    let SwitchConfig { service, overflow, redirectors, accepts, mode, .. } = config;
    if let (Some(site), Some(redirector)) = (overflow.first(), redirectors.first()) {
        return wrong(format!(
            "site {} and redirector {}: connections overflow by tunnel or by redirection, not both",
            site.name, redirector.name
        ));
    }
    if let (Some(other), None) = (config.others().next(), config.limit) {
        let right = "overflow begins where servers are full: give them a limit (`--limit`)";
        return wrong(format!("site {}: {right}", other.name));
    }
    if let (None, Some(limit)) = (config.others().next(), config.overflow_limit) {
        let right = "name a site to pass them on to (`--overflow`), or a server that redirects (`--redirector`)";
        return wrong(format!("a limit of {} connections to other sites: {right}", limit.connections()));
    }
    if let (true, Some(site)) = (mode.is_spliced(), config.others().next()) {
        return wrong(format!("site {}: mode {mode} passes no connection on to other sites; the others do", site.name));
    }
    let is_one = matches!(mode, Mode::Rewrite | Mode::Nat | Mode::Splice | Mode::SpliceAsymmetric);
    if let (Some(accepted), true) = (accepts.first(), is_one) {
        let right = "modes mac and tunnel leave addresses as they are, and can";
        return wrong(format!("service {} of another site: mode {mode} has one service; {right}", accepted.service));
    }
    for (index, accepted) in accepts.iter().enumerate() {
        let Accepted { service: other, front } = accepted;
        if other == service.ip() {
            return wrong(format!("service {other} is this switch's own: name that of another site"));
        }
        if other == front {
            return wrong(format!("service {other}: {front} is its own address; name that of the front node there"));
        }
        if accepts[..index].iter().any(|before| before.service == *other) {
            return wrong(format!("service {other} of another site is named twice"));
        }
    }
    Ok(())
}
