//! What ails a node on purpose: it works slowly, or fails some requests.

use std::sync::Mutex;

use sojourn_stats::{Span, Stream};

/// Speed and share of errors of a node, which change while it serves.
#[derive(Debug)]
pub struct Ailment(Mutex<State>);

#[derive(Debug)]
struct State {
    speed: f64,
    errors: f64,
    draws: Stream,
}

impl Ailment {
    /// None yet; which requests will fail is drawn.
    pub(super) fn none(draws: Stream) -> Ailment {
        Ailment(Mutex::new(State { speed: 1.0, errors: 0.0, draws }))
    }

    /// What comes from now on is worked on at this part of the usual speed; anything but a positive number changes nothing.
    pub fn work_at(&self, speed: f64) {
        if speed.is_finite() && speed > 0.0 {
            self.lock().speed = speed;
        }
    }

    /// This share of the requests that come from now on is answered with an error, at once.
    pub fn fail(&self, share: f64) {
        self.lock().errors = share;
    }

    /// How long a service takes now.
    pub(super) fn of(&self, service: Span) -> Span {
        match self.lock().speed {
            1.0 => service,
            speed => Span::from_secs_f64(service.as_secs_f64() / speed),
        }
    }

    /// Whether the next request fails.
    pub(super) fn fails(&self) -> bool {
        let mut state = self.lock();
        state.errors > 0.0 && state.draws.uniform() < state.errors
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it holds a number")
    }
}
