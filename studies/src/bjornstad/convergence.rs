//! Table 7.4 and convergence: whether his values are where ours are, which cells had settled by 10^5 requests, and
//! which never will.

use std::fmt::Write;

use sojourn_stats::{Dimension, Law};
use sojourn_theory::formula::general::gig1::GiM1;
use sojourn_theory::formula::general::mg1;
use sojourn_theory::law::{Gaps, Moments};

use super::beside::Csv;
use super::formula::response_time_s;
use super::published::Published;
use super::series::{Cell, LAWS, SERVICE_S, Series, UTILIZATION};
use super::simulated::Simulated;
use super::simulated::lindley::{Long, PARTS};
use crate::ReproduceError;
use crate::finding::Finding;
use crate::verdict::Comparison;

/// A mean that lies within this of the long run's has settled.
const SETTLED: f64 = 0.1;

/// The range of 95 of 100 sets, and the median.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    low: f64,
    median: f64,
    high: f64,
}

impl Range {
    fn of(mut values: Vec<f64>) -> Range {
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() as f64 * share) as usize).min(values.len() - 1)];
        Range { low: at(0.025), median: at(0.5), high: at(0.975) }
    }

    /// Whether a number printed to two decimals lies in it.
    fn has(self, printed: f64) -> bool {
        (self.low - 0.005..=self.high + 0.005).contains(&printed)
    }
}

/// One of the two columns of the table, mean or standard deviation, compared with the sets.
struct Column {
    ranges: Vec<Range>,
    inside: Vec<bool>,
    /// The share of our own sets with no more cells outside.
    as_few_outside: f64,
}

impl Column {
    fn of(sets: &[Vec<(f64, f64)>], his: &[f64], pick: fn(&(f64, f64)) -> f64) -> Column {
        let cell = |cell: usize| Range::of(sets.iter().map(|set| pick(&set[cell])).collect());
        let ranges: Vec<Range> = (0..his.len()).map(cell).collect();
        let inside: Vec<bool> = ranges.iter().zip(his).map(|(range, his)| range.has(*his)).collect();
        let outside = |values: &mut dyn Iterator<Item = f64>| {
            values.zip(&ranges).filter(|(value, range)| !range.has(*value)).count()
        };
        let his = outside(&mut his.iter().copied());
        let as_few = sets.iter().filter(|set| outside(&mut set.iter().map(pick)) <= his).count();
        Column { ranges, inside, as_few_outside: as_few as f64 / sets.len() as f64 }
    }

    fn count(&self) -> usize {
        self.inside.iter().filter(|inside| **inside).count()
    }
}

/// The mean response time (s) if it is known exactly: Poisson gaps or exponential services.
pub(super) fn exact_s(cell: Cell, utilization: f64, service_s: f64) -> Option<f64> {
    let gap_s = service_s / utilization;
    if cell.arrivals == Series::Exponential {
        return Some(mg1::response_time_mean(1.0 / gap_s, service_s, cell.service.scv()));
    }
    let (Series::Pareto(alpha), Series::Exponential) = (cell.arrivals, cell.service) else { return None };
    let law = Law::parse(&format!("pareto(alpha = {alpha}, mean = {gap_s} s)"), Dimension::Time).ok()?;
    GiM1::solve(&Gaps::all(Moments::of(&law)).with_law(&law), service_s).map(|queue| queue.response_time_mean())
}

/// The jobs that reduce the error of the mean to a tenth, as a power of ten: 2 if the waiting time has a variance.
/// Under FCFS the tail index of the waiting time is a - 1, one less than that of the service. Below 2 the mean of n
/// waiting times converges like `n^-(1 - 1/(a - 1))`.
fn effort(service: Series) -> f64 {
    match service {
        Series::Pareto(alpha) if alpha < 3.0 => 1.0 / (1.0 - 1.0 / (alpha - 1.0)),
        _ => 2.0,
    }
}

/// When a cell settled: every tenth of the path, or 95 % of the sets, near the exact mean. If the exact mean is
/// unknown, the path's own mean takes its place, and `guide` must have settled too: the cell with the same services and
/// Poisson gaps. A path that has not met the largest services yet agrees with itself long before it is right.
fn settled(range: Range, long: &Long, exact_s: Option<f64>, guide: bool) -> String {
    let Some((jobs, whole_s)) = long.growth.last() else { return "-".into() };
    let goal_s = exact_s.unwrap_or(*whole_s);
    let near = |mean_s: f64| (mean_s / goal_s - 1.0).abs() <= SETTLED;
    let trusted = exact_s.is_some() || guide;
    let effort = effort(long.cell.service);
    match () {
        () if trusted && near(range.low) && near(range.high) => "by 10^5".into(),
        () if effort > 30.0 => format!("never: a tenth of the error takes 10^{effort:.0} times the jobs"),
        () if trusted && long.parts_s.iter().all(|mean_s| near(*mean_s)) => {
            format!("by {}", power(jobs / PARTS as u64))
        }
        () if trusted && near(*whole_s) && exact_s.is_some() => format!("by {}", power(*jobs)),
        () => format!("not by {}: a tenth of the error takes 10^{effort:.1} times the jobs", power(*jobs)),
    }
}

/// Whether the path with these services and Poisson gaps came near its exact mean in every tenth.
fn guides(long: &[Long], service: Series) -> bool {
    let cell = Cell { arrivals: Series::Exponential, service };
    let found = long.iter().find(|of| of.cell == cell).zip(exact_s(cell, UTILIZATION, SERVICE_S));
    found.is_some_and(|(of, exact_s)| of.parts_s.iter().all(|mean_s| (mean_s / exact_s - 1.0).abs() <= SETTLED))
}

/// 1e8 as 10^8.
fn power(number: u64) -> String {
    let exponent = number.max(1).ilog10();
    if 10u64.pow(exponent) == number { format!("10^{exponent}") } else { format!("{number}") }
}

/// The section of the page, all cells as a table beside it, and the statement on his numbers.
pub(super) fn section(published: &Published, simulated: &Simulated) -> Result<(String, Csv, Finding), ReproduceError> {
    let cells = Cell::renewal();
    let printed: Vec<(f64, f64)> = cells
        .iter()
        .map(|cell| published.cell("7.4", *cell).map(|row| (row.mean_s, row.std_s.unwrap_or(f64::NAN))))
        .collect::<Result<_, _>>()?;
    let sets = &simulated.sets;
    let means = Column::of(sets, &printed.iter().map(|his| his.0).collect::<Vec<_>>(), |of| of.0);
    let stds = Column::of(sets, &printed.iter().map(|his| his.1).collect::<Vec<_>>(), |of| of.1);
    let jobs = simulated.long.first().and_then(|long| long.growth.last()).map_or(0, |(jobs, _)| *jobs);
    let state = |(long, range): (&Long, &Range)| {
        let exact_s = exact_s(long.cell, UTILIZATION, SERVICE_S);
        settled(*range, long, exact_s, guides(&simulated.long, long.cell.service))
    };
    let states: Vec<String> = simulated.long.iter().zip(&means.ranges).map(state).collect();
    let begins = |with: &str| states.iter().filter(|state| state.starts_with(with)).count();
    let mut text = String::from("\n## Table 7.4: his replay of generated files, and how far to trust it\n\n");
    let _ = writeln!(
        text,
        "FCFS at utilisation 0.95, {} sets of 25 cells of 10^5 requests; the cells of a set share two streams of \
         random numbers, as his do. Of his means {} of 25 lie where 95 % of ours do, of his standard deviations {}. \
         The cells stand and fall together, so their number says little by itself: of our own sets {:.0} % \
         have no more means outside than he, and {:.0} % no more standard deviations.\n",
        sets.len(),
        means.count(),
        stds.count(),
        100.0 * means.as_few_outside,
        100.0 * stds.as_few_outside,
    );
    let _ = writeln!(
        text,
        "One path of {} requests shows what was still missing. A mean has settled when it is within {:.0} % of the \
         exact one (Pollaczek's formula, or the root of GI/M/1), and where none is known of the path's own, if the \
         cell with Poisson gaps and the same services has. By 10^5 requests {} of 25 cells had settled, in that 95 % \
         of the sets are so near; by {}, in that each tenth of the path is, or by {}, {} more; {} never will, \
         because a service of index 2.01 makes waits of index 1.01: their mean exists, and no run gets near it. \
         Pareto gaps make long pauses, not long waits: with exponential services the mean is {} s at an index of \
         2.01, where equation 4.25 has {} s.\n",
        power(jobs),
        SETTLED * 100.0,
        begins("by 10^5"),
        power(jobs / PARTS as u64),
        power(jobs),
        begins("by ") - begins("by 10^5"),
        begins("never"),
        exact_s(cells[5], UTILIZATION, SERVICE_S).map_or("-".into(), |exact_s| format!("{exact_s:.2}")),
        format_args!("{:.2}", response_time_s(UTILIZATION, SERVICE_S, cells[5].arrivals.scv(), 1.0)),
    );
    text += "His mean, ours (median of the sets, and 95 % of them), in seconds; rows are gaps, columns services. With the \
             standard deviations, the long path, the exact means and when each settled: \
             [table-7.4.csv](bjornstad-2006/table-7.4.csv).\n\n| 7.4 |";
    LAWS.iter().for_each(|law| text += &format!(" {} |", law.name()));
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(LAWS.len()));
    for (row, arrivals) in LAWS.iter().enumerate() {
        let _ = write!(text, "| {} |", arrivals.name());
        let of_row = printed.iter().zip(&means.ranges).zip(&means.inside).skip(LAWS.len() * row).take(LAWS.len());
        for (((his_s, _), Range { low, median, high }), inside) in of_row {
            let mark = if *inside { "" } else { " **no**" };
            let _ = write!(text, " {his_s:.2} / {median:.2} ({low:.2} to {high:.2}){mark} |");
        }
        text.push('\n');
    }
    let csv = beside(&cells, &printed, (&means, &stds), &simulated.long, &states);
    let held = |inside: &bool| Comparison { holds: Some(*inside), is_suspect: false };
    let finding = Finding {
        place: "Table 7.4",
        claim: "His FCFS replays of generated files come out again (95 % of a thousand sets of ours have each of his means)",
        comparisons: means.inside.iter().map(held).collect(),
        ours: format!("{} of {} means, {} standard deviations", means.count(), cells.len(), stds.count()),
        why: "his generator draws anew for each file, and its laws of 10^5 numbers are not ours.",
    };
    Ok((text, csv, finding))
}

/// All cells as a table.
fn beside(
    cells: &[Cell],
    printed: &[(f64, f64)],
    (means, stds): (&Column, &Column),
    long: &[Long],
    states: &[String],
) -> Csv {
    let mut csv = Csv::new(
        "table-7.4",
        &[
            "gaps",
            "service",
            "his_mean_s",
            "median_s",
            "low_s",
            "high_s",
            "inside",
            "his_std_s",
            "std_median_s",
            "std_low_s",
            "std_high_s",
            "std_inside",
            "long_mean_s",
            "least_tenth_s",
            "largest_tenth_s",
            "exact_s",
            "equation_4.25_s",
            "settled",
        ],
    );
    let short = |x: f64| format!("{x:.4}");
    for (place, cell) in cells.iter().enumerate() {
        let [mean, std] = [means.ranges[place], stds.ranges[place]];
        let parts = &long[place].parts_s;
        let exact = exact_s(*cell, UTILIZATION, SERVICE_S).map_or_else(String::new, short);
        csv.row([
            cell.arrivals.key(),
            cell.service.key(),
            printed[place].0.to_string(),
            short(mean.median),
            short(mean.low),
            short(mean.high),
            means.inside[place].to_string(),
            printed[place].1.to_string(),
            short(std.median),
            short(std.low),
            short(std.high),
            stds.inside[place].to_string(),
            short(long[place].growth.last().map_or(f64::NAN, |(_, mean_s)| *mean_s)),
            short(parts.iter().copied().fold(f64::INFINITY, f64::min)),
            short(parts.iter().copied().fold(0.0, f64::max)),
            exact,
            short(response_time_s(UTILIZATION, SERVICE_S, cell.arrivals.scv(), cell.service.scv())),
            states[place].clone(),
        ]);
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::super::simulated::lindley;
    use super::*;

    #[test]
    fn a_set_of_ours_is_outside_as_often_as_it_should() {
        // The ranges come from these sets, so 5 % of each cell's values are outside: 1.25 cells on average.
        let sets: Vec<Vec<(f64, f64)>> =
            (0..200).map(|set| (0..25).map(|cell| (f64::from((7 * set + 13 * cell) % 200), 1.0)).collect()).collect();
        let his: Vec<f64> = vec![100.0; 25];
        let column = Column::of(&sets, &his, |of| of.0);
        assert_eq!(column.count(), 25);
        assert!(column.as_few_outside < 0.9, "sets with a cell outside are no better than he is");
        let outside: usize = sets
            .iter()
            .map(|set| set.iter().zip(&column.ranges).filter(|(value, range)| !range.has(value.0)).count())
            .sum();
        assert_eq!(outside, 25 * 9, "5 below the range and 4 above it");
        let far = Column::of(&sets, &[500.0; 25], |of| of.0);
        assert_eq!((far.count(), far.as_few_outside), (0, 1.0));
    }

    #[test]
    fn what_is_exact_is_what_simulation_settles_at() {
        // GI/M/1 at his load with gaps of index 2.2: waits are exponential, so 10^6 jobs settle within a few per cent.
        let cell = Cell { arrivals: Series::Pareto(2.2), service: Series::Exponential };
        let exact = exact_s(cell, UTILIZATION, SERVICE_S).unwrap();
        let long = lindley::long(1_000_000);
        let mean = long.iter().find(|of| of.cell == cell).unwrap().growth.last().unwrap().1;
        assert!((mean / exact - 1.0).abs() < 0.25, "{mean} {exact}");
        // Far from 2.89 s, the value of equation 4.25.
        assert!(exact < 2.4, "{exact}");
        assert_eq!(exact_s(Cell::renewal()[24], UTILIZATION, SERVICE_S), None);
    }

    #[test]
    fn a_cell_says_when_it_settled() {
        let cell = |service| Cell { arrivals: Series::Exponential, service };
        let long = |service, parts_s: [f64; 2]| Long {
            cell: cell(service),
            growth: vec![(1_000_000_000, 1.0)],
            parts_s: parts_s.to_vec(),
        };
        let (narrow, wide) = (Range { low: 0.95, median: 1.0, high: 1.05 }, Range { low: 0.5, median: 1.0, high: 1.6 });
        let of = |range, service, parts_s| settled(range, &long(service, parts_s), None, true);
        assert_eq!(of(narrow, Series::Exponential, [1.0, 1.0]), "by 10^5");
        assert_eq!(of(wide, Series::Exponential, [0.97, 1.02]), "by 10^8");
        let slow = "not by 10^9: a tenth of the error takes 10^6.0 times the jobs";
        assert_eq!(of(wide, Series::Pareto(2.2), [0.7, 1.3]), slow);
        assert!(of(wide, Series::Pareto(2.01), [1.0, 1.0]).starts_with("never"));
        // A path that agrees with itself, but not with the exact mean, or with a guide that has not settled.
        let heavy = long(Series::Pareto(2.2), [1.0, 1.0]);
        assert_eq!(settled(wide, &heavy, Some(1.3), true), slow);
        assert_eq!(settled(wide, &heavy, None, false), slow);
        assert_eq!(settled(wide, &long(Series::Pareto(2.2), [0.8, 1.2]), Some(1.05), true), "by 10^9");
    }
}
