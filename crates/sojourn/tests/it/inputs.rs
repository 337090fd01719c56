//! Every text that a user names takes a byte order mark, and none is read from what has no end or is no file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::sojourn::{experiment, file, root, sojourn, stderr, stdout};

const ZONE: &str =
    "$TTL 60\n@ SOA ns.example.net. root.example.net. 1 1 1 1 5\n@ NS ns.example.net.\nwww A 192.0.2.1\n";
const DNS: &str = "listen = [\"127.0.0.1:0\"]\n[[key]]\nname = \"k\"\nsecret_file = \"secret\"\n\
                   [[zone]]\nname = \"example.org\"\nfile = \"zone\"\ntransfer = [\"k\"]\n";

/// Commands over `input` in a folder that has all that they name, and the name of the file that they read it from.
fn commands(folder: &Path) -> Vec<(Vec<String>, &'static str)> {
    let at = |name: &str| folder.join(name).display().to_string();
    let log: String = (0..120)
        .map(|n| {
            format!(
                "10.0.0.{} - - [10/Oct/2024:13:{:02}:00 +0000] \"GET /p HTTP/1.1\" 200 {}\n",
                n % 3,
                n % 60,
                100 + n
            )
        })
        .collect();
    file(folder, "log", log.lines().take(60).map(|line| format!("{line}\n")).collect::<String>());
    file(folder, "column", (1..400).map(|n| format!("{}\n", n * 7 % 31 + 1)).collect::<String>());
    file(
        folder,
        "table.csv",
        (1..200).map(|n| format!("{},x\n", n * 5 % 17 + 1)).fold("a,b\n".to_owned(), |all, line| all + &line),
    );
    file(folder, "record", fs::read(root().join("crates/dispatch/tests/it/data/format-1.jsonl")).expect("a record"));
    file(folder, "experiment.toml", fs::read(experiment("four-servers.toml")).expect("an experiment"));
    file(folder, "zone", ZONE);
    file(folder, "secret", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
    file(folder, "dns.toml", DNS);
    let all: [(&[&str], &'static str); 9] = [
        (&["traffic", "describe", "log"], "log"),
        (&["traffic", "describe", "column"], "column"),
        (&["traffic", "describe", "table.csv", "--column", "a"], "table.csv"),
        (&["traffic", "hurst", "column"], "column"),
        (&["replay", "record"], "record"),
        (&["run", "experiment.toml", "--by", "theory", "--json", "--out", "out"], "experiment.toml"),
        (&["dns", "--check", "--config", "dns.toml"], "dns.toml"),
        (&["dns", "--check", "--config", "dns.toml"], "secret"),
        (&["dns", "--check", "--config", "dns.toml"], "zone"),
    ];
    let names = ["log", "column", "table.csv", "record", "experiment.toml", "dns.toml", "out"];
    let full = |word: &&str| if names.contains(word) { at(word) } else { (*word).to_owned() };
    all.iter().map(|(words, input)| (words.iter().map(full).collect(), *input)).collect()
}

fn told(arguments: &[String], folder: &Path) -> (Option<i32>, String, String) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = sojourn(&arguments);
    let _ = fs::remove_dir_all(folder.join("out"));
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn every_text_takes_a_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, input) in commands(folder.path()) {
        let path = folder.path().join(input);
        let (code, without, complaint) = told(&arguments, folder.path());
        assert_eq!(code, Some(0), "{arguments:?}: {complaint}");
        let text = fs::read(&path).unwrap();
        fs::write(&path, [&b"\xef\xbb\xbf"[..], &text].concat()).unwrap();
        let (code, with, complaint) = told(&arguments, folder.path());
        assert_eq!((code, with), (Some(0), without), "{arguments:?} with a marked {input}: {complaint}");
        let utf_16: Vec<u8> = String::from_utf8_lossy(&text).encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(&path, [&b"\xff\xfe"[..], &utf_16].concat()).unwrap();
        let (code, _, complaint) = told(&arguments, folder.path());
        assert_eq!(code, Some(2), "{arguments:?}: {complaint}");
        assert!(input == "record" || complaint.contains("UTF-16"), "{arguments:?}: {complaint}");
        assert!(complaint.contains(input) && complaint.trim_end().lines().count() == 1, "{complaint}");
        fs::write(&path, text).unwrap();
    }
}

/// A device gives bytes without end, a pipe none for ever: each is refused at once, by what it is.
#[test]
fn what_is_no_file_is_no_input() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let pipe = other.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    for (arguments, input) in commands(folder.path()) {
        let path = folder.path().join(input);
        let text = fs::read(&path).unwrap();
        for (target, what) in
            [(Path::new("/dev/zero"), "a device"), (&pipe, "a named pipe"), (other.path(), "a folder")]
        {
            // What is read as a stream may come from a pipe; a folder is one of experiments.
            let is_stream = ["traffic", "replay"].contains(&arguments[0].as_str());
            if is_stream && what == "a named pipe" || arguments[0] == "run" && what == "a folder" {
                continue;
            }
            fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
            let (code, _, complaint) = told(&arguments, folder.path());
            assert_eq!(code, Some(2), "{arguments:?}: {complaint}");
            let complaint = complaint.trim_end();
            assert!(complaint.contains(&format!("it is {what}, not a file")), "{arguments:?}, {input}: {complaint}");
            assert!(complaint.contains(input) && complaint.lines().count() == 1, "{complaint}");
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, text).unwrap();
    }
}

/// Rotated logs and standard input.
#[test]
fn several_files_and_standard_input_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let line = |minute: u32| format!("10.0.0.1 - - [10/Oct/2024:13:{minute:02}:00 +0000] \"GET /p HTTP/1.1\" 200 5\n");
    let old = file(folder.path(), "log.1", (0..20).map(line).collect::<String>());
    let new = file(folder.path(), "log", (20..40).map(line).collect::<String>());
    let output = sojourn(&["traffic", "describe", &new, &old, "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let requests = told["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == "requests").unwrap();
    assert_eq!(requests["value"], 40);
    let mut piped = crate::sojourn::command(&["traffic", "describe", "-"]);
    let output = piped.stdin(fs::File::open(&new).unwrap()).output().unwrap();
    assert!(stdout(&output).contains("2024-10-10 13:20:00"), "{}{}", stdout(&output), stderr(&output));
}

/// All that reads logs reads several, of which one may be standard input: nginx's, with `$request_time` at the end of each line.
#[test]
fn whatever_reads_logs_reads_several_and_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: u32| {
        let (client, minute, second, bytes) = (n % 9, n / 60, n % 60, 100 + n * 17 % 900);
        let time_s = 2.0 + f64::from(n % 7) / 8.0;
        format!(
            "10.0.0.{client} - - [10/Oct/2024:13:{minute:02}:{second:02} +0000] \"GET /p HTTP/1.1\" 200 {bytes} \"-\" \
             \"curl/8\" {time_s:.3}\n"
        )
    };
    let log = |name: &str, from: u32| file(folder.path(), name, (from..from + 300).map(line).collect::<String>());
    let (first, second, third) = (log("log.2", 0), log("log.1", 300), log("log", 600));
    let piped = |arguments: &[&str]| {
        let mut command = crate::sojourn::command(arguments);
        command.stdin(fs::File::open(&third).unwrap()).output().unwrap()
    };
    let described = piped(&["traffic", "describe", &first, "-", &second, "--json"]);
    assert!(described.status.success(), "{}", stderr(&described));
    let told: serde_json::Value = serde_json::from_str(&stdout(&described)).unwrap();
    let fact = |name: &str| told["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == name).unwrap();
    assert_eq!((&fact("requests")["value"], &fact("response_times")["value"]), (&900.into(), &900.into()), "{told}");
    let fitted = piped(&["traffic", "fit", &first, "-", &second]);
    let text = stdout(&fitted).replace("\n# ", " ");
    assert!(fitted.status.success() && text.contains("log.2 and 2 more"), "{text}{}", stderr(&fitted));
    // As few as these are too few for a model, and counted.
    let refused = stderr(&piped(&["calibrate", "--log", &first, "-", &second]));
    assert!(refused.contains("900 requests with a time at a server"), "{refused}");
    for order in [
        &["traffic", "describe", "-", &first, "-"][..],
        &["traffic", "fit", "-", "-"],
        &["calibrate", "--log", "-", "-"],
    ] {
        let output = piped(order);
        let told = "standard input is read once: name `-` once among the files\n";
        assert_eq!(output.status.code(), Some(2), "{order:?}: {}", stderr(&output));
        assert!(stderr(&output).ends_with(told), "{order:?}: {}", stderr(&output));
    }
}
