//! How long the parts of a live run waited for a core. What that adds to response times is the machine's, and neither the
//! system's nor the twin's.
//!
//! Servers are emulated: they sleep until their replies are due, and nearly all that they and the links want of a core is
//! to get it in time. The kernel counts how long each thread could have run and did not (its run queue). A wait counts as
//! if it had held up one request, which is right while few are inside. With many inside, one wait holds up several, and the
//! doubt comes late; the cores are then seldom idle, and the verdict's other doubts see that.

use sojourn_bed::Ground;
use sojourn_load::{Limits, Report};
use sojourn_stats::Span;

use super::part::Part;
use super::parts::Parts;

/// How long the children and the links have waited so far.
pub(super) fn waited(parts: &Parts, ground: &dyn Ground) -> Span {
    let links = ground.links().and_then(|links| links.waited()).unwrap_or_default();
    links + parts.all().map(Part::waited).sum::<Span>()
}

/// What they waited between two looks, per request of the run, warm-up included.
pub(super) fn per_request(before: Span, after: Span, report: &Report) -> Span {
    // A thread that has ended meanwhile takes its time along.
    Span(after.0.saturating_sub(before.0) / report.counts.planned.max(1))
}

/// Why response times of this mean (ns) may be longer than the system's own.
pub(super) fn doubt(held_up: Span, response_mean_ns: Option<f64>, limits: &Limits) -> Option<String> {
    let mean_ns = response_mean_ns?;
    let share = (held_up.as_secs_f64() - limits.late_s) * 1e9 / mean_ns;
    (share > limits.unnoticed).then(|| {
        format!(
            "servers, deciders and links waited {held_up:.3} per request for a core (run queue), {:.0} % of the mean \
             response time (limit {:.0} %, and {:.3}): others had it; end other work",
            100.0 * held_up.0 as f64 / mean_ns,
            100.0 * limits.unnoticed,
            Span::from_secs_f64(limits.late_s)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_a_doubt_where_they_matter() {
        let doubt =
            |held_up_us: u64, mean_ms: f64| doubt(Span(held_up_us * 1000), Some(mean_ms * 1e6), &Limits::default());
        assert_eq!(doubt(3_900, 30.0), None, "a tenth of the mean beside the millisecond that never matters");
        let said = doubt(6_000, 30.0).unwrap();
        assert!(said.contains("6 ms per request") && said.contains("20 %"), "{said}");
        assert_eq!(doubt(900, 1.0), None, "a millisecond never matters");
        assert!(doubt(1_200, 1.0).is_some());
        assert_eq!(super::doubt(Span(1), None, &Limits::default()), None);
    }
}
