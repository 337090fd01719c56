//! What TCP and a balancer add to a flow.

use sojourn_model::{Balancing, ClusterNetwork, Mode, Tcp};
use sojourn_stats::Span;

const MS: u64 = 1_000_000;

#[test]
fn slow_start_stalls_as_computed_by_hand() {
    let tcp = Tcp { segment: 1000, initial_window: 1, acks_per_segment: 1.0, ..Tcp::default() };
    let rtt = Span(10 * MS);
    // 8 Mbit/s: a segment takes 1 ms. 7 segments leave in windows of 1, 2 and 4: stalls of 10 ms and 9 ms.
    assert_eq!(tcp.stall(1, 7_000, Some(8e6), rtt), (Span(19 * MS), 8));
    // The last window of 8 segments more: 7 ms after the window of 4.
    assert_eq!(tcp.stall(1, 7_001, Some(8e6), rtt), (Span(26 * MS), 9));
    // A window of 16 covers the 11 ms until its first acknowledgement: 10 + 9 + 7 + 3 ms, however long the file.
    assert_eq!(tcp.stall(1, 1_000_000, Some(8e6), rtt).0, Span(29 * MS));
    // What fits into the window never waits.
    assert_eq!(tcp.stall(7, 7_000, Some(8e6), rtt), (Span::ZERO, 14));
    // On an infinitely fast link each window but the last costs a round trip.
    assert_eq!(tcp.stall(1, 15_000, None, rtt).0, Span(30 * MS));
    assert_eq!(tcp.stall(1, 0, None, rtt), (Span::ZERO, 1));
    // The window has a largest value.
    assert_eq!(tcp.stall(u32::MAX, 1, None, rtt).1, 1 << 20);
}

#[test]
fn rates_are_those_of_the_slowest_link() {
    let network = ClusterNetwork {
        server_rtt: Span::ZERO,
        rtt: Span(MS),
        client_rate: Some(10e6),
        cluster_rate: Some(100e6),
        backbone_rate: Some(1e9),
        server_rate: None,
        tcp: Tcp::default(),
    };
    assert_eq!((network.nominal_rate(), network.shared_rate()), (Some(10e6), Some(100e6)));
    assert_eq!(network.transmission(1250), Span(MS));
    assert_eq!(ClusterNetwork::default().nominal_rate(), None);
    assert!(network.check().is_ok());
    let mut broken = network;
    broken.cluster_rate = Some(0.0);
    assert!(broken.check().unwrap_err().contains("network.cluster_rate"));
    broken = network;
    broken.tcp.initial_window = 0;
    assert!(broken.check().unwrap_err().contains("initial_window"));
}

#[test]
fn a_balancer_that_replies_pass_carries_more_packets() {
    let tcp = Tcp { segment: 1000, initial_window: 1, acks_per_segment: 1.0, ..Tcp::default() };
    let network = ClusterNetwork { server_rate: Some(100e6), tcp, ..ClusterNetwork::default() };
    let of = |mode| Balancing { mode, per_packet: Span(100_000), per_connection: Span::ZERO, cores: Some(1) };
    let (nat, mac) = (of(Mode::Nat), of(Mode::MacForwarding));
    assert_eq!((nat.packets_per_segment(&tcp), mac.packets_per_segment(&tcp)), (2.0, 1.0));
    // 10,000 packets a second: 5,000 or 10,000 segments of 8,000 bits.
    assert_eq!((nat.reply_rate(&tcp, 1.0), mac.reply_rate(&tcp, 0.5)), (Some(40e6), Some(40e6)));
    assert_eq!((nat.outbound(), mac.outbound()), (Span(100_000), Span::ZERO));
    // 20 B at 100 Mbit/s take 1.6 us.
    assert_eq!(of(Mode::IpTunnelling).inbound(&network), Span(101_600));
    assert_eq!(Balancing { cores: None, ..nat }.reply_rate(&tcp, 1.0), None);
    assert!(Balancing { cores: Some(0), ..nat }.check().is_err());
}
