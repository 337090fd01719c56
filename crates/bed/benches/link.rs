//! How fast the thread that moves packets is, and how late: bars are 50,000 packets/s per core, and at p99 no more than
//! 0.2 ms later than a bare timer in the same run.
//!
//! The benchmark runs itself again inside namespaces of its own, which end with it.
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::error::Error;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use sojourn_bed::clock::since_boot;
use sojourn_bed::link::LinkSpec;
use sojourn_bed::{Ground, Host, Namespaces, Topology};
use sojourn_stats::{Span, Time};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const INSIDE: &str = "SOJOURN_BENCH_INSIDE";
const DELAY: Span = Span(5_000_000);
/// Packets whose delay is measured, and the time between them.
const PROBES: u64 = 5_000;
const GAP: Span = Span(500_000);
const THROUGHPUT_S: u64 = 3;

const PACKETS_PER_S_LEAST: f64 = 50_000.0;
const LATER_MOST_MS: f64 = 0.2;

fn main() -> Result<()> {
    if std::env::var_os(INSIDE).is_none() {
        let own = std::env::current_exe()?;
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--user",
            "--map-root-user",
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--",
        ]);
        return Err(unshare.arg(own).env(INSIDE, "1").exec().into());
    }
    let mut topology = Topology::default();
    let (here, there) =
        (topology.host("here", Ipv4Addr::new(10, 0, 0, 1)), topology.host("there", Ipv4Addr::new(10, 0, 0, 2)));
    let (forth, back) = (LinkSpec::constant("forth", DELAY), LinkSpec::constant("back", DELAY));
    let (forth, back) = (topology.link(forth), topology.link(back));
    topology.route(here, there, [forth]);
    topology.route(there, here, [back]);
    let mut bed = Namespaces::new(topology, 1)?;
    let (here, there) = (bed.host("here")?, bed.host("there")?);

    let timer = percentile(timer_lateness()?, 0.99);
    let link = percentile(link_lateness(&bed, here, there)?, 0.99);
    let later_ms = (link - timer) * 1e-6;
    println!("added delay at p99: link {:.3} ms, bare timer {:.3} ms", link * 1e-6, timer * 1e-6);
    let (packets, busy_s) = throughput(&bed, here, there)?;
    let per_core = packets as f64 / busy_s;
    println!("packets: {packets} in {THROUGHPUT_S} s, for {busy_s:.2} s of the moving thread's core");
    let mut missed = Vec::new();
    let mut judge = |held: bool, line: String| {
        println!("  {} {line}", if held { "held:  " } else { "MISSED:" });
        if !held {
            missed.push(line);
        }
    };
    judge(
        per_core >= PACKETS_PER_S_LEAST,
        format!("packets/s per core: {per_core:.0}, at least {PACKETS_PER_S_LEAST}"),
    );
    judge(
        later_ms <= LATER_MOST_MS,
        format!("later than a bare timer at p99: {later_ms:.3} ms, at most {LATER_MOST_MS}"),
    );
    if missed.is_empty() { Ok(()) } else { Err(format!("missed: {}", missed.join("; ")).into()) }
}

/// How late (ns) a thread wakes that waits for the instants at which probes are sent.
fn timer_lateness() -> Result<Vec<f64>> {
    let mut late = Vec::new();
    each_probe(|at| {
        late.push((since_boot().0 - at.0) as f64);
        Ok(())
    })?;
    Ok(late)
}

/// How much later (ns) than the link's delay each probe arrives.
fn link_lateness(bed: &Namespaces, here: Host, there: Host) -> Result<Vec<f64>> {
    let (from, to) = sockets(bed, here, there)?;
    let target = to.local_addr()?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let mut late = Vec::new();
            let mut packet = [0; 8];
            while late.len() < PROBES as usize && to.recv(&mut packet).is_ok() {
                let sent = u64::from_le_bytes(packet);
                late.push((since_boot().0 - sent) as f64 - DELAY.0 as f64);
            }
            late
        });
        each_probe(|_| {
            from.send_to(&since_boot().0.to_le_bytes(), target)?;
            Ok(())
        })?;
        Ok(receiver.join().expect("it only receives"))
    })
}

/// Calls `probe` at evenly spaced instants, as soon as a timer tells them.
fn each_probe(mut probe: impl FnMut(Time) -> Result<()>) -> Result<()> {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
    let start = since_boot();
    for number in 1..=PROBES {
        let at = Time(start.0 + number * GAP.0);
        let instant = TimeSpec::new((at.0 / 1_000_000_000) as i64, (at.0 % 1_000_000_000) as i64);
        timer.set(Expiration::OneShot(instant), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        timer.wait()?;
        probe(at)?;
    }
    Ok(())
}

/// Packets that arrive while they are sent as fast as they can be, and the seconds of a core that moving them took.
fn throughput(bed: &Namespaces, here: Host, there: Host) -> Result<(u64, f64)> {
    let (from, to) = sockets(bed, here, there)?;
    let target = to.local_addr()?;
    let is_over = AtomicBool::new(false);
    let before = busy_s()?;
    let arrived = std::thread::scope(|scope| {
        let is_over = &is_over;
        let receiver = scope.spawn(move || {
            let (mut arrived, mut packet) = (0, [0; 2000]);
            while to.recv(&mut packet).is_ok() {
                arrived += 1;
            }
            arrived
        });
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                // A full buffer is what a sender that is too fast meets.
                let _ = from.send_to(&[0; 100], target);
            }
        });
        let end = since_boot() + Span(THROUGHPUT_S * 1_000_000_000);
        while since_boot() < end {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        is_over.store(true, Ordering::Relaxed);
        receiver.join().expect("it only receives")
    });
    Ok((arrived, busy_s()? - before))
}

fn sockets(bed: &Namespaces, here: Host, there: Host) -> Result<(UdpSocket, UdpSocket)> {
    let socket = |host: Host| bed.on(host, || UdpSocket::bind((bed.address(host), 0)));
    let (from, to) = (socket(here)??, socket(there)??);
    to.set_read_timeout(Some(Duration::from_millis(300)))?;
    Ok((from, to))
}

/// Processor time of the thread that moves packets.
fn busy_s() -> Result<f64> {
    for task in fs::read_dir("/proc/self/task")?.flatten() {
        if fs::read_to_string(task.path().join("comm"))?.trim() == "links" {
            let text = fs::read_to_string(task.path().join("schedstat"))?;
            let ran_ns: f64 = text.split_whitespace().next().unwrap_or_default().parse()?;
            return Ok(ran_ns * 1e-9);
        }
    }
    Err("no thread `links`".into())
}

fn percentile(mut values: Vec<f64>, p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * p) as usize).copied().unwrap_or(f64::NAN)
}
