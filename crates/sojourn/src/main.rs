//! The command line: glue between a person and the laboratory. Each verb is one file.
//!
//! Exit codes: 0 ok, 1 an objective was missed, a run is SUSPECT or a replay differs, 2 bad input, 3 failed while running, 130
//! interrupted.

use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use sojourn_part::settings::Given;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_part::settings::node::NodeSettings;

mod agent;
mod ask;
mod bed;
mod calibrate;
mod child;
mod compare;
mod conform;
mod ctl;
mod dns;
mod doctor;
mod exit;
mod experiment;
mod gateway;
mod import;
mod interrupt;
mod listen;
mod load;
mod loadd;
mod node;
mod plan;
mod plot;
mod policies;
mod queue;
mod replay;
mod report;
mod run;
mod settings;
mod sweep;
mod switch;
mod table;
mod traffic;
mod value;

use exit::Exit;

/// A web server system and the laboratory that designs it: one experiment, three answers (theory, sim, live).
#[derive(Parser)]
#[command(name = "sojourn", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Answer an experiment: what should happen, what would happen, what did happen
    Run(run::Arguments),
    /// Ask every combination of [vary] by itself, and keep what is finished
    Sweep(sweep::Arguments),
    /// Find the cheapest system that meets the objectives
    Plan(plan::Arguments),
    /// Write the report of a run folder anew, or of several runs beside each other
    Report(report::Arguments),
    /// Make recorded choices of a gateway, switch or DNS again, and say whether they are the same
    Replay(replay::Arguments),
    /// Put load on a web server and measure it
    Load(Box<load::Arguments>),
    /// Compare two servers by measurement, or two run folders
    Compare(Box<compare::Arguments>),
    /// Measure a real server into a server model, which theory, sim and the emulated node read
    Calibrate(Box<calibrate::Arguments>),
    /// Put load on servers for a coordinator: `sojourn load --agents HOST:PORT,...`
    Agent(agent::Arguments),
    /// List the policies and what each must be told; the rules of HAProxy, nginx and Envoy too
    Policies(policies::Arguments),
    /// Compare the choices of HAProxy, nginx or Envoy on this machine with its rule, one by one
    Conform(conform::Arguments),
    /// Answer a single queue in Kendall's notation, e.g. 'M/G/1-PS'
    Queue(queue::Arguments),
    /// Make an experiment of the configuration of HAProxy, nginx or Envoy
    Import(Box<import::Arguments>),
    /// Make or understand input
    Traffic(traffic::Arguments),
    /// Serve: a site, or /bytes/N and /work whose service is emulated or real
    ///
    /// docs/node.md says what a file may have, more than there are flags: `sojourn node --config node.toml`. SIGHUP makes the
    /// node read it anew, SIGUSR1 makes it open its log anew.
    #[command(mut_arg("config", |config| config.visible_alias("cluster")))]
    Node(Box<Given<NodeSettings>>),
    /// Forward HTTP requests to backends by a policy
    ///
    /// docs/live.md says what a file may have: `sojourn gateway --config gateway.toml`.
    Gateway(Box<Given<GatewaySettings>>),
    /// Answer HTTP requests with the address of a backend, chosen by a policy
    ///
    /// docs/live.md says what a file may have: `sojourn redirect --config redirect.toml`.
    Redirect(Box<Given<RedirectorSettings>>),
    /// Forward the packets of each connection to a server, chosen by a policy; replies bypass the switch
    Switch(switch::Arguments),
    /// Answer for zones of the DNS, with addresses that a policy chooses by load and distance
    Dns(dns::Arguments),
    /// Tell those in front of a server how it fares
    Loadd(loadd::Arguments),
    /// Ask a gateway, redirector, switch or DNS that runs, and drain its servers or sites
    Ctl(ctl::Arguments),
    /// Print what load daemons and front nodes report, and order front nodes to probe clients
    Listen(listen::Arguments),
    /// Emulate a wide-area network on this machine, without root: `sojourn bed up continents`
    Bed(bed::Arguments),
    /// Say what this machine can and cannot do
    Doctor(doctor::Arguments),
    /// Print the completions of a shell, e.g. `sojourn completions bash > /etc/bash_completion.d/sojourn`
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// `--jobs -5` is a wrong number, which the option itself names, and no option `-5`.
fn with_negative_numbers(command: Command) -> Command {
    let is_valued = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    let command = command.mut_args(|arg| if is_valued(&arg) { arg.allow_negative_numbers(true) } else { arg });
    command.mut_subcommands(with_negative_numbers)
}

/// Longer lines of help are hard to read.
const HELP_WIDTH_MAX: usize = 100;

fn main() -> ExitCode {
    interrupt::survive_full_files();
    let help_width = table::width().min(HELP_WIDTH_MAX);
    let command = with_negative_numbers(Arguments::command().term_width(help_width));
    let arguments = command.clone().try_get_matches();
    let arguments = arguments.unwrap_or_else(|error| value::plain(error, &command).exit());
    let arguments = Arguments::from_arg_matches(&arguments).unwrap_or_else(|error| error.exit());
    let result = match arguments.verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Sweep(arguments) => sweep::sweep(&arguments),
        Verb::Plan(arguments) => plan::plan(&arguments),
        Verb::Report(arguments) => report::report(&arguments),
        Verb::Replay(arguments) => replay::replay(&arguments),
        Verb::Load(arguments) => load::load(&arguments),
        Verb::Compare(arguments) => compare::compare(&arguments),
        Verb::Calibrate(arguments) => calibrate::calibrate(&arguments),
        Verb::Agent(arguments) => agent::agent(&arguments),
        Verb::Policies(arguments) => policies::policies(&arguments),
        Verb::Conform(arguments) => conform::conform(&arguments),
        Verb::Queue(arguments) => queue::queue(&arguments),
        Verb::Import(arguments) => import::import(&arguments),
        Verb::Traffic(arguments) => traffic::traffic(&arguments),
        Verb::Node(arguments) => node::node(&arguments),
        Verb::Gateway(arguments) => gateway::serve(&arguments),
        Verb::Redirect(arguments) => gateway::serve(&arguments),
        Verb::Switch(arguments) => switch::switch(&arguments),
        Verb::Dns(arguments) => dns::dns(&arguments),
        Verb::Loadd(arguments) => loadd::loadd(&arguments),
        Verb::Ctl(arguments) => ctl::ctl(&arguments),
        Verb::Listen(arguments) => listen::listen(&arguments),
        Verb::Bed(arguments) => bed::bed(&arguments),
        Verb::Doctor(arguments) => doctor::doctor(&arguments),
        Verb::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "sojourn", &mut std::io::stdout());
            Ok(Exit::Ok)
        }
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            table::errln(&format!("sojourn: {}", failure.message));
            failure.exit.into()
        }
    }
}
