//! The distribution functions with their 80, 90, 95 and 99 % lines, turned over so that the tail can be seen: the
//! share of requests that take longer, on a logarithmic axis.

use super::live::SERVERS;
use super::measured::{Live, Measured};
use super::replay::FCFS;
use super::series::{Cell, LAWS, NOISES, Series};
use crate::picture::{Series as Curve, curves};

/// A figure.
pub(super) struct Figure {
    pub(super) file: String,
    pub(super) title: String,
    pub(super) svg: String,
}

/// Points of a curve, and the share where it ends.
const POINTS: usize = 100;
const LEAST: f64 = 2e-3;
/// His two lines and two more.
const LINES: [f64; 4] = [0.2, 0.1, 0.05, 0.01];

/// One for each arrival process on Apache with PHP, and of Poisson arrivals on the node.
pub(super) fn all(live: &Live) -> Vec<Figure> {
    let php = LAWS.iter().chain(&NOISES).map(|arrivals| (1, *arrivals));
    std::iter::once((0, Series::Exponential)).chain(php).filter_map(|(server, of)| figure(live, server, of)).collect()
}

fn figure(live: &Live, server: usize, arrivals: Series) -> Option<Figure> {
    let mut series = Vec::new();
    let mut last_s: f64 = 0.0;
    for (colour, service) in LAWS.into_iter().enumerate() {
        let of: &Measured = live.cell(server, Cell { arrivals, service })?;
        let mut add = |name: String, published: bool, responses_s: &[f64]| {
            let points = tail(responses_s);
            last_s = last_s.max(points.last().map_or(0.0, |(x, _)| *x));
            series.push(Curve { name, published, colour, points });
        };
        add(format!("{}, measured", service.name()), false, &of.responses_s);
        add(format!("{}, FCFS", service.name()), true, &of.replays[FCFS].responses_s);
    }
    for beyond in LINES {
        let name = format!("{:.0} % answered", 100.0 * (1.0 - beyond));
        series.push(Curve { name, published: true, colour: 0, points: vec![(0.0, beyond), (last_s, beyond)] });
    }
    let title = format!("{}: {} gaps (figure 7.5)", SERVERS[server], arrivals.name());
    let svg = curves(&title, "milliseconds", "share that takes longer", &series);
    Some(Figure { file: format!("{}-{}", SERVERS[server], arrivals.key()), title, svg })
}

/// The share of requests that take longer than each time (ms), down to [`LEAST`], in even steps of its logarithm.
fn tail(responses_s: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = responses_s.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let least = LEAST.max(1.0 / sorted.len() as f64);
    let point = |step: usize| {
        let share = least.powf(step as f64 / (POINTS - 1) as f64);
        let at = ((1.0 - share) * sorted.len() as f64) as usize;
        (1e3 * sorted[at.min(sorted.len() - 1)], share)
    };
    (0..POINTS).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_falls_from_all_to_few() {
        let points = tail(&(1..=1000).map(f64::from).collect::<Vec<_>>());
        assert_eq!(points[0], (1e3, 1.0));
        assert!((points[POINTS - 1].1 - LEAST).abs() < 1e-12 && points[POINTS - 1].0 > 997e3);
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 > pair[1].1));
    }
}
