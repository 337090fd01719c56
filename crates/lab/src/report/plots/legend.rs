//! The names below a chart, in as many rows as they take: a drawing does not wrap its text by itself.

use super::apart;

/// The width of a character as a share of the text's size: few letters are wider, and no word is of these alone.
const CHARACTER: f64 = 0.6;
/// The most characters of a name.
const NAME: usize = 60;

/// What stands beside the mark of a series.
pub(super) struct Entry {
    pub(super) rows: Vec<String>,
    /// All of it, where the rows have less.
    pub(super) whole: Option<String>,
}

/// How many characters have room in `width` pixels, where the text is `size` pixels high.
pub(super) fn room(width: f64, size: f64) -> usize {
    (width / (CHARACTER * size)).floor().max(1.0) as usize
}

/// An entry for each of `names`, in rows of at most `most` characters; one that lies on another says so.
pub(super) fn entries(names: &[&str], lies_on: &[Option<usize>], most: usize) -> Vec<Entry> {
    let short = apart(names, NAME);
    let text = |name: &str, below: Option<&str>| match below {
        Some(below) => format!("{name} (lies on {below})"),
        None => name.to_owned(),
    };
    let entry = |(index, name): (usize, &&str)| {
        let below = lies_on[index];
        let shown = text(&short[index], below.map(|below| short[below].as_str()));
        let whole = text(name, below.map(|below| names[below]));
        Entry { rows: rows(&shown, most), whole: (shown != whole).then_some(whole) }
    };
    names.iter().enumerate().map(entry).collect()
}

/// `text` in rows of at most `most` characters: broken between words, and in one that is longer than a row.
pub(super) fn rows(text: &str, most: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(most) {
            let row = rows.last_mut().expect("there is one");
            let length = row.chars().count();
            if length == 0 || length + 1 + part.len() <= most {
                row.extend((length > 0).then_some(' ').into_iter().chain(part.iter().copied()));
            } else {
                rows.push(part.iter().collect());
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Beside, Chart, Mark, Series, Side};
    use super::*;
    use crate::report::Engine;

    #[test]
    fn names_are_broken_into_rows_and_shortened_ones_are_told_whole() {
        assert_eq!(rows("random \u{b7} a", 36), ["random \u{b7} a"]);
        assert_eq!(rows("least-connections over four servers", 20), ["least-connections", "over four servers"]);
        assert_eq!(rows("an abcdefghijklm x", 5), ["an", "abcde", "fghij", "klm x"]);
        assert_eq!(rows("", 5), [""]);
        let long = |run: &str| format!("{}, {run}", "a law of the service and of the gaps, ".repeat(2));
        let (one, two) = (long("one"), long("two"));
        let all = entries(&[&one, &two, "short"], &[None, Some(0), None], 40);
        assert_eq!(all[0].whole.as_deref(), Some(one.as_str()));
        assert_eq!(all[1].whole, Some(format!("{two} (lies on {one})")));
        assert_eq!((all[2].whole.as_deref(), all[2].rows.as_slice()), (None, &["short".to_owned()][..]));
        assert_ne!(all[0].rows, all[1].rows, "they stay apart");
        assert!(all.iter().flat_map(|entry| &entry.rows).all(|row| row.chars().count() <= 40));
    }

    /// A name that is longer than the plot is wide goes on in a row below, and what is left out of it is told where one points;
    /// engines that have no room beside each other stand below each other.
    #[test]
    fn nothing_of_a_legend_is_cut_at_the_edge() {
        let names = ["least-connections over servers of two speeds \u{b7} a", "M/M/4 \u{b7} a", &"long/".repeat(20)];
        let side =
            |title: &str| Side { title: title.into(), log: false, label: |value| format!("{value}"), ends: (0.0, 9.0) };
        let series = |(number, name): (usize, &&str)| {
            let height = 1.0 + number as f64;
            Series { name: (*name).into(), mark: Mark::Line, points: vec![(1.0, height), (2.0, height)] }
        };
        let marker = |engine| Beside::Marker { series: 0, engine, at: 1.0, value: 2.0, hollow: false };
        let chart = Chart {
            id: "x".into(),
            heading: "runs".into(),
            caption: String::new(),
            x: side("load"),
            y: side("time"),
            series: names.iter().enumerate().map(series).collect(),
            beside: Engine::ALL.into_iter().map(marker).collect(),
            inks: Vec::new(),
        };
        // The number, in tenths of a pixel, that ends in a quote or a space behind `from`.
        let tenths = |text: &str, from: &str| -> f64 {
            let rest = text.split(from).nth(1).unwrap_or_else(|| panic!("no {from} in {text}"));
            rest.split(['"', ' ']).next().unwrap().parse().unwrap()
        };
        for width in [360.0, 500.0] {
            let text = chart.draw(width);
            let height = tenths(&text, &format!("viewBox=\"0 0 {} ", 10.0 * width));
            let mut rows = Vec::new();
            for of in text.split("<text ").skip(1).filter(|of| of.contains("text-anchor=\"start\"")) {
                let (_, row) = of.split_once(">\n").unwrap();
                let (row, _) = row.split_once("\n</text>").unwrap();
                // A letter of a usual font is about half as wide as it is high: 11.5 pixels.
                let end = tenths(of, "x=\"") + 115.0 * 0.55 * row.chars().count() as f64;
                assert!(end <= 10.0 * width, "{width}: {row} ends at {end}");
                assert!(tenths(of, " y=\"") + 0.5 * 115.0 <= height, "{width}: {row} of {height}");
                rows.push(row);
            }
            let at = |part: &str| rows.iter().position(|row| row.starts_with(part)).expect("it is there");
            assert!(rows[at("M/M/4") - 1].ends_with("\u{b7} a"), "the whole name: {rows:?}");
            assert!(Engine::ALL.iter().all(|engine| rows.contains(&engine.name())), "{rows:?}");
            assert!(text.contains(&format!("<title>{}</title>", names[2])), "{text}");
        }
    }
}
