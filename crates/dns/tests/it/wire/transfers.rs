//! Whole zones, signed (RFC 5936, 1995, 8945): who gets one, what is in it, and what the others are told. Signatures are made
//! and checked here once more, byte by byte; dig and NSD check them too.

use std::process::Command;

use hickory_proto::op::Message;
use hickory_proto::rr::rdata::SOA;
use hickory_proto::rr::{Name, RData, Record};
use ring::hmac;
use sojourn_dns::{DnsLimits, Done, TransferKey, Transport, Zone, Zones};

use super::sockets::server;
use super::{Bench, bytes, line, open, query, read, services};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
/// The same in base64.
pub(super) const TEXT: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// Names in wire form.
const KEY: &[u8] = b"\x08transfer\x04test\x00";
const OTHER: &[u8] = b"\x05other\x04test\x00";
/// The type IXFR, which hickory-proto does not know by its name.
const IXFR: &str = "251";
const SHA256: &[u8] = b"\x0bhmac-sha256\x00";
const SHA512: &[u8] = b"\x0bhmac-sha512\x00";

pub(super) fn keys() -> [TransferKey; 2] {
    let key = |name, algorithm| TransferKey::new(name, algorithm, SECRET).expect("a key");
    [key("transfer.test", "hmac-sha256"), key("Other.Test.", "hmac-sha512")]
}

/// How a query is signed.
#[derive(Clone, Copy)]
pub(super) struct Signer<'a> {
    key: &'a [u8],
    algorithm: &'a [u8],
    secret: &'a [u8],
    time: u64,
}

pub(super) const RIGHT: Signer<'static> = Signer { key: KEY, algorithm: SHA256, secret: SECRET, time: 1_800_000_000 };

/// The record of a signature, as a reply has it.
#[derive(Debug, PartialEq, Eq)]
struct Signed {
    code: Vec<u8>,
    time: u64,
    error: u16,
    other: Vec<u8>,
}

impl Signer<'_> {
    fn hmac(&self, text: &[u8]) -> Vec<u8> {
        let algorithm = if self.algorithm == SHA512 { hmac::HMAC_SHA512 } else { hmac::HMAC_SHA256 };
        hmac::sign(&hmac::Key::new(algorithm, self.secret), text).as_ref().to_vec()
    }

    fn variables(&self, time: u64, error: u16, other: &[u8]) -> Vec<u8> {
        let (time, length) = (&time.to_be_bytes()[2..], (other.len() as u16).to_be_bytes());
        let rest = [time, &[1, 44], &error.to_be_bytes(), &length, other].concat();
        [self.key, &[0, 255, 0, 0, 0, 0], self.algorithm, &rest].concat()
    }

    fn record(&self, code: &[u8], id: &[u8]) -> Vec<u8> {
        let length = (self.algorithm.len() + 16 + code.len()) as u16;
        let (time, size) = (&self.time.to_be_bytes()[2..], (code.len() as u16).to_be_bytes());
        let data = [self.algorithm, time, &[1, 44], &size, code, id, &[0, 0, 0, 0]].concat();
        [self.key, &[0, 250, 0, 255, 0, 0, 0, 0], &length.to_be_bytes(), &data].concat()
    }

    /// Signs a query; gives its code too.
    pub(super) fn sign(&self, query: &Message) -> (Vec<u8>, Vec<u8>) {
        self.sign_packet(bytes(query))
    }

    /// Signs what may be no query; it has a head at least.
    pub(super) fn sign_packet(&self, mut packet: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
        let code = self.hmac(&[&packet[..], &self.variables(self.time, 0, &[])].concat());
        let record = self.record(&code, &packet[..2]);
        packet.extend_from_slice(&record);
        packet[11] = packet[11].wrapping_add(1);
        (packet, code)
    }

    /// Takes the signature off a reply; true where it is right after `before`, by the rule of the first message or of others.
    #[track_caller]
    fn check(&self, message: &[u8], before: &[u8], is_first: bool) -> (Signed, bool) {
        let at = message.windows(self.key.len() + 2).rposition(|part| part == [self.key, &[0, 250]].concat());
        let at = at.expect("it has a signature");
        let data = &message[at + self.key.len() + 10 + self.algorithm.len()..];
        let number = |at: usize| usize::from(u16::from_be_bytes([data[at], data[at + 1]]));
        let size = number(8);
        let time = u64::from_be_bytes([0, 0, data[0], data[1], data[2], data[3], data[4], data[5]]);
        let (code, rest) = data[10..].split_at(size);
        assert_eq!(rest[..2], message[..2], "the number");
        let error = u16::from_be_bytes([rest[2], rest[3]]);
        let signed = Signed { code: code.to_vec(), time, error, other: rest[6..].to_vec() };
        let mut text = message[..at].to_vec();
        text[11] -= 1;
        let end = match is_first {
            true => self.variables(time, error, &signed.other),
            false => [&time.to_be_bytes()[2..], &[1, 44]].concat(),
        };
        let text = [&(before.len() as u16).to_be_bytes(), before, &text, &end].concat();
        let is_right = self.hmac(&text) == signed.code;
        (signed, is_right)
    }
}

/// The messages that a query over TCP gets.
fn messages(bench: &mut Bench, packet: &[u8]) -> Vec<Vec<u8>> {
    let (done, first) = bench.send(packet, Transport::Tcp);
    assert!(matches!(done, Done::Replied { .. }), "{done:?}");
    let (mut all, mut rest) = (vec![first], bench.responder.further());
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (message, after) = after.split_at(usize::from(u16::from_be_bytes(*length)));
        all.push(message.to_vec());
        rest = after;
    }
    all
}

/// What a query of this kind for this zone gets over TCP: the code, and that of its signature, if it has one that is right.
fn outcome(bench: &mut Bench, (zone, kind): (&str, &str), by: Signer<'_>) -> (u8, Signed, bool) {
    let (packet, code) = by.sign(&query(zone, kind));
    let reply = bench.send(&packet, Transport::Tcp).1;
    let (signed, is_right) = by.check(&reply, &code, true);
    (reply[3] & 15, signed, is_right)
}

#[test]
fn only_who_signs_by_the_zones_key_gets_it() {
    let mut bench = Bench::new(open());
    let axfr = ("example.org.", "AXFR");
    let (code, signed, is_right) = outcome(&mut bench, axfr, RIGHT);
    assert_eq!((code, signed.error, is_right), (0, 0, true));
    for transport in [Transport::Udp, Transport::Tcp] {
        for kind in ["AXFR", IXFR] {
            let unsigned = bench.send(&bytes(&query("example.org.", kind)), transport).1;
            assert_eq!((unsigned[3] & 15, unsigned[7]), (5, 0), "REFUSED, and nothing in it: {kind}");
        }
    }
    // A key that is known, and that this zone does not name.
    let other = Signer { key: OTHER, algorithm: SHA512, ..RIGHT };
    let (code, signed, is_right) = outcome(&mut bench, axfr, other);
    assert_eq!((code, signed.error, is_right), (5, 0, true));
    // A name that is no zone of its own, and a zone that names no key.
    assert_eq!(outcome(&mut bench, ("www.example.org.", "AXFR"), RIGHT).0, 9);
    assert_eq!(outcome(&mut bench, ("example.net.", "AXFR"), RIGHT).0, 9);
    assert_eq!(outcome(&mut bench, ("deep.below.example.org.", "AXFR"), RIGHT).0, 5);
    // Over UDP there is none.
    let packet = RIGHT.sign(&query("example.org.", "AXFR")).0;
    assert_eq!(bench.send(&packet, Transport::Udp).1[3] & 15, 1);
}

/// NOTAUTH with what is wrong: only what may be believed is signed.
#[test]
fn a_signature_that_is_not_right_is_told_so() {
    let mut bench = Bench::new(open());
    let soa = ("example.org.", "SOA");
    for (what, by, error) in [
        ("another key", Signer { key: b"\x04none\x00", ..RIGHT }, 17),
        ("another algorithm of a known key", Signer { algorithm: SHA512, ..RIGHT }, 17),
        ("another secret", Signer { secret: b"0123456789abcdef0123456789abcdeX", ..RIGHT }, 16),
    ] {
        let (code, signed, _) = outcome(&mut bench, soa, by);
        let expected = Signed { code: Vec::new(), time: by.time, error, other: Vec::new() };
        assert_eq!((code, signed), (9, expected), "{what}");
        assert_eq!(outcome(&mut bench, ("example.org.", "AXFR"), by).0, 9, "{what}");
    }
    // Any bit of the message or its signature: what is changed is not what was signed.
    let (packet, code) = RIGHT.sign(&query("example.org.", "AXFR"));
    for at in 2..packet.len() {
        let mut changed = packet.clone();
        changed[at] ^= 1;
        let messages = bench.send(&changed, Transport::Tcp).1;
        assert!(messages.len() < 12 || messages[3] & 15 != 0, "byte {at}");
    }
    // A code that was cut short.
    let mut cut = bytes(&query("example.org.", "SOA"));
    cut.extend_from_slice(&RIGHT.record(&code[..16], &[0, 0]));
    cut[11] += 1;
    let reply = bench.send(&cut, Transport::Tcp).1;
    let (error, other) = (&reply[reply.len() - 4..reply.len() - 2], &reply[reply.len() - 2..]);
    assert_eq!((reply[3] & 15, error, other), (9, &[0, 22][..], &[0, 0][..]));
    // Five minutes old or ahead is right; more is not, and the reply says which time it is.
    for (time, is_in_time) in [(-301, false), (-300, true), (300, true), (301, false)] {
        let by = Signer { time: RIGHT.time.checked_add_signed(time).expect("a time"), ..RIGHT };
        let (code, signed, is_right) = outcome(&mut bench, soa, by);
        assert!(is_right, "{time}");
        match is_in_time {
            true => assert_eq!((code, signed.error, signed.time), (0, 0, RIGHT.time), "{time}"),
            false => {
                let wall = RIGHT.time.to_be_bytes()[2..].to_vec();
                assert_eq!((code, signed.error, signed.time, signed.other), (9, 18, by.time, wall), "{time}");
            }
        }
    }
}

/// A query of any type that is signed has a signed reply; what a key's name is compressed to, and its case, is no matter.
#[test]
fn what_is_asked_signed_is_answered_signed() {
    let mut bench = Bench::new(open());
    bench.zones =
        Zones::new(vec![Zone::parse("transfer.test", "@ 60 SOA a. b. 1 1 1 1 1\n@ 60 NS a.\n", &[]).unwrap()])
            .expect("zones")
            .with_keys(keys());
    for transport in [Transport::Udp, Transport::Tcp] {
        let asked = query("transfer.test.", "NS");
        let (packet, code) = RIGHT.sign(&asked);
        let reply = bench.send(&packet, transport).1;
        assert!(RIGHT.check(&reply, &code, true).1);
        let length = bytes(&asked).len();
        let upper = [&packet[..length], &KEY.to_ascii_uppercase(), &packet[length + KEY.len()..]].concat();
        assert_eq!(bench.send(&upper, transport).1, reply);
        // The zone asked for ends like the key: a pointer to it stands for the whole name.
        let pointing = [&packet[..length], &[0xc0, 12], &packet[length + KEY.len()..]].concat();
        assert_eq!(bench.send(&pointing, transport).1, reply);
        // One that points to itself is malformed.
        let circle = [&packet[..length], &[0xc0, length as u8], &packet[length + KEY.len()..]].concat();
        assert_eq!(bench.send(&circle, transport).1[3] & 15, 1);
    }
}

/// Over UDP the signature has to fit too: what does not says so, signed.
#[test]
fn a_signed_reply_is_no_longer_than_its_limit() {
    let mut bench = Bench::new(DnsLimits { replies_per_second: 0, ..DnsLimits::default() });
    let (packet, code) = RIGHT.sign(&query("big.example.org.", "TXT"));
    let reply = bench.send(&packet, Transport::Udp).1;
    assert!(reply.len() <= 512 && reply[2] & 2 != 0, "{} bytes", reply.len());
    assert!(RIGHT.check(&reply, &code, true).1);
    // Two records of 439 bytes in all fit; with a signature of 86 they do not.
    let text = format!("@ 60 SOA a. b. 1 1 1 1 1\n@ 60 NS a.\nx 60 TXT \"{}\"\n", "x".repeat(239));
    let text = format!("{text}x 60 TXT \"{}\"\n", "y".repeat(150));
    bench.zones = Zones::new(vec![Zone::parse("test", &text, &[]).expect("a zone")]).expect("zones").with_keys(keys());
    let asked = query("x.test.", "TXT");
    assert_eq!(read(&bench.send(&bytes(&asked), Transport::Udp).1).answers.len(), 2);
    let reply = bench.send(&RIGHT.sign(&asked).0, Transport::Udp).1;
    assert!(reply.len() <= 512 && reply[2] & 2 != 0, "{} bytes", reply.len());
}

fn records(messages: &[Vec<u8>]) -> Vec<Record> {
    messages.iter().flat_map(|message| read(message).answers).collect()
}

/// What has changed since a serial number: the whole zone, or that it is the same.
#[test]
fn what_has_changed_is_the_whole_zone() {
    let mut bench = Bench::new(open());
    let asked = |serial: u32| {
        let mut message = query("example.org.", IXFR);
        message.authorities.push(soa(serial));
        message
    };
    for (serial, is_whole) in [(6, true), (7, false), (8, false), (7_u32.wrapping_sub(1 << 31) + 1, true)] {
        let (packet, code) = RIGHT.sign(&asked(serial));
        let messages = messages(&mut bench, &packet);
        assert!(RIGHT.check(&messages[0], &code, true).1);
        let records = records(&messages);
        assert_eq!(records.len() > 1, is_whole, "{serial}");
        assert!(line(&records[0]).contains(" SOA "), "{serial}");
        // Over UDP it is told only which one is the last.
        assert_eq!(read(&bench.send(&packet, Transport::Udp).1).answers.len(), 1);
    }
    // Without the serial number it is no such query.
    assert_eq!(outcome(&mut bench, ("example.org.", IXFR), RIGHT).0, 1);
}

/// The zone as a secondary has it.
fn soa(serial: u32) -> Record {
    let name = |text: &str| Name::from_ascii(text).expect("a name");
    let soa = SOA::new(name("a."), name("b."), serial, 1, 1, 1, 1);
    Record::from_rdata(name("example.org."), 60, RData::SOA(soa))
}

/// More than one message can have: in several, each of which is signed after the one before.
#[test]
fn a_large_zone_takes_several_messages() {
    let mut bench = Bench::new(open());
    let text: String = (0..2000).map(|i| format!("n{i} TXT \"{i:0>250}\"\n")).collect();
    let zone = format!("$TTL 60\n@ SOA ns.x. root.x. 1 1 1 1 1\n@ NS ns.x.\n{text}");
    let zone = Zone::parse("example.org", &zone, &services()).expect("a zone");
    let zone = zone.with_secondaries(&["transfer.test".into()], &[]).expect("a zone");
    bench.zones = Zones::new(vec![zone]).expect("zones").with_keys(keys());
    let (packet, mut before) = RIGHT.sign(&query("example.org.", "AXFR"));
    let messages = messages(&mut bench, &packet);
    assert!((8..=12).contains(&messages.len()), "{}", messages.len());
    for (index, message) in messages.iter().enumerate() {
        let (signed, is_right) = RIGHT.check(message, &before, index == 0);
        assert!(is_right, "message {index}");
        before = signed.code;
    }
    let records = records(&messages);
    // SOA twice, NS, texts; of services www has three addresses, the zone itself and `*.any` one and three.
    assert_eq!(records.len(), 2 + 1 + 2000 + 3 + 1 + 3);
    let soa: Vec<usize> = (0..records.len()).filter(|i| line(&records[*i]).contains(" SOA ")).collect();
    assert_eq!(soa, [0, records.len() - 1]);
}

/// dig takes the zone over TCP and checks each signature. All records are there; services have all addresses, and `_why` and
/// what is served as another zone are not in it.
#[test]
fn dig_takes_a_zone() {
    let server = server(open());
    let port = server.addresses()[0].port().to_string();
    let dig = |key: &str, flags: &[&str]| {
        let mut command = Command::new("dig");
        command.args(["@127.0.0.1", "-p", &port, "+tries=1", "-y", key]).args(flags);
        String::from_utf8(command.output().expect("dig runs").stdout).expect("text")
    };
    let key = format!("hmac-sha256:transfer.test:{TEXT}");
    let said = dig(&key, &["+nocmd", "+nostats", "+nocomments", "example.org", "AXFR"]);
    let is_record = |line: &&str| !line.starts_with(';') && !line.is_empty() && !line.contains("\tTSIG\t");
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = said.lines().filter(is_record).map(squeezed).collect();
    let soa = "example.org. 300 IN SOA ns1.example.org. hostmaster.example.org. 7 3600 900 1209600 60";
    assert_eq!((lines[0].as_str(), lines.last().map(String::as_str)), (soa, Some(soa)), "{said}");
    for expected in [
        "example.org. 300 IN NS ns.example.net.",
        "example.org. 20 IN A 198.51.100.3",
        "www.example.org. 20 IN A 198.51.100.2",
        "www.example.org. 20 IN A 198.51.100.1",
        "www.example.org. 20 IN AAAA 2001:db8:1::2",
        "*.any.example.org. 20 IN A 198.51.100.2",
        "mail.example.org. 60 IN A 192.0.2.26",
        "*.wild.example.org. 300 IN A 192.0.2.77",
        "sub.example.org. 300 IN NS ns.sub.example.org.",
        "ns.sub.example.org. 300 IN A 192.0.2.54",
        "a.b.c.example.org. 300 IN A 192.0.2.1",
        "_sip._tcp.example.org. 300 IN SRV 0 5 5060 mail.example.org.",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {said}");
    }
    // 31 of the file, the SOA record once more, and of services 1, 3 and 3.
    assert_eq!(lines.len(), 31 + 1 + 7, "{said}");
    assert!(!said.contains("_why") && !said.contains("deep.below"), "{said}");
    assert!(!said.contains("could not be validated") && !said.contains("verify"), "{said}");
    let wrong = format!("hmac-sha256:transfer.test:{}", TEXT.replace("MDEy", "MDEz"));
    let refused = dig(&wrong, &["example.org", "AXFR"]);
    assert!(refused.contains("Transfer failed") && !refused.contains("192.0.2"), "{refused}");
    let late = dig(&key, &["+fuzztime=1000000000", "example.org", "SOA"]);
    assert!(late.contains("NOTAUTH") && late.contains("BADTIME"), "{late}");
    assert_eq!(server.counts().tcp["AXFR"], 2, "{:?}", server.counts());
}
