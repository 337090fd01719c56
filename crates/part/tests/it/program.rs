//! Every program serves the same files as it was told to, ends when it is told to, and never outlives its parent.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sojourn_bed::Child;
use sojourn_part::program::{Kind, Program, Running, text_page};

use crate::support::{Client, command, get, site, start, until};

/// Programs, how many processes and how many threads each has when it has nothing to do.
const ALL: [(&str, usize, usize); 7] = [
    ("nginx(workers = 2)", 3, 3),
    ("apache-prefork(workers = 3)", 4, 4),
    // Apache's workers have a thread that listens and one that starts the others, which stays.
    ("apache-event(processes = 2, threads = 4)", 3, 13),
    ("apache-php(workers = 2)", 3, 3),
    ("fork", 1, 1),
    ("inetd", 1, 1),
    ("squid(origin = 127.0.0.1:1)", 1, 1),
];

fn parse(text: &str, site: &tempfile::TempDir) -> Program {
    Program::parse(text, site.path()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_err()
}

fn threads(running: &Running) -> usize {
    running.pids().iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok()).flatten().count()
}

/// What is sent until the connection closes.
fn old_style(address: SocketAddr, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).expect("it reads");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("it closes the connection");
    reply
}

#[test]
fn every_kind_serves_files_with_as_many_processes_as_asked_and_leaves_nothing() {
    let site = site();
    let page = text_page(100_000);
    let Some(origin) = start(&parse("nginx(keep_alive = 0 s)", &site)) else { return };
    for (text, processes, its_threads) in ALL {
        let program = parse(&text.replace("127.0.0.1:1)", &format!("{})", origin.address())), &site);
        let Some(running) = start(&program) else { continue };
        let address = running.address();
        let reply = get(address, "/");
        assert_eq!((reply.status, reply.text().as_str()), (200, "<p>"), "{text}");
        assert!(get(address, "/page.txt").body == page, "{text}: every byte");
        assert_eq!(get(address, "/none.html").status, 404, "{text}");
        let old = old_style(address, "/page.txt");
        assert!(old.starts_with(b"HTTP/1.") && old.ends_with(&page), "{text}: HTTP/1.0");
        let mut client = Client::new(address);
        assert_eq!(client.get("/").status, 200, "{text}");
        if program.kind.keeps_connections() {
            assert_eq!(client.get("/").status, 200, "{text}: the connection stays open");
        } else {
            assert!(client.reply(true).is_none(), "{text}: the connection is closed");
        }
        drop(client);
        until("there are as many processes as asked", || running.pids().len() == processes);
        until("there are as many threads as asked", || threads(&running) == its_threads);
        assert_eq!(running.pids()[0], running.pid());

        assert!(!running.has_ended());
        let (pids, folder) = (running.pids(), own_folders(program.kind.name(), std::process::id()));
        assert!(!folder.is_empty(), "{text}");
        // Of Squid: its own name in shared memory; those of other tests are there at the same time.
        let words = fs::read_to_string(format!("/proc/{}/cmdline", running.pid())).expect("it runs");
        let own = format!("sojourn{}x", std::process::id());
        let shared = words.split('\0').find(|word| word.starts_with(&own)).map(|name| format!("{name}-"));
        assert_eq!(shared.is_some(), program.kind.name() == "squid", "{text}: {words}");
        running.stop();
        assert!(refused(address), "{text}");
        assert!(pids.iter().all(|pid| kill(Pid::from_raw(*pid as i32), None).is_err()), "{text}: all have gone");
        if let Some(shared) = shared {
            assert_eq!(named("/dev/shm", &shared), Vec::<String>::new(), "{text}");
        }
    }
}

#[test]
fn without_keep_alive_every_kind_closes_the_connection() {
    let site = site();
    let Some(origin) = start(&parse("nginx", &site)) else { return };
    for (text, ..) in ALL {
        let mut program = parse(&text.replace("127.0.0.1:1)", &format!("{})", origin.address())), &site);
        program.keep_alive = sojourn_stats::Span::ZERO;
        let Some(running) = start(&program) else { continue };
        let mut client = Client::new(running.address());
        assert_eq!(client.get("/").status, 200, "{text}");
        assert!(client.reply(true).is_none(), "{text}: the connection is closed");
    }
}

#[test]
fn nginx_counts_further_requests_as_apache_does_and_logs_them_if_asked() {
    let site = site();
    let Some(running) = start(&parse("nginx(keep_alive_requests = 2, access_log = true)", &site)) else { return };
    let mut client = Client::new(running.address());
    assert_eq!([(); 3].map(|()| client.get("/").header("connection") == Some("close")), [false, false, true]);
    until("each request is logged", || running.access_log().matches("GET / HTTP/1.1").count() == 3);
}

#[test]
fn nginx_compresses_a_page_anew_for_those_who_accept_it() {
    let site = site();
    let Some(running) = start(&parse("nginx(gzip = 9)", &site)) else { return };
    let mut client = Client::new(running.address());
    let plain = client.get("/page.txt");
    assert_eq!((plain.header("content-encoding"), plain.body.len()), (None, 100_000));
    for through in ["", "via: 1.1 gateway\r\n"] {
        let packed = client.ask("GET", "/page.txt", &format!("accept-encoding: gzip\r\n{through}"));
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{through}");
        assert!(packed.whole && packed.body.starts_with(&[0x1f, 0x8b]), "gzip's first bytes");
        assert!((10_000..50_000).contains(&packed.body.len()), "it compresses like text: {}", packed.body.len());
    }
}

#[test]
fn php_works_for_as_long_and_replies_with_as_much_as_asked() {
    let site = site();
    let Some(running) = start(&parse("apache-php(workers = 1)", &site)) else { return };
    let mut client = Client::new(running.address());
    assert_eq!(client.get("/work.php").text(), "1\n");
    // 1103515245 + 12345: one round of it.
    assert_eq!(client.get("/work.php?iter=1").text(), "1103527590\n");
    assert_eq!(client.get("/work.php?iter=2&bytes=5000").body.len(), 5000);
    let worker = running.pids()[1];
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{worker}/stat")).expect("it serves");
        let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
        fields[11].parse::<u64>().expect("its time in user mode")
    };
    let before = ticks();
    while ticks() - before < 5 {
        assert_eq!(client.get("/work.php?iter=200000").status, 200);
    }
}

#[test]
fn squid_keeps_what_it_has_seen_except_below_miss() {
    let site = site();
    fs::create_dir(site.path().join("miss")).expect("a folder");
    fs::write(site.path().join("miss/index.html"), "<p>").expect("a file");
    let Some(origin) = start(&parse("nginx(access_log = true)", &site)) else { return };
    let Some(squid) = start(&parse(&format!("squid(origin = {})", origin.address()), &site)) else { return };
    let cache = |path: &str| {
        let reply = get(squid.address(), path);
        assert_eq!((reply.status, reply.text().as_str()), (200, "<p>"));
        reply.header("x-cache").expect("Squid says").split(' ').next().expect("a word").to_owned()
    };
    assert_eq!([(); 3].map(|()| cache("/index.html")), ["MISS", "HIT", "HIT"]);
    assert_eq!([(); 3].map(|()| cache("/miss/index.html")), ["MISS", "MISS", "MISS"]);
    until("the web server saw the misses", || origin.access_log().matches("\"GET").count() == 4);
}

/// Asked for whole URLs it fetches from any server; asked as if it were one, it has nothing.
#[test]
fn squid_as_a_forward_proxy_is_asked_for_whole_urls() {
    let site = site();
    let Some(origin) = start(&parse("nginx(access_log = true)", &site)) else { return };
    let Some(squid) = start(&parse("squid(forward = true)", &site)) else { return };
    let url = format!("http://{}/index.html", origin.address());
    for wanted in ["MISS", "HIT", "HIT"] {
        let reply = get(squid.address(), &url);
        assert_eq!((reply.status, reply.text().as_str()), (200, "<p>"));
        assert_eq!(reply.header("x-cache").expect("Squid says").split(' ').next(), Some(wanted));
    }
    assert_eq!(origin.access_log().matches("\"GET").count(), 1);
    assert_eq!(get(squid.address(), "/index.html").status, 400);
}

#[test]
fn a_program_in_the_background_runs_where_nothing_else_does() {
    let site = site();
    // SCHED_IDLE and SCHED_OTHER (sched(7)).
    for (text, policy) in [("nginx(background = true)", "5"), ("nginx", "0")] {
        let Some(running) = start(&parse(text, &site)) else { continue };
        for pid in running.pids() {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
            let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
            assert_eq!(fields[38], policy, "{text}");
        }
    }
}

#[test]
fn a_program_runs_on_the_cores_it_is_given() {
    let site = site();
    for text in ["nginx(workers = 2, cores = 0)", "apache-event(processes = 1, threads = 3, cores = 0)"] {
        let Some(running) = start(&parse(text, &site)) else { continue };
        for pid in running.pids() {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
            let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim);
            assert_eq!(allowed, Some("0"), "{text}");
        }
    }
}

#[test]
#[ignore = "serves as a child of the tests below"]
fn as_parent() {
    let (text, root) = (std::env::var("PROGRAM").expect("a program"), std::env::var("ROOT").expect("a root"));
    let running = Program::parse(&text, root).expect("a program").start().expect("it starts");
    let (port, pid) = (running.address().port(), running.pid());
    let line = format!("{{\"event\":\"ready\",\"port\":{port},\"pid\":{pid}}}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("it is read");
    if std::env::var("PANICS").is_ok() {
        panic!("as it was told to");
    }
    let _ = std::io::stdin().read(&mut [0; 1]);
    unreachable!("it is killed before its input ends");
}

#[test]
fn no_kind_survives_a_parent_that_panics_or_is_killed() {
    let site = site();
    for (text, ..) in ALL {
        let program = parse(text, &site);
        if start(&program).is_none() {
            continue;
        }
        for panics in [true, false] {
            let mut parent = command("program::as_parent");
            parent.env("ROOT", site.path()).env("PROGRAM", text);
            if panics {
                parent.env("PANICS", "1");
            }
            let parent = Child::start(parent, Duration::from_secs(20)).expect("a parent");
            let (port, id) = (parent.port(), parent.pid());
            if !panics {
                assert!(TcpStream::connect(("127.0.0.1", port)).is_ok(), "{text} runs");
                kill(Pid::from_raw(id as i32), Signal::SIGKILL).expect("it is there");
            }
            until("the parent has ended", || parent.ended().is_some());
            until("the program has gone", || refused(([127, 0, 0, 1], port).into()));
            until("its folder has gone", || own_folders(program.kind.name(), id).is_empty());
        }
    }
}

#[test]
fn no_kind_survives_its_guard() {
    let site = site();
    for (text, ..) in ALL {
        let Some(running) = start(&parse(text, &site)) else { continue };
        let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).expect("it runs");
        let guard = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has a parent").trim();
        kill(Pid::from_raw(guard.parse().expect("a number")), Signal::SIGKILL).expect("the guard is ours");
        until("the guard's end is seen", || running.has_ended());
        until("the program has gone", || refused(running.address()));
    }
}

#[test]
fn a_program_that_ends_says_why() {
    let site = site();
    let Some(running) = start(&parse("nginx", &site)) else { return };
    kill(Pid::from_raw(running.pid() as i32), Signal::SIGTERM).expect("it runs");
    until("its end is seen", || running.has_ended());
    assert!(refused(running.address()));
}

#[test]
fn what_is_wrong_is_one_line() {
    let site = site();
    let cases = [
        ("lighttpd", "unknown program `lighttpd`; known: `nginx`, `apache-prefork`"),
        ("ngins", "unknown program `ngins` (did you mean `nginx`?); known: `nginx`"),
        ("nginx(worker = 2)", "worker: no such setting (did you mean `workers`?); there are workers"),
        ("nginx(workers = 2", "it ends with `)`"),
        ("nginx(2)", "write `key = value`"),
        ("nginx(workers = two)", "workers = two: it is a whole number"),
        ("nginx(workers = 0)", "nginx: 0 workers; it is from 1 to 1024"),
        ("nginx(gzip = 10)", "it is from 0 to 9"),
        ("nginx(threads = 2)", "threads: no such setting; there are workers, gzip, keep_alive"),
        ("nginx(workers = 1, workers = 2)", "workers = 2: it is given twice"),
        ("nginx(keep_alive = 15)", "keep_alive = 15: "),
        ("nginx(cores = 0, x)", "numbers of cores"),
        ("nginx(cores = 4096)", "core 4096: this machine has 0"),
        ("fork(keep_alive = 1 s)", "fork: it closes every connection after its reply"),
        ("inetd(access_log = true)", "inetd: it keeps no log"),
        ("squid", "origin: it needs the web server's address"),
        ("squid(origin = here)", "an address and port"),
        ("squid(forward = yes)", "forward = yes: it is true or false"),
        ("squid(forward = true, origin = 127.0.0.1:1)", "or forward = true"),
        ("nginx(background = 1)", "background = 1: it is true or false"),
        ("apache-prefork(workers = 0)", "apache-prefork: at most 0 workers; it is from 1 to 20000"),
        ("apache-prefork(workers = 150, start = 151)", "151 workers at the start"),
        ("apache-prefork(spare_min = 5, spare_max = 5)", "5 to 5 idle workers"),
    ];
    for (text, part) in cases {
        let words = Program::parse(text, site.path()).expect_err("it is wrong").to_string();
        assert!(words.contains(part) && !words.contains('\n'), "{text}: {words}");
    }

    let good = parse("fork", &site);
    let Some(running) = start(&good) else { return };
    running.stop();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let odd = site.path().join("a\"b");
    fs::create_dir(&odd).expect("a folder");
    let said = |program: &Program| {
        let words = program.start().map(drop).expect_err("it is wrong").to_string();
        assert!(!words.contains('\n'), "{words}");
        words
    };
    let cases = [
        (Program { root: "/no/such/folder".into(), ..good.clone() }, "files below /no/such/folder: "),
        (Program { root: site.path().join("index.html"), ..good.clone() }, "not a directory"),
        (Program { listen: taken.local_addr().expect("an address"), ..good.clone() }, "is already in use"),
        (Program { root: odd, ..good.clone() }, "use another folder"),
    ];
    for (program, part) in cases {
        assert!(said(&program).contains(part), "{part}: {}", said(&program));
    }
    // Root's servers are not root; others serve as themselves, who may read what they made.
    fs::set_permissions(site.path(), Permissions::from_mode(0o700)).expect("it is ours");
    if fs::metadata(site.path()).is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0) {
        assert!(said(&good).contains("who may not read"), "{}", said(&good));
    }
}

#[test]
fn defaults_are_what_the_page_of_settings_says() {
    let program =
        Program::parse("apache-prefork(workers=4, cores = 0, 1, keep_alive = 0 s)", "/srv").expect("a program");
    assert!(matches!(program.kind, Kind::ApachePrefork(workers) if workers.most == 4 && workers.start == 4));
    assert_eq!((program.cores, program.access_log, program.keep_alive.0), (vec![0, 1], false, 0));
}

/// The folders that programs of a kind have whose parent is this process.
fn own_folders(kind: &str, process: u32) -> Vec<String> {
    named(std::env::temp_dir(), &format!("sojourn-{kind}-{process}-"))
}

fn named(folder: impl AsRef<Path>, start: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it can be read").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(start))
        .collect()
}
