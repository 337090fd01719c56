//! Texts that differ in numbers only, told as one.
//!
//! One number that differs has a range, and each of its ends is that of one of the texts. Where several differ, ranges of all of
//! them would be a text that none of them is: `known between 1 ms and 20 s` of ten narrow intervals. Then one of the texts is
//! told as it stands, the one whose number is greatest, and where the others begin. A time is a number with its unit, so that
//! 900 ms and 1.2 s have an order.

/// Texts that differ in numbers only, as one.
pub(super) enum Merged {
    /// They are one text, or none.
    Same(String),
    /// They differ in one number, which has a range: `12 to 40 of 50 requests`.
    Range {
        /// The text with the range.
        text: String,
        /// The place of the text whose number is greatest, or least as below.
        place: usize,
    },
    /// They differ in several numbers, or in the ends of an interval.
    Worst {
        /// The place of the text whose number is greatest: of the first number that differs, the upper end of an interval. It is
        /// the text of the least one where its words are "only 3".
        place: usize,
        /// What holds of the others' number, behind a comma: `, 3 % at least`; empty where no unit would say which number it is.
        others: String,
    },
}

/// These texts, which differ in numbers only, as one.
pub(super) fn merged(texts: &[&str]) -> Merged {
    let all: Vec<Vec<Part<'_>>> = texts.iter().map(|text| parts(text)).collect();
    let Some(first) = all.first() else { return Merged::Same(String::new()) };
    let differs =
        |place: &usize| all.iter().any(|parts| parts.get(*place).map(Part::text) != Some(first[*place].text()));
    let differing: Vec<usize> = (0..first.len()).filter(differs).collect();
    match differing[..] {
        [] => Merged::Same(texts[0].to_owned()),
        [one] if interval_at(first, one).is_none() => {
            Merged::Range { text: in_range(&all, one), place: greatest(&all, one) }
        }
        [earliest, ..] => worst(&all, earliest),
    }
}

/// The text that is told for all, where `earliest` is the place of the first number that differs.
fn worst(all: &[Vec<Part<'_>>], earliest: usize) -> Merged {
    let first = &all[0];
    // Of an interval the upper end counts, and no other interval reaches below the least of the lower ends.
    let (lower, upper) = interval_at(first, earliest).unwrap_or((earliest, earliest));
    let (ends, word) = match is_scarce(first, upper) {
        true => (end(all, upper, true), "at most"),
        false => (end(all, lower, false), "at least"),
    };
    let percent = match first.get(upper + 1).map(Part::text) {
        Some(behind) if behind.starts_with(" %") || behind.starts_with("\u{a0}%") => " %",
        _ => "",
    };
    let is_told = !percent.is_empty() || ends.ends_with(char::is_alphabetic) || is_first(first, lower);
    let place = greatest(all, upper);
    Merged::Worst { place, others: if is_told { format!(", {ends}{percent} {word}") } else { String::new() } }
}

/// Which text has the greatest number at `place`, the first of equal ones; the least where that says how little there is.
fn greatest(all: &[Vec<Part<'_>>], place: usize) -> usize {
    let is_scarce = is_scarce(&all[0], place);
    let key = |text: &usize| if is_scarce { -value(&all[*text], place) } else { value(&all[*text], place) };
    (0..all.len()).rev().max_by(|one, other| key(one).total_cmp(&key(other))).unwrap_or(0)
}

/// Whether the number at `place` says how little there is: "only 3".
fn is_scarce(parts: &[Part<'_>], place: usize) -> bool {
    place.checked_sub(1).is_some_and(|before| parts[before].text().ends_with("only "))
}

/// Whether no number is before this one.
fn is_first(parts: &[Part<'_>], place: usize) -> bool {
    parts[..place].iter().all(|part| matches!(part, Part::Words(_)))
}

/// The texts as one in which the number at `place` has its range.
fn in_range(all: &[Vec<Part<'_>>], place: usize) -> String {
    let told = range(end(all, place, false), end(all, place, true));
    let of = |(at, part): (usize, &Part<'_>)| if at == place { told.clone() } else { part.text().to_owned() };
    all[0].iter().enumerate().map(of).collect()
}

/// The least number at `place`, or the greatest, as it is written.
fn end<'a>(all: &[Vec<Part<'a>>], place: usize, is_greatest: bool) -> &'a str {
    let order = |one: &&Vec<Part<'a>>, other: &&Vec<Part<'a>>| value(one, place).total_cmp(&value(other, place));
    let found = if is_greatest { all.iter().max_by(order) } else { all.iter().min_by(order) };
    found.and_then(|parts| parts.get(place)).map_or("", Part::text)
}

/// The number at `place`.
fn value(parts: &[Part<'_>], place: usize) -> f64 {
    match parts.get(place) {
        Some(Part::Number(value, _)) => *value,
        _ => f64::NAN,
    }
}

/// Where the ends of the interval are of which the number at `place` is one: the lower and the upper one. None where it is none.
fn interval_at(parts: &[Part<'_>], place: usize) -> Option<(usize, usize)> {
    let lowers = [Some(place), place.checked_sub(2)];
    let lower = lowers.into_iter().flatten().find(|lower| is_interval(parts, *lower))?;
    Some((lower, lower + 2))
}

/// Whether the number at `place` is the lower end of an interval.
fn is_interval(parts: &[Part<'_>], place: usize) -> bool {
    let Some([Part::Number(..), Part::Words(between), Part::Number(..)]) = parts.get(place..place + 3) else {
        return false;
    };
    let before = place.checked_sub(1).map_or("", |before| parts[before].text());
    match *between {
        " to " | " % to " => true,
        " and " => before.ends_with("between ") || before.ends_with("bounds, "),
        // As in `between 3 % and 11 %`.
        " % and " => before.ends_with("between "),
        _ => false,
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

    /// The text that these become, with what is said of the others behind a bar.
    fn told(texts: &[&str]) -> String {
        match merged(texts) {
            Merged::Same(text) => text,
            Merged::Range { text, place } => format!("{text}|{place}"),
            Merged::Worst { place, others } => format!("{}|{others}", texts[place]),
        }
    }

    #[test]
    fn one_number_that_differs_has_a_range() {
        let texts = ["p99 of 1,200 jobs at 0.5 in server_1", "p99 of 900 jobs at 0.5 in server_1"];
        assert_eq!(told(&texts), "p99 of 900 to 1,200 jobs at 0.5 in server_1|0");
        assert_eq!(told(&["1e-5 of 3", "2e-6 of 3"]), "2e-6 to 1e-5 of 3|0");
        assert_eq!(told(&["v1.2.3, 7."]), "v1.2.3, 7.");
        assert_eq!(told(&["server-1 froze for 2 s", "server-1 froze for 5 s"]), "server-1 froze for 2 to 5 s|1");
        assert_ne!(without_numbers("server-1 froze for 2 s"), without_numbers("server-2 froze for 2 s"));
        assert_eq!(told(&["5 s later", "12 s later"]), "5 to 12 s later|1");
        assert_eq!(told(&["1.2 s later", "900\u{a0}ms later"]), "900\u{a0}ms to 1.2 s later|0");
        assert_eq!(told(&["3 servers", "5 servers", "5.0 servers"]), "3 to 5.0 servers|1", "the first of equal ones");
        assert_eq!(told(&["only 5 of 9", "only 3 of 9"]), "only 3 to 5 of 9|1");
        assert_eq!(told(&[]), "");
    }

    /// Of several intervals one is told as it is, the one that reaches farthest, and where the others begin.
    #[test]
    fn of_intervals_one_is_told_as_it_is() {
        let known = |bounds: &str| format!("it is known between {bounds} only");
        let (low, high) = (known("115.8 ms and 200 ms"), known("5.765 s and 20 s"));
        assert_eq!(told(&[&low, &high]), format!("{high}|, 115.8 ms at least"));
        assert_eq!(told(&[&high, &low]), format!("{high}|, 115.8 ms at least"), "in any order");
        assert_eq!(told(&[&low, &low]), low, "the same is said once");
        // Though only one end differs: its range would be three numbers in a row.
        let wide = known("115.8 ms and 900 ms");
        assert_eq!(told(&[&low, &wide]), format!("{wide}|, 115.8 ms at least"));
        let shares = ["between 3 % and 7 %", "between 5 % and 11 %", "between 4 % and 9 %"];
        assert_eq!(told(&shares), "between 5 % and 11 %|, 3 % at least");
        let middle = ["the middle of two bounds, 1.953 s and 1.954 s", "the middle of two bounds, 2.5 s and 2.6 s"];
        assert_eq!(told(&middle), format!("{}|, 1.953 s at least", middle[1]));
        assert_eq!(told(&["from 2 s to 3 s", "from 4 s to 9 s"]), "from 4 s to 9 s|, 2 s at least");
    }

    /// Two numbers that differ belong together: ranges of both would be a text that none of them is.
    #[test]
    fn of_several_numbers_that_differ_one_text_is_told() {
        assert_eq!(told(&["1 and 2 of 3", "2 and 5 of 3"]), "2 and 5 of 3|, 1 at least");
        let loads = ["at a load of 0.9 5 jobs of 70", "at a load of 0.9 8 jobs of 60"];
        assert_eq!(told(&loads), format!("{}|", loads[1]), "5 alone would not say what it is of");
        // Who says that it is little means the least.
        assert_eq!(told(&["only 9 of 70", "only 4 of 60"]), "only 4 of 60|, 9 at most");
    }
}
