//! Where a run's words and files go: full disks, devices, FIFOs and links.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sojourn_bed::Child;

use crate::sojourn::{PROGRAM, command, sojourn, stderr, stdout};

fn node() -> Child {
    let arguments = ["node", "--child"];
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_full_disk_is_told_in_a_line() {
    let node = node();
    let url = format!("http://127.0.0.1:{}/bytes/10", node.port());
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in
        [&["load", url.as_str(), "-n", "50"][..], &["load", url.as_str(), "-n", "50", "--json"], &["doctor"]]
    {
        let output = command(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        let told = stderr(&output);
        assert!(told.contains("cannot write to standard output: No space left"), "{arguments:?}: {told}");
    }
    for flag in ["--record", "--hdr"] {
        let output = sojourn(&["load", &url, "-n", "50", flag, "/dev/full"]);
        assert_eq!(output.status.code(), Some(3), "{flag}: {}", stderr(&output));
        assert!(format!("{}{}", stdout(&output), stderr(&output)).contains("No space left"), "{flag}");
    }
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn a_file_that_may_grow_no_more_is_told_and_does_not_end_the_program() {
    let node = node();
    let url = format!("http://127.0.0.1:{}/bytes/10", node.port());
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.csv");
    let limited = "ulimit -f 20; exec \"$0\" \"$@\"";
    let load = ["load", url.as_str(), "-n", "5000", "--record", records.to_str().unwrap()];
    let output = Command::new("sh").args(["-c", limited, PROGRAM]).args(load).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("records: none, File too large"), "{}", stdout(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no half of it is left");
}

#[test]
fn records_and_logs_go_into_a_fifo_and_through_a_link() {
    let node = node();
    let url = format!("http://127.0.0.1:{}/bytes/10", node.port());
    let folder = tempfile::tempdir().unwrap();
    let [fifo, link, target] = ["fifo", "link", "target.csv"].map(|name| folder.path().join(name));
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink("target.csv", &link).unwrap();
    for (flag, begins) in [("--record", "k,client,class"), ("--hdr", "#")] {
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || {
                let mut text = String::new();
                File::open(fifo).and_then(|mut file| file.read_to_string(&mut text)).map(|_| text)
            }
        });
        let output = sojourn(&["load", &url, "-n", "50", flag, fifo.to_str().unwrap()]);
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo(), "{flag}");
        assert!(reader.join().unwrap().unwrap().starts_with(begins), "{flag}: {}", stderr(&output));
        sojourn(&["load", &url, "-n", "50", flag, link.to_str().unwrap()]);
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("target.csv"), "{flag}");
        assert!(fs::read_to_string(&target).unwrap().starts_with(begins), "{flag}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// A run that is over is not lost: its table is told, what fits is written, and both are named.
#[test]
fn a_run_that_cannot_be_written_whole_is_told_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mm1 = folder.path().join("mm1.toml");
    let text = "name = \"mm1\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 50 /s)\"\n[system.server]\n\
                discipline = \"ps\"\ndemand = \"exponential(mean = 10 ms)\"\n";
    fs::write(&mm1, text).unwrap();
    // The tables fit into 10 kB, and the page does not.
    let run = |arguments: &[&str]| {
        let limited = "ulimit -f 20; exec \"$0\" \"$@\"";
        Command::new("sh").args(["-c", limited, PROGRAM]).args(arguments).env("COLUMNS", "200").output().unwrap()
    };
    let output = run(&["run", mm1.to_str().unwrap(), "--by", "theory", "--out", out.to_str().unwrap()]);
    let (told, complaint) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(3), "{told}{complaint}");
    assert!(told.contains("theory") && told.contains("20.00"), "{told}");
    for part in ["File too large", "has run.json, outcomes.csv, curves.csv, but not report.html"] {
        assert!(complaint.contains(part), "{complaint}");
    }
    assert!(out.join("outcomes.csv").exists() && !out.join("report.html").exists());
    let again = sojourn(&["report", out.to_str().unwrap()]);
    assert!(stdout(&again).contains("20.00"), "what was kept opens: {}", stderr(&again));
}
