//! Limits on replies, cookies (RFC 7873, 9018), and how much longer than its query a reply may be.

use std::sync::atomic::Ordering;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::opt::EdnsOption;
use sojourn_dns::{DnsLimits, Done, Transport};
use sojourn_stats::Time;

use super::{Bench, bytes, open, query, read, with_edns};

const CLIENT: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn with_cookie(server: &[u8]) -> Message {
    let mut message = with_edns("www.example.org.", "A");
    let cookie = [&CLIENT, server].concat();
    message.edns.as_mut().expect("it has EDNS").options_mut().insert(EdnsOption::Unknown(10, cookie));
    message
}

/// The server's cookie of a reply.
#[track_caller]
fn cookie(reply: &Message) -> Vec<u8> {
    let options = reply.edns.as_ref().expect("it has EDNS").options();
    match options.as_ref() {
        [(_, EdnsOption::Unknown(10, data))] if data.len() == 24 && data[..8] == CLIENT => data[8..].to_vec(),
        other => panic!("no cookie: {other:?}"),
    }
}

#[test]
fn who_asks_with_a_cookie_gets_one() {
    let mut bench = Bench::new(open());
    let reply = bench.reply(&with_cookie(&[]));
    assert_eq!(reply.answers.len(), 2);
    let server = cookie(&reply);
    // One that is not ours is as none: it is answered, with one that is ours.
    for other in [vec![9; 8], vec![9; 16], vec![9; 32], server.clone()] {
        let reply = bench.reply(&with_cookie(&other));
        assert_eq!((reply.answers.len(), cookie(&reply)), (2, server.clone()));
    }
    assert!(bench.reply(&with_edns("www.example.org.", "A")).edns.expect("EDNS").options().as_ref().is_empty());
}

/// RFC 7873, 5.4: a query without a question asks for a cookie alone. Without the option it is malformed, as before.
#[test]
fn a_cookie_is_had_without_a_question() {
    let mut bench = Bench::new(open());
    let mut ask = |server: &[u8], transport| {
        let mut message = with_cookie(server);
        message.queries.clear();
        let (done, reply) = bench.send(&bytes(&message), transport);
        assert!(matches!(done, Done::Replied { kind: 0, is_truncated: false, .. }), "{done:?}");
        let reply = read(&reply);
        assert!(reply.queries.is_empty() && reply.answers.is_empty() && reply.authorities.is_empty());
        (reply.metadata.response_code, cookie(&reply))
    };
    let (code, server) = ask(&[], Transport::Udp);
    assert_eq!(code, ResponseCode::NoError);
    assert_eq!(ask(&server, Transport::Udp), (ResponseCode::NoError, server.clone()));
    assert_eq!(ask(&[9; 16], Transport::Udp), (ResponseCode::BADCOOKIE, server.clone()));
    assert_eq!(ask(&[9; 16], Transport::Tcp).0, ResponseCode::BADCOOKIE, "over TCP too it is not ours");
    assert_eq!(ask(&[], Transport::Tcp), (ResponseCode::NoError, server));
    for mut bare in [query("www.example.org.", "A"), with_edns("www.example.org.", "A")] {
        bare.queries.clear();
        assert_eq!(bench.reply(&bare).metadata.response_code, ResponseCode::FormErr);
    }
    let mut later = with_cookie(&[]);
    later.queries.clear();
    later.edns.as_mut().expect("it has EDNS").set_version(1);
    assert_eq!(bench.reply(&later).metadata.response_code, ResponseCode::FormErr, "what version 1 says is not known");
}

#[test]
fn a_network_over_its_limit_asks_over_tcp_or_shows_its_cookie() {
    let mut bench = Bench::new(DnsLimits { replies_per_second: 20, slip: 1, ..DnsLimits::default() });
    bench.now = Time(5_000_000_000);
    let plain = bytes(&query("www.example.org.", "A"));
    for _ in 0..20 {
        let (done, reply) = bench.send(&plain, Transport::Udp);
        assert_eq!(done, Done::Replied { kind: 1, code: 0, is_truncated: false, is_slipped: false });
        assert_eq!(read(&reply).answers.len(), 2);
    }
    let choices = bench.sites.choices.load(Ordering::Relaxed);
    for _ in 0..50 {
        let (done, reply) = bench.send(&plain, Transport::Udp);
        assert_eq!(done, Done::Replied { kind: 1, code: 0, is_truncated: true, is_slipped: true });
        assert_eq!(reply.len(), plain.len());
        let reply = read(&reply);
        assert!(reply.metadata.truncation && reply.answers.is_empty());
    }
    // Who knows cookies is asked for ours, and then is answered.
    let reply = bench.reply(&with_cookie(&[]));
    assert_eq!(reply.metadata.response_code, ResponseCode::BADCOOKIE);
    assert!(reply.answers.is_empty() && !reply.metadata.truncation);
    assert_eq!(bench.sites.choices.load(Ordering::Relaxed), choices, "what is not answered is no choice");
    let server = cookie(&reply);
    for _ in 0..100 {
        assert_eq!(bench.reply(&with_cookie(&server)).answers.len(), 2);
    }
    for wrong in [vec![9; 16], server[..8].to_vec()] {
        assert_eq!(bench.reply(&with_cookie(&wrong)).metadata.response_code, ResponseCode::BADCOOKIE);
    }
    // Of another address, it is worth nothing.
    bench.from = "203.0.113.10".parse().expect("an address");
    assert_eq!(bench.reply(&with_cookie(&server)).metadata.response_code, ResponseCode::BADCOOKIE);
    // TCP shows where its sender is.
    let (_, reply) = bench.send(&plain, Transport::Tcp);
    assert_eq!(read(&reply).answers.len(), 2);
    // Others have their own limit, and time gives it back.
    bench.from = "198.51.100.1".parse().expect("an address");
    assert_eq!(bench.reply(&query("www.example.org.", "A")).answers.len(), 2);
    bench.from = "203.0.113.9".parse().expect("an address");
    bench.now = Time(6_000_000_000);
    assert_eq!(bench.reply(&query("www.example.org.", "A")).answers.len(), 2);
}

#[test]
fn errors_and_refusals_count_too() {
    let mut bench = Bench::new(DnsLimits { replies_per_second: 10, slip: 2, ..DnsLimits::default() });
    bench.now = Time(5_000_000_000);
    let mut short = bytes(&query("www.example.org.", "A"));
    short.pop();
    let outside = bytes(&query("www.example.net.", "A"));
    for packet in [short, outside] {
        bench.now.0 += 60_000_000_000;
        let passed = |done: &Done| matches!(done, Done::Replied { is_slipped: false, .. });
        let count = (0..100).filter(|_| passed(&bench.send(&packet, Transport::Udp).0)).count();
        assert_eq!(count, 10);
    }
}

/// A flood from made-up addresses is not made larger than it is by more than the setting says.
#[test]
fn replies_to_strangers_are_no_longer_than_allowed() {
    for most in [1, 2, 3] {
        let mut bench = Bench::new(DnsLimits { amplification: most, ..open() });
        for name in ["www.example.org.", "example.org.", "big.example.org.", "nowhere.example.org.", "sub.example.org."]
        {
            for kind in ["A", "AAAA", "NS", "TXT", "ANY", "SOA"] {
                for asked in [query(name, kind), with_edns(name, kind)] {
                    let asked = bytes(&asked);
                    let (_, reply) = bench.send(&asked, Transport::Udp);
                    assert!(
                        reply.len() <= most as usize * asked.len(),
                        "{name} {kind}: {} > {}",
                        reply.len(),
                        asked.len()
                    );
                }
            }
        }
    }
    // With a cookie of ours, and over TCP, there is no such limit.
    let mut bench = Bench::new(DnsLimits { amplification: 1, ..open() });
    let first = bench.reply(&with_cookie(&[]));
    assert!(first.metadata.truncation);
    assert_eq!(bench.reply(&with_cookie(&cookie(&first))).answers.len(), 2);
    let (_, reply) = bench.send(&bytes(&query("big.example.org.", "TXT")), Transport::Tcp);
    assert_eq!(read(&reply).answers.len(), 5);
}

/// What is true of the clock's jumps: cookies lose their worth, queries are answered.
#[test]
fn a_clock_that_jumps_makes_cookies_strange_and_no_more() {
    let mut bench = Bench::new(DnsLimits { replies_per_second: 1, slip: 1, ..DnsLimits::default() });
    bench.now = Time(5_000_000_000);
    let server = cookie(&bench.reply(&with_cookie(&[])));
    for (wall, code) in [
        (bench.wall, ResponseCode::NoError),
        (bench.wall + 3601, ResponseCode::BADCOOKIE),
        (bench.wall - 301, ResponseCode::BADCOOKIE),
        (0, ResponseCode::BADCOOKIE),
        (u32::MAX, ResponseCode::BADCOOKIE),
    ] {
        bench.wall = wall;
        assert_eq!(bench.reply(&with_cookie(&server)).metadata.response_code, code, "{wall}");
    }
}
