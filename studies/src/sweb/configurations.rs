//! Other uses of the broker that later authors describe: contents assigned to nodes, nodes dedicated to programs, customers who
//! are served first, files that are copied on demand. What each is expected to gain is compared as the paper's statements are.

use std::fmt::Write;

use super::{MEAN, POLICY, ROTATION, SWEB, Setting, Study};
use crate::finding::{Finding, table};
use crate::number::{Number, interval, known, range, scaled};
use crate::verdict::{below, near};

/// The experiments, and where each has its policy.
const CONTENTS: &str = "contents";
const MASTERS: &str = "master-slave";
const CUSTOMERS: &str = "customers";
const COPIES: &str = "copies";
const AT_GATEWAY: &str = "system.tier.gateway.policy";

/// Fetches after which a node copies a file; 0: it never does.
const AFTER: &str = "system.server.files.copies_after";
const NEVER: &str = "0";
const THIRD: &str = "3";

/// The processor time of a file where disks are what is short, and where processors are.
const DEMAND: &str = "system.server.demand";
const LITTLE: &str = "2 ms";
const MUCH: &str = "10 ms";

const LARD: &str = "lard(low = 5, high = 10)";
const LARD_R: &str = "lard(low = 5, high = 10, replicates = true)";
const DEDICATED: &str = "sweb(dedicated = server-1 server-2, class = 1)";
const DEDICATED_SPILLS: &str = "sweb(dedicated = server-1 server-2, class = 1, spill = true)";
const FIRST: &str = "sweb(dedicated = server-1 server-2)";
const FIRST_SPILLS: &str = "sweb(dedicated = server-1 server-2, spill = true)";

/// A table: its experiment and what is set there besides the policy, the policies, and the metrics that are shown.
struct Shown {
    run: &'static str,
    title: &'static str,
    besides: &'static [Setting<'static>],
    key: &'static str,
    policies: &'static [&'static str],
    metrics: [&'static str; 3],
}

const BY_CONTENTS: &[&str] = &["round-robin", "least-connections", "path-hash", LARD, LARD_R];
const OF_COPIES: [&str; 3] = [MEAN, "response_time_p50", "response_time_p90"];
const OF_CONTENTS: [&str; 3] = [MEAN, "response_time_p90", "response_time_p99"];

const SHOWN: [Shown; 6] = [
    Shown {
        run: CONTENTS,
        title: "files of 2 ms of processor time: disks are short",
        besides: &[(DEMAND, LITTLE)],
        key: AT_GATEWAY,
        policies: BY_CONTENTS,
        metrics: OF_CONTENTS,
    },
    Shown {
        run: CONTENTS,
        title: "files of 10 ms of processor time: processors are short",
        besides: &[(DEMAND, MUCH)],
        key: AT_GATEWAY,
        policies: BY_CONTENTS,
        metrics: OF_CONTENTS,
    },
    Shown {
        run: MASTERS,
        title: "static files and programs",
        besides: &[],
        key: POLICY,
        policies: &[ROTATION, SWEB, DEDICATED, DEDICATED_SPILLS],
        metrics: [MEAN, "response_time_mean_static", "response_time_mean_dynamic"],
    },
    Shown {
        run: CUSTOMERS,
        title: "customers who pay, and others",
        besides: &[],
        key: POLICY,
        policies: &[ROTATION, SWEB, FIRST, FIRST_SPILLS],
        metrics: [MEAN, "response_time_mean_gold", "response_time_mean_iron"],
    },
    Shown {
        run: COPIES,
        title: "a file that all ask for, on its owner's disk only",
        besides: &[(AFTER, NEVER)],
        key: POLICY,
        policies: &[ROTATION, SWEB],
        metrics: OF_COPIES,
    },
    Shown {
        run: COPIES,
        title: "the same, copied by each node that has fetched it three times within 10 s",
        besides: &[(AFTER, THIRD)],
        key: POLICY,
        policies: &[ROTATION, SWEB],
        metrics: OF_COPIES,
    },
];

/// The section of the page.
pub(super) fn text(study: &Study) -> String {
    let mut text = "\n## Configurations of the broker\n\nWhat later work does with brokers and dispatchers of this kind, \
                    simulated: files assigned to nodes by what is asked for (LARD, Pai et al. 1998), nodes that are dedicated \
                    to static files or to programs (masters and slaves, Zhang 2002's future work), nodes that are kept \
                    for some customers, and files that nodes copy on demand (Agarwal 2001's future \
                    work). Means over ten replications, in ms.\n"
        .to_owned();
    for Shown { run, title, besides, key, policies, metrics } in &SHOWN {
        let _ = write!(
            text,
            "\n[{run}](../../experiments/sweb-1996/{run}.toml), {title}:\n\n| policy | {} |\n|---|---|---|---|\n",
            metrics.map(head).join(" | ")
        );
        for policy in *policies {
            let settings = [besides, &[(*key, *policy)][..]].concat();
            let number = |metric: &str| interval(scaled(study.of(run).number(&settings, metric), 1e3), 1);
            let _ = writeln!(text, "| `{policy}` | {} |", metrics.map(number).join(" | "));
        }
    }
    text + "\n" + &table(&findings(study), "expected")
}

fn head(metric: &str) -> &str {
    match metric {
        MEAN => "all",
        of_class if of_class.starts_with(MEAN) => of_class.trim_start_matches(MEAN).trim_start_matches('_'),
        quantile => quantile.trim_start_matches("response_time_"),
    }
}

/// What is expected of each.
pub(super) fn findings(study: &Study) -> Vec<Finding> {
    let at_gateway = |demand: &str, one: &str, other: &str| {
        let of = |policy| [(DEMAND, demand), (AT_GATEWAY, policy)];
        study.of(CONTENTS).ratio(MEAN, &of(one), &of(other))
    };
    let ratio = |run: &str, metric: &str, one: &str, other: &str| {
        study.of(run).ratio(metric, &[(POLICY, one)], &[(POLICY, other)])
    };
    let by_load = |demand: &'static str| -> Vec<Option<Number>> {
        let others = |lard| ["round-robin", "least-connections"].map(|other| at_gateway(demand, lard, other));
        [LARD, LARD_R].into_iter().flat_map(others).collect()
    };
    let (disks, processors) = (by_load(LITTLE), by_load(MUCH));
    let by_hash = at_gateway(LITTLE, LARD, "path-hash");
    let replicated = at_gateway(LITTLE, LARD_R, LARD);
    let of_static = |one: &str| [ROTATION, SWEB].map(|other| ratio(MASTERS, "response_time_mean_static", one, other));
    let files: Vec<Option<Number>> = [DEDICATED, DEDICATED_SPILLS].into_iter().flat_map(of_static).collect();
    let programs = [DEDICATED, DEDICATED_SPILLS].map(|one| ratio(MASTERS, "response_time_mean_dynamic", one, ROTATION));
    let gold: Vec<Option<Number>> =
        [FIRST, FIRST_SPILLS].into_iter().map(|one| ratio(CUSTOMERS, "response_time_mean_gold", one, SWEB)).collect();
    let iron: Vec<Option<Number>> =
        [FIRST, FIRST_SPILLS].into_iter().map(|one| ratio(CUSTOMERS, "response_time_mean_iron", SWEB, one)).collect();
    let spilled = ratio(CUSTOMERS, "response_time_mean_gold", FIRST_SPILLS, FIRST);
    let copied = [ROTATION, SWEB].map(|policy| {
        let of = |after| [(POLICY, policy), (AFTER, after)];
        study.of(COPIES).ratio(MEAN, &of(THIRD), &of(NEVER))
    });
    let all_below = |ratios: &[Option<Number>]| ratios.iter().map(|ratio| below(*ratio, known(1.0))).collect();
    vec![
        Finding {
            place: "contents",
            claim: "Where disks are short, LARD is faster than round robin and least connections",
            comparisons: all_below(&disks),
            ours: range(&disks),
            why: "what the memories save is less than what an uneven load costs.",
        },
        Finding {
            place: "contents",
            claim: "Where processors are short it is slower",
            comparisons: processors.iter().map(|ratio| below(known(1.0), *ratio)).collect(),
            ours: range(&processors),
            why: "disks are busy enough that fewer readings pay.",
        },
        Finding {
            place: "contents",
            claim: "LARD is faster than hashing paths, which does not see load",
            comparisons: all_below(&[by_hash]),
            ours: interval(by_hash, 2),
            why: "a file asked for often is not more than a node can take here, so that hashing overloads none.",
        },
        Finding {
            place: "contents",
            claim: "Where no file overloads a node, replication changes nothing (within 5 %)",
            comparisons: vec![near(replicated, known(1.0), 1.0, 0.05)],
            ours: interval(replicated, 2),
            why: "files that are at two nodes take memory at both.",
        },
        Finding {
            place: "masters and slaves",
            claim: "Static files are faster at masters of their own than among programs",
            comparisons: all_below(&files),
            ours: range(&files),
            why: "of the nodes that could serve them, all but the masters are lost to them.",
        },
        Finding {
            place: "masters and slaves",
            claim: "Programs are faster too than under the rotation",
            comparisons: all_below(&programs),
            ours: range(&programs),
            why: "they have fewer nodes, and the broker sends those that come within a report's time to the same one.",
        },
        Finding {
            place: "customers",
            claim: "Who has nodes of his own is served faster than by the same broker without them",
            comparisons: all_below(&gold),
            ours: range(&gold),
            why: "reports are old: the broker sends them to others' nodes that only seem idle.",
        },
        Finding {
            place: "customers",
            claim: "The others pay for it",
            comparisons: all_below(&iron),
            ours: format!("{} of their time with them", range(&iron)),
            why: "the nodes that are left had room.",
        },
        Finding {
            place: "customers",
            claim: "Using others' nodes too makes them faster still",
            comparisons: all_below(&[spilled]),
            ours: interval(spilled, 2),
            why: "between two reports the broker raises the load of its choice only, so that what others have sent there is not \
                  seen.",
        },
        Finding {
            place: "copies",
            claim: "A file that all ask for is served faster once nodes copy it, by the rotation and by the broker",
            comparisons: all_below(&copied),
            ours: range(&copied),
            why: "the broker sends every request to the file's owner, where reading seems cheapest: no other node fetches it, so \
                  that none copies it.",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::made_up::in_world;
    use super::{AFTER, CONTENTS, COPIES, CUSTOMERS, MASTERS, POLICY, SHOWN, THIRD, findings, text};
    use crate::answers::Settings;
    use crate::verdict::Verdict;

    /// As expected, or the other way round.
    fn value(run: &str, of: &Settings<'_>, metric: &str, is_reverse: bool) -> f64 {
        let policy = if run == CONTENTS { of(super::AT_GATEWAY) } else { of(POLICY) };
        let (is_ours, spills) = (policy.contains("lard") || policy.contains("dedicated"), policy.contains("spill"));
        let value = match run {
            CONTENTS if is_ours && of(super::DEMAND) == super::MUCH => 2.0,
            CONTENTS if is_ours => 0.5,
            MASTERS if is_ours => 0.5,
            CUSTOMERS if is_ours && metric.ends_with("iron") => 2.0,
            CUSTOMERS if is_ours && spills => 0.25,
            CUSTOMERS if is_ours => 0.5,
            COPIES if of(AFTER) == THIRD => 0.5,
            _ => 1.0,
        };
        if is_reverse { 1.0 / value } else { value }
    }

    #[test]
    fn expectations_are_judged_by_all_that_they_say() {
        let verdicts = |is_reverse| {
            let study = in_world(&move |run, of, metric| value(run, of, metric, is_reverse));
            findings(&study).iter().map(|finding| finding.verdict()).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(false), [Verdict::Holds; 10]);
        let reverse = verdicts(true);
        assert_eq!(reverse[3], Verdict::Holds, "what is alike stays so");
        assert!(reverse.iter().enumerate().all(|(at, verdict)| at == 3 || *verdict == Verdict::Fails), "{reverse:?}");
        // One of several that a claim is about is slower.
        let one = |policy: &'static str, claim: usize| {
            let study = in_world(&move |run, of, metric| {
                let is_it = of(POLICY) == policy || of(super::AT_GATEWAY) == policy;
                if is_it { 3.0 } else { value(run, of, metric, false) }
            });
            findings(&study)[claim].verdict()
        };
        assert_eq!(one(super::LARD_R, 0), Verdict::InPart);
        assert_eq!(one(super::LARD_R, 3), Verdict::Fails);
        assert_eq!(one(super::DEDICATED_SPILLS, 4), Verdict::InPart);
        assert_eq!(one(super::FIRST, 6), Verdict::InPart);
    }

    #[test]
    fn no_cell_of_the_section_is_empty() {
        let text = text(&in_world(&|run, of, metric| value(run, of, metric, false)));
        let rows: usize = SHOWN.iter().map(|shown| shown.policies.len()).sum();
        let shown: Vec<&str> = text.lines().filter(|row| row.starts_with("| `")).collect();
        assert_eq!(shown.len(), rows);
        assert!(shown.iter().all(|row| !row.contains("| -")), "{shown:?}");
    }
}
