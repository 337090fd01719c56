//! What a node tells its peers of its load.
//!
//! One that emulates a server tells the numbers of that: how busy its processor is, and how many requests are there. Another
//! tells those of its machine, as a load daemon samples them, so that other work on the machine counts as well, and as
//! requests at the processor all that it has, shared by the cores. The price: a client that is slow to take its reply counts
//! as well.

use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_part::{ServeError, clock};
use sojourn_report::loadd::Sampler;
use sojourn_report::{Metric, Metrics};
use sojourn_stats::Time;

/// Where a node's numbers come from.
pub(in crate::node) struct Numbers {
    /// Says what the node knows of itself.
    own: Box<dyn Fn(&mut Metrics)>,
    machine: Option<Sampler>,
    /// Bytes per second of the network, where they are known.
    net_rate: f64,
    /// Bytes that the machine had sent at the last look.
    sent: Option<(Time, u64)>,
}

impl Numbers {
    /// `own` says what the node knows of itself, `is_real` that it emulates nothing.
    ///
    /// # Errors
    /// When the system does not tell of the machine.
    pub(in crate::node) fn new(
        own: impl Fn(&mut Metrics) + 'static,
        is_real: bool,
        net_rate: f64,
    ) -> Result<Numbers, ServeError> {
        let machine = is_real.then(|| Sampler::new(&LoaddSettings::default(), clock::now())).transpose()?;
        Ok(Numbers { own: Box::new(own), machine, net_rate, sent: None })
    }

    /// What it is doing now; shares are of the time since the last look.
    pub(super) fn look(&mut self, now: Time) -> Metrics {
        let mut metrics = self.machine.as_mut().and_then(|machine| machine.look(None, now)).unwrap_or_default();
        (self.own)(&mut metrics);
        if self.machine.is_some() && self.net_rate > 0.0 {
            metrics.set(Metric::Net, self.net_share(now));
        }
        metrics
    }

    fn net_share(&mut self, now: Time) -> Option<f64> {
        let sent = sent(&std::fs::read_to_string("/proc/net/dev").ok()?);
        let (at, before) = self.sent.replace((now, sent))?;
        let elapsed_s = now.saturating_since(at).as_secs_f64();
        Some((sent.saturating_sub(before) as f64 / elapsed_s / self.net_rate).min(1.0))
    }
}

/// Bytes that all interfaces but the loopback have sent (proc_net(5)).
fn sent(text: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let others = lines.filter(|(name, _)| name.trim() != "lo");
    others.filter_map(|(_, counts)| counts.split_ascii_whitespace().nth(8)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_read_of_all_interfaces_but_the_loopback() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
                    lo: 7 7 0 0 0 0 0 0 7 7 0 0 0 0 0 0\n  eth0: 1 2 0 0 0 0 0 0 300 4 0 0 0 0 0 0\n  \
                    eth1: 1 2 0 0 0 0 0 0 40 4 0 0 0 0 0 0\n";
        assert_eq!(sent(text), 340);
    }
}
