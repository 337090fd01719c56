//! The response time of a job, predicted when it arrives.
//!
//! There are two predictors, with different information. Neither knows later arrivals. If these do not matter (FCFS),
//! the predictor that knows demands is exact. If they take service away (PS, least attained service, priorities), it is
//! too low, and its reported error says by how much. Fujita (2000) names such a predictor as future work.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use super::{Admission, Station};

/// The information of a predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// The number of jobs inside and the mean demand, which stands for the demand of each job: the information of a
    /// balancer that counts requests in flight.
    Number,
    /// The new job's demand, and the work left of all jobs inside: the information of a simulator, or of a server whose
    /// requests state their demand.
    Demands,
}

impl Station {
    /// The response time of a job of class number `class` and `service` core time that arrived at `now`, without later
    /// arrivals; none if it were denied. Every departure due at or before `now` must have been taken first. It costs as
    /// much as taking every departure until its own.
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

    /// The same from the number inside and the mean core time of a job. n jobs share the usable cores, and the new job
    /// is taken to leave last (as it does under FCFS, and under PS if all jobs are equal).
    pub fn predict_by_number(&self, service_mean: Span) -> Span {
        let (inside, _) = self.occupancy();
        let cores = if self.helpers == 0 { self.cores } else { self.cores.min(self.helpers) };
        let share = f64::from(inside + 1) / f64::from(cores);
        Span::from_secs_f64(service_mean.as_secs_f64() * share.max(1.0))
    }
}
