//! What one replication has counted since measuring began.

use sojourn_stats::{Batches, Histogram, Span, Time};

use crate::engine::Measured;
use crate::forgetting;
use crate::requests::connections::Connections;
use crate::requests::jobs::Job;
use crate::requests::of_class::OfClass;
use crate::requests::over_time::Intervals;
use crate::requests::prediction::Errors;
use crate::requests::timeline::Failure;

/// Counts and sums of one replication, from the instant [`Tally::since`] on.
#[derive(Clone)]
pub(crate) struct Tally {
    /// When measuring began.
    pub(crate) since: Time,
    /// When the window that throughput and utilisation are of closed; [`Time::NEVER`] while it is open.
    pub(crate) until: Time,
    /// Count by the planned instant (a finite run) instead of by the end (a section of an endless one): the requests of
    /// a finite run all end, so that none is left out for taking long.
    by_plan: bool,
    /// Response times of completed requests (ns).
    pub(crate) response: Histogram,
    /// The same in the order of their ends: for how long the system remembers.
    pub(crate) remembered: Batches,
    /// Requests that a server has served, and their waiting and core times (ns).
    pub(crate) served: u64,
    pub(crate) waiting_ns: u128,
    pub(crate) service_ns: u128,
    /// Requests that did not complete.
    pub(crate) denied: u64,
    pub(crate) abandoned: u64,
    /// How often clients asked once more; none where they do not.
    pub(crate) retried: Option<u64>,
    /// Whether a request may be denied, and given up.
    pub(crate) may_fail: (bool, bool),
    /// Completions between `since` and `until`, whenever planned.
    pub(crate) completions: u64,
    /// Requests sent to each server.
    pub(crate) sent: Vec<u64>,
    /// Core time that each server had spent at `since`, and at `until` once that is known.
    pub(crate) busy_before: Vec<Span>,
    pub(crate) busy_after: Vec<Span>,
    /// Response times in the order of the plan (s; NaN: not completed), where they are asked for.
    pub(crate) series: Option<Vec<f64>>,
    /// How wrong predictions were, where they are asked for.
    pub(crate) predictions: Option<Errors>,
    /// Where requests went, interval by interval, the warm-up included; where that is asked for.
    pub(crate) over_time: Option<Intervals>,
    /// What there is to say of connections, where they are set up.
    pub(crate) connections: Option<Connections>,
    /// Of each class, where there are several.
    pub(crate) of_class: Vec<OfClass>,
}

impl Tally {
    pub(crate) fn new(servers: usize, by_plan: bool, keep_series: bool) -> Tally {
        Tally {
            since: Time::ZERO,
            until: Time::NEVER,
            by_plan,
            response: Histogram::new(),
            remembered: forgetting::batches(),
            served: 0,
            waiting_ns: 0,
            service_ns: 0,
            denied: 0,
            abandoned: 0,
            retried: None,
            may_fail: (true, true),
            completions: 0,
            sent: vec![0; servers],
            busy_before: vec![Span::ZERO; servers],
            busy_after: Vec::new(),
            series: keep_series.then(Vec::new),
            predictions: None,
            over_time: None,
            connections: None,
            of_class: Vec::new(),
        }
    }

    #[inline]
    fn counts(&self, planned: Time) -> bool {
        !self.by_plan || planned >= self.since
    }

    /// A request was sent to `server`.
    #[inline]
    pub(crate) fn sent(&mut self, planned: Time, server: usize) {
        if let Some(over_time) = &mut self.over_time {
            over_time.sent(planned, server);
        }
        if self.counts(planned) {
            self.sent[server] += 1;
        }
    }

    /// A request comes.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Time) {
        if let Some(over_time) = &mut self.over_time {
            over_time.outcomes.arrived(now);
        }
    }

    /// A request that was asked for is asked for again.
    pub(crate) fn again(&mut self, now: Time) {
        if let Some(over_time) = &mut self.over_time {
            over_time.outcomes.again(now);
        }
    }

    /// A server has served a request.
    #[inline]
    pub(crate) fn served(&mut self, planned: Time, waiting: Span, service: Span) {
        if self.counts(planned) {
            self.served += 1;
            self.waiting_ns += u128::from(waiting.0);
            self.service_ns += u128::from(service.0);
        }
    }

    /// A server took `actual` for a request.
    pub(crate) fn predicted(&mut self, planned: Time, predicted: Span, actual: Span) {
        if self.counts(planned)
            && let Some(predictions) = &mut self.predictions
        {
            predictions.add(predicted, actual);
        }
    }

    /// A reply is complete at its client.
    #[inline(always)]
    pub(crate) fn completed(&mut self, job: &Job, now: Time) {
        let Job { planned, number, size, class, .. } = *job;
        if let Some(over_time) = &mut self.over_time {
            over_time.outcomes.answered(now, now - planned);
        }
        if self.until == Time::NEVER {
            self.completions += 1;
            if let Some(connections) = &mut self.connections {
                connections.bytes += u128::from(size);
                connections.response_ns += u128::from((now - planned).0);
            }
        }
        if self.counts(planned) {
            self.response.record((now - planned).0);
            self.remembered.push((now - planned).0 as f64);
            if let Some(of_class) = self.of_class.get_mut(usize::from(class)) {
                of_class.completed += 1;
                of_class.response_ns += u128::from((now - planned).0);
            }
            if let Some(series) = &mut self.series {
                let number = number as usize;
                if series.len() <= number {
                    series.resize(number + 1, f64::NAN);
                }
                series[number] = (now - planned).as_secs_f64();
            }
        }
    }

    /// A request of a single class was served and is complete at its client at once.
    #[inline(always)]
    pub(crate) fn left(&mut self, planned: Time, response: u64, waited: u64, service: u64) {
        if self.until == Time::NEVER {
            self.completions += 1;
        }
        if self.counts(planned) {
            self.served += 1;
            self.waiting_ns += u128::from(waited);
            self.service_ns += u128::from(service);
            self.response.record(response);
            self.remembered.push(response as f64);
        }
    }

    /// Whether `count` such requests, with response times of this sum (ns) and planned at `first` or later, may be counted in
    /// any order.
    pub(crate) fn may_count_together(&self, first: Time, count: u64, spent: u64) -> bool {
        self.counts(first) && self.until == Time::NEVER && self.remembered.may_take(count, spent)
    }

    /// Counts them: their response times, and the sum of their services (ns); gives the sum of the former.
    #[inline]
    pub(crate) fn left_together(&mut self, responses: &[u64], service: u64) -> u64 {
        let spent = self.response.record_all(responses);
        let count = responses.len() as u64;
        self.completions += count;
        self.served += count;
        self.waiting_ns += u128::from(spent - service);
        self.service_ns += u128::from(service);
        self.remembered.push_together(count, spent);
        spent
    }

    /// A request has found its connection after so long, or has none because its client has given up.
    pub(crate) fn connected(&mut self, planned: Time, after: Option<Span>) {
        let Some(connections) = self.connections.as_mut().filter(|_| !self.by_plan || planned >= self.since) else {
            return;
        };
        match after {
            Some(after) => {
                connections.set_up += 1;
                connections.set_up_ns += u128::from(after.0);
            }
            None => connections.given_up += 1,
        }
    }

    /// A request has failed at `now`.
    pub(crate) fn denied(&mut self, planned: Time, now: Time, why: Failure) {
        self.denied += u64::from(self.counts(planned));
        self.failed(planned, now, why);
    }

    /// A client asks once more.
    pub(crate) fn retried(&mut self, planned: Time) {
        let counts = self.counts(planned);
        *self.retried.get_or_insert(0) += u64::from(counts);
    }

    /// A client gave up.
    pub(crate) fn abandoned(&mut self, planned: Time, now: Time) {
        self.abandoned += u64::from(self.counts(planned));
        self.failed(planned, now, Failure::GivenUp);
    }

    fn failed(&mut self, planned: Time, now: Time, why: Failure) {
        if let Some(over_time) = &mut self.over_time {
            over_time.failed(planned);
            over_time.outcomes.failed(now, why);
        }
    }

    /// Requests measured, completed or not.
    pub(crate) fn ended(&self) -> u64 {
        self.response.count() + self.denied + self.abandoned
    }
}

impl Measured for Tally {
    fn restart(&mut self, now: Time, busy: Vec<Span>) {
        self.response.clear();
        self.remembered = forgetting::batches();
        (self.served, self.waiting_ns, self.service_ns) = (0, 0, 0);
        (self.denied, self.abandoned, self.completions) = (0, 0, 0);
        self.retried = self.retried.map(|_| 0);
        self.sent.fill(0);
        self.of_class.iter_mut().for_each(OfClass::clear);
        if let Some(series) = &mut self.series {
            series.clear();
        }
        if let Some(predictions) = &mut self.predictions {
            predictions.clear();
        }
        self.connections = self.connections.map(|_| Connections::default());
        self.since = now;
        self.busy_before = busy;
    }

    fn close(&mut self, now: Time, busy: Vec<Span>) {
        self.until = now;
        self.busy_after = busy;
    }
}
