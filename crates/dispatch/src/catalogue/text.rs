//! Policies as text: `name` or `name(parameter = value, ...)`, where a value may itself be such a text. A policy may take values
//! without a name too, as in `haproxy(2.6, leastconn)`.

use std::ops::RangeInclusive;

use sojourn_stats::{Dimension, Span, nearest, quantity};

use crate::{Averaging, DispatchError, Policy, Reads, Ties};

type Build<'a> = dyn Fn(&str) -> Result<Box<dyn Policy>, DispatchError> + 'a;

/// The parameters that a text gives to its policy; each is taken once.
pub struct Params<'a> {
    /// Makes a policy of the same catalogue.
    build: &'a Build<'a>,
    policy: &'a str,
    /// The values without a name that were not taken yet, the last one first.
    words: Vec<&'a str>,
    takes_words: bool,
    given: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Params<'a> {
    /// The value of `name`, if the text gives one.
    pub fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let found = self.given.iter().position(|&(given, _)| given == name)?;
        Some(self.given.remove(found).1)
    }

    /// The next of the values that the text gives without a name, in their order.
    pub fn word(&mut self) -> Option<&'a str> {
        self.takes_words = true;
        self.words.pop()
    }

    /// The policy that the text gives as `name`, or `default`: one of the same catalogue.
    ///
    /// # Errors
    /// As [`crate::Catalogue::build`].
    pub fn policy(&mut self, name: &'static str, default: &str) -> Result<Box<dyn Policy>, DispatchError> {
        let text = self.text(name).unwrap_or(default);
        (self.build)(text)
    }

    /// The length of time that the text gives as `name`, or `default`.
    ///
    /// # Errors
    /// When it is not a time with a unit, or not above zero.
    pub fn span(&mut self, name: &'static str, default: Span) -> Result<Span, DispatchError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let bad = |why: String| DispatchError::Policy(format!("policy `{}`: {name} = {text}: {why}", self.policy));
        let seconds = quantity::parse(text, Dimension::Time).map_err(|error| bad(error.to_string()))?;
        let span = Span::from_secs_f64(seconds);
        if span == Span::ZERO { Err(bad("must be at least 1 ns".into())) } else { Ok(span) }
    }

    /// The number that the text gives as `name`, or `default`.
    ///
    /// # Errors
    /// When it is no number, or not in `range`.
    pub fn number(
        &mut self,
        name: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
    ) -> Result<f64, DispatchError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.wrong(&format!("{name} = {text}: it is a number from {least} to {most}"))
        })
    }

    /// Which of `choices` the text gives as `name`; none if it gives none.
    ///
    /// # Errors
    /// When it is another word.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Result<Option<T>, DispatchError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*choice));
        }
        let words = choices.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
        Err(DispatchError::Policy(format!("policy `{}`: {name} = {text}: it is {words}", self.policy)))
    }

    /// Who wins ties: `ties = drawn` (the default) or `ties = first`, the one with the lowest number.
    ///
    /// # Errors
    /// As [`Params::choice`].
    pub fn ties(&mut self) -> Result<Ties, DispatchError> {
        Ok(self.choice("ties", &[("drawn", Ties::Drawn), ("first", Ties::First)])?.unwrap_or_default())
    }

    /// The same, or `ties = oldest`: the one whose value has not changed for longest.
    ///
    /// # Errors
    /// As [`Params::choice`].
    pub fn ties_by_age(&mut self) -> Result<Ties, DispatchError> {
        let choices = [("drawn", Ties::Drawn), ("first", Ties::First), ("oldest", Ties::Oldest)];
        Ok(self.choice("ties", &choices)?.unwrap_or_default())
    }

    /// The averaging window: `window = 1 s` (the default); `slide = true` if it slides, or `reads = last` if decisions
    /// read the last complete one instead of the present.
    ///
    /// # Errors
    /// As [`Params::span`] and [`Params::choice`], and when both are asked for.
    pub fn window(&mut self) -> Result<Averaging, DispatchError> {
        let length = self.span("window", Span(1_000_000_000))?;
        let slides = self.choice("slide", &[("true", true), ("false", false)])?.unwrap_or(false);
        let reads = self.choice("reads", &[("present", Reads::Present), ("last", Reads::Last)])?.unwrap_or_default();
        match (slides, reads) {
            (false, reads) => Ok(Averaging { length, reads }),
            (true, Reads::Last) => Err(DispatchError::Policy(format!(
                "policy `{}`: reads = last: a window that slides has no last one; leave out `slide = true` or this",
                self.policy
            ))),
            (true, _) => Ok(Averaging { length, reads: Reads::Sliding }),
        }
    }

    /// The error that says what is wrong with a parameter.
    pub(crate) fn wrong(&self, why: &str) -> DispatchError {
        DispatchError::Policy(format!("policy `{}`: {why}", self.policy))
    }

    /// The text that gives `word` to the first parameter of the policy that takes it.
    fn named(&self, word: &str) -> Option<String> {
        let text = |name: &&str| format!("{}({name} = {word})", self.policy);
        self.known.iter().map(text).find(|text| (self.build)(text).is_ok())
    }

    /// Refuses what no one took.
    pub(super) fn finish(self) -> Result<(), DispatchError> {
        if let Some(word) = self.words.last() {
            return Err(self.wrong(&match self.takes_words {
                true => format!("`{word}` is one value too many"),
                false => match self.named(word) {
                    Some(named) => format!("`{word}`: did you mean `{named}`?"),
                    None => format!("`{word}`: {NAMED}"),
                },
            }));
        }
        let Some((name, _)) = self.given.first() else { return Ok(()) };
        let known = self.known.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        if self.known.contains(name) {
            return Err(DispatchError::Policy(format!("policy `{}`: `{name}` is given twice", self.policy)));
        }
        let hint = match nearest(name, self.known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => "it takes none".into(),
            None => format!("it takes {known}"),
        };
        Err(DispatchError::Policy(format!("policy `{}` has no parameter `{name}`; {hint}", self.policy)))
    }
}

/// Splits a text into the policy's name and its parameters. A value may stand in double quotes.
pub(super) fn parse<'a>(text: &'a str, build: &'a Build<'a>) -> Result<(&'a str, Params<'a>), DispatchError> {
    let text = text.trim();
    let bad = |why: &str| Err(DispatchError::Policy(format!("policy `{text}`: {why}")));
    let (name, inside) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(inside) => (name.trim_end(), inside),
            None => return bad("it must end with `)`, as in `round-trip(window = 1 s)`"),
        },
    };
    let (mut given, mut words) = (Vec::new(), Vec::new());
    for part in split(inside) {
        match part.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if !name.is_empty() && !unquoted(value).is_empty() => {
                given.push((name, unquoted(value)));
            }
            None if !part.trim().is_empty() => words.push(unquoted(part.trim())),
            _ => return bad(NAMED),
        }
    }
    words.reverse();
    Ok((name, Params { build, policy: name, words, takes_words: false, given, known: Vec::new() }))
}

const NAMED: &str = "a parameter is written `name = value`, as in `round-trip(window = 1 s)`";

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).map_or(value, str::trim)
}

/// At the commas that are outside all parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}
