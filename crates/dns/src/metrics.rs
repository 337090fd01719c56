//! The numbers of a DNS in Prometheus' text format.

use std::fmt::Write;

use serde_json::Value;
use sojourn_part::prometheus;

use super::running::Running;

/// A family of numbers, of each site or service.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    key: &'static str,
}

const OF_SERVICES: [Family; 9] = [
    Family { name: "decisions_total", kind: "counter", help: "Choices of the policy.", key: "decisions" },
    Family {
        name: "paired_total",
        kind: "counter",
        help: "Queries answered as the one for the other family.",
        key: "paired",
    },
    Family { name: "none_up_total", kind: "counter", help: "Choices when no site was up.", key: "none_up" },
    Family {
        name: "none_with_room_total",
        kind: "counter",
        help: "Queries answered by the setting for no room.",
        key: "none_with_room",
    },
    Family { name: "probes_total", kind: "counter", help: "Round trips that were ordered.", key: "probes" },
    Family { name: "probes_dropped_total", kind: "counter", help: "Orders that were too many.", key: "probes_dropped" },
    Family { name: "round_trips_total", kind: "counter", help: "Round trips that were measured.", key: "round_trips" },
    Family { name: "clients", kind: "gauge", help: "Clients of which something is known.", key: "clients" },
    Family { name: "ttl_seconds", kind: "gauge", help: "TTL as it was set.", key: "ttl_s" },
];

const OF_SITES: [Family; 7] = [
    Family { name: "site_up", kind: "gauge", help: "1 where the site can be named.", key: "state" },
    Family { name: "site_chosen_total", kind: "counter", help: "Answers whose first site it was.", key: "chosen" },
    Family { name: "site_weight", kind: "gauge", help: "Its weight.", key: "weight" },
    Family { name: "site_report_age_seconds", kind: "gauge", help: "Age of its last report.", key: "report_age_s" },
    Family { name: "site_busy_share", kind: "gauge", help: "Busy share of its processors.", key: "cpu" },
    Family {
        name: "site_capacity",
        kind: "gauge",
        help: "Requests per second that it can serve.",
        key: "capacity_per_s",
    },
    Family {
        name: "site_room",
        kind: "gauge",
        help: "Requests per second that it can serve besides.",
        key: "room_per_s",
    },
];

/// All numbers of a DNS.
pub(super) fn text(running: &Running) -> String {
    let state = running.state();
    let mut text = String::new();
    wire(&mut text, &state["wire"]);
    if let Some(dropped) = state["reports_dropped"].as_object() {
        head(&mut text, "reports_dropped_total", "counter", "Datagrams of reports that were not believed, by cause.");
        for (cause, count) in dropped {
            let _ = writeln!(text, "sojourn_dns_reports_dropped_total{{cause=\"{cause}\"}} {count}");
        }
    }
    let services: Vec<&Value> = state["services"].as_array().into_iter().flatten().collect();
    for family in OF_SERVICES {
        head(&mut text, family.name, family.kind, family.help);
        for service in &services {
            let of = service.get(family.key).or(service["counts"].get(family.key));
            let value = of.and_then(Value::as_f64).unwrap_or(0.0);
            let _ = writeln!(text, "sojourn_dns_{}{{service={}}} {value}", family.name, service["name"]);
        }
    }
    for family in OF_SITES {
        head(&mut text, family.name, family.kind, family.help);
        for service in &services {
            for site in service["sites"].as_array().into_iter().flatten() {
                let value = match &site[family.key] {
                    Value::String(state) => f64::from(u8::from(state == "up")),
                    Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
                    // What is not known is left out.
                    _ => continue,
                };
                let (service, site) = (&service["name"], &site["name"]);
                let _ = writeln!(text, "sojourn_dns_{}{{service={service},site={site}}} {value}", family.name);
            }
        }
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    prometheus::head(text, &format!("sojourn_dns_{name}"), kind, help);
}

/// The counts of the wire: queries by type, replies by code, and what became of the others.
fn wire(text: &mut String, counts: &Value) {
    head(text, "queries_total", "counter", "Queries that were answered, by transport and type.");
    for transport in ["udp", "tcp"] {
        for (kind, count) in counts[transport].as_object().into_iter().flatten() {
            let _ = writeln!(text, "sojourn_dns_queries_total{{transport=\"{transport}\",type=\"{kind}\"}} {count}");
        }
    }
    head(text, "replies_total", "counter", "Replies, by code.");
    for (code, count) in counts["replies"].as_object().into_iter().flatten() {
        let _ = writeln!(text, "sojourn_dns_replies_total{{code=\"{code}\"}} {count}");
    }
    for (name, count) in counts.as_object().into_iter().flatten().filter(|(_, count)| count.is_u64()) {
        head(text, &format!("{name}_total"), "counter", "Packets and connections of which something became.");
        let _ = writeln!(text, "sojourn_dns_{name}_total {count}");
    }
}
