//! Files of records hold what the run had, come whole or not at all, and are read back as they were.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use sojourn_load::records::{Format, RecordFile, Records, read};
use sojourn_load::{Load, Outcome, Report, Schedule, Targets};
use sojourn_stats::{Span, Time};
use sojourn_traffic::Planned;

use crate::run::{MS, open, request, run, steady, try_run};
use crate::server::{Server, reply};

/// Of 20,000 requests every hundredth goes to the server; the others have no path and cost no socket.
fn recorded(path: &Path) -> Report {
    let server = Server::start(|asked| {
        let backend = if asked.number % 2 == 0 { "a" } else { "b, \"c\"" };
        vec![reply("200 OK", &format!("x-sojourn-backend: {backend}\r\n"), "hello")]
    });
    let plan = (0..20_000).map(|k: u64| {
        let object = u32::from(!k.is_multiple_of(100));
        Planned { at: Time(k * 20_000), request: sojourn_traffic::Request { object, ..request(3) } }
    });
    let mut load = Load::new(server.address, "test", Schedule::open(plan), Targets::Paths(vec!["/".into()]));
    (load.keep_records, load.threads) = (true, 2);
    load.record_file = Some(RecordFile::new(path));
    run(load)
}

/// The report's own records as a file should give them.
fn kept(report: &Report) -> Vec<(sojourn_load::Record, Option<String>)> {
    let name = |backend: u16| report.backends[usize::from(backend)].0.clone();
    report.records.iter().flatten().map(|record| (plain(*record), record.backend.map(name))).collect()
}

fn plain(record: sojourn_load::Record) -> sojourn_load::Record {
    sojourn_load::Record { backend: None, ..record }
}

fn named(records: &Records) -> Vec<(sojourn_load::Record, Option<String>)> {
    let name = |backend: u16| records.backends[usize::from(backend)].clone();
    records.records.iter().map(|record| (plain(*record), record.backend.map(name))).collect()
}

#[test]
fn a_file_holds_every_request() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["records.csv", "records.parquet"] {
        let path = folder.path().join(name);
        let report = recorded(&path);
        let file = &report.record_files[0];
        assert_eq!((file.written, file.lost, &file.error), (20_000, 0, &None), "{name}");
        let records = read(&path).unwrap();
        let (mut there, mut here) = (named(&records), kept(&report));
        there.sort_by_key(|(record, _)| record.k);
        here.sort_by_key(|(record, _)| record.k);
        assert!(there == here, "{name}");
        assert!(there.iter().any(|(_, backend)| backend.as_deref() == Some("b, \"c\"")));
        assert_eq!(there.iter().filter(|(record, _)| record.outcome == Outcome::Ok).count(), 200);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left behind");
}

#[test]
fn a_full_disk_costs_the_file_and_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["records.csv", "records.parquet"] {
        let path = folder.path().join(name);
        symlink("/dev/full", folder.path().join(format!("{name}.unfinished"))).unwrap();
        let report = recorded(&path);
        let file = &report.record_files[0];
        let why = file.error.as_deref().unwrap();
        assert!(why.contains("No space left"), "{why}");
        assert_eq!((file.written, report.counts.planned, report.counts.ok), (0, 20_000, 200));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_place_that_cannot_be_written_is_said_before_the_run() {
    let server = Server::start(|_| vec![]);
    let mut load = open(server.address, steady(1, Span(MS)));
    load.record_file = Some(RecordFile::new("/proc/nothing/records.csv"));
    let error = try_run(load).unwrap_err().to_string();
    assert!(error.starts_with("records: cannot write /proc/nothing/records.csv: "), "{error}");
    assert!(server.heads().is_empty());
    assert_eq!(RecordFile::new("a.parquet").format, Format::Parquet);
    assert_eq!(RecordFile::new("a.txt").format, Format::Csv);
}

#[test]
fn what_is_wrong_with_a_file_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.csv");
    for (text, complaint) in [
        ("k,sent_ns\n1,2\n", "no column `planned_ns`"),
        ("planned_ns,done_ns\n1,2\n3,x\n", "line 3: `done_ns` is `x`: expected a whole number"),
        ("planned_ns,done_ns\n1,\n", "line 2: `done_ns` is empty"),
        ("planned_ns,done_ns\n1\n", "line: 2"),
        ("planned_ns,done_ns,outcome\n1,2,fine\n", "line 2: `outcome` is `fine`: expected one of ok, not_resolved,"),
        ("PAR1", "Parquet"),
    ] {
        fs::write(&path, text).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(complaint) && error.contains("records.csv") && !error.contains('\n'), "{error}");
    }
    let missing = read(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("No such file"), "{missing}");
}

#[test]
fn a_run_becomes_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.csv");
    let text = "outcome,planned_ns,sent_ns,done_ns,demand_ns\n\
                ok,300,310,400,50\nok,100,110,150,0\nrefused,200,,250,0\ntimeout,220,230,900,70\n";
    fs::write(&path, text).unwrap();
    let pairs: Vec<(u64, u64)> = read(&path).unwrap().trace().iter().map(|(gap, demand)| (gap.0, demand.0)).collect();
    assert_eq!(pairs, [(100, 40), (120, 70), (80, 50)]);
}

#[test]
fn outcomes_have_one_name() {
    for outcome in Outcome::ALL {
        assert_eq!(serde_json::to_string(&outcome).unwrap(), format!("\"{}\"", outcome.name()));
        assert_eq!(Outcome::named(outcome.name()), Some(outcome));
    }
}
