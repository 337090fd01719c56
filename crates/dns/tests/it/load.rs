//! What sites report decides what packets are answered: which site, for how long, and what a network that is told may take.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use hickory_proto::rr::RData;
use hickory_proto::rr::rdata::opt::EdnsOption;
use sojourn_stats::Span;

use crate::decider::{Reporter, Running, file, service, start};
use crate::support::until;
use crate::wire::{bytes, read, with_edns};

const SITES: [(&str, &str); 3] = [("c1", ""), ("c2", ""), ("c3", "")];

/// A DNS without limits on replies, and its three sites; each can do 100 requests per second and has this room (1/s).
fn reported(policy: &str, keys: &str, rooms: [f64; 3]) -> (Running, [Reporter; 3]) {
    let head = "reports = { listen = \"127.0.0.1:0\", key_file = \"key\" }\nlimits = { replies_per_second = 0 }";
    let running = start(&file(head, &service(policy, keys, &SITES)));
    let mut sites = SITES.map(|(name, _)| Reporter::new(&running, name));
    sites.iter_mut().for_each(|site| site.heartbeat = Span(600_000_000_000));
    report(&running, &mut sites, rooms);
    (running, sites)
}

fn report(running: &Running, sites: &mut [Reporter; 3], rooms: [f64; 3]) {
    until("all rooms are known", || {
        sites.iter_mut().zip(rooms).for_each(|(site, room)| site.tell(100.0, room));
        SITES.iter().zip(rooms).all(|((name, _), room)| running.site(name)["room_per_s"] == room)
    });
}

/// The address and the TTL that a packet is answered which tells of this client.
fn ask(running: &Running, client: [u8; 4]) -> (Ipv4Addr, u32) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(running.dns.addresses()[0]).expect("an address");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a timeout");
    let mut asked = with_edns("www.geo.test.", "A");
    let subnet = EdnsOption::Unknown(8, [&[0, 1, 32, 0][..], &client].concat());
    asked.edns.as_mut().expect("it has EDNS").options_mut().insert(subnet);
    socket.send(&bytes(&asked)).expect("it is sent");
    let mut buffer = [0; 1500];
    let length = socket.recv(&mut buffer).expect("it is answered");
    let reply = read(&buffer[..length]);
    match (&reply.answers[..], reply.answers.first().map(|record| &record.data)) {
        ([record], Some(RData::A(address))) => (address.0, record.ttl),
        _ => panic!("{reply:?}"),
    }
}

/// How often each site is the answer of `count` packets.
fn answers(running: &Running, client: [u8; 4], count: usize) -> [usize; 3] {
    let mut counts = BTreeMap::<Ipv4Addr, usize>::new();
    (0..count).for_each(|_| *counts.entry(ask(running, client).0).or_default() += 1);
    [1, 2, 3].map(|site| counts.get(&Ipv4Addr::new(10, 0, site, 1)).copied().unwrap_or(0))
}

/// Asserts that of 400 answers about this share is the site's: five standard deviations, once in a million.
#[track_caller]
fn assert_share(count: usize, share: f64) {
    let (mean, sd) = (400.0 * share, (400.0 * share * (1.0 - share)).sqrt());
    assert!((count as f64 - mean).abs() < 5.0 * sd, "{count} of 400, where {mean:.0} were due");
}

#[test]
fn a_variable_ttl_is_shorter_the_more_sites_are_overloaded() {
    let (running, mut sites) = reported("least-load", "ttl = \"variable(60 s)\"", [50.0; 3]);
    // A site is overloaded where it is busy for more than nine tenths of the time.
    for (rooms, ttl) in [([50.0, 40.0, 30.0], 60), ([50.0, 9.0, 30.0], 40), ([50.0, 9.0, 9.5], 20), ([9.0; 3], 20)] {
        report(&running, &mut sites, rooms);
        let (site, told) = ask(&running, [10, 9, 9, 9]);
        assert_eq!(told, ttl, "{rooms:?}");
        assert!(rooms[2] == 9.0 || site == Ipv4Addr::new(10, 0, 1, 1), "{site}");
    }
    report(&running, &mut sites, [50.0; 3]);
    assert_eq!(ask(&running, [10, 9, 9, 9]).1, 60);
}

/// What the nearest site cannot take is spread over the others by what they have free, and does not all go to the next nearest.
#[test]
fn the_spill_is_spread_by_free_capacity() {
    let client = [10, 0, 2, 200]; // c2 is the nearest, and then c3
    let (next, _sites) = reported("nearest-with-room", "client_rates = \"64 s\"", [60.0, 0.0, 20.0]);
    assert_eq!(answers(&next, client, 40), [0, 0, 40]);
    let policy = "nearest-with-room(spill = free-capacity)";
    let (spread, mut sites) = reported(policy, "client_rates = \"64 s\"", [60.0, 0.0, 20.0]);
    let counts = answers(&spread, client, 400);
    assert_eq!(counts[1], 0);
    assert_share(counts[0], 0.75);
    report(&spread, &mut sites, [60.0, 1.0, 20.0]);
    assert_eq!(answers(&spread, client, 40), [0, 40, 0], "the nearest has room again");
}

#[test]
fn weights_are_what_is_free() {
    let (running, mut sites) = reported("weighted(by = free-capacity)", "", [60.0, 20.0, 0.0]);
    let counts = answers(&running, [10, 9, 9, 9], 400);
    assert_eq!(counts[2], 0);
    assert_share(counts[0], 0.75);
    report(&running, &mut sites, [0.0, 0.0, 30.0]);
    assert_eq!(answers(&running, [10, 9, 9, 9], 40), [0, 0, 40]);
}

/// A resolver that names a busy client again and again, and then a hundred others, leaves half of a site's room: who is near that
/// site still gets it.
#[test]
fn a_subnet_that_lies_takes_half_of_a_sites_room_at_most() {
    let (running, mut sites) = reported("nearest-with-room", "client_rates = \"64 s\"", [50.0; 3]);
    let room = || running.site("c1")["believed_room_per_s"].as_f64().expect("a room");
    sites[0].tell_rates(&[("10.0.1.200", 10.0), ("10.0.1.201", 2.0)]);
    until("both rates are told", || running.dns.state()["services"][0]["clients"] == 2);
    report(&running, &mut sites, [51.0, 50.0, 50.0]);
    report(&running, &mut sites, [50.0; 3]);
    assert_eq!(answers(&running, [10, 0, 1, 200], 50), [50, 0, 0]);
    assert_eq!(room(), 40.0, "it counts once");
    let of_others: usize = (0..100).map(|host| answers(&running, [10, 0, 1, host], 1)[0]).sum();
    assert_eq!((of_others, room()), (100, 25.0));
    let honest: IpAddr = [10, 0, 1, 7].into();
    assert_eq!(running.ask(&honest.to_string()), ["10.0.1.1"]);
    assert_eq!(room(), 19.0, "what asks by itself counts");
    report(&running, &mut sites, [30.0, 50.0, 50.0]);
    assert_eq!(answers(&running, [10, 0, 1, 200], 50), [50, 0, 0]);
    assert_eq!(room(), 20.0, "and anew after a report");
}
