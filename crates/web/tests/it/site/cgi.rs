//! Programs that are started for each request (RFC 3875), well-behaved and not.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use sojourn_bed::{Child, install};
use sojourn_part::settings::node::{CgiSettings, FileSettings, NodeSettings, Pattern};
use sojourn_web::Node;
use tempfile::TempDir;

use crate::support::{Client, Reply, ms, until};
use crate::support::{PATIENCE, address, command};

/// A site with these programs in `/cgi-bin/`.
fn site(programs: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir(root.path().join("cgi-bin")).expect("a folder");
    for (name, script) in programs {
        install(&root.path().join("cgi-bin").join(name), &format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    }
    root
}

fn node(root: &Path, change: impl FnOnce(&mut CgiSettings)) -> Node {
    let mut cgi = CgiSettings::new(Pattern::parse("/cgi-bin/*").expect("a pattern"));
    change(&mut cgi);
    let files = FileSettings::new(root).into();
    Node::start(NodeSettings { files, cgi: Some(cgi), ..NodeSettings::new("n") }).expect("a node starts")
}

/// Whether a process lives that wrote its number into this file.
fn lives(path: &Path) -> bool {
    let pid = fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    pid.is_some_and(is_alive)
}

fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // One that is dead and not yet waited for is no more.
    kill(Pid::from_raw(pid), None).is_ok() && !stat.contains(") Z ")
}

fn is_there(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
}

const HEAD: &str = "echo 'Content-Type: text/plain'; echo";

#[test]
fn a_program_is_told_its_request() {
    let root = site(&[("env", &format!("{HEAD}; env; pwd"))]);
    let node = node(root.path(), |cgi| cgi.env = [("LANG".into(), "C.UTF-8".into())].into());
    let reply = Client::new(node.address()).get("/cgi-bin/env/more%20info/x?a=b&c%20d");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain")));
    let at = root.path().canonicalize().expect("a folder");
    let at = at.display();
    let port = node.address().port();
    let told = reply.text();
    for line in [
        "GATEWAY_INTERFACE=CGI/1.1".into(),
        "SERVER_PROTOCOL=HTTP/1.1".into(),
        "SERVER_NAME=test".into(),
        format!("SERVER_PORT={port}"),
        "REQUEST_METHOD=GET".into(),
        "SCRIPT_NAME=/cgi-bin/env".into(),
        format!("SCRIPT_FILENAME={at}/cgi-bin/env"),
        "PATH_INFO=/more info/x".into(),
        format!("PATH_TRANSLATED={at}/more info/x"),
        "QUERY_STRING=a=b&c%20d".into(),
        "REQUEST_URI=/cgi-bin/env/more%20info/x?a=b&c%20d".into(),
        "REMOTE_ADDR=127.0.0.1".into(),
        "HTTP_HOST=test".into(),
        "LANG=C.UTF-8".into(),
        format!("{at}/cgi-bin"),
    ] {
        assert!(told.lines().any(|known| known == line), "{line} is missing in\n{told}");
    }
    for name in ["CONTENT_LENGTH=", "CONTENT_TYPE=", "HOME=", "CARGO"] {
        assert!(!told.lines().any(|line| line.starts_with(name)), "{name} in\n{told}");
    }
    // What could pass for something else is left out.
    let headers = "proxy: http://evil\r\nx-y: 2\r\nx_y: 1\r\ncookie: a=1\r\ncookie: b=2\r\naccept: x\r\naccept: y\r\n";
    let told = Client::new(node.address()).ask("GET", "/cgi-bin/env", headers).text();
    for line in ["HTTP_X_Y=2", "HTTP_COOKIE=a=1; b=2", "HTTP_ACCEPT=x, y", "QUERY_STRING="] {
        assert!(told.lines().any(|known| known == line), "{line} is missing in\n{told}");
    }
    assert!(!told.contains("evil") && !told.contains("PATH_INFO"), "{told}");
}

#[test]
fn a_program_gets_the_body_and_may_leave_it() {
    let root = site(&[
        ("echo", "echo 'Content-Type: a/b'; echo \"X-Length: $CONTENT_LENGTH\"; echo; cat"),
        ("deaf", &format!("{HEAD}; echo enough")),
    ]);
    let node = node(root.path(), |_| {});
    let body = "0123456789".repeat(200_000);
    let mut client = Client::new(node.address());
    let post = |client: &mut Client, path: &str, framing: &str, body: &str| -> Reply {
        client.send(&format!("POST {path} HTTP/1.1\r\nhost: t\r\n{framing}\r\n\r\n{body}"));
        client.reply(true).expect("a reply")
    };
    let reply = post(&mut client, "/cgi-bin/echo", &format!("content-length: {}", body.len()), &body);
    assert!(reply.whole && reply.text() == body, "{} bytes", reply.body.len());
    assert_eq!(reply.header("x-length"), Some("2000000"));
    let reply = post(&mut client, "/cgi-bin/echo", "transfer-encoding: chunked", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert_eq!((reply.text().as_str(), reply.header("x-length")), ("abcde", Some("5")));
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    assert_eq!(post(&mut client, "/cgi-bin/echo", "transfer-encoding: chunked", &chunk).status, 411);
    let mut client = Client::new(node.address());
    let reply = post(&mut client, "/cgi-bin/deaf", &format!("content-length: {}", body.len()), &body);
    assert_eq!(reply.text(), "enough\n");
}

#[test]
fn a_program_says_status_length_and_place() {
    let root = site(&[
        ("status", "printf 'Content-Type: a/b\\nStatus: 418 Teapot\\nX-A: 1\\nX-A: 2\\nConnection: close\\n\\nbody'"),
        ("away", "printf 'Location: https://a.example/b\\n\\n'"),
        ("seen", "printf 'Status: 303 See Other\\nLocation: /a.txt\\n\\n'"),
        ("here", "printf 'Location: /a.txt?x\\n\\n'"),
        ("over", "printf 'Location: /cgi-bin/env/info?%s\\n\\n' \"$REQUEST_METHOD\""),
        ("env", &format!("{HEAD}; echo $REQUEST_METHOD $PATH_INFO $QUERY_STRING $CONTENT_LENGTH")),
        ("round", "printf 'Location: /cgi-bin/round\\n\\n'"),
        ("length", "printf 'Content-Type: a/b\\nContent-Length: 3\\n\\nabcdef'"),
        ("short", "printf 'Content-Type: a/b\\nContent-Length: 9\\n\\nabc'"),
        ("none", "printf 'Status: 204\\n\\n'"),
    ]);
    fs::write(root.path().join("a.txt"), "a file").expect("a file");
    let node = node(root.path(), |_| {});
    let get = |path: &str| Client::new(node.address()).get(path);
    let status = get("/cgi-bin/status");
    assert_eq!((status.status, status.text().as_str(), status.header("connection")), (418, "body", None));
    assert_eq!(status.headers.iter().filter(|(name, _)| name == "x-a").count(), 2);
    let away = get("/cgi-bin/away");
    assert_eq!((away.status, away.header("location")), (302, Some("https://a.example/b")));
    let seen = get("/cgi-bin/seen");
    assert_eq!((seen.status, seen.header("location")), (303, Some("/a.txt")));
    let here = get("/cgi-bin/here");
    assert_eq!((here.status, here.text().as_str(), here.header("location")), (200, "a file", None));
    let mut client = Client::new(node.address());
    client.send("POST /cgi-bin/over HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nab");
    assert_eq!(client.reply(true).expect("a reply").text(), "GET /info POST\n");
    assert_eq!(get("/cgi-bin/round").status, 502);
    let length = get("/cgi-bin/length");
    assert_eq!((length.text().as_str(), length.header("content-length")), ("abc", Some("3")));
    let short = get("/cgi-bin/short");
    assert!(short.status == 200 && !short.whole, "{short:?}");
    assert_eq!(get("/cgi-bin/none").status, 204);
    let head = Client::new(node.address()).ask("HEAD", "/cgi-bin/status", "");
    assert_eq!((head.status, head.header("x-a")), (418, Some("1")));
}

#[test]
fn a_program_is_never_sent_as_a_file() {
    let root = site(&[("secret", &format!("{HEAD}; echo ran"))]);
    let plain = root.path().join("cgi-bin/plain");
    fs::write(&plain, "#!/bin/sh\n# secret").expect("a file");
    fs::write(root.path().join("cgi-bin/index.html"), "# secret").expect("a file");
    fs::create_dir(root.path().join("sub")).expect("a folder");
    let node = node(root.path(), |_| {});
    let mut client = Client::new(node.address());
    for path in [
        "/cgi-bin/secret",
        "//cgi-bin//secret",
        "/./cgi-bin/./secret",
        "/%63gi-bin/%73ecret",
        "/cgi-bin%2fsecret",
        "/cgi-bin/secret/",
    ] {
        assert_eq!(client.get(path).text(), "ran\n", "{path}");
    }
    for path in ["/cgi-bin/plain", "/cgi-bin/", "/cgi-bin/index.html", "/cgi-bin/plain/x"] {
        let reply = client.get(path);
        assert_eq!(reply.status, 403, "{path}: {}", reply.text());
    }
    for path in ["/cgi-bin/none", "/sub/../cgi-bin/secret", "/cgi-bin/../cgi-bin/secret", "/cgi-bin/secret%00"] {
        let reply = client.get(path);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
    }
}

/// What a program does wrong is told with a status while there is none yet, and after that by an end that is none.
#[test]
fn programs_that_fail() {
    let root = site(&[
        ("silent", "exit 3"),
        ("crash", "kill -SEGV $$"),
        ("crash-later", &format!("{HEAD}; echo part; kill -SEGV $$")),
        ("untyped", "echo; echo body"),
        ("garbage", "echo no head; echo; echo body"),
        ("flood-head", "yes x-header-line | tr -d '\\n'"),
        ("many-lines", "yes 'A: b'"),
        ("flood", &format!("{HEAD}; yes")),
        ("no-program", ""),
        ("failed", &format!("{HEAD}; echo all; exit 3")),
    ]);
    // One whose interpreter is not there.
    fs::write(root.path().join("script"), "#!/no/such/program\n").expect("a file");
    let mut install = Command::new("install");
    install.arg("-m755").arg(root.path().join("script")).arg(root.path().join("cgi-bin/no-program"));
    assert!(install.status().expect("install is everywhere").success());
    let node = node(root.path(), |cgi| cgi.output = 1 << 20);
    let get = |path: &str| Client::new(node.address()).get(&format!("/cgi-bin/{path}"));
    for path in ["silent", "crash", "untyped", "garbage", "flood-head", "many-lines", "no-program"] {
        let reply = get(path);
        assert_eq!(reply.status, 502, "{path}: {}", reply.text());
    }
    let reply = get("crash-later");
    assert!(reply.status == 200 && !reply.whole, "{reply:?}");
    let reply = get("flood");
    assert!(reply.status == 200 && !reply.whole && reply.body.len() <= 1 << 20, "{} bytes", reply.body.len());
    let reply = get("failed");
    assert!(reply.status == 200 && reply.whole && reply.text() == "all\n", "{reply:?}");
}

#[test]
fn a_program_that_hangs_is_ended_with_its_whole_group() {
    let root = site(&[
        ("hang", "sleep 1000 & echo $! > pid; wait"),
        ("hang-later", &format!("{HEAD}; echo part; sleep 1000 & echo $! > pid; wait")),
        ("hang-deaf", "echo $$ > pid; sleep 1000; cat"),
        ("closed", &format!("echo $$ > pid; {HEAD}; echo all; exec >/dev/null; sleep 1000")),
    ]);
    let pid = root.path().join("cgi-bin/pid");
    let node = node(root.path(), |cgi| cgi.time = ms(300));
    for (path, status, whole) in [("hang", 504, true), ("hang-later", 200, false), ("closed", 200, true)] {
        let reply = Client::new(node.address()).get(&format!("/cgi-bin/{path}"));
        assert_eq!((reply.status, reply.whole), (status, whole), "{path}: {}", reply.text());
        assert!(is_there(&pid));
        until("its group is gone", || !lives(&pid));
        fs::remove_file(&pid).expect("it is there");
    }
    // One that does not read what it is sent.
    let mut client = Client::new(node.address());
    let body = "x".repeat(1_000_000);
    client.send(&format!("POST /cgi-bin/hang-deaf HTTP/1.1\r\nhost: t\r\ncontent-length: 1000000\r\n\r\n{body}"));
    assert_eq!(client.reply(true).expect("a reply").status, 504);
    until("it is gone", || !lives(&pid));
}

#[test]
fn a_program_that_forks_without_end_is_ended_with_all_that_it_made() {
    // For the sake of the machine it stops at some hundreds by itself.
    let forks = "n=0; while [ $n -lt 500 ]; do sleep 1000 & echo $! >> pids; n=$((n + 1)); done; wait";
    let root = site(&[("forks", forks)]);
    fs::write(root.path().join("page"), "a page").expect("a file");
    let node = node(root.path(), |cgi| cgi.time = ms(500));
    let made = || -> Vec<i32> {
        let text = fs::read_to_string(root.path().join("cgi-bin/pids")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let mut client = Client::new(node.address());
    client.send("GET /cgi-bin/forks HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it forks", || made().len() >= 20);
    assert_eq!(Client::new(node.address()).get("/page").status, 200, "others are served meanwhile");
    assert_eq!(client.reply(true).expect("a reply").status, 504);
    until("all that it made is gone", || !made().into_iter().any(is_alive));
}

#[test]
fn a_slow_client_is_not_counted_against_its_program() {
    let root = site(&[("echo", &format!("{HEAD}; cat"))]);
    let node = node(root.path(), |cgi| cgi.time = ms(300));
    let mut client = Client::new(node.address());
    client.send("POST /cgi-bin/echo HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\na");
    let began = sojourn_part::now();
    until("more than its time has passed", || sojourn_part::now() - began > ms(900));
    client.send("b");
    assert_eq!(client.reply(true).expect("a reply").text(), "ab");
}

#[test]
fn what_a_program_leaves_in_the_background_holds_up_nothing() {
    let root = site(&[("fork", &format!("sleep 1000 & echo $! > pid; {HEAD}; echo done"))]);
    let node = node(root.path(), |_| {});
    let reply = Client::new(node.address()).get("/cgi-bin/fork");
    assert!(reply.whole && reply.text() == "done\n", "{reply:?}");
    until("it is gone", || !lives(&root.path().join("cgi-bin/pid")));
}

#[test]
fn more_programs_than_may_run_are_refused_and_programs_end_with_their_clients() {
    let root = site(&[("hang", "echo $$ > pid; sleep 1000"), ("quick", &format!("{HEAD}; echo quick"))]);
    let pid = root.path().join("cgi-bin/pid");
    let node = node(root.path(), |cgi| cgi.at_once = 1);
    let mut client = Client::new(node.address());
    client.send("GET /cgi-bin/hang HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it runs", || is_there(&pid));
    let refused = Client::new(node.address()).get("/cgi-bin/quick");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    drop(client);
    until("it is gone", || !lives(&pid));
    until("there is room again", || Client::new(node.address()).get("/cgi-bin/quick").status == 200);
}

#[test]
fn programs_end_with_their_node() {
    let root = site(&[("hang", "echo $$ > pid; exec sleep 1000")]);
    let pid = root.path().join("cgi-bin/pid");
    let mut client = None;
    let mut ask = |address| {
        let mut asking = Client::new(address);
        asking.send("GET /cgi-bin/hang HTTP/1.1\r\nhost: t\r\n\r\n");
        until("it runs", || is_there(&pid));
        assert!(lives(&pid));
        client = Some(asking);
    };
    let stopped = node(root.path(), |_| {});
    ask(stopped.address());
    stopped.stop();
    until("it is gone", || !lives(&pid));
    fs::remove_file(&pid).expect("it is there");
    let mut as_node = command("child::as_node");
    as_node.env("FILES", root.path()).env("CGI", "/cgi-bin/*");
    let mut killed = Child::start(as_node, PATIENCE).expect("a node starts");
    ask(address(&killed));
    killed.kill();
    until("it is gone", || !lives(&pid));
}

#[test]
fn what_programs_complain_of_is_kept() {
    let root = site(&[("complain", &format!("echo too hot >&2; {HEAD}; echo done"))]);
    let errors = root.path().join("errors");
    let node = node(root.path(), |cgi| cgi.errors = Some(errors.clone()));
    assert_eq!(Client::new(node.address()).get("/cgi-bin/complain").text(), "done\n");
    until("it is written", || fs::read_to_string(&errors).is_ok_and(|text| text == "too hot\n"));
}

#[test]
fn settings_that_cannot_be_right_are_said_in_a_line() {
    let root = site(&[]);
    let refusal = |change: &dyn Fn(&mut CgiSettings)| {
        let mut cgi = CgiSettings::new(Pattern::parse("*.cgi").expect("a pattern"));
        cgi.root = Some(root.path().into());
        change(&mut cgi);
        let config = NodeSettings { cgi: Some(cgi), ..NodeSettings::new("n") };
        Node::start(config).err().expect("it cannot start").to_string()
    };
    for (said, expected) in [
        (refusal(&|cgi| cgi.root = None), "there is no root"),
        (refusal(&|cgi| cgi.root = Some("/no/such".into())), "/no/such"),
        (refusal(&|cgi| cgi.scripts.clear()), "cgi.scripts: none"),
        (refusal(&|cgi| cgi.time = ms(0)), "time"),
        (refusal(&|cgi| cgi.at_once = 0), "at_once"),
        (refusal(&|cgi| cgi.env = [("A=B".into(), "c".into())].into()), "cgi.env: `A=B`"),
        (refusal(&|cgi| cgi.errors = Some("/no/such/log".into())), "cannot write the errors /no/such/log"),
    ] {
        assert!(said.starts_with("cgi") && said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}
