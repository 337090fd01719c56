//! `sojourn traffic describe FILE`: what is in a log, a capture or a column of numbers.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use sojourn_lab::folder::write_whole;
use sojourn_lab::report::traffic;
use sojourn_stats::Dimension;
use sojourn_stats::quantity;
use sojourn_traffic::Input;
use sojourn_traffic::capture::Capture;
use sojourn_traffic::describe::{
    Description, Fact, Value, Variable, counts, describe, describe_capture, describe_numbers, spread_s,
};

use super::write_file;
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{new_table, outln};

/// Periods that are counted at most.
const PERIODS_MOST: f64 = 1e8;

#[derive(clap::Args)]
pub(super) struct Describe {
    /// The file: an access log (Common or Combined), a capture (pcap, pcapng) or a column of numbers, plain or gzip
    file: PathBuf,
    #[command(flatten)]
    column: Column,
    /// Write a page with plots
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the plots as SVG files
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,
    /// Of a capture: write a row for each TCP connection
    #[arg(long, value_name = "FILE.csv")]
    connections: Option<PathBuf>,
    /// Write how many came in each period, one number per line: for `sojourn traffic hurst`
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// The period of --counts
    #[arg(long, value_name = "TIME", default_value = "1 s", requires = "counts")]
    every: String,
    /// Print everything as JSON: facts, laws, tails, popularity, rate
    #[arg(long)]
    json: bool,
}

/// Which numbers of a file are meant.
#[derive(clap::Args)]
pub(super) struct Column {
    /// It is a column of numbers: one per line, or this column of a CSV file
    #[arg(long, value_name = "COLUMN", num_args = 0..=1, default_missing_value = "")]
    numbers: Option<String>,
    /// The unit of a column of numbers, e.g. `ms` or `kB` [default: none]
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
}

impl Column {
    /// The input at `path`, and the dimension of its numbers if it is a column of them; they are then in its SI unit.
    pub(super) fn read(&self, path: &Path) -> Result<(Input, Dimension), Failure> {
        let column = self.numbers.as_deref().map(|column| Some(column).filter(|column| !column.is_empty()));
        let input = Input::read(path, column).map_err(bad_input)?;
        let Some(unit) = &self.unit else { return Ok((input, Dimension::Number)) };
        let (factor, dimension) =
            quantity::parse_any(&format!("1 {unit}")).map_err(|e| bad_input(format!("--unit: {e}")))?;
        match input {
            Input::Numbers(numbers) => {
                Ok((Input::Numbers(numbers.iter().map(|number| number * factor).collect()), dimension))
            }
            _ => Err(bad_input(format!("--unit: {} is no column of numbers, and knows its units", path.display()))),
        }
    }
}

pub(super) fn run(arguments: &Describe) -> Result<Exit, Failure> {
    let (input, dimension) = arguments.column.read(&arguments.file)?;
    if let Some(path) = &arguments.connections {
        let Input::Capture(capture) = &input else {
            return Err(bad_input(format!("--connections: {} is no capture", arguments.file.display())));
        };
        write_connections(capture, path)?;
    }
    if let Some(path) = &arguments.counts {
        write_counts(&input, arguments, path)?;
    }
    let (description, warnings) = match &input {
        Input::Log(log) => (describe(log), log.warnings()),
        Input::Capture(capture) => (describe_capture(capture), capture.warnings()),
        Input::Numbers(numbers) => (describe_numbers(numbers, dimension), Vec::new()),
    };
    if let Some(path) = &arguments.report {
        let name = arguments.file.file_name().unwrap_or_default().to_string_lossy();
        let page = traffic::render(&description, &name, env!("CARGO_PKG_VERSION"));
        write_whole(path, page.as_bytes()).map_err(failed)?;
    }
    if let Some(folder) = &arguments.plot {
        fs::create_dir_all(folder).map_err(|e| bad_input(format!("cannot write {}: {e}", folder.display())))?;
        for (name, drawing) in traffic::plots(&description) {
            write_whole(&folder.join(name), drawing.as_bytes()).map_err(failed)?;
        }
    }
    if arguments.json {
        outln(&serde_json::to_string_pretty(&description).expect("a description is plain JSON"));
    } else {
        print(&description);
    }
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    Ok(Exit::Ok)
}

fn write_connections(capture: &Capture, path: &Path) -> Result<(), Failure> {
    let write = |out: BufWriter<fs::File>| match capture.write_csv(out) {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => Err(failed(format!("cannot write {}: {error}", path.display()))),
    };
    write_file(path, write).map(|_| ())
}

fn write_counts(input: &Input, arguments: &Describe, path: &Path) -> Result<(), Failure> {
    let every_s = quantity::parse(&arguments.every, Dimension::Time).map_err(|e| bad_input(format!("--every: {e}")))?;
    let (instants_s, span_s) = match input {
        Input::Log(log) => (spread_s(log), log.span().as_secs_f64()),
        Input::Capture(capture) => (capture.openings_s(), capture.span_s()),
        Input::Numbers(_) => {
            let file = arguments.file.display();
            return Err(bad_input(format!(
                "--counts: {file} is a column of numbers, and does not say when anything came"
            )));
        }
    };
    if !(every_s > 0.0 && span_s / every_s <= PERIODS_MOST) {
        let period = &arguments.every;
        return Err(bad_input(format!(
            "--every: `{period}` is not between 0 and {span_s} s, or makes too many periods"
        )));
    }
    let text: String = counts(&instants_s, span_s, every_s).iter().map(|count| format!("{count}\n")).collect();
    write_whole(path, text.as_bytes()).map_err(failed)
}

fn print(description: &Description) {
    print_facts(&description.facts);
    for variable in &description.variables {
        outln(&format!("\n{} ({} values)", variable.title, variable.count));
        if !variable.fits.is_empty() {
            outln(&laws(variable));
        }
        outln(&format!("  {}", variable.verdict()));
    }
    if !description.remarks.is_empty() {
        outln("\nBeware");
        description.remarks.iter().for_each(|remark| outln(&format!("  - {remark}")));
    }
}

/// The laws of a quantity, the likeliest first.
fn laws(variable: &Variable) -> String {
    let with_p = variable.fits.iter().any(|fit| fit.p_value.is_some());
    let header = ["law", "distance", "A2/n", "BIC", "p"];
    let mut table = new_table(if with_p { &header[..] } else { &header[..4] });
    let best = variable.fits[0].bic;
    for fit in &variable.fits {
        let mut row = vec![
            short(&fit.law.to_string()),
            format!("{:.4}", fit.kolmogorov),
            format!("{:.4}", fit.anderson_darling),
            format!("{:+.0}", fit.bic - best),
        ];
        if with_p {
            row.push(fit.p_value.map_or("-".into(), |p| format!("{p:.2}")));
        }
        table.add_row(row);
    }
    table.to_string()
}

/// A law whose numbers have at most five digits: in full it is in the report and in JSON.
fn short(law: &str) -> String {
    let mut text = String::new();
    let mut number = String::new();
    for c in law.chars().chain([' ']) {
        if c.is_ascii_digit() || (c == '.' && !number.is_empty()) {
            number.push(c);
            continue;
        }
        match number.parse::<f64>() {
            Ok(value) if number.len() > 6 => text += &Value::Number(value).to_string(),
            _ => text += &number,
        }
        number.clear();
        text.push(c);
    }
    text.trim_end().to_owned()
}

/// Facts by group, each group under its name.
pub(super) fn print_facts(facts: &[Fact]) {
    let width = facts.iter().map(|fact| fact.name.len()).max().unwrap_or(0);
    let mut group = "";
    for fact in facts {
        if fact.group != group {
            outln(&format!("{}{}", if group.is_empty() { "" } else { "\n" }, fact.group));
            group = fact.group;
        }
        let indent = if group.is_empty() { "" } else { "  " };
        let unit = if fact.unit == "1" { "" } else { fact.unit };
        outln(format!("{indent}{:width$}  {} {unit}", fact.name, fact.value).trim_end());
    }
}
