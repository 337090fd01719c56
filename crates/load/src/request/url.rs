//! `http://host:port/path` and `https://...`: the addresses that the load generator takes, and where a `Location` that
//! is relative to one leads (RFC 3986, section 5.2).

use std::net::{SocketAddr, ToSocketAddrs};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How to speak to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// In plain text.
    #[default]
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// The port where none is written: 80, and 443 with TLS.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Where to send requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// With or without TLS.
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query, at least `/`. What stands in braces is a [`crate::Template`]'s and may have blanks.
    pub path: String,
}

/// Why a text is not an address to load; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UrlError(String);

impl Url {
    /// Reads `http://host:port/path` or `https://...`; the port is 80 or 443 and the path `/` where they are left out.
    ///
    /// # Errors
    /// One line that names the text and what would be right.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        let wrong = |why: &str| UrlError(format!("`{text}`: {why}, e.g. `http://127.0.0.1:8080/`"));
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong("an address starts with `http://` or `https://`"));
        };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(wrong(&format!("`{scheme}` is not a scheme known here; use `http://` or `https://`"))),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let mut depth = 0u32;
        let odd = |byte: u8| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            !(b' '..0x7f).contains(&byte) || (byte == b' ' && depth == 0)
        };
        if path.bytes().any(odd) {
            return Err(wrong("the path has a character that must be written as %XX"));
        }
        if authority.contains('@') {
            return Err(wrong("a user name in the address is not supported; use a header"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, after) = bracketed.split_once(']').ok_or_else(|| wrong("`[` without `]`"))?;
                let port = match after {
                    "" => None,
                    _ => Some(after.strip_prefix(':').ok_or_else(|| wrong("after `]` comes `:port`"))?),
                };
                (host, port)
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() || host.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return Err(wrong("the host is missing or has a character that no host name has"));
        }
        let port = match port {
            None => scheme.port(),
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => return Err(wrong(&format!("`{digits}` is not a port from 1 to 65535"))),
            },
        };
        Ok(Url { scheme, host: host.to_owned(), port, path })
    }

    /// Where `location`, found at this address, leads: another address, or a path of the same host. A fragment is left
    /// out.
    ///
    /// # Errors
    /// When that is no http(s) address.
    pub fn join(&self, location: &str) -> Result<Url, UrlError> {
        let location = location.split('#').next().unwrap_or_default();
        let colon = location.find(':').unwrap_or(usize::MAX);
        if colon < location.find(['/', '?']).unwrap_or(usize::MAX) {
            return Url::parse(location);
        }
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        if location.starts_with("//") {
            return Url::parse(&format!("{scheme}:{location}"));
        }
        let (own, query) =
            self.path.split_once('?').map_or((self.path.as_str(), None), |(own, query)| (own, Some(query)));
        let path = match location.as_bytes().first() {
            None => query.map_or(own.to_owned(), |query| format!("{own}?{query}")),
            Some(b'?') => format!("{own}{location}"),
            Some(b'/') => without_dots(location),
            Some(_) => without_dots(&format!("{}{location}", &own[..=own.rfind('/').unwrap_or(0)])),
        };
        Url::parse(&format!("{scheme}://{}{path}", self.authority()))
    }

    /// The `host` header: with the port unless it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }

    /// The socket address, by the system's resolver; the first one it names.
    ///
    /// # Errors
    /// When the name is not known.
    pub fn resolve(&self) -> Result<SocketAddr, UrlError> {
        let unknown = |why: String| UrlError(format!("host `{}` has no address: {why}", self.host));
        let mut found =
            (self.host.as_str(), self.port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        found.next().ok_or_else(|| unknown("the name is known but has none".to_owned()))
    }
}

/// `path` without its `.` and `..` segments (RFC 3986, section 5.2.4); the query stays as it is.
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut segments: Vec<&str> = Vec::new();
    let all: Vec<&str> = path.split('/').skip(1).collect();
    for (at, segment) in all.iter().enumerate() {
        let last = at + 1 == all.len();
        match *segment {
            "." if last => segments.push(""),
            "." => {}
            ".." => {
                segments.pop();
                if last {
                    segments.push("");
                }
            }
            other => segments.push(other),
        }
    }
    format!("/{}{query}", segments.join("/"))
}
