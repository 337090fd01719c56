//! One server with its queue: which formula holds for it. The queue of a notation and each server of an experiment's
//! system are solved here, so that both say the same.

use std::sync::Arc;

use sojourn_model::Discipline;

use crate::answer::{Value, brief, yes};
use crate::gig1::{self, GiM1};
use crate::moments::Shape;
use crate::moments::{Gaps, Moments};
use crate::tail::{self, Tail};
use crate::{lps, mg1, mg1_ps, mm1, mmc, mmck, numeric};

/// A server as the formulas see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Station {
    pub(crate) service: Moments,
    pub(crate) cores: u32,
    pub(crate) discipline: Discipline,
    pub(crate) capacity: Option<u32>,
}

/// Why there is no formula for a discipline, where there is none.
pub(crate) fn beyond_formulas(discipline: &Discipline) -> Option<String> {
    match discipline {
        Discipline::Fcfs | Discipline::Ps | Discipline::LimitedPs { .. } => None,
        _ => Some(format!("no formula for {}: sim answers this", discipline.name())),
    }
}

/// What is known of a station in the steady state.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// What passes through; none where the loss of a limited room is not known.
    pub(crate) flow: Option<Flow>,
    /// The times, or one line that says why there are none.
    pub(crate) times: Result<Times, String>,
}

/// What passes through a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    /// The part of the core time that is used.
    pub(crate) utilisation: f64,
    /// Jobs served per second.
    pub(crate) throughput: f64,
    /// The part of the arrivals that finds the station full; none without a capacity.
    pub(crate) loss: Option<f64>,
}

/// Response and waiting times.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) response_mean: Value,
    /// Time before service starts.
    pub(crate) waiting_mean: Option<Value>,
    /// The law of the response time, where it is known.
    pub(crate) law: Option<ResponseLaw>,
    /// The formula, with its reach.
    pub(crate) formula: String,
    /// Each assumption of the formula and whether it is met.
    pub(crate) assumptions: Vec<String>,
}

/// The law of the response time.
#[derive(Clone, Debug)]
pub(crate) enum ResponseLaw {
    Exponential {
        mean_s: f64,
    },
    Mmc {
        servers: u32,
        arrival_rate: f64,
        service_mean_s: f64,
    },
    /// M/G/1 under FCFS; exact where the service law is known in full.
    Fcfs {
        tail: Arc<Tail>,
        mean_s: f64,
        exact: bool,
    },
    /// M/D/1-PS.
    ConstantPs {
        arrival_rate: f64,
        service_s: f64,
    },
    /// M/D/1-LPS.
    ConstantLimited {
        fcfs: Arc<Tail>,
        arrival_rate: f64,
        service_s: f64,
        helpers: u32,
    },
}

impl ResponseLaw {
    /// P(T > t).
    pub(crate) fn tail(&self, t_s: f64) -> f64 {
        match *self {
            ResponseLaw::Exponential { mean_s } => (-t_s / mean_s).exp(),
            ResponseLaw::Mmc { servers, arrival_rate, service_mean_s } => {
                mmc::response_time_tail(t_s, servers, arrival_rate, service_mean_s)
            }
            ResponseLaw::Fcfs { ref tail, .. } => tail.at(t_s),
            ResponseLaw::ConstantPs { arrival_rate, service_s } => tail::constant_ps(t_s, arrival_rate, service_s),
            // It is known by its quantiles.
            ResponseLaw::ConstantLimited { .. } => 1.0 - numeric::root(0.0, 1.0 - 1e-5, |p| self.quantile(p) - t_s),
        }
    }

    /// Whether it is the law itself, and not one near it.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            ResponseLaw::Fcfs { exact, .. } => *exact,
            ResponseLaw::ConstantLimited { .. } => false,
            ResponseLaw::Exponential { .. } | ResponseLaw::Mmc { .. } | ResponseLaw::ConstantPs { .. } => true,
        }
    }

    /// The `p`-quantile (s).
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        match *self {
            ResponseLaw::Fcfs { ref tail, mean_s, .. } => numeric::quantile(p, mean_s, |t| tail.at(t)),
            ResponseLaw::ConstantPs { arrival_rate, service_s } => {
                numeric::quantile(p, service_s, |t| tail::constant_ps(t, arrival_rate, service_s))
            }
            ResponseLaw::ConstantLimited { ref fcfs, arrival_rate, service_s, helpers } => {
                let first = numeric::quantile(p, service_s, |t| fcfs.at(t));
                let shared = ResponseLaw::ConstantPs { arrival_rate, service_s }.quantile(p);
                lps::constant_quantile(first, shared, helpers, service_s)
            }
            ResponseLaw::Exponential { mean_s } => -(-p).ln_1p() * mean_s,
            ResponseLaw::Mmc { servers, arrival_rate, service_mean_s } => {
                mmc::response_time_quantile(p, servers, arrival_rate, service_mean_s)
            }
        }
    }
}

impl Station {
    /// Cores that can be busy at once: limited PS with fewer helpers than cores leaves the rest idle.
    pub(crate) fn usable_cores(&self) -> u32 {
        match self.discipline {
            Discipline::LimitedPs { helpers } => self.cores.min(helpers),
            _ => self.cores,
        }
    }

    /// Jobs served at once at most; none: no limit. As many as there are usable cores is FCFS.
    pub(crate) fn places(&self) -> Option<u32> {
        match self.discipline {
            Discipline::Fcfs => Some(self.cores),
            Discipline::LimitedPs { helpers } => Some(helpers),
            Discipline::Lcfs { .. } | Discipline::Priority { .. } => Some(self.cores),
            Discipline::LeastAttained | Discipline::RoundRobin { .. } => Some(1),
            Discipline::Ps | Discipline::DelayCurve(_) => None,
        }
    }

    /// The arrival rate (1/s) that must stay above the actual one for a steady state; none with a capacity, which
    /// makes any load stable.
    pub(crate) fn largest_stable_rate(&self) -> Option<f64> {
        self.capacity.is_none().then(|| f64::from(self.usable_cores()) / self.service.mean_s)
    }

    /// Solves the station for arrivals with these gaps. They must be stable: see [`Station::largest_stable_rate`].
    pub(crate) fn solve(&self, gaps: &Gaps) -> Solution {
        match self.capacity {
            Some(_) if beyond_formulas(&self.discipline).is_some() => {
                Solution { flow: None, times: Err(beyond_formulas(&self.discipline).unwrap_or_default()) }
            }
            Some(capacity) => self.solve_finite(gaps, capacity),
            None => {
                let throughput = gaps.rate();
                let utilisation = throughput * self.service.mean_s / f64::from(self.cores);
                let flow = Flow { utilisation, throughput, loss: None };
                let times = beyond_formulas(&self.discipline).map_or_else(|| self.times(gaps), Err);
                Solution { flow: Some(flow), times }
            }
        }
    }

    fn solve_finite(&self, gaps: &Gaps, capacity: u32) -> Solution {
        let cores = self.usable_cores();
        let always_shared = self.places().is_none_or(|places| places >= capacity);
        let insensitive = always_shared || capacity <= cores;
        if !gaps.is_poisson() || !(insensitive || self.service.is_exponential()) {
            let why = if gaps.is_poisson() {
                "no formula for a limited room under this discipline unless service is exponential"
            } else {
                "no formula for a limited room unless arrivals are Poisson"
            };
            return Solution { flow: None, times: Err(why.into()) };
        }
        let places = self.places().unwrap_or(capacity);
        let rate = gaps.rate();
        let solved = mmck::solve(cores, capacity, places, rate, self.service.mean_s);
        let formula = match (insensitive, capacity <= cores) {
            (_, true) => "Erlang's loss system, exact for any service law",
            (true, _) => "M/G/c/K-PS, exact for any service law",
            _ => "M/M/c/K, exact",
        };
        Solution {
            flow: Some(Flow {
                utilisation: solved.throughput * self.service.mean_s / f64::from(self.cores),
                throughput: solved.throughput,
                loss: Some(solved.loss),
            }),
            times: Ok(Times {
                response_mean: Value::exact(solved.response_time_mean_s),
                waiting_mean: Some(Value::exact(solved.waiting_time_mean_s)),
                law: None,
                formula: format!("{formula}; times are those of the requests let in"),
                assumptions: self.assumptions(gaps, !insensitive),
            }),
        }
    }

    fn times(&self, gaps: &Gaps) -> Result<Times, String> {
        if self.service.is_exponential() {
            if gaps.is_poisson() {
                return Ok(self.markovian(gaps));
            }
            if self.usable_cores() == 1
                && let Some(solved) = GiM1::solve(gaps, self.service.mean_s)
            {
                return Ok(self.gi_m_1(gaps, &solved));
            }
        } else if gaps.is_poisson() && self.places().is_none() {
            return Ok(self.insensitive(gaps));
        }
        self.two_moments(gaps)
    }

    /// M/M/c under any discipline.
    fn markovian(&self, gaps: &Gaps) -> Times {
        let (cores, rate, mean) = (self.usable_cores(), gaps.rate(), self.service.mean_s);
        let fcfs = self.places() == Some(cores);
        let response =
            if cores == 1 { mm1::response_time_mean(rate, mean) } else { mmc::response_time_mean(cores, rate, mean) };
        let waiting = self.places().map_or(0.0, |places| mmc::limited_ps_waiting_time_mean(cores, places, rate, mean));
        let law = match (fcfs, cores) {
            (false, _) => None,
            (true, 1) => Some(ResponseLaw::Exponential { mean_s: response }),
            (true, servers) => Some(ResponseLaw::Mmc { servers, arrival_rate: rate, service_mean_s: mean }),
        };
        let name = if cores == 1 { "M/M/1" } else { "M/M/c" };
        Times {
            response_mean: Value::exact(response),
            waiting_mean: Some(Value::exact(waiting)),
            law,
            formula: if fcfs {
                format!("{name}, exact")
            } else {
                format!("{name}, exact for the means under any sharing of the cores")
            },
            assumptions: self.assumptions(gaps, true),
        }
    }

    fn gi_m_1(&self, gaps: &Gaps, solved: &GiM1) -> Times {
        let response = solved.response_time_mean();
        let waiting = self.places().map_or(0.0, |places| solved.waiting_time_mean(places));
        Times {
            response_mean: Value::exact(response),
            waiting_mean: Some(Value::exact(waiting)),
            law: (self.places() == Some(1)).then_some(ResponseLaw::Exponential { mean_s: response }),
            formula: "GI/M/1 by the root of its transform equation, exact".into(),
            assumptions: self.assumptions(gaps, true),
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
        Times {
            response_mean: Value::exact(response),
            waiting_mean: Some(Value::exact(0.0)),
            law: (self.cores == 1 && self.service.shape == Shape::Constant)
                .then_some(ResponseLaw::ConstantPs { arrival_rate: rate, service_s: mean }),
            formula: format!("{name}, exact for any service law"),
            assumptions: self.assumptions(gaps, false),
        }
    }

    /// FCFS, PS and limited PS from two moments.
    fn two_moments(&self, gaps: &Gaps) -> Result<Times, String> {
        let (cores, mean, scv) = (self.usable_cores(), self.service.mean_s, self.service.scv);
        let (rate, places) = (gaps.rate(), self.places());
        if gaps.scv().is_infinite() {
            return Err("no formula for gaps between arrivals of infinite variance".into());
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
        let (wait, name) = match (cores, gaps.is_poisson()) {
            (1, true) => (mg1::waiting_time_mean(rate, mean, scv), "Pollaczek-Khinchine"),
            (1, false) => (gig1::kraemer_langenbach_belz(gaps, mean, scv), "Kraemer-Langenbach-Belz"),
            _ => (gig1::allen_cunneen(cores, gaps, mean, scv), "Allen-Cunneen"),
        };
        let assumptions = self.assumptions(gaps, false);
        if places == Some(cores) {
            let exact = cores == 1 && gaps.is_poisson();
            let value = |number| Value { number, exact };
            let reach = if exact { "exact for M/G/1 FCFS" } else { "approximate, from two moments" };
            return Ok(Times {
                response_mean: value(mean + wait),
                waiting_mean: Some(value(wait)),
                law: if exact { self.fcfs_law(rate, mean + wait) } else { None },
                formula: format!("{name}, {reach}"),
                assumptions,
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
            Some(error) => format!("up to {} % high with hyperexponential service", brief(100.0 * error)),
            None if scv == 0.0 && gaps.is_poisson() && cores == 1 => "up to 2 % high with constant service".into(),
            None => "its error is known for C2 from 1 to 10 only".into(),
        };
        let sharing = if places.is_some() { "limited PS" } else { "PS" };
        Ok(Times {
            response_mean: Value::approximate(response),
            waiting_mean: places.is_none().then(|| Value::exact(0.0)),
            law: self.limited_law(gaps, mean + wait),
            formula: format!("{sharing} in two-moment form over {name}, approximate ({reach})"),
            assumptions,
        })
    }

    /// M/G/1 under FCFS. Two moments make a law where they nearly are one: for a service that varies more than the
    /// exponential they are not.
    fn fcfs_law(&self, rate: f64, response_mean_s: f64) -> Option<ResponseLaw> {
        let exact = self.service.shape != Shape::General;
        if !exact && self.service.scv > 1.0 {
            return None;
        }
        let tail = Arc::new(tail::fcfs(rate, &self.service)?);
        Some(ResponseLaw::Fcfs { tail, mean_s: response_mean_s, exact })
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

    fn assumptions(&self, gaps: &Gaps, exponential_service: bool) -> Vec<String> {
        let with = |met: bool, scv: f64| {
            if met { yes(met).to_owned() } else { format!("{} (C2 = {})", yes(met), brief(scv)) }
        };
        let service = &self.service;
        let poisson = with(gaps.is_poisson(), gaps.scv());
        let mut lines = vec![format!("Poisson arrivals: {poisson}")];
        let exponential = with(service.is_exponential(), service.scv);
        let needed = if exponential_service || service.is_exponential() { "" } else { ", not assumed" };
        lines.push(format!("exponential service: {exponential}{needed}"));
        lines
    }
}
