//! Silences: gaps between requests that are no chance at the rate of the others.
//!
//! A log that begins with one request, and has no other for ten minutes, tells of a test, a restart or a wrong clock, and the
//! traffic begins behind it: a rate over that time is none of the traffic's. So a silence at an end of a log, with few requests
//! outside of it, is not in the time that the log covers ([`Log::covered`]), unless it is asked for ([`Log::keeping_silence`]).
//! A silence amid the traffic is a part of what happened; that it is there is for the reader to know. Traffic that has silences
//! as long amid it has them at its ends too, and nothing is left out.

use super::calendar::SECOND_US;
use super::{Entry, Log, start_of_step};

/// A silence is at an end of a log if no more than this share of the requests, or one, is outside of it.
const OUTSIDE_MOST: f64 = 0.01;
/// A silence is so many times as long as the longest gap that is none.
const LONGER: i64 = 3;
/// Requests that would come in it at the rate of the others.
const EXPECTED: f64 = 30.0;
/// Other gaps that it takes to know their rate: of 20 exponential ones a gap of 30 times their mean is longer than all by chance
/// once in (1 + 30/20)^20, which is 9 * 10^7.
const OTHERS_LEAST: usize = 20;
/// So many silences are told apart at most.
const MOST: usize = 8;
/// What is left without the first and the last step is that long, or these stay: finer steps than seconds have few requests each,
/// and to leave them out of a short log would lose more than it mends.
const COVERED_LEAST_S: i64 = 10;
/// Where steps are seconds, or longer, the half of one that is missing may be much of a short log: so many whole ones are enough,
/// which is as many as it takes to see how much they vary.
const STEPS_LEAST: i64 = 2;
/// With so many requests in them: the rate of fewer is not known to a fifth, whatever is left out.
const REQUESTS_LEAST: usize = 20;

/// A time in which no request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// How many requests came before it.
    pub before: usize,
    /// When the last of them came (microseconds since 1970 in UTC).
    pub from_us: i64,
    /// When the next one came.
    pub to_us: i64,
}

/// What becomes of the step at an end of a log, a second mostly, of which the log may have a part only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndStep {
    /// The log was cut from a longer one there, so that it has all of it.
    Whole,
    /// It is not in the time that the log covers.
    LeftOut,
    /// The log is too short to miss it, so it is in that time.
    Kept,
}

/// The silences of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Silences {
    /// The one behind which the traffic begins; what came before it is not in the time that the log covers.
    pub at_start: Option<Silence>,
    /// The one before which the traffic ends, likewise.
    pub at_end: Option<Silence>,
    /// Those in the time that the log covers, in their order.
    pub amid: Vec<Silence>,
    /// Requests per second of the time that the log covers, without any of them; 0 where there is none.
    pub rate: f64,
}

impl Silence {
    /// How long it is (s).
    pub fn length_s(&self) -> f64 {
        self.length_us() as f64 / 1e6
    }

    fn length_us(&self) -> i64 {
        self.to_us - self.from_us
    }
}

impl Log {
    /// From which instant up to which other (microseconds since 1970 in UTC) the log has all that came. Of its first and its last
    /// step, a second mostly, it may have a part, so they are not of these, but where it was cut from a longer log, or is too
    /// short to miss them. A silence at its start or at its end is not of these either ([`Log::silences`]).
    pub fn covered(&self) -> (i64, i64) {
        let Silences { at_start, at_end, .. } = self.silences();
        self.covered_without(at_start, at_end)
    }

    /// The same with the silences at its ends.
    pub fn covered_with_silences(&self) -> (i64, i64) {
        self.covered_without(None, None)
    }

    /// What becomes of its first step, and of its last: of those of the traffic, where a silence is left out.
    pub fn end_steps(&self) -> (EndStep, EndStep) {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return (EndStep::Whole, EndStep::Whole);
        };
        let Silences { at_start, at_end, .. } = self.silences();
        let (from_us, to_us) = self.covered_without(at_start, at_end);
        let of = |is_cut: bool, is_left_out: bool| match (is_cut, is_left_out) {
            (true, _) => EndStep::Whole,
            (false, true) => EndStep::LeftOut,
            (false, false) => EndStep::Kept,
        };
        let begins_us = at_start.map_or(first.time_us, |silence| silence.to_us);
        let ends_us = at_end.map_or(last.time_us, |silence| silence.from_us);
        let is_cut = (at_start.is_none() && self.cut.0.is_some(), at_end.is_none() && self.cut.1.is_some());
        (of(is_cut.0, begins_us < from_us), of(is_cut.1, ends_us >= to_us))
    }

    fn covered_without(&self, at_start: Option<Silence>, at_end: Option<Silence>) -> (i64, i64) {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return (0, 0) };
        let step_us = self.resolution_us.max(1);
        // Of its first step behind a silence, and of its last before one, it may have a part as well.
        let (begins_us, begins_whole_us) = match at_start {
            Some(silence) => (silence.to_us, None),
            None => (first.time_us, self.cut.0),
        };
        let (ends_us, ends_whole_us) = match at_end {
            Some(silence) => (silence.from_us, None),
            None => (last.time_us, self.cut.1),
        };
        let whole_from_us = self.whole_from_us(at_start).unwrap_or(i64::MIN);
        let from_us = begins_whole_us.unwrap_or(begins_us + step_us).max(whole_from_us);
        // The last arrival of a log of ends may be within a step, of which it has those only that took as long.
        let inside = (from_us, ends_whole_us.unwrap_or(ends_us - ends_us.rem_euclid(step_us)));
        let left_us = inside.1 - inside.0;
        let is_enough = left_us >= COVERED_LEAST_S * SECOND_US
            || (step_us >= SECOND_US
                && left_us >= STEPS_LEAST * step_us
                && self.requests_between(inside) >= REQUESTS_LEAST);
        match is_enough {
            true => inside,
            false => (begins_whole_us.unwrap_or(begins_us), ends_whole_us.unwrap_or(ends_us + step_us)),
        }
    }

    /// From which instant on a log of ends has all that came (us): behind its first end, of those behind a silence at its start.
    fn whole_from_us(&self, at_start: Option<Silence>) -> Option<i64> {
        let Some(silence) = at_start.filter(|_| self.stamps.ends > 0) else { return self.whole_from_us };
        let first_us = self.entries[silence.before..].iter().map(|entry| self.end_us(entry)).min();
        first_us.map(|first_us| first_us.saturating_add(self.resolution_us.max(1))).max(self.whole_from_us)
    }

    /// When a request ended (us); of whole seconds, when the one begins in which it did. An arrival is half a step too early at
    /// most, so this is the step nearest to the end that it gives, and of two as near the earlier.
    fn end_us(&self, entry: &Entry) -> i64 {
        let (end_us, step_us) = (entry.end_us(), self.resolution_us);
        if step_us < SECOND_US { end_us } else { -start_of_step(step_us / 2 - end_us, step_us) }
    }

    /// The same log, of which a silence at its start or at its end is to be counted as a part of the traffic.
    #[must_use]
    pub fn keeping_silence(self, at_start: bool, at_end: bool) -> Log {
        Log { keeps_silence: (at_start, at_end), ..self }
    }

    /// Its silences.
    pub fn silences(&self) -> Silences {
        let all = self.odd_gaps();
        if all.is_empty() {
            return Silences::default();
        }
        let requests = self.entries.len();
        let few = ((OUTSIDE_MOST * requests as f64) as usize).max(1);
        let begins = |silence: &Silence| silence.before <= few;
        let ends = |silence: &Silence| requests - silence.before <= few;
        let is_amid = |silence: &&Silence| !begins(silence) && !ends(silence);
        let longest_us = all.iter().filter(is_amid).map(Silence::length_us).max();
        let is_usual = |silence: &Silence| longest_us.is_some_and(|amid_us| silence.length_us() < LONGER * amid_us);
        // Of a log of ends, what came before the first end is not in the time that it covers in any case.
        let is_covered = |silence: &Silence| self.whole_from_us.is_none_or(|whole_us| silence.to_us > whole_us);
        let (keeps_start, keeps_end) = self.keeps_silence;
        let mut outside = all.iter().filter(|silence| !is_usual(silence) && is_covered(silence));
        let at_end = outside.clone().find(|silence| !keeps_end && ends(silence)).copied();
        let at_start = outside.rfind(|silence| !keeps_start && begins(silence)).copied();
        let whole_from_us = self.whole_from_us(at_start);
        let is_inside = |silence: &&Silence| {
            at_start.is_none_or(|start| silence.before > start.before)
                && at_end.is_none_or(|end| silence.before < end.before)
                && whole_from_us.is_none_or(|whole_us| silence.to_us > whole_us)
        };
        let amid: Vec<Silence> = all.iter().filter(is_inside).copied().collect();
        let rate = self.rate_without(&amid, self.covered_without(at_start, at_end));
        Silences { at_start, at_end, amid, rate }
    }

    /// Requests per second from one instant up to another (us), without these silences; 0 where there is no such time.
    fn rate_without(&self, silences: &[Silence], (from_us, to_us): (i64, i64)) -> f64 {
        let requests = self.requests_between((from_us, to_us));
        let silent_us = |silence: &Silence| (silence.to_us.min(to_us) - silence.from_us.max(from_us)).max(0);
        let left_us = to_us - from_us - silences.iter().map(silent_us).sum::<i64>();
        if left_us > 0 { requests as f64 / (left_us as f64 / SECOND_US as f64) } else { 0.0 }
    }

    /// How many requests came from one instant up to another (us).
    fn requests_between(&self, (from_us, to_us): (i64, i64)) -> usize {
        let before = |time_us: i64| self.entries.partition_point(|entry| entry.time_us < time_us);
        before(to_us).saturating_sub(before(from_us))
    }

    /// The gaps that are much longer than all others, in their order.
    fn odd_gaps(&self) -> Vec<Silence> {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return Vec::new() };
        let gaps = self.entries.len() - 1;
        let step_us = self.resolution_us.max(1);
        // The longest first, and one more, with which the last of them is compared.
        let mut longest: Vec<Silence> = Vec::with_capacity(MOST + 2);
        for (at, pair) in self.entries.windows(2).enumerate() {
            let gap = Silence { before: at + 1, from_us: pair[0].time_us, to_us: pair[1].time_us };
            if longest.len() <= MOST || gap.length_us() > longest[MOST].length_us() {
                let place = longest.partition_point(|longer| longer.length_us() >= gap.length_us());
                longest.insert(place, gap);
                longest.truncate(MOST + 1);
            }
        }
        let mut left_us = last.time_us - first.time_us + step_us;
        let mut found = 0;
        for (at, pair) in longest.windows(2).enumerate() {
            let (length_us, next_us) = (pair[0].length_us(), pair[1].length_us());
            left_us -= length_us;
            let others = gaps - (at + 1);
            let rate = others as f64 / (left_us as f64 / SECOND_US as f64);
            let is_odd = length_us >= LONGER * next_us.max(step_us) && pair[0].length_s() * rate >= EXPECTED;
            if is_odd && others >= OTHERS_LEAST {
                found = at + 1;
            }
        }
        longest.truncate(found);
        longest.sort_unstable_by_key(|silence| silence.before);
        longest
    }
}
