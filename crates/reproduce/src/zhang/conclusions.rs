//! Each conclusion of sections 5.2, 5.3 and 6, against his own tables and against our runs.
//!
//! A verdict is computed: a claim is a comparison of figures, and "holds" means that the comparison is true, for the
//! whole interval if there is one. His tables have no intervals except Table 5.1, so elsewhere only his figures are
//! compared.

use std::fmt::Write;

use super::Study;
use super::published::{Configuration, USERS};
use super::tables::{difference, interval, scaled, system};
use crate::answers::Paired;

/// Whether a claim holds.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Yes,
    No,
    Partly,
    Undecided,
}

impl Holds {
    fn all(of: impl IntoIterator<Item = Holds>) -> Holds {
        let of: Vec<Holds> = of.into_iter().collect();
        let some = |what: Holds| of.contains(&what);
        match of.first() {
            None => Holds::Undecided,
            Some(first) if of.iter().all(|one| one == first) => *first,
            Some(_) if some(Holds::Yes) || some(Holds::Partly) => Holds::Partly,
            Some(_) if some(Holds::No) => Holds::No,
            Some(_) => Holds::Undecided,
        }
    }

    fn when(condition: Option<bool>) -> Holds {
        match condition {
            Some(true) => Holds::Yes,
            Some(false) => Holds::No,
            None => Holds::Undecided,
        }
    }

    fn of(paired: Option<Paired>) -> Holds {
        Holds::when(paired.and_then(Paired::sign))
    }

    fn words(self) -> &'static str {
        match self {
            Holds::Yes => "holds",
            Holds::No => "does not hold",
            Holds::Partly => "holds in part",
            Holds::Undecided => "undecided",
        }
    }
}

struct Row {
    section: &'static str,
    claim: &'static str,
    his: (String, Holds),
    ours: (String, Holds),
}

fn rows(study: &Study) -> Vec<Row> {
    vec![
        switch_beats_gateway(study, "1.143"),
        switch_beats_gateway(study, "2.5"),
        mean_order(study),
        slow_policies_stay_slow(study),
        overload(study),
        one_over_n(study),
        little_to_gain_below_140(study),
        skew(study, "1.0"),
        skew(study, "1.1"),
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
    let count = |of: fn(&Row) -> Holds| {
        let number = |what: Holds| rows.iter().filter(|row| of(row) == what).count();
        let (yes, partly) = (number(Holds::Yes), number(Holds::Partly));
        let (no, open) = (number(Holds::No), number(Holds::Undecided));
        format!("{yes} hold, {partly} hold in part, {no} do not, {open} cannot be decided")
    };
    format!(
        "Of {} conclusions tested, {} in our runs; in his own tables {}.",
        rows.len(),
        count(|row| row.ours.1),
        count(|row| row.his.1)
    )
}

/// The table of conclusions.
pub(super) fn table(study: &Study) -> String {
    let rows = rows(study);
    let mut text =
        "| section | conclusion | in his own tables | | in our runs | |\n|---|---|---|---|---|---|\n".to_owned();
    for Row { section, claim, his, ours } in rows {
        let _ = writeln!(
            text,
            "| {section} | {claim} | {} | {} | {} | {} \
                |",
            his.0,
            his.1.words(),
            ours.0,
            ours.1.words()
        );
    }
    text
}

impl Study {
    fn configuration(&self, name: &str) -> &Configuration {
        let found = self.configurations.iter().find(|of| of.name() == name);
        found.unwrap_or_else(|| panic!("his Appendix D has no {name}"))
    }

    fn his(&self, name: &str, users: u32, metric: &str) -> Option<f64> {
        self.configuration(name).published(&self.simulation, users, metric, "mean")
    }

    fn of(&self, name: &str, users: u32, metric: &str) -> Option<f64> {
        self.our(self.configuration(name), users, metric)
    }

    /// Per server: his column of the table, and ours of `metric_k`.
    fn per_server(&self, name: &str, users: u32, his: &str, ours: &str) -> (Vec<f64>, Vec<f64>) {
        let of = self.configuration(name);
        let his = (1..=8).filter_map(|k| of.published(&self.simulation, users, his, &format!("server{k}")));
        let ours = (1..=8).filter_map(|k| self.our(of, users, &format!("{ours}_{k}")));
        (shares(his.collect()), shares(ours.collect()))
    }
}

fn shares(values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|value| if sum > 0.0 { value / sum } else { 0.0 }).collect()
}

fn percents(shares: &[f64]) -> String {
    shares.iter().map(|share| format!("{:.0}", share * 100.0)).collect::<Vec<_>>().join(" : ")
}

fn seconds(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3} s"))
}

fn below(a: Option<f64>, b: Option<f64>) -> Option<bool> {
    Some(a? < b?)
}

const POLICIES: [&str; 5] = ["RR", "XSIZE", "CONN", "RT", "RAN"];

fn switch_beats_gateway(study: &Study, sigma: &str) -> Row {
    let ours = &study.ours["7-order"];
    let (mut his_text, mut our_text) = (Vec::new(), Vec::new());
    let (mut his, mut our) = (Vec::new(), Vec::new());
    for policy in POLICIES {
        let of = |face: &str, metric: &str, which: fn(&Study, &str, u32, &str) -> Option<f64>| {
            which(study, &format!("{policy}-{face}, s = {sigma}"), 640, metric)
        };
        let (gateway, switch) = (of("G", "latency_s", Study::his), of("S", "latency_s", Study::his));
        if gateway.is_some() && switch.is_some() {
            his_text.push(format!("{policy} {} / {}", seconds(switch), seconds(gateway)));
            his.push(Holds::when(below(switch, gateway)));
        }
        if sigma == "1.143" {
            let gateway = system(&format!("{policy}-G"));
            let mut switch = gateway.to_vec();
            switch.retain(|(key, _)| *key != "face");
            switch.push(("face", "switch"));
            let paired = ours.paired("response_time_mean", gateway, &switch);
            our_text.push(format!("{policy} {}", difference(paired)));
            our.push(Holds::of(paired));
        } else {
            let (gateway, switch) =
                (of("G", "response_time_mean", Study::of), of("S", "response_time_mean", Study::of));
            our_text.push(format!("{policy} {} / {}", seconds(switch), seconds(gateway)));
            our.push(Holds::when(below(switch, gateway)));
        }
    }
    let claim = match sigma {
        "1.143" => {
            "A switch beats a gateway (mean latency at 640 users, s = 1.143; ours: gateway minus switch, paired)"
        }
        _ => "The same at s = 2.5 (switch / gateway; three replications, no intervals)",
    };
    Row {
        section: "5.2.2, 5.3, 6",
        claim,
        his: (his_text.join(", "), Holds::all(his)),
        ours: (our_text.join(", "), Holds::all(our)),
    }
}

fn mean_order(study: &Study) -> Row {
    let ours = &study.ours["7-order"];
    let his = |policy: &str| {
        let window = if matches!(policy, "rr" | "ran") { "" } else { "1" };
        study.summary.number(&[("policy", policy), ("window_s", window)], "mean_s")
    };
    let text = |policy: &str, name: &str| format!("{name} {}", seconds(his(policy)));
    let fastest = [his("rr"), his("ran"), his("conn")].into_iter().flatten().fold(0.0, f64::max);
    let slower = |name: &str| {
        Holds::all(
            ["RR-G", "RAN-G", "CONN-G"]
                .map(|fast| Holds::of(ours.paired("response_time_mean", system(name), system(fast)))),
        )
    };
    let our = |name: &str| format!("{name} {}", seconds(ours.value(system(name), "response_time_mean")));
    Row {
        section: "5.2.2",
        claim: "By mean latency XSIZE is slowest, then RT, then RR, RAN and CONN close together (640 users)",
        his: (
            [text("xsize", "XSIZE"), text("rt", "RT"), text("ran", "RAN"), text("rr", "RR"), text("conn", "CONN")]
                .join(", "),
            Holds::when(Some(his("xsize") > his("rt") && his("rt") > Some(fastest))),
        ),
        ours: (
            ["XSIZE-G", "RT-G", "RAN-G", "RR-G", "CONN-G"].map(our).join(", "),
            Holds::all([
                Holds::of(ours.paired("response_time_mean", system("XSIZE-G"), system("RT-G"))),
                slower("XSIZE-G"),
                slower("RT-G"),
            ]),
        ),
    }
}

fn slow_policies_stay_slow(study: &Study) -> Row {
    let slowest = |which: fn(&Study, &str, u32, &str) -> Option<f64>, metric: &str| {
        let (mut groups, mut xsize) = (0, 0);
        for (face, sigma) in [("G", "1.143"), ("S", "1.143"), ("G", "2.5"), ("S", "2.5")] {
            for users in [480, 640, 800, 960] {
                let of = |policy: &str| which(study, &format!("{policy}-{face}, s = {sigma}"), users, metric);
                let others = ["RR", "CONN", "RT", "RAN"].into_iter().filter_map(of).fold(0.0, f64::max);
                groups += 1;
                xsize += usize::from(of("XSIZE").is_some_and(|xsize| xsize > others));
            }
        }
        let text = format!("XSIZE is slowest in {xsize} of {groups} groups (architecture, s, load)");
        (
            text,
            if xsize == groups {
                Holds::Yes
            } else if xsize == 0 {
                Holds::No
            } else {
                Holds::Partly
            },
        )
    };
    Row {
        section: "5.2.2",
        claim: "The order repeats for larger s and over the loads (here: XSIZE slowest from 480 users up)",
        his: slowest(Study::his, "latency_s"),
        ours: slowest(Study::of, "response_time_mean"),
    }
}

fn overload(study: &Study) -> Row {
    // Overloaded from the first load at which throughput is within 5 % of its largest.
    let knee = |value: &dyn Fn(u32) -> Option<f64>| {
        let all: Vec<(u32, f64)> = USERS.iter().filter_map(|users| Some((*users, value(*users)?))).collect();
        let most = all.iter().map(|(_, x)| *x).fold(0.0, f64::max);
        all.iter().find(|(_, x)| *x >= 0.95 * most).map(|(users, _)| (*users, most))
    };
    let knees = |which: fn(&Study, &str, u32, &str) -> Option<f64>, metric: &str, single: Option<f64>| {
        let names = ["RR-G, 2 servers, s = 1.143", "RR-G, s = 1.143", "RR-G, 8 servers, s = 1.143"];
        let knees = names.map(|name| knee(&|users| which(study, name, users, metric)));
        let [two, four, eight] = knees.map(|knee| knee.map_or(0, |(users, _)| users));
        let text = format!(
            "2 servers from {two}, 4 from {four}, 8 from {eight} users; peak of 4 is {:.1} times one server's",
            knees[1].map_or(0.0, |(_, most)| most) / single.unwrap_or(f64::NAN)
        );
        let near = two <= 320 && (480..=800).contains(&four) && eight >= 960;
        (text, Holds::when(Some(near)))
    };
    let his_single = USERS.iter().filter_map(|users| his_single(study, *users, "C.11")).fold(0.0, f64::max);
    let our_single = USERS.iter().filter_map(|users| our_single(study, *users, "throughput")).fold(0.0, f64::max);
    Row {
        section: "5.2.2, 5.2.5",
        claim: "2 servers are overloaded at about 280 users, 4 at 600 to 700, 8 not up to 960; the peak of 4 is \
            about 4 times \
                that of one (here: from where throughput is within 5 % of its peak)",
        his: knees(Study::his, "objects_per_s", Some(his_single)),
        ours: knees(Study::of, "throughput", Some(our_single)),
    }
}

/// His single server at 100 Mbit/s: the mean of his own three runs, with any status of the column beside them.
fn his_single(study: &Study, users: u32, table: &str) -> Option<f64> {
    let users = users.to_string();
    let run = |run: &str| study.validation.number(&[("table", table), ("users", &users)], run);
    Some((run("run1")? + run("run2")? + run("run3")?) / 3.0)
}

fn our_single(study: &Study, users: u32, metric: &str) -> Option<f64> {
    let users = users.to_string();
    let wanted = [("loner_sigma", "1.143"), ("cluster_rate", "100 Mbit/s"), ("users", users.as_str())];
    study.ours["1-one-server"].value(&wanted, metric)
}

fn one_over_n(study: &Study) -> Row {
    let names = ["RR-G, 2 servers, s = 1.143", "RR-G, s = 1.143", "RR-G, 8 servers, s = 1.143"];
    let near = |value: f64, n: f64| (value / n - 1.0).abs() <= 0.15;
    let his = |k: usize| {
        let latency = his_single(study, 960, "C.10")? / study.his(names[k], 960, "latency_s")?;
        Some((latency, study.his(names[k], 960, "objects_per_s")? / his_single(study, 960, "C.11")?))
    };
    let his: Vec<(f64, f64)> = (0..3).filter_map(his).collect();
    let text = |pick: fn(&(f64, f64)) -> f64| {
        his.iter().map(|pair| format!("{:.1}", pick(pair))).collect::<Vec<_>>().join(", ")
    };
    let holds = his.iter().zip([2.0, 4.0, 8.0]).flat_map(|((latency, objects), n)| {
        [Holds::when(Some(near(*latency, n))), Holds::when(Some(near(*objects, n)))]
    });
    let answers = &study.ours["3-servers"];
    let with = |servers: &'static str| [("servers", servers), ("users", "960")];
    let ours = |metric: &str, n: &'static str, inverse: bool| match inverse {
        true => answers.ratio(metric, &with("1"), &with(n)),
        false => answers.ratio(metric, &with(n), &with("1")),
    };
    let all = |metric: &str, inverse: bool| ["2", "4", "8"].map(|n| ours(metric, n, inverse));
    let (latency, objects) = (all("response_time_mean", true), all("throughput", false));
    let shown = |of: &[Option<Paired>; 3]| {
        let one =
            |p: &Option<Paired>| p.map_or("-".into(), |p| format!("{:.2} ({:.2} to {:.2})", p.mean, p.low, p.high));
        of.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let our_holds = latency.iter().chain(&objects).zip([2.0, 4.0, 8.0].into_iter().cycle());
    let our_holds = our_holds.map(|(paired, n)| Holds::when(paired.map(|paired| near(paired.mean, n))));
    Row {
        section: "5.2.5, 5.3, 6",
        claim: "N servers under heavy load give 1/N of one server's latency and N times its objects (960 users, \
            N = 2, 4, 8; \
                within 15 %)",
        his: (
            format!("latency {} times lower, objects {} times more", text(|p| p.0), text(|p| p.1)),
            Holds::all(holds),
        ),
        ours: (
            format!("latency {} times lower, objects {} times more", shown(&latency), shown(&objects)),
            Holds::all(our_holds),
        ),
    }
}

fn little_to_gain_below_140(study: &Study) -> Row {
    let eight = "RR-G, 8 servers, s = 1.143";
    let gain = |single: Option<f64>, eight: Option<f64>| {
        let gain = single.zip(eight).map(|(single, eight)| eight / single);
        let text = gain.map_or("-".into(), |gain| format!("8 servers serve {gain:.2} times as many objects as one"));
        (text, Holds::when(gain.map(|gain| gain < 1.15)))
    };
    Row {
        section: "5.2.5",
        claim: "Below 140 users more servers bring little (here: throughput at 100 users)",
        his: gain(his_single(study, 100, "C.11"), study.his(eight, 100, "objects_per_s")),
        ours: gain(our_single(study, 100, "throughput"), study.of(eight, 100, "throughput")),
    }
}

fn skew(study: &Study, http: &str) -> Row {
    let name = format!("BRYHNI-CONN-G HTTP/{http}, s = 1.143");
    let (his, ours) = study.per_server(&name, 640, "objects_per_s", "share");
    let skewed = |shares: &[f64]| {
        let falling = shares.windows(2).all(|pair| pair[0] > pair[1]);
        let strong = shares.first().zip(shares.last()).is_some_and(|(first, last)| first > &(1.5 * last));
        match http {
            "1.0" => Holds::when(Some(falling && strong)),
            _ => Holds::when(Some(!strong)),
        }
    };
    Row {
        section: "5.2.1",
        claim: match http {
            "1.0" => {
                "Ties to the lowest number skew HTTP/1.0 strongly to the first servers (objects per server in %, \
                    640 users)"
            }
            _ => "With persistent connections the skew is far less",
        },
        his: (percents(&his), skewed(&his)),
        ours: (percents(&ours), skewed(&ours)),
    }
}

fn low_numbers_at_light_load(study: &Study) -> Row {
    let (his, ours) = study.per_server("XSIZE-G, s = 1.143", 1, "objects_per_s", "share");
    let leans = |shares: &[f64]| Holds::when(Some(shares.first().is_some_and(|first| *first > 0.3)));
    Row {
        section: "5.2.3",
        claim: "Below 50 users the load leans to servers of low number (XSIZE-G, 1 user, objects per server in \
            %; ours draws ties)",
        his: (percents(&his), leans(&his)),
        ours: (percents(&ours), leans(&ours)),
    }
}

fn larger_files(study: &Study) -> Row {
    let of = |which: fn(&Study, &str, u32, &str) -> Option<f64>, metric: &str| {
        let at = |sigma: &str| which(study, &format!("RR-S, s = {sigma}"), 640, metric);
        (at("1.143"), at("2.5"))
    };
    let row = |which: fn(&Study, &str, u32, &str) -> Option<f64>, names: [&str; 3]| {
        let [latency, objects, bytes] = names.map(|name| of(which, name));
        let text = |pair: (Option<f64>, Option<f64>), scale: f64, digits: usize| {
            let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{:.digits$}", x * scale));
            format!("{} to {}", number(pair.0), number(pair.1))
        };
        let holds = Holds::all([
            Holds::when(below(latency.0, latency.1)),
            Holds::when(below(objects.1, objects.0)),
            Holds::when(below(bytes.0, bytes.1)),
        ]);
        let text = format!(
            "latency {} s, objects/s {}, MB/s {}",
            text(latency, 1.0, 2),
            text(objects, 1.0, 0),
            text(bytes, 1e-6, 2)
        );
        (text, holds)
    };
    Row {
        section: "5.2.4, 5.3",
        claim: "With larger files latency rises, objects per second fall and bytes per second rise (RR-S, 640 \
            users, s = 1.143 to 2.5)",
        his: row(Study::his, ["latency_s", "objects_per_s", "bytes_per_s"]),
        ours: row(Study::of, ["response_time_mean", "throughput", "byte_throughput"]),
    }
}

fn objects_show_balance(study: &Study) -> Row {
    let name = "RR-G, s = 2.5";
    let spread = |shares: &[f64]| {
        let most = shares.iter().copied().fold(0.0, f64::max);
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        (most - least) * shares.len() as f64
    };
    let (his_objects, our_objects) = study.per_server(name, 640, "objects_per_s", "share");
    let (his_bytes, our_bytes) = study.per_server(name, 640, "bytes_per_s", "byte_share");
    let answers = &study.ours["2-policies"];
    let wanted = [("face", "gateway"), ("policy", "round-robin"), ("loner_sigma", "2.5"), ("users", "640")];
    let (objects, bytes) = (answers.spread("share", 4, &wanted), answers.spread("byte_share", 4, &wanted));
    Row {
        section: "5.2.3, 5.2.4, 5.3, 6",
        claim: "At s = 2.5 objects per server show the balance, bytes do not (RR-G, 640 users, % per server; \
            ours with the spread, \
                largest less smallest over the equal share; here: bytes spread wider, beyond both intervals)",
        his: (
            format!("objects {}, bytes {}", percents(&his_objects), percents(&his_bytes)),
            Holds::when(Some(spread(&his_bytes) > 2.0 * spread(&his_objects))),
        ),
        ours: (
            format!(
                "objects {}, spread {}; bytes {}, spread {}",
                percents(&our_objects),
                difference(objects),
                percents(&our_bytes),
                difference(bytes)
            ),
            Holds::when(objects.zip(bytes).map(|(objects, bytes)| bytes.low > objects.high)),
        ),
    }
}

fn uplink(study: &Study) -> Row {
    let ours = &study.ours["6-uplink"];
    let with = |rate: &'static str| [("cluster_rate", rate), ("users", "960")];
    let (slow, fast) = (with("10 Mbit/s"), with("100 Mbit/s"));
    let bytes = |wanted| ours.value(wanted, "byte_throughput");
    let longer = ours.paired("response_time_mean", &slow, &fast);
    let fewer = ours.paired("byte_throughput", &fast, &slow);
    let megabytes = |wanted| interval(scaled(ours.estimate(wanted, "byte_throughput"), 1e-6), 2);
    Row {
        section: "5.2.6, 5.3",
        claim: "An uplink of 10 Mbit/s caps throughput (1.25 MB/s) and raises latency (CONN-G, 960 users)",
        his: ("Figures 5.28 and 5.29 only, no table".into(), Holds::Undecided),
        ours: (
            format!("{} MB/s instead of {}; latency {} s", megabytes(&slow), megabytes(&fast), difference(longer)),
            Holds::all([Holds::when(bytes(&slow).map(|x| x <= 1.25e6)), Holds::of(fewer), Holds::of(longer)]),
        ),
    }
}

fn short_window(study: &Study, policy: &str) -> Row {
    let ours = &study.ours["7-order"];
    let key = policy.to_lowercase();
    let his = |window: &str| study.summary.number(&[("policy", &key), ("window_s", window)], "mean_s");
    let (long, short) = (format!("{policy}-G"), format!("{policy}-G 0.1 s"));
    let of = |metric| ours.paired(metric, system(&long), system(&short));
    let (mean, p90) = (of("response_time_mean"), of("response_time_p90"));
    Row {
        section: "5.2.7, 5.3, 6",
        claim: match policy {
            "RT" => "A window of 0.1 s instead of 1 s rescues round trip (640 users; ours: 1 s minus 0.1 s)",
            _ => "A window of 0.1 s instead of 1 s improves transmitted size",
        },
        his: (
            format!("mean {} to {}", seconds(his("1")), seconds(his("0.1"))),
            Holds::when(below(his("0.1"), his("1"))),
        ),
        ours: (
            format!("mean {}, p90 {}", difference(mean), difference(p90)),
            Holds::all([Holds::of(mean), Holds::of(p90)]),
        ),
    }
}

fn round_trip_matches_connections(study: &Study) -> Row {
    let ours = &study.ours["7-order"];
    let his = |policy: &str, window: &str| study.summary.number(&[("policy", policy), ("window_s", window)], "mean_s");
    let paired = ours.paired("response_time_mean", system("RT-G 0.1 s"), system("CONN-G"));
    let conn = ours.value(system("CONN-G"), "response_time_mean");
    let within = |difference: f64, of: f64| difference.abs() <= 0.05 * of;
    Row {
        section: "5.2.7, 5.3, 6",
        claim: "With a window of 0.1 s round trip is as good as least connections (means within 5 %)",
        his: (
            format!("{} and {}", seconds(his("rt", "0.1")), seconds(his("conn", "1"))),
            Holds::when(his("rt", "0.1").zip(his("conn", "1")).map(|(rt, conn)| within(rt - conn, conn))),
        ),
        ours: (difference(paired), Holds::when(paired.zip(conn).map(|(paired, conn)| within(paired.mean, conn)))),
    }
}

fn polling(study: &Study) -> Row {
    let ours = &study.ours["7-order"];
    let long = [("policy", "least-connections"), ("information", "polled every 8 s"), ("face", "gateway")];
    let paired = ours.paired("response_time_mean", &long, system("CONN-G"));
    let at = |window: &str, which: fn(&Study, &str, u32, &str) -> Option<f64>, metric: &str| {
        let window = if window == "1" { String::new() } else { format!(" {window} s,") };
        which(study, &format!("CONN-G,{window} s = 1.143").replace(",,", ","), 640, metric)
    };
    let all = |which: fn(&Study, &str, u32, &str) -> Option<f64>, metric: &str| {
        ["0.1", "1", "4", "8"].map(|window| at(window, which, metric))
    };
    let his = all(Study::his, "latency_s");
    let our = all(Study::of, "response_time_mean");
    let text = |of: &[Option<f64>; 4]| {
        of.iter().map(|x| x.map_or("-".into(), |x| format!("{x:.2}"))).collect::<Vec<_>>().join(", ")
    };
    let hurts = |of: &[Option<f64>; 4]| of[3].zip(of[1]).map(|(eight, one)| eight > 1.05 * one);
    Row {
        section: "5.2.7, 5.3, 6",
        claim: "Polling every 8 s hurts least connections, 0.1 to 4 s perform equally (mean latency at 0.1, 1, \
            4, 8 s, 640 users)",
        his: (format!("{} s", text(&his)), Holds::when(hurts(&his))),
        ours: (format!("{} s; 8 s minus 1 s: {}", text(&our), difference(paired)), Holds::of(paired)),
    }
}

fn simple_as_good(study: &Study) -> Row {
    let ours = &study.ours["7-order"];
    let his = |policy: &str| study.summary.number(&[("policy", policy)], "mean_s");
    let paired = ours.paired("response_time_mean", system("RR-G"), system("CONN-G"));
    let conn = ours.value(system("CONN-G"), "response_time_mean");
    Row {
        section: "5.3, 6",
        claim: "Round robin is nearly as good as least connections in the mean (not more than 10 % slower)",
        his: (
            format!("{} and {}", seconds(his("rr")), seconds(his("conn"))),
            Holds::when(his("rr").zip(his("conn")).map(|(rr, conn)| rr < 1.1 * conn)),
        ),
        ours: (difference(paired), Holds::when(paired.zip(conn).map(|(paired, conn)| paired.mean < 0.1 * conn))),
    }
}
