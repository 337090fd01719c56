//! What is wrong with a file, in one line: where it is, the key, and what would be right.

use std::path::Path;

use sojourn_stats::config::{unknown_name, wrong_and_right};
use toml::Spanned;

use super::{Reader, SpecError};

impl Reader<'_> {
    pub(super) fn at<T>(&self, value: &Spanned<T>, key: &str, message: &str) -> SpecError {
        self.error(value.span().start, key, message)
    }

    /// An error at the first line that sets `key`, for values without a span of their own.
    pub(super) fn at_key(&self, key: &str, message: &str) -> SpecError {
        let sets =
            |line: &&str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        let offset = self.text.split_inclusive('\n').take_while(|line| !sets(line)).map(str::len).sum::<usize>();
        self.error(if offset >= self.text.len() { 0 } else { offset }, key, message)
    }

    /// An error at the line of `[workload]` that says how fast requests come.
    pub(super) fn at_load(&self, message: &str) -> SpecError {
        let from = self.text.find("[workload]").unwrap_or(0);
        let table = &self.text[from..];
        let table = &table[..table.get(1..).unwrap_or("").find("\n[").map_or(table.len(), |end| end + 1)];
        let line = |key: &str| {
            let sets =
                |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
            let before: usize = table.split_inclusive('\n').take_while(|line| !sets(line)).map(str::len).sum();
            (before < table.len()).then_some(from + before)
        };
        let found = ["utilization", "rate"].into_iter().find_map(|key| Some((line(key)?, key)));
        found.map_or_else(|| self.at_key("arrivals", message), |(offset, key)| self.error(offset, key, message))
    }

    pub(super) fn error(&self, offset: usize, key: &str, message: &str) -> SpecError {
        SpecError(format!("{}:{}: {key}: {message}", self.file.display(), line_of(self.text, offset)))
    }
}

/// [`sojourn_stats::unknown`] of a list.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    sojourn_stats::unknown(what, word, known.iter().copied())
}

/// What a warm-up of a simulation may also be, for messages.
pub(super) const AUTO_WARM_UP: &str = "\"auto\" finds its end in the run itself";

/// What chooses among the targets of a tier and guards them: keys that are looked for elsewhere.
const OF_TIERS: [&str; 6] = ["policy", "ejection", "breakers", "concurrency", "slow_start", "limit"];

/// `message` about a word that is none of the known ones, or where that names none, what a tier calls it: nginx's `max_fails`.
pub(crate) fn of_tiers(what: &str, word: &str, message: String) -> String {
    match sojourn_stats::nearest(word, OF_TIERS).filter(|_| !message.ends_with('?')) {
        Some(meant) => format!("unknown {what} `{word}`; did you mean `{meant}` of a gateway under [[system.tier]]?"),
        None => message,
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// A serde error as one line, with the nearest valid key where a key is unknown.
pub(crate) fn located(error: &toml::de::Error, text: &str, file: &Path) -> SpecError {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    let message = error.message().lines().next().unwrap_or("not TOML").to_string();
    let mut ticked = message.split('`').skip(1).step_by(2);
    let message = match (message.starts_with("unknown field"), ticked.next()) {
        (true, Some(word)) => of_tiers("key", word, unknown("key", word, &ticked.collect::<Vec<_>>())),
        _ => unknown_name(&message).unwrap_or(message),
    };
    let written = text.lines().nth(line - 1).unwrap_or_default().trim();
    if let Some(remedy) = unquoted(written).filter(|_| message.starts_with("invalid type: map")) {
        return SpecError(format!("{}:{line}: {remedy}", file.display()));
    }
    // `[fault]` is one table; of such there may be several.
    let is_list = message.starts_with("invalid type: map, expected a sequence");
    if let Some(table) = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| is_list) {
        return SpecError(format!("{}:{line}: write `[[{table}]]`, once for each", file.display()));
    }
    let message = match wrong_and_right(&message) {
        Some((wrong, right)) => {
            let table = text.lines().take(line - 1).filter(|line| line.trim_start().starts_with('[')).last();
            let right = in_its_unit(right, written, table.map_or("", str::trim));
            format!("{wrong} in `{written}`: {right}")
        }
        None => message,
    };
    SpecError(format!("{}:{line}: {message}", file.display()))
}

/// What would be right in place of `written`, a line of `table`: what is a rate is best shown as one, and a time as one.
fn in_its_unit(right: String, written: &str, table: &str) -> String {
    const EXAMPLE: &str = "1.6 ms";
    let (key, number) = written.split_once('=').map_or(("", ""), |(key, number)| (key.trim(), number.trim()));
    let (what, unit) = match key {
        "rate" => ("rate", "/s"),
        "warm_up" | "duration" | "timeout" => ("time", "s"),
        _ => return right,
    };
    let Some(given) = number.parse::<f64>().ok().filter(|_| right.contains(EXAMPLE)) else { return right };
    let sign = if given < 0.0 { format!("a {what} is not negative; ") } else { String::new() };
    let right = right.replace(EXAMPLE, &format!("{} {unit}", number.trim_start_matches(['-', '+'])));
    let or = if (key, table) == ("warm_up", "[run]") { format!("; {AUTO_WARM_UP}") } else { String::new() };
    format!("{sign}{right}{or}")
}

/// What to write in place of a line such as `p99.9 = "< 1 s"`, which TOML takes for a table `p99` with a key `9`.
pub(crate) fn unquoted(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = key.strip_prefix('p')?.split_once('.')?;
    let is_percentile = digits(whole) && digits(part);
    is_percentile.then(|| format!("a name with a dot stands in quotes: \"{key}\" = {value}"))
}
