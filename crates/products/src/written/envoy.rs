//! Envoy's cluster, in YAML: fields of `envoy/config/cluster/v3/cluster.proto`.

use sojourn_part::program::Spot;

use super::Purpose;
use crate::frame::envoy::{Bootstrap, bootstrap, socket};
use crate::{Behind, Decider};

/// Envoy refuses what is above these by itself (circuit breakers), from 1,024 on where nothing is said.
const MOST: u32 = 1_000_000;

pub(super) fn text(decider: &Decider, servers: &[Behind], spot: &Spot<'_>, purpose: Purpose) -> String {
    let host = |Behind { name, address, weight, .. }: &Behind| {
        format!(
            "        - endpoint: {{ address: {} }}\n          load_balancing_weight: {weight}\n          metadata: {{ \
             filter_metadata: {{ sojourn: {{ name: \"{name}\" }} }} }}\n",
            socket(address)
        )
    };
    let hosts: String = servers.iter().map(host).collect();
    let cluster = format!(
        r#"  - name: servers
    type: STATIC
    connect_timeout: 5s
{policy}    circuit_breakers:
      thresholds: [{{ max_connections: {MOST}, max_pending_requests: {MOST}, max_requests: {MOST} }}]
    load_assignment:
      cluster_name: servers
      endpoints:
      - lb_endpoints:
{hosts}"#,
        policy = policy(decider)
    );
    let is_logged = purpose == Purpose::Run;
    let hashed = Some(if is_logged { ":path" } else { "x-key" });
    bootstrap(&Bootstrap { spot, is_logged, hashed, name: "servers", cluster: &cluster })
}

/// The policy of the cluster, with the settings that the rule names.
fn policy(decider: &Decider) -> String {
    let option = |ours: &str, theirs: &str| decider.option(ours).map(|value| format!("{theirs}: {value}"));
    let bias = decider.option("bias");
    let settings = |name: &str, fields: Vec<Option<String>>| {
        let fields: Vec<String> = fields.into_iter().flatten().collect();
        if fields.is_empty() { String::new() } else { format!("    {name}_lb_config: {{ {} }}\n", fields.join(", ")) }
    };
    let (name, settings) = match decider.rule.to_ascii_lowercase().replace('_', "-").as_str() {
        "least-request" if decider.option("scan") == Some("full") => {
            let bias = bias.map_or(String::new(), |bias| {
                format!(", active_request_bias: {{ default_value: {bias}, runtime_key: sojourn.bias }}")
            });
            return format!(
                "    load_balancing_policy:\n      policies:\n      - typed_extension_config:\n          name: scan\n          \
                 typed_config: {{ \"@type\": type.googleapis.com/envoy.extensions.load_balancing_policies.least_request.v3.\
                 LeastRequest, selection_method: FULL_SCAN{bias} }}\n"
            );
        }
        "least-request" => {
            let bias =
                bias.map(|bias| format!("active_request_bias: {{ default_value: {bias}, runtime_key: sojourn.bias }}"));
            ("LEAST_REQUEST", settings("least_request", vec![option("choices", "choice_count"), bias]))
        }
        "ring-hash" => {
            let sizes = vec![option("minimum", "minimum_ring_size"), option("maximum", "maximum_ring_size")];
            ("RING_HASH", settings("ring_hash", sizes))
        }
        "maglev" => ("MAGLEV", settings("maglev", vec![option("table", "table_size")])),
        "random" => ("RANDOM", String::new()),
        _ => ("ROUND_ROBIN", String::new()),
    };
    format!("    lb_policy: {name}\n{settings}")
}
