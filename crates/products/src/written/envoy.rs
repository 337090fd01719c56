//! Envoy's configuration, a bootstrap in YAML: a listener, a route, a cluster.
//!
//! Fields are those of `envoy/config/bootstrap/v3/bootstrap.proto` and what it names. A host has its name in its metadata,
//! where the access log and the header of replies find it.

use sojourn_part::program::Spot;

use super::Purpose;
use crate::{Behind, Decider};

/// Envoy refuses what is above these by itself (circuit breakers), from 1,024 on where nothing is said.
const MOST: u32 = 1_000_000;

pub(crate) fn text(decider: &Decider, servers: &[Behind], spot: &Spot<'_>, purpose: Purpose) -> String {
    let (log, hashed, header) = match purpose {
        Purpose::Run => (access_log(spot), ":path", REPLY_HEADER),
        Purpose::Comparison { .. } => (String::new(), "x-key", ""),
    };
    let host = |Behind { name, address, weight }: &Behind| {
        format!(
            "        - endpoint: {{ address: {} }}\n          load_balancing_weight: {weight}\n          metadata: {{ \
             filter_metadata: {{ sojourn: {{ name: \"{name}\" }} }} }}\n",
            socket(address)
        )
    };
    let hosts: String = servers.iter().map(host).collect();
    format!(
        r#"static_resources:
  listeners:
  - name: clients
    address: {listen}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: clients
          stream_idle_timeout: 3600s
{log}          http_filters:
          - name: router
            typed_config: {{ "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {{ prefix: / }}
                route: {{ cluster: servers, timeout: 3600s, hash_policy: [{{ header: {{ header_name: "{hashed}" }} }}] }}
{header}  clusters:
  - name: servers
    type: STATIC
    connect_timeout: 5s
{policy}    circuit_breakers:
      thresholds: [{{ max_connections: {MOST}, max_pending_requests: {MOST}, max_requests: {MOST} }}]
    load_assignment:
      cluster_name: servers
      endpoints:
      - lb_endpoints:
{hosts}"#,
        listen = socket(&spot.address),
        policy = policy(decider)
    )
}

/// Each reply says which host gave it.
const REPLY_HEADER: &str = r#"                response_headers_to_add:
                - header: { key: x-sojourn-backend, value: "%UPSTREAM_METADATA([\"sojourn\", \"name\"])%" }
                  append_action: OVERWRITE_IF_EXISTS_OR_ADD
"#;

fn access_log(spot: &Spot<'_>) -> String {
    format!(
        r#"          access_log:
          - name: decided
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: "{}"
              log_format:
                text_format_source: {{ inline_string: "%UPSTREAM_METADATA(sojourn:name)% %RESPONSE_CODE%\n" }}
"#,
        spot.access_log.display()
    )
}

fn socket(address: &std::net::SocketAddr) -> String {
    format!("{{ socket_address: {{ address: \"{}\", port_value: {} }} }}", address.ip(), address.port())
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
