//! Table 7.4 by simulation: the FCFS replay of generated files, a thousand times as long as his and ten thousand times
//! longer.
//!
//! It is Lindley's recursion in floating point, in stretches, so that gaps and demands are drawn once for several
//! cells; a test checks it against `sojourn_sim::single`. That costs a few lines beside the simulator's own recursion,
//! and makes 25 cells of 10^9 jobs a matter of minutes.

use rayon::prelude::*;
use sojourn_stats::Stream;

use crate::bjornstad::series::{Cell, LAWS, REQUESTS, SERVICE_S, UTILIZATION, standard};

/// Repetitions of his 10^5 requests.
pub(in crate::bjornstad) const SETS: usize = 1000;
/// Parts of the long run; their means show its convergence.
pub(in crate::bjornstad) const PARTS: usize = 10;
/// Jobs that are drawn at a time.
const STRETCH: usize = 1024;

/// The state of a queue between two stretches.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    wait_s: f64,
    demand_s: f64,
    jobs: u64,
    sum: f64,
    squares: f64,
}

impl Queue {
    /// The next waiting time is the last one plus its demand less the gap, if that is above 0 (Lindley 1952).
    #[inline]
    fn serve(&mut self, gaps: &[f64], demands: &[f64]) {
        let (mut wait, mut before) = (self.wait_s, self.demand_s);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (gap, demand) in gaps.iter().zip(demands) {
            wait = (wait + before - gap).max(0.0);
            before = *demand;
            let response = wait + demand;
            sum += response;
            squares += response * response;
        }
        *self = Queue {
            wait_s: wait,
            demand_s: before,
            jobs: self.jobs + gaps.len() as u64,
            sum: self.sum + sum,
            squares: self.squares + squares,
        };
    }

    fn mean_s(&self) -> f64 {
        self.sum / self.jobs as f64
    }

    fn std_s(&self) -> f64 {
        let n = self.jobs as f64;
        ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0).sqrt()
    }
}

/// The two random streams that all cells share.
struct Source {
    gaps: Stream,
    demands: Stream,
    standard: Vec<f64>,
}

impl Source {
    fn new(seed: u64) -> Source {
        let stream = |purpose| Stream::new(seed, "bjornstad", purpose);
        Source { gaps: stream("gaps"), demands: stream("demands"), standard: Vec::new() }
    }

    /// The next `n` gaps under each of `arrivals` and the next demands under each law (s).
    fn stretch(&mut self, n: usize, arrivals: &[usize], gaps: &mut [Vec<f64>], demands: &mut [Vec<f64>; 5]) {
        fill(&mut self.gaps, &mut self.standard, n);
        for (gaps, law) in gaps.iter_mut().zip(arrivals) {
            gaps.clear();
            gaps.extend(self.standard.iter().map(|e| SERVICE_S / UTILIZATION * LAWS[*law].value(*e)));
        }
        fill(&mut self.demands, &mut self.standard, n);
        for (demands, law) in demands.iter_mut().zip(LAWS) {
            demands.clear();
            demands.extend(self.standard.iter().map(|e| SERVICE_S * law.value(*e)));
        }
    }
}

fn fill(stream: &mut Stream, standards: &mut Vec<f64>, n: usize) {
    standards.clear();
    standards.extend((0..n).map(|_| standard(stream)));
}

/// Mean and standard deviation of the response times (s) of 10^5 requests in each of the 25 cells.
fn set(seed: u64) -> Vec<(f64, f64)> {
    let mut queues = [Queue::default(); 25];
    play(&mut Source::new(seed), &[0, 1, 2, 3, 4], REQUESTS as u64, &mut queues, |_, _| {});
    queues.iter().map(|queue| (queue.mean_s(), queue.std_s())).collect()
}

/// Plays `jobs` through five queues for each of `arrivals`; `pause` sees them after every stretch.
fn play(
    source: &mut Source,
    arrivals: &[usize],
    jobs: u64,
    queues: &mut [Queue],
    mut pause: impl FnMut(u64, &[Queue]),
) {
    let mut gaps = vec![Vec::new(); arrivals.len()];
    let mut demands: [Vec<f64>; 5] = Default::default();
    let mut done = 0;
    while done < jobs {
        // Powers of ten are ends of a stretch, because the queues are read there.
        let next = if done < 1000 { 1000 } else { 10u64.pow(done.ilog10() + 1) };
        let n = (STRETCH as u64).min(jobs - done).min(next - done);
        source.stretch(n as usize, arrivals, &mut gaps, &mut demands);
        for (place, queue) in queues.iter_mut().enumerate() {
            queue.serve(&gaps[place / 5], &demands[place % 5]);
        }
        done += n;
        pause(done, queues);
    }
}

fn is_power_of_ten(number: u64) -> bool {
    number > 0 && 10u64.pow(number.ilog10()) == number
}

/// [`SETS`] sets of the 25 cells: mean and standard deviation (s) of each, set by set.
pub(super) fn sets() -> Vec<Vec<(f64, f64)>> {
    (0..SETS as u64).into_par_iter().map(|number| set(1 + number)).collect()
}

/// A cell in the long run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bjornstad) struct Long {
    pub(in crate::bjornstad) cell: Cell,
    /// The mean response time (s) of the first n jobs, for growing n.
    pub(in crate::bjornstad) growth: Vec<(u64, f64)>,
    /// The same of each of the equal parts of the run.
    pub(in crate::bjornstad) parts_s: Vec<f64>,
}

/// One path of `jobs` jobs, a multiple of [`PARTS`], through each of the 25 cells.
pub(in crate::bjornstad) fn long(jobs: u64) -> Vec<Long> {
    let of_arrivals = |arrivals: usize| {
        let mut queues = [Queue::default(); 5];
        let mut before = queues;
        let cells = LAWS.map(|service| Cell { arrivals: LAWS[arrivals], service });
        let mut cells = cells.map(|cell| Long { cell, growth: Vec::new(), parts_s: Vec::new() });
        let mut source = Source::new(0);
        // A part is played on its own, so that its end is the end of a stretch.
        let mut played = 0;
        for _ in 0..PARTS {
            play(&mut source, &[arrivals], jobs / PARTS as u64, &mut queues, |_, queues| {
                let done = queues[0].jobs;
                if done >= 1000 && is_power_of_ten(done) {
                    cells.iter_mut().zip(queues).for_each(|(cell, queue)| cell.growth.push((done, queue.mean_s())));
                }
            });
            played += jobs / PARTS as u64;
            assert_eq!(queues[0].jobs, played, "a part ends where it should");
            for ((cell, queue), old) in cells.iter_mut().zip(&queues).zip(&before) {
                cell.parts_s.push((queue.sum - old.sum) / (queue.jobs - old.jobs) as f64);
            }
            before = queues;
        }
        for (cell, queue) in cells.iter_mut().zip(&queues) {
            if cell.growth.last().is_none_or(|(done, _)| *done != queue.jobs) {
                cell.growth.push((queue.jobs, queue.mean_s()));
            }
        }
        cells
    };
    (0..5).into_par_iter().flat_map_iter(of_arrivals).collect()
}

#[cfg(test)]
mod tests {
    use super::super::replay::{self, Kind};
    use super::*;

    #[test]
    fn a_set_is_what_the_simulator_says_of_the_same_draws() {
        let ours = set(5);
        for (cell, (mean_s, std_s)) in Cell::renewal().into_iter().zip(ours) {
            let (gaps, demands) = cell.draw(REQUESTS, SERVICE_S / UTILIZATION, SERVICE_S, 5);
            let (wanted_s, wanted_std_s) = replay::moments(Kind::Fcfs, SERVICE_S, &gaps, &demands);
            // Nanoseconds there, floating point here.
            assert!((mean_s / wanted_s - 1.0).abs() < 1e-6, "{}: {mean_s} {wanted_s}", cell.key());
            assert!((std_s / wanted_std_s - 1.0).abs() < 1e-6, "{}: {std_s} {wanted_std_s}", cell.key());
        }
    }

    #[test]
    fn parts_make_the_whole() {
        for cell in long(20_000) {
            let powers: Vec<u64> = cell.growth.iter().map(|(jobs, _)| *jobs).collect();
            assert_eq!(powers, [1000, 10_000, 20_000]);
            let whole_s = cell.parts_s.iter().sum::<f64>() / PARTS as f64;
            assert!((whole_s / cell.growth[2].1 - 1.0).abs() < 1e-9, "{cell:?}");
        }
    }

    #[test]
    fn poisson_gaps_settle_where_pollaczek_says() {
        // Exponential service at 0.95: 1.8 s. Of 10^6 jobs the mean has a standard error of some 4 %: five of them.
        let found = long(1_000_000);
        let markov = &found.iter().find(|of| of.cell == Cell::renewal()[0]).unwrap().growth;
        assert!((markov.last().unwrap().1 / 1.8 - 1.0).abs() < 0.2, "{markov:?}");
    }
}
