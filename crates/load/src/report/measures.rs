//! The measures of a report: of requests, of whole objects, and of the steps on the way to a reply.

use sojourn_stats::parts::{attempts_of_few, clump};
use sojourn_stats::{Estimate, Histogram, Measure, Span, Time, measure};

use crate::outcome::Counts;
use crate::recorder::objects::{Tally, time_measures};
use crate::recorder::{Recorder, SLICE, STEPS, Slice, Window};
use crate::report::estimate::{alike, never, quantile, quantile_of_independent, rate, ratio, share};

/// Where the slowest good reply took so large a part of the time-out, requests that failed by it would come with slow ones.
const NEAR_TIMEOUT: f64 = 2.0;

/// What is read from a slice.
type Of = fn(&Slice) -> u64;

/// Of requests that were planned after the warm-up.
pub(super) fn measures(
    all: &Recorder,
    response: &Histogram,
    measured: &Counts,
    (warm_up, timeout): (Span, Span),
    end: Time,
) -> Vec<Measure> {
    let windows = &all.windows;
    let per_window = |of: fn(&Window) -> (f64, f64)| windows.iter().map(of).collect::<Vec<_>>();
    let responses = per_window(|window| (response_sum_s(window), window.counts.ok as f64));
    let services = per_window(|window| (window.service_sum_ns as f64 * 1e-9, window.counts.ok as f64));
    let errors = per_window(|window| (window.counts.wrong() as f64, window.counts.planned as f64));
    let abandoned = per_window(|window| (window.counts.abandoned as f64, window.counts.planned as f64));
    let first = warm_up.0.div_ceil(SLICE.0) as usize;
    let clump_of = |of: Of| {
        let parts = all.slices.iter().skip(first).map(|slice| (of(slice), slice.planned));
        clump(&parts.collect::<Vec<_>>())
    };

    let mean = ratio(&responses, measured.ok);
    let alike = alike(&mean, response);
    let mut measures = vec![Measure::new("response_time_mean", "s", mean)];
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)] {
        let estimate = quantile(q, response, windows.iter().map(|window| &window.response));
        measures.push(Measure::new(format!("response_time_{name}"), "s", estimate));
    }
    measures.push(Measure::new("response_time_from_sent_mean", "s", ratio(&services, measured.ok)));
    measures.push(Measure::new(
        "throughput",
        "1/s",
        per_second(&all.slices, warm_up, end, |slice| slice.ok, |slice| slice.ok),
    ));
    let slow = response.max().unwrap_or(0) as f64 * NEAR_TIMEOUT >= timeout.0 as f64;
    let together = clump_of(|slice| slice.wrong).max(if slow { alike } else { 1.0 });
    measures.push(Measure::new("error_ratio", "1", share(&errors, measured.planned, together)));
    let abandoned = match all.may_leave {
        true => share(&abandoned, measured.planned, clump_of(|slice| slice.abandoned).max(alike)),
        false => never(measured.planned),
    };
    measures.push(Measure::new("abandoned_ratio", "1", abandoned));
    if all.may_try_again {
        let attempts = per_window(|window| {
            let Counts { planned, tried_again, .. } = window.counts;
            ((planned + tried_again) as f64, planned as f64)
        });
        let again: Vec<(u64, u64)> =
            windows.iter().map(|window| (window.counts.tried_again, window.counts.planned)).collect();
        let alike = if slow { alike } else { 1.0 };
        let attempts = attempts_of_few(ratio(&attempts, measured.planned), &again, alike, measure::CONFIDENCE);
        measures.push(Measure::new("attempts_ratio", "1", attempts));
    }
    measures.extend(lateness(all));
    measures
}

/// Of whole objects (`tally`), and of their files with these response times.
pub(super) fn measures_of_objects(
    all: &Recorder,
    (tally, files): (&Tally, &Histogram),
    warm_up: Span,
    end: Time,
) -> Vec<Measure> {
    let of_files = time_measures(
        "file_response_time",
        files,
        || all.windows.iter().map(|window| &window.response),
        &[("p90", 0.9)],
    );
    let mut measures = tally.measures(all.may_leave);
    measures.extend(of_files);
    let (whole, files, bytes): (Of, Of, Of) = (|slice| slice.objects, |slice| slice.ok, |slice| slice.bytes);
    for (name, unit, of, count) in [
        ("throughput", "1/s", whole, whole),
        ("file_throughput", "1/s", files, files),
        ("byte_throughput", "B/s", bytes, files),
    ] {
        measures.push(Measure::new(name, unit, per_second(&all.slices, warm_up, end, of, count)));
    }
    measures.extend(lateness(all));
    measures
}

/// Of the steps that good replies had, and of the replies that were failures.
pub(super) fn measures_of_steps(all: &Recorder) -> Vec<Measure> {
    let refusals = [("failed_response_time", &all.refusals)];
    let steps = STEPS.iter().map(|(name, _)| *name).zip(&all.steps).chain(refusals);
    let mut measures = Vec::new();
    for (name, steps) in steps.filter(|(_, steps)| !steps.0.is_empty()) {
        let mut whole = Histogram::new();
        steps.0.iter().for_each(|window| whole.merge(window));
        measures.extend(time_measures(name, &whole, || steps.0.iter(), &[("p90", 0.9), ("p99", 0.99)]));
    }
    measures
}

fn lateness(all: &Recorder) -> impl Iterator<Item = Measure> {
    [("lateness_p50", 0.5), ("lateness_p99", 0.99)]
        .into_iter()
        .map(|(name, q)| Measure::new(name, "s", quantile_of_independent(q, &all.lateness)))
}

/// Of what is over between the warm-up's end and the plan's so much per second, by batch means over time. Whole slices
/// only, so that each batch has its full length. `count` says how many samples that is.
fn per_second(slices: &[Slice], warm_up: Span, end: Time, of: Of, count: Of) -> Estimate {
    let first = warm_up.0.div_ceil(SLICE.0) as usize;
    let last = ((end.0 / SLICE.0) as usize).min(slices.len()).max(first);
    let slices = slices.get(first..last).unwrap_or_default();
    let samples = slices.iter().map(count).sum();
    let per_batch = slices.len().div_ceil(crate::report::estimate::WINDOWS).max(1);
    let batches: Vec<(f64, f64)> = slices
        .chunks(per_batch)
        .map(|batch| {
            let sum: u64 = batch.iter().map(of).sum();
            (sum as f64, batch.len() as f64 * SLICE.as_secs_f64())
        })
        .collect();
    rate(&batches, samples)
}

fn response_sum_s(window: &Window) -> f64 {
    window.response.mean().unwrap_or(0.0) * 1e-9 * window.response.count() as f64
}

/// Ends the interval of what is never above `most` there, or at its value.
pub(super) fn at_most(estimate: &mut Estimate, most: f64) {
    if let Estimate::Sampled { value, ci_high, .. } = estimate {
        *ci_high = ci_high.min(most.max(*value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that dies at half time has no more good replies than requests were offered.
    #[test]
    fn throughput_ends_at_what_is_offered() {
        let end = |value: f64, ci_high: f64| {
            let mut estimate = Estimate::Sampled { value, ci_low: 0.0, ci_high, samples: 9 };
            at_most(&mut estimate, 100.0);
            estimate.ends().unwrap().1
        };
        assert_eq!([end(50.0, 172.0), end(50.0, 60.0), end(101.0, 104.0)], [100.0, 60.0, 101.0]);
    }
}
