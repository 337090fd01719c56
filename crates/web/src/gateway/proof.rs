//! What a dispatcher is told, what is counted, and when a backend is taken out: flights and the board, by hand.
//!
//! No socket and no backend. The dispatcher's record says what it was told and when, so that an instant that is told can
//! be compared with those at which something was told.

use crate::gateway::reload;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use serde::Deserialize;
use serde_json::{Value, json};
use sojourn_bed::Events;
use sojourn_dispatch::{BackendId, Catalogue, Command, Event, News, Report, Request};
use sojourn_part::settings::gateway::{GatewaySettings, Timeouts};
use sojourn_part::{Backend, Probe, clock};
use sojourn_report::Told;
use sojourn_stats::{Span, Time};
use tempfile::TempDir;

use super::board::{Access, Board, Decider, prepare};
use super::counts::{Count, Counts, Facts};
use super::flight::{Failure, Flight};
use super::id::GatewayId;
use super::upload::{Stage, Upload};
use super::version::Version;
use super::worker::Worker;
use super::{KEEP, front};

const A: BackendId = BackendId(0);
const B: BackendId = BackendId(1);
const C: BackendId = BackendId(2);

/// What is written to it can be read.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

/// A gateway's threads, which do nothing by themselves.
struct Desk {
    workers: Vec<Rc<Worker>>,
    facts: Arc<Facts>,
    events: Output,
    folder: TempDir,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Desk {
    /// With backends a, b and c and a record, and otherwise as a gateway is.
    fn new(policy: &str, change: impl FnOnce(&mut GatewaySettings)) -> Desk {
        let folder = tempfile::tempdir().expect("a folder");
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let backends = ["a", "b", "c"].map(|name| Backend::new(name, nowhere)).into();
        let mut config = GatewaySettings::new(policy, backends);
        config.record = Some(folder.path().join("record"));
        change(&mut config);
        let events = Output::default();
        let all: Arc<[_]> = (0..config.threads).map(|_| Arc::<Counts>::default()).collect();
        let front = front(&config, &reload::backends_of(&config), false, &Catalogue::default(), 0)
            .expect("the test's gateway is one");
        let front = prepare(front, &config, config.record.as_deref()).expect("it can be recorded");
        let decider = Decider::new(&config, front).expect("there are timers");
        let facts = decider.facts();
        let accesses = if config.shared {
            let decider = decider.into_shared();
            (0..config.threads).map(|_| Access::Shared(Arc::clone(&decider))).collect()
        } else {
            vec![decider.into_own()]
        };
        let worker = |(thread, access)| {
            let board = Board::new(thread, access, Arc::clone(&all), Events::to(events.clone()), None, &config);
            let version = Version::new(Arc::new(config.clone()), None, KEEP, Version::default());
            Rc::new(Worker::new(Rc::new(board), version, Arc::new(GatewayId::new())))
        };
        let workers = accesses.into_iter().enumerate().map(worker).collect();
        Desk { workers, facts, events, folder }
    }

    /// One whose backends fall by `fall` failures in a row.
    fn that_falls_by(fall: u32) -> Desk {
        Desk::new("round-robin", |config| config.decider.fall = fall)
    }

    fn board(&self) -> &Board {
        &self.workers[0].board
    }

    /// A request, just chosen for a backend.
    fn flight(&self) -> Flight {
        let choice = self.board().choose(&Request::default(), &[]);
        let backend = choice.decision.chosen().expect("some backend is up");
        Flight::begin(&self.workers[0], backend, choice.now, None)
    }

    /// Ends all threads.
    fn close(&self) {
        self.workers.iter().for_each(|worker| worker.close());
    }

    /// The record's lines of one kind.
    fn recorded(&self, kind: &str) -> Vec<Value> {
        let record = fs::read_to_string(self.folder.path().join("record")).expect("there is a record");
        let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record is whole"));
        lines.filter_map(|line| line.get(kind).cloned()).collect()
    }

    /// What the record says that the dispatcher was told, and when.
    fn told(&self) -> Vec<(Time, Event)> {
        let read = |line: Value| {
            let event = Event::deserialize(&line["event"]).expect("an event");
            (instant(&line), event)
        };
        self.recorded("observe").into_iter().map(read).collect()
    }

    fn emitted(&self) -> Vec<Value> {
        let bytes = self.events.0.lock().expect("no writer panics").clone();
        let text = String::from_utf8(bytes).expect("events are text");
        text.lines().map(|line| serde_json::from_str(line).expect("events are JSON")).collect()
    }

    /// Those that are up by the table.
    fn up(&self) -> Vec<BackendId> {
        self.board().look(|front| front.table().eligible().to_vec())
    }
}

fn instant(line: &Value) -> Time {
    Time::deserialize(&line["now"]).expect("an instant")
}

fn down(backend: &str, why: &str) -> Value {
    json!({"event": "backend_down", "backend": backend, "why": why, "thread": 0})
}

fn up(backend: &str) -> Value {
    json!({"event": "backend_up", "backend": backend, "thread": 0})
}

/// An upload that is so far.
fn upload(stage: Stage) -> Rc<Upload> {
    let upload = Upload::default();
    upload.note(stage);
    Rc::new(upload)
}

/// A request is served whole.
fn serve(board: &Board, backend: BackendId) {
    board.tell(|_| Event::Inherited { backend });
    board.tell(|_| Event::Completed { backend, status: 200, bytes: 1, latency: Span(1) });
}

/// requests, completed, failed, cancelled, in flight, bytes.
fn counted(board: &Board, backend: BackendId) -> [u64; 6] {
    let count = board.count(backend);
    let counts = [&count.requests, &count.completed, &count.failed, &count.cancelled, &count.in_flight, &count.bytes];
    counts.map(Count::now)
}

#[test]
fn a_reply_is_told_to_those_who_read_it() {
    let policies = [("round-trip(window = 1 s)", true, false), ("transmitted-size(window = 1 s)", false, true)];
    for (policy, first_byte, parts) in [("round-robin", false, false)].into_iter().chain(policies) {
        let desk = Desk::new(policy, |_| ());
        let mut flight = desk.flight();
        let backend = flight.backend();
        flight.sent(None);
        assert_eq!(counted(desk.board(), backend), [1, 0, 0, 0, 1, 0], "{policy}");
        flight.first_byte();
        flight.transmitted(100);
        flight.transmitted(50);
        flight.completed(203, 7);
        drop(flight);
        assert_eq!(counted(desk.board(), backend), [1, 1, 0, 0, 0, 157], "{policy}");
        desk.close();
        let (at, told): (Vec<Time>, Vec<Event>) = desk.told().into_iter().unzip();
        let chosen = instant(&desk.recorded("choose")[0]);
        let mut expected = vec![Event::Sent { backend }];
        if first_byte {
            expected.push(Event::FirstByte { backend, round_trip: at[1].saturating_since(at[0]) });
        }
        if parts {
            expected.extend([100, 50].map(|bytes| Event::Transmitted { backend, bytes }));
        }
        let latency = at[at.len() - 1].saturating_since(chosen);
        expected.push(Event::Completed { backend, status: 203, bytes: 157, latency });
        assert_eq!(told, expected, "{policy}");
    }
}

/// A failure is counted by its kind and told; the backend's is held against it, unless it broke an upload off: a server
/// may refuse one by closing the connection.
#[test]
fn a_failure_is_the_backends_or_the_clients() {
    let breaks = Some("it breaks connections");
    let malformed = Some("its replies are malformed");
    let truncated = Some("it breaks replies off");
    let late = Some("it does not reply in time");
    let cases = [
        (Failure::Connect, None, [1, 0, 0, 0], None),
        (Failure::Broken, None, [0, 1, 0, 0], breaks),
        (Failure::Malformed, None, [0, 1, 0, 0], malformed),
        (Failure::Truncated, None, [0, 0, 1, 0], truncated),
        (Failure::TimedOut, None, [0, 0, 0, 1], late),
        (Failure::Broken, Some(Stage::Client), [0, 1, 0, 0], None),
        (Failure::Broken, Some(Stage::Backend), [0, 1, 0, 0], None),
        (Failure::Broken, Some(Stage::Whole), [0, 1, 0, 0], breaks),
        (Failure::Truncated, Some(Stage::Client), [0, 0, 1, 0], None),
        (Failure::Malformed, Some(Stage::Backend), [0, 1, 0, 0], None),
        (Failure::TimedOut, Some(Stage::Client), [0, 0, 0, 1], late),
        (Failure::TimedOut, Some(Stage::Backend), [0, 0, 0, 1], late),
        (Failure::Spoiled, Some(Stage::Spoiled), [0; 4], None),
        (Failure::Stalled, Some(Stage::Client), [0; 4], None),
    ];
    for (failure, stage, counts, why) in cases {
        let case = format!("{failure:?} {stage:?}");
        let desk = Desk::that_falls_by(1);
        let mut flight = desk.flight();
        flight.sent(stage.map(upload).as_ref());
        flight.transmitted(30);
        flight.failed(failure);
        drop(flight);
        let all = &desk.board().counts;
        let kinds = [&all.connect_failed, &all.broken, &all.truncated, &all.timed_out].map(Count::now);
        let is_the_clients = matches!(failure, Failure::Spoiled | Failure::Stalled);
        let (failed, cancelled) = (u64::from(!is_the_clients), u64::from(is_the_clients));
        assert_eq!((kinds, failure.is_the_clients()), (counts, is_the_clients), "{case}");
        assert_eq!(counted(desk.board(), A), [1, 0, failed, cancelled, 0, 30], "{case}");
        assert_eq!(desk.emitted(), why.map(|why| down("a", why)).into_iter().collect::<Vec<_>>(), "{case}");
        desk.close();
        let told = desk.told();
        let after = told[1].0.saturating_since(instant(&desk.recorded("choose")[0]));
        let end = if is_the_clients {
            Event::Cancelled { backend: A, after: Span::ZERO }
        } else {
            Event::Failed { backend: A, after }
        };
        let mut expected = vec![Event::Sent { backend: A }, end];
        expected.extend(why.map(|_| Event::Down { backend: A }));
        assert_eq!(told.into_iter().map(|(_, event)| event).collect::<Vec<_>>(), expected, "{case}");
    }
}

#[test]
fn a_break_after_a_spoiled_upload_is_the_clients() {
    let desk = Desk::new("round-robin", |_| ());
    let mut flight = desk.flight();
    assert_eq!(flight.cause(Failure::Broken), Failure::Broken);
    flight.sent(Some(&upload(Stage::Backend)));
    assert_eq!(flight.cause(Failure::Truncated), Failure::Truncated);
    flight.sent(Some(&upload(Stage::Spoiled)));
    assert_eq!(flight.cause(Failure::Truncated), Failure::Spoiled);
}

#[test]
fn a_flight_that_is_dropped_was_cancelled() {
    let desk = Desk::new("round-robin", |_| ());
    drop(desk.flight());
    let flight = desk.flight();
    assert_eq!(flight.backend(), B);
    assert!(Rc::ptr_eq(flight.worker(), &desk.workers[0]));
    drop(flight);
    for backend in [A, B] {
        assert_eq!(counted(desk.board(), backend), [1, 0, 0, 1, 0, 0]);
    }
    desk.close();
    let told: Vec<Event> = desk.told().into_iter().map(|(_, event)| timeless(event)).collect();
    assert_eq!(told, [A, B].map(|backend| Event::Cancelled { backend, after: Span::ZERO }));
}

/// The event, without how long a client had waited.
fn timeless(event: Event) -> Event {
    match event {
        Event::Cancelled { backend, .. } => Event::Cancelled { backend, after: Span::ZERO },
        other => other,
    }
}

/// Until the first byte a client that goes away has waited for the backend, and after it for itself.
#[test]
fn a_client_that_goes_away_has_waited_until_the_first_byte() {
    let desk = Desk::new("peak-ewma", |_| ());
    drop(desk.flight());
    let mut begun = desk.flight();
    begun.sent(None);
    begun.first_byte();
    drop(begun);
    desk.close();
    let after = desk.told().into_iter().filter_map(|(_, event)| match event {
        Event::Cancelled { after, .. } => Some(after > Span::ZERO),
        _ => None,
    });
    assert_eq!(after.collect::<Vec<_>>(), [true, false]);
}

/// The head of a reply may take 1000 s here, anything else 10 s.
#[test]
fn a_flight_waits_for_so_long_and_not_for_the_client() {
    const SECOND: Span = Span(1_000_000_000);
    let (reply, idle) = (SECOND * 1000, SECOND * 10);
    let desk = Desk::new("round-robin", |config| config.timeouts = Timeouts { connect: SECOND, reply, idle });
    let deadlines = &desk.workers[0].deadlines;
    let context = Context::from_waker(Waker::noop());
    let ends = |flight: &mut Flight, at: Time| {
        deadlines.expire(at);
        flight.poll_deadline(&context)
    };
    // What it waits for after `act` it waits for so long, and no longer.
    let check = |flight: &mut Flight, act: &dyn Fn(&mut Flight), patience: Span, failure: Failure| {
        let before = clock::now();
        act(flight);
        let after = clock::now();
        assert_eq!(ends(flight, Time((before + patience).0 - 1)), Poll::Pending, "{failure:?} after {patience}");
        assert_eq!(ends(flight, after + patience), Poll::Ready(failure), "{failure:?} after {patience}");
    };
    let last = Time(Time::NEVER.0 - 1);
    let mut flight = desk.flight();
    assert_eq!(ends(&mut flight, last), Poll::Pending, "it was not sent");
    check(&mut flight, &|flight| flight.sent(None), reply, Failure::TimedOut);
    flight.first_byte();
    assert_eq!(ends(&mut flight, last), Poll::Pending, "the client has the head to take");
    check(&mut flight, &|flight| flight.wait_for_backend(), idle, Failure::TimedOut);
    flight.transmitted(1);
    assert_eq!(ends(&mut flight, last), Poll::Pending, "the client has a part to take");

    let upload = Rc::new(Upload::default());
    let moves = |stage| {
        let upload = &upload;
        move |flight: &mut Flight| {
            upload.note(stage);
            assert_eq!(flight.poll_deadline(&Context::from_waker(Waker::noop())), Poll::Pending, "it is put off");
        }
    };
    let mut flight = desk.flight();
    check(&mut flight, &|flight| flight.sent(Some(&upload)), idle, Failure::Stalled);
    check(&mut flight, &moves(Stage::Backend), idle, Failure::TimedOut);
    check(&mut flight, &moves(Stage::Whole), reply, Failure::TimedOut);
}

/// Requests that failed, and probes that failed, each in a row.
#[test]
fn a_backend_falls_by_failures_in_a_row() {
    let desk = Desk::that_falls_by(3);
    let board = desk.board();
    let fail = |times| (0..times).for_each(|_| board.learn(B, News::Struck, "requests"));
    let fail_probes = |times| (0..times).for_each(|_| board.learn(B, News::Failed, "probes"));
    let version = desk.workers[0].version();
    assert_eq!((board.name(B), version.id("b"), version.id("d")), ("b".into(), Some(B), None));
    assert!(version.targets().map(|(id, _)| id).eq([A, B, C]));
    fail(2);
    serve(board, B);
    serve(board, B);
    fail(2);
    fail_probes(2);
    board.learn(B, News::Answered, "");
    fail_probes(2);
    assert_eq!((board.down().0, desk.up(), desk.emitted()), (0, vec![A, B, C], vec![]));
    fail(1);
    assert_eq!((board.down().0, desk.up()), (1, vec![A, C]));
    // It is said once.
    fail(1);
    fail_probes(4);
    board.refused(B);
    assert_eq!((board.down().0, desk.emitted()), (1, vec![down("b", "requests")]));
    // What failed before it came back is forgotten.
    board.learn(B, News::Answered, "");
    board.learn(B, News::Answered, "");
    assert_eq!((board.down().0, desk.up()), (0, vec![A, B, C]));
    fail(2);
    fail_probes(3);
    assert_eq!((board.down().0, desk.up()), (1, vec![A, C]));
    board.refused(C);
    assert_eq!((board.down().0, desk.up()), (2, vec![A]));
    board.not_probed(A, "no descriptor");
    board.emit(&json!({"event": "other"}));
    let refused = down("c", "no program listens there");
    let not_made = json!({"event": "probe_not_made", "backend": "a", "why": "no descriptor", "thread": 0});
    let said = [down("b", "requests"), up("b"), down("b", "probes"), refused, not_made, json!({"event": "other"})];
    assert_eq!(desk.emitted(), said);
    desk.close();
    let of_requests = |event: &Event| matches!(event, Event::Inherited { .. } | Event::Completed { .. });
    let told: Vec<Event> =
        desk.told().into_iter().map(|(_, event)| event).filter(|event| !of_requests(event)).collect();
    let (fell, rose) = (Event::Down { backend: B }, Event::Joined { backend: B });
    assert_eq!(told, [fell, rose, fell, Event::Down { backend: C }]);
}

/// A backend that answers its probes and has ceased to report is left out where the policy reads reports, unless all are.
/// One that is not probed is out until it reports again; and where it does not report either, no failure takes it out, since
/// nothing would bring it back.
#[test]
fn what_silence_means_depends_on_what_else_is_known() {
    let lost = |backend| Told::Lost { backend, is_empty: false };
    let report = |backend| {
        let report = Box::new(Report::of_in_flight(4, Time(1)));
        Told::Report { backend, report, is_overloaded: false }
    };
    let desk = |policy, probe| {
        Desk::new(policy, |config| {
            config.health.probe = probe;
            config.reports.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        })
    };
    let probed = desk("round-robin", Probe::Connect);
    probed.board().take(&[report(B), lost(B)]);
    assert_eq!((probed.board().down().0, probed.up()), (0, vec![A, B, C]), "nothing reads its reports");
    assert_eq!(probed.board().look(|front| front.table().report(B).map(|report| report.in_flight)), Some(4));
    let reading = desk("least-load", Probe::Connect);
    reading.board().take(&[lost(B)]);
    assert_eq!((reading.board().down().0, reading.up()), (0, vec![A, C]));
    reading.board().take(&[lost(A), lost(C)]);
    assert_eq!(reading.up(), [A, B, C], "all are silent");
    reading.board().refused(C);
    reading.board().take(&[Told::Found { backend: B }, report(B)]);
    assert_eq!((reading.board().down().0, reading.up()), (1, vec![B]));
    let unprobed = desk("round-robin", Probe::Off);
    unprobed.board().refused(A);
    unprobed.board().take(&[lost(B)]);
    assert_eq!((unprobed.board().down().0, unprobed.up()), (2, vec![C]));
    unprobed.board().take(&[report(A), report(B)]);
    assert_eq!((unprobed.board().down().0, unprobed.up()), (0, vec![A, B, C]));
    let unheard = Desk::new("round-robin", |config| config.health.probe = Probe::Off);
    unheard.board().refused(A);
    unheard.board().learn(A, News::Struck, "requests");
    assert_eq!((unheard.board().down().0, unheard.up()), (0, vec![A, B, C]));
}

#[test]
fn a_thread_that_has_closed_tells_nothing() {
    let desk = Desk::that_falls_by(1);
    let board = desk.board();
    board.refused(B);
    desk.close();
    let before = clock::now();
    let at = board.tell(|_| Event::Opened { backend: A });
    assert!(before <= at && at <= clock::now(), "it is told all the same when that was");
    board.learn(A, News::Struck, "requests");
    board.learn(B, News::Answered, "");
    board.report(A, &Report::of_in_flight(4, Time(1)));
    assert_eq!((board.down().0, desk.up(), desk.emitted().len()), (1, vec![A, C], 1));
    assert_eq!(board.look(|front| front.table().report(A).cloned()), None);
    let unprobed = Desk::new("round-robin", |config| config.health.probe = Probe::Off);
    unprobed.close();
    unprobed.board().take(&[Told::Lost { backend: B, is_empty: false }]);
    assert_eq!((unprobed.board().down().0, unprobed.up()), (0, vec![A, B, C]));
}

/// The last of those that share a dispatcher ends its record.
#[test]
fn threads_share_a_dispatcher_and_its_record() {
    let desk = Desk::new("round-robin", |config| (config.threads, config.shared) = (2, true));
    let [first, second] = &desk.workers[..] else { panic!("two threads") };
    let choose = |worker: &Rc<Worker>, tried: &[BackendId]| {
        worker.board.choose(&Request::default(), tried).decision.chosen().expect("some backend is up")
    };
    assert_eq!([choose(first, &[]), choose(second, &[]), choose(first, &[C])], [A, B, A]);
    let flights = [
        Flight::begin(first, A, Time(0), None),
        Flight::begin(second, B, Time(0), None),
        Flight::begin(first, A, Time(0), None),
    ];
    assert_eq!([first, second].map(|worker| worker.board.in_flight_of_all()), [3, 3]);
    second.board.publish();
    assert_eq!([A, B, C].map(|backend| desk.facts.seen()[backend.0 as usize].in_flight.now()), [2, 1, 0]);
    drop(flights);
    assert_eq!([first, second].map(|worker| worker.board.in_flight_of_all()), [0, 0]);
    first.close();
    assert_eq!(desk.recorded("observe").len(), 0, "it is in memory still");
    second.board.tell(|_| Event::Opened { backend: C });
    second.close();
    let told: Vec<Event> = desk.told().into_iter().map(|(_, event)| timeless(event)).collect();
    let [a, b] = [A, B].map(|backend| Event::Cancelled { backend, after: Span::ZERO });
    assert_eq!(told, [a, b, a, Event::Opened { backend: C }]);
    assert_eq!(
        [A, B, C].map(|backend| desk.facts.seen()[backend.0 as usize].in_flight.now()),
        [0, 0, 0],
        "it is published"
    );
}

/// A pipe that loses its reader takes the first line of a record and no more.
#[test]
fn a_record_that_fails_is_told_of_once() {
    let failed = |desk: &Desk| {
        let said = desk.emitted();
        assert!(said.iter().all(|event| event["event"] == "record_failed" && event["thread"] == 0), "{said:?}");
        assert_eq!(desk.board().counts.records_failed.now(), said.len() as u64);
        said.len()
    };
    // Few lines are written at the end, many before.
    for (choices, before_the_end) in [(1, 0), (1000, 1)] {
        let (reader, writer) = io::pipe().expect("a pipe");
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        let desk = Desk::new("round-robin", |config| config.record = Some(path.into()));
        drop((reader, writer));
        (0..choices).for_each(|_| drop(desk.board().choose(&Request::default(), &[])));
        desk.board().publish();
        desk.board().publish();
        assert_eq!(failed(&desk), before_the_end, "after {choices} choices");
        desk.close();
        assert_eq!(failed(&desk), 1, "after {choices} choices");
    }
    let whole = Desk::new("round-robin", |_| ());
    whole.close();
    assert_eq!(failed(&whole), 0);
}

#[test]
fn candidates_are_explained_where_replies_say_so() {
    let candidates = |explain| {
        let desk = Desk::new("least-connections", |config| config.explain = explain);
        let _flight = desk.flight();
        desk.board().choose(&Request::default(), &[A, B]).candidates
    };
    assert_eq!((candidates(false), candidates(true).as_deref()), (None, Some("c: in_flight 0")));
}

/// The polls of a dispatcher, every 5 ms: the bell rings for each of them.
#[tokio::test(flavor = "current_thread")]
async fn the_bell_rings_when_something_is_due() {
    let every = Span(5_000_000);
    let desk = Desk::new("least-connections", |config| config.decider.poll = Some(every));
    let bell = desk.board().bell().expect("a bell");
    for _ in 0..3 {
        let rung = tokio::time::timeout(Span(10_000_000_000).as_std(), bell.ring()).await;
        assert_eq!(rung, Ok(()), "it rings within 10 s");
        assert_eq!(desk.board().due(), [A, B, C].map(Command::Poll));
    }
}
