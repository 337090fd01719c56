//! What a run measured, merged from its shares.

pub(crate) mod doubt;
pub mod estimate;
pub(crate) mod gaps;
mod hdr;
pub(crate) mod limits;
pub(crate) mod measured;
mod measures;
mod pace;
#[cfg(test)]
mod proof;
mod second;
mod settling;
pub mod verdict;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Histogram, Measure, Span};

use crate::outcome::{Connections, Counts};
use crate::recorder::Recorder;
use crate::recorder::emitted::Emitted;
use crate::recorder::interval::Interval;
use crate::recorder::objects::Objects;
use crate::recorder::passes::{PassTally, Passes};
use crate::recorder::record::Record;
use crate::recorder::records::Recorded;
use crate::report::gaps::Gaps;
use crate::report::limits::Limits;
use crate::report::measured::{Facts, ShareReport, ThreadFacts};
use crate::report::measures::{at_most, measures, measures_of_objects, measures_of_steps};
use crate::report::pace::pace;
use crate::report::second::{seconds, when_failed};
use crate::report::settling::as_far_as_settled;
use crate::report::verdict::{Evidence, Proof, verdict};
use crate::setting::Pacing;

pub use crate::report::pace::Pace;
pub use crate::report::second::Second;
pub use crate::report::settling::Unsettled;

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
    /// Of an open schedule: that requests came faster than they ended, to the end. Times then have no interval, nor has what a
    /// queue that goes on growing ends in.
    #[serde(default)]
    pub unsettled: Option<Unsettled>,
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
        let mut measures = match &objects {
            None => measures(&all, &response, &measured, (warm_up, timeout), end),
            Some((tally, files)) => measures_of_objects(&all, (tally, files), warm_up, end),
        };
        if open && objects.is_none() {
            let most = pace.offered.max(pace.asked.unwrap_or(0.0));
            measures.iter_mut().filter(|of| of.metric == "throughput").for_each(|of| at_most(&mut of.estimate, most));
        }
        measures.extend(measures_of_steps(&all));
        measures.extend(all.passes.iter().flat_map(PassTally::measures));
        let unsettled = Unsettled::of(&all.slices, warm_up, end).filter(|_| open);
        // Whoever tells of them, a table, a page or a file, has the same ends.
        let measures = measures.iter().map(Measure::within_range).collect();
        let measures = as_far_as_settled(measures, unsettled);
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
            unsettled,
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

    /// `measures` of its requests, without intervals where they hang on how long the load lasts.
    #[must_use]
    pub fn as_far_as_settled(&self, measures: Vec<Measure>) -> Vec<Measure> {
        as_far_as_settled(measures, self.unsettled)
    }

    /// The value of a measure, where there is one.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.measures.iter().find(|measure| measure.metric == metric)?.estimate.value()
    }
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

/// A quantile (s) of times (ns), where enough of them lie beyond it.
fn told_quantile(times: &Histogram, q: f64) -> Option<f64> {
    let told = times.count() as f64 * (1.0 - q) * (1.0 + 1e-12) >= BEYOND_LEAST;
    told.then(|| times.quantile(q)).flatten().map(|ns| ns as f64 * 1e-9)
}

/// Samples that must lie beyond a quantile: with fewer it is an extreme, not a quantile.
const BEYOND_LEAST: f64 = 10.0;

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
