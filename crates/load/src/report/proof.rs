//! Each doubt of the verdict on scripted runs: one in which it is the only one, and one close by in which it is silent.
//!
//! A script says of each request when it was planned, noticed, begun and done; the recorder is told so in order of
//! time, as the loop tells it. No clock and no socket: nothing but the script can raise a doubt.

mod ends;
mod overload;
mod patience;

use sojourn_stats::{Dimension, Law, Span, Stream, Time};
use sojourn_traffic::Request;

use crate::outcome::Outcome;
use crate::recorder::division::{Division, Windowing};
use crate::recorder::records::Recorded;
use crate::recorder::{Keep, Recorder, ReplyFacts};
use crate::report::doubt::Cause;
use crate::report::limits::Limits;
use crate::report::measured::{Facts, ShareReport, ThreadFacts};
use crate::report::verdict::{Evidence, Proof, verdict};
use crate::report::{Pace, Report};
use crate::schedule::job::{ANYWHERE, Job};
use crate::setting::Pacing;
use crate::share::Share;
use crate::wire::exchange::Exchange;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const REQUESTS: u64 = 10_000;

/// A request: its instants (ns), and what became of it.
#[derive(Clone, Copy)]
struct Scripted {
    planned: u64,
    noticed: u64,
    begun: u64,
    done: u64,
    queued: bool,
    outcome: Outcome,
}

/// A run.
struct Script {
    requests: Vec<Scripted>,
    end: u64,
    warm_up: u64,
    asked: Option<Law>,
    busy: f64,
    waiting: f64,
    pacing: Pacing,
    cores: [(f64, f64); 2],
    lost: u64,
    disk: Option<&'static str>,
    limits: Limits,
}

/// 10,000 requests with gaps of this law, 1 ms in the mean; each is noticed 20 us after its time, begun 2 us later, and
/// answered within 5 ms. A doubt about it has a chance of at most 4 in a million; the seed is fixed.
fn run_of(gaps: &str) -> Script {
    let law = Law::parse(gaps, Dimension::Time).expect("the test's law is one");
    let mut stream = Stream::new(1, "proof", "plan");
    let mut at = 0;
    let requests = (0..REQUESTS).map(|_| {
        at += Span::from_secs_f64(law.sample(&mut stream)).0;
        let (noticed, begun) = (at + 20 * US, at + 22 * US);
        Scripted { planned: at, noticed, begun, done: begun + 5 * MS, queued: false, outcome: Outcome::Ok }
    });
    Script {
        requests: requests.collect(),
        end: at + 50 * MS,
        warm_up: 0,
        asked: Law::parse("exponential(mean = 1 ms)", Dimension::Time).ok(),
        busy: 0.3,
        waiting: 0.001,
        pacing: Pacing::Timer,
        cores: [(0.5, 0.0), (0.4, 0.0)],
        lost: 0,
        disk: None,
        limits: Limits::default(),
    }
}

fn clean() -> Script {
    run_of("exponential(mean = 1 ms)")
}

impl Script {
    /// With `change` to every `each`-th request.
    fn every(mut self, each: usize, change: fn(&mut Scripted)) -> Script {
        self.requests.iter_mut().step_by(each).for_each(change);
        self
    }

    /// With another setting.
    fn with(mut self, change: impl FnOnce(&mut Script)) -> Script {
        change(&mut self);
        self
    }

    fn report(&self) -> Report {
        let windowing = Windowing::Until(Time(self.end));
        let keep = Keep { emitted: true, ..Keep::default() };
        let mut recorder = Recorder::new(Division { warm_up: Time(self.warm_up), windowing }, keep, None);
        // Taken up, begun, over: what happens at one instant happens in this order.
        let mut events: Vec<(u64, u8, usize)> = Vec::new();
        for (index, one) in self.requests.iter().enumerate() {
            events.extend([(one.noticed, 0, index), (one.begun, 1, index), (one.done, 2, index)]);
        }
        events.sort_unstable();
        for (at, what, index) in events {
            let (one, at) = (&self.requests[index], Time(at));
            // Who gives up had a patience.
            let patience = match one.outcome {
                Outcome::Abandoned => Span(one.done - one.planned),
                _ => Span::FOREVER,
            };
            let request = Request { client: 0, class: 0, object: 0, size: 0, demand: Span::ZERO, patience };
            let job = Job::new(index as u64, ANYWHERE, Time(one.planned), Time(one.planned), request);
            let missed = one.outcome == Outcome::Missed;
            match what {
                0 => {
                    recorder.taken(&job, at);
                    if one.queued {
                        recorder.queued(&job);
                    }
                }
                1 if !missed => recorder.begun(&job, at, !one.queued),
                1 => {}
                _ => {
                    let sent = Some(Time(one.begun));
                    let exchange = Exchange { sent, first_byte: Some(at), ..Exchange::new(job, Time(one.begun)) };
                    let exchange = (!missed).then_some(&exchange);
                    recorder.over(&job, exchange, one.outcome, at, ReplyFacts::default());
                }
            }
        }
        recorder.close();
        let ended = Time(self.requests.iter().map(|one| one.done).max().unwrap_or(0).max(self.end));
        Report::of_shares(vec![ShareReport {
            share: Share::WHOLE,
            clock_offset_ns: 0,
            started_at_ns: 0,
            machine: String::new(),
            cores: self.cores.to_vec(),
            asked: self.asked.clone(),
            record_file: Some(Recorded {
                path: "records.csv".into(),
                written: 0,
                lost: self.lost,
                error: self.disk.map(String::from),
            }),
            recorder,
            facts: Facts {
                warm_up: Span(self.warm_up),
                end: Some(Time(self.end)),
                open: true,
                paced: true,
                pacing: self.pacing,
                timeout: Span(10_000 * MS),
                connections_max: 8,
                limits: self.limits,
            },
            threads: vec![ThreadFacts { cpu: Span(MS), busy: self.busy, waiting: Some(self.waiting) }],
            ended,
            cancelled: false,
        }])
    }

    /// What is doubted, each once.
    fn causes(&self) -> Vec<Cause> {
        let mut causes = match self.report().verdict {
            Proof::Suspect(doubts) => doubts.iter().map(|doubt| doubt.cause).collect(),
            _ => Vec::new(),
        };
        causes.dedup();
        causes
    }
}

/// Goes out late by so much, though noticed in time.
fn late(one: &mut Scripted, by: u64) {
    one.begun += by;
    one.done += by;
}

/// Is noticed late by so much.
fn unnoticed(one: &mut Scripted, by: u64) {
    one.noticed += by;
    late(one, by);
}

/// Answered within a second, and sent at the next tick of a clock.
fn ticking(one: &mut Scripted, period: u64) {
    one.begun = one.planned.div_ceil(period) * period + 22 * US;
    one.noticed = one.begun - 2 * US;
    one.done = one.begun + 1000 * MS;
}

/// Of the first `all` requests these last ones come together at the end, and are begun just after it.
fn crowded(all: usize, last: usize) -> Script {
    let mut script = Script { asked: None, ..clean() };
    script.requests.truncate(all);
    script.end = script.requests[all - 1].planned + 50 * MS;
    let end = script.end;
    for one in &mut script.requests[all - last..] {
        (one.planned, one.noticed, one.begun, one.done) = (end - MS / 2, end, end + MS / 4, end + 5 * MS);
    }
    script
}

#[test]
fn each_doubt_is_raised_alone_and_silent_close_by() {
    let every = |each, change| clean().every(each, change);
    let with = |change: fn(&mut Script)| clean().with(change);
    let failed = |one: &mut Scripted| one.outcome = Outcome::ServerError;
    let queued = |one: &mut Scripted| one.queued = true;
    let cases = [
        (Cause::Nothing, with(|run| run.warm_up = run.end), with(|run| run.warm_up = run.end / 2)),
        (Cause::Late, every(50, |one| late(one, 5 * MS)), every(200, |one| late(one, 5 * MS))),
        (Cause::Late, every(1, |one| late(one, MS)), every(1, |one| late(one, MS - 50 * US))),
        (Cause::Unnoticed, every(200, |one| unnoticed(one, 200 * MS)), every(1000, |one| unnoticed(one, 200 * MS))),
        (Cause::Emission, every(1, |one| ticking(one, 50 * MS)), every(1, |one| ticking(one, MS))),
        (
            Cause::Emission,
            every(1, |one| ticking(one, 50 * MS)).with(|run| run.asked = None),
            every(1, |one| ticking(one, MS)).with(|run| run.asked = None),
        ),
        (Cause::Shortfall, crowded(10_000, 500), crowded(10_000, 50)),
        // One request more or less is no share of a few.
        (Cause::Shortfall, crowded(50, 2), crowded(50, 1)),
        (Cause::Missed, every(5000, |one| one.outcome = Outcome::Missed), clean()),
        (Cause::Queued, every(500, queued), every(2000, queued)),
        (Cause::Errors, every(66, failed), every(200, failed)),
        (Cause::Busy, with(|run| run.busy = 0.92), with(|run| run.busy = 0.88)),
        (Cause::RunQueue, with(|run| run.waiting = 0.06), with(|run| run.waiting = 0.04)),
        (
            Cause::Cores,
            with(|run| run.cores = [(0.96, 0.0), (0.97, 0.0)]),
            with(|run| run.cores = [(1.0, 0.0), (0.94, 0.0)]),
        ),
        (
            Cause::Stolen,
            with(|run| run.cores = [(0.5, 0.0), (0.5, 0.03)]),
            with(|run| run.cores = [(0.5, 0.01), (0.5, 0.01)]),
        ),
        (Cause::LostRecords, with(|run| run.lost = 1), clean()),
        (Cause::LostRecords, with(|run| run.disk = Some("No space left on device")), clean()),
        (Cause::Plan, run_of("erlang(k = 2, mean = 1 ms)"), run_of("exponential(mean = 1.02 ms)")),
    ];
    for (number, (cause, beyond, inside)) in cases.iter().enumerate() {
        let found = beyond.report();
        assert_eq!(beyond.causes(), [*cause], "case {number}: {:?}", found.verdict.reasons());
        assert_eq!(inside.causes(), [], "case {number}, close by: {:?}", inside.report().verdict.reasons());
    }
}

#[test]
fn each_doubt_says_its_numbers() {
    let every = |each, change| clean().every(each, change);
    let with = |change: fn(&mut Script)| clean().with(change);
    let cases = [
        (every(50, |one| late(one, 5 * MS)), "more than 5.02 ms late (limit 1 ms)"),
        // Every 200th is noticed 200 ms late, all 20 us, of a mean of 5.022 ms and that millisecond.
        (every(200, |one| unnoticed(one, 200 * MS)), "17 % of the mean response time is the generator's own lateness"),
        (every(200, |one| unnoticed(one, 200 * MS)), "(`--spin`"),
        (every(5000, |one| one.outcome = Outcome::Missed), "2 requests were not sent"),
        (every(500, |one| one.queued = true), "20 requests had to wait for one of the 8 connections"),
        (with(|run| run.busy = 0.92), "was 92 % busy"),
        (with(|run| run.waiting = 0.06), "waited for a core 6 % of the time"),
        (with(|run| run.cores = [(0.96, 0.0), (0.97, 0.0)]), "every core was more than 95 % busy"),
        (with(|run| run.cores = [(0.5, 0.0), (0.5, 0.03)]), "took 3 % of a core away"),
        (with(|run| run.lost = 3), "3 requests are missing in the file of records"),
        (with(|run| run.disk = Some("No space left")), "records.csv is missing: No space left"),
    ];
    for (number, (script, says)) in cases.iter().enumerate() {
        let reasons = script.report().verdict.reasons();
        assert!(reasons.iter().any(|reason| reason.contains(says)), "case {number}: {says}: {reasons:?}");
    }
    let spins = every(200, |one| unnoticed(one, 200 * MS)).with(|run| run.pacing = Pacing::Spin);
    assert!(!spins.report().verdict.reasons().concat().contains("--spin"), "it spins already");
    let busy = every(200, |one| unnoticed(one, 200 * MS)).with(|run| run.cores = [(0.96, 0.0), (0.97, 0.0)]);
    assert!(!busy.report().verdict.reasons().concat().contains("--spin"), "there is no core to spin on");
}

#[test]
fn a_spinning_generator_is_busy_by_design() {
    let spins = clean().with(|run| (run.busy, run.pacing) = (1.0, Pacing::Spin));
    assert_eq!(spins.causes(), []);
}

#[test]
fn lateness_that_never_matters_is_no_part_of_littles_doubt() {
    // A fifth of the mean response time, and none of it beyond 1 ms.
    let usual = clean().every(1, |one| unnoticed(one, MS - 50 * US));
    assert_eq!(usual.causes(), []);
    let strict = usual.with(|run| run.limits = Limits { late_s: 0.1e-3, late_of_response: 0.5, ..run.limits });
    assert!(strict.causes().contains(&Cause::Unnoticed), "{:?}", strict.report().verdict.reasons());
}

#[test]
fn what_was_late_in_the_warm_up_is_no_doubt() {
    let second = 1_000_000_000;
    let begins_late = |run: &mut Script| {
        run.requests.iter_mut().filter(|one| one.planned < second).for_each(|one| {
            unnoticed(one, 200 * MS);
            one.queued = true;
        });
    };
    assert!(clean().with(begins_late).causes().contains(&Cause::Unnoticed));
    assert_eq!(clean().with(begins_late).with(|run| run.warm_up = second).causes(), []);
}

#[test]
fn each_limit_is_a_setting() {
    let set = |change: fn(&mut Limits)| change as fn(&mut Limits);
    let cases = [
        (Cause::Late, set(|limits| (limits.late_s, limits.late_of_gap, limits.late_of_response) = (0.0, 0.0, 0.0))),
        (Cause::Busy, set(|limits| limits.busy = 0.2)),
        (Cause::RunQueue, set(|limits| limits.waiting = 0.0)),
        (Cause::Cores, set(|limits| limits.cores_busy = 0.3)),
        (Cause::Errors, set(|limits| limits.errors = 0.0)),
        (Cause::Queued, set(|limits| limits.queued = 0.0)),
        (Cause::Stolen, set(|limits| limits.stolen = 0.0)),
    ];
    for (cause, change) in cases {
        let mut run = clean();
        run.cores[0].1 = 0.01;
        run.requests[70].queued = true;
        run.requests[80].outcome = Outcome::ServerError;
        assert_eq!(run.causes(), []);
        change(&mut run.limits);
        assert!(run.causes().contains(&cause), "{cause:?}: {:?}", run.report().verdict.reasons());
    }
}

#[test]
fn gaps_emitted_instants_and_lateness_are_those_of_the_script() {
    let report = clean().every(1, |one| ticking(one, 8 * MS)).report();
    // Late by up to 8 ms, evenly: 8 quantiles of a millisecond each, within a bucket of 0.8 % and five standard errors.
    let p50_ms = report.lateness.quantile(0.5).unwrap() as f64 / MS as f64;
    assert!((p50_ms - 4.0).abs() < 0.25, "{p50_ms} ms");
    let gaps = report.gaps.unwrap();
    // Of eight requests one goes out with a tick of its own; less what 1 ms forgives.
    assert_eq!(gaps.count, REQUESTS - 1);
    assert!(gaps.from_plan > 0.2 && gaps.plan_from_law.unwrap() < 0.05, "{gaps:?}");
}

/// What is doubted about a clean report with `change`, and evidence that says nothing but what is given.
fn doubted(evidence: Evidence, change: impl FnOnce(&mut Report)) -> Vec<Cause> {
    let mut report = clean().report();
    change(&mut report);
    match verdict(&report, &evidence) {
        Proof::Suspect(doubts) => doubts.iter().map(|doubt| doubt.cause).collect(),
        _ => Vec::new(),
    }
}

fn evidence(limits: Limits) -> Evidence {
    Evidence { inside: (0.0, 0.0), rate: 0.0, open: true, paced: true, incomplete: None, connections_max: 8, limits }
}

/// A limit is what may be: only what is beyond it is doubted. Numbers that floating point has exactly.
#[test]
fn what_is_at_its_limit_is_no_doubt() {
    let limits = Limits { shortfall: 0.25, unnoticed: 0.5, ..Limits::default() };
    let strict = |limits: Limits| Limits { late_of_gap: 0.0, late_of_response: 0.0, ..limits };
    assert_eq!(doubted(evidence(limits), |report| report.client_busy = vec![limits.busy]), []);
    assert_eq!(doubted(evidence(limits), |report| report.client_waiting = vec![limits.waiting]), []);
    assert_eq!(doubted(evidence(limits), |report| report.cores_busy = vec![limits.cores_busy; 2]), []);
    assert_eq!(doubted(evidence(limits), |report| report.cores_stolen = vec![limits.stolen]), []);
    let late_s = clean().report().lateness.quantile(0.99).unwrap() as f64 * 1e-9;
    assert_eq!(doubted(evidence(strict(Limits { late_s, ..limits })), |_| ()), []);
    assert_eq!(doubted(evidence(strict(Limits { late_s: 0.99 * late_s, ..limits })), |_| ()), [Cause::Late]);
    // A fourth of 4 /s in a second, and one request more.
    let short = |achieved| {
        doubted(evidence(limits), |report| {
            (report.pace, report.measured_s) = (Pace { offered: 4.0, achieved, asked: None }, 1.0)
        })
    };
    assert_eq!([short(2.0), short(1.75)], [vec![], vec![Cause::Shortfall]]);
    let inside = |seen| doubted(Evidence { inside: (seen, 2.0), ..evidence(limits) }, |_| ());
    assert_eq!([inside(1.0), inside(0.75)], [vec![], vec![Cause::Unnoticed]]);
}

/// Gaps are those of an open plan; where there are none, a tenth of one forgives nothing.
#[test]
fn lateness_is_set_against_the_gaps_of_an_open_plan() {
    let slow = |open, offered| {
        let limits = Limits { late_s: 1e-6, late_of_response: 0.0, ..Limits::default() };
        doubted(Evidence { open, ..evidence(limits) }, |report| {
            report.pace = Pace { offered, achieved: offered, asked: None }
        })
    };
    assert_eq!(slow(true, 1.0), []);
    assert_eq!(slow(false, 1.0), [Cause::Late]);
    assert_eq!(slow(true, 0.0), [Cause::Late]);
}

/// The upper end of the share of failures, with `change` to the requests of the script's last second of ten.
fn upper_end_of_failures(change: fn(&mut Scripted)) -> f64 {
    let mut script = clean();
    let from = script.requests.len() * 9 / 10;
    script.requests[from..].iter_mut().for_each(change);
    let report = script.report();
    let measure = report.measures.iter().find(|measure| measure.metric == "error_ratio").expect("it is measured");
    measure.estimate.interval().expect("the run is long enough").1
}

/// None of 10,000 failed. Where the slow ones stayed far from the time-out of 10 s, that allows 0.03 %; where they came near it,
/// failures would come together as they do, and one in ten of all came in one clump.
#[test]
fn without_a_failure_slow_replies_near_the_timeout_tell_how_failures_would_come() {
    let fast = upper_end_of_failures(|_| {});
    assert!((fast / 3.0e-4 - 1.0).abs() < 0.01, "{fast}");
    let slow = upper_end_of_failures(|one| one.done += 4000 * MS);
    assert!((slow / 3.0e-4 - 1.0).abs() < 0.01, "{slow}");
    let near = upper_end_of_failures(|one| one.done += 6000 * MS);
    assert!(near > 0.03, "{near}");
}

/// A hundred failures one by one over ten seconds, or as every request of a tenth of a second.
#[test]
fn failures_in_one_clump_are_known_less_well_than_as_many_alone() {
    let of = |places: &dyn Fn(usize) -> usize| {
        let mut script = clean();
        (0..100).for_each(|failure| script.requests[places(failure)].outcome = Outcome::ServerError);
        let report = script.report();
        let measure = report.measures.iter().find(|measure| measure.metric == "error_ratio").expect("it is measured");
        assert_eq!(measure.estimate.value(), Some(0.01));
        measure.estimate.interval().expect("the run is long enough")
    };
    let (alone, together) = (of(&|failure| 100 * failure), of(&|failure| 4000 + failure));
    assert!(alone.0 > 0.007 && alone.1 < 0.013, "{alone:?}");
    assert!(together.1 > 0.036, "{together:?}: one clump may as well be five");
    assert!((2.0e-4..1.0e-3).contains(&together.0), "{together:?}: they were seen, so that they happen");
}
