//! Sections: the counts of a run of unknown length in bounded memory, 20 to 40 sections of as many jobs each. When there are
//! 40, neighbours are joined and sections are twice as long from then on.

use std::sync::Arc;

use sojourn_stats::{Histogram, Span, Time};

use super::{Arrival, Job, Queue};
use crate::requests::prediction::Errors;
use crate::study::merged;
use crate::summary::{self, Counts, QUANTILES, Row};

const SECTIONS_MOST: usize = 40;
/// Jobs of a section at first.
const SECTION: u64 = 64;

/// Times of all jobs measured, by section.
pub(super) struct Sections {
    sections: Vec<Section>,
    open: Section,
    /// Empty ones, whose memory is used again.
    spare: Vec<Section>,
    /// Jobs in a section, and how many more there are to be in the open one.
    size: u64,
    room: u64,
    /// When the open section began, and the last job left.
    since: Option<Time>,
    until: Time,
}

#[derive(Clone)]
pub(super) struct Section {
    /// Response times (ns) of those that were served.
    response: Histogram,
    waiting_ns: u128,
    service_ns: u128,
    denied: u64,
    elapsed: Span,
}

/// Joins each with its neighbour; those that have gone into another are returned.
fn halve<S>(sections: &mut Vec<S>, join: impl Fn(&mut S, &S)) -> Vec<S> {
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    let mut each = sections.drain(..);
    while let (Some(mut one), Some(other)) = (each.next(), each.next()) {
        join(&mut one, &other);
        kept.push(one);
        gone.push(other);
    }
    drop(each);
    *sections = kept;
    gone
}

impl Section {
    pub(super) fn new() -> Section {
        Section { response: Histogram::new(), waiting_ns: 0, service_ns: 0, denied: 0, elapsed: Span::ZERO }
    }

    fn clear(&mut self) {
        self.response.clear();
        (self.waiting_ns, self.service_ns, self.denied, self.elapsed) = (0, 0, 0, Span::ZERO);
    }

    /// Adds jobs that leave when `serve` says; when the last of them left. The sums are in registers meanwhile.
    #[inline]
    pub(super) fn fill(
        &mut self,
        jobs: impl Iterator<Item = Arrival>,
        serve: &mut impl FnMut(Time, Span) -> Time,
    ) -> Time {
        let (before_ns, mut service_ns, mut until) = (self.response.sum(), 0u128, Time::ZERO);
        self.response.extend(jobs.map(|Arrival { at, demand, .. }| {
            let left = serve(at, demand);
            service_ns += u128::from(demand.0);
            until = until.max(left);
            (left - at).0
        }));
        self.service_ns += service_ns;
        // A job that is not being served waits.
        self.waiting_ns += self.response.sum() - before_ns - service_ns;
        until
    }

    fn join(&mut self, other: &Section) {
        self.response.merge(&other.response);
        self.waiting_ns += other.waiting_ns;
        self.service_ns += other.service_ns;
        self.denied += other.denied;
        self.elapsed += other.elapsed;
    }

    fn part(&self, cores: u32) -> Counts {
        let served = self.response.count();
        let service_s = self.service_ns as f64 * 1e-9;
        Counts {
            elapsed_s: self.elapsed.as_secs_f64(),
            completions: served,
            served,
            waiting_s: self.waiting_ns as f64 * 1e-9,
            service_s,
            busy_s: service_s / f64::from(cores),
            busy: vec![service_s / f64::from(cores)],
            ended: served + self.denied,
            denied: self.denied,
            abandoned: 0,
            retried: None,
            may_fail: (true, false),
            sent: vec![served],
            connections: None,
            of_class: Vec::new(),
        }
    }
}

impl Sections {
    pub(super) fn new() -> Sections {
        Sections {
            sections: Vec::new(),
            open: Section::new(),
            spare: Vec::new(),
            size: SECTION,
            room: SECTION,
            since: None,
            until: Time::ZERO,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, job: &Job) {
        if self.since.is_none() {
            self.since = Some(job.arrival.at);
        }
        self.until = self.until.max(job.left);
        if job.denied {
            self.open.denied += 1;
        } else {
            self.open.response.record((job.left - job.arrival.at).0);
            self.open.waiting_ns += u128::from((job.started - job.arrival.at).0);
            self.open.service_ns += u128::from(job.arrival.demand.0);
        }
        self.room -= 1;
        if self.room == 0 {
            self.close();
        }
    }

    /// The same for many, which leave when `serve` says: a section at a time.
    #[inline]
    pub(super) fn serve(&mut self, mut jobs: impl Iterator<Item = Arrival>, mut serve: impl FnMut(Time, Span) -> Time) {
        if self.since.is_none() {
            let Some(arrival) = jobs.next() else { return };
            let left = serve(arrival.at, arrival.demand);
            let started = arrival.at.max(Time(left.0 - arrival.demand.0));
            self.add(&Job { number: 0, arrival, started, left, denied: false, predicted: None });
        }
        loop {
            let before = self.open.response.count();
            let room = usize::try_from(self.room).unwrap_or(usize::MAX);
            let left = self.open.fill(jobs.by_ref().take(room), &mut serve);
            self.until = self.until.max(left);
            self.room -= self.open.response.count() - before;
            if self.room > 0 {
                return;
            }
            self.close();
        }
    }

    /// Adds the counts of jobs that were played elsewhere, of which the last left at `until`: no more of them than there is
    /// room in the open section, and none of them denied.
    pub(super) fn join(&mut self, jobs: &Section, until: Time) {
        self.until = self.until.max(until);
        self.open.join(jobs);
        self.room -= jobs.response.count();
        if self.room == 0 {
            self.close();
        }
    }

    #[cold]
    fn close(&mut self) {
        self.open.elapsed = self.elapsed();
        self.since = Some(self.until);
        let next = self.spare.pop().unwrap_or_else(Section::new);
        self.sections.push(std::mem::replace(&mut self.open, next));
        if self.sections.len() == SECTIONS_MOST {
            self.spare = halve(&mut self.sections, Section::join);
            self.spare.iter_mut().for_each(Section::clear);
            self.size *= 2;
        }
        self.room = self.size;
    }

    fn elapsed(&self) -> Span {
        self.until.saturating_since(self.since.unwrap_or(self.until))
    }

    /// When the last job left so far.
    pub(super) fn until(&self) -> Time {
        self.until
    }

    /// Jobs counted, the denied ones among them.
    pub(super) fn jobs(&self) -> u64 {
        let of = |section: &Section| section.response.count() + section.denied;
        self.sections.iter().map(of).sum::<u64>() + of(&self.open)
    }

    /// Jobs in each section that is full.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// How many more jobs there are to be in the open one.
    pub(super) fn room(&self) -> u64 {
        self.room
    }

    /// How many jobs it takes until a section has at least `size`.
    pub(super) fn needed(size: u64) -> u64 {
        let sections = SECTIONS_MOST as u64 / 2;
        size.div_ceil(SECTION).checked_next_power_of_two().unwrap_or(u64::MAX).saturating_mul(SECTION * sections)
    }

    /// All response times.
    pub(super) fn response(&self) -> Histogram {
        let mut whole = merged(&self.histograms());
        whole.merge(&self.open.response);
        whole
    }

    /// Those of the sections that are full.
    fn histograms(&self) -> Vec<&Histogram> {
        self.sections.iter().map(|section| &section.response).collect()
    }

    fn whole(&self) -> Section {
        let mut whole = Section::new();
        self.sections.iter().for_each(|section| whole.join(section));
        whole.join(&Section { elapsed: self.elapsed(), ..self.open.clone() });
        whole
    }

    pub(super) fn rows(&self, queue: &Queue) -> Vec<Row> {
        let (whole, histograms) = (self.whole(), self.histograms());
        let mut rows = vec![summary::mean("response_time_mean", &whole.response, &histograms)];
        let response = Arc::new(whole.response.clone());
        let quantile = |(metric, p): &(&str, f64)| summary::quantile(metric, &response, &histograms, *p);
        rows.extend(QUANTILES.iter().map(quantile));
        let parts: Vec<Counts> = self.sections.iter().map(|section| section.part(queue.cores)).collect();
        let others = summary::others(&whole.part(queue.cores), &parts).into_iter();
        // No client gives up here, and without a limited room no job is denied.
        let known =
            |row: &Row| row.metric != "abandoned_ratio" && (queue.capacity.is_some() || row.metric != "error_ratio");
        rows.extend(others.filter(known));
        let inside = |section: &'_ Section| section.elapsed.as_secs_f64();
        let parts: Vec<(&Histogram, f64)> = self.sections.iter().map(|of| (&of.response, inside(of))).collect();
        rows.push(summary::number_in_system((&whole.response, inside(&whole)), &parts));
        rows
    }

    pub(super) fn class_rows(&self, name: &str) -> Vec<Row> {
        let (whole, histograms) = (self.whole(), self.histograms());
        let mean = summary::mean(&format!("response_time_mean_{name}"), &whole.response, &histograms);
        let parts: Vec<Counts> = self.sections.iter().map(|section| section.part(1)).collect();
        let others = summary::others(&whole.part(1), &parts).into_iter();
        let waiting = others.filter(|row| row.metric == "waiting_time_mean");
        let renamed = waiting.map(|row| Row { metric: format!("waiting_time_mean_{name}"), ..row });
        std::iter::once(mean).chain(renamed).collect()
    }
}

/// How wrong predictions of response times were.
pub(super) struct Predictions {
    sections: Vec<Errors>,
    open: Errors,
    size: u64,
}

impl Predictions {
    pub(super) fn new() -> Predictions {
        Predictions { sections: Vec::new(), open: Errors::new(), size: SECTION }
    }

    pub(super) fn add(&mut self, predicted: Span, actual: Span) {
        self.open.add(predicted, actual);
        if self.open.count() == self.size {
            self.sections.push(std::mem::replace(&mut self.open, Errors::new()));
            if self.sections.len() == SECTIONS_MOST {
                halve(&mut self.sections, Errors::join);
                self.size *= 2;
            }
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let mut whole = self.open.clone();
        self.sections.iter().for_each(|section| whole.join(section));
        Errors::rows(&whole, &self.sections.iter().collect::<Vec<_>>())
    }
}
