//! The switch's part of routing: the service's address, and for MAC forwarding a way to each server by its mark.
//!
//! The address is on the loopback device, so that the kernel answers ARP for it on every device. A packet that is marked is
//! routed by a table of its server's before the kernel looks whether the packet is its own: so the rule for local
//! addresses moves behind those for marks. A server that is a front node as well keeps some connections: theirs have no way of
//! their own, and are local. What is changed here is put back at the end, and what a switch that was killed had found
//! is put back by the next one ([`before`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::Value;
use sojourn_part::ServeError;
use sojourn_part::settings::switch::{Mode, SwitchSettings};

use super::super::tunnel;
use super::rules::Mark;
use super::{before, system};

/// Where the rules for marks, and then the one for local addresses, stand in the order of rules.
const BY_MARK: u32 = 10;
const LOCAL: u32 = 20;

/// The device of what this host sends to itself.
const OWN: &str = "lo";

/// How long another host has to answer for the address, looked at so often.
const LOOKS: u32 = 25;
const LOOK: Duration = Duration::from_millis(20);

/// Whether the ways to the servers can be, and no other host has the service's address; changes nothing.
pub(crate) fn check(config: &SwitchSettings) -> Result<(), ServeError> {
    let service = *config.service.ip();
    let is_new = holder(service)?.is_none();
    let mut asked = BTreeSet::new();
    for place in config.addresses() {
        let device = device(config, place)?;
        if is_new
            && device != OWN
            && asked.insert(device.clone())
            && let Some(owner) = owner(service, &device)?
        {
            return Err(ServeError::Config(format!(
                "another host has the address {service} ({owner} on {device}): stop the switch there, and let servers keep \
                 silent about it (`sojourn switch server`)"
            )));
        }
    }
    Ok(())
}

/// Takes the address of the service, unless this host has it. A server that is a front node as well keeps silent about what
/// is on its loopback device, so there the address is on the one towards the other servers.
pub(crate) fn take_address(config: &SwitchSettings) -> Result<(), ServeError> {
    let service = config.service.ip();
    if holder(*service)?.is_some() {
        return Ok(());
    }
    let devices = config.backends.iter().map(|backend| device(config, backend.address));
    let devices = devices.collect::<Result<BTreeSet<_>, _>>()?;
    let other = devices.iter().find(|device| *device != OWN).filter(|_| devices.contains(OWN));
    system::ip(&format!("address add {service}/32 dev {}\n", other.map_or(OWN, String::as_str)))
}

/// Makes the ways to the servers.
pub(crate) fn install(
    config: &SwitchSettings,
    servers: &BTreeMap<Ipv4Addr, Mark>,
    far: &BTreeSet<Ipv4Addr>,
) -> Result<(), ServeError> {
    let is_routed = |server: &Ipv4Addr| config.mode == Mode::Mac || far.contains(server);
    let mut devices = BTreeSet::new();
    let mut commands = String::new();
    let known = system::ask_ip(&["rule"])?;
    for (&server, &mark) in servers {
        let device = match device(config, server) {
            Ok(device) => device,
            // One that is not on the list any more ends what it has, if it can.
            Err(_) if !config.addresses().any(|place| place == server) => continue,
            Err(error) => return Err(error),
        };
        if device == OWN {
            // What is kept goes its usual way.
            continue;
        }
        if is_routed(&server) {
            let (number, mark) = (mark, mark.0);
            let _ = match far.contains(&server) {
                true => {
                    writeln!(commands, "route replace default dev {} table {mark}", tunnel::device(number.number()))
                }
                false => writeln!(commands, "route replace default via {server} dev {device} onlink table {mark}"),
            };
            if !known.iter().any(|rule| mark_of(rule) == Some(mark)) {
                let _ = writeln!(commands, "rule add pref {BY_MARK} fwmark {mark} lookup {mark}");
            }
        }
        devices.insert(device);
    }
    if servers.keys().any(is_routed) && known.iter().any(is_first_local) {
        // Added before the other is taken away: no packet meets neither.
        let _ = write!(commands, "rule add pref {LOCAL} lookup local\nrule del pref 0 lookup local\n");
    }
    let is_used = |mark: &u32| servers.iter().any(|(server, used)| is_routed(server) && used.0 == *mark);
    for mark in known.iter().filter_map(mark_of).filter(|mark| !is_used(mark)) {
        commands += &forget(mark);
    }
    let used: Vec<String> = far.iter().map(|server| tunnel::device(servers[server].number())).collect();
    for device in tunnel::devices()?.iter().filter(|device| !used.contains(device)) {
        let _ = writeln!(commands, "link del {device}");
    }
    system::ip(&commands)?;
    let redirects = devices.iter().map(|device| (format!("conf/{device}/send_redirects"), "0"));
    let all = [("ip_forward".into(), "1"), ("conf/all/send_redirects".into(), "0")];
    before::change(before::FRONT, &all.into_iter().chain(redirects).collect::<Vec<_>>())
}

/// Takes away the ways to servers, whoever made them, and the service's address; whether there was something.
pub(crate) fn remove(address: Option<Ipv4Addr>) -> Result<bool, ServeError> {
    let mut commands = String::new();
    if let Some(address) = address
        && let Some(device) = holder(address)?
    {
        let _ = writeln!(commands, "address del {address}/32 dev {device}");
    }
    let known = system::ask_ip(&["rule"])?;
    if known.iter().any(|rule| rule["table"] == "local" && rule["priority"] == LOCAL) {
        let _ = write!(commands, "rule add pref 0 lookup local\nrule del pref {LOCAL} lookup local\n");
    }
    known.iter().filter_map(mark_of).for_each(|mark| commands += &forget(mark));
    for device in tunnel::devices()? {
        let _ = writeln!(commands, "link del {device}");
    }
    system::ip(&commands)?;
    Ok(!commands.is_empty())
}

/// The largest packet (bytes) that passes the devices towards all servers.
pub(crate) fn mtu(config: &SwitchSettings) -> Result<u16, ServeError> {
    let mut least = u16::MAX;
    for backend in &config.backends {
        let device = device(config, backend.address)?;
        let links = system::ask_ip(&["link", "show", "dev", &device])?;
        let mtu = links.first().and_then(|link| link["mtu"].as_u64()).and_then(|mtu| u16::try_from(mtu).ok());
        least = least.min(mtu.unwrap_or(u16::MAX));
    }
    Ok(least)
}

/// The device towards a server.
fn device(config: &SwitchSettings, server: Ipv4Addr) -> Result<String, ServeError> {
    let name = config
        .backends
        .iter()
        .chain(config.others())
        .find(|backend| backend.address == server)
        .map_or("", |backend| &backend.name);
    let kind = if config.is_site(server) { "site" } else { "backend" };
    let wrong = |what: String| ServeError::Config(format!("{kind} {name} ({server}): {what}"));
    let found = system::ask_ip(&["route", "get", &server.to_string()]);
    let found = found.map_err(|error| wrong(format!("no route leads there: {error}")))?;
    let route = found.first().ok_or_else(|| wrong("no route leads there".into()))?;
    let device = route["dev"].as_str().unwrap_or_default();
    if device == OWN && config.mode != Mode::Mac {
        return Err(wrong(
            "that is this host itself; only mode `mac` can keep connections, others stand before other hosts".into(),
        ));
    }
    match route["gateway"].as_str() {
        Some(router) if config.mode == Mode::Mac && !config.is_site(server) => Err(wrong(format!(
            "it is behind the router {router}; MAC forwarding reaches servers on the same Ethernet, mode `rewrite` others too"
        ))),
        _ => Ok(device.to_owned()),
    }
}

/// The device that has an address.
fn holder(address: Ipv4Addr) -> Result<Option<String>, ServeError> {
    let devices = system::ask_ip(&["address", "show", "to", &format!("{address}/32")])?;
    let has_it = |device: &&Value| device["addr_info"].as_array().is_some_and(|found| !found.is_empty());
    Ok(devices.iter().find(has_it).and_then(|device| device["ifname"].as_str()).map(ToOwned::to_owned))
}

/// The link-layer address of the host that answers for an address; none within half a second. The kernel asks
/// (`use`), as for a packet of its own (RFC 5227 has hosts ask so before they take an address). What it has heard before is
/// forgotten first, since that host may have the address no more; and afterwards, since it goes on asking for seconds.
fn owner(address: Ipv4Addr, device: &str) -> Result<Option<String>, ServeError> {
    let forget = format!("neigh flush to {address} dev {device}\n");
    system::ip(&format!("{forget}neigh replace {address} dev {device} use\n"))?;
    let owner = answering(address, device);
    system::ip(&forget)?;
    owner
}

/// Who has answered for an address that the kernel asks for.
fn answering(address: Ipv4Addr, device: &str) -> Result<Option<String>, ServeError> {
    for _ in 0..LOOKS {
        std::thread::park_timeout(LOOK);
        let neighbours = system::ask_ip(&["neigh", "show", "to", &address.to_string(), "dev", device])?;
        if let Some(owner) = neighbours.iter().find_map(|neighbour| neighbour["lladdr"].as_str()) {
            return Ok(Some(owner.to_owned()));
        }
    }
    Ok(None)
}

fn mark_of(rule: &Value) -> Option<u32> {
    let mark = u32::from_str_radix(rule["fwmark"].as_str()?.strip_prefix("0x")?, 16).ok()?;
    (rule["priority"] == BY_MARK && Mark::is_one(mark)).then_some(mark)
}

fn is_first_local(rule: &Value) -> bool {
    rule["table"] == "local" && rule["priority"] == 0
}

fn forget(mark: u32) -> String {
    format!("rule del pref {BY_MARK} fwmark {mark} lookup {mark}\nroute flush table {mark}\n")
}
