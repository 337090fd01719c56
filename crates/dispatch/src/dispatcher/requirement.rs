//! What a policy requires of its face and of its backends, and what is refused where it is not met.

use sojourn_stats::{Span, Time};

use super::Polls;
use crate::{DispatchError, Information, Policy, Signals};

/// What a policy requires, as this face meets it: it gets the client's first byte where the balancer sees none.
pub(super) fn met_by(requires: Signals, signals: Signals) -> Signals {
    let missing = requires.difference(signals);
    if missing.contains(Signals::FIRST_BYTE) && signals.contains(Signals::CLIENT_FIRST_BYTE) {
        requires.difference(Signals::FIRST_BYTE) | Signals::CLIENT_FIRST_BYTE
    } else {
        requires
    }
}

/// What must be polled, if anything; an error where a signal is missing.
pub(super) fn polls(
    requires: Signals,
    text: &str,
    information: Information,
    signals: Signals,
) -> Result<Option<Polls>, DispatchError> {
    let mut provided = signals;
    let mut polls = None;
    if let Information::Polled { every } = information {
        if every == Span::ZERO {
            return Err(DispatchError::Information(
                "polls every 0 s; the time between polls must be above zero".into(),
            ));
        }
        if requires.intersects(Signals::IN_FLIGHT | Signals::REPORTS) {
            if !signals.contains(Signals::REPORTS) {
                return Err(missing(text, Signals::REPORTS, " when its information is polled"));
            }
            provided |= Signals::IN_FLIGHT;
            polls = Some(Polls { every, next: Time::ZERO });
        }
    }
    match requires.difference(provided).iter().next() {
        Some(signal) => Err(missing(text, signal, "")),
        None => Ok(polls),
    }
}

fn missing(text: &str, signal: Signals, when: &str) -> DispatchError {
    let words = signal.in_words();
    DispatchError::MissingSignal(format!("policy `{text}` needs {words}{when}, which this face does not provide"))
}

pub(super) fn check_names(policy: &dyn Policy, text: &str, backends: &[(String, f64)]) -> Result<(), DispatchError> {
    let is_known = |name: &String| backends.len() < 2 || backends.iter().any(|(backend, _)| backend == name);
    match policy.names().iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = backends.iter().take(8).map(|(backend, _)| backend.as_str()).collect();
            let known = known.join(", ");
            Err(DispatchError::Policy(format!("policy `{text}`: there is no backend `{name}`; there are {known}")))
        }
    }
}

pub(super) fn check_weight(policy: &dyn Policy, text: &str, backend: &str, weight: f64) -> Result<(), DispatchError> {
    let can = policy.weights();
    if weight == 0.0 || (can.contains(&weight) && (!policy.whole_weights() || weight.fract() == 0.0)) {
        return Ok(());
    }
    if policy.whole_weights() {
        return Err(DispatchError::Backend(format!(
            "backend `{backend}` has weight {weight}; with policy `{text}` a weight is a whole number from {} to {}, or 0 \
             for one that is never chosen",
            can.start(),
            can.end()
        )));
    }
    Err(DispatchError::Backend(format!(
        "backend `{backend}` has weight {weight}; with policy `{text}` a weight is 0 (never chosen by weighted policies) or \
         from {:e} to {:e}",
        can.start(),
        can.end()
    )))
}
