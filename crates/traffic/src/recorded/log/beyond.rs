//! What a line has behind status and size: the referrer and the agent of Combined Log Format, and fields that a server was told
//! to add.
//!
//! An added field says nothing of what it is. One number alone, as nginx writes `$request_time`, is taken for it, and so is
//! `rt=0.012` or `request_time=0.012` among others. Of several without a name none is read, since the time of a connection or of
//! a server looks the same: they are counted and shown, with the format string that would read them.

use memchr::{memchr, memchr_iter};

use super::calendar::digits;

/// Names that say that a field is `$request_time`.
const NAMES: [&[u8]; 2] = [b"rt", b"request_time"];

/// What stands behind status and size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Behind<'a> {
    /// Whether referrer and agent do.
    pub(super) is_combined: bool,
    /// How long the server took (ms).
    pub(super) response_ms: Option<u32>,
    /// Fields of which it is not known what they are; all of them where only some are known; nothing where all are.
    pub(super) beyond: &'a [u8],
}

/// What stands in `text`, which begins behind the size.
#[inline]
pub(super) fn behind(text: &[u8]) -> Behind<'_> {
    let combined = quoted(text).and_then(quoted);
    let added = combined.unwrap_or(text).trim_ascii();
    let is_combined = combined.is_some();
    if added.is_empty() {
        return Behind { is_combined, ..Behind::default() };
    }
    let response_ms = thousandths(added).or_else(|| named(added));
    let is_alone = response_ms.is_some() && memchr(b' ', added).is_none();
    Behind { is_combined, response_ms, beyond: if is_alone { b"" } else { added } }
}

/// What stands behind a text in quotes. Its end is a quote before a blank or the end of the line, and one with a backslash before
/// it only where no other is: old servers escape nothing.
#[inline]
fn quoted(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b" \"")?;
    let is_end = |at: usize| inside.get(at + 1).is_none_or(|next| *next == b' ');
    let is_escaped = |at: usize| inside[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    let mut ends = memchr_iter(b'"', inside).filter(|at| is_end(*at));
    let end = ends.clone().find(|at| !is_escaped(*at)).or_else(|| ends.next())?;
    Some(&inside[end + 1..])
}

/// Seconds with three digits behind the point, as nginx writes durations. What does not fit is none.
#[inline]
fn thousandths(word: &[u8]) -> Option<u32> {
    let (seconds, [b'.', thousandths @ ..]) = word.split_at_checked(word.len().checked_sub(4)?)? else { return None };
    let ms = digits(seconds)?.checked_mul(1_000)?.checked_add(digits(thousandths)?)?;
    u32::try_from(ms).ok().filter(|ms| *ms < u32::MAX)
}

/// The request time among fields with names, where just one has its name.
fn named(added: &[u8]) -> Option<u32> {
    let mut times = added.split(|byte| *byte == b' ').filter_map(of_name);
    times.next().filter(|_| times.next().is_none())
}

/// The request time of a field that has its name.
fn of_name(word: &[u8]) -> Option<u32> {
    let (name, value) = word.split_at(memchr(b'=', word)?);
    NAMES.contains(&name).then(|| thousandths(bare(&value[1..])))?
}

/// Of these fields those that were not read: all but the request time, where that was.
pub(super) fn not_read(beyond: &[u8]) -> Vec<u8> {
    if named(beyond).is_none() {
        return beyond.to_vec();
    }
    let others: Vec<&[u8]> = beyond.split(|byte| *byte == b' ').filter(|word| of_name(word).is_none()).collect();
    others.join(&b' ')
}

/// A value without the quotes about it.
fn bare(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

/// The format string of a line with these fields added, as nginx would have it, in which `$skip` stands for what is not known.
pub(super) fn format_string(is_combined: bool, has_virtual_host: bool, beyond: &[u8]) -> String {
    let mut format = String::from(if has_virtual_host { "$host:$server_port " } else { "" });
    format.push_str("$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent");
    if is_combined {
        format.push_str(" \"$http_referer\" \"$http_user_agent\"");
    }
    let mut rest = beyond;
    while !rest.is_empty() {
        let (field, more) = first_field(rest);
        rest = more.trim_ascii_start();
        let text = String::from_utf8_lossy(field);
        let (name, value) = text.split_at(text.find('=').map_or(0, |equals| equals + 1));
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.=".contains(&byte));
        let name = if is_name { name } else { "" };
        let is_request_time = NAMES.iter().any(|known| name.as_bytes().strip_suffix(b"=") == Some(known));
        let variable = if is_request_time { "$request_time" } else { "$skip" };
        let quote = if value.starts_with('"') { "\"" } else { "" };
        format.push_str(&format!(" {name}{quote}{variable}{quote}"));
    }
    format
}

/// The first of several fields between blanks, quotes and a name before them included, and what stands behind it.
fn first_field(text: &[u8]) -> (&[u8], &[u8]) {
    let word = memchr(b' ', text).unwrap_or(text.len());
    let end = match memchr(b'"', &text[..word]) {
        Some(quote) if quote == 0 || text[quote - 1] == b'=' => {
            let behind = quoted(&[b" ", &text[quote..]].concat()).map_or(0, <[u8]>::len);
            text.len() - behind
        }
        _ => word,
    };
    text.split_at(end)
}
