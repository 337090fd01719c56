//! The access log of a node, as who reads it sees it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use sojourn_bed::Child;
use sojourn_part::settings::Section;
use sojourn_part::settings::node::{FileSettings, LogFormat, LogSettings, Metrics, NodeSettings};
use sojourn_traffic::log;
use sojourn_web::Node;

use crate::skip::skipped;
use crate::support::{Client, get, until};
use crate::support::{PATIENCE, address};

fn node(log: LogSettings, files: Option<&Path>) -> Node {
    let config = NodeSettings {
        log: log.into(),
        files: Section(files.map(FileSettings::new)),
        test_paths: Some(true),
        ..NodeSettings::new("n")
    };
    Node::start(config).expect("a node starts")
}

/// What follows the date.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.split_once("] ").expect("a date").1.to_owned()).collect()
}

#[test]
fn lines_are_as_others_write_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let served = node(LogSettings::new(&path), None);
    let mut client = Client::new(served.address());
    client.get("/bytes/3");
    client.ask("GET", "/bytes/3?a=\\b", "referer: http://a/?\"x\"\\\r\nuser-agent: b\tc\u{e4}\r\n");
    client.ask("HEAD", "/bytes/3", "user-agent: curl/8\r\n");
    client.send("GET http://h/bytes/2 HTTP/1.0\r\nhost: h\r\n\r\n");
    assert_eq!(client.reply(true).expect("a reply").body.len(), 2);
    // No further request, nor the end of the node, brings them about.
    until("the lines are there", || lines(&path).len() == 4);
    assert_eq!(
        lines(&path),
        [
            "\"GET /bytes/3 HTTP/1.1\" 200 3 \"-\" \"-\"",
            "\"GET /bytes/3?a=\\x5Cb HTTP/1.1\" 200 3 \"http://a/?\\x22x\\x22\\x5C\" \"b\\x09c\\xC3\\xA4\"",
            "\"HEAD /bytes/3 HTTP/1.1\" 200 0 \"-\" \"curl/8\"",
            "\"GET http://h/bytes/2 HTTP/1.0\" 200 2 \"-\" \"-\"",
        ]
    );
    for line in fs::read(&path).expect("a log").split_inclusive(|byte| *byte == b'\n') {
        let line = log::parse(line.trim_ascii_end()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(line.host, b"127.0.0.1");
    }
    let path = folder.path().join("common.log");
    let served = node(LogSettings { format: LogFormat::Common, ..LogSettings::new(&path) }, None);
    Client::new(served.address()).ask("GET", "/bytes/3", "referer: a\r\n");
    served.stop();
    assert_eq!(lines(&path), ["\"GET /bytes/3 HTTP/1.1\" 200 3"]);
}

#[test]
fn a_line_has_the_bytes_that_were_really_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let large = fs::File::create(folder.path().join("large.bin")).expect("a file");
    large.set_len(256 << 20).expect("a file with a hole");
    let served = node(LogSettings::new(&path), Some(folder.path()));
    // Whole, with a reply of many pieces; left in the middle; left before there was a reply.
    assert_eq!(Client::new(served.address()).get("/bytes/5000000").body.len(), 5_000_000);
    until("the first line is there", || lines(&path).len() == 1);
    let mut client = Client::new(served.address());
    client.send("GET /large.bin HTTP/1.1\r\nhost: t\r\n\r\n");
    client.head().expect("a head");
    drop(client);
    until("the second line is there", || lines(&path).len() == 2);
    let mut client = Client::new(served.address());
    client.send("GET /work?demand=24h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is inside", || served.counts().in_flight == 1);
    drop(client);
    until("the third line is there", || lines(&path).len() == 3);
    let lines = lines(&path);
    assert_eq!(lines[0], "\"GET /bytes/5000000 HTTP/1.1\" 200 5000000 \"-\" \"-\"");
    let sent: u64 = lines[1].split(' ').nth(4).expect("bytes").parse().expect("a number");
    assert!(lines[1].contains(" 200 ") && sent > 0 && sent < 128 << 20, "{}", lines[1]);
    assert_eq!(lines[2], "\"GET /work?demand=24h HTTP/1.1\" 499 0 \"-\" \"-\"");
}

#[test]
fn a_log_is_reopened_without_a_lost_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, old) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let served = node(LogSettings::new(&path), None);
    let mut client = Client::new(served.address());
    // The second reply of a connection comes when the first one's line has been gathered. It has no line itself.
    let mut gather = |path: &str| assert_eq!([client.get(path).status, client.get("/load").status], [200, 200]);
    gather("/bytes/1");
    // What is gathered goes to the file that it was gathered for.
    let seen =
        |path: &Path| lines(path).iter().map(|line| line.split(' ').nth(1).map(str::to_owned)).collect::<Vec<_>>();
    fs::rename(&path, &old).expect("it is renamed");
    served.reopen_log().expect("it can be written");
    gather("/bytes/2");
    until("the line is there", || lines(&path).len() == 1);
    assert_eq!((seen(&old), seen(&path)), (vec![Some("/bytes/1".into())], vec![Some("/bytes/2".into())]));
    // Where the new one cannot be written, it goes on with the old one.
    fs::rename(&path, folder.path().join("access.log.2")).expect("it is renamed");
    fs::create_dir(&path).expect("a folder in its place");
    let refusal = served.reopen_log().expect_err("it is a folder").to_string();
    assert!(refusal.starts_with("cannot write the access log ") && !refusal.contains('\n'), "{refusal}");
    gather("/bytes/3");
    drop(client);
    assert_eq!(served.stop().log_lost, 0);
    assert_eq!(lines(&folder.path().join("access.log.2")).len(), 2);
}

fn split(log: &[u8]) -> Vec<&[u8]> {
    log.split_inclusive(|byte| *byte == b'\n').collect()
}

/// How many lines a node says at `metrics` that it has lost.
fn lost(metrics: SocketAddr) -> usize {
    let numbers = get(metrics, "/metrics").text();
    let lost = numbers.lines().find_map(|line| line.strip_prefix("sojourn_node_log_lines_lost_total "));
    lost.and_then(|lost| lost.parse().ok()).unwrap_or_else(|| panic!("no count of lost lines: {numbers}"))
}

#[test]
fn a_full_disk_takes_no_line_and_holds_up_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let script = "mount -t tmpfs -o size=64k small \"$1\" && exec \"$0\" child::as_node --exact --ignored --nocapture";
    let mut shell = Command::new("unshare");
    shell.args(["-Urm", "--", "sh", "-c", script]).arg(std::env::current_exe().expect("this binary")).arg(&disk);
    shell.env("LOG", disk.join("access.log")).env("METRICS", "127.0.0.1:0");
    let node = match Child::start(shell, PATIENCE) {
        Ok(node) => node,
        Err(why) => return skipped(why),
    };
    // The disk as the node sees it.
    let disk =
        Path::new("/proc").join(node.pid().to_string()).join("root").join(disk.strip_prefix("/").expect("absolute"));
    let mut client = Client::new(address(&node));
    let filler = "x".repeat(300);
    // Twice what the disk holds, in blocks that end somewhere in a line.
    for _ in 0..400 {
        assert_eq!(client.get(&format!("/bytes/1?{filler}")).status, 200);
    }
    let path = disk.join("access.log");
    let written = || fs::read(&path).expect("a log");
    let metrics = node.events()[0]["metrics"].as_str().expect("it tells them").parse().expect("an address");
    // Each of so many lines is written, also in part, or lost: none waits for the thread that writes.
    let all_are_there = |lines: usize, log: &[u8]| split(log).len() + lost(metrics) == lines;
    until("each line is written or lost", || all_are_there(400, &written()));
    let keep = written();
    assert_eq!(keep.len(), 64 * 1024, "the disk is full");
    assert!(!keep.ends_with(b"\n"), "the last line is cut");
    // Room again, by what is cut off at the beginning: the cut line is finished, and another follows.
    fs::File::options().write(true).open(&path).and_then(|log| log.set_len(0)).expect("it is cut");
    assert_eq!(client.get("/bytes/2").status, 200);
    let mut both = Vec::new();
    until("lines are written again", || {
        both = [keep.clone(), written()].concat();
        both.ends_with(b"\n") && all_are_there(401, &both)
    });
    let lines = split(&both);
    for line in &lines {
        assert!(log::parse(line.trim_ascii_end()).is_ok(), "{:?}", String::from_utf8_lossy(line));
    }
    assert!(String::from_utf8_lossy(lines[lines.len() - 1]).contains("GET /bytes/2 "), "it is the last one");
    let written = lines.len() as u64;
    drop(client);
    let last = node.stop().pop().expect("its last words");
    assert_eq!(last["log_lost"].as_u64(), Some(401 - written), "{last}");
}

/// A pipe that takes nothing is as a disk that hangs.
#[test]
fn a_log_that_takes_nothing_holds_up_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let refusal = Node::start(NodeSettings { log: LogSettings::new(&path).into(), ..NodeSettings::new("n") });
    assert!(refusal.is_err(), "there is none who reads");
    let _reader = fs::File::options().read(true).write(true).open(&path).expect("it is open to both sides");
    let (log, metrics) = (LogSettings::new(&path).into(), Metrics::default().into());
    let served = Node::start(NodeSettings { log, metrics, ..NodeSettings::new("n") }).expect("a node starts");
    let mut client = Client::new(served.address());
    for _ in 0..2000 {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    until("lines are lost", || served.counts().log_lost > 0);
    assert!(lost(served.metrics_address().expect("it tells them")) > 0);
    drop(client);
    served.stop();
}
