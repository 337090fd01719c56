//! `nginx.conf` as directives and blocks: `ngx_conf_read_token` of nginx's `src/core/ngx_conf_file.c`.

/// Most bytes of a word (`NGX_CONF_BUFFER`).
const WORD_MAX: usize = 4096;

/// Most words of a directive. nginx has no such limit.
const WORDS_MAX: usize = 100_000;

/// What comes next in a file, with the line that it ends in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A directive that ends with `;`.
    Directive(Vec<String>),
    /// A directive whose block begins.
    Open(Vec<String>),
    /// A block ends.
    Close,
}

/// Reads a text piece by piece.
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
    line: usize,
}

/// Where in a word the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Plain,
    Quoted(u8),
    /// A quoted word has ended.
    AfterQuote,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text.as_bytes(), line: 1 }
    }

    /// The line that was read last.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The next item; none at the end of the text.
    ///
    /// # Errors
    /// What is wrong, in the present line.
    pub(super) fn next(&mut self) -> Result<Option<Item>, String> {
        let mut words: Vec<String> = Vec::new();
        let (mut state, mut is_variable) = (State::Between, false);
        let mut word: Vec<u8> = Vec::new();
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            self.line += usize::from(byte == b'\n');
            let is_space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let ends = is_space || matches!(byte, b';' | b'{');
            let opens_name = byte == b'{' && is_variable;
            is_variable = byte == b'$' || opens_name;
            if state == State::AfterQuote {
                if !ends && byte != b')' {
                    return Err(format!("unexpected \"{}\" after a quoted word", char::from(byte).escape_default()));
                }
                state = State::Between;
            }
            let mut has_ended = false;
            match state {
                State::Between if is_space => continue,
                State::Between => match byte {
                    b';' | b'{' if words.is_empty() => {
                        return Err(format!("unexpected \"{}\": a directive begins with its name", char::from(byte)));
                    }
                    b';' | b'{' => {}
                    b'}' if words.is_empty() => return Ok(Some(Item::Close)),
                    b'}' => {
                        return Err(format!(
                            "unexpected \"}}\": `{}` is not ended by \";\"",
                            crate::note::cut(&words[0])
                        ));
                    }
                    b'#' => {
                        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
                        self.rest = &self.rest[end..];
                        continue;
                    }
                    b'"' | b'\'' => state = State::Quoted(byte),
                    _ => {
                        state = State::Plain;
                        word.push(byte);
                        self.escape(byte, &mut word);
                    }
                },
                State::Plain | State::Quoted(_) if opens_name => word.push(byte),
                State::Plain if ends => has_ended = true,
                State::Quoted(quote) if byte == quote => {
                    has_ended = true;
                    state = State::AfterQuote;
                }
                State::Plain | State::Quoted(_) => {
                    word.push(byte);
                    self.escape(byte, &mut word);
                }
                State::AfterQuote => unreachable!("it was left above"),
            }
            if word.len() > WORD_MAX {
                return Err(format!("a word of more than {WORD_MAX} bytes; probably a quote or a \";\" is missing"));
            }
            if has_ended {
                words.push(String::from_utf8_lossy(&std::mem::take(&mut word)).into_owned());
                if words.len() > WORDS_MAX {
                    return Err(format!("a directive of more than {WORDS_MAX} words; probably a \";\" is missing"));
                }
                if state == State::AfterQuote {
                    continue;
                }
                state = State::Between;
            }
            match byte {
                b';' if state == State::Between => return Ok(Some(Item::Directive(words))),
                b'{' if state == State::Between => return Ok(Some(Item::Open(words))),
                _ => {}
            }
        }
        match words.is_empty() && state == State::Between {
            true => Ok(None),
            false => Err("the file ends inside a directive: \";\" or \"}\" is missing".into()),
        }
    }

    /// Takes what a backslash that was read escapes; it stays in the word where it escapes nothing.
    fn escape(&mut self, byte: u8, word: &mut Vec<u8>) {
        if byte != b'\\' {
            return;
        }
        let Some((&next, rest)) = self.rest.split_first() else { return };
        self.rest = rest;
        self.line += usize::from(next == b'\n');
        let escaped = match next {
            b'"' | b'\'' | b'\\' => next,
            b't' => b'\t',
            b'r' => b'\r',
            b'n' => b'\n',
            other => {
                word.push(other);
                return;
            }
        };
        word.pop();
        word.push(escaped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<String>, String> {
        let mut tokens = Tokens::new(text);
        let mut found = Vec::new();
        while let Some(item) = tokens.next()? {
            found.push(match item {
                Item::Directive(words) => words.join("|") + ";",
                Item::Open(words) => words.join("|") + "{",
                Item::Close => "}".into(),
            });
        }
        Ok(found)
    }

    #[test]
    fn words_are_read_as_nginx_reads_them() {
        for (text, expected) in [
            ("a b;", &["a|b;"][..]),
            ("a\n {b c;}# d {\n", &["a{", "b|c;", "}"]),
            ("a \"b ; # {\" 'c\"' ;", &["a|b ; # {|c\";"]),
            ("a b#c;", &["a|b#c;"]),
            ("if ($x = \"y\") { }", &["if|($x|=|y|){", "}"]),
            ("a ${b}c $d{e;}", &["a|${b}c|$d{", "e;", "}"]),
            ("a b\\;c\\ d \\\"e \\q;", &["a|b\\;c\\ d|\"e|\\q;"]),
            ("a \"x\\\"y\\n\";", &["a|x\"y\n;"]),
            ("a b};", &["a|b};"]),
            ("", &[]),
        ] {
            assert_eq!(
                all(text).as_deref(),
                Ok(&expected.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
        for wrong in [";", "{", "a", "a \"b", "a \"b\"c;", "a b }", "a 'b", &format!("a {};", "b".repeat(5000))] {
            assert!(all(wrong).is_err(), "{wrong}");
        }
    }
}
