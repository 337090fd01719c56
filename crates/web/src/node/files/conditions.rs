//! Whether a request still wants the file, after the versions that it names (RFC 9110, section 13).

use std::time::SystemTime;

use hyper::header::{
    HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    RANGE,
};

use super::resource::Representation;

/// What the conditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is served, in ranges where that is said.
    Serve {
        /// Whether the request's ranges, if any, are of this version.
        ranges: bool,
    },
    /// The client has it: 304.
    NotModified,
    /// It is not the version that the client means: 412.
    Failed,
}

/// Evaluates the conditions of a GET or HEAD in the order of section 13.2.2.
pub(super) fn evaluate(headers: &HeaderMap, chosen: &Representation) -> Verdict {
    let etag = chosen.etag.as_bytes();
    if headers.contains_key(IF_MATCH) {
        if !lists(headers, &IF_MATCH, etag, Comparison::Strong) {
            return Verdict::Failed;
        }
    } else if let Some(since_s) = date(headers, &IF_UNMODIFIED_SINCE)
        && chosen.modified_s > since_s
    {
        return Verdict::Failed;
    }
    if headers.contains_key(IF_NONE_MATCH) {
        if lists(headers, &IF_NONE_MATCH, etag, Comparison::Weak) {
            return Verdict::NotModified;
        }
    } else if let Some(since_s) = date(headers, &IF_MODIFIED_SINCE)
        && chosen.modified_s <= since_s
    {
        return Verdict::NotModified;
    }
    Verdict::Serve { ranges: headers.contains_key(RANGE) && is_range_of_this(headers, chosen) }
}

/// Section 13.1.5. A date counts if it is the very one that the file has. The price: it cannot tell apart two versions of one
/// second, which clients that use the tag can.
fn is_range_of_this(headers: &HeaderMap, chosen: &Representation) -> bool {
    let mut lines = headers.get_all(IF_RANGE).iter();
    match (lines.next(), lines.next()) {
        (None, _) => true,
        (Some(value), None) if value.as_bytes().ends_with(b"\"") => value.as_bytes() == chosen.etag.as_bytes(),
        (Some(value), None) => seconds(value) == Some(chosen.modified_s),
        (Some(_), Some(_)) => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// Weak tags are equal to none.
    Strong,
    Weak,
}

/// Whether the lines of a header list this tag, or are `*`.
fn lists(headers: &HeaderMap, name: &HeaderName, etag: &[u8], comparison: Comparison) -> bool {
    headers.get_all(name).iter().any(|line| {
        let mut rest = line.as_bytes().trim_ascii();
        if rest == b"*" {
            return true;
        }
        loop {
            while let Some(more) = rest.strip_prefix(b",").or(rest.strip_prefix(b" ")).or(rest.strip_prefix(b"\t")) {
                rest = more;
            }
            let (is_weak, tag) = rest.strip_prefix(b"W/").map_or((false, rest), |tag| (true, tag));
            let end = tag.iter().skip(1).position(|byte| *byte == b'"');
            let (Some(b'"'), Some(end)) = (tag.first(), end) else { return false };
            let (tag, after) = tag.split_at(end + 2);
            if tag == etag && !(is_weak && comparison == Comparison::Strong) {
                return true;
            }
            rest = after;
        }
    })
}

/// The date that the one line of a header has, in seconds since 1970; what is no date is ignored.
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    let mut lines = headers.get_all(name).iter();
    let line = lines.next()?;
    if lines.next().is_none() { seconds(line) } else { None }
}

pub(super) fn seconds(value: &HeaderValue) -> Option<u64> {
    let date = httpdate::parse_http_date(value.to_str().ok()?).ok()?;
    Some(date.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
}
