//! Files of settings with mistakes such as people make: each is accepted, or refused in one line. The tests of other crates use
//! this file too.

use std::fs;
use std::path::Path;

use sojourn_part::settings::{Given, Settings, Wrong};
use sojourn_stats::Stream;

/// How many files are made of one.
const FILES: usize = 300;

/// Reads `text` with mistakes in it, as a file in `folder`, where the files are that it names.
#[allow(dead_code, reason = "some crates have other files only")]
pub(crate) fn are_accepted_or_refused<T: Settings>(folder: &Path, text: &str, check: impl Fn(&T) -> Result<(), Wrong>) {
    let file = folder.join("mutated.toml");
    let read = |text: &str| {
        fs::write(&file, text).expect("a file");
        Given::<T>::from_file(&file).read_and(&check)
    };
    read(text).unwrap_or_else(|why| panic!("without a mistake: {why}"));
    let mut refusals = Refusals::default();
    for text in mutated(text, FILES, 1) {
        refusals.count(&file, &text, read(&text).err());
    }
    refusals.are_plausible();
}

/// So many texts with mistakes, made of `text`.
pub(crate) fn mutated(text: &str, files: usize, seed: u64) -> impl Iterator<Item = String> {
    let mut draw = Stream::new(seed, "settings", "mistakes");
    (0..files).map(move |_| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=draw.below(2) {
            mutate(&mut lines, &mut draw);
        }
        lines.join("\n")
    })
}

/// What became of files with mistakes.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    files: usize,
    refused: usize,
    with_line: usize,
}

impl Refusals {
    /// Counts one, which was refused because of `why`: in one line, which begins with the file.
    pub(crate) fn count(&mut self, file: &Path, text: &str, why: Option<String>) {
        self.files += 1;
        let Some(why) = why else { return };
        let name = file.display().to_string();
        let rest = why.strip_prefix(&name).unwrap_or_else(|| panic!("it does not say the file: {why}\n{text}"));
        assert!(!why.chars().any(|c| c == '\n' || c == '\r'), "it is not one line: {why}\n{text}");
        let of_ours = ["struct ", "enum ", "a sequence", "a map", "Raw"];
        assert!(!of_ours.iter().any(|word| rest.contains(word)), "it names a type of the program: {why}\n{text}");
        let line = rest.strip_prefix(':').and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
        self.refused += 1;
        self.with_line += usize::from(line.is_some_and(|line| (1..=text.lines().count() + 1).contains(&line)));
    }

    /// Many mistakes are noticed, and nearly all with their line: what is not there has none.
    pub(crate) fn are_plausible(&self) {
        assert!((self.files / 3..self.files).contains(&self.refused), "{self:?}");
        assert!(self.with_line * 10 >= self.refused * 9, "{self:?}");
    }
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
