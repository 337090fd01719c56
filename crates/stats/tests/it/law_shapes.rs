//! Laws in other units, and laws whose scale is given elsewhere.

use sojourn_stats::{Dimension, Law, Stream};

use crate::laws::{all, gaps_file, parsed};

#[test]
fn scaling_multiplies_every_value() {
    for (text, law) in all() {
        let scaled = law.scaled(8.0);
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-11 * other.abs();
        assert!(close(scaled.mean(), 8.0 * law.mean()), "{text}");
        // The variance of a redrawn law loses the digits of E[X^2] over it.
        assert!((scaled.variance() - 64.0 * law.variance()).abs() <= 1e-9 * 64.0 * law.variance(), "{text}");
        assert!(close(scaled.cdf(8.0 * 1.3 * law.mean()), law.cdf(1.3 * law.mean())), "{text}");
        let (low, high) = law.limits();
        assert_eq!(scaled.limits(), (8.0 * low, 8.0 * high), "{text}");
        let (mut one, mut other) = (Stream::new(3, "law", "scale"), Stream::new(3, "law", "scale"));
        for _ in 0..200 {
            assert!(close(scaled.sample(&mut one), 8.0 * law.sample(&mut other)), "{text}");
        }
        let unit = law.rescaled_to_mean(1.0).expect("finite mean");
        assert!(close(unit.mean(), 1.0), "{text}");
    }
    assert_eq!(parsed("pareto(alpha = 1, min = 1 s)", Dimension::Time).rescaled_to_mean(1.0), None);
    assert_eq!(parsed("0 s", Dimension::Time).rescaled_to_mean(1.0), None);
}

#[test]
fn a_key_may_stand_in_place_of_the_mean() {
    let empirical = format!("empirical(file = \"{}\", unit = ms, utilization = 0.7)", gaps_file());
    let texts = [
        "constant(utilization = 0.7)",
        "uniform(1 ms, 3 ms, utilization = 0.7)",
        "exponential(utilization = 0.7)",
        "erlang(k = 2, utilization = 0.7)",
        "erlang(utilization = 70%, k = 2)",
        "gamma(utilization = 0.7, cv = 2)",
        "gamma(shape = 0.25, utilization = 0.7)",
        "hyperexponential(utilization = 0.7, cv = 2)",
        "lognormal(utilization = 0.7, cv = 2)",
        "normal(utilization = 0.7, cv = 0.9)",
        "pareto(alpha = 2.2, utilization = 0.7)",
        "bounded-pareto(alpha = 1.1, min = 1 s, max = 100 s, utilization = 0.7)",
        "weibull(shape = 0.5, utilization = 0.7)",
        "inverse-gaussian(utilization = 0.7, cv = 2)",
        "mix(0.9: exponential(mean = 1 ms, max = 3 ms), 0.1: 5 ms, utilization = 0.7)",
        &empirical,
    ];
    for text in texts {
        let (law, utilization) = Law::parse_shape(text, Dimension::Time, "utilization")
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .unwrap_or_else(|| panic!("{text} has it"));
        assert_eq!(utilization, 0.7, "{text}");
        assert!((law.mean() - 1.0).abs() < 1e-12, "{text}: mean {}", law.mean());
    }
    let shape = |text| Law::parse_shape(text, Dimension::Time, "utilization");
    let (law, _) = shape("erlang(k = 2, utilization = 0.7)").unwrap().unwrap();
    assert_eq!(law, parsed("erlang(k = 2, mean = 1 s)", Dimension::Time));
    assert_eq!(shape("exponential(mean = 1 s)"), Ok(None));
    assert_eq!(shape("10 ms"), Ok(None));
    assert_eq!(shape("mix(1: exponential(utilization = 0.7))"), Ok(None), "only the outermost arguments count");
}

#[test]
fn two_scales_are_refused() {
    let cases = [
        (
            "exponential(utilization = 0.7, mean = 1 s)",
            "utilization and mean both set the scale of exponential: give one",
        ),
        ("exponential(utilization = 0.7 /s)", "utilization: `0.7 /s` is a rate where a bare number is expected"),
        ("pareto(alpha = 2.2, min = 1 s, utilization = 0.7)", "min and utilization both set the scale of pareto"),
        ("normal(utilization = 0.7, sd = 1 s)", "sd and utilization both set the scale of normal"),
        ("exponential(utilization = 0.7, max = 1 s)", "max = 1 s cannot be kept when utilization sets the scale"),
        ("gamma(utilization = 0.7, cv = 1, cap = 1 s)", "cap = 1 s cannot be kept when utilization sets the scale"),
        ("exponential(utilisation = 0.7)", "`utilisation` is not a parameter of exponential"),
    ];
    for (text, expected) in cases {
        let message = match Law::parse_shape(text, Dimension::Time, "utilization") {
            Err(error) => error.to_string(),
            Ok(_) => Law::parse(text, Dimension::Time).expect_err(text).to_string(),
        };
        assert!(message.contains(expected), "{text}: {message}");
    }
}
