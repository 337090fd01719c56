//! The distance between planned and emitted gaps sees what changes a server's load, and nothing else.

use sojourn_load::Gaps;
use sojourn_stats::{Dimension, Law, Stream, Time};

fn from_plan(runs: &[Vec<(Time, Time)>]) -> Option<f64> {
    Gaps::of(runs, None).map(|gaps| gaps.from_plan)
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
fn two_requests_have_no_distribution() {
    assert_eq!(from_plan(&[emitted(1, 0).remove(0)[..2].to_vec()]), None);
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
        let gaps = Gaps::of(&drawn(20_000, |stream| law.sample(stream)), Some(&law)).unwrap();
        assert_eq!(gaps.doubts(), Vec::<String>::new(), "{text}: {gaps:?}");
        assert_eq!(gaps.correlation.is_some(), text != "1 ms", "{text}");
    }
}

#[test]
fn gaps_of_another_law_do() {
    let (poisson, regular) = (law("exponential(mean = 1 ms)"), law("erlang(k = 2, mean = 1 ms)"));
    let gaps = Gaps::of(&drawn(2000, |stream| regular.sample(stream)), Some(&poisson)).unwrap();
    assert!(gaps.doubts()[0].contains("do not follow the law asked for"), "{gaps:?}");
    // Half as many requests as were asked for.
    let slower = law("exponential(mean = 2 ms)");
    let gaps = Gaps::of(&drawn(2000, |stream| slower.sample(stream)), Some(&poisson)).unwrap();
    assert!(gaps.doubts()[0].contains("do not follow the law asked for"), "{gaps:?}");
}

#[test]
fn clocks_side_by_side_are_no_poisson_process() {
    let poisson = law("exponential(mean = 1 ms)");
    for clocks in [8, 50, 400] {
        // A hundred rounds of them are enough.
        let gaps = Gaps::of(&[side_by_side(clocks, 100 * clocks)], Some(&poisson)).unwrap();
        let doubts = gaps.doubts().join("; ");
        assert!(doubts.contains("many schedules ran side by side"), "{clocks}: {gaps:?}");
        let (_, ratio) = gaps.dispersion.unwrap();
        assert!(ratio < 0.5, "{clocks}: {gaps:?}");
    }
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
    let gaps = Gaps::of(&drawn(4000, gap), Some(&poisson)).unwrap();
    assert!(gaps.from_law.unwrap() < 0.05, "gap by gap it is the law: {gaps:?}");
    assert!(gaps.doubts()[0].contains("rank correlation of neighbours -0.7"), "{:?}", gaps.doubts());
}
