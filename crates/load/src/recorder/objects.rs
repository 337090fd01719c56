//! What is kept of whole objects (pages with all their embedded files), beside what is kept of every file.

use serde::{Deserialize, Serialize};
use sojourn_stats::parts::clump;
use sojourn_stats::{Estimate, Histogram, Measure, Span, Time};
use sojourn_traffic::Visit;

use crate::outcome::{Counts, Outcome};
use crate::recorder::division::Division;
use crate::recorder::record::ObjectRecord;
use crate::report::estimate::{WINDOWS, alike, never, quantile, ratio, share};

/// Up to these times users call the quality of service high and average, above low: of a page that is shown when it is
/// whole, and of one shown as it loads (Bjornstad 2006, Table 2.2).
const PLAIN: [Span; 2] = [Span(5_000_000_000), Span(11_000_000_000)];
const INCREMENTAL: [Span; 2] = [Span(39_000_000_000), Span(56_000_000_000)];

/// What a run with sessions measured of whole objects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Objects {
    /// All objects of the run by what became of them, warm-up included.
    pub counts: Counts,
    /// Those planned after the warm-up.
    pub measured: Counts,
    /// Response times (ns) of page files, after the warm-up; those of whole objects are the report's `response`.
    pub page_response: Histogram,
    /// Response times (ns) of all files of these objects, each from when it was due on its connection.
    pub file_response: Histogram,
    /// The same by the backend that sent the page's own file, in the order of the report's backends.
    pub backends: Vec<ObjectsOfBackend>,
    /// Every object of the run in order of its number, where records were asked for.
    pub records: Option<Vec<ObjectRecord>>,
}

/// The objects whose page one backend sent, as `x-sojourn-backend` named it: good ones, after the warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjectsOfBackend {
    /// How many.
    pub count: u64,
    /// Their mean response time (s).
    pub response_time_mean: Estimate,
}

/// One of the equal parts of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Window {
    response: Histogram,
    page: Histogram,
    counts: Counts,
    /// Objects within each of [`PLAIN`] and [`INCREMENTAL`].
    plain: [u64; 2],
    incremental: [u64; 2],
}

/// One thread's tally of its objects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tally {
    division: Division,
    pub(crate) whole: Counts,
    windows: Vec<Window>,
    /// Per backend and window: the sum of the response times (s) and their number.
    backends: Vec<[(f64, f64); WINDOWS]>,
    pub(crate) records: Option<Vec<ObjectRecord>>,
}

impl Tally {
    pub(crate) fn new(division: Division, keep_records: bool) -> Tally {
        let window = Window {
            response: Histogram::new(),
            page: Histogram::new(),
            counts: Counts::default(),
            plain: [0; 2],
            incremental: [0; 2],
        };
        let records = keep_records.then(Vec::new);
        Tally { division, whole: Counts::default(), windows: vec![window; WINDOWS], backends: Vec::new(), records }
    }

    /// An object is over.
    pub(crate) fn over(&mut self, object: &ObjectRecord) {
        self.whole.planned += 1;
        self.whole.settle(object.outcome);
        if let Some(records) = &mut self.records {
            records.push(*object);
        }
        let Some(index) = self.division.window(object.planned, object.k) else { return };
        let window = &mut self.windows[index];
        window.counts.planned += 1;
        window.counts.settle(object.outcome);
        if let Some(done) = object.page_done {
            window.page.record(done.saturating_since(object.planned).0);
        }
        if object.outcome != Outcome::Ok {
            return;
        }
        let response = object.done.saturating_since(object.planned);
        window.response.record(response.0);
        if let Some(backend) = object.backend.map(usize::from) {
            if backend >= self.backends.len() {
                self.backends.resize(backend + 1, [(0.0, 0.0); WINDOWS]);
            }
            let (sum_s, count) = &mut self.backends[backend][index];
            *sum_s += response.as_secs_f64();
            *count += 1.0;
        }
        for (count, limit) in window.plain.iter_mut().zip(PLAIN) {
            *count += u64::from(response <= limit);
        }
        for (count, limit) in window.incremental.iter_mut().zip(INCREMENTAL) {
            *count += u64::from(response <= limit);
        }
    }

    /// Gives the thread's own backends their numbers among the run's `all`.
    pub(crate) fn renumber(&mut self, numbers: &[u16], all: usize) {
        let own = std::mem::replace(&mut self.backends, vec![[(0.0, 0.0); WINDOWS]; all]);
        for (windows, &number) in own.into_iter().zip(numbers) {
            self.backends[usize::from(number)] = windows;
        }
        for record in self.records.iter_mut().flatten() {
            record.backend = record.backend.map(|backend| numbers[usize::from(backend)]);
        }
    }

    /// Adds another thread's tally, numbered in the same way.
    pub(crate) fn absorb(&mut self, mut other: Tally) {
        self.whole.add(&other.whole);
        for (window, more) in self.windows.iter_mut().zip(&other.windows) {
            window.response.merge(&more.response);
            window.page.merge(&more.page);
            window.counts.add(&more.counts);
            for at in 0..2 {
                window.plain[at] += more.plain[at];
                window.incremental[at] += more.incremental[at];
            }
        }
        for (backend, more) in self.backends.iter_mut().zip(&other.backends) {
            for (window, more) in backend.iter_mut().zip(more) {
                window.0 += more.0;
                window.1 += more.1;
            }
        }
        if let (Some(records), Some(more)) = (&mut self.records, &mut other.records) {
            records.append(more);
        }
    }

    /// The response times of whole objects, of good ones alone.
    pub(crate) fn response(&self) -> Histogram {
        merged(self.windows.iter().map(|window| &window.response))
    }

    /// The counts after the warm-up.
    pub(crate) fn measured(&self) -> Counts {
        let mut measured = Counts::default();
        for window in &self.windows {
            measured.add(&window.counts);
        }
        measured
    }

    /// `response_time_*`, `page_response_time_*`, `error_ratio`, `abandoned_ratio`, `denied_ratio` and `quality_*`; objects are
    /// given up only where users `may_leave`.
    pub(crate) fn measures(&self, may_leave: bool) -> Vec<Measure> {
        let windows = &self.windows;
        let measured = self.measured();
        let mut measures = Vec::new();
        let mut times = |name: &str, of: fn(&Window) -> &Histogram, quantiles: &[(&str, f64)]| {
            let all = merged(windows.iter().map(of));
            measures.extend(time_measures(name, &all, || windows.iter().map(of), quantiles));
        };
        times("response_time", |window| &window.response, &[("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)]);
        times("page_response_time", |window| &window.page, &[("p90", 0.9)]);
        let alike = alike(&measures[0].estimate, &self.response());
        let together =
            |parts: &[(f64, f64)]| clump(&parts.iter().map(|part| (part.0 as u64, part.1 as u64)).collect::<Vec<_>>());

        let of_planned = |of: fn(&Counts) -> u64| {
            let parts: Vec<(f64, f64)> =
                windows.iter().map(|window| (of(&window.counts) as f64, window.counts.planned as f64)).collect();
            share(&parts, measured.planned, together(&parts))
        };
        measures.push(Measure::new("error_ratio", "1", of_planned(|counts| counts.wrong())));
        let abandoned = if may_leave { of_planned(|counts| counts.abandoned) } else { never(measured.planned) };
        measures.push(Measure::new("abandoned_ratio", "1", abandoned));
        // How slow a page is hangs together with how slow the one before was.
        let of_over = |of: &dyn Fn(&Window) -> u64, as_times: bool| {
            let over = |window: &Window| window.counts.planned - window.counts.unfinished;
            let parts: Vec<(f64, f64)> =
                windows.iter().map(|window| (of(window) as f64, over(window) as f64)).collect();
            share(&parts, measured.planned - measured.unfinished, if as_times { alike } else { together(&parts) })
        };
        let denied = of_over(&|window| window.counts.refused + window.counts.timeout, false);
        measures.push(Measure::new("denied_ratio", "1", denied));
        for (name, of) in [
            ("quality", (|window| window.plain) as fn(&Window) -> [u64; 2]),
            ("quality_incremental", |window| window.incremental),
        ] {
            let over = |window: &Window| window.counts.planned - window.counts.unfinished;
            measures.push(Measure::new(format!("{name}_high"), "1", of_over(&|window| of(window)[0], true)));
            measures.push(Measure::new(
                format!("{name}_average"),
                "1",
                of_over(&|window| of(window)[1] - of(window)[0], true),
            ));
            // A page that never came whole is as low as one that came too late.
            let low = of_over(&|window| over(window) - of(window)[1], true);
            measures.push(Measure::new(format!("{name}_low"), "1", low));
        }
        measures
    }

    /// The report's part; the files' response times come from elsewhere.
    pub(crate) fn report(self, file_response: Histogram) -> Objects {
        let measured = self.measured();
        let page_response = merged(self.windows.iter().map(|window| &window.page));
        let of_backend = |windows: &[(f64, f64); WINDOWS]| {
            let count = windows.iter().map(|window| window.1).sum::<f64>() as u64;
            ObjectsOfBackend { count, response_time_mean: ratio(windows, count) }
        };
        let backends = self.backends.iter().map(of_backend).collect();
        let mut records = self.records;
        if let Some(records) = &mut records {
            records.sort_unstable_by_key(|record| record.k);
        }
        Objects { counts: self.whole, measured, page_response, file_response, backends, records }
    }
}

impl Objects {
    /// The emitted stream of pages, where records were asked for: of each user, in order of its number, the visits as
    /// they happened. Thinking is what passed since the page before was over (or the start).
    pub fn streams(&self) -> Option<Vec<Vec<Visit>>> {
        let mut records: Vec<&ObjectRecord> = self.records.as_ref()?.iter().collect();
        records.sort_by_key(|record| (record.client, record.planned));
        let of_user = |records: &[&ObjectRecord]| {
            let mut free_at = Time::ZERO;
            let visit = |record: &&ObjectRecord| {
                let think = record.planned.saturating_since(free_at);
                free_at = record.done;
                Visit { think, page: record.page, first: record.first, last: record.last }
            };
            records.iter().map(visit).collect()
        };
        Some(records.chunk_by(|one, next| one.client == next.client).map(of_user).collect())
    }
}

/// `{name}_mean` and the quantiles of times (ns), in seconds.
pub(crate) fn time_measures<'a, I: Iterator<Item = &'a Histogram>>(
    name: &str,
    all: &Histogram,
    windows: impl Fn() -> I,
    quantiles: &[(&str, f64)],
) -> Vec<Measure> {
    let sum_s = |times: &Histogram| times.mean().unwrap_or(0.0) * 1e-9 * times.count() as f64;
    let sums: Vec<(f64, f64)> = windows().map(|times| (sum_s(times), times.count() as f64)).collect();
    let mut measures = vec![Measure::new(format!("{name}_mean"), "s", ratio(&sums, all.count()))];
    for (suffix, q) in quantiles {
        measures.push(Measure::new(format!("{name}_{suffix}"), "s", quantile(*q, all, windows())));
    }
    measures
}

fn merged<'a>(parts: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::new();
    for part in parts {
        all.merge(part);
    }
    all
}
