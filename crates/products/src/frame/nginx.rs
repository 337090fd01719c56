//! nginx's log and files.

use std::path::Path;

use crate::Behind;
use crate::choice::OF_NGINX;

/// What gives each choice a name, and has it logged.
pub(crate) fn logged<'a>(servers: impl Iterator<Item = &'a Behind>, access_log: &Path) -> String {
    let names: String = servers.map(|server| format!("    \"{}\" {};\n", server.address, server.name)).collect();
    format!(
        "  map $upstream_addr $sojourn_backend {{\n{names}  }}\n  log_format decided '{OF_NGINX}';\n  access_log \"{}\" \
         decided;\n  keepalive_requests 1000000000;\n",
        access_log.display()
    )
}

/// Where nginx keeps what is too large for its memory, in a folder of its own.
pub(crate) fn temporary(folder: &str) -> String {
    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|part| format!("  {part}_temp_path \"{folder}/{part}\";\n"))
        .concat()
}
