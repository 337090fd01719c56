//! Many sources that speak and fall silent in turn: `on-off(sources = 100, on = pareto(alpha = 1.4, mean = 1 s), off =
//! pareto(alpha = 1.4, mean = 1 s), rate = 50 /s)`.
//!
//! A source that is on sends evenly, or with gaps of a law; off, it sends nothing. Where the times on or off have a tail
//! like x^-alpha, 1 < alpha < 2, the counts of many sources together tend to fractional Gaussian noise of H = (3 - alpha)/2,
//! alpha being the smaller of the two (Willinger, Taqqu, Sherman and Wilson, IEEE/ACM Trans. Networking 5(1), 1997,
//! theorem 1). This holds of counts over times that are long against those on and off, and for many sources.
//!
//! The process is stationary from its first instant, and needs no warm-up: a source is on with the share of time that it is,
//! what is left of the time on or off at the start has the equilibrium law, and so has the first gap in each time on, so
//! that the mean rate is exact at every instant. Each source has a random stream of its own: one more shifts no other's
//! numbers. The price is a step in a heap of all sources for each request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_stats::law::Argument;
use sojourn_stats::{Dimension, Law, Stream};

use super::scale::{self, Scale, Scaled};
use crate::error::WorkloadError;

/// Most sources; each takes 64 bytes.
const SOURCES_MOST: u32 = 1_000_000;
/// Times on in which a source sends nothing, on average, before it sends something: more would hardly end.
const SILENT_MOST: f64 = 1e4;

/// The sources, but for their gaps while they are on.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    count: u32,
    /// Times on and off (s).
    on: Law,
    off: Law,
}

impl Sources {
    /// Reads the arguments of `on-off(...)`, and with them the law of the gaps of one source that is on.
    pub(crate) fn parse(text: &str, arguments: &[Argument<'_>]) -> Result<(Sources, Scaled), WorkloadError> {
        let fault = |what: String| {
            let form = "write `on-off(sources = 100, on = pareto(alpha = 1.4, mean = 1 s), off = pareto(alpha = 1.4, \
                        mean = 1 s), rate = 50 /s)`";
            WorkloadError::Invalid(format!("`{text}`: {what}; {form}"))
        };
        let (mut count, mut on, mut off, mut scale, mut gap) = (None, None, None, None, None);
        for argument in arguments {
            let value = argument.value;
            if let Some(read) = Scale::read(argument).map_err(fault)? {
                Scale::once(&mut scale, read).map_err(fault)?;
                continue;
            }
            let time = |name: &str| {
                let law = Law::parse(value, Dimension::Time).map_err(|e| fault(format!("{name}: {e}")))?;
                let is_sane = law.mean() > 0.0 && law.mean().is_finite();
                let why =
                    format!("{name} = {value}: its mean is not a time above 0 (a Pareto law needs an alpha above 1)");
                if is_sane { Ok(law) } else { Err(fault(why)) }
            };
            match argument.key {
                Some("sources") => match value.parse().ok().filter(|count| (1..=SOURCES_MOST).contains(count)) {
                    Some(number) => count = Some(number),
                    None => {
                        return Err(fault(format!("sources = {value} is not a whole number from 1 to {SOURCES_MOST}")));
                    }
                },
                Some("on") => on = Some(time("on")?),
                Some("off") => off = Some(time("off")?),
                Some("gap") => gap = Some(value),
                _ => {
                    let known = ["sources", "on", "off", "gap", "rate", "mean", "utilization"];
                    return Err(fault(argument.foreign(&known)));
                }
            }
        }
        let (Some(count), Some(on), Some(off)) = (count, on, off) else {
            return Err(fault("sources, on and off are all needed".into()));
        };
        let sources = Sources { count, on, off };
        let gap_fault = |e: String| fault(format!("gap: {e}"));
        let scaled = match (scale, gap) {
            (None, None) => {
                return Err(fault("rate, mean or utilization of all sources, or the gap of one, is missing".into()));
            }
            (None, Some(gap)) => (scale::law(gap, None, false).map_err(gap_fault)?, None),
            (Some(scale), gap) => {
                let shape = gap.map_or(Ok(Law::constant(1.0)), |gap| scale::law(gap, None, true)).map_err(gap_fault)?;
                match scale {
                    Scale::Mean(mean) => (shape.scaled(mean * sources.on_at_once()), None),
                    Scale::Utilization(utilization) => (shape, Some(utilization)),
                }
            }
        };
        let gap_s = scaled.0.mean();
        if !(gap_s > 0.0 && gap_s.is_finite()) {
            return Err(fault("the mean gap of a source must be above 0 and finite".into()));
        }
        if scaled.1.is_none() && gap_s > SILENT_MOST * sources.on.mean() {
            let (gap, on) = (gap_s, sources.on.mean());
            return Err(fault(format!(
                "a source sends every {gap:.3} s while it is on, which it is for {on:.3} s: almost never; take fewer \
                 sources, or a higher rate"
            )));
        }
        Ok((sources, scaled))
    }

    /// The Hurst parameter that counts tend to.
    pub(crate) fn hurst(&self) -> f64 {
        let alpha = [&self.on, &self.off].into_iter().filter_map(Law::tail_index).fold(2.0, f64::min);
        (3.0 - alpha) / 2.0
    }

    /// Sources that are on at an instant, on average.
    pub(crate) fn on_at_once(&self) -> f64 {
        f64::from(self.count) * self.on_share()
    }

    /// The mean time from falling silent to falling silent again (s).
    pub(crate) fn cycle_s(&self) -> f64 {
        self.on.mean() + self.off.mean()
    }

    fn on_share(&self) -> f64 {
        self.on.mean() / self.cycle_s()
    }

    /// The gaps between the requests of all, from the first; those of one that is on have the law `gap`.
    pub(crate) fn gaps(&self, gap: Law, seed: u64) -> SourceGaps {
        let laws = Laws { on: self.on.clone(), off: self.off.clone(), gap };
        let mut sources = Vec::with_capacity(self.count as usize);
        let mut next = Vec::with_capacity(self.count as usize);
        for number in 0..self.count {
            let stream = Stream::new(seed, &format!("source {number}"), "arrivals");
            let (source, first_s) = Source::start(stream, &laws, self.on_share());
            sources.push(source);
            next.push(Reverse((first_s.to_bits(), number)));
        }
        SourceGaps { laws, sources, next: BinaryHeap::from(next), last_s: 0.0 }
    }
}

struct Laws {
    on: Law,
    off: Law,
    gap: Law,
}

/// The requests of all sources in order of time.
pub(crate) struct SourceGaps {
    laws: Laws,
    sources: Vec<Source>,
    /// When each sends next (s, as the bits of a number from 0 up, which have its order), and which it is.
    next: BinaryHeap<Reverse<(u64, u32)>>,
    last_s: f64,
}

impl SourceGaps {
    /// The next gap (s).
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        let mut first = self.next.peek_mut().expect("there is a source");
        let Reverse((bits, number)) = *first;
        let at_s = f64::from_bits(bits);
        let after_s = self.sources[number as usize].after(at_s, &self.laws);
        *first = Reverse((after_s.to_bits(), number));
        let gap_s = at_s - self.last_s;
        self.last_s = at_s;
        gap_s
    }
}

/// One source.
struct Source {
    stream: Stream,
    /// When its time on ends (s).
    until_s: f64,
}

impl Source {
    /// A source in its steady state at time zero, and when it sends first (s).
    fn start(mut stream: Stream, laws: &Laws, on_share: f64) -> (Source, f64) {
        let is_on = stream.uniform() < on_share;
        let mut source = Source { stream, until_s: 0.0 };
        let stream = &mut source.stream;
        let first_s = if is_on {
            source.until_s = laws.on.sample_residual(stream);
            laws.gap.sample_residual(stream)
        } else {
            let start_s = laws.off.sample_residual(stream);
            source.until_s = start_s + laws.on.sample(stream);
            start_s + laws.gap.sample_residual(stream)
        };
        let first_s = if first_s < source.until_s { first_s } else { source.awake(laws) };
        (source, first_s)
    }

    /// When it sends next after it sent at `at_s` (s).
    #[inline]
    fn after(&mut self, at_s: f64, laws: &Laws) -> f64 {
        let next_s = at_s + laws.gap.sample(&mut self.stream);
        if next_s < self.until_s { next_s } else { self.awake(laws) }
    }

    /// When it sends first in the next time on in which it sends at all (s).
    fn awake(&mut self, laws: &Laws) -> f64 {
        loop {
            let start_s = self.until_s + laws.off.sample(&mut self.stream);
            self.until_s = start_s + laws.on.sample(&mut self.stream);
            let first_s = start_s + laws.gap.sample_residual(&mut self.stream);
            if first_s < self.until_s {
                return first_s;
            }
        }
    }
}
