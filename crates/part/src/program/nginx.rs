//! nginx: a process per core, each serving any number of connections.

use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};
use sojourn_stats::Span;

use super::files::Worker;
use super::{LISTEN_BACKLOG, Launch, Place, Program};

/// Connections that a worker may hold.
const CONNECTIONS: u64 = 16_384;

pub(super) fn launch(server: &Program, program: &Path, workers: u32, gzip: u32, place: &Place<'_>) -> Launch {
    let Place { root, folder, address, worker } = *place;
    let user = worker.map_or(String::new(), |Worker { name, .. }| format!("user {name};\n"));
    // A connection is a file; more than the system allows would be an error at the first connection too many.
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(_, hard)| hard).min(2 * CONNECTIONS);
    let connections = (files / 2).max(64);
    let keep_alive = match server.keep_alive {
        Span::ZERO => "0".to_owned(),
        _ => format!("{}ms", server.keep_alive_ms()),
    };
    // nginx counts the first request of a connection as well, and knows no "any number".
    let requests = match server.keep_alive_requests {
        0 => u64::from(u32::MAX >> 1),
        further => u64::from(further) + 1,
    };
    let log = if server.access_log { format!("{folder}/access.log") } else { "off".into() };
    let compression = match gzip {
        0 => "gzip off;".to_owned(),
        // By itself nginx compresses nothing for a proxy, which it knows by the header `via`.
        level => {
            format!("gzip on; gzip_comp_level {level}; gzip_types text/plain; gzip_http_version 1.0; gzip_proxied any;")
        }
    };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|part| format!("{part}_temp_path \"{folder}/{part}\";\n"))
        .concat();
    let text = format!(
        "{user}\
         daemon off;\n\
         pid \"{folder}/nginx.pid\";\n\
         error_log \"{folder}/error.log\" notice;\n\
         worker_processes {workers};\n\
         worker_rlimit_nofile {files};\n\
         events {{ worker_connections {connections}; }}\n\
         http {{\n\
         types {{ text/html html; text/plain txt; }}\n\
         default_type application/octet-stream;\n\
         access_log \"{log}\";\n\
         {temporary}\
         sendfile on;\n\
         keepalive_timeout {keep_alive};\n\
         keepalive_requests {requests};\n\
         {compression}\n\
         server {{ listen {address} backlog={LISTEN_BACKLOG}; root \"{root}\"; index index.html; }}\n\
         }}\n"
    );
    let text = text.replace("access_log \"off\"", "access_log off");
    let command = [program.as_os_str().to_owned(), "-c".into(), format!("{folder}/nginx.conf").into()];
    // The prefix and the log of what happens before the configuration is read are the system's otherwise.
    let own = ["-p".into(), folder.into(), "-e".into(), format!("{folder}/error.log").into()];
    Launch { command: command.into_iter().chain(own).collect(), files: vec![("nginx.conf", text)], ..Launch::default() }
}
