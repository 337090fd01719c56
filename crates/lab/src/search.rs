//! The highest rate at which an objective still holds: doubling until it fails, then bisection.
//!
//! A trial is a whole run with a warm-up of its own, judged by its interval. One that cannot decide is repeated for
//! twice as long, twice at most; one that still cannot, and one that is SUSPECT, counts as not holding and says so: the
//! rate found is one that was seen to hold. The price is that a noisy metric is found lower than it is. That what
//! holds at one rate holds at all lower ones is taken for granted, as every bisection does.

use sojourn_stats::Estimate;

use crate::objective::{Judgement, Objective};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first rate tried (1/s).
    pub start: f64,
    /// How narrow the bracket has to become: its upper end over its lower end, minus one.
    pub within: f64,
}

/// What a run at some rate measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The objective's metric; none where the run does not measure it.
    pub estimate: Option<Estimate>,
    /// Why the run is SUSPECT; empty when it is not.
    pub doubts: Vec<String>,
}

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The rate (1/s).
    pub rate: f64,
    /// How many times as long as asked the run was.
    pub stretch: u32,
    /// What it measured.
    pub measured: Measured,
    /// What that says about the objective.
    pub judgement: Judgement,
}

impl Trial {
    /// Whether the objective was seen to hold.
    pub fn holds(&self) -> bool {
        self.judgement == Judgement::Holds && self.measured.doubts.is_empty()
    }

    /// What came of it, in words.
    pub fn words(&self) -> String {
        let judged = match self.judgement {
            Judgement::Holds => "holds",
            Judgement::Fails => "does not hold",
            Judgement::Undecided => "cannot be decided",
            Judgement::NoInterval => "cannot be decided: no interval",
            Judgement::TooFew => "too few samples",
            Judgement::Unknown => "not measured",
        };
        match self.measured.doubts.first() {
            Some(doubt) => format!("SUSPECT: {doubt}"),
            None => judged.to_owned(),
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Every run in its order, those too short to decide included.
    pub trials: Vec<Trial>,
    /// The highest rate that was seen to hold (1/s).
    pub holds: Option<f64>,
    /// The lowest above it that was not.
    pub fails: Option<f64>,
    /// Whether it ran to its end.
    pub complete: bool,
}

impl Found {
    /// Whether lower rates will not do either: they have even fewer samples, or runs are SUSPECT whatever the rate.
    fn is_hopeless(&self) -> bool {
        let last = |count: usize| self.trials.iter().rev().take(count);
        let suspect = |trial: &Trial| trial.judgement != Judgement::Fails && !trial.measured.doubts.is_empty();
        let starved =
            |trial: &Trial| matches!(trial.judgement, Judgement::NoInterval | Judgement::TooFew | Judgement::Unknown);
        last(1).any(starved) || (self.trials.len() >= SUSPECT_MAX && last(SUSPECT_MAX).all(suspect))
    }
}

/// A rate is doubled or halved no more often than this: a factor of a million.
const OCTAVES: u32 = 20;
/// So many SUSPECT runs one after another, at ever lower rates, say that it is not the rate.
const SUSPECT_MAX: usize = 3;
/// How many times as long as asked a run may become.
const STRETCHES: [u32; 3] = [1, 2, 4];

/// Searches by asking `run` for a run at a rate (1/s), so many times as long as usual. It gives none when it was
/// interrupted; what is known by then is kept.
///
/// # Errors
/// The first one of `run`.
pub fn search<E>(
    objective: &Objective,
    how: Search,
    run: &mut dyn FnMut(f64, u32) -> Result<Option<Measured>, E>,
) -> Result<Found, E> {
    assert!(how.start > 0.0 && how.within > 0.0, "a search starts somewhere and ends some day: {how:?}");
    let mut found = Found::default();
    let mut rate = how.start;
    for octave in 0..=OCTAVES {
        let Some(holds) = try_rate(objective, rate, run, &mut found)? else { return Ok(found) };
        match (found.holds, found.fails) {
            (Some(_), Some(_)) => break,
            _ if octave == OCTAVES => {
                found.complete = true;
                return Ok(found);
            }
            _ if !holds && found.is_hopeless() => {
                found.complete = true;
                return Ok(found);
            }
            _ => rate = if holds { rate * 2.0 } else { rate / 2.0 },
        }
    }
    while let (Some(low), Some(high)) = (found.holds, found.fails) {
        if high <= low * (1.0 + how.within) {
            break;
        }
        if try_rate(objective, (low * high).sqrt(), run, &mut found)?.is_none() {
            return Ok(found);
        }
    }
    found.complete = true;
    Ok(found)
}

/// Whether the objective is seen to hold at `rate`; none when interrupted.
fn try_rate<E>(
    objective: &Objective,
    rate: f64,
    run: &mut dyn FnMut(f64, u32) -> Result<Option<Measured>, E>,
    found: &mut Found,
) -> Result<Option<bool>, E> {
    for stretch in STRETCHES {
        let Some(measured) = run(rate, stretch)? else { return Ok(None) };
        let judgement = measured.estimate.as_ref().map_or(Judgement::Unknown, |estimate| objective.judge(estimate));
        let trial = Trial { rate, stretch, measured, judgement };
        // A longer run of a load that was not the one asked for would not be either.
        let decided = !matches!(judgement, Judgement::Undecided | Judgement::NoInterval | Judgement::TooFew);
        let open = !decided && trial.measured.doubts.is_empty();
        found.trials.push(trial);
        if !open {
            break;
        }
    }
    let holds = found.trials.last().is_some_and(Trial::holds);
    let end = if holds { &mut found.holds } else { &mut found.fails };
    *end = Some(end.map_or(rate, |known| if holds { known.max(rate) } else { known.min(rate) }));
    Ok(Some(holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose p99 (s) is 1/(1000 - rate), known within a share `noise` of itself.
    fn server(noise: f64) -> impl FnMut(f64, u32) -> Result<Option<Measured>, ()> {
        move |rate, stretch| {
            let value = if rate < 1000.0 { 1.0 / (1000.0 - rate) } else { 10.0 };
            let half = value * noise / f64::from(stretch);
            let estimate = Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: 1000 };
            Ok(Some(Measured { estimate: Some(estimate), doubts: Vec::new() }))
        }
    }

    fn p99() -> Objective {
        // Holds up to 900 /s.
        Objective::parse("p99 < 10 ms").unwrap()
    }

    #[test]
    fn the_bracket_holds_the_truth_wherever_the_search_starts() {
        for start in [0.5, 100.0, 899.0, 901.0, 64_000.0] {
            let found = search(&p99(), Search { start, within: 0.02 }, &mut server(0.0)).unwrap();
            let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
            assert!(low < 900.0 && high >= 900.0 && high <= low * 1.02 && found.complete, "{start}: {found:?}");
            assert!(found.trials.len() < 30, "{}", found.trials.len());
        }
    }

    #[test]
    fn a_run_that_cannot_decide_is_made_longer_and_then_does_not_hold() {
        let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut server(0.5)).unwrap();
        assert!(found.holds.unwrap() < 900.0, "what was found was seen to hold");
        let stretched: Vec<&Trial> = found.trials.iter().filter(|trial| trial.stretch == 4).collect();
        assert!(!stretched.is_empty());
        assert!(stretched.iter().any(|trial| !trial.holds() && trial.words() == "cannot be decided"));
    }

    #[test]
    fn suspect_runs_do_not_hold_and_are_not_repeated() {
        let mut good = server(0.5);
        let mut run = |rate: f64, stretch| {
            let mut measured = good(rate, stretch)?.unwrap();
            if rate > 500.0 {
                measured.doubts.push("the client was the limit".into());
            }
            Ok::<_, ()>(Some(measured))
        };
        let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut run).unwrap();
        assert!(found.holds.unwrap() <= 500.0 && found.fails.unwrap() > 500.0);
        let suspect: Vec<&Trial> = found.trials.iter().filter(|trial| trial.rate > 500.0).collect();
        assert!(suspect.iter().all(|trial| trial.stretch == 1 && trial.words().contains("the client was the limit")));
    }

    #[test]
    fn what_lower_rates_cannot_mend_ends_the_search() {
        let mut starved = |_, _| Ok::<_, ()>(Some(Measured { estimate: Some(TOO_FEW), doubts: Vec::new() }));
        let found = search(&p99(), Search { start: 64.0, within: 0.1 }, &mut starved).unwrap();
        assert_eq!((found.trials.len(), found.complete, found.holds), (3, true, None), "stretched, then given up");
        let mut good = server(0.0);
        let mut suspect = |rate, stretch| {
            let doubts = vec!["every core was busy".to_string()];
            Ok::<_, ()>(Some(Measured { doubts, ..good(rate, stretch)?.unwrap() }))
        };
        let found = search(&p99(), Search { start: 64.0, within: 0.1 }, &mut suspect).unwrap();
        assert_eq!((found.trials.len(), found.fails), (3, Some(16.0)));
    }

    const TOO_FEW: Estimate = Estimate::TooFew { samples: 7 };

    #[test]
    fn what_always_or_never_holds_has_an_open_bracket_and_an_interruption_keeps_what_is_known() {
        let never = Objective::parse("p99 < 1 ns").unwrap();
        let found = search(&never, Search { start: 1.0, within: 0.1 }, &mut server(0.0)).unwrap();
        assert!(found.complete && found.holds.is_none() && found.trials.len() == 21, "{found:?}");
        let always = Objective::parse("p99 < 1 h").unwrap();
        let found = search(&always, Search { start: 1.0, within: 0.1 }, &mut server(0.0)).unwrap();
        assert!(found.complete && found.fails.is_none() && found.holds.unwrap() > 1e6);
        let (mut left, mut good) = (4, server(0.0));
        let mut run = |rate, stretch| {
            left -= 1;
            if left == 0 { Ok(None) } else { good(rate, stretch) }
        };
        let found = search(&p99(), Search { start: 100.0, within: 0.1 }, &mut run).unwrap();
        assert_eq!((found.complete, found.holds, found.trials.len()), (false, Some(400.0), 3));
    }
}
