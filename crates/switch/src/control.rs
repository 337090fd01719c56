//! What people ask of a running switch and tell it ([`Door`](sojourn_part::control::Door)).
//!
//! `{"ask": "counts"}`, `{"ask": "drain", "server": "a"}` and `{"ask": "undrain", "server": "a"}`.

use std::sync::Mutex;

use serde::Deserialize;
use serde_json::{Value, json};
use sojourn_part::clock;

use super::SwitchCounts;
use super::decider::{Decider, lock};

/// A question, or an order.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Question {
    Counts {},
    Drain { server: String },
    Undrain { server: String },
}

/// What is said to a question.
pub(super) fn answer(question: &Question, decider: &Mutex<Decider>, counts: impl Fn() -> SwitchCounts) -> Value {
    let drain = |server, is_drained| match lock(decider).drain(server, is_drained, clock::now()) {
        Ok(()) => json!({"done": true}),
        Err(why) => json!({"refused": why}),
    };
    match question {
        Question::Counts {} => serde_json::to_value(counts()).unwrap_or_default(),
        Question::Drain { server } => drain(server, true),
        Question::Undrain { server } => drain(server, false),
    }
}
