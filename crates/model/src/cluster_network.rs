//! The network between users and a cluster as data: round trip, rates, TCP, and the costs of balancing.
//!
//! Everything is at the level of flows. A reply is a flow that shares links ([`crate::Flows`]). The delay that TCP adds
//! is computed beforehand: a round trip to set a connection up, and the time that a sender in slow start waits for
//! acknowledgements ([`Tcp::stall`]). Loss, retransmission and the congestion between flows are not modelled; headers
//! and the bytes of requests are not counted.

use sojourn_stats::Span;

use crate::Link;

/// The network of a cluster: each user's own link, a backbone, the cluster's hub, each server's own link. Replies cross
/// all of them; requests and acknowledgements are small and are only delayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterNetwork {
    /// Round trip between a user and the cluster, empty.
    pub rtt: Span,
    /// Round trip between the balancer and a server, empty; of single requests only.
    pub server_rtt: Span,
    /// Each user's own link (bit/s). For every rate here, none means infinitely fast.
    pub client_rate: Option<f64>,
    /// The link between backbone and cluster, which all replies share (bit/s).
    pub cluster_rate: Option<f64>,
    /// The backbone, which all replies share too (bit/s).
    pub backbone_rate: Option<f64>,
    /// Each server's own link (bit/s).
    pub server_rate: Option<f64>,
    /// TCP's parameters.
    pub tcp: Tcp,
}

/// The parameters of TCP that matter to a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcp {
    /// Bytes of a full segment.
    pub segment: u64,
    /// Segments that a new connection may send before the first acknowledgement.
    pub initial_window: u32,
    /// Acknowledgements per segment: 1, or 0.5 when every other one is left out (delayed acknowledgements).
    pub acks_per_segment: f64,
    /// Share of the replies that lose a packet which only a timeout recovers.
    pub timeouts: f64,
    /// Length of this timeout.
    pub timeout: Span,
}

/// The largest window (segments): with it no sender waits on any link that is modelled here.
const WINDOW_LIMIT: u64 = 1 << 20;

/// Bytes of an IP header (IP-in-IP encapsulation: RFC 2003).
const TUNNEL_HEADER: u64 = 20;

impl Default for Tcp {
    /// Ethernet's segment of 1460 B, an initial window of 10 (RFC 6928), every other acknowledgement left out (RFC
    /// 5681).
    fn default() -> Tcp {
        Tcp { segment: 1460, initial_window: 10, acks_per_segment: 0.5, timeouts: 0.0, timeout: Span::ZERO }
    }
}

impl ClusterNetwork {
    /// A client's own link to the system, each way.
    pub fn client_link(&self) -> Link {
        Link { delay: Span(self.rtt.0 / 2), rate: self.client_rate }
    }

    /// The link between balancer and servers, each way, which all replies share.
    pub fn cluster_link(&self) -> Link {
        Link { delay: Span(self.server_rtt.0 / 2), rate: self.cluster_rate }
    }

    /// The rate that all replies share: the slower of hub and backbone (bit/s).
    pub fn shared_rate(&self) -> Option<f64> {
        least([self.cluster_rate, self.backbone_rate])
    }

    /// The rate of a flow without competition (bit/s): the least of all links; none: infinitely fast.
    pub fn nominal_rate(&self) -> Option<f64> {
        least([self.client_rate, self.cluster_rate, self.backbone_rate, self.server_rate])
    }

    /// Transmission time of `bytes` on the slowest link, without competition.
    pub fn transmission(&self, bytes: u64) -> Span {
        self.nominal_rate().map_or(Span::ZERO, |rate| Span::from_secs_f64(bytes as f64 * 8.0 / rate))
    }

    /// Refuses an impossible network in one line.
    ///
    /// # Errors
    /// On a rate that is not above 0, a segment of 0 bytes, a window of 0 segments, acknowledgements below 0.
    pub fn check(&self) -> Result<(), String> {
        let rates = [
            ("client_rate", self.client_rate),
            ("cluster_rate", self.cluster_rate),
            ("backbone_rate", self.backbone_rate),
            ("server_rate", self.server_rate),
        ];
        if let Some((name, Some(rate))) = rates.iter().find(|(_, rate)| rate.is_some_and(|rate| !is_positive(rate))) {
            return Err(format!("network.{name} = {rate}: a rate is above 0, as in `10 Mbit/s`"));
        }
        let Tcp { segment, initial_window, acks_per_segment, timeouts, .. } = self.tcp;
        if !(0.0..=1.0).contains(&timeouts) {
            return Err(format!("network.tcp.timeouts = {timeouts}: a share of the replies, from 0 to 1"));
        }
        if segment == 0 {
            return Err("network.tcp.segment = 0: a segment has bytes, e.g. 1460".into());
        }
        if initial_window == 0 {
            return Err("network.tcp.initial_window = 0: a connection begins with at least 1 segment".into());
        }
        if !(acks_per_segment >= 0.0 && acks_per_segment.is_finite()) {
            return Err(format!("network.tcp.acks_per_segment = {acks_per_segment}: 1, or 0.5 when delayed"));
        }
        Ok(())
    }
}

impl Tcp {
    /// The total time that a sender with a window of `window` segments waits for acknowledgements while it sends
    /// `bytes` at `rate` (bit/s; none: infinitely fast), and its window afterwards.
    ///
    /// A window of w segments takes w S/R to send, and its first acknowledgement comes S/R + RTT after its start: the
    /// sender stalls for S/R + RTT - w S/R, where that is positive, after every window but the last; each window is
    /// twice the one before (Kurose and Ross, Computer Networking, section 3.7; Cardwell, Savage and Anderson, INFOCOM
    /// 2000, without loss). Every segment acknowledged makes the window one larger, so that after n of them it is
    /// window + n; it stays so while the connection is idle (no restart after idleness).
    #[inline]
    pub fn stall(&self, window: u32, bytes: u64, rate: Option<f64>, rtt: Span) -> (Span, u32) {
        let segments = bytes.div_ceil(self.segment);
        let after = (u64::from(window) + segments).min(WINDOW_LIMIT) as u32;
        let mut left = segments;
        let mut open = u64::from(window);
        if left <= open {
            return (Span::ZERO, after);
        }
        let segment_s = rate.map_or(0.0, |rate| self.segment as f64 * 8.0 / rate);
        let rtt_s = rtt.as_secs_f64();
        let mut stall_s = 0.0;
        while left > open {
            let wait_s = segment_s + rtt_s - open as f64 * segment_s;
            if wait_s <= 0.0 {
                break; // larger windows never wait
            }
            stall_s += wait_s;
            left -= open;
            open *= 2;
        }
        (Span::from_secs_f64(stall_s), after)
    }
}

/// How a balancer changes packets (Zhang 2002, section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Network address translation: rewrites the packets of both directions, so that replies pass it (a gateway).
    Nat,
    /// Rewrites incoming packets; servers answer under the cluster's address, straight to the user (a switch).
    SingleRewriting,
    /// Puts incoming packets into packets for the server (20 B more); replies go straight to the user.
    IpTunnelling,
    /// Addresses incoming frames to the server; replies go straight to the user.
    MacForwarding,
}

/// A balancer and its costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balancing {
    /// How it changes packets.
    pub mode: Mode,
    /// Work per packet that passes it.
    pub per_packet: Span,
    /// Work per connection, besides its packets.
    pub per_connection: Span,
    /// Cores of the balancer CPU, for which packets wait; none: the work is a delay without waiting, as in Zhang's
    /// simulator.
    pub cores: Option<u32>,
}

impl Mode {
    /// Whether replies pass the balancer.
    pub fn is_two_way(self) -> bool {
        self == Mode::Nat
    }

    /// Its name in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Nat => "nat",
            Mode::SingleRewriting => "single-rewriting",
            Mode::IpTunnelling => "ip-tunnelling",
            Mode::MacForwarding => "mac-forwarding",
        }
    }
}

impl Balancing {
    /// A balancer that costs nothing.
    pub fn free(mode: Mode) -> Balancing {
        Balancing { mode, per_packet: Span::ZERO, per_connection: Span::ZERO, cores: None }
    }

    /// Delay of an incoming packet without waiting: its work, and in a tunnel the longer packet on the way to the
    /// server.
    pub fn inbound(&self, network: &ClusterNetwork) -> Span {
        let tunnel = match (self.mode, network.server_rate.or(network.cluster_rate)) {
            (Mode::IpTunnelling, Some(rate)) => Span::from_secs_f64(TUNNEL_HEADER as f64 * 8.0 / rate),
            _ => Span::ZERO,
        };
        self.per_packet + tunnel
    }

    /// Delay of an outgoing packet without waiting.
    pub fn outbound(&self) -> Span {
        if self.mode.is_two_way() { self.per_packet } else { Span::ZERO }
    }

    /// Packets that pass the balancer for each segment of a reply: its acknowledgements, and behind NAT itself.
    pub fn packets_per_segment(&self, tcp: &Tcp) -> f64 {
        tcp.acks_per_segment + if self.mode.is_two_way() { 1.0 } else { 0.0 }
    }

    /// The rate (bit/s) at which replies can flow when `share` of the cores' time is left to their packets; none: no
    /// limit.
    pub fn reply_rate(&self, tcp: &Tcp, share: f64) -> Option<f64> {
        let packets = self.packets_per_segment(tcp);
        let cores = self.cores.filter(|_| self.per_packet > Span::ZERO && packets > 0.0)?;
        let packet_rate = share * f64::from(cores) / self.per_packet.as_secs_f64();
        Some(packet_rate / packets * tcp.segment as f64 * 8.0)
    }

    /// Refuses an impossible balancer in one line.
    ///
    /// # Errors
    /// With 0 cores.
    pub fn check(&self) -> Result<(), String> {
        match self.cores {
            Some(0) => Err("balancing.cores = 0: at least 1; leave it out for a delay that never waits".into()),
            _ => Ok(()),
        }
    }
}

fn is_positive(rate: f64) -> bool {
    rate > 0.0 && rate.is_finite()
}

fn least<const N: usize>(rates: [Option<f64>; N]) -> Option<f64> {
    rates.into_iter().flatten().reduce(f64::min)
}
