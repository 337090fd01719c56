//! Patterns of paths, as a node's settings have them: `*.css` is every file with such a name, `/assets/*` is all below.
//!
//! One that begins with a slash is held against the whole path, any other against what follows the last slash. A star is any
//! number of any characters, slashes too.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(String);

impl Pattern {
    /// The pattern that `text` writes.
    ///
    /// # Errors
    /// When it is empty, or has a slash but not at its beginning.
    pub fn parse(text: impl Into<String>) -> Result<Pattern, String> {
        let text = text.into();
        match text.find('/') {
            None if !text.is_empty() => Ok(Pattern(text)),
            Some(0) => Ok(Pattern(text)),
            _ => Err(format!("pattern `{text}`: write the name of files, as in `*.css`, or a path, as in `/assets/*`")),
        }
    }

    /// Whether `path`, which begins with a slash, is one of those.
    pub fn matches(&self, path: &str) -> bool {
        let subject = if self.0.starts_with('/') { path } else { path.rsplit('/').next().unwrap_or(path) };
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or("");
        let Some(mut rest) = subject.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        Pattern::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_are_any_number_of_any_characters() {
        for (pattern, path, matches) in [
            ("*.css", "/a/b.css", true),
            ("*.css", "/a.css/b", false),
            ("*.css", "/.css", true),
            ("a.css", "/x/a.css", true),
            ("a.css", "/x/ba.css", false),
            ("/assets/*", "/assets/a/b", true),
            ("/assets/*", "/assets", false),
            ("/assets/*", "/x/assets/a", false),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/a*b*c", "/a1b2c", true),
            ("/a*b*c", "/abc", true),
            ("/a*b*c", "/ac", false),
            ("/a*bc*c", "/abc", false),
            ("*", "/", true),
        ] {
            assert_eq!(Pattern::parse(pattern).expect("a pattern").matches(path), matches, "{pattern} {path}");
        }
        assert!(Pattern::parse("").is_err() && Pattern::parse("a/b").is_err());
    }
}
