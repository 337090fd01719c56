//! Zone files (RFC 1035, 5; RFC 2308, 4), line by line.
//!
//! hickory-proto reads the data of records. Lines, owners, times and origins are read here, since it tells of a mistake but
//! not of its line. So is what it would read as something else than was meant: `\DDD`, which is octal to it in names and
//! nothing in texts, `@` as a text, and data without a type of its own (`\# 4 C0000201`, RFC 3597, 5). More data than a type
//! has is refused.

use std::iter::Peekable;
use std::str::{CharIndices, FromStr};

use hickory_proto::rr::{Name as Parsed, RecordType};
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder, NameEncoding};
use hickory_proto::serialize::txt::Parser;

use crate::wire::name::{Name, unescaped};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it begins, from 1.
    pub(super) line: usize,
    pub(super) owner: Name,
    pub(super) kind: u16,
    /// Seconds.
    pub(super) ttl: u32,
    /// In wire form, without compression.
    pub(super) data: Vec<u8>,
}

/// A word, or text in quotes with its quotes.
struct Word<'a> {
    text: &'a str,
    line: usize,
}

/// Words that make up one entry.
struct Statement<'a> {
    words: Vec<Word<'a>>,
    /// It begins with white space: the owner is the last one stated.
    is_indented: bool,
}

/// What lines before have said.
struct Context {
    origin: Name,
    ttl: Option<u32>,
    last_ttl: Option<u32>,
    owner: Option<Name>,
}

/// All records of a zone file.
pub(super) fn read(origin: &Name, text: &str) -> Result<Vec<Entry>, String> {
    let mut context = Context { origin: origin.clone(), ttl: None, last_ttl: None, owner: None };
    let mut entries = Vec::new();
    for statement in statements(text)? {
        let line = statement.words[0].line;
        let entry = context.read(&statement).map_err(|why| format!("line {line}: {why}"))?;
        entries.extend(entry);
    }
    Ok(entries)
}

impl Context {
    fn read(&mut self, statement: &Statement<'_>) -> Result<Option<Entry>, String> {
        let words = &statement.words;
        let control = words[0].text.strip_prefix('$').filter(|_| !statement.is_indented);
        match (control.map(str::to_ascii_uppercase).as_deref(), words.as_slice()) {
            (None, _) => self.record(statement).map(Some),
            (Some("ORIGIN"), [_, name]) => {
                self.origin = Name::parse(name.text, Some(&self.origin))?;
                Ok(None)
            }
            (Some("TTL"), [_, ttl]) => {
                self.ttl = Some(seconds(ttl.text).ok_or_else(|| no_ttl(ttl.text))?);
                Ok(None)
            }
            _ => Err(format!("`{}` is not known so; `$ORIGIN NAME` and `$TTL TIME` are", words[0].text)),
        }
    }

    /// NAME [TTL] [CLASS] TYPE DATA, TTL and class in any order.
    fn record(&mut self, statement: &Statement<'_>) -> Result<Entry, String> {
        let mut words = statement.words.iter();
        let line = statement.words[0].line;
        if !statement.is_indented {
            let name = words.next().expect("a statement has a word").text;
            self.owner = Some(Name::parse(name, Some(&self.origin))?);
        }
        let owner = self.owner.clone().ok_or("a line that begins with a blank needs a name on a line before it")?;
        let mut ttl = None;
        let example = "a record is `NAME TTL IN TYPE DATA`, as in `www 300 IN A 192.0.2.1`";
        let kind = loop {
            let word = words.next().ok_or(format!("the record has no type; {example}"))?.text;
            match word.to_ascii_uppercase().as_str() {
                "IN" => {}
                "CH" | "HS" | "CS" => return Err(format!("class `{word}` is not served, only IN; {example}")),
                _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                    ttl = Some(seconds(word).ok_or_else(|| no_ttl(word))?);
                }
                kind => {
                    break RecordType::from_str(kind).map_err(|_| format!("`{word}` is no type known; {example}"))?;
                }
            }
        };
        if ttl.is_some() {
            self.last_ttl = ttl;
        }
        let ttl = ttl.or(self.ttl).or(self.last_ttl);
        let ttl = ttl.ok_or("the record has no time to live; `$TTL 300` on the first line gives one to all")?;
        let words: Vec<&str> = words.map(|word| word.text).collect();
        Ok(Entry { line, owner, kind: kind.into(), ttl, data: self.data(kind, &words)? })
    }

    fn data(&self, kind: RecordType, words: &[&str]) -> Result<Vec<u8>, String> {
        if let ["\\#", words @ ..] = words {
            let bytes = raw(words).ok_or("after `\\#` stand how many bytes there are, and they in hexadecimal");
            return bytes.map_err(|why| format!("`\\# {}` is no data ({why})", words.join(" ")));
        }
        if let Some((count, example)) = shape(kind).filter(|(count, _)| *count != words.len()) {
            let (has, part) = (words.len(), if count == 1 { "part" } else { "parts" });
            return Err(format!("the data of {kind} has {count} {part}, and here are {has}; it is as in `{example}`"));
        }
        let parts = parts(kind);
        if words.iter().any(|word| word.contains('\\')) || parts.is_some_and(|parts| parts.contains(&Part::Text)) {
            return self.own_data(kind, parts, words);
        }
        let mut text = format!("x. 0 IN {kind}");
        for word in words {
            text.push(' ');
            // hickory knows `@` only as an owner.
            if *word == "@" { text.push_str(&self.origin.to_string()) } else { text.push_str(word) }
        }
        text.push('\n');
        let origin = Parsed::from_str_relaxed(self.origin.to_string()).map_err(|error| error.to_string())?;
        let wrong = |why: String| match shape(kind) {
            Some((_, example)) => {
                format!("`{}` is no data of {kind} ({why}); it is as in `{example}`", words.join(" "))
            }
            None => format!("`{}` is no data of {kind} ({why})", words.join(" ")),
        };
        let (_, sets) = Parser::new(text, None, Some(origin)).parse().map_err(|error| wrong(error.to_string()))?;
        let record = sets.values().next().and_then(|set| set.records_without_rrsigs().next());
        let record = record.ok_or_else(|| wrong("nothing was read".into()))?;
        let mut bytes = Vec::new();
        let mut encoder = BinEncoder::new(&mut bytes);
        encoder.set_name_encoding(NameEncoding::Uncompressed);
        record.data.emit(&mut encoder).map_err(|error| wrong(error.to_string()))?;
        Ok(bytes)
    }

    /// The data of a type with escapes or texts.
    fn own_data(&self, kind: RecordType, parts: Option<&[Part]>, words: &[&str]) -> Result<Vec<u8>, String> {
        let wrong = |why: String| format!("`{}` is no data of {kind} ({why})", words.join(" "));
        let parts = parts.ok_or_else(|| wrong("it has no text in which a `\\` could be".into()))?;
        let count = if kind == RecordType::TXT { words.len().max(1) } else { parts.len() };
        if count != words.len() {
            return Err(wrong(format!("it has {count} parts, and here are {}", words.len())));
        }
        let mut bytes = Vec::new();
        for (word, part) in words.iter().zip(parts.iter().cycle()) {
            let number = |most: u32| {
                let number = word.parse().ok().filter(|number: &u32| *number <= most);
                number.ok_or_else(|| wrong(format!("`{word}` is no number up to {most}")))
            };
            let text = || -> Result<Vec<u8>, String> {
                Ok(unescaped(unquoted(word)).map_err(wrong)?.iter().map(|(byte, _)| *byte).collect())
            };
            match part {
                Part::Byte => bytes.push(number(u8::MAX.into())? as u8),
                Part::Short => bytes.extend((number(u16::MAX.into())? as u16).to_be_bytes()),
                Part::Seconds => match seconds(word) {
                    Some(seconds) => bytes.extend(seconds.to_be_bytes()),
                    // The serial of an SOA takes all of 32 bits.
                    None => bytes.extend(number(u32::MAX)?.to_be_bytes()),
                },
                Part::Name => bytes.extend(Name::wire_of(word, Some(&self.origin)).map_err(wrong)?),
                Part::Text => {
                    let text = text()?;
                    let length = u8::try_from(text.len());
                    let long =
                        |_| wrong(format!("a text of {} bytes; at most 255 may be, more in several", text.len()));
                    bytes.push(length.map_err(long)?);
                    bytes.extend(text);
                }
                Part::Rest => bytes.extend(text()?),
            }
        }
        Ok(bytes)
    }
}

/// A part of a record's data, as `own_data` reads it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Byte,
    Short,
    Seconds,
    Name,
    /// At most 255 bytes, after their length.
    Text,
    /// All bytes to the end.
    Rest,
}

/// The parts of the types that have names or texts; the last one of TXT may come several times.
fn parts(kind: RecordType) -> Option<&'static [Part]> {
    use Part::{Byte, Name, Rest, Seconds, Short, Text};
    Some(match kind {
        RecordType::NS | RecordType::CNAME | RecordType::PTR => &[Name],
        RecordType::MX => &[Short, Name],
        RecordType::SRV => &[Short, Short, Short, Name],
        RecordType::SOA => &[Name, Name, Seconds, Seconds, Seconds, Seconds, Seconds],
        RecordType::TXT => &[Text],
        RecordType::HINFO => &[Text, Text],
        RecordType::CAA => &[Byte, Text, Rest],
        RecordType::NAPTR => &[Short, Short, Text, Text, Text, Name],
        _ => return None,
    })
}

/// Parts of the data of usual types, and an example.
fn shape(kind: RecordType) -> Option<(usize, &'static str)> {
    Some(match kind {
        RecordType::A => (1, "192.0.2.1"),
        RecordType::AAAA => (1, "2001:db8::1"),
        RecordType::NS => (1, "ns1.example.org."),
        RecordType::CNAME | RecordType::PTR => (1, "www.example.org."),
        RecordType::MX => (2, "10 mail.example.org."),
        RecordType::CAA => (3, "0 issue \"ca.example.net\""),
        RecordType::SRV => (4, "0 5 443 www.example.org."),
        RecordType::SOA => (7, "ns1.example.org. hostmaster.example.org. 1 3600 900 1209600 60"),
        _ => return None,
    })
}

/// A word without its quotes.
fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word)
}

/// The bytes of the words after `\#`: their number, then they in hexadecimal.
fn raw(words: &[&str]) -> Option<Vec<u8>> {
    let (length, digits) = words.split_first()?;
    let digits = digits.concat();
    let bytes = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok().filter(|_| !pair.starts_with('+'))
    });
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    length.parse().is_ok_and(|length: usize| length == bytes.len()).then_some(bytes)
}

/// Seconds as a number, or with units as in `1h30m`.
fn seconds(text: &str) -> Option<u32> {
    if let Ok(seconds) = text.parse() {
        return Some(seconds).filter(|seconds| *seconds <= i32::MAX as u32);
    }
    let (mut sum, mut rest) = (0_u32, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let unit = match rest.as_bytes()[digits].to_ascii_lowercase() {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 86_400,
            b'w' => 604_800,
            _ => return None,
        };
        sum = sum.checked_add(rest[..digits].parse::<u32>().ok()?.checked_mul(unit)?)?;
        rest = &rest[digits + 1..];
    }
    (sum <= i32::MAX as u32).then_some(sum)
}

fn no_ttl(text: &str) -> String {
    format!("`{text}` is no time to live; write seconds as in `300`, or units as in `1h30m`")
}

/// Cuts a file into statements: a line each, or as many as its parentheses span.
fn statements(text: &str) -> Result<Vec<Statement<'_>>, String> {
    let mut all = Vec::new();
    let (mut words, mut is_indented, mut opened) = (Vec::new(), false, None);
    for (index, content) in text.lines().enumerate() {
        let line = index + 1;
        if words.is_empty() && opened.is_none() {
            is_indented = content.starts_with(char::is_whitespace);
        }
        let mut chars = content.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                ';' => break,
                '(' if opened.is_some() => {
                    return Err(format!("line {line}: `(` within parentheses; they do not nest"));
                }
                '(' => opened = Some(line),
                ')' => drop(opened.take().ok_or(format!("line {line}: `)` without a `(` before it"))?),
                c if c.is_whitespace() => {}
                _ => {
                    let end = word_end(c, &mut chars, content.len());
                    let end =
                        end.ok_or(format!("line {line}: a quote without its end; text in quotes is on one line"))?;
                    words.push(Word { text: &content[at..end], line });
                }
            }
        }
        if opened.is_none() && !words.is_empty() {
            all.push(Statement { words: std::mem::take(&mut words), is_indented });
        }
    }
    match opened {
        Some(line) => Err(format!("line {line}: `(` without a `)` after it")),
        None => Ok(all),
    }
}

/// Takes the rest of a word that begins with `first`; none where a quote does not end.
fn word_end(first: char, chars: &mut Peekable<CharIndices<'_>>, length: usize) -> Option<usize> {
    let mut is_escaped = first == '\\';
    if first == '"' {
        for (at, c) in chars {
            match c {
                '"' if !is_escaped => return Some(at + 1),
                _ => is_escaped = c == '\\' && !is_escaped,
            }
        }
        return None;
    }
    while let Some((at, c)) = chars.peek().copied() {
        if !is_escaped && (c.is_whitespace() || matches!(c, ';' | '(' | ')' | '"')) {
            return Some(at);
        }
        is_escaped = c == '\\' && !is_escaped;
        chars.next();
    }
    Some(length)
}
