//! Server-reported load in the text form of ORCA, the field's standard (`xds.data.orca.v3.OrcaLoadReport`):
//! `endpoint-load-metrics: TEXT named_metrics.in_flight=3, cpu_utilization=0.5`.

/// The name of the header that carries a report.
pub const HEADER: &str = "endpoint-load-metrics";

/// A server's load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Requests that it has (`named_metrics.in_flight`).
    pub in_flight: Option<u32>,
    /// Share of its processor that was busy lately; above 1 when work was turned away.
    pub cpu_utilization: Option<f64>,
}

impl Load {
    /// Writes the report as the value of the header.
    pub fn to_text(self) -> String {
        let mut parts = Vec::with_capacity(2);
        if let Some(in_flight) = self.in_flight {
            parts.push(format!("named_metrics.in_flight={in_flight}"));
        }
        if let Some(utilization) = self.cpu_utilization {
            parts.push(format!("cpu_utilization={utilization:.4}"));
        }
        format!("TEXT {}", parts.join(", "))
    }

    /// Reads a report; metrics that it does not know are passed over, as ORCA asks. None when it is not in text form.
    pub fn parse(text: &str) -> Option<Load> {
        let metrics = text.trim().strip_prefix("TEXT")?;
        let mut load = Load::default();
        for metric in metrics.split(',') {
            let (name, value) = metric.split_once('=')?;
            match name.trim() {
                "named_metrics.in_flight" => load.in_flight = Some(value.trim().parse::<f64>().ok()? as u32),
                "cpu_utilization" => load.cpu_utilization = Some(value.trim().parse().ok()?),
                _ => {}
            }
        }
        Some(load)
    }
}
