//! Several links: routes, media that routes share, cuts; and topologies.

use std::net::Ipv4Addr;

use sojourn_bed::link::{LinkSpec, Queue};
use sojourn_bed::{Network, Topology, TopologyError};
use sojourn_model::LossLaw;
use sojourn_stats::{Span, Time};

const ROOM: Queue = Queue::DropTail { bytes: 1 << 20 };

/// Hosts a, b and c; each sends to c over a way of its own of 10 ms and then over one medium of 8 Mbit/s.
fn shared() -> Topology {
    let mut topology = Topology::default();
    for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
        topology.host(name, Ipv4Addr::new(10, 0, 0, index as u8 + 1));
    }
    let medium = topology.link(LinkSpec::constant("medium", Span::ZERO).at(8e6, ROOM));
    for from in 0..3 {
        for to in (0..3).filter(|to| *to != from) {
            let way = topology.link(LinkSpec::constant(format!("{from}{to}"), Span(10_000_000)));
            topology.route(from, to, if to == 2 { vec![way, medium] } else { vec![way] });
        }
    }
    topology
}

/// All that leaves, as (ms, host, packet).
fn all(network: &mut Network<u32>, until: Time) -> Vec<(u64, usize, u32)> {
    let mut left = Vec::new();
    network.advance(until, |at, host, packet| left.push((at.0 / 1_000_000, host, packet)));
    left
}

#[test]
fn routes_that_name_one_medium_share_its_rate() {
    let mut network = Network::new(&shared(), 1).expect("a network");
    // 1000 bytes take 1 ms on the medium. Both come to it at 10 ms; what goes to b does not pass it.
    network.enter(Time(0), 0, 2, 1000, 1);
    network.enter(Time(0), 1, 2, 1000, 2);
    network.enter(Time(0), 0, 1, 1000, 3);
    network.enter(Time(0), 0, 2, 1000, 4);
    assert_eq!(network.next_at(), Some(Time(0)));
    assert_eq!(all(&mut network, Time::NEVER), [(10, 1, 3), (11, 2, 1), (12, 2, 2), (13, 2, 4)]);
    assert_eq!(network.next_at(), None);
}

/// A late look changes nothing but when it is seen.
#[test]
fn what_happens_does_not_depend_on_when_it_is_looked_at() {
    let run = |step: u64| {
        let mut network = Network::new(&shared(), 1).expect("a network");
        let mut left = Vec::new();
        for k in 0..1000_u64 {
            let now = Time(k * 700_000);
            if k % step == 0 {
                left.extend(all(&mut network, now));
            }
            network.enter(now, (k % 2) as usize, 2, 1000, k as u32);
        }
        left.extend(all(&mut network, Time::NEVER));
        left
    };
    assert_eq!(run(1), run(37));
    assert_eq!(run(1).len(), 1000);
}

#[test]
fn a_cut_loses_what_is_under_way_and_a_mended_way_carries_again() {
    let mut network = Network::new(&shared(), 1).expect("a network");
    network.enter(Time(0), 0, 2, 1000, 1);
    network.enter(Time(0), 1, 2, 1000, 2);
    assert_eq!(all(&mut network, Time(5_000_000)), []);
    network.cut(0, 2, true);
    network.enter(Time(6_000_000), 0, 2, 1000, 3);
    assert_eq!(all(&mut network, Time(50_000_000)), [(11, 2, 2)], "the other way is whole");
    assert_eq!(network.cut_packets(), 2);
    network.cut(0, 2, false);
    network.enter(Time(60_000_000), 0, 2, 1000, 4);
    assert_eq!(all(&mut network, Time::NEVER), [(71, 2, 4)]);
}

/// A further loss is of the packets from then on, until another one takes its place, and of one direction.
#[test]
fn a_way_loses_more_for_a_while() {
    let mut network = Network::new(&shared(), 1).expect("a network");
    let lost = |from: usize, network: &mut Network<u32>| {
        let now = network.next_at().unwrap_or(Time(0));
        (0..2000).for_each(|number| network.enter(now, from, 1 - from, 100, number));
        2000 - all(network, Time::NEVER).len()
    };
    assert_eq!(lost(0, &mut network), 0);
    network.lose(0, 1, LossLaw::independent(0.5));
    // Binomial: 1000, standard deviation 22.4; 5 of them are passed once in 1.7 million runs.
    assert!((lost(0, &mut network) as f64 - 1000.0).abs() < 5.0 * 22.4);
    assert_eq!(lost(1, &mut network), 0, "the other way is whole");
    network.lose(0, 1, LossLaw::default());
    assert_eq!(lost(0, &mut network), 0);
}

/// What is lost is lost on the last link of a way, where all ways that end there pass.
#[test]
fn a_further_loss_is_where_ways_end() {
    let mut network = Network::new(&shared(), 1).expect("a network");
    network.lose(0, 2, LossLaw::independent(0.5));
    for from in [0, 1] {
        let now = network.next_at().unwrap_or(Time(0));
        (0..2000).for_each(|number| network.enter(now, from, 2, 100, number));
        let came = all(&mut network, Time::NEVER).len();
        // Binomial, as above.
        assert!((came as f64 - 1000.0).abs() < 5.0 * 22.4, "{came} of 2000 came from {from}");
    }
}

#[test]
fn a_topology_that_cannot_be_is_refused_by_name() {
    let refused = |change: fn(&mut Topology)| {
        let mut topology = shared();
        change(&mut topology);
        topology.check().expect_err("it cannot be")
    };
    assert!(shared().check().is_ok());
    let error = refused(|topology| drop(topology.routes.remove(&(1, 2))));
    assert_eq!(error.to_string(), "nothing connects b to c: every host needs a route to every other one");
    assert!(matches!(refused(|topology| topology.hosts.clear()), TopologyError::Empty));
    assert!(matches!(refused(|topology| topology.hosts[1].name = "a".into()), TopologyError::NamedTwice(_)));
    let same = |topology: &mut Topology| topology.hosts[1].address = topology.hosts[0].address;
    assert!(matches!(refused(same), TopologyError::AddressedTwice(..)));
    for name in ["", "a b", "../etc", "a/b", ".."] {
        let mut topology = shared();
        topology.hosts[0].name = name.into();
        assert!(matches!(topology.check(), Err(TopologyError::Name(_))), "`{name}`");
    }
    let beyond = |topology: &mut Topology| topology.route(0, 1, [99]);
    assert!(matches!(refused(beyond), TopologyError::NoSuchLink(..)));
    let alike = |topology: &mut Topology| topology.links[1].name = "medium".into();
    assert!(matches!(refused(alike), TopologyError::LinkNamedTwice(_)));
    let stuck = |topology: &mut Topology| topology.links[0].rate.as_mut().expect("a rate").bits_per_s = 0.0;
    assert!(refused(stuck).to_string().contains("link medium: a rate of 0 bit/s"));
}

#[test]
fn a_segment_that_cannot_be_is_refused_by_name() {
    let refused = |change: fn(&mut Topology)| {
        let mut topology = Topology::preset("cluster").expect("it is listed");
        change(&mut topology);
        topology.check().expect_err("it cannot be").to_string()
    };
    let on_two = |topology: &mut Topology| topology.segments.push(topology.segments[0].clone());
    assert_eq!(refused(on_two), "host front is on two segments; each has one device");
    let router = |topology: &mut Topology| topology.segments[0].router = topology.segments[0].hosts[0];
    assert!(refused(router).starts_with("front is the router of a segment and on a segment itself"));
    let nowhere = |topology: &mut Topology| topology.segments[0].hosts.push(9);
    assert_eq!(refused(nowhere), "a segment has a host 9, which is not there");
    let taken = |topology: &mut Topology| topology.segments[0].services.push(topology.hosts[0].address);
    assert_eq!(refused(taken), "the service address 10.0.0.1 is also another's");
    let off = |topology: &mut Topology| topology.segments[0].hosts.truncate(2);
    assert!(refused(off).starts_with("nothing connects client to web-2"));
}

#[test]
fn every_preset_can_be() {
    for (name, what) in Topology::PRESETS {
        let topology = Topology::preset(name).expect("it is listed");
        topology.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        for host in &topology.hosts {
            let stem = host.name.trim_end_matches(|sign: char| sign == '-' || sign.is_ascii_digit());
            assert!(what.contains(stem), "{name} does not say that it has {}", host.name);
        }
    }
    assert!(Topology::preset("no-such").is_none());
}
