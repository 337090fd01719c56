//! `sojourn load --scan 1000:10000:1000`: the curve over a range.

use std::path::Path;

use serde_json::json;
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::plots::scan::{Point, svg};
use sojourn_lab::scan::{Range, Scanned, Varied, scan as lab_scan};
use sojourn_lab::search::number;
use sojourn_load::Report;
use sojourn_load::order::Order;
use sojourn_stats::Estimate;

use super::print;
use super::run::Runner;
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table;

/// Runs every step, prints the table, draws the plot, and says how the program should end.
pub(crate) fn scan(
    order: &Order,
    range: &Range,
    plot: Option<&Path>,
    keep_going: bool,
    runner: &Runner,
    as_json: bool,
) -> Result<Exit, Failure> {
    range.check(order).map_err(bad_input)?;
    let run = |order: &Order, label: &str| Ok::<_, Failure>((runner.run(order, label)?, runner.interrupted()));
    let Scanned { steps, remark } = lab_scan(order, range, keep_going, run)?;
    if as_json {
        let rows: Vec<_> = steps
            .iter()
            .map(|(value, report)| {
                let mut row = print::to_json(report);
                row[range.what.name()] = json!(value);
                row
            })
            .collect();
        let told = json!({"scan": range.what.name(), "steps": rows, "remark": remark});
        table::outln(&serde_json::to_string_pretty(&told).expect("plain JSON"));
    } else {
        table::outln(&text(range, &steps));
        remark.iter().for_each(|remark| table::outln(&format!("\n{}", table::paragraph("", remark))));
    }
    if let Some(path) = plot {
        let points: Vec<Point> = steps.iter().map(|(value, report)| point(*value, report)).collect();
        let title = match range.what {
            Varied::Rate => "offered requests per second",
            other => other.name(),
        };
        write_whole(path, svg(&points, title).as_bytes()).map_err(failed)?;
        if !as_json {
            table::outln(&format!("\nThe curve is in {}", path.display()));
        }
    }
    Ok(steps.iter().map(|(_, report)| print::exit(report)).max().unwrap_or(Exit::Ok))
}

fn text(range: &Range, steps: &[(f64, Report)]) -> String {
    let columns = ["throughput", "response_time_mean", "response_time_p50", "response_time_p90", "response_time_p99"];
    let mut header = vec![range.what.name().to_string()];
    let cells = columns.map(|metric| {
        let found = steps.iter().map(|(_, report)| report.measures.iter().find(|of| of.metric == metric));
        let title = metric.strip_prefix("response_time_").unwrap_or(metric);
        let (title, cells) = table::column(title, &found.collect::<Vec<_>>());
        header.push(title);
        cells
    });
    header.extend(["failed".into(), "verdict".into()]);
    let mut rows = table::Grid::new(&header).spare(&[3, 4, 6, 2]).text(&[7]);
    for (index, (value, report)) in steps.iter().enumerate() {
        let mut row = vec![number(*value)];
        row.extend(cells.iter().map(|column| column[index].clone()));
        row.push(report.value("error_ratio").map_or("-".into(), |share| format!("{:.2} %", share * 100.0)));
        row.push(print::verdict(report).0.to_string());
        rows.add_row(row);
    }
    let mut text = rows.to_string();
    for (value, report) in steps {
        for reason in print::remarks(report).into_iter().chain(print::verdict(report).1) {
            text += &format!("\n{}", table::hanging("  ", "    ", &format!("{}: {reason}", number(*value))));
        }
    }
    text
}

fn point(x: f64, report: &Report) -> Point {
    let estimate = |metric: &str| {
        let measure = report.measures.iter().find(|measure| measure.metric == metric);
        measure.map_or(Estimate::TooFew { samples: 0 }, |measure| measure.estimate.clone())
    };
    let quantiles = ["p50", "p90", "p99"].map(|p| (p.to_string(), estimate(&format!("response_time_{p}"))));
    Point { x, times: quantiles.to_vec(), valid: report.verdict == sojourn_load::Proof::Valid }
}
