//! `sojourn calibrate URL --curve LIST`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sojourn_calibrate::{CurveFound, Interval, Settings, Target, delay_curve};
use sojourn_stats::{Dimension, Law};

use super::{exit, tell, verdict, with_bar};
use crate::exit::{Exit, Failure, bad_input};
use crate::table;

/// What a delay curve is measured by.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Measure the delay with each of these numbers of users attached instead, e.g. 1,2,5,10,20,50,100, and fit a delay
    /// curve to it
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["proxy", "path", "judge", "no_judge", "repeats"]
    )]
    pub(super) curve: Vec<u32>,
    /// How these users think between a reply and the next request, e.g. 'exponential(mean = 1 s)' [default: not at all]
    #[arg(long, value_name = "LAW", requires = "curve")]
    think: Option<String>,
}

pub(super) fn calibrate(
    arguments: &super::Arguments,
    target: &Target,
    settings: &Settings,
    cancel: &Arc<AtomicBool>,
) -> Result<Exit, Failure> {
    let Arguments { curve, think } = &arguments.curve;
    let think = match think {
        None => Law::constant(0.0),
        Some(text) => Law::parse(text, Dimension::Time).map_err(|e| bad_input(format!("--think: {e}")))?,
    };
    let found = with_bar(|progress| delay_curve(target, settings, curve, &think, progress, cancel))?;
    let mut told = json!(found);
    told["model"] = json!(found.server.to_toml());
    let reasons = found.reasons();
    (told["verdict"], told["reasons"]) = (json!(found.verdict()), json!(reasons));
    let mut summary = summary(&found);
    summary.extend(verdict(found.verdict(), &reasons));
    tell(arguments, &told, &found.to_toml(), &summary)?;
    Ok(exit(&reasons))
}

fn summary(found: &CurveFound) -> Vec<String> {
    let header = ["users", "delay", "model", "error", "denied (%)", "model's (%)", "replies/s", ""];
    let mut rows = table::Grid::new(&header).text(&[7]).spare(&[6, 5, 4]);
    for point in &found.points {
        let range = |of: &Interval, factor: f64| {
            format!("{:.2} ({:.2} to {:.2})", of.value * factor, of.low * factor, of.high * factor)
        };
        rows.add_row([
            point.users.to_string(),
            table::between((point.delay.value, point.delay.low, point.delay.high), "s"),
            table::quantity(point.predicted_s, "s"),
            format!("{:+.1} %", 100.0 * (point.predicted_s / point.delay.value - 1.0)),
            range(&point.denied_share, 100.0),
            format!("{:.2}", 100.0 * point.predicted_share),
            format!("{:.1}", point.throughput),
            if point.kept_out { "not used in the fit".into() } else { String::new() },
        ]);
    }
    let mut lines = vec![rows.to_string()];
    lines.extend(found.notes.iter().map(|note| format!("note: {note}")));
    lines
}
