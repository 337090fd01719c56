//! A dynamic and secure mix over TLS, live: what programs take that are asked for over secure connections, beside others and
//! files.
//!
//! Figures come from the file that [`super::measured`] keeps, by the class of the requests.

use std::fmt::Write;

use super::live::{agreement, agrees, shown};
use super::measured::{Case, MIX, MIX_CLASSES, Measured, SECURE};
use super::{ROTATION, SWEB};
use crate::finding::{self, Finding};
use crate::number::{Number, interval, known, range};
use crate::verdict::below;

/// Masters for files, and slaves for all else.
const DEDICATED: &str = "sweb(dedicated = server-1 server-2, class = 0, spill = true)";
const POLICIES: [&str; 3] = [ROTATION, SWEB, DEDICATED];

/// The section; nothing where nothing was measured.
pub(super) fn text(measured: &Measured) -> String {
    if POLICIES.iter().all(|policy| measured.runs(case(policy, "")).0 == 0) {
        return String::new();
    }
    let mut text = HEAD.to_owned();
    text += "| policy | requests | sim (s) | live (s) | twin (s) | live / sim | runs, not VALID |\n\
             |---|---|---|---|---|---|---|\n";
    for policy in POLICIES {
        for class in MIX_CLASSES {
            let case = case(policy, class);
            let engines = ["sim", "live", "twin"].map(|engine| shown(measured.spread(case, engine))).join(" | ");
            let ratio = agreement(measured, case).map_or("-".into(), |ratio| format!("{:.2}", ratio.value));
            let (runs, doubted) = measured.runs(case);
            let class = if class.is_empty() { "all" } else { class };
            let _ = writeln!(text, "| `{policy}` | {class} | {engines} | {ratio} | {runs}, {doubted} |");
        }
    }
    text + "\n" + &finding::table(&findings(measured), "expected")
}

fn case<'a>(policy: &'a str, class: &'a str) -> Case<'a> {
    Case { experiment: MIX, policy, arrivals: "", class }
}

/// What is expected of it, live.
fn findings(measured: &Measured) -> Vec<Finding> {
    let over = |policy, class| measured.ratio(case(policy, class), case(ROTATION, class), "live");
    let faster: Vec<Option<Number>> = ["", SECURE].map(|class| over(SWEB, class)).into();
    let files = measured.ratio(case(DEDICATED, "static"), case(SWEB, "static"), "live");
    let agreements: Vec<Option<Number>> =
        POLICIES.iter().flat_map(|policy| ["", SECURE].map(|class| agreement(measured, case(policy, class)))).collect();
    vec![
        Finding {
            place: "secure mix, live",
            claim: "SWEB is faster than the rotation, over TLS too",
            comparisons: faster.iter().map(|ratio| below(*ratio, known(1.0))).collect(),
            ours: format!("{} of its time", range(&faster)),
            why: "what nodes know of each other is half a second old, in which 45 requests come; the rotation deals them evenly.",
        },
        Finding {
            place: "secure mix, live",
            claim: "Files are faster at masters of their own than under SWEB alone",
            comparisons: vec![below(files, known(1.0))],
            ours: interval(files, 2),
            why: "what the masters do not serve makes the others slower, and with `spill` files go there too.",
        },
        Finding {
            place: "live and sim",
            claim: "All requests, and those over TLS: the median of live's mean response times is within 15 % of sim's",
            comparisons: agreements.iter().map(|ratio| agrees(*ratio)).collect(),
            ours: format!("live / sim: {}", range(&agreements)),
            why: "what TLS takes of this machine is no part of the emulated processors.",
        },
    ]
}

const HEAD: &str = "
### A dynamic and secure mix over TLS

Zhang (2002) leaves dynamic and secure requests for future work. Files, programs, and programs over TLS, a connection and a whole
or resumed handshake for each request ([file](../../experiments/sweb-1996/live/secure.toml)); a request that came over TLS is
sent on over TLS. Mean response times, as above.

";

#[cfg(test)]
mod tests {
    use super::super::measured::Row;
    use super::*;
    use crate::verdict::Verdict;

    /// Sim has the same mean of each policy's requests of every class; live `factor` times as much of those over TLS.
    fn world(means: [f64; 3], factor: f64, verdict: &str) -> Measured {
        let mut rows = Vec::new();
        for (policy, mean) in POLICIES.iter().zip(means) {
            for (class, seed) in MIX_CLASSES.iter().flat_map(|class| (1..=5).map(move |seed| (*class, seed))) {
                let live = if class == SECURE { factor * mean } else { mean };
                rows.push(Row::made_up(case(policy, class), seed, "sim", mean, "VALID"));
                rows.push(Row::made_up(case(policy, class), seed, "live", live, verdict));
            }
        }
        Measured(rows)
    }

    #[test]
    fn what_is_expected_is_judged_by_class_and_not_at_all_of_suspect_runs() {
        use Verdict::{Fails, Holds, InPart, Unjudged};
        let verdicts = |world: &Measured| findings(world).iter().map(Finding::verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(&world([3.0, 2.0, 1.0], 1.1, "VALID")), [Holds, Holds, Holds]);
        assert_eq!(verdicts(&world([2.0, 3.0, 4.0], 1.1, "VALID")), [Fails, Fails, Holds]);
        assert_eq!(verdicts(&world([3.0, 2.0, 1.0], 1.2, "VALID"))[2], InPart);
        assert_eq!(verdicts(&world([3.0, 2.0, 1.0], 1.1, "SUSPECT")), [Unjudged; 3]);
    }

    #[test]
    fn each_class_is_on_the_page() {
        let text = text(&world([3.0, 2.0, 1.0], 1.1, "SUSPECT"));
        assert_eq!(
            (text.matches("| 5, 5 |").count(), text.matches("| secure | 2.000 | 2.200 | - | 1.10 |").count()),
            (12, 1)
        );
        assert_eq!(super::text(&Measured::default()), "");
    }
}
