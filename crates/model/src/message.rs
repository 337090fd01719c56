//! Error messages about text that was read: one line, with the nearest name that would be right.

/// [`sojourn_stats::unknown`] of a list.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    sojourn_stats::unknown(what, word, known.iter().copied())
}

/// A TOML error on one line, with its line, what would be right, and the nearest valid name where one is unknown.
pub(crate) fn one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().lines().next().unwrap_or("not TOML");
    let message = sojourn_stats::config::with_remedy(message);
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    format!("line {}: {message}", text[..start].matches('\n').count() + 1)
}
