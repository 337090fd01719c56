//! His rule for service levels: plan for the worst case over the traffic families (section 7.3.4).

use sojourn_stats::{Moments, measure};

use super::beside::Csv;
use super::live::SERVERS;
use super::live::measured::{Live, Measured};
use super::series::{Cell, Series, TARGETS};
use super::simulated::replay::{DISCIPLINES, FCFS, LAS, PS};
use super::simulated::{Played, Simulated};
use crate::finding::Finding;
use crate::number::{Number, interval, known};
use crate::verdict::{Comparison, below, positive};

/// The disciplines that come near his server; the last is his kernel's slice.
const NEAR: [usize; 3] = [PS, LAS, 10];
/// The targets that are judged: his two.
const JUDGED: usize = 2;
/// The worst case of a server as measured, the one that FCFS is to be planned for, and the one that undoes both.
const WORST: Cell = Cell { arrivals: Series::Pareto(2.01), service: Series::Exponential };
const BOTH: Cell = Cell { arrivals: Series::Pareto(2.01), service: Series::Pareto(2.01) };
const SIMILAR: Cell = Cell { arrivals: Series::Noise(0.8), service: Series::Exponential };

/// The sets of a cell under a discipline, in their order.
fn sets(simulated: &Simulated, (cell, discipline): (Cell, usize)) -> Vec<&Played> {
    let number = cell.number();
    let is_it = |one: &&Played| one.cell == number && one.discipline == discipline;
    let mut found: Vec<&Played> = simulated.played.iter().filter(is_it).collect();
    found.sort_by_key(|one| one.set);
    found
}

/// ln of one target over another, set by set.
fn excess(simulated: &Simulated, of: (Cell, usize), over: (Cell, usize), place: usize) -> Option<Number> {
    let (of, over) = (sets(simulated, of), sets(simulated, over));
    let logs: Moments =
        of.iter().zip(over).map(|(of, over)| (of.targets_s[place] / over.targets_s[place]).ln()).collect();
    Number::of(&measure::mean_of_samples(&logs), false)
}

/// A target by simulation (s), the mean over sets.
fn simulated_target(simulated: &Simulated, of: (Cell, usize), place: usize) -> Option<Number> {
    let targets: Moments = sets(simulated, of).iter().map(|one| one.targets_s[place]).collect();
    Number::of(&measure::mean_of_samples(&targets), false)
}

/// A target of the FCFS replay of what a server was sent with both laws of index 2.01 (s).
fn planned(live: &Live, server: usize, place: usize) -> Option<Number> {
    known(live.cell(server, BOTH)?.replays[FCFS].targets_s()[place])
}

fn measured(live: &Live, server: usize, cell: Cell, place: usize) -> Option<Number> {
    live.cell(server, cell).and_then(|of: &Measured| of.target_number(place))
}

/// Each judged target on each server.
fn on_servers(judge: impl Fn(usize, usize) -> Vec<Comparison>) -> Vec<Comparison> {
    (0..SERVERS.len())
        .flat_map(|server| (0..JUDGED).map(move |place| (server, place)))
        .flat_map(|(a, b)| judge(a, b))
        .collect()
}

/// Each judged target under each discipline.
fn under_disciplines(disciplines: &[usize], judge: impl Fn(usize, usize) -> Vec<Comparison>) -> Vec<Comparison> {
    let all = disciplines.iter().flat_map(|discipline| (0..JUDGED).map(move |place| (*discipline, place)));
    all.flat_map(|(discipline, place)| judge(discipline, place)).collect()
}

fn others() -> impl Iterator<Item = Cell> {
    Cell::renewal().into_iter().filter(|cell| *cell != WORST)
}

/// The largest target of the 25 cells, and its cell.
fn largest(of: impl Fn(Cell) -> Option<Number>) -> Option<(Cell, Number)> {
    let all = Cell::renewal().into_iter().filter_map(|cell| Some((cell, of(cell)?)));
    all.max_by(|a, b| a.1.value.total_cmp(&b.1.value))
}

/// His rule as statements.
pub(super) fn findings(simulated: &Simulated, live: &Live) -> Vec<Finding> {
    let place = "7.3.4, 8";
    let named = |cell: Cell| format!("{} gaps with {} services", cell.arrivals.name(), cell.service.name());
    let tops = |all: Vec<(String, Option<(Cell, Number)>)>| {
        let words = all.into_iter().filter_map(|(name, top)| Some(format!("{name}: {}", named(top?.0))));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "not measured".to_owned() } else { format!("largest at 90 %, {}", words.join("; ")) }
    };
    let by_discipline = |disciplines: &[usize]| {
        let of = |discipline: &usize| {
            let top = largest(|cell| simulated_target(simulated, (cell, *discipline), 1));
            (DISCIPLINES[*discipline].0.to_owned(), top)
        };
        tops(disciplines.iter().map(of).collect())
    };
    let by_server = || {
        let of = |server: usize| (SERVERS[server].to_owned(), largest(|cell| measured(live, server, cell, 1)));
        tops((0..SERVERS.len()).map(of).collect())
    };
    let shares = |of: &dyn Fn(usize) -> Option<(Number, Number)>, names: &[&str]| {
        let one = |(place, name): (usize, &&str)| {
            of(place).map(|(above, under)| format!("{name} {:.2}", above.value / under.value))
        };
        let shown: Vec<String> = names.iter().enumerate().filter_map(one).collect();
        if shown.is_empty() { "not measured".to_owned() } else { shown.join(", ") }
    };
    let near_names = NEAR.map(|discipline| DISCIPLINES[discipline].0);
    let ratio_sim = |cell: Cell, over: (Cell, Option<usize>)| {
        shares(
            &|at| {
                let under = over.1.unwrap_or(NEAR[at]);
                simulated_target(simulated, (cell, NEAR[at]), 1).zip(simulated_target(simulated, (over.0, under), 1))
            },
            &near_names,
        )
    };
    vec![
        Finding {
            place,
            claim: "The worst case: no traffic of the 25 cells has a larger target than gaps of index 2.01 with \
                    exponential services (simulated at 0.95 under PS, LAS and slices of his kernel, at 80 and 90 %)",
            comparisons: under_disciplines(&NEAR, |discipline, at| {
                let over = |cell| !positive(excess(simulated, (cell, discipline), (WORST, discipline), at));
                others().map(over).collect()
            }),
            ours: by_discipline(&NEAR),
            why: "LAS and slices favour what is new, so that most requests are through soon whatever the gaps, and only the few \
                  that last long wait for the bursts of Pareto gaps: beyond the 90 % his worst case is the largest. Under PS \
                  services of index 2.4 and 2.6 come as near to it as chance lets them.",
        },
        Finding {
            place,
            claim: "The worst case: no traffic of the 25 cells has a larger target than gaps of index 2.01 with \
                    exponential services (measured at 0.8 on both servers, at 80 and 90 %)",
            comparisons: on_servers(|server, at| {
                let worst = measured(live, server, WORST, at);
                others().map(|cell| below(measured(live, server, cell, at), worst)).collect()
            }),
            ours: by_server(),
            why: "a run of seconds has few of the long pauses and bursts that gaps of index 2.01 are about, and its \
                  targets have wide intervals.",
        },
        Finding {
            place,
            claim: "Planning for FCFS with both laws of index 2.01 is safe: its targets are above those of the server in \
                    each of the 25 cells (simulated at 0.95, at 80 and 90 %)",
            comparisons: under_disciplines(&NEAR, |discipline, at| {
                let under = |cell| !positive(excess(simulated, (cell, discipline), (BOTH, FCFS), at));
                Cell::renewal().into_iter().map(under).collect()
            }),
            ours: format!("his worst case over that target at 90 %: {}", ratio_sim(WORST, (BOTH, Some(FCFS)))),
            why: "FCFS makes all requests wait alike; a server that favours what is new lets a few of them wait far longer.",
        },
        Finding {
            place,
            claim: "Planning for FCFS with both laws of index 2.01 is safe: its targets are above those of the server in \
                    each of the 25 cells (measured at 0.8, against the FCFS replay of what was sent)",
            comparisons: on_servers(|server, at| {
                let plan = planned(live, server, at);
                Cell::renewal().into_iter().map(|cell| below(measured(live, server, cell, at), plan)).collect()
            }),
            ours: format!(
                "his worst case over that target at 90 %: {}",
                shares(&|server| measured(live, server, WORST, 1).zip(planned(live, server, 1)), &SERVERS)
            ),
            why: "a server that is slower for some seconds of a run has targets above every replay of it.",
        },
        Finding {
            place,
            claim: "An FCFS server itself has its largest targets where both laws have index 2.01 (simulated at 0.95)",
            comparisons: under_disciplines(&[FCFS], |discipline, at| {
                let rest = Cell::renewal().into_iter().filter(|cell| *cell != BOTH);
                rest.map(|cell| !positive(excess(simulated, (cell, discipline), (BOTH, discipline), at))).collect()
            }),
            ours: by_discipline(&[FCFS]),
            why: "at index 2.01 a file of 10^5 services seldom has the largest ones, which make the mean but not the 80 or \
                  90 %.",
        },
        Finding {
            place: "7.3.4, 7.4.3",
            claim: "Self-similar arrivals undo both plans: H = 0.8 with exponential services has larger targets \
                    (simulated at 0.95, at 80 and 90 %)",
            comparisons: under_disciplines(&NEAR, |discipline, at| {
                let over = |plan| positive(excess(simulated, (SIMILAR, discipline), plan, at));
                vec![over((WORST, discipline)), over((BOTH, FCFS))]
            }),
            ours: format!(
                "at 90 %, over the worst case: {}; over FCFS of both: {}",
                shares(
                    &|at| {
                        let of = |cell| simulated_target(simulated, (cell, NEAR[at]), 1);
                        of(SIMILAR).zip(of(WORST))
                    },
                    &near_names
                ),
                ratio_sim(SIMILAR, (BOTH, Some(FCFS)))
            ),
            why: "his files of noise vary little, so that most requests meet a short queue; what H adds is in slow waves, which \
                  show in the last few requests.",
        },
        Finding {
            place: "7.3.4, 7.4.3",
            claim: "Self-similar arrivals undo both plans: H = 0.8 with exponential services has larger targets \
                    (measured at 0.8 on both servers, at 80 and 90 %)",
            comparisons: on_servers(|server, at| {
                let similar = measured(live, server, SIMILAR, at);
                vec![below(measured(live, server, WORST, at), similar), below(planned(live, server, at), similar)]
            }),
            ours: format!(
                "at 90 %, over the worst case: {}",
                shares(&|server| measured(live, server, SIMILAR, 1).zip(measured(live, server, WORST, 1)), &SERVERS)
            ),
            why: "at 0.8 noise of so small a variance makes short queues, and a run of seconds has few of its slow waves.",
        },
    ]
}

/// A row of the table: where, its unit's factor, and the targets by place of each column.
type Row<'a> =
    (String, f64, Box<dyn Fn(Cell, usize) -> Option<Number> + 'a>, Box<dyn Fn(usize) -> Option<Number> + 'a>);

fn rows<'a>(simulated: &'a Simulated, live: &'a Live) -> Vec<Row<'a>> {
    let of_server = |server: usize| -> Row<'a> {
        let name = format!("{}, measured (ms)", SERVERS[server]);
        let targets = move |cell, place| measured(live, server, cell, place);
        (name, 1e3, Box::new(targets), Box::new(move |place| planned(live, server, place)))
    };
    let of_discipline = |discipline: usize| -> Row<'a> {
        let name = format!("{}, simulated (s)", DISCIPLINES[discipline].0);
        let targets = move |cell, place| simulated_target(simulated, (cell, discipline), place);
        let plan = move |place| simulated_target(simulated, (BOTH, FCFS), place);
        (name, 1.0, Box::new(targets), Box::new(plan))
    };
    let servers = (0..SERVERS.len()).map(of_server);
    servers.chain(NEAR.into_iter().chain([FCFS]).map(of_discipline)).collect()
}

/// The section of the page, and all four targets as a table beside it.
pub(super) fn section(simulated: &Simulated, live: &Live) -> (String, Csv) {
    let mut text = String::from(
        "\n## Service levels: the worst case over the traffic families\n\nThe time within which 80 and 90 % of the requests \
         are answered: the largest of the 25 cells, his worst case, and what he would plan for: FCFS with gaps and services \
         of index 2.01. The last column has the arrivals that neither plan foresees. At 95 and 99 %: \
         [targets.csv](bjornstad-2006/targets.csv).\n\n| where | share | largest of the 25 | its cell | gaps of 2.01, \
         exponential services | FCFS, both of 2.01 | H = 0.8, exponential services |\n|---|---|---|---|---|---|---|\n",
    );
    let mut csv = Csv::new("targets", &["where", "target", "column", "cell", "estimate", "ci_low", "ci_high"]);
    for (name, factor, target, plan) in rows(simulated, live) {
        for (place, (key, share)) in TARGETS.into_iter().enumerate() {
            let top = largest(|cell| target(cell, place));
            let columns = [
                ("largest", top.map(|top| top.0), top.map(|top| top.1)),
                ("worst case", Some(WORST), target(WORST, place)),
                ("FCFS plan", Some(BOTH), plan(place)),
                ("self-similar", Some(SIMILAR), target(SIMILAR, place)),
            ];
            for (column, cell, number) in columns {
                let cell = cell.map_or_else(String::new, Cell::key);
                let number =
                    number.map_or_else(Default::default, |of| [of.value, of.low, of.high].map(|x| format!("{x:.4}")));
                let [value, low, high] = number;
                csv.row([name.clone(), key.into(), column.into(), cell, value, low, high]);
            }
            if place < JUDGED {
                let shown = |number: Option<Number>| {
                    interval(crate::number::scaled(number, factor), if factor > 1.0 { 1 } else { 2 })
                };
                let cell =
                    top.map_or("-".into(), |(cell, _)| format!("{}, {}", cell.arrivals.name(), cell.service.name()));
                text += &format!(
                    "| {name} | {:.0} % | {} | {cell} | {} | {} | {} |\n",
                    100.0 * share,
                    shown(columns[0].2),
                    shown(columns[1].2),
                    shown(columns[2].2),
                    shown(columns[3].2)
                );
            }
        }
    }
    text += &beyond(simulated);
    (text, csv)
}

/// What becomes of the rule at targets that he does not have.
fn beyond(simulated: &Simulated) -> String {
    let mut text = String::new();
    for (place, (_, share)) in TARGETS.into_iter().enumerate().skip(JUDGED) {
        let under = |holds: &dyn Fn(usize) -> bool| {
            let names: Vec<&str> = NEAR.iter().filter(|of| holds(**of)).map(|of| DISCIPLINES[*of].0).collect();
            if names.is_empty() { "none".to_owned() } else { names.join("; ") }
        };
        let target = |cell, discipline| simulated_target(simulated, (cell, discipline), place);
        // Pair by pair over sets, as the statements are judged.
        let exceeds = |of, over| positive(excess(simulated, of, over, place)).holds == Some(true);
        let worst = under(&|of| largest(|cell| target(cell, of)).is_some_and(|top| top.0 == WORST));
        let unsafe_plan = under(&|of| Cell::renewal().into_iter().any(|cell| exceeds((cell, of), (BOTH, FCFS))));
        let undone = under(&|of| exceeds((SIMILAR, of), (WORST, of)) && exceeds((SIMILAR, of), (BOTH, FCFS)));
        text += &format!(
            "\nSimulated, at {:.0} %: his worst case is the largest of the 25 under {worst}. The plan for FCFS is clearly \
             exceeded by one of them under {unsafe_plan}. H = 0.8 clearly exceeds both under {undone}.\n",
            100.0 * share
        );
    }
    text
}
