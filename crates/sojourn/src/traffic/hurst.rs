//! `sojourn traffic hurst`: how self-similar is a column of numbers?

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sojourn_lab::folder::write_whole;
use sojourn_lab::report::plots;
use sojourn_stats::hurst::{self, Hurst};
use sojourn_stats::input;
use sojourn_traffic::column_text;
use sojourn_traffic::describe::read_column;

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{Grid, outln, paragraph, wrote};
use crate::value::svg_to_write;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file: one number per line (gaps between requests, requests per second, ...), plain or gzip; `-` for standard
    /// input
    file: PathBuf,
    /// Take this column of a CSV file
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Print every estimate and the verdict as JSON
    #[arg(long)]
    json: bool,
    /// Draw what every estimator looked at, and the local averages, into this file
    #[arg(long, value_name = "FILE.svg", value_parser = svg_to_write())]
    plot: Option<PathBuf>,
}

pub(crate) fn hurst(arguments: &Arguments) -> Result<Exit, Failure> {
    let name =
        if arguments.file == Path::new("-") { "standard input".into() } else { arguments.file.display().to_string() };
    let unreadable = |error: io::Error| bad_input(format!("cannot read {name}: {error}"));
    let source: Box<dyn Read> = match arguments.file == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(input::open(&arguments.file).map_err(unreadable)?),
    };
    let text = column_text(source).map_err(unreadable)?;
    let series = read_column(text, arguments.column.as_deref(), &name).map_err(bad_input)?.values;
    let hurst = hurst::estimate(&series).map_err(|e| bad_input(format!("{name}: {e}")))?;
    if arguments.json {
        outln(&serde_json::to_string_pretty(&hurst).expect("estimates are plain JSON"));
    } else {
        print(&hurst);
    }
    if let Some(path) = &arguments.plot {
        write_whole(path, plots::hurst::svg(&hurst, &series, &name).as_bytes()).map_err(failed)?;
        wrote(path);
    }
    Ok(Exit::Ok)
}

fn print(hurst: &Hurst) {
    let mut table = Grid::new(&["estimator", "H", "interval (95 %)", "known bias"]).text(&[3]);
    for (name, reading) in hurst.readings() {
        let h = if reading.h.is_finite() { format!("{:.3}", reading.h) } else { "-".into() };
        let interval = match (reading.ci_low, reading.ci_high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => String::new(),
        };
        table.add_row([name.replace('_', " "), h, interval, reading.known_bias.unwrap_or_default().into()]);
    }
    outln(&table.to_string());
    let blocks: Vec<String> = hurst.scales.iter().map(|scale| scale.block.to_string()).collect();
    let mut table = Grid::new(&[&["averaged over".to_owned()], blocks.as_slice()].concat());
    table.add_row(
        ["Whittle's H".to_owned()].into_iter().chain(hurst.scales.iter().map(|s| format!("{:.2}", s.estimate.h))),
    );
    outln(&table.to_string());
    outln(&paragraph("", &hurst.verdict));
    for warning in &hurst.warnings {
        outln(&paragraph("", &format!("warning: {warning}")));
    }
}
