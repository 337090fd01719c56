//! Patterns of paths and media types: text in which `*` stands for any characters, slashes included.
//!
//! Where several match, the one with the most characters of its own counts. Two that are equally long and may match the same
//! text contradict each other: [`Pattern::meets`] finds that out beforehand, by walking over both at once.

use std::fmt;

/// A text with `*` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    /// How many bytes stand for themselves.
    rank: usize,
}

impl Pattern {
    /// A pattern of paths, as `/cgi-bin/*` or `*.mpg`.
    ///
    /// # Errors
    /// In words, where no path can be meant.
    pub(crate) fn of_paths(text: &str) -> Result<Pattern, String> {
        match text.starts_with(['/', '*']) && !text.contains(['?', '#']) {
            true => Ok(Pattern::of(text)),
            false => Err(format!("`{text}` is no pattern of paths; write e.g. `/cgi-bin/*` or `*.mpg`")),
        }
    }

    /// A pattern of media types, as `image/*`.
    ///
    /// # Errors
    /// In words, where no media type can be meant.
    pub(crate) fn of_types(text: &str) -> Result<Pattern, String> {
        match text.matches('/').count() {
            1 => Ok(Pattern::of(text)),
            _ => Err(format!("`{text}` is no pattern of media types; write e.g. `image/*`")),
        }
    }

    fn of(text: &str) -> Pattern {
        Pattern { text: text.into(), rank: text.bytes().filter(|byte| *byte != b'*').count() }
    }

    /// Whether it matches all of a text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.text.as_bytes(), text.as_bytes());
        let (mut at, mut place) = (0, 0);
        // The last `*`, and how far it has reached.
        let mut star: Option<(usize, usize)> = None;
        while place < text.len() {
            if pattern.get(at) == Some(&b'*') {
                star = Some((at, place));
                at += 1;
            } else if pattern.get(at) == Some(&text[place]) {
                (at, place) = (at + 1, place + 1);
            } else if let Some((back, reached)) = star {
                star = Some((back, reached + 1));
                (at, place) = (back + 1, reached + 1);
            } else {
                return false;
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }

    /// Whether both match some text.
    pub(crate) fn meets(&self, other: &Pattern) -> bool {
        let (one, two) = (self.text.as_bytes(), other.text.as_bytes());
        // Which ends of the second meet the present end of the first.
        let mut row = vec![false; two.len() + 1];
        row[two.len()] = true;
        for place in (0..two.len()).rev() {
            row[place] = two[place] == b'*' && row[place + 1];
        }
        for at in (0..one.len()).rev() {
            let below = row.clone();
            row[two.len()] = one[at] == b'*' && below[two.len()];
            for place in (0..two.len()).rev() {
                row[place] = match (one[at], two[place]) {
                    (b'*', b'*') => below[place] || row[place + 1],
                    // The star ends here, or takes one more character of the other.
                    (b'*', _) => below[place] || row[place + 1],
                    (_, b'*') => row[place + 1] || below[place],
                    (a, b) => a == b && below[place + 1],
                };
            }
        }
        row[0]
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The first two of equal rank that may match the same text.
pub(crate) fn contradiction<'a>(patterns: &[&'a Pattern]) -> Option<(usize, usize, &'a Pattern)> {
    (1..patterns.len()).find_map(|later| {
        let earlier = (0..later).find(|earlier| {
            let (one, other) = (patterns[*earlier], patterns[later]);
            one.rank == other.rank && one.meets(other)
        })?;
        Some((earlier, later, patterns[earlier]))
    })
}

/// The place of the pattern that counts for a text.
pub(crate) fn best<'a>(patterns: impl Iterator<Item = &'a Pattern>, text: &str) -> Option<usize> {
    let matching = patterns.enumerate().filter(|(_, pattern)| pattern.matches(text));
    matching.max_by_key(|(_, pattern)| pattern.rank).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All texts of up to six of these letters: what matches, and what meets, by trying them.
    #[test]
    fn what_matches_and_what_meets_is_what_trying_all_texts_says() {
        fn texts(letters: &str, length: usize) -> Vec<String> {
            let mut all = vec![String::new()];
            let mut last = all.clone();
            for _ in 0..length {
                last =
                    last.iter().flat_map(|text| letters.chars().map(move |letter| format!("{text}{letter}"))).collect();
                all.extend(last.clone());
            }
            all
        }
        fn naive(pattern: &[u8], text: &[u8]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some((b'*', rest)) => (0..=text.len()).any(|end| naive(rest, &text[end..])),
                Some((byte, rest)) => text.first() == Some(byte) && naive(rest, &text[1..]),
            }
        }
        let (patterns, texts) = (texts("ab*", 4), texts("ab", 6));
        let patterns: Vec<Pattern> = patterns.iter().map(|text| Pattern::of(text)).collect();
        let matched: Vec<Vec<bool>> = patterns
            .iter()
            .map(|pattern| {
                let tried = texts.iter().map(|text| {
                    let is_match = naive(pattern.text.as_bytes(), text.as_bytes());
                    assert_eq!(pattern.matches(text), is_match, "{pattern} and {text}");
                    is_match
                });
                tried.collect()
            })
            .collect();
        for (one, of_one) in patterns.iter().zip(&matched) {
            for (other, of_other) in patterns.iter().zip(&matched) {
                // Two patterns with at most four letters each that meet do so in a text of at most six.
                let meet = of_one.iter().zip(of_other).any(|(one, other)| *one && *other);
                let letters = one.rank + other.rank;
                assert!(letters > 6 || one.meets(other) == meet, "{one} and {other}");
            }
        }
    }
}
