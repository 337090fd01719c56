//! `sojourn agent`: a client host that runs its share of a load when a coordinator says so.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use sojourn_load::agents::{Agent, Host};
use sojourn_load::order::Order;
use sojourn_load::{Allowed, Load, LoadError};

use crate::exit::{Exit, Failure, bad_input, failed};
use crate::load::agents::{TOKEN, token};
use crate::load::run::refused;
use crate::{interrupt, table};

/// Put load on servers for a coordinator: `sojourn load --agents HOST:PORT,...`
///
/// An agent on loopback needs no secret; on any other address it needs --token-file. It serves one coordinator at a
/// time, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on; port 0 takes a free one and says which
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// File with a secret that the coordinator has too, at least 16 characters
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Coordinators may have me put load on targets that are neither loopback nor private
    #[arg(long)]
    yes_i_may: bool,
    /// Serve until standard input closes, as a child of a coordinator
    #[arg(long, hide = true)]
    child: bool,
}

/// How long a coordinator has to prove that it knows the secret.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn agent(arguments: &Arguments) -> Result<Exit, Failure> {
    let secret = match (&arguments.token_file, arguments.child) {
        (Some(path), _) => Some(token(path)?),
        (None, true) => std::env::var(TOKEN).ok().map(String::into_bytes),
        (None, false) => None,
    };
    if secret.is_none() && !arguments.listen.ip().is_loopback() {
        return Err(bad_input(format!(
            "--listen {}: an agent that others can reach needs --token-file, or anybody could use it",
            arguments.listen
        )));
    }
    let listener = TcpListener::bind(arguments.listen)
        .map_err(|error| bad_input(format!("cannot listen on {}: {error}", arguments.listen)))?;
    let address = listener.local_addr().map_err(failed)?;
    let quit = interrupt::flag();
    if arguments.child {
        let quit = Arc::clone(&quit);
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().by_ref(), &mut io::sink());
            quit.store(true, Ordering::Relaxed);
        });
    }
    table::outln(&json!({"event": "ready", "kind": "agent", "port": address.port(), "address": address}).to_string());
    let host = Machine { files: secret.is_some(), yes_i_may: arguments.yes_i_may };
    let served = Agent { host, secret, patience: PATIENCE, quit }.serve(&listener);
    served.map(|()| Exit::Ok).map_err(|error| failed(format!("cannot accept connections: {error}")))
}

/// What coordinators may do on this machine.
struct Machine {
    /// Read and write files.
    files: bool,
    /// Put load on targets that are neither loopback nor private.
    yes_i_may: bool,
}

impl Host for Machine {
    type Order = Order;

    fn prepare(&self, order: Order) -> Result<Load, String> {
        if !self.files && !order.settings.files().is_empty() {
            return Err("without --token-file it reads and writes no files for others".into());
        }
        let load = order.load().map_err(|error| refused(error).message)?;
        let allowed = if self.yes_i_may { load.allowed } else { Allowed::Private };
        Ok(Load { allowed, ..load })
    }

    fn explain(&self, error: LoadError) -> String {
        refused(error).message
    }
}
