//! Which discipline explains the measured response times: they fall as the service varies more, on his data and on
//! ours.
//!
//! The measure is the ratio of the measured mean to the FCFS replay of the same input, which his tables also have for
//! every cell. On his data the disciplines are simulated, sets of 10^5 requests; on ours they
//! are replays of captured requests.

use std::fmt::Write;

use sojourn_stats::interval::t_quantile;
use sojourn_stats::{Dimension, Estimate, Law, Moments, measure};
use sojourn_theory::formula::order::las;

use super::beside::Csv;
use super::live::SERVERS;
use super::live::measured::{Live, Measured};
use super::published::Published;
use super::series::{Cell, LAWS, SERVICE_S, Series, UTILIZATION};
use super::simulated::replay::{DISCIPLINES, FCFS};
use super::simulated::{Played, Simulated};
use crate::ReproduceError;
use crate::finding::Finding;
use crate::number::{Number, known};
use crate::verdict::below;

/// How well a discipline explains a table of his.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    cells: usize,
    /// Cells with a ratio of means, or of standard deviations, inside the range of 95 % of single sets.
    means_inside: usize,
    stds_inside: usize,
    /// Cells with both.
    both_inside: usize,
    /// Mean of |ln(his ratio / ours)| over the cells.
    mean_distance: f64,
    std_distance: f64,
}

/// ln of a discipline's mean (or standard deviation) over FCFS's, set by set.
fn logs(played: &[Played], cell: usize, discipline: usize, of: fn(&Played) -> f64) -> Vec<f64> {
    let pick = |discipline: usize| {
        let mut found: Vec<&Played> =
            played.iter().filter(|one| one.cell == cell && one.discipline == discipline).collect();
        found.sort_by_key(|one| one.set);
        found
    };
    pick(discipline).iter().zip(pick(FCFS)).map(|(one, fcfs)| (of(one) / of(fcfs)).ln()).collect()
}

/// The distance of `his` from the sets, and whether another set could be there (95 %); `rounding` is the error of his
/// printed digits.
fn compare(his: f64, rounding: f64, sets: &[f64]) -> (f64, bool) {
    let moments: Moments = sets.iter().copied().collect();
    let half = half_of_a_set(&moments);
    let distance = (his - moments.mean()).abs();
    (distance, distance <= half + rounding)
}

/// Every discipline on the cells of a table: measured (7.3 or 7.8) over his replay (7.6 or 7.9).
fn fits(
    published: &Published,
    simulated: &Simulated,
    tables: (&str, &str),
    cells: &[Cell],
) -> Result<Vec<Fit>, ReproduceError> {
    let mut fits = vec![Fit::default(); DISCIPLINES.len()];
    for cell in cells {
        let number = cell.number();
        let (measured, replayed) = (published.cell(tables.0, *cell)?, published.cell(tables.1, *cell)?);
        let stds = (measured.std_s.unwrap_or(f64::NAN), replayed.std_s.unwrap_or(f64::NAN));
        let rounding = |a: f64, b: f64| 0.005 / a + 0.005 / b;
        for (discipline, fit) in fits.iter_mut().enumerate() {
            let of_means = logs(&simulated.played, number, discipline, |one| one.mean_s);
            let of_stds = logs(&simulated.played, number, discipline, |one| one.std_s);
            let (a, b) = (measured.mean_s, replayed.mean_s);
            let (distance, inside) = compare((a / b).ln(), rounding(a, b), &of_means);
            fit.means_inside += usize::from(inside);
            fit.mean_distance += distance / cells.len() as f64;
            let mean_inside = inside;
            let (distance, inside) = compare((stds.0 / stds.1).ln(), rounding(stds.0, stds.1), &of_stds);
            fit.stds_inside += usize::from(inside);
            fit.both_inside += usize::from(mean_inside && inside);
            fit.std_distance += distance / cells.len() as f64;
            fit.cells += 1;
        }
    }
    Ok(fits)
}

/// The discipline with the least number.
fn nearest(of: impl Fn(usize) -> f64) -> usize {
    (0..DISCIPLINES.len()).min_by(|a, b| of(*a).total_cmp(&of(*b))).expect("there are disciplines")
}

/// That services which vary more make the measured mean smaller, as a statement.
pub(super) fn finding(live: &Live) -> Finding {
    let laws = &LAWS[1..];
    let all = || (0..SERVERS.len()).flat_map(|server| laws.iter().map(move |law| (server, *law)));
    let shown = |(server, law): (usize, Series)| {
        let of = falls(live, server, law)?;
        Some(format!("{} {} {:.2}", SERVERS[server], law.name(), of.value))
    };
    Finding {
        place: "Table 7.3",
        claim: "Services that vary more make the measured mean smaller (Pareto against exponential, measured at 0.8)",
        comparisons: all().map(|(server, law)| below(falls(live, server, law), known(1.0))).collect(),
        ours: all().filter_map(shown).collect::<Vec<_>>().join(", "),
        why: "today's kernel shares its processor nearly as PS does, whose mean knows little of the law; his means lie \
              nearer to those of a server that favours what had been served least.",
    }
}

/// The section of the page, and all cells under all disciplines as a table beside it.
pub(super) fn section(
    published: &Published,
    simulated: &Simulated,
    live: &Live,
) -> Result<(String, Csv), ReproduceError> {
    let mut text = head(published)?;
    text += &on_his_data(published, simulated)?;
    text += "Cell by cell, with the mean of one set of 10^5 requests as it comes, 95 of 100 times: \
             [simulated.csv](bjornstad-2006/simulated.csv).\n\n";
    text += &on_ours(live);
    Ok((text, cell_by_cell(published, simulated)?))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn on_his_data(published: &Published, simulated: &Simulated) -> Result<String, ReproduceError> {
    let renewal = fits(published, simulated, ("7.3", "7.6"), &Cell::renewal())?;
    let noise = fits(published, simulated, ("7.8", "7.9"), &Cell::self_similar())?;
    let mut text = String::from(
        "### On his data, at 0.95\n\nMean response time over that of FCFS with the same input; geometric means over \
                                 the five laws of the gaps (Table 7.3).\n\n| service | his |",
    );
    for (name, _) in &DISCIPLINES {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(DISCIPLINES.len()));
    for service in LAWS {
        let cells: Vec<Cell> = LAWS.iter().map(|arrivals| Cell { arrivals: *arrivals, service }).collect();
        let his: Vec<f64> = cells
            .iter()
            .map(|cell| Ok((published.cell("7.3", *cell)?.mean_s / published.cell("7.6", *cell)?.mean_s).ln()))
            .collect::<Result<_, ReproduceError>>()?;
        let _ = write!(text, "| {} | **{:.2}** |", service.name(), mean(&his).exp());
        for discipline in 0..DISCIPLINES.len() {
            let of = |cell: &Cell| mean(&logs(&simulated.played, cell.number(), discipline, |one| one.mean_s));
            let _ = write!(text, " {:.2} |", mean(&cells.iter().map(of).collect::<Vec<_>>()).exp());
        }
        text.push('\n');
    }
    text += "\nHow far he is from each, cell by cell (mean of the factors), and in how many cells one set of 10^5 \
             requests could have given his value (95 %); last, in how many both of his values.\n\n| discipline | \
             7.3, means | standard deviations | both | 7.8, means | standard deviations | both \
             |\n|---|---|---|---|---|---|---|\n";
    for (discipline, (name, _)) in DISCIPLINES.iter().enumerate() {
        let (a, b) = (renewal[discipline], noise[discipline]);
        let part = |distance: f64, inside: usize, of: usize| format!("{:.2}, {inside} of {of}", distance.exp());
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            part(a.mean_distance, a.means_inside, a.cells),
            part(a.std_distance, a.stds_inside, a.cells),
            a.both_inside,
            part(b.mean_distance, b.means_inside, b.cells),
            part(b.std_distance, b.stds_inside, b.cells),
            b.both_inside,
        );
    }
    let name = |of: usize| DISCIPLINES[of].0;
    let (means, stds) = (nearest(|of| renewal[of].mean_distance), nearest(|of| renewal[of].std_distance));
    let (noise_means, noise_stds) = (nearest(|of| noise[of].mean_distance), nearest(|of| noise[of].std_distance));
    let both = nearest(|of| -((renewal[of].both_inside + noise[of].both_inside) as f64));
    let (explained, cells) =
        (renewal[both].both_inside + noise[both].both_inside, renewal[both].cells + noise[both].cells);
    let _ = writeln!(
        text,
        "\nNearest are, for Table 7.3, {} by the means and {} by the standard deviations; for Table 7.8 {} and {}. \
         By both at once {} is, which could have given {explained} of {cells} cells: {} Linux 2.6 let a process that had \
         slept go first and gave slices of 100 ms, which is `slices, 1.1 E[S]` here.\n",
        name(means),
        name(stds),
        name(noise_means),
        name(noise_stds),
        name(both),
        if 10 * explained >= 9 * cells { "that explains them." } else { "none of these explains them all." },
    );
    Ok(text)
}

/// Tables 7.3 and 7.8 at his utilisation, by simulation.
fn cell_by_cell(published: &Published, simulated: &Simulated) -> Result<Csv, ReproduceError> {
    let columns = ["gaps", "service", "his_measured_s", "his_fcfs_s", "discipline", "mean_s", "low_s", "high_s"];
    let mut csv = Csv::new("simulated", &columns);
    for (number, cell) in Cell::all().into_iter().enumerate() {
        let tables = if matches!(cell.arrivals, Series::Noise(_)) { ("7.8", "7.9") } else { ("7.3", "7.6") };
        let (measured, replayed) = (published.cell(tables.0, cell)?.mean_s, published.cell(tables.1, cell)?.mean_s);
        for (place, (name, _)) in DISCIPLINES.iter().enumerate() {
            let of = simulated.played.iter().filter(|one| one.cell == number && one.discipline == place);
            let logs: Moments = of.map(|one| one.mean_s.ln()).collect();
            let half = half_of_a_set(&logs);
            let [mean, low, high] = [logs.mean(), logs.mean() - half, logs.mean() + half].map(|log| log.exp());
            csv.row([
                cell.arrivals.key(),
                cell.service.key(),
                measured.to_string(),
                replayed.to_string(),
                (*name).to_owned(),
                format!("{mean:.4}"),
                format!("{low:.4}"),
                format!("{high:.4}"),
            ]);
        }
    }
    Ok(csv)
}

/// Half the interval for one further number (95 %).
fn half_of_a_set(moments: &Moments) -> f64 {
    let count = moments.count();
    t_quantile(0.975, count.max(2) - 1) * (moments.variance() * (1.0 + 1.0 / count as f64)).sqrt()
}

/// The measured servers, and the distance of every replay from them.
fn on_ours(live: &Live) -> String {
    let mut text = String::from(
        "### On a live kernel, at 0.8\n\nThe same ratio to the FCFS replay of the same captured input; geometric \
                                 means over the nine arrival processes, of the measured one with Student's interval \
                                 over them.\n\n| server | service | measured |",
    );
    for (name, _) in &DISCIPLINES {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|---|---|{}", "---|".repeat(DISCIPLINES.len()));
    for (server, name) in SERVERS.iter().enumerate() {
        for service in LAWS {
            let cells: Vec<&Measured> =
                live.cells.iter().filter(|of| of.server == server && of.cell.service == service).collect();
            let over =
                |of: &Measured, discipline: usize| (of.replays[discipline].mean_s / of.replays[FCFS].mean_s).ln();
            let measured: Moments = cells.iter().map(|of| (of.mean_s() / of.replays[FCFS].mean_s).ln()).collect();
            let _ = write!(text, "| {name} | {} | **{}** |", service.name(), exponential(&measured));
            for discipline in 0..DISCIPLINES.len() {
                let logs: Vec<f64> = cells.iter().map(|of| over(of, discipline)).collect();
                let shown = if logs.is_empty() { "-".to_owned() } else { format!("{:.2}", mean(&logs).exp()) };
                let _ = write!(text, " {shown} |");
            }
            text.push('\n');
        }
    }
    text += "\nHow far a single request's time is from its replay (mean of the factors over requests, then over \
             cells, with Student's interval over cells), and the measured mean over the replay's:\n\n| discipline |";
    for name in &SERVERS {
        let _ = write!(text, " {name}: factor | mean over replay |");
    }
    let _ = writeln!(text, "\n|---|{}", "---|---|".repeat(SERVERS.len()));
    for (discipline, (name, _)) in DISCIPLINES.iter().enumerate() {
        let _ = write!(text, "| {name} |");
        for server in 0..SERVERS.len() {
            let of_server = || live.cells.iter().filter(move |of| of.server == server);
            let distances: Moments = of_server().filter_map(|of| of.replays[discipline].distance).collect();
            let mut ratios: Vec<f64> = of_server().filter_map(|of| of.replays[discipline].ratio).map(f64::ln).collect();
            ratios.sort_unstable_by(f64::total_cmp);
            let median = ratios.get(ratios.len() / 2).map_or(f64::NAN, |log| log.exp());
            let ratios: Moments = ratios.into_iter().collect();
            let _ = write!(text, " {} | {}, median {median:.2} |", exponential(&distances), exponential(&ratios));
        }
        text.push('\n');
    }
    text.push('\n');
    for (server, name) in SERVERS.iter().enumerate() {
        let _ = writeln!(text, "{}", verdict(live, server, name));
    }
    text
}

/// Which replay is nearest to a server, and whether that is decided.
fn verdict(live: &Live, server: usize, name: &str) -> String {
    let cells: Vec<&Measured> = live.cells.iter().filter(|of| of.server == server).collect();
    let distance = |of: &Measured, discipline: usize| of.replays[discipline].distance.unwrap_or(f64::NAN);
    let all = |discipline: usize| mean(&cells.iter().map(|of| distance(of, discipline)).collect::<Vec<_>>());
    let best = nearest(all);
    let second = nearest(|of| if of == best { f64::INFINITY } else { all(of) });
    let gains: Moments = cells.iter().map(|of| distance(of, second) - distance(of, best)).collect();
    let decided = measure::mean_of_samples(&gains).interval().is_some_and(|(low, _)| low > 0.0);
    let (first, next) = (DISCIPLINES[best].0, DISCIPLINES[second].0);
    let factors = (all(best).exp(), all(second).exp());
    let suspect = cells.iter().filter(|of| of.facts.suspect).count();
    let words = match (suspect, decided) {
        (0, true) => "clearly nearest".to_owned(),
        (0, false) => "nearest, though not clearly".to_owned(),
        _ => format!("nearest, not judged because {suspect} of {} runs were SUSPECT", cells.len()),
    };
    format!(
        "- {name}: {first} is {words}, a factor of {:.2} from a request's time on average; then comes {next} with \
         {:.2}.",
        factors.0, factors.1
    )
}

/// The mean of logarithms as a factor, with its interval.
fn exponential(logs: &Moments) -> String {
    match measure::mean_of_samples(logs) {
        Estimate::Sampled { value, ci_low, ci_high, .. } => {
            format!("{:.2} ({:.2} to {:.2})", value.exp(), ci_low.exp(), ci_high.exp())
        }
        _ => "-".into(),
    }
}

/// The ratio of the measured mean with `service` to that with exponential service: the geometric mean over the arrival
/// processes, with Student's interval over them.
pub(super) fn falls(live: &Live, server: usize, service: Series) -> Option<Number> {
    let pairs: Vec<(&Measured, &Measured)> = live
        .of(server)
        .filter(|of| of.cell.service == service)
        .filter_map(|of| Some((of, live.cell(server, Cell { service: Series::Exponential, ..of.cell })?)))
        .collect();
    let changes: Moments = pairs.iter().map(|(of, markov)| (of.mean_s() / markov.mean_s()).ln()).collect();
    let is_suspect = pairs.iter().any(|(of, markov)| of.facts.suspect || markov.facts.suspect);
    let log = Number::of(&measure::mean_of_samples(&changes), is_suspect)?;
    Some(Number { value: log.value.exp(), low: log.low.exp(), high: log.high.exp(), is_suspect })
}

/// The question, with the exact means of the disciplines that cannot and that could explain it.
fn head(published: &Published) -> Result<String, ReproduceError> {
    let row = LAWS.map(|service| Cell { arrivals: Series::Exponential, service });
    let his = row.iter().map(|cell| Ok(format!("{:.2}", published.cell("7.3", *cell)?.mean_s)));
    let his: Vec<String> = his.collect::<Result<_, ReproduceError>>()?;
    let rate = UTILIZATION / SERVICE_S;
    let least_attained = |cell: Cell| {
        let law = match cell.service {
            Series::Pareto(alpha) => {
                Law::parse(&format!("pareto(alpha = {alpha}, mean = {SERVICE_S} s)"), Dimension::Time)
            }
            _ => Ok(Law::exponential(SERVICE_S)),
        };
        law.map(|law| format!("{:.2}", las::response_time_mean(rate, &law))).map_err(|e| ReproduceError(e.to_string()))
    };
    let exact: Vec<String> = row.iter().map(|cell| least_attained(*cell)).collect::<Result<_, _>>()?;
    let shared = SERVICE_S / (1.0 - UTILIZATION);
    Ok(format!(
        "\n## The riddle: response times that fall as the service varies more\n\nFrom exponential to Pareto services \
         his measured means fall, where the formula and FCFS rise. Processor sharing cannot be it: with Poisson \
         arrivals its mean is E[S]/(1 - rho), {shared:.2} s, whatever the service; he has {} s for exponential and \
         Pareto services of index 2.01 to 2.6. Least attained service (LAS) has {} s, exactly. Exponential services \
         tell nothing by their mean: every discipline that does not know the sizes has the same.\n\n",
        his.join(", "),
        exact.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_like_the_others_is_inside_and_a_far_one_is_not() {
        let sets: Vec<f64> = (0..20).map(|k| 0.01 * f64::from(k)).collect();
        let (distance, inside) = compare(0.1, 0.0, &sets);
        assert!(inside && (distance - 0.005).abs() < 1e-12);
        assert!(!compare(0.5, 0.0, &sets).1);
        // Without any spread only the rounding of his numbers is left.
        assert!(compare(0.004, 0.005, &[0.0; 20]).1 && !compare(0.006, 0.005, &[0.0; 20]).1);
    }

    #[test]
    fn logs_are_paired_by_set() {
        let one =
            |discipline, set, mean_s| Played { cell: 0, discipline, set, mean_s, std_s: 1.0, targets_s: [1.0; 4] };
        let played = [one(1, 1, 8.0), one(0, 0, 1.0), one(1, 0, 2.0), one(0, 1, 2.0)];
        let found = logs(&played, 0, 1, |one| one.mean_s);
        assert_eq!(found, [2.0f64.ln(), 4.0f64.ln()]);
    }
}
