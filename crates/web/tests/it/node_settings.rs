//! The settings of a node and of its cluster: what a file may say, what is written of it, flags that win over it, and mistakes.

use std::fs;
use std::path::Path;

use clap::{Args, Command, FromArgMatches};
use sojourn_part::settings::node::{HardwareSettings, LogFormat, NodeSettings, Numbers};
use sojourn_part::settings::{Given, to_toml};
use sojourn_stats::{Bytes, Span};
use sojourn_web::node::check;
use tempfile::TempDir;

use crate::mutated::are_accepted_or_refused;
use crate::secure::valid;

/// All that a node's file may say but for its cluster.
const NODE: &str = r#"
listen = ["127.0.0.1:8080", "[::1]:8080"]
name = "a"
threads = 2
workers = 3
seed = 7
classes = ["static", "dynamic"]
model = "server.toml"
test_paths = true
grace = "10 s"
learn = "learned.toml"

[limits]
connections = 100
when_full = "close"
per_address = 50
requests = 1000
keep_alive = "30 s"
head_timeout = "10 s"
head_size = "16 kB"
body_size = "1 MB"
body_timeout = "30 s"
send_timeout = "20 s"
handshake_timeout = "5 s"
streams = 64

[files]
root = "site"
index = ["index.html", "index.php"]
listing = true
precompressed = false
ranges_max = 4
types = { webmanifest = "application/manifest+json" }
errors = { 404 = "404.html" }
cache_control = [{ path = "/assets/*", value = "max-age=3600" }]

[cgi]
scripts = ["*.cgi"]
root = "site"
time = "30 s"
at_once = 4
env = { LANG = "C.UTF-8" }

[fastcgi]
scripts = ["*.php"]
server = "127.0.0.1:9000"
connections = 4

[log]
file = "access.log"
format = "common"

[tls]
listen = ["127.0.0.1:8443"]

[[tls.certificate]]
chain = "a.pem"
key = "a.key"

[metrics]
listen = "127.0.0.1:9154"
allow_from = ["127.0.0.0/8"]
"#;

/// All that the file of a node's cluster may say.
const CLUSTER: &str = r#"[cluster]
service = "www.example.org"
key_file = "key"
url = "http://a.example.org"
tls_url = "https://a.example.org"
reports = "10.0.0.1:7400"
membership = "broadcast"
report_to = ["10.0.0.9:7400"]
policy = "cpu-only"
redirect = 302
post = true
local = ["/admin/*"]
hardware = { disk = "5 MB/s", net = "1 MB/s" }
models = ["c=server.toml"]
every = "2 s"
oracle = "oracle.toml"
record = "decisions"
explain = true
copies = "copies"
copies_after = 2
copies_within = "20 s"
copies_max = "10 MB"
copies_fresh = "2 s"

[[cluster.peer]]
name = "b"
url = "http://b.example.org"
tls_url = "https://b.example.org"
reports = "10.0.0.2:7400"
inside = "10.0.1.2:80"
hardware = "server.toml"

[[cluster.peer]]
name = "c"
url = "http://c.example.org"

[[cluster.owners]]
path = "/v/*"
nodes = ["b", "node"]
"#;

/// A folder with what these files name.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    fs::create_dir(folder.path().join("site")).expect("a folder");
    write("site/404.html", "none");
    write("server.toml", "discipline = \"ps\"\ndemand = \"1 ms\"\nspeed = 2\n");
    write("key", "a key of sixteen bytes");
    write("oracle.toml", "[[rule]]\npath = \"/a\"\noperations = 1\n");
    valid(folder.path(), "a", &["a.test"]);
    folder
}

/// What a file of this text says, with the folder taken out of messages.
fn read(folder: &Path, text: &str) -> Result<NodeSettings, String> {
    let file = folder.join("node.toml");
    fs::write(&file, text).expect("a file");
    let read = Given::<NodeSettings>::from_file(&file).read_and(check);
    read.map_err(|why| why.replace(&format!("{}/", folder.display()), ""))
}

#[test]
fn a_file_says_all_and_what_is_written_of_it_is_read_again() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let node = read(folder.path(), NODE).expect("it is right");
    assert_eq!((node.listen.len(), node.workers, node.seed, node.grace), (2, 3, 7, Some(Span(10_000_000_000))));
    assert_eq!((node.limits.head_size, node.limits.streams), (Bytes(16_000), 64));
    assert_eq!(node.model_file(), Some(at("server.toml").as_path()), "paths are seen from the file's folder");
    assert_eq!(node.files.as_ref().expect("files").root, at("site"));
    assert_eq!(node.tls.as_ref().expect("TLS").certificates.0[0].key, at("a.key"));
    assert_eq!(read(folder.path(), &to_toml(&node)).as_ref(), Ok(&node));
    let of_cluster = read(folder.path(), CLUSTER).expect("it is right");
    let cluster = of_cluster.cluster.as_ref().expect("a cluster");
    let numbers = Numbers { speed: 1.0, disk: Some("5 MB/s".into()), net: Some("1 MB/s".into()) };
    assert_eq!(cluster.hardware, Some(HardwareSettings::Numbers(numbers)));
    assert_eq!(cluster.peers[0].hardware, Some(HardwareSettings::Model(at("server.toml"))));
    assert_eq!((cluster.redirect, cluster.every, cluster.copies_max), (302, Span(2_000_000_000), Bytes(10_000_000)));
    assert_eq!(cluster.oracle, Some(at("oracle.toml")));
    assert_eq!(read(folder.path(), &to_toml(&of_cluster)).as_ref(), Ok(&of_cluster));
    let usual = read(folder.path(), "").expect("all is usual");
    assert_eq!((usual.plain().len(), read(folder.path(), &to_toml(&usual))), (1, Ok(usual.clone())));
    let model = NodeSettings { model: Some("discipline = \"ps\"\ndemand = \"1 ms\"\n".into()), ..usual };
    assert_eq!(read(folder.path(), &to_toml(&model)).as_ref(), Ok(&model), "a model may be written out");
}

#[test]
fn flags_win_over_the_file_and_leave_the_rest_of_a_section() {
    let folder = folder();
    let file = folder.path().join("node.toml");
    fs::write(&file, format!("{NODE}{}", CLUSTER.replace("\"node\"", "\"a\""))).expect("a file");
    let read = |flags: &[&str]| {
        let line = ["node", "--config", file.to_str().expect("plain")].into_iter().chain(flags.iter().copied());
        let matches = Given::<NodeSettings>::augment_args(Command::new("node")).try_get_matches_from(line);
        Given::<NodeSettings>::from_arg_matches(&matches.expect("flags")).expect("flags").read()
    };
    let flags = [
        "--listen",
        "127.0.0.1:0",
        "--name",
        "d",
        "--files",
        "/srv",
        "--log",
        "/log",
        "--metrics",
        "127.0.0.1:1",
        "--tls",
        "127.0.0.1:2",
        "--certificate",
        "/c.pem",
        "--certificate-key",
        "/c.key",
        "--keep-alive",
        "1 s",
        "--peer",
        "b=http://b.test@10.0.0.2:7400",
        "--owners",
        "/w/*=b",
        "--hardware",
        "b=/b.toml",
        "--schedule-post",
        "--status",
        "307",
        "--report-every",
        "1 s",
    ];
    let node = read(&flags).expect("it is right");
    assert_eq!((node.listen[0].port(), node.name.as_str(), node.threads), (0, "d", 2));
    let (files, log) = (node.files.as_ref().expect("files"), node.log.as_ref().expect("a log"));
    assert_eq!((files.root.as_path(), files.ranges_max), (Path::new("/srv"), 4));
    assert_eq!((log.file.as_path(), log.format), (Path::new("/log"), LogFormat::Common));
    let tls = node.tls.as_ref().expect("TLS");
    assert_eq!((tls.listen[0].port(), tls.certificates.0[0].chain.as_path()), (2, Path::new("/c.pem")));
    assert_eq!((node.limits.keep_alive, node.limits.streams), (Span(1_000_000_000), 64));
    let cluster = node.cluster.as_ref().expect("a cluster");
    assert_eq!((cluster.peers.len(), cluster.owners[0].path.as_str(), cluster.redirect), (1, "/w/*", 307));
    assert!(cluster.post && cluster.explain && cluster.service == "www.example.org", "{cluster:?}");
    for (flags, expected) in [
        (&["--threads", "0"][..], "--threads: 0: it is a whole number of at least 1, and of at most 1024"),
        (&["--report-every", "1 us"], "--report-every: nodes report at most every 10 ms"),
        (&["--hardware", "d=/d.toml"], "--hardware: d=/d.toml: there is no node `d`"),
    ] {
        assert_eq!(read(flags).expect_err("it is wrong").split(" (").next(), Some(expected), "{flags:?}");
    }
}

#[test]
fn a_mistake_has_a_line() {
    let folder = folder();
    for (whole, old, new, wanted) in [
        (CLUSTER, "post = true", "posts = true", "node.toml:11: unknown key `posts`; did you mean `post`?"),
        (CLUSTER, "302", "303", "node.toml:10: cluster.redirect: 303: a redirector answers 307 or 302"),
        (CLUSTER, "\"/admin/*\"", "\"admin\"", "node.toml:12: cluster.local[0]: `admin` is no pattern of paths"),
        (CLUSTER, "\"5 MB/s\"", "\"5 MB\"", "node.toml:13: cluster.hardware: disk = `5 MB`: bytes per second"),
        (
            CLUSTER,
            "{ disk = \"5 MB/s\", net",
            "{ dusk = \"5 MB/s\", net",
            "node.toml:13: cluster.hardware: it is the file",
        ),
        (
            CLUSTER,
            "hardware = \"server.toml\"",
            "hardware = \"none.toml\"",
            "node.toml:31: cluster.peer[0].hardware: none.toml: ",
        ),
        (
            CLUSTER,
            "c=server.toml",
            "d=server.toml",
            "node.toml:14: cluster.models[0]: d=server.toml: there is no node `d`",
        ),
        (CLUSTER, "\"2 s\"\noracle", "\"2 m\"\noracle", "node.toml:15: cluster.every: "),
        (CLUSTER, "10.0.0.2:7400", "10.0.0.2", "node.toml:29: cluster.peer[0].reports: invalid socket address"),
        (CLUSTER, "\"broadcast\"", "\"gosip\"", "node.toml:7: "),
        (CLUSTER, "\"broadcast\"", "\"gossip\"", "node.toml:7: cluster.membership: `gossip`: it begins with members"),
        (CLUSTER, "explain = true", "seeds = [\"a:1\"]", "node.toml:7: cluster.membership: `broadcast`: seeds are"),
        (CLUSTER, "copies_after = 2", "copies_after = 0", "node.toml:20: cluster.copies_after: at least 1 fetch"),
        (CLUSTER, "copies = \"copies\"\n", "", "node.toml:1: cluster.copies: write the folder of the copies"),
        (CLUSTER, "cpu-only", "least-connections", "node.toml:9: cluster.policy: policy `least-connections` needs"),
        (CLUSTER, "\"key\"", "\"none\"", "node.toml:3: cluster.key_file: "),
        (CLUSTER, "http://c.example.org", "http://www.example.org", "node.toml:33: cluster.peer[1]: URL"),
        (NODE, "a.key", "server.toml", "node.toml:56: tls.certificate[0]: "),
        (NODE, "webmanifest =", "\".web\" =", "node.toml:33: files.types: .web"),
        (NODE, "\"*.cgi\"", "", "node.toml:38: cgi.scripts: none: write e.g."),
        (NODE, "root = \"site\"\nindex", "index", "node.toml:27: files: missing field `root`"),
    ] {
        assert!(whole.contains(old), "{old}");
        let why = read(folder.path(), &whole.replacen(old, new, 1)).expect_err(new);
        assert!(why.starts_with(wanted) && !why.contains('\n'), "{why}\nwanted: {wanted}");
    }
}

#[test]
fn files_that_the_nodes_own_paths_hide_are_named() {
    let folder = folder();
    for name in ["work", "health", "page"] {
        fs::write(folder.path().join("site").join(name), name).expect("a file");
    }
    let notes = |more: &str| {
        let settings = read(folder.path(), &format!("{more}\n[files]\nroot = \"site\"\n")).expect("it is right");
        sojourn_web::node::notes(&settings)
    };
    assert_eq!(notes(""), Vec::<String>::new());
    for own in ["test_paths = true", "model = \"server.toml\""] {
        let notes = notes(own);
        assert!(notes.len() == 1 && notes[0].starts_with("/work, /health: answered by the node itself"), "{notes:?}");
    }
    assert_eq!(notes("test_paths = false\nmodel = \"server.toml\""), Vec::<String>::new());
}

#[test]
fn files_with_mistakes_are_accepted_or_refused_in_a_line() {
    let folder = folder();
    for text in [NODE, CLUSTER] {
        are_accepted_or_refused::<NodeSettings>(folder.path(), text, check);
    }
}
