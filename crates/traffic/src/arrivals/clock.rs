//! The clock of an open workload: from gaps of whichever process to instants.

use sojourn_stats::{Law, Span, Stream, Time};

use super::on_off::SourceGaps;
use super::profile::Profile;
use super::self_similar::CorrelatedGaps;
use super::{Arrivals, Process};
use crate::error::WorkloadError;

/// Gaps from here on have no room for a part of a nanosecond.
const LONGEST_NS: f64 = (1u64 << 51) as f64;

/// The instants of an open workload in whole nanoseconds. What a gap has beyond them is carried into the next one: an
/// instant is the floor of the exact sum of the gaps, so that rounding never changes the rate.
pub struct Clock {
    gaps: Gaps,
    now: Time,
    rest_ns: f64,
    /// Gaps (s) drawn at once.
    drawn: Vec<f64>,
    /// Requests at each instant, and how many more there are at this one.
    batch: u32,
    left: u32,
    /// Where the rate changes: the profile, the sum of the gaps (s) and the place in the profile.
    profile: Option<(Profile, f64, usize)>,
}

/// The gaps between instants with requests (s), before any profile.
#[allow(clippy::large_enum_variant, reason = "there is one clock per plan, and a box would cost a jump per request")]
pub(crate) enum Gaps {
    Independent(Law, Stream),
    Correlated(CorrelatedGaps),
    OfSources(SourceGaps),
}

impl Gaps {
    pub(crate) fn new(arrivals: &Arrivals, seed: u64) -> Result<Gaps, WorkloadError> {
        let law = arrivals.base().cloned().ok_or_else(|| {
            let text = arrivals.text();
            WorkloadError::Invalid(format!("arrivals = \"{text}\": the utilization was never settled into a rate"))
        })?;
        let stream = || Stream::new(seed, "source", "arrivals");
        Ok(match arrivals.process() {
            Process::Renewal { .. } => Gaps::Independent(law, stream()),
            Process::Correlated(correlated) => Gaps::Correlated(correlated.gaps(law, stream())),
            Process::OnOff(sources) => Gaps::OfSources(sources.gaps(law, seed)),
        })
    }

    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        match self {
            Gaps::Independent(law, stream) => law.sample(stream),
            Gaps::Correlated(gaps) => gaps.next(),
            Gaps::OfSources(gaps) => gaps.next(),
        }
    }
}

impl Clock {
    /// The instants of `arrivals` under `seed`, those of their plan.
    ///
    /// # Errors
    /// When the rate was never settled, or no time lies between requests.
    pub fn new(arrivals: &Arrivals, seed: u64) -> Result<Clock, WorkloadError> {
        arrivals.check()?;
        Ok(Clock {
            gaps: Gaps::new(arrivals, seed)?,
            now: Time::ZERO,
            rest_ns: 0.0,
            drawn: Vec::new(),
            batch: arrivals.batch(),
            left: 0,
            profile: arrivals.profile().map(|profile| (profile.clone(), 0.0, 0)),
        })
    }

    /// Whether the rate changes, and may come to an end.
    pub(crate) fn changes(&self) -> bool {
        self.profile.is_some()
    }

    /// The next request's instant; none when no more requests come.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Time> {
        if self.left > 0 {
            self.left -= 1;
            return Some(self.now);
        }
        self.left = self.batch - 1;
        let gap_s = self.gaps.next();
        if let Some((profile, sum_s, place)) = &mut self.profile {
            *sum_s += gap_s;
            let at = Time::from_secs_f64(profile.invert(*sum_s, place)?);
            self.now = self.now.max(at);
            return Some(self.now);
        }
        self.pass(gap_s);
        Some(self.now)
    }

    /// The instants of as many requests as `out` has room for, and how many there are; fewer when no more requests come.
    /// They are those of [`Clock::next`], sooner.
    pub fn fill(&mut self, out: &mut [Time]) -> usize {
        if self.batch == 1
            && self.profile.is_none()
            && let Gaps::Independent(law, stream) = &mut self.gaps
        {
            self.drawn.resize(out.len(), 0.0);
            law.fill(&mut self.drawn, stream);
            let drawn = std::mem::take(&mut self.drawn);
            for (at, gap_s) in out.iter_mut().zip(&drawn) {
                self.pass(*gap_s);
                *at = self.now;
            }
            self.drawn = drawn;
            return out.len();
        }
        out.iter_mut().map_while(|at| self.next().map(|next| *at = next)).count()
    }

    #[inline]
    fn pass(&mut self, gap_s: f64) {
        let gap_ns = gap_s * 1e9;
        let exact_ns = gap_ns + self.rest_ns;
        // The sum has the whole part of the gap, or one more, since the rest is below 1. Which of the two it is, is a choice
        // among both: the next gap waits for this one's rest, and a conversion would take longer.
        let least = gap_ns.min(LONGEST_NS) as i64;
        let (over, over_more) = (exact_ns - least as f64, exact_ns - (least + 1) as f64);
        if gap_ns >= LONGEST_NS {
            let whole_ns = exact_ns as u64;
            self.rest_ns = exact_ns - whole_ns as f64;
            self.now += Span(whole_ns);
            return;
        }
        // Bits of what is below 0 are above those of all others.
        let more = over_more.to_bits() < over.to_bits();
        self.rest_ns = f64::from_bits(over_more.to_bits().min(over.to_bits()));
        self.now += Span(least as u64 + u64::from(more));
    }
}
