//! Stations with room for so many.

use std::sync::Arc;

use super::response::{BySize, ResponseLaw, Spread};
use super::{Flow, PHASE_TYPE, Solution, Station, Times};
use crate::answer::Value;
use crate::formula::general::mg1k;
use crate::formula::markovian::finite_fcfs::FiniteFcfs;
use crate::formula::markovian::mmck::{self, Finite};
use crate::kendall::Discipline;
use crate::law::Gaps;

impl Station {
    pub(super) fn solve_finite(&self, gaps: &Gaps, capacity: u32) -> Solution {
        match self.finite(gaps, capacity) {
            Ok((flow, times)) => Solution { flow: Some(flow), times: Ok(times) },
            Err(why) => Solution { flow: None, times: Err(why) },
        }
    }

    fn finite(&self, gaps: &Gaps, capacity: u32) -> Result<(Flow, Times), String> {
        match self.discipline {
            Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. } => {}
            // The order changes neither the number inside nor the loss.
            Discipline::Lcfs { preemptive: false } | Discipline::Siro => {
                let (flow, times) = self.under(Discipline::Fcfs).finite(gaps, capacity)?;
                let formula = format!("{} has the means of FCFS: {}", self.discipline, times.formula);
                return Ok((flow, Times { formula, law: None, spread: None, ..times }));
            }
            discipline => return Err(format!("no formula for a limited room under {discipline}: sim answers this")),
        }
        let cores = self.usable_cores();
        let always_shared = self.places().is_none_or(|places| places >= capacity);
        let insensitive = always_shared || capacity <= cores;
        let markovian = self.service.is_exponential();
        if gaps.is_poisson() && (insensitive || markovian) {
            return Ok(self.of_erlang(gaps, capacity, insensitive));
        }
        if let Some(solved) = self.phase_queue(gaps).and_then(|queue| queue.solve()) {
            let finite = Finite {
                loss: solved.loss,
                throughput: solved.throughput,
                number_mean: solved.response_time_mean_s * solved.throughput,
                response_time_mean_s: solved.response_time_mean_s,
                waiting_time_mean_s: solved.waiting_time_mean_s,
            };
            let (flow, times) = self.with(&finite, PHASE_TYPE, self.assumptions(gaps, false));
            return Ok((flow, Times { delay_probability: Some(Value::exact(solved.delay_probability)), ..times }));
        }
        if gaps.is_poisson()
            && cores == 1
            && self.places() == Some(1)
            && let Some(law) = &self.law
            && let Some(solved) = mg1k::solve(capacity, gaps.rate(), law)
        {
            return Ok(self.with(
                &solved,
                "M/G/1/K by the chain of its departures, exact",
                self.assumptions(gaps, false),
            ));
        }
        Err(if !gaps.is_poisson() {
            "no formula for a limited room unless arrivals are Poisson or all laws are made of few exponential stages: sim \
             answers this"
                .into()
        } else {
            "no formula for a limited room under this discipline unless service is exponential or made of few exponential \
             stages: sim answers this"
                .into()
        })
    }

    /// M/M/c/K, M/G/c/K-PS and Erlang's loss system.
    fn of_erlang(&self, gaps: &Gaps, capacity: u32, insensitive: bool) -> (Flow, Times) {
        let cores = self.usable_cores();
        let places = self.places().unwrap_or(capacity);
        let (rate, mean) = (gaps.rate(), self.service.mean_s);
        let solved = mmck::solve(cores, capacity, places, rate, mean);
        let formula = match (insensitive, capacity <= cores) {
            (_, true) => "Erlang's loss system, exact for any service law",
            (true, _) => "M/G/c/K-PS, exact for any service law",
            _ => "M/M/c/K, exact",
        };
        let (flow, mut times) = self.with(&solved, formula, self.assumptions(gaps, !insensitive));
        let found = mmck::number_probabilities(cores, capacity, rate * mean);
        // An empty sum would be -0.
        let delayed = found.iter().take(capacity as usize).skip(places as usize).fold(0.0, |sum, p| sum + p);
        times.delay_probability = Some(Value::exact(delayed / (1.0 - solved.loss).max(f64::MIN_POSITIVE)));
        if self.discipline == Discipline::Ps || capacity <= cores {
            times.by_size = Some(BySize::Stretched(solved.response_time_mean_s / mean));
        }
        if places == cores && self.service.is_exponential() {
            let law = FiniteFcfs::with_room(cores, capacity, rate, mean);
            times.spread = Some(Spread::Known(law.std_s()));
            times.law = Some(ResponseLaw::Finite(Arc::new(law)));
        }
        (flow, times)
    }

    fn with(&self, solved: &Finite, formula: &str, assumptions: Vec<String>) -> (Flow, Times) {
        let flow = Flow {
            utilisation: solved.throughput * self.service.mean_s / f64::from(self.cores),
            throughput: solved.throughput,
            loss: Some(solved.loss),
        };
        let waiting = Value::exact(solved.waiting_time_mean_s);
        let first = self.discipline == Discipline::Fcfs;
        let times = Times {
            waiting_mean: Some(waiting),
            by_size: first.then_some(BySize::After(waiting)),
            ..Times::new(
                Value::exact(solved.response_time_mean_s),
                format!("{formula}; times are those of the requests let in"),
                assumptions,
            )
        };
        (flow, times)
    }
}
