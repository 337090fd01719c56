//! Commands on the hosts of a bed.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use sojourn_bed::namespace;

use super::control::{ask, find, hosts};
use super::up::code;
use super::{Order, unfit};
use crate::exit::{Exit, Failure, failed};

/// Run a command on a host
#[derive(clap::Args)]
pub(crate) struct Exec {
    /// The bed
    #[arg(long, default_value = "bed")]
    name: String,
    #[command(flatten)]
    order: Order,
}

/// Become a command of a bed
#[derive(clap::Args)]
pub(crate) struct Within {
    #[arg(long)]
    root: bool,
    /// End with the thread that started it
    #[arg(long)]
    end_with_parent: bool,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// As shells have it of a command that is not there, or cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;

pub(crate) fn exec(arguments: &Exec) -> Result<Exit, Failure> {
    let Exec { name, order } = arguments;
    let pid = find(name)?;
    order.check(hosts(&ask(pid, "status")?).iter().map(|(host, _)| host.as_str()))?;
    let program = std::env::current_exe().map_err(failed)?;
    namespace::join(pid, &order.host).map_err(unfit)?;
    let mut within = Command::new(program);
    within
        .args(["bed", "within", "--end-with-parent"])
        .args(order.root.then_some("--root"))
        .arg("--")
        .args(&order.command);
    // A polite end is passed on, so that the command can put back what it has changed; Ctrl-C it hears from the terminal.
    let mut signals = SigSet::empty();
    [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT].into_iter().for_each(|signal| signals.add(signal));
    signals.thread_block().map_err(failed)?;
    let mut within =
        within.spawn().map_err(|error| failed(format!("cannot run a command on {}: {error}", order.host)))?;
    loop {
        if signals.wait() == Ok(Signal::SIGTERM) {
            // One that has just ended needs none.
            let _ = kill(Pid::from_raw(within.id() as i32), Signal::SIGTERM);
        }
        if let Some(status) = within.try_wait().map_err(failed)? {
            std::process::exit(code(status))
        }
    }
}

pub(crate) fn within(arguments: &Within) -> Result<Exit, Failure> {
    // A signal that an ancestor waits for must reach what becomes of this process.
    let mut waited_for = SigSet::empty();
    [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT].into_iter().for_each(|signal| waited_for.add(signal));
    waited_for.thread_unblock().map_err(failed)?;
    if !arguments.root {
        namespace::as_ordinary_user().map_err(unfit)?;
    }
    if arguments.end_with_parent {
        namespace::end_with_parent().map_err(unfit)?;
    }
    let [program, rest @ ..] = arguments.command.as_slice() else { unreachable!("the command is required") };
    let error = Command::new(program).args(rest).env("TMPDIR", namespace::TEMPORARY).exec();
    crate::table::errln(&format!("sojourn: cannot run {}: {error}", program.to_string_lossy()));
    std::process::exit(if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN })
}
