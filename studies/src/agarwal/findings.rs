//! His findings, each as the comparisons that the readings fixed before any result was known.

use super::grid::{Load, ratios};
use super::{MEAN, NEAREST, POLICIES, POLICY, Runs, Setting};
use crate::finding::Finding;
use crate::number::{Number, interval, known, quotient, range, scaled};
use crate::verdict::{Comparison, below, inside, near_number, positive};

pub(super) fn findings(runs: &Runs) -> Vec<Finding> {
    let mut all = response_times(runs);
    all.extend(load(runs));
    all.extend(outages(runs));
    all.push(distance(runs));
    all
}

/// The means that he printed for each policy (s).
pub(super) fn printed(policy: &str) -> (f64, f64) {
    if policy == NEAREST { (0.92, 0.96) } else { (1.5, 1.8) }
}

fn response_times(runs: &Runs) -> Vec<Finding> {
    let grid = runs.of("1-grid");
    let mean = |load: &Load, policy: &str| grid.number(&load.under(policy), MEAN);
    let means = |policy: &str| runs.grid.iter().map(|load| mean(load, policy)).collect::<Vec<_>>();
    let level = POLICIES.iter().flat_map(|(_, policy)| {
        let (low, high) = printed(policy);
        means(policy).into_iter().map(move |mean| inside(mean, 0.85 * low, 1.15 * high))
    });
    let all_ratios: Vec<Option<Number>> = runs.grid.iter().flat_map(|load| ratios(runs, load, MEAN)).collect();
    let spreads = POLICIES.map(|(name, policy)| (name, spread(&means(policy))));
    let shown = |of: &[(&str, Option<Number>)]| {
        of.iter().map(|(name, number)| format!("{name} {}", interval(*number, 2))).collect::<Vec<_>>().join(", ")
    };
    let each = |of: &dyn Fn(&str) -> Vec<Option<Number>>| {
        POLICIES.map(|(name, policy)| format!("{name} {}", range(&of(policy)))).join(", ")
    };
    vec![
        Finding {
            place: "5.2",
            claim: "Mean response times of 1.5 to 1.8 s, and of 0.92 to 0.96 s with nearest (within 15 % of that)",
            comparisons: level.collect(),
            ours: format!("{} s", each(&means)),
            why: "the level hangs on how losses follow one another and on TCP's time-outs, which he does not state.",
        },
        Finding {
            place: "5.2",
            claim: "The ratio of nearest to each other policy is 0.51 to 0.64 (worked out from his ranges)",
            comparisons: all_ratios.iter().map(|ratio| inside(*ratio, 0.51, 0.64)).collect(),
            ours: range(&all_ratios),
            why: "the table of readings below says which of them moves it, and by how much.",
        },
        Finding {
            place: "5.2, figures 5.5 and 5.6",
            claim: "Nearest beats the three others by a good margin, even and uneven (at most 0.75 of each)",
            comparisons: all_ratios.iter().map(|ratio| below(*ratio, known(0.75))).collect(),
            ours: range(&all_ratios),
            why: "clients of the fourth region gain nothing from it, and they are a quarter of all.",
        },
        Finding {
            place: "5.1, figures 5.1 to 5.4",
            claim: "The mean hardly depends on the number of processes (largest at most 1.2 times the smallest)",
            comparisons: spreads.iter().map(|(_, spread)| below(*spread, known(1.2))).collect(),
            ours: shown(&spreads),
            why: "the share of processes in each region changes from one load to the next, and with it the distances.",
        },
        Finding {
            place: "5.1.2, figure 5.2",
            claim: "The means of random follow no pattern: they neither rise nor fall throughout",
            comparisons: steps(&means("random")),
            ours: format!("{} s", range(&means("random"))),
            why: "averaged over many minutes, random is round robin.",
        },
        Finding {
            place: "5.2, figure 5.7",
            claim: "Nearest has the lowest maximum response time",
            comparisons: against_others(runs, "response_time_max", false),
            ours: each(&|policy| {
                runs.grid.iter().map(|load| grid.number(&load.under(policy), "response_time_max")).collect()
            }) + " s",
            why: "a maximum is what a client still waits for when WebStone's minute ends, whatever the policy.",
        },
    ]
}

/// The largest of some numbers over the smallest.
fn spread(numbers: &[Option<Number>]) -> Option<Number> {
    let by_value = |a: &&Number, b: &&Number| a.value.total_cmp(&b.value);
    let all: Vec<Number> = numbers.iter().copied().collect::<Option<_>>()?;
    quotient(all.iter().max_by(by_value).copied(), all.iter().min_by(by_value).copied())
}

/// Whether a row of numbers rises somewhere, and falls somewhere.
fn steps(numbers: &[Option<Number>]) -> Vec<Comparison> {
    let rises: Vec<Comparison> = numbers.windows(2).map(|pair| below(pair[0], pair[1])).collect();
    let some = |wanted: bool| {
        let says = |holds: Option<bool>| rises.iter().any(|step| step.holds == holds);
        let holds = match () {
            () if says(Some(wanted)) => Some(true),
            () if says(None) => None,
            () => Some(false),
        };
        Comparison { holds, is_suspect: rises.iter().any(|step| step.is_suspect) }
    };
    vec![some(true), some(false)]
}

/// Whether nearest has more (or less) of `metric` than each other policy, at each load.
fn against_others(runs: &Runs, metric: &str, more: bool) -> Vec<Comparison> {
    let grid = runs.of("1-grid");
    let of = |load: &Load, policy: &str| {
        let less = grid.paired(metric, &load.under(policy), &load.under(NEAREST));
        let is_less = positive(less);
        if more { !is_less } else { is_less }
    };
    runs.grid.iter().flat_map(|load| POLICIES[..3].iter().map(move |(_, policy)| of(load, policy))).collect()
}

fn load(runs: &Runs) -> Vec<Finding> {
    let grid = runs.of("1-grid");
    let all = || runs.grid.iter().flat_map(|load| POLICIES.iter().map(move |(_, policy)| (load, *policy)));
    let rates = ["connection_rate", "byte_throughput"].into_iter().flat_map(|rate| against_others(runs, rate, true));
    let closed = all().map(|(load, policy)| {
        near_number(grid.number(&load.under(policy), "littles_load_factor"), load.number(), 0.05)
    });
    let busiest: Vec<Option<Number>> = all().map(|(load, policy)| busiest(runs, &load.under(policy))).collect();
    let rate_ratios: Vec<_> = runs.grid.iter().flat_map(|load| ratios(runs, load, "connection_rate")).collect();
    let load_factors: Vec<_> = all()
        .map(|(load, policy)| scaled(grid.number(&load.under(policy), "littles_load_factor"), 1.0 / load.number()))
        .collect();
    vec![
        Finding {
            place: "5.2, figures 5.8 and 5.9",
            claim: "Nearest has the highest connection rate and throughput",
            comparisons: rates.collect(),
            ours: format!("connection rate over the others': {}", range(&rate_ratios)),
            why: "bytes come in few large documents, so that their rate varies far more than that of connections.",
        },
        Finding {
            place: "5.2",
            claim: "The gap in throughput comes from WebStone asking again at once (Little's load factor is the number of \
                    processes, within 5 %)",
            comparisons: closed.collect(),
            ours: format!("load factor / processes: {}", range(&load_factors)),
            why: "a document that is unfinished when the minute ends counts as no response time.",
        },
        Finding {
            place: "5.1, 5.2",
            claim: "Servers were not loaded enough to matter (utilisation of the busiest below 0.3)",
            comparisons: busiest.iter().map(|busiest| below(*busiest, known(0.3))).collect(),
            ours: range(&busiest),
            why: "see the section on loaded servers.",
        },
    ]
}

/// The utilisation of the busiest of the six servers.
fn busiest(runs: &Runs, wanted: &[Setting<'_>]) -> Option<Number> {
    let grid = runs.of("1-grid");
    let shares = (1..=6).filter_map(|server| Some(grid.number(wanted, &format!("share_{server}"))?.value));
    scaled(grid.number(wanted, "utilization"), 6.0 * shares.max_by(f64::total_cmp)?)
}

/// Outages of one minute and of four, from the same instant.
pub(super) const OUTAGES: [(&str, &str); 2] = [("a minute", "360 s"), ("four minutes", "540 s")];

fn outages(runs: &Runs) -> Vec<Finding> {
    let of = |run: &'static str, outage: &'static str| {
        runs.of(run).number(&[("fault.0.until", outage), (POLICY, NEAREST)], "error_ratio")
    };
    // Failures per second of the run, from the shares of all that ended and the rate of those that did well.
    let failures = |[failed, given_up, rate]: [f64; 3]| failed * rate / (1.0 - failed - given_up);
    // Some requests fail, and no more of them in a longer outage.
    let comparisons = |run: &'static str| {
        let [short, long] = OUTAGES.map(|(_, until)| [("fault.0.until", until), (POLICY, NEAREST)]);
        let metrics = ["error_ratio", "abandoned_ratio", "throughput"];
        let more = runs.of(run).paired_of(metrics, failures, &long, &short);
        vec![below(known(0.0), of(run, OUTAGES[0].1)), !positive_or_nothing(more)]
    };
    let ours = |run: &'static str| {
        let [short, long] = OUTAGES.map(|(_, until)| interval(scaled(of(run, until), 100.0), 3));
        format!("errors under nearest: {short} % in an outage of a minute, {long} % in one of four")
    };
    vec![
        Finding {
            place: "5.2",
            claim: "A failed server gets no new requests; the connections that it has are lost",
            comparisons: comparisons("7-server-fails"),
            ours: ours("7-server-fails"),
            why: "a server without reports is left out two heartbeats after its last one, not at once.",
        },
        Finding {
            place: "5.2",
            claim: "A failed cluster is left out by the DNS; clients that hold its address move to another",
            comparisons: comparisons("6-site-fails"),
            ours: ours("6-site-fails"),
            why: "a client that holds the address of a dead cluster asks in vain until it resolves again.",
        },
    ]
}

/// Whether a difference is clearly above zero; one that covers zero is not.
fn positive_or_nothing(difference: Option<Number>) -> Comparison {
    Comparison::of(difference, known(0.0), |difference, zero| Some(difference.low > zero.value))
}

fn distance(runs: &Runs) -> Finding {
    let same = [("system.paths.between.rtt", "uniform(10 ms, 50 ms)")];
    let under = |policy: &'static str| [same[0], (POLICY, policy)];
    let ratio = |policy: &'static str| runs.of("3-network").ratio(MEAN, &under(NEAREST), &under(policy));
    let ratios: Vec<Option<Number>> = POLICIES[..3].iter().map(|(_, policy)| ratio(policy)).collect();
    Finding {
        place: "5.2, chapter 6",
        claim: "The gain needs links between regions that are much worse (with equal paths: at least 0.95 of each)",
        comparisons: ratios.iter().map(|ratio| below(known(0.95), *ratio)).collect(),
        ours: range(&ratios),
        why: "round trips are drawn for each client and region, and probes find the shortest of three equal laws.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_largest_over_the_smallest() {
        let of = |values: &[f64]| spread(&values.iter().map(|value| known(*value)).collect::<Vec<_>>()).unwrap().value;
        assert_eq!([of(&[1.0, 1.5, 0.5]), of(&[2.0, 2.0])], [3.0, 1.0]);
    }

    #[test]
    fn no_pattern_is_a_rise_and_a_fall() {
        let says = |values: &[f64]| {
            let numbers: Vec<_> = values.iter().map(|value| known(*value)).collect();
            steps(&numbers).iter().map(|step| step.holds).collect::<Vec<_>>()
        };
        assert_eq!(says(&[1.0, 2.0, 1.5]), [Some(true), Some(true)]);
        assert_eq!(says(&[1.0, 2.0, 3.0]), [Some(true), Some(false)]);
        assert_eq!(says(&[3.0, 2.0, 1.0]), [Some(false), Some(true)]);
    }
}
