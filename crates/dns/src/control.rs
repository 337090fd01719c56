//! What people ask of a running DNS and tell it ([`Door`](sojourn_part::control::Door)).
//!
//! `{"ask": "state"}`, `{"ask": "explain", "last": 5}`, `{"ask": "drain", "site": "c1"}`, `{"ask": "undrain", "site": "c1"}`,
//! `{"ask": "weight", "site": "c1", "weight": 2}` and `{"ask": "reload"}`.

use serde::Deserialize;
use serde_json::{Value, json};
use sojourn_dispatch::News;
use sojourn_part::clock;

use super::running::Running;

/// Decisions that are explained where nothing else is asked for.
const LAST: usize = 10;

/// A question, or an order.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Question {
    #[serde(alias = "counts")]
    State {},
    Explain {
        last: Option<usize>,
    },
    Drain {
        #[serde(alias = "name")]
        site: String,
    },
    Undrain {
        #[serde(alias = "name")]
        site: String,
    },
    Weight {
        site: String,
        weight: f64,
    },
    Reload {},
}

/// What is said to a question.
pub(super) fn answer(question: Question, running: &Running) -> Value {
    let (now, decider) = (clock::now(), &running.decider);
    let done = |outcome: Result<(), String>| match outcome {
        Ok(()) => json!({"done": true}),
        Err(why) => json!({"refused": why}),
    };
    match question {
        Question::State {} => running.state(),
        Question::Explain { last } => json!({"decisions": decider.last(last.unwrap_or(LAST), now)}),
        Question::Drain { site } => done(decider.learn(&site, News::Drained(true), "by hand", now)),
        Question::Undrain { site } => done(decider.learn(&site, News::Drained(false), "by hand", now)),
        Question::Weight { site, weight } if weight.is_finite() && weight >= 0.0 => {
            done(decider.weigh(&site, weight, now))
        }
        Question::Weight { weight, .. } => done(Err(format!("weight {weight}: it is a number of at least 0"))),
        Question::Reload {} => done(running.reload()),
    }
}
