//! The gateway beside HAProxy: CPU time per request of one proxy thread, in turns, with nginx behind both and the load
//! generator in front. Reported, not judged: HAProxy's figure is the one to reach.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench gateway`. Needs `nginx` and `haproxy`.

use std::error::Error;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sojourn_load::{Load, Schedule, Stop, Targets};
use sojourn_stats::Span;

mod peers;
mod process;

use process::cpu_s;

const CONNECTIONS: u32 = 32;
const SECONDS: u64 = 4;
const ROUNDS: usize = 3;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A program that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() -> Result<()> {
    peers::need(&["nginx", "haproxy"])?;
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (nginx, _nginx) = nginx(folder.path());
    let (haproxy, haproxy_process) = haproxy(folder.path(), nginx);
    let program = Path::new(env!("CARGO_BIN_EXE_sojourn"));
    let arguments = ["gateway", "--child", "--policy", "least-connections", "--backend", &format!("nginx={nginx}")];
    let gateway = sojourn_bed::Child::spawn(program, arguments, Duration::from_secs(20)).expect("the gateway starts");
    let ours = SocketAddr::from(([127, 0, 0, 1], gateway.port()));

    println!("{CONNECTIONS} connections, {SECONDS} s each, 1 kB from nginx with 1 worker, 1 proxy thread");
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let proxies = [("haproxy", haproxy, haproxy_process.0.id()), ("sojourn", ours, gateway.pid())];
        for ((name, address, pid), costs) in proxies.into_iter().zip(&mut costs) {
            let before = cpu_s(pid);
            let mut load = Load::new(address, "bench", Schedule::saturate(CONNECTIONS), Targets::Fixed("/1k".into()));
            load.stop = Stop::After(Span(SECONDS * 1_000_000_000));
            let report = sojourn_load::run(load, &std::sync::Arc::default(), &|_| {}).expect("the load runs");
            assert_eq!(report.counts.ok, report.counts.planned, "{name}: requests failed: {:?}", report.counts);
            let cost_us = (cpu_s(pid) - before) * 1e6 / report.counts.ok as f64;
            let busy: Vec<String> = report.cores_busy.iter().map(|share| format!("{:.0} %", share * 100.0)).collect();
            println!(
                "{name:8} {cost_us:6.2} us CPU per request   {:8.0} requests/s   cores busy {}",
                report.counts.ok as f64 / report.elapsed_s,
                busy.join(" ")
            );
            costs.push(cost_us);
        }
    }
    let [theirs, ours] = costs.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    });
    println!("CPU per request: {ours:.2} us, HAProxy {theirs:.2} us: {:.2} of HAProxy's", ours / theirs);
    Ok(())
}

fn nginx(folder: &Path) -> (SocketAddr, Running) {
    let address = free();
    let at = folder.display();
    fs::write(folder.join("1k"), "x".repeat(1000)).expect("there is room");
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
        .concat();
    let text = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
         events {{ worker_connections 1024; }}\nhttp {{ access_log off; keepalive_requests 1000000000; {temporary}\n\
         server {{ listen {address}; root {at}; }} }}\n"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, text).expect("there is room");
    (address, start(Command::new("nginx").arg("-c").arg(file), address))
}

fn haproxy(folder: &Path, backend: SocketAddr) -> (SocketAddr, Running) {
    let address = free();
    let text = format!(
        "global\n  nbthread 1\n  maxconn 4096\ndefaults\n  mode http\n  option http-keep-alive\n  http-reuse always\n  \
         timeout client 30s\n  timeout server 30s\n  timeout connect 5s\n\
         listen front\n  bind {address}\n  balance leastconn\n  server nginx {backend}\n"
    );
    let file = folder.join("haproxy.cfg");
    fs::write(&file, text).expect("there is room");
    (address, start(Command::new("haproxy").arg("-db").arg("-f").arg(file), address))
}

/// An address that was free a moment ago.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    listener.local_addr().expect("it is bound")
}

#[allow(clippy::disallowed_methods, reason = "a bench that waits for a process gives up some day")]
fn start(command: &mut Command, address: SocketAddr) -> Running {
    let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it was found before");
    let running = Running(process);
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "{address} does not answer");
        std::thread::yield_now();
    }
    running
}
