//! `sojourn ctl` and `sojourn switch ctl`: what people ask of a part that runs, and tell it, over its control socket.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::ask::{Asked, ask};
use crate::exit::{Exit, Failure};
use crate::table::outln;

/// Ask a part that runs, and tell it what to do
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Its socket, as its `--control` names it, or `control` of a DNS's configuration [default: sojourn.sock; of a switch
    /// switch.sock]
    #[arg(long, value_name = "PATH", global = true)]
    socket: Option<PathBuf>,
    #[command(subcommand)]
    order: Order,
}

#[derive(clap::Subcommand)]
enum Order {
    /// Print what it has done so far, and what it knows of its servers, as JSON
    Counts,
    /// Let a server or site end what it has, and give it nothing new
    Drain {
        /// Its name
        name: String,
    },
    /// Give a drained server or site new requests again
    Undrain {
        /// Its name
        name: String,
    },
}

/// Any part that has such a socket.
const PART: Asked =
    Asked { program: "gateway, redirector, switch or DNS", right: "start it with `--control`, and name that path" };

const SWITCH: Asked = Asked { program: "switch", ..PART };

pub(crate) fn ctl(arguments: &Arguments) -> Result<Exit, Failure> {
    say(&PART, Path::new("sojourn.sock"), arguments)
}

pub(crate) fn switch(arguments: &Arguments) -> Result<Exit, Failure> {
    say(&SWITCH, Path::new("switch.sock"), arguments)
}

fn say(part: &Asked, usual: &Path, arguments: &Arguments) -> Result<Exit, Failure> {
    let Arguments { socket, order } = arguments;
    let question = match order {
        Order::Counts => json!({"ask": "counts"}),
        Order::Drain { name } => json!({"ask": "drain", "name": name}),
        Order::Undrain { name } => json!({"ask": "undrain", "name": name}),
    };
    let said = ask(part, socket.as_deref().unwrap_or(usual), &question)?;
    match order {
        Order::Counts => outln(&serde_json::to_string_pretty(&said).expect("an answer is plain JSON")),
        _ => outln("done"),
    }
    Ok(Exit::Ok)
}
