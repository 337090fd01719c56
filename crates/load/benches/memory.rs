//! Ten million recorded requests in flat memory: how much the peak resident set grows over what a short run takes.
//!
//! The requests have no path, so that they cost no socket and the bench takes seconds; all else is as in any run: the
//! plan is drawn as it goes, every request is counted, put into its window and its second, and written to a file by the
//! writer's thread. `SOJOURN_BENCH_REQUESTS` sets another number. The bar is 64 MB of growth: what is kept per second of
//! the run and the file's buffers.

#![allow(clippy::print_stdout)]

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use sojourn_load::records::RecordFile;
use sojourn_load::{Load, Report, Schedule, Stop, Targets};
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Planned, Request};

const GROWTH_MAX_KB: u64 = 64 * 1024;

fn main() {
    let requests = std::env::var("SOJOURN_BENCH_REQUESTS").ok().and_then(|text| text.parse().ok());
    let requests: u64 = requests.unwrap_or(10_000_000);
    let folder = tempfile::tempdir().expect("a folder for the records");
    let mut missed = Vec::new();
    for name in ["records.csv", "records.parquet"] {
        let path = folder.path().join(name);
        // More than is drawn ahead of time, and than blocks in the pools hold.
        run(600_000, &path);
        let before = peak_kb();
        let report = run(requests, &path);
        let growth = peak_kb() - before;
        let file = &report.record_files[0];
        let size_mb = std::fs::metadata(&path).map_or(0, |file| file.len()) / 1_000_000;
        println!(
            "{name}: {} requests in {:.1} s, {} written ({size_mb} MB), {} lost; peak memory grew by {growth} kB \
             (bar {GROWTH_MAX_KB} kB: {})",
            report.counts.planned,
            report.elapsed_s,
            file.written,
            file.lost,
            if growth <= GROWTH_MAX_KB { "holds" } else { "MISSED" },
        );
        missed.extend((growth > GROWTH_MAX_KB).then_some(name));
        std::fs::remove_file(&path).expect("the file is there");
    }
    assert!(missed.is_empty(), "the bar is missed: {}", missed.join(", "));
}

fn run(requests: u64, path: &Path) -> Report {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let request = Request { client: 0, class: 0, object: 1, size: 0, demand: Span(1000), patience: Span::FOREVER };
    let plan = (0..).map(move |k: u64| Planned { at: Time(k * 2_000), request });
    let target = silent.local_addr().expect("it listens");
    let mut load = Load::new(target, "bench", Schedule::open(plan), Targets::Paths(vec!["/".into()]));
    load.stop = Stop::Requests(requests);
    load.record_file = Some(RecordFile::new(path));
    sojourn_load::run(load, &Arc::default(), &|_| {}).expect("the port is open")
}

/// The largest resident set so far (kB).
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it tells the peak");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("in kB")
}
