//! The TTL of a DNS's answer: constant, or by what reports and rates say.
//!
//! | rule | the TTL is the one in the file, times |
//! |---|---|
//! | variable | the share of the targets that are not overloaded (one of them at least) |
//! | adaptive | mean rate of the clients known / rate of this one, times capacity of the target / mean capacity |
//!
//! A short TTL gives the DNS its clients back sooner: those of a system that is full, or those that bring much load to a
//! target that can take little. What is not known counts as the mean. V. Cardellini, M. Colajanni, P. S. Yu, Dynamic load
//! balancing on Web-server systems, IEEE Internet Computing 3 (3), 1999, DNS-based approach: adaptive TTL after their text,
//! without its scaling to a constant number of queries; variable TTL is described there in words only.

use sojourn_dispatch::BackendId;
use sojourn_model::system::TtlRule;
use sojourn_stats::Span;

use super::deciders::Decider;
use crate::balancer::client_key;

/// A busy share above this is an overload.
const OVERLOADED: f32 = 0.9;

impl Decider {
    /// How long `client` may keep the answer `target`.
    pub(super) fn ttl(&self, client: u32, target: u32) -> Span {
        let (table, clients) = (self.balancer.table(), self.balancer.clients());
        let targets = || (0..table.len() as u32).map(BackendId);
        let capacity = |id| table.report(id).map(|report| f64::from(report.capacity)).filter(|known| *known > 0.0);
        let factor = match self.ttl_rule {
            TtlRule::Constant => return self.ttl,
            TtlRule::Variable => {
                let is_overloaded = |id| table.report(id).is_some_and(|report| report.cpu > OVERLOADED);
                let free = table.eligible().iter().filter(|id| !is_overloaded(**id)).count();
                free.max(1) as f64 / table.len() as f64
            }
            TtlRule::Adaptive => {
                let rates = clients.mean_rate().zip(clients.rate(client_key(client)).filter(|rate| *rate > 0.0));
                let known: Vec<f64> = targets().filter_map(capacity).collect();
                let mean = known.iter().sum::<f64>() / known.len() as f64;
                rates.map_or(1.0, |(mean, rate)| mean / rate) * capacity(BackendId(target)).map_or(1.0, |of| of / mean)
            }
        };
        Span::from_secs_f64(self.ttl.as_secs_f64() * factor)
    }
}
