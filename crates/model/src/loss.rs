//! Which packets of one direction of a path are lost, as a sans-I/O state machine.
//!
//! Losses come in runs. [`LossModel::GilbertElliott`] is the chain with two states in which either nothing or everything
//! is lost (Gilbert, Bell System Technical Journal 39, 1960; Elliott, ibid. 42, 1963): its mean is the share that was asked
//! for, and the correlation is that of a packet's loss with the last one's. With a correlation of 0 losses are
//! independent. Only the lengths of runs are drawn, so that a packet costs a subtraction.
//!
//! [`LossModel::Nistnet`] is what emulators do: x' = c x + (1 - c) u with u from 0 to 1, and a packet is lost when x' is
//! below the share (`get_crandom` in Linux's `sch_netem.c`, which took it from NIST Net: Carson and Santay, ACM SIGCOMM
//! CCR 33(3), 2003). The price of that recursion is that x' crowds around one half: with a correlation of 0.9 and a share of
//! 5 % practically nothing is lost. It is here because published experiments ran over it.
//!
//! The chain steps with each packet, however long ago the last one was: a sender that waits for time-outs stays in a bad run.

use sojourn_stats::{Stream, math};

/// The losses of one direction.
#[derive(Clone, Debug)]
pub struct Loss {
    process: Process,
    draws: Stream,
}

/// What is to be lost: the default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossLaw {
    /// Share of the packets, from 0 to 1.
    pub share: f64,
    /// Correlation of one packet's loss with the last one's, from 0 to below 1.
    pub correlation: f64,
    /// How one packet's loss depends on the last one's.
    pub model: LossModel,
}

/// How one packet's loss depends on the last one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossModel {
    /// A chain with two states.
    #[default]
    GilbertElliott,
    /// The emulators' recursion.
    Nistnet,
}

#[derive(Clone, Debug)]
enum Process {
    Never,
    Always,
    /// A run of packets that are lost or not, of which so many are left; and 1 / ln(1 - chance that a run ends with a packet),
    /// of runs that pass and of those that are lost.
    Runs {
        is_lost: bool,
        left: u64,
        scales: [f64; 2],
    },
    Recursion {
        share: f64,
        correlation: f64,
        last: f64,
    },
}

/// The recursion has forgotten its first number when this is left of it.
const FORGOTTEN: f64 = 1e-6;

impl LossLaw {
    /// A share of the packets is lost, each by itself.
    pub fn independent(share: f64) -> LossLaw {
        LossLaw { share, ..LossLaw::default() }
    }

    /// Whether the share is from 0 to 1, and the correlation from 0 to below 1.
    pub fn is_possible(&self) -> bool {
        (0.0..=1.0).contains(&self.share) && (0.0..1.0).contains(&self.correlation)
    }
}

impl Loss {
    /// Losses of this law, which begin as they are after many packets.
    ///
    /// # Panics
    /// When the law is not possible.
    pub fn new(law: LossLaw, mut draws: Stream) -> Loss {
        assert!(law.is_possible(), "a share of losses is from 0 to 1, and their correlation from 0 to below 1");
        let LossLaw { share, correlation, model } = law;
        let process = match model {
            _ if share == 0.0 => Process::Never,
            _ if share == 1.0 => Process::Always,
            LossModel::GilbertElliott => {
                let ends = [share * (1.0 - correlation), (1.0 - share) * (1.0 - correlation)];
                let scales = ends.map(|chance| 1.0 / math::ln_1p(-chance));
                let is_lost = draws.uniform() < share;
                Process::Runs { is_lost, left: run(scales[usize::from(is_lost)], &mut draws), scales }
            }
            LossModel::Nistnet => {
                let steps =
                    if correlation == 0.0 { 0 } else { (math::ln(FORGOTTEN) / math::ln(correlation)).ceil() as u32 };
                let first = draws.uniform();
                let last = (0..steps).fold(first, |last, _| step(last, correlation, &mut draws));
                Process::Recursion { share, correlation, last }
            }
        };
        Loss { process, draws }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn next_is_lost(&mut self) -> bool {
        match &mut self.process {
            Process::Never => false,
            Process::Always => true,
            Process::Runs { is_lost, left, scales } => {
                if *left == 0 {
                    *is_lost = !*is_lost;
                    *left = run(scales[usize::from(*is_lost)], &mut self.draws);
                }
                *left -= 1;
                *is_lost
            }
            Process::Recursion { share, correlation, last } => {
                *last = step(*last, *correlation, &mut self.draws);
                *last < *share
            }
        }
    }

    /// Whether a draw beside the losses themselves falls below `share`; 1 takes none.
    pub(crate) fn draws_below(&mut self, share: f64) -> bool {
        share >= 1.0 || self.draws.uniform() < share
    }
}

/// The length of a run, geometric and at least 1.
fn run(scale: f64, draws: &mut Stream) -> u64 {
    1 + (math::ln_1p(-draws.uniform()) * scale) as u64
}

fn step(last: f64, correlation: f64, draws: &mut Stream) -> f64 {
    correlation * last + (1.0 - correlation) * draws.uniform()
}
