//! The cheapest candidates that meet every objective, with as few simulations as it takes.
//!
//! Candidates that differ only in one choice whose values get stronger form a chain: what fails fails for all before it in the
//! chain. So the middle of a chain is asked first, among those that are cheaper than what is already known to do, and the
//! chain with the cheapest open candidate before the others. It ends when none is open that would be among the cheapest wanted.

pub use super::candidate::{Candidate, Fate};
use super::choice::Choices;

/// Asks `simulate` about open candidates, which are sorted by cost, until the cheapest `choices.offers` that meet every
/// objective are known. `simulate` gives none when it was interrupted; what is known by then stays.
///
/// # Errors
/// The first one of `simulate`.
pub fn search<E>(
    choices: &Choices,
    candidates: &mut [Candidate],
    simulate: &mut dyn FnMut(&Candidate) -> Result<Option<Fate>, E>,
) -> Result<bool, E> {
    let chains = chains(choices, candidates);
    loop {
        let bound = bound(candidates, choices.offers);
        let is_open = |index: usize, candidates: &[Candidate]| {
            candidates[index].fate == Fate::Open && candidates[index].cost < bound
        };
        let Some(cheapest) = (0..candidates.len()).find(|&index| is_open(index, candidates)) else { return Ok(true) };
        let chain = chains.iter().find(|chain| chain.contains(&cheapest)).expect("every candidate is in a chain");
        let open: Vec<usize> = chain.iter().copied().filter(|&index| is_open(index, candidates)).collect();
        let asked = open[open.len() / 2];
        let Some(fate) = simulate(&candidates[asked])? else { return Ok(false) };
        if matches!(fate, Fate::Misses(_)) {
            for &weaker in chain.iter().take_while(|&&index| index != asked) {
                if candidates[weaker].fate == Fate::Open {
                    candidates[weaker].fate = Fate::Weaker;
                }
            }
        }
        candidates[asked].fate = fate;
    }
}

/// What the last of the plans wanted costs, once there are as many.
fn bound(candidates: &[Candidate], offers: usize) -> f64 {
    let mut meet = candidates.iter().filter(|candidate| matches!(candidate.fate, Fate::Meets(_)));
    meet.nth(offers - 1).map_or(f64::INFINITY, |candidate| candidate.cost)
}

/// Groups of candidates that differ only in the first choice whose values get stronger, from the weakest to the strongest.
fn chains(choices: &Choices, candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let axis = choices.choices.iter().position(|choice| choice.stronger);
    let others = |candidate: &Candidate| -> Vec<usize> {
        let picks = candidate.picks.iter().enumerate();
        picks.filter(|(choice, _)| Some(*choice) != axis).map(|(_, value)| *value).collect()
    };
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    // Without such a choice no two picks are in one chain: all count, and all differ.
    order.sort_by_cached_key(|&index| (others(&candidates[index]), axis.map(|axis| candidates[index].picks[axis])));
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for index in order {
        match chains.last_mut() {
            Some(chain) if others(&candidates[chain[0]]) == others(&candidates[index]) => chain.push(index),
            _ => chains.push(vec![index]),
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::path::Path;

    use super::*;
    use crate::plan::Simulated;
    use crate::variants::Experiment;

    /// Up to twelve servers of three kinds, of which `kind` k costs more and does more.
    const FILE: &str = "[plan]\noffers = 2\n[[plan.choice]]\nkey = \"servers\"\nvalues = \"1..12\"\ncost = 10\n\
                        [[plan.choice]]\nkey = \"cores\"\nvalues = [1, 2, 4]\ncosts = [0, 7, 30]\nper = \"servers\"\n\
                        stronger = false\n";

    fn choices() -> Choices {
        Choices::read(&Experiment::new(Path::new("plan.toml"), FILE.into(), &[]).unwrap()).unwrap()
    }

    /// Whether a candidate does the work of ten cores of which the second of a server is worth two thirds.
    fn does(candidate: &Candidate) -> bool {
        let (servers, each) = (candidate.picks[0] as f64 + 1.0, [1.0, 1.67, 2.5][candidate.picks[1]]);
        servers * each >= 10.0
    }

    #[test]
    fn the_cheapest_are_found_whatever_is_asked_and_few_are_asked() {
        let choices = choices();
        let mut candidates = choices.candidates();
        let all = candidates.clone();
        let mut asked = 0;
        let complete = search(&choices, &mut candidates, &mut |candidate| {
            asked += 1;
            let fate =
                if does(candidate) { Fate::Meets(Simulated::default()) } else { Fate::Misses(Simulated::default()) };
            Ok::<_, Infallible>(Some(fate))
        });
        assert_eq!(complete, Ok(true));
        // What an exhaustive search finds.
        let wanted: Vec<f64> = all.iter().filter(|candidate| does(candidate)).map(|c| c.cost).take(2).collect();
        let found: Vec<f64> =
            candidates.iter().filter(|c| matches!(c.fate, Fate::Meets(_))).map(|c| c.cost).take(2).collect();
        assert_eq!(found, wanted);
        assert!(asked <= 15, "{asked} of {}", all.len());
    }

    #[test]
    fn an_interruption_keeps_what_is_known_and_nothing_wanted_is_left_open() {
        let choices = choices();
        let mut candidates = choices.candidates();
        let mut left = 3;
        let result = search(&choices, &mut candidates, &mut |_| {
            left -= 1;
            Ok::<_, Infallible>((left > 0).then(|| Fate::Misses(Simulated::default())))
        });
        assert_eq!(result, Ok(false));
        assert_eq!(candidates.iter().filter(|c| matches!(c.fate, Fate::Misses(_))).count(), 2);
        // Where none does, every candidate is known to miss, itself or through a stronger one.
        let mut candidates = choices.candidates();
        search(&choices, &mut candidates, &mut |_| Ok::<_, Infallible>(Some(Fate::Misses(Simulated::default()))))
            .unwrap();
        assert!(candidates.iter().all(|candidate| candidate.fate != Fate::Open));
    }
}
