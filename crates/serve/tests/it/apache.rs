//! A real Apache: it serves as it was told to, ends when it is told to, and never outlives its parent.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sojourn_serve::apache::{Apache, Running, Workers};
use sojourn_serve::{Child, now};

use crate::child::command;
use crate::support::{Client, get, ms, until};

/// A folder with a file of three bytes that everybody may read.
fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    fs::write(folder.path().join("index.html"), "<p>").expect("a file");
    folder
}

/// None where there is no Apache.
fn start(apache: &Apache) -> Option<Running> {
    if !Path::new("/usr/sbin/apache2").exists() {
        assert!(std::env::var("CI").is_err(), "apache2 is missing in CI: `make test` installs it");
        eprintln!("SKIPPED: no apache2 on this machine; `make test` installs it");
        return None;
    }
    Some(apache.start().expect("it starts"))
}

fn refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_err()
}

#[test]
fn it_serves_a_folder_and_closes_idle_connections() {
    let site = site();
    let keep_alive = ms(300);
    let apache = Apache { keep_alive, keep_alive_requests: 3, ..Apache::new(site.path(), Workers::EXPERIMENT_II) };
    let Some(running) = start(&apache) else { return };
    let mut client = Client::new(running.address());
    let reply = client.get("/");
    assert_eq!((reply.status, reply.text().as_str(), reply.header("content-type")), (200, "<p>", Some("text/html")));
    let asked = now();
    assert_eq!(client.get("/none.html").status, 404);
    assert!(client.reply(true).is_none(), "an idle connection is closed");
    assert!(now() - asked >= keep_alive, "and not before its time: {}", now() - asked);

    let mut client = Client::new(running.address());
    assert_eq!([(); 3].map(|()| client.get("/").header("connection") == Some("close")), [false; 3]);
    assert_eq!(client.get("/").header("connection"), Some("close"), "three after the first");
    until("each request is logged", || running.access_log().matches("GET / HTTP/1.1").count() == 5);
    assert!(running.error_log().contains("resuming normal operations"));
}

#[test]
fn without_keep_alive_a_connection_carries_one_request() {
    let site = site();
    let apache = Apache {
        keep_alive: ms(0),
        access_log: false,
        workers: Workers { most: 3, start: 1, spare_min: 1, spare_max: 2 },
        ..Apache::new(site.path(), Workers::EXPERIMENT_I)
    };
    let Some(running) = start(&apache) else { return };
    let mut client = Client::new(running.address());
    assert_eq!(client.get("/index.html").header("connection"), Some("close"));
    assert!(client.reply(true).is_none());
    assert_eq!(running.access_log(), "");
}

#[test]
fn a_connection_more_than_workers_waits() {
    let site = site();
    let workers = Workers { most: 2, start: 2, spare_min: 1, spare_max: 2 };
    let Some(running) = start(&Apache::new(site.path(), workers)) else { return };
    let mut crowd = [Client::new(running.address()), Client::new(running.address())];
    for client in &mut crowd {
        assert_eq!(client.get("/").status, 200);
    }
    let mut waiting = Client::new(running.address());
    waiting.send("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it says that it is full", || running.error_log().contains("server reached MaxRequestWorkers"));
    assert_eq!(running.access_log().matches("\"GET").count(), 2, "the third waits");
    drop(crowd);
    assert_eq!(waiting.reply(true).expect("its turn comes").status, 200);
}

#[test]
fn stopping_leaves_nothing() {
    let site = site();
    let Some(mut running) = start(&Apache::new(site.path(), Workers::EXPERIMENT_I)) else { return };
    let (address, pid) = (running.address(), Pid::from_raw(running.pid() as i32));
    let told = fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("it runs");
    let configuration = told.split('\0').find(|word| word.ends_with("apache.conf")).expect("one of its own");
    assert!(Path::new(configuration).exists() && !running.has_ended());
    assert_eq!(get(address, "/").status, 200);
    running.stop();
    assert!(refused(address) && kill(pid, None).is_err());
    assert!(!Path::new(configuration).parent().expect("a folder").exists(), "its folder is gone");
}

#[test]
#[ignore = "serves as a child of the tests below"]
fn as_parent_of_apache() {
    let root = std::env::var("ROOT").expect("a root");
    let running = Apache::new(root, Workers::EXPERIMENT_I).start().expect("it starts");
    let (port, pid) = (running.address().port(), running.pid());
    let line = format!("{{\"event\":\"ready\",\"port\":{port},\"pid\":{pid}}}\n");
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).expect("it is read");
    if std::env::var("PANICS").is_ok() {
        panic!("as it was told to");
    }
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0; 1]);
    unreachable!("it is killed before its input ends");
}

#[test]
fn it_does_not_survive_a_parent_that_panics_or_is_killed() {
    let site = site();
    let Some(running) = start(&Apache::new(site.path(), Workers::EXPERIMENT_I)) else { return };
    running.stop();
    for panics in [true, false] {
        let mut parent = command("apache::as_parent_of_apache");
        parent.env("ROOT", site.path());
        if panics {
            parent.env("PANICS", "1");
        }
        let mut parent = Child::start(parent, Duration::from_secs(20)).expect("a parent");
        let (port, id) = (parent.port(), parent.pid());
        if !panics {
            assert!(TcpStream::connect(("127.0.0.1", port)).is_ok(), "Apache runs");
            kill(Pid::from_raw(id as i32), Signal::SIGKILL).expect("it is there");
        }
        until("the parent has ended", || parent.has_ended());
        until("Apache has gone", || refused(([127, 0, 0, 1], port).into()));
        until("its folder has gone", || folders_of(id) == 0);
    }
}

#[test]
fn it_does_not_survive_its_guard() {
    let site = site();
    let Some(mut running) = start(&Apache::new(site.path(), Workers::EXPERIMENT_I)) else { return };
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).expect("it runs");
    let guard = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent").trim();
    kill(Pid::from_raw(guard.parse().expect("a number")), Signal::SIGKILL).expect("the guard is ours");
    until("the guard's end is seen", || running.has_ended());
    until("Apache has gone", || refused(running.address()));
}

#[test]
fn what_is_wrong_is_one_line() {
    let site = site();
    let good = Apache::new(site.path(), Workers::EXPERIMENT_I);
    if let Some(running) = start(&good) {
        running.stop();
    } else {
        return;
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let workers = |workers| Apache { workers, ..good.clone() };
    let cases = [
        (Apache { root: "/no/such/folder".into(), ..good.clone() }, "files below /no/such/folder: "),
        (Apache { root: site.path().join("index.html"), ..good.clone() }, "not a directory"),
        (Apache { listen: taken.local_addr().expect("an address"), ..good.clone() }, "is already in use"),
        (workers(Workers { most: 0, ..Workers::EXPERIMENT_I }), "apache workers: at most 0; it is from 1 to 20000"),
        (workers(Workers { start: 151, ..Workers::EXPERIMENT_I }), "apache workers: 151 at the start"),
        (workers(Workers { spare_max: 5, ..Workers::EXPERIMENT_I }), "apache workers: 5 to 5 idle"),
    ];
    let said = |apache: &Apache| {
        let words = apache.start().err().expect("it is wrong").to_string();
        assert!(!words.contains('\n'), "{words}");
        words
    };
    for (apache, part) in cases {
        assert!(said(&apache).contains(part), "{part}: {}", said(&apache));
    }
    let odd = site.path().join("a\"b");
    fs::create_dir(&odd).expect("a folder");
    assert!(said(&Apache { root: odd, ..good.clone() }).contains("use another folder"));
    // Root's workers are not root; others serve as themselves, who may read what they made.
    fs::set_permissions(site.path(), Permissions::from_mode(0o700)).expect("it is ours");
    if fs::metadata(site.path()).is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0) {
        assert!(said(&good).contains("who may not read"), "{}", said(&good));
    }
}

/// How many folders the Apaches of a process have.
fn folders_of(process: u32) -> usize {
    let name = format!("sojourn-apache-{process}-");
    let entries = fs::read_dir(std::env::temp_dir()).expect("it can be read").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&name)).count()
}
