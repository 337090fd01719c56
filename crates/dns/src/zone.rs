//! A zone: what its file says, and the names whose addresses are chosen.
//!
//! A zone that would give wrong answers is refused as a whole, with the line: records outside of it, a name that is both
//! an alias and something else, a name server in it without an address, data below a delegation.

mod table;
mod text;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::chooser::ServiceId;
use super::wire::kind;
use super::wire::name::{self, Name, suffixes};
pub use table::Zones;
pub(super) use table::{Found, Node, Set};
use text::Entry;

/// Under a service's name, what explains its choices.
const WHY: &[u8] = b"_why";

/// One zone, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    apex: Name,
    names: BTreeMap<Name, Content>,
    secondaries: Secondaries,
}

/// Who takes a zone over as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Secondaries {
    /// The names of the keys by which it is asked for.
    pub(crate) keys: Vec<Name>,
    /// Who is told that it has changed, signed by the first key.
    pub(crate) notify: Vec<SocketAddr>,
}

/// What a name has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    /// By type.
    sets: BTreeMap<u16, Records>,
    service: Option<ServiceId>,
    why: Option<ServiceId>,
}

/// The records of one name and type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Records {
    /// Where the first is.
    line: usize,
    /// The least of theirs, in seconds: RFC 2181 wants one for all.
    ttl: u32,
    data: Vec<Vec<u8>>,
}

impl Zone {
    /// Reads the text of a zone file for the zone `name`. The addresses of `services` are chosen: each is a name under the
    /// zone (`@`: the zone itself; `*` stands for all that are not named), or whole with a dot at its end.
    ///
    /// # Errors
    /// One line that says where the mistake is, and what would be right.
    pub fn parse(name: &str, text: &str, services: &[(String, ServiceId)]) -> Result<Zone, String> {
        let apex = absolute(name)?;
        let mut zone = Zone { apex, names: BTreeMap::new(), secondaries: Secondaries::default() };
        for entry in text::read(&zone.apex, text)? {
            let line = entry.line;
            zone.add(entry).map_err(|why| format!("line {line}: {why}"))?;
        }
        for (name, service) in services {
            zone.serve(name, *service).map_err(|why| format!("service `{name}`: {why}"))?;
        }
        zone.check()?;
        Ok(zone)
    }

    /// A zone without a file, from the names of its name servers, which are outside of it.
    ///
    /// # Errors
    /// As [`Zone::parse`].
    pub fn made(name: &str, ns: &[String], serial: u32, services: &[(String, ServiceId)]) -> Result<Zone, String> {
        let apex = absolute(name)?;
        let servers: Vec<Name> = ns.iter().map(|server| absolute(server)).collect::<Result<_, _>>()?;
        let first = servers.first().ok_or(format!("zone `{apex}` has no name server; `ns = [\"ns1.example.net\"]`"))?;
        if let Some(inside) = servers.iter().find(|server| server.is_within(&apex)) {
            return Err(format!("name server `{inside}` is in the zone, and only a zone file can say its address"));
        }
        let mut text = format!("@ 3600 IN SOA {first} hostmaster {serial} 3600 900 1209600 60\n");
        text.extend(servers.iter().map(|server| format!("@ 3600 IN NS {server}\n")));
        Zone::parse(name, &text, services)
    }

    /// The same, with the names of the keys by which secondaries may ask for it as a whole, and the addresses at which they are
    /// told that it has changed.
    ///
    /// # Errors
    /// In words, where one is no name.
    pub fn with_secondaries(mut self, keys: &[String], notify: &[SocketAddr]) -> Result<Zone, String> {
        let keys = keys.iter().map(|key| absolute(key)).collect::<Result<_, _>>()?;
        self.secondaries = Secondaries { keys, notify: notify.to_vec() };
        Ok(self)
    }

    fn add(&mut self, Entry { line, owner, kind, ttl, data }: Entry) -> Result<(), String> {
        let Zone { apex, names, .. } = self;
        if !owner.is_within(apex) {
            return Err(format!("`{owner}` is not in the zone `{apex}`; a name without a dot at its end is under it"));
        }
        if kind == kind::SOA && owner != *apex {
            return Err(format!("SOA stands at the zone's own name, which is `{apex}`"));
        }
        let sets = &mut names.entry(owner).or_default().sets;
        let records = sets.entry(kind).or_insert(Records { line, ttl, data: Vec::new() });
        if matches!(kind, kind::SOA | kind::CNAME) && !records.data.is_empty() {
            return Err(format!("there is one already on line {}, and a name has one only", records.line));
        }
        records.ttl = records.ttl.min(ttl);
        if !records.data.contains(&data) {
            records.data.push(data);
        }
        Ok(())
    }

    fn serve(&mut self, name: &str, service: ServiceId) -> Result<(), String> {
        let name = Name::parse(name, Some(&self.apex))?;
        if !name.is_within(&self.apex) {
            return Err(format!("`{name}` is not in the zone `{}`", self.apex));
        }
        let content = self.names.entry(name.clone()).or_default();
        if content.service.replace(service).is_some() {
            return Err("it is there twice".into());
        }
        let other = [kind::A, kind::AAAA, kind::CNAME].iter().find_map(|kind| content.sets.get(kind));
        if let Some(other) = other {
            return Err(format!(
                "line {} of the zone file gives addresses to `{name}`; one of both must go",
                other.line
            ));
        }
        if let Some(why) = name.under(WHY) {
            let content = self.names.entry(why.clone()).or_default();
            if let Some(other) = content.sets.values().next() {
                return Err(format!("`{why}` is made for it, and on line {} of the zone file too", other.line));
            }
            content.why = Some(service);
        }
        Ok(())
    }

    /// Checks what only the whole zone can show.
    fn check(&self) -> Result<(), String> {
        let apex = &self.apex;
        let has = |kind| self.names.get(apex).is_some_and(|content| content.sets.contains_key(&kind));
        if !has(kind::SOA) {
            let soa = "@ 3600 IN SOA ns1 hostmaster 1 3600 900 1209600 60";
            return Err(format!("the zone `{apex}` has no SOA record; it is as in `{soa}`"));
        }
        if !has(kind::NS) {
            return Err(format!("the zone `{apex}` has no name server; it is as in `@ 3600 IN NS ns1.example.net.`"));
        }
        for (owner, content) in &self.names {
            self.check_name(owner, content)?;
            for (kind, records) in &content.sets {
                let at = |why: String| format!("line {}: {why}", records.line);
                if *kind == kind::CNAME && content.sets.len() > 1 {
                    let other = content.sets.values().map(|other| other.line).find(|line| *line != records.line);
                    return Err(at(format!(
                        "`{owner}` is an alias here and has other records{}; an alias has none",
                        other.map_or(String::new(), |line| format!(" on line {line}"))
                    )));
                }
                if *kind == kind::NS {
                    if owner.wire().starts_with(b"\x01*") {
                        return Err(at(format!("`{owner}` cannot be delegated; delegate names one by one")));
                    }
                    records.data.iter().try_for_each(|server| self.check_server(owner, server).map_err(at))?;
                }
            }
        }
        Ok(())
    }

    /// Nothing is at or below a delegation but what leads there.
    fn check_name(&self, owner: &Name, content: &Content) -> Result<(), String> {
        let Some(cut) = self.cut(owner) else { return Ok(()) };
        if content.service.is_some() || content.why.is_some() {
            return Err(format!("service `{owner}`: it is delegated at `{cut}` to other servers"));
        }
        let leads =
            |kind: u16| matches!(kind, kind::A | kind::AAAA) || owner == cut && matches!(kind, kind::NS | kind::DS);
        match content.sets.iter().find(|(kind, _)| !leads(**kind)) {
            Some((_, records)) => Err(format!(
                "line {}: `{owner}` is delegated at `{cut}`; only the addresses of its name servers can stand here",
                records.line
            )),
            None => Ok(()),
        }
    }

    /// A name server in the zone has an address, or it would not be found.
    fn check_server(&self, owner: &Name, server: &[u8]) -> Result<(), String> {
        let server = Name::from_wire(server);
        if !server.is_within(&self.apex) {
            return Ok(());
        }
        // Below another delegation, others know it.
        if self.cut(&server).is_some_and(|cut| cut != owner) {
            return Ok(());
        }
        let content = self.names.get(&server);
        let has_address = content.is_some_and(|content| {
            content.service.is_some() || [kind::A, kind::AAAA].iter().any(|kind| content.sets.contains_key(kind))
        });
        if has_address {
            Ok(())
        } else {
            Err(format!("`{server}` has no address; give it one, as in `{server} A 192.0.2.53`"))
        }
    }

    /// The highest delegation at or above a name.
    fn cut(&self, of: &Name) -> Option<&Name> {
        let depth = name::labels(of.wire()) - name::labels(self.apex.wire());
        let below = suffixes(of.wire()).take(depth).filter_map(|suffix| self.names.get_key_value(suffix));
        below.filter(|(_, content)| content.sets.contains_key(&kind::NS)).map(|(name, _)| name).last()
    }
}

/// Names of zones and servers are whole, with a dot at the end or without.
fn absolute(name: &str) -> Result<Name, String> {
    Name::parse(if name.ends_with('.') { name.into() } else { format!("{name}.") }.as_str(), None)
}
