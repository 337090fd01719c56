//! HAProxy's configuration.

use sojourn_part::program::Spot;

use super::Purpose;
use crate::frame::haproxy::logged;
use crate::{Behind, Decider};

pub(super) fn text(decider: &Decider, servers: &[Behind], spot: &Spot<'_>, purpose: Purpose) -> String {
    let balance = match (decider.rule.as_str(), decider.option("avalanche")) {
        // What runs where there is no such line.
        ("default", _) => String::new(),
        (rule @ ("source" | "uri"), Some("false")) => format!("  balance {rule}\n  hash-type consistent sdbm\n"),
        (rule @ ("source" | "uri"), _) => format!("  balance {rule}\n  hash-type consistent\n"),
        (rule, _) => format!("  balance {rule}\n"),
    };
    let (global, defaults, backend, most_of_all) = match purpose {
        Purpose::Run => (
            "  log stdout format raw local0\n",
            // Without its own, the time in the queue is at most that of a connection.
            logged() + "  timeout queue 1h\n  timeout server 1h\n",
            "  http-response set-header x-sojourn-backend %s\n",
            None,
        ),
        Purpose::Comparison { at_most } => (
            "  maxconn 2000\n",
            "  option http-server-close\n  http-reuse never\n  retries 0\n  timeout client 60s\n  timeout server 60s\n"
                .into(),
            "",
            at_most,
        ),
    };
    let line = |Behind { name, address, weight, at_most }: &Behind| {
        let most = at_most.or(most_of_all).map_or(String::new(), |most| format!(" maxconn {most}"));
        format!("  server {name} {address} weight {weight}{most}\n")
    };
    let servers: String = servers.iter().map(line).collect();
    format!(
        "global\n  nbthread 1\n{global}defaults\n  mode http\n  timeout connect 5s\n{defaults}\
         frontend clients\n  bind {}\n  default_backend servers\nbackend servers\n{balance}{backend}{servers}",
        spot.address
    )
}
