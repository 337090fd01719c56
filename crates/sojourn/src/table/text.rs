//! Lines for a person: what is printed, and how wide it may be.
//!
//! Standard output is as wide as `COLUMNS` says, else as the terminal, else [`WIDTH`] columns, so that a table in a file
//! looks as it does on a screen. Messages on standard error stay on one line where neither is known: scripts read them.

use std::io::{ErrorKind, Write};
use std::path::Path;

use sojourn_stats::config::shown;
use terminal_size::{Width, terminal_size_of};

use crate::exit::Exit;

/// Columns where nothing says how many there are.
const WIDTH: usize = 80;

/// Columns of standard output.
pub(crate) fn width() -> usize {
    columns_asked().or_else(|| terminal_size_of(std::io::stdout()).map(columns)).unwrap_or(WIDTH)
}

/// What `COLUMNS` asks for; less than a word is no width.
fn columns_asked() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.parse().ok()?;
    (columns >= 20).then_some(columns)
}

fn columns((Width(columns), _): (Width, terminal_size::Height)) -> usize {
    usize::from(columns)
}

/// A sentence on lines that fit standard output, each after `indent`. What stands in backquotes can be copied from one line,
/// where it is not long.
pub(crate) fn paragraph(indent: &str, text: &str) -> String {
    hanging(indent, indent, text)
}

/// The same with something else before its first line.
pub(crate) fn hanging(first: &str, indent: &str, text: &str) -> String {
    filled(first, indent, text, width())
}

fn filled(first: &str, indent: &str, text: &str, width: usize) -> String {
    let mut pieces = pieces(text, width / 2).into_iter();
    let mut lines = vec![format!("{first}{}", pieces.next().unwrap_or_default())];
    for piece in pieces {
        let line = lines.last_mut().expect("there is a first one");
        if line.chars().count() + 1 + piece.chars().count() <= width {
            line.push(' ');
            line.push_str(&piece);
        } else {
            lines.push(format!("{indent}{piece}"));
        }
    }
    lines.join("\n")
}

/// The words of a text; those in one pair of backquotes are one, where they take no more than `most` columns together.
fn pieces(text: &str, most: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (mut pieces, mut rest) = (Vec::new(), &words[..]);
    while let Some((word, after)) = rest.split_first() {
        let close = after.iter().position(|word| is_half_quoted(word)).filter(|_| is_half_quoted(word));
        let end = close.map_or(1, |close| close + 2);
        let (together, left) = rest.split_at(end);
        let joined = together.join(" ");
        match joined.chars().count() <= most {
            true => pieces.push(joined),
            false => pieces.extend(together.iter().map(ToString::to_string)),
        }
        rest = left;
    }
    pieces
}

/// Whether one of a pair of backquotes is in it without the other.
fn is_half_quoted(word: &str) -> bool {
    word.matches('`').count() % 2 == 1
}

/// A line on stdout, without what would act on a terminal. A closed pipe is no failure of ours; a full disk ends the program,
/// for what is not said here would be missing without a word.
pub(crate) fn outln(line: &str) {
    match writeln!(std::io::stdout(), "{}", shown(line)) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            errln(&format!("sojourn: cannot write to standard output: {error}"));
            std::process::exit(Exit::Failed as i32);
        }
    }
}

/// A message on stderr, and if that fails there is no other place for it. Lines of its own that it brings stay lines; what would
/// act on a terminal is written out.
pub(crate) fn errln(message: &str) {
    let message = shown(message);
    let width = columns_asked().or_else(|| terminal_size_of(std::io::stderr()).map(columns));
    for line in message.lines() {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let fits = width.is_none_or(|width| line.chars().count() <= width);
        let line =
            if fits { line.into() } else { filled(indent, &format!("{indent}  "), text, width.unwrap_or(WIDTH)) };
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Says on stderr which file was written, for who asked for one beside the answer.
pub(crate) fn wrote(path: &Path) {
    errln(&format!("wrote {}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_hang() {
        assert_eq!(filled("- ", "  ", "one two  three", 9), "- one two\n  three");
        assert_eq!(filled("", "", "unbreakable word", 4), "unbreakable\nword", "a word is never broken");
        assert_eq!(filled("x", "", "", 4), "x");
    }

    #[test]
    fn what_may_be_copied_stays_on_a_line() {
        let told = filled("", "  ", "intervals are short: `--jobs 808000` would do", 30);
        assert_eq!(told, "intervals are short:\n  `--jobs 808000` would do");
        let told = filled("", "", "right now it is (`--jobs 9`), later", 26);
        assert_eq!(told, "right now it is\n(`--jobs 9`), later");
        // Of more than half a line the words are told apart, and so are those after a backquote that is not closed.
        assert_eq!(filled("", "", "a `b c d e f g` h i", 10), "a `b c d e\nf g` h i");
        assert_eq!(filled("", "", "a `b c d e f g h i", 10), "a `b c d e\nf g h i");
    }
}
