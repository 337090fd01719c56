//! A cluster: its endpoints with weights and priorities, and how one is chosen (`cluster.proto`, `endpoint.proto`).

use std::collections::HashMap;

use sojourn_stats::unknown;

use crate::note::{FileLine, ImportError, Notes, Reading, cut};
use crate::pool::{Pool, PoolServer, Rule, Standing, Timeout, WhenFull};

use super::node::Node;
use super::route::{Way, duration};

/// Most servers of a configuration: as many as an experiment has.
pub(super) const SERVERS_MAX: usize = 100_000;

/// The policies of a cluster: Envoy's names, their numbers in `Cluster.LbPolicy`, and ours.
const POLICIES: [(&str, &str, &str); 5] = [
    ("ROUND_ROBIN", "0", "round-robin"),
    ("LEAST_REQUEST", "1", "least-request"),
    ("RING_HASH", "2", "ring-hash"),
    ("RANDOM", "3", "random"),
    ("MAGLEV", "5", "maglev"),
];

/// Fields that concern neither who serves a request nor how long it waits, or are read elsewhere.
const PASSED_OVER: [&str; 35] = [
    "alt_stat_name",
    "cleanup_interval",
    "cluster_type",
    "common_http_protocol_options",
    "connect_timeout",
    "dns_failure_refresh_rate",
    "dns_jitter",
    "dns_lookup_family",
    "dns_refresh_rate",
    "dns_resolution_config",
    "dns_resolvers",
    "eds_cluster_config",
    "filters",
    "http2_protocol_options",
    "http_protocol_options",
    "ignore_health_on_host_removal",
    "least_request_lb_config",
    "lrs_server",
    "maglev_lb_config",
    "max_requests_per_connection",
    "metadata",
    "per_connection_buffer_limit_bytes",
    "preconnect_policy",
    "respect_dns_ttl",
    "ring_hash_lb_config",
    "round_robin_lb_config",
    "track_cluster_stats",
    "transport_socket",
    "transport_socket_matches",
    "typed_dns_resolver_config",
    "typed_extension_protocol_options",
    "upstream_bind_config",
    "upstream_config",
    "upstream_connection_options",
    "use_tcp_for_dns_lookups",
];

/// Fields whose meaning is known and has no place in a pool, and what it is.
const LEFT_OUT: [(&str, &str); 9] = [
    ("circuit_breakers", "beyond these numbers of all hosts together requests are refused; here they are not"),
    (
        "outlier_detection",
        "hosts that fail are left out for a while; a simulated gateway looks at them each second (`ejection` of a tier is it)",
    ),
    ("health_checks", "hosts that fail them are left out; a simulated gateway looks at them each second"),
    ("lb_subset_config", "some requests go to some hosts only; here to all"),
    ("track_timeout_budgets", "it has no part here"),
    ("wait_for_warm_on_init", "it has no part here"),
    ("close_connections_on_host_health_failure", "requests at a host that fails end; here they go on"),
    ("connection_pool_per_downstream_connection", "each client has connections of its own"),
    ("slow_start_config", "a host that comes gets its share bit by bit; here at once"),
];

/// The pool of a cluster.
pub(super) fn pool(
    cluster: &Node,
    routes: &HashMap<String, Vec<Way>>,
    at: &dyn Fn(usize) -> FileLine,
) -> Result<Pool, ImportError> {
    let begin = at(cluster.line.max(1));
    let name = cluster.get("name").and_then(Node::text).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| begin.refused("a cluster needs a `name`"))?;
    if let Some(written) = cluster.get("connect_timeout") {
        let refused = |why: String| at(written.line).refused(format!("connect_timeout: {why}"));
        duration(written.text().unwrap_or_default()).map_err(refused)?;
    }
    let mut notes = Notes::default();
    let ways = routes.get(name).map_or(&[][..], Vec::as_slice);
    let mut rule = rule(cluster, at, &mut notes)?;
    rule.key = match rule.name.starts_with("ring-hash") || rule.name.starts_with("maglev") {
        false => None,
        true => match ways.iter().find_map(|way| way.key) {
            Some(key) => Some(key),
            None => {
                let text = format!("{}: no route has a hash_policy, so Envoy draws at random", rule.name);
                notes.add(rule.said.as_ref().unwrap_or(&begin), Reading::Used, text);
                rule.name = "random".into();
                None
            }
        },
    };
    let mut servers = Vec::new();
    for (index, group) in cluster.at(&["load_assignment", "endpoints"]).map_or(&[][..], Node::list).iter().enumerate() {
        endpoints(group, at, &mut servers, &mut notes)?;
        if let Some(weight) = group.get("load_balancing_weight").filter(|_| index < 100) {
            let text = "load_balancing_weight of a locality: it counts only where clusters weigh localities";
            notes.add(&at(weight.line), Reading::LeftOut, text);
        }
    }
    names_of_the_dns(cluster, &servers, at, &mut notes);
    for (key, value) in cluster.entries() {
        other(key, value, at, &mut notes);
    }
    for way in ways {
        notes.add(
            &way.at,
            Reading::LeftOut,
            "requests of this route come here; the rate is that of all routes together",
        );
        for (line, text) in &way.notes {
            notes.add(line, Reading::LeftOut, text);
        }
    }
    Ok(Pool {
        name: name.into(),
        at: begin,
        rule,
        servers,
        when_full: WhenFull::Refused,
        timeout: timeout(ways, &mut notes),
        workers: None,
        notes,
        inherited: Vec::new(),
    })
}

/// The time-out of the first way that has one; the others are notes.
fn timeout(ways: &[Way], notes: &mut Notes) -> Option<Timeout> {
    let mut known = ways.iter().filter_map(|way| way.timeout.as_ref().map(|timeout| (timeout, &way.at)));
    let ((first, said), _) = known.next()?;
    for ((span, _), at) in known.filter(|((span, _), _)| span != first) {
        let span = span.map_or("for ever".to_owned(), |span| span.to_string());
        notes.add(at, Reading::LeftOut, format!("another time-out holds for a part of the requests: {span}"));
    }
    first.map(|span| Timeout { span, said: said.clone() })
}

fn rule(cluster: &Node, at: &dyn Fn(usize) -> FileLine, notes: &mut Notes) -> Result<Rule, ImportError> {
    let plain =
        |name: String, said: Option<FileLine>| Rule { name, said, key: None, is_consistent: true, is_mixed: false };
    if let Some(policy) = cluster.get("load_balancing_policy") {
        let first = policy.get("policies").and_then(|policies| policies.list().first());
        let config = first.and_then(|first| first.get("typed_extension_config"));
        let kind = config.and_then(|config| config.at(&["typed_config", "@type"])).and_then(Node::text);
        let kind = kind.unwrap_or_default().rsplit('.').next().unwrap_or_default().to_owned();
        let name = match kind.as_str() {
            "RoundRobin" => "round-robin",
            "LeastRequest" => "least-request",
            "RingHash" => "ring-hash",
            "Maglev" => "maglev",
            "Random" => "random",
            other => {
                let line = at(policy.line);
                notes.add(
                    &line,
                    Reading::NotUnderstood,
                    format!("\"load_balancing_policy\" {} is not understood; taken as round-robin", cut(other)),
                );
                return Ok(plain("round-robin".into(), Some(line)));
            }
        };
        let settings = config.and_then(|config| config.get("typed_config"));
        return Ok(plain(with_settings(name, settings, at, notes)?, Some(at(policy.line))));
    }
    let Some(written) = cluster.get("lb_policy") else { return Ok(plain("round-robin".into(), None)) };
    let said = Some(at(written.line));
    let text = written.text().unwrap_or_default();
    let found = POLICIES.iter().find(|(name, number, _)| *name == text || *number == text);
    match (found, text) {
        (Some((_, _, name)), _) => {
            let settings = format!("{}_lb_config", name.replace('-', "_"));
            Ok(plain(with_settings(name, cluster.get(&settings), at, notes)?, said))
        }
        (None, "CLUSTER_PROVIDED" | "6" | "LOAD_BALANCING_POLICY_CONFIG" | "7") => {
            notes.add(
                &at(written.line),
                Reading::NotUnderstood,
                format!("\"{text}\" is not understood; taken as round-robin"),
            );
            Ok(plain("round-robin".into(), said))
        }
        (None, other) => {
            let known = POLICIES.iter().map(|(name, ..)| *name);
            Err(at(written.line).refused(unknown("lb_policy", &cut(other), known)))
        }
    }
}

/// A policy's name with its settings as ours: `least-request, choices = 3`.
fn with_settings(
    name: &str,
    settings: Option<&Node>,
    at: &dyn Fn(usize) -> FileLine,
    notes: &mut Notes,
) -> Result<String, ImportError> {
    let mut text = name.to_owned();
    for (key, value) in settings.map_or(&[][..], Node::entries) {
        let written = || value.text().or_else(|| value.get("default_value").and_then(Node::text)).unwrap_or_default();
        let whole = || {
            let number = written().parse::<u64>();
            number.map_err(|_| at(value.line).refused(format!("{key}: `{}` is no whole number", cut(written()))))
        };
        match (name, key.as_str()) {
            ("least-request", "choice_count") => text += &format!(", choices = {}", whole()?),
            ("least-request", "active_request_bias") => match written().parse::<f64>() {
                Ok(bias) if bias >= 0.0 && bias.is_finite() => text += &format!(", bias = {bias}"),
                _ => {
                    return Err(
                        at(value.line).refused("active_request_bias: its default_value is a number of at least 0")
                    );
                }
            },
            ("least-request", "selection_method") if matches!(written(), "FULL_SCAN" | "1") => text += ", scan = full",
            ("least-request", "selection_method") => {}
            ("ring-hash", "minimum_ring_size") => text += &format!(", minimum = {}", whole()?),
            ("ring-hash", "maximum_ring_size") => text += &format!(", maximum = {}", whole()?),
            ("maglev", "table_size") => text += &format!(", table = {}", whole()?),
            (_, "@type") => {}
            (_, "hash_function" | "consistent_hashing_lb_config") => {
                notes.add(
                    &at(value.line),
                    Reading::LeftOut,
                    format!("{key}: which key goes where is not Envoy's here"),
                );
            }
            (_, "slow_start_config") => {
                let text = "slow_start_config: a host that comes gets its share bit by bit; here at once";
                notes.add(&at(value.line), Reading::LeftOut, text);
            }
            (_, "locality_lb_config") => {
                notes.add(&at(value.line), Reading::LeftOut, "locality_lb_config: here all hosts are near each other");
            }
            (_, key) => notes.not_understood(&at(value.line), key),
        }
    }
    Ok(text)
}

fn endpoints(
    group: &Node,
    at: &dyn Fn(usize) -> FileLine,
    servers: &mut Vec<PoolServer>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let number = |node: &Node, what: &str, least: u32| {
        let number = node.text().and_then(|text| text.parse::<u32>().ok()).filter(|number| *number >= least);
        number.ok_or_else(|| at(node.line).refused(format!("{what} is a whole number of at least {least}")))
    };
    let priority = group.get("priority").map_or(Ok(0), |node| number(node, "priority", 0))?;
    for endpoint in group.get("lb_endpoints").map_or(&[][..], Node::list) {
        let line = at(endpoint.line.max(1));
        let address = endpoint.at(&["endpoint", "address"]);
        let socket = address.and_then(|address| address.get("socket_address"));
        let pipe = address.and_then(|address| address.at(&["pipe", "path"])).and_then(Node::text);
        let address = match (socket, pipe) {
            (Some(socket), _) => {
                let host = socket.get("address").and_then(Node::text).filter(|host| !host.is_empty());
                let host = host.ok_or_else(|| at(socket.line).refused("a socket_address needs an `address`"))?;
                let port = socket.get("port_value").and_then(Node::text).or_else(|| socket.get("named_port")?.text());
                let port = port.unwrap_or("0");
                if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
            }
            (None, Some(path)) => format!("unix:{path}"),
            (None, None) => {
                if let Some(written) = endpoint.get("endpoint_name") {
                    notes.not_understood(&at(written.line), "endpoint_name");
                    continue;
                }
                return Err(line.refused("an endpoint needs an address, with `socket_address` or `pipe` in it"));
            }
        };
        let weight = endpoint.get("load_balancing_weight");
        let weight = weight.map_or(Ok(1), |node| number(node, "load_balancing_weight", 1))?;
        let health = endpoint.get("health_status").and_then(Node::text).unwrap_or("UNKNOWN");
        let standing = match health {
            "UNKNOWN" | "HEALTHY" | "DEGRADED" | "0" | "1" | "5" if priority == 0 => Standing::Serves,
            "UNKNOWN" | "HEALTHY" | "DEGRADED" | "0" | "1" | "5" => Standing::Backup,
            _ => Standing::Out,
        };
        servers.push(PoolServer { name: address.clone(), address, weight, at_most: None, standing, at: line });
        if servers.len() > SERVERS_MAX {
            return Err(at(endpoint.line).refused(format!("these are more than {SERVERS_MAX} servers")));
        }
    }
    Ok(())
}

/// Says what a name of the DNS may stand for.
fn names_of_the_dns(cluster: &Node, servers: &[PoolServer], at: &dyn Fn(usize) -> FileLine, notes: &mut Notes) {
    let written = cluster.get("type").or_else(|| cluster.get("cluster_type"));
    let (Some(written), Some(first)) = (written, servers.first()) else { return };
    let text = match written.text().unwrap_or_default() {
        "STRICT_DNS" | "1" => "as many hosts as the name has addresses; here one for each name",
        "LOGICAL_DNS" | "2" => "one host, at the first address of the name; so here",
        "EDS" | "3" => "hosts that a server sends later are not in this file",
        _ => return,
    };
    notes.add(&at(written.line), Reading::LeftOut, format!("{}: {text}", cut(&first.address)));
}

fn other(key: &str, value: &Node, at: &dyn Fn(usize) -> FileLine, notes: &mut Notes) {
    let line = at(value.line);
    if let Some((_, text)) = LEFT_OUT.iter().find(|(name, _)| *name == key) {
        return notes.add(&line, Reading::LeftOut, format!("{key}: {text}"));
    }
    match key {
        "lb_policy" | "load_balancing_policy" => {}
        "common_lb_config" => {
            for (key, value) in value.entries() {
                let text = match key.as_str() {
                    "healthy_panic_threshold" => {
                        "where few hosts are healthy Envoy sends to all; here to the healthy ones"
                    }
                    "locality_weighted_lb_config" => {
                        "localities have shares of their own; here hosts have weights alone"
                    }
                    "zone_aware_lb_config" => {
                        "hosts of the same zone are preferred; here all hosts are near each other"
                    }
                    "consistent_hashing_lb_config" => "which key goes where, and bounds of load, are not Envoy's here",
                    "update_merge_window"
                    | "ignore_new_hosts_until_first_hc"
                    | "close_connections_on_host_set_change"
                    | "override_host_status" => "it has no part here",
                    other => {
                        notes.not_understood(&at(value.line), other);
                        continue;
                    }
                };
                notes.add(&at(value.line), Reading::LeftOut, format!("{key}: {text}"));
            }
        }
        "name" | "load_assignment" | "type" => {}
        _ if PASSED_OVER.contains(&key) => notes.pass_over(&line, key),
        _ => notes.not_understood(&line, key),
    }
}
