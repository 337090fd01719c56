//! A policy that Numba has compiled: machine code with C's calling convention, called where it is.
//!
//! `sojourn/_policy.py` makes the function and its address: what it takes is [`Choose`] and [`Learn`], and nothing but that file
//! may make one. The wrapper that it compiles around the user's function writes 1 to `done` at its end, so that an exception,
//! which Numba only prints, is seen.

#![allow(
    unsafe_code,
    reason = "the address of a function that another compiler has made can be called in no other way"
)]

use std::sync::Arc;

use pyo3::prelude::*;
use sojourn_dispatch::{Ask, Averaging, Decision, Event, Policy, Signals, Table};
use sojourn_stats::{Stream, Time};

use super::sheet::{COUNTS, Count, REALS, Real, Sheet, rows};
use super::trouble::{Call, Watch};
use super::{Made, Own};

/// (random state of 4 words, rows of counts, rows of reals, servers, candidates, how many, request of 5 numbers, now, parameters,
/// memory, its length, done) -> the server; below 0 refuses.
type Choose = unsafe extern "C" fn(
    *mut u64,
    *const i64,
    *const f64,
    i64,
    *const i64,
    i64,
    *const i64,
    f64,
    *const f64,
    *mut f64,
    i64,
    *mut i64,
) -> i64;

/// (what, server, seconds, now, parameters, memory, its length, done) -> nothing of interest.
type Learn = unsafe extern "C" fn(i64, i64, f64, f64, *const f64, *mut f64, i64, *mut i64) -> i64;

/// A compiled function, as `sojourn/_policy.py` describes it.
#[derive(FromPyObject)]
struct Described {
    /// Where it is.
    choose: usize,
    /// Where the one is that learns; 0: there is none.
    learn: usize,
    /// The rows that it reads.
    counts: Vec<String>,
    reals: Vec<String>,
    /// What its parameters are where the text gives none, in their order.
    defaults: Vec<(String, f64)>,
    /// How many numbers it keeps between calls.
    memory: usize,
}

/// The same, read.
#[derive(Clone)]
pub(super) struct Compiled {
    choose: Choose,
    learn: Option<Learn>,
    counts: Vec<Count>,
    reals: Vec<Real>,
    defaults: Vec<(String, f64)>,
    memory: usize,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Compiled {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Compiled> {
        let Described { choose, learn, counts, reals, defaults, memory } = object.extract()?;
        if choose == 0 {
            return Err(crate::error::input("a compiled policy has no address"));
        }
        // Safety: the address is that of a function of this very signature, which `_policy.py` has had compiled, and which it
        // keeps for as long as the module lives.
        let (choose, learn) = unsafe {
            let choose = std::mem::transmute::<usize, Choose>(choose);
            (choose, (learn != 0).then(|| std::mem::transmute::<usize, Learn>(learn)))
        };
        Ok(Compiled { choose, learn, counts: rows(&COUNTS, &counts)?, reals: rows(&REALS, &reals)?, defaults, memory })
    }
}

struct NativePolicy {
    own: Own,
    compiled: Compiled,
    sheet: Sheet,
    parameters: Vec<f64>,
    memory: Vec<f64>,
    watch: Arc<Watch>,
}

/// Makes one, with a memory of its own.
pub(super) fn build(own: &Own, compiled: &Compiled, given: Vec<(&'static str, String)>) -> Made {
    let of = |(name, default): &(String, f64)| match given.iter().find(|(of, _)| of == name) {
        None => Ok(*default),
        Some((_, text)) => {
            text.parse().map_err(|_| own.wrong(&format!("{name} = {text}: a compiled policy's parameters are numbers")))
        }
    };
    let parameters = compiled.defaults.iter().map(of).collect::<Result<Vec<f64>, _>>()?;
    let sheet = Sheet::new(compiled.counts.clone(), compiled.reals.clone());
    let watch = own.watch();
    let memory = vec![0.0; compiled.memory];
    Ok(Box::new(NativePolicy { own: own.clone(), compiled: compiled.clone(), sheet, parameters, memory, watch }))
}

impl NativePolicy {
    fn has_raised(&self, what: &str) {
        let what = format!(": {what} raised an exception, which Numba has printed on standard error");
        self.own.note(&what, &self.own.place, None);
    }
}

impl Policy for NativePolicy {
    fn requires(&self) -> Signals {
        self.own.requires
    }

    fn window(&self) -> Option<Averaging> {
        self.own.window
    }

    fn listens(&self) -> bool {
        self.compiled.learn.is_some()
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if self.own.trouble.is_over() {
            return self.own.any(ask);
        }
        self.sheet.fill(ask);
        let Sheet { whole, real, servers, candidates, request, now_s, .. } = &self.sheet;
        let mut state = draw.state();
        let mut done = 0_i64;
        self.watch.enter(Call::It, 0);
        // Safety: every pointer is to as many numbers as the wrapper was compiled to take: the rows that it named times the
        // servers, the candidates, five of the request, its parameters and its memory. They live until it returns.
        let chosen = unsafe {
            (self.compiled.choose)(
                state.as_mut_ptr(),
                whole.as_ptr(),
                real.as_ptr(),
                *servers as i64,
                candidates.as_ptr(),
                candidates.len() as i64,
                request.as_ptr(),
                *now_s,
                self.parameters.as_ptr(),
                self.memory.as_mut_ptr(),
                self.memory.len() as i64,
                &raw mut done,
            )
        };
        self.watch.leave();
        *draw = Stream::of_state(state);
        if done != 1 {
            self.has_raised("it");
            return self.own.any(ask);
        }
        self.own.decision(ask, Some(chosen).filter(|chosen| *chosen >= 0))
    }

    fn observe(&mut self, event: &Event, _: &Table, now: Time) {
        let (what, seconds) = match *event {
            Event::Completed { latency, .. } => (0, latency.as_secs_f64()),
            Event::Failed { after, .. } => (1, after.as_secs_f64()),
            Event::Cancelled { .. } => (2, f64::NAN),
            _ => return,
        };
        let Some(learn) = self.compiled.learn.filter(|_| !self.own.trouble.is_over()) else { return };
        let mut done = 0_i64;
        self.watch.enter(Call::Feedback, 0);
        // Safety: as above.
        unsafe {
            learn(
                what,
                i64::from(event.backend().0),
                seconds,
                now.0 as f64 / 1e9,
                self.parameters.as_ptr(),
                self.memory.as_mut_ptr(),
                self.memory.len() as i64,
                &raw mut done,
            );
        }
        self.watch.leave();
        if done != 1 {
            self.has_raised("its feedback");
        }
    }
}
