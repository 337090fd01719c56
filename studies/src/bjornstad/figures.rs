//! Figures 7.1, 7.5 and 7.7. The distribution functions of 7.5 are turned over so that the tail can be seen: the share of
//! requests that take longer, on a logarithmic axis, with the lines of 80, 90, 95 and 99 %.

use super::calibrated;
use super::live::SERVERS;
use super::live::measured::Live;
use super::live::rows::TailRow;
use super::published::Published;
use super::series::{LAWS, NOISES, Series, TARGETS};
use super::simulated::Simulated;
use super::simulated::memory::HURST;
use crate::picture::{Series as Curve, curves, over_time};

/// A figure.
pub(super) struct Figure {
    pub(super) file: String,
    pub(super) title: String,
    pub(super) svg: String,
}

/// Figure 7.1: response time against work, his and ours.
pub(super) fn work(published: &Published, live: &Live) -> Figure {
    let curve = |(colour, (name, points)): (usize, (String, Vec<(f64, f64)>))| Curve {
        published: colour == 0,
        name,
        colour,
        points,
    };
    let series: Vec<Curve> = calibrated::curves(published, live).into_iter().enumerate().map(curve).collect();
    let title = "Response time against work, without queueing (figure 7.1)";
    let svg =
        over_time(title, "work, % of the largest level", "mean response time over the line's at the end", &series);
    Figure { file: "figure-7.1".into(), title: title.into(), svg }
}

/// Figure 7.7: averages of self-similar gaps.
pub(super) fn averages(simulated: &Simulated) -> Figure {
    let curve = |(colour, points): (usize, &Vec<f64>)| Curve {
        name: format!("H = {}", HURST[colour]),
        published: false,
        colour,
        points: points.iter().enumerate().map(|(block, average)| (block as f64, *average)).collect(),
    };
    let series: Vec<Curve> = simulated.points.iter().enumerate().map(curve).collect();
    let title = "Averages of 1000 self-similar gaps (figure 7.7)";
    let svg = over_time(title, "block", "mean gap of the block over the mean of all", &series);
    Figure { file: "figure-7.7".into(), title: title.into(), svg }
}

/// Figure 7.5: one for each arrival process on Apache with PHP, and of Poisson arrivals on the node.
pub(super) fn tails(live: &Live) -> Vec<Figure> {
    let php = LAWS.iter().chain(&NOISES).map(|arrivals| (1, *arrivals));
    std::iter::once((0, Series::Exponential)).chain(php).filter_map(|(server, of)| figure(live, server, of)).collect()
}

fn figure(live: &Live, server: usize, arrivals: Series) -> Option<Figure> {
    let mut series = Vec::new();
    let mut last_ms: f64 = 0.0;
    for (colour, service) in LAWS.into_iter().enumerate() {
        for (measured, name) in [(true, "measured"), (false, "FCFS")] {
            let is_it = |row: &&TailRow| {
                let cell = (row.server.as_str(), row.gaps.as_str(), row.service.as_str());
                cell == (SERVERS[server], &arrivals.key(), &service.key()) && row.measured == measured
            };
            let of_curve = live.tails.iter().filter(is_it);
            let points: Vec<(f64, f64)> = of_curve.map(|row| (1e3 * row.time_s, row.share)).collect();
            last_ms = last_ms.max(points.last()?.0);
            series.push(Curve { name: format!("{}, {name}", service.name()), published: !measured, colour, points });
        }
    }
    for (_, share) in TARGETS {
        let name = format!("{:.0} % answered", 100.0 * share);
        let points = vec![(0.0, 1.0 - share), (last_ms, 1.0 - share)];
        series.push(Curve { name, published: true, colour: 0, points });
    }
    let title = format!("{}: {} gaps (figure 7.5)", SERVERS[server], arrivals.name());
    let svg = curves(&title, "milliseconds", "share that takes longer", &series);
    Some(Figure { file: format!("{}-{}", SERVERS[server], arrivals.key()), title, svg })
}
