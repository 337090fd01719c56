//! Server-reported load as ORCA, the field's standard (`xds.data.orca.v3.OrcaLoadReport`), has it.
//!
//! In a header it is text, `endpoint-load-metrics: TEXT named_metrics.in_flight=3, cpu_utilization=0.5`, or JSON. Out of band
//! it is a stream of gRPC ([`stream`]), as gRPC and Envoy ask for it.

mod protobuf;
pub mod stream;

use std::collections::BTreeMap;

use serde::Deserialize;
use sojourn_dispatch::Report;
use sojourn_stats::Time;

/// The name of the header that carries a report.
pub const HEADER: &str = "endpoint-load-metrics";

/// The name of the header by which a request asks for a report, and names its form: `TEXT` is the one that is spoken here.
pub const WANTED: &str = "endpoint-load-metrics-format";

/// The named metric that says how many requests a server has.
const IN_FLIGHT: &str = "in_flight";

/// A server's load. What it does not say is none, or not in the map. In JSON, names are those of the fields, or as protocol
/// buffers spell them there (`cpuUtilization`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Busy share of its processor lately; above 1 when work was turned away.
    #[serde(alias = "cpuUtilization")]
    pub cpu_utilization: Option<f64>,
    /// Share of its memory that is used.
    #[serde(alias = "memUtilization")]
    pub mem_utilization: Option<f64>,
    /// Used share of what it is short of, as the program itself judges; may be above 1.
    #[serde(alias = "applicationUtilization")]
    pub application_utilization: Option<f64>,
    /// Requests per second.
    #[serde(alias = "rpsFractional")]
    pub rps_fractional: Option<f64>,
    /// Errors per second.
    pub eps: Option<f64>,
    /// Used shares of further resources, by name.
    pub utilization: BTreeMap<String, f64>,
    /// What else it says, by name.
    #[serde(alias = "namedMetrics")]
    pub named_metrics: BTreeMap<String, f64>,
}

impl Load {
    /// A load that says only how many requests there are.
    pub fn of_in_flight(in_flight: u64) -> Load {
        Load { named_metrics: [(IN_FLIGHT.into(), in_flight as f64)].into(), ..Load::default() }
    }

    /// Requests that it has.
    pub fn in_flight(&self) -> Option<u32> {
        self.named_metrics.get(IN_FLIGHT).map(|in_flight| *in_flight as u32)
    }

    /// How busy it is: what the program says of itself before what its processor does (as Envoy reads it).
    pub fn busy_share(&self) -> Option<f64> {
        self.application_utilization.or(self.cpu_utilization)
    }

    /// What a policy is told of it; none where it says neither how busy the server is nor how many requests it has. The
    /// capacity is the rate over the busy share, as gRPC's weighted round robin has it, and the room what is left of it; both
    /// are 0, not known, where the server is idle or does not tell its rate.
    pub fn report(&self, measured: Time) -> Option<Report> {
        let sound = |value: Option<f64>| value.filter(|value| value.is_finite() && *value >= 0.0);
        let (busy, in_flight) = (sound(self.busy_share()), self.in_flight());
        if busy.is_none() && in_flight.is_none() {
            return None;
        }
        let mut report = Report::of_in_flight(in_flight.unwrap_or(0), measured);
        report.cpu = busy.map_or(0.0, |share| share as f32);
        let rate = sound(self.rps_fractional).unwrap_or(0.0);
        if let Some(share) = busy.filter(|share| *share > 0.0)
            && rate > 0.0
        {
            let capacity = rate / share;
            (report.capacity, report.room) = (capacity as f32, (capacity - rate).max(0.0) as f32);
        }
        // What is too large for a number is none.
        (report.capacity.is_finite() && report.cpu.is_finite()).then_some(report)
    }

    /// Writes it as the value of the header.
    pub fn to_text(&self) -> String {
        let mut parts: Vec<String> =
            self.named_metrics.iter().map(|(name, value)| format!("named_metrics.{name}={value}")).collect();
        parts.extend(self.utilization.iter().map(|(name, value)| format!("utilization.{name}={value}")));
        let plain = self.plain().into_iter();
        parts.extend(plain.filter_map(|(name, value)| value.map(|value| format!("{name}={value}"))));
        format!("TEXT {}", parts.join(", "))
    }

    /// Reads a report; metrics that it does not know are passed over, as ORCA asks. None when it is in none of the two forms.
    pub fn parse(text: &str) -> Option<Load> {
        if let Some(json) = text.trim().strip_prefix("JSON ") {
            return serde_json::from_str(json).ok();
        }
        let metrics = text.trim().strip_prefix("TEXT")?;
        let mut load = Load::default();
        for metric in metrics.split(',') {
            let (name, value) = metric.split_once('=')?;
            let (name, value) = (name.trim(), value.trim().parse::<f64>());
            if let Some(name) = name.strip_prefix("named_metrics.") {
                load.named_metrics.insert(name.into(), value.ok()?);
            } else if let Some(name) = name.strip_prefix("utilization.") {
                load.utilization.insert(name.into(), value.ok()?);
            } else if let Some(place) = load.place(name) {
                *place = Some(value.ok()?);
            }
        }
        Some(load)
    }

    /// The metrics that stand alone, by their names.
    fn plain(&self) -> [(&'static str, Option<f64>); 5] {
        [
            ("cpu_utilization", self.cpu_utilization),
            ("mem_utilization", self.mem_utilization),
            ("application_utilization", self.application_utilization),
            ("rps_fractional", self.rps_fractional),
            ("eps", self.eps),
        ]
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<f64>> {
        match name {
            "cpu_utilization" => Some(&mut self.cpu_utilization),
            "mem_utilization" => Some(&mut self.mem_utilization),
            "application_utilization" => Some(&mut self.application_utilization),
            "rps_fractional" => Some(&mut self.rps_fractional),
            "eps" => Some(&mut self.eps),
            _ => None,
        }
    }
}
