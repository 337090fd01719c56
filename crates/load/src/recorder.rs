//! What a thread keeps of its requests: counts, histograms per window, optional records. Flat memory unless every
//! request is to be recorded; merged when the run is over.

pub(crate) mod division;
pub mod emitted;
pub(crate) mod interval;
mod merge;
pub(crate) mod objects;
pub(crate) mod passes;
#[cfg(test)]
mod proof;
pub(crate) mod record;
pub mod records;
mod slice;
mod step;
pub(crate) mod watch;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sojourn_stats::{Histogram, Span, Time};

use crate::outcome::{Connections, Counts, Outcome, Settlement};
use crate::recorder::division::{Division, Windowing};
use crate::recorder::emitted::Emitted;
use crate::recorder::interval::Intervals;
use crate::recorder::objects::Tally;
use crate::recorder::passes::{PassTally, StepTally};
use crate::recorder::record::{ObjectRecord, Record};
use crate::recorder::records::write::Sink;
use crate::recorder::watch::Recent;
use crate::report::estimate::WINDOWS;
use crate::request::scenario::Fault;
use crate::schedule::job::Job;
use crate::schedule::passes::PassEnded;
use crate::wire::exchange::Exchange;

pub(crate) use crate::recorder::slice::{SLICE, Slice};
pub(crate) use crate::recorder::step::{STEPS, Steps};

/// One of the equal parts of a run that intervals are made from, by planned instant or request number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) response: Histogram,
    pub(crate) service_sum_ns: u128,
    pub(crate) counts: Counts,
}

/// What a recorder is to keep beyond the flat minimum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keep {
    /// Planned and begun instants.
    pub(crate) emitted: bool,
    /// Records, of so many requests as far as that is known.
    pub(crate) records: Option<usize>,
    /// Whole objects.
    pub(crate) objects: bool,
    /// What has happened since a watcher last looked.
    pub(crate) watched: bool,
    /// Clients may ask for a request more than once.
    pub(crate) again: bool,
}

/// One thread's recorder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recorder {
    division: Division,
    pub(crate) whole: Counts,
    pub(crate) windows: Vec<Window>,
    pub(crate) service: Histogram,
    pub(crate) lateness: Histogram,
    pub(crate) slices: Vec<Slice>,
    pub(crate) intervals: Intervals,
    /// Times of the steps on the way to a reply, by window, where they were gone.
    pub(crate) steps: [Steps; STEPS.len()],
    /// Response times of the replies that were failures, by window, where there were any.
    pub(crate) refusals: Steps,
    /// How many of them had this status, warm-up included.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Planned and begun instants of the requests of an open schedule.
    pub(crate) emitted: Option<Emitted>,
    /// Requests that were begun before the end of the plan, after the warm-up.
    pub(crate) begun_in_time: u64,
    pub(crate) records: Option<Vec<Record>>,
    /// Where records go that are to be in a file.
    #[serde(skip)]
    sink: Option<Sink>,
    /// Name, replies and their bytes.
    pub(crate) backends: Vec<(Vec<u8>, [u64; 2])>,
    pub(crate) connections: Connections,
    /// Of users who browse: their objects.
    pub(crate) objects: Option<Tally>,
    /// Of users who follow scenarios: their passes and steps.
    pub(crate) passes: Option<PassTally>,
    /// Whether any client had a patience: without one none gives up.
    pub(crate) may_leave: bool,
    /// Whether clients may ask for a request more than once.
    pub(crate) may_try_again: bool,
    /// Bytes of reply bodies.
    pub(crate) bytes: u64,
    /// Requests in the generator's hands after the warm-up, integrated over the time its loop saw (ns x requests), for
    /// Little's law.
    pub(crate) area_ns: u128,
    /// Sum of the same requests' times from planned to their end.
    pub(crate) inside_sum_ns: u128,
    inside: u64,
    area_at: Time,
    last_done: Time,
    /// For who watches.
    #[serde(skip)]
    pub(crate) recent: Option<Box<Recent>>,
}

impl Recorder {
    pub(crate) fn new(division: Division, keep: Keep, sink: Option<Sink>) -> Recorder {
        let window = Window { response: Histogram::new(), service_sum_ns: 0, counts: Counts::default() };
        Recorder {
            division,
            whole: Counts::default(),
            windows: vec![window; WINDOWS],
            service: Histogram::new(),
            lateness: Histogram::new(),
            slices: Vec::with_capacity(4096),
            intervals: Intervals::new(),
            steps: Default::default(),
            refusals: Steps::default(),
            statuses: BTreeMap::new(),
            emitted: keep.emitted.then(Emitted::default),
            begun_in_time: 0,
            records: keep.records.map(Vec::with_capacity),
            sink,
            backends: Vec::new(),
            connections: Connections::default(),
            objects: keep.objects.then(|| Tally::new(division, keep.records.is_some())),
            passes: None,
            may_leave: false,
            may_try_again: keep.again,
            bytes: 0,
            area_ns: 0,
            inside_sum_ns: 0,
            inside: 0,
            area_at: Time::ZERO,
            last_done: Time::ZERO,
            recent: keep.watched.then(Box::default),
        }
    }

    /// The same for users who follow scenarios with these steps, where there are any.
    pub(crate) fn with_steps(self, steps: Vec<StepTally>) -> Recorder {
        let passes = (!steps.is_empty()).then(|| PassTally::new(steps));
        Recorder { passes, ..self }
    }

    /// `job` has come due and is in the generator's hands at `now`.
    #[inline]
    pub(crate) fn taken(&mut self, job: &Job, now: Time) {
        self.whole.planned += 1;
        self.slice(job.planned).planned += 1;
        self.may_leave |= job.request.patience != Span::FOREVER;
        if let Some(window) = self.window(job) {
            window.counts.planned += 1;
        }
        if self.counts(job) {
            self.inside_changes(now);
            self.inside += 1;
        }
    }

    /// Every connection was taken when `job` came due.
    pub(crate) fn queued(&mut self, job: &Job) {
        self.whole.queued += 1;
        if let Some(window) = self.window(job) {
            window.counts.queued += 1;
        }
    }

    /// The generator acts on the request that `job` is of for the first time, at `begun`; `free` when nothing but itself kept it
    /// from acting earlier.
    #[inline]
    pub(crate) fn begun(&mut self, job: &Job, begun: Time, free: bool) {
        self.slice(begun).begun += 1;
        if free {
            let late = begun.saturating_since(job.planned);
            self.intervals.lateness(begun, late);
            if let Some(recent) = &mut self.recent {
                recent.lateness.record(late.0);
            }
        }
        if !self.counts(job) {
            return;
        }
        if free {
            self.lateness.record(begun.saturating_since(job.planned).0);
        }
        if let Some(emitted) = &mut self.emitted {
            emitted.push(job.k, job.planned, begun);
        }
        self.begun_in_time += u64::from(!matches!(self.division.windowing, Windowing::Until(end) if begun > end));
    }

    /// A further attempt of `job` is made, be it the first that has a connection or not.
    pub(crate) fn tried_again(&mut self, job: &Job, begun: Time) {
        self.slice(begun).again += 1;
        self.whole.tried_again += 1;
        if let Some(window) = self.window(job) {
            window.counts.tried_again += 1;
        }
    }

    /// A redirect is followed.
    pub(crate) fn redirected(&mut self, job: &Job) {
        self.whole.redirected += 1;
        if let Some(window) = self.window(job) {
            window.counts.redirected += 1;
        }
    }

    /// A stale connection: the request goes out once more.
    pub(crate) fn retried(&mut self, job: &Job) {
        self.whole.retried += 1;
        if let Some(window) = self.window(job) {
            window.counts.retried += 1;
        }
    }

    /// The server has not processed the request, and says so: it goes out again.
    pub(crate) fn not_processed(&mut self, job: &Job) {
        self.whole.not_processed += 1;
        if let Some(window) = self.window(job) {
            window.counts.not_processed += 1;
        }
    }

    /// `job` is over; `exchange` as far as it got.
    #[inline]
    pub(crate) fn over(
        &mut self,
        job: &Job,
        exchange: Option<&Exchange>,
        outcome: Outcome,
        done: Time,
        reply: ReplyFacts,
    ) -> Settlement {
        let response = done.saturating_since(job.planned);
        if self.counts(job) {
            self.inside_changes(done);
            self.inside -= 1;
            self.inside_sum_ns += u128::from(response.0);
        }
        self.last_done = self.last_done.max(done);
        self.whole.settle(outcome);
        self.bytes += reply.bytes;
        self.slice(done).bytes += reply.bytes;
        let sent = exchange.and_then(|exchange| exchange.sent);
        let ok = outcome == Outcome::Ok;
        match outcome {
            Outcome::Ok => {}
            Outcome::Abandoned => self.slice(job.planned).abandoned += 1,
            _ => self.slice(job.planned).wrong += 1,
        }
        let by_status = matches!(outcome, Outcome::ClientError | Outcome::ServerError);
        let refused = by_status || matches!(outcome, Outcome::Check | Outcome::Take);
        if by_status {
            *self.statuses.entry(reply.status).or_default() += 1;
        }
        if let Some(recent) = self.recent.as_mut().filter(|_| ok) {
            recent.response.record(response.0);
        }
        let slice = self.slice(done);
        if ok {
            slice.ok += 1;
            slice.response_sum_ns += response.0;
            if self.objects.is_none() {
                self.intervals.response(done, response);
            }
        } else {
            slice.failed += 1;
        }
        let backend = if reply.backend.is_empty() { None } else { self.backend(reply.backend) };
        if let Some(index) = self.window_index(job) {
            let window = &mut self.windows[index];
            window.counts.settle(outcome);
            if ok {
                let service = done.saturating_since(sent.expect("a reply came, so the request went out"));
                window.response.record(response.0);
                window.service_sum_ns += u128::from(service.0);
                self.service.record(service.0);
                self.step_times(index, exchange.expect("a reply came"));
            } else if refused {
                self.refusals.record(index, response);
            }
            if let Some(passes) = &mut self.passes {
                passes.over(job, outcome, response);
            }
            if let Some(backend) = backend {
                let [replies, bytes] = &mut self.backends[usize::from(backend)].1;
                *replies += 1;
                *bytes += reply.bytes;
            }
        }
        if self.records.is_some() || self.sink.is_some() {
            let record = Record {
                k: job.k,
                client: job.request.client,
                class: job.request.class,
                outcome,
                status: reply.status,
                backend,
                endpoint: job.endpoint as u16,
                hops: exchange.map_or(0, |exchange| exchange.hops.min(u32::from(u8::MAX)) as u8),
                attempts: if exchange.is_some() { job.attempt.saturating_add(1) } else { job.attempt },
                planned: job.planned,
                demand: job.request.demand,
                begun: exchange.map(|exchange| exchange.begun),
                resolved: exchange.and_then(|exchange| exchange.resolved),
                connected: exchange.and_then(|exchange| exchange.connected),
                secured: exchange.and_then(|exchange| exchange.secured),
                sent,
                first_byte: exchange.and_then(|exchange| exchange.first_byte),
                done,
                bytes: reply.bytes,
            };
            if let Some(sink) = &mut self.sink {
                sink.push(record);
            }
            if let Some(records) = &mut self.records {
                records.push(record);
            }
        }
        Settlement { outcome, bytes: reply.bytes, backend }
    }

    /// Nothing is over any more: what is still to go to a file goes there.
    pub(crate) fn close(&mut self) {
        self.intervals.close();
        if let Some(sink) = self.sink.take() {
            sink.close();
        }
    }

    /// An object is over.
    pub(crate) fn object_over(&mut self, object: &ObjectRecord) {
        if object.outcome == Outcome::Ok {
            self.slice(object.done).objects += 1;
            self.intervals.response(object.done, object.done.saturating_since(object.planned));
        }
        self.objects.as_mut().expect("users who browse have their objects recorded").over(object);
    }

    /// Something of the reply to `job` did not come out.
    pub(crate) fn fault(&mut self, job: &Job, fault: Fault) {
        let measured = self.window_index(job).is_some();
        if let Some(passes) = self.passes.as_mut().filter(|_| measured) {
            passes.fault(job, fault);
        }
    }

    /// A pass is over.
    pub(crate) fn pass_over(&mut self, pass: &PassEnded, now: Time) {
        let window = self.division.window(pass.began, pass.k);
        if let (Some(passes), Some(window)) = (&mut self.passes, window) {
            passes.pass_over(pass, window, now);
        }
    }

    /// How what it measures falls into windows.
    pub(crate) fn windowing(&self) -> Windowing {
        self.division.windowing
    }

    /// When the last request was over.
    pub(crate) fn last_done(&self) -> Time {
        self.last_done
    }

    /// Counts how long the steps of a good exchange took, those that it had.
    #[inline]
    fn step_times(&mut self, window: usize, exchange: &Exchange) {
        for (steps, (_, of)) in self.steps.iter_mut().zip(&STEPS) {
            if let Some(took) = of(exchange) {
                steps.record(window, took);
            }
        }
    }

    /// Whether the warm-up is over for `job`.
    #[inline]
    fn counts(&self, job: &Job) -> bool {
        job.counts_at >= self.division.warm_up
    }

    #[inline]
    fn inside_changes(&mut self, now: Time) {
        self.area_ns += u128::from(self.inside) * u128::from(now.saturating_since(self.area_at).0);
        self.area_at = self.area_at.max(now);
    }

    #[inline]
    fn slice(&mut self, at: Time) -> &mut Slice {
        let index = (at.0 / SLICE.0) as usize;
        if index >= self.slices.len() {
            self.slices.resize(index + 1, Slice::default());
        }
        &mut self.slices[index]
    }

    #[inline]
    fn window(&mut self, job: &Job) -> Option<&mut Window> {
        let index = self.window_index(job)?;
        Some(&mut self.windows[index])
    }

    /// The window of `job`; none while warming up.
    #[inline]
    fn window_index(&self, job: &Job) -> Option<usize> {
        self.division.window(job.counts_at, job.k)
    }

    /// The number of the backend with this name; few, so a scan. None when there are too many to be names.
    fn backend(&mut self, name: &[u8]) -> Option<u16> {
        let found = self.backends.iter().position(|(known, _)| known == name);
        let index = match found {
            Some(index) => index,
            None if self.backends.len() < 4096 => {
                self.backends.push((name.to_vec(), [0; 2]));
                if let Some(sink) = &mut self.sink {
                    sink.backend(name);
                }
                self.backends.len() - 1
            }
            None => return None,
        };
        Some(index as u16)
    }
}

/// What came of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplyFacts<'a> {
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) backend: &'a [u8],
}
