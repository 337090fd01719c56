//! Policies that are written in Python, as entries of the catalogue in which experiments look names up.
//!
//! Two speeds: a class, whose `choose` is called with the interpreter's lock ([`class`]), and a function that Numba has
//! compiled, which is called as the machine code that it is ([`native`]). Both see what [`sheet`] copies from the table for
//! each choice, and nothing else: no clock and no randomness but what the call hands over, so that the same seed gives the same
//! bytes. The price is that copy, in proportion to the servers.
//!
//! A policy that raises, or chooses what may not be chosen, does not stop the simulator's threads where they stand: it is
//! noted ([`Trouble`]), the run is cancelled, any server serves until then, and the caller gets an error instead of answers.

mod class;
mod native;
mod sheet;
mod trouble;
mod view;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use sojourn_dispatch::{
    Ask, Averaging, BackendId, Catalogue, Code, Decision, DispatchError, Params, Policy, Reads, Reason, Signals,
};
use sojourn_stats::{Span, nearest};

use crate::error;
pub(crate) use trouble::Trouble;
pub(crate) use view::View;

/// A policy as `sojourn._policy` registers it.
#[derive(FromPyObject)]
pub(crate) struct Registered {
    /// Its name in experiments.
    name: String,
    /// What it does, in one line.
    summary: String,
    /// The parameters that its text may give.
    parameters: Vec<String>,
    /// The signals that it must be told, by the names that `sojourn policies` prints.
    requires: Vec<String>,
    /// The averaging window of round trips (s).
    window_s: Option<f64>,
    /// Where it is written, `FILE:LINE`; empty where that is not known.
    place: String,
    /// Of a class: itself.
    make: Option<Py<PyAny>>,
    /// Of a compiled function: where it is, and what it reads.
    native: Option<native::Compiled>,
}

/// The built-in policies and these.
///
/// # Errors
/// When a name is taken, or a signal is not known.
pub(crate) fn catalogue(policies: &[Registered], trouble: &Arc<Trouble>) -> PyResult<Catalogue> {
    let mut catalogue = Catalogue::default();
    for policy in policies {
        let requires = signals(&policy.name, &policy.requires)?;
        let window =
            policy.window_s.map(|seconds| Averaging { length: Span::from_secs_f64(seconds), reads: Reads::Sliding });
        let own = Own {
            name: policy.name.clone(),
            place: policy.place.clone(),
            requires,
            window,
            trouble: Arc::clone(trouble),
        };
        let parameters: Vec<&'static str> = policy.parameters.iter().map(|name| kept(name)).collect();
        let given = move |params: &mut Params<'_>| -> Vec<(&'static str, String)> {
            parameters.iter().filter_map(|name| Some((*name, params.text(name)?.to_owned()))).collect()
        };
        let added = match (&policy.native, &policy.make) {
            (Some(compiled), _) => {
                let compiled = compiled.clone();
                let build = move |params: &mut Params<'_>| native::build(&own, &compiled, given(params));
                catalogue.add(policy.name.clone(), policy.summary.clone(), build)
            }
            (None, Some(make)) => {
                let make = Python::attach(|py| make.clone_ref(py));
                let build = move |params: &mut Params<'_>| class::build(&own, &make, given(params));
                catalogue.add(policy.name.clone(), policy.summary.clone(), build)
            }
            (None, None) => return Err(error::input(format!("policy `{}`: nothing chooses", policy.name))),
        };
        added.map_err(error::input)?;
    }
    Ok(catalogue)
}

/// What both kinds have.
#[derive(Clone)]
pub(crate) struct Own {
    name: String,
    place: String,
    requires: Signals,
    window: Option<Averaging>,
    trouble: Arc<Trouble>,
}

impl Own {
    /// What is wrong with how it was made.
    fn wrong(&self, why: &str) -> DispatchError {
        DispatchError::Policy(format!("policy `{}`: {why}", self.name))
    }

    /// What `chosen` means, where it may be chosen; a number that is no candidate is noted, and any server serves.
    fn decision(&self, ask: &Ask<'_>, chosen: Option<i64>) -> Decision {
        let Some(number) = chosen else { return Decision::refuse() };
        match u32::try_from(number).map(BackendId).ok().filter(|id| ask.may_choose(*id)) {
            Some(id) => Decision::forward(id, Reason { code: Code::Own, ties: 1, value: f64::from(id.0) }),
            None => {
                let candidates: Vec<String> = ask.candidates().map(|id| id.0.to_string()).collect();
                let why = match ask.table.len() > number.max(0) as usize && number >= 0 {
                    true => "it is down, full or was tried already",
                    false => "no server has that number",
                };
                let left = candidates.join(", ");
                self.note(&format!(" chose {number}: {why}; it may choose {left}"), &self.place, None);
                self.any(ask)
            }
        }
    }

    /// Notes what it did wrong, in words that go on from its name.
    fn note(&self, what: &str, place: &str, cause: Option<PyErr>) {
        let what = format!("policy `{}`{what}", self.name);
        self.trouble.note(trouble::located(place, &what), cause);
    }

    /// A watch over its calls.
    fn watch(&self) -> Arc<trouble::Watch> {
        self.trouble.watch(&self.name, &self.place)
    }

    /// Any server: the run is over, and its numbers are not shown.
    fn any(&self, ask: &Ask<'_>) -> Decision {
        let first = ask.candidates().next();
        Decision::forward_or_refuse(first.map(|id| (id, Reason { code: Code::Own, ties: 1, value: 0.0 })))
    }
}

/// The signals of these names.
fn signals(policy: &str, words: &[String]) -> PyResult<Signals> {
    words.iter().try_fold(Signals::empty(), |all, word| {
        let known = || Signals::all().iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-"));
        match Signals::from_name(&word.to_uppercase().replace('-', "_")) {
            Some(signal) => Ok(all | signal),
            None => {
                let names: Vec<String> = known().collect();
                let hint = match nearest(word, names.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("known are {}", names.join(", ")),
                };
                Err(error::input(format!("policy `{policy}`: requires: unknown signal `{word}`; {hint}")))
            }
        }
    })
}

/// A name for as long as the program runs: the catalogue remembers parameters by such.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_with(HashSet::new);
    match names.get(name) {
        Some(kept) => kept,
        None => {
            let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
            names.insert(kept);
            kept
        }
    }
}

/// What every policy of the catalogue is.
type Made = Result<Box<dyn Policy>, DispatchError>;
