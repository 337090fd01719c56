//! Requests served at once: n long ones are held, and a short one is sent.
//!
//! As long as a helper is free, the short request shares the cores and is answered before the first of the long ones.
//! Without a free helper it waits until a long one has left. The order of two replies shows which, so no clock has to
//! be trusted. n is doubled until the short request waits, then found by bisection; the last two n are tried three
//! times.

use serde::Serialize;
use sojourn_stats::{Span, Time};
use sojourn_traffic::Planned;

use crate::client::{Client, Reply, request};
use crate::demand::Work;
use crate::settings::CalibrateError;

/// Time between the long requests and the short one: by then all long ones are inside.
const AFTER: Span = Span(15_000_000);
/// A long request takes at least as long as this many short ones and [`AFTER`].
const LONGER: f64 = 3.0;

/// Requests served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Served {
    /// This many; further requests wait.
    Limited(u32),
    /// At least this many: more could not be tried.
    AtLeast(u32),
    /// No two levels differ enough to be a long and a short request.
    Unknown,
}

/// One trial with a short request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hold {
    /// Long requests inside.
    pub held: u32,
    /// Whether it waited until one of them had finished.
    pub waited: bool,
    /// Its response time (s).
    pub response_s: f64,
}

pub(crate) struct Found {
    pub(crate) served: Served,
    pub(crate) holds: Vec<Hold>,
}

pub(crate) fn measure(client: &Client<'_>, work: &Work, cores: u32, budget_s: f64) -> Result<Found, CalibrateError> {
    let by_work = |a: &usize, b: &usize| work.levels[*a].value.total_cmp(&work.levels[*b].value);
    let short = (0..work.levels.len()).min_by(by_work).expect("there is a level");
    let long = (0..work.levels.len()).max_by(by_work).expect("there is a level");
    let (short_s, long_s) = (work.levels[short].value, work.levels[long].value);
    if long_s < LONGER * short_s + 2.0 * AFTER.as_secs_f64() {
        return Ok(Found { served: Served::Unknown, holds: Vec::new() });
    }
    let mut search = Search { client, short, long, long_s: long_s / f64::from(cores), holds: Vec::new() };
    // `yes` requests were served at once besides the short one, `no` were not.
    let (mut yes, mut no) = (0, None);
    let (mut held, mut spent_s) = (1, 0.0);
    while no.is_none() {
        let within = held < client.settings.connections_max && (held <= 8 || spent_s < budget_s);
        if !within {
            return Ok(Found { served: Served::AtLeast(yes + 1), holds: search.holds });
        }
        spent_s += f64::from(held) * search.long_s;
        if search.waits(held)? {
            no = Some(held);
        } else {
            yes = held;
            held *= 2;
        }
    }
    let mut no = no.expect("the loop above ends with one");
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if search.waits(middle)? {
            no = middle;
        } else {
            yes = middle;
        }
    }
    // A pause of the machine may have delayed a short request.
    loop {
        if yes > 0 && search.votes(yes)? {
            (no, yes) = (yes, yes - 1);
        } else if !search.votes(no)? {
            (no, yes) = (no + 1, no);
        } else {
            return Ok(Found { served: Served::Limited(no), holds: search.holds });
        }
    }
}

struct Search<'a> {
    client: &'a Client<'a>,
    short: usize,
    long: usize,
    /// Time of a long request on all cores (s).
    long_s: f64,
    holds: Vec<Hold>,
}

impl Search<'_> {
    fn waits(&mut self, held: u32) -> Result<bool, CalibrateError> {
        self.client.say(&format!("requests served at once: long ones held: {held}"));
        let at = |at: Time, level: usize, mark: u32| Planned { at, request: request(level, mark) };
        let mut plan: Vec<Planned> = (0..held).map(|_| at(Time::ZERO, self.long, 0)).collect();
        plan.push(at(Time(AFTER.0), self.short, 1));
        let slowest = Span::from_secs_f64(4.0 * f64::from(held + 1) * self.long_s);
        let (replies, _) = self.client.planned(plan, held + 1, slowest)?;
        let (longs, shorts): (Vec<Reply>, Vec<Reply>) = replies.iter().partition(|reply| reply.mark == 0);
        let first = longs.iter().map(|reply| reply.done).min().unwrap_or(Time::NEVER);
        let short = shorts.first().expect("every request was answered");
        let waited = first < short.done;
        self.holds.push(Hold { held, waited, response_s: short.response_s() });
        Ok(waited)
    }

    /// Whether most of three short requests wait.
    fn votes(&mut self, held: u32) -> Result<bool, CalibrateError> {
        let tried = self.holds.iter().filter(|hold| hold.held == held).count();
        for _ in tried..3 {
            self.waits(held)?;
        }
        let of: Vec<&Hold> = self.holds.iter().filter(|hold| hold.held == held).collect();
        Ok(of.iter().filter(|hold| hold.waited).count() * 2 > of.len())
    }
}
