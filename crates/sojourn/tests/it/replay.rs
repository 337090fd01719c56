//! Records of gateway, redirector and DNS, replayed by the verb; what differs, what breaks off, and what is no record.

use std::fs;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sojourn_bed::Child;
use tempfile::TempDir;

use crate::sojourn::{PROGRAM, file, root, sojourn, stderr, stdout};

fn child(arguments: &[&str]) -> Child {
    Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).expect("a child is ready")
}

/// What a replay says as JSON, and its exit code.
fn replay(path: &Path) -> (Value, Option<i32>) {
    let output = sojourn(&["replay", &path.display().to_string(), "--json"]);
    (serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output))), output.status.code())
}

/// The record of a gateway or redirector after forty requests.
fn recorded(folder: &TempDir, face: &str) -> PathBuf {
    let node =
        |name: &str| child(&["node", "--child", "--name", name, "--model", "discipline = \"ps\"\ndemand = \"0 ms\""]);
    let nodes = ["a", "b", "c"].map(|name| (name, node(name)));
    let backends = nodes.each_ref().map(|(name, node)| format!("{name}=127.0.0.1:{}", node.port()));
    let record = folder.path().join(format!("{face}.jsonl"));
    let (backends, path) = (backends.join(","), record.display().to_string());
    let policy = ["--policy", "random", "--record", &path];
    let mut arguments = vec![face, "--child"];
    backends.split(',').for_each(|backend| arguments.extend(["--backend", backend]));
    arguments.extend(policy);
    let decider = child(&arguments);
    let url = format!("http://127.0.0.1:{}/work?bytes=10", decider.port());
    let output = sojourn(&["load", &url, "--rate", "400 /s", "--requests", "40", "--redirects", "1"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    decider.stop();
    record
}

/// The record of a DNS after forty queries.
fn of_dns(folder: &TempDir) -> PathBuf {
    let site = |n: u8| format!("[[zone.service.site]]\nname = \"c{n}\"\naddress = \"10.0.0.{n}\"\n");
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\n[[zone]]\nname = \"geo.test\"\nns = [\"ns.elsewhere.test\"]\n[[zone.service]]\n\
         name = \"@\"\npolicy = \"random\"\nttl = \"60 s\"\nrecord = \"dns.jsonl\"\n{}{}",
        site(1),
        site(2)
    );
    let dns = child(&["dns", "--child", "--config", &file(folder.path(), "dns.toml", text)]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", dns.port())).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..40 {
        socket.send(b"\0\0\0\0\0\x01\0\0\0\0\0\0\x03geo\x04test\0\0\x01\0\x01").unwrap();
        socket.recv(&mut [0; 512]).expect("an answer");
    }
    dns.stop();
    folder.path().join("dns.jsonl")
}

#[test]
fn choices_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let records = [recorded(&folder, "gateway"), recorded(&folder, "redirect"), of_dns(&folder)];
    for record in &records {
        let (said, code) = replay(record);
        assert_eq!((&said["choices"], &said["same"], code), (&json!(40), &json!(40), Some(0)), "{said}");
        assert_eq!((&said["policy"], &said["first_difference"]), (&json!("random"), &Value::Null), "{said}");
        let output = sojourn(&["replay", &record.display().to_string()]);
        let words = stdout(&output);
        assert!(
            words.ends_with(" backends: 40 choices, all the same\n") && words.contains(": random over "),
            "{words}"
        );
    }
    // Another choice than the policy makes, in the 30th of them.
    let text = fs::read_to_string(&records[2]).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let choices: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].starts_with("{\"choose\"")).collect();
    let at = choices[29];
    let [one, other] = ["\"forward\":0", "\"forward\":1"];
    let (from, to) = if lines[at].contains(one) { (one, other) } else { (other, one) };
    assert!(lines[at].contains(from), "{}", lines[at]);
    lines[at] = lines[at].replace(from, to);
    let changed = PathBuf::from(file(folder.path(), "changed.jsonl", lines.join("\n") + "\n"));
    let (said, code) = replay(&changed);
    assert_eq!((&said["choices"], &said["same"], code), (&json!(30), &json!(29), Some(1)), "{said}");
    let difference = &said["first_difference"];
    assert_eq!(difference["line"], at as u64 + 1, "{said}");
    let of = |which: &str| difference[which]["action"]["forward"].as_u64();
    assert_eq!((of("recorded"), of("replayed")), if from == one { (Some(1), Some(0)) } else { (Some(0), Some(1)) });
    let output = sojourn(&["replay", &changed.display().to_string()]);
    let words = stdout(&output);
    assert_eq!((output.status.code(), words.lines().count()), (Some(1), 1), "{words}");
    assert!(words.contains(&format!("line {} differs after 29 choices", at + 1)), "{words}");
    // One that was killed while it wrote: what is whole counts.
    let broken = PathBuf::from(file(folder.path(), "broken.jsonl", &text[..text.trim_end().len() - 10]));
    let (said, code) = replay(&broken);
    assert_eq!((&said["same"], code), (&json!(39), Some(0)), "{said}");
    assert_eq!(said["truncated_line"], text.lines().count() as u64, "{said}");
}

/// A record in several files is one: all of them are replayed, in their order and no other.
#[test]
fn a_record_in_several_files_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let (record, limit) = (path.display().to_string(), ["--record-max-size", "100kB", "--policy", "random"]);
    let node = child(&["node", "--child"]);
    let backends = ["a", "b"].map(|name| format!("--backend={name}=127.0.0.1:{}", node.port()));
    let gateway =
        child(&[&["gateway", "--child", "--record", &record, &backends[0], &backends[1]], &limit[..]].concat());
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", gateway.port())).unwrap();
    for _ in 0..1500 {
        stream.write_all(b"GET /bytes/1 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut reply = [0; 1024];
        let mut read = 0;
        while !reply[..read].windows(5).any(|end| end == b"\r\n\r\nx") {
            read += stream.read(&mut reply[read..]).unwrap();
        }
    }
    gateway.stop();
    let named = |number| if number == 1 { record.clone() } else { format!("{record}-{number}") };
    let all: Vec<String> = (1..).map(named).take_while(|file| Path::new(file).exists()).collect();
    assert!(all.len() > 2, "{all:?}");
    let replay = |files: &[&String]| {
        let files = files.iter().map(|file| file.as_str());
        sojourn(&["replay"].into_iter().chain(files).collect::<Vec<_>>())
    };
    let output = replay(&all.iter().collect::<Vec<_>>());
    assert!(stdout(&output).ends_with(" backends: 1500 choices, all the same\n"), "{}", stdout(&output));
    for (files, wrong) in [
        (vec![&all[1]], "line 1: it goes on from `r.jsonl`; name the record's files from the first on"),
        (vec![&all[0], &all[2]], "it goes on from `r.jsonl-2`"),
        (vec![&all[0], &all[0]], "it is no file in which a record goes on"),
    ] {
        let output = replay(&files);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(wrong) && said.lines().count() == 1, "{said}");
    }
}

/// Records of the format before can be replayed, too.
#[test]
fn an_old_record_is_read() {
    let (said, code) = replay(&root().join("crates/dispatch/tests/it/data/format-1.jsonl"));
    assert_eq!((code, said["same"] == said["choices"]), (Some(0), true), "{said}");
    assert!(said["choices"].as_u64().is_some_and(|choices| choices > 0), "{said}");
}

#[test]
fn what_is_no_record_gets_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let header = |policy: &str| {
        format!(
            "{{\"header\":{{\"format\":2,\"version\":\"0.1.0\",\"policy\":\"{policy}\",\
             \"backends\":[{{\"name\":\"a\",\"weight\":\"1\"}}],\
             \"information\":\"immediate\",\"signals\":[\"in_flight\"],\"seed\":1,\"name\":\"front\"}}}}\n"
        )
    };
    let folder_name = folder.path().display().to_string();
    let write = |name: &str, text: String| file(folder.path(), name, text);
    for (path, needle) in [
        (write("empty", String::new()), "the record is empty"),
        (write("text", "no record\nat all\n".into()), "line 1: it is no record of decisions"),
        (write("json", "{\"a\": 1}\n".into()), "line 1: it is no record of decisions"),
        (write("newer", header("random").replace("\"format\":2", "\"format\":9")), "this version reads formats 1 to 2"),
        (write("unknown", header("roundrobin")), "or `round-robin`?"),
        (
            write("line", header("random") + "{\"choose\": 7}\n{}\n"),
            "line 2: invalid type: integer `7`, expected an object (column ",
        ),
        (
            write("none", header("random") + "{\"origin\":{\"backend\":9,\"origin\":{}}}\n"),
            "line 2: there is no backend 9",
        ),
        (folder_name.clone(), "it is a folder"),
        (format!("{folder_name}/missing.jsonl"), "No such file"),
    ] {
        let output = sojourn(&["replay", &path]);
        let message = stderr(&output);
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{needle}: {message}");
        assert!(message.contains(&path) && message.contains(needle), "{needle}: {message}");
        assert_eq!(stdout(&output), "");
    }
}
