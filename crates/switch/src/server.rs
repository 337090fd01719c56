//! The server's half of a switch: what a server does so that packets which the switch forwards are its own.
//!
//! Where its replies bypass the switch, it has the service's address on its loopback device and keeps silent about it: it
//! answers ARP only for addresses of the device that was asked, and names none but its own. For tunnelling it takes packets
//! out of the tunnel, and announces smaller segments to clients. For single rewriting it also
//! sets the destination back, for all packets to the service's port but those of the switch itself, which probes. For
//! NAT, and for symmetric splicing, its replies from that port go back through the switch; for asymmetric splicing it
//! translates them ([`super::splicing::half`]). It touches nothing else of the server, and is put back when it ends in order;
//! what one that was killed had found is put back by the next one for the same service ([`before`]). Several services of a
//! server have a half each.

use std::net::{Ipv4Addr, SocketAddrV4};

use sojourn_part::ServeError;
use sojourn_part::settings::Settings;
use sojourn_part::settings::switch::{Mode, SwitchServerSettings};
use sojourn_part::threads::Threads;

use super::kernel::{before, only, system};
use super::key_of;
use super::splicing::half::{Half, HalfCounts};
use super::tunnel::{self, Exit};

/// The order of the rule, and the routing table, of replies that go through the switch.
const RULE: u32 = 30;
const ROUTES: u32 = 0x534a;

/// The mark of replies that only the switch understands.
const MARK: u32 = 0x534a;

/// The nft table.
const TABLE: &str = "sojourn_switched";

/// A server's half, in force until it is dropped.
pub struct ServerHalf {
    /// Translates replies; stopped before what it relies on is put back.
    half: Option<Half>,
    /// Dropped before its device.
    tunnel: Option<Threads>,
    /// As whose its changes are remembered.
    owner: String,
    /// For `ip` and `nft`.
    undo: (String, String),
    _only_one: only::Held,
}

impl ServerHalf {
    /// Puts it in force.
    ///
    /// # Errors
    /// When the service has a half on this host, the system refuses, or the switch's address is missing or out of reach.
    pub fn start(config: SwitchServerSettings) -> Result<ServerHalf, ServeError> {
        config.check()?;
        let key = key_of(config.key_file.as_deref())?;
        let (service, mode) = (config.service, config.mode);
        let addresses = || std::iter::once(service.ip()).chain(&config.also).copied();
        let owner = format!("half-{}-{}", service.ip(), service.port());
        let only_one = be_the_only_half(&owner)?;
        let undo = (String::new(), String::new());
        let mut half = ServerHalf { half: None, tunnel: None, owner, undo, _only_one: only_one };
        match mode {
            Mode::Mac => half.share_addresses(addresses())?,
            Mode::Tunnel => {
                let (front, _) = way(&config)?;
                half.share_addresses(addresses())?;
                half.announce_less(service.port())?;
                half.tunnel = Some(Exit::open(vec![front], addresses().collect())?.carry()?);
            }
            Mode::Rewrite => {
                let (front, way) = way(&config)?;
                let own = way["prefsrc"].as_str().unwrap_or_default();
                half.share_addresses(addresses())?;
                half.set_destination_back(service, front, own)?;
            }
            Mode::SpliceAsymmetric => {
                let (front, way) = way(&config)?;
                let own = way["prefsrc"].as_str().unwrap_or_default();
                let device = device(&way, front, mode)?;
                let key = key.expect("settings are checked");
                half.share_addresses(addresses())?;
                half.set_destination_back(service, front, own)?;
                half.reply_through(front, device, &format!("fwmark {MARK}"))?;
                half.half = Some(Half::start(service, key, MARK)?);
            }
            Mode::Nat | Mode::Splice => {
                let (front, way) = way(&config)?;
                let device = device(&way, front, mode)?;
                half.reply_through(front, device, &format!("ipproto tcp sport {}", service.port()))?;
                // The kernel forgets the port where it learns that a way takes smaller packets only, and so learns it for
                // another way. It is to find out by itself, where nothing comes back (RFC 4821).
                half.set(&[("tcp_mtu_probing", "1")])?;
            }
        }
        Ok(half)
    }

    fn set(&self, wanted: &[(&str, &'static str)]) -> Result<(), ServeError> {
        let wanted: Vec<_> = wanted.iter().map(|(setting, value)| ((*setting).to_owned(), *value)).collect();
        before::change(&self.owner, &wanted)
    }

    /// What it has done so far, where it translates replies.
    pub fn counts(&self) -> Option<HalfCounts> {
        self.half.as_ref().map(Half::counts)
    }

    /// Has the service's address, and others beside, silently.
    fn share_addresses(&mut self, addresses: impl Iterator<Item = Ipv4Addr>) -> Result<(), ServeError> {
        // Silent first: not one answer for the address may leave.
        self.set(&[("conf/all/arp_ignore", "1"), ("conf/all/arp_announce", "2")])?;
        before::add_addresses(&self.owner, addresses)
    }

    /// Tells clients of a smaller largest segment than a frame has room for, so that theirs fit through a tunnel.
    fn announce_less(&mut self, port: u16) -> Result<(), ServeError> {
        const FRAME: u16 = 1500;
        const HEADS: u16 = 40;
        let segment = FRAME - HEADS - tunnel::GROWTH;
        self.rules(&format!(
            "chain announces_less {{
               type filter hook output priority -150; policy accept;
               tcp sport {port} tcp flags & (syn|rst) == syn tcp option maxseg size set {segment}
             }}"
        ))
    }

    /// Puts a chain in force, in the place of what one that was killed has left.
    fn rules(&mut self, chain: &str) -> Result<(), ServeError> {
        system::nft(&format!("add table ip {TABLE}\ndelete table ip {TABLE}\ntable ip {TABLE} {{\n{chain}\n}}\n"))?;
        self.undo.1 = format!("delete table ip {TABLE}\n");
        Ok(())
    }

    /// Gives packets that the switch has rewritten the destination that they had.
    fn set_destination_back(&mut self, service: SocketAddrV4, front: Ipv4Addr, own: &str) -> Result<(), ServeError> {
        let (address, port) = (service.ip(), service.port());
        self.rules(&format!(
            "chain sets_back {{
               type filter hook prerouting priority -130; policy accept;
               ip saddr != {front} ip daddr {own} tcp dport {port} ip daddr set {address}
             }}"
        ))
    }

    /// Sends what these are to the switch.
    fn reply_through(&mut self, front: Ipv4Addr, device: &str, these: &str) -> Result<(), ServeError> {
        let rule = format!("pref {RULE} {these} lookup {ROUTES}");
        // One that was killed has left its own.
        let _ = system::ip(&format!("rule del {rule}\n"));
        self.undo.0 += &format!("rule del {rule}\nroute flush table {ROUTES}\n");
        system::ip(&format!("route replace default via {front} dev {device} onlink table {ROUTES}\nrule add {rule}\n"))
    }
}

/// The device towards the switch, which is on an Ethernet with this server.
fn device(way: &serde_json::Value, front: Ipv4Addr, mode: Mode) -> Result<&str, ServeError> {
    if way["gateway"].is_string() {
        let right = format!("mode {mode} needs it on an Ethernet with this server");
        return Err(ServeError::Config(format!("front {front} is behind a router: {right}")));
    }
    Ok(way["dev"].as_str().unwrap_or_default())
}

/// The switch's own address, and the way there.
fn way(config: &SwitchServerSettings) -> Result<(Ipv4Addr, serde_json::Value), ServeError> {
    let front = config.front.expect("settings are checked");
    let found = system::ask_ip(&["route", "get", &front.to_string()])?;
    match found.into_iter().next().filter(|way| way["dev"] != "lo") {
        Some(way) => Ok((front, way)),
        None => Err(ServeError::Config(format!("front {front}: it is the address of another host, the switch's own"))),
    }
}

impl Drop for ServerHalf {
    fn drop(&mut self) {
        self.half = None;
        self.tunnel = None;
        // What cannot be put back belongs to a network that is going.
        let (ip, nft) = &self.undo;
        let _ = system::ip(ip);
        if !nft.is_empty() {
            let _ = system::nft(nft);
        }
        // The last one on this host takes along what those have left that were killed.
        if before::put_back(&self.owner).is_ok_and(|others| others.iter().all(|other| other == before::FRONT)) {
            let _ = sweep();
        }
    }
}

/// Holds the name that one half per service and host can have.
pub(super) fn be_the_only_half(owner: &str) -> Result<only::Held, ServeError> {
    only::hold(&format!("sojourn-{owner}"))?.ok_or_else(|| {
        ServeError::Config(format!("a server's {} runs on this host already: stop it first", spelled(owner)))
    })
}

/// An owner of changes that is a half, as it is said.
pub(super) fn spelled(owner: &str) -> String {
    let service = owner.strip_prefix("half-").unwrap_or(owner);
    format!("half for {}", service.replacen('-', ":", 1))
}

/// Takes away the rules and routes of halves, whoever made them; whether there were some.
pub(super) fn sweep() -> Result<bool, ServeError> {
    let mut commands = String::new();
    let routes = ROUTES.to_string();
    for rule in system::ask_ip(&["rule"])? {
        if rule["priority"] == RULE && rule["table"].as_str() == Some(&routes) {
            commands += &format!("rule del pref {RULE} lookup {ROUTES}\n");
        }
    }
    if !commands.is_empty() {
        commands += &format!("route flush table {ROUTES}\n");
    }
    system::ip(&commands)?;
    let tables = system::ask_nft(&["list", "tables", "ip"])?;
    let has_table = tables.iter().any(|item| item["table"]["name"] == TABLE);
    if has_table {
        system::nft(&format!("delete table ip {TABLE}\n"))?;
    }
    Ok(Half::sweep()? || has_table || !commands.is_empty())
}
