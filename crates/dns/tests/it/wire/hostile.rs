//! Packets that are no queries, or hostile ones: whatever comes, what is answered can be read, answers what was asked, and
//! comes to an end.

use std::fs;
use std::path::Path;

use hickory_proto::op::{Message, MessageType};
use hickory_proto::rr::rdata::opt::EdnsOption;
use sojourn_dns::{DnsLimits, Done, Transport};
use sojourn_stats::Stream;

use super::transfers::RIGHT;
use super::{Bench, bytes, open, query, read, with_edns};

/// Each of these was a packet that a reader might take badly; more are made of them.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/wire/corpus");

/// Types of queries for whole zones.
const AXFR: u16 = 252;
const IXFR: u16 = 251;

/// A head that counts these, and a question for `www.example.org.`.
fn packet(counts: [u16; 4], after: &[u8]) -> Vec<u8> {
    let mut packet = bytes(&query("www.example.org.", "A"));
    for (index, count) in counts.into_iter().enumerate() {
        packet[4 + 2 * index..6 + 2 * index].copy_from_slice(&count.to_be_bytes());
    }
    packet.extend_from_slice(after);
    packet
}

/// The code of the answer; none where there is none.
fn code(bench: &mut Bench, packet: &[u8]) -> Option<u16> {
    match bench.send(packet, Transport::Udp).0 {
        Done::Replied { code, .. } => Some(code),
        _ => None,
    }
}

#[test]
fn replies_and_what_is_no_message_are_never_answered() {
    let mut bench = Bench::new(open());
    let asked = bytes(&query("www.example.org.", "A"));
    for length in 0..12 {
        assert_eq!(bench.send(&asked[..length], Transport::Udp).0, Done::Malformed, "{length}");
    }
    // Our own replies too: two servers would talk for ever.
    let (_, reply) = bench.send(&asked, Transport::Udp);
    assert_eq!(bench.send(&reply, Transport::Udp).0, Done::Malformed);
    let (_, error) = bench.send(&asked[..20], Transport::Udp);
    assert_eq!(bench.send(&error, Transport::Udp).0, Done::Malformed);
}

#[test]
fn what_ends_early_is_said_to_be_malformed() {
    let mut bench = Bench::new(open());
    let mut asked = with_edns("www.example.org.", "A");
    let cookie = EdnsOption::Unknown(10, vec![1; 24]);
    asked.edns.as_mut().expect("it has EDNS").options_mut().insert(cookie);
    let asked = bytes(&asked);
    assert_eq!(code(&mut bench, &asked), Some(0));
    for length in 12..asked.len() {
        assert_eq!(code(&mut bench, &asked[..length]), Some(1), "{length}");
    }
    for more in [&[0][..], &[0; 11], &[0xff; 400]] {
        assert_eq!(code(&mut bench, &[&asked, more].concat()), Some(1), "{} more", more.len());
    }
}

#[test]
fn counts_and_names_that_are_wrong_are_malformed() {
    let mut bench = Bench::new(open());
    let second = [0, 0, 1, 0, 1];
    let long_name = |labels: &[usize]| {
        let mut packet = packet([1, 0, 0, 0], &[]);
        packet.truncate(12);
        for length in labels {
            packet.push(*length as u8);
            packet.extend(std::iter::repeat_n(b'a', *length));
        }
        packet.extend_from_slice(&[0, 0, 1, 0, 1]);
        packet
    };
    // A question whose name points to itself, to the head, beyond the end; labels of the reserved kinds.
    let pointing = |bytes: &[u8]| {
        let mut packet = packet([1, 0, 0, 0], &[]);
        packet.truncate(12);
        packet.extend_from_slice(bytes);
        packet.extend_from_slice(&[0, 1, 0, 1]);
        packet
    };
    for (name, wrong) in [
        ("no question", packet([0, 0, 0, 0], &[])),
        ("two questions", packet([2, 0, 0, 0], &second)),
        ("65535 questions", packet([65_535, 0, 0, 0], &[])),
        ("an answer that is not there", packet([1, 1, 0, 0], &[])),
        ("65535 additional records", packet([1, 0, 0, 65_535], &[])),
        ("65535 of all", packet([1, 65_535, 65_535, 65_535], &[0; 60_000])),
        ("data longer than the packet", packet([1, 0, 0, 1], &[0, 0, 1, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4])),
        ("a label that is longer than the packet", packet([1, 0, 0, 1], &[63, 1, 2, 3])),
        ("a pointer cut short", packet([1, 0, 0, 1], &[0xc0])),
        ("a reserved label of a record", packet([1, 0, 0, 1], &[0x40, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])),
        ("another of a record", packet([1, 0, 0, 1], &[0x80, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])),
        ("256 bytes", long_name(&[63, 63, 63, 62])),
        ("far more", long_name(&[63; 200])),
        ("a question that points to itself", pointing(&[0xc0, 12])),
        ("a question that points to the head", pointing(&[0xc0, 0])),
        ("a question that points beyond", pointing(&[0xff, 0xff])),
        ("a label and a pointer to it", pointing(&[1, b'a', 0xc0, 12])),
        ("a reserved label", pointing(&[0x40, 0])),
        ("another", pointing(&[0x80, 0])),
    ] {
        assert_eq!(code(&mut bench, &wrong), Some(1), "{name}");
    }
    // The longest name that may be; and records whose names point in circles, which need not be followed.
    assert_eq!(code(&mut bench, &long_name(&[63, 63, 63, 61])), Some(5));
    let circle = [0xc0, 33, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4];
    assert_eq!(code(&mut bench, &packet([1, 0, 0, 1], &circle)), Some(0));
    assert_eq!(code(&mut bench, &long_name(&[1; 127])), Some(5));
    assert_eq!(code(&mut bench, &long_name(&[1; 128])), Some(1));
}

#[test]
fn names_with_any_bytes_are_names() {
    let mut bench = Bench::new(open());
    for byte in 0..=255_u8 {
        let mut packet = bytes(&query("wwx.example.org.", "A"));
        packet[15] = byte;
        let expected = if byte.eq_ignore_ascii_case(&b'w') { 0 } else { 3 };
        let (done, reply) = bench.send(&packet, Transport::Udp);
        assert_eq!(done, Done::Replied { kind: 1, code: expected, is_truncated: false, is_slipped: false }, "{byte}");
        assert_eq!(reply[12..packet.len()], packet[12..], "{byte}");
    }
}

/// The corpus, and packets made of it: bytes changed, cut out, doubled and put together. So many in each run, and for as long
/// as `SOJOURN_FUZZ_SECONDS` says.
#[test]
fn whatever_comes_is_answered_in_order_or_not_at_all() {
    let mut bench = Bench::new(open());
    let corpus = corpus(&mut bench);
    for packet in &corpus {
        examine(&mut bench, packet);
    }
    let seconds: u64 = std::env::var("SOJOURN_FUZZ_SECONDS").map_or(0, |text| text.parse().expect("whole seconds"));
    // Those that are rightly signed get what they ask for, else nothing of that is tried: AXFR and IXFR, with EDNS and without.
    let mut is_given = |packet: &&Vec<u8>| {
        matches!(bench.send(packet, Transport::Tcp).0, Done::Replied { kind: AXFR | IXFR, code: 0, .. })
    };
    assert!(corpus.iter().filter(|packet| is_given(packet)).count() >= 4);
    let start = sojourn_part::now();
    let (mut rounds, mut answered) = (0_u64, 0_u64);
    let mut stream = Stream::new(1, "dns", if seconds == 0 { "fuzz" } else { "fuzz for long" });
    while rounds < 200_000 || (sojourn_part::now() - start).0 < seconds * 1_000_000_000 {
        let packet = mutant(&corpus, &mut stream);
        answered += u64::from(examine(&mut bench, &packet));
        rounds += 1;
    }
    assert!(answered > rounds / 20, "of {rounds} packets {answered} had an answer");
    if seconds > 0 {
        eprintln!("{rounds} packets, {answered} answered");
    }
}

fn corpus(bench: &mut Bench) -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        fs::read_dir(Path::new(CORPUS)).expect("a corpus").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).expect("digits"), 16).expect("hex");
        digits.chunks_exact(2).map(byte).collect()
    };
    let mut all: Vec<_> = files.iter().map(|file| hex(&fs::read_to_string(file).expect("text"))).collect();
    assert!(all.len() >= 8, "{}", all.len());
    for name in
        ["www.example.org.", "x.wild.example.org.", "sub.example.org.", "big.example.org.", "round.example.org."]
    {
        for kind in ["A", "AAAA", "NS", "SOA", "TXT", "CAA", "ANY"] {
            let mut asked = with_edns(name, kind);
            let edns = asked.edns.as_mut().expect("it has EDNS");
            edns.options_mut().insert(EdnsOption::Unknown(10, vec![7; 8]));
            edns.options_mut().insert(EdnsOption::Unknown(8, vec![0, 1, 24, 0, 203, 0, 113]));
            all.extend([bytes(&query(name, kind)), bytes(&asked)]);
        }
    }
    // Whole zones and notices are in the corpus, signed by this key too.
    all.extend(["A", "SOA", "TXT"].map(|kind| RIGHT.sign(&with_edns("www.example.org.", kind)).0));
    // Replies of ours, turned into queries.
    let replies: Vec<_> = all.iter().map(|packet| bench.send(packet, Transport::Tcp).1).collect();
    all.extend(replies.into_iter().filter(|reply| reply.len() > 12).map(|mut reply| {
        reply[2] &= 0x7f;
        reply
    }));
    all
}

fn mutant(corpus: &[Vec<u8>], stream: &mut Stream) -> Vec<u8> {
    let mut packet = corpus[stream.below(corpus.len())].clone();
    for _ in 0..=stream.below(4) {
        if packet.is_empty() {
            break;
        }
        let at = stream.below(packet.len());
        match stream.below(7) {
            0 => packet[at] = stream.below(256) as u8,
            1 => packet[at] ^= 1 << stream.below(8),
            2 => packet.truncate(at),
            3 => drop(packet.drain(at..(at + 1 + stream.below(16)).min(packet.len()))),
            4 => {
                let part = packet[at..(at + 1 + stream.below(32)).min(packet.len())].to_vec();
                packet.splice(at..at, part);
            }
            5 => {
                let other = &corpus[stream.below(corpus.len())];
                packet.truncate(at);
                packet.extend_from_slice(&other[stream.below(other.len().max(1)).min(other.len())..]);
            }
            // What counts and lengths like best.
            _ => packet[at] = [0, 1, 12, 63, 64, 0x80, 0xc0, 0xff][stream.below(8)],
        }
    }
    // A change within a signed message makes the signature wrong, and nothing behind it is tried: some are signed as they are.
    if packet.len() >= 12 && stream.below(4) == 0 { RIGHT.sign_packet(packet).0 } else { packet }
}

/// Whether it was answered: then what is right of every reply is right of it.
fn examine(bench: &mut Bench, packet: &[u8]) -> bool {
    let (done, reply) = bench.send(packet, Transport::Udp);
    let Done::Replied { kind, code, is_truncated, .. } = done else {
        assert!(packet.len() < 12 || packet[2] & 0x80 != 0, "no answer to {packet:02x?}");
        return false;
    };
    assert!(reply.len() <= 1232.max(packet.len() + 128), "{} bytes to {packet:02x?}", reply.len());
    assert_eq!(reply[..2], packet[..2], "the number");
    assert_eq!((reply[2] & 0xf8, u16::from(reply[3])), (0x80 | packet[2] & 0x78, code & 0xf), "{packet:02x?}");
    // hickory does not read operations that it does not know, and names of options that are strange to it.
    if code != 4 {
        let message =
            Message::from_vec(&reply).unwrap_or_else(|error| panic!("{error}: {reply:02x?} to {packet:02x?}"));
        assert_eq!(message.metadata.message_type, MessageType::Response);
        assert_eq!(message.metadata.truncation, is_truncated);
        if let Some(question) = message.queries.first() {
            let asked = Message::from_vec(packet).ok().and_then(|asked| asked.queries.first().cloned());
            // Where hickory can read the query at all, it reads the same question.
            assert!(asked.is_none_or(|asked| asked == *question), "{packet:02x?}");
        }
    }
    // The same over TCP, where nothing is cut.
    let (done, whole) = bench.send(packet, Transport::Tcp);
    assert!(matches!(done, Done::Replied { is_truncated: false, .. }), "{done:?}");
    let is_transfer = matches!(kind, AXFR | IXFR);
    assert!(is_truncated || is_transfer || whole == reply, "{packet:02x?}");
    if is_transfer && code != 4 {
        read(&whole);
        let mut rest = bench.responder.further();
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let (message, after) = after.split_at(usize::from(u16::from_be_bytes(*length)));
            assert_eq!((&message[..2], read(message).metadata.message_type), (&packet[..2], MessageType::Response));
            rest = after;
        }
        assert!(rest.is_empty());
    }
    true
}

/// A flood of names that do not exist takes no memory, and each costs at most a look per label that zones have.
#[test]
fn random_names_are_answered_and_leave_nothing_behind() {
    let mut bench = Bench::new(DnsLimits { replies_per_second: 0, ..DnsLimits::default() });
    let mut stream = Stream::new(1, "dns", "random names");
    for _ in 0..20_000 {
        let label: String = (0..20).map(|_| char::from(b'a' + stream.below(26) as u8)).collect();
        let (_, reply) = bench.send(&bytes(&query(&format!("{label}.example.org."), "A")), Transport::Udp);
        assert_eq!(reply[3], 3);
        assert!(reply.len() < 110);
    }
    assert_eq!(read(&bench.send(&bytes(&query("www.example.org.", "A")), Transport::Udp).1).answers.len(), 2);
}
