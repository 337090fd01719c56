//! The rule set: what the kernel does with a client's packet without asking, and what it asks.
//!
//! A connection is an element of the map `connections`, from the client's address and port to the mark of its server. The rules
//! themselves add it once the first packet was decided, renew its time with every packet, and shorten it at a FIN or RST,
//! after which the connection is `closing`. So the packets of a known connection never wait for this process, and go on when
//! it has died. Connection tracking is not used: it sees one half of a connection whose replies bypass it, and calls the
//! rest invalid.
//!
//! Asked are the first packet of a connection and complaints of routers: nft marks them, and iptables hands what is so marked
//! to the queue of the processor that it is on (its target exists where nft's own `queue` does not). Undecided packets are
//! dropped, and the client sends its first one again after a second. The price is two programs that must be there, and a
//! connection of which the FIN is lost on the way counts until its time is over.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use serde_json::Value;
use sojourn_part::ServeError;
use sojourn_part::settings::switch::{Accepted, Mode, SwitchSettings};

use super::super::lifetimes;
use super::super::tunnel;
use super::{elements, system};
use sojourn_splice::Lifetimes;

/// The nft table.
pub(crate) const TABLE: &str = "sojourn_switch";

/// The number of the first netfilter queue.
pub(crate) const QUEUE: u16 = 21_322;

/// All marks of a switch begin with these bits; the lower ones are a server's number.
const MARKS: u32 = 0x534a_0000;
/// The packet waits for a decision.
const ASKED: u32 = 0x8000;
/// The client is to be refused.
pub(crate) const REFUSED: u32 = MARKS | 0xffff;

/// The mark of a server, by which the rules and routes know it: 1 to `SERVERS_MAX` of the settings above the switch's own bits.
/// It stays the server's for as long as there is a connection to it, over restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Mark(pub(crate) u32);

impl Mark {
    fn new(number: u32) -> Mark {
        Mark(MARKS | number)
    }

    /// As a verdict: the packet goes to this server, and the rules are to remember it.
    pub(crate) fn decided(self) -> u32 {
        self.0 | ASKED
    }

    /// Its number among the servers, from 1.
    pub(crate) fn number(self) -> u32 {
        self.0 & !MARKS
    }

    /// Whether a mark is that of a server.
    pub(crate) fn is_one(mark: u32) -> bool {
        mark & !0x7fff == MARKS && mark != MARKS
    }
}

/// The verdict on a packet that is none of a connection: it is dropped.
pub(crate) const UNDECIDED: u32 = MARKS | ASKED;

/// What a switch before this one has left.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) servers: BTreeMap<Ipv4Addr, Mark>,
    /// Those of them that tunnels lead to.
    pub(crate) far: BTreeSet<Ipv4Addr>,
    /// Those that have not been ended by their clients.
    pub(crate) open: HashMap<SocketAddrV4, Mark>,
    /// The servers of all, those that are ending included.
    used: HashSet<Mark>,
}

impl Left {
    /// What is there of a switch for the same service in the same mode. One for another service is cleared away.
    pub(crate) fn find(config: &SwitchSettings) -> Result<Left, ServeError> {
        let Ok(listed) = system::ask_nft(&["list", "table", "ip", TABLE]) else { return Ok(Left::default()) };
        let is_same = listed.iter().any(|item| item["counter"]["name"] == signature(config));
        if !is_same {
            let counters = listed.iter().filter_map(|item| item["counter"]["name"].as_str());
            if let Some((address, _)) = counters.filter_map(signed).next() {
                // A host that has lost the address meanwhile need not give it back.
                let _ = system::ip(&format!("address del {address}/32 dev lo\n"));
            }
            system::nft(&format!("delete table ip {TABLE}\n"))?;
            return Ok(Left::default());
        }
        let pairs = |name: &str| {
            let map = listed.iter().map(|item| &item["map"]).find(|map| map["name"] == name);
            map.and_then(|map| map["elem"].as_array()).cloned().unwrap_or_default()
        };
        let server = |pair: &Value| Some((pair[1].as_str()?.parse().ok()?, Mark(pair[0].as_u64()? as u32)));
        let far: BTreeMap<Ipv4Addr, Mark> = pairs("far").iter().filter_map(server).collect();
        let near = pairs("servers");
        let known = near.iter().filter_map(server).chain(far.iter().map(|(place, mark)| (*place, *mark)));
        let known: BTreeMap<Ipv4Addr, Mark> = known.collect();
        let closing = closing(&listed);
        let all: HashMap<_, _> = pairs("connections").iter().filter_map(connection).collect();
        let used: HashSet<Mark> = all.values().copied().collect();
        let servers = known.into_iter().filter(|(_, mark)| used.contains(mark)).collect();
        let open = all.into_iter().filter(|(client, _)| !closing.contains(client)).collect();
        Ok(Left { servers, far: far.into_keys().collect(), open, used })
    }

    /// The marks of `wanted` servers, and of those besides that have connections.
    pub(crate) fn marks(&self, wanted: impl Iterator<Item = Ipv4Addr>) -> BTreeMap<Ipv4Addr, Mark> {
        let mut marks = self.servers.clone();
        let mut free = (1..).map(Mark::new).filter(|mark| !self.used.contains(mark));
        for address in wanted {
            marks.entry(address).or_insert_with(|| free.next().expect("numbers do not run out"));
        }
        marks
    }
}

/// Puts the rules in force, or others in the place of those of an earlier switch: at one instant, and with its connections.
pub(crate) fn install(
    config: &SwitchSettings,
    servers: &BTreeMap<Ipv4Addr, Mark>,
    far: &BTreeSet<Ipv4Addr>,
    queues: u16,
) -> Result<(), ServeError> {
    system::nft(&script(config, servers, far))?;
    ask(queues)
}

/// Has the kernel hand what is marked so to as many queues, each that of a processor.
pub(crate) fn ask(queues: u16) -> Result<(), ServeError> {
    let rule = queue_rule(queues);
    let order =
        |verb: &str| system::iptables(&["-t", "mangle", verb].into_iter().chain(rule.split(' ')).collect::<Vec<_>>());
    if order("-C").is_ok() {
        return Ok(());
    }
    let former = asking()?;
    order("-A")?;
    do_not_ask(&former)
}

/// The address and the port of the service that the rules on this host are for, if there are any.
pub(crate) fn service() -> Option<(String, String)> {
    let listed = system::ask_nft(&["list", "counters", "table", "ip", TABLE]).ok()?;
    let names = listed.iter().filter_map(|item| item["counter"]["name"].as_str());
    names.filter_map(signed).next()
}

/// Takes the rules away, and with them all connections.
pub(crate) fn remove() -> Result<(), ServeError> {
    let asks = asking().and_then(|rules| do_not_ask(&rules));
    system::nft(&format!("delete table ip {TABLE}\n")).and(asks)
}

/// The rules by which the kernel asks, as `iptables` says them.
fn asking() -> Result<Vec<String>, ServeError> {
    let listed = system::ask_iptables(&["-t", "mangle", "-S", "PREROUTING"])?;
    let rules = listed.lines().filter_map(|line| line.strip_prefix("-A "));
    Ok(rules.filter(|rule| rule.contains(&asked_mark())).map(ToOwned::to_owned).collect())
}

fn do_not_ask(rules: &[String]) -> Result<(), ServeError> {
    rules.iter().try_for_each(|rule| {
        system::iptables(&["-t", "mangle", "-D"].into_iter().chain(rule.split(' ')).collect::<Vec<_>>())
    })
}

/// The connections that the kernel knows.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// All of them.
    pub(crate) open: HashSet<SocketAddrV4>,
    /// Those that their clients have ended.
    pub(crate) closing: HashSet<SocketAddrV4>,
}

/// Reads the kernel's list of connections.
pub(crate) fn connections() -> io::Result<Listed> {
    let mut listed = Listed::default();
    elements::list(TABLE, "connections", |key, _| listed.open.extend(client_of(key)))?;
    elements::list(TABLE, "closing", |key, _| listed.closing.extend(client_of(key)))?;
    Ok(listed)
}

/// Says that a server takes no connections any more, or again; those that are being opened there are decided anew.
pub(crate) fn set_down(mark: Mark, is_down: bool) -> Result<(), ServeError> {
    let verb = if is_down { "add" } else { "delete" };
    system::nft(&format!("{verb} element ip {TABLE} down {{ {} }}\n", mark.0))
}

/// Packets that the rules dropped, by reason: fragments, those of no connection, those that were not decided, those for
/// which there was no room.
pub(crate) fn dropped() -> Result<[u64; 4], ServeError> {
    let listed = system::ask_nft(&["list", "counters", "table", "ip", TABLE])?;
    let counter = |name: &str| {
        let counter = listed.iter().map(|item| &item["counter"]).find(|counter| counter["name"] == name);
        counter.and_then(|counter| counter["packets"].as_u64()).unwrap_or(0)
    };
    Ok(["fragments", "strays", "undecided", "full"].map(counter))
}

fn queue_rule(queues: u16) -> String {
    let to = match queues {
        1 => format!("--queue-num {QUEUE} --queue-bypass"),
        _ => format!("--queue-balance {QUEUE}:{} --queue-bypass --queue-cpu-fanout", QUEUE + queues - 1),
    };
    format!("PREROUTING -m mark --mark {} -j NFQUEUE {to}", asked_mark())
}

/// The mark of what is asked about, and which of its bits say so.
fn asked_mark() -> String {
    let mask = !(ASKED - 1);
    format!("{:#x}/{mask:#x}", MARKS | ASKED)
}

/// What a table is for, by which a later switch knows it: the name of a counter, since not every `nft` lists comments.
pub(crate) fn signature(config: &SwitchSettings) -> String {
    let SwitchSettings { service, mode, connections, .. } = config;
    format!("{mode}/{}/{}/{connections}", service.ip(), service.port())
}

/// The address and the port of the service in such a name.
fn signed(name: &str) -> Option<(String, String)> {
    let mut parts = name.split('/').skip(1).map(ToOwned::to_owned);
    Some((parts.next()?, parts.next()?))
}

/// A client's address and port, as the kernel has them; each takes a whole number of words.
fn client_of(key: &[u8]) -> Option<SocketAddrV4> {
    let address = <[u8; 4]>::try_from(key.get(..4)?).expect("four bytes");
    Some(SocketAddrV4::new(address.into(), u16::from_be_bytes(key.get(4..6)?.try_into().expect("two bytes"))))
}

fn closing(listed: &[Value]) -> HashSet<SocketAddrV4> {
    let set = listed.iter().map(|item| &item["set"]).find(|set| set["name"] == "closing");
    let elements = set.and_then(|set| set["elem"].as_array()).into_iter().flatten();
    elements.filter_map(client).collect()
}

fn connection(pair: &Value) -> Option<(SocketAddrV4, Mark)> {
    Some((client(&pair[0])?, Mark(pair[1].as_u64()? as u32)))
}

fn client(element: &Value) -> Option<SocketAddrV4> {
    let key = &element["elem"]["val"]["concat"];
    Some(SocketAddrV4::new(key[0].as_str()?.parse().ok()?, u16::try_from(key[1].as_u64()?).ok()?))
}

fn script(config: &SwitchSettings, servers: &BTreeMap<Ipv4Addr, Mark>, far: &BTreeSet<Ipv4Addr>) -> String {
    let SwitchSettings { service, connections, .. } = config;
    let (address, port) = (service.ip(), service.port());
    // What comes for a service: of this host by any way, of another site by the tunnel from there.
    let arrives = |which: String| {
        format!(
            "{which} ip protocol tcp ip frag-off & 0x3fff != 0 counter name fragments drop
             {which} icmp type {{ destination-unreachable, parameter-problem }} meta mark set {asked}
             {which} tcp dport {port} goto known",
            asked = MARKS | ASKED,
        )
    };
    let by_tunnel = |accepted: &Accepted| arrives(format!("iifname {} ip daddr {}", tunnel::into(), accepted.service));
    let arriving: Vec<String> =
        std::iter::once(arrives(format!("ip daddr {address}"))).chain(config.accept.iter().map(by_tunnel)).collect();
    let arriving = arriving.join("\n");
    let Lifetimes { opening, open, closing } = lifetimes(config);
    let [opening, open, closing] = [opening, open, closing].map(|span| format!("{}ms", span.0 / 1_000_000));
    let key = "ip saddr . tcp sport";
    let first = "tcp flags & (fin|syn|rst|ack) == syn";
    let kept = format!("type ipv4_addr . inet_service; size {connections}; flags dynamic,timeout; timeout");
    let of_map = kept.replacen("inet_service", "inet_service : mark", 1);
    let (asked, without_asked, numbers) = (MARKS | ASKED, !ASKED, !(ASKED - 1));
    let mut elements = String::new();
    for (server, mark) in servers {
        let map = if far.contains(server) { "far" } else { "servers" };
        let _ = writeln!(elements, "add element ip {TABLE} {map} {{ {} : {server} }}", mark.0);
    }
    let rewrites = format!(
        "chain rewrites {{
           type filter hook prerouting priority -130; policy accept;
           ip daddr {address} tcp dport {port} ip daddr set meta mark map @servers
         }}"
    );
    let rewriting = match config.mode {
        // Packets that are spliced have rules of their own.
        Mode::Mac | Mode::Tunnel | Mode::Splice | Mode::SpliceAsymmetric => String::new(),
        Mode::Rewrite => rewrites,
        Mode::Nat => {
            let near = servers.keys().filter(|server| !far.contains(server));
            let known: Vec<String> = near.map(ToString::to_string).collect();
            let known = known.join(", ");
            format!(
                "{rewrites}
                 chain rewrites_replies {{
                   type filter hook postrouting priority -130; policy accept;
                   ip saddr {{ {known} }} tcp sport {port} ip daddr . tcp dport @connections ip saddr set {address}
                 }}"
            )
        }
    };
    format!(
        "add table ip {TABLE}
         add counter ip {TABLE} {signature}
         add map ip {TABLE} connections {{ {of_map} {open}; }}
         add set ip {TABLE} closing {{ {kept} {closing}; }}
         add set ip {TABLE} down {{ type mark; }}
         add map ip {TABLE} servers {{ type mark : ipv4_addr; }}
         add map ip {TABLE} far {{ type mark : ipv4_addr; }}
         add counter ip {TABLE} fragments
         add counter ip {TABLE} strays
         add counter ip {TABLE} undecided
         add counter ip {TABLE} full
         flush table ip {TABLE}
         flush set ip {TABLE} down
         flush map ip {TABLE} servers
         flush map ip {TABLE} far
         {elements}
         table ip {TABLE} {{
           chain arrives {{
             type filter hook prerouting priority -160; policy accept;
             {arriving}
           }}
           chain known {{
             meta mark set 0
             meta mark set {key} map @connections
             {first} goto opens
             meta mark 0 counter name strays drop
             {key} @closing goto lingers
             tcp flags & (fin|rst) != 0 goto closes
             update @connections {{ {key} timeout {open} : meta mark }}
           }}
           chain opens {{
             meta mark 0 meta mark set {asked} return
             meta mark @down meta mark set {asked} return
             {key} @closing meta mark set {asked}
           }}
           chain closes {{
             add @closing {{ {key} timeout {closing} }}
             update @connections {{ {key} timeout {closing} : meta mark }}
           }}
           chain lingers {{
             update @closing {{ {key} timeout {closing} }}
             update @connections {{ {key} timeout {closing} : meta mark }}
           }}
           chain decided {{
             type filter hook prerouting priority -140; policy accept;
             meta mark & {numbers} != {asked} return
             meta mark {REFUSED} reject with tcp reset
             meta mark {asked} counter name undecided drop
             meta mark set meta mark & {without_asked}
             {first} goto remembers
           }}
           chain remembers {{
             delete @closing {{ {key} }}
             delete @connections {{ {key} : meta mark }}
             add @connections {{ {key} timeout {opening} : meta mark }}
             {key} @connections return
             counter name full drop
           }}
           {rewriting}
         }}
         ",
        signature = signature(config),
    )
}
