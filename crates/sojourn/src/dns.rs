//! `sojourn dns`: an authoritative DNS server that chooses by load and distance; as a child of a run it stops when its standard
//! input closes.

mod ctl;

use std::path::PathBuf;

use sojourn_dns::{DnsConfig, child};

use crate::child::failure;
use crate::exit::{Exit, Failure, bad_input};
use crate::table::outln;

/// Answer for zones of the DNS, with addresses that a policy chooses: `sojourn dns --config dns.toml`
///
/// docs/dns.md says what the file may have, docs/guides/geographic-dns.md has an example from its beginning to its end. SIGHUP
/// makes it read the file anew.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Its configuration, TOML
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Say whether the configuration is right, and end
    #[arg(long)]
    check: bool,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    child: bool,
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
    let file = arguments.config.clone().expect("clap requires it");
    let config = DnsConfig::read(&file).map_err(bad_input)?;
    config.check().map_err(bad_input)?;
    if arguments.check {
        let services: usize = config.zones.iter().map(|zone| zone.services.len()).sum();
        let of = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        outln(&format!("{}: ok; {}, {}", file.display(), of(config.zones.len(), "zone"), of(services, "service")));
        return Ok(Exit::Ok);
    }
    let input = arguments.child.then(std::io::stdin);
    child::dns(config, file, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}
