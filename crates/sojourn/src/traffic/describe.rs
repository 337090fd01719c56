//! `sojourn traffic describe FILE`: what is in a log, a capture, an archive of a browser or a column of numbers.

use std::fs;
use std::path::{Path, PathBuf};

use sojourn_lab::folder::write_whole;
use sojourn_lab::report::traffic;
use sojourn_stats::Dimension;
use sojourn_stats::quantity;
use sojourn_traffic::capture::Capture;
use sojourn_traffic::describe::{
    Covered, Description, Fact, Listing, Memory, Value, Variable, counts, covered, describe, describe_capture,
    describe_har, describe_numbers,
};
use sojourn_traffic::log::LogFormat;
use sojourn_traffic::{Input, InputError};

use super::write_file;
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{self, Grid, errln, hanging, outln, paragraph, wrote};
use crate::value::file_to_write;

/// Periods that are counted at most.
const PERIODS_MOST: f64 = 1e8;

#[derive(clap::Args)]
pub(super) struct Describe {
    /// The file: an access log, a capture (pcap, pcapng), an archive of a browser (HAR) or a column of numbers, plain, gzip or
    /// zstd; several logs, archives or columns are read as one, `-` is standard input
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    column: Column,
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    window: Window,
    /// Write a page with plots
    #[arg(long, value_name = "FILE.html", value_parser = file_to_write())]
    report: Option<PathBuf>,
    /// Write the plots as SVG files
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,
    /// Of a capture: write a row for each TCP connection
    #[arg(long, value_name = "FILE.csv", value_parser = file_to_write())]
    connections: Option<PathBuf>,
    /// Write how many came in each period, one number per line, of a log without its first and its last second: for
    /// `sojourn traffic hurst`
    #[arg(long, value_name = "FILE", value_parser = file_to_write())]
    counts: Option<PathBuf>,
    /// The period of --counts
    #[arg(long, value_name = "TIME", default_value = "1 s", requires = "counts")]
    every: String,
    /// Print everything as JSON: facts, laws, tails, popularity, rate
    #[arg(long)]
    json: bool,
}

/// How a log is to be read.
#[derive(clap::Args)]
pub(super) struct LogArguments {
    /// Of a log: its format, by name (`haproxy`, `alb`, ...) or as the server's own format string (`'$remote_addr ...'`,
    /// `'%h %l ...'`) [default: told from its first lines]
    #[arg(long, value_name = "FORMAT", value_parser = |text: &str| LogFormat::parse(text))]
    format: Option<LogFormat>,
    /// Of a log: one in so many requests was logged
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sampled: Option<u32>,
}

/// Which numbers of a file are meant.
#[derive(clap::Args)]
pub(super) struct Column {
    /// The file is a column of numbers, one per line [default: told from its first lines]
    #[arg(long)]
    numbers: bool,
    /// Take this column of a CSV file
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// The unit of a column of numbers, e.g. `ms` or `kB` [default: none]
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
}

impl Column {
    /// The input in these files, and the dimension of its numbers if it is a column of them; they are then in its SI unit.
    pub(super) fn read(&self, files: &[PathBuf], log: &LogArguments) -> Result<(Input, Dimension), Failure> {
        let column = (self.numbers || self.column.is_some()).then_some(self.column.as_deref());
        let read = Input::read_all(files, column, log.format.as_ref());
        let input = match (read.map_err(|error| bad_input(self.told(files, &error)))?, log.sampled) {
            (Input::Log(read), Some(every)) => Input::Log(read.with_sampling(every)),
            (_, Some(_)) => return Err(bad_input(format!("--sampled: {} is no log", name(files)))),
            (input, None) => input,
        };
        let Some(unit) = &self.unit else { return Ok((input, Dimension::Number)) };
        let (factor, dimension) =
            quantity::parse_any(&format!("1 {unit}")).map_err(|e| bad_input(format!("--unit: {e}")))?;
        match input {
            Input::Numbers(numbers) => Ok((Input::Numbers(numbers.scaled(factor)), dimension)),
            _ => Err(bad_input(format!("--unit: {} is no column of numbers, and knows its units", name(files)))),
        }
    }

    /// The error, or what was meant where the name of a column stands in the place of a file.
    fn told(&self, files: &[PathBuf], error: &InputError) -> String {
        let is_missing = |file: &&PathBuf| file.as_path() != Path::new("-") && !file.exists();
        let may_be_a_name = self.numbers && self.column.is_none() && files.len() > 1;
        match files.iter().find(is_missing).filter(|_| may_be_a_name) {
            Some(name) => {
                let name = name.display();
                format!("{name} is no file; if it is a column of a CSV file, write --column {name}")
            }
            None => error.to_string(),
        }
    }
}

/// What messages call these files.
pub(crate) fn name(files: &[PathBuf]) -> String {
    match files {
        [file] if file == Path::new("-") => "standard input".into(),
        [file, more @ ..] if !more.is_empty() => format!("{} and {} more", file.display(), more.len()),
        files => files.iter().map(|file| file.display().to_string()).collect(),
    }
}

/// The same without their folders.
pub(super) fn short_name(files: &[PathBuf]) -> String {
    name(&files.iter().map(|file| file.file_name().map_or_else(|| file.clone(), PathBuf::from)).collect::<Vec<_>>())
}

/// Which part of a log is meant.
#[derive(clap::Args)]
pub(super) struct Window {
    /// Of a log: only what came from here on, by its clock (`12:30`, `1995-08-01 12:30`) or that long after its beginning
    /// (`2 h`)
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Of a log: only what came before, written as for --from
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Of a log: only the busiest hour of its clock
    #[arg(long, conflicts_with_all = ["from", "to"])]
    busy_hour: bool,
}

impl Window {
    /// What of `input` is in it.
    pub(super) fn of(&self, input: Input, files: &[PathBuf]) -> Result<Input, Failure> {
        if self.from.is_none() && self.to.is_none() && !self.busy_hour {
            return Ok(input);
        }
        let path = name(files);
        let Input::Log(log) = &input else {
            return Err(bad_input(format!(
                "--from, --to, --busy-hour: {path} is no log, of which a part can be taken"
            )));
        };
        let first_s = log.entries().first().map_or(0, |entry| entry.time_s());
        let instant = |flag: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                let after =
                    || quantity::parse(text, Dimension::Time).ok().map(|after_s| first_s + after_s.round() as i64);
                log.instant(text).or_else(after).map(Some).ok_or_else(|| {
                    let right = "a time of the log's clock such as 12:30 or `1995-08-01 12:30`, or one after its beginning, \
                                 e.g. `2 h`";
                    bad_input(format!("{flag} {text}: write {right}"))
                })
            }
        };
        let (from_s, to_s) = match log.busiest(3600).filter(|_| self.busy_hour) {
            Some((start_s, _)) => (start_s, start_s + 3600),
            None => {
                (instant("--from", &self.from)?.unwrap_or(i64::MIN), instant("--to", &self.to)?.unwrap_or(i64::MAX))
            }
        };
        // Who says where the time begins or ends means all of it.
        let part = log.between(from_s, to_s).keeping_silence(self.from.is_some(), self.to.is_some());
        if part.requests() == 0 {
            let last_s = log.entries().last().map_or(0, |entry| entry.time_s());
            return Err(bad_input(format!(
                "--from, --to: nothing of {path} came then; it goes from {} to {}",
                log.local_time(first_s),
                log.local_time(last_s)
            )));
        }
        Ok(Input::Log(part))
    }
}

pub(super) fn run(arguments: &Describe) -> Result<Exit, Failure> {
    let (input, dimension) = arguments.column.read(&arguments.files, &arguments.log)?;
    let input = arguments.window.of(input, &arguments.files)?;
    if let Some(path) = &arguments.connections {
        let Input::Capture(capture) = &input else {
            return Err(bad_input(format!("--connections: {} is no capture", name(&arguments.files))));
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
        Input::Har(har) => (describe_har(har), har.warnings()),
    };
    if arguments.json {
        outln(&serde_json::to_string_pretty(&description).expect("a description is plain JSON"));
    } else {
        print(&description);
    }
    for warning in warnings {
        errln(&format!("warning: {warning}"));
    }
    if let Some(path) = &arguments.report {
        let name = short_name(&arguments.files);
        let page = traffic::render(&description, &name, env!("CARGO_PKG_VERSION"));
        write_whole(path, page.as_bytes()).map_err(failed)?;
        wrote(path);
    }
    if let Some(folder) = &arguments.plot {
        fs::create_dir_all(folder).map_err(|e| bad_input(format!("cannot write {}: {e}", folder.display())))?;
        for (name, drawing) in traffic::plots(&description) {
            write_whole(&folder.join(name), drawing.as_bytes()).map_err(failed)?;
        }
        wrote(folder);
    }
    Ok(Exit::Ok)
}

fn write_connections(capture: &Capture, path: &Path) -> Result<(), Failure> {
    let write = |out: fs::File| match capture.write_csv(out) {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => Err(failed(format!("cannot write {}: {error}", path.display()))),
    };
    write_file(path, write)?;
    wrote(path);
    Ok(())
}

fn write_counts(input: &Input, arguments: &Describe, path: &Path) -> Result<(), Failure> {
    let every_s = quantity::parse(&arguments.every, Dimension::Time).map_err(|e| bad_input(format!("--every: {e}")))?;
    let (instants_s, span_s) = match input {
        Input::Log(log) => {
            let Covered { instants_s, span_s, .. } = covered(log);
            (instants_s, span_s)
        }
        Input::Capture(capture) => (capture.openings_s(), capture.span_s()),
        Input::Numbers(_) | Input::Har(_) => {
            let file = name(&arguments.files);
            return Err(bad_input(format!(
                "--counts: {file} is neither a log nor a capture, and does not say when users came"
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
    write_whole(path, text.as_bytes()).map_err(failed)?;
    wrote(path);
    Ok(())
}

fn print(description: &Description) {
    print_facts(&description.facts);
    let by_status = description.by_status();
    if !by_status.rows.is_empty() {
        outln("\nReplies by status");
        outln(&grid(&by_status));
    }
    if let Some(served) = &description.served {
        outln("\nServers, and what happened over time");
        served.words.iter().for_each(|words| outln(&paragraph("  ", words)));
        let listings = [served.by_server(), served.over_time()];
        listings.iter().filter(|listing| !listing.rows.is_empty()).for_each(|listing| outln(&grid(listing)));
    }
    for variable in &description.variables {
        outln(&format!("\n{} ({} values)", variable.title, variable.count));
        if !variable.fits.is_empty() {
            outln(&laws(variable));
        }
        variable.about_the_laws().iter().for_each(|about| outln(&paragraph("  ", about)));
        outln(&paragraph("  ", &variable.verdict()));
    }
    for Memory { title, hurst, .. } in &description.memory {
        outln(&format!("\n{title}"));
        outln(&paragraph("  ", &hurst.verdict));
        hurst.warnings.iter().for_each(|warning| outln(&paragraph("  ", &format!("warning: {warning}"))));
    }
    if !description.remarks.is_empty() {
        outln("\nBeware");
        description.remarks.iter().for_each(|remark| outln(&hanging("  - ", "    ", remark)));
    }
}

/// A table of replies, of what servers got or of what happened over time.
fn grid(listing: &Listing) -> String {
    let mut grid = Grid::new(&listing.header);
    for row in &listing.rows {
        grid.add_row(row.iter().map(|cell| match cell {
            None => "-".to_owned(),
            Some((Value::Number(number), "s" | "/s")) if *number == 0.0 => "0".to_owned(),
            Some((Value::Number(number), unit @ ("s" | "/s"))) => table::quantity(*number, unit),
            Some((value, _)) => value.to_string(),
        }));
    }
    grid.to_string()
}

/// The laws of a quantity, the likeliest first.
fn laws(variable: &Variable) -> String {
    let with_p = variable.fits.iter().any(|fit| fit.p_value.is_some());
    let header = ["law", "distance", "A2/n", "BIC", "p"];
    let mut table = Grid::new(if with_p { &header[..] } else { &header[..4] });
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
        let told = match fact.value {
            // What was read in whole seconds has no digits behind them, and thousands need none.
            Value::Number(number)
                if fact.unit == "s" && (number >= 1000.0 || number >= 1.0 && number.fract() == 0.0) =>
            {
                format!("{number:.0} s")
            }
            Value::Number(number) if fact.unit != "1" => table::quantity(number, fact.unit),
            ref value => format!("{value} {}", fact.unit.trim_matches('1')),
        };
        let (first, further) = (format!("{indent}{:width$}  ", fact.name), " ".repeat(indent.len() + width + 2));
        outln(&hanging(&first, &further, &told));
    }
}
