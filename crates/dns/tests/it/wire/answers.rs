//! What names get which answers (RFC 1034, 2308, 4592, 8020, 8482).

use std::sync::atomic::Ordering;

use sojourn_dns::{Done, ServiceId, Transport, Zone, Zones};

use super::{Bench, bytes, open, query, read, services, shown, with_edns, zones};

const SOA: &str = "authority example.org. 60 SOA ns1.example.org. hostmaster.example.org. 7 3600 900 1209600 60";

#[test]
fn records_of_a_zone_are_given_as_they_are() {
    let mut bench = Bench::new(open());
    for (name, kind, expected) in [
        ("mail.example.org.", "A", "NoError aa\nmail.example.org. 60 A 192.0.2.25\nmail.example.org. 60 A 192.0.2.26"),
        (
            "example.org.",
            "SOA",
            "NoError aa\nexample.org. 300 SOA ns1.example.org. hostmaster.example.org. 7 3600 900 1209600 60",
        ),
        (
            "example.org.",
            "NS",
            "NoError aa\nexample.org. 300 NS ns1.example.org.\nexample.org. 300 NS ns.example.net.\n\
             additional ns1.example.org. 300 A 192.0.2.53\nadditional ns1.example.org. 300 AAAA 2001:db8::53",
        ),
        ("example.org.", "MX", "NoError aa\nexample.org. 300 MX 10 mail.example.org."),
        ("example.org.", "TXT", "NoError aa\nexample.org. 300 TXT \"v=spf1 -all\" \"second\""),
        ("example.org.", "CAA", "NoError aa\nexample.org. 300 CAA 0 issue \"ca.example.net\""),
        ("_sip._tcp.example.org.", "SRV", "NoError aa\n_sip._tcp.example.org. 300 SRV 0 5 5060 mail.example.org."),
        ("1.2.example.org.", "PTR", "NoError aa\n1.2.example.org. 300 PTR mail.example.org."),
        ("ns1.example.org.", "AAAA", "NoError aa\nns1.example.org. 300 AAAA 2001:db8::53"),
        ("x.deep.below.example.org.", "A", "NoError aa\nx.deep.below.example.org. 60 A 192.0.2.99"),
    ] {
        assert_eq!(bench.ask(name, kind), expected, "{name} {kind}");
    }
}

#[test]
fn what_is_not_there_is_told_from_what_has_no_such_data() {
    let mut bench = Bench::new(open());
    let absent = format!("NXDomain aa\n{SOA}");
    for name in ["nowhere.example.org.", "x.mail.example.org.", "x.a.b.c.example.org.", "wwww.example.org."] {
        for kind in ["A", "TXT", "ANY", "NS", "65280"] {
            assert_eq!(bench.ask(name, kind), absent, "{name} {kind}");
        }
    }
    let empty = format!("NoError aa\n{SOA}");
    // Names that only have others below them exist, also those between a zone and one below it.
    for (name, kind) in [
        ("mail.example.org.", "TXT"),
        ("mail.example.org.", "65280"),
        ("b.c.example.org.", "A"),
        ("c.example.org.", "ANY"),
        ("_tcp.example.org.", "SRV"),
        ("wild.example.org.", "A"),
        ("any.example.org.", "A"),
        ("below.example.org.", "A"),
        ("_why.example.org.", "A"),
        ("six.example.org.", "A"),
        ("www.example.org.", "TXT"),
        ("set.wild.example.org.", "A"),
        ("sub.example.org.", "DS"),
    ] {
        assert_eq!(bench.ask(name, kind), empty, "{name} {kind}");
    }
    let below = "NXDomain aa\nauthority deep.below.example.org. 5 SOA \
                 ns.example.net. root.deep.below.example.org. 1 1 1 1 5";
    assert_eq!(bench.ask("y.deep.below.example.org.", "A"), below);
}

#[test]
fn other_zones_classes_and_operations_are_refused() {
    let mut bench = Bench::new(open());
    for name in [".", "org.", "example.com.", "xexample.org.", "www.example.net.", "version.bind."] {
        assert_eq!(bench.ask(name, "A"), "Refused", "{name}");
    }
    for kind in ["AXFR", "251"] {
        assert_eq!(bench.ask("example.org.", kind), "Refused", "{kind}");
    }
    for kind in ["253", "254", "128"] {
        assert_eq!(bench.ask("example.org.", kind), "NotImp", "{kind}");
    }
    // The class CHAOS, in which servers tell their versions.
    let mut chaos = bytes(&query("version.bind.", "TXT"));
    let class = chaos.len() - 1;
    chaos[class] = 3;
    let (_, reply) = bench.send(&chaos, Transport::Udp);
    assert_eq!(shown(&read(&reply)), "Refused");
    for class in [3, 4, 254, 255] {
        let mut other = bytes(&query("www.example.org.", "A"));
        let last = other.len() - 1;
        other[last] = class;
        let (done, _) = bench.send(&other, Transport::Udp);
        assert_eq!(done, Done::Replied { kind: 1, code: 5, is_truncated: false, is_slipped: false }, "{class}");
    }
    for opcode in [1, 2, 4, 5, 15] {
        let mut other = bytes(&query("example.org.", "SOA"));
        other[2] = opcode << 3;
        let (done, reply) = bench.send(&other, Transport::Udp);
        assert_eq!(done, Done::Replied { kind: 0, code: 4, is_truncated: false, is_slipped: false }, "{opcode}");
        assert_eq!(reply.len(), 12);
        assert_eq!(reply[2], 0x80 | opcode << 3);
    }
}

#[test]
fn aliases_are_followed_within_the_zone() {
    let mut bench = Bench::new(open());
    for (name, kind, expected) in [
        (
            "alias.example.org.",
            "A",
            "NoError aa\nalias.example.org. 300 CNAME mail.example.org.\nmail.example.org. 60 A 192.0.2.25\n\
             mail.example.org. 60 A 192.0.2.26"
                .to_string(),
        ),
        ("alias.example.org.", "CNAME", "NoError aa\nalias.example.org. 300 CNAME mail.example.org.".into()),
        ("alias.example.org.", "ANY", "NoError aa\nalias.example.org. 300 CNAME mail.example.org.".into()),
        ("alias.example.org.", "TXT", format!("NoError aa\nalias.example.org. 300 CNAME mail.example.org.\n{SOA}")),
        ("far.example.org.", "A", "NoError aa\nfar.example.org. 300 CNAME www.example.net.".into()),
        (
            "dangling.example.org.",
            "A",
            format!("NXDomain aa\ndangling.example.org. 300 CNAME nowhere.example.org.\n{SOA}"),
        ),
        (
            "to-www.example.org.",
            "AAAA",
            "NoError aa\nto-www.example.org. 300 CNAME www.example.org.\nwww.example.org. 20 AAAA 2001:db8:1::2".into(),
        ),
    ] {
        assert_eq!(bench.ask(name, kind), expected, "{name} {kind}");
    }
    // In a circle, it ends.
    let round = bench.ask("round.example.org.", "A");
    assert_eq!(round.lines().count(), 10, "{round}");
}

#[test]
fn wildcards_stand_for_what_is_not_there() {
    let mut bench = Bench::new(open());
    for (name, kind, expected) in [
        ("x.wild.example.org.", "A", "NoError aa\nx.wild.example.org. 300 A 192.0.2.77".to_string()),
        ("y.x.wild.example.org.", "A", "NoError aa\ny.x.wild.example.org. 300 A 192.0.2.77".into()),
        ("*.wild.example.org.", "A", "NoError aa\n*.wild.example.org. 300 A 192.0.2.77".into()),
        ("x.wild.example.org.", "AAAA", format!("NoError aa\n{SOA}")),
        // What is there hides the wildcard, for all below it too (RFC 4592, 2.2.1).
        ("x.set.wild.example.org.", "A", format!("NXDomain aa\n{SOA}")),
        (
            "q.to-wild.example.org.",
            "A",
            "NoError aa\nq.to-wild.example.org. 300 CNAME x.wild.example.org.\nx.wild.example.org. 300 A 192.0.2.77"
                .into(),
        ),
        (
            "q.any.example.org.",
            "A",
            "NoError aa\nq.any.example.org. 20 A 198.51.100.2\nq.any.example.org. 20 A 198.51.100.1".into(),
        ),
    ] {
        assert_eq!(bench.ask(name, kind), expected, "{name} {kind}");
    }
}

#[test]
fn what_is_delegated_is_referred_to_its_servers() {
    let mut bench = Bench::new(open());
    let referral = "NoError\nauthority sub.example.org. 300 NS ns.sub.example.org.\n\
                    authority sub.example.org. 300 NS ns.example.net.\nadditional ns.sub.example.org. 300 A 192.0.2.54";
    for (name, kind) in [
        ("sub.example.org.", "A"),
        ("sub.example.org.", "NS"),
        ("sub.example.org.", "SOA"),
        ("x.sub.example.org.", "A"),
        ("y.x.sub.example.org.", "DS"),
        ("ns.sub.example.org.", "A"),
    ] {
        assert_eq!(bench.ask(name, kind), referral, "{name} {kind}");
    }
    // Where no name has more labels than the delegated one.
    let text = "@ 60 SOA ns.x. root.x. 1 1 1 1 5\n@ 60 NS ns.x.\nsub 60 NS ns.x.\n";
    bench.zones = Zones::new(vec![Zone::parse("example.org", text, &[]).expect("a zone")]).expect("zones");
    for name in ["sub.example.org.", "x.sub.example.org.", "z.y.x.sub.example.org."] {
        assert_eq!(bench.ask(name, "A"), "NoError\nauthority sub.example.org. 60 NS ns.x.", "{name}");
    }
}

/// A zone below another one, both here: what the upper one says of it does not count.
#[test]
fn a_zone_below_another_one_answers_for_itself() {
    let mut bench = Bench::new(open());
    let upper = Zone::parse("example.org", super::ZONE, &services()).expect("a zone");
    let text = "@ 60 SOA ns.example.net. root 1 1 1 1 5\n@ 60 NS ns.example.net.\nwww 60 A 192.0.2.88\n";
    let lower = Zone::parse("sub.example.org", text, &[]).expect("a zone");
    bench.zones = Zones::new(vec![upper, lower]).expect("zones");
    let own = "authority sub.example.org. 5 SOA ns.example.net. root.sub.example.org. 1 1 1 1 5";
    for (name, kind, expected) in [
        ("www.sub.example.org.", "A", "NoError aa\nwww.sub.example.org. 60 A 192.0.2.88".to_string()),
        ("sub.example.org.", "NS", "NoError aa\nsub.example.org. 60 NS ns.example.net.".into()),
        // The address that the upper zone has for it.
        ("ns.sub.example.org.", "A", format!("NXDomain aa\n{own}")),
        ("x.www.sub.example.org.", "A", format!("NXDomain aa\n{own}")),
        ("mail.example.org.", "TXT", format!("NoError aa\n{SOA}")),
    ] {
        assert_eq!(bench.ask(name, kind), expected, "{name} {kind}");
    }
}

#[test]
fn addresses_of_services_are_chosen_in_their_order() {
    let mut bench = Bench::new(open());
    let both = "NoError aa\nwww.example.org. 20 A 198.51.100.2\nwww.example.org. 20 A 198.51.100.1";
    assert_eq!(bench.ask("www.example.org.", "A"), both);
    assert_eq!(bench.ask("www.example.org.", "AAAA"), "NoError aa\nwww.example.org. 20 AAAA 2001:db8:1::2");
    assert_eq!(bench.ask("example.org.", "A"), "NoError aa\nexample.org. 20 A 198.51.100.3");
    assert_eq!(bench.ask("down.example.org.", "A"), "ServFail aa");
    assert_eq!(bench.ask("www.example.org.", "ANY"), "NoError aa\nwww.example.org. 3600 HINFO RFC8482 ");
    assert_eq!(bench.sites.choices.load(Ordering::Relaxed), 4);
    let why = "NoError aa\n_why.www.example.org. 0 TXT \"service 1 for 203.0.113.9\" \"subnet None\"";
    assert_eq!(bench.ask("_why.www.example.org.", "TXT"), why);
    assert!(bench.ask("_why.example.org.", "TXT").contains("service 2"));
    // Where it is for some alone, the others are refused, and learn nothing by other types either.
    let allow = |text: &str| zones().with_why(text.parse().expect("networks"));
    for (text, is_told) in [
        ("none", false),
        ("127.0.0.0/8,::1", false),
        ("all", true),
        ("203.0.113.9", true),
        ("::1,203.0.113.8/31", true),
    ] {
        bench.zones = allow(text);
        let said = bench.ask("_why.www.example.org.", "TXT");
        assert_eq!(said == why, is_told, "{text}: {said}");
        assert!(is_told || said.starts_with("Refused"), "{text}: {said}");
        assert!(!bench.ask("_why.www.example.org.", "ANY").contains("service"), "{text}");
    }
    bench.zones = zones();
    assert!(bench.ask("_why.down.example.org.", "TXT").contains("service 3"));
    assert_eq!(bench.sites.choices.load(Ordering::Relaxed), 4, "to ask why is no choice");
}

/// The case of letters of the question comes back (it is a secret that resolves use: draft-vixie-dnsext-dns0x20).
#[test]
fn letters_keep_their_case() {
    let mut bench = Bench::new(open());
    for (name, expected) in [
        ("wWw.ExAmPlE.oRg.", "NoError aa\nwWw.ExAmPlE.oRg. 20 A 198.51.100.2\nwWw.ExAmPlE.oRg. 20 A 198.51.100.1"),
        ("NS1.eXample.ORG.", "NoError aa\nNS1.eXample.ORG. 300 A 192.0.2.53"),
    ] {
        let (_, reply) = bench.send(&bytes(&with_edns(name, "A")), Transport::Udp);
        let reply = read(&reply);
        assert_eq!(reply.queries[0].name().to_ascii(), name);
        assert_eq!(shown(&reply), expected);
    }
    // A zone file's own case is of no matter.
    assert!(bench.ask("big.example.org.", "TXT").starts_with("NoError aa\nbig.example.org. 300 TXT"));
}

#[test]
fn replies_repeat_the_question_and_what_was_desired() {
    let mut bench = Bench::new(open());
    for desired in [true, false] {
        let mut asked = query("www.example.org.", "A");
        asked.metadata.recursion_desired = desired;
        let reply = bench.reply(&asked);
        assert_eq!(reply.metadata.id, asked.metadata.id);
        assert_eq!(reply.queries, asked.queries);
        assert_eq!(reply.metadata.recursion_desired, desired);
        assert!(!reply.metadata.recursion_available && !reply.metadata.authentic_data);
        assert!(reply.edns.is_none());
    }
}

/// The names of a reply point to the question: each address takes 16 bytes, whatever the name.
#[test]
fn replies_are_compressed() {
    let mut bench = Bench::new(open());
    let asked = bytes(&query("www.example.org.", "A"));
    let (_, reply) = bench.send(&asked, Transport::Udp);
    assert_eq!(reply.len(), asked.len() + 2 * 16);
    let asked = bytes(&query("nowhere.example.org.", "A"));
    let (_, reply) = bench.send(&asked, Transport::Udp);
    // Owner 2, head 10, `ns1` 4 + 2, `hostmaster` 11 + 2, numbers 20.
    assert_eq!(reply.len(), asked.len() + 51);
    // In the data of types that came later there are whole names (RFC 3597, 4).
    let (_, reply) = bench.send(&bytes(&query("_sip._tcp.example.org.", "SRV")), Transport::Udp);
    assert!(reply.ends_with(b"\x04mail\x07example\x03org\x00"));
}

#[test]
fn what_does_not_fit_is_asked_for_again() {
    let mut bench = Bench::new(open());
    let plain = query("big.example.org.", "TXT");
    let reply = bench.reply(&plain);
    assert_eq!(shown(&reply), "NoError aa tc");
    // What fits over EDNS, and over TCP always.
    assert_eq!(bench.reply(&with_edns("big.example.org.", "TXT")).answers.len(), 5);
    let (_, whole) = bench.send(&bytes(&plain), Transport::Tcp);
    assert_eq!(read(&whole).answers.len(), 5);
}

#[test]
fn the_root_can_be_a_zone() {
    let mut bench = Bench::new(open());
    let text =
        "@ 60 SOA ns. root. 1 1 1 1 5\n@ 60 NS ns.\nns 60 A 192.0.2.53\norg 60 NS ns.org\nns.org 60 A 192.0.2.54\n";
    let zone = Zone::parse(".", text, &[("www".into(), ServiceId(1))]).expect("a zone");
    bench.zones = Zones::new(vec![zone]).expect("zones");
    assert!(bench.ask("www.", "A").contains("198.51.100.2"));
    assert_eq!(bench.ask("nowhere.", "A"), "NXDomain aa\nauthority . 5 SOA ns. root. 1 1 1 1 5");
    assert!(bench.ask("example.org.", "A").contains("authority org. 60 NS ns.org."));
}
