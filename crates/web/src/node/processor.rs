//! A virtual processor: a [`Station`] that live requests wait in.
//!
//! Completions are computed at the station's own event times, never at wake-up times: a late wake-up delays a reply by
//! that lateness once, but the work behind it started when it should have, so lateness does not add up to utilisation.
//! One alarm is set to the next departure. An arrival under processor sharing mostly postpones that departure; the
//! alarm is then left alone and rings once for nothing, which is cheaper than a system call per arrival.
//!
//! A processor can stand still, and goes on where it was: it has a clock of its own, which lags behind by all the time that it
//! stood. What comes meanwhile enters at the instant at which it stopped.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use sojourn_model::{Admission, Departure, Station, Ticket};
use sojourn_part::alarm::{Alarm, Bell};
use sojourn_part::{ServeError, clock};
use sojourn_stats::{Span, Time};

/// The processor of one node, or another of its resources, shared by its threads.
pub(crate) struct Processor {
    alarm: Alarm,
    state: Mutex<State>,
}

/// What a processor has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Jobs admitted.
    pub(crate) arrived: u64,
    pub(crate) served: u64,
    pub(crate) denied: u64,
    pub(crate) cancelled: u64,
    /// Jobs that its discipline dropped.
    pub(crate) dropped: u64,
    pub(crate) busy: Span,
    pub(crate) demand: Span,
    /// Time that those served took.
    pub(crate) stayed: Span,
}

struct State {
    station: Station,
    /// By how much its clock lags behind, and since when it stands still, if it does.
    lag: Span,
    since: Option<Time>,
    /// A job's number in the station is the index of its slot.
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// When the alarm rings next.
    armed: Time,
    totals: Totals,
}

enum Slot {
    Free,
    Inside { ticket: Ticket, service: Span, waker: Option<Waker> },
    Done(Departure),
    Dropped,
}

/// A job on the processor; ready with its departure, or with none where the processor drops it. Dropping it before gives the
/// job up.
pub(crate) struct Service {
    processor: Arc<Processor>,
    slot: usize,
}

impl Processor {
    /// The one of a station that is idle.
    pub(crate) fn new(station: Station) -> Result<Processor, ServeError> {
        let alarm = Alarm::new().map_err(ServeError::system("cannot make a timer"))?;
        let (slots, free, armed) = (Vec::new(), Vec::new(), Time::NEVER);
        let (lag, since, totals) = (Span::ZERO, None, Totals::default());
        let state = State { station, lag, since, slots, free, armed, totals };
        Ok(Processor { alarm, state: Mutex::new(state) })
    }

    /// The alarm's bell on the current runtime, for [`Processor::drive`].
    pub(crate) fn bell(&self) -> Result<Bell, ServeError> {
        self.alarm
            .bell()
            .map_err(|source: io::Error| ServeError::System { what: "cannot watch a timer".into(), source })
    }

    /// Takes departures at their times for as long as it is polled.
    pub(crate) async fn drive(processor: &Arc<Processor>, bell: Bell) {
        loop {
            bell.ring().await;
            let mut state = processor.lock();
            state.armed = Time::NEVER;
            let now = state.now();
            state.advance(now);
            processor.arm(&mut state);
        }
    }

    /// It stands still from now on.
    pub(crate) fn stand_still(&self) {
        let mut state = self.lock();
        let now = state.now();
        state.advance(now);
        state.since = state.since.or(Some(Time(now.0 + state.lag.0)));
    }

    /// It goes on where it was.
    pub(crate) fn go_on(&self) {
        let mut state = self.lock();
        let Some(since) = state.since.take() else { return };
        let stood = clock::now().saturating_since(since);
        state.lag += stood;
        state.station.stood(stood);
        // The alarm may have rung meanwhile, or be due too early.
        state.armed = Time::NEVER;
        self.arm(&mut state);
    }

    /// A job of class number `class` and `service` core time, which its client gives up at `deadline`, arrives now; none when the
    /// station is full.
    pub(crate) fn admit(self: &Arc<Self>, class: u8, service: Span, deadline: Time) -> Option<Service> {
        let mut state = self.lock();
        // Read under the lock, so that the station sees time in order.
        let now = state.now();
        state.advance(now);
        let deadline = state.of_own(deadline);
        let slot = state.free.pop().unwrap_or_else(|| {
            state.slots.push(Slot::Free);
            state.slots.len() - 1
        });
        let admission = state.station.arrive_until(deadline, class, now, slot as u64, service);
        match admission {
            Admission::Admitted(ticket) => {
                state.slots[slot] = Slot::Inside { ticket, service, waker: None };
                state.totals.arrived += 1;
                state.collect();
                self.arm(&mut state);
                drop(state);
                Some(Service { processor: Arc::clone(self), slot })
            }
            Admission::Denied => {
                state.free.push(slot);
                state.totals.denied += 1;
                None
            }
        }
    }

    /// Jobs that are there now, waiting or served.
    pub(crate) fn inside(&self) -> u64 {
        let totals = self.totals();
        totals.arrived - totals.served - totals.cancelled - totals.dropped
    }

    /// What it has done until now.
    pub(crate) fn totals(&self) -> Totals {
        let mut state = self.lock();
        let now = state.now();
        state.advance(now);
        Totals { busy: state.station.busy(now), ..state.totals }
    }

    fn arm(&self, state: &mut State) {
        if state.since.is_none()
            && let Some(next) = state.station.next_departure().map(|next| next + state.lag)
            && next < state.armed
        {
            state.armed = next;
            self.alarm.set(next);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the station")
    }
}

impl State {
    /// The instant on its own clock.
    fn now(&self) -> Time {
        Time(self.since.unwrap_or_else(clock::now).0 - self.lag.0)
    }

    /// The instant on its own clock at which it is `at`, unless it stands still again until then.
    fn of_own(&self, at: Time) -> Time {
        if at == Time::NEVER { at } else { Time(at.0.saturating_sub(self.lag.0)) }
    }

    /// Wakes those whose jobs were dropped.
    fn collect(&mut self) {
        for job in self.station.take_dropped() {
            if let Slot::Inside { waker, .. } = std::mem::replace(&mut self.slots[job as usize], Slot::Dropped) {
                self.totals.dropped += 1;
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }

    fn advance(&mut self, now: Time) {
        while let Some(departure) = self.station.depart(now) {
            let slot = &mut self.slots[departure.job as usize];
            let Slot::Inside { service, waker, .. } = std::mem::replace(slot, Slot::Done(departure)) else {
                unreachable!("only a job that is inside departs")
            };
            self.totals.served += 1;
            self.totals.demand += service;
            self.totals.stayed += departure.at.saturating_since(departure.arrived);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        self.collect();
    }
}

impl Future for Service {
    type Output = Option<Departure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Departure>> {
        match &mut self.processor.lock().slots[self.slot] {
            Slot::Done(departure) => Poll::Ready(Some(*departure)),
            Slot::Dropped => Poll::Ready(None),
            Slot::Inside { waker, .. } => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            Slot::Free => unreachable!("the slot is this job's until it is dropped"),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let mut state = self.processor.lock();
        let now = state.now();
        state.advance(now);
        if let Slot::Inside { ticket, .. } = std::mem::replace(&mut state.slots[self.slot], Slot::Free) {
            state.station.cancel(now, ticket);
            state.totals.cancelled += 1;
            state.collect();
            self.processor.arm(&mut state);
        }
        state.free.push(self.slot);
    }
}
