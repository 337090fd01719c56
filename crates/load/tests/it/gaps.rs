//! The distance between planned and emitted gaps sees what changes a server's load, and nothing else.

use sojourn_load::{Cause, Gaps};
use sojourn_stats::{Dimension, Law, Span, Stream, Time};

fn from_plan(runs: &[Vec<(Time, Time)>]) -> Option<f64> {
    Gaps::of(runs, None, Span::ZERO).map(|gaps| gaps.from_plan)
}

/// What is found of these instants where `law` was asked for and no lateness is forgiven.
fn found(runs: &[Vec<(Time, Time)>], law: &Law) -> Gaps {
    Gaps::of(runs, Some(law), Span::ZERO).expect("there are gaps")
}

/// The doubts, in sentences.
fn doubts(gaps: &Gaps) -> Vec<String> {
    gaps.doubts().iter().map(ToString::to_string).collect()
}

/// 10,000 requests, one each millisecond, that go out in bunches of `bunch`, each up to `jitter` ns late.
fn emitted(bunch: u64, jitter: u64) -> Vec<Vec<(Time, Time)>> {
    let begun = |k: u64| Time((k / bunch * bunch) * 1_000_000 + k * 7919 % (jitter + 1));
    vec![(0..10_000).map(|k| (Time(k * 1_000_000), begun(k))).collect()]
}

#[test]
fn kept_gaps_have_no_distance() {
    assert_eq!(from_plan(&emitted(1, 0)), Some(0.0));
}

#[test]
fn small_lateness_is_no_distance() {
    assert_eq!(from_plan(&emitted(1, 40_000)), Some(0.0));
}

#[test]
fn bunches_are() {
    // Three of four gaps are 0 instead of 1 ms.
    let distance = from_plan(&emitted(4, 0)).unwrap();
    assert!((distance - 0.75).abs() < 0.001, "{distance}");
}

#[test]
fn a_tenth_of_the_mean_gap_is_forgiven() {
    let slower = |gap: u64| vec![(0..100).map(|k| (Time(k * 1_000_000), Time(k * gap))).collect()];
    assert_eq!((from_plan(&slower(1_100_000)), from_plan(&slower(1_100_001))), (Some(0.0), Some(1.0)));
}

#[test]
fn two_requests_have_no_distribution() {
    let first = |count: usize| emitted(1, 0).remove(0)[..count].to_vec();
    assert_eq!((from_plan(&[first(2)]), from_plan(&[first(3)])), (None, Some(0.0)));
}

/// Of few gaps each counts: two of four are 0, and two twice as long as planned; two are a tenth of the law's mean, which
/// has a share of exp(-0.2) above them and what is forgiven.
#[test]
fn distances_of_a_handful_of_gaps_are_those_worked_by_hand() {
    assert_eq!(from_plan(&[emitted(2, 0).remove(0)[..5].to_vec()]), Some(0.5));
    let quick = [0, 100_000, 200_000].map(|at| (Time(at), Time(at))).to_vec();
    let gaps = found(&[quick], &law("exponential(mean = 1 ms)"));
    for distance in [gaps.plan_from_law, gaps.from_law] {
        assert!((distance.unwrap() - (-0.2f64).exp()).abs() < 1e-9, "{gaps:?}");
    }
}

/// Every fifth request is half a gap late, which is a distance of 0.2: beyond chance in 2,000 gaps, not in 200.
#[test]
fn a_distance_is_a_doubt_where_it_is_beyond_chance() {
    let late = |count: u64| {
        let begun = |k: u64| Time(k * 1_000_000 + if k % 5 == 2 { 500_000 } else { 0 });
        let gaps = Gaps::of(&[(0..=count).map(|k| (Time(k * 1_000_000), begun(k))).collect()], None, Span::ZERO);
        gaps.expect("there are gaps")
    };
    assert!((late(200).from_plan - 0.2).abs() < 0.01 && late(200).doubts().is_empty(), "{:?}", late(200));
    assert_eq!(late(2000).doubts()[0].cause, Cause::Emission);
}

/// A plan whose gaps are as `gap` draws them, each request up to a fiftieth of the mean gap (1 ms) late.
fn drawn(count: usize, mut gap: impl FnMut(&mut Stream) -> f64) -> Vec<Vec<(Time, Time)>> {
    let mut stream = Stream::new(3, "gaps", "plan");
    let mut at = 0.0;
    let instants = (0..count).map(|_| {
        at += gap(&mut stream);
        (Time::from_secs_f64(at), Time::from_secs_f64(at + 20e-6 * stream.uniform()))
    });
    vec![instants.collect()]
}

/// Clocks side by side, each ticking every `clocks` ms: 1000 requests a second altogether, in a random order of phases.
fn side_by_side(clocks: usize, count: usize) -> Vec<(Time, Time)> {
    let mut stream = Stream::new(7, "gaps", "phases");
    let period = clocks as f64 * 1e-3;
    let mut phases: Vec<f64> = (0..clocks).map(|_| period * stream.uniform()).collect();
    phases.sort_by(f64::total_cmp);
    let instant = |k: usize| Time::from_secs_f64((k / clocks) as f64 * period + phases[k % clocks]);
    (0..count).map(|k| (instant(k), instant(k))).collect()
}

fn law(text: &str) -> Law {
    Law::parse(text, Dimension::Time).unwrap()
}

/// Six false alarms in a million at most, for each line.
#[test]
fn gaps_of_the_law_asked_for_raise_no_doubt() {
    for text in ["exponential(mean = 1 ms)", "lognormal(mean = 1 ms, cv = 2)", "erlang(k = 4, mean = 1 ms)", "1 ms"] {
        let law = law(text);
        let gaps = found(&drawn(20_000, |stream| law.sample(stream)), &law);
        assert_eq!(doubts(&gaps), Vec::<String>::new(), "{text}: {gaps:?}");
        assert_eq!((gaps.plan_order.is_some(), gaps.order.is_some()), (text != "1 ms", text != "1 ms"), "{text}");
    }
}

#[test]
fn gaps_of_another_law_do() {
    let (poisson, regular) = (law("exponential(mean = 1 ms)"), law("erlang(k = 2, mean = 1 ms)"));
    let gaps = found(&drawn(2000, |stream| regular.sample(stream)), &poisson);
    assert!(doubts(&gaps)[0].contains("do not follow the law asked for"), "{gaps:?}");
    // Half as many requests as were asked for.
    let slower = law("exponential(mean = 2 ms)");
    let gaps = found(&drawn(2000, |stream| slower.sample(stream)), &poisson);
    assert!(doubts(&gaps)[0].contains("do not follow the law asked for"), "{gaps:?}");
    assert!(gaps.doubts().iter().all(|doubt| doubt.cause == Cause::Plan), "the plan is at fault, and told once");
}

/// Poisson arrivals of 50,000/s that go out by a timer of 100 us, and by one of 20 ms: what moves them by less than is
/// forgiven is no doubt, what moves them by more is one of the emission and not of the plan.
#[test]
fn a_coarse_timer_is_forgiven_as_far_as_its_lateness_is() {
    let poisson = law("exponential(mean = 20 us)");
    let by_timer = |period_ns: u64| {
        let mut runs = drawn(20_000, |stream| poisson.sample(stream));
        runs[0].iter_mut().for_each(|(at, begun)| *begun = Time(at.0.div_ceil(period_ns) * period_ns));
        runs
    };
    let late = Span(1_000_000);
    let gaps = Gaps::of(&by_timer(100_000), Some(&poisson), late).unwrap();
    assert_eq!((gaps.doubts(), gaps.order), (Vec::new(), None), "{gaps:?}");
    let strict = found(&by_timer(100_000), &poisson);
    assert!(strict.doubts().iter().all(|doubt| doubt.cause == Cause::Emission), "{strict:?}");
    assert!(strict.from_plan > 0.5 && strict.from_law.unwrap() > 0.5 && strict.order.is_some(), "{strict:?}");
    // A thousand requests in a bunch, with 1 us forgiven.
    let coarse = Gaps::of(&by_timer(20_000_000), Some(&poisson), Span(1_000)).unwrap();
    assert!(coarse.doubts().iter().any(|doubt| doubt.cause == Cause::Emission), "{coarse:?}");
}

#[test]
fn clocks_side_by_side_are_no_poisson_process() {
    let poisson = law("exponential(mean = 1 ms)");
    for clocks in [8, 50, 400] {
        // A hundred rounds of them are enough.
        let gaps = found(&[side_by_side(clocks, 100 * clocks)], &poisson);
        assert!(doubts(&gaps).join("; ").contains("many schedules ran side by side"), "{clocks}: {gaps:?}");
        let (_, ratio) = gaps.plan_order.unwrap().dispersion.unwrap();
        assert!(ratio < 0.5, "{clocks}: {gaps:?}");
    }
}

/// Poisson arrivals whose gaps are multiplied by such factors, fifty after fifty others.
fn in_turns(factors: [f64; 2]) -> Gaps {
    let poisson = law("exponential(mean = 1 ms)");
    let mut number = 0;
    let gap = |stream: &mut Stream| {
        number += 1;
        factors[number / 50 % 2] * poisson.sample(stream)
    };
    found(&drawn(20_000, gap), &poisson)
}

#[test]
fn bursts_are_no_poisson_process_where_they_matter() {
    let bursts = doubts(&in_turns([0.3, 1.7])).join("; ");
    assert!(bursts.contains("times as much as those of independent ones, as in bursts"), "{bursts}");
    // A spread of less than twice as much is beyond chance in so many gaps, and no server sees it.
    let slight = in_turns([0.75, 1.25]);
    let (_, ratio) = slight.plan_order.unwrap().dispersion.unwrap();
    assert!(ratio > 1.7 && doubts(&slight).is_empty(), "{slight:?}");
}

#[test]
fn gaps_that_alternate_depend_on_one_another() {
    let poisson = law("exponential(mean = 1 ms)");
    // Each gap is drawn from the half of the law that the one before was not in.
    let mut below = false;
    let gap = |stream: &mut Stream| {
        below = !below;
        let share = 0.5 * stream.uniform() + if below { 0.0 } else { 0.5 };
        -1e-3 * (1.0 - share).max(1e-12).ln()
    };
    let gaps = found(&drawn(4000, gap), &poisson);
    assert!(gaps.from_law.unwrap() < 0.05, "gap by gap it is the law: {gaps:?}");
    assert!(doubts(&gaps)[0].contains("rank correlation of neighbours -0.7"), "{:?}", gaps.doubts());
}
