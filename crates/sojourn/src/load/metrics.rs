//! A run's numbers while it goes on, in Prometheus' text format over HTTP.
//!
//! What the threads hand over four times a second is added up here, and one further thread tells it to those who ask.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use sojourn_load::{Counts, Progress, Recent};
use sojourn_part::network::Allow;
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{listen, prometheus};
use sojourn_stats::{Histogram, Span};

use crate::exit::{Failure, bad_input};

/// Samples that must lie beyond a quantile.
const BEYOND_LEAST: f64 = 10.0;

/// What is told so far.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    counts: Counts,
    whole: Recent,
}

impl Metrics {
    /// Answers those who may ask at `address` for as long as there is the thread, and says where that is.
    pub(crate) fn listen(address: SocketAddr, allow: Allow) -> Result<(Metrics, Threads), Failure> {
        let refused = |error: String| bad_input(format!("--metrics {address}: {error}"));
        let listeners = listen::listeners(address, 1).map_err(|error| refused(error.to_string()))?;
        let bound = listeners[0].local_addr().map_err(|error| refused(error.to_string()))?;
        eprintln!("metrics: http://{bound}/metrics");
        let metrics = Metrics::default();
        let told = metrics.clone();
        let threads = Threads::start("metrics", listeners, 1, Span::ZERO, move |_, listener, stop| {
            let told = told.clone();
            let text = move || text(&told.0.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(Box::pin(prometheus::serve(listener, allow.clone(), text, stop)) as Work)
        });
        Ok((metrics, threads.map_err(|error| refused(error.to_string()))?))
    }

    /// Adds what has happened.
    pub(crate) fn take(&self, now: &Progress) {
        let Some(seen) = &now.seen else { return };
        let mut told = self.0.lock().expect("no thread panics while it holds it");
        told.counts = seen.0;
        told.whole.merge(&seen.1);
    }

    /// A new run begins.
    pub(crate) fn begin(&self) {
        *self.0.lock().expect("no thread panics while it holds it") = Told::default();
    }
}

/// The numbers in Prometheus' text format.
fn text(told: &Told) -> String {
    let Counts { planned, ok, abandoned, .. } = told.counts;
    let failed = told.counts.failed();
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: &[(String, f64)]| {
        let _ = writeln!(text, "# HELP sojourn_load_{name} {help}\n# TYPE sojourn_load_{name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(text, "sojourn_load_{name}{labels} {value}");
        }
    };
    let plain = |value: u64| [(String::new(), value as f64)];
    family("requests_total", "counter", "Requests whose time has come.", &plain(planned));
    family("good_replies_total", "counter", "Whole replies with a status below 400.", &plain(ok));
    let causes =
        told.counts.causes().into_iter().map(|(cause, count)| (format!("{{cause=\"{cause}\"}}"), count as f64));
    family("failures_total", "counter", "Requests that failed, by cause.", &causes.collect::<Vec<_>>());
    family("abandoned_total", "counter", "Requests whose clients gave up.", &plain(abandoned));
    let inside = planned.saturating_sub(ok + failed + abandoned);
    family("in_flight", "gauge", "Requests that are due and not over.", &plain(inside));
    for (name, help, times) in [
        ("response_seconds", "From the planned instant to the last byte of good replies.", &told.whole.response),
        ("lateness_seconds", "From the planned instant until the generator acted.", &told.whole.lateness),
    ] {
        family(name, "summary", help, &summary(times));
    }
    text
}

/// Quantiles, sum and count of times (ns), in seconds. A quantile that too few samples know is no number, as is usual.
fn summary(times: &Histogram) -> Vec<(String, f64)> {
    let quantile = |q: f64| {
        let known = times.count() as f64 * (1.0 - q) * (1.0 + 1e-9) >= BEYOND_LEAST;
        let value = times.quantile(q).filter(|_| known).map_or(f64::NAN, |ns| ns as f64 * 1e-9);
        (format!("{{quantile=\"{q}\"}}"), value)
    };
    let count = times.count() as f64;
    let mut lines: Vec<(String, f64)> = [0.5, 0.9, 0.99].map(quantile).into();
    lines.push(("_sum".into(), times.mean().unwrap_or(0.0) * 1e-9 * count));
    lines.push(("_count".into(), count));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_told_in_prometheus_text() {
        let metrics = Metrics::default();
        for _ in 0..2 {
            let mut recent = Recent::default();
            (0..50).for_each(|_| recent.response.record(20_000_000));
            let counts = Counts { planned: 105, ok: 100, client_error: 3, ..Counts::default() };
            let seen = Some(Box::new((counts, recent)));
            metrics.take(&Progress { elapsed: Span(1), share: 0.5, planned: 105, ok: 100, failed: 3, seen });
        }
        let text = super::text(&metrics.0.lock().unwrap());
        for line in [
            "# TYPE sojourn_load_requests_total counter\nsojourn_load_requests_total 105\n",
            "sojourn_load_failures_total{cause=\"status 4xx\"} 3\n",
            "sojourn_load_in_flight 2\n",
            "sojourn_load_response_seconds{quantile=\"0.9\"} 0.02",
            "sojourn_load_response_seconds{quantile=\"0.99\"} NaN\n",
            "sojourn_load_response_seconds_sum 2\n",
            "sojourn_load_response_seconds_count 100\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        metrics.begin();
        assert!(super::text(&metrics.0.lock().unwrap()).contains("sojourn_load_requests_total 0\n"));
    }
}
