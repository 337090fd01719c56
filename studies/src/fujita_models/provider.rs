//! A provider's users behind a proxy: Figures 4.6 to 4.13, and values that he does not print.

use super::{Both, Runs, Setting, number, percent, table};
use crate::finding::Finding;
use crate::number::{known, quotient, scaled, shown, slope};
use crate::picture::{Figure, Series, curves};
use crate::verdict::{below, near, near_number};

const LINE: &str = "station.access-line.rate";
const BACKBONE: &str = "station.backbone.speed";
const HIT: &str = "chain.users.branch.hit.share";
const RATES: [&str; 2] = ["1.5 Mbit/s", "6 Mbit/s"];
/// Speeds of the backbone relative to 195 ms, and its delay (ms).
const BACKBONES: [(&str, f64); 7] =
    [("1", 195.0), ("1.3", 150.0), ("1.95", 100.0), ("2.6", 75.0), ("3.9", 50.0), ("7.8", 25.0), ("19.5", 10.0)];
/// The index of the backbone of 100 ms.
pub(super) const AT_100_MS: usize = 2;
const SLOW: usize = 0;
const FAST: usize = BACKBONES.len() - 1;
/// Hit ratios, and the one up to which he saw an improvement.
const HITS: [&str; 7] = ["0.0", "0.2", "0.4", "0.5", "0.6", "0.8", "0.9"];
const HALF: usize = 3;
const NARROW_AND_WIDE: [&str; 2] = ["768 kbit/s", "1.5 Mbit/s"];
/// The stations that a miss visits.
const PLACES: [&str; 4] = ["proxy", "backbone", "access-line", "web-server"];

/// Readings of the traffic: users who wait for their documents, or requests at a rate.
const READINGS: [(&str, &str, Setting<'static>); 4] = [
    ("2 users", "7-hit-ratio", ("chain.users.users", "2")),
    ("8 users", "7-hit-ratio", ("chain.users.users", "8")),
    ("5 requests/s", "7-hit-ratio-open", ("chain.users.arrivals", "exponential(rate = 5 /s)")),
    ("10 requests/s", "7-hit-ratio-open", ("chain.users.arrivals", "exponential(rate = 10 /s)")),
];
const CLOSED: usize = 1;
const OPEN: usize = 3;

/// A hit ratio as a number.
fn part(hits: &str) -> f64 {
    hits.parse().expect("a number of the experiment's file")
}

/// Time on the access line of a document that goes over it.
fn line(runs: &Runs, reading: usize, rate: &str, hits: usize) -> Both {
    let (_, run, setting) = READINGS[reading];
    runs.both(run, &[(LINE, rate), setting, (HIT, HITS[hits])], "response_time_mean_access-line")
}

/// Response time of a miss.
pub(super) fn total(runs: &Runs, rate: &str, backbone: usize) -> Both {
    of_backbone(runs, rate, backbone, "response_time_mean_users_miss")
}

fn of_backbone(runs: &Runs, rate: &str, backbone: usize, metric: &str) -> Both {
    runs.both("8-backbone", &[(LINE, rate), (BACKBONE, BACKBONES[backbone].0)], metric)
}

/// The same with a web server that shares without limit; mean value analysis solves it exactly.
fn shared(runs: &Runs, rate: &str, backbone: usize, metric: &str) -> Option<f64> {
    runs.both("8-backbone-shared", &[(LINE, rate), (BACKBONE, BACKBONES[backbone].0)], metric).theory
}

/// Time of a miss at a station.
fn spent(runs: &Runs, rate: &str, backbone: usize, place: &str) -> Both {
    of_backbone(runs, rate, backbone, &format!("response_time_mean_{place}"))
}

pub(super) fn findings(runs: &Runs) -> Vec<Finding> {
    let mut all = hit_ratio(runs);
    all.extend(bottleneck(runs));
    all.extend(accuracy(runs));
    all
}

fn hit_ratio(runs: &Runs) -> Vec<Finding> {
    let row = |reading: usize, rate: &str| {
        let of = |hits: usize| shown(line(runs, reading, rate, hits).sim, "s");
        format!("0, 50, 90 %: {}, {}, {}", of(0), of(HALF), of(HITS.len() - 1))
    };
    let same = |reading: usize| {
        let first = line(runs, reading, "1.5 Mbit/s", 0).sim;
        (1..HITS.len() - 1).map(|hits| near(line(runs, reading, "1.5 Mbit/s", hits).sim, first, 1.0, 0.1)).collect()
    };
    let at = |reading: usize, hits: usize| line(runs, reading, "768 kbit/s", hits).sim;
    let falls = |reading: usize| vec![below(at(reading, HALF), scaled(at(reading, 0), 0.9))];
    let hardly = |reading: usize| {
        let before = slope(at(reading, HALF), at(reading, 0), 1.0);
        let after = slope(at(reading, HITS.len() - 1), at(reading, HALF), 1.0);
        vec![below(after, scaled(before, 1.0 / 3.0))]
    };
    let one = |place, claim, comparisons, reading, rate, why| Finding {
        place,
        claim,
        comparisons,
        ours: row(reading, rate),
        why,
    };
    let closed = "users who wait ask for the next document when they have one: the more hits, the sooner the next \
    miss, so that the line stays as busy as it was until the proxy is the limit.";
    vec![
        one(
            "4.2, Figure 4.6, 8 users",
            "1.5 Mbit/s: the delay on the access line does not depend on the hit ratio (up to 80 %, within 10 %)",
            same(CLOSED),
            CLOSED,
            "1.5 Mbit/s",
            "8 users are enough to keep the line busy; the table of Figure 4.6 below has 2 users as well.",
        ),
        one(
            "4.2, Figure 4.6, 8 users",
            "768 kbit/s: the delay falls as the hit ratio rises to 50 % (by a tenth at least)",
            falls(CLOSED),
            CLOSED,
            "768 kbit/s",
            closed,
        ),
        one(
            "4.2, Figure 4.6, 8 users",
            "768 kbit/s: beyond 50 % hardly any more (less than a third of the fall before)",
            hardly(CLOSED),
            CLOSED,
            "768 kbit/s",
            "here the fall begins only where the proxy, and no longer the line, is what users wait for.",
        ),
        one(
            "4.2, Figure 4.6, 10 requests/s",
            "1.5 Mbit/s: the delay on the access line does not depend on the hit ratio (up to 80 %, within 10 %)",
            same(OPEN),
            OPEN,
            "1.5 Mbit/s",
            "the line's load is in proportion to the misses, and so the delay falls; beside 768 kbit/s it changes \
            little.",
        ),
        one(
            "4.2, Figure 4.6, 10 requests/s",
            "768 kbit/s: the delay falls as the hit ratio rises to 50 % (by a tenth at least)",
            falls(OPEN),
            OPEN,
            "768 kbit/s",
            "",
        ),
        one(
            "4.2, Figure 4.6, 10 requests/s",
            "768 kbit/s: beyond 50 % hardly any more (less than a third of the fall before)",
            hardly(OPEN),
            OPEN,
            "768 kbit/s",
            "",
        ),
    ]
}

fn bottleneck(runs: &Runs) -> Vec<Finding> {
    let whole = |rate: &str, backbone: usize| total(runs, rate, backbone).sim;
    let at = |rate: &str, backbone: usize, place: &str| spent(runs, rate, backbone, place).sim;
    // Whether most of the time is spent there.
    let most = |rate: &'static str, backbone: usize, place: &'static str| {
        PLACES
            .iter()
            .filter(move |other| **other != place)
            .map(move |other| below(at(rate, backbone, other), at(rate, backbone, place)))
            .collect::<Vec<_>>()
    };
    let saved = |rate: &str| slope(whole(rate, FAST), whole(rate, SLOW), 1.0);
    let backbone_saves = scaled(known(BACKBONES[SLOW].1 - BACKBONES[FAST].1), 1e-3);
    let parts = |rate: &str, backbone: usize| {
        let of = |place: &&str| format!("{place} {}", shown(at(rate, backbone, place), "s"));
        PLACES[1..].iter().map(of).collect::<Vec<_>>().join(", ")
    };
    let ends = |rate: &str| format!("{}; then {}", parts(rate, SLOW), parts(rate, FAST));
    vec![
        Finding {
            place: "4.2, Figures 4.7 and 4.9",
            claim: "A faster backbone (10 for 195 ms) shortens the total, but not dramatically (by less than half of \
                    what it saves itself)",
            comparisons: RATES
                .iter()
                .flat_map(|rate| {
                    [below(whole(rate, FAST), whole(rate, SLOW)), below(saved(rate), scaled(backbone_saves, 0.5))]
                })
                .collect(),
            ours: format!(
                "of {}: {} at 1.5 Mbit/s, {} at 6 Mbit/s",
                number(backbone_saves.map(|of| of.value), "s"),
                shown(saved(RATES[0]), "s"),
                shown(saved(RATES[1]), "s")
            ),
            why: "users who wait less come back sooner, and meet each other elsewhere.",
        },
        Finding {
            place: "4.2, Figures 4.7 and 4.8",
            claim: "1.5 Mbit/s: a faster backbone moves the bottleneck from the backbone to the access line (where a \
                    miss spends most)",
            comparisons: [most(RATES[0], SLOW, "backbone"), most(RATES[0], FAST, "access-line")].concat(),
            ours: ends(RATES[0]),
            why: "with visitors at the web server, line and server are about as busy.",
        },
        Finding {
            place: "4.2, Figures 4.9 and 4.10",
            claim: "6 Mbit/s: it moves to the web server",
            comparisons: [most(RATES[1], SLOW, "backbone"), most(RATES[1], FAST, "web-server")].concat(),
            ours: ends(RATES[1]),
            why: "",
        },
        Finding {
            place: "4.2",
            claim: "Backbone of 100 ms: 300 ms in all with 6 Mbit/s, three fourths of what it is with 1.5 Mbit/s \
                    (within 5 %; users and visitors were inferred from these two)",
            comparisons: vec![
                near_number(whole(RATES[1], AT_100_MS), 0.3, 0.05),
                near(whole(RATES[1], AT_100_MS), whole(RATES[0], AT_100_MS), 0.75, 0.05),
            ],
            ours: format!(
                "{}, {}",
                shown(whole(RATES[1], AT_100_MS), "s"),
                shown(quotient(whole(RATES[1], AT_100_MS), whole(RATES[0], AT_100_MS)), "times as long")
            ),
            why: "users come in whole numbers.",
        },
    ]
}

fn accuracy(runs: &Runs) -> Vec<Finding> {
    let metrics = ["response_time_mean_users_miss", "response_time_mean_web-server", "throughput_users"];
    let all = |rate: &str| -> Vec<Both> {
        let at = |backbone: usize| metrics.map(|metric| of_backbone(runs, rate, backbone, metric));
        (0..BACKBONES.len()).flat_map(at).collect()
    };
    let worst = |rate: &str| {
        let of = |metric: &str| {
            let of = (0..BACKBONES.len()).map(|backbone| of_backbone(runs, rate, backbone, metric)).collect::<Vec<_>>();
            percent(super::widest(&of))
        };
        format!("furthest off: total {}, web server {}, throughput {}", of(metrics[0]), of(metrics[1]), of(metrics[2]))
    };
    // Relative error of the analysis, which is too long.
    let excess = |rate: &str, backbone: usize| {
        let both = total(runs, rate, backbone);
        quotient(both.theory.and_then(known), both.sim)
    };
    vec![
        Finding {
            place: "4.3, Figure 4.11",
            claim: "1.5 Mbit/s: mean value analysis with a fixed point agrees well with simulation (total, web server \
                    and throughput within 5 %)",
            comparisons: all(RATES[0]).iter().map(|both| both.agrees(0.05)).collect(),
            ours: worst(RATES[0]),
            why: "the visitors keep the web server busy enough for his approximation to show: it takes the misses to \
                  arrive as a Poisson process, and never sees that they are at most 8.",
        },
        Finding {
            place: "4.3, Figures 4.12 and 4.13",
            claim: "6 Mbit/s: it is less accurate (the total, at each backbone)",
            comparisons: (0..BACKBONES.len())
                .map(|backbone| below(excess(RATES[0], backbone), excess(RATES[1], backbone)))
                .collect(),
            ours: worst(RATES[1]),
            why: "",
        },
        Finding {
            place: "4.3, Figures 4.12 and 4.13",
            claim: "6 Mbit/s: the accuracy is still reasonable (total and throughput within 20 %)",
            comparisons: (0..BACKBONES.len())
                .flat_map(|backbone| {
                    [metrics[0], metrics[2]].map(|metric| of_backbone(runs, RATES[1], backbone, metric))
                })
                .map(|both| both.agrees(0.2))
                .collect(),
            ours: worst(RATES[1]),
            why: "what is reasonable he does not say; the faster the backbone, the more of the time is spent at the \
                  station that is approximated.",
        },
    ]
}

pub(super) fn text(runs: &Runs, picture: &dyn Fn(&str) -> String) -> String {
    let mut text = format!("{INTRODUCTION}{}{}{HITS_TEXT}", population(runs), inferred(runs));
    let head: Vec<String> = ["who", "line"]
        .into_iter()
        .map(String::from)
        .chain(HITS.map(|hits| format!("{} % hits", 100.0 * part(hits))))
        .collect();
    for of_all in [false, true] {
        let rows = NARROW_AND_WIDE.iter().flat_map(|rate| (0..READINGS.len()).map(move |reading| (reading, *rate)));
        let rows: Vec<Vec<String>> = rows
            .map(|(reading, rate)| {
                let cell = |hits: usize| {
                    let factor = if of_all { 1.0 - part(HITS[hits]) } else { 1.0 };
                    shown(scaled(line(runs, reading, rate, hits).sim, factor), "s")
                };
                [vec![READINGS[reading].0.to_owned(), rate.to_owned()], (0..HITS.len()).map(cell).collect()].concat()
            })
            .collect();
        text += &table(&head, &rows);
        text += if of_all { "\n" } else { "\nThe same over all documents, hits included:\n\n" };
    }
    text += &format!("{}{BACKBONE_TEXT}", picture("hits"));
    for rate in RATES {
        text += &format!("{rate}:\n\n{}\n", components(runs, rate));
    }
    text += &format!("{}{}{MVA_TEXT}", picture("backbone-1.5"), picture("backbone-6"));
    text += &compared(runs);
    text + "\n" + &picture("throughput")
}

/// Ways that visitors may take: the shares of those who go to the web server only, and of those who go all the way.
const WAYS: [(&str, &str, &str); 2] =
    [("1", "0", "at the web server only"), ("0", "1", "on backbone and line as well")];
/// Numbers of users.
const POPULATIONS: std::ops::RangeInclusive<u32> = 2..=12;

/// The visitors per second at which a miss takes 300 ms with 6 Mbit/s and a backbone of 100 ms, by users, and the
/// comparison with 1.5 Mbit/s there.
fn population(runs: &Runs) -> String {
    let head: Vec<String> = std::iter::once("users".to_owned())
        .chain(WAYS.iter().flat_map(|(.., name)| [format!("visitors {name}"), "6 over 1.5 Mbit/s".into()]))
        .collect();
    let row = |users: u32| {
        let cells = WAYS.iter().flat_map(|(server, whole, _)| match at_300_ms(runs, users, server, whole) {
            Some((rate, ratio)) => [format!("{rate:.1} /s"), format!("{ratio:.2}")],
            None => ["-".into(), "-".into()],
        });
        std::iter::once(users.to_string()).chain(cells).collect::<Vec<_>>()
    };
    table(&head, &POPULATIONS.map(row).collect::<Vec<_>>())
}

/// For each way of the visitors the number of users with the ratio nearest to three fourths.
fn inferred(runs: &Runs) -> String {
    let nearest = |(server, whole, name): (&str, &str, &str)| {
        let all = POPULATIONS.filter_map(|users| Some((users, at_300_ms(runs, users, server, whole)?)));
        let off = |(_, (_, ratio)): &(u32, (f64, f64))| (ratio - 0.75).abs();
        match all.min_by(|a, b| off(a).total_cmp(&off(b))) {
            Some((users, (rate, ratio))) => {
                format!(
                    "With visitors {name}, {users} users and {rate:.1} visitors per second come nearest to three \
                    fourths: {ratio:.2}."
                )
            }
            None => format!("With visitors {name}, no number of users makes it 300 ms."),
        }
    };
    format!("\n{}", WAYS.map(nearest).join(" "))
}

/// Where the total crosses 300 ms, between two rates that were computed: the visitors per second and the ratio of the
/// totals there.
fn at_300_ms(runs: &Runs, users: u32, server: &str, whole: &str) -> Option<(f64, f64)> {
    let users = users.to_string();
    let total = |rate: &str, visitors: f64| {
        let arrivals = format!("exponential(rate = {visitors} /s)");
        let wanted = [
            (LINE, rate),
            ("chain.users.users", users.as_str()),
            ("chain.visitors.branch.server.share", server),
            ("chain.visitors.branch.whole.share", whole),
            ("chain.visitors.arrivals", arrivals.as_str()),
        ];
        runs.both("9-population", &wanted, "response_time_mean_users_miss").theory
    };
    let grid: Vec<f64> = std::iter::once(0.001).chain((1..=15).map(|step| 2.0 * f64::from(step))).collect();
    grid.windows(2).find_map(|pair| {
        let [from, to] =
            [pair[0], pair[1]].map(|visitors| Some((total(RATES[0], visitors)?, total(RATES[1], visitors)?)));
        let ((slow_from, fast_from), (slow_to, fast_to)) = (from?, to?);
        let part = (0.3 - fast_from) / (fast_to - fast_from);
        let between = |a: f64, b: f64| a + part * (b - a);
        (0.0..1.0).contains(&part).then(|| (between(pair[0], pair[1]), 0.3 / between(slow_from, slow_to)))
    })
}

/// The parts of a miss's response time, by the backbone.
fn components(runs: &Runs, rate: &str) -> String {
    let head: Vec<String> =
        ["backbone", "proxy", "access line", "web server", "all", "most of it"].map(String::from).to_vec();
    let row = |backbone: usize| {
        let of = |place: &str| spent(runs, rate, backbone, place).sim;
        let value = |place: &str| of(place).map_or(0.0, |of| of.value);
        let most = PLACES.into_iter().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or_default();
        let all = total(runs, rate, backbone).sim;
        let part = all.map_or(0.0, |all| 100.0 * value(most) / all.value);
        vec![
            format!("{:.0} ms", BACKBONES[backbone].1),
            shown(of("proxy"), "s"),
            shown(of("access-line"), "s"),
            shown(of("web-server"), "s"),
            shown(all, "s"),
            format!("{most}, {part:.0} %"),
        ]
    };
    table(&head, &(0..BACKBONES.len()).map(row).collect::<Vec<_>>())
}

/// His analysis and an exact one beside simulation.
fn compared(runs: &Runs) -> String {
    let head: Vec<String> = [
        "line",
        "backbone",
        "a miss, simulated",
        "his analysis",
        "exact MVA",
        "documents, simulated",
        "his analysis",
        "exact MVA",
    ]
    .map(String::from)
    .to_vec();
    let row = |(rate, backbone): (&str, usize)| {
        let cells = |metric: &str, unit: &str| {
            let both = of_backbone(runs, rate, backbone, metric);
            let exact = Both { theory: shared(runs, rate, backbone, metric), sim: both.sim };
            [shown(both.sim, unit), percent(both.deviation()), percent(exact.deviation())]
        };
        let mut row = vec![rate.to_owned(), format!("{:.0} ms", BACKBONES[backbone].1)];
        row.extend(cells("response_time_mean_users_miss", "s"));
        row.extend(cells("throughput_users", "/s"));
        row
    };
    let rows = RATES.iter().flat_map(|rate| (0..BACKBONES.len()).map(move |backbone| (*rate, backbone)));
    table(&head, &rows.map(row).collect::<Vec<_>>())
}

pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let simulated =
        |name: String, colour: usize, points: Vec<(f64, f64)>| Series { name, published: false, colour, points };
    let hits: Vec<Series> = [CLOSED, OPEN]
        .into_iter()
        .flat_map(|reading| NARROW_AND_WIDE.map(|rate| (reading, rate)))
        .enumerate()
        .map(|(colour, (reading, rate))| {
            let point =
                |(index, hits): (usize, &&str)| Some((100.0 * part(hits), line(runs, reading, rate, index).sim?.value));
            let points = HITS.iter().enumerate().filter_map(point).collect();
            simulated(format!("{}, {rate}", READINGS[reading].0), colour, points)
        })
        .collect();
    // By the backbone's delay: simulated, and his analysis dashed.
    let pair = |name: &str, colour: usize, rate: &str, metric: &str| {
        let points = |value: &dyn Fn(Both) -> Option<f64>| {
            let point =
                |backbone: usize| Some((BACKBONES[backbone].1, value(of_backbone(runs, rate, backbone, metric))?));
            (0..BACKBONES.len()).filter_map(point).collect::<Vec<_>>()
        };
        let analysis = points(&|both| both.theory);
        [
            simulated(name.to_owned(), colour, points(&|both| Some(both.sim?.value))),
            Series { name: format!("{name}, analysis"), published: true, colour, points: analysis },
        ]
    };
    let places = |rate: &str| -> Vec<Series> {
        let of =
            |(colour, place): (usize, &&str)| pair(place, colour + 1, rate, &format!("response_time_mean_{place}"));
        let whole = pair("all of a miss", 0, rate, "response_time_mean_users_miss");
        whole.into_iter().chain(PLACES.iter().enumerate().flat_map(of)).collect()
    };
    let throughput: Vec<Series> =
        RATES.iter().enumerate().flat_map(|(colour, rate)| pair(rate, colour, rate, "throughput_users")).collect();
    let figure = |file, title, axes: [&str; 2], series: &[Series]| Figure {
        file,
        title,
        svg: curves(title, axes[0], axes[1], series),
    };
    let by_backbone = ["delay of the backbone (ms)", "seconds"];
    vec![
        figure("hits", "Delay of the access line by the hit ratio (Figure 4.6)", ["hits (%)", "seconds"], &hits),
        figure("backbone-1.5", "1.5 Mbit/s (Figures 4.7 and 4.11)", by_backbone, &places(RATES[0])),
        figure("backbone-6", "6 Mbit/s (Figures 4.9 and 4.12)", by_backbone, &places(RATES[1])),
        figure(
            "throughput",
            "Documents per second of the users (Figure 4.13)",
            ["delay of the backbone (ms)", "documents per second"],
            &throughput,
        ),
    ]
}

const INTRODUCTION: &str = "\
Users who ask for the next document as soon as they have one go to a proxy; what is not there comes over backbone and
access line from the web server. He says that there is an open chain as well, and prints neither its rate nor its way
nor **the number of users**. Two numbers of his bind them: with a backbone of 100 ms and 6 Mbit/s a miss takes 300 ms,
and that is three fourths of what it takes with 1.5 Mbit/s. By mean value analysis (exact for a web server that shares
without limit, and its 16 helpers are hardly ever all busy), by the number of users: how many visitors per second make
it 300 ms, and what the ratio is then, for two ways that visitors may take.

";

const HITS_TEXT: &str = "
So 8 users are used below, and 12.5 visitors per second who meet them at the web server only. They are inferred and not
his: how much hangs on them is in the table, and the next one has 2 users beside them, and users who ask at a given
rate, whatever they still wait for.

Figure 4.6, what the access line takes for a document that goes over it, by the hit ratio:

";

const BACKBONE_TEXT: &str = "\
He describes the figure as a fall up to 50 % on the narrow line, hardly any beyond, and next to none on the wide one.
This is judged above for users who wait and for requests at a given rate, where the line's load is in proportion to the
misses.

Figures 4.7 to 4.10, where a miss spends its time, 51 % hits, simulated:

";

const MVA_TEXT: &str = "\
Figures 4.11 to 4.13: his analysis puts a delay in place of the web server, as long as the server alone takes under
Poisson arrivals at the throughput that comes out. *Exact MVA* keeps the server in the network, as processor sharing
without a limit. How far both are from simulation:

";
