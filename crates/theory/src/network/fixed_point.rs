//! Stations outside product form: each is taken to be a delay, as long as the station alone would take under Poisson
//! arrivals at the throughput that the network has with that delay.
//!
//! This is Fujita's method for a web server with limited processor sharing inside a closed network (Performance
//! modeling and evaluation of Web server systems with proxy caching, 2000, section 4.3). He repeats: throughput, delay,
//! network, throughput. Near saturation that swings without end, so that the same fixed point is found here by
//! bracketing: the throughput that comes out falls as the load that is put in rises. Several such stations, or several
//! chains whose mix is not known beforehand, are gone through in turn until nothing moves.
//!
//! The error: users of a closed network do not arrive as a Poisson process, and never more of them than there are, so
//! that the throughput comes out low. He found good agreement while another station is the bottleneck, less where it is
//! this one. Against the exact chain of a server with 4 helpers, work of C2 = 4 and 10 to 80 users, it is low by at
//! most 0.3, 3, 10 and 18 % where users who never wait would ask 0.3, 0.6, 0.9 and 1.5 of the server.

use sojourn_model::Discipline;
use sojourn_model::network::{Kind, Network};
use sojourn_stats::root;

use super::demands::{Demands, Steady};
use super::visits::{VisitTime, Visits};
use crate::answer::Unanswered;
use crate::formula::markovian::mmc;

/// Loads are found to this, and rounds end when nothing moves by more.
const TOLERANCE: f64 = 1e-11;
/// Rounds over all stations; a single station needs two or three.
const ROUNDS: usize = 500;

/// What was found.
pub(super) struct Found {
    pub(super) steady: Steady,
    /// Jobs per second of every chain, open ones included.
    pub(super) throughput: Vec<f64>,
    /// How long a visit takes where there is a delay in place of the station.
    pub(super) taken_as: Vec<Option<VisitTime>>,
}

/// Solves `network` by `product_form`, a solver of that, with a delay in place of each of `outside`.
pub(super) fn solve(
    network: &Network,
    visits: &Visits,
    outside: &[usize],
    product_form: &dyn Fn(&Demands) -> Result<Steady, Unanswered>,
) -> Result<Found, Unanswered> {
    let mut taken_as = vec![None; network.stations.len()];
    for &station in outside {
        // As if no other job were there: his first step.
        taken_as[station] = Some(VisitTime { wait_s: 0.0, per_work: 1.0 / network.stations[station].speed });
    }
    let solved = |taken_as: &[Option<VisitTime>]| -> Result<(Steady, Vec<f64>), Unanswered> {
        let steady = product_form(&visits.demands(network, taken_as))?;
        let mut closed = steady.throughput.iter();
        let rate = |chain: &sojourn_model::network::Chain| {
            chain.arrival_rate().unwrap_or_else(|| *closed.next().expect("a throughput per closed chain"))
        };
        let rates = network.chains.iter().map(rate).collect();
        Ok((steady, rates))
    };
    let (mut steady, mut rates) = solved(&taken_as)?;
    for _ in 0..ROUNDS {
        let before = rates.clone();
        for &station in outside {
            let alone = Alone::of(network, visits, station, &rates)?;
            let open = alone.open_load;
            let load = match alone.has_closed {
                false => open,
                true => {
                    let excess = |load: f64| -> Result<f64, Unanswered> {
                        let mut taken_as = taken_as.clone();
                        taken_as[station] = Some(alone.visit(load));
                        let (_, rates) = solved(&taken_as)?;
                        Ok(alone.load(visits, station, &rates) - load)
                    };
                    root::try_find(open, 1.0 - 1e-9, TOLERANCE, excess)?.unwrap_or(open)
                }
            };
            taken_as[station] = Some(alone.visit(load));
            (steady, rates) = solved(&taken_as)?;
        }
        let moved = before.iter().zip(&rates).map(|(before, now)| (now / before - 1.0).abs()).fold(0.0, f64::max);
        if moved < 10.0 * TOLERANCE {
            return Ok(Found { steady, throughput: rates, taken_as });
        }
    }
    Err(Unanswered("the fixed point of throughput and delay was not found: sim answers this".into()))
}

/// A station alone, with the mix of work that comes to it.
struct Alone {
    cores: u32,
    /// Jobs served at once at most.
    places: u32,
    speed: f64,
    service_mean_s: f64,
    scv: f64,
    /// The part of what it can do that open chains ask for.
    open_load: f64,
    has_closed: bool,
}

impl Alone {
    fn of(network: &Network, visits: &Visits, station: usize, rates: &[f64]) -> Result<Alone, Unanswered> {
        let node = &network.stations[station];
        let Kind::Queue { discipline, cores, .. } = &node.kind else { unreachable!("a delay has product form") };
        let (cores, places) = match discipline {
            Discipline::Fcfs => (*cores, *cores),
            Discipline::LimitedPs { helpers } => ((*cores).min(*helpers), *helpers),
            other => {
                let why = format!("station `{}`: no formula for {} inside a network", node.name, other.name());
                return Err(Unanswered(format!("{why}: sim answers this")));
            }
        };
        let sum = |table: &[Vec<f64>]| -> f64 { table.iter().zip(rates).map(|(row, rate)| row[station] * rate).sum() };
        let (arrivals, work, squares) = (sum(&visits.count), sum(&visits.work_s), sum(&visits.squares_s2));
        if !squares.is_finite() {
            return Err(Unanswered(format!(
                "station `{}`: the work there has no variance, and without one no mean wait; bound it, or ask sim",
                node.name
            )));
        }
        // Without arrivals there is no work either.
        let mean = if arrivals > 0.0 { work / arrivals } else { 0.0 };
        let mut open_load = 0.0;
        let mut has_closed = false;
        for (chain, work_s) in network.chains.iter().zip(&visits.work_s) {
            match chain.arrival_rate() {
                Some(rate) => open_load += rate * work_s[station] / (f64::from(cores) * node.speed),
                None => has_closed |= work_s[station] > 0.0,
            }
        }
        let scv = if mean > 0.0 { (squares / arrivals / (mean * mean) - 1.0).max(0.0) } else { 0.0 };
        let service_mean_s = mean / node.speed;
        Ok(Alone { cores, places, speed: node.speed, service_mean_s, scv, open_load, has_closed })
    }

    /// The part of what it can do that all chains ask for at these rates.
    fn load(&self, visits: &Visits, station: usize, rates: &[f64]) -> f64 {
        let work: f64 = visits.work_s.iter().zip(rates).map(|(row, rate)| row[station] * rate).sum();
        work / (f64::from(self.cores) * self.speed)
    }

    /// How long a visit takes at this load: E\[R|S=x\] of M/G/1 under limited PS (his equation 2.1, without the time to
    /// dispatch), W = rho^r/(1-rho) E\[S^2\]/(2 E\[S\]) and (1-rho^r)/(1-rho) x; with c cores the same from the wait of
    /// M/G/c under FCFS (Lee and Longton 1959) and rho^(r-c+1) in place of rho^r, as
    /// [`lps::sharing_response_time_mean`].
    fn visit(&self, load: f64) -> VisitTime {
        if self.service_mean_s == 0.0 {
            return VisitTime { wait_s: 0.0, per_work: 1.0 / self.speed };
        }
        let rate = load * f64::from(self.cores) / self.service_mean_s;
        let residual = (1.0 + self.scv) / 2.0;
        let fcfs_s = residual * mmc::waiting_time_mean(self.cores, rate, self.service_mean_s);
        let crowded = load.powf(f64::from(self.places - self.cores));
        let stretch = 1.0 + (1.0 - crowded) * fcfs_s / (residual * self.service_mean_s);
        VisitTime { wait_s: crowded * fcfs_s, per_work: stretch / self.speed }
    }
}
