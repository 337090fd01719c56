//! Stations whose discipline is another than FCFS, PS and limited PS.

use super::response::{BySize, ResponseLaw, Spread};
use super::{Station, Times};
use crate::answer::{Value, brief};
use crate::formula::general::busy_period::BusyPeriod;
use crate::formula::order::las;
use crate::formula::order::mg1_order::{self, Order};
use crate::formula::order::mmc_order::MarkovianOrder;
use crate::kendall::Discipline;
use crate::law::Gaps;

/// A quantum up to this part of the mean service is taken for none: M/M/1 does not mind it, and other laws little.
const QUANTUM_SHARE: f64 = 0.1;

impl Station {
    /// The times under any discipline, with unlimited room.
    pub(super) fn times(&self, gaps: &Gaps) -> Result<Times, String> {
        match self.discipline {
            Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. } => self.sharing(gaps),
            Discipline::Lcfs { preemptive: false } => self.in_order(gaps, Order::Lcfs, "LCFS"),
            Discipline::Siro => self.in_order(gaps, Order::Siro, "random service"),
            Discipline::Lcfs { preemptive: true } => self.preempted(gaps),
            Discipline::LeastAttained => self.least_attained(gaps),
            Discipline::RoundRobin { quantum_s } => self.round_robin(gaps, quantum_s),
            Discipline::Priority { .. } => {
                Err("priorities are between classes: give each of them with its arrivals and service; sim answers this"
                    .into())
            }
        }
    }

    /// The same station under another discipline.
    pub(super) fn under(&self, discipline: Discipline) -> Station {
        Station { discipline, ..self.clone() }
    }

    /// Without interruption, in an order that does not depend on sizes: the means are those of FCFS.
    fn in_order(&self, gaps: &Gaps, order: Order, name: &str) -> Result<Times, String> {
        let fcfs = self.under(Discipline::Fcfs).sharing(gaps)?;
        let single = self.cores == 1 && gaps.is_poisson();
        let markovian = gaps.is_poisson() && self.service.is_exponential();
        let law = markovian.then(|| MarkovianOrder::new(order, self.cores, gaps.rate(), self.service.mean_s)).flatten();
        Ok(Times {
            law: law.map(ResponseLaw::MarkovianOrder),
            spread: if single { self.spread(order, gaps.rate()) } else { None },
            formula: format!("{name} has the means of FCFS: {}", fcfs.formula),
            ..fcfs
        })
    }

    /// LCFS with preemption.
    fn preempted(&self, gaps: &Gaps) -> Result<Times, String> {
        let (mean, rate) = (self.service.mean_s, gaps.rate());
        let exponential = self.service.is_exponential();
        if !(self.cores == 1 && gaps.is_poisson()) {
            return if exponential {
                self.blind(gaps, "LCFS with preemption")
            } else {
                Err("no formula for LCFS with preemption but M/G/1 and exponential service: sim answers this".into())
            };
        }
        let response = mg1_order::preempted_response_time_mean_of(mean, rate, mean);
        let squares = mg1_order::preempted_response_time_second_moment(rate, mean, self.second_moment_s2());
        let std = (squares - response * response).max(0.0).sqrt();
        Ok(Times {
            waiting_mean: Some(Value::exact(0.0)),
            delay_probability: Some(Value::exact(0.0)),
            spread: std.is_finite().then_some(Spread::Known(std)),
            law: self
                .law
                .clone()
                .or_else(|| self.service.law())
                .and_then(|law| BusyPeriod::new(rate, &law).map(ResponseLaw::BusyPeriod)),
            by_size: Some(BySize::Stretched(response / mean)),
            ..Times::new(
                Value::exact(response),
                "M/G/1-LCFS with preemption, exact for any service law: a busy period",
                self.assumptions(gaps, false),
            )
        })
    }

    /// Exponential service under a discipline that keeps every core busy and does not look at what is left to do.
    fn blind(&self, gaps: &Gaps, name: &str) -> Result<Times, String> {
        let shared = self.under(Discipline::Ps).sharing(gaps)?;
        let starts_at_once = self.places().is_none();
        Ok(Times {
            law: None,
            by_size: None,
            spread: None,
            waiting_mean: if starts_at_once { shared.waiting_mean } else { None },
            delay_probability: if starts_at_once { shared.delay_probability } else { None },
            formula: format!("{name} has the mean of any sharing when service is exponential: {}", shared.formula),
            ..shared
        })
    }

    /// Least attained service.
    fn least_attained(&self, gaps: &Gaps) -> Result<Times, String> {
        if self.cores > 1 {
            return Err("no formula for least attained service on several cores: sim answers this".into());
        }
        if !gaps.is_poisson() {
            return if self.service.is_exponential() {
                self.blind(gaps, "least attained service")
            } else {
                Err("no formula for least attained service unless arrivals are Poisson or service is exponential: sim \
                     answers this"
                    .into())
            };
        }
        let Some(law) = &self.law else {
            return Err("least attained service needs the service law itself, not its moments: sim answers this".into());
        };
        let rate = gaps.rate();
        Ok(Times {
            waiting_mean: Some(Value::exact(0.0)),
            delay_probability: Some(Value::exact(0.0)),
            by_size: Some(BySize::LeastAttained { arrival_rate: rate, law: law.clone() }),
            ..Times::new(
                Value::exact(las::response_time_mean(rate, law)),
                "M/G/1-LAS (Schrage 1967), exact for any service law",
                self.assumptions(gaps, false),
            )
        })
    }

    /// In turns of a quantum: exact for exponential service, which forgets; else taken for PS where the quantum is
    /// small.
    fn round_robin(&self, gaps: &Gaps, quantum_s: f64) -> Result<Times, String> {
        if self.service.is_exponential() {
            return self.blind(gaps, "round robin");
        }
        let share = quantum_s / self.service.mean_s;
        if share > QUANTUM_SHARE {
            return Err(format!(
                "no formula for a quantum of {} of the mean service; up to {QUANTUM_SHARE} of it PS is near: sim answers this",
                brief(share)
            ));
        }
        let shared = self.under(Discipline::Ps).sharing(gaps)?;
        Ok(Times {
            response_mean: Value::approximate(shared.response_mean.number),
            waiting_mean: None,
            delay_probability: None,
            spread: None,
            law: None,
            by_size: None,
            formula: format!(
                "round robin taken for PS, its limit, approximate (the quantum is {} of the mean service): {}",
                brief(share),
                shared.formula
            ),
            assumptions: shared.assumptions,
        })
    }
}
