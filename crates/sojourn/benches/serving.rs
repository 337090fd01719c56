//! The node beside nginx: CPU time per request of one thread that serves a file, with an access log in both, in turns. The bar
//! is nginx's own cost in the same run, at 32 connections; 512 are shown.
//!
//! Both keep descriptors and gather the lines of their logs (64 kB, a second). Servers are pinned to the second core, the load
//! generator to the first. `cargo bench --profile dev -p sojourn-cli --bench serving`. Needs `nginx` and `taskset`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use sojourn_bed::Child;
use sojourn_load::{Load, Schedule, Stop, Targets};
use sojourn_stats::Span;

mod bars;
mod nginx;
mod peers;
mod process;

use bars::Bars;
use nginx::Nginx;
use process::cpu_s;

const SECONDS: u64 = 3;
const ROUNDS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(20);
/// Names and sizes (bytes) of the files.
const FILES: [(&str, usize); 2] = [("1k", 1024), ("10k", 10_240)];
/// Connections, and whether the bar holds for them.
const CONNECTIONS: [(u32, bool); 2] = [(32, true), (512, false)];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    peers::need(&["nginx"])?;
    let nginx = Nginx::start("access.log combined buffer=64k flush=1s", fill)?;
    let folder = tempfile::tempdir()?;
    fill(&folder.path().join("site"))?;
    let mut command = Command::new("taskset");
    command
        .args(["-c", "1", env!("CARGO_BIN_EXE_sojourn"), "node", "--child", "--files"])
        .arg(folder.path().join("site"));
    command.arg("--log").arg(folder.path().join("access.log"));
    let node = Child::start(command, PATIENCE)?;
    let mut first = CpuSet::new();
    first.set(0)?;
    // Threads that are started from here on stay there too.
    sched_setaffinity(Pid::from_raw(0), &first)?;

    let ours = SocketAddr::from(([127, 0, 0, 1], node.port()));
    let mut servers = [("nginx", nginx.address, nginx.child.id()), ("sojourn", ours, node.pid())];
    let mut bars = Bars::default();
    for (connections, is_judged) in CONNECTIONS {
        for (file, size) in FILES {
            println!("{size} bytes, {connections} connections, {SECONDS} s, {ROUNDS} rounds");
            let mut ratios = Vec::new();
            let mut costs = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                // The order of the runs matters on a machine whose speed depends on what it did before.
                servers.reverse();
                for (name, address, pid) in servers {
                    let cost = cost_us(name, address, pid, connections, file)?;
                    costs[usize::from(name == "sojourn")].push(cost);
                }
                let [theirs, ours] = [costs[0].last(), costs[1].last()];
                ratios.push(ours.unwrap_or(&f64::NAN) / theirs.unwrap_or(&f64::NAN));
            }
            let [theirs, ours] = costs.map(median);
            println!("  CPU per request: nginx {theirs:.2} us, sojourn {ours:.2} us");
            let what = format!("CPU per request at {connections} connections, {size} bytes, of nginx's");
            match is_judged {
                true => bars.at_most(&what, median(ratios), 1.0),
                false => println!("  {what}: {:.2}", median(ratios)),
            }
        }
    }
    bars.judge()
}

fn fill(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    FILES.iter().try_for_each(|(name, size)| std::fs::write(folder.join(name), "x".repeat(*size)))
}

/// CPU time per request of a server under a closed loop (us).
fn cost_us(name: &str, address: SocketAddr, pid: u32, connections: u32, file: &str) -> Result<f64> {
    let before = cpu_s(pid);
    let mut load = Load::new(address, "bench", Schedule::saturate(connections), Targets::Fixed(format!("/{file}")));
    load.stop = Stop::After(Span(SECONDS * 1_000_000_000));
    let report = sojourn_load::run(load, &Arc::default(), &|_| {})?;
    if report.counts.ok != report.counts.planned {
        return Err(format!("{name}: requests failed: {:?}", report.counts).into());
    }
    let cost = (cpu_s(pid) - before) * 1e6 / report.counts.ok as f64;
    println!("  {name:8} {cost:6.2} us CPU each   {:8.0} requests/s", report.counts.ok as f64 / report.elapsed_s);
    Ok(cost)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
