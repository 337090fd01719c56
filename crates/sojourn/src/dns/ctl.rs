//! `sojourn dns ctl`: what people ask of a running DNS, over its socket.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::ask::{Asked, ask};
use crate::exit::{Exit, Failure};
use crate::table::outln;

/// Ask a running DNS, and tell it what to do
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Its socket: `control` of its configuration
    #[arg(long, value_name = "PATH", default_value = "dns.sock", global = true)]
    socket: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Say which sites can be named, and what each has reported
    State,
    /// Let a site keep the clients it has and name it no more
    Drain {
        /// The site
        site: String,
    },
    /// Name a drained site again
    Undrain {
        /// The site
        site: String,
    },
    /// Change the weight of a site, for policies that read weights
    Weight {
        /// The site
        site: String,
        /// Its weight, at least 0
        weight: f64,
    },
    /// Say why the last answers were what they were
    Explain {
        /// How many
        #[arg(default_value_t = 10)]
        last: usize,
    },
    /// Read the configuration anew
    Reload,
}

pub(crate) fn ctl(arguments: &Arguments) -> Result<Exit, Failure> {
    let question = match &arguments.verb {
        Verb::State => json!({"ask": "state"}),
        Verb::Drain { site } => json!({"ask": "drain", "site": site}),
        Verb::Undrain { site } => json!({"ask": "undrain", "site": site}),
        Verb::Weight { site, weight } => json!({"ask": "weight", "site": site, "weight": weight}),
        Verb::Explain { last } => json!({"ask": "explain", "last": last}),
        Verb::Reload => json!({"ask": "reload"}),
    };
    let dns = Asked { program: "DNS", right: "name the `control` of its configuration" };
    let said = ask(&dns, &arguments.socket, &question)?;
    match (&arguments.verb, arguments.json) {
        (_, true) => outln(&serde_json::to_string_pretty(&said).expect("an answer is plain JSON")),
        (Verb::State, false) => state(&said),
        (Verb::Explain { .. }, false) => {
            for decided in said["decisions"].as_array().into_iter().flatten() {
                outln(&format!("{}: {}", text(&decided["service"]), text(&decided["words"])));
            }
        }
        (_, false) => outln("done"),
    }
    Ok(Exit::Ok)
}

fn state(said: &Value) {
    for service in said["services"].as_array().into_iter().flatten() {
        let rate = service["mean_client_rate_per_s"].as_f64();
        let rate = rate.map_or(String::new(), |rate| format!(", at {rate:.2} requests/s in the mean"));
        outln(&format!(
            "{} by {}: {} decisions, {} clients known{rate}",
            text(&service["name"]),
            text(&service["policy"]),
            service["decisions"],
            service["clients"]
        ));
        for site in service["sites"].as_array().into_iter().flatten() {
            let number = |key: &str| site[key].as_f64();
            let parts = [
                Some(format!("weight {}", site["weight"])),
                Some(format!("named first {} times", site["chosen"])),
                number("report_age_s").map(|age_s| format!("reported {age_s:.1} s ago")),
                number("cpu").map(|busy| format!("busy {:.0} %", busy * 100.0)),
                number("capacity_per_s")
                    .zip(number("room_per_s"))
                    .map(|(all, room)| format!("room {room:.0}/s of {all:.0}/s")),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            outln(&format!("  {:<16} {:<8} {}", text(&site["name"]), text(&site["state"]), parts.join(", ")));
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
