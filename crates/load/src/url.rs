//! `http://host:port/path`: the one form of address that the load generator takes.

use std::net::{SocketAddr, ToSocketAddrs};

use thiserror::Error;

/// Where to send requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query, at least `/`.
    pub path: String,
}

/// Why a text is not an address to load; the message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UrlError(String);

impl Url {
    /// Reads `http://host:port/path`; the port is 80 and the path `/` where they are left out.
    ///
    /// # Errors
    /// One line that names the text and what would be right.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        let wrong = |why: &str| UrlError(format!("`{text}`: {why}, e.g. `http://127.0.0.1:8080/`"));
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong("an address starts with `http://`"));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => return Err(wrong("https is not supported yet; use `http://`")),
            _ => return Err(wrong(&format!("`{scheme}` is not a scheme known here; use `http://`"))),
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if path.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
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
            None => 80,
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => return Err(wrong(&format!("`{digits}` is not a port from 1 to 65535"))),
            },
        };
        Ok(Url { host: host.to_owned(), port, path })
    }

    /// The `host` header: with the port unless it is 80.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == 80 { host } else { format!("{host}:{}", self.port) }
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
