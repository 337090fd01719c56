//! `sojourn switch`: the front node that forwards packets to servers, and the server's half of it. Both serve until Ctrl-C;
//! as children of a run they stop when their standard input closes. What one that was killed has left, `clean` takes away.

use sojourn_part::settings::Given;
use sojourn_part::settings::switch::{SwitchServerSettings, SwitchSettings};
use sojourn_switch as switch;
use sojourn_switch::{Switch, child};

use crate::child::failure;
use crate::ctl;
use crate::exit::{Exit, Failure};
use crate::settings::settings;
use crate::table::outln;

/// Forward the packets of each connection to a server, chosen by a policy; replies bypass the switch
///
/// It needs the rights of root in its network, which `sojourn bed exec --root` gives, and the Debian packages nftables,
/// iptables and iproute2. docs/guides/direct-return.md has an example from its beginning to its end.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Be the front node: take the address of the service, and choose a server for each connection to it
    Front(Box<Given<SwitchSettings>>),
    /// Be a server's half: let this host take what the switch forwards, while a web server runs here
    Server(Given<SwitchServerSettings>),
    /// Ask a front node that runs, and tell it what to do
    Ctl(ctl::Arguments),
    /// Take away what a front node or a server's half that was killed has left on this host, open connections included
    Clean {
        /// Only its rules, and with them its connections: what comes for the service is refused then
        #[arg(long)]
        rules: bool,
    },
}

pub(crate) fn switch(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Front(given) => front(given),
        Verb::Server(given) => server(given),
        Verb::Ctl(arguments) => ctl::switch(arguments),
        Verb::Clean { rules: true } => Switch::clear().map(|()| Exit::Ok).map_err(failure),
        Verb::Clean { rules: false } => clean(),
    }
}

fn front(given: &Given<SwitchSettings>) -> Result<Exit, Failure> {
    let Some(settings) = settings(given, switch::check)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(std::io::stdin);
    child::switch(settings, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

fn server(given: &Given<SwitchServerSettings>) -> Result<Exit, Failure> {
    let Some(settings) = settings(given, switch::check_server)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(std::io::stdin);
    child::server_half(settings, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

fn clean() -> Result<Exit, Failure> {
    let found = switch::clean().map_err(failure)?;
    found.iter().for_each(|what| outln(&format!("taken away: {what}")));
    if found.is_empty() {
        outln("nothing of a switch is left on this host");
    }
    Ok(Exit::Ok)
}
