//! `sojourn replay FILE`: does the policy make the choices again that a gateway, redirector, switch or DNS has recorded?

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use serde_json::{Value, json};
use sojourn_dispatch::record::{Header, Replay, continued, replay_with};
use sojourn_stats::input;

use crate::exit::{Exit, Failure, bad_input};
use crate::table::outln;

/// Make recorded choices again and say whether they are the same
///
/// A record is what `--record` of gateway, redirect and switch, `record` of a DNS's service and `live = { record = true }` write.
/// The same policy is made anew and fed the same calls. Exit code 1 where it chooses otherwise, 2 where the file is no record.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The record, lines of JSON; if it goes on in further files, all of them in their order
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn replay(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = arguments.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    let record = whole(&arguments.files)?;
    let mut header = None;
    let make = |of: &Header| {
        header = Some(of.clone());
        of.dispatcher()
    };
    let replayed = replay_with(record, make).map_err(|error| bad_input(format!("{path}: {error}")))?;
    let header = header.expect("what was replayed has a header");
    if arguments.json {
        let said = serde_json::to_string_pretty(&as_json(&path, &header, &replayed));
        outln(&said.expect("it is plain JSON"));
    } else {
        outln(&format!("{path}: {}", in_words(&header, &replayed)));
    }
    Ok(if replayed.first_difference.is_some() { Exit::Missed } else { Exit::Ok })
}

/// All files of a record, one after the other.
fn whole(files: &[PathBuf]) -> Result<Box<dyn BufRead>, Failure> {
    let mut all: Box<dyn BufRead> = Box::new(std::io::empty());
    for (index, file) in files.iter().enumerate() {
        let wrong = |why: String| bad_input(format!("{}: {why}", file.display()));
        let mut reader = BufReader::new(input::open(file).map_err(|error| wrong(error.to_string()))?);
        if let Some(before) = index.checked_sub(1).map(|before| &files[before]) {
            let mut first = Vec::new();
            input::next_line(&mut reader, &mut first).map_err(|error| wrong(error.to_string()))?;
            let from = continued(&first).ok_or_else(|| wrong("it is no file in which a record goes on".into()))?;
            if before.file_name().is_none_or(|name| name.to_string_lossy() != from) {
                return Err(wrong(format!("it goes on from `{from}`, and `{}` stands before it", before.display())));
            }
        }
        all = Box::new(Read::chain(all, reader));
    }
    Ok(all)
}

fn in_words(header: &Header, replayed: &Replay) -> String {
    let Replay { choices, same, first_difference, truncated_line } = replayed;
    let made = format!("{} over {} backends", header.policy, header.backends.len());
    let broken_off =
        truncated_line.map_or(String::new(), |line| format!("; the last line, {line}, breaks off and was left out"));
    match first_difference {
        None => format!("{made}: {choices} choices, all the same{broken_off}"),
        Some(other) => format!(
            "{made}: line {} differs after {same} choices that were the same: at {:.6} s it recorded {}, the replay gives {}",
            other.line,
            other.time.as_secs_f64(),
            other.recorded,
            other.replayed
        ),
    }
}

fn as_json(path: &str, header: &Header, replayed: &Replay) -> Value {
    let Replay { choices, same, first_difference, truncated_line } = replayed;
    // The answers are JSON themselves.
    let answer = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text));
    let first_difference = first_difference.as_ref().map(|other| {
        json!({
            "line": other.line,
            "time_s": other.time.as_secs_f64(),
            "recorded": answer(&other.recorded),
            "replayed": answer(&other.replayed),
        })
    });
    json!({
        "file": path,
        "policy": header.policy,
        "backends": header.backends.iter().map(|backend| &backend.name).collect::<Vec<_>>(),
        "choices": choices,
        "same": same,
        "first_difference": first_difference,
        "truncated_line": truncated_line,
    })
}
