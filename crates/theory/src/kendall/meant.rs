//! The queue that a text, which writes none, was probably meant to be: `MM1`, `M/M/4/JSQ`, `M/G/1 PS`, `power-of-d(2)`.

use super::{is_unlimited, read_as_written, read_discipline};

/// Disciplines by what others call them, letters and digits only; of queues side by side too.
const CALLED: [(&str, &str); 33] = [
    ("fcfs", "FCFS"),
    ("fifo", "FCFS"),
    ("firstcomefirstserved", "FCFS"),
    ("ps", "PS"),
    ("processorsharing", "PS"),
    ("las", "LAS"),
    ("leastattainedservice", "LAS"),
    ("lcfs", "LCFS"),
    ("lifo", "LCFS"),
    ("lcfspr", "LCFS-PR"),
    ("siro", "SIRO"),
    ("random", "SIRO"),
    ("prio", "PRIO"),
    ("priority", "PRIO"),
    ("priopr", "PRIO-PR"),
    ("jsq", "JSQ"),
    ("jointheshortestqueue", "JSQ"),
    ("joinshortestqueue", "JSQ"),
    ("shortestqueue", "JSQ"),
    ("leastconnections", "JSQ"),
    ("leastconn", "JSQ"),
    ("lc", "JSQ"),
    ("powerofd", "JSQ(2)"),
    ("poweroftwo", "JSQ(2)"),
    ("p2c", "JSQ(2)"),
    ("powerof", "JSQ(2)"),
    ("pod", "JSQ(2)"),
    ("po", "JSQ(2)"),
    ("sq", "JSQ(2)"),
    ("twochoices", "JSQ(2)"),
    ("leastrequest", "JSQ(2)"),
    ("foregroundbackground", "LAS"),
    ("fb", "LAS"),
];
/// Disciplines that there are not, and what is nearest to them.
const ABSENT: [(&str, &str); 6] = [
    ("SRPT", "shortest remaining processing time"),
    ("SRTF", "shortest remaining time first"),
    ("PSJF", "preemptive shortest job first"),
    ("SJF", "shortest job first"),
    ("SPT", "shortest processing time"),
    ("SJN", "shortest job next"),
];
/// A queue for who names a discipline alone.
const ALONE: &str = "M/M/4";

/// It, in the notation; none where nothing is near enough, or the text is one.
pub(super) fn meant(text: &str) -> Option<String> {
    let text = text.trim();
    let meant = match discipline(text) {
        Some(discipline) => format!("{ALONE}-{discipline}"),
        None => {
            let (arrivals, rest) = letter(text)?;
            let (service, rest) = letter(apart(rest))?;
            let of_servers = apart(rest);
            // A number below 0 is no separator and a number.
            if rest[..rest.len() - of_servers.len()].ends_with("/-") {
                return None;
            }
            let (servers, rest) = count(of_servers)?;
            let discipline = match apart(rest) {
                "" => String::new(),
                written => format!("-{}", discipline(written)?),
            };
            format!("{arrivals}/{service}/{servers}{discipline}")
        }
    };
    let queue = meant.split("-JSQ").next().unwrap_or_default();
    (meant != text && read_as_written(queue).is_ok()).then_some(meant)
}

/// What a discipline that there is not is, by its letters in capitals, and what would be near it.
pub(super) fn absent(letters: &str) -> Option<(&'static str, &'static str)> {
    let (_, is) = ABSENT.iter().find(|(other, _)| *other == letters)?;
    Some((is, "LAS is near it, and needs no sizes: it serves the job that has been served least"))
}

/// The same where letters stand for its numbers, as in `M/M/c/K`: the first of them, and the queue with numbers.
pub(super) fn with_numbers(text: &str) -> Option<(String, String)> {
    let (fields, discipline) = text.split_once('-').unwrap_or((text, ""));
    let mut letter = None;
    let mut number = |(place, field): (usize, &str)| {
        let is_letter = field.len() == 1 && field.chars().all(|c| c.is_ascii_alphabetic());
        let number = ["4", "10", "20"].get(place.checked_sub(2)?).filter(|_| is_letter)?;
        letter.get_or_insert_with(|| field.to_owned());
        Some((*number).to_owned())
    };
    let numbered = |of: (usize, &str)| number(of).unwrap_or_else(|| of.1.to_owned());
    let fields: Vec<String> = fields.split('/').map(str::trim).enumerate().map(numbered).collect();
    let example = if discipline.is_empty() { fields.join("/") } else { format!("{}-{discipline}", fields.join("/")) };
    read_as_written(&example).is_ok().then_some((letter?, example))
}

/// The same where the number of servers is left out, as in `M/M/JSQ` and `M/G/PS`: the queue with one.
pub(super) fn with_servers(text: &str) -> Option<String> {
    let (arrivals, rest) = letter(text.trim())?;
    let (service, rest) = letter(apart(rest))?;
    let queue = |servers: &str| format!("{arrivals}/{service}/{servers}");
    let example = match apart(rest) {
        "" => queue("1"),
        written => {
            let discipline =
                discipline(written).or_else(|| read_discipline(written).is_ok().then(|| written.to_owned()))?;
            // Of one queue there is no shortest.
            let servers = if discipline.starts_with("JSQ") { "4" } else { "1" };
            format!("{}-{discipline}", queue(servers))
        }
    };
    read_as_written(example.split("-JSQ").next().unwrap_or_default()).is_ok().then_some(example)
}

/// What may stand between the parts of a queue.
fn apart(text: &str) -> &str {
    text.trim_start_matches(|c: char| "/-,;_|".contains(c) || c.is_whitespace())
}

/// The letter with which `text` begins, and the rest.
fn letter(text: &str) -> Option<(String, &str)> {
    let upper = text.to_ascii_uppercase();
    let known = ["GI", "H2", "M", "D", "G"].into_iter().find(|known| upper.starts_with(known)).map(str::len);
    // Of `E21` two phases and one server: more than nine are written apart.
    let erlang = upper.strip_prefix('E').and_then(|rest| rest.starts_with(|c: char| c.is_ascii_digit()).then_some(2));
    let length = known.or(erlang)?;
    Some((upper[..length].to_owned(), &text[length..]))
}

/// The number of servers with which `text` begins, and the rest.
fn count(text: &str) -> Option<(String, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '\u{221e}').unwrap_or(text.len());
    if is_unlimited(&text[..end]) {
        return Some(("inf".to_owned(), &text[end..]));
    }
    let digits = text.find(|c: char| !is_digit(c)).unwrap_or(text.len());
    (digits > 0).then(|| (text[..digits].to_owned(), &text[digits..]))
}

/// The discipline that `text` names in whatever words, with its number where it has one.
fn discipline(text: &str) -> Option<String> {
    let (name, argument) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
        None => (text, None),
    };
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let named = |letters: &str| CALLED.iter().find(|(other, _)| *other == letters).map(|(_, name)| *name);
    let known = named(&letters);
    // `jsq2` is `JSQ(2)`.
    let word = letters.trim_end_matches(|c: char| c.is_ascii_digit());
    let drawn = &letters[word.len()..];
    if known.is_none() && argument.is_none() && named(word).is_some_and(|known| known.starts_with("JSQ")) {
        return drawn.parse::<u32>().ok().map(|drawn| format!("JSQ({drawn})"));
    }
    let slipped = || CALLED.iter().find(|(other, _)| sojourn_stats::is_slip(&letters, other)).map(|(_, name)| *name);
    let known = known.or_else(slipped)?;
    // `d = 2` is 2.
    let number = argument.and_then(|of| of.rsplit('=').next()?.trim().parse::<u32>().ok());
    match (known, argument) {
        ("JSQ" | "JSQ(2)", Some(_)) => Some(format!("JSQ({})", number?)),
        (known, None) => Some(known.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_queue_is_often_nearly_one() {
        let cases = [
            ("MM1", "M/M/1"),
            ("mg1-ps", "M/G/1-PS"),
            ("M-M-1", "M/M/1"),
            ("M/M/4/JSQ", "M/M/4-JSQ"),
            ("M/M/4/JSQ(2)", "M/M/4-JSQ(2)"),
            ("M/M/1/PS", "M/M/1-PS"),
            ("M/G/1 PS", "M/G/1-PS"),
            ("M/E2/2 FIFO", "M/E2/2-FCFS"),
            ("ME21", "M/E2/1"),
            ("M/M/4-power-of-d(2)", "M/M/4-JSQ(2)"),
            ("power-of-d(d = 3)", "M/M/4-JSQ(3)"),
            ("M/M/4-least-connections", "M/M/4-JSQ"),
            ("M/M/1-processor-sharing", "M/M/1-PS"),
            ("JSQ", "M/M/4-JSQ"),
            ("MMinf", "M/M/inf"),
            ("M/M/4-POD(2)", "M/M/4-JSQ(2)"),
            ("M/M/4-po2", "M/M/4-JSQ(2)"),
            ("M/M/4-sq(3)", "M/M/4-JSQ(3)"),
            ("M/M/4-lc", "M/M/4-JSQ"),
            ("jsq2", "M/M/4-JSQ(2)"),
            ("M/M/1-foreground-background", "M/M/1-LAS"),
            ("jsqq", "M/M/4-JSQ"),
            ("M/M/4-jsqq", "M/M/4-JSQ"),
            ("M/M/4-jqs(3)", "M/M/4-JSQ(3)"),
            ("M/G/1-fiffo", "M/G/1-FCFS"),
        ];
        for (text, right) in cases {
            assert_eq!(meant(text).as_deref(), Some(right), "{text}");
        }
        for text in
            ["", "E22", "M/M/x", "M/M/-1", "M/M/0", "nonsense", "M/M/1", "M/M/4-LPS", "M/M/1-nonsense", "\u{e9}/M/1"]
        {
            assert_eq!(meant(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_of_servers_that_is_left_out_becomes_one() {
        for (text, example) in [
            ("M/M/JSQ", "M/M/4-JSQ"),
            ("M/M-JSQ", "M/M/4-JSQ"),
            ("M/M/JSQ(2)", "M/M/4-JSQ(2)"),
            ("M/M/-jsq2", "M/M/4-JSQ(2)"),
            ("M/G/PS", "M/G/1-PS"),
            ("M/G-LPS(8)", "M/G/1-LPS(8)"),
            ("m/e2/fifo", "M/E2/1-FCFS"),
            ("GI/G", "GI/G/1"),
            ("M/M/", "M/M/1"),
        ] {
            assert_eq!(with_servers(text).as_deref(), Some(example), "{text}");
        }
        for text in ["", "M", "M/X", "M/M/x", "M/M/0", "M/M/-1", "M/PS", "M/M/nonsense", "JSQ", "E22"] {
            assert_eq!(with_servers(text), None, "{text}");
        }
    }

    #[test]
    fn letters_that_stand_for_numbers_become_some() {
        for (text, letter, example) in [
            ("M/M/c", "c", "M/M/4"),
            ("M/M/N", "N", "M/M/4"),
            ("M/G/c-PS", "c", "M/G/4-PS"),
            ("M/M/c/K", "c", "M/M/4/10"),
            ("M/M/1/K", "K", "M/M/1/10"),
            ("M/M/c//N", "c", "M/M/4//20"),
        ] {
            assert_eq!(with_numbers(text), Some((letter.to_owned(), example.to_owned())), "{text}");
        }
        for text in ["M/M/1", "M/M/-1", "M/M/cc", "M/X/c", "M/M/0", "M/M"] {
            assert_eq!(with_numbers(text), None, "{text}");
        }
    }
}
