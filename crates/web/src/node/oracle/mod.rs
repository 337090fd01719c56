//! The oracle: what a request will take, before it is served, as a table of the user says.
//!
//! ```toml
//! [[rule]]
//! path = "/cgi-bin/search*"   # or: type = "image/*", the media type by the path's extension
//! operations = 0.035          # at a node of `speed = 1` these are seconds of a core
//! bytes = 12000               # of the reply, where no file says
//! class = "dynamic"
//! ```
//!
//! A path counts before a type, and of several patterns the one with the most characters of its own. Two that are equally
//! long and may match the same are a mistake, told before anything is served. What no rule matches is not known: a policy
//! takes it for nothing. A node writes such a table itself from what it serves ([`learn`]), so that nobody has to guess.
//! Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide Web server on multicomputers, IPPS 1996, section
//! 3.2. The price of a table: it knows a program and not its arguments.

mod learn;
pub(crate) mod pattern;

use std::path::Path;

use serde::Deserialize;
use sojourn_part::place::Place;
use sojourn_stats::input;
use toml::Spanned;

pub(crate) use learn::{Learner, Metered};
pub use pattern::Pattern;
use pattern::{best, contradiction};

/// A table of what requests take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Oracle {
    paths: Vec<(Pattern, Foreseen)>,
    types: Vec<(Pattern, Foreseen)>,
}

/// What is known of a request beforehand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreseen {
    /// Operations of the processor, of which a node does `speed` in a second.
    pub operations: Option<f64>,
    /// Bytes of the reply.
    pub bytes: Option<u64>,
    /// The name of its class.
    pub class: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOracle {
    #[serde(default)]
    rule: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    path: Option<Spanned<String>>,
    #[serde(rename = "type")]
    media_type: Option<Spanned<String>>,
    operations: Option<Spanned<f64>>,
    bytes: Option<Spanned<u64>>,
    class: Option<Spanned<String>>,
}

impl Oracle {
    /// Reads the table in a file; `classes` are those that a rule may name.
    ///
    /// # Errors
    /// One line: file, line, key, and what would be right.
    pub fn read(path: &Path, classes: &[String]) -> Result<Oracle, String> {
        let text = input::text(path).map_err(|error| format!("oracle {}: {error}", path.display()))?;
        Oracle::parse(&text, path, classes)
    }

    /// The same of a text; `path` names it in messages.
    ///
    /// # Errors
    /// As [`Oracle::read`].
    pub fn parse(text: &str, path: &Path, classes: &[String]) -> Result<Oracle, String> {
        let place = Place { text, file: path };
        let raw: RawOracle = place.read()?;
        let mut oracle = Oracle::default();
        let mut lines = [Vec::new(), Vec::new()];
        for rule in &raw.rule {
            let (pattern, is_path) = pattern_of(rule, &place)?;
            let foreseen = rule.get_ref().foreseen(rule.span(), classes, &place)?;
            let (rules, at) = match is_path {
                true => (&mut oracle.paths, &mut lines[0]),
                false => (&mut oracle.types, &mut lines[1]),
            };
            rules.push((pattern, foreseen));
            at.push(rule.span());
        }
        for (rules, lines) in [(&oracle.paths, &lines[0]), (&oracle.types, &lines[1])] {
            let patterns: Vec<&Pattern> = rules.iter().map(|(pattern, _)| pattern).collect();
            if let Some((_, later, earlier)) = contradiction(&patterns) {
                let what = format!("`{}` and `{earlier}` match the same and are equally long", patterns[later]);
                let right = "make one of them longer, or leave it out";
                return Err(place.wrong(lines[later].clone(), "rule", format!("{what}; {right}")));
            }
        }
        Ok(oracle)
    }

    /// What it says of a request for this path, whose reply would be of this media type.
    pub fn foresee(&self, path: &str, media_type: &str) -> Option<&Foreseen> {
        let of = |rules: &'_ [(Pattern, Foreseen)], text: &str| best(rules.iter().map(|(pattern, _)| pattern), text);
        let by_path = of(&self.paths, path).map(|place| &self.paths[place].1);
        by_path.or_else(|| of(&self.types, media_type).map(|place| &self.types[place].1))
    }
}

/// What a rule is about, and whether it is a path.
fn pattern_of(rule: &Spanned<RawRule>, place: &Place<'_>) -> Result<(Pattern, bool), String> {
    let (text, key, read): (_, _, fn(&str) -> _) = match (&rule.get_ref().path, &rule.get_ref().media_type) {
        (Some(path), None) => (path, "rule.path", Pattern::of_paths),
        (None, Some(media_type)) => (media_type, "rule.type", Pattern::of_types),
        _ => return Err(place.wrong(rule.span(), "rule", "either `path` or `type`, as `path = \"/cgi-bin/*\"`")),
    };
    let pattern = read(text.get_ref()).map_err(|why| place.wrong(text.span(), key, why))?;
    Ok((pattern, key == "rule.path"))
}

impl RawRule {
    fn foreseen(&self, at: std::ops::Range<usize>, classes: &[String], place: &Place<'_>) -> Result<Foreseen, String> {
        let RawRule { operations, bytes, class, .. } = self;
        if operations.is_none() && bytes.is_none() && class.is_none() {
            return Err(place.wrong(at, "rule", "it says nothing; add `operations`, `bytes` or `class`"));
        }
        if let Some(number) = operations.as_ref().filter(|number| !(0.0..=1e18).contains(number.get_ref())) {
            return Err(place.wrong(number.span(), "rule.operations", "it is a number from 0 to 1e18"));
        }
        if let Some(name) = class.as_ref().filter(|name| !classes.contains(name.get_ref())) {
            let known = classes.join(", ");
            let what = format!("`{}` is no class; known are {known}", name.get_ref());
            return Err(place.wrong(name.span(), "rule.class", what));
        }
        Ok(Foreseen {
            operations: operations.as_ref().map(|number| *number.get_ref()),
            bytes: bytes.as_ref().map(|number| *number.get_ref()),
            class: class.as_ref().map(|name| name.get_ref().clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Oracle, String> {
        Oracle::parse(text, Path::new("oracle.toml"), &["static".into(), "dynamic".into()])
    }

    #[test]
    fn the_longest_pattern_counts_and_a_path_before_a_type() {
        let oracle = read(
            "[[rule]]\npath = \"*.cgi\"\noperations = 1\n[[rule]]\npath = \"/slow/*.cgi\"\noperations = 2\n\
             [[rule]]\ntype = \"text/*\"\noperations = 3\nbytes = 9\nclass = \"dynamic\"\n",
        )
        .expect("a table");
        let operations = |path, of| oracle.foresee(path, of).and_then(|foreseen| foreseen.operations);
        assert_eq!(operations("/a.cgi", "text/html"), Some(1.0));
        assert_eq!(operations("/slow/a.cgi", "text/html"), Some(2.0));
        assert_eq!(operations("/a.html", "text/html"), Some(3.0));
        assert_eq!(operations("/a.png", "image/png"), None);
        let said = oracle.foresee("/", "text/plain").expect("by its type");
        assert_eq!((said.bytes, said.class.as_deref()), (Some(9), Some("dynamic")));
    }

    #[test]
    fn what_is_wrong_with_a_table_gets_one_line_that_says_where() {
        let rule = |text: &str| format!("# a table\n[[rule]]\n{text}\n");
        for (text, wanted) in [
            (
                rule("path = \"/a*\"\noperation = 1"),
                "oracle.toml:4: unknown key `operation`; did you mean `operations`?",
            ),
            (rule("operations = 1"), "oracle.toml:2: rule: either `path` or `type`"),
            (rule("path = \"/a\"\ntype = \"a/b\"\noperations = 1"), "oracle.toml:2: rule: either `path` or `type`"),
            (rule("path = \"/a\""), "oracle.toml:2: rule: it says nothing"),
            (rule("path = \"a\"\nbytes = 1"), "oracle.toml:3: rule.path: `a` is no pattern of paths"),
            (rule("type = \"image\"\nbytes = 1"), "oracle.toml:3: rule.type: `image` is no pattern of media types"),
            (rule("path = \"/a\"\noperations = -1.0"), "oracle.toml:4: rule.operations: it is a number from 0"),
            (rule("path = \"/a\"\noperations = nan"), "oracle.toml:4: rule.operations: it is a number from 0"),
            (
                rule("path = \"/a\"\nclass = \"slow\""),
                "oracle.toml:4: rule.class: `slow` is no class; known are static",
            ),
            (
                rule("path = \"/a/*\"\nbytes = 1\n[[rule]]\npath = \"*.js\"\nbytes = 2"),
                "oracle.toml:5: rule: `*.js` and `/a/*` match the same and are equally long",
            ),
            (rule("path = \"/a\"\nbytes = 1\n[[rule]]\npath = \"/a\"\nbytes = 2"), "`/a` and `/a` match the same"),
        ] {
            let wrong = read(&text).expect_err(wanted);
            assert!(wrong.contains(wanted) && !wrong.contains('\n'), "{wrong}\nwanted: {wanted}");
        }
    }
}
