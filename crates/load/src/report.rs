//! What a run measured, merged from its shares.

pub(crate) mod doubt;
pub mod estimate;
pub(crate) mod gaps;
mod hdr;
pub(crate) mod limits;
pub(crate) mod measured;
#[cfg(test)]
mod proof;
pub mod verdict;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sojourn_stats::parts::{attempts_of_few, clump};
use sojourn_stats::{Estimate, Histogram, Measure, Span, Time, measure};

use crate::outcome::{Connections, Counts};
use crate::recorder::division::Windowing;
use crate::recorder::emitted::Emitted;
use crate::recorder::interval::Interval;
use crate::recorder::objects::{Objects, time_measures};
use crate::recorder::passes::{PassTally, Passes};
use crate::recorder::record::Record;
use crate::recorder::records::Recorded;
use crate::recorder::{Recorder, SLICE, STEPS, Slice, Window};
use crate::report::estimate::{alike, never, quantile, quantile_of_independent, rate, ratio, share};
use crate::report::gaps::Gaps;
use crate::report::limits::Limits;
use crate::report::measured::{Facts, ShareReport, ThreadFacts};
use crate::report::verdict::{Evidence, Proof, verdict};
use crate::setting::Pacing;

/// What a run measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Whether it can be trusted.
    pub verdict: Proof,
    /// Of the requests planned after the warm-up: `response_time_mean` and `response_time_p50`, `p90`, `p95`, `p99`,
    /// `p99.9` (from the planned instant to the last byte, good replies only), `response_time_from_sent_mean` (what many
    /// load generators call latency), `throughput` (good replies per second), `error_ratio` (failed and
    /// unfinished of planned), `abandoned_ratio` (given up of planned, whenever they left), `lateness_p50` and `lateness_p99`
    /// (the generator's own: from planned until it acted, requests that had to wait for a connection aside). Where clients ask
    /// more than once, `attempts_ratio` (attempts of planned, the first of each among them). Their intervals say nothing that a
    /// metric cannot be ([`Measure::within_range`]).
    ///
    /// Of good replies also the steps that were gone: `resolve_time`, `connect_time`, `tls_time` (requests that opened
    /// a connection) and `first_byte_time` (from sent), each with `_mean`, `_p90` and `_p99`. Replies that were
    /// failures have a `failed_response_time` with the same.
    ///
    /// Where users browse, `response_time_*` and `throughput` are of whole objects: from the end of thinking to the
    /// last byte of the last embedded file. The page's own file has `page_response_time_mean` and `_p90`, all files
    /// `file_response_time_mean` and `_p90` (each from when it was due on its connection), `file_throughput` (1/s) and
    /// `byte_throughput` (B/s). `error_ratio`, `abandoned_ratio`, `denied_ratio` (refused or timed out, of those that
    /// were over) and `quality_high`, `_average`, `_low` (over within 5 s, 11 s, or later or never; with
    /// `quality_incremental` for pages shown as they load 39 s and 56 s) are shares of the objects.
    pub measures: Vec<Measure>,
    /// Whole objects, where users browse. All that follows but `response` and `response_time_cdf` is then of files.
    pub objects: Option<Objects>,
    /// Passes and steps, where users follow scenarios.
    #[serde(default)]
    pub passes: Option<Passes>,
    /// What became of the connections.
    pub connections: Connections,
    /// All requests of the run by what became of them, warm-up included.
    pub counts: Counts,
    /// Those planned after the warm-up.
    pub measured: Counts,
    /// Replies that were failures by their status, warm-up included.
    #[serde(default)]
    pub failed_statuses: Vec<(u16, u64)>,
    /// Good replies per backend, as `x-sojourn-backend` named it, after the warm-up; in order of name.
    pub backends: Vec<(String, u64)>,
    /// Bytes of these replies' bodies, in the same order.
    pub backend_bytes: Vec<u64>,
    /// Response times (ns) of the good replies, after the warm-up; of whole objects where users browse.
    pub response: Histogram,
    /// Service times (ns) of the same, from sent.
    pub service: Histogram,
    /// The generator's lateness (ns) with the same requests and those that failed.
    pub lateness: Histogram,
    /// Distribution function of the response time: (seconds, probability), finer towards the tail.
    pub response_time_cdf: Vec<(f64, f64)>,
    /// The distributions of response time and lateness by seconds, warm-up included.
    #[serde(default)]
    pub intervals: Vec<Interval>,
    /// The run by seconds, warm-up included.
    pub seconds: Vec<Second>,
    /// Every request of the run in order of its number, where they were asked for.
    pub records: Option<Vec<Record>>,
    /// What became of the files of records, one of each share, where they were asked for.
    #[serde(default)]
    pub record_files: Vec<Recorded>,
    /// Requests per second, as planned and as begun in time.
    pub pace: Pace,
    /// Of an open schedule: whether the requests went out with the gaps that were planned and asked for.
    #[serde(default)]
    pub gaps: Option<Gaps>,
    /// How the threads waited.
    pub pacing: Pacing,
    /// What its verdict was judged by.
    #[serde(default)]
    pub limits: Limits,
    /// Threads of the generator.
    pub threads: usize,
    /// Their CPU time (s), user and system.
    pub client_cpu_s: f64,
    /// The share of the run that each was on a core.
    pub client_busy: Vec<f64>,
    /// The share of the run that each could have been on a core and waited for one, as the kernel counted; empty where it
    /// does not.
    #[serde(default)]
    pub client_waiting: Vec<f64>,
    /// Busy share of each core of the machine during the run, the server's and others' work included; empty when the
    /// run was too short to say.
    pub cores_busy: Vec<f64>,
    /// Share of each core that the hypervisor gave to others.
    pub cores_stolen: Vec<f64>,
    /// What `CLOCK_REALTIME` said at the run's time zero (ns since 1970), on the first share's machine.
    #[serde(default)]
    pub started_at_ns: u64,
    /// From the start to the last reply or the cut-off (s).
    pub elapsed_s: f64,
    /// How long the warm-up was (s).
    #[serde(default)]
    pub warm_up_s: f64,
    /// The part of it that is measured: from the end of the warm-up to the end of the plan (s).
    pub measured_s: f64,
    /// Bytes of reply bodies in the whole run.
    pub bytes: u64,
}

/// Offered and achieved rate (1/s) after the warm-up. A closed schedule offers what it achieves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Requests planned per second.
    pub offered: f64,
    /// Requests begun per second.
    pub achieved: f64,
    /// What the plan offers in the long run, where its gaps have a law: what came of it is more or less by chance.
    #[serde(default)]
    pub asked: Option<f64>,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Requests planned in it.
    pub planned: u64,
    /// Requests begun in it.
    pub begun: u64,
    /// Attempts after the first of their requests that were begun in it.
    #[serde(default)]
    pub again: u64,
    /// Good replies that came in it.
    pub ok: u64,
    /// Requests that failed or were given up in it.
    pub failed: u64,
    /// Requests that were due and not over at its end.
    #[serde(default)]
    pub inside: u64,
    /// Mean response time (s) of these good replies; 0 without any.
    pub response_time_mean_s: f64,
    /// Their median response time (s), of whole objects where users browse; none with too few to say.
    #[serde(default)]
    pub response_time_p50_s: Option<f64>,
    /// Their 99th percentile, in the same way.
    #[serde(default)]
    pub response_time_p99_s: Option<f64>,
    /// 99th percentile of the generator's lateness (s) in it; none with too few requests to say.
    #[serde(default)]
    pub lateness_p99_s: Option<f64>,
    /// The mean of that lateness (s); none where none was begun. A standstill of some milliseconds shows in it, and in no
    /// 99th percentile of a second.
    #[serde(default)]
    pub lateness_mean_s: Option<f64>,
}

impl Report {
    /// What the shares of a load measured, as one run: counts, windows and histograms added up, the instants of what was
    /// sent on one time axis, and one verdict.
    ///
    /// # Panics
    /// When there is no share, or an invariant of the generator is broken.
    pub fn of_shares(mut shares: Vec<ShareReport>) -> Report {
        assert!(!shares.is_empty(), "a run has at least one share");
        for share in &mut shares {
            if let Some(emitted) = &mut share.recorder.emitted {
                emitted.shift(-share.clock_offset_ns);
            }
        }
        let Facts { warm_up, open, paced, pacing, timeout, connections_max, limits, .. } = shares[0].facts;
        let known_end = shares.iter().filter_map(|share| share.facts.end).max();
        let ended = shares.iter().map(|share| share.ended).max().unwrap_or_default();
        // From the warm-up to the last reply.
        let wall_s = (ended.as_secs_f64() - warm_up.as_secs_f64()).max(1e-9);
        let threads: Vec<ThreadFacts> = shares.iter().flat_map(|share| share.threads.iter().copied()).collect();
        let cores = cores(&shares);
        let incomplete = incomplete(&shares);
        let record_files = shares.iter_mut().filter_map(|share| share.record_file.take()).collect();
        let started_at_ns = shares[0].started_at_ns;
        let asked = shares.iter_mut().find_map(|share| share.asked.take());
        let all = Recorder::merged(shares.into_iter().map(|share| share.recorder).collect());

        let counts = all.whole;
        // Contract 7: what came in went out, one way or another.
        let out = counts.ok + counts.failed() + counts.abandoned + counts.unfinished;
        assert_eq!(counts.planned, out, "every request has one outcome");
        let mut measured = Counts::default();
        let mut response = Histogram::new();
        for window in &all.windows {
            measured.add(&window.counts);
            response.merge(&window.response);
        }

        let end = match known_end {
            Some(end) => end.min(ended),
            None => all.last_done().min(ended),
        };
        let measured_s = (end.0.saturating_sub(warm_up.0)) as f64 * 1e-9;
        let asked_rate = asked.as_ref().filter(|_| open).map(|law| 1.0 / law.mean());
        let pace = Pace { asked: asked_rate, ..pace(&all, &measured, open, end, measured_s) };
        let runs = all.emitted.as_ref().map(Emitted::runs);
        let intervals = all.intervals.all();
        let seconds = seconds(&all.slices, &intervals);
        let objects = all.objects.clone().map(|tally| {
            let counts = tally.whole;
            let out = counts.ok + counts.failed() + counts.abandoned + counts.unfinished;
            assert_eq!(counts.planned, out, "every object has one outcome");
            let files = std::mem::replace(&mut response, tally.response());
            (tally, files)
        });
        let measures = match &objects {
            None => measures(&all, &response, &measured, (warm_up, timeout), end),
            Some((tally, files)) => {
                let of_files = time_measures(
                    "file_response_time",
                    files,
                    || all.windows.iter().map(|window| &window.response),
                    &[("p90", 0.9)],
                );
                let mut measures = tally.measures(all.may_leave);
                measures.extend(of_files);
                let (whole, files, bytes): (Of, Of, Of) =
                    (|slice| slice.objects, |slice| slice.ok, |slice| slice.bytes);
                for (name, unit, of, count) in [
                    ("throughput", "1/s", whole, whole),
                    ("file_throughput", "1/s", files, files),
                    ("byte_throughput", "B/s", bytes, files),
                ] {
                    measures.push(Measure::new(name, unit, per_second(&all.slices, warm_up, end, of, count)));
                }
                measures.extend(lateness(&all));
                measures
            }
        };
        let mut measures = measures;
        if open && objects.is_none() {
            let most = pace.offered.max(pace.asked.unwrap_or(0.0));
            measures.iter_mut().filter(|of| of.metric == "throughput").for_each(|of| at_most(&mut of.estimate, most));
        }
        let refusals = [("failed_response_time", &all.refusals)];
        let steps = STEPS.iter().map(|(name, _)| *name).zip(&all.steps).chain(refusals);
        for (name, steps) in steps.filter(|(_, steps)| !steps.0.is_empty()) {
            let mut whole = Histogram::new();
            steps.0.iter().for_each(|window| whole.merge(window));
            measures.extend(time_measures(name, &whole, || steps.0.iter(), &[("p90", 0.9), ("p99", 0.99)]));
        }
        measures.extend(all.passes.iter().flat_map(PassTally::measures));
        // Whoever tells of them, a table, a page or a file, has the same ends.
        let measures = measures.iter().map(Measure::within_range).collect();
        let passes = all.passes.map(|tally| tally.report(told_quantile));
        let objects = objects.map(|(tally, files)| tally.report(files));
        let mut report = Report {
            verdict: Proof::Valid,
            measures,
            objects,
            passes,
            connections: all.connections,
            counts,
            measured,
            failed_statuses: all.statuses.into_iter().collect(),
            backends: all.backends.iter().map(|(name, [replies, _])| (text(name), *replies)).collect(),
            backend_bytes: all.backends.iter().map(|(_, [_, bytes])| *bytes).collect(),
            response_time_cdf: cdf(&response),
            response,
            service: all.service,
            lateness: all.lateness,
            intervals,
            seconds,
            records: all.records,
            record_files,
            pace,
            gaps: runs.as_deref().and_then(|runs| Gaps::of(runs, asked.as_ref(), Span::from_secs_f64(limits.late_s))),
            pacing,
            limits,
            threads: threads.len(),
            client_cpu_s: threads.iter().map(|thread| thread.cpu.as_secs_f64()).sum(),
            client_busy: threads.iter().map(|thread| thread.busy).collect(),
            client_waiting: threads.iter().filter_map(|thread| thread.waiting).collect(),
            cores_busy: cores.iter().map(|core| core.0).collect(),
            cores_stolen: cores.iter().map(|core| core.1).collect(),
            started_at_ns,
            elapsed_s: ended.as_secs_f64(),
            warm_up_s: warm_up.as_secs_f64(),
            measured_s,
            bytes: all.bytes,
        };
        let evidence = Evidence {
            inside: (all.area_ns as f64 * 1e-9 / wall_s, all.inside_sum_ns as f64 * 1e-9 / wall_s),
            rate: measured.planned as f64 / wall_s,
            open,
            paced,
            incomplete,
            connections_max,
            limits,
        };
        report.verdict = verdict(&report, &evidence);
        report
    }

    /// When requests failed, in words: `from 10 s to 20 s of 30 s; no good reply after 10 s`. None where none failed.
    pub fn when_failed(&self) -> Option<String> {
        when_failed(&self.seconds)
    }

    /// The value of a measure, where there is one.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.measures.iter().find(|measure| measure.metric == metric)?.estimate.value()
    }
}

/// Offered and achieved rate after the warm-up.
///
/// Whatever was planned was taken up, however late, so the windows' counts are the offered load. `end` may have become
/// known only after the start: then what was begun after it is told by whole slices.
fn pace(all: &Recorder, measured: &Counts, open: bool, end: Time, measured_s: f64) -> Pace {
    let rate = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let offered = rate(measured.planned);
    if !open {
        return Pace { offered, achieved: offered, asked: None };
    }
    let late: u64 = match all.windowing() {
        Windowing::Until(until) if until <= end => 0,
        _ => all.slices.iter().skip((end.0 / SLICE.0) as usize + 1).map(|slice| slice.begun).sum(),
    };
    Pace { offered, achieved: rate(all.begun_in_time.saturating_sub(late)), asked: None }
}

/// Busy and stolen share of each core of each machine; of shares on the same one the largest.
fn cores(shares: &[ShareReport]) -> Vec<(f64, f64)> {
    let mut machines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for share in shares {
        let cores = machines.entry(&share.machine).or_default();
        cores.resize(cores.len().max(share.cores.len()), (0.0, 0.0));
        for (core, more) in cores.iter_mut().zip(&share.cores) {
            *core = (core.0.max(more.0), core.1.max(more.1));
        }
    }
    machines.into_values().flatten().collect()
}

/// Why the shares are not the whole of a run, if they are not.
fn incomplete(shares: &[ShareReport]) -> Option<String> {
    let of = shares[0].share.of;
    let mut there: Vec<u32> = shares.iter().map(|share| share.share.index).collect();
    there.sort_unstable();
    if !there.iter().copied().eq(0..of) {
        return Some(format!("of {of} shares there are {there:?}, counted from 0"));
    }
    let first = shares.iter().filter(|share| share.cancelled).map(|share| share.ended).min()?;
    Some(format!("stopped after {first:.3}"))
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The slices by seconds, with the quantiles of the interval that each lies in.
fn seconds(slices: &[Slice], intervals: &[Interval]) -> Vec<Second> {
    let mut seconds = Vec::new();
    let (mut due, mut over) = (0, 0);
    for ten in slices.chunks((1_000_000_000 / SLICE.0) as usize) {
        let mut second = Second::default();
        let mut sum_s = 0.0;
        for slice in ten {
            second.planned += slice.planned;
            second.begun += slice.begun;
            second.again += slice.again;
            second.ok += slice.ok;
            second.failed += slice.failed;
            sum_s += slice.response_sum_ns as f64 * 1e-9;
        }
        due += second.planned;
        over += second.ok + second.failed;
        second.inside = u64::saturating_sub(due, over);
        second.response_time_mean_s = if second.ok > 0 { sum_s / second.ok as f64 } else { 0.0 };
        seconds.push(second);
    }
    for interval in intervals {
        let (response, lateness) =
            (Histogram::from(interval.response.clone()), Histogram::from(interval.lateness.clone()));
        let (p50, p99) = (told_quantile(&response, 0.5), told_quantile(&response, 0.99));
        let (late_p99, late_mean) = (told_quantile(&lateness, 0.99), lateness.mean().map(|mean_ns| mean_ns * 1e-9));
        let (first, count) =
            ((interval.start.0 / 1_000_000_000) as usize, (interval.length.0 / 1_000_000_000) as usize);
        for second in seconds.iter_mut().skip(first).take(count) {
            (second.response_time_p50_s, second.response_time_p99_s) = (p50, p99);
            (second.lateness_p99_s, second.lateness_mean_s) = (late_p99, late_mean);
        }
    }
    seconds
}

/// Ends the interval of what is never above `most` there, or at its value.
fn at_most(estimate: &mut Estimate, most: f64) {
    if let Estimate::Sampled { value, ci_high, .. } = estimate {
        *ci_high = ci_high.min(most.max(*value));
    }
}

/// Times of trouble that are told one by one; of more their number.
const TOLD_MOST: usize = 3;

/// When requests failed. Seconds that follow each other, or have one without a failure between them, are one time.
fn when_failed(seconds: &[Second]) -> Option<String> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, _) in seconds.iter().enumerate().filter(|(_, second)| second.failed > 0) {
        match spans.last_mut() {
            Some((_, end)) if at <= *end + 1 => *end = at + 1,
            _ => spans.push((at, at + 1)),
        }
    }
    let (&(first, _), &(_, last)) = (spans.first()?, spans.last()?);
    let all = seconds.len();
    let told: Vec<String> = spans.iter().map(|(from, to)| format!("from {from} s to {to} s")).collect();
    let mut text = match spans.len() {
        1 if first == 0 && last == all => "from the start to the end".to_owned(),
        1..=TOLD_MOST => format!("{} of {all} s", told.join(", ")),
        times => format!("{times} times between {first} s and {last} s of {all} s"),
    };
    // The last second of a run may hold a few replies only.
    let good = seconds.iter().rposition(|second| second.ok > 0).map_or(0, |at| at + 1);
    if good > 0 && good + 1 < all {
        text += &format!("; no good reply after {good} s");
    }
    Some(text)
}

/// A quantile (s) of times (ns), where enough of them lie beyond it.
fn told_quantile(times: &Histogram, q: f64) -> Option<f64> {
    let told = times.count() as f64 * (1.0 - q) * (1.0 + 1e-12) >= BEYOND_LEAST;
    told.then(|| times.quantile(q)).flatten().map(|ns| ns as f64 * 1e-9)
}

fn measures(
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

fn lateness(all: &Recorder) -> impl Iterator<Item = Measure> {
    [("lateness_p50", 0.5), ("lateness_p99", 0.99)]
        .into_iter()
        .map(|(name, q)| Measure::new(name, "s", quantile_of_independent(q, &all.lateness)))
}

/// Samples that must lie beyond a quantile: with fewer it is an extreme, not a quantile.
const BEYOND_LEAST: f64 = 10.0;

/// Where the slowest good reply took so large a part of the time-out, requests that failed by it would come with slow ones.
const NEAR_TIMEOUT: f64 = 2.0;

/// What is read from a slice.
type Of = fn(&Slice) -> u64;

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

/// The distribution function, finer towards the tail, so that a logarithmic axis has points there too.
fn cdf(response: &Histogram) -> Vec<(f64, f64)> {
    let all = response.count();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut seen = 0;
    let mut shown = 0.0;
    for (_, high, count) in response.buckets() {
        if points.is_empty() {
            points.push((response.min().unwrap_or(high) as f64 * 1e-9, 0.0));
        }
        seen += count;
        let share = seen as f64 / all as f64;
        if share - shown >= (0.05 * (1.0 - share)).min(0.004) || seen == all {
            points.push((high.min(response.max().unwrap_or(high)) as f64 * 1e-9, share));
            shown = share;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second with so many good replies and so many failures.
    fn second((ok, failed): (u64, u64)) -> Second {
        Second { planned: ok + failed, ok, failed, ..Second::default() }
    }

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

    #[test]
    fn it_is_told_when_requests_failed() {
        let told = |of: &[(u64, u64)]| when_failed(&of.iter().copied().map(second).collect::<Vec<_>>());
        assert_eq!(told(&[(9, 0); 5]), None);
        let dead = [(9, 0), (9, 0), (4, 5), (0, 9), (0, 9)];
        assert_eq!(told(&dead).unwrap(), "from 2 s to 5 s of 5 s; no good reply after 3 s");
        assert_eq!(told(&[(0, 9); 5]).unwrap(), "from the start to the end");
        assert_eq!(told(&[(8, 1); 5]).unwrap(), "from the start to the end");
        let back = [(9, 0), (0, 9), (9, 0), (1, 8), (9, 0), (9, 0), (8, 1)];
        assert_eq!(told(&back).unwrap(), "from 1 s to 4 s, from 6 s to 7 s of 7 s");
        let often: Vec<(u64, u64)> = (0..20).map(|at| (9, u64::from(at % 4 == 1))).collect();
        assert_eq!(told(&often).unwrap(), "5 times between 1 s and 18 s of 20 s");
    }
}
