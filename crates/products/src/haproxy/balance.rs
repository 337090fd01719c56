//! `balance` and `hash-type`: how a server is chosen (`backend_parse_balance` in HAProxy's `src/backend.c`; manual, section 4.2).

use sojourn_stats::unknown;

use crate::pool::{HashKey, Rule};
use crate::version::Version;

use super::RANDOM_BY_DEFAULT;

const KNOWN: [&str; 11] = [
    "roundrobin",
    "static-rr",
    "leastconn",
    "first",
    "random",
    "source",
    "uri",
    "url_param",
    "hdr(name)",
    "rdp-cookie",
    "hash",
];

/// The rule of a backend that says none.
pub(super) fn default_rule(version: Version) -> Rule {
    let name = if version >= RANDOM_BY_DEFAULT { "default" } else { "roundrobin" };
    Rule { name: name.into(), said: None, key: None, is_consistent: false, is_mixed: false }
}

/// The rule that the words after `balance` say.
///
/// # Errors
/// What would be right.
pub(super) fn rule(words: &[String]) -> Result<Rule, String> {
    let word = words.first().map_or("", String::as_str);
    let plain = |name: &str| Rule { name: name.into(), said: None, key: None, is_consistent: false, is_mixed: false };
    let hashed = |name: &str, key: HashKey| Rule { key: Some(key), ..plain(name) };
    let needs = |what: &str| match words.get(1) {
        Some(_) => Ok(()),
        None => Err(format!("`balance {word}` needs {what}")),
    };
    match word {
        "" => Ok(plain("roundrobin")),
        "roundrobin" | "static-rr" | "leastconn" | "first" => Ok(plain(word)),
        "source" => Ok(hashed("source", HashKey::Client)),
        "uri" => Ok(hashed("uri", HashKey::Path)),
        "url_param" => needs("the name of a parameter").map(|()| hashed(word, HashKey::Other)),
        "hash" => needs("a sample expression, e.g. `hash path`").map(|()| hashed(word, HashKey::Other)),
        _ if word.starts_with("rdp-cookie") => Ok(hashed("rdp-cookie", HashKey::Other)),
        _ if word.starts_with("hdr(") => match word[4..].find(')') {
            Some(end) if end > 0 => Ok(hashed("hdr", HashKey::Other)),
            _ => Err("`balance hdr` needs the name of a header, e.g. `hdr(host)`".into()),
        },
        _ if word.starts_with("random") => {
            draws(&word["random".len()..]).map(|draws| plain(&format!("random({draws})")))
        }
        other => Err(unknown("balance", &crate::note::cut(other), KNOWN)),
    }
}

/// The number in parentheses after `random`; two without one.
fn draws(rest: &str) -> Result<u32, String> {
    if !rest.starts_with('(') || rest.starts_with("()") {
        return Ok(2);
    }
    let inside = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let draws = inside.and_then(|digits| digits.trim().parse().ok()).filter(|draws| *draws >= 1);
    draws.ok_or_else(|| "the number of draws of `random` is a whole number of at least 1, e.g. `random(2)`".into())
}

/// Whether the words after `hash-type` say that keys stay with their servers, and that hashes are mixed once more.
///
/// # Errors
/// What would be right.
pub(super) fn hash_type(words: &[String]) -> Result<(bool, bool), String> {
    let word = |at: usize| words.get(at).map(String::as_str);
    let is_consistent = match word(0) {
        Some("consistent") => true,
        Some("map-based") => false,
        Some(other) => return Err(unknown("hash-type", &crate::note::cut(other), ["map-based", "consistent"])),
        None => return Err("`hash-type` is map-based or consistent".into()),
    };
    match (word(1), word(2)) {
        (None, _) => Ok((is_consistent, is_consistent)),
        (Some("sdbm" | "djb2" | "wt6" | "crc32" | "none"), None) => Ok((is_consistent, false)),
        (Some("sdbm" | "djb2" | "wt6" | "crc32" | "none"), Some("avalanche")) => Ok((is_consistent, true)),
        (Some("sdbm" | "djb2" | "wt6" | "crc32" | "none"), Some(other)) => {
            Err(unknown("modifier of hash-type", &crate::note::cut(other), ["avalanche"]))
        }
        (Some(other), _) => {
            Err(unknown("function of hash-type", &crate::note::cut(other), ["sdbm", "djb2", "wt6", "crc32"]))
        }
    }
}
