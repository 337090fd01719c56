//! Flags of a load by several client processes; the coordination itself is `sojourn_load::agents`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sojourn_bed::Child;
use sojourn_load::agents::{Coordinator, new_secret};
use sojourn_stats::input;

use crate::exit::{Failure, bad_input, failed};

/// Who puts the load on the server, if not this process.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Clients {
    /// Split the load over this many processes on this machine
    #[arg(long, value_name = "N", conflicts_with = "agents", help_heading = "Clients")]
    processes: Option<u32>,
    /// Split it over `sojourn agent`s on other machines: HOST:PORT,...
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Clients")]
    agents: Vec<String>,
    /// File with the secret of these agents
    #[arg(long, value_name = "FILE", requires = "agents", help_heading = "Clients")]
    token_file: Option<PathBuf>,
}

/// The agents of this program, connected.
pub(crate) struct Connected {
    pub(crate) coordinator: Coordinator,
    /// Ended when this is dropped.
    _children: Vec<Child>,
}

/// The variable in which a child finds its secret: other users cannot read it, unlike arguments.
pub(crate) const TOKEN: &str = "SOJOURN_AGENT_TOKEN";

/// More processes than this are a slip of the finger.
const PROCESSES_MAX: u32 = 256;
/// A child has to be there by then.
const READY: Duration = Duration::from_secs(20);

impl Clients {
    /// Starts or connects to all of them; none when this process is to do it alone.
    pub(crate) fn connect(&self, yes_i_may: bool) -> Result<Option<Connected>, Failure> {
        let mut connected = Connected { coordinator: Coordinator::new(), _children: Vec::new() };
        if let Some(count) = self.processes {
            if !(1..=PROCESSES_MAX).contains(&count) {
                return Err(bad_input(format!("--processes {count}: 1 to {PROCESSES_MAX}")));
            }
            let secret = new_secret().map_err(failed)?;
            let program = std::env::current_exe().map_err(failed)?;
            for number in 1..=count {
                let name = format!("process {number}");
                let mut command = Command::new(&program);
                command.args(["agent", "--child"]).args(yes_i_may.then_some("--yes-i-may")).env(TOKEN, &secret);
                let child = Child::start(command, READY).map_err(|error| failed(format!("{name}: {error}")))?;
                let address = SocketAddr::from(([127, 0, 0, 1], child.port()));
                connected._children.push(child);
                connected.coordinator.join(name, address, secret.as_bytes()).map_err(failed)?;
            }
            return Ok(Some(connected));
        }
        if self.agents.is_empty() {
            return Ok(None);
        }
        let secret = self.token_file.as_deref().map(token).transpose()?.unwrap_or_default();
        for name in &self.agents {
            let wrong = |why: String| bad_input(format!("--agents {name}: {why}; write HOST:PORT"));
            let mut found = name.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
            let address = found.next().ok_or_else(|| wrong("it has no address".into()))?;
            connected.coordinator.join(format!("agent {name}"), address, &secret).map_err(failed)?;
        }
        Ok(Some(connected))
    }
}

/// Reads a secret.
pub(crate) fn token(path: &Path) -> Result<Vec<u8>, Failure> {
    let text = input::text(path)
        .map_err(|error| bad_input(format!("--token-file: cannot read {}: {error}", path.display())))?;
    let secret = text.trim();
    if secret.len() < 16 {
        return Err(bad_input(format!(
            "--token-file: {} holds less than 16 characters; make one with `head -c 32 /dev/urandom | base64`",
            path.display()
        )));
    }
    Ok(secret.as_bytes().to_vec())
}
