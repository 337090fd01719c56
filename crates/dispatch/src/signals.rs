//! What a policy needs to know, and what a face can tell it.
//!
//! Before a run, what the policy requires is compared with what the face provides, and a gap is refused by name. So a
//! face must say what it really tells, and no more: a policy that read a field which no one fills in would give a wrong
//! answer without a word.

use bitflags::bitflags;

use crate::Information;

bitflags! {
    /// What a policy needs to know, and what a face can tell it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Signals: u32 {
        /// Requests in flight: the face sees each request end.
        const IN_FLIGHT = 1;
        /// The instant of a reply's first byte.
        const FIRST_BYTE = 1 << 1;
        /// Bytes of replies.
        const BYTES = 1 << 2;
        /// The client's address: [`Request::client`](crate::Request::client).
        const ADDRESS = 1 << 3;
        /// Cookies can be read and set.
        const COOKIE = 1 << 4;
        /// The backends report their requests in flight, when they are polled or by themselves.
        const REPORTS = 1 << 5;
        /// The path asked for: [`Request::key`](crate::Request::key) is its key.
        const PATH = 1 << 6;
        /// The instant at which the *client* has the first byte of a reply, which no balancer can see: only a simulator
        /// can tell. It stands in for `FIRST_BYTE` at a face that the replies bypass (Zhang 2002, section 5.1.2).
        const CLIENT_FIRST_BYTE = 1 << 7;
        /// How long each backend would take for the request at hand if no other came after it, told before the choice:
        /// it takes the demands of all requests there, which only a simulator knows.
        const PREDICTED_RESPONSE = 1 << 8;
        /// The number of the object asked for: [`Request::object`](crate::Request::object).
        const OBJECT = 1 << 9;
        /// The bytes of the reply, before the choice: [`Request::size`](crate::Request::size).
        const SIZE = 1 << 10;
        /// The operations of the request, as an oracle says: [`Request::work`](crate::Request::work).
        const WORK = 1 << 11;
        /// Where requests come from and where backends are: [`Request::origin`](crate::Request::origin) and
        /// [`Table::origin`](crate::Table::origin).
        const ORIGIN = 1 << 12;
        /// How often the request was redirected and which backend has it now: [`Request::hops`](crate::Request::hops)
        /// and [`Request::here`](crate::Request::here).
        const HOPS = 1 << 13;
        /// The backends report how busy their processor, disk and network are.
        const UTILIZATION = 1 << 14;
        /// The backends report their capacity and the room that is left of it.
        const ROOM = 1 << 15;
        /// The speed and the rates of each backend: [`Table::hardware`](crate::Table::hardware).
        const HARDWARE = 1 << 16;
        /// The backends that own each object: [`Table::owners`](crate::Table::owners).
        const OWNERS = 1 << 17;
        /// The request rate of each client: [`Clients::rate`](crate::Clients::rate).
        const CLIENT_RATES = 1 << 18;
        /// Round trips between clients and backends; the face obeys [`Command::Measure`](crate::Command::Measure).
        const ROUND_TRIPS = 1 << 19;
        /// The face obeys [`Command::Probe`](crate::Command::Probe).
        const PROBES = 1 << 20;
        /// How long a choice will be kept: [`Request::lease`](crate::Request::lease).
        const LEASES = 1 << 21;
        /// The round trip between the client and the decider: [`Request::round_trip`](crate::Request::round_trip).
        const CLIENT_ROUND_TRIP = 1 << 22;
    }
}

impl Signals {
    /// What an HTTP gateway sees: everything that passes it. Reports come only where it polls: add
    /// [`Information::signals`].
    pub const GATEWAY: Signals = Signals::IN_FLIGHT
        .union(Signals::FIRST_BYTE)
        .union(Signals::BYTES)
        .union(Signals::ADDRESS)
        .union(Signals::COOKIE)
        .union(Signals::PATH);

    /// What a packet switch sees whose replies go straight to the client: the client's address and, from the client's
    /// own packets, the end of each connection. No first byte, no bytes of replies, no cookie, no path. Reports come
    /// only where it polls: add [`Information::signals`].
    pub const SWITCH: Signals = Signals::IN_FLIGHT.union(Signals::ADDRESS);

    /// What a packet switch sees that splices connections whose replies go straight to the client: the head of each
    /// connection's first request too.
    pub const SPLICE_ASYMMETRIC: Signals = Signals::SWITCH.union(Signals::PATH);

    /// What a packet switch sees that splices connections whose replies pass it: their bytes too. Cookies it cannot set.
    pub const SPLICE: Signals = Signals::SPLICE_ASYMMETRIC.union(Signals::FIRST_BYTE).union(Signals::BYTES);

    /// What a DNS sees of those who ask it, and what it decides itself: how long its answer is kept. It sees no request. Where
    /// clients are, reports, rates and round trips come where it is told of them.
    pub const DNS: Signals = Signals::ADDRESS.union(Signals::LEASES);

    /// What a node of a cluster sees of a request and knows of the other nodes, their reports included.
    pub const NODE: Signals = Signals::ADDRESS
        .union(Signals::PATH)
        .union(Signals::OBJECT)
        .union(Signals::SIZE)
        .union(Signals::WORK)
        .union(Signals::HOPS)
        .union(Signals::HARDWARE)
        .union(Signals::OWNERS)
        .union(Signals::CLIENT_ROUND_TRIP)
        .union(Signals::REPORTS)
        .union(Signals::UTILIZATION)
        .union(Signals::ROOM);

    /// In words, for messages: what a face does that provides the first of these signals.
    pub(crate) fn in_words(self) -> &'static str {
        WORDS.iter().find(|(signal, _)| self.contains(*signal)).map_or("nothing", |(_, words)| words)
    }
}

impl Information {
    /// What it adds to the signals of a face that polls as it says.
    pub fn signals(self) -> Signals {
        match self {
            Information::Immediate => Signals::empty(),
            Information::Polled { .. } => Signals::REPORTS,
        }
    }
}

const WORDS: [(Signals, &str); 23] = [
    (Signals::IN_FLIGHT, "the end of each request (in-flight)"),
    (
        Signals::FIRST_BYTE,
        "the first byte of each reply (first-byte, or in a simulator the client's own: client-first-byte)",
    ),
    (Signals::BYTES, "the bytes of replies (bytes)"),
    (Signals::ADDRESS, "the client's address (address)"),
    (Signals::COOKIE, "the client's cookies (cookie)"),
    (Signals::REPORTS, "the load that backends report (reports)"),
    (Signals::PATH, "the path asked for (path)"),
    (Signals::CLIENT_FIRST_BYTE, "the client's own first byte, which only a simulator can tell (client-first-byte)"),
    (
        Signals::PREDICTED_RESPONSE,
        "a prediction of its response time, which only a simulator can tell (predicted-response)",
    ),
    (Signals::OBJECT, "the number of the object asked for (object)"),
    (Signals::SIZE, "the size of the reply before it is made (size)"),
    (Signals::WORK, "the work of each request (work)"),
    (Signals::ORIGIN, "where requests come from and where backends are (origin)"),
    (Signals::HOPS, "how often each request was redirected (hops)"),
    (Signals::UTILIZATION, "how busy the backends report to be (utilization)"),
    (Signals::ROOM, "the room and capacity that backends report (room)"),
    (Signals::HARDWARE, "the hardware of each backend (hardware)"),
    (Signals::OWNERS, "the owners of each object (owners)"),
    (Signals::CLIENT_RATES, "the request rate of each client (client-rates)"),
    (Signals::ROUND_TRIPS, "round trips between clients and backends (round-trips)"),
    (Signals::PROBES, "probes of backends (probes)"),
    (Signals::LEASES, "how long each answer is kept (leases)"),
    (Signals::CLIENT_ROUND_TRIP, "the round trip to each client (client-round-trip)"),
];
