//! Searches of a server whose limit is known, and doubts of each kind against objectives of each kind.

use sojourn_load::{Counts, Doubt};
use sojourn_stats::Estimate;

use super::measured::failed_by_server;
use super::*;

/// A server whose p99 (s) is 1/(1000 - rate), known within a share `noise` of itself.
fn server(noise: f64) -> impl FnMut(f64, u32) -> Result<Option<Measured>, ()> {
    move |rate, stretch| {
        let value = if rate < 1000.0 { 1.0 / (1000.0 - rate) } else { 10.0 };
        let half = value * noise / f64::from(stretch);
        let estimate = Estimate::Sampled { value, ci_low: value - half, ci_high: value + half, samples: 1000 };
        Ok(Some(measured(estimate, 0.0)))
    }
}

fn measured(estimate: Estimate, lateness_s: f64) -> Measured {
    let (estimate, failed_by_server, bears_failures) = (Some(estimate), 0.0, false);
    Measured {
        estimate,
        lateness_s,
        failed_by_server,
        bears_failures,
        outdone: None,
        unsettled: None,
        doubts: Vec::new(),
    }
}

fn doubt(cause: Cause, text: &str) -> Doubt {
    Doubt { cause, text: text.into() }
}

fn p99() -> Objective {
    // Holds up to 900 /s.
    Objective::parse("p99 < 10 ms").unwrap()
}

#[test]
fn the_bracket_holds_the_truth_wherever_the_search_starts() {
    for start in [0.5, 100.0, 899.0, 901.0, 64_000.0] {
        let found = search(&p99(), Search { start, within: 0.02 }, &mut server(0.0)).unwrap();
        let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
        assert!(low < 900.0 && high >= 900.0 && high <= low * 1.02 && found.complete, "{start}: {found:?}");
        assert!(found.trials.len() < 30, "{}", found.trials.len());
    }
}

/// Four rates that hold, one that does not, and six bisections of a factor of two, whose 64th root is below 1.02.
#[test]
fn a_search_ends_as_soon_as_the_bracket_is_narrow_enough() {
    let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut server(0.0)).unwrap();
    assert_eq!(found.trials.len(), 11, "{found:?}");
}

#[test]
fn a_run_that_cannot_decide_is_made_longer_and_then_does_not_hold() {
    let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut server(0.5)).unwrap();
    assert!(found.holds.unwrap() < 900.0, "what was found was seen to hold");
    let stretched: Vec<&Trial> = found.trials.iter().filter(|trial| trial.stretch == 4).collect();
    assert!(!stretched.is_empty());
    assert!(stretched.iter().any(|trial| !trial.holds() && trial.words().contains("inside the interval")));
}

#[test]
fn runs_of_another_load_do_not_hold_and_are_not_repeated() {
    let mut good = server(0.5);
    let mut run = |rate: f64, stretch| {
        let mut measured = good(rate, stretch)?.unwrap();
        if rate > 500.0 {
            measured.doubts.push(doubt(Cause::Missed, "7 requests were not sent"));
        }
        Ok::<_, ()>(Some(measured))
    };
    let found = search(&p99(), Search { start: 100.0, within: 0.02 }, &mut run).unwrap();
    assert!(found.holds.unwrap() <= 500.0 && found.fails.unwrap() > 500.0);
    let suspect: Vec<&Trial> = found.trials.iter().filter(|trial| trial.rate > 500.0).collect();
    assert!(suspect.iter().all(|trial| trial.stretch == 1 && trial.words().contains("7 requests were not sent")));
}

/// What a run of p99 = 5 ms give or take 1 ms says about `objective` with a doubt of `cause`.
fn weighed(objective: &str, lateness_s: f64, cause: Option<Cause>) -> Finding {
    let objective = Objective::parse(objective).unwrap();
    let estimate = Estimate::Sampled { value: 5e-3, ci_low: 4e-3, ci_high: 6e-3, samples: 1000 };
    let mut measured = measured(estimate, lateness_s);
    measured.doubts.extend(cause.map(|cause| doubt(cause, "why")));
    Trial::of(&objective, 1.0, 1, measured).finding
}

#[test]
fn a_doubt_is_weighed_against_the_objective() {
    let open = |why: &str| Finding::Open(why.into());
    let later = [Cause::Late, Cause::Unnoticed, Cause::Emission, Cause::Shortfall];
    let slower = [Cause::Busy, Cause::RunQueue, Cause::Cores, Cause::Stolen, Cause::Queued];
    let other = [Cause::Nothing, Cause::Missed, Cause::Plan, Cause::Start, Cause::Errors];
    for cause in later.into_iter().chain(slower).chain([Cause::LostRecords]) {
        assert_eq!(weighed("p99 < 50 ms", 1e-3, Some(cause)), Finding::Holds, "{cause:?} adds to what is met");
    }
    for cause in other {
        assert_eq!(weighed("p99 < 50 ms", 0.0, Some(cause)), open("why"), "{cause:?}");
    }
    for cause in slower {
        assert_eq!(weighed("p99 < 2 ms", 0.0, Some(cause)), open("why"), "{cause:?} may be why it is missed");
    }
    assert_eq!(weighed("p99 < 2 ms", 0.0, Some(Cause::Errors)), Finding::Fails, "what failed was no faster");
    // The lower end without the lateness decides, whether or not that was a doubt of the run.
    for cause in later.into_iter().map(Some).chain([None]) {
        assert_eq!(weighed("p99 < 2 ms", 1e-3, cause), Finding::Fails, "3 ms are left of it");
        let why = "up to 2.5 ms of the 5 ms are the generator's own lateness";
        assert_eq!(weighed("p99 < 2 ms", 2.5e-3, cause), open(why), "1.5 ms are left");
    }
}

#[test]
fn a_limit_from_below_is_weighed_the_other_way_round() {
    let open = Finding::Open("why".into());
    assert_eq!(weighed("p99 > 2 ms", 0.0, Some(Cause::Late)), open, "lateness helps to be late");
    assert_eq!(weighed("p99 > 50 ms", 1.0, Some(Cause::Late)), Finding::Fails, "and still it is not");
    assert_eq!(weighed("p99 > 50 ms", 0.0, Some(Cause::Busy)), Finding::Fails, "though the server may look slower");
    assert_eq!(weighed("throughput < 0.001 /s", 0.0, Some(Cause::Busy)), Finding::Fails, "it is quicker than that");
    assert_eq!(weighed("p99 > 50 ms", 0.0, Some(Cause::Plan)), open, "of another load it says nothing");
    // Throughput: 0.005 /s.
    assert_eq!(weighed("throughput > 0.001 /s", 1.0, Some(Cause::Busy)), Finding::Holds);
    assert_eq!(weighed("throughput > 1 /s", 1.0, Some(Cause::Shortfall)), open);
    assert_eq!(weighed("throughput > 1 /s", 0.0, Some(Cause::Busy)), open);
    assert_eq!(weighed("throughput > 1 /s", 1.0, None), Finding::Fails);
    assert_eq!(weighed("throughput < 1 /s", 0.0, Some(Cause::Shortfall)), open);
    // Errors are what is judged.
    assert_eq!(weighed("error_ratio < 1%", 0.0, Some(Cause::Errors)), Finding::Holds);
    assert_eq!(weighed("error_ratio < 0.1%", 0.0, Some(Cause::Errors)), Finding::Fails);
    assert_eq!(weighed("denied_ratio < 1%", 0.0, Some(Cause::Errors)), Finding::Holds);
    assert_eq!(weighed("abandoned_ratio < 1%", 0.0, Some(Cause::Errors)), open);
    let never = Estimate::Sampled { value: 0.0, ci_low: 0.0, ci_high: 0.0, samples: 99 };
    let measured = Measured { doubts: vec![doubt(Cause::Errors, "why")], ..measured(never, 0.0) };
    let judged = measured.judge(&Objective::parse("abandoned_ratio < 1%").unwrap());
    assert_eq!(judged, (Judgement::Holds, Finding::Holds), "without patience no client leaves");
}

/// Of the requests 4 % timed out: half of all are known to be quicker, and of the slowest hundredth nothing is. What these do
/// to a percentile is told once, by the objective.
#[test]
fn requests_without_an_answer_leave_a_low_percentile_known() {
    let found = |text: &str, outdone: Option<&str>, estimate: Estimate| {
        let objective = Objective::parse(text).unwrap();
        let doubts = vec![doubt(Cause::Errors, "8 of 200 requests failed")];
        let (bears_failures, outdone) = (objective.bears(0.04), outdone.map(str::to_owned));
        let measured = Measured { bears_failures, outdone, doubts, ..measured(estimate, 0.0) };
        let (judgement, _) = measured.judge(&objective);
        let hindrance = measured.hindrance(&objective, judgement);
        let trial = Trial::of(&objective, 1.0, 1, measured);
        let may_be_longer = trial.may_be_longer();
        (trial.finding, hindrance, may_be_longer)
    };
    let around = |value: f64| Estimate::Sampled { value, ci_low: 0.9 * value, ci_high: 1.1 * value, samples: 999 };
    let open = |why: &str| Finding::Open(why.into());
    assert_eq!(found("p50 < 10 ms", None, around(0.005)).0, Finding::Holds);
    assert_eq!(found("p50 < 10 ms", Some("it may be 11 ms"), around(0.009)).0, open("it may be 11 ms"));
    for other in ["p99 < 10 ms", "mean < 10 ms", "throughput < 1 /s"] {
        assert_eq!(found(other, None, around(0.005)).0, open("8 of 200 requests failed"), "{other}");
    }
    assert_eq!(found("p50 < 1 ms", None, around(0.005)).0, Finding::Fails, "they were no quicker");
    // A longer run tells of p50, and not of p99.
    let (_, hindrance, may_be_longer) = found("p50 < 10 ms", None, around(0.01));
    assert_eq!((hindrance, may_be_longer), (None, true));
    let (_, hindrance, may_be_longer) = found("p99 < 10 ms", None, around(0.01));
    assert_eq!((hindrance.as_deref(), may_be_longer), (Some("8 of 200 requests failed"), false));
}

#[test]
fn a_number_without_an_interval_says_why_it_has_none() {
    let bare = Estimate::WithoutInterval { value: 0.1, samples: 9, why: sojourn_stats::measure::NoInterval::TooShort };
    let (_, finding) = measured(bare, 0.0).judge(&p99());
    assert_eq!(finding, Finding::Open("the estimate has no interval (too short a run)".into()));
}

/// A generator short of processor time may let requests time out; it makes no server refuse them.
#[test]
fn what_a_server_refused_is_no_trouble_of_the_generator() {
    let objective = Objective::parse("error_ratio < 1%").unwrap();
    let finding = |failed_by_server, cause| {
        let estimate = Estimate::Sampled { value: 0.5, ci_low: 0.4, ci_high: 0.6, samples: 1000 };
        Measured { failed_by_server, doubts: vec![doubt(cause, "why")], ..measured(estimate, 0.0) }.judge(&objective).1
    };
    assert_eq!(finding(1.0, Cause::Cores), Finding::Fails);
    assert_eq!(finding(0.03, Cause::Cores), Finding::Fails, "0.4 of it are 1.2 %");
    assert_eq!(finding(0.02, Cause::Cores), Finding::Open("why".into()), "0.4 of it are 0.8 %");
    assert_eq!(finding(1.0, Cause::Missed), Finding::Open("why".into()), "of another load");
    let counts = Counts { planned: 10, ok: 4, refused: 3, timeout: 2, server_error: 1, ..Counts::default() };
    assert_eq!(failed_by_server(&counts), 4.0 / 6.0);
}

/// Where requests waited for a connection a longer run tells no more, and that is said in place of "measure longer".
#[test]
fn what_hinders_a_measurement_is_said_instead_of_measuring_longer() {
    let hindrance = |objective: &str, cause| {
        let measured = measured(Estimate::TooFew { samples: 3 }, 0.0);
        let measured = Measured { doubts: vec![doubt(cause, "why")], ..measured };
        measured.hindrance(&Objective::parse(objective).unwrap(), Judgement::TooFew)
    };
    assert_eq!(hindrance("p99 < 1 s", Cause::Queued), Some("why".into()));
    assert_eq!(hindrance("p99 < 1 s", Cause::Errors), Some("why".into()));
    assert_eq!(hindrance("error_ratio < 1%", Cause::Errors), None, "they are what is asked for");
    assert_eq!(hindrance("p99 < 1 s", Cause::Cores), None);
}

#[test]
fn a_late_generator_does_not_end_the_search_where_the_objective_is_met() {
    // Fast enough at any rate, and late by half of what is measured at every one.
    let mut late = |_, _| {
        let estimate = Estimate::Sampled { value: 4e-4, ci_low: 3e-4, ci_high: 5e-4, samples: 1000 };
        let doubts = vec![doubt(Cause::Unnoticed, "53 % of the mean is lateness")];
        Ok::<_, ()>(Some(Measured { doubts, ..measured(estimate, 2e-4) }))
    };
    let found = search(&p99(), Search { start: 500.0, within: 0.1 }, &mut late).unwrap();
    assert!(found.fails.is_none() && found.holds.unwrap() > 1e6, "{found:?}");
    // A limit that is as short as the lateness cannot be decided, and lower rates do not mend it.
    let tight = Objective::parse("p99 < 0.25 ms").unwrap();
    let found = search(&tight, Search { start: 500.0, within: 0.1 }, &mut late).unwrap();
    assert_eq!((found.trials.len(), found.holds), (3, None), "{found:?}");
    assert!(found.trials.iter().all(|trial| trial.words().contains("own lateness")), "{found:?}");
}

#[test]
fn what_lower_rates_cannot_mend_ends_the_search() {
    let mut unmeasured = |_, _| Ok::<_, ()>(Some(Measured { estimate: None, ..measured(TOO_FEW, 0.0) }));
    let found = search(&p99(), Search { start: 64.0, within: 0.1 }, &mut unmeasured).unwrap();
    assert_eq!((found.trials.len(), found.complete, found.holds), (1, true, None), "given up at once");
    let mut good = server(0.0);
    let mut suspect = |rate, stretch| {
        let doubts = vec![doubt(Cause::Plan, "the gaps do not follow the law")];
        Ok::<_, ()>(Some(Measured { doubts, ..good(rate, stretch)?.unwrap() }))
    };
    let found = search(&p99(), Search { start: 64.0, within: 0.1 }, &mut suspect).unwrap();
    assert_eq!((found.trials.len(), found.fails), (3, Some(16.0)));
}

#[test]
fn what_is_undecided_is_repeated_unless_it_was_another_load() {
    // From 4 to 6 ms.
    let runs = |cause| {
        let estimate = Estimate::Sampled { value: 5e-3, ci_low: 4e-3, ci_high: 6e-3, samples: 1000 };
        let measured = Measured { doubts: vec![doubt(cause, "why")], ..measured(estimate, 0.0) };
        let mut found = Found::default();
        let limit = Objective::parse("p99 < 5 ms").unwrap();
        try_rate(&limit, 1.0, &mut |_, _| Ok::<_, ()>(Some(measured.clone())), &mut found).unwrap();
        found.trials.iter().map(|trial| trial.stretch).collect::<Vec<_>>()
    };
    assert_eq!((runs(Cause::Late), runs(Cause::Missed)), (vec![1, 2, 4], vec![1]));
}

const TOO_FEW: Estimate = Estimate::TooFew { samples: 7 };

#[test]
fn a_rate_with_too_few_samples_leads_to_a_higher_one() {
    let mut good = server(0.0);
    let mut starved = |rate: f64, stretch: u32| match rate * f64::from(stretch) < 400.0 {
        true => Ok::<_, ()>(Some(measured(TOO_FEW, 0.0))),
        false => good(rate, stretch),
    };
    let found = search(&p99(), Search { start: 20.0, within: 0.1 }, &mut starved).unwrap();
    assert!(found.holds.unwrap() < 900.0 && found.fails.unwrap() >= 900.0, "{found:?}");
    assert!(found.trials[..6].iter().all(|trial| trial.rate < 50.0 && trial.words().contains("too few samples")));
    // At no rate are there enough.
    let mut never = |_, _| Ok::<_, ()>(Some(measured(TOO_FEW, 0.0)));
    let found = search(&p99(), Search { start: 20.0, within: 0.1 }, &mut never).unwrap();
    assert!((found.complete, found.holds, found.fails) == (true, None, None), "{found:?}");
}

#[test]
fn what_always_or_never_holds_has_an_open_bracket_and_an_interruption_keeps_what_is_known() {
    let never = Objective::parse("p99 < 1 ns").unwrap();
    let found = search(&never, Search { start: 1.0, within: 0.1 }, &mut server(0.0)).unwrap();
    assert!(found.complete && found.holds.is_none() && found.trials.len() == 21, "{found:?}");
    let always = Objective::parse("p99 < 1 h").unwrap();
    let found = search(&always, Search { start: 1.0, within: 0.1 }, &mut server(0.0)).unwrap();
    assert!(found.complete && found.fails.is_none() && found.holds.unwrap() > 1e6);
    let (mut left, mut good) = (4, server(0.0));
    let mut run = |rate, stretch| {
        left -= 1;
        if left == 0 { Ok(None) } else { good(rate, stretch) }
    };
    let found = search(&p99(), Search { start: 100.0, within: 0.1 }, &mut run).unwrap();
    assert_eq!((found.complete, found.holds, found.trials.len()), (false, Some(400.0), 3));
}

/// A server of 1000 /s: beyond that the queue grows to the end, and times that grow with the length of the run have no interval.
/// Such a run does not have too few requests, after which a search would try a higher rate.
#[test]
fn a_queue_that_grows_to_the_end_never_holds() {
    let mut good = server(0.0);
    let mut run = |rate: f64, stretch: u32| {
        let bare = || Estimate::WithoutInterval {
            value: 8e-3 * f64::from(stretch),
            samples: 5000,
            why: sojourn_stats::measure::NoInterval::TooShort,
        };
        let grows = || Measured { unsettled: Some("the queue grew".into()), ..measured(bare(), 0.0) };
        Ok::<_, ()>(if rate < 1000.0 { good(rate, stretch)? } else { Some(grows()) })
    };
    for start in [100.0, 4000.0] {
        let found = search(&p99(), Search { start, within: 0.02 }, &mut run).unwrap();
        let (low, high) = (found.holds.unwrap(), found.fails.unwrap());
        assert!(low < 900.0 && high >= 900.0 && high <= low * 1.02 && found.complete, "{start}: {found:?}");
        // 8 ms at first, which may become more, and twice that when it is made longer.
        let beyond: Vec<&Trial> = found.trials.iter().filter(|trial| trial.rate >= 1000.0).collect();
        let [open, fails] = [1, 2].map(|stretch| beyond.iter().find(|trial| trial.stretch == stretch).unwrap());
        assert_eq!(open.finding, Finding::Open("the queue grew".into()));
        assert_eq!(fails.finding, Finding::Fails);
        assert!(beyond.iter().all(|trial| trial.rate <= 4000.0 && trial.stretch < 4), "{beyond:?}");
    }
    // To be above a limit is no failure that a longer run could not mend; and a rate is known.
    let grows = |text: &str, estimate: Estimate| {
        let grown = Measured { unsettled: Some("the queue grew".into()), ..measured(estimate, 0.0) };
        grown.judge(&Objective::parse(text).unwrap()).1
    };
    let bare = Estimate::WithoutInterval { value: 0.1, samples: 9, why: sojourn_stats::measure::NoInterval::TooShort };
    assert_eq!(grows("p99 > 200 ms", bare), Finding::Open("the queue grew".into()));
    assert_eq!(grows("p99 < 200 ms", TOO_FEW), Finding::Open("the queue grew".into()));
    let known = Estimate::Sampled { value: 500.0, ci_low: 490.0, ci_high: 510.0, samples: 5000 };
    assert_eq!(grows("throughput > 400 /s", known.clone()), Finding::Holds);
    assert_eq!(grows("throughput > 505 /s", known), Finding::Open("the limit lies inside the interval".into()));
}
