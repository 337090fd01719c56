//! `sojourn replay FILE`: does the policy make the choices again that a gateway, redirector, switch or DNS has recorded?

use std::io::BufReader;
use std::path::PathBuf;

use serde_json::{Value, json};
use sojourn_dispatch::record::{Header, Replay, replay_with};
use sojourn_stats::input;

use crate::exit::{Exit, Failure, bad_input};
use crate::table::outln;

/// Make recorded choices again and say whether they are the same
///
/// A record is what `--record` of gateway, redirect and switch, `record` of a DNS's service and `live = { record = true }` write.
/// The same policy is made anew and fed the same calls. Exit code 1 where it chooses otherwise, 2 where the file is no record.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The record, lines of JSON
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn replay(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = arguments.file.display();
    let file = input::open(&arguments.file).map_err(|error| bad_input(format!("{path}: {error}")))?;
    let mut header = None;
    let make = |of: &Header| {
        header = Some(of.clone());
        of.dispatcher()
    };
    let replayed = replay_with(BufReader::new(file), make).map_err(|error| bad_input(format!("{path}: {error}")))?;
    let header = header.expect("what was replayed has a header");
    if arguments.json {
        let said = serde_json::to_string_pretty(&as_json(&path.to_string(), &header, &replayed));
        outln(&said.expect("it is plain JSON"));
    } else {
        outln(&format!("{path}: {}", in_words(&header, &replayed)));
    }
    Ok(if replayed.first_difference.is_some() { Exit::Missed } else { Exit::Ok })
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
