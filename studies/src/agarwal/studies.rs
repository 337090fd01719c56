//! What decides within an arrangement: how a front node shares requests between its servers, what a DNS is told of load
//! and of its clients, and how long its answers are held. Each is an experiment of `experiments/arrangements`.

use std::fmt::Write;
use std::path::Path;

use super::{MEAN, Setting, overload};
use crate::ReproduceError;
use crate::answers::Answers;
use crate::finding::{self, Finding};
use crate::number::{interval, known};
use crate::verdict::{Comparison, below, positive};

/// The experiments, by the name of the run folder.
pub(super) const STUDIES: [&str; 3] = ["front-nodes", "what-the-dns-knows", "ttl"];

/// Their answers.
pub(super) struct Studies([Answers; 3]);

const RATE: &str = "workload.arrivals";
const FRONT: &str = "system.tier.1.policy";
const DNS: &str = "system.tier.0.policy";
const HIDDEN: &str = "system.tier.0.reports.hidden_load";
const TTL: &str = "system.tier.0.ttl";

/// Of `front-nodes.toml`: requests per second of one site, and the utilisation of its servers.
const SITE_LOADS: [(&str, &str); 4] = [
    ("exponential(rate = 80 /s)", "0.3"),
    ("exponential(rate = 120 /s)", "0.45"),
    ("exponential(rate = 160 /s)", "0.6"),
    ("exponential(rate = 213 /s)", "0.8"),
];
const FRONT_NODES: [&str; 5] = ["random", "round-robin", "least-connections", "free-capacity", "remaining-capacity"];

/// Of the others: requests per second of all sites, and the utilisation of all servers.
const LOADS: [(&str, &str); 2] = [("exponential(rate = 480 /s)", "0.6"), ("exponential(rate = 640 /s)", "0.8")];

const HIS: &str = "nearest-with-room";
const SPILL: &str = "nearest-with-room(spill = free-capacity)";
const WITHOUT_RATES: &str = "nearest-with-room(probes = false)";
const HELD: &str = "nearest-with-room(holds = lease)";

/// Of `what-the-dns-knows.toml`, in its order.
const DNS_WAYS: [(&str, &[Setting<'static>]); 11] = [
    ("round robin", &[(DNS, "round-robin")]),
    ("weighted by free capacity", &[(DNS, "weighted(by = free-capacity)")]),
    ("least load", &[(DNS, "least-load")]),
    ("the busiest clients to the largest site", &[(DNS, "busiest-to-largest")]),
    ("nearest, without a look at load", &[(DNS, "nearest")]),
    ("nearest with room, no rates known: nothing is taken off the room", &[(DNS, WITHOUT_RATES), (HIDDEN, "")]),
    ("nearest with room (his): rates of the busiest clients", &[(DNS, HIS), (HIDDEN, "")]),
    ("the same, with the hidden load of resolvers", &[(DNS, HIS), (HIDDEN, "true")]),
    ("his, a rate is taken off until the TTL ends", &[(DNS, HELD)]),
    ("his, the rest by free capacity (ours)", &[(DNS, SPILL), (HIDDEN, "")]),
    ("ours, with the hidden load of resolvers", &[(DNS, SPILL), (HIDDEN, "true")]),
];

const TTLS: [&str; 5] = ["60 s", "variable(60 s)", "adaptive(60 s)", "5 s", "240 s"];
const TTL_POLICIES: [(&str, &str); 3] = [
    ("round robin", "round-robin"),
    ("weighted by free capacity", "weighted(by = free-capacity)"),
    ("nearest with room", HIS),
];

impl Studies {
    pub(super) fn read(runs: &Path) -> Result<Studies, ReproduceError> {
        let [front, dns, ttl] = STUDIES.map(|name| Answers::read(&runs.join(name), "sim"));
        Ok(Studies([front?, dns?, ttl?]))
    }

    fn of(&self, name: &str) -> &Answers {
        let place = STUDIES.iter().position(|known| *known == name);
        &self.0[place.expect("an experiment of the list")]
    }

    /// The mean as the page shows it.
    fn mean(&self, name: &str, settings: &[Setting<'_>]) -> String {
        let servers = if name == STUDIES[0] { 2 } else { 6 };
        overload::mean(self.of(name), settings, servers)
    }

    /// Whether the mean is longer with `worse` than with `better`, replication by replication.
    fn slower(&self, name: &str, worse: &[Setting<'_>], better: &[Setting<'_>]) -> Comparison {
        positive(self.of(name).paired(MEAN, worse, better))
    }
}

/// The sections of the page.
pub(super) fn text(studies: &Studies) -> String {
    let mut text = String::from(FRONT_HEAD);
    let heads: Vec<&str> = SITE_LOADS.iter().map(|(_, utilisation)| *utilisation).collect();
    let _ = writeln!(text, "| front node | {} |\n|---|---|---|---|---|", heads.join(" | "));
    for policy in FRONT_NODES {
        let cells = SITE_LOADS.map(|(rate, _)| studies.mean("front-nodes", &[(RATE, rate), (FRONT, policy)]));
        let _ = writeln!(text, "| `{policy}` | {} |", cells.join(" | "));
    }
    text += DNS_HEAD;
    for (name, settings) in DNS_WAYS {
        let cells = LOADS.map(|(rate, _)| studies.mean("what-the-dns-knows", &under(rate, settings)));
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text += TTL_HEAD;
    for (name, policy) in TTL_POLICIES {
        for (rate, utilisation) in LOADS {
            let cells = TTLS.map(|ttl| studies.mean("ttl", &[(RATE, rate), (DNS, policy), (TTL, ttl)]));
            let _ = writeln!(text, "| {name} | {utilisation} | {} |", cells.join(" | "));
        }
    }
    text += "\n## What these three say\n\n";
    text + &finding::table(&findings(studies), "expected")
}

/// The settings of a variant at this load.
fn under<'a>(rate: &'a str, settings: &[Setting<'a>]) -> Vec<Setting<'a>> {
    settings.iter().copied().chain([(RATE, rate)]).collect()
}

/// What the tables say, as comparisons.
fn findings(studies: &Studies) -> Vec<Finding> {
    // What goes by free capacity, and the same without a look at it.
    let by_share = [("free-capacity", "round-robin"), ("remaining-capacity", "random")];
    let front = |rate: &'static str, policy: &'static str| [(RATE, rate), (FRONT, policy)];
    let pairs = |loads: &[(&'static str, &str)]| -> Vec<_> {
        let rates = loads.iter().map(|(rate, _)| *rate);
        rates.flat_map(|rate| by_share.map(|(own, equal)| (front(rate, own), front(rate, equal)))).collect()
    };
    let ratio = |(own, equal): &([Setting<'static>; 2], [Setting<'static>; 2])| {
        studies.of("front-nodes").ratio(MEAN, own, equal)
    };
    let ratios = |loads: &[(&'static str, &str)]| {
        pairs(loads).iter().map(|pair| interval(ratio(pair), 2)).collect::<Vec<_>>().join(", ")
    };
    let [low, high] = [&SITE_LOADS[..2], &SITE_LOADS[2..]];
    let full = LOADS[1].0;
    let dns = |settings: &[Setting<'static>]| under(full, settings);
    let (his, hidden) = (dns(&[(DNS, HIS), (HIDDEN, "")]), dns(&[(DNS, HIS), (HIDDEN, "true")]));
    let (near, blind, held) = (dns(&[(DNS, "nearest")]), dns(&[(DNS, WITHOUT_RATES)]), dns(&[(DNS, HELD)]));
    let against = |worse: &[Setting<'_>], better: &[Setting<'_>]| {
        let [worse, better] = [worse, better].map(|of| studies.mean("what-the-dns-knows", of));
        format!("{worse} and {better}")
    };
    let slower =
        |worse: &[Setting<'_>], better: &[Setting<'_>]| vec![studies.slower("what-the-dns-knows", worse, better)];
    let ttl = |policy: &'static str, ttl: &'static str| [(RATE, full), (DNS, policy), (TTL, ttl)];
    let by_ttl = |worse: &'static str, better: &'static str| -> Vec<Comparison> {
        TTL_POLICIES.map(|(_, of)| studies.slower("ttl", &ttl(of, worse), &ttl(of, better))).to_vec()
    };
    let ttls = |worse: &'static str, better: &'static str| {
        let one = |of: &'static str, value| studies.mean("ttl", &ttl(of, value));
        let pairs = TTL_POLICIES.map(|(name, of)| format!("{name}: {} and {}", one(of, worse), one(of, better)));
        pairs.join("; ")
    };
    vec![
        Finding {
            place: "front node",
            claim: "Up to a utilisation of 0.45, going by free capacity is as fast as equal shares (at most 1.05 of it)",
            comparisons: pairs(low).iter().map(|pair| below(ratio(pair), known(1.05))).collect(),
            ours: ratios(low),
            why: "reports are noisy, and what goes by them follows the noise.",
        },
        Finding {
            place: "front node",
            claim: "From 0.6 on, going by free capacity is slower than equal shares",
            comparisons: pairs(high).iter().map(|(own, equal)| studies.slower("front-nodes", own, equal)).collect(),
            ours: ratios(high),
            why: "reports that come later than requests would make it worse, and those that come at once better.",
        },
        Finding {
            place: "DNS, 0.8",
            claim: "Nearest without a look at load is slower than nearest with room",
            comparisons: slower(&near, &his),
            ours: against(&near, &his),
            why: "Europe's site has more work than it can do.",
        },
        Finding {
            place: "DNS, 0.8",
            claim: "Without the rates of clients nearest with room is slower than with them",
            comparisons: slower(&blind, &his),
            ours: against(&blind, &his),
            why: "with nothing taken off, all who ask between two reports are told the same site.",
        },
        Finding {
            place: "DNS, 0.8",
            claim: "With the hidden load of resolvers nearest with room is faster than without it",
            comparisons: slower(&his, &hidden),
            ours: against(&his, &hidden),
            why: "a resolver that asks anew finds the load that it brings already in its site's way: the room left there is \
                  less than its rate, so it is sent elsewhere, and the next answer sends it back.",
        },
        Finding {
            place: "DNS, 0.8",
            claim: "A rate that is taken off until the TTL ends is counted twice, and makes it slower",
            comparisons: slower(&held, &his),
            ours: against(&held, &his),
            why: "what is taken off too long also keeps a site from filling up.",
        },
        Finding {
            place: "TTL, 0.8",
            claim: "A TTL of 240 s is slower than one of 5 s",
            comparisons: by_ttl("240 s", "5 s"),
            ours: ttls("240 s", "5 s"),
            why: "a policy that does not look at load has nothing to mend with its next answer.",
        },
        Finding {
            place: "TTL, 0.8",
            claim: "A variable TTL is faster than a constant one of the same length",
            comparisons: by_ttl("60 s", "variable(60 s)"),
            ours: ttls("60 s", "variable(60 s)"),
            why: "it is shorter for all sites alike, also for those that are not full.",
        },
        Finding {
            place: "TTL, 0.8",
            claim: "An adaptive TTL is faster than a constant one of the same length",
            comparisons: by_ttl("60 s", "adaptive(60 s)"),
            ours: ttls("60 s", "adaptive(60 s)"),
            why: "clients that ask seldom are told to keep their answers for longer, and they are most of the load.",
        },
    ]
}

const FRONT_HEAD: &str = "\
## What a front node does with reports

One site with two equal servers that report every half second at most
([front-nodes](../../experiments/arrangements/front-nodes.toml)). Mean response time by the utilisation of the servers.
`free-capacity` takes turns and `remaining-capacity` draws, both in proportion to what a server had free at its last report
(Agarwal 2001, sections 4.4.2 and 3.5.2).

With utilisation u, a server whose share was larger than one half by d has one that is smaller by d u / (1 - u) after the
next report. Below a utilisation of one half that fades. Above, the servers swing further from report to report, the one
full and the other idle in turn, however exact the reports are. `least-connections` knows of each request at once.

";

const DNS_HEAD: &str = "
## What a DNS is told

DNS over front nodes, 120 ms between regions, a TTL of 60 s, by what the DNS goes by
([what-the-dns-knows](../../experiments/arrangements/what-the-dns-knows.toml)). 30 % of each region's clients are behind one
resolver: a single answer moves up to 14 % of all load, and the rate of that resolver is known only with hidden load. Mean
response time by the utilisation of all servers; at 0.8 Europe's clients alone would need 1.08 of their site.

| DNS | 0.6 | 0.8 |
|---|---|---|
";

const TTL_HEAD: &str = "
## Constant, variable and adaptive TTL

The same, with hidden load told, by the TTL of an answer ([ttl](../../experiments/arrangements/ttl.toml)): constant; times the
share of the sites that are not overloaded (variable); or times how seldom the asker asks and how much the site can take,
both against the mean (adaptive; Cardellini, Colajanni and Yu 1999). Mean response time; the second column is the
utilisation of all servers. What a short TTL costs is queries: who asks comes back once a TTL at most.

| DNS | utilisation | 60 s | variable(60 s) | adaptive(60 s) | 5 s | 240 s |
|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{Settings, World, sampled};
    use crate::verdict::Verdict;

    /// Answers in which the mean response time is what `world` makes of a variant's settings.
    fn made_up(world: impl Fn(&Settings<'_>) -> f64) -> Studies {
        let of: World<'_> = &|setting| vec![(MEAN.to_owned(), world(setting))];
        Studies(STUDIES.map(|name| Answers::made_up(&format!("arrangements/{name}.toml"), of, sampled)))
    }

    /// As the theory of each says.
    fn as_expected(setting: &Settings<'_>) -> f64 {
        let swings = ["160 /s", "213 /s"].iter().any(|rate| setting(RATE).contains(rate));
        let front = if swings && setting(FRONT).ends_with("capacity") { 2.0 } else { 1.0 };
        let dns = match setting(DNS).as_str() {
            "nearest" => 3.0,
            WITHOUT_RATES | HELD => 2.0,
            _ if setting(HIDDEN) == "true" => 0.9,
            _ => 1.0,
        };
        let ttl = match setting(TTL).as_str() {
            "" | "60 s" => 1.0,
            "240 s" => 2.0,
            _ => 0.5,
        };
        front * dns * ttl
    }

    #[test]
    fn a_world_as_expected_holds_and_its_reverse_does_not() {
        for Finding { claim, comparisons, .. } in findings(&made_up(as_expected)) {
            assert_eq!(Verdict::of(&comparisons), Verdict::Holds, "{claim}: {comparisons:?}");
        }
        let alike = "Up to a utilisation of 0.45";
        for finding in findings(&made_up(|setting| 1.0 / as_expected(setting))) {
            let wanted = if finding.claim.starts_with(alike) { Verdict::Holds } else { Verdict::Fails };
            assert_eq!(finding.verdict(), wanted, "{}: {:?}", finding.claim, finding.comparisons);
        }
        let noisy = made_up(|setting| if setting(FRONT).ends_with("capacity") { 1.1 } else { 1.0 });
        assert_eq!(findings(&noisy)[0].verdict(), Verdict::Fails, "10 % is no longer as fast");
    }

    /// Each claim is of the loads that it names.
    #[test]
    fn findings_look_at_the_loads_that_they_name() {
        let verdicts = |world: &dyn Fn(&Settings<'_>) -> f64| {
            findings(&made_up(world)).iter().map(Finding::verdict).collect::<Vec<_>>()
        };
        let slow_at = |wanted: &'static str| {
            move |setting: &Settings<'_>| {
                if setting(RATE).contains(wanted) && setting(FRONT).ends_with("capacity") { 2.0 } else { 1.0 }
            }
        };
        assert_eq!(verdicts(&slow_at("120 /s"))[0], Verdict::InPart, "at 0.45, and not at 0.3");
        assert_eq!(verdicts(&slow_at("160 /s"))[..2], [Verdict::Holds, Verdict::InPart], "at 0.6, and not at 0.8");
        let full = |setting: &Settings<'_>| {
            if setting(RATE).contains("640 /s") { as_expected(setting) } else { 1.0 / as_expected(setting) }
        };
        assert!(verdicts(&full)[2..].iter().all(|verdict| *verdict == Verdict::Holds));
    }

    /// One of six servers has a quarter of the requests at a mean utilisation of 0.8.
    #[test]
    fn what_is_overloaded_has_no_mean_on_the_page() {
        let world: World<'_> = &|setting| {
            let busy = if setting(RATE).contains("640 /s") && setting(DNS) == "nearest" { 0.25 } else { 0.17 };
            vec![(MEAN.to_owned(), 1.0), ("utilization".into(), 0.8), ("share_1".into(), busy)]
        };
        let studies =
            Studies(STUDIES.map(|name| Answers::made_up(&format!("arrangements/{name}.toml"), world, sampled)));
        let text = text(&studies);
        let row = text.lines().find(|row| row.starts_with("| nearest, without a look at load")).expect("a row");
        assert!(row.ends_with(" | overloaded |") && row.matches("overloaded").count() == 1, "{row}");
    }

    #[test]
    fn every_cell_finds_its_variant() {
        let text = text(&made_up(as_expected));
        assert_eq!(text.lines().filter(|row| row.starts_with("| ")).count(), 1 + 5 + 1 + 11 + 1 + 6 + 1 + 9);
        assert!(!text.contains("| -"), "{text}");
    }
}
