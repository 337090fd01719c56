//! Quantiles undo the distribution function, and the residual of an interval follows the equilibrium law.

use sojourn_stats::goodness::kolmogorov;
use sojourn_stats::{Dimension, Law, Moments, Stream};

use crate::laws::{all, parsed};

const CHANCES: [f64; 13] = [1e-9, 1e-4, 0.01, 0.1, 0.25, 0.4999, 0.5, 0.7, 0.9, 0.99, 0.9999, 1.0 - 1e-9, 1.0 - 1e-12];

fn invertible() -> impl Iterator<Item = (String, Law)> {
    all().into_iter().filter(|(text, _)| !text.contains("zipf"))
}

/// The smallest x with P(X <= x) >= p, jumps included: there it is at least p, and a hair before at most p.
#[test]
fn quantiles_undo_the_distribution_function() {
    let mut laws = 0;
    for (text, law) in invertible() {
        laws += 1;
        for p in CHANCES {
            let x = law.quantile(p).unwrap();
            let (low, high) = law.limits();
            assert!((low..=high).contains(&x), "{text}: the {p} quantile {x} is outside of {low} to {high}");
            // In whichever tail is the smaller, relative to it. A law that is computed by 1 - cdf has no more digits, and
            // one that is redrawn beyond a bound loses those that the tail beyond has.
            let digits = if text.contains("max") || text.starts_with("normal") { 1e-11 } else { 4e-16 };
            let tolerance = |tail: f64| 1e-9 * tail + digits;
            let (after, before) = (x * (1.0 + 1e-11), x * (1.0 - 1e-11));
            assert!(law.cdf(after) >= p - tolerance(p), "{text}: P(X <= {after}) is {} for {p}", law.cdf(after));
            assert!(
                law.survival(after) <= 1.0 - p + tolerance(1.0 - p),
                "{text}: P(X > {after}) is {} for {}",
                law.survival(after),
                1.0 - p
            );
            assert!(before <= low || law.cdf(before) <= p + tolerance(p), "{text}: P(X <= {before}) for {p}");
            assert!(
                before <= low || law.survival(before) >= 1.0 - p - tolerance(1.0 - p),
                "{text}: P(X > {before}) for {p}"
            );
        }
        let ends = (law.quantile(0.0).unwrap(), law.quantile(1.0).unwrap());
        assert_eq!(ends, law.limits(), "{text}");
    }
    assert!(laws > 50, "{laws}");
}

/// Far out in the upper tail, where 1 - p has lost all digits: of an exponential law -ln Phi(-z) means.
#[test]
fn both_tails_of_a_normal_number_keep_their_digits() {
    let exponential = parsed("exponential(mean = 1 s)", Dimension::Time);
    // -ln Phi(-z) at z = 5, 10 and 20; the error function keeps ten digits there.
    for (z, known) in [(5.0, 15.064998393988727), (10.0, 53.23128515051247), (20.0, 203.91715537109727)] {
        let x = exponential.quantile_of_normal(z).unwrap();
        assert!((x / known - 1.0).abs() < 1e-11, "{z}: {x} for {known}");
    }
    let x = exponential.quantile_of_normal(-10.0).unwrap();
    assert!((x / 7.619853024160527e-24 - 1.0).abs() < 1e-10, "{x}");
    for (text, law) in invertible() {
        let median = (law.quantile(0.5).unwrap(), law.quantile_of_normal(0.0).unwrap());
        assert!((median.0 - median.1).abs() <= 1e-10 * median.0, "{text}: {median:?}");
        let values: Vec<f64> = (-60..=60).map(|z| law.quantile_of_normal(f64::from(z) / 10.0).unwrap()).collect();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-11)), "{text}: {values:?}");
    }
}

#[test]
fn what_has_no_quantile_is_named() {
    let ranks = parsed("zipf(n = 10, s = 1)", Dimension::Number);
    let error = ranks.quantile(0.5).unwrap_err().to_string();
    assert_eq!(error, "zipf(n = 10, s = 1) has no quantile function here");
    assert!(ranks.quantile_of_normal(0.0).is_err() && ranks.quantile(1.0).is_err());
}

/// The equilibrium law's distribution function is the integral of P(X > x) over the mean, here by the midpoint rule;
/// 1e-8 a law by the Dvoretzky-Kiefer-Wolfowitz inequality, and some 60 laws.
#[test]
fn residuals_follow_the_equilibrium_law() {
    const DRAWS: usize = 20_000;
    for (text, law) in invertible() {
        let mut stream = Stream::new(1, "residual", &text);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| law.sample_residual(&mut stream)).collect();
        draws.sort_by(f64::total_cmp);
        // The integral at each draw, carried from draw to draw.
        let (mut integral, mut from) = (0.0, 0.0);
        let mut ages = Vec::with_capacity(DRAWS);
        for draw in &draws {
            let pieces = 8;
            for piece in 0..pieces {
                let middle = from + (draw - from) * (f64::from(piece) + 0.5) / f64::from(pieces);
                integral += (draw - from) / f64::from(pieces) * law.survival(middle);
            }
            from = *draw;
            ages.push(integral / law.mean());
        }
        let fit = kolmogorov(&ages, |age| age.clamp(0.0, 1.0));
        assert!(fit.p_value > 1e-8, "{text}: {fit:?}");
        assert!(draws[DRAWS - 1] <= law.limits().1, "{text}: {}", draws[DRAWS - 1]);
    }
}

/// Of an Erlang law the mean residual is E[X^2] / 2 E[X] = (k + 1) / 2k means. False alarm: 2e-9 (6 deviations).
#[test]
fn the_mean_residual_is_known() {
    let law = parsed("erlang(k = 3, mean = 6 s)", Dimension::Time);
    let mut stream = Stream::new(1, "residual", "mean");
    let draws: Moments = (0..20_000).map(|_| law.sample_residual(&mut stream)).collect();
    assert!((draws.mean() - 4.0).abs() < 6.0 * (draws.variance() / 20_000.0).sqrt(), "{draws:?}");
}

#[test]
fn tail_indices_are_those_of_power_laws() {
    let index = |text: &str| parsed(text, Dimension::Time).tail_index();
    assert_eq!(index("pareto(alpha = 1.4, mean = 1 s)"), Some(1.4));
    let mix = "mix(0.5: pareto(alpha = 1.8, min = 1 s), 0.3: pareto(alpha = 1.2, min = 1 s), 0.2: 1 s)";
    assert_eq!(index(mix), Some(1.2));
    for text in
        ["exponential(mean = 1 s)", "pareto(alpha = 1.4, min = 1 s, max = 1 h)", "weibull(shape = 0.5, mean = 1 s)"]
    {
        assert_eq!(index(text), None, "{text}");
    }
}
