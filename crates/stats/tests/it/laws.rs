//! The laws that several tests go through.

use sojourn_stats::{Dimension, Law};

/// The file of six made-up gaps.
pub(crate) fn gaps_file() -> String {
    format!("{}/tests/data/gaps_ms.txt", env!("CARGO_MANIFEST_DIR"))
}

/// Every law, every way to give its parameters, and compositions.
pub(crate) fn texts() -> Vec<(String, Dimension)> {
    let times = [
        "10 ms",
        "constant(10 ms)",
        "uniform(1 ms, 3 ms)",
        "uniform(low = 0 s, high = 3 ms, mean = 1 s)",
        "exponential(mean = 10 ms)",
        "exponential(rate = 374 /s)",
        "erlang(k = 1, mean = 7 ms)",
        "erlang(k = 3, rate = 20 /s)",
        "erlang(k = 9, mean = 7 ms)",
        "gamma(mean = 10 ms, cv = 0.4)",
        "gamma(mean = 10 ms, cv = 1.7)",
        "gamma(shape = 2.5, scale = 1 ms)",
        "hyperexponential(mean = 10 ms, cv = 1)",
        "hyperexponential(mean = 10 ms, cv = 4)",
        "lognormal(mean = 10 ms, cv = 1.2)",
        "lognormal(mu = 2.3, sigma = 0.7, unit = ms)",
        "normal(mean = 10 ms, cv = 0.2)",
        "normal(mean = 1 ms, sd = 3 ms)",
        "pareto(alpha = 2.6, min = 1 ms)",
        "pareto(alpha = 3.5, mean = 10 ms)",
        "bounded-pareto(alpha = 1.1, min = 1 ms, max = 10 s)",
        "bounded-pareto(alpha = 2, min = 1 ms, max = 1 s)",
        "bounded-pareto(alpha = 1, min = 1 ms, max = 1 s, mean = 20 ms)",
        "weibull(shape = 0.6, scale = 10 ms)",
        "weibull(shape = 3, mean = 10 ms)",
        "inverse-gaussian(mean = 10 ms, cv = 0.3)",
        "inverse-gaussian(mean = 10 ms, cv = 0.01)",
        "inverse-gaussian(mean = 10 ms, lambda = 2 ms)",
        "inverse-gaussian(mean = 10 ms, shape = 20 ms, max = 50 ms)",
        "mix(0.9: exponential(mean = 1 ms), 0.1: 20 ms)",
        "mix(0.93: lognormal(mean = 3 ms, cv = 1), 0.07: pareto(alpha = 2.8, min = 10 ms), rate = 10 /s)",
        "exponential(mean = 10 ms, max = 25 ms)",
        "exponential(mean = 10 ms, cap = 25 ms)",
        "exponential(mean = 10 ms, max = 25 ms, cap = 12 ms)",
        "erlang(k = 2, mean = 10 ms, max = 4 ms)",
        "gamma(mean = 10 ms, cv = 2, cap = 50 ms)",
        "hyperexponential(mean = 10 ms, cv = 3, max = 60 ms)",
        "lognormal(mean = 10 ms, cv = 3, max = 100 ms)",
        "normal(mean = 10 ms, cv = 0.5, max = 15 ms)",
        "normal(mean = 10 ms, cv = 0.5, cap = 9 ms)",
        "pareto(alpha = 0.8, min = 1 ms, max = 1 s)",
        "pareto(alpha = 1, min = 1 ms, cap = 1 s)",
        "pareto(alpha = 2, min = 1 ms, cap = 1 s)",
        "bounded-pareto(alpha = 0.5, min = 1 ms, max = 1 s, cap = 0.5 s)",
        "weibull(shape = 0.5, scale = 10 ms, max = 40 ms)",
        "inverse-gaussian(mean = 10 ms, cv = 2, max = 30 ms)",
        "inverse-gaussian(mean = 10 ms, cv = 2, cap = 30 ms)",
        "uniform(1 ms, 3 ms, max = 2 ms)",
        "uniform(1 ms, 3 ms, cap = 2 ms)",
        "mix(0.5: exponential(mean = 1 ms, max = 5 ms), 0.5: pareto(alpha = 1.2, min = 1 ms, cap = 80 ms), max = 70 ms)",
    ];
    let others = [
        ("5 kB", Dimension::Size),
        ("lognormal(mu = 7.881, sigma = 1.339, unit = B)", Dimension::Size),
        ("pareto(alpha = 2.5, min = 133 kB, cap = 10 MB)", Dimension::Size),
        ("zipf(n = 100, s = 1)", Dimension::Number),
        ("zipf(n = 5000, s = 0.8, max = 3000)", Dimension::Number),
        ("zipf(n = 20, s = 0)", Dimension::Number),
        ("zipf(n = 10, s = 1.5, mean = 40)", Dimension::Number),
        ("lognormal(mu = 0.5, sigma = 0.5)", Dimension::Number),
        ("inverse-gaussian(mean = 3.86, shape = 6.08, max = 95)", Dimension::Number),
        ("uniform(0, 70%)", Dimension::Number),
    ];
    let path = gaps_file();
    let files = [
        format!("empirical(file = \"{path}\", unit = ms)"),
        format!("empirical(file = '{path}', unit = us, mean = 1 s)"),
        format!("empirical(file = \"{path}\", unit = ms, max = 20 ms)"),
    ];
    let times = times.into_iter().map(String::from).chain(files).map(|text| (text, Dimension::Time));
    times.chain(others.map(|(text, dimension)| (text.to_string(), dimension))).collect()
}

/// [`texts`], read.
pub(crate) fn all() -> Vec<(String, Law)> {
    texts().into_iter().map(|(text, dimension)| (text.clone(), parsed(&text, dimension))).collect()
}

/// A law that must be one.
pub(crate) fn parsed(text: &str, dimension: Dimension) -> Law {
    Law::parse(text, dimension).unwrap_or_else(|error| panic!("{text}: {error}"))
}
