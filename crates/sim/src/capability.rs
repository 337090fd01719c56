//! What goes with what: features of experiments, by face and by workload, that an engine does not have yet.
//!
//! The one place that says so. The simulator and live runs refuse by it before anything starts, in its words; the page of
//! limits shows it ([`markdown`]); a test walks it. A row that is not here is had by both engines. Theory has no rows: its
//! formulas are for one tier in one place, where nothing breaks, and name each assumption that does not hold.
//!
//! Rows are asked in their order, and the first that is in the system is told: those that are wider come first.

mod browsing;
mod clients;
mod deciders;
mod faults;
mod names;
mod nodes;
mod places;
mod switches;

use std::fmt::Write as _;

use sojourn_model::System;
use sojourn_model::system::{Face, Target, Tier};
use sojourn_stats::Span;
use sojourn_traffic::Workload;

pub use self::names::is_served as dns_is_served;
pub use self::places::are_by_machine;

/// A system under a workload, as an engine is asked for it.
#[derive(Clone, Copy)]
pub struct Combination<'a> {
    /// What answers.
    pub system: &'a System,
    /// What clients ask for.
    pub workload: &'a Workload,
    /// How it runs live; rows of the simulator do not read it.
    pub live: Live,
}

/// How a system runs live, beyond what it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    /// How long requests are sent.
    pub duration: Span,
    /// A real program serves, instead of nodes that emulate the model.
    pub is_program: bool,
    /// There is a model, so that there is a twin.
    pub is_modelled: bool,
    /// Its hosts are those of a bed, since something is said of its network.
    pub is_in_bed: bool,
    /// The kernel's TCP is taken, whatever is said of the simulator's.
    pub kernel_tcp: bool,
    /// Its deciders are products of others that have limits of their own.
    pub has_own_limits: bool,
    /// Each request has a connection of its own.
    pub one_request_per_connection: bool,
}

/// An engine that refuses by the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The simulator.
    Sim,
    /// Real sockets.
    Live,
}

/// Which workloads a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// All.
    Any,
    /// Requests by themselves: open and closed workloads, logs, traces.
    Request,
    /// Users who browse in sessions.
    Browse,
}

/// What an engine has of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has {
    /// It.
    Yes,
    /// Nothing.
    No,
    /// Nothing, but this can be written instead.
    Instead(&'static str),
}

/// A feature that not all engines have.
pub struct Row {
    /// The face of the deciders that it is about; none: it is about no single face.
    pub face: Option<Face>,
    /// The workloads that it is about.
    pub users: Users,
    /// Its name, as it stands behind "there is no".
    pub what: &'static str,
    /// What the simulator has of it.
    pub sim: Has,
    /// What live runs have of it.
    pub live: Has,
    /// Whether it is in a system.
    is_in: fn(&Combination<'_>) -> bool,
}

/// A row, from left to right.
const fn row(
    face: Option<Face>,
    users: Users,
    what: &'static str,
    sim: Has,
    live: Has,
    is_in: fn(&Combination<'_>) -> bool,
) -> Row {
    Row { face, users, what, sim, live, is_in }
}

/// All rows, in the order in which they are asked.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let groups: [&[Row]; 8] = [
        clients::ROWS,
        switches::ROWS,
        browsing::ROWS,
        places::ROWS,
        faults::ROWS,
        nodes::ROWS,
        deciders::ROWS,
        names::ROWS,
    ];
    groups.into_iter().flatten()
}

/// Refuses the first feature that `engine` does not have.
///
/// # Errors
/// What it is and what can be written instead, in words that follow "there is no".
pub fn check(combination: &Combination<'_>, engine: Engine) -> Result<(), String> {
    let missing = rows().find(|row| row.of(engine) != Has::Yes && row.is_in(combination));
    missing.map_or(Ok(()), |row| Err(row.refusal(engine)))
}

impl Row {
    /// What an engine has of it.
    pub fn of(&self, engine: Engine) -> Has {
        match engine {
            Engine::Sim => self.sim,
            Engine::Live => self.live,
        }
    }

    /// Whether it is in a system under a workload.
    pub fn is_in(&self, combination: &Combination<'_>) -> bool {
        let browses = matches!(combination.workload, Workload::Sessions(_));
        let fits = match self.users {
            Users::Any => true,
            Users::Request => !browses,
            Users::Browse => browses,
        };
        fits && (self.is_in)(combination)
    }

    /// Its name, and what can be written instead of it for `engine`.
    pub fn refusal(&self, engine: Engine) -> String {
        match self.of(engine) {
            Has::Instead(advice) => format!("{}: {advice}", self.what),
            Has::Yes | Has::No => self.what.into(),
        }
    }
}

/// The rows as a table of Markdown.
pub fn markdown() -> String {
    let mut text = "| face | workload | what | sim | live |\n|---|---|---|---|---|\n".to_owned();
    for row in rows() {
        let face = row.face.map_or("any", Face::name);
        let users = match row.users {
            Users::Any => "any",
            Users::Request => "requests",
            Users::Browse => "users who browse",
        };
        let [sim, live] = [row.sim, row.live].map(|has| match has {
            Has::Yes => "yes".to_owned(),
            Has::No => "no".to_owned(),
            Has::Instead(advice) => format!("no: {advice}"),
        });
        writeln!(text, "| {face} | {users} | {} | {sim} | {live} |", row.what).expect("a text takes all");
    }
    text
}

impl<'a> Combination<'a> {
    /// As the simulator is asked for it.
    pub fn of_sim(system: &'a System, workload: &'a Workload) -> Combination<'a> {
        Combination { system, workload, live: Live::default() }
    }

    /// The tiers of a face.
    fn tiers(&self, face: Face) -> impl Iterator<Item = &'a Tier> + use<'a> {
        self.system.tiers.iter().filter(move |tier| tier.face == face)
    }

    /// Whether a tier is in it.
    fn any_tier(&self, is_so: impl Fn(&Tier) -> bool) -> bool {
        self.system.tiers.iter().any(is_so)
    }
}

/// What the deciders of a tier choose from.
fn targets(tier: &Tier) -> impl Iterator<Item = Target> {
    tier.seats.iter().flat_map(|seat| seat.targets.iter().copied())
}

/// Whether a tier is one of deciders on servers.
fn is_on_servers(tier: &Tier) -> bool {
    tier.seats.iter().any(|seat| seat.host.is_some())
}
