//! What happened in a live run of what was planned: as events for the run folder, and as faults for the twin.
//!
//! An instant of a fault is that at which the thing was done. What has not come to its end when the run ends has none.

use serde_json::{Value, json};
use sojourn_model::System;
use sojourn_model::system::{Fault, Subject};
use sojourn_stats::Time;

use super::reach::is_momentary;

/// What happened.
#[derive(Default)]
pub(in crate::engine::live) struct Happened {
    /// The faults, from the start of the run on.
    pub(in crate::engine::live) faults: Vec<Fault>,
    /// As lines of the run folder's events.
    pub(in crate::engine::live) events: Vec<Value>,
}

/// What is written down while the run goes on.
pub(super) struct Notes<'a> {
    system: &'a System,
    seed: u64,
    /// When each fault began that is not over.
    begun: Vec<Option<Time>>,
    happened: Happened,
}

impl<'a> Notes<'a> {
    pub(super) fn new(system: &'a System, seed: u64) -> Notes<'a> {
        Notes { system, seed, begun: vec![None; system.faults.len()], happened: Happened::default() }
    }

    /// At `at` a fault began or was over, as `planned` for another instant.
    pub(super) fn note(&mut self, number: usize, begins: bool, planned: Time, at: Time) {
        let fault = &self.system.faults[number];
        self.happened.events.push(json!({
            "event": "fault", "number": number + 1, "what": fault.trouble.name(),
            "is": if begins { "begun" } else { "over" },
            "planned_s": planned.as_secs_f64(), "at_s": at.as_secs_f64(),
        }));
        let from = *self.begun[number].get_or_insert(at);
        if !begins || is_momentary(fault) {
            self.begun[number] = None;
            self.add(number, from, Some(at));
        }
    }

    /// The faults that are not over.
    pub(super) fn lasting(&self) -> Vec<usize> {
        (0..self.begun.len()).filter(|number| self.begun[*number].is_some()).collect()
    }

    /// All that happened, once the run has ended.
    pub(super) fn end(mut self) -> Happened {
        for number in self.lasting() {
            let from = self.begun[number].expect("it lasts");
            self.add(number, from, None);
        }
        self.happened.faults.sort_by_key(|fault| fault.at);
        self.happened
    }

    /// Adds a fault with its own instants; which servers a share had is written out, since another number draws others.
    fn add(&mut self, number: usize, at: Time, until: Option<Time>) {
        let fault = Fault { at, until, ..self.system.faults[number] };
        match fault.subject {
            Subject::Share(_) | Subject::OneOf(..) => {
                let hosts = fault.hosts(number, self.system, self.seed).into_iter();
                self.happened.faults.extend(hosts.map(|host| Fault { subject: Subject::Host(host), ..fault }));
            }
            _ => self.happened.faults.push(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use sojourn_model::Server;
    use sojourn_model::system::{Face, Tier, Trouble};

    use super::*;

    const SEED: u64 = 5;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Eight servers with these faults.
    fn system(faults: Vec<Fault>) -> System {
        let server = Server::from_toml("discipline = \"ps\"\ndemand = \"1 ms\"").unwrap();
        System { faults, ..System::balanced(Tier::new(Face::Gateway, "random"), vec![server; 8]) }
    }

    fn fault(at_ms: u64, until: Option<u64>, subject: Subject, trouble: Trouble) -> Fault {
        Fault { at: at(at_ms), until: until.map(at), subject, trouble }
    }

    #[test]
    fn faults_have_the_instants_at_which_they_were_done() {
        let down = |at, until| fault(at, until, Subject::Host(0), Trouble::Down);
        let system = system(vec![down(50, Some(60)), down(10, Some(20)), down(90, None), down(95, Some(99))]);
        let mut notes = Notes::new(&system, SEED);
        let done = [(1, true, 10, 12), (1, false, 20, 47), (0, true, 50, 51), (0, false, 60, 61), (2, true, 90, 93)];
        for (number, begins, planned, done) in done {
            notes.note(number, begins, at(planned), at(done));
        }
        assert_eq!(notes.lasting(), [2]);
        let happened = notes.end();
        assert_eq!(happened.faults, [down(12, Some(47)), down(51, Some(61)), down(93, None)], "and one never began");
        assert_eq!(
            happened.events[1],
            json!({"event": "fault", "number": 2, "what": "down", "is": "over", "planned_s": 0.02, "at_s": 0.047})
        );
    }

    /// The twin has them one after another too, whatever their numbers are there.
    #[test]
    fn one_of_a_share_is_written_out() {
        let turn = |place: usize| {
            let from = 10 * place as u64;
            fault(from, Some(from + 10), Subject::OneOf(0.5, place), Trouble::Drained)
        };
        let first = fault(1, Some(2), Subject::Host(7), Trouble::Down);
        let system = system([vec![first], (0..4).map(turn).collect()].concat());
        let mut notes = Notes::new(&system, SEED);
        let (mut begins, mut due) = (Vec::new(), system.faults[1].hosts(1, &system, SEED));
        for number in 1..=4 {
            notes.note(number, true, at(0), at(10 * number as u64));
            notes.note(number, false, at(0), at(10 * number as u64 + 9));
        }
        for number in 2..=4 {
            due.extend(system.faults[number].hosts(number, &system, SEED));
        }
        for fault in notes.end().faults {
            let Subject::Host(host) = fault.subject else { panic!("{fault:?}") };
            begins.push(host);
        }
        assert_eq!(begins, due);
        assert!(due.len() == 4 && due.is_sorted_by(|one, next| one < next), "each of half of eight once: {due:?}");
    }

    #[test]
    fn a_restart_is_over_when_it_is_done() {
        let system = system(vec![fault(10, None, Subject::Host(0), Trouble::Restarted)]);
        let mut notes = Notes::new(&system, SEED);
        notes.note(0, true, at(10), at(15));
        assert!(notes.lasting().is_empty());
        assert_eq!(notes.end().faults, [fault(15, Some(15), Subject::Host(0), Trouble::Restarted)]);
    }

    /// Among the faults that happened it has another number, by which others would be drawn.
    #[test]
    fn a_share_is_of_the_servers_that_were_drawn() {
        let half = |at| fault(at, None, Subject::Share(0.5), Trouble::Frozen);
        let system = system(vec![half(80), half(20)]);
        let mut notes = Notes::new(&system, SEED);
        notes.note(1, true, at(20), at(21));
        let drawn = system.faults[1].hosts(1, &system, SEED);
        assert_ne!(drawn, system.faults[1].hosts(0, &system, SEED), "the seed is one that tells them apart");
        let expected: Vec<Fault> =
            drawn.into_iter().map(|host| fault(21, None, Subject::Host(host), Trouble::Frozen)).collect();
        assert_eq!(notes.end().faults, expected);
    }
}
