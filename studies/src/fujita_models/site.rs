//! The public site: Figures 4.2 to 4.4.

use super::{Both, LOGNORMAL, Runs, table, work};
use crate::finding::Finding;
use crate::number::{known, scaled, shown, slope};
use crate::picture::{Figure, Series, curves};
use crate::verdict::{Comparison, below, near, near_number};

const ARRIVALS: &str = "chain.requests.arrivals";
const LINE: &str = "station.access-line.rate";
/// Lines of Figure 4.2, each with its requests per second.
const LINES: [(&str, &[u32]); 3] = [
    ("768 kbit/s", &[1, 3, 5, 7, 9, 10]),
    ("1.5 Mbit/s", &[1, 3, 5, 7, 9, 10, 15, 20]),
    ("3 Mbit/s", &[1, 3, 5, 7, 9, 10, 15, 20, 30]),
];
/// Delays of Figure 4.3 (s), and the requests per second at which they are checked.
const DELAYS: [f64; 3] = [0.1, 0.2, 0.3];
const CHECKED: [u32; 5] = [1, 5, 10, 20, 30];
/// Lines and speeds of Figure 4.4.
const NARROW_AND_WIDE: [&str; 2] = ["768 kbit/s", "1.5 Mbit/s"];
const SPEEDS: [&str; 8] = ["0.15", "0.2", "0.3", "0.5", "1", "2", "4", "8"];
/// Delay of the backbone (s).
const BACKBONE_S: f64 = 0.195;

/// The rate (bit/s) at which a document takes `delay_s` on the line in the mean, at these requests per second:
/// M/G/1-PS, D = t/(1 - lambda t) with t = 8 L/C.
pub(super) fn required(requests_per_s: f64, delay_s: f64) -> f64 {
    8.0 * work(LOGNORMAL).sizes.mean() * (1.0 / delay_s + requests_per_s)
}

/// The simulated time on the line of that rate, for 10 requests per second and 100 ms.
pub(super) fn at_required(runs: &Runs) -> String {
    shown(checked(runs, 10, 0.1).sim, "s")
}

fn checked(runs: &Runs, requests_per_s: u32, delay_s: f64) -> Both {
    let rate = format!("{:.0} bit/s", required(f64::from(requests_per_s), delay_s));
    let arrivals = format!("exponential(rate = {requests_per_s} /s)");
    runs.both("5-required-rate", &[(ARRIVALS, &arrivals), (LINE, &rate)], "response_time_mean_access-line")
}

/// Time on a line.
fn line(runs: &Runs, rate: &str, requests_per_s: u32) -> Both {
    let arrivals = format!("exponential(rate = {requests_per_s} /s)");
    runs.both("4-access-line", &[(LINE, rate), (ARRIVALS, &arrivals)], "response_time_mean_access-line")
}

/// Response time of a station, or of all together (an empty name), with a web server of this speed.
fn with_speed(runs: &Runs, rate: &str, speed: &str, station: &str) -> Both {
    let metric = format!("response_time_mean{}{station}", if station.is_empty() { "" } else { "_" });
    runs.both("6-server-speed", &[(LINE, rate), ("station.web-server.speed", speed)], &metric)
}

pub(super) fn findings(runs: &Runs) -> Vec<Finding> {
    let delay = |rate: &str, requests: u32| line(runs, rate, requests).sim;
    let climbs = LINES.iter().flat_map(|(rate, loads)| {
        let rises = loads.windows(2).map(|pair| below(delay(rate, pair[0]), delay(rate, pair[1])));
        let per = |a: u32, b: u32| slope(delay(rate, a), delay(rate, b), f64::from(b - a));
        let (first, last) = (&loads[..2], &loads[loads.len() - 2..]);
        rises.chain([below(per(first[0], first[1]), per(last[0], last[1]))]).collect::<Vec<_>>()
    });
    // The reduction of the line's time by twice the rate.
    let gain = |rates: [&str; 2], requests: u32| slope(delay(rates[1], requests), delay(rates[0], requests), 1.0);
    let doubled = [(["768 kbit/s", "1.5 Mbit/s"], 3, 10), (["1.5 Mbit/s", "3 Mbit/s"], 5, 20)];
    let total = |rate: &str, speed: &str| with_speed(runs, rate, speed, "").sim;
    let both_lines = |of: &dyn Fn(&str) -> Vec<Comparison>| NARROW_AND_WIDE.iter().flat_map(|rate| of(rate)).collect();
    let totals = |speeds: &[&str]| {
        let of = |speed: &&str| shown(total("1.5 Mbit/s", speed), "s");
        format!("1.5 Mbit/s: {}", speeds.iter().map(of).collect::<Vec<_>>().join(", "))
    };
    vec![
        Finding {
            place: "4.1, Figure 4.2",
            claim: "The delay of the access line climbs steeply with the requests per second (always up, and more per \
                    request at the end than at the beginning)",
            comparisons: climbs.collect(),
            ours: format!(
                "768 kbit/s, 1 to 10 /s: {} to {}",
                shown(delay("768 kbit/s", 1), "s"),
                shown(delay("768 kbit/s", 10), "s")
            ),
            why: "a line shared by all takes t/(1 - lambda t).",
        },
        Finding {
            place: "4.1, Figure 4.3",
            claim: "10 requests per second within 100 ms need about 1.4 Mbit/s (within 5 % by formula, and at the \
                    formula's rate the line takes 100 ms within 5 %)",
            comparisons: vec![
                near_number(known(required(10.0, 0.1)), 1.4e6, 0.05),
                near_number(checked(runs, 10, 0.1).sim, 0.1, 0.05),
            ],
            ours: format!("{:.3} Mbit/s, {}", required(10.0, 0.1) / 1e6, at_required(runs)),
            why: "",
        },
        Finding {
            place: "4.1, Figure 4.3",
            claim: "A wider line improves the delay especially when requests are few (twice the rate takes off more at \
                    few requests per second than at many)",
            comparisons: doubled
                .iter()
                .map(|(rates, few, many)| below(gain(*rates, *many), gain(*rates, *few)))
                .collect(),
            ours: format!(
                "1.5 to 3 Mbit/s takes off {} at 5 /s, {} at 20 /s",
                shown(gain(["1.5 Mbit/s", "3 Mbit/s"], 5), "s"),
                shown(gain(["1.5 Mbit/s", "3 Mbit/s"], 20), "s")
            ),
            why: "with few requests only the transfer itself gets shorter, with many the others' transfers as well. In \
                  the formula the lines for 100 ms and for 300 ms differ by 8 L (1/0.1 - 1/0.3) bit/s at every number \
                  of requests; this is much of the rate where requests are few, and may be what he saw.",
        },
        Finding {
            place: "4.1, Figure 4.4",
            claim: "5 requests per second: a faster web server shortens the total delay (0.2, 0.3, 0.5 and 1 times \
                    his)",
            comparisons: both_lines(&|rate| {
                let speeds = &SPEEDS[1..5];
                speeds.windows(2).map(|pair| below(total(rate, pair[1]), total(rate, pair[0]))).collect()
            }),
            ours: totals(&SPEEDS[1..5]),
            why: "",
        },
        Finding {
            place: "4.1, Figure 4.4",
            claim: "Then the backbone dominates (more than half of the total from his speed on; from 4 to 8 times \
                    nothing changes within 5 %)",
            comparisons: both_lines(&|rate| {
                let dominated = SPEEDS[4..].iter().map(|speed| below(total(rate, speed), known(2.0 * BACKBONE_S)));
                dominated.chain([near(total(rate, "8"), total(rate, "4"), 1.0, 0.05)]).collect()
            }),
            ours: totals(&SPEEDS[4..]),
            why: "at 768 kbit/s the access line takes nearly as long as the backbone.",
        },
        Finding {
            place: "4.1, Figure 4.4",
            claim: "The speed of the web server is important with these parameters (twice his takes at least a tenth \
                    off the total)",
            comparisons: both_lines(&|rate| vec![below(total(rate, "2"), scaled(total(rate, "1"), 0.9))]),
            ours: totals(&SPEEDS[4..6]),
            why: "at 5 requests per second his server is idle for most of the time, and takes a small part of the total \
                  (see the table of Figure 4.4). It is important below his speed, where his axis may begin.",
        },
    ]
}

pub(super) fn text(runs: &Runs, plan: &str, picture: &dyn Fn(&str) -> String) -> String {
    let mut text = format!("{INTRODUCTION}{}Figure 4.3: {REQUIRED}", picture("line"));
    let head: Vec<String> =
        std::iter::once("requests".into()).chain(DELAYS.map(|delay| format!("for {:.0} ms", delay * 1e3))).collect();
    let row = |requests: &u32| {
        let cell = |delay: f64| {
            let rate = required(f64::from(*requests), delay) / 1e6;
            format!("{rate:.2} Mbit/s: {}", shown(checked(runs, *requests, delay).sim, "s"))
        };
        [vec![format!("{requests} /s")], DELAYS.map(cell).to_vec()].concat()
    };
    text += &table(&head, &CHECKED.iter().map(row).collect::<Vec<_>>());
    text += &format!(
        "\n`sojourn plan experiments/fujita-2000/plan/line.toml` goes the other way: of lines in steps of 100 kbit/s \
        the narrowest that takes less than 100 ms for 10 requests per second is that of {plan}.\n\n{}Figure 4.4, mean \
        times by the speed of the web server:\n\n",
        picture("required")
    );
    let head = ["speed", "web server", "768 kbit/s line", "all", "1.5 Mbit/s line", "all"].map(String::from);
    let row = |speed: &&str| {
        let of = |rate: &str, station: &str| with_speed(runs, rate, speed, station).shown("s");
        let [narrow, wide] = NARROW_AND_WIDE;
        vec![
            (*speed).to_owned(),
            of(wide, "web-server"),
            of(narrow, "access-line"),
            of(narrow, ""),
            of(wide, "access-line"),
            of(wide, ""),
        ]
    };
    text += &table(&head, &SPEEDS.iter().map(row).collect::<Vec<_>>());
    text + "\n" + &picture("speed")
}

pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let series = |name: String, published: bool, colour: usize, points: Vec<(f64, f64)>| Series {
        name,
        published,
        colour,
        points,
    };
    let lines = LINES.iter().enumerate().flat_map(|(colour, (rate, loads))| {
        let of = |value: &dyn Fn(Both) -> Option<f64>| -> Vec<(f64, f64)> {
            loads
                .iter()
                .filter_map(|requests| Some((f64::from(*requests), value(line(runs, rate, *requests))?)))
                .collect()
        };
        [
            series((*rate).to_owned(), false, colour, of(&|both| Some(both.sim?.value))),
            series(format!("{rate}, formula"), true, colour, of(&|both| both.theory)),
        ]
    });
    let lines: Vec<Series> = lines.collect();
    let rates = DELAYS.iter().enumerate().map(|(colour, delay)| {
        let points = (1..=30).map(|requests| (f64::from(requests), required(f64::from(requests), *delay) / 1e6));
        series(format!("{:.0} ms, formula", delay * 1e3), true, colour, points.collect())
    });
    let rates: Vec<Series> = rates.collect();
    let parts = [("total", ""), ("access line", "access-line"), ("web server", "web-server")];
    let speeds = NARROW_AND_WIDE.iter().enumerate().flat_map(|(index, rate)| {
        parts.iter().enumerate().map(move |(part, (name, station))| {
            let point = |speed: &&str| {
                let x: f64 = speed.parse().expect("a number of the experiment's file");
                Some((x, with_speed(runs, rate, speed, station).sim?.value))
            };
            let points = SPEEDS[2..].iter().filter_map(point).collect();
            series(format!("{name}, {rate}"), false, parts.len() * index + part, points)
        })
    });
    let speeds: Vec<Series> = speeds.collect();
    let figure = |file, title, axes: [&str; 2], series: &[Series]| Figure {
        file,
        title,
        svg: curves(title, axes[0], axes[1], series),
    };
    vec![
        figure("line", "Delay of the access line (Figure 4.2)", ["requests per second", "seconds"], &lines),
        figure("required", "Rate that a delay needs (Figure 4.3)", ["requests per second", "Mbit/s"], &rates),
        figure("speed", "Delays by the speed of the web server (Figure 4.4)", ["speed (1: his)", "seconds"], &speeds),
    ]
}

const INTRODUCTION: &str = "\
Requests from everywhere go over a backbone (195 ms in the mean, Erlang), the site's access line (shared by all
replies) and the web server with 16 helpers. He takes no delay for the way of TCP over the line, and neither does
this. Figure 4.2:

";

const REQUIRED: &str = "\
his line is M/G/1-PS, so the rate follows from the delay. The rate by the formula, and what the line of that rate is
simulated to take:

";
