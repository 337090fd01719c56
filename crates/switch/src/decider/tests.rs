//! The books of connections, packet by packet, without a network: what is decided, what is heard, and what the kernel lists.

use std::collections::HashSet;

use socket2::Socket;
use sojourn_dispatch::Limit;
use sojourn_part::clock;
use sojourn_part::settings::switch::{Accepted, SwitchServer};
use sojourn_stats::Span;

use super::super::counts;
use super::super::kernel::rules::Listed;
use super::*;

const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 100);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 100);
const PORT: u16 = 80;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

/// The head of a packet from this port of 10.0.0.1.
fn packet(port: u16, service: Ipv4Addr, flags: u8) -> Vec<u8> {
    let mut head = vec![0; 40];
    (head[0], head[9], head[33]) = (0x45, 6, flags);
    head[12..16].copy_from_slice(&[10, 0, 0, 1]);
    head[16..20].copy_from_slice(&service.octets());
    head[20..22].copy_from_slice(&port.to_be_bytes());
    head[22..24].copy_from_slice(&PORT.to_be_bytes());
    head
}

fn client(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), port)
}

fn second(number: u64) -> Time {
    Time(number * 1_000_000_000)
}

/// A decider in front of web-1, which takes `limit` connections at most, and the socket by which packets of clients come to it.
fn decider(limit: u32, change: impl FnOnce(&mut SwitchSettings)) -> (Decider, Socket) {
    let service = SocketAddrV4::new(SERVICE, PORT);
    let web_1 = SwitchServer::new("web-1", Ipv4Addr::new(10, 0, 1, 11));
    let mut config = SwitchSettings::new(service, "round-robin", vec![web_1]);
    config.decider.limit = Some(Limit::new(limit, limit - 1).unwrap());
    change(&mut config);
    let (ends, sender) = Ends::of_datagrams(PORT);
    let mut decider = Decider::new(&config, &Catalogue::default(), Some(ends), None, Events::nowhere()).unwrap();
    let marks = [11, 12].map(|last| (Ipv4Addr::new(10, 0, 1, last), Mark(u32::from(last) - 10)));
    decider.begin(&BTreeMap::from(marks), HashMap::new(), Time::ZERO);
    (decider, sender)
}

/// Lets connections from these ports begin.
fn open(decider: &mut Decider, ports: &[u16], now: Time) {
    for port in ports {
        assert_eq!(decider.decide(&packet(*port, SERVICE, SYN), 0, now), Mark(1).decided());
    }
}

/// Connections that are open, were closed and were forgotten.
fn told(decider: &Decider) -> (u64, u64, u64) {
    let counts = decider.counts(clock::now());
    (counts.backends[0].open, counts.closed, counts.forgotten)
}

fn listed(open: &[u16], closing: &[u16]) -> Listed {
    let of = |ports: &[u16]| ports.iter().map(|port| client(*port)).collect::<HashSet<_>>();
    Listed { open: of(open), closing: of(closing) }
}

/// A SYN that is sent again before its first verdict goes where that one goes, although its server is full by it.
#[test]
fn a_repeated_first_packet_does_not_count_twice() {
    let (mut decider, _sender) = decider(1, |_| {});
    open(&mut decider, &[5000], Time::ZERO);
    assert_eq!(decider.decide(&packet(5000, SERVICE, SYN), 0, Time(1)), Mark(1).decided());
    assert_eq!(decider.decide(&packet(5001, SERVICE, SYN), 0, Time(2)), REFUSED);
    let counts = decider.counts(clock::now());
    assert_eq!((counts.connections, counts.refused, counts.over_limit, counts.forgotten), (1, 1, 1, 0), "{counts:?}");
}

#[test]
fn a_choice_hears_the_ends_before_it() {
    for end in [FIN, RST] {
        let (mut decider, sender) = decider(1, |_| {});
        open(&mut decider, &[5000], Time::ZERO);
        sender.send(&packet(5000, SERVICE, end)).unwrap();
        open(&mut decider, &[5001], second(1));
        assert_eq!(told(&decider), (1, 1, 0));
    }
}

/// An end is one of this service, or of one whose clients another site sends here.
#[test]
fn ends_of_other_services_end_nothing() {
    let accepted = Accepted { service: ELSEWHERE, front: Ipv4Addr::new(10, 0, 2, 1) };
    for (accepts, open_after) in [(Vec::new(), 1), (vec![accepted], 0)] {
        let (mut decider, sender) = decider(9, |config| config.accept = accepts);
        open(&mut decider, &[5000], Time::ZERO);
        sender.send(&packet(5000, ELSEWHERE, FIN)).unwrap();
        decider.hear_ends(second(1));
        assert_eq!(told(&decider).0, open_after);
    }
}

/// Counts are of now, and what ended before a switch stops is in its record.
#[test]
fn those_who_look_and_those_who_stop_hear_the_ends_first() {
    let (mut decider, sender) = decider(9, |_| {});
    open(&mut decider, &[5000, 5001], Time::ZERO);
    sender.send(&packet(5000, SERVICE, FIN)).unwrap();
    let decider = Mutex::new(decider);
    let seen = counts(&decider, None);
    assert_eq!((seen.closed, seen.backends[0].open), (1, 1), "{seen:?}");
    sender.send(&packet(5001, SERVICE, RST)).unwrap();
    lock(&decider).finish();
    assert_eq!(told(&lock(&decider)), (0, 2, 0));
}

/// A switch that is drained keeps the connections that it has and refuses new ones; afterwards a server that was drained by hand
/// still is.
#[test]
fn a_drained_switch_refuses_what_is_new() {
    let other = SwitchServer::new("web-2", Ipv4Addr::new(10, 0, 1, 12));
    let (mut decider, _sender) = decider(9, |config| config.backends.push(other));
    decider.drain("web-2", true, Time(1)).unwrap();
    open(&mut decider, &[5000], Time(2));
    decider.drain_all(true, Time(3));
    decider.drain_all(true, Time(4));
    assert_eq!(decider.decide(&packet(5001, SERVICE, SYN), 0, Time(5)), REFUSED);
    assert_eq!(decider.front().reporting().count(), 0, "who is in front hears that no server is left");
    let counts = decider.counts(Time(6));
    assert_eq!((counts.refused, counts.backends[0].open), (1, 1));
    decider.drain_all(false, Time(7));
    open(&mut decider, &[5002, 5003], Time(8));
}

#[test]
fn what_the_kernel_has_missed_twice_is_forgotten() {
    let (mut decider, _sender) = decider(9, |_| {});
    open(&mut decider, &[5000, 5001], Time::ZERO);
    // A list that is read while packets change the map may miss some.
    decider.compare(&listed(&[5001], &[]), second(1));
    assert_eq!(told(&decider), (2, 0, 0));
    decider.compare(&listed(&[5000, 5001], &[]), second(2));
    decider.compare(&listed(&[5001], &[]), second(3));
    assert_eq!(told(&decider), (2, 0, 0), "it was there in between");
    decider.compare(&listed(&[5001], &[]), second(4));
    assert_eq!(told(&decider), (1, 0, 1));
    assert_eq!(decider.front().table().in_flight(BackendId(0)), 1);
}

#[test]
fn what_the_kernel_knows_to_be_over_is_over_at_once() {
    let (mut decider, _sender) = decider(9, |_| {});
    open(&mut decider, &[5000, 5001], Time::ZERO);
    decider.compare(&listed(&[5000, 5001], &[5001]), second(1));
    assert_eq!(told(&decider), (1, 1, 0));
    // It is on the list until its time is over; one of the same port that was opened since is another one.
    open(&mut decider, &[5001], second(2));
    assert_eq!(told(&decider), (2, 1, 0));
}

/// A list says nothing of what was decided while it was asked for.
#[test]
fn what_has_just_been_decided_is_not_on_the_list_yet() {
    let (mut decider, _sender) = decider(9, |_| {});
    let just = Time(second(1).0 - Span::from_secs_f64(0.05).0);
    open(&mut decider, &[5000], just);
    (0..3).for_each(|_| decider.compare(&listed(&[], &[5000]), second(1)));
    assert_eq!(told(&decider), (1, 0, 0));
    decider.compare(&listed(&[], &[]), second(2));
    decider.compare(&listed(&[], &[]), second(3));
    assert_eq!(told(&decider), (0, 0, 1));
}

/// A replay meets the same ends in the same order, whatever the order in which they were kept.
#[test]
fn ends_are_told_in_the_order_of_their_clients() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let (mut decider, _sender) = decider(99, |config| {
        config.backends.push(SwitchServer::new("web-2", Ipv4Addr::new(10, 0, 1, 12)));
        config.record = Some(record.clone());
    });
    for port in 5000..5064 {
        let mark = Mark(1 + u32::from(port % 2));
        assert_eq!(decider.decide(&packet(port, SERVICE, SYN), 0, Time::ZERO), mark.decided());
    }
    (1..3).for_each(|round| decider.compare(&listed(&[], &[]), second(round)));
    decider.finish();
    let text = std::fs::read_to_string(&record).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended: Vec<u64> = lines.filter_map(|line| line["observe"]["event"]["cancelled"]["backend"].as_u64()).collect();
    assert_eq!(ended, (0..64).map(|number| number % 2).collect::<Vec<_>>(), "{text}");
    let replayed = sojourn_dispatch::record::replay(std::io::BufReader::new(text.as_bytes())).unwrap();
    assert_eq!((replayed.choices, replayed.first_difference), (64, None));
}

#[test]
fn long_lists_are_read_less_often() {
    let ms = |ms: u64| Span(ms * 1_000_000);
    assert_eq!(books::pause(ms(5_000), ms(2)), ms(5_000));
    assert_eq!(books::pause(ms(5_000), ms(60)), ms(12_000), "one part of 200");
    assert_eq!(books::pause(ms(5_000), ms(9_000)), ms(60_000), "but within a minute");
    assert_eq!(books::pause(ms(500), ms(60)), ms(6_000), "as the shortest of its lifetimes asks");
}
