//! Three nodes for a long time at 70 % load, while one after another is killed and comes back. Clients that try the next address
//! of the name, and come back to it when they were sent to a dead node, lose only what was in flight on the killed one; others
//! lose what they are sent there until its silence is noticed. Memory and descriptors of a node that lives do not grow. A quarter
//! of a minute of that is part of the suite, ten minutes are not.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sojourn_bed::Child;
use sojourn_bed::clock::{since_boot, since_boot_at};
use sojourn_load::{Load, Outcome, Record, Report, Schedule, Stop, Targets, Url, realtime_ns};
use sojourn_stats::{Dimension, Law, Span, Stream, Time};
use sojourn_traffic::{Planned, Request};

use crate::dns;
use crate::nodes::is_up;
use crate::soak::memory_kb;
use crate::sojourn::{PROGRAM, await_that, file};

const SERVICE: &str = "www.geo.example.org";
const NAMES: [&str; 3] = ["a", "b", "c"];
const ADDRESSES: [&str; 3] = ["127.0.0.21", "127.0.0.22", "127.0.0.23"];

/// What each node emulates: it can do 100 requests/s, so that all can do 300.
const SERVER: &str = "discipline = \"ps\"\ndemand = \"exponential(mean = 10 ms)\"";

/// Requests/s of clients that come back, at all nodes, and of others, at `a` only: 70 % of what all can do.
const HONEST: f64 = 120.0;
const OTHERS: f64 = 90.0;

/// How long, and how.
struct Soak {
    seconds: f64,
    policy: &'static str,
    /// Between two reports of a node.
    period_s: f64,
    /// When the first dies, and between two deaths; `b` and `c` in turns.
    death_s: f64,
    /// For how long one is dead.
    dead_s: f64,
    /// What the memory of a node that lives may grow by: the most connections at a time may come late.
    grows_kb: u64,
}

#[test]
fn only_what_was_in_flight_on_a_killed_node_is_lost() {
    soak(&Soak { seconds: 12.0, policy: "round-robin", period_s: 0.3, death_s: 3.0, dead_s: 5.0, grows_kb: 16 << 10 });
}

#[test]
#[ignore = "ten minutes with nothing else on the machine: `make nightly`"]
fn the_same_for_ten_minutes() {
    soak(&Soak { seconds: 600.0, policy: "sweb", period_s: 2.5, death_s: 60.0, dead_s: 20.0, grows_kb: 4 << 10 });
}

/// One that was killed.
struct Death {
    node: usize,
    /// Before it was, and when all its connections were closed.
    killed: Time,
    gone: Time,
}

fn soak(soak: &Soak) {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "key", "0123456789abcdef");
    let port = free();
    let start = |index: usize| start(folder.path(), port, index, soak);
    let mut nodes: [Child; 3] = std::array::from_fn(start);
    for (node, own) in nodes.iter().zip(NAMES) {
        await_that("all are heard", || NAMES.iter().all(|peer| *peer == own || is_up(node, peer)));
    }
    let sites: String = NAMES.iter().zip(ADDRESSES).map(|(name, address)| dns::site(name, address)).collect();
    // All clients here are of one network, which asks much when many connections are opened at once.
    let unlimited = "limits = { replies_per_second = 0 }";
    let dns = dns::start(&folder, &dns::config(unlimited, "round-robin", "answers = 3", &sites));
    let lives = nodes[0].pid();
    let descriptors = || fs::read_dir(format!("/proc/{lives}/fd")).map_or(0, Iterator::count);
    let descriptors_before = descriptors();

    let begins_ns = realtime_ns() + 300_000_000;
    let zero = since_boot_at(begins_ns);
    let common = |load: Load| Load {
        start_at: Some(begins_ns),
        redirects: 1,
        keep_records: true,
        // However late a busy machine is, what was planned is sent, and waited for.
        catch_up: Span::from_secs_f64(60.0),
        timeout: Span::from_secs_f64(30.0),
        grace: Span::from_secs_f64(30.0),
        stop: Stop::After(Span::from_secs_f64(soak.seconds)),
        ..load
    };
    let honest = {
        let url = Url::parse(&format!("http://{SERVICE}:{port}/")).unwrap();
        let load = Load::to(&[url], Schedule::open(plan(1, HONEST)), Targets::Work);
        common(Load { resolver: Some(([127, 0, 0, 1], dns.port()).into()), returns: true, ..load })
    };
    let others = common(Load::new(address(0, port), SERVICE, Schedule::open(plan(2, OTHERS)), Targets::Work));
    let run = |load: Load| sojourn_load::run(load, &Arc::new(AtomicBool::new(false)), &|_| {}).expect("it is sent");

    let mut deaths: Vec<Death> = Vec::new();
    let (mut early_kb, mut is_dead) = (None, false);
    let (honest, others) = std::thread::scope(|scope| {
        let (honest, others) = (scope.spawn(|| run(honest)), scope.spawn(|| run(others)));
        let passed = || since_boot().saturating_since(zero).as_secs_f64();
        while passed() < soak.seconds {
            std::thread::park_timeout(Duration::from_millis(20));
            let since = passed() - soak.death_s * (deaths.len() as f64 + if is_dead { 0.0 } else { 1.0 });
            let node = 1 + (deaths.len() - usize::from(is_dead)) % 2;
            if is_dead && since >= soak.dead_s {
                // While one is dead the others have the most connections.
                early_kb.get_or_insert_with(|| memory_kb(lives));
                nodes[node] = start(node);
                is_dead = false;
            } else if !is_dead && since >= 0.0 && passed() + soak.dead_s < soak.seconds {
                let killed = since_boot();
                nodes[node].kill();
                deaths.push(Death { node, killed, gone: since_boot() });
                is_dead = true;
            }
        }
        (honest.join().expect("it is measured"), others.join().expect("it is measured"))
    });

    let at = |time: Time| zero + Span(time.0);
    let lost = |report: &Report| -> Vec<Record> {
        let records = report.records.as_ref().expect("they are kept");
        records.iter().filter(|record| record.outcome != Outcome::Ok).copied().collect()
    };
    let was_in_flight = |record: &Record| {
        let under_way =
            |death: &Death| record.sent.is_some_and(|sent| at(sent) <= death.gone) && at(record.done) >= death.killed;
        matches!(record.outcome, Outcome::Reset | Outcome::ClosedEarly) && deaths.iter().any(under_way)
    };
    assert!(!deaths.is_empty(), "none died in {} s", soak.seconds);
    let of_honest = lost(&honest);
    let more: Vec<&Record> = of_honest.iter().filter(|record| !was_in_flight(record)).collect();
    assert!(more.is_empty(), "{} of {}: {:?}", more.len(), honest.counts.planned, more.first());
    assert!(honest.connections.returned > 0, "{:?}", honest.connections);

    // A node that lives has noticed; from then on it sends no client there.
    let silences = nodes[0].dated_events();
    let noticed = |death: &Death| {
        let is_it = |(when, event): &&(Time, serde_json::Value)| {
            *when > death.killed && event["event"] == "peer_down" && event["peer"] == NAMES[death.node]
        };
        silences.iter().find(is_it).map(|(when, _)| *when).expect("it was noticed")
    };
    for death in &deaths {
        // On a busy machine it is seen later.
        let silence_s = (noticed(death) - death.killed).as_secs_f64();
        assert!(silence_s < 3.0 * soak.period_s + 5.0, "noticed after {silence_s} s");
    }
    let of_others = lost(&others);
    let refused = of_others.iter().filter(|record| record.outcome == Outcome::Refused);
    assert!(refused.clone().count() > 0, "none was sent to a dead node: {:?}", others.counts);
    for record in of_others.iter().filter(|record| !was_in_flight(record)) {
        let second = Span::from_secs_f64(1.0);
        let was_sent_in_time = |death: &Death| (death.killed..=noticed(death) + second).contains(&at(record.done));
        assert!(record.outcome == Outcome::Refused && deaths.iter().any(was_sent_in_time), "{record:?}");
    }

    await_that("all its clients' connections are closed", || descriptors() <= descriptors_before + 4);
    let (early_kb, late_kb) = (early_kb.expect("one died and came back"), memory_kb(lives));
    assert!(late_kb < early_kb + soak.grows_kb, "{early_kb} kB, and at the end {late_kb} kB");
    eprintln!(
        "{} deaths; lost {} of {} that were in flight, {} of {} of others; {} came back; {early_kb} kB and {late_kb} kB",
        deaths.len(),
        of_honest.len(),
        honest.counts.planned,
        of_others.len(),
        others.counts.planned,
        honest.connections.returned
    );
}

fn start(folder: &Path, port: u16, index: usize, soak: &Soak) -> Child {
    let key = folder.join("key").display().to_string();
    let listen = address(index, port).to_string();
    let every = format!("{} ms", soak.period_s * 1e3);
    let mut order = Command::new(PROGRAM);
    order.args(["node", "--child", "--name", NAMES[index], "--service", SERVICE, "--key", &key, "--model", SERVER]);
    order.args(["--listen", &listen, "--report-every", &every, "--policy", soak.policy]);
    for other in (0..3).filter(|other| *other != index) {
        order.args(["--peer", &format!("{}=http://{}", NAMES[other], address(other, port))]);
    }
    Child::start(order, Duration::from_secs(30)).expect("a node is ready")
}

fn address(index: usize, port: u16) -> SocketAddr {
    SocketAddr::new(ADDRESSES[index].parse::<IpAddr>().expect("an address"), port)
}

/// A port that was free a moment ago at all nodes' addresses, for TCP and UDP.
fn free() -> u16 {
    let is_free = |port: &u16| {
        (0..3).all(|index| {
            TcpListener::bind(address(index, *port)).is_ok() && UdpSocket::bind(address(index, *port)).is_ok()
        })
    };
    let some = || TcpListener::bind(address(0, 0)).and_then(|taken| taken.local_addr()).expect("a free port").port();
    std::iter::repeat_with(some).find(is_free).expect("they never end")
}

/// Requests at random, each with a demand of its own.
fn plan(seed: u64, rate: f64) -> impl Iterator<Item = Planned> + Send + 'static {
    let law = |text: &str| Law::parse(text, Dimension::Time).expect("a law");
    let (gaps, demands) = (law(&format!("exponential(mean = {} ms)", 1e3 / rate)), law("exponential(mean = 10 ms)"));
    let mut stream = Stream::new(seed, "soak", "requests");
    let mut at = Time::ZERO;
    std::iter::repeat_with(move || {
        at += Span::from_secs_f64(gaps.sample(&mut stream));
        let demand = Span::from_secs_f64(demands.sample(&mut stream));
        Planned { at, request: Request { client: 0, class: 0, object: 0, size: 100, demand, patience: Span::FOREVER } }
    })
}
