//! Replications without an event list: one tier over servers in one place.
//!
//! Where requests of an open plan come to servers with room for all, over links without delay and through one plain policy
//! ([`sojourn_dispatch::Plain`]), little is left of an event list: the next departure of each server, and the next arrival. At a
//! server of one core that serves first come first served even the instant at which a request leaves is known when it comes.
//! Here such a replication is played with the very draws, choices and counts that `engine` would have made: the same integers in
//! the same tally at every look of a study, so that all that is built on them stays as it is (`wide/same.rs` plays 200 random
//! experiments both ways, replication by replication).
//!
//! | servers | policy | how |
//! |---|---|---|
//! | one core, first come first served | none, or one that counts nothing in flight | in order of arrival, Lindley (`blind`) |
//! | the same | one that counts requests in flight | event by event (`counting`), without list, slab or dispatcher |
//! | all others | any of these | likewise, with a [`Station`] for each server |
//!
//! Replications draw their requests side by side (`source`), by vector instructions where the laws have a lane form; else, and
//! where there are few of them, each alone. What is played from then on goes through one replication after another: its loops
//! wait for memory and for one another's results, not for arithmetic.
//!
//! What is asked of a system beyond that is the event loop's: [`needs_events`] says why. The price is a second way to the same
//! numbers; the gain is what a sweep of hundreds of points takes.

mod blind;
mod books;
mod counting;
#[cfg(test)]
mod same;
mod source;

use sojourn_dispatch::Chooser;
use sojourn_model::system::{Rules, Tier};
use sojourn_model::{Discipline, Server, Station, System};
use sojourn_stats::lanes::LANES;
use sojourn_stats::{Batches, Histogram, Span};
use sojourn_traffic::{Open, Workload};

use self::blind::Blind;
use self::books::Books;
use self::counting::{Counting, InTurn};
use self::source::{Scratch, Source};
use crate::balancer::{Balancer, dispatcher_name};
use crate::control::{Control, SimError};
use crate::course::{Course, Milestone, Phases};
use crate::fabric::is_direct;
use crate::requests::{self, tally::Tally};
use crate::study::Replication;
use crate::summary::{Counts, Row};

/// One replication.
pub(crate) struct Wide {
    source: Source,
    books: Books,
    play: Play,
    /// Of each server.
    cores: Vec<u32>,
}

/// Why it stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// As many requests have ended as should.
    Ended,
    /// Nothing is left to happen.
    Over,
    /// The next block of requests has to be drawn.
    Dry,
}

/// How it is played.
enum Play {
    Blind(Blind),
    InTurn(Counting<InTurn>),
    Stations(Counting<Station>),
}

macro_rules! each {
    ($play:expr, $one:ident => $do:expr) => {
        match $play {
            Play::Blind($one) => $do,
            Play::InTurn($one) => $do,
            Play::Stations($one) => $do,
        }
    };
}

/// Why the event loop plays the replications of `workload` at `system`; none where they need no event list, and are played
/// several times as fast with the same numbers.
pub fn needs_events(system: &System, workload: &Workload, control: &Control) -> Option<String> {
    let why = |what: &str| Some(what.to_string());
    let Workload::Open(Open { arrivals, patience, .. }) = workload else {
        return why("the workload is not open");
    };
    if control.events {
        return why("it was asked for");
    }
    if control.always_routed || !is_direct(system) || system.network != Default::default() {
        return why(routed(system));
    }
    if arrivals.law().is_none() {
        return why("the gaps between requests are not independent draws of one law");
    }
    if patience.is_some() {
        return why("clients give up");
    }
    if workload.classes().len() > 1 {
        return why("there are several classes of requests");
    }
    if control.predict.is_some() || control.over_time.is_some() {
        return why("response times are predicted, or requests counted over time");
    }
    if system.servers().any(|server| server.capacity.is_some()) {
        return why("a server has limited room");
    }
    system.tier().and_then(|tier| needs_dispatcher(system, tier, control))
}

/// Why requests at `system` take the event loop that routes them.
fn routed(system: &System) -> &'static str {
    if !system.faults.is_empty() {
        "something breaks"
    } else if system.rules != Rules::default() {
        "clients wait only so long, ask again, or ask others"
    } else if system.tiers.len() > 1 {
        "there is more than one tier"
    } else if !system.is_plain() {
        "the system is more than one tier over servers in one place that hold whatever comes"
    } else {
        "requests travel over links, or pass every step of the routed loop"
    }
}

/// Whether a server serves one request after another, in the order in which they come.
fn serves_in_turn(server: &Server) -> bool {
    server.discipline == Discipline::Fcfs && server.cores == 1
}

/// Why the requests of a tier pass its dispatchers one by one; none where they need not.
fn needs_dispatcher(system: &System, tier: &Tier, control: &Control) -> Option<String> {
    if tier.dispatchers != 1 || tier.polled.is_some() {
        return Some("several dispatchers choose, or do not know at once what happens".into());
    }
    let is_plain = control.catalogue.build(&tier.policy).is_ok_and(|policy| policy.plain().is_some());
    if !is_plain {
        return Some(format!("`{}` reads more than who is up and how many requests are in flight", tier.policy));
    }
    let makes_sense = Balancer::first(tier, system.hosts.len(), false, &control.catalogue, control.seed).is_ok();
    let chooses = makes_sense && chooser(system, control, control.seed).is_some();
    (!chooses).then(|| "the policy has nothing to choose from".into())
}

/// Who chooses a request's server, in the replication of this seed; none where no one can.
fn chooser(system: &System, control: &Control, seed: u64) -> Option<Chooser> {
    let tier = system.tier()?;
    let weights: Vec<f64> =
        (0..system.hosts.len()).map(|server| tier.weights.get(server).copied().unwrap_or(1.0)).collect();
    Chooser::new(control.catalogue.build(&tier.policy).ok()?, &weights, seed, &dispatcher_name(0))
}

impl Wide {
    /// The replication of this seed, which `course` plays; of what does not stand aside.
    pub(crate) fn new(
        system: &System,
        workload: &Workload,
        control: &Control,
        seed: u64,
        course: &Course,
    ) -> Result<Wide, SimError> {
        let servers = system.hosts.len();
        let mut source = Source::new(system, workload, seed)?;
        let phases = Phases::new(course, servers);
        source.begin(&phases);
        let mut tally = Tally::new(servers, course.finite, false);
        tally.may_fail = (false, false);
        let chooser = chooser(system, control, seed);
        let speeds: Vec<f64> = system.servers().map(|server| server.speed).collect();
        let play = if !system.servers().all(serves_in_turn) {
            let station = |server: &Server| Station::new(server.discipline.clone(), server.cores, None);
            Play::Stations(Counting::new(system.servers().map(station).collect(), speeds, chooser))
        } else if chooser.as_ref().is_some_and(|chooser| !chooser.is_blind()) {
            Play::InTurn(Counting::new(vec![InTurn::default(); servers], speeds, chooser))
        } else {
            Play::Blind(Blind::new(speeds, chooser))
        };
        let cores = system.servers().map(|server| server.cores).collect();
        Ok(Wide { source, books: Books::new(phases, tally, course.most_inside), play, cores })
    }

    /// Requests that have come so far, warm-up included.
    pub(crate) fn arrived(&self) -> u64 {
        match &self.play {
            Play::Blind(blind) => blind.arrived(&self.books),
            Play::InTurn(counting) => counting.arrived(),
            Play::Stations(counting) => counting.arrived(),
        }
    }

    /// Plays until `ended` requests have ended, or why it stops before.
    fn play_until(&mut self, ended: u64) -> Stop {
        let Wide { source, books, play, .. } = self;
        each!(play, one => one.run_until(ended, source, books))
    }

    /// What follows a stop; whether nothing is left to happen.
    fn pause(&mut self, stop: Stop) -> bool {
        let over = stop == Stop::Over;
        if over {
            self.finish();
        }
        self.settle_books();
        over
    }

    /// What has been counted since measuring began.
    pub(crate) fn counts(&self) -> Counts {
        let Books { tally, phases, now, .. } = &self.books;
        let (busy, sent) = match &self.play {
            Play::Blind(blind) => (blind.busy(*now, &self.books), Some(blind.sent(&self.books))),
            Play::InTurn(counting) => (counting.busy(*now), None),
            Play::Stations(counting) => (counting.busy(*now), None),
        };
        let counts = requests::counts(tally, phases, *now, busy, |server| self.cores[server]);
        Counts { sent: sent.unwrap_or(counts.sent), ..counts }
    }
}

impl Replication for Wide {
    fn phases(&self) -> &Phases {
        &self.books.phases
    }

    fn ended(&self) -> u64 {
        self.books.ended
    }

    fn counted(&self) -> u64 {
        self.books.tally.ended()
    }

    fn overflowed(&self) -> Option<usize> {
        self.books.overflowed.map(|inside| inside as usize)
    }

    fn step(&mut self) -> bool {
        let ended = self.books.ended;
        !self.run_until(ended + 1)
    }

    fn finish(&mut self) {
        if let Some(milestone) = self.books.phases.finished() {
            each!(&mut self.play, one => one.pass(milestone, &mut self.books));
        }
    }

    fn settle_books(&self) {
        each!(&self.play, one => one.settle_books(&self.books));
    }

    const SIDE_BY_SIDE: usize = LANES;

    fn run_until(&mut self, ended: u64) -> bool {
        loop {
            match self.play_until(ended) {
                Stop::Dry => self.source.draw(),
                stop => return self.pause(stop),
            }
        }
    }

    fn run_together(group: &mut [Wide], until: &[Option<u64>]) -> Vec<bool> {
        let mut scratch = Scratch::new();
        let mut over = vec![false; group.len()];
        let mut left: Vec<usize> = (0..group.len()).filter(|number| until[*number].is_some()).collect();
        while !left.is_empty() {
            left.retain(|number| match group[*number].play_until(until[*number].unwrap_or(0)) {
                Stop::Dry => true,
                stop => {
                    over[*number] = group[*number].pause(stop);
                    false
                }
            });
            let dry = group.iter_mut().enumerate().filter(|(number, _)| left.contains(number));
            let mut dry: Vec<&mut Source> = dry.map(|(_, one)| &mut one.source).collect();
            Source::draw_together(&mut dry, &mut scratch);
        }
        over
    }

    fn responses(replications: &[&Wide]) -> Histogram {
        requests::responses(&replications.iter().map(|one| &one.books.tally).collect::<Vec<_>>())
    }

    fn rows(replications: &[&Wide]) -> Vec<Row> {
        let tallies: Vec<&Tally> = replications.iter().map(|one| &one.books.tally).collect();
        requests::rows(&tallies, &replications.iter().map(|one| one.counts()).collect::<Vec<_>>())
    }

    fn begin_anew(&mut self) {
        if !self.books.phases.is_warming_up() {
            let milestone = Milestone::Begin(self.books.now);
            each!(&mut self.play, one => one.pass(milestone, &mut self.books));
        }
    }

    fn remembered(&self) -> Option<&Batches> {
        Some(&self.books.tally.remembered)
    }
}

/// Core time of `work` on a server of this speed.
#[inline]
fn service(work: u64, speed: f64) -> u64 {
    if speed == 1.0 { work } else { Span::from_secs_f64(Span(work).as_secs_f64() / speed).0 }
}
