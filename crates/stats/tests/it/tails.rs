//! Tail indices and Zipf exponents.

use sojourn_stats::fit::hill::{self, Kind};
use sojourn_stats::fit::zipf;
use sojourn_stats::{Dimension, Law, Stream};

fn sorted(text: &str, count: usize) -> Vec<f64> {
    let law = Law::parse(text, Dimension::Number).unwrap();
    let mut stream = Stream::new(1, "tail", text);
    let mut numbers: Vec<f64> = (0..count).map(|_| law.sample(&mut stream)).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// For Pareto draws, k alpha / alpha_k is a gamma variable of shape k at every k, so its deviation in units of 1/sqrt(k)
/// passes 7.5 with a chance below 1e-8 at k = 50 and far less beyond; 160 places that hang together: below 1e-6.
#[test]
fn hills_estimates_of_a_pareto_tail() {
    let mut heavy = 0;
    for alpha in [0.8, 1.1, 1.5, 2.5] {
        let tail = hill::tail(&sorted(&format!("pareto(alpha = {alpha}, min = 3)"), 50_000)).unwrap();
        for place in tail.plot.iter().filter(|place| place.k >= 50) {
            let off = (alpha / place.alpha - 1.0) * (place.k as f64).sqrt();
            assert!(off.abs() < 7.5, "alpha {alpha}, k {}: {} is off by {off}", place.k, place.alpha);
        }
        assert!(tail.plot.len() > 100 && tail.plot.windows(2).all(|two| two[0].k < two[1].k));
        assert!(tail.stable.0 <= tail.k && tail.k <= tail.stable.1);
        heavy += usize::from(tail.kind == Kind::Power);
        // The moment estimate: 6 of its asymptotic errors around 1/alpha, at the k that was chosen.
        let error = (tail.moment_ci_high - tail.moment_ci_low) / (2.0 * 1.96);
        assert!((tail.moment_gamma - 1.0 / alpha).abs() < 6.0 * error, "{alpha}: {}", tail.moment_gamma);
    }
    // One of them may be called something else by 4 errors (6e-5), but not two.
    assert!(heavy >= 3, "{heavy} of 4 are seen to be powers");
}

/// By hand: of 1, 2, ..., 60 the 25 largest are above 35.
#[test]
fn hills_estimate_is_the_mean_of_the_logarithms() {
    let numbers: Vec<f64> = (1..=60).map(f64::from).collect();
    let tail = hill::tail(&numbers).unwrap();
    let first = tail.plot[0];
    let gamma = (36..=60).map(|x| (f64::from(x) / 35.0).ln()).sum::<f64>() / 25.0;
    assert_eq!((first.k, first.threshold), (25, 35.0));
    assert!((first.alpha * gamma - 1.0).abs() < 1e-12);
    assert!(hill::tail(&numbers[..40]).is_none());
    assert!(hill::tail(&[7.0; 1000]).is_none());
}

/// An exponential tail falls faster than any power: Hill's number is then none, and it is never said to be one. The moment
/// estimate tends to 0 from above and slowly (0.06 at these k, by its expansion), its error is 0.02 to 0.05.
#[test]
fn a_light_tail_is_not_called_heavy() {
    for text in ["exponential(mean = 1)", "weibull(shape = 2, scale = 1)", "uniform(low = 1, high = 2)"] {
        let tail = hill::tail(&sorted(text, 100_000)).unwrap();
        assert!(tail.kind != Kind::Power, "{text}: alpha {} at k {}, moment {}", tail.alpha, tail.k, tail.moment_gamma);
    }
}

#[test]
fn ties_are_never_split() {
    // Whole numbers: a threshold is always strictly below what is beyond it.
    let numbers: Vec<f64> = sorted("pareto(alpha = 1.2, min = 1)", 20_000).iter().map(|x| x.floor()).collect();
    let tail = hill::tail(&numbers).unwrap();
    for place in &tail.plot {
        let beyond = numbers.iter().filter(|x| **x > place.threshold).count();
        assert_eq!(beyond, place.k);
    }
}

/// The exponent within 6 of its errors (2e-9 each) and one more for the sorting by what was seen, which at 2000 requests
/// per object is 0.7 of an error (see the module).
#[test]
fn zipfs_exponent() {
    for s in [0.6, 0.8, 1.0, 1.4] {
        let law = Law::parse(&format!("zipf(n = 500, s = {s})"), Dimension::Number).unwrap();
        let mut stream = Stream::new(1, "zipf", &s.to_string());
        let mut counts = vec![0u64; 500];
        for _ in 0..1_000_000 {
            counts[law.sample(&mut stream) as usize - 1] += 1;
        }
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let fitted = zipf::fit(&counts).unwrap();
        let error = (fitted.ci_high - fitted.ci_low) / (2.0 * 1.96);
        assert!((fitted.s - s).abs() < 7.0 * error, "{s}: {} +- {error}", fitted.s);
        assert!(fitted.kolmogorov < 0.01, "{s}: {}", fitted.kolmogorov);
    }
    assert!(zipf::fit(&[5]).is_none() && zipf::fit(&[]).is_none());
    // Everything asked for equally often has the exponent 0.
    assert!(zipf::fit(&[7; 100]).unwrap().s.abs() < 1e-9);
}

/// Third moment over the second to 3/2 in closed form where no value is left out that counts; a tail without a variance keeps its
/// skewness; and what one in twenty means has is where the law is cut.
#[test]
fn a_mean_is_as_skew_as_its_count_leaves_it() {
    let law = |text: &str| Law::parse(text, Dimension::Time).unwrap();
    // E[S^3] = 6 and E[S^2] = 2 of the exponential; of squares 720 and 24.
    let exponential = Law::exponential(1.0);
    let near = |found: f64, exact: f64, off: f64| assert!((found / exact - 1.0).abs() < off, "{found}, not {exact}");
    near(exponential.skewness_of_mean(1, 1_000_000), 6.0 / 2f64.powf(1.5) / 1e3, 1e-3);
    near(exponential.skewness_of_mean(2, 1_000_000), 720.0 / 24f64.powf(1.5) / 1e3, 1e-2);
    near(law("constant(3 s)").skewness_of_mean(2, 100), 0.1, 1e-4);
    // Its scale is no matter, and a bound ends it.
    near(Law::exponential(1e-3).skewness_of_mean(2, 1_000_000), 720.0 / 24f64.powf(1.5) / 1e3, 1e-2);
    let pareto = law("pareto(alpha = 2.5, mean = 1 s)");
    let (short, long) = (pareto.skewness_of_mean(2, 1_000_000), pareto.skewness_of_mean(2, 1_000_000_000));
    assert!((1.7..1.8).contains(&short) && (long / short - 1.0).abs() < 0.01, "{short}, {long}");
    let bounded = law("bounded-pareto(alpha = 1.5, min = 0.34 s, max = 1000 s)");
    assert!(bounded.skewness_of_mean(2, 100_000_000) < 0.05 && bounded.skewness_of_mean(2, 200_000) > 0.6);
    // By numerical integration by hand, in Python.
    near(law("lognormal(mean = 1 s, cv = 2)").skewness_of_mean(2, 1_000_000), 0.47, 0.02);
    near(law("lognormal(mean = 1 s, cv = 4)").skewness_of_mean(2, 1_000_000), 1.20, 0.02);
}
