//! The load daemon beside servers: emulated ones that say their load, and Debian's, which know nothing of it.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, mkfifo};
use sojourn_bed::Events;
use sojourn_dispatch::{BackendId, Report};
use sojourn_model::Discipline;
use sojourn_part::now;
use sojourn_part::program::Program;
use sojourn_part::settings::loadd::LoaddSettings;
use sojourn_report::loadd::{AccessLog, Counts, Loadd, Sampler, sample};
use sojourn_report::{Key, Metric, Metrics, Receiver, Told, orca};
use sojourn_stats::Span;

use crate::support::{Client, get, ms, node, until};
use crate::support::{site, start};

fn key() -> Key {
    Key::new(b"a secret of tests")
}

fn counts(requests: u64, bytes: u64, errors: u64, bad: u64) -> Result<Counts, &'static str> {
    Ok(Counts { requests, bytes, errors, bad })
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
        assert!(log.look().is_ok());
    }
    append(&path, format!("\n{LINE}"));
    assert_eq!(log.look(), counts(13, 1300, 2, 3));
    assert_eq!(log.take_clients(), [("10.0.0.1".to_string(), 13)]);
    assert_eq!(log.take_clients(), []);
    // Gone altogether: what is known stays.
    fs::remove_file(&path).expect("it is removed");
    assert_eq!(log.look(), counts(13, 1300, 2, 3));
    assert!(AccessLog::open(&path).unwrap_err().to_string().contains("cannot read the access log"));
    for no_file in [folder.path(), &fifo(folder.path())] {
        assert!(AccessLog::open(no_file).unwrap_err().to_string().contains("it is no file"));
    }
}

/// A FIFO that has no writer: to open it would wait for ever.
fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("fifo");
    mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).expect("a FIFO");
    path
}

/// What cannot be known is not 0: what has the log's name is no file for a while.
#[test]
fn a_log_that_becomes_a_fifo_tells_nothing_until_it_is_a_file_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    append(&path, "");
    let mut log = AccessLog::open(&path).expect("it can be read");
    append(&path, LINE);
    fs::rename(fifo(folder.path()), &path).expect("it takes the log's place");
    assert_eq!(log.look(), counts(1, 100, 0, 0), "the old one is read to its end");
    for _ in 0..3 {
        assert_eq!(log.look(), Err("what has its name now is no file"));
        assert!(log.trouble().is_some());
    }
    fs::remove_file(&path).expect("it is removed");
    append(&path, LINE.repeat(2));
    assert_eq!(log.look(), counts(3, 300, 0, 0));
    assert_eq!(log.trouble(), None);
}

const HOUR: Span = Span(3600 * 1_000_000_000);

/// What a server has are requests that it has not answered: not connections that are kept, nor replies that a client is slow
/// to take. Over IPv4, IPv6, and both at one socket.
#[test]
fn connections_that_wait_for_the_server_are_told_from_others() {
    for (listens, reached) in
        [("127.0.0.1:0", ["127.0.0.1"; 2]), ("[::1]:0", ["::1"; 2]), ("[::]:0", ["127.0.0.1", "::1"])]
    {
        let listener = TcpListener::bind(listens).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        // Another server's are not its.
        let other = TcpListener::bind(listens).expect("a free port");
        let _foreign =
            TcpStream::connect((reached[0], other.local_addr().expect("an address").port())).expect("it listens");
        let sources = LoaddSettings { port: Some(port), ..LoaddSettings::default() };
        let mut sampler = Sampler::new(&sources, now()).expect("the kernel tells");
        // Each look is so much later that the list may be walked again.
        let mut later = now();
        let mut seen = || {
            later += HOUR;
            let metrics = sampler.look(None, later).expect("it listens");
            let whole = |metric| metrics.value(metric).expect("it is known") as u32;
            (whole(Metric::Connections), whole(Metric::InFlight))
        };
        assert_eq!(seen(), (0, 0), "{listens}");
        let connect = |number: usize| TcpStream::connect((reached[number % 2], port)).expect("it listens");
        let mut clients: Vec<TcpStream> = (0..5).map(connect).collect();
        until("they wait to be accepted", || seen() == (5, 5));
        let mut accepted: Vec<TcpStream> = clients.iter().map(|_| listener.accept().expect("one comes").0).collect();
        assert_eq!(seen(), (5, 0), "{listens}: they are quiet");
        let mut byte = [0];
        for client in &mut clients[..3] {
            client.write_all(b"x").expect("it is sent");
        }
        until("their bytes have come", || seen() == (5, 3));
        // The kernel's times are of its ticks: what comes in a later one than the connection itself is seen to be owed.
        until("what was read is owed", || {
            accepted[..3].iter_mut().for_each(|server| server.read_exact(&mut byte).expect("it has come"));
            let is_owed = seen() == (5, 3);
            clients[..3].iter_mut().for_each(|client| client.write_all(b"x").expect("it is sent"));
            is_owed
        });
        for server in &mut accepted[..3] {
            server.read_exact(&mut byte).expect("it comes");
            server.write_all(b"reply").expect("it is sent");
        }
        assert_eq!(seen(), (5, 0), "{listens}: they are answered");
        accepted[4].set_nonblocking(true).expect("it can be");
        while accepted[4].write(&[0; 65_536]).is_ok() {}
        assert_eq!(seen(), (5, 0), "{listens}: a client that reads slowly waits for no server");
        clients[3].shutdown(Shutdown::Write).expect("it is open");
        assert_eq!(accepted[3].peek(&mut byte).expect("it has ended"), 0);
        assert_eq!(seen(), (5, 0), "{listens}: an end is no request");
        clients[2].write_all(b"x").and_then(|()| clients[2].shutdown(Shutdown::Write)).expect("it is open");
        until("one has asked and ended", || seen() == (5, 1));
        drop((listener, accepted));
        assert_eq!(sampler.look(None, later + HOUR), None, "{listens}: no program listens");
    }
}

/// The kernel's table is not walked again at once, so that looks cost little; connections that wait to be accepted are seen.
#[test]
fn looks_are_as_rare_as_they_are_dear() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let sources = LoaddSettings { port: Some(address.port()), ..LoaddSettings::default() };
    let start = now();
    let mut sampler = Sampler::new(&sources, start).expect("the kernel tells");
    let mut open = |at| {
        let metrics = sampler.look(None, at).expect("it listens");
        (metrics.value(Metric::Connections), metrics.value(Metric::InFlight))
    };
    assert_eq!(open(start), (Some(0.0), Some(0.0)));
    let mut clients = [(); 3].map(|()| TcpStream::connect(address).expect("it listens"));
    until("they wait, although they are not counted yet", || open(start) == (Some(0.0), Some(3.0)));
    // A walk takes no less than 10 us of a core's time, of which a quarter of a hundredth is for walks.
    assert_eq!(open(start + ms(4)), (Some(0.0), Some(3.0)));
    assert_eq!(open(start + HOUR), (Some(3.0), Some(3.0)));
    let accepted = [(); 3].map(|()| listener.accept().expect("one comes").0);
    clients[0].write_all(b"x").expect("it is sent");
    accepted[0].peek(&mut [0]).expect("it comes");
    assert_eq!(open(start + HOUR), (Some(3.0), Some(0.0)), "as the last walk found it");
    assert_eq!(open(start + HOUR * 2), (Some(3.0), Some(1.0)));
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
        let sources = LoaddSettings {
            log: Some(log.clone()),
            workers: Some(workers.into()),
            port: Some(server.address().port()),
            ..LoaddSettings::default()
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
            let is_told = |metric, least| metrics.as_ref().is_some_and(|metrics| metrics.value(metric) >= Some(least));
            // Of no time at all nothing is known.
            is_told(Metric::Completed, least) && is_told(Metric::Connections, 3.0) && is_told(Metric::CpuUser, 0.0)
        });
        let metrics = metrics.expect("the server is there");
        let value = |metric| metrics.value(metric).unwrap_or_else(|| panic!("{kind}: {metric:?} is not known"));
        assert!(value(Metric::Bytes) >= 300_000.0, "{kind}: {metrics:?}");
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
    /// Whether each report said so.
    overloaded: Vec<bool>,
}

impl Front {
    fn new() -> Front {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.set_read_timeout(Some(ms(20).as_std())).expect("a timeout");
        Front { socket, receiver: Receiver::new(key(), &["a".into()], now()), overloaded: Vec::new() }
    }

    /// Reports as these settings have them, of `a` and to it.
    fn told(&self, settings: LoaddSettings) -> LoaddSettings {
        LoaddSettings { name: "a".into(), to: vec![self.socket.local_addr().expect("an address")], ..settings }
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
            Told::Report { backend: BackendId(0), report, is_overloaded } => {
                self.overloaded.push(is_overloaded);
                Some(*report)
            }
            _ => None,
        });
        reports.collect()
    }
}

/// No tick is near.
fn rarely() -> LoaddSettings {
    LoaddSettings { every: HOUR, heartbeat: HOUR, client_rates: HOUR, watch: ms(5), ..LoaddSettings::default() }
}

fn daemon(front: &Front, address: std::net::SocketAddr, times: LoaddSettings) -> Loadd {
    let settings = LoaddSettings { ask: Some(format!("http://{address}/load")), ..front.told(times) };
    Loadd::start(settings, key(), Events::nowhere()).expect("it starts")
}

/// Ticks an hour apart: what comes is the first report, which is said again to the challenge, and then the overload, at once.
#[test]
fn an_overload_is_told_at_once() {
    let node = node("a", Discipline::Ps);
    let mut front = Front::new();
    let loadd = daemon(&front, node.address(), rarely());
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
    front.overloaded.dedup();
    assert_eq!(front.overloaded, [false, true, false]);
    let counts = loadd.stop();
    assert_eq!((counts.looks, counts.alarms, counts.challenges), (1, 2, 1), "{counts:?}");
    assert_eq!(counts.reports, 3, "{counts:?}");
}

/// Each process that wants a core has a request; one that sleeps may have none.
#[test]
fn processes_at_work_have_requests() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    for (name, arguments, least) in [("yes", &[][..], 2.0), ("sleep", &["600"], 0.0)] {
        let mut command = Command::new(name);
        let mut children = [(); 2].map(|()| command.args(arguments).stdout(Stdio::null()).spawn().expect("coreutils"));
        let sources = LoaddSettings { port: Some(port), workers: Some(name.into()), ..LoaddSettings::default() };
        until("they are found at work, or at rest", || {
            let mut sampler = Sampler::new(&sources, now()).expect("the kernel tells");
            let metrics = sampler.look(None, now()).expect("it is there");
            let known = [Metric::Workers, Metric::InFlight].map(|metric| metrics.value(metric).expect("it is known"));
            known[0] >= 2.0 && if least > 0.0 { known[1] >= least } else { known[1] == 0.0 }
        });
        for child in &mut children {
            child.kill().and_then(|()| child.wait()).expect("it ran");
        }
    }
}

/// Rates are per second of the time between two looks; and of how busy it is a server knows more than those who look at it.
#[test]
fn a_look_tells_rates_and_takes_the_servers_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    append(&path, "");
    let own = fs::read_to_string("/proc/self/comm").expect("Linux tells it").trim().to_owned();
    let sources = LoaddSettings { log: Some(path.clone()), workers: Some(own), ..LoaddSettings::default() };
    let start = now();
    let mut sampler = Sampler::new(&sources, start).expect("the log can be read");
    sampler.look(None, start).expect("it is there");
    append(&path, LINE.repeat(10) + &LINE.replace(" 200 ", " 503 ").repeat(5));
    let seen = sampler.look(None, start + ms(5000)).expect("it is there");
    let rates = [Metric::RequestRate, Metric::ByteRate, Metric::ErrorRate].map(|metric| seen.value(metric));
    assert_eq!(rates, [Some(3.0), Some(300.0), Some(1.0)]);
    let busy = seen.value(Metric::Cpu).expect("its processes are known");
    let says = orca::Load { cpu_utilization: Some(busy + 0.5), ..orca::Load::default() };
    let told = sampler.look(Some(&says), start + ms(6000)).expect("it is there");
    assert_eq!(told.value(Metric::Cpu), Some(busy + 0.5));
}

/// A server of which no process is there is not there. Of one that is, the time that it took before does not count.
#[test]
fn processes_count_from_the_first_look_on() {
    let sampler = |workers: &str| {
        let sources = LoaddSettings { workers: Some(workers.into()), ..LoaddSettings::default() };
        Sampler::new(&sources, now()).expect("nothing is opened")
    };
    assert_eq!(sampler("no-such-process").look(None, now()), None);
    let spent = || clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has this clock").num_milliseconds();
    // Takes so many milliseconds of a core.
    let work = |ms: i64| {
        let end = spent() + ms;
        while spent() < end {}
    };
    work(300);
    let own = fs::read_to_string("/proc/self/comm").expect("Linux tells it");
    let mut sampler = sampler(own.trim());
    let busy_s = |metrics: Option<Metrics>| metrics.expect("it runs").value(Metric::Busy).expect("it is known");
    let first_s = busy_s(sampler.look(None, now()));
    assert!(first_s <= 0.05, "{first_s} s before the first look");
    work(100);
    let second_s = busy_s(sampler.look(None, now()));
    assert!(second_s >= first_s + 0.05, "{second_s} s");
}

/// No tick is near: what is told first is told at once, and what waits to be accepted is an overload at once.
#[test]
fn connections_that_are_not_accepted_are_told_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut front = Front::new();
    let settings = LoaddSettings { port: Some(address.port()), ..front.told(rarely()) };
    let loadd = Loadd::start(settings, key(), Events::nowhere()).expect("it starts");
    let mut first = None;
    until("the first report comes", || {
        first = first.take().or(front.take().pop());
        first.is_some()
    });
    let cores = first.expect("it has come").extras["cores"] as usize;
    let clients: Vec<TcpStream> = (0..=8 * cores).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    until("the overload is told", || front.take().iter().any(|report| report.in_flight as usize > 8 * cores));
    clients.iter().for_each(|_| drop(listener.accept().expect("one comes")));
    until("its end is told", || front.take().iter().any(|report| report.in_flight == 0));
    let counts = loadd.stop();
    assert_eq!((counts.looks, counts.reports, counts.alarms, counts.unsent), (1, 3, 2, 0), "{counts:?}");
}

/// A look is some time late, now more, now less; and still no heartbeat is left out, so that of two one may be lost.
#[test]
fn heartbeats_come_in_time() {
    let node = node("a", Discipline::Ps);
    let front = Front::new();
    let loadd =
        daemon(&front, node.address(), LoaddSettings { every: ms(20), heartbeat: ms(100), ..LoaddSettings::default() });
    until("there were many", || loadd.counts().reports > 30);
    let counts = loadd.stop();
    assert!(counts.looks <= 5 * counts.reports, "{counts:?}");
}

/// What an emulated server did is what its reports say, whichever of them came.
#[test]
fn the_capacity_of_a_server_is_learned_from_its_reports() {
    let node = node("a", Discipline::Ps);
    let mut front = Front::new();
    let times = LoaddSettings { every: ms(20), heartbeat: ms(20), ..LoaddSettings::default() };
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
    let ask = Some(format!("http://{}/load", node.address()));
    let settings = LoaddSettings { ask, every: ms(20), ..LoaddSettings::default() };
    let metrics = sample(&settings).expect("it works").expect("the node answers");
    assert_eq!(metrics.value(Metric::Completed), Some(0.0));
    assert_eq!((metrics.value(Metric::Bytes), metrics.value(Metric::Workers)), (None, None));
    assert!(metrics.value(Metric::CpuUser).is_some());
    node.stop();
    assert_eq!(sample(&settings).expect("it works"), None);
}
