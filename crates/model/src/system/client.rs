//! What clients do besides asking: where they are, how they resolve names, and what they do when a reply does not come.

use sojourn_stats::{Law, Span};

/// Some of the workload's clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clients {
    /// Their region, an index into [`crate::System::regions`].
    pub region: usize,
    /// How many they are.
    pub number: u32,
    /// On how many machines, at most one for each: clients of one machine have one address, and one line with its losses.
    pub machines: u32,
}

impl Clients {
    /// So many clients, each on a machine of its own.
    pub fn alone(region: usize, number: u32) -> Clients {
        Clients { region, number, machines: number }
    }

    /// The number of the first client on the machine of client number `client` of these; machines have equally many, or
    /// one more.
    pub fn first_on_machine_of(&self, client: u32) -> u32 {
        let [client, number, machines] = [client, self.number, self.machines].map(u64::from);
        let machine = client * machines / number;
        (machine * number).div_ceil(machines) as u32
    }
}

/// A resolver, which asks the DNS on behalf of clients and keeps the answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolver {
    /// Its name.
    pub name: String,
    /// Its region, an index into [`crate::System::regions`].
    pub region: usize,
    /// The share of the region's clients that it serves.
    pub share: f64,
    /// How long it keeps an answer.
    pub ttl: TtlUse,
}

/// What a resolver makes of an answer's TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlUse {
    /// It keeps the answer so long.
    Honoured,
    /// It keeps the answer at least so long.
    AtLeast(Span),
    /// It keeps every answer so long, whatever the TTL is.
    Ignored(Span),
}

/// What a client does besides asking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// When it resolves the service's name again.
    pub resolves: Resolves,
    /// How long it waits for a reply before it gives the attempt up; none: for ever.
    pub timeout: Option<Span>,
    /// How long it waits in all, from the planned instant over all attempts; none: for ever.
    pub deadline: Option<Span>,
    /// When it tries again; none: never.
    pub retries: Option<Retries>,
    /// When it sends a second request beside the first; none: never.
    pub hedge: Option<Hedge>,
    /// What a server does with the work of an attempt that its client has given up.
    pub abandoned: Abandoned,
    /// Refused, it asks the next address of the DNS's answer.
    pub fails_over: bool,
    /// The classes of requests, by number, that it asks for over TLS.
    pub secure: Vec<u8>,
}

/// What a server does with the work of an attempt that its client has given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Abandoned {
    /// It knows of that at once, and drops it.
    #[default]
    Cancelled,
    /// It does not know, and does the work for nothing.
    Served,
}

/// When a client resolves the service's name again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolves {
    /// When the answer's TTL is over.
    #[default]
    Ttl,
    /// So long after the last time, whatever the TTL is (WebStone: once a minute).
    Every(Span),
    /// Before every request.
    EachRequest,
}

/// When a client tries again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retries {
    /// Attempts after the first, at most.
    pub at_most: u32,
    /// How long it waits before each; none: it asks again at once.
    pub backoff: Option<Backoff>,
    /// What limits the retries and hedges of all clients together; none: nothing.
    pub budget: Option<Budget>,
}

/// How long a client waits before it tries again.
#[derive(Clone, Debug, PartialEq)]
pub enum Backoff {
    /// A time of this law (s), whichever retry it is.
    Law(Law),
    /// Full jitter: before retry k (from 0) any time from 0 to `base` x 2^k, or to `most` if that is less (Brooker,
    /// Exponential Backoff and Jitter, AWS Architecture Blog, 2015; Envoy's `BackOffStrategy` draws the same).
    FullJitter {
        /// The longest wait before the first retry.
        base: Span,
        /// The longest wait before any.
        most: Span,
    },
}

/// A limit to the retries and hedges of all clients together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// So many per request, both counted over the last 10 s.
    Share(f64),
    /// A token bucket: each request puts in this share of a token, each retry takes a token out. It begins empty.
    Tokens {
        /// Tokens per request, above 0 and at most 1.
        per_request: f64,
        /// The most that it holds, at least 1.
        most: u32,
    },
}

/// When a client sends a second request beside the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hedge {
    /// After so long.
    After(Span),
    /// When the first has taken longer than this quantile of the response times so far.
    Quantile(f64),
}

impl TtlUse {
    /// How long an answer with this TTL is kept.
    pub fn keeps(self, ttl: Span) -> Span {
        match self {
            TtlUse::Honoured => ttl,
            TtlUse::AtLeast(least) => ttl.max(least),
            TtlUse::Ignored(own) => own,
        }
    }
}
