//! Nodes that redirect in an experiment: live in a bed, against the twin.

use std::fs;
use std::fs::File;
use std::io::BufReader;

use serde_json::Value;
use sojourn_dispatch::record;

use crate::bed::can;
use crate::sojourn::{command, estimates, file, stderr};

/// Three nodes with three files each, of which each is asked for by its number; 39 requests, one each 50 ms. Files are 100 kB:
/// 20 ms of a disk.
const NODES: &str = r#"name = "nodes"
seed = 7
[workload]
kind = "open"
http = "1.0"
arrivals = "constant(rate = 20 /s)"
size = "documents(n = 9, zipf = 0, size = constant(100 kB))"
clients = 10
resolves = "request"
[[system.tier]]
name = "dns"
face = "dns"
policy = "round-robin"
ttl = "0 s"
targets = { tiers = ["node"] }
[[system.tier]]
name = "node"
at = "servers"
face = "redirect"
policy = "file-locality"
targets = { servers = 3 }
reports = { every = "1 s" }
[system.server]
resources = { cpu = { discipline = "ps" }, disk = { discipline = "fcfs", rate = "5 MB/s" } }
demand = "5 ms"
memory = { size = "250 kB", cache = "lru" }
files = { placed = "one-owner", number = 9, remote_rate = "4 MB/s" }
[system.medium.wire]
rate = "100 Mbit/s"
[system.paths]
within = { rtt = "2 ms", medium = "wire" }
[system.tcp]
stack = "linux-6"
[vary]
"system.tier.node.policy" = ["file-locality", "stay"]
[run]
by = ["live"]
live = { duration = "2 s", warm_up = "0 s", record = true }
"#;

/// Of two classes the second comes over TLS; all of it is kept for the first node, and so moves from the two others.
#[test]
fn what_is_secure_comes_over_tls_and_moves_over_tls() {
    if !can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mixed = NODES
        .replace("documents(n = 9, zipf = 0, size = constant(100 kB))", "constant(10 kB)")
        .replace("clients = 10", "clients = 10\nclasses = { plain = 0.7, tls = 0.3 }\nsecure = [\"tls\"]")
        .replace("memory = { size = \"250 kB\", cache = \"lru\" }\n", "")
        .replace("files = { placed = \"one-owner\", number = 9, remote_rate = \"4 MB/s\" }\n", "")
        .replace("[\"file-locality\", \"stay\"]", "[\"sweb(dedicated = server-1, class = 1)\"]");
    file(folder.path(), "nodes.toml", mixed);
    let out = folder.path().join("out");
    let run = ["run", "nodes.toml", "--out", "out"];
    let output = command(&run).current_dir(folder.path()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0]);
    assert_eq!(estimates(&out, "live", "share_1"), estimates(&out, "twin", "share_1"));

    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let facts: Vec<[String; 2]> = serde_json::from_value(run["variants"][0]["live"]["facts"].clone()).unwrap();
    let fact = |wanted: &dyn Fn(&str) -> bool| {
        let found = facts.iter().filter(|[name, _]| wanted(name));
        found.map(|[_, count]| count.parse::<u64>().unwrap()).sum::<u64>()
    };
    let handshakes = fact(&|name| name.starts_with("handshakes of TLS"));
    let rows = fs::read_to_string(out.join("outcomes.csv")).unwrap();
    let count = |class: &str| -> u64 {
        let row = rows.lines().find(|row| row.contains(&format!("live,response_time_mean_{class},")));
        row.expect("a mean of each class").rsplit(',').next().unwrap().parse().unwrap()
    };
    let (plain, secure) = (count("plain"), count("tls"));
    // The first node serves what is secure and nothing else.
    let share = secure as f64 / 39.0;
    assert!(plain + secure == 39 && (estimates(&out, "live", "share_1")[0] - share).abs() < 1e-9, "{plain}, {secure}");
    // Each of these has a handshake, and another one where it moves: two of three come to another node first. Others have none.
    assert!((secure + secure / 3..2 * secure).contains(&handshakes), "{handshakes} handshakes of {secure} requests");
    let moved = fact(&|name| name.starts_with("server-") && name.ends_with("redirected"));
    assert!((10..39).contains(&moved), "{moved}");
}

#[test]
fn nodes_redirect_and_fetch_as_in_the_twin() {
    if !can() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "nodes.toml", NODES);
    let out = folder.path().join("out");
    let run = ["run", "nodes.toml", "--out", "out"];
    let output = command(&run).current_dir(folder.path()).output().unwrap();
    // A live run on a busy machine may be SUSPECT: that is an answer too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0, 0.0]);
    // Where each request is served follows from its file, or from the rotation, whatever the machine does.
    for share in ["share_1", "share_2", "share_3"] {
        assert_eq!(estimates(&out, "live", share), estimates(&out, "twin", share), "{share}");
    }
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    let [live, twin] = ["live", "twin"].map(|engine| estimates(&out, engine, "response_time_mean"));
    for (variant, (live, twin)) in live.iter().zip(&twin).enumerate() {
        // What a busy machine adds is for the verdict to say; it takes nothing away.
        let is_valid = run["variants"][variant]["live"]["verdict"] == "VALID";
        let most = if is_valid { 1.5 } else { f64::INFINITY };
        assert!((0.5..most).contains(&(live / twin)), "{live} s, and in the twin {twin} s");
    }

    let fact = |variant: usize, wanted: &str| {
        let facts: Vec<[String; 2]> =
            serde_json::from_value(run["variants"][variant]["live"]["facts"].clone()).unwrap();
        let found = facts.iter().filter(|[name, _]| name.starts_with("server-") && name.ends_with(wanted));
        found.map(|[_, count]| count.parse::<u64>().unwrap()).sum::<u64>()
    };
    // Each node decides once for what comes to it. Two of three files are elsewhere: those clients are sent on, or else those
    // files are fetched, but for what is in memory.
    let (requests, sent) = (fact(0, "decisions"), fact(0, "redirected"));
    assert_eq!((requests, fact(1, "decisions"), fact(1, "redirected"), fact(0, "fetched")), (39, 39, 0, 0));
    assert!((10..39).contains(&sent) && (1..=sent).contains(&fact(1, "fetched")), "{sent}, {}", fact(1, "fetched"));

    let mut choices = 0;
    for node in 1..=3 {
        let kept = out.join(format!("decisions-1-server-{node}.jsonl"));
        let replay = record::replay(BufReader::new(File::open(&kept).unwrap())).unwrap();
        assert!(replay.first_difference.is_none(), "{replay:?}");
        choices += fs::read_to_string(&kept).unwrap().lines().filter(|line| line.contains("\"choose\"")).count();
    }
    assert_eq!(choices, 39);
}
