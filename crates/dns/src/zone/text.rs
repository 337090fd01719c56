//! Zone files (RFC 1035, 5; RFC 2308, 4), line by line.
//!
//! hickory-proto reads the data of records. Lines, owners, times and origins are read here, since it tells of a mistake but
//! not of its line. What it would read as something else than was meant is refused: `\DDD` within quotes, and more data
//! than a type has.

use std::iter::Peekable;
use std::str::{CharIndices, FromStr};

use hickory_proto::rr::{Name as Parsed, RecordType};
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder, NameEncoding};
use hickory_proto::serialize::txt::Parser;

use crate::wire::name::Name;

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
        if let Some((count, example)) = shape(kind).filter(|(count, _)| *count != words.len()) {
            let (has, part) = (words.len(), if count == 1 { "part" } else { "parts" });
            return Err(format!("the data of {kind} has {count} {part}, and here are {has}; it is as in `{example}`"));
        }
        let mut text = format!("x. 0 IN {kind}");
        for word in words {
            check(word)?;
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

/// Refuses what would be read as something else.
fn check(word: &str) -> Result<(), String> {
    let is_quoted = word.starts_with('"');
    let mut escaped = word.split('\\').skip(1).filter_map(|rest| rest.chars().next());
    match escaped.find(|c| if is_quoted { c.is_ascii_digit() } else { matches!(c, ';' | '(' | ')' | '"' | ' ') }) {
        Some(c) if is_quoted => Err(format!("`\\{c}..` within quotes is not read; write the character itself")),
        Some(c) => Err(format!("`\\{c}` outside of quotes is not read; put the text into quotes")),
        None => Ok(()),
    }
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
