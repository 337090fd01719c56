//! Under which name a request asks: the service's, or a node's own.
//!
//! Only what asks under the service's name may move, and it moves to a node's own name. So no loop is possible, whatever a client
//! says: one that asks a node under its own name, truly or not, is served there.

/// The names of a node.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    pub(super) service: Host,
}

/// A host, with a port where one is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// In small letters, without the dot of the root.
    name: String,
    port: Option<u16>,
}

impl Hosts {
    /// Whether a request with this host line asks for the service.
    pub(super) fn is_service(&self, line: &str) -> bool {
        Host::read(line).is_some_and(|host| self.service.is_met_by(&host))
    }
}

impl Host {
    /// Reads a host line.
    pub(super) fn read(text: &str) -> Option<Host> {
        let (name, port) = match text.rsplit_once(':') {
            // An address of IPv6 stands in brackets, with its colons.
            Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_host = |letter: char| letter.is_ascii_alphanumeric() || "-._[]:".contains(letter);
        let is_plain = !name.is_empty() && name.chars().all(is_host) && name.starts_with('[') == name.contains(':');
        is_plain.then_some(Host { name, port })
    }

    /// The same; without a port it has this one.
    pub(super) fn read_with(text: &str, port: u16) -> Option<Host> {
        Host::read(text).map(|host| Host { port: host.port.or(Some(port)), ..host })
    }

    /// Whether another host is this one; without a port of its own this one is at all ports.
    pub(super) fn is_met_by(&self, other: &Host) -> bool {
        self.name == other.name && self.port.is_none_or(|port| port == other.port.unwrap_or(80))
    }

    /// Its name, an address of IPv6 without brackets.
    pub(super) fn bare(&self) -> &str {
        self.name.trim_start_matches('[').trim_end_matches(']')
    }

    /// It with its port, where it has one.
    pub(super) fn as_written(&self) -> String {
        self.port.map_or_else(|| self.name.clone(), |port| format!("{}:{port}", self.name))
    }

    /// Its port; 80 where none is said.
    pub(super) fn port(&self) -> u16 {
        self.port.unwrap_or(80)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_name_is_known_however_it_is_written() {
        let hosts = |service: &str| Hosts { service: Host::read(service).expect("a host") };
        for (service, line, is_service) in [
            ("www.example.org", "www.example.org", true),
            ("www.example.org", "WWW.EXAMPLE.org:8080", true),
            ("www.example.org", "www.example.org.", true),
            ("www.example.org", "a.www.example.org", false),
            ("www.example.org", "example.org", false),
            ("www.example.org", "", false),
            ("www.example.org", "www.example.org:http", false),
            ("www.example.org:8080", "www.example.org:8080", true),
            ("www.example.org:8080", "www.example.org:8081", false),
            ("www.example.org:8080", "www.example.org", false),
            ("www.example.org:80", "www.example.org", true),
            ("[::1]", "[::1]:8001", true),
            ("[::1]", "[::2]:8001", false),
            ("localhost", "127.0.0.1:8001", false),
        ] {
            assert_eq!(hosts(service).is_service(line), is_service, "{line} for {service}");
        }
        assert_eq!(Host::read("[::1]:81").map(|host| (host.bare().to_owned(), host.port())), Some(("::1".into(), 81)));
        for bad in ["a b", "http://a", "a:b:80", "::1"] {
            assert_eq!(Host::read(bad), None, "{bad}");
        }
    }
}
