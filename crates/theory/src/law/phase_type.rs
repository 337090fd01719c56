//! Laws made of exponential stages, as phases of a Markov chain.
//!
//! A mixture of Erlang laws is the time that a job takes through one of several chains of stages. That covers the
//! exponential, Erlang and hyperexponential laws, gamma laws of whole shape and all their mixtures, and it is what
//! makes a queue a Markov chain that can be solved. Source: Neuts, Matrix-Geometric Solutions in Stochastic Models
//! (1981), chapter 2.

use sojourn_stats::law::ErlangBranch;

/// Phase-type law: a chain of exponential stages.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseType {
    /// Phases, in an order in which each stands before the one that follows it.
    pub phases: Vec<Phase>,
}

/// Phase: an exponential stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Probability that the law begins here.
    pub start: f64,
    /// Rate at which the phase ends (1/s).
    pub rate: f64,
    /// Index of the phase that follows; none: the law is over.
    pub next: Option<usize>,
}

impl PhaseType {
    /// Phase-type law of a mixture of Erlang laws (s). Branches of weight 0 are left out.
    pub fn of(branches: &[ErlangBranch]) -> PhaseType {
        let mut phases = Vec::new();
        for branch in branches.iter().filter(|branch| branch.weight > 0.0) {
            let rate = f64::from(branch.stages) / branch.mean;
            for stage in 1..=branch.stages {
                let start = if stage == 1 { branch.weight } else { 0.0 };
                let next = (stage < branch.stages).then_some(phases.len() + 1);
                phases.push(Phase { start, rate, next });
            }
        }
        PhaseType { phases }
    }

    /// Number of phases.
    pub fn len(&self) -> usize {
        self.phases.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// Mean (s).
    pub fn mean_s(&self) -> f64 {
        // A phase is reached from its own start and from the one before it, which stands before it.
        let mut reached: Vec<f64> = self.phases.iter().map(|phase| phase.start).collect();
        for (at, phase) in self.phases.iter().enumerate() {
            if let Some(next) = phase.next {
                reached[next] += reached[at];
            }
        }
        self.phases.iter().zip(&reached).map(|(phase, reached)| reached / phase.rate).sum()
    }
}
