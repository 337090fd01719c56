//! Static files and bytes.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sojourn_bed::Child;
use sojourn_part::now;
use sojourn_part::settings::node::{FileSettings, NodeLimits, NodeSettings};
use sojourn_web::Node;

use crate::support::{Client, get, ms};
use crate::support::{PATIENCE, address, command};

#[test]
fn files_below_the_root_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("sub")).expect("a folder");
    fs::write(folder.path().join("secret.txt"), "secret").expect("a file");
    fs::write(root.join("index.html"), "<p>home").expect("a file");
    fs::write(root.join("sub/index.html"), "<p>sub").expect("a file");
    fs::write(root.join("a b.css"), "p{}").expect("a file");
    fs::write(root.join("empty.txt"), "").expect("a file");
    let large: Vec<u8> = (0..3_000_001_u32).map(|byte| (byte % 251) as u8).collect();
    fs::write(root.join("large.bin"), &large).expect("a file");
    symlink(folder.path().join("secret.txt"), root.join("link.txt")).expect("a link");
    let config = NodeSettings { files: FileSettings::new(root).into(), ..NodeSettings::new("n") };
    let node = Node::start(config).expect("a node starts");
    let mut client = Client::new(node.address());

    let cases = [
        ("/", "text/html; charset=utf-8", b"<p>home".as_slice()),
        ("/index.html?x=1", "text/html; charset=utf-8", b"<p>home"),
        ("/sub/", "text/html; charset=utf-8", b"<p>sub"),
        ("/a%20b.css", "text/css; charset=utf-8", b"p{}"),
        ("/empty.txt", "text/plain; charset=utf-8", b""),
        ("/large.bin", "application/octet-stream", &large),
    ];
    for (path, media_type, body) in cases {
        let reply = client.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(media_type)), "{path}");
        assert!(reply.whole && reply.body == body, "{path}: {} bytes", reply.body.len());
        let head = client.ask("HEAD", path, "");
        assert_eq!(head.header("content-length"), Some(body.len().to_string().as_str()), "HEAD {path}");
    }
    let outside = [
        "/../secret.txt",
        "/sub/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/link.txt",
        "//etc/passwd",
    ];
    for path in outside.into_iter().chain(["/none.html", "/large.bin/x", "/%zz", "/%00"]) {
        let reply = client.get(path);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
    }
    assert_eq!(client.ask("DELETE", "/index.html", "").status, 405);
    drop(client);
    assert_eq!(node.stop().in_flight, 0);
}

/// Opened for reading, a FIFO waits for its other end: the node would hang, and every request with it.
#[test]
fn what_is_no_file_is_not_opened() {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir(root.path().join("sub")).expect("a folder");
    for name in ["pipe", "sub/index.html"] {
        mkfifo(&root.path().join(name), Mode::S_IRWXU).expect("a FIFO");
    }
    symlink(root.path().join("pipe"), root.path().join("link")).expect("a link");
    let _socket = UnixListener::bind(root.path().join("socket")).expect("a socket");
    fs::write(root.path().join("a.txt"), "a").expect("a file");
    let mut node = command("child::as_node");
    node.env("FILES", root.path());
    // A child of its own: in this process a thread that hangs would be there to the end.
    let node = Child::start(node, PATIENCE).expect("a node starts");
    for path in ["/pipe", "/sub/", "/sub/index.html", "/link", "/socket"] {
        assert_eq!(get(address(&node), path).status, 404, "{path}");
    }
    assert_eq!(get(address(&node), "/a.txt").text(), "a");
}

/// What strangers could keep a processor and the network busy by is not there, and no file is hidden; a node that emulates a
/// server, and one that is told to, has its own paths.
#[test]
fn a_site_has_no_paths_but_its_own() {
    let root = tempfile::tempdir().expect("a folder");
    let of_node = ["/work?demand=1ns", "/work/1?demand=1ns", "/bytes/3"];
    let start = |test_paths: Option<bool>, model: Option<&str>| {
        let (files, model) = (FileSettings::new(root.path()).into(), model.map(Into::into));
        Node::start(NodeSettings { files, model, test_paths, ..NodeSettings::new("n") }).expect("a node starts")
    };
    let statuses = |node: &Node| of_node.map(|path| get(node.address(), path).status);
    let site = start(None, None);
    assert_eq!(statuses(&site), [404; 3]);
    // Who stands in front still hears how it is.
    assert_eq!(get(site.address(), "/health").text(), "ok\n");
    assert_eq!(get(site.address(), "/load").status, 200);
    let model = Some("discipline = \"ps\"\ndemand = \"1 ms\"");
    for node in [start(Some(true), None), start(None, model)] {
        assert_eq!(statuses(&node), [200; 3]);
    }
    assert_eq!(statuses(&start(Some(false), model)), [404; 3]);
    // The site's own files of such names.
    for name in ["health", "load", "work", "bytes"] {
        fs::write(root.path().join(name), format!("the site's {name}")).expect("a file");
    }
    let own = |node: &Node, name: &str| get(node.address(), &format!("/{name}")).text() == format!("the site's {name}");
    let (site, asked) = (start(None, None), start(Some(true), None));
    assert!(["health", "load", "work", "bytes"].iter().all(|name| own(&site, name)));
    assert!(["health", "load", "work"].iter().all(|name| !own(&asked, name)));
    assert_eq!(site.counts().requests, 4, "they are requests as others");
}

#[test]
fn a_root_that_is_no_folder_is_said() {
    let error =
        Node::start(NodeSettings { files: FileSettings::new("/no/such/folder").into(), ..NodeSettings::new("n") });
    let error = error.err().expect("there is no such folder").to_string();
    assert!(error.contains("/no/such/folder"), "{error}");
}

#[test]
fn an_idle_connection_stays_open_as_long_as_it_was_told_to() {
    let keep_alive = ms(200);
    let config = NodeSettings { limits: NodeLimits { keep_alive, ..NodeLimits::default() }, ..NodeSettings::new("n") };
    let node = Node::start(config).expect("a node starts");
    let mut client = Client::new(node.address());
    // A reply may take longer than an idle connection stays open. Counted from before the request, because the node's
    // own count begins before its reply is read here.
    for _ in 0..2 {
        let asked = now();
        assert_eq!(client.get("/work?demand=400ms").status, 200);
        assert!(now() - asked >= keep_alive * 2);
    }
    let asked = now();
    assert_eq!(client.get("/bytes/1").status, 200);
    assert!(client.reply(true).is_none(), "it is closed without a word");
    assert!(now() - asked >= keep_alive, "and not before its time: {}", now() - asked);

    let config =
        NodeSettings { limits: NodeLimits { keep_alive: ms(0), ..NodeLimits::default() }, ..NodeSettings::new("n") };
    let node = Node::start(config).expect("a node starts");
    let mut client = Client::new(node.address());
    assert_eq!(client.get("/bytes/1").header("connection"), Some("close"));
    assert!(client.reply(true).is_none(), "a connection per request");
}

#[test]
fn as_many_bytes_as_asked_for() {
    let node = Node::start(NodeSettings::new("n")).expect("a node starts");
    let mut client = Client::new(node.address());
    for size in [0, 1, 65_536, 65_537, 5_000_000] {
        let reply = client.get(&format!("/bytes/{size}"));
        assert!(reply.whole && reply.status == 200 && reply.body.len() == size, "{size}");
    }
}
