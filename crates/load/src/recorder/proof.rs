//! What a thread records of a handful of requests, and what two threads record together, each number by hand.

use sojourn_stats::{Histogram, Span, Time};
use sojourn_traffic::Request;

use crate::outcome::{Connections, Counts, Outcome};
use crate::recorder::division::{Division, Windowing};
use crate::recorder::passes::StepTally;
use crate::recorder::record::ObjectRecord;
use crate::recorder::{Keep, Recorder, ReplyFacts, Slice};
use crate::request::scenario::Scenarios;
use crate::schedule::job::{ANYWHERE, Job};
use crate::schedule::passes::{PassEnd, PassEnded};
use crate::wire::exchange::Exchange;

/// A warm-up of 1 s, then twenty windows of a second each.
fn recorder() -> Recorder {
    let division = Division { warm_up: at(1000), windowing: Windowing::Until(at(21_000)) };
    let keep = Keep { emitted: true, records: Some(8), objects: false, watched: true, again: true };
    Recorder::new(division, keep, None)
}

fn at(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

fn job(k: u64, planned_ms: u64) -> Job {
    let request = Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience: Span::FOREVER };
    Job::new(k, ANYWHERE, at(planned_ms), at(planned_ms), request)
}

fn sent(job: Job, ms: u64) -> Exchange {
    Exchange { sent: Some(at(ms)), ..Exchange::new(job, at(ms)) }
}

fn reply(status: u16, bytes: u64, backend: &[u8]) -> ReplyFacts<'_> {
    ReplyFacts { status, bytes, backend }
}

/// Taken, begun and sent when planned, and over so much (ms) later.
fn pass(recorder: &mut Recorder, job: Job, took: u64, outcome: Outcome, facts: ReplyFacts) {
    let ms = job.planned.0 / 1_000_000;
    recorder.taken(&job, job.planned);
    recorder.begun(&job, job.planned, true);
    recorder.over(&job, Some(&sent(job, ms)), outcome, at(ms + took), facts);
}

/// One request of the warm-up; one that waits for a connection, is redirected and sent once more; one that fails; and one
/// that is begun after the end.
fn first() -> Recorder {
    let mut all = recorder();
    pass(&mut all, job(0, 500), 200, Outcome::Ok, reply(200, 10, b"x"));
    let waits = job(1, 1500);
    all.taken(&waits, at(1510));
    all.queued(&waits);
    all.begun(&waits, at(1600), false);
    all.redirected(&waits);
    all.retried(&waits);
    let exchange = Exchange {
        resolved: Some(at(1610)),
        connected: Some(at(1630)),
        secured: Some(at(1660)),
        first_byte: Some(at(1720)),
        hops: 300,
        ..Exchange { begun: at(1600), ..sent(waits, 1670) }
    };
    let settled = all.over(&waits, Some(&exchange), Outcome::Ok, at(1750), reply(200, 100, b"x"));
    assert_eq!((settled.outcome, settled.bytes, settled.backend), (Outcome::Ok, 100, Some(0)));
    let fails = job(2, 2500);
    all.taken(&fails, at(2500));
    all.begun(&fails, at(2520), true);
    all.over(&fails, Some(&sent(fails, 2520)), Outcome::ServerError, at(2600), reply(503, 7, b"y"));
    let late = job(3, 20_900);
    all.taken(&late, at(20_900));
    all.begun(&late, at(21_100), true);
    all.over(&late, Some(&sent(late, 21_100)), Outcome::Ok, at(21_250), reply(200, 1000, b"y"));
    all.connections = Connections { opened: 3, ..Connections::default() };
    all.close();
    all
}

/// Two requests at once, then two that fail.
fn second() -> Recorder {
    let mut all = recorder();
    let (longer, shorter) = (job(4, 3400), job(5, 3500));
    for job in [longer, shorter] {
        all.taken(&job, job.planned);
        all.begun(&job, job.planned, true);
    }
    let connected = Exchange { connected: Some(at(3540)), ..sent(longer, 3400) };
    all.over(&longer, Some(&connected), Outcome::Ok, at(3550), reply(200, 20, b"y"));
    all.over(&shorter, Some(&sent(shorter, 3500)), Outcome::Ok, at(3600), reply(200, 50, b"w"));
    pass(&mut all, job(6, 4500), 100, Outcome::ClientError, reply(404, 0, b""));
    pass(&mut all, job(7, 4700), 100, Outcome::ServerError, reply(503, 0, b""));
    all.connections = Connections { opened: 2, reused: 2, ..Connections::default() };
    all.close();
    all
}

/// How many times (ns) there are, and their sum (ms), which a histogram has exactly.
fn of(times: &Histogram) -> (u64, f64) {
    (times.count(), (times.mean().unwrap_or(0.0) * times.count() as f64 * 1e-6).round())
}

fn slice(recorder: &Recorder, ms: u64) -> [u64; 10] {
    recorder.slices[(ms / 100) as usize].into()
}

#[test]
fn a_thread_counts_each_request_where_it_belongs() {
    let all = first();
    let counts =
        Counts { planned: 4, ok: 3, server_error: 1, queued: 1, redirected: 1, retried: 1, ..Counts::default() };
    assert_eq!(all.whole, counts);
    let one = Counts { planned: 1, ok: 1, ..Counts::default() };
    assert_eq!(all.windows[0].counts, Counts { queued: 1, redirected: 1, retried: 1, ..one });
    assert_eq!(all.windows[1].counts, Counts { planned: 1, server_error: 1, ..Counts::default() });
    assert_eq!(all.windows[19].counts, one);
    assert_eq!((of(&all.windows[0].response), all.windows[0].service_sum_ns), ((1, 250.0), 80_000_000));
    assert_eq!((of(&all.windows[19].response), all.windows[19].service_sum_ns), ((1, 350.0), 150_000_000));
    assert_eq!((of(&all.service), of(&all.lateness)), ((2, 230.0), (2, 220.0)));
    assert_eq!((all.begun_in_time, all.bytes, all.last_done()), (2, 1117, at(21_250)));
    // From due to over, and from noticed to over.
    assert_eq!((all.inside_sum_ns, all.area_ns), (700_000_000, 690_000_000));
    assert_eq!(all.statuses.iter().map(|(status, count)| (*status, *count)).collect::<Vec<_>>(), [(503, 1)]);
    assert_eq!((of(&all.refusals.0[1]), of(&all.refusals.0[0])), ((1, 100.0), (0, 0.0)));
    assert_eq!(all.backends, [(b"x".to_vec(), [1, 100]), (b"y".to_vec(), [2, 1007])]);
    let recent = all.recent.as_ref().unwrap();
    assert_eq!((of(&recent.response), of(&recent.lateness)), ((3, 800.0), (3, 220.0)));
    assert_eq!(all.emitted.as_ref().unwrap().runs()[0].len(), 3);
    assert_eq!(
        all.intervals.all().iter().map(|second| second.start).collect::<Vec<_>>(),
        [0, 1000, 2000, 21_000].map(at)
    );
    for (step, ms) in all.steps.iter().zip([10.0, 20.0, 30.0, 50.0]) {
        assert_eq!((of(&step.0[0]), of(&step.0[19])), ((1, ms), (0, 0.0)));
    }
}

#[test]
fn a_tenth_of_a_second_has_what_happened_in_it() {
    let all = first();
    // Planned, begun, good, failed, sum of the response times (ns), bytes, objects, wrong and given up of those planned.
    assert_eq!(slice(&all, 500), [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(slice(&all, 700), [0, 0, 1, 0, 200_000_000, 10, 0, 0, 0, 0]);
    assert_eq!(
        (slice(&all, 1500), slice(&all, 1600)),
        ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    );
    assert_eq!(slice(&all, 1750), [0, 0, 1, 0, 250_000_000, 100, 0, 0, 0, 0]);
    assert_eq!(
        (slice(&all, 2500), slice(&all, 2600)),
        ([1, 1, 0, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 7, 0, 0, 0, 0])
    );
    assert_eq!(<[u64; 10]>::from(Slice::from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let mut gave_up = recorder();
    assert!(!gave_up.may_leave && !all.may_leave);
    let patience = Span(300_000_000);
    let leaves = Job { request: Request { patience, ..job(8, 1200).request }, ..job(8, 1200) };
    pass(&mut gave_up, leaves, 300, Outcome::Abandoned, reply(0, 0, b""));
    assert_eq!(slice(&gave_up, 1200), [1, 1, 0, 0, 0, 0, 0, 0, 1, 0]);
    let both = Recorder::merged(vec![all, gave_up]);
    assert!(both.may_leave);
    assert_eq!((slice(&both, 1200)[8], slice(&both, 2500)[7]), (1, 1));
}

#[test]
fn a_record_has_every_instant() {
    let all = first();
    let records = all.records.unwrap();
    assert_eq!(records.iter().map(|record| record.k).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let one = &records[1];
    assert_eq!((one.outcome, one.status, one.bytes, one.backend, one.hops), (Outcome::Ok, 200, 100, Some(0), 255));
    let instants = [Some(one.planned), one.begun, one.resolved, one.connected, one.secured, one.sent, one.first_byte];
    assert_eq!(instants, [1500, 1600, 1610, 1630, 1660, 1670, 1720].map(|ms| Some(at(ms))));
    assert_eq!(one.done, at(1750));
}

#[test]
fn two_threads_are_one_in_either_order() {
    for threads in [vec![first(), second()], vec![second(), first()]] {
        let all = Recorder::merged(threads);
        let failed = Counts { server_error: 2, client_error: 1, ..Counts::default() };
        let counts = Counts { planned: 8, ok: 5, queued: 1, redirected: 1, retried: 1, ..failed };
        assert_eq!(all.whole, counts);
        assert_eq!(all.windows[2].counts, Counts { planned: 2, ok: 2, ..Counts::default() });
        assert_eq!((of(&all.windows[2].response), all.windows[2].service_sum_ns), ((2, 250.0), 250_000_000));
        assert_eq!((of(&all.windows[0].response), all.windows[0].service_sum_ns), ((1, 250.0), 80_000_000));
        assert_eq!((of(&all.service), of(&all.lateness)), ((4, 480.0), (6, 220.0)));
        assert_eq!((all.begun_in_time, all.bytes, all.last_done()), (6, 1187, at(21_250)));
        assert_eq!((all.inside_sum_ns, all.area_ns), (1_150_000_000, 1_140_000_000));
        assert_eq!(
            all.statuses.iter().map(|(status, count)| (*status, *count)).collect::<Vec<_>>(),
            [(404, 1), (503, 2)]
        );
        assert_eq!((of(&all.refusals.0[1]), of(&all.refusals.0[3])), ((1, 100.0), (2, 200.0)));
        let backends = [("w", [1, 50]), ("x", [1, 100]), ("y", [3, 1027])];
        assert_eq!(all.backends, backends.map(|(name, sums)| (name.as_bytes().to_vec(), sums)));
        let records = all.records.as_ref().unwrap();
        let of_records: Vec<_> = records.iter().map(|record| (record.k, record.backend)).collect();
        let (w, x, y) = (Some(0), Some(1), Some(2));
        assert_eq!(of_records, [(0, x), (1, x), (2, y), (3, y), (4, y), (5, w), (6, None), (7, None)]);
        assert_eq!(all.connections, Connections { opened: 5, reused: 2, ..Connections::default() });
        assert_eq!(all.emitted.as_ref().unwrap().runs().concat().len(), 7);
        let seconds: Vec<_> = all.intervals.all().iter().map(|second| second.start).collect();
        assert_eq!(seconds, [0, 1000, 2000, 3000, 4000, 21_000].map(at));
        let connected = &all.steps[1].0;
        assert_eq!((of(&connected[0]), of(&connected[2])), ((1, 20.0), (1, 140.0)));
        assert_eq!((all.slices.len(), slice(&all, 1750)[2]), (213, 1));
        assert_eq!(
            (slice(&all, 3500), slice(&all, 3600)),
            ([1, 1, 1, 0, 150_000_000, 20, 0, 0, 0, 0], [0, 0, 1, 0, 100_000_000, 50, 0, 0, 0, 0])
        );
        assert_eq!(slice(&all, 4600), [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn what_both_threads_did_in_a_tenth_of_a_second_is_added() {
    let all = Recorder::merged(vec![first(), first()]);
    assert_eq!(slice(&all, 700), [0, 0, 2, 0, 400_000_000, 20, 0, 0, 0, 0]);
    assert_eq!((slice(&all, 2500)[..2].to_vec(), slice(&all, 2600)[3]), (vec![2, 2], 2));
    assert_eq!((of(&all.steps[3].0[0]), of(&all.refusals.0[1])), ((2, 100.0), (2, 200.0)));
}

/// So many names are those of backends; more are something else, and are not counted.
#[test]
fn names_of_backends_are_no_more_than_4096() {
    let mut all = recorder();
    let mut numbers = (0..4097).map(|name: u32| all.backend(&name.to_be_bytes()));
    assert_eq!((numbers.nth(4095), numbers.next()), (Some(Some(4095)), Some(None)));
    assert_eq!(all.backend(&7_u32.to_be_bytes()), Some(7));
}

/// Of users who browse it is whole objects whose times count second by second; those that fail are none.
#[test]
fn whole_objects_are_counted_when_they_are_over() {
    let browsing = || {
        let division = Division { warm_up: at(1000), windowing: Windowing::Until(at(21_000)) };
        let mut all = Recorder::new(division, Keep { objects: true, ..Keep::default() }, None);
        // Its only file.
        pass(&mut all, job(0, 2000), 300, Outcome::Ok, reply(200, 10, b""));
        let object = |k, planned: u64, took: u64, outcome| ObjectRecord {
            k,
            client: 0,
            page: 0,
            first: true,
            last: false,
            outcome,
            planned: at(planned),
            page_done: None,
            backend: None,
            done: at(planned + took),
            files: 1,
            bytes: 10,
        };
        all.object_over(&object(0, 2000, 350, Outcome::Ok));
        all.object_over(&object(1, 2200, 50, Outcome::ServerError));
        all.close();
        all
    };
    let all = Recorder::merged(vec![browsing(), browsing()]);
    assert_eq!((slice(&all, 2300), slice(&all, 2250)), ([0, 0, 2, 0, 600_000_000, 20, 2, 0, 0, 0], [0; 10]));
    let seconds = all.intervals.all();
    let mut response = Histogram::new();
    seconds.iter().for_each(|second| response.merge_sparse(&second.response));
    assert_eq!(of(&response), (2, 700.0), "each object once, and no file");
    let objects = all.objects.unwrap();
    assert_eq!((objects.whole.planned, objects.whole.ok, objects.whole.server_error), (4, 2, 2));
}

/// Of users who follow a scenario: their passes, and of each step what it came to and what did not come out.
#[test]
fn passes_and_steps_are_counted_after_the_warm_up() {
    let text = "[[step]]\nname = \"home\"\npath = \"/\"\ncheck = { status = 200 }\n";
    let scenarios = Scenarios::parse(&[(text, std::path::Path::new("scenario.toml"))]).unwrap();
    let follows = |from: u64| {
        let mut all = recorder().with_steps(StepTally::of(&scenarios));
        for (k, outcome) in [(0, Outcome::Ok), (1, Outcome::Check)] {
            let planned = from + 1000 * k;
            pass(&mut all, job(k, planned), 200, outcome, reply(200, 0, b""));
            if outcome == Outcome::Check {
                all.fault(&job(k, planned), 0);
            }
            let end = if outcome == Outcome::Ok { PassEnd::Whole } else { PassEnd::Failed };
            all.pass_over(&PassEnded { k, began: at(planned), end, leaves: None }, at(planned + 200));
        }
        all.close();
        all
    };
    let told =
        |recorder: Recorder| recorder.passes.unwrap().report(|times, p| times.quantile(p).map(|ns| ns as f64 * 1e-9));
    let passes = told(Recorder::merged(vec![follows(2000), follows(3000)]));
    assert_eq!((passes.whole, passes.failed, passes.unfinished), (2, 2, 0));
    let home = &passes.steps[0];
    assert_eq!((home.name.as_str(), home.ok, home.failed, home.response_time_mean_s), ("home", 2, 2, Some(0.2)));
    assert_eq!(home.faults.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2]);
    let warming = told(follows(0));
    assert_eq!((warming.whole, warming.failed, warming.steps[0].ok), (0, 1, 0), "the first of them is of the warm-up");
    assert!(recorder().with_steps(Vec::new()).passes.is_none());
}
