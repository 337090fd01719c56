//! Gaps of any law with long memory.

use sojourn_stats::fgn::{Fgn, autocovariance};
use sojourn_stats::goodness::kolmogorov;
use sojourn_stats::interval::normal_quantile;
use sojourn_stats::{Dimension, Estimate, Span, Stream, Time};
use sojourn_traffic::{Arrivals, Plan, Profile, Workload};

use crate::support::{demand, first, law, open};

fn gaps_s(arrivals: &str, seed: u64, count: usize) -> Vec<f64> {
    let plan = first(&Workload::Open(open(arrivals, 1, "5 kB")), seed, count);
    let mut before = Time::ZERO;
    plan.iter().map(|planned| (planned.at - std::mem::replace(&mut before, planned.at)).as_secs_f64()).collect()
}

fn refused(text: &str) -> String {
    let error = Arrivals::parse(text).err().unwrap_or_else(|| panic!("`{text}` was taken"));
    error.to_string()
}

/// The plan is, to the nanosecond, the noise of the same stream, each point put where it lies in its law.
#[test]
fn gaps_are_quantiles_of_the_noise() {
    let text = "fgn(h = 0.8, mean = 100 ms, cv = 1.5, marginal = lognormal, length = 1000)";
    let plan = first(&Workload::Open(open(text, 1, "5 kB")), 7, 2500);
    let gaps = law("lognormal(mean = 100 ms, cv = 1.5)", Dimension::Time);
    let (mut fgn, mut stream) = (Fgn::new(0.8, 1000).unwrap(), Stream::new(7, "source", "arrivals"));
    // Path after path from one stream.
    let noise: Vec<f64> = (0..3).flat_map(|_| fgn.path(&mut stream)).collect();
    let mut sum_s = 0.0;
    for (planned, z) in plan.iter().zip(&noise) {
        sum_s += gaps.quantile_of_normal(*z).unwrap();
        assert!((planned.at.as_secs_f64() - sum_s).abs() < 5e-9, "{planned:?} for {sum_s} s");
    }
}

/// The first two gaps of many seeds are independent pairs: each gap has the law, and their normal scores the noise's
/// correlation. False alarm: 1e-8 a law for the law (Dvoretzky-Kiefer-Wolfowitz); for the correlation 6 of its deviations.
#[test]
fn any_law_keeps_its_shape_and_its_memory() {
    const SEEDS: usize = 5000;
    for (marginal, cv, whole) in [
        ("exponential", "", "exponential(mean = 20 ms)"),
        ("gamma", ", cv = 0.3", "gamma(mean = 20 ms, cv = 0.3)"),
        ("weibull(shape = 0.5)", "", "weibull(shape = 0.5, mean = 20 ms)"),
        ("pareto(alpha = 2.5)", "", "pareto(alpha = 2.5, mean = 20 ms)"),
        ("hyperexponential", ", cv = 3", "hyperexponential(mean = 20 ms, cv = 3)"),
    ] {
        let law = law(whole, Dimension::Time);
        let text = format!("fgn(h = 0.9, rate = 50 /s, marginal = {marginal}{cv}, length = 4)");
        let pairs: Vec<Vec<f64>> = (0..SEEDS).map(|seed| gaps_s(&text, seed as u64, 2)).collect();
        let (mut product, mut scores) = (0.0, Vec::new());
        for place in 0..2 {
            let gaps: Vec<f64> = pairs.iter().map(|pair| pair[place]).collect();
            let fit = kolmogorov(&gaps, |gap| law.cdf(gap));
            assert!(fit.p_value > 1e-8, "{text}: {fit:?}");
            scores.push(
                gaps.iter().map(|gap| normal_quantile(law.cdf(*gap).clamp(1e-12, 1.0 - 1e-12))).collect::<Vec<_>>(),
            );
        }
        for (one, next) in scores[0].iter().zip(&scores[1]) {
            product += one * next / SEEDS as f64;
        }
        // Of products of normals with correlation r the variance is 1 + r^2.
        let r = autocovariance(0.9, 1);
        let off = (product - r) / ((1.0 + r * r) / SEEDS as f64).sqrt();
        assert!(off.abs() < 6.0, "{text}: correlation {product} for {r}");
    }
}

#[test]
fn mean_spread_and_memory_are_set_one_by_one() {
    let arrivals = Arrivals::parse("fgn(h = 0.8, mean = 94.7 ms, cv = 1, marginal = exponential)").unwrap();
    let gaps = arrivals.gaps().unwrap();
    assert!((gaps.mean() - 0.0947).abs() < 1e-15 && (gaps.scv() - 1.0).abs() < 1e-12);
    assert_eq!((arrivals.hurst(), arrivals.memory(), arrivals.batch()), (Some(0.8), Some(1 << 20), 1));
    assert!(arrivals.law().is_none() && arrivals.beyond_formulas().unwrap().contains("long memory"));

    let by_rate = Arrivals::parse("fgn(h = 70%, rate = 20 /s, cv = 2, marginal = lognormal)").unwrap();
    assert!((by_rate.rate().unwrap() - 20.0).abs() < 1e-9 && (by_rate.gaps().unwrap().scv() - 4.0).abs() < 1e-9);
    let faster = by_rate.at_rate(50.0).unwrap();
    assert!((faster.rate().unwrap() - 50.0).abs() < 1e-9 && (faster.gaps().unwrap().scv() - 4.0).abs() < 1e-9);
    assert_eq!(faster.hurst(), Some(0.7));

    let mut by_system = Arrivals::parse("fgn(utilization = 0.7, h = 0.6, marginal = erlang(k = 4))").unwrap();
    assert!(by_system.rate().is_none() && by_system.utilization() == Some(0.7));
    by_system.settle(400.0);
    assert!((by_system.rate().unwrap() - 280.0).abs() < 1e-9 && (by_system.gaps().unwrap().scv() - 0.25).abs() < 1e-12);

    // The law may bring its scale itself, and then a bound.
    let bounded = Arrivals::parse("fgn(h = 0.8, marginal = exponential(mean = 10 ms, max = 50 ms))").unwrap();
    assert_eq!(bounded.gaps().unwrap().limits().1, 0.05);
    // A normal law, cut at 0, still has the mean that was asked for.
    let normal = Arrivals::parse("fgn(h = 0.8, mean = 10 ms, cv = 0.2, marginal = normal)").unwrap();
    assert!((normal.rate().unwrap() - 100.0).abs() < 1e-9);
    // Without memory it is a renewal process, which formulas know.
    let renewal = Arrivals::parse("fgn(h = 0.5, mean = 10 ms)").unwrap();
    assert!(renewal.law().unwrap().is_exponential() && renewal.beyond_formulas().is_none());
    assert_eq!(renewal.memory(), None);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    for (text, told) in [
        ("fgn(mean = 10 ms)", "h, the Hurst parameter, is missing"),
        ("fgn(h = 1, mean = 10 ms)", "above 0 and below 1"),
        ("fgn(h = 1.3, mean = 10 ms)", "above 0 and below 1"),
        ("fgn(h = 0, mean = 10 ms)", "above 0 and below 1"),
        ("fgn(h = high, mean = 10 ms)", "high"),
        ("fgn(h = 0.8)", "mean, rate or utilization"),
        ("fgn(h = 0.8, mean = 10 ms, rate = 5 /s)", "give one"),
        ("fgn(h = 0.8, mean = 0 ms)", "above 0"),
        ("fgn(h = 0.8, utilization = 0)", "above 0"),
        ("fgn(h = 0.8, mean = 10 ms, cv = 2)", "has cv 1.0000 whatever its mean"),
        ("fgn(h = 0.8, mean = 10 ms, cv = 2, marginal = exponential)", "leave cv out, or take one of gamma"),
        ("fgn(h = 0.8, mean = 10 ms, cv = 2, marginal = erlang(k = 4))", "has cv 0.5000"),
        ("fgn(h = 0.8, mean = 10 ms, cv = 0.9, marginal = normal)", "redrawn"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = pareto(alpha = 1.5))", "infinite variance"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = pareto(alpha = 0.9))", "infinite mean"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = constant)", "no H"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = gamma)", "cv"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = zipf(n = 10, s = 1))", "ranks"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = exponential(mean = 5 ms))", "of its own"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = exponential(max = 5 ms))", "moves the mean"),
        ("fgn(h = 0.8, mean = 10 ms, marginal = exponentiel)", "did you mean `exponential`"),
        ("fgn(h = 0.8, mean = 10 ms, length = 1)", "from 2 to"),
        (
            "fgn(h = 0.8, mean = 10 ms, hurst = 1)",
            "`hurst` is none of h, mean, rate, utilization, cv, marginal and length",
        ),
        ("fgn(h = 0.8, mean = 10 ms, hurst = 1)", "(did you mean `h`?)"),
        ("fgn(0.8, mean = 10 ms)", "has no name"),
        ("fgm(h = 0.8, mean = 10 ms)", "did you mean `fgn`"),
    ] {
        let error = refused(text);
        assert!(error.contains(told) && !error.contains('\n'), "{error}");
        assert!(!error.contains("(column"), "a place in a text that the user did not write: {error}");
    }
}

/// Of laws near the normal one the H that comes out is the one that went in; of skewed ones it is lower, which is why it is
/// reported. False alarm: 2e-9 (6 standard errors; 1.96 of them are half of the interval).
#[test]
fn a_run_that_outlasts_its_memory_and_alternation_that_dies_out_are_said() {
    let caveats = |text: &str, requests| Arrivals::parse(text).unwrap().caveats("this run", requests);
    let short = "fgn(h = 0.8, mean = 10 ms, length = 1024)";
    assert_eq!(caveats(short, 1024), Vec::<String>::new());
    let told = caveats(short, 1025);
    assert!(told.len() == 1 && told[0].contains("this run had 1025: `length = 2048`"), "{told:?}");
    let told = caveats("fgn(h = 0.3, utilization = 0.8)", 1024);
    assert!(told.len() == 1 && told[0].contains("H = 0.3") && told[0].contains("arrivals_hurst"), "{told:?}");
    assert!(caveats("fgn(h = 0.3, mean = 10 ms, cv = 0.1, marginal = normal)", 1024).is_empty());
    assert!(caveats("exponential(mean = 10 ms)", u64::MAX).is_empty());
}

#[test]
fn the_hurst_parameter_that_came_out_is_measured() {
    let measured = |text: &str| match Arrivals::parse(text).unwrap().hurst_of(3, 100_000).unwrap().estimate {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            assert_eq!(samples, 100_000);
            (value, (ci_high - ci_low) / 2.0 / 1.96)
        }
        other => panic!("{text}: {other:?}"),
    };
    for h in [0.6, 0.8, 0.9] {
        let (found, error) = measured(&format!("fgn(h = {h}, mean = 10 ms, cv = 0.05, marginal = normal)"));
        assert!((found - h).abs() < 6.0 * error, "{found} +- {error} for {h}");
    }
    let (skewed, error) = measured("fgn(h = 0.8, mean = 10 ms, cv = 3, marginal = lognormal)");
    assert!(skewed < 0.8 - 6.0 * error && skewed > 0.55, "{skewed} +- {error}");
    let few = Arrivals::parse("fgn(h = 0.8, mean = 10 ms)").unwrap().hurst_of(3, 10).unwrap();
    assert_eq!((few.metric.as_str(), few.estimate), ("arrivals_hurst", Estimate::TooFew { samples: 10 }));
    assert!(Arrivals::parse("exponential(mean = 10 ms)").unwrap().hurst_of(3, 1000).is_none());
}

#[test]
fn a_longer_plan_begins_with_the_shorter_one() {
    let mut arrivals = Arrivals::parse("fgn(h = 0.8, rate = 100 /s)").unwrap();
    let memory = arrivals.memory();
    arrivals.reach(1000);
    arrivals.reach_until(Span(60_000_000_000));
    assert_eq!(arrivals.memory(), memory);
    // 20,000 s at 100 /s, and a quarter more: the next power of two.
    arrivals.reach_until(Span(20_000_000_000_000));
    assert_eq!(arrivals.memory(), Some(1 << 22));
    arrivals.reach(1000);
    assert_eq!(arrivals.memory(), Some(1 << 22), "what was promised is kept");
    arrivals.reach(u64::MAX);
    assert_eq!(arrivals.memory(), Some(1 << 25), "more is not drawn unasked");
    let mut written = Arrivals::parse("fgn(h = 0.8, rate = 100 /s, length = 5000)").unwrap();
    written.reach(1_000_000_000);
    assert_eq!(written.memory(), Some(5000));
}

/// A profile moves these arrivals as any others: the same requests, at instants where its integral is what they were.
#[test]
fn memory_goes_through_a_profile() {
    let text = "fgn(h = 0.8, rate = 100 /s, length = 3000)";
    let plain = first(&Workload::Open(open(text, 10, "webstone")), 5, 2000);
    let mut shaped = open(text, 10, "webstone");
    let profile = Profile::parse("daily(0 h: 0.5, 12 h: 2, over = 10 s)").unwrap();
    shaped.arrivals = shaped.arrivals.with_profile(profile.clone());
    let plan: Vec<_> = Plan::new(&Workload::Open(shaped), 5, demand()).unwrap().take(2000).collect();
    for (moved, still) in plan.iter().zip(&plain) {
        assert_eq!(moved.request, still.request);
        let integral_s = profile.integral(moved.at.as_secs_f64());
        assert!((integral_s - still.at.as_secs_f64()).abs() < 1e-7, "{moved:?} for {still:?}");
    }
}
