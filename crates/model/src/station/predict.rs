//! How long a job will take, said when it arrives.
//!
//! Two predictors, by what they know. Both leave out the jobs that are still to come, as nobody knows them: where these
//! do not matter (FCFS) the one that knows demands is exact, where they push in (PS, least attained service, priorities)
//! it is too low, and by how much is what its reported error says. Fujita (2000) names such a predictor as future work.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use super::{Admission, Station};

/// What a predictor knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// The number of jobs inside and the mean demand, which stands for each of theirs and for the new one's: what a
    /// balancer knows that counts requests in flight.
    Number,
    /// The new job's demand, and what is left of everybody's inside: what only a simulator knows, or a server whose
    /// requests say their demand.
    Demands,
}

impl Station {
    /// How long a job of class number `class` and `service` core time would take that came at `now` and had no others
    /// come after it; none if it were denied. Every departure due at or before `now` must have been taken first. As dear
    /// as taking every departure until its own.
    pub fn predict(&self, class: u8, now: Time, service: Span) -> Option<Span> {
        const IT: u64 = u64::MAX;
        let mut ahead = self.clone();
        if ahead.arrive_of(class, now, IT, service) == Admission::Denied {
            return None;
        }
        loop {
            let departure = ahead.depart(Time::NEVER)?;
            if departure.job == IT {
                return Some(departure.at - now);
            }
        }
    }

    /// The same from the number inside and the mean core time of a job: n of them share what cores can be used, and it is
    /// taken to leave with the last (as it does under FCFS, and under PS where all are equal).
    pub fn predict_by_number(&self, service_mean: Span) -> Span {
        let (inside, _) = self.occupancy();
        let cores = if self.helpers == 0 { self.cores } else { self.cores.min(self.helpers) };
        let share = f64::from(inside + 1) / f64::from(cores);
        Span::from_secs_f64(service_mean.as_secs_f64() * share.max(1.0))
    }
}
