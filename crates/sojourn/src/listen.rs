//! `sojourn listen`: what load daemons and front nodes report, as it comes.

use std::io::{self, Write};

use serde_json::Value;
use sojourn_part::settings::Given;
use sojourn_part::settings::loadd::ListenSettings;
use sojourn_report::{Key, child};

use crate::child::failure;
use crate::exit::{Exit, Failure};
use crate::settings::settings;

/// Print what load daemons and front nodes report: `sojourn listen --on 0.0.0.0:7400 --key FILE`
///
/// It stands where a balancer would stand, chooses nothing, and shows that names, addresses and keys are right. Ctrl-C ends it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given<ListenSettings>,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn listen(Arguments { given, json }: &Arguments) -> Result<Exit, Failure> {
    let key = |settings: &ListenSettings| Key::of_file(settings.key_file.as_deref()).map(drop);
    let Some(settings) = settings(given, key)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(io::stdin);
    let served = match *json || given.is_child() {
        true => child::listener(&settings, io::stdout(), input),
        false => child::listener(&settings, InWords::default(), input),
    };
    served.map(|()| Exit::Ok).map_err(failure)
}

/// Prints events as lines that people read.
#[derive(Default)]
struct InWords(Vec<u8>);

impl Write for InWords {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.0.drain(..=end).collect();
            if let Ok(event) = serde_json::from_slice(&line) {
                writeln!(io::stdout(), "{}", in_words(&event))?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

fn in_words(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| event[name].as_f64();
    let name = text("name");
    match event["event"].as_str().unwrap_or_default() {
        "ready" => format!("listening on {}", text("address")),
        "report" => {
            let parts = [
                number("age_s").map(|age_s| format!("{:.0} ms old", age_s * 1e3)),
                number("cpu").map(|busy| format!("busy {:.0} %", busy * 100.0)),
                number("in_flight").map(|inside| format!("{inside} inside")),
                number("requests").map(|requests| format!("{requests} served since the last")),
                number("capacity_per_s")
                    .zip(number("room_per_s"))
                    .map(|(all, room)| format!("room {room:.0}/s of {all:.0}/s")),
                number("latency_s").map(|latency_s| format!("{:.1} ms each", latency_s * 1e3)),
                (event["is_overloaded"] == true).then(|| "OVERLOADED".into()),
            ];
            format!("{name:<16} {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        "rate" => format!("client {:<16} {:.2} requests/s", text("client"), number("requests_per_s").unwrap_or(0.0)),
        "echoes" => {
            let client = text("client");
            match (event["refused"].as_str(), number("round_trip_s"), number("answers").unwrap_or(0.0)) {
                (Some(why), ..) => format!("{name:<16} did not probe {client}: {why}"),
                (None, Some(s), answers) => {
                    format!("{name:<16} {client} is {:.2} ms away: {answers} answers by {}", s * 1e3, text("by"))
                }
                (None, None, _) => format!("{name:<16} {client} does not answer"),
            }
        }
        "reports_silent" => format!("{name:<16} is silent"),
        "reports_empty" => format!("{name:<16} has no server left"),
        "reports_heard" => format!("{name:<16} is heard again"),
        "dropped" | "stopped" => {
            let counts = event["dropped"].as_object().into_iter().flatten();
            let counts =
                counts.filter(|(_, count)| count.as_u64() != Some(0)).map(|(cause, count)| format!("{cause} {count}"));
            let counts: Vec<String> = counts.collect();
            format!("not believed: {}", if counts.is_empty() { "none".into() } else { counts.join(", ") })
        }
        _ => event.to_string(),
    }
}
