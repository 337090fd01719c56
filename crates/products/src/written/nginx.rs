//! nginx's configuration.

use sojourn_part::program::Spot;

use super::Purpose;
use crate::frame::nginx::{logged, temporary};
use crate::{Behind, Decider};

/// Connections that are kept open to the servers.
const KEPT: u32 = 256;

pub(super) fn text(decider: &Decider, servers: &[Behind], spot: &Spot<'_>, purpose: Purpose) -> String {
    let Spot { address, folder, access_log, user } = spot;
    let user = user.map_or(String::new(), |user| format!("user {user};\n"));
    let temporary = temporary(&folder.display().to_string());
    let method = match decider.rule.as_str() {
        "round-robin" => String::new(),
        "hash consistent" => "    hash $request_uri consistent;\n".to_owned(),
        method => format!("    {method};\n"),
    };
    let of = |line: fn(&Behind) -> String| servers.iter().map(line).collect::<String>();
    let lines = of(|Behind { address, weight, at_most, .. }| {
        let most = at_most.map_or(String::new(), |most| format!(" max_conns={most}"));
        format!("    server {address} weight={weight} max_fails=0{most};\n")
    });
    let (log, upstream, location) = match purpose {
        Purpose::Run => (
            logged(servers.iter(), access_log),
            format!("    keepalive {KEPT};\n    keepalive_requests 1000000000;\n"),
            "      proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      proxy_read_timeout 1h;\n      \
             proxy_hide_header x-sojourn-backend;\n      add_header x-sojourn-backend $sojourn_backend always;\n",
        ),
        Purpose::Comparison { .. } => {
            ("  access_log off;\n".to_owned(), String::new(), "      proxy_next_upstream off;\n")
        }
    };
    format!(
        "{user}daemon off;\npid \"{}/nginx.pid\";\nworker_processes 1;\nevents {{ worker_connections 8192; }}\n\
         http {{\n{temporary}{log}  upstream servers {{\n{method}{lines}{upstream}  }}\n  server {{\n    listen {address} \
         backlog=4096;\n    location / {{\n      proxy_pass http://servers;\n{location}    }}\n  }}\n}}\n",
        folder.display()
    )
}
