//! Emulated and spun work: what a request waits and stays, to the nanosecond of the virtual processor.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;

use socket2::{Domain, Socket, Type};
use sojourn_model::Discipline;
use sojourn_part::now;
use sojourn_part::settings::node::{LogSettings, NodeSettings};
use sojourn_report::orca;
use sojourn_stats::Span;
use sojourn_traffic::log;
use sojourn_web::Node;

use crate::support::{Client, get, ms, node, server, until};

#[test]
fn a_job_alone_takes_its_demand() {
    let node = node("n", Discipline::Fcfs);
    let mut client = Client::new(node.address());
    let sent = now();
    let reply = client.ask("GET", "/work?bytes=10", "x-sojourn-demand: 3000001\r\n");
    assert!(now() - sent >= Span(3_000_001), "answered before it was finished");
    assert_eq!((reply.status, reply.body.len(), reply.service()), (200, 10, (0, 3_000_001)));
    assert_eq!(reply.backend(), "n");
    // Said in the address, and not at all: the model's own law (1 ms).
    assert_eq!(client.get("/work?demand=2ms").service(), (0, 2_000_000));
    assert_eq!(client.get("/work?demand=2%20ms").service(), (0, 2_000_000));
    assert_eq!(client.get("/work").service(), (0, 1_000_000));
    assert_eq!(client.ask("POST", "/work", "content-length: 0\r\n").status, 200);
}

/// Of 400 requests about a half fails: 200, standard deviation 10; 5 of them are passed once in 1.7 million runs.
#[test]
fn a_node_that_ails_is_slow_or_fails_and_recovers() {
    let node = node("n", Discipline::Fcfs);
    let mut client = Client::new(node.address());
    let ailment = node.ailment();
    ailment.work_at(0.5);
    ailment.work_at(f64::NAN);
    ailment.work_at(0.0);
    assert_eq!(client.get("/work?demand=2ms").service(), (0, 4_000_000));
    ailment.work_at(1.0);
    assert_eq!(client.get("/work?demand=2ms").service(), (0, 2_000_000));
    ailment.fail(0.5);
    let failed = (0..400).filter(|_| client.get("/work?demand=1us").status == 503).count();
    assert!(failed.abs_diff(200) < 50, "{failed}");
    ailment.fail(0.0);
    assert!((0..20).all(|_| client.get("/work?demand=1us").status == 200));
}

#[test]
fn a_node_writes_what_it_is_asked_as_logs_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let node = || {
        let model = Some(server(Discipline::Fcfs, "1 ms", None).to_toml());
        Node::start(NodeSettings { model, log: LogSettings::new(&path).into(), ..NodeSettings::new("n") })
            .expect("a node starts")
    };
    let served = node();
    let mut client = Client::new(served.address());
    assert_eq!(client.get("/work?bytes=10&demand=2ms").status, 200);
    // What daemons and balancers ask is no request of a client.
    assert_eq!((client.get("/load").status, client.get("/health").status), (200, 200));
    assert_eq!(client.get("/no\"where").status, 404);
    drop((client, served));
    // Another one goes on with it.
    let served = node();
    assert_eq!(get(served.address(), "/bytes/7").status, 200);
    drop(served);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<_> =
        text.lines().map(|line| log::parse(line.as_bytes()).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    let told = |line: &log::Line<'_>| (line.status, line.bytes, String::from_utf8_lossy(line.path).into_owned());
    let of = |status, bytes, path: &str| (status, bytes, path.to_owned());
    let missing = "there is no such file here\n".len() as u64;
    let expected = [of(200, 10, "/work?bytes=10&demand=2ms"), of(404, missing, "/no%22where"), of(200, 7, "/bytes/7")];
    assert_eq!(lines.iter().map(told).collect::<Vec<_>>(), expected);
    let now_s = std::fs::metadata(&path).unwrap().mtime();
    assert!(lines.iter().all(|line| line.host == b"127.0.0.1" && (now_s - line.time_s).abs() < 60), "{text}");
    let nowhere = NodeSettings { log: LogSettings::new(folder.path().join("no/log")).into(), ..NodeSettings::new("n") };
    let refusal = Node::start(nowhere).err().expect("there is no such folder").to_string();
    assert!(refusal.starts_with("cannot write the access log ") && !refusal.contains('\n'), "{refusal}");
}

#[test]
fn fcfs_serves_in_order() {
    let node = node("n", Discipline::Fcfs);
    let (mut first, mut second) = (Client::new(node.address()), Client::new(node.address()));
    first.send("GET /work?demand=300ms HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the first is inside", || node.counts().in_flight == 1);
    second.send("GET /work?demand=5ms HTTP/1.1\r\nhost: t\r\n\r\n");
    let (first, second) = (first.reply(true).expect("a reply"), second.reply(true).expect("a reply"));
    assert_eq!(first.service(), (0, 300_000_000));
    let (waited, stayed) = second.service();
    assert!(waited > 0 && waited < 300_000_000, "the second waited {waited} ns behind 300 ms of work");
    assert_eq!(stayed, waited + 5_000_000);
}

#[test]
fn two_jobs_share_a_processor() {
    let node = node("n", Discipline::Ps);
    let (mut first, mut second) = (Client::new(node.address()), Client::new(node.address()));
    first.send("GET /work?demand=300ms HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the first is inside", || node.counts().in_flight == 1);
    second.send("GET /work?demand=300ms HTTP/1.1\r\nhost: t\r\n\r\n");
    let (first, second) = (first.reply(true).expect("a reply"), second.reply(true).expect("a reply"));
    let ((w1, first), (w2, second)) = (first.service(), second.service());
    assert_eq!((w1, w2), (0, 0), "no request waits under processor sharing");
    // With a gap g between them, each stays 2 * 300 ms - g.
    assert!(first.abs_diff(second) <= 2, "they stayed {first} and {second} ns");
    assert!(first > 300_000_000 && first < 600_000_000);
}

#[test]
fn lateness_does_not_add_up_to_utilisation() {
    let node = node("n", Discipline::Fcfs);
    let address = node.address();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::new(address);
                for _ in 0..100 {
                    let (waited, stayed) = client.get("/work?demand=300us").service();
                    assert_eq!(stayed - waited, 300_000);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("no client fails");
    }
    let counts = node.stop();
    assert_eq!((counts.requests, counts.served, counts.in_flight), (400, 400, 0));
    assert!((counts.demand_s - 0.12).abs() < 1e-9);
    assert!((counts.busy_s - counts.demand_s).abs() < 1e-9, "worked {} s for {} s", counts.busy_s, counts.demand_s);
}

#[test]
fn a_client_that_leaves_takes_its_job_along() {
    let node = node("n", Discipline::Fcfs);
    let mut client = Client::new(node.address());
    client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the job is inside", || node.counts().in_flight == 1);
    drop(client);
    until("it is out again", || node.counts().in_flight == 0);
    assert_eq!(node.counts().cancelled, 1);
    assert_eq!(get(node.address(), "/work?demand=1ms").service(), (0, 1_000_000));
}

#[test]
fn a_full_server_denies() {
    let model = Some(server(Discipline::Fcfs, "1 ms", Some(1)).to_toml());
    let node =
        Node::start(NodeSettings { model, grace: Some(Span::ZERO), ..NodeSettings::new("n") }).expect("a node starts");
    let mut client = Client::new(node.address());
    client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the job is inside", || node.counts().in_flight == 1);
    assert_eq!(get(node.address(), "/work").status, 503);
    let counts = node.stop();
    assert_eq!((counts.denied, counts.in_flight), (1, 0));
}

#[test]
fn several_threads_share_one_processor() {
    let model = Some(server(Discipline::Fcfs, "1 ms", None).to_toml());
    let node = Node::start(NodeSettings { model, threads: 3, ..NodeSettings::new("n") }).expect("a node starts");
    let address = node.address();
    let ask = move || get(address, "/work?demand=2ms").service();
    let clients: Vec<_> = (0..12).map(|_| std::thread::spawn(ask)).collect();
    for client in clients {
        let (waited, stayed) = client.join().expect("no client fails");
        assert_eq!(stayed - waited, 2_000_000);
    }
    assert_eq!(node.stop().served, 12);
}

#[test]
fn spun_work_burns_processor_time() {
    let node = Node::start(NodeSettings::new("n")).expect("a node starts");
    let mut client = Client::new(node.address());
    assert_eq!(client.get("/work?iter=100000&bytes=3").body.len(), 3);
    let sent = now();
    assert_eq!(client.get("/work?demand=5ms").status, 200);
    assert!(now() - sent >= ms(5));
    assert_eq!(client.get("/work").status, 400);
    // A spin whose client leaves ends early; otherwise stopping would take a year.
    client.send("GET /work?iter=10000000000000000 HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it spins", || node.counts().in_flight == 1);
    drop(client);
    until("it has ended", || node.counts().in_flight == 0);
    assert_eq!(get(node.address(), "/work?iter=1").status, 200);
}

#[test]
fn a_node_reports_its_load() {
    let node = node("n", Discipline::Fcfs);
    let load = || {
        let reply = get(node.address(), "/load");
        let header = orca::Load::parse(reply.header(orca::HEADER).expect("the header")).expect("a report");
        assert_eq!(orca::Load::parse(&reply.text()), Some(header.clone()));
        header
    };
    assert_eq!(load().in_flight(), Some(0));
    let mut client = Client::new(node.address());
    client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n");
    until("the job is reported", || load().in_flight() == Some(1));
    until("its work is reported", || load().cpu_utilization.expect("a utilisation") > 0.0);
    assert_eq!(get(node.address(), "/health").status, 200);
}

#[test]
fn bad_input_is_answered_with_what_would_be_right() {
    let node = node("n", Discipline::Fcfs);
    let mut client = Client::new(node.address());
    for path in ["/work?demand=5", "/work?demand=-5ms", "/work?bytes=many", "/work?iter=x", "/bytes/x"] {
        let reply = client.get(path);
        assert_eq!(reply.status, 400, "{path}: {}", reply.text());
        assert!(reply.text().trim().len() > 10, "{path}: {}", reply.text());
    }
    assert_eq!(client.ask("GET", "/work", "x-sojourn-demand: 10ms\r\n").status, 400);
    assert_eq!(client.ask("POST", "/bytes/1", "content-length: 0\r\n").status, 405);
    let taken = NodeSettings { listen: vec![node.address()], ..NodeSettings::new("m") };
    for threads in [1, 2] {
        let error =
            Node::start(NodeSettings { threads, ..taken.clone() }).err().expect("the port is taken").to_string();
        assert!(error.contains("already in use"), "{error}");
    }
    let error = Node::start(NodeSettings::new("two words")).err().expect("no such name").to_string();
    assert!(error.contains("two words"), "{error}");
}

/// Processor 2 ms, disk 10 ms for 50 kB, network 5 ms; memory for two such files.
const MACHINE: &str = r#"
demand = "2 ms"
memory = { size = "100 kB", cache = "lru" }
limits = { connections = 3 }
[resources]
cpu = { discipline = "fcfs" }
disk = { discipline = "fcfs", rate = "5 MB/s" }
net = { discipline = "ps", rate = "10 MB/s" }
"#;

fn machine() -> Node {
    let model = Some(MACHINE.into());
    Node::start(NodeSettings { model, ..NodeSettings::new("n") }).expect("a node starts")
}

#[test]
fn a_server_of_several_resources_is_visited_one_after_another() {
    let node = machine();
    let mut client = Client::new(node.address());
    let mut stayed = |what: &str| {
        let reply = client.get(&format!("/work{what}"));
        assert_eq!(reply.status, 200);
        let (waited, stayed) = reply.service();
        assert_eq!(waited, 0, "a request alone waits for nothing");
        stayed
    };
    assert_eq!(stayed("/1?bytes=50000"), 17_000_000);
    // In memory it needs no disk; without a number it is another file each time.
    assert_eq!(stayed("/1?bytes=50000"), 7_000_000);
    assert_eq!([stayed("?bytes=50000"), stayed("?bytes=50000")], [17_000_000; 2]);
    // Memory has room for two; the one that was not used for longest has to go.
    assert_eq!(stayed("/2?bytes=50000"), 17_000_000);
    assert_eq!(stayed("/1?bytes=50000"), 7_000_000);
    assert_eq!(stayed("/3?bytes=50000"), 17_000_000);
    assert_eq!([stayed("/1?bytes=50000"), stayed("/2?bytes=50000")], [7_000_000, 17_000_000]);
    // What is larger than memory is not kept, and takes no place.
    assert_eq!([stayed("/4?bytes=150000"), stayed("/4?bytes=150000")], [47_000_000; 2]);
    assert_eq!(stayed("/2?bytes=50000"), 7_000_000);
}

/// As the model has it: from when the node takes a request until its reply has arrived, however fast it was made.
#[test]
fn a_connection_is_counted_until_its_client_has_taken_the_reply() {
    let node = machine();
    let mut slow: Vec<TcpStream> = (0..3)
        .map(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_recv_buffer_size(8 << 10).expect("it is small");
            socket.connect(&node.address().into()).expect("it connects");
            let mut stream = TcpStream::from(socket);
            write!(stream, "GET /work/1?bytes=300000 HTTP/1.1\r\nhost: t\r\n\r\n").expect("it is sent");
            stream
        })
        .collect();
    let mut first = [0; 12];
    for stream in &mut slow {
        stream.read_exact(&mut first).expect("the beginning of a reply");
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    let mut further = Client::new(node.address());
    assert_eq!((node.counts().in_flight, further.get("/work/1?bytes=10").status), (3, 503));
    let mut rest = vec![0; 300_000];
    slow[0].read_exact(&mut rest).expect("the rest of it");
    until("it has a place again", || further.get("/work/1?bytes=10").status == 200);
}

#[test]
fn requests_wait_at_each_resource_and_are_refused_beyond_its_connections() {
    let node = machine();
    // 500 ms on the disk and 250 ms in the network each: one at least waits for another one, and a fourth is refused meanwhile.
    let ask = |address| std::thread::spawn(move || get(address, "/work?bytes=2500000").service());
    let first: Vec<_> = (0..3).map(|_| ask(node.address())).collect();
    until("three requests are there", || node.counts().in_flight == 3);
    assert_eq!(get(node.address(), "/work?bytes=1").status, 503);
    let longest = first.into_iter().map(|one| one.join().unwrap().0).max().unwrap();
    // All three were there at once, so the last one came before the first left: it waits 240 ms at least, and 1 s at most.
    assert!((240_000_000..1_010_000_000).contains(&longest), "{longest}");
    assert_eq!(get(node.address(), "/work?bytes=1").status, 200);
}

#[test]
fn a_node_alone_owns_no_files() {
    let files = MACHINE.replace("limits", "files = { placed = \"one-owner\", number = 6 }\nlimits");
    let model = Some(files);
    let refusal =
        Node::start(NodeSettings { model, ..NodeSettings::new("n") }).err().expect("it has no peers").to_string();
    assert!(refusal.contains("leave `files` out"), "{refusal}");
}
