//! EDNS (RFC 6891) and the client's subnet (RFC 7871).

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use hickory_proto::rr::rdata::opt::EdnsOption;
use sojourn_dns::{DnsLimits, Done, Transport};

use super::{Bench, bytes, open, query, read, shown, with_edns};

const SUBNET: u16 = 8;

fn with_option(code: u16, data: &[u8]) -> Message {
    let mut message = with_edns("www.example.org.", "A");
    let edns = message.edns.as_mut().expect("it has EDNS");
    edns.options_mut().insert(EdnsOption::Unknown(code, data.to_vec()));
    message
}

#[test]
fn sizes_are_the_least_of_both() {
    // The names of the zone, and whether 512, 1232, 4096 bytes are enough: some 590 bytes.
    for (ours, theirs, fits) in
        [(1232, 4096, true), (1232, 0, false), (1232, 512, false), (512, 4096, false), (4096, 700, true)]
    {
        let mut bench = Bench::new(DnsLimits { udp_payload: ours, ..open() });
        let mut asked = with_edns("big.example.org.", "TXT");
        asked.edns.as_mut().expect("it has EDNS").set_max_payload(theirs);
        let (_, reply) = bench.send(&bytes(&asked), Transport::Udp);
        let size = usize::from(ours.min(theirs.max(512)));
        assert!(reply.len() <= size, "{} bytes where {size} were asked for", reply.len());
        let reply = read(&reply);
        assert_eq!(reply.metadata.truncation, !fits, "{ours} {theirs}");
        // A truncated reply has its EDNS still.
        assert_eq!(reply.edns.expect("EDNS is answered with EDNS").max_payload(), ours);
    }
    // 512 bytes every party takes, whatever it says.
    let mut asked = bytes(&with_edns("www.example.org.", "A"));
    let size = asked.len() - 8;
    asked[size..size + 2].copy_from_slice(&[0, 1]);
    let (_, reply) = Bench::new(open()).send(&asked, Transport::Udp);
    assert_eq!(read(&reply).answers.len(), 2);
}

/// Every size from the smallest on gives a reply that is whole or says that it is not.
#[test]
fn a_reply_is_whole_or_says_that_it_is_not() {
    let mut bench = Bench::new(DnsLimits { udp_payload: 4096, ..open() });
    for name in ["big.example.org.", "sub.example.org.", "example.org.", "www.example.org.", "nowhere.example.org."] {
        for kind in ["TXT", "NS"] {
            let whole = bench.reply(&with_edns(name, kind));
            for size in 512..700 {
                let mut asked = with_edns(name, kind);
                asked.edns.as_mut().expect("it has EDNS").set_max_payload(size);
                let (_, reply) = bench.send(&bytes(&asked), Transport::Udp);
                assert!(reply.len() <= usize::from(size));
                let reply = read(&reply);
                match reply.metadata.truncation {
                    true => assert!(reply.answers.is_empty() && reply.authorities.is_empty()),
                    false => assert_eq!(shown(&reply), shown(&whole), "{name} {kind} {size}"),
                }
            }
        }
    }
}

#[test]
fn later_versions_are_told_of_ours() {
    let mut bench = Bench::new(open());
    let mut asked = with_edns("www.example.org.", "A");
    asked.edns.as_mut().expect("it has EDNS").set_version(1);
    let reply = bench.reply(&asked);
    // BADVERS; hickory reads the number as BADSIG, which is the same.
    assert_eq!(u16::from(reply.metadata.response_code), 16);
    assert!(reply.answers.is_empty());
    assert_eq!(reply.edns.expect("EDNS is answered with EDNS").version(), 0);
}

#[test]
fn unknown_options_are_ignored() {
    let mut bench = Bench::new(open());
    for code in [3, 5, 11, 12, 15, 20_292, 65_001] {
        let reply = bench.reply(&with_option(code, &[1, 2, 3]));
        assert_eq!(reply.answers.len(), 2, "{code}");
        assert!(reply.edns.expect("EDNS is answered with EDNS").options().as_ref().is_empty());
    }
}

#[test]
fn dnssec_ok_is_echoed() {
    let mut bench = Bench::new(open());
    for ok in [true, false] {
        let mut asked = with_edns("www.example.org.", "A");
        asked.edns.as_mut().expect("it has EDNS").set_dnssec_ok(ok);
        assert_eq!(bench.reply(&asked).edns.expect("it has EDNS").flags().dnssec_ok, ok);
    }
}

#[test]
fn a_subnet_is_told_to_the_policy_and_echoed_with_its_scope() {
    let mut bench = Bench::new(open());
    let net: [u8; 7] = [0, 1, 24, 0, 203, 0, 113];
    let net6: [u8; 11] = [0, 2, 56, 0, 0x20, 1, 0xd, 0xb8, 1, 2, 3];
    let odd: [u8; 7] = [0, 1, 17, 0, 10, 1, 0x80];
    for (data, told) in [
        (&net[..], "(203.0.113.0, 24)"),
        (&net6, "(2001:db8:102:300::, 56)"),
        (&odd, "(10.1.128.0, 17)"),
        (&[0, 1, 32, 0, 10, 1, 2, 3], "(10.1.2.3, 32)"),
    ] {
        let (_, reply) = bench.send(&bytes(&with_option(SUBNET, data)), Transport::Udp);
        assert_eq!(read(&reply).answers.len(), 2);
        let mut echoed = data.to_vec();
        echoed[3] = 20;
        assert!(reply.ends_with(&echoed), "{reply:?}");
        let mut why = with_option(SUBNET, data);
        why.queries[0].set_name("_why.www.example.org.".parse().expect("a name"));
        why.queries[0].set_query_type(RecordType::TXT);
        let (_, reply) = bench.send(&bytes(&why), Transport::Udp);
        assert!(reply.ends_with(data), "what explains depends on no network");
        let reply = shown(&read(&reply));
        assert!(reply.contains(&format!("subnet Some({told})")), "{reply}");
    }
    // A static answer depends on no network, nor does one to a network that is not told.
    let mut fixed = with_option(SUBNET, &net);
    fixed.queries[0].set_name("mail.example.org.".parse().expect("a name"));
    assert!(bench.send(&bytes(&fixed), Transport::Udp).1.ends_with(&net));
    // The policy of these tests says 20 bits even there.
    for data in [[0, 1, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]] {
        let (done, reply) = bench.send(&bytes(&with_option(SUBNET, &data)), Transport::Udp);
        assert!(matches!(done, Done::Replied { code: 0, .. }), "{done:?}");
        assert_eq!(reply[7], 2, "two answers");
        assert!(reply.ends_with(&data));
    }
}

#[test]
fn malformed_options_are_said_to_be() {
    let mut bench = Bench::new(open());
    for (code, data) in [
        (SUBNET, &[][..]),
        (SUBNET, &[0, 1, 24]),
        // Too few bytes, too many, bits beyond the prefix, a scope, prefixes too long, families unknown.
        (SUBNET, &[0, 1, 24, 0, 203, 0]),
        (SUBNET, &[0, 1, 24, 0, 203, 0, 113, 0]),
        (SUBNET, &[0, 1, 23, 0, 203, 0, 113]),
        (SUBNET, &[0, 1, 24, 24, 203, 0, 113]),
        (SUBNET, &[0, 1, 33, 0, 1, 2, 3, 4, 0]),
        (SUBNET, &[0, 2, 129, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0]),
        (SUBNET, &[0, 3, 8, 0, 10]),
        (SUBNET, &[0, 0, 8, 0, 10]),
        (10, &[]),
        (10, &[1, 2, 3, 4, 5, 6, 7]),
        (10, &[0; 9]),
        (10, &[0; 15]),
        (10, &[0; 41]),
    ] {
        let reply = bench.reply(&with_option(code, data));
        assert_eq!(reply.metadata.response_code, ResponseCode::FormErr, "{code} {data:?}");
        // With EDNS, or the asker would think that it is not known.
        assert!(reply.answers.is_empty() && reply.edns.is_some());
    }
    // An option longer than its record.
    let mut asked = bytes(&with_option(65_001, &[1, 2, 3]));
    let length = asked.len() - 4;
    asked[length] = 9;
    let (_, reply) = bench.send(&asked, Transport::Udp);
    assert_eq!(read(&reply).metadata.response_code, ResponseCode::FormErr);
}

#[test]
fn a_name_before_the_record_and_a_second_one_are_mistakes() {
    let mut bench = Bench::new(open());
    let plain = bytes(&query("www.example.org.", "A"));
    let record = [0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0];
    let mut one = plain.clone();
    one[11] = 1;
    one.extend_from_slice(&record);
    assert_eq!(read(&bench.send(&one, Transport::Udp).1).answers.len(), 2);
    let mut two = one.clone();
    two[11] = 2;
    two.extend_from_slice(&record);
    // As an answer, and of a name that is not the root's.
    let mut misplaced = one.clone();
    (misplaced[7], misplaced[11]) = (1, 0);
    let mut named = plain.clone();
    named[11] = 1;
    named.extend_from_slice(&[1, b'x']);
    named.extend_from_slice(&record);
    for wrong in [two, misplaced, named] {
        let (_, reply) = bench.send(&wrong, Transport::Udp);
        let reply = read(&reply);
        assert_eq!(reply.metadata.response_code, ResponseCode::FormErr);
        assert_eq!(reply.queries.len(), 1);
    }
}
