//! Captures of packets, written here byte by byte.

use std::net::SocketAddr;

use etherparse::PacketBuilder;
use sojourn_stats::Stream;
use sojourn_traffic::capture::{Begin, Capture, CaptureError, Connection, End};
use sojourn_traffic::describe::{Value, describe_capture};
use sojourn_traffic::fit;

use crate::support::gzip;

const CLIENT: &str = "10.0.0.7:40000";
const SERVER: &str = "10.0.0.1:80";
/// 2001-09-09 01:46:40, and a half: the first packet of every capture here.
const START_NS: u64 = 1_000_000_000_500_000_000;

/// A segment at so many microseconds from the start; `flags` are of S, A, F and R.
#[derive(Clone, Copy)]
struct Segment<'a> {
    at_us: u64,
    from: &'a str,
    to: &'a str,
    sequence: u32,
    flags: &'a str,
    data: &'a [u8],
}

fn segment<'a>(at_us: u64, ends: (&'a str, &'a str), sequence: u32, flags: &'a str, data: &'a [u8]) -> Segment<'a> {
    Segment { at_us, from: ends.0, to: ends.1, sequence, flags, data }
}

/// One request and its reply over a connection that both sides close, `sequence` being the client's first number.
fn exchange<'a>(client: &'a str, server: &'a str, sequence: u32, at_us: u64, reply: &'a [u8]) -> Vec<Segment<'a>> {
    let (up, down) = ((client, server), (server, client));
    let request: &[u8] = b"GET /a HTTP/1.1\r\n\r\n";
    let (sent, got) = (sequence.wrapping_add(1 + request.len() as u32), 9001 + reply.len() as u32);
    vec![
        segment(at_us, up, sequence, "S", b""),
        segment(at_us + 100, down, 9000, "SA", b""),
        segment(at_us + 200, up, sequence.wrapping_add(1), "A", b""),
        segment(at_us + 300, up, sequence.wrapping_add(1), "A", request),
        segment(at_us + 1300, down, 9001, "A", reply),
        segment(at_us + 1400, down, got, "FA", b""),
        segment(at_us + 1500, up, sent, "FA", b""),
        segment(at_us + 1600, down, got + 1, "A", b""),
    ]
}

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

/// The packet, of IP and what is in it.
fn ip(segment: &Segment<'_>) -> Vec<u8> {
    let (from, to): (SocketAddr, SocketAddr) = (segment.from.parse().unwrap(), segment.to.parse().unwrap());
    let builder = match (from, to) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => PacketBuilder::ipv4(from.ip().octets(), to.ip().octets(), 64),
        (SocketAddr::V6(from), SocketAddr::V6(to)) => PacketBuilder::ipv6(from.ip().octets(), to.ip().octets(), 64),
        _ => panic!("both ends are of one kind"),
    };
    let mut tcp = builder.tcp(from.port(), to.port(), segment.sequence, 1000);
    for flag in segment.flags.chars() {
        tcp = match flag {
            'S' => tcp.syn(),
            'A' => tcp.ack(1),
            'F' => tcp.fin(),
            _ => tcp.rst(),
        };
    }
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, segment.data).unwrap();
    bytes
}

/// The packet behind the header of its link.
fn frame(link: u16, segment: &Segment<'_>) -> Vec<u8> {
    let packet = ip(segment);
    let six = packet[0] >> 4 == 6;
    let kind: [u8; 2] = if six { [0x86, 0xdd] } else { [8, 0] };
    let head = match link {
        0 => vec![if six { 30 } else { 2 }, 0, 0, 0],
        // With a VLAN tag.
        1 => [&[2; 12][..], &[0x81, 0, 0, 5], &kind].concat(),
        101 => Vec::new(),
        113 => [&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], &kind].concat(),
        276 => [&kind[..], &[0; 18]].concat(),
        _ => vec![0; 8],
    };
    [head, packet].concat()
}

fn four(big: bool, value: u32) -> [u8; 4] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn two(big: bool, value: u16) -> [u8; 2] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn pcap(link: u16, big: bool, nanoseconds: bool, snap: usize, segments: &[Segment<'_>]) -> Vec<u8> {
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = four(big, magic).to_vec();
    file.extend([two(big, 2), two(big, 4)].concat());
    file.extend([0, 0, 65_535, u32::from(link)].map(|value| four(big, value)).concat());
    for one in segments {
        let frame = frame(link, one);
        let ns = START_NS + one.at_us * 1000;
        let part = (ns % 1_000_000_000) as u32;
        let kept = frame.len().min(snap);
        let part = if nanoseconds { part } else { part / 1000 };
        let header = [(ns / 1_000_000_000) as u32, part, kept as u32, frame.len() as u32];
        file.extend(header.map(|value| four(big, value)).concat());
        file.extend(&frame[..kept]);
    }
    file
}

fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = four(big, body.len() as u32 + 12);
    [&four(big, kind)[..], &length, body, &length].concat()
}

/// Nanoseconds by the option of the interface, or microseconds, which is what goes without saying.
fn pcapng(link: u16, big: bool, nanoseconds: bool, segments: &[Segment<'_>]) -> Vec<u8> {
    let option = [&two(big, 9)[..], &two(big, 1), &[9, 0, 0, 0], &[0; 4]].concat();
    let unit = if nanoseconds { 1_000_000_000 } else { 1_000_000 };
    pcapng_of(link, big, if nanoseconds { &option } else { &[] }, unit, segments)
}

/// As [`pcapng`], with these options of the interface, which say so many units a second.
fn pcapng_of(link: u16, big: bool, options: &[u8], unit: u128, segments: &[Segment<'_>]) -> Vec<u8> {
    let section = [&four(big, 0x1a2b_3c4d)[..], &two(big, 1), &two(big, 0), &[0xff; 8]].concat();
    let interface = [&two(big, link)[..], &[0, 0], &four(big, 0), options].concat();
    let mut file = [block(big, 0x0a0d_0d0a, &section), block(big, 1, &interface)].concat();
    for one in segments {
        let mut frame = frame(link, one);
        let ns = START_NS + one.at_us * 1000;
        let ticks = (u128::from(ns) * unit / 1_000_000_000) as u64;
        let length = frame.len() as u32;
        frame.resize(frame.len().next_multiple_of(4), 0);
        let header = [0, (ticks >> 32) as u32, ticks as u32, length, length].map(|value| four(big, value)).concat();
        file.extend(block(big, 6, &[header, frame].concat()));
    }
    file
}

fn read(file: &[u8]) -> Capture {
    Capture::read_from(file, "x.pcap").unwrap()
}

fn only(segments: &[Segment<'_>]) -> Connection {
    let capture = read(&pcap(101, false, false, 65_535, segments));
    assert_eq!(capture.connections().len(), 1, "{:?}", capture.connections());
    capture.connections()[0].clone()
}

#[test]
fn every_container_and_every_link_tells_the_same() {
    let segments = exchange(CLIENT, SERVER, u32::MAX - 3, 250, REPLY);
    let expected = Connection {
        start_ns: START_NS + 250_000,
        client: CLIENT.parse().unwrap(),
        server: SERVER.parse().unwrap(),
        duration_ns: 1_600_000,
        handshake_ns: Some(100_000),
        bytes_to_server: 19,
        bytes_to_client: REPLY.len() as u64,
        packets: 8,
        requests: 1,
        replies: 1,
        status: Some(200),
        syn_retransmissions: 0,
        retransmissions: 0,
        begin: Begin::Syn,
        end: End::Closed,
    };
    for link in [0, 1, 101, 113, 276] {
        for (big, nanoseconds) in [(false, false), (true, false), (false, true), (true, true)] {
            for file in [pcap(link, big, nanoseconds, 65_535, &segments), pcapng(link, big, nanoseconds, &segments)] {
                let capture = read(&file);
                assert_eq!(
                    capture.connections(),
                    std::slice::from_ref(&expected),
                    "link {link}, big {big}, ns {nanoseconds}"
                );
                assert_eq!((capture.packets(), capture.tcp_packets(), capture.snapped()), (8, 8, 0));
                assert!(capture.warnings().is_empty(), "{:?}", capture.warnings());
            }
        }
    }
    assert_eq!(read(&gzip(pcap(1, false, false, 65_535, &segments))).connections(), std::slice::from_ref(&expected));
    // Headers without their data are enough, except for what is said in it.
    let snapped = read(&pcap(101, false, false, 40, &segments));
    assert_eq!(snapped.snapped(), 2);
    assert_eq!(snapped.connections(), [Connection { requests: 0, replies: 0, status: None, ..expected }]);
}

#[test]
fn six_is_as_good_as_four() {
    let segments = exchange("[2001:db8::7]:40000", "[2001:db8::1]:80", 5, 0, REPLY);
    for link in [0, 1, 101, 113, 276] {
        let capture = read(&pcap(link, false, false, 65_535, &segments));
        let one = &capture.connections()[0];
        assert_eq!((one.bytes_to_client, one.status, one.end), (REPLY.len() as u64, Some(200), End::Closed));
        assert_eq!(one.server.to_string(), "[2001:db8::1]:80");
    }
}

#[test]
fn what_is_sent_again_counts_once() {
    let (up, down) = ((CLIENT, SERVER), (SERVER, CLIENT));
    let one = only(&[
        segment(0, up, 100, "S", b""),
        segment(1_000_000, up, 100, "S", b""),
        segment(1_000_100, down, 500, "SA", b""),
        segment(1_000_200, up, 101, "A", b"GET / HTTP/1.0\r\n\r\n"),
        segment(1_200_200, up, 101, "A", b"GET / HTTP/1.0\r\n\r\n"),
        // The second of three pieces is late: out of order, not sent again.
        segment(1_300_000, down, 501, "A", b"HTTP/1.0 404 "),
        segment(1_300_002, down, 518, "A", b"found"),
        segment(1_300_004, down, 514, "A", b"Not "),
        // And the third comes twice.
        segment(1_300_006, down, 518, "A", b"found"),
        segment(1_300_010, down, 523, "FA", b""),
        segment(1_300_020, up, 119, "FA", b""),
        segment(1_300_030, down, 524, "A", b""),
    ]);
    assert_eq!((one.syn_retransmissions, one.retransmissions), (1, 2));
    assert_eq!((one.bytes_to_server, one.bytes_to_client), (18, 22));
    assert_eq!((one.requests, one.replies, one.status), (1, 1, Some(404)));
    assert_eq!((one.duration_ns, one.handshake_ns), (1_300_030_000, Some(1_000_100_000)));
    assert_eq!((one.begin, one.end), (Begin::Syn, End::Closed));
}

#[test]
fn edges_resets_and_silence() {
    let (up, down) = ((CLIENT, SERVER), (SERVER, CLIENT));
    // From before the capture, to after it; it is the lower port that serves.
    let one =
        only(&[segment(0, down, 700, "A", b"more"), segment(90, up, 30, "A", b""), segment(200, down, 704, "A", b"!")]);
    assert_eq!((one.begin, one.end, one.client.to_string()), (Begin::Before, End::Open, CLIENT.into()));
    assert_eq!((one.bytes_to_client, one.bytes_to_server, one.duration_ns), (5, 0, 200_000));
    assert!(!one.is_whole());
    let one = only(&[segment(0, up, 1, "S", b""), segment(50, down, 0, "RA", b"")]);
    assert_eq!((one.end, one.is_whole()), (End::Reset, true));
    let one = only(&[segment(0, up, 1, "S", b""), segment(1_000_000, up, 1, "S", b"")]);
    assert_eq!((one.end, one.syn_retransmissions, one.is_whole()), (End::Unanswered, 1, false));
    // The same ends again, with another number: another connection.
    let twice = [exchange(CLIENT, SERVER, 5, 0, REPLY), exchange(CLIENT, SERVER, 77_777, 50_000, REPLY)].concat();
    let capture = read(&pcap(101, false, false, 65_535, &twice));
    assert_eq!(capture.connections().len(), 2);
    assert_eq!(capture.gaps_s(), [0.05]);
    assert_eq!(capture.span_s(), 0.0516);
}

#[test]
fn a_capture_that_is_cut_off_is_read_up_to_there() {
    let segments = exchange(CLIENT, SERVER, 5, 0, REPLY);
    for file in [pcap(101, false, false, 65_535, &segments), pcapng(101, true, true, &segments)] {
        let whole = read(&file);
        assert!(whole.cut().is_none());
        let capture = read(&file[..file.len() - 3]);
        let cut = capture.cut().unwrap();
        assert_eq!((cut.packets, capture.connections()[0].packets), (7, 7));
        assert!(file.len() as u64 - cut.byte < 120 && cut.byte < file.len() as u64);
        assert!(
            capture.warnings()[0].starts_with("it ends after 7 whole packets, at byte "),
            "{:?}",
            capture.warnings()
        );
        // Damage: a length that no packet has.
        let mut damaged = file.clone();
        damaged.extend([0xff; 64]);
        assert_eq!(read(&damaged).cut().unwrap().packets, 8);
    }
}

#[test]
fn what_is_no_capture() {
    let error = |file: &[u8]| Capture::read_from(file, "x.pcap").unwrap_err();
    let segments = exchange(CLIENT, SERVER, 5, 0, REPLY);
    let told = error(&pcap(127, false, false, 65_535, &segments)).to_string();
    assert!(told.contains("link type 127 (IEEE 802.11 with a radio header)") && told.contains("Ethernet"), "{told}");
    assert!(matches!(error(b""), CaptureError::NotOne { .. }));
    assert!(matches!(error(b"not at all a capture"), CaptureError::NotOne { .. }));
    let header = pcap(1, false, false, 65_535, &[]);
    assert!(error(&header[..10]).to_string().contains("cut off within its header"));
    let told = error(&header).to_string();
    assert!(told.contains("none of its 0 packets is of TCP"), "{told}");
}

#[test]
fn rows_and_facts() {
    let mut all = Vec::new();
    let clients: Vec<String> = (0..40).map(|index| format!("10.0.1.{}:{}", index + 1, 30_000 + index)).collect();
    for (index, client) in clients.iter().enumerate() {
        all.extend(exchange(
            client,
            SERVER,
            1000 * index as u32,
            100_000 * index as u64 + 777 * (index as u64 % 7),
            REPLY,
        ));
    }
    let (up, down) = ((CLIENT, SERVER), (SERVER, CLIENT));
    all.extend([segment(5_000_000, up, 3, "S", b""), segment(5_000_400, down, 8, "SA", b"")]);
    let capture = read(&pcap(1, false, false, 65_535, &all));
    let mut csv = Vec::new();
    capture.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 42);
    assert!(csv.starts_with("at_s,client,server,duration_s,"), "{csv}");
    assert_eq!(
        csv.lines().nth(1).unwrap(),
        format!(
            "0.000000000,10.0.1.1:30000,{SERVER},0.001600000,0.000100000,19,{},8,1,1,200,0,0,syn,closed",
            REPLY.len()
        )
    );
    assert!(csv.lines().last().unwrap().ends_with(",2,0,0,,0,0,syn,open"), "{csv}");
    let description = describe_capture(&capture);
    let count = |name: &str| match &description.facts.iter().find(|fact| fact.name == name).unwrap().value {
        Value::Count(count) => *count,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!((count("connections"), count("connections_whole"), count("connections_cut_at_the_end")), (41, 40, 1));
    assert_eq!((count("clients"), count("servers"), count("http_requests")), (41, 1, 40));
    assert_eq!((count("first_status_2xx"), count("connections_reset")), (40, 0));
    assert!(description.remarks.iter().any(|remark| remark.contains("1 of 41 connections is cut")));
    assert_eq!(
        description.variables.iter().map(|variable| variable.name).collect::<Vec<_>>(),
        ["gap", "duration", "size"]
    );
}

/// The rate doubles after a third of the connections: the law of the gaps is of those left without that, and the one that is
/// written.
#[test]
fn the_gaps_of_a_rate_that_changes_have_the_law_that_is_written() {
    let clients: Vec<String> = (0..1200).map(|n| format!("10.1.{}.{}:{}", n / 250, n % 250 + 1, 30_000 + n)).collect();
    let mut stream = Stream::new(1, "capture", "profile");
    let (mut all, mut at_us) = (Vec::new(), 0_u64);
    for (n, client) in clients.iter().enumerate() {
        all.extend(exchange(client, SERVER, 1000 * n as u32, at_us, REPLY));
        let mean_us = if n < 400 { 98e3 } else { 48e3 };
        at_us += 2000 + (-mean_us * (1.0 - stream.uniform()).ln()) as u64;
    }
    let capture = read(&pcap(1, false, false, 65_535, &all));
    let description = describe_capture(&capture);
    let gap = &description.variables[0];
    assert_eq!((gap.name, gap.count), ("gap_at_level_1", 1199));
    let told = "the law of the gaps is of those left when its level";
    assert!(description.remarks.iter().any(|remark| remark.contains(told)), "{:?}", description.remarks);
    let workload = fit::of_capture(&capture, "x.pcap").unwrap();
    let written = workload.lines().find_map(|line| line.strip_prefix("arrivals = ")).unwrap().trim_matches('"');
    let law = &gap.taken.as_ref().unwrap().law;
    let stretched = law.rescaled_to_mean(capture.span_s() / 1200.0).unwrap();
    assert_eq!(stretched.to_string(), written, "{workload}");
}

/// Whatever stands in a file, it is read or refused: bytes changed and cut at random, in every container.
#[test]
fn no_bytes_are_a_surprise() {
    let segments = exchange(CLIENT, SERVER, 5, 0, REPLY);
    let mut stream = Stream::new(1, "capture", "damage");
    for good in [
        pcap(1, false, false, 65_535, &segments),
        pcapng(113, true, true, &segments),
        pcap(0, true, true, 50, &segments),
    ] {
        for _ in 0..1000 {
            let mut bytes = good.clone();
            bytes.truncate(1 + stream.below(good.len()));
            for _ in 0..stream.below(8) {
                let place = stream.below(bytes.len());
                bytes[place] = stream.below(256) as u8;
            }
            if let Ok(capture) = Capture::read_from(&bytes[..], "x.pcap") {
                assert!(capture.tcp_packets() > 0 && !capture.connections().is_empty());
                describe_capture(&capture);
                capture.write_csv(std::io::sink()).unwrap();
            }
        }
    }
}

/// Units of an interface that are powers of two or ten, with an offset, in both byte orders: the same instants (libpcap report
/// 577 is of this kind).
#[test]
fn every_unit_of_time() {
    let segments: Vec<Segment<'_>> = [0, 2_000_000]
        .into_iter()
        .flat_map(|at_us| exchange(if at_us == 0 { CLIENT } else { "10.0.0.8:40000" }, SERVER, 1, at_us, REPLY))
        .collect();
    for big in [false, true] {
        let option = |exponent: u8| [&two(big, 9)[..], &two(big, 1), &[exponent, 0, 0, 0], &[0; 4]].concat();
        for (exponent, unit) in
            [(3, 1000), (6, 1_000_000), (9, 1_000_000_000), (0x80 | 20, 1 << 20), (0x80 | 30, 1 << 30)]
        {
            let file = pcapng_of(1, big, &option(exponent), unit, &segments);
            let capture = Capture::read_from(&file[..], "x.pcapng").unwrap();
            let starts: Vec<f64> = capture.connections().iter().map(|one| one.start_ns as f64 / 1e9).collect();
            let unit_s = 1.0 / unit as f64;
            assert!((starts[0] - START_NS as f64 / 1e9).abs() < 1.1 * unit_s + 1e-6, "{exponent:#x}: {starts:?}");
            assert!((starts[1] - starts[0] - 2.0).abs() < 1.1 * unit_s + 1e-6, "{exponent:#x}: {starts:?}");
            let duration_s = capture.connections()[0].duration_ns as f64 / 1e9;
            assert!((duration_s - 0.0016).abs() < 1.1 * unit_s + 1e-6, "{exponent:#x}: {duration_s}");
        }
        let offset = if big { 3600_i64.to_be_bytes() } else { 3600_i64.to_le_bytes() };
        let ahead = [&two(big, 14)[..], &two(big, 8), &offset, &[0; 4]].concat();
        let capture = Capture::read_from(&pcapng_of(1, big, &ahead, 1_000_000, &segments)[..], "x.pcapng").unwrap();
        assert_eq!(capture.first_ns(), START_NS + 3_600_000_000_000);
        let none = Capture::read_from(&pcapng_of(1, big, &option(39), 1, &segments)[..], "x.pcapng").unwrap_err();
        assert!(none.to_string().contains("units of 10^-39 s (if_tsresol)"), "{none}");
    }
}

/// Without its interface, a packet has no time that is known.
#[test]
fn a_packet_of_an_unknown_interface_is_counted_apart() {
    let segments = exchange(CLIENT, SERVER, 1, 0, REPLY);
    let mut file = pcapng(1, false, false, &segments);
    let block = block(false, 6, &[[7, 0, 5, 4, 4].map(|value| four(false, value)).concat(), vec![0; 4]].concat());
    file.extend(block);
    let capture = Capture::read_from(&file[..], "x.pcapng").unwrap();
    assert_eq!(capture.packets(), segments.len() as u64 + 1);
    assert!(
        capture.warnings().iter().any(|warning| warning.starts_with("1 packet has no time")),
        "{:?}",
        capture.warnings()
    );
}
