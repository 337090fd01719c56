//! Clients that ask more than once: every attempt on the wire, and still one outcome for each request.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use sojourn_load::{Attempts, Counts, Load, Report, Schedule, Second, Stop, Targets, Url, Version, realtime_ns};
use sojourn_model::system::{Backoff, Budget, Hedge, Retries, Rules};
use sojourn_stats::{Law, Span, Stream};
use sojourn_traffic::{Planned, Request};

use crate::run::{MS, open, run, saturate, steady, try_run};
use crate::server::{Act, Asked, Server, ok, reply};
use crate::web::{Speak, Web};

fn retries(at_most: u32, budget: Option<Budget>) -> Rules {
    Rules { retries: Some(Retries { at_most, backoff: None, budget }), ..Rules::default() }
}

/// So many requests, 20 ms apart, by clients with these rules, with every one recorded.
fn ask(server: &Server, count: u64, rules: &Rules) -> Report {
    run(of(server, count, rules))
}

fn of(server: &Server, count: u64, rules: &Rules) -> Load {
    let mut load = open(server.address, told_apart(count, Span(20 * MS)));
    (load.attempts, load.keep_records) = (Some(Attempts::new(rules, 1)), true);
    load
}

/// So many requests, one each `gap`, that differ by their demands.
fn told_apart(count: u64, gap: Span) -> impl Iterator<Item = Planned> + Send + 'static {
    steady(count, gap)
        .map(|planned| Planned { request: Request { demand: Span(planned.at.0 + 1), ..planned.request }, ..planned })
}

/// Counts, for requests that are told apart, how many attempts of a request came before.
fn attempts_before() -> impl Fn(&Asked) -> usize + Send + Sync + 'static {
    let came: Mutex<HashMap<String, usize>> = Mutex::default();
    move |asked| {
        let demand = asked.head.lines().find(|line| line.starts_with("x-sojourn-demand: ")).expect("emulated work");
        let mut came = came.lock().unwrap();
        let count = came.entry(demand.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

/// The longest and shortest response time of the good replies.
fn times(report: &Report) -> (Span, Span) {
    let records = report.records.as_ref().unwrap();
    let times = || records.iter().map(|record| record.done - record.planned);
    (times().min().unwrap(), times().max().unwrap())
}

fn busy() -> Vec<Act> {
    vec![reply("503 Busy", "", "no")]
}

#[test]
fn what_failed_is_tried_again_and_stays_one_request() {
    // Of each request the first two fail, in one way or another.
    let before = attempts_before();
    let server = Server::start(move |asked: &Asked| match before(asked) {
        0 => busy(),
        1 => vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe".to_vec()), Act::Close],
        _ => vec![ok("x")],
    });
    let report = ask(&server, 10, &retries(3, None));
    assert_eq!(report.counts, Counts { planned: 10, ok: 10, tried_again: 20, ..Counts::default() });
    assert!(report.records.as_ref().unwrap().iter().all(|record| record.attempts == 3), "{:?}", report.records);
    assert_eq!(report.value("attempts_ratio"), Some(3.0));
    assert_eq!(report.seconds.iter().map(|second| second.again).sum::<u64>(), 20);
    assert_eq!(report.response.count(), 10);
}

#[test]
fn retries_end_and_the_last_failure_is_told() {
    let server = Server::start(|_| busy());
    let report = ask(&server, 5, &retries(2, None));
    assert_eq!(report.counts, Counts { planned: 5, server_error: 5, tried_again: 10, ..Counts::default() });
    assert_eq!(server.heads().len(), 15);
    // What would fail again is not tried again; what is only too early or too much is.
    let server = Server::start(|asked: &Asked| match asked.number % 2 {
        0 => vec![reply("404 Not Found", "", "no")],
        _ => vec![reply("429 Too Many", "", "no")],
    });
    let report = ask(&server, 1, &retries(2, None));
    assert_eq!(report.counts, Counts { planned: 1, client_error: 1, ..Counts::default() });
    let report = ask(&server, 1, &retries(2, None));
    assert_eq!(report.counts, Counts { planned: 1, client_error: 1, tried_again: 1, ..Counts::default() });
}

/// A time-out is of an attempt, and a response time counts from the planned instant over all of them.
#[test]
fn each_attempt_has_its_time_out() {
    let server =
        Server::start(
            |asked: &Asked| if asked.on_connection == 0 && asked.number < 5 { vec![Act::Hang] } else { vec![ok("x")] },
        );
    let backoff = Some(Backoff::Law(Law::constant(0.3)));
    let rules = Rules {
        timeout: Some(Span(500 * MS)),
        retries: Some(Retries { at_most: 5, backoff, budget: None }),
        ..Rules::default()
    };
    let report = ask(&server, 1, &rules);
    assert_eq!(report.counts, Counts { planned: 1, ok: 1, tried_again: 5, ..Counts::default() });
    let (least, most) = times(&report);
    // Five time-outs and five waits, to the instants at which they were due.
    assert!(least >= Span(4_000 * MS) && most < Span(4_500 * MS), "{least} to {most}");
    assert_eq!(report.connections.lost, 5, "what is given up is closed");
}

#[test]
fn all_attempts_together_end_at_the_deadline_which_the_server_is_told() {
    let server = Server::start(|_| vec![Act::Hang]);
    let rules = Rules { timeout: Some(Span(400 * MS)), deadline: Some(Span(1_000 * MS)), ..retries(9, None) };
    let before = realtime_ns();
    let report = ask(&server, 1, &rules);
    assert_eq!(report.counts, Counts { planned: 1, timeout: 1, tried_again: 2, ..Counts::default() });
    let (least, most) = times(&report);
    assert!(least >= Span(1_000 * MS) && most < Span(1_400 * MS), "{least} to {most}");
    let told = |head: &String| {
        let value = head.lines().find_map(|line| line.strip_prefix("x-sojourn-deadline: ")).expect("it is told");
        value.parse::<u64>().unwrap()
    };
    let told: Vec<u64> = server.heads().iter().map(told).collect();
    assert_eq!(
        (told[1] - told[0], told[2] - told[0]),
        (400 * MS, 600 * MS),
        "the end of each attempt, of the last the deadline"
    );
    assert_eq!(told[0], report.started_at_ns + 400 * MS);
    assert!(told[0] > before);
}

#[test]
fn a_budget_is_one_of_all_clients() {
    let server = Server::start(|_| busy());
    let budget = Budget::Tokens { per_request: 0.1, most: 10 };
    let report = ask(&server, 40, &retries(3, Some(budget)));
    assert_eq!(report.counts, Counts { planned: 40, server_error: 40, tried_again: 4, ..Counts::default() });
    // Over the threads too, and over the loads that share it.
    let attempts = Attempts::new(&retries(3, Some(budget)), 1);
    let mut again = 0;
    for threads in [1, 2, 2] {
        let load = of(&server, 15, &Rules::default());
        let report = run(Load { threads, attempts: Some(attempts.clone()), ..load });
        again += report.counts.tried_again;
    }
    assert_eq!(again, 4, "of 45 requests");
}

/// A second request is sent beside a slow first one; the other is given up when one has a reply.
#[test]
fn a_hedge_beside_a_slow_request() {
    let slow = |asked: &Asked| if asked.number.is_multiple_of(2) { vec![Act::Hang] } else { vec![ok("x")] };
    let rules = Rules { hedge: Some(Hedge::After(Span(1_000 * MS))), ..Rules::default() };
    let server = Server::start(|asked: &Asked| if asked.number == 0 { vec![Act::Hang] } else { vec![ok("x")] });
    let report = ask(&server, 3, &Rules { timeout: Some(Span(10_000 * MS)), ..rules.clone() });
    assert_eq!(report.counts, Counts { planned: 3, ok: 3, tried_again: 1, ..Counts::default() });
    let (_, most) = times(&report);
    assert!(most >= Span(1_000 * MS) && most < Span(8_000 * MS), "{most}");
    // Of users too, who have a connection more for it.
    let server = Server::start(slow);
    let load = Load { attempts: Some(Attempts::new(&rules, 1)), ..saturate(server.address, 1, 4) };
    let report = run(load);
    assert_eq!(report.counts, Counts { planned: 4, ok: 4, tried_again: 4, ..Counts::default() });
    assert_eq!(report.connections.lost, 4);
}

/// Clients with these rules ask for `path` over HTTP/2.
fn by_http2(web: &Web, path: &str, schedule: Schedule, rules: &Rules) -> Load {
    let url = Url::parse(&format!("http://localhost:{}{path}", web.address.port())).unwrap();
    let load = Load::to(&[url], schedule, Targets::Own);
    Load { http: Version::Http2, attempts: Some(Attempts::new(rules, 1)), keep_records: true, ..load }
}

/// Over HTTP/2 an attempt is a stream: one that is given up takes nothing from the others of its connection.
#[test]
fn attempts_over_http2() {
    // One request after the other: each fails twice.
    let web = Web::start(Speak::Http2, None);
    let report = run(by_http2(&web, "/busy", Schedule::open(steady(8, Span(500 * MS))), &retries(3, None)));
    assert_eq!(report.counts, Counts { planned: 8, ok: 8, tried_again: 16, ..Counts::default() });
    assert_eq!(web.requests().len(), 24);
    assert!(web.requests().iter().all(|(version, ..)| *version == hyper::Version::HTTP_2));
    // Requests every 10 ms, each of which waits 2 s for an attempt: all are under way at once, and 20 attempts hang.
    let web = Web::start(Speak::Http2, None);
    let rules = Rules { timeout: Some(Span(2_000 * MS)), ..retries(5, None) };
    let report = run(by_http2(&web, "/hangs/20", Schedule::open(steady(40, Span(10 * MS))), &rules));
    assert_eq!(report.counts, Counts { planned: 40, ok: 40, tried_again: 20, ..Counts::default() });
    assert_eq!(web.requests().len(), 60);
    let (_, most) = times(&report);
    assert!(most >= Span(2_000 * MS), "{most}");
    // A second attempt beside the first one; of users it is refused.
    let rules = Rules { hedge: Some(Hedge::After(Span(500 * MS))), ..Rules::default() };
    let web = Web::start(Speak::Http2, None);
    let report = run(by_http2(&web, "/hangs", Schedule::open(steady(4, Span(2_000 * MS))), &rules));
    assert_eq!(report.counts, Counts { planned: 4, ok: 4, tried_again: 4, ..Counts::default() });
    let (least, most) = times(&report);
    assert!(least >= Span(500 * MS) && most < Span(1_900 * MS), "{least} to {most}");
    let users = try_run(by_http2(&web, "/hangs", Schedule::saturate(1), &rules)).unwrap_err().to_string();
    assert!(users.contains("over HTTP/2 only requests of a plan are hedged"), "{users}");
}

/// With one connection attempts wait for it, and some are over before they have it.
#[test]
fn attempts_wait_for_a_connection() {
    let server = Server::start(|_| vec![Act::Hang]);
    let rules = Rules { timeout: Some(Span(100 * MS)), ..retries(1, None) };
    let report = run(Load { connections_max: 1, ..of(&server, 6, &rules) });
    let Counts { planned, timeout, queued, .. } = report.counts;
    assert_eq!((planned, timeout), (6, 6), "{:?}", report.counts);
    assert!(queued > 0);
    assert!(report.records.unwrap().iter().all(|record| record.attempts <= 2));
}

/// A request whose first attempt timed out while it waited for a connection begins with the next one: begun are no fewer than
/// are answered.
#[test]
fn a_request_begins_with_the_first_attempt_that_has_a_connection() {
    let server = Server::start(|asked: &Asked| if asked.number == 0 { vec![Act::Hang] } else { vec![ok("x")] });
    let rules = Rules { timeout: Some(Span(2_000 * MS)), ..retries(5, None) };
    // The first opens the only connection and has it until it times out, and with it the one that waits.
    let load = open(server.address, steady(2, Span(1)));
    let attempts = Some(Attempts::new(&rules, 1));
    let report = run(Load { connections_max: 1, open_ahead: Span::ZERO, attempts, ..load });
    let Counts { planned, ok, queued, tried_again, .. } = report.counts;
    assert_eq!((planned, ok, queued, tried_again), (2, 2, 1, 2), "{:?}", report.counts);
    let sum = |of: fn(&Second) -> u64| report.seconds.iter().map(of).sum::<u64>();
    assert_eq!((sum(|second| second.begun), sum(|second| second.again)), (2, 2));
    assert_eq!(report.lateness.count(), 1, "only the first could go out at once");
}

#[test]
fn what_waits_at_the_end_is_unfinished_once() {
    let server = Server::start(|_| busy());
    let backoff = Some(Backoff::Law(Law::constant(30.0)));
    let rules = Rules { retries: Some(Retries { at_most: 3, backoff, budget: None }), ..Rules::default() };
    let mut load = of(&server, 4, &rules);
    (load.stop, load.grace) = (Stop::After(Span(100 * MS)), Span(50 * MS));
    let report = run(load);
    assert_eq!(report.counts, Counts { planned: 4, unfinished: 4, ..Counts::default() });
}

/// A retry may have to wait for the only connection, too; and what waits for it at the end is unfinished, once.
#[test]
fn retries_wait_for_a_connection() {
    let server = Server::start(|asked: &Asked| if asked.number.is_multiple_of(2) { busy() } else { vec![ok("x")] });
    let load = open(server.address, steady(6, Span(1)));
    let attempts = Some(Attempts::new(&retries(20, None), 1));
    let report = run(Load { connections_max: 1, attempts, ..load });
    assert_eq!((report.counts.ok, report.counts.tried_again), (6, 6), "{:?}", report.counts);
    let server = Server::start(|_| vec![Act::Hang]);
    let mut load = of(&server, 4, &retries(1, None));
    (load.connections_max, load.stop, load.grace) = (1, Stop::After(Span(100 * MS)), Span(50 * MS));
    let Counts { planned, unfinished, .. } = run(load).counts;
    assert_eq!((planned, unfinished), (4, 4));
}

/// A hedge takes from the budget; and one after a percentile is sent once enough replies have said how long they take.
#[test]
fn hedges_go_by_budget_and_percentile() {
    let budget = Some(Budget::Tokens { per_request: 0.1, most: 10 });
    let hedge = Some(Hedge::After(Span(20 * MS)));
    let timeout = Some(Span(80 * MS));
    let server = Server::start(|_| vec![Act::Hang]);
    let report = ask(
        &server,
        25,
        &Rules { hedge, timeout, retries: Some(Retries { at_most: 0, backoff: None, budget }), ..Rules::default() },
    );
    assert_eq!(report.counts, Counts { planned: 25, timeout: 25, tried_again: 2, ..Counts::default() });
    // Of 70 replies the median is known; the first attempt of the 71st request hangs.
    let server = Server::start(|asked: &Asked| if asked.number == 70 { vec![Act::Hang] } else { vec![ok("x")] });
    let rules = Rules { hedge: Some(Hedge::Quantile(0.5)), ..Rules::default() };
    let load = Load { attempts: Some(Attempts::new(&rules, 1)), ..saturate(server.address, 1, 71) };
    let report = run(load);
    assert_eq!(report.counts.ok, 71, "{:?}", report.counts);
    assert!(report.counts.tried_again >= 1, "{:?}", report.counts);
}

/// Each request waits before its retry as long as a simulated client with the same seed would.
#[test]
fn waits_are_drawn_for_each_request() {
    let backoff = Backoff::FullJitter { base: Span(400 * MS), most: Span(400 * MS) };
    let before = attempts_before();
    let server = Server::start(move |asked: &Asked| if before(asked) == 0 { busy() } else { vec![ok("x")] });
    let rules = Rules {
        retries: Some(Retries { at_most: 3, backoff: Some(backoff.clone()), budget: None }),
        ..Rules::default()
    };
    let mut load = open(server.address, told_apart(5, Span(1)));
    load.attempts = Some(Attempts::new(&rules, 7));
    let report = run(load);
    for record in report.records.as_ref().unwrap() {
        let drawn = |retry: u32| Stream::new(7, &format!("request {}", record.k), &format!("retry {retry}"));
        let (took, wait) = (record.done - record.planned, backoff.wait(0, drawn));
        assert!(took >= wait && record.attempts == 2, "{took} with a wait of {wait}: {record:?}");
    }
    let sum = |of: &dyn Fn(&sojourn_load::Record) -> u64| report.records.as_ref().unwrap().iter().map(of).sum::<u64>();
    let waits = sum(&|record| {
        let drawn = |retry: u32| Stream::new(7, &format!("request {}", record.k), &format!("retry {retry}"));
        backoff.wait(0, drawn).0
    });
    let took = sum(&|record| (record.done - record.planned).0);
    assert!(took - waits < 400 * MS, "{took} ns in all, of which {waits} were drawn");
}

/// A reply that is there before its time-out was noticed, and after it was due, has come too late.
#[test]
fn a_late_reply_is_none() {
    let server = Server::start(|_| vec![Act::Stall(Duration::from_millis(600)), ok("x")]);
    let rules = Rules { timeout: Some(Span(500 * MS)), ..Rules::default() };
    let report = ask(&server, 3, &rules);
    assert_eq!((report.counts.timeout, report.counts.ok), (3, 0));
    assert_eq!(server.heads().len(), 3);
    let load = Load {
        targets: Targets::Fixed("/".into()),
        ..of(&server, 1, &Rules { timeout: Some(Span(10_000 * MS)), ..rules })
    };
    assert_eq!(run(load).counts.ok, 1);
}
