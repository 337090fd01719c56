//! The text of a law: read, displayed, read back.

use sojourn_stats::law::Expression;
use sojourn_stats::{Dimension, Law};

use crate::laws::{all, parsed};

#[test]
fn display_reads_back_as_the_same_law() {
    for (text, law) in all() {
        for law in [law.clone(), law.scaled(1.0 / 3.7)] {
            let shown = law.to_string();
            let again = parsed(&shown, law.dimension());
            assert_eq!(again, law, "{text} was shown as {shown}");
            assert_eq!((again.mean(), again.variance()), (law.mean(), law.variance()), "{text} as {shown}");
        }
    }
}

#[test]
fn display_is_what_a_person_would_write() {
    let cases = [
        ("10 ms", "10 ms"),
        ("constant( value=10ms )", "10 ms"),
        ("exponential(rate = 100 /s)", "exponential(mean = 10 ms)"),
        ("  erlang ( mean = 1500 ms,k=2 ) ", "erlang(k = 2, mean = 1.5 s)"),
        (
            "mix(25%: 1 ms, 0.75: exponential(mean = 2 min, cap = 1 h))",
            "mix(0.25: 1 ms, 0.75: exponential(mean = 120 s, cap = 3600 s))",
        ),
        ("lognormal(mu = 0, sigma = 1, unit = s)", "lognormal(mu = 0, sigma = 1, unit = s)"),
    ];
    for (text, shown) in cases {
        assert_eq!(parsed(text, Dimension::Time).to_string(), shown);
    }
    assert_eq!(Law::constant(2.5).to_string(), "2.5");
    assert_eq!(Law::exponential(0.01).to_string(), "exponential(mean = 10 ms)");
}

#[test]
fn equal_ways_to_give_a_law() {
    let same = |one: &str, other: &str| {
        assert_eq!(parsed(one, Dimension::Time), parsed(other, Dimension::Time), "{one} and {other}");
    };
    same("exponential(mean = 10 ms)", "exponential(rate = 100 /s)");
    same("exponential(mean = 10 ms)", "exponential(rate = 6000 /min)");
    same("uniform(1 ms, 3 ms)", "uniform(high = 3 ms, low = 1 ms)");
    same("normal(mean = 10 ms, cv = 0.5)", "normal(mean = 10 ms, sd = 5 ms)");
    same("gamma(mean = 10 ms, cv = 0.5)", "gamma(shape = 4, scale = 2.5 ms)");
    same("pareto(alpha = 2, mean = 10 ms)", "pareto(alpha = 2, min = 5 ms)");
}

#[test]
fn the_call_syntax_is_open_to_others() {
    let call = Expression::parse("mix(0.5: a(b = 'c, (d'), e = 1 s)").unwrap().unwrap();
    assert_eq!((call.name, call.column), ("mix", 1));
    let arguments: Vec<_> = call
        .arguments
        .iter()
        .map(|argument| (argument.key, argument.weight, argument.value, argument.column, argument.value_column))
        .collect();
    assert_eq!(arguments, [(None, Some("0.5"), "a(b = 'c, (d')", 5, 10), (Some("e"), None, "1 s", 26, 30)]);
    assert_eq!(Expression::parse("10 ms"), Ok(None));
}

/// Whoever reads calls of other names says in one way what is no argument of them.
#[test]
fn an_argument_that_a_call_does_not_take_is_told_with_those_that_it_takes() {
    let call = Expression::parse("batches(evry = 1 s, 5, xyz = 3)").unwrap().unwrap();
    let told: Vec<String> = call.arguments.iter().map(|argument| argument.foreign(&["n", "every"])).collect();
    assert_eq!(
        told,
        ["`evry` is none of n and every (did you mean `every`?)", "`5` has no name", "`xyz` is none of n and every"]
    );
    assert_eq!(call.arguments[2].foreign(&["mean"]), "`xyz` is none of mean");
}
