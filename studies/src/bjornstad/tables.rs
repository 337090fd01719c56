//! Tables 7.3 and 7.8 live, and 7.5, 7.6, 7.9 and A.1 from captured requests.

use std::fmt::Write;

use sojourn_stats::{Estimate, hurst};

use super::formula::response_time_s;
use super::live::{SERVERS, SERVICE_S, UTILIZATION};
use super::measured::{Live, Measured, mean, mean_and_std};
use super::published::{ESTIMATORS, Published};
use super::replay::{DISCIPLINES, FCFS, LAS, PS};
use super::series::{Cell, LAWS, NOISES, Series};
use crate::ReproduceError;

/// Equation 4.25 with the measured moments of a cell (s).
pub(super) fn formula_s(of: &Measured) -> f64 {
    let ((gap_s, gap_std_s), (service_s, service_std_s)) = (mean_and_std(&of.gaps_s), mean_and_std(&of.demands_s));
    let utilization = service_s / gap_s;
    if utilization >= 1.0 {
        return f64::INFINITY;
    }
    response_time_s(utilization, service_s, (gap_std_s / gap_s).powi(2), (service_std_s / service_s).powi(2))
}

/// Tables 7.3 and 7.8 with 7.6, 7.9 and 7.7, a table for each server.
pub(super) fn responses(published: &Published, live: &Live) -> Result<String, ReproduceError> {
    let mut text = format!(
        "\n## Tables 7.3, 7.6 to 7.9: measured, and replayed from what was captured\n\nUtilisation {UTILIZATION} was \
         asked for, with E[S] = {:.0} ms; his cells were at 0.95, so his seconds stand beside ours for their order \
         only. FCFS, PS and LAS play the very requests that were captured; *4.25* is the formula with their moments. \
         In brackets the standard deviation. Times of 80, 90, 95 and 99 % are those within which so many were \
         answered. A cell has one factor for all of its demands: a server that is slower for some seconds of it \
         shows as a mean above every replay, with a wide interval.\n",
        SERVICE_S * 1e3
    );
    for (server, name) in SERVERS.iter().enumerate() {
        let of_server: Vec<&Measured> = live.cells.iter().filter(|of| of.server == server).collect();
        let lost: u64 = of_server.iter().map(|of| of.failed).sum();
        let minutes = of_server.iter().map(|of| of.elapsed_s).sum::<f64>() / 60.0;
        let suspect = of_server.iter().filter(|of| of.suspect).count();
        let factors = of_server.iter().map(|of| of.factor);
        let (least, most) = factors.fold((f64::INFINITY, 0.0f64), |(low, high), of| (low.min(of), high.max(of)));
        let _ = writeln!(
            text,
            "\n### {name}\n\n{} cells, {minutes:.1} minutes, {lost} requests failed. A request without work costs \
             {:.2} ms of processor time, and the path {:.2} ms more, which the replays have too. Measured demands \
             are {least:.3} to {most:.3} times the planned ones. {}\n",
            of_server.len(),
            1e3 * live.request_s[server],
            1e3 * live.path_s[server],
            doubted(suspect, &live.doubts[server]),
        );
        text += "| gaps | service | rho | his 7.3, 7.8 (s) | measured (ms) | his replay 7.6, 7.9 (s) | FCFS (ms) | \
                 PS | LAS | 4.25 | nearest | 80 %, 90 %, 95 %, 99 % (ms) \
                 |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
        for of in of_server {
            let tables = if matches!(of.cell.arrivals, Series::Noise(_)) { ("7.8", "7.9") } else { ("7.3", "7.6") };
            let his = |table: &str| {
                let row = published.cell(table, of.cell)?;
                Ok::<_, ReproduceError>(format!("{:.2} ({:.2})", row.mean_s, row.std_s.unwrap_or(f64::NAN)))
            };
            let replayed = |discipline: usize| {
                let (mean_s, std_s) = mean_and_std(&of.replays[discipline].responses_s);
                format!("{:.1} ({:.1})", 1e3 * mean_s, 1e3 * std_s)
            };
            let nearest = (0..DISCIPLINES.len())
                .filter_map(|place| Some((of.replays[place].distance.value()?, DISCIPLINES[place].0)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let quantiles = [0.8, 0.9, 0.95, 0.99]
                .map(|p| of.quantile(p).value().map_or("-".into(), |s| format!("{:.1}", 1e3 * s)));
            let _ = writeln!(
                text,
                "| {} | {} | {:.2} | {} | {} ({:.1}) | {} | {} | {} | {} | {:.1} | {} | {} |",
                of.cell.arrivals.name(),
                of.cell.service.name(),
                of.utilization,
                his(tables.0)?,
                milliseconds(&of.mean()),
                1e3 * mean_and_std(&of.responses_s).1,
                his(tables.1)?,
                replayed(FCFS),
                replayed(PS),
                replayed(LAS),
                1e3 * formula_s(of),
                nearest.map_or("-", |(_, name)| name),
                quantiles.join(", "),
            );
        }
    }
    Ok(text)
}

fn doubted(suspect: usize, doubts: &str) -> String {
    match doubts.lines().next() {
        None => "No run was doubted by the generator.".into(),
        Some(first) => format!("The generator calls {suspect} of these runs SUSPECT, such as {first}."),
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
                    let (mean, std) = mean_and_std(if process == "service" { &of.demands_s } else { &of.gaps_s });
                    format!("{:.2} of {}", std / mean, of.gaps_s.len())
                });
                let _ = write!(text, " {} |", cv.unwrap_or_else(|| "-".into()));
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// Table A.1: the Hurst parameter of the captured arrivals.
pub(super) fn hurst(published: &Published, live: &Live) -> Result<String, ReproduceError> {
    let mut text = String::from(
        "\n## Table A.1: H of the captured arrivals\n\nHis estimates of 10^5 gaps / ours of those captured with \
         exponential service, with the 95 % interval where the estimator has one. FARIMA's H is another model's and \
         not to be read as that of fractional Gaussian noise.\n",
    );
    for (server, name) in SERVERS.iter().enumerate() {
        let cells: Vec<&Measured> = NOISES
            .iter()
            .filter_map(|arrivals| live.cell(server, Cell { arrivals: *arrivals, service: Series::Exponential }))
            .collect();
        if cells.len() < NOISES.len() {
            let _ = writeln!(text, "\n{name}: not every H was measured.");
            continue;
        }
        let found: Vec<hurst::Hurst> = cells
            .iter()
            .map(|of| {
                hurst::estimate(&of.gaps_s).map_err(|e| ReproduceError(format!("{name}, {}: {e}", of.cell.key())))
            })
            .collect::<Result<_, _>>()?;
        let _ = writeln!(text, "\n{name}, {} gaps:\n", cells[0].gaps_s.len());
        text += "| estimator | H = 0.5 | H = 0.6 | H = 0.7 | H = 0.8 |\n|---|---|---|---|---|\n";
        for (place, (estimator, _)) in found[0].readings().iter().enumerate() {
            let _ = write!(text, "| {} |", estimator.replace('_', " "));
            for (column, hurst) in found.iter().enumerate() {
                let Series::Noise(h) = NOISES[column] else { continue };
                let his = ESTIMATORS.iter().position(|known| known == estimator);
                let his = his.and_then(|his| published.hurst(h)?.get(his).cloned()).unwrap_or_else(|| "-".into());
                let reading = hurst.readings()[place].1;
                let interval = match (reading.ci_low, reading.ci_high) {
                    (Some(low), Some(high)) => format!(" ({low:.2} to {high:.2})"),
                    _ => String::new(),
                };
                let _ = write!(text, " {his} / {:.3}{interval} |", reading.h);
            }
            text.push('\n');
        }
        let words: Vec<String> = found.iter().map(|hurst| hurst.verdict.clone()).collect();
        let _ = writeln!(text, "\nThe verdict at H = 0.8: {}", words[3]);
    }
    Ok(text)
}

/// The ratio of the 90th percentile to the 80th, over all cells of a server: least, mean, largest.
pub(super) fn eighty_to_ninety(live: &Live, server: usize) -> Option<(f64, f64, f64)> {
    let of_server = live.cells.iter().filter(|of| of.server == server);
    let factors: Vec<f64> =
        of_server.filter_map(|of| Some(of.quantile(0.9).value()? / of.quantile(0.8).value()?)).collect();
    let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
    (!factors.is_empty()).then(|| (least, mean(&factors), factors.iter().copied().fold(0.0, f64::max)))
}
