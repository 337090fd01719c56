//! Tiers: who decides where a request goes next, what it is told, and what passing it costs.

use sojourn_dispatch::Guards;
use sojourn_stats::Span;

use crate::{Balancing, Mode};

/// A tier: deciders with one policy, side by side or one in each place.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// How requests and replies pass it.
    pub face: Face,
    /// Its policy, e.g. `round-trip(window = 1 s)`.
    pub policy: String,
    /// Its deciders.
    pub seats: Vec<Seat>,
    /// Dispatchers with state of their own in each seat: each request goes to one of them, drawn.
    pub dispatchers: u32,
    /// Time between polls of the targets' load, which then stands in for the tier's own counts; none: its own counts.
    pub polled: Option<Span>,
    /// Work that a poll is to the server polled.
    pub poll_cost: Span,
    /// A weight per target; empty: all equal.
    pub weights: Vec<f64>,
    /// What a choice is held for, where users browse.
    pub affinity: Affinity,
    /// When users count as attached to a target, where they browse.
    pub attachment: Attachment,
    /// What passing it costs.
    pub balancing: Balancing,
    /// What a simulator tells the policy beyond what the face sees.
    pub told: Vec<Told>,
    /// How long an answer may be kept, of a DNS.
    pub ttl: Span,
    /// What that depends on.
    pub ttl_rule: TtlRule,
    /// What its targets report, and when; none: nothing.
    pub reports: Option<Reports>,
    /// How it measures round trips to clients; none: it does not.
    pub probes: Option<Probes>,
    /// How long a client holds what it has chosen, where clients decide.
    pub held: Held,
    /// Requests that have targets of their own, the first that fits; the tier's seats have the rest.
    pub pools: Vec<Pool>,
    /// Most requests at each target; none: as many as come.
    pub limit: Option<Limit>,
    /// Most requests at each target, where they differ, 0 for as many as come; they return with the next one that ends. Then
    /// `limit` is the largest of them. Empty: all have `limit`.
    pub limits: Vec<u32>,
    /// With all targets full requests wait at the decider, the oldest for the first target that has room. Else they are refused.
    pub waits: bool,
    /// What guards its targets, and its clients, when something goes wrong.
    pub guards: Guards,
    /// What becomes of a request that no target can take; none: it is refused.
    pub overflow: Option<Overflow>,
}

/// How requests and replies pass a tier, and so how long a choice is held and what its decider hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// A reverse proxy: both ways through it.
    Gateway,
    /// A packet switch: requests through it, replies straight to the client.
    Switch,
    /// A node that answers with the address of another one, which the client then asks.
    Redirect,
    /// An authoritative DNS server: its answer is kept until the TTL ends.
    Dns,
    /// The client itself.
    Client,
}

/// A decider of a tier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// Its site, an index into [`crate::System::sites`].
    pub site: Option<usize>,
    /// The host that it is on, where there is one on every server.
    pub host: Option<usize>,
    /// What it chooses from.
    pub targets: Vec<Target>,
    /// Seats of the same tier at other sites, which take what none of its targets can.
    pub overflow: Vec<usize>,
}

/// What a decider can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A server, an index into [`crate::System::hosts`].
    Host(usize),
    /// A decider of another tier.
    Seat {
        /// An index into [`crate::System::tiers`].
        tier: usize,
        /// An index into its seats.
        seat: usize,
    },
}

/// What a choice is held for, shortest first: session affinity (stickiness, persistence) or less. An experiment says `level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Affinity {
    /// A request.
    Request,
    /// A connection.
    Connection,
    /// A session: all of its connections go to one server.
    Session,
}

/// When a user counts as attached to a server: what delay curves read, and what dispatchers of sessions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// While it has a connection there (a request, where choices are made for them).
    WhileConnected,
    /// To the server of its session's first connection, until the session's last byte.
    Session,
    /// The same, until its next session has a server: thinking between sessions counts too.
    UntilNext,
}

/// What only a simulator can tell a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Bytes of replies.
    Bytes,
    /// The instant at which the client has a reply's first byte.
    ClientFirstByte,
    /// How long each server would take for the request at hand.
    PredictedResponse,
}

/// What the TTL of an answer depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlRule {
    /// Nothing.
    #[default]
    Constant,
    /// The load of the system: the more targets are without room, the shorter it is.
    Variable,
    /// Who asks and what is answered: the busier the client and the smaller the target, the shorter it is.
    Adaptive,
}

/// How long a client holds what it has chosen. A request that fails ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// For the request that it was chosen for.
    #[default]
    Request,
    /// So long.
    For(Span),
    /// To the end of the run.
    Run,
}

/// What targets report to a tier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reports {
    /// How often a target looks whether its load has changed.
    pub every: Span,
    /// The longest time between two reports; none: `every`.
    pub heartbeat: Option<Span>,
    /// How often the request rates of clients are reported; none: never.
    pub client_rates: Option<Span>,
    /// Rates are counted by who asks the DNS, and all of them are told: a resolver's is that of all clients behind it, its
    /// hidden load (Colajanni, Yu, Dias, Analysis of task assignment policies in scalable distributed Web-server systems,
    /// IEEE TPDS 9 (6), 1998).
    pub hidden_load: bool,
    /// Time that the receiver takes for each report; the next one waits meanwhile.
    pub cost: Span,
    /// Reports are lost as other packets are; otherwise all of them arrive.
    pub lossy: bool,
    /// Name of what estimates capacity from them, as `dispatch` knows it; none: its default.
    pub estimator: Option<&'static str>,
    /// The share of the rate of saturation that counts as a target's capacity, above 0 and at most 1.
    pub capacity_at: f64,
}

/// How a tier measures round trips to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Sites asked to probe a client, at most.
    pub at_most: u32,
    /// How old a round trip may become.
    pub refresh: Span,
}

/// Requests of a tier that have targets and a policy of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The host name that it is for; none: any.
    pub host: Option<String>,
    /// What paths begin with; none: any.
    pub path: Option<String>,
    /// Its policy.
    pub policy: String,
    /// What it chooses from.
    pub targets: Vec<Target>,
    /// A weight per target; empty: all equal.
    pub weights: Vec<f64>,
}

/// Most requests at a target, counted by the decider that sends them: from being sent on to the end that it hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// A target with so many is full, and gets no more.
    pub connections: u32,
    /// With no more than these it is chosen again.
    pub returns: u32,
}

/// A request that no target can take goes to a seat of the same tier at another site, once: that one serves or refuses it. The
/// seat with the fewest such requests gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Most of them at each other seat; none: as many as come.
    pub limit: Option<Limit>,
}

impl Tier {
    /// The limit of target number `place`, if it has one.
    pub fn limit_of(&self, place: usize) -> Option<Limit> {
        match self.limits.get(place) {
            None => self.limit,
            Some(0) => None,
            Some(most) => Some(Limit { connections: *most, returns: *most - 1 }),
        }
    }

    /// A tier of this face and policy that costs nothing and counts for itself.
    pub fn new(face: Face, policy: &str) -> Tier {
        let mode = if face == Face::Switch { Mode::SingleRewriting } else { Mode::Nat };
        Tier {
            name: face.name().into(),
            face,
            policy: policy.into(),
            seats: Vec::new(),
            dispatchers: 1,
            polled: None,
            poll_cost: Span::ZERO,
            weights: Vec::new(),
            affinity: if face == Face::Switch { Affinity::Connection } else { Affinity::Request },
            attachment: Attachment::WhileConnected,
            balancing: Balancing::free(mode),
            told: Vec::new(),
            ttl: Span::ZERO,
            ttl_rule: TtlRule::Constant,
            reports: None,
            probes: None,
            held: Held::Request,
            pools: Vec::new(),
            limit: None,
            limits: Vec::new(),
            waits: false,
            guards: Guards::default(),
            overflow: None,
        }
    }
}

impl Face {
    /// Its name in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Face::Gateway => "gateway",
            Face::Switch => "switch",
            Face::Redirect => "redirect",
            Face::Dns => "dns",
            Face::Client => "client",
        }
    }
}

impl Affinity {
    /// Its name in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Affinity::Session => "session",
            Affinity::Connection => "connection",
            Affinity::Request => "request",
        }
    }
}

impl Told {
    /// Its name in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Told::Bytes => "bytes",
            Told::ClientFirstByte => "client-first-byte",
            Told::PredictedResponse => "predicted-response",
        }
    }
}
