//! What a program is told of its request: the meta-variables of RFC 3875, section 4.1.

use std::net::IpAddr;
use std::path::Path;

use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use hyper::{Request, Version};

use super::scripts::Script;

/// What is known of a request besides its head.
pub(super) struct Call {
    pub(super) client: IpAddr,
    /// The node's own port.
    pub(super) port: u16,
    /// Bytes of its body; none where it has none.
    pub(super) length: Option<u64>,
}

/// The variables of a request for `script`, whose site is in `root`.
///
/// Two are more than the standard has because programs rely on them: `SCRIPT_FILENAME`, and `REDIRECT_STATUS`, without which PHP
/// refuses. A header `Proxy` is left out, which some programs would take for their own setting, and so are headers with an
/// underscore, which could pass for another one.
pub(super) fn variables(request: &Request<()>, script: &Script, root: &Path, call: &Call) -> Vec<(String, Vec<u8>)> {
    let headers = request.headers();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let port_at = host.rfind(':').filter(|at| !host[*at..].contains(']'));
    let name = port_at.map_or(host, |at| &host[..at]);
    let uri = request.uri();
    let mut all: Vec<(String, Vec<u8>)> = Vec::with_capacity(24 + headers.len());
    let mut set = |name: &str, value: &[u8]| all.push((name.to_owned(), value.to_vec()));
    set("GATEWAY_INTERFACE", b"CGI/1.1");
    set("SERVER_SOFTWARE", concat!("sojourn/", env!("CARGO_PKG_VERSION")).as_bytes());
    set("SERVER_PROTOCOL", protocol(request.version()));
    set("SERVER_NAME", if name.is_empty() { b"localhost" } else { name.as_bytes() });
    set("SERVER_PORT", call.port.to_string().as_bytes());
    set("REQUEST_METHOD", request.method().as_str().as_bytes());
    set("REQUEST_URI", uri.path_and_query().map_or("/", |target| target.as_str()).as_bytes());
    set("QUERY_STRING", uri.query().unwrap_or("").as_bytes());
    set("SCRIPT_NAME", script.name.as_bytes());
    set("SCRIPT_FILENAME", script.file.as_os_str().as_encoded_bytes());
    set("DOCUMENT_ROOT", root.as_os_str().as_encoded_bytes());
    set("REDIRECT_STATUS", b"200");
    set("REMOTE_ADDR", call.client.to_string().as_bytes());
    set("REMOTE_HOST", call.client.to_string().as_bytes());
    if !script.info.is_empty() {
        set("PATH_INFO", script.info.as_bytes());
        let translated = root.join(script.info.trim_start_matches('/'));
        set("PATH_TRANSLATED", translated.as_os_str().as_encoded_bytes());
    }
    if let Some(length) = call.length {
        set("CONTENT_LENGTH", length.to_string().as_bytes());
    }
    if let Some(media_type) = headers.get(CONTENT_TYPE) {
        set("CONTENT_TYPE", media_type.as_bytes());
    }
    for header in headers.keys() {
        let is_told = [CONTENT_LENGTH, CONTENT_TYPE].contains(header);
        if is_told || header == "proxy" || header.as_str().contains('_') {
            continue;
        }
        let lines: Vec<&[u8]> = headers.get_all(header).iter().map(|line| line.as_bytes()).collect();
        // A cookie's lines are parts of one (RFC 9113, section 8.2.3); all others are lists.
        let value = lines.join(if header == "cookie" { &b"; "[..] } else { b", " });
        all.push((format!("HTTP_{}", header.as_str().replace('-', "_").to_ascii_uppercase()), value));
    }
    all
}

fn protocol(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_10 => b"HTTP/1.0",
        Version::HTTP_2 => b"HTTP/2.0",
        _ => b"HTTP/1.1",
    }
}
