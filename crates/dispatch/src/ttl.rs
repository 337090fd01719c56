//! The TTL of a DNS's answer: constant, or by what reports and rates say.
//!
//! | rule | the TTL is the one that was set, times |
//! |---|---|
//! | variable | the share of the backends that are not overloaded (one of them at least) |
//! | adaptive | mean rate of the clients known / rate of this one, times capacity of the backend / mean capacity |
//!
//! A short TTL gives the DNS its clients back sooner: those of a system that is full, or those that bring much load to a
//! backend that can take little. What is not known counts as the mean. V. Cardellini, M. Colajanni, P. S. Yu, Dynamic load
//! balancing on Web-server systems, IEEE Internet Computing 3 (3), 1999, DNS-based approach: adaptive TTL after their text,
//! without its scaling to a constant number of queries; variable TTL is described there in words only.

use sojourn_stats::Span;

use crate::{BackendId, Clients, State, Table};

/// A busy share above this is an overload.
const OVERLOADED: f32 = 0.9;

/// What the TTL of an answer depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlRule {
    /// Nothing.
    #[default]
    Constant,
    /// The load of the system: the more backends are without room, the shorter it is.
    Variable,
    /// Who asks and what is answered: the busier the client and the smaller the backend, the shorter it is.
    Adaptive,
}

impl TtlRule {
    /// How long `client` ([`Request::client`](crate::Request::client)) may keep an answer that names `backend`, where `ttl`
    /// was set. Backends that left do not count.
    pub fn ttl(self, ttl: Span, client: u64, backend: BackendId, table: &Table, clients: &Clients) -> Span {
        let backends = || (0..table.len() as u32).map(BackendId).filter(|id| table.state(*id) != State::Left);
        let capacity = |id| table.report(id).map(|report| f64::from(report.capacity)).filter(|known| *known > 0.0);
        let factor = match self {
            TtlRule::Constant => return ttl,
            TtlRule::Variable => {
                let is_overloaded = |id| table.report(id).is_some_and(|report| report.cpu > OVERLOADED);
                let free = table.eligible().iter().filter(|id| !is_overloaded(**id)).count();
                free.max(1) as f64 / backends().count() as f64
            }
            TtlRule::Adaptive => {
                let rates = clients.mean_rate().zip(clients.rate(client).filter(|rate| *rate > 0.0));
                let (known, sum) = backends().filter_map(capacity).fold((0.0, 0.0), |(n, sum), of| (n + 1.0, sum + of));
                let mean = sum / known;
                rates.map_or(1.0, |(mean, rate)| mean / rate) * capacity(backend).map_or(1.0, |of| of / mean)
            }
        };
        Span::from_secs_f64(ttl.as_secs_f64() * factor)
    }
}
