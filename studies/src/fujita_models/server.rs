//! The web server alone: equations 2.1 and 2.2, Figures 2.18 to 2.21.

use super::{Both, EXPONENTIAL, LOGNORMAL, Runs, percent, table, widest, work};
use crate::finding::Finding;
use crate::number::{Number, known, quotient, shown, slope};
use crate::picture::{Figure, Series, curves};
use crate::verdict::{below, near_number};

/// The last is almost no limit.
const HELPERS: [&str; 4] = ["1", "4", "16", "64"];
/// His loads, and the requests per second that give them.
const LOADS: [(&str, &str); 5] = [
    ("0.2", "exponential(rate = 7.7897 /s)"),
    ("0.4", "exponential(rate = 15.5795 /s)"),
    ("0.6", "exponential(rate = 23.3693 /s)"),
    ("0.8", "exponential(rate = 31.159 /s)"),
    ("0.9", "exponential(rate = 35.0539 /s)"),
];
/// The index of the load of 0.8.
const BUSY: usize = 3;
/// Upper ends of the classes of sizes (kB); ten times these with documents ten times as large.
const LIMITS: [f64; 5] = [1.0, 3.0, 10.0, 30.0, 100.0];

/// The law of the document sizes.
#[derive(Clone, Copy, PartialEq)]
enum Sizes {
    His,
    TenTimes,
    Exponential,
}

/// The mean response time with this number of helpers, of all documents or of class `class` (from 0). `load` is an
/// index into [`LOADS`]; only his own sizes have loads other than 0.8.
fn time(runs: &Runs, sizes: Sizes, helpers: &str, load: usize, class: Option<usize>) -> Both {
    let (run, load) = match sizes {
        Sizes::His => ("1-helpers", Some(("chain.documents.arrivals", LOADS[load].1))),
        Sizes::TenTimes => ("2-larger-documents", None),
        Sizes::Exponential => ("3-exponential-sizes", None),
    };
    let wanted: Vec<_> = [("station.web-server.helpers", helpers)].into_iter().chain(load).collect();
    match class {
        None => runs.both(run, &wanted, "response_time_mean"),
        Some(class) => runs.both(run, &wanted, &format!("response_time_mean_documents_size_{}", class + 1)),
    }
}

pub(super) fn findings(runs: &Runs) -> Vec<Finding> {
    let his = |helpers: &str, load: usize, class: usize| time(runs, Sizes::His, helpers, load, Some(class)).sim;
    let large = |helpers: &str, class: usize| time(runs, Sizes::TenTimes, helpers, BUSY, Some(class)).sim;
    let mean = |sizes: Sizes, helpers: &str| time(runs, sizes, helpers, BUSY, None).sim;
    let row = |of: &dyn Fn(&str) -> Option<Number>| {
        HELPERS[..3].iter().map(|helpers| shown(of(helpers), "s")).collect::<Vec<_>>().join(", ")
    };
    let by_formula = between_the_exact(runs);
    // The ratio of the time at the busiest load to that at the lightest.
    let growth = |class: usize| quotient(his("4", 4, class), his("4", 0, class));
    let gap = |helpers: &str| slope(mean(Sizes::Exponential, helpers), mean(Sizes::His, helpers), 1.0);
    let steps = [("1", "4"), ("4", "16")];
    vec![
        Finding {
            place: "2.3.2, text",
            claim: "Equation 2.1 is accurate for 1 < r < infinity (r of 4 and 16, every load and class of sizes within \
                    5 %)",
            comparisons: by_formula.iter().map(|both| both.agrees(0.05)).collect(),
            ours: format!("furthest off: {}", percent(widest(&by_formula))),
            why: "the formula takes one part of the wait for all sizes and shares the rest in proportion to the work: \
                  near, but no theorem. How the error goes with the load is in the table below.",
        },
        Finding {
            place: "2.3.2, Figure 2.18",
            claim: "4 helpers: small documents (up to 1 kB) become dramatically slower as the load grows (at each \
                    step, and at least twice in all), more so than large ones",
            comparisons: (0..4)
                .map(|load| below(his("4", load, 0), his("4", load + 1, 0)))
                .chain([below(known(2.0), growth(0)), below(growth(5), growth(0))])
                .collect(),
            ours: format!(
                "{} at 0.2, {} at 0.9; over 100 kB {} and {}",
                shown(his("4", 0, 0), "s"),
                shown(his("4", 4, 0), "s"),
                shown(his("4", 0, 5), "s"),
                shown(his("4", 4, 5), "s")
            ),
            why: "a small document waits as long as a large one for its helper.",
        },
        Finding {
            place: "2.3.2, Figure 2.19",
            claim: "Load 0.8: the more helpers, the slower, for small documents as for large ones (1, 4, 16)",
            comparisons: (0..=LIMITS.len())
                .flat_map(|class| steps.map(|(few, more)| below(his(few, BUSY, class), his(more, BUSY, class))))
                .collect(),
            ours: format!("up to 1 kB: {}", row(&|helpers| his(helpers, BUSY, 0))),
            why: "between 4 and 16 helpers little is left to lose.",
        },
        Finding {
            place: "2.3.2, Figure 2.20",
            claim: "Documents ten times as large: more helpers make small ones (up to 30 kB) faster and large ones \
                    (over 300 kB) slower",
            comparisons: steps
                .iter()
                .flat_map(|(few, more)| {
                    let small = (0..2).map(|class| below(large(more, class), large(few, class)));
                    small.chain((4..6).map(|class| below(large(few, class), large(more, class)))).collect::<Vec<_>>()
                })
                .collect(),
            ours: format!(
                "up to 10 kB: {}; over 1 MB: {}",
                row(&|helpers| large(helpers, 0)),
                row(&|helpers| large(helpers, 5))
            ),
            why: "sharing helps what is shorter than E[S^2]/(2 E[S]).",
        },
        Finding {
            place: "2.3.2, Figure 2.21",
            claim: "Log-normal sizes are slower than exponential ones of the same mean (1 and 4 helpers)",
            comparisons: ["1", "4"]
                .map(|helpers| below(mean(Sizes::Exponential, helpers), mean(Sizes::His, helpers)))
                .to_vec(),
            ours: format!(
                "log-normal {}, exponential {}",
                row(&|helpers| mean(Sizes::His, helpers)),
                row(&|helpers| mean(Sizes::Exponential, helpers))
            ),
            why: "the wait goes with E[S^2], which is larger: see his numbers and ours.",
        },
        Finding {
            place: "2.3.2, Figure 2.21",
            claim: "The difference goes away as the helpers become more",
            comparisons: [("4", "1"), ("16", "4"), ("64", "1")]
                .map(|(more, few)| below(gap(more), gap(few)))
                .into_iter()
                .chain([near_number(quotient(mean(Sizes::Exponential, "64"), mean(Sizes::His, "64")), 1.0, 0.03)])
                .collect(),
            ours: format!("1, 4, 16 helpers: {}", row(&gap)),
            why: "with many helpers the mean response time is that of processor sharing, which depends on the mean \
                  work alone.",
        },
    ]
}

/// Equation 2.1 and simulation, for every class and load where the formula is exact neither for one helper nor for
/// many.
fn between_the_exact(runs: &Runs) -> Vec<Both> {
    let class = |(helpers, load): (&'static str, usize)| {
        (0..=LIMITS.len()).map(move |class| time(runs, Sizes::His, helpers, load, Some(class)))
    };
    ["4", "16"]
        .into_iter()
        .flat_map(|helpers| (0..LOADS.len()).map(move |load| (helpers, load)))
        .flat_map(class)
        .collect()
}

pub(super) fn text(runs: &Runs, picture: &dyn Fn(&str) -> String) -> String {
    let mut text = INTRODUCTION.to_owned();
    text += &accuracy(runs);
    text += "\nFigure 2.18, 4 helpers, by load:\n\n";
    let loads = LOADS.map(|(load, _)| load);
    text += &classes(&loads, LIMITS.len(), 1.0, &|load, class| time(runs, Sizes::His, "4", load, Some(class)));
    text += &format!("\n{}Figure 2.19, load 0.8, by helpers:\n\n", picture("loads"));
    let by_helpers = |sizes: Sizes, limits: usize, scale: f64| {
        classes(&HELPERS, limits, scale, &|helpers, class| time(runs, sizes, HELPERS[helpers], BUSY, Some(class)))
    };
    text += &by_helpers(Sizes::His, LIMITS.len(), 1.0);
    let even = |sizes: &str| {
        let work = work(sizes);
        1e3 * work.second_moment_s2() / (2.0 * work.mean_s())
    };
    text += &format!(
        "\nSharing helps documents with less work than E[S^2]/(2 E[S]), here {:.1} ms, and the smallest has {:.2} ms. \
        With documents ten times as large that is {:.0} ms (Figure 2.20):\n\n",
        even(LOGNORMAL),
        1e3 * work(LOGNORMAL).fixed_s,
        even(TEN_TIMES)
    );
    text += &by_helpers(Sizes::TenTimes, LIMITS.len(), 10.0);
    let large: Vec<Both> = HELPERS[1..3]
        .iter()
        .flat_map(|helpers| (0..=LIMITS.len()).map(|class| time(runs, Sizes::TenTimes, helpers, BUSY, Some(class))))
        .collect();
    let scv = |sizes: &str| {
        let work = work(sizes);
        work.second_moment_s2() / work.mean_s().powi(2) - 1.0
    };
    text += &format!(
        "\nThe work of these has another squared coefficient of variation ({:.1} in place of {:.2}), and with 4 and 16 \
        helpers 2.1 is up to {} off.\n",
        scv(TEN_TIMES),
        scv(LOGNORMAL),
        percent(widest(&large))
    );
    text += &format!(
        "\n{}{}Figure 2.21, exponential sizes, load 0.8, by helpers:\n\n",
        picture("helpers"),
        picture("larger")
    );
    text += &by_helpers(Sizes::Exponential, LIMITS.len() - 1, 1.0);
    text + "\n" + &picture("laws")
}

/// The errors of 2.2, and of 2.1 for the worst class, against simulation, by helpers and load.
fn accuracy(runs: &Runs) -> String {
    let of = |helpers: &str, load: usize| {
        let all = time(runs, Sizes::His, helpers, load, None);
        let classes: Vec<Both> =
            (0..=LIMITS.len()).map(|class| time(runs, Sizes::His, helpers, load, Some(class))).collect();
        format!("{} / {}", percent(all.deviation()), percent(widest(&classes)))
    };
    let head: Vec<String> =
        std::iter::once("helpers".into()).chain(LOADS.map(|(load, _)| format!("load {load}"))).collect();
    let row =
        |helpers: &str| [vec![helpers.to_owned()], (0..LOADS.len()).map(|load| of(helpers, load)).collect()].concat();
    table(&head, &HELPERS.map(row))
}

/// Response times by class of sizes (rows) and column.
fn classes(columns: &[&str], limits: usize, scale: f64, of: &dyn Fn(usize, usize) -> Both) -> String {
    let head: Vec<String> = std::iter::once("size").chain(columns.iter().copied()).map(String::from).collect();
    let row = |class: usize| {
        let name = match class {
            0 => format!("up to {} kB", LIMITS[0] * scale),
            class if class == limits => format!("over {} kB", LIMITS[class - 1] * scale),
            class => format!("{} to {} kB", LIMITS[class - 1] * scale, LIMITS[class] * scale),
        };
        let cells = (0..columns.len()).map(|column| of(column, class).shown("s"));
        std::iter::once(name).chain(cells).collect::<Vec<_>>()
    };
    table(&head, &(0..=limits).map(row).collect::<Vec<_>>())
}

const TEN_TIMES: &str = "lognormal(mu = 10.113585, sigma = 1.573, unit = B)";

pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let by_size = |sizes: Sizes, law: &str, scale: f64, of: &dyn Fn(usize) -> Both| -> [Vec<(f64, f64)>; 2] {
        let means = means(law, scale, if sizes == Sizes::Exponential { LIMITS.len() - 1 } else { LIMITS.len() });
        let points = |value: &dyn Fn(Both) -> Option<f64>| {
            let point = |(class, size): (usize, &f64)| Some((size / 1e3, value(of(class))?));
            means.iter().enumerate().filter_map(point).collect()
        };
        [points(&|both| both.theory), points(&|both| Some(both.sim?.value))]
    };
    let pair = |name: String, colour: usize, [formula, simulated]: [Vec<(f64, f64)>; 2]| {
        let formula = Series { name: format!("{name}, 2.1"), published: true, colour, points: formula };
        [Series { name, published: false, colour, points: simulated }, formula]
    };
    let loads: Vec<Series> = (0..LOADS.len())
        .flat_map(|load| {
            let of = |class| time(runs, Sizes::His, "4", load, Some(class));
            pair(format!("load {}", LOADS[load].0), load, by_size(Sizes::His, LOGNORMAL, 1.0, &of))
        })
        .collect();
    let helpers = |sizes: Sizes, law: &str, scale: f64| -> Vec<Series> {
        let one = |(colour, helpers): (usize, &&str)| {
            let of = |class| time(runs, sizes, helpers, BUSY, Some(class));
            pair(format!("{helpers} helpers"), colour, by_size(sizes, law, scale, &of))
        };
        HELPERS.iter().enumerate().flat_map(one).collect()
    };
    let laws: Vec<Series> = ["1", "16"]
        .iter()
        .enumerate()
        .flat_map(|(index, helpers)| {
            let of = |sizes, law, name: &str, colour| {
                let of = |class| time(runs, sizes, helpers, BUSY, Some(class));
                pair(format!("{name}, {helpers}"), colour, by_size(sizes, law, 1.0, &of))
            };
            let lognormal = of(Sizes::His, LOGNORMAL, "log-normal", 2 * index);
            lognormal.into_iter().chain(of(Sizes::Exponential, EXPONENTIAL, "exponential", 2 * index + 1))
        })
        .collect();
    let figure = |file, title, series: &[Series]| Figure { file, title, svg: curves(title, "kB", "seconds", series) };
    vec![
        figure("loads", "Response time by size, 4 helpers (Figure 2.18)", &loads),
        figure("helpers", "Response time by size, load 0.8 (Figure 2.19)", &helpers(Sizes::His, LOGNORMAL, 1.0)),
        figure(
            "larger",
            "Sizes ten times as large, load 0.8 (Figure 2.20)",
            &helpers(Sizes::TenTimes, TEN_TIMES, 10.0),
        ),
        figure("laws", "Two laws of sizes, load 0.8, 1 and 16 helpers (Figure 2.21)", &laws),
    ]
}

/// Mean size (B) of the documents of each class.
fn means(law: &str, scale: f64, limits: usize) -> Vec<f64> {
    let law = work(law).sizes;
    let ends = LIMITS[..limits].iter().map(|limit| limit * scale * 1e3).chain([f64::INFINITY]);
    let mut from = (0.0, 0.0);
    let mean = |end: f64| {
        let up_to = (law.cdf(end), law.partial_moment(1, end));
        let (share, part) = (up_to.0 - from.0, up_to.1 - from.1);
        from = up_to;
        part / share
    };
    ends.map(mean).collect()
}

const INTRODUCTION: &str = "\
Poisson requests wait in order for one of r helpers; the helpers share the processor. A document of x bytes takes
21.55 ms + 0.4851 us x of it. Equation 2.1 says what a document of a given size takes, 2.2 its mean over all sizes.
Instead of curves the simulation has classes of sizes; 2.1 is linear in the size, so that it says the mean of a class
exactly as well as a point. How far it is from simulation, of all documents (2.2) and of the worst class (2.1), by
helpers and load:

";
