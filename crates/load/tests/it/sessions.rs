//! Users who browse: which file goes when over which connection, and how long an object takes.

use std::collections::HashMap;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use sojourn_load::{Browse, Counts, Load, Outcome, Report, Schedule, Stop, Targets};
use sojourn_stats::Span;
use sojourn_traffic::{Fetch, Http, Visit};

use crate::failures::{hold_port, shared_socket};
use crate::run::{MS, request, run, try_run};
use crate::server::{Act, Asked, Server, ok, reply};

const KEEPING: Http = Http::V11 { keep_alive: Span(600_000 * MS) };

/// A user whose sessions have `pages` pages, each with `embedded` files: page `n` of the user is page number `n`, and
/// file `f` of any page is object `f`.
#[derive(Clone, Copy)]
struct Habits {
    think: Span,
    gap: Span,
    pages: u32,
    embedded: u32,
    patience: Span,
}

const HABITS: Habits = Habits { think: Span(MS), gap: Span::ZERO, pages: 3, embedded: 2, patience: Span::FOREVER };

fn user(client: u32, habits: Habits) -> Browse {
    let Habits { think, gap, pages, embedded, patience } = habits;
    let mut page = 0;
    Box::new(move |fetches| {
        fetches.clear();
        for object in 0..=embedded {
            let mut request = request(client);
            (request.object, request.patience) = (object, patience);
            fetches.push(Fetch { request, gap: if object == 0 { Span::ZERO } else { gap } });
        }
        let visit = Visit { think, page, first: page % pages == 0, last: page % pages == pages - 1 };
        page += 1;
        visit
    })
}

fn load(server: &Server, users: u32, habits: Habits, parallel: u32, http: Http, objects: u64) -> Load {
    let schedule =
        Schedule::Sessions { users: (0..users).map(|client| user(client, habits)).collect(), parallel, http };
    let paths = (0..=habits.embedded).map(|object| format!("/{object}")).collect();
    let mut load = Load::new(server.address, "test", schedule, Targets::Paths(paths));
    load.stop = Stop::Requests(objects);
    load.keep_records = true;
    load
}

/// Runs it, and checks what holds of every run: objects and their files tell the same story.
fn browse(load: Load) -> Report {
    let report = run(load);
    let objects = report.objects.as_ref().expect("users browse");
    let records = objects.records.as_ref().expect("records were asked for");
    assert_eq!(records.len() as u64, objects.counts.planned);
    let mut files: HashMap<u64, Vec<_>> = HashMap::new();
    for record in report.records.as_ref().unwrap() {
        files.entry(record.k).or_default().push(record);
    }
    for object in records {
        let own = &files[&object.k];
        let page = own[0];
        assert_eq!(page.planned, object.planned, "the page file goes first");
        if object.outcome == Outcome::Ok {
            assert_eq!(own.len() as u32, object.files);
            assert_eq!(object.done, own.iter().map(|file| file.done).max().unwrap(), "the last byte ends the object");
            assert_eq!(object.page_done, Some(page.done));
            assert_eq!(object.bytes, own.iter().map(|file| file.bytes).sum::<u64>());
        }
        for file in &own[1..] {
            assert!(file.planned >= page.done, "embedded files come after their page");
            assert!(file.done <= object.done);
        }
    }
    let connections = report.connections;
    assert!(
        connections.opened
            >= connections.closed_by_server + connections.closed_idle + connections.closed_when_done + connections.lost
    );
    report
}

fn client_of(asked: &Asked) -> u32 {
    asked.head.split("x-sojourn-client: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap()
}

fn is_page(asked: &Asked) -> bool {
    asked.head.starts_with("GET /0 ")
}

#[test]
fn embedded_files_take_as_many_connections_as_they_may_and_no_more() {
    // Embedded files are answered four at a time: with fewer connections the run would never end.
    let four = Arc::new(Barrier::new(4));
    let under_way: Arc<Mutex<(i32, i32)>> = Arc::default();
    let most = Arc::clone(&under_way);
    let server = Server::start(move |asked| {
        {
            let mut under_way = under_way.lock().unwrap();
            under_way.0 += 1;
            under_way.1 = under_way.1.max(under_way.0);
        }
        if !is_page(asked) {
            four.wait();
        }
        // Counted as over before the reply leaves: the client cannot have asked for more yet.
        under_way.lock().unwrap().0 -= 1;
        vec![ok("x")]
    });
    let habits = Habits { embedded: 8, pages: 2, ..HABITS };
    let report = browse(load(&server, 1, habits, 4, KEEPING, 6));
    assert_eq!(report.objects.unwrap().counts.ok, 6);
    assert_eq!(most.lock().unwrap().1, 4);
    // Three sessions, each on four connections.
    assert_eq!(server.connections(), 12);
    assert_eq!((report.connections.opened, report.connections.reused), (12, 6 * 9 - 12));
    assert_eq!(report.connections.closed_when_done, 12);
}

#[test]
fn connections_are_opened_only_when_needed() {
    let server = Server::start(|_| vec![ok("x")]);
    // A page with one file needs one connection at a time, with none as well.
    for embedded in [0, 1] {
        let before = server.connections();
        let report = browse(load(&server, 1, Habits { embedded, pages: 5, ..HABITS }, 4, KEEPING, 10));
        assert_eq!(report.objects.unwrap().counts.ok, 10);
        assert_eq!(server.connections() - before, 2, "one per session");
    }
    // Where one connection is all, everything goes over it in order.
    let before = server.heads().len();
    let report = browse(load(&server, 1, Habits { embedded: 3, pages: 5, ..HABITS }, 1, KEEPING, 5));
    assert_eq!(report.connections.opened, 1);
    let asked: Vec<String> = server.heads()[before..].iter().map(|head| head[5..6].to_string()).collect();
    assert_eq!(asked.concat(), "0123".repeat(5));
}

#[test]
fn http_1_0_takes_a_connection_per_file_however_the_reply_ends() {
    let server = Server::start(|asked| match asked.number % 3 {
        // The client closes: the server waits for it.
        0 => vec![ok("abc"), Act::Hang],
        1 => vec![ok("abc"), Act::Close],
        _ => vec![Act::Send(b"HTTP/1.0 200 OK\r\n\r\nabc".to_vec()), Act::Close],
    });
    let report = browse(load(&server, 2, HABITS, 4, Http::V10, 12));
    let files = 12 * 3;
    assert_eq!(report.objects.unwrap().counts.ok, 12);
    assert_eq!((report.counts.ok, report.bytes), (files, 3 * files));
    assert_eq!(server.connections() as u64, files);
    assert_eq!((report.connections.opened, report.connections.reused), (files, 0));
    assert_eq!(report.connections.closed_when_done, files);
    assert!(server.heads().iter().all(|head| head.lines().next().unwrap().ends_with(" HTTP/1.0")));
}

#[test]
fn the_end_of_a_session_closes_its_connections() {
    let server = Server::start(|_| vec![ok("x")]);
    let report = browse(load(&server, 3, Habits { pages: 4, ..HABITS }, 2, KEEPING, 48));
    let connections = report.connections;
    // Every session opens its own; one may be cut short by the end of the run.
    assert_eq!(server.connections() as u64, connections.opened);
    let sessions = report.objects.unwrap().records.unwrap().iter().filter(|record| record.first).count() as u64;
    assert!((sessions..=2 * sessions).contains(&connections.opened), "{connections:?} of {sessions} sessions");
    assert!(connections.closed_when_done >= connections.opened - 6);
    assert_eq!((connections.closed_idle, connections.closed_by_server, connections.lost), (0, 0, 0));
}

#[test]
fn the_client_closes_what_was_idle_for_the_keep_alive_time() {
    let server = Server::start(|_| vec![ok("x")]);
    let short = Http::V11 { keep_alive: Span(5 * MS) };
    // Thinking takes longer than a connection is kept, so that every page has a new one.
    let habits = Habits { think: Span(20 * MS), embedded: 0, pages: 100, ..HABITS };
    let report = browse(load(&server, 2, habits, 4, short, 20));
    assert_eq!((report.objects.unwrap().counts.ok, server.connections()), (20, 20));
    assert_eq!(report.connections.opened, 20);
    assert!((18..=20).contains(&report.connections.closed_idle), "{:?}", report.connections);
    assert_eq!(report.counts.retried, 0);
    // Where it is kept for longer, all go over one; its age does not matter.
    let long = Http::V11 { keep_alive: Span(20_000 * MS) };
    let report = browse(load(&server, 2, habits, 4, long, 20));
    assert_eq!((report.connections.opened, report.connections.closed_idle), (2, 0));
}

#[test]
fn a_connection_that_the_server_closed_is_opened_again_unseen() {
    let server = Server::keeping(Some(Duration::from_millis(3)), |_| vec![ok("x")]);
    let habits = Habits { think: Span(40 * MS), embedded: 1, pages: 100, ..HABITS };
    let report = browse(load(&server, 2, habits, 1, KEEPING, 20));
    assert_eq!(report.objects.unwrap().counts.ok, 20);
    assert_eq!((report.counts.ok, report.counts.failed()), (40, 0));
    assert!(report.connections.closed_by_server >= 10, "{:?}", report.connections);

    // Even when it closes while the request is on its way: the request goes out once more.
    let server = Server::start(|asked| if asked.on_connection == 0 { vec![ok("x")] } else { vec![Act::Close] });
    let report = browse(load(&server, 1, HABITS, 1, KEEPING, 6));
    assert_eq!((report.objects.unwrap().counts.ok, report.counts.failed()), (6, 0));
    // Each session's first file has a fresh connection, all others find theirs closed.
    assert_eq!(report.counts.retried, 6 * 3 - 2);
}

#[test]
fn an_off_time_passes_before_each_embedded_file() {
    let server = Server::start(|_| vec![ok("x")]);
    let habits = Habits { gap: Span(3 * MS), embedded: 4, ..HABITS };
    let report = browse(load(&server, 2, habits, 2, KEEPING, 10));
    let objects = report.objects.unwrap().records.unwrap();
    let records = report.records.unwrap();
    for object in objects {
        let mut free_at = [object.page_done.unwrap(); 2];
        for file in records.iter().filter(|record| record.k == object.k).skip(1) {
            // A connection takes the next file when it is free; to the nanosecond.
            let at = free_at.iter().position(|&free| free + Span(3 * MS) == file.planned);
            free_at[at.expect("due an OFF time after a connection was free")] = file.done;
        }
    }
}

#[test]
fn thinking_counts_from_the_end_of_the_object() {
    let server = Server::start(|_| vec![ok("x")]);
    for threads in [1, 2] {
        let mut load = load(&server, 3, HABITS, 2, KEEPING, 30);
        load.threads = threads;
        let report = browse(load);
        let objects = report.objects.unwrap();
        for (client, stream) in objects.streams().unwrap().into_iter().enumerate() {
            // Every user asks for its pages in order, whatever the others do, and thinks as told to the nanosecond.
            let page = |page| Visit { think: Span(MS), page, first: page % 3 == 0, last: page % 3 == 2 };
            let expected: Vec<Visit> = (0..stream.len() as u32).map(page).collect();
            assert_eq!(stream, expected, "user {client}");
        }
        let records = objects.records.unwrap();
        assert!(records.iter().enumerate().all(|(index, record)| record.k == index as u64));
    }
}

#[test]
fn a_file_that_fails_ends_its_object_and_the_user_thinks_on() {
    // Of every other page the second file is missing while the third hangs.
    let server = Server::start(|asked| match asked.head.as_bytes()[5] {
        b'1' if asked.head.contains("odd") => vec![reply("404 Not Found", "", "")],
        b'2' if asked.head.contains("odd") => vec![Act::Hang],
        _ => vec![ok("x")],
    });
    let odd = Habits { pages: 2, ..HABITS };
    let mut load = load(&server, 1, odd, 4, KEEPING, 10);
    load.headers.push(("x-kind".into(), "odd".into()));
    let report = browse(load);
    let objects = report.objects.as_ref().unwrap();
    assert_eq!((objects.counts.client_error, objects.counts.ok), (10, 0));
    assert_eq!(report.counts.client_error, 10);
    assert_eq!(report.counts.ok, 10, "the pages themselves came");
    assert_eq!(report.counts.abandoned, report.counts.planned - 20, "what was under way was given up");
    // They failed, but no user was turned away.
    assert_eq!(objects.measured.planned, 10);
    let mut records = objects.records.clone().unwrap();
    records.sort_by_key(|record| record.planned);
    for pair in records.windows(2) {
        assert!(pair[1].planned >= pair[0].done + Span(MS), "the user thinks on");
    }
}

/// A user of one page, who then leaves.
fn once(client: u32, habits: Habits) -> Browse {
    let mut browse = user(client, habits);
    Box::new(move |fetches| {
        let visit = browse(fetches);
        Visit { think: if visit.page == 0 { visit.think } else { Span::FOREVER }, ..visit }
    })
}

#[test]
fn who_is_turned_away_is_denied() {
    // Of every other user's page the second file hangs; all at once, so that they are waited for once.
    let hangs = |asked: &Asked| client_of(asked) % 2 == 1 && !is_page(asked);
    let server = Server::start(move |asked| if hangs(asked) { vec![Act::Hang] } else { vec![ok("x")] });
    let habits = Habits { embedded: 1, ..HABITS };
    let mut load = load(&server, 20, habits, 1, KEEPING, 20);
    let users = (0..20).map(|client| once(client, habits)).collect();
    load.schedule = Schedule::Sessions { users, parallel: 1, http: KEEPING };
    load.timeout = Span(3_000 * MS);
    let report = browse(load);
    let counts = report.objects.as_ref().unwrap().counts;
    assert_eq!((counts.ok, counts.timeout, report.counts.timeout), (10, 10, 10));
    assert_eq!(report.value("denied_ratio"), Some(0.5));
    assert_eq!(report.value("error_ratio"), Some(0.5));
    assert_eq!((report.value("quality_high"), report.value("quality_low")), (Some(0.5), Some(0.5)));
    assert_eq!(report.value("quality_incremental_average"), Some(0.0));
    // Whole objects alone are in the sample of response times; their pages all are.
    assert_eq!(report.response.count(), 10);
    assert_eq!(report.objects.unwrap().page_response.count(), 20);
}

#[test]
fn patience_is_with_each_file() {
    let server = Server::start(|asked| if is_page(asked) { vec![ok("x")] } else { vec![Act::Hang] });
    let habits = Habits { patience: Span(2_000 * MS), ..HABITS };
    let mut load = load(&server, 5, habits, 4, KEEPING, 5);
    let users = (0..5).map(|client| once(client, habits)).collect();
    load.schedule = Schedule::Sessions { users, parallel: 4, http: KEEPING };
    let report = browse(load);
    let objects = report.objects.unwrap();
    assert_eq!((objects.counts.abandoned, report.counts.ok, report.counts.abandoned), (5, 5, 10));
    for object in objects.records.unwrap() {
        assert!(object.done >= object.page_done.unwrap() + Span(2_000 * MS));
    }
}

#[test]
fn the_end_the_warm_up_and_the_cut_off_count_objects() {
    let server = Server::start(|asked| match client_of(asked) {
        // This one's second file never comes.
        2 if !is_page(asked) => vec![Act::Hang],
        _ => vec![ok("x")],
    });
    let mut load = load(&server, 3, HABITS, 4, KEEPING, 1);
    load.stop = Stop::After(Span(3_000 * MS));
    load.warm_up = Span(1_000 * MS);
    load.grace = Span(4_000 * MS);
    let report = browse(load);
    let objects = report.objects.as_ref().unwrap();
    assert_eq!((objects.counts.unfinished, objects.counts.failed()), (1, 0));
    assert_eq!(objects.measured.unfinished, 0, "it was planned in the warm-up");
    assert_eq!(report.counts.unfinished, 2, "both of its files");
    let records = objects.records.as_ref().unwrap();
    assert!(records.iter().all(|record| record.planned.0 < 3_000 * MS));
    let measured = records.iter().filter(|record| record.planned.0 >= 1_000 * MS).count() as u64;
    assert!(measured > 0 && measured < objects.counts.planned);
    assert_eq!((objects.measured.planned, report.response.count()), (measured, measured));
    // Files count with their object.
    assert_eq!(report.measured.planned, 3 * measured);
    assert_eq!(objects.file_response.count(), 3 * measured);
    for metric in ["response_time_mean", "response_time_p50", "page_response_time_mean", "file_response_time_mean"] {
        assert!(report.value(metric).is_some_and(|s| s > 0.0 && s < 1.0), "{metric}");
    }
    let rates = ["throughput", "file_throughput", "byte_throughput"].map(|metric| report.value(metric).unwrap());
    assert!(rates[0] > 0.0 && rates[1] >= rates[0] && rates[2] >= rates[1] * 0.99, "{rates:?}");
}

#[test]
fn cookies_and_names_are_the_users() {
    let server = Server::start(|asked| {
        let client = client_of(asked);
        vec![reply("200 OK", &format!("set-cookie: SOJOURN=of-{client}; Path=/\r\n"), "x")]
    });
    let mut load = load(&server, 4, HABITS, 4, KEEPING, 40);
    (load.cookies, load.threads) = (true, 2);
    let report = browse(load);
    assert_eq!(report.counts.ok, 120);
    let mut without = 0;
    for head in server.heads() {
        let client = head.split("x-sojourn-client: ").nth(1).unwrap().split("\r\n").next().unwrap();
        match head.split("cookie: SOJOURN=of-").nth(1) {
            Some(rest) => assert_eq!(rest.split("\r\n").next().unwrap(), client),
            None => without += 1,
        }
    }
    assert_eq!(without, 4, "each user's first page");
}

#[test]
fn objects_are_told_apart_by_the_backend_of_their_page() {
    // Pages of odd users come from one backend, all else from the other: threads hear of them in different orders.
    let server = Server::start(|asked| {
        let name = if client_of(asked) % 2 == 1 && is_page(asked) { "a" } else { "b" };
        vec![reply("200 OK", &format!("x-sojourn-backend: {name}\r\n"), "xyz")]
    });
    let mut load = load(&server, 4, HABITS, 4, KEEPING, 60);
    load.threads = 2;
    let report = browse(load);
    let objects = report.objects.unwrap();
    assert_eq!(report.backends.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let records = objects.records.unwrap();
    assert!(records.iter().all(|record| record.backend == Some(u16::from(record.client % 2 == 0))));
    let odd: Vec<f64> = records
        .iter()
        .filter(|record| record.client % 2 == 1)
        .map(|record| record.done.saturating_since(record.planned).as_secs_f64())
        .collect();
    assert_eq!(objects.backends.iter().map(|of| of.count).sum::<u64>(), 60);
    assert_eq!(objects.backends[0].count, odd.len() as u64);
    let mean = objects.backends[0].response_time_mean.value().unwrap();
    assert!((mean - odd.iter().sum::<f64>() / odd.len() as f64).abs() < 1e-9);
    let bytes: u64 = report.backends.iter().map(|(_, replies)| 3 * replies).sum();
    assert_eq!((bytes, report.backend_bytes.iter().sum::<u64>()), (180 * 3, 180 * 3));
}

#[test]
fn a_server_that_is_gone_refuses_every_page() {
    let (_held, address) = hold_port();
    let listener = shared_socket(address);
    listener.listen(16).unwrap();
    // Takes the first connection, which only looks whether a server is there, and is gone.
    let gone = std::thread::spawn(move || drop(listener.accept()));
    let habits = Habits { think: Span(20 * MS), ..HABITS };
    let schedule = Schedule::Sessions { users: vec![user(0, habits)], parallel: 4, http: KEEPING };
    let mut load = Load::new(address, "test", schedule, Targets::Work);
    load.stop = Stop::Requests(20);
    load.keep_records = true;
    let report = browse(load);
    gone.join().unwrap();
    let objects = report.objects.as_ref().unwrap();
    assert_eq!((objects.counts.ok, objects.counts.failed()), (0, 20));
    assert!(objects.counts.refused > 0, "{:?}", objects.counts);
    let denied = report.value("denied_ratio").unwrap();
    assert!((denied - objects.counts.refused as f64 / 20.0).abs() < 1e-12, "{denied} {:?}", objects.counts);
    assert_eq!(report.value("quality_low"), Some(1.0));
    assert!(objects.records.as_ref().unwrap().iter().all(|object| object.page_done.is_none() && object.files == 1));
}

#[test]
fn emulated_work_goes_by_the_file_s_demand() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = load(&server, 1, HABITS, 4, KEEPING, 1);
    load.targets = Targets::Work;
    browse(load);
    let head = &server.heads()[0];
    assert!(head.starts_with("GET /work/0?bytes=100 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("x-sojourn-demand: 7\r\n") && head.contains("x-sojourn-client: 0\r\n"), "{head}");
}

#[test]
fn a_file_without_a_path_fails_its_object() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut load = load(&server, 1, HABITS, 4, KEEPING, 4);
    load.targets = Targets::Paths(vec!["/0".into(), "/1".into()]);
    let report = browse(load);
    let counts: Counts = report.objects.unwrap().counts;
    assert_eq!((counts.local, report.counts.local), (4, 4));
}

#[test]
fn impossible_numbers_are_one_clear_line() {
    let server = Server::start(|_| vec![ok("x")]);
    for parallel in [0, 65] {
        let error = try_run(load(&server, 1, HABITS, parallel, KEEPING, 1)).expect_err("no such number");
        assert_eq!(error.to_string(), format!("parallel = {parallel}: a user has 1 to 64 connections"));
    }
    let mut two_threads = load(&server, 1, HABITS, 1, KEEPING, 1);
    two_threads.threads = 2;
    assert!(try_run(two_threads).is_err());
    assert!(server.heads().is_empty());
}
