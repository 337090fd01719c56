//! The call syntax that laws are written in: `name(key = value, weight: value, value)`, with source columns.

use super::LawError;
use crate::nearest::meant_aside;

/// A call as written: its name and its arguments, values still text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression<'t> {
    /// What is called, e.g. `lognormal`.
    pub name: &'t str,
    /// Where the name begins: 1 is the first character of the text.
    pub column: usize,
    /// In the order written.
    pub arguments: Vec<Argument<'t>>,
}

/// One argument: `key = value`, `weight: value` or just a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument<'t> {
    /// What stands before the `=`.
    pub key: Option<&'t str>,
    /// What stands before the `:` of a mixture's part.
    pub weight: Option<&'t str>,
    /// The rest, trimmed, not yet read; quotes are still on.
    pub value: &'t str,
    /// Where the argument begins, 1-based.
    pub column: usize,
    /// Where its value begins, 1-based.
    pub value_column: usize,
}

impl Argument<'_> {
    /// What is wrong with an argument that a call does not take, of which `known` are the keys: "`each` is none of n and every
    /// (did you mean `every`?)".
    pub fn foreign(&self, known: &[&str]) -> String {
        let Some(key) = self.key else { return format!("`{}` has no name", self.value) };
        let listed = match known {
            [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
            _ => known.concat(),
        };
        format!("`{key}` is none of {listed}{}", meant_aside(key, known.iter().copied()))
    }
}

impl<'t> Expression<'t> {
    /// Takes the outermost call of `text` apart. `None` when it does not look like a call: then it is a quantity.
    ///
    /// # Errors
    /// On an unclosed parenthesis or quote, text after the last parenthesis, or an empty argument.
    pub fn parse(text: &'t str) -> Result<Option<Expression<'t>>, LawError> {
        Expression::parse_at(text, 1)
    }

    /// As [`Expression::parse`], for a text that begins at `column` of a longer one.
    pub(super) fn parse_at(text: &'t str, column: usize) -> Result<Option<Expression<'t>>, LawError> {
        let (text, column) = trimmed(text, column);
        let Some(open) = text.find('(') else { return Ok(None) };
        let name = text[..open].trim_end();
        let mut parts = Parts { text, column, arguments: Vec::new(), argument: open + 1, divider: None };
        let (mut depth, mut quote) = (0, None);
        for (at, character) in text.char_indices().skip_while(|(at, _)| *at < open) {
            match (quote, character) {
                (Some(mark), _) if mark == character => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(character),
                (None, '(') => depth += 1,
                (None, ')') if depth == 1 => {
                    let rest = text[at + 1..].trim();
                    if !rest.is_empty() {
                        return Err(LawError(format!("`{rest}` after the closing parenthesis of {name}")));
                    }
                    if !(parts.arguments.is_empty() && text[open + 1..at].trim().is_empty()) {
                        parts.end(at)?;
                    }
                    return Ok(Some(Expression { name, column, arguments: parts.arguments }));
                }
                (None, ')') => depth -= 1,
                (None, ',') if depth == 1 => parts.end(at)?,
                (None, '=' | ':') if depth == 1 && parts.divider.is_none() => parts.divider = Some((at, character)),
                _ => {}
            }
        }
        let missing = if quote.is_some() { "a quote" } else { "a parenthesis" };
        Err(LawError(format!("{missing} of {name} is never closed (column {column})")))
    }
}

/// The arguments found so far and the byte offsets of the one being read.
struct Parts<'t> {
    text: &'t str,
    column: usize,
    arguments: Vec<Argument<'t>>,
    argument: usize,
    divider: Option<(usize, char)>,
}

impl Parts<'_> {
    fn end(&mut self, at: usize) -> Result<(), LawError> {
        let column_of = |offset: usize| self.column + self.text[..offset].chars().count();
        let (whole, column) = trimmed(&self.text[self.argument..at], column_of(self.argument));
        let from = self.divider.map_or(self.argument, |(divider, _)| divider + 1);
        let (value, value_column) = trimmed(&self.text[from..at], column_of(from));
        if value.is_empty() {
            let before = if whole.is_empty() { "an argument" } else { whole };
            return Err(LawError(
                format!("`{before}` is empty (column {column})").replace("`an argument`", "an argument"),
            ));
        }
        let before = self.divider.map(|(divider, mark)| (self.text[self.argument..divider].trim(), mark));
        self.arguments.push(Argument {
            key: before.and_then(|(word, mark)| (mark == '=').then_some(word)),
            weight: before.and_then(|(word, mark)| (mark == ':').then_some(word)),
            value,
            column,
            value_column,
        });
        (self.argument, self.divider) = (at + 1, None);
        Ok(())
    }
}

/// `text` without the spaces around it, and the column where it then begins.
fn trimmed(text: &str, column: usize) -> (&str, usize) {
    let start = text.trim_start();
    (start.trim_end(), column + text.chars().count() - start.chars().count())
}
