//! Looks of a daemon, one by one, at a port and at processes of this test.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;

use super::*;

const HOUR: Span = Span(3600 * 1_000_000_000);
const LINE: &str = "10.0.0.1 - - [23/Nov/2026:01:31:21 +0000] \"GET / HTTP/1.1\" 200 100\n";

/// What a daemon says.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no one panics").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Said {
    /// The names of the events.
    fn events(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().expect("no one panics").clone()).expect("text");
        let event = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["event"].clone();
        text.lines().map(|line| event(line).as_str().expect("a name").to_owned()).collect()
    }
}

/// Runs `body` with a daemon for which no tick ever comes, whose receiver takes and answers nothing.
fn with_daemon(settings: LoaddSettings, body: impl AsyncFnOnce(&mut Daemon, &Said)) {
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let (every, to) = (HOUR, vec![receiver.local_addr().expect("an address")]);
    let (heartbeat, client_rates, watch) = (every, every, every);
    let settings = LoaddSettings { name: "a".into(), to, every, heartbeat, client_rates, watch, ..settings };
    let key = Key::new(b"a secret of tests");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let said = Said::default();
        let counters = Arc::new(Counters::new());
        let mut daemon =
            Daemon::new((settings, key), None, None, Events::to(said.clone()), counters).expect("a daemon");
        body(&mut daemon, &said).await;
    });
}

fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// So many connections that wait to be accepted as are too many for this machine.
fn too_many(daemon: &Daemon, address: SocketAddr) -> Vec<TcpStream> {
    let (_, metrics) = daemon.last.as_ref().expect("it has looked");
    let cores = metrics.value(Metric::Cores).expect("it is known") as usize;
    (0..=8 * cores).map(|_| TcpStream::connect(address).expect("it listens")).collect()
}

/// An overload that a look finds, and not the watch in between, is told all the same, and so is its end.
#[test]
fn a_look_tells_what_has_turned() {
    let (listener, address) = server();
    let sources = LoaddSettings { port: Some(address.port()), ..LoaddSettings::default() };
    with_daemon(sources, async |daemon, said| {
        daemon.look().await;
        assert_eq!(daemon.counters.counts().reports, 1, "the first look is told");
        for round in 1..=10 {
            let clients = too_many(daemon, address);
            daemon.look().await;
            assert!(daemon.occasion.is_overloaded());
            clients.iter().for_each(|_| drop(listener.accept().expect("one comes")));
            drop(clients);
            daemon.look().await;
            // What the machine does meanwhile may be worth telling too, but not at each look.
            let counts = daemon.counters.counts();
            assert!(counts.reports > 2 * round && counts.alarms == 2 * round, "{round}: {counts:?}");
        }
        assert_eq!(said.events(), ["overload", "underload"].repeat(10));
    });
}

/// A process of a name of its own, which sleeps.
fn sleeper(folder: &Path) -> (String, std::process::Child) {
    let name = format!("still{}", std::process::id());
    let program = folder.join(&name);
    symlink("/bin/sleep", &program).expect("a link");
    let child = std::process::Command::new(&program).arg("600").spawn().expect("it can be run");
    (name, child)
}

/// A server without a process is not there, although something listens at its port: nothing is told of it, neither what was
/// known before, nor an overload, nor rates of clients.
#[test]
fn nothing_is_told_of_a_server_that_is_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    fs::write(&log, "").expect("it is written");
    let (listener, address) = server();
    let (name, mut child) = sleeper(folder.path());
    let sources = LoaddSettings {
        port: Some(address.port()),
        workers: Some(name),
        log: Some(log.clone()),
        ..LoaddSettings::default()
    };
    with_daemon(sources, async |daemon, said| {
        daemon.look().await;
        daemon.tell_rates();
        let counts = daemon.counters.counts();
        assert_eq!((counts.reports, counts.rates, counts.absent), (1, 1, 0));
        child.kill().and_then(|()| child.wait()).expect("it ran");
        let clients = too_many(daemon, address);
        daemon.look().await;
        daemon.watch().await;
        fs::write(&log, LINE).expect("it is written");
        daemon.tell_rates();
        let counts = daemon.counters.counts();
        assert_eq!((counts.reports, counts.rates, counts.alarms, counts.absent), (1, 1, 0, 1));
        assert_eq!(said.events(), ["server_absent"]);
        drop((clients, listener));
    });
}

/// Rates are those since they were last told.
#[test]
fn rates_of_clients_are_of_the_time_since_the_last_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    fs::write(&log, "").expect("it is written");
    with_daemon(LoaddSettings { log: Some(log.clone()), ..LoaddSettings::default() }, async |daemon, _| {
        let begin = daemon.rates_since;
        for round in 1..=3_u64 {
            fs::write(&log, LINE.repeat(30 * round as usize)).expect("it is written");
            daemon.look().await;
            let now = begin + Span(round * 10_000_000_000);
            assert_eq!(daemon.take_rates(now), [("10.0.0.1".to_owned(), 3.0)], "round {round}");
        }
    });
}

/// An instant is due when it has come, or when the clock was set back by more than a period; and it is never waited for longer.
#[test]
fn a_clock_that_is_set_back_stops_no_looks() {
    let every = Span(100);
    assert_eq!([after(199, every), after(200, every)], [200, 300]);
    assert!(!is_due(300, every, 299) && is_due(300, every, 300) && is_due(300, every, 777));
    assert!(!is_due(300, every, 200), "a whole period is left");
    assert!(is_due(300, every, 199), "it was set back");
    assert_eq!((until(300, 260, every), until(300, 400, every)), (Span(40), Span::ZERO));
    assert_eq!(until(1_000_000, 260, every), every);
}
