//! Programs that a FastCGI server runs: Debian's PHP-FPM, and servers that do wrong what it does right.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use sojourn_part::settings::node::{FastCgiSettings, FileSettings, NodeSettings, Pattern};
use sojourn_web::Node;
use tempfile::TempDir;

use crate::skip::skipped;
use crate::support::{Client, ms, until};

/// Ends with this value.
struct Fpm(Child);

impl Drop for Fpm {
    fn drop(&mut self) {
        let _ =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.0.id() as i32), nix::sys::signal::Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

/// PHP-FPM with two processes, on a socket in this folder; none where it is not installed.
fn fpm(folder: &Path) -> Option<Fpm> {
    let places = ["/usr/sbin", "/usr/local/sbin"].into_iter().filter_map(|place| fs::read_dir(place).ok());
    let names = places.flat_map(|place| place.flatten()).map(|entry| entry.path());
    let mut found: Vec<_> = names
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("php-fpm")))
        .collect();
    found.sort();
    let Some(program) = found.pop() else {
        skipped("PHP-FPM is not installed (Debian's package php-fpm)");
        return None;
    };
    let at = folder.display();
    let config = format!(
        "[global]\nerror_log = {at}/fpm.log\ndaemonize = no\n[site]\nlisten = {at}/fpm.sock\npm = static\npm.max_children = 2\n\
         catch_workers_output = no\n"
    );
    fs::write(folder.join("fpm.conf"), config).expect("there is room");
    let mut command = Command::new(program);
    command.arg("-F").arg("-n").arg("-y").arg(folder.join("fpm.conf"));
    if nix::unistd::geteuid().is_root() {
        // It runs as whoever runs the test; as root it wants to be told that this is meant, and under whose name.
        command.arg("-R");
        let config = fs::read_to_string(folder.join("fpm.conf")).expect("a file") + "user = root\ngroup = root\n";
        fs::write(folder.join("fpm.conf"), config).expect("there is room");
    }
    let fpm = Fpm(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it was found"));
    until("PHP-FPM listens", || UnixStream::connect(folder.join("fpm.sock")).is_ok());
    Some(fpm)
}

fn node(root: &Path, server: &Path, change: impl FnOnce(&mut FastCgiSettings)) -> Node {
    let mut fastcgi = FastCgiSettings::new(Pattern::parse("*.php").expect("a pattern"), server.to_string_lossy());
    fastcgi.connections = 2;
    change(&mut fastcgi);
    let mut files = FileSettings::new(root);
    files.index.push("index.php".into());
    let config = NodeSettings { files: files.into(), fastcgi: Some(fastcgi), ..NodeSettings::new("n") };
    Node::start(config).expect("a node starts")
}

fn site(pages: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (name, page) in pages {
        fs::write(root.path().join(name), page).expect("a page");
    }
    root
}

#[test]
fn php_makes_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_fpm) = fpm(folder.path()) else { return };
    let root = site(&[
        ("index.php", "<?php echo 'home of ', $_SERVER['SCRIPT_NAME'];"),
        (
            "told.php",
            "<?php foreach (['REQUEST_METHOD', 'PATH_INFO', 'QUERY_STRING', 'HTTP_HOST', 'EXTRA'] as $name)\n\
             echo $name, '=', $_SERVER[$name] ?? '-', \"\\n\"; echo $_GET['a'] ?? '-', $_POST['b'] ?? '-';",
        ),
        ("size.php", "<?php $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body);"),
        ("large.php", "<?php for ($i = 0; $i < 300; $i++) echo str_repeat(chr(97 + $i % 26), 10000);"),
        ("status.php", "<?php http_response_code(404); header('X-A: b'); echo 'gone';"),
        ("away.php", "<?php header('Location: https://a.example/');"),
        ("errors.php", "<?php error_log('too hot'); echo 'done';"),
        ("pid.php", "<?php echo getmypid();"),
        ("slow.php", "<?php sleep(20); echo 'late';"),
        ("crash.php", "<?php exec('kill -9 ' . getmypid()); echo 'never';"),
        ("crash-later.php", "<?php echo str_repeat('x', 100000); flush(); ob_flush(); exec('kill -9 ' . getmypid());"),
        ("plain.txt", "no program"),
    ]);
    let errors = folder.path().join("errors");
    let node = node(root.path(), &folder.path().join("fpm.sock"), |fastcgi| {
        fastcgi.env = [("EXTRA".into(), "x".repeat(200))].into();
        fastcgi.errors = Some(errors.clone());
        fastcgi.time = ms(3000);
    });
    let mut client = Client::new(node.address());
    assert_eq!(client.get("/").text(), "home of /index.php");
    assert_eq!(client.get("/plain.txt").text(), "no program");
    let told = client.ask("GET", "/told.php/some/info?a=1", "");
    let lines = format!(
        "REQUEST_METHOD=GET\nPATH_INFO=/some/info\nQUERY_STRING=a=1\nHTTP_HOST=test\nEXTRA={}\n1-",
        "x".repeat(200)
    );
    assert_eq!((told.status, told.text()), (200, lines));
    let form = "content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n";
    client.send(&format!("POST /told.php HTTP/1.1\r\nhost: t\r\n{form}\r\nb=2"));
    assert!(client.reply(true).expect("a reply").text().ends_with("-2"));
    let body = "0123456789".repeat(200_000);
    client.send(&format!("POST /size.php HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let sum = Command::new("md5sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().and_then(|mut md5| {
        md5.stdin.take().expect("a pipe").write_all(body.as_bytes())?;
        md5.wait_with_output()
    });
    let sum = String::from_utf8(sum.expect("md5sum is everywhere").stdout).expect("text");
    assert_eq!(client.reply(true).expect("a reply").text(), format!("2000000 {}", &sum[..32]));
    let large = client.get("/large.php");
    assert!(large.whole && large.body.len() == 3_000_000 && large.body[2_999_999] == b'a' + (299 % 26) as u8);
    let status = client.get("/status.php");
    assert_eq!((status.status, status.header("x-a"), status.text().as_str()), (404, Some("b"), "gone"));
    assert_eq!(client.get("/away.php").status, 302);
    assert_eq!(client.ask("HEAD", "/index.php", "").status, 200);
    assert_eq!(client.get("/none.php").status, 404);
    assert_eq!(client.get("/errors.php").text(), "done");
    until("what it complains of is kept", || fs::read_to_string(&errors).is_ok_and(|text| text.contains("too hot")));
    // One connection serves all of a client's requests: the same process answers.
    let pid = client.get("/pid.php").text();
    assert!((0..5).all(|_| client.get("/pid.php").text() == pid));
    // More clients than processes wait their turn.
    let mut crowd: Vec<_> = (0..8).map(|_| Client::new(node.address())).collect();
    crowd.iter_mut().for_each(|client| client.send("GET /pid.php HTTP/1.1\r\nhost: t\r\n\r\n"));
    assert!(crowd.iter_mut().all(|client| client.reply(true).is_some_and(|reply| reply.status == 200)));
    // What goes wrong is told, and then all is well again.
    assert_eq!(client.get("/crash.php").status, 502);
    let crashed = Client::new(node.address()).get("/crash-later.php");
    assert!(crashed.status == 200 && !crashed.whole, "{} {}", crashed.status, crashed.body.len());
    assert_eq!(Client::new(node.address()).get("/slow.php").status, 504);
    until("it serves again", || Client::new(node.address()).get("/index.php").status == 200);
}

/// A server that reads a request up to the end of its body and says this.
fn server(folder: &Path, say: &'static [u8]) -> std::path::PathBuf {
    let path = folder.join("server.sock");
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            while let Some(()) = request(&mut stream) {
                if say.is_empty() || stream.write_all(say).is_err() {
                    break;
                }
            }
        }
    });
    path
}

/// Reads records until the empty one of the body.
fn request(stream: &mut UnixStream) -> Option<()> {
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).ok()?;
        let mut content = vec![0; usize::from(u16::from_be_bytes([header[4], header[5]])) + usize::from(header[6])];
        stream.read_exact(&mut content).ok()?;
        if header[1] == 5 && content.is_empty() {
            return Some(());
        }
    }
}

#[test]
fn a_server_that_does_wrong_is_told_of() {
    let (folder, root) = (tempfile::tempdir().expect("a folder"), site(&[("a.php", "")]));
    // 23 bytes and 2 of padding.
    let page: &'static [u8] = b"\x01\x06\x00\x01\x00\x17\x02\x00Content-Type: a/b\n\npage..";
    let of = |parts: &[&[u8]]| -> &'static [u8] { Box::leak(parts.concat().into_boxed_slice()) };
    let end = |status: u8| [1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, status, 0, 0, 0];
    for (say, status, whole, why) in [
        (of(&[page, &end(0)]), 200, true, "all is well"),
        // Records that are of no interest, one for errors, padding, and an empty end of the output.
        (
            of(&[
                b"\x01\x07\x00\x01\x00\x00\x00\x00\x01\x0b\x00\x00\x00\x02\x00\x00ab",
                page,
                b"\x01\x06\x00\x01\x00\x00\x00\x00",
                &end(0),
            ]),
            200,
            true,
            "more",
        ),
        (of(&[page, b"\x01\x06\x00\x01\x00\x09\x00\x00abc"]), 200, false, "it never ends"),
        (of(&[page, b"no record"]), 200, false, "garbage after the head"),
        (of(&[page, &end(2)]), 200, false, "overloaded after the head"),
        (of(&[page, &end(3)]), 200, false, "refused after the head"),
        (of(&[&end(0)]), 502, true, "no head"),
        (of(&[&end(1)]), 502, true, "it takes no further request"),
        (of(&[&end(2)]), 502, true, "overloaded"),
        (of(&[&end(3)]), 502, true, "another role"),
        (of(&[&end(9)]), 502, true, "an unknown end"),
        (of(&[b"HTTP/1.1 200 OK\r\n\r\n"]), 502, true, "HTTP"),
        (of(&[b"\x01\x06\x00\x07\x00\x01\x00\x00a"]), 502, true, "another request's"),
        (of(&[]), 502, true, "it closes"),
    ] {
        let node = node(root.path(), &server(folder.path(), say), |fastcgi| fastcgi.time = ms(500));
        let reply = Client::new(node.address()).get("/a.php");
        assert_eq!((reply.status, reply.whole), (status, whole), "{why}: {}", reply.text());
    }
    // None that listens; one that never answers; and one whose connections were closed meanwhile.
    let node_of = |server: &Path| node(root.path(), server, |fastcgi| fastcgi.time = ms(300));
    let nowhere = node_of(&folder.path().join("none.sock"));
    assert_eq!(Client::new(nowhere.address()).get("/a.php").status, 502);
    let deaf = UnixListener::bind(folder.path().join("deaf.sock")).expect("a socket");
    let hanging = node_of(&folder.path().join("deaf.sock"));
    assert_eq!(Client::new(hanging.address()).get("/a.php").status, 504);
    drop(deaf);
    let path = folder.path().join("closing.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    // The next request waits for the close: one that meets it is 502.
    let (say_closed, is_closed) = channel();
    let closing = std::thread::spawn(move || {
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().expect("a connection");
            request(&mut stream).expect("a request");
            stream.write_all(of(&[page, &end(0)])).expect("it is read");
            drop(stream);
            say_closed.send(()).expect("it is waited for");
        }
    });
    let closed = node_of(&path);
    for _ in 0..3 {
        assert_eq!(Client::new(closed.address()).get("/a.php").text(), "page");
        is_closed.recv().expect("it closes");
    }
    closing.join().expect("three connections");
}

/// One that listens for no other connection.
#[test]
fn a_connection_serves_one_request_after_another() {
    let (folder, root) = (tempfile::tempdir().expect("a folder"), site(&[("a.php", "")]));
    let path = folder.path().join("once.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let once = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        drop(listener);
        let reply =
            b"\x01\x06\x00\x01\x00\x17\x02\x00Content-Type: a/b\n\npage..\x01\x03\x00\x01\x00\x08\x00\x00\0\0\0\0\0\0\0\0";
        while request(&mut stream).is_some() {
            stream.write_all(reply).expect("it is read");
        }
    });
    let node = node(root.path(), &path, |_| {});
    for _ in 0..3 {
        assert_eq!(Client::new(node.address()).get("/a.php").text(), "page");
    }
    node.stop();
    once.join().expect("it has served");
}

#[test]
fn settings_that_cannot_be_right_are_said_in_a_line() {
    let root = site(&[]);
    let refusal = |server: &str, connections: usize| {
        let mut fastcgi = FastCgiSettings::new(Pattern::parse("*.php").expect("a pattern"), server);
        (fastcgi.root, fastcgi.connections) = (Some(root.path().into()), connections);
        let config = NodeSettings { fastcgi: Some(fastcgi), ..NodeSettings::new("n") };
        Node::start(config).err().expect("it cannot start").to_string()
    };
    for (said, expected) in [
        (refusal("localhost", 1), "fastcgi.server: `localhost`"),
        (refusal("127.0.0.1", 1), "127.0.0.1:9000"),
        (refusal("/run/php.sock", 0), "fastcgi.connections: 0"),
    ] {
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}
