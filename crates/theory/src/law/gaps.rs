//! The gaps between arrivals, as one server sees them behind a balancer.

use sojourn_stats::Law;
use sojourn_stats::law::ErlangBranch;

use super::moments::Moments;

/// The gaps of a renewal stream of arrivals, as one server sees them behind a balancer.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaps {
    source: Moments,
    /// The law of the source, where it is known in full.
    law: Option<Law>,
    part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    All,
    EachWithProbability(f64),
    EveryNth(u32),
}

impl Gaps {
    /// Gaps of all arrivals of a renewal stream.
    pub fn all(source: Moments) -> Gaps {
        Gaps { source, law: source.law(), part: Part::All }
    }

    /// Gaps where each arrival is kept with probability `keep`: a geometric number of gaps, again a renewal stream (and
    /// Poisson, if the source is).
    pub fn each_with_probability(source: Moments, keep: f64) -> Gaps {
        Gaps { source, law: source.law(), part: Part::EachWithProbability(keep) }
    }

    /// Gaps between every `n`-th arrival, as round robin deals them: the sum of n gaps (Erlang-n, if the source is
    /// Poisson).
    pub fn every_nth(source: Moments, n: u32) -> Gaps {
        Gaps { source, law: source.law(), part: Part::EveryNth(n) }
    }

    /// Gaps of the same stream, whose source has this law (s).
    pub fn with_law(self, law: &Law) -> Gaps {
        Gaps { law: Some(law.clone()), ..self }
    }

    /// Mean gap (s).
    pub fn mean_s(&self) -> f64 {
        match self.part {
            Part::All => self.source.mean_s,
            Part::EachWithProbability(keep) => self.source.mean_s / keep,
            Part::EveryNth(n) => self.source.mean_s * f64::from(n),
        }
    }

    /// Rate: arrivals per second.
    pub fn rate(&self) -> f64 {
        1.0 / self.mean_s()
    }

    /// Squared coefficient of variation of the gaps (Whitt, The queueing network analyzer, Bell System Technical
    /// Journal 62, 1983, section 4).
    pub fn scv(&self) -> f64 {
        match self.part {
            Part::All => self.source.scv,
            Part::EachWithProbability(keep) => keep * self.source.scv + 1.0 - keep,
            Part::EveryNth(n) => self.source.scv / f64::from(n),
        }
    }

    /// Whether the stream is Poisson.
    pub fn is_poisson(&self) -> bool {
        self.source.is_exponential() && !matches!(self.part, Part::EveryNth(2..))
    }

    /// Complement of the transform, 1 - E\[e^(-sX)\] of the gaps X (s in 1/s), where the source's law is known.
    pub fn transform_complement(&self, s: f64) -> Option<f64> {
        let of_law = || Some(self.law.as_ref()?.transform_complement(s));
        let u = self.source.transform_complement(s).or_else(of_law)?;
        Some(match self.part {
            Part::All => u,
            Part::EachWithProbability(keep) => u / (keep + (1.0 - keep) * u),
            Part::EveryNth(n) => -(f64::from(n) * (-u).ln_1p()).exp_m1(),
        })
    }

    /// Mixture of Erlang laws that the gaps follow, where they follow one.
    pub fn erlang_mixture(&self) -> Option<Vec<ErlangBranch>> {
        let source = self.law.as_ref()?.erlang_mixture()?;
        match self.part {
            Part::All => Some(source),
            Part::EachWithProbability(_) if self.is_poisson() => Some(scaled(&source, 1, self.mean_s())),
            // The sum of n gaps of one Erlang law is an Erlang law of n times the stages.
            Part::EveryNth(n) if source.len() == 1 => Some(scaled(&source, n, self.mean_s())),
            Part::EachWithProbability(_) | Part::EveryNth(_) => None,
        }
    }
}

/// The one branch of `source` with so many times the stages and this mean.
fn scaled(source: &[ErlangBranch], times: u32, mean: f64) -> Vec<ErlangBranch> {
    vec![ErlangBranch { weight: 1.0, stages: source[0].stages.saturating_mul(times), mean }]
}
