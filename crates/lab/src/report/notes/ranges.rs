//! Texts that differ in numbers only, told as one with the range of each number.
//!
//! A time is a number with its unit, so that 900 ms and 1.2 s have a range. The two ends of an interval have one range together,
//! from the least to the greatest: four numbers in a row are not read.

use std::cmp::Ordering;

/// Texts that differ in numbers only as one, with the least and the largest of each number: `12 to 40 of 50 requests`. Intervals
/// become the one that holds them all, and `each` is said to have those of each text.
pub fn in_ranges(texts: &[&str], each: &str) -> String {
    let all: Vec<Vec<Part<'_>>> = texts.iter().map(|text| parts(text)).collect();
    let Some(first) = all.first() else { return String::new() };
    let end = |place: usize, is_upper: bool| {
        let numbers = all.iter().filter_map(|parts| match parts.get(place) {
            Some(Part::Number(value, text)) => Some((*value, *text)),
            _ => None,
        });
        let order = |a: &(f64, &str), b: &(f64, &str)| -> Ordering { a.0.total_cmp(&b.0) };
        let found = if is_upper { numbers.max_by(order) } else { numbers.min_by(order) };
        found.map_or("", |found| found.1)
    };
    let varies = |place: usize| end(place, false) != end(place, true);
    let (mut told, mut is_joint, mut place) = (String::new(), false, 0);
    while let Some(part) = first.get(place) {
        match (part, ends(first, place)) {
            (Part::Words(text), _) => told.push_str(text),
            (Part::Number(..), Some(between)) if varies(place) || varies(place + 2) => {
                told.push_str(&[end(place, false), between, end(place + 2, true)].concat());
                is_joint = true;
                place += 2;
            }
            (Part::Number(..), _) => told.push_str(&range(end(place, false), end(place, true))),
        }
        place += 1;
    }
    if is_joint {
        let stop = if told.ends_with('.') { "" } else { "." };
        told.push_str(&format!("{stop} These ends are the least and the greatest of all: {each} has those of each"));
    }
    told
}

/// What stands between the ends of an interval, of which the lower one is at `place`; none where there is no interval.
fn ends(parts: &[Part<'_>], place: usize) -> Option<&'static str> {
    let Some([Part::Number(..), Part::Words(between), Part::Number(..)]) = parts.get(place..place + 3) else {
        return None;
    };
    let before = place.checked_sub(1).map_or("", |before| parts[before].text());
    match *between {
        " to " => Some(" to "),
        " and " if before.ends_with("between ") => Some(" and "),
        // Of all bounds these are not two.
        " and " if before.ends_with("bounds, ") => Some(" to "),
        _ => None,
    }
}

/// A range of two numbers, with their unit once where they have the same.
fn range(least: &str, most: &str) -> String {
    let unit = |number: &str| number.find([' ', NO_BREAK]).unwrap_or(number.len());
    let is_same_unit = least[unit(least)..] == most[unit(most)..];
    match least == most {
        true => least.to_owned(),
        false if is_same_unit => format!("{} to {most}", &least[..unit(least)]),
        false => format!("{least} to {most}"),
    }
}

/// A text without its numbers.
pub(super) fn without_numbers(text: &str) -> String {
    parts(text).iter().map(|part| if let Part::Number(..) = part { "#" } else { part.text() }).collect()
}

/// A part of a text.
enum Part<'a> {
    Words(&'a str),
    /// A number as it is written, and its value; a time with its unit, in seconds.
    Number(f64, &'a str),
}

impl<'a> Part<'a> {
    fn text(&self) -> &'a str {
        match self {
            Part::Words(text) | Part::Number(_, text) => text,
        }
    }
}

/// A text as words and numbers; digits of a name, as of `p99`, `share_1` or `server-1`, are none.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let before = &text[..at];
        let is_of_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
            || before.strip_suffix('-').is_some_and(|name| name.ends_with(char::is_alphabetic));
        let digits = if is_of_name { 0 } else { number(rest) };
        if digits == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        if from < at {
            parts.push(Part::Words(&text[from..at]));
        }
        let (of_unit, times) = unit(&rest[digits..]);
        let value = rest[..digits].replace(',', "").parse().unwrap_or(f64::NAN) * times;
        parts.push(Part::Number(value, &rest[..digits + of_unit]));
        at += digits + of_unit;
        from = at;
    }
    if from < text.len() {
        parts.push(Part::Words(&text[from..]));
    }
    parts
}

/// How long the number is with which a text begins; 0 where it begins with none.
fn number(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if end == 0 {
        return 0;
    }
    while text[end..].starts_with(',') && digits(end + 1) == 3 {
        end += 4;
    }
    if text[end..].starts_with('.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    let sign = usize::from(text[end..].starts_with("e-"));
    if text[end..].starts_with('e') && digits(end + 1 + sign) > 0 {
        end += 1 + sign + digits(end + 1 + sign);
    }
    end
}

/// Between a number and its unit in tables.
const NO_BREAK: char = '\u{a0}';

/// Units of time, and how many seconds each is.
const TIMES: [(&str, f64); 7] =
    [("ns", 1e-9), ("us", 1e-6), ("\u{b5}s", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];

/// How long the unit of time is, with the space before it, that goes on behind a number, and how many seconds it is; 0 and 1
/// without one.
fn unit(text: &str) -> (usize, f64) {
    let Some(rest) = text.strip_prefix([' ', NO_BREAK]) else { return (0, 1.0) };
    let is_whole = |unit: &str| {
        let behind = rest.strip_prefix(unit);
        behind.is_some_and(|behind| !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '/'))
    };
    let found = TIMES.iter().find(|(unit, _)| is_whole(unit));
    found.map_or((0, 1.0), |(unit, seconds)| (text.len() - rest.len() + unit.len(), *seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_have_ranges() {
        let ranges = |texts: &[&str]| in_ranges(texts, "run.json");
        let texts = ["p99 of 1,200 jobs at 0.5 in server_1", "p99 of 900 jobs at 0.5 in server_1"];
        assert_eq!(ranges(&texts), "p99 of 900 to 1,200 jobs at 0.5 in server_1");
        assert_eq!(ranges(&["1e-5 of 3", "2e-6 of 3"]), "2e-6 to 1e-5 of 3");
        assert_eq!(ranges(&["v1.2.3, 7."]), "v1.2.3, 7.");
        assert_eq!(ranges(&["server-1 froze for 2 s", "server-1 froze for 5 s"]), "server-1 froze for 2 to 5 s");
        assert_ne!(without_numbers("server-1 froze for 2 s"), without_numbers("server-2 froze for 2 s"));
        assert_eq!(ranges(&["5 s later", "12 s later"]), "5 to 12 s later");
        assert_eq!(ranges(&["1.2 s later", "900\u{a0}ms later"]), "900\u{a0}ms to 1.2 s later");
        assert_eq!(ranges(&["5 servers", "3 servers"]), "3 to 5 servers");
        assert_eq!(ranges(&[]), "");
    }

    /// Of the bounds of several loads one range is told, from the least to the greatest, and where those of each are.
    #[test]
    fn intervals_become_the_one_that_holds_them_all() {
        let behind = ". These ends are the least and the greatest of all: run.json has those of each";
        let ranges = |texts: &[&str]| in_ranges(texts, "run.json");
        let known = |bounds: &str| format!("is known between {bounds} only");
        let (low, high) = (known("115.8 ms and 200 ms"), known("5.765 s and 20 s"));
        assert_eq!(ranges(&[&low, &high]), known("115.8 ms and 20 s") + behind);
        assert_eq!(ranges(&[&high, &low]), known("115.8 ms and 20 s") + behind, "in any order");
        assert_eq!(ranges(&[&low, &low]), low, "the same is said once");
        let middle = [
            "4 queues: the middle of two bounds, 1.953 s and 1.954 s (Adan 1994)",
            "4 queues: the middle of two bounds, \
                      2.5 s and 2.6 s (Adan 1994)",
        ];
        assert_eq!(
            ranges(&middle),
            format!("4 queues: the middle of two bounds, 1.953 s to 2.6 s (Adan 1994){behind}")
        );
        assert_eq!(ranges(&["from 2 s to 3 s", "from 4 s to 9 s"]), format!("from 2 s to 9 s{behind}"));
        // Two numbers that are no ends have a range each.
        assert_eq!(ranges(&["1 and 2 of 3", "2 and 5 of 3"]), "1 to 2 and 2 to 5 of 3");
    }
}
