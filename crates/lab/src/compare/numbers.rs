//! Settings whose values are numbers: what can stand on an axis, and is not compared where names can be.
//!
//! A value is a number (`0.7`), an amount (`10 ms`), or a text that differs from the others in one number only, such as
//! `exponential(mean = 10 ms)`. In a text a number stands alone between brackets, commas and equals signs: that of a name
//! (`server-3`) is none, and the version of a product (`haproxy(2.6, leastconn)`) neither.

use sojourn_dispatch::policies::PRODUCTS;
use sojourn_stats::quantity;

/// What stands around the numbers of a text.
const AROUND: [char; 8] = ['(', ')', '[', ']', '{', '}', ',', '='];

/// The numbers of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers {
    /// The number of each value, in the order of the values and in the SI unit.
    pub(crate) at: Vec<f64>,
    /// The SI unit; empty of plain numbers.
    pub(crate) unit: &'static str,
    /// Of texts the first, with `x` in the place of its number and unit; none where each value is a number alone.
    pub(crate) form: Option<String>,
}

/// The numbers of these values of a setting; none where they differ in more than one number, in something else, or in nothing.
pub(crate) fn numbers(values: &[&str]) -> Option<Numbers> {
    let first = *values.first()?;
    let has_its_form = |value: &&str| value.matches(AROUND).eq(first.matches(AROUND));
    if !values.iter().all(has_its_form) {
        return None;
    }
    let parts: Vec<Vec<&str>> = values.iter().map(|value| value.split(AROUND).map(str::trim).collect()).collect();
    let differs = |place: &usize| parts.iter().any(|of| !are_equal(of[*place], parts[0][*place]));
    let mut differing = (0..parts[0].len()).filter(differs);
    let (Some(place), None) = (differing.next(), differing.next()) else { return None };
    if place == 1 && PRODUCTS.iter().any(|product| product.entry.name == parts[0][0]) {
        return None;
    }
    let amounts: Vec<(f64, &'static str)> = parts.iter().map(|of| amount(of[place])).collect::<Option<_>>()?;
    let unit = amounts[0].1;
    let are_alike = amounts.iter().all(|(_, of)| *of == unit);
    are_alike.then(|| Numbers { at: amounts.iter().map(|(at, _)| *at).collect(), unit, form: form(first, place) })
}

/// A number and its unit, in SI; none of what is none.
fn amount(text: &str) -> Option<(f64, &'static str)> {
    let (number, dimension) = quantity::parse_any(text).ok()?;
    Some((number, dimension.si_unit()))
}

/// Whether two parts are the same, as texts or as amounts: 10 ms is 0.01 s.
fn are_equal(one: &str, other: &str) -> bool {
    one == other || amount(one).is_some_and(|one| amount(other) == Some(one))
}

/// A text with `x` in the place of the part of this number; none where there is no other part.
fn form(text: &str, place: usize) -> Option<String> {
    let part = text.split(AROUND).nth(place)?;
    if part.len() == text.len() {
        return None;
    }
    // Of what stands around, each is one byte.
    let begin: usize = text.split(AROUND).take(place).map(|part| part.len() + 1).sum();
    let begin = begin + part.len() - part.trim_start().len();
    Some(format!("{}x{}", &text[..begin], &text[begin + part.trim().len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of values with their unit and, of texts, the form.
    fn told(values: &[&str]) -> Option<(Vec<f64>, &'static str, Option<String>)> {
        numbers(values).map(|of| (of.at, of.unit, of.form))
    }

    #[test]
    fn a_text_that_differs_in_one_number_has_it() {
        let of = |values: &[&str]| told(values).map(|(at, unit, form)| (at, unit, form.expect("they are texts")));
        let rates = ["exponential(rate = 100 /s)", "exponential(rate = 0.2 /ms)", "exponential( rate=300 /s )"];
        assert_eq!(of(&rates), Some((vec![100.0, 200.0, 300.0], "/s", "exponential(rate = x)".to_owned())));
        let demands = ["pareto(1.5, 10 ms)", "pareto(1.50, 1 s)", "pareto(1.5, 2 min)"];
        assert_eq!(of(&demands), Some((vec![0.01, 1.0, 120.0], "s", "pareto(1.5, x)".to_owned())));
        let shapes = ["pareto(1.2, 10 ms)", "pareto(1.5, 0.01 s)"];
        assert_eq!(of(&shapes), Some((vec![1.2, 1.5], "", "pareto(x, 10 ms)".to_owned())));
        let drawn = ["power-of-d(d = 2)", "power-of-d(d = 10)"];
        assert_eq!(of(&drawn), Some((vec![2.0, 10.0], "", "power-of-d(d = x)".to_owned())));
        assert_eq!(of(&["[1, 2]", "[1, 4]"]), Some((vec![2.0, 4.0], "", "[1, x]".to_owned())));
        let rules = ["haproxy(2.6, random(2))", "haproxy(2.6, random(3))"];
        assert_eq!(of(&rules), Some((vec![2.0, 3.0], "", "haproxy(2.6, random(x))".to_owned())));
    }

    #[test]
    fn a_number_alone_needs_no_form() {
        assert_eq!(told(&["1", "2.5", "1e2"]), Some((vec![1.0, 2.5, 100.0], "", None)));
        assert_eq!(told(&["70%", "0.8"]), Some((vec![0.7, 0.8], "", None)));
        assert_eq!(told(&["500 ms", "1 s", "2 min"]), Some((vec![0.5, 1.0, 120.0], "s", None)));
    }

    #[test]
    fn what_differs_in_more_than_a_number_has_none() {
        for values in [
            &["random", "jsq"][..],
            &["exponential(10 ms)", "pareto(10 ms)"],
            &["uniform(1 ms, 2 ms)", "uniform(2 ms, 4 ms)"],
            &["exponential(10 ms)", "exponential(20 ms)", "constant"],
            &["exponential(10 ms)", "exponential(20 /s)"],
            &["erlang(2, 10 ms)", "erlang(10 ms)"],
            &["power-of-d(2)", "power-of-d(all)"],
            &["0.5", ""],
            &["1", "2", "inf"],
            // The numbers of names and of versions are none: 3.10 comes after 3.9.
            &["server-1.toml", "server-2.toml"],
            &["haproxy(2.6, leastconn)", "haproxy(3.2, leastconn)"],
            // What does not differ has no axis.
            &["10 ms"],
            &["10 ms", "0.01 s"],
            &[],
        ] {
            assert_eq!(told(values), None, "{values:?}");
        }
    }
}
