//! Faults of a live run: what the file plans is done at the planned instants, and what really happened when is kept.
//!
//! | what | what is done |
//! |---|---|
//! | `down`, `restarted` | the process is killed, and a packet switch's rules with it; at the end another one listens there |
//! | `drained` | the process is told to stop, and ends what it has; at the end another one listens there; a switch goes on |
//! | `frozen` | SIGSTOP, and at the end SIGCONT; a node stops its emulated server first, which goes on where it was |
//! | `slow`, `errors` | the node is told so |
//! | `cut`, `loss` | the links of the bed are told so |
//! | `burst` | nothing: the plan has the requests |
//!
//! An instant is that at which the thing was done: another process listens only when it is ready. The twin gets these
//! instants. What a planned fault causes, failed requests for one, is outcome and no reason to doubt the run. The price: a
//! load with faults begins at an instant that is known before, some seconds ahead.

mod happened;
mod reach;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use serde_json::json;
use sojourn_bed::{Ground, Host, Links, clock};
use sojourn_load::{Limits, Report};
use sojourn_model::system::Trouble;
use sojourn_model::{LossLaw, System};
use sojourn_stats::{Span, Time};

use self::happened::{Happened, Notes};
use super::bed;
use super::breaking::concerns;
use super::part::Part;
use super::parts::Parts;
use super::servers::Serving;
use crate::spec::{Spec, SystemQuestion};

/// Refuses faults after the end of the run, and what the twin does not have.
pub(super) fn check(asked: &SystemQuestion, duration: Span) -> Result<(), String> {
    let system = &asked.system;
    if let Some(late) = system.faults.iter().find(|fault| fault.at >= Time::ZERO + duration) {
        let at = Span(late.at.0);
        return Err(format!(
            "a fault begins at {at}, after the live run of {duration} has ended: make `live.duration` longer, or begin earlier"
        ));
    }
    if let Some(long) = system.faults.iter().find(|fault| fault.until.is_some_and(|end| end > Time::ZERO + duration)) {
        let (until, from) = (Span(long.until.unwrap_or_default().0), Span(long.at.0));
        return Err(format!(
            "a fault from {from} to {until} goes on after the live run of {duration} has ended: make `live.duration` longer, \
             end it earlier, or leave `until` out"
        ));
    }
    match asked.is_modelled && (!system.faults.is_empty() || attempts(system)) {
        true => sojourn_sim::check(system, &asked.workload).map_err(|e| format!("the twin of a live run: {e}")),
        false => Ok(()),
    }
}

/// Whether clients wait only so long, or ask more than once.
pub(super) fn attempts(system: &System) -> bool {
    let rules = &system.rules;
    rules.timeout.is_some() || rules.deadline.is_some() || rules.retries.is_some() || rules.hedge.is_some()
}

/// The limits of a run: requests that fail by a planned fault or a set time-out are no reason for doubt.
pub(super) fn limits(asked: &SystemQuestion, limits: Limits) -> Limits {
    let rules = &asked.system.rules;
    let expects_errors = !asked.system.faults.is_empty() || rules.timeout.is_some() || rules.deadline.is_some();
    match expects_errors && limits.errors == Limits::default().errors {
        true => Limits { errors: 1.0, ..limits },
        false => limits,
    }
}

/// Lets `load` run, which is told when to start (ns since 1970), and meanwhile does what the file plans.
pub(super) fn run(
    experiment: &Spec,
    asked: &SystemQuestion,
    parts: &mut Parts,
    ground: &dyn Ground,
    load: impl FnOnce(Option<u64>) -> Result<Report, String>,
) -> Result<(Report, Happened), String> {
    let system = &asked.system;
    if system.faults.is_empty() {
        return Ok((load(None)?, Happened::default()));
    }
    let start_at_ns = bed::start_at_ns();
    let start = clock::since_boot_at(start_at_ns);
    let (running, ended) = channel();
    let breaker = Breaker { system, seed: experiment.seed, parts, ground, start };
    std::thread::scope(|scope| {
        let breaker = scope.spawn(move || breaker.play(&ended));
        let report = load(Some(start_at_ns));
        drop(running);
        let happened = breaker.join().expect("what breaks parts does not break itself");
        Ok((report?, happened?))
    })
}

/// Does what is planned.
struct Breaker<'a> {
    system: &'a System,
    seed: u64,
    parts: &'a mut Parts,
    ground: &'a dyn Ground,
    start: Time,
}

impl Breaker<'_> {
    fn play(mut self, ended: &Receiver<()>) -> Result<Happened, String> {
        let mut notes = Notes::new(self.system, self.seed);
        for (planned, begins, number) in reach::changes(&self.system.faults) {
            if self.has_ended_before(planned, ended) {
                break;
            }
            let at = self.change(number, begins)?;
            notes.note(number, begins, planned, at);
        }
        // What is frozen could not be told to stop.
        let _ = ended.recv();
        for number in notes.lasting() {
            if self.system.faults[number].trouble == Trouble::Frozen {
                self.change(number, false)?;
            }
        }
        Ok(notes.end())
    }

    /// Waits for an instant of the run; whether the run ends first.
    fn has_ended_before(&self, instant: Time, ended: &Receiver<()>) -> bool {
        let due = Time(self.start.0 + instant.0);
        loop {
            let wait = due.saturating_since(clock::since_boot());
            if wait == Span::ZERO {
                return false;
            }
            if ended.recv_timeout(wait.as_std()) == Err(RecvTimeoutError::Disconnected) {
                return true;
            }
        }
    }

    /// Lets a fault begin, or be over; when that was so, from the start of the run on.
    fn change(&mut self, number: usize, begins: bool) -> Result<Time, String> {
        let fault = self.system.faults[number];
        let (which, ground) = ((number, begins), self.ground);
        match fault.trouble {
            // The plan has the requests.
            Trouble::Burst(_) => {}
            Trouble::Cut => self.each_way(number, |links, one, other| links.cut(one, other, begins)),
            Trouble::Loss(share) => {
                let law = if begins { reach::loss_each_way(share) } else { LossLaw::default() };
                self.each_way(number, |links, one, other| links.lose(one, other, law));
            }
            Trouble::Down | Trouble::Restarted if !begins => self.each_part(which, |part| part.revive(ground))?,
            Trouble::Restarted if reach::is_momentary(&fault) => self.each_part(which, |part| {
                part.kill(ground)?;
                part.revive(ground)
            })?,
            Trouble::Down | Trouble::Restarted => self.each_part(which, |part| part.kill(ground))?,
            Trouble::Drained => {
                self.each_part(which, |part| if begins { part.drain() } else { part.undrain(ground) })?
            }
            Trouble::Frozen => self.each_part(which, |part| {
                if begins {
                    return part.freeze();
                }
                part.thaw();
                Ok(())
            })?,
            Trouble::Slow(speed) => {
                let told = json!({"speed": if begins { speed } else { 1.0 }});
                self.each_part(which, |part| part.say(&told))?;
            }
            Trouble::Errors(share) => {
                let told = json!({"errors": if begins { share } else { 0.0 }});
                self.each_part(which, |part| part.say(&told))?;
            }
        }
        Ok(Time(clock::since_boot().saturating_since(self.start).0))
    }

    /// The servers and deciders that a fault is of: as it begins the deciders come first and as it ends the servers, so that none
    /// tells others of what happens to a server only because it is the next to be hit.
    fn each_part(
        &mut self,
        (number, begins): (usize, bool),
        mut change: impl FnMut(&mut Part) -> Result<(), String>,
    ) -> Result<(), String> {
        let (system, fault) = (self.system, &self.system.faults[number]);
        let hosts = fault.hosts(number, system, self.seed);
        let deciders = self.parts.deciders.iter_mut().filter(|(seat, _)| concerns(fault, system, *seat));
        let servers = self.parts.servers.iter_mut().enumerate().filter(|(host, _)| hosts.contains(host));
        let nodes = servers.filter_map(|(_, server)| match server {
            Serving::Node(part) => Some(&mut **part),
            Serving::Program(_) => None,
        });
        let mut parts: Vec<&mut Part> = deciders.map(|(_, part)| part).chain(nodes).collect();
        if !begins {
            parts.reverse();
        }
        parts.into_iter().try_for_each(&mut change)
    }

    /// The pairs of hosts whose packets meet a fault of links.
    fn each_way(&self, number: usize, change: impl Fn(&dyn Links, Host, Host)) {
        let links = self.ground.links().expect("it was checked that there are paths, and so a bed");
        let fault = &self.system.faults[number];
        let servers = fault.hosts(number, self.system, self.seed);
        for (one, other) in reach::ways(self.system, fault, &servers) {
            change(links, Host(one as u32), Host(other as u32));
        }
    }
}
