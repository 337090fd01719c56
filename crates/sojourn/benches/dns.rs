//! What an answer costs: `sojourn dns` with its full policy (nearest with room by measured round trips, 64 sites that report,
//! 100,000 known clients, told by EDNS client subnet) beside PowerDNS, which answers a static record from its packet cache. Shown
//! besides: gdnsd, which answers static records too, with no bar; CoreDNS is in no release of Debian.
//!
//! At 100 outstanding queries, and at half of the most that PowerDNS answers. Both servers have one thread on one core, the
//! client is on another. The cost is the processor time of the server's threads per answer.
//!
//! What two threads answer together is measured by the clock, with both cores for them: the server is stopped, thousands of
//! queries are put before it, and it goes on while the client sleeps; the kernel notes when each answer came. Time in which a
//! thread waits for the other one's choice is in that, and in no processor time. The price: bursts, not a steady stream.
//!
//! How little probes and reports are beside the traffic of users is not measured here, where there is none: a live run says it
//! (`report_traffic_share`), and a test of live runs behind a DNS (`behind_dns.rs`) holds it to 1 %.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench dns`. Three minutes; leave the machine alone. Needs `pdns_server` (with its
//! bind backend), `dnsperf`, `dig` and `taskset`; and `gdnsd`, without which its figure is missing.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::unistd::Pid;
use sojourn_part::now;
use sojourn_stats::{Span, Time};

mod authoritative;
mod bars;
mod peers;
mod sites;

use authoritative::{gdnsd, powerdns};
use bars::Bars;
use sites::{CLIENTS, KEY, SITES, Sites, client};

/// Cost of an answer by policy over that of PowerDNS's from its cache.
const COST_MOST: f64 = 1.0;
/// Queries that may stay without an answer.
const LOST_MOST: f64 = 0.0001;
/// Answers per second of two threads over those of one.
const TWO_LEAST: f64 = 1.7;
/// Bytes of memory for each client known.
const MEMORY_MOST: f64 = 200.0;
/// Round trips that are known of each client while all that is measured.
const ROUND_TRIPS_LEAST: f64 = 2.0;

/// Names that have an address, `n0`, `n1`, ... in `example.org`.
const NAMES: usize = 100;
const ROUNDS: usize = 5;
const ROUND: Span = Span(3_000_000_000);
const OUTSTANDING: usize = 100;
/// Bytes of replies that may wait for the client, with what the system needs for each; the system may allow less.
const REPLIES: usize = 4 << 20;
/// Queries that wait for each thread of a server that goes on, from so many sockets, which fall to threads by their hash.
const BURST: usize = 4000;
const ASKERS: usize = 64;
const BURSTS: usize = 15;
/// How long such a burst may take; it takes some 20 ms.
const BURST_LONGEST: Duration = Duration::from_millis(300);
/// How long answers are waited for.
const PATIENCE: Span = Span(500_000_000);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    peers::need(&["dnsperf", "dig", "taskset"])?;
    let folder = tempfile::tempdir()?;
    let peer = powerdns(folder.path())?;
    let third = gdnsd(folder.path())?;
    let own = sojourn(folder.path(), 1)?;
    let mut sites = Sites::report_to(own.reports)?;
    let mut bars = Bars::default();

    // Buffers and the like are there whatever is known: a tenth of the clients has them made.
    let known = queries_of_clients();
    let first = sites.tell_rates(0..SITES / 10)?;
    ask(own.address, &known[..first], &Pace::Outstanding(OUTSTANDING), Until::Asked(10_000), &mut sites)?;
    sites.settle()?;
    let before = own.memory()?;
    let further = sites.tell_rates(SITES / 10..SITES)?;
    // Each client asks once.
    let met = ask(own.address, &known, &Pace::Outstanding(OUTSTANDING), Until::Asked(CLIENTS), &mut sites)?;
    sites.settle()?;
    let round_trips = sites.orders as f64 / CLIENTS as f64;
    let per_client = (own.memory()? - before) as f64 / further as f64;
    println!(
        "{} of {CLIENTS} clients met, with {round_trips:.2} round trips and {per_client:.0} bytes each",
        met.answered
    );
    bars.at_most("bytes of memory per known client", per_client, MEMORY_MOST);
    bars.at_least("round trips known of each", round_trips, ROUND_TRIPS_LEAST);

    let fixed = queries_of_names();
    let (mut full, mut half, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lost, mut lost_theirs) = (Share::default(), Share::default());
    for _ in 0..ROUNDS {
        let busy = Pace::Outstanding(OUTSTANDING);
        let theirs = peer.cost(&fixed, &busy, &mut sites)?;
        let ours = own.cost(&known, &busy, &mut sites)?;
        if let Some(third) = &third {
            others.push(third.cost(&fixed, &busy, &mut sites)?.cost_us);
        }
        full.push([ours.cost_us, theirs.cost_us]);
        let paced = Pace::Rate(theirs.rate / 2.0);
        let [theirs, ours] = [peer.cost(&fixed, &paced, &mut sites)?, own.cost(&known, &paced, &mut sites)?];
        half.push([ours.cost_us, theirs.cost_us]);
        lost.add(&ours);
        lost_theirs.add(&theirs);
    }
    for (name, rounds) in [("100 outstanding", &full), ("half of PowerDNS's most", &half)] {
        let [ours, theirs] = [0, 1].map(|of| median(rounds.iter().map(|round| round[of])));
        println!("{name}: {ours:.2} us per answer, PowerDNS {theirs:.2}");
        bars.at_most(
            &format!("cost over PowerDNS's, {name}"),
            median(rounds.iter().map(|of| of[0] / of[1])),
            COST_MOST,
        );
    }
    match others.is_empty() {
        true => println!("SKIPPED: gdnsd is not installed (`make setup-bench`), so nothing is said of it"),
        false => println!("100 outstanding: gdnsd {:.2} us per answer", median(others.into_iter())),
    }
    println!("lost, paced (per 10,000): {:.2}, PowerDNS {:.2}", lost.of_10_000(), lost_theirs.of_10_000());
    bars.at_most("lost, paced (per 10,000)", lost.of_10_000(), LOST_MOST * 1e4);
    let (answered, lost) = dnsperf(own.address, folder.path(), &mut sites)?;
    println!("dnsperf: {answered:.0} answers, {lost:.0} lost");
    bars.at_most("lost by dnsperf (per 10,000)", lost / (answered + lost) * 1e4, LOST_MOST * 1e4);
    let static_ones = [query("nowhere")];
    let one_alone = [&known[..], &static_ones].map(|packets| own.alone(1, packets, &mut sites));

    drop((own, sites));
    let two = sojourn(folder.path(), 2)?;
    let mut sites = Sites::report_to(two.reports)?;
    sites.tell_rates(0..SITES)?;
    ask(two.address, &known, &Pace::Outstanding(OUTSTANDING), Until::Asked(CLIENTS), &mut sites)?;
    sites.settle()?;
    // The client takes a core itself: what two threads could answer follows from what each answer costs them.
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        costs.push(two.cost(&known, &Pace::Outstanding(OUTSTANDING), &mut sites)?.cost_us);
    }
    let cost = median(costs.into_iter());
    let one = median(full.iter().map(|round| round[0]));
    println!("one thread {:.0} answers/s, two {:.0}", 1e6 / one, 2e6 / cost);
    bars.at_least("two threads over one, by their processor time", 2.0 * one / cost, TWO_LEAST);
    let two_alone = [&known[..], &static_ones].map(|packets| two.alone(2, packets, &mut sites));
    // Static answers need no lock: what two threads gain there is what the machine allows.
    let mut gains = Vec::new();
    for (what, (one, two)) in ["by policy", "static"].into_iter().zip(one_alone.into_iter().zip(two_alone)) {
        let (one, two) = (one?, two?);
        println!("by the clock, the client asleep, {what}: one thread {one:.0} answers/s, two {two:.0}");
        gains.push(two / one);
    }
    println!("  two threads over one where no lock is needed: {:.2}", gains[1]);
    bars.at_least("answers per second of two threads over one", gains[0], TWO_LEAST);
    bars.judge()
}

/// A server under test; it ends with this.
struct Server {
    child: Child,
    address: SocketAddr,
    reports: Option<SocketAddr>,
}

/// What a round saw.
struct Seen {
    asked: usize,
    answered: usize,
    /// Answers per second.
    rate: f64,
    /// Processor time per answer (us).
    cost_us: f64,
}

/// What stayed without an answer, of all that was asked.
#[derive(Default)]
struct Share {
    lost: usize,
    asked: usize,
}

impl Share {
    fn add(&mut self, seen: &Seen) {
        self.lost += seen.asked - seen.answered;
        self.asked += seen.asked;
    }

    fn of_10_000(&self) -> f64 {
        self.lost as f64 / self.asked as f64 * 1e4
    }
}

/// How queries follow each other.
enum Pace {
    /// So many wait for an answer at any time.
    Outstanding(usize),
    /// So many a second.
    Rate(f64),
}

enum Until {
    Asked(usize),
    Elapsed(Span),
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Processor time of all its threads (ns).
    fn busy(&self) -> Result<u64> {
        let mut sum = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            sum += text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).ok_or("schedstat has no time")?;
        }
        Ok(sum)
    }

    /// Memory in use (bytes).
    fn memory(&self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse::<u64>()? * 1024)
    }

    /// Answers per second by the clock, of so many threads with the machine for themselves: the median of several bursts.
    fn alone(&self, threads: usize, packets: &[Vec<u8>], sites: &mut Sites) -> Result<f64> {
        let askers = (0..ASKERS).map(|_| {
            let asker = UdpSocket::bind("127.0.0.1:0")?;
            asker.connect(self.address)?;
            asker.set_nonblocking(true)?;
            setsockopt(&asker, sockopt::ReceiveTimestampns, &true)?;
            Ok(asker)
        });
        let askers: Vec<UdpSocket> = askers.collect::<Result<_>>()?;
        let rates = (0..BURSTS).map(|burst| {
            let of_burst = packets.iter().cycle().skip(burst * BURST * threads % packets.len());
            sites.look()?;
            self.burst(&askers, of_burst.take(BURST * threads))
        });
        Ok(median(rates.collect::<Result<Vec<f64>>>()?.into_iter()))
    }

    fn burst<'p>(&self, askers: &[UdpSocket], packets: impl Iterator<Item = &'p Vec<u8>>) -> Result<f64> {
        let pid = Pid::from_raw(self.child.id() as i32);
        kill(pid, Signal::SIGSTOP)?;
        while !self.is_stopped()? {
            std::thread::yield_now();
        }
        for (index, packet) in packets.enumerate() {
            askers[index % askers.len()].send(packet)?;
        }
        kill(pid, Signal::SIGCONT)?;
        std::thread::park_timeout(BURST_LONGEST);
        let mut came = Vec::new();
        for asker in askers {
            let (mut buffer, mut control) = ([0; 512], nix::cmsg_space!(nix::libc::timespec));
            let mut slices = [IoSliceMut::new(&mut buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            while let Ok(message) = recvmsg::<()>(asker.as_raw_fd(), &mut slices, Some(&mut control), flags) {
                let mut notes = message.cmsgs()?;
                let Some(ControlMessageOwned::ScmTimestampns(at)) = notes.next() else { return Err("no time".into()) };
                came.push(at.tv_sec() as f64 + at.tv_nsec() as f64 / 1e9);
            }
        }
        came.sort_by(f64::total_cmp);
        // All threads are awake after a tenth, and until three fifths no one of two has answered all that fell to it.
        let [from, to] = [came.len() / 10, came.len() * 3 / 5];
        if to - from < BURST / 10 {
            return Err(format!("{} answers to a burst", came.len()).into());
        }
        Ok((to - from) as f64 / (came[to] - came[from]))
    }

    /// Whether none of its threads runs.
    fn is_stopped(&self) -> Result<bool> {
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(task?.path().join("stat"))?;
            if !text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn cost(&self, packets: &[Vec<u8>], pace: &Pace, sites: &mut Sites) -> Result<Seen> {
        let before = self.busy()?;
        let mut seen = ask(self.address, packets, pace, Until::Elapsed(ROUND), sites)?;
        seen.cost_us = (self.busy()? - before) as f64 / 1e3 / seen.answered as f64;
        Ok(seen)
    }
}

/// `sojourn dns` on core 1, or on both with two threads.
fn sojourn(folder: &Path, threads: usize) -> Result<Server> {
    fs::write(folder.join("key"), KEY)?;
    let sites: String =
        (0..SITES).map(|n| format!("[[zone.service.site]]\nname = \"s{n}\"\naddress = \"198.51.100.{n}\"\n")).collect();
    let config = format!(
        "listen = [\"127.0.0.1:0\"]\nthreads = {threads}\nclients = {CLIENTS}\n[reports]\nlisten = \"127.0.0.1:0\"\n\
         key_file = \"key\"\n[limits]\nreplies_per_second = 0\n[[zone]]\nname = \"example.org\"\nns = [\"ns.example.net\"]\n\
         [[zone.service]]\nname = \"www\"\npolicy = \"nearest-with-room\"\nttl = \"60 s\"\nclient_rates = \"64 s\"\n{sites}"
    );
    let file = folder.join(format!("dns-{threads}.toml"));
    fs::write(&file, config)?;
    let mut command = Command::new("taskset");
    command.args(["-c", if threads == 1 { "1" } else { "0,1" }, env!("CARGO_BIN_EXE_sojourn"), "dns", "--config"]);
    let mut child = command.arg(&file).arg("--child").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("it has an output")?).read_line(&mut line)?;
    let ready: serde_json::Value = serde_json::from_str(&line)?;
    let port = ready["port"].as_u64().ok_or(format!("it is not ready: {line}"))?;
    let reports = ready["reports"].as_str().ok_or(format!("it takes no reports: {line}"))?.parse()?;
    Ok(Server { child, address: format!("127.0.0.1:{port}").parse()?, reports: Some(reports) })
}

/// Queries of all clients, each as its resolver tells of it.
fn queries_of_clients() -> Vec<Vec<u8>> {
    let of = |number: usize| {
        let mut packet = query("www");
        packet[11] = 1;
        packet.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 12, 0, 8, 0, 8, 0, 1, 32, 0]);
        packet.extend_from_slice(&client(number).octets());
        packet
    };
    (0..CLIENTS).map(of).collect()
}

fn queries_of_names() -> Vec<Vec<u8>> {
    (0..NAMES).map(|n| query(&format!("n{n}"))).collect()
}

/// `A` of a name in `example.org`.
fn query(label: &str) -> Vec<u8> {
    let mut packet = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, label.len() as u8];
    packet.extend_from_slice(label.as_bytes());
    packet.extend_from_slice(b"\x07example\x03org\x00\x00\x01\x00\x01");
    packet
}

/// Asks, and counts what is answered. It looks without waiting: the client has a core for itself.
fn ask(to: SocketAddr, packets: &[Vec<u8>], pace: &Pace, until: Until, sites: &mut Sites) -> Result<Seen> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    // What the client has no time to take in is not the server's loss.
    setsockopt(&socket, sockopt::RcvBuf, &REPLIES)?;
    let start = now();
    let (mut asked, mut answered, mut buffer) = (0, 0, [0; 4096]);
    let mut over: Option<Time> = None;
    while over.is_none_or(|since| answered < asked && now() - since < PATIENCE) {
        let elapsed = now() - start;
        let due = match pace {
            Pace::Outstanding(most) => answered + most,
            Pace::Rate(rate) => (elapsed.as_secs_f64() * rate) as usize,
        };
        let is_over = match until {
            Until::Asked(most) => asked >= most,
            Until::Elapsed(most) => elapsed >= most,
        };
        if is_over {
            over.get_or_insert_with(now);
        }
        while over.is_none() && asked < due {
            let packet = &packets[asked % packets.len()];
            socket.send(packet)?;
            asked += 1;
        }
        sites.look()?;
        while socket.recv(&mut buffer).is_ok() {
            answered += 1;
        }
    }
    Ok(Seen { asked, answered, rate: answered as f64 / (now() - start).as_secs_f64(), cost_us: f64::NAN })
}

/// Answers and losses as dnsperf counts them.
fn dnsperf(to: SocketAddr, folder: &Path, sites: &mut Sites) -> Result<(f64, f64)> {
    let file = folder.join("queries");
    fs::write(&file, "www.example.org A\n")?;
    let mut command = Command::new("taskset");
    command
        .args(["-c", "0", "dnsperf", "-s", "127.0.0.1", "-q", "100", "-l", "5", "-e"])
        .arg("-p")
        .arg(to.port().to_string());
    let mut child = command.arg("-d").arg(&file).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    while child.try_wait()?.is_none() {
        sites.look()?;
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let text = String::from_utf8(child.wait_with_output()?.stdout)?;
    let number = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(2)?.parse().ok()).ok_or(format!("dnsperf says no {name}"))
    };
    Ok((number("Queries completed:")?, number("Queries lost:")?))
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = of.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
