//! `sojourn switch`: the front node that forwards packets to servers, and the server's half of it. Both serve until Ctrl-C;
//! as children of a run they stop when their standard input closes. What one that was killed has left, `clean` takes away.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use sojourn_part::Backend;
use sojourn_report::Key;
use sojourn_switch as switch;
use sojourn_switch::{Accepted, Lifetimes, Mode, ServerHalfConfig, Switch, SwitchConfig, child};

use crate::child::{backend, failure, limit, name_classes};
use crate::ctl;
use crate::exit::{Exit, Failure, bad_input};
use crate::reporting::Reporting;
use crate::table::outln;
use crate::value::{count, time};

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
    Front(Box<Front>),
    /// Be a server's half: let this host take what the switch forwards, while a web server runs here
    Server(Server),
    /// Ask a front node that runs, and tell it what to do
    Ctl(ctl::Arguments),
    /// Take away what a front node or a server's half that was killed has left on this host, open connections included
    Clean {
        /// Only its rules, and with them its connections: what comes for the service is refused then
        #[arg(long)]
        rules: bool,
    },
}

/// Be the front node
#[derive(clap::Args)]
struct Front {
    #[command(flatten)]
    forwarding: Forwarding,
    /// A server: ADDRESS, or NAME=ADDRESS, or NAME=ADDRESS*WEIGHT; once per server. Its port is that of the service
    #[arg(long = "backend", value_name = "SERVER", required = true)]
    backends: Vec<String>,
    /// Names of servers that end the connections they have and get no new ones
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    drain: Vec<String>,
    /// Socket at which a switch that runs is told to drain a server, or not (`sojourn switch ctl`)
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Policy, e.g. `round-robin` or `address-hash`
    #[arg(long, default_value = "least-connections")]
    policy: String,
    /// Seed of the policy's random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Time between two attempts to connect to a server
    #[arg(long, value_name = "TIME", default_value = "1 s", allow_hyphen_values = true)]
    probe: String,
    /// Attempts in a row that fail and take a server out; a refused connection does at once
    #[arg(long, value_name = "N", default_value = "3", value_parser = count::<u32>)]
    fall: u32,
    /// Attempts in a row that succeed and bring a server back
    #[arg(long, value_name = "N", default_value = "1", value_parser = count::<u32>)]
    rise: u32,
    /// Forget a connection that is idle for this long
    #[arg(long, value_name = "TIME", default_value = "15 min", allow_hyphen_values = true)]
    idle: String,
    /// Most connections that are remembered; what would open a further one is dropped
    #[arg(long, value_name = "N", default_value = "262144", value_parser = count::<u32>)]
    connections: u32,
    /// Most connections to each server at once, and how few it must come down to before it gets more: `20` or `20,15`; a
    /// client that finds all full is refused
    #[arg(long, value_name = "N[,RETURN]")]
    limit: Option<String>,
    /// The front node of another site, by its own address: connections that all servers here are too full for go there by
    /// tunnel, once: ADDRESS or NAME=ADDRESS; once per site
    #[arg(long, value_name = "SITE", requires = "limit")]
    overflow: Vec<String>,
    /// A server here that redirects clients to other sites (`sojourn redirect`) and is reached as the other servers are:
    /// connections that these are too full for go there instead: ADDRESS or NAME=ADDRESS; once per redirector
    #[arg(long, value_name = "SERVER", requires = "limit", conflicts_with = "overflow")]
    redirector: Vec<String>,
    /// Most such connections to each other site or redirector at once, as `--limit`
    #[arg(long, value_name = "N[,RETURN]", requires = "limit")]
    overflow_limit: Option<String>,
    /// Take connections that another site passes on: the address of its service and that of its front node; once per site
    #[arg(long, value_name = "SERVICE=FRONT")]
    accept: Vec<String>,
    #[command(flatten)]
    reporting: Reporting,
    /// Names of the classes of requests (header x-sojourn-class), by class number, which the modes that splice read
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    classes: Vec<String>,
    /// Record every decision in this file (JSON lines)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Say in the record what each server had to offer
    #[arg(long, requires = "record")]
    explain: bool,
    /// Told to stop, leave the rules: open connections go on, and the next switch goes on with them
    #[arg(long)]
    keep: bool,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    child: bool,
}

/// Be a server's half
#[derive(clap::Args)]
struct Server {
    #[command(flatten)]
    forwarding: Forwarding,
    /// The front node's own address, for all modes but `mac`
    #[arg(long, value_name = "ADDRESS")]
    front: Option<Ipv4Addr>,
    /// File with the key that is shared with the front node, for mode `splice-asymmetric`; at least 16 bytes
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The address of another site's service, of which the front node takes what that site cannot (`--accept`); once per site
    #[arg(long, value_name = "ADDRESS")]
    also: Vec<Ipv4Addr>,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    child: bool,
}

/// What both halves agree on
#[derive(clap::Args)]
struct Forwarding {
    /// The address and port that clients connect to, e.g. 10.0.1.100:80
    #[arg(long, value_name = "ADDRESS:PORT")]
    service: SocketAddrV4,
    /// How packets reach a server: `mac` (unchanged, on one Ethernet), `rewrite` (with its address; it sets the service's
    /// back), both with replies that bypass the switch, `nat` (with its address; replies come back through the switch), or
    /// `tunnel` (unchanged, inside UDP to port 6080, to servers anywhere; replies bypass the switch). So that the path of a
    /// connection's first request can decide: `splice` (as `nat`) and `splice-asymmetric` (as `rewrite`)
    #[arg(long, default_value = "mac")]
    mode: Mode,
}

pub(crate) fn switch(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Front(arguments) => front(arguments),
        Verb::Server(arguments) => server(arguments),
        Verb::Ctl(arguments) => ctl::switch(arguments),
        Verb::Clean { rules: true } => Switch::clear().map(|()| Exit::Ok).map_err(failure),
        Verb::Clean { rules: false } => clean(),
    }
}

fn front(arguments: &Front) -> Result<Exit, Failure> {
    let Forwarding { service, mode } = arguments.forwarding;
    let server = |text: &str| Some(SocketAddr::new(text.parse().ok()?, service.port()));
    let right = ("the address is not an IP address", "a=10.0.1.11*2");
    let others = |flag: &'static str, kind: &'static str, all: &[String]| {
        let each = all.iter().enumerate().map(|(index, text)| other(flag, text, (kind, index), service.port()));
        each.collect::<Result<Vec<_>, _>>()
    };
    let backends = arguments.backends.iter().enumerate().map(|(index, text)| backend(text, index, right, server));
    let plain = SwitchConfig::new(service, arguments.policy.clone(), backends.collect::<Result<_, _>>()?);
    let mut config = SwitchConfig {
        mode,
        drained: arguments.drain.clone(),
        control: arguments.control.clone(),
        seed: arguments.seed,
        lifetimes: Lifetimes { open: time("--idle", &arguments.idle)?, ..plain.lifetimes },
        connections: arguments.connections,
        limit: arguments.limit.as_deref().map(|text| limit("--limit", text)).transpose()?,
        overflow: others("--overflow", "site", &arguments.overflow)?,
        redirectors: others("--redirector", "redirector", &arguments.redirector)?,
        overflow_limit: arguments.overflow_limit.as_deref().map(|text| limit("--overflow-limit", text)).transpose()?,
        accepts: arguments.accept.iter().map(|text| accepted(text)).collect::<Result<_, _>>()?,
        reports: arguments.reporting.taken()?,
        upstream: arguments.reporting.made()?,
        key: arguments.reporting.shared_key(mode == Mode::SpliceAsymmetric)?,
        record: arguments.record.clone(),
        explain: arguments.explain,
        keep: arguments.keep,
        ..plain
    };
    if !arguments.classes.is_empty() && !mode.is_spliced() {
        return Err(bad_input(format!("--classes: mode {mode} reads no request; the modes that splice do")));
    }
    name_classes(&arguments.classes, &mut config.classes)?;
    config.health.every = time("--probe", &arguments.probe)?;
    (config.health.fall, config.health.rise) = (arguments.fall, arguments.rise);
    if config.health.every.0 == 0 {
        return Err(bad_input("--probe: attempts are some time apart, e.g. `500 ms`"));
    }
    let input = arguments.child.then(std::io::stdin);
    child::switch(config, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}

fn clean() -> Result<Exit, Failure> {
    let found = switch::clean().map_err(failure)?;
    found.iter().for_each(|what| outln(&format!("taken away: {what}")));
    if found.is_empty() {
        outln("nothing of a switch is left on this host");
    }
    Ok(Exit::Ok)
}

/// Reads `NAME=ADDRESS`, or an address alone.
fn other(flag: &str, text: &str, (kind, index): (&str, usize), port: u16) -> Result<Backend, Failure> {
    let (name, place) =
        text.split_once('=').map_or((format!("{kind}-{}", index + 1), text), |(name, place)| (name.into(), place));
    let address = place.parse().map_err(|_| {
        bad_input(format!("{flag} {text}: the address of a {kind} is an IP address; write e.g. `c2=10.0.2.1`"))
    })?;
    Ok(Backend::new(name, SocketAddr::new(address, port)))
}

/// Reads `SERVICE=FRONT`.
fn accepted(text: &str) -> Result<Accepted, Failure> {
    let read = text.split_once('=').and_then(|(service, front)| Some((service.parse().ok()?, front.parse().ok()?)));
    let wrong = "two IPv4 addresses, of another site's service and of its front node; write e.g. `10.0.2.100=10.0.2.1`";
    let (service, front) = read.ok_or_else(|| bad_input(format!("--accept {text}: {wrong}")))?;
    Ok(Accepted { service, front })
}

fn server(arguments: &Server) -> Result<Exit, Failure> {
    let Forwarding { service, mode } = arguments.forwarding;
    let key = arguments.key.as_deref().map(Key::read).transpose().map_err(bad_input)?;
    let config = ServerHalfConfig { service, mode, front: arguments.front, key, also: arguments.also.clone() };
    let input = arguments.child.then(std::io::stdin);
    child::server_half(config, std::io::stdout(), input).map(|()| Exit::Ok).map_err(failure)
}
