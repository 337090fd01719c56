//! Ways to clusters: routes of HTTP with their time-outs, retries and hashes, and proxies of TCP.
//!
//! They stand deep inside of filters of listeners, each in a shape of its own. What names a cluster is the same in all: a map
//! with `cluster` or `weighted_clusters`.

use std::collections::HashMap;

use sojourn_stats::Span;

use crate::note::{FileLine, cut};
use crate::pool::HashKey;

use super::node::{Node, Value};

/// A way to a cluster.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) at: FileLine,
    /// How long a reply is waited for; none for ever. None of it all where it is no route of HTTP.
    pub(super) timeout: Option<(Option<Span>, Option<FileLine>)>,
    pub(super) key: Option<HashKey>,
    /// Sentences of what it says besides.
    pub(super) notes: Vec<(FileLine, String)>,
}

/// How long Envoy waits where a route says nothing (`RouteAction.timeout`).
const DEFAULT_TIMEOUT: Span = Span(15_000_000_000);

/// The ways to each cluster, by its name.
pub(super) fn routes(root: &Node, at: &dyn Fn(usize) -> FileLine) -> HashMap<String, Vec<Way>> {
    let mut found = HashMap::new();
    if let Some(listeners) = root.at(&["static_resources", "listeners"]) {
        walk(listeners, at, &mut found);
    }
    found
}

fn walk(node: &Node, at: &dyn Fn(usize) -> FileLine, found: &mut HashMap<String, Vec<Way>>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::List(nodes) => nodes.iter().for_each(|node| walk(node, at, found)),
        Value::Map(entries) => {
            if let Some(name) = node.get("cluster").and_then(Node::text) {
                let line = node.get("cluster").map_or(node.line, |cluster| cluster.line);
                found.entry(name.to_owned()).or_default().push(way(node, line, at));
            }
            for part in node.at(&["weighted_clusters", "clusters"]).map_or(&[][..], Node::list) {
                if let Some(name) = part.get("name").and_then(Node::text) {
                    let mut way = way(node, part.line, at);
                    let weight = part.get("weight").and_then(Node::text).unwrap_or("1");
                    let text = format!("a part of the requests of a route comes here, of weight {}", cut(weight));
                    way.notes.push((at(part.line), text));
                    found.entry(name.to_owned()).or_default().push(way);
                }
            }
            for (key, value) in entries {
                // A request that is sent to a second cluster besides is not served by it.
                if key != "request_mirror_policies" {
                    walk(value, at, found);
                }
            }
        }
    }
}

fn way(node: &Node, line: usize, at: &dyn Fn(usize) -> FileLine) -> Way {
    let mut notes = Vec::new();
    let is_of_tcp = node.get("@type").and_then(Node::text).is_some_and(|name| name.ends_with("TcpProxy"));
    if is_of_tcp {
        notes.push((at(line), "tcp_proxy: a host is chosen for each connection; here for each request".to_owned()));
    }
    let timeout = match node.get("timeout") {
        _ if is_of_tcp => None,
        None => Some((Some(DEFAULT_TIMEOUT), None)),
        Some(written) => match written.text().and_then(|text| duration(text).ok()) {
            Some(span) => Some(((span > Span::ZERO).then_some(span), Some(at(written.line)))),
            None => Some((Some(DEFAULT_TIMEOUT), None)),
        },
    };
    if let Some(retries) = node.get("retry_policy") {
        let text = |key: &str| retries.get(key).and_then(Node::text).map(|text| format!(" {key} {}", cut(text)));
        let said =
            ["retry_on", "num_retries", "per_try_timeout"].iter().filter_map(|key| text(key)).collect::<String>();
        notes.push((at(retries.line), format!("retry_policy{said}: requests are not tried again here")));
    }
    for key in ["hedge_policy", "rate_limits", "max_stream_duration", "idle_timeout"] {
        if let Some(written) = node.get(key) {
            notes.push((at(written.line), format!("{key} of a route: it is not here")));
        }
    }
    let policies = node.get("hash_policy").map_or(&[][..], Node::list);
    Way { at: at(line), timeout, key: policies.first().map(hash_key), notes }
}

/// What the first of the hash policies hashes.
fn hash_key(policy: &Node) -> HashKey {
    let header = policy.at(&["header", "header_name"]).and_then(Node::text);
    let is_source = policy.at(&["connection_properties", "source_ip"]).and_then(Node::text) == Some("true");
    match header {
        Some(":path") => HashKey::Path,
        _ if is_source => HashKey::Client,
        _ => HashKey::Other,
    }
}

/// A duration of protobuf's JSON: `0.25s`.
///
/// # Errors
/// What would be right.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    let wrong = || format!("`{}` is no duration, such as 0.25s", cut(text));
    let number = text.strip_suffix('s').ok_or_else(wrong)?;
    let is_plain =
        number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds: f64 = number.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
    match seconds <= 315_576_000_000.0 {
        true => Ok(Span::from_secs_f64(seconds)),
        false => Err(wrong()),
    }
}
