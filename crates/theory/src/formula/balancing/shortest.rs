//! Join the shortest of several queues, between two Markov chains that are solved.
//!
//! Exponential servers, Poisson arrivals, each to the server with the fewest jobs. The sorted numbers of jobs are a Markov
//! chain without an end in any direction. In two others like it the longest and the shortest queue never differ by more than a
//! threshold: where a departure from the shortest would make them, in one a job leaves the longest instead (jockeying), in the
//! other it does not happen (blocking). That an arrival joins the shortest and that a job leaves the k-th longest both keep the
//! order by majorization; jockeying goes down in it and blocking up. So the first chain always has fewer jobs and the second
//! more, and their means are bounds, ever nearer as the threshold grows (Adan, van Houtum and van der Wal, Upper and lower
//! bounds for the waiting time in the symmetric shortest queue system, Annals of Operations Research 48, 1994).
//!
//! The level of a chain is the number of jobs, its state how many more each queue has than the shortest: few vectors, which
//! return every N levels for N servers. As in [`crate::numeric::qbd`] levels are eliminated from the top down; high up that
//! settles, and what is above is a geometric sum. The price is the cube of the states in a level, so that the threshold is
//! small for many servers, and the bounds are wide.

use std::collections::HashMap;

use nalgebra::{DMatrix, DVector};

use crate::formula::markovian::mmc;

/// Bounds of a mean response time, in mean services.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// It is at least this.
    pub low: f64,
    /// And at most this.
    pub high: f64,
}

impl Bounds {
    /// How far they are apart, over the lower one.
    pub fn gap(self) -> f64 {
        if self.high > self.low { (self.high - self.low) / self.low } else { 0.0 }
    }
}

/// Bounds that are nearer than this, over the lower one, are not brought nearer.
const NEAR: f64 = 1e-9;
/// Multiplications that a chain may take.
const WORK: f64 = 2.5e8;
/// Rounds of N levels in which the elimination settles, as far as its work is foreseen.
const ROUNDS: f64 = 8.0;
/// And after which it has failed.
const MOST_ROUNDS: usize = 400;

/// Bounds of the mean response time of `servers` >= 1 exponential servers behind join the shortest queue, at this utilisation
/// of each; infinite at 1 or more.
///
/// They are never wider than one queue for all servers (M/M/N) and N queues that know nothing of each other (M/M/1). Of two
/// servers they are equal to nine digits, of four to six at a utilisation of 0.9; of twenty they are far from each other
/// there.
pub fn join_shortest_queue(servers: u32, utilisation: f64) -> Bounds {
    if utilisation >= 1.0 {
        return Bounds { low: f64::INFINITY, high: f64::INFINITY };
    }
    let apart = 1.0 / (1.0 - utilisation);
    if servers <= 1 {
        return Bounds { low: apart, high: apart };
    }
    let rate = f64::from(servers) * utilisation;
    let mut bounds = Bounds { low: mmc::response_time_mean(servers, rate, 1.0), high: apart };
    let mut threshold = 2;
    while work(servers, threshold) <= WORK && bounds.gap() > NEAR {
        let solved = |beyond| Chain::new(servers as usize, threshold, rate, beyond).response_time_mean();
        bounds.low = solved(Beyond::Jockeying).map_or(bounds.low, |mean| mean.max(bounds.low));
        bounds.high = solved(Beyond::Blocking).map_or(bounds.high, |mean| mean.min(bounds.high));
        threshold += (threshold / 3).max(1);
    }
    // Equal ends may cross by rounding.
    Bounds { high: bounds.high.max(bounds.low), ..bounds }
}

/// Multiplications that the chain of this threshold takes, about.
fn work(servers: u32, threshold: u8) -> f64 {
    let (n, t) = (f64::from(servers), f64::from(threshold));
    // Vectors of N - 1 numbers from 0 to the threshold in falling order, over N levels.
    let states = (1..servers).map(f64::from).fold(1.0, |count, k| count * (t + k) / k) / n;
    3.0 * states.powi(3) * ((n - 1.0) * t + ROUNDS * n)
}

/// What happens in place of a departure after which the queues would differ by more than the threshold.
#[derive(Clone, Copy, PartialEq)]
enum Beyond {
    /// A job leaves the longest queue.
    Jockeying,
    /// Nothing.
    Blocking,
}

/// How many jobs each queue has more than the shortest, and where the chain goes from there.
struct Shape {
    /// How many these are in all.
    jobs: usize,
    /// After an arrival: its place among those one level above.
    arrival: usize,
    /// After a departure from a longer queue: places one level below, and rates.
    longer: Vec<(usize, f64)>,
    /// After one from the shortest queues, if these are not empty.
    shortest: Option<(usize, f64)>,
}

/// Servers of rate 1 whose queues differ by at most a threshold.
struct Chain {
    servers: usize,
    rate: f64,
    /// From this level on all shapes are possible, and no queue is empty.
    base: usize,
    /// The shapes by the remainder of their level by the number of servers, those of the fewest jobs first: of a level below
    /// `base` the first ones are possible.
    shapes: Vec<Vec<Shape>>,
}

impl Chain {
    fn new(servers: usize, threshold: u8, rate: f64, beyond: Beyond) -> Chain {
        let mut by_level: Vec<Vec<Vec<u8>>> = vec![Vec::new(); servers];
        for shape in falling(servers, threshold) {
            by_level[jobs(&shape) % servers].push(shape);
        }
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        for shapes in &mut by_level {
            shapes.sort_by_key(|shape| jobs(shape));
            places.extend(shapes.iter().enumerate().map(|(place, shape)| (shape.clone(), place)));
        }
        let of = |shape: &Vec<u8>| Shape::new(shape, threshold, beyond, &places);
        let shapes = by_level.iter().map(|shapes| shapes.iter().map(of).collect()).collect();
        Chain { servers, rate, base: (servers - 1) * usize::from(threshold) + 1, shapes }
    }

    /// The shapes that are possible with so many jobs.
    fn states(&self, level: usize) -> &[Shape] {
        let shapes = &self.shapes[level % self.servers];
        &shapes[..shapes.partition_point(|shape| shape.jobs <= level)]
    }

    /// Rates inside a level once all above it are eliminated, of which `above` is the same of the next one, and the factors by
    /// which its probabilities give those of the next one.
    fn eliminated(&self, level: usize, above: DMatrix<f64>) -> Option<(DMatrix<f64>, DMatrix<f64>)> {
        let inverse = (-above).try_inverse()?;
        let states = self.states(level);
        let mut step = DMatrix::zeros(states.len(), inverse.ncols());
        for (from, shape) in states.iter().enumerate() {
            step.row_mut(from).copy_from(&(inverse.row(shape.arrival) * self.rate));
        }
        let mut closed = DMatrix::zeros(states.len(), states.len());
        for (from, shape) in self.states(level + 1).iter().enumerate() {
            for (to, rate) in shape.departures(level + 1) {
                closed.column_mut(to).axpy(rate, &step.column(from), 1.0);
            }
        }
        // What goes up comes back, so that a state is left to others of its level, and down. As their sum, and not as what is
        // left of all rates, the diagonal keeps its digits (Grassmann, Taksar and Heyman, Operations Research 33, 1985).
        for (place, shape) in states.iter().enumerate() {
            closed[(place, place)] = 0.0;
            closed[(place, place)] = -(closed.row(place).sum() + shape.rate_down(level));
        }
        Some((closed, step))
    }

    /// Mean response time (in mean services); none where queues grow without end, as they may where departures are blocked, and
    /// where the numbers fail.
    fn response_time_mean(&self) -> Option<f64> {
        let (closed, round) = self.settled()?;
        let mut steps = Vec::with_capacity(self.base);
        let mut below = closed;
        for level in (0..self.base).rev() {
            let (closed, step) = self.eliminated(level, below)?;
            below = closed;
            steps.push(step);
        }
        // With no job inside there is one state.
        let mut pi = DVector::from_element(1, 1.0);
        let (mut mass, mut number) = (0.0, 0.0);
        for level in 0..self.base {
            mass += pi.sum();
            number += level as f64 * pi.sum();
            pi = steps.pop()?.tr_mul(&pi);
        }
        // Of all rounds above: sums of pi M^k and of k pi M^k, where M is one round.
        let whole = round.iter().skip(1).fold(round[0].clone(), |product, step| product * step);
        let rest = (DMatrix::identity(whole.nrows(), whole.nrows()) - &whole).transpose().lu();
        let mut all = rest.solve(&pi)?;
        // Where M does not shrink the sum has no end, and what solves the equations is negative.
        if !all.iter().all(|part| *part >= -1e-9 * all.amax()) {
            return None;
        }
        let mut rounds = rest.solve(&whole.tr_mul(&all))?;
        for (ahead, step) in round.iter().enumerate() {
            mass += all.sum();
            number += (self.base + ahead) as f64 * all.sum() + self.servers as f64 * rounds.sum();
            (all, rounds) = (step.tr_mul(&all), step.tr_mul(&rounds));
        }
        Some(number / mass / self.rate).filter(|mean| mean.is_finite() && *mean > 0.0)
    }

    /// High up: the rates inside the level `base` once all above it are eliminated, and the factors from each of the next levels
    /// to its next, for one round.
    fn settled(&self) -> Option<(DMatrix<f64>, Vec<DMatrix<f64>>)> {
        // To begin with as if no job came to the level of one round above, which has the same states.
        let top = self.base + self.servers;
        let down =
            DVector::from_iterator(self.states(top).len(), self.states(top).iter().map(|shape| -shape.rate_down(top)));
        let mut closed = DMatrix::from_diagonal(&down);
        for _ in 0..MOST_ROUNDS {
            let before = closed.clone();
            let mut round = Vec::with_capacity(self.servers);
            for ahead in (0..self.servers).rev() {
                let (below, step) = self.eliminated(self.base + ahead, closed)?;
                closed = below;
                round.push(step);
            }
            if (&closed - before).amax() < 1e-12 * closed.amax() {
                round.reverse();
                return Some((closed, round));
            }
        }
        None
    }
}

impl Shape {
    fn new(shape: &[u8], threshold: u8, beyond: Beyond, places: &HashMap<Vec<u8>, usize>) -> Shape {
        // One more in each queue, so that a job can leave any.
        let queues: Vec<u8> = shape.iter().map(|more| more + 1).collect();
        let place = |queues: &[u8]| {
            let least = queues.iter().min().copied().unwrap_or(0);
            places[&queues.iter().map(|of| of - least).collect::<Vec<u8>>()]
        };
        // Of equal queues the first grows and the last shrinks, so that they stay in falling order.
        let without_one = |count: u8| {
            let last = queues.iter().rposition(|of| *of == count).expect("there is such a queue");
            let mut less = queues.clone();
            less[last] -= 1;
            less
        };
        let of_equal = |count: u8| queues.iter().filter(|of| **of == count).count() as f64;
        let mut more = queues.clone();
        let first = queues.iter().position(|of| *of == 1).expect("the shortest has one");
        more[first] += 1;
        let mut counts: Vec<u8> = queues.iter().copied().filter(|count| *count > 1).collect();
        counts.dedup();
        let longer = counts.into_iter().map(|count| (place(&without_one(count)), of_equal(count))).collect();
        let shortest = match (queues[0] == threshold + 1, beyond) {
            (false, _) => Some((place(&without_one(1)), of_equal(1))),
            (true, Beyond::Jockeying) => Some((place(&without_one(queues[0])), of_equal(1))),
            (true, Beyond::Blocking) => None,
        };
        Shape { jobs: jobs(shape), arrival: place(&more), longer, shortest }
    }

    /// Rate of all departures, with so many jobs inside.
    fn rate_down(&self, level: usize) -> f64 {
        self.departures(level).map(|(_, rate)| rate).sum()
    }

    /// Places after a departure, and rates, with so many jobs inside.
    fn departures(&self, level: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.longer.iter().chain(self.shortest.iter().filter(move |_| self.jobs < level)).copied()
    }
}

fn jobs(shape: &[u8]) -> usize {
    shape.iter().map(|of| usize::from(*of)).sum()
}

/// Every vector of so many numbers in falling order, none above the threshold, of which the last is 0.
fn falling(servers: usize, threshold: u8) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::with_capacity(servers)];
    for _ in 1..servers {
        let longer = |begun: Vec<u8>| {
            let most = begun.last().copied().unwrap_or(threshold);
            (0..=most).map(move |next| [&begun[..], &[next]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all.iter_mut().for_each(|shape| shape.push(0));
    all
}
