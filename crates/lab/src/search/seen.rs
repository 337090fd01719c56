//! What a search has seen of its objective: at which rates it holds, at which it does not, and at which that could not be
//! decided. Its last sentence is made of all trials, so that no row of its table contradicts it; what the search itself
//! takes for its bracket counts the undecided as not holding, and is no statement about them.

use super::{Finding, Trial, number};

/// Each rate that was tried (1/s) under what its trials say together, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// It was seen to hold.
    pub holds: Vec<f64>,
    /// It was seen not to hold.
    pub fails: Vec<f64>,
    /// It could not be decided, and why: by the last trial of the rate, which is the longest.
    pub open: Vec<(f64, String)>,
}

impl Seen {
    /// What these trials say, in whatever order they are.
    pub fn of(trials: &[Trial]) -> Seen {
        let mut rates: Vec<f64> = trials.iter().map(|trial| trial.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let mut seen = Seen::default();
        for rate in rates {
            let of_rate = || trials.iter().filter(|trial| trial.rate == rate).map(|trial| &trial.finding);
            let (holds, fails) = (of_rate().any(|of| *of == Finding::Holds), of_rate().any(|of| *of == Finding::Fails));
            let why = |finding: &Finding| match finding {
                Finding::Open(why) => Some(why.clone()),
                Finding::Holds | Finding::Fails => None,
            };
            match (holds, fails) {
                (true, true) => seen.open.push((rate, "it holds in one run of that rate, and not in another".into())),
                (true, false) => seen.holds.push(rate),
                (false, true) => seen.fails.push(rate),
                (false, false) => seen.open.push((rate, of_rate().rev().find_map(why).unwrap_or_default())),
            }
        }
        seen
    }

    /// The highest rate that was seen to hold.
    pub fn highest(&self) -> Option<f64> {
        self.holds.last().copied()
    }

    /// The lowest rate above it that was seen not to hold; where none was seen to hold, the lowest of all.
    pub fn lowest(&self) -> Option<f64> {
        let above = self.highest().unwrap_or(0.0);
        self.fails.iter().copied().find(|rate| *rate > above)
    }

    /// What is not known of where it ceases to hold: the undecided rates between these two, and where none was seen to hold, all.
    pub fn unknown(&self) -> &[(f64, String)] {
        let Some(highest) = self.highest() else { return &self.open };
        let from = self.open.partition_point(|(rate, _)| *rate < highest);
        let to = self.lowest().map_or(self.open.len(), |lowest| self.open.partition_point(|(rate, _)| *rate < lowest));
        &self.open[from..to]
    }

    /// All of it in a sentence.
    pub fn sentence(&self) -> String {
        let rates = self.holds.len() + self.fails.len() + self.open.len();
        let undecided = self.undecided().map_or(String::new(), |told| format!("; {told}"));
        match (self.highest(), self.lowest()) {
            (None, None) => self.nothing_decided(),
            (None, Some(lowest)) if rates == 1 => {
                format!("it does not hold at {} /s, the only rate tried", number(lowest))
            }
            (None, Some(lowest)) if self.open.is_empty() => {
                format!("it held at no rate tried, down to {} /s", number(lowest))
            }
            (None, Some(lowest)) => format!(
                "it was seen to hold at none of the rates tried; the lowest seen not to hold is {} /s{undecided}",
                number(lowest)
            ),
            (Some(highest), None) if rates == self.holds.len() => {
                format!("it held at every rate tried, up to {} /s", number(highest))
            }
            (Some(highest), lowest) => {
                let though = match self.fails.first().filter(|rate| **rate < highest) {
                    Some(below) => format!(", though it does not hold at {} /s", number(*below)),
                    None => String::new(),
                };
                let limit = match lowest {
                    Some(lowest) => format!("; it does not hold at {} /s", number(lowest)),
                    None if undecided.is_empty() => "; no higher rate was tried".to_owned(),
                    None => String::new(),
                };
                format!("highest rate seen to hold: {} /s{though}{limit}{undecided}", number(highest))
            }
        }
    }

    /// Where no rate was decided.
    fn nothing_decided(&self) -> String {
        match &self.open[..] {
            [] => "nothing was tried".to_owned(),
            [(rate, why)] => format!("it could not be decided at {} /s, the only rate tried: {why}", number(*rate)),
            [(first, why), .., (last, _)] => format!(
                "it could be decided at no rate tried, from {} to {} /s; at {} /s: {why}",
                number(*first),
                number(*last),
                number(*first)
            ),
        }
    }

    /// What is not known, with why at the first of these rates.
    fn undecided(&self) -> Option<String> {
        let (first, others) = self.unknown().split_first()?;
        let more = match others.len() {
            0 => String::new(),
            1 => "; nor at another rate".to_owned(),
            count => format!("; nor at {count} other rates"),
        };
        Some(format!("at {} /s it could not be decided: {}{more}", number(first.0), first.1))
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Stream;

    use super::*;
    use crate::objective::Judgement;
    use crate::search::Measured;

    fn trial(rate: f64, finding: Finding) -> Trial {
        let measured = Measured {
            estimate: None,
            lateness_s: 0.0,
            failed_by_server: 0.0,
            bears_failures: false,
            outdone: None,
            unsettled: None,
            doubts: Vec::new(),
        };
        Trial { rate, stretch: 1, measured, judgement: Judgement::Unknown, finding }
    }

    fn open(why: &str) -> Finding {
        Finding::Open(why.into())
    }

    fn told(trials: &[(f64, Finding)]) -> String {
        let trials: Vec<Trial> = trials.iter().map(|(rate, finding)| trial(*rate, finding.clone())).collect();
        Seen::of(&trials).sentence()
    }

    #[test]
    fn the_last_sentence_tells_what_held_what_did_not_and_what_is_not_known() {
        use Finding::{Fails, Holds};
        let few = || open("too few samples");
        for (trials, expected) in [
            (&[(100.0, Holds), (200.0, Holds)][..], "it held at every rate tried, up to 200 /s"),
            (&[], "nothing was tried"),
            (&[(100.0, Fails), (50.0, Fails)], "it held at no rate tried, down to 50 /s"),
            (&[(100.0, Fails)], "it does not hold at 100 /s, the only rate tried"),
            (&[(100.0, few())], "it could not be decided at 100 /s, the only rate tried: too few samples"),
            (
                &[(100.0, few()), (200.0, open("late"))],
                "it could be decided at no rate tried, from 100 to 200 /s; at 100 /s: too few samples",
            ),
            (&[(100.0, Holds), (200.0, Fails)], "highest rate seen to hold: 100 /s; it does not hold at 200 /s"),
            // Half of all requests fail, and at the lowest rates there are none.
            (
                &[(6.25, Fails), (3.125, Fails), (1.5, few()), (0.75, open("no request got a good reply"))],
                "it was seen to hold at none of the rates tried; the lowest seen not to hold is 3.125 /s; at 0.75 /s \
                 it could not be decided: no request got a good reply; nor at another rate",
            ),
            // Interrupted.
            (
                &[(200.0, Holds), (400.0, few()), (400.0, few())],
                "highest rate seen to hold: 200 /s; at 400 /s it could not be decided: too few samples",
            ),
            (
                &[(200.0, few()), (400.0, few()), (800.0, Fails)],
                "it was seen to hold at none of the rates tried; the lowest seen not to hold is 800 /s; at 200 /s it \
                 could not be decided: too few samples; nor at another rate",
            ),
            // A longer run decides for its rate.
            (&[(100.0, few()), (100.0, Holds)], "it held at every rate tried, up to 100 /s"),
            (
                &[(100.0, Holds), (200.0, Fails), (150.0, few()), (50.0, few())],
                "highest rate seen to hold: 100 /s; it does not hold at 200 /s; at 150 /s it could not be decided: too \
                 few samples",
            ),
            (&[(50.0, few()), (100.0, Holds)], "highest rate seen to hold: 100 /s; no higher rate was tried"),
            (
                &[(50.0, Fails), (100.0, Holds)],
                "highest rate seen to hold: 100 /s, though it does not hold at 50 /s; no higher rate was tried",
            ),
        ] {
            assert_eq!(told(trials), expected);
        }
    }

    /// Over made-up lists of trials, in no order and with rates tried more than once: whatever is claimed of a rate, no row says
    /// otherwise.
    #[test]
    fn no_claim_contradicts_a_row() {
        let mut draw = Stream::new(1, "search", "trials");
        for _ in 0..5000 {
            let length = draw.below(9);
            let finding = |number: usize| match number {
                0 => Finding::Holds,
                1 => Finding::Fails,
                _ => open("why"),
            };
            let rows: Vec<(f64, Finding)> = (0..length)
                .map(|_| (50.0 * (1 + draw.below(6)) as f64, draw.below(3)))
                .map(|(rate, number)| (rate, finding(number)))
                .collect();
            let said = told(&rows);
            let has = |rate: f64, finding: &Finding| rows.iter().any(|(of, is)| *of == rate && is == finding);
            let holds = |rate: f64| has(rate, &Finding::Holds);
            let fails = |rate: f64| has(rate, &Finding::Fails);
            let all = |is: &dyn Fn(f64) -> bool| rows.iter().all(|(rate, _)| is(*rate));
            let claims = |words: &str| said.contains(words);
            for (rate, _) in &rows {
                let rate = *rate;
                let at = format!("{} /s", number(rate));
                if claims(&format!("seen to hold: {at}")) {
                    assert!(holds(rate) && !fails(rate), "{said}: {rows:?}");
                    assert!(all(&|other| other <= rate || !holds(other) || fails(other)), "{said}: {rows:?}");
                }
                if claims(&format!("does not hold at {at}")) || claims(&format!("seen not to hold is {at}")) {
                    assert!(fails(rate) && !holds(rate), "{said}: {rows:?}");
                }
                if claims(&format!("seen not to hold is {at}")) || claims(&format!("no rate tried, down to {at}")) {
                    assert!(all(&|other| other >= rate || !fails(other) || holds(other)), "{said}: {rows:?}");
                }
                if claims(&format!("at {at} it could not be decided")) || claims(&format!("not be decided at {at}")) {
                    assert!(holds(rate) == fails(rate), "{said}: {rows:?}");
                }
            }
            if claims("held at every rate") {
                assert!(all(&|rate| holds(rate) && !fails(rate)), "{said}: {rows:?}");
            }
            if claims("held at no rate") {
                assert!(all(&|rate| fails(rate) && !holds(rate)), "{said}: {rows:?}");
            }
            if claims("hold at none of the rates") || claims("decided at no rate") {
                assert!(all(&|rate| !holds(rate) || fails(rate)), "{said}: {rows:?}");
            }
            if claims("decided at no rate") {
                assert!(all(&|rate| holds(rate) == fails(rate)), "{said}: {rows:?}");
            }
            if claims("no higher rate was tried") {
                let highest = rows.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
                assert!(claims(&format!("seen to hold: {} /s", number(highest))), "{said}: {rows:?}");
            }
            assert_eq!(claims("nothing was tried"), rows.is_empty(), "{said}: {rows:?}");
        }
    }
}
