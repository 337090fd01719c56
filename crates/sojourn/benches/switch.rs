//! What a request costs the whole machine through the packet switch, and through HAProxy: the processor time of everything
//! (interrupts included) per reply of 1 kB, less that of the same load without a dispatcher, in turns. Then what the
//! switch delays a packet, what each mode costs, and what the reports of a load daemon add for 120 clients.
//!
//! All hosts are on one Ethernet of a bed (veth, no emulated link): the client on its router, an nginx with one process on
//! `web-1`, switch and HAProxy on `front`. The load is open and below what any of them can do, so that none changes it.
//! Client and server are bound to one processor: else the system puts them on two where it meets a dispatcher between them, and
//! waking the other one is measured. The client has all ports there are, so that it looks for no free one.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench switch`. Eight minutes; leave the machine alone. Needs `nginx`, `haproxy`,
//! `nft` and `iptables`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

mod bars;
mod peers;

use bars::Bars;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SOJOURN: &str = env!("CARGO_BIN_EXE_sojourn");
const BED: &str = "switch-bench";
const ROUNDS: usize = 9;
const SERVICE: &str = "10.0.1.100:80";
const DIRECT: &str = "http://10.0.1.11/1k";
const SWITCHED: &str = "http://10.0.1.100/1k";
/// The same page, whose requests are in the server's log, where each connection is a client.
const LOGGED: &str = "http://10.0.1.100/logged/1k";
const LOG: &str = "access.log";
const PROXIED: &str = "http://10.0.1.1:8080/1k";
/// Cost of the switch over that of HAProxy.
const COST_MOST: f64 = 0.5;
/// Where client and server run.
const BOUND: [&str; 3] = ["taskset", "-c", "0"];

/// A kind of connections: its name, the flags of the load, and its requests per second.
const KINDS: [(&str, &[&str], &str); 2] = [
    ("keep-alive", &["--connections", "32"], "3000 /s"),
    ("a connection per request", &["--http", "1.0", "--connections", "256"], "1000 /s"),
];

/// A bed with its processes, which end with it.
struct Bed;

/// A command in the bed, told to stop when this is dropped.
struct Running(Child);

/// What a load saw.
struct Seen {
    /// Processor time of the machine per request (s).
    busy_s: f64,
    mean_s: f64,
}

fn main() -> Result<()> {
    peers::need(&["nginx", "haproxy"])?;
    let folder = tempfile::tempdir()?;
    let bed = Bed::up()?;
    let _server = nginx(&bed, folder.path())?;
    let _proxy = haproxy(&bed, folder.path())?;
    let mut bars = Bars::default();
    for (name, flags, rate) in KINDS {
        let (_switch, _half) = switch(&bed, "mac", &[], &[])?;
        println!("{name}, {rate}, {ROUNDS} rounds of 4 s each without, with the switch, and with HAProxy");
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let direct = bed.load(DIRECT, rate, flags)?;
            rounds.push([direct, bed.load(SWITCHED, rate, flags)?, bed.load(PROXIED, rate, flags)?]);
        }
        let more_us = |way: usize| median(rounds.iter().map(|round| (round[way].busy_s - round[0].busy_s) * 1e6));
        let later_us = |way: usize| median(rounds.iter().map(|round| (round[way].mean_s - round[0].mean_s) * 1e6));
        println!("  without a dispatcher {:.1} us per request", median(rounds.iter().map(|of| of[0].busy_s)) * 1e6);
        println!("  the switch {:+.1} us, {:+.0} us of response time", more_us(1), later_us(1));
        println!("  HAProxy {:+.1} us, {:+.0} us of response time", more_us(2), later_us(2));
        let ratios = || rounds.iter().map(|[none, own, peer]| (own.busy_s - none.busy_s) / (peer.busy_s - none.busy_s));
        let (low, high) = (ratios().fold(f64::MAX, f64::min), ratios().fold(f64::MIN, f64::max));
        println!("  of HAProxy's in each round: {low:.2} to {high:.2}");
        bars.at_most(&format!("cost over HAProxy's, {name}"), more_us(1) / more_us(2), COST_MOST);
    }
    modes(&bed, folder.path())?;
    reports(&bed, folder.path(), &mut bars)?;
    bars.judge()
}

/// What each mode costs beside a load without a switch. Shown, not judged.
fn modes(bed: &Bed, folder: &Path) -> Result<()> {
    let key = key(folder)?;
    let (name, flags, rate) = KINDS[0];
    for mode in ["mac", "rewrite", "nat", "tunnel", "splice", "splice-asymmetric"] {
        let key = if mode == "splice-asymmetric" { &["--key", &key][..] } else { &[] };
        let mut more_us = Vec::new();
        for _ in 0..3 {
            // Some halves change what a direct request meets.
            let direct = bed.load(DIRECT, rate, flags)?;
            let running = switch(bed, mode, key, key)?;
            more_us.push((bed.load(SWITCHED, rate, flags)?.busy_s - direct.busy_s) * 1e6);
            drop(running);
        }
        println!("mode {mode}, {name}: {:+.1} us per request", median(more_us.into_iter()));
    }
    Ok(())
}

/// A key that switch, half and daemon share.
fn key(folder: &Path) -> Result<String> {
    let key = folder.join("key");
    fs::write(&key, "a key of benchmarks")?;
    Ok(key.display().to_string())
}

/// What a load daemon beside the server adds while 120 clients ask, and its own time.
fn reports(bed: &Bed, folder: &Path, bars: &mut Bars) -> Result<()> {
    let key = key(folder)?;
    let (_switch, _half) = switch(bed, "mac", &["--reports", "10.0.1.1:7400", "--key", &key], &[])?;
    // The rates of clients are told three times in the run, not once in 64 s, and so cost more here than usual.
    let log = folder.join(LOG).display().to_string();
    let flags = [
        "loadd",
        "--child",
        "--name",
        "web-1",
        "--to",
        "10.0.1.1:7400",
        "--key",
        &key,
        "--port",
        "80",
        "--log",
        &log,
        "--client-rates",
        "4 s",
    ];
    let mut daemon = bed.on("web-1", false, &[&[SOJOURN], &flags[..]].concat());
    let mut daemon = daemon.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let clients = ["--connections", "120"];
    for _ in 0..3 {
        bed.load(LOGGED, "1000 /s", &clients)?;
    }
    // It stops when its input ends, and says what it has done.
    drop(daemon.stdin.take());
    let told = String::from_utf8(daemon.wait_with_output()?.stdout)?;
    let told: Value = serde_json::from_str(told.lines().last().ok_or("the load daemon said nothing")?)?;
    let number = |name: &str| told[name].as_f64().ok_or(format!("the load daemon did not say {name}: {told}"));
    let (bytes, cpu_s, elapsed_s) = (number("bytes")?, number("cpu_s")?, number("elapsed_s")?);
    println!("reports for 120 clients: {:.0} bytes/s, {:.4} of a core", bytes / elapsed_s, cpu_s / elapsed_s);
    println!("  {} reports, {} of rates", told["reports"], told["rates"]);
    bars.at_least("reports of the rates of 120 clients", number("rates")?, 1.0);
    bars.at_most("bytes of reports per 100 bytes of replies", bytes / (3.0 * 4000.0 * 1000.0) * 1e2, 1.0);
    Ok(())
}

impl Bed {
    fn up() -> Result<Bed> {
        let up = Command::new(SOJOURN).args(["bed", "up", "--detach", "--name", BED, "cluster"]).output()?;
        if !up.status.success() {
            return Err(String::from_utf8_lossy(&up.stderr).into());
        }
        let bed = Bed;
        let ports = "echo 1024 65000 > /proc/sys/net/ipv4/ip_local_port_range";
        if !bed.on("router", true, &["sh", "-c", ports]).status()?.success() {
            return Err("the client cannot be given more ports".into());
        }
        Ok(bed)
    }

    /// A command on a host; with the rights of root where `root` says so.
    fn on(&self, host: &str, root: bool, command: &[&str]) -> Command {
        let mut exec = Command::new(SOJOURN);
        exec.args(["bed", "exec", "--name", BED]).args(root.then_some("--root")).arg(host).arg("--").args(command);
        exec
    }

    fn start(&self, host: &str, root: bool, command: &[&str]) -> Result<Running> {
        let mut exec = self.on(host, root, command);
        Ok(Running(exec.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }

    /// Waits until a page is served.
    fn wait_for(&self, url: &str) -> Result<()> {
        for _ in 0..100 {
            let fetched = self.on("router", false, &["curl", "-sf", "-m", "2", "-o", "/dev/null", url]).status()?;
            if fetched.success() {
                return Ok(());
            }
            pause();
        }
        Err(format!("{url} is not served").into())
    }

    fn load(&self, url: &str, rate: &str, flags: &[&str]) -> Result<Seen> {
        let all = [&BOUND[..], &[SOJOURN, "load", url, "--rate", rate, "--duration", "4 s", "--json"], flags].concat();
        let before = busy_s();
        let output = self.on("router", false, &all).output()?;
        let busy_s = busy_s() - before;
        let told: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("{url}: {}", String::from_utf8_lossy(&output.stderr)))?;
        let (ok, planned) = (told["counts"]["ok"].as_f64(), told["counts"]["planned"].as_f64());
        let requests = ok.filter(|_| ok == planned).ok_or(format!("{url}: requests failed: {}", told["counts"]))?;
        let outcomes = told["outcomes"].as_array().ok_or("a load without outcomes")?;
        let mean = outcomes.iter().find(|outcome| outcome["metric"] == "response_time_mean");
        let mean_s = mean.and_then(|mean| mean["estimate"].as_f64()).ok_or("a load without a mean")?;
        Ok(Seen { busy_s: busy_s / requests, mean_s })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = Command::new(SOJOURN).args(["bed", "down", "--name", BED]).output();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In order, so that what it has changed is put back.
        let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

#[allow(clippy::disallowed_methods, reason = "a bench that waits for a program asks again after a while")]
fn pause() {
    std::thread::sleep(Duration::from_millis(100));
}

/// Time that all processors have not been idle so far, interrupts included: the kernel counts ticks of work, which misses what a
/// timer starts, but times idleness (proc(5), in hundredths of a second).
fn busy_s() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let cores = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    let ticks: Vec<f64> = text.split_whitespace().skip(1).take(8).filter_map(|ticks| ticks.parse().ok()).collect();
    let away: f64 = [3, 4, 7].iter().filter_map(|place| ticks.get(*place)).sum();
    let up = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let up_s: f64 = up.split_whitespace().next().and_then(|up| up.parse().ok()).unwrap_or(0.0);
    cores as f64 * up_s - away / 100.0
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A switch in front of `web-1` with these further flags, and that server's half with those.
fn switch(bed: &Bed, mode: &str, flags: &[&str], of_half: &[&str]) -> Result<(Running, Running)> {
    let half = [SOJOURN, "switch", "server", "--mode", mode, "--service", SERVICE, "--front", "10.0.1.1"];
    let front = [SOJOURN, "switch", "front", "--mode", mode, "--service", SERVICE, "--backend", "web-1=10.0.1.11"];
    let half = bed.start("web-1", true, &[&half[..], of_half].concat())?;
    let front = bed.start("front", true, &[&front, flags].concat())?;
    bed.wait_for(SWITCHED)?;
    Ok((front, half))
}

fn nginx(bed: &Bed, folder: &Path) -> Result<Running> {
    let at = folder.display();
    fs::write(folder.join("1k"), "x".repeat(1000))?;
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
        .concat();
    let text = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
         events {{ worker_connections 4096; }}\nhttp {{ access_log off; keepalive_requests 1000000000; {temporary}\n\
         log_format clients '$remote_addr:$remote_port - - [$time_local] \"$request\" $status $body_bytes_sent';\n\
         server {{ listen 80; root {at}; location /logged/ {{ alias {at}/; access_log {at}/{LOG} clients; }} }} }}\n"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, text)?;
    let run = ["/usr/sbin/nginx", "-c", &file.display().to_string()];
    let server = bed.start("web-1", false, &[&BOUND[..], &run].concat())?;
    bed.wait_for(DIRECT)?;
    Ok(server)
}

fn haproxy(bed: &Bed, folder: &Path) -> Result<Running> {
    let text = "global\n  nbthread 1\n  maxconn 4096\ndefaults\n  mode http\n  option http-keep-alive\n  \
                http-reuse always\n  timeout client 30s\n  timeout server 30s\n  timeout connect 5s\n\
                listen front\n  bind :8080\n  balance leastconn\n  server web-1 10.0.1.11:80\n";
    let file = folder.join("haproxy.cfg");
    fs::write(&file, text)?;
    let proxy = bed.start("front", false, &["/usr/sbin/haproxy", "-db", "-f", &file.display().to_string()])?;
    bed.wait_for(PROXIED)?;
    Ok(proxy)
}
