//! Names in wire form: labels with their lengths before them, the root's empty label last (RFC 1035, 3.1).
//!
//! Zones are keyed by names in lower case. A length is at most 63 and no letter, so that the case of a whole name is
//! folded byte by byte.

use std::borrow::Borrow;
use std::fmt;

use hickory_proto::rr::Name as Parsed;
use hickory_proto::serialize::binary::BinEncodable;

use super::u16_at;

/// Bytes of the longest name.
pub(crate) const LONGEST: usize = 255;
/// Bytes of the longest label.
const LABEL: u8 = 63;

/// A name in wire form and lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(Box<[u8]>);

impl Name {
    /// Reads the text of a name; one that does not end with a dot is below `origin`.
    pub(crate) fn parse(text: &str, origin: Option<&Name>) -> Result<Name, String> {
        Name::wire_of(text, origin).map(|bytes| Name::from_wire(&bytes))
    }

    /// The same in wire form and in the case of the text.
    pub(crate) fn wire_of(text: &str, origin: Option<&Name>) -> Result<Vec<u8>, String> {
        if text == "@" {
            return origin.map(|origin| origin.0.to_vec()).ok_or_else(|| "`@` stands for no name here".into());
        }
        let wrong = |why: String| format!("`{text}` is no name ({why}); a name is as in `www.example.org.`");
        let (mut bytes, is_whole) = if text.contains('\\') {
            escaped_labels(text).map_err(wrong)?
        } else {
            let parsed = Parsed::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
            (parsed.to_bytes().map_err(|error| wrong(error.to_string()))?, parsed.is_fqdn())
        };
        if let Some(origin) = origin.filter(|_| !is_whole) {
            bytes.pop();
            bytes.extend_from_slice(&origin.0);
        }
        if bytes.len() > LONGEST {
            return Err(wrong(format!("{} bytes, at most {LONGEST} may be", bytes.len())));
        }
        Ok(bytes)
    }

    /// From whole wire form, in any case.
    pub(crate) fn from_wire(bytes: &[u8]) -> Name {
        Name(bytes.to_ascii_lowercase().into())
    }

    /// The name with a label put before it, if it is not too long then.
    pub(crate) fn under(&self, label: &[u8]) -> Option<Name> {
        let fits = label.len() <= usize::from(LABEL) && 1 + label.len() + self.0.len() <= LONGEST;
        fits.then(|| {
            let mut bytes = vec![label.len() as u8];
            bytes.extend_from_slice(label);
            bytes.extend_from_slice(&self.0);
            Name(bytes.into())
        })
    }

    pub(crate) fn wire(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is `apex` or below it.
    pub(crate) fn is_within(&self, apex: &Name) -> bool {
        suffixes(&self.0).any(|suffix| suffix == &*apex.0)
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() == 1 {
            return f.write_str(".");
        }
        for suffix in suffixes(&self.0).filter(|suffix| suffix.len() > 1) {
            for byte in &suffix[1..=usize::from(suffix[0])] {
                match byte {
                    b'.' | b'\\' | b'"' | b';' => write!(f, "\\{}", char::from(*byte))?,
                    0x21..=0x7e => write!(f, "{}", char::from(*byte))?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

/// The labels of a name with escapes in wire form, which hickory reads as octal, and whether it ends with a dot.
fn escaped_labels(text: &str) -> Result<(Vec<u8>, bool), String> {
    let chars = unescaped(text)?;
    if chars.iter().any(|(byte, is_escaped)| !byte.is_ascii() && !is_escaped) {
        return Err("besides an escape all is ASCII; write other letters as `\\DDD`, byte by byte".into());
    }
    let is_whole = chars.last() == Some(&(b'.', false));
    let chars = if is_whole { &chars[..chars.len() - 1] } else { &chars };
    let mut bytes = Vec::new();
    for label in chars.split(|char| *char == (b'.', false)) {
        if !(1..=usize::from(LABEL)).contains(&label.len()) {
            return Err(format!("a label of {} bytes, 1 to {LABEL} may be", label.len()));
        }
        bytes.push(label.len() as u8);
        bytes.extend(label.iter().map(|(byte, _)| byte));
    }
    bytes.push(0);
    Ok((bytes, is_whole))
}

/// The bytes of a text in which `\DDD` is a byte in decimal and `\X` the character X (RFC 1035, 5.1), and which of them were
/// written so.
pub(crate) fn unescaped(text: &str) -> Result<Vec<(u8, bool)>, String> {
    let (mut all, mut rest) = (Vec::new(), text.as_bytes());
    loop {
        rest = match rest {
            [] => return Ok(all),
            [b'\\', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
                let count = digits.iter().take(3).take_while(|digit| digit.is_ascii_digit()).count();
                let (number, after) = digits.split_at(count);
                let number = std::str::from_utf8(number).unwrap_or_default();
                let byte = Some(number).filter(|number| number.len() == 3).and_then(|number| number.parse().ok());
                all.push((byte.ok_or(format!("`\\{number}` is no byte: three digits, 000 to 255"))?, true));
                after
            }
            [b'\\', byte, after @ ..] => {
                all.push((*byte, true));
                after
            }
            [b'\\'] => return Err("`\\` at the end".into()),
            [byte, after @ ..] => {
                all.push((*byte, false));
                after
            }
        };
    }
}

/// A name and all above it, the root last.
pub(crate) fn suffixes(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(name), |name| parent(name))
}

/// The name above; none above the root.
pub(crate) fn parent(name: &[u8]) -> Option<&[u8]> {
    let label = usize::from(name[0]);
    (label > 0).then(|| &name[1 + label..])
}

/// How many labels a name has besides the root's.
pub(crate) fn labels(name: &[u8]) -> usize {
    suffixes(name).count() - 1
}

/// The end of the name that begins at `at`, which must not be compressed: a question has nothing before it to point to.
pub(crate) fn end(message: &[u8], at: usize) -> Option<usize> {
    let mut next = at;
    loop {
        let label = *message.get(next)?;
        next += 1 + usize::from(label);
        match label {
            0 => return (next - at <= LONGEST).then_some(next),
            1..=LABEL if next - at < LONGEST => {}
            _ => return None,
        }
    }
}

/// Writes the name at `at` to `out` in full, and gives the end of what stands there. Each pointer leads further to the front than
/// the one before, so that none leads in circles.
pub(crate) fn expand(message: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let (mut next, mut bound, mut end) = (at, at, None);
    loop {
        let label = *message.get(next)?;
        match label {
            0 => {
                out.push(0);
                return (out.len() <= LONGEST).then_some(end.unwrap_or(next + 1));
            }
            1..=LABEL if out.len() < LONGEST => {
                let after = next + 1 + usize::from(label);
                out.extend_from_slice(message.get(next..after)?);
                next = after;
            }
            0xc0.. => {
                end.get_or_insert(next + 2);
                next = usize::from(u16_at(message, next)? & 0x3fff);
                if next >= bound {
                    return None;
                }
                bound = next;
            }
            _ => return None,
        }
    }
}

/// The end of what stands for a name at `at`. Pointers are not followed, so that none can lead in circles.
pub(crate) fn skip(message: &[u8], at: usize) -> Option<usize> {
    let mut next = at;
    loop {
        let label = *message.get(next)?;
        match label {
            0 => return Some(next + 1),
            1..=LABEL => next += 1 + usize::from(label),
            0xc0.. => return (next + 2 <= message.len()).then_some(next + 2),
            _ => return None,
        }
        if next - at > LONGEST {
            return None;
        }
    }
}
