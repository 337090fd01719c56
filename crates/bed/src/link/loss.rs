//! Which packets are lost: each by itself, in bursts, or as NIST Net draws it.

use sojourn_stats::Stream;

/// A law of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// This share, each packet by itself.
    Independent(f64),
    /// Gilbert (1960) and Elliott (1963): a link is good or bad, and has a chance of loss in each of the two states. Its
    /// mean loss is the mean of these chances, weighted by `to_good : to_bad`.
    GilbertElliott {
        /// Chance that a good link is bad at the next packet.
        to_bad: f64,
        /// Chance that a bad link is good at the next packet.
        to_good: f64,
        /// Chance of loss while good.
        lost_good: f64,
        /// Chance of loss while bad.
        lost_bad: f64,
    },
    /// NIST Net's (Carson and Santay, ACM CCR 33(3), 2003): x' = correlation * x + (1 - correlation) * u with u uniform on
    /// [0, 1), and a packet is lost where x' < `share`. The average of uniform numbers seldom is small, so the larger the
    /// correlation, the smaller is what is really lost: of 10 % asked with a correlation of 0.85, far less than 1 %.
    Nistnet {
        /// The share asked for.
        share: f64,
        /// Weight of the last packet's number.
        correlation: f64,
    },
}

impl Loss {
    /// A Gilbert-Elliott loss of this mean (below 1) that comes in bursts of so many packets in the mean, none in between.
    pub fn bursts(mean: f64, packets: f64) -> Loss {
        let to_good = 1.0 / packets;
        Loss::GilbertElliott { to_bad: to_good * mean / (1.0 - mean), to_good, lost_good: 0.0, lost_bad: 1.0 }
    }

    /// A Gilbert-Elliott loss of this mean in which one packet's loss has this correlation with the last one's, both from 0 to
    /// below 1.
    pub fn correlated(mean: f64, correlation: f64) -> Loss {
        let changes = 1.0 - correlation;
        Loss::GilbertElliott { to_bad: mean * changes, to_good: (1.0 - mean) * changes, lost_good: 0.0, lost_bad: 1.0 }
    }

    pub(super) fn is_possible(self) -> bool {
        let share = |share: f64| (0.0..=1.0).contains(&share);
        match self {
            Loss::None => true,
            Loss::Independent(lost) => share(lost),
            Loss::GilbertElliott { to_bad, to_good, lost_good, lost_bad } => {
                [to_bad, to_good, lost_good, lost_bad].into_iter().all(share)
            }
            Loss::Nistnet { share: asked, correlation } => share(asked) && (0.0..1.0).contains(&correlation),
        }
    }
}

/// The losses of one link.
#[derive(Debug)]
pub(super) struct Losses {
    law: Loss,
    stream: Stream,
    is_bad: bool,
    /// The last number that NIST Net compared.
    last: Option<f64>,
}

impl Losses {
    pub(super) fn new(law: Loss, stream: Stream) -> Losses {
        Losses { law, stream, is_bad: false, last: None }
    }

    /// Whether the next packet is lost.
    pub(super) fn loses(&mut self) -> bool {
        match self.law {
            Loss::None => false,
            Loss::Independent(share) => self.stream.uniform() < share,
            Loss::GilbertElliott { to_bad, to_good, lost_good, lost_bad } => {
                let change = if self.is_bad { to_good } else { to_bad };
                self.is_bad ^= self.stream.uniform() < change;
                self.stream.uniform() < if self.is_bad { lost_bad } else { lost_good }
            }
            Loss::Nistnet { share, correlation } => {
                let fresh = self.stream.uniform();
                let number = self.last.map_or(fresh, |last| correlation * last + (1.0 - correlation) * fresh);
                self.last = Some(number);
                number < share
            }
        }
    }
}
