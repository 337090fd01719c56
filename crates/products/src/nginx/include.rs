//! Files that `include` names: relative to the main file, with patterns, and with bounds.

use std::io;
use std::path::{Path, PathBuf};

use sojourn_stats::input;

/// Most files of a configuration.
pub(super) const FILES_MAX: usize = 1000;

/// Most bytes of all its files.
pub(super) const BYTES_MAX: usize = 64 << 20;

/// Most files inside each other.
pub(super) const DEPTH_MAX: usize = 20;

/// Where nginx of the distributions has its files, from where people copy them.
const USUAL: [&str; 3] = ["/etc/nginx", "/usr/local/nginx/conf", "/usr/local/etc/nginx"];

/// What an `include` leads to.
pub(super) struct Found {
    pub(super) files: Vec<PathBuf>,
    /// Whether the files stand beside the main file, and not where the path says.
    pub(super) is_moved: bool,
}

/// The files that `pattern` names, in the order of their names; `folder` is that of the main file.
///
/// # Errors
/// When a folder cannot be read.
pub(super) fn find(folder: &Path, pattern: &str) -> io::Result<Found> {
    let whole = folder.join(pattern);
    let files = matching(&whole)?;
    let beside = USUAL.iter().find_map(|usual| Path::new(pattern).strip_prefix(usual).ok());
    match beside {
        Some(rest) if files.is_empty() => {
            let files = matching(&folder.join(rest))?;
            Ok(Found { is_moved: !files.is_empty(), files })
        }
        _ => Ok(Found { files, is_moved: false }),
    }
}

/// Whether a path is a pattern, of which nothing need be there.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, or is no text.
pub(super) fn text(path: &Path) -> io::Result<String> {
    input::text(path)
}

fn matching(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(whole) = path.to_str().filter(|path| is_pattern(path)) else {
        return Ok(if path.exists() { vec![path.to_owned()] } else { Vec::new() });
    };
    let mut found = vec![PathBuf::from(if whole.starts_with('/') { "/" } else { "" })];
    for part in whole.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in &found {
            if !is_pattern(part) {
                next.extend(Some(folder.join(part)).filter(|path| path.exists()));
                continue;
            }
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder.as_path() };
            if !here.is_dir() {
                continue;
            }
            for entry in std::fs::read_dir(here)? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                // As in a shell: a name that begins with a dot is named by its dot.
                if (!name.starts_with('.') || part.starts_with('.')) && matches(part, &name) {
                    next.push(folder.join(name));
                }
                if next.len() > FILES_MAX {
                    return Err(io::Error::other(format!("it names more than {FILES_MAX} files")));
                }
            }
        }
        next.sort();
        found = next;
    }
    Ok(found)
}

/// Whether a name matches a pattern of `*`, `?` and `[a-z]`, as in `glob(7)`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on when a star is to take one character more.
    let mut again: Option<(usize, usize)> = None;
    while n < name.len() {
        let taken = match pattern.get(p) {
            Some('*') => {
                again = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(&pattern[p..], name[n]),
            Some(c) if *c == name[n] => Some(1),
            _ => None,
        };
        match (taken, again) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, from))) => {
                (p, n) = (after, from + 1);
                again = Some((after, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// How long the class at the beginning of `pattern` is, where `c` is in it.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let is_negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = 1 + usize::from(is_negated);
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|of| *of == ']')?;
    let inside = &pattern[first..end];
    let mut is_in = false;
    let mut at = 0;
    while at < inside.len() {
        let is_range = inside.get(at + 1) == Some(&'-') && at + 2 < inside.len();
        let last = if is_range { inside[at + 2] } else { inside[at] };
        is_in |= (inside[at]..=last).contains(&c);
        at += if is_range { 3 } else { 1 };
    }
    (is_in != is_negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf.bak", false),
            ("*a*b*", "xxaxxabxx", true),
            ("?-[0-9].c", "x-7.c", true),
            ("[!a-c]*", "b", false),
            ("[]x]", "]", true),
            ("*", "", true),
            ("a", "", false),
            ("[", "[", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(2000), &"a".repeat(1999)));
    }
}
