//! Implementations of TCP as data, and what a sender knows of a connection.

use sojourn_stats::Span;

/// An implementation of TCP: what the time of a transfer depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpStack {
    /// Bytes of data in a full segment.
    pub segment: u64,
    /// Bytes of a packet's headers, of IP and TCP.
    pub header: u64,
    /// Segments that a new connection may send before the first acknowledgement.
    pub initial_window: u32,
    /// Bytes that may be under way to a receiver.
    pub receive_window: u64,
    /// Segments of a new connection that are acknowledged one by one.
    pub quick_acks: u32,
    /// By how much the window grows in slow start for each later segment: 1, or 0.5 where every other acknowledgement is left
    /// out and acknowledgements are counted, not bytes.
    pub growth: f64,
    /// By how many segments the window grows in a round trip beyond slow start.
    pub increase: f64,
    /// What is left of the window after a loss.
    pub decrease: f64,
    /// Before a SYN or its answer is sent again; twice as long each time, but for [`TcpStack::linear_syns`].
    pub syn_timeout: Span,
    /// Further time-outs of a SYN, not of its answer, that are as long as the first one.
    pub linear_syns: u32,
    /// SYNs that a client sends before it gives the connection up.
    pub syns: u32,
    /// Before a segment is sent again, while no round trip has been measured; and between which bounds afterwards.
    pub initial_timeout: Span,
    /// See [`TcpStack::initial_timeout`].
    pub least_timeout: Span,
    /// See [`TcpStack::initial_timeout`].
    pub most_timeout: Span,
    /// What a time-out adds to the round trip at least.
    pub least_variation: Span,
    /// Times that a segment is sent before the connection is given up.
    pub sends: u32,
    /// How losses are found and repaired.
    pub recovery: Recovery,
}

/// How losses are found and repaired without a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Three duplicate acknowledgements; one segment per round trip is repaired (RFC 6582).
    NewReno,
    /// Three duplicate acknowledgements; all lost segments are repaired in one round trip (RFC 6675).
    Sack,
    /// One later acknowledgement, of segments that were sent again too, and a probe two round trips after the last segment
    /// (RACK-TLP, RFC 8985).
    Rack,
}

/// What a sender knows of its connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConnection {
    /// Congestion window, and where slow start ends (segments).
    pub(super) window: f64,
    pub(super) threshold: f64,
    /// Segments that the receiver has acknowledged.
    pub(super) acknowledged: u64,
    /// Four times the mean deviation of the round trip (s); none while no round trip has been measured.
    pub(super) variation_s: Option<f64>,
}

/// Linux acknowledges so many segments of a new connection one by one.
const LINUX_QUICK_ACKS: u32 = 16;

impl TcpStack {
    /// Linux 2.2, of 1999 to 2001: an initial window of 2 segments (RFC 2414), 3 s before the first SYN is repeated (RFC 1122),
    /// 200 ms at least before a segment is (`HZ / 5`), windows of 32 kB, Reno's growth by acknowledgements. Its SACK is left
    /// out: few of the files of its time are long enough for three duplicate acknowledgements.
    pub const LINUX_2_2: TcpStack = TcpStack {
        segment: 1448,
        header: 52,
        initial_window: 2,
        receive_window: 32_120,
        quick_acks: LINUX_QUICK_ACKS,
        growth: 0.5,
        increase: 0.5,
        decrease: 0.5,
        syn_timeout: Span(3_000_000_000),
        linear_syns: 0,
        syns: 11,
        initial_timeout: Span(3_000_000_000),
        least_timeout: Span(200_000_000),
        most_timeout: Span(120_000_000_000),
        least_variation: Span::ZERO,
        sends: 16,
        recovery: Recovery::NewReno,
    };

    /// Linux 6, from 6.5 on: an initial window of 10 segments (RFC 6928), SYNs after 1, 2, 3, 4, 5, 7, 11 s and so on
    /// (`tcp_syn_linear_timeouts` is 4; the last one after 67 s), a round trip and 200 ms before a segment is repeated, RACK-TLP,
    /// and of CUBIC (RFC 9438) the decrease and the growth near a loss.
    pub const LINUX_6: TcpStack = TcpStack {
        segment: 1448,
        header: 52,
        initial_window: 10,
        receive_window: 3 << 20,
        quick_acks: LINUX_QUICK_ACKS,
        growth: 1.0,
        increase: 0.53,
        decrease: 0.7,
        syn_timeout: Span(1_000_000_000),
        linear_syns: 4,
        syns: 11,
        initial_timeout: Span(1_000_000_000),
        least_timeout: Span(200_000_000),
        most_timeout: Span(120_000_000_000),
        least_variation: Span(200_000_000),
        sends: 16,
        recovery: Recovery::Rack,
    };

    /// The stacks by their names in an experiment.
    pub const NAMED: [(&str, TcpStack); 2] = [("linux-2.2", TcpStack::LINUX_2_2), ("linux-6", TcpStack::LINUX_6)];

    /// Bytes on the link for so many bytes of data, headers included.
    pub fn on_the_link(&self, bytes: u64) -> u64 {
        bytes + self.segments(bytes) * self.header
    }

    pub(super) fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.segment).max(1)
    }

    /// Before a segment is sent again (RFC 6298).
    pub(super) fn timeout_s(&self, connection: &TcpConnection, rtt_s: f64) -> f64 {
        let Some(variation_s) = connection.variation_s else { return self.initial_timeout.as_secs_f64() };
        let timeout_s = rtt_s + variation_s.max(self.least_variation.as_secs_f64());
        timeout_s.clamp(self.least_timeout.as_secs_f64(), self.most_timeout.as_secs_f64())
    }
}
