//! A rate that changes with time: ramps, steps, lines between points, days, weeks, and what a log's rate was.
//!
//! A profile is a multiplier m(t) of the arrival rate. A process of any law is given that rate by a change of clock: an
//! instant s of the unshaped process moves to the t at which the integral of m from 0 to t is s. For a Poisson process
//! this is the inhomogeneous Poisson process (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7), for
//! others what keeps the burstiness that their law has, and long memory. Profiles are piecewise linear, so that the
//! integral is inverted in closed form; the price is that other shapes are told by many points.

mod forms;

use std::path::Path;

use sojourn_stats::Span;

use crate::error::WorkloadError;

/// A multiplier of the arrival rate over time; the last level lasts for ever, or all begins again.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    text: String,
    pieces: Vec<Piece>,
    period: Option<Period>,
}

/// A stretch on which the multiplier is linear; it ends where the next begins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    /// Where it begins (s).
    from_s: f64,
    /// The multiplier there, and what it gains per second.
    level: f64,
    slope: f64,
    /// The integral of the multiplier up to there (s).
    integral_s: f64,
}

/// What of a profile begins again for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Period {
    /// The first of the pieces that do, and when it begins (s): 0, unless a burst comes before.
    first: usize,
    from_s: f64,
    /// How long they last (s), and the integral of the multiplier over them (s).
    span_s: f64,
    integral_s: f64,
}

impl Period {
    /// How many rounds have passed at an instant (s).
    fn rounds(&self, at_s: f64) -> f64 {
        if at_s < self.from_s { 0.0 } else { ((at_s - self.from_s) / self.span_s).floor() }
    }

    /// When the first round ends (s).
    fn end_s(&self) -> f64 {
        self.from_s + self.span_s
    }
}

/// A piece as it is written: where it begins (s), the multiplier there, and the one where it ends.
type Corner = (f64, f64, f64);

/// A profile that begins again is written out up to the end of a burst in it: in so many pieces at most.
const PIECES: f64 = 1e6;

impl Profile {
    /// Reads a profile; levels are multipliers of the rate.
    ///
    /// | text | rate |
    /// |---|---|
    /// | `ramp(from = 0.1, to = 1, over = 60 s)` | grows evenly, then stays |
    /// | `steps(0.5, 1, 2, every = 30 s)` | each level for that long, the last one for ever |
    /// | `piecewise(0 s: 0.5, 30 s: 2, 60 s: 1)` | straight lines between points, the last level for ever |
    /// | `daily(0 h: 0.3, 9 h: 1.5, 18 h: 1)` | straight lines between times of day, also past midnight, for ever |
    /// | `weekly(sat: 0.4, sun: 0.3, day = daily(...))` | each day's level (1 where none is said) times that of its hour |
    /// | `log(from = "access.clf.gz", every = 10 min)` | what the log's rate was over its mean, for ever |
    ///
    /// The last three take `over = 10 min`: a day, a week or the log's length in that time. A week begins on Monday. A last
    /// level of 0 that lasts ends the arrivals.
    ///
    /// # Errors
    /// When it is none of these, a level is negative, all are 0, it takes no time, or the log cannot be read.
    pub fn parse(text: &str) -> Result<Profile, WorkloadError> {
        Profile::parse_in(text, Path::new(""))
    }

    /// As [`Profile::parse`], with a log sought in the folder `dir`.
    ///
    /// # Errors
    /// As [`Profile::parse`].
    pub fn parse_in(text: &str, dir: &Path) -> Result<Profile, WorkloadError> {
        forms::parse(text.trim(), dir)
    }

    /// The profile of these pieces, in order of time from 0; it begins again after `span_s`, if at all.
    fn of(text: &str, corners: &[Corner], span_s: Option<f64>) -> Profile {
        Profile::repeating(text, corners, span_s.map(|span_s| (0, span_s)))
    }

    /// The same, of which the pieces from some number on begin again after so long (s), if any do.
    fn repeating(text: &str, corners: &[Corner], again: Option<(usize, f64)>) -> Profile {
        let mut integral_s = 0.0;
        let end_s = again.map(|(first, span_s)| corners[first].0 + span_s);
        let ends = corners.iter().skip(1).map(|corner| Some(corner.0)).chain([end_s]);
        let pieces = corners.iter().zip(ends).map(|(&(from_s, level, end), until_s)| {
            let length_s = until_s.map_or(f64::INFINITY, |until_s| until_s - from_s);
            let piece = Piece { from_s, level, slope: (end - level) / length_s, integral_s };
            integral_s += if until_s.is_some() { (level + end) / 2.0 * length_s } else { 0.0 };
            piece
        });
        let pieces: Vec<Piece> = pieces.collect();
        let period = again.map(|(first, span_s)| {
            let Piece { from_s, integral_s: before_s, .. } = pieces[first];
            Period { first, from_s, span_s, integral_s: integral_s - before_s }
        });
        Profile { text: text.into(), pieces, period }
    }

    /// The same with a level so many times as high from one instant to another, once: a profile that begins again does so from
    /// the end of the round in which the burst ends. Without a profile the level is 1. None where too many rounds come before.
    pub fn with_burst(profile: Option<&Profile>, factor: f64, (from, until): (Span, Span)) -> Option<Profile> {
        let flat = Profile::of("", &[(0.0, 1.0, 1.0)], None);
        let profile = profile.unwrap_or(&flat);
        let (from_s, until_s) = (from.as_secs_f64(), until.as_secs_f64());
        let (once, again) = profile.written_out(until_s)?;
        let again_s = again.first().map(|piece| piece.from_s);
        let mut begins: Vec<f64> = once.iter().map(|piece| piece.from_s).chain([from_s, until_s]).collect();
        begins.retain(|begin| again_s.is_none_or(|again_s| *begin < again_s));
        begins.sort_by(f64::total_cmp);
        begins.dedup();
        let corner = |(place, &begin): (usize, &f64)| {
            let times = if (from_s..until_s).contains(&begin) { factor } else { 1.0 };
            let piece = &once[once.partition_point(|piece| piece.from_s <= begin).max(1) - 1];
            let level = |at_s: f64| times * (piece.level + piece.slope * (at_s - piece.from_s));
            (begin, level(begin), level(begins.get(place + 1).copied().or(again_s).unwrap_or(begin)))
        };
        let mut corners: Vec<Corner> = begins.iter().enumerate().map(corner).collect();
        let repeats = profile.period.map(|period| (corners.len(), period.span_s));
        let end_s = again_s.zip(repeats).map(|(again_s, (_, span_s))| again_s + span_s);
        let ends = again.iter().skip(1).map(|next| next.from_s).chain(end_s);
        corners.extend(
            again
                .iter()
                .zip(ends)
                .map(|(piece, end_s)| (piece.from_s, piece.level, piece.level + piece.slope * (end_s - piece.from_s))),
        );
        let burst = format!("burst({factor}) from {from} to {until}");
        let text = if profile.text.is_empty() { burst } else { format!("{}, {burst}", profile.text) };
        Some(Profile::repeating(&text, &corners, repeats))
    }

    /// Its pieces up to the end of the round that an instant (s) is in, and those that begin again from then on; all and none
    /// where none does. None of too many.
    fn written_out(&self, until_s: f64) -> Option<(Vec<Piece>, Vec<Piece>)> {
        let Some(period) = self.period else { return Some((self.pieces.clone(), Vec::new())) };
        let rounds = if until_s <= period.from_s { 0.0 } else { ((until_s - period.from_s) / period.span_s).ceil() };
        let (before, round) = self.pieces.split_at(period.first);
        if rounds * round.len() as f64 > PIECES {
            return None;
        }
        let later = |rounds: u64| {
            let shift_s = rounds as f64 * period.span_s;
            round.iter().map(move |piece| Piece { from_s: piece.from_s + shift_s, ..*piece })
        };
        let once = before.iter().copied().chain((0..rounds as u64).flat_map(later)).collect();
        Some((once, later(rounds as u64).collect()))
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The multiplier `at` seconds after the start.
    pub fn level(&self, at_s: f64) -> f64 {
        let within_s = match self.period {
            Some(Period { from_s, span_s, .. }) if at_s >= from_s => from_s + (at_s - from_s).rem_euclid(span_s),
            _ => at_s,
        };
        let piece = self.piece_at(within_s);
        piece.level + piece.slope * (within_s - piece.from_s)
    }

    /// The integral of the multiplier over the first `span_s` seconds: mean requests over the rate at level 1.
    pub fn integral(&self, span_s: f64) -> f64 {
        let (before_s, within_s) = match self.period {
            Some(period) => {
                let rounds = period.rounds(span_s);
                (rounds * period.integral_s, span_s - rounds * period.span_s)
            }
            None => (0.0, span_s),
        };
        let piece = self.piece_at(within_s);
        let within_s = within_s - piece.from_s;
        before_s + piece.integral_s + (piece.level + piece.slope * within_s / 2.0) * within_s
    }

    fn piece_at(&self, within_s: f64) -> &Piece {
        &self.pieces[self.pieces.partition_point(|piece| piece.from_s <= within_s).max(1) - 1]
    }

    /// The highest level.
    pub fn peak(&self) -> f64 {
        let end_s = self.period.map(|period| period.end_s());
        let ends = self.pieces.iter().skip(1).map(|next| next.from_s).chain(end_s);
        let at_ends =
            self.pieces.iter().zip(ends).map(|(piece, end_s)| piece.level + piece.slope * (end_s - piece.from_s));
        self.pieces.iter().map(|piece| piece.level).chain(at_ends).fold(0.0, f64::max)
    }

    /// The level that lasts; of one that begins again, the one that it ends with.
    pub fn last(&self) -> f64 {
        let piece = self.pieces[self.pieces.len() - 1];
        self.period.map_or(piece.level, |period| piece.level + piece.slope * (period.end_s() - piece.from_s))
    }

    /// When it has reached its last level, or begins again.
    pub fn span(&self) -> Span {
        let last_s = self.pieces[self.pieces.len() - 1].from_s;
        Span::from_secs_f64(self.period.map_or(last_s, |period| period.end_s()))
    }

    /// When the integral is `integral_s`, which no earlier call had larger: `place` remembers where that was. None
    /// when it never gets there.
    #[inline]
    pub(crate) fn invert(&self, integral_s: f64, place: &mut usize) -> Option<f64> {
        while self.begin(*place + 1).is_some_and(|(_, next_s)| next_s <= integral_s) {
            *place += 1;
        }
        let (from_s, before_s) = self.begin(*place).expect("a place is one of a piece");
        let piece = &self.pieces[self.piece(*place).0];
        let rest_s = integral_s - before_s;
        if rest_s <= 0.0 {
            return Some(from_s);
        }
        // level t + slope t^2 / 2 = rest, in the form that keeps its digits for small slopes.
        let speed = piece.level + (piece.level * piece.level + 2.0 * piece.slope * rest_s).max(0.0).sqrt();
        (speed > 0.0).then(|| from_s + 2.0 * rest_s / speed)
    }

    /// Where piece number `place`, counted through all rounds, begins (s), and the integral up to there (s).
    #[inline]
    fn begin(&self, place: usize) -> Option<(f64, f64)> {
        if let Some(piece) = self.pieces.get(place) {
            return Some((piece.from_s, piece.integral_s));
        }
        let period = self.period?;
        let (piece, rounds) = self.piece(place);
        let (piece, rounds) = (&self.pieces[piece], rounds as f64);
        Some((rounds * period.span_s + piece.from_s, rounds * period.integral_s + piece.integral_s))
    }

    /// Which piece number `place`, counted through all rounds, is, and how many rounds have passed.
    #[inline]
    fn piece(&self, place: usize) -> (usize, usize) {
        let first = self.period.map_or(0, |period| period.first);
        let round = self.pieces.len() - first;
        match place.checked_sub(self.pieces.len()) {
            None => (place, 0),
            Some(beyond) => (first + beyond % round, 1 + beyond / round),
        }
    }
}
