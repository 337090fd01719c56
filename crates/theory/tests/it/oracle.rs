//! An oracle that shares nothing with the formulas: the Markov chain of E_m/H2/c-LPS(K), solved level by level.
//!
//! A state is (n jobs, phase of the next arrival, jobs of the first branch among those in service). Levels are
//! eliminated from a cut far above, where arrivals are lost; the mass at the cut is asserted to be negligible.

type Matrix = Vec<Vec<f64>>;

/// E_m/H2/c-LPS(K) with mean service 1.
pub(crate) struct Chain {
    /// Phases of an Erlang gap (1: Poisson).
    pub(crate) arrival_phases: usize,
    pub(crate) arrival_rate: f64,
    /// Probability and rate of the two branches of the service.
    pub(crate) branches: [(f64, f64); 2],
    pub(crate) cores: usize,
    /// Jobs in service at most, K.
    pub(crate) places: usize,
    /// Jobs at which the chain is cut.
    pub(crate) cut: usize,
}

pub(crate) struct Steady {
    pub(crate) response_time_mean: f64,
    pub(crate) waiting_time_mean: f64,
    /// The part of the time in which all places are taken; for Poisson arrivals, P(wait).
    pub(crate) full: f64,
}

enum Step {
    Down,
    Stay,
    Up,
}

impl Chain {
    fn in_service(&self, level: usize) -> usize {
        level.min(self.places)
    }

    fn states(&self, level: usize) -> usize {
        self.arrival_phases * (self.in_service(level) + 1)
    }

    /// The rates out of `level` by `step`, as a matrix; `Stay` has the negative totals on its diagonal.
    fn rates(&self, level: usize, step: &Step) -> Matrix {
        let to = match step {
            Step::Down => level - 1,
            Step::Stay => level,
            Step::Up => level + 1,
        };
        let mut rates = vec![vec![0.0; self.states(to)]; self.states(level)];
        let served = self.in_service(level);
        let share = if served == 0 { 0.0 } else { (self.cores as f64 / served as f64).min(1.0) };
        let [(p, rate1), (q, rate2)] = self.branches;
        let phase_rate = self.arrival_rate * self.arrival_phases as f64;
        let index = |level: usize, phase: usize, first: usize| phase * (self.in_service(level) + 1) + first;
        for phase in 0..self.arrival_phases {
            for first in 0..=served {
                let from = index(level, phase, first);
                let departures = [first as f64 * rate1 * share, (served - first) as f64 * rate2 * share];
                let last_phase = phase + 1 == self.arrival_phases;
                match step {
                    Step::Stay => {
                        rates[from][from] -= phase_rate + departures[0] + departures[1];
                        if !last_phase {
                            rates[from][index(level, phase + 1, first)] += phase_rate;
                        } else if level == self.cut {
                            rates[from][index(level, 0, first)] += phase_rate;
                        }
                    }
                    Step::Up if last_phase && level < self.places => {
                        rates[from][index(to, 0, first + 1)] += phase_rate * p;
                        rates[from][index(to, 0, first)] += phase_rate * q;
                    }
                    Step::Up if last_phase => rates[from][index(to, 0, first)] += phase_rate,
                    Step::Up => {}
                    Step::Down => {
                        for (branch, rate) in departures.into_iter().enumerate() {
                            if rate == 0.0 {
                                continue;
                            }
                            let left = first - usize::from(branch == 0);
                            if level > self.places {
                                rates[from][index(to, phase, left + 1)] += rate * p;
                                rates[from][index(to, phase, left)] += rate * q;
                            } else {
                                rates[from][index(to, phase, left)] += rate;
                            }
                        }
                    }
                }
            }
        }
        rates
    }

    pub(crate) fn solve(&self) -> Steady {
        // pi(n+1) = pi(n) R(n+1), R(n+1) = Up(n) (-(Stay(n+1) + R(n+2) Down(n+2)))^-1.
        let mut steps: Vec<Matrix> = Vec::new();
        let mut closed = self.rates(self.cut, &Step::Stay);
        for level in (0..self.cut).rev() {
            let step = right_divide_negative(&self.rates(level, &Step::Up), &closed);
            closed = plus(&self.rates(level, &Step::Stay), &product(&step, &self.rates(level + 1, &Step::Down)));
            steps.push(step);
        }
        let mut pi = stationary(&closed);
        let [mut total, mut number, mut waiting, mut full] = [0.0; 4];
        for level in 0..=self.cut {
            let mass: f64 = pi.iter().sum();
            total += mass;
            number += mass * level as f64;
            waiting += mass * level.saturating_sub(self.places) as f64;
            full += if level >= self.places { mass } else { 0.0 };
            if let Some(step) = steps.pop() {
                pi = product(&vec![pi], &step).remove(0);
            } else {
                assert!(mass < 1e-12 * total, "the cut is too low: {mass}");
            }
        }
        Steady {
            response_time_mean: number / total / self.arrival_rate,
            waiting_time_mean: waiting / total / self.arrival_rate,
            full: full / total,
        }
    }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut result = vec![vec![0.0; b[0].len()]; a.len()];
    for (row, out) in a.iter().zip(&mut result) {
        for (&factor, other) in row.iter().zip(b).filter(|(factor, _)| **factor != 0.0) {
            out.iter_mut().zip(other).for_each(|(out, x)| *out += factor * x);
        }
    }
    result
}

fn plus(a: &Matrix, b: &Matrix) -> Matrix {
    let add = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
    a.iter().zip(b).map(add).collect()
}

/// X with X (-m) = a, by elimination on the transposed system.
fn right_divide_negative(a: &Matrix, m: &Matrix) -> Matrix {
    let (n, rows) = (m.len(), a.len());
    let mut work: Matrix =
        (0..n).map(|i| (0..n).map(|j| -m[j][i]).chain((0..rows).map(|r| a[r][i])).collect()).collect();
    for column in 0..n {
        let larger = |&x: &usize, &y: &usize| work[x][column].abs().total_cmp(&work[y][column].abs());
        let pivot = (column..n).max_by(larger).unwrap();
        work.swap(column, pivot);
        let top = work[column].clone();
        for (i, row) in work.iter_mut().enumerate() {
            let factor = row[column] / top[column];
            if i != column && factor != 0.0 {
                row[column..].iter_mut().zip(&top[column..]).for_each(|(x, t)| *x -= factor * t);
            }
        }
    }
    (0..rows).map(|r| (0..n).map(|i| work[i][n + r] / work[i][i]).collect()).collect()
}

/// The solution of x q = 0 with x of any size: the last balance equation replaced by sum(x) = 1.
fn stationary(q: &Matrix) -> Vec<f64> {
    let n = q.len();
    let mut m: Matrix = q.iter().map(|row| row.iter().map(|x| -x).collect()).collect();
    m.iter_mut().for_each(|row| row[n - 1] = -1.0);
    let mut right = vec![0.0; n];
    right[n - 1] = 1.0;
    right_divide_negative(&vec![right], &m).remove(0)
}
