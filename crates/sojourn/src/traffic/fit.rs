//! `sojourn traffic fit FILE --out workload.toml`: a workload that runs, from what came.

use std::path::PathBuf;

use sojourn_lab::folder::write_whole;
use sojourn_traffic::{Input, fit};

use super::describe::{self, Column, LogArguments, Window};
use crate::exit::{Exit, Failure, bad_input, failed};
use crate::table::{errln, outln, wrote};
use crate::value::file_to_write;

#[derive(clap::Args)]
pub(super) struct Fit {
    /// The file: an access log, a capture (pcap, pcapng) or a column of numbers, plain, gzip or zstd; several logs or columns
    /// are read as one, `-` is standard input
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    column: Column,
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    window: Window,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE", value_parser = file_to_write())]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &Fit) -> Result<Exit, Failure> {
    let (input, dimension) = arguments.column.read(&arguments.files, &arguments.log)?;
    let input = arguments.window.of(input, &arguments.files)?;
    let (path, name) = (describe::name(&arguments.files), describe::short_name(&arguments.files));
    let (text, warnings) = match &input {
        Input::Log(log) => (fit::of_log(log, &name), log.warnings()),
        Input::Capture(capture) => (fit::of_capture(capture, &name), capture.warnings()),
        Input::Numbers(numbers) => (fit::of_numbers(numbers, dimension), Vec::new()),
        Input::Har(_) => {
            let right = "sessions of browsers are a workload as they are: kind = \"session-file\" with har = ";
            return Err(bad_input(format!("{path}: {right}\"{path}\"")));
        }
    };
    let text = text.map_err(|e| bad_input(format!("{path}: {e}")))?;
    match &arguments.out {
        Some(out) if out.exists() => {
            return Err(bad_input(format!("{} exists: name another file, or remove it", out.display())));
        }
        Some(out) => {
            write_whole(out, text.as_bytes()).map_err(failed)?;
            wrote(out);
        }
        None => outln(text.trim_end()),
    }
    for warning in warnings {
        errln(&format!("warning: {warning}"));
    }
    if !matches!(input, Input::Numbers(_)) {
        errln(
            "note: the server in it is made up, busy for 60 % of the time at the highest rate: what came says nothing of it. \
             Put your own in its place; `sojourn calibrate` measures one, or fits it to a log that has times",
        );
    }
    Ok(Exit::Ok)
}
