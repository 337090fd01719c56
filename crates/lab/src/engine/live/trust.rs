//! How far a live run can be trusted, and the facts on which that rests.

use sojourn_load::{Cause, Pacing, Proof};
use sojourn_model::system::server_name;
use sojourn_stats::{Measure, Span, Time};

use super::parts::Told;
use crate::answer::{Trust, Verdict};
use crate::objective::wide_of_few;

/// How far the run can be trusted, and on what that rests.
pub(super) fn trust(report: &sojourn_load::Report, told: &Told, start: Time) -> Trust {
    let (verdict, is_of_failures) = match &report.verdict {
        Proof::Valid => (Verdict::Valid, false),
        Proof::Suspect(doubts) => (Verdict::Suspect, doubts.iter().all(|doubt| doubt.cause == Cause::Errors)),
        Proof::Incomplete(_) => (Verdict::Incomplete, false),
    };
    let mut facts = facts(report);
    for (name, gateway) in &told.deciders {
        for key in [
            "retried",
            "connect_failed",
            "broken",
            "truncated",
            "timed_out",
            "refused",
            "over_limit",
            "overflowed",
            "accepted",
        ] {
            match gateway[key].as_u64() {
                Some(0) | None => {}
                Some(count) => facts.push((format!("{name}, {}", key.replace('_', " ")), count.to_string())),
            }
        }
    }
    for (index, node) in told.nodes.iter().enumerate() {
        if let (Some(busy_s), Some(elapsed_s)) = (node["busy_s"].as_f64(), node["elapsed_s"].as_f64()) {
            facts.push((format!("{}, busy", server_name(index)), format!("{:.1} s of {elapsed_s:.1} s", busy_s)));
        }
        for key in ["decisions", "redirected", "fetched"] {
            if let Some(count) = node["cluster"][key].as_u64().filter(|count| *count > 0) {
                facts.push((format!("{}, {key}", server_name(index)), count.to_string()));
            }
        }
    }
    let incidents = told.incidents.iter().map(|incident| incident.told(start)).collect();
    let reasons = report.verdict.reasons();
    let mut trust = Trust { verdict, reasons, is_of_failures, facts, limits: report.limits, incidents };
    told.incidents.iter().for_each(|incident| trust.doubt(Some(incident.reason(start)), false));
    trust
}

/// What a reader needs to judge a measurement, as names and texts.
pub fn facts(report: &sojourn_load::Report) -> Vec<(String, String)> {
    let percent =
        |shares: &[f64]| shares.iter().map(|share| format!("{:.0} %", share * 100.0)).collect::<Vec<_>>().join(", ");
    let lateness = |metric: &str| match report.measures.iter().find(|measure| measure.metric == metric) {
        Some(Measure { estimate, .. }) => {
            estimate.value().map_or("too few samples".into(), |s| format!("{:.3}", Span::from_secs_f64(s)))
        }
        None => "not paced".into(),
    };
    let mean = match report.lateness.mean() {
        Some(late_ns) => format!("{:.3}", Span::from_secs_f64(late_ns * 1e-9)),
        None => "not paced".into(),
    };
    let pacing = match report.pacing {
        Pacing::Timer => "timer",
        Pacing::Spin => "spin",
    };
    let mut facts = vec![
        ("generator lateness, median".into(), lateness("lateness_p50")),
        ("generator lateness, p99".into(), lateness("lateness_p99")),
        ("generator lateness, mean".into(), mean),
        ("generator pacing".into(), pacing.into()),
        ("rate, offered and achieved".into(), format!("{:.1} /s, {:.1} /s", report.pace.offered, report.pace.achieved)),
        ("generator threads busy".into(), percent(&report.client_busy)),
        ("cores busy".into(), percent(&report.cores_busy)),
        ("requests".into(), report.counts.planned.to_string()),
    ];
    facts.extend(wide_of_few(&report.measures, 1).into_iter().map(|(metric, why)| (metric.into(), why)));
    let counts = &report.counts;
    let sojourn_load::Connections { resolutions, failed_over, secured, resumed, .. } = report.connections;
    let names = [
        ("questions to the DNS", resolutions),
        ("connections at a further address", failed_over),
        ("handshakes of TLS, whole", secured),
        ("handshakes of TLS, resumed", resumed),
    ];
    facts.extend(
        names.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| (what.into(), count.to_string())),
    );
    let more = [
        ("abandoned", counts.abandoned),
        ("unfinished", counts.unfinished),
        ("tried again, hedges among them", counts.tried_again),
        ("sent again", counts.retried),
        ("sent again, since the server had not processed them", counts.not_processed),
        ("redirected", counts.redirected),
    ];
    let told = counts.causes().into_iter().chain(more.into_iter().filter(|(_, count)| *count > 0));
    facts.extend(told.map(|(cause, count)| (format!("requests, {cause}"), count.to_string())));
    facts
}
