//! Stations with unlimited room, under FCFS, PS and limited PS.

use std::sync::Arc;

use super::response::{BySize, ResponseLaw, Spread};
use super::{Station, Times};
use crate::answer::{Value, brief};
use crate::formula::general::gimc::GiMc;
use crate::formula::general::{gig1, mg1, mg1_fcfs};
use crate::formula::markovian::{mm1, mmc};
use crate::formula::order::mg1_order;
use crate::formula::sharing::mmc_lps::MarkovianSharing;
use crate::formula::sharing::phase_ps::PhaseSharing;
use crate::formula::sharing::{lps, mg1_ps};
use crate::kendall::Discipline;
use crate::law::{Gaps, Shape};

impl Station {
    /// Under FCFS, PS or limited PS.
    pub(super) fn sharing(&self, gaps: &Gaps) -> Result<Times, String> {
        if self.service.is_exponential() {
            if gaps.is_poisson() {
                return Ok(self.markovian(gaps));
            }
            if let Some(solved) = GiMc::solve(gaps, self.usable_cores(), self.service.mean_s) {
                return Ok(self.gi_m_c(gaps, &solved));
            }
        } else if gaps.is_poisson() && self.places().is_none() {
            return Ok(self.insensitive(gaps));
        }
        self.two_moments(gaps)
    }

    /// M/M/c.
    fn markovian(&self, gaps: &Gaps) -> Times {
        let (cores, rate, mean) = (self.usable_cores(), gaps.rate(), self.service.mean_s);
        let fcfs = self.places() == Some(cores);
        let response =
            if cores == 1 { mm1::response_time_mean(rate, mean) } else { mmc::response_time_mean(cores, rate, mean) };
        let waiting = self.places().map_or(0.0, |places| mmc::limited_ps_waiting_time_mean(cores, places, rate, mean));
        let (delayed, drain) = (mmc::erlang_c(rate * mean, cores), f64::from(cores) / mean - rate);
        let utilisation = rate * mean / f64::from(cores);
        let delay_probability =
            self.places().map_or(0.0, |places| delayed * utilisation.powf(f64::from(places - cores)));
        let law = match (fcfs, cores) {
            (false, _) => MarkovianSharing::new(cores, self.places(), rate, mean)
                .map(|sharing| ResponseLaw::MarkovianSharing(Arc::new(sharing))),
            (true, 1) => Some(ResponseLaw::Exponential { mean_s: response }),
            (true, _) => {
                Some(ResponseLaw::Delayed { delay_probability: delayed, drain_rate: drain, service_mean_s: mean })
            }
        };
        let std = match (self.places(), cores) {
            (Some(places), _) if places == cores => {
                Some((mean * mean + delayed * (2.0 - delayed) / (drain * drain)).sqrt())
            }
            (None, 1) => Some(mg1_ps::exponential_response_time_variance(rate, mean).sqrt()),
            _ => None,
        };
        let name = if cores == 1 { "M/M/1" } else { "M/M/c" };
        let formula = if fcfs {
            format!("{name}, exact")
        } else {
            // Of the means: the percentiles, where there are any, are those of this sharing alone.
            format!("{name}, exact for the means under any sharing of the cores")
        };
        Times {
            waiting_mean: Some(Value::exact(waiting)),
            delay_probability: Some(Value::exact(delay_probability)),
            spread: std.map(Spread::Known),
            law,
            by_size: self.by_size(gaps, Value::exact(response), Value::exact(waiting)),
            ..Times::new(Value::exact(response), formula, self.assumptions(gaps, true))
        }
    }

    /// The mean response time by size under FCFS, PS (from Poisson arrivals) and limited PS (on one core).
    fn by_size(&self, gaps: &Gaps, response: Value, waiting: Value) -> Option<BySize> {
        match self.discipline {
            Discipline::Ps if gaps.is_poisson() => Some(BySize::Stretched(response.number / self.service.mean_s)),
            _ if self.places() == Some(self.usable_cores()) => Some(BySize::After(waiting)),
            Discipline::LimitedPs { helpers } if gaps.is_poisson() && self.cores == 1 => Some(BySize::Limited {
                helpers,
                arrival_rate: gaps.rate(),
                service_mean_s: self.service.mean_s,
                service_second_moment_s2: self.second_moment_s2(),
            }),
            _ => None,
        }
    }

    /// GI/M/c.
    fn gi_m_c(&self, gaps: &Gaps, solved: &GiMc) -> Times {
        let response = Value::exact(solved.response_time_mean());
        let waiting = Value::exact(self.places().map_or(0.0, |places| solved.waiting_time_mean(places)));
        let (cores, mean) = (self.usable_cores(), self.service.mean_s);
        let fcfs = self.places() == Some(cores);
        let (delayed, drain) = (solved.delay_probability, solved.drain_rate());
        let beyond = self.places().map(|places| solved.omega.powf(f64::from(places - cores)));
        let law = ResponseLaw::Delayed { delay_probability: delayed, drain_rate: drain, service_mean_s: mean };
        let law = if cores == 1 { ResponseLaw::Exponential { mean_s: response.number } } else { law };
        let std = (mean * mean + delayed * (2.0 - delayed) / (drain * drain)).sqrt();
        let name = if cores == 1 { "GI/M/1" } else { "GI/M/c" };
        Times {
            waiting_mean: Some(waiting),
            delay_probability: Some(Value::exact(beyond.map_or(0.0, |factor| factor * delayed))),
            spread: fcfs.then_some(Spread::Known(std)),
            law: fcfs.then_some(law),
            by_size: self.by_size(gaps, response, waiting),
            ..Times::new(
                response,
                format!("{name} by the root of its transform equation, exact"),
                self.assumptions(gaps, true),
            )
        }
    }

    /// M/G/c-PS.
    fn insensitive(&self, gaps: &Gaps) -> Times {
        let (rate, mean) = (gaps.rate(), self.service.mean_s);
        let response = if self.cores == 1 {
            mg1_ps::response_time_mean(rate, mean)
        } else {
            mmc::response_time_mean(self.cores, rate, mean)
        };
        let name = if self.cores == 1 { "M/G/1-PS" } else { "M/G/c-PS" };
        let response = Value::exact(response);
        let single = self.law.clone().or_else(|| self.service.law()).filter(|_| self.cores == 1);
        let law = match &single {
            Some(_) if self.service.shape == Shape::Constant => {
                Some(ResponseLaw::ConstantPs { arrival_rate: rate, service_s: mean })
            }
            Some(law) => PhaseSharing::new(rate, law).map(|sharing| ResponseLaw::PhaseSharing(Arc::new(sharing))),
            None => None,
        };
        Times {
            waiting_mean: Some(Value::exact(0.0)),
            delay_probability: Some(Value::exact(0.0)),
            spread: single.map(|law| Spread::Shared { arrival_rate: rate, law }),
            law,
            by_size: self.by_size(gaps, response, Value::exact(0.0)),
            ..Times::new(response, format!("{name}, exact for any service law"), self.assumptions(gaps, false))
        }
    }

    /// FCFS, PS and limited PS: by the Markov chain where there is one, else from two moments.
    fn two_moments(&self, gaps: &Gaps) -> Result<Times, String> {
        let (cores, mean, scv) = (self.usable_cores(), self.service.mean_s, self.service.scv);
        let (rate, places) = (gaps.rate(), self.places());
        if gaps.scv().is_infinite() {
            return Err(
                "no formula for gaps between arrivals of infinite variance unless service is exponential".into()
            );
        }
        if scv.is_infinite() && places.is_some() {
            return Err(if places == Some(1) && gaps.is_poisson() {
                "the mean wait is infinite, for the second moment of the service law is: take bounded-pareto, \
                 redraw at `max =`, or ask for PS"
                    .into()
            } else {
                "no formula for a service law of infinite second moment unless it is shared by PS: take \
                 bounded-pareto or redraw at `max =`"
                    .into()
            });
        }
        let pollaczek = cores == 1 && places == Some(1) && gaps.is_poisson();
        if !pollaczek && let Some(times) = self.phase_type(gaps) {
            return Ok(times);
        }
        let (wait, name, error) = match (cores, gaps.is_poisson()) {
            (1, true) => (mg1::waiting_time_mean(rate, mean, scv), "Pollaczek-Khinchine", ""),
            (1, false) => {
                (gig1::kraemer_langenbach_belz(gaps, mean, scv), "Kraemer-Langenbach-Belz", gig1::SINGLE_SERVER_ERROR)
            }
            _ => (gig1::allen_cunneen(cores, gaps, mean, scv), "Allen-Cunneen", gig1::SEVERAL_SERVERS_ERROR),
        };
        let assumptions = self.assumptions(gaps, false);
        if places == Some(cores) {
            let value = |number| Value { number, exact: pollaczek };
            let reach = if pollaczek {
                "exact for M/G/1 FCFS".into()
            } else {
                format!("approximate, from two moments ({error})")
            };
            let utilisation = Value::exact(rate * mean);
            return Ok(Times {
                waiting_mean: Some(value(wait)),
                delay_probability: pollaczek.then_some(utilisation),
                spread: if pollaczek { self.spread(mg1_order::Order::Fcfs, rate) } else { None },
                law: if pollaczek { self.fcfs_law(rate, mean + wait) } else { None },
                by_size: Some(BySize::After(value(wait))),
                ..Times::new(value(mean + wait), format!("{name}, {reach}"), assumptions)
            });
        }
        let utilisation = rate * mean / f64::from(cores);
        let beyond = places.map(|places| places - cores);
        let response = if scv.is_infinite() {
            // The limit of the form below: PS forgets the service law.
            mmc::response_time_mean(cores, rate, mean)
        } else {
            lps::sharing_response_time_mean(wait, utilisation, gaps.scv(), mean, scv, beyond)
        };
        let reach = match lps::largest_error(gaps.is_poisson(), cores, scv) {
            Some(error) => {
                format!("up to {} % high with hyperexponential service, unknown for other laws", brief(100.0 * error))
            }
            None if scv == 0.0 && gaps.is_poisson() && cores == 1 => "up to 2 % high with constant service".into(),
            None => "its error is known for C2 from 1 to 10 only".into(),
        };
        let sharing = if places.is_some() { "limited PS" } else { "PS" };
        let response = Value::approximate(response);
        Ok(Times {
            waiting_mean: places.is_none().then(|| Value::exact(0.0)),
            law: self.limited_law(gaps, mean + wait),
            by_size: self.by_size(gaps, response, Value::approximate(wait)),
            ..Times::new(
                response,
                format!("{sharing} in two-moment form over {name}, approximate ({reach})"),
                assumptions,
            )
        })
    }

    /// PH/PH/c-LPS(K), or none where the laws are not made of stages, or of too many.
    fn phase_type(&self, gaps: &Gaps) -> Option<Times> {
        let solved = self.phase_queue(gaps)?.solve()?;
        let (response, waiting) = (Value::exact(solved.response_time_mean_s), Value::exact(solved.waiting_time_mean_s));
        Some(Times {
            waiting_mean: Some(waiting),
            delay_probability: Some(Value::exact(solved.delay_probability)),
            by_size: self.by_size(gaps, response, waiting),
            ..Times::new(response, super::PHASE_TYPE, self.assumptions(gaps, false))
        })
    }

    /// Standard deviation of the M/G/1 response time when jobs that wait are served in this order.
    pub(super) fn spread(&self, order: mg1_order::Order, arrival_rate: f64) -> Option<Spread> {
        let third = self.law.as_ref()?.moment(3);
        let (mean, second) = (self.service.mean_s, self.second_moment_s2());
        let wait = mg1::waiting_time_mean(arrival_rate, mean, self.service.scv);
        let squares = mg1_order::waiting_time_second_moment(order, arrival_rate, [mean, second, third]);
        squares.is_finite().then(|| Spread::Known((squares - wait * wait + second - mean * mean).max(0.0).sqrt()))
    }

    /// M/G/1 under FCFS. Two moments make a law where they nearly are one: for a service that varies more than the
    /// exponential they are not.
    fn fcfs_law(&self, rate: f64, response_mean_s: f64) -> Option<ResponseLaw> {
        if self.means_only {
            return None;
        }
        let tail = match &self.law {
            Some(law) => mg1_fcfs::response_time_law(rate, law)?,
            None if self.service.scv > 1.0 => return None,
            None => mg1_fcfs::response_time_law_of_moments(rate, &self.service)?,
        };
        Some(ResponseLaw::Fcfs { tail: Arc::new(tail), mean_s: response_mean_s })
    }

    /// M/D/1-LPS.
    fn limited_law(&self, gaps: &Gaps, fcfs_mean_s: f64) -> Option<ResponseLaw> {
        let Discipline::LimitedPs { helpers } = self.discipline else { return None };
        if self.cores != 1 || !gaps.is_poisson() || self.service.shape != Shape::Constant {
            return None;
        }
        let ResponseLaw::Fcfs { tail, .. } = self.fcfs_law(gaps.rate(), fcfs_mean_s)? else { return None };
        let (arrival_rate, service_s) = (gaps.rate(), self.service.mean_s);
        Some(ResponseLaw::ConstantLimited { fcfs: tail, arrival_rate, service_s, helpers })
    }
}
