//! What it costs the network that deciders are told: reports of load and of rates, orders to measure round trips, the echoes
//! themselves and their answers, as a share of the bytes of the files that users got.
//!
//! Receivers count what they and their senders exchange, front nodes the echoes that they send and get. The price: deciders
//! count from their start, users' files from the end of the warm-up and without heads, so that the share is rather above what
//! it is. Agarwal, A test bed for performance evaluation of load balancing strategies for web server systems, 2001, asks for
//! less than one per cent.

use serde_json::Value;
use sojourn_load::Report;
use sojourn_stats::measure::NoInterval;
use sojourn_stats::{Estimate, Measure};

use super::parts::Told;

/// What is counted in `exchanged`, and how it is called.
const KINDS: [(&str, &str); 5] = [
    ("loads", "load"),
    ("rates", "rates of clients"),
    ("orders", "orders"),
    ("echoes", "answers"),
    ("challenges", "challenges"),
];

/// Bytes of what deciders were told, by kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Traffic(Vec<(&'static str, u64)>);

/// What deciders were told; none where none is told anything.
pub(super) fn of(told: &Told) -> Option<Traffic> {
    let said: Vec<&Value> = told.deciders.iter().map(|(_, said)| said).collect();
    summed(&said)
}

fn summed(said: &[&Value]) -> Option<Traffic> {
    said.iter().any(|said| said["exchanged"].is_object()).then(|| {
        let sum = |of: &dyn Fn(&Value) -> Option<u64>| said.iter().filter_map(|said| of(said)).sum();
        let exchanged = KINDS.map(|(key, name)| (name, sum(&|said: &Value| said["exchanged"][key]["bytes"].as_u64())));
        let echoes = ("echoes", sum(&|said: &Value| said["upstream"]["echo_bytes"].as_u64()));
        Traffic(exchanged.into_iter().chain([echoes]).collect())
    })
}

impl Traffic {
    /// Its share of the bytes of users' files; none where those got none.
    pub(super) fn measure(&self, report: &Report) -> Option<Measure> {
        let files: u64 = report.backend_bytes.iter().sum();
        let value = self.bytes() as f64 / files as f64;
        // One run tells one number.
        let estimate = Estimate::WithoutInterval { value, samples: 1, why: NoInterval::TooFew };
        (files > 0).then(|| Measure::new("report_traffic_share", "1", estimate))
    }

    /// The same by kind, for people.
    pub(super) fn fact(&self) -> (String, String) {
        let kinds = self.0.iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| format!("{name} {bytes}"));
        ("bytes of reports and probes".into(), format!("{} ({})", self.bytes(), kinds.collect::<Vec<_>>().join(", ")))
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_all_are_told_is_added_up() {
        let dns = json!({"exchanged": {"loads": {"datagrams": 2, "bytes": 500}, "orders": {"bytes": 70}}});
        let front =
            json!({"exchanged": {"loads": {"bytes": 100}, "rates": {"bytes": 9}}, "upstream": {"echo_bytes": 88}});
        let traffic = summed(&[&dns, &front, &Value::Null]).expect("two are told");
        assert_eq!(traffic.bytes(), 500 + 70 + 100 + 9 + 88);
        assert_eq!(traffic.fact().1, "767 (load 600, rates of clients 9, orders 70, echoes 88)");
        assert_eq!(summed(&[&json!({"connections": 3})]), None, "one that is told nothing has nothing to say");
    }
}
