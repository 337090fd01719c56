//! Envoy's bootstrap: the cluster, with other endpoints.

use serde_json::{Map, Value, json};
use sojourn_part::program::Spot;

use super::Replaced;
use crate::frame::envoy::{Bootstrap, bootstrap};
use crate::note::ImportError;
use crate::pool::Pool;

/// Fields of a cluster that say where its hosts come from, how they are checked, and in what protocol they are asked.
const LEFT_OUT: [&str; 20] = [
    "cluster_type",
    "dns_failure_refresh_rate",
    "dns_jitter",
    "dns_lookup_family",
    "dns_refresh_rate",
    "dns_resolution_config",
    "dns_resolvers",
    "eds_cluster_config",
    "health_checks",
    "http2_protocol_options",
    "lb_subset_config",
    "load_assignment",
    "lrs_server",
    "respect_dns_ttl",
    "transport_socket",
    "transport_socket_matches",
    "type",
    "typed_dns_resolver_config",
    "typed_extension_protocol_options",
    "upstream_bind_config",
];

/// What is taken of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    cluster: Map<String, Value>,
    left_out: Vec<String>,
    is_by_hash: bool,
}

impl Taken {
    pub(super) fn of(text: &str, pool: &Pool) -> Result<Taken, ImportError> {
        let root: Value = crate::envoy::parse(text).map_err(|(_, why)| pool.at.refused(why))?;
        let resources = field(&root, "static_resources").and_then(|resources| field(resources, "clusters"));
        let clusters = resources.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_own = |cluster: &&Value| cluster.get("name").and_then(Value::as_str) == Some(&pool.name);
        let Some(Value::Object(cluster)) = clusters.iter().find(is_own) else {
            return Err(pool.at.refused("no cluster begins here"));
        };
        let mut cluster = cluster.clone();
        let is_out = |key: &String| LEFT_OUT.contains(&snake(key).as_str());
        let left_out: Vec<String> = cluster.keys().filter(|key| is_out(key)).cloned().collect();
        left_out.iter().for_each(|key| drop(cluster.remove(key)));
        Ok(Taken { cluster, left_out, is_by_hash: pool.rule.key.is_some() })
    }

    pub(super) fn text(&self, servers: &[Replaced<'_>], spot: &Spot<'_>) -> String {
        let host = |Replaced { behind, .. }: &Replaced<'_>| {
            let (address, port) = (behind.address.ip().to_string(), behind.address.port());
            json!({
                "endpoint": { "address": { "socket_address": { "address": address, "port_value": port } } },
                "load_balancing_weight": behind.weight,
                "metadata": { "filter_metadata": { "sojourn": { "name": behind.name } } },
            })
        };
        let hosts: Vec<Value> = servers.iter().map(host).collect();
        let mut cluster = self.cluster.clone();
        let name = cluster.get("name").cloned().unwrap_or_default();
        cluster.insert("type".into(), "STATIC".into());
        cluster.insert(
            "load_assignment".into(),
            json!({ "cluster_name": name, "endpoints": [{ "lb_endpoints": hosts }] }),
        );
        let cluster = serde_json::to_string_pretty(&cluster).expect("it is plain JSON").replace('\n', "\n    ");
        let left_out: String = self.left_out.iter().map(|key| format!("  # left out: {key}\n")).collect();
        bootstrap(&Bootstrap {
            spot,
            is_logged: true,
            hashed: if self.is_by_hash { Some(":path") } else { None },
            name: &name.to_string(),
            cluster: &format!("{left_out}  - {cluster}\n"),
        })
    }
}

/// A field, `lb_policy` or `lbPolicy`.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_object()?.iter().find(|(key, _)| snake(key) == name).map(|(_, value)| value)
}

/// `lbPolicy` as `lb_policy`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
