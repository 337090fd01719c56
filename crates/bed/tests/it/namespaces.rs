//! Real packets between hosts that are network namespaces: round trip, jitter, rate of each direction, loss, queue and
//! a shared medium as they were asked.
//!
//! This test binary is run again inside namespaces that `unshare` (util-linux) makes and that end with it.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use sojourn_bed::clock::since_boot;
use sojourn_bed::link::{Counts, LinkSpec, Queue};
use sojourn_bed::{Ground, GroundError, Host, Links, Namespaces, Topology};
use sojourn_model::LossLaw;
use sojourn_stats::{Dimension, Law, Span};

use crate::skip::skipped;
use crate::support::{PATIENCE, command, until};

const NEAR: Host = Host(0);
const FAR: Host = Host(1);
const SIDE: Host = Host(2);

/// Two hosts, 20 ms apart; what goes from the first to the second is lost by a tenth and limited to 4 Mbit/s. A third is 1 ms
/// from each.
fn topology() -> Topology {
    let mut topology = Topology::default();
    let near = topology.host("near", Ipv4Addr::new(10, 1, 0, 1));
    let far = topology.host("far", Ipv4Addr::new(194, 0, 0, 1));
    let queue = Queue::DropTail { bytes: 1 << 20 };
    let there = LinkSpec::constant("there", Span(20_000_000)).at(4e6, queue).losing(LossLaw::independent(0.1));
    let (there, back) = (topology.link(there), topology.link(LinkSpec::constant("back", Span(20_000_000))));
    topology.route(near, far, [there]);
    topology.route(far, near, [back]);
    let side = topology.host("side", Ipv4Addr::new(10, 1, 0, 2));
    for (from, to) in [(near, side), (side, near), (far, side), (side, far)] {
        let link = topology.link(LinkSpec::constant(format!("{from} to {to}"), Span(1_000_000)));
        topology.route(from, to, [link]);
    }
    topology
}

fn socket(bed: &Namespaces, host: Host) -> UdpSocket {
    let bound = bed.on(host, || UdpSocket::bind((bed.address(host), 0))).expect("a host").expect("a socket");
    bound.set_read_timeout(Some(Duration::from_millis(300))).expect("a time");
    bound
}

#[test]
#[ignore = "runs inside namespaces, for the test below"]
fn as_bed() {
    let mut bed = Namespaces::new(topology(), 1).expect("a bed");
    let (near, far) = (bed.host("near").expect("a host"), bed.host("far").expect("a host"));
    assert_eq!((near, far), (NEAR, FAR));
    assert!(matches!(bed.host("near"), Err(GroundError::NamedTwice(_))));
    let unknown = bed.host("moon").expect_err("there is none").to_string();
    assert!(unknown.contains("moon") && unknown.contains("near, far"), "{unknown}");
    assert_eq!(bed.address(FAR).to_string(), "194.0.0.1");

    // Packets of 1000 bytes at once: 2 ms each at 4 Mbit/s.
    let (from, to) = (socket(&bed, NEAR), socket(&bed, FAR));
    let target: SocketAddr = to.local_addr().expect("an address");
    let start = since_boot();
    for number in 0..300_u32 {
        let mut packet = [0; 972];
        packet[..4].copy_from_slice(&number.to_le_bytes());
        from.send_to(&packet, target).expect("it is sent");
    }
    let mut arrived = Vec::new();
    let mut packet = [0; 2000];
    while let Ok((bytes, sender)) = to.recv_from(&mut packet) {
        assert_eq!((bytes, sender), (972, from.local_addr().expect("an address")));
        arrived.push((u32::from_le_bytes(packet[..4].try_into().expect("four bytes")), (since_boot() - start).0));
    }
    let (counts, cut) = bed.counts();
    assert_eq!((counts[0].0.as_str(), counts[0].1.offered, cut), ("there", 300, 0));

    // Round trips of small packets, as many as are not lost.
    let mut round_trips = Vec::new();
    for _ in 0..20 {
        let start = since_boot();
        from.send_to(&[1], target).expect("it is sent");
        let Ok((_, sender)) = to.recv_from(&mut packet) else { continue };
        to.send_to(&[2], sender).expect("it is sent");
        from.recv_from(&mut packet).expect("nothing is lost on the way back");
        round_trips.push((since_boot() - start).0);
    }

    assert!(
        bed.links().is_some_and(|links| links.waited() > Some(Span::ZERO)),
        "what moves packets waits for a core at times"
    );

    bed.cut(NEAR, FAR, true);
    to.send_to(&[3], from.local_addr().expect("an address")).expect("it is sent");
    let before_ns = busy_ns();
    assert!(from.recv_from(&mut packet).is_err(), "the way is cut");
    // In 300 ms without a packet; a thread that waits in vain would take most of them.
    let spent_ms = (busy_ns() - before_ns) / 1_000_000;
    assert!(spent_ms < 60, "{spent_ms} ms of processor time while nothing moves");
    assert_eq!(bed.counts().1, 1);
    bed.cut(NEAR, FAR, false);
    to.send_to(&[3], from.local_addr().expect("an address")).expect("it is sent");
    assert!(from.recv_from(&mut packet).is_ok(), "the way is mended");

    // Nine of ten are lost besides, each way: of 100 more than 50 come through in fewer than one of 10^20 runs.
    bed.lose(NEAR, FAR, LossLaw::independent(0.9));
    for (one, other) in [(&from, &to), (&to, &from)] {
        let place = other.local_addr().expect("an address");
        for _ in 0..100 {
            one.send_to(&[4], place).expect("it is sent");
        }
        let came = std::iter::from_fn(|| other.recv_from(&mut packet).ok()).count();
        assert!(came < 50, "{came} of 100 came to {place}");
    }
    bed.lose(NEAR, FAR, LossLaw::default());

    // What is due sooner does not wait for what is due later, which came first.
    let side = socket(&bed, SIDE);
    let place = side.local_addr().expect("an address");
    let mut soon = 0;
    for _ in 0..20 {
        // Of three one arrives but for once in a thousand times.
        (0..3).for_each(|_| _ = from.send_to(&[5], target).expect("it is sent"));
        let sent = since_boot();
        while since_boot() - sent < Span(2_000_000) {}
        from.send_to(&[6], place).expect("it is sent");
        side.recv_from(&mut packet).expect("nothing is lost on the way");
        soon += usize::from(since_boot() - sent < Span(12_000_000));
    }
    assert!(soon >= 10, "{soon} of 20 came after 3 ms, or a little later on a busy machine");

    // A child on a host listens there and nowhere else.
    let child = bed.spawn(FAR, command("child::as_child"), PATIENCE).expect("a child");
    let here = std::net::TcpStream::connect(("127.0.0.1", child.port()));
    let there = bed.on(FAR, || std::net::TcpStream::connect(("127.0.0.1", child.port()))).expect("a host");
    assert!(here.is_err() && there.is_ok(), "{here:?}, {there:?}");
    child.stop();

    let told = json!({"arrived": arrived, "round_trips": round_trips, "lost": counts[0].1.lost});
    // Past the harness, which captures what macros print.
    writeln!(std::io::stdout(), "\nTOLD {told}").expect("it is read");
}

/// What the test of this name tells when it is run inside namespaces; nothing where this machine has none.
fn inside(test: &str) -> Option<Value> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]);
    let inside = command(test);
    let output = match unshare.arg(inside.get_program()).args(inside.get_args()).output() {
        Ok(output) if !can() => {
            skipped(String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Err(error) => {
            skipped(format!("no `unshare` (package util-linux): {error}"));
            return None;
        }
        Ok(output) => output,
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let told = said.lines().find_map(|line| line.strip_prefix("TOLD "));
    Some(told.and_then(|told| serde_json::from_str(told).ok()).unwrap_or_else(|| {
        panic!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }))
}

#[test]
fn packets_meet_the_links_that_were_asked_for() {
    let Some(told) = inside("namespaces::as_bed") else { return };
    let arrived: Vec<(u64, f64)> =
        serde_json::from_value(told["arrived"].clone()).expect("numbers and times of packets");
    // In order, each once, and as many as the link says; 300 packets lose 30 in the mean (sd 5.2, 5 of them).
    assert!(arrived.windows(2).all(|pair| pair[0].0 < pair[1].0), "{arrived:?}");
    assert_eq!(arrived.len() as u64 + told["lost"].as_u64().expect("a count"), 300);
    assert!((arrived.len() as f64 - 270.0).abs() < 5.0 * 5.2, "{}", arrived.len());
    // None arrives before it can: its own transmission and those before it, then the delay.
    for (number, at_ns) in &arrived {
        let least_ms = 20.0 + 2.0 * (*number as f64 + 1.0);
        assert!(*at_ns * 1e-6 >= least_ms, "packet {number} after {} ms of at least {least_ms}", at_ns * 1e-6);
    }
    // And the rate is what was asked: a stall of this machine at the end would be 60 ms of 540.
    let ((first, first_ns), (last, last_ns)) = (arrived[0], arrived[arrived.len() - 1]);
    let per_packet_ms = (last_ns - first_ns) * 1e-6 / (last - first) as f64;
    assert!((per_packet_ms / 2.0 - 1.0).abs() < 0.1, "{per_packet_ms} ms a packet");
    // Of the round trips none is shorter than 40 ms, and the shortest is no longer than that and the machine's own part.
    let round_trips: Vec<f64> = serde_json::from_value(told["round_trips"].clone()).expect("times");
    let shortest_ms = round_trips.iter().copied().fold(f64::INFINITY, f64::min) * 1e-6;
    assert!(round_trips.len() >= 5 && (40.0..45.0).contains(&shortest_ms), "{round_trips:?}");
}

/// Hosts between which each way is another kind of line.
fn lines() -> Topology {
    let mut topology = Topology::default();
    let near = topology.host("near", Ipv4Addr::new(10, 1, 0, 1));
    let far = topology.host("far", Ipv4Addr::new(194, 0, 0, 1));
    let side = topology.host("side", Ipv4Addr::new(10, 1, 0, 2));
    let tail = |bytes| Queue::DropTail { bytes };
    let plain = |name: &str| LinkSpec::constant(name, Span::ZERO);
    let jitter = |name: &str, reorders| LinkSpec {
        jitter: Some(Law::parse("uniform(0 ms, 20 ms)", Dimension::Time).expect("a law of times")),
        reorders,
        ..LinkSpec::constant(name, Span(5_000_000))
    };
    let bursts = LossLaw { correlation: 0.8, ..LossLaw::independent(0.2) };
    // From both to the far host over one medium, and back to each by itself.
    let medium = topology.link(plain("medium").at(4e6, tail(1 << 20)));
    topology.route(near, far, [medium]);
    topology.route(side, far, [medium]);
    for (from, to, spec) in [
        (far, near, plain("faster").at(8e6, tail(1 << 20))),
        (far, side, plain("bursts").losing(bursts)),
        (near, side, jitter("in order", false)),
        (side, near, jitter("reorders", true)),
    ] {
        let link = topology.link(spec);
        topology.route(from, to, [link]);
    }
    // Two more, for two kinds of queues.
    let (short, codel) =
        (topology.host("short", Ipv4Addr::new(10, 2, 0, 1)), topology.host("codel", Ipv4Addr::new(10, 2, 0, 2)));
    let queue = topology.link(plain("drop-tail").at(1e6, tail(10_000)));
    topology.route(near, short, [queue]);
    let queue = topology.link(plain("codel").at(1e6, Queue::Codel { bytes: 1_000_000 }));
    topology.route(near, codel, [queue]);
    for from in 0..topology.hosts.len() {
        for to in (0..topology.hosts.len()).filter(|to| *to != from) {
            if !topology.routes.contains_key(&(from, to)) {
                let link = topology.link(plain(&format!("{from} to {to}")));
                topology.route(from, to, [link]);
            }
        }
    }
    topology
}

/// Sends `count` packets of 1000 bytes from each of `from` in turn; who sent each that came, its number and how long it
/// was under way (ns since the first was sent, and since it was sent itself).
fn burst(from: &[&UdpSocket], to: &UdpSocket, count: u32) -> Vec<(usize, u32, u64, u64)> {
    let target = to.local_addr().expect("an address");
    let (start, mut sent) = (since_boot(), Vec::new());
    for number in 0..count {
        for socket in from {
            let mut packet = [0; 972];
            packet[..4].copy_from_slice(&number.to_le_bytes());
            sent.push(since_boot());
            socket.send_to(&packet, target).expect("it is sent");
        }
    }
    let (mut came, mut packet) = (Vec::new(), [0; 2000]);
    while let Ok((_, sender)) = to.recv_from(&mut packet) {
        let now = since_boot();
        let by = from.iter().position(|socket| socket.local_addr().expect("an address") == sender).expect("a sender");
        let number = u32::from_le_bytes(packet[..4].try_into().expect("four bytes"));
        came.push((by, number, (now - start).0, (now - sent[number as usize * from.len() + by]).0));
    }
    came
}

/// Time between two packets (ms), in the mean.
fn apart_ms(came: &[(usize, u32, u64, u64)]) -> f64 {
    (came[came.len() - 1].2 - came[0].2) as f64 * 1e-6 / (came.len() - 1) as f64
}

#[test]
#[ignore = "runs inside namespaces, for the test below"]
fn as_lines() {
    let bed = Namespaces::new(lines(), 1).expect("a bed");
    let of = |name: &str| -> Counts { bed.counts().0.into_iter().find(|(link, _)| link == name).expect("a link").1 };
    let [near, far, side, short, codel] = [0, 1, 2, 3, 4].map(|host| socket(&bed, Host(host)));

    // Two hosts share 4 Mbit/s: together, not each, they have a packet through in 2 ms.
    let came = burst(&[&near, &side], &far, 100);
    let of_side = came.iter().filter(|(by, ..)| *by == 1).count();
    let both = apart_ms(&came);
    assert!((came.len(), of_side) == (200, 100) && (both / 2.0 - 1.0).abs() < 0.1, "{both} ms a packet of {came:?}");
    // The other direction has a rate of its own: 1 ms a packet.
    let back = apart_ms(&burst(&[&far], &near, 200));
    assert!((back - 1.0).abs() < 0.15, "{back} ms a packet");

    // 5 ms and up to 20 ms more; a burst takes less than that. Of 200 uniform times (sd 5.8 ms) the mean is within 5
    // standard errors, and this machine adds some.
    for (from, to, reorders) in [(&near, &side, false), (&side, &near, true)] {
        let came: Vec<_> = (0..4).flat_map(|_| burst(&[from], to, 50)).collect();
        let under_way_ms: Vec<f64> = came.iter().map(|(.., under_way)| *under_way as f64 * 1e-6).collect();
        let mean = under_way_ms.iter().sum::<f64>() / 200.0;
        assert!(came.len() == 200 && under_way_ms.iter().all(|ms| *ms >= 5.0), "{under_way_ms:?}");
        let overtaken = came.windows(2).filter(|pair| pair[0].1 > pair[1].1 && pair[1].1 > 0).count();
        if reorders {
            assert!((13.0..23.0).contains(&mean) && overtaken > 20, "{mean} ms, {overtaken} overtaken");
        } else {
            // Each waits for those before it: nearly all are as late as the latest.
            assert!((18.0..32.0).contains(&mean) && overtaken == 0, "{mean} ms, {overtaken} overtaken");
        }
    }

    // Losses in bursts: after a lost packet 84 % are lost, and 20 % of all (the variance is 9 times that of independent
    // ones).
    let (target, mut packet, mut is_lost) = (side.local_addr().expect("an address"), [0; 2000], Vec::new());
    for _ in 0..100 {
        let before = of("bursts");
        (0..50_u32).for_each(|number| _ = far.send_to(&number.to_le_bytes(), target).expect("it is sent"));
        until("all have left", || of("bursts").passed + of("bursts").lost == before.offered + 50);
        let mut lost = [true; 50];
        for _ in before.passed..of("bursts").passed {
            side.recv_from(&mut packet).expect("what passes comes");
            lost[u32::from_le_bytes(packet[..4].try_into().expect("four bytes")) as usize] = false;
        }
        is_lost.extend(lost);
    }
    let lost = is_lost.iter().filter(|lost| **lost).count() as f64;
    let again = is_lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / lost;
    assert!((lost - 1000.0).abs() < 5.0 * 3.0 * 28.3, "{lost} of 5000");
    assert!((again - 0.84).abs() < 5.0 * (0.84_f64 * 0.16 / 1000.0).sqrt() + 0.01, "{again}");

    // 10 kB wait and one packet is transmitted, 8 ms each; a sender that is held up finds room for a few more.
    let came = burst(&[&near], &short, 40);
    assert!((11..20).contains(&came.len()), "{}", came.len());
    assert_eq!(of("drop-tail").dropped + came.len() as u64, 40);
    // All would have room, and take 0.8 s. After 0.1 s of a queue that does not empty CoDel drops one, then more and
    // more.
    let came = burst(&[&near], &codel, 100);
    let dropped = of("codel").dropped;
    assert!((5..40).contains(&dropped) && dropped + came.len() as u64 == 100, "{dropped} dropped, {} came", came.len());

    writeln!(std::io::stdout(), "\nTOLD {}", json!("all as asked")).expect("it is read");
}

/// Jitter with and without reordering, bursts of losses, queues, a rate for each direction and a medium that hosts
/// share.
#[test]
fn lines_of_all_kinds_are_as_they_were_asked() {
    if let Some(told) = inside("namespaces::as_lines") {
        assert_eq!(told, "all as asked");
    }
}

/// Processor time of this process.
fn busy_ns() -> i64 {
    let spent = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has this clock");
    spent.tv_sec() * 1_000_000_000 + spent.tv_nsec()
}

/// Whether this machine lets an ordinary user make network namespaces with a TUN device.
fn can() -> bool {
    let unshared = Command::new("unshare").args(["--user", "--map-root-user", "--net", "true"]).status();
    unshared.is_ok_and(|status| status.success()) && std::fs::File::open("/dev/net/tun").is_ok()
}
