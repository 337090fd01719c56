//! Which values of a number meet all objectives, for each combination of what varies beside it: how many servers are enough?
//!
//! The number is a setting of what serves before one of the load, `servers` before others, and of equals the one that takes most
//! values. Values are those that were asked: of a range, what lies between two of them was not. What could not be decided is
//! told apart. It is said of more than a few variants, some of which meet all; of few their names are.

use std::cmp::Reverse;

use super::{Answers, Engine, are_many, what_is_asked};
use crate::answer::{BEFORE_RUN, RUN, VariantAnswers};
use crate::compare::{is_of_load, numbers};
use crate::variants::long_name;

/// More lines than these together are counted.
const MOST: usize = 12;

/// The values of a setting that meet all objectives, by one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesThatMeet {
    /// What is listed: `By sim, the values of servers that meet all 4 objectives:`.
    pub title: String,
    /// A line for each combination of the other settings: `round-robin, rate 200: 4 to 8`.
    pub lines: Vec<String>,
}

/// The values of the number that varies which meet every objective, by each engine that judges them; nothing where no number
/// varies, where all variants meet all or none does, and of few variants.
pub fn values_that_meet(report: &Answers) -> Vec<ValuesThatMeet> {
    let Some(axis) = Axis::of(report).filter(|_| are_many(report)) else { return Vec::new() };
    let mut told: Vec<ValuesThatMeet> = Engine::ALL.into_iter().filter_map(|engine| axis.by(report, engine)).collect();
    let most = MOST / told.len().max(1);
    for ValuesThatMeet { lines, .. } in &mut told {
        let more = lines.len().saturating_sub(most);
        if more > 1 {
            lines.truncate(most);
            lines.push(format!("and {more} more combinations"));
        }
    }
    told
}

/// What came of all objectives of a variant. What is missed by one is missed, whatever the others say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Met,
    Open,
    Missed,
}

/// A setting whose values are numbers, and the variants that differ in it alone.
struct Axis<'a> {
    key: &'a str,
    combinations: Vec<Combination<'a>>,
}

/// Variants that are equal but for the number.
struct Combination<'a> {
    /// What they have in common.
    others: (Vec<&'a (String, String)>, Option<String>),
    /// The same in words.
    label: String,
    /// The number, as it is written, and which variant has it, by the number.
    values: Vec<(f64, &'a str, usize)>,
}

impl<'a> Axis<'a> {
    /// The one that answers what a reader asks; none where no number varies by itself.
    fn of(report: &'a Answers) -> Option<Axis<'a>> {
        let is_asked = |key: &&String| {
            let path = long_name(key);
            key.as_str() != RUN && path != "seed" && !path.starts_with("run.")
        };
        let mut keys: Vec<&String> = report.settings.iter().filter(is_asked).collect();
        keys.sort_by_cached_key(|key| {
            let mut values: Vec<&str> = report.variants.iter().filter_map(|of| of.setting(key)).collect();
            values.sort_unstable();
            values.dedup();
            let is_servers = key.rsplit('.').next() == Some("servers");
            (is_of_load(key), !is_servers, Reverse(values.len()))
        });
        keys.into_iter().find_map(|key| Axis::along(report, key))
    }

    /// Along the values of `key`; none where these are no numbers, or vary with others only.
    fn along(report: &'a Answers, key: &'a str) -> Option<Axis<'a>> {
        let value = |of: &'a VariantAnswers| of.setting(key).filter(|value| !value.is_empty());
        let valued: Vec<(usize, &str)> =
            report.variants.iter().enumerate().filter_map(|(number, of)| Some((number, value(of)?))).collect();
        let values: Vec<&str> = valued.iter().map(|(_, value)| *value).collect();
        let at = numbers(&values)?.at;
        let mut combinations: Vec<Combination<'a>> = Vec::new();
        for ((number, value), at) in valued.iter().zip(at) {
            let variant = &report.variants[*number];
            let others: Vec<&(String, String)> = variant.settings.iter().filter(|(of, _)| of != key).collect();
            let others = (others, variant.name_alone());
            let place = combinations.iter().position(|of| of.others == others).unwrap_or_else(|| {
                let run = variant.setting(RUN).map_or(String::new(), |run| format!("{BEFORE_RUN}{run}"));
                let label = variant.label_without(&[key]) + &run;
                combinations.push(Combination { others, label, values: Vec::new() });
                combinations.len() - 1
            });
            combinations[place].values.push((at, *value, *number));
        }
        combinations.iter_mut().for_each(|of| of.values.sort_by(|one, other| one.0.total_cmp(&other.0)));
        (2 * combinations.len() <= valued.len()).then_some(Axis { key, combinations })
    }

    /// What an engine says; none where it says the same of all.
    fn by(&self, report: &Answers, engine: Engine) -> Option<ValuesThatMeet> {
        let fates = fates(report, engine);
        let are = |wanted: Fate| fates.iter().flatten().filter(|fate| **fate == wanted).count();
        if are(Fate::Met) == 0 || are(Fate::Open) + are(Fate::Missed) == 0 {
            return None;
        }
        let line = |of: &Combination<'_>| {
            let known: Vec<(Fate, &str)> =
                of.values.iter().filter_map(|(_, value, number)| Some((fates[*number]?, *value))).collect();
            let told = told(&known)?;
            Some(if of.label.is_empty() { told } else { format!("{}: {told}", of.label) })
        };
        let mut texts: Vec<&str> =
            report.objectives.iter().filter(|of| of.engine == engine).map(|of| of.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        let name = self.key.rsplit('.').next().unwrap_or(self.key);
        let title = format!("By {}, the values of {name} that meet {}:", engine.name(), what_is_asked(texts.len()));
        Some(ValuesThatMeet { title, lines: self.combinations.iter().filter_map(line).collect() })
    }
}

/// What came of each variant by an engine; none where that judged nothing.
fn fates(report: &Answers, engine: Engine) -> Vec<Option<Fate>> {
    let mut all: Vec<Option<Fate>> = vec![None; report.variants.len()];
    for of in report.objectives.iter().filter(|of| of.engine == engine) {
        let fate = match of.met {
            Some(true) => Fate::Met,
            Some(false) => Fate::Missed,
            None => Fate::Open,
        };
        if let Some(known) = all.get_mut(of.variant) {
            *known = Some(known.map_or(fate, |known| known.max(fate)));
        }
    }
    all
}

/// Which of these values, in their order, meet all: `4 to 8 (all)`, `6 to 8; 5 undecided`, `none`. None where there are none.
fn told(values: &[(Fate, &str)]) -> Option<String> {
    let are_all_met = !values.is_empty() && values.iter().all(|(fate, _)| *fate == Fate::Met);
    let met = match ranges(values, Fate::Met) {
        met if are_all_met => format!("{met} (all)"),
        met if met.is_empty() => "none".to_owned(),
        met => met,
    };
    let open = ranges(values, Fate::Open);
    let open = if open.is_empty() { open } else { format!("; {open} undecided") };
    (!values.is_empty()).then(|| met + &open)
}

/// The values of this fate, those that follow each other as a range: `4 to 6, 8`.
fn ranges(values: &[(Fate, &str)], wanted: Fate) -> String {
    let alike = values.chunk_by(|one, next| one.0 == next.0).filter(|of| of[0].0 == wanted);
    let range = |of: &[(Fate, &str)]| match of {
        [first, .., last] => format!("{} to {}", first.1, last.1),
        _ => of[0].1.to_owned(),
    };
    alike.map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::section;
    use super::*;
    use crate::answer::ObjectiveAnswer;

    /// A sweep over servers, policies and rates, in which `met` says what came of one of two objectives; the other is met.
    fn swept(servers: &[u32], rates: &[u32], met: impl Fn(u32, &str, u32) -> Option<bool>) -> Answers {
        let keys = ["rate", "policy", "system.servers"];
        let mut report = Answers { settings: keys.map(str::to_owned).to_vec(), ..Answers::default() };
        for rate in rates {
            for policy in ["random", "round-robin"] {
                // From the most to the fewest, since ranges are by the number.
                for count in servers.iter().rev() {
                    let values = [rate.to_string(), policy.to_owned(), count.to_string()];
                    let settings: Vec<(String, String)> = keys.map(str::to_owned).into_iter().zip(values).collect();
                    let label = format!("rate {rate}, {policy}, servers {count}");
                    let variant = report.variants.len();
                    report.variants.push(VariantAnswers { label, settings, answers: Vec::new() });
                    for (text, met) in [("p99 < 1 s", met(*count, policy, *rate)), ("error_ratio < 1%", Some(true))] {
                        report.objectives.push(ObjectiveAnswer {
                            text: text.to_owned(),
                            variant,
                            engine: Engine::Sim,
                            met,
                            undecided: met.is_none(),
                            measured: String::new(),
                            reason: String::new(),
                        });
                    }
                }
            }
        }
        report
    }

    /// The lines of the only engine.
    fn lines(report: &Answers) -> Vec<String> {
        let told = values_that_meet(report);
        assert!(told.len() == 1, "{told:?}");
        told[0].lines.clone()
    }

    #[test]
    fn the_servers_that_are_enough_are_told_for_each_load_and_policy() {
        let report = swept(&[4, 5, 6, 7, 8], &[200, 380], |servers, policy, rate| match (policy, rate) {
            (_, 200) => Some(true),
            ("random", _) => Some(false),
            _ if servers == 5 => None,
            _ => Some(servers > 5),
        });
        let told = values_that_meet(&report);
        let expected = ValuesThatMeet {
            title: "By sim, the values of servers that meet both objectives:".to_owned(),
            lines: [
                "rate 200, random: 4 to 8 (all)",
                "rate 200, round-robin: 4 to 8 (all)",
                "rate 380, random: none",
                "rate 380, round-robin: 6 to 8; 5 undecided",
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        assert_eq!(told, [expected]);
        let page = section(&report);
        for part in ["<p>By sim, the values of servers that", "<li>rate 380, round-robin: 6 to 8; 5 undecided</li>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    /// A range has no hole: 10 comes after 9, and what is missed between is not said to be met.
    #[test]
    fn a_range_ends_where_a_value_misses() {
        let met = |servers: u32, policy: &str, _: u32| Some(policy == "random" || servers != 11);
        let report = swept(&[8, 9, 10, 11, 12], &[200], met);
        assert_eq!(lines(&report), ["rate 200, random: 8 to 12 (all)", "rate 200, round-robin: 8 to 10, 12"]);
    }

    /// Of servers and of rates the servers are asked for, though the rates are more; where they do not vary, the rate.
    #[test]
    fn what_serves_is_asked_for_before_the_load() {
        let rates = [100, 200, 300, 400, 500];
        let slow = |_: u32, _: &str, rate: u32| Some(rate < 250);
        assert_eq!(lines(&swept(&[4, 5], &rates, slow))[0], "rate 100, random: 4 to 5 (all)");
        let one = lines(&swept(&[4], &rates, slow));
        assert_eq!(one, ["random, servers 4: 100 to 200", "round-robin, servers 4: 100 to 200"]);
    }

    #[test]
    fn many_combinations_are_counted() {
        let rates: Vec<u32> = (1..=10).map(|of| 100 * of).collect();
        let found = lines(&swept(&[4, 5], &rates, |servers, _, _| Some(servers > 4)));
        assert!(found.len() == MOST + 1 && found[MOST] == "and 8 more combinations", "{found:?}");
    }

    /// Where all variants meet all, or none does, a sentence says it; few are named; and names are no numbers.
    #[test]
    fn nothing_is_listed_where_a_sentence_says_it() {
        for met in [Some(true), Some(false), None] {
            assert!(values_that_meet(&swept(&[4, 5, 6, 7, 8], &[200], |_, _, _| met)).is_empty(), "{met:?}");
        }
        assert!(values_that_meet(&swept(&[4, 5], &[200], |servers, _, _| Some(servers > 4))).is_empty());
        let mut named = swept(&[4, 5, 6, 7, 8], &[200], |servers, _, _| Some(servers > 4));
        named.settings.retain(|key| key == "policy");
        assert!(values_that_meet(&named).is_empty());
    }
}
