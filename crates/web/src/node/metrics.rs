//! The numbers of a node in Prometheus' text format.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::{Method, StatusCode};
use sojourn_part::prometheus;

use super::NodeCounts;
use super::tls::Certificates;

/// Methods that are counted by their name; others are one.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "OPTIONS", "other"];

/// Classes of status, by their first digit.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Replies by method and class of status.
#[derive(Debug, Default)]
pub(super) struct Replies([[AtomicU64; CLASSES.len()]; METHODS.len()]);

/// What is told besides requests.
pub(super) struct Numbers<'a> {
    pub(super) counts: NodeCounts,
    /// Connections that are open.
    pub(super) open: usize,
    /// How often the file was read anew, and how often that failed.
    pub(super) reloads: [u64; 2],
    pub(super) certificates: Option<&'a Certificates>,
}

/// A method's place among those that are counted.
pub(super) fn place_of(method: &Method) -> usize {
    METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1)
}

impl Replies {
    /// Counts a reply to a request whose method has this place.
    pub(super) fn count(&self, method: usize, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        self.0[method][class].fetch_add(1, Ordering::Relaxed);
    }

    /// All numbers of a node.
    pub(super) fn text(&self, numbers: &Numbers<'_>) -> String {
        let mut text = String::new();
        let name = head(&mut text, "requests_total", "counter", "Requests answered, by method and class of status.");
        for (method, classes) in METHODS.iter().zip(&self.0) {
            for (class, count) in CLASSES.iter().zip(classes) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 || (*method, *class) == ("GET", "2xx") {
                    let _ = writeln!(text, "{name}{{method=\"{method}\",class=\"{class}\"}} {count}");
                }
            }
        }
        let NodeCounts { in_flight, connections: of, .. } = &numbers.counts;
        let mut one = |name: &str, kind: &str, help: &str, values: &[(&str, f64)]| {
            let name = head(&mut text, name, kind, help);
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        one("in_flight", "gauge", "Requests that it has.", &[("", *in_flight as f64)]);
        one("sent_bytes_total", "counter", "Bytes of the bodies of replies.", &[("", of.sent_bytes as f64)]);
        one("connections", "gauge", "Connections that are open.", &[("", numbers.open as f64)]);
        one(
            "connections_held_total",
            "counter",
            "Connections that had to wait because too many were open.",
            &[("", of.held as f64)],
        );
        one(
            "connections_refused_total",
            "counter",
            "Connections that were closed at once, by the limit that they met.",
            &[
                ("{limit=\"connections\"}", of.refused_full as f64),
                ("{limit=\"per_address\"}", of.refused_address as f64),
            ],
        );
        one(
            "connections_too_slow_total",
            "counter",
            "Connections cut because their client took nothing for too long.",
            &[("", of.too_slow as f64)],
        );
        let lost = numbers.counts.log_lost as f64;
        one("log_lines_lost_total", "counter", "Lines of the access log that could not be written.", &[("", lost)]);
        one(
            "tls_handshakes_total",
            "counter",
            "Handshakes of TLS, by outcome.",
            &[
                ("{outcome=\"done\"}", of.handshakes as f64),
                ("{outcome=\"failed\"}", of.handshakes_failed as f64),
                ("{outcome=\"late\"}", of.handshakes_late as f64),
            ],
        );
        let [reloads, failed] = numbers.reloads;
        one(
            "reloads_total",
            "counter",
            "How often its file was read anew.",
            &[("{outcome=\"done\"}", reloads as f64), ("{outcome=\"failed\"}", failed as f64)],
        );
        if let Some(certificates) = numbers.certificates {
            let name = head(&mut text, "certificate_ends_seconds", "gauge", "When a certificate ends (s since 1970).");
            for (file, ends) in certificates.ends() {
                let file = prometheus::label(&file.display().to_string());
                let _ = writeln!(text, "{name}{{file=\"{file}\"}} {ends}");
            }
        }
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) -> String {
    let name = format!("sojourn_node_{name}");
    prometheus::head(text, &name, kind, help);
    name
}
