//! Envoy's bootstrap in YAML: a listener and a route around a cluster.
//!
//! Fields are those of `envoy/config/bootstrap/v3/bootstrap.proto` and what it names. A host has its name in its metadata,
//! where the access log and the header of replies find it.

use std::net::SocketAddr;

use sojourn_part::program::Spot;

use crate::choice::OF_ENVOY;

/// What a bootstrap is made of.
pub(crate) struct Bootstrap<'a> {
    pub(crate) spot: &'a Spot<'a>,
    /// Whether each decision is logged, and each reply says who gave it.
    pub(crate) is_logged: bool,
    /// The header that a rule by a hash reads, if any.
    pub(crate) hashed: Option<&'a str>,
    /// The name of the cluster.
    pub(crate) name: &'a str,
    /// The cluster, as an element of the list of clusters.
    pub(crate) cluster: &'a str,
}

/// A listener whose requests all go to one cluster.
pub(crate) fn bootstrap(Bootstrap { spot, is_logged, hashed, name, cluster }: &Bootstrap<'_>) -> String {
    let (log, header) = if *is_logged { (access_log(spot), REPLY_HEADER) } else { (String::new(), "") };
    let hashed = hashed
        .map_or(String::new(), |header| format!(", hash_policy: [{{ header: {{ header_name: \"{header}\" }} }}]"));
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
                route: {{ cluster: {name}, timeout: 3600s{hashed} }}
{header}  clusters:
{cluster}"#,
        listen = socket(&spot.address),
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
                text_format_source: {{ inline_string: "{OF_ENVOY}\n" }}
"#,
        spot.access_log.display()
    )
}

/// An address, as a field has it.
pub(crate) fn socket(address: &SocketAddr) -> String {
    format!("{{ socket_address: {{ address: \"{}\", port_value: {} }} }}", address.ip(), address.port())
}
