//! The same bed with real packets: what was measured live beside what is simulated with the TCP of this kernel and what he
//! printed, and what becomes of the load of a cluster that dies, and of one of whose servers dies.
//!
//! Figures come from the files that [`super::measured`] keeps. A run that was SUSPECT is shown with its verdict, and no finding
//! rests on it.

use std::fmt::Write;

use super::findings::printed;
use super::measured::{Case, DIES, Measured, NAMED_FOR, server_dies};
use super::{MEAN, NEAREST, POLICIES};
use crate::finding::{self, Finding};
use crate::number::{Number, interval, known, quotient, range, scaled};
use crate::picture::{Figure, Series, over_time};
use crate::verdict::{Comparison, below, inside, near};

/// What he found of the ratio of nearest to each other policy, worked out from his ranges.
const RATIO: (f64, f64) = (0.51, 0.64);

/// How far live may be from sim, with his losses.
const AGREES: f64 = 0.25;

const ENGINES: [&str; 2] = ["sim", "live"];

/// A way in which the DNS and its clients take the death of a cluster.
struct Way {
    name: &'static str,
    policy: &'static str,
    fails_over: bool,
    /// Its figures, of sim and of live: the file and the title.
    figures: [(&'static str, &'static str); 2],
}

const WAYS: [Way; 3] = [
    Way {
        name: "nearest with room (his), clients honour the TTL",
        policy: NEAREST,
        fails_over: false,
        figures: [
            ("dies-his-sim", "His policy, clients honour the TTL: sim"),
            ("dies-his-live", "His policy, clients honour the TTL: live"),
        ],
    },
    Way {
        name: "the rest by free capacity (ours), clients honour the TTL",
        policy: "nearest-with-room(spill = free-capacity)",
        fails_over: false,
        figures: [
            ("dies-spill-sim", "The rest by free capacity: sim"),
            ("dies-spill-live", "The rest by free capacity: live"),
        ],
    },
    Way {
        name: "nearest with room (his), clients try the next address",
        policy: NEAREST,
        fails_over: true,
        figures: [
            ("dies-next-address-sim", "His policy, clients try the next address: sim"),
            ("dies-next-address-live", "His policy, clients try the next address: live"),
        ],
    },
];

/// The section; it says so where nothing was measured.
pub(super) fn text(measured: &Measured) -> String {
    let mut text = HEAD.to_owned();
    let loads = measured.loads();
    if loads.is_empty() {
        return text + "Nothing has been measured yet: `make agarwal` does it.\n";
    }
    text += "| processes | load | policy | his (s) | sim (s) | live (s) | live / sim | live run |\n\
             |---|---|---|---|---|---|---|---|\n";
    for &load in &loads {
        for (name, policy) in POLICIES {
            let case = of(load, policy);
            let (low, high) = printed(policy);
            let [sim, live] = ENGINES.map(|engine| measured.number(case, engine, MEAN));
            let cells = [interval(sim, 2), interval(live, 2), interval(quotient(live, sim), 2)].join(" | ");
            let verdict = measured.verdict(case).unwrap_or("-");
            let _ = writeln!(text, "| {} | {} | {name} | {low} to {high} | {cells} | {verdict} |", load.0, load.1);
        }
    }
    text += "\nNearest with room over each other policy; his: 0.51 to 0.64.\n\n";
    let heads: Vec<String> =
        POLICIES[..3].iter().flat_map(|(name, _)| ENGINES.map(|engine| format!("{name}, {engine}"))).collect();
    let _ = writeln!(text, "| processes | load | {} |\n|---|---|---|---|---|---|---|---|", heads.join(" | "));
    for &load in &loads {
        let cells: Vec<String> = POLICIES[..3]
            .iter()
            .flat_map(|(_, policy)| ENGINES.map(|engine| interval(ratio(measured, load, engine, policy), 2)))
            .collect();
        let _ = writeln!(text, "| {} | {} | {} |", load.0, load.1, cells.join(" | "));
    }
    text += "\n";
    text += &finding::table(&findings(measured), "he found");
    text + "\n" + &dies(measured)
}

fn of<'a>((processes, load): (u32, &'a str), policy: &'a str) -> Case<'a> {
    Case { processes, load, policy, fails_over: false }
}

/// The mean of nearest with room over that of another policy.
fn ratio(measured: &Measured, load: (u32, &str), engine: &str, policy: &str) -> Option<Number> {
    let mean = |policy| measured.number(of(load, policy), engine, MEAN);
    quotient(mean(NEAREST), mean(policy))
}

/// What live says of his findings, and of the simulator.
pub(super) fn findings(measured: &Measured) -> Vec<Finding> {
    let loads = measured.loads();
    let ratios = |engine: &str| {
        let of_load = |load| POLICIES[..3].iter().map(move |(_, policy)| ratio(measured, load, engine, policy));
        loads.iter().flat_map(|load| of_load(*load)).collect::<Vec<_>>()
    };
    let live = ratios("live");
    let both = || loads.iter().flat_map(|load| POLICIES.map(|(_, policy)| of(*load, policy)));
    let agreement = both().map(|case| {
        let [sim, live] = ENGINES.map(|engine| measured.number(case, engine, MEAN));
        near(live, sim, 1.0, AGREES)
    });
    let all: Vec<Option<Number>> =
        both().map(|case| quotient(measured.number(case, "live", MEAN), measured.number(case, "sim", MEAN))).collect();
    vec![
        Finding {
            place: "5.2, live",
            claim: "Nearest beats the three others by a good margin (at most 0.75 of each)",
            comparisons: live.iter().map(|ratio| below(*ratio, known(0.75))).collect(),
            ours: range(&live),
            why: "two minutes hold few of the long waits that a mean consists of.",
        },
        Finding {
            place: "5.2, live",
            claim: "The ratio of nearest to each other policy is 0.51 to 0.64",
            comparisons: live.iter().map(|ratio| inside(*ratio, RATIO.0, RATIO.1)).collect(),
            ours: range(&live),
            why: "as in the simulation; the table of readings says which of them moves it.",
        },
        Finding {
            place: "live and sim",
            claim: "Live's mean response time is the simulator's, within 25 %",
            comparisons: agreement.collect(),
            ours: format!("live / sim: {}", range(&all)),
            why: "a run of losses hits the few transfers of two minutes, or does not.",
        },
    ]
}

/// What becomes of the load of a cluster that dies.
fn dies(measured: &Measured) -> String {
    let mut text = String::from(DIES_HEAD);
    text += "| DNS, clients | errors, sim (%) | errors, live (%) | mean, sim (s) | mean, live (s) | named for, live (s) | \
             live run |\n|---|---|---|---|---|---|---|\n";
    for Way { name, policy, fails_over, .. } in WAYS {
        let case = Case { processes: 0, load: DIES, policy, fails_over };
        let errors = ENGINES.map(|engine| interval(scaled(measured.number(case, engine, "error_ratio"), 100.0), 2));
        let means = ENGINES.map(|engine| interval(measured.number(case, engine, MEAN), 3));
        let named = measured.value(case, "live", NAMED_FOR).map_or("-".into(), |s| format!("{s:.1}"));
        let verdict = measured.verdict(case).unwrap_or("-");
        let cells = [errors.join(" | "), means.join(" | "), named].join(" | ");
        let _ = writeln!(text, "| {name} | {cells} | {verdict} |");
    }
    text.push('\n');
    text
}

/// Outages of one server: how long it was dead, and when it was back.
const OUTAGES: [(&str, &str); 2] = [("20 s", "60 s"), ("50 s", "90 s")];

/// What becomes of the requests of a cluster one of whose servers dies; nothing where that was not measured.
pub(super) fn server(measured: &Measured) -> String {
    if OUTAGES.iter().all(|(_, back)| measured.verdict(server_case(&server_dies(back))).is_none()) {
        return String::new();
    }
    let mut text = String::from(SERVER_HEAD);
    text += "| dead for | errors, sim (%) | errors, live (%) | mean, sim (s) | mean, live (s) | live / sim | live run |\n\
             |---|---|---|---|---|---|---|\n";
    for (length, back) in OUTAGES {
        let number = |engine, metric| of_server(measured, back, engine, metric);
        let errors = ENGINES.map(|engine| interval(scaled(number(engine, "error_ratio"), 100.0), 2));
        let means = ENGINES.map(|engine| interval(number(engine, MEAN), 3));
        let ratio = interval(quotient(number("live", MEAN), number("sim", MEAN)), 2);
        let load = server_dies(back);
        let verdict = measured.verdict(server_case(&load)).unwrap_or("-");
        let _ = writeln!(text, "| {length} | {} | {} | {ratio} | {verdict} |", errors.join(" | "), means.join(" | "));
    }
    text + "\n" + &finding::table(&server_findings(measured), "he found") + "\n"
}

fn server_case(load: &str) -> Case<'_> {
    Case { processes: 0, load, policy: NEAREST, fails_over: false }
}

fn of_server(measured: &Measured, back: &str, engine: &str, metric: &str) -> Option<Number> {
    measured.number(server_case(&server_dies(back)), engine, metric)
}

fn server_findings(measured: &Measured) -> Vec<Finding> {
    let errors = |(_, back): (&str, &str)| of_server(measured, back, "live", "error_ratio");
    let of_both = |metric| OUTAGES.map(|(_, back)| ENGINES.map(|engine| of_server(measured, back, engine, metric)));
    let (means, lost) = (of_both(MEAN), of_both("error_ratio"));
    let [short, long] = OUTAGES.map(errors);
    let no_more = Comparison::of(long, short, |long, short| Some(long.low <= short.high));
    let [short, long] = [short, long].map(|of| interval(scaled(of, 100.0), 2));
    vec![
        Finding {
            place: "5.2, live",
            claim: "A failed server gets no new requests; the connections that it has are lost",
            comparisons: vec![below(known(0.0), errors(OUTAGES[0])), no_more],
            ours: format!("errors: {short} % in an outage of 20 s, {long} % in one of 50 s"),
            why: "one run has one death, so the interval of its errors is wide.",
        },
        Finding {
            place: "live and sim",
            claim: "A server dies: live's mean response time is the simulator's, within 25 %",
            comparisons: means.map(|[sim, live]| near(live, sim, 1.0, AGREES)).to_vec(),
            ours: format!("live / sim: {}", range(&means.map(|[sim, live]| quotient(live, sim)))),
            why: "one run has one death, and what waits behind it is a large part of its mean.",
        },
        Finding {
            place: "live and sim",
            claim: "A server dies: live loses as large a share of the requests as the simulator, within 25 % (compared after \
                    both were known)",
            comparisons: lost.map(|[sim, live]| near(live, sim, 1.0, AGREES)).to_vec(),
            ours: format!("live / sim: {}", range(&lost.map(|[sim, live]| quotient(live, sim)))),
            why: "live, the host of a server outlives it, and the front node is told within a second that no program listens \
                  there; the simulated host is silent, which the front node knows two heartbeats, 8 s, later.",
        },
    ]
}

/// Where requests went while the cluster was dead.
pub(super) fn figures(measured: &Measured) -> Vec<Figure> {
    let figure = |way: &Way, engine: &str, (file, title): (&'static str, &'static str)| {
        let mut series: Vec<Series> = Vec::new();
        for row in measured.places.iter().filter(|row| row.is_of(way.policy, way.fails_over, engine)) {
            let point = (row.second, row.per_second);
            match series.iter_mut().find(|one| one.name == row.place) {
                Some(one) => one.points.push(point),
                None => {
                    let colour = series.len();
                    series.push(Series { name: row.place.clone(), published: false, colour, points: vec![point] });
                }
            }
        }
        let svg = over_time(title, "second of the run", "requests/s", &series);
        (!series.is_empty()).then_some(Figure { file, title, svg })
    };
    let both = |way: &Way| {
        let [sim, live] = way.figures;
        [figure(way, ENGINES[0], sim), figure(way, ENGINES[1], live)]
    };
    WAYS.iter().flat_map(both).flatten().collect()
}

const HEAD: &str = "\
## Live

The same bed with real packets: `sojourn dns`, packet switches, load daemons and clients on hosts of their own, joined by
links that delay and lose as his. Live has the TCP of this kernel; here the simulator has it too. Each run is measured for
two minutes; nearest with room first runs for 140 s, in which it learns rates and round trips. Ratios of live are
of separate runs, so their intervals are wide. A run that may have been disturbed is SUSPECT, and nothing is concluded from it.

";

const DIES_HEAD: &str = "\
### A cluster dies under load

[Users in three regions](../../experiments/agarwal-2001/site-dies.toml) keep the servers half busy. After 40 s the front node
and the servers in Europe are killed, and after 90 s they are back. Front nodes report at least every 4 s, so the DNS
names the cluster for some 8 s more, and users who honour the TTL of 10 s may ask it for 10 s after that. Under his policy the
load goes to the next nearest cluster for as long as that has room, with the spill to all others by their room. The figures
show requests per second by the instants at which they were asked for, and those that failed.

";

const SERVER_HEAD: &str = "\
### A server dies under load

[The same users](../../experiments/agarwal-2001/server-dies.toml), with front nodes that go by free capacity, as his do: one of
the two servers in Europe is killed after 40 s. A simulated front node knows that two heartbeats, 8 s, later, since it hears no
more of it; a live one is told by the server's host, which outlives it. Until then each request that it gives to the dead server
is refused.

";

#[cfg(test)]
mod tests {
    use super::super::measured::{PlaceRow, Row};
    use super::*;
    use crate::verdict::Verdict;

    const LOADS: [(u32, &str); 2] = [(60, "even"), (110, "uneven")];

    /// A world in which sim has his means, and live `factor` times as much, with nearest `nearest` times the others.
    fn world(factor: f64, nearest: f64, verdict: &str) -> Measured {
        let rows = LOADS.into_iter().flat_map(|load| {
            POLICIES.into_iter().flat_map(move |(_, policy)| {
                let mean = if policy == NEAREST { 1.6 * nearest } else { 1.6 };
                let case = of(load, policy);
                let sim = Row::made_up(case, "sim", MEAN, mean, "VALID");
                [sim, Row::made_up(case, "live", MEAN, factor * mean, verdict)]
            })
        });
        Measured { rows: rows.collect(), places: Vec::new() }
    }

    fn verdicts(measured: &Measured) -> Vec<Verdict> {
        findings(measured).iter().map(Finding::verdict).collect()
    }

    #[test]
    fn what_live_says_is_judged_by_intervals_and_not_at_all_of_suspect_runs() {
        assert_eq!(verdicts(&world(1.1, 0.58, "VALID")), [Verdict::Holds; 3]);
        assert_eq!(verdicts(&world(1.4, 0.58, "VALID")), [Verdict::Holds, Verdict::Holds, Verdict::Fails]);
        assert_eq!(verdicts(&world(1.0, 0.9, "VALID")), [Verdict::Fails, Verdict::Fails, Verdict::Holds]);
        assert_eq!(verdicts(&world(1.0, 0.3, "VALID")), [Verdict::Holds, Verdict::Fails, Verdict::Holds]);
        assert_eq!(verdicts(&world(1.1, 0.58, "SUSPECT")), [Verdict::Unjudged; 3]);
    }

    #[test]
    fn each_run_is_on_the_page_with_its_verdict() {
        let text = text(&world(1.1, 0.58, "SUSPECT"));
        assert_eq!(text.matches("| SUSPECT |").count(), 8, "{text}");
        assert!(text.contains("| 110 | uneven | nearest | 0.92 to 0.96 | 0.93 (0.92 to 0.94) | 1.02"), "{text}");
        assert!(super::text(&Measured::default()).contains("Nothing has been measured yet"));
    }

    #[test]
    fn a_server_that_dies_costs_the_same_in_a_longer_outage_or_the_finding_does_not_hold() {
        let loads = OUTAGES.map(|(_, back)| server_dies(back));
        let world = |errors: [f64; 2], factor: f64| {
            let rows = loads.iter().zip(errors).flat_map(|(load, errors)| {
                let row = |engine, metric, value| Row::made_up(server_case(load), engine, metric, value, "VALID");
                let [sim, live] = ["sim", "live"].map(|engine| row(engine, "error_ratio", errors));
                [sim, live, row("sim", MEAN, 0.2), row("live", MEAN, factor * 0.2)]
            });
            Measured { rows: rows.collect(), places: Vec::new() }
        };
        let verdicts = |errors, factor| {
            let findings = server_findings(&world(errors, factor));
            [findings[0].verdict(), findings[1].verdict()]
        };
        assert_eq!(verdicts([0.01, 0.01], 1.1), [Verdict::Holds; 2]);
        assert_eq!(
            server_findings(&world([0.01, 0.01], 1.1))[2].verdict(),
            Verdict::Holds,
            "sim and live lose the same"
        );
        assert_eq!(verdicts([0.01, 0.025], 1.4), [Verdict::InPart, Verdict::Fails]);
        assert!(world([0.01; 2], 1.0).loads().is_empty(), "they are no loads of his grid");
        assert_eq!(server(&Measured::default()), "");
        assert!(server(&world([0.01, 0.02], 1.0)).contains("| 50 s | 2.00 (1.98 to 2.02) |"));
    }

    #[test]
    fn what_was_counted_while_a_cluster_died_is_drawn() {
        let text = "policy,fails_over,engine,place,second,per_second\n\
                    nearest-with-room,false,live,c1,0.0,10.0\nnearest-with-room,false,live,c1,1.0,12.0\n\
                    nearest-with-room,false,live,failed,0.0,1.0\nnearest-with-room,true,sim,c1,0.0,10.0\n";
        let places: Vec<PlaceRow> =
            csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect();
        let figures = figures(&Measured { places, ..Measured::default() });
        let files: Vec<&str> = figures.iter().map(|figure| figure.file).collect();
        assert_eq!(files, ["dies-his-live", "dies-next-address-sim"]);
        assert!(figures[0].svg.contains("failed") && !figures[1].svg.contains("failed"));
    }
}
