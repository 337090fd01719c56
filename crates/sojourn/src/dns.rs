//! `sojourn dns`: an authoritative DNS server that chooses by load and distance; as a child of a run it stops when its standard
//! input closes.

mod ctl;

use sojourn_dns::child;
use sojourn_part::settings::Given;
use sojourn_part::settings::dns::DnsSettings;

use crate::child::failure;
use crate::exit::{Exit, Failure, bad_input};
use crate::settings::settings;

/// Answer for zones of the DNS, with addresses that a policy chooses: `sojourn dns --config dns.toml`
///
/// docs/dns.md says what the file may have, docs/guides/geographic-dns.md has an example from its beginning to its end. SIGHUP
/// makes it read the file anew.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    given: Given<DnsSettings>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Ask a running DNS, and tell it what to do
    Ctl(ctl::Arguments),
}

pub(crate) fn dns(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(Verb::Ctl(arguments)) = &arguments.verb {
        return ctl::ctl(arguments);
    }
    let given = &arguments.given;
    if given.file().is_none() {
        return Err(bad_input("a DNS needs a file with its zones: `sojourn dns --config dns.toml`"));
    }
    let Some(settings) = settings(given, sojourn_dns::check)? else { return Ok(Exit::Ok) };
    let input = given.is_child().then(std::io::stdin);
    child::dns(settings, given.clone(), std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}
