//! A virtual processor: a [`Station`] that live requests wait in.
//!
//! Completions are computed at the station's own event times, never at wake-up times: a late wake-up delays a reply by
//! that lateness once, but the work behind it started when it should have, so lateness does not add up to utilisation.
//! One alarm is set to the next departure. An arrival under processor sharing mostly postpones that departure; the
//! alarm is then left alone and rings once for nothing, which is cheaper than a system call per arrival.

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
    pub(crate) busy: Span,
    pub(crate) demand: Span,
    /// Time that those served took.
    pub(crate) stayed: Span,
}

struct State {
    station: Station,
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
}

/// A job on the processor; ready with its departure. Dropping it before gives the job up.
pub(crate) struct Service {
    processor: Arc<Processor>,
    slot: usize,
}

impl Processor {
    /// The one of a station that is idle.
    pub(crate) fn new(station: Station) -> Result<Processor, ServeError> {
        let alarm = Alarm::new().map_err(ServeError::system("cannot make a timer"))?;
        let (slots, free, armed) = (Vec::new(), Vec::new(), Time::NEVER);
        let state = State { station, slots, free, armed, totals: Totals::default() };
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
            state.advance(clock::now());
            processor.arm(&mut state);
        }
    }

    /// A job of class number `class` and `service` core time arrives now; none when the station is full.
    pub(crate) fn admit(self: &Arc<Self>, class: u8, service: Span) -> Option<Service> {
        let mut state = self.lock();
        // Read under the lock, so that the station sees time in order.
        let now = clock::now();
        state.advance(now);
        let slot = state.free.pop().unwrap_or_else(|| {
            state.slots.push(Slot::Free);
            state.slots.len() - 1
        });
        let admission = state.station.arrive_of(class, now, slot as u64, service);
        match admission {
            Admission::Admitted(ticket) => {
                state.slots[slot] = Slot::Inside { ticket, service, waker: None };
                state.totals.arrived += 1;
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
        totals.arrived - totals.served - totals.cancelled
    }

    /// What it has done until now.
    pub(crate) fn totals(&self) -> Totals {
        let mut state = self.lock();
        let now = clock::now();
        state.advance(now);
        Totals { busy: state.station.busy(now), ..state.totals }
    }

    fn arm(&self, state: &mut State) {
        if let Some(next) = state.station.next_departure()
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
    }
}

impl Future for Service {
    type Output = Departure;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Departure> {
        match &mut self.processor.lock().slots[self.slot] {
            Slot::Done(departure) => Poll::Ready(*departure),
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
        let now = clock::now();
        state.advance(now);
        if let Slot::Inside { ticket, .. } = std::mem::replace(&mut state.slots[self.slot], Slot::Free) {
            state.station.cancel(now, ticket);
            state.totals.cancelled += 1;
            self.processor.arm(&mut state);
        }
        state.free.push(self.slot);
    }
}
