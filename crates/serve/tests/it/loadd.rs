//! The load daemon beside servers: emulated ones that say their load, and Debian's, which know nothing of it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::UdpSocket;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sojourn_dispatch::{BackendId, Report};
use sojourn_model::Discipline;
use sojourn_serve::loadd::{AccessLog, Counts, Loadd, LoaddConfig, Sampler, Sources, Times, sample};
use sojourn_serve::program::Program;
use sojourn_serve::report::{Key, Metric, Receiver, Told};
use sojourn_serve::{Events, now};
use sojourn_stats::Span;

use crate::program::{site, start};
use crate::support::{Client, get, ms, node, until};

fn key() -> Key {
    Key::new(b"a secret of tests")
}

fn counts(requests: u64, bytes: u64, errors: u64, bad: u64) -> Option<Counts> {
    Some(Counts { requests, bytes, errors, bad })
}

fn append(path: &Path, text: impl AsRef<[u8]>) {
    let mut log = OpenOptions::new().create(true).append(true).open(path).expect("a log");
    log.write_all(text.as_ref()).expect("it is written");
}

const LINE: &str = "10.0.0.1 - - [23/Nov/2026:01:31:21 +0000] \"GET / HTTP/1.1\" 200 100 \"-\" \"curl/8\"\n";

#[test]
fn a_log_is_followed_over_rotation_and_truncation() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, old) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    append(&path, LINE.repeat(5));
    let mut log = AccessLog::open(&path).expect("it can be read");
    assert_eq!(log.look(), counts(0, 0, 0, 0), "what was there before is not its business");
    append(&path, LINE.repeat(3));
    assert_eq!(log.look(), counts(3, 300, 0, 0));
    // A line is written in two parts, then errors, and what is no line.
    append(&path, &LINE[..40]);
    assert_eq!(log.look(), counts(3, 300, 0, 0));
    append(&path, &LINE[40..]);
    append(&path, LINE.replace(" 200 ", " 503 ") + &LINE.replace(" 200 ", " 429 ") + "no line\n\n");
    assert_eq!(log.look(), counts(6, 600, 2, 2));
    // Moved away: the old one is read to its end, before and after the new one is there.
    append(&path, LINE);
    fs::rename(&path, &old).expect("it is moved");
    assert_eq!(log.look(), counts(7, 700, 2, 2));
    append(&old, LINE);
    append(&path, LINE.repeat(2));
    assert_eq!(log.look(), counts(8, 800, 2, 2));
    assert_eq!(log.look(), counts(10, 1000, 2, 2));
    append(&path, LINE);
    assert_eq!(log.look(), counts(11, 1100, 2, 2));
    // Cut to nothing in the middle of a line.
    append(&path, &LINE[..40]);
    assert_eq!(log.look(), counts(11, 1100, 2, 2));
    OpenOptions::new().write(true).truncate(true).open(&path).expect("it is cut");
    append(&path, LINE);
    assert_eq!(log.look(), counts(12, 1200, 2, 2));
    // A line without end takes no memory without end, and the next one counts again.
    for _ in 0..100 {
        append(&path, "x".repeat(10_000));
        log.look();
    }
    append(&path, format!("\n{LINE}"));
    assert_eq!(log.look(), counts(13, 1300, 2, 3));
    assert_eq!(log.take_clients(), [("10.0.0.1".to_string(), 13)]);
    assert_eq!(log.take_clients(), []);
    // Gone altogether: what is known stays.
    fs::remove_file(&path).expect("it is removed");
    assert_eq!(log.look(), counts(13, 1300, 2, 3));
    assert!(AccessLog::open(&path).unwrap_err().to_string().contains("cannot read the access log"));
    assert!(AccessLog::open(folder.path()).unwrap_err().to_string().contains("is a folder"));
}

/// nginx writes the Combined format, Apache the Common one. While nginx's log is moved away and opened anew, requests go on.
#[test]
fn servers_that_know_nothing_of_it_are_understood() {
    let site = site();
    for text in ["nginx(workers = 2, access_log = true)", "apache-event(access_log = true)"] {
        let program = Program::parse(text, site.path()).expect("a program");
        let Some(server) = start(&program) else { continue };
        let kind = program.kind.name();
        let log = server.access_log_path();
        let before = get(server.address(), "/");
        assert_eq!(before.status, 200);
        until("the log is there", || fs::metadata(&log).is_ok_and(|log| log.len() > 0));
        let workers = if kind == "nginx" { "nginx" } else { "apache2" };
        let sources = Sources {
            log: Some(log.clone()),
            workers: Some(workers.into()),
            port: Some(server.address().port()),
            ask: None,
        };
        let mut sampler = Sampler::new(&sources, now()).expect("the log can be read");
        sampler.look(None, now()).expect("the server is there");
        let mut clients: Vec<Client> = (0..3).map(|_| Client::new(server.address())).collect();
        clients.iter_mut().for_each(|client| assert_eq!(client.get("/page.txt").status, 200));
        if kind == "nginx" {
            fs::rename(&log, log.with_extension("1")).expect("it is moved");
            assert_eq!(clients[0].get("/page.txt").status, 200);
            kill(Pid::from_raw(server.pid() as i32), Signal::SIGUSR1).expect("nginx runs");
            until("it has opened the log anew", || log.exists());
            // Its workers open it one after the other.
            until("all workers write the new log", || {
                assert_eq!(get(server.address(), "/").status, 200);
                fs::read(&log).is_ok_and(|text| text.iter().filter(|byte| **byte == b'\n').count() > 3)
            });
        }
        let mut metrics = None;
        let least = if kind == "nginx" { 7.0 } else { 3.0 };
        until("the log has told of the requests", || {
            metrics = sampler.look(None, now());
            metrics.as_ref().and_then(|metrics| metrics.value(Metric::Completed)).is_some_and(|count| count >= least)
        });
        let metrics = metrics.expect("the server is there");
        let value = |metric| metrics.value(metric).unwrap_or_else(|| panic!("{kind}: {metric:?} is not known"));
        assert!(value(Metric::Bytes) >= 300_000.0, "{kind}: {metrics:?}");
        assert!(value(Metric::Connections) >= 3.0, "{kind}: those of the clients are open");
        assert!(value(Metric::Workers) >= 2.0, "{kind}");
        let shares = [Metric::CpuUser, Metric::CpuSystem, Metric::Memory, Metric::Swap];
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(&value(*share))), "{kind}: {metrics:?}");
        assert!(value(Metric::Processes) > value(Metric::Workers) && value(Metric::LoadAverage) >= 0.0);
        assert!(value(Metric::Cores) >= 1.0 && value(Metric::CoreTime) > 0.0);
        let clients = sampler.take_clients();
        assert_eq!(clients, [("127.0.0.1".to_string(), value(Metric::Completed) as u64)], "{kind}");
        server.stop();
        assert_eq!(sampler.look(None, now()), None, "{kind}: no program listens");
    }
}

/// A receiver on a socket of its own, for daemons called `a`.
struct Front {
    socket: UdpSocket,
    receiver: Receiver,
}

impl Front {
    fn new() -> Front {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.set_read_timeout(Some(ms(20).as_std())).expect("a timeout");
        Front { socket, receiver: Receiver::new(key(), &["a".into()], now()) }
    }

    /// Takes what has come, and gives the reports.
    fn take(&mut self) -> Vec<Report> {
        let mut buffer = [0; 2000];
        let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { return Vec::new() };
        let received = self.receiver.receive(&buffer[..length], now());
        if let Some(answer) = received.answer {
            self.socket.send_to(&answer, from).expect("it is sent");
        }
        let reports = received.told.into_iter().filter_map(|told| match told {
            Told::Report { backend: BackendId(0), report, .. } => Some(*report),
            _ => None,
        });
        reports.collect()
    }
}

fn daemon(front: &Front, address: std::net::SocketAddr, times: Times) -> Loadd {
    let ask = format!("http://{address}/load").parse().expect("a URL");
    let config = LoaddConfig {
        name: "a".into(),
        receivers: vec![front.socket.local_addr().expect("an address")],
        key: key(),
        sources: Sources { ask: Some(ask), ..Sources::default() },
        times,
        orca: None,
    };
    Loadd::start(config, Events::nowhere()).expect("it starts")
}

/// Ticks an hour apart: what comes is the first report, which is said again to the challenge, and then the overload, at once.
#[test]
fn an_overload_is_told_at_once() {
    let node = node("a", Discipline::Ps);
    let mut front = Front::new();
    let hour = Span(3600 * 1_000_000_000);
    let loadd =
        daemon(&front, node.address(), Times { every: hour, heartbeat: hour, client_rates: hour, watch: ms(5) });
    let mut reports = Vec::new();
    until("the first report comes", || {
        reports.extend(front.take());
        !reports.is_empty()
    });
    assert_eq!(reports[0].in_flight, 0);
    assert_eq!(front.receiver.dropped().challenged, 1);
    let mut clients: Vec<Client> = (0..9).map(|_| Client::new(node.address())).collect();
    clients.iter_mut().for_each(|client| client.send("GET /work?demand=1h HTTP/1.1\r\nhost: t\r\n\r\n"));
    until("the overload is told", || front.take().iter().any(|report| report.in_flight == 9));
    drop(clients);
    until("its end is told", || front.take().iter().any(|report| report.in_flight <= 2));
    let counts = loadd.stop();
    assert_eq!((counts.looks, counts.alarms, counts.challenges), (1, 2, 1), "{counts:?}");
    assert_eq!(counts.reports, 3, "{counts:?}");
}

/// What an emulated server did is what its reports say, whichever of them came.
#[test]
fn the_capacity_of_a_server_is_learned_from_its_reports() {
    let node = node("a", Discipline::Ps);
    let mut front = Front::new();
    let times = Times { every: ms(20), heartbeat: ms(20), client_rates: ms(64_000), watch: ms(100) };
    let loadd = daemon(&front, node.address(), times);
    let mut last = Report::default();
    let mut client = Client::new(node.address());
    until("some requests are reported", || {
        assert_eq!(client.get("/work?demand=2ms").status, 200);
        if let Some(report) = front.take().pop() {
            last = report;
        }
        last.capacity > 0.0 && node.counts().served > 200
    });
    // Each takes 2 ms of the one core: 500 per second would keep it busy all the time. Of those 200 one or two were begun
    // and not ended, which is a hundredth.
    assert!((last.capacity - 500.0).abs() < 10.0, "{last:?}");
    assert!(last.latency.is_some_and(|latency| latency >= ms(2)), "{last:?}");
    // A server that has gone is not told of any more.
    drop(client);
    node.stop();
    until("its absence is noticed", || loadd.counts().absent > 0);
    while !front.take().is_empty() {}
    let reports = loadd.counts().reports;
    until("it has looked again", || loadd.counts().absent > 3);
    assert_eq!(loadd.stop().reports, reports);
}

#[test]
fn a_sample_says_what_is_known_and_no_more() {
    let node = node("a", Discipline::Ps);
    let ask = format!("http://{}/load", node.address()).parse().expect("a URL");
    let sources = Sources { ask: Some(ask), ..Sources::default() };
    let metrics = sample(&sources, ms(20)).expect("it works").expect("the node answers");
    assert_eq!(metrics.value(Metric::Completed), Some(0.0));
    assert_eq!((metrics.value(Metric::Bytes), metrics.value(Metric::Workers)), (None, None));
    assert!(metrics.value(Metric::CpuUser).is_some());
    node.stop();
    assert_eq!(sample(&sources, ms(20)).expect("it works"), None);
}
