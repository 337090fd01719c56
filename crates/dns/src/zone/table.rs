//! All zones in one table, made once and then only read: a name is found by one look where it exists, and by one for each
//! label less where it does not.
//!
//! Names that only have others below them are in it too, so that they exist (RFC 8020), and each name knows the delegation
//! that it is at or below, and its wildcard (RFC 4592).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use sojourn_part::network::Allow;

use super::{Content, Secondaries, Zone};
use crate::chooser::ServiceId;
use crate::wire::kind;
use crate::wire::name::{LONGEST, Name, labels, parent, suffixes};
use crate::wire::reply::Encoded;
use crate::wire::tsig::TransferKey;

/// What a server answers for.
#[derive(Debug)]
pub struct Zones {
    names: HashMap<Name, usize>,
    nodes: Vec<Node>,
    zones: Vec<Authority>,
    /// Labels of the longest name.
    deepest: usize,
    keys: HashMap<Name, TransferKey>,
    why: Allow,
}

/// A zone as replies need it.
#[derive(Debug)]
pub(crate) struct Authority {
    /// Bytes of its name.
    pub(crate) length: usize,
    pub(crate) name: Name,
    /// Its SOA record.
    pub(crate) soa: Encoded,
    pub(crate) soa_ttl: u32,
    pub(crate) serial: u32,
    pub(crate) secondaries: Secondaries,
    /// How long it may be kept that something does not exist (RFC 2308), in seconds.
    pub(crate) negative_ttl: u32,
}

/// A name that exists.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) zone: usize,
    pub(crate) name: Encoded,
    pub(crate) sets: Vec<Set>,
    /// Its addresses are chosen.
    pub(crate) service: Option<ServiceId>,
    /// It explains the choices of this service.
    pub(crate) why: Option<ServiceId>,
    /// The delegation at or above it.
    cut: Option<usize>,
    /// The wildcard right below it.
    wildcard: Option<usize>,
}

/// The records of one type.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) kind: u16,
    /// Where the first is in the zone's file.
    line: usize,
    pub(crate) ttl: u32,
    pub(crate) data: Vec<Encoded>,
    /// For an alias: what it stands for.
    pub(crate) target: Option<Name>,
    /// For name servers: those with addresses in the zone.
    pub(crate) glue: Vec<usize>,
}

/// What is known of a name asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    /// Of no zone here.
    Outside,
    /// It exists, or a wildcard stands for it.
    Name(&'a Node),
    /// Others answer for it: those of this node.
    Delegated(&'a Node),
    /// It does not exist.
    Missing(usize),
}

impl Default for Zones {
    /// No zone; every client is told why.
    fn default() -> Zones {
        let (names, keys) = (HashMap::new(), HashMap::new());
        Zones { names, nodes: Vec::new(), zones: Vec::new(), deepest: 0, keys, why: Allow::All }
    }
}

impl Zones {
    /// All zones of a server. A zone below another one answers for its part.
    ///
    /// # Errors
    /// When a zone is there twice.
    pub fn new(mut zones: Vec<Zone>) -> Result<Zones, String> {
        let mut table = Zones::default();
        // What is above comes first, so that what is below takes its place.
        zones.sort_by_cached_key(|zone| (labels(zone.apex.wire()), zone.apex.clone()));
        if let Some(twice) = zones.windows(2).find(|two| two[0].apex == two[1].apex) {
            return Err(format!("the zone `{}` is there twice; one of both must go", twice[0].apex));
        }
        for zone in &zones {
            table.add(zone);
        }
        table.deepest = table.names.keys().map(|name| labels(name.wire())).max().unwrap_or(0);
        Ok(table)
    }

    /// The same, with the keys by which secondaries sign.
    #[must_use]
    pub fn with_keys(mut self, keys: impl IntoIterator<Item = TransferKey>) -> Zones {
        self.keys = keys.into_iter().map(|key| (key.name().clone(), key)).collect();
        self
    }

    /// The same, where only these clients are told why they got an answer.
    #[must_use]
    pub fn with_why(mut self, allow: Allow) -> Zones {
        self.why = allow;
        self
    }

    /// Whether a client of this address is told why it got an answer.
    pub(crate) fn tells_why(&self, client: IpAddr) -> bool {
        self.why.allows(client)
    }

    /// How many zones there are.
    pub fn len(&self) -> usize {
        self.zones.len()
    }

    /// Whether there is none: every query is refused.
    pub fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    fn add(&mut self, zone: &Zone) {
        let Zone { apex, names, .. } = zone;
        let above =
            suffixes(apex.wire()).skip(1).find_map(|name| self.names.get(name)).map(|node| self.nodes[*node].zone);
        self.names.retain(|name, _| !name.is_within(apex));
        let number = self.zones.len();
        let soa = &names[apex].sets[&kind::SOA];
        let numbers: [u32; 5] = numbers(&soa.data[0]);
        let minimum = numbers[4];
        self.zones.push(Authority {
            length: apex.wire().len(),
            name: apex.clone(),
            soa: encode(&soa.data[0], kind::SOA, apex),
            soa_ttl: soa.ttl,
            serial: numbers[0],
            secondaries: zone.secondaries.clone(),
            negative_ttl: minimum.min(soa.ttl),
        });
        for (name, content) in names {
            self.node(number, apex, name.wire(), content);
        }
        self.link(zone);
        // Between a zone and one below it names exist too.
        if let Some(above) = above {
            let apex = suffixes(apex.wire()).skip(1).find(|name| self.zones[above].length == name.len());
            let apex = Name::from_wire(apex.expect("the zone above is above"));
            if let Some(up) = parent(zone.apex.wire()) {
                self.node(above, &apex, up, &Content::default());
            }
        }
    }

    /// Adds a name, with all between it and the zone's.
    fn node(&mut self, zone: usize, apex: &Name, name: &[u8], content: &Content) {
        let count = labels(name) - labels(apex.wire());
        for (index, name) in suffixes(name).take(count + 1).enumerate() {
            let next = self.nodes.len();
            let place = *self.names.entry(Name::from_wire(name)).or_insert(next);
            if place == next {
                self.nodes.push(Node {
                    zone,
                    name: encode(name, kind::CNAME, apex),
                    sets: Vec::new(),
                    service: None,
                    why: None,
                    cut: None,
                    wildcard: None,
                });
            }
            if index == 0 && self.nodes[place].zone == zone {
                let node = &mut self.nodes[place];
                (node.service, node.why) = (content.service, content.why);
                node.sets = content
                    .sets
                    .iter()
                    .map(|(kind, records)| Set {
                        kind: *kind,
                        line: records.line,
                        ttl: records.ttl,
                        data: records.data.iter().map(|data| encode(data, *kind, apex)).collect(),
                        target: (*kind == kind::CNAME).then(|| Name::from_wire(&records.data[0])),
                        glue: Vec::new(),
                    })
                    .collect();
            }
        }
    }

    /// Tells the names of a zone of one another.
    fn link(&mut self, zone: &Zone) {
        let number = self.zones.len() - 1;
        let ours = self.names.iter().filter(|(_, place)| self.nodes[**place].zone == number);
        let ours: Vec<(Name, usize)> = ours.map(|(name, place)| (name.clone(), *place)).collect();
        for (name, place) in ours {
            self.nodes[place].cut = zone.cut(&name).map(|cut| self.names[cut.wire()]);
            let above = parent(name.wire()).filter(|_| name.wire().starts_with(b"\x01*"));
            let above =
                above.and_then(|above| self.names.get(above)).filter(|above| self.nodes[**above].zone == number);
            if let Some(above) = above {
                self.nodes[*above].wildcard = Some(place);
            }
            let servers = zone.names.get(&name).and_then(|content| content.sets.get(&kind::NS));
            let servers = servers.into_iter().flat_map(|servers| &servers.data);
            let inside = servers.filter_map(|server| self.names.get(&Name::from_wire(server)));
            let glue: Vec<usize> = inside.copied().filter(|glue| self.nodes[*glue].zone == number).collect();
            if let Some(set) = self.nodes[place].sets.iter_mut().find(|set| set.kind == kind::NS) {
                set.glue = glue;
            }
        }
    }

    /// Looks a name in lower case up, for a query of this type.
    pub(crate) fn find(&self, name: &[u8], kind: u16) -> Found<'_> {
        if let Some(place) = self.names.get(name) {
            let node = &self.nodes[*place];
            return match node.cut {
                // Of the delegation itself the zone above it knows (RFC 4035, 3.1.4.1).
                Some(cut) if !(cut == *place && kind == kind::DS) => Found::Delegated(&self.nodes[cut]),
                _ => Found::Name(node),
            };
        }
        let beyond = labels(name).saturating_sub(self.deepest);
        let Some(place) = suffixes(name).skip(beyond.max(1)).find_map(|above| self.names.get(above)) else {
            return Found::Outside;
        };
        let encloser = &self.nodes[*place];
        match (encloser.cut, encloser.wildcard) {
            (Some(cut), _) => Found::Delegated(&self.nodes[cut]),
            (None, Some(wildcard)) => Found::Name(&self.nodes[wildcard]),
            (None, None) => Found::Missing(encloser.zone),
        }
    }

    /// The first alias that leads back to itself, over other zones here too: its zone, and in one line where and how. Who asks
    /// for it would follow it for ever.
    pub(crate) fn circle(&self) -> Option<(&Name, String)> {
        let next = |node: &Node| match self.find(node.set(kind::CNAME)?.target.as_ref()?.wire(), kind::CNAME) {
            Found::Name(next) => Some(next),
            _ => None,
        };
        let mut seen: HashMap<*const Node, usize> = HashMap::new();
        for (round, first) in self.nodes.iter().enumerate() {
            let (mut path, mut at) = (Vec::new(), first);
            // What was seen in an earlier round led out, or its circle would have been found.
            while let Entry::Vacant(vacant) = seen.entry(at) {
                vacant.insert(round);
                path.push(at);
                match next(at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            let start = path.iter().position(|node| std::ptr::eq(*node, at)).filter(|_| next(at).is_some());
            if let Some(start) = start {
                let sets = path[start..].iter().chain([&path[start]]).filter_map(|node| node.set(kind::CNAME));
                let names: Vec<String> = sets.filter_map(|set| Some(format!("`{}`", set.target.as_ref()?))).collect();
                let line = at.set(kind::CNAME).map_or(0, |set| set.line);
                let why = format!("line {line}: aliases in a circle, {}; let one lead elsewhere", names.join(" -> "));
                return Some((&self.authority(at.zone).name, why));
            }
        }
        None
    }

    /// The zone of this very name.
    pub(crate) fn zone(&self, name: &Name) -> Option<usize> {
        self.zones.iter().position(|zone| zone.name == *name)
    }

    /// All names of a zone, its own first.
    pub(crate) fn nodes(&self, zone: usize) -> impl Iterator<Item = &Node> {
        let mut places: Vec<usize> = self.names.values().copied().filter(|of| self.nodes[*of].zone == zone).collect();
        places.sort_unstable();
        places.into_iter().map(|place| &self.nodes[place])
    }

    pub(crate) fn keys(&self) -> &HashMap<Name, TransferKey> {
        &self.keys
    }

    /// All zones.
    pub(crate) fn authorities(&self) -> &[Authority] {
        &self.zones
    }

    pub(crate) fn authority(&self, zone: usize) -> &Authority {
        &self.zones[zone]
    }

    pub(crate) fn glue<'a>(&'a self, set: &'a Set) -> impl Iterator<Item = &'a Node> {
        set.glue.iter().map(|place| &self.nodes[*place])
    }
}

impl Node {
    pub(crate) fn set(&self, kind: u16) -> Option<&Set> {
        self.sets.iter().find(|set| set.kind == kind)
    }
}

/// Serial number, refresh, retry, expiry and least time to live: the end of an SOA record's data.
fn numbers(soa: &[u8]) -> [u32; 5] {
    let last: &[u8; 20] = soa.last_chunk().expect("an SOA record ends with five numbers");
    std::array::from_fn(|i| u32::from_be_bytes([last[4 * i], last[4 * i + 1], last[4 * i + 2], last[4 * i + 3]]))
}

/// Puts two bytes in the place of each end of a name that is the zone's, for the types that may be compressed (RFC 3597, 4).
fn encode(data: &[u8], kind: u16, apex: &Name) -> Encoded {
    let (before, names) = match kind {
        kind::NS | kind::CNAME | kind::PTR => (0, 1),
        kind::MX => (2, 1),
        kind::SOA => (0, 2),
        _ => (data.len(), 0),
    };
    let mut bytes = data[..before].to_vec();
    let (mut rest, mut apexes) = (&data[before..], Vec::new());
    for _ in 0..names {
        let length = suffixes(rest)
            .take(LONGEST)
            .take_while(|name| name[0] > 0)
            .map(|name| 1 + usize::from(name[0]))
            .sum::<usize>();
        let (name, after) = rest.split_at(length + 1);
        rest = after;
        match suffixes(name).find(|suffix| suffix.eq_ignore_ascii_case(apex.wire())) {
            // The root's own byte is shorter than what would stand for it.
            Some(end) if end.len() > 1 => {
                bytes.extend_from_slice(&name[..name.len() - end.len()]);
                apexes.push(bytes.len() as u16);
                bytes.extend_from_slice(&[0, 0]);
            }
            _ => bytes.extend_from_slice(name),
        }
    }
    bytes.extend_from_slice(rest);
    Encoded { bytes: bytes.into(), apexes: apexes.into() }
}
