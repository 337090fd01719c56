//! Transforms, moments up to a bound and stages of laws, against integrals of their survival functions and each other.

use sojourn_stats::law::ErlangBranch;
use sojourn_stats::{Dimension, Law, quadrature};

fn law(text: &str) -> Law {
    Law::parse(text, Dimension::Time).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn agree(got: f64, wanted: f64, relative: f64, what: &str) {
    assert!((got - wanted).abs() <= relative * wanted.abs(), "{what}: {got} is not {wanted}");
}

const LAWS: [&str; 17] = [
    "2 s",
    "uniform(low = 0.5 s, high = 3 s)",
    "exponential(mean = 2 s)",
    "erlang(k = 3, mean = 2 s)",
    "gamma(shape = 0.4, mean = 2 s)",
    "hyperexponential(mean = 2 s, cv = 3)",
    "lognormal(mean = 2 s, cv = 1.5)",
    "normal(mean = 2 s, sd = 1.5 s)",
    "pareto(alpha = 3.5, mean = 2 s)",
    "bounded-pareto(alpha = 1.1, min = 0.2 s, max = 2000 s)",
    "weibull(shape = 0.6, mean = 2 s)",
    "weibull(shape = 3, mean = 2 s)",
    "inverse-gaussian(mean = 2 s, cv = 1.5)",
    "mix(0.3: 1 s, 0.7: exponential(mean = 3 s))",
    "exponential(mean = 2 s, max = 5 s)",
    "lognormal(mean = 2 s, cv = 1.5, cap = 4 s)",
    "pareto(alpha = 1.2, mean = 2 s, cap = 50 s)",
];

#[test]
fn transforms_are_integrals_of_the_tail() {
    for text in LAWS {
        let law = law(text);
        for s in [1e-6, 0.1, 1.0, 20.0] {
            // On the whole line at once, by another rule: x = e^y, or below the highest value the midpoints.
            let (_, high) = law.limits();
            let end = high.min(800.0 / s);
            let by_parts = quadrature::over_scales(0.0, end, 1e-9, 1e-11, |x| s * (-s * x).exp() * law.survival(x));
            agree(law.transform_complement(s), by_parts, 1e-8, &format!("{text} at {s}"));
        }
        // The slope at 0 is the mean.
        agree(law.transform_complement(1e-9) / 1e-9, law.mean(), 1e-6, text);
        assert_eq!(law.transform_complement(0.0), 0.0);
    }
}

#[test]
fn a_bound_that_cuts_nothing_off_does_not_change_a_transform() {
    for (bounded, plain) in [
        ("gamma(shape = 2.5, mean = 1 s, max = 80 s)", "gamma(shape = 2.5, mean = 1 s)"),
        ("inverse-gaussian(mean = 1 s, cv = 2, cap = 900 s)", "inverse-gaussian(mean = 1 s, cv = 2)"),
        ("uniform(low = 1 s, high = 3 s, cap = 3 s)", "uniform(low = 1 s, high = 3 s)"),
    ] {
        for s in [1e-5, 0.3, 4.0, 100.0] {
            let (computed, known) = (law(bounded).transform_complement(s), law(plain).transform_complement(s));
            agree(computed, known, 1e-9, &format!("{bounded} at {s}"));
        }
    }
}

#[test]
fn moments_are_integrals_of_the_tail() {
    for text in LAWS {
        let law = law(text);
        for k in 1..=3 {
            for x in [0.3, 2.0, 2.5, 9.0, f64::INFINITY] {
                if x.is_infinite() && law.moment(k).is_infinite() {
                    continue;
                }
                let slope = |y: f64| f64::from(k) * y.powi(k - 1) * law.survival(y);
                let limited = quadrature::over_scales(0.0, x.min(law.limits().1), 1e-6, 1e-11, slope);
                agree(law.limited_moment(k, x), limited, 1e-6, &format!("{text}: moment {k} up to {x}"));
            }
            agree(law.partial_moment(k, f64::INFINITY), law.moment(k), 1e-12, text);
        }
        agree(law.moment(1), law.mean(), 1e-9, text);
        agree(law.moment(2) - law.mean().powi(2) + 1.0, law.variance() + 1.0, 1e-6, text);
    }
    let heavy = law("pareto(alpha = 2.5, mean = 1 s)");
    assert!(heavy.moment(2).is_finite() && heavy.moment(3).is_infinite());
}

#[test]
fn stages() {
    let branch = |weight, stages, mean| ErlangBranch { weight, stages, mean };
    assert_eq!(law("exponential(mean = 2 s)").erlang_mixture(), Some(vec![branch(1.0, 1, 2.0)]));
    assert_eq!(law("gamma(shape = 3, scale = 2 s)").erlang_mixture(), Some(vec![branch(1.0, 3, 6.0)]));
    assert_eq!(law("weibull(shape = 1, scale = 2 s)").erlang_mixture(), Some(vec![branch(1.0, 1, 2.0)]));
    assert_eq!(law("hyperexponential(mean = 2 s, cv = 1)").erlang_mixture(), Some(vec![branch(1.0, 1, 2.0)]));
    let mixed = law("mix(0.5: erlang(k = 2, mean = 1 s), 0.5: hyperexponential(mean = 3 s, cv = 2))").erlang_mixture();
    let mixed = mixed.unwrap();
    assert_eq!(mixed.len(), 3);
    agree(mixed.iter().map(|branch| branch.weight).sum(), 1.0, 1e-12, "weights");
    agree(mixed.iter().map(|branch| branch.weight * branch.mean).sum(), 2.0, 1e-12, "mean");
    for text in
        ["1 s", "gamma(shape = 2.5, mean = 1 s)", "lognormal(mean = 1 s, cv = 1)", "exponential(mean = 1 s, max = 9 s)"]
    {
        assert_eq!(law(text).erlang_mixture(), None, "{text}");
    }
    assert_eq!(Law::erlang(3, 6.0), law("erlang(k = 3, mean = 6 s)"));
    assert_eq!(Law::hyperexponential(2.0, 3.0), law("hyperexponential(mean = 2 s, cv = 3)"));
}

#[test]
fn quadrature_of_what_is_known() {
    // Exact for polynomials up to degree 22 without halving.
    agree(quadrature::integral(-1.0, 2.0, 1e-3, |x| 23.0 * x.powi(22)), 2f64.powi(23) + 1.0, 1e-13, "x^22");
    agree(quadrature::integral(0.0, 1.0, 1e-10, |x| x.sqrt()), 2.0 / 3.0, 1e-9, "a root");
    agree(quadrature::integral(0.0, 3.0, 1e-12, |x| f64::from(u8::from(x < 1.0))), 1.0, 1e-12, "a jump");
    assert_eq!(quadrature::integral(2.0, 2.0, 1e-9, |_| 1.0), 0.0);
    let over = |f: &dyn Fn(f64) -> f64| quadrature::over_scales(1.0, f64::INFINITY, 1e-3, 1e-10, f);
    agree(over(&|x| x.powf(-1.2)), 5.0, 1e-7, "a heavy tail");
    agree(over(&|x| (-x).exp()), (-1f64).exp(), 1e-10, "a light one");
}
