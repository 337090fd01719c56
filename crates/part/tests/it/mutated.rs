//! Files of settings with mistakes such as people make: each is accepted, or refused in one line. The tests of other crates use
//! this file too.

use std::fs;
use std::path::Path;

use sojourn_part::settings::{Given, Settings, Wrong};
use sojourn_stats::Stream;

/// How many files are made of one.
const FILES: usize = 300;

/// Reads `text` with mistakes in it, as a file in `folder`, where the files are that it names.
pub(crate) fn are_accepted_or_refused<T: Settings>(folder: &Path, text: &str, check: impl Fn(&T) -> Result<(), Wrong>) {
    let file = folder.join("mutated.toml");
    let read = |text: &str| {
        fs::write(&file, text).expect("a file");
        Given::<T>::from_file(&file).read_and(&check)
    };
    read(text).unwrap_or_else(|why| panic!("without a mistake: {why}"));
    let mut draw = Stream::new(1, "settings", "mistakes");
    let (mut refused, mut with_line) = (0, 0);
    for _ in 0..FILES {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=draw.below(2) {
            mutate(&mut lines, &mut draw);
        }
        let text = lines.join("\n");
        let Err(why) = read(&text) else { continue };
        let name = file.display().to_string();
        let rest = why.strip_prefix(&name).unwrap_or_else(|| panic!("it does not say the file: {why}\n{text}"));
        assert!(!why.chars().any(|c| c == '\n' || c == '\r'), "it is not one line: {why}\n{text}");
        let line = rest.strip_prefix(':').and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
        refused += 1;
        with_line += usize::from(line.is_some_and(|line| (1..=lines.len() + 1).contains(&line)));
    }
    assert!((FILES / 3..FILES).contains(&refused), "{refused} of {FILES} are refused");
    // What is not there has no line.
    assert!(with_line * 10 >= refused * 9, "{with_line} of {refused} are told with a line");
}

fn mutate(lines: &mut Vec<String>, draw: &mut Stream) {
    let at = draw.below(lines.len());
    let (key, value) = lines[at]
        .split_once('=')
        .map_or((lines[at].clone(), String::new()), |(key, value)| (key.to_owned(), value.to_owned()));
    let values = ["99999999999999999999", "-1", "1e308", "9223372036854775807", "\"99999999999999 s\"", "true", "[]"];
    let words = ["\"\"", "\"nonsense\"", "{ a = 1 }", "[[[[]]]]", "\"\\u0007\\n\"", "1979-05-27", "nan", "\"\"\"", ""];
    match draw.below(8) {
        0 if lines.len() > 1 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = draw.below(lines.len());
            lines.swap(at, other);
        }
        3 => {
            let digit = char::from(b'0' + draw.below(10) as u8);
            let places: Vec<usize> =
                value.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
            let Some(place) = places.get(draw.below(places.len().max(1))) else { return };
            lines[at] = format!("{key}={}{digit}{}", &value[..*place], &value[place + 1..]);
        }
        4 => {
            let letter = char::from(b'a' + draw.below(26) as u8);
            let place = draw.below(lines[at].len() + 1);
            if lines[at].is_char_boundary(place) {
                lines[at].insert(place, letter);
            }
        }
        5 => lines[at] = format!("{key}= {}", values[draw.below(values.len())]),
        6 => lines[at] = format!("{key}= {}", words[draw.below(words.len())]),
        _ => {
            let control = ['\0', '\u{1b}', '\r', '\u{7f}', '\u{feff}'][draw.below(5)];
            let place = draw.below(lines[at].len() + 1);
            if lines[at].is_char_boundary(place) {
                lines[at].insert(place, control);
            }
        }
    }
}
