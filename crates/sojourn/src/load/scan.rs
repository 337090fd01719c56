//! `sojourn load --scan 1000:10000:1000`: the curve over a range.

use std::path::Path;

use serde_json::json;
use sojourn_lab::folder::write_whole;
use sojourn_lab::report::plots::scan::{Point, svg};
use sojourn_load::Report;
use sojourn_load::order::{Order, Tuning};
use sojourn_stats::Estimate;

use super::print;
use super::run::{Runner, refused};
use super::search::number;
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table;

/// A share of failures at which the server is past its knee and further steps only hurt it.
const ERRORS_MAX: f64 = 0.5;

/// What is varied over which values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    what: What,
    values: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Rate,
    Connections,
    Users,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Rate => "rate",
            What::Connections => "connections",
            What::Users => "users",
        }
    }
}

/// More steps than this are a mistake in the step.
const STEPS_MAX: usize = 1000;

impl Range {
    /// Reads `1000:10000:1000` (rates per second), `connections=1:64:8`, or with a factor `users=1:64:x2`.
    pub(crate) fn parse(text: &str) -> Result<Range, Failure> {
        let fail = |what: &str| {
            bad_input(format!("--scan {text}: {what}; write FROM:TO:STEP, e.g. 1000:10000:1000 or connections=1:64:x2"))
        };
        let (what, range) = match text.split_once('=') {
            None | Some(("rate", _)) => (What::Rate, text.strip_prefix("rate=").unwrap_or(text)),
            Some(("connections", range)) => (What::Connections, range),
            Some(("users", range)) => (What::Users, range),
            Some(_) => return Err(fail("what is varied is the rate, the connections or the users")),
        };
        let parts: Vec<&str> = range.split(':').map(str::trim).collect();
        let [from, to, step] = parts[..] else { return Err(fail("three numbers are needed")) };
        let number = |text: &str| {
            text.parse::<f64>()
                .ok()
                .filter(|n| *n > 0.0 && n.is_finite())
                .ok_or_else(|| fail("the numbers are above 0"))
        };
        let (from, to) = (number(from)?, number(to)?);
        let next: Box<dyn Fn(usize) -> f64> = match step.strip_prefix('x') {
            Some(factor) => {
                let factor = number(factor)?;
                if factor <= 1.0 {
                    return Err(fail("a factor is above 1"));
                }
                Box::new(move |i| from * factor.powi(i as i32))
            }
            None => {
                let step = number(step)?;
                Box::new(move |i| from + step * i as f64)
            }
        };
        let values: Vec<f64> = (0..=STEPS_MAX).map(next).take_while(|v| *v <= to * (1.0 + 1e-9)).collect();
        if values.is_empty() {
            return Err(fail("it ends before it begins"));
        }
        if values.len() > STEPS_MAX {
            return Err(fail("that is more than a thousand steps"));
        }
        if what != What::Rate && values.iter().any(|value| value.fract() != 0.0) {
            return Err(fail("connections and users are whole numbers"));
        }
        Ok(Range { what, values })
    }

    fn check(&self, order: &Order) -> Result<(), Failure> {
        let open = order.rate().map_err(refused)?.is_some();
        let users = order.settings.users.is_some();
        match self.what {
            What::Rate if !open => Err(bad_input(
                "--scan of the rate: --rate or --arrivals gives the law whose rate is varied, e.g. --rate '1 /s'",
            )),
            What::Users if !users => {
                Err(bad_input("--scan users=...: --users says that there are any, e.g. --users 1"))
            }
            What::Connections if open || users => {
                Err(bad_input("--scan connections=...: leave out --rate, --arrivals and --users"))
            }
            _ => Ok(()),
        }
    }

    fn tuning(&self, value: f64) -> Tuning {
        match self.what {
            What::Rate => Tuning { rate: Some(value), ..Tuning::default() },
            What::Connections => Tuning { connections: Some(value as u32), ..Tuning::default() },
            What::Users => Tuning { users: Some(value as u32), ..Tuning::default() },
        }
    }
}

/// Runs every step, prints the table, draws the plot, and says how the program should end.
pub(crate) fn scan(
    order: &Order,
    range: &Range,
    plot: Option<&Path>,
    keep_going: bool,
    runner: &Runner,
    as_json: bool,
) -> Result<Exit, Failure> {
    range.check(order)?;
    let mut steps: Vec<(f64, Report)> = Vec::new();
    let mut remark = None;
    for (index, &value) in range.values.iter().enumerate() {
        let label = format!("{}/{} {} {}", index + 1, range.values.len(), range.what.name(), number(value));
        let report = runner.run(&order.tuned(range.tuning(value)), &label)?;
        let errors = report.value("error_ratio").unwrap_or(0.0);
        steps.push((value, report));
        if runner.interrupted() {
            break;
        }
        if errors > ERRORS_MAX && !keep_going && index + 1 < range.values.len() {
            remark = Some(format!(
                "stopped at {} {}: {:.0} % failed; --keep-going goes on",
                range.what.name(),
                number(value),
                errors * 100.0
            ));
            break;
        }
    }
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
            What::Rate => "offered requests per second",
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
        for reason in print::verdict(report).1 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_their_mistakes() {
        let values = |text: &str| Range::parse(text).map(|range| (range.what, range.values));
        assert_eq!(values("100:300:100").unwrap(), (What::Rate, vec![100.0, 200.0, 300.0]));
        assert_eq!(values("rate=0.1:0.3:0.1").unwrap().1.len(), 3, "rounding loses no step");
        assert_eq!(values("connections=1:20:x3").unwrap(), (What::Connections, vec![1.0, 3.0, 9.0]));
        assert_eq!(values("users=5:5:1").unwrap(), (What::Users, vec![5.0]));
        for bad in ["", "1:2", "1:2:0", "3:2:1", "1:2:x1", "a:2:1", "size=1:2:1", "users=1:2:0.5", "1:1e9:1", "-1:2:1"]
        {
            let failure = Range::parse(bad).unwrap_err();
            assert!(failure.exit == Exit::BadInput && failure.message.contains("FROM:TO:STEP"), "{bad}");
        }
    }
}
