//! His five hypotheses, each as comparisons of figures with their intervals.

use sojourn_stats::{Moments, measure};

use super::live::SERVERS;
use super::live::measured::{Live, Measured};
use super::published::Published;
use super::riddle;
use super::self_similar::of_sets;
use super::series::{Cell, LAWS, NOISES, Series};
use super::simulated::Simulated;
use super::simulated::memory::{HURST, MARGINALS, PLAYED};
use super::simulated::replay::{DISCIPLINES, FCFS, LAS, PS};
use super::tables::{eighty_to_ninety, formula_s};
use crate::ReproduceError;
use crate::finding::Finding;
use crate::number::{Number, interval, known};
use crate::verdict::{Comparison, below, near_number, positive};

/// Tolerance within which a response time is the same, or a formula good.
const WITHIN: f64 = 0.1;
/// A mean that changes by less than this does not depend on the law.
const SAME: f64 = 0.03;

/// The hypotheses as statements.
pub(super) fn findings(
    published: &Published,
    simulated: &Simulated,
    live: &Live,
) -> Result<Vec<Finding>, ReproduceError> {
    Ok(vec![
        laws_matter(simulated, live),
        formula_predicts(published, live)?,
        one_queue(live),
        means_are_not_enough(live),
        memory_matters(published, simulated)?,
        memory_matters_live(live),
    ])
}

/// ln of one cell's mean over another's under a discipline, set by set.
fn change(simulated: &Simulated, discipline: usize, from: Cell, to: Cell) -> Option<Number> {
    let sets = |cell: Cell| {
        let number = cell.number();
        let mut found: Vec<(u64, f64)> = simulated
            .played
            .iter()
            .filter(|one| one.cell == number && one.discipline == discipline)
            .map(|one| (one.set, one.mean_s))
            .collect();
        found.sort_by_key(|one| one.0);
        found
    };
    let logs: Moments = sets(to).iter().zip(sets(from)).map(|(to, from)| (to.1 / from.1).ln()).collect();
    Number::of(&measure::mean_of_samples(&logs), false)
}

/// Whether a mean changes: yes if the whole interval is off 0, no if the whole interval is within [`SAME`].
fn changes(log: Option<Number>) -> Comparison {
    Comparison::of(log, known(0.0), |log, zero| match () {
        () if -SAME < log.low && log.high < SAME => Some(false),
        () if zero.high < log.low || log.high < zero.low => Some(true),
        () => None,
    })
}

fn factor(log: Option<Number>) -> String {
    log.map_or("-".into(), |log| format!("{:.2} ({:.2} to {:.2})", log.value.exp(), log.low.exp(), log.high.exp()))
}

fn laws_matter(simulated: &Simulated, live: &Live) -> Finding {
    let cell = |arrivals, service| Cell { arrivals, service };
    let markov = cell(Series::Exponential, Series::Exponential);
    let mut comparisons = Vec::new();
    let mut figures = Vec::new();
    for discipline in PLAYED {
        for law in LAWS.into_iter().skip(1) {
            for to in [cell(law, Series::Exponential), cell(Series::Exponential, law)] {
                comparisons.push(changes(change(simulated, discipline, markov, to)));
            }
        }
        let index = Series::Pareto(2.2);
        figures.push(format!(
            "{}: gaps of index 2.2 make {} of M/M/1, services of 2.2 {}",
            DISCIPLINES[discipline].0,
            factor(change(simulated, discipline, markov, cell(index, Series::Exponential))),
            factor(change(simulated, discipline, markov, cell(Series::Exponential, index))),
        ));
    }
    for (server, name) in SERVERS.iter().enumerate() {
        if let Some(of) = riddle::falls(live, server, Series::Pareto(2.01)) {
            let shown = interval(Some(of), 2);
            figures.push(format!("measured on {name}, services of 2.01 make {shown} of exponential ones"));
        }
    }
    Finding {
        place: "hypothesis 1",
        why: "a server that shares its processor takes large services apart, so that its mean hardly knows their law; that of PS \
              with Poisson gaps does not know it at all.",
        claim: "The mean depends on law and variance of gaps and of services (simulated at 0.95, Pareto in place of \
                exponential, three disciplines; a change within 3 % is none)",
        comparisons,
        ours: figures.join("; "),
    }
}

fn formula_predicts(published: &Published, live: &Live) -> Result<Finding, ReproduceError> {
    let renewal = || live.cells.iter().filter(|of| !matches!(of.cell.arrivals, Series::Noise(_)));
    let comparisons = renewal().map(|of| near_number(of.mean_number(), formula_s(of), WITHIN)).collect();
    let ratios: Vec<f64> = renewal().filter_map(|of| Some(formula_s(of) / of.mean().value()?)).collect();
    let mut his = 0;
    for cell in Cell::renewal() {
        let ratio = published.cell("7.7", cell)?.mean_s / published.cell("7.3", cell)?.mean_s;
        his += usize::from((ratio - 1.0).abs() <= WITHIN);
    }
    Ok(Finding {
        place: "hypothesis 2",
        why: "the formula is of FCFS and takes from the gaps their variance alone; of Pareto gaps most of it is in long \
              pauses, in which nothing waits.",
        claim: "Equation 4.25 predicts the mean of a web server (measured, within 10 %)",
        comparisons,
        ours: format!(
            "formula over measured {}; his 7.7 is within 10 % of his 7.3 in {his} of 25 cells",
            spread(&ratios)
        ),
    })
}

/// Least, median and largest.
fn spread(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.as_slice() {
        [] => "-".into(),
        [least, .., most] => format!("{least:.2} to {most:.2}, median {:.2}", sorted[sorted.len() / 2]),
        [one] => format!("{one:.2}"),
    }
}

fn one_queue(live: &Live) -> Finding {
    let near_one = |of: &Measured, discipline: usize| near_number(of.ratio(discipline), 1.0, WITHIN);
    let ratios: Vec<f64> = live.cells.iter().filter_map(|of| of.replays[FCFS].ratio).collect();
    let shared = live.cells.iter().filter(|of| near_one(of, PS).holds == Some(true)).count();
    let newest = live.cells.iter().filter(|of| near_one(of, LAS).holds == Some(true)).count();
    Finding {
        place: "hypothesis 3",
        why: "the kernel shares the processor; where services are exponential the mean is that of FCFS all the same.",
        claim: "A web server can be modelled as one FCFS queue (measured mean over the replay's, within 10 %)",
        comparisons: live.cells.iter().map(|of| near_one(of, FCFS)).collect(),
        ours: format!(
            "measured over FCFS {}; PS is within 10 % with its whole interval in {shared} cells, LAS in {newest}, of \
             {}",
            spread(&ratios),
            live.cells.len()
        ),
    }
}

fn means_are_not_enough(live: &Live) -> Finding {
    // If response times were exponential, the mean would give the percentiles: ln 100 means at 99 %.
    let guess = |of: &Measured| 100f64.ln() * of.mean_s();
    let misses = |of: &Measured| !near_number(of.target_number(3), guess(of), 2.0 * WITHIN);
    let ratios: Vec<f64> =
        live.cells.iter().filter_map(|of| Some(of.target(3).value()? / of.mean().value()?)).collect();
    let doubling: Vec<String> = SERVERS
        .iter()
        .enumerate()
        .filter_map(|(server, name)| {
            let (least, middle, most) = eighty_to_ninety(live, server)?;
            Some(format!(
                "on {name} from 80 to 90 % takes {middle:.2} times as long ({least:.2} to {most:.2} over cells; he: \
                          about 2)"
            ))
        })
        .collect();
    Finding {
        place: "hypothesis 4",
        why: "the interval of a 99 % of some thousand requests is wide.",
        claim: "Formulas for the mean do not do for service levels (the measured 99 % lies off what the measured \
                mean says if times are exponential, by more than 20 %)",
        comparisons: live.cells.iter().map(misses).collect(),
        ours: format!("99 % over mean {} (exponential: {:.2}); {}", spread(&ratios), 100f64.ln(), doubling.join("; ")),
    }
}

fn memory_matters(published: &Published, simulated: &Simulated) -> Result<Finding, ReproduceError> {
    let mut comparisons = Vec::new();
    for marginal in 0..MARGINALS.len() {
        for place in 0..PLAYED.len() {
            for hurst in 1..HURST.len() {
                let (low, high) =
                    (of_sets(simulated, marginal, hurst - 1, place), of_sets(simulated, marginal, hurst, place));
                let rises: Moments = low.iter().zip(&high).map(|(low, high)| (high / low).ln()).collect();
                comparisons.push(positive(Number::of(&measure::mean_of_samples(&rises), false)));
            }
        }
    }
    let his = |h: f64| published.cell("7.8", Cell { arrivals: Series::Noise(h), service: Series::Exponential });
    Ok(Finding {
        place: "hypothesis 5",
        why: "noise of a small variance makes short queues whatever its H.",
        claim: "More self-similar arrivals mean longer response times (simulated at 0.95, equal mean and variance, \
                each H against the one before)",
        comparisons,
        ours: format!(
            "his measured {:.2}, {:.2}, {:.2}, {:.2} s for H of 0.5 to 0.8, at equal mean and nearly equal variance",
            his(0.5)?.mean_s,
            his(0.6)?.mean_s,
            his(0.7)?.mean_s,
            his(0.8)?.mean_s,
        ),
    })
}

/// Hypothesis 5 by what was measured.
fn memory_matters_live(live: &Live) -> Finding {
    let pair = |server: usize, service: Series| {
        let of = |arrivals: Series| live.cell(server, Cell { arrivals, service }).and_then(Measured::mean_number);
        below(of(NOISES[0]), of(NOISES[3]))
    };
    let comparisons: Vec<Comparison> =
        (0..SERVERS.len()).flat_map(|server| LAWS.map(|service| pair(server, service))).collect();
    let count = |wanted: bool| comparisons.iter().filter(|one| one.holds == Some(wanted)).count();
    Finding {
        place: "hypothesis 5",
        claim: "More self-similar arrivals mean longer response times (measured at 0.8 on both servers, H = 0.8 against 0.5, \
                five laws of the services)",
        ours: format!(
            "H = 0.8 is clearly above 0.5 in {} of {} pairs, and clearly below in {}",
            count(true),
            comparisons.len(),
            count(false)
        ),
        why: "at 0.8 noise of so small a variance makes short queues, and a run of seconds has few of its slow waves, so \
              that its mean has a wide interval.",
        comparisons,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::made_up as of;

    #[test]
    fn a_change_is_one_that_chance_does_not_make() {
        assert_eq!(changes(of(0.05, 0.2)).holds, Some(true));
        assert_eq!(changes(of(-0.2, -0.05)).holds, Some(true));
        assert_eq!(changes(of(-0.01, 0.02)).holds, Some(false));
        assert_eq!(changes(of(0.005, 0.02)).holds, Some(false), "it is there, and too small to matter");
        assert_eq!(changes(of(-0.1, 0.2)).holds, None);
    }

    #[test]
    fn a_spread_names_its_ends_and_its_middle() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), "1.00 to 3.00, median 2.00");
        assert_eq!(spread(&[]), "-");
        assert_eq!(spread(&[2.0]), "2.00");
    }
}
