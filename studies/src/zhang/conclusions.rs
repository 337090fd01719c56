//! Each conclusion of sections 5.2, 5.3 and 6, against his own tables and against our runs.
//!
//! A conclusion is judged on all that it says, by the same comparisons on both sides: ours replication by replication,
//! his with the intervals of Table 5.1 where it has the number. His other tables have no intervals, so there only his
//! figures are compared. The price is that what he calls close together may be open by his own intervals.

use std::fmt::Write;

use super::Study;
use super::published::{Configuration, USERS, borrowed};
use super::tables::{SYSTEMS, system};
use crate::answers::{Replications, less, over};
use crate::finding::tally;
use crate::number::{Number, difference, interval, known, quotient, scaled};
use crate::verdict::{Comparison, Verdict, below, counted, near, near_number, positive};

/// A conclusion, with figures and comparisons of his tables and of our runs.
pub(super) struct Row {
    section: &'static str,
    pub(super) claim: &'static str,
    pub(super) his: Side,
    pub(super) ours: Side,
}

pub(super) type Side = (String, Vec<Comparison>);

/// Numbers that are close together, as good or equal are within a tenth of each other, unless he says more.
const CLOSE: f64 = 0.1;

pub(super) fn rows(study: &Study) -> Vec<Row> {
    vec![
        switch_beats_gateway(study, "1.143"),
        switch_beats_gateway(study, "2.5"),
        mean_order(study),
        order_repeats(study),
        overload(study),
        one_over_n(study),
        little_to_gain_below_140(study),
        ties_skew(study),
        persistent_connections_do_not(study),
        low_numbers_at_light_load(study),
        larger_files(study),
        objects_show_balance(study),
        uplink(study),
        short_window(study, "XSIZE"),
        short_window(study, "RT"),
        round_trip_matches_connections(study),
        polling(study),
        simple_as_good(study),
    ]
}

/// The number of his conclusions that hold, in a sentence.
pub(super) fn in_short(study: &Study) -> String {
    let rows = rows(study);
    let verdicts = |of: fn(&Row) -> &Side| tally(&rows.iter().map(|row| Verdict::of(&of(row).1)).collect::<Vec<_>>());
    format!(
        "Of {} conclusions tested, {} in our runs; in his own tables {}.",
        rows.len(),
        verdicts(|row| &row.ours),
        verdicts(|row| &row.his)
    )
}

/// The table of conclusions.
pub(super) fn table(study: &Study) -> String {
    let mut text =
        "Behind a verdict stand the comparisons for it, against it and open.\n\n| section | conclusion | in \
        his own tables | | in our runs | |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for Row { section, claim, his, ours } in rows(study) {
        let judged = |of: &Side| format!("{} | {}: {}", of.0, Verdict::of(&of.1).words(), counted(&of.1));
        let _ = writeln!(text, "| {section} | {claim} | {} | {} |", judged(&his), judged(&ours));
    }
    text
}

impl Study {
    fn configuration(&self, name: &str) -> &Configuration {
        let found = self.configurations.iter().find(|of| of.name() == name);
        found.unwrap_or_else(|| panic!("his Appendix D has no {name}"))
    }

    /// His number, which has no interval.
    fn his(&self, name: &str, users: u32, metric: &str) -> Option<Number> {
        known(self.configuration(name).published(&self.simulation, users, metric, "mean")?)
    }

    /// His number for each server.
    fn his_servers(&self, name: &str, users: u32, metric: &str) -> Vec<f64> {
        let of =
            |server| self.configuration(name).published(&self.simulation, users, metric, &format!("server{server}"));
        shares((1..=8).filter_map(of).collect())
    }

    /// Our number.
    fn our_number(&self, name: &str, users: u32, metric: &str) -> Option<Number> {
        let (experiment, wanted) = self.configuration(name).at(users);
        self.ours[experiment].number(&borrowed(&wanted), metric)
    }

    /// Ours in each replication.
    fn replicated(&self, name: &str, users: u32, metric: &str) -> Option<Replications<'_>> {
        let (experiment, wanted) = self.configuration(name).at(users);
        self.ours[experiment].replications(&borrowed(&wanted), metric)
    }

    /// The mean response time of `a` less that of `b`.
    fn slower(&self, a: &str, b: &str, users: u32) -> Option<Number> {
        let of = |name| self.replicated(name, users, "response_time_mean");
        less(of(a), of(b))
    }

    /// Our shares of each of four servers.
    fn our_servers(&self, name: &str, users: u32, metric: &str) -> Vec<Option<Number>> {
        (1..=4).map(|server| self.our_number(name, users, &format!("{metric}_{server}"))).collect()
    }

    /// The spread of the shares of four servers: the largest less the smallest, over the equal share.
    fn our_spread(&self, name: &str, users: u32, metric: &str) -> Option<Number> {
        let (experiment, wanted) = self.configuration(name).at(users);
        self.ours[experiment].spread(metric, 4, &borrowed(&wanted))
    }
}

fn shares(values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|value| if sum > 0.0 { value / sum } else { 0.0 }).collect()
}

fn spread(shares: &[f64]) -> Option<Number> {
    let (low, high) = shares.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    known((high - low) * shares.len() as f64)
}

fn percents(shares: &[f64]) -> String {
    shares.iter().map(|share| format!("{:.0}", share * 100.0)).collect::<Vec<_>>().join(" : ")
}

fn our_percents(shares: &[Option<Number>]) -> String {
    percents(&shares.iter().flatten().map(|of| of.value).collect::<Vec<_>>())
}

fn knowns(values: &[f64]) -> Vec<Option<Number>> {
    values.iter().map(|value| known(*value)).collect()
}

fn seconds(number: Option<Number>) -> String {
    number.map_or("-".into(), |of| format!("{:.3} s", of.value))
}

fn list(of: impl IntoIterator<Item = String>) -> String {
    of.into_iter().collect::<Vec<_>>().join(", ")
}

/// His mean latency at 640 users of one of [`SYSTEMS`], with the interval of Table 5.1.
fn his_mean(study: &Study, name: &str) -> Option<Number> {
    let of = |column| his_column(study, name, column);
    Some(Number { value: of("mean_s")?, low: of("ci_low_s")?, high: of("ci_high_s")?, is_suspect: false })
}

fn his_column(study: &Study, name: &str, column: &str) -> Option<f64> {
    let (_, policy, window, _) = SYSTEMS.iter().find(|(of, ..)| *of == name)?;
    study.summary.number(&[("policy", policy), ("window_s", window)], column)
}

fn switch_beats_gateway(study: &Study, sigma: &str) -> Row {
    let names = |policy: &str| ["G", "S"].map(|face| format!("{policy}-{face}, s = {sigma}"));
    let his = ["RR", "XSIZE", "CONN", "RT", "RAN"].into_iter().filter_map(|policy| {
        let [gateway, switch] = names(policy).map(|name| study.his(&name, 640, "latency_s"));
        let figures = format!("{policy} {} / {}", seconds(switch), seconds(gateway));
        (gateway.is_some() && switch.is_some()).then(|| (figures, below(switch, gateway)))
    });
    let ours = ["RR", "XSIZE", "CONN", "RT", "RAN"].map(|policy| {
        let longer = if sigma == "1.143" {
            let gateway = system(&format!("{policy}-G"));
            let mut switch = gateway.to_vec();
            switch.retain(|(key, _)| *key != "face");
            switch.push(("face", "switch"));
            study.ours["7-order"].paired("response_time_mean", gateway, &switch)
        } else {
            let [gateway, switch] = names(policy);
            study.slower(&gateway, &switch, 640)
        };
        (format!("{policy} {}", difference(longer)), positive(longer))
    });
    let side = |of: Vec<(String, Comparison)>| {
        let (figures, comparisons): (Vec<_>, Vec<_>) = of.into_iter().unzip();
        (figures.join(", "), comparisons)
    };
    Row {
        section: "5.2.2, 5.3, 6",
        claim: match sigma {
            "1.143" => {
                "A switch beats a gateway (mean latency at 640 users, s = 1.143, switch / gateway; ours: gateway minus \
                switch, paired)"
            }
            _ => "The same at s = 2.5 (three replications)",
        },
        his: side(his.collect()),
        ours: side(ours.to_vec()),
    }
}

/// XSIZE slower than all, RT slower than the rest, and these close together.
fn order_of_means(
    slower: impl Fn(&str, &str) -> Comparison,
    close: impl Fn(&str, &str) -> Comparison,
) -> Vec<Comparison> {
    let rest = ["RAN-G", "RR-G", "CONN-G"];
    let mut all = vec![slower("XSIZE-G", "RT-G")];
    all.extend(rest.map(|fast| slower("XSIZE-G", fast)));
    all.extend(rest.map(|fast| slower("RT-G", fast)));
    all.extend([close("RAN-G", "RR-G"), close("RAN-G", "CONN-G"), close("RR-G", "CONN-G")]);
    all
}

fn mean_order(study: &Study) -> Row {
    let ours = &study.ours["7-order"];
    let names = ["XSIZE-G", "RT-G", "RAN-G", "RR-G", "CONN-G"];
    let our = |name: &str| ours.number(system(name), "response_time_mean");
    Row {
        section: "5.2.2",
        claim: "By mean latency XSIZE is slowest, then RT, then RR, RAN and CONN close together (640 users; each pair \
            of the last three within 10 %)",
        his: (
            list(names.map(|name| format!("{name} {}", interval(his_mean(study, name), 3)))),
            order_of_means(
                |slow, fast| below(his_mean(study, fast), his_mean(study, slow)),
                |a, b| near(his_mean(study, a), his_mean(study, b), 1.0, CLOSE),
            ),
        ),
        ours: (
            list(names.map(|name| format!("{name} {}", interval(our(name), 3)))),
            order_of_means(
                |slow, fast| positive(ours.paired("response_time_mean", system(slow), system(fast))),
                |a, b| near_number(ours.ratio("response_time_mean", system(a), system(b)), 1.0, CLOSE),
            ),
        ),
    }
}

fn order_repeats(study: &Study) -> Row {
    let side = |slower: &dyn Fn(&str, &str, u32) -> Comparison| {
        let groups = [("G", "1.143"), ("S", "1.143"), ("G", "2.5"), ("S", "2.5")];
        let groups = groups.into_iter().flat_map(|group| [480, 640, 800, 960].map(|users| (group, users)));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for ((face, sigma), users) in groups {
            let of = |slow: &str, fast: &str| {
                slower(&format!("{slow}-{face}, s = {sigma}"), &format!("{fast}-{face}, s = {sigma}"), users)
            };
            first.extend(["RT", "RR", "RAN", "CONN"].map(|fast| of("XSIZE", fast)));
            second.extend(["RR", "RAN", "CONN"].map(|fast| of("RT", fast)));
        }
        let figures =
            format!("XSIZE slower than the others {}; RT than the rest {}", counted(&first), counted(&second));
        (figures, [first, second].concat())
    };
    Row {
        section: "5.2.2",
        claim: "The order repeats for larger s and over the loads (XSIZE slower than all others, RT slower than RR, RAN \
            and CONN, for both architectures and both s, at each load from 480 users up)",
        his: side(&|slow, fast, users| below(study.his(fast, users, "latency_s"), study.his(slow, users, "latency_s"))),
        ours: side(&|slow, fast, users| positive(study.slower(slow, fast, users))),
    }
}

/// What overload is judged by: `over_peak(n, users)` is the throughput of n servers over its largest, and `peaks` the
/// largest of 4 servers over one server's. About 280 users is a tenth more or less: it must begin after 200 users and
/// no later than 320. 600 to 700 users: after 480, and no later than 800.
fn overloaded(over_peak: impl Fn(&str, u32) -> Option<Number>, peaks: Option<Number>) -> Side {
    // Within 5 % of the peak.
    let reached = |servers: &str, users: u32| below(known(0.95), over_peak(servers, users));
    let shown = |servers: &str, users: u32| interval(over_peak(servers, users), 2);
    let figures = format!(
        "2 servers: {} at 200, {} at 320 users; 4: {} at 480, {} at 800; 8: {} at 800; peak of 4 over that of one: {}",
        shown("2", 200),
        shown("2", 320),
        shown("4", 480),
        shown("4", 800),
        shown("8", 800),
        interval(peaks, 2)
    );
    let comparisons = vec![
        !reached("2", 200),
        reached("2", 320),
        !reached("4", 480),
        reached("4", 800),
        !reached("8", 800),
        near_number(peaks, 4.0, CLOSE),
    ];
    (figures, comparisons)
}

/// The load with the largest throughput.
fn busiest(throughput: impl Fn(u32) -> Option<f64>) -> u32 {
    let value = |users: &u32| throughput(*users).unwrap_or(0.0);
    USERS.into_iter().max_by(|a, b| value(a).total_cmp(&value(b))).expect("there are loads")
}

/// Round robin behind a gateway on so many servers, at s = 1.143.
fn round_robin(servers: &str) -> String {
    if servers == "4" { "RR-G, s = 1.143".into() } else { format!("RR-G, {servers} servers, s = 1.143") }
}

fn overload(study: &Study) -> Row {
    let his = |servers: &str, users: u32| match servers {
        "1" => his_single(study, users, "C.11"),
        _ => study.his(&round_robin(servers), users, "objects_per_s"),
    };
    let his_peak = |servers: &str| his(servers, busiest(|users| Some(his(servers, users)?.value)));
    let ours = |servers: &str, users: u32| {
        let users = users.to_string();
        study.ours["3-servers"].replications(&[("servers", servers), ("users", &users)], "throughput")
    };
    let our_value = |servers: &str, users: u32| {
        let users = users.to_string();
        study.ours["3-servers"].value(&[("servers", servers), ("users", &users)], "throughput")
    };
    let our_peak = |servers: &str| ours(servers, busiest(|users| our_value(servers, users)));
    Row {
        section: "5.2.2, 5.2.5",
        claim: "2 servers are overloaded at about 280 users, 4 at 600 to 700, 8 not up to 960; the peak of 4 is about 4 \
            times that of one (throughput over its peak, overloaded from 0.95; about: within 10 %)",
        his: overloaded(
            |servers, users| quotient(his(servers, users), his_peak(servers)),
            quotient(his_peak("4"), his_peak("1")),
        ),
        ours: overloaded(
            |servers, users| over(ours(servers, users), our_peak(servers)),
            over(our_peak("4"), our_peak("1")),
        ),
    }
}

/// His single server at 100 Mbit/s: the mean of his own three runs, with any status of the column beside them.
fn his_single(study: &Study, users: u32, table: &str) -> Option<Number> {
    let users = users.to_string();
    let run = |run: &str| study.validation.number(&[("table", table), ("users", &users)], run);
    known((run("run1")? + run("run2")? + run("run3")?) / 3.0)
}

fn one_over_n(study: &Study) -> Row {
    let counts = [("2", 2.0), ("4", 4.0), ("8", 8.0)];
    let side = |latency: &dyn Fn(&str) -> Option<Number>, objects: &dyn Fn(&str) -> Option<Number>| {
        let all = |of: &dyn Fn(&str) -> Option<Number>| list(counts.map(|(servers, _)| interval(of(servers), 2)));
        let near = |of: &dyn Fn(&str) -> Option<Number>| counts.map(|(servers, n)| near_number(of(servers), n, 0.15));
        (
            format!("latency {} times lower, objects {} times more", all(latency), all(objects)),
            [near(latency), near(objects)].concat(),
        )
    };
    let his = |servers: &str, metric: &str| study.his(&round_robin(servers), 960, metric);
    let ours = |servers: &str, metric: &str| {
        study.ours["3-servers"].replications(&[("servers", servers), ("users", "960")], metric)
    };
    Row {
        section: "5.2.5, 5.3, 6",
        claim: "N servers under heavy load give 1/N of one server's latency and N times its objects (960 users, N = 2, \
            4, 8; within 15 %)",
        his: side(&|servers| quotient(his_single(study, 960, "C.10"), his(servers, "latency_s")), &|servers| {
            quotient(his(servers, "objects_per_s"), his_single(study, 960, "C.11"))
        }),
        ours: side(&|servers| over(ours("1", "response_time_mean"), ours(servers, "response_time_mean")), &|servers| {
            over(ours(servers, "throughput"), ours("1", "throughput"))
        }),
    }
}

fn little_to_gain_below_140(study: &Study) -> Row {
    let side = |gain: &dyn Fn(u32) -> Option<Number>| {
        let few = USERS.into_iter().filter(|users| *users < 140);
        (
            format!("{} at 60, {} at 120 users", interval(gain(60), 2), interval(gain(120), 2)),
            few.map(|users| below(gain(users), known(1.15))).collect(),
        )
    };
    let ours = |users: u32| {
        let users = users.to_string();
        let with = |servers| [("servers", servers), ("users", users.as_str())];
        study.ours["3-servers"].ratio("throughput", &with("8"), &with("1"))
    };
    Row {
        section: "5.2.5",
        claim: "Below 140 users more servers bring little (objects of 8 servers over those of one, at each load: less \
            than 15 % more)",
        his: side(&|users| {
            quotient(study.his(&round_robin("8"), users, "objects_per_s"), his_single(study, users, "C.11"))
        }),
        ours: side(&ours),
    }
}

fn ties_skew(study: &Study) -> Row {
    let name = "BRYHNI-CONN-G HTTP/1.0, s = 1.143";
    let (his, ours) = (study.his_servers(name, 640, "objects_per_s"), study.our_servers(name, 640, "share"));
    Row {
        section: "5.2.1",
        claim: "Ties to the lowest number skew HTTP/1.0 strongly to the first servers (objects per server in %, 640 \
            users: from each server to the next fewer, and the first has half as many again as the last)",
        his: (percents(&his), skewed(&knowns(&his))),
        ours: (our_percents(&ours), skewed(&ours)),
    }
}

/// Each server has more than the next, and the first half as many again as the last.
fn skewed(shares: &[Option<Number>]) -> Vec<Comparison> {
    let falls = shares.windows(2).map(|pair| below(pair[1], pair[0]));
    let [first, .., last] = shares else { return Vec::new() };
    falls.chain([below(scaled(*last, 1.5), *first)]).collect()
}

fn persistent_connections_do_not(study: &Study) -> Row {
    let names = ["1.1", "1.0"].map(|http| format!("BRYHNI-CONN-G HTTP/{http}, s = 1.143"));
    let side = |spreads: [Option<Number>; 2]| {
        let figures = spreads.map(|of| interval(of, 2));
        (format!("{} instead of {}", figures[0], figures[1]), vec![below(spreads[0], scaled(spreads[1], 0.5))])
    };
    Row {
        section: "5.2.1",
        claim: "With persistent connections the skew is far less (largest less smallest number of objects, over the \
            equal share: less than half of that with HTTP/1.0)",
        his: side(names.each_ref().map(|name| spread(&study.his_servers(name, 640, "objects_per_s")))),
        ours: side(names.each_ref().map(|name| study.our_spread(name, 640, "share"))),
    }
}

fn low_numbers_at_light_load(study: &Study) -> Row {
    let name = "XSIZE-G, s = 1.143";
    let his = |users: u32| study.his_servers(name, users, "objects_per_s");
    let ours = |users: u32| study.our_servers(name, users, "share");
    let loads = [1, 10, 20, 40];
    let leans = |shares: &[Option<Number>]| {
        let [first, .., last] = shares else { return Vec::new() };
        vec![below(known(0.25), *first), below(*last, known(0.25))]
    };
    Row {
        section: "5.2.3",
        claim: "Below 50 users the load leans to servers of low number (XSIZE-G, objects per server in % at 1, 10, 20 \
            and 40 users: the first above and the last below an equal share; ours draws ties)",
        his: (
            list(loads.map(|users| percents(&his(users)))),
            loads.into_iter().flat_map(|users| leans(&knowns(&his(users)))).collect(),
        ),
        ours: (
            list(loads.map(|users| our_percents(&ours(users)))),
            loads.into_iter().flat_map(|users| leans(&ours(users))).collect(),
        ),
    }
}

fn larger_files(study: &Study) -> Row {
    let (small, large) = ("RR-S, s = 1.143", "RR-S, s = 2.5");
    let side = |number: &dyn Fn(&str, usize) -> Option<Number>, rises: &dyn Fn(usize) -> Comparison| {
        let figures = ["latency (s)", "objects/s", "MB/s"].into_iter().zip([1.0, 1.0, 1e-6]).enumerate();
        let figures = figures.map(|(metric, (name, factor))| {
            let of = |name: &str| interval(scaled(number(name, metric), factor), 2);
            format!("{name} {}, then {}", of(small), of(large))
        });
        (list(figures), vec![rises(0), !rises(1), rises(2)])
    };
    let metrics =
        [("latency_s", "response_time_mean"), ("objects_per_s", "throughput"), ("bytes_per_s", "byte_throughput")];
    let his = |name: &str, metric: usize| study.his(name, 640, metrics[metric].0);
    let ours = |name: &str, metric: usize| study.replicated(name, 640, metrics[metric].1);
    Row {
        section: "5.2.4, 5.3",
        claim: "With larger files latency rises, objects per second fall and bytes per second rise (RR-S, 640 users, s \
            = 1.143 to 2.5)",
        his: side(&his, &|metric| below(his(small, metric), his(large, metric))),
        ours: side(&|name, metric| study.our_number(name, 640, metrics[metric].1), &|metric| {
            positive(less(ours(large, metric), ours(small, metric)))
        }),
    }
}

fn objects_show_balance(study: &Study) -> Row {
    let name = "RR-G, s = 2.5";
    let side = |[objects, bytes]: [Option<Number>; 2], figures: [String; 2]| {
        (
            format!(
                "objects {}, spread {}; bytes {}, spread {}",
                figures[0],
                interval(objects, 3),
                figures[1],
                interval(bytes, 3)
            ),
            vec![below(objects, known(CLOSE)), below(known(CLOSE), bytes)],
        )
    };
    let his = ["objects_per_s", "bytes_per_s"].map(|metric| study.his_servers(name, 640, metric));
    let metrics = ["share", "byte_share"];
    Row {
        section: "5.2.3, 5.2.4, 5.3, 6",
        claim: "At s = 2.5 objects per server show the balance, bytes do not (RR-G, 640 users, % per server; spread, \
            largest less smallest over the equal share: of objects below 0.1, of bytes above)",
        his: side(his.each_ref().map(|shares| spread(shares)), his.each_ref().map(|shares| percents(shares))),
        ours: side(
            metrics.map(|metric| study.our_spread(name, 640, metric)),
            metrics.map(|metric| our_percents(&study.our_servers(name, 640, metric))),
        ),
    }
}

fn uplink(study: &Study) -> Row {
    let ours = &study.ours["6-uplink"];
    let with = |rate: &'static str| [("cluster_rate", rate), ("users", "960")];
    let (slow, fast) = (with("10 Mbit/s"), with("100 Mbit/s"));
    let longer = ours.paired("response_time_mean", &slow, &fast);
    let fewer = ours.paired("byte_throughput", &fast, &slow);
    let bytes = |wanted: &[(&str, &str)]| scaled(ours.number(wanted, "byte_throughput"), 1e-6);
    Row {
        section: "5.2.6, 5.3",
        claim: "An uplink of 10 Mbit/s caps throughput (1.25 MB/s) and raises latency (CONN-G, 960 users)",
        his: ("Figures 5.28 and 5.29 only, no table".into(), Vec::new()),
        ours: (
            format!(
                "{} MB/s instead of {}; latency {} s",
                interval(bytes(&slow), 2),
                interval(bytes(&fast), 2),
                difference(longer)
            ),
            vec![below(bytes(&slow), known(1.25)), positive(fewer), positive(longer)],
        ),
    }
}

fn short_window(study: &Study, policy: &str) -> Row {
    let (long, short) = (format!("{policy}-G"), format!("{policy}-G 0.1 s"));
    let his = |name: &str, column: &str| {
        if column == "mean_s" { his_mean(study, name) } else { his_column(study, name, column).and_then(known) }
    };
    let ours = |metric| study.ours["7-order"].paired(metric, system(&long), system(&short));
    let (mean, p90) = (ours("response_time_mean"), ours("response_time_p90"));
    Row {
        section: "5.2.7, 5.3, 6",
        claim: match policy {
            "RT" => {
                "A window of 0.1 s instead of 1 s rescues round trip (640 users, mean and p90; ours: 1 s minus 0.1 s)"
            }
            _ => {
                "A window of 0.1 s instead of 1 s improves transmitted size (640 users, mean and p90; ours: 1 s minus \
                0.1 s)"
            }
        },
        his: (
            list(["mean_s", "p90_s"].map(|column| {
                format!("{} to {} s", interval(his(&long, column), 3), interval(his(&short, column), 3))
            })),
            ["mean_s", "p90_s"].map(|column| below(his(&short, column), his(&long, column))).to_vec(),
        ),
        ours: (format!("mean {}, p90 {}", difference(mean), difference(p90)), vec![positive(mean), positive(p90)]),
    }
}

fn round_trip_matches_connections(study: &Study) -> Row {
    let (short, conn) = ("RT-G 0.1 s", "CONN-G");
    let ratio = study.ours["7-order"].ratio("response_time_mean", system(short), system(conn));
    Row {
        section: "5.2.7, 5.3, 6",
        claim: "With a window of 0.1 s round trip is as good as least connections (ratio of the means within 5 %)",
        his: (
            interval(quotient(his_mean(study, short), his_mean(study, conn)), 3),
            vec![near(his_mean(study, short), his_mean(study, conn), 1.0, 0.05)],
        ),
        ours: (interval(ratio, 3), vec![near_number(ratio, 1.0, 0.05)]),
    }
}

fn polling(study: &Study) -> Row {
    let name = |window: &str| match window {
        "1" => "CONN-G, s = 1.143".to_owned(),
        other => format!("CONN-G, {other} s, s = 1.143"),
    };
    // What is equal lies within 5 %, and what hurts is slower by more.
    let side = |ratio: &dyn Fn(&str, &str) -> Option<Number>| {
        let equal = [("0.1", "1"), ("4", "1"), ("4", "0.1")].map(|(a, b)| near_number(ratio(a, b), 1.0, 0.05));
        let hurts = ["0.1", "1", "4"].map(|short| below(known(1.05), ratio("8", short)));
        (list(["0.1", "4", "8"].map(|window| interval(ratio(window, "1"), 3))), [equal, hurts].concat())
    };
    let his = |window: &str| study.his(&name(window), 640, "latency_s");
    let ours = |window: &str| study.replicated(&name(window), 640, "response_time_mean");
    Row {
        section: "5.2.7, 5.3, 6",
        claim: "Polling every 8 s hurts least connections, 0.1 to 4 s perform equally (mean latency at 0.1, 4 and 8 s \
            over that at 1 s, 640 users; equal: each pair within 5 %, 8 s beyond that of each)",
        his: side(&|a, b| quotient(his(a), his(b))),
        ours: side(&|a, b| over(ours(a), ours(b))),
    }
}

fn simple_as_good(study: &Study) -> Row {
    let ratio = study.ours["7-order"].ratio("response_time_mean", system("RR-G"), system("CONN-G"));
    let his = quotient(his_mean(study, "RR-G"), his_mean(study, "CONN-G"));
    Row {
        section: "5.3, 6",
        claim: "Round robin is nearly as good as least connections in the mean (ratio: not more than 10 % slower)",
        his: (interval(his, 3), vec![below(his, known(1.0 + CLOSE))]),
        ours: (interval(ratio, 3), vec![below(ratio, known(1.0 + CLOSE))]),
    }
}
