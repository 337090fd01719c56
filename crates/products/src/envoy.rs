//! Reads Envoy's bootstrap in YAML or JSON: static clusters, and the routes that lead to them.
//!
//! Fields are those of `envoy/config/bootstrap/v3/bootstrap.proto`, `cluster/v3/cluster.proto`, `endpoint/v3/endpoint.proto` and
//! `route/v3/route_components.proto`. Clusters whose endpoints a server sends later (EDS) have none here.

mod cluster;
mod node;
mod route;

use std::collections::HashMap;
use std::sync::Arc;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::Configuration;

use cluster::SERVERS_MAX;
use node::{Node, Value};

/// Parts of a bootstrap that do not matter here.
const PASSED_OVER: [&str; 20] = [
    "admin",
    "application_log_config",
    "bootstrap_extensions",
    "cluster_manager",
    "default_regex_engine",
    "default_socket_interface",
    "fatal_actions",
    "flags_path",
    "header_prefix",
    "layered_runtime",
    "memory_allocator_manager",
    "node",
    "node_context_params",
    "overload_manager",
    "perf_tracing_file_path",
    "stats_config",
    "stats_flush_interval",
    "stats_sinks",
    "tracing",
    "watchdogs",
];

/// Reads `text`, which stands in the file called `name`.
///
/// # Errors
/// On what is no YAML, has no static clusters, or what Envoy refuses of them: the file, the line, and what would be right.
pub fn read(name: &str, text: &str) -> Result<Configuration, ImportError> {
    let file: Arc<str> = name.into();
    let at = |line: usize| FileLine::new(&file, line);
    let root: Node = node::parse(text).map_err(|(line, why)| at(line).refused(plainly(&why)))?;
    if !matches!(root.value, Value::Map(_)) {
        return Err(at(root.line.max(1)).refused("Envoy's configuration is a map, with `static_resources` in it"));
    }
    let mut notes = Notes::default();
    for (key, value) in root.entries() {
        match key.as_str() {
            "static_resources" => {}
            "dynamic_resources" => {
                let text = "dynamic_resources: what a server sends later is not in this file";
                notes.add(&at(value.line), Reading::LeftOut, text);
            }
            key if PASSED_OVER.contains(&key) => notes.pass_over(&at(value.line), key),
            key => notes.not_understood(&at(value.line), key),
        }
    }
    let routes = route::routes(&root, &at);
    let clusters = root.at(&["static_resources", "clusters"]).map_or(&[][..], Node::list);
    let (mut pools, mut names, mut servers) = (Vec::new(), HashMap::new(), 0);
    for cluster in clusters {
        let pool = cluster::pool(cluster, &routes, &at)?;
        if let Some(before) = names.insert(pool.name.clone(), pool.at.clone()) {
            return Err(pool.at.refused(format!("a cluster `{}` was there already, at {before}", cut(&pool.name))));
        }
        servers += pool.servers.len();
        if servers > SERVERS_MAX {
            return Err(pool.at.refused(format!("these are more than {SERVERS_MAX} servers")));
        }
        if pool.servers.is_empty() {
            let text = format!("cluster `{}` has no endpoints in this file", cut(&pool.name));
            notes.add(&pool.at, Reading::LeftOut, text);
        } else {
            pools.push(pool);
        }
    }
    Ok(Configuration { pools, notes })
}

/// The text as plain values.
///
/// # Errors
/// The line, and what is wrong.
pub(crate) fn parse(text: &str) -> Result<serde_json::Value, (usize, String)> {
    node::parse(text)
}

/// What the reader of YAML says, without the line, which stands before it.
fn plainly(why: &str) -> String {
    let why = why.split(" at line ").next().unwrap_or(why).trim_end_matches([',', ':', ' ']);
    format!("it is no YAML that can be read: {}", cut_long(why))
}

fn cut_long(text: &str) -> &str {
    text.char_indices().nth(160).map_or(text, |(end, _)| &text[..end])
}
