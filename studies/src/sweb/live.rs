//! The same nodes with real requests: what was measured live beside what is simulated and what they printed.
//!
//! Figures come from the file that [`super::measured`] keeps. A run that was SUSPECT is shown as such, and no finding rests on
//! it.

use std::fmt::Write;

use super::measured::{Case, Measured, Spread};
use super::readings::together;
use super::{LOCALITY, Published, ROTATION, SWEB};
use crate::finding::{self, Finding};
use crate::number::{Number, interval, known, range};
use crate::picture::Series;
use crate::verdict::{Comparison, below, inside};

/// SWEB as `live/shared-ethernet.toml` has it.
const ON_ETHERNET: &str = "sweb(remote_penalty = 0.6, latency = 1 ms)";

/// How far the median of live may be from sim's (READINGS, Live).
const AGREES: f64 = 0.15;

/// Rates of `live/non-uniform.toml`, and the one at which live is to agree with sim.
const RATES: [u32; 2] = [20, 30];
const JUDGED: u32 = 20;

/// Where the medians of live and sim are compared, and what a difference can come from.
const AGREEMENTS: [(&str, &str, &str); 3] = [
    (
        "non-uniform",
        "Non-uniform sizes: the median of live's mean response times is within 15 % of sim's",
        "what a queue of packets does beyond the order of rounds.",
    ),
    ("skewed", "One hot file: within 15 %", "as above."),
    (
        "shared-ethernet",
        "Shared Ethernet: within 15 %",
        "with the rotation most files cross the Ethernet twice, and its queue is full for long: which connection loses \
         packets of it is a matter of single packets, and the simulator plays rounds.",
    ),
];

/// The strategies, as the page calls them.
const WAYS: [(&str, &str); 3] = [("rotation", ROTATION), ("locality", LOCALITY), ("SWEB", SWEB)];

/// A test of theirs that runs live: its title, its experiment, its arrivals where they vary, and the policy that is SWEB there.
struct Test {
    title: String,
    experiment: &'static str,
    arrivals: String,
    sweb: &'static str,
    is_judged: bool,
}

fn tests() -> Vec<Test> {
    let of = |title: &str, experiment, sweb| Test {
        title: title.into(),
        experiment,
        arrivals: String::new(),
        sweb,
        is_judged: true,
    };
    let mut all: Vec<Test> = RATES
        .iter()
        .map(|rate| Test {
            arrivals: together(*rate),
            is_judged: *rate == JUDGED,
            ..of(&format!("non-uniform sizes, {rate} requests/s"), "non-uniform", SWEB)
        })
        .collect();
    all.push(of("one hot file, 8 requests/s", "skewed", SWEB));
    all.push(of("shared Ethernet, 1 request/s", "shared-ethernet", ON_ETHERNET));
    all
}

impl Test {
    fn case<'a>(&'a self, policy: &'a str) -> Case<'a> {
        let policy = if policy == SWEB { self.sweb } else { policy };
        Case { experiment: self.experiment, policy, arrivals: &self.arrivals, class: "" }
    }

    /// What they printed of a strategy (s).
    fn printed(&self, policy: &str, published: &Published) -> Option<f64> {
        match (self.experiment, policy) {
            ("skewed", ROTATION) => Some(published.of("skewed_rotation")),
            ("skewed", LOCALITY) => Some(published.of("skewed_locality")),
            _ => None,
        }
    }
}

/// The section; it says so where nothing was measured.
pub(super) fn text(measured: &Measured, published: &Published) -> String {
    let mut text = HEAD.to_owned();
    let seeds = measured.seeds();
    if seeds.is_empty() {
        return text + "Nothing has been measured yet: `make sweb-live` does it.\n";
    }
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let _ = write!(text, "Seeds: {}.\n\n", seeds.join(", "));
    text += "| test | strategy | printed (s) | sim (s) | live (s) | twin (s) | live / sim | runs, not VALID |\n\
             |---|---|---|---|---|---|---|---|\n";
    let tests = tests();
    for test in &tests {
        for (name, policy) in WAYS {
            let case = test.case(policy);
            let printed = test.printed(policy, published).map_or("-".into(), |s| format!("*{s}*"));
            let engines = ["sim", "live", "twin"].map(|engine| shown(measured.spread(case, engine))).join(" | ");
            let ratio = agreement(measured, case).map_or("-".into(), |ratio| format!("{:.2}", ratio.value));
            let (runs, doubted) = measured.runs(case);
            let _ = writeln!(text, "| {} | {name} | {printed} | {engines} | {ratio} | {runs}, {doubted} |", test.title);
        }
    }
    text += "\nSWEB over each other strategy, with the same requests:\n\n\
             | test | SWEB / rotation, sim | live | SWEB / locality, sim | live |\n|---|---|---|---|---|\n";
    for test in &tests {
        let cells: Vec<String> = [ROTATION, LOCALITY]
            .iter()
            .flat_map(|other| ["sim", "live"].map(|engine| interval(ratio(measured, test, other, engine), 2)))
            .collect();
        let _ = writeln!(text, "| {} | {} |", test.title, cells.join(" | "));
    }
    text.push('\n');
    text + &finding::table(&findings(measured), "they found")
}

pub(super) fn shown(spread: Option<Spread>) -> String {
    match spread {
        None => "-".into(),
        Some(Spread { median, least, most, .. }) if least == most => format!("{median:.3}"),
        Some(Spread { median, least, most, .. }) => format!("{median:.3} ({least:.3} to {most:.3})"),
    }
}

/// The mean of SWEB over that of another strategy.
fn ratio(measured: &Measured, test: &Test, other: &str, engine: &str) -> Option<Number> {
    measured.ratio(test.case(SWEB), test.case(other), engine)
}

/// The median of live over that of sim.
pub(super) fn agreement(measured: &Measured, case: Case<'_>) -> Option<Number> {
    let (sim, live) = (measured.spread(case, "sim")?, measured.spread(case, "live")?);
    known(live.median / sim.median).map(|ratio| Number { is_suspect: live.is_suspect, ..ratio })
}

/// What live says of their statements, and of the simulator.
pub(super) fn findings(measured: &Measured) -> Vec<Finding> {
    let tests = tests();
    let agreements = |experiment: &str| {
        let judged = tests.iter().filter(|test| test.is_judged && test.experiment == experiment);
        judged.flat_map(|test| WAYS.map(|(_, policy)| agreement(measured, test.case(policy)))).collect::<Vec<_>>()
    };
    let heavy: Vec<Option<Number>> = tests
        .iter()
        .filter(|test| test.experiment == "non-uniform")
        .flat_map(|test| [ROTATION, LOCALITY].map(|other| ratio(measured, test, other, "live")))
        .collect();
    let of_test = |experiment: &str| tests.iter().find(|test| test.experiment == experiment).expect("a test of theirs");
    let hot = measured.ratio(of_test("skewed").case(LOCALITY), of_test("skewed").case(ROTATION), "live");
    let ethernet = of_test("shared-ethernet");
    let ethernet = measured.ratio(ethernet.case(LOCALITY), ethernet.case(ROTATION), "live");
    let less = |ratio: Option<Number>| below(ratio, known(1.0));
    let said = vec![
        Finding {
            place: "4.2, live",
            claim: "Non-uniform sizes at 20 requests/s and more: SWEB is faster than rotation and locality",
            comparisons: heavy.iter().map(|ratio| less(*ratio)).collect(),
            ours: format!("{} of the others' time", range(&heavy)),
            why: "as in the simulation: what SWEB knows is up to two seconds old, and the requests of a second come at one \
                  instant.",
        },
        Finding {
            place: "4.2, live",
            claim: "One hot file: locality is slower than the rotation",
            comparisons: vec![!less(hot)],
            ours: interval(hot, 2),
            why: "as in the simulation.",
        },
        Finding {
            place: "4.2, live",
            claim: "A shared Ethernet: locality is faster than the rotation",
            comparisons: vec![less(ethernet)],
            ours: interval(ethernet, 2),
            why: "as in the simulation.",
        },
    ];
    let agreeing = AGREEMENTS.map(|(experiment, claim, why)| Finding {
        place: "live and sim",
        claim,
        comparisons: agreements(experiment).into_iter().map(agrees).collect(),
        ours: format!("live / sim: {}", range(&agreements(experiment))),
        why,
    });
    said.into_iter().chain(agreeing).collect()
}

pub(super) fn agrees(ratio: Option<Number>) -> Comparison {
    inside(ratio, 1.0 - AGREES, 1.0 + AGREES)
}

/// The means of live over the rate, for the picture of the strategies.
pub(super) fn series(measured: &Measured) -> Vec<Series> {
    let of = |(colour, (name, policy)): (usize, &(&str, &'static str))| {
        let point = |rate: &u32| {
            let arrivals = together(*rate);
            let case = Case { experiment: "non-uniform", policy, arrivals: &arrivals, class: "" };
            Some((f64::from(*rate), measured.spread(case, "live")?.median))
        };
        let points: Vec<(f64, f64)> = RATES.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series { name: format!("{name}, live"), published: true, colour, points })
    };
    WAYS.iter().enumerate().filter_map(of).collect()
}

const HEAD: &str = "
## Live

The same nodes as processes: each follows its strategy with real requests and real redirections, on hosts of a test bed, and files
that another node owns cross its network. Processors, disks and memory are emulated. The [files](../../experiments/sweb-1996/live)
with their scale and their seeds, and when live counts as agreeing, were
[fixed](../../experiments/sweb-1996/READINGS.md#live) before they were run. Each figure is the median over the seeds, with
the least and the most. The twin is the simulation of the very requests that live sent.

";

#[cfg(test)]
mod tests {
    use super::super::measured::Row;
    use super::*;
    use crate::verdict::Verdict;

    /// A world in which sim has these means of rotation, locality and SWEB, and live `factor` times as much.
    fn world(means: [f64; 3], factor: f64, verdict: &str) -> Measured {
        let mut rows = Vec::new();
        for test in super::tests() {
            for ((_, policy), mean) in WAYS.iter().zip(means) {
                for seed in 1..=5 {
                    rows.push(Row::made_up(test.case(policy), seed, "sim", mean, "VALID"));
                    rows.push(Row::made_up(test.case(policy), seed, "live", factor * mean, verdict));
                }
            }
        }
        Measured(rows)
    }

    fn verdicts(measured: &Measured) -> Vec<Verdict> {
        findings(measured).iter().map(Finding::verdict).collect()
    }

    #[test]
    fn what_live_says_is_judged_and_not_at_all_of_suspect_runs() {
        use Verdict::{Fails, Holds, Undecidable, Unjudged};
        assert_eq!(verdicts(&world([1.0, 2.0, 0.5], 1.1, "VALID")), [Holds, Holds, Fails, Holds, Holds, Holds]);
        assert_eq!(verdicts(&world([2.0, 1.0, 3.0], 1.2, "VALID")), [Fails, Fails, Holds, Fails, Fails, Fails]);
        assert_eq!(verdicts(&world([2.0, 1.0, 3.0], 0.8, "VALID"))[3..], [Fails; 3]);
        assert_eq!(verdicts(&world([1.0, 2.0, 0.5], 1.1, "SUSPECT")), [Unjudged; 6]);
        assert_eq!(verdicts(&Measured::default()), [Undecidable; 6]);
    }

    #[test]
    fn each_case_is_on_the_page_with_its_doubts() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/sweb-1996/published");
        let published = Published::read(&folder).unwrap();
        let text = super::text(&world([1.0, 2.0, 0.5], 1.1, "SUSPECT"), &published);
        assert_eq!(text.matches("| 1.10 | 5, 5 |").count(), 12, "{text}");
        assert!(text.contains("| one hot file, 8 requests/s | locality | *81.4* | 2.000 | 2.200 | - |"), "{text}");
        assert!(super::text(&Measured::default(), &published).contains("Nothing has been measured yet"));
        let series = series(&world([1.0, 2.0, 0.5], 1.1, "VALID"));
        assert_eq!((series.len(), series[0].points.len()), (3, 2));
    }
}
