//! What each way to distribute requests costs and gains: every arrangement that Agarwal and Zhang survey, simulated
//! over the same clients, sites and servers, and the same cases of load, distance and time that an answer is held.
//!
//! Distance is read off two cases: a mean response time grows by so many seconds per second of round trip between
//! regions, which is the number of far round trips per request. Nothing else is inferred.

use std::fmt::Write;
use std::path::Path;

use super::overload::{self, is_wide};
use super::studies::{self, Studies};
use super::{MEAN, Setting};
use crate::ReproduceError;
use crate::answers::Answers;
use crate::number::{Number, interval, scaled, shown, slope};

/// An arrangement of `experiments/arrangements`.
struct Arrangement {
    file: &'static str,
    name: &'static str,
    /// The setting that says how long an answer is held; none where none is.
    held: Option<&'static str>,
    /// What it asks for that another does not.
    needs: &'static str,
}

const TTL: Option<&str> = Some("system.tier.0.ttl");
const HELD: Option<&str> = Some("system.tier.0.held");
/// A probing client is held by nothing but what it remembers: the window of its policy.
const POLICY: &str = "system.tier.0.policy";
const WINDOW: Option<&str> = Some(POLICY);
const WINDOWS: [&str; 2] = ["round-trip(window = 5 s)", "round-trip(window = 240 s)"];

const ARRANGEMENTS: [Arrangement; 15] = [
    Arrangement {
        file: "dns-over-front-nodes",
        name: "DNS over front nodes",
        held: TTL,
        needs: "a DNS of one's own, reports from all sites",
    },
    Arrangement {
        file: "dns-over-balancers",
        name: "round-robin DNS over balancers (hybrid)",
        held: TTL,
        needs: "a balancer at each site that replies pass too",
    },
    Arrangement {
        file: "dispatcher-over-dispatchers",
        name: "dispatcher over dispatchers",
        held: None,
        needs: "one dispatcher that all packets in pass; all is lost with it",
    },
    Arrangement {
        file: "central-redirector",
        name: "central HTTP redirector",
        held: None,
        needs: "one node that all requests pass; a second connection",
    },
    Arrangement {
        file: "packet-rewriting",
        name: "distributed packet rewriting",
        held: TTL,
        needs: "changed kernels on all servers; no balancer",
    },
    Arrangement {
        file: "server-redirection",
        name: "redirection by servers",
        held: TTL,
        needs: "servers that hear each other's load; a second connection",
    },
    Arrangement {
        file: "address-hash",
        name: "address hash (ONE-IP)",
        held: None,
        needs: "one site: far clients stay far",
    },
    Arrangement {
        file: "address-hash-by-broadcast",
        name: "address hash by broadcast",
        held: None,
        needs: "one local network; work at all servers for each packet",
    },
    Arrangement {
        file: "random-host-name",
        name: "random host name",
        held: HELD,
        needs: "browsers that draw; a dead site is drawn as before",
    },
    Arrangement {
        file: "probing-client",
        name: "probing client",
        held: WINDOW,
        needs: "an applet in every browser, which asks far sites now and then",
    },
    Arrangement {
        file: "probing-resolver",
        name: "probing resolver",
        held: TTL,
        needs: "changed resolvers; probes from each of them",
    },
    Arrangement {
        file: "anycast-resolver",
        name: "anycast resolver",
        held: TTL,
        needs: "a resolver in each region that sites push to; changed clients",
    },
    Arrangement {
        file: "ip-anycast",
        name: "IPv6 anycast",
        held: None,
        needs: "one address that all sites announce to routers; a site that is full stays the nearest",
    },
    Arrangement {
        file: "client-side-proxy",
        name: "client-side proxy",
        held: HELD,
        needs: "changed proxies; headers in replies",
    },
    Arrangement {
        file: "embedded-urls",
        name: "embedded URLs rewritten",
        held: HELD,
        needs: "pages rewritten for each region; pages themselves stay far",
    },
];

const RATE: &str = "workload.arrivals";
const BETWEEN: &str = "system.paths.between.rtt";
/// Requests per second at utilisations of 0.3, 0.6 and 0.8.
const RATES: [&str; 3] = ["exponential(rate = 240 /s)", "exponential(rate = 480 /s)", "exponential(rate = 640 /s)"];
/// The case from which the others differ.
const BASE: Setting<'static> = (RATE, RATES[1]);
const SERVERS: usize = 6;

/// An arrangement and its answers.
struct Answered(&'static Arrangement, Answers);

impl Answered {
    fn mean(&self, setting: Setting<'_>) -> Option<Number> {
        self.1.number(&[setting], MEAN)
    }

    /// Round trips between regions per request.
    fn far_trips(&self) -> Option<Number> {
        slope(self.mean((BETWEEN, "40 ms")), self.mean((BETWEEN, "240 ms")), 0.2)
    }

    /// The same as the page shows it. Of an overloaded variant a slope says nothing.
    fn far_trips_shown(&self) -> String {
        match [(BETWEEN, "40 ms"), (BETWEEN, "240 ms")].iter().any(|case| self.is_overloaded(*case)) {
            true => "overloaded".into(),
            false => interval(self.far_trips(), 2),
        }
    }

    /// Its mean response time, or that a server has more work than it can do.
    fn shown(&self, setting: Setting<'_>) -> String {
        overload::mean(&self.1, &[setting], SERVERS)
    }

    fn is_overloaded(&self, setting: Setting<'_>) -> bool {
        overload::is_overloaded(&self.1, &[setting], SERVERS)
    }

    /// The utilisation of its busiest server; above 1 where it has more work than it can do.
    fn busiest(&self, setting: Setting<'_>) -> Option<Number> {
        overload::busiest(&self.1, &[setting], SERVERS)
    }
}

/// Writes the page at `page` from the run folders in `runs`.
pub(crate) fn write(runs: &Path, page: &Path) -> Result<(), ReproduceError> {
    let read = |of: &'static Arrangement| Ok(Answered(of, Answers::read(&runs.join(of.file), "sim")?));
    let all: Vec<Answered> = ARRANGEMENTS.iter().map(read).collect::<Result<_, ReproduceError>>()?;
    let studies = Studies::read(runs)?;
    std::fs::write(page, text(&all) + "\n" + &studies::text(&studies))
        .map_err(|e| ReproduceError(format!("cannot write {}: {e}", page.display())))
}

fn text(all: &[Answered]) -> String {
    let mut text = TITLE.to_owned() + &found(all) + HOW;
    text += "| arrangement | far round trips per request | busiest server (utilisation) | requests that fail | needs |\n\
             |---|---|---|---|---|\n";
    for one in all {
        let Arrangement { file, name, needs, .. } = one.0;
        let trips = one.far_trips_shown();
        let busiest = interval(one.busiest(BASE), 2);
        let errors = interval(scaled(one.1.number(&[BASE], "error_ratio"), 100.0), 1);
        let _ = writeln!(
            text,
            "| [{name}](../../experiments/arrangements/{file}.toml) | {trips} | {busiest} | {errors} % | {needs} |"
        );
    }
    let three = |of: &dyn Fn(&Answered, usize) -> String| {
        all.iter().fold(String::new(), |mut rows, one| {
            let cells = [0, 1, 2].map(|case| of(one, case));
            let _ = writeln!(rows, "| {} | {} |", one.0.name, cells.join(" | "));
            rows
        })
    };
    text += "\n## By load\n\nMean response time; mean utilisation of all servers.\n\n\
             | arrangement | 0.3 | 0.6 | 0.8 |\n|---|---|---|---|\n";
    text += &three(&|one, case| one.shown((RATE, RATES[case])));
    text += "\n## By distance\n\nMean response time at a utilisation of 0.6; round trip between regions (inside one: 20 ms).\n\n\
             | arrangement | 40 ms | 120 ms | 240 ms |\n|---|---|---|---|\n";
    text += &three(&|one, case| one.shown([(BETWEEN, "40 ms"), BASE, (BETWEEN, "240 ms")][case]));
    text += "\n## By the time that an answer is held\n\nMean response time at a utilisation of 0.6 and 120 ms. Where nothing \
             is held, nothing is written; of a probing client it is the time over which it averages, and an anycast resolver \
             is asked for each request in the middle column.\n\n| arrangement | 5 s | 60 s | 240 s |\n|---|---|---|---|\n";
    text += &three(&|one, case| match one.0.held {
        Some(POLICY) => one.shown([(POLICY, WINDOWS[0]), BASE, (POLICY, WINDOWS[1])][case]),
        Some(held) => one.shown([(held, "5 s"), BASE, (held, "240 s")][case]),
        None => "-".into(),
    });
    text
}

/// What the page begins with: the fastest in each case, who goes far, and where a server has more work than it can do.
fn found(all: &[Answered]) -> String {
    let named = |is_one: &dyn Fn(&Answered) -> bool| {
        let names: Vec<&str> = all.iter().filter(|one| is_one(one)).map(|one| one.0.name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let trips = |one: &Answered| {
        let is_known = ![(BETWEEN, "40 ms"), (BETWEEN, "240 ms")].iter().any(|case| one.is_overloaded(*case));
        one.far_trips().filter(|_| is_known)
    };
    let near = named(&|one| trips(one).is_some_and(|trips| trips.high < NEAR));
    let far = named(&|one| trips(one).is_some_and(|trips| trips.low > FAR));
    let [at_60, at_80] = [BASE, (RATE, RATES[2])].map(|case| named(&|one| one.is_overloaded(case)));
    format!(
        "## What was found\n\n**The fastest in each case:**\n\n{}\n\
         - Less than {NEAR} far round trips per request (whole interval): {near}.\n\
         - More than {FAR}: {far}.\n\
         - A server has more work than it can do though all together are busy 60 % of the time: {at_60}; at 80 %: \
         {at_80}.\n\n\
         **Why.** Who goes to the nearest site travels least, and where the servers are not where the clients are, that \
         site is the first to be full. What spreads requests evenly pays a far round trip for most of them, and what \
         decides at a second place pays the way there as well.\n\n",
        fastest(all),
    )
}

/// Of each case the arrangements with the shortest mean, as far as intervals tell them apart. What is overloaded is in
/// no case, and what has a mean that is hardly known is beside the others, not among them.
fn fastest(all: &[Answered]) -> String {
    let cases: [(&str, Setting<'static>); 5] = [
        ("utilisation 0.3", (RATE, RATES[0])),
        ("utilisation 0.6", BASE),
        ("utilisation 0.8", (RATE, RATES[2])),
        ("40 ms between regions", (BETWEEN, "40 ms")),
        ("240 ms between regions", (BETWEEN, "240 ms")),
    ];
    let mut text =
        "| case | fastest, and those whose interval reaches its own | too wide an interval to tell |\n|---|---|---|\n"
            .to_owned();
    for (name, setting) in cases {
        let sound = all.iter().filter(|one| !one.is_overloaded(setting));
        let mut means: Vec<(&str, Number)> = sound.filter_map(|one| Some((one.0.name, one.mean(setting)?))).collect();
        means.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let Some((_, best)) = means.iter().find(|(_, mean)| !is_wide(mean)).copied() else { continue };
        means.retain(|(_, mean)| mean.low <= best.high);
        let names = |wide: bool| {
            let of = means.iter().filter(|(_, mean)| is_wide(mean) == wide);
            let names: Vec<String> = of.map(|(name, mean)| format!("{name} ({})", shown(Some(*mean), "s"))).collect();
            names.join(", ")
        };
        let _ = writeln!(text, "| {name} | {} | {} |", names(false), names(true));
    }
    text
}

/// Far round trips per request of who hardly goes far, and of who mostly does.
const NEAR: f64 = 0.1;
const FAR: f64 = 0.5;

const TITLE: &str = "\
# What each way to distribute requests costs and gains

Agarwal (2001, chapter 2) and Zhang (2002) survey ways to bring a request to one of many servers. Here each is [an
experiment](../../experiments/arrangements) that the simulator answers, over the same system.

";

const HOW: &str = "\
## How it was run, and what the words mean

The system: three regions with 45, 35
and 20 % of the clients, a site with two servers in each (or all six in Europe, where an arrangement cannot leave one
place), 20 ms inside a region and 120 ms between regions, requests of 7.5 ms mean work, paths without loss. What shares
a site's requests between its servers goes by least connections. In each region 30 % of the clients are behind one
resolver, where a DNS is asked. Europe has 45 % of the clients and a third of the servers: when all servers together are
busy three quarters of the time, the nearest site is full for those who are always sent there.

What each model leaves out is said in its file: read it before the numbers. *Far round trips per request* is how much
the mean response time grows per second of round trip between regions; connections that are kept pay one round trip
for a request. *Overloaded*: a server has more work than it can do, so that a mean only says how long the run is; what is
too wide has an interval of more than a quarter of its mean to each side. Intervals are 95 %, over five replications. This
page is written by `make agarwal`.

## At a glance

Utilisation 0.6, 120 ms between regions, answers held for a minute.

";

#[cfg(test)]
mod tests {
    use sojourn_stats::Estimate;

    use super::*;
    use crate::answers::{World, sampled};

    /// Answers to all arrangements in which each has as many far round trips as `trips` says, and its busiest server
    /// twice an equal share.
    fn made_up(trips: impl Fn(&str) -> f64) -> Vec<Answered> {
        let answered = |of: &'static Arrangement| {
            let world: World<'_> = &|setting| {
                let between: f64 = setting(BETWEEN).trim_end_matches(" ms").parse().expect("a round trip");
                let shares =
                    (1..=SERVERS).map(|server| (format!("share_{server}"), if server == 3 { 1.0 / 3.0 } else { 0.1 }));
                let mean = (MEAN.to_owned(), 0.01 + trips(of.file) * between * 1e-3);
                [mean, ("utilization".into(), 0.3), ("error_ratio".into(), 0.0)].into_iter().chain(shares).collect()
            };
            Answered(of, Answers::made_up(&format!("arrangements/{}.toml", of.file), world, sampled))
        };
        ARRANGEMENTS.iter().map(answered).collect()
    }

    #[test]
    fn distance_is_read_off_two_cases_and_load_off_the_busiest_server() {
        for one in made_up(|_| 0.75) {
            let trips = one.far_trips().expect("both cases were answered");
            assert!((trips.value - 0.75).abs() < 1e-9, "{}: {trips:?}", one.0.file);
            let busiest = one.busiest(BASE).expect("all shares are there");
            assert!((busiest.value - 0.6).abs() < 1e-9, "{}: {busiest:?}", one.0.file);
        }
    }

    #[test]
    fn a_server_with_more_work_than_it_can_do_is_called_overloaded() {
        let mut one = made_up(|_| 0.5).remove(0);
        assert_eq!(one.shown(BASE), shown(one.mean(BASE), "s"));
        let world: World<'_> = &|_| vec![(MEAN.into(), 1.0), ("utilization".into(), 0.5), ("share_2".into(), 0.34)];
        one.1 = Answers::made_up(&format!("arrangements/{}.toml", one.0.file), world, sampled);
        assert_eq!(one.shown(BASE), "overloaded", "its utilisation is 1.02");
        assert_eq!(one.far_trips_shown(), "overloaded", "a slope of what only says how long the run is");
        let table = fastest(&[one]);
        assert!(!table.contains("DNS over front nodes"), "{table}");
    }

    /// Of a fast one that is hardly known nothing can be said, least of all that it is the fastest.
    #[test]
    fn what_has_too_wide_an_interval_stands_beside_the_fastest() {
        let mut all = made_up(|file| if file == "anycast-resolver" { 0.1 } else { 0.5 });
        let hybrid = all.iter().position(|one| one.0.file == "dns-over-balancers").unwrap();
        let wide = |value: f64| Estimate::Sampled { value, ci_low: 0.1 * value, ci_high: 1.9 * value, samples: 5 };
        for mean in [0.016, 0.03] {
            let world: World<'_> = &|_| vec![(MEAN.into(), mean), ("utilization".into(), 0.3)];
            all[hybrid].1 = Answers::made_up("arrangements/dns-over-balancers.toml", world, wide);
            let table = fastest(&all);
            let row = table.lines().find(|row| row.starts_with("| utilisation 0.6")).expect("a row");
            let cells: Vec<&str> = row.split('|').collect();
            assert!(cells[2].contains("anycast") && !cells[2].contains("hybrid"), "{row}");
            assert!(cells[3].contains("hybrid"), "{row}");
        }
    }

    /// Every file has the cases that the page reads, and no arrangement is left out.
    #[test]
    fn every_arrangement_is_on_the_page_in_every_case() {
        let text = text(&made_up(|_| 0.5));
        for Arrangement { file, name, held, .. } in &ARRANGEMENTS {
            let rows: Vec<&str> = text.lines().filter(|row| row.starts_with(&format!("| {name} |"))).collect();
            assert_eq!(rows.len(), 3, "{name}");
            assert!(rows[..2].iter().all(|row| !row.contains("| -")), "{file}: {rows:?}");
            assert_eq!(rows[2].contains("| -"), held.is_none(), "{file}: {rows:?}");
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/arrangements");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files, ARRANGEMENTS.len() + studies::STUDIES.len(), "an experiment that is not on the page");
    }

    #[test]
    fn the_page_begins_with_who_goes_far_and_who_is_full() {
        let mut all = made_up(|file| match file {
            "anycast-resolver" => 0.01,
            "probing-client" => 0.3,
            _ => 0.9,
        });
        let hybrid = all.iter().position(|one| one.0.file == "dns-over-balancers").unwrap();
        let world: World<'_> = &|_| vec![(MEAN.into(), 1.0), ("utilization".into(), 0.5), ("share_2".into(), 0.34)];
        all[hybrid].1 = Answers::made_up("arrangements/dns-over-balancers.toml", world, sampled);
        let text = text(&all);
        let line = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}"));
        assert!(line("- Less than 0.1").ends_with(": anycast resolver."), "{}", line("- Less than 0.1"));
        let far = line("- More than 0.5");
        assert!(
            far.contains("random host name") && !far.contains("probing client") && !far.contains("hybrid"),
            "{far}"
        );
        let full = line("- A server has more work");
        assert_eq!(full.matches("hybrid").count(), 2, "{full}");
        assert!(text.find("## What was found").unwrap() < text.find("## How it was run").unwrap());
    }

    #[test]
    fn the_fastest_comes_first_and_what_cannot_be_told_from_it_beside_it() {
        let all = made_up(|file| match file {
            "anycast-resolver" => 0.1,
            "probing-client" => 0.100_005,
            _ => 0.5,
        });
        let table = fastest(&all);
        let row = table.lines().find(|row| row.starts_with("| utilisation 0.6")).expect("a row");
        let (first, second) = (row.find("anycast resolver").unwrap(), row.find("probing client").unwrap());
        assert!(first < second && !row.contains("hybrid"), "{row}");
    }
}
