//! PH/PH/c-LPS(K), with unlimited room or room for so many: exact, for laws made of exponential stages.
//!
//! c cores are shared equally by at most K jobs, each on one core at most, and a FIFO queue stands in front. K = c is
//! FCFS. A state is the number of jobs inside, the phase of the next arrival, and how many of the jobs in service are
//! in which phase; the number inside is the level of a quasi-birth-death process whose blocks are the same from K jobs
//! on. That is M/PH/1-LPS(K) and much besides. Source for the model: Fujita 2000, section 2.3; for the method: Neuts,
//! Matrix-Geometric Solutions in Stochastic Models (1981), chapters 3 and 4.
//!
//! The price: K jobs over m phases are (K+m-1 over m-1) states, and time goes with their cube. [`STATES_MAX`] is where
//! this crate stops; beyond it the two-moment form stands in, and says so.

use std::collections::HashMap;

use nalgebra::{DMatrix, DVector};

use crate::law::PhaseType;
use crate::numeric::qbd::{self, Levels};

/// Largest number of states in a level: a fraction of a second.
pub const STATES_MAX: usize = 160;
/// Levels at most.
const LEVELS_MAX: usize = 20_000;
/// Levels times the cube of their states at most.
const WORK_MAX: f64 = 8e8;

/// Queue PH/PH/c-LPS(K).
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseQueue {
    /// Gaps between arrivals.
    pub gaps: PhaseType,
    /// Service.
    pub service: PhaseType,
    /// Cores.
    pub cores: u32,
    /// Jobs in service at most, K; at least `cores`.
    pub places: u32,
    /// Jobs inside at most; an arrival beyond is lost. None: no limit.
    pub capacity: Option<u32>,
}

/// Means in the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Mean response time (s) of the jobs let in.
    pub response_time_mean_s: f64,
    /// Mean time before service starts (s), of the jobs let in.
    pub waiting_time_mean_s: f64,
    /// Delay probability: the part of the jobs let in that does not start at once.
    pub delay_probability: f64,
    /// Loss probability: the part of the arrivals that is lost.
    pub loss: f64,
    /// Throughput: jobs served per second.
    pub throughput: f64,
}

impl PhaseQueue {
    /// Size check: whether the queue is small enough to be solved.
    pub fn is_small(&self) -> bool {
        let served = self.highest_served();
        let Some(states) = states_of(served, self.service.len(), self.gaps.len()) else { return false };
        let levels = self.capacity.unwrap_or(self.places) as usize;
        states <= STATES_MAX && levels <= LEVELS_MAX && levels as f64 * (states as f64).powi(3) <= WORK_MAX
    }

    /// Solution in the steady state. None where [`PhaseQueue::is_small`] says no or the load leaves no steady state.
    pub fn solve(&self) -> Option<Steady> {
        if !self.is_small() || self.places < self.cores {
            return None;
        }
        let rate = 1.0 / self.gaps.mean_s();
        if self.capacity.is_none() && rate * self.service.mean_s() >= f64::from(self.cores) {
            return None;
        }
        let chain = Chain::new(self);
        let solved = qbd::solve(&chain)?;
        let (places, top) = (self.places as usize, solved.levels.len() - 1);
        // Means over time, and over arrivals: a state is met as often as arrivals are due in it.
        let (mut number, mut waiting, mut delayed, mut lost) = (0.0, 0.0, 0.0, 0.0);
        for (level, states) in solved.levels.iter().enumerate() {
            let mass = states.sum();
            number += level as f64 * mass;
            waiting += level.saturating_sub(places) as f64 * mass;
            let met = chain.arrivals(states);
            if level == top && chain.ends() {
                lost += met;
            } else if level >= places {
                delayed += met;
            }
        }
        if !chain.ends() {
            let (mass, beyond) = (solved.above.sum(), solved.above_weighted.sum());
            number += top as f64 * mass + beyond;
            waiting += (top - places) as f64 * mass + beyond;
            delayed += chain.arrivals(&solved.above);
        }
        let throughput = rate - lost;
        Some(Steady {
            response_time_mean_s: number / throughput,
            waiting_time_mean_s: waiting / throughput,
            delay_probability: delayed / throughput,
            loss: lost / rate,
            throughput,
        })
    }

    /// Jobs in service at most, room or not.
    fn highest_served(&self) -> usize {
        self.capacity.map_or(self.places, |capacity| self.places.min(capacity)) as usize
    }
}

/// Ways to have `served` jobs in `phases` phases, times `gap_phases`; none where that is a very large number.
fn states_of(served: usize, phases: usize, gap_phases: usize) -> Option<usize> {
    let mut ways = gap_phases;
    for phase in 1..phases {
        ways = ways.checked_mul(served + phase)? / phase;
        if ways > 1_000_000 {
            return None;
        }
    }
    Some(ways)
}

/// Jobs in each phase of service.
type Counts = Vec<u16>;

/// Its blocks.
struct Chain<'a> {
    queue: &'a PhaseQueue,
    /// For each number in service: all the ways in which they may be in phases, and their numbers.
    ways: Vec<(Vec<Counts>, HashMap<Counts, usize>)>,
    top: usize,
}

impl<'a> Chain<'a> {
    fn new(queue: &'a PhaseQueue) -> Chain<'a> {
        let ways = (0..=queue.highest_served()).map(|served| {
            let ways = distributions(served as u16, queue.service.len());
            let numbers = ways.iter().cloned().enumerate().map(|(number, way)| (way, number)).collect();
            (ways, numbers)
        });
        let top = queue.capacity.unwrap_or(queue.places) as usize;
        Chain { queue, ways: ways.collect(), top }
    }

    fn served(&self, level: usize) -> usize {
        level.min(self.ways.len() - 1)
    }

    fn states(&self, level: usize) -> usize {
        self.ways[self.served(level)].0.len() * self.queue.gaps.len()
    }

    fn state(&self, level: usize, way: &Counts, gap_phase: usize) -> usize {
        self.ways[self.served(level)].1[way] * self.queue.gaps.len() + gap_phase
    }

    /// Arrivals per second out of these probabilities of a level's states.
    fn arrivals(&self, states: &DVector<f64>) -> f64 {
        let gaps = &self.queue.gaps.phases;
        let ending = |at: usize| {
            let phase = gaps[at % gaps.len()];
            if phase.next.is_none() { phase.rate } else { 0.0 }
        };
        states.iter().enumerate().map(|(at, probability)| probability * ending(at)).sum()
    }

    /// Calls `each` with the state, where it goes, and the rate, for every arrival's end of phase at `level`: `None`
    /// where the arrival is still to come, else the way in which service goes on and the level it is at.
    fn each_arrival(&self, level: usize, mut each: impl FnMut(usize, usize, usize, f64)) {
        let gaps = &self.queue.gaps.phases;
        let full = self.queue.capacity.is_some() && level == self.top;
        for way in &self.ways[self.served(level)].0 {
            for (at, phase) in gaps.iter().enumerate() {
                let from = self.state(level, way, at);
                if let Some(next) = phase.next {
                    each(from, level, self.state(level, way, next), phase.rate);
                    continue;
                }
                for (gap_start, gap) in gaps.iter().enumerate().filter(|(_, gap)| gap.start > 0.0) {
                    let rate = phase.rate * gap.start;
                    if full {
                        each(from, level, self.state(level, way, gap_start), rate);
                    } else if level >= self.ways.len() - 1 {
                        each(from, level + 1, self.state(level + 1, way, gap_start), rate);
                    } else {
                        self.with_a_start(way, |started, chance| {
                            each(from, level + 1, self.state(level + 1, started, gap_start), rate * chance);
                        });
                    }
                }
            }
        }
    }

    /// The same for every end of a phase of service.
    fn each_service(&self, level: usize, mut each: impl FnMut(usize, usize, usize, f64)) {
        let served = self.served(level);
        let share = (f64::from(self.queue.cores) / served as f64).min(1.0);
        for way in &self.ways[served].0 {
            for (at, phase) in self.queue.service.phases.iter().enumerate().filter(|(at, _)| way[*at] > 0) {
                let rate = f64::from(way[at]) * phase.rate * share;
                let mut left = way.clone();
                left[at] -= 1;
                let mut go = |level_to: usize, way_to: &Counts, rate: f64| {
                    for gap_phase in 0..self.queue.gaps.len() {
                        let (from, to) = (self.state(level, way, gap_phase), self.state(level_to, way_to, gap_phase));
                        each(from, level_to, to, rate);
                    }
                };
                match phase.next {
                    Some(next) => {
                        left[next] += 1;
                        go(level, &left, rate);
                    }
                    None if level > served => self.with_a_start(&left, |way, chance| go(level - 1, way, rate * chance)),
                    None => go(level - 1, &left, rate),
                }
            }
        }
    }

    /// Each way in which a new job's service may begin beside these.
    fn with_a_start(&self, way: &Counts, mut each: impl FnMut(&Counts, f64)) {
        for (at, phase) in self.queue.service.phases.iter().enumerate().filter(|(_, phase)| phase.start > 0.0) {
            let mut started = way.clone();
            started[at] += 1;
            each(&started, phase.start);
        }
    }

    /// The rates from `level` to `to`.
    fn block(&self, level: usize, to: usize) -> DMatrix<f64> {
        let mut rates = DMatrix::zeros(self.states(level), self.states(to));
        let mut each = |from: usize, level_to: usize, state_to: usize, rate: f64| {
            if level_to == to {
                rates[(from, state_to)] += rate;
            }
            if level == to {
                rates[(from, from)] -= rate;
            }
        };
        if to >= level {
            self.each_arrival(level, &mut each);
        }
        if to <= level && level > 0 {
            self.each_service(level, &mut each);
        }
        rates
    }
}

impl Levels for Chain<'_> {
    fn boundary(&self) -> usize {
        self.top
    }

    fn ends(&self) -> bool {
        self.queue.capacity.is_some()
    }

    fn down(&self, level: usize) -> DMatrix<f64> {
        self.block(level, level - 1)
    }

    fn stay(&self, level: usize) -> DMatrix<f64> {
        self.block(level, level)
    }

    fn up(&self, level: usize) -> DMatrix<f64> {
        self.block(level, level + 1)
    }
}

/// All ways to put `jobs` into `phases`.
fn distributions(jobs: u16, phases: usize) -> Vec<Counts> {
    if phases == 1 {
        return vec![vec![jobs]];
    }
    let mut all = Vec::new();
    for first in 0..=jobs {
        for mut rest in distributions(jobs - first, phases - 1) {
            rest.insert(0, first);
            all.push(rest);
        }
    }
    all
}
