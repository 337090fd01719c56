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
//! takes it for nothing. A node writes such a table itself from what it serves ([`learn`]), so that no guess is needed.
//! Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide Web server on multicomputers, IPPS 1996, section
//! 3.2. The price of a table: it knows a program and not its arguments.

mod learn;
pub(crate) mod pattern;

use std::path::Path;

use serde::Deserialize;
use sojourn_stats::config::{ConfigFile, Wrong};
use sojourn_stats::input;

pub(crate) use learn::{Learner, Metered};
pub(super) use pattern::Pattern;
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
    rule: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    path: Option<String>,
    #[serde(rename = "type")]
    media_type: Option<String>,
    operations: Option<f64>,
    bytes: Option<u64>,
    class: Option<String>,
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
        let file = ConfigFile::new(path, text);
        let raw: RawOracle = file.read().map_err(|error| error.0)?;
        let mut oracle = Oracle::default();
        let mut places = [Vec::new(), Vec::new()];
        let wrong = |index: usize, wrong: Wrong| {
            let Wrong { key, message } = wrong;
            let key = if key.is_empty() { format!("rule[{index}]") } else { format!("rule[{index}].{key}") };
            file.error(&key, &message).0
        };
        for (index, rule) in raw.rule.iter().enumerate() {
            let (pattern, is_path) = rule.pattern().map_err(|why| wrong(index, why))?;
            let foreseen = rule.foreseen(classes).map_err(|why| wrong(index, why))?;
            let (rules, at) = match is_path {
                true => (&mut oracle.paths, &mut places[0]),
                false => (&mut oracle.types, &mut places[1]),
            };
            rules.push((pattern, foreseen));
            at.push(index);
        }
        for (rules, places) in [(&oracle.paths, &places[0]), (&oracle.types, &places[1])] {
            let patterns: Vec<&Pattern> = rules.iter().map(|(pattern, _)| pattern).collect();
            if let Some((_, later, earlier)) = contradiction(&patterns) {
                let what = format!("`{}` and `{earlier}` match the same and are equally long", patterns[later]);
                let right = format!("{what}; make one of them longer, or leave it out");
                return Err(wrong(places[later], Wrong::new("", right)));
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

impl RawRule {
    /// What it is about, and whether that is a path.
    fn pattern(&self) -> Result<(Pattern, bool), Wrong> {
        let read = match (&self.path, &self.media_type) {
            (Some(path), None) => Pattern::of_paths(path).map_err(|why| Wrong::new("path", why)),
            (None, Some(media_type)) => Pattern::of_types(media_type).map_err(|why| Wrong::new("type", why)),
            _ => Err(Wrong::new("", "either `path` or `type`, as `path = \"/cgi-bin/*\"`")),
        };
        Ok((read?, self.path.is_some()))
    }

    fn foreseen(&self, classes: &[String]) -> Result<Foreseen, Wrong> {
        let RawRule { operations, bytes, class, .. } = self;
        if operations.is_none() && bytes.is_none() && class.is_none() {
            return Err(Wrong::new("", "it says nothing; add `operations`, `bytes` or `class`"));
        }
        if operations.is_some_and(|number| !(0.0..=1e18).contains(&number)) {
            return Err(Wrong::new("operations", "it is a number from 0 to 1e18"));
        }
        if let Some(name) = class.as_ref().filter(|name| !classes.contains(name)) {
            return Err(Wrong::new("class", format!("`{name}` is no class; known are {}", classes.join(", "))));
        }
        Ok(Foreseen { operations: *operations, bytes: *bytes, class: class.clone() })
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
            (rule("operations = 1"), "oracle.toml:2: rule[0]: either `path` or `type`"),
            (rule("path = \"/a\"\ntype = \"a/b\"\noperations = 1"), "oracle.toml:2: rule[0]: either `path` or `type`"),
            (rule("path = \"/a\""), "oracle.toml:2: rule[0]: it says nothing"),
            (rule("path = \"a\"\nbytes = 1"), "oracle.toml:3: rule[0].path: `a` is no pattern of paths"),
            (rule("type = \"image\"\nbytes = 1"), "oracle.toml:3: rule[0].type: `image` is no pattern of media types"),
            (rule("path = \"/a\"\noperations = -1.0"), "oracle.toml:4: rule[0].operations: it is a number from 0"),
            (rule("path = \"/a\"\noperations = nan"), "oracle.toml:4: rule[0].operations: it is a number from 0"),
            (
                rule("path = \"/a\"\nclass = \"slow\""),
                "oracle.toml:4: rule[0].class: `slow` is no class; known are static",
            ),
            (
                rule("path = \"/a/*\"\nbytes = 1\n[[rule]]\npath = \"*.js\"\nbytes = 2"),
                "oracle.toml:5: rule[1]: `*.js` and `/a/*` match the same and are equally long",
            ),
            (rule("path = \"/a\"\nbytes = 1\n[[rule]]\npath = \"/a\"\nbytes = 2"), "`/a` and `/a` match the same"),
        ] {
            let wrong = read(&text).expect_err(wanted);
            assert!(wrong.contains(wanted) && !wrong.contains('\n'), "{wrong}\nwanted: {wanted}");
        }
    }
}
