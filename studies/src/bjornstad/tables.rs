//! Tables 7.3 and 7.8 live, and 7.5, 7.6, 7.9 and A.1 from captured requests.

use std::fmt::Write;

use sojourn_stats::Estimate;

use super::beside::Csv;
use super::formula::response_time_s;
use super::live::measured::{Live, Measured};
use super::live::rows::HurstRow;
use super::live::{SERVERS, SERVICE_S, UTILIZATION};
use super::published::{ESTIMATORS, Published};
use super::series::{Cell, LAWS, NOISES, Series};
use super::simulated::replay::{DISCIPLINES, FCFS, LAS, PS};
use crate::ReproduceError;
use crate::finding::Finding;
use crate::number::Number;
use crate::verdict::inside;

/// Equation 4.25 with the measured moments of a cell (s).
pub(super) fn formula_s(of: &Measured) -> f64 {
    let facts = &of.facts;
    let utilization = facts.demand_mean_s / facts.gap_mean_s;
    if utilization >= 1.0 {
        return f64::INFINITY;
    }
    let scv = |std_s: f64, mean_s: f64| (std_s / mean_s).powi(2);
    let (gaps, services) = (scv(facts.gap_std_s, facts.gap_mean_s), scv(facts.demand_std_s, facts.demand_mean_s));
    response_time_s(utilization, facts.demand_mean_s, gaps, services)
}

/// Tables 7.3 and 7.8 measured, a table for each server, and all that belongs to a cell as a table beside the page.
pub(super) fn responses(published: &Published, live: &Live) -> Result<(String, Csv), ReproduceError> {
    let mut text = format!(
        "\n## Tables 7.3 and 7.8: measured\n\nUtilisation {UTILIZATION} was asked for, with E[S] = {:.0} ms; his cells were \
         at 0.95. Mean response times in milliseconds; rows are gaps, columns services; an asterisk is a SUSPECT run. With his \
         7.6, 7.7 and 7.9, the replays of the very requests that were captured, the formula with their moments, the nearest \
         discipline and the times of 80 to 99 %: [table-7.3.csv](bjornstad-2006/table-7.3.csv). A cell has one factor for all \
         of its demands: a server that is slower for some seconds of it shows as a mean above every replay, with a wide \
         interval.\n",
        SERVICE_S * 1e3
    );
    for (server, name) in SERVERS.iter().enumerate() {
        let all: Vec<&Measured> = live.of(server).collect();
        let lost: u64 = all.iter().map(|of| of.facts.failed).sum();
        let minutes = all.iter().map(|of| of.facts.elapsed_s).sum::<f64>() / 60.0;
        let factors = all.iter().map(|of| of.facts.factor);
        let (least, most) = factors.fold((f64::INFINITY, 0.0f64), |(low, high), of| (low.min(of), high.max(of)));
        let row = &live.servers[server];
        let _ = writeln!(
            text,
            "\n### {name}\n\n{} cells, {minutes:.1} minutes, {lost} requests failed. A request without work costs \
             {:.2} ms of processor time, and the path {:.2} ms more, which the replays have too. Measured demands \
             are {least:.3} to {most:.3} times the planned ones. {}\n",
            all.len(),
            1e3 * row.request_s,
            1e3 * row.path_s,
            doubted(&all),
        );
        let columns: Vec<String> = LAWS.iter().map(|law| law.name()).collect();
        let _ = writeln!(text, "| gaps | {} |\n|---|{}", columns.join(" | "), "---|".repeat(LAWS.len()));
        for arrivals in LAWS.into_iter().chain(NOISES) {
            let shown = LAWS.map(|service| {
                live.cell(server, Cell { arrivals, service }).map_or("-".into(), |of| {
                    let mark = if of.facts.suspect { "*" } else { "" };
                    format!("{}{mark}", milliseconds(&of.mean()))
                })
            });
            let _ = writeln!(text, "| {} | {} |", arrivals.name(), shown.join(" | "));
        }
    }
    Ok((text, beside(published, live)?))
}

/// All that belongs to a cell.
fn beside(published: &Published, live: &Live) -> Result<Csv, ReproduceError> {
    let mut csv = Csv::new(
        "table-7.3",
        &[
            "server",
            "gaps",
            "service",
            "rho",
            "attempts",
            "suspect",
            "his_measured_s",
            "his_measured_std_s",
            "measured_ms",
            "low_ms",
            "high_ms",
            "std_ms",
            "his_replay_s",
            "his_replay_std_s",
            "fcfs_ms",
            "fcfs_std_ms",
            "ps_ms",
            "ps_std_ms",
            "las_ms",
            "las_std_ms",
            "equation_4.25_ms",
            "nearest",
            "p80_ms",
            "p90_ms",
            "p95_ms",
            "p99_ms",
        ],
    );
    let short = |seconds: f64| format!("{:.3}", 1e3 * seconds);
    let optional = |seconds: Option<f64>| seconds.map_or_else(String::new, short);
    for of in &live.cells {
        let tables = if matches!(of.cell.arrivals, Series::Noise(_)) { ("7.8", "7.9") } else { ("7.3", "7.6") };
        let (measured, replay) = (published.cell(tables.0, of.cell)?, published.cell(tables.1, of.cell)?);
        let spread = |std_s: Option<f64>| std_s.map_or_else(String::new, |std_s| std_s.to_string());
        let (low, high) = of.mean().interval().unzip();
        let [fcfs, ps, las] = [FCFS, PS, LAS].map(|discipline| &of.replays[discipline]);
        let [p80, p90, p95, p99] = [0, 1, 2, 3].map(|place| optional(of.target(place).value()));
        let nearest = (0..DISCIPLINES.len())
            .filter_map(|place| Some((of.replays[place].distance?, DISCIPLINES[place].0)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        csv.row([
            SERVERS[of.server].to_owned(),
            of.cell.arrivals.key(),
            of.cell.service.key(),
            format!("{:.3}", of.facts.utilization),
            of.facts.attempts.to_string(),
            of.facts.suspect.to_string(),
            measured.mean_s.to_string(),
            spread(measured.std_s),
            optional(of.mean().value()),
            optional(low),
            optional(high),
            short(of.facts.response_std_s),
            replay.mean_s.to_string(),
            spread(replay.std_s),
            short(fcfs.mean_s),
            short(fcfs.std_s),
            short(ps.mean_s),
            short(ps.std_s),
            short(las.mean_s),
            short(las.std_s),
            short(formula_s(of)),
            nearest.map_or_else(String::new, |(_, name)| name.to_owned()),
            p80,
            p90,
            p95,
            p99,
        ]);
    }
    Ok(csv)
}

fn doubted(all: &[&Measured]) -> String {
    let suspect: Vec<&&Measured> = all.iter().filter(|of| of.facts.suspect).collect();
    let again = all.iter().filter(|of| of.facts.attempts > 1).count();
    let repeated = format!("{again} runs were SUSPECT at first and measured again.");
    match suspect.first() {
        None => format!("{repeated} No run that counts is doubted by the generator."),
        Some(first) => format!(
            "{repeated} {} of those that count are SUSPECT still, such as {}: {}.",
            suspect.len(),
            first.cell.key(),
            first.facts.doubt.trim_end_matches('.')
        ),
    }
}

/// In milliseconds with its interval.
pub(super) fn milliseconds(estimate: &Estimate) -> String {
    match estimate {
        Estimate::Sampled { value, ci_low, ci_high, .. } => {
            format!("{:.1} ± {:.1}", 1e3 * value, 0.5e3 * (ci_high - ci_low))
        }
        Estimate::WithoutInterval { value, why, .. } => format!("{:.1} ({})", 1e3 * value, why.words()),
        _ => "-".into(),
    }
}

/// Table 7.5: moments of the captured gaps and demands.
pub(super) fn moments(published: &Published, live: &Live) -> Result<String, ReproduceError> {
    let mut text = String::from(
        "\n## Table 7.5: moments of what was captured\n\nCoefficients of variation, since his times and ours differ. \
         His are of the generated files; ours of the captured gaps (with exponential service) and demands (with \
         Poisson gaps), so many requests a cell. At index 2.01 no file gets near the law: its variance is made by \
         values that do not come.\n\n| what | law | of the law | his 10^5 |",
    );
    for name in &SERVERS {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|---|---|---|{}", "---|".repeat(SERVERS.len()));
    for (process, title) in [("inter_arrival", "gaps"), ("service", "demands")] {
        for law in LAWS {
            let (his_mean, his_std) = published.moments(process, law)?;
            let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
            let _ = write!(
                text,
                "| {title} | {} | {:.2} | {:.2} |",
                law.name(),
                law.scv().sqrt(),
                number(his_std) / number(his_mean)
            );
            for server in 0..SERVERS.len() {
                let cell = match process {
                    "service" => Cell { arrivals: Series::Exponential, service: law },
                    _ => Cell { arrivals: law, service: Series::Exponential },
                };
                let cv = live.cell(server, cell).map(|of| {
                    let facts = &of.facts;
                    let cv = match process {
                        "service" => facts.demand_std_s / facts.demand_mean_s,
                        _ => facts.gap_std_s / facts.gap_mean_s,
                    };
                    format!("{cv:.2} of {}", facts.requests)
                });
                let _ = write!(text, " {} |", cv.unwrap_or_else(|| "-".into()));
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// That the client keeps H, as a statement.
pub(super) fn hurst_finding(live: &Live) -> Finding {
    let whittle = |row: &&HurstRow| row.estimator == ESTIMATORS[6];
    let number = |row: &HurstRow| {
        let is_suspect = live.cells.iter().any(|of| {
            let gaps = format!("noise-{}", row.hurst);
            let facts = &of.facts;
            let is_it = (facts.server.as_str(), facts.service.as_str()) == (row.server.as_str(), "exponential");
            is_it && facts.gaps == gaps && facts.suspect
        });
        Some(Number { value: row.estimate, low: row.ci_low?, high: row.ci_high?, is_suspect })
    };
    let near = |row: &HurstRow| inside(number(row), row.hurst - 0.1, row.hurst + 0.1);
    let shown = |row: &HurstRow| format!("{:.2}", row.estimate);
    Finding {
        place: "Table A.1",
        claim: "The client keeps the H of the gaps (Whittle's estimate within 0.1)",
        comparisons: live.hurst.iter().filter(whittle).map(near).collect(),
        ours: live.hurst.iter().filter(whittle).map(shown).collect::<Vec<_>>().join(", "),
        why: "a client that is late moves its gaps.",
    }
}

/// Table A.1: the Hurst parameter of the captured arrivals, by his estimators.
pub(super) fn hurst(published: &Published, live: &Live) -> String {
    let mut text = format!(
        "\n## Table A.1: H of the captured arrivals\n\nHis estimates of 10^5 gaps / ours of those captured with exponential \
         service, on {}. Intervals, three more estimators and what all of them say together: \
         [hurst.csv](bjornstad-2006/live/hurst.csv).\n\n| estimator |",
        SERVERS.join(" / ")
    );
    let hursts: Vec<f64> =
        NOISES.iter().filter_map(|of| if let Series::Noise(h) = of { Some(*h) } else { None }).collect();
    hursts.iter().for_each(|h| text += &format!(" H = {h} |"));
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(hursts.len()));
    for (place, estimator) in ESTIMATORS.iter().enumerate() {
        let _ = write!(text, "| {} |", estimator.replace('_', " "));
        for h in &hursts {
            let his = published.hurst(*h).and_then(|row| row.get(place).cloned()).unwrap_or_else(|| "-".into());
            let ours = SERVERS.map(|server| {
                let is_it = |row: &&HurstRow| row.server == server && row.hurst == *h && row.estimator == *estimator;
                live.hurst.iter().find(is_it).map_or("-".into(), |row| format!("{:.3}", row.estimate))
            });
            let _ = write!(text, " {his} / {} |", ours.join(" / "));
        }
        text.push('\n');
    }
    text
}

/// The ratio of the 90th percentile to the 80th, over all cells of a server: least, mean, largest.
pub(super) fn eighty_to_ninety(live: &Live, server: usize) -> Option<(f64, f64, f64)> {
    let factors: Vec<f64> =
        live.of(server).filter_map(|of| Some(of.target(1).value()? / of.target(0).value()?)).collect();
    let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
    (!factors.is_empty()).then(|| {
        (least, factors.iter().sum::<f64>() / factors.len() as f64, factors.iter().copied().fold(0.0, f64::max))
    })
}
