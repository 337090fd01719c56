//! Shortest predicted response: the backend that would be done with the request first, as a predictor says; ties are drawn.
//!
//! No parameters. Reads the predictions; counts nothing. The predictor knows the demands of all requests inside and of the
//! one at hand, and leaves out those to come, so under FCFS this is the join to the least work left, which no policy that
//! does not look into the future beats there (Daley, Stochastic Processes and their Applications 27, 1988). A yardstick:
//! only a simulator can tell such things, and the price is a look at every backend, each of which takes its jobs to their
//! end in thought.

use sojourn_stats::{Span, Stream};

use super::Entry;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "shortest-predicted-response",
    summary: "shortest response time that a predictor says; only a simulator has one",
    build: |_| Ok(Box::new(ShortestPredictedResponse { tied: Vec::new() })),
};

/// See the module.
#[derive(Clone, Debug)]
pub struct ShortestPredictedResponse {
    /// The best so far; kept so that a choice allocates nothing.
    tied: Vec<BackendId>,
}

impl Policy for ShortestPredictedResponse {
    fn requires(&self) -> Signals {
        Signals::PREDICTED_RESPONSE
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let mut least = Span::FOREVER;
        self.tied.clear();
        for id in ask.candidates() {
            let predicted = ask.table.predicted(id);
            if predicted < least {
                least = predicted;
                self.tied.clear();
            }
            if predicted == least {
                self.tied.push(id);
            }
        }
        let ties = self.tied.len();
        match ties {
            0 => Decision::refuse(),
            1 => Decision::forward(self.tied[0], reason(least, 1)),
            _ => Decision::forward(self.tied[draw.below(ties)], reason(least, ties)),
        }
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let predicted_s = |id| ask.table.predicted(id).as_secs_f64();
        Explanation::of(ask.candidates(), |id| vec![("predicted_response_s".into(), predicted_s(id))])
    }
}

fn reason(least: Span, ties: usize) -> Reason {
    Reason { code: Code::LeastPredicted, ties: ties as u32, value: least.as_secs_f64() }
}
