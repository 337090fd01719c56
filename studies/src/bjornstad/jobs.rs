//! Figure 7.3: how many services lie below the breakpoint, and whether that explains anything.

use std::fmt::Write;

use sojourn_stats::{Moments, measure};

use super::live::SERVERS;
use super::live::measured::Live;
use super::published::Published;
use super::series::{Cell, LAWS, SERVICE_S, Series};
use super::simulated::Simulated;
use super::simulated::breakpoint::Jobs;
use crate::ReproduceError;
use crate::finding::Finding;
use crate::number::{Number, interval, known};
use crate::verdict::{Comparison, at_least, below, positive};

/// A number of a law, over its files.
fn over_files(simulated: &Simulated, law: usize, of: impl Fn(&Jobs) -> f64) -> Option<Number> {
    let all: Moments = simulated.jobs.iter().filter(|one| one.law == law).map(of).collect();
    Number::of(&measure::mean_of_samples(&all), false)
}

/// The breakpoint of a law over its mean, and the share below it, exactly.
fn of_law(law: Series) -> (f64, f64) {
    let at = 0.5 * (1.0 + law.scv());
    let share = match law {
        Series::Pareto(alpha) => 1.0 - ((alpha - 1.0) / (alpha * at)).powf(alpha),
        _ => 1.0 - (-at).exp(),
    };
    (at, share)
}

/// His measured mean over his replay's, with Poisson gaps.
fn his_ratio(published: &Published, law: Series) -> Result<f64, ReproduceError> {
    let cell = Cell { arrivals: Series::Exponential, service: law };
    Ok(published.cell("7.3", cell)?.mean_s / published.cell("7.6", cell)?.mean_s)
}

/// Whether of each two laws the one with more jobs below has the smaller ratio.
fn orders(shares: &[Option<Number>], ratios: &[Option<Number>]) -> Vec<Comparison> {
    let mut all = Vec::new();
    for (a, share) in shares.iter().enumerate() {
        for (b, other) in shares.iter().enumerate() {
            // Where the shares themselves are not told apart, nothing is compared.
            if below(*share, *other).holds == Some(true) {
                all.push(below(ratios[b], ratios[a]));
            }
        }
    }
    all
}

/// His figure and his explanation as statements.
pub(super) fn findings(published: &Published, simulated: &Simulated) -> Result<Vec<Finding>, ReproduceError> {
    let laws = 0..LAWS.len();
    let shares: Vec<_> = laws.clone().map(|law| over_files(simulated, law, |one| one.below)).collect();
    let shared: Vec<_> = laws.clone().map(|law| over_files(simulated, law, |one| one.ps_over_fcfs[0].ln())).collect();
    let his: Vec<f64> = LAWS.iter().map(|law| his_ratio(published, *law)).collect::<Result<_, _>>()?;
    let his_numbers: Vec<_> = his.iter().map(|ratio| known(*ratio)).collect();
    let list = |values: Vec<String>| values.join(", ");
    let percent = |number: &Option<Number>| number.map_or("-".into(), |of| format!("{:.0}", 100.0 * of.value));
    let factor = |number: &Option<Number>| number.map_or("-".into(), |of| format!("{:.2}", of.value.exp()));
    let ps = list(shared.iter().map(factor).collect());
    Ok(vec![
        Finding {
            place: "Figure 7.3",
            claim: "Most services lie below the breakpoint, whatever their law (files of 10^5)",
            comparisons: shares.iter().map(|share| at_least(*share, 0.5)).collect(),
            ours: format!("{} %, exponential to index 2.6", list(shares.iter().map(percent).collect())),
            why: "a file whose largest value is small has its breakpoint near the mean.",
        },
        Finding {
            place: "7.3.4",
            claim: "The more services lie below it, the smaller is his measured mean over that of FCFS (his 7.3 over 7.6, \
                    Poisson gaps; our shares)",
            comparisons: orders(&shares, &his_numbers),
            ours: list(his.iter().map(|ratio| format!("{ratio:.2}")).collect()),
            why: "with exponential services many lie below, and nothing is gained.",
        },
        Finding {
            place: "7.3.4",
            claim: "That most lie below explains it: processor sharing then has a smaller mean than FCFS (simulated at \
                    0.95, pair by pair)",
            comparisons: shared.iter().map(|log| !positive(*log)).collect(),
            ours: format!("PS over FCFS {ps}"),
            why: "exactly, the mean under PS is smaller if and only if the breakpoint lies above the mean service, that is, \
                  if services vary more than exponential ones; how many lie below does not matter. In files of index 2.4 and \
                  2.6 most lie below a breakpoint that is itself below the mean.",
        },
    ])
}

/// The section of the page.
pub(super) fn section(published: &Published, simulated: &Simulated, live: &Live) -> Result<String, ReproduceError> {
    let mut text = String::from(
        "\n## Figure 7.3: jobs that sharing favours\n\nWith Poisson gaps PS answers a service of x sooner than FCFS does, on \
         average, if x is below the breakpoint, the mean square of the services over twice their mean. Here it stands over \
         the mean service, with the share of services below it: of the law, of files of 10^5, of what we captured. Then the \
         mean response time under PS over FCFS at 0.95: of all jobs, of those below, of those above; and his measured mean \
         over his FCFS replay's.\n\n| services | law | files |",
    );
    for name in &SERVERS {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(
        text,
        " PS / FCFS, all | below | above | his |\n|---|---|---|{}---|---|---|---|",
        "---|".repeat(SERVERS.len())
    );
    for (law, series) in LAWS.into_iter().enumerate() {
        let (at, share) = of_law(series);
        let of_files = over_files(simulated, law, |one| one.breakpoint_s / SERVICE_S);
        let below = over_files(simulated, law, |one| 100.0 * one.below);
        let _ = write!(
            text,
            "| {} | {at:.2}: {:.0} % | {}: {} % |",
            series.name(),
            100.0 * share,
            interval(of_files, 2),
            interval(below, 0)
        );
        for server in 0..SERVERS.len() {
            let cell = Cell { arrivals: Series::Exponential, service: series };
            let shown = live.cell(server, cell).map_or("-".into(), |of| {
                let facts = &of.facts;
                let at = facts.breakpoint_s / facts.demand_mean_s;
                format!("{at:.2}: {:.0} % of {}", 100.0 * facts.below_breakpoint, facts.requests)
            });
            let _ = write!(text, " {shown} |");
        }
        for part in 0..3 {
            let _ = write!(text, " {} |", interval(over_files(simulated, law, |one| one.ps_over_fcfs[part]), 2));
        }
        let _ = writeln!(text, " {:.2} |", his_ratio(published, series)?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::made_up as of;

    #[test]
    fn the_share_below_is_that_of_the_law() {
        // Exponential: 1 - 1/e. Index 2.4: C2 = 1/0.96, so 1.0208 and 1 - (0.5833 / 1.0208)^2.4.
        let (at, share) = of_law(Series::Exponential);
        assert!((at - 1.0).abs() < 1e-12 && (share - 0.632_120_558).abs() < 1e-8);
        let (at, share) = of_law(Series::Pareto(2.4));
        assert!((at - 1.020_833).abs() < 1e-6 && (share - 0.738_959).abs() < 1e-5, "{share}");
    }

    #[test]
    fn more_below_and_less_time_is_for_it() {
        let (few, many) = (of(0.5, 0.6), of(0.8, 0.9));
        let holds = |a, b| orders(&[few, many], &[a, b]).iter().map(|one| one.holds).collect::<Vec<_>>();
        assert_eq!(holds(known(1.0), known(0.5)), [Some(true)]);
        assert_eq!(holds(known(0.5), known(1.0)), [Some(false)]);
        assert_eq!(orders(&[few, few], &[known(0.5), known(1.0)]), [], "equal shares order nothing");
    }
}
