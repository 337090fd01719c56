//! One load in several shares is the load in one: every request once, and what they measured adds up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sojourn_load::emitted::Emitted;
use sojourn_load::{
    Load, LoadError, Outcome, Proof, Record, Report, Schedule, Second, Share, ShareReport, Stop, Targets,
};
use sojourn_stats::{Histogram, Span, Time};
use sojourn_traffic::{Planned, Request, Step};

use crate::run::{MS, open, request, run, saturate, steady, try_run};
use crate::server::{Server, ok, reply};

fn run_share(load: Load) -> ShareReport {
    sojourn_load::run_share(load, &Arc::default(), &|_| {}).expect("the server is there")
}

/// A report of this share only.
fn alone(share: &ShareReport) -> Report {
    Report::of_shares(vec![serde_json::from_str(&serde_json::to_string(share).unwrap()).unwrap()])
}

/// All three shares at once.
fn thirds(load: impl Fn() -> Load + Sync) -> Vec<ShareReport> {
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..3)
            .map(|index| {
                let load = Load { share: Share { index, of: 3 }, ..load() };
                scope.spawn(move || run_share(load))
            })
            .collect();
        shares.into_iter().map(|share| share.join().unwrap()).collect()
    })
}

fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.k).collect()
}

#[test]
fn three_shares_of_a_plan_are_the_plan() {
    let server = Server::start(|asked| {
        let backend = if asked.number % 2 == 0 { "even" } else { "odd" };
        vec![reply("200 OK", &format!("x-sojourn-backend: {backend}\r\n"), "hello")]
    });
    let shares = thirds(|| Load { threads: 2, ..open(server.address, steady(301, Span(MS))) });
    for (index, share) in shares.iter().enumerate() {
        let alone = alone(share);
        assert!(matches!(&alone.verdict, Proof::Incomplete(why) if why.contains("of 3 shares")), "{:?}", alone.verdict);
        let expected: Vec<u64> = (0..301).filter(|k| k % 3 == index as u64).collect();
        assert_eq!(numbers(alone.records.as_ref().unwrap()), expected);
    }

    // Over a pipe they stay what they are.
    let texts: Vec<String> = shares.iter().map(|share| serde_json::to_string(share).unwrap()).collect();
    let read = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let mut sum = Histogram::new();
    for share in &shares {
        sum.merge(&alone(share).response);
    }
    let together = Report::of_shares(shares);
    let told = Report::of_shares(read);
    assert_eq!(together.counts, told.counts);
    assert!(together.records == told.records && together.intervals == told.intervals);
    assert!(
        [&together.response, &together.service, &together.lateness] == [&told.response, &told.service, &told.lateness]
    );
    assert_eq!((together.gaps, &together.measures), (told.gaps, &told.measures));

    assert_eq!((together.counts.planned, together.counts.ok), (301, 301));
    assert_eq!(numbers(together.records.as_ref().unwrap()), (0..301).collect::<Vec<_>>());
    assert!(!matches!(together.verdict, Proof::Incomplete(_)));
    assert_eq!(together.response, sum);
    let p50 = together.value("response_time_p50");
    assert!(p50.is_none_or(|p50| p50 == sum.quantile(0.5).unwrap() as f64 * 1e-9), "{p50:?}");
    assert_eq!(together.threads, 6);
    assert_eq!(together.seconds.iter().map(|second| second.begun).sum::<u64>(), 301);
    let late_s = |second: &Second| second.lateness_mean_s.unwrap_or(0.0) * second.begun as f64;
    let (of_seconds, whole) = (together.seconds.iter().map(late_s).sum::<f64>(), together.lateness.mean().unwrap());
    assert!(
        (of_seconds / (whole * 1e-9 * together.lateness.count() as f64) - 1.0).abs() < 0.02,
        "{of_seconds} {whole}"
    );
    assert_eq!(together.gaps.unwrap().count, 300, "the gaps between the requests of all shares were looked at");
    let names: Vec<&str> = together.backends.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["even", "odd"]);
    let of_records = |backend| together.records.iter().flatten().filter(|r| r.backend == Some(backend)).count() as u64;
    assert_eq!((together.backends[0].1, together.backends[1].1), (of_records(0), of_records(1)));
}

#[test]
fn users_and_connections_are_dealt_to_shares() {
    let server = Server::start(|_| vec![ok("x")]);
    let users = |count: u32| {
        let user = |client| {
            Box::new(move || Step { think: Span(MS), request: request(client) }) as Box<dyn FnMut() -> Step + Send>
        };
        Schedule::Users((0..count).map(user).collect())
    };
    let shares = thirds(|| {
        let mut load = Load::new(server.address, "test", users(7), Targets::Work);
        (load.stop, load.keep_records) = (Stop::Requests(70), true);
        load
    });
    for (index, share) in shares.iter().enumerate() {
        let records = alone(share).records.unwrap();
        assert!(records.iter().all(|record| record.client % 3 == index as u32));
    }
    assert_eq!(numbers(&Report::of_shares(shares).records.unwrap()), (0..70).collect::<Vec<_>>());

    let shares = thirds(|| saturate(server.address, 4, 100));
    assert_eq!(numbers(&Report::of_shares(shares).records.unwrap()), (0..100).collect::<Vec<_>>());
}

#[test]
fn cookies_keep_a_client_in_one_share() {
    let server = Server::start(|_| vec![ok("x")]);
    let shares = thirds(|| Load { cookies: true, ..open(server.address, steady(60, Span(MS))) });
    for (index, share) in shares.iter().enumerate() {
        let records = alone(share).records.unwrap();
        assert!(records.iter().all(|record| record.client % 3 == index as u32));
    }
    assert_eq!(Report::of_shares(shares).counts.ok, 60);
}

#[test]
fn a_start_that_has_passed_is_one_clear_line() {
    let server = Server::start(|_| vec![ok("x")]);
    let load = Load { start_at: Some(1), ..open(server.address, steady(1, Span(MS))) };
    let error = try_run(load).unwrap_err();
    assert!(matches!(error, LoadError::Late { .. }), "{error}");
    let load = Load { share: Share { index: 3, of: 3 }, ..open(server.address, steady(1, Span(MS))) };
    assert!(try_run(load).unwrap_err().to_string().contains("numbered from 0"));
}

#[test]
fn shares_start_together() {
    let server = Server::start(|_| vec![ok("x")]);
    let report = run(open(server.address, steady(1, Span(MS))));
    // As far ahead as any machine needs to begin three threads.
    let start_at = report.started_at_ns + 3_000_000_000;
    let shares = thirds(|| Load { start_at: Some(start_at), ..open(server.address, steady(9, Span(MS))) });
    for share in &shares {
        assert!(share.started_at_ns.abs_diff(start_at) < 500_000_000, "the wall clock was set during the test");
    }
    assert_eq!(Report::of_shares(shares).counts.ok, 9);
}

/// Requests for an object without a path cost no socket.
fn nowhere(client: u32) -> Request {
    Request { object: 1, ..request(client) }
}

#[test]
fn a_long_plan_is_drawn_as_it_is_sent() {
    let server = Server::start(|_| vec![ok("x")]);
    let drawn = Arc::new(AtomicU64::new(0));
    let load = |gap: u64, stop, clients: u64| {
        let drawn = Arc::clone(&drawn);
        let plan = (0..).map(move |k: u64| {
            drawn.fetch_add(1, Ordering::Relaxed);
            Planned { at: Time(k * gap), request: nowhere((k % clients) as u32) }
        });
        let mut load = Load::new(server.address, "test", Schedule::open(plan), Targets::Paths(vec!["/".into()]));
        (load.stop, load.threads, load.keep_records) = (stop, 2, true);
        load
    };
    let cancelled = Arc::new(AtomicBool::new(true));
    let long = load(MS, Stop::Requests(10_000_000), 5);
    let report = sojourn_load::run(long, &cancelled, &|_| {}).unwrap();
    assert!(matches!(report.verdict, Proof::Incomplete(_)));
    let before = drawn.swap(0, Ordering::Relaxed);
    assert!(before < 300_000, "{before} requests drawn before the first was due");

    for (stop, cookies) in
        [(Stop::Requests(400_000), false), (Stop::After(Span(400_000 * 1000)), false), (Stop::Requests(400_000), true)]
    {
        let mut load = load(1000, stop, 1);
        load.cookies = cookies;
        let report = run(load);
        assert_eq!((report.counts.planned, report.counts.local), (400_000, 400_000));
        assert!(report.records.unwrap().iter().enumerate().all(|(at, record)| record.k == at as u64));
        assert!(drawn.swap(0, Ordering::Relaxed) <= 400_001);
    }
}

#[test]
fn long_runs_keep_whole_stretches_of_what_they_sent() {
    let (mut one, mut other) = (Emitted::default(), Emitted::default());
    // The other thread stops in the middle, before it has thinned as often.
    for k in 0..10_000_000u64 {
        let thread = if k % 2 == 0 { &mut one } else { &mut other };
        if k < 3_000_000 || k % 2 == 0 {
            thread.push(k, Time(k * 1000), Time(k * 1000 + 7));
        }
    }
    let packed: Emitted = serde_json::from_str(&serde_json::to_string(&other).unwrap()).unwrap();
    one.absorb(packed);
    let runs = one.runs();
    let kept: usize = runs.iter().map(Vec::len).sum();
    assert!((300_000..1 << 20).contains(&kept), "{kept}");
    let mut steps: BTreeMap<u64, usize> = BTreeMap::new();
    for run in &runs {
        assert!(run.iter().all(|(planned, begun)| begun.0 == planned.0 + 7));
        for pair in run.windows(2) {
            *steps.entry(pair[1].0.0 - pair[0].0.0).or_default() += 1;
        }
    }
    assert_eq!(steps.keys().copied().collect::<Vec<_>>(), [1000, 2000], "neighbours stay neighbours");
}

#[test]
fn a_lost_share_is_missed() {
    let server = Server::start(|_| vec![ok("x")]);
    let mut shares = thirds(|| open(server.address, steady(30, Span(MS))));
    shares.remove(1);
    let report = Report::of_shares(shares);
    assert_eq!(report.verdict, Proof::Incomplete("of 3 shares there are [0, 2], counted from 0".into()));
    assert!(report.records.unwrap().iter().all(|record| record.outcome == Outcome::Ok));
}
