//! A line of `haproxy.cfg` as words: quotes, escapes, comments and variables, as `parse_line` of HAProxy's `src/tools.c` reads
//! them (manual, sections 2.2 and 2.3).

use std::collections::BTreeMap;

/// Most words of a line (`MAX_LINE_ARGS`).
const WORDS_MAX: usize = 64;

/// Most bytes of a line when its variables are written out. HAProxy has no such limit.
const LINE_MAX: usize = 1 << 20;

/// The variables of the environment, as the file may change them.
pub(super) struct Variables<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    /// What the file has set, or unset.
    changed: BTreeMap<String, Option<String>>,
    /// Of the environment only these, where the file says so.
    kept: Option<Vec<String>>,
    /// Those that were asked for, and are not there.
    pub(super) missing: Vec<String>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(environment: &'a dyn Fn(&str) -> Option<String>) -> Variables<'a> {
        Variables { environment, changed: BTreeMap::new(), kept: None, missing: Vec::new() }
    }

    pub(super) fn value(&self, name: &str) -> Option<String> {
        match self.changed.get(name) {
            Some(changed) => changed.clone(),
            None if self.kept.as_ref().is_some_and(|kept| !kept.iter().any(|of| of == name)) => None,
            None => (self.environment)(name),
        }
    }

    /// Forgets all variables but these.
    pub(super) fn keep_only(&mut self, names: &[String]) {
        self.changed.retain(|name, _| names.contains(name));
        let before = self.kept.take();
        let kept = names.iter().filter(|name| before.as_ref().is_none_or(|before| before.contains(name)));
        self.kept = Some(kept.cloned().collect());
    }

    pub(super) fn set(&mut self, name: &str, value: Option<&str>) {
        self.changed.insert(name.into(), value.map(str::to_owned));
    }
}

/// Where the words of a line may name themselves: `"${.LINE}"` and the like.
pub(super) struct Names<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
    pub(super) section: &'a str,
}

/// The words of `line`; none of a comment and of an empty line.
///
/// # Errors
/// On a quote or a brace without its end, a wrong escape, or too many words: what is wrong.
pub(super) fn words(line: &str, names: &Names<'_>, variables: &mut Variables<'_>) -> Result<Vec<String>, String> {
    let input: Vec<char> = line.trim_start_matches(|c: char| c.is_ascii_whitespace()).chars().collect();
    let mut words: Vec<Vec<u8>> = vec![Vec::new()];
    let mut written = 0;
    let mut quote: Option<char> = None;
    let mut at = 0;
    while let Some(&c) = input.get(at) {
        let next = input.get(at + 1).copied();
        let word = words.last_mut().expect("there is always one");
        match (c, quote) {
            ('#', None) => break,
            ('"' | '\'', None) => quote = Some(c),
            ('"' | '\'', Some(open)) if open == c => quote = None,
            ('\\', None | Some('"')) => {
                let escaped = match next {
                    Some(c @ (' ' | '\\' | '#' | '\'' | '"')) => Some(c as u8),
                    Some('$') if quote.is_some() => Some(b'$'),
                    Some('t') => Some(b'\t'),
                    Some('n') => Some(b'\n'),
                    Some('r') => Some(b'\r'),
                    Some('x') => {
                        let digits: String = input[at + 2..].iter().take(2).collect();
                        let byte = u8::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 2);
                        at += 2;
                        Some(byte.ok_or("`\\x` is followed by two hexadecimal digits, as in `\\x20`")?)
                    }
                    _ => None,
                };
                word.push(escaped.unwrap_or(b'\\'));
                at += usize::from(escaped.is_some());
            }
            (space, None) if space.is_ascii_whitespace() => {
                if !matches!(next, Some(next) if next.is_ascii_whitespace()) {
                    words.push(Vec::new());
                }
            }
            ('$', Some('"')) => {
                let (parts, end) = variable(&input, at + 1, names, variables)?;
                at = end - 1;
                written += parts.iter().map(String::len).sum::<usize>();
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        words.push(Vec::new());
                    }
                    words.last_mut().expect("there is always one").extend_from_slice(part.as_bytes());
                }
            }
            (other, _) => {
                let mut bytes = [0; 4];
                word.extend_from_slice(other.encode_utf8(&mut bytes).as_bytes());
                written += 1;
            }
        }
        if written > LINE_MAX {
            return Err(format!("the line has more than {} MiB", LINE_MAX >> 20));
        }
        // One more is begun by a space at the end, and is empty.
        if words.len() > WORDS_MAX + 1 {
            return Err(format!("the line has more than {WORDS_MAX} words; HAProxy takes no more"));
        }
        at += 1;
    }
    if let Some(quote) = quote {
        return Err(format!("a quote is not closed: {quote}"));
    }
    // An empty word at the end is none: HAProxy ends its list of words with one.
    while words.last().is_some_and(Vec::is_empty) {
        words.pop();
    }
    Ok(words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
}

/// The value of the variable whose name begins at `at`, as one word or, with `[*]`, as several; and where it ends.
fn variable(
    input: &[char],
    mut at: usize,
    names: &Names<'_>,
    variables: &mut Variables<'_>,
) -> Result<(Vec<String>, usize), String> {
    let is = |at: usize, c: char| input.get(at) == Some(&c);
    let braced = is(at, '{');
    at += usize::from(braced);
    let begin = at;
    if !input.get(at).is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.')) {
        return Err(
            "a variable's name begins with a letter or `_`, as in \"${HOST}\"; a plain `$` is written `\\$`".into()
        );
    }
    at += 1;
    while input.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
        at += 1;
    }
    let name: String = input[begin..at].iter().collect();
    let mut value = match name.as_str() {
        ".LINE" => Some(names.line.to_string()),
        ".FILE" => Some(names.file.to_owned()),
        ".SECTION" => Some(names.section.to_owned()),
        other if other.starts_with('.') => return Err(format!("`{other}` is none of `.LINE`, `.FILE` and `.SECTION`")),
        other => variables.value(other),
    };
    let several = braced && is(at, '[');
    if several {
        if !(is(at + 1, '*') && is(at + 2, ']')) {
            return Err(format!("`[` after a variable's name is written `[*]`, as in \"${{{name}[*]}}\""));
        }
        at += 3;
    }
    if braced {
        let unclosed = || format!("the brace of \"${{{name}\" is not closed");
        let has_default = is(at, '-');
        let end = at + input[at.min(input.len())..].iter().position(|c| *c == '}').ok_or_else(unclosed)?;
        if has_default && value.is_none() {
            value = Some(input[at + 1..end].iter().collect());
        } else if !has_default && end != at {
            return Err(unclosed());
        }
        at = end + 1;
    }
    let value = value.unwrap_or_else(|| {
        variables.missing.push(name);
        String::new()
    });
    let parts = match several {
        true => value.split_ascii_whitespace().map(str::to_owned).collect(),
        false => vec![value],
    };
    Ok((parts, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<String>, String> {
        let environment = |name: &str| (name == "HOST").then(|| "a b".to_owned());
        let names = Names { file: "f.cfg", line: 7, section: "" };
        words(line, &names, &mut Variables::new(&environment))
    }

    /// The examples of the manual's section 2.2, and what `parse_line` does besides.
    #[test]
    fn words_are_read_as_haproxy_reads_them() {
        for (line, expected) in [
            ("  log-format %{+Q}o\\ t=%t  # a comment", &["log-format", "%{+Q}o t=%t"][..]),
            ("a 'b # \\x20 \"c\"' d", &["a", "b # \\x20 \"c\"", "d"]),
            ("a \"b \\\"c\\\" 'd' \\$x\"", &["a", "b \"c\" 'd' $x"]),
            ("a$HOST \"$HOST\" \"x${HOST}y\"", &["a$HOST", "a b", "xa by"]),
            ("\"${HOST[*]}\"", &["a", "b"]),
            ("\"${PORT-80}\" \"${PORT}\"", &["80"]),
            ("\"${.LINE}\" a\\x41\\\\ \\q", &["7", "aA\\", "\\q"]),
            ("server s1#not a word", &["server", "s1"]),
            ("a \"\" b", &["a", "", "b"]),
            ("# nothing", &[]),
            (" \t ", &[]),
            ("\u{e9}t\u{e9} 'x", &[]),
        ] {
            match read(line) {
                Ok(words) => assert_eq!(words, expected, "{line}"),
                Err(error) => assert!(error.contains("not closed") && expected.is_empty(), "{line}: {error}"),
            }
        }
        for wrong in ["\"$\"", "\"${HOST\"", "\"${HOST[1]}\"", "\"${HOST]}\"", "\\x4", "\"${.WHAT}\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&"a ".repeat(64)).is_ok() && read(&"a ".repeat(66)).is_err());
    }
}
