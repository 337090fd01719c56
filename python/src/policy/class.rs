//! A policy that is a class in Python: convenient, and as slow as a call of Python is.

use std::cell::Cell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use sojourn_dispatch::{Ask, Averaging, BackendId, Decision, Event, Policy, Signals, Table};
use sojourn_stats::{Span, Stream, Time};

use super::trouble::{Call, Watch};
use super::{Made, Own, View};
use crate::error;

struct ClassPolicy {
    own: Own,
    choose: Py<PyAny>,
    observe: Option<Py<PyAny>>,
    view: Py<View>,
    watch: Arc<Watch>,
}

/// Makes one object of the class, with the parameters that the policy's text gives: whole numbers, numbers, or texts.
pub(super) fn build(own: &Own, class: &Py<PyAny>, given: Vec<(&'static str, String)>) -> Made {
    if own.trouble.is_over() {
        return Err(own.wrong("the run is over"));
    }
    Python::attach(|py| {
        let make = || -> PyResult<ClassPolicy> {
            let named = PyDict::new(py);
            for (name, text) in &given {
                match (text.parse::<i64>(), text.parse::<f64>()) {
                    (Ok(whole), _) => named.set_item(name, whole)?,
                    (_, Ok(number)) => named.set_item(name, number)?,
                    _ => named.set_item(name, text)?,
                }
            }
            let watch = own.watch();
            watch.enter(Call::Init, thread_number(py));
            let made = class.bind(py).call((), Some(&named));
            watch.leave();
            let object = made?;
            let observe = object.getattr_opt("observe")?.map(Bound::unbind);
            let choose = object.getattr("choose")?.unbind();
            let view = Py::new(py, View::new(own.requires))?;
            Ok(ClassPolicy { own: own.clone(), choose, observe, view, watch })
        };
        match make() {
            Ok(policy) => Ok(Box::new(policy) as Box<dyn Policy>),
            Err(raised) => Err(own.wrong(&format!("making it raised {}", error::words(py, &raised)))),
        }
    })
}

impl ClassPolicy {
    /// Notes that `what` raised, and at which of its lines.
    fn raised(&self, py: Python<'_>, what: &str, raised: PyErr) {
        let words = error::words(py, &raised);
        let place = error::place(py, &raised).unwrap_or_else(|| self.own.place.clone());
        self.own.note(&format!(": {what} raised {words}"), &place, Some(raised));
    }

    fn ask_python(&self, py: Python<'_>, ask: &Ask<'_>, draw: &mut Stream) -> PyResult<Option<i64>> {
        let view = self.view.bind(py);
        view.try_borrow_mut()?.begin(ask, draw);
        self.watch.enter(Call::Choose, thread_number(py));
        let chosen = self.choose.bind(py).call1((view,));
        self.watch.leave();
        if let Some(stream) = view.try_borrow_mut()?.end() {
            *draw = stream;
        }
        let chosen = chosen?;
        // True is a number to Python, and hardly a server.
        if chosen.is_instance_of::<PyBool>() {
            return Err(error::policy("it answered with a truth value; a server is a number, and None refuses", None));
        }
        chosen.extract::<Option<i64>>().map_err(|_| {
            let kind = chosen.get_type().qualname().map_or_else(|_| "something".into(), |name| name.to_string());
            error::policy(&format!("it answered with a {kind}; a server is a number, and None refuses"), None)
        })
    }

    fn tell(&self, what: &'static str, server: BackendId, span: Option<Span>, now: Time) {
        let Some(observe) = self.observe.as_ref().filter(|_| !self.own.trouble.is_over()) else { return };
        Python::attach(|py| {
            let (seconds, now) = (span.map(Span::as_secs_f64), now.0 as f64 / 1e9);
            self.watch.enter(Call::Observe, thread_number(py));
            let told = observe.bind(py).call1((what, server.0, seconds, now));
            self.watch.leave();
            if let Err(raised) = told {
                self.raised(py, "observe", raised);
            }
        });
    }
}

impl Policy for ClassPolicy {
    fn requires(&self) -> Signals {
        self.own.requires
    }

    fn window(&self) -> Option<Averaging> {
        self.own.window
    }

    fn listens(&self) -> bool {
        self.observe.is_some()
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if self.own.trouble.is_over() {
            return self.own.any(ask);
        }
        let chosen = Python::attach(|py| {
            self.ask_python(py, ask, draw).map_err(|raised| self.raised(py, "choose", raised)).ok()
        });
        chosen.map_or_else(|| self.own.any(ask), |chosen| self.own.decision(ask, chosen))
    }

    fn observe(&mut self, event: &Event, _: &Table, now: Time) {
        let (what, span) = match *event {
            Event::Completed { latency, .. } => ("completed", Some(latency)),
            Event::Failed { after, .. } => ("failed", Some(after)),
            Event::Cancelled { .. } => ("cancelled", None),
            Event::FirstByte { round_trip, .. } => ("first-byte", Some(round_trip)),
            Event::Joined { .. } => ("up", None),
            Event::Draining { .. } => ("draining", None),
            Event::Down { .. } | Event::Left { .. } => ("down", None),
            _ => return,
        };
        self.tell(what, event.backend(), span, now);
    }

    fn reported(&mut self, backend: BackendId, _: &Table, now: Time) {
        self.tell("reported", backend, None, now);
    }
}

/// Python's own number of this thread.
fn thread_number(py: Python<'_>) -> u64 {
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    let known = NUMBER.get();
    if known != 0 {
        return known;
    }
    let asked = py.import("threading").and_then(|threading| threading.call_method0("get_ident")?.extract());
    let number = asked.unwrap_or(0);
    NUMBER.set(number);
    number
}
