//! `sojourn bed`: hosts and links of a wide-area network on this machine, without root, in which any program runs.

mod control;
mod enter;
mod first;
mod up;

pub(crate) use up::again_inside;

use std::ffi::OsString;
use std::path::Path;

use sojourn_bed::namespace::NamespaceError;
use sojourn_bed::{GroundError, Topology};
use sojourn_lab::Experiment;

use crate::exit::{Exit, Failure, bad_input, failed};

/// Emulate a wide-area network on this machine, without root: `sojourn bed up continents`
///
/// Hosts are network namespaces. What they send to one another passes emulated links, which delay, lose and limit it. They
/// reach nothing else. All of it ends with the process that brought it up.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Bring a bed up, and keep it until Ctrl-C or `sojourn bed down`
    Up(up::Up),
    /// Bring a bed up, run one command on one of its hosts, and take it down
    Run(up::Run),
    /// Run a command on a host of a bed that is up
    Exec(enter::Exec),
    /// Say which beds are up, their hosts, and what became of the packets of each link
    Status(control::Status),
    /// Cut the way between two hosts of a bed; what is under way there is lost
    Cut(control::Cut),
    /// Mend the way between two hosts of a bed
    Mend(control::Cut),
    /// Take a bed down
    Down(control::Down),
    /// List the topologies that have a name
    Presets,
    /// The first process of a bed
    #[command(hide = true)]
    First(first::First),
    /// The first process of a bed without hosts
    #[command(hide = true)]
    Base(first::Base),
    /// Become a command of a bed
    #[command(hide = true)]
    Within(enter::Within),
}

/// Which hosts and links.
#[derive(clap::Args)]
pub(crate) struct Wanted {
    /// An experiment file with regions and paths, or a preset (see `sojourn bed presets`)
    #[arg(value_name = "FILE|PRESET")]
    what: String,
    /// Change a value of the file, e.g. `--set system.paths.between.rtt="200 ms"`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of what is drawn (delays, losses) [default: the file's, or 1]
    #[arg(long)]
    seed: Option<u64>,
}

/// What runs on a host.
#[derive(clap::Args)]
pub(crate) struct Order {
    /// The host
    host: String,
    /// As the bed's root, who may change the host's network; else as an ordinary user
    #[arg(long)]
    root: bool,
    /// The command, after `--`
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn bed(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Up(arguments) => up::up(arguments),
        Verb::Run(arguments) => up::run(arguments),
        Verb::Exec(arguments) => enter::exec(arguments),
        Verb::Status(arguments) => control::status(arguments),
        Verb::Cut(arguments) => control::cut(arguments, true),
        Verb::Mend(arguments) => control::cut(arguments, false),
        Verb::Down(arguments) => control::down(arguments),
        Verb::Presets => {
            for (name, what) in Topology::PRESETS {
                crate::table::outln(&crate::table::hanging(&format!("{name:<11} "), "            ", what));
            }
            Ok(Exit::Ok)
        }
        Verb::First(arguments) => first::first(arguments),
        Verb::Base(arguments) => first::base(arguments),
        Verb::Within(arguments) => enter::within(arguments),
    }
}

impl Wanted {
    /// The hosts and links, and the seed.
    fn topology(&self) -> Result<(Topology, u64), Failure> {
        // A folder that happens to have the name of a preset is no experiment.
        if let (Some(topology), false) = (Topology::preset(&self.what), Path::new(&self.what).is_file()) {
            if let Some(set) = self.set.first() {
                return Err(bad_input(format!(
                    "--set {set}: `{}` is a preset, which has no file to change",
                    self.what
                )));
            }
            return Ok((topology, self.seed.unwrap_or(1)));
        }
        if !Path::new(&self.what).exists() {
            let known = Topology::PRESETS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(bad_input(format!("`{}` is neither a file nor a preset; the presets are {known}", self.what)));
        }
        let source = Experiment::read_with(Path::new(&self.what), &self.set).map_err(bad_input)?;
        let variants = source.variants().map_err(bad_input)?;
        let experiment = &variants.first().expect("an experiment has a variant").experiment;
        let asked = experiment.system().ok_or_else(|| {
            bad_input(format!("{}: a network of queues has no hosts; a bed needs [system.server]", self.what))
        })?;
        let seed = self.seed.unwrap_or(experiment.seed);
        let unmade = |why: String| bad_input(format!("{}: {why}", self.what));
        let topology = asked.topology(seed).map_err(unmade)?;
        topology.check().map_err(|error| unmade(error.to_string()))?;
        Ok((topology, seed))
    }

    /// As arguments of another process.
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec![OsString::from(&self.what)];
        for set in &self.set {
            arguments.extend(["--set".into(), set.into()]);
        }
        if let Some(seed) = self.seed {
            arguments.extend(["--seed".into(), seed.to_string().into()]);
        }
        arguments
    }
}

/// Why there is no bed: what the user can mend is bad input.
fn unfit(error: NamespaceError) -> Failure {
    match error {
        NamespaceError::Forbidden { .. } | NamespaceError::Tun { .. } => bad_input(error),
        other => failed(other),
    }
}

/// The same of a ground.
fn no_ground(error: GroundError) -> Failure {
    match error {
        GroundError::Namespace(error) => unfit(error),
        GroundError::Topology(error) => bad_input(error),
        other => failed(other),
    }
}
