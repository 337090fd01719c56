//! `.if`, `.elif`, `.else` and `.endif`: which lines count (HAProxy's `src/cfgcond.c`, manual section 2.4).
//!
//! What depends on how HAProxy was built (`feature(OPENSSL)`) is not known here. It is taken as true, which a note says.

use crate::version::Version;

use super::words::Variables;

/// Most blocks inside each other (`MAXNESTEDCONDS`).
const NESTED_MAX: usize = 16;

/// Most parentheses inside each other.
const DEPTH_MAX: usize = 64;

/// The blocks that are open, the outermost first.
#[derive(Default)]
pub(super) struct Conditions(Vec<Block>);

struct Block {
    /// Whether its lines count now.
    is_taken: bool,
    /// Whether a branch of it was taken, or none may be.
    is_done: bool,
    /// Whether `.else` was seen.
    has_else: bool,
}

impl Conditions {
    /// Whether lines count.
    pub(super) fn take(&self) -> bool {
        self.0.last().is_none_or(|block| block.is_taken)
    }

    /// Whether all blocks are closed.
    pub(super) fn are_closed(&self) -> bool {
        self.0.is_empty()
    }

    /// Obeys a line that begins with one of the four words; None where it begins with another. Some(true) where its condition
    /// is not known here, and was taken as true.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(super) fn obey(
        &mut self,
        words: &[String],
        version: Version,
        variables: &Variables<'_>,
    ) -> Result<Option<bool>, String> {
        let (word, rest) = (words[0].as_str(), &words[1..]);
        if matches!(word, ".else" | ".endif") && !rest.is_empty() {
            return Err(format!("`{word}` stands alone in its line"));
        }
        let lone = || format!("`{word}` without an `.if` before it");
        let mut is_unknown = false;
        let mut holds = || {
            let holds = evaluate(&rest.join(" "), version, variables)?;
            is_unknown = holds.is_none();
            Ok::<bool, String>(holds.unwrap_or(true))
        };
        match word {
            ".if" => {
                if self.0.len() + 1 >= NESTED_MAX {
                    return Err(format!("more than {} blocks of `.if` are inside each other", NESTED_MAX - 1));
                }
                let is_taken = self.take() && holds()?;
                let is_done = is_taken || !self.take();
                self.0.push(Block { is_taken, is_done, has_else: false });
            }
            ".elif" | ".else" => {
                let block = self.0.last_mut().ok_or_else(lone)?;
                if block.has_else {
                    return Err(format!("`{word}` after `.else`"));
                }
                block.has_else = word == ".else";
                block.is_taken = !block.is_done && (block.has_else || holds()?);
                block.is_done |= block.is_taken;
            }
            ".endif" => {
                self.0.pop().ok_or_else(lone)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(is_unknown))
    }
}

/// Whether `text` holds; None where that depends on how HAProxy was built.
fn evaluate(text: &str, version: Version, variables: &Variables<'_>) -> Result<Option<bool>, String> {
    if text.trim().is_empty() {
        return Ok(Some(false));
    }
    let mut parser = Parser { rest: text.trim_start(), version, variables };
    let value = parser.expression(0)?;
    match parser.rest.trim() {
        "" => Ok(value),
        rest => Err(format!("`{}` is not expected in a condition", crate::note::cut(rest))),
    }
}

struct Parser<'a> {
    rest: &'a str,
    version: Version,
    variables: &'a Variables<'a>,
}

impl Parser<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let after = self.rest.strip_prefix(token);
        self.rest = after.map_or(self.rest, str::trim_start);
        after.is_some()
    }

    fn expression(&mut self, depth: usize) -> Result<Option<bool>, String> {
        let mut value = self.conjunction(depth)?;
        while self.takes("||") {
            let other = self.conjunction(depth)?;
            value = match (value, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        Ok(value)
    }

    fn conjunction(&mut self, depth: usize) -> Result<Option<bool>, String> {
        let mut value = self.term(depth)?;
        while self.takes("&&") {
            let other = self.term(depth)?;
            value = match (value, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        Ok(value)
    }

    fn term(&mut self, depth: usize) -> Result<Option<bool>, String> {
        if depth > DEPTH_MAX {
            return Err("a condition has too many parentheses".into());
        }
        let mut is_negated = false;
        while self.takes("!") {
            is_negated = !is_negated;
        }
        let value = if self.takes("(") {
            let value = self.expression(depth + 1)?;
            if !self.takes(")") {
                return Err("a parenthesis of a condition is not closed".into());
            }
            value
        } else {
            self.atom()?
        };
        Ok(value.map(|value| value != is_negated))
    }

    fn atom(&mut self) -> Result<Option<bool>, String> {
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let (number, rest) = self.rest.split_at(digits);
            self.rest = rest.trim_start();
            return Ok(Some(number.chars().any(|c| c != '0')));
        }
        let end = self.rest.find(['(', ' ']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let known = [
            ("defined", 1),
            ("feature", 1),
            ("streq", 2),
            ("strneq", 2),
            ("strstr", 2),
            ("version_atleast", 1),
            ("version_before", 1),
            ("openssl_version_atleast", 1),
            ("openssl_version_before", 1),
            ("ssllib_name_startswith", 1),
            ("awslc_api_atleast", 1),
            ("awslc_api_before", 1),
            ("enabled", 1),
        ];
        let Some((_, number)) = known.iter().find(|(known, _)| *known == name) else {
            let word = if name.is_empty() { self.rest } else { name };
            return Err(format!("a condition is {}", known.map(|(name, _)| format!("{name}()")).join(", "))
                + &format!(" or a number, not `{}`", crate::note::cut(word)));
        };
        let inside = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (inside, rest) = inside.ok_or_else(|| format!("`{name}` has its arguments in parentheses"))?;
        self.rest = rest.trim_start();
        let arguments: Vec<&str> =
            inside.split(',').map(|argument| argument.trim().trim_matches(['"', '\''])).collect();
        if arguments.len() != *number {
            return Err(format!("`{name}` has {number} argument{}", if *number == 1 { "" } else { "s" }));
        }
        Ok(match name {
            "defined" => Some(self.variables.value(arguments[0]).is_some()),
            "streq" => Some(arguments[0] == arguments[1]),
            "strneq" => Some(arguments[0] != arguments[1]),
            "strstr" => Some(arguments[0].contains(arguments[1])),
            "version_atleast" => self.is_at_least(arguments[0])?,
            "version_before" => self.is_at_least(arguments[0])?.map(|is| !is),
            _ => None,
        })
    }

    /// Whether the version is `text` or later; not known within a branch, of which every release may run.
    fn is_at_least(&self, text: &str) -> Result<Option<bool>, String> {
        let branch: String = text.split('-').next().unwrap_or_default().into();
        let other: Version = branch.parse().map_err(|e| format!("`{text}`: {e}"))?;
        let is_one_of_it = self.version == other && (branch.matches('.').count() > 1 || text.contains('-'));
        Ok(if is_one_of_it { None } else { Some(self.version >= other) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_as_in_haproxy() {
        let environment = |name: &str| (name == "HOST").then(String::new);
        let variables = Variables::new(&environment);
        let holds = |text: &str| evaluate(text, Version::new(2, 6), &variables);
        for (text, expected) in [
            ("", Some(false)),
            ("0", Some(false)),
            ("!0 && 12", Some(true)),
            ("defined(HOST) && !defined(PORT)", Some(true)),
            ("streq(a,a) && strneq(a, b)", Some(true)),
            ("version_atleast(2.4) && version_before(2.7-dev1)", Some(true)),
            ("version_atleast(2.6)", Some(true)),
            ("version_atleast(2.6.12)", None),
            ("feature(OPENSSL)", None),
            ("feature(OPENSSL) && 0", Some(false)),
            ("!(feature(OPENSSL) || 1) || (0)", Some(false)),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
        for wrong in ["feature", "what(a)", "streq(a)", "(1", "1 1", "1 &&", &"(".repeat(100_000), "version_before(x)"]
        {
            assert!(holds(wrong).is_err(), "{}", &wrong[..wrong.len().min(20)]);
        }
    }
}
