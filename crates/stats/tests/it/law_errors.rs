//! Bad input gives one clear line: what, where, and what would be right.

use sojourn_stats::{Dimension, Law};

use crate::laws::gaps_file;

#[test]
fn errors_say_what_would_be_right() {
    use Dimension::{Number, Size, Time};
    let cases = [
        (Time, "10", "`10` has no unit: write e.g. `10 s` or `10 ms` (known: ns, us, ms, s, min, h)"),
        (Time, "", "`` is not a time: write e.g. `10 s` or `10 ms`"),
        (Time, "-1 ms", "`-1 ms` is negative; a time is not"),
        (Number, "-1", "`-1` is negative"),
        (Time, "exponental(mean = 1 s)", "`exponental` is not a law; did you mean `exponential`?"),
        (Time, "exp(mean = 1 s)", "`exp` is not a law; did you mean `exponential`?"),
        (
            Time,
            "Poisson(rate = 1 /s)",
            "`Poisson` is not a law: the gaps of a Poisson process are exponential; did you mean `exponential`?",
        ),
        (Time, "markovian(rate = 1 /s)", "`markovian` is not a law; did you mean `exponential`?"),
        (Time, "mu=1", "`mu=1` is a parameter without its law; did you mean `exponential(rate = 1 /s)`?"),
        (
            Time,
            "lambda = 0.5 /s",
            "`lambda = 0.5 /s` is a parameter without its law; did you mean `exponential(rate = 0.5 /s)`?",
        ),
        (Time, "rate=5 rps", "`rate=5 rps` is a parameter without its law; did you mean `exponential(rate = 5 /s)`?"),
        (Time, "mean = 1 ms", "`mean = 1 ms` is a parameter without its law; did you mean `exponential(mean = 1 ms)`?"),
        (Size, "mean = 5 kB", "`mean = 5 kB` is a parameter without its law; did you mean `exponential(mean = 5 kB)`?"),
        (Time, "exponential", "`exponential`: write exponential with its parameters (mean, rate) in parentheses"),
        (
            Time,
            "exponential mean = 1 s",
            "`exponential mean = 1 s`: write exponential with its parameters (mean, rate) in parentheses",
        ),
        (Time, "exponential(mean = 1 s", "a parenthesis of exponential is never closed (column 1)"),
        (Time, "empirical(file = \"x)", "a quote of empirical is never closed (column 1)"),
        (Time, "exponential(mean = 1 s) ms", "`ms` after the closing parenthesis of exponential"),
        (Time, "exponential()", "exponential takes mean or rate"),
        (Time, "exponential(mean = 1 s,)", "an argument is empty (column 24)"),
        (Time, "exponential(mean = )", "`mean =` is empty (column 13)"),
        (Time, "exponential(1 s)", "`1 s`: name the parameter of exponential, e.g. mean = 1 s (column 13)"),
        (Time, "exponential(150 rps)", "`150 rps`: name the parameter of exponential, e.g. rate = 150 /s (column 13)"),
        (Time, "erlang(150 msec)", "`150 msec`: name the parameter of erlang, e.g. mean = 150 ms (column 8)"),
        (Time, "erlang(2)", "`2`: name the parameter of erlang, e.g. k = ... (column 8)"),
        (Time, "constant(150 rps)", "`150 rps` is a rate: write `constant(rate = 150 /s)` (column 10)"),
        (Time, "D(1 s)", "`D` is not a law; did you mean `constant`?"),
        (Time, "deterministic(1 s)", "`deterministic` is not a law; did you mean `constant`?"),
        (Time, "M(rate = 1 /s)", "`M` is not a law; did you mean `exponential`?"),
        (Time, "E2(mean = 1 s)", "`E2` is not a law; did you mean `erlang`?"),
        (Time, "H2(mean = 1 s, cv = 2)", "`H2` is not a law; did you mean `hyperexponential`?"),
        (
            Time,
            "exponential(men = 1 s)",
            "`men` is not a parameter of exponential; did you mean `mean`? (known: mean, rate, max, cap) (column 13)",
        ),
        (
            Time,
            "exponential(mean = 1)",
            "mean of exponential: `1` has no unit: write e.g. `1 s` or `1 ms` (known: ns, us, ms, s, min, h) (column 20)",
        ),
        (Time, "exponential(mean = 0 s)", "mean = 0 s of exponential must be above 0 (column 13)"),
        (Time, "exponential(rate = 0 /s)", "rate = 0 /s of exponential must be above 0 (column 13)"),
        (Time, "exponential(rate = -5 /s)", "rate of exponential: `-5 /s` is negative; a rate is not (column 20)"),
        (Time, "exponential(mean = 1 s, mean = 2 s)", "mean of exponential is given twice (column 25)"),
        (
            Time,
            "exponential(mean = 1 s, rate = 2 /s)",
            "mean and rate both set the scale of exponential: give one (column 25)",
        ),
        (Size, "exponential(rate = 2 /s)", "a rate sets the mean of a time, not of a size: give a mean (column 13)"),
        (Time, "exponential(0.5: 1 s)", "`0.5:`: only a mix has weights (column 13)"),
        (Time, "uniform(3 ms, 1 ms)", "low = 3 ms of uniform is not below high (column 9)"),
        (Time, "erlang(k = 1.5, mean = 1 s)", "k = 1.5 of erlang is not a whole number from 1 up (column 8)"),
        (Time, "erlang(mean = 1 s)", "erlang takes k, and mean or rate"),
        (Time, "gamma(mean = 1 s)", "gamma takes mean (or rate) and cv, or shape and scale"),
        (
            Time,
            "gamma(mean = 1 s, cv = 0)",
            "cv = 0 of gamma must be above 0; a law without spread is constant(...) (column 19)",
        ),
        (
            Time,
            "hyperexponential(mean = 1 s, cv = 0.5)",
            "cv = 0.5 of hyperexponential is below 1; for less spread than exponential write gamma or erlang (column 30)",
        ),
        (
            Size,
            "lognormal(mu = 7, sigma = 1)",
            "lognormal needs a unit, e.g. unit = B: mu and sigma are of the logarithm of a number in this unit",
        ),
        (
            Size,
            "lognormal(mu = 7, sigma = 1, unit = kb)",
            "unit = kb is not a unit of a size (known: B, kB, MB, GB, KiB, MiB, GiB) (column 30)",
        ),
        (
            Size,
            "lognormal(mean = 1 kB, cv = 1, unit = B)",
            "lognormal takes mean (or rate) and cv, or mu, sigma and unit",
        ),
        (
            Time,
            "pareto(alpha = 1, mean = 1 s)",
            "alpha = 1 of pareto gives an infinite mean: write min instead of a mean, or alpha above 1 (column 8)",
        ),
        (
            Time,
            "bounded-pareto(alpha = 1, min = 2 s, max = 1 s)",
            "min = 2 s of bounded-pareto must be above 0 and below max (column 27)",
        ),
        (Time, "zipf(n = 10, s = 1)", "zipf is a law of ranks, not of a time"),
        (Number, "zipf(n = 0, s = 1)", "n = 0 of zipf is not a whole number from 1 up (column 6)"),
        (Time, "mix(0.5: 1 s, 0.4: 2 s)", "the weights of the mix sum to 0.9, not to 1"),
        (Time, "mix(1 s)", "a part of a mix has a weight, as in `0.9: exponential(mean = 10 ms)` (column 5)"),
        (Time, "mix(-1: 1 s, 2: 1 s)", "weight `-1` is not above 0 (column 5)"),
        (
            Time,
            "mix(0.5: 1 s, 0.5: expnential(mean = 1 s))",
            "`expnential` is not a law; did you mean `exponential`? (column 20)",
        ),
        (
            Time,
            "exponential(mean = 1 s, max = 1 us)",
            "max = 1 us: only 1.00e-6 of the draws are below it; redrawing would hardly end (column 25)",
        ),
        (Time, "exponential(mean = 1 s, cap = 0 s)", "cap = 0 s of exponential must be above 0 (column 25)"),
        (
            Time,
            "mix(1: pareto(alpha = 1, min = 1 s), mean = 1 s)",
            "mix has the mean inf and cannot be scaled to another",
        ),
        (Time, "empirical(unit = ms)", "empirical takes file and unit"),
    ];
    for (dimension, text, expected) in cases {
        match Law::parse(text, dimension) {
            Err(error) => assert_eq!(error.to_string(), expected, "for `{text}`"),
            Ok(law) => panic!("`{text}` was read as {law}"),
        }
    }
}

#[test]
fn errors_of_a_file_name_it() {
    let message = |text: &str, dimension| Law::parse(text, dimension).expect_err(text).to_string();
    let missing = message("empirical(file = \"no/such.txt\", unit = ms)", Dimension::Time);
    assert!(missing.starts_with("cannot read `no/such.txt`: "), "{missing}");
    let path = gaps_file();
    let unitless = message(&format!("empirical(file = \"{path}\")"), Dimension::Time);
    assert_eq!(unitless, "empirical needs a unit, e.g. unit = s: the numbers of the file are in this unit");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let text = message(&format!("empirical(file = \"{manifest}\", unit = ms)"), Dimension::Time);
    assert!(text.contains("line 1: `[package]` is not a number, 0 or more"), "{text}");
}
