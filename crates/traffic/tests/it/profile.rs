//! A rate that changes with time, and batches.

use sojourn_stats::{Span, Time};
use sojourn_traffic::{Arrivals, Plan, Planned, Profile, Workload};

use crate::support::{demand, first, line, open};

fn shaped(arrivals: &str, profile: &str) -> Workload {
    let mut open = open(arrivals, 10, "webstone");
    open.arrivals = open.arrivals.with_profile(Profile::parse(profile).unwrap());
    Workload::Open(open)
}

/// Of a law without spread the k-th request comes where the profile's integral is k gaps: 5 /s at first, growing to
/// 10 /s after 10 s, and 10 /s from then on.
#[test]
fn constant_gaps_follow_the_ramp_exactly() {
    let plan = first(&shaped("constant(rate = 10 /s)", "ramp(from = 0.5, to = 1, over = 10 s)"), 1, 200);
    for (index, planned) in plan.iter().enumerate() {
        let operational_s = (index + 1) as f64 / 10.0;
        // t / 2 + t^2 / 40 = s, up to the ramp's 7.5 s.
        let at_s = match operational_s < 7.5 {
            true => -10.0 + (100.0 + 40.0 * operational_s).sqrt(),
            false => 10.0 + operational_s - 7.5,
        };
        assert!((planned.at.as_secs_f64() - at_s).abs() < 2e-9, "{index}: {:?} for {at_s}", planned.at);
    }
}

#[test]
fn steps_pause_and_end() {
    let paused = first(&shaped("constant(rate = 2 /s)", "steps(1, 0, 2, every = 10 s)"), 1, 60);
    let at_s: Vec<f64> = paused.iter().map(|planned| planned.at.as_secs_f64()).collect();
    assert!(at_s.iter().filter(|at| **at < 10.0).count() == 19, "{at_s:?}");
    assert!(!at_s.iter().any(|at| (10.0..20.0).contains(at)), "nothing comes at level 0: {at_s:?}");
    assert!((at_s[59] - at_s[58] - 0.25).abs() < 1e-6, "twice the rate: {at_s:?}");
    // A last level of 0 ends the plan.
    let ended = shaped("exponential(rate = 100 /s)", "steps(1, 0, every = 10 s)");
    let plan = Plan::new(&ended, 3, demand()).unwrap();
    assert_eq!(plan.size_hint(), (0, None));
    let last = plan.last().unwrap();
    assert!(last.at < Time(10_000_000_000), "{last:?}");
}

/// Poisson counts in windows of 5 s have the profile's integral as mean and variance. False alarm: 13 windows and 6
/// sigma two-sided (2e-9 each; the smallest mean is 5,000).
#[test]
fn a_poisson_process_gets_the_profiles_rate() {
    let profile = Profile::parse("ramp(from = 0.1, to = 2, over = 60 s)").unwrap();
    let workload = shaped("exponential(rate = 10000 /s)", "ramp(from = 0.1, to = 2, over = 60 s)");
    let plan = Plan::new(&workload, 9, demand()).unwrap().collect_until(Time(65_000_000_000));
    for window in 0..13 {
        let (from, to) = (5.0 * f64::from(window), 5.0 * f64::from(window + 1));
        let expected = 10_000.0 * (profile.integral(to) - profile.integral(from));
        let count = plan.iter().filter(|planned| (from..to).contains(&planned.at.as_secs_f64())).count() as f64;
        assert!((count - expected).abs() < 6.0 * expected.sqrt(), "window {window}: {count} for {expected}");
    }
    assert!((profile.level(30.0) - 1.05).abs() < 1e-12 && profile.level(100.0) == 2.0);
    assert_eq!((profile.peak(), profile.last(), profile.span()), (2.0, 2.0, Span(60_000_000_000)));
}

/// A burst in a profile that begins again comes once, wherever in a round it begins and ends, and whatever comes beside it; the
/// rounds after it are as they were.
#[test]
fn a_burst_comes_once_in_a_profile_that_begins_again() {
    let day = Profile::parse("daily(0 h: 0.5, 6 h: 1.5, 18 h: 1, over = 24 s)").unwrap();
    let span = |s: f64| Span::from_secs_f64(s);
    let cases: [&[(f64, f64)]; 6] = [
        &[(5.0, 7.5)],
        &[(20.0, 50.0)],
        &[(30.0, 48.0)],
        &[(0.0, 1.0)],
        &[(3.0, 4.0), (100.0, 101.0)],
        &[(100.0, 101.0), (3.0, 4.0)],
    ];
    for bursts in cases {
        let add = |profile: Profile, &(from, until): &(f64, f64)| {
            Profile::with_burst(Some(&profile), 3.0, (span(from), span(until))).expect("few rounds come before")
        };
        let with = bursts.iter().fold(day.clone(), add);
        let mut integral_s = 0.0;
        for step in 0..20_000 {
            // All corners are at multiples of 10 ms, so that the middle of a step has its mean.
            let (at_s, end_s) = ((f64::from(step) + 0.5) * 0.01, f64::from(step + 1) * 0.01);
            let is_in = bursts.iter().any(|(from, until)| (*from..*until).contains(&at_s));
            let level = if is_in { 3.0 } else { 1.0 } * day.level(at_s);
            assert!(
                (with.level(at_s) - level).abs() < 1e-9,
                "{bursts:?}: {} for {level} at {at_s} s",
                with.level(at_s)
            );
            integral_s += level * 0.01;
            assert!((with.integral(end_s) - integral_s).abs() < 1e-6, "{bursts:?}: up to {end_s} s");
        }
        let highest = (0..20_000).map(|step| with.level((f64::from(step) + 0.5) * 0.01)).fold(0.0, f64::max);
        assert!(highest <= with.peak() && highest > 0.99 * with.peak(), "{bursts:?}: {highest} of {}", with.peak());
        let mut open = open("constant(rate = 100 /s)", 10, "webstone");
        open.arrivals = open.arrivals.with_profile(with.clone());
        for (index, planned) in first(&Workload::Open(open), 1, 20_000).iter().enumerate() {
            let count = 100.0 * with.integral(planned.at.as_secs_f64());
            assert!((count - (index + 1) as f64).abs() < 1e-3, "{bursts:?}: request {index}, {count}");
        }
    }
    let quick = Profile::parse("daily(0 h: 0.5, 12 h: 1.5, over = 1 ms)").unwrap();
    assert!(
        Profile::with_burst(Some(&quick), 3.0, (span(1e6), span(1e6 + 1.0))).is_none(),
        "too many rounds come before"
    );
}

/// The profile moves instants and nothing else; the same seed gives the same plan.
#[test]
fn a_profile_changes_only_when() {
    let plain = first(&Workload::Open(open("erlang(k = 2, rate = 100 /s)", 10, "webstone")), 5, 2000);
    let shaped = shaped("erlang(k = 2, rate = 100 /s)", "steps(0.5, 3, 1, every = 2 s)");
    let moved = first(&shaped, 5, 2000);
    assert!(plain.iter().zip(&moved).all(|(a, b)| a.request == b.request));
    assert!(plain.iter().zip(&moved).any(|(a, b)| a.at != b.at));
    assert!(moved.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert_eq!(moved, first(&shaped, 5, 2000));
    // At level 1 throughout, nothing moves but by rounding.
    let same = first(&self::shaped("erlang(k = 2, rate = 100 /s)", "steps(1, every = 1 s)"), 5, 2000);
    assert!(plain.iter().zip(&same).all(|(a, b)| a.at.0.abs_diff(b.at.0) <= 1));
}

/// Whatever the form, the k-th request of a law without spread comes where the integral is k gaps; the last three go round
/// and round.
#[test]
fn every_form_moves_requests_to_its_integral() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..90).map(|second: u32| line(second, "/", 10).repeat((second as usize / 10) % 4)).collect();
    std::fs::write(dir.path().join("access.log"), lines).unwrap();
    for text in [
        "ramp(from = 0, to = 3, over = 7 s)",
        "steps(2, 0, 1, every = 3 s)",
        "piecewise(2 s: 0.5, 4 s: 2, 4 s: 0.1, 9 s: 1)",
        "daily(3 h: 0.2, 9 h: 1.5, 20 h: 1, over = 5 s)",
        "weekly(mon: 0.5, sat: 0, sun: 0, day = daily(6 h: 0, 12 h: 2), over = 11 s)",
        "log(from = \"access.log\", every = 20 s, over = 6 s)",
    ] {
        let profile = Profile::parse_in(text, dir.path()).unwrap();
        let mut open = open("constant(rate = 100 /s)", 1, "webstone");
        open.arrivals = open.arrivals.with_profile(profile.clone());
        let plan = first(&Workload::Open(open), 1, 4000);
        assert!(plan.windows(2).all(|pair| pair[0].at <= pair[1].at), "{text}");
        for (index, planned) in plan.iter().enumerate() {
            let (integral, count) = (100.0 * profile.integral(planned.at.as_secs_f64()), (index + 1) as f64);
            assert!(
                (integral - count).abs() < 1e-5,
                "{text}: request {count} at {:?}, integral {integral}",
                planned.at
            );
        }
        // The level is what the integral grows by, and nowhere above the peak.
        let mut highest: f64 = 0.0;
        for k in 0..3000 {
            let at_s = 0.0071 * f64::from(k) + 0.00123;
            let grown = (profile.integral(at_s + 1e-6) - profile.integral(at_s - 1e-6)) / 2e-6;
            let level = profile.level(at_s);
            assert!(
                (grown - level).abs() < 1e-3 || (level - profile.level(at_s + 1e-6)).abs() > 1e-3,
                "{text} at {at_s}"
            );
            highest = highest.max(level);
        }
        assert!(highest <= profile.peak() + 1e-12 && highest > 0.9 * profile.peak(), "{text}: {highest}");
    }
}

#[test]
fn days_and_weeks_are_read_as_they_are_written() {
    let hour = 3600.0;
    let day = Profile::parse("daily(6 h: 0, 12 h: 2, 18 h: 1)").unwrap();
    // Through midnight: from 1 at 18 h to 0 at 6 h.
    for (at_h, level) in
        [(6.0, 0.0), (9.0, 1.0), (12.0, 2.0), (15.0, 1.5), (18.0, 1.0), (0.0, 0.5), (3.0, 0.25), (27.0, 0.25)]
    {
        assert!((day.level(at_h * hour) - level).abs() < 1e-9, "{at_h} h: {}", day.level(at_h * hour));
    }
    assert_eq!((day.peak(), day.span()), (2.0, Span(86_400_000_000_000)));
    assert!((day.integral(10.0 * 24.0 * hour) - 10.0 * day.integral(24.0 * hour)).abs() < 1e-6);

    let week = Profile::parse("weekly(sat: 0.4, sun: 0.2, day = daily(6 h: 0, 12 h: 2, 18 h: 1))").unwrap();
    let at = |day: f64, hour_of_day: f64| week.level((24.0 * day + hour_of_day) * hour);
    assert!(
        (at(0.0, 12.0) - 2.0).abs() < 1e-9 && (at(5.0, 12.0) - 0.8).abs() < 1e-9 && (at(6.0, 15.0) - 0.3).abs() < 1e-9
    );
    assert!((at(7.0, 9.0) - 1.0).abs() < 1e-9, "the next Monday");
    // A week in seven seconds is the same, faster.
    let fast = Profile::parse("weekly(sat: 0.4, sun: 0.2, over = 7 s)").unwrap();
    assert_eq!((fast.level(0.5), fast.level(5.5), fast.level(6.5), fast.level(7.5)), (1.0, 0.4, 0.2, 1.0));
}

/// Arrivals at a log's mean rate with the log's profile are as many in each interval as the log had.
#[test]
fn a_log_gives_its_rate() {
    let dir = tempfile::tempdir().unwrap();
    let counts = [30u32, 0, 75, 15, 10];
    // What is in the first and in the last second is left out, since a log may have a part of them only.
    let mut lines = line(0, "/", 10);
    for (interval, count) in (0u32..).zip(counts) {
        // The last interval is half as long as the others.
        let span = if interval == 4 { 30 } else { 60 };
        for k in 0..count {
            lines += &line(1 + interval * 60 + k * (span - 1) / (count - 1).max(1), "/", 10);
        }
    }
    lines += &line(271, "/", 10);
    std::fs::write(dir.path().join("access.log"), lines).unwrap();
    let profile = Profile::parse_in("log(from = \"access.log\", every = 1 min)", dir.path()).unwrap();
    assert_eq!(profile.span(), Span(270_000_000_000));
    let mut open = open(&format!("constant(rate = {} /s)", 130.0 / 270.0), 1, "webstone");
    open.arrivals = open.arrivals.with_profile(profile);
    let plan = first(&Workload::Open(open), 1, 260);
    // Up to the end of each interval of two rounds, but for the one that comes at that very instant.
    let mut expected = 0;
    for round in 0..2 {
        for (interval, count) in counts.iter().enumerate() {
            let end_s = f64::from(round) * 270.0 + (60.0 * (interval + 1) as f64).min(270.0);
            expected += *count as usize;
            let found = plan.iter().filter(|planned| planned.at.as_secs_f64() < end_s).count();
            assert!(found.abs_diff(expected) <= 1, "round {round}, interval {interval}: {found} for {expected}");
        }
    }
    let missing = Profile::parse_in("log(from = \"none.log\", every = 1 min)", dir.path()).unwrap_err().to_string();
    assert!(missing.contains("none.log"), "{missing}");
    let short = Profile::parse_in("log(from = \"access.log\", every = 1 h)", dir.path()).unwrap_err().to_string();
    assert!(short.contains("270 s"), "{short}");
}

#[test]
fn batches_come_together() {
    let workload = Workload::Open(open("batches(n = 50, every = 1 s)", 1000, "webstone"));
    let plan = first(&workload, 2, 500);
    for (index, planned) in plan.iter().enumerate() {
        assert_eq!(planned.at, Time((index as u64 / 50 + 1) * 1_000_000_000));
    }
    assert_eq!(plan, first(&workload, 2, 500));
    // What they ask for is what single requests would have asked for.
    let asked = |plan: &[Planned]| plan.iter().map(|planned| planned.request).collect::<Vec<_>>();
    let single = first(&Workload::Open(open("constant(20 ms)", 1000, "webstone")), 2, 500);
    assert_eq!(asked(&plan), asked(&single));
    let arrivals = Arrivals::parse("batches(n = 50, every = 1 s)").unwrap();
    assert_eq!((arrivals.rate(), arrivals.batch()), (Some(50.0), 50));
    assert!(arrivals.law().is_none() && arrivals.beyond_formulas().is_some());
    let mut settled = Arrivals::parse("batches(n = 20, utilization = 50%)").unwrap();
    settled.settle(400.0);
    assert!((settled.rate().unwrap() - 200.0).abs() < 1e-9);
}

#[test]
fn impossible_shapes_are_refused() {
    for (text, told) in [
        ("ramp(from = 0.1, to = 1)", "how long"),
        ("ramp(from = -1, to = 1, over = 60 s)", "at least 0"),
        ("ramp(from = 0, to = 0, over = 60 s)", "no request ever comes"),
        ("steps(every = 30 s)", "missing"),
        ("steps(1, 2, every = 0 s)", "longer than 0"),
        ("steps(1, two, every = 1 s)", "two"),
        ("stairs(1, 2, every = 1 s)", "steps("),
        ("0.5", "steps("),
        ("dayly(0 h: 1)", "did you mean `daily`"),
        ("piecewise()", "point is missing"),
        ("piecewise(3 s: 1, 1 s: 2)", "order"),
        ("daily(0.5)", "not one of its arguments"),
        ("daily(25 h: 1)", "below 24 h"),
        ("daily(over = 1 s)", "missing"),
        ("daily(0 h: 0)", "no request ever comes"),
        ("weekly(monday: 1)", "`monday` is none of mon, tue, wed, thu, fri, sat, sun (did you mean `mon`?)"),
        ("ramp(form = 1, to = 2, over = 1 s)", "`form` is none of from, to and over (did you mean `from`?)"),
        ("weekly(mon: 1, mon: 2)", "twice"),
        ("weekly(day = steps(1, every = 1 h))", "daily("),
        ("log(from = \"x\")", "both needed"),
    ] {
        let error = Profile::parse(text).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains(text) && !error.contains('\n'), "{error}");
    }
    for (text, told) in [
        ("batches(n = 0, every = 1 s)", "at least 1"),
        ("batches(n = 50)", "time between"),
        ("batches(n = 50, every = 1 s, utilization = 0.5)", "either"),
        ("batches(n = 50, every = 0 s)", "above 0"),
        ("batches(n = 50, each = 1 s)", "every"),
        ("batches(n = 50, evry = 1 s)", "`evry` is none of n, every and utilization (did you mean `every`?)"),
        ("batch(n = 50, every = 1 s)", "did you mean `batches`"),
    ] {
        let error = Arrivals::parse(text).unwrap_err().to_string();
        assert!(error.contains(told) && !error.contains('\n'), "{error}");
    }
}
