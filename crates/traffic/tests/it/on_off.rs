//! Sources that speak and fall silent in turn.

use sojourn_stats::{Estimate, Moments, Time};
use sojourn_traffic::{Arrivals, Plan, Workload};

use crate::support::{demand, first, open};

const PARETO: &str = "on-off(sources = 20, on = pareto(alpha = 1.4, mean = 1 s), off = pareto(alpha = 1.6, mean = 3 s), \
                      rate = 40 /s)";

fn workload(text: &str) -> Workload {
    Workload::Open(open(text, 1, "5 kB"))
}

/// The process is stationary: as many come in the first second of a plan as in a later one, on average exactly the rate.
/// False alarm: 2e-9 for each of eight (6 deviations; counts of twenty sources over 1,500 seeds).
#[test]
fn the_rate_is_right_from_the_first_instant() {
    let with_gaps = "on-off(sources = 20, on = exponential(mean = 1 s), off = 2 s, gap = gamma(mean = 50 ms, cv = 2))";
    for (text, rate) in [(PARETO, 40.0), (with_gaps, 20.0 / 3.0 * 20.0)] {
        let arrivals = Arrivals::parse(text).unwrap();
        assert!((arrivals.rate().unwrap() / rate - 1.0).abs() < 1e-12, "{text}");
        let windows = [(0.0, 0.1), (0.0, 1.0), (1.0, 2.0), (4.0, 5.0)];
        let mut counts = [Moments::new(); 4];
        for seed in 0..1500 {
            let plan = Plan::new(&workload(text), seed, demand()).unwrap().collect_until(Time(5_000_000_000));
            for ((from, to), counts) in windows.iter().zip(&mut counts) {
                let within = plan.iter().filter(|planned| (*from..*to).contains(&planned.at.as_secs_f64()));
                counts.push(within.count() as f64);
            }
        }
        for ((from, to), counts) in windows.iter().zip(&counts) {
            let off = (counts.mean() - rate * (to - from)) / (counts.variance() / counts.count() as f64).sqrt();
            assert!(off.abs() < 6.0, "{text}: {} come from {from} s to {to} s", counts.mean());
        }
    }
}

/// One source with times that do not vary: ten requests in each second on, and nothing in the second off.
#[test]
fn a_source_sends_evenly_while_it_is_on() {
    let plan = first(&workload("on-off(sources = 1, on = 1 s, off = 1 s, gap = 100 ms)"), 3, 200);
    let gaps_ms: Vec<f64> = plan.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() * 1e3).collect();
    let pauses: Vec<usize> = (0..gaps_ms.len()).filter(|k| gaps_ms[*k] > 100.1).collect();
    assert!(pauses.windows(2).all(|pair| pair[1] - pair[0] == 10), "{gaps_ms:?}");
    // From the last of one time on to the first of the next: a second, what is left of the one, and a part of the other.
    assert!(pauses.iter().all(|k| (1000.0..1200.0).contains(&gaps_ms[*k])), "{gaps_ms:?}");
    assert!(pauses.len() >= 18, "{gaps_ms:?}");
}

#[test]
fn one_more_source_moves_nobody_else() {
    let text = |sources| format!("on-off(sources = {sources}, on = exponential(mean = 1 s), off = 1 s, gap = 30 ms)");
    let few = first(&workload(&text(3)), 9, 300);
    let more = first(&workload(&text(4)), 9, 1000);
    for planned in &few {
        let near = more.partition_point(|other| other.at.0 + 2 < planned.at.0);
        assert!(more[near].at.0.abs_diff(planned.at.0) <= 2, "{planned:?} is missing");
    }
    assert_eq!(few, first(&workload(&text(3)), 9, 300));
    assert_ne!(few, first(&workload(&text(3)), 10, 300));
}

#[test]
fn the_scale_is_a_rate_a_gap_or_a_utilisation() {
    let arrivals = Arrivals::parse(PARETO).unwrap();
    // H = (3 - 1.4) / 2: the heavier tail has its way.
    assert!((arrivals.hurst().unwrap() - 0.8).abs() < 1e-12);
    assert!(arrivals.law().is_none() && arrivals.gaps().is_none() && arrivals.memory().is_none());
    assert!(arrivals.beyond_formulas().unwrap().contains("on-off"));
    assert!((arrivals.at_rate(5.0).unwrap().rate().unwrap() - 5.0).abs() < 1e-12);

    let mut settled = Arrivals::parse(&PARETO.replace("rate = 40 /s", "utilization = 0.5, gap = exponential")).unwrap();
    assert!(settled.rate().is_none());
    settled.settle(300.0);
    assert!((settled.rate().unwrap() - 150.0).abs() < 1e-9);
    let light = Arrivals::parse("on-off(sources = 20, on = exponential(mean = 1 s), off = 3 s, rate = 10 /s)").unwrap();
    assert_eq!(light.hurst(), Some(0.5));
}

/// The H of counts is near (3 - alpha) / 2 with heavy tails, and near 0.5 without. It is a limit: what is left of the times
/// on and off, and the few sources and hours, move it by some hundredths, so the bounds are wide and not statistical.
#[test]
fn heavy_tails_make_long_memory() {
    let measured = |alpha: f64| {
        let text = format!(
            "on-off(sources = 200, on = pareto(alpha = {alpha}, mean = 1 s), off = pareto(alpha = {alpha}, mean = 1 s), \
             rate = 100 /s)"
        );
        let measure = Arrivals::parse(&text).unwrap().hurst_of(1, 250_000).unwrap();
        match measure.estimate {
            Estimate::Sampled { value, .. } => value,
            other => panic!("{text}: {other:?}"),
        }
    };
    let (heavy, light) = (measured(1.4), measured(3.5));
    assert!((heavy - 0.8).abs() < 0.1, "{heavy}");
    assert!((light - 0.5).abs() < 0.1, "{light}");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    for (text, told) in [
        ("on-off(sources = 100, on = 1 s, rate = 5 /s)", "all needed"),
        ("on-off(sources = 0, on = 1 s, off = 1 s, rate = 5 /s)", "from 1 to"),
        ("on-off(sources = many, on = 1 s, off = 1 s, rate = 5 /s)", "from 1 to"),
        ("on-off(sources = 9, on = 1 s, off = 1 s)", "missing"),
        ("on-off(sources = 9, on = 1 s, off = 1 s, rate = 5 /s, mean = 3 s)", "give one"),
        ("on-off(sources = 9, on = 1 s, off = 0 s, rate = 5 /s)", "off = 0 s"),
        ("on-off(sources = 9, on = pareto(alpha = 0.9, min = 1 s), off = 1 s, rate = 5 /s)", "alpha above 1"),
        ("on-off(sources = 9, on = 1, off = 1 s, rate = 5 /s)", "unit"),
        ("on-off(sources = 9, on = 1 s, off = 1 s, rate = 5 /s, gap = exponential(mean = 3 ms))", "of its own"),
        ("on-off(sources = 9, on = 1 s, off = 1 s, gap = 0 s)", "above 0"),
        ("on-off(sources = 9, on = 1 s, off = 1 s, rate = 1 /min)", ""),
        ("on-off(sources = 9, on = 1 us, off = 1 us, rate = 1 /h)", "almost never"),
        ("on-off(sources = 9, on = 1 s, off = 1 s, every = 5 s)", "`every` is none of"),
        ("on-off(9, on = 1 s, off = 1 s, rate = 5 /s)", "has no name"),
        ("on-off(source = 9, on = 1 s, off = 1 s, rate = 5 /s)", "(did you mean `sources`?)"),
        ("onoff(sources = 9, on = 1 s, off = 1 s, rate = 5 /s)", "did you mean `on-off`"),
    ] {
        if told.is_empty() {
            assert!(Arrivals::parse(text).is_ok(), "{text}");
            continue;
        }
        let error = Arrivals::parse(text).err().unwrap_or_else(|| panic!("`{text}` was taken")).to_string();
        assert!(error.contains(told) && !error.contains('\n'), "{error}");
    }
}
